"""The law of the log likelihood ratio of a release of linked columns, by transfer matrices.

The counts of a chain's columns are a Markov chain, and the log ratio is a sum over its steps.  So
``M(s) = E e^(s l)`` is a product of matrices with the entries ``P(e | c) e^(s l(c, e))``, c and e
the counts of two neighbours.  The matrices are banded: what is less likely than rounding is
omitted, and the forward recursion along a line of the complex plane is one kernel call a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, unsupported
from mialeak._blocks import map_blocks
from mialeak._kernels import chains as kernels
from mialeak.exact._atoms import MOST_ATOMS, Atoms
from mialeak.exact._moments import RatioMoments
from mialeak.exact._transitions import Grid, Links, Step, first_laws, make_links, make_step
from mialeak.laws import Chain

__all__ = ["ChainMoments", "chain_atoms"]

ComplexArray = npt.NDArray[np.complex128]

#: A depth below the least positive float64.
_ALL = 5000.0
#: The first tables are for |theta| up to this over the standard deviation of l, plus 1.
_TILT = 3.0
#: Tables may be wider than needed by the inverse of the first; they are made wider by the second.
_NARROW, _MARGIN = 0.5, 1.1
#: Largest exponent of e in a tilted entry.
_LARGE = 300.0
#: Most nodes of one forward recursion.
_NODES = 16
#: The frequency from which on recurrences are damped is sought up to this many first periods.
_PERIODS = 1 << 12
#: Tables of every h-th count are not taken if M(0) or M(1) is not as exact as this.
_ALIASED = 1e-12
#: A block of nodes ends where the modulus is certainly below this.
_DEAD = 1e-21
#: Atoms from which on their growth in the last step shows that there will be too many, and the log
#: of the factor by which they then grow.
_SOON, _LOG_MOST = 1 << 12, float(np.log(MOST_ATOMS))
#: With so many times too many atoms ahead, none are made: fewer of them are equal.
_EQUAL = 16
#: Log ratios of one count that differ by less than this, relative to the largest, are equal.
_SAME = 4e-14


class _Tilted(NamedTuple):
    """A chain's tables tilted by theta: K, K', K'', and what a wave needs."""

    links: Links
    theta: float
    sums: tuple[float, float, float]
    start: FloatArray
    weights: list[FloatArray]  # of each step, equal ones shared, with the factor of each
    factors: list[float]
    centres: list[float]  # of the first column and of each step: they sum to K'
    ahead: list[FloatArray]  # for each column, the mass of what follows
    shifts: list[float]  # of the first column and of each step, in the exponents of the weights
    finer: dict[int, FloatArray]  # weights of finer tables, by their steps

    def weight(self, j: int, step: Step) -> FloatArray:
        """The weight of a table of step j; of a finer one made once."""
        if step is self.links.steps[j]:
            return self.weights[j]
        if id(step) not in self.finer:
            exponent = np.minimum(self.theta * step.ratio - self.shifts[j + 1], _LARGE)
            self.finer[id(step)] = step.weight * np.exp(exponent)
        return self.finer[id(step)]


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
        self._chains, self._rows, self._smooth = chains, rows, True
        self._most_theta = -1.0
        self._tilted_links: list[tuple[float, list[_Tilted]]] = []
        self._known: dict[float, tuple[float, float, float]] = {}
        guess = float(np.sqrt(sum(chain._innovations(z).sum() for chain, z in chains) / rows))
        self._tables(_MARGIN * (_TILT / guess + 1.0) if guess > 0.0 else 1.0)
        self.spread = self.local(0.0)[2]
        needed = _TILT / self.spread + 1.0 if self.spread > 0.0 else 1.0
        if not _NARROW * self._most_theta < needed <= self._most_theta:
            self._tables(_MARGIN * needed)
            self.spread = self.local(0.0)[2]
        if self.aliased > _ALIASED:
            self._smooth = False
            self._tables(self._most_theta)
            self.spread = self.local(0.0)[2]

    @property
    def aliased(self) -> float:
        """Error of M(0) and M(1), which are known, by sums over every h-th count alone."""
        if np.isinf(self.reach):
            return 0.0
        others = super().local
        kept = sum(float(np.log1p(-self._lost(links))) for links in self.links)
        at_zero, at_one = (self.local(theta)[0] - others(theta)[0] for theta in (0.0, 1.0))
        return max(abs(at_zero - kept), abs(at_one))

    @property
    def reach(self) -> float:
        """Largest frequency at which the tables of every h-th count hold, of all chains."""
        return min((links.reaches[0] for links in self.links), default=np.inf)

    def damped_from(self, least: float) -> float:
        """A frequency from which on |M| is below e^-least; inf if none is known."""
        first = min((links.period for links in self.links), default=np.inf)
        if not np.isfinite(first):
            return np.inf
        periods = 1.0
        while sum(links.damping(periods * first) for links in self.links) < least:
            periods *= 1.25
            if periods > _PERIODS:
                return np.inf
        return max(periods * first, self.reach)

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
        for links, tilted in zip(self.links, self._tilted_by(theta), strict=True):

            def forward(
                block: tuple[int, int, int], links: Links = links, tilted: _Tilted = tilted
            ) -> tuple[ComplexArray, float]:
                first, last, fineness = block
                return _forward(links, tilted, start + step * first, step, last - first, fineness)

            blocks, done = list[tuple[int, int, int]](), 0
            for fineness, reach in enumerate(links.reaches):
                last = int(np.clip((reach - start) / step + 1.0, done, count))
                blocks += [(*ends, fineness) for ends in _blocks(done, last)]
                done = last
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
        self._known.clear()
        self.links = [
            make_links(chain, z, self._rows, most_theta, smooth=self._smooth, workers=self.workers)
            for chain, z in self._chains
        ]

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


def _blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Blocks of at most `_NODES` nodes, of about the same number."""
    blocks = -(-(last - first) // _NODES)
    return pairwise(first + (last - first) * block // max(blocks, 1) for block in range(blocks + 1))


def _forward(
    links: Links, tilted: _Tilted, start: float, step: float, count: int, fineness: int
) -> tuple[ComplexArray, float]:
    """The wave of one chain and its work; where it is negligible, a bound on its modulus."""
    work, t = 0.0, start + step * np.arange(count)
    weight, ratio = tilted.start, links.ratio
    if fineness:
        chances, ratio = links.first_column(fineness)
        weight = chances * np.exp(tilted.theta * ratio - tilted.shifts[0])
    wave = weight[:, None] * np.exp(1j * np.multiply.outer(ratio - tilted.centres[0], t))
    before = np.stack([wave.real, wave.imag], axis=1)
    for j in range(len(links.steps)):
        if j:
            ahead = tilted.ahead[j]
            if fineness:
                counts, known = (links.grids[k][j].counts for k in (fineness, 0))
                ahead = np.interp(counts, known, ahead)
            bound = ahead @ np.hypot(before[:, 0], before[:, 1])
            if bound.max() < _DEAD:
                return bound.astype(np.complex128), work
        table = links.table(j, fineness)
        weight = tilted.weight(j, table)
        work += float(table.weight.size * count)
        after = np.empty((count, 2, table.padded))
        kernels.transfer_step(
            table.first,
            weight,
            table.ratio,
            tilted.centres[j + 1],
            start,
            step,
            before,
            after,
        )
        size = table.padded - table.weight.shape[1]
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
    if mass == 0.0:
        return _underflowed(links, theta)
    v = start / mass
    start, shifts = v, [shift + float(np.log(mass))]
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
        if mass == 0.0:
            return _underflowed(links, theta)
        v, v1, v2 = a / mass, (b + d) / mass, (c + 2.0 * e + f) / mass
        log_mass += float(np.log(mass)) + shift
        centres.append(float(v1.sum()) - centre)
        centre = float(v1.sum())
        scaled.append(weight)
        shifts.append(shift)
        factors.append(1.0 / mass)
    ahead = [np.ones(v.size)]
    for j in reversed(range(len(links.steps))):
        step, weight = links.steps[j], scaled[j]
        padded = np.append(ahead[0], np.zeros(step.padded - ahead[0].size))
        places = step.first[:, None] + np.arange(weight.shape[1])
        ahead.insert(0, factors[j] * np.vecdot(weight, padded[places]))
    variance = max(float(v2.sum()) - centre * centre, 0.0)
    sums = log_mass, centre, variance
    return _Tilted(
        links, theta, sums, start, scaled, factors, centres, ahead, shifts, dict[int, FloatArray]()
    )


def _underflowed(links: Links, theta: float) -> _Tilted:
    """What is tilted so far that float64 does not hold it: K has inf as its bound.

    Untilted, no likely release is possible with the target, and the curve is refused.
    """
    if 0.0 <= theta <= 1.0:
        why = "the releases that it can be in have next to no probability without it"
        unsupported("The exact curve", "for so unlikely a target", why)
    sums = float(np.inf), 0.0, 0.0
    return _Tilted(links, theta, sums, np.zeros(0), [], [], [], [], [], dict[int, FloatArray]())


def _tilted_weight(weight: FloatArray, ratio: FloatArray, theta: float) -> tuple[FloatArray, float]:
    """``weight e^(theta ratio - shift)`` and the shift."""
    if theta == 0.0:
        return weight, 0.0
    exponent = theta * ratio
    top = float(np.max(exponent, where=weight > 0.0, initial=-np.inf))
    shift = top - float(np.clip(top, -_LARGE, _LARGE)) if top > -np.inf else 0.0
    return weight * np.exp(np.minimum(exponent - shift, _LARGE)), shift


def chain_atoms(chain: Chain, target: FloatArray, rows: int) -> tuple[Atoms, float] | None:
    """All atoms of the log ratio, and P(l = -inf) out; None if they are too many."""
    k, size = chain.ploidy, chain.ploidy * rows
    z = target.astype(int).tolist()
    counts = np.arange(size + 1)
    if size >= MOST_ATOMS:
        return None
    out, inside = first_laws(counts, size, chain.start, k, z[0])
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
        whole = [Grid(0, size)] * 2
        table = make_step(float(a), float(b), size, k, z[j : j + 2], whole, _ALL)
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
