"""The outputs of a release: the people they are made of, which of them, and what is published."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, listed, unsupported
from mialeak._columns import Factor, each_factor, near
from mialeak._fields import is_number
from mialeak._report.text import printable
from mialeak.mechanisms import CellMechanism, Round, Suppress

__all__ = [
    "Column",
    "Output",
    "People",
    "Where",
    "as_protection",
    "conditions_in_words",
    "mean_output",
    "table_output",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: What a condition may hold beside a value or a list of values.
_CONDITIONS = ("min", "max", "not")
#: Decimals that make whole numbers of the values of a column, so that their sum is exact.
_DECIMALS = 4
#: Size below which a value is a whole number that sums of 2**20 people hold exactly.
_WHOLE = 2.0**31


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the people: codes below ``len(values)``, and what each of them stands for.

    `conditions` are the words of the conditions that were put on the column, and of the opposites.
    """

    name: Any
    codes: IntArray
    values: list[Any]
    conditions: dict[bytes, str] = field(default_factory=dict)

    def words(self, mask: BoolArray) -> str:
        """The values of `mask` as a condition on the column."""
        name, chosen = printable(self.name), np.flatnonzero(mask)
        if mask.tobytes() in self.conditions:
            return self.conditions[mask.tobytes()]
        values = [self.values[code] for code in chosen.tolist()]
        if len(values) == 1:
            return f"{name} = {printable(values[0])}"
        numbers = self.numbers()
        if numbers is not None and not np.isnan(numbers).any():
            order = np.argsort(numbers, kind="stable")
            inside = np.flatnonzero(mask[order])
            if inside.size and inside[-1] - inside[0] + 1 == inside.size:
                low, high = (printable(self.values[order[k]]) for k in (inside[0], inside[-1]))
                if inside[-1] == len(numbers) - 1:
                    return f"{name} >= {low}"
                return f"{name} <= {high}" if inside[0] == 0 else f"{low} <= {name} <= {high}"
        others = [value for value, taken in zip(self.values, mask, strict=True) if not taken]
        if len(others) == 1:
            return f"{name} other than {printable(others[0])}"
        return f"{name} in ({listed(values, show=printable)})"

    def numbers(self) -> FloatArray | None:
        """The values as numbers, NaN for a missing one; None if one is no number.

        A file keeps its values as they are written: digits are taken for a number.
        """
        numbers = np.full(len(self.values), np.nan)
        for code, value in enumerate(self.values):
            if isinstance(value, str) and not is_number(value):
                return None
            if value is not None:
                if not isinstance(value, (str, int, float)) or isinstance(value, bool):
                    return None
                numbers[code] = float(value)
        return numbers


class People:
    """The people all outputs are made of and, if there is one, the register they are from.

    Rows are the people's, then those of the register; a column is read when an output needs it.
    """

    def __init__(self, frame: Any, population: Any, *, na: str, missing: Any) -> None:
        self._frames = [("people", frame)]
        if population is not None:
            self._frames.append(("population", population))
        self._na, self._missing = na, missing
        self._columns: dict[Any, Column] = {}
        self.names = _names(frame)
        self.sizes = []
        for argument, each in self._frames:
            first = next(each_factor(each, self.names[:1] or None, argument=argument))[1]
            self.sizes.append(len(first.codes))
        self.rows = self.sizes[0]

    @functools.cached_property
    def weights(self) -> IntArray:
        """A random number below 2**23 for each person and, after these, one of the register."""
        return np.random.default_rng(20260102).integers(1, 1 << 23, sum(self.sizes))

    @property
    def in_register(self) -> bool:
        """Whether there is a register."""
        return len(self.sizes) > 1

    def column(self, name: Any, argument: str = "columns") -> Column:
        """The column of that name, with the same codes for people and register."""
        if name not in self._columns:
            factors = [
                dict(
                    each_factor(
                        frame, [name], missing=self._missing, argument=which, chosen_by=argument
                    )
                )[name]
                for which, frame in self._frames
            ]
            self._columns[name] = self._joined(name, factors)
        return self._columns[name]

    def _joined(self, name: Any, factors: Sequence[Factor]) -> Column:
        index: dict[Any, int] = {}
        codes = []
        for factor in factors:
            if factor.n_missing and self._na == "error":
                rule = f"have no missing values; there are {factor.n_missing:,} in column {name!r}"
                remedy = "Pass na='category' to count missing as a value"
                invalid("people", rule, remedy=remedy)
            shown, place = np.unique(factor.codes, return_inverse=True)
            numbers = [index.setdefault(factor.value(code), len(index)) for code in shown.tolist()]
            codes.append(np.array(numbers, np.int64)[place.reshape(-1)])
        return Column(name, np.concatenate(codes), list(index))


