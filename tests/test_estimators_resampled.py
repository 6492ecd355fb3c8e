"""Estimates that are made again must be those of the influence functions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak.estimators import least_squares_influence

RNG = np.random.default_rng(5)
X = RNG.normal([3.0, 0.0], 1.0, (300, 2))
X[7] = 9.0, 3.0
Y = X @ [1.0, 2.0] + RNG.normal(size=300)
Y[7] += 3.0
ROWS = least_squares_influence(X, Y)


def fit(a, b, order=(0, 1, 2), penalty=0.0):
    design = np.column_stack([np.ones(len(a)), a])
    curvature = design.T @ design + penalty * np.diag([0.0, 1.0, 1.0])
    return np.linalg.solve(curvature, design.T @ b)[list(order)]


OTHERS = {
    "the intercept last": (lambda a, b: fit(a, b, (1, 2, 0)), X, Y),
    "responses of other rows": (fit, X, Y[::-1]),
    "another estimate": (lambda a, b: fit(a, b, penalty=50.0), X, Y),
    "another row": (fit, X[::-1], Y[::-1]),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_estimates_and_other_rows_have_a_warning(kind):
    """Their curves are far from that of the row, whose asymptotic advantage is 0.44."""
    expected = ROWS.tradeoff(7).advantage
    match = "the row is another one" if kind == "another row" else "is that of another estimate"
    with pytest.warns(UserWarning, match=match) as caught:
        curve = ROWS.resampled_tradeoff(7, *OTHERS[kind], rounds=300, rng=0)
    assert [each.filename for each in caught] == [__file__]
    assert abs(curve.advantage - expected) > 0.1


def test_the_estimate_itself_has_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in (0, 7):
            ROWS.resampled_tradeoff(row, fit, X, Y, rounds=5, rng=0)
