"""Leakage under differential privacy: the bounds, what attains them, what they promise to whom."""

from __future__ import annotations

import itertools
import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize, special, stats

from mialeak.guarantees import (
    divergence,
    dp_leakage_bound,
    epsilon_for_leakage,
    noise_multiplier_for_leakage,
)
from mialeak.tradeoff import PiecewiseTradeOff


def largest_leakage(epsilon, delta, p, gamma):
    """The largest leakage of an (epsilon, delta)-private release of one row with law p, n = 1.

    An output is labelled by the set of atoms it speaks for; outputs of one label can be merged
    without changing the leakage or weakening the guarantee, so 2^K outputs are all there are.
    """
    count, labels = len(p), 2 ** len(p)
    member = np.array([[label >> k & 1 for label in range(labels)] for k in range(count)], float)
    gain = member.copy() if gamma >= 1 else -(1 - member) / gamma
    average = -gamma * (p @ member) if gamma >= 1 else p @ (1 - member)
    objective = p[:, None] * gain + np.outer(p, average)
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    size, slack = count * labels, len(pairs) * labels * (delta > 0)
    rows, limits = [], []
    for number, (i, j) in enumerate(pairs):
        total = np.zeros(size + slack)
        for label in range(labels):
            row = np.zeros(size + slack)
            row[i * labels + label] = 1
            row[j * labels + label] = -np.exp(epsilon)
            if delta > 0:
                place = size + number * labels + label
                row[place], total[place] = -1, 1
            rows.append(row)
            limits.append(0.0)
        if delta > 0:
            rows.append(total)
            limits.append(delta)
    equal = np.zeros((count, size + slack))
    for k in range(count):
        equal[k, k * labels : (k + 1) * labels] = 1
    costs = np.append(-objective.ravel(), np.zeros(slack))
    result = optimize.linprog(costs, rows, limits, equal, np.ones(count), method="highs")
    assert result.success
    return -result.fun


def leakage_of_a_noisy_count(epsilon, p, n):
    """About a person with a trait of probability p: two-sided geometric noise, by enumeration."""
    ratio = math.exp(-epsilon)
    reach = math.ceil(40 / epsilon)
    noise = (1 - ratio) / (1 + ratio) * ratio ** abs(np.arange(-reach, reach + 1))

    def release(rows):
        counts = np.arange(30)
        return np.convolve(stats.binom.pmf(counts, rows, p), noise)

    out, others = release(n), release(n - 1)
    return 0.5 * abs(np.append(out, 0.0) - np.append(0.0, others)).sum()


