"""Bounds of a composition that hold where neither an inversion nor a grid resolves it.

Three from above.  Worlds of a release are equal with probability 1 - a, a its advantage, if they
are coupled as well as can be; hence all of them with probability ``prod (1 - a_j)^m_j``.  An event
of probability p in one world has at least p times the least ratio in the other.  And Chernoff's:
each moment of the ratio bounds delta at every epsilon.  Where one draw in a million moves the ratio
far, its moments are those of that draw: they are taken of the ratios that are not so large, and the
probability that one of the releases has a larger one is added to delta.

One from below, an attack: each release is tested by itself, all at one false-positive rate, and the
target is in if any of the tests is positive.  With hardly any noise it is nearly as good as any.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.chernoff import log_chernoff
from mialeak._numerics.losses import ComposedLoss
from mialeak.tradeoff._base import TradeOff

__all__ = ["FarBounds"]

#: Exponents, and such in units of one over the standard deviation of the ratio.
_PLAIN, _SCALED = np.geomspace(0.5, 50.0, 20), np.geomspace(1e-3, 30.0, 60)
#: For rounding.
_EPS, _ROUNDED = 2.0**-52, 1.0 + 1e-12
#: False-positive rates of the attack.
_RATES = np.geomspace(1e-300, 0.5, 150)
#: Weights below e^-this of the largest are those of a tail.
_DEEP = (30.0, 46.0)


class FarBounds:
    """Bounds of power, delta and epsilon.

    Parameters
    ----------
    curves : sequence of TradeOff
    counts : sequence of int
    losses : ComposedLoss
    """

    def __init__(self, curves: Sequence[TradeOff], counts: Sequence[int], losses: ComposedLoss):
        apart = np.array([float(curve.advantage) for curve in curves])
        with np.errstate(divide="ignore"):
            equal = np.asarray(counts, np.float64) @ np.log1p(-apart)
        #: The largest advantage.
        self.advantage = float(min(-np.expm1(equal) * _ROUNDED, 1.0))
        self._losses, self._lost = losses, losses.lost
        #: Relative distance of bounds that were an answer.
        self.error = 0.0
        self._releases = list(zip(curves, counts, strict=True))

    def power(self, fpr: FloatArray) -> FloatArray:
        """Largest power at a false-positive rate."""
        # A difference from 1, of which each has an error.
        possible = np.maximum(1.0 - fpr - self._lost[0] - 4.0 * _EPS, 0.0)
        missed = np.exp(-self._reach("out")) * possible
        most = np.minimum(self.advantage + fpr, 1.0 - missed)
        return np.asarray(np.minimum(most * _ROUNDED, 1.0))

    def least_power(self, fpr: FloatArray) -> FloatArray:
        """Power of the attack at a false-positive rate."""
        return np.maximum(fpr, -np.expm1(self._log_fnr(fpr)) / _ROUNDED)

    def least_delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Delta of the attack, at the best of its rates."""
        hit, missed = self._attack(direction)
        with np.errstate(over="ignore"):
            each = hit - np.exp(epsilon[..., None]) * missed
        return np.asarray(np.maximum(each.max(axis=-1), 0.0))

    def least_epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        """Epsilon of the attack, at the best of its rates."""
        hit, missed = self._attack(direction)
        more = np.maximum(hit - delta[..., None], missed)
        return np.asarray(np.max(np.log(more) - np.log(missed), axis=-1))

    def _attack(self, direction: str) -> tuple[FloatArray, FloatArray]:
        """Probability of an event in the world of the direction, at least, and in the other."""
        if direction == "in":
            return -np.expm1(self._log_fnrs) / _ROUNDED, _RATES * _ROUNDED
        return (1.0 - _RATES) / _ROUNDED, np.maximum(np.exp(self._log_fnrs), 1e-300) * _ROUNDED

    @cached_property
    def _log_fnrs(self) -> FloatArray:
        return self._log_fnr(_RATES)

    def _log_fnr(self, fpr: FloatArray) -> FloatArray:
        """Log of the probability in the world *in* that all tests are negative."""
        times = sum(m for _, m in self._releases)
        with np.errstate(divide="ignore"):
            each = -np.expm1(np.log1p(-fpr) / times)
        total = np.zeros(np.shape(fpr))
        for curve, m in self._releases:
            power = curve._power(each)
            with np.errstate(divide="ignore"):
                log_fnr = np.where(power < 0.5, np.log1p(-power), np.log(curve._fnr(each)))
            total += m * log_fnr
        return total

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Largest delta at an epsilon."""
        finite = np.minimum(epsilon, 1e300)
        far = np.maximum(-np.expm1(finite - self._reach(direction)), 0.0)
        for added, pairs in self._pairs[direction]:
            for r, log_a in pairs:
                far = np.minimum(far, added + np.exp(np.minimum(log_a - r * finite, 0.0)))
        return np.minimum(far + self._lost[direction == "in"], self.advantage)

    def epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        """Largest epsilon at a delta; infinite where nothing is known."""
        more = delta - self._lost[direction == "in"]
        with np.errstate(divide="ignore"):
            far = np.log1p(-np.clip(more, 0.0, 1.0)) + self._reach(direction)
        far = np.where(more < 0.0, np.inf, far)
        for added, pairs in self._pairs[direction]:
            log_kept = np.log(np.where(more > added, more - added, 1.0))
            for r, log_a in pairs:
                epsilon = np.maximum((log_a - log_kept) / r, 0.0)
                far = np.where(more > added, np.minimum(far, epsilon), far)
        return np.where((delta >= self.advantage) | (far < 0.0), 0.0, far)

    @cached_property
    def _pairs(self) -> dict[str, list[tuple[float, list[tuple[float, float]]]]]:
        """By direction: what is added to delta, and exponents with the logs of their factors."""
        losses = self._losses
        made: dict[str, list[tuple[float, list[tuple[float, float]]]]] = {"in": [], "out": []}
        with suppress(ArithmeticError):  # float64 does not hold the moments
            spreads = [losses.local(theta)[2] for theta in (0.0, 0.5, 1.0)]
            scaled = [_SCALED / spread for spread in spreads if spread > 0.0]
            exponents = np.unique(np.concatenate([_PLAIN, *scaled])).tolist()
            for side, pairs in made.items():
                pairs.append((0.0, losses.far(side, exponents)))
            made["in"] += [_without_tail(losses, exponents, deep) for deep in _DEEP]
        return made

    def _reach(self, direction: str) -> float:
        """The largest finite ratio of the world of the direction to the other, its logarithm."""
        low, high = self._losses.support
        reach = high if direction == "in" else -low
        return reach + (_ROUNDED - 1.0) * abs(reach)


def _without_tail(
    losses: ComposedLoss, exponents: list[float], deep: float
) -> tuple[float, list[tuple[float, float]]]:
    """The pairs for "in" of ratios with more than e^-deep of the largest weight, and the rest."""
    omitted, parts = 0.0, []
    for part, m in losses.parts:
        log_p, ratio = part.points(1.0, lambda low, high: np.zeros(0))
        log_weight = log_p + ratio  # of the world in
        log_weight -= log_weight.max()
        weight = np.exp(log_weight)
        weight *= (1.0 - part.lost[1]) / weight.sum()
        kept = (log_weight >= -deep) | (ratio <= 0.0)
        missing = float(weight[~kept].sum())
        omitted += m * missing
        parts.append((weight[kept], ratio[kept], missing + part.lost[1], m))
    pairs = []
    for r in exponents:
        log_moment = 0.0
        for weight, ratio, missing, m in parts:
            most = max(r * float(ratio.max(initial=0.0)), 0.0)
            if most < 1.0:  # the moment is near 1
                moved = float(weight @ np.expm1(r * ratio)) - missing
                log_moment += m * float(np.log1p(moved)) if moved > -1.0 else -np.inf
            else:
                log_moment += m * (most + float(np.log(weight @ np.exp(r * ratio - most))))
        pairs.append((r, log_chernoff(r) + log_moment))
    return omitted, pairs
