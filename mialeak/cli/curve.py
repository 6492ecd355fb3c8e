"""``mialeak curve``: power, epsilon and delta of a trade-off curve."""

from __future__ import annotations

import argparse
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output
from mialeak.cli._curve_plans import WORLDS, curves_of_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from mialeak._report.document import Document
    from mialeak._report.report import Panel
    from mialeak.tradeoff import TradeOff

__all__ = ["add_parser", "run"]

#: The quantities reported, and the default values at which they are reported.
_LADDERS = (
    ("fpr", "power", _options.SHARE, (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5)),
    ("epsilon", "delta", _options.POSITIVE, (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)),
    ("delta", "epsilon", _options.SHARE, (1e-9, 1e-7, 1e-5, 1e-3)),
)

#: What the numbers compare where the worlds differ by one row.
_ADDED = (
    "Out: the rows without the person asked about. In: the same rows and that person's. The worlds "
    "differ by one row, added or removed.",
    "Leakage is the best attacker's advantage: the share of members recognised less the share of "
    "others taken for members. 0 is a coin, 1 is certainty.",
    "The attacker knows all other rows and sees every step.",
)
#: The noise multiplier of DP-SGD.
_SCALE = ("be above 0 and at most 1e6", lambda x: 0.0 < x <= 1e6)

_DESCRIPTION = """\
What can an attacker achieve against a mu-Gaussian trade-off curve?

A released mean has this curve for many rows, with mu the square root of the
target's leakage score; a release with mu-Gaussian differential privacy has at
most this curve.  With --rate the release uses a random share of the rows,
drawn together; with --steps there are that many independent releases.
Epsilon and delta compare worlds with the same number of rows: the target takes
the place of a fresh row.  With --rate they are smaller than those of one given
row in place of another, for which --compose takes worlds = "substitution".

--dp-sgd gives the curve of a training: in each step every row is drawn with
probability rate, and noise of sigma times the clipping norm is added.  Its
worlds differ by one row, added or removed.

--claim gives the most that any attacker can achieve if a training has the
epsilon and the delta that it claims.

--compose gives the curve of all releases of a plan together, a .toml file:

  worlds = "add or remove"    # or "substitution"; of all releases

  [[release]]
  gaussian = 1.0              # mu: distance of the means over the noise; of
                              # DP-SGD 1/sigma, for substitution 2/sigma
  rate = 0.01                 # each row is drawn with this probability; for
                              # substitution: a batch of this share of the rows
  times = 1000

  [[release]]
  laplace = 0.5               # distance of the values over the scale

  [[release]]
  epsilon = 1.0               # randomised response, geometric noise; with
  delta = 1e-9                # a delta, all that is known of a release: the
                              # answer is then the most that it may leak

  [[release]]
  discrete_gaussian = 3.0     # scale of the noise on a count
  shift = 1                   # change of the count

  [[release]]
  curve = "release.json"      # of these worlds, from to_dict() of a curve
"""

_EPILOG = """\
Examples:
  mialeak curve --mu 1.5 --rate 0.1 --fpr 1e-6,1e-4 --delta 1e-5
  mialeak curve --dp-sgd sigma=1,rate=0.01,steps=10000 --delta 1e-5
  mialeak curve --claim epsilon=2,delta=1e-5 --fpr 0.01
  mialeak curve --compose plan.toml --delta 1e-9
"""

#: Sentences on a plan with an epsilon at a delta above 0, and of one with an epsilon alone.
_MOST = (
    "All numbers are the most that the stated epsilon and delta allow: such a release may leak far "
    "less. If its noise is known, state that (gaussian with rate and times, laplace)."
)
_PURE = (
    "A release with an epsilon and no delta is randomised response or geometric noise. Any other "
    "with this epsilon leaks at most as much: of Laplace noise state laplace."
)

#: Sentences on a plan of samples with one row in place of another.
_REPLACED = (
    "gaussian is the distance of the values with one row and with another in its place, over the "
    "noise. In DP-SGD one gradient in place of another changes the sum by up to two clipping norms:"
    " gaussian = 2/sigma, not 1/sigma."
)
_EITHER_WAY = (
    "All numbers are upper bounds: they take each sampled step in the direction that leaks more, "
    "of the row in place of the other and the reverse."
)

#: The worlds of a sample that a fresh row may be in, and those of a claim, which it states.
_FRESH, _CLAIMED = "fresh row", "claim"


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
    add("--mu", type=mu, metavar="MU", help="mu of the Gaussian curve, at least 0")
    _options.add_rate(add)
    add(
        "--steps",
        type=_options.whole(1),
        default=1,
        metavar="N",
        help="number of independent releases (default: 1)",
    )
    add(
        "--dp-sgd",
        type=_training,
        metavar="sigma=S,rate=Q,steps=N",
        help="the curve of N steps of DP-SGD, in place of --mu, --rate and --steps",
    )
    add(
        "--claim",
        type=_claim,
        metavar="epsilon=E,delta=D",
        help="the curve of all that a claim of differential privacy allows",
    )
    add("--compose", metavar="PLAN", help="the curve of all releases of this plan together")
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


