"""Options that several subcommands take, and what their values stand for.

An option that two subcommands share has one name, one meaning and one description, here.  A
value that is wrong by itself is refused when it is parsed, before any file is read.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "LEVEL",
    "NOISE",
    "PART",
    "POSITIVE",
    "SHARE",
    "add_accept_cautions",
    "add_confidence",
    "add_exclude",
    "add_gate",
    "add_outputs",
    "add_rate",
    "add_show_rows",
    "add_table_options",
    "add_target",
    "add_top",
    "counts_of_marks",
    "group",
    "markers",
    "names",
    "number",
    "numbers",
    "one_table",
    "read_file",
    "read_population",
    "whole",
]

Holds = Callable[[float], bool]

#: What a number must do, and whether it does.
SHARE: tuple[str, Holds] = ("be between 0 and 1", lambda x: 0.0 <= x <= 1.0)
LEVEL: tuple[str, Holds] = ("be strictly between 0 and 1", lambda x: 0.0 < x < 1.0)
PART: tuple[str, Holds] = ("be above 0 and at most 1", lambda x: 0.0 < x <= 1.0)
POSITIVE: tuple[str, Holds] = ("be at least 0", lambda x: x >= 0.0)
NOISE: tuple[str, Holds] = ("be between 0 and 1e100", lambda x: 0.0 <= x <= 1e100)

#: The leakage that is aimed at by default.
_TARGET = 0.01

#: What a picture can be.
_PICTURES = (".png", ".svg", ".pdf")


def number(kind: tuple[str, Holds]) -> Callable[[str], float]:
    """A number of that kind, for argparse."""
    rule, holds = kind

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number; got {text!r}") from None
        if not holds(value):
            raise argparse.ArgumentTypeError(f"must {rule}; got {text.strip()}")
        return value

    return parse


def numbers(kind: tuple[str, Holds]) -> Callable[[str], tuple[float, ...]]:
    """Numbers of that kind with commas between them, for argparse."""
    one = number(kind)

    def parse(text: str) -> tuple[float, ...]:
        return tuple(one(word) for word in text.split(","))

    return parse


def whole(least: int) -> Callable[[str], int]:
    """An integer, at least `least`, for argparse."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}; got {value}")
        return value

    return parse


def counts_of_marks(text: str) -> int | dict[str, int]:
    """A count for all marks, or for each of them, of which "" is an empty field, for argparse."""
    count = whole(0)
    if text.isdecimal():
        return count(text)
    marks = {}
    for part in text.split(","):
        mark, equals, number = part.rpartition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"must be a count, or MARK=COUNT,...; got {text!r}")
        marks[mark.strip()] = count(number)
    return marks


def add_table_options(first: Any, add: Any, examples: Any) -> None:
    """Describe where the table comes from; `first` adds what stands before all options."""
    first(
        "file",
        nargs="?",
        metavar="FILE",
        help=".csv or .tsv with the names of its columns in line 1, .parquet or a folder of such "
        "files, .arrow, .feather, .npy, .npz, .dta, .sav, .sas7bdat, .xpt, each also .gz or .zst; "
        ".vcf, .vcf.gz, PLINK .bed or .raw; - is standard input",
    )
    add_format(add, "FILE", "; csv for -, or vcf")
    add("--example", choices=examples, help="a table that ships with mialeak, in place of FILE")
    add_delimiter(add)
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether line 1 of a CSV holds the names of its columns (default: it must, and is "
        "refused if it looks like data)",
    )
    add("--names", metavar="A,B,C", help="names of the columns of a CSV without a line of names")
    add(
        "--missing",
        action="append",
        metavar="X,Y",
        help="codes of missing values, such as '?' or NA,-9; COLUMN=X for one column alone",
    )


def add_exclude(add: Any) -> None:
    """Describe ``--exclude``."""
    add("--exclude", metavar="A,B", help="columns to leave out, such as identifiers")


def add_show_rows(add: Any) -> None:
    """Describe ``--show-rows``."""
    add(
        "--show-rows",
        action="store_true",
        help="show the values of the rows most at risk; they are personal data",
    )


def add_rate(add: Any) -> None:
    """Describe ``--rate``."""
    add(
        "--rate",
        type=number(PART),
        default=1.0,
        metavar="R",
        help="share of the rows that the release uses, drawn at random (default: 1)",
    )


def add_target(add: Any, needed: str) -> None:
    """Describe the leakage that is aimed at."""
    add(
        "--target",
        type=number(LEVEL),
        metavar="X",
        help=f"report the {needed} needed for a leakage of at most X (default: that of "
        f"--max-leakage, or {_TARGET:g})",
    )


def target(options: argparse.Namespace) -> float:
    """The leakage that is aimed at: the one given, that of the gate, or a small one."""
    limit = options.max_leakage
    aimed = limit if options.target is None and limit and limit < 1.0 else options.target
    return _TARGET if aimed is None else aimed


def add_gate(add: Any, *, rows: bool = False) -> None:
    """Describe the limits; `rows`: that of the riskiest row is another one."""
    add(
        "--max-leakage",
        type=number(SHARE),
        metavar="X",
        help="exit with 2 if the leakage is above X; see below",
    )
    if rows:
        add(
            "--max-row-leakage",
            type=number(SHARE),
            metavar="X",
            help="exit with 2 if the leakage of the riskiest row is above X; see below",
        )
    add(
        "--baseline",
        metavar="FILE",
        help="the --json report of an earlier release: exit with 2 if a number that limits are "
        "compared with is above that of the earlier report",
    )
    add_accept_cautions(add)


