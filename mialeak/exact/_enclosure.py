"""Enclosures of tails by band-limited majorants of a step: Prawitz's inequality.

For any law with characteristic function phi, any T and any x (H. Prawitz, Skandinavisk
Aktuarietidskrift 1972),

    P(l <= x) <= 1/2 + int_{-T}^{T} e^{-ixt} K(t/T) phi(t) dt / T
    P(l <  x) >= 1/2 - int_{-T}^{T} e^{-ixt} K(-t/T) phi(t) dt / T
    K(u) = (1 - |u|)/2 + (i/2) ((1 - |u|) cot(pi u) + sgn(u)/pi)

so that |M| on a finite range gives an interval that holds whatever M does beyond.  Its width is
2 pi/T times the smoothed density.  The integrand is analytic; Gauss-Legendre panels of 1.5 standard
deviations with 16 nodes err by a known amount below rounding.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.inversion import cosine_and_sine
from mialeak.exact._moments import RatioMoments

__all__ = ["TailEnclosure", "enclosed_power"]

#: Length of a panel in units of one over the standard deviation, and its nodes.
_PANEL, _NODES = 1.5, 16
#: Frequencies, likewise, up to which ever fewer counts of a coordinate are enough.
_EDGES = (10.5, 100.5)
#: Half the heights of the ellipses around a panel in which the integrand is bounded, likewise: of
#: those that the moment function is finite on, the one with the least bound counts.
_HEIGHTS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5)
#: Standard deviations from the mean at most: further out the bound on the integrand is too large.
_FAR = 8.0
#: Share of the distance to a pole at most.
_CLEAR = 0.95
#: Points times nodes at once, and halvings when a threshold is looked for.
_BLOCK, _HALVINGS = 1 << 18, 44
#: Rounding of the sums, a few hundred eps.
_ROUNDING = 1e-13


class TailEnclosure:
    """Bounds on P(l <= x) over the finite l in one world, for many x."""

    def __init__(self, moments: RatioMoments, world: int, reach: float, rounding: float):
        theta = float(world)
        log_mass, self.mean, self.spread = moments.local(theta)
        self.mass = float(np.exp(log_mass))
        length = _PANEL / self.spread
        panels = max(int(reach / _PANEL), 8)
        top = panels * length
        places, weights = _gauss_legendre()
        t = np.add.outer(length * places, length * np.arange(panels))
        edges = [0, *(int(edge / _PANEL) for edge in _EDGES if edge < reach), panels]
        wave = np.concatenate(
            [
                np.stack([moments.wave(theta, length * (a + x), length, b - a) for x in places])
                for a, b in pairwise(edges)
            ],
            axis=1,
        )
        u = t / top
        even = 0.5 * (1.0 - u)
        odd = 0.5 * ((1.0 - u) / np.tan(np.pi * u) + 1.0 / np.pi)
        size = self.mass * wave * (2.0 / top * length * weights)[:, None]
        self._t = t.ravel()
        self._upper, self._lower = (even * size).ravel(), (1j * odd * size).ravel()
        # Where the kernel stopped early, or 1e-300: nothing.
        kept = np.abs(self._upper) + np.abs(self._lower) > 1e-30
        self._t, self._upper, self._lower = self._t[kept], self._upper[kept], self._lower[kept]
        self._moments, self._theta, self._panels = moments, theta, panels
        self._rounding = rounding + _ROUNDING

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds at each x; far from the mean those of a nearer x, which hold there too."""
        far = _FAR * self.spread
        near = np.clip(x, self.mean - far, self.mean + far)
        lower, upper = self._bounds(near)
        return np.where(x < near, 0.0, lower), np.where(x > near, self.mass, upper)

    def _bounds(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        even, odd = np.empty(x.shape), np.empty(x.shape)
        rows = max(1, _BLOCK // max(self._t.size, 1))
        for start in range(0, x.size, rows):
            place = slice(start, start + rows)
            cosine, sine = cosine_and_sine(np.multiply.outer(x[place] - self.mean, self._t))
            even[place] = cosine @ self._upper.real + sine @ self._upper.imag
            odd[place] = cosine @ self._lower.real + sine @ self._lower.imag
        slack = self._rounding + self._quadrature(x)
        lower = 0.5 * self.mass - even + odd - slack
        upper = 0.5 * self.mass + even + odd + slack
        return np.maximum(lower, 0.0), np.minimum(upper, self.mass)

    def _quadrature(self, x: FloatArray) -> FloatArray:
        """Error of the panels: the integrand is at most `most` on ellipses around them."""
        room = _CLEAR * (self._theta - self._moments.pole) * self.spread
        heights = [height for height in _HEIGHTS if height < room] or [room]
        bound = np.full(x.shape, np.inf)
        for height in heights:
            away, log_mass = height / self.spread, float(np.log(self.mass))
            sides = [self._moments.local(self._theta + sign * away)[0] for sign in (-1.0, 1.0)]
            growth = [sides[0] - log_mass + away * x, sides[1] - log_mass - away * x]
            aspect = 2.0 * height / _PANEL
            rho = aspect + np.sqrt(1.0 + aspect * aspect)
            with np.errstate(over="ignore"):
                # |K(u)|/T <= 1/2T + 1/|t| on the ellipse.  Where that comes near 0 the integrand is
                # at most what it is on the circle of half a panel, or of the height, around 0.
                most = 2.0 * np.exp(np.maximum(*growth)) / min(0.5 * _PANEL, height)
                one = 64.0 / 15.0 * self._panels * _PANEL * most * rho ** (-2.0 * _NODES)
            bound = np.minimum(bound, one)
        return np.asarray(self.mass * bound)


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def enclosed_power(
    out: TailEnclosure, inside: TailEnclosure, lost: float, fpr: FloatArray, rounding: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Bounds on the power at each fpr.

    A threshold whose fpr is surely at most (at least) the one asked for bounds the power from below
    (above); any threshold with that property will do, the best is looked for by halving.
    """
    low = np.full(fpr.shape, min(out.mean - 14.0 * out.spread, inside.mean - 14.0 * inside.spread))
    high = np.full(fpr.shape, max(inside.mean + 14.0 * inside.spread, out.mean + 14.0 * out.spread))
    finite = 1.0 - lost

    def bounds(certain: bool) -> FloatArray:
        """The threshold: surely below the fpr, or surely above."""
        left, right = low.copy(), high.copy()
        for _ in range(_HALVINGS):
            x = 0.5 * (left + right)
            least, most = out(x)
            good = finite - least <= fpr if certain else finite - most >= fpr
            move = good if certain else ~good
            left, right = np.where(move, left, x), np.where(move, x, right)
        return right if certain else left

    x = bounds(True)
    sure = finite - out(x)[0] <= fpr
    lower = np.where(sure, 1.0 - inside(x)[1], fpr)
    # Whoever guesses "in" wherever that is possible misses nobody.
    rounding += _ROUNDING
    lower = np.where(fpr >= finite + rounding, 1.0 - rounding, lower)
    x = bounds(False)
    sure = finite - out(x)[1] >= fpr
    upper = np.where(sure, 1.0 - inside(x)[0], 1.0)
    return np.clip(np.maximum(lower, fpr), 0.0, 1.0), np.clip(upper, 0.0, 1.0)
