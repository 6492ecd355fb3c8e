"""Audits of one run: the p-value against the published formula, bounds, curves, bad input."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import optimize, stats

from mialeak.auditing import OneRunResult, one_run_audit, one_run_p_value
from mialeak.auditing._one_run import _halves
from mialeak.auditing._one_run_curves import curve_p_value, gaussian_bound
from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff


def published_p_value(m, r, v, epsilon, delta):
    """Steinke, Nasr and Jagielski (2023), Theorem 5.2, term by term; q rational in `epsilon`."""
    tail, slope = published_terms(r, v, epsilon)
    return min(tail + 2 * m * Fraction(delta) * slope, 1)


@functools.cache
def published_terms(r, v, epsilon):
    grow = Fraction(np.exp(epsilon))
    q = grow / (1 + grow)
    pmf = [comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    tail, slope, total = sum(pmf[v:], Fraction(0)), Fraction(0), Fraction(0)
    for i in range(1, v + 1):
        total += pmf[v - i]
        slope = max(slope, total / i)
    return tail, slope


class TestPValue:
    @pytest.mark.parametrize(
        ("m", "r", "v"),
        [(10, 10, 8), (100, 40, 33), (60, 60, 60), (50, 1, 1), (9, 9, 0), (30, 30, 12)],
    )
    @pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0, 8.0])
    @pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
    def test_it_is_the_published_formula_in_fractions(self, m, r, v, epsilon, delta):
        truth = float(published_p_value(m, r, v, epsilon, delta))
        value = one_run_p_value(v, r, epsilon, delta=delta, n_canaries=m)
        assert value == pytest.approx(truth, rel=1e-12)

    def test_the_345_cases_of_jax_privacy(self):
        """The grid of its test_one_run_p_value (2.0.0)."""
        cases = [
            (m, r, r - wrong, epsilon, delta)
            for m, r, wrong, epsilon, delta in itertools.product(
                (10, 100, 1000),
                (1, 10, 100),
                (0, 1, 10, 100),
                (0.0, 0.5, 1.0),
                (0.0, 1e-6, 1e-3, 0.1, 1.0),
            )
            if wrong <= r <= m
        ]
        assert len(cases) == 345
        for m, r, v, epsilon, delta in cases:
            truth = published_p_value(m, r, v, epsilon, delta)
            assert delta < 1.0 or truth == 1
            value = one_run_p_value(v, r, epsilon, delta=delta, n_canaries=m)
            assert value == pytest.approx(float(truth), rel=1e-12)

    @pytest.mark.parametrize(("v", "epsilon"), [(15_100, 1.0), (14_000, 1.0), (19_900, 0.0)])
    def test_many_guesses(self, v, epsilon):
        m, r, delta = 100_000, 20_000, 1e-7
        q = 1 / (1 + np.exp(-epsilon))
        below = stats.binom.cdf(v - 1, r, q) - stats.binom.cdf(v - 1 - np.arange(1, v + 1), r, q)
        truth = stats.binom.sf(v - 1, r, q) + 2 * m * delta * np.max(below / np.arange(1, v + 1))
        value = one_run_p_value(v, r, epsilon, delta=delta, n_canaries=m)
        assert value == pytest.approx(truth, rel=1e-9)

    def test_it_keeps_the_digits_of_rare_mistakes(self):
        value = one_run_p_value(100, 100, 40.0)
        assert 1 - value == pytest.approx(100 * np.exp(-40.0), rel=0.1, abs=1e-15)
        assert one_run_p_value(99, 100, 40.0) == 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((11, 10, 1.0), "correct must be between 0 and 10; got correct = 11"),
            ((1, 10, -1.0), "epsilon must be at least 0; got epsilon = -1.0"),
        ],
    )
    def test_bad_input_is_named(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            one_run_p_value(*arguments)
        with pytest.raises(ValueError, match="n_canaries must be between 10"):
            one_run_p_value(5, 10, 1.0, n_canaries=9)
        for delta in (-1e-9, 1.0 + 1e-9, np.nan):
            with pytest.raises(ValueError, match="delta must be"):
                one_run_p_value(5, 10, 1.0, delta=delta)


def responses(rng, m, epsilon):
    """Canaries under randomised response: scores +-1, right with odds e^epsilon."""
    member = rng.integers(0, 2, m)
    right = rng.random(m) < 1 / (1 + np.exp(-epsilon))
    return np.where(right, member, 1 - member) + rng.normal(0, 1e-3, m), member


class TestBound:
    @pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
    def test_it_is_where_the_p_value_reaches_the_level(self, delta):
        scores, member = responses(np.random.default_rng(0), 1000, 2.0)
        result = one_run_audit(scores, member, delta=delta, guesses=(200, 200))
        assert isinstance(result, OneRunResult)
        rank = np.argsort(np.argsort(scores))
        correct = member[rank >= 800].sum() + (1 - member)[rank < 200].sum()
        assert (result.guesses, result.correct, result.n_canaries) == ((200, 200), correct, 1000)
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            rejected = stats_p_value(1000, 400, correct, middle, delta) <= 0.05
            low, high = (middle, high) if rejected else (low, middle)
        assert result.epsilon_lower == pytest.approx(low, abs=1e-7)
        assert result.epsilon_lower < 2

    def test_a_column_is_taken_as_audit_takes_it(self):
        scores, member = responses(np.random.default_rng(3), 200, 2.0)
        want = one_run_audit(scores, member).epsilon_lower
        assert one_run_audit(scores[:, None], member[:, None]).epsilon_lower == want > 0
        with pytest.raises(ValueError, match="scores must have 1 dimension"):
            one_run_audit(scores.reshape(100, 2), member)

    def test_several_choices_share_the_error(self):
        scores, member = responses(np.random.default_rng(1), 400, 2.0)
        choices = [(200, 200), (40, 0), (0, 40)]
        result = one_run_audit(scores, member, guesses=choices)
        each = [
            one_run_audit(scores, member, guesses=one, confidence=1 - 0.05 / 3).epsilon_lower
            for one in choices
        ]
        assert result.epsilon_lower == pytest.approx(max(each), abs=1e-8)
        assert result.guesses == choices[int(np.argmax(each))]

    def test_the_default_choices_are_halves(self):
        scores, member = responses(np.random.default_rng(2), 100, 3.0)
        halves = [(50, 50), (25, 25)]
        assert one_run_audit(scores, member) == one_run_audit(scores, member, guesses=halves)

    @pytest.mark.parametrize("error", [0.5, 0.05, 1e-7])
    @pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-5, 1e-3, 0.9])
    @pytest.mark.parametrize("m", [2, 3, 99, 2000, 20_000])
    def test_each_default_choice_but_the_first_can_prove_an_epsilon_of_2(self, m, delta, error):
        choices = _halves(m, delta, error)
        halves = [m >> i for i in range(1, len(choices) + 1)]
        assert [pair for pair, _ in choices] == [(half, half) for half in halves]
        assert sum(share for _, share in choices) == pytest.approx(error, rel=1e-12)
        for (half, _), share in choices[1:]:
            assert stats_p_value(m, 2 * half, 2 * half, 2.0, delta) <= share * (1 + 1e-9)
        shares = np.array([share for _, share in choices])
        growth = min(1 + 2 * m * delta, 1.25)
        assert shares[1:] / shares[:-1] == pytest.approx(growth)
        half, weights = m >> (len(choices) + 1), growth ** np.arange(len(choices) + 1.0)
        if half:  # the next one cannot
            next_share = error * weights[-1] / weights.sum()
            assert stats_p_value(m, 2 * half, 2 * half, 2.0, delta) > next_share * (1 - 1e-9)

    def test_choices_that_prove_nothing_take_no_share_of_the_error(self):
        """With 2 m delta = 0.4 few guesses are worth little, and down to 8 there would be 11."""
        rng = np.random.default_rng(8)
        member = rng.integers(0, 2, 20_000)
        scores = rng.normal(0.95 * member)
        halves = [(20_000 >> i, 20_000 >> i) for i in range(1, 12)]
        all_of_them = one_run_audit(scores, member, delta=1e-5, guesses=halves).epsilon_lower
        assert one_run_audit(scores, member, delta=1e-5).epsilon_lower > 1.1 * all_of_them

    def test_lower_scores_of_members_are_told_by_a_flag(self):
        scores, member = responses(np.random.default_rng(3), 300, 2.0)
        flipped = one_run_audit(-scores, member, higher_is_member=False)
        assert flipped == one_run_audit(scores, member)
        assert one_run_audit(-scores, member, allow_reversed=True).epsilon_lower == 0

    def test_ties_are_broken_by_fair_chance(self):
        member = np.random.default_rng(0).permutation(1000) % 2
        bounds = [
            one_run_audit(np.zeros(1000), member, guesses=(100, 100), rng=seed).correct
            for seed in range(50)
        ]
        assert np.mean(bounds) == pytest.approx(100, abs=4)
        assert len(set(bounds)) > 10

    def test_flags_may_be_of_any_kind(self):
        scores, member = responses(np.random.default_rng(4), 100, 2.0)
        for kind in (bool, np.int8, np.uint64, np.float16, ">i4", object):
            assert one_run_audit(scores, member.astype(kind)) == one_run_audit(scores, member)

    def test_infinite_scores_are_scores(self):
        member = np.random.default_rng(0).permutation(40) % 2
        scores = np.where(member == 1, np.inf, -np.inf)
        assert one_run_audit(scores, member, guesses=(20, 20)).correct == 40

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 1e-3), (4.0, 0.0)]
    )
    @pytest.mark.parametrize("guesses", [(50, 50), None])
    def test_false_claims(self, epsilon, delta, guesses):
        rng, wrong, repetitions = np.random.default_rng(5), 0, 400
        for _ in range(repetitions):
            result = one_run_audit(*responses(rng, 100, epsilon), delta=delta, guesses=guesses)
            wrong += result.epsilon_lower > epsilon
        assert wrong <= repetitions * 0.05 + 3 * np.sqrt(repetitions * 0.05 * 0.95)
        if guesses and delta == 0 and epsilon < 4:
            assert wrong > 0  # exact for randomised response


def stats_p_value(m, r, v, epsilon, delta):
    q, i = 1 / (1 + np.exp(-epsilon)), np.arange(1, v + 1)
    tail = stats.binom.sf(v - 1, r, q)
    return tail + 2 * m * delta * np.max((stats.binom.sf(v - 1 - i, r, q) - tail) / i)


class TestDpSgd:
    def test_an_audit_of_noisy_gradient_steps_stays_below_the_guarantee(self):
        """Canaries along directions of their own, full batches, Gaussian noise: GDP adds up."""
        rng = np.random.default_rng(6)
        canaries, dimension, steps, clip, noise = 400, 2000, 20, 1.0, 6.0
        member = rng.integers(0, 2, canaries)
        directions = np.eye(dimension)[:canaries] * clip
        scores = np.zeros(canaries)
        for _ in range(steps):
            gradient = member @ directions + rng.normal(0, noise * clip, dimension)
            scores += directions @ gradient
        mu = np.sqrt(steps) / noise  # a canary added or removed moves each sum by clip
        exact = float(GaussianTradeOff(mu).epsilon(1e-5))
        result = one_run_audit(scores, member, delta=1e-5)
        assert 0.1 * exact < result.epsilon_lower < exact


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [], "member": []}, "scores must hold at least one score"),
        (
            {"scores": [0.0, np.nan, 1.0, 2.0]},
            r"scores must be free of NaN, which 1 of 4 are; got scores\[1\] = nan",
        ),
        ({"member": [0, 1, 2, 1]}, r"member must hold 0 and 1 only; got member\[2\] = 2.0"),
        ({"member": [0, 1, np.nan, 1]}, r"member must hold 0 and 1 only; got member\[2\] = nan"),
        ({"member": [0, 1]}, "member must have one flag for each score; it has 2 for 4"),
        ({"member": [1, 1, 1, 1]}, "member must hold members and others; all 4 flags are 1"),
        ({"delta": 1}, "delta must be at least 0 and less than 1; got delta = 1.0"),
        ({"confidence": 1}, "confidence must be strictly between 0 and 1; got confidence = 1.0"),
        ({"guesses": (3, 2)}, "guesses must be at least 1 and at most all 4 canaries together"),
        ({"guesses": (0, 0)}, "guesses must be at least 1 and at most all 4 canaries together"),
        ({"guesses": [(1, 1), (2,)]}, r"guesses must be a pair .*; got guesses\[1\] = \(2,\)"),
        ({"guesses": []}, "guesses must have at least one choice"),
        ({"scores": [[0.0, 1.0], [2.0, 3.0]]}, "scores must have 1 dimension"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"scores": [0.0, 1.0, 2.0, 3.0], "member": [0, 1, 0, 1]} | change
    with pytest.raises(ValueError, match=message):
        one_run_audit(arguments.pop("scores"), arguments.pop("member"), **arguments)


@pytest.mark.parametrize("guesses", [3, (1.5, 2)])
def test_guesses_are_counts(guesses):
    with pytest.raises(TypeError, match="guesses"):
        one_run_audit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1], guesses=guesses)


class TestPatterns:
    """What too few flags cannot prove, and what the order of scores gives away."""

    @pytest.mark.parametrize(
        ("flags", "match"),
        [
            ([1, 0] * 6, "members and others alternate: fair coins give 12 flags so .* 0.0005"),
            ([1] * 9 + [0] * 9, "all members stand before all others, .* 18 flags so .* 0.0001"),
            ([0] * 3 + [1] * 14, "all members stand before .* 17 flags so .* 0.0002"),
        ],
    )
    def test_patterns_of_few_flags_are_named(self, flags, match):
        scores = np.random.default_rng(0).normal(size=len(flags))
        with pytest.warns(UserWarning, match=match):
            one_run_audit(scores, flags, allow_reversed=True)

    @pytest.mark.parametrize("flags", [[1, 0] * 5, [1] * 7 + [0] * 7, [1, 0] * 5 + [1, 1]])
    def test_patterns_that_are_not_so_rare_are_taken(self, flags):
        scores = np.random.default_rng(0).normal(size=len(flags))
        one_run_audit(scores, flags, allow_reversed=True)

    def test_a_table_that_is_sorted_by_the_score_is_taken(self):
        member = np.repeat([0, 1], 8)
        one_run_audit(np.arange(16.0), member)
        rng = np.random.default_rng(1)
        member = rng.integers(0, 2, 300)
        scores = rng.normal(2.0 * member)
        order = np.argsort(scores)
        assert one_run_audit(scores[order], member[order]).epsilon_lower > 1.0

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_sorted_scores_beside_flags_in_another_order_are_named(self, sign):
        rng = np.random.default_rng(1)
        member = rng.integers(0, 2, 300)
        scores = sign * np.sort(rng.normal(2.0 * member))
        with pytest.warns(UserWarning, match="the scores are sorted, and with these flags they"):
            one_run_audit(scores, member)
        one_run_audit(np.arange(8.0), member[:8], allow_reversed=True)  # chance may sort so few


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
        # The curve is replaced by lines below it, on the safe side.
        assert want - 1e-8 <= got
        if got < 0.999:
            assert got <= want * (1 + 2e-5) + 1e-8


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
