"""Parquet and Arrow files, and folders of Parquet files: whole, or a block of rows at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mialeak._columns import choose_columns
from mialeak._files.delimited import check_index
from mialeak._files.opening import TableFile, table_file

__all__ = [
    "arrow_batches",
    "arrow_names",
    "matrix_blocks",
    "parquet_files",
    "read_arrow",
]

#: How files begin: Parquet, Arrow, Feather of the first version.
_PARQUET, _ARROW, _FEATHER = b"PAR1", b"ARROW1", b"FEA1"

#: How the messages of a stream of Arrow begin, and how the stream ends.
_MESSAGE, _STREAM_END = b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0"

#: Rows of a block that is counted, and numbers at most.
_ROWS, _ENTRIES = 2**20, 2**24

#: Bytes of a column of a Parquet file that are read at a time.
_BUFFER = 2**20


def read_arrow(file: TableFile, columns: Any) -> Any:
    """The table of a Parquet or Arrow file."""
    pa = _pyarrow(file)
    kind = _kind(file)
    try:
        if file.format == "parquet":
            with _parquet(file) as parquet:
                check_index(file, parquet.schema_arrow.names, columns)
                names = choose_columns(parquet.schema_arrow.names, columns)
                file.memory().take(_parquet_size(parquet, names), stated=True)
                table = parquet.read(columns=names)
        else:
            table = _read_ipc(pa, file)
            check_index(file, table.column_names, columns)
            table = table.select(choose_columns(table.column_names, columns))
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        _refuse(file, kind, error)
    return table


def _read_ipc(pa: Any, file: TableFile) -> Any:
    """The table of a file or a stream of Arrow, or of a Feather file."""
    import pyarrow.feather

    file.memory().take(file.size)
    with file.seekable() as opened:
        head = opened.read(len(_ARROW))
        opened.seek(0)
        if head.startswith((_ARROW, _FEATHER)):
            return pyarrow.feather.read_table(pa.PythonFile(opened, "r"), memory_map=False)
        with pa.ipc.open_stream(opened) as stream:
            return stream.read_all()


def _parquet_size(parquet: Any, names: Sequence[str]) -> float:
    """Bytes that chosen columns take at least: pages may state a value for millions of rows."""
    chosen, rows = set(names), parquet.metadata.num_rows
    widths = dict.fromkeys(chosen, 4.0)  # of text, the place where it ends
    for field in parquet.schema_arrow:
        with contextlib.suppress(ValueError):  # no fixed width
            widths[field.name] = field.type.bit_width / 8
    return float(sum(rows * widths[name] for name in chosen))


def parquet_files(folder: Path) -> list[TableFile]:
    """The Parquet files of a folder, in the order of their names.

    Raises
    ------
    ValueError
        If there is none, or something else that is not hidden: a name that begins with a dot or an
        underscore, as ``_SUCCESS``.
    """
    files = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir() or path.suffix.lower() not in (".parquet", ".pq"):
            raise ValueError(
                f"{folder} must hold Parquet files alone; it holds {path.name}. For a folder of "
                "folders pass pyarrow.dataset.dataset(...)"
            )
        files.append(table_file(path))
    if not files:
        raise ValueError(f"{folder} is a folder without a Parquet file")
    return files


def arrow_names(files: Sequence[TableFile]) -> tuple[list[str], int]:
    """The names of the columns, and the number of values, of files that are one table.

    Raises
    ------
    ValueError
        If one is damaged, or the columns of two files differ in their names or types.
    """
    pa = _pyarrow(files[0])
    first, values = None, 0
    for file in files:
        kind = _kind(file)
        try:
            if file.format == "parquet":
                with _parquet(file) as parquet:
                    schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
            else:
                with file.seekable() as opened, _ipc(pa, opened) as reader:
                    schema, rows = reader.schema, file.size // (8 * max(1, len(reader.schema)))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            _refuse(file, kind, error)
        values += rows * len(schema)
        first = first or schema
        if not schema.equals(first):
            differ = [name for name in schema.names if name not in first.names]
            differ += [name for name in first.names if name not in schema.names]
            differ += [
                field.name
                for field in schema
                if field.name in first.names and first.field(field.name).type != field.type
            ]
            where = f": see column {differ[0]!r}" if differ else " in their order"
            raise ValueError(f"{files[0]} and {file} must have the same columns{where}")
    return list(first.names), values  # type: ignore[union-attr]


def arrow_batches(files: Sequence[TableFile], names: Sequence[str]) -> Iterator[Any]:
    """The chosen columns of files that are one table, as tables of a block of rows each."""
    pa = _pyarrow(files[0])
    size = max(1, min(_ROWS, _ENTRIES // len(names)))
    for file in files:
        rows = 0
        try:
            if file.format == "parquet":
                with _parquet(file) as parquet:
                    text = [each.name for each in parquet.schema_arrow if _is_text(pa, each.type)]
                    expected = parquet.metadata.num_rows
                with _parquet(file, read_dictionary=text, buffer_size=_BUFFER) as parquet:
                    for batch in parquet.iter_batches(size, columns=list(names)):
                        batch.validate(full=True)
                        rows += batch.num_rows
                        yield pa.Table.from_batches([batch])
                if rows != expected:  # a page that pyarrow left out without a word
                    file.damaged("Parquet", f"{expected - rows} rows are missing")
            else:
                with file.seekable() as opened, _ipc(pa, opened) as reader:
                    for batch in _record_batches(reader):
                        batch.validate(full=True)
                        yield pa.Table.from_batches([batch]).select(list(names))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            _refuse(file, _kind(file), error)


def _record_batches(reader: Any) -> Iterator[Any]:
    """The batches of an Arrow file, by their number, or of a stream."""
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(place) for place in range(reader.num_record_batches))
    return iter(reader)


def _ipc(pa: Any, opened: Any) -> Any:
    head = opened.read(len(_ARROW))
    opened.seek(0)
    return pa.ipc.open_file(opened) if head == _ARROW else pa.ipc.open_stream(opened)


def _is_text(pa: Any, kind: Any) -> bool:
    """Whether Parquet's own dictionary of a column can be taken as it is."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def matrix_blocks(path: Path, entries: int) -> Iterator[tuple[Any, Any]]:
    """The rows of a Parquet file of numbers: (names, matrix of at most `entries` numbers)."""
    file = table_file(path)
    pa = _pyarrow(file)
    _kind(file)
    try:
        with _parquet(file) as parquet:
            names = np.array(parquet.schema_arrow.names, dtype=object)
            rows = max(1, entries // max(1, names.size))
            missing = parquet.metadata.num_rows
            for batch in parquet.iter_batches(rows):
                missing -= batch.num_rows
                columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                dtype = np.result_type(*columns) if columns else np.float64
                matrix = np.empty((batch.num_rows, names.size), dtype, order="F")
                for place, column in enumerate(columns):
                    matrix[:, place] = column
                yield names, matrix
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        _refuse(file, "Parquet", error)
    if missing:
        file.damaged("Parquet", f"{missing} rows are missing")


def _refuse(file: TableFile, kind: str, error: Exception) -> NoReturn:
    """Raise for what pyarrow raised: the file is damaged, unless the memory was short."""
    if isinstance(error, MemoryError):
        raise error
    file.damaged(kind, error)


def _kind(file: TableFile) -> str:
    """What the file is for the errors; refused if it does not begin so."""
    if file.format == "parquet":
        file.check_head(_PARQUET)
        return "Parquet"
    head = file.head()
    if head.startswith(_MESSAGE):
        with file.seekable() as opened:
            opened.seek(-min(len(_STREAM_END), opened.seek(0, 2)), 2)
            if opened.read() != _STREAM_END:
                file.damaged("Arrow", "it ends before its end mark")
    else:
        file.check_head(_ARROW, _FEATHER)
    return "Arrow"


def _parquet(file: TableFile, **options: Any) -> Any:
    import pyarrow.parquet as pq

    source = file.path if file.is_plain else file.seekable()
    # With pre_buffer pyarrow keeps each block that it has read until the file is closed.
    return pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False, **options)


def _pyarrow(file: TableFile) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f'{file} takes pyarrow to read: pip install "mialeak[dataframe]"'
        ) from error
    return pa
