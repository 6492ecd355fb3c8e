"""What all outputs leak about each cell, for a known law and for the population of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray
from mialeak._numerics.clopper_pearson import probability_range
from mialeak._numerics.leave_one_out import downdated
from mialeak._results import Estimate, Kind, Result
from mialeak.releases._analysis import Analysis
from mialeak.tables import estimate_max_leakage

__all__ = ["ReleaseAccount", "ReleaseLeakage", "account_of_law", "account_of_sample"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ReleaseLeakage(Result):
    """Leakage of all outputs together.

    Attributes
    ----------
    low : float
        At least what the best single count leaks.
    value : float
        The limit for many people in every cell, between both ends.
    high : float
        At most what the counts of all cells leak.
    kind : str
        "exact" if `low` and `high` agree and the population is known; "bound" if it is known;
        "estimate" if it is known by the people only: both ends then hold with the confidence of
        the report.  Unless it is exact, `value` is asymptotic.

    Examples
    --------
    >>> from mialeak import Release
    >>> release = Release({"sex": ["f", "m"] * 50, "smokes": ["no", "no", "yes", "no"] * 25})
    >>> release.add_table(["sex", "smokes"])
    >>> release.leakage().plug_in.average
    ReleaseLeakage(low=0.0543222, value=0.0543222, high=0.0543222, kind='exact')
    """

    low: float
    value: float
    high: float
    kind: Kind


@dataclass(frozen=True, repr=False, eq=False)
class ReleaseAccount(Result):
    """What all outputs leak about each cell, for one answer to who the population is.

    Attributes
    ----------
    average : ReleaseLeakage
        Leakage of a random row.
    highest : ReleaseLeakage
        Leakage of the riskiest row: the largest lower end, value and upper end.  Of the lower ends
        for the population of a sample the largest would be too high: the one here holds for all
        rows at once.
    low, value, high : (cells,) ndarray
        Leakage of a person in each cell, as in :class:`ReleaseLeakage`.
    exact : (cells,) ndarray of bool
        Cells whose leakage is exact.
    kind : str
        That of `average`.

    Examples
    --------
    >>> from mialeak import Release
    >>> release = Release({"city": list("AAABB"), "age": [30, 40, 90, 30, 35]})
    >>> release.add_table(["city", "age"])
    >>> account = release.leakage().plug_in
    >>> account.highest.kind, bool(account.exact.all())
    ('exact', True)
    """

    average: ReleaseLeakage
    highest: ReleaseLeakage
    low: FloatArray = field(repr=False)
    value: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    exact: npt.NDArray[np.bool_] = field(repr=False)
    kind: Kind

    def of_cell(self, cell: int) -> ReleaseLeakage:
        """Leakage of a person in a cell."""
        low, value, high = (float(end[cell]) for end in (self.low, self.value, self.high))
        return ReleaseLeakage(low, value, high, _kind(self.kind, low, high))


def _account(
    counts: IntArray,
    ends: tuple[FloatArray, FloatArray, FloatArray],
    exact: npt.NDArray[np.bool_],
    kind: Kind,
    average: ReleaseLeakage | None = None,
    largest_low: float = math.inf,
) -> ReleaseAccount:
    """The account of cells of these counts; its average by their shares unless it is given.

    `largest_low` is a lower end for the riskiest row that holds for all rows at once.
    """
    shown, share = counts > 0, counts / counts.sum()
    if average is None:
        low, value, high = (float(share @ end) for end in ends)
        average = ReleaseLeakage(low, min(max(low, value), high), high, kind)
    low, value, high = (float(end[shown].max()) for end in ends)
    low = min(low, largest_low)
    highest = ReleaseLeakage(low, value, high, _kind(kind, low, high))
    return ReleaseAccount(average, highest, *ends, exact, average.kind)


def _kind(kind: Kind, low: float, high: float) -> Kind:
    if kind == "estimate":
        return kind
    return "exact" if low == high else "bound"


def account_of_law(analysis: Analysis, attacks: int) -> ReleaseAccount:
    """The account for a known population: a register, or the people's own frequencies."""
    low, value, high, exact = analysis.bounds
    if attacks:
        low = analysis.attacked(attacks)
        value = np.maximum(low, value)
    counts = analysis.atoms.counts
    shown = counts > 0
    kind: Kind = "exact" if np.array_equal(low[shown], high[shown]) else "bound"
    return _account(counts, (low, value, high), exact, kind)


def _range(counts: IntArray, n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest probability of cells of these counts, once for equal ones."""
    sizes, place = np.unique(counts, return_inverse=True)
    least, most = probability_range(sizes, n, confidence)
    return least[place], most[place]


def account_of_sample(analysis: Analysis, joint: Estimate, confidence: float) -> ReleaseAccount:
    """The account for the population that the people came from, with `joint` for all cells.

    A row leaks at least what the rarest count leaks that is published and holds the row, or that
    of a group that follows, and at most what the count of its cell leaks; each for the whole range
    of probabilities that the count leaves.  The candidates for the rarest count share what the
    lower end may miss; for the riskiest row, the candidates of all cells do.  The average lies
    between the estimate for the best single table, or for counts that follow from several, and that
    for the counts of all cells.
    """
    atoms, n = analysis.atoms, analysis.n
    finest = np.ones_like(atoms.counts) if analysis.separates else atoms.counts
    rarest, candidates = analysis.rarest_counts
    least, of_cell = _range(finest, n, confidence)
    shared = _range(rarest, n, 1.0 - (1.0 - confidence) / candidates)[1]
    most = np.where(rarest == finest, of_cell, shared)
    low, high = analysis.leakage_at(most), analysis.leakage_at(least)
    high = np.maximum(low, high)
    scatter = analysis.squares * ((n - 2.0) / n)
    score = downdated(scatter, n) if n > 2 else np.full(scatter.shape, np.inf)
    value = np.clip(special.erf(np.sqrt(score / 8.0)), low, high)
    share = atoms.counts / n
    tables = analysis.tables
    if bool(analysis.design.determined.all()) and not analysis.separates:
        average = ReleaseLeakage(joint.low, joint.value, joint.high, "estimate")
    else:
        least_of_all = 0.0
        if tables:
            plug_in = [counts @ analysis.leakage_at(counts / n) for counts in tables]
            level = 1.0 - (1.0 - confidence) / len(tables)
            best = tables[int(np.argmax(plug_in))]
            least_of_all = min(estimate_max_leakage(best, confidence=level).low, joint.high)
        middle = min(max(float(share @ value), least_of_all), joint.high)
        average = ReleaseLeakage(least_of_all, middle, joint.high, "estimate")
    exact = np.zeros(low.size, np.bool_)
    shown = atoms.counts > 0
    level = 1.0 - (1.0 - confidence) / (candidates * np.count_nonzero(shown))
    rarest_of_all = rarest[shown].min(keepdims=True)
    largest_low = float(analysis.leakage_at(_range(rarest_of_all, n, level)[1])[0])
    return _account(atoms.counts, (low, value, high), exact, "estimate", average, largest_low)
