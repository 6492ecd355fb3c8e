"""The leakage score of targets: how far each is from the mean, in units of the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from mialeak._arrays import (
    FloatArray,
    all_finite,
    as_count,
    as_floats,
    first_index,
    invalid,
    require,
)
from mialeak._blocks import block_rows, row_blocks
from mialeak._numerics.whitening import Diagonal, Outside, Whitening, whitening

__all__ = [
    "as_mean",
    "as_points",
    "inner_products",
    "kernel_blocks",
    "leakage_score",
    "squared_distances",
]

#: Entries of a block of targets, so that a block and its whitened copy stay in the cache.
_BLOCK = 1 << 15
#: Rows of a block where a triangular system is solved (fewer would starve the matrix kernels), and
#: entries at most.
_MATRIX_ROWS, _MATRIX_BLOCK = 256, 1 << 22

_RULE = "differ from mean only within the range of cov"


def leakage_score(
    target: Any, mean: Any, cov: Any, n: int, *, release_noise_cov: Any = None
) -> float | FloatArray:
    """Leakage score of targets against the released mean of n rows.

    The square of the signal-to-noise ratio with which the release tells whether the target is
    among its rows; ``mean_tradeoff`` turns it into a trade-off curve, ``2 Phi(sqrt(m)/2) - 1`` is
    the advantage of the best attack.  Its expectation over fresh targets is ``d / n``.

    Parameters
    ----------
    target : array_like, shape (..., d)
        One row or many.
    mean : array_like, shape (d,)
        Mean of the law that the rows come from.
    cov : array_like or estimator
        Covariance of that law: one variance, variances (d,), a matrix (d, d), or an object with
        ``covariance_`` and ``mahalanobis`` such as those of scikit-learn.  It may be singular as
        long as the targets differ from the mean within its range: one-hot columns do.
    n : int
        Rows of the release, the target included; at least 2.
    release_noise_cov : array_like, optional
        Covariance of noise added to the released mean itself, in the same forms.

    Returns
    -------
    float or ndarray, shape (...)
        ``m = (target - mean)^T (C + n R)^-1 (target - mean) / n``.

    Raises
    ------
    ValueError
        If shapes do not match, a covariance is not symmetric or not positive semi-definite,
        anything is NaN or infinite, or a target lies outside the range of a singular covariance:
        no fresh row is like it, and the release gives it away.

    See Also
    --------
    mean_tradeoff : the trade-off curve that belongs to it.
    row_leakage_scores : every row of a table against the mean of that table.

    Notes
    -----
    The score is ``m*`` of [AB25] Section 3, with ``C + n R`` for ``C`` under noise (Theorem 4.1).
    There C is diagonal; any covariance is in use.  One Cholesky factor of the correlation matrix
    serves all targets, in blocks; a singular one is found by its pivots, whatever the units of
    the columns, and answered with the generalised inverse.

    **Accuracy.**  Relative error about d eps for variances; with a full covariance, eps times the
    condition number of the correlation matrix in the worst case.

    **Cost.**  One pass over the targets with variances; ``d^3/3 + d^2`` operations a target with a
    matrix, at the speed of a BLAS triangular solve.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import leakage_score
    >>> f"{leakage_score([1.0, 0.0], mean=[0.2, 0.5], cov=[0.16, 0.25], n=100):.4f}"
    '0.0500'
    >>> people = np.array([[1.0, 0.0], [0.0, 0.0], [0.2, 0.5]])
    >>> np.round(leakage_score(people, [0.2, 0.5], [0.16, 0.25], 100), 4)
    array([0.05  , 0.0125, 0.    ])

    One category of three, as one-hot columns, has the score ``(1/p - 1)/n``:

    >>> p = np.array([0.1, 0.3, 0.6])
    >>> cov = np.diag(p) - np.outer(p, p)
    >>> np.round(leakage_score(np.eye(3), p, cov, 10), 4)
    array([0.9   , 0.2333, 0.0667])
    """
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    points = as_points(target, mean, "target")
    by = whitening(cov, mean, noise=release_noise_cov, noise_factor=n)
    return squared_distances(points, mean, by, "target") / n


def as_mean(mean: Any) -> FloatArray:
    """The mean as a finite vector of at least one column."""
    vector = as_floats(mean, "mean", ndim=1, finite=True)
    if not vector.size:
        invalid("mean", "have at least one column")
    return vector


def as_points(points: Any, mean: FloatArray, name: str) -> FloatArray:
    """Targets, shape (..., d); whether they are finite is found on the way."""
    array = as_floats(points, name)
    if array.ndim == 0 or array.shape[-1] != mean.size:
        invalid(
            name,
            f"have {mean.size} columns (its last axis), as mean has; its shape is {array.shape}",
        )
    return array


@np.errstate(over="ignore", invalid="ignore")
def squared_distances(
    points: FloatArray, mean: FloatArray, by: Whitening, name: str, rule: str = _RULE
) -> float | FloatArray:
    """``(z - mean)^T C^-1 (z - mean)`` of every point z; `rule` is what one outside C breaks."""
    flat = points.reshape(-1, mean.size)
    result = np.empty(flat.shape[0])
    room = None
    step = block_rows(mean.size, elements=_elements(mean.size, not isinstance(by, Diagonal)))
    for start in range(0, result.size, step):
        rows = flat[start : start + step]
        room = rows - mean if room is None else np.subtract(rows, mean, room[: rows.shape[0]])
        try:
            result[start : start + step] = by.squared(room)
        except Outside as outside:
            _refuse(points, name, rule, start, outside)
    if not all_finite(result):
        _blame(result, points, name)
    shaped: FloatArray = result.reshape(points.shape[:-1])
    return shaped[()]


@np.errstate(over="ignore", invalid="ignore")
def inner_products(
    points: FloatArray, others: FloatArray, mean: FloatArray, by: Whitening, names: tuple[str, str]
) -> float | FloatArray:
    """``(a - mean)^T C^-1 (b - mean)`` of points a and b, which broadcast."""
    try:
        one, other = np.broadcast_arrays(points, others)
    except ValueError:
        shapes = f"the shapes are {others.shape} and {points.shape}"
        invalid(names[1], f"broadcast with {names[0]}; {shapes}")
    flat, flat_other = one.reshape(-1, mean.size), other.reshape(-1, mean.size)
    result = np.empty(flat.shape[0])
    for block in kernel_blocks(flat, matrix=not isinstance(by, Diagonal)):
        result[block] = by.inner(flat[block] - mean, flat_other[block] - mean)
    shaped: FloatArray = result.reshape(one.shape[:-1])
    return shaped[()]


def kernel_blocks(flat: FloatArray, *, matrix: bool = True) -> Iterator[slice]:
    """Blocks of rows that fit the cache, or that keep a matrix kernel busy."""
    rows, columns = flat.shape
    return row_blocks(rows, columns, elements=_elements(columns, matrix))


def _elements(columns: int, matrix: bool) -> int:
    """Entries of such a block."""
    return max(_BLOCK, min(_MATRIX_ROWS * columns, _MATRIX_BLOCK)) if matrix else _BLOCK


def _refuse(points: FloatArray, name: str, rule: str, start: int, outside: Outside) -> NoReturn:
    row = np.unravel_index(start + outside.row, points.shape[:-1]) if points.ndim > 1 else ()
    index = (*(int(i) for i in row), outside.column)
    invalid(
        name,
        f"{rule}, whose rank is {outside.rank} of {outside.columns}",
        index=index,
        value=points[index],
        remedy=f"No fresh row is like it in column {outside.column}, so that the release gives it "
        "away: leave that column out, or add noise to the release",
    )


def _blame(result: FloatArray, points: FloatArray, name: str) -> NoReturn:
    """Refuse the entry by which a score is not finite."""
    require(np.isfinite(points), points, name, "be finite")
    row = first_index(~np.isfinite(result))[0]
    invalid(name, "be near enough to mean for its square to be a number", index=row)
