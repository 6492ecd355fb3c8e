"""Leakage summed over the pieces of a law: one pass, with the same bits for any workers.

A *piece* is the index of its first atom and a block of atoms of any real dtype, which
:func:`as_block` converts when its turn has come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_counts,
    as_floats,
    check_mass,
    contiguous,
    invalid,
    refuse_masked,
    rounded_to_one,
)
from mialeak._blocks import map_blocks, row_blocks
from mialeak._kernels import binomial

__all__ = [
    "DIVIDE",
    "NO_CELLS",
    "Piece",
    "as_block",
    "as_sizes",
    "bad_probability",
    "block_mass",
    "checked_block",
    "cut",
    "leakage_sum",
    "leakage_sums",
    "pieces_of",
    "shaped",
    "total_mass",
]

Piece: TypeAlias = tuple[int, npt.NDArray[Any]]

#: What other numbers between 0 and 1 are not, and what to do about p that does not sum to 1.
NO_CELLS = (
    "p are probabilities of cells, of which a row is in one. Of allele frequencies, or shares of "
    "several answers, mialeak.mean_tradeoff computes the leakage"
)
DIVIDE = f"Divide p by its sum, if it has counts of cells. {NO_CELLS}"

#: A block is added up in so many lanes, and these exactly: the same bits on every machine, and an
#: error below eps.
_LANES = 4096


# ---- pieces ----


def cut(start: int, array: npt.NDArray[Any]) -> Iterator[Piece]:
    """The pieces of an array whose first atom has the index `start`."""
    for block in row_blocks(array.size, 1):
        yield start + block.start, array[block]


def pieces_of(blocks: Iterator[Any], *, keep: bool = False) -> Iterator[Piece]:
    """The pieces of an iterator of arrays; with `keep` they outlive its next step."""
    start = 0
    for block in blocks:
        refuse_masked(block, "p")
        array = block if isinstance(block, np.ndarray) else as_floats(block, "p")
        if array.ndim != 1:
            invalid(
                "p",
                f"be an iterator of one-dimensional blocks; the shape of one is {array.shape}",
                remedy="Pass single probabilities as a list",
            )
        yield from cut(start, np.array(array) if keep else np.asarray(array))
        start += array.size
    if start == 0:
        invalid("p", "hold at least one atom")


def as_block(piece: npt.NDArray[Any]) -> FloatArray:
    """A piece as contiguous float64, as the kernels read it."""
    return contiguous(as_floats(piece, "p"))


def checked_block(start: int, piece: npt.NDArray[Any]) -> FloatArray:
    """A piece as float64, refused unless all of it is in [0, 1], rounding above 1 excepted."""
    block = rounded_to_one(as_block(piece))
    good = (block >= 0) & (block <= 1)
    if not good.all():
        bad_probability(start, int(np.argmin(good)), piece, DIVIDE)
    return block


def bad_probability(start: int, bad: int, piece: npt.NDArray[Any], remedy: str) -> None:
    """Refuse the atom that a kernel reports: `bad` counts from `start`, the piece's first index."""
    value = as_block(piece[bad : bad + 1])[0]
    too_large = 1 < value < math.inf
    invalid(
        "p",
        "hold probabilities between 0 and 1",
        index=start + bad,
        value=value,
        remedy=remedy if too_large else "",
    )


# ---- sums over them ----


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
    block = as_block(atoms)
    bad, *sums = binomial.leakage_sum(block, n, gamma, total)
    if bad >= 0:  # perhaps only what rounding leaves above 1
        bad, *sums = binomial.leakage_sum(rounded_to_one(block), n, gamma, total)
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
