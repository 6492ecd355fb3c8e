"""Laws of a small number of coordinates: all atoms, or the atoms of two halves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._kernels.moments import LANES
from mialeak.exact._packing import KeptOutcomes

__all__ = ["MOST_ATOMS", "MOST_LARGE", "MOST_SMALL", "Atoms", "Halves", "atoms_of", "halves_of"]

#: Largest numbers of atoms: of a law, of the smaller half, and of the larger half.
MOST_ATOMS, MOST_SMALL, MOST_LARGE = 1 << 20, 1 << 13, 1 << 20
#: In multiples of those: pairs sorted at once, and atoms counted before equal ratios merge.
_PAIRS, _UNMERGED = 4, 4
#: Log ratios that differ by less than this times the largest are equal.
_SAME = 4e-15
#: The least positive float64: the absolute error of a product that underflows.
_TINY = 2.0**-1074
#: Largest exponent of e.
_LARGE = 700.0


@dataclass(frozen=True)
class Atoms:
    """Log ratios in increasing order, with their probabilities out and in."""

    ratio: FloatArray
    out: FloatArray
    inside: FloatArray
    #: Upper bounds on the missing probability, out and in: omitted counts and underflow.
    missing: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of atoms."""
        return self.ratio.size

    def times(self, other: Atoms) -> Atoms:
        """Atoms of the sum of two independent log ratios."""
        lost = _TINY * self.size * other.size
        highest = float(self.ratio[-1] + other.ratio[-1])
        missing = (
            self.missing[0] + other.missing[0] + lost,
            self.missing[1] + other.missing[1] + lost * float(np.exp(min(highest, _LARGE))),
        )
        ratio = np.add.outer(self.ratio, other.ratio).ravel()
        out = np.multiply.outer(self.out, other.out).ravel()
        order = np.argsort(ratio, kind="stable")
        ratio, out = ratio[order], out[order]
        scale = max(float(np.abs(ratio).max()), 1e-300)
        starts = np.flatnonzero(np.diff(ratio, prepend=-np.inf) > _SAME * scale)
        if starts.size < ratio.size:
            mass = np.add.reduceat(out, starts)
            mean = np.add.reduceat(
                out * (ratio - np.repeat(ratio[starts], np.diff([*starts, ratio.size]))), starts
            )
            with np.errstate(invalid="ignore"):
                ratio = ratio[starts] + np.where(mass > 0.0, mean / mass, 0.0)
            out = mass
        kept = out > 0.0
        return Atoms(ratio[kept], out[kept], out[kept] * np.exp(ratio[kept]), missing)

    @cached_property
    def tails(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """For both laws, the mass of the first k atoms and of the others, k = 0, 1, ..."""
        return _sums(self.out), _sums(self.inside)

    @cached_property
    def gaps(self) -> tuple[FloatArray, FloatArray]:
        """Sums of ``inside - out`` over the first k atoms and over the others, k = 0, 1, ..."""
        return _sums(self.out * np.expm1(self.ratio))


def _sums(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    below, above = np.zeros(terms.size + 1), np.zeros(terms.size + 1)
    below[1:] = np.cumsum(terms, dtype=np.longdouble)
    above[:-1] = np.cumsum(terms[::-1], dtype=np.longdouble)[::-1]
    return below, above


def _coordinates(packed: KeptOutcomes, rare: float) -> list[tuple[Atoms, int]]:
    """Atoms and copies of each coordinate, without outcomes rarer than `rare` times the mode."""
    parts = []
    for tile, (first, last) in enumerate(zip(packed.first[:-1], packed.first[1:], strict=True)):
        for lane in range(LANES):
            copies = int(packed.copies[LANES * tile + lane])
            weight, ratio = packed.weight[first:last, lane], packed.ratio[first:last, lane]
            kept = weight > rare * weight.max()
            if copies and kept.any():
                seldom, high = weight[~kept], ratio[~kept]
                order = np.argsort(ratio[kept], kind="stable")
                out, log = weight[kept][order], ratio[kept][order]
                inside = out * np.exp(log)
                seldom = np.append(
                    seldom, [_TINY * weight.size, *(w[tile, lane] for w, _ in packed.ends)]
                )
                high = np.append(high, [log[-1], *(r[tile, lane] for _, r in packed.ends)])
                missing = float(seldom.sum()), float(seldom @ np.exp(high))
                parts.append((Atoms(log, out, inside, missing), copies))
    return parts


def _log_size(parts: list[tuple[Atoms, int]]) -> float:
    """Log of an upper bound on the number of atoms: multisets for equal coordinates."""
    return sum(
        math.lgamma(atoms.size + copies) - math.lgamma(atoms.size) - math.lgamma(copies + 1)
        for atoms, copies in parts
    )


def _product(parts: list[tuple[Atoms, int]], most: int) -> Atoms | None:
    if _log_size(parts) > math.log(_UNMERGED * most):
        return None
    total = Atoms(np.zeros(1), np.ones(1), np.ones(1))
    for atoms, copies in parts:
        for _ in range(copies):
            if total.size * atoms.size > _PAIRS * most:
                return None
            total = total.times(atoms)
            if total.size > most:
                return None
    return total


def atoms_of(packed: KeptOutcomes, rare: float = 0.0) -> Atoms | None:
    """All atoms, or None if there are more than `MOST_ATOMS`."""
    return _product(_coordinates(packed, rare), MOST_ATOMS)


@dataclass(frozen=True)
class Halves:
    """Law of a sum of two independent log ratios with known atoms: one merge per threshold."""

    large: Atoms
    small: Atoms

    @property
    def missing(self) -> tuple[float, float]:
        """Upper bounds on the missing probability, out and in."""
        tiny = _TINY * self.small.size
        out, inside = (
            sum(both) for both in zip(self.large.missing, self.small.missing, strict=True)
        )
        return out + tiny, inside + tiny

    def tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        """P(l <= x) over the finite l, and P(l > x)."""
        flat = np.ravel(x)
        below, above = self.large.tails[world]
        weight = self.small.inside if world else self.small.out
        lower, upper = np.empty(flat.shape), np.empty(flat.shape)
        for i, threshold in enumerate(flat):
            place = np.searchsorted(self.large.ratio, threshold - self.small.ratio, side="right")
            lower[i], upper[i] = weight @ below[place], weight @ above[place]
        return lower.reshape(x.shape), upper.reshape(x.shape)

    def excess(self, x: FloatArray, side: int) -> FloatArray:
        """``E[e^l - e^x]`` out, over the finite l <= x (side 0) or over l > x (side 1).

        With l = s + t of the small and the large half, the difference is taken as
        ``e^s (e^t - 1) + (e^s - e^x)``, which keeps its digits where the worlds are close.
        """
        flat, small = np.ravel(x), self.small
        gap, mass = self.large.gaps[side], self.large.tails[0][side]
        result = np.empty(flat.shape)
        for i, threshold in enumerate(flat):
            remaining = threshold - small.ratio
            place = np.searchsorted(self.large.ratio, remaining, side="right")
            size = np.exp(np.maximum(threshold, small.ratio)) * np.expm1(-np.abs(remaining))
            small_gap = small.out * np.copysign(size, -remaining)
            result[i] = small.inside @ gap[place] + small_gap @ mass[place]
        return result.reshape(x.shape)


def halves_of(
    packed: KeptOutcomes, small: int = MOST_SMALL, large: int = MOST_LARGE, rare: float = 0.0
) -> Halves | None:
    """Two halves of nearly equal size, or None if one is too large."""
    sides: tuple[list[tuple[Atoms, int]], list[tuple[Atoms, int]]] = ([], [])
    loads = [0.0, 0.0]
    for atoms, copies in sorted(_coordinates(packed, rare), key=lambda part: -part[0].size):
        lesser = int(loads[1] < loads[0])
        for side, share in ((lesser, -(-copies // 2)), (1 - lesser, copies // 2)):
            if share:
                sides[side].append((atoms, share))
                loads[side] += _log_size([(atoms, share)])
        if max(loads) > math.log(_UNMERGED * large):
            return None
    made = [_product(side, large) for side in sides]
    if made[0] is None or made[1] is None:
        return None
    first, second = sorted((made[0], made[1]), key=lambda atoms: atoms.size)
    return Halves(second, first) if first.size <= small else None
