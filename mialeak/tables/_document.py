"""What a table's report says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mialeak._document import Document, Notes, Pairs, Section, Table
from mialeak._text import enough, number, percent, printable

if TYPE_CHECKING:
    from mialeak.tables._protections import ProtectedTable
    from mialeak.tables._report import RowAtRisk, SampleSize, TableReport

__all__ = ["caveat_of_names", "counted", "document"]


def caveat_of_names(columns: Iterable[Any]) -> list[str]:
    """What to say of columns in which every row has a value of its own, if there are any."""
    names = ", ".join(repr(name) for name in columns)
    if not names:
        return []
    return [f"Every row has a value of its own in {names}, as a name has: leave out what is one."]


def document(report: TableReport, *, target: float, top: int) -> Document:
    """The answer, the two numbers, cells, rows needed, rows at risk."""
    sections = [
        _numbers(report),
        counted(report),
        _sizes(report),
        _needed(report.samples_for(target)),
    ]
    if report.protections:
        sections.append(_protections(report.protections))
    if top:
        sections.append(_riskiest(report, report.riskiest(top)))
    return Document(_answer(report), sections)


def _answer(report: TableReport) -> str:
    value = report.estimate
    release = f"these {report.n_cells:,} counts"
    if report.n != report.rows:
        release = f"such counts of {report.n:,} rows"
    return (
        f"Publishing {release} leaks {number(value.value)} ({_interval(report)}): who knows the "
        f"population and sees them can tell whether a random person is among the rows, and is "
        f"right {percent((1 + value.value) / 2)} of the time; a coin is right 50%."
    )


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
    population = f"for the population these rows came from (estimate, {_interval(report)})"
    own = "if the table's own frequencies were the population (exact: plug-in)"
    told = Pairs([(number(value), population), (number(report.plug_in), own)])
    return Section("Leakage", [told, Notes(report.caveats)])


def counted(report: TableReport) -> Section:
    """What was counted."""
    names = ", ".join(printable(name) for name in report.columns)
    columns = f"{len(report.columns)} column{'s' * (len(report.columns) != 1)}"
    alone = f"({percent(report.n_unique / report.rows)})"
    alone += " is alone in its own" if report.n_unique == 1 else " are alone in theirs"
    lines = [
        f"{_rows(report.rows)}, {columns}: {names}",
        f"{report.n_cells:,} distinct cells; {_rows(report.n_unique)} {alone}",
    ]
    if report.rows_dropped:
        lines.append(f"{report.rows_dropped:,} more rows dropped: a value is missing")
    if report.rows_missing:
        lines.append(f"{report.rows_missing:,} rows have a missing value, counted as a category")
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


def _needed(size: SampleSize) -> Section:
    kind = "rough estimate: over ten times the table" if size.rough else "estimate"
    population = f"for the population these rows came from ({kind})"
    own = "if the table's own frequencies were the population (exact)"
    told = Pairs([(enough(size.population), population), (f"{size.plug_in:,}", own)])
    return Section(f"Rows a release needs to leak at most {size.leakage:g}", [told])


def _protections(tables: Sequence[ProtectedTable]) -> Section:
    """The raw counts and each protection: all rows, rows alone in their cell."""
    alone = tables[0].alone is not None
    header: tuple[str, ...] = (
        "leakage",
        "a row alone",
        "at most",
        "own frequencies",
        "counts published",
    )
    body: list[tuple[str, ...]] = [
        (
            number(table.value),
            number(table.alone or 0.0),
            number(table.alone_high or 0.0),
            number(table.plug_in.lower)
            if table.plug_in.kind == "exact"
            else _span(table.plug_in.lower, table.plug_in.upper),
            table.protection,
        )
        for table in tables
    ]
    lines = [
        "Leakage: estimate for the population these rows came from, as the answer above; without "
        "an interval. On tables from known laws it was off by at most 0.04.",
        "It is what the published count of a person's own cell leaks. If the number of rows is "
        "published as well, all counts together may leak more, at most what they leak as they are.",
    ]
    if alone:
        lines.append(
            "A row alone: estimate for a row alone in its cell, and the highest it can be."
        )
    else:
        header = (header[0], *header[3:])
        body = [(row[0], *row[3:]) for row in body]
    lines.append(
        "Own frequencies: the leakage if the table's own frequencies were the population and the "
        "number of rows known (exact, or two bounds)."
    )
    return Section("Protections compared", [Table(header, body, left=1), Notes(lines)])


def _riskiest(report: TableReport, rows: Sequence[RowAtRisk]) -> Section:
    header = ("row", "in its cell", "leakage", *(printable(name) for name in report.columns))
    body = [
        (
            f"{row.row}",
            f"{row.count:,}",
            _span(row.low, row.high),
            *(printable(value) for value in row.values.values()),
        )
        for row in rows
    ]
    most = rows[-1].count
    peers = f"{int(report.cell_counts[report.cell_counts <= most].sum()):,}"
    where = "alone in their cell" if most == 1 else f"in cells of at most {most:,}"
    title = f"Rows most at risk ({len(rows):,} of the {peers} {where}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(report.columns))])
