"""Recurrences of the moment function: high frequencies at which its modulus is large again.

The log ratios of a coordinate form a nearly regular lattice: neighbouring counts differ by
``l'(k)``, which varies slowly with k.  A coordinate is in phase at frequency t if ``t l'(k)`` is a
multiple of 2 pi for a likely count k; otherwise ``|M_j|`` is below rounding.  The search therefore
evaluates only frequencies that are in phase for the coordinates with the narrowest range of
``l'``, and the kernel stops as soon as the product is small.  The curvature of the lattice damps
the m-th recurrence to ``|M_j| = (1 + (2 pi m b)^2)^(-1/4)``, b the family's `curvature`: with
enough coordinates there is no recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, i0e, xlogy

from mialeak._arrays import FloatArray
from mialeak._kernels.moments import LANES
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import KeptOutcomes

__all__ = [
    "DAMPED",
    "Recurrences",
    "find_linked_recurrences",
    "find_recurrences",
    "first_damping",
    "growth",
    "growth_at",
]

IntArray = npt.NDArray[np.int64]

#: Recurrences damped below e^-DAMPED are ignored.
DAMPED = 45.0
#: The damping formula holds for counts with at least this standard deviation.
_WIDE = 4.0
#: Theta of the line on which the search evaluates |M(theta + it)|, and the step of t in units of
#: one over the standard deviation.
_TILT, _STEP = 0.5, 0.4
#: Least t of the search, in the same units: every inversion covers smaller t.
_START = 9.0
#: Phases further than this many standard deviations (of the count) from a multiple of 2 pi
#: contribute nothing.
_OFF_STEP = 9.0
#: Moduli below the first are ignored; the search ends at a period that adds less than the second.
_SMALL, _ENOUGH = 1e-18, 1e-17
#: Limits of the search: nodes, nodes times outcomes, and candidates in one period.
_NODES, _WORK, _CANDIDATES = 1 << 15, 4e8, 1 << 23
#: If the omitted recurrences exceed the first, a second search with this many nodes (0.5 s); its
#: result is used if it ends.  Rare values among nearly equal columns need it.
_CLOSE, _MORE_NODES = 1e-9, 1 << 20
#: Tiles after which the kernel stops at a node without a recurrence.
_FIRST_TILES = 6
#: Largest number of outcomes that are all enumerated.
_OUTCOMES = 1 << 25
#: Coordinates that select the candidate frequencies.
_CHOSEN = 12
#: Nodes at most this far apart are evaluated in one call.
_GAP = 16
#: Most nodes of a call.
_LONGEST = 1 << 12
#: Largest number of periods in a batch, and about that of its candidates.
_TOGETHER = 1 << 11
#: Largest exponent of e.
_LARGE = 700.0
#: Largest phase that the kernel evaluates to the last digit.
_MOST_PHASE = 4e6
#: Linked columns: first frequency and step of the search, and half the width of a recurrence, in
#: units of one over the standard deviation.  A recurrence is a normal curve of standard deviation 1
#: in this unit, or a wider one.
_FIRST, _COARSE, _WIDTH = 9.0, 1.2, 8.4
#: Periods of the slowest count that it covers; nodes of a block; entries times nodes, after which
#: blocks are sampled, and the number of samples.
_PERIODS, _BLOCK, _MOST_WORK, _SAMPLES = 2.5, 32, 4e9, 24
#: Recurrences of linked columns that are damped below e to minus this are ignored.
_DAMPED_LINKED = 36.0


class Recurrences(NamedTuple):
    """Start of the search, the intervals of t with recurrences, and the size of the omitted ones.

    `omitted` is relative to a tail; it is inf if the law is nearly one atom and has no inversion.
    `worst` is the frequency of the largest one, of linked columns.
    """

    start: float
    windows: list[tuple[float, float]]
    omitted: float
    worst: float = 0.0


class Linked(Protocol):
    """The moment function of linked columns, and how slowly it changes."""

    spread: float

    @property
    def slowest(self) -> float:
        """Changes of l by one count are at least one over this, up to a factor."""

    @property
    def reach(self) -> float:
        """Largest frequency at which a wave is computed without all counts."""

    def damped_from(self, least: float) -> float:
        """A frequency from which on |M| is below e^-least; inf if none is known."""

    def measured_wave(
        self, theta: float, start: float, step: float, count: int
    ) -> tuple[npt.NDArray[np.complex128], float]:
        """The wave, and its work."""


def find_recurrences(moments: RatioMoments) -> Recurrences:
    """The recurrences of the moment function; a longer search follows if it omits too much."""
    first = _search(moments, _NODES)
    if first.omitted <= _CLOSE or np.isinf(first.omitted):
        return first
    longer = _search(moments, _MORE_NODES)
    return longer if longer.omitted <= min(_CLOSE, first.omitted) else first


def _search(moments: RatioMoments, most: int) -> Recurrences:
    """Search period by period until the recurrences are negligible or the work is used up.

    The omitted part of a tail is an estimate with two terms.  The first assumes that |M(t)|/(pi t),
    summed over a period, falls at least as the square of the period's number: all later periods
    together add at most `number` times the present one.  The second is for frequencies that are in
    phase by chance: with independent phases and a root mean square of `floor` they add
    ``floor sqrt(step/t)``.
    """
    if not moments.families:
        return Recurrences(np.inf, [], 0.0)
    damping = first_damping(moments)
    outcomes = sum(float(np.sum(f.spread)) for f in moments.families) * 20.0
    if damping >= DAMPED or outcomes > _OUTCOMES:
        return Recurrences(np.inf, [], float(np.exp(-damping)))
    packed = moments.all_outcomes()
    coordinates = _narrow_coordinates(packed)
    spread = moments.local(_TILT)[2]
    step = _STEP / spread
    period = float(2.0 * np.pi / np.median(coordinates.slope))
    if step > period:  # nearly one atom: |M| is large at every frequency
        return Recurrences(_START / spread, [], np.inf)
    most_t = _MOST_PHASE / coordinates.widest
    scan, work = most, _WORK
    cheap = 8.0 * float(packed.first[min(_FIRST_TILES, packed.first.size - 1)])
    large = [np.zeros(0, np.int64)]
    start = _START / spread
    omitted = 1.0
    periods = _periods(moments, coordinates, (start, step, period), most)
    for number, (begin, end, nodes, size) in enumerate(periods, 1):
        covered = 1.0
        if nodes.size > scan > 0:  # over the limit: take the first nodes
            nodes = nodes[:scan]
            covered = (nodes[-1] * step - begin) / (end - begin)
            end = float(nodes[-1] * step)
        if end > most_t or scan <= 0 or work < 0.0:
            break
        scan -= nodes.size
        part = float((size / np.maximum(nodes, 1)).sum()) / np.pi
        large.append(nodes[size > _SMALL])
        work -= cheap * nodes.size + packed.weight.size * large[-1].size
        before = omitted if number > 1 else 0.0  # the estimate after the last whole period
        omitted = part * number + coordinates.floor * np.sqrt(step / end)
        if covered < 1.0:  # the evaluated part may be the smaller one
            omitted = max(before, omitted / covered, coordinates.floor)
        if covered < 1.0 or omitted < _ENOUGH:
            break
    return Recurrences(start, _merged(np.concatenate(large), step), omitted)


def _periods(
    moments: RatioMoments,
    coordinates: _NarrowCoordinates,
    line: tuple[float, float, float],
    most: int,
) -> Iterator[tuple[float, float, IntArray, FloatArray]]:
    """Where each period begins and ends, its nodes in phase, and |M| at the first `most` of all.

    Periods are centred at their recurrences; `line` has the start, the step and the period.  They
    are evaluated together, in batches that become longer.
    """
    start, step, period = line
    number, bounds = 0, [start]
    while True:
        bounds, together = bounds[-1:], min(number + 1, _TOGETHER)
        while len(bounds) <= together and bounds[-1] - bounds[0] <= _TOGETHER * step:
            number += 1
            end = max((number + 0.5) * period, bounds[-1] + period)
            bounds.append(min(end, bounds[-1] + _CANDIDATES * step))
        parts = [np.arange(int(a / step), int(b / step) + 1) for a, b in pairwise(bounds)]
        nodes = np.concatenate(parts)
        chosen = np.flatnonzero(coordinates.in_step(np.asarray(nodes * step)))
        cuts = np.searchsorted(chosen, np.cumsum([part.size for part in parts]))
        nodes = nodes[chosen]
        size = _sizes(moments, nodes[:most], step, cuts)
        most = max(most - nodes.size, 0)
        for period_of, (first, last) in zip(pairwise(bounds), pairwise([0, *cuts]), strict=True):
            yield *period_of, nodes[first:last], size[first:last]


def _sizes(moments: RatioMoments, nodes: IntArray, step: float, cuts: IntArray) -> FloatArray:
    """|M(_TILT + it)| at t = step * nodes, ascending in each part between the cuts."""
    if not nodes.size:
        return np.zeros(0)
    begins = np.diff(nodes, prepend=-2 * _GAP) > _GAP
    begins |= np.diff(nodes // _LONGEST, prepend=-1) != 0
    begins[cuts[cuts < nodes.size]] = True
    first = np.flatnonzero(begins)
    runs = np.diff([*first, nodes.size])  # of near nodes
    count = nodes[first + runs - 1] - nodes[first] + 1
    starts = (nodes[first] * step).tolist()
    waves = moments.short_waves(_TILT, step, list(zip(starts, count.tolist(), strict=True)))
    place = nodes + np.repeat(np.cumsum(count) - count - nodes[first], runs)
    return np.asarray(np.abs(np.concatenate(list(waves)))[place])


def find_linked_recurrences(moments: Linked) -> Recurrences:
    """Recurrences of linked columns, by a search along the whole line.

    |M| is evaluated at every node up to `_PERIODS` periods of the slowest count, while the work
    lasts; from there on in `_SAMPLES` blocks of nodes at equal distances.  What is omitted is
    estimated from the mean modulus of the last third of the nodes, or of the samples, as if it
    lasted for two more ranges of the same length.  The search ends where the
    curvature of the log ratio damps all recurrences below e^-`_DAMPED_LINKED`.
    """
    if not moments.spread > 0.0:
        return Recurrences(np.inf, [], np.inf)
    step = _COARSE / moments.spread
    first = int(_FIRST / _COARSE)
    last = int(_PERIODS * 2.0 * np.pi * moments.slowest / step) + 3 * first
    least, damped = 0.0, moments.damped_from(_DAMPED_LINKED)
    if damped < last * step:
        last, least = max(int(damped / step) + 1, first + 1), float(np.exp(-_DAMPED_LINKED))
    blocks, spent = list(range(first, last, _BLOCK)), 0.0
    sizes: list[FloatArray] = []
    while len(sizes) < len(blocks) and spent < _MOST_WORK:
        values, work = moments.measured_wave(_TILT, blocks[len(sizes)] * step, step, _BLOCK)
        sizes.append(np.abs(values))
        spent += work
    nodes = first + np.arange(_BLOCK * len(sizes))
    size = np.concatenate(sizes)
    windows = _windows_of(nodes[size > _SMALL], step)
    later = blocks[len(sizes) :]
    if later:
        places = np.unique(np.linspace(0, len(later) - 1, _SAMPLES).astype(int))
        at = [later[place] for place in places]
        waves = [moments.measured_wave(_TILT, block * step, step, _BLOCK)[0] for block in at]
        size = np.concatenate([np.abs(wave) for wave in waves])
        nodes = np.concatenate([block + np.arange(_BLOCK) for block in at])
        length = float(np.log(last / later[0]) + np.log(3.0))
    else:
        third = -(-size.size // 3)
        size, nodes, length = size[-third:], nodes[-third:], float(np.log(3.0))
    omitted = float(size.mean()) * length / np.pi + least
    worst = float(nodes[size.argmax()] * step)
    return Recurrences(first * step, windows, omitted, worst)


def _windows_of(nodes: IntArray, step: float) -> list[tuple[float, float]]:
    """Intervals around nodes, those that overlap as one."""
    reach = _WIDTH / _COARSE
    if not nodes.size:
        return []
    starts = np.flatnonzero(np.diff(nodes, prepend=-np.inf) > 2.0 * reach)
    ends = np.append(starts[1:], nodes.size) - 1
    pairs = zip(nodes[starts].tolist(), nodes[ends].tolist(), strict=True)
    return [((low - reach) * step, (high + reach) * step) for low, high in pairs]


def growth_at(moments: RatioMoments, theta: float, worst: float) -> float:
    """Ratio of |M| near the frequency `worst` on the line at theta to that on the search's line."""
    step = _COARSE / moments.spread
    first = worst - 0.5 * _BLOCK * step
    sizes = [np.abs(moments.wave(x, first, step, _BLOCK)).max() for x in (theta, _TILT)]
    return float(max(sizes[0] / max(sizes[1], 1e-300), 1.0))


