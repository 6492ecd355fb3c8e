"""Tables whose rows stay where they are: counted by their engine, or a block at a time.

The rows of a lazy frame, a relation of a database, an Arrow stream, a large file or a folder of
files are not brought into memory.  What comes is the cells: the distinct combinations of values,
and the number of rows of each.  Blocks are counted by :func:`.count_cells` and added up.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid
from mialeak._cells import codes_of, count_cells, summed
from mialeak._columns import (
    Factor,
    each_factor,
    factor_from_arrow,
    without_markers,
)
from mialeak._fields import as_markers
from mialeak._files.tables import LargeTable, read_table

__all__ = ["Source", "as_table", "beginning", "repeated_cells"]

IntArray = npt.NDArray[np.int64]

#: Rows in which one looks for a value that is there twice.
_LOOKED_AT = 2**18

#: Cells of blocks that are kept before they are added up; doubled where the table has as many.
_KEPT = 2**20


class Source(Mapping[Any, Factor], ABC):
    """A table that is counted where it is; as a mapping, the distinct values of each column.

    Attributes
    ----------
    engine : str
        What counts it, such as "duckdb"; "blocks" if that is mialeak.
    names : list
        Of its columns.
    """

    engine: str
    names: list[Any]
    can_be_read_again = True
    _counted: Mapping[Any, Factor]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: Any) -> Factor:
        return self._count([name])[0][name]

    def cells(self, columns: Sequence[Any], missing: Any) -> tuple[dict[Any, Factor], IntArray]:
        """The columns of the cells, and the rows of each cell."""
        factors, rows = self._count(columns)
        if not rows.size:
            again = "" if self.can_be_read_again else "An Arrow stream is read once"
            invalid("table", "have at least one row", remedy=again)
        self._counted = factors
        markers = as_markers(missing)
        if markers:
            factors = {k: without_markers(each, markers, k) for k, each in factors.items()}
        return factors, rows

    @abstractmethod
    def _count(self, columns: Sequence[Any]) -> tuple[dict[Any, Factor], IntArray]:
        """The same, with the values as they are."""

    @abstractmethod
    def whole(self) -> Any:
        """All rows, for a table that is already counted."""

    @abstractmethod
    def rows_in(self, places: IntArray) -> Any:
        """The rows of the cells at these places of :meth:`cells`, with all columns."""

    @abstractmethod
    def head(self, columns: Sequence[Any]) -> dict[Any, Factor]:
        """The first rows, of a table that can be read again."""

    @abstractmethod
    def beginning(self, name: Any) -> tuple[Factor, IntArray]:
        """The values of a column in the first rows, and how many of these have each."""


class _Lazy(Source):
    """A lazy frame or a relation that narwhals takes; its engine counts it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.engine = str(frame.implementation.value)
        self.names = list(frame.collect_schema().names())

    def _count(self, columns: Sequence[Any]) -> tuple[dict[Any, Factor], IntArray]:
        import narwhals as nw

        number = "n"
        while number in self.names:
            number += "_"
        frame = self._frame.select(*columns).group_by(*columns).agg(nw.len().alias(number))
        table = _collected(frame)
        factors = {name: factor_from_arrow(table[name], name) for name in columns}
        rows = table[number].to_numpy().astype(np.int64)
        # An engine returns cells in any order: that of their values makes the report the same.
        order = np.lexsort([_ranks(factors[name]) for name in reversed(columns)])
        return {k: Factor(each.codes[order], each.levels) for k, each in factors.items()}, rows[
            order
        ]

    def whole(self) -> Any:
        return _collected(self._frame)

    def head(self, columns: Sequence[Any]) -> dict[Any, Factor]:
        table = _collected(self._frame.select(*columns).head(_LOOKED_AT))
        return {name: factor_from_arrow(table[name], name) for name in columns}

    def beginning(self, name: Any) -> tuple[Factor, IntArray]:
        factor = self.head([name])[name]
        return factor, np.ones(len(factor.codes), np.int64)

    def rows_in(self, places: IntArray) -> Any:
        import narwhals as nw

        schema = self._frame.collect_schema()
        values = {name: _plain(each, places) for name, each in self._counted.items()}

        def equal(name: Any, value: Any) -> Any:
            column = nw.col(name)
            if value is not None:
                return column == nw.lit(value)
            missing = column.is_null()
            return missing | column.is_nan() if schema[name].is_float() else missing

        cells = (
            reduce(and_, (equal(name, each[k]) for name, each in values.items()))
            for k in range(len(places))
        )
        return self._frame.filter(reduce(or_, cells)).to_native()


def _plain(factor: Factor, places: IntArray) -> list[Any]:
    """The values of some rows as plain objects; None where missing."""
    levels: Any = factor.levels
    if isinstance(levels, np.ndarray):
        levels = levels.tolist()
    values: list[Any]
    values = [levels[code] if code >= 0 else None for code in factor.codes[places].tolist()]
    return [value.as_py() if hasattr(value, "as_py") else value for value in values]


