"""Leakage of a released mean by the printed formulas, corrected where they are wrong.

========  ===================================================================
Symbol    Meaning
========  ===================================================================
z, mu     the target and the mean of the law of the rows
C, R      covariance of that law, and of noise on the released mean itself
n, d      rows of the release, the target included, and columns
m         leakage score
Q         n m, the squared Mahalanobis distance of the target
========  ===================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

__all__ = [
    "gaussian_mean_delta",
    "gaussian_mean_power",
    "leakage_score",
    "margin_leakage_scores",
    "matrix_of",
    "mean_shift",
    "misspecified_advantage",
    "noise_for_leakage",
    "row_leakage_scores",
]


def leakage_score(z: Any, mu: Any, cov: Any, n: int, noise: Any = 0.0) -> Any:
    """``(z - mu)^T (C + n R)^-1 (z - mu) / n`` with an explicit inverse."""
    v = np.asarray(z, np.float64) - mu
    inverse = np.linalg.inv(matrix_of(cov, v.shape[-1]) + n * matrix_of(noise, v.shape[-1]))
    return np.einsum("...i,ij,...j->...", v, inverse, v) / n


def mean_shift(
    z: Any,
    t: Any,
    mu: Any,
    cov: Any,
    k: int,
    noise: Any = 0.0,
    n_reference: float = np.inf,
) -> Any:
    """|mu| of the Gaussian curve of k rows, for an attacker who uses t for the target z."""
    v, a = np.asarray(z, np.float64) - mu, np.asarray(t, np.float64) - mu
    d = v.shape[-1]
    inverse = np.linalg.inv((1.0 + k / n_reference) * matrix_of(cov, d) + k * matrix_of(noise, d))
    return np.abs(a @ inverse @ v) / np.sqrt(k * (a @ inverse @ a))


def misspecified_advantage(z: Any, t: Any, mu: Any, cov: Any, n: int, threshold: str) -> float:
    """Advantage of the score of t, at its best threshold or at zero."""
    v, a = np.asarray(z, np.float64) - mu, np.asarray(t, np.float64) - mu
    inverse = np.linalg.inv(matrix_of(cov, v.size))
    m_t, m_s = a @ inverse @ a / n, a @ inverse @ v / n
    if threshold == "best":
        return float(2.0 * special.ndtr(abs(m_s) / (2.0 * np.sqrt(m_t))) - 1.0)
    spread = np.sqrt(m_t)
    return float(special.ndtr((m_s - m_t / 2) / spread) - special.ndtr(-spread / 2))


def gaussian_mean_power(fpr: Any, m: float, n: int, d: int) -> Any:
    """Exact power for Gaussian rows, by SciPy's non-central chi-square law."""
    q = n * m
    x = stats.ncx2.ppf(fpr, d, n * q)
    return stats.ncx2.cdf(x * n / (n - 1.0), d, (n - 1.0) * q)


def gaussian_mean_delta(epsilon: Any, m: float, n: int, d: int) -> Any:
    """Exact delta in direction "in" for Gaussian rows, the difference of two tails."""
    q = n * m
    x = 2.0 * (n - 1.0) * (d / 2.0 * np.log(n / (n - 1.0)) + q / 2.0 - np.asarray(epsilon))
    power = stats.ncx2.cdf(x * n / (n - 1.0), d, (n - 1.0) * q)
    return power - np.exp(epsilon) * stats.ncx2.cdf(x, d, n * q)


def noise_for_leakage(z: Any, mu: Any, cov: Any, n: int, leakage: float) -> float:
    """Noise by bisection on its standard deviation."""
    allowed = (2.0 * special.ndtri((1.0 + leakage) / 2.0)) ** 2
    low, high = 0.0, 1.0
    while leakage_score(z, mu, cov, n, high**2) > allowed:
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if leakage_score(z, mu, cov, n, middle**2) > allowed:
            low = middle
        else:
            high = middle
    return high


def row_leakage_scores(table: Any, structure: str = "full", noise: Any = 0.0) -> Any:
    """Scores of the rows, with mean and covariance of the other rows computed for each."""
    table = np.asarray(table, np.float64)
    n, d = table.shape
    scores = np.empty(n)
    for i in range(n):
        others = np.delete(table, i, axis=0)
        cov = np.cov(others.T).reshape(d, d)
        if structure == "diagonal":
            cov = np.diag(np.diagonal(cov))
        scores[i] = leakage_score(table[i], others.mean(axis=0), cov, n, noise)
    return scores


def margin_leakage_scores(codes: Any, margins: Sequence[Sequence[int]]) -> Any:
    """Scores with the frequencies of the table, by the pseudo-inverse of the indicators."""
    codes = np.asarray(codes)
    columns = []
    for margin in margins:
        cells, places = np.unique(codes[:, list(margin)], axis=0, return_inverse=True)
        columns.append(np.eye(len(cells))[places.reshape(-1)])
    indicators = np.concatenate(columns, axis=1)
    v = indicators - indicators.mean(axis=0)
    n = len(v)
    return np.einsum("ni,ij,nj->n", v, np.linalg.pinv(v.T @ v / n, rcond=1e-10), v) / n


def matrix_of(cov: Any, d: int) -> npt.NDArray[np.float64]:
    """A full matrix of a variance, of variances or of a matrix."""
    cov = np.asarray(cov, np.float64)
    return cov if cov.ndim == 2 else np.diag(np.broadcast_to(cov, (d,)))
