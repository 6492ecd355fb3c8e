"""Scores of rows against the release of all other rows, from what is known of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray

__all__ = [
    "ALONE",
    "downdated",
    "units",
]
#: A row that makes up all but this share of the scatter in its direction has no others to hide
#: among: its score would be above 1e8 and its advantage 1 to the last digit.
ALONE = 1e-8
#: Columns beyond 2**(+-_EXTREME) are looked at in another unit: the sums of their squares would
#: leave what float64 holds, and a score does not depend on the unit.
_EXTREME = 400


def units(size: FloatArray) -> FloatArray:
    """Powers of two that bring columns of an extreme size near 1; 1 for all others."""
    exponent = np.frexp(size)[1]
    extreme = np.abs(exponent) > _EXTREME
    return np.ldexp(1.0, np.where(extreme, np.minimum(-exponent, 1000), 0))


def downdated(squares: Any, n: int, share: float = 1.0) -> FloatArray:
    """Scores from ``h = c^T A^-1 c``, A with `share` times the scatter of all rows over n - 2."""
    remaining = 1.0 - squares * (share * n / ((n - 1.0) * (n - 2.0)))
    alone = remaining <= ALONE
    scores = n / (n - 1.0) ** 2 * squares / np.where(alone, 1.0, remaining)
    return np.asarray(np.where(alone, np.inf, scores))
