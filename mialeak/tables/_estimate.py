"""Leakage for the population that a sample of counts came from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, FloatArray, as_count, as_counts, as_gamma, as_share, invalid
from mialeak._checks.names import WORDS_OF_TOTALS, word_of
from mialeak._numerics.clopper_pearson import probability_range
from mialeak._numerics.rows_needed import rows_bracket, rows_needed
from mialeak._results import Estimate, Kind, Result, as_confidence
from mialeak.tables._interval import completed_leakage, interval_end, leakage_interval
from mialeak.tables._sampling import INFINITE, Sampling, as_sampling, complete, leakage_at

__all__ = [
    "TESTED_RATIO",
    "TESTED_ROWS",
    "AtomEstimates",
    "atom_leakage_range",
    "estimate_atom_leakage",
    "estimate_max_leakage",
    "estimated_min_samples",
    "is_far",
    "min_samples_interval",
]

#: Samples and releases (relative to them) on which the coverage of the interval was measured: at
#: least so many rows, at most so many times larger or smaller.
TESTED_ROWS, TESTED_RATIO = 1_000, 10

#: Relative precision of the ends of :func:`min_samples_interval`, and the first steps to them.
_STEP, _STRIDE = 0.02, 8


def estimate_max_leakage(
    counts: npt.ArrayLike,
    n: int | None = None,
    *,
    gamma: float = 1.0,
    confidence: float = 0.95,
    population: int | None = None,
) -> Estimate:
    r"""Estimate of the largest leakage of discrete data whose law is known through a sample only.

    The counts are those of a table, a histogram or a survey: `counts[k]` rows were seen in cell k,
    and there may be cells that no row was seen in.  The question is what
    :func:`mialeak.max_leakage` would return for the population that the rows came from.

    Parameters
    ----------
    counts : array_like of int, any shape
        Rows in each cell, in any order.  Zeros add nothing: cells that exist and cells that nobody
        has heard of are alike to a sample that missed them.
    n : int, optional
        Rows of the release in question, the target included, from 1 to 2**53.  By default a
        release as large as the sample, ``sum(counts)``.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.  It is no sampling rate: for people of a register
        drawn with a probability, see ``Register(counts, rate=...)``.
    confidence : float, default 0.95
        Nominal coverage of the interval, at least 0.5 and below 1.
    population : int, optional
        N: the rows were drawn without replacement from so many people, and so is the release; only
        for gamma = 1.  By default there is no end of them.

    Returns
    -------
    Estimate
        ``value``; ``low`` and ``high``, the ends of the interval, with
        ``0 <= low <= value <= high <= 1``; ``plug_in``, the leakage if the sample's own
        frequencies were the population, usually far too low for the real one; and ``claimed``:
        for a sample of fewer than 1,000 rows, or a release over ten times larger or smaller, or
        with `population` of another size than the sample, no interval is claimed, and `low` and
        `high` are a rough range.

    Raises
    ------
    ValueError
        If a count is negative or none is positive, if they sum to more than 2**53; if `n` is
        outside [1, 2**53]; if `gamma` is not positive and finite; if `confidence` is below
        0.5 or not below 1; if `population` is not above `n` and the sample, or `gamma` is not 1
        with it.
    TypeError
        If `counts`, `n` or `population` are not integers (3.0 is not).

    See Also
    --------
    mialeak.max_leakage : For a known law, exactly.
    mialeak.table_leakage : From a data frame to a report.

    Notes
    -----
    **What is estimated.**  A cell of probability p contributes p g(p), with g the leakage of a
    target in that cell: at gamma = 1, ``g(p) = (1 - p) b(floor(n p); n - 1, p)``, which falls from
    1 at p = 0 [AGP25]_.  With F(dp) the share of the population in cells of probability p,

    .. math:: \Delta = \int g(p) F(dp).

    A sample of N rows shows F through binomial laws: for any numbers a(j), the average over its
    rows of a(number of other rows in the same cell) has expectation
    :math:`\int \sum_j a(j) b(j; N-1, p) F(dp)`.  The number of cells nowhere enters.
    (Cells with n p < 1 contribute their expected missing mass, ``p (1-p)**n``, and for n = N the
    share of rows seen once estimates it: Good and Turing.  This goes on from there.)

    **Interval.**  If :math:`\sum_j a(j) b(j; N-1, p) \ge g(p)` for all p, the average
    overestimates the leakage of every law, so that average and its standard errors make an upper
    bound; likewise a lower one from below.  (The condition is held on a grid, and what is missing
    between its points is added; on a finer grid at most 5e-6 remained.  Cells that expect more than
    90 rows have an allowance for their bias in its place.)  Of all such a(j) those are taken whose
    bound would be the tightest if the law fitted to the counts were the truth: a convex program
    with some 14 unknowns.  Hence no law needs to be assumed, and what the sample does not show
    appears as width.

    **Value.**  The same integral for the fitted law: nonparametric maximum likelihood for cells
    seen up to 64 times, corrected plug-in for the others.

    **Accuracy**: an estimate, with coverage measured by simulation and no proof.  For five laws
    that the method was tuned on and four that it was not, samples of 1,000, 10,000 and 100,000
    rows, releases of a tenth to ten times the sample, and for equal cells up to 10,000,000 rows,
    the interval of nominal 95 % held the truth in at least 94 % of the samples of every law and
    size.  ``docs/estimate_coverage.md`` has
    the table, and nothing is claimed outside of it.  Intervals err towards the wide side.

    **Of N people**: a cell of K of them is seen through the hypergeometric law, and leaks what
    :class:`mialeak.populations.Register` does; the same integral and bounds, with K/N in place of
    p.  For eight registers, two of them Adult, and samples of 2, 10, 50 and 90 %, the interval held
    the truth in at least 94 of 100 samples of each: ``docs/register_coverage.md``.

    Rows must be independent draws from the population; a stratified or deduplicated table is
    not.  For n above the sample size, what matters is how the rarest cells are spread, which the
    sample shows less and less: the interval widens quickly, and beyond ten times it has not been
    tested at all.  The same goes for samples below 1,000 rows.  A sample in which no two rows share
    a cell gives an interval that ends at 1.

    **Cost**: one pass over the counts, and a few milliseconds whatever their number; a third less
    for the next sample of as many rows, whose nodes and scores are the same.  No random numbers are
    used.

    References
    ----------
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", JMLR, 2025.

    Examples
    --------
    1,000 people were asked.  200 of them are alone in their cell, 80 cells hold two, and so on up
    to two cells of 50:

    >>> import numpy as np
    >>> from mialeak import estimate_max_leakage
    >>> counts = np.repeat([1, 2, 3, 5, 10, 20, 50], [200, 80, 40, 30, 15, 6, 2])
    >>> leak = estimate_max_leakage(counts)
    >>> print(f"{leak.value:.2f}, between {leak.low:.2f} and {leak.high:.2f}")
    0.29, between 0.25 and 0.32
    >>> print(f"as if these were all the cells there are: {leak.plug_in:.2f}")
    as if these were all the cells there are: 0.20

    What a release of fewer or more people would leak:

    >>> for n in [100, 1000, 10_000]:
    ...     leak = estimate_max_leakage(counts, n)
    ...     print(f"{n:6}: {leak.low:.2f} to {leak.high:.2f}")
       100: 0.61 to 0.66
      1000: 0.25 to 0.32
     10000: 0.08 to 0.18
    """
    sample = _as_sample(counts)
    gamma, confidence, n = _as_game(gamma, confidence, n)
    law = complete(sample, as_sampling(population, int(sample.sum()), n, gamma))
    n = law.rows if n is None else n
    value, low, high = leakage_interval(law, n, gamma, confidence)
    frequencies = law.sizes / law.rows
    plug_in = float((law.cells * frequencies) @ law.sampling.leakage(frequencies, n, gamma))
    tested = not is_far(n, law.rows) if population is None else n == law.rows
    return Estimate(
        value=value,
        low=low,
        high=high,
        plug_in=plug_in,
        confidence=confidence,
        claimed=law.rows >= TESTED_ROWS and tested,
    )


def is_far(n: int, rows: int) -> bool:
    """Whether a release of n rows is larger or smaller than any on which coverage was measured."""
    return not rows / TESTED_RATIO <= n <= rows * TESTED_RATIO


def _as_game(gamma: float, confidence: float, n: int | None) -> tuple[float, float, int | None]:
    n = None if n is None else as_count(n, "n", least=1)
    return as_gamma(gamma), as_confidence(confidence), n


def _as_sample(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    sample = as_counts(counts, "counts").ravel()
    if not sample.any():
        invalid("counts", "hold at least one positive count")
    _refuse_sums(counts)
    total = float(sample.sum(dtype=np.float64))
    # An int64 sum is exact where it cannot overflow, which the rounded one shows.
    if total > 2 * MAX_COUNT or int(sample.sum()) > MAX_COUNT:
        invalid("counts", f"sum to at most 2**53; their sum is about {total:.6g}")
    return sample


def _refuse_sums(counts: Any) -> None:
    """Refuse a cross-tabulation whose last row and column are the sums of the others.

    So ``pandas.crosstab`` writes them with ``margins=True``.  One of the two, or the sum of a
    Series, is refused if its label is a word for a total.
    """
    array = np.asarray(counts)
    if array.ndim not in (1, 2) or min(array.shape) < array.ndim:
        return
    indices: list[Any] = [getattr(counts, name, ()) for name in ("index", "columns")[: array.ndim]]
    is_sum = [
        np.array_equal(2 * array.take(-1, axis), array.sum(axis)) for axis in range(array.ndim)
    ]
    named = [
        is_sum[axis] and _is_total(index[-1])
        for axis, index in enumerate(indices)
        if hasattr(index, "dtype")
    ]
    if any(named) or (min(array.shape) > 2 and len(is_sum) > 1 and all(is_sum)):
        rule = "count each person once; the last counts are the sums of the others"
        remedy = "Leave totals out (pandas.crosstab: without margins=True)"
        invalid("counts", rule, remedy=remedy)


def _is_total(label: Any) -> bool:
    parts = label if isinstance(label, tuple) else (label,)
    return any(isinstance(each, str) and word_of(each) in WORDS_OF_TOTALS for each in parts)


def atom_leakage_range(
    sizes: npt.NDArray[Any],
    rows: int,
    n: int,
    confidence: float,
    gamma: float = 1.0,
    sampling: Sampling = INFINITE,
) -> tuple[FloatArray, FloatArray]:
    """Range of the leakage of a target in a cell, from the count of that cell alone.

    Parameters
    ----------
    sizes : int array
        Rows of the sample in the cell; 0 is allowed.
    rows, n : int
        Rows of the sample and of the release in question.
    confidence, gamma : float
        As for :func:`estimate_max_leakage`.
    sampling : Sampling
        How the rows were drawn.

    Returns
    -------
    low, high : float arrays of the shape of `sizes`

    Notes
    -----
    Clopper and Pearson's interval for the cell's probability, carried through the leakage, which
    falls with the probability (proof: ``leakage_at``).

    The smallest probability is that for the other ``rows - 1`` rows, of which ``size - 1`` share
    the cell.  So the range holds for a cell named before the sample was seen, and also for the
    cell of a row of the sample, which is seen at least once because that row is in it: seen once
    is no sign of how rare it is, and the range goes up to 1.
    """
    if sampling.people is None:
        least, most = probability_range(sizes, rows, confidence)
    else:
        least, most = sampling.share_range(sizes, rows, (1 - confidence) / 2)
    return sampling.leakage(most, n, gamma), sampling.leakage(least, n, gamma)


@dataclass(frozen=True, repr=False)
class AtomEstimates(Result):
    """Leakage of a target in each cell: estimates, intervals and plug-in values.

    Attributes
    ----------
    value : ndarray
        The estimates.
    low, high : ndarray
        The intervals.
    plug_in : ndarray
        The leakage if the cell's own frequency were its probability.
    confidence : float
        Nominal coverage of each interval by itself.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak.tables import estimate_atom_leakage
    >>> cells = estimate_atom_leakage([5, 10, 1])
    >>> bool((cells.low <= cells.value).all() and (cells.value <= cells.high).all())
    True
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    plug_in: FloatArray
    confidence: float = 0.95
    kind: Kind = "estimate"


