"""Tables of the transitions between the counts of linked columns, and of their log ratios.

The probabilities are smooth in the counts where these have a large standard deviation: sums over
every h-th count are then exact but for rounding, as of the trapezoidal rule.  For any law of a sum
of independent bits of variance v the error of such a sum is at most ``2 sum_k e^(-v (1 - cos 2 pi
k/h))``, k = 1, 2, ...; v is here that of a count given those of both neighbours.  At frequency t
the terms turn by ``t l'`` from count to count: the sums hold below the first t at which ``t h l'``
is 2 pi.  Above it, tables of more counts are made, of the columns that are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from mialeak._arrays import FloatArray, unsupported
from mialeak._blocks import map_blocks
from mialeak._kernels import chains as kernels
from mialeak.laws import Chain
from mialeak.special import binom_logpmf

__all__ = ["Grid", "Links", "Step", "first_laws", "make_links", "make_step"]

IntArray = npt.NDArray[np.int64]

#: Entries whose log probability, tilted, is this far below the largest of their row are omitted.
_DEPTH = 46.0
#: Standard deviations of a step's log ratio by which tilted entries may be moved, and the largest
#: depth this adds.
_MOVED, _MOST_DEPTH = 12.0, 300.0
#: Entries of all matrices that are stored: 1.2 GB with their ratios and tilted weights.
_MOST_ENTRIES = 5e7
#: Every h-th count is enough where v (1 - cos(2 pi/h)) is at least the first, 1e-16; h is at most
#: the second.
_SMOOTH, _MOST_STRIDE = 38.0, 64
#: Finer tables have every h-th count over these, rounded down; the last ones have all counts.
_FINER = (1, 2, 4, _MOST_STRIDE)
#: Tables of every h-th count hold up to this share of the first t at which t h l' is 2 pi.
_REACH = 0.75
#: Counts less likely than e to minus this share of the depth do not limit these frequencies: where
#: they turn in phase, the other columns do not.
_NEAR = 1.0 / 3.0
#: Share of one count in the variance of the log ratio, from which on all counts are taken.
_MOST_SHARE = 0.5


class Grid(NamedTuple):
    """The likely counts of a column: every `stride`-th from `low` to at most `high`.

    `near` has the first and the last of those that decide at which frequencies the stride holds.
    """

    low: int
    high: int
    stride: int = 1
    near: tuple[int, int] = (0, 0)

    @property
    def counts(self) -> IntArray:
        return np.arange(self.low, self.high + 1, self.stride)

    @property
    def size(self) -> int:
        return (self.high - self.low) // self.stride + 1


@dataclass(frozen=True)
class Step:
    """The transitions from the likely counts of a column to those of the next."""

    first: IntArray  # for each row the place of its first entry among the next counts
    weight: FloatArray  # P(e | c), out, times the stride of e
    ratio: FloatArray
    lost: FloatArray  # P(e | c) of the e that the target rules out
    padded: int
    slopes: tuple[float, float]  # largest change of the ratio by one count, of c and of e
    curvature: tuple[float, float, float]  # second derivatives at the mean: cc, ce, ee


#: What determines a step: the arguments of `make_step`.
_Key = tuple[float, float, int, int, tuple[int, int], tuple[Grid, Grid], float]


@dataclass(frozen=True)
class Links:
    """The tables of one chain: the first column, and every step.

    Attributes
    ----------
    start, ratio : ndarray
        Probabilities, times the stride, and log ratios of the counts of the first column.
    lost : float
        Probability of its counts that the target rules out.
    steps : list of Step
        Equal steps are one object.
    grids : list of list of Grid
        Counts of each column, for each fineness.
    reaches : list of float
        Largest frequency at which tables of each fineness hold, inf of the last.
    period : float
        The first frequency at which a column may recur.
    """

    start: FloatArray
    ratio: FloatArray
    lost: float
    steps: list[Step]
    grids: list[list[Grid]]
    reaches: list[float]
    period: float
    _chain: Chain
    _target: list[int]
    _rows: int
    _keys: list[_Key]
    _finer: dict[_Key, Step] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """Numbers of all tables, equal steps once."""
        return sum(step.weight.size for step in {id(s): s for s in self.steps}.values())

    def first_column(self, fineness: int) -> tuple[FloatArray, FloatArray]:
        """Probabilities, times the stride, and log ratios of the counts of the first column."""
        chain, grid = self._chain, self.grids[fineness][0]
        size = chain.ploidy * self._rows
        out, ratio, _ = _first_table(grid.counts, size, chain.start, chain.ploidy, self._target[0])
        return grid.stride * out, ratio

    def table(self, j: int, fineness: int) -> Step:
        """The table of step j; a finer one is made once."""
        grids = self.grids[fineness][j : j + 2]
        if grids == self.grids[0][j : j + 2]:
            return self.steps[j]
        a, b, size, k, z, _, depth = self._keys[j]
        key = (a, b, size, k, z, (grids[0], grids[1]), depth)
        if key not in self._finer:
            made = make_step(*key)
            total = self.entries + made.weight.size
            total += sum(step.weight.size for step in list(self._finer.values()))
            _require_storable(total, self._rows)
            self._finer.setdefault(key, made)  # the first one stays, if two threads make it
        return self._finer[key]

    def damping(self, t: float) -> float:
        """Minus the log modulus of the largest wave at frequency t: the curvature of the log ratio.

        Counts are about normal, with a tridiagonal precision Q; with H the second derivatives of
        the log ratio the modulus is at most ``|det(Q - i t H)/det Q|^(-1/2)`` (stationary phase).
        Curvature is used of the counts whose law is smooth.
        """
        p, zero, one = self._chain.p, self._chain.after_zero, self._chain.after_one
        size, curvature = self._chain.ploidy * self._rows, [s.curvature for s in self.steps]
        variance = size * np.append(p[0] * (1.0 - p[0]), _within(p[:-1], zero, one))
        if not (variance > 0.0).all():
            return 0.0
        slope = np.append(one - zero, 0.0)
        q = 1.0 / variance + slope**2 / np.append(variance[1:], 1.0)
        beside = -slope[:-1] / variance[1:]
        cc, ce, ee = np.array(curvature).reshape(-1, 3).T
        h = np.append(cc, 0.0) + np.append(_second(self.ratio, self.grids[0][0].stride), ee)
        pivots = np.zeros(p.size, np.complex128)
        for j in range(p.size):
            pivots[j] = q[j] - 1j * t * h[j]
            if j:
                pivots[j] -= (beside[j - 1] - 1j * t * ce[j - 1]) ** 2 / pivots[j - 1]
        return 0.5 * float(np.sum(np.log(np.abs(pivots)) + np.log(variance)))


def _second(ratio: FloatArray, stride: int) -> float:
    """Second derivative in the middle of a grid."""
    middle = ratio.size // 2
    if stride == 1 or not 0 < middle < ratio.size - 1:
        return 0.0
    return float(ratio[middle - 1] - 2.0 * ratio[middle] + ratio[middle + 1]) / stride**2


def _within(p: FloatArray, zero: FloatArray, one: FloatArray) -> FloatArray:
    """Variance of a column given the one before, of one haplotype; p the share of ones before."""
    return (1.0 - p) * zero * (1.0 - zero) + p * one * (1.0 - one)


def make_links(
    chain: Chain,
    target: FloatArray,
    rows: int,
    most_theta: float,
    *,
    smooth: bool = True,
    workers: int = 1,
) -> Links:
    """The tables of a chain, equal steps shared; `smooth`: of every h-th count where they do."""
    k, size = chain.ploidy, chain.ploidy * rows
    z = target.astype(int).tolist()
    chances = chain._chances(target)
    ranges, near = zip(
        *(_likely(size, float(p), k, x, most_theta) for p, x in zip(chain.p, z, strict=True)),
        strict=True,
    )
    strides = _strides(chain, target, rows, ranges) if smooth else [1] * len(ranges)
    grids = [
        Grid(low, high, h, close)
        for (low, high), h, close in zip(ranges, strides, near, strict=True)
    ]
    start, ratio, lost = _first_table(grids[0].counts, size, chain.start, k, z[0])
    keys: list[_Key] = []
    for j, (a, b) in enumerate(np.transpose([chain.after_zero, chain.after_one]).tolist()):
        share = max(float(chances[j + 1]) * float(_marginal(chain.p[j], z[j], k)), 1e-300)
        depth = _DEPTH + min(_MOVED * most_theta / np.sqrt(size * share), _MOST_DEPTH)
        keys.append((a, b, size, k, (z[j], z[j + 1]), (grids[j], grids[j + 1]), float(depth)))
    made: dict[_Key, Step] = {}
    total = 0
    different = list(dict.fromkeys(keys))
    tables = map_blocks(lambda key: make_step(*key), different, workers)
    for key, step in zip(different, tables, strict=True):
        made[key] = step
        total += step.weight.size
        _require_storable(total, rows)
    steps = [made[key] for key in keys]
    slopes = np.zeros(len(grids))
    both = np.array([step.slopes for step in steps]).reshape(-1, 2)
    slopes[:-1] += both[:, 0]
    slopes[1:] += both[:, 1]
    first, last = grids[0].near
    close = ratio[(grids[0].counts >= first) & (grids[0].counts <= last)]
    slopes[0] += float(np.max(np.abs(np.diff(close)), initial=0.0)) / grids[0].stride
    period = 2.0 * np.pi / float(slopes.max()) if slopes.any() else np.inf
    finer, reaches = [], []
    for divisor in _FINER:
        by = [max(h // divisor, 1) for h in strides]
        finer.append([grid._replace(stride=h) for grid, h in zip(grids, by, strict=True)])
        turns = np.where(np.array(by) > 1, slopes * by, 0.0)
        reaches.append(_REACH * 2.0 * np.pi / float(turns.max()) if turns.any() else np.inf)
    start = start * grids[0].stride
    return Links(start, ratio, lost, steps, finer, reaches, period, chain, z, rows, keys)


def _require_storable(entries: int, rows: int) -> None:
    if entries > _MOST_ENTRIES:
        remedy = 'method="sample" estimates the curve from drawn releases'
        why = f"its transfer matrices have more than {_MOST_ENTRIES:.0e} entries"
        unsupported("The exact curve", f"for {rows:,} rows", why, remedy)


def _strides(
    chain: Chain, target: FloatArray, rows: int, ranges: Sequence[tuple[int, int]]
) -> list[int]:
    """For each column, every which count is enough.

    Precisions of a count given its neighbours are at their largest at the ends of the likely
    ranges.  A count that has a share in the variance of the log ratio has less variance given that
    ratio.
    """
    k, size = chain.ploidy, chain.ploidy * rows
    zero, one = chain.after_zero, chain.after_one
    ends = np.array(ranges, float).T / size
    within = size * np.minimum(*(_within(end[:-1], zero, one) for end in ends))
    variance = np.append(size * chain.p[0] * (1.0 - chain.p[0]), within)
    innovations = chain._innovations(target)
    total = max(float(innovations.sum()), 1e-300)
    share = (innovations + np.append(innovations[1:], 0.0)) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = 1.0 / variance + np.append((one - zero) ** 2 / within, 0.0)
        smooth = np.where(share < _MOST_SHARE, (1.0 - share) / precision, 0.0)
    sure = (zero == 0.0) | (zero == 1.0) | (one == 0.0) | (one == 1.0)
    smooth[np.append(sure, False) | np.append(False, sure)] = 0.0
    low, high = np.array(ranges).T
    smooth[(low <= k) | (high >= size - k) | ~np.isfinite(smooth)] = 0.0
    strides = np.ones(len(ranges), int)
    for h in range(2, _MOST_STRIDE + 1):
        strides[smooth * (1.0 - np.cos(2.0 * np.pi / h)) >= _SMOOTH] = h
    return [int(h) for h in strides]


def _marginal(p: float, z: int, k: int) -> float:
    """Probability of one entry of a row."""
    return (2.0 if 0 < z < k else 1.0) * p**z * (1.0 - p) ** (k - z)


def _likely(
    size: int, p: float, k: int, z: int, most_theta: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last count of a column that is likely in a law tilted by at most `most_theta`.

    Also those near the mean; see Grid.
    """
    share = max(_marginal(p, z, k), 1e-300)
    depth = _DEPTH + min(_MOVED * most_theta / np.sqrt(size * share), _MOST_DEPTH)
    mean, variance = size * p, size * p * (1.0 - p)
    # Bernstein: further from the mean than this the probability is below e^-depth.
    reach = np.sqrt(2.0 * depth * variance) + depth / 3.0
    low, high = max(int(mean - reach), 0), min(int(mean + reach) + 1, size)
    counts = np.arange(low, high + 1)
    log_out = binom_logpmf(counts, size, p)
    kept, near = (counts[log_out > log_out.max() - share * depth] for share in (1.0, _NEAR))
    return (int(kept[0]), int(kept[-1])), (int(near[0]), int(near[-1]))


