"""Inverse problems of a released mean: noise and rows for a wanted leakage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, special

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_flag,
    as_float,
    invalid,
    require,
)
from mialeak._checks.means.moments import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import (
    as_mean,
    as_points,
    kernel_blocks,
    squared_distances,
)
from mialeak._numerics.rows_needed import excess, rows_bracket
from mialeak._numerics.whitening import (
    Full,
    Outside,
    constant_slack,
    variances_or_matrix,
    whitening,
)
from mialeak.means._gaussian import GaussianMeanTradeOff
from mialeak.means._tradeoff import refuse_covariance_of_rows

__all__ = ["noise_for_leakage", "samples_for_leakage"]

#: Newton steps at most; 3 to 6 are taken.
_STEPS = 100
#: Smaller leakage scores take noise or rows that are no numbers.
_LEAST_SCORE = 1e-100
#: Relative error of a score that the eigenvectors of a matrix may cause.  Where their backward
#: error allows for more, the score comes from a Cholesky factor instead.
_EIGENVECTORS = 1e-11
#: Relative error of the variance of the noise where it is found with Cholesky factors.
_VARIANCE = 1e-13
#: Up to so many rows the curve of Gaussian rows is used at every n; beyond, its first two orders.
#: There the advantages of the two differ by less than 0.1 %, or are below that.
_EXACT_ROWS = 1000
#: A covariance is that of rows of a table, if scores are so near theirs.
_ALIKE = 1e-9
#: Deviations from the mean whose squares are neither infinite nor rounded to 0.
_LEAST_DEVIATION, _MOST_DEVIATION = 1e-140, 1e150


def noise_for_leakage(
    target: Any, mean: Any, cov: Any, n: int, leakage: float, *, proportional: bool = False
) -> float | FloatArray:
    """Standard deviation of the noise with which a released mean leaks no more than wanted.

    Independent normal noise is added to each column of the released mean.

    Parameters
    ----------
    target, mean, cov, n
        As for :func:`leakage_score`.
    leakage : float
        The largest advantage allowed, above 0 and below 1.
    proportional : bool, optional
        False: every column gets noise of the same standard deviation, in the units of the columns
        (``release_noise_cov = std**2``).  True: the noise of each column is in proportion to the
        standard deviation of that column, and the answer is the factor
        (``release_noise_cov = std**2 * variances``).  Columns of different units (dollars, years,
        rates) need the second: one standard deviation for all of them depends on the units.

    Returns
    -------
    float or ndarray, shape (...)
        One for each target, 0 where none is needed; the largest of them protects them all.

    Raises
    ------
    ValueError
        As :func:`leakage_score`, except that targets outside the range of a singular covariance
        are welcome: noise is what they need.  With `proportional`, a target may not differ from
        the mean in a column that does not vary: noise in proportion to 0 does not protect it.

    Notes
    -----
    Solves ``(target - mean)^T (C + n R)^-1 (target - mean) / n = (2 Phi^-1((1 + a)/2))^2`` for
    the noise R, std^2 times the identity or the diagonal of C.  The reciprocal of the left side is
    concave in std^2, so that Newton's method from below converges without a step back.  With a
    matrix, Newton's method runs along its eigenvectors.  Their error is relative to the largest
    eigenvalue; where it could change a score by more than 1e-11 (columns of very different units,
    singular matrices, little noise), and wherever the answer is 0, the score is computed with the
    Cholesky factor of :func:`leakage_score`, and the equation solved with it.

    **Accuracy.**  1e-14 relative with variances, 1e-11 with a matrix of moderate condition.

    **Cost.**  40 ns an entry of the targets, and the eigenvectors of a matrix.  Where these do not
    suffice, about ten Cholesky factors for each target.

    Examples
    --------
    >>> from mialeak import mean_tradeoff, noise_for_leakage
    >>> z, mean, variances = [1.0, 1.0, 0.0], [0.1, 0.2, 0.6], [0.09, 0.16, 0.24]
    >>> std = noise_for_leakage(z, mean, variances, 50, leakage=0.1)
    >>> f"{std:.4f}"
    '0.0932'
    >>> curve = mean_tradeoff(z, mean, variances, 50, release_noise_cov=std**2)
    >>> f"{curve.advantage:.6f}"
    '0.100000'

    Turnover in dollars, and a rate: noise in standard deviations of each column.

    >>> import numpy as np
    >>> z, mean, variances = [7e9, 0.35], [5e9, 0.05], np.array([1e9, 0.01]) ** 2
    >>> share = noise_for_leakage(z, mean, variances, 100, leakage=0.1, proportional=True)
    >>> f"{share:.3f}"
    '1.192'
    >>> noise = share**2 * variances
    >>> f"{mean_tradeoff(z, mean, variances, 100, release_noise_cov=noise).advantage:.6f}"
    '0.100000'
    """
    require_same_columns(mean=mean, target=target, cov=cov)
    proportional = as_flag(proportional, "proportional")
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    require_genotype_moments(target, mean, cov, n)
    allowed = n * _as_score(leakage)
    points = as_points(target, mean, "target")
    require(np.isfinite(points), points, "target", "be finite")
    cov, slack = variances_or_matrix(cov, mean.size, "cov"), constant_slack(mean)
    variances = cov if cov.ndim == 1 else np.diagonal(cov)
    _require_squares(points, mean, variances, slack)
    unit = np.sqrt(variances) if proportional else None
    if unit is not None:
        _require_varying(points, mean, unit, slack)
    noise = _Noise.of(cov, slack, unit)
    flat = points.reshape(-1, mean.size)
    added = np.empty(flat.shape[0])
    for block in kernel_blocks(flat):
        added[block] = noise.needed(flat[block] - mean, allowed)
    return np.asarray(np.sqrt(added / n).reshape(points.shape[:-1]))[()]


def _as_score(leakage: float) -> float:
    """The leakage score of a curve with this advantage."""
    leakage = as_float(leakage, "leakage")
    if not 0.0 < leakage < 1.0:
        invalid("leakage", "be above 0 and below 1", value=leakage)
    score = float(8.0 * special.erfinv(leakage) ** 2)
    if score < _LEAST_SCORE:
        invalid("leakage", "be large enough for noise or rows to reach it", value=leakage)
    return score


def _require_squares(
    points: FloatArray, mean: FloatArray, variances: FloatArray, slack: FloatArray
) -> None:
    """Refuse a deviation whose square leaves the range of float64 where noise depends on it."""
    if not points.size:
        return
    most = max(-points.min(), points.max(), np.abs(mean).max())
    if 2.0 * most <= _MOST_DEVIATION and variances.min() > _LEAST_DEVIATION:
        return
    size = np.abs(points - mean)
    good = (size <= slack) | (size >= _LEAST_DEVIATION) | (variances > _LEAST_DEVIATION)
    good &= size <= _MOST_DEVIATION
    rule = f"be {_LEAST_DEVIATION:g} to {_MOST_DEVIATION:g} from mean, or equal to it"
    remedy = "Noise is in the unit of the columns: multiply them by a power of ten"
    require(good, points, "target", rule, remedy=remedy)


def _require_varying(
    points: FloatArray, mean: FloatArray, unit: FloatArray, slack: FloatArray
) -> None:
    """Refuse a target that noise in proportion to 0 would have to protect."""
    good = (unit > 0.0) | (np.abs(points - mean) <= slack)
    remedy = "Leave that column out, or pass proportional=False"
    rule = "differ from mean only in columns that vary, with proportional=True"
    require(good, points, "target", rule, remedy=remedy)


@dataclass(frozen=True)
class _Noise:
    """Variance of noise, the same in every column of `cov`, that a deviation takes.

    Attributes
    ----------
    cov : ndarray, shape (d,) or (d, d)
    slack : (d,) ndarray
        By how much a column that does not vary may be off.
    unit : (d,) ndarray or None
        What deviations are divided by; `cov` is divided already.
    variances, axes : ndarray
        Principal variances, and the axes unless these are the columns.
    """

    cov: FloatArray
    slack: FloatArray
    unit: FloatArray | None
    variances: FloatArray
    axes: FloatArray | None

    @classmethod
    def of(cls, cov: FloatArray, slack: FloatArray, unit: FloatArray | None) -> _Noise:
        """From a covariance in the units of the columns."""
        if cov.ndim == 2:
            Full(cov, slack, "cov")  # for its check of the sign
        if unit is not None:
            unit = np.where(unit > 0.0, unit, 1.0)
            slack = slack / unit
            cov = cov / unit**2 if cov.ndim == 1 else cov / unit / unit[:, None]
        if cov.ndim == 1:
            return cls(cov, slack, unit, cov, None)
        variances, axes = linalg.eigh(cov)
        return cls(cov, slack, unit, np.maximum(variances, 0.0), axes)

    def needed(self, deviations: FloatArray, allowed: float) -> FloatArray:
        """The least t >= 0 with ``v^T (cov + t I)^-1 v <= allowed`` for each row v."""
        if self.unit is not None:
            deviations /= self.unit
        fixed = np.diagonal(self.cov) == 0.0 if self.cov.ndim == 2 else self.cov == 0.0
        deviations[fixed & (np.abs(deviations) <= self.slack)] = 0.0
        if self.axes is None:
            return _added_variance(deviations**2, self.variances, allowed)
        added = _added_variance((deviations @ self.axes) ** 2, self.variances, allowed)
        d = self.variances.size
        error = d * np.finfo(np.float64).eps * self.variances[-1]
        for k in np.flatnonzero(error > _EIGENVECTORS * added):
            added[k] = self._by_factor(deviations[k], allowed, float(added[k]))
        return added

    def _by_factor(self, deviation: FloatArray, allowed: float, guess: float) -> float:
        """:meth:`needed` of one row, with a Cholesky factor for every t that is tried."""
        from scipy.optimize import brentq

        def excess(log_added: float) -> float:  # falls, with one root
            return 1.0 - allowed / self._squared(deviation, np.exp(log_added))

        if not deviation.any() or self._squared(deviation, 0.0) <= allowed:
            return 0.0
        # v_j^2/(C_jj + t) <= v^T (C + t I)^-1 v <= |v|^2/t
        least = float((deviation**2 / allowed - np.diagonal(self.cov)).max())
        most = 2.0 * float(deviation @ deviation) / allowed
        low, high = np.log(max(least, 1e-300)), np.log(most)
        for bound in np.log(np.maximum(guess, 1e-300) * np.array([1.0 - 1e-6, 1.0 + 1e-6])):
            if low < bound < high:
                low, high = (bound, high) if excess(bound) > 0.0 else (low, bound)
        if excess(low) <= 0.0:  # the root itself, rounded
            return float(np.exp(low))
        log_root = brentq(excess, low, high, xtol=_VARIANCE, rtol=_VARIANCE)
        root, step = float(np.exp(log_root)), _VARIANCE
        while self._squared(deviation, root) > allowed:  # rounded to the wrong side
            root, step = root * (1.0 + step), 2.0 * step
        return root

    def _squared(self, deviation: FloatArray, added: float) -> float:
        matrix = self.cov.copy()
        matrix[np.diag_indices_from(matrix)] += added
        try:
            return float(Full(matrix, self.slack, "cov").squared(deviation[None].copy())[0])
        except Outside:
            return np.inf


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
    target: Any, mean: Any, cov: Any, leakage: float
) -> int | npt.NDArray[np.int64]:
    """Smallest number of rows of which the released mean leaks no more than wanted.

    Parameters
    ----------
    target, mean, cov
        As for :func:`leakage_score`.
    leakage : float
        The largest advantage allowed, above 0 and below 1.

    Returns
    -------
    int or ndarray of int, shape (...)
        At least 2.  Up to 1,000 rows the first n at which
        ``gaussian_mean_tradeoff(target, mean, cov, n).advantage`` is no larger than `leakage`;
        beyond, the first n for the first two orders of that curve.

    Raises
    ------
    ValueError
        As :func:`leakage_score`, and if more than 2**53 rows are needed.

    Notes
    -----
    A row *in* takes the place of a random one, so that the mean varies a little less *in* than
    *out*, in each of the d dimensions in which rows vary.  An attacker uses both: to second order
    the score is ``m + d/(2 n^2)``, m the score of :func:`leakage_score`.  The second term decides
    where columns are more numerous than ``n^2``.  For rows of another law than the Gaussian the
    number of rows is asymptotic, as the curve of :func:`mean_tradeoff`.

    Beyond 1,000 rows, a target within about ``sqrt(d/n)`` standard deviations of the mean gets too
    many: up to 19 % in one column, 4 % in five and 1 % in 20.  There the second term, which is a
    difference of variances, decides, and is no shift of a normal law.

    **Cost.**  That of :func:`leakage_score`, and 10 curves of Gaussian rows below 1,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import gaussian_mean_tradeoff, samples_for_leakage
    >>> samples_for_leakage([1.0, 1.0, 0.0], [0.1, 0.2, 0.6], [0.09, 0.16, 0.24], 0.1)
    231
    >>> near, mean = np.full(1000, 0.01), np.zeros(1000)
    >>> rows = samples_for_leakage(near, mean, 1.0, leakage=0.1)
    >>> rows, f"{gaussian_mean_tradeoff(near, mean, 1.0, rows).advantage:.4f}"
    (91, '0.0992')
    """
    require_same_columns(mean=mean, target=target, cov=cov)
    mean = as_mean(mean)
    require_genotype_moments(target, mean, cov)
    score = _as_score(leakage)
    points = as_points(target, mean, "target")
    by = whitening(cov, mean)
    squared = np.asarray(squared_distances(points, mean, by, "target"))
    scores = squared.ravel()
    # Of the rows of a table by their own covariance, of rank N - 1, each has (N - 1)^2/N.
    if by.rank < mean.size:
        alike = np.abs(scores - by.rank**2 / (by.rank + 1.0)) < _ALIKE * by.rank
        if alike.any():
            refuse_covariance_of_rows(by, by.rank + 1, mean.size)

    def to_second_order(n: FloatArray, which: npt.NDArray[np.intp]) -> FloatArray:
        second = np.sqrt(scores[which] + by.rank / n / 2.0) / np.sqrt(n)
        return excess(special.erf(second / np.sqrt(8.0)), leakage)

    # squared/n + rank/(2 n^2) = score
    near = (scores + np.hypot(scores, np.sqrt(2.0 * by.rank * score))) / 2.0 / score
    least = rows_bracket(to_second_order, near, least=2)[1]
    require(np.isfinite(least.reshape(squared.shape)), squared, "target", "need at most 2**53 rows")
    if by.rank:
        small = least < _EXACT_ROWS
        least[small] = _of_gaussian_rows(scores[small], by.rank, leakage, least[small])
    counts: npt.NDArray[np.int64] = least.astype(np.int64).reshape(squared.shape)
    return counts if counts.ndim else int(counts)


def _of_gaussian_rows(
    squared: FloatArray, columns: int, leakage: float, near: FloatArray
) -> FloatArray:
    """The first n, up to `_EXACT_ROWS`, at which the means of Gaussian rows leak so little."""

    def function(n: FloatArray, which: npt.NDArray[np.intp]) -> FloatArray:
        values = np.empty(n.size)
        for rows in np.unique(n).tolist():
            these = n == rows
            curve = GaussianMeanTradeOff(squared[which[these]] / rows, n=int(rows), columns=columns)
            values[these] = excess(curve.advantage, leakage)
        return values

    return np.minimum(rows_bracket(function, near, least=2, most=_EXACT_ROWS)[1], _EXACT_ROWS)