def growth(moments: RatioMoments, theta: float) -> float:
    """Ratio of |M| at high frequency on the line at theta to that on the line of the search.

    The ratio of root mean squares over all frequencies, which are those of the outcome
    probabilities under the tilted law: far in a tail that law is narrower and |M| is larger.
    """
    packed = moments.all_outcomes()
    floors = []
    for tilt in (theta, _TILT):
        shift = np.repeat(_column_max(packed, tilt * packed.ratio), np.diff(packed.first), axis=0)
        weight = packed.weight * np.exp(tilt * packed.ratio - shift)
        total = np.add.reduceat(weight, packed.first[:-1])
        weight /= np.repeat(np.where(total > 0.0, total, 1.0), np.diff(packed.first), axis=0)
        floors.append(0.5 * float(np.sum(_log_coincidence(replace(packed, weight=weight)))))
    return float(np.exp(min(max(floors[0] - floors[1], 0.0), _LARGE)))


def _column_max(packed: KeptOutcomes, values: FloatArray) -> FloatArray:
    return np.asarray(np.maximum.reduceat(values, packed.first[:-1]))


def first_damping(moments: RatioMoments) -> float:
    """Minus the log of the damping of |M| at the first recurrence."""
    damping = 0.0
    for family in moments.families:
        copies = np.where(family.spread > _WIDE, family.copies, 0.0)
        damping += 0.25 * float(copies @ np.log1p((2.0 * np.pi * family.curvature) ** 2))
    return damping


