"""Means that keep their digits: an unevaluated sum of two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray

__all__ = ["add_to_mean", "mean_difference"]


def add_to_mean(centre: FloatArray, rest: FloatArray, step: Any) -> tuple[FloatArray, FloatArray]:
    """``centre + rest + step`` as the nearest float64 and what is left."""
    low = rest + step
    high = centre + low
    part = high - centre
    return high, (centre - (high - part)) + (low - part)


def mean_difference(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """``other - one``, exact before its last rounding where the two are close."""
    return np.asarray((other[0] - one[0]) + (other[1] - one[1]))
