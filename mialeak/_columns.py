"""The columns of a table: chosen by name, each as a factor (codes and the values they stand for).

Whatever a column holds, rows are compared by equality alone, so a factor is all that counting or
one-hot coding needs.  The same values give the same partition of the rows whether they come as a
NumPy array, a list, a pandas, polars or pyarrow column or a CSV file.

Missing are ``None``, NaN, NaT, pandas' ``NA``, masked elements and Arrow nulls.  They get the code
-1; what that means is the caller's decision.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid
from mialeak._fields import as_markers, is_one_of, near, reads_as_number

__all__ = [
    "Factor",
    "FactorBuilder",
    "choose_columns",
    "each_factor",
    "factor_from_arrow",
    "factor_from_values",
    "factor_if_plain",
    "near",
    "numeric_levels",
    "without_markers",
]

IntArray = npt.NDArray[np.integer[Any]]

#: An integer column whose values span at most this many per row, or `_SPAN_FLOOR` in all, keeps
#: ``value - min`` as its code; sorting it would cost more than the empty codes do.
_SPAN_PER_ROW = 2
_SPAN_FLOOR = 2**16
#: Types of values that are shown as they are.
_PLAIN = {bool, int, float, str}
#: Rows turned into Python objects at a time, and levels of a column of Arrow that all are.
_BLOCK, _PLAIN_LEVELS = 2**16, 2**12
#: Classes whose objects mark a missing value, by name: pandas need not be imported to know them.
_MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType"})

_TO_STRINGS = "Convert it to strings first"


@dataclass(frozen=True, eq=False)
class Factor:
    """Codes of the rows and the values of the codes.

    Attributes
    ----------
    codes : (rows,) integer array
        In ``[0, len(levels))``, or -1 where the value is missing.
    levels : sequence
        The value of each code; not every level need occur.
    stripped : int
        Rows whose value had spaces around it in a file.
    """

    codes: IntArray
    levels: Sequence[Any] | npt.NDArray[Any]
    stripped: int = 0

    @cached_property
    def n_missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    @cached_property
    def rows_of_level(self) -> npt.NDArray[np.intp]:
        """Number of rows with each level: counted once, for all that ask which levels occur."""
        codes, size = self.codes, len(self.levels)
        try:
            return np.bincount(codes, minlength=size)
        except ValueError:  # a code is -1, which bincount looks for in any case
            return np.bincount(codes[codes >= 0], minlength=size)

    @property
    def n_values(self) -> int:
        """How many values occur: an int of Python, products of which are exact."""
        return int(np.count_nonzero(self.rows_of_level))

    @cached_property
    def values(self) -> Sequence[Any]:
        """The value of each code, as :meth:`value` has it: read once, for all that look at many."""
        if isinstance(self.levels, list) and set(map(type, self.levels)) <= _PLAIN:
            return self.levels
        return [self.value(code) for code in range(len(self.levels))]

    def value(self, code: int) -> Any:
        """The value of `code` as a plain Python object; None for -1."""
        if code < 0:
            return None
        value = self.levels[code]
        if hasattr(value, "as_py"):  # a pyarrow scalar
            value = value.as_py()
        elif isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bytes):
            return value.decode("utf-8", errors="backslashreplace")
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        return value if isinstance(value, (bool, int, float, str)) else str(value)


class FactorBuilder:
    """Builds a factor block by block from hashable values; levels in order of appearance."""

    def __init__(self, missing: Iterable[Any] = (), *, strip: bool = False) -> None:
        self._index = _Index()
        self._blocks: list[npt.NDArray[np.int32]] = []
        self._missing = tuple(missing)
        self._strip = strip

    def add(self, values: Sequence[Any]) -> None:
        """Append a block of rows.  TypeError if a value cannot be hashed."""
        codes = np.fromiter(map(self._index.__getitem__, values), np.int32, len(values))
        self._blocks.append(codes)

    def finish(self) -> Factor:
        """The factor of all rows added."""
        codes = np.concatenate(self._blocks) if self._blocks else np.empty(0, np.int32)
        levels, stripped = list(self._index), 0
        if self._strip and any(level != level.strip() for level in levels):
            padded = np.array([level != level.strip() for level in levels])
            stripped = int(np.count_nonzero(padded[codes]))
            merged = _Index()
            codes = np.array([merged[level.strip()] for level in levels], np.int32)[codes]
            levels = list(merged)
        absent = [_is_missing(level) or level in self._missing for level in levels]
        if any(absent):
            codes = np.where(absent, np.int32(-1), np.arange(len(levels), dtype=np.int32))[codes]
        return Factor(codes, levels, stripped)


class _Index(dict[Any, int]):
    """Numbers each new key with the count of keys before it."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code


