"""Leakage summed over the pieces of a law: one pass, with the same bits for any workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_counts, check_mass, invalid
from mialeak._blocks import map_blocks
from mialeak._kernels import binomial
from mialeak.discrete._input import Piece, as_block, bad_probability

__all__ = [
    "as_sizes",
    "block_mass",
    "leakage_sum",
    "leakage_sums",
    "shaped",
    "total_mass",
]

#: A block is added up in so many lanes, and these exactly: the same bits on every machine, and an
#: error below eps.
_LANES = 4096


def as_sizes(n: Any) -> tuple[list[float], tuple[int, ...]]:
    """`n` as a flat list of whole floats of at least 1, and its shape.

    The list of an empty array holds a 1: a bad law is then refused all the same.
    """
    if isinstance(n, int) or not (hasattr(n, "__len__") or hasattr(n, "__array__")):
        return [float(as_count(n, "n", least=1))], ()
    counts = as_counts(n, "n", least=1)
    return counts.ravel().astype(np.float64).tolist() or [1.0], counts.shape


def shaped(values: Sequence[float], shape: tuple[int, ...]) -> float | FloatArray:
    """One float for the shape (), else an array."""
    if shape:
        return np.array(values[: math.prod(shape)]).reshape(shape)
    return float(values[0])


def leakage_sums(
    pieces: Iterable[Piece],
    sizes: list[float],
    gamma: float,
    total: float,
    remedy: str,
    workers: int,
) -> list[float]:
    """The largest leakage at each of `sizes`, for the law of the pieces divided by `total`.

    Raises
    ------
    ValueError
        If that is not a law; `remedy` states what to do about a sum that is not 1.
    """

    def reduce(job: tuple[Piece, float]) -> tuple[float, ...]:
        return _block_sums(*job, gamma, total, remedy)

    # One size a job: after Ctrl-C a block is waited for, not a block times the number of sizes.
    jobs = ((piece, n) for piece in pieces for n in sizes)
    terms: list[list[float]] = [[] for _ in sizes]
    masses: list[float] = []
    for job, (high, low, mass, mass_low) in enumerate(map_blocks(reduce, jobs, workers)):
        which = job % len(sizes)
        terms[which] += (high, low)
        if which == 0:
            masses += (mass, mass_low)
    check_mass(math.fsum(masses), "p", remedy)
    return [math.fsum(parts) for parts in terms]


def leakage_sum(piece: Piece, n: float, gamma: float, total: float, remedy: str) -> float:
    """The same for a law of one piece and one size, without the price of a loop over blocks."""
    high, low, mass, mass_low = _block_sums(piece, n, gamma, total, remedy)
    check_mass(mass + mass_low, "p", remedy)
    return high + low


def _block_sums(
    piece: Piece, n: float, gamma: float, total: float, remedy: str
) -> tuple[float, ...]:
    """Leakage and mass of the atoms of a piece, each in two words."""
    start, atoms = piece
    bad, *sums = binomial.leakage_sum(as_block(atoms), n, gamma, total)
    if bad >= 0:
        bad_probability(start, bad, atoms, remedy)
    return tuple(sums)


def block_mass(block: FloatArray) -> float:
    """Sum of a block, right to the last bit or so; not finite if it overflows or an element is."""
    whole = block.size - block.size % _LANES
    short: list[float] = block[whole:].tolist()
    if not whole:
        return _exact_sum(short)
    with np.errstate(over="ignore", invalid="ignore"):
        lanes = block[:whole].reshape(-1, _LANES).sum(axis=0)
    return _exact_sum(lanes.tolist() + short)


def _exact_sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond the largest float; both infinities
        return math.nan


def total_mass(pieces: Iterable[Piece]) -> float:
    """Sum of all elements; whether they are negative is not looked at.

    Raises
    ------
    ValueError
        If an element or the sum is not finite, or the sum is not positive.
    """
    masses: list[float] = []
    for start, atoms in pieces:
        block = as_block(atoms)
        mass = block_mass(block)
        bad = np.flatnonzero(~np.isfinite(block)) if not math.isfinite(mass) else block[:0]
        if bad.size:
            bad_probability(start, int(bad[0]), atoms, "")
        masses.append(mass)
    total = _exact_sum(masses)
    if not 0 < total < math.inf:
        invalid("p", f"have a positive and finite sum; its sum is {total!r}")
    return total
