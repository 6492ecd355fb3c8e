"""``--protect`` and ``--coarsen``: what usual protections of a table of counts leave."""

from __future__ import annotations

import argparse
from typing import Any

from mialeak.cli import _options

__all__ = ["add_options", "protections"]

_FORMS = "round:BASE, random-round:BASE, suppress:BELOW or geometric:EPSILON"


def add_options(add: Any) -> None:
    """Describe the options."""
    add(
        "--protect",
        action="append",
        type=_checked,
        metavar="NAME:X",
        help=f"also report the leakage with each count protected by {_FORMS}; may be repeated",
    )
    add(
        "--coarsen",
        type=_options.number(_options.SHARE),
        metavar="X",
        help="also report merges of cells for a leakage of at most X",
    )


def _checked(text: str) -> str:
    """The option, if it names a protection, for argparse."""
    try:
        _protection(text)
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"must be {_FORMS}; got {text!r}") from None
    return text


def _protection(text: str) -> Any:
    """The protection that the option names."""
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


def protections(options: argparse.Namespace) -> dict[str, Any] | None:
    """`protect` of ``table_leakage``: each option as typed, and the protection it names."""
    if options.protect is None:
        return None
    return {text: _protection(text) for text in options.protect}