def estimate_atom_leakage(
    counts: npt.ArrayLike,
    n: int | None = None,
    *,
    gamma: float = 1.0,
    confidence: float = 0.95,
) -> AtomEstimates:
    """Estimate of the leakage of a target in each cell, from a sample's counts.

    What :func:`mialeak.atom_leakage` would return for the population that the rows came from, for a
    release of any size `n`.

    Parameters
    ----------
    counts : array_like of int, any shape
        Rows in each cell, all positive: the whole table, since the other cells show how rare those
        may be that hold few rows.
    n, gamma, confidence
        As for :func:`estimate_max_leakage`.

    Returns
    -------
    AtomEstimates
        Arrays of the shape of `counts`: ``value``, ``low`` and ``high``, and ``plug_in``, the
        leakage if the cell's own frequency were its probability.

    Raises
    ------
    ValueError, TypeError
        As :func:`estimate_max_leakage` does, and if a count is 0.

    See Also
    --------
    estimate_max_leakage : The mean over the population.

    Notes
    -----
    **Interval.**  Clopper and Pearson's for the cell's probability, carried through the leakage,
    which falls with it.  It holds for a cell named before the sample was seen, and for the cell of
    a given row of the sample.  That row is no sign of how rare its cell is, so the range of a
    cell seen once goes up to 1.  It holds for each cell by itself, not for all of them together.

    **Value.**  The mean leakage, by the law that is fitted to all counts, of rows whose cell is
    seen as often.  A single cell may be far from it.

    **Accuracy**: an estimate.  The interval needs no other assumption than independent rows, and
    its coverage is at least `confidence`.  **Cost**: as :func:`estimate_max_leakage`.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.tables import estimate_atom_leakage
    >>> counts = np.repeat([1, 2, 3, 5, 10, 20, 50], [200, 80, 40, 30, 15, 6, 2])
    >>> leak = estimate_atom_leakage(counts)
    >>> for k in (0, -1):
    ...     print(f"{counts[k]:2} rows: {leak.low[k]:.2f} to {leak.high[k]:.2f}")
     1 rows: 0.17 to 1.00
    50 rows: 0.05 to 0.06
    """
    sample = _as_sample(counts)
    gamma, confidence, n = _as_game(gamma, confidence, n)
    shape = np.shape(counts)
    if not sample.all():
        index = np.unravel_index(int(np.argmin(sample)), shape)
        rule = "be positive: a cell without rows has none to ask about"
        invalid("counts", rule, index=index, value=0)
    law = complete(sample)
    n = law.rows if n is None else n
    low, high = atom_leakage_range(law.sizes, law.rows, n, confidence, gamma)
    plug_in = leakage_at(law.sizes / law.rows, n, gamma)
    value = plug_in.copy()
    light = law.sizes[~law.heavy]
    weights = law.pmf[light - 1] * law.shares
    value[~law.heavy] = weights @ leakage_at(law.nodes, n, gamma) / weights.sum(axis=1)
    value = np.clip(value, low, high)
    places = np.searchsorted(law.sizes, sample).reshape(shape)
    return AtomEstimates(
        value[places], low[places], high[places], plug_in[places], confidence=confidence
    )


