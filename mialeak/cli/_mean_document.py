"""What ``mialeak mean`` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import at_least, number, percent, printable

if TYPE_CHECKING:
    from mialeak.cli._mean_report import MeanReport
    from mialeak.cli._released import Column

__all__ = ["document"]

#: Names of columns listed of each kind.
_NAMED = 12


def document(report: MeanReport, *, target: float, top: int) -> Document:
    """The answer, the rows' leakage, the table, noise, rows at risk."""
    sections = [
        _rows(report),
        _table(report),
        _noise(report),
        _needed(report.noise_needed(target)),
    ]
    if top:
        sections.append(_riskiest(report, report.riskiest(top)))
    return Document(_answer(report), sections)


def _answer(report: MeanReport) -> str:
    count = len(report.released.columns)
    means = f"the means of these {count:,} columns" if count > 1 else "the mean of this column"
    rows = f"{report.released.rows:,} rows"
    if report.rows_used < report.released.rows:
        rows = f"{report.rows_used:,} rows drawn from {rows}"
    noise = f", with noise of {report.noise_std:g} on each," if report.noise_std else ""
    average, highest = float(report.leakage.mean()), float(report.leakage.max())
    return (
        f"Publishing {means} over {rows}{noise} leaks {number(average)} on average and "
        f"{number(highest)} about the riskiest row: who knows the population and sees the means "
        f"can tell whether that row is among them, and is right {percent((1 + highest) / 2)} of "
        "the time; a coin is right 50%."
    )


def _rows(report: MeanReport) -> Section:
    leakage = report.leakage
    told = [(leakage.mean(), "on average"), (leakage.max(), "about the riskiest row")]
    for point in report.distribution():
        told.append((point["leakage"], f"at least about {point['share']:.0%} of the rows"))
    told.append((leakage.min(), "about the safest row"))
    pairs = Pairs([(number(float(value)), text) for value, text in told])
    return Section("Leakage", [pairs, Notes(report.caveats)])


def _table(report: MeanReport) -> Section:
    released = report.released
    numbers = [printable(c.name) for c in released.columns if not c.is_category]
    categories = [_category(c) for c in released.columns if c.is_category]
    lines = [f"{released.rows:,} rows"]
    if released.rows_dropped:
        lines[0] += f"; {released.rows_dropped:,} more dropped: a value is missing"
    if numbers:
        lines.append(f"{_count(numbers, 'column')} of numbers: {_some(numbers)}")
    if categories:
        lines.append(f"{_count(categories, 'category', 'categories')}: {_some(categories)}")
    free = f"{released.free:,} free columns"
    if released.is_full:
        lines.append(f"full covariance of {free}, with more than 5 rows for each")
    else:
        lines.append(f"columns taken as uncorrelated: {free}, with at most 5 rows for each")
    if categories:
        lines.append("a category has one free column less than it has values")
    return Section("Table", [Notes(lines)])


def _category(column: Column) -> str:
    return f"{printable(column.name)} ({column.free + 1:,} values)"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _count(names: Sequence[str], one: str, many: str = "") -> str:
    return f"{len(names):,} {one if len(names) == 1 else many or one + 's'}"


def _noise(report: MeanReport) -> Section:
    header = ("standard deviation", "in sampling errors", "riskiest row", "average")
    body = [
        (
            f"{x['noise_std']:.4g}",
            f"{x['noise_std'] / report.sampling_error:.3g}",
            number(x["riskiest"]),
            number(x["average"]),
        )
        for x in report.noise_effect
    ]
    title = "Leakage with noise on each mean, its standard deviation in those of the column"
    return Section(title, [Table(header, body)])


def _needed(needed: dict[str, float]) -> Section:
    goal = f"Noise needed to leak at most {needed['leakage']:g}"
    riskiest = (at_least(needed["riskiest"]), "about the riskiest row, and so about every row")
    told = Pairs([riskiest, (at_least(needed["average"]), "on average")])
    return Section(f"{goal}, in standard deviations of the column", [told])


def _riskiest(report: MeanReport, rows: Sequence[dict[str, Any]]) -> Section:
    header = ("row", "leakage", *report.labels, "furthest from the mean (standard deviations)")
    body = [
        (
            f"{row['row']}",
            number(row["leakage"]),
            *(printable(value) for value in row["labels"].values()),
            ", ".join(
                f"{printable(x['column'])} = {printable(x['value'])} ({x['deviations']:+.1f})"
                for x in row["furthest"]
            ),
        )
        for row in rows
    ]
    title = f"Rows most at risk ({len(rows):,} of {report.released.rows:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=1 + len(report.labels))])
