"""The exact curve of a mean of Gaussian rows: quadrature, ball arithmetic, simulation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mean_truth import log_ratio_delta, normal_shift_power
from mpmath import mp
from scipy import stats

from mialeak._numerics import noncentral
from mialeak.means import GaussianMeanTradeOff, _gaussian, gaussian_mean_tradeoff, leakage_score
from mialeak.reference import mean as twins
from mialeak.tradeoff import GaussianTradeOff, TradeOff

CASES = [(0.0, 2, 1), (1.0, 2, 1), (5.0, 100, 500), (0.3, 10, 3), (40.0, 50, 20), (0.0, 30, 900)]


def densities(score, n):
    """Densities of sqrt(n) times the released mean, d = 1, in the two worlds."""
    n = mp.mpf(n)
    shift, spread = mp.sqrt(mp.mpf(score)), mp.sqrt((n - 1) / n)
    return (lambda y: mp.npdf(y)), (lambda y: mp.npdf(y, shift, spread))


@pytest.mark.parametrize(("score", "n"), [(0.0, 2), (1.0, 2), (0.3, 10), (6.0, 5), (1e-4, 1000)])
def test_one_column_agrees_with_quadrature_of_the_two_densities(score, n):
    curve = GaussianMeanTradeOff(score, n=n, columns=1)
    with mp.workdps(30):
        out, into = densities(score, n)
        for epsilon in (0.0, 0.25, 1.0):
            for direction, (a, b) in {"in": (into, out), "out": (out, into)}.items():
                grown = mp.exp(epsilon)

                def gain(y, a=a, b=b, grown=grown):
                    return max(a(y) - grown * b(y), mp.mpf(0))

                # The log ratio is a parabola: its roots are where the integrand has corners.
                corners = ratio_roots(score, n, epsilon if direction == "in" else -epsilon)
                ends = [-12, *(y for y in corners if -12 < y < 12), 12]
                truth = mp.quad(gain, ends, maxdegree=9)
                assert curve.delta(epsilon, direction=direction) == pytest.approx(
                    float(truth), rel=1e-12, abs=1e-25
                )


def ratio_roots(score, n, level):
    """Where the log ratio ``log(n/(n-1))/2 + m n/2 - n (y - c)^2/(2(n-1))`` is `level`."""
    n, score = mp.mpf(n), mp.mpf(score)
    centre = mp.sqrt(score) * n
    square = (mp.log(n / (n - 1)) / 2 + n * score / 2 - level) * 2 * (n - 1)
    if square <= 0:
        return []
    return [centre - mp.sqrt(square), centre + mp.sqrt(square)]


@pytest.mark.parametrize(("score", "n", "d"), CASES)
def test_power_and_its_inverse_are_right_down_to_1e_300(score, n, d):
    curve = GaussianMeanTradeOff(score, n=n, columns=d)
    mean, spread = d + n * n * score, np.sqrt(2 * d + 4 * n * n * score)
    for z in (-36.0, -8.0, -2.0, 0.0, 3.0):
        x = mean + z * spread if mean + z * spread > 0 else mean * 10.0 ** (5 * z)
        fpr, power = normal_shift_power(x, score, n, d)
        if float(fpr) > 1e-305:
            assert curve.power(float(fpr)) == pytest.approx(float(power), rel=1e-12)
            if float(power) < 0.9:
                assert curve.fpr(float(power)) == pytest.approx(float(fpr), rel=1e-11)
            else:
                assert curve.fnr(float(fpr)) == pytest.approx(float(1 - power), rel=1e-12)


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize(("score", "n", "d"), CASES)
def test_delta_is_right_where_the_two_tails_nearly_cancel(score, n, d, direction):
    curve = GaussianMeanTradeOff(score, n=n, columns=d)
    for epsilon in (0.0, 1e-3, 0.2, 2.0, 20.0, 150.0):
        truth = float(log_ratio_delta(epsilon, score, n, d, direction))
        if truth > 1e-300:
            got = curve.delta(epsilon, direction=direction)
            assert got == pytest.approx(truth, rel=2e-12), epsilon


@pytest.mark.parametrize("score", [1e-16, 1e-8])
def test_small_scores_keep_their_digits(score):
    """With n so large that the curve is Gaussian: sqrt(score)/sqrt(2 pi) to first order."""
    curve = GaussianMeanTradeOff(score, n=10**12, columns=3)
    assert curve.advantage == pytest.approx(GaussianTradeOff(score**0.5).advantage, rel=1e-8)


def test_published_values():
    assert f"{GaussianMeanTradeOff(5.0, n=1000, columns=5000).advantage:.4f}" == "0.7367"
    assert f"{GaussianMeanTradeOff(0.0, n=1000, columns=10**6).advantage:.4f}" == "0.2765"
    assert f"{GaussianMeanTradeOff(5.0, n=10, columns=50).advantage:.4f}" == "0.7608"


def test_first_correction_of_the_limit_is_d_over_2_n_squared():
    for score, n, d in [(0.5, 1000, 10**6), (5.0, 1000, 10**5), (0.0, 10**4, 10**8)]:
        exact = GaussianMeanTradeOff(score, n=n, columns=d).advantage
        better = GaussianTradeOff(np.sqrt(score + d / (2 * n**2))).advantage
        plain = GaussianTradeOff(np.sqrt(score)).advantage
        assert abs(exact - better) < 0.1 * abs(exact - plain)


@pytest.mark.parametrize(("score", "n"), [(0.0, 2), (1.0, 2), (4.0, 30), (1e-6, 100)])
def test_auc_is_the_integral_of_the_power(score, n):
    """One column: n |mean - target|^2 is the square of a normal, its laws are closed."""
    with mp.workdps(30):
        rows, m = mp.mpf(n), mp.mpf(score)
        root_out, root_in = rows * mp.sqrt(m), mp.sqrt((rows - 1) * rows * m)
        stretch = mp.sqrt(rows / (rows - 1))

        def weight(y):  # density of |N(root_out, 1)| at y
            return mp.npdf(y, root_out, 1) + mp.npdf(-y, root_out, 1)

        def below(y):  # P(|N(root_in, 1)| <= stretch y)
            return mp.ncdf(stretch * y - root_in) - mp.ncdf(-stretch * y - root_in)

        low = max(root_out - 12, mp.mpf(0))
        ends = mp.linspace(low, root_out + 12, 13)
        truth = float(mp.quad(lambda y: weight(y) * below(y), ends))
    assert GaussianMeanTradeOff(score, n=n, columns=1).auc == pytest.approx(truth, abs=2e-14)


def test_simulated_game_has_the_power_that_is_claimed():
    """Rows are drawn one by one; the attack is the likelihood ratio of two normal densities."""
    rng, n, d, rounds, fpr = np.random.default_rng(4), 4, 3, 40_000, 0.1
    target = np.array([1.0, -0.5, 2.0])
    rows = rng.normal(size=(2, rounds, n, d))
    rows[1, :, 0] = target
    means = rows.mean(axis=2)

    def log_ratio(y):
        into = stats.norm(target / n, np.sqrt(n - 1) / n).logpdf(y)
        return (into - stats.norm(0.0, 1 / np.sqrt(n)).logpdf(y)).sum(axis=-1)

    threshold = np.quantile(log_ratio(means[0]), 1 - fpr)
    power = (log_ratio(means[1]) > threshold).mean()
    curve = gaussian_mean_tradeoff(target, np.zeros(3), 1.0, n)
    claimed = curve.power(fpr)
    error = np.sqrt((claimed * (1 - claimed) + fpr * (1 - fpr)) / rounds)
    assert abs(power - claimed) < 4 * error
    guesses = (log_ratio(means) > 0).mean(axis=1)
    assert abs(guesses[1] - guesses[0] - curve.advantage) < 4 * np.sqrt(0.5 / rounds)


def test_twin_agrees_in_the_body():
    curve = GaussianMeanTradeOff(2.0, n=20, columns=6)
    fpr = np.array([0.01, 0.1, 0.5])
    power = twins.gaussian_mean_power(fpr, 2.0, 20, 6)
    np.testing.assert_allclose(curve.power(fpr), power, rtol=1e-8)
    delta = twins.gaussian_mean_delta([0.0, 1.0], 2.0, 20, 6)
    np.testing.assert_allclose(curve.delta([0.0, 1.0], direction="in"), delta, rtol=1e-8)


def test_rank_of_the_covariance_counts_the_columns():
    p = np.array([0.2, 0.3, 0.5])
    cov = np.diag(p) - np.outer(p, p)
    curve = gaussian_mean_tradeoff(np.eye(3), p, cov, 20)
    assert curve.columns == 2
    np.testing.assert_allclose(curve.score, leakage_score(np.eye(3), p, cov, 20))
    assert gaussian_mean_tradeoff([1.0, 4.0], [0.0, 4.0], [1.0, 0.0], 20).columns == 1


@given(
    score=st.floats(-8, 3).map(lambda x: 10.0**x) | st.just(0.0),
    n=st.integers(2, 10**6),
    columns=st.integers(1, 10**7),
    log_fpr=st.floats(-300, -1e-6),
    epsilon=st.floats(0.0, 50.0),
)
@settings(max_examples=60)
def test_power_and_deltas_belong_to_one_curve(score, n, columns, log_fpr, epsilon):
    """No attack beats delta, the best one is no worse than guessing, and inverses invert."""
    curve = GaussianMeanTradeOff(score, n=n, columns=columns)
    fpr = 10.0**log_fpr
    power, fnr = curve.power(fpr), curve.fnr(fpr)
    assert power >= fpr * (1 - 1e-11)
    assert power + fnr == pytest.approx(1.0, abs=1e-14)
    if power < 0.99:
        assert curve.fpr(power) == pytest.approx(fpr, rel=1e-9)
    grown = np.exp(epsilon)
    slack = 1e-12 * (power + grown * fpr)
    assert power - grown * fpr <= curve.delta(epsilon, direction="in") + slack
    slack = 1e-12 * (1 + grown * fnr)
    assert (1 - fpr) - grown * fnr <= curve.delta(epsilon, direction="out") + slack


def test_curves_broadcast_and_ends_are_met():
    curve = GaussianMeanTradeOff([[0.0], [2.0]], n=5, columns=2)
    assert curve.power([0.0, 0.3, 1.0]).shape == (2, 3)
    np.testing.assert_array_equal(curve.power([0.0, 1.0]), [[0, 1], [0, 1]])
    np.testing.assert_array_equal(curve.fnr([0.0, 1.0]), [[1, 0], [1, 0]])
    np.testing.assert_array_equal(curve.fpr([0.0, 1.0]), [[0, 1], [0, 1]])
    assert curve.auc.shape == (2, 1)
    assert curve.delta(np.inf).shape == (2, 1)
    assert np.all(curve.delta(np.inf) == 0)
    most = 2 / 2 * np.log(5 / 4) + 5 * 2 / 2
    assert curve.delta(most * 1.0001, direction="in")[1, 0] == 0
    assert curve.delta(most * 0.9999, direction="in")[1, 0] > 0
    assert curve.epsilon(0.0, direction="in")[1, 0] == pytest.approx(most, rel=1e-9)
    assert curve.epsilon(0.0)[1, 0] == np.inf


def test_epsilon_inverts_delta_in_both_directions():
    curve = GaussianMeanTradeOff(1.5, n=12, columns=4)
    for direction in ("in", "out"):
        for delta in (1e-12, 1e-3, 0.2):
            epsilon = curve.epsilon(delta, direction=direction)
            assert curve.delta(epsilon, direction=direction) == pytest.approx(delta, rel=1e-10)


@pytest.mark.parametrize("direction", ["in", "out"])
def test_epsilon_is_the_least_that_a_search_of_all_floats_returns(direction):
    """Newton's method against the search; 1e-280 in direction "in" is next to the largest ratio."""
    delta = np.array([0.9, 0.3, 1e-2, 1e-5, 1e-20, 1e-100, 1e-280])
    for score, n, columns in ((5.0, 1000, 5000), (0.0, 2, 1), (1e-9, 10**6, 3), (300.0, 30, 2)):
        curve = GaussianMeanTradeOff(score, n=n, columns=columns)
        got = curve.epsilon(delta, direction=direction)
        least = TradeOff._epsilon(curve, delta, direction)
        np.testing.assert_allclose(got, least, rtol=1e-12)
        assert np.all(np.asarray(curve.delta(got, direction=direction)) <= delta)