def estimated_min_samples(counts: npt.ArrayLike, leakage: float) -> int:
    """Smallest n at which the value of :func:`estimate_max_leakage` is at most `leakage`.

    An estimate, and a rough one beyond ten times the sample: cells too rare to show in it are
    taken for cells of a probability 0.0025 / N, while they may be rarer still.

    Raises
    ------
    ValueError
        If `leakage` is not inside (0, 1) or not reached with 2**53 rows.
    """
    bound = as_share(leakage, "leakage")
    law = complete(_as_sample(counts))
    return rows_needed(lambda n: completed_leakage(law, n, 1.0), bound)


def min_samples_interval(
    counts: npt.ArrayLike, leakage: float, confidence: float, near: int
) -> tuple[int, int | None]:
    """Smallest n at which the lower end of the interval is at most `leakage`, and the upper end.

    To `_STEP`, rounded down and up; the search starts at `near`.  None in place of an n above
    2**53: cells that the sample missed may be too rare for any release.
    """
    sizes, cells = np.unique(_as_sample(counts), return_counts=True)
    return _rows_for_ends(sizes.tobytes(), cells.tobytes(), float(leakage), confidence, near)


@lru_cache(maxsize=8)
def _rows_for_ends(
    sizes: bytes, cells: bytes, leakage: float, confidence: float, near: int
) -> tuple[int, int | None]:
    """The same by the int64 of distinct counts and of their cells: a report asks repeatedly."""
    law = complete(np.repeat(np.frombuffer(sizes, np.int64), np.frombuffer(cells, np.int64)))

    def ends(side: int) -> tuple[float, float]:
        def function(n: FloatArray, _: object) -> FloatArray:
            end = interval_end(law, int(n[0]), 1.0, confidence, side)
            return np.where(end > leakage, np.inf, -np.inf)

        low, high = rows_bracket(function, [near], stride=_STRIDE, precision=_STEP)
        return float(low[0]), float(high[0])

    low, high = max(ends(-1)[0], 1.0), ends(1)[1]
    return min(int(low), near), None if math.isinf(high) else max(int(high), near)
