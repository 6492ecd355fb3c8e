"""Corners of a concave curve: construction, search and interpolation.

A corner has four coordinates, ``fpr``, ``power``, ``tnr = 1 - fpr`` and ``fnr = 1 - power``, so
that both ends of the curve are accurate, and ``gap = power - fpr``.  A segment has the logarithm of
its slope, which is the log likelihood ratio of its atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, first_index, invalid

__all__ = [
    "CERTAIN",
    "Corners",
    "Side",
    "between",
    "corners_of_atoms",
    "corners_of_points",
    "log_tail",
]

#: A corner may lie this far, relative to the neighbouring coordinates, below the chord of its
#: neighbours: the rounding error of cumulated sums and of the chord.
_ROUNDING = 2.0**-48
#: A delta is the probability of outcomes with an infinite log ratio within this, relative: that
#: probability is a sum over the outcomes of up to thousands of releases.
CERTAIN = 1e-12
#: Terms that are summed in float64.
_RUN = 32
#: Above this, e^epsilon may overflow and is not computed.
_LARGE = 700.0
#: Below this log slope 1 - rate + rate e^slope is a sum without cancellation.
_STEEP = 0.5
#: Probabilities below this may be rounded to multiples of the least number, or to 0.
_TINY = 1e-290


class Corners(NamedTuple):
    """Coordinates of the corners, from fpr = 0 to (1, 1), and the log slopes of the segments."""

    fpr: FloatArray
    power: FloatArray
    tnr: FloatArray
    fnr: FloatArray
    gap: FloatArray
    log_slope: FloatArray

    def probabilities(self) -> tuple[FloatArray, FloatArray]:
        """``(p_out, p_in)`` of the segments.

        A probability is a difference of the smaller coordinate, which is more accurate.
        """
        fpr, power, tnr, fnr, _, _ = self
        return (
            np.where(fpr[1:] < 0.5, np.diff(fpr), tnr[:-1] - tnr[1:]),
            np.where(power[1:] < 0.5, np.diff(power), fnr[:-1] - fnr[1:]),
        )

    def subsampled(self, rate: float) -> Corners:
        """The corners of ``rate * power + (1 - rate) * fpr``."""
        complement = 1.0 - rate
        power = rate * self.power + complement * self.fpr
        fnr = rate * self.fnr + complement * self.tnr
        slope = self.log_slope
        with np.errstate(divide="ignore"):
            near = np.log1p(rate * np.expm1(np.clip(slope, -_STEEP, _LARGE)))
            low = np.log(complement + rate * np.exp(np.minimum(slope, 0.0)))
            # With all rows the ratio is the slope itself, also where e^slope underflows.
            low = slope if complement == 0.0 else low
            high = slope + np.log(rate) if rate > 0.0 else low
        log_slope = np.where(slope > _LARGE, high, np.where(slope < -_STEEP, low, near))
        return Corners(self.fpr, power, self.tnr, fnr, rate * self.gap, log_slope)


def corners_of_points(fpr: FloatArray, power: FloatArray) -> Corners:
    """The corners through points in the unit square that are nondecreasing in both coordinates.

    Raises ValueError, with the index of the point, if one lies below the chord of its neighbours.
    """
    index = np.arange(fpr.size)
    if fpr.size == 0 or fpr[0] > 0.0:
        fpr, power, index = np.append(0.0, fpr), np.append(0.0, power), np.append(-1, index)
    if fpr[-1] < 1.0 or power[-1] < 1.0:
        fpr, power, index = np.append(fpr, 1.0), np.append(power, 1.0), np.append(index, -1)
    new = np.append(True, (np.diff(fpr) > 0.0) | (np.diff(power) > 0.0))
    new[: np.searchsorted(fpr, 0.0, side="right") - 1] = False  # the highest corner at fpr = 0
    fpr, power, index = fpr[new], power[new], index[new]
    width, rise = np.diff(fpr), np.diff(power)
    # Twice the area of the triangle of a corner and its neighbours, and its rounding error.
    turn = rise[:-1] * width[1:] - rise[1:] * width[:-1]
    slack = power[2:] * (width[:-1] + width[1:]) + fpr[2:] * (rise[:-1] + rise[1:])
    below = turn < -_ROUNDING * slack
    if below.any():
        corner = first_index(below)[0] + 1
        invalid(
            "power",
            "be concave in fpr: no corner below the chord of its neighbours",
            index=int(index[corner]),
            value=float(power[corner]),
            remedy="Randomised attacks reach the hull of any points; a measured curve is an "
            "EmpiricalTradeOff, which has one",
        )
    with np.errstate(divide="ignore"):
        log_slope = np.minimum.accumulate(np.log(rise) - np.log(width))
    return Corners(fpr, power, 1.0 - fpr, 1.0 - power, power - fpr, log_slope)


def corners_of_atoms(
    p_out: FloatArray, p_in: FloatArray, log_ratio: FloatArray, difference: FloatArray | None = None
) -> Corners:
    """The corners of two laws on the same atoms with log ratios ``log(p_in / p_out)``.

    Every coordinate is a sum of positive terms from the nearer end.  `difference` is
    ``p_in - p_out``, given where the subtraction would be inaccurate.
    """
    difference = p_in - p_out if difference is None else difference
    if not np.all(log_ratio[:-1] >= log_ratio[1:]):
        order = np.argsort(-log_ratio, kind="stable")
        difference, p_out, p_in, log_ratio = (
            part[order] for part in (difference, p_out, p_in, log_ratio)
        )
    certain = int(np.searchsorted(-log_ratio, -np.inf, side="right"))  # atoms with p_out = 0
    rising = int(np.searchsorted(-log_ratio, 0.0, side="right"))
    rise, fall = _sums(difference[:rising]), _sums(-difference[rising:][::-1])
    gap = np.append(rise[certain:], fall[-2::-1])
    fpr, power = _sums(p_out)[certain:], _sums(p_in)[certain:]
    tnr, fnr = _sums(p_out[::-1])[::-1][certain:], _sums(p_in[::-1])[::-1][certain:]
    fpr[-1] = power[-1] = tnr[0] = 1.0
    if certain == 0:
        fnr[0] = 1.0
    for part in (fpr, power, tnr, fnr, gap):
        np.minimum(part, 1.0, out=part)
    return Corners(fpr, power, tnr, fnr, gap, log_ratio[certain:])


def _sums(terms: FloatArray) -> FloatArray:
    """0 and the partial sums.

    Sums within runs of `_RUN` terms are added to long double sums of whole runs: nothing is lost
    where the terms grow or shrink geometrically, and otherwise at most half of `_RUN` eps.
    """
    whole = terms.size // _RUN * _RUN
    sums = np.empty(terms.size + 1)
    sums[0], inner = 0.0, sums[1 : whole + 1].reshape(-1, _RUN)
    np.cumsum(terms[:whole].reshape(-1, _RUN), axis=1, out=inner)
    ends = np.cumsum(inner[:, -1], dtype=np.longdouble)
    inner[1:] += ends[:-1, None].astype(np.float64)
    inner[:, -1] = ends
    np.minimum(inner, inner[:, -1:], out=inner)  # rounding must not make a sum fall
    last = ends[-1] if whole else np.longdouble(0.0)
    sums[whole + 1 :] = last + np.cumsum(terms[whole:], dtype=np.longdouble)
    return sums


@dataclass(frozen=True)
class Side:
    """One direction of a curve: ``delta(eps) = max over i of gap_i - (e^eps - 1) cost_i``.

    `cost`, its logarithm, which does not underflow, and `gap` are arrays over corners.  `level`,
    ascending, is an array over segments: the -epsilon at which the two ends tie.  `last` is the
    epsilon at delta = 0: the largest log ratio, outcomes whose probability underflows included.
    """

    cost: FloatArray
    log_cost: FloatArray
    gap: FloatArray
    level: FloatArray
    last: float

    @classmethod
    def of(cls, corners: Corners, direction: str) -> Side:
        """The side for the direction "in" or "out"."""
        slope = corners.log_slope
        if direction == "in":
            last = np.inf if corners.power[0] > 0.0 else max(float(slope[0]), 0.0)
            log_cost = log_tail(corners.fpr, corners.probabilities()[1], -slope)
            return cls(corners.fpr, log_cost, corners.gap, -slope, last)
        cost, gap, level = corners.fnr[::-1], corners.gap[::-1], slope[::-1]
        log_cost = log_tail(cost, corners.probabilities()[0][::-1], level)
        # Corners with power = 1 have cost 0; only the last, of least fpr, can be the maximum.
        start = int(np.searchsorted(log_cost, -np.inf, side="right")) - 1
        last = max(-float(slope[-1]), 0.0)
        return cls(cost[start:], log_cost[start:], gap[start:], level[start:], last)

    @cached_property
    def _tied(self) -> FloatArray:
        """Delta at which the ends of each segment tie, ascending."""
        cost, log_cost, gap = self.cost[:-1], self.log_cost[:-1], self.gap[:-1]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            penalty = np.where(log_cost > -np.inf, np.exp(log_cost - self.level) - cost, 0.0)
        return np.maximum.accumulate(gap - penalty)

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """Delta at each epsilon, from the corner of a binary search."""
        nearest = np.searchsorted(self.level, -epsilon)
        best: FloatArray = np.full(epsilon.shape, max(0.0, self.gap[0]))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            growth = np.expm1(np.minimum(epsilon, _LARGE))
            for corner in self._around(nearest):
                cost = self.cost[corner]
                penalty = growth * cost
                far = (epsilon > _LARGE) | ((cost < _TINY) & (epsilon > 0.0))
                if far.any():
                    log_cost = self.log_cost[corner]
                    grown = np.exp(np.where(log_cost > -np.inf, epsilon + log_cost, -np.inf))
                    penalty = np.where(far, -np.expm1(-epsilon) * grown, penalty)
                best = np.maximum(best, self.gap[corner] - penalty)
        return best

    def epsilon(self, delta: FloatArray) -> FloatArray:
        """Epsilon at each delta, from the corner whose line crosses `delta`."""
        nearest = np.searchsorted(self._tied, delta)
        best = np.zeros(delta.shape)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for corner in self._around(nearest):
                over, cost = self.gap[corner] - delta, self.cost[corner]
                ratio = over / cost
                far = np.logaddexp(0.0, np.log(over) - self.log_cost[corner])
                needed = np.where((ratio < np.inf) & (cost >= _TINY), np.log1p(ratio), far)
                best = np.maximum(best, np.where(over > 0.0, needed, 0.0))
        if self.log_cost[0] == -np.inf and self.level.size:  # outcomes of the other world never
            is_certain = np.abs(delta - self.gap[0]) <= CERTAIN * self.gap[0]
            best = np.where(is_certain, max(-float(self.level[0]), 0.0), best)
        return np.where(delta > 0.0, best, self.last)

    def _around(self, nearest: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The nearest corner and its neighbours: rounding may move a tie by one."""
        last = self.cost.size - 1
        return [np.clip(nearest + step, 0, last) for step in (-1, 0, 1)]


