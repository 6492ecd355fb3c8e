"""``--mechanism`` and ``--coarsen``: what usual protections of a table of counts leave."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray
    from mialeak._report.document import Section
    from mialeak.tables import TableReport

__all__ = ["add_options", "results", "section"]

_FORMS = "round:BASE, random-round:BASE, suppress:BELOW or geometric:EPSILON"


def add_options(add: Any) -> None:
    """Describe the options."""
    add(
        "--mechanism",
        action="append",
        type=_checked,
        metavar="NAME:X",
        help=f"also tell what leaks if each count is protected: {_FORMS}; may be repeated",
    )
    add(
        "--coarsen",
        type=_options.number(_options.SHARE),
        metavar="X",
        help="also tell how few merges of cells bring the leakage down to X",
    )


def _checked(text: str) -> str:
    """The option, if it names a mechanism, for argparse."""
    try:
        _mechanism(text)
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"must be {_FORMS}; got {text!r}") from None
    return text


def _mechanism(text: str) -> Any:
    """The mechanism that the option names."""
    from mialeak import mechanisms

    kinds: dict[str, tuple[Any, type]] = {
        "round": (mechanisms.Round, int),
        "random-round": (mechanisms.RandomRound, int),
        "suppress": (mechanisms.Suppress, int),
        "geometric": (mechanisms.Geometric, float),
    }
    name, _, value = text.partition(":")
    kind, number = kinds[name]
    return kind(number(value))


def results(report: TableReport, options: argparse.Namespace) -> list[dict[str, Any]]:
    """For each protection its leakage if the table's own frequencies are the population."""
    if not options.mechanism and options.coarsen is None:
        return []
    if options.margins is not None:
        raise ValueError("--mechanism and --coarsen go with all joint counts, not with --margins")
    from mialeak.mechanisms import Histogram, mechanism_leakage

    law = report.cell_counts / report.rows
    found = []
    ways = [(name, _mechanism(name)) for name in options.mechanism or []]
    for name, way in [("all counts as they are", Histogram()), *ways]:
        fixed, poisson = (
            mechanism_leakage(way, law, report.n, rows=rows) for rows in ("fixed", "poisson")
        )
        leakage = {"fixed": fixed.to_dict(), "poisson": poisson.to_dict()}
        found.append({"protection": name, "groups": None, "optimal": None, **leakage})
    if options.coarsen is not None:
        found.append(_coarsened(report, law, options.coarsen))
    return found


def _coarsened(report: TableReport, law: FloatArray, budget: float) -> dict[str, Any]:
    """Cells merged: neighbours, if they are the values of one column in their order."""
    import numpy as np

    from mialeak._columns import as_numbers
    from mialeak.mechanisms import Histogram, coarsen, mechanism_leakage

    cells = range(len(law))
    order, ordered = np.arange(len(law)), False
    if len(report.columns) == 1:
        values: Any = [report.cell_values(cell)[report.columns[0]] for cell in cells]
        if all(isinstance(value, str) for value in values):  # as in a CSV
            values = as_numbers(values, text=True)
        if values is not None and all(isinstance(value, (int, float)) for value in values):
            order, ordered = np.argsort(np.array(values), kind="stable"), True
    groups = coarsen(law[order], report.n, budget, ordered=ordered)
    merged = np.bincount(groups.labels, law[order])
    fixed, poisson = (
        mechanism_leakage(Histogram(), merged, report.n, rows=rows) for rows in ("fixed", "poisson")
    )
    fewest = "fewest merges of neighbours" if ordered else "fewest merges"
    how = fewest if groups.optimal else "merges found greedily"
    return {
        "protection": f"{len(law):,} cells merged to {groups.groups:,} ({how})",
        "groups": groups.groups,
        "optimal": groups.optimal,
        "fixed": fixed.to_dict(),
        "poisson": poisson.to_dict(),
    }


def section(found: list[dict[str, Any]]) -> Section:
    """The results for people."""
    from mialeak._report.document import Notes, Section, Table
    from mialeak._report.text import number

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
