"""Scores computed from other quantities: GLiR's p-value, and the score under sub-sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import (
    FloatArray,
    all_finite,
    as_count,
    as_float,
    as_floats,
    invalid,
    require,
)
from mialeak._checks.means.moments import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import as_mean, squared_distances
from mialeak._numerics.noncentral import log_tails
from mialeak._numerics.whitening import standard_deviations, whitening
from mialeak.scores._linear import as_target, by_rows
from mialeak.scores._releases import Piece, in_unit_of, map_releases

__all__ = ["glir_score", "mixture_score"]

#: Above this e^score would overflow and is not computed.
_LARGE = 700.0


def glir_score(releases: Any, target: Any, mean: Any, cov: Any, n: int) -> float | FloatArray:
    """Minus the log p-value of a released mean's distance from the target: GLiR.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means, of n rows each.
    target : array_like, shape (d,)
        The row whose membership is in question.
    mean : array_like, shape (d,)
        Mean of the law of the rows.
    cov : array_like or estimator
        Covariance of that law, in the forms of :func:`covariance_score`.
    n : int
        Rows of the release, the target included; at least 2.

    Returns
    -------
    float or ndarray, shape (T,)
        ``-log F(n |release - target|^2)``, distances in units of cov; F is the non-central
        chi-square cdf with d degrees of freedom (the rank of cov) and non-centrality n Q, Q the
        squared Mahalanobis distance of the target: larger means more likely in.

    Raises
    ------
    ValueError
        As :func:`covariance_score`.

    See Also
    --------
    covariance_score : the limit for large n, at a lower cost.

    Notes
    -----
    Leemann et al. (2023), "Gaussian membership inference privacy".  If the rows are Gaussian,
    ``exp(-score)`` is exactly uniform out: scores of different targets are comparable.  For one
    target the score ranks releases as the exact Gaussian likelihood ratio does.  [AB25] Appendix
    D.3 prints the inverse of F for F, the distance for its square and n - 1 for n; none of these
    forms is uniform out.

    **Accuracy.**  log F has an absolute error below 3e-13, plus the effect of the rounding of the
    distance, in tails of any depth, including those where SciPy's ``logcdf`` is -inf.

    **Cost.**  About 5 us a release, plus the distance; 0.1 ms a call.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import glir_score
    >>> np.round(glir_score([[0.0, 0.0], [0.3, 0.1]], [3.0, 1.0], [0.0, 0.0], 1.0, 10), 3)
    array([0.734, 1.923])
    """
    require_same_columns(mean=mean, target=target, cov=cov, releases=releases)
    mean = as_mean(mean)
    require_genotype_moments(target, mean, cov)
    target = as_target(target, columns=mean.size)
    n = as_count(n, "n", least=2)
    by = whitening(cov, mean)
    centrality = n * float(squared_distances(target, mean, by, "target"))

    def score(piece: Piece) -> FloatArray:
        distance = n * by_rows(piece, by, lambda rows: by.squared(rows - target))
        if not all_finite(distance):
            distance[~np.isfinite(distance)] = np.nan
        if by.rank == 0:  # no row varies: F is the law that is always 0, and F(0) = 1
            return 0.0 * distance
        return -log_tails(distance, float(by.rank), centrality)[0]

    checked = in_unit_of(mean, score, n=n, deviations=lambda: standard_deviations(cov, mean.size))
    return map_releases(releases, mean.size, checked)


def mixture_score(score: Any, rate: float) -> float | FloatArray:
    """Log likelihood ratio if the target is in the sample with probability `rate` only.

    Parameters
    ----------
    score : array_like
        Log likelihood ratios of a release that contains the target against one that does not;
        infinite ones are allowed.
    rate : float
        Probability that the target is in the sample, in [0, 1].

    Returns
    -------
    float or ndarray
        ``log(1 - rate + rate e^score)``, in the shape of `score`.

    Raises
    ------
    ValueError
        If rate is outside [0, 1], or a score is NaN.

    Notes
    -----
    The result is an increasing function of the score and ranks releases as the score does.  For
    releases that are sub-sampled independently, the results *add*; the scores do not.

    **Accuracy.**  Relative error of several eps times the conditioning of the formula, without
    overflow; a rate of 1 returns the score.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import mixture_score
    >>> np.round(mixture_score([-np.inf, -1.0, 0.0, 1.0], 0.1), 4)
    array([-0.1054, -0.0653,  0.    ,  0.1586])
    >>> f"{mixture_score(1000.0, 0.1):.4f}"
    '997.6974'
    """
    rate = as_float(rate, "rate")
    if not 0.0 <= rate <= 1.0:
        invalid("rate", "be between 0 and 1", value=rate)
    scores = as_floats(score, "score")
    require(~np.isnan(scores), scores, "score", "not be NaN")
    if rate == 0.0 or rate == 1.0:
        return np.asarray(scores * 1.0 if rate else np.zeros(scores.shape))[()]
    shift = rate * np.expm1(np.minimum(scores, _LARGE))
    near = (shift >= -0.5) & (scores <= _LARGE)
    far = np.logaddexp(np.log1p(-rate), np.log(rate) + scores)
    return np.asarray(np.where(near, np.log1p(np.where(near, shift, 0.0)), far))[()]
