"""What a table's report says when margins are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import number, percent, printable
from mialeak.tables._document import counted
from mialeak.tables._margin_cells import FEW

if TYPE_CHECKING:
    from mialeak.tables._margins import MarginLeakage, MarginReport, RowInMargins
    from mialeak.tables._report import TableReport

__all__ = ["document_of_margins"]


def document_of_margins(
    report: TableReport, margins: MarginReport, *, leakage: float, top: int, show_rows: bool
) -> Document:
    """The answer, the accounts, the margins, the rows, rows at risk."""
    kind = "exact" if margins.is_exact else "asymptotic"
    own = f"if the table's own frequencies were the population ({kind})"
    sections = [
        _numbers(report, margins),
        _published(margins),
        counted(report),
        _rows(margins),
        Section(
            f"Rows a release needs to leak at most {leakage:g} on average",
            [Pairs([(f"{margins.samples_for(leakage):,}", own)])],
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
    average, highest = margins.average, margins.highest
    return (
        f"Publishing {release} leaks {number(average.value)} on average ({_range(margins, average)}"
        f") and {_ends(highest)} about the riskiest row. An attacker who knows the population and "
        "sees these counts can tell with "
        f"{percent((1 + average.value) / 2)} accuracy whether a random person is in the table "
        "(guessing: 50%)."
    )


def _range(margins: MarginReport, leakage: MarginLeakage) -> str:
    return f"{100 * margins.confidence:g}% range {_span(leakage)}"


def _span(leakage: MarginLeakage) -> str:
    return f"{number(leakage.low)} to {number(leakage.high)}"


def _ends(leakage: MarginLeakage) -> str:
    """The number itself if its ends meet, and otherwise these."""
    return number(leakage.value) if leakage.low == leakage.high else _span(leakage)


def _numbers(report: TableReport, margins: MarginReport) -> Section:
    average, own = margins.average, margins.plug_in.average
    joint = f"{report.n_cells:,} joint counts of these columns"
    frequencies = "if the table's own frequencies were the population"
    population = f"for the population these rows came from ({_range(margins, average)})"
    if margins.is_exact:
        exact = f"{frequencies} (exact: plug-in)"
    else:
        exact = f"{frequencies} (asymptotic; certainly {_span(own)})"
        population = population.replace("(", "(asymptotic; ")
    told = [
        (number(average.value), population),
        (number(own.value), exact),
        (number(report.estimate.value), f"for comparison, of all {joint} (estimate)"),
    ]
    return Section("Leakage on average", [Pairs(told), Notes(margins.caveats)])


def _published(margins: MarginReport) -> Section:
    header = ("cells", "least rows", f"below {FEW} expected", "margin")
    body = [
        (f"{m.cells:,}", f"{m.least:,}", f"{m.few:,}", printable(m.name)) for m in margins.margins
    ]
    return Section("Margins", [Table(header, body, left=1)])


def _rows(margins: MarginReport) -> Section:
    header = ("share of the rows", "leak at least", "range", "by own frequencies")
    highest = margins.highest
    body = [
        (
            "the riskiest row",
            number(highest.value),
            _span(highest),
            number(margins.plug_in.highest.value),
        )
    ]
    for point in margins.distribution():
        span = f"{number(point['low'])} to {number(point['high'])}"
        share = f"{point['share']:.0%}"
        body.append((share, number(point["value"]), span, number(point["plug_in"])))
    return Section("Leakage of the rows", [Table(header, body)])


def _riskiest(report: TableReport, rows: Sequence[RowInMargins], show_rows: bool) -> Section:
    columns = report.columns if show_rows else ()
    names = [printable(name) for name in columns]
    header = ("row", "leakage", "by own", "in its rarest cell", "of margin", *names)
    body = [
        (
            f"{row.row}",
            _span(row.population),
            _ends(row.plug_in),
            f"{row.count:,}",
            printable(row.margin),
            *(printable(row.values[name]) for name in columns),
        )
        for row in rows
    ]
    title = f"Rows most at risk ({len(rows):,} of {report.rows:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=1 + len(names))])