def test_one_epsilon_takes_few_evaluations(monkeypatch):
    calls = []
    one = noncentral.log_tails
    monkeypatch.setattr(_gaussian, "log_tails", lambda *law: calls.append(law) or one(*law))
    GaussianMeanTradeOff(5.0, n=1000, columns=5000).epsilon(1e-5)
    assert len(calls) <= 24  # two a step: the search of all floats takes 132


def test_power_is_what_the_densities_allow_when_a_quantile_underflows():
    """One column, target at the mean: fpr = 1e-300 needs a distance of 1e-600."""
    curve = GaussianMeanTradeOff(0.0, n=2, columns=1)
    assert curve.power(1e-300) == pytest.approx(np.sqrt(2) * 1e-300, rel=1e-13)
    assert curve.power(1e-130) == pytest.approx(np.sqrt(2) * 1e-130, rel=1e-12)
    assert curve.fpr(np.sqrt(2) * 1e-300) == pytest.approx(1e-300, rel=1e-13)
    assert curve.fnr(1e-300) == 1.0


def test_huge_scores_and_row_numbers_stay_in_the_range():
    sure = GaussianMeanTradeOff([1e12, 1e250], n=10**6, columns=3)
    np.testing.assert_array_equal(sure.power(1e-300), 1.0)
    np.testing.assert_array_equal(sure.advantage, 1.0)
    np.testing.assert_array_equal(sure.auc, 1.0)
    many = GaussianMeanTradeOff(4.0, n=2**53, columns=7)
    limit = GaussianTradeOff(2.0)
    assert many.power(1e-250) == pytest.approx(limit.power(1e-250), rel=1e-12)
    assert many.delta(30.0) == pytest.approx(limit.delta(30.0), rel=1e-12)


