"""Leakage summed over the pieces of a law: one pass, with the same bits for any workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_counts, check_mass, invalid
from mialeak._blocks import BLOCK, map_blocks
from mialeak._kernels import binomial
from mialeak.discrete._input import as_block, bad_probability, pieces

__all__ = [
    "DIVIDE",
    "as_sizes",
    "block_mass",
    "leakage_sums",
    "shaped",
    "total_mass",
]

#: A block is added up in so many lanes, and these exactly: the same bits on every machine, and an
#: error below eps.
_LANES = 4096

#: What to do about probabilities that do not sum to 1.
DIVIDE = "Divide p by its sum"


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
    law: npt.NDArray[Any] | Iterator[Any],
    sizes: list[float],
    gamma: float,
    *,
    total: float = 1.0,
    remedy: str = DIVIDE,
    workers: int = 1,
) -> list[float]:
    """The largest leakage at each of `sizes`, for the law ``p / total``.

    Raises
    ------
    ValueError
        If ``p / total`` is not a law; `remedy` says what to do about a sum that is not 1.
    """

    def reduce(job: tuple[int, npt.NDArray[Any], float]) -> tuple[float, ...]:
        start, atoms, n = job
        bad, *sums = binomial.leakage_sum(as_block(atoms), n, gamma, total)
        if bad >= 0:
            bad_probability(start, bad, atoms, remedy)
        return tuple(sums)

    if isinstance(law, np.ndarray) and law.size <= BLOCK and len(sizes) == 1:
        high, low, mass, mass_rest = reduce((0, law, sizes[0]))
        check_mass(mass + mass_rest, "p", remedy)
        return [high + low]
    # One size a job: after Ctrl-C a block is waited for, not a block times the number of sizes.
    jobs = ((start, atoms, n) for start, atoms in pieces(law, keep=workers > 1) for n in sizes)
    terms: list[list[float]] = [[] for _ in sizes]
    masses: list[float] = []
    for job, (high, low, mass, mass_rest) in enumerate(map_blocks(reduce, jobs, workers)):
        which = job % len(sizes)
        terms[which] += (high, low)
        if which == 0:
            masses += (mass, mass_rest)
    check_mass(math.fsum(masses), "p", remedy)
    return [math.fsum(parts) for parts in terms]


def block_mass(block: FloatArray) -> float:
    """Sum of a block, right to the last bit or so; not finite if it overflows or an element is."""
    whole = block.size - block.size % _LANES
    rest: list[float] = block[whole:].tolist()
    if not whole:
        return _exact_sum(rest)
    with np.errstate(over="ignore", invalid="ignore"):
        lanes = block[:whole].reshape(-1, _LANES).sum(axis=0)
    return _exact_sum(lanes.tolist() + rest)


def _exact_sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond the largest float; both infinities
        return math.nan


def total_mass(law: npt.NDArray[Any]) -> float:
    """Sum of an array's elements; whether they are negative is not looked at.

    Raises
    ------
    ValueError
        If an element or the sum is not finite, or the sum is not positive.
    """
    masses: list[float] = []
    for start, atoms in pieces(law):
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
