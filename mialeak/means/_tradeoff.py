"""Leakage scores and trade-off curves of a released mean, as published or as an attacker sees it.

Noise, sub-sampling, finite populations, mistaken attackers and references.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    invalid,
    unsupported,
)
from mialeak._checks.means.genotypes import sampled_rows
from mialeak._checks.means.moment_units import warn_of_influential_rows
from mialeak._checks.means.moments import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import (
    as_mean,
    as_points,
    inner_products,
    squared_distances,
)
from mialeak._numerics.whitening import Whitening, whitening
from mialeak.tradeoff import GaussianTradeOff, SubsampledTradeOff, TradeOff

__all__ = [
    "gaussian_release_tradeoff",
    "leakage_score",
    "mean_tradeoff",
    "refuse_covariance_of_rows",
    "score_by_moments",
    "unsampled_share",
]


def leakage_score(
    target: Any, mean: Any, cov: Any, n: int, *, release_noise_cov: Any = None
) -> float | FloatArray:
    """Leakage score of targets against the released mean of n rows.

    The square of the signal-to-noise ratio with which the release shows whether the target is
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
        and mean and cov are others, such as standard deviations, correlations or frequencies, or if
        it counts the other allele (by its likelihood, in 20 columns and more).

    Warns
    -----
    UserWarning
        If `mean` is that of the genotypes of exactly n/2 persons, as if n counted chromosomes; if
        columns add up as categories do, without their covariances; if targets are the n rows and
        large parts of their own covariance; if a target is 2 where mean and cov are those of bits.

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
    score = score_by_moments(target, mean, cov, n, release_noise_cov)
    warn_of_influential_rows(target, mean, cov, score, n)
    return score


def score_by_moments(
    target: Any, mean: FloatArray, cov: Any, n: int, release_noise_cov: Any = None
) -> float | FloatArray:
    """:func:`leakage_score` by moments that were computed, of people who need not be the rows."""
    points = as_points(target, mean, "target")
    by = whitening(cov, mean, noise=release_noise_cov, noise_factor=n)
    refuse_covariance_of_rows(by, n, mean.size)
    return squared_distances(points, mean, by, "target") / n


def mean_tradeoff(
    target: Any,
    mean: Any,
    cov: Any,
    n: int,
    *,
    release_noise_cov: Any = None,
    sampling_rate: float = 1.0,
    assumed_target: Any = None,
    n_reference: int | None = None,
    population_size: int | None = None,
    sampling: Literal["rows", "columnwise-as-published"] = "rows",
) -> TradeOff:
    """Trade-off curve of the best attack on a released mean, for large n.

    Parameters
    ----------
    target, mean, cov, n, release_noise_cov
        As for :func:`leakage_score`; many targets give many curves in one object.
    sampling_rate : float, optional
        The released mean is that of ``k = sampling_rate * n`` rows drawn together without
        replacement; k must be an integer, at least 2.
    assumed_target : array_like, shape (..., d), optional
        What the attacker takes the target to be; by default the attacker knows it.
    n_reference : int, optional
        The attacker has no mean, but that of this many fresh rows, drawn anew for each release.
        (References that stay the same cost next to nothing: they shift all scores alike, by about
        ``d / n_reference``, and a threshold set on scores of *out* undoes that.)
    population_size : int, optional
        N: the rows are drawn without replacement from so many people, of whom the attacker knows
        the mean and the covariance (divisor N - 2) of all others.  By default there is no end of
        them.
    sampling : {"rows", "columnwise-as-published"}, optional
        The second is the formula that [AB25] Theorem 4.2 and [AB24] Theorem 4.3 print.  It holds
        if every column draws its own rows, and claims advantages above the sampling rate; for
        reproduction only.

    Returns
    -------
    GaussianTradeOff or SubsampledTradeOff
        Of kind "asymptotic".

    Raises
    ------
    ValueError
        As :func:`leakage_score`, and if ``sampling_rate * n`` is not an integer of at least 2; the
        message names the nearest rates that are.  If `population_size` is not above n, or comes
        with `n_reference` or ``sampling="columnwise-as-published"``.

    See Also
    --------
    gaussian_mean_tradeoff : exact at finite n, for Gaussian data.

    Notes
    -----
    Without options the curve is sqrt(m)-Gaussian, m the leakage score ([AB25] Theorem 3.1).  In
    general, with ``v = z - mean``, ``a`` the assumed ``v``, ``r`` the sampling rate and
    ``f = k / N`` ::

        C' = C (1 - f + k/n0) + k R
        mu = |a^T C'^-1 v| / sqrt(k a^T C'^-1 a)
        power(fpr) = r Phi(Phi^-1(fpr) + mu) + (1 - r) fpr

    A mistaken attacker is granted the best threshold and side, which take the true target to be
    known ([AB25] Theorem 4.3, main text, which sets the threshold to 0: a mistaken attacker
    who guesses "in" where the score is positive may do worse than a coin).  The appendix has the
    score of the true target in place of that of the assumed one: for a target three times as far
    out as assumed it claims an advantage of 1.000 for 0.865.

    **When it holds.**  n large and ``d / n^2`` small, columns independent enough for a central
    limit, and each column with a density or on a lattice that the target is on too; rare
    categories (n p below 10 or so) leak more.  `gaussian_mean_tradeoff` shows the size of the
    finite-n effect.

    **Accuracy.**  That of the score and of the curve: 1e-13.  **Cost.**  That of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import mean_tradeoff
    >>> p = np.linspace(0.25, 0.75, 5000)
    >>> z = (p <= 0.5).astype(float)
    >>> f"{mean_tradeoff(z, p, p * (1 - p), n=1000).advantage:.4f}"
    '0.8634'
    >>> tenth = mean_tradeoff(z, p, p * (1 - p), n=1000, sampling_rate=0.1)
    >>> f"{tenth.advantage:.4f} {tenth.power(0.01):.4f}"
    '0.1000 0.1090'

    If the 1000 are drawn from 10,000 people without replacement:

    >>> f"{mean_tradeoff(z, p, p * (1 - p), n=1000, population_size=10_000).advantage:.4f}"
    '0.8834'
    """
    require_same_columns(
        mean=mean,
        target=target,
        cov=cov,
        release_noise_cov=release_noise_cov,
        assumed_target=assumed_target,
    )
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    require_genotype_moments(target, mean, cov, n)
    rows = sampled_rows(sampling_rate, n)
    as_choice(sampling, "sampling", ("rows", "columnwise-as-published"))
    if population_size is not None and (n_reference is not None or sampling != "rows"):
        case = "with n_reference" if sampling == "rows" else "with columns sampled one by one"
        why = "the formula is for an infinite population"
        unsupported("population_size", case, why, "Leave out one of the two")
    factor = unsampled_share(population_size, n, rows, "population_size")
    if n_reference is not None:
        factor += rows / as_count(n_reference, "n_reference", least=1)
    by = whitening(cov, mean, factor=factor, noise=release_noise_cov, noise_factor=rows)
    refuse_covariance_of_rows(by, n, mean.size)
    shift = _shift(target, assumed_target, mean, by) / math.sqrt(rows)
    warn_of_influential_rows(target, mean, cov, np.square(shift), n)
    if sampling != "rows":
        return GaussianTradeOff(rows / n * shift, kind="asymptotic")
    curve = GaussianTradeOff(shift, kind="asymptotic")
    return curve if rows == n else SubsampledTradeOff(curve, rows / n)


