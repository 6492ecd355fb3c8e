"""Moment function of the log likelihood ratio of a release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._blocks import map_blocks
from mialeak._kernels import moments
from mialeak.exact._coordinates import CoordinateFamily, NormalPart
from mialeak.exact._packing import KeptOutcomes, PackedOutcomes, pack

__all__ = ["RatioMoments"]

ComplexArray = npt.NDArray[np.complex128]
Sums = tuple[float, float, float]

#: Range of theta and of frequency of the first packed outcomes, in standard deviations.
_TILT, _FREQUENCY = 12.5, 13.0
#: Outcomes are packed again, over a wider range, if the relative tail mass exceeds this.
_CUT = 3e-16
#: Where a product falls below 2^-_FLOOR the kernel stops: the value is an upper bound.
_FLOOR = 128.0
#: Nodes in one call of the kernel.
_NODES = 1 << 12
#: Tiles in one call of the kernel: the unit that threads share.
_TILES = 1 << 12
#: Outcomes stay in memory up to so many rows of tiles, 1 GB, and are otherwise computed anew by
#: blocks for each pass.  A column has about 400 bytes of them; a curve of a million columns takes
#: 11 s instead of 4 without them.
_MOST_KEPT = 1 << 23


class RatioMoments:
    """``M(s) = E e^(s l)`` in *out*, l the sum of the log ratios of all coordinates.

    Several coordinates are evaluated in blocks of 2**15, by `workers` threads; the bits are the
    same for any number of them.
    """

    def __init__(
        self, families: Sequence[CoordinateFamily], normal: NormalPart | None, workers: int = 1
    ):
        self.families, self.normal, self.workers = families, normal, workers
        variance = sum(float(f.copies @ f.ratio_spread**2) for f in families)
        if normal is not None:
            variance += normal.local(0.0)[2]
        self.spread = float(np.sqrt(variance))
        self._packs: list[PackedOutcomes] = []
        self._kept: list[tuple[PackedOutcomes, float, FloatArray, Sums]] = []

    @property
    def coordinates(self) -> float:
        """Number of coordinates on a lattice, for rounding errors."""
        return sum(float(f.copies.sum()) for f in self.families)

    @property
    def lost(self) -> float:
        """P(l = -inf): 1 - mass, accurate where the mass is nearly 1."""
        return -float(np.expm1(min(self.local(0.0)[0], 0.0)))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest finite log ratio."""
        low = sum(float(f.copies @ f.least) for f in self.families)
        high = sum(float(f.copies @ f.most) for f in self.families)
        if self.normal is not None:
            low, high = -np.inf, high + self.normal.most
        slack = 1e-13 * (abs(low) + abs(high)) if self.normal is None else 0.0
        return low - slack, high + slack

    @property
    def extremes(self) -> tuple[float, float]:
        """Interval that holds the log ratios of all outcomes of positive probability."""
        low, high = self.support
        faint = [f for f in self.families if np.any(f.faint > 0.0)]
        high += sum(float(f.copies @ (f.highest - f.most)) for f in faint)
        return -np.inf if faint else low, high

    @property
    def pole(self) -> float:
        """The largest theta below 0 at which ``M`` is infinite."""
        return -np.inf if self.normal is None else 1.0 - self.normal.n

    def last(self, direction: str) -> float:
        """The epsilon at delta = 0, from outcomes of any positive probability."""
        if direction == "out":
            ruled_out = self.normal is not None or any(f.ruled_out for f in self.families)
            return (
                np.inf
                if ruled_out
                else sum((float(f.copies @ -f.least) for f in self.families), 0.0)
            )
        high = self.normal.most if self.normal is not None else 0.0
        return high + sum(float(f.copies @ f.highest) for f in self.families)

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""
        sums = np.zeros(3)
        if self.families:
            sums += self._tilted(theta, 0.0)[2]
        if self.normal is not None:
            sums += self.normal.local(theta)
        return float(sums[0]), float(sums[1]), float(np.sqrt(sums[2]))

    def column_moments(self, theta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Copies, spread and kurtosis of the log ratio of each coordinate, tilted by theta."""
        if not self.families:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        packed, _, _ = self._tilted(theta, 0.0)
        parts = [_block_moments(packed, block, theta) for block in _blocks(packed)]
        variance, fourth = (np.concatenate(part) for part in zip(*parts, strict=True))
        real = packed.copies > 0.0
        variance, fourth = variance[real], fourth[real]
        kurtosis = fourth / np.where(variance > 0.0, variance, 1.0) ** 2
        return packed.copies[real], np.sqrt(variance), kurtosis

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""
        values = np.ones(count, np.complex128)
        if self.families:
            end = start + step * (count - 1)
            for begin in range(0, count, _NODES):
                size = min(_NODES, count - begin)
                place = slice(begin, begin + size)
                values[place] = self._lattice_wave(theta, start + begin * step, step, size, end)
        if self.normal is not None:
            values *= self.normal.wave(theta, np.asarray(start + step * np.arange(count)))
        return values

    def short_waves(
        self, theta: float, step: float, runs: Sequence[tuple[float, int]]
    ) -> Iterator[ComplexArray]:
        """:meth:`wave` of several runs (start, count), of at most 2**12 nodes each, in order.

        The kernel is prepared once for all: with a small number of coordinates a run takes it a
        microsecond, and the preparation a hundred.
        """
        packed, tilted, _ = self._tilted(theta, max(start + step * count for start, count in runs))
        if self.normal is not None or packed.first.size > _TILES:
            yield from (self.wave(theta, start, step, count) for start, count in runs)
            return
        known = packed.first, *packed.outcomes(0, packed.first.size - 1), packed.copies, theta
        scratch = np.empty(moments.SCRATCH * packed.rows)
        last = np.cumsum([count for _, count in runs])
        product = np.empty((2 * _NODES, 3, moments.LANES))
        for first, end in pairwise([0, *(np.flatnonzero(np.diff(last // _NODES)) + 1), len(runs)]):
            place = 0
            for start, count in runs[first:end]:
                part = product[place : place + count]
                moments.moment_wave(*known, start, step, _FLOOR, tilted, scratch, part)
                place += count
            yield _of_lanes(product[:place])

    def _lattice_wave(
        self, theta: float, start: float, step: float, count: int, end: float
    ) -> ComplexArray:
        packed, tilted, _ = self._tilted(theta, end)

        def wave(block: _Block) -> ComplexArray:
            product = np.empty((count, 3, moments.LANES))
            scratch = np.empty(moments.SCRATCH * packed.rows)
            part = tilted[block.tilted]
            moments.moment_wave(
                block.first,
                *packed.outcomes(*block.tiles),
                packed.copies[block.lanes],
                theta,
                start,
                step,
                _FLOOR,
                part,
                scratch,
                product,
            )
            return _of_lanes(product)

        parts = map_blocks(wave, _blocks(packed), self.workers)
        values = next(parts)
        for part in parts:
            values = values * part
        return values

    def all_outcomes(self) -> KeptOutcomes:
        """Packed outcomes without a stride: all counts that are likely in either world."""
        return self._packed(1.0, np.inf, 1.0).kept(self.workers)

    def _tilted(self, theta: float, most_t: float) -> tuple[PackedOutcomes, FloatArray, Sums]:
        """Packed outcomes valid at theta and most_t, their tilted form, and K, K', K''."""
        for packed, at, tilted, sums in self._kept:
            if at == theta and most_t <= packed.most_t:
                return packed, tilted, sums
        wider = 1.0
        while True:
            packed = self._packed(theta, most_t, wider)
            tilted = np.empty(moments.TILTED * packed.copies.size // moments.LANES)
            sums = self._sums(packed, theta, tilted)
            if packed.cut(theta, tilted) <= _CUT:
                self._kept = [*self._kept[-1:], (packed, theta, tilted, sums)]
                return packed, tilted, sums
            wider *= 1.5

    def _sums(self, packed: PackedOutcomes, theta: float, tilted: FloatArray) -> Sums:
        """K, K', K'' of all coordinates; fills `tilted`."""

        def sums(block: _Block) -> Sums:
            result: Sums = moments.moment_sums(
                block.first,
                *packed.outcomes(*block.tiles),
                packed.lost[block.lanes],
                packed.copies[block.lanes],
                theta,
                np.empty(moments.SCRATCH * packed.rows),
                tilted[block.tilted],
            )
            return result

        k, first, second = zip(*map_blocks(sums, _blocks(packed), self.workers), strict=True)
        return math.fsum(k), math.fsum(first), math.fsum(second)

    def _packed(self, theta: float, most_t: float, wider: float) -> PackedOutcomes:
        for packed in self._packs:
            if abs(theta) <= packed.most_theta and most_t <= packed.most_t and wider == 1.0:
                return packed
        most_theta = max(2.0 * abs(theta), _TILT / self.spread + 1.0)
        first = _FREQUENCY / self.spread
        reach = first if most_t <= first else 2.0 * most_t
        made = pack(self.families, most_theta, reach, wider)
        if made.first[-1] <= _MOST_KEPT:
            made = made.kept(self.workers)
        # Narrower packs stay if they are cheaper.  A new list: threads may read the old one.
        kept = [
            packed
            for packed in self._packs
            if packed.most_t > made.most_t or 2 * packed.first[-1] < made.first[-1]
        ]
        self._packs = sorted([*kept, made], key=lambda packed: packed.most_t)
        return made


def _of_lanes(product: FloatArray) -> ComplexArray:
    """The values of the eight partial products of each node that the kernel writes."""
    values = np.prod(product[:, 0] + 1j * product[:, 1], axis=1)
    return np.asarray(values * np.exp2(product[:, 2].sum(axis=1)))


class _Block(NamedTuple):
    """Consecutive tiles, where their rows begin, and their parts of the packed arrays."""

    first: npt.NDArray[np.int64]
    tiles: tuple[int, int]
    lanes: slice
    tilted: slice


def _blocks(packed: PackedOutcomes) -> Iterator[_Block]:
    """Blocks of `_TILES` tiles."""
    first, lanes = packed.first, moments.LANES
    for start in range(0, first.size - 1, _TILES):
        stop = min(start + _TILES, first.size - 1)
        yield _Block(
            first[start : stop + 1] - first[start],
            (start, stop),
            slice(lanes * start, lanes * stop),
            slice(moments.TILTED * start, moments.TILTED * stop),
        )


def _block_moments(
    packed: PackedOutcomes, block: _Block, theta: float
) -> tuple[FloatArray, FloatArray]:
    """Second and fourth central moments of the log ratios of a block, tilted by theta."""
    weight, ratio = packed.outcomes(*block.tiles)
    starts, rows = block.first[:-1], np.diff(block.first)
    shift = np.maximum.reduceat(theta * ratio, starts)
    weight = weight * np.exp(theta * ratio - np.repeat(shift, rows, axis=0))
    total = np.add.reduceat(weight, starts)
    total[total == 0.0] = 1.0  # a lane without a coordinate
    mean = np.add.reduceat(weight * ratio, starts) / total
    square = (ratio - np.repeat(mean, rows, axis=0)) ** 2
    variance = np.add.reduceat(weight * square, starts) / total
    fourth = np.add.reduceat(weight * square * square, starts) / total
    return variance.ravel(), fourth.ravel()