class TestPrivacy:
    @pytest.mark.parametrize("leakage", [0.01, 0.1, 0.5])
    def test_a_given_person_is_promised_what_holds(self, leakage):
        """A rare trait: what is promised is kept, and attained; a random target is promised half.

        With target="random" the first promise, 0.1, is broken at 0.198.
        """
        epsilon = epsilon_for_leakage(leakage)
        reached = leakage_of_a_noisy_count(epsilon, 1e-6, 1000)
        assert 0.998 * leakage < reached <= leakage
        assert reached <= dp_leakage_bound(epsilon) == pytest.approx(leakage, rel=1e-14)
        random = epsilon_for_leakage(leakage, target="random")
        reached = leakage_of_a_noisy_count(random, 1e-6, 1000)
        assert 1.59 * leakage < 0.998 * dp_leakage_bound(random) < reached

    def test_the_counterexample_of_the_report(self):
        assert epsilon_for_leakage(0.1, target="random") == pytest.approx(0.40134, abs=5e-6)
        assert leakage_of_a_noisy_count(0.40134, 1e-6, 1000) == pytest.approx(0.19795, abs=5e-6)

    @pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 40.0])
    def test_for_a_given_target_it_is_tanh_of_half_of_epsilon(self, epsilon):
        assert dp_leakage_bound(epsilon) == pytest.approx(np.tanh(epsilon / 2), rel=1e-14)

    @pytest.mark.parametrize("gamma", [0.3, 1.0, 2.5])
    def test_for_a_given_target_it_does_not_jump_at_delta_zero(self, gamma):
        for epsilon in (0.2, 1.5, 6.0):
            bound = dp_leakage_bound(epsilon, gamma=gamma)
            assert dp_leakage_bound(epsilon, 1e-13, gamma=gamma) == pytest.approx(bound, abs=2e-13)

    @pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 40.0])
    def test_the_balanced_bound_is_tanh_of_a_quarter_of_epsilon(self, epsilon):
        bound = dp_leakage_bound(epsilon, target="random")
        assert bound == pytest.approx(np.tanh(epsilon / 4), rel=1e-14)

    def test_the_balanced_bound_of_tiny_and_of_huge_epsilons(self):
        """A quarter of epsilon, whose square is below the smallest number; and 1, no warning."""
        tiny = np.array([1e-160, 1e-200, 1e-300])
        np.testing.assert_allclose(dp_leakage_bound(tiny, target="random"), tiny / 4, 1e-15)
        assert dp_leakage_bound(1e308, target="random", neighbours="add or remove") == 1.0

    @pytest.mark.parametrize(("atoms", "chosen"), [(3, 1), (4, 1), (5, 2)])
    def test_the_balanced_bound_is_attained(self, atoms, chosen):
        # The subset mechanism with a share f = 1/(1 + e^(eps/2)) of the atoms in each subset.
        share = chosen / atoms
        epsilon = 2 * np.log((1 - share) / share)
        reached = largest_leakage(epsilon, 0.0, np.full(atoms, 1 / atoms), 1.0)
        assert reached == pytest.approx(dp_leakage_bound(epsilon, target="random"), rel=1e-9)

    @pytest.mark.parametrize(
        ("gamma", "atoms", "chosen"),
        [(0.4, 4, 2), (0.8, 6, 2), (1.0, 5, 2), (1.25, 8, 2), (2.5, 12, 1)],
    )
    def test_the_subset_mechanism_attains_the_bound_for_every_gamma(self, gamma, atoms, chosen):
        # A release is a set of atoms, e^eps times as likely if it holds the row; the best share of
        # atoms in it is (sqrt(e^eps / gamma) - 1)/(e^eps - 1).
        share = chosen / atoms
        root = (1 / np.sqrt(gamma) + np.sqrt(1 / gamma - 4 * share * (1 - share))) / (2 * share)
        epsilon = 2 * np.log(root)
        subsets = list(itertools.combinations(range(atoms), chosen))
        member = np.array([[k in subset for subset in subsets] for k in range(atoms)])
        release = np.where(member, np.exp(epsilon), 1.0)
        joint = release / release.sum(axis=1, keepdims=True) / atoms
        product = np.broadcast_to(joint.sum(axis=0) / atoms, joint.shape)
        reached = divergence(product.ravel(), joint.ravel(), gamma)
        bound = dp_leakage_bound(epsilon, gamma=gamma, target="random")
        assert reached == pytest.approx(bound, rel=1e-12)

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
    @pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
    @pytest.mark.parametrize("gamma", [0.3, 1.0, 1.7])
    def test_no_mechanism_leaks_more_than_the_bound(self, epsilon, delta, gamma):
        bound = dp_leakage_bound(epsilon, delta, gamma=gamma, target="random")
        published = dp_leakage_bound(epsilon, delta, gamma=gamma, form="published")
        assert bound <= published + 1e-15
        for p in ([0.5, 0.5], [0.2, 0.3, 0.5], [0.9, 0.1]):
            assert largest_leakage(epsilon, delta, np.array(p), gamma) <= bound + 1e-9

    @pytest.mark.parametrize("n", [2, 3])
    def test_more_rows_leak_less(self, n):
        """Two atoms, n rows, the release a function of the count: another linear program."""
        p, epsilon = 0.5, 1.5
        patterns = np.array(
            [
                np.exp(epsilon * np.append(0, np.cumsum(steps)))
                for steps in itertools.product([-1, 0, 1], repeat=n)
            ]
        )
        counts = np.arange(n + 1)
        weight = special.comb(n, counts) * p**counts * (1 - p) ** (n - counts)
        one, zero = weight * counts / (n * p), weight * (n - counts) / (n * (1 - p))
        first, second = patterns @ one, patterns @ zero
        mean = p * first + (1 - p) * second
        leakage = 0.5 * (p * abs(first - mean) + (1 - p) * abs(second - mean))
        found = optimize.linprog(-leakage, A_eq=patterns.T, b_eq=np.ones(n + 1))
        assert 0 < -found.fun < 0.8 * dp_leakage_bound(epsilon, target="random")

    def test_for_a_given_target_it_is_the_bound_of_two_neighbours(self):
        for epsilon, delta, gamma in itertools.product(
            [0.2, 1.0, 3.0], [0, 1e-6, 0.2], [0.2, 1, 4]
        ):
            grow = np.exp(epsilon)
            p = np.array([delta, (1 - delta) * grow / (1 + grow), (1 - delta) / (1 + grow), 0])
            q = p[::-1]
            expected = divergence(p, q, gamma)
            bound = dp_leakage_bound(epsilon, delta, gamma=gamma)
            assert bound == pytest.approx(expected, rel=1e-12)
            if delta:
                assert dp_leakage_bound(epsilon, delta, gamma=gamma, target="random") == bound

    def test_limits(self):
        for target in ("given", "random"):
            assert dp_leakage_bound(0.0, target=target) == 0
            assert dp_leakage_bound(np.inf, target=target) == 1
            assert dp_leakage_bound(np.inf, 0.1, gamma=5.0, target=target) == 1
        assert dp_leakage_bound(0.0, 0.25) == 0.25
        assert dp_leakage_bound(0.3, 1.0) == 1
        assert dp_leakage_bound(1.0, gamma=[0.3, 4.0]).tolist() == [0, 0]
        assert dp_leakage_bound(1000.0, gamma=1e-3) == pytest.approx(1.0)
        assert dp_leakage_bound([[0.5], [1.0]], [0.0, 0.1]).shape == (2, 2)

    def test_the_published_form_is_equation_9(self):
        value = dp_leakage_bound(1.0, 0.01, gamma=2.0, form="published")
        assert value == pytest.approx(2 * (np.e - 0.5 - 0.5 + 0.01), rel=1e-15)

    @given(
        leakage=st.floats(1e-12, 1 - 1e-9),
        gamma=st.floats(0.01, 100),
        delta=st.sampled_from([0, 1e-9]),
        target=st.sampled_from(["given", "random"]),
    )
    def test_epsilon_for_leakage_is_the_inverse(self, leakage, gamma, delta, target):
        leakage = max(leakage, 2 * delta)
        options = {"delta": delta, "gamma": gamma, "target": target}
        epsilon = epsilon_for_leakage(leakage, **options)
        back = dp_leakage_bound(epsilon, **options)
        # epsilon has |log gamma| in it: its rounding is all that is lost
        assert back == pytest.approx(leakage, rel=1e-11, abs=1e-15)

    @pytest.mark.parametrize("leakage", [1e-14, 1e-6, 0.3, 0.7, 1 - 1e-12])
    @pytest.mark.parametrize("gamma", [1.0, 1.0 + 1e-9, 5.0])
    @pytest.mark.parametrize("share", [0.0, 1e-9, 0.5, 1.0 - 1e-6])
    @pytest.mark.parametrize("target", ["given", "random"])
    def test_epsilon_for_leakage_keeps_its_digits(self, leakage, gamma, share, target):
        delta = leakage * share
        epsilon = epsilon_for_leakage(leakage, delta=delta, gamma=gamma, target=target)
        with mp.workdps(50):
            loss, slip, h = mp.mpf(leakage), mp.mpf(delta), 1 / mp.mpf(gamma)
            if delta or target == "given":
                k = (loss - slip) / (1 - slip)
                truth = mp.log((1 + h * k) / (1 - k)) - mp.log(h)
            else:
                root = mp.sqrt(loss * (1 - h + h * loss))
                truth = 2 * mp.log((1 + root) / (1 - loss)) - mp.log(h)
            assert abs(epsilon / truth - 1) < 4 * 2.0**-52

    def test_epsilon_for_leakage_at_its_ends(self):
        assert epsilon_for_leakage(0.1) == pytest.approx(2 * np.arctanh(0.1), rel=1e-14)
        random = epsilon_for_leakage(0.1, target="random")
        assert random == pytest.approx(4 * np.arctanh(0.1), rel=1e-14)
        assert epsilon_for_leakage([0.0, 1.0]).tolist() == [0, np.inf]
        assert epsilon_for_leakage(0.0, gamma=3.0) == pytest.approx(np.log(3.0))
        assert epsilon_for_leakage(1e-5, delta=1e-5) == 0
        assert epsilon_for_leakage(1.0, delta=1.0) == np.inf

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
    def test_b7_tanh_of_half_epsilon_is_not_the_supremum(self, epsilon):
        reached = max(largest_leakage(epsilon, 0.0, np.full(k, 1 / k), 1.0) for k in (2, 3, 4))
        assert reached <= np.tanh(epsilon / 4) * (1 + 1e-9) < np.tanh(epsilon / 2) * 0.8


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 1e-3), (2.0, 1e-5)])
def test_a_row_in_place_of_another_is_two_steps_of_adding_or_removing(epsilon, delta):
    """Laws on three points, on a grid: none whose middle is private to both leaks more."""
    bound = dp_leakage_bound(epsilon, delta, neighbours="add or remove")
    assert bound > dp_leakage_bound(epsilon, delta)

    def reach(p, q):
        """Whether (epsilon, delta) holds between p and q, in both directions."""
        gains = (np.maximum(a - np.exp(epsilon) * b, 0.0).sum(-1) for a, b in ((p, q), (q, p)))
        return np.all([gain <= delta + 1e-12 for gain in gains], axis=0)

    grid = np.arange(0.0, 1.0001, 0.05)
    laws = np.array([(a, b, 1.0 - a - b) for a in grid for b in grid if a + b <= 1.0 + 1e-9])
    middle = np.array([0.05, 0.9, 0.05])
    for centre in (middle, np.array([0.5, 0.0, 0.5]), np.array([0.3, 0.4, 0.3])):
        near = laws[reach(laws, centre)]
        leaks = 0.5 * np.abs(near[:, None] - near[None]).sum(-1)
        assert leaks.max(initial=0.0) <= bound
    assert dp_leakage_bound(800.0, 1e-5, neighbours="add or remove") == 1.0
    with pytest.raises(ValueError, match="neighbours must be"):
        dp_leakage_bound(1.0, neighbours="remove")


