"""``--protect`` and ``--coarsen``: what usual protections of a table of counts leave."""

from __future__ import annotations

import argparse
import math
from typing import Any

from mialeak.cli import _options

__all__ = ["add_protections", "add_recoding", "plan", "protections", "recoding"]

_FORMS = (
    "round:BASE, random-round:BASE, suppress:BELOW, suppress-positive:BELOW (zeros are shown), "
    "cell-key:FILE, geometric:EPSILON, gaussian:SIGMA, synthetic:ROWS, several in their order, "
    "such as suppress:7+round:5, or pram:FILE"
)


def add_protections(add: Any) -> None:
    """Describe how counts are protected."""
    add(
        "--protect",
        action="append",
        type=_checked,
        metavar="NAME:X[+NAME:X]",
        help=f"also report the leakage with each count protected by {_FORMS}; may be repeated",
    )
    add(
        "--coarsen",
        type=_options.number(_options.SHARE),
        metavar="X",
        help="also report merges of cells for a leakage of at most X",
    )


def add_recoding(add: Any) -> None:
    """Describe how columns are made coarser."""
    for option, of, what in (
        ("--bin", "WIDTH", "count numbers in bands: age:5"),
        ("--top-code", "X", "count numbers of at least X as one: age:80"),
        ("--bottom-code", "X", "count numbers of at most X as one: age:17"),
        ("--group-rare", "ROWS", 'count values of fewer rows as "other": occupation:100'),
    ):
        metavar = f"COLUMN:{of}"
        add(option, action="append", type=_of_column, metavar=metavar, help=f"{what}; repeatable")
    add("--recode", metavar="FILE", help="recode the columns as this table states: .csv or .json")
    add(
        "--plan",
        type=_options.number(_options.LEVEL),
        metavar="X",
        help="report the cheapest recoding for a leakage of at most X",
    )
    add("--keep", metavar="A,B", help="columns that --plan leaves as they are")
    add(
        "--weight",
        action="append",
        type=_of_column,
        metavar="COLUMN:W",
        help="cost of a lost bit of the column in --plan (default: 1); repeatable",
    )
    add("--recode-to", metavar="FILE", help="write the recoding of --plan to a .csv or .json")


def _of_column(text: str) -> tuple[str, float]:
    """A column and a number, for argparse."""
    column, _, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not column or not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be COLUMN:NUMBER; got {text!r}")
    return column, int(value) if value == int(value) else value


def typed(options: argparse.Namespace) -> str:
    """The option by which columns are recoded."""
    given = {
        "--bin": options.bin,
        "--top-code": options.top_code,
        "--bottom-code": options.bottom_code,
        "--group-rare": options.group_rare,
    }
    rules = [option for option, value in given.items() if value]
    return "--recode" if options.recode or not rules else ", ".join(rules)


def recoding(options: argparse.Namespace) -> Any:
    """`recode` of ``table_leakage``: the file, or rules by column."""
    rules: dict[str, dict[str, float]] = {}
    for rule, given in (
        ("bin", options.bin),
        ("top", options.top_code),
        ("bottom", options.bottom_code),
        ("rare", options.group_rare),
    ):
        for column, value in given or ():
            if rule in rules.setdefault(column, {}):
                both = f"{rules[column][rule]} and {value}"
                option = {"bin": "--bin", "rare": "--group-rare"}.get(rule, f"--{rule}-code")
                raise ValueError(f"{option} must be given once for a column; {column!r} has {both}")
            rules[column][rule] = value
    for name in ("margins", "strata", "panel", "person"):
        if options.plan is not None and getattr(options, name) is not None:
            why = "it recodes the joint counts, of rows drawn from one population or register"
            raise ValueError(f"--plan must be given without --{name}: {why}")
    if options.plan is not None and (rules or options.recode):
        raise ValueError("--plan must be given without another recoding: it proposes one")
    if options.plan is None and (options.keep or options.recode_to or options.weight):
        raise ValueError("--keep, --weight and --recode-to go with --plan")
    if rules and options.recode:
        raise ValueError("--recode must be given alone: its file states the whole recoding")
    return options.recode if options.recode else rules or None


def plan(frame: Any, columns: Any, options: argparse.Namespace, **asked: Any) -> Any:
    """The plan that ``--plan`` asks for, written where it shall be; None without the option."""
    if options.plan is None:
        return None
    from mialeak.tables import plan_recoding

    keep = () if options.keep is None else _options.names(options.keep, "--keep")
    weights = dict(options.weight or ())
    typed = options.typed
    options.typed = {**typed, "leakage": "--plan"}  # that of the other reports is --target
    proposed = plan_recoding(frame, columns, options.plan, keep=keep, weights=weights, **asked)
    options.typed = typed
    if options.recode_to is not None:
        proposed.write(options.recode_to)
    return proposed


def _checked(text: str) -> str:
    """The option, if it names a protection, for argparse."""
    from mialeak.mechanisms import protection

    try:
        protection(text)
    except (OSError, TypeError, ValueError) as error:
        fault = getattr(error, "fault", None)
        cause = "" if getattr(fault, "name", "") == "text" else f" ({error})"
        raise argparse.ArgumentTypeError(f"must be {_FORMS}; got {text!r}{cause}") from None
    return text


def protections(options: argparse.Namespace) -> dict[str, Any] | None:
    """`protect` of ``table_leakage``: each option as typed, and the protection it names."""
    if options.protect is None:
        return None
    from mialeak.mechanisms import protection

    return {text: protection(text) for text in options.protect}
