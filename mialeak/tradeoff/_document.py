"""The report on a trade-off curve: the answer, the power, and pairs of epsilon and delta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import listed
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.report import Panel, display
from mialeak._report.text import number, percent, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mialeak.tradeoff._base import TradeOff

__all__ = ["curve_document", "curve_panels", "curve_table"]

#: False-positive rates, epsilons and deltas that are listed.
_FPR = (1e-4, 1e-3, 0.01, 0.1, 0.5)
_EPSILON, _DELTA = (0.5, 1.0, 2.0, 4.0), (1e-9, 1e-7, 1e-5, 1e-3)
#: Curves of an array of parameters that are listed.
_MOST = 20
_COMPARED = (
    "Power is the share of members that an attack recognises, the false-positive rate the share of "
    "others that it takes for members.",
    "Leakage is the largest difference of the two: 0 is guessing, 1 is certainty.",
)


def curve_document(curve: TradeOff, *, is_one_attack: bool) -> Document:
    """The content of the report on a curve, or on several of an array of parameters."""
    advantages = np.atleast_1d(np.asarray(curve.advantage, np.float64))
    if np.ndim(curve.advantage):
        return _of_several(curve, advantages.ravel())
    leakage = float(advantages[0])
    right = percent((1.0 + leakage) / 2.0)
    answer = (
        f"The release leaks {number(leakage)}. The best attack can decide whether the target is "
        f"among the rows with {right} accuracy (guessing: 50%)."
    )
    if is_one_attack:
        answer = (
            f"This attack has an advantage of {number(leakage)} on its scores: it decides whether "
            f"the target is among the rows with {right} accuracy (guessing: 50%). Others may do "
            "better."
        )
    summary = [
        (number(leakage), f"advantage, the largest power - false-positive rate ({curve.kind})"),
        (number(float(curve.auc)), "area under the curve of power against it"),
    ]
    missing: list[str] = []
    sections = [
        _ladder(missing, "Power", ("false-positive rate", "power"), curve.power, _FPR),
        _ladder(missing, "Least delta, in both directions", ("epsilon", "delta"), curve.delta,
                _EPSILON),
        _ladder(missing, "Least epsilon, in both directions", ("delta", "epsilon"),
                curve._least_epsilon, _DELTA),
    ]  # fmt: skip
    notes = [f"Not computed: {listed(missing, show=str)}."] if missing else []
    first = Section("Trade-off curve", [Pairs(summary), Notes(notes)])
    return Document(answer, [first, *filter(None, sections)], compared=_COMPARED)


def _ladder(
    missing: list[str],
    title: str,
    head: tuple[str, str],
    answer: Callable[[float], Any],
    values: Sequence[float],
) -> Section | None:
    """A table of answers; what has none is added to `missing`."""
    rows = []
    for value in values:
        try:
            rows.append((f"{value:g}", significant(float(answer(value)))))
        except (ArithmeticError, ValueError):
            missing.append(f"{head[1]} at {head[0]} {value:g}")
    return Section(title, [Table(head, rows)]) if rows else None


def _of_several(curve: TradeOff, advantages: Any) -> Document:
    areas = np.ravel(np.asarray(curve.auc, np.float64))
    rows = [
        (str(place), number(float(each)), number(float(areas[place])))
        for place, each in enumerate(advantages[:_MOST].tolist())
    ]
    table = Table(("curve", f"advantage ({curve.kind})", "area under it"), rows)
    low, high = number(float(advantages.min())), number(float(advantages.max()))
    answer = f"{advantages.size:,} trade-off curves, which leak {low} to {high}."
    notes = [f"The first {_MOST} are listed."] if advantages.size > _MOST else []
    return Document(
        answer, [Section("Trade-off curves", [table, Notes(notes)])], compared=_COMPARED
    )


def curve_panels(curve: TradeOff) -> list[Panel]:
    """The curve on logarithmic axes, which show the tails, and on linear ones."""

    def draw(ax: Axes, scale: str) -> None:
        display("TradeOffDisplay").from_tradeoff(curve, ax=ax, scale=scale)

    alt = "Power by false-positive rate, on {} axes."
    return [
        Panel(alt.format("logarithmic"), lambda ax: draw(ax, "log")),
        Panel(alt.format("linear"), lambda ax: draw(ax, "linear")),
    ]


def curve_table(curve: TradeOff) -> dict[str, Any]:
    """False-positive rates and powers."""
    fpr = np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 40), np.linspace(0.55, 1.0, 10)])
    return {"fpr": fpr, "power": np.array([float(curve.power(x)) for x in fpr.tolist()])}