def _collected(frame: Any) -> Any:
    """The rows of a lazy frame as a ``pyarrow.Table``."""
    # The default engine of polars holds all rows of a group_by.
    options = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # narwhals on Dask
        return frame.collect("pyarrow", **options).to_native()


def _ranks(factor: Factor) -> IntArray:
    """The place of each row's value among all values in order, -1 where it is missing."""
    levels: Any = factor.levels
    plain = levels.to_pylist() if hasattr(levels, "to_pylist") else list(levels)
    order = sorted(range(len(plain)), key=plain.__getitem__)
    ranks = np.full(len(plain) + 1, -1)
    ranks[order] = np.arange(len(plain))
    return ranks[factor.codes]


class _Blocks(Source):
    """A table that comes a block of rows at a time."""

    engine = "blocks"

    def __init__(self, names: Sequence[Any]) -> None:
        self.names = list(names)

    @abstractmethod
    def _blocks(self, columns: Sequence[Any]) -> Iterable[Mapping[Any, Factor]]:
        """The columns of each block."""

    def _count(self, columns: Sequence[Any]) -> tuple[dict[Any, Factor], IntArray]:
        sums = _Sums(columns)
        for block in self._blocks(columns):
            sums.add(block)
        return sums.finish()

    def head(self, columns: Sequence[Any]) -> dict[Any, Factor]:
        return dict(next(iter(self._blocks(columns))))

    def beginning(self, name: Any) -> tuple[Factor, IntArray]:
        sums, rows = _Sums([name]), 0
        for block in self._blocks([name]):
            sums.add(block)
            rows += len(block[name].codes)
            if rows >= _LOOKED_AT:
                break
        factors, counts = sums.finish()
        return factors[name], counts

    def rows_in(self, places: IntArray) -> dict[Any, list[Any]]:
        columns = list(self._counted)
        wanted = set(zip(*(_plain(self._counted[name], places) for name in columns), strict=True))
        rows: dict[Any, list[Any]] = {name: [] for name in self.names}
        for block in self._blocks(self.names):
            size = len(block[columns[0]].codes)
            cells = count_cells([codes_of(block[name]) for name in columns], size)
            values = [_plain(block[name], cells.first_row) for name in columns]
            hit = np.array([cell in wanted for cell in zip(*values, strict=True)], np.bool_)
            met = np.flatnonzero(hit[cells.of_row]) if size else cells.of_row
            for name in self.names:
                rows[name] += _plain(block[name], met)
        return rows


