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
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._numerics.inversion import cosine_and_sine
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import DEVIATIONS
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = [
    "ENCLOSED",
    "TailEnclosure",
    "enclosed_power",
    "enclosing_curves",
    "power_without_spread",
]

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
#: Points times nodes at once, or edges times columns; halvings of the search for a threshold.
_BLOCK, _HALVINGS = 1 << 18, 44
#: Columns of a first bound, which is enough at most frequencies.
_SAMPLE = 1 << 12
#: A panel on which |phi| is certainly below e^-_QUIET is not evaluated: all of them together are
#: at most 1e-17, far below the rounding error.  At high frequency the bound is of at least `_GROUP`
#: panels at once and of at most `_CHOSEN` coordinates, whose |phi_j| changes by at most about
#: `_CHANGE` within half of these panels.
_QUIET, _GROUP, _CHOSEN, _CHANGE = 42.0, 4, 96, 0.1
#: Spreads of a coordinate up to which the bound from four moments is of use.
_NEAR = 1.5
#: Rates, up to a half, at which a curve is enclosed between two of finitely many outcomes.
ENCLOSED = np.geomspace(1e-6, 0.5, 200)
#: Distances, in such rates, of the two bounds that a line goes through.
_BACK = (2, 4, 8, 16, 32)
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
        edges = [0, *(int(edge / _PANEL) for edge in _EDGES if edge < reach), panels]
        live = _live_panels(moments, theta, length, panels)
        edges += (np.flatnonzero(np.diff(live)) + 1).tolist()
        runs = [(a, b) for a, b in pairwise(sorted(set(edges))) if live[a]]
        wave = np.concatenate(
            [
                np.stack([moments.wave(theta, length * (a + x), length, b - a) for x in places])
                for a, b in runs
            ],
            axis=1,
        )
        t = np.add.outer(length * places, length * np.flatnonzero(live))
        u = t / top
        even = 0.5 * (1.0 - u)
        odd = 0.5 * ((1.0 - u) / np.tan(np.pi * u) + 1.0 / np.pi)
        size = self.mass * wave * (2.0 / top * length * weights)[:, None]
        self._t = t.ravel()
        self._upper, self._lower = (even * size).ravel(), (1j * odd * size).ravel()
        # Terms this small, or products that the kernel cut off, contribute nothing.
        kept = np.abs(self._upper) + np.abs(self._lower) > 1e-30
        self._t, self._upper, self._lower = self._t[kept], self._upper[kept], self._lower[kept]
        self._panels, self._rounding = panels, rounding + _ROUNDING
        farthest = _CLEAR * (theta - moments.pole) * self.spread
        self._sides = []
        for height in [height for height in _HEIGHTS if height < farthest] or [farthest]:
            sides = (moments.local(theta + sign * height / self.spread)[0] for sign in (-1.0, 1.0))
            self._sides.append((height, *(side - log_mass for side in sides)))

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
        bound = np.full(x.shape, np.inf)
        for height, below, above in self._sides:
            away = height / self.spread
            growth = below + away * x, above - away * x
            aspect = 2.0 * height / _PANEL
            rho = aspect + np.sqrt(1.0 + aspect * aspect)
            with np.errstate(over="ignore"):
                # |K(u)|/T <= 1/2T + 1/|t| on the ellipse.  If the ellipse comes near 0, the maximum
                # principle gives the bound on a circle of half a panel, or of the height, around 0.
                most = 2.0 * np.exp(np.maximum(*growth)) / min(0.5 * _PANEL, height)
                one = 64.0 / 15.0 * self._panels * _PANEL * most * rho ** (-2.0 * _NODES)
            bound = np.minimum(bound, one)
        return np.asarray(self.mass * bound)


