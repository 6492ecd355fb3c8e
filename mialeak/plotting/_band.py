"""The band of a measured curve: at each threshold two Clopper-Pearson intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from mialeak._arrays import FloatArray
from mialeak.auditing import Band
from mialeak.tradeoff import EmpiricalTradeOff

__all__ = ["Band", "blocks", "pointwise_band"]

#: A curve with more than `_MANY` points is thinned to about this many levels of either rate, on
#: either scale.
_MANY, _LEVELS = 3000, 300


def blocks(curve: EmpiricalTradeOff) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """First and last points of runs of a measured curve, most of them of one point.

    Of long curves every count that a log scale tells apart begins a run, from either end.
    """
    size = curve.roc.fpr.size
    first = np.arange(size)
    if size > _MANY:
        starts = [np.linspace(0, size - 1, _LEVELS).astype(np.intp)]
        for rate, total in ((curve.roc.fpr, curve.n_out), (curve.roc.power, curve.n_in)):
            levels = np.geomspace(1.0 / total, 1.0, _LEVELS)
            starts.append(np.searchsorted(rate, levels))
            starts.append(np.searchsorted(rate, 1.0 - levels))
        first = np.unique(np.concatenate(starts))
    return first, np.append(first[1:] - 1, size - 1)


def pointwise_band(curve: EmpiricalTradeOff, confidence: float) -> Band:
    """The union of the rectangles in which the points of the true curve lie."""
    first, last = blocks(curve)
    false, hits = np.rint(curve.roc.fpr * curve.n_out), np.rint(curve.roc.power * curve.n_in)
    tail = 0.5 * (1.0 - np.sqrt(confidence))
    left, right = _least(false[first], curve.n_out, tail), _most(false[last], curve.n_out, tail)
    bottom, top = _least(hits[first], curve.n_in, tail), _most(hits[last], curve.n_in, tail)
    # All four rise along the curve: above x the highest of those that begin at or before x, below
    # it the lowest of those that end at x or after.
    edges = np.unique(np.concatenate([left, right]))
    lower = bottom[np.minimum(np.searchsorted(right, edges, side="right"), right.size - 1)]
    upper = top[np.searchsorted(left, edges, side="right") - 1]
    name = f"{100 * confidence:g}% pointwise band (Clopper-Pearson)"
    return Band(edges, lower, upper, name)


def _least(count: FloatArray, total: int, tail: float) -> FloatArray:
    """Lower end of the Clopper-Pearson interval."""
    some = count > 0.0
    value = betaincinv(np.where(some, count, 1.0), total - count + 1.0, tail)
    return np.where(some, value, 0.0)


def _most(count: FloatArray, total: int, tail: float) -> FloatArray:
    """Upper end of the Clopper-Pearson interval."""
    some = count < total
    value = betainccinv(count + 1.0, np.where(some, total - count, 1.0), tail)
    return np.where(some, value, 1.0)
