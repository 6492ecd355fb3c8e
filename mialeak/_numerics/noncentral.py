"""Non-central chi-square law: both tails, density, quantiles and options to full accuracy.

``X`` has ``d`` degrees of freedom and non-centrality ``nc`` (``d`` need not be an integer), and

    K(s) = log E e^(s X) = -(d/2) log(1 - 2s) + nc s / (1 - 2s).

Everything is a contour integral of ``e^(K(s) - s x)`` times a rational function of ``s``: 1/s for a
tail, 1 for the density, two poles for an option.  With ``u = 1 - 2s`` the exponent is
``E(u) = (x (u - 1) + nc (1/u - 1) - d log u) / 2``, whose saddle point on ``u > 0`` is known, and
the contour is the parabola

    u = u0 (1 + iy)^2,    -oo < y < oo,

which starts at the saddle in the direction of steepest descent and goes around the branch cut
``u <= 0``: the slow decay of ``|M|`` for one or two degrees of freedom becomes ``exp(-y^2)``.  As a
function of the square root of u the integrand is singular at the origin only.  Symbols:

======  ==================================================================================
g       1 / u0, stored with ``f`` because each is inaccurate where the other is small
f       g - 1 in (-1, oo), the position of the contour: positive above the mean
gap     x - d - nc.  Callers pass it where the subtraction is inaccurate: near the mean of a
        law with d + nc = 1e18 the rounding of x exceeds a standard deviation
kappa   A - B - d with A = x u0, B = nc / u0: zero at the saddle
E0      E(u0), at the saddle -(d (f - log g) + nc f^2) / 2, without cancellation
======  ==================================================================================

On the parabola, with ``q = y^2``,

    Re(E - E0) = -(A q + d log(1 + q) + B q (3 + q)/(1 + q)^2) / 2
    Im(E - E0) = kappa y + d (y - atan y) + B y q (2 + q)/(1 + q)^2

sums of terms of one sign.  The trapezoid rule at midpoints converges geometrically; its step comes
from the largest admissible shift of the parabola (Trefethen and Weideman, SIAM Review 56, 2014).
A pole within that shift is corrected by its residue or, where residues would cancel, avoided by a
contour further away with a finer step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray, every
from mialeak._numerics.double_word import two_sum
from mialeak._numerics.inversion import cosine_and_sine

__all__ = ["deviance_share", "log_call", "log_density", "log_put", "log_tails", "quantile", "twist"]

BoolArray = npt.NDArray[np.bool_]

#: Discretisation and truncation each err by exp(-_DIGITS) of the sum: 3e-17.
_DIGITS = 38.0
#: Points times nodes evaluated at once: six arrays of this size stay in the cache, and are not
#: returned to the system after each use.
_BLOCK = 1 << 13
#: Steps are powers of 2^(1/_STEPS_AN_OCTAVE), and numbers of nodes multiples of `_NODES`, so that
#: points share nodes, and calls share the nodes of the last `_KEPT` steps.
_STEPS_AN_OCTAVE, _NODES, _KEPT = 4, 2, 256
#: Below these |f/(2+f)| and y a series is used: the closed form loses digits.
_SERIES_LOG, _SERIES_ATAN = 0.2, 0.3
#: Terms of either series: the last is below 0.3**28 of the first.
_TERMS = 14
#: Beyond this the factor of the pole is 1/f to the last digit, and its square would overflow.
_FAR = 1e150
#: Least log g of a quantile: x below 1e-282 times d becomes 0.
_LEAST = -650.0
#: Largest number of Newton steps for a quantile; 2 to 4 are usual.
_STEPS = 40


def log_tails(x: Any, df: Any, nc: Any, gap: Any = None) -> tuple[FloatArray, FloatArray]:
    """``log P(X <= x)`` and ``log P(X > x)``; `gap` is an accurate ``x - df - nc``.

    Against ball arithmetic, `df` from 1 and `nc` from 0 to 1e6, both tails to 1e-300: absolute
    error of the logarithm below 3e-13 (two ulp of it), 1e-15 in the body.  12 nodes a point where
    ``df + 2 nc`` is large, 64 where it is 1.  NaN gives NaN.
    """
    shape, (x, df, nc, gap) = _flat(x, df, nc, gap)
    f, g, inside = _saddle(x, df, nc, gap)
    tail = _where(inside, f, _tail, f, g, df, nc)
    upper = f > 0.0
    with np.errstate(divide="ignore"):
        other = np.log(-np.expm1(tail))
    if x.size == 1:
        both = (other, tail) if upper else (tail, other)
    else:
        both = np.where(upper, other, tail), np.where(upper, tail, other)
    return both[0].reshape(shape), both[1].reshape(shape)


def log_density(x: Any, df: Any, nc: Any, gap: Any = None) -> FloatArray:
    """Log density at x > 0; -inf outside the support."""
    shape, (x, df, nc, gap) = _flat(x, df, nc, gap)
    f, g, inside = _saddle(x, df, nc, gap)
    return np.asarray(_where(inside, f, _density, f, g, df, nc)).reshape(shape)


def log_call(x: Any, df: Any, nc: Any, width: Any, gap: Any = None) -> FloatArray:
    """``log E (e^(width (x - X)/2) - 1)+``, ``width > 0``.

    Relatively accurate however small: both poles lie on one side of the contour.
    """
    return _log_option(x, df, nc, width, gap, call=True)


def log_put(x: Any, df: Any, nc: Any, width: Any, gap: Any = None) -> FloatArray:
    """``log E (1 - e^(width (x - X)/2))+``, ``width > 0``; x > 0."""
    return _log_option(x, df, nc, width, gap, call=False)


def quantile(log_p: Any, df: Any, nc: Any, *, upper: Any = False) -> tuple[FloatArray, FloatArray]:
    """``(x, x - df - nc)`` where the lower tail (upper, if `upper`) has log probability `log_p`.

    Newton's method for ``z = Phi^-1(P(X <= x))`` as a function of the signed root of ``-2 E0``,
    with which z nearly agrees: 2 to 4 steps.  x is 0 where it would be below 1e-282.
    """
    shape, given = _flat(log_p, df, nc, upper)
    log_p, df, nc, upper = map(np.atleast_1d, given)
    upper = upper != 0.0
    inside = (log_p < 0.0) & (log_p > -np.inf)
    x = np.where((log_p == 0.0) == upper, 0.0, np.inf)
    x[np.isnan(log_p)] = np.nan
    gap = x - (df + nc)
    places = np.flatnonzero(inside)
    if places.size:
        d, m = df[places], nc[places]
        target = np.where(upper[places], -1.0, 1.0) * special.ndtri_exp(log_p[places])
        f, g = _solve(target, d, m)
        x[places], gap[places] = g * (d + m * g), f * (d + m * (2.0 + f))
    return x.reshape(shape), gap.reshape(shape)


def _flat(*arrays: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Arguments broadcast and flattened; a last argument None becomes the gap.

    A single point is a scalar of each: its arithmetic takes a tenth of the time of an array's.
    """
    given = [np.asarray(a, np.float64) for a in arrays if a is not None]
    shape = np.broadcast_shapes(*(a.shape for a in given))
    whole: list[Any]
    if math.prod(shape) == 1:
        whole = [np.float64(a.item()) for a in given]
    else:
        whole = [(a if a.shape == shape else np.full(shape, a)).ravel() for a in given]
    if len(given) < len(arrays):
        whole.append(_gap_of(*whole[:3]))
    return shape, whole


