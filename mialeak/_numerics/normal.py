"""Normal tails to full relative accuracy, with a low word where scipy.special loses digits.

``ndtr(ndtri(u) + mu)`` has an error of several units in the last place in the middle and loses
three digits at ``u = 1e-300``: an error of half a unit in a quantile near 37 is multiplied by 37,
and so is the rounding of the square in ``exp(-x**2 / 2)``.  Here quantiles are unevaluated sums
``x + low``, with `low` the rounding error.

``mills(x) = Phi(-x) / phi(x) = sqrt(pi / 2) erfcx(x / sqrt 2)`` is the Mills ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray
from mialeak._numerics.double_word import two_sum

__all__ = [
    "bell",
    "blockwise",
    "shifted_normal",
]

_SQRT_HALF = np.sqrt(0.5)
_SQRT_HALF_PI = np.sqrt(np.pi / 2)
_INV_SQRT_2PI = 1.0 / np.sqrt(2.0 * np.pi)

#: Tail probabilities below this have their quantile from :func:`_far_quantile`, with its rounding
#: error.  Above, ndtri errs by up to 1.8e-15, of which at most 38 times as much reaches a result.
_FAR_TAIL = 1e-9
#: Below this a probability has fewer than 53 bits, and a low word is useless.
_SUBNORMAL = 2.3e-308
#: x = y - (log y - p(1/y))/y with y = sqrt(-2 log u) and this p is within 3e-5 of -Phi^-1(u), u
#: from 1e-5 down to the smallest normal number (least squares, weighted by 1/y).
_START = (-0.9147119, -0.29523596, -0.61238084, 1.15429215)
#: Arguments of Phi below this go through ``erfcx``; above, the rounding of the argument costs at
#: most 2e-14.  Phi underflows to zero below the second number; ndtr returns that zero.
_FAR, _VANISHES = -5.0, -38.5
#: Elements evaluated at once: twelve arrays of this size stay in the second-level cache.
_BLOCK = 4096


def bell(x: Any, low: Any = 0.0) -> Any:
    """``exp(-(x + low)**2 / 2)`` within 2 ulp; |x| up to 1e3, `low` the rounding error of x.

    The leading 16 bits of x have an exact square, so that the large exponent is exact and only the
    small one, below |x|/64, is rounded.
    """
    head = np.rint(x * 64.0) * 0.015625
    return np.exp(head * head * -0.5) * np.exp((x + head) * (head - x) * 0.5 - x * low)


def shifted_normal(u: FloatArray, shift: FloatArray, *, upper: bool = False) -> FloatArray:
    """``Phi(Phi^-1(u) + shift)``, or its complement ``Phi(-Phi^-1(u) - shift)`` if `upper`.

    Both are relatively accurate to 7e-14 wherever the result is a normal number, for `u` down to
    1e-307 and up to the last number below 1.  `u` in [0, 1]; `shift` finite; they broadcast.
    """
    return blockwise(lambda v, s: _shifted_block(v, s, upper), u, shift)


def blockwise(function: Callable[..., Any], *arrays: Any) -> FloatArray:
    """``function(*arrays)``, an elementwise function of one-dimensional arrays of one length.

    The arrays broadcast to any shape; they are cut into blocks that stay in the cache.
    """
    if all(array.ndim == 0 for array in arrays):
        return np.asarray(function(*(array.reshape(1) for array in arrays))).reshape(())
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    flat = [np.broadcast_to(array, shape).ravel() if array.ndim else array for array in arrays]
    result = np.empty(math.prod(shape))
    for start in range(0, result.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        out = result[block]
        parts = (part[block] if part.ndim else np.full(out.size, part) for part in flat)
        out[:] = function(*parts)
    return result.reshape(shape)


def _shifted_block(u: FloatArray, shift: FloatArray, upper: bool) -> FloatArray:
    z, low = _quantile(u)
    sign = -1.0 if upper else 1.0
    argument = sign * (z + shift)
    if argument.min() >= _FAR:
        return np.asarray(special.ndtr(argument))
    places = np.flatnonzero((argument < _FAR) & (argument > _VANISHES))
    every = places.size == u.size
    part = slice(None) if every else places
    total, error = two_sum(z[part], shift[part])
    error = sign * (error + low[part])
    total *= sign
    far = 0.5 * special.erfcx(total * -_SQRT_HALF) * bell(total, error)
    return np.asarray(far) if every else _filled(special.ndtr, argument, places, far)


def _filled(function: Any, x: FloatArray, places: Any, values: FloatArray) -> FloatArray:
    """``function(x)`` except at `places`, where the result is `values`: there it is slow."""
    x = x.copy()
    x[places] = 0.5
    result: FloatArray = function(x)
    result[places] = values
    return result


def _quantile(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Phi^-1(u), and in the tails its low word."""
    if u.min() >= _FAR_TAIL and u.max() <= 1.0 - _FAR_TAIL:
        return special.ndtri(u), np.zeros(u.size)
    tail = np.minimum(u, 1.0 - u)
    places = np.flatnonzero((tail < _FAR_TAIL) & (tail > _SUBNORMAL))
    every = places.size == u.size
    part = slice(None) if every else places
    x, x_low = _far_quantile(tail[part])
    sign = np.copysign(1.0, u[part] - 0.5)
    x, x_low = sign * x, sign * x_low
    if every:
        return x, x_low
    low = np.zeros(u.size)
    low[places] = x_low
    return _filled(special.ndtri, u, places, x), low


def _far_quantile(tail: FloatArray) -> tuple[FloatArray, FloatArray]:
    """-Phi^-1(tail) as a sum: a start, and one step on log Phi with its second derivative."""
    y = np.sqrt(-2.0 * np.log(tail))
    t = 1.0 / y
    a, b, c, d = _START
    x = y - (np.log(y) - (a + t * (b + t * (c + t * d)))) * t
    mills = special.erfcx(x * _SQRT_HALF) * _SQRT_HALF_PI
    r = tail / (mills * bell(x) * _INV_SQRT_2PI) - 1.0
    step = -mills * r * (1.0 - r * (0.5 - r * (1.0 / 3.0 - 0.25 * r)))  # -mills log(1 + r)
    step -= 0.5 * (1.0 / mills - x) * step * step
    z = x + step
    return z, step - (z - x)