def _names(frame: Any) -> list[Any]:
    """The names of the columns of a table."""
    names = getattr(frame, "column_names", getattr(frame, "columns", frame))
    return list(names) if isinstance(frame, Mapping) or names is not frame else []


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, eq=False)
class Where:
    """A sub-population: for each column that limits it, the values that belong to it."""

    masks: dict[Any, BoolArray]
    rows: BoolArray

    @classmethod
    def of(cls, people: People, where: Any) -> Where:
        """The people for whom each column of the mapping `where` holds what it asks for.

        A condition is a value, a list of values, or a mapping with "min", "max" or "not".
        """
        if where is not None and not isinstance(where, Mapping):
            rule = "map columns to a value, a list of values or {'min': ..., 'max': ...}"
            invalid("where", rule, value=where, error=TypeError)
        masks: dict[Any, BoolArray] = {}
        rows = np.ones(sum(people.sizes), np.bool_)
        for name, condition in (where or {}).items():
            column = people.column(name, "where")
            masks[name] = _mask(column, condition)
            _name(column, masks[name], condition)
            rows &= masks[name][column.codes]
        if not rows[: people.rows].any():
            invalid("where", "select at least one of the people", value=dict(where or {}))
        return cls(masks, rows)


def _mask(column: Column, condition: Any) -> BoolArray:
    if isinstance(condition, Mapping):
        for key in condition:
            if key not in _CONDITIONS:
                remedy = near(key, _CONDITIONS).replace("The table has", "It takes")
                invalid(f"where[{column.name!r}]", "hold min, max or not", value=key, remedy=remedy)
        mask = np.ones(len(column.values), np.bool_)
        if "not" in condition:
            mask &= ~_among(column, condition["not"])
        for key, sign in (("min", 1), ("max", -1)):
            if key in condition:
                mask &= _beyond(column, condition[key], sign, key)
        return mask
    return _among(column, condition)


def _name(column: Column, mask: BoolArray, condition: Any) -> None:
    """Keep the words of a condition with one end, and of its opposite."""
    if isinstance(condition, Mapping) and len(condition) == 1 and "not" not in condition:
        (key, end), name = *condition.items(), printable(column.name)
        words = (">=", "<") if key == "min" else ("<=", ">")
        for each, word in zip((mask, ~mask), words, strict=True):
            column.conditions[each.tobytes()] = f"{name} {word} {printable(end)}"


def _among(column: Column, values: Any) -> BoolArray:
    wanted = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
    mask = np.zeros(len(column.values), np.bool_)
    numbers = column.numbers()
    for value in wanted:
        if _is_number(value) and numbers is not None:
            same = numbers == value
        else:
            same = np.array([type(x) is type(value) and x == value for x in column.values])
        if not same.any():
            remedy = f"None of the people has that value in column {column.name!r}"
            if str(value) in map(str, column.values):
                remedy += ", but there is one of another type that is written alike"
            invalid("where", "name values that occur", value=value, remedy=remedy)
        mask |= same
    return mask