def _where(inside: Any, f: Any, function: Callable[..., Any], *columns: Any) -> Any:
    """`function` of the columns where `inside`; elsewhere -inf, or NaN where f is."""
    if every(inside):
        return function(*columns)
    outside = np.where(np.isnan(f), np.nan, -np.inf)
    if inside.any():
        outside[inside] = function(*(column[inside] for column in columns))
    return outside


def _gap_of(x: FloatArray, df: FloatArray, nc: FloatArray) -> FloatArray:
    """``x - df - nc`` rounded once."""
    with np.errstate(invalid="ignore"):
        first, lost = two_sum(x, -nc)
        second, lost_again = two_sum(first, -df)
        gap = second + (lost + lost_again)
        finite = np.isfinite(x)
        return gap if every(finite) else np.where(finite, gap, x)


def _saddle(
    x: FloatArray, df: FloatArray, nc: FloatArray, gap: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """``f`` and ``g`` of the saddle, and the mask 0 < x < oo; outside, f is -1, oo or NaN."""
    inside = (x > 0.0) & (x < np.inf)
    proper = every(inside)
    at = x if proper else np.where(inside, x, 1.0)
    big = 0.5 * (df + np.sqrt(df * df + 4.0 * nc * at))  # A = x u0
    f, g = np.maximum(gap, -df - nc) / (big + nc), at / big
    if not proper:
        f = np.where(inside, f, np.where(x > 0.0, np.inf, -1.0))
        f = np.where(np.isnan(x + df + nc), np.nan, f)
    return f, g, inside & ~np.isnan(f)


def deviance_share(f: Any, g: Any) -> FloatArray:
    """``(f - log g) / f^2`` for g = 1 + f, relatively accurate: the series of ``2 atanh``."""
    ratio = np.divide(f, 2.0 + f)
    near = np.abs(ratio) < _SERIES_LOG
    if every(~near):
        return np.asarray((1.0 - np.log(g) / f) / f)[()]
    small = ratio if every(near) else np.where(near, ratio, 0.0)
    complement = 1.0 - small
    series = 0.5 * complement * (1.0 - complement * small * _series(small * small))
    if every(near):
        return np.asarray(series)[()]
    f = np.where(near, 1.0, f)
    return np.where(near, series, (1.0 - np.log(g) / f) / f)


def twist(y: FloatArray) -> FloatArray:
    """``y - atan y``, relatively accurate."""
    small = np.where(y < _SERIES_ATAN, y, 0.0)
    square = small * small
    return np.where(y < _SERIES_ATAN, small * square * _series(-square), y - np.arctan(y))


def _series(square: FloatArray) -> FloatArray:
    """``1/3 + square/5 + square^2/7 + ...``, the tail of the series of `atanh` (`atan` for < 0)."""
    total = square * (1.0 / (2 * _TERMS + 3)) + 1.0 / (2 * _TERMS + 1)
    for k in range(_TERMS - 2, -1, -1):
        total *= square
        total += 1.0 / (2 * k + 3)
    return total


def _exponent(f: FloatArray, g: FloatArray, df: FloatArray, nc: FloatArray) -> FloatArray:
    """E0 at the saddle."""
    return np.asarray(-0.5 * f * (f * (df * deviance_share(f, g) + nc)))


def _mesh(
    g: FloatArray, df: FloatArray, nc: FloatArray, kappa: Any = 0.0, pole: Any = np.inf
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step and range of y at each point, and the largest shift of the parabola.

    The shift is below 1: the parabola does not reach the origin.  Any shift gives a valid step;
    `pole` is the distance of a pole that the shift must not cross.
    """
    big_b = nc * g
    big_a = big_b + df + kappa
    shift = 1.0 / (1.0 + np.sqrt((df + 2.0 * big_b) / _DIGITS))
    v = 1.0 - shift
    # d (v^2 - 1 - 2 log v)/2 + B (v - 1/v)^2/2, without cancellation for a small shift
    growth = 0.5 * df * (1.0 + 2.0 * deviance_share(-shift, v)) + 0.5 * big_b * (1.0 + 1.0 / v) ** 2
    growth = shift * shift * growth + np.abs(kappa) * shift * (1.0 + 0.5 * shift)
    step = 2.0 * np.pi * np.minimum(shift / (_DIGITS + growth), pole / _DIGITS)
    # Re(E0 - E) = _DIGITS, by fixed point from above: every iterate is an upper bound.
    q = 2.0 * _DIGITS / big_a
    for _ in range(3):
        fall = big_a + df * np.log1p(q) / q + big_b * (3.0 + q) / (1.0 + q) ** 2
        q = 2.0 * _DIGITS / fall
    return step, np.sqrt(q), shift


class _Nodes:
    """Midpoints ``y`` on the half line, and the functions of y in the exponent."""

    def __init__(self, step: float, count: int):
        self.step = step
        self.y = y = np.asarray(step * (np.arange(count) + 0.5), np.float64)
        self.q = q = y * y
        self.four_q = 4.0 * q
        bend = q / (1.0 + q) ** 2
        # Real and imaginary part of E - E0 are linear in kappa, d and B.
        self._falls = -0.5 * np.array([q, q + np.log1p(q), q + bend * (3.0 + q)])
        self._turns = np.array([y, twist(y), bend * y * (2.0 + q)])

    def exponential(self, g: Any, df: Any, nc: Any, kappa: Any = 0.0) -> tuple[Any, Any]:
        """Real and imaginary part of ``e^(E - E0)``, a row for each point."""
        factors = np.array([kappa + 0.0 * g, df, nc * g]).T
        size = np.exp(factors @ self._falls)
        cosine, sine = cosine_and_sine(factors @ self._turns)
        return size * cosine, size * sine


#: The nodes of a step and a count, which many points and calls have in common.
_nodes = lru_cache(maxsize=_KEPT)(_Nodes)


def _integrals(
    integrand: Callable[..., Any], step: Any, reach: Any, *columns: Any, results: int = 1
) -> tuple[Any, Any]:
    """``integrand(nodes, *columns)`` on nodes of at most `step` to at least `reach`; the step.

    With `results` other than 1 the integrand has that many rows.
    """
    octaves = np.floor(_STEPS_AN_OCTAVE * np.log2(step))
    step = np.exp2(octaves / _STEPS_AN_OCTAVE)
    counts = _NODES * np.ceil(reach / (_NODES * step))
    if np.ndim(step) == 0:
        return integrand(_nodes(float(step), int(counts)), *columns), step
    total = np.empty(step.shape if results == 1 else (results, *step.shape))
    order = np.lexsort((counts, octaves))
    for alike in np.split(order, 1 + np.flatnonzero(np.diff(octaves[order]))):
        if alike.size:
            nodes = _nodes(float(step[alike[0]]), int(counts[alike[-1]]))
            rows = max(16, _BLOCK // nodes.y.size)
            for first in range(0, alike.size, rows):
                at = alike[first : first + rows]
                total[..., at] = integrand(nodes, *(column[at] for column in columns))
    return total, step


def _tail(f: Any, g: Any, df: Any, nc: Any) -> Any:
    """Log of the tail on the side of x away from the mean."""
    step, reach, shift = _mesh(g, df, nc)
    total, step = _integrals(_pole_sum, step, reach, f, g, df, nc)
    return _log_tail(total, step, shift, _exponent(f, g, df, nc), f, g)


def _density(f: Any, g: Any, df: Any, nc: Any) -> Any:
    """Log density."""
    step, reach, _ = _mesh(g, df, nc)
    total, _ = _integrals(_plain_sum, step, reach, g, df, nc)
    return _exponent(f, g, df, nc) + np.log(total / g)


def _tail_and_density(f: Any, g: Any, df: Any, nc: Any) -> tuple[Any, Any]:
    """Both from the same nodes."""
    step, reach, shift = _mesh(g, df, nc)

    def both(nodes: _Nodes, f: Any, g: Any, df: Any, nc: Any) -> Any:
        wave = nodes.exponential(g, df, nc)
        return _pole_sum(nodes, f, g, df, nc, wave), _plain_sum(nodes, g, df, nc, wave)

    (total, plain), step = _integrals(both, step, reach, f, g, df, nc, results=2)
    exponent = _exponent(f, g, df, nc)
    return _log_tail(total, step, shift, exponent, f, g), exponent + np.log(plain / g)


def _log_tail(total: Any, step: Any, shift: Any, exponent: Any, f: Any, g: Any) -> Any:
    # The pole u = 1 is at y = +-i distance; add its residue if it is within the shift.
    distance = np.abs(f) / (1.0 + np.sqrt(g))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        residue = special.expit(-2.0 * np.pi * distance / step) * np.exp(-exponent)
        scaled = total * (2.0 * (f > 0.0) - 1.0) + np.where(distance < shift, residue, 0.0)
        return exponent + np.log(scaled) - np.log(np.maximum(f / _FAR, 1.0))


def _pole_sum(nodes: _Nodes, f: Any, g: Any, df: Any, nc: Any, wave: Any = None) -> Any:
    """``1/(2 pi i) int e^(E - E0) du / (1 - u)`` by midpoints."""
    real, imag = wave or nodes.exponential(g, df, nc)
    f = np.minimum(f, _FAR)[..., None]
    past = f + nodes.q
    factor = (f - nodes.q) * real - nodes.y * (past + 2.0) * imag
    factor /= past * past + nodes.four_q
    return 2.0 / np.pi * nodes.step * factor.sum(axis=-1)


def _plain_sum(nodes: _Nodes, g: Any, df: Any, nc: Any, wave: Any = None) -> Any:
    """``1/(4 pi i) int e^(E - E0) du`` over u0 by midpoints."""
    real, imag = wave or nodes.exponential(g, df, nc)
    return nodes.step / np.pi * (real.sum(axis=-1) - imag @ nodes.y)


def _log_option(x: Any, df: Any, nc: Any, width: Any, gap: Any, *, call: bool) -> FloatArray:
    given = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (x, df, nc, width)))
    shape, (x, df, nc, gap) = _flat(*given[:3], gap)
    width = given[3].ravel() if x.size > 1 else np.float64(given[3].item())
    f, g, inside = _saddle(x, df, nc, gap)
    # In log u the exponent is nearly a parabola of curvature (d + 2B)/2; the poles, at 0 and
    # log(1 + width), push its minimum `away` from the nearer one.
    sign, shift = (1.0, np.log1p(width)) if call else (-1.0, 0.0 * width)
    lead = sign * (-np.log(g) - shift)
    away = 0.5 * (lead + np.sqrt(lead * lead + 16.0 / (df + 2.0 * nc * g)))
    log_u = sign * away + shift
    law = x, df, nc, gap, width, log_u, away
    return np.asarray(_where(inside, f, _log_option_inside, *law)).reshape(shape)


def _log_option_inside(
    x: Any, df: Any, nc: Any, gap: Any, width: Any, log_u: Any, away: Any
) -> Any:
    g, f, e = np.exp(-log_u), np.expm1(-log_u), np.expm1(log_u)
    # kappa and E0 from x far below the mean, where the gap is inaccurate; otherwise from the gap.
    low = e > 1.0
    by_gap = gap * (1.0 + e) + df * e + nc * (e - f)
    kappa = np.where(low, x * (1.0 + e) - nc * g - df, by_gap)
    near = 0.5 * e * (gap - nc * f + df * e * deviance_share(e, 1.0 / g))
    exponent = np.where(low, 0.5 * (x * e + nc * f - df * log_u), near)
    step, reach, _ = _mesh(g, df, nc, kappa, -np.expm1(-0.5 * away))
    columns = f, f + width * g, g, df, nc, kappa
    total, _ = _integrals(_two_pole_sum, step, reach, *columns)
    return exponent + np.log(width * g * total)


def _two_pole_sum(nodes: _Nodes, f: Any, f_two: Any, g: Any, df: Any, nc: Any, kappa: Any) -> Any:
    """``1/(2 pi i) int e^(E - E0) du / ((u - 1)(u - 1 - width))`` over g, by midpoints."""
    cosine, sine = nodes.exponential(g, df, nc, kappa)
    one, two = f[..., None] + nodes.q, f_two[..., None] + nodes.q
    real, imag = one * two - nodes.four_q, -2.0 * nodes.y * (one + two)
    total = (real + nodes.y * imag) * cosine - (nodes.y * real - imag) * sine
    total /= (one * one + nodes.four_q) * (two * two + nodes.four_q)
    return 2.0 / np.pi * nodes.step * total.sum(axis=-1)


def _solve(target: FloatArray, df: FloatArray, nc: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``(f, g)`` of the quantile whose normal score is `target`; g = 0 below the range."""
    linear = target / np.sqrt(0.5 * df + nc)
    at = _place(target, linear, df, nc)
    f, g = _position(at)
    # z is nearly root + log(ratio)/root (Barndorff-Nielsen), and the ratio is 1 at the mean.
    ratio = np.sqrt((0.5 * df + nc * g) / (df * deviance_share(f, g) + nc))
    away = np.abs(linear) > 1e-3
    root = target - np.where(away, np.log(ratio) / np.where(away, target, 1.0), 0.0)
    at = _place(root, at, df, nc)
    active = np.flatnonzero(at > _LEAST)
    for _ in range(_STEPS):
        z, slope = _normal_score(*_position(at[active]), df[active], nc[active])
        step = (target[active] - z) / slope
        root[active] += step
        at[active] = _place(root[active], at[active], df[active], nc[active])
        active = active[
            (np.abs(step) > 1e-9 * (1.0 + np.abs(target[active]))) & (at[active] > _LEAST)
        ]
        if not active.size:
            break
    f, g = _position(at)
    return f, np.where(at > _LEAST, g, 0.0)


def _position(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``(f, g)`` of a position, which is f where positive and log g otherwise."""
    negative, positive = np.minimum(at, 0.0), np.maximum(at, 0.0)
    return np.where(at > 0.0, at, np.expm1(negative)), np.where(
        at > 0.0, 1.0 + positive, np.exp(negative)
    )


def _normal_score(
    f: FloatArray, g: FloatArray, df: FloatArray, nc: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``z = Phi^-1(P(X <= x))`` at the saddle (f, g) and its derivative by the signed root."""
    tail, density = _tail_and_density(f, g, df, nc)
    z = np.where(f > 0.0, -1.0, 1.0) * special.ndtri_exp(tail)
    by_root = 2.0 * g * np.sqrt(df * deviance_share(f, g) + nc)  # dx / d root
    return z, by_root * np.exp(density + 0.5 * z * z) * np.sqrt(2.0 * np.pi)


def _place(root: FloatArray, at: FloatArray, df: FloatArray, nc: FloatArray) -> FloatArray:
    """Position at which ``sign(f) sqrt(d (f - log g) + nc f^2)``, the root of -2 E0, is `root`.

    Newton's method in f for positive roots, where the function is concave, and in log g for
    negative ones, where it is convex: from the linear start it converges monotonically.
    """
    at = np.where((at > 0.0) == (root > 0.0), at, root / np.sqrt(0.5 * df + nc))
    for _ in range(_STEPS):
        f, g = _position(at)
        share = np.sqrt(df * deviance_share(f, g) + nc)
        step = (root - f * share) * 2.0 * share / (df + 2.0 * nc * g) * np.where(root > 0.0, g, 1.0)
        at = np.maximum(at + step, _LEAST)
        if np.all((np.abs(step) <= 1e-9 * np.abs(at)) | (at == _LEAST)):
            break
    return at
