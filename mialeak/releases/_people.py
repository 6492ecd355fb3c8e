"""The people of a release: their columns, and conditions that select some of them."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, listed
from mialeak._columns import Factor, each_factor, factor_if_plain, near
from mialeak._fields import is_number
from mialeak._report.text import printable

__all__ = [
    "Column",
    "People",
    "Where",
    "between",
    "conditions_in_words",
    "is_quantity",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Columns up to which those that no output uses are compared with the register's.
_MOST_COLUMNS = 100
#: What a condition may hold beside a value or a list of values.
_CONDITIONS = ("min", "max", "not")
_LIST_THEM = "list the values that belong, or pass a column of numbers"
#: A day, or a time of one, with the year first, and the length of a day; a date with the year last.
_ISO_DAY, _DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?$"), 10
_YEAR_LAST = re.compile(
    r"(?!\d{4}\b)(.*\w\W+)(?:1[89]|20)\d\d|(\d\d?[-./]\d\d?[-./])(?:3[2-9]|[4-9]\d)"
)


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
            values = [self.values[code] for code in order[inside].tolist()]
        if len(values) == 2:
            return f"{name} = {' or '.join(map(printable, values))}"
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

    def averaged(self) -> FloatArray | None:
        """The values as numbers to be averaged: True and False are 1 and 0."""
        if all(value is None or isinstance(value, bool) for value in self.values):
            return np.array([np.nan if x is None else float(x) for x in self.values])
        return self.numbers()


class People:
    """The people all outputs are made of and, if there is one, the register they are from.

    Rows are the people's, then those of the register; a column is read when an output needs it.
    `independent` is whether the population has the people's margins and independent columns.
    """

    def __init__(self, frame: Any, population: Any, *, na: str, missing: Any) -> None:
        self._frames = [("people", frame)]
        self.independent = isinstance(population, str)
        if self.independent:
            if population != "independent":
                invalid("population", 'be a table or "independent"', value=population)
        elif population is not None:
            self._frames.append(("population", population))
        self.frame = frame
        self._na, self._missing = na, missing
        self._columns: dict[Any, Column] = {}
        self._functions: dict[tuple[Any, Any], IntArray | None] = {}
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

    @functools.cached_property
    def marks(self) -> IntArray:
        """Random numbers of the people: two groups of people are the same if their sums are."""
        return np.random.default_rng(20260103).integers(-(2**62), 2**62, self.rows)

    @property
    def in_register(self) -> bool:
        """Whether there is a register."""
        return len(self.sizes) > 1

    @functools.cached_property
    def shares(self) -> dict[Any, tuple[IntArray, IntArray]]:
        """How many of the people, and of the register, have each value of a column of both.

        Without columns by which the people are not of the register: these hold other values, are
        written in another way, or have more people of a value.
        """
        shares = {}
        for name in self.names[:_MOST_COLUMNS]:
            factors = [
                factor
                for _, frame in self._frames
                for factor in factor_if_plain(frame, name, self._missing)
            ]
            if len(factors) == 2 and (counts := _of_both(*factors)) is not None:
                shares[name] = counts
        return shares

    def values_of_each(self, name: Any, other: Any) -> IntArray | None:
        """The code of column `other` for each of column `name`, if it is a function of this one."""
        key = name, other
        if key not in self._functions:
            codes = self.column(name).codes
            values = np.zeros(len(self.column(name).values), np.int64)
            values[codes] = self.column(other).codes
            is_function = np.array_equal(values[codes], self.column(other).codes)
            self._functions[key] = values if is_function else None
        return self._functions[key]

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
        for factor, size in zip(factors, self.sizes, strict=True):
            if len(factor.codes) != size:
                rule = f"have as many rows as column {self.names[0]!r} ({size:,})"
                invalid(f"column {name!r}", rule, value=len(factor.codes))
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


def _of_both(part: Factor, whole: Factor) -> tuple[IntArray, IntArray] | None:
    """How many rows of both have each value of the whole; None if the part is none of it."""
    place = {whole.value(code): code for code in range(len(whole.levels))}
    counts = np.zeros(len(whole.levels), np.int64)
    for code in np.flatnonzero(part.rows_of_level).tolist():
        value = part.value(code)
        if value not in place:
            return None
        counts[place[value]] += part.rows_of_level[code]
    every = whole.rows_of_level.astype(np.int64)
    return (counts, every) if counts.any() and (counts <= every).all() else None


def is_quantity(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, eq=False)
class Where:
    """A sub-population: for each column that limits it, the values that belong to it.

    `words` has the conditions with one end, and those that exclude nobody, as they were put; two
    may select the same values.  `idle` has the range of the column for an end beyond which nobody
    is, though no value of the column is the end.
    """

    masks: dict[Any, BoolArray]
    rows: BoolArray
    words: dict[Any, str]
    idle: dict[Any, str]

    @classmethod
    def of(cls, people: People, where: Any) -> Where:
        """The people for whom each column of the mapping `where` holds what it asks for.

        A condition is a value, a list of values, or a mapping with "min", "max" or "not".
        """
        if where is not None and not isinstance(where, Mapping):
            rule = "map columns to a value, a list of values or {'min': ..., 'max': ...}"
            invalid("where", rule, value=where, error=TypeError)
        masks: dict[Any, BoolArray] = {}
        words: dict[Any, str] = {}
        idle: dict[Any, str] = {}
        rows = np.ones(sum(people.sizes), np.bool_)
        for name, condition in (where or {}).items():
            column, pair = people.column(name, "where"), isinstance(condition, tuple)
            condition = _plain(condition)
            if pair and between(column, condition):
                rule = "be a value, a list of values or a mapping with min, max or not"
                ends = f"{{'min': {condition[0]!r}, 'max': {condition[1]!r}}}"
                remedy = f"Pass {ends} for this range, or {condition!r} for these two values"
                invalid(f"where[{name!r}]", rule, value=tuple(condition), remedy=remedy)
            masks[name] = _mask(column, condition)
            if put := _named(column, masks[name], condition):
                words[name] = put
            if of_all := _range_of_idle(column, masks[name], condition):
                idle[name] = of_all
            rows &= masks[name][column.codes]
        if not rows[: people.rows].any():
            invalid("where", "select at least one of the people", value=dict(where or {}))
        return cls(masks, rows, words, idle)


def between(column: Column, values: Sequence[Any]) -> int:
    """How many other values of the column lie between two numbers; 0 for other `values`."""
    numbers = column.numbers()
    if numbers is None or len(values) != 2 or not all(map(is_quantity, values)):
        return 0
    return int(np.count_nonzero((numbers > min(values)) & (numbers < max(values))))


def _plain(condition: Any) -> Any:
    """A condition with the values of NumPy, pandas and others as those of Python."""
    if isinstance(condition, Mapping):
        return {key: _plain(value) for key, value in condition.items()}
    if isinstance(condition, (list, tuple, set, frozenset, range)):
        return [_plain(value) for value in condition]
    return condition.tolist() if hasattr(condition, "tolist") else condition


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


def _named(column: Column, mask: BoolArray, condition: Any) -> str:
    """The words of a condition with one end, which are kept as those of its opposite are.

    Empty for other conditions.
    """
    put = ""
    if isinstance(condition, Mapping) and len(condition) == 1 and "not" not in condition:
        (key, end), name = *condition.items(), printable(column.name)
        words = (">=", "<") if key == "min" else ("<=", ">")
        missing = np.array([value is None for value in column.values])
        for each, word in zip((mask, ~mask), words, strict=True):
            or_missing = " or missing" if (each & missing).any() else ""
            column.conditions[each.tobytes()] = f"{name} {word} {printable(end)}{or_missing}"
            put = put or column.conditions[each.tobytes()]
    elif isinstance(condition, Mapping) and {"min", "max"} == set(condition) and mask.all():
        low, high = printable(condition["min"]), printable(condition["max"])
        put = f"{low} <= {printable(column.name)} <= {high}"
    return put


def _range_of_idle(column: Column, mask: BoolArray, condition: Any) -> str:
    """The range of a column of which a condition with ends excludes nobody; else, "".

    An end that is a value of the column is in its unit: for adults, "min = 18" is no mistake.
    """
    if not isinstance(condition, Mapping) or "not" in condition:
        return ""
    values: list[Any] = [value for value in column.values if value is not None]
    ends = [float(x) if isinstance(x, str) and is_number(x) else x for x in condition.values()]
    if column.numbers() is not None:
        values = list(map(float, values))
    if len(values) > np.count_nonzero(mask) or not {*ends}.isdisjoint(values):
        return ""
    return f"{printable(min(values))} to {printable(max(values))}"


def _among(column: Column, values: Any) -> BoolArray:
    wanted = values if isinstance(values, list) else [values]
    mask = np.zeros(len(column.values), np.bool_)
    numbers = column.numbers()
    for value in wanted:
        if is_quantity(value) and numbers is not None:
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
    where = f"where[{column.name!r}][{key!r}]"
    if isinstance(end, datetime.date) and all(map(_is_day, values)):
        end = end.isoformat()
        values = [value if len(value) > _DAY else f"{value}T00:00:00" for value in values]
    if isinstance(end, str) and is_number(end) and column.numbers() is not None:
        end = float(end)  # the words "9" and "80" are in another order than the numbers
    if is_quantity(end):
        values = column.numbers()
    if values is None or not (is_quantity(end) or all(type(x) is type(end) for x in values)):
        rule = f"compare with the values of column {column.name!r}"
        words = [x for x in column.values if isinstance(x, str) and not is_number(x)]
        remedy = f"It holds words, such as {words[0]!r}: {_LIST_THEM}" if words else ""
        invalid(where, rule, value=end, remedy=remedy, error=TypeError)
    if isinstance(end, str) and len(end) == _DAY and all(map(_is_day, [end, *values])):
        values = [value[:_DAY] for value in values]  # all hours of the last day belong
    mask = np.array([bool(x >= end if sign > 0 else x <= end) for x in values], np.bool_)
    if isinstance(end, str):
        rule = f"be an end of the values of column {column.name!r}, which are words"
        if remedy := _out_of_order(end, values):
            invalid(where, rule, value=end, remedy=remedy)
        last = _parts(end)
        by_numbers = [_parts(x) >= last if sign > 0 else _parts(x) <= last for x in values]
        if mask.tolist() != by_numbers:
            remedy = f"As words, '9' comes after '70+': {_LIST_THEM}"
            invalid(where, rule, value=end, remedy=remedy)
    return mask


def _out_of_order(end: str, values: Sequence[str]) -> str:
    """What an error proposes for an end of words that are in the order of letters; "" if none.

    Codes, and dates with the year first, are in an order of their own.
    """
    if len(end) > 1 and not any(map(str.isdigit, end)):
        return f"As words they are in the order of letters: {_LIST_THEM}"
    dates = filter(None, map(_YEAR_LAST.fullmatch, {end, *values}))
    if len({match[1] or match[2] for match in dates}) > 1:
        return (
            "As words, '02.01.1990' comes after '01.12.1991': write dates as 1990-01-02, or pass "
            "a column of numbers, such as the year"
        )
    return ""


def _is_day(value: Any) -> bool:
    """Whether a value is written as a day, or a time of one, with the year first."""
    return isinstance(value, str) and _ISO_DAY.match(value) is not None


def _parts(word: str) -> list[tuple[int, str]]:
    """A word as numbers and what stands between them, in the order of numbers."""
    parts = re.findall(r"\d+|\D+", word)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def conditions_in_words(
    people: People, masks: Mapping[Any, BoolArray], where: Where | None = None
) -> str:
    """The values of several columns, in words: conditions of `where` as they were put."""
    parts = []
    for name, mask in masks.items():
        if where is not None and name in where.words and np.array_equal(mask, where.masks[name]):
            parts.append(where.words[name])
        else:
            parts.append("" if mask.all() else people.column(name).words(mask))
    return ", ".join(filter(None, parts)) or "everyone"
