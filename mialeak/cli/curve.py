"""``mialeak curve``: power, epsilon and delta of a trade-off curve."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mialeak._report.document import Document
    from mialeak.tradeoff import TradeOff

__all__ = ["add_parser", "run"]

#: The quantities reported, and the default values at which they are reported.
_LADDERS = (
    ("fpr", "power", _options.SHARE, (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5)),
    ("epsilon", "delta", _options.POSITIVE, (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)),
    ("delta", "epsilon", _options.SHARE, (1e-9, 1e-7, 1e-5, 1e-3)),
)

_DESCRIPTION = """\
What can an attacker achieve against a mu-Gaussian trade-off curve?

A released mean has this curve for many rows, with mu the square root of the
target's leakage score; a release with mu-Gaussian differential privacy has at
most this curve.  With --rate the release uses a random share of the rows,
drawn together.  Epsilon and delta compare worlds with the same number of rows:
the target takes the place of a fresh row.
"""

_EPILOG = """\
Examples:
  mialeak curve --mu 1.5
  mialeak curve --mu 1.5 --rate 0.1 --fpr 1e-6,1e-4 --delta 1e-5
  mialeak curve --mu 0.5 --plot curve.svg
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "curve",
        help="power, epsilon and delta of a trade-off curve",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    mu = _options.number(_options.POSITIVE)
    add("--mu", type=mu, required=True, metavar="MU", help="mu of the Gaussian curve, at least 0")
    _options.add_rate(add)
    for name, answer, kind, values in _LADDERS:
        add(
            f"--{name}",
            type=_options.numbers(kind),
            default=values,
            metavar="X,Y",
            help=f"report the {answer} at each of these "
            f"(default: {','.join(f'{x:g}' for x in values)})",
        )
    _options.add_outputs(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the power, the deltas and the epsilons of the curve."""
    from mialeak.tradeoff import GaussianTradeOff

    curve: TradeOff = GaussianTradeOff(options.mu)
    if options.rate != 1.0:
        curve = curve.subsample(options.rate)
    content = _content(curve, options)
    return _output.give(
        options,
        _document(content, options),
        schema="mialeak.curve/1",
        content=content,
        draw=lambda: _figure(curve, options),
        title=f"What a release with mu = {options.mu:g} leaks",
        alts=[
            f"Power of the best attack by false-positive rate, on {scale} axes."
            for scale in ("logarithmic", "linear")
        ],
    )


def _content(curve: TradeOff, options: argparse.Namespace) -> dict[str, Any]:
    advantage = float(curve.advantage)
    content = {
        "mu": options.mu,
        "rate": options.rate,
        "kind": curve.kind,
        "advantage": advantage,
        "accuracy": (1.0 + advantage) / 2.0,
        "auc": float(curve.auc),
    }
    for given, answered, _, _ in _LADDERS:
        answer = getattr(curve, answered)
        content[answered] = [
            {given: x, answered: float(answer(x))} for x in getattr(options, given)
        ]
    return content


def _document(content: dict[str, Any], options: argparse.Namespace) -> Document:
    from mialeak._report.document import Document, Notes, Pairs, Section, Table
    from mialeak._report.text import number, percent, significant

    leakage = number(content["advantage"])
    answer = (
        f"{_name(options)} leaks {leakage}. The best attack can tell whether the target is among "
        f"the rows with {percent(content['accuracy'])} accuracy (guessing: 50%)."
    )
    summary = [
        (leakage, f"advantage, the largest power - false-positive rate ({content['kind']})"),
        (number(content["auc"]), "area under the curve of power against it"),
    ]
    worlds = "Epsilon and delta compare worlds with the same number of rows (substitution)."
    sections = [Section("Trade-off curve", [Pairs(summary), Notes([worlds])])]
    tables = (
        ("Power of the best attack", "false-positive rate", "fpr", "power"),
        ("Least delta, in both directions", "epsilon", "epsilon", "delta"),
        ("Least epsilon, in both directions", "delta", "delta", "epsilon"),
    )
    for title, head, given, answered in tables:
        rows = [(f"{row[given]:g}", significant(row[answered])) for row in content[answered]]
        sections.append(Section(title, [Table((head, answered), rows)]))
    return Document(answer, sections)


def _name(options: argparse.Namespace) -> str:
    rate = "" if options.rate == 1.0 else f", made from a random {options.rate:g} of the rows,"
    return f"A Gaussian release with mu = {options.mu:g}{rate}"


def _figure(curve: TradeOff, options: argparse.Namespace) -> Figure:
    figure, axes = _output.panels(2)
    from mialeak.plotting import TradeOffDisplay

    name = f"mu = {options.mu:g}" + (f", rate {options.rate:g}" if options.rate != 1.0 else "")
    TradeOffDisplay.from_tradeoff(curve, ax=axes[0], name=name)
    TradeOffDisplay.from_tradeoff(curve, ax=axes[1], name=name, scale="linear")
    return figure
