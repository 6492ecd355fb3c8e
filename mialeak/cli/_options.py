"""Options that several subcommands take, and what their values stand for."""

from __future__ import annotations

import argparse
import csv
from typing import Any

__all__ = ["add_table_options", "check_limit", "names", "one_table", "read_file", "whole"]


def add_table_options(add: Any, examples: Any) -> None:
    """Describe where the table comes from."""
    add("file", nargs="?", metavar="FILE", help=".csv, .tsv, .parquet, .npy or .npz")
    add("--example", choices=examples, help="a table that ships with mialeak, in place of FILE")
    add(
        "--delimiter",
        metavar="CHAR",
        help="of a CSV, \\t for a tab (default: a comma; a tab in .tsv)",
    )


def one_table(options: argparse.Namespace, command: str) -> None:
    """Raise unless there is a file or an example, and not both."""
    if (options.file is None) == (options.example is None):
        raise ValueError(
            f"{command} takes a FILE or --example, one of them (see mialeak {command} --help)"
        )


def read_file(options: argparse.Namespace, columns: list[str] | None) -> Any:
    """The columns of the file."""
    from mialeak._io import read_table

    delimiter = "\t" if options.delimiter == "\\t" else options.delimiter
    return read_table(options.file, columns, delimiter=delimiter)


def check_limit(limit: float | None) -> None:
    """Raise unless there is no limit, or it is a leakage."""
    if limit is not None and not 0 <= limit <= 1:
        raise ValueError(f"--max-leakage must be between 0 and 1; got {limit}")


def names(text: str, option: str) -> list[str]:
    """Names of columns as a line of CSV: a name that holds a comma stands in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{option} must be a line of CSV; got {text!r} ({error})") from error


def whole(text: str) -> int:
    """An integer, for argparse."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None