#: A covariance of this rank at least may be that of the rows of a table: others are of few columns.
_FEWEST_RANK = 10


def refuse_covariance_of_rows(by: Whitening, n: int, columns: int) -> None:
    """Refuse the covariance of the n rows themselves, by which each of them has the same score."""
    if _FEWEST_RANK <= by.rank == n - 1 < columns:
        rule = (
            f"be that of the population; its rank is n - 1 = {by.rank:,} for {columns:,} columns, "
            "as that of the n rows themselves, by which every row has the same score"
        )
        remedy = "Pass the variances of the columns, or the table itself to mean_leakage"
        invalid("cov", rule, remedy=remedy)


def unsampled_share(people: Any, n: int, rows: int, name: str) -> float:
    """``1 - rows / people``: by so much the variance of a mean is less without replacement.

    `n` rows are drawn from the `people`, and the mean taken over `rows` of them; 1 for None.
    """
    if people is None:
        return 1.0
    size = as_count(people, name, least=1)
    if size <= n:
        rule = f"be above the {n:,} rows that are drawn from these people"
        remedy = "A sample of everyone leaves nobody to be out of it"
        invalid(name, rule, value=size, remedy=remedy)
    return 1.0 - rows / size


def _shift(target: Any, assumed_target: Any, mean: FloatArray, by: Whitening) -> float | FloatArray:
    """Distance of the two worlds' scores, in standard deviations, times sqrt(n)."""
    points = as_points(target, mean, "target")
    true = squared_distances(points, mean, by, "target")
    if assumed_target is None:
        return np.sqrt(true)
    assumed = as_points(assumed_target, mean, "assumed_target")
    lengths = np.asarray(squared_distances(assumed, mean, by, "assumed_target"))
    common = inner_products(points, assumed, mean, by, ("target", "assumed_target"))
    # An attacker who takes the target for the mean has a constant score.
    shift: FloatArray = np.abs(common) / np.sqrt(np.where(lengths > 0.0, lengths, 1.0))
    return shift


def gaussian_release_tradeoff(shift: Any, release_cov: Any) -> GaussianTradeOff:
    """Trade-off curve of any release that is Gaussian with the same covariance in both worlds.

    Several releases, repeated, correlated or weighted, are one: stack their shifts and write the
    joint covariance.

    Parameters
    ----------
    shift : array_like, shape (..., d)
        Expected release *in* minus expected release *out*; for a mean, ``(target - mean)/n``.
    release_cov : array_like
        Covariance of the release: a number, (d,) or (d, d).

    Returns
    -------
    GaussianTradeOff
        With ``mu = sqrt(shift^T release_cov^-1 shift)``, of kind "exact".

    Raises
    ------
    ValueError
        As :func:`leakage_score`.

    Notes
    -----
    Independent releases compose: their mu^2 add.  The same release twice adds nothing, as
    the singular covariance of the two implies.

    **Accuracy** and **cost** as of :func:`leakage_score`.

    Examples
    --------
    Two means of the same 100 rows, each with noise of its own:

    >>> import numpy as np
    >>> from mialeak.means import gaussian_release_tradeoff
    >>> rows, noise = 1 / 100, 0.02
    >>> both = gaussian_release_tradeoff([0.05, 0.05], rows + noise * np.eye(2))
    >>> one = gaussian_release_tradeoff([0.05], rows + noise)
    >>> f"{both.mu ** 2:.3f} {one.mu ** 2:.3f}"
    '0.125 0.083'
    """
    require_same_columns(shift=shift, release_cov=release_cov)
    shift = as_floats(shift, "shift")
    if shift.ndim == 0 or not shift.shape[-1]:
        invalid("shift", f"have at least one column; its shape is {shift.shape}")
    zero = np.zeros(shift.shape[-1])
    by = whitening(release_cov, zero, names=("release_cov", ""))
    rule = "lie within the range of release_cov"
    return GaussianTradeOff(np.sqrt(squared_distances(shift, zero, by, "shift", rule)))