#: What Opacus calls the noise and the rate.
_OPACUS = {"noise_multiplier": "sigma", "sample_rate": "rate"}


def _training(text: str) -> tuple[float, float, int]:
    """Noise multiplier, rate and steps of ``sigma=S,rate=Q,steps=N``."""
    parts = [part.partition("=")[::2] for part in text.replace(" ", "").split(",")]
    fields = {_OPACUS.get(name, name): value for name, value in parts}
    if sorted(fields) != ["rate", "sigma", "steps"] or len(parts) > len(fields):
        raise argparse.ArgumentTypeError(f"must be sigma=S,rate=Q,steps=N; got {text!r}")
    over, slash, under = fields["rate"].partition("/")
    try:
        name = "sigma"
        sigma = _options.number(_SCALE)(fields[name])
        name = "rate"
        if slash:  # the rows of a batch, of all
            above = _options.number(("be above 0 and finite", lambda x: 0.0 < x < math.inf))
            over = f"{above(over) / above(under):.17g}"
        rate = _options.number(_options.PART)(over)
        name = "steps"
        return sigma, rate, _options.whole(1)(_as_whole(fields[name]))
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error} as {name}") from None


def _as_whole(text: str) -> str:
    """A whole number that is written as a float, as 1.4e4 is, in digits."""
    try:
        return str(int(float(text))) if float(text).is_integer() else text
    except ValueError:
        return text


def _claim(text: str) -> tuple[float, float]:
    """Epsilon and delta of ``epsilon=E,delta=D``; delta may be left out."""
    from mialeak._checks.budgets import look_exchanged

    parts = text.replace(" ", "").split(",")
    fields = dict(part.partition("=")[::2] for part in parts)
    if len(parts) > len(fields) or not {"epsilon"} <= set(fields) <= {"epsilon", "delta"}:
        raise argparse.ArgumentTypeError(f"must be epsilon=E or epsilon=E,delta=D; got {text!r}")
    epsilon = _options.number(_options.POSITIVE)(fields["epsilon"])
    delta = _options.number(_options.SHARE)(fields.get("delta", "0"))
    if look_exchanged(epsilon, delta):
        right = f"epsilon={delta:g},delta={epsilon:g}"
        raise argparse.ArgumentTypeError(
            f"must have a delta below 0.1 where epsilon is {epsilon:g}; the two seem to be "
            f"exchanged, {right}; got {text!r}"
        )
    return epsilon, delta


def run(options: argparse.Namespace) -> int:
    """Print the power, the deltas and the epsilons of the curve."""
    from mialeak._arrays import invalid
    from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff, SubsampledTradeOff, compose

    #: The releases of a plan, the rates of its samples, and how often each is drawn.
    options.planned, options.parts = [], []
    given = (options.mu, options.dp_sgd, options.claim, options.compose)
    if sum(each is not None for each in given) != 1:
        invalid("--mu", "be given, or --dp-sgd, --claim or --compose: one of the four")
    options.worlds = WORLDS[options.dp_sgd is not None]
    if options.claim is not None:
        if options.rate != 1.0 or options.steps != 1:
            invalid("--claim", "be of the whole training: leave out --rate, --steps")
        options.worlds = _CLAIMED
        return _give(PiecewiseTradeOff.from_epsilon(*options.claim), options)
    if options.compose is not None:
        if options.rate != 1.0 or options.steps != 1:
            invalid("--compose", "have the rates and times in the plan: leave out --rate, --steps")
        options.planned, options.worlds = planned, _ = curves_of_plan(options.compose)
        options.steps = sum(each.times for each in planned)
        options.parts = [
            (each.curve.rate, each.times)
            for each in planned
            if isinstance(each.curve, SubsampledTradeOff)
        ]
        counts = [each.times for each in planned]
        return _give(compose(*(each.curve for each in planned), counts=counts), options)
    if options.dp_sgd is not None:
        if options.rate != 1.0 or options.steps != 1:
            invalid("--dp-sgd", "have the rate and the steps in itself: leave out --rate, --steps")
        sigma, options.rate, options.steps = options.dp_sgd
        options.mu = 1.0 / sigma
    curve: TradeOff = GaussianTradeOff(options.mu)
    if options.rate != 1.0:
        curve = curve.subsample(options.rate)
        if options.dp_sgd is None:
            # The fresh row is drawn from the population, whether it is in the batch or not.
            options.worlds = _FRESH
    if options.steps != 1:
        curve = compose(curve, counts=options.steps)
    return _give(curve, options)


