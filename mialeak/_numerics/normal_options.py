"""delta(epsilon) of two normals (the undiscounted Black call) and its inverse, to full accuracy.

With ``h = epsilon / mu`` and ``t = mu / 2`` the curve is

    delta = Phi(t - h) - e^epsilon Phi(-t - h) = phi(h - t) (m(h - t) - m(h + t)),

m the Mills ratio.  The first difference cancels where mu or epsilon is small (nine digits are lost
at epsilon = mu = 1e-6).  The three regimes avoid cancellation:

in the money, ``h <= t``
    ``Phi(t - h) - phi(h - t) m(h + t)``, at least 1/6 of its first term since ``t >= 0.2``;
wide
    the difference of two ``erfcx``, at least 1/20 of the larger;
narrow, ``t < max(0.2, h / 20)``
    the Taylor series ``m(h - t) - m(h + t) = 2 (I_1 t + I_3 t^3/3! + I_5 t^5/5! + ...)`` with
    ``I_n = int_0^oo s^n exp(-h s - s^2 / 2) ds > 0``, ``I_0 = m(h)``: every term is positive.
    ``I_{n+1} = n I_{n-1} - h I_n``, run forward for small h; beyond, where that is unstable, the
    ratios ``I_n / I_{n-1} = n / (h + I_{n+1} / I_n)`` run backward (a continued fraction).

The exponent ``(h - t)^2 / 2``, up to 745, is formed without rounding (:mod:`._normal`).

The same problem is solved for option prices by P. Jaeckel, "Let's be rational" (Wilmott, 2015);
the series and the inversion here are others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray
from mialeak._numerics.double_word import two_product, two_sum
from mialeak._numerics.normal import bell

__all__ = ["call", "call_at_zero", "call_strike"]

_SQRT_HALF = np.sqrt(0.5)
_INV_SQRT_2PI = 1.0 / np.sqrt(2.0 * np.pi)

#: Narrow where t is below the larger of these: the wide form would lose more than a factor 20.
_NARROW_T, _NARROW_SHARE = 0.2, 0.05
#: Forward recurrence below, continued fraction above.  The forward start 1 - h m(h) loses h^2 ulp;
#: the fraction needs more levels the smaller h is.
_FORWARD_H = 4.0
#: Terms of the Taylor series: t^2 I_3 / (6 I_1) is at most 0.0134 (forward; the ninth term is below
#: 1e-17) and 1/400 (backward).
_FORWARD_TERMS, _BACKWARD_TERMS = 8, 7
#: Levels of the fraction: at h = 4 they bring the error of its start down to 1e-15, and to less
#: where h is larger.
_LEVELS = 26
#: phi(38.6) is the smallest subnormal number: beyond this distance delta is zero.
_FAR = 60.0
#: Largest number of Newton steps; 5 to 9 are usual.  After a relative step below the second number
#: the next is below rounding, since convergence is quadratic.
_STEPS, _SMALL_STEP = 40, 1e-9


def call(epsilon: FloatArray, low: FloatArray, mu: FloatArray) -> FloatArray:
    """Delta at ``epsilon + low`` for mu-Gaussian: one-dimensional arrays of one length.

    `low` is the low word of a computed epsilon; epsilon >= 0, mu >= 0.
    Relative error below 2e-14 where delta is a normal number; mu = 0 gives 0, mu = inf gives 1.
    """
    # mu = 2^power fraction, and the division in units of 2^power: no product leaves the range.
    fraction, power = np.frexp(mu)
    proper = (mu > 0.0) & (mu < np.inf)
    fraction = np.where(proper, fraction, 1.0)
    t = np.where(proper, 0.5 * mu, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.minimum(np.ldexp(epsilon, -power), 1e290)
        h = scaled / fraction
        product, error = two_product(h, fraction)
        h_low = ((scaled - product) - error + np.ldexp(low, -power)) / fraction
        distance, distance_low, value = _scaled_call(h, h_low, t)
        delta = value * bell(distance, distance_low)
    return np.where(proper, delta, np.where(mu > 0.0, 1.0, 0.0))


def _scaled_call(h: Any, h_low: Any, t: Any) -> tuple[Any, Any, Any]:
    """``(distance, low, value)`` with ``delta = value exp(-(distance + low)^2 / 2)``.

    The distance is ``h - t``; in the money it is zero and the value is delta itself.  One-element
    arrays are evaluated as Python floats, at a tenth of the cost of array operations.
    """
    if h.size == 1:
        return _scaled_call_once(h.item(), h_low.item(), t.item())
    distance, low = two_sum(h, -t)
    low = low + h_low
    narrow = t < np.maximum(_NARROW_T, _NARROW_SHARE * h)
    near = h < _FORWARD_H
    inside = distance <= 0.0
    value = np.empty(h.shape)
    for regime, where in (
        (_narrow_forward, narrow & near),
        (_narrow_backward, narrow & ~near),
        (_wide, ~narrow & ~inside),
        (_in_the_money, ~narrow & inside),
    ):
        places = np.flatnonzero(where)
        if places.size:
            value[places] = regime(h[places], t[places], distance[places], low[places])
    valid = (narrow | ~inside) & (distance <= _FAR)
    distance = np.where(valid, distance, np.where(inside, 0.0, _FAR))
    return distance, np.where(valid, low, 0.0), value


def _scaled_call_once(h: float, h_low: float, t: float) -> tuple[float, float, float]:
    distance, low = two_sum(h, -t)
    low += h_low
    if t < max(_NARROW_T, _NARROW_SHARE * h):
        regime = _narrow_forward if h < _FORWARD_H else _narrow_backward
    elif distance > 0.0:
        regime = _wide
    else:
        return 0.0, 0.0, _in_the_money(h, t, distance, low)
    value = regime(h, t, distance, low)
    return (distance, low, value) if distance <= _FAR else (_FAR, 0.0, value)


def _in_the_money(h: Any, t: Any, distance: Any, low: Any) -> Any:
    below = np.maximum(distance, -_FAR)
    return special.ndtr(-below) - 0.5 * _erfcx(h + t) * bell(below, low)


def _wide(h: Any, t: Any, distance: Any, low: Any) -> Any:
    return 0.5 * (_erfcx(distance) - _erfcx(h + t))


def _narrow_forward(h: Any, t: Any, distance: Any, low: Any) -> Any:
    before = _erfcx(h) * (0.5 / _INV_SQRT_2PI)  # I_0
    moment = 1.0 - h * before  # I_1
    total, scale = t * moment, t
    for n in range(1, 2 * _FORWARD_TERMS - 1, 2):
        before = n * before - h * moment  # I_{n+1}
        moment = (n + 1) * moment - h * before  # I_{n+2}
        scale = scale * ((t * t) / ((n + 1) * (n + 2)))
        total = total + scale * moment
    return 2.0 * _INV_SQRT_2PI * total


def _narrow_backward(h: Any, t: Any, distance: Any, low: Any) -> Any:
    # The start is the fixed point of n / (h + ratio), n lowered by 1/2: exact to 1/n^2 at h = 0.
    ratio = 0.5 * (np.sqrt(h * h + (4.0 * _LEVELS + 2.0)) - h)
    above = total = 1.0
    for n in range(_LEVELS, 0, -1):
        ratio = n / (h + ratio)  # I_n / I_{n-1}
        if n >= 2 * _BACKWARD_TERMS:
            continue
        if n % 2 == 0:
            total = 1.0 + total * ((t * t) / (n * (n + 1))) * ratio * above
        above = ratio
    return _erfcx(h) * t * ratio * total


def _erfcx(x: Any) -> Any:
    return special.erfcx(x * _SQRT_HALF)


def call_at_zero(mu: Any) -> Any:
    """``2 Phi(mu/2) - 1``, the value at epsilon = 0."""
    return special.erf(0.5 * mu * _SQRT_HALF)


def call_strike(delta: FloatArray, mu: FloatArray) -> FloatArray:
    """Least epsilon >= 0 with ``delta(epsilon) <= delta``, for one-dimensional arrays.

    Newton's method on log delta as a function of h, from the right: log delta is concave, so that
    no step passes the root; ``Phi(t - h) > delta`` at the root gives the start.  The error is the
    larger of 1e-14 and the effect of a change of 3e-15 in delta, which dominates close to the value
    of delta at epsilon = 0.
    """
    t = 0.5 * mu
    enough = delta >= call_at_zero(mu)
    result = np.where(enough, 0.0, np.inf)
    active = np.flatnonzero(~enough & (delta > 0.0) & (mu < np.inf))
    t, target = t[active], delta[active]
    h = t - special.ndtri(delta[active])
    with np.errstate(under="ignore", divide="ignore", over="ignore"):
        result[active] = 2.0 * t * h
        for _ in range(_STEPS):
            if active.size == 0:
                break
            step = _newton_step(h, t, target)
            h = np.maximum(h + step, 0.0)
            result[active] = 2.0 * t * h
            more = np.abs(step) > _SMALL_STEP * h
            active, h, t, target = active[more], h[more], t[more], target[more]
    return result


def _newton_step(h: FloatArray, t: FloatArray, target: FloatArray) -> FloatArray:
    distance, low, value = _scaled_call(h, np.zeros_like(h), t)
    # A quotient before the logarithm, which near 0 has digits; two for a target below 1e-300.
    normal = np.maximum(target, 1e-300)
    excess = np.log(value / normal) + np.log(normal / target) - (0.5 * distance + low) * distance
    # -d delta / d h = 2 t phi(h - t) m(h + t), here over delta
    slope = t * _erfcx(h + t) / value
    inside = (distance == 0.0) & (h < t)
    if inside.any():
        slope = np.where(inside, slope * bell(np.clip(h - t, -_FAR, 0.0)), slope)
    return np.asarray(excess / slope)
