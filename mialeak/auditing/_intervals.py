"""Intervals and a band around what an attack achieved, from exact binomial and beta laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, rel_entr

from mialeak._arrays import FloatArray
from mialeak._numerics.order import IntArray, Order, geometric_ranks, smallest_bound
from mialeak._numerics.rank_tests import ADVANTAGE, Pairs
from mialeak._results import Kind, Result

__all__ = [
    "Band",
    "Interval",
    "advantage_interval",
    "area_interval",
    "hull_area_interval",
    "power_band",
    "power_interval",
]

#: Share of an interval's error that goes to where the threshold lies, the rest to the power there.
_PLACE = 0.25
#: In-scores that are counted at once for the area: 512 KB.
_BLOCK = 2**16
#: Ratio of the ranks at which the band is pinned.
_RATIO = 1.4


@dataclass(frozen=True, repr=False)
class Interval(Result):
    """A measured value and the interval that holds the true one, with the confidence stated.

    Attributes
    ----------
    value : float
        As measured.
    low, high : float
        The interval: valid for every number of scores, whatever their laws.
    confidence : float
        Of the interval alone.
    kind : str
        "estimate".

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import audit
    >>> auc = audit(np.arange(50.0), np.arange(50.0) - 25.0).auc
    >>> f"{auc.value:.2f}, between {auc.low:.2f} and {auc.high:.2f}"
    '0.88, between 0.71 and 0.97'
    """

    value: float
    low: float
    high: float
    confidence: float
    kind: Kind = "estimate"


class Band(NamedTuple):
    """The whole curve of power lies between two steps, from each `fpr` up to the next.

    Attributes
    ----------
    fpr : ndarray
        False-positive rates, rising.
    lower, upper : ndarray
        The steps; the curve lies between them at all rates at once, with the audit's confidence.
    name : str
        What the band is called in a legend.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import audit
    >>> band = audit(np.arange(50.0), np.arange(50.0) - 25.0).band
    >>> bool((band.lower <= band.upper).all())
    True
    """

    fpr: FloatArray
    lower: FloatArray
    upper: FloatArray
    name: str


def power_interval(order: Order, fpr: float, confidence: float) -> Interval:
    """The power of the attack at one false-positive rate.

    The threshold with this rate lies above the out-score of one rank and below that of another;
    the ranks follow from the numbers of scores alone, and the power at either is binomial.
    """
    n_in, n_out = order.inside.size, order.outside.size
    tail = 0.5 * (1.0 - confidence)
    low, high = 0.0, 1.0
    # The largest r with P(U_(r) > fpr) <= tail/4, then V given that U_(r) <= fpr.
    rank = _last(lambda r: bool(betaincc(r, n_out - r + 1, fpr) <= _PLACE * tail), n_out)
    if rank:
        hits, missed = int(order.hits(np.array([rank]))[0]), betaincc(rank, n_out - rank + 1, fpr)
        if hits:
            low = float(betaincinv(hits, n_in - hits + 1, (tail - missed) / (1.0 - missed)))
    # The smallest r with P(U_(r) < fpr) <= tail/4.
    rank = 1 + _last(lambda r: bool(betainc(r, n_out - r + 1, fpr) > _PLACE * tail), n_out)
    if rank <= n_out:
        hits, missed = int(order.hits(np.array([rank]))[0]), betainc(rank, n_out - rank + 1, fpr)
        if hits < n_in:
            high = float(betainccinv(hits + 1, n_in - hits, (tail - missed) / (1.0 - missed)))
    value = order.power(fpr)  # of a tie straight across, which its order may miss
    return Interval(value, min(low, value), max(high, value), confidence)


def _last(holds: Callable[[int], bool], size: int) -> int:
    """The last of 1, 2, ..., size at which what holds for small ones still does; 0 if at none."""
    low, high = 0, size + 1
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def power_band(order: Order, confidence: float) -> Band:
    """A band that holds the whole measured curve's true one with probability `confidence`.

    At each of some ranks, fixed beforehand, the false-positive rate and the power of the threshold
    at the out-score of that rank lie in exact intervals, and so do those at the in-scores of some
    ranks; all of them do with probability `confidence` (Bonferroni).  The curve is nondecreasing.
    """
    n_in, n_out = order.inside.size, order.outside.size
    from_out, from_in = geometric_ranks(n_out, _RATIO), geometric_ranks(n_in, _RATIO)
    tail = (1.0 - confidence) / (4 * (from_out.size + from_in.size))
    fpr, fnr = _placed(from_out, n_out, tail), _placed(from_in, n_in, tail)
    power = _clopper_pearson(order.hits(from_out), n_in, tail)
    tnr = _clopper_pearson(order.rejections(from_in), n_out, tail)
    # Corners (x, y): power at least y from x on; power at most y up to x.
    least = np.append(fpr[1], 1.0 - tnr[0]), np.append(power[0], 1.0 - fnr[1])
    most = np.append(fpr[0], 1.0 - tnr[1]), np.append(power[1], 1.0 - fnr[0])
    edges = np.unique(np.concatenate([[0.0, 1.0], least[0], most[0]]))
    first, last = np.argsort(least[0]), np.argsort(most[0])
    heights = np.append(0.0, np.maximum.accumulate(least[1][first]))
    lower = heights[np.searchsorted(least[0][first], edges, side="right")]
    depths = np.append(np.minimum.accumulate(most[1][last][::-1])[::-1], 1.0)
    # Up to the next edge: the corners that lie right of this one.
    upper = depths[np.searchsorted(most[0][last], edges, side="right")]
    lower[-1] = upper[-1] = 1.0
    return Band(edges, lower, upper, f"{100 * confidence:g}% simultaneous band")


def _placed(rank: IntArray, size: int, tail: float) -> tuple[Any, Any]:
    """Between what ends the r-th smallest of uniform numbers lies: both tails of Beta(r, ...)."""
    return betaincinv(rank, size - rank + 1, tail), betainccinv(rank, size - rank + 1, tail)


def _clopper_pearson(count: IntArray, size: int, tail: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval of a probability, from how often it came true."""
    seen, unseen = np.maximum(count, 1), np.maximum(size - count, 1)
    low = np.where(count > 0, betaincinv(seen, size - seen + 1, tail), 0.0)
    high = np.where(count < size, betainccinv(size - unseen + 1, unseen, tail), 1.0)
    return low, high


