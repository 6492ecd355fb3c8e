"""The leakage score of targets: how far each is from the mean, in units of the release."""

from __future__ import annotations

from typing import Any

from mialeak._arrays import (
    FloatArray,
    as_count,
)
from mialeak._counts import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import (
    as_mean,
    as_points,
    squared_distances,
)
from mialeak._numerics.whitening import whitening

__all__ = [
    "leakage_score",
]


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
        no fresh row is like it, and the release gives it away.  If the target has genotypes or bits
        and mean and cov are others, such as standard deviations, correlations or frequencies.

    See Also
    --------
    mean_tradeoff : the trade-off curve that belongs to it.
    mean_leakage : every row of a table against the mean of that table.

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
    require_same_columns(mean=mean, target=target, cov=cov, release_noise_cov=release_noise_cov)
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    require_genotype_moments(target, mean, cov, n)
    points = as_points(target, mean, "target")
    by = whitening(cov, mean, noise=release_noise_cov, noise_factor=n)
    return squared_distances(points, mean, by, "target") / n
