"""Blocks of probabilities: what arrays and iterators of arrays are read in.

A *piece* is the index of its first atom and a block of atoms of any real dtype, which
:func:`as_block` converts when its turn has come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_floats, contiguous, invalid, refuse_masked
from mialeak._blocks import row_blocks

__all__ = ["DIVIDE", "Piece", "as_block", "bad_probability", "checked_block", "cut", "pieces_of"]

Piece: TypeAlias = tuple[int, npt.NDArray[Any]]

#: What to do about probabilities that do not sum to 1.
DIVIDE = "Divide p by its sum"


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
    """A piece as float64, refused unless all of it is in [0, 1]."""
    block = as_block(piece)
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
