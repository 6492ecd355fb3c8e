"""From a table's columns to its cells: which distinct combinations there are, and how many rows.

A frame's columns become factors (small codes), the codes of a row become one mixed-radix integer,
and the integers are counted.  Nothing is sorted unless cells times levels outgrow the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Cells", "count_cells"]

IntArray = npt.NDArray[np.int64]

#: Keys are renumbered through an array with one element a key up to this many keys per row (or
#: `_DIRECT` in all) and by sorting above, which takes about as much memory and more time.
_KEYS_PER_ROW = 2
_DIRECT = 2**20

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
    first_row[keys[::-1]] = np.arange(rows - 1, -1, -1)
    is_first = np.zeros(rows, np.bool_)
    is_first[first_row] = True
    of_row = (np.cumsum(is_first) - 1)[first_row][keys]
    counts = np.bincount(of_row, minlength=n_cells)
    return Cells(of_row, counts, np.flatnonzero(is_first))


def _compact(keys: IntArray, n_keys: int, direct: int) -> tuple[IntArray, int]:
    """`keys`, all below `n_keys`, renumbered without gaps, and how many there are."""
    if n_keys > direct:
        distinct, keys = np.unique(keys, return_inverse=True)
        return keys, len(distinct)
    present = np.zeros(n_keys, np.bool_)
    present[keys] = True
    return (np.cumsum(present) - 1)[keys], int(np.count_nonzero(present))
