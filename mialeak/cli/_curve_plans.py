"""Plans of ``mialeak curve --compose``: the curves of several releases, from a .toml file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from mialeak.tradeoff import TradeOff

__all__ = ["WORLDS", "PlannedCurve", "curves_of_plan"]

#: What the worlds of a plan may differ by.
WORLDS = ("substitution", "add or remove")
#: What a release of a plan may be, and which further values it may have.
_KINDS = {
    "gaussian": ("rate",),
    "laplace": ("rate",),
    "epsilon": ("delta",),
    "discrete_gaussian": ("shift",),
    "curve": (),
}
#: A discrete Gaussian is listed up to so many scales: beyond is less than the least number.
_REACH = 40
#: Largest scale of a discrete Gaussian.
_MOST_SCALE = 1e4


class PlannedCurve(NamedTuple):
    """A release of a plan: its curve, how often it is made, and what it is in words.

    `known` is what is known of it: its noise, or only an epsilon, or an epsilon at a delta.
    """

    curve: TradeOff
    times: int
    words: str
    known: Literal["noise", "epsilon", "epsilon and delta"]


def curves_of_plan(path: str) -> tuple[list[PlannedCurve], str]:
    """The releases of a plan, and the worlds of all."""
    import tomllib
    from pathlib import Path

    from mialeak._arrays import invalid

    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        invalid(str(file), f"be a plan in TOML ({error})")
    releases = content.pop("release", None)
    worlds = content.pop("worlds", None)
    if worlds not in WORLDS:
        rule = f"be {WORLDS[0]!r} or {WORLDS[1]!r}"
        invalid(f"worlds of {file.name}", rule, value=worlds)
    if content:
        invalid(file.name, "have only worlds and [[release]]", value=next(iter(content)))
    if not isinstance(releases, list) or not all(isinstance(each, dict) for each in releases):
        invalid(f"release of {file.name}", "be tables, each below a line [[release]]")
    planned = []
    for number, each in enumerate(releases, 1):
        where = f"release {number} of {file.name}"
        if each.get("worlds", worlds) != worlds:
            remedy = "Epsilons of different neighbours do not compose: restate one of them"
            invalid(f"worlds of {where}", f"be {worlds!r}", value=each["worlds"], remedy=remedy)
        content = {k: v for k, v in each.items() if k != "worlds"}
        curve = _release(content, where, worlds, file)
        planned.append(
            PlannedCurve(curve, each.get("times", 1), _in_words(content), _known(content))
        )
    return planned, worlds


def _known(content: dict[str, Any]) -> Literal["noise", "epsilon", "epsilon and delta"]:
    """What a release of a plan states: its noise, or what it guarantees."""
    if "epsilon" not in content:
        return "noise"
    return "epsilon and delta" if content.get("delta", 0.0) > 0.0 else "epsilon"


def _in_words(content: dict[str, Any]) -> str:
    """A release of a plan, with the size of its noise beside the parameter that states it."""
    kind = next(kind for kind in _KINDS if kind in content)
    value, rate = content[kind], content.get("rate", 1.0)
    if kind == "curve":
        return f"the curve in {value}"
    if kind == "epsilon":
        return f"epsilon {value:g} at delta {content.get('delta', 0.0):g}"
    if kind == "discrete_gaussian":
        shift = content.get("shift", 1)
        return f"discrete Gaussian noise of scale {value:g}, on a count that changes by {shift:g}"
    noise = f", noise of scale {1.0 / value:.4g} on a value that changes by 1" if value else ""
    words = f"Gaussian with mu {value:g}" if kind == "gaussian" else f"Laplace with {value:g}"
    sample = "" if rate == 1.0 else f", of a random {rate:g} of the rows"
    return f"{words}{noise}{sample}"


def _release(content: dict[str, Any], where: str, worlds: str, plan: Path) -> TradeOff:
    """The curve of one release of a plan."""
    import numpy as np

    from mialeak._arrays import invalid, listed
    from mialeak._checks.budgets import look_exchanged
    from mialeak.tradeoff import GaussianTradeOff, LaplaceTradeOff, PiecewiseTradeOff

    kinds = [kind for kind in _KINDS if kind in content]
    if len(kinds) != 1:
        invalid(where, f"have one of {listed(_KINDS, show=str)}", value=listed(kinds, show=str))
    kind = kinds[0]
    unknown = sorted(set(content) - {kind, "times", *_KINDS[kind]})
    if unknown:
        known = listed([kind, *_KINDS[kind], "times"], show=str)
        invalid(where, f"have only {known}", value=unknown[0])
    for name, given in content.items():
        number = not isinstance(given, bool) and isinstance(given, (int, float))
        if not number and name != "curve":
            invalid(f"{name} of {where}", "be a number, without quotes", value=given)
    value, rate = content[kind], content.get("rate", 1.0)
    if kind == "curve":
        return _stored(content[kind], where, worlds, plan)
    if kind == "epsilon":
        if look_exchanged(value, content.get("delta", 0.0)):
            rule = f"have a delta below 0.1 where epsilon is {value:g}"
            invalid(where, rule, value=content["delta"], remedy="They seem to be exchanged")
        return PiecewiseTradeOff.from_epsilon(value, content.get("delta", 0.0))
    if kind == "discrete_gaussian":
        if not isinstance(value, (int, float)) or not 0.0 < value <= _MOST_SCALE:
            rule = f"be above 0 and at most {_MOST_SCALE:g}"
            invalid(f"discrete_gaussian of {where}", rule, value=value)
        place = np.arange(-int(_REACH * value) - 1, int(_REACH * value) + 2)
        p = np.exp(-0.5 * (place / value) ** 2)
        return PiecewiseTradeOff.from_noise(p / p.sum(), content.get("shift", 1))
    curve = GaussianTradeOff(value) if kind == "gaussian" else LaplaceTradeOff(value)
    # One row replaces another: each of the worlds has a row in its batch that the other lacks.
    return curve if rate == 1.0 else curve.subsample(rate, symmetric=worlds == WORLDS[0])


def _stored(name: Any, where: str, worlds: str, plan: Path) -> TradeOff:
    """The curve in a file beside the plan."""
    import json

    from mialeak._arrays import invalid
    from mialeak._files.opening import inside_folder
    from mialeak.tradeoff import ComposedTradeOff, SubsampledTradeOff, TradeOff

    file = inside_folder(plan, name, f"curve of {where.rpartition(' of ')[0]}")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        invalid(file.name, f"be JSON, as json.dump of to_dict() writes it ({error})")
    try:
        curve = TradeOff.from_dict(content)
    except (TypeError, ValueError) as error:
        invalid(file.name, f"hold a curve that mialeak wrote: {error}")
    for one in curve.curves if isinstance(curve, ComposedTradeOff) else (curve,):
        # A sample states its worlds; other curves do not.
        if isinstance(one, SubsampledTradeOff) and one.symmetric != (worlds == WORLDS[0]):
            remedy = "Epsilons of different neighbours do not compose: restate one of them"
            rule = f"be of the worlds {worlds!r}: it holds a sample of others"
            invalid(file.name, rule, remedy=remedy)
    return curve
