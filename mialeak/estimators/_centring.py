"""Regressions by the columns less their means, and without what collinear columns leave open.

Where a column is far from 0 in its standard deviations, as a time is, the intercept and the slope
are estimated with a correlation of nearly 1, and their covariance has no digits left.  With the
columns less their means theta' is ``T theta``: ``b_0' = b_0 + sum_j m_j b_j`` in place of the
intercept, and the slopes.  What a release leaks is the same, as T is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from mialeak._arrays import FloatArray
from mialeak._numerics.whitening import variances_or_matrix

__all__ = ["Centring", "centred_noise", "centred_releases", "null_space"]

#: Means, in standard deviations, above which columns are centred.
_FAR = 4.0
#: Singular values below this share of the largest one are 0, but for rounding.
_COLLINEAR = 1e-11


@dataclass(frozen=True, eq=False)
class Centring:
    """The column of the intercept, and for each column its mean over the intercept's value."""

    place: int
    ratio: FloatArray

    @classmethod
    def of(cls, design: FloatArray, penalty: FloatArray) -> Centring | None:
        """None without an intercept, with a penalty on it, or with no column far from 0."""
        constant = (design == design[0]).all(axis=0) & (design[0] != 0.0) & (penalty == 0.0)
        if not constant.any():
            return None
        place = int(np.argmax(constant))
        mean = design.mean(axis=0)
        scale = np.maximum(np.abs(design).max(axis=0), np.finfo(np.float64).tiny)
        deviation = np.sqrt(np.square((design - mean) / scale).mean(axis=0)) * scale
        far = (np.abs(mean) > _FAR * deviation) & ~constant
        if not far.any():
            return None
        return cls(place, np.where(far, mean / design[0, place], 0.0))

    @property
    def matrix(self) -> FloatArray:
        """T: theta' is ``T theta``."""
        matrix = np.eye(self.ratio.size)
        matrix[self.place] += self.ratio
        return matrix

    def columns(self, design: FloatArray) -> FloatArray:
        """The columns less their means."""
        return np.asarray(design - design[:, [self.place]] * self.ratio)

    def inward(self, theta: FloatArray) -> FloatArray:
        """The coefficients theta' of theta."""
        theta = theta.copy()
        theta[self.place] += self.ratio @ theta
        return theta

    def outward(self, rows: FloatArray) -> FloatArray:
        """The coefficients theta of theta', or of rows of such; infinite rows stay so."""
        known = np.isfinite(rows).all(axis=-1, keepdims=True)
        moved = np.where(known, rows, 0.0)
        moved[..., self.place] -= moved @ self.ratio
        return np.where(known, moved, rows)


def centred_noise(cov: Any, matrix: FloatArray) -> Any:
    """The covariance on theta' of noise on theta; None for None."""
    if cov is None:
        return None
    cov = variances_or_matrix(cov, len(matrix), "release_noise_cov")
    turned = matrix * cov if cov.ndim == 1 else matrix @ cov
    turned = turned @ matrix.T
    return 0.5 * (turned + turned.T)


def centred_releases(releases: Any, matrix: FloatArray) -> Any:
    """The releases theta as theta'; blocks of an iterator one by one."""
    if isinstance(releases, Iterator):
        return (centred_releases(block, matrix) for block in releases)
    rows = np.asarray(releases, np.float64)
    return rows @ matrix.T if rows.shape[-1:] == (len(matrix),) else rows


def null_space(design: FloatArray, penalty: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Directions that collinear columns leave to the penalty, (k, d), and what takes them out.

    Rows move no estimate along a v with ``X v = 0``: ``v^T P I = 0``.  What is computed there is
    rounding over the penalty, which may be as large as all else.
    """
    scale = np.sqrt(np.square(design).sum(axis=0))
    scale = np.where(scale > 0.0, scale, 1.0)
    _, sizes, axes = np.linalg.svd(linalg.qr(design / scale, mode="r")[0][: scale.size])
    sizes = np.pad(sizes, (0, scale.size - sizes.size))
    null = axes[sizes <= _COLLINEAR * sizes[0]] / scale
    drawn = (null * penalty).T
    return null, np.linalg.solve((null @ drawn).T, drawn.T).T
