"""Files: CSV, Parquet, npy and npz in, as the columns of a table; the state of an object out.

Nothing is guessed.  A file must be what its suffix says; a CSV has a header unless the caller says
otherwise, is UTF-8 and keeps its values as written (:mod:`mialeak._csv`); only an empty field and
what the caller names is missing; a pickle is never read.  CSV goes through the standard library, so
that it needs NumPy alone and an error can name the line; tables of many millions of rows are better
kept in Parquet.

A state is an npz archive of plain arrays and a header in JSON that says whose it is, and in which
version.
"""

from __future__ import annotations

import json
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._columns import (
    Factor,
    as_markers,
    choose_columns,
    factor_from_arrow,
    factor_from_values,
    without_markers,
)
from mialeak._csv import check_index, read_csv

__all__ = ["read_blocks", "read_state", "read_table", "write_state"]

#: How files begin.
_PARQUET, _NPY, _ZIP = b"PAR1", b"\x93NUMPY", b"PK\x03\x04"

#: How the content of a file shows what it is.
_MAGIC = {
    _PARQUET: "Parquet",
    _NPY: "NumPy .npy",
    _ZIP: "a zip archive (such as .npz or .xlsx)",
    b"\x1f\x8b": "gzip",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}

#: Bytes looked at to see whether a CSV is text.
_HEAD = 2**16

