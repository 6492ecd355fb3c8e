"""Covariance and Mahalanobis distances by the literal formulas: two passes, explicit inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "centre_rows",
    "column_powers",
    "covariance",
    "ledoit_wolf",
    "ledoit_wolf_diagonal",
    "mahalanobis",
    "oas",
    "row_norms",
]


def column_powers(x: Any, centre: Any, low: Any, orders: int = 2) -> Any:
    """Twin of the kernel: sums of powers of the deviations from ``centre + low``."""
    v = (x - centre) - low
    return np.stack([(v**k).sum(axis=0) for k in range(1, orders + 1)])


def centre_rows(x: Any, centre: Any, low: Any) -> Any:
    """Twin of the kernel: deviations, and sums of the first two powers."""
    v = (x - centre) - low
    return v, np.stack([v.sum(axis=0), (v * v).sum(axis=0)])


def row_norms(x: Any, centre: Any, low: Any, weights: Any) -> Any:
    """Twin of the kernel: weighted squared norms of the deviations of the rows."""
    return (((x - centre) - low) ** 2 * weights).sum(axis=1)


def covariance(x: Any, shrinkage: float = 0.0, ridge: float = 0.0) -> Any:
    """``(1 - shrinkage) S + (shrinkage tr(S)/d + ridge) I``, S with 1/n."""
    v = x - x.mean(axis=0)
    s = v.T @ v / len(v)
    d = len(s)
    return (1 - shrinkage) * s + (shrinkage * np.trace(s) / d + ridge) * np.eye(d)


def mahalanobis(rows: Any, mean: Any, cov: Any) -> Any:
    """Squared distances with an explicit inverse."""
    v = rows - mean
    return np.einsum("ti,ij,tj->t", v, np.linalg.inv(cov), v)


def ledoit_wolf(x: Any) -> float:
    """Intensity of Ledoit and Wolf (2004): mean squared distance of x x^T from S, row by row."""
    v = x - x.mean(axis=0)
    n, d = v.shape
    s = v.T @ v / n
    spread = np.sum((s - np.trace(s) / d * np.eye(d)) ** 2)
    noise = sum(np.sum((np.outer(row, row) - s) ** 2) for row in v) / n**2
    return float(min(noise, spread) / spread) if spread else 0.0


def ledoit_wolf_diagonal(x: Any) -> float:
    """Intensity of Ledoit and Wolf for diagonal matrices: the variances are shrunk."""
    v = x - x.mean(axis=0)
    n, s = len(v), v.var(axis=0)
    spread = np.sum((s - s.mean()) ** 2)
    noise = np.sum((v * v - s) ** 2) / n**2
    return float(min(noise, spread) / spread) if spread else 0.0


def oas(x: Any) -> float:
    """Intensity of Chen, Wiesel, Eldar and Hero (2010), equation 23, with 2/d as derived."""
    v = x - x.mean(axis=0)
    n, d = v.shape
    s = v.T @ v / n
    square, trace = np.sum(s * s), np.trace(s)
    spread = (n + 1 - 2 / d) * (square - trace**2 / d)
    return float(min(1.0, ((1 - 2 / d) * square + trace**2) / spread)) if spread else 1.0
