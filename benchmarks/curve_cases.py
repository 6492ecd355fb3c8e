"""Rows of the benchmark for trade-off curves and released means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from scipy import linalg, stats
from speed_case import EPS, SpeedCase

from mialeak import discrete, means, tradeoff
from mialeak.reference import mean as twins

__all__ = ["CURVE_CASES"]

MU, RATE = 1.5, 0.1
#: Rows, columns and score of the released mean whose exact curve is timed.
ROWS, COLUMNS, SCORE = 1000, 5000, 5.0


def rates(size: int) -> tuple[np.ndarray]:
    """False-positive rates, uniform in (0, 1)."""
    return (np.random.default_rng(5).random(size),)


def worst(got: Any, truth: Any) -> float:
    """Largest relative error in eps."""
    got, truth = np.asarray(got, float), np.asarray(truth, float)
    return float(np.max(np.abs(got / truth - 1.0)) / EPS)


# --- Gaussian and sub-sampled curves -----------------------------------------------------------


def gaussian_truth(fpr: float) -> Any:
    """Power by 40-digit arithmetic: the root of the normal tail, then the tail."""
    with mpmath.workdps(40):
        start = mpmath.mpf(float(stats.norm.ppf(fpr)))
        x = mpmath.findroot(lambda t: mpmath.ncdf(t) - mpmath.mpf(fpr), start)
        return mpmath.ncdf(x + MU)


def gaussian_error(function: Callable[..., Any], points: int) -> float:
    (fpr,) = rates(min(points, 100))
    return worst(function(fpr), [float(gaussian_truth(value)) for value in fpr.tolist()])


def subsampled_error(function: Callable[..., Any], points: int) -> float:
    (fpr,) = rates(min(points, 100))
    truth = [float(RATE * gaussian_truth(u) + (1 - RATE) * u) for u in fpr.tolist()]
    return worst(function(fpr), truth)


def scipy_gaussian(fpr: np.ndarray) -> np.ndarray:
    return stats.norm.cdf(stats.norm.ppf(fpr) + MU)


def scipy_subsampled(fpr: np.ndarray) -> np.ndarray:
    return RATE * scipy_gaussian(fpr) + (1 - RATE) * fpr


# --- the exact curve of a Gaussian mean --------------------------------------------------------


def exact_power(fpr: np.ndarray) -> Any:
    return means.GaussianMeanTradeOff(SCORE, n=ROWS, columns=COLUMNS).power(fpr)


def scipy_exact_power(fpr: np.ndarray) -> Any:
    return twins.gaussian_mean_power(fpr, SCORE, ROWS, COLUMNS)


def exact_error(function: Callable[..., Any], points: int) -> float:
    """Against SciPy's non-central chi-square, good to some 1e-11 in the body."""
    (fpr,) = rates(min(points, 100))
    return worst(function(fpr), scipy_exact_power(fpr))


# --- scores of many targets --------------------------------------------------------------------


