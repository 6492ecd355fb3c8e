"""The trade-off of the optimal attack on discrete data."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from mialeak.discrete import EnclosedTradeOff, _tradeoff as room, discrete_tradeoff, max_leakage
from mialeak.tradeoff import PiecewiseTradeOff

FPR = np.linspace(0, 1, 201)


def dirichlet(size, seed=0):
    p = np.random.default_rng(seed).dirichlet(np.ones(size))
    return p / math.fsum(p)


def enumerated(p, n):
    """Corners from all histograms and targets, in exact arithmetic: equal ratios are one."""
    law, shorter = (histograms(p, size) for size in (n, n - 1))
    groups = {}
    for counts, chance in law.items():
        for atom, probability in enumerate(p):
            fewer = tuple(c - (i == atom) for i, c in enumerate(counts))
            out, inside = probability * chance, probability * shorter.get(fewer, Fraction(0))
            if out:
                both = groups.setdefault(inside / out, [Fraction(0), Fraction(0)])
                both[0] += out
                both[1] += inside
    steps = [groups[ratio] for ratio in sorted(groups, reverse=True)]
    corners = itertools.accumulate(steps, lambda a, b: [a[0] + b[0], a[1] + b[1]])
    return np.array([[0, 0], *([float(x) for x in corner] for corner in corners)]).T


def histograms(p, n):
    law = {}
    for counts in itertools.product(range(n + 1), repeat=len(p)):
        if sum(counts) == n:
            chance = Fraction(math.factorial(n))
            for count, x in zip(counts, p, strict=True):
                chance = chance * x**count / math.factorial(count)
            law[counts] = chance
    return law


@pytest.mark.parametrize(
    ("p", "n"),
    [
        ([1], 3),
        ([Fraction(1, 2)] * 2, 1),
        ([Fraction(1, 2)] * 2, 7),
        ([Fraction(1, 4)] * 4, 4),
        ([Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)], 6),
        ([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], 8),
        ([Fraction(31, 32), Fraction(1, 32)], 9),
    ],
)
def test_corners_are_those_of_enumerating_all_histograms(p, n):
    fpr, power = enumerated([Fraction(x) for x in p], n)
    curve = discrete_tradeoff([float(x) for x in p], n)
    assert isinstance(curve, PiecewiseTradeOff)
    assert curve.kind == "exact"
    np.testing.assert_allclose(curve.vertices.fpr, fpr, rtol=1e-14)
    np.testing.assert_allclose(curve.vertices.power, power, rtol=1e-14)


def test_both_directions_of_delta_are_those_of_enumeration():
    p, n = [Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)], 7
    fpr, power = enumerated(p, n)
    curve = discrete_tradeoff([float(x) for x in p], n)
    for epsilon in (0.0, 0.01, 0.1, 0.7, 2.0, 5.0):
        growth = math.exp(epsilon)
        inside = np.max(power - growth * fpr)
        outside = np.max((1 - fpr) - growth * (1 - power))
        assert curve.delta(epsilon, direction="in") == pytest.approx(inside, abs=1e-15)
        assert curve.delta(epsilon, direction="out") == pytest.approx(outside, abs=1e-15)
        assert curve.delta(epsilon) == pytest.approx(max(inside, outside), abs=1e-15)


@pytest.mark.parametrize("size", [2, 30, 3000])
@pytest.mark.parametrize("n", [1, 2, 50, 10**5])
def test_advantage_and_deltas_are_the_largest_leakages(size, n):
    p = dirichlet(size, seed=size)
    curve = discrete_tradeoff(p, n)
    assert curve.advantage == pytest.approx(max_leakage(p, n), abs=1e-14)
    for epsilon in (1e-3, 0.1, 1.0, 4.0):
        into, out_of = (max_leakage(p, n, gamma=math.exp(x)) for x in (epsilon, -epsilon))
        assert curve.delta(epsilon, direction="in") == pytest.approx(into, abs=1e-12)
        assert curve.delta(epsilon, direction="out") == pytest.approx(out_of, abs=1e-12)


def test_points_are_the_tails_of_the_two_worlds():
    p, n = np.array([0.4, 0.3, 0.2, 0.099, 0.001]), 200
    curve = discrete_tradeoff(p, n)
    for threshold in (0.0, 0.55, 0.951, 1.013, 1.37, 4.9, 9.9):
        out = p @ stats.binom.sf(np.floor(threshold * n * p), n, p)
        inside = p @ stats.binom.sf(np.floor(threshold * n * p) - 1, n - 1, p)
        assert curve.power(out) == pytest.approx(inside, rel=1e-12)


@given(
    st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=8),
    st.integers(1, 60),
    st.floats(0.0, 1.0),
)
def test_a_curve_lies_between_guessing_and_certainty_and_shrinks_with_n(weights, n, fpr):
    p = np.array(weights) / math.fsum(weights)
    power = discrete_tradeoff(p, n).power(fpr)
    assert fpr * (1 - 1e-12) <= power <= 1
    assert discrete_tradeoff(p, n + 1).power(fpr) <= power + 1e-12


def test_the_optimal_attack_simulated_lies_on_the_curve():
    p, n, rounds = np.array([0.5, 0.3, 0.15, 0.05]), 40, 40_000
    rng = np.random.default_rng(8)
    target = rng.choice(p.size, rounds, p=p)
    out = rng.multinomial(n, p, rounds)
    inside = rng.multinomial(n - 1, p, rounds)
    row = np.arange(rounds)
    inside[row, target] += 1
    scores_out = out[row, target] / (n * p[target])
    scores_in = inside[row, target] / (n * p[target])
    curve = discrete_tradeoff(p, n)
    for threshold in (0.6, 0.8, 1.01, 1.2, 1.5, 2.1):
        fpr, power = np.mean(scores_out > threshold), np.mean(scores_in > threshold)
        error = 4 * (math.sqrt(power * (1 - power)) + 2 * math.sqrt(fpr * (1 - fpr)))
        assert abs(power - curve.power(fpr)) < error / math.sqrt(rounds)


def test_equal_ratios_become_one_corner():
    # j/(n p) of 0.1, 0.2 and 0.4 coincide for j, 2j and 4j, whatever the rounding of p.
    curve = discrete_tradeoff([0.1, 0.1, 0.1, 0.1, 0.2, 0.4], 10)
    ratios = {Fraction(j, w) for w in (1, 2, 4) for j in range(11)}
    assert curve.vertices.fpr.size == len(ratios) + 1
    slopes = np.diff(curve.vertices.power) / np.diff(curve.vertices.fpr)
    np.testing.assert_allclose(slopes, sorted(map(float, ratios), reverse=True), rtol=1e-6)


def test_a_chain_of_nearly_equal_ratios_is_not_one_corner():
    # Neighbours differ by 2^-49.4; the first and the last by 4e-11.
    size = 30_000
    p = 1 / size + 6 * math.ulp(1 / size) * (np.arange(size) - size / 2)
    curve = discrete_tradeoff(p, size)
    assert abs(curve.advantage - max_leakage(p, size)) < 1e-15
    leak = max_leakage(p, size, gamma=2.0)
    assert abs(curve.delta(math.log(2), direction="in") - leak) < 1e-15
    assert curve.epsilon(0.0, direction="in") == pytest.approx(-math.log(p.min()), rel=1e-14)


def test_atoms_of_equal_probability_cost_nothing():
    curve = discrete_tradeoff(np.full(10**6, 1e-6), 10**6)
    assert curve.advantage == pytest.approx(max_leakage([1e-6] * 10**6, 10**6), rel=1e-13)
    assert curve.vertices.fpr.size < 100


def test_impossible_atoms_change_nothing():
    curve, without = discrete_tradeoff([0.5, 0, 0.5], 9), discrete_tradeoff([0.5, 0.5], 9)
    np.testing.assert_array_equal(curve.vertices.power, without.vertices.power)
    discrete_tradeoff([0.5, 0.5, 1e-310], 9)


# --- counts left out ------------------------------------------------------------------------------


def test_ranges_of_counts_leave_out_next_to_nothing():
    mean = np.array([0.0, 1e-300, 1e-9, 0.01, 1.0, 30.0, 1e4, 1e12])
    low, high = room._poisson_range(mean)
    np.testing.assert_array_less(stats.poisson.sf(high, mean), 1e-26)
    np.testing.assert_array_less(stats.poisson.cdf(low - 1, mean), 1e-26)
    assert np.all(high - low < 45 + 23 * np.sqrt(mean))


def test_both_sides_of_leaving_counts_out(monkeypatch):
    p, n = dirichlet(40), 3000
    whole, part = (curve_with(monkeypatch, p, n, _ALL_CORNERS=few) for few in (10**9, 0))
    assert part.vertices.fpr.size < whole.vertices.fpr.size
    np.testing.assert_allclose(part.power(FPR), whole.power(FPR), rtol=1e-13)
    np.testing.assert_allclose(part.power(1e-15), whole.power(1e-15), rtol=1e-9)


@pytest.mark.parametrize("n", [5, 20, 1000, 3000, 10**5, 10**7])
@pytest.mark.parametrize("p", [[0.5, 0.3, 0.2], [0.9, 0.1], [0.5, 0.5], [1e-9, 0.5, 0.5 - 1e-9]])
def test_epsilon_at_delta_zero_is_the_largest_ratio_however_unlikely(p, n):
    """All rows may be the rarest atom; none may be the target's."""
    curve = discrete_tradeoff(p, n)
    assert curve.epsilon(0.0, direction="in") == pytest.approx(-math.log(min(p)), rel=1e-13)
    assert curve.epsilon(0.0, direction="out") == np.inf
    sure = discrete_tradeoff([1.0], n)
    assert sure.epsilon(0.0) == sure.delta(0.0) == 0.0