def _merged(nodes: IntArray, step: float) -> list[tuple[float, float]]:
    """Intervals of a step on both sides of ascending nodes; gaps of at most a step are closed."""
    if not nodes.size:
        return []
    low, high = nodes * step - step, nodes * step + step
    first = np.flatnonzero(low[1:] > high[:-1] + step) + 1
    pairs = low[np.append(0, first)].tolist(), high[np.append(first - 1, -1)].tolist()
    return list(zip(*pairs, strict=True))


class _NarrowCoordinates(NamedTuple):
    """Coordinates whose ``|l'|`` has a narrow range ``[low, high]`` over likely counts."""

    low: FloatArray
    high: FloatArray
    slack: FloatArray
    slope: FloatArray  # of all coordinates, spread of l over that of k
    widest: float  # largest distance of a log ratio from its mean
    floor: float  # root mean square of |M| over all frequencies

    def in_step(self, t: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether all chosen coordinates are in phase at t."""
        good = np.ones(t.shape, bool)
        for low, high, slack in zip(self.low, self.high, self.slack, strict=True):
            first = np.ceil((t * low - slack) / (2.0 * np.pi))
            good &= 2.0 * np.pi * first <= t * high + slack
        return good


def _log_coincidence(packed: KeptOutcomes) -> FloatArray:
    """Log of an upper bound on sum P(outcomes)^2, the order of equal coordinates ignored.

    The m outcomes of m equal coordinates have up to m! orders: the sum is at most
    ``m! (sum w^2)^m``.  A better bound for large m: the counts of the outcomes are independent
    Poisson counts given their sum, and two such counts coincide with probability
    ``e^(-2 m w) I_0(2 m w)``.
    """
    starts = packed.first[:-1]
    copies = packed.copies
    total = np.add.reduceat(packed.weight, starts).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.nan_to_num((copies / total).reshape(-1, packed.weight.shape[1]))
        means = packed.weight * np.repeat(scale, np.diff(packed.first), axis=0)
        poisson = np.add.reduceat(np.log(i0e(2.0 * means)), starts).ravel()
        poisson += 2.0 * (
            copies * np.log(total) + gammaln(copies + 1.0) + copies - xlogy(copies, copies)
        )
        orders = copies * np.log(np.add.reduceat(packed.weight**2, starts).ravel())
        orders += gammaln(copies + 1.0)
    return np.where(copies > 0.0, np.minimum(poisson, orders), 0.0)


def _narrow_coordinates(packed: KeptOutcomes) -> _NarrowCoordinates:
    """The coordinates with the narrowest relative range, and the two with extreme slopes."""
    shape = packed.copies.shape
    low, high = np.full(shape, np.inf), np.zeros(shape)
    count_spread, ratio_spread, widest = np.zeros(shape), np.zeros(shape), 0.0
    bounds = zip(packed.first[:-1], packed.first[1:], strict=True)
    for tile, (first, last) in enumerate(bounds):
        place = slice(LANES * tile, LANES * (tile + 1))
        weight, ratio = packed.weight[first:last], packed.ratio[first:last]
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
    floor = 0.5 * float(np.sum(_log_coincidence(packed)))
    real = (packed.copies > 0.0) & (ratio_spread > 0.0) & (high > 0.0)
    low, high = low[real], high[real]
    count_spread, slope = count_spread[real], ratio_spread[real] / count_spread[real]
    slack = _OFF_STEP / count_spread
    order = np.argsort((high - low) / slope)
    narrow = order[: _CHOSEN - 2]
    chosen = np.unique(np.concatenate([narrow, [slope.argmin(), slope.argmax()]]))
    return _NarrowCoordinates(
        low[chosen], high[chosen], slack[chosen], slope, widest, min(np.exp(floor), 1.0)
    )
