"""Audits of separate runs, simulated: false claims, and bounds below the epsilon of exact games."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from mialeak._numerics.order import Order
from mialeak.auditing import audit
from mialeak.auditing._audit import Evidence
from mialeak.auditing._intervals import advantage_interval, power_band
from mialeak.tradeoff import GaussianTradeOff


def misses(share, repetitions):
    """Most misses that a method with this error may show: three standard errors above."""
    return repetitions * share + 3 * np.sqrt(repetitions * share * (1 - share))


class TestCoverage:
    """Few repetitions: benchmarks/coverage.py has the table."""

    @pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.02), (3.0, 0.0)])
    def test_false_claims_at_the_least_favourable_law(self, epsilon, delta):
        """The curve itself is the truth: power = h(fpr), and nothing is to spare."""
        rng, wrong, repetitions, n = np.random.default_rng(7), np.zeros(3), 80, 100
        grow = np.exp(epsilon)
        for _ in range(repetitions):
            u, v = rng.random(n), rng.random(n)
            # Small is "in": P(in-score <= t) = h(t) = min(delta + e^eps t, 1 - (1-delta-t)/e^eps).
            inside = np.maximum((v - delta) / grow, 1.0 - delta - grow * (1.0 - v))
            inside[v < delta] = -1.0
            order = Order.of(inside, u, higher_is_member=False, rng=0)
            wrong += [
                Evidence(order, 0.05, "both", method).epsilon(delta) > epsilon
                for method in ("calibrated", "simultaneous", "rank-sum")
            ]
        assert (wrong > 0).all()
        assert (wrong <= misses(0.05, repetitions)).all()

    def test_false_claims_about_mu_at_the_least_favourable_law(self):
        rng, wrong, repetitions, mu = np.random.default_rng(12), np.zeros(3), 80, 1.5
        for _ in range(repetitions):
            scores = rng.normal(mu, 1, 60), rng.normal(0, 1, 90)
            order = Order.of(*scores, higher_is_member=True, rng=0)
            wrong += [
                Evidence(order, 0.05, "both", method).mu() > mu
                for method in ("calibrated", "simultaneous", "rank-sum")
            ]
        assert (wrong > 0).all()
        assert (wrong <= misses(0.05, repetitions)).all()

    def test_intervals_and_bands_hold_what_is_true(self):
        rng, repetitions, n, mu = np.random.default_rng(8), 60, 200, 1.0
        truth, wrong = GaussianTradeOff(mu), np.zeros(7, int)
        for _ in range(repetitions):
            result = audit(rng.normal(mu, 1, n), rng.normal(0, 1, n), fpr=(0.02, 0.3))
            low, high = result.tpr_at_fpr.values()
            band = result.band
            power = truth.power(band.fpr)
            outside = (power < band.lower - 1e-12).any() or (power[1:] > band.upper[:-1]).any()
            intervals = (
                (low, truth.power(0.02)),
                (high, truth.power(0.3)),
                (result.auc, truth.auc),
                (result.hull_auc, truth.auc),
                (result.advantage, truth.advantage),
            )
            wrong[:5] += [not i.low <= value <= i.high for i, value in intervals]
            wrong[5:] += outside, result.mu_lower > mu
        assert (wrong <= misses(0.05, repetitions)).all()
        assert wrong[:2].sum() > 0  # these two are nearly exact

    def test_the_band_is_about_the_curve_across_ties(self):
        rng, repetitions, wrong = np.random.default_rng(9), 100, 0
        for _ in range(repetitions):
            inside, outside = rng.random((2, 150)) < [[0.7], [0.4]]
            order = Order.of(inside, outside, higher_is_member=True, rng=rng)
            band = power_band(order, 0.95)
            power = np.interp(band.fpr, [0, 0.4, 1], [0, 0.7, 1])
            wrong += (power < band.lower - 1e-12).any() or (power[1:] > band.upper[:-1]).any()
        assert wrong <= misses(0.05, repetitions)


class TestRankSum:
    @pytest.mark.parametrize("mu", [0.3, 1.0])
    @pytest.mark.parametrize("direction", ["in", "out", "both"])
    def test_one_score_beyond_many_has_a_known_p_value(self, mu, direction):
        """All pairs: P(X + mu exceeds n others) is an integral, and Beta(1, n) at mu = 0."""
        n = 40
        order = Order.of([1.0], np.linspace(-1.0, 0.0, n), higher_is_member=True, rng=0)
        p_value, _ = integrate.quad(lambda x: stats.norm.pdf(x - mu) * ndtr(x) ** n, -9, 12)
        # A level of one in the draws' grid on either side, five standard errors away.
        slack = 5 * np.sqrt(p_value * (1 - p_value) / 1000)
        assert Evidence(order, p_value + slack, direction, "rank-sum").mu() > mu
        assert Evidence(order, p_value - slack, direction, "rank-sum").mu() < mu

    def test_epsilon_of_one_score_beyond_one(self):
        """P(V <= min(e^eps U, 1 - e^-eps (1 - U))) = 1 - 1/(1 + e^eps), by areas of triangles."""
        order = Order.of([1.0], [0.0], higher_is_member=True, rng=0)
        for epsilon in (0.5, 1.5):
            share = 1 / (1 + np.exp(-epsilon))
            slack = 5 * np.sqrt(share * (1 - share) / 1000)
            assert Evidence(order, share + slack, "both", "rank-sum").epsilon(0.0) > epsilon
            assert Evidence(order, share - slack, "both", "rank-sum").epsilon(0.0) < epsilon

    def test_it_proves_more_of_a_shift_and_less_of_a_tail(self):
        rng, shift, tail = np.random.default_rng(13), np.zeros(2), np.zeros(2)
        methods = "rank-sum", "calibrated"
        for _ in range(20):
            outside = rng.normal(size=150)
            worlds = Order.of(rng.normal(1, 1, 150), outside, higher_is_member=True, rng=0)
            shift += [Evidence(worlds, 0.025, "both", method).mu() for method in methods]
            few = rng.normal(size=150) + 6.0 * (np.arange(150) < 12)
            worlds = Order.of(few, outside, higher_is_member=True, rng=0)
            tail += [Evidence(worlds, 0.025, "both", method).mu() for method in methods]
        assert shift[0] > 1.05 * shift[1]
        assert tail[0] < 0.5 * tail[1]

    def test_thinned_ranks_lose_little(self):
        rng, found = np.random.default_rng(14), []
        for n in (50, 5000):  # all ranks, and one in a hundred
            order = Order.of(rng.normal(1, 1, n), rng.normal(size=n), higher_is_member=True, rng=0)
            # The bound of the means lies 1.645 standard errors below their difference, about 1.
            found.append((1 - Evidence(order, 0.05, "both", "rank-sum").mu()) / np.sqrt(2 / n))
        assert found[1] < 4.0


class TestExactGames:
    def test_an_audit_of_released_means_stays_below_the_exact_epsilon(self):
        """One column of coins: the score is the count, and both laws of it are binomial."""
        n, p, rounds = 20, 0.3, 50_000
        rng = np.random.default_rng(10)
        outside, inside = rng.binomial(n, p, rounds), 1 + rng.binomial(n - 1, p, rounds)
        counts = np.arange(n + 1)
        p_out, p_in = stats.binom.pmf(counts, n, p), stats.binom.pmf(counts - 1, n - 1, p)
        for delta in (0.01, 0.05):

            def slip(epsilon):
                grow = np.exp(epsilon)
                return max(
                    np.maximum(p_in - grow * p_out, 0).sum(),
                    np.maximum(p_out - grow * p_in, 0).sum(),
                )

            low, high = 0.0, 10.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if slip(middle) > delta else (low, middle)
            bound = audit(inside, outside, delta=delta).epsilon_lower
            assert 0.5 * high < bound < high

    @pytest.mark.parametrize(("mu", "share"), [(1.0, 0.5), (3.0, 0.4)])
    def test_an_audit_of_a_gaussian_release_stays_below_the_exact_epsilon(self, mu, share):
        rng = np.random.default_rng(11)
        result = audit(rng.normal(mu, 1, 20_000), rng.normal(0, 1, 20_000), delta=1e-5)
        exact = GaussianTradeOff(mu)
        assert share * exact.epsilon(1e-5) < result.epsilon_lower < exact.epsilon(1e-5)
        assert 0.95 * mu < result.mu_lower < mu


def test_no_tie_is_broken_by_the_stream_of_the_draws(monkeypatch):
    """Every tie has a stream of its own, which depends on the counts below and in the tie."""
    made = []

    def remembered(entropy):
        made.append(tuple(entropy))
        return default_rng(entropy)

    default_rng = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", remembered)
    ties = {}
    for places in ((998, 300), (999, 300), (1000, 300), (999, 301)):
        inside = np.repeat([0.0, 1.0], [400, 300])
        outside = np.repeat([0.0, 1.0], [places[0] - 400, places[1]])
        order = Order(inside, outside, seed=123)
        evidence = Evidence(order, 0.05, "both", "calibrated")
        made.clear()
        first = evidence.epsilon(0.0)
        draws = (order.seed, 999)
        assert made.count(draws) == 15  # a bound for each order of the ties
        ties[places] = [entropy for entropy in made if entropy != draws]
        assert len(ties[places]) == 2 * 15
        evidence.mu()
        assert evidence.epsilon(0.0) == first
    every = [entropy for several in ties.values() for entropy in several]
    assert len(set(every)) == len(every) == 4 * 2 * 15
    first = {tuple(default_rng(list(entropy)).random(2)) for entropy in (*every, draws)}
    assert len(first) == 4 * 2 * 15 + 1


def outcomes_of_two_values(n, claims):
    """Share of the outcomes of two values, n scores in each world, in which `claims` holds.

    The probability of the larger value is that of a column, in and out.
    """
    chances = np.array([[p, p] for p in np.linspace(0.01, 0.99, 99)] + [[0.7311, 0.2689]]).T
    laws = stats.binom.pmf(np.arange(n + 1)[:, None, None], n, chances)  # (count, world, law)
    total = np.zeros(chances.shape[1])
    for inside in range(n + 1):
        for outside in range(inside):  # other outcomes claim nothing
            worlds = (np.repeat([-1.0, 1.0], [n - k, k]) for k in (inside, outside))
            order = Order.of(*worlds, higher_is_member=True, rng=0)
            total += np.where(claims(order), laws[inside, 0] * laws[outside, 1], 0.0)
    return total


@pytest.mark.parametrize(
    ("method", "n"), [("simultaneous", 15), ("calibrated", 9), ("rank-sum", 5)]
)
def test_few_scores_of_two_values_seldom_refute_what_is_true(method, n):
    """All outcomes at the default seed.  One order of ties made 20 to 22 % of the claims false."""
    true = np.append(np.zeros(99), 0.99999)  # epsilon of equal worlds, and of randomised response

    def claims(order):
        return Evidence(order, 0.05, "both", method).epsilon(0.0) > true

    assert outcomes_of_two_values(n, claims).max() <= 0.05


def test_nor_is_their_advantage_above_the_true_one():
    true = np.append(np.zeros(99), 0.4622)
    false = outcomes_of_two_values(9, lambda order: advantage_interval(order, 0.95).low > true)
    assert false.max() <= 0.025