def group(parser: argparse.ArgumentParser, title: str) -> Callable[..., Any]:
    """The function that adds an option below this head of the help."""
    return parser.add_argument_group(title).add_argument


def add_accept_cautions(add: Any) -> None:
    """Describe ``--accept-cautions``."""
    add(
        "--accept-cautions",
        action="store_true",
        help="pass a gate despite cautions, once you have checked that none applies",
    )


def add_confidence(add: Any) -> None:
    """Describe ``--confidence``."""
    add(
        "--confidence",
        type=number(LEVEL),
        default=0.95,
        metavar="C",
        help="confidence level of intervals and bounds (default: %(default)s)",
    )


def add_top(add: Any, default: int) -> None:
    """Describe ``--top``."""
    add(
        "--top",
        type=whole(0),
        default=default,
        metavar="K",
        help="number of rows most at risk to list (default: %(default)s)",
    )


def _picture(text: str) -> str:
    """The name of a picture, for argparse."""
    if not text.lower().endswith(_PICTURES):
        raise argparse.ArgumentTypeError(f"must end in .png, .svg or .pdf; got {text!r}")
    return text


def _page(text: str) -> str:
    """The name of a page, for argparse, so that a slip of the keys overwrites no data."""
    if not text.lower().endswith((".html", ".htm")):
        raise argparse.ArgumentTypeError(f"must end in .html or .htm; got {text!r}")
    return text


def add_outputs(add: Any) -> None:
    """Describe what else the answer can be than text."""
    add("--json", action="store_true", help="print JSON")
    add(
        "--quiet",
        action="store_true",
        help="with a limit: print nothing within it, and otherwise only the sentence of the gate",
    )
    add("--plot", type=_picture, metavar="FILE", help="draw a picture: .png, .svg, .pdf")
    add(
        "--html",
        type=_page,
        metavar="FILE",
        help="write a report as one page that needs no network",
    )


def one_table(options: argparse.Namespace, command: str) -> None:
    """Raise unless there is a file or an example, and not both; errors of the table name it."""
    if (options.file is None) == (options.example is None):
        raise ValueError(
            f"{command} takes a FILE or --example, one of them (see mialeak {command} --help)"
        )
    options.is_aimed = options.target is not None
    options.target = target(options)
    options.typed = {
        "table": options.file or f"--example {options.example}",
        "columns": "--columns",
        "delimiter": "--delimiter",
        "exclude": "--exclude",
        "format": "--format",
        "missing": "--missing",
        "names": "--names",
    }


def add_delimiter(add: Callable[..., Any]) -> None:
    """Add the option that names the separator of a CSV."""
    add(
        "--delimiter",
        metavar="CHAR",
        help="separator of the fields of a CSV, \\t for a tab (default: a comma; a tab in .tsv)",
    )


def add_format(add: Callable[..., Any], file: str, but: str = "") -> None:
    """Add the option that states the format of a file."""
    add(
        "--format",
        metavar="F",
        help=f"format of {file}, in place of its suffix: csv, tsv, parquet, arrow, npy, npz, dta, "
        f"sav, sas7bdat, xpt, raw, each also .gz or .zst, vcf or bed (default: by the suffix{but})",
    )


def delimiter(options: argparse.Namespace) -> str | None:
    """The separator of the fields of a CSV."""
    return "\t" if options.delimiter == "\\t" else options.delimiter


def read_file(
    options: argparse.Namespace, columns: Any, *, whole: bool = True, frequencies: bool = False
) -> Any:
    """The columns of the file, with a bar on a terminal if reading takes long.

    `columns` are a list or a function of the names of the file.
    If not `whole`, a large file may be given as a table that is counted by blocks; with
    `frequencies` it may hold those of sites.
    """
    import importlib.util

    from mialeak._files.tables import read_table

    return read_table(
        options.file,
        columns,
        format=options.format,
        delimiter=delimiter(options),
        header=options.header,
        names=None if options.names is None else names(options.names, "--names"),
        missing=markers(options),
        markers_occur=not any(getattr(options, k, None) for k in ("population", "panel")),
        progress=sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None,
        whole=whole,
        frequencies=frequencies,
    )


def read_population(
    options: argparse.Namespace,
    text: str | None,
    *,
    is_size: bool = True,
    whole: bool = False,
    frequencies: bool = False,
) -> tuple[Any, list[Path]]:
    """The register or panel, and its file; perhaps its number of people, or frequencies."""
    if text is None:
        return None, []
    from mialeak._fields import is_number

    plain = text.replace(",", "").replace("_", "")
    if is_size and is_number(plain) and not Path(text).exists():
        if not plain.isdecimal() and not float(plain).is_integer():
            raise ValueError(f"a number of people must be whole; got {text}")
        return int(plain) if plain.isdecimal() else int(float(plain)), []
    of_file = argparse.Namespace(**{**vars(options), "file": text, "format": None})
    table = read_file(of_file, None, whole=whole, frequencies=frequencies)
    return table, [Path(text)]


def markers(options: argparse.Namespace) -> list[str]:
    """The values that mark a missing one, from every ``--missing``."""
    return [word for text in options.missing or () for word in names(text, "--missing")]


def names(text: str, option: str) -> list[str]:
    """Names of columns as a line of CSV: a name that holds a comma stands in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{option} must be a line of CSV; got {text!r} ({error})") from error
