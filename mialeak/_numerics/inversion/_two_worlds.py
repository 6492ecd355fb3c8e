"""What the best attack reaches, from the law of the log likelihood ratio in both worlds."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.inversion._integrals import MomentFunction
from mialeak._numerics.inversion._saddle import SaddlePointInversion

__all__ = ["TwoWorlds", "beyond"]

#: A moment function this small contributes nothing to the area under the curve.
_NEGLIGIBLE = 1e-10


class TwoWorlds:
    """Power, delta and their inverses by inversion of the moment function *out*.

    Parameters
    ----------
    law : MomentFunction
        ``log E_out[e^(s l); l finite]``.
    lost : (float, float)
        P_out(l = -inf) and P_in(l = +inf).
    **options
        Of :class:`SaddlePointInversion`.
    """

    def __init__(self, law: MomentFunction, lost: tuple[float, float], **options: Any):
        self.inversion = SaddlePointInversion(law, **options)
        self._law, self.lost = law, lost
        self._top = options.get("support", (-np.inf, np.inf))[1]
        self._windows = options.get("windows", ())
        self._least = options.get("least")

    def log_tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        """``log P(l <= x)`` and ``log P(l > x)`` in the worlds 0 (out) and 1 (in)."""
        lower, upper = self.inversion.log_tails(x, tilt=float(world))
        lost = self.lost[world]
        if lost == 0.0:
            return lower, upper
        if world == 0:
            return np.logaddexp(lower, np.log(lost)), upper
        return lower, np.logaddexp(upper, np.log(lost))

    def at_fpr(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Threshold, power and fnr."""
        finite = self.inversion.log_tails(np.array(-np.inf))[1]
        with np.errstate(divide="ignore"):
            log_fpr = np.log(fpr)
            log_lower = np.log(np.maximum((1.0 - fpr) - self.lost[0], 0.0))
        x = np.where(fpr > 0.0, -np.inf, np.inf)
        for upper, target, places in (
            (True, log_fpr, (fpr > 0.0) & (fpr <= 0.5)),
            (False, log_lower, (fpr > 0.5) & (log_lower > -np.inf)),
        ):
            places &= target < finite
            if places.any():
                x[places] = self.inversion.quantile(target[places], upper=upper)
        lower, above = self.log_tails(x, 1)
        power = np.where(fpr > 0.0, np.exp(np.minimum(above, 0.0)), self.lost[1])
        fnr = np.where(fpr > 0.0, np.exp(np.minimum(lower, 0.0)), 1.0 - self.lost[1])
        # Near the largest ratio float64 cannot resolve x: follow the tangent of the curve from x.
        out, slope, interior = self.log_tails(x, 0), np.exp(np.minimum(x, 700.0)), np.isfinite(x)
        with np.errstate(invalid="ignore", over="ignore"):
            drawn = slope * beyond(fpr, 1.0 - fpr, np.exp(out))
            power, fnr = (
                np.where(interior, p, q) for p, q in ((power + drawn, power), (fnr - drawn, fnr))
            )
            least = np.where(interior, fpr * slope, 0.0)  # the ratio is above e^x in the test
        most = self.lost[1] + fpr * np.exp(min(self._top, 700.0))
        power = np.minimum(np.minimum(np.maximum(power, least), most), 1.0)
        return x, power, np.clip(fnr, 0.0, 1.0)

    def at_power(self, power: FloatArray) -> FloatArray:
        """The least fpr."""
        finite = power - self.lost[1]
        with np.errstate(divide="ignore"):
            log_power, log_fnr = np.log(np.maximum(finite, 0.0)), np.log1p(-power)
        log_mass = self.inversion.log_tails(np.array(-np.inf), tilt=1.0)[1]
        x = np.where(finite > 0.0, -np.inf, np.inf)
        for upper, target, places in (
            (True, log_power, (finite > 0.0) & (power <= 0.5)),
            (False, log_fnr, (finite > 0.0) & (power > 0.5) & (power < 1.0)),
        ):
            places &= target < log_mass
            if places.any():
                x[places] = self.inversion.quantile(target[places], upper=upper, tilt=1.0)
        fpr = np.exp(np.minimum(self.log_tails(x, 0)[1], 0.0))
        gap = beyond(power, 1.0 - power, np.exp(self.log_tails(x, 1)))
        with np.errstate(invalid="ignore", over="ignore"):
            tangent = np.minimum(fpr + np.exp(-x) * gap, finite * np.exp(-x))
            fpr = np.where(np.isfinite(x), tangent, fpr)
        least = np.maximum(finite, 0.0) * np.exp(-max(self._top, -700.0))
        return np.where(finite > 0.0, np.clip(fpr, least, 1.0), 0.0)

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Delta of one direction, "in" or "out"."""
        return self.finite_delta(epsilon, direction) + self.lost[direction == "in"]

    def finite_delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """The part of delta that is due to finite l, accurate where it is small."""
        finite = epsilon < 1e300
        x = np.where(finite, epsilon, 0.0)
        if direction == "in":
            log_delta = self.inversion.log_call(x) + x
        else:
            log_delta = self.inversion.log_put(-x)
        return np.where(finite, np.exp(log_delta), 0.0)

    @cached_property
    def auc(self) -> float:
        """Area under the curve, 1 - P(l_in - l_out <= 0), by inversion of |M(1/2 + it)|^2."""
        spread = self._law.local(0.5)[2] * np.sqrt(2.0)
        if not spread > 0.0:
            raise ArithmeticError("the ratio is constant where the two worlds meet")
        step, end, total = 0.35 / spread, 1, 0.0  # all nodes but that at 0
        reach = 10.0 / spread if self._least is None else self._least(0.5)
        while not self._windows and abs(self._law.wave(0.5, reach, step, 1)[0]) > _NEGLIGIBLE:
            reach *= 2.0  # |M| decays slowly
        for low, high in [(0.0, reach), *self._windows]:
            first = max(int(np.ceil(low / step)), end)
            count = max(int(high / step) + 1 - first, 0)
            size = np.abs(self._law.wave(0.5, first * step, step, count)) ** 2
            t = step * (first + np.arange(count))
            total += float(np.sum(size * 0.5 / (0.25 + t * t)))
            end = first + count
        # The node at 0 has weight 1/2 and value 1.  If the worlds are close, it nearly cancels the
        # wrap-around 1/(e^period - 1): compute the difference of the two.
        log_size, period = 2.0 * self._law.local(0.5)[0], np.pi / step
        log_mass = self._law.local(0.0)[0] + self._law.local(1.0)[0]
        nodes = total * np.exp(log_size) / period
        centre = np.exp(log_mass) * (np.expm1(log_size - log_mass) / period + _wrapped(period))
        return float(1.0 - (nodes + centre))


def beyond(p: FloatArray, complement: FloatArray, tails: Any) -> FloatArray:
    """``p`` minus the upper tail, computed from the smaller of the two tails."""
    return np.asarray(np.where(p <= complement, p - tails[1], tails[0] - complement))


def _wrapped(a: float) -> float:
    """``1/a - 1/(e^a - 1)``, by a series for small a, where the terms nearly cancel."""
    if a > 0.1:
        return float(1.0 / a - 1.0 / np.expm1(min(a, 700.0)))
    square = a * a
    return 0.5 - a * (1 / 12 - square * (1 / 720 - square * (1 / 30240 - square / 1209600)))