def advantage_interval(order: Order, confidence: float) -> Interval:
    """The largest power - fpr.

    The low end is the bound of the rank pairs.  The high end adds to the measured value how far
    either distribution function may be off on its side (Dvoretzky, Kiefer, Wolfowitz and Massart).
    """
    inside, outside = order.inside, order.outside
    # Guess "in" from each in-score on; where in-scores are equal, the first of them counts.
    false = outside.size - np.searchsorted(outside, inside, side="left")
    gap = (inside.size - np.arange(inside.size)) / inside.size - false / outside.size
    value = max(float(gap.max()), 0.0)
    tail = 0.5 * (1.0 - confidence)
    low = smallest_bound(order, lambda one: Pairs.of(one, tail).bound(ADVANTAGE, 1.0))
    above = np.sqrt(0.5 * np.log(2.0 / tail)) * (inside.size**-0.5 + outside.size**-0.5)
    return Interval(value, min(low, value), min(value + float(above), 1.0), confidence)


def area_interval(order: Order, confidence: float, stride: int = 1) -> Interval:
    """The area under the curve: P(in-score > out-score), ties counted half.

    The Mann-Whitney statistic is a mean of averages over m = min(n_in, n_out) pairs that share no
    score (Hoeffding, 1963), so that Chernoff's bound of the binomial holds: it lies as far from the
    true area a, on one side, with probability at most ``exp(-m KL(measured || a))``.

    With a stride each of so many in-scores counts as the smallest of them: value and ends are then
    those of a smaller area, by less than ``stride / n_in``, in a time shorter by the stride.
    """
    inside, outside = order.inside, order.outside
    twice = 0
    for start in range(0, inside.size, _BLOCK * stride):
        part = inside[start : start + _BLOCK * stride]
        scores = part[::stride]
        pairs = np.searchsorted(outside, scores, side="left")
        pairs += np.searchsorted(outside, scores, side="right")
        twice += stride * int(pairs.sum()) - (-part.size % stride) * int(pairs[-1])
    value = twice / (2 * inside.size * outside.size)
    least = np.log(2.0 / (1.0 - confidence)) / min(inside.size, outside.size)
    low, high = _information_ends(value, least)
    return Interval(value, low, high, confidence)


def _information_ends(value: float, information: float) -> tuple[float, float]:
    """The a < value and the a > value with KL(value || a) = information, by halving, outward."""
    ends = []
    for end in (0.0, 1.0):
        near, far = value, end
        for _ in range(60):
            middle = 0.5 * (near + far)
            divergence = rel_entr(value, middle) + rel_entr(1.0 - value, 1.0 - middle)
            if divergence < information:
                near = middle
            else:
                far = middle
        ends.append(far)
    return ends[0], ends[1]


def hull_area(corners: tuple[FloatArray, FloatArray]) -> float:
    """Area under the least concave curve above (0, 0), the corners and (1, 1)."""
    x, y = (np.concatenate([[0.0], part, [1.0]]) for part in corners)
    hull: list[tuple[float, float]] = []
    for u, v in sorted(zip(x.tolist(), y.tolist(), strict=True)):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (y1 - y0) * (u - x1) > (v - y1) * (x1 - x0):
                break
            hull.pop()
        hull.append((u, v))
    x, y = np.transpose(hull)
    return float(np.sum(np.diff(x) * 0.5 * (y[1:] + y[:-1])))


def hull_area_interval(band: Band, value: float, confidence: float) -> Interval:
    """The area under the hull of the true curve, from a band that holds that curve."""
    low = hull_area((band.fpr, band.lower))
    high = hull_area((band.fpr, band.upper))
    return Interval(value, min(low, value), max(high, value), confidence)
