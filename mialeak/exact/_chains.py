"""The law of the log likelihood ratio of a release of linked columns, by transfer matrices.

The counts of a chain's columns are a Markov chain, and the log ratio is a sum over its steps.  So
``M(s) = E e^(s l)`` is a product of matrices with the entries ``P(e | c) e^(s l(c, e))``, c and e
the counts of two neighbours.  The matrices are banded: what is less likely than rounding is
omitted, and the forward recursion along a line of the complex plane is one kernel call a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, unsupported
from mialeak._blocks import map_blocks
from mialeak._kernels import chains as kernels
from mialeak.exact._atoms import MOST_ATOMS, Atoms
from mialeak.exact._moments import RatioMoments
from mialeak.laws import Chain
from mialeak.special import binom_logpmf

__all__ = ["ChainMoments", "chain_atoms"]

ComplexArray = npt.NDArray[np.complex128]

#: Entries whose log probability, tilted, is this far below the largest of their row are omitted.
_DEPTH = 46.0
#: Counts further from their mean than sqrt(2 q v) + q/3 have a probability below e^-q (Bernstein).
#: A depth below the least positive float64.
_ALL = 5000.0
#: Standard deviations of a step's log ratio by which tilted entries may be moved, and the largest
#: depth this adds.
_MOVED, _MOST_DEPTH = 12.0, 300.0
#: The first tables are for |theta| up to this over the standard deviation of l, plus 1.
_TILT = 3.0
#: Tables may be wider than needed by the inverse of the first; they are made wider by the second.
_NARROW, _MARGIN = 0.5, 1.1
#: Largest exponent of e in a tilted entry.
_LARGE = 300.0
#: Nodes of one forward recursion, and steps after which it may end.
_NODES, _CHECK = 32, 4
#: A block of nodes ends where the modulus is certainly below this.
_DEAD = 1e-21
#: Entries of all matrices that are stored: 1.2 GB with their ratios and tilted weights.
_MOST_ENTRIES = 5e7
#: Atoms from which on their growth in the last step shows that there will be too many, and the log
#: of the factor by which they then grow.
_SOON, _LOG_MOST = 1 << 12, float(np.log(MOST_ATOMS))
#: With so many times too many atoms ahead, none are made: fewer of them are equal.
_EQUAL = 16
#: Log ratios of one count that differ by less than this, relative to the largest, are equal.
_SAME = 4e-14


@dataclass(frozen=True)
class Step:
    """The transitions from the likely counts of a column to those of the next."""

    first: npt.NDArray[np.int64]  # for each row the place of its first entry among the next counts
    weight: FloatArray  # P(e | c), out
    ratio: FloatArray
    lost: FloatArray  # P(e | c) of the e that the target rules out
    padded: int


@dataclass(frozen=True)
class Links:
    """The tables of one chain: the first column, and every step."""

    start: FloatArray
    ratio: FloatArray
    lost: float
    steps: list[Step]

    @property
    def entries(self) -> int:
        """Numbers of all tables, equal steps once."""
        return sum(step.weight.size for step in {id(s): s for s in self.steps}.values())

    @property
    def work(self) -> float:
        """Entries that one node of a wave takes."""
        return float(sum(step.weight.size for step in self.steps))


class _Tilted(NamedTuple):
    """A chain's tables tilted by theta: K, K', K'', and what a wave needs."""

    sums: tuple[float, float, float]
    start: FloatArray
    weights: list[FloatArray]  # of each step, equal ones shared, with the factor of each
    factors: list[float]
    centres: list[float]  # of the first column and of each step: they sum to K'
    ahead: list[FloatArray]  # for each column, the mass of what follows


class ChainMoments(RatioMoments):
    """``M(s)`` of the columns of several chains, and of independent columns beside them.

    Parameters
    ----------
    chains : list of (Chain, ndarray)
        Chains with their parts of the target.
    others : RatioMoments
        The other columns.
    rows : int
        Rows of the release.
    """

    def __init__(self, chains: Sequence[tuple[Chain, FloatArray]], others: RatioMoments, rows: int):
        super().__init__(others.families, others.normal, others.workers)
        self._chains, self._rows = chains, rows
        self._most_theta = -1.0
        self._tilted_links: list[tuple[float, list[_Tilted]]] = []
        self._known: dict[float, tuple[float, float, float]] = {}
        guess = float(np.sqrt(sum(chain._innovation(z) for chain, z in chains) / rows))
        self._tables(_MARGIN * (_TILT / guess + 1.0) if guess > 0.0 else 1.0)
        self.spread = self.local(0.0)[2]
        needed = _TILT / self.spread + 1.0 if self.spread > 0.0 else 1.0
        if not _NARROW * self._most_theta < needed <= self._most_theta:
            self._tables(_MARGIN * needed)
            self._known.clear()
            self.spread = self.local(0.0)[2]

    @cached_property
    def lost(self) -> float:
        """P(l = -inf), accurate where it is small."""
        kept = sum(float(np.log1p(-self._lost(links))) for links in self.links)
        return -float(np.expm1(kept + min(super().local(0.0)[0], 0.0)))

    @property
    def coordinates(self) -> float:
        """Number of columns, for rounding errors."""
        return super().coordinates + sum(float(chain.size) for chain, _ in self._chains)

    @property
    def support(self) -> tuple[float, float]:
        """Interval that holds all finite log ratios."""
        return -np.inf, super().support[1] + self._highest

    @property
    def _highest(self) -> float:
        """The largest log ratio is at most -log P(target), as in a release of equal rows."""
        with np.errstate(divide="ignore"):
            return -sum(float(np.log(c._chances(z)).sum()) for c, z in self._chains)

    def last(self, direction: str) -> float:
        """The epsilon at delta = 0, from outcomes of any positive probability."""
        if direction == "out":  # a column without the target's value
            varied = any(((chain.p > 0.0) & (chain.p < 1.0)).any() for chain, _ in self._chains)
            return np.inf if varied else super().last(direction)
        single = [z[(chain.p > 0.0) & (chain.p < 1.0)] == 1.0 for chain, z in self._chains]
        both = [chain.ploidy == 2 for chain, _ in self._chains]
        if any(one.any() and two for one, two in zip(single, both, strict=True)):
            why = "a release of equal rows does not show the phase of its genotypes"
            unsupported("epsilon at delta = 0", "for genotypes with one copy", why, "Pass a delta")
        return super().last(direction) + self._highest

    def column_moments(self, theta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of no coordinate: what follows from independent ones does not hold."""
        return np.zeros(0), np.zeros(0), np.zeros(0)

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""
        if theta not in self._known:
            sums = np.sum([tilted.sums for tilted in self._tilted_by(theta)], axis=0)
            k, first, deviation = super().local(theta)
            second = float(np.sqrt(sums[2] + deviation**2))
            self._known[theta] = float(sums[0]) + k, float(sums[1]) + first, second
        return self._known[theta]

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""
        return self.measured_wave(theta, start, step, count)[0]

    def measured_wave(
        self, theta: float, start: float, step: float, count: int
    ) -> tuple[ComplexArray, float]:
        """The wave, and the number of entries times nodes that it took."""
        values, total = super().wave(theta, start, step, count), 0.0
        blocks = [slice(first, min(first + _NODES, count)) for first in range(0, count, _NODES)]
        for links, tilted in zip(self.links, self._tilted_by(theta), strict=True):

            def forward(
                block: slice, links: Links = links, tilted: _Tilted = tilted
            ) -> tuple[ComplexArray, float]:
                begin = start + step * block.start
                return _forward(links, tilted, begin, step, block.stop - block.start)

            parts = list(map_blocks(forward, blocks, self.workers))
            values *= np.concatenate([part for part, _ in parts])
            total += sum(work for _, work in parts)
        return values, total

    @property
    def slowest(self) -> float:
        """Changes of the log ratio by one count are at least one over this, up to a factor."""
        return float(self._rows * max(chain.ploidy for chain, _ in self._chains))

    def _tables(self, most_theta: float) -> None:
        """Make the tables for |theta| up to `most_theta`."""
        self._most_theta, self._tilted_links = most_theta, []
        self.links = [_links(chain, z, self._rows, most_theta) for chain, z in self._chains]

    def _tilted_by(self, theta: float) -> list[_Tilted]:
        """The chains tilted by theta, from tables that are wide enough."""
        for at, tilted in self._tilted_links:
            if at == theta:
                return tilted
        if abs(theta) > self._most_theta:
            self._tables(2.0 * abs(theta))
        made = [_tilt(links, theta) for links in self.links]
        self._tilted_links = [*self._tilted_links[-1:], (theta, made)]
        return made

    def _lost(self, links: Links) -> float:
        """P(l = -inf) out, as a sum of positive terms."""
        lost, before = links.lost, links.start
        for step in links.steps:
            lost += float(before @ step.lost)
            (before,) = _advance(step, step.weight, before)
        return lost


