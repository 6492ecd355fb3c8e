"""Linear scores: the covariance score and the scalar product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_floats, contiguous, invalid, within
from mialeak._checks.means.genotypes import require_persons
from mialeak._checks.means.moments import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import as_mean, kernel_blocks, squared_distances
from mialeak._numerics.whitening import (
    Diagonal,
    Outside,
    Whitening,
    standard_deviations,
    whitening,
)
from mialeak.scores._releases import (
    Piece,
    as_columns,
    cubic_sums,
    cubic_table,
    in_unit_of,
    map_releases,
)

__all__ = ["as_target", "by_rows", "covariance_score", "outside_range", "scalar_product_score"]


def as_target(target: Any, *, columns: int | None = None) -> FloatArray:
    """The target as one finite row of at least one column."""
    row = as_floats(target, "target", ndim=1, finite=True)
    if not row.size:
        invalid("target", "have at least one column")
    if columns is not None and row.size != columns:
        invalid("target", f"have {columns} entries, as mean has; its shape is {row.shape}")
    return row


def covariance_score(releases: Any, target: Any, mean: Any, cov: Any, n: int) -> float | FloatArray:
    """Log likelihood ratio of a released mean in the limit of many rows.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means.  A memory map is read in pieces, float32 as such.
    target : array_like, shape (d,)
        The row whose membership is in question.
    mean : array_like, shape (d,)
        Mean of the law of the rows.
    cov : array_like or estimator
        Covariance of that law: one variance, variances (d,), a matrix (d, d), or an object with
        ``covariance_`` and ``mahalanobis``.  It may be singular if target and releases differ from
        the mean within its range.
    n : int
        Rows of the release, the target included; at least 2.

    Returns
    -------
    float or ndarray, shape (T,)
        ``(z - mu)^T C^-1 (release - mu) - m/2``, with m the leakage score of the target: larger
        means more likely in.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, or cov is not a covariance.

    See Also
    --------
    mialeak.leakage_score : m.
    edgeworth_score : the same with corrections for the shape of the law.
    bernoulli_score, genotype_score : exact for bits and for genotypes.

    Notes
    -----
    [AB25] equation 5.  The score is nearly N(-m/2, m) out and N(m/2, m) in.

    **Accuracy.**  Several eps of the sum of the absolute terms; with a matrix, times its condition.
    The same bits on every processor for variances.

    **Cost.**  One pass over the releases at the speed of memory, after one Cholesky factor of a
    matrix; with a singular matrix, a triangular solve for each release.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import covariance_score
    >>> releases = [[0.25, 0.5], [0.2, 0.5]]
    >>> np.round(covariance_score(releases, [1.0, 0.0], [0.2, 0.5], [0.16, 0.25], 100), 3)
    array([ 0.225, -0.025])
    """
    # Arrays have no names, and the call takes as long as a pass over a thousand columns.
    if not type(mean) is type(target) is type(cov) is type(releases) is np.ndarray:
        require_same_columns(mean=mean, target=target, cov=cov, releases=releases)
    mean = as_mean(mean)
    require_genotype_moments(target, mean, cov)
    target = as_target(target, columns=mean.size)
    n = as_count(n, "n", least=2)
    plain = type(releases) is np.ndarray and releases.ndim in (1, 2)
    if plain and not within(target, 0.0, 1.0) and target.max() == 2.0:
        require_persons(releases if releases.ndim == 1 else releases[:1].ravel(), n)
    by = whitening(cov, mean)

    def deviations() -> FloatArray:
        return standard_deviations(cov, mean.size)

    table = cubic_table([mean, 1.0], mean.size)
    deviation = np.subtract(target, mean, table[2, : mean.size])
    weights = by.weights(deviation)
    if weights is not None:
        if weights is not deviation:
            deviation[:] = weights
        half = 0.5 * _score_at(target, table, mean, by) / n
        score = in_unit_of(
            mean, lambda piece: cubic_sums(piece.rows, table, -half), n=n, deviations=deviations
        )
        return map_releases(releases, mean.size, score)
    half = 0.5 * float(squared_distances(target, mean, by, "target")) / n

    def inner(piece: Piece) -> FloatArray:
        return by_rows(
            piece, by, lambda rows: by.inner(rows - mean, np.tile(deviation, (len(rows), 1)))
        )

    score = in_unit_of(mean, inner, n=n, deviations=deviations)
    return np.subtract(map_releases(releases, mean.size, score), half)[()]


def _score_at(target: FloatArray, table: FloatArray, mean: FloatArray, by: Whitening) -> float:
    """The squared distance of the target, as the score of a release that equals it."""
    distance: float = cubic_sums(contiguous(target)[None], table, 0.0).item()
    if not math.isfinite(distance):
        squared_distances(target, mean, by, "target")  # raises
    return distance


def by_rows(piece: Piece, by: Whitening, function: Any) -> FloatArray:
    """`function` of blocks of float64 rows; raises for a row outside the range of cov."""
    result = np.empty(piece.rows.shape[0])
    for block in kernel_blocks(piece.rows, matrix=not isinstance(by, Diagonal)):
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result[block] = function(piece.rows[block].astype(np.float64, copy=False))
        except Outside as outside:
            outside_range(piece, block.start, outside)
    return result


def outside_range(piece: Piece, start: int, outside: Outside) -> None:
    """Raise for a release that no rows have as their mean."""
    piece.require(np.isfinite(piece.rows), "be finite")
    rule = "differ from mean only within the range of cov"
    piece.refuse(
        start + outside.row,
        outside.column,
        f"{rule}, whose rank is {outside.rank} of {outside.columns}",
        f"No mean of fresh rows is like it in column {outside.column}: leave that column out, or "
        "add the noise of the release to cov",
    )


def scalar_product_score(releases: Any, target: Any, reference: Any) -> float | FloatArray:
    """Scalar product of a released mean with the target minus a reference point.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means.
    target : array_like, shape (d,)
        The row whose membership is in question.
    reference : array_like, shape (d,) or a number
        A row known to be out, or the mean of the law, in the unit of the target: of genotypes 0, 1
        and 2 with frequencies p it is 2p.  No check can tell p from 2p by one target, since linked
        sites give some people twice the mean.

    Returns
    -------
    float or ndarray, shape (T,)
        ``(target - reference)^T release``: larger means more likely in.

    Raises
    ------
    ValueError
        If shapes do not match, or anything is NaN or infinite.

    See Also
    --------
    covariance_score : uses the covariance and the number of rows.

    Notes
    -----
    The attack of Dwork et al. (2015).  The threshold has to be calibrated.  [AB24] Section 3 calls
    the score equivalent to the likelihood ratio if all variances are equal; this holds only if the
    reference is the mean.  Against one fresh row as reference, the advantage is that of a mean
    with score ``m^2 / (m + m_ref)``, m_ref the score of that row: 0.28 in place of 0.38 where both
    are 1.

    **Accuracy** and **cost** as of :func:`covariance_score` with variances.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import scalar_product_score
    >>> np.round(scalar_product_score([[0.6, 0.4], [0.5, 0.5]], [1.0, 0.0], [0.0, 1.0]), 2)
    array([0.2, 0. ])
    """
    require_same_columns(target=target, reference=reference, releases=releases)
    target = as_target(target)
    reference = as_columns(reference, "reference", target.size)
    table = cubic_table([0.0, 1.0, target - reference], target.size)
    return map_releases(releases, target.size, lambda piece: cubic_sums(piece.rows, table, 0.0))
