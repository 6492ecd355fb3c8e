"""What a table's report says when margins are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import number, percent, printable
from mialeak.tables._document import counted

if TYPE_CHECKING:
    from mialeak._results import Bounds
    from mialeak.tables._margins import MarginReport, RowInMargins
    from mialeak.tables._report import TableReport

__all__ = ["document_of_margins"]


def document_of_margins(
    report: TableReport, margins: MarginReport, *, target: float, top: int, show_rows: bool
) -> Document:
    """The answer, the accounts, the margins, the rows, rows at risk."""
    own = "if the table's own frequencies were the population (asymptotic)"
    sections = [
        _numbers(report, margins),
        _published(margins),
        counted(report),
        _rows(margins),
        Section(
            f"Rows a release needs to leak at most {target:g} on average",
            [Pairs([(f"{margins.samples_for(target):,}", own)])],
        ),
    ]
    if top:
        sections.append(_riskiest(report, margins.riskiest(top), show_rows))
    return Document(_answer(margins), sections)


def _answer(margins: MarginReport) -> str:
    count = len(margins.margins)
    which = f"these {count:,} margins" if count > 1 else "this margin"
    release = f"{which} ({margins.n_counts:,} counts)"
    if margins.n != margins.rows:
        release = f"such margins of {margins.n:,} rows"
    average, highest = float(margins.average.upper), float(margins.highest.upper)
    return (
        f"Publishing {release} leaks {number(average)} on average and {number(highest)} about the "
        "riskiest row: who knows the population and sees them can tell whether a random person is "
        f"among the rows, and is right {percent((1 + average) / 2)} of the time; a coin is right "
        "50%."
    )


def _numbers(report: TableReport, margins: MarginReport) -> Section:
    high, low = _ends(margins.average)
    joint = f"{report.n_cells:,} joint counts of these columns"
    told = [
        (high, "judging each row by the frequencies of the others"),
        (low, "if the table's own frequencies were the population"),
        (number(report.estimate.value), f"for comparison, of all {joint} (estimate)"),
    ]
    return Section("Leakage on average", [Pairs(told), Notes(margins.caveats)])


def _published(margins: MarginReport) -> Section:
    header = ("cells", "least rows", "below 10", "margin")
    body = [
        (f"{m.cells:,}", f"{m.least:,}", f"{m.few:,}", printable(m.name)) for m in margins.margins
    ]
    return Section("Margins", [Table(header, body, left=1)])


def _rows(margins: MarginReport) -> Section:
    header = ("share of the rows", "leak at least", "by own frequencies")
    body = [("the riskiest row", *_ends(margins.highest))]
    for point in margins.distribution():
        body.append((f"{point['share']:.0%}", number(point["high"]), number(point["low"])))
    return Section("Leakage of the rows", [Table(header, body)])


def _ends(bounds: Bounds) -> tuple[str, str]:
    return number(float(bounds.upper)), number(float(bounds.lower))


def _riskiest(report: TableReport, rows: Sequence[RowInMargins], show_rows: bool) -> Section:
    columns = report.columns if show_rows else ()
    names = [printable(name) for name in columns]
    header = ("row", "leakage", "by own", "in its rarest cell", "of margin", *names)
    body = [
        (
            f"{row.row}",
            number(row.high),
            number(row.low),
            f"{row.count:,}",
            printable(row.margin),
            *(printable(row.values[name]) for name in columns),
        )
        for row in rows
    ]
    title = f"Rows most at risk ({len(rows):,} of {report.rows:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=1 + len(names))])
