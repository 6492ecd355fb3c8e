"""Attack scores by the literal formulas, one array expression over releases and columns.

========  ==========================================================================
Symbol    Meaning
========  ==========================================================================
z, mu     the target and the mean of the law of the rows
x, a      released mean and target in standard deviations of the mean and of a row
s         1 / sqrt(n)
l3, l4    skewness and excess kurtosis of a column
========  ==========================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from mialeak.reference.mean import matrix_of

__all__ = [
    "bernoulli_score",
    "covariance_score",
    "cubic_sums",
    "edgeworth_columns",
    "edgeworth_terms",
    "genotype_score",
    "glir_score",
    "log_linear_sums",
    "log_quadratic_sums",
    "mixture_score",
    "scalar_product_score",
]


def cubic_sums(releases: Any, by_column: Any, constant: float) -> Any:
    """Twin of the kernel: Horner's scheme, and NumPy's pairwise sum."""
    mean, scale, c1, c2, c3 = by_column
    x = (releases - mean) * scale
    return constant + (x * (c1 + x * (c2 + x * c3))).sum(axis=1)


def edgeworth_columns(
    target: Any, mean: Any, std: Any, l3: Any, l4: Any, n: int, order: int = 3
) -> Any:
    """Twin of the kernel: mean, scale, c1, c2, c3 and the constant of each column."""
    a, s = (target - mean) / std, 1.0 / np.sqrt(n)
    c0 = c2 = c3 = np.zeros(a.size)
    c1 = s * a
    if order >= 2:
        half = 0.5 * s * s
        c2 = -half * (1.0 + l3 * a)
        c0 = -half * a * a - c2
    if order >= 3:
        cube, square = s * s * s, l3 * l3
        c1 = c1 + cube * (a - 0.5 * l3 + a * (0.5 * (l3 * a + l4) - square))
        c3 = cube * (l3 / 3.0 + a * (0.5 * square - l4 / 6.0))
    return np.stack([mean, np.sqrt(n) / std, c1, c2, c3, c0])


def log_linear_sums(releases: Any, by_column: Any) -> Any:
    """Twin of the kernel: a logarithm for each element."""
    u, v, w = by_column
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log((u + v * np.asarray(releases, np.float64)) * w).sum(axis=1)


def log_quadratic_sums(releases: Any, counts: float, by_column: Any) -> Any:
    """Twin of the kernel, without a tolerance."""
    u, v, w, u2, v2, w2 = by_column
    k = np.rint(counts * np.asarray(releases, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log((u + v * k) * w * (u2 + v2 * k) * w2).sum(axis=1)


def edgeworth_terms(
    r: Any, z: Any, mu: Any, std: Any, l3: Any, l4: Any, n: int, order: int = 3
) -> Any:
    """Per-coordinate terms of [AB25] Appendix C, corrected."""
    x, a, s = np.sqrt(n) * (r - mu) / std, (z - mu) / std, 1.0 / np.sqrt(n)
    terms = s * a * x
    if order >= 2:
        square = x * x
        terms = terms + s * s / 2 * ((1 - square) * (1 + l3 * a) - a * a)
    if order >= 3:
        cube = square * x
        skew = l3 * (cube / 3 - x / 2) + l3 * a * a * x / 2
        correction = a * (l3 * l3 * (x - cube / 2) + l4 * (cube - 3 * x) / 6)
        terms = terms + s * s * s * (a * x + skew - correction)
    return terms


def covariance_score(r: Any, z: Any, mu: Any, cov: Any, n: int) -> Any:
    """Equation 5 of [AB25], with an explicit inverse."""
    v = np.asarray(z, np.float64) - mu
    w = np.linalg.inv(matrix_of(cov, v.size)) @ v
    return (r - mu) @ w - v @ w / (2 * n)


def bernoulli_score(r: Any, z: Any, p: Any, n: int) -> Any:
    """``log(r/p)`` where the target is 1, ``log((1-r)/(1-p))`` where it is 0."""
    with np.errstate(divide="ignore"):
        return np.where(np.asarray(z) == 1, np.log(r / p), np.log((1 - r) / (1 - p))).sum(-1)


def genotype_score(r: Any, z: Any, p: Any, n: int) -> Any:
    """Ratio of two binomial probabilities from SciPy."""
    k = np.rint(np.asarray(r) * n)
    inside = stats.binom.logpmf(k - z, 2 * n - 2, p)
    return (inside - stats.binom.logpmf(k, 2 * n, p)).sum(-1)


def scalar_product_score(r: Any, z: Any, reference: Any) -> Any:
    """``(z - reference)^T r``."""
    return np.asarray(r) @ (np.asarray(z, np.float64) - reference)


def glir_score(r: Any, z: Any, mu: Any, cov: Any, n: int) -> Any:
    """``-log F`` by SciPy; infinite where the cdf underflows."""
    inverse = np.linalg.inv(matrix_of(cov, np.size(mu)))
    v, y = np.asarray(z, np.float64) - mu, np.asarray(r) - z
    squared = np.einsum("...i,ij,...j->...", y, inverse, y)
    return -stats.ncx2.logcdf(n * squared, np.size(mu), n * (v @ inverse @ v))


def mixture_score(score: Any, rate: float) -> Any:
    """``log(1 - rate + rate e^score)``."""
    return special.logsumexp([np.zeros_like(score), score], axis=0, b=[[1 - rate], [rate]])
