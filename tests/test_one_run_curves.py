"""Canaries of one run against trade-off curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from mialeak import GaussianTradeOff
from mialeak.auditing import one_run_audit
from mialeak.auditing._one_run_curves import curve_p_value, gaussian_bound
from mialeak.tradeoff import PiecewiseTradeOff


def response(epsilon):
    """Power of randomised response, as lines (slope, constant), and as a curve."""
    wrong = 1.0 / (1.0 + np.exp(epsilon))
    lines = [(np.exp(epsilon), 0.0), (np.exp(-epsilon), 1.0 - np.exp(-epsilon))]
    return lines, PiecewiseTradeOff([wrong], [1.0 - wrong])


def largest_tail(lines, guesses, size, correct):
    """Linear program over laws of the number of right guesses, all constraints at once."""
    j = np.arange(guesses + 1.0)
    rows, sides = [], []
    for v in range(1, guesses + 1):
        power = np.where(j >= v, j, 0.0) / size
        fpr = np.where(j >= v - 1, guesses - j, 0.0) / size
        for slope, constant in lines:
            rows.append(power - slope * fpr)
            sides.append(constant)
    found = optimize.linprog(
        -(j >= correct).astype(float),
        A_ub=rows,
        b_ub=sides,
        A_eq=[np.ones_like(j)],
        b_eq=[1.0],
    )
    return -found.fun


@pytest.mark.parametrize(("size", "guesses"), [(6, 6), (9, 9), (12, 8)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_the_p_value_is_the_largest_probability_of_all_laws(size, guesses, epsilon):
    lines, curve = response(epsilon)
    for correct in range(guesses + 1):
        got = curve_p_value(curve, [((guesses, 0), 0.05)], [correct], size)
        want = largest_tail(lines, guesses, size, correct)
        # The curve is rounded to nodes, on the safe side.
        assert want - 1e-6 <= got
        if got < 0.999:
            assert got <= want * 1.005 + 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_randomised_response_keeps_to_its_own_curve(epsilon):
    """Guesses are the outputs: their number is binomial."""
    _, curve = response(epsilon)
    for correct in range(21):
        tail = stats.binom.sf(correct - 1, 20, 1.0 / (1.0 + np.exp(-epsilon)))
        assert curve_p_value(curve, [((10, 10), 0.05)], [correct], 20) >= tail - 1e-9


def test_mu_is_where_the_p_value_crosses_the_level():
    rng = np.random.default_rng(1)
    member = rng.random(600) < 0.5
    scores = rng.normal(2.0 * member)
    bound = one_run_audit(scores, member).mu_lower
    assert 0.5 < bound < 2.0
    for change, sign in ((-0.01, 1.0), (0.01, -1.0)):
        null = GaussianTradeOff(bound + change)
        p_value = one_run_audit(scores, member, null=null).p_value
        assert sign * (p_value - 0.05) < 0.0 or abs(p_value - 0.05) < 1e-3
    assert one_run_audit(scores, member, null=GaussianTradeOff(2.0)).p_value > 0.05


def test_mu_proves_more_of_gaussian_noise_than_an_epsilon_at_a_delta():
    rng = np.random.default_rng(2)
    member = rng.random(4000) < 0.5
    result = one_run_audit(rng.normal(2.0 * member), member, delta=1e-6)
    assert GaussianTradeOff(result.mu_lower).epsilon(1e-6) > result.epsilon_lower


def test_gaussian_canaries_are_seldom_bounded_above_their_mu():
    above = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        member = rng.random(200) < 0.5
        above += one_run_audit(rng.normal(0.5 * member), member, allow_reversed=True).mu_lower > 0.5
    assert above <= 3 + 4 * np.sqrt(3)


def test_nothing_is_proved_of_equal_scores_or_coins():
    member = np.random.default_rng(0).permutation(np.arange(40) % 2)
    assert one_run_audit(np.ones(40), member).mu_lower == 0.0
    assert one_run_audit(np.ones(40), member, null=GaussianTradeOff(0.1)).p_value == 1.0
    assert gaussian_bound([((20, 20), 0.05)], [20], 40) == 0.0


def test_curves_without_an_answer_are_refused():
    scores, member = np.arange(40.0), np.random.default_rng(0).permutation(np.arange(40) % 2)
    with pytest.raises(ValueError, match="null must be symmetric: the same with both worlds"):
        one_run_audit(scores, member, null=PiecewiseTradeOff([0.1], [0.8]))
    with pytest.raises(ValueError, match="null must be one curve, not of shape"):
        one_run_audit(scores, member, null=GaussianTradeOff([0.5, 1.0]))
    with pytest.raises(TypeError, match="null must be a TradeOff"):
        one_run_audit(scores, member, null=1.0)
