"""Releases in, scores out: one matrix, a memory map or an iterator of blocks, a piece at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_floats,
    contiguous,
    every,
    first_index,
    for_columns,
    invalid,
    refuse_masked,
)
from mialeak._blocks import row_blocks
from mialeak._kernels import scores as kernels

__all__ = ["Piece", "as_columns", "cubic_function", "cubic_table", "map_releases", "padded"]

#: Entries of a piece: what a strided or memory-mapped matrix is copied by, and how long Ctrl-C
#: waits (a millisecond or two).
_PIECE = 1 << 20


class Piece:
    """Some rows of the releases, float64 or float32, C-contiguous, that know where they stand."""

    def __init__(self, rows: npt.NDArray[Any], start: int, single: bool):
        self.rows = rows
        self._start, self._single = start, single

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good`, shape (t, d), is false."""
        if not good.all():
            row, column = first_index(~good)
            self.refuse(row, column, rule, remedy)

    def refuse(self, row: int, column: int, rule: str, remedy: str = "") -> None:
        """Raise for one entry."""
        index = (column,) if self._single else (self._start + row, column)
        invalid("releases", rule, index=index, value=self.rows[row, column], remedy=remedy)


def map_releases(
    releases: Any, columns: int, function: Callable[[Piece], FloatArray]
) -> float | FloatArray:
    """``function`` of every piece, put together; a result that is not finite has its entry blamed.

    One release (d,) gives one result, a matrix or an iterator a row of results for each.
    """
    if hasattr(releases, "__next__"):
        parts, start = [], 0
        for block in releases:
            matrix = np.atleast_2d(_as_releases(block, columns))
            parts += [_checked(piece, function) for piece in _pieces(matrix, start, False)]
            start += matrix.shape[0]
        return np.concatenate(parts or [_of_none(columns, function)])
    array = _as_releases(releases, columns)
    single = array.ndim == 1
    matrix = array[None] if single else array
    parts = [_checked(piece, function) for piece in _pieces(matrix, 0, single)]
    whole = np.concatenate(parts or [_of_none(columns, function)])
    result: float | FloatArray = whole[0] if single else whole
    return result


def _of_none(columns: int, function: Callable[[Piece], FloatArray]) -> FloatArray:
    """The result for no releases at all: its shape is right."""
    return function(Piece(np.empty((0, columns)), 0, False))


def _as_releases(values: Any, columns: int) -> npt.NDArray[Any]:
    refuse_masked(values, "releases")
    single = isinstance(values, np.ndarray) and values.dtype == np.float32
    array = values if single else as_floats(values, "releases")
    if array.ndim not in (1, 2) or array.shape[-1] != columns:
        invalid(
            "releases",
            f"have {columns} columns (its last axis), one for each of target, and be one release "
            f"or a matrix of them; its shape is {array.shape}",
        )
    return array


def _pieces(matrix: npt.NDArray[Any], start: int, single: bool) -> Iterator[Piece]:
    for block in row_blocks(*matrix.shape, elements=_PIECE):
        yield Piece(contiguous(np.asarray(matrix[block])), start + block.start, single)


def _checked(piece: Piece, function: Callable[[Piece], FloatArray]) -> FloatArray:
    result = function(piece)
    if not every(np.isfinite(result)):
        piece.require(np.isfinite(piece.rows), "be finite")
    return result


def as_columns(values: Any, name: str, columns: int) -> FloatArray:
    """A number for each column, or one for all: finite, shape (columns,)."""
    array = as_floats(values, name, finite=True)
    if array.shape not in ((), (columns,)):
        invalid(
            name,
            f"be a number or have {columns} entries, one for each of target; "
            f"its shape is {array.shape}",
        )
    return for_columns(array, columns)


def padded(rows: list[Any], neutral: list[float], columns: int) -> FloatArray:
    """What a kernel reads of the columns: `rows`, each followed by its neutral number."""
    table = np.empty((len(rows), kernels.padded_columns(columns)))
    table.T[columns:] = neutral
    for row, values in zip(table[:, :columns], rows, strict=True):
        row[:] = values
    return table


def cubic_table(rows: list[Any], columns: int) -> FloatArray:
    """What :func:`cubic_function` knows of columns: mean, scale, c1 and, if not 0, c2 and c3."""
    table = np.zeros((5, kernels.padded_columns(columns)))
    for row, values in zip(table[:, :columns], rows, strict=False):
        row[:] = values
    return table


def cubic_function(table: FloatArray, constant: float) -> Callable[[Piece], FloatArray]:
    """``constant + sum of x (c1 + x (c2 + x c3))`` of ``x = (release - mean) scale``."""

    def score(piece: Piece) -> FloatArray:
        out = np.empty(piece.rows.shape[0])
        kernels.cubic_sums(piece.rows, table, constant, out)
        return out

    return score