def _forward(
    links: Links, tilted: _Tilted, start: float, step: float, count: int
) -> tuple[ComplexArray, float]:
    """The wave of one chain and its work; where it is negligible, a bound on its modulus."""
    work, t = 0.0, start + step * np.arange(count)
    wave = tilted.start[:, None] * np.exp(
        1j * np.multiply.outer(links.ratio - tilted.centres[0], t)
    )
    before = np.stack([wave.real, wave.imag], axis=1)
    for j, table in enumerate(links.steps):
        if j % _CHECK == 0 and j:
            bound = tilted.ahead[j] @ np.hypot(before[:, 0], before[:, 1])
            if bound.max() < _DEAD:
                return bound.astype(np.complex128), work
        work += float(table.weight.size * count)
        after = np.empty((count, 2, table.padded))
        kernels.transfer_step(
            table.first,
            tilted.weights[j],
            table.ratio,
            tilted.centres[j + 1],
            start,
            step,
            before,
            after,
        )
        size = tilted.ahead[j + 1].size
        before = np.ascontiguousarray(after[:, :, :size].transpose(2, 1, 0))
        before *= tilted.factors[j]
    return before[:, 0].sum(axis=0) + 1j * before[:, 1].sum(axis=0), work


def _advance(step: Step, weight: FloatArray, *vectors: FloatArray) -> list[FloatArray]:
    """The products of row vectors with a table."""
    count = -(-len(vectors) // 2)
    before = np.zeros((step.first.size, 2, count))
    for k, vector in enumerate(vectors):
        before[:, k % 2, k // 2] = vector
    after = np.empty((count, 2, step.padded))
    kernels.transfer_step(step.first, weight, step.ratio, 0.0, 0.0, 0.0, before, after)
    size = step.padded - step.weight.shape[1]
    return [after[k // 2, k % 2, :size].copy() for k in range(len(vectors))]


def _tilt(links: Links, theta: float) -> _Tilted:
    """Forward with the first two moments of l, then backward."""
    weights: dict[int, tuple[FloatArray, float]] = {}
    start, shift = _tilted_weight(links.start, links.ratio, theta)
    mass = float(start.sum())
    v = start / mass
    start = v
    log_mass, v1 = float(np.log(mass)) + shift, v * links.ratio
    v2, centre = v1 * links.ratio, float(v1.sum())
    centres, scaled, factors = [centre], [], list[float]()
    for step in links.steps:
        if id(step) not in weights:
            weights[id(step)] = _tilted_weight(step.weight, step.ratio, theta)
        weight, shift = weights[id(step)]
        linear = weight * step.ratio
        a, b, c = _advance(step, weight, v, v1, v2)
        d, e = _advance(step, linear, v, v1)
        (f,) = _advance(step, linear * step.ratio, v)
        mass = float(a.sum())
        v, v1, v2 = a / mass, (b + d) / mass, (c + 2.0 * e + f) / mass
        log_mass += float(np.log(mass)) + shift
        centres.append(float(v1.sum()) - centre)
        centre = float(v1.sum())
        scaled.append(weight)
        factors.append(1.0 / mass)
    ahead = [np.ones(v.size)]
    for j in reversed(range(len(links.steps))):
        step, weight = links.steps[j], scaled[j]
        padded = np.append(ahead[0], np.zeros(step.padded - ahead[0].size))
        places = step.first[:, None] + np.arange(weight.shape[1])
        ahead.insert(0, factors[j] * np.vecdot(weight, padded[places]))
    variance = max(float(v2.sum()) - centre * centre, 0.0)
    return _Tilted((log_mass, centre, variance), start, scaled, factors, centres, ahead)


def _tilted_weight(weight: FloatArray, ratio: FloatArray, theta: float) -> tuple[FloatArray, float]:
    """``weight e^(theta ratio - shift)`` and the shift."""
    if theta == 0.0:
        return weight, 0.0
    exponent = theta * ratio
    shift = max(float(np.max(exponent, where=weight > 0.0, initial=0.0)) - _LARGE, 0.0)
    return weight * np.exp(np.minimum(exponent - shift, _LARGE)), shift


def _links(chain: Chain, target: FloatArray, rows: int, most_theta: float) -> Links:
    """The tables of a chain, equal steps shared."""
    k, size = chain.ploidy, chain.ploidy * rows
    z = target.astype(int).tolist()
    chances = chain._chances(target)
    ranges, total = [], 0.0
    for p, x in zip(chain.p, z, strict=True):
        ranges.append(_likely(size, float(p), k, x, most_theta))
    low, high = ranges[0]
    counts = np.arange(low, high + 1)
    out, inside = _first_laws(counts, size, chain.start, k, z[0])
    possible = (inside > 0.0) & (out > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(possible, np.log(inside / out), 0.0)
    lost = float(out[~possible].sum())
    made: dict[tuple[float, ...], Step] = {}
    steps = []
    for j, (a, b) in enumerate(np.transpose([chain.after_zero, chain.after_one]).tolist()):
        share = max(float(chances[j + 1]) * float(_marginal(chain.p[j], z[j], k)), 1e-300)
        depth = _DEPTH + min(_MOVED * most_theta / np.sqrt(size * share), _MOST_DEPTH)
        key = (a, b, z[j], z[j + 1], *ranges[j], *ranges[j + 1], depth)
        if key not in made:
            made[key] = _step(a, b, size, k, z[j : j + 2], ranges[j : j + 2], depth)
            total += made[key].weight.size
        if total > _MOST_ENTRIES:
            remedy = 'method="sample" estimates the curve from drawn releases'
            why = f"its transfer matrices have more than {_MOST_ENTRIES:.0e} entries"
            unsupported("The exact curve", f"for {rows:,} rows", why, remedy)
        steps.append(made[key])
    return Links(np.where(possible, out, 0.0), ratio, lost, steps)


def _marginal(p: float, z: int, k: int) -> float:
    """Probability of one entry of a row."""
    return (2.0 if 0 < z < k else 1.0) * p**z * (1.0 - p) ** (k - z)


def _likely(size: int, p: float, k: int, z: int, most_theta: float) -> tuple[int, int]:
    """First and last count of a column that is likely in a law tilted by at most `most_theta`."""
    share = max(_marginal(p, z, k), 1e-300)
    depth = _DEPTH + min(_MOVED * most_theta / np.sqrt(size * share), _MOST_DEPTH)
    mean, variance = size * p, size * p * (1.0 - p)
    reach = np.sqrt(2.0 * depth * variance) + depth / 3.0
    low, high = max(int(mean - reach), 0), min(int(mean + reach) + 1, size)
    counts = np.arange(low, high + 1)
    log_out = binom_logpmf(counts, size, p)
    kept = np.flatnonzero(log_out > log_out.max() - depth)
    return int(counts[kept[0]]), int(counts[kept[-1]])


def _first_laws(
    counts: npt.NDArray[np.int64], size: int, p: float, k: int, z: int
) -> tuple[FloatArray, FloatArray]:
    """Probabilities out and in of counts of the first column."""
    out = np.exp(binom_logpmf(counts, size, p))
    inside = np.zeros(out.shape)
    good = (counts >= z) & (counts - z <= size - k)
    inside[good] = np.exp(binom_logpmf(counts[good] - z, size - k, p))
    return out, inside


def _windows(
    numbers: npt.NDArray[np.int64], p: float, depth: float
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Binomial probabilities of likely counts, a row for each number, and where they begin."""
    most = max(int(numbers.max(initial=0)), 0)
    reach = int(np.sqrt(2.0 * depth * most * p * (1.0 - p)) + depth / 3.0) + 1
    first = np.maximum(np.floor(numbers * p).astype(np.int64) - reach, 0)
    width = min(2 * reach + 2, most + 1)
    k = first[:, None] + np.arange(width)
    n = np.maximum(numbers, 0)[:, None]
    good = (k <= n) & (numbers[:, None] >= 0)
    chances = np.where(good, np.exp(binom_logpmf(np.minimum(k, n), n, p)), 0.0)
    used = np.flatnonzero((chances > 0.0).any(axis=0))
    return first, chances[:, : int(used[-1]) + 1 if used.size else 1]


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    """Convolutions of rows, which lie in columns here: half the time of sums along rows."""
    first, second = (np.ascontiguousarray(x.T) for x in sorted((first, second), key=np.shape))
    width, product = len(second), np.empty_like(second)
    out = np.zeros((len(first) + width - 1, second.shape[1]))
    for i, factors in enumerate(first):
        np.multiply(factors, second, out=product)
        out[i : i + width] += product
    return out.T


def _step(
    a: float,
    b: float,
    size: int,
    k: int,
    target: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    depth: float,
) -> Step:
    """The table of one step."""
    (low, high), (next_low, next_high) = ranges
    z, w = target
    counts, tables = np.arange(low, high + 1), []
    for ones, zeros, moved in (
        (counts, size - counts, 0),
        (counts - z, size - counts - (k - z), w),
    ):
        place, chances = _windows(ones, b, depth)
        other_place, others = _windows(zeros, a, depth)
        table = np.zeros((counts.size, next_high - next_low + 1))
        law = _convolved(chances, others)
        at = (place + other_place + moved - next_low)[:, None] + np.arange(law.shape[1])
        good = (at >= 0) & (at < table.shape[1])
        table[np.nonzero(good)[0], at[good]] = law[good]
        tables.append(table)
    out, inside = tables
    possible = (out > 0.0) & (inside > 0.0)
    kept = out > np.exp(-min(depth, 700.0)) * out.max(axis=1, keepdims=True)
    lost = np.where(kept & ~possible, out, 0.0).sum(axis=1)
    kept &= possible
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(kept, np.log(inside / out), 0.0)
    out = np.where(kept, out, 0.0)
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
    )


def chain_atoms(chain: Chain, target: FloatArray, rows: int) -> tuple[Atoms, float] | None:
    """All atoms of the log ratio, and P(l = -inf) out; None if they are too many."""
    k, size = chain.ploidy, chain.ploidy * rows
    z = target.astype(int).tolist()
    counts = np.arange(size + 1)
    if size >= MOST_ATOMS:
        return None
    out, inside = _first_laws(counts, size, chain.start, k, z[0])
    good = (out > 0.0) & (inside > 0.0)
    lost = float(out[~good].sum())
    c, mass = counts[good], out[good]
    ratio, growth = np.log(inside[good] / mass), 1.0
    for j, (a, b) in enumerate(zip(chain.after_zero, chain.after_one, strict=True)):
        steps = chain.size - 1 - j
        hopeless = c.size > _SOON and growth > 1.0 and np.log(growth) * steps > _LOG_MOST
        ahead = c.size * (size + 1.0)
        if steps > 1:  # also of the next step: counts e^-700 below the likeliest are omitted
            variance = size * max(chain.p[j] * b * (1.0 - b), (1.0 - chain.p[j]) * a * (1.0 - a))
            ahead *= max(min(np.sqrt(1400.0 * variance), size + 1.0) / _EQUAL, 1.0)
        if hopeless or ahead > 4 * MOST_ATOMS:
            return None
        before = c.size
        whole = [(0, size)] * 2
        table = _step(float(a), float(b), size, k, z[j : j + 2], whole, _ALL)
        lost += float(mass @ table.lost[c])
        weight = mass[:, None] * table.weight[c]
        here, there = np.nonzero(weight)
        ratio = ratio[here] + table.ratio[c[here], there]
        c, ratio, mass = _merged(table.first[c[here]] + there, ratio, weight[here, there])
        growth = c.size / before
    _, ratio, mass = _merged(np.zeros(c.size, np.int64), ratio, mass)
    return None if ratio.size > MOST_ATOMS else (Atoms(ratio, mass, mass * np.exp(ratio)), lost)


def _merged(
    c: npt.NDArray[np.int64], ratio: FloatArray, mass: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """Atoms of a count with equal ratios as one."""
    order = np.lexsort((ratio, c))
    c, ratio, mass = c[order], ratio[order], mass[order]
    scale = _SAME * max(float(np.abs(ratio).max(initial=0.0)), 1.0)
    new = (np.diff(c, prepend=-1) != 0) | (np.diff(ratio, prepend=-np.inf) > scale)
    starts = np.flatnonzero(new)
    total = np.add.reduceat(mass, starts)
    return c[starts], ratio[starts], total
