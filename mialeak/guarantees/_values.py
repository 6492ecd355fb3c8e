"""What the functions of this room take."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, require

__all__ = ["at_least_zero", "positive"]


def positive(values: Any, name: str) -> FloatArray:
    """`values` as numbers above 0 and finite."""
    array = as_floats(values, name)[()]  # a scalar is faster than an array of no axis
    require((array > 0.0) & (array < np.inf), array, name, "be positive and finite")
    return array


def at_least_zero(values: Any, name: str) -> FloatArray:
    """`values` as numbers of at least 0, infinity among them."""
    array = as_floats(values, name)[()]
    require(array >= 0.0, array, name, "be at least 0")
    return array