def full_targets(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets of 1000 columns, `size` numbers in all, and a full covariance."""
    rng = np.random.default_rng(6)
    root = rng.standard_normal((1000, 1000)) / 30 + np.eye(1000)
    return rng.standard_normal((size // 1000, 1000)), np.zeros(1000), root @ root.T + np.eye(1000)


def diagonal_targets(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets of 1000 columns, `size` numbers in all, and variances."""
    rng = np.random.default_rng(7)
    return rng.standard_normal((size // 1000, 1000)), np.zeros(1000), 1.0 + rng.random(1000)


def score(targets: np.ndarray, centre: np.ndarray, cov: np.ndarray) -> Any:
    return means.leakage_score(targets, centre, cov, ROWS)


def twin_score(targets: np.ndarray, centre: np.ndarray, cov: np.ndarray) -> np.ndarray:
    deviation = targets - centre
    if cov.ndim == 1:
        return (deviation**2 / cov).sum(axis=1) / ROWS
    return np.einsum("ij,ji->i", deviation, np.linalg.solve(cov, deviation.T)) / ROWS


def score_error(function: Callable[..., Any], points: int) -> float:
    arguments = full_targets(20_000)
    return worst(function(*arguments), twin_score(*arguments))


def triangular_solve(targets: np.ndarray, centre: np.ndarray, cov: np.ndarray) -> Any:
    """What a score cannot do without; the factor costs little beside many targets."""
    factor = linalg.cholesky(cov, lower=True)
    return linalg.solve_triangular(factor, targets.T, lower=True, check_finite=False)


def copied(targets: np.ndarray, centre: np.ndarray, cov: np.ndarray) -> np.ndarray:
    return targets.copy()


# --- the curve of discrete data ----------------------------------------------------------------


def discrete_law(size: int) -> tuple[np.ndarray]:
    return (np.random.default_rng(8).dirichlet(np.ones(size)),)


def discrete_advantage(p: np.ndarray) -> float:
    return discrete.discrete_tradeoff(p, 10 * p.size).advantage


def scipy_advantage(p: np.ndarray) -> float:
    """The largest power - fpr over 1000 thresholds, one of them 1, where it is."""
    n, best = 10 * p.size, 0.0
    for threshold in np.linspace(0.002, 2.0, 1000):
        cut = threshold * n * p
        fpr = p @ stats.binom.sf(np.floor(cut), n, p)
        power = p @ stats.binom.sf(np.floor(cut) - 1, n - 1, p)
        best = max(best, float(power - fpr))
    return best


def advantage_error(function: Callable[..., Any], points: int) -> float:
    (p,) = discrete_law(1000)
    return worst(function(p), discrete.max_leakage(p, 10 * p.size))


CURVE_CASES = (
    SpeedCase(
        name="`discrete_tradeoff`, K = 10^4, n = 10^5",
        size=10_000,
        quick_size=100,
        setup=discrete_law,
        ours=discrete_advantage,
        rivals={"SciPy, 1000 thresholds": scipy_advantage},
        error=advantage_error,
        bound=1e-12 / EPS,
        unit="call",
    ),
    SpeedCase(
        name="`GaussianTradeOff.power`",
        size=1_000_000,
        quick_size=1000,
        setup=rates,
        ours=tradeoff.GaussianTradeOff(MU).power,
        rivals={"SciPy": scipy_gaussian},
        error=gaussian_error,
        bound=7e-14 / EPS,
    ),
    SpeedCase(
        name="`SubsampledTradeOff.power`",
        size=1_000_000,
        quick_size=1000,
        setup=rates,
        ours=tradeoff.SubsampledTradeOff(tradeoff.GaussianTradeOff(MU), RATE).power,
        rivals={"SciPy": scipy_subsampled},
        error=subsampled_error,
        bound=7e-14 / EPS,
    ),
    SpeedCase(
        name="`GaussianMeanTradeOff.power`, d = 5000, n = 1000 (error against SciPy)",
        size=1000,
        quick_size=20,
        setup=rates,
        ours=exact_power,
        rivals={"SciPy": scipy_exact_power},
        error=exact_error,
        bound=1e-9 / EPS,
    ),
    SpeedCase(
        name="`leakage_score`, 10^5 targets, d = 1000, full",
        size=100_000_000,
        quick_size=20_000,
        setup=full_targets,
        ours=score,
        rivals={"NumPy twin": twin_score},
        error=score_error,
        bound=1e-11 / EPS,
        floor=triangular_solve,
        floor_name="triangular solve",
        rival_size=20_000_000,
    ),
    SpeedCase(
        name="`leakage_score`, 10^5 targets, d = 1000, diagonal",
        size=100_000_000,
        quick_size=20_000,
        setup=diagonal_targets,
        ours=score,
        rivals={"NumPy twin": twin_score},
        error=score_error,
        bound=1e-11 / EPS,
        floor=copied,
        floor_name="copy",
        rival_size=20_000_000,
    ),
)
