"""The exact trade-off curve of the mean of n Gaussian rows, at any n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray, as_count, as_floats, as_frozen, invalid, require
from mialeak._checks.means.moments import require_genotype_moments
from mialeak._labels import require_same_columns
from mialeak._numerics.distances import as_mean, as_points, squared_distances
from mialeak._numerics.noncentral import deviance_share, log_call, log_put, log_tails, quantile
from mialeak._numerics.normal_options import call_strike
from mialeak._numerics.roots import least_epsilon_near
from mialeak._numerics.whitening import whitening
from mialeak._results import Kind
from mialeak.means._tradeoff import refuse_covariance_of_rows
from mialeak.tradeoff import TradeOff

__all__ = ["GaussianMeanTradeOff", "gaussian_mean_tradeoff"]

BoolArray = npt.NDArray[np.bool_]

#: Largest non-centrality and epsilon that count as finite: their products stay in the range.
_MOST = 1e100
#: Logarithms: two tails are subtracted as they are where the smaller is less than half of the
#: other, and where both underflow.
_FAR_APART, _UNDERFLOW = np.log(0.5), -750.0
#: From here on the rounding of epsilon drowns the log of the smaller tail.  That tail matters for
#: scores of this size only, and is then below 1e-6 of the other.
_RESOLVED = 1e12
#: Spacing and range of the normal scores over which `auc` is summed.
_AUC_STEP, _AUC_RANGE = 0.125, 9.0


@dataclass(frozen=True, repr=False, eq=False)
class GaussianMeanTradeOff(TradeOff):
    """The trade-off of the mean of n Gaussian rows in d columns, exact at every n.

    Parameters
    ----------
    score : array_like
        Leakage score of the target, ``(z - mean)^T C^-1 (z - mean) / n``, at least 0.
    n : int
        Rows of the mean, the target included; at least 2.
    columns : int
        d, the rank of the covariance; at least 1.

    Attributes
    ----------
    kind : str
        "exact".

    Raises
    ------
    ValueError
        If a score is negative or NaN, or a count out of range.

    See Also
    --------
    gaussian_mean_tradeoff : from a target, a mean and a covariance.

    Notes
    -----
    With ``Q = n score`` and X the squared distance of the released mean from the target, times n,
    in units of C, the log likelihood ratio is ``l = (d/2) log(n/(n-1)) + Q/2 - X / (2 (n-1))``, and
    X is non-central chi-square with d degrees of freedom: of non-centrality ``n Q`` in the world
    *out*, and (n - 1)/n times one of ``(n - 1) Q`` in the world *in*.  That the variance of the
    mean is ``C/n`` out and ``(n-1) C/n^2`` in is what [AB25] Remark C.7 has wrong.

    The limit for large n is the sqrt(score)-Gaussian curve; the first correction replaces the
    score by ``score + d / (2 n^2)``, so that even a target at the mean leaks when d is of the size
    of n^2.  The likelihood ratio is bounded by ``(n/(n-1))^(d/2) e^(Q/2)``: in direction "in",
    delta is 0 from a finite epsilon on.

    **Method.**  Tails, quantiles and both deltas are contour integrals through the saddle point;
    delta is one integral where it would be a small difference of two.  `auc` is the trapezoid rule
    for ``int power(Phi(z)) phi(z) dz`` with step 1/8.

    **Accuracy.**  Against ball arithmetic and 50-digit quadrature: power, fnr and delta relative
    1e-12 down to 1e-300 (1e-14 in the body); auc 1e-14.

    **Cost.**  5 to 10 us a point of `power` or `delta`, 3 ms for one `epsilon` and 0.2 ms for each
    of several.

    Examples
    --------
    >>> from mialeak import GaussianTradeOff
    >>> from mialeak.means import GaussianMeanTradeOff
    >>> curve = GaussianMeanTradeOff(5.0, n=1000, columns=5000)
    >>> f"{curve.advantage:.6f} {GaussianTradeOff(5.0 ** 0.5).advantage:.6f}"
    '0.736686 0.736448'
    >>> f"{GaussianMeanTradeOff(0.0, n=1000, columns=10**6).advantage:.4f}"
    '0.2765'
    """

    score: Any
    n: int = field(kw_only=True)
    columns: int = field(kw_only=True)
    kind: Kind = field(default="exact", init=False)

    def __post_init__(self) -> None:
        score = as_floats(self.score, "score", finite=True)
        require(score >= 0.0, score, "score", "be at least 0")
        object.__setattr__(self, "score", as_frozen(score))
        object.__setattr__(self, "n", as_count(self.n, "n", least=2))
        object.__setattr__(self, "columns", as_count(self.columns, "columns", least=1))

    @property
    def auc(self) -> float | FloatArray:
        """Area under the curve of power against fpr."""
        z = np.arange(-_AUC_RANGE, _AUC_RANGE + _AUC_STEP, _AUC_STEP)
        weight = _AUC_STEP / np.sqrt(2.0 * np.pi) * np.exp(-0.5 * z * z)
        score = np.asarray(self.score)[..., None]
        log_fnr = _at_fpr(special.log_ndtr(-np.abs(z)), z > 0.0, score, self.n, self.columns)[1]
        result: float | FloatArray = np.asarray(1.0 - np.exp(log_fnr) @ weight)[()]
        return result

    def _power(self, fpr: FloatArray) -> FloatArray:
        return np.exp(self._log_in(fpr)[0])

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return np.exp(self._log_in(fpr)[1])

    def _log_in(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _at_fpr(*_log_side(fpr), np.asarray(self.score), self.n, self.columns)

    def _fpr(self, power: FloatArray) -> FloatArray:
        law = _Law(np.asarray(self.score), self.n, self.columns)
        log_p, upper = _log_side(power)
        x, gap = quantile(log_p, law.columns, law.nc_in, upper=upper)
        n = float(self.n)
        above = law.columns + (2.0 * n - 1.0) * law.distance
        x_out, gap_out = x * ((n - 1.0) / n), ((n - 1.0) * gap - above) / n
        log_fpr = log_tails(x_out, law.columns, law.nc_out, gap_out)[0]
        return np.exp(np.where(x > 0.0, log_fpr, log_p - law.most))

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self._delta_near(epsilon, np.zeros(()), direction)

    def _delta_near(self, epsilon: FloatArray, low: FloatArray, direction: str) -> FloatArray:
        score, epsilon, low = np.broadcast_arrays(np.asarray(self.score), epsilon, low)
        finite = epsilon < _MOST
        result = np.zeros(finite.shape)
        law = _Law(score[finite], self.n, self.columns)
        delta = law.delta_in if direction == "in" else law.delta_out
        result[finite] = delta(epsilon[finite], low[finite])[0]
        vast = self._is_vast(score)
        result[vast] = epsilon[vast] < self._middle(score[vast], direction)
        return result

    def _is_vast(self, score: FloatArray) -> BoolArray:
        """Scores at which the log likelihood ratio is its mean, to all digits."""
        return np.asarray(score > _MOST / float(self.n) ** 2)

    def _middle(self, score: FloatArray, direction: str) -> FloatArray:
        """The size of the mean log likelihood ratio of a large score, in the world `direction`."""
        return 0.5 * score if direction == "in" else 0.5 * score * (self.n / (self.n - 1.0))

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        score, delta = np.broadcast_arrays(np.asarray(self.score), delta)
        with np.errstate(over="ignore"):
            law = _Law(score, self.n, self.columns)
            most = np.where(self._is_vast(score), 0.5 * self.n * score, law.most)
        result = np.where(delta > 0.0, np.nan, most if direction == "in" else np.inf)
        vast = np.isnan(result) & self._is_vast(score)
        result[vast] = np.where(delta[vast] < 1.0, self._middle(score[vast], direction), 0.0)
        positive = np.isnan(result)
        score, wanted = score[positive], delta[positive]

        def function(epsilon: FloatArray, places: Any) -> tuple[FloatArray, FloatArray]:
            law = _Law(score[places], self.n, self.columns)
            deltas = law.delta_in if direction == "in" else law.delta_out
            return deltas(epsilon, np.zeros(epsilon.shape))

        # Near the Gaussian curve with the variance of the log likelihood ratio
        start = call_strike(wanted, np.sqrt(score + 0.5 * self.columns / self.n**2))
        epsilon = least_epsilon_near(function, np.minimum(start, _MOST), wanted)
        failed = np.isnan(epsilon)
        if failed.any():
            curve = GaussianMeanTradeOff(score[failed], n=self.n, columns=self.columns)
            epsilon[failed] = TradeOff._epsilon(curve, wanted[failed], direction)
        result[positive] = epsilon
        return result


class _Law:
    """The law of X, n times the squared distance from the target, in both worlds."""

    def __init__(self, score: FloatArray, n: int, columns: int):
        self.n, self.columns = float(n), float(columns)
        self.width = 1.0 / (self.n - 1.0)
        # With more, every false-positive rate above 1e-300 has power 1 all the same.
        self.distance = self.n * np.minimum(score, _MOST / self.n**2)
        self.nc_out, self.nc_in = self.n * self.distance, (self.n - 1.0) * self.distance
        self.most = 0.5 * (self.columns * np.log1p(self.width) + self.distance)  # largest l

    def tails_in(self, x: FloatArray, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log of P(X <= x | in) and of its complement; `gap` is x less its mean out."""
        gap_in = (self.n * gap + self.columns + (2.0 * self.n - 1.0) * self.distance) * self.width
        x_in = x * (self.n * self.width)
        return log_tails(x_in, self.columns, self.nc_in, np.asarray(gap_in))

    def place(self, epsilon: FloatArray, low: FloatArray) -> tuple[FloatArray, FloatArray]:
        """X where the log likelihood ratio is ``epsilon + low``, and its gap."""
        slope = 2.0 * (self.n - 1.0)
        middle = -self.columns * self.width * deviance_share(self.width, 1.0 + self.width)
        gap = (middle - self.distance - slope * epsilon) - slope * low
        return np.asarray(slope * ((self.most - epsilon) - low)), np.asarray(gap)

    def delta_in(self, epsilon: FloatArray, low: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``P(l > epsilon | in) - e^epsilon P(l > epsilon | out)``, log of the second term."""
        x, gap = self.place(epsilon, low)
        minuend = self.tails_in(x, gap)[0]
        subtrahend = epsilon + low + log_tails(x, self.columns, self.nc_out, gap)[0]

        def close(k: Any) -> FloatArray:
            law = x[k], self.columns, self.nc_out[k], self.width, gap[k]
            return np.asarray(epsilon[k] + low[k] + log_call(*law))

        subtrahend = np.where(epsilon < _RESOLVED, subtrahend, -np.inf)
        return _difference(minuend, subtrahend, close), subtrahend

    def delta_out(self, epsilon: FloatArray, low: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``P(l < -epsilon | out) - e^epsilon P(l < -epsilon | in)``, log of the second term."""
        x, gap = self.place(-epsilon, -low)
        minuend = log_tails(x, self.columns, self.nc_out, gap)[1]
        subtrahend = epsilon + low + self.tails_in(x, gap)[1]

        def close(k: Any) -> FloatArray:
            return log_put(x[k], self.columns, self.nc_out[k], self.width, gap[k])

        subtrahend = np.where(epsilon < _RESOLVED, subtrahend, -np.inf)
        return _difference(minuend, subtrahend, close), subtrahend


def _difference(
    minuend: FloatArray, subtrahend: FloatArray, close: Callable[[Any], FloatArray]
) -> FloatArray:
    """``e^minuend - e^subtrahend``, by `close` where it would be a small difference."""
    known = minuend > -np.inf
    share = np.where(known, subtrahend, -np.inf) - np.where(known, minuend, 0.0)
    result = np.exp(minuend) * -np.expm1(np.minimum(share, 0.0))
    near = np.flatnonzero((share > _FAR_APART) & (minuend > _UNDERFLOW))
    if near.size:
        result[near] = np.exp(close(near))
    return np.asarray(result)


def _log_side(p: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Log of the smaller of p and 1 - p, and whether that is the second."""
    upper = p > 0.5
    with np.errstate(divide="ignore"):
        return np.log(np.where(upper, 1.0 - p, p)), upper


def _at_fpr(
    log_p: FloatArray, upper: BoolArray, score: FloatArray, n: int, columns: int
) -> tuple[FloatArray, FloatArray]:
    """Log of power and fnr where log fpr (log(1 - fpr) if `upper`) is `log_p`."""
    law = _Law(score, n, columns)
    x, gap = quantile(log_p, law.columns, law.nc_out, upper=upper)
    log_power, log_fnr = law.tails_in(x, gap)
    # x is too small for a float64: the likelihood ratio is its largest value throughout.
    edge = np.minimum(log_p + law.most, 0.0)
    with np.errstate(divide="ignore"):
        log_fnr = np.where(x > 0.0, log_fnr, np.log(-np.expm1(edge)))
    return np.where(x > 0.0, log_power, edge), log_fnr


def gaussian_mean_tradeoff(target: Any, mean: Any, cov: Any, n: int) -> GaussianMeanTradeOff:
    """Trade-off curve of the best attack on the mean of n Gaussian rows, exact at every n.

    Parameters
    ----------
    target, mean, cov, n
        As for :func:`leakage_score`.

    Returns
    -------
    GaussianMeanTradeOff
        Its `columns` are the rank of the covariance.

    Raises
    ------
    ValueError
        As :func:`leakage_score`.

    See Also
    --------
    mean_tradeoff : rows of any law, in the limit of large n; noise, sub-sampling.

    Notes
    -----
    See :class:`GaussianMeanTradeOff`.  The mean of k of the n rows, drawn together, has the curve
    ``gaussian_mean_tradeoff(target, mean, cov, k).subsample(k / n)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import gaussian_mean_tradeoff
    >>> curve = gaussian_mean_tradeoff(np.ones(20), np.zeros(20), 1.0, n=10)
    >>> f"{curve.advantage:.4f} {curve.power(0.01):.4f}"
    '0.5432 0.1780'
    """
    require_same_columns(mean=mean, target=target, cov=cov)
    mean = as_mean(mean)
    n = as_count(n, "n", least=2)
    require_genotype_moments(target, mean, cov, n)
    points = as_points(target, mean, "target")
    by = whitening(cov, mean)
    refuse_covariance_of_rows(by, n, mean.size)
    score = np.asarray(squared_distances(points, mean, by, "target")) / n
    if by.rank == 0:
        invalid("cov", "vary in some direction; its rank is 0")
    return GaussianMeanTradeOff(score, n=n, columns=by.rank)
