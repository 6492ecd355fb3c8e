"""Maps a score function over releases: a matrix, a memory map or an iterator, piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    all_finite,
    as_floats,
    contiguous,
    first_index,
    for_columns,
    invalid,
    refuse_masked,
)
from mialeak._blocks import block_rows
from mialeak._kernels import scores as kernels

__all__ = ["Piece", "as_columns", "cubic_sums", "cubic_table", "map_releases", "padded"]

#: Entries of a piece: the unit in which a strided or memory-mapped matrix is copied, and after
#: which Ctrl-C takes effect (1 to 2 ms).
_PIECE = 1 << 20
_FLOAT32 = np.dtype(np.float32)


class Piece:
    """Consecutive rows of the releases (float64 or float32, C-contiguous) and their position."""

    def __init__(self, rows: npt.NDArray[Any], start: int, single: bool):
        self.rows = rows
        self._start, self._single = start, single

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good`, shape (t, d), is false."""
        if not good.all():
            row, column = first_index(~good)
            self.refuse(row, column, rule, remedy)

    def refuse(self, row: int, column: int, rule: str, remedy: str = "") -> None:
        """Raise for the entry at (row, column) of the piece."""
        index = (column,) if self._single else (self._start + row, column)
        invalid("releases", rule, index=index, value=self.rows[row, column], remedy=remedy)


#: Computes the results of a piece; raises for a piece that has results that are not finite.
Function = Callable[[Piece], FloatArray]
ExplainFailure = Callable[[Piece, FloatArray], None]


def map_releases(
    releases: Any, columns: int, function: Function, explain_failure: ExplainFailure | None = None
) -> float | FloatArray:
    """The concatenated results of `function` for every piece.

    One release (d,) has one result; a matrix or an iterator has one result for each release.  If a
    result is not finite, `explain_failure` may raise; then entries that are not finite are refused.
    """
    if hasattr(releases, "__next__"):
        parts, start = [], 0
        for block in releases:
            matrix = np.atleast_2d(_as_releases(block, columns))
            parts += _results(matrix, start, False, function, explain_failure)
            start += matrix.shape[0]
        return _joined(parts, columns, function)
    array = _as_releases(releases, columns)
    if array.ndim == 1:
        (part,) = _results(array[None], 0, True, function, explain_failure)
        one: float | FloatArray = part[0]
        return one
    return _joined(_results(array, 0, False, function, explain_failure), columns, function)


def _as_releases(values: Any, columns: int) -> npt.NDArray[Any]:
    array: npt.NDArray[Any]
    if isinstance(values, np.ndarray) and values.dtype == _FLOAT32:
        refuse_masked(values, "releases")
        array = np.asarray(values)
    else:
        array = as_floats(values, "releases")
    if array.ndim not in (1, 2) or array.shape[-1] != columns:
        invalid(
            "releases",
            f"have {columns} columns (its last axis), one for each of target, and be one release "
            f"or a matrix of them; its shape is {array.shape}",
        )
    return array


def _results(
    matrix: npt.NDArray[Any],
    start: int,
    single: bool,
    function: Function,
    explain_failure: ExplainFailure | None,
) -> list[FloatArray]:
    rows, columns = matrix.shape
    step = block_rows(columns, elements=_PIECE)
    results = []
    for first in range(0, rows, step):
        block = contiguous(matrix[first : first + step])
        piece = Piece(block, start + first, single)
        result = function(piece)
        if not all_finite(result):
            if explain_failure:
                explain_failure(piece, result)
            piece.require(np.isfinite(block), "be finite")
            lost = np.isnan(result)
            if lost.any():
                row = "it" if single else f"row {start + first + first_index(lost)[0]}"
                invalid(
                    "releases", f"be near enough to mean for a score to be a number; {row} is not"
                )
        results.append(result)
    return results


def _joined(parts: list[FloatArray], columns: int, function: Function) -> FloatArray:
    """The results of all pieces; an empty array of the right shape if there are none."""
    if not parts:
        return function(Piece(np.empty((0, columns)), 0, False))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def as_columns(values: Any, name: str, columns: int) -> FloatArray:
    """A number for each column from one for each or one for all: finite, shape (columns,)."""
    array = as_floats(values, name, finite=True)
    if array.shape not in ((), (columns,)):
        invalid(
            name,
            f"be a number or have {columns} entries, one for each of target; "
            f"its shape is {array.shape}",
        )
    return for_columns(array, columns)


def padded(neutral: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """A table of column parameters for a kernel, and the view of it that the caller fills.

    The table has `neutral`, shape (k, 1), in its padding; the view has shape (k, columns).
    """
    table = neutral.repeat(kernels.padded_columns(columns), axis=1)
    return table, table[:, :columns]


def cubic_table(rows: list[Any], columns: int) -> FloatArray:
    """The column parameters of :func:`cubic_sums`: mean, scale, c1 and, if not 0, c2 and c3."""
    table = np.zeros((5, kernels.padded_columns(columns)))
    for row, values in enumerate(rows):
        table[row, :columns] = values
    return table


def cubic_sums(rows: npt.NDArray[Any], table: FloatArray, constant: float) -> FloatArray:
    """``constant + sum of x (c1 + x (c2 + x c3))`` of ``x = (row - mean) scale``, for each row."""
    out = np.empty(rows.shape[0])
    kernels.cubic_sums(rows, table, constant, out)
    return out
