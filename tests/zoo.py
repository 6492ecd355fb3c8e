"""Awkward arrays: what callers really pass, by name, for every test that takes arrays.

The generators give (name, array) pairs, to be used as ``@pytest.mark.parametrize(*zoo.layouts(x))``
or in a loop.  :func:`layouts` keeps values and dtype and changes how they lie in memory;
:func:`containers` keeps the values and changes what carries them; :func:`number_types` changes the
dtype of small whole numbers; :data:`EMPTY` and :data:`EXTREME_COUNTS` are what they say.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "EMPTY",
    "EXTREME_COUNTS",
    "LARGEST_COUNT",
    "Tagged",
    "containers",
    "is_untouched",
    "layouts",
    "number_types",
]

LARGEST_COUNT = 2**53


class Tagged(np.ndarray):
    """A subclass of ndarray with an attribute that views carry on."""

    tag: str = ""

    def __array_finalize__(self, parent: Any) -> None:
        self.tag = getattr(parent, "tag", "")


def layouts(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The 1-d array `values` as it may lie in memory; equal to it element by element.

    Every array but the first is missing at least one of: C order, alignment, native byte order,
    write permission, memory of its own.
    """
    values = np.ascontiguousarray(values)
    if values.ndim != 1:
        raise ValueError("layouts takes a 1-d array; reshape what it gives")
    yield "contiguous", values.copy()

    spaced = np.full(3 * values.size, 77, values.dtype)
    spaced[1::3] = values
    yield "every third element", spaced[1::3]
    yield "reversed", values[::-1].copy()[::-1]
    yield "reversed with gaps", np.repeat(values[::-1], 2)[::-2]

    column = np.full((values.size, 3), 77, values.dtype)
    column[:, 1] = values
    yield "column of a C-ordered matrix", column[:, 1]
    yield "row of an F-ordered matrix", np.asfortranarray(column.T)[1]

    raw = np.zeros(values.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(values.dtype)
    unaligned[...] = values
    yield "unaligned", unaligned

    record = np.zeros(values.size, [("flag", "u1"), ("value", values.dtype)])
    record["value"] = values
    yield "field of a packed record", record["value"]
    yield "byte-swapped", values.astype(values.dtype.newbyteorder())

    locked = values.copy()
    locked.flags.writeable = False
    yield "read-only", locked
    yield "offset by one element", np.concatenate([values[:1], values])[1:]


def containers(values: np.ndarray) -> Iterator[tuple[str, Any]]:
    """`values` in what is not a plain ndarray: lists, subclasses, memory maps, ``__array__``."""
    yield "list", values.tolist()
    yield "tuple", tuple(values.tolist())
    yield "subclass", values.view(Tagged)
    yield "masked, nothing masked", np.ma.masked_array(values)
    yield "object with __array__", _ArrayLike(values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.dat"
        values.tofile(path)
        mapped = np.memmap(path, values.dtype, "r", shape=values.shape)
        yield "memory map", mapped
        del mapped


class _ArrayLike:
    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self._values if dtype is None else self._values.astype(dtype)
        return array.copy() if copy else array


def number_types(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Whole numbers in [0, 127] as every dtype that holds them exactly."""
    for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g"):
        dtype = np.dtype(code)
        yield dtype.name, values.astype(dtype)
    yield "byte-swapped int32", values.astype(np.dtype("i4").newbyteorder())
    yield "byte-swapped float32", values.astype(np.dtype("f4").newbyteorder())


#: Shapes without elements.
EMPTY = ((0,), (3, 0), (0, 3), (2, 0, 4))

#: Integers at the end of the domain of n, and whether they lie in it.
EXTREME_COUNTS = (
    (0, True),
    (1, True),
    (2**31 - 1, True),
    (2**31, True),
    (2**32, True),
    (2**53 - 1, True),
    (2**53, True),
    (2**53 + 1, False),
    (2**53 + 2, False),
    (2**63 - 1, False),
    (-1, False),
    (-(2**53), False),
    (-(2**63), False),
)


def is_untouched(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether an argument has the bytes it had: no function may write to what it is given."""
    return before.dtype == after.dtype and np.array_equal(before, after, equal_nan=True)