#: What reading a damaged .npy or .npz was seen to raise.
_DAMAGED = (
    *(ValueError, EOFError, OSError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)

#: How an archive without a comment ends: a mark, the number of its entries.
_ZIP_END = struct.Struct("<4s6xH10x")

#: The name of the header among the arrays of a state.
_HEADER = "header"


def read_table(
    path: str | Path,
    columns: Any = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    missing: Any = (),
    progress: bool = False,
) -> Any:
    """The columns of a file: a dict of columns, or a ``pyarrow.Table`` for Parquet.

    Parameters
    ----------
    path : str or Path
        Its suffix says what it is: .csv, .tsv, .parquet (.pq), .npy or .npz.  The columns of a
        two-dimensional array are called "0", "1", ...
    columns : sequence of str, optional
        The columns to read; all by default.
    delimiter : str, optional
        Of a CSV: a comma by default, a tab for .tsv.
    header : bool, optional
        Whether line 1 of a CSV holds the names of its columns.  By default it must, unless `names`
        are given, and is refused if it looks like data.  Without names the columns are called "0",
        "1", ...
    names : sequence of str, optional
        The names of the columns of a CSV that has none, or with ``header=True`` in place of those
        in line 1.
    missing : str or sequence, optional
        Values that mark a missing one, such as ``["?", -9]``.
    progress : bool
        Whether to show how much of a CSV is read.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is not what its suffix says, or damaged, or has no such column, or without `columns`
        an index that pandas wrote; if line 1 of a CSV looks like data where names are expected,
        or like names where data are.
    ImportError
        For Parquet without pyarrow.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_fifo():
        raise ValueError(f"{path} must be a file, not a pipe: it is read more than once")
    if suffix in (".csv", ".tsv"):
        _check_text(path)
        if delimiter is None:
            delimiter = "\t" if suffix == ".tsv" else ","
        table: Any = read_csv(
            path, columns, delimiter=delimiter, header=header, names=names, progress=progress
        )
    elif header is not None or names is not None:
        raise ValueError(f"{path} names its columns itself: header and names are for a CSV")
    elif suffix in (".parquet", ".pq"):
        _check_magic(path, _PARQUET)
        table = _read_parquet(path, columns)
    elif suffix in (".npy", ".npz"):
        _check_magic(path, _NPY if suffix == ".npy" else _ZIP)
        arrays = _read_arrays(path)
        table = {name: arrays[name] for name in choose_columns(list(arrays), columns)}
    else:
        raise ValueError(f"{path} must end in .csv, .tsv, .parquet, .npy or .npz to say what it is")
    markers = as_markers(missing)
    return _without_markers(table, markers) if markers else table


def _without_markers(table: Any, markers: Sequence[str]) -> dict[Any, Factor]:
    if isinstance(table, dict):
        columns = {name: factor_from_values(column, name) for name, column in table.items()}
    else:
        names = table.column_names
        columns = {name: factor_from_arrow(table[name], name) for name in names}
    return {name: without_markers(factor, markers) for name, factor in columns.items()}


def _check_magic(path: Path, magic: bytes) -> None:
    head = _head(path)
    if not head.startswith(magic):
        _refuse_content(path, _content(head) or "something else")


def _check_text(path: Path) -> None:
    head = _head(path)
    found = _content(head) or ("binary data" if b"\0" in head else None)
    if found:
        _refuse_content(path, found)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise ValueError(f"{path} is empty")
    return head


def _content(head: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def _refuse_content(path: Path, found: str) -> NoReturn:
    raise ValueError(f"{path} is not the {path.suffix} file its name says: it holds {found}")


def _read_parquet(path: Path, columns: Any) -> Any:
    pa, pq = _pyarrow(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_index(path, file.schema_arrow.names, columns)
            names = choose_columns(file.schema_arrow.names, columns)
            table = file.read(columns=names)
            table.validate(full=True)
            return table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is a damaged Parquet file ({_one_line(error)})") from error


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f'{path} takes pyarrow to read: pip install "mialeak[dataframe]"'
        ) from error
    return pa, pq


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The columns of an .npy or .npz file; a single table in an archive is taken for the table."""
    loaded = _load_arrays(path)
    if isinstance(loaded, np.ndarray):
        return _array_columns(path, loaded)
    columns: dict[str, npt.NDArray[Any]] = loaded
    if len(columns) == 1:
        (only,) = columns.values()
        if only.ndim != 1 or only.dtype.names:
            return _array_columns(path, only)
    return columns


def read_blocks(path: str | Path, entries: int) -> Iterator[tuple[Any, Any]]:
    """The rows of a file of numbers: (names of the columns or None, matrix), a block at a time.

    Parameters
    ----------
    path : str or Path
        .npy (one block, a memory map), .npz (a block for each array) or .parquet.
    entries : int
        Numbers in a block of a Parquet file.

    Raises
    ------
    OSError, ValueError, ImportError
        As :func:`read_table`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        _check_magic(path, _PARQUET)
        yield from _parquet_blocks(path, entries)
    elif suffix == ".npy":
        _check_magic(path, _NPY)
        yield None, _load_arrays(path, mapped=True)
    elif suffix == ".npz":
        _check_magic(path, _ZIP)
        for array in _load_arrays(path).values():
            yield None, array
    else:
        raise ValueError(f"{path} must end in .npy, .npz or .parquet to say what it is")


def _parquet_blocks(path: Path, entries: int) -> Iterator[tuple[Any, Any]]:
    pa, pq = _pyarrow(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            names = np.array(file.schema_arrow.names, dtype=object)
            rows = max(1, entries // max(1, names.size))
            missing = file.metadata.num_rows
            for batch in file.iter_batches(rows):
                missing -= batch.num_rows
                columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                dtype = np.result_type(*columns) if columns else np.float64
                matrix = np.empty((batch.num_rows, names.size), dtype, order="F")
                for place, column in enumerate(columns):
                    matrix[:, place] = column
                yield names, matrix
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is a damaged Parquet file ({_one_line(error)})") from error
    if missing:  # a page that pyarrow left out without a word
        raise ValueError(f"{path} is a damaged Parquet file ({missing} rows are missing)")


def write_state(path: str | Path, kind: str, version: int, header: Any, arrays: Any) -> None:
    """Write a header (what JSON can hold) and arrays by name, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Taken as it is; a file there is replaced once the new one is complete.
    kind : str
        Whose state it is.
    version : int
        Of this kind's form.
    """
    path = Path(path)
    text = json.dumps({"mialeak": kind, "version": version, **header})
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            np.savez(file, **{_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_state(path: str | Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays that :func:`write_state` wrote.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is damaged, or was written for another kind or by a later version.
    """
    path = Path(path)
    if not _head(path).startswith(_ZIP):
        raise ValueError(f"{path} is no file that a {kind} was saved to")
    with path.open("rb") as file:
        try:
            arrays = _archived(file, np.load(file, allow_pickle=False))
            header = json.loads(arrays.pop(_HEADER).tobytes())
            found = header["mialeak"], header["version"]
        except (*_DAMAGED, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is damaged, or no {kind} was saved to it ({_one_line(error)})"
            ) from error
    if found[0] != kind:
        raise ValueError(f"{path} holds a {found[0]}, not a {kind}")
    if found[1] != version:
        raise ValueError(
            f"{path} is of version {found[1]} of its form; this mialeak reads version {version}"
        )
    return header, arrays


def _load_arrays(path: Path, *, mapped: bool = False) -> Any:
    """The array of an .npy file, a memory map if `mapped`, or those of an .npz by name."""
    try:
        if mapped:
            return np.load(path, "r", allow_pickle=False)
        with path.open("rb") as file:
            loaded: Any = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                loaded = _archived(file, loaded)
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is damaged or holds Python objects, which are not read ({_one_line(error)})"
        ) from error
    return loaded


def _archived(file: BinaryIO, archive: Any) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an .npz, whose number is checked: a damaged length hides one from zipfile."""
    arrays = {name: archive[name] for name in archive.files}
    file.seek(-_ZIP_END.size, os.SEEK_END)
    mark, entries = _ZIP_END.unpack(file.read())
    if mark == b"PK\x05\x06" and entries != len(arrays) % 2**16:
        raise ValueError(f"{len(arrays)} arrays where there were {entries}")
    return arrays


def _array_columns(path: Path, array: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    if array.dtype.names and array.ndim == 1:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{path} must hold an array of one or two dimensions; its shape is {array.shape}"
        )
    rows = array[:, np.newaxis] if array.ndim == 1 else array
    return {str(place): rows[:, place] for place in range(rows.shape[1])}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