def factor_from_values(values: Any, name: Any) -> Factor:
    """The factor of a column given as a sequence, or as anything that NumPy takes.

    `name` is for the errors: TypeError where values are of mixed or unhashable types, ValueError
    where the column is not one-dimensional.
    """
    if isinstance(values, Factor):
        return values
    if isinstance(values, (list, tuple)):
        return _from_objects(values, name)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__array__"):
        rule = f"be a one-dimensional array or a list, not {type(values).__name__}"
        invalid(_column(name), rule, error=TypeError)
    if isinstance(values, np.ma.MaskedArray):
        factor = factor_from_values(values.data, name)
        return Factor(np.where(np.ma.getmaskarray(values), -1, factor.codes), factor.levels)
    array = np.asarray(values)
    if array.ndim != 1:
        invalid(_column(name), f"have one dimension; its shape is {array.shape}")
    kind = array.dtype.kind
    if kind == "b":
        return Factor(array.view(np.int8), (False, True))
    if kind in "iu":
        return _from_integers(array)
    if kind == "f":
        return _from_sortable(array + 0.0, np.isnan(array))  # + 0.0 turns -0.0 into 0.0
    if kind in "mM":
        return _from_times(array)
    if kind in "UST":
        return _from_strings(array, name)
    if kind != "O":
        rule = f"hold numbers, strings, dates or categories, not {array.dtype}"
        invalid(_column(name), rule, error=TypeError)
    return _from_objects(array, name)


def _from_integers(array: npt.NDArray[Any]) -> Factor:
    if not array.size:
        return Factor(np.empty(0, np.int64), ())
    low, high = int(array.min()), int(array.max())
    if high - low < max(_SPAN_FLOOR, _SPAN_PER_ROW * array.size):
        if array.dtype == np.int64:
            return _complete(array - low, range(low, high + 1))
        # The difference fits, whatever the dtype: computed modulo 2**64 it is the true one.
        codes = (array.astype(np.uint64) - np.uint64(low % 2**64)).view(np.int64)
        return _complete(codes, range(low, high + 1))
    return _from_sortable(array, None)


def _complete(codes: IntArray, levels: Any) -> Factor:
    """The factor of a column without a missing value, which need not be looked for again."""
    factor = Factor(codes, levels)
    vars(factor)["n_missing"] = 0  # where cached_property looks first
    return factor


