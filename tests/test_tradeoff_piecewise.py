"""Curves with corners against exact fractions and brute force over events."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff, SubsampledTradeOff

GROWTHS = [Fraction(1), Fraction(21, 20), Fraction(3, 2), Fraction(2), Fraction(7), Fraction(10**6)]


def law(weights):
    total = sum(weights)
    return [Fraction(int(w), int(total)) for w in weights]


def random_laws(seed, count, most=9):
    rng = np.random.default_rng(seed)
    out, inside = (rng.integers(0, most, count) for _ in range(2))
    out[0] += 1
    inside[-1] += 1
    return law(out), law(inside)


def floats(numbers):
    return np.array([float(x) for x in numbers])


def curve_of(out, inside):
    return PiecewiseTradeOff.from_laws(floats(out), floats(inside))


def best(first, second, growth):
    """Largest first(S) - growth second(S): every outcome with a positive difference."""
    return sum(
        (max(a - growth * b, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0)
    )


def neyman_pearson(out, inside, level):
    """Power at `level` in fractions: outcomes by falling ratio, the last one shared."""
    order = sorted(
        range(len(out)), key=lambda k: -(inside[k] / out[k]) if out[k] else float("-inf")
    )
    power, left = Fraction(0), level
    for k in order:
        if out[k] <= left:
            power, left = power + inside[k], left - out[k]
        else:
            return power + inside[k] * left / out[k]
    return power


@pytest.mark.parametrize("seed", range(8))
def test_delta_both_ways_against_fractions(seed):
    out, inside = random_laws(seed, 12)
    curve = curve_of(out, inside)
    for growth in GROWTHS:
        epsilon = np.log(float(growth))
        first, second = float(best(inside, out, growth)), float(best(out, inside, growth))
        assert curve.delta(epsilon, direction="in") == pytest.approx(first, rel=1e-14, abs=1e-15)
        assert curve.delta(epsilon, direction="out") == pytest.approx(second, rel=1e-14, abs=1e-15)
        assert curve.delta(epsilon) == max(
            curve.delta(epsilon, direction="in"), curve.delta(epsilon, direction="out")
        )


@pytest.mark.parametrize("seed", range(8))
def test_power_against_neyman_and_pearson(seed):
    out, inside = random_laws(seed, 10)
    curve = curve_of(out, inside)
    for level in (
        Fraction(0),
        Fraction(1, 10**9),
        Fraction(1, 7),
        Fraction(1, 2),
        Fraction(99, 100),
        Fraction(1),
    ):
        truth = neyman_pearson(out, inside, level)
        assert curve.power(float(level)) == pytest.approx(float(truth), rel=1e-14)
        assert curve.fnr(float(level)) == pytest.approx(float(1 - truth), rel=1e-12, abs=1e-16)
        assert curve.power(curve.fpr(float(truth))) == pytest.approx(float(truth), rel=1e-14)
        assert curve.fpr(float(truth)) <= float(level) + 1e-15
    assert curve.advantage == pytest.approx(float(best(inside, out, Fraction(1))), rel=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_auc_is_the_probability_of_the_right_order(seed):
    out, inside = random_laws(seed, 8)
    area = Fraction(0)
    for p, q in zip(out, inside, strict=True):
        for other_p, other_q in zip(out, inside, strict=True):
            # q of "in", other_p of "out"; ratios compared crosswise
            left, right = q * other_p, other_q * p
            weight = 1 if left > right else Fraction(1, 2) if left == right else 0
            area += q * other_p * weight
    assert curve_of(out, inside).auc == pytest.approx(float(area), rel=1e-14)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("direction", ["in", "out"])
def test_epsilon_is_the_least_that_suffices(seed, direction):
    out, inside = random_laws(seed, 12)
    pair = (inside, out) if direction == "in" else (out, inside)
    curve = curve_of(out, inside)
    for delta in (0.0, 1e-9, 0.01, 0.1, 0.3, 0.9, 1.0):
        epsilon = curve.epsilon(delta, direction=direction)
        if epsilon == np.inf:
            assert sum((a for a, b in zip(*pair, strict=True) if b == 0), Fraction(0)) > delta
            continue
        growth = Fraction(float(np.exp(epsilon)))
        assert float(best(*pair, growth * (1 + Fraction(1, 10**12)))) <= delta + 1e-15
        if epsilon > 0:
            assert float(best(*pair, growth * (1 - Fraction(1, 10**12)))) >= delta - 1e-15


def test_small_numbers_keep_their_digits_at_both_ends():
    tiny = 1e-200
    curve = PiecewiseTradeOff.from_laws([tiny, 0.5, 0.5, 1e-100], [1e-150, 0.4, 0.6, 1e-180])
    assert curve.power(tiny) == pytest.approx(1e-150, rel=1e-14)
    assert curve.power(tiny / 4) == pytest.approx(2.5e-151, rel=1e-14)
    assert curve.fpr(1e-151) == pytest.approx(1e-201, rel=1e-14)
    assert curve.epsilon(0.0, direction="in") == pytest.approx(50 * np.log(10), rel=1e-14)
    assert curve.epsilon(0.0, direction="out") == pytest.approx(80 * np.log(10), rel=1e-14)
    assert curve.delta(100.0, direction="in") == pytest.approx(1e-150, rel=1e-6)
    assert curve.delta(100.0, direction="out") == pytest.approx(1e-100, rel=1e-6)


def test_laws_that_are_close_keep_the_digits_of_their_distance():
    step = 2.0**-40
    curve = PiecewiseTradeOff.from_laws(
        [0.25] * 4, [0.25 + step, 0.25 - step, 0.25 + step, 0.25 - step]
    )
    assert curve.advantage == 2 * step
    assert curve.delta(step) == pytest.approx(2 * step - 0.5 * np.expm1(step), rel=1e-15)
    # not through e^epsilon, which rounds
    assert curve.epsilon(step) == pytest.approx(2 * step, rel=1e-11)


def test_epsilon_is_right_where_its_exponential_overflows():
    curve = PiecewiseTradeOff([0.0, 5e-324, 0.5], [1e-3, 0.5, 0.9])
    assert curve.delta(
        [700.0, 701.0, 740.0, 800.0, np.inf], direction="in"
    ).tolist() == pytest.approx(
        [0.5, 0.5, 0.5 - 5e-324 * np.exp(740.0 - 700) * np.exp(700.0), 1e-3, 1e-3], rel=1e-9
    )
    assert 740 < curve.epsilon(2e-3, direction="in") < 745
    assert curve.epsilon(1e-4, direction="in") == np.inf


@pytest.mark.parametrize(("seed", "other"), [(1, 2), (3, 4), (5, 5)])
def test_composition_is_the_curve_of_the_product_laws(seed, other):
    one, two = random_laws(seed, 6), random_laws(other, 5)
    both = curve_of(*one).compose(curve_of(*two))
    out = [a * b for a in one[0] for b in two[0]]
    inside = [a * b for a in one[1] for b in two[1]]
    for growth in GROWTHS:
        epsilon = np.log(float(growth))
        for direction, pair in (("in", (inside, out)), ("out", (out, inside))):
            truth = float(best(*pair, growth))
            assert both.delta(epsilon, direction=direction) == pytest.approx(truth, abs=2e-15)
    assert both.power(0.0) == pytest.approx(
        float(neyman_pearson(out, inside, Fraction(0))), abs=1e-15
    )


def test_composition_of_randomised_response_adds_its_epsilons():
    once = PiecewiseTradeOff([0.25], [0.75])
    many = once
    for _ in range(9):
        many = many.compose(once)
    assert many.epsilon(0.0) == pytest.approx(10 * np.log(3.0), rel=1e-13)
    np.testing.assert_allclose(many.vertices.fpr[1], 0.25**10, rtol=1e-14)


def test_composition_keeps_the_largest_ratios_of_outcomes_that_underflow():
    rare = PiecewiseTradeOff([1e-200], [1e-199])
    for _ in range(2):
        rare = rare.compose(rare)
    assert rare.epsilon(0.0, direction="in") == pytest.approx(4 * np.log(10), rel=1e-13)


def test_composition_that_is_too_long_is_refused():
    long = PiecewiseTradeOff(np.linspace(0, 1, 3001), np.sqrt(np.linspace(0, 1, 3001)))
    with pytest.raises(ValueError, match="3000 times 3000 segments are more than 4194304 pairs"):
        long.compose(long)


def test_subsampling_agrees_with_the_general_form():
    out, inside = random_laws(11, 9)
    curve = curve_of(out, inside)
    for rate in (0.0, 1e-9, 0.3, 1.0):
        direct, general = curve.subsample(rate), SubsampledTradeOff(curve, rate)
        assert isinstance(direct, PiecewiseTradeOff)
        for direction in ("in", "out"):
            for epsilon in (0.0, 1e-10, 0.1, 2.0, 800.0, np.inf):
                expected = general.delta(epsilon, direction=direction)
                assert direct.delta(epsilon, direction=direction) == pytest.approx(
                    expected, rel=1e-12, abs=1e-16
                )
        assert direct.auc == pytest.approx(general.auc, rel=1e-14)
    assert isinstance(curve.subsample([0.1, 0.2]), SubsampledTradeOff)


def test_a_million_vertices_are_searched_not_scanned():
    rng = np.random.default_rng(0)
    mu, count = 1.5, 1_000_000
    z = np.sort(rng.normal(size=count))
    from scipy.special import ndtr

    curve = PiecewiseTradeOff(ndtr(z), ndtr(z + mu))
    smooth = GaussianTradeOff(mu)
    fpr, power = curve.vertices
    epsilon = np.append(rng.uniform(0, 8, 40), [0.0, 30.0])
    scan_in = [(power - np.exp(e) * fpr).max() for e in epsilon]
    scan_out = [((1 - fpr) - np.exp(e) * (1 - power)).max() for e in epsilon]
    np.testing.assert_allclose(
        curve.delta(epsilon, direction="in"), np.maximum(scan_in, 0), atol=1e-15
    )
    np.testing.assert_allclose(
        curve.delta(epsilon, direction="out"), np.maximum(scan_out, 0), atol=1e-15
    )
    np.testing.assert_allclose(curve.delta(epsilon), smooth.delta(epsilon), atol=1e-8)
    deltas = np.array([1e-4, 0.01, 0.3])
    np.testing.assert_allclose(curve.epsilon(deltas), smooth.epsilon(deltas), rtol=1e-4)
    np.testing.assert_allclose(curve.delta(curve.epsilon(deltas)), deltas, rtol=1e-10)


def test_the_ends_are_added_and_idle_vertices_dropped():
    assert PiecewiseTradeOff([], []).vertices.fpr.tolist() == [0.0, 1.0]
    identity = PiecewiseTradeOff([], [])
    almost = PiecewiseTradeOff.from_laws([1.0], [1 - 1e-10])  # sums within 1e-9 are taken
    assert almost.advantage == 0
    assert identity.advantage == identity.delta(0.0) == identity.epsilon(0.0) == 0
    curve = PiecewiseTradeOff([0.0, 0.0, 0.2, 0.2, 1.0], [0.0, 0.1, 0.6, 0.6, 1.0])
    assert curve.vertices.fpr.tolist() == [0.0, 0.2, 1.0]
    assert curve.vertices.power.tolist() == [0.1, 0.6, 1.0]
    sure = PiecewiseTradeOff([0.3, 0.7], [1.0, 1.0])
    assert sure.fpr(1.0) == 0.3
    assert sure.epsilon(0.5, direction="out") == np.inf
    assert sure.epsilon(0.7, direction="out") == 0
    perfect = PiecewiseTradeOff([0.0], [1.0])
    assert perfect.power(0.0) == perfect.advantage == perfect.delta(np.inf) == perfect.auc == 1
    assert perfect.epsilon(0.5) == np.inf


def test_rounding_is_no_offence_against_concavity():
    rng = np.random.default_rng(1)
    for count in (10, 1000, 100_000):
        out = rng.dirichlet(np.full(count, 0.3))
        inside = out * rng.choice([0.5, 0.9, 1.0, 1.1, 2.0], count)
        inside /= inside.sum()
        order = np.argsort(-(inside / np.maximum(out, 1e-300)), kind="stable")
        fpr = np.minimum(np.cumsum(out[order]), 1.0)
        power = np.minimum(np.cumsum(inside[order]), 1.0)
        curve = PiecewiseTradeOff(fpr, power)
        exact = PiecewiseTradeOff.from_laws(out, inside)
        assert curve.delta(0.3) == pytest.approx(exact.delta(0.3), abs=1e-12)


@pytest.mark.parametrize(
    ("fpr", "power", "message"),
    [
        ([0.5, 0.3], [0.6, 0.7], r"fpr must be nondecreasing; got fpr\[1\] = 0\.3"),
        ([0.3, 0.5], [0.6, 0.5], r"power must be nondecreasing; got power\[1\] = 0\.5"),
        (
            [0.0, 0.4, 0.5, 1],
            [0, 0.41, 0.7, 1],
            r"power must be concave in fpr.*power\[1\] = 0\.41",
        ),
        ([0.4], [0.3], r"power must be concave in fpr.*got power\[0\] = 0\.3"),
        ([0.2, 0.2], [0.3, 0.4], r"power must be concave in fpr.*got power\[0\] = 0\.3"),
        ([1.2], [1.3], r"fpr must be between 0 and 1; got fpr\[0\] = 1\.2"),
        ([0.2], [-0.1], r"power must be between 0 and 1; got power\[0\] = -0\.1"),
        ([0.2, np.nan], [0.5, 0.6], r"fpr must be between 0 and 1; got fpr\[1\] = nan"),
        ([0.2], [0.5, 0.6], "power must have as many elements as fpr; it has 2 and fpr 1"),
        ([[0.2]], [[0.5]], "fpr must have 1 dimension"),
    ],
)
def test_vertices_that_are_no_curve_are_refused(fpr, power, message):
    with pytest.raises(ValueError, match=message):
        PiecewiseTradeOff(fpr, power)


@pytest.mark.parametrize(
    ("p_out", "p_in", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], r"p_out must sum to 1 within 1e-9; the sum is 1\.1\. Divide by"),
        ([0.5, 0.5], [1.5, -0.5], r"p_in must hold probabilities between 0 and 1; got p_in\[0\]"),
        ([0.5, 0.5], [1.0], "p_in must have as many elements as p_out; it has 1 and p_out 2"),
        ([0.5, np.nan], [0.5, 0.5], r"p_out must hold probabilities.*got p_out\[1\] = nan"),
    ],
)
def test_laws_that_are_none_are_refused(p_out, p_in, message):
    with pytest.raises(ValueError, match=message):
        PiecewiseTradeOff.from_laws(p_out, p_in)


weights = st.lists(st.integers(0, 1000), min_size=2, max_size=12).filter(any)


@given(data=st.data(), fpr=st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted))
def test_any_laws_give_a_concave_curve_whose_deltas_are_suprema(data, fpr):
    out = data.draw(weights)
    inside = data.draw(
        st.lists(st.integers(0, 1000), min_size=len(out), max_size=len(out)).filter(any)
    )
    curve = PiecewiseTradeOff.from_laws(floats(law(out)), floats(law(inside)))
    low, mid, high = fpr
    power = curve.power(fpr)
    assert power[0] <= power[1] + 1e-15 <= power[2] + 2e-15
    assert (power[1] - power[0]) * (high - mid) >= (power[2] - power[1]) * (mid - low) - 1e-14
    for epsilon in (0.0, 0.5, 3.0):
        assert (power - np.exp(epsilon) * np.array(fpr)).max() <= curve.delta(
            epsilon, direction="in"
        ) + 1e-14
    epsilon = curve.epsilon(0.05)
    assert curve.delta(epsilon) <= 0.05 + 1e-15 or epsilon == np.inf


# --- many equal releases -------------------------------------------------------------------------


def randomised_response(times, epsilon):
    """Powers at the vertices of k randomised responses: two binomials, in rationals."""
    p = 1 / (1 + Fraction(epsilon).limit_denominator(10**6))
    out = [math.comb(times, k) * p ** (times - k) * (1 - p) ** k for k in range(times + 1)]
    fpr = list(itertools.accumulate(out, initial=Fraction(0)))
    power = list(itertools.accumulate(out[::-1], initial=Fraction(0)))
    return p, fpr, power


@pytest.mark.parametrize("times", [2, 12, 100])
@pytest.mark.parametrize("epsilon", [3, 1.25])
def test_equal_slopes_of_a_composed_curve_are_one_segment(times, epsilon):
    """Randomised response twelve times had 4,097 vertices, and 23 times was refused."""
    p, fpr, power = randomised_response(times, epsilon)
    once = PiecewiseTradeOff([float(p)], [float(1 - p)])
    curve = once
    for _ in range(times - 1):
        curve = curve.compose(once)
    assert curve.vertices.fpr.size == times + 2
    np.testing.assert_allclose(curve.vertices.fpr, [float(x) for x in fpr], atol=2e-15)
    np.testing.assert_allclose(curve.vertices.power, [float(x) for x in power], atol=2e-15)
    advantage = max(abs(a - b) for a, b in zip(fpr, power, strict=True))
    assert abs(curve.advantage - float(advantage)) <= 2e-15
    assert curve.epsilon(0.0) == pytest.approx(times * math.log((1 - p) / p), rel=1e-14)


def test_outcomes_that_one_world_rules_out_stay_apart_when_merged():
    once = PiecewiseTradeOff([0.0, 0.5], [0.25, 0.75])
    twice = once.compose(once)
    assert twice.power(0.0) == pytest.approx(1 - 0.75**2)
    assert twice.epsilon(0.0, direction="in") == math.inf
    outcomes = [[0.0, 0.5, 0.5], [0.25, 0.5, 0.25]]
    pairs = [np.multiply.outer(law, law).ravel() for law in outcomes]
    direct = PiecewiseTradeOff.from_laws(*pairs)
    grid = np.linspace(0, 1, 101)
    np.testing.assert_allclose(twice.power(grid), direct.power(grid), atol=1e-15)


def test_epsilon_is_infinite_where_an_outcome_is_impossible_in_one_world():
    """An end of the curve of height 0 was -0, and epsilon NaN."""
    ruled_out = PiecewiseTradeOff.from_laws([0.5, 0.4, 0.1], [0.6, 0.4, 0.0])
    steep = PiecewiseTradeOff.from_laws([0.5, 0.5], [1e-3, 1.0 - 1e-3])
    for count in range(1, 121, 7):
        both = ruled_out
        for _ in range(count):
            both = both.compose(steep)
        assert both.epsilon(0.01, direction="out") == np.inf
        assert both.epsilon(0.1001, direction="out") < np.inf


@pytest.mark.parametrize("epsilon", [1e-13, 1e-6, 1e-3, 0.3])
def test_small_epsilons_have_all_digits_of_their_advantage(epsilon):
    """Of 1e-6 ten digits were right; composed, the stated error was 1e-14."""
    curve = PiecewiseTradeOff.from_epsilon(epsilon)
    assert curve.advantage == pytest.approx(math.tanh(epsilon / 2.0), rel=1e-15, abs=0.0)
    p = Fraction(curve.vertices.power[1])
    ratio = Fraction(math.expm1(epsilon)) + 1
    other = p / ratio
    # Three independent answers: the majority's.
    law_in = [p**k * other ** (3 - k) for k in range(4)]
    total = (p + other) ** 3
    truth = sum(
        math.comb(3, k) * max(law_in[k] - law_in[3 - k], Fraction(0)) / total for k in range(4)
    )
    triple = curve.compose(curve).compose(curve)
    assert triple.advantage == pytest.approx(float(truth), rel=2e-15, abs=0.0)


@pytest.mark.parametrize("slope", [20.0, 32.0, 40.0, 600.0])
def test_samples_of_nearly_all_rows_keep_the_smallest_ratios(slope):
    """log1p(rate expm1(slope)) lost them: an epsilon at rate 1 was infinite, or too small."""
    rare = 0.5 * math.exp(-slope)
    curve = PiecewiseTradeOff.from_laws([0.5, 0.5], [1.0 - rare, rare])
    for rate in (0.5, 0.999, 1.0 - 1e-12, 1.0):
        truth = -math.log((1.0 - rate) + rate * math.exp(-slope))
        sampled = curve.subsample(rate).epsilon(0.0, direction="out")
        assert sampled == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("epsilon", [600.0, 740.0, 800.0, 3000.0])
def test_answers_with_an_epsilon_beyond_the_least_number(epsilon):
    """Probabilities of e^-epsilon underflow: the curve was that of a release that shows all."""
    curve = PiecewiseTradeOff.from_epsilon(epsilon)
    assert (curve.power(0.0), curve.fnr(0.0), curve.fpr(1.0)) == (0.0, 1.0, 1.0)
    for direction in ("in", "out"):
        assert curve.epsilon(0.0, direction=direction) == epsilon
        assert curve.delta(epsilon + 1.0, direction=direction) == 0.0
        for short in (0.01, 1.0, 5.0):
            delta = curve.delta(epsilon - short, direction=direction)
            assert delta == pytest.approx(-math.expm1(-short), rel=1e-11)
            again = curve.epsilon(delta, direction=direction)
            assert again == pytest.approx(epsilon - short, rel=1e-13)
    assert curve.epsilon(0.5) == pytest.approx(epsilon - math.log(2.0), rel=1e-14)