@pytest.mark.parametrize("delta", [1e-20, 1e-24, 1e-27, 1e-35, 1e-60])
def test_no_epsilon_is_too_small_where_counts_are_left_out(delta):
    p, n = [0.5, 0.3, 0.2], 10**6
    epsilon = discrete_tradeoff(p, n).epsilon(delta, direction="in")
    assert max_leakage(p, n, gamma=math.exp(epsilon)) <= delta * (1 + 1e-6)
    if delta > 1e-26:  # above what is left out it is no larger than needed
        assert max_leakage(p, n, gamma=math.exp(0.999 * epsilon)) > delta


def test_epsilon_at_delta_zero_knows_whether_atoms_are_as_rare_as_any():
    for law in (stats.poisson(3), stats.geom(0.3), stats.nbinom(3, 0.4)):
        curve = discrete_tradeoff(law, 50)
        assert curve.kind == "exact"
        assert curve.epsilon(0.0, direction="in") == np.inf
    for law, least in ((stats.binom(5, 0.3), 0.3**5), (stats.randint(0, 4), 0.25)):
        curve = discrete_tradeoff(law, 50)
        assert curve.epsilon(0.0, direction="in") == pytest.approx(-math.log(least), rel=1e-12)


def test_an_enclosed_curve_promises_no_epsilon_where_delta_is_zero():
    curve = discrete_tradeoff([0.5, 0.3, 0.2], 2**40)
    assert curve.kind == "bound"
    assert curve.epsilon(0.0, direction="in") >= -math.log(0.2)
    assert curve.epsilon(0.0, direction="out") == np.inf
    assert curve.epsilon(1e-20) < 1.0


