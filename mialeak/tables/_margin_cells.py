"""The cells of margins, and what these leak about each row for given frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import (
    FloatArray,
    invalid,
    unsupported,
)
from mialeak._cells import Cells, count_cells
from mialeak._numerics.clopper_pearson import probability_range
from mialeak._numerics.junction_trees import separators_of
from mialeak.special import binom_logpmf
from mialeak.tables._lognormal_ratio import fitted_shares, leakage_beside
from mialeak.tables._sampling import leakage_at

__all__ = ["SMALL", "MarginCells", "as_margins", "margin_cells", "product_leakage"]

IntArray = npt.NDArray[np.int64]
Ends = tuple[FloatArray, FloatArray, FloatArray]
Codes = dict[Any, tuple[npt.NDArray[Any], int]]
#: Logarithms of the ratios of positive counts, their probabilities, and that of a count of 0.
Law = tuple[FloatArray, FloatArray, float]

#: What is reported between the ends is rough for a cell in which a release expects fewer rows.
SMALL = 10


@dataclass(frozen=True)
class MarginCells:
    """What the margins show of each cell of the table of all columns.

    `share` of the `rows`; `counts` of the cell of each margin that it lies in, (margins, cells);
    `widest`, the margins that no other one holds; `joint`, counts of the joint cell of all columns
    of the margins; `squares`, rows times the leakage score by the table's own frequencies, None
    where no approximation is needed; `separators`, for the columns that neighbours in a junction
    tree of the widest margins share, the counts of all their cells and that of the cell that each
    joint cell lies in; None without such a tree, or where no approximation is needed.
    """

    rows: int
    share: FloatArray
    counts: IntArray
    widest: tuple[int, ...]
    joint: IntArray
    squares: FloatArray | None
    separators: list[tuple[IntArray, IntArray]] | None
    independent: bool

    def by_frequencies(self, n: int) -> Ends:
        """Lower end, value and upper end if the table's own frequencies are the population."""
        if self.independent:
            value = self._products(n, lambda count: count / self.rows)
            return value, value, value
        rarest = self.counts[list(self.widest)].min(axis=0) / self.rows
        low = leakage_at(rarest, n, 1.0)
        if self.squares is None:
            return low, low, low
        high = np.maximum(low, leakage_at(self.joint / self.rows, n, 1.0))
        value = leakage_beside(rarest, self._remainder(rarest) / n, n)
        return low, np.clip(value, low, high), high

    def by_fitted(self, n: int, margins: Sequence[IntArray]) -> FloatArray:
        """Leakage by the laws fitted to the counts of the cells of each of `margins`.

        The score that the other margins add to the rarest one, by the table's own frequencies, is
        changed as much as the sum of their 1/p is.  A row with few like it has a share in the
        dependence that these frequencies show (its leverage, at most 1).  To that share its score
        is that of a law whose columns are independent given the separators: the sum of 1/p of the
        margins less that of the separators.  Not for independent columns.
        """
        counts = self.counts[list(self.widest)]
        shares = counts / self.rows
        laws = [fitted_shares(margins[k], n) for k in self.widest]
        fitted = np.stack([law(sizes) for law, sizes in zip(laws, counts, strict=True)])
        rarest = fitted.argmin(axis=0)[None]
        first = np.take_along_axis(fitted, rarest, axis=0)[0]
        if self.squares is None:
            return leakage_at(first, n, 1.0)
        share = np.take_along_axis(shares, rarest, axis=0)[0]
        others = (1.0 / fitted).sum(axis=0) - 1.0 / first
        others /= (1.0 / shares).sum(axis=0) - 1.0 / share
        remainder = self._remainder(share) * others
        if self.separators is not None:
            score = (1.0 / fitted).sum(axis=0) - 1.0 / first - (len(self.widest) - 1.0)
            for cells, sizes in self.separators:
                score -= 1.0 / fitted_shares(cells, n)(sizes) - 1.0
            leverage = np.clip((self.squares + 1.0) / self.rows, 0.0, 1.0)
            remainder += leverage * (np.maximum(score, 0.0) - remainder)
        return leakage_beside(first, remainder / n, n)

    def _remainder(self, share: FloatArray) -> FloatArray:
        """What is left of `squares` beside a cell of each row that has this share of the rows."""
        assert self.squares is not None
        return np.maximum(self.squares - (1.0 / share - 1.0), 0.0)

    def by_confidence(self, n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Range of the leakage for probabilities within their confidence intervals.

        Every margin has its share of what an end may miss, so that both ends hold together with
        `confidence` for each row.
        """
        level = self.shared(confidence)
        if self.independent:
            high = self._products(n, lambda count: probability_range(count, self.rows, level)[0])
            low = self._products(n, lambda count: probability_range(count, self.rows, level)[1])
            return low, high
        rarest = self.counts[list(self.widest)].min(axis=0)
        low = leakage_at(probability_range(rarest, self.rows, level)[1], n, 1.0)
        high = leakage_at(probability_range(self.joint, self.rows, confidence)[0], n, 1.0)
        return low, np.maximum(low, high)

    def shared(self, confidence: float) -> float:
        """The confidence of each of the widest margins with which all hold with `confidence`."""
        return 1.0 - (1.0 - confidence) / len(self.widest)

    def _products(self, n: int, probability: Callable[[IntArray], FloatArray]) -> FloatArray:
        laws, places = [], []
        for margin in self.widest:
            sizes, place = np.unique(self.counts[margin], return_inverse=True)
            laws.append(probability(sizes))
            places.append(place)
        return product_leakage(laws, np.stack(places), n)


def as_margins(margins: Any, columns: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    """The columns of each margin; those must be among `columns`, unless that is None."""
    if not isinstance(margins, Iterable):
        rule = "be a sequence of columns and tuples of columns"
        invalid("margins", rule, value=margins, error=TypeError)
    given = [margins] if isinstance(margins, str) else list(margins)
    named = [tuple(each) if isinstance(each, (list, tuple)) else (each,) for each in given]
    if not named:
        invalid("margins", "name at least one margin")
    for place, margin in enumerate(named):
        if not margin:
            invalid("margins", "name at least one column each", index=place, value=margin)
        if len(set(margin)) < len(margin):
            invalid("margins", "name a column once each", index=place, value=margin)
        for name in margin:
            if columns is not None and name not in columns:
                invalid("margins", "name columns that are chosen", index=place, value=name)
    return named


def margin_cells(
    margins: Sequence[tuple[Any, ...]],
    codes: Codes,
    cells: Cells,
    *,
    independent: bool,
    progress: bool,
) -> tuple[MarginCells, list[Cells], IntArray]:
    """What `margins` show of each of the joint `cells` of the columns `codes`.

    Beside it the cells of each margin, and the counts of the joint cells of all their columns.
    """
    rows = len(cells.of_row)
    if rows < 3:
        invalid("table", f"have at least 3 rows for margins, not {rows}")
    widest = _widest(margins)
    if independent:
        _require_apart([margins[k] for k in widest])
    columns = list(dict.fromkeys(name for margin in margins for name in margin))
    each = [count_cells([codes[name] for name in names], rows) for names in margins]
    joint = cells
    if len(columns) < len(codes):
        joint = count_cells([codes[name] for name in columns], rows)
    squares = separators = None
    if len(widest) > 1 and not independent:
        from mialeak.means import margin_leakage_scores

        place = {name: k for k, name in enumerate(codes)}
        table = np.stack([column for column, _ in codes.values()], axis=1)
        indices = [[place[name] for name in margins[k]] for k in widest]
        scores = margin_leakage_scores(table, indices, leave_one_out=False, progress=progress)
        squares = rows * scores[cells.first_row]
        separators = _separators([margins[k] for k in widest], codes, cells)
    shown = MarginCells(
        rows=rows,
        share=cells.counts / rows,
        counts=np.stack([margin.counts[margin.of_row[cells.first_row]] for margin in each]),
        widest=widest,
        joint=joint.counts[joint.of_row[cells.first_row]],
        squares=squares,
        separators=separators,
        independent=independent,
    )
    return shown, each, joint.counts


def _separators(
    margins: Sequence[tuple[Any, ...]], codes: Codes, cells: Cells
) -> list[tuple[IntArray, IntArray]] | None:
    """The counts of separators that are not empty, as in :class:`MarginCells`."""
    separators = separators_of([frozenset(margin) for margin in margins])
    if separators is None:
        return None
    rows = len(cells.of_row)
    shared = [count_cells([codes[name] for name in names], rows) for names in separators if names]
    return [(each.counts, each.counts[each.of_row[cells.first_row]]) for each in shared]


def _widest(margins: Sequence[tuple[Any, ...]]) -> tuple[int, ...]:
    """The margins whose columns are not all among those of another one; the first of equal ones."""
    sets = [frozenset(margin) for margin in margins]
    return tuple(
        k
        for k, one in enumerate(sets)
        if not any(one < other for other in sets) and one not in sets[:k]
    )


def _require_apart(margins: Sequence[tuple[Any, ...]]) -> None:
    seen: set[Any] = set()
    for margin in margins:
        for name in margin:
            if name in seen:
                remedy = "Without it, the leakage of such margins is enclosed"
                case = "for margins that share a column"
                unsupported("independent", case, f"{name!r} is in two", remedy)
        seen.update(margin)


#: Points of the grid.
_POINTS = 1 << 15
#: A tail of S is left out of the grid below exp(-34), the rounding of 1.
_TAIL = 34.0
#: Arguments of the moment-generating functions by which the tails of S are bounded.
_ARGUMENTS = np.geomspace(1 / 64, 1 << 20, 27)
#: Standard deviations of a count that are summed over, beside `_TAIL` more rows for rare cells.
_DEVIATIONS = 9.0
#: A count of a larger variance is replaced by a normal variable on `_NODES` points.
_NORMAL, _NODES = 1e7, 1 << 13
#: Where every cell expects so many rows the normal limit is within 2e-6 of the leakage.
_LIMIT = 1e5
#: Frequencies are left out that together add less than this share of the reach of S.
_NEGLIGIBLE = 1e-8
#: Entries of transforms that are multiplied at a time: they stay in the cache.
_BLOCK = 1 << 16
#: Margins are divided into two groups of at most so many outcomes, whose products are summed
#: exactly in 1 ms: of few outcomes one may be next to a ratio of 1, where a grid is too coarse.
_MOST_OUTCOMES = 1 << 13
#: Probabilities that are left out of these outcomes.
_UNLIKELY = 1e-20


def product_leakage(p: list[FloatArray], cells: IntArray, n: int) -> FloatArray:
    """Leakage of targets in cells of independent margins.

    Parameters
    ----------
    p : list of (K_j,) arrays
        Probabilities of the cells of each margin; 0 is allowed, and leaks 1.
    cells : (J, T) int64
        The cell of each target in each margin.
    n : int
        Rows of the release.

    Returns
    -------
    (T,) ndarray

    Notes
    -----
    ========  ==================================================================================
    Symbol    Meaning
    ========  ==================================================================================
    B_j       count of the target's cell in margin j, Binomial(n, p_j), independent of the others
    R_j       B_j / (n p_j), the likelihood ratio of that count alone
    S         sum of log R_j: the log likelihood ratio of all counts together
    ========  ==================================================================================

    The leakage is ``E(1 - e^S)+``.  A count of 0 gives a ratio of 0.  If the margins can be
    divided into two groups of at most 2**13 outcomes of positive counts, the products of these
    outcomes are summed exactly.  Otherwise the logarithms are put on a grid of step h, each value
    split between its two neighbours so that the mean of R_j stays what it is; the Fourier
    transforms of the factors multiply, and the expectation of a fixed function of S is one inner
    product with the transform of that function (Parseval).  Splitting is a mean-preserving spread,
    which raises the result; frequencies are left out that change it by at most 1e-8 of the reach
    of S.
    """
    if len(p) == 1:
        return np.asarray(leakage_at(p[0], n, 1.0)[cells[0]])
    places, inverse = np.unique(cells, axis=1, return_inverse=True)
    ratios = np.stack([each[place] for each, place in zip(p, places, strict=True)])
    result = np.ones(places.shape[1])
    possible = ratios.min(axis=0) > 0.0
    large = possible & (n * ratios.min(axis=0) >= _LIMIT)
    score = (1.0 / ratios[:, large] - 1.0).sum(axis=0) / n
    result[large] = special.erf(np.sqrt(score / 8.0))
    finite = np.flatnonzero(possible & ~large)
    if finite.size:
        result[finite] = _by_laws(p, places[:, finite], n)
    return np.asarray(np.clip(result, 0.0, 1.0)[inverse.reshape(-1)])


def _by_laws(p: list[FloatArray], places: IntArray, n: int) -> FloatArray:
    """:func:`product_leakage` of distinct targets whose cells are all possible."""
    laws: list[Law] = []
    index = np.empty_like(places)
    for j, row in enumerate(places):
        used, position = np.unique(row, return_inverse=True)
        index[j] = position.reshape(-1) + len(laws)
        laws += [_law(float(p[j][cell]), n) for cell in used]
    zero = np.array([mass for _, _, mass in laws])
    likely = [np.flatnonzero(weights > _UNLIKELY) for _, weights, _ in laws]
    result, on_grid = np.empty(places.shape[1]), np.ones(places.shape[1], np.bool_)
    for target, members in enumerate(index.T.tolist()):
        groups = _two_groups([likely[k].size for k in members])
        if groups is not None:
            chosen = [[members[j] for j in group] for group in groups]
            sides = [
                [(laws[k][0][likely[k]], laws[k][1][likely[k]]) for k in group] for group in chosen
            ]
            result[target], on_grid[target] = _by_outcomes(*map(_product, sides)), False
    if on_grid.any():
        result[on_grid] = _by_transforms(laws, index[:, on_grid])
    return np.asarray(result - np.expm1(np.log1p(-zero[index]).sum(axis=0)))


def _two_groups(sizes: list[int]) -> tuple[list[int], list[int]] | None:
    """Factors of so many outcomes in two groups of few outcomes each; None if these are many."""
    groups: tuple[list[int], list[int]] = ([], [])
    outcomes = [1, 1]
    for factor in sorted(range(len(sizes)), key=lambda j: -sizes[j]):
        smaller = int(outcomes[1] < outcomes[0])
        groups[smaller].append(factor)
        outcomes[smaller] *= sizes[factor]
    return groups if max(outcomes) <= _MOST_OUTCOMES else None


def _product(factors: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Sums of the logarithms of independent factors, rising, and their probabilities."""
    logs, weights = np.zeros(1), np.ones(1)
    for more, chance in factors:
        logs, weights = np.add.outer(logs, more).ravel(), np.multiply.outer(weights, chance).ravel()
    order = np.argsort(logs, kind="stable")
    return logs[order], weights[order]


def _by_outcomes(one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]) -> float:
    """``E(1 - e^S)+`` of a sum S of two: ``1 - a b = -(a - 1) - a (b - 1)``, over b < 1 / a."""
    logs, weights = two
    below = np.searchsorted(logs, -one[0])
    mass = np.append(0.0, np.cumsum(weights))[below]
    excess = np.append(0.0, np.cumsum(weights * np.expm1(logs)))[below]
    gain = -np.expm1(one[0]) * mass - np.exp(one[0]) * excess
    return max(float(one[1] @ gain), 0.0)


