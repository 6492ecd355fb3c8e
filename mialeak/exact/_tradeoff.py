"""Construction of the exact trade-off curve of a released mean, and the choice of method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args, overload

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    invalid,
    unsupported,
)
from mialeak._blocks import resolve_workers
from mialeak._checks.means.genotypes import sampled_rows
from mialeak._labels import require_same_columns
from mialeak._warnings import warn
from mialeak.exact._atoms import (
    MOST_ATOMS,
    MOST_LARGE,
    MOST_SMALL,
    Atoms,
    Halves,
    atoms_of,
    halves_of,
)
from mialeak.exact._chains import ChainMoments, chain_atoms
from mialeak.exact._coordinates import CoordinateFamily, families_of, log_of
from mialeak.exact._curve import ExactTradeOff
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import pack
from mialeak.exact._ratio_laws import AtomLaw, ContourLaw, HalvesLaw, RatioLaw
from mialeak.exact._recurrences import (
    DAMPED,
    Recurrences,
    find_linked_recurrences,
    find_recurrences,
    first_damping,
)
from mialeak.exact._sampled import SampledTradeOff
from mialeak.games import FixedTargetGame
from mialeak.laws import Chain, Joint, Marginal, as_joint
from mialeak.scores import likelihood_ratio_score

__all__ = ["exact_mean_tradeoff"]

Exact = Literal["auto", "atoms", "halves", "inversion"]
Method = Literal["auto", "atoms", "halves", "inversion", "sample"]

#: Largest total number of outcomes for which atoms are counted at all.
_LISTED_OUTCOMES = 1 << 15
#: Largest number of distinct coordinates, likewise: with two outcomes each, half of these
#: coordinates have 2**24 atoms.
_LISTED_COLUMNS = 48
#: Least log probability, out, of the releases that are possible with the target.  Below the first
#: the atoms underflow; below the second, per column, the law is too close to one atom for an
#: inversion.
_LEAST_KEPT, _LEAST_KEPT_COLUMN = -600.0, -12.0
#: For listed atoms: factor on the range of counts, and least probability of an outcome relative to
#: the mode of its column.  The first affordable pair is used: down to the least float64; to 1e-40;
#: and, for two halves only, to 3e-17.
_RANGES = ((4.5, 0.0), (1.6, 1e-40), (1.0, 1e-40))
#: If the inversion has a larger error, larger (slower) halves are used.
_SLOWER_FOR = 1e-6
#: Sizes of the larger halves: 30 ms a threshold.
_SMALL, _LARGE = 1 << 18, 1 << 20
#: Counts stored of a standard deviation.  Limits of those of all columns: of genotypes (1 GB), and
#: where a search for recurrences needs them (10 s); and of the standard deviation of one column in
#: such a search.
_PER_SPREAD = 20.0
_MOST_STORED, _MOST_SEARCHED, _WIDEST_SEARCHED = 1 << 26, 1 << 22, 1 << 15
#: Least number of columns if all are normal: with fewer the moment function decays too slowly for
#: an inversion.  With a target close to the mean, nine columns take seconds, and eight take more
#: nodes than `_MOST_NODES`.
_LEAST_NORMAL = 10
#: Curves of linked columns whose omitted recurrences are larger are refused at once.
_OMITTED = 1e-2


@overload
def exact_mean_tradeoff(
    target: Any,
    marginals: Any,
    n: int,
    *,
    sampling_rate: float = 1.0,
    method: Exact = "auto",
    workers: int = 1,
) -> ExactTradeOff: ...
@overload
def exact_mean_tradeoff(
    target: Any,
    marginals: Any,
    n: int,
    *,
    sampling_rate: float = 1.0,
    method: Literal["sample"],
    workers: int = 1,
    draws: int = 100_000,
    rng: Any = None,
) -> SampledTradeOff: ...
def exact_mean_tradeoff(
    target: Any,
    marginals: Any,
    n: int,
    *,
    sampling_rate: float = 1.0,
    method: Method = "auto",
    workers: int = 1,
    draws: int | None = None,
    rng: Any = None,
) -> ExactTradeOff | SampledTradeOff:
    """Trade-off curve of the best attack on a released mean, at finite n.

    Parameters
    ----------
    target : array_like, shape (d,)
        The row that may be in the data; each value possible in its column.
    marginals : Marginal or list of Marginal
        The laws of the d coordinates: :class:`Bernoulli`, :class:`Genotype`, :class:`Presence`,
        :class:`Lattice`, :class:`Normal`, linked columns by :class:`Chain`, or a list of these,
        such as a chain for each chromosome.
    n : int
        Rows, the target included; at least 2.
    sampling_rate : float, optional
        The mean is that of ``k = sampling_rate * n`` rows drawn together without replacement; k
        must be an integer, at least 2.
    method : {"auto", "atoms", "halves", "inversion", "sample"}, optional
        "auto" takes the first possible method: all atoms, if there are at most 2**20; the atoms of
        two halves of the columns, at most 2**13 and 2**20 (2**18 and 2**20 if the inversion has an
        error above 1e-6); the inversion of the moment function.  "halves" takes up to 2**18 and
        2**21 atoms, 30 ms a threshold; the sizes of "auto" take 2 ms.  "sample" is an estimate:
        the curve of the exact log likelihood ratios of `draws` drawn releases, of any size.  Chains
        of second order take "sample" alone.
    workers : int, optional
        Number of threads, or -1 for all CPUs, that this function and the methods of the curve use;
        of use from some 100,000 columns on, and for chains.  The result is the same for any number.
    draws : int, optional
        Releases drawn with method="sample", half of them out and half in on average; 100,000 by
        default.
    rng : None, int or numpy.random.Generator, optional
        With method="sample", as ``np.random.default_rng`` takes it.

    Returns
    -------
    ExactTradeOff
        With method="sample" a :class:`SampledTradeOff`, an estimate with an interval.

    Raises
    ------
    ValueError
        If shapes do not match, the target is impossible, the method is not available, or n is so
        large that the counts of genotypes fill the memory (of 300 columns from 1e9 rows on), or
        those of fewer than about 75 bits take minutes (from 1e8 to 1e10 rows on).  Power,
        fnr, fpr, delta, epsilon and advantage of the curve raise it if their error is above 0.02:
        possible with a small number of columns if one is normal, or far in a tail whose outcomes
        are not listed.  cdf and sf never raise it; `error` states their error.
    TypeError
        If marginals are not laws of ``mialeak.laws``.

    Warns
    -----
    UserWarning
        If a chain was fitted to fewer than 200 haplotypes, or to columns that are no chain of its
        order, such as unsorted ones: ``fitted.warnings``; or if columns of ``Bernoulli`` or
        ``Genotype``, which are independent, add up as the categories of one variable do, or as both
        alleles of a site.

    See Also
    --------
    mean_tradeoff : the limit for large n; noise on the release.
    gaussian_mean_tradeoff : exact for correlated normal columns.

    Notes
    -----
    The log likelihood ratio of the released mean is a sum of d independent terms whose laws are
    known: ``l_j = log(K/(n p_j))``, K binomial, for a bit that the target has set.  The law *in* is
    the law *out* tilted by e^l.  One function ``M(s) = E_out e^(s l)``, a product over columns,
    determines both laws, both directions of delta, and every tail::

        P(l > x) = (1/pi) Re int_0^oo M(theta + it) e^(-(theta + it) x) / (theta + it) dt

    on a contour through the saddle point.  The result is relatively accurate far in the tails, with
    a large number of columns also at 1e-300; with a small number see `error`.  l lies nearly on a
    lattice, so that ``|M|`` is large again near multiples of ``2 pi n p_j``.  These recurrences are
    included; without them, tails of 200 rare alleles have an error of 2e-3.  A release that is
    impossible with the target has l = -inf.  For a mean of k of the n rows the curve f of k rows
    gives ``power = r f(fpr) + (1 - r) fpr``, r = k/n.  Noise on the release is not supported: the
    likelihood ratio of lattice plus noise is not a sum over a small number of outcomes.

    Columns are independent, except those of a chain: its counts are a Markov chain, and M(s) is a
    product of matrices with the entries ``P(e | c) e^(s l(c, e))``, c and e the counts of two
    neighbours.  The counts of a chain of second order are no Markov chain: its curve is estimated.
    For other dependent columns the curve is that of another law; a population of mixed ancestry is
    an example, see the gallery.

    **Accuracy.**  The result states its `error`: a bound for atoms and halves, an estimate for the
    inversion.  The curve prints it if it is above 1e-6.  Against exact rational enumeration 1e-14,
    and 3e-12 relative at 1e-300; against atoms of two halves, and between contours, 1e-12 relative
    down to 1e-30.  Listed atoms are all those with a positive float64 probability, if their number
    allows; otherwise outcomes of a column less likely than 1e-40 (in large halves 3e-17) are
    omitted and count as an error relative to the requested tail.

    **Cost.**  Linear in d and independent of n for large ``n p (1 - p)``: 25 outcomes a column (the
    probability is smooth, every h-th count is enough), 26 frequencies a contour, four to twelve
    contours a curve.  Fewer than about 20 columns, equal columns, and rare values cost more because
    of the recurrences.  A million distinct columns take 4 s and 740 MB.  Beyond 1 GB of outcomes,
    those of 2.5 million columns, they are computed anew for each contour: a column then takes 250
    bytes in all, and 2.7 times the time.  Linked columns: 100 different sites of 1,000 people take
    0.8 s, 1,000 take 4 s with correlations of neighbours near 0.7 and 40 s with 0.98.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import exact_mean_tradeoff, mean_tradeoff
    >>> from mialeak.laws import Bernoulli
    >>> p = 0.25 + 0.5 * (np.arange(5000) + 0.5) / 5000
    >>> easy = (p <= 0.5).astype(float)
    >>> curve = exact_mean_tradeoff(easy, Bernoulli(p), n=1000)
    >>> print(f"{curve.advantage:.12f}")
    0.863679881264
    >>> print(f"{mean_tradeoff(easy, p, p * (1 - p), n=1000).advantage:.12f}")
    0.863390090666

    About this target linked columns leak less than independent ones:

    >>> from mialeak.laws import Chain
    >>> for correlation in (0.0, 0.9):
    ...     law = Chain.from_correlation(np.full(60, 0.3), correlation)
    ...     print(f"{exact_mean_tradeoff(np.zeros(60), law, n=50).advantage:.6f}")
    0.282015
    0.080224
    """
    law = as_joint(marginals)
    require_same_columns(marginals=law, target=target)
    row = as_floats(target, "target", finite=True)
    if row.shape != (law.size,):
        rule = f"have {law.size} entries, one for each column of marginals"
        invalid("target", f"{rule}; its shape is {row.shape}")
    n = as_count(n, "n", least=2)
    rows = sampled_rows(sampling_rate, n)
    as_choice(method, "method", get_args(Method))
    for part in _parts(law):
        if isinstance(part, Chain) and part.fitted is not None:
            for doubt in part.fitted.warnings:
                warn(doubt)
    if method == "sample":
        number = as_count(100_000 if draws is None else draws, "draws", least=100)
        return _sampled(row, law, rows, number, rng, workers, rows / n)
    if any(isinstance(part, Chain) and part.order == 2 for part in _parts(law)):
        why = "their released counts are no Markov chain"
        remedy = 'method="sample" estimates the curve from drawn releases'
        unsupported("The exact curve", "for chains of second order", why, remedy)
    if draws is not None or rng is not None:
        invalid("draws" if draws is not None else "rng", 'be None unless method="sample"')
    chains, others, other_row = _linked(law, row)
    families, normal = families_of(others, other_row, rows) if others else ([], None)
    if not chains and not families and normal is not None and normal.columns < _LEAST_NORMAL:
        rule = f"have at least {_LEAST_NORMAL} columns if all are normal; it has {law.size}"
        invalid("marginals", rule, remedy="gaussian_mean_tradeoff is exact for them")
    moments = RatioMoments(families, normal, resolve_workers(workers))
    _require_countable(moments, rows)
    if chains:
        return _linked_tradeoff(chains, moments, method, rows, n)
    return ExactTradeOff(_law_of(moments, method), moments, rows, rows / n)


def _sampled(
    row: FloatArray, law: Marginal, rows: int, draws: int, rng: Any, workers: int, rate: float
) -> SampledTradeOff:
    """The curve of the exact ratios of releases drawn in the two worlds."""

    def score(releases: FloatArray) -> FloatArray:
        ratio = np.asarray(likelihood_ratio_score(releases, row, law, rows))
        with np.errstate(divide="ignore", over="ignore"):
            return ratio if rate == 1.0 else np.log1p(rate * np.expm1(ratio))

    game = FixedTargetGame(row, law, round(rows / rate), sampling_rate=rate)
    rounds = game.play(draws, score=score, rng=rng, workers=workers)
    return SampledTradeOff(rounds.in_scores, rounds.out_scores)


def _linked(
    law: Marginal, row: FloatArray
) -> tuple[list[tuple[Chain, FloatArray]], Marginal | None, FloatArray]:
    """The chains with their targets, and the other columns with theirs."""
    chains: list[tuple[Chain, FloatArray]] = []
    others, places, start = [], [], 0
    for part in _parts(law):
        place = row[start : start + part.size]
        start += part.size
        if isinstance(part, Chain):
            chains.append((part, place))
        else:
            others.append(part)
            places.append(place)
    if not chains:
        return [], law, row
    return chains, as_joint(others) if others else None, np.concatenate([*places, []])


def _parts(law: Marginal) -> list[Marginal]:
    if isinstance(law, Joint):
        return [simple for part in law.parts for simple in _parts(part)]
    return [law]


def _linked_tradeoff(
    chains: list[tuple[Chain, FloatArray]], others: RatioMoments, method: Exact, rows: int, n: int
) -> ExactTradeOff:
    """The curve of linked columns: all atoms, or the inversion of transfer matrices."""
    if method == "halves":
        why, remedy = "the columns are not independent", 'Use method="auto"'
        unsupported('method="halves"', "for linked columns", why, remedy)
    for chain, target in chains:
        chain._possible(target, rows)
    alone = not others.families and others.normal is None
    atoms = None
    if alone and method != "inversion":
        parts = [chain_atoms(chain, target, rows) for chain, target in chains]
        atoms = _product(parts)
    if method == "atoms" and atoms is None:
        why, remedy = "it has too many atoms", 'Use method="auto"'
        unsupported('method="atoms"', "for this law", why, remedy)
    moments = ChainMoments(chains, others, rows)
    if atoms is not None:
        return ExactTradeOff(AtomLaw(*atoms), moments, rows, rows / n)
    recurrences = find_linked_recurrences(moments)
    if recurrences.omitted > _OMITTED:
        why = f"its moment function does not fall off, the error is {recurrences.omitted:.1g}"
        remedy = 'method="sample" estimates the curve from drawn releases'
        unsupported("The exact curve", "for so few linked columns", why, remedy)
    strip = (moments.pole, np.inf)
    return ExactTradeOff(ContourLaw(moments, recurrences, strip), moments, rows, rows / n)


def _product(parts: list[tuple[Atoms, float] | None]) -> tuple[Atoms, float] | None:
    """The atoms of independent sums, and the probability of -inf; None if they are too many."""
    atoms, kept = Atoms(np.zeros(1), np.ones(1), np.ones(1)), 1.0
    for part in parts:
        if part is None or atoms.size * part[0].size > MOST_ATOMS:
            return None
        atoms, kept = atoms.times(part[0]), kept * (1.0 - part[1])
    return atoms, parts[0][1] if len(parts) == 1 and parts[0] else 1.0 - kept


def _require_countable(moments: RatioMoments, rows: int) -> None:
    """Refuse so large a number of rows that the counts fill the memory, or take minutes."""
    families = moments.families
    stored = sum(float(f.spread.sum()) for f in families if not f.smooth) * _PER_SPREAD
    searched = widest = 0.0
    if families and first_damping(moments) < DAMPED:
        widest = max(float(f.spread.max()) for f in families)
        searched = sum(float(f.spread.sum()) for f in families) * _PER_SPREAD
    if stored > _MOST_STORED or widest > _WIDEST_SEARCHED or searched > _MOST_SEARCHED:
        remedy = "mean_tradeoff is the limit for many rows"
        unsupported("The exact curve", f"for {rows:,} rows", "their counts are too many", remedy)


def _law_of(moments: RatioMoments, method: Exact) -> RatioLaw:
    """The law by the requested method; for "auto" by the first that is possible."""
    families, normal = moments.families, moments.normal
    pole = -normal.n + 1.0 if normal is not None else -np.inf
    if not families and normal is None:
        one = np.ones(1)
        return AtomLaw(Atoms(np.zeros(1), one, one), 0.0)
    log_kept = sum(float(f.copies @ log_of(f.kept, f.lost)) for f in families)
    recurrences: Recurrences | None = None
    if method != "inversion" and normal is None:
        listable = (
            sum(f.copies.size for f in families) <= _LISTED_COLUMNS
            and log_kept > _LEAST_KEPT
            and sum(float(np.sum(f.spread + 1.0)) for f in families) <= _LISTED_OUTCOMES
        )
        faint = _faint(families)
        if listable and method in ("auto", "atoms"):
            for wider, rare in _RANGES[:2]:
                atoms = atoms_of(pack(families, 1.0, np.inf, wider).kept(1), rare)
                if atoms is not None:
                    return AtomLaw(atoms, -float(np.expm1(log_kept)), faint)
        if listable and method in ("auto", "halves"):
            sizes = (MOST_SMALL, MOST_LARGE) if method == "auto" else (_SMALL, 2 * _LARGE)
            halves = _halves(families, *sizes)
            if halves is None and method == "auto":
                recurrences = find_recurrences(moments)
                if recurrences.omitted > _SLOWER_FOR:
                    halves = _halves(families, _SMALL, _LARGE)
            if halves is not None:
                return HalvesLaw(halves, moments, faint)
    columns = sum(float(f.copies.sum()) for f in families)
    if normal is None and log_kept < _LEAST_KEPT_COLUMN * columns:
        least = f"1e{np.ceil(log_kept / np.log(10.0)):.0f}"
        why = f"the releases that it can be in have a probability below {least} without it"
        unsupported("The exact curve", "for so unlikely a target", why)
    if method in ("atoms", "halves"):
        why = "it has too many atoms"
        unsupported(f'method="{method}"', "for this law", why, 'Use method="auto"')
    recurrences = recurrences or find_recurrences(moments)
    if np.isinf(recurrences.omitted):
        why = "all but always every row is the same, and the release with it"
        unsupported("The exact curve", "for these marginals", why)
    return ContourLaw(moments, recurrences, (pole, np.inf))


def _halves(families: Sequence[CoordinateFamily], small: int, large: int) -> Halves | None:
    """Two halves with the widest affordable range of counts."""
    for wider, rare in _RANGES:
        halves = halves_of(pack(families, 1.0, np.inf, wider).kept(1), small, large, rare)
        if halves is not None:
            return halves
    return None


def _faint(families: Sequence[CoordinateFamily]) -> tuple[float, float]:
    """Upper bounds on the probability, out and in, of outcomes omitted by underflow."""
    out = [f.copies * f.faint for f in families]
    inside = [
        np.exp(np.minimum(f.highest, 700.0)) * mass for f, mass in zip(families, out, strict=True)
    ]
    return sum(float(mass.sum()) for mass in out), sum(float(mass.sum()) for mass in inside)
