"""Deviations and probabilities of hypergeometric laws by the printed formulas.

========  =========================================================
Symbol    Meaning
========  =========================================================
N, K, n   a population, the marked ones among them, those drawn
H         number of marked ones among the drawn
m         floor(n K / N) + 1
========  =========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["hypergeom_logpmf", "hypergeom_mad", "hypergeom_sf"]


def _log_choose(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def hypergeom_logpmf(h: npt.ArrayLike, N: npt.ArrayLike, K: npt.ArrayLike, n: npt.ArrayLike) -> Any:
    """Log of C(K, h) C(N - K, n - h) / C(N, n), from log-factorials.

    The log-factorials cancel: the absolute error grows as eps * N log N.
    """
    h, N, K, n = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (h, N, K, n)))
    inside = (h >= np.maximum(0, K - (N - n))) & (h <= np.minimum(K, n))
    j = np.where(inside, h, np.maximum(0, K - (N - n)))
    value = _log_choose(K, j) + _log_choose(N - K, n - j) - _log_choose(N, n)
    return np.where(inside, value, -np.inf)[()]


def hypergeom_mad(N: npt.ArrayLike, K: npt.ArrayLike, n: npt.ArrayLike) -> Any:
    """E|H - n K/N| = 2 m (N - K - n + m) / N P(H = m).

    The error is that of :func:`hypergeom_logpmf`, and a rounded n K / N may have the wrong floor.
    """
    N, K, n = (np.asarray(x, np.float64) for x in (N, K, n))
    whole = np.maximum(N, 1)  # N = 0: K = n = 0, and the deviation is 0
    m = np.floor(n * K / whole) + 1
    factor = 2 * m * (N - K - n + m) / whole
    return (factor * np.exp(hypergeom_logpmf(m, N, K, n)))[()]


@np.vectorize
def hypergeom_sf(h: float, N: float, K: float, n: float) -> float:
    """P(H > h) as a sum of the probabilities above h, for finite h.

    The error is that of :func:`hypergeom_logpmf`; the time grows with min(K, n).
    """
    above = np.arange(max(np.floor(h) + 1, 0), min(K, n) + 1)
    return float(np.exp(hypergeom_logpmf(above, N, K, n)).sum())