# --- enclosed curves ------------------------------------------------------------------------------


def curve_with(monkeypatch, p, n, **constants):
    with monkeypatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(room, name, value)
        return discrete_tradeoff(p, n)


@pytest.mark.parametrize("size", [2, 50, 400])
@pytest.mark.parametrize("n", [20, 10**4])
@pytest.mark.parametrize("many", [2, 10**9], ids=["tails", "outcomes"])
def test_enclosed_curves_contain_the_exact_one(monkeypatch, size, n, many):
    p = dirichlet(size, seed=size)
    exact = discrete_tradeoff(p, n)
    enclosed = curve_with(
        monkeypatch, p, n, _MOST_CORNERS=0, _MOST_LISTED=many, _MOST_THRESHOLDS=2**11
    )
    assert isinstance(exact, PiecewiseTradeOff)
    assert isinstance(enclosed, EnclosedTradeOff)
    assert enclosed.kind == "bound"
    fpr = np.concatenate([FPR, np.geomspace(1e-12, 1, 50), exact.vertices.fpr])
    bounds, truth = enclosed.enclosure(fpr), exact.power(fpr)
    assert np.all(bounds.lower <= truth + 1e-13)
    assert np.all(truth <= bounds.upper + 1e-13)
    assert np.all(bounds.upper - bounds.lower <= enclosed.error)
    assert enclosed.error < 1e-4
    np.testing.assert_array_equal(enclosed.power(fpr), bounds.upper)
    assert enclosed.advantage == pytest.approx(max_leakage(p, n), abs=1e-13)


