"""The covariance as a matrix, for those who ask for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray
from mialeak.covariance._moments import Blocks, Full, Moments, References, centred

__all__ = ["covariance"]


def covariance(moments: Moments, shrinkage: Any, ridge: float) -> FloatArray:
    """``(1 - a) S + (a tr S/d + ridge) I`` as a matrix, or variances for a diagonal structure."""
    if isinstance(moments, Full):
        return _full(moments, float(shrinkage), ridge)
    if isinstance(moments, Blocks):
        total = np.zeros((moments.centre.size,) * 2)
        for part, at, share in zip(moments.parts, moments.places, shrinkage, strict=True):
            total[at, at] = _full(part, float(share), ridge)
        return total
    variances = moments.variances()
    added = shrinkage * variances.mean() + ridge
    if isinstance(moments, References):
        rows = centred(moments.rows, moments.centre, moments.rest)
        matrix = rows.T @ (rows * ((1.0 - shrinkage) / len(rows)))
        matrix[np.diag_indices_from(matrix)] += added
        return np.asarray(matrix)
    return np.asarray((1.0 - shrinkage) * variances + added)


def _full(moments: Full, shrinkage: float, ridge: float) -> FloatArray:
    variances = moments.variances()
    matrix = (moments.products + moments.products.T) * ((1.0 - shrinkage) / moments.n)
    diagonal = (1.0 - shrinkage) * variances + (shrinkage * variances.mean() + ridge)
    matrix[np.diag_indices_from(matrix)] = diagonal
    return np.asarray(matrix)
