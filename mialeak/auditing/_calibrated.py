"""A tighter bound on one parameter: many ranks and both tails, at a level that is exact.

Let h be the null curve and (K_r) the counts beyond the ranks.  In law they do not exceed those of
independent uniform numbers, ``K*_r = #{V_i <= h(U_(r))}``, all together (docs/audits.md): a
statistic T that rises with every count has a known law at worst, and that law can be simulated
without knowing the scores'.  Here T is made of one approximate lower bound for each count, which
only shapes it; where T(counts) reaches what was seen is a set of boundaries, and the uniform
numbers of a draw cross one of them from some parameter on.  The bound is a low quantile of that
parameter: valid at any number of draws (Dwass, 1957), for one parameter at a time.

Another T is the number of pairs in which a score of *in* lies above one of *out*: the rank sum of
Mann and Whitney.  A draw reaches what was seen from an order statistic of its pairs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainccinv, ndtri

from mialeak._arrays import FloatArray, invalid
from mialeak._numerics.order import IntArray, Order, geometric_ranks
from mialeak._results import Direction

__all__ = ["Shift", "calibrated_bound", "rank_sum_bound"]

#: Draws: the error of the bound from them is about a fifteenth of its standard deviation.
_DRAWS = 999
#: Of more, for confidence beyond 1 - 2e-5, the order statistics would take gigabytes.
_MOST_DRAWS = 1_000_000
#: Ratio of the ranks, the decay of their weights, and the floor under these.
_RATIO, _DECAY, _FLOOR = 1.8, -0.3, 0.08
#: Levels of the top and of the bottom tail that reject together; None asks nothing of that tail.
_DESIGN: dict[str, tuple[tuple[float | None, float | None], ...]] = {
    "both": ((0.033, None), (None, 0.033), (0.07, 0.33), (0.15, 0.15), (0.33, 0.07)),
    "in": ((0.09, None),),
    "out": ((None, 0.09),),
}
#: Counts that the null curve at u = 0 explains by itself are ignored: a count must exceed its mean
#: there by this many standard deviations, plus 2.
_CLEAR = 4.0
#: What rounding may do to a comparison.
_SLACK = 1e-9
#: Ranks of each world in a rank sum, evenly spaced, and the draws whose pairs are held at a time.
_SPREAD, _DRAWS_AT_ONCE = 32, 64


@dataclass(frozen=True)
class Shift:
    """A family of null curves that its parameter shifts on some scale: s(h(u)) = s(u) + parameter.

    Attributes
    ----------
    scale : callable
        s.
    slope : callable
        Its derivative.
    start : float
        h(0): what counts is the power above.
    """

    scale: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    start: float = 0.0

    def above_start(self, v: Any) -> FloatArray:
        """The scale at the power above h(0): beyond s(u) by the parameter at which ``v = h(u)``."""
        with np.errstate(divide="ignore"):
            scaled: FloatArray = self.scale(np.maximum(v - self.start, 0.0))
        return scaled


def calibrated_bound(order: Order, shift: Shift, alpha: float, direction: Direction) -> float:
    """The lower bound on the parameter, at level `alpha`; 0 where nothing is proved."""
    if order.is_constant:
        return 0.0
    n_in, n_out = order.inside.size, order.outside.size
    design = _DESIGN[direction]
    tails: list[_Tail | None] = [None, None]
    seen: dict[tuple[int, float], Any] = {}
    for place, (n_hits, n_ranks) in enumerate(((n_in, n_out), (n_out, n_in))):
        levels = sorted({level for row in design if (level := row[place]) is not None})
        if levels:
            tail = tails[place] = _Tail.of(n_hits, n_ranks, np.array(levels), shift)
            counts = order.rejections(tail.ranks) if place else order.hits(tail.ranks)
            largest = tail.bounds(np.broadcast_to(counts, tail.centre.shape)).max(axis=1)
            seen |= {(place, level): value for level, value in zip(levels, largest, strict=True)}
    reached = max(_both(seen, row, min) for row in design)
    if reached == -np.inf:
        return 0.0
    gaps: dict[tuple[int, float], Any] = {}
    draws = _draws(alpha)
    for place, levels, values in _simulate(tails, reached - _SLACK, (n_in, n_out), draws, order):
        gaps |= {(place, level): value for level, value in zip(levels, values, strict=True)}
    return _low_quantile(np.min([_both(gaps, row, np.maximum) for row in design], axis=0), alpha)


def rank_sum_bound(order: Order, shift: Shift, alpha: float, direction: Direction) -> float:
    """The lower bound by the number of pairs with *in* above *out*, 0 where nothing is proved.

    The i-th largest in-score lies above the r-th largest out-score if and only if at least i are
    beyond that rank.  The number of such pairs therefore rises with every count.
    """
    if order.is_constant:
        return 0.0
    sizes = order.inside.size, order.outside.size
    upper, lower = (_even_ranks(size) for size in sizes)
    pairs = int(np.searchsorted(upper, order.hits(lower), side="right").sum())
    if pairs == 0:
        return 0.0
    draws = _draws(alpha)
    rng = np.random.default_rng([order.seed, draws])
    v, u = (
        _OrderStatistics.of(rng, ranks, size, draws).values.T
        for ranks, size in zip((upper, lower), sizes, strict=True)
    )
    crossed = np.empty(draws)
    for start in range(0, draws, _DRAWS_AT_ONCE):
        part = slice(start, start + _DRAWS_AT_ONCE)
        gaps = _pair_gaps(u[part, None, :], v[part, :, None], shift, direction)
        flat = gaps.reshape(gaps.shape[0], -1)
        crossed[part] = np.partition(flat, pairs - 1, axis=1)[:, pairs - 1]
    return _low_quantile(crossed, alpha)


def _pair_gaps(u: FloatArray, v: FloatArray, shift: Shift, direction: Direction) -> FloatArray:
    """From which parameter on ``v <= h(u)``, by the parts of h that the direction has."""
    parts: list[FloatArray] = []
    if direction != "out":
        parts.append(shift.above_start(v) - shift.scale(u))
    if direction != "in":
        parts.append(shift.above_start(1.0 - u) - shift.scale(1.0 - v))
    return np.max(parts, axis=0) if len(parts) == 2 else parts[0]


def _even_ranks(size: int) -> IntArray:
    """All ranks, or some of them at even distances."""
    return np.unique(np.rint(np.linspace(1, size, min(size, _SPREAD))).astype(np.int64))


def _draws(alpha: float) -> int:
    """Number of draws for a level."""
    draws = max(_DRAWS, int(np.ceil(20.0 / alpha)) - 1)
    if draws > _MOST_DRAWS:
        remedy = 'Take method="simultaneous", which draws nothing'
        rule = f"be at most {1.0 - 20.0 / _MOST_DRAWS} for calibrated bounds"
        invalid("confidence", rule, value=1.0 - alpha, remedy=remedy)
    return draws


def _low_quantile(crossed: FloatArray, alpha: float) -> float:
    """The bound by the parameters from which the draws reach what was seen."""
    rank = min(int(alpha * (crossed.size + 1)), crossed.size)
    return max(float(np.partition(crossed, rank - 1)[rank - 1]), 0.0)


def _both(values: Any, row: Any, combine: Any) -> Any:
    """The results of both tails of a row of the design, or of the one that it has."""
    asked = [values[place, level] for place, level in enumerate(row) if level is not None]
    return asked[0] if len(asked) == 1 else combine(*asked)


@dataclass(frozen=True)
class _Tail:
    """One tail: an approximate lower bound for each level, rank and count."""

    levels: FloatArray
    ranks: IntArray
    n_hits: int
    centre: FloatArray
    place_error: FloatArray
    deviate: FloatArray
    shift: Shift

    @classmethod
    def of(cls, n_hits: int, n_ranks: int, levels: FloatArray, shift: Shift) -> _Tail:
        ranks = geometric_ranks(n_ranks, _RATIO)
        shares = levels[:, None] * _weights(ranks)
        centre = shift.scale((ranks - 1.0 / 3.0) / (n_ranks + 1.0 / 3.0))
        above = shift.scale(betainccinv(ranks, n_ranks - ranks + 1.0, shares)) - centre
        centre = np.broadcast_to(centre, above.shape)
        return cls(levels, ranks, n_hits, centre, above, -ndtri(shares), shift)

    def bounds(self, counts: IntArray) -> FloatArray:
        """Rising with each count: centres of both variables, their errors added in quadrature."""
        n, start = self.n_hits, self.shift.start
        share = np.maximum((counts - 1.0 / 3.0) / (n + 1.0 / 3.0) - start, 0.0)
        # The error of a share with three misses at least: beyond, it would outrun the bound.
        clamped = np.clip(share, 1e-300, max(1.0 - start - 3.0 / n, 0.5 * (1.0 - start)))
        spread = (clamped + start) * (1.0 - clamped - start) / n
        error = self.deviate * np.sqrt(spread) * self.shift.slope(clamped)
        with np.errstate(divide="ignore"):
            value = self.shift.scale(share)
        bounds: FloatArray = value - self.centre - np.hypot(self.place_error, error)
        least = (_CLEAR * np.sqrt(start * (1.0 - start) * n) + 2.0) / n if start else 0.0
        return np.where((counts > 0) & (share > least), bounds, -np.inf)

    def boundary(self, parameter: float) -> IntArray:
        """The least count with a bound of at least this; n_hits + 1 if none has."""
        low = np.zeros(self.centre.shape, np.int64)
        high = np.full(self.centre.shape, self.n_hits + 1)
        for _ in range(self.n_hits.bit_length() + 1):
            middle = (low + high + 1) // 2
            enough = middle > self.n_hits
            enough |= self.bounds(np.minimum(middle, self.n_hits)) >= parameter
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high


def _simulate(
    tails: Sequence[_Tail | None],
    parameter: float,
    sizes: tuple[int, int],
    draws: int,
    order: Order,
) -> Iterator[tuple[int, list[float], FloatArray]]:
    """For each tail, level and draw: from which parameter on the draw crosses the boundary."""
    needed: tuple[list[IntArray], list[IntArray]] = [], []  # ranks of V and of U, from below
    bounds = [None if tail is None else tail.boundary(parameter) for tail in tails]
    # Bottom tails are top tails of 1 - U and 1 - V, the worlds exchanged.
    for place, (tail, least) in enumerate(zip(tails, bounds, strict=True)):
        if tail is not None and least is not None:
            hits, ranks = np.unique(least[least <= tail.n_hits]), tail.ranks
            needed[place].append(tail.n_hits + 1 - hits if place else hits)
            needed[1 - place].append(sizes[0] + 1 - ranks if place else ranks)
    rng = np.random.default_rng([order.seed, draws])
    values = [
        _OrderStatistics.of(rng, np.concatenate(ranks), size, draws)
        for ranks, size in zip(needed, sizes, strict=True)
    ]
    for place, (tail, least) in enumerate(zip(tails, bounds, strict=True)):
        if tail is None or least is None:
            continue
        gaps = np.full((tail.levels.size, draws), np.inf)
        inner = tail.shift.scale(values[1 - place].at(tail.ranks, bool(place)))
        for row, hits in zip(gaps, least, strict=True):
            within = hits <= tail.n_hits
            if within.any():
                outer = values[place].at(hits[within], bool(place))
                row[:] = (tail.shift.above_start(outer) - inner[within]).min(axis=0)
        yield place, tail.levels.tolist(), gaps


@dataclass(frozen=True)
class _OrderStatistics:
    """Some order statistics of uniform numbers, one column for each draw."""

    size: int
    ranks: IntArray
    values: FloatArray

    @classmethod
    def of(
        cls, rng: np.random.Generator, needed: IntArray, size: int, draws: int
    ) -> _OrderStatistics:
        """Draw them by their spacings."""
        ranks = np.unique(needed)
        steps = np.diff(np.concatenate([[0], ranks, [size + 1]])).tolist()
        sums = np.empty((len(steps), draws))
        for row, step in zip(sums, steps, strict=True):
            rng.standard_gamma(step, out=row)
        np.cumsum(sums, axis=0, out=sums)
        return cls(size, ranks, sums[:-1] / sums[-1])

    def at(self, ranks: IntArray, from_above: bool) -> FloatArray:
        """Those of the ranks from below, or the distances to 1 of those from above."""
        if from_above:
            return 1.0 - self.values[np.searchsorted(self.ranks, self.size + 1 - ranks)]
        return self.values[np.searchsorted(self.ranks, ranks)]


def _weights(ranks: IntArray) -> FloatArray:
    """Shares of the ranks in the level."""
    edges = np.concatenate([[0.7], np.sqrt(ranks[:-1] * ranks[1:]), [ranks[-1] * np.sqrt(_RATIO)]])
    span = np.diff(np.log(edges))
    weights = span * ranks**_DECAY
    weights = weights / weights.sum() + _FLOOR * span / span.sum()
    shares: FloatArray = weights / weights.sum()
    return shares
