"""Leakage of a given procedure: computed, or bounded from samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    as_gamma,
    as_probabilities,
    invalid,
    unsupported,
)
from mialeak._blocks import resolve_workers
from mialeak._labels import require_same_values
from mialeak._results import Kind, Result, as_confidence
from mialeak.discrete import max_leakage
from mialeak.mechanisms._builtin import CellMechanism, Histogram, IntArray, Mode
from mialeak.mechanisms._cellwise import (
    joint_leakage,
    joint_size,
    joint_terms,
    register_cell_terms,
    target_cell_leakage,
    total,
)
from mialeak.mechanisms._closed_forms import closed_leakage
from mialeak.mechanisms._enumerate import (
    LIMIT,
    Sampling,
    as_mechanism,
    enumerated_leakage,
    require_sampled,
)
from mialeak.mechanisms._post_randomisation import Pram, pram_leakage
from mialeak.mechanisms._swapping import Swap, moved_register_leakage, swap_leakage
from mialeak.populations import Panel, Register, Stratified

__all__ = ["MechanismLeakage", "as_law", "mechanism_leakage"]

#: At a fixed number of rows a cell mechanism is answered exactly if it is not random and there are
#: at most so many count vectors (a second of work), or if :func:`joint_leakage` holds so few.
_MOST_VECTORS_FIRST, _MOST_JOINT_FIRST = 2**21, 2**20
#: Cells of :func:`joint_leakage` at most: each is an axis of an array.
_MOST_JOINT_CELLS = 12
#: People of a register whose samples are enumerated, at most: numbers of samples are floats.
_MOST_PEOPLE = 1000
#: Bits of the label of the outcomes of all cells.
_MOST_DIGITS = 62
#: At a larger gamma only atoms leak that are rarer than 1e-100, and products overflow.
_LARGEST_GAMMA = 1e100
#: Absolute error: a constant, and for a fixed number of rows or a statistic, times sqrt(n).
_ROUNDING, _EPS = 1e-14, 2.0**-52
_ROWS, _METHODS = ("fixed", "poisson"), ("auto", "sample")
#: Kind of two bounds, by whether they are equal.
_KINDS: dict[bool, Kind] = {False: "bound", True: "exact"}
#: Samples and confidence, unless the caller states others.
_SAMPLES, _CONFIDENCE = 100_000, 0.95
#: Digits of a result that are printed at most.
_DIGITS = 6


# ---- the result ----


@dataclass(frozen=True, repr=False)
class MechanismLeakage(Result):
    """Leakage of a procedure: a number, or two between which it lies.

    ``float()`` of it is the number if it is exact.

    Attributes
    ----------
    lower, upper : float
        The leakage lies between; equal if it is exact.
    kind : str
        "exact"; "bound"; or "estimate", if `lower` holds with a stated confidence only.
    rows : str
        "fixed" or "poisson": how many rows there are; "bernoulli": people of a register, each drawn
        with its rate.
    method : str
        How it was computed, in a few words.
    error : float
        Absolute error of `lower` and `upper` by rounding.  Digits below this error are not
        printed, and a smaller number is printed as an upper limit: the mode of 10,000 rows leaks
        `<1e-14`.

    Examples
    --------
    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Round
    >>> found = mechanism_leakage(Round(5), [0.5, 0.3, 0.2], 20)
    >>> found
    MechanismLeakage(lower=0.0951742, upper=0.0951742, kind='exact', rows='fixed')
    >>> round(float(found), 4)
    0.0952
    """

    lower: float
    upper: float
    kind: Kind
    rows: str = "fixed"
    method: str = field(default="", repr=False)
    error: float = field(default=0.0, repr=False)

    def __repr__(self) -> str:
        exact = self.kind == "exact"  # else an end of 0 is certain
        lower, upper = (
            _certain(value, self.error if value or exact else 0.0)
            for value in (self.lower, self.upper)
        )
        end = f"kind={self.kind!r}, rows={self.rows!r}"
        return f"{type(self).__name__}(lower={lower}, upper={upper}, {end})"

    def __float__(self) -> float:
        if self.kind != "exact":
            raise TypeError(
                f"the leakage is not known exactly but between {self.lower:.6g} and "
                f"{self.upper:.6g}: use .lower and .upper"
            )
        return self.lower


def _certain(value: float, error: float) -> str:
    """The digits of `value` that are larger than its error."""
    if error == 0.0:
        return f"{value:.{_DIGITS}g}"
    if value <= error:
        return f"<{error:.2g}"
    digits = min(_DIGITS, max(1, math.floor(math.log10(value / error))))
    return f"{value:.{digits}g}"


# ---- the question ----


def mechanism_leakage(
    mechanism: Any,
    p: Any,
    n: int | None = None,
    *,
    gamma: float = 1.0,
    rows: Literal["fixed", "poisson"] = "fixed",
    method: Literal["auto", "sample"] = "auto",
    samples: int | None = None,
    confidence: float | None = None,
    rng: Any = None,
    workers: int = 1,
    progress: bool = False,
    limit: int = LIMIT,
) -> MechanismLeakage:
    r"""Membership leakage of a given procedure on discrete data.

    The data are `n` independent rows with the law `p`, or people drawn from a register; the
    procedure sees their histogram and releases something; an attacker who knows `p`, the procedure
    and a target row sees that and guesses whether the target was among the rows.  The result is the
    advantage of the best attack, on average over targets with the law `p`.

    Parameters
    ----------
    mechanism : built-in, callable or integer array
        * what treats each cell on its own: :class:`Round`, :class:`RandomRound`,
          :class:`Suppress`, :class:`CellKey`, :class:`Geometric`, :class:`DiscreteGaussian`,
          :class:`Synthetic`, or several of these in a :class:`Pipeline`;
        * what moves rows before they are counted: :class:`Pram` or :class:`Swap`;
        * :class:`Histogram`, :class:`Mean`, :class:`Maximum` or :class:`Mode`;
        * a function of count vectors, an array of shape (M, K) of integers that must not be
          changed, that returns the label of what is released for each, integers of shape (M,), or,
          if it is random, the probabilities of its outcomes, shape (M, L).  With more than one
          worker it is called in several threads;
        * the labels of all count vectors, in the order of :func:`count_vectors`.
    p : array_like, shape (K,), or Register
        Probabilities of the atoms; or the people of a :class:`~mialeak.populations.Register`, of
        whom n are drawn without replacement, or each with the register's rate.  A register is taken
        for :class:`Histogram`, what treats each cell on its own, and what moves rows.
    n : int, optional
        Number of rows, the target included.  Left out for a register with a rate.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
    rows : {"fixed", "poisson"}
        "fixed": out, n fresh rows; in, the target and n - 1 fresh rows.  "poisson": out, a Poisson
        number of fresh rows with mean n; in, the target and as many.  Cells are then independent.
    method : {"auto", "sample"}
        "auto": a closed form or an enumeration of all count vectors.  "sample": a certified lower
        bound for a function that has too many of them, at a fixed number of rows; half of the
        samples choose an attack, the other half measure it.
    samples : int, optional
        For "sample": count vectors drawn, at least 4; 100,000 by default.
    confidence : float, optional
        For "sample": probability with which `lower` is at most the leakage; 0.95 by default.
    rng : None, int or numpy.random.Generator, optional
        For "sample", as ``np.random.default_rng`` takes it.
    workers : int, default 1
        Threads; -1 is all.  The result has the same bits for any number.
    progress : bool, default False
        Show a bar on stderr, and before an enumeration how many count vectors there are and how
        long they take.
    limit : int, default 10**9
        Count vectors that are enumerated at most.

    Returns
    -------
    MechanismLeakage
        With `kind` "exact", except that what treats each cell on its own (rounding, suppression,
        noise) is enclosed ("bound") if the number of rows is fixed and there are too many cells to
        enumerate: between the leakage of the target's own cell and that of the raw counts.  What
        moves rows is enclosed for too many cells: post-randomisation by its law on a lattice, to
        0.3 % for up to 100 cells of 1,000,000 rows and some 30 % for 1,000 cells; swapping
        between that of the counts that it keeps and that of the raw counts.  Of a register moved
        rows are enumerated for a few people, and enclosed in the same way otherwise.  With
        ``method="sample"`` it is "estimate": `lower` is a confidence bound, and `upper`
        :func:`~mialeak.max_leakage`, for no sample bounds an unknown function from above.

    Raises
    ------
    ValueError
        If `p` is no law; a number is out of range; there are more than `limit` count vectors;
        probabilities do not sum to 1; labels differ between two calls, unless they are sampled.
    TypeError
        If `mechanism` is nothing of the above, or its labels are not integers.

    See Also
    --------
    max_leakage : The largest leakage of any procedure: what :class:`Histogram` has.
    coarsen : Merging atoms until the counts leak little enough.

    Notes
    -----
    With outcomes l, released with probability G(l | counts), and target k, lemma 5.2 of [AGP23]_
    is, in positive terms and for gamma >= 1,

    .. math:: \Delta = \sum_l \sum_k \bigl( E[(N_k/n - \gamma p_k) \, G(l \mid N)] \bigr)_+ ,

    for gamma < 1 the negative parts over gamma.  All
    :math:`\binom{n+K-1}{K-1}` count vectors are walked in an order in which neighbours differ in
    two counts; a vector's probability is a product of one number for each cell, and sums are
    compensated.

    The maximum has a closed form, for a bit of probability p and gamma = 1 that is
    :math:`2p(1-p)^n`.  The mean's law and the mode's are Fourier sums.  With a Poisson number of
    rows, a mechanism that treats each cell on its own leaks about a target what the count of the
    target's cell leaks.

    A sampled attack answers "in" for target k and outcome l if the first half's average of
    :math:`(N_k/n - \gamma p_k) 1\{l\}` is positive.  For gamma >= 1 the leakage of a fixed attack A
    is the mean of :math:`Y = \sum_k (N_k/n - \gamma p_k) A(k, l)` with counts N from the law "out",
    bounded by -gamma and 1, so that the empirical Bernstein bound [MP09]_ holds for any number of
    samples.

    For a register with a rate the cells are independent, and the leakage of a cell-wise mechanism
    is that of the target's own cell.  For a sample of n people it lies between that and the leakage
    of all counts as they are.

    **Accuracy**: absolute, `error` of the result: 1e-14 + eps sqrt(n), and 1e-14 for cells with a
    Poisson number of rows, over gamma where that is below 1; for the mode times gamma above it.  A
    leakage below that is printed as such.  **Cost**: 10 ns a count vector for K <= 8 with labels
    given; without enumeration, milliseconds; seconds where a cell expects 1e12 rows, for synthetic
    rows or Gaussian noise of 1e4 in cells of 1e5 rows, and for the mean of 300 values of 1,000,000
    rows; up to half a minute for the mode, as of 100 rows in 2,000 cells or 30,000 rows in 10;
    modes that would take longer are refused.  Cells that expect more than about 2.5e13 rows are
    refused.  100,000 samples of 40 cells take 0.7 s, and what `mechanism` takes.

    References
    ----------
    .. [AGP23] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", 2023.
    .. [MP09] A. Maurer, M. Pontil, "Empirical Bernstein Bounds and Sample Variance Penalization",
       COLT, 2009.

    Examples
    --------
    What publishing only whether somebody has a rare disease gives away, beside the whole table:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Histogram, Suppress
    >>> law, n = [0.9, 0.09, 0.01], 100
    >>> anybody = lambda counts: counts[:, 2] > 0
    >>> print(f"{float(mechanism_leakage(anybody, law, n)):.4f}")
    0.0073
    >>> print(f"{float(mechanism_leakage(Histogram(), law, n)):.4f}")
    0.0268

    Hiding small counts hides nothing here: the number of rows is known, and the other two counts
    give the third away.

    >>> print(f"{float(mechanism_leakage(Suppress(5), law, n)):.4f}")
    0.0268

    A randomised procedure gives probabilities: the answer, turned around one time in four.

    >>> import numpy as np
    >>> noisy = lambda counts: np.where(counts[:, 2:] > 0, [[0.25, 0.75]], [[0.75, 0.25]])
    >>> print(f"{float(mechanism_leakage(noisy, law, n)):.4f}")
    0.0037

    How many rows are in the first ten of 40 cells: more count vectors than can be enumerated.

    >>> first_ten = lambda counts: counts[:, :10].sum(axis=1)
    >>> sampled = mechanism_leakage(first_ten, np.full(40, 1 / 40), 60, method="sample", rng=0)
    >>> print(f"{sampled.lower:.4f} to {sampled.upper:.4f}")
    0.0437 to 0.3312
    """
    if isinstance(p, Register):
        require_same_values("cells", mechanism=mechanism, p=p)
        if (rows, method, samples, confidence, rng) != ("fixed", "auto", None, None, None):
            why = "it states itself how its people are drawn, and its answer needs no samples"
            remedy = "Leave rows, method, samples, confidence and rng out"
            unsupported("rows, method or samples", "for a Register", why, remedy)
        weight = min(as_gamma(gamma), _LARGEST_GAMMA)
        lower, upper, how = _register_leakage(mechanism, p, n, weight)
        sampling = "fixed" if p.rate is None else "bernoulli"
        error = (_ROUNDING + _EPS * math.sqrt(p.people)) / min(1.0, weight)
        return MechanismLeakage(lower, upper, _KINDS[lower == upper], sampling, how, error)
    if isinstance(p, (Stratified, Panel)):
        _refuse_population(p)
    require_same_values("cells", mechanism=mechanism, p=p)
    law = as_law(p)
    size, weight = as_count(n, "n", least=1), as_gamma(gamma)
    poisson = as_choice(rows, "rows", _ROWS) == "poisson"
    threads, most = resolve_workers(workers), as_count(limit, "limit", least=1)
    if as_choice(method, "method", _METHODS) == "sample":
        require_sampled(mechanism, rows)
        drawn = as_count(_SAMPLES if samples is None else samples, "samples", least=4)
        level = as_confidence(_CONFIDENCE if confidence is None else confidence)
        halves = Sampling(mechanism, law, size, weight, drawn // 2, threads)
        lower, upper = halves.bounds(level, rng, progress=progress)
        return MechanismLeakage(lower, upper, "estimate", rows, "split sample")
    for name, value in (("samples", samples), ("confidence", confidence), ("rng", rng)):
        if value is not None:
            invalid(name, 'be left out unless method="sample"', value=value)
    return _computed(
        mechanism,
        law,
        size,
        weight,
        poisson=poisson,
        workers=threads,
        progress=progress,
        limit=most,
    )


def _computed(
    mechanism: Any,
    law: FloatArray,
    size: int,
    gamma: float,
    *,
    poisson: bool,
    workers: int,
    progress: bool,
    limit: int,
) -> MechanismLeakage:
    """By a closed form, an enumeration, or an enclosure."""
    weight = min(gamma, _LARGEST_GAMMA)
    if isinstance(mechanism, CellMechanism):
        lower, upper, method = _cell_leakage(mechanism, law, size, weight, poisson=poisson)
    elif isinstance(mechanism, (Pram, Swap)):
        rows_moved: Any = pram_leakage if isinstance(mechanism, Pram) else swap_leakage
        lower, upper, method = rows_moved(mechanism, law, size, weight, poisson=poisson)
    else:
        closed = closed_leakage(mechanism, law, size, weight, poisson=poisson)
        method = "closed form"
        if closed is None:
            method = "enumeration"
            closed = enumerated_leakage(
                as_mechanism(mechanism, len(law), size, poisson=poisson),
                law,
                size,
                weight,
                poisson=poisson,
                workers=workers,
                progress=progress,
                limit=limit,
            )
        lower = upper = closed
    kind = _KINDS[lower == upper]
    cells = poisson and isinstance(mechanism, (CellMechanism, Histogram))
    error = (_ROUNDING + (0.0 if cells else _EPS * math.sqrt(size))) / min(1.0, weight)
    if isinstance(mechanism, Mode):
        error *= max(1.0, weight)  # that of the probability of each mode
    return MechanismLeakage(lower, upper, kind, _ROWS[poisson], method, error)


def as_law(p: Any) -> FloatArray:
    """`p` as probabilities that sum to 1 to the last bit or so."""
    law = as_floats(p, "p", ndim=1)
    if law.size == 0:
        invalid("p", "hold at least one atom")
    law = as_probabilities(law, "p")
    return law / math.fsum(law.tolist())


def _cell_leakage(
    mechanism: CellMechanism, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    if poisson:
        in_cell = target_cell_leakage(mechanism, p, n, gamma, poisson=True)
        return in_cell, in_cell, "own cell"
    atoms = p[p > 0.0]
    cells = len(atoms)
    if cells == 1:
        return 0.0, 0.0, "closed form"
    if (
        cells <= _MOST_JOINT_CELLS
        and joint_size(mechanism, cells, n, _MOST_JOINT_FIRST) <= _MOST_JOINT_FIRST
    ):
        exact = joint_leakage(mechanism, atoms, n, gamma)
        return exact, exact, "enumeration"
    if (
        not mechanism.random
        and cells < _MOST_DIGITS
        and math.comb(n + cells - 1, n) <= _MOST_VECTORS_FIRST
    ):
        released, digit = np.unique(mechanism.release(np.arange(n + 1)), return_inverse=True)
        if cells * math.log2(len(released)) < _MOST_DIGITS:
            radix = len(released) ** np.arange(cells, dtype=np.int64)
            exact = enumerated_leakage(
                lambda counts: digit[counts] @ radix, atoms, n, gamma, poisson=False
            )
            return exact, exact, "enumeration"
    in_cell = target_cell_leakage(mechanism, p, n, gamma, poisson=False)
    upper = float(max_leakage(p, n, gamma=gamma))
    return min(in_cell, upper), upper, "own cell and raw counts"


# ---- people of a register ----


def _refuse_population(population: Stratified | Panel) -> NoReturn:
    if isinstance(population, Panel):
        kind, why = "Panel", "the law is unknown"
        remedy = "Pass the expected law, panel.weights / panel.weights.sum(), as p"
    else:
        kind, why = "Stratified", "its strata are sampled apart"
        remedy = (
            "Pass one Register at a time; if the strata are published, the leakage is the mean of "
            "theirs, weighted by their people"
        )
    unsupported("The leakage of a mechanism", f"for a {kind}", why, remedy, error=TypeError)


def _register_leakage(
    mechanism: Any, register: Register, n: int | None, gamma: float
) -> tuple[float, float, str]:
    """Leakage of protected counts of people drawn from a register: two bounds, and the method."""
    if isinstance(mechanism, (Pram, Swap)):
        return moved_register_leakage(mechanism, register, n, gamma)
    if not isinstance(mechanism, (CellMechanism, Histogram)):
        why = "its people are not independent rows"
        remedy = "Take Histogram() or a protection of counts such as Round(5), or a law for p"
        unsupported(f"{mechanism!r}", "for a Register", why, remedy, error=TypeError)
    raw = float(max_leakage(register, n, gamma=gamma))
    if isinstance(mechanism, Histogram):
        return raw, raw, "closed form"
    sizes, cells = register.cell_sizes, register.cells_per_size
    terms = register_cell_terms(mechanism, sizes, register, n, gamma)
    single = total(terms * cells * (sizes / register.people))
    if register.rate is not None:
        return single, single, "own cell"  # the other cells do not depend on the target's
    number = int(cells.sum())
    if number == 1:
        return 0.0, 0.0, "closed form"
    drawn = as_count(n, "n", least=1)
    countable = number <= _MOST_JOINT_CELLS and register.people <= _MOST_PEOPLE
    if countable and joint_size(mechanism, number, drawn, _MOST_JOINT_FIRST) <= _MOST_JOINT_FIRST:
        exact = _all_samples(mechanism, register, np.repeat(sizes, cells), drawn, gamma)
        return exact, exact, "enumeration"
    return min(single, raw), raw, "own cell and raw counts"


def _all_samples(
    mechanism: CellMechanism, register: Register, sizes: IntArray, n: int, gamma: float
) -> float:
    """Leakage of n people drawn without replacement from cells of so many, all cells seen."""
    counts = np.indices((n + 1,) * len(sizes), sparse=True)
    weight = np.where(sum(counts) == n, 1.0, 0.0)
    for size, count in zip(sizes.tolist(), counts, strict=True):
        choose = [float(math.comb(size, h)) for h in range(n + 1)]
        weight = weight * np.array(choose)[count]
    weight /= float(math.comb(register.people, n))
    others = register.people - n
    scores = [
        count / n - gamma * (size - count) / others
        for size, count in zip(sizes.tolist(), counts, strict=True)
    ]
    return joint_terms(mechanism, weight, scores, n, gamma)
