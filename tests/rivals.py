"""How SciPy's users write the same numbers: ``scipy.stats.binom`` in the textbook formulas.

What the accuracy tables and the benchmarks show beside the package, besides the NumPy twins.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

__all__ = [
    "binom_excess",
    "binom_logpmf",
    "binom_mad",
    "binom_sf",
    "binom_shortfall",
    "max_leakage",
]

Array = np.ndarray


def binom_logpmf(k: Array, n: Array, p: Array) -> Array:
    """SciPy's own."""
    return stats.binom.logpmf(k, n, p)


def binom_mad(n: Array, p: Array) -> Array:
    """E|B - n p| by the closed form."""
    return 2 * n * p * (1 - p) * stats.binom.pmf(np.floor(n * p), n - 1, p)


def binom_excess(c: Array, n: Array, p: Array) -> Array:
    """E (B - c)+ as the difference of two survival functions."""
    k = np.floor(c)
    return n * p * stats.binom.sf(k - 1, n - 1, p) - c * stats.binom.sf(k, n, p)


def binom_shortfall(c: Array, n: Array, p: Array) -> Array:
    """E (c - B)+ as the difference of two distribution functions."""
    k = np.floor(c)
    return c * stats.binom.cdf(k, n, p) - n * p * stats.binom.cdf(k - 1, n - 1, p)


def binom_sf(c: Array, n: Array, p: Array) -> Array:
    """SciPy's own."""
    return stats.binom.sf(c, n, p)


def max_leakage(p: Array, n: int) -> float:
    """The largest leakage of the balanced game, vectorised over the atoms."""
    return float(np.sum(p * (1 - p) * stats.binom.pmf(np.floor(n * p), n - 1, p)))


def river_covariance(x: np.ndarray) -> np.ndarray:
    """The matrix that river has after each row of `x` in turn."""
    from river.covariance import EmpiricalCovariance

    found = EmpiricalCovariance(ddof=0)
    for row in x.tolist():
        found.update(dict(enumerate(row)))
    d = x.shape[1]
    return np.array([[found[min(i, j), max(i, j)].get() for j in range(d)] for i in range(d)])
