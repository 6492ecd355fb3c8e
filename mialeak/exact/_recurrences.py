"""Where the moment function returns: frequencies at which many coordinates are in step again.

The log ratio of a coordinate lies on a slightly bent lattice: neighbouring counts differ by
``l'(k)``.  At frequency t it is in step where ``t l'(k)`` is a multiple of 2 pi for some likely k;
elsewhere ``|M_j|`` is rounding.  So only frequencies have to be looked at that are in step for the
coordinates with the narrowest range of ``l'``, and there the kernel stops at a product that is
small.  Bending makes ``|M_j| = (1 + (2 pi m b)^2)^(-1/4)`` at the m-th return, b the family's
`bend`: with enough coordinates nothing returns at all.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, i0e, xlogy

from mialeak._arrays import FloatArray
from mialeak._kernels.moments import LANES
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import Table

__all__ = ["Returns", "find_returns", "growth"]

#: Bent away for good: the product of all first returns is below e^-_BENT.
_BENT = 45.0
#: Standard deviation of a count from which that is so.
_MANY = 4.0
#: Theta at which |M(theta + it)| is looked at, and the step of t in units of one over the standard
#: deviation.
_TILT, _STEP = 0.5, 0.4
#: Least t that is looked at, in the same units: every inversion covers what is before.
_START = 9.0
#: Off step by this many standard deviations (of the count) is out of sight.
_OFF_STEP = 9.0
#: Sizes below this do not matter, nor does a period that adds less.
_SMALL, _ENOUGH = 1e-18, 1e-17
#: Work at most: nodes, and nodes times outcomes.  Candidates looked at in a period at most.
_NODES, _WORK, _CANDIDATES = 1 << 15, 4e8, 1 << 23
#: Where that leaves more than this, nodes of a second search, half a second of work: it counts if
#: it comes to an end.  Rare values among columns that are much alike need it.
_CLOSE, _MORE_NODES = 1e-9, 1 << 20
#: Tiles after which the kernel gives up on a node where nothing returns.
_FIRST_TILES = 6
#: Outcomes at most of which all are listed.
_OUTCOMES = 1 << 25
#: Coordinates by which frequencies are ruled out.
_WITNESSES = 12
#: Nodes this close are evaluated together.
_GAP = 16
#: Largest exponent of e.
_LARGE = 700.0
#: Phases at most that the kernel turns to the last digit.
_MOST_PHASE = 4e6


class Returns(NamedTuple):
    """Least t that was looked at, intervals of t that matter, and what these leave out.

    `left` is relative to a tail; it is inf if the law is nearly one atom and has no inversion.
    """

    start: float
    windows: list[tuple[float, float]]
    left: float


def find_returns(moments: RatioMoments) -> Returns:
    """The returns of the moment function; looked for longer where much would be left out."""
    first = _search(moments, _NODES)
    if first.left <= _CLOSE or np.isinf(first.left):
        return first
    longer = _search(moments, _MORE_NODES)
    return longer if longer.left <= min(_CLOSE, first.left) else first


def _search(moments: RatioMoments, most: int) -> Returns:
    """Look for returns period by period until they have died away or the work is done.

    What is left out of a tail is estimated as if |M(t)|/(pi t), summed over a period, fell as the
    square of the period's number or faster, so that all later periods add at most `number` times
    this one; and, for frequencies in step by chance, as if the phases there were independent: with
    a root mean square of `floor` they add ``floor sqrt(step/t)``.
    """
    if not moments.families:
        return Returns(np.inf, [], 0.0)
    bent = _bent_away(moments)
    outcomes = sum(float(np.sum(f.spread)) for f in moments.families) * 20.0
    if bent >= _BENT or outcomes > _OUTCOMES:
        return Returns(np.inf, [], float(np.exp(-bent)))
    table = moments.full_table()
    witnesses = _witnesses(table)
    spread = moments.local(_TILT)[2]
    step = _STEP / spread
    period = float(2.0 * np.pi / np.median(witnesses.slope))
    if step > period:  # nearly one atom: no frequency is without a return
        return Returns(_START / spread, [], np.inf)
    most_t = _MOST_PHASE / witnesses.widest
    scan, work = most, _WORK
    cheap = 8.0 * float(table.first[min(_FIRST_TILES, table.first.size - 1)])
    windows: list[tuple[float, float]] = []
    start = _START / spread
    number, begin, left = 0, start, 1.0
    while True:  # one period, half before its return and half after
        number += 1
        end = min(max((number + 0.5) * period, begin + period), begin + _CANDIDATES * step)
        nodes = np.arange(int(begin / step), int(end / step) + 1)
        nodes = nodes[witnesses.in_step(np.asarray(nodes * step))]
        covered = 1.0
        if nodes.size > scan > 0:  # more than may still be looked at: the first ones
            nodes = nodes[:scan]
            covered = (nodes[-1] * step - begin) / (end - begin)
            end = float(nodes[-1] * step)
        if end > most_t or scan <= 0 or work < 0.0:
            return Returns(start, _merged(windows, step), left)
        scan -= nodes.size
        size = _sizes(moments, nodes, step)
        part = float(np.sum(size / np.maximum(nodes, 1))) / np.pi
        alive = nodes[size > _SMALL]
        work -= cheap * nodes.size + table.weight.size * alive.size
        windows += [(k * step - step, k * step + step) for k in alive.tolist()]
        before = left if number > 1 else 0.0  # the estimate after the last whole period
        left = part * number + witnesses.floor * np.sqrt(step / end)
        if covered < 1.0:  # the part seen may have been the quiet one
            return Returns(
                start, _merged(windows, step), max(before, left / covered, witnesses.floor)
            )
        if left < _ENOUGH:
            return Returns(start, _merged(windows, step), left)
        begin = end


def growth(moments: RatioMoments, theta: float) -> float:
    """How much larger |M| is at high frequency on a line than where returns were looked for.

    By the root mean square over all frequencies, that of the probability of each outcome under the
    law tilted by theta: far in a tail that law is narrower, and its atoms stand out more.
    """
    table = moments.full_table()
    floors = []
    for tilt in (theta, _TILT):
        shift = np.repeat(_column_max(table, tilt * table.ratio), np.diff(table.first), axis=0)
        weight = table.weight * np.exp(tilt * table.ratio - shift)
        total = np.add.reduceat(weight, table.first[:-1])
        weight /= np.repeat(np.where(total > 0.0, total, 1.0), np.diff(table.first), axis=0)
        floors.append(0.5 * float(np.sum(_log_coincidence(replace(table, weight=weight)))))
    return float(np.exp(min(max(floors[0] - floors[1], 0.0), _LARGE)))


def _column_max(table: Table, values: FloatArray) -> FloatArray:
    return np.asarray(np.maximum.reduceat(values, table.first[:-1]))


def _bent_away(moments: RatioMoments) -> float:
    """Minus the log of what bending leaves of |M| at the first return."""
    bent = 0.0
    for family in moments.families:
        many = np.where(family.spread > _MANY, family.copies, 0.0)
        bent += 0.25 * float(many @ np.log1p((2.0 * np.pi * family.bend) ** 2))
    return bent


def _sizes(moments: RatioMoments, nodes: npt.NDArray[np.int64], step: float) -> FloatArray:
    """|M(_TILT + it)| at t = step * nodes, ascending; runs of near nodes in one call each."""
    size = np.zeros(nodes.size)
    starts = np.flatnonzero(np.diff(nodes, prepend=-2 * _GAP) > _GAP)
    for first, last in pairwise([*starts, nodes.size]):
        count = int(nodes[last - 1] - nodes[first]) + 1
        wave = np.abs(moments.wave(_TILT, float(nodes[first]) * step, step, count))
        size[first:last] = wave[nodes[first:last] - nodes[first]]
    return size


def _merged(windows: list[tuple[float, float]], step: float) -> list[tuple[float, float]]:
    """The same intervals, ascending, with those joined that are at most a step apart."""
    merged: list[tuple[float, float]] = []
    for low, high in windows:
        if merged and low <= merged[-1][1] + step:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


class _Witnesses(NamedTuple):
    """Coordinates of narrow ``[low, high]``, the range of ``|l'|`` over likely counts."""

    low: FloatArray
    high: FloatArray
    slack: FloatArray
    slope: FloatArray  # of all coordinates, spread of l over that of k
    widest: float  # largest distance of a log ratio from its mean
    floor: float  # root mean square of |M| over all frequencies

    def in_step(self, t: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether t is in step for each of them."""
        good = np.ones(t.shape, bool)
        for low, high, slack in zip(self.low, self.high, self.slack, strict=True):
            first = np.ceil((t * low - slack) / (2.0 * np.pi))
            good &= 2.0 * np.pi * first <= t * high + slack
        return good


def _log_coincidence(table: Table) -> FloatArray:
    """Log of at most sum P(outcomes)^2 of the equal coordinates of each entry, in any order.

    The m outcomes of m equal coordinates are one of up to m! orders, so the sum is at most
    ``m! (sum w^2)^m``.  For many of few outcomes better: counts of the outcomes are multinomial,
    independent Poisson ones given their sum, and those coincide with probability
    ``e^(-2 m w) I_0(2 m w)``.
    """
    starts = table.first[:-1]
    many = table.copies
    total = np.add.reduceat(table.weight, starts).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.nan_to_num((many / total).reshape(-1, table.weight.shape[1]))
        means = table.weight * np.repeat(scale, np.diff(table.first), axis=0)
        poisson = np.add.reduceat(np.log(i0e(2.0 * means)), starts).ravel()
        poisson += 2.0 * (many * np.log(total) + gammaln(many + 1.0) + many - xlogy(many, many))
        orders = many * np.log(np.add.reduceat(table.weight**2, starts).ravel())
        orders += gammaln(many + 1.0)
    return np.where(many > 0.0, np.minimum(poisson, orders), 0.0)


def _witnesses(table: Table) -> _Witnesses:
    """The coordinates of narrowest range relative to their slope, and two of extreme slope."""
    shape = table.copies.shape
    low, high = np.full(shape, np.inf), np.zeros(shape)
    count_spread, ratio_spread, widest = np.zeros(shape), np.zeros(shape), 0.0
    bounds = zip(table.first[:-1], table.first[1:], strict=True)
    for tile, (first, last) in enumerate(bounds):
        place = slice(LANES * tile, LANES * (tile + 1))
        weight, ratio = table.weight[first:last], table.ratio[first:last]
        both = (weight[1:] > 0.0) & (weight[:-1] > 0.0)
        gap = np.abs(np.diff(ratio, axis=0))
        low[place] = np.min(gap, axis=0, where=both, initial=np.inf)
        high[place] = np.max(gap, axis=0, where=both, initial=0.0)
        k = np.arange(last - first, dtype=np.float64)[:, None]
        total = np.maximum(weight.sum(axis=0), 1e-300)
        for values, into in ((k, count_spread), (ratio, ratio_spread)):
            mean = (weight * values).sum(axis=0) / total
            into[place] = np.sqrt((weight * (values - mean) ** 2).sum(axis=0) / total)
        away = np.where(weight > 0.0, np.abs(ratio - mean), 0.0)
        widest = max(widest, float(away.max(initial=0.0)))
    floor = 0.5 * float(np.sum(_log_coincidence(table)))
    real = (table.copies > 0.0) & (ratio_spread > 0.0) & (high > 0.0)
    low, high = low[real], high[real]
    count_spread, slope = count_spread[real], ratio_spread[real] / count_spread[real]
    slack = _OFF_STEP / count_spread
    order = np.argsort((high - low) / slope)
    narrow = order[: _WITNESSES - 2]
    some = np.unique(np.concatenate([narrow, [slope.argmin(), slope.argmax()]]))
    return _Witnesses(low[some], high[some], slack[some], slope, widest, min(np.exp(floor), 1.0))
