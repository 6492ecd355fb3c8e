"""Binomial deviations and the leakage of discrete data by the printed formulas.

========  =========================================================
Symbol    Meaning
========  =========================================================
n, p      trials and probability of B ~ Binomial(n, p)
b         b(k; n, p) = P(B = k)
m         floor(n p)
gamma     weight of the false positives; 1 is the balanced game
========  =========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = [
    "binom_excess",
    "binom_logpmf",
    "binom_mad",
    "binom_sf",
    "binom_shortfall",
    "leakage_atoms",
    "leakage_sum",
]

FloatArray = npt.NDArray[np.float64]


def binom_logpmf(k: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> Any:
    """Log of P(B = k): log-factorials and powers.

    The log-factorials cancel: the absolute error grows as eps * n log n, 1e-3 at n = 1e12.
    """
    k, n, p = np.broadcast_arrays(
        np.asarray(k, np.float64), np.asarray(n, np.float64), np.asarray(p, np.float64)
    )
    inside = (k >= 0) & (k <= n)
    j = np.where(inside, k, 0.0)
    log_choose = special.gammaln(n + 1) - special.gammaln(j + 1) - special.gammaln(n - j + 1)
    value = log_choose + special.xlogy(j, p) + special.xlog1py(n - j, -p)
    return np.where(inside, value, -np.inf)[()]


def binom_mad(n: npt.ArrayLike, p: npt.ArrayLike) -> Any:
    """E|B - n p| = 2 n p (1-p) b(m; n-1, p), de Moivre's closed form.

    The error is that of :func:`binom_logpmf`, and a rounded n p may have the wrong floor.
    """
    n, p = np.asarray(n, np.float64), np.asarray(p, np.float64)
    # n = 0 has no n - 1; p = 1 has m = n, outside the law of n - 1 trials.  Both deviate by 0.
    log_probability = binom_logpmf(np.floor(n * p), np.maximum(n - 1, 0), p)
    return 2 * n * p * (1 - p) * np.exp(log_probability)


def _at_least(k: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    """P(B >= k) for any integer k."""
    inside = (k >= 1) & (k <= n)
    j = np.where(inside, k, 1.0)
    tail = special.betainc(j, np.where(inside, n - j + 1, 1.0), p)
    return np.where(inside, tail, np.where(k < 1, 1.0, 0.0))


def binom_sf(c: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> Any:
    """P(B > c) = I_p(k, n - k + 1) with k = floor(c) + 1, for finite c.

    The incomplete beta function of SciPy loses digits as n grows, and more in the tails.
    """
    c, n, p = (np.asarray(x, np.float64) for x in (c, n, p))
    return _at_least(np.floor(c) + 1, n, p)[()]


def _deviation(c: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike, *, above: bool) -> Any:
    """Difference of n p P(B' in tail) and c P(B in tail), B' ~ Binomial(n-1, p) + 1."""
    c, n, p = (np.asarray(x, np.float64) for x in (c, n, p))
    k = np.floor(c) + 1
    shorter, full = _at_least(k - 1, n - 1, p), _at_least(k, n, p)
    if above:
        return (n * p * shorter - c * full)[()]
    return (c * (1 - full) - n * p * (1 - shorter))[()]


def binom_excess(c: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> Any:
    """E (B - c)+ = n p P(B' >= c) - c P(B > c) with B' ~ Binomial(n-1, p) + 1, for finite c.

    The subtraction of nearly equal numbers loses the tails beyond several standard deviations; near
    the mean the relative error is eps * sqrt(n).
    """
    return _deviation(c, n, p, above=True)


def binom_shortfall(c: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> Any:
    """E (c - B)+ = c P(B <= c) - n p P(B' <= c) with B' ~ Binomial(n-1, p) + 1, for finite c.

    The same cancellation as in :func:`binom_excess`, and P(B <= c) is 1 minus a tail.
    """
    return _deviation(c, n, p, above=False)


def leakage_atoms(p: npt.ArrayLike, n: int, gamma: float = 1.0) -> FloatArray:
    """Leakage of a target equal to each atom, whose average over p is :func:`leakage_sum`.

    E (B - gamma n p)+ / (n p) for gamma >= 1, E (gamma n p - B)+ / (gamma n p) below.
    """
    p = np.asarray(p, np.float64)
    if gamma == 1:
        deviation = binom_mad(n, p) / 2
    elif gamma > 1:
        deviation = binom_excess(gamma * n * p, n, p)
    else:
        deviation = binom_shortfall(gamma * n * p, n, p) / gamma
    return np.asarray(deviation / (n * p), np.float64)


def leakage_sum(p: npt.ArrayLike, n: int, gamma: float = 1.0) -> float:
    """Largest leakage of any procedure that learns from n rows with law p (AGP25, Theorem 14)."""
    p = np.asarray(p, np.float64)
    return float(np.sum(p * leakage_atoms(p, n, gamma)))
