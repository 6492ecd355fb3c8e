"""Enclosures of tails by Prawitz's inequality: band-limited bounds of a step function.

For any law with characteristic function phi, any T and any x (H. Prawitz, Skandinavisk
Aktuarietidskrift 1972),

    P(l <= x) <= 1/2 + int_{-T}^{T} e^{-ixt} K(t/T) phi(t) dt / T
    P(l <  x) >= 1/2 - int_{-T}^{T} e^{-ixt} K(-t/T) phi(t) dt / T
    K(u) = (1 - |u|)/2 + (i/2) ((1 - |u|) cot(pi u) + sgn(u)/pi)

so that phi on a finite range gives an interval for the tail, whatever phi is beyond T.  The width
of the interval is 2 pi/T times the smoothed density.  The integrand is analytic: Gauss-Legendre
panels of 1.5 standard deviations with 16 nodes have a known error below rounding.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.inversion import cosine_and_sine
from mialeak.exact._moments import RatioMoments

__all__ = ["TailEnclosure", "enclosed_power"]

#: Length of a panel in units of one over the standard deviation, and nodes of a panel.
_PANEL, _NODES = 1.5, 16
#: Frequencies, in the same units, up to which a larger stride of the counts is accurate.
_EDGES = (10.5, 100.5)
#: Half heights, in the same units, of the ellipses around a panel that bound the integrand.  The
#: least bound over the ellipses on which the moment function is finite is used.
_HEIGHTS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5)
#: Largest distance of x from the mean in standard deviations: beyond it the bound is too large.
_FAR = 8.0
#: Largest half height as a share of the distance to the pole.
_CLEAR = 0.95
#: Points times nodes at once, and halvings of the search for a threshold.
_BLOCK, _HALVINGS = 1 << 18, 44
#: Rounding error of the sums, several hundred eps.
_ROUNDING = 1e-13


class TailEnclosure:
    """Bounds on P(-inf < l <= x) in one world, for arrays of x."""

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
        # Terms this small, or products that the kernel cut off, contribute nothing.
        kept = np.abs(self._upper) + np.abs(self._lower) > 1e-30
        self._t, self._upper, self._lower = self._t[kept], self._upper[kept], self._lower[kept]
        self._moments, self._theta, self._panels = moments, theta, panels
        self._rounding = rounding + _ROUNDING

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds at each x; far from the mean the bounds of a nearer x, which are valid there."""
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
        """Bound on the quadrature error, from a bound on the integrand on ellipses."""
        farthest = _CLEAR * (self._theta - self._moments.pole) * self.spread
        heights = [height for height in _HEIGHTS if height < farthest] or [farthest]
        bound = np.full(x.shape, np.inf)
        for height in heights:
            away, log_mass = height / self.spread, float(np.log(self.mass))
            sides = [self._moments.local(self._theta + sign * away)[0] for sign in (-1.0, 1.0)]
            growth = [sides[0] - log_mass + away * x, sides[1] - log_mass - away * x]
            aspect = 2.0 * height / _PANEL
            rho = aspect + np.sqrt(1.0 + aspect * aspect)
            with np.errstate(over="ignore"):
                # |K(u)|/T <= 1/2T + 1/|t| on the ellipse.  If the ellipse comes near 0, the maximum
                # principle gives the bound on a circle of half a panel, or of the height, around 0.
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

    A threshold whose fpr is certainly at most (at least) the given fpr bounds the power from below
    (above).  Every threshold with that property is valid; bisection computes the tightest.
    """
    low = np.full(fpr.shape, min(out.mean - 14.0 * out.spread, inside.mean - 14.0 * inside.spread))
    high = np.full(fpr.shape, max(inside.mean + 14.0 * inside.spread, out.mean + 14.0 * out.spread))
    finite = 1.0 - lost

    def bounds(certain: bool) -> FloatArray:
        """Thresholds whose fpr is certainly at most (`certain`) or at least the given fpr."""
        lower_end, upper_end = low.copy(), high.copy()
        for _ in range(_HALVINGS):
            x = 0.5 * (lower_end + upper_end)
            least, most = out(x)
            good = finite - least <= fpr if certain else finite - most >= fpr
            move = good if certain else ~good
            lower_end, upper_end = np.where(move, lower_end, x), np.where(move, x, upper_end)
        return upper_end if certain else lower_end

    x = bounds(True)
    sure = finite - out(x)[0] <= fpr
    lower = np.where(sure, 1.0 - inside(x)[1], fpr)
    # An attack that guesses "in" on every release possible with the target has power 1.
    rounding += _ROUNDING
    lower = np.where(fpr >= finite + rounding, 1.0 - rounding, lower)
    x = bounds(False)
    sure = finite - out(x)[1] >= fpr
    upper = np.where(sure, 1.0 - inside(x)[0], 1.0)
    return np.clip(np.maximum(lower, fpr), 0.0, 1.0), np.clip(upper, 0.0, 1.0)
