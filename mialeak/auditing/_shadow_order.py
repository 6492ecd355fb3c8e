"""Whether scores of shadow models have the order of the flags: of their rows and their columns.

Fair coins that nobody reads agree with scores by no more than chance, in any order.  Scores that
agree with the flags of other models, or of other examples, beyond the chance of all these orders
together, and not with their own, are of another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from mialeak._arrays import FloatArray
from mialeak._warnings import warn
from mialeak.auditing._shadow_design import BoolArray, Design

__all__ = ["warn_of_sorted_scores", "warns_of_another_order"]

Singles = npt.NDArray[np.floating]

#: Fair coins do with this probability at most what is warned of, and so many orders are tried.
_CHANCE, _ORDERS = 1e-6, 11
#: The agreement with the own flags is less than this share of that with others.
_SHARE = 0.5
#: Rows, or columns, of which all orders are looked at, at most: their square is searched in cubic
#: time.  Columns of scores that are looked at, at most.
_SQUARE, _SEEN = 1000, 10_000


class _Order(NamedTuple):
    """Flags in an order that mistakes make."""

    flags: Singles
    words: str
    remedy: str


def warns_of_another_order(values: FloatArray, coins: BoolArray, design: Design) -> bool:
    """Warn of scores that agree with other rows, or columns, of flags, and not their own; if so.

    A score above the median of its example counts 1, one below it -1; the mean of each model is
    taken away.  The sum of these with signs of independent fair coins is as far from 0 as a normal
    variable at most (Hoeffding); with coins that are opposite in pairs, sqrt(2) times as far.
    """
    seen = values[:, :_SEEN]
    signs = np.sign(seen - np.median(seen, axis=0)).astype(np.float32)
    signs -= signs.mean(axis=1, keepdims=True)
    size = float(np.linalg.norm(signs))
    if size == 0.0:
        return False
    flags = np.where(coins, np.float32(1.0), np.float32(-1.0))
    given = float(np.vdot(signs, flags[:, :_SEEN])) / size
    scale = 2.0**0.5 if design == "pairs" else 1.0
    least = _least(np.log(_ORDERS)) * scale
    for order in _orders(flags):
        other = float(np.vdot(signs, order.flags)) / size
        if other >= least and abs(given) < _SHARE * other:
            warn(
                f"the scores agree with the flags {order.words} ({other:.0f} standard deviations "
                f"of fair coins), and not with the flags as they stand ({given:.1f}): "
                f"{order.remedy}",
            )
            return True
    return _warns_of_places(signs, flags[:, :_SEEN], "row", scale) or _warns_of_places(
        signs.T, flags.T, "column", scale
    )


def _least(choices: float) -> float:
    """What the largest of so many sums (their logarithm) exceeds by chance once in 10^6 times."""
    return float(np.sqrt(2.0 * (choices - np.log(_CHANCE))))


def _orders(flags: Singles) -> Iterator[_Order]:
    """The flags of the columns that are seen transposed, reversed, or as numbers sorted as text."""
    if flags.shape[0] == flags.shape[1]:
        remedy = "one of the two is transposed. Pass both as models by examples"
        yield _Order(flags.T[:, :_SEEN], "transposed", remedy)
    seen = flags[:, :_SEEN]
    remedy = "pass both with their {} in one order"
    yield _Order(seen[::-1], "with their rows reversed", remedy.format("rows"))
    turned = flags[:, ::-1][:, :_SEEN]
    yield _Order(turned, "with their columns reversed", remedy.format("columns"))
    for axis, what in enumerate(("rows", "columns")):
        for first in (0, 1):
            numbers = range(first, first + flags.shape[axis])
            as_text = np.array(sorted(numbers, key=str)) - first
            words = ", ".join(map(str, as_text[:4] + first))
            for places in (as_text, np.argsort(as_text)):
                yield _Order(
                    flags[:, places[:_SEEN]] if axis else seen[places],
                    f"in another order of {what}, as of numbers that are sorted as text",
                    f"one of the two has its {what} in the order {words}, ...; sort them by number",
                )


def _warns_of_places(signs: Singles, flags: Singles, what: str, scale: float) -> bool:
    """Warn where rows agree, each with one of the flags, with those at other places."""
    from scipy.optimize import linear_sum_assignment

    count = len(flags)
    if count > _SQUARE:
        return False
    sizes = np.linalg.norm(signs, axis=1, keepdims=True)
    agreement = (signs @ flags.T) / np.where(sizes > 0.0, sizes, 1.0)
    rows, places = linear_sum_assignment(agreement, maximize=True)
    moved = np.flatnonzero(places != rows)
    if not moved.size:
        return False
    total, given = (
        float(agreement[moved, each].sum()) / np.sqrt(moved.size) for each in (places[moved], moved)
    )
    choices = gammaln(count + 1.0) - gammaln(count - moved.size + 1.0)
    if total < _least(choices) * scale or abs(given) >= _SHARE * total:
        return False
    most = moved[np.argmax(agreement[moved, places[moved]])]
    warn(
        f"the scores of {moved.size} of {count} {what}s agree with the flags of other {what}s, "
        f"such as {what} {most} with {places[most]} ({agreement[most, places[most]]:.1f} standard "
        f"deviations of fair coins), and not with their own ({agreement[most, most]:.1f}): pass "
        f"both with their {what}s in one order. Names that are sorted as text have 10 before 2",
    )
    return True


def warn_of_sorted_scores(values: FloatArray) -> None:
    """Warn of scores that are sorted in each model, or in each example."""
    for axis, (one, what) in enumerate((("example", "models"), ("model", "examples"))):
        steps, size = np.diff(values, axis=axis), float(values.shape[axis])
        if not steps.any() or not ((steps >= 0.0).all() or (steps <= 0.0).all()):
            continue
        chance = np.log(2.0) - values.shape[1 - axis] * gammaln(size + 1.0)
        if chance <= np.log(_CHANCE):
            warn(
                f"the scores of each {one} are sorted, and with these flags they prove no more "
                f"than chance: if the flags were not sorted with them, it is lost of which {what} "
                "they are. Pass the scores as the models give them",
            )
