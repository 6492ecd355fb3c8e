"""``mialeak curve``: what a trade-off curve says about attacks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mialeak.cli import _output, _pictures

if TYPE_CHECKING:
    from mialeak.tradeoff import TradeOff

__all__ = ["add_parser", "run"]

_FPR = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5)
_EPSILON = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
_DELTA = (1e-9, 1e-7, 1e-5, 1e-3)

_DESCRIPTION = """\
What does a mu-Gaussian trade-off curve let an attacker do?

The curve is that of a released mean, mu being the square root of the target's leakage score, and
of any release with mu-Gaussian differential privacy.  With --rate the release is made from a random
share of the rows, drawn together.  Epsilon and delta compare worlds with the same number of rows:
the target in place of a fresh row.
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "curve",
        help="power, epsilon and delta of a trade-off curve",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mu", type=float, required=True, metavar="MU", help="of the Gaussian curve, at least 0")
    add("--rate", type=float, default=1.0, metavar="R", help="share of the rows that are used")
    ladders = (("fpr", _FPR, "power"), ("epsilon", _EPSILON, "delta"), ("delta", _DELTA, "epsilon"))
    for name, values, answer in ladders:
        add(
            f"--{name}",
            type=_numbers,
            default=values,
            metavar="X,Y",
            help=f"tell the {answer} at these (default: {','.join(f'{x:g}' for x in values)})",
        )
    add("--json", action="store_true", help="print JSON")
    _pictures.add_option(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what the curve says."""
    from mialeak.tradeoff import GaussianTradeOff

    curve: TradeOff = GaussianTradeOff(options.mu)
    if options.rate != 1.0:
        curve = curve.subsample(options.rate)
    content = _content(curve, options)
    if options.plot:
        _draw(curve, options)
    if options.json:
        _output.print_json("mialeak.curve/1", content)
    else:
        print(_text(content, options))
    return 0


def _content(curve: TradeOff, options: argparse.Namespace) -> dict[str, Any]:
    advantage = float(curve.advantage)
    return {
        "mu": _finite(options.mu),
        "rate": options.rate,
        "kind": curve.kind,
        "advantage": advantage,
        "accuracy": (1.0 + advantage) / 2.0,
        "auc": float(curve.auc),
        "power": [{"fpr": x, "power": float(curve.power(x))} for x in options.fpr],
        "delta": [{"epsilon": _finite(x), "delta": float(curve.delta(x))} for x in options.epsilon],
        "epsilon": [
            {"delta": x, "epsilon": _finite(float(curve.epsilon(x)))} for x in options.delta
        ],
    }


def _text(content: dict[str, Any], options: argparse.Namespace) -> str:
    from mialeak._document import Document, Notes, Pairs, Section, Table, as_text
    from mialeak._text import number, percent

    leakage = number(content["advantage"])
    answer = (
        f"{_name(options)} leaks {leakage}: the best attack tells whether the target is among the "
        f"rows, and is right {percent(content['accuracy'])} of the time; a coin is right 50%."
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
        rows = [(_shown(row[given]), _shown(row[answered])) for row in content[answered]]
        sections.append(Section(title, [Table((head, answered), rows)]))
    return as_text(Document(answer, sections))


def _name(options: argparse.Namespace) -> str:
    rate = "" if options.rate == 1.0 else f", made from a random {options.rate:g} of the rows,"
    return f"A Gaussian release with mu = {options.mu:g}{rate}"


def _draw(curve: TradeOff, options: argparse.Namespace) -> None:
    figure, axes = _pictures.panels(2)
    from mialeak.plotting import TradeOffDisplay

    name = f"mu = {options.mu:g}" + (f", rate {options.rate:g}" if options.rate != 1.0 else "")
    TradeOffDisplay.from_tradeoff(curve, ax=axes[0], name=name)
    TradeOffDisplay.from_tradeoff(curve, ax=axes[1], name=name, scale="linear")
    _pictures.save(figure, options.plot)


def _shown(value: float | None) -> str:
    """Four digits, and 1 only if it is."""
    if value is None:
        return "inf"
    return ">0.9999" if 0.99995 <= value < 1.0 else f"{value:.4g}"


def _finite(value: float) -> float | None:
    """JSON knows no infinity: null stands for it."""
    return value if value < float("inf") else None


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers and commas; got {text!r}") from None
