"""``--mechanism`` and ``--coarsen``: what usual protections of a table of counts leave."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray
    from mialeak._document import Section
    from mialeak.tables import TableReport

__all__ = ["add_options", "content", "results", "section"]

_FORMS = "round:BASE, random-round:BASE, suppress:BELOW or geometric:EPSILON"


def add_options(add: Any) -> None:
    """Describe the options."""
    add(
        "--mechanism",
        action="append",
        type=_mechanism,
        metavar="NAME:X",
        help=f"also tell what leaks if each count is protected: {_FORMS}; may be repeated",
    )
    add(
        "--coarsen",
        type=float,
        metavar="X",
        help="also tell how few merges of cells bring the leakage down to X",
    )


def _mechanism(text: str) -> tuple[str, Any]:
    """The option's text and the mechanism that it names."""
    from mialeak import mechanisms

    kinds: dict[str, tuple[Any, type]] = {
        "round": (mechanisms.Round, int),
        "random-round": (mechanisms.RandomRound, int),
        "suppress": (mechanisms.Suppress, int),
        "geometric": (mechanisms.Geometric, float),
    }
    name, _, value = text.partition(":")
    try:
        kind, number = kinds[name]
        return text, kind(number(value))
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"must be {_FORMS}; got {text!r}") from None


def results(report: TableReport, options: argparse.Namespace) -> list[dict[str, Any]]:
    """For each protection its leakage if the table's own frequencies are the population."""
    if not options.mechanism and options.coarsen is None:
        return []
    if options.margins is not None:
        raise ValueError("--mechanism and --coarsen go with all joint counts, not with --margins")
    from mialeak.mechanisms import Histogram, mechanism_leakage

    law = report.cell_counts / report.rows
    found = []
    for name, way in [("all counts as they are", Histogram()), *(options.mechanism or [])]:
        fixed, poisson = (
            mechanism_leakage(way, law, report.n, rows=rows) for rows in ("fixed", "poisson")
        )
        found.append({"protection": name, "fixed": fixed.to_dict(), "poisson": poisson.to_dict()})
    if options.coarsen is not None:
        found.append(_coarsened(report, law, options.coarsen))
    return found


def _coarsened(report: TableReport, law: FloatArray, budget: float) -> dict[str, Any]:
    """Cells merged: neighbours, if they are the values of one column in their order."""
    import numpy as np

    from mialeak.mechanisms import Histogram, coarsen, mechanism_leakage

    if not 0 <= budget <= 1:
        raise ValueError(f"--coarsen must be between 0 and 1; got {budget}")
    cells = range(len(law))
    order, ordered = np.arange(len(law)), False
    if len(report.columns) == 1:
        values = [report.cell_values(cell)[report.columns[0]] for cell in cells]
        if all(isinstance(value, (int, float)) for value in values):
            order, ordered = np.argsort(np.array(values), kind="stable"), True
    groups = coarsen(law[order], report.n, budget, ordered=ordered)
    merged = np.bincount(groups.labels, law[order])
    fixed, poisson = (
        mechanism_leakage(Histogram(), merged, report.n, rows=rows) for rows in ("fixed", "poisson")
    )
    how = "fewest merges of neighbours" if groups.optimal else "merges found greedily"
    return {
        "protection": f"{len(law):,} cells merged to {groups.groups:,} ({how})",
        "groups": groups.groups,
        "optimal": groups.optimal,
        "fixed": fixed.to_dict(),
        "poisson": poisson.to_dict(),
    }


def content(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The results for JSON; nothing if none were asked for."""
    return {"protections": found} if found else {}


def section(found: list[dict[str, Any]]) -> Section:
    """The results for people."""
    from mialeak._document import Notes, Section, Table
    from mialeak._text import number

    def cells(row: dict[str, Any]) -> tuple[str, str, str]:
        fixed = row["fixed"]
        span = number(fixed["lower"])
        if fixed["kind"] != "exact":
            span = f"{span} to {number(fixed['upper'])}"
        return number(row["poisson"]["lower"]), span, row["protection"]

    table = Table(
        ("Poisson rows", "rows known", "protection"), [cells(row) for row in found], left=1
    )
    notes = Notes(
        [
            "Leakage if the table's own frequencies were the population. With a Poisson number of "
            "rows it is exact. If the number of rows is known, so that the cells constrain one "
            "another, it is between what the target's own cell tells and what all counts tell."
        ]
    )
    return Section("Protections compared", [table, notes])
