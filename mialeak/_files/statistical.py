"""Files of Stata, SPSS and SAS, through pyreadstat.

A value that has a label keeps its code: two codes may have one label, and a code may have none.  A
column of which each value has one of the labels that a caller asks for holds these instead.
Missing are what the file marks as missing (the missing values of the package and the ones that the
file defines), and empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mialeak._columns import choose_columns
from mialeak._files.delimited import check_index
from mialeak._files.opening import TableFile

__all__ = ["StatisticalTable", "read_statistical"]

#: The function of pyreadstat, the words for the errors, and how such a file begins.
_READERS: dict[str, tuple[str, str, tuple[bytes, ...]]] = {
    "dta": ("read_dta", "Stata", (b"<stata_dta>", *(bytes([v]) for v in range(102, 116)))),
    "sav": ("read_sav", "SPSS", (b"$FL2", b"$FL3")),
    "sas7bdat": ("read_sas7bdat", "SAS", (bytes(12) + b"\xc2\xea\x81\x60",)),
    "xpt": ("read_xport", "SAS transport", (b"HEADER RECORD*******LIB",)),
}

#: How a Stata file from version 117 on begins and ends, and the bytes of a record of a transport
#: file: pyreadstat reads files that were cut after the rows without a word.
_STATA, _STATA_END, _RECORD = b"<stata_dta>", b"</stata_dta>", 80


class StatisticalTable(dict[str, Any]):
    """Columns of a table, with the labels that the file has for values of columns of codes."""

    labels: Mapping[str, Mapping[Any, str]] = MappingProxyType({})


def read_statistical(
    file: TableFile, columns: Any, is_asked: Callable[[str], bool] | None = None
) -> StatisticalTable:
    """The columns of a file of Stata, SPSS or SAS."""
    reader, kind, magic = _READERS[file.format]
    file.check_head(*magic)
    read = _pyreadstat(file, reader, kind)
    with file.seekable() as opened:
        _check_end(file, kind, opened)
        _, described = read(opened, metadataonly=True)
        names = list(described.column_names)
        check_index(file, names, columns)
        chosen = choose_columns(names, columns)
        # A .zsav is packed itself.  No column takes less than a pointer or a number for a row.
        file.memory().take(8.0 * (described.number_rows or 0) * len(chosen), stated=True)
        opened.seek(0)
        table, described = read(opened, usecols=chosen)
    rows = {len(values) for values in table.values()}
    if len(rows) > 1 or (described.number_rows is not None and rows != {described.number_rows}):
        file.damaged(kind, "rows are missing")
    known = {k: each for k, each in described.variable_value_labels.items() if k in table}
    if is_asked is not None:
        for name in list(known):
            words = [known[name].get(value) for value in table[name]]
            if words and all(isinstance(word, str) and is_asked(word) for word in words):
                table[name] = words
                del known[name]
    columns_read = StatisticalTable({name: _column(table[name]) for name in chosen})
    columns_read.labels = known
    return columns_read


def _check_end(file: TableFile, kind: str, opened: Any) -> None:
    """Refuse a file that was cut, as far as its format shows it, and go back to its start."""
    start = opened.read(len(_STATA))
    size = opened.seek(0, 2)
    opened.seek(max(0, size - len(_STATA_END)))
    end = opened.read()
    opened.seek(0)
    if (start == _STATA and end != _STATA_END) or (file.format == "xpt" and size % _RECORD):
        file.damaged(kind, "it ends before its end mark")


def _column(values: Any) -> Any:
    """Numbers as an array, whole ones as integers; empty text as missing."""
    present = [value for value in values if value is not None]
    if not present:
        return [None] * len(values)
    if all(isinstance(value, str) for value in present):
        return [value or None for value in values]
    if not all(isinstance(value, (int, float)) for value in present):
        return list(values)
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    if len(present) == len(values) and bool((np.rint(numbers) == numbers).all()):
        return np.array(present, dtype=np.float64).astype(np.int64)
    return numbers


def _pyreadstat(file: TableFile, reader: str, kind: str) -> Callable[..., Any]:
    """The function of pyreadstat, whose errors are those of a damaged file."""
    try:
        import pyreadstat
    except ImportError as error:
        raise ImportError(
            f'{file} takes pyreadstat to read: pip install "mialeak[statistical]"'
        ) from error
    errors = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OverflowError, ValueError)

    def read(opened: Any, **options: Any) -> Any:
        try:
            return getattr(pyreadstat, reader)(opened, output_format="dict", **options)
        except errors as error:
            return file.damaged(kind, error)

    return read