def first_laws(
    counts: IntArray, size: int, p: float, k: int, z: int
) -> tuple[FloatArray, FloatArray]:
    """Probabilities out and in of counts of the first column."""
    out = np.exp(binom_logpmf(counts, size, p))
    inside = np.zeros(out.shape)
    good = (counts >= z) & (counts - z <= size - k)
    inside[good] = np.exp(binom_logpmf(counts[good] - z, size - k, p))
    return out, inside


def _first_table(
    counts: IntArray, size: int, p: float, k: int, z: int
) -> tuple[FloatArray, FloatArray, float]:
    """Probabilities out and log ratios of the first column, and the mass that is ruled out."""
    out, inside = first_laws(counts, size, p, k, z)
    possible = (inside > 0.0) & (out > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(possible, np.log(inside / out), 0.0)
    return np.where(possible, out, 0.0), ratio, float(out[~possible].sum())


def _place(numbers: IntArray, p: float, depth: float) -> tuple[IntArray, int]:
    """Where likely binomial counts begin, for each number, and how many there are at most."""
    most = max(int(numbers.max(initial=0)), 0)
    reach = int(np.sqrt(2.0 * depth * most * p * (1.0 - p)) + depth / 3.0) + 1
    first = np.maximum(np.floor(numbers * p).astype(np.int64) - reach, 0)
    return first, min(2 * reach + 2, most + 1)


def _window(numbers: IntArray, p: float, first: IntArray, width: int) -> FloatArray:
    """Binomial probabilities of `width` counts from `first` on, a row for each number."""
    k = first[:, None] + np.arange(width)
    n = np.maximum(numbers, 0)[:, None]
    good = (k >= 0) & (k <= n) & (numbers[:, None] >= 0)
    at = np.clip(k, 0, n)
    chances = np.where(good, np.exp(binom_logpmf(at, n, p)), 0.0)
    used = np.flatnonzero((chances > 0.0).any(axis=0))
    return chances[:, : int(used[-1]) + 1 if used.size else 1]


def _convolved(first: FloatArray, second: FloatArray, stride: int) -> FloatArray:
    """Every `stride`-th entry of the convolutions of rows."""
    first, second = sorted((first, second), key=np.shape)
    width = first.shape[1]
    size = -(-(width + second.shape[1] - 1) // stride)
    padded = np.zeros((len(second), (size - 1) * stride + width))
    padded[:, width - 1 :][:, : second.shape[1]] = second[:, : padded.shape[1] - width + 1]
    row, entry = padded.strides
    windows = as_strided(padded, (len(padded), size, width), (row, stride * entry, entry))
    turned = np.ascontiguousarray(first[:, ::-1])
    return np.asarray(np.vecdot(turned[:, None], windows))


def make_step(
    a: float,
    b: float,
    size: int,
    k: int,
    target: Sequence[int],
    grids: Sequence[Grid],
    depth: float,
) -> Step:
    """The table of one step."""
    here, there = grids
    z, w = target
    counts, tables = here.counts, []
    for ones, zeros, moved in (
        (counts, size - counts, 0),
        (counts - z, size - counts - (k - z), w),
    ):
        place, width = _place(ones, b, depth)
        other, other_width = _place(zeros, a, depth)
        start = place + other + moved - there.low
        later = start % there.stride  # the first sum is then a count of the grid
        chances = _window(ones, b, place, width)
        others = _window(zeros, a, other - later, other_width + there.stride - 1)
        law = _convolved(chances, others, there.stride)
        at = ((start - later) // there.stride)[:, None] + np.arange(law.shape[1])
        table = np.zeros((counts.size, there.size))
        good = (at >= 0) & (at < table.shape[1])
        table[np.nonzero(good)[0], at[good]] = law[good]
        tables.append(table)
    out, inside = tables
    possible = (out > 0.0) & (inside > 0.0)
    kept = out > np.exp(-min(depth, 700.0)) * out.max(axis=1, keepdims=True)
    lost = there.stride * np.where(kept & ~possible, out, 0.0).sum(axis=1)
    kept &= possible
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(kept, np.log(inside / out), 0.0)
    near = out > np.exp(-_NEAR * min(depth, 700.0)) * out.max(axis=1, keepdims=True)
    for grid, axis in ((here, 1), (there, 0)):
        first, last = grid.near
        near &= np.expand_dims((grid.counts >= first) & (grid.counts <= last), axis)
    slopes, curvature = _slopes(ratio, kept & near, grids, out)
    out = np.where(kept, there.stride * out, 0.0)
    begin = np.where(kept.any(axis=1), kept.argmax(axis=1), 0)
    end = np.where(kept.any(axis=1), kept.shape[1] - kept[:, ::-1].argmax(axis=1), 1)
    lanes = kernels.LANES
    width = -(-int((end - begin).max()) // lanes) * lanes
    space = ((0, 0), (0, width))
    places = begin[:, None] + np.arange(width)
    rows = np.arange(counts.size)[:, None]
    weight, ratio = (np.pad(values, space)[rows, places] for values in (out, ratio))
    return Step(
        begin.astype(np.int64),
        np.ascontiguousarray(weight),
        np.ascontiguousarray(ratio),
        lost,
        table.shape[1] + width,
        slopes,
        curvature,
    )


def _slopes(
    ratio: FloatArray, kept: npt.NDArray[np.bool_], grids: Sequence[Grid], out: FloatArray
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """The largest first, and the second derivatives at the likeliest count of the middle row."""
    slopes = []
    for axis, grid in enumerate(grids):
        size = kept.shape[axis]
        pairs = kept.take(range(1, size), axis) & kept.take(range(size - 1), axis)
        change = np.abs(np.diff(ratio, axis=axis))
        slopes.append(float(np.max(change, where=pairs, initial=0.0)) / grid.stride)
    i = len(ratio) // 2
    place = slice(max(i - 1, 0), i + 2), slice(max(int(out[i].argmax()) - 1, 0), None)
    box = ratio[place][:, :3]
    first, second = grids[0].stride, grids[1].stride
    curvature = (0.0, 0.0, 0.0)
    if box.shape == (3, 3) and kept[place][:, :3].all() and min(first, second) > 1:
        cc = (box[0, 1] - 2.0 * box[1, 1] + box[2, 1]) / first**2
        ee = (box[1, 0] - 2.0 * box[1, 1] + box[1, 2]) / second**2
        ce = (box[2, 2] - box[2, 0] - box[0, 2] + box[0, 0]) / (4.0 * first * second)
        curvature = (float(cc), float(ce), float(ee))
    return (slopes[0], slopes[1]), curvature