def _from_sortable(array: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> Factor:
    if missing is None or not missing.any():
        levels, codes = np.unique(array, return_inverse=True)
        return _complete(codes, levels)
    codes = np.full(array.shape, -1, np.int64)
    levels, codes[~missing] = np.unique(array[~missing], return_inverse=True)
    return Factor(codes, levels)


def _from_times(array: npt.NDArray[Any]) -> Factor:
    factor = _from_sortable(array, np.isnat(array))
    levels = np.asarray(factor.levels)
    unit = np.datetime_data(levels.dtype)[0]
    if unit in ("ns", "ps", "fs", "as"):  # finer than a datetime: their values are shown as text
        return Factor(factor.codes, [str(level) for level in levels])
    return Factor(factor.codes, levels)


def _from_strings(array: npt.NDArray[Any], name: Any) -> Factor:
    builder = FactorBuilder()
    for start in range(0, len(array), _BLOCK):
        try:
            builder.add(array[start : start + _BLOCK].tolist())
        except SystemError:  # what Python raises for code points beyond Unicode
            invalid(_column(name), "hold text; some of its characters do not exist")
    return builder.finish()


def _from_objects(values: Sequence[Any] | npt.NDArray[Any], name: Any) -> Factor:
    types = set(map(type, values))
    if len(types) > 1:
        types = {type(value) for value in values if not _is_missing(value)}
    if len(types) > 1 and not types <= {int, float}:
        rule = f"hold values of one type, not {' and '.join(sorted(t.__name__ for t in types))}"
        invalid(_column(name), rule, remedy=_TO_STRINGS, error=TypeError)
    builder = FactorBuilder()
    try:
        builder.add(values)  # type: ignore[arg-type]
    except TypeError:
        row = next(i for i, value in enumerate(values) if not _hashable(value))
        rule = f"hold single values; row {row} holds a {type(values[row]).__name__}"
        invalid(_column(name), rule, remedy=_TO_STRINGS, error=TypeError)
    return builder.finish()


def _column(name: Any) -> str:
    return f"column {name!r}"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return type(value).__name__ in _MISSING_TYPES


def factor_from_arrow(array: Any, name: Any) -> Factor:
    """The factor of a ``pyarrow.Array`` or ``ChunkedArray``; needs pyarrow."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_nested(kind):
        rule = f"hold single values, not {kind}"
        invalid(_column(name), rule, remedy=_TO_STRINGS, error=TypeError)
    if pa.types.is_null(kind):
        return Factor(np.full(len(array), -1, np.int32), ())
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not array.null_count):
        return factor_from_values(array.to_numpy(zero_copy_only=False), name)
    if pa.types.is_dictionary(kind):
        # A dictionary may repeat a value or hold a missing one: its own codes, then the rows'.
        of_dictionary = factor_from_arrow(array.dictionary, name)
        indices = _codes(array.indices)
        codes = np.full(len(indices), -1, np.int32)
        codes[indices >= 0] = of_dictionary.codes[indices[indices >= 0]]
        return Factor(codes, of_dictionary.levels)
    if str(kind).endswith("_view"):  # of strings or bytes: pyarrow takes no rows of such
        array = array.cast(pa.large_string() if str(kind) == "string_view" else pa.large_binary())
    array = array.dictionary_encode()
    levels = array.dictionary
    if pa.types.is_timestamp(levels.type) and levels.type.unit == "ns":
        levels = levels.cast(pa.string())
    plain = len(levels) <= _PLAIN_LEVELS  # these are read faster, and take more memory
    return Factor(_codes(array.indices), levels.to_pylist() if plain else levels)


def _codes(indices: Any) -> npt.NDArray[np.int32]:
    import pyarrow as pa

    return np.asarray(indices.cast(pa.int32()).fill_null(-1).to_numpy())


def numeric_levels(factor: Factor) -> npt.NDArray[Any] | None:
    """The levels as an array, if they are numbers; None for text and all else."""
    if isinstance(factor.levels, range):
        return np.arange(factor.levels.start, factor.levels.stop)
    if isinstance(factor.levels, np.ndarray) and factor.levels.dtype.kind in "iuf":
        return factor.levels
    return None


def without_markers(factor: Factor, markers: Sequence[str], column: Any) -> Factor:
    """`column` with the values among `markers`, or "column=value", missing: numbers by value."""
    words = {*markers, *(marker.removeprefix(f"{column}=").strip() for marker in markers)}
    numbers = [float(marker) for marker in words if marker and reads_as_number(marker)]
    levels: Any = numeric_levels(factor)
    if levels is not None:
        absent = np.isin(levels, numbers)
    else:
        levels = factor.levels
        plain = levels.to_pylist() if hasattr(levels, "to_pylist") else levels
        absent = np.fromiter(
            (str(v) in words or is_one_of(str(v), numbers) for v in plain),
            np.bool_,
            len(plain),
        )
    if not absent.any():
        return factor
    kept = np.flatnonzero(~absent)
    place = np.full(len(absent) + 1, -1, np.int64)  # the last one for code -1
    place[kept] = np.arange(kept.size)
    levels = levels.take(kept) if hasattr(levels, "take") else [levels[k] for k in kept.tolist()]
    return Factor(place[factor.codes], levels, factor.stripped)


def factor_if_plain(frame: Any, name: Any, missing: Any = ()) -> list[Factor]:
    """A column that nobody asked for; none if it does not hold single values of one type."""
    try:
        return [dict(each_factor(frame, [name], missing=missing))[name]]
    except (TypeError, ValueError):
        return []


def each_factor(
    frame: Any,
    columns: Sequence[Any] | None,
    *,
    exclude: Any = None,
    missing: Any = (),
    argument: str = "table",
    chosen_by: str = "columns",
) -> Iterator[tuple[Any, Factor]]:
    """The chosen columns (all, for None, but those to `exclude`) of a table, one at a time.

    In errors the dict or data frame is `argument`, and `columns` are `chosen_by`.  The values that
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
        names, column = list(frame), frame.__getitem__
    else:
        names, column = _native_columns(frame, argument)
    chosen = choose_columns(names, columns, exclude, argument=chosen_by, table=argument)
    markers = as_markers(missing)
    rows = None
    for name in chosen:
        values = column(name)
        plain = isinstance(frame, Mapping) or isinstance(values, np.ndarray)
        factor = (factor_from_values if plain else _factor_of_native)(values, name)
        rows = len(factor.codes) if rows is None else rows
        if not rows:
            invalid(argument, "have at least one row")
        if len(factor.codes) != rows:
            rule = f"have as many rows as column {chosen[0]!r} ({rows}), not {len(factor.codes)}"
            invalid(_column(name), rule)
        yield name, without_markers(factor, markers, name) if markers else factor


def _native_columns(frame: Any, argument: str) -> tuple[list[Any], Any]:
    """The names of a data frame's columns, and what gives a column by its name."""
    try:
        import narwhals as nw
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{argument} is a {type(frame).__name__}, which takes narwhals and pyarrow "
            '(pip install "mialeak[dataframe]"); a plain dict of columns takes neither'
        ) from error
    read = cache(partial(nw.from_native, frame, eager_only=True))
    if nw.dependencies.is_pandas_dataframe(frame) and frame.columns.is_unique:
        return list(frame.columns), partial(_of_pandas, frame, read)
    try:
        return list((table := read()).columns), table.get_column
    except TypeError:
        rule = f"be a pandas, polars or pyarrow table or a dict, not a {type(frame).__name__}"
        invalid(argument, rule, remedy=_as_table(frame), error=TypeError)
    except ValueError as error:  # narwhals' DuplicateError
        invalid(argument, f"have no two columns of one name ({' '.join(str(error).split())})")


