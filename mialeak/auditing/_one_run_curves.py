"""Canaries of one run against a trade-off curve: which curves do so many right guesses refute?

Let C of c guesses about m canaries be right, and let h be concave with power <= h(fpr) between data
with a canary and without it, in both directions.  For a canary i, the event that its guess is right
and C = j is, with its coin turned, the event that its guess is wrong and C = j - 1.  Summed over
canaries and over j >= v, and by the concavity of h (Mahloujifar, Melis and Chaudhuri 2025),

    R_v <= h(W_{v-1}),   R_v = sum_{j >= v} j p_j / m,   W_v = sum_{j >= v} (c - j) p_j / m

for the law p of C and every v.  If P(C >= v) = tau, then R_v is at least v tau / m, and the least
p_{v-1}, p_{v-2}, ... follow one after the other.  If their sum exceeds 1, no such law exists, and
P(C >= v) < tau.

That the least one each time gives the least sum: a_j = j / (c - j) increases with j, and R_i is
R_v - a_{v-1} W_v plus a combination of W_{v-1}, ..., W_i with positive weights.  All of these are
the least ones wherever the first step has to add anything; where it has not, nothing is refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from mialeak._arrays import FloatArray, invalid
from mialeak.tradeoff import TradeOff

if TYPE_CHECKING:
    from mialeak.auditing._one_run import Choices

__all__ = ["curve_p_value", "gaussian_bound"]

#: Values of mu that are tried at once, and how often around the last of them that is refuted.
_TRIED, _ROUNDS = 32, 5
_LARGEST = 64.0
#: Nodes of a null curve.
_NODES = 200_000
#: Logarithm of the least p-value, and how close that of a p-value is found.
_LEAST, _CLOSE = -700.0, 1e-6
#: Deviation from a symmetric curve that is rounding.
_SYMMETRIC = 1e-6


def gaussian_bound(choices: Choices, right: list[int], size: int) -> float:
    """The largest mu whose curve the right guesses of one of the choices refute; 0 for none."""
    best = 0.0
    for ((plus, minus), share), correct in zip(choices, right, strict=True):
        low, high = best, _LARGEST
        for _ in range(_ROUNDS):
            tried = np.linspace(low, high, _TRIED)

            def inverse(power: FloatArray, mu: FloatArray = tried) -> FloatArray:
                return np.asarray(ndtr(ndtri(power) - mu))

            refuted = _refutes(correct, plus + minus, size, np.full(_TRIED, share), inverse)
            count = int(np.argmin(refuted)) if not refuted.all() else _TRIED
            if count == 0:
                break
            low, high = tried[count - 1], tried[min(count, _TRIED - 1)]
        best = max(best, float(low))
    return best


def curve_p_value(null: TradeOff, choices: Choices, right: list[int], size: int) -> float:
    """P-value of the claim that no canary is distinguished better than by this curve."""
    inverse = _tabulated(null)
    total = sum(share for _, share in choices)
    best = 1.0
    for ((plus, minus), share), correct in zip(choices, right, strict=True):
        low, high = _LEAST, 0.0  # logarithms; what lies above the p-value is refuted
        while high - low > _CLOSE:
            tried = np.linspace(low, high, _TRIED)
            refuted = _refutes(correct, plus + minus, size, np.exp(tried), inverse)
            count = int(np.count_nonzero(~refuted))
            if count == _TRIED:
                break
            low, high = tried[max(count - 1, 0)], tried[count]
        best = min(best, float(np.exp(high)) * total / share)
    return min(best, 1.0)


def _refutes(
    correct: int,
    guesses: int,
    size: int,
    levels: FloatArray,
    inverse: Callable[[FloatArray], FloatArray],
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether no law of the number of right guesses has P(at least `correct`) = level."""
    right, wrong = correct * levels / size, (guesses - correct) * levels / size
    if correct == 0:
        return np.asarray(levels > 1.0)
    is_binding = inverse(np.minimum(right, 1.0)) > wrong
    limit = guesses / size
    for j in range(correct, 0, -1):
        added = np.maximum(inverse(np.minimum(right, 1.0)) - wrong, 0.0)
        wrong = wrong + added
        right = right + (j - 1.0) / (guesses - j + 1.0) * added
        if j % 64 == 0 and (right + wrong > limit).all():
            break
    return np.asarray(is_binding & (right + wrong > limit * (1.0 + 1e-12)))


def _tabulated(null: TradeOff) -> Callable[[FloatArray], FloatArray]:
    """False-positive rate at a power, from nodes, and nowhere above the true one.

    It is a convex function of the power, and so above the lines through the two nodes before and
    through the two nodes after.
    """
    if not isinstance(null, TradeOff):
        invalid("null", f"be a TradeOff, not {type(null).__name__}", error=TypeError)
    reach = np.asarray(null.power(0.5))
    if reach.ndim:
        invalid("null", f"be one curve, not of shape {reach.shape}")
    rates = np.linspace(0.01, 0.99, 50)
    there = np.asarray(null.power(rates))
    back = 1.0 - np.asarray(null.power(1.0 - there))
    inside = there < 1.0 - 1e-9
    if np.abs(back - rates)[inside].max(initial=0.0) > _SYMMETRIC:
        remedy = (
            "A canary is added or removed: pass a concave curve above both, such as that of an "
            "epsilon and delta, or a Gaussian one"
        )
        invalid("null", "be symmetric: the same with both worlds exchanged", remedy=remedy)
    small = np.geomspace(1e-300, 1e-3, _NODES // 2)
    nodes = np.unique(np.concatenate([[0.0], small, np.linspace(1e-3, 1.0, _NODES // 2)]))
    values = np.asarray(null.fpr(nodes))

    slopes = np.diff(values) / np.diff(nodes)
    before, after = np.append(0.0, slopes), np.append(slopes[1:], [0.0, 0.0])
    # Between the last two nodes, and at the last one, no line comes after; 0 is below all.
    anchors = np.append(values[1:-1], [0.0, 0.0])

    def inverse(power: FloatArray) -> FloatArray:
        place = np.searchsorted(nodes, power, side="right") - 1
        low, high = nodes[place], nodes[np.minimum(place + 1, nodes.size - 1)]
        line = anchors[place] - after[place] * (high - power)
        return np.asarray(np.maximum(values[place] + before[place] * (power - low), line))

    return inverse