class _Sums:
    """Cells of blocks and their sums; cells are numbered as their first rows come."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = columns
        self._levels: dict[Any, dict[Any, int]] = {name: {} for name in columns}
        self._parts: list[tuple[list[npt.NDArray[Any]], IntArray]] = []
        self._kept, self._most = 0, _KEPT
        self._stripped = dict.fromkeys(columns, 0)

    def add(self, block: Mapping[Any, Factor]) -> None:
        """Count a block of rows."""
        rows = len(block[self._columns[0]].codes)
        if not rows:
            return
        cells = count_cells([codes_of(block[name]) for name in self._columns], rows)
        codes = []
        for name in self._columns:
            self._stripped[name] += block[name].stripped
            codes.append(_unified(block[name], cells.first_row, self._levels[name]))
        self._parts.append((codes, cells.counts))
        self._kept += len(cells.counts)
        if self._kept > self._most:
            self._merge()
            self._most = max(_KEPT, 2 * self._kept)

    def _merge(self) -> None:
        """Add up the cells that parts have in common."""
        counts = np.concatenate([part[1] for part in self._parts])
        codes = [np.concatenate(each) for each in zip(*(p[0] for p in self._parts), strict=True)]
        self._parts.clear()
        sizes = [len(self._levels[name]) for name in self._columns]
        pairs = [
            (np.where(each < 0, size, each), size + 1)
            for each, size in zip(codes, sizes, strict=True)
        ]
        cells = count_cells(pairs, len(counts))
        sums = summed(cells.of_row, counts, len(cells.counts))
        self._parts.append(([each[cells.first_row] for each in codes], sums))
        self._kept = len(sums)

    def finish(self) -> tuple[dict[Any, Factor], IntArray]:
        """The columns of the cells, and the rows of each cell."""
        if not self._parts:
            empty = np.zeros(0, np.int64)
            return {name: Factor(empty, ()) for name in self._columns}, empty
        if len(self._parts) > 1:
            self._merge()
        ((codes, sums),) = self._parts
        factors = {
            name: Factor(each, _as_levels(self._levels[name]), self._stripped[name])
            for name, each in zip(self._columns, codes, strict=True)
        }
        return factors, sums


def _unified(factor: Factor, rows: IntArray, levels: dict[Any, int]) -> npt.NDArray[np.int32]:
    """The codes of some rows by the levels of all blocks, to which new ones are added."""
    shown = np.unique(factor.codes[rows])
    place = np.full(len(factor.levels) + 1, -1, np.int32)
    shown = shown[shown >= 0]
    taken: Any = factor.levels
    if isinstance(taken, range):
        values = (shown + taken.start).tolist()
    elif isinstance(taken, np.ndarray):
        values = taken[shown].tolist()
    elif hasattr(taken, "to_pylist"):
        values = taken.take(shown).to_pylist()
    else:
        values = [taken[code] for code in shown.tolist()]
    place[shown] = [levels.setdefault(value, len(levels)) for value in values]
    codes: npt.NDArray[np.int32] = place[factor.codes[rows]]
    return codes


def _as_levels(levels: Mapping[Any, int]) -> Any:
    """The levels as an array if they are numbers, as a column in memory has them."""
    values = list(levels)
    kinds = set(map(type, values))
    if kinds == {float} or (kinds == {int} and -(2**63) <= min(values) <= max(values) < 2**63):
        return np.array(values)
    return values


class _File(_Blocks):
    """A large file, or a folder of files."""

    def __init__(self, table: LargeTable) -> None:
        super().__init__(table.names)
        self._table = table

    def _blocks(self, columns: Sequence[Any]) -> Iterable[Mapping[Any, Factor]]:
        return self._table.blocks(columns)

    def whole(self) -> Any:
        return self._table.table(self.names)


class _Stream(_Blocks):
    """An Arrow stream, which is read once, or a dataset of pyarrow, which is not."""

    def __init__(self, frame: Any) -> None:
        import pyarrow as pa

        self._frame = frame
        if not hasattr(frame, "to_batches"):
            self._frame = pa.RecordBatchReader.from_stream(frame)
        super().__init__(self._frame.schema.names)
        self.can_be_read_again = hasattr(self._frame, "to_batches")
        self._is_read = False

    def _batches(self, columns: Sequence[Any]) -> Iterator[Any]:
        if self.can_be_read_again:
            yield from self._frame.to_batches(columns=list(columns))
            return
        if self._is_read:
            rule = "be a table that can be read again; an Arrow stream is read once"
            invalid("table", rule, remedy="Pass a table, a dataset or a path")
        self._is_read = True
        for batch in self._frame:
            yield batch.select(list(columns))

    def _blocks(self, columns: Sequence[Any]) -> Iterator[Mapping[Any, Factor]]:
        for batch in self._batches(columns):
            yield {name: factor_from_arrow(batch[name], name) for name in columns}
        if not self.can_be_read_again:
            self.names = list(columns)  # those that can still be asked about

    def whole(self) -> Any:
        import pyarrow as pa

        return pa.Table.from_batches(list(self._batches(self.names)))


def as_table(frame: Any) -> Any:
    """`frame`, or a :class:`Source` of what should stay where it is; a path is read.

    Raises
    ------
    OSError, ValueError, ImportError
        As :func:`mialeak._files.tables.read_table`.
    """
    if isinstance(frame, (str, PathLike)):
        frame = read_table(frame, whole=False)  # type: ignore[arg-type]
    if isinstance(frame, LargeTable):
        return _File(frame)
    if isinstance(frame, (Mapping, np.ndarray, list, tuple)) or frame is None:
        return frame
    try:
        import narwhals as nw
        import pyarrow as pa
    except ImportError:  # named where the columns are taken
        return frame
    if nw.dependencies.is_pandas_dataframe(frame):
        return frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # narwhals on Dask
        try:
            taken = nw.from_native(frame, pass_through=True, allow_series=True)
        except ValueError:  # two columns of one name: worded where the columns are taken
            return frame
        if isinstance(taken, nw.LazyFrame):
            return _Lazy(taken)
    if taken is not frame:
        return frame
    is_dataset = hasattr(frame, "to_batches") and hasattr(frame, "schema")
    if is_dataset and not isinstance(frame, (pa.Table, pa.RecordBatch)):
        return _Stream(frame)
    return _Stream(frame) if hasattr(frame, "__arrow_c_stream__") else frame


def beginning(frame: Any, name: Any) -> tuple[int, int]:
    """How many values of a column how many rows have; of a table elsewhere the first rows."""
    if isinstance(frame, Source):
        factor, rows = frame.beginning(name)
    else:
        factor = dict(each_factor(frame, [name]))[name]
        rows = np.ones(len(factor.codes), np.int64)
    known = factor.codes >= 0
    return len(np.unique(factor.codes[known])), int(rows[known].sum())


def repeated_cells(
    factors: Mapping[Any, Factor], rows: IntArray, most: int | None = None
) -> dict[Any, Factor]:
    """The rows of the cells, `most` of each at most, so that what is true of rows is looked for."""
    times = rows if most is None else np.minimum(rows, most)
    return {
        name: Factor(np.repeat(each.codes, times), each.levels, each.stripped)
        for name, each in factors.items()
    }
