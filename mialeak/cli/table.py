"""``mialeak table``: the leakage of a published table of counts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output, _protections

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mialeak.tables import TableReport

__all__ = ["add_parser", "run"]

#: The tables that ship with mialeak, and the columns of each that an outsider may know.
_EXAMPLES = {"adult": ["age", "education", "marital_status", "race", "sex"]}

#: Points of a picture's curve.
_GRID = 30

_DESCRIPTION = """\
How much does publishing the counts of a table leak about who is in it?
Leakage is the best attacker's advantage: 0 is a coin, 1 is certainty.

The rows of FILE are counted by the joint values of the chosen columns.  Two
numbers answer, and they differ: the estimate for the population that the rows
came from, with an interval, and the value if the table's own frequencies were
the population.

With --margins sex,age,sex*age only those tables of counts are published: the
rows by sex, by age, and by both.  The answer is then that for many rows in
every cell.

With --protect round:5 --protect suppress:10 usual protections are compared.
"""

_EPILOG = """\
With --max-leakage X the command is a gate: it exits with 2 if the upper end of
the estimate's interval (of margins, the average by the others' frequencies) is
above X, with 0 if not.  An error, usage included, exits with 1.

Examples:
  mialeak table --example adult
  mialeak table microdata.csv --columns age,sex,region --max-leakage 0.05
  mialeak table microdata.csv --margins 'sex,age,sex*age' --html report.html
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "table",
        help="leakage of a published table of counts",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    _options.add_table_options(add, _EXAMPLES)
    add("--columns", metavar="A,B,C", help="columns to count by (default: all of FILE)")
    add(
        "--margins",
        metavar="A,B,A*B",
        help="publish these tables of counts, not that of all columns together",
    )
    add(
        "--n",
        type=_options.whole(1),
        metavar="N",
        help="rows of the release (default: rows of the table)",
    )
    _options.add_limit(add, "how many rows a release needs")
    _protections.add_options(add)
    add(
        "--na",
        choices=("error", "category", "drop"),
        default="error",
        help="missing values, in a CSV the empty fields: refuse them (default), count them as a "
        "value of their own, or drop their rows",
    )
    _options.add_confidence(add)
    _options.add_top(add, 10)
    _options.add_outputs(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over the limit."""
    frame, columns, margins, file, origin = _read(options)
    from mialeak.tables import table_leakage

    report = table_leakage(
        frame,
        columns,
        margins=margins,
        n=options.n,
        na=options.na,
        confidence=options.confidence,
        protect=_protections.protections(options),
        coarsen=options.coarsen,
    )
    limit = options.max_leakage
    over, verdict = _verdict(report, limit)
    document = report.document(target=options.target, top=options.top)
    content = report.to_dict(top=options.top)
    content["samples"] = _samples(report, options.target)
    content["limit"] = None if limit is None else {"max_leakage": limit, "over": over}
    return _output.give(
        options,
        document,
        schema="mialeak.table/1",
        content=content,
        draw=lambda: _figure(report, options),
        title=f"What publishing counts of {options.example or file.name} leaks",
        alts=("Leakage of each row, riskiest first.", "Leakage by size of the release."),
        inputs=[file],
        verdict=verdict,
        over=over,
        source=origin,
    )


def _verdict(report: TableReport, limit: float | None) -> tuple[bool, str]:
    """Whether the report is over the limit, and the sentence that says so."""
    if report.margins is None:
        name, leakage = "upper end of the interval", report.estimate.high
    else:
        name, leakage = "average by the others' frequencies", float(report.margins.average.upper)
    return _output.judge(f"The {name}", leakage, limit)


def _samples(report: TableReport, target: float) -> dict[str, Any]:
    margins = report.margins
    return {
        **report.samples_for(target).to_dict(),
        "margins": None if margins is None else margins.samples_for(target),
    }


def _read(options: argparse.Namespace) -> tuple[Any, Any, Any, Path, str]:
    """The table, the columns to count by, the margins, the file, whom to thank for an example."""
    _options.one_table(options, "table")
    options.typed |= {"margins": "--margins", "leakage": "--target", "coarsen": "--coarsen"}
    columns = margins = None
    if options.columns is not None:
        columns = _options.names(options.columns, "--columns")
    if options.margins is not None:
        words = _options.names(options.margins, "--margins")
        if not words:
            raise ValueError("--margins must name at least one column")
        margins = [tuple(part.strip() for part in word.split("*")) for word in words]
        if columns is None:
            options.typed["columns"] = "--margins"
    if options.file is not None:
        wanted = columns
        if columns is None and margins is not None:
            wanted = list(dict.fromkeys(name for margin in margins for name in margin))
        return _options.read_file(options, wanted), columns, margins, Path(options.file), ""
    from mialeak import datasets

    example = getattr(datasets, f"load_{options.example}")()
    if columns is None and margins is None:
        columns = _EXAMPLES[options.example]
    origin = f"Table from {example.source} ({example.licence})"
    return example.columns, columns, margins, example.file, origin


def _figure(report: TableReport, options: argparse.Namespace) -> Figure:
    """Left the leakage of the rows, right that of releases of other sizes."""
    figure, (left, right) = _output.panels(2)
    import numpy as np

    from mialeak._results import Bounds
    from mialeak.plotting import LeakageDisplay
    from mialeak.tables import estimate_max_leakage

    margins = report.margins
    leakage = report.row_leakage if margins is None else margins.row_leakage
    kept = report.row_cells >= 0
    ends = Bounds(np.asarray(leakage.lower)[kept], np.asarray(leakage.upper)[kept])
    name = "joint counts" if margins is None else "margins"
    LeakageDisplay.from_rows(ends, ax=left, name=f"{name}, upper end")
    grid = np.geomspace(max(2.0, report.n / 100), 100 * report.n, _GRID)
    sizes = np.unique(grid.astype(np.int64)).tolist()
    found = [
        estimate_max_leakage(report.cell_counts, n, confidence=options.confidence) for n in sizes
    ]
    LeakageDisplay.from_sizes(sizes, found, ax=right, name="joint counts", limit=options.target)
    if margins is not None:
        average = [margins.average_at(n) for n in sizes]
        name = "margins, own frequencies"
        LeakageDisplay.from_sizes(sizes, average, ax=right, name=name, limit=options.target)
    return figure