def _beyond(column: Column, end: Any, sign: int, key: str) -> BoolArray:
    """The values that are at least (sign 1) or at most (-1) the end."""
    values: Any = column.values
    if _is_number(end):
        values = column.numbers()
    if values is None or not (_is_number(end) or all(type(x) is type(end) for x in values)):
        rule = f"compare with the values of column {column.name!r}"
        invalid(f"where[{column.name!r}][{key!r}]", rule, value=end, error=TypeError)
    return np.array([bool(x >= end if sign > 0 else x <= end) for x in values], np.bool_)


@dataclass(frozen=True, eq=False)
class Output:
    """One output: cells of a sub-population, or weights of its people.

    Attributes
    ----------
    name : str
        "table 2", "mean 3": its kind and its number in the order in which outputs were added.
    columns : tuple
    where : Where
    of_row : (people,) int64
        The cell of each person, -1 outside the sub-population.
    labels : (cells, columns) int64
        The code of each column in each cell.
    protect : CellMechanism or None
    exact : (cells,) bool
        Cells whose count is published as it is.
    low, high : (cells,) int64
        What is published of the counts of the others.
    always : bool
        Whether the counts are published as they are, whatever they are.
    weights : dict of (people,) float arrays
        What is summed over the people, for means and estimates.
    """

    name: str
    columns: tuple[Any, ...]
    where: Where
    of_row: IntArray
    labels: IntArray
    protect: CellMechanism | None
    exact: BoolArray
    low: IntArray
    high: IntArray
    always: bool
    gaps: bool = False
    weights: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def n_cells(self) -> int:
        """Counts published."""
        return len(self.labels)

    def masks(self, people: People, labels: Sequence[int] | None) -> dict[Any, BoolArray]:
        """For each column that matters to a count, the values of the people who are counted.

        `labels` has the code of each column, -1 for those that are summed over.
        """
        masks: dict[Any, BoolArray] = {}
        for name, code in zip(self.columns, labels or (), strict=labels is not None):
            if code >= 0:
                mask = np.zeros(len(people.column(name).values), np.bool_)
                mask[code] = True
                masks[name] = mask
        for name, mask in self.where.masks.items():
            masks[name] = mask & masks[name] if name in masks else mask
        return masks

    def words(self, people: People) -> str:
        """The output in words."""
        by = " by ".join(printable(name) for name in self.columns or self.weights)
        conditions = conditions_in_words(people, self.where.masks)
        return f"{self.name}: {by}" + f", where {conditions}" * bool(self.where.masks)

    def scaled(self, name: str) -> IntArray | None:
        """The weights as whole numbers, if a power of 10 makes them so; None if none does."""
        values = self.weights[name]
        for decimals in range(_DECIMALS + 1):
            whole = values * 10.0**decimals
            if np.abs(whole).max(initial=0.0) >= _WHOLE:
                return None
            rounded = np.rint(whole)
            if np.array_equal(rounded / 10.0**decimals, values):
                return rounded.astype(np.int64)
        return None


def conditions_in_words(people: People, masks: Mapping[Any, BoolArray]) -> str:
    """The values of several columns, in words."""
    words = [people.column(name).words(mask) for name, mask in masks.items() if not mask.all()]
    return ", ".join(words) or "everyone"


def as_protection(protect: Any, in_register: bool) -> CellMechanism | None:
    """`protect`, which must be None or a protection of each count by itself."""
    if protect is None:
        return None
    if not isinstance(protect, CellMechanism):
        rule = "be a protection of each count by itself, such as Round(5)"
        remedy = "For other procedures of one table use mechanism_leakage with a known law"
        invalid("protect", rule, value=protect, remedy=remedy, error=TypeError)
    if in_register:
        why = "the law of a protected count of a sample without replacement is not computed"
        unsupported("protect", "with population", why, "Leave population out")
    return protect


