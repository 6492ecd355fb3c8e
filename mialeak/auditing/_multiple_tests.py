"""Many claims tested at once, by their p-values: which are false, and at least how many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = ["benjamini_hochberg", "holm", "hommel"]

BoolArray = npt.NDArray[np.bool_]


def holm(p_values: FloatArray, alpha: float) -> BoolArray:
    """Claims that are false, with no true one among them with probability 1 - alpha at least.

    The smallest p-value is compared with alpha / n, the next with alpha / (n - 1), until one is
    above (Holm 1979); no matter how they depend on one another.
    """
    order = np.argsort(p_values, kind="stable")
    size = p_values.size
    kept = p_values[order] > alpha / (size - np.arange(size))
    count = int(np.argmax(kept)) if kept.any() else size
    proved = np.zeros(size, bool)
    proved[order[:count]] = True
    return proved


def hommel(p_values: FloatArray, alpha: float) -> int:
    """How many claims are false at least: closed testing with Simes' test.

    The h largest p-values are the largest set that is not rejected; sets that are not stay so when
    their smallest is left out, hence the bisection (Goeman et al. 2019).
    """
    rising = np.sort(p_values)
    size = rising.size

    def is_kept(count: int) -> bool:
        return bool((count * rising[size - count :] > alpha * np.arange(1.0, count + 1.0)).all())

    low, high = 0, size + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    if low == 0:
        return size
    # At u in 1, ..., n: so many p-values are at most u alpha / h, and u - 1 of them may be true.
    u = np.arange(1.0, size + 1.0)
    counts = np.searchsorted(rising, u * alpha / low, side="right")
    return int(max(np.max(counts + 1.0 - u), 0.0))


def benjamini_hochberg(p_values: FloatArray, alpha: float) -> BoolArray:
    """Claims of which an expected share of alpha at most is true (Benjamini, Hochberg 1995)."""
    order = np.argsort(p_values, kind="stable")
    size = p_values.size
    passed = np.flatnonzero(p_values[order] <= alpha * np.arange(1.0, size + 1.0) / size)
    rejected = np.zeros(size, bool)
    rejected[order[: passed[-1] + 1 if passed.size else 0]] = True
    return rejected
