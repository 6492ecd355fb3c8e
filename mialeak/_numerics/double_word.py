"""Double-word arithmetic: a number as an unevaluated sum of a high and a low float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray

__all__ = [
    "add_to_mean",
    "mean_difference",
    "two_product",
    "two_sum",
]


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b`` rounded, and its rounding error (Knuth): the sum of the two is exact."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """``a * b`` rounded, and its rounding error (Dekker); exact for factors below 1e300."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    low = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, low


def _halves(a: Any) -> tuple[Any, Any]:
    """Veltkamp's split into 26 leading bits and a low word."""
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def add_to_mean(high: FloatArray, low: FloatArray, step: Any) -> tuple[FloatArray, FloatArray]:
    """``high + low + step`` as the nearest float64 and a low word."""
    increment = low + step
    total = high + increment
    part = total - high
    return total, (high - (total - part)) + (increment - part)


def mean_difference(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """``other - one``, exact before its last rounding where the two are close."""
    return np.asarray((other[0] - one[0]) + (other[1] - one[1]))
