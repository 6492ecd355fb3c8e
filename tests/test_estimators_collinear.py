"""Ridge regressions of collinear columns leak what the same regressions without them leak."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mialeak.estimators import influence_of, least_squares_influence, logistic_influence

RNG = np.random.default_rng(26)


def drawn(n):
    x, z = RNG.normal(size=(2, n))
    y = x + z + RNG.normal(size=n)
    yes = (RNG.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(float)
    return x, z, {least_squares_influence: y, logistic_influence: yes}


def close(scores, exact):
    np.testing.assert_allclose(scores, exact, rtol=0.02, atol=1e-3 * exact.mean())


@pytest.mark.parametrize("fit", [least_squares_influence, logistic_influence])
@pytest.mark.parametrize("n", [60, 500, 5000])
@pytest.mark.parametrize("offset", [0.0, 2000.0])
def test_small_penalties_do_not_show_rounding(fit, n, offset):
    """Down to the least one that an error recommends: coefficients follow from two by a matrix."""
    x, z, responses = drawn(n)
    y, x = responses[fit], x + offset
    X = np.column_stack([x, z, 2.0 * x - 0.7 * z])
    exact = fit(X[:, :2], y).leakage_scores()
    with pytest.raises(ValueError, match="Take one of at least") as refused:
        fit(X, y, penalty=1e-18)
    least = float(re.search(r"at least (\S+),", str(refused.value))[1])
    for penalty in (1.01 * least, *(10.0**k * n for k in range(-11, -4) if 10.0**k * n > least)):
        close(fit(X, y, penalty=penalty).leakage_scores(), exact)


def test_all_levels_of_a_category_beside_the_intercept_are_taken():
    """As OneHotEncoder gives them; with the default penalty of Ridge, and with any other."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    n = 5000
    levels = np.eye(4)[RNG.integers(0, 4, n)]
    x, _, responses = drawn(n)
    y = responses[least_squares_influence] + levels @ [0.0, 1.0, -1.0, 2.0]
    X = np.column_stack([x, levels])
    exact = least_squares_influence(X[:, :4], y).leakage_scores()
    for penalty in (1e-6, 1e-4, 1e-2, 1.0):
        fitted = linear_model.Ridge(alpha=penalty).fit(X, y)
        for rows in (influence_of(fitted, X, y), least_squares_influence(X, y, penalty=penalty)):
            close(rows.leakage_scores(), exact)


def test_the_estimate_without_a_row_has_no_rounding_either():
    """Against refits without each row, with different penalties of collinear columns."""
    x, z, responses = drawn(40)
    y = responses[least_squares_influence]
    X = np.column_stack([x, z, x + z])
    penalty = np.array([1e-7, 3e-7, 2e-7])
    rows = least_squares_influence(X, y, penalty=penalty, fit_intercept=False)
    for row in range(40):
        kept = np.arange(40) != row
        stacked = np.vstack([X[kept], np.diag(penalty**0.5)]), np.append(y[kept], np.zeros(3))
        expected = np.linalg.lstsq(*stacked, rcond=None)[0]
        np.testing.assert_allclose(rows.without(row)[0], expected, rtol=1e-5, atol=1e-7)
