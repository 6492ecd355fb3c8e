"""Audits of separate runs, simulated: false claims, and bounds below the epsilon of exact games."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr, ndtri

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
        assert made.count(draws) == 5  # a bound for each order of the ties
        ties[places] = [entropy for entropy in made if entropy != draws]
        assert len(ties[places]) == 2 * 5
        evidence.mu()
        assert evidence.epsilon(0.0) == first
    every = [entropy for several in ties.values() for entropy in several]
    assert len(set(every)) == len(every) == 4 * 2 * 5
    first = {tuple(default_rng(list(entropy)).random(2)) for entropy in (*every, draws)}
    assert len(first) == 4 * 2 * 5 + 1


def false_share(sizes, curve, bound, true):
    """Of all outcomes of two values, the share with a bound above the truth: the worst law's.

    The larger value has probability p among *out*, of any size, and ``curve(p)`` among *in*.
    """
    chances = np.linspace(0.002, 0.998, 499)
    inside, outside = (
        stats.binom.pmf(np.arange(size + 1)[:, None], size, each)
        for size, each in zip(sizes, (curve(chances), chances), strict=True)
    )
    total = np.zeros(chances.size)
    for i, j in np.ndindex(inside.shape[0], outside.shape[0]):
        if i * sizes[1] > j * sizes[0]:  # other outcomes prove nothing
            worlds = (
                np.repeat([-1.0, 1.0], [size - k, k]) for size, k in zip(sizes, (i, j), strict=True)
            )
            order = Order.of(*worlds, higher_is_member=True, rng=0)
            total += inside[i] * outside[j] * (bound(order) > true)
    return total.max()


def least_private(epsilon):
    """The trade-off curve of randomised response."""
    factor = np.exp(epsilon)
    return lambda p: np.minimum(factor * p, 1.0 - (1.0 - p) / factor)


@pytest.mark.parametrize("epsilon", [0.0, np.log(2), 2.0])
@pytest.mark.parametrize(
    ("method", "sizes"),
    [
        ("simultaneous", (15, 15)),
        ("calibrated", (9, 9)),
        ("calibrated", (40, 2)),
        ("calibrated", (3, 20)),
        ("rank-sum", (5, 5)),
    ],
)
def test_few_scores_of_two_values_seldom_refute_what_is_true(method, sizes, epsilon):
    """One order of the ties made up to 36 % of the bounds false, the median of 15 up to 6 %."""

    def bound(order):
        return Evidence(order, 0.05, "both", method).epsilon(0.0)

    assert false_share(sizes, least_private(epsilon), bound, epsilon + 1e-9) <= 0.03


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_nor_is_their_mu_above_the_true_one(mu):
    def bound(order):
        return Evidence(order, 0.05, "both", "calibrated").mu()

    def curve(p):
        return ndtr(ndtri(p) + mu)

    assert false_share((40, 2), curve, bound, mu + 1e-9) <= 0.05


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_nor_is_their_advantage_above_the_true_one(epsilon):
    true = np.tanh(0.5 * epsilon)
    curve = least_private(epsilon)

    def bound(order):
        return advantage_interval(order, 0.95).low

    assert false_share((9, 9), curve, bound, true + 1e-9) <= 0.025


def test_of_three_values_neither():
    """Five scores in each world; the median of 15 orders made 6.5 % of the bounds false."""
    counts = [(i, j, 5 - i - j) for i in range(6) for j in range(6 - i)]
    rng = np.random.default_rng(3)
    laws = rng.dirichlet(np.ones(3), 400)
    laws = np.concatenate([laws, [[0.2, 0.4, 0.4], [0.25, 0.5, 0.25], [0.1, 0.45, 0.45]]])
    false = np.zeros(len(laws))
    # The in-law that moves as much probability as epsilon allows to the larger values.
    tails = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1]
    moved = least_private(np.log(2))(np.clip(tails, 0.0, 1.0))
    inside = -np.diff(np.append(moved, np.zeros((len(laws), 1)), axis=1), axis=1)
    chances = [
        np.array([stats.multinomial.pmf(each, 5, law) for each in counts])
        for law in (np.maximum(inside, 0.0), laws)
    ]
    for i, ours in enumerate(counts):
        for j, theirs in enumerate(counts):
            worlds = (np.repeat([0.0, 1.0, 2.0], each) for each in (ours, theirs))
            order = Order.of(*worlds, higher_is_member=True, rng=0)
            if Evidence(order, 0.05, "both", "calibrated").epsilon(0.0) > np.log(2) + 1e-9:
                false += chances[0][i] * chances[1][j]
    assert 0.0 < false.max() <= 0.05