def _give(curve: TradeOff, options: argparse.Namespace) -> int:
    content = _content(curve, options)
    return _output.give(
        options,
        _document(content, options),
        schema="mialeak.curve/2",
        content=content,
        title=f"What {_name(options).replace('A Gaussian', 'a Gaussian', 1)} leaks",
        compared=_ADDED if options.worlds == WORLDS[1] else (),
        panels=_panels(curve, options),
    )


def _content(curve: TradeOff, options: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from mialeak.tradeoff import ComposedTradeOff

    upper: list[str] = []
    bounded = curve.enclosure if isinstance(curve, ComposedTradeOff) else None

    def answer(exact: Callable[[], Any], name: str, **place: Any) -> float:
        """The number, or an upper bound of it where the curve refuses one."""
        try:
            return float(exact())
        except ArithmeticError:
            most = np.inf if bounded is None else float(np.asarray(bounded(**place).upper))
            if most == np.inf:
                raise
            upper.append(name)
            return most

    advantage = answer(lambda: curve.advantage, "advantage", epsilon=0.0)
    content: dict[str, Any] = {
        "mu": options.mu,
        "rate": None if options.planned else options.rate,
        "steps": options.steps,
        "worlds": options.worlds,
        "releases": [{"times": each.times, "words": each.words} for each in options.planned],
        "assumed": _assumed(options),
        "kind": "bound" if _is_bound(options) and curve.kind == "exact" else curve.kind,
        "advantage": advantage,
        "accuracy": (1.0 + advantage) / 2.0,
    }
    content["not_computed"] = missing = []
    content["upper_bounds"] = upper
    try:
        content["auc"] = float(curve.auc)
    except ArithmeticError:
        content["auc"] = None
        missing.append("auc")
    for given, answered, _, defaults in _LADDERS:
        content[answered] = rows = []
        values = getattr(options, given)
        for x in values:
            try:
                exact = partial(getattr(curve, answered), x)
                rows.append({given: x, answered: answer(exact, f"--{given} {x:g}", **{given: x})})
            except ArithmeticError as error:
                if values is not defaults:
                    message = f"--{given} {x:g} has no answer: {error}. {_epochs(options)}"
                    raise ArithmeticError(message.rstrip()) from error
                missing.append(f"--{given} {x:g}")
    return content


def _is_bound(options: argparse.Namespace) -> bool:
    """Whether the curve is the most that an epsilon and a delta allow, or a sample either way."""
    either_way = options.worlds == WORLDS[0] and bool(options.parts)
    return options.claim is not None or "epsilon and delta" in _known(options) or either_way


def _known(options: argparse.Namespace) -> set[str]:
    """What a plan states of its releases."""
    return {each.known for each in options.planned}


def _epochs(options: argparse.Namespace) -> str:
    """Steps that are less than an epoch may be epochs."""
    parts = options.parts if options.compose is not None else [(options.rate, options.steps)]
    for rate, count in parts:
        if count * rate < 1.0 < count:
            name = "times = " if options.parts else "steps="
            return (
                f"The steps are less than one epoch: if {count:,} counts epochs, "
                f"{name}{round(count / rate):,}."
            )
    return ""


def _document(content: dict[str, Any], options: argparse.Namespace) -> Document:
    from mialeak._report.document import Document, Notes, Pairs, Section, Table
    from mialeak._report.text import at_least, number, percent, significant

    upper = content["upper_bounds"]
    bounded = _is_bound(options)
    most = "at most " if "advantage" in upper or bounded else ""
    leakage = (at_least if most else number)(content["advantage"])
    verb = "leaks" if options.steps == 1 or options.dp_sgd is not None else "leak"
    if options.compose is not None and options.steps > 1:
        verb = "leak together"
    answer = (
        f"{_name(options)} {verb} {most}{leakage}. The best attack can decide whether the target "
        f"is among the rows with {most}{percent(content['accuracy'])} accuracy (guessing: 50%)."
    )
    summary = [
        (
            leakage,
            "advantage, the largest power - false-positive rate "
            f"({'upper bound' if most else content['kind']})",
        ),
    ]
    if content["auc"] is not None:
        summary.append((number(content["auc"]), "area under the curve of power against it"))
    sections = [Section("Trade-off curve", [Pairs(summary), Notes(_notes(content, options))])]
    if options.planned:
        releases = [(f"{each.times:,}", each.words) for each in options.planned]
        sections.insert(0, Section("Releases, each so many times", [Pairs(releases)]))
    tables = (
        (
            "Largest power of an attack" if bounded else "Power of the best attack",
            "false-positive rate",
            "fpr",
            "power",
        ),
        ("Least delta, in both directions", "epsilon", "epsilon", "delta"),
        ("Least epsilon, in both directions", "delta", "delta", "epsilon"),
    )
    for title, head, given, answered in tables:
        rows = []
        for row in content[answered]:
            bound = "at most " if f"--{given} {row[given]:g}" in upper else ""
            shown = (at_least if bound else significant)(row[answered])
            rows.append((f"{row[given]:g}", f"{bound}{shown}"))
        if rows:
            sections.append(Section(title, [Table((head, answered), rows)]))
    return Document(answer, sections, assumed=content["assumed"])


def _assumed(options: argparse.Namespace) -> list[str]:
    """How samples are drawn, and what has an epsilon; empty for a claim and a Gaussian release."""
    if _known(options) & {"epsilon"} and not _is_bound(options):
        return [*_drawn(options), _PURE]
    return _drawn(options)


def _drawn(options: argparse.Namespace) -> list[str]:
    """How samples and noise are drawn."""
    sampled = options.rate != 1.0 or options.parts
    if not sampled:
        return ["The noise of each release is drawn anew."] if options.steps > 1 else []
    if options.worlds == WORLDS[0]:
        return ["Each step draws a batch of the same size, by chance and anew.", _REPLACED]
    if options.worlds == WORLDS[1]:
        return [
            "Each step draws every row by itself with this probability (Poisson sampling). A "
            "training on batches of shuffled data, each row once an epoch, may leak several times "
            "as much."
        ]
    return ["Each release draws its rows anew, by chance."]


def _notes(content: dict[str, Any], options: argparse.Namespace) -> list[str]:
    """What epsilon and delta compare, and which numbers are bounds or missing."""
    from mialeak._arrays import listed

    worlds = {
        "fresh row": "Epsilon and delta compare worlds with the same number of rows: the target "
        "takes the place of a row drawn anew. Between two given rows (replace-one differential "
        'privacy) they are larger: pass --compose with worlds = "substitution".',
        "substitution": "Epsilon and delta compare worlds with the same number of rows "
        "(substitution, replace-one).",
        "claim": "Epsilon and delta compare the worlds of the claim. All numbers are the most that "
        "the claim allows: a training may leak less.",
        "add or remove": "Epsilon and delta compare worlds that differ by one row, added or "
        "removed; of one row in place of another (replace-one) they may be more than twice as "
        "large.",
    }
    notes = [worlds[options.worlds], *filter(None, [_epochs(options)])]
    if "epsilon and delta" in _known(options):
        notes.append(_MOST)
    if options.worlds == WORLDS[0] and options.parts:
        notes.append(_EITHER_WAY)
    if upper := content["upper_bounds"]:
        notes.append(f"Upper bounds, as no closer number is computed: {listed(upper, show=str)}.")
    if content["not_computed"]:
        missing = listed(content["not_computed"], show=str)
        notes.append(f"Not computed, since the curve is nearly discrete there: {missing}.")
    return notes


def _name(options: argparse.Namespace) -> str:
    if options.claim is not None:
        epsilon, delta = options.claim
        return f"A training with epsilon {epsilon:g} at delta {delta:g}"
    if options.compose is not None:
        several = f"{options.steps:,} releases" if options.steps > 1 else "release"
        return f"The {several} of {options.compose}"
    if options.dp_sgd is not None:
        sigma, drawn, steps = options.dp_sgd
        passes = steps * drawn
        epochs = f"{passes:,.0f} epochs" if passes >= 100.0 else f"{passes:.3g} epochs"
        epochs = "1 epoch" if epochs == "1 epochs" else epochs
        return f"DP-SGD with noise {sigma:g} at a rate of {drawn:g} in {steps:,} steps ({epochs})"
    rate = "" if options.rate == 1.0 else f", made from a random {options.rate:g} of the rows,"
    if options.steps == 1:
        return f"A Gaussian release with mu = {options.mu:g}{rate}"
    return f"{options.steps:,} Gaussian releases with mu = {options.mu:g} each{rate}"


def _panels(curve: TradeOff, options: argparse.Namespace) -> list[Panel]:
    """The curve on logarithmic axes, which show the tails, and on linear ones."""
    from mialeak._report.report import Panel

    name = "" if options.mu is None else f"mu = {options.mu:g}"
    name += f", rate {options.rate:g}" if options.rate != 1.0 else ""
    if options.compose is not None:
        name = options.compose
    elif options.claim is not None:
        name = "the most that the claim allows"
    elif options.steps != 1:
        name += f", {options.steps:,} times"

    def draw(ax: Axes, scale: Any) -> None:
        from mialeak.plotting import TradeOffDisplay

        TradeOffDisplay.from_tradeoff(curve, ax=ax, name=name, scale=scale)

    alt = "Power of the best attack by false-positive rate, on {} axes."
    return [
        Panel(alt.format("logarithmic"), lambda ax: draw(ax, "log")),
        Panel(alt.format("linear"), lambda ax: draw(ax, "linear")),
    ]
