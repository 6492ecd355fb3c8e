"""Rows in: what a caller hands over as a matrix of float64 or float32, or what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_floats, first_index, invalid, refuse_masked
from mialeak.covariance._moments import Rows

__all__ = [
    "as_rows",
    "check_names",
    "check_width",
    "column_names",
    "is_one_piece",
    "pieces",
    "refuse_rows",
]

#: Entries of a piece: 16 MB as float64, enough rows for BLAS to be at its best, and as long as
#: Ctrl-C waits (some 50 ms).
_PIECE = 2**21
#: The fewest rows of a piece: a product with fewer is bound by memory.
_ROWS = 256


def as_rows(values: Any, name: str = "X") -> Rows:
    """`values` as a matrix of float64 or float32 of any layout, copied only if it is neither."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        invalid(
            name, "be dense; it is a sparse matrix", remedy="Pass its toarray()", error=TypeError
        )
    refuse_masked(values, name)
    if not isinstance(values, np.ndarray) and hasattr(values, "__array__"):
        values = _array_of(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        invalid(name, "be real. Complex data not supported")
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        values = _numbers_of(values, name)
    if not (isinstance(values, np.ndarray) and values.dtype == np.float32):
        values = as_floats(values, name)
    if values.ndim != 2:
        hint = "Reshape your data: X[None] if it is one row, X[:, None] if it is one column"
        remedy = hint * (values.ndim == 1)
        invalid(name, f"have 2 dimensions; its shape is {values.shape}", remedy=remedy)
    if values.shape[1] == 0:
        shape = f"0 feature(s) (shape={values.shape})"
        invalid(name, f"have columns; it has {shape} while a minimum of 1 is required.")
    return np.asarray(np.require(values, requirements=["A"]))


def _array_of(values: Any) -> Any:
    """Its array, where that works; if not, as_floats words the error."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return values


def _numbers_of(values: npt.NDArray[Any], name: str) -> Rows:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        invalid(name, f"be an array of real numbers ({error})", error=type(error))


def column_names(values: Any) -> npt.NDArray[np.object_] | None:
    """Names of the columns of a data frame, if all are strings."""
    names = getattr(values, "columns", None)
    if names is None or isinstance(values, np.ndarray):
        return None
    names = list(names)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    array = np.empty(len(names), object)
    array[:] = names
    return array


def check_width(rows: Rows, columns: int, name: str = "X") -> None:
    """Refuse rows of another width than those before."""
    if rows.shape[1] != columns:
        invalid(
            name,
            f"have {columns} columns, as those before: X has {rows.shape[1]} features, but "
            f"StreamingCovariance is expecting {columns} features as input",
        )


def check_names(given: Any, known: Any, what: str = "X") -> None:
    """Refuse columns of other names than those before, where both have names."""
    if given is None or known is None or np.array_equal(given, known):
        return
    here, there = list(given), list(known)
    rule = f"have the columns that the rows before had ({len(there)}, in their order)"
    for place, (one, other) in enumerate(zip(here, there, strict=False)):
        if one != other:
            invalid(what, f"{rule}; column {place} is {one!r}, and was {other!r}")
    invalid(what, f"{rule}; it has {len(here)}")


def pieces(rows: Rows) -> Iterator[tuple[int, Rows]]:
    """The rows in pieces that depend on their shape alone, with the number of the first row."""
    size = _piece_rows(rows.shape[1])
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]


def is_one_piece(rows: Rows) -> bool:
    """Whether the rows are taken at once."""
    return len(rows) <= _piece_rows(rows.shape[1])


def _piece_rows(columns: int) -> int:
    return max(_ROWS, _PIECE // columns)


def refuse_rows(rows: Rows, start: int, name: str = "X", remedy: str = "") -> NoReturn:
    """Raise for the first entry that is not finite, or too large; `start` rows stand before."""
    good = np.isfinite(rows)
    rule = "be finite (no NaN, no inf)"
    if good.all():
        with np.errstate(over="ignore"):
            size = np.abs(rows, dtype=np.float64)
        good, rule, remedy = size < size.max(), "be small enough for its powers to be summed", ""
    row, column = first_index(~good)
    invalid(name, rule, index=(start + row, column), value=rows[row, column], remedy=remedy)