def _live_panels(
    moments: RatioMoments, theta: float, length: float, panels: int
) -> npt.NDArray[np.bool_]:
    """False for panels ``[i, i + 1] length`` on which |phi| is certainly negligible.

    phi is the product of the phi_j of the coordinates, of the law tilted by theta.  With X of that
    law, spread v and X' independent, ``|phi_j(t)|^2 = E cos t(X - X')``, and cos z <= 1 - z^2/2 +
    z^4/24 gives a bound from the second and the fourth moment, which is convex in t^2.  Beyond,
    ``|phi_j(t)| <= |phi_j(t0)| + v |t - t0|``.
    """
    log_bound = np.zeros(panels)
    copies, spread, fourth = moments.column_moments(theta)
    varying = spread > 0.0
    if not varying.any():
        return np.ones(panels, bool)
    near = min(int(_NEAR / (float(np.quantile(spread[varying], 0.1)) * length)) + 1, panels)
    sample = slice(None, None, max(1, spread.size // _SAMPLE))
    for part in (sample, slice(None)):
        open_ = np.flatnonzero(log_bound[:near] > -_QUIET)
        square, flat = spread[part] ** 2, (fourth[part] + 3.0) / 12.0
        for block in np.array_split(open_, max(1, open_.size * square.size // _BLOCK)):
            bound = np.zeros((block.size, square.size))
            for edge in (block, block + 1):
                x = np.multiply.outer((length * edge) ** 2, square)
                np.maximum(bound, 1.0 + x * (x * flat - 1.0), out=bound)
            log_bound[block] = 0.5 * np.log(np.minimum(bound, 1.0)) @ copies[part]
    group = int(2.0 * _CHANGE / (length * float(np.median(spread[varying]))))
    if group >= _GROUP:
        first = np.arange(0, panels, group)
        centres = np.asarray((first + 0.5 * group) * length, np.float64)
        high = _bound_at_high_frequency(moments, theta, centres, group * length)
        log_bound = np.minimum(log_bound, np.repeat(high, group)[:panels])
    return log_bound > -_QUIET


def _bound_at_high_frequency(
    moments: RatioMoments, theta: float, centres: FloatArray, width: float
) -> FloatArray:
    """Log of a bound of |phi| on intervals, from the coordinates with the fewest outcomes."""
    log_bound = np.zeros(centres.size)
    for family in moments.families:
        low, high = family.reach(DEVIATIONS + abs(theta) * family.ratio_spread)
        narrow = np.flatnonzero(width * family.ratio_spread <= 2.0 * _CHANGE)
        for j in narrow[np.argsort((high - low)[narrow])[:_CHOSEN]]:
            open_ = np.flatnonzero(log_bound > -_QUIET)
            if not open_.size:
                return log_bound
            k = np.arange(low[j], high[j] + 1.0)
            weight, ratio = family.outcomes(family.parameters(np.full(k.shape, j)), k)
            present = weight > 0.0
            weight, ratio = weight[present], ratio[present]
            weight = weight * np.exp(theta * (ratio - ratio.max()))
            weight /= weight.sum()
            ratio -= weight @ ratio
            cosine, sine = cosine_and_sine(np.multiply.outer(centres[open_], ratio))
            size = np.hypot(cosine @ weight, sine @ weight)
            size += 0.5 * width * np.sqrt(weight @ ratio**2) + 1e-9
            log_bound[open_] += family.copies[j] * np.minimum(np.log(size), 0.0)
    return log_bound


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


def power_without_spread(
    lost: float, fpr: FloatArray, rounding: float, *, varied: bool
) -> tuple[FloatArray, FloatArray]:
    """Bounds on the power where all likely releases that do not rule the target out are alike.

    If none rules it out, and no world is `varied`, the worlds differ by less than rounding.
    Otherwise "in" on every release possible with the target has the power 1, with fpr 1 - lost.
    """
    if lost == 0.0 and not varied:
        return fpr, fpr
    rounding += _ROUNDING
    sure = fpr >= 1.0 - lost + rounding
    return np.where(sure, np.maximum(1.0 - rounding, fpr), fpr), np.where(fpr > 0.0, 1.0, 0.0)


def enclosing_curves(
    fpr: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[PiecewiseTradeOff, PiecewiseTradeOff]:
    """Curves nowhere above and nowhere below that with these bounds of its power."""
    low = np.maximum.accumulate(np.where(fpr > 0.0, lower, 0.0))
    high = np.minimum.accumulate(upper[::-1])[::-1]
    # The power is concave: between two rates it is at most the line through an earlier lower
    # bound and the upper bound at the first rate; it increases, and is at most that at the
    # second.
    line = np.full(fpr.size, np.inf)
    for back in _BACK:
        rise = (high[back:-1] - low[: -back - 1]) / (fpr[back:-1] - fpr[: -back - 1])
        reached = high[back:-1] + rise * np.diff(fpr)[back:]
        line[back + 1 :] = np.minimum(line[back + 1 :], reached)
    step = np.append(high[1:], 1.0)
    by_line = line[1:] - high[1:] < high[1:] - high[:-1]
    most = np.where(np.append(by_line, True), high, step)
    most[1:] = np.where(by_line, np.maximum(most[1:], line[1:]), most[1:])
    most = np.maximum.accumulate(np.minimum(most, 1.0))
    most[-1] = 1.0
    return _hull(fpr, np.append(low[:-1], 1.0)), _hull(fpr, most)


def _hull(fpr: FloatArray, power: FloatArray) -> PiecewiseTradeOff:
    """The least concave curve above points."""
    kept: list[int] = []
    for i in range(fpr.size):
        while len(kept) > 1:
            a, b = kept[-2:]
            rise = (power[b] - power[a]) * (fpr[i] - fpr[a])
            if rise > (power[i] - power[a]) * (fpr[b] - fpr[a]):
                break
            kept.pop()
        kept.append(i)
    return PiecewiseTradeOff(fpr[kept], power[kept], kind="bound")