def _of_pandas(frame: Any, read: Any, name: Any) -> Any:
    """The same; numbers as an array, which is what they are by way of Arrow too."""
    series = frame[name]
    plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf"
    return series.to_numpy() if plain else read().get_column(name)


def _factor_of_native(column: Any, name: Any) -> Factor:
    import pyarrow as pa

    dtype = getattr(column.to_native(), "dtype", None)
    if "interval" in str(getattr(getattr(dtype, "categories", None), "dtype", dtype)):  # of pandas
        return _from_objects([None if _is_missing(x) else str(x) for x in column.to_native()], name)
    with suppress(pa.ArrowException, OverflowError):  # OverflowError: integers above 2**64
        return factor_from_arrow(column.to_arrow(), name)
    # A message of Arrow quotes a value, and values are those of persons.
    kinds = sorted({type(x).__name__ for x in column.to_list() if not _is_missing(x)})
    rule = f"hold values of one type that pyarrow takes, not {' and '.join(kinds)}"
    return invalid(_column(name), rule, remedy=_TO_STRINGS, error=TypeError)


def _as_table(frame: Any) -> str:
    """What makes a table of something that is none."""
    for fetch in ("toArrow", "to_arrow_table", "to_pyarrow", "compute", "collect"):
        if hasattr(frame, fetch):
            return f"Call its {fetch}() first"
    if isinstance(frame, (str, PathLike)):
        return "Read the file first, as with pandas.read_csv"
    if hasattr(frame, "reset_index"):  # a pandas Series
        return "Of a Series of counts call reset_index(name='n'), and pass counts='n'"
    return "Pass a dict of its columns" if isinstance(frame, (np.ndarray, list, tuple)) else ""


def choose_columns(
    names: Sequence[Any],
    columns: Any,
    exclude: Any = None,
    *,
    argument: str = "columns",
    table: str = "table",
) -> list[Any]:
    """The columns that `columns` asks for among `names`: all for None, one for a string.

    It may be a function of the names.  Without `columns`, those that `exclude` names are left out.
    `argument` and `table` are what the caller of the library calls `columns` and the table.

    Raises
    ------
    ValueError
        If there is none, one is asked for twice, or one does not exist: the near ones are named.
    """
    excluded = [] if exclude is None else _chosen("exclude", names, exclude)
    if columns is not None:
        chosen = _chosen(argument, names, columns)
        for place, name in enumerate(excluded):
            if name in chosen:
                invalid("exclude", "name none of the columns", index=place, value=name)
        return chosen
    if not names:
        invalid(table, "have at least one column")
    chosen = [name for name in names if name not in excluded]
    if not chosen:
        invalid("exclude", "keep at least one column")
    return chosen


def _chosen(argument: str, names: Sequence[Any], columns: Any) -> list[Any]:
    """The names in `columns`, which the argument of that name holds."""
    columns = columns(names) if callable(columns) else columns
    if not isinstance(columns, Iterable):
        invalid(argument, "be a sequence of names", value=columns, error=TypeError)
    chosen = [columns] if isinstance(columns, str) else list(columns)
    if not chosen:
        invalid(argument, "name at least one column")
    known, seen = set(names), set()
    for place, name in enumerate(chosen):
        if name not in known:
            remedy = near(name, names)
            invalid(argument, "be columns of the table", index=place, value=name, remedy=remedy)
        if name in seen:
            invalid(argument, "name each column once", index=place, value=name)
        seen.add(name)
    return chosen
