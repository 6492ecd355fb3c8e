"""Inverse problems of a released mean: noise and rows for a wanted leakage, extreme targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, special

from mialeak._arrays import (
    MAX_COUNT,
    FloatArray,
    as_count,
    as_float,
    as_probability,
    invalid,
    require,
)
from mialeak._numerics.distances import as_mean, as_points, kernel_blocks, squared_distances
from mialeak._numerics.whitening import Full, variances_or_matrix, whitening

__all__ = ["easiest_target", "hardest_target", "noise_for_leakage", "samples_for_leakage"]

#: Newton steps at most; 3 to 6 are taken.
_STEPS = 100
#: Smaller leakage scores take noise or rows that are no numbers.
_LEAST_SCORE = 1e-100
#: Below these shares a variance, and what a target has in its direction, are rounding.
_NO_VARIANCE, _NO_DEVIATION = 16 * np.finfo(np.float64).eps, 1e-8


def noise_for_leakage(
    target: Any, mean: Any, cov: Any, n: int, advantage: float
) -> float | FloatArray:
    """Standard deviation of the noise with which a released mean leaks no more than wanted.

    Independent normal noise of this standard deviation, in the units of the columns, is added to
    each column of the released mean (``release_noise_cov = std**2``).

    Parameters
    ----------
    target, mean, cov, n
        As for :func:`leakage_score`.
    advantage : float
        The largest advantage allowed, above 0 and below 1.

    Returns
    -------
    float or ndarray, shape (...)
        One for each target, 0 where none is needed; the largest of them protects them all.

    Raises
    ------
    ValueError
        As :func:`leakage_score`, except that targets outside the range of a singular covariance
        are welcome: noise is what they need.

    Notes
    -----
    Solves ``(target - mean)^T (C + n std^2 I)^-1 (target - mean) / n = (2 Phi^-1((1 + a)/2))^2``
    along the eigenvectors of C.  The reciprocal of the left side is concave in std^2, so that
    Newton's method from below converges without a step back.

    **Accuracy.**  1e-14 relative with variances, 1e-12 with a matrix of moderate condition.

    **Cost.**  40 ns an entry of the targets, and the eigenvectors of a matrix.

    Examples
    --------
    >>> from mialeak import mean_tradeoff, noise_for_leakage
    >>> z, mean, variances = [1.0, 1.0, 0.0], [0.1, 0.2, 0.6], [0.09, 0.16, 0.24]
    >>> std = noise_for_leakage(z, mean, variances, 50, advantage=0.1)
    >>> f"{std:.4f}"
    '0.0932'
    >>> curve = mean_tradeoff(z, mean, variances, 50, release_noise_cov=std**2)
    >>> f"{curve.advantage:.6f}"
    '0.100000'
    """
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    allowed = n * _as_score(advantage)
    points = as_points(target, mean, "target")
    require(np.isfinite(points), points, "target", "be finite")
    variances, axes = _principal(variances_or_matrix(cov, mean.size, "cov"))
    flat = points.reshape(-1, mean.size)
    added = np.empty(flat.shape[0])
    for block in kernel_blocks(flat):
        deviations = flat[block] - mean
        if axes is not None:
            deviations = deviations @ axes
        size = np.abs(deviations).max(axis=1, keepdims=True)
        flat_axes = variances <= _NO_VARIANCE * variances.size * variances.max()
        deviations[flat_axes & (np.abs(deviations) <= _NO_DEVIATION * size)] = 0.0
        added[block] = _added_variance(deviations**2, variances, allowed)
    return np.asarray(np.sqrt(added / n).reshape(points.shape[:-1]))[()]


def _as_score(advantage: float) -> float:
    """The leakage score of a curve with this advantage."""
    advantage = as_float(advantage, "advantage")
    if not 0.0 < advantage < 1.0:
        invalid("advantage", "be above 0 and below 1", value=advantage)
    score = float(8.0 * special.erfinv(advantage) ** 2)
    if score < _LEAST_SCORE:
        invalid("advantage", "be large enough for noise or rows to reach it", value=advantage)
    return score


def _principal(cov: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Variances along the principal axes, and the axes unless they are the columns."""
    if cov.ndim == 1:
        return cov, None
    Full(cov, np.zeros(cov.shape[0]), "cov")  # for its check of the sign
    variances, axes = linalg.eigh(cov)
    return np.maximum(variances, 0.0), axes


