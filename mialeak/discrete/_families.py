"""Probabilities of the countable laws of scipy.stats, with the error each may have.

SciPy takes most of them as exp of a sum of log-gammas, which cancels: ``poisson(1000).pmf`` is
wrong by up to 8e3 eps, ``yulesimon`` by 1e7 eps at k = 1e6 and ``geom(1e-6)``, which rounds 1 - p,
by 4e6 eps.  The families below have a form of their own that does not cancel.  Every other law
keeps SciPy's pmf, with a little more than the error seen, or, for a law not listed, with what its
log-gammas would lose.

A family is a function of the law's shape parameters that gives a :class:`Family`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray
from mialeak.special import binom_logpmf

__all__ = ["EPS", "FAMILIES", "Family", "Pmf", "exp_rounding", "log_gamma_ratio"]

EPS = 2.0**-52

#: The Stirling series below has a relative error under eps from here on.
_STIRLING_FROM = 16.0

#: A ratio of so many powers of 2 is a normal float64, whatever its mantissa.
_POWERS = 900

#: Relative error in eps of each term of a log probability; :func:`from_terms` adds 8 eps absolute.
_TERM_ROUNDING = 3.0

#: The deviance is a series in odd powers of v = (x - mean)/(x + mean) for v up to here, where the
#: last power is below eps; beyond, its terms cancel by no more than a factor 4.
_SERIES_TO = 0.3
_SERIES_ODD = 29

#: Integers (as float64) to their probabilities and the relative errors of those.
Pmf = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Family:
    """How to compute a law on the integers.

    Attributes
    ----------
    pmf : callable
        A :data:`Pmf`.
    beyond : callable, optional
        ``P(X > k)`` for k in the support.
    rounding : float
        Relative error of that.
    """

    pmf: Pmf
    beyond: Callable[[float], float] | None = None
    rounding: float = 0.0


def from_terms(*terms: FloatArray | float, lost: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """``exp(sum(terms))`` and its error, each term being right within `_TERM_ROUNDING`.

    `lost` is the size of the terms that cancel within these.
    """
    logs, sizes = np.zeros(()), np.full((), lost)
    for term in terms:
        logs = logs + term
        sizes = sizes + np.abs(term)
    with np.errstate(under="ignore"):
        p = np.exp(logs)
    return p, EPS * (8 + _TERM_ROUNDING * np.where(p > 0, sizes, 0.0))


def exp_rounding(p: FloatArray, eps: float) -> FloatArray:
    """What SciPy's exp of a logarithm that does not cancel may lose, and `eps` besides."""
    with np.errstate(divide="ignore"):
        return EPS * (eps + np.where(p > 0, np.abs(np.log(p)), 0.0))


