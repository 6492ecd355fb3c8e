"""The parts of a table's report, and the document that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import listed
from mialeak._checks.tables.crosstabs import may_be_crosstab
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import accuracy, enough, number, percent, printable
from mialeak._results import Kind, Result
from mialeak.tables._by_column import section_of_columns
from mialeak.tables._secrets import section_of_secret

if TYPE_CHECKING:
    from mialeak.tables._protections import ProtectedTable
    from mialeak.tables._report import TableReport

__all__ = [
    "CellSize",
    "RowAtRisk",
    "SampleSize",
    "assumed",
    "compared",
    "counted",
    "document",
]

#: Times the rows of the table beyond which no number of rows is stated: none at hand is enough.
_RATIO = 10


def document(report: TableReport, *, leakage: float, top: int, show_rows: bool) -> Document:
    """The answer, the two numbers, cells, rows needed, rows at risk."""
    sections = [
        _numbers(report),
        counted(report),
        *section_of_secret(report),
        *section_of_columns(report),
        _sizes(report),
    ]
    if report.people is None:
        sections.append(_needed(report, report.samples_for(leakage)))
    if report.protections:
        sections.append(compared(report.protections))
    if top:
        sections.append(_riskiest(report, report.riskiest(top), show_rows))
    return Document(_answer(report), sections, report.cautions)


def assumed(report: TableReport) -> tuple[str, ...]:
    """What the answer takes for granted: who is counted, how they were drawn, what is published."""
    codes = (
        "Values are categories as they are published, and none marks a missing value. Otherwise: "
        "options recode, bin and missing."
    )
    if report.margins is not None and report.margins.independent:
        codes = f"The columns of different margins are independent of one another. {codes}"
    alone = "No other numbers about these people are published. Otherwise: mialeak release."
    if report.secret is not None:
        column = printable(report.secret.column)
        alone = f"The published table is by the secret column {column} too. {alone}"
    return _people(report), _drawn(report), codes, alone


def _people(report: TableReport) -> str:
    """Who is counted."""
    if report.persons is not None:
        column = printable(report.persons.column)
        return f"Rows with the same value of {column} are those of one person."
    if report.counts is not None:
        return (
            f"Column {printable(report.counts)} counts the people in the data, each in one row; "
            "its numbers are not estimates from a sample, nor per cent. If years, sites or "
            "questions repeat people, keep the rows of one of them; if rows are sums of others, "
            "name the value that marks them: option total."
        )
    who = (
        "Each row is a different person. If persons have several rows: option person. If the rows "
        "are counted already: option counts."
    )
    if 2 * report.n_cells > report.rows and may_be_crosstab(dict(enumerate(report._cell_values))):
        who += " No number counts persons; of a cross-tabulation, write one row a cell."
    return who


def _drawn(report: TableReport) -> str:
    """How the people came into the table."""
    apart = "and was drawn independently of the others, not with a household or class"
    if report.population is not None:
        each = "In each stratum everyone" if report.population.strata else "Everyone"
        return f"{each} in the register was equally likely to be in the table, {apart}."
    if report.people is not None:
        return (
            f"Each of the {report.people:,} people was equally likely to be in the table, {apart}."
        )
    if report.n < report.rows:
        return (
            f"The {report.n:,} rows are drawn anew from an infinite population; if they are drawn "
            "from the people of the table, pass it as the register too: option population."
        )
    return (
        f"Everyone in a large population was equally likely to be in the table, {apart}. If the "
        "population is a register, or the chances differ: options population and strata."
    )


def _answer(report: TableReport) -> str:
    value = report.estimate
    one = report.n_cells == 1
    people = f"{report.rows:,} {'person' if report.rows == 1 else 'people'}"
    release = f"{_counts(report.n_cells)} of {people}"
    seen = "this count" if one else "these counts"
    if report.n != report.rows:
        release, seen = f"such counts of {_rows(report.n)}", "such counts"
    known = "the population"
    if report.people is not None:
        release += f", drawn from {report.people:,},"
        known = "all of them"
    return (
        f"Publishing {release} leaks {number(value.value)} ({_interval(report)}). An attacker who "
        f"knows {known} and sees {seen} can decide whether a random person is in the table "
        f"with {accuracy(value.value)} accuracy (guessing: 50%)."
    )


def _counts(count: int) -> str:
    return "this count" if count == 1 else f"these {count:,} counts"


def _interval(report: TableReport) -> str:
    span = _span(report.estimate.low, report.estimate.high)
    if not report.estimate.claimed:
        return f"rough range {span}, no interval is claimed"
    return f"{_level(report)} interval {span}"


def _level(report: TableReport) -> str:
    return f"{100 * report.estimate.confidence:g}%"


def _span(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def _numbers(report: TableReport) -> Section:
    value = report.estimate.value
    source = "population these rows came from"
    if report.people is not None:
        source = f"{report.people:,} people these rows were drawn from"
    population = f"for the {source} (estimate, {_interval(report)})"
    by_frequencies = "if the table's own frequencies were the population (exact: plug-in)"
    pairs = [(number(value), population), (number(report.plug_in), by_frequencies)]
    if report.panel is not None:
        rows = f"{report.panel.panel.rows:,}"
        text = f"to an attacker who knows the population by the {rows} rows of the panel alone"
        pairs.append((number(report.panel.leakage), f"{text} (exact)"))
        text = "the same for the riskiest row of the table (exact)"
        pairs.append((number(report.panel.highest), text))
    numbers = Pairs(pairs)
    return Section("Leakage", [numbers, Notes(report.caveats[len(report.cautions) :])])


def counted(report: TableReport) -> Section:
    """What was counted."""
    names = ", ".join(printable(name) for name in report.columns)
    columns = f"{len(report.columns)} column{'s' * (len(report.columns) != 1)}"
    alone = f"({percent(report.n_unique / report.rows)})"
    alone += " is alone in its own" if report.n_unique == 1 else " are alone in theirs"
    cells = f"{report.n_cells:,} distinct cell{'s' * (report.n_cells != 1)}"
    lines = [
        f"{_rows(report.rows)}, {columns}: {names}",
        f"{cells}; {_rows(report.n_unique)} {alone}",
    ]
    if report.counts is not None:
        empty = f"; {report.cells_empty:,} of them 0" if report.cells_empty else ""
        lines.append(f"already counted: the counts are those of {printable(report.counts)}{empty}")
    if report.source is not None:
        lines.append(f"counted by {report.source.engine}: the cells came, not the rows")
    if report.recoding is not None:
        lines.append(f"recoded: {printable(str(report.recoding))}")
    if report.rows_dropped:
        dropped = "row" if report.rows_dropped == 1 else "rows"
        lines.append(f"{report.rows_dropped:,} more {dropped} dropped: a value is missing")
    if report.rows_missing:
        have = "row has" if report.rows_missing == 1 else "rows have"
        lines.append(f"{report.rows_missing:,} {have} a missing value, counted as a category")
    if report.columns_stripped:
        stripped = listed(report.columns_stripped, show=printable)
        lines.append(f"spaces around the values of {stripped} removed")
    return Section("Table", [Notes(lines)])


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _sizes(report: TableReport) -> Section:
    level = _level(report)
    header = ("rows in a cell", "cells", "rows", "share", f"leakage of a row, {level} range")
    body = [
        (
            f"{size.least:,}" if size.least == size.most else f"{size.least:,} to {size.most:,}",
            f"{size.cells:,}",
            f"{size.rows:,}",
            percent(size.rows / report.rows),
            _span(size.low, size.high),
        )
        for size in report.cell_sizes
    ]
    return Section("Rows by the size of their cell", [Table(header, body)])


def _needed(report: TableReport, size: SampleSize) -> Section:
    population = (size.population, enough(size.population))
    by_frequencies = (size.plug_in, f"{size.plug_in:,}")
    most = _RATIO * report.rows
    pairs = [
        (f"over {most:,}", f"{text}: no size at hand is enough") if rows > most else (shown, text)
        for (rows, shown), text in (
            (population, "for the population these rows came from (estimate)"),
            (by_frequencies, "if the table's own frequencies were the population (exact)"),
        )
    ]
    return Section(f"Rows a release needs to leak at most {size.leakage:g}", [Pairs(pairs)])


def compared(tables: Sequence[ProtectedTable]) -> Section:
    """The raw counts and each protection: all rows, rows alone in their cell, what is lost."""
    alone, exact = tables[0].alone is not None, tables[0].kind == "exact"
    both = "all counts" if exact else "own frequencies"
    header: tuple[str, ...]
    header = ("leakage", "a row alone", "at most", both, "hidden", "off by", "counts published")
    body: list[tuple[str, ...]] = [
        (
            number(table.value),
            number(table.alone or 0.0),
            number(table.alone_high or 0.0),
            number(table.plug_in.lower)
            if table.plug_in.kind == "exact"
            else _span(table.plug_in.lower, table.plug_in.upper),
            "" if table.hidden is None else percent(table.hidden),
            "" if table.change is None else f"{table.change:.3g}",
            table.protection,
        )
        for table in tables
    ]
    lines = [
        "Leakage: exact, for a random person of the register, as the answer above."
        if exact
        else "Leakage: estimate for the population these rows came from, as the answer above; "
        "without an interval. On tables from known laws it was off by at most 0.04.",
        "It is what the published count of a person's own cell leaks. If the number of rows is "
        "published as well, all counts together may leak more, at most what they leak as they are.",
    ]
    if any(table.change is None and table.hidden is not None for table in tables):
        lines.append("Of moved rows (pram) it is what all counts together leak.")
    if alone:
        lines.append(
            "A row alone: of those alone in their cell of the table the mean, and the highest."
            if exact
            else "A row alone: estimate for a row alone in its cell, and the highest it can be."
        )
    else:
        header = (header[0], *header[3:])
        body = [(row[0], *row[3:]) for row in body]
    lines.append(
        "All counts: the leakage of the counts of all cells together (exact, or two bounds)."
        if exact
        else "Own frequencies: the leakage if the table's own frequencies were the population and "
        "the number of rows known (exact, or two bounds)."
    )
    if all(table.hidden is None for table in tables[1:]):
        header, body = (*header[:-3], header[-1]), [(*row[:-3], row[-1]) for row in body]
    else:
        lines.append(
            "Hidden: share of the table's cells. Off by: mean distance of shown counts from the "
            "true ones."
        )
    return Section("Protections compared", [Table(header, body, left=1), Notes(lines)])


def _riskiest(report: TableReport, rows: Sequence[RowAtRisk], show_rows: bool) -> Section:
    names = report.columns if show_rows else ()
    header = ("row", "in its cell", "leakage", *(printable(name) for name in names))
    body = [
        (
            f"{row.row}",
            f"{row.count:,}",
            _span(row.low, row.high),
            *(printable(row.values[name]) for name in names),
        )
        for row in rows
    ]
    most = rows[-1].count
    peers = f"{int(report.cell_counts[report.cell_counts <= most].sum()):,}"
    where = "alone in their cell" if most == 1 else f"in cells of at most {most:,}"
    title = f"Rows most at risk ({len(rows):,} of the {peers} {where}; row 0 is the first)"
    if report.by_cell:
        cells = f"{int(np.count_nonzero(report.cell_counts <= most)):,}"
        size = "a count of 1" if most == 1 else f"a count of at most {most:,}"
        first = "row 0 is the first" if report.counts is not None else "numbered as they came"
        title = f"Cells most at risk ({len(rows):,} of the {cells} with {size}; {first})"
        if report.source is not None:
            header = ("cell", *header[1:])
    return Section(title, [Table(header, body, left=len(names))])


@dataclass(frozen=True, repr=False)
class RowAtRisk(Result):
    """A row in a rare cell.

    Attributes
    ----------
    row : int
        Its place in the table, counted from 0.
    cell : int
        The number of its cell, as in ``TableReport.row_cells``.
    count : int
        Rows of the table in that cell, itself included.
    values : dict
        Its value in each of the columns; None where missing.
    low, high : float
        Range of its leakage: how well the best attack recognises, from the released counts, that
        this row is among them.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> row = table_leakage(table).riskiest(1)[0]
    >>> f"row {row.row} shares its cell with {row.count - 1} others"
    'row 0 shares its cell with 199 others'
    """

    row: int
    cell: int
    count: int
    values: dict[Any, Any]
    low: float
    high: float
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False)
class CellSize(Result):
    """All cells that hold about the same number of rows.

    Attributes
    ----------
    least, most : int
        Smallest and largest number of rows in such a cell.
    cells, rows : int
        How many cells there are, and rows in them.
    low, high : float
        Range of the leakage of those rows.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> size = table_leakage(table).cell_sizes[0]
    >>> f"{size.cells} cells of {size.least} to {size.most} rows"
    '6 cells of 200 to 200 rows'
    """

    least: int
    most: int
    cells: int
    rows: int
    low: float
    high: float
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False)
class SampleSize(Result):
    """Rows a release must have for a target leakage.

    Attributes
    ----------
    leakage : float
        The target.
    population : int
        For the population the table came from: an estimate.
    low, high : int
        Rows with which the lower and the upper end of the interval of the leakage are at most the
        target.  `high` is None if no number of rows up to 2**53 will do: cells that the table
        missed may be too rare for any.
    plug_in : int
        Exact, if the table's own frequencies were the population.
    rough : bool
        Whether `population` is more than ten times the table.  How rare the rarest cells are, which
        decides it there, is more than the table shows.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> needed = table_leakage(table).samples_for(0.01)
    >>> needed.plug_in, needed.low < needed.population < needed.high
    (7959, True)
    """

    leakage: float
    population: int
    low: int
    high: int | None
    plug_in: int
    rough: bool
    kind: Kind = "estimate"
