"""Tables that are already counted: one row a cell, with its count; and how to recognise one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, invalid, listed
from mialeak._cells import codes_of, count_cells
from mialeak._checks.names import WORDS_OF_TOTALS, is_count_name
from mialeak._checks.tables.unpublished import (
    BEFORE_SUPPRESSION,
    cautions_of_codes,
    codes_in,
    count_of_empty,
    count_of_mark,
    is_separated,
    is_unpublished,
    remedy_of_count,
    remedy_of_empty,
    whole_count,
)
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import is_number

__all__ = [
    "NEARLY_ALL",
    "are_counts",
    "as_cell_counts",
    "as_words",
    "count_column",
    "holds_counts",
    "numbers_of",
    "refuse_counted",
    "rows_of_total",
    "rows_of_totals",
]

IntArray = npt.NDArray[np.int64]

#: A whole number with three decimals, or one of thousands with a point between.
_THREE_ZEROS = re.compile(r"[1-9]\d{0,2}\.000")

#: Fewest different numbers that are spread as counts are, and to what counts are rounded at most.
_FEWEST_SPREAD, _ROUNDED_TO = 13, 10.0

#: Rows of each number from which these may be too many for counts, and the fewest numbers.
_ROWS_OF_VALUE, _FEWEST_REPEATED = 20, 5

#: Share of the rows that must differ in the other columns for a row to be a cell.
NEARLY_ALL = 0.95


def as_cell_counts(
    name: Any,
    counts: Factor,
    categories: dict[Any, Factor],
    *,
    total: Any = (),
    suppressed: Any = None,
    cure: str = BEFORE_SUPPRESSION,
) -> tuple[IntArray, int, list[str]]:
    """The count of each row of a counted table, how many are 0, and notes on them.

    Rows with one of the values `total` in a category have the count 0, and are not among those.
    `suppressed` is the count to take for a suppressed one, or that of each mark; `cure` what an
    error proposes where it is not given.

    Raises
    ------
    ValueError
        If a count is missing, negative, fractional, suppressed or no number, all are 0, or a row
        is a total of others; the row is named.
    """
    totals, notes = rows_of_totals(categories, total), []
    if totals.any():
        notes.append(
            f"{np.count_nonzero(totals):,} of {len(totals):,} rows are left out as totals."
        )
    for column, factor in categories.items():
        _refuse_totals(column, factor, totals)
    values, taken, ambiguous = _counts_of_levels(
        name, counts, categories, ~totals, suppressed=suppressed, cure=cure
    )
    cells: IntArray = np.where(totals, 0, values[counts.codes])
    if ambiguous:
        shown = counts.value(int(counts.codes[np.argmax(cells > 0)]))
        notes.append(
            f"All counts end in '.000', such as {shown!r}, which is taken to be "
            f"{whole_count(shown):,}. "
            "If the point stands between thousands, write the counts without separators."
        )
    hidden = taken[counts.codes] & ~totals
    if hidden.any():
        span, number = cells[hidden], int(np.count_nonzero(hidden))
        as_what = f"{span.min()}" if span.min() == span.max() else f"{span.min()} to {span.max()}"
        replaced = "suppressed count is" if number == 1 else "suppressed counts are"
        notes.append(
            f"{number:,} {replaced} replaced by {as_what}. The answer is for the table with "
            "replaced counts, not for the true table."
        )
    elif suppressed is not None:
        marks = {str(code): 1 for code in codes_in(cells)[0]}
        remedy = f"If a number marks such counts, pass suppressed={marks!r}" if marks else ""
        rule = "be left out, since no count of the table is suppressed"
        invalid("suppressed", rule, remedy=remedy)
    notes += cautions_of_codes(name, cells[~hidden], cure)
    whole = sum(cells.tolist())
    if not 0 < whole <= MAX_COUNT:
        invalid(f"column {name!r}", f"sum to between 1 and 2**53; the sum is {whole:,}")
    return cells, int(np.count_nonzero((cells == 0) & ~totals)), notes


def _counts_of_levels(
    name: Any,
    counts: Factor,
    categories: dict[Any, Factor],
    rows: npt.NDArray[np.bool_],
    *,
    suppressed: Any,
    cure: str,
) -> tuple[IntArray, npt.NDArray[np.bool_], bool]:
    """The count of each level, the last for an empty field, and which are taken for a mark.

    And whether all end in ".000", which may be thousands.  Refuses what no count of `rows` is.
    """
    values: IntArray = np.zeros(len(counts.levels) + 1, np.int64)
    bad, taken = np.zeros((2, len(values)), np.bool_)
    ambiguous = {}
    for code in np.unique(counts.codes[rows & (counts.codes >= 0)]).tolist():
        value = counts.value(code)
        count = None if suppressed is None else count_of_mark(value, suppressed)
        taken[code] = count is not None
        if count is None:
            count = whole_count(value)
            if count:
                ambiguous[code] = _THREE_ZEROS.fullmatch(str(value).strip()) is not None
        bad[code], values[code] = count is None, count or 0
    missing = (counts.codes < 0) & rows
    if missing.any():
        marks = [str(counts.value(code)) for code in np.flatnonzero(taken).tolist()]
        empty = count_of_empty(suppressed, marks)
        how = cure if suppressed is None else remedy_of_empty(marks)
        _refuse_missing(name, categories, missing, empty, how)
        values[-1], taken[-1] = empty or 0, True
    if any(ambiguous.values()) and all(
        with_point or str(counts.value(code)).strip().isdecimal()
        for code, with_point in ambiguous.items()
    ):  # one thousand, where others have no decimals
        bad[list(ambiguous)] |= np.array(list(ambiguous.values())) & (not all(ambiguous.values()))
    wrong = bad[counts.codes] & rows
    if wrong.any():
        row = int(np.argmax(wrong))
        value = counts.value(int(counts.codes[row]))
        _refuse_count(name, row, repr(value), remedy_of_count(value, cure))
    return values, taken, bool(ambiguous) and all(ambiguous.values())


def _refuse_missing(
    name: Any,
    categories: dict[Any, Factor],
    missing: npt.NDArray[np.bool_],
    empty: int | None,
    cure: str,
) -> None:
    """Refuse rows without a count, unless `empty` is that of an empty field and none is a note."""
    row = int(np.argmax(missing))
    notes_begin = row == len(missing) - np.count_nonzero(missing) and any(
        (factor.codes[row:] < 0).all() for factor in categories.values()
    )
    if notes_begin:
        remedy = "If it is a source or a footnote, take the line out of the file"
    elif empty is not None:
        return
    else:
        remedy = f"Write 0 where the cell is empty. {cure}"
    _refuse_count(name, row, "no value", remedy)


def rows_of_totals(categories: dict[Any, Factor], total: Any) -> npt.NDArray[np.bool_]:
    """The rows with one of the values `total`, "value" or "column=value".

    ValueError for one that no row has, and for a number that several columns have.
    """
    rows = np.zeros(len(next(iter(categories.values())).codes), np.bool_)
    for place, word in enumerate(as_words(total)):
        met = rows_of_total(categories, word)
        if not met:
            invalid("total", "be values of the table's categories", index=place, value=word)
        if len(met) > 1 and is_number(str(word)):
            rule = f"name the column of a number that is a value of {listed(met)}"
            remedy = f"Pass '{next(iter(met))}={word}' for the first of them"
            invalid("total", rule, index=place, value=word, remedy=remedy)
        rows |= np.logical_or.reduce(list(met.values()))
    return rows


def as_words(total: Any) -> list[Any]:
    """The values that stand for totals, one or several."""
    return [total] if isinstance(total, str) or not isinstance(total, Iterable) else list(total)


def rows_of_total(categories: dict[Any, Factor], word: Any) -> dict[Any, npt.NDArray[np.bool_]]:
    """The rows with the value `word`, "value" or "column=value", of each column that has it."""
    met = _rows_with(categories, str(word))
    column, _, value = str(word).partition("=")
    if not met and column in categories:
        met = _rows_with({column: categories[column]}, value)
    return met


def _rows_with(categories: dict[Any, Factor], word: str) -> dict[Any, npt.NDArray[np.bool_]]:
    """The rows that hold the value, of each column that has it."""
    met = {}
    for name, factor in categories.items():
        shown = np.unique(factor.codes)
        codes = [c for c in shown.tolist() if c >= 0 and str(factor.value(c)) == word]
        if codes:
            met[name] = np.isin(factor.codes, codes)
    return met


def _refuse_count(name: Any, row: int, value: str, remedy: str) -> NoReturn:
    rule = f"hold counts, which are whole numbers of at least 0; row {row} holds {value}"
    invalid(f"column {name!r}", rule, remedy=remedy)


def _refuse_totals(name: Any, factor: Factor, totals: npt.NDArray[np.bool_]) -> None:
    if not isinstance(factor.levels, (list, tuple)) and not hasattr(factor.levels, "to_pylist"):
        return
    for code in range(len(factor.levels)):
        value = factor.value(code)
        if isinstance(value, str) and value.strip().lower() in WORDS_OF_TOTALS:
            rows = np.flatnonzero((factor.codes == code) & ~totals)
            if rows.size:
                rule = f"hold no totals; row {rows[0]} holds {value!r}"
                remedy = (
                    f"Leave out the rows of totals with total=[{value!r}], or rename the value if "
                    "it is none"
                )
                invalid(f"column {name!r}", rule, remedy=remedy)


def count_column(factors: Mapping[Any, Factor]) -> Any:
    """The column that looks like the counts of all others; None if there is none."""
    rows = len(next(iter(factors.values())).codes)
    for name, factor in factors.items():
        if is_count_name(name) and holds_counts(factor) and not _repeats(factor):
            others = [codes_of(other) for key, other in factors.items() if key != name]
            if len(count_cells(others, rows).counts) >= NEARLY_ALL * rows:
                return name
    return None


def are_counts(factor: Factor, *, spread: float = 1.0) -> bool:
    """Whether the values are spread as the counts of different cells are, quarters among them.

    The largest is at least `spread` times the median.
    """
    numbers, times = numbers_of(factor), factor.rows_of_level
    if numbers is None or np.count_nonzero(times) < _FEWEST_SPREAD or factor.n_missing:
        return False
    shown = numbers[times > 0]
    number_rows = times.max() == 1 and np.ptp(shown) == times.sum() - 1
    if number_rows or (shown < 0.0).any() or (4.0 * shown % 1.0 != 0.0).any():
        return False
    middle = _median(numbers, times)
    return shown.max() >= spread * middle and not _agree_too_often(times, middle)


def _median(numbers: npt.NDArray[np.float64], times: IntArray) -> float:
    order = np.argsort(numbers)
    return float(numbers[order][np.searchsorted(np.cumsum(times[order]), times.sum() / 2)])


def _repeats(factor: Factor) -> bool:
    """Whether so few values for so many rows are no counts, but sizes of towns."""
    numbers, times = numbers_of(factor), factor.rows_of_level
    values = max(int(np.count_nonzero(times)), _FEWEST_REPEATED)
    is_small = times.sum() >= _ROWS_OF_VALUE * values
    return is_small and numbers is not None and _agree_too_often(times, _median(numbers, times))


def _agree_too_often(times: IntArray, middle: float) -> bool:
    """Whether more rows share a number than if it were the count of each; `middle` is the median.

    Counts of about m persons agree in at most ``1 / sqrt(4 pi m)`` of all pairs, since each has a
    standard deviation of ``sqrt(m)`` at least, and in more if they are rounded.
    """
    rows = int(times.sum())
    agreeing = float(times @ (times - 1)) / (rows * (rows - 1.0))
    return agreeing * math.sqrt(4.0 * math.pi * max(middle, 1.0)) > _ROUNDED_TO


def holds_counts(factor: Factor, *, strict: bool = False) -> bool:
    """Whether the values are whole numbers of at least 0: all of them, or most if not `strict`."""
    present = factor.rows_of_level > 0
    numbers = numeric_levels(factor)
    if numbers is not None:
        shown = numbers[present]
        return shown.size > 0 and bool(np.all((shown >= 0) & (shown == np.floor(shown))))
    allowed = 0 if strict else np.count_nonzero(present) / 2
    bad = whole = 0
    for code in np.flatnonzero(present).tolist():
        value = factor.value(code)
        whole += whole_count(value) is not None or is_separated(str(value))
        bad += whole_count(value) is None and not is_unpublished(value)
        if bad > allowed:
            return False
    return whole > 0


def numbers_of(factor: Factor) -> npt.NDArray[np.float64] | None:
    """The levels as numbers, if they are, also as text and in per cent."""
    numbers = numeric_levels(factor)
    if numbers is not None:
        return numbers.astype(np.float64)
    values = [str(value).removesuffix("%") for value in factor.values]
    return np.array(values, np.float64) if all(map(is_number, values)) else None


def refuse_counted(name: Any, argument: str = "table") -> NoReturn:
    """Refuse a table of counts that is passed as if its rows were persons."""
    rule = (
        f"have one row a person; it looks like a table of counts: column {name!r} holds whole "
        "numbers, and no two rows agree in the other columns"
    )
    remedy = f"Pass counts={name!r}, or rename the column if each row is one person"
    invalid(argument, rule, remedy=remedy)
