"""Rows of the benchmark for released estimates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from speed_case import EPS, SpeedCase

from mialeak import estimators
from mialeak.reference import estimators as twins

__all__ = ["ESTIMATOR_CASES"]

COLUMNS = 50


@cache
def logistic_regression(size: int) -> tuple[Any, ...]:
    """A fitted regression, its table of `size` rows, and the responses."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(9)
    X = rng.standard_normal((size, COLUMNS))
    y = 1.0 * (rng.random(size) < 1.0 / (1.0 + np.exp(-0.15 * X.sum(axis=1))))
    options = {"C": np.inf, "fit_intercept": False, "solver": "newton-cholesky", "tol": 1e-12}
    model = LogisticRegression(**options)
    return model.fit(X, y), X, y


def row_scores(fitted: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return estimators.influence_of(fitted, X, y).leakage_scores()


def twin_row_scores(fitted: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return twins.logistic_leakage_scores(X, y, fitted.coef_[0])


def score_error(function: Callable[..., Any], points: int) -> float:
    """Largest relative error in eps against the covariance of the others, row by row."""
    arguments = logistic_regression(max(points, 1000))
    return float(np.max(np.abs(function(*arguments) / twin_row_scores(*arguments) - 1.0)) / EPS)


ESTIMATOR_CASES = (
    SpeedCase(
        name="`influence_of(...).leakage_scores()`, logistic regression, 10^5 rows, 50 columns",
        size=100_000,
        quick_size=1000,
        setup=logistic_regression,
        ours=row_scores,
        rivals={"NumPy twin": twin_row_scores},
        error=score_error,
        bound=1e-10 / EPS,
        floor=lambda fitted, X, y: X.T @ X,
        floor_name="X.T @ X",
        rival_size=1000,
    ),
)
