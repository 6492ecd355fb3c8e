"""``--protect`` and ``--coarsen``: what usual protections of a table of counts leave."""

from __future__ import annotations

import argparse
from typing import Any

from mialeak.cli import _options

__all__ = ["add_options", "protections"]

_FORMS = (
    "round:BASE, random-round:BASE, suppress:BELOW, cell-key:FILE, geometric:EPSILON, "
    "gaussian:SIGMA, synthetic:ROWS, or several in their order, such as suppress:7+round:5"
)


def add_options(add: Any) -> None:
    """Describe the options."""
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


def _checked(text: str) -> str:
    """The option, if it names a protection, for argparse."""
    try:
        _protection(text)
    except KeyError:
        raise argparse.ArgumentTypeError(f"must be {_FORMS}; got {text!r}") from None
    except (OSError, TypeError, ValueError) as error:
        cause = (
            "" if not hasattr(error, "fault") and "invalid literal" in str(error) else str(error)
        )
        said = f"must be {_FORMS}; got {text!r}"
        raise argparse.ArgumentTypeError(f"{said} ({cause})" if cause else said) from None
    return text


def _protection(text: str) -> Any:
    """The protection that the option names."""
    from mialeak import mechanisms

    kinds: dict[str, tuple[Any, type]] = {
        "round": (mechanisms.Round, int),
        "random-round": (mechanisms.RandomRound, int),
        "suppress": (mechanisms.Suppress, int),
        "cell-key": (mechanisms.CellKey, str),
        "geometric": (mechanisms.Geometric, float),
        "gaussian": (mechanisms.DiscreteGaussian, float),
        "synthetic": (mechanisms.Synthetic, int),
    }
    steps = []
    for step in text.split("+"):
        name, _, value = step.partition(":")
        kind, number = kinds[name.strip()]
        steps.append(kind(number(value)))
    return steps[0] if len(steps) == 1 else mechanisms.Pipeline(*steps)


def protections(options: argparse.Namespace) -> dict[str, Any] | None:
    """`protect` of ``table_leakage``: each option as typed, and the protection it names."""
    if options.protect is None:
        return None
    return {text: _protection(text) for text in options.protect}
