"""A file as the columns of a table.

Read are CSV, Parquet, Arrow, npy, npz, Stata, SPSS, SAS, VCF, PLINK .bed and .raw, packed by gzip
or zstd or not, from a path or standard input (:mod:`mialeak._files.opening`).  Nothing is guessed.
A file must be what its suffix or its caller states; a CSV has a header unless the caller denies it,
is UTF-8 and keeps its values as written (:mod:`mialeak._files.delimited`); only an empty field and
what the caller names is missing; a pickle is never read.  CSV goes through the standard library, so
that it needs NumPy alone and an error can name the line; tables of many millions of rows are better
kept in Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mialeak._arrays import invalid, listed
from mialeak._columns import (
    Factor,
    choose_columns,
    factor_from_arrow,
    factor_from_values,
    without_markers,
)
from mialeak._fields import MARKERS, as_markers
from mialeak._files.arrays import array_columns, load_arrays
from mialeak._files.arrow import (
    arrow_batches,
    arrow_names,
    matrix_blocks,
    parquet_files,
    read_arrow,
)
from mialeak._files.delimited import check_index, csv_blocks, read_csv
from mialeak._files.genotypes import read_genetics
from mialeak._files.opening import TableFile, table_file
from mialeak._files.plink_text import Frequencies
from mialeak._files.statistical import StatisticalTable, read_statistical

__all__ = ["LargeTable", "read_blocks", "read_table"]

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
    markers_occur: bool = False,
    progress: bool = False,
    whole: bool = True,
    labels: Callable[[str], bool] | None = None,
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
        Values that mark a missing one, such as ``["?", -9]``; "column=value" for one column alone.
    markers_occur : bool
        Whether to refuse `missing` if none of its values occurs, or one of a column does not.
    progress : bool
        Whether to show how much of a CSV is read.
    whole : bool
        If False, a folder and a large file are given as a :class:`LargeTable`, to be counted by
        blocks.
    labels : callable, optional
        Whether a label of Stata or SPSS stands for its value: a column whose values all have such
        labels holds these.  By default values are the codes of the file.
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
            "Pass it beside a table of genotypes: as panel, if it describes the population, or as "
            "published, if these frequencies are the release and the people of the table its "
            "targets"
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
            known, values = arrow_names(files)
            if not whole and (values > _LARGE or Path(path).is_dir()):
                return _large_arrow(files, known, columns, markers)
        table = _read_files(files, columns)
    elif file.format in ("npy", "npz"):
        arrays = array_columns(file)
        table = {name: arrays[name] for name in choose_columns(list(arrays), columns)}
    else:
        table = read_statistical(file, columns, labels)
    return _without_markers(table, markers, markers_occur) if markers else table


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


def _without_markers(
    table: Any, markers: Sequence[str], must_occur: bool = False
) -> dict[Any, Factor] | StatisticalTable:
    if isinstance(table, dict):
        columns = {name: factor_from_values(column, name) for name, column in table.items()}
    else:
        names = table.column_names
        columns = {name: factor_from_arrow(table[name], name) for name in names}
    if must_occur:
        _check_markers(columns, markers, getattr(table, "labels", {}))
    without = {name: without_markers(each, markers, name) for name, each in columns.items()}
    if isinstance(table, StatisticalTable):
        described = StatisticalTable(without)
        described.labels = table.labels
        return described
    return without


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
        if suffix == ".npy":
            yield None, load_arrays(file, mapped=True)
        else:
            for array in load_arrays(file).values():
                yield None, array
    else:
        raise ValueError(f"{path} must end in .npy, .npz or .parquet, which states its format")


def _check_markers(
    factors: Mapping[Any, Factor],
    markers: Sequence[str],
    labels: Mapping[str, Mapping[Any, str]],
) -> None:
    """Refuse markers of which none is a value, and one of a column that has no such value.

    `labels` are those that a file of codes has for values of its columns.  Usual markers, "NA" and
    numbers below 0, may be passed for tables that have no missing value.
    """
    met = {
        marker
        for marker in markers
        for name, factor in factors.items()
        if without_markers(factor, [marker], name).n_missing > factor.n_missing
    }
    of_columns = [x for x in markers if x not in met and x.partition("=")[0] in factors]
    others = [x for x in markers if x.lower() not in MARKERS and not x.startswith("-")]
    if of_columns or (others and not met):
        which = (of_columns or others)[0]
        rule = "be values of the columns that are read, or of one of them as 'column=value'"
        remedy = "Leave it out if no value is missing"
        column, _, label = which.partition("=") if of_columns else ("", "", which)
        codes = [
            f"{name}={int(code) if isinstance(code, float) and code.is_integer() else code}"
            for name, of_codes in labels.items()
            for code, each in of_codes.items()
            if each == label and column in ("", name)
        ]
        if codes:
            remedy = f"Codes are read, not their labels: pass {listed(codes)} for {label!r}"
        invalid("missing", rule, value=which, remedy=remedy)
