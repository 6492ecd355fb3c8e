"""Normal tails to full relative accuracy: what scipy.special loses in the last digits.

``ndtr(ndtri(u) + mu)`` is right to a few units in the last place in the middle and loses three
digits at ``u = 1e-300``: an error of half a unit in a quantile near 37 is multiplied by 37, and so
is the rounding of the square in ``exp(-x**2 / 2)``.  Both are cured by carrying what rounding
leaves behind: a number is written as an unevaluated sum ``x + rest``.

``mills(x) = Phi(-x) / phi(x) = sqrt(pi / 2) erfcx(x / sqrt 2)`` is the Mills ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray

__all__ = ["bell", "blockwise", "shifted_normal", "two_product", "two_sum"]

_SQRT_HALF = np.sqrt(0.5)
_SQRT_HALF_PI = np.sqrt(np.pi / 2)

#: Where ``a (a - |z|)`` exceeds this, a = +-(z + shift) < 0 and z the quantile, Phi(a) goes through
#: :func:`_tail`.  It is the factor on the roundings of z and a: below it they cost at most 2e-14.
_TAIL = 100.0
#: Below this Phi is zero in float64; left to ``ndtr``, which knows.
_VANISHES = -38.5
#: Below this, u has fewer than 53 bits and its quantile nothing to gain from a correction.
_SUBNORMAL = 2.3e-308
#: Elements that are worked on at once: a dozen arrays of this size stay in the second-level cache.
_BLOCK = 4096


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b`` rounded, and what the rounding left (Knuth): their sum is exact."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """``a * b`` rounded, and what the rounding left (Dekker); exact for factors below 1e300."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, rest


def _halves(a: Any) -> tuple[Any, Any]:
    """Veltkamp's split into 26 leading bits and the rest."""
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def bell(x: Any, rest: Any = 0.0) -> Any:
    """``exp(-(x + rest)**2 / 2)`` within 2 ulp; |x| up to 1e3, `rest` its rounding error.

    The leading 16 bits of x have an exact square, so that the large exponent is exact and only the
    small one, below |x|/64, is rounded.
    """
    head = np.rint(x * 64.0) * 0.015625
    return np.exp(head * head * -0.5) * np.exp((x + head) * (head - x) * 0.5 - x * rest)


def shifted_normal(u: FloatArray, shift: FloatArray, *, upper: bool = False) -> FloatArray:
    """``Phi(Phi^-1(u) + shift)``, or its complement ``Phi(-Phi^-1(u) - shift)`` if `upper`.

    Both are relatively accurate to 4e-14 wherever the result is a normal number, for `u` down to
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
    quantile = special.ndtri(u)
    argument = quantile + shift
    if upper:
        np.negative(argument, out=argument)
    with np.errstate(invalid="ignore", over="ignore"):  # u of 0 and 1, and shifts of 1e200
        tail = argument * (argument - np.abs(quantile)) > _TAIL
    tail &= (argument < 0.0) & (argument > _VANISHES)
    if not tail.any():
        return np.asarray(special.ndtr(argument))
    if tail.all():
        return _tail(u, quantile, shift, upper)
    places = np.flatnonzero(tail)
    refined = _tail(u[places], quantile[places], shift[places], upper)
    argument[places] = 0.0  # ndtr is slow in the tail and its answer there is not used
    result = special.ndtr(argument)
    result[places] = refined
    return np.asarray(result)


def _tail(u: FloatArray, quantile: FloatArray, shift: FloatArray, upper: bool) -> FloatArray:
    """Phi of ``+-(Phi^-1(u) + shift)``, which is negative, from a quantile right to some ulp."""
    # One Newton step on Phi(-x) = v, x = |quantile|, with a residual that is accurate to 1e-16.
    v = np.minimum(u, 1.0 - u)
    x = np.abs(quantile)
    ratio = 0.5 * special.erfcx(x * _SQRT_HALF)  # Phi(-x) = ratio * bell(x)
    rest = (1.0 - v / (ratio * bell(x))) * ratio * (2.0 * _SQRT_HALF_PI)
    rest = np.where(v > _SUBNORMAL, np.copysign(rest, quantile * rest), 0.0)
    # The distance from zero, x and its rest, and the shift, summed without loss.
    total, error = two_sum(quantile, shift)
    error += rest
    if upper:
        total, error = -total, -error
    return np.asarray(0.5 * special.erfcx(-total * _SQRT_HALF) * bell(total, error))
