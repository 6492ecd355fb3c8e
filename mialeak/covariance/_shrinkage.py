"""How much to shrink, from sums alone, and the covariance that results: a matrix, or its factor.

Shrinking by an intensity a takes S to ``(1 - a) S + a (tr S/d) I``.  With ``spread`` the squared
distance of S from ``(tr S/d) I`` and ``noise`` the mean squared distance of ``v v^T`` from S over
the rows, divided by n, Ledoit and Wolf take ``a = min(noise, spread)/spread`` [LW]_; the second is
``(sum |v|^4 / n - |S|^2)/n``.

.. [LW] O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
   matrices", Journal of Multivariate Analysis 88 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from mialeak._arrays import FloatArray
from mialeak.covariance._factors import (
    BlocksFactor,
    Factor,
    FullFactor,
    Singular,
    diagonal_factor,
    full_factor,
    low_rank_factor,
)
from mialeak.covariance._moments import Blocks, Diagonal, Full, Moments, References, centred

__all__ = ["Scales", "covariance", "factor_of", "intensity"]


@dataclass(frozen=True)
class Scales:
    """What an intensity depends on; S is the covariance with 1/n."""

    n: int
    columns: int
    trace: float
    square: float
    """Sum of the squares of all entries of S."""
    spread: float
    """Sum of the squares of those of ``S - (tr S/d) I``."""
    fourth: float
    """Sum of ``|v|^4`` over the rows; for a diagonal S of ``v^4`` over all entries."""


def intensity(rule: Any, scales: Scales) -> float:
    """The number that a fixed, Ledoit-Wolf or OAS shrinkage stands for."""
    if rule is None:
        return 0.0
    if not isinstance(rule, str):
        return float(rule)
    if scales.spread <= 0.0:
        return 0.0  # S is its own target: any intensity gives S
    if rule == "ledoit-wolf":
        noise = (scales.fourth / scales.n - scales.square) / scales.n
        return float(np.clip(noise / scales.spread, 0.0, 1.0))
    part = 1.0 if rule == "oas-simplified" else 1.0 - 2.0 / scales.columns
    above = part * scales.square + scales.trace**2
    return float(min(1.0, above / ((scales.n + part) * scales.spread)))


def factor_of(moments: Moments, rule: Any, ridge: float) -> Factor:
    """What scores rows, given the sums, a shrinkage and a ridge."""
    if isinstance(moments, Diagonal):
        scales = _diagonal_scales(moments) if isinstance(rule, str) else None
        share = intensity(rule, scales) if scales else float(rule or 0.0)
        return diagonal_factor(moments.variances(), share, ridge)
    if isinstance(moments, References):
        return _low_rank(moments, rule, ridge)
    if isinstance(moments, Blocks):
        parts = [_full(part, rule, ridge) for part in moments.parts]
        for place, part in enumerate(parts):
            if isinstance(part, Singular):
                part.name = f"the covariance of block {place}"
        return BlocksFactor(parts, moments.places)
    assert isinstance(moments, Full)
    return _full(moments, rule, ridge)


def _full(moments: Full, rule: Any, ridge: float) -> FullFactor | Singular:
    share = float(rule or 0.0) if not isinstance(rule, str) else _full_share(moments, rule)
    return full_factor(moments.products, moments.n, share, ridge, lost=moments.lost)


def _full_share(moments: Full, rule: str) -> float:
    variances = moments.variances()
    off = 2.0 * (_squares(moments.products) / moments.n**2 - float(variances @ variances))
    fourth = float(moments.fourth) if moments.tails else 0.0
    return intensity(rule, _scales(moments.n, variances, off, variances.size, fourth))


def _diagonal_scales(moments: Diagonal) -> Scales:
    variances = moments.variances()
    return _scales(moments.n, variances, 0.0, variances.size, float(moments.powers[-1].sum()))


def _scales(n: int, spectrum: FloatArray, off: float, columns: int, fourth: float) -> Scales:
    """`spectrum`: diagonal of S; `off`: the squares of what is beside it; d may be larger."""
    trace = float(spectrum.sum())
    mean = trace / columns
    missing = columns - spectrum.size
    spread = max(off, 0.0) + float(((spectrum - mean) ** 2).sum()) + missing * mean**2
    square = max(off, 0.0) + float(spectrum @ spectrum)
    return Scales(n, columns, trace, square, spread, fourth)


def _squares(lower: FloatArray) -> float:
    """Sum of the squares of a lower triangle (zeros above), without a second matrix."""
    flat = lower.ravel(order="K")
    return float(np.dot(flat, flat))


def _low_rank(moments: References, rule: Any, ridge: float) -> Factor:
    rows = centred(moments.rows, moments.centre, moments.low)
    r, d = rows.shape
    gram = blas.dsyrk(1.0, rows, lower=1)
    share = float(rule or 0.0) if not isinstance(rule, str) else 0.0
    if isinstance(rule, str):
        norms = np.diagonal(gram) / r  # X X^T/r has the spectrum of S, and zeros for all others
        off = 2.0 * (_squares(gram) / r**2 - float(norms @ norms))
        scales = _scales(r, norms, off, d, float(r**2 * (norms @ norms)))
        share = intensity(rule, scales)
    return low_rank_factor(rows, gram, share, ridge)


# ---- the matrix, for those who ask for one ----


def covariance(moments: Moments, shrinkage: Any, ridge: float) -> FloatArray:
    """``(1 - a) S + (a tr S/d + ridge) I`` as a matrix, or variances for a diagonal structure."""
    if isinstance(moments, Full):
        return _full_matrix(moments, float(shrinkage), ridge)
    if isinstance(moments, Blocks):
        total = np.zeros((moments.centre.size,) * 2)
        for part, at, share in zip(moments.parts, moments.places, shrinkage, strict=True):
            total[at, at] = _full_matrix(part, float(share), ridge)
        return total
    variances = moments.variances()
    added = shrinkage * variances.mean() + ridge
    if isinstance(moments, References):
        rows = centred(moments.rows, moments.centre, moments.low)
        matrix = rows.T @ (rows * ((1.0 - shrinkage) / len(rows)))
        matrix[np.diag_indices_from(matrix)] += added
        return np.asarray(matrix)
    return np.asarray((1.0 - shrinkage) * variances + added)


def _full_matrix(moments: Full, shrinkage: float, ridge: float) -> FloatArray:
    variances = moments.variances()
    matrix = (moments.products + moments.products.T) * ((1.0 - shrinkage) / moments.n)
    diagonal = (1.0 - shrinkage) * variances + (shrinkage * variances.mean() + ridge)
    matrix[np.diag_indices_from(matrix)] = diagonal
    return np.asarray(matrix)