def test_the_noise_of_sampled_steps_where_grids_refuse():
    """No noise is needed for more than sampling allows (this search had no end)."""
    assert noise_multiplier_for_leakage(0.9, steps=1, rate=0.5) == 0.0
    assert noise_multiplier_for_leakage(0.2, steps=10, rate=0.01) == 0.0
    assert noise_multiplier_for_leakage(attack=(0.01, 0.9), steps=1, rate=0.5) == 0.0
    noise = noise_multiplier_for_leakage(0.01, steps=200, rate=5e-4)
    # By the central limit theorem for small rates: worlds are mu apart.
    mu = 5e-4 * np.sqrt(200.0 * 2.0 * np.expm1(4.0 / noise**2))
    assert 0.2 < (2.0 * stats.norm.cdf(mu / 2.0) - 1.0) / 0.01 < 2.0


@pytest.mark.parametrize("leakage", [1e-300, 1e-15, 1e-9, 1e-3])
def test_small_leakages_of_several_releases_have_their_epsilon(leakage):
    """At 1e-15 it was 15 % too large, at 1e-300 there was none."""
    for steps in (2, 3, 10):
        epsilon = epsilon_for_leakage(leakage, steps=steps)
        # To first order: epsilon times the mean distance of the number of heads from a half.
        heads = np.arange(steps + 1)
        mean = np.abs(heads - steps / 2.0) @ stats.binom.pmf(heads, steps, 0.5)
        assert epsilon * mean == pytest.approx(leakage, rel=max(1e-12, 10 * leakage), abs=0.0)


