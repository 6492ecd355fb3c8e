"""Sub-sampled curves: high precision for normals, enumeration for discrete laws, the errata."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special

from mialeak.tradeoff import (
    EmpiricalTradeOff,
    GaussianTradeOff,
    PiecewiseTradeOff,
    SubsampledTradeOff,
)

RNG = np.random.default_rng(7)
RATES = [1e-12, 1e-6, 0.01, 0.3, 0.9, 1.0]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(100):
        yield


def cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def delta(epsilon, mu, rate, direction):
    """The formula of the class in 100 digits; base directions agree."""
    epsilon, mu, rate = (mp.mpf(float(x)) for x in (epsilon, mu, rate))
    share = rate if direction == "in" else 1 - (1 - rate) * mp.exp(epsilon)
    if share <= 0:
        return mp.mpf(0)
    y = mp.log(1 + mp.expm1(epsilon) / share)
    return share * (cdf(mu / 2 - y / mu) - mp.exp(y) * cdf(-y / mu - mu / 2))


def relative(value, truth):
    return abs(float((mp.mpf(float(value)) - truth) / truth))


def curve(mu, rate):
    return SubsampledTradeOff(GaussianTradeOff(mu), rate)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [1e-3, 0.2, 1.0, 5.0, 40.0])
def test_delta_in_holds_13_digits(mu, rate):
    inner = mu * mu / 2 + mu * RNG.uniform(-min(mu / 2, 30), 37, 25)
    epsilon = np.logaddexp(np.log1p(-rate) if rate < 1 else -np.inf, np.log(rate) + inner)
    epsilon = np.append(np.maximum(epsilon, 0.0), RNG.uniform(0, 700, 3))
    values = curve(mu, rate).delta(epsilon, direction="in")
    truths = [delta(e, mu, rate, "in") for e in epsilon]
    errors = [relative(v, t) for v, t in zip(values, truths, strict=True) if t > 3e-308]
    assert len(errors) > 10
    assert max(errors) < 5e-14


@pytest.mark.parametrize("rate", RATES[:-1])
@pytest.mark.parametrize("mu", [0.2, 1.0, 5.0, 40.0])
def test_delta_out_holds_13_digits_or_what_epsilon_allows(mu, rate):
    last = -np.log1p(-rate)
    epsilon = last * np.append(RNG.random(25), 1 - 10.0 ** -np.arange(1, 6))
    for e in epsilon:
        truth = delta(e, mu, rate, "out")
        if truth < 3e-308:
            continue
        # Near the end delta plunges: allow what half a unit in the last place of epsilon makes.
        neighbour = delta(np.nextafter(e, 2 * e), mu, rate, "out")
        slack = 5e-14 + relative(neighbour, truth)
        assert relative(curve(mu, rate).delta(e, direction="out"), truth) < slack


def test_delta_at_epsilon_700_and_beyond():
    for mu, rate in ((30.0, 1e-12), (20.0, 0.5), (40.0, 1e-3)):
        value = curve(mu, rate).delta(700.0)
        assert relative(value, delta(700.0, mu, rate, "in")) < 1e-13
    assert 0 < curve(60.0, 1e-12).delta(1700.0) < 1e-12
    assert relative(curve(60.0, 1e-12).delta(1700.0), delta(1700, 60, 1e-12, "in")) < 1e-13


@pytest.mark.parametrize("edge", [499.999, 500.001])
def test_delta_on_both_sides_of_the_large_epsilon_form(edge):
    for rate in (1e-12, 0.3, 1.0):
        assert relative(curve(30.0, rate).delta(edge), delta(edge, 30, rate, "in")) < 5e-14


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [0.2, 1.0, 5.0, 30.0])
def test_epsilon_is_the_inverse_of_delta(mu, rate, direction):
    top = rate * special.erf(mu / np.sqrt(8))
    targets = top * np.array([1e-280, 1e-100, 1e-12, 1e-3, 0.1, 0.5, 0.9])
    found = curve(mu, rate).epsilon(targets, direction=direction)
    for target, e in zip(targets, found, strict=True):
        # Whatever epsilon cannot express, delta must lie between its values next to it.
        above = delta(e * (1 - 1e-13), mu, rate, direction)
        below = delta(e * (1 + 1e-13), mu, rate, direction)
        slack = mp.mpf(float(target)) * mp.mpf(4e-15)
        assert below - slack <= mp.mpf(float(target)) <= above + slack


def test_epsilon_where_the_base_is_over_500():
    sub = curve(40.0, 1e-12)
    for target in (1e-13, 1e-200):
        e = sub.epsilon(target)
        assert sub.delta(e) == pytest.approx(target, rel=1e-11)
    one = curve(40.0, 1.0)
    for direction in ("in", "out"):
        e = one.epsilon(1e-250, direction=direction)
        assert e == pytest.approx(GaussianTradeOff(40.0).epsilon(1e-250), rel=1e-14)


def test_epsilon_out_never_exceeds_its_end():
    for rate in (1e-12, 0.1, 0.999, 1 - 2.0**-53):
        end = -np.log1p(-rate)
        assert curve(3.0, rate).epsilon(0.0, direction="out") == pytest.approx(end, rel=1e-15)
        assert curve(3.0, rate).delta(end * (1 + 1e-14), direction="out") == 0
        assert curve(3.0, rate).epsilon(1e-300, direction="out") <= end
    assert curve(3.0, 0.1).epsilon(0.0, direction="in") == np.inf


def test_power_and_fnr_are_the_mixtures():
    fpr = np.concatenate([10 ** RNG.uniform(-300, 0, 50), 1 - 10 ** RNG.uniform(-15, 0, 50)])
    base, rate = GaussianTradeOff(2.5), 0.2
    sub = SubsampledTradeOff(base, rate)
    np.testing.assert_allclose(sub.power(fpr), rate * base.power(fpr) + 0.8 * fpr, rtol=1e-15)
    np.testing.assert_allclose(sub.fnr(fpr), rate * base.fnr(fpr) + 0.8 * (1 - fpr), rtol=1e-15)
    assert sub.advantage == pytest.approx(rate * base.advantage, rel=1e-15)
    # The area by another way: the integral of the power.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    z = 10 * nodes
    area = 10 * np.sum(
        weights * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * sub.power(special.ndtr(z))
    )
    assert sub.auc == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [1e-3, 1.0, 8.0])
def test_fpr_is_the_inverse_of_power(mu, rate):
    sub = curve(mu, rate)
    power = np.concatenate([10 ** RNG.uniform(-200, 0, 20), RNG.random(20), [0.0, 1.0]])
    fpr = sub.fpr(power)
    back = sub.power(fpr)
    reachable = fpr > 1e-300
    np.testing.assert_allclose(back[reachable], power[reachable], rtol=5e-14)
    assert fpr[-2] == 0
    assert fpr[-1] == pytest.approx(1.0, abs=1e-15)


def test_rate_zero_reveals_nothing():
    sub = curve(3.0, 0.0)
    u = np.array([0.0, 1e-10, 0.5, 1.0])
    np.testing.assert_array_equal(sub.power(u), u)
    np.testing.assert_array_equal(sub.fpr(u), u)
    for direction in ("in", "out", "both"):
        np.testing.assert_array_equal(sub.delta([0.0, 1.0, 800.0, np.inf], direction=direction), 0)
        np.testing.assert_array_equal(sub.epsilon([0.0, 1e-9, 1.0], direction=direction), 0)
    assert sub.advantage == 0
    assert sub.auc == 0.5


def test_rate_one_is_the_base():
    base, sub = GaussianTradeOff(3.0), curve(3.0, 1.0)
    u = np.array([0.0, 1e-10, 0.5, 1.0])
    np.testing.assert_array_equal(sub.power(u), base.power(u))
    np.testing.assert_allclose(sub.fpr(u), base.fpr(u), rtol=1e-14)
    for direction in ("in", "out", "both"):
        e = np.array([0.0, 1e-9, 1.0, 100.0, 800.0, np.inf])
        np.testing.assert_allclose(sub.delta(e, direction=direction), base.delta(e), rtol=1e-14)
        d = np.array([0.0, 1e-300, 1e-9, 0.3, 1.0])
        np.testing.assert_allclose(sub.epsilon(d, direction=direction), base.epsilon(d), rtol=1e-14)


def test_a_base_that_reveals_all_leaves_the_rate():
    sub = curve(np.inf, 0.25)
    assert sub.power(0.0) == sub.advantage == sub.delta(0.0) == sub.delta(np.inf) == 0.25
    assert sub.epsilon(0.2) == np.inf
    assert sub.epsilon(0.25) == 0
    # out: P_out(S) - e^eps 3/4 P_out(S) at most
    assert sub.delta(0.1, direction="out") == pytest.approx(1 - 0.75 * np.exp(0.1), rel=1e-14)
    assert sub.epsilon(0.1, direction="out") == pytest.approx(np.log(0.9 / 0.75), rel=1e-13)


def test_rates_parameters_and_arguments_broadcast():
    sub = SubsampledTradeOff(GaussianTradeOff([1.0, 2.0, 3.0]), [[0.0], [0.1], [1.0]])
    for name, x in (
        ("power", 0.05),
        ("fnr", 0.05),
        ("fpr", 0.3),
        ("delta", 0.05),
        ("epsilon", 1e-3),
    ):
        table = getattr(sub, name)(x)
        assert table.shape == (3, 3)
        for i, rate in enumerate((0.0, 0.1, 1.0)):
            for j, mu in enumerate((1.0, 2.0, 3.0)):
                assert table[i, j] == pytest.approx(getattr(curve(mu, rate), name)(x), rel=1e-13)
    assert isinstance(curve(1.0, 0.1).epsilon(1e-3), float)


def test_rates_of_repeated_drawing_multiply():
    twice = curve(2.0, 0.5).subsample(0.5)
    assert twice.rate == 0.25
    assert twice.base.mu == 2.0
    nested = SubsampledTradeOff(curve(2.0, 0.5), 0.5)
    for direction in ("in", "out"):
        for e in (0.0, 0.05, 0.2, 3.0):
            expected = twice.delta(e, direction=direction)
            assert nested.delta(e, direction=direction) == pytest.approx(expected, rel=1e-13)


def laws(rng, count):
    """Two rational laws whose directions differ, with impossible outcomes in each."""
    p, q = (rng.integers(0, 9, count) for _ in range(2))
    p[0] = q[1] = 0
    p[2] = q[2] = 3
    return ([Fraction(int(x), int(v.sum())) for x in v] for v in (p, q))


def enumerated(first, second, growth):
    """Sup over S of first(S) - growth second(S), by looking at every S."""
    gaps = [a - growth * b for a, b in zip(first, second, strict=True)]
    return max(
        sum(s, Fraction(0)) for k in range(len(gaps) + 1) for s in itertools.combinations(gaps, k)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_both_deltas_against_all_events_for_an_asymmetric_base(seed, rate):
    out, base_in = laws(np.random.default_rng(seed), 6)
    mixed = [rate * b + (1 - rate) * a for a, b in zip(out, base_in, strict=True)]
    base = PiecewiseTradeOff.from_laws([float(x) for x in out], [float(x) for x in base_in])
    general = SubsampledTradeOff(base, float(rate))
    direct = base.subsample(float(rate))
    for growth in (Fraction(1), Fraction(21, 20), Fraction(3, 2), Fraction(4)):
        epsilon = np.log(float(growth))
        for direction, pair in (("in", (mixed, out)), ("out", (out, mixed))):
            truth = float(enumerated(*pair, growth))
            for sub in (general, direct):
                assert sub.delta(epsilon, direction=direction) == pytest.approx(truth, abs=1e-15)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("direction", ["in", "out"])
def test_epsilon_of_an_asymmetric_base_by_two_ways(seed, direction):
    out, base_in = laws(np.random.default_rng(seed), 6)
    base = PiecewiseTradeOff.from_laws([float(x) for x in out], [float(x) for x in base_in])
    for rate in (0.1, 0.7, 1.0):
        general, direct = SubsampledTradeOff(base, rate), base.subsample(rate)
        deltas = np.array([0.0, 1e-6, 0.01, 0.05, 0.2, 0.9])
        expected = direct.epsilon(deltas, direction=direction)
        found = general.epsilon(deltas, direction=direction)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)
        fpr = np.array([0.0, 1e-9, 0.3, 0.9, 1.0])
        np.testing.assert_allclose(general.power(fpr), direct.power(fpr), rtol=1e-14)
        np.testing.assert_allclose(general.fnr(fpr), direct.fnr(fpr), atol=1e-15)
        power = np.array([0.0, 0.01, 0.3, 0.9])
        np.testing.assert_allclose(general.fpr(power), direct.fpr(power), rtol=1e-12, atol=1e-300)


def test_a_measured_base_can_be_subsampled():
    base = EmpiricalTradeOff([3, 2, 2, 1], [2, 1, 1, 0])
    sub = base.subsample(0.5)
    assert sub.kind == "estimate"
    assert sub.advantage == 0.5 * base.advantage
    assert sub.power(0.25) == pytest.approx(0.5 * 0.75 + 0.5 * 0.25)


class TestErratumC9:
    """[AB25] Theorem 4.2 and [AB24] Theorem 4.3, Remark 4.4 on sub-sampling."""

    def test_the_printed_advantage_exceeds_the_rate_and_ours_does_not(self):
        score, rate = 8.868, 0.1
        printed = special.erf(np.sqrt(rate * score) / np.sqrt(8))
        ours = curve(np.sqrt(score / rate), rate).advantage
        assert printed > 0.36 > rate
        assert 0.0999 < ours <= rate

    def test_the_printed_curve_is_too_high_at_some_levels_and_too_low_at_others(self):
        score, rate = 8.868, 0.2
        printed = GaussianTradeOff(np.sqrt(rate * score))
        ours = curve(np.sqrt(score / rate), rate)
        assert printed.power(0.1) - ours.power(0.1) > 0.2
        assert ours.power(0.01) - printed.power(0.01) > 0.04

    def test_a_simulation_sides_with_ours(self):
        score, rate, rounds = 8.868, 0.2, 400_000
        mu = np.sqrt(score / rate)
        rng = np.random.default_rng(0)
        outside = rng.normal(size=rounds)
        inside = rng.normal(size=rounds) + mu * (rng.random(rounds) < rate)
        measured = EmpiricalTradeOff(inside, outside)
        ours, printed = curve(mu, rate), GaussianTradeOff(np.sqrt(rate * score))
        for fpr in (0.01, 0.1, 0.3):
            error = abs(measured.power(fpr) - ours.power(fpr))
            assert error < 5 * np.sqrt(0.25 / rounds) + 5 * np.sqrt(fpr / rounds)
        assert abs(measured.power(0.1) - printed.power(0.1)) > 0.2

    def test_the_printed_gaussian_guarantee_is_no_upper_bound(self):
        m, rate, epsilon = 3.0, 0.25, 1.0
        truth = curve(np.sqrt(m), rate).delta(epsilon)
        printed = GaussianTradeOff(np.sqrt(rate * rate * m)).delta(epsilon)
        assert truth == pytest.approx(0.0541, abs=5e-5)
        assert printed == pytest.approx(0.0025, abs=5e-5)
        # By integration, which knows neither formula.
        with mp.workdps(20):
            mu = mp.sqrt(m)

            def gap(x):
                inside = rate * mp.npdf(x - mu) + (1 - rate) * mp.npdf(x)
                return inside - mp.e * mp.npdf(x)

            start = (mp.log((mp.e - 1 + rate) / rate) + m / 2) / mu
            integral = mp.quad(gap, [start, start + 2, start + 6, start + 20])
        assert truth == pytest.approx(float(integral), rel=1e-12)


@given(
    mu=st.floats(0, 20),
    rate=st.floats(0, 1),
    fpr=st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted),
)
def test_power_is_nondecreasing_and_concave(mu, rate, fpr):
    low, mid, high = fpr
    power = curve(mu, rate).power(fpr)
    assert power[0] <= power[1] + 1e-15 <= power[2] + 2e-15
    assert (power[1] - power[0]) * (high - mid) >= (power[2] - power[1]) * (mid - low) - 1e-13


@given(mu=st.floats(0.01, 20), rate=st.floats(0.001, 1), epsilon=st.floats(0, 20))
def test_in_is_never_below_out_and_both_is_the_larger(mu, rate, epsilon):
    sub = curve(mu, rate)
    inside, outside = sub.delta(epsilon, direction="in"), sub.delta(epsilon, direction="out")
    assert inside >= outside * (1 - 1e-12)
    assert sub.delta(epsilon) == inside