def _added_variance(squares: FloatArray, variances: FloatArray, allowed: float) -> FloatArray:
    """The t >= 0 with ``sum_j squares_j / (variances_j + t) = allowed``, 0 if that is too much."""
    added = np.maximum((squares / allowed - variances).max(axis=1), 0.0)
    for _ in range(_STEPS):
        total = variances + added[:, None]
        shares = np.divide(squares, total, out=np.zeros_like(squares), where=squares > 0.0)
        reached = shares.sum(axis=1)
        slope = np.divide(shares, total, out=np.zeros_like(shares), where=squares > 0.0).sum(axis=1)
        # Newton's method for 1/reached = 1/allowed
        excess = reached > allowed
        step = np.where(excess, (reached / allowed - 1.0) * reached / np.where(excess, slope, 1), 0)
        added += step
        if np.all(step <= 1e-15 * added):
            break
    return np.asarray(added)


def samples_for_leakage(
    target: Any, mean: Any, cov: Any, advantage: float
) -> int | npt.NDArray[np.int64]:
    """Smallest number of rows of which the released mean leaks no more than wanted.

    Parameters
    ----------
    target, mean, cov
        As for :func:`leakage_score`.
    advantage : float
        The largest advantage allowed, above 0 and below 1.

    Returns
    -------
    int or ndarray of int, shape (...)
        At least 2: the first n at which ``mean_tradeoff(target, mean, cov, n).advantage`` is no
        larger than `advantage`.

    Raises
    ------
    ValueError
        As :func:`leakage_score`, and if more than 2**53 rows are needed.

    Notes
    -----
    The score of n rows is that of one row over n.  Where the quotient is nearly an integer the
    curve itself decides.  **Cost.**  That of :func:`leakage_score`.

    Examples
    --------
    >>> from mialeak import samples_for_leakage
    >>> samples_for_leakage([1.0, 1.0, 0.0], [0.1, 0.2, 0.6], [0.09, 0.16, 0.24], 0.1)
    230
    """
    mean = as_mean(mean)
    score = _as_score(advantage)
    points = as_points(target, mean, "target")
    squared = np.asarray(squared_distances(points, mean, whitening(cov, mean), "target"))
    least = np.maximum(np.ceil(squared / score), 2.0)
    require(least <= MAX_COUNT, squared, "target", "need at most 2**53 rows")
    # The quotient is off by one where it is nearly an integer: ask the curve itself.
    for rows in (least - 1.0, least):
        fits = special.erf(np.sqrt(squared) / np.sqrt(rows) / np.sqrt(8.0)) <= advantage
        least = np.where(
            fits, np.minimum(least, np.maximum(rows, 2.0)), np.maximum(least, rows + 1)
        )
    counts: npt.NDArray[np.int64] = least.astype(np.int64)
    return counts if counts.ndim else int(counts)


def easiest_target(p: Any) -> FloatArray:
    """The binary row that a released mean gives away most: in each column the rarer value.

    Parameters
    ----------
    p : array_like
        Probability of a one in each column, in [0, 1]; any shape.

    Returns
    -------
    ndarray of float
        1 where ``p <= 1/2``, else 0.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1].

    Examples
    --------
    >>> from mialeak.means import easiest_target
    >>> easiest_target([0.1, 0.6])
    array([1., 0.])
    """
    return (as_probability(p, "p") <= 0.5).astype(np.float64)


def hardest_target(p: Any) -> FloatArray:
    """The binary row that a released mean gives away least: in each column the commoner value.

    Parameters
    ----------
    p : array_like
        Probability of a one in each column, in [0, 1]; any shape.

    Returns
    -------
    ndarray of float
        1 where ``p > 1/2``, else 0.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1].

    Examples
    --------
    >>> from mialeak.means import hardest_target
    >>> hardest_target([0.1, 0.6])
    array([0., 1.])
    """
    return (as_probability(p, "p") > 0.5).astype(np.float64)
