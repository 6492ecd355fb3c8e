"""The forms that `p` can take, and the pieces it is read in.

A law is given as

* a sequence or array of probabilities (a memory map stays on disk until a block is read),
* an iterator of such arrays, its blocks, which is read once and never held, or
* a frozen discrete law of scipy.stats (:class:`~mialeak.discrete._countable.CountableLaw`).

The first two become *pieces*: pairs of the index of the first atom and a block of atoms of any
real dtype, which :func:`as_block` converts when their turn has come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_floats, contiguous, invalid, refuse_masked
from mialeak._blocks import row_blocks

if TYPE_CHECKING:
    from mialeak.discrete._countable import CountableLaw

__all__ = [
    "Law",
    "as_block",
    "as_law",
    "bad_probability",
    "pieces",
    "reread",
]

Piece: TypeAlias = tuple[int, npt.NDArray[Any]]
Law: TypeAlias = "npt.NDArray[Any] | Iterator[Any] | CountableLaw"


def as_law(p: Any) -> Law:
    """`p` as a one-dimensional array of any dtype, an iterator of blocks or a countable law."""
    if isinstance(p, np.ndarray):
        refuse_masked(p, "p")
        array = np.asarray(p)  # a memory map becomes a plain view of itself
    elif hasattr(p, "__next__"):
        blocks: Iterator[Any] = iter(p)
        return blocks
    elif hasattr(type(p), "pmf") or hasattr(type(p), "pdf"):
        from mialeak.discrete._countable import from_scipy

        return from_scipy(p)
    else:
        array = as_floats(p, "p")
    if array.ndim != 1:
        invalid("p", f"have 1 dimension; its shape is {array.shape}")
    if array.size == 0:
        invalid("p", "hold at least one atom")
    return array


def reread(p: Any, why: str) -> npt.NDArray[Any] | CountableLaw:
    """`p` as an array or a countable law; an iterator is refused, with the reason `why`."""
    law = as_law(p)
    if isinstance(law, Iterator):
        invalid("p", f"be an array or a law, not an iterator: {why}", error=TypeError)
    return law


def pieces(law: npt.NDArray[Any] | Iterator[Any], *, keep: bool = False) -> Iterator[Piece]:
    """Cut `law` into pieces; with `keep` they outlive the next step of an iterator."""
    if isinstance(law, np.ndarray):
        yield from _cut(0, law)
        return
    start = 0
    for block in law:
        refuse_masked(block, "p")
        array = block if isinstance(block, np.ndarray) else as_floats(block, "p")
        if array.ndim != 1:
            invalid(
                "p",
                f"be an iterator of one-dimensional blocks; the shape of one is {array.shape}",
                remedy="Pass single probabilities as a list",
            )
        yield from _cut(start, np.array(array) if keep else np.asarray(array))
        start += array.size
    if start == 0:
        invalid("p", "hold at least one atom")


def _cut(start: int, array: npt.NDArray[Any]) -> Iterator[Piece]:
    for block in row_blocks(array.size, 1):
        yield start + block.start, array[block]


def as_block(piece: npt.NDArray[Any]) -> FloatArray:
    """A piece as contiguous float64, as the kernels read it."""
    return contiguous(as_floats(piece, "p"))


def bad_probability(start: int, bad: int, piece: npt.NDArray[Any], remedy: str) -> None:
    """Refuse the atom that a kernel found: `bad` counts from `start`, the piece's first index."""
    value = as_block(piece[bad : bad + 1])[0]
    too_large = 1 < value < math.inf
    invalid(
        "p",
        "hold probabilities between 0 and 1",
        index=start + bad,
        value=value,
        remedy=remedy if too_large else "",
    )
