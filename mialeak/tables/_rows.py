"""The rows and columns of a table that count: what is asked, read, kept, and its cells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid, listed, unsupported
from mialeak._cells import Cells, codes_of, count_cells, keep_rows_of_levels, summed
from mialeak._checks.lines import number_of_blank_rows
from mialeak._checks.names import is_count_name, is_weight
from mialeak._checks.tables.cautions import is_share, is_unit
from mialeak._checks.tables.counts import NEARLY_ALL, as_cell_counts
from mialeak._checks.tables.crosstabs import check_index, check_rows_are_persons
from mialeak._checks.tables.grossed import (
    cautions_of_events,
    cautions_of_grossed,
    cautions_of_units,
)
from mialeak._checks.tables.rows import cautions_of_omitted_counts
from mialeak._checks.tables.totals import cautions_of_sums, without_empties
from mialeak._columns import Factor, choose_columns, each_factor, factor_if_plain, near
from mialeak._labels import names_of
from mialeak.tables._margin_cells import as_margins
from mialeak.tables._sources import Source, repeated_cells

__all__ = [
    "all_columns",
    "as_asked",
    "blank_rows",
    "cells_of",
    "counts_of_rows",
    "kept_cells",
    "kept_rows",
    "persons_in",
    "read_rows",
    "repeated",
    "with_omitted",
]

IntArray = npt.NDArray[np.int64]

#: Persons of a counted table up to which its margins are computed, with a row for each.
_MOST_PERSONS = 50_000_000
#: Rows up to which the columns that are left out are looked at for counts of unusual names, and the
#: first rows of more that decide whether they are.
_MOST_CELLS, _FIRST_CELLS = 2**17, 2**15


def as_asked(
    columns: Any, counts: Any, margins: Any, independent: bool
) -> tuple[Any, list[tuple[Any, ...]] | None]:
    """The columns to count by, None for all, and the margins."""
    if counts is not None and not isinstance(counts, Hashable):
        invalid("counts", "be the name of a column", value=counts, error=TypeError)
    columns = [columns] if isinstance(columns, str) else columns
    if margins is None:
        if independent:
            unsupported("independent", "without margins", "it is about them", "Name margins")
        return columns, None
    named = as_margins(margins, columns)
    names = list(dict.fromkeys(name for margin in named for name in margin))
    if counts is not None and counts in names:
        rule = "name categories, and not the column of the counts"
        invalid("margins", rule, value=counts)
    return names if columns is None else columns, named


def read_rows(
    frame: Any,
    columns: Any,
    *,
    exclude: Any,
    counts: Any,
    missing: Any,
    total: Any,
    suppressed: Any,
    na: str,
) -> tuple[dict[Any, Factor], IntArray | None, int, list[str]]:
    """The columns to count by; of a table of counts the persons of each row, empty rows, notes."""
    for name, value in (("total", total), ("suppressed", suppressed)):
        if counts is None and value is not None and value != ():
            why = "it is about a table of counts"
            unsupported(name, "without counts", why, "Name counts, a column of the table")
    if isinstance(frame, Source):
        chosen = choose_columns(frame.names, columns, exclude)
        factors, persons = frame.cells(chosen, missing)
        if len(persons) >= NEARLY_ALL * persons.sum():
            check_rows_are_persons(repeated_cells(factors, persons))
        return factors, persons, 0, []
    if counts is None:
        factors = dict(each_factor(frame, columns, exclude=exclude, missing=missing))
        check_index(frame, factors, None)
        check_rows_are_persons(factors)
        return factors, None, 0, []
    if columns is not None:
        columns = [*(name for name in columns if name != counts), counts]
    factors = dict(each_factor(frame, columns, exclude=exclude, missing=missing))
    if counts not in factors:
        remedy = near(counts, list(factors))
        invalid("counts", "be a column of the table", value=counts, remedy=remedy)
    given = factors.pop(counts)
    check_index(frame, factors, counts)
    if not factors:
        invalid("table", "have at least one column beside the counts")
    if is_weight(counts):
        rule = "be the column of counts of persons, not that of survey weights"
        remedy = (
            f"If each row is one person, leave counts out and pass exclude=[{counts!r}]; if these "
            "are counts, rename the column"
        )
        invalid("counts", rule, value=counts, remedy=remedy)
    if is_share(counts):
        rule = "be the column of counts of persons, not that of shares, means or amounts"
        remedy = (
            "Pass the column of the counts behind them, or leave counts out if each row is one "
            "person. If these are counts of persons, as EUR is of Europeans, rename the column; of "
            "several such columns write one row for each count first (melt)"
        )
        invalid("counts", rule, value=counts, remedy=remedy)
    if is_unit(counts):
        rule = "be the column of counts of persons, not of thousands or hundreds of them"
        remedy = (
            "Pass counts of persons: rounded to thousands, they hide the rows alone in their cell. "
            "If these are counts of persons, rename the column"
        )
        invalid("counts", rule, value=counts, remedy=remedy)
    options = {"total": total, "suppressed": suppressed}
    persons, empty, notes = counts_of_rows(frame, counts, given, factors, missing, na, **options)
    others = [name for name in names_of(frame) if name != counts]
    column = partial(factor_if_plain, frame, missing=missing)
    notes += cautions_of_grossed(counts, persons, others, column)
    notes += cautions_of_units(counts, others, column) + cautions_of_events(counts)
    return factors, persons, empty, notes


def counts_of_rows(
    frame: Any,
    name: Any,
    counts: Factor,
    categories: dict[Any, Factor],
    missing: Any,
    na: str,
    **options: Any,
) -> tuple[IntArray, int, list[str]]:
    """What :func:`as_cell_counts` returns, with totals in columns that are left out found too.

    Rows that are totals of such a column would be added to those that they are the sums of.  With
    the `na` "drop", those with an empty field have no persons.
    """
    uncounted = {
        other: factor
        for other in names_of(frame)
        if other != name and other not in categories
        for factor in factor_if_plain(frame, other, missing)
        if len(np.unique(factor.codes)) > 1  # one value is no total of others
    }
    every = {**categories, **uncounted}
    persons, empty, notes = as_cell_counts(name, counts, every, **options)
    persons, of_empties = without_empties(every, persons, na, categories)
    if not of_empties and uncounted:
        persons, of_empties = without_empties(categories, persons, na, categories)
    notes += of_empties
    places = np.flatnonzero(persons)
    for other, factor in uncounted.items():
        factors = {**categories, other: factor}
        cells = cells_of(factors, places, persons)
        first = places[cells.first_row]
        values = {key: Factor(each.codes[first], each.levels) for key, each in factors.items()}
        notes += cautions_of_sums(values, cells.counts, na)
    return persons, empty, notes


def all_columns(frame: Any, factors: dict[Any, Factor], counts: Any) -> dict[Any, Factor]:
    """The columns that are counted, and those of the table that are left out but its counts."""
    others = [name for name in names_of(frame) if name not in factors and name != counts]
    return {**factors, **{k: each for k in others for each in factor_if_plain(frame, k, ())}}


def with_omitted(frame: Any, chosen: Mapping[Any, Factor]) -> Mapping[Any, Factor]:
    """The same of a table that may be one of counts: a small one, or one by a column's name.

    Or one whose first rows look like cells.  Of a table elsewhere its first rows, or nothing.
    """
    named = any(map(is_count_name, names_of(frame)))
    if isinstance(frame, Source):
        if not (named and frame.can_be_read_again):
            return {}
        try:
            return frame.head([*chosen, *(name for name in frame.names if name not in chosen)])
        except TypeError:  # a column that holds no single values
            return {}
    small = len(next(iter(chosen.values())).codes) <= _MOST_CELLS
    if small or named or _begins_with_cells(frame, chosen):
        return all_columns(frame, dict(chosen), None)
    return chosen


def blank_rows(frame: Any, chosen: Mapping[Any, Factor]) -> int:
    """How many rows of a table have no value in any column, chosen or not."""
    columns = {} if isinstance(frame, Source) else with_omitted(frame, chosen)
    return number_of_blank_rows([each.codes for each in columns.values()])


def _begins_with_cells(frame: Any, chosen: Mapping[Any, Factor]) -> bool:
    """Whether the first rows of a data frame, or a dict, may be cells with counts."""
    head = {name: _first_of(frame[name]) for name in names_of(frame)}
    first = {name: _first_of(factor) for name, factor in chosen.items()}
    return bool(cautions_of_omitted_counts(all_columns(head, first, None), chosen))


def _first_of(column: Any) -> Any:
    """The first rows of a column."""
    if isinstance(column, Factor):
        return Factor(column.codes[:_FIRST_CELLS], column.levels)
    return getattr(column, "iloc", column)[:_FIRST_CELLS]


def kept_rows(
    factors: dict[Any, Factor], persons: IntArray | None, na: str, counts: Any
) -> tuple[npt.NDArray[np.bool_], int]:
    """Which rows count, and the number of persons with a missing value.

    `counts` is the column of the persons of each row, None if these are counted here.
    """
    absent = np.zeros(len(next(iter(factors.values())).codes), np.bool_)
    for factor in factors.values():
        if factor.n_missing:
            absent |= factor.codes < 0
    if persons is not None:
        absent &= persons > 0  # a row that takes no part needs no values
    if absent.any() and na == "error":
        _refuse_missing(factors, persons, counts)
    kept = ~absent if na == "drop" else np.ones(len(absent), np.bool_)
    if persons is not None:
        kept &= persons > 0
    if not kept.any():
        invalid("table", "have at least one row without a missing value")
    return kept, persons_in(absent, persons)


def persons_in(rows: npt.NDArray[np.bool_], persons: IntArray | None) -> int:
    """Number of persons in some of the rows."""
    return int(np.count_nonzero(rows) if persons is None else persons[rows].sum())


def cells_of(
    factors: dict[Any, Factor], places: IntArray | None, persons: IntArray | None
) -> Cells:
    """The distinct cells of the rows at `places`, which rise, or of all; the persons in each."""
    rows = len(next(iter(factors.values())).codes)
    every = places is None or len(places) == rows
    kept: Any = slice(None) if every else places
    rows = rows if places is None else len(places)
    cells = count_cells([codes_of(factor, kept) for factor in factors.values()], rows)
    if persons is None:
        if every:
            keep_rows_of_levels(factors, cells)
        return cells
    counts = summed(cells.of_row, persons[kept], len(cells.counts))
    return Cells(cells.of_row, counts, cells.first_row)


def kept_cells(
    factors: dict[Any, Factor], kept: npt.NDArray[np.bool_], persons: IntArray | None
) -> tuple[Cells, IntArray, dict[Any, Factor]]:
    """The cells of the rows that are `kept`, that of each row, and the values of each cell."""
    places = None if kept.all() else np.flatnonzero(kept)
    cells = cells_of(factors, places, persons)
    row_cells, first_row = cells.of_row, cells.first_row
    if places is not None:
        row_cells = np.full(len(kept), -1)
        row_cells[places] = cells.of_row
        first_row = places[cells.first_row]
    values = {name: Factor(each.codes[first_row], each.levels) for name, each in factors.items()}
    return cells, row_cells, values


def repeated(places: Any, persons: IntArray) -> Any:
    """Each place as many times as there are persons."""
    if persons.sum() > _MOST_PERSONS:
        rule = f"hold at most {_MOST_PERSONS:,} persons for margins, which take a row a person"
        invalid("table", rule, remedy="Leave margins out: the joint counts leak at least as much")
    return np.repeat(places, persons)


def _refuse_missing(factors: dict[Any, Factor], persons: IntArray | None, counts: Any) -> NoReturn:
    absent = [(name, factor.codes < 0) for name, factor in factors.items()]
    absent = [(name, each) for name, each in absent if each.any()]
    where = listed(absent, show=lambda gap: f"{persons_in(gap[1], persons):,} in column {gap[0]!r}")
    if counts is not None:
        where = listed(
            absent,
            show=lambda gap: (
                f"{np.count_nonzero(gap[1]):,} in column {gap[0]!r}, of "
                f"{persons_in(gap[1], persons):,} persons"
            ),
        )
    remedy = "Pass na='category' to count missing as a value, or na='drop' to leave such rows out"
    merged = [name for name, each in absent if counts is not None and not each[0]]
    if merged:
        remedy = (
            "If an empty field repeats the value above it, as merged cells of a spreadsheet do, "
            f"write it into each row (pandas: frame[{merged[0]!r}].ffill()). If not, p{remedy[1:]}"
        )
    codes = [each.codes for each in factors.values()]
    blank = number_of_blank_rows(codes) if persons is None else 0
    if blank:
        remedy = (
            f"{blank:,} rows have no value in any column, as blank lines of a spreadsheet do: take "
            f"them out of the file. For others, p{remedy[1:]}"
        )
    invalid("table", f"have no missing values; there are {where}", remedy=remedy)