def test_more_thresholds_bring_the_two_curves_together(monkeypatch):
    p = dirichlet(1000)
    errors = [
        curve_with(monkeypatch, p, 10**5, _MOST_CORNERS=0, _MOST_THRESHOLDS=count).error
        for count in (2**8, 2**10, 2**12)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize(("size", "n"), [(300_000, 10**5), (5, 10**12), (3, 2**53)])
def test_large_problems_are_enclosed(size, n):
    p = dirichlet(size)
    curve = discrete_tradeoff(p, n)
    assert curve.error < 1e-7
    assert curve.advantage == pytest.approx(max_leakage(p, n), rel=1e-6, abs=1e-13)
    into = max_leakage(p, n, gamma=math.exp(1e-3))
    assert into - 1e-13 <= curve.delta(1e-3, direction="in") <= into + curve.error


def test_enclosed_curves_answer_as_their_upper_curve(monkeypatch):
    curve = curve_with(monkeypatch, dirichlet(9), 30, _MOST_CORNERS=0)
    upper = curve.upper
    assert curve.auc == upper.auc >= curve.lower.auc
    assert curve.fnr(0.2) == upper.fnr(0.2)
    assert curve.fpr(0.2) == upper.fpr(0.2)
    assert curve.delta(0.3) == upper.delta(0.3)
    assert curve.epsilon(1e-3) == upper.epsilon(1e-3)
    assert curve.subsample(0.5).power(0.1) == upper.subsample(0.5).power(0.1)
    small = curve_with(monkeypatch, [0.5, 0.5], 3, _MOST_CORNERS=0, _MOST_THRESHOLDS=16)
    assert small.compose(small).advantage == small.upper.compose(small.upper).advantage
    assert small.compose(small).kind == "bound"
    assert repr(curve).startswith("EnclosedTradeOff(error=")
    plain = small.to_dict()
    assert plain["type"] == "EnclosedTradeOff"
    assert plain["upper"]["power"] == small.upper.vertices.power.tolist()


# --- countable laws -------------------------------------------------------------------------------


def test_light_laws_have_an_exact_curve():
    curve = discrete_tradeoff(stats.geom(0.3), 60)
    p = 0.3 * 0.7 ** np.arange(100)
    other = discrete_tradeoff(p, 60)
    assert curve.kind == "exact"
    np.testing.assert_allclose(curve.power(FPR[1:]), other.power(FPR[1:]), rtol=1e-11)
    assert 0.0 < curve.power(0.0) < 1e-150  # of atoms that all but never appear


def test_heavy_laws_have_an_enclosed_curve(monkeypatch):
    law, n = stats.zipf(2.5), 100
    curve = curve_with(monkeypatch, law, n, _MOST_ATOMS=2**12)
    assert isinstance(curve, EnclosedTradeOff)
    tail = law.sf(2**12)
    assert tail / 2 < curve.error < 1.01 * tail + 1e-9
    # A law with more of its atoms taken one by one lies between.
    closer = curve_with(monkeypatch, law, n, _MOST_ATOMS=2**15)
    assert np.all(closer.upper.power(FPR) <= curve.upper.power(FPR) + 1e-12)
    assert np.all(closer.lower.power(FPR) >= curve.lower.power(FPR) - 1e-12)
    value = max_leakage(law, n)
    assert value <= curve.advantage <= value + curve.error
    assert value - curve.error <= curve.lower.advantage <= value


@pytest.mark.parametrize(("exponent", "n"), [(3.0, 50), (2.5, 200), (2.2, 50)])
def test_both_ends_are_in_order_where_the_curves_meet(exponent, n):
    """Where no count is left out the two curves are one, up to rounding."""
    curve = discrete_tradeoff(stats.zipf(exponent), n)
    fpr = np.linspace(0.0, 1.0, 20_001)
    bounds = curve.enclosure(fpr)
    assert np.all(fpr <= bounds.lower)
    assert np.all(bounds.lower <= bounds.upper)
    assert np.all(bounds.upper <= bounds.lower + curve.error)
