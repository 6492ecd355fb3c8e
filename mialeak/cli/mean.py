"""``mialeak mean``: the leakage of the published means of a table's columns."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output, _page, _pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mialeak.cli._mean_report import MeanReport

__all__ = ["add_parser", "run"]

_OVER = 2

#: What to tell about the people of an example.
_LABELS = ("sample", "population", "superpopulation")

#: Points of a picture's curve.
_GRID = 24

_DESCRIPTION = """\
How much does publishing the means of a table's columns leak about each of its rows?

Released are the means of the columns of numbers and the shares of each value of the others.  Every
row is judged against the release of its own table: by the mean and the covariance of the other
rows, of all columns if there are more than five rows for each, else column by column.
"""

_LIMIT = """\
Noise is told in standard deviations of each column: to publish the mean of an age whose standard
deviation is 14 with noise of 0.05, add a normal variable of standard deviation 0.7 to it.

With --max-leakage X the command is a gate: it exits with 2 if the riskiest row leaks more than X,
with 0 if not.  An error, usage included, exits with 1.
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "mean",
        help="leakage of the published means of a table",
        description=_DESCRIPTION,
        epilog=_LIMIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    _options.add_table_options(add, ("genotypes", "adult"))
    add("--columns", metavar="A,B,C", help="columns to publish (default: all of FILE)")
    add("--categories", metavar="A,B", help="columns of numbers that are names of categories")
    add(
        "--noise-std",
        type=float,
        default=0.0,
        metavar="S",
        help="of the noise on each mean, in standard deviations of its column (default: 0)",
    )
    add(
        "--rate",
        type=float,
        default=1.0,
        metavar="R",
        help="share of the rows, drawn at random, that the means are taken over (default: 1)",
    )
    add(
        "--target",
        type=float,
        default=0.01,
        metavar="X",
        help="tell the noise needed to leak at most X (default: %(default)s)",
    )
    add("--max-leakage", type=float, metavar="X", help="the most that is allowed; see below")
    add(
        "--na",
        choices=("error", "drop"),
        default="error",
        help="missing values, in a CSV the empty fields: refuse them (default) or drop their rows",
    )
    add(
        "--top",
        type=_options.whole,
        default=20,
        metavar="K",
        help="rows most at risk to list (default: %(default)s)",
    )
    add("--json", action="store_true", help="print JSON")
    _pictures.add_option(add)
    _page.add_option(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over the limit."""
    limit = options.max_leakage
    _options.check_limit(limit)
    report, file, origin = _report(options)
    from mialeak._document import as_text
    from mialeak._text import paragraph
    from mialeak.cli._mean_document import document

    highest = float(report.leakage.max())
    over, verdict = limit is not None and highest > limit, ""
    if limit is not None:
        relation = "above" if over else "within"
        verdict = f"The riskiest row, {highest:.4g}, is {relation} the limit {limit:g}."
    figure = _figure(report, options) if options.plot or options.html else None
    if figure is not None and options.plot:
        _pictures.save(figure, options.plot)
    told = document(report, target=options.target, top=options.top)
    if figure is not None and options.html:
        _page.write(
            options,
            told,
            figure,
            title=f"What publishing means of {options.example or file.name} leaks",
            alt="Left: leakage of each row, riskiest first. Right: leakage by noise on the means.",
            inputs=[file],
            verdict=verdict,
            within=not over,
            source=origin,
        )
    if options.json:
        content = report.to_dict(target=options.target, top=options.top)
        content["limit"] = None if limit is None else {"max_leakage": limit, "over": over}
        _output.print_json("mialeak.mean/1", content)
    else:
        thanks = "\n".join(paragraph(origin))
        print("\n\n".join(filter(None, [as_text(told), thanks, verdict])))
    return _OVER if over else 0


def _report(options: argparse.Namespace) -> tuple[MeanReport, Path, str]:
    """The report, the file, and whom to thank for an example."""
    _options.one_table(options, "mean")
    columns = None if options.columns is None else _options.names(options.columns, "--columns")
    categories = _options.names(options.categories or "", "--categories")
    labels: dict[str, Any] = {}
    origin = ""
    if options.file is not None:
        frame, file = _options.read_file(options, columns), Path(options.file)
    else:
        from mialeak import datasets

        example: Any = getattr(datasets, f"load_{options.example}")()
        origin = f"Table from {example.source} ({example.licence})"
        frame, file = example.columns, example.file
        if options.example == "genotypes":
            labels = {name: frame[name] for name in _LABELS}
            frame = dict(zip(example.snps.tolist(), example.counts.T, strict=True))
    from mialeak.cli._mean_report import MeanReport
    from mialeak.cli._released import release_of

    released = release_of(frame, columns, categories=categories, drop=options.na == "drop")
    return MeanReport(released, options.noise_std, options.rate, labels), file, origin


def _figure(report: MeanReport, options: argparse.Namespace) -> Figure:
    """Left the rows with and without noise, right the effect of noise."""
    figure, (left, right) = _pictures.panels(2)
    import numpy as np

    from mialeak.plotting import LeakageDisplay

    target = options.target
    needed = report.noise_needed(target)["riskiest"]
    stds = {"without noise": 0.0, f"noise {report.noise_std:.3g}": report.noise_std}
    stds[f"noise {needed:.3g}, as needed"] = needed
    for name, std in stds.items():
        if std or name == "without noise":
            LeakageDisplay.from_rows(report.leakage_with(std), ax=left, name=name)
    span = report.sampling_error * np.array([0.1, 10.0])
    grid = np.geomspace(span[0], max(span[1], 2.0 * needed), _GRID)
    leakage = [report.leakage_with(std) for std in grid]
    for name, summary in (("riskiest row", np.max), ("average", np.mean)):
        values = [float(summary(each)) for each in leakage]
        LeakageDisplay.from_noise(grid, values, ax=right, name=name, limit=target)
    right.set_xlabel("Noise on each mean (standard deviations of its column)")
    return figure
