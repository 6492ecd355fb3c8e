"""From a table's columns to its cells: which distinct combinations there are, and how many rows.

A frame's columns become factors (small codes), the codes of a row become one mixed-radix integer,
and the integers are counted.  Nothing is sorted unless cells times levels outgrow the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._columns import Factor

__all__ = [
    "Cells",
    "all_differ",
    "codes_of",
    "count_cells",
    "joint_sums",
    "keep_rows_of_levels",
    "of_rows",
    "summed",
]

IntArray = npt.NDArray[np.int64]

#: Keys are renumbered through an array with one element a key up to this many keys per row (or
#: `_DIRECT` in all) and by sorting above, which takes about as much memory and more time.
_KEYS_PER_ROW = 2
_DIRECT = 2**20
#: Cells up to which those that occur need not be numbered before they are counted.
_SMALL_TABLE = 2**14

#: Rows whose numbers are written at once.
_BLOCK = 2**16

#: Largest key that mixed-radix arithmetic may reach in int64.
_MAX_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct cells of a table, numbered in the order in which its rows first show them.

    Attributes
    ----------
    of_row : (rows,) int64
        The cell of each row.
    counts : (cells,) int64
        Rows in each cell.
    first_row : (cells,) int64
        The first row of each cell.
    """

    of_row: IntArray
    counts: IntArray
    first_row: IntArray


def count_cells(columns: Iterable[tuple[npt.NDArray[Any], int]], rows: int) -> Cells:
    """Count the joint cells of `columns`: pairs (codes, size) with ``0 <= codes < size``."""
    direct = max(_DIRECT, _KEYS_PER_ROW * rows)
    keys = np.zeros(rows, np.int64)
    n_keys = 1
    for codes, size in columns:
        if n_keys == 1 and size <= _MAX_KEY:
            keys[:], n_keys = codes, size
            continue
        if n_keys > 1 and n_keys * size > direct:
            keys, n_keys = _compact(keys, n_keys, direct)
        if n_keys * size > _MAX_KEY:
            codes, size = _compact(codes.astype(np.int64), size, direct)
        keys *= size
        keys += codes
        n_keys *= size
    keys, n_cells = _compact(keys, n_keys, direct)

    # A repeated index keeps the last value assigned: going backwards, the first row.
    first_row = np.empty(n_cells, np.int64)
    for stop in range(rows, 0, -_BLOCK):
        block = keys[max(stop - _BLOCK, 0) : stop]
        first_row[block[::-1]] = np.arange(stop - 1, stop - 1 - len(block), -1)
    is_first = np.zeros(rows, np.bool_)
    is_first[first_row] = True
    cell_of_first, first = _numbers(is_first)
    of_row = cell_of_first[first_row][keys]
    counts = np.bincount(of_row, minlength=n_cells)
    return Cells(of_row, counts, first)


def _compact(keys: IntArray, n_keys: int, direct: int) -> tuple[IntArray, int]:
    """`keys`, all below `n_keys`, renumbered without gaps, and how many there are."""
    if n_keys > direct:
        distinct, keys = np.unique(keys, return_inverse=True)
        return keys, len(distinct)
    present = np.zeros(n_keys, np.bool_)
    present[keys] = True
    number, distinct = _numbers(present)
    return number[keys], len(distinct)


def _numbers(present: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """At each place that is present its number among these, and the places in order."""
    places = np.flatnonzero(present)
    number = np.empty(present.size, np.int64)
    number[places] = np.arange(len(places))
    return number, places


def summed(of_cell: npt.NDArray[Any], counts: IntArray | None, cells: int) -> IntArray:
    """The sum of `counts` in each of so many cells; for None the number of rows."""
    if counts is None:
        return np.bincount(of_cell, minlength=cells)
    sums = np.zeros(cells, np.int64)
    np.add.at(sums, of_cell, counts)
    return sums


def joint_sums(columns: Sequence[tuple[npt.NDArray[Any], int]], counts: IntArray) -> IntArray:
    """The sum of `counts` in each joint cell of `columns` that occurs, in any order."""
    size = math.prod(size for _, size in columns)
    if size > _SMALL_TABLE:
        cells = count_cells(columns, len(counts))
        return summed(cells.of_row, counts, len(cells.counts))
    keys = np.zeros(len(counts), np.int64)
    for codes, levels in columns:
        keys *= levels
        keys += codes
    sums = summed(keys, counts, size)
    return sums[sums > 0]


def keep_rows_of_levels(factors: Mapping[Any, Factor], cells: Cells) -> None:
    """Take the rows of each level of the columns from their joint cells."""
    for factor in factors.values():
        if not factor.n_missing and "rows_of_level" not in vars(factor):
            sums = summed(factor.codes[cells.first_row], cells.counts, len(factor.levels))
            vars(factor)["rows_of_level"] = sums  # where cached_property looks first


def of_rows(row_cells: IntArray, values: FloatArray) -> FloatArray:
    """The value of each row's cell; NaN for a dropped row, whose cell is -1."""
    return np.where(row_cells < 0, np.nan, values[row_cells])


def codes_of(factor: Factor, kept: Any = slice(None)) -> tuple[npt.NDArray[Any], int]:
    """Codes of the rows `kept`, a missing value being one more level, and the number of levels."""
    codes, size = factor.codes[kept], len(factor.levels)
    if not factor.n_missing:
        return codes, size
    missing = codes < 0
    if not missing.any():
        return codes, size
    return np.where(missing, size, codes), size + 1


def all_differ(factor: Factor) -> bool:
    """Whether no two rows have the same value, and none is missing."""
    if len(factor.levels) < len(factor.codes) or factor.n_missing:
        return False
    return int(factor.rows_of_level.max()) == 1