def stirling_remainder(x: FloatArray) -> FloatArray:
    """Log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2, for x >= 16."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


def log_gamma_ratio(x: FloatArray, s: float) -> FloatArray:
    """Log of Gamma(x + s)/Gamma(x) for x > 0 and x + s > 0, without their cancellation.

    For x >= 1 the absolute error is at most 8 eps and 3 eps for each unit of the logarithm; below,
    3 eps more for each unit of the logarithm of x.
    """
    ratio, power = np.ones_like(x), np.zeros(x.shape, int)  # ratio * 2**power, which may underflow
    x = x.copy()
    steps = np.full(x.shape, float(s))
    whole = round(s) if s < _STIRLING_FROM else 0
    if whole > 0 and np.any(small := x < _STIRLING_FROM):
        # By the recurrence, s loses its whole part: the terms of the series are smaller then.
        for _ in range(whole):
            ratio[small] *= x[small]
            x[small] += 1.0
        steps = np.where(small, s - whole, s)
    while np.any(small := (x < _STIRLING_FROM) | (x + steps < _STIRLING_FROM)):
        (above, up), (below, down) = np.frexp(x[small]), np.frexp((x + steps)[small])
        ratio[small] *= above / below
        power[small] += up - down
        x[small] += 1
    big = (x + steps - 0.5) * np.log1p(steps / x) + steps * np.log(x) - steps
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(np.ldexp(ratio, power))
    logs = np.where(np.abs(power) < _POWERS, logs, np.log(ratio) + power * math.log(2.0))
    remainder = stirling_remainder(x + steps) - stirling_remainder(x)
    return np.asarray(big + remainder + logs, np.float64)


def deviance(x: FloatArray, mean: float) -> FloatArray:
    """X log(x/mean) - x + mean for x > 0, without its cancellation near the mean."""
    v = (x - mean) / (x + mean)
    near = np.abs(v) < _SERIES_TO
    w = np.where(near, v * v, 0.0)
    series = np.zeros_like(w)
    for odd in range(_SERIES_ODD, 1, -2):
        series = w * (1 / odd + series)
    with np.errstate(divide="ignore", over="ignore"):
        far = x * np.log(x / mean) - (x - mean)
    return np.where(near, (x - mean) * v + 2 * x * v * series, far)


def _xlog1py(x: FloatArray, y: float) -> FloatArray:
    """X log(1 + y), 0 for x = 0 even where y = -1."""
    return np.asarray(special.xlog1py(x, y), np.float64)


def _poisson(mu: float) -> Family:
    """Saddle point from 16 on, the definition below."""

    def pmf(k: FloatArray) -> tuple[FloatArray, FloatArray]:
        big = k >= _STIRLING_FROM
        x = np.where(big, k, _STIRLING_FROM)
        drop = deviance(x, mu) + stirling_remainder(x)
        with np.errstate(under="ignore"):
            saddle = np.exp(-drop) / np.sqrt(2 * np.pi * x)
            low = np.where(big, 0.0, k)
            small = np.exp(-mu) * np.power(mu, low) / special.factorial(low)
        p = np.where(big, saddle, small)
        return p, EPS * (8 + 4 * np.where(big & (p > 0), drop, 0.0))

    return Family(pmf)


def _geom(p: float) -> Family:
    return Family(
        lambda k: from_terms(math.log(p), _xlog1py(k - 1, -p)),
        lambda k: math.exp(float(special.xlog1py(k, -p))),
        200 * EPS,
    )


def _bernoulli(p: float) -> Family:
    return Family(lambda k: (np.where(k > 0, p, 1 - p), np.full(k.shape, EPS)))


def _binom(n: float, p: float) -> Family:
    return Family(lambda k: from_terms(binom_logpmf(k, n, p)))


def _choices(k: FloatArray, n: float) -> list[FloatArray]:
    """Terms of log(Gamma(n+k) / (k! Gamma(n))) by n: n - 1 rounds away digits of a small n."""
    at = np.maximum(k, 1.0)
    terms = log_gamma_ratio(at, n), -np.log(at), math.log(n), -math.lgamma(n + 1.0)
    return [np.where(k > 0, term, 0.0) for term in terms]


def _nbinom(n: float, p: float) -> Family:
    """n/(n+k) b(n; n+k, p) for a whole n, else a ratio of gamma functions."""

    def whole(k: FloatArray) -> tuple[FloatArray, FloatArray]:
        return from_terms(binom_logpmf(n, n + k, p), np.log1p(-k / (n + k)))

    def broken(k: FloatArray) -> tuple[FloatArray, FloatArray]:
        return from_terms(*_choices(k, n), _xlog1py(k, -p), n * math.log(p))

    return Family(whole if float(n).is_integer() else broken)


def _zipf(a: float) -> Family:
    total = float(special.zeta(a, 1))
    return Family(
        lambda k: (np.power(k, -a) / total, np.full(k.shape, 8 * EPS)),
        lambda k: float(special.zeta(a, k + 1)) / total,
        16 * EPS,
    )


def _yulesimon(alpha: float) -> Family:
    """P(X = k) = alpha B(k, alpha+1) and P(X > k) = k B(k, alpha+1), B the beta function."""
    constant = math.lgamma(alpha + 1)

    def beyond(k: float) -> float:
        ratio = log_gamma_ratio(np.array([k]), alpha + 1)
        return float(np.exp(constant - ratio)[0] * k) if k >= 1 else 1.0

    return Family(
        lambda k: from_terms(math.log(alpha), constant, -log_gamma_ratio(k, alpha + 1)),
        beyond,
        200 * EPS,
    )


def _betanbinom(n: float, a: float, b: float) -> Family:
    """C(n+k-1, k) B(a+n, b+k)/B(a, b), B the beta function."""
    first = log_gamma_ratio(np.array([a]), n)
    constant = first + log_gamma_ratio(np.array([b]), a)
    # At k = 0 two ratios suffice, which are near 1 for a small n.
    at_0 = log_gamma_ratio(np.array([a + b]), n)
    lost = max(-math.log(a), 0.0) + 2.0 * max(-math.log(b), 0.0)
    lost += 8.0 / _TERM_ROUNDING  # of a second ratio, where the logs of both are near 0

    def pmf(k: FloatArray) -> tuple[FloatArray, FloatArray]:
        others = np.where(k > 0, log_gamma_ratio(k + b, a + n), at_0)
        return from_terms(*_choices(k, n), -others, np.where(k > 0, constant, first), lost=lost)

    return Family(pmf)


def _dlaplace(a: float) -> Family:
    """tanh(a/2) exp(-a |k|)."""
    return Family(
        lambda k: from_terms(math.log(math.tanh(a / 2)), -a * np.abs(k)),
        lambda k: float(np.exp(-a * (k + 1)) / (1 + np.exp(-a))) if k >= 0 else 1.0,
        200 * EPS,
    )


def _skellam(mu1: float, mu2: float) -> Family:
    """SciPy's (Boost's), wrong by up to 45 eps; the tail above is the mirror image of a cdf."""
    from scipy.stats import skellam

    def pmf(k: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = skellam.pmf(k, mu1, mu2)
        return p, exp_rounding(p, 80.0)

    return Family(
        pmf,
        lambda k: float(skellam.cdf(-k - 1, mu2, mu1)),
        1e-6,
    )


#: By SciPy's name of the law.
FAMILIES: dict[str, Callable[..., Family]] = {
    "bernoulli": _bernoulli,
    "betanbinom": _betanbinom,
    "binom": _binom,
    "dlaplace": _dlaplace,
    "geom": _geom,
    "nbinom": _nbinom,
    "poisson": _poisson,
    "skellam": _skellam,
    "yulesimon": _yulesimon,
    "zipf": _zipf,
}
