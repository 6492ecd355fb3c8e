"""Sorted scores of the two worlds, and counts of the scores of one world beyond those of the other.

Ties are broken once, by independent uniform numbers: all orders of equal scores of both worlds have
the same probability.  Keys are drawn only for ties that a count needs, from a stream seeded by the
seed and by the numbers of scores below and in the tie: all counts use the same order of a tie, and
other data use another stream.  If all scores are equal, they are not ordered: constant scores are
no evidence.

Where few scores differ from one value, few numbers of scores are likely, and a fixed seed gives
each of these one order: an order that refutes a true claim would then do so in a large share of the
data.  A bound is therefore the smallest of several orders (`smallest_bound`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_scores, invalid
from mialeak._blocks import as_rng

__all__ = ["IntArray", "Order", "geometric_ranks", "refuse_rates", "smallest_bound"]

IntArray = npt.NDArray[np.int64]

#: So many points that run from (0, 0) to (1, 1) are those of a curve, not scores.
_POINTS = 8
#: Orders of equal scores of which a bound is the smallest.
_ORDERS = 5


class _Tie(NamedTuple):
    """Equal scores: the numbers of scores below them, and their keys in ascending order."""

    inside_below: int
    outside_below: int
    inside: FloatArray
    outside: FloatArray


@dataclass(frozen=True)
class Order:
    """Scores of the two worlds in ascending order; larger means more likely *in*."""

    inside: FloatArray
    outside: FloatArray
    seed: int
    #: Which order of the equal scores.
    shuffle: int = 0
    _ties: dict[float, _Tie] = field(default_factory=dict)

    @classmethod
    def of(cls, in_scores: Any, out_scores: Any, *, higher_is_member: bool, rng: Any) -> Order:
        """Check and sort the scores of an audit."""
        inside, outside = as_scores(in_scores, "in_scores"), as_scores(out_scores, "out_scores")
        if not higher_is_member:
            inside, outside = -inside, -outside
        seed = int(as_rng(rng).integers(2**63))
        inside, outside = np.sort(inside), np.sort(outside)
        inside.setflags(write=False)
        outside.setflags(write=False)
        return cls(inside, outside, seed)

    def hits(self, ranks: IntArray) -> IntArray:
        """Number of in-scores above the r-th largest out-score, for each r of `ranks`."""
        places = self.outside.size - ranks
        values = self.outside[places]
        counts = self.inside.size - np.searchsorted(self.inside, values, side="right")
        for j in np.flatnonzero(_within(self.inside, values)).tolist():
            tie = self._tie(float(values[j]))
            key = tie.outside[places[j] - tie.outside_below]
            counts[j] += tie.inside.size - np.searchsorted(tie.inside, key)
        return counts.astype(np.int64, copy=False)

    def rejections(self, ranks: IntArray) -> IntArray:
        """Number of out-scores below the r-th smallest in-score, for each r of `ranks`."""
        values = self.inside[ranks - 1]
        counts = np.searchsorted(self.outside, values, side="left")
        for j in np.flatnonzero(_within(self.outside, values)).tolist():
            tie = self._tie(float(values[j]))
            key = tie.inside[ranks[j] - 1 - tie.inside_below]
            counts[j] += np.searchsorted(tie.outside, key)
        return counts.astype(np.int64, copy=False)

    def power(self, fpr: float) -> float:
        """Power of the measured curve at a false-positive rate, linear across ties."""
        inside, outside = self.inside, self.outside
        false = fpr * outside.size
        if abs(false - round(false)) < 1e-9:
            false = round(false)
        if false >= outside.size:
            return 1.0
        value = outside[outside.size - 1 - int(false)]
        (first, last), (low, high) = (_ends(scores, value) for scores in (outside, inside))
        share = (false - (outside.size - last)) / (last - first)
        return float((inside.size - high + share * (high - low)) / inside.size)

    @property
    def is_constant(self) -> bool:
        """Whether all scores of both worlds are equal."""
        low, high = min(self.inside[0], self.outside[0]), max(self.inside[-1], self.outside[-1])
        return bool(low == high)

    @property
    def has_used_ties(self) -> bool:
        """Whether a count depended on the order of equal scores of both worlds."""
        return bool(self._ties)

    def reordered(self, shuffle: int) -> Order:
        """The same scores with the equal ones in another order."""
        return Order(self.inside, self.outside, self.seed, shuffle)

    def separated(self) -> Order:
        """Scores of a perfect attack, of the same numbers: each of *in* above each of *out*."""
        return Order(np.ones(self.inside.size), np.zeros(self.outside.size), self.seed)

    def _tie(self, value: float) -> _Tie:
        tie = self._ties.get(value)
        if tie is None:
            (first, last), (low, high) = (
                _ends(scores, value) for scores in (self.outside, self.inside)
            )
            # Eight words: distinct from the streams of the calibrated draws, which take two.
            sizes = self.inside.size, self.outside.size
            words = [self.seed, *sizes, first, last, low, high, self.shuffle]
            stream = np.random.default_rng(words)
            keys = np.sort(stream.random(high - low)), np.sort(stream.random(last - first))
            tie = self._ties[value] = _Tie(low, first, *keys)
        return tie


def smallest_bound(order: Order, bound: Callable[[Order], float]) -> float:
    """The smallest of a lower bound over orders of the equal scores; one if no count needs it.

    The first order, drawn at random, gives a valid bound, and the smallest is not above it.
    """
    first = bound(order)
    if not order.has_used_ties:
        return first
    return min(first, *(bound(order.reordered(shuffle)) for shuffle in range(1, _ORDERS)))


def geometric_ranks(size: int, ratio: float) -> IntArray:
    """Ranks of `size` scores whose steps grow by a ratio, from 1 to half of the scores."""
    count = 1 + int(np.log(max(size // 2, 1)) / np.log(ratio))
    return np.unique(np.rint(ratio ** np.arange(count)).astype(np.int64))


def refuse_rates(inside: FloatArray, outside: FloatArray) -> None:
    """Refuse the two rates of a measured curve: distinct points from (0, 0) to (1, 1), in order.

    Scores that are sorted and saturate at 0 and 1 have equal ones there, in both worlds.
    """
    if inside.size != outside.size or inside.size < _POINTS:
        return
    ends = {(float(one[0]), float(one[-1])) for one in (inside, outside)}
    if ends not in ({(0.0, 1.0)}, {(1.0, 0.0)}) or np.array_equal(inside, outside):
        return
    rises = [np.diff(one if one[-1] == 1.0 else one[::-1]) for one in (inside, outside)]
    if min(rise.min() for rise in rises) >= 0.0 and (rises[0] + rises[1] > 0.0).all():
        rule = "be scores of an attack; with out_scores it runs from (0, 0) to (1, 1), as rates do"
        remedy = "Pass the scores of members and of others, from which the rates were computed"
        invalid("in_scores", rule, remedy=remedy)


def _ends(scores: FloatArray, value: float) -> tuple[int, int]:
    return (
        int(np.searchsorted(scores, value, side="left")),
        int(np.searchsorted(scores, value, side="right")),
    )


def _within(scores: FloatArray, values: FloatArray) -> npt.NDArray[np.bool_]:
    """Which of the values are among the scores."""
    places = np.minimum(np.searchsorted(scores, values), scores.size - 1)
    among: npt.NDArray[np.bool_] = scores[places] == values
    return among
