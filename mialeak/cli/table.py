"""``mialeak table``: the leakage of a published table of counts."""

from __future__ import annotations

import argparse
import csv
from typing import Any

from mialeak.cli import _output

__all__ = ["add_parser", "run"]

#: The tables that ship with mialeak, and the columns of each that an outsider may know.
_EXAMPLES = {"adult": ["age", "education", "marital_status", "race", "sex"]}

_OVER = 2

_DESCRIPTION = """\
How much does publishing the counts of a table leak about who is in it?

The rows of FILE are counted by the joint values of the chosen columns.  Two numbers answer, and
they differ: the estimate for the population that the rows came from, with an interval, and the
value if the table's own frequencies were the population.
"""

_LIMIT = """\
With --max-leakage X the command is a gate: it exits with 2 if the upper end of the estimate's
interval is above X, with 0 if not.  An error, usage included, exits with 1.
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "table",
        help="leakage of a published table of counts",
        description=_DESCRIPTION,
        epilog=_LIMIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help=".csv, .tsv, .parquet, .npy or .npz")
    add("--example", choices=_EXAMPLES, help="a table that ships with mialeak, in place of FILE")
    add("--columns", metavar="A,B,C", help="columns to count by (default: all of FILE)")
    add("--n", type=_whole, metavar="N", help="rows of the release (default: rows of the table)")
    add(
        "--target",
        type=float,
        default=0.01,
        metavar="X",
        help="tell how many rows a release needs to leak at most X (default: %(default)s)",
    )
    add("--max-leakage", type=float, metavar="X", help="the most that is allowed; see below")
    add(
        "--na",
        choices=("error", "category", "drop"),
        default="error",
        help="missing values, in a CSV the empty fields: refuse them (default), count them as a "
        "value of their own, or drop their rows",
    )
    add(
        "--confidence",
        type=float,
        default=0.95,
        metavar="C",
        help="coverage of the intervals (default: %(default)s)",
    )
    add(
        "--top",
        type=_whole,
        default=10,
        metavar="K",
        help="rows most at risk to list (default: %(default)s)",
    )
    add(
        "--delimiter",
        metavar="CHAR",
        help="of a CSV, \\t for a tab (default: a comma; a tab in .tsv)",
    )
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over the limit."""
    limit = options.max_leakage
    if limit is not None and not 0 <= limit <= 1:
        raise ValueError(f"--max-leakage must be between 0 and 1; got {limit}")
    frame, columns, origin = _read(options)
    from mialeak.tables import table_leakage

    report = table_leakage(
        frame, columns, n=options.n, na=options.na, confidence=options.confidence
    )
    over = limit is not None and report.estimate.high > limit
    if options.json:
        content = report.to_dict(top=options.top)
        content["samples"] = report.samples_for(options.target).to_dict()
        content["limit"] = None if limit is None else {"max_leakage": limit, "over": over}
        _output.print_json("mialeak.table/1", content)
    else:
        print(report.text(target=options.target, top=options.top))
        if origin:
            print(f"\n{origin}")
        if limit is not None:
            relation = "above" if over else "within"
            high = report.estimate.high
            print(
                f"\nThe upper end of the interval, {high:.4g}, is {relation} the limit {limit:g}."
            )
    return _OVER if over else 0


def _read(options: argparse.Namespace) -> tuple[Any, list[str] | None, str]:
    """The table, the columns to count by, and whom to thank for an example."""
    if (options.file is None) == (options.example is None):
        raise ValueError("table takes a FILE or --example, one of them (see mialeak table --help)")
    columns = None if options.columns is None else _names(options.columns)
    if options.file is not None:
        from mialeak._io import read_table

        delimiter = "\t" if options.delimiter == "\\t" else options.delimiter
        return read_table(options.file, columns, delimiter=delimiter), columns, ""
    from mialeak import datasets

    example = getattr(datasets, f"load_{options.example}")()
    columns = _EXAMPLES[options.example] if columns is None else columns
    return example.columns, columns, f"Table from {example.source} ({example.licence})"


def _names(text: str) -> list[str]:
    """Names of columns as a line of CSV: a name that holds a comma stands in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"--columns must be a line of CSV; got {text!r} ({error})") from error


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None