def _by_transforms(laws: list[Law], index: IntArray) -> FloatArray:
    """The same on a grid, of targets whose counts have the laws `index` (margins, targets)."""
    bounds = np.stack([_log_moments(*law) for law in laws])  # (laws, 2, arguments)
    # Chernoff: P(S > L) <= exp(sum of log moments at t - t L), and the same for -S.
    reach = ((bounds[index].sum(axis=0) + _TAIL) / _ARGUMENTS).min(axis=2).max(axis=1)
    # Splitting moves each logarithm by less than a step: what would pass one end of the circle
    # would come back at the other.
    reach /= 1.0 - 2.0 * index.shape[0] / _POINTS
    octaves = np.ceil(np.log2(np.maximum(reach, 2.0**-40))).astype(np.int64)
    result = np.empty(index.shape[1])
    for octave in np.unique(octaves):
        step = 2.0 * 2.0**octave / _POINTS
        members = np.flatnonzero(octaves == octave)
        used, place = np.unique(index[:, members], return_inverse=True)
        place = place.reshape(-1, members.size)
        transforms = np.stack([np.fft.rfft(_on_grid(laws[k][0], laws[k][1], step)) for k in used])
        below = np.zeros(_POINTS)
        below[_POINTS // 2 :] = -np.expm1(step * np.arange(-_POINTS // 2, 0))
        dual = np.conj(np.fft.rfft(below)) / _POINTS
        dual[1:-1] *= 2.0
        # No product is above the largest of each factor: most frequencies do not count.
        largest = np.abs(dual)
        for row in place:
            largest *= np.abs(transforms[np.unique(row)]).max(axis=0)
        ascending = np.argsort(largest)
        count = np.searchsorted(np.cumsum(largest[ascending]), _NEGLIGIBLE * step * _POINTS)
        kept = np.sort(ascending[count:])
        transforms, dual = np.ascontiguousarray(transforms[:, kept]), dual[kept]
        block = max(1, _BLOCK // max(1, kept.size))
        for start in range(0, members.size, block):
            rows = slice(start, start + block)
            product = transforms[place[0, rows]]
            for row in place[1:, rows]:
                product *= transforms[row]
            result[members[rows]] = (product @ dual).real
    return result


def _law(p: float, n: int) -> Law:
    """Logarithms of R and their probabilities for positive counts, and the probability of 0."""
    mean, variance = n * p, n * p * (1.0 - p)
    if variance > _NORMAL:
        levels = (np.arange(_NODES) + 0.5) / _NODES
        ratio = 1.0 + special.ndtri(levels) * math.sqrt(variance) / mean
        spread = float(np.var(ratio)) * mean**2 / variance
        ratio = 1.0 + (ratio - 1.0) / math.sqrt(spread)
        return np.log(ratio), np.full(_NODES, 1.0 / _NODES), 0.0
    reach = _DEVIATIONS * math.sqrt(variance) + _TAIL
    counts = np.arange(max(1.0, math.floor(mean - reach)), min(n, math.ceil(mean + reach)) + 1.0)
    weights = np.exp(binom_logpmf(counts, n, p))
    zero = float(np.exp(n * np.log1p(-p))) if p < 1.0 else 0.0
    return np.log(counts / mean), weights, zero


def _log_moments(logs: FloatArray, weights: FloatArray, zero: float) -> FloatArray:
    """Logarithms of E[R^t; R > 0] and E[R^-t; R > 0] at the arguments t."""
    powers = np.multiply.outer(_ARGUMENTS, logs)
    return np.stack([special.logsumexp(sign * powers, axis=1, b=weights) for sign in (1.0, -1.0)])


def _on_grid(logs: FloatArray, weights: FloatArray, step: float) -> FloatArray:
    """The law of log R on the circle of grid points, the mean of R unchanged."""
    place = np.floor(logs / step)
    share = np.clip(np.expm1(logs - place * step) / np.expm1(step), 0.0, 1.0)
    grid = np.zeros(_POINTS)
    lower = place.astype(np.int64) % _POINTS
    np.add.at(grid, lower, weights * (1.0 - share))
    np.add.at(grid, (lower + 1) % _POINTS, weights * share)
    return grid