def log_tail(tail: FloatArray, rise: FloatArray, level: FloatArray) -> FloatArray:
    """Logarithms of the sums `tail`, whose terms are ``rise * e^level``, also where they underflow.

    `rise` are the probabilities of the same outcomes in the other world.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(tail)
        count = int(np.searchsorted(tail, _TINY))  # `tail` is ascending
        terms = np.log(rise[: count - 1]) + level[: count - 1]
        if count > 1:
            terms[np.isnan(terms)] = -np.inf
            logs[1:count] = np.logaddexp.accumulate(terms)
    return logs


def between(x: FloatArray, xs: FloatArray, ys: FloatArray, *, rightmost: bool) -> FloatArray:
    """The polyline through (xs, ys), `xs` ascending and `ys` monotone, at `x` in its range.

    At a vertical segment the result is its right end if `rightmost`, otherwise its left end.  All
    terms have one sign: small results are relatively accurate.
    """
    upper = np.searchsorted(xs, x, side="right" if rightmost else "left")
    upper = np.clip(upper, 1, xs.size - 1)
    lower = upper - 1
    width = xs[upper] - xs[lower]
    start, end = ys[lower], ys[upper]
    rises = end >= start
    base, top = np.where(rises, start, end), np.where(rises, end, start)
    offset = np.where(rises, x - xs[lower], xs[upper] - x)
    flat = width == 0.0
    share = np.clip(offset / np.where(flat, 1.0, width), 0.0, 1.0)
    ends = end if rightmost else start
    return np.where(flat, ends, base + share * (top - base))