def table_output(
    people: People,
    number: int,
    columns: Sequence[Any],
    where: Where,
    protect: CellMechanism | None,
    shown: Any = None,
) -> Output:
    """The counts of the people of `where` by `columns`; `shown` is what was published of them."""
    chosen = [people.column(name) for name in columns]
    inside = np.flatnonzero(where.rows)
    place = np.zeros(inside.size, np.int64)
    for column in chosen:
        key = place * len(column.values) + column.codes[inside]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
    labels = np.stack([column.codes[inside[first]] for column in chosen], axis=1)
    of_row = np.full(where.rows.size, -1, np.int64)
    of_row[inside] = place
    counts = np.bincount(of_row[: people.rows] + 1, minlength=len(labels) + 1)[1:]
    exact, low, high = _seen(protect, counts, people.rows)
    gaps = False
    if shown is not None:
        published = _compared(people, columns, labels, counts, protect, shown)
        gaps = not published.all()
        exact &= published
        low[~published], high[~published] = 0, people.rows
    return Output(
        name=f"table {number}",
        columns=tuple(columns),
        where=where,
        of_row=of_row,
        labels=labels,
        protect=protect,
        exact=exact,
        low=low,
        high=high,
        always=protect is None and not gaps,
        gaps=gaps,
    )


def _seen(
    protect: CellMechanism | None, counts: IntArray, rows: int
) -> tuple[BoolArray, IntArray, IntArray]:
    """Which counts are shown as they are, and the range of the others."""
    low, high = np.zeros(counts.size, np.int64), np.full(counts.size, rows)
    if protect is None:
        return np.ones(counts.size, np.bool_), counts.copy(), counts.copy()
    if isinstance(protect, Suppress):
        exact = protect.release(counts) >= 0
        low[~exact] = int(protect.zeros_shown)
        high[~exact] = protect.below - 1
    else:
        exact = np.zeros(counts.size, np.bool_)
        if isinstance(protect, Round):
            shown = protect.release(counts)
            low = np.maximum(shown - protect.base // 2, 0)
            high = np.minimum(shown + (protect.base - 1) // 2, rows)
    low[exact] = high[exact] = counts[exact]
    return exact, low, high


def _compared(
    people: People,
    columns: Sequence[Any],
    labels: IntArray,
    counts: IntArray,
    protect: CellMechanism | None,
    shown: Any,
) -> BoolArray:
    """Which cells have a count in the published table, which must be those of the people."""
    factors = dict(each_factor(shown, None, argument="published"))
    counted = [name for name in factors if name not in columns]
    if len(counted) != 1 or len(factors) != len(columns) + 1:
        rule = "hold the columns of the table and one column of counts"
        invalid("published", rule, value=list(factors))
    index = {
        tuple(people.column(name).values[code] for name, code in zip(columns, row, strict=True)): k
        for k, row in enumerate(labels.tolist())
    }
    published, amount, wrong = np.zeros(counts.size, np.bool_), factors[counted[0]], 0
    for row in range(len(amount.codes)):
        count = amount.value(int(amount.codes[row]))
        if count is None or count == "":
            continue
        if isinstance(count, str) and is_number(count):
            count = float(count)
        cell = index.get(
            tuple(factors[name].value(int(factors[name].codes[row])) for name in columns)
        )
        wanted = np.array([0 if cell is None else counts[cell]])
        if protect is not None and not protect.random:
            wanted = protect.release(wanted)
        differs = not _is_number(count) or count != wanted[0]
        wrong += differs and not (protect is not None and protect.random)
        if cell is not None:
            published[cell] = True
    if wrong:
        rule = f"have the counts of the people; {wrong:,} of its counts differ"
        remedy = "Pass the people it was made from, the same where and the same protect"
        invalid("published", rule, remedy=remedy)
    return published


def mean_output(
    people: People, number: int, kind: str, where: Where, weights: dict[str, FloatArray]
) -> Output:
    """Sums of `weights` over the people of `where`, and how many they are."""
    labels = np.zeros((1, 0), np.int64)
    of_row = np.where(where.rows, 0, -1)
    count = np.array([np.count_nonzero(where.rows[: people.rows])])
    return Output(
        name=f"{kind} {number}",
        columns=(),
        where=where,
        of_row=of_row,
        labels=labels,
        protect=None,
        exact=np.ones(1, np.bool_),
        low=count,
        high=count,
        always=True,
        weights=weights,
    )
