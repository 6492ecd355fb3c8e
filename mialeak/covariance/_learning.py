"""Rows into sums, a piece at a time, and sums into a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak.covariance import _input
from mialeak.covariance._moments import Blocks, Full, Moments, References, Rows, centred

__all__ = ["absorb", "covariance", "require_finite"]

_DROP = 'Pass missing="drop" to leave such rows out'


def absorb(moments: Moments, rows: Rows, before: int, drop: bool) -> int:
    """Add rows, and count those left out; `before` rows stand before them."""
    dropped = 0
    for start, piece in _input.pieces(rows):
        if moments.absorb(piece):
            continue
        good = require_finite(piece, before + start, drop)
        dropped += int(len(good) - good.sum())
        if good.any() and not moments.absorb(piece[good]):
            require_finite(piece[good], before + start, drop)
    return dropped


def require_finite(piece: Rows, start: int, drop: bool) -> npt.NDArray[np.bool_]:
    """Which rows are finite, where some are not; raise unless they may be dropped."""
    good = _input.finite_rows(piece)
    if not drop or good.all():
        _input.refuse_rows(piece, start, remedy=_DROP)
    return good


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
