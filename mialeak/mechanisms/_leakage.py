"""Leakage of a given procedure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    as_gamma,
    as_probabilities,
    invalid,
)
from mialeak._blocks import resolve_workers
from mialeak.discrete import max_leakage
from mialeak.mechanisms._cells import CellMechanism
from mialeak.mechanisms._cellwise import joint_leakage, joint_size, own_cell_leakage
from mialeak.mechanisms._closed import maximum_leakage, mean_leakage, mode_leakage
from mialeak.mechanisms._enumerate import LIMIT, Enumeration, enumerated_leakage
from mialeak.mechanisms._result import MechanismLeakage
from mialeak.mechanisms._statistics import Histogram, Maximum, Mean, Mode

__all__ = ["as_law", "compare_mechanisms", "mechanism_leakage"]

#: At a fixed number of rows a cell mechanism is answered exactly if it is not random and there are
#: at most so many count vectors (a second of work), or if :func:`joint_leakage` holds so few.
_FEW_VECTORS, _FEW_JOINT = 2**21, 2**20
#: Cells of :func:`joint_leakage` at most: each is an axis of an array.
_MOST_JOINT_CELLS = 12
#: Bits of the label that tells what all cells release.
_MOST_DIGITS = 62
#: At a larger gamma only atoms leak that are rarer than 1e-100, and products overflow.
_LARGEST_GAMMA = 1e100
#: Absolute error: a constant, and for a fixed number of rows or a statistic, times sqrt(n).
_ROUNDING, _EPS = 1e-14, 2.0**-52
_ROWS = ("fixed", "poisson")


def mechanism_leakage(
    mechanism: Any,
    p: Any,
    n: int,
    *,
    gamma: float = 1.0,
    rows: Literal["fixed", "poisson"] = "fixed",
    workers: int = 1,
    progress: bool = False,
    limit: int = LIMIT,
) -> MechanismLeakage:
    r"""Membership leakage of a given procedure on discrete data.

    The data are `n` independent rows with the law `p`; the procedure sees their histogram and
    releases something; an attacker who knows `p`, the procedure and a target row sees that and
    guesses whether the target was among the rows.  The result is how much better than blind the
    best attack is, on average over targets with the law `p`.

    Parameters
    ----------
    mechanism : built-in, callable or integer array
        * :class:`Histogram`, :class:`Mean`, :class:`Maximum`, :class:`Mode`, :class:`Round`,
          :class:`RandomRound`, :class:`Suppress` or :class:`Geometric`;
        * a function of count vectors, an array of shape (M, K) of integers that must not be
          changed, that returns the label of what is released for each, integers of shape (M,), or,
          if it is random, the probabilities of its outcomes, shape (M, L).  With more than one
          worker it is called in several threads;
        * the labels of all count vectors, in the order of :func:`count_vectors`.
    p : array_like, shape (K,)
        Probabilities of the atoms.
    n : int
        Number of rows, the target included.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
    rows : {"fixed", "poisson"}
        "fixed": out, n fresh rows; in, the target and n - 1 fresh rows.  "poisson": out, a Poisson
        number of fresh rows with mean n; in, the target and as many.  Cells are then independent.
    workers : int, default 1
        Threads for an enumeration; -1 is all.  The result has the same bits for any number.
    progress : bool, default False
        Say on stderr how many count vectors there are and how long they take, and show a bar.
    limit : int, default 10**9
        Count vectors at most.

    Returns
    -------
    MechanismLeakage
        With `kind` "exact", except that what treats each cell on its own (rounding, suppression,
        noise) is enclosed ("bound") if the number of rows is fixed and there are too many cells to
        enumerate: between the leakage of the target's own cell and that of the raw counts.

    Raises
    ------
    ValueError
        If `p` is no law; `n`, `gamma` or `rows` is out of range; there are more than `limit` count
        vectors; probabilities do not sum to 1; labels differ between two calls.
    TypeError
        If `mechanism` is nothing of the above, or its labels are not integers.

    See Also
    --------
    max_leakage : The largest leakage of any procedure: what :class:`Histogram` has.
    sampled_mechanism_leakage : A certified lower bound where enumeration is out of reach.
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
    rows what treats each cell on its own leaks of a target what its own cell does.

    **Accuracy**: absolute, `error` of the result: 1e-14 + eps sqrt(n), and 1e-14 for cells with a
    Poisson number of rows, over gamma where that is below 1.  A leakage below that is printed as
    such.  **Cost**: 10 ns a count vector for K <= 8 with labels given; without enumeration,
    milliseconds, and seconds where a cell expects 1e12 rows.  Cells that expect more than about
    2.5e13 rows are refused.

    References
    ----------
    .. [AGP23] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", 2023.

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
    """
    law = as_law(p)
    size = as_count(n, "n", least=1)
    weight = min(as_gamma(gamma), _LARGEST_GAMMA)
    poisson = as_choice(rows, "rows", _ROWS) == "poisson"
    threads, most = resolve_workers(workers), as_count(limit, "limit", least=1)
    if isinstance(mechanism, CellMechanism):
        lower, upper, method = _cell_leakage(mechanism, law, size, weight, poisson=poisson)
    else:
        closed = _closed_leakage(mechanism, law, size, weight, poisson=poisson)
        method = "closed form"
        if closed is None:
            method = "enumeration"
            closed = enumerated_leakage(
                _as_mechanism(mechanism, len(law), size, poisson=poisson),
                law,
                size,
                weight,
                poisson=poisson,
                workers=threads,
                progress=progress,
                limit=most,
            )
        lower = upper = closed
    kind: Literal["exact", "bound"] = "exact" if lower == upper else "bound"
    cells = poisson and isinstance(mechanism, (CellMechanism, Histogram))
    error = (_ROUNDING + (0.0 if cells else _EPS * math.sqrt(size))) / min(1.0, weight)
    return MechanismLeakage(lower, upper, kind, rows, method, error)


def compare_mechanisms(
    mechanisms: Mapping[str, Any], p: Any, n: int, **options: Any
) -> dict[str, MechanismLeakage]:
    """Leakage of several procedures on one law.

    Parameters
    ----------
    mechanisms : dict
        Name to mechanism, as :func:`mechanism_leakage` takes it.
    p, n, **options
        As for :func:`mechanism_leakage`.

    Returns
    -------
    dict
        Name to :class:`MechanismLeakage`, in the order given.

    Raises
    ------
    TypeError, ValueError
        If `mechanisms` is no dict, and as :func:`mechanism_leakage`.

    Examples
    --------
    >>> from mialeak.mechanisms import Geometric, Round, Suppress, compare_mechanisms
    >>> ways = {"rounded": Round(5), "suppressed": Suppress(10), "noisy": Geometric(1.0)}
    >>> for name, found in compare_mechanisms(ways, [0.02] * 50, 200, rows="poisson").items():
    ...     print(f"{name:10} {float(found):.4f}")
    rounded    0.1465
    suppressed 0.0132
    noisy      0.1693
    """
    if not isinstance(mechanisms, Mapping):
        invalid("mechanisms", "be a dict of names to mechanisms", error=TypeError)
    return {name: mechanism_leakage(way, p, n, **options) for name, way in mechanisms.items()}


def as_law(p: Any) -> FloatArray:
    """`p` as probabilities that sum to 1 to the last bit or so."""
    law = as_floats(p, "p", ndim=1)
    if law.size == 0:
        invalid("p", "hold at least one atom")
    law = as_probabilities(law, "p")
    return law / math.fsum(law.tolist())


def _as_mechanism(mechanism: Any, atoms: int, n: int, *, poisson: bool) -> Any:
    """A callable, or a table of labels of the right length."""
    if isinstance(mechanism, np.ndarray):
        if mechanism.dtype.kind not in "iub":
            rule = f"hold integer labels, not {mechanism.dtype}"
            invalid("mechanism", rule, error=TypeError)
        if poisson:
            rule = "be a function of counts if rows='poisson', not a table of labels"
            invalid("mechanism", rule, error=TypeError)
        size = Enumeration(atoms, n, poisson=False).size
        if mechanism.shape != (size,):
            rule = f"hold one label for each of {size:,} count vectors"
            invalid("mechanism", f"{rule}; its shape is {mechanism.shape}")
        return mechanism.astype(np.int64, copy=False)
    if isinstance(mechanism, type) or not callable(mechanism):
        invalid(
            "mechanism",
            "be a built-in such as Round(5), a function of count vectors or an array of labels",
            value=mechanism,
            error=TypeError,
        )
    return mechanism


def _closed_leakage(
    mechanism: Any, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> float | None:
    """Leakage of the built-in statistics; None for others."""
    if isinstance(mechanism, Histogram):
        if poisson:
            return own_cell_leakage(None, p, n, gamma, poisson=True)
        return float(max_leakage(p, n, gamma=gamma))
    if isinstance(mechanism, Mean):
        return mean_leakage(p, mechanism.values, n, gamma, poisson=poisson)
    if isinstance(mechanism, Maximum):
        return maximum_leakage(p, n, gamma, poisson=poisson)
    if isinstance(mechanism, Mode):
        return mode_leakage(p, n, gamma, poisson=poisson)
    return None


def _cell_leakage(
    mechanism: CellMechanism, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    if poisson:
        own = own_cell_leakage(mechanism, p, n, gamma, poisson=True)
        return own, own, "own cell"
    atoms = p[p > 0.0]
    cells = len(atoms)
    if cells == 1:
        return 0.0, 0.0, "closed form"
    if cells <= _MOST_JOINT_CELLS and joint_size(mechanism, cells, n) <= _FEW_JOINT:
        exact = joint_leakage(mechanism, atoms, n, gamma)
        return exact, exact, "enumeration"
    if (
        not mechanism.random
        and cells < _MOST_DIGITS
        and math.comb(n + cells - 1, n) <= _FEW_VECTORS
    ):
        released, digit = np.unique(mechanism.release(np.arange(n + 1)), return_inverse=True)
        if cells * math.log2(len(released)) < _MOST_DIGITS:
            radix = len(released) ** np.arange(cells, dtype=np.int64)
            exact = enumerated_leakage(
                lambda counts: digit[counts] @ radix, atoms, n, gamma, poisson=False
            )
            return exact, exact, "enumeration"
    own = own_cell_leakage(mechanism, p, n, gamma, poisson=False)
    upper = float(max_leakage(p, n, gamma=gamma))
    return min(own, upper), upper, "own cell and raw counts"
