"""Influence functions of whatever solves equations: the user's, and those of linear predictors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from mialeak._arrays import FloatArray, as_floats, invalid
from mialeak._numerics.distances import kernel_blocks
from mialeak.estimators._influence import ALONE, InfluenceFunctions

__all__ = ["inverse_curvature", "linear_influence", "z_estimator"]


def z_estimator(
    psi: Callable[[Any, FloatArray], Any],
    derivative: Callable[[Any, FloatArray], Any],
    X: Any,
    theta: Any,
) -> InfluenceFunctions:
    """Influence functions of an estimate that solves ``sum over rows of psi(row, theta) = 0``.

    Parameters
    ----------
    psi : callable
        ``psi(X, theta)`` gives the equations' terms of every row, shape (n, d).
    derivative : callable
        ``derivative(X, theta)`` gives their derivatives in theta, shape (n, d, d), the equation
        first, or the mean of these over the rows, shape (d, d).
    X : object
        The rows, handed on as they are.
    theta : array_like, shape (d,)
        The estimate from all rows.

    Returns
    -------
    InfluenceFunctions
        ``-V^-1 psi``, V the mean derivative.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, V is singular, or theta does not solve
        the equations.

    Notes
    -----
    With the derivative of every row, its own influence is taken at the estimate that one Newton
    step makes of the others, exact where psi is linear in theta; with the mean derivative alone
    each row's is taken to be the mean.

    A penalty ``P`` on the whole sum goes in as its share for each row: ``psi - P theta / n``.

    Examples
    --------
    Huber's location of seven ages, which shortens residuals beyond 15 years:

    >>> import numpy as np
    >>> from scipy.optimize import brentq
    >>> from mialeak.estimators import z_estimator
    >>> ages = np.array([31.0, 45.0, 28.0, 39.0, 87.0, 50.0, 61.0])
    >>> psi = lambda x, t: np.clip(x - t, -15.0, 15.0)[:, None]
    >>> slope = lambda x, t: -1.0 * (np.abs(x - t) < 15.0)[:, None, None]
    >>> centre = brentq(lambda t: psi(ages, t).sum(), 28.0, 87.0)
    >>> rows = z_estimator(psi, slope, ages, [centre])
    >>> np.round(rows.leakage_scores(), 2)
    array([0.35, 0.  , 0.24, 0.05, 0.24, 0.04, 0.24])
    """
    theta = as_floats(theta, "theta", ndim=1, finite=True)
    terms = as_floats(psi(X, theta), "psi(X, theta)", ndim=2, finite=True)
    n, columns = terms.shape
    if columns != theta.size or n < 3:
        rule = f"have at least 3 rows and {theta.size} columns, as theta has; its shape is"
        invalid("psi(X, theta)", f"{rule} {terms.shape}")
    slopes = as_floats(derivative(X, theta), "derivative(X, theta)", finite=True)
    if slopes.shape not in ((columns, columns), (n, columns, columns)):
        rule = f"have shape {(n, columns, columns)} or {(columns, columns)}; its shape is"
        invalid("derivative(X, theta)", f"{rule} {slopes.shape}")
    mean = slopes if slopes.ndim == 2 else slopes.mean(axis=0)
    if np.linalg.matrix_rank(mean) < columns:
        rule = "be invertible on average over the rows; its rank is"
        invalid("derivative(X, theta)", f"{rule} {np.linalg.matrix_rank(mean)} of {columns}")
    influence = -np.linalg.solve(mean, terms.T).T
    if slopes.ndim == 2:
        return InfluenceFunctions(theta, influence)
    return InfluenceFunctions(theta, influence, _omitted(influence, slopes, mean))


def _omitted(influence: FloatArray, slopes: FloatArray, mean: FloatArray) -> FloatArray:
    """``(1 - V^-1 D_i / n)^-1 I_i`` of each row; inf where the others leave theta open."""
    n, columns = influence.shape
    share = np.linalg.solve(mean, slopes) / n
    others = np.eye(columns) - share
    open_ = np.linalg.cond(others) > 1.0 / ALONE
    others[open_] = np.eye(columns)
    moved = np.linalg.solve(others, influence[:, :, None])[:, :, 0]
    moved[open_] = np.inf
    return np.asarray(moved)


def inverse_curvature(
    design: FloatArray, curvature: FloatArray, penalty: FloatArray, name: str = "X"
) -> FloatArray:
    """Inverse of ``sum_i curvature_i x_i x_i^T + diag(penalty)``."""
    matrix = np.zeros((design.shape[1], design.shape[1]))
    for block in kernel_blocks(design):
        rows = design[block]
        matrix += (rows.T * curvature[block]) @ rows
    matrix[np.diag_indices_from(matrix)] += penalty
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    inverse = 1.0 / np.where(scale > 0.0, scale, 1.0)
    limit = (16 + scale.size) * np.finfo(np.float64).eps
    unit = matrix * inverse * inverse[:, None]
    factor, order, rank, info = linalg.lapack.dpstrf(unit, tol=limit, lower=1)
    if info != 0 or rank < scale.size:
        invalid(
            name,
            "determine the estimate; with these rows, the parameter "
            f"{int(order[rank]) - 1} is open, as the columns are collinear (rank {rank} of "
            f"{scale.size})",
            remedy="Leave its column out, or add a penalty",
        )
    order = order - 1
    root = linalg.solve_triangular(factor, np.eye(scale.size), lower=True)
    result = np.empty_like(matrix)
    result[np.ix_(order, order)] = root.T @ root
    return np.asarray(result * inverse * inverse[:, None])


def linear_influence(
    theta: FloatArray,
    design: FloatArray,
    score: FloatArray,
    curvature: FloatArray,
    penalty: FloatArray,
) -> InfluenceFunctions:
    """Influence functions where psi is ``score_i x_i``, its derivative ``-curvature_i x_i x_i^T``.

    theta solves ``sum_i score_i x_i = penalty * theta``.  A is the sum of all curvature and the
    penalty, h the leverage ``curvature_i x_i^T A^-1 x_i`` ::

        I        = n A^-1 (score_i x_i - penalty theta / n)
        theta_-i = theta - A^-1 x_i score_i / (1 - h)               one step; exact if linear
        omitted = n A^-1 (score_i x_i / (1 - h) - penalty theta_-i / (n - 1))
    """
    n = design.shape[0]
    inverse = n * inverse_curvature(design, curvature, penalty)
    influence, remaining = np.empty(design.shape), np.empty(n)
    for block in kernel_blocks(design):
        rows, raw = design[block], influence[block]
        np.matmul(rows, inverse, out=raw)
        remaining[block] = 1.0 - curvature[block] * np.vecdot(rows, raw) / n
        raw *= score[block, None]
    open_ = remaining <= ALONE
    influence[open_] = 0.0  # such a row is fitted perfectly: what is left is rounding
    multiple = np.where(open_, np.inf, 1.0 / np.where(open_, 1.0, remaining))
    if not penalty.any():
        return InfluenceFunctions(theta, influence, multiple)
    without = influence * np.where(open_, 1.0, multiple)[:, None]
    drawn = penalty[:, None] * inverse / (n - 1.0)
    without -= (theta - without / n) @ drawn
    without[open_] = np.inf
    influence -= inverse @ (penalty * theta / n)
    return InfluenceFunctions(theta, influence, without)
