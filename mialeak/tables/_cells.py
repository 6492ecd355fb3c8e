"""From a table's columns to its cells: which distinct combinations there are, and how many rows.

A frame's columns become factors (small codes), the codes of a row become one mixed-radix integer,
and the integers are counted.  Nothing is sorted unless cells times levels outgrow the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid
from mialeak._columns import (
    Factor,
    as_markers,
    choose_columns,
    factor_from_arrow,
    factor_from_values,
    without_markers,
)

__all__ = ["Cells", "count_cells", "frame_factors"]

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


def frame_factors(
    frame: Any,
    columns: Sequence[Any] | None,
    *,
    exclude: Sequence[Any] | None = None,
    missing: Any = (),
) -> dict[Any, Factor]:
    """The chosen columns of a dict of columns or a data frame, as factors.

    All are chosen where `columns` is None, but for those that `exclude` names.  The values that
    `missing` names mark a missing one.

    Raises
    ------
    ImportError
        If the frame is not a dict, and narwhals or pyarrow is not installed.
    TypeError
        If it is not a table, or a column does not hold single values of one type.
    ValueError
        If a column is missing, chosen twice or of another length, or there are no rows.
    """
    if isinstance(frame, Mapping):
        chosen = choose_columns(list(frame), columns, exclude)
        factors = {name: factor_from_values(frame[name], name) for name in chosen}
    else:
        factors = _from_native(frame, columns, exclude)
    if markers := as_markers(missing):
        factors = {name: without_markers(each, markers) for name, each in factors.items()}
    first, *others = factors
    rows = len(factors[first].codes)
    for name in others:
        if len(factors[name].codes) != rows:
            rule = f"have as many rows as column {first!r} ({rows}), not {len(factors[name].codes)}"
            invalid(f"column {name!r}", rule)
    if not rows:
        invalid("frame", "have at least one row")
    return factors


def _from_native(
    frame: Any, columns: Sequence[Any] | None, exclude: Sequence[Any] | None
) -> dict[Any, Factor]:
    try:
        import narwhals as nw
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            f"frame is a {type(frame).__name__}, which takes narwhals and pyarrow "
            '(pip install "mialeak[dataframe]"); a plain dict of columns takes neither'
        ) from error
    try:
        table = nw.from_native(frame, eager_only=True)
        names = list(table.columns)
    except TypeError:
        rule = f"be a pandas, polars or pyarrow table or a dict, not a {type(frame).__name__}"
        invalid("frame", rule, remedy=_as_table(frame), error=TypeError)
    except ValueError as error:  # narwhals' DuplicateError
        invalid("frame", f"have no two columns of one name ({' '.join(str(error).split())})")
    factors = {}
    for name in choose_columns(names, columns, exclude):
        try:
            factors[name] = factor_from_arrow(table.get_column(name).to_arrow(), name)
        except (pa.ArrowException, OverflowError) as error:  # OverflowError: integers above 2**64
            rule = f"hold values of one type ({error})"
            invalid(f"column {name!r}", rule, remedy="Convert it to strings first", error=TypeError)
    return factors


def _as_table(frame: Any) -> str:
    """What makes a table of something that is none."""
    if hasattr(frame, "collect"):
        return "Call its collect() first"
    if isinstance(frame, (str, PathLike)):
        return "Read the file first, as with pandas.read_csv"
    if hasattr(frame, "reset_index"):  # a pandas Series
        return "Of a Series of counts call reset_index(name='n'), and pass counts='n'"
    return "Pass a dict of its columns" if isinstance(frame, (np.ndarray, list, tuple)) else ""
