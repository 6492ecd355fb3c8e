"""Files in, as the columns of a table; the state of an object out.

Read are CSV, Parquet, Arrow, npy, npz, Stata, SPSS, SAS, VCF, PLINK .bed and .raw, packed by gzip
or zstd or not, from a path or standard input (:mod:`mialeak._opening`).  Nothing is guessed.  A
file must be what its suffix or its caller states; a CSV has a header unless the caller denies it,
is UTF-8 and keeps its values as written (:mod:`mialeak._csv`); only an empty field and what the
caller names is missing; a pickle is never read.  CSV goes through the standard library, so that it
needs NumPy alone and an error can name the line; tables of many millions of rows are better kept in
Parquet.

A state is an npz archive of plain arrays and a header in JSON that states whose it is, and in which
version.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mialeak._arrow_files import (
    arrow_batches,
    arrow_names,
    matrix_blocks,
    parquet_files,
    read_arrow,
)
from mialeak._columns import (
    Factor,
    as_markers,
    choose_columns,
    factor_from_arrow,
    factor_from_values,
    without_markers,
)
from mialeak._csv import check_index, csv_blocks, read_csv
from mialeak._genetics import read_genetics
from mialeak._opening import TableFile, table_file
from mialeak._plink_text import Frequencies
from mialeak._statistical_files import read_statistical

__all__ = ["LargeTable", "read_blocks", "read_state", "read_table", "write_state"]

#: How files begin.
_NPY, _ZIP = b"\x93NUMPY", b"PK\x03\x04"

#: What reading a damaged .npy or .npz was seen to raise.
_DAMAGED = (
    *(ValueError, EOFError, OSError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)

#: How an archive without a comment ends: a mark, the number of its entries.
_ZIP_END = struct.Struct("<4s6xH10x")

#: The name of the header among the arrays of a state.
_HEADER = "header"

#: Values of a Parquet or Arrow file, and bytes of a CSV or of a packed one, above which a table is
#: counted by blocks.  They do not depend on the machine, as its memory would.
_LARGE, _LARGE_CSV, _LARGE_PACKED = 2**25, 2**28, 2**25


class LargeTable:
    """A file, or a folder of files, whose rows need not be in memory together.

    Attributes
    ----------
    names : list of str
        Of its columns.
    """

    def __init__(
        self,
        names: Sequence[str],
        read: Any,
        blocks: Any,
        missing: Sequence[str] = (),
    ) -> None:
        self.names = list(names)
        self._read, self._blocks, self._missing = read, blocks, missing

    def table(self, columns: Sequence[str]) -> Any:
        """All rows of the columns, as :func:`read_table` returns them."""
        table = self._read(columns)
        return _without_markers(table, self._missing) if self._missing else table

    def blocks(self, columns: Sequence[str]) -> Iterator[dict[str, Factor]]:
        """The columns, a block of rows at a time, each with levels of its own."""
        for block in self._blocks(columns):
            yield _without_markers(block, self._missing)


def read_table(
    path: str | Path,
    columns: Any = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    missing: Any = (),
    progress: bool = False,
    whole: bool = True,
    frequencies: bool = False,
) -> Any:
    """The columns of a file: a dict of columns, or a ``pyarrow.Table`` for Parquet and Arrow.

    Parameters
    ----------
    path : str or Path
        A file, a folder of Parquet files, or "-" for standard input, which is held in memory.  The
        columns of a two-dimensional array are called "0", "1", ...
    columns : sequence of str, optional
        The columns to read; all by default.
    format : str, optional
        What it holds, such as "csv" or "parquet.gz".  By default the suffix names it, and standard
        input is a CSV.
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
    whole : bool
        If False, a folder and a large file are given as a :class:`LargeTable`, to be counted by
        blocks.
    frequencies : bool
        Whether the file may hold frequencies of sites, which are given as :class:`Frequencies`.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is not what its suffix names, or damaged, or has no such column, or without `columns`
        an index that pandas wrote; if line 1 of a CSV looks like data where names are expected,
        or like names where data are.
    ImportError
        For a format whose extra is not installed.
    """
    markers = as_markers(missing)
    text: dict[str, Any] = {"header": header, "names": names, "progress": progress}
    if str(path) != "-" and Path(path).is_dir():
        if format not in (None, "parquet"):
            raise ValueError(f"{path} is a folder, which must be of Parquet files, not of {format}")
        files = parquet_files(Path(path))
    else:
        files = [table_file(path, format)]
    file = files[0]
    if file.format in ("csv", "tsv"):
        file.check_text()
        tab = file.format == "tsv"
        text["delimiter"] = delimiter if delimiter is not None else "\t" if tab else ","
        if not whole and _is_large(file):
            return _large_csv(file, columns, text, markers)
        table: Any = read_csv(file, columns, **text)
    elif file.format == "afreq" and frequencies:
        return Frequencies(file)
    elif file.format == "afreq":
        rule = f"{path} must hold people; it holds frequencies of sites"
        cure = (
            "Pass it as panel, beside a table of genotypes. If these frequencies p are the release "
            "of n = OBS_CT/2 persons, call mialeak.mean_tradeoff(target, mean=2*p, "
            "cov=2*p*(1-p), n=n), with the genotypes 0, 1 or 2 of a person as target"
        )
        raise ValueError(f"{rule}. {cure}")
    elif file.format in ("vcf", "bed", "raw"):
        if markers or header is not None or names is not None or delimiter is not None:
            raise ValueError(f"{path} states what is missing and what it holds: leave out options")
        return read_genetics(file, columns)
    elif header is not None or names is not None:
        raise ValueError(f"{path} names its columns itself: header and names are for a CSV")
    elif file.format in ("parquet", "arrow"):
        if not whole or len(files) > 1:
            labels, values = arrow_names(files)
            if not whole and (values > _LARGE or Path(path).is_dir()):
                return _large_arrow(files, labels, columns, markers)
        table = _read_files(files, columns)
    elif file.format in ("npy", "npz"):
        file.check_head(_NPY if file.format == "npy" else _ZIP)
        arrays = _read_arrays(file)
        table = {name: arrays[name] for name in choose_columns(list(arrays), columns)}
    else:
        table = read_statistical(file, columns)
    return _without_markers(table, markers) if markers else table


def _is_large(file: TableFile) -> bool:
    return file.size > (_LARGE_PACKED if file.packed else _LARGE_CSV)


def _large_csv(
    file: TableFile, columns: Any, options: dict[str, Any], markers: Sequence[str]
) -> LargeTable | dict[str, Factor]:
    names = list(next(csv_blocks(file, columns, **{**options, "progress": False})))
    read, blocks = partial(read_csv, file, **options), partial(csv_blocks, file, **options)
    return LargeTable(names, read, blocks, markers)


def _large_arrow(
    files: Sequence[TableFile], names: list[str], columns: Any, markers: Sequence[str]
) -> LargeTable:
    check_index(files[0], names, columns)
    names = choose_columns(names, columns)
    return LargeTable(names, partial(_read_files, files), partial(arrow_batches, files), markers)


def _read_files(files: Sequence[TableFile], columns: Any) -> Any:
    """The table of the files, one below the other."""
    tables = [read_arrow(file, columns) for file in files]
    if len(tables) == 1:
        return tables[0]
    import pyarrow as pa

    return pa.concat_tables(tables)


def _without_markers(table: Any, markers: Sequence[str]) -> dict[Any, Factor]:
    if isinstance(table, dict):
        columns = {name: factor_from_values(column, name) for name, column in table.items()}
    else:
        names = table.column_names
        columns = {name: factor_from_arrow(table[name], name) for name in names}
    return {name: without_markers(factor, markers) for name, factor in columns.items()}


def _read_arrays(path: TableFile) -> dict[str, npt.NDArray[Any]]:
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
        yield from matrix_blocks(path, entries)
    elif suffix in (".npy", ".npz"):
        file = table_file(path)
        file.check_head(_NPY if suffix == ".npy" else _ZIP)
        if suffix == ".npy":
            yield None, _load_arrays(file, mapped=True)
        else:
            for array in _load_arrays(file).values():
                yield None, array
    else:
        raise ValueError(f"{path} must end in .npy, .npz or .parquet, which states its format")


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file whole or not at all: one that exists is replaced once the new one is complete.

    Parameters
    ----------
    path : str or path
        A link is followed.  What is no plain file, such as a device or a pipe, is written to.
    write : callable
        Writes to the binary file that it is given.

    Raises
    ------
    OSError
        If it cannot be written, with its name; no file is left that was not there before.
    """
    path = Path(path)
    target = path.resolve()
    plain = target.is_file() or not target.exists()
    partial = target.with_name(f".{target.name}.{os.getpid()}") if plain else target
    try:
        with partial.open("wb") as file:
            write(file)
        if plain:
            if target.exists():
                shutil.copymode(target, partial)
            partial.replace(target)
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if plain:
            partial.unlink(missing_ok=True)


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
    text = json.dumps({"mialeak": kind, "version": version, **header})
    content = {_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays}
    write_whole(path, lambda file: np.savez(file, **content))


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
    with path.open("rb") as file:
        head = file.read(len(_ZIP))
    if head != _ZIP:
        raise ValueError(f"{path} is no file that a {kind} was saved to")
    with path.open("rb") as file:
        try:
            arrays = _archived(file, np.load(file, allow_pickle=False))
            header = json.loads(arrays.pop(_HEADER).tobytes())
            form = header["mialeak"], header["version"]
        except (*_DAMAGED, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is damaged, or no {kind} was saved to it ({_one_line(error)})"
            ) from error
    if form[0] != kind:
        raise ValueError(f"{path} holds a {form[0]}, not a {kind}")
    if form[1] != version:
        raise ValueError(
            f"{path} is of version {form[1]} of its form; this mialeak reads version {version}"
        )
    return header, arrays


def _load_arrays(path: TableFile, *, mapped: bool = False) -> Any:
    """The array of an .npy file, a memory map if `mapped`, or those of an .npz by name."""
    try:
        if mapped and path.path is not None:
            return np.load(path.path, "r", allow_pickle=False)
        with path.seekable() as file:
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


def _array_columns(path: TableFile, array: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
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
