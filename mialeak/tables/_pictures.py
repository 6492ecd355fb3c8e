"""The picture of a report on a table: leakage by row and by size, and what protections bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._report.report import Panel, entitle
from mialeak._report.text import number, percent
from mialeak._results import Bounds
from mialeak.discrete import max_leakage
from mialeak.tables._estimate import estimate_max_leakage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mialeak.tables._report import TableReport

__all__ = ["panels_of"]

#: Points of a curve.
_GRID = 30
#: Rows above which every second one is drawn, every third one, ...
_DRAWN = 10_000_000
#: Protections compared at most.
_MOST_BARS = 4


def panels_of(report: TableReport, leakage: float) -> list[Panel]:
    """The panels of a report; with protections, what these bring."""
    if report.persons is not None:
        alt = "Leakage of each person, riskiest first."
        return [Panel(alt, lambda ax: _persons(report, leakage, ax))]
    panels = [
        Panel("Leakage of each row, riskiest first.", lambda ax: _rows(report, leakage, ax)),
        Panel("Leakage by size of the release.", lambda ax: _sizes(report, leakage, ax)),
    ]
    if report.protections:
        alt = "Share of the people by leakage, unprotected and protected."
        panels.append(Panel(alt, lambda ax: _protections(report, ax)))
    return panels


def _persons(report: TableReport, leakage: float, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    assert report.persons is not None
    ends = report.persons.person_leakage
    LeakageDisplay.from_rows(ends, ax=ax, name="persons, upper end", limit=leakage)
    ax.set_xlabel("Share of the persons, riskiest first")
    above = percent(float(np.mean(ends.upper > leakage)))
    entitle(ax, f"{above} of the persons may leak more than {leakage:g}")


def _rows(report: TableReport, leakage: float, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    def above(cells: Any) -> str:
        """The share of the rows whose cell leaks more than the limit."""
        return percent(float(report.cell_counts @ (cells > leakage)) / report.rows)

    drawn = np.maximum(1, report.cell_counts // max(1, report.rows // _DRAWN))
    if report.population is not None:
        cells = report.population.cell_leakage
        rows = np.repeat(cells, drawn)
        LeakageDisplay.from_rows(rows, ax=ax, name="joint counts, exact", limit=leakage)
        entitle(ax, f"{above(cells)} of the rows leak more than {leakage:g}")
        return
    ends = report.cell_leakage if report.margins is None else report.margins.cell_leakage
    bounds = Bounds(np.repeat(ends.lower, drawn), np.repeat(ends.upper, drawn))
    name = "joint counts" if report.margins is None else "margins"
    LeakageDisplay.from_rows(bounds, ax=ax, name=f"{name}, upper end", limit=leakage)
    entitle(ax, f"{above(ends.upper)} of the rows may leak more than {leakage:g}")


def _sizes(report: TableReport, leakage: float, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    if report.population is not None:
        register, people = report.population.register, report.population.people
        half = np.geomspace(1.0, people / 2.0, _GRID).astype(np.int64)
        sampled = np.unique([half, people - half])  # n and N - n leak the same
        values = np.asarray(max_leakage(register, sampled)).tolist()
        name = "simple random samples" if report.population.strata else "samples of the register"
        LeakageDisplay.from_sizes(sampled.tolist(), values, ax=ax, name=name, limit=leakage)
        entitle(ax, f"This sample leaks {number(report.population.leakage)}")
        return
    largest = 100 * report.n if report.people is None else report.people - 1
    grid = np.geomspace(max(2.0, report.n / 100), min(100 * report.n, largest), _GRID)
    sizes = np.unique(grid.astype(np.int64)).tolist()
    known: dict[str, Any] = {"confidence": report.estimate.confidence, "population": report.people}
    estimates = [estimate_max_leakage(report.cell_counts, n, **known) for n in sizes]
    LeakageDisplay.from_sizes(sizes, estimates, ax=ax, name="joint counts", limit=leakage)
    if report.margins is not None:
        average = [report.margins.average_at(n) for n in sizes]
        name = "margins, own frequencies"
        LeakageDisplay.from_sizes(sizes, average, ax=ax, name=name, limit=leakage)
    leaks = report.estimate if report.margins is None else report.margins.average
    entitle(ax, f"A table of {report.n:,} rows leaks {number(leaks.value)}")


def _protections(report: TableReport, ax: Axes) -> None:
    from mialeak.plotting import ChangeDisplay

    leakage = {
        table.protection if k else "as it is": (table.cell_leakage, report.cell_counts)
        for k, table in enumerate(report.protections[: _MOST_BARS + 1])
    }
    ChangeDisplay.from_classes(leakage, ax=ax)
