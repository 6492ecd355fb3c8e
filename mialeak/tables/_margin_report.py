"""From margins to the report on them: both accounts, the average for the population, the words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._cells import Cells
from mialeak._columns import Factor
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import number, percent, printable
from mialeak._results import Kind
from mialeak.tables._document import counted
from mialeak.tables._estimate import estimate_max_leakage
from mialeak.tables._margin_cells import SMALL, Codes, Ends, MarginCells, margin_cells
from mialeak.tables._margins import Margin, MarginAccount, MarginLeakage, MarginReport, RowInMargins
from mialeak.tables._sampling import leakage_at

if TYPE_CHECKING:
    from mialeak.tables._report import TableReport

__all__ = ["document_of_margins", "margin_report"]

IntArray = npt.NDArray[np.int64]


def margin_report(
    margins: Sequence[tuple[Any, ...]],
    codes: Codes,
    cells: Cells,
    values: dict[Any, Factor],
    *,
    row_cells: IntArray,
    n: int,
    confidence: float,
    independent: bool,
    progress: bool,
) -> MarginReport:
    """The report on the margins of a table whose columns are `codes` and whose cells `cells`."""
    shown, each, joint = margin_cells(
        margins, codes, cells, independent=independent, progress=progress
    )
    counts = [margin.counts for margin in each]
    rows = shown.rows
    plug_in = _plug_in(shown, n)
    return MarginReport(
        margins=tuple(
            Margin(
                columns=names,
                cells=len(margin),
                least=int(margin.min()),
                small=int(np.count_nonzero(margin * (n / rows) < SMALL)),
            )
            for names, margin in zip(margins, counts, strict=True)
        ),
        rows=rows,
        n=n,
        confidence=confidence,
        independent=independent,
        row_cells=row_cells,
        population=_population(shown, plug_in, counts, joint, n, confidence),
        plug_in=plug_in,
        _cells=shown,
        _values=values,
    )


def _plug_in(cells: MarginCells, n: int) -> MarginAccount:
    low, value, high = cells.by_frequencies(n)
    kinds = np.full(low.size, "asymptotic")
    kinds[(value == low) | (value == high)] = "bound"
    kinds[low == high] = "exact"
    kind: Kind = "exact" if cells.squares is None else "asymptotic"
    average = MarginLeakage(
        low=float(cells.share @ low),
        value=float(cells.share @ value),
        high=float(cells.share @ high),
        kind=kind,
    )
    return MarginAccount(average, low, value, high, kinds, kind)


def _population(
    cells: MarginCells,
    plug_in: MarginAccount,
    counts: list[IntArray],
    joint: IntArray,
    n: int,
    confidence: float,
) -> MarginAccount:
    low, high = cells.by_confidence(n, confidence)
    value = plug_in.value if cells.independent else cells.by_fitted(n, counts)
    value = np.clip(value, low, high)
    average = _average(cells, counts, joint, n, confidence, (low, value, high))
    kinds = np.full(low.size, "estimate")
    return MarginAccount(average, low, value, high, kinds, "estimate")


def _average(
    cells: MarginCells,
    counts: list[IntArray],
    joint: IntArray,
    n: int,
    confidence: float,
    ends: Ends,
) -> MarginLeakage:
    """Leakage of a random row for the population.

    Of margins that one of them holds, the estimate of that table; of others, at least that of the
    single margin that leaks most and at most that of the joint counts.  The ends share what the
    interval may miss.  Of independent margins the mean of the rows' ranges, widened by the
    standard error of a mean over rows.
    """
    value = float(cells.share @ ends[1])
    if len(cells.widest) == 1:
        estimate = estimate_max_leakage(counts[cells.widest[0]], n, confidence=confidence)
        return MarginLeakage(estimate.low, estimate.value, estimate.high, "estimate")
    if cells.independent:
        variance = float(cells.share @ (ends[1] - value) ** 2) / cells.rows
        error = -float(special.ndtri((1.0 - confidence) / 2.0)) * math.sqrt(variance)
        low, high = (float(cells.share @ end) for end in (ends[0], ends[2]))
        return MarginLeakage(max(0.0, low - error), value, min(1.0, high + error), "estimate")
    level = cells.shared(confidence)
    single = [counts[k] for k in cells.widest]
    leaks = [margin @ leakage_at(margin / cells.rows, n, 1.0) for margin in single]
    most = estimate_max_leakage(single[int(np.argmax(leaks))], n, confidence=level)
    every = estimate_max_leakage(joint, n, confidence=confidence)
    value = min(max(value, most.value), every.value)
    low = min(most.low, every.high)
    return MarginLeakage(low, max(value, low), every.high, "estimate")


def document_of_margins(
    report: TableReport, margins: MarginReport, *, leakage: float, top: int, show_rows: bool
) -> Document:
    """The answer, the accounts, the margins, the rows, rows at risk."""
    kind = "exact" if margins.is_exact else "asymptotic"
    plug_in = f"if the table's own frequencies were the population ({kind})"
    sections = [
        _numbers(report, margins),
        _published(margins),
        counted(report),
        _rows(margins),
        Section(
            f"Rows a release needs to leak at most {leakage:g} on average",
            [Pairs([(f"{margins.samples_for(leakage):,}", plug_in)])],
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
        "sees these counts can decide with "
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
    average, plug_in = margins.average, margins.plug_in.average
    joint = f"{report.n_cells:,} joint counts of these columns"
    frequencies = "if the table's own frequencies were the population"
    population = f"for the population these rows came from ({_range(margins, average)})"
    if margins.is_exact:
        exact = f"{frequencies} (exact: plug-in)"
    else:
        exact = f"{frequencies} (asymptotic; certainly {_span(plug_in)})"
        population = population.replace("(", "(estimate; ")
    numbers = [
        (number(average.value), population),
        (number(plug_in.value), exact),
        (number(report.estimate.value), f"for comparison, of all {joint} (estimate)"),
    ]
    return Section("Leakage on average", [Pairs(numbers), Notes(margins.caveats)])


def _published(margins: MarginReport) -> Section:
    header = ("cells", "least rows", f"below {SMALL} expected", "margin")
    body = [
        (f"{m.cells:,}", f"{m.least:,}", f"{m.small:,}", printable(m.name)) for m in margins.margins
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