def test_searches_without_an_answer_are_refused_in_words():
    with pytest.raises(ValueError, match="leakage must be 0, or above 1e-12"):
        noise_multiplier_for_leakage(1e-15, steps=3, rate=0.9)
    with pytest.raises(ValueError, match="attack must have a power that float64 sets apart"):
        noise_multiplier_for_leakage(attack=(0.3, 0.3 + 1e-15))
    with pytest.raises(ValueError, match="attack must have a false-positive rate above 0"):
        noise_multiplier_for_leakage(attack=(0.0, 0.3))
    for function in (noise_multiplier_for_leakage, epsilon_for_leakage):
        with pytest.raises(ValueError, match="attack must have a power below 1"):
            function(attack=(1.0, 1.0))


@pytest.mark.parametrize("of_pair", [dp_leakage_bound, PiecewiseTradeOff.from_epsilon])
def test_an_epsilon_exchanged_with_a_delta_has_a_caution(of_pair):
    """The pair (0.5, 1e-5) had the bound of a total variation of 0.5, without a word."""
    with pytest.warns(UserWarning, match="look exchanged.*epsilon=0.5, delta=1e-05"):
        of_pair(1e-5, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pair in [(0.0, 0.5), (0.5, 1e-5), (0.0101, 0.5), (0.01, 0.0999), (1e-5, 1e-5)]:
            of_pair(*pair)
        dp_leakage_bound([1e-3, 0.1, 1.0], 0.2)  # a curve that begins near 0
        dp_leakage_bound(1e-3, [0.0, 0.5, 1.0])
        dp_leakage_bound([], 0.5)
        assert epsilon_for_leakage(0.5, delta=0.2, steps=2) > 0.0  # which tries small ones
