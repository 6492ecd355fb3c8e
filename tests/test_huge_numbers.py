"""Infinite and huge numbers have an answer or an error in words, and no warning of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak import Release
from mialeak.auditing import audit, shadow_audit
from mialeak.estimators import least_squares_influence, mean_influence
from mialeak.guarantees import overfitting_security_bound
from mialeak.scores import covariance_score, edgeworth_score
from mialeak.tables import table_leakage
from mialeak.tradeoff import EmpiricalTradeOff

RNG = np.random.default_rng(5)
IN, OUT = RNG.normal(1.0, 1.0, 300), RNG.normal(size=300)
MEMBERS = (RNG.random((40, 30)) < 0.5) * 1
SCORES = RNG.normal(MEMBERS)
CODES = np.round(3.0 * RNG.normal(size=300))


def beside(values, *numbers):
    """`values` with the first of them replaced."""
    values = np.array(values, float)
    values.flat[: len(numbers)] = numbers
    return values


@pytest.mark.parametrize("largest", [1.7e308, np.inf])
def test_an_audit_depends_on_the_order_of_scores_alone(largest):
    ends = [-largest, largest]
    expected = audit(beside(IN, -90.0, 90.0), beside(OUT, 90.0, -90.0)).epsilon_lower
    assert audit(beside(IN, *ends), beside(OUT, *ends[::-1])).epsilon_lower == expected > 0.0
    expected = audit(np.full(50, 90.0), OUT[:50]).epsilon_lower
    assert audit(np.full(50, largest), OUT[:50]).epsilon_lower == expected > 0.0


@pytest.mark.parametrize("of_worlds", [audit, EmpiricalTradeOff, overfitting_security_bound])
def test_copies_with_infinite_scores_are_refused_in_words(of_worlds):
    """The differences of equal infinities are NaN, of which NumPy warned."""
    scores = beside(OUT, -np.inf, -np.inf, np.inf, np.inf)
    with pytest.raises(ValueError, match=r"be draws of their own; .* Pass the scores of each"):
        of_worlds(scores, scores)
    of_worlds(scores[:2], np.append(IN, scores[:2]))
    once = beside(OUT, -np.inf, np.inf)
    with pytest.raises(ValueError, match="they hold the 50 scores of the other world too"):
        of_worlds(once[:50], once)


def test_shadow_models_may_have_a_huge_score():
    expected = shadow_audit(beside(SCORES, 90.0, -90.0), MEMBERS)
    huge = shadow_audit(beside(SCORES, 1.7e308, -1.7e308), MEMBERS)
    assert huge.p_values.tolist() == expected.p_values.tolist()


@pytest.mark.parametrize("number", [1e308, -1e308])
def test_tables_have_huge_codes(number):
    table = {"a": beside(CODES, number), "b": RNG.integers(0, 3, 300)}
    assert table_leakage(table).cautions is not None
    release = Release(table)
    release.add_table(["a"])
    assert release.leakage().cautions is not None


@pytest.mark.parametrize("number", [1e308, -1e200])
@pytest.mark.parametrize("ends", [1, 2])
def test_estimates_of_huge_numbers_are_refused_in_words(number, ends):
    """As collinear, or for a theta of NaN, after warnings of NumPy."""
    x, y = RNG.normal(size=(60, 2)), RNG.normal(size=60)
    numbers = [number, -number][:ends]
    for name, estimate in (
        ("X", lambda: least_squares_influence(beside(x, *numbers), y)),
        ("y", lambda: least_squares_influence(x, beside(y, *numbers))),
    ):
        with pytest.raises(ValueError, match=rf"{name} must hold numbers of at most 1e\+150 in"):
            estimate()
    if abs(number) > 1e290:
        with pytest.raises(ValueError, match=r"X must hold numbers of at most 1e\+290 in"):
            mean_influence(beside(x, *numbers))


def test_moments_of_a_mean_are_huge():
    releases, target = RNG.normal(size=(5, 3)), np.ones(3)
    variances = np.array([1e308, 1.0, 1.0])
    huge = covariance_score(releases, target, np.zeros(3), np.diag(variances), 50)
    rest = covariance_score(releases[:, 1:], target[1:], np.zeros(2), np.eye(2), 50)
    np.testing.assert_allclose(huge, rest, rtol=1e-12)
    far = "target must be near enough to mean"
    with pytest.raises(ValueError, match=far):
        covariance_score(releases, target, np.zeros(3), np.diag([5e-324, 1.0, 1.0]), 50)
    with (
        pytest.raises(ValueError, match=far),
        pytest.warns(UserWarning, match="no usual value is as far"),
    ):
        covariance_score(releases, target, np.array([1e308, 0.0, 0.0]), np.eye(3), 50)
    cov = np.eye(3)
    cov[0, 1], cov[1, 0] = 1.7e308, -1.7e308
    with pytest.raises(ValueError, match="cov must be symmetric"):
        covariance_score(releases, target, np.zeros(3), cov, 50)
    with pytest.raises(ValueError, match="releases must be near enough to mean"):
        edgeworth_score(releases, target, np.zeros(3), target, [1e308, 0, 0], np.zeros(3), 50)
