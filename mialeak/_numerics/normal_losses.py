"""Log likelihood ratios of normal noise: of all rows, and of a sampled share of the rows.

With ``y = log(rate/(1 - rate)) + g``, g the log ratio of the whole release, the ratio of a sampled
release is ``log(1 - rate) + log(1 + e^y)``.  Under *out* y is normal; the function of y is the same
for every noise and rate.  Moment functions of several releases are the product of a matrix of
normal densities and a vector of powers of 1 + e^y.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mialeak._arrays import FloatArray, unsupported
from mialeak._numerics.losses import (
    WIDEST,
    Cuts,
    Local,
    Loss,
    Points,
    cuts_below,
    quadrature,
    sampled,
)
from mialeak._numerics.mean_waves import (
    DEEP,
    ComplexArray,
    log_of_waves,
    summed,
    waves_less_one,
)

__all__ = ["NormalLoss", "SampledNormalLoss"]

#: Step of a first grid, in standard deviations of y.
_STEP = 0.25
#: The trapezoid rule of step h is exact, but for e^-(_BAND - 9)^2/2, for a normal law of z times a
#: wave of frequency f if ``h <= 2 pi / (f + _BAND)``; the local frequency of e^(itl) is t l'.
_BAND, _WIDER = 18.0, 1.25
#: The singularities of log(1 + e^y) are at a distance of pi from the real line: the rule is exact
#: but for e^-DEEP.
_MOST_STEP = 2.0 * np.pi**2 / DEEP
#: The grid has no y further below the mean, in standard deviations: a tail there has a probability
#: below 1e-1000.
_LOWEST = -70.0
#: Largest number of points of the grid, with frequencies and without, and number of grids that are
#: stored.
_MOST_POINTS, _MOST_WITHOUT_WAVES, _GRIDS = 1 << 14, 1 << 19, 8
#: Releases with noises within this factor share a grid, and so many of them at most.
_ALIKE, _MOST_ALIKE = 2.0, 1 << 10
#: K below this is computed as log1p of a sum of small terms, for each l apart where the part of
#: the missed rows is above the second.
_SMALL_K, _STEEP = 0.5, 1.0
#: Frequencies, in units of one over the standard deviation, at which a smooth law is looked at for
#: its largest modulus beyond a frequency.
_PROBES = np.geomspace(1.0, 8.0, 33)


class NormalLoss(Loss):
    """N(-mu^2/2, mu^2), the ratio of two normal laws at a distance of mu."""

    def __init__(self, mu: float):
        self.mu = mu

    def local(self, theta: float) -> Local:
        square = self.mu * self.mu
        return 0.5 * square * theta * (theta - 1.0), square * (theta - 0.5), square

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        return (-0.5 * (self.mu * t) ** 2).astype(np.complex128)

    def ceiling(self, theta: float, t: float) -> float:
        return float(np.exp(-0.5 * (self.mu * t) ** 2))

    def points(self, theta: float, cuts: Cuts) -> Points:
        centre, reach = theta * self.mu, np.sqrt(2.0 * DEEP)
        return _normal_points(self.mu, centre - reach, centre + reach, cuts)


class _Tilted(NamedTuple):
    """The tilted laws of several releases on one grid of y."""

    growth: FloatArray  # log(1 + e^y), (Y,)
    weights: FloatArray  # of each release, (J, Y), of the sum 1
    log_mass: FloatArray  # K, (J,)
    mean: FloatArray  # of the growth, (J,)


class SampledNormalLoss(Loss):
    """The ratio of N(0, 1) and its mixture with a share `rate` of N(mu, 1); or a sum of several.

    With arrays of mu, rate and times the ratio is the sum over all releases.  Means are sums over a
    grid of y: the trapezoid rule, whose error for an analytic function falls off as e^(-c/step).
    """

    def __init__(self, mu: Any, rate: Any, times: Any = 1.0):
        self.mu, self.rate, self.times = (
            np.atleast_1d(np.asarray(each, np.float64)) for each in (mu, rate, times)
        )
        self._missed = np.log1p(-self.rate)
        self._centre = np.log(self.rate) - self._missed - 0.5 * self.mu**2
        self.support = float(self.times @ self._missed), np.inf
        self._grids: dict[tuple[float, float], _Tilted] = {}

    @classmethod
    def together(cls, parts: list[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
        if len(parts) < 2:
            return parts
        releases = sorted(
            (float(part.mu[0]), float(part.rate[0]), m)
            for part, m in parts
            if isinstance(part, SampledNormalLoss)
        )
        groups: list[list[tuple[float, float, int]]] = []
        for one in releases:
            if not groups or one[0] > _ALIKE * groups[-1][0][0] or len(groups[-1]) == _MOST_ALIKE:
                groups.append([])
            groups[-1].append(one)
        return [(cls(*zip(*group, strict=True)), 1) for group in groups]

    def local(self, theta: float) -> Local:
        law = self._grid(theta, 0.0)
        away = law.growth - law.mean[:, None]
        variance = np.einsum("jy,jy,jy->j", law.weights, away, away)
        mean = law.mean + self._missed
        return summed(self.times, law.log_mass, mean, variance)

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        most = float(np.max(np.abs(t), initial=0.0))
        # Rounded up to a power of two: neighbouring frequencies share a grid.
        law = self._grid(theta, float(np.exp2(np.ceil(np.log2(max(most, 1e-300))))))
        centre = float(self.times @ law.mean / self.times.sum())
        real, imaginary = waves_less_one(law.weights, law.growth - centre, t)
        drift = np.multiply.outer(t, law.mean - centre)
        return log_of_waves(real, imaginary, drift) @ self.times

    def ceiling(self, theta: float, t: float) -> float:
        # The density of l is smooth and has one mode: its transform falls off without a return.
        return float(np.exp(np.max(self.log_wave(theta, t * _PROBES).real)))

    def points(self, theta: float, cuts: Cuts) -> Points:
        mu, rate = float(self.mu[0]), float(self.rate[0])
        z = np.arange(_LOWEST, max(theta * mu, 0.0) + np.sqrt(2.0 * DEEP), _STEP)
        exponent = theta * sampled(mu * (z - 0.5 * mu), rate) - 0.5 * z * z
        z = z[exponent >= exponent.max() - DEEP]
        below = cuts_below(cuts, rate)
        log_p, ratio = _normal_points(mu, z[0] - _STEP, z[-1] + _STEP, below)
        return log_p, sampled(ratio, rate)

    def _grid(self, theta: float, t: float) -> _Tilted:
        """The grid of :meth:`_make_grid`, one of the last few."""
        made = self._grids.get((theta, t))
        if made is None:
            made = self._make_grid(theta, t)
            # A new dict: another thread may be reading the old one.
            self._grids = {**dict(list(self._grids.items())[1 - _GRIDS :]), (theta, t): made}
        return made

    def _make_grid(self, theta: float, t: float) -> _Tilted:
        """The releases tilted by theta, on the points of y that matter to one of them."""
        most = _MOST_POINTS if t > 0.0 else _MOST_WITHOUT_WAVES
        first, last, step = self._range(theta, t, most)
        _require_size((last - first) / step, most)
        y = step * np.arange(np.floor(first / step), np.ceil(last / step) + 1.0)
        growth = np.logaddexp(0.0, y)
        z = (y - self._centre[:, None]) / self.mu[:, None]
        log_p = np.log(step / (np.sqrt(2.0 * np.pi) * self.mu))[:, None] - 0.5 * z * z
        tilt = theta * growth
        exponent = log_p + tilt
        peak = exponent.max(axis=1)
        moved = np.exp(exponent - peak[:, None])
        total = moved.sum(axis=1)
        fall = theta * self._missed
        log_mass = fall + peak + np.log(total)
        small = np.abs(log_mass) < _SMALL_K
        if small.any():
            # e^(theta l) - 1 is that of the missed rows, and e^fall times that of the growth.
            p, gentle = np.exp(log_p[small]), np.abs(tilt) < 1.0
            gain = p @ np.where(gentle, np.expm1(np.where(gentle, tilt, 0.0)), 0.0)
            with np.errstate(over="ignore", invalid="ignore"):  # steep rows follow
                if not gentle.all():
                    gain += (np.exp(exponent[small][:, ~gentle]) - p[:, ~gentle]).sum(axis=1)
                gain = np.exp(fall[small]) * gain + np.expm1(fall[small]) * p.sum(axis=1)
                log_mass[small] = np.log1p(gain)
            # Where the two nearly cancel, or overflow: e^(theta l) - 1 of each l.
            for row in np.flatnonzero(small & (np.abs(fall) > _STEEP)):
                whole = y - self._centre[row] - 0.5 * self.mu[row] ** 2
                moves = theta * sampled(whole, float(self.rate[row]))
                near, chance = np.abs(moves) < 1.0, np.exp(log_p[row])
                gains = np.exp(log_p[row] + moves) - chance
                gains[near] = chance[near] * np.expm1(moves[near])
                log_mass[row] = np.log1p(gains.sum())
        weights = moved / total[:, None]
        return _Tilted(growth, weights, log_mass, weights @ growth)

    def _range(self, theta: float, t: float, most: int) -> tuple[float, float, float]:
        """First and last y of the grid, and its step."""
        reach = np.sqrt(2.0 * DEEP)
        shift = theta * self.mu
        low = self._centre + self.mu * np.maximum(np.minimum(shift, 0.0) - reach, _LOWEST)
        high = self._centre + self.mu * (np.maximum(shift, 0.0) + reach)
        width = _STEP * float(self.mu.min())
        _require_size(float(high.max() - low.min()) / width, most)
        coarse = np.arange(float(low.min()), float(high.max()) + width, width)
        z = (coarse - self._centre[:, None]) / self.mu[:, None]
        exponent = theta * np.logaddexp(0.0, coarse) - 0.5 * z * z
        kept = exponent >= exponent.max(axis=1)[:, None] - DEEP
        # The posterior share of the target, the slope of the growth.
        share = 1.0 / (1.0 + np.exp(-np.clip(coarse, -700.0, None)))
        top = np.max(np.where(kept, share, 0.0), axis=1)
        # For theta < 0 the peak is narrower than that of y: its curvature is at most this.
        bend = np.max(np.where(kept, share * (1.0 - share), 0.0), axis=1)
        curvature = 1.0 - min(theta, 0.0) * self.mu**2 * bend
        band = float(np.max(_WIDER * t * top + _BAND * np.sqrt(curvature) / self.mu))
        places = np.flatnonzero(kept.any(axis=0))
        ends = float(coarse[places[0]]) - width, float(coarse[places[-1]]) + width
        return *ends, min(_MOST_STEP, 2.0 * np.pi / band)


def _require_size(points: float, most: int) -> None:
    """Refuse a grid that would take too long, before it is made."""
    if not points <= most:
        why = f"a grid of {points:.3g} points does not resolve its likelihood ratio"
        unsupported("The grid", "of the ratio", why, error=ArithmeticError)


def _normal_points(mu: float, low: float, high: float, cuts: Cuts) -> Points:
    """Points of a standard normal z in [low, high], and the ratio ``mu z - mu^2/2``."""
    inside = cuts(mu * (low - 0.5 * mu), mu * (high - 0.5 * mu))
    breaks = np.concatenate([[low], inside / mu + 0.5 * mu, [high]])
    # A share of it, when sampled, bends on the scale of 1/mu.
    z, weight = quadrature(np.clip(breaks, low, high), WIDEST / max(1.0, mu))
    return np.log(weight / np.sqrt(2.0 * np.pi)) - 0.5 * z * z, mu * (z - 0.5 * mu)