def test_sub_sampling_and_dictionary_come_from_the_base():
    curve = GaussianMeanTradeOff(2.0, n=10, columns=3)
    assert curve.subsample(0.1).advantage == pytest.approx(0.1 * curve.advantage)
    assert curve.subsample(0.1).kind == "exact"
    assert curve.to_dict() == {
        "type": "GaussianMeanTradeOff",
        "score": 2.0,
        "n": 10,
        "columns": 3,
        "kind": "exact",
    }
    with pytest.raises(TypeError, match="the law of its likelihood ratio is not known"):
        curve.compose(curve)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": -1.0}, "score must be at least 0; got score = -1.0"),
        ({"score": [1.0, np.nan]}, "score must be finite; got score[1] = nan"),
        ({"n": 1}, "n must be between 2 and 2**53; got n = 1"),
        ({"columns": 0}, "columns must be between 1 and 2**53; got columns = 0"),
    ],
)
def test_bad_input_is_told(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        GaussianMeanTradeOff(**{"score": 1.0, "n": 10, "columns": 2} | arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": [1.0, np.nan]}, "target must be finite; got target[1] = nan"),
        ({"mean": [0.0] * 3}, "target must have 3 columns (its last axis), as mean has"),
        ({"cov": [1.0, -1.0]}, "cov must be at least 0 (a variance); got cov[1]"),
        ({"n": 1}, "n must be between 2 and 2**53; got n = 1"),
    ],
)
def test_bad_targets_are_told(arguments, message):
    arguments = {"target": [1.0, 2.0], "mean": [0.0, 0.0], "cov": 1.0, "n": 10} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        gaussian_mean_tradeoff(**arguments)


def test_rows_that_do_not_vary_are_refused_by_the_name_of_cov():
    with pytest.raises(ValueError, match="cov must vary in some direction; its rank is 0"):
        gaussian_mean_tradeoff([1.0, 2.0], [1.0, 2.0], 0.0, 5)


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("n", [2, 1000, 2**53])
def test_epsilons_of_vast_scores_grow_in_proportion_to_the_score(direction, n):
    """The log likelihood ratio is s/2 *in* and -s/2 n/(n-1) *out*, relative to 1/sqrt(s)."""
    for score in (1e60, 1e90, 1e101, 1e200, 1e300):
        curve = GaussianMeanTradeOff(score, n=n, columns=3)
        middle = score / 2 * (1.0 if direction == "in" else n / (n - 1))
        assert curve.epsilon(1e-5, direction=direction) == pytest.approx(middle, rel=1e-14)
        deltas = curve.delta([middle * 0.99, middle * 1.01, np.inf], direction=direction)
        np.testing.assert_array_equal(deltas, [1.0, 0.0, 0.0])
    curve = GaussianMeanTradeOff([2.0, 1e200], n=n, columns=3)
    assert curve.delta(1.0)[0] == GaussianMeanTradeOff(2.0, n=n, columns=3).delta(1.0)
