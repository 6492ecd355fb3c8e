"""Gaussian curves against 60-digit arithmetic: every tail, every seam, every limit."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special

from mialeak._numerics import normal
from mialeak.tradeoff import GaussianTradeOff

RNG = np.random.default_rng(20250)


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(60):
        yield


def cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def quantile(u):
    """Phi^-1(u) to all digits: Newton's method from SciPy's value, on the smaller tail."""
    z = mp.mpf(float(special.ndtri(u)))
    u = mp.mpf(u)
    for _ in range(2):
        error = cdf(z) - u if u < 0.5 else (1 - u) - cdf(-z)
        z -= error / mp.npdf(z)
    return z


def shifted(u, shift, *, upper=False):
    z = quantile(float(u)) + mp.mpf(float(shift))
    return cdf(-z) if upper else cdf(z)


def delta(epsilon, mu):
    # The difference loses up to 20 digits where mu and epsilon are small.
    epsilon, mu = mp.mpf(float(epsilon)), mp.mpf(float(mu))
    return cdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * cdf(-epsilon / mu - mu / 2)


def worst(values, truths):
    """The largest relative error, truths that are not normal numbers left out."""
    errors = [
        abs(float((mp.mpf(float(value)) - truth) / truth))
        for value, truth in zip(np.atleast_1d(values), truths, strict=True)
        if truth > 2.3e-308
    ]
    assert len(errors) > 0.5 * len(truths)
    return max(errors)


def rates(count):
    small = 10 ** RNG.uniform(-300, 0, count)
    return np.concatenate(
        [small, 1 - 10 ** RNG.uniform(-16, 0, count // 2), RNG.random(count // 2)]
    )


def test_power_fnr_and_fpr_hold_13_digits_from_1e_300_to_1():
    fpr = rates(200)
    mu = np.where(RNG.random(fpr.size) < 0.5, 60.0 ** RNG.random(fpr.size), RNG.random(fpr.size))
    mu[::7] = 10 ** RNG.uniform(-8, 0, mu[::7].size)
    curve = GaussianTradeOff(mu)
    pairs = list(zip(fpr, mu, strict=True))
    assert worst(curve.power(fpr), [shifted(u, m) for u, m in pairs]) < 7e-14
    assert worst(curve.fpr(fpr), [shifted(u, -m) for u, m in pairs]) < 7e-14
    assert worst(curve.fnr(fpr), [shifted(u, m, upper=True) for u, m in pairs]) < 7e-14


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("side", [-1e-9, 1e-9])
def test_power_is_right_on_both_sides_of_the_changes_of_method(upper, side):
    # Quantiles change at a tail of 1e-9, the cdf at an argument of -5.
    for fpr in (1e-9 * (1 + side), 1 - 1e-9 * (1 + side)):
        z = special.ndtri(fpr)
        mu = np.abs(-z - RNG.uniform(z + 0.1, z + 30, 20)) if upper else RNG.uniform(0, 9, 20)
        curve = GaussianTradeOff(mu)
        values = curve.fnr(fpr) if upper else curve.power(fpr)
        truths = [shifted(fpr, m, upper=upper) for m in mu]
        assert worst(values, truths) < 7e-14
    z = RNG.uniform(-4.9, 4.9, 40) if upper else RNG.uniform(-37, -5.1, 40)
    mu = 5 - z if upper else -5 - z
    curve = GaussianTradeOff(mu * (1 + side))
    fpr = special.ndtr(z)
    values = curve.fnr(fpr) if upper else curve.power(fpr)
    truths = [shifted(u, m, upper=upper) for u, m in zip(fpr, mu * (1 + side), strict=True)]
    assert worst(values, truths) < 4e-14


def test_the_start_of_a_far_quantile_is_as_near_as_its_one_step_needs():
    tail = np.logspace(-307.6, -9, 2000)
    y = np.sqrt(-2 * np.log(tail))
    a, b, c, d = normal._START
    start = y - (np.log(y) - (a + b / y + c / y**2 + d / y**3)) / y
    assert np.abs(start + special.ndtri(tail)).max() < 3e-5


def test_the_plain_composition_of_cdf_and_quantile_would_not_do():
    fpr = 10 ** RNG.uniform(-300, -200, 100)
    truths = [shifted(u, 0.1) for u in fpr]
    assert worst(special.ndtr(special.ndtri(fpr) + 0.1), truths) > 1e-13
    assert worst(GaussianTradeOff(0.1).power(fpr), truths) < 4e-15


def test_power_at_the_smallest_numbers():
    for fpr in (5e-324, 2.2e-308, 2.4e-308, 1e-300):
        assert worst(GaussianTradeOff(2.5).power(fpr), [shifted(fpr, 2.5)]) < 1e-12
    assert GaussianTradeOff(1e200).power(1e-300) == 1
    assert GaussianTradeOff(1e200).fnr(0.5) == 0


def sweep(count):
    """(epsilon, mu) over mu in [1e-8, 60] and the seams of the evaluation."""
    mu = 10 ** RNG.uniform(-8, 1.78, count)
    t = mu / 2
    h = np.select(
        [RNG.random(count) < share for share in (0.3, 0.4, 0.6)],
        [
            t + RNG.uniform(0, 38, count),
            10 ** RNG.uniform(-8, 1.5, count),
            RNG.uniform(0, 6, count),
        ],
        RNG.uniform(0, 700, count) / mu,
    )
    seam_mu = np.concatenate([RNG.choice([0.3999, 0.4001], 60), RNG.uniform(0.01, 12, 240)])
    near = 1 + RNG.choice([-1e-9, 1e-9], 300)
    kinds = np.stack([np.full(300, 4.0), seam_mu / 2, seam_mu * 10, RNG.uniform(0, 6, 300)])
    kinds = kinds[RNG.integers(0, 4, 300), np.arange(300)]
    kinds[:60] = RNG.uniform(0, 5, 60)
    return np.concatenate([h * mu, kinds * near * seam_mu]), np.concatenate([mu, seam_mu])


def test_delta_holds_13_digits_over_all_regimes_and_seams():
    epsilon, mu = sweep(1500)
    truths = [delta(e, m) for e, m in zip(epsilon, mu, strict=True)]
    assert worst(GaussianTradeOff(mu).delta(epsilon), truths) < 2e-14


def test_delta_for_many_and_for_one_is_the_same():
    epsilon, mu = sweep(200)
    one = [GaussianTradeOff(m).delta(e) for e, m in zip(epsilon, mu, strict=True)]
    np.testing.assert_allclose(one, GaussianTradeOff(mu).delta(epsilon), rtol=3e-15)


@pytest.mark.parametrize("mu", [18.0, 20.0, 25.0, 37.0, 40.0, 60.0])
def test_delta_at_epsilon_700(mu):
    assert worst(GaussianTradeOff(mu).delta(700.0), [delta(700.0, mu)]) < 1e-13


def test_delta_where_the_difference_of_cdfs_loses_nine_digits():
    epsilon = mu = 1e-6
    naive = special.ndtr(0.5 * mu - 1) - np.exp(epsilon) * special.ndtr(-0.5 * mu - 1)
    truth = delta(epsilon, mu)
    assert abs(naive / float(truth) - 1) > 1e-11
    assert worst(GaussianTradeOff(mu).delta(epsilon), [truth]) < 1e-14


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.3, 0.1), (1.0, 1.0), (5.0, 0.8), (0.0, 2.0), (9.0, 3.0)]
)
def test_delta_is_the_integral_of_the_vega(epsilon, mu):
    with mp.workdps(30):
        points = [0, mu / 8, mu / 4, mu / 2, mu]
        truth = mp.quad(lambda s: mp.npdf(epsilon / s - s / 2) if s else mp.mpf(0), points)
        assert abs(GaussianTradeOff(mu).delta(epsilon) / truth - 1) < 1e-12


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_both_directions_of_delta_are_one(direction):
    with mp.workdps(30):
        epsilon, mu = mp.mpf("0.7"), mp.mpf("1.3")
        sign = 1 if direction != "out" else -1
        # sup over S of the one law less e^eps times the other, by integrating where it is positive
        root = sign * (epsilon / mu) + mu / 2

        def gap(x):
            first, second = mp.npdf(x - mu), mp.npdf(x)
            first, second = (first, second) if sign > 0 else (second, first)
            return first - mp.exp(epsilon) * second

        ends = [root, root + sign * 5, root + sign * 15, root + sign * 40]
        truth = abs(mp.quad(gap, ends))
    value = GaussianTradeOff(1.3).delta(0.7, direction=direction)
    assert abs(float(value / truth) - 1) < 1e-13


def test_epsilon_holds_13_digits_down_to_delta_1e_300():
    mu = np.concatenate([10 ** RNG.uniform(-8, 1.78, 500), [1e-8, 1.0, 60.0]])
    top = special.erf(mu / np.sqrt(8))
    share = 10 ** RNG.uniform(-290, -0.1, mu.size)
    target = np.where(RNG.random(mu.size) < 0.5, top * share, top * RNG.uniform(0, 0.99, mu.size))
    target[-3:] = 1e-300
    found = GaussianTradeOff(mu).epsilon(target)
    for d, m, e in zip(target, mu, found, strict=True):
        e, m = mp.mpf(float(e)), mp.mpf(float(m))
        slope = mp.exp(e) * cdf(-e / m - m / 2)
        error = abs(delta(e, m) - mp.mpf(float(d))) / slope
        # The second term is what a relative change of 3e-15 in delta makes of epsilon.
        assert error < 1e-14 * e + 3e-15 * mp.mpf(float(d)) / slope


def test_epsilon_at_its_ends():
    curve = GaussianTradeOff(1.0)
    assert curve.epsilon(0.0) == np.inf
    assert curve.epsilon(1.0) == 0
    assert GaussianTradeOff(1e300).epsilon(0.5) == np.inf
    assert curve.epsilon(curve.advantage) == 0
    # Below its largest value delta is known to 3e-15 of itself, which the slope makes 4e-15 here.
    assert 0 <= curve.epsilon(np.nextafter(curve.advantage, 0)) < 5e-15
    assert 5e-15 < curve.epsilon(curve.advantage * (1 - 1e-14)) < 2e-14
    assert curve.epsilon(5e-324) < 40
    found = curve.epsilon(1e-300)
    assert abs(float(mp.log(delta(found, 1.0)) - mp.log(mp.mpf(1e-300)))) < 1e-11


@pytest.mark.parametrize("mu", [1e-300, 1e-30, 1e-8, 0.3, 1.0, 7.0, 60.0])
def test_advantage_and_auc(mu):
    with mp.workdps(400):
        curve = GaussianTradeOff(mu)
        assert abs(curve.advantage / mp.erf(mp.mpf(mu) / mp.sqrt(8)) - 1) < 1e-15
        assert abs(curve.auc / cdf(mp.mpf(mu) / mp.sqrt(2)) - 1) < 1e-15
        assert curve.delta(0.0) == pytest.approx(curve.advantage, rel=1e-15)


def test_mu_zero_reveals_nothing():
    curve = GaussianTradeOff(0.0)
    u = np.array([0.0, 1e-300, 0.3, 1.0])
    np.testing.assert_array_equal(curve.power(u), u)
    np.testing.assert_array_equal(curve.fpr(u), u)
    np.testing.assert_array_equal(curve.fnr(u), 1 - u)
    np.testing.assert_array_equal(curve.delta([0.0, 1.0, np.inf]), 0)
    np.testing.assert_array_equal(curve.epsilon([0.0, 1e-300, 1.0]), 0)
    assert curve.advantage == 0
    assert curve.auc == 0.5


def test_mu_infinite_reveals_all():
    curve = GaussianTradeOff(np.inf)
    u = np.array([0.0, 1e-300, 0.3, 1.0])
    np.testing.assert_array_equal(curve.power(u), 1)
    np.testing.assert_array_equal(curve.fpr(u), 0)
    np.testing.assert_array_equal(curve.fnr(u), 0)
    np.testing.assert_array_equal(curve.delta([0.0, 1.0, np.inf]), 1)
    np.testing.assert_array_equal(curve.epsilon([0.0, 0.9, 1.0]), [np.inf, np.inf, 0])
    assert curve.advantage == curve.auc == 1


def test_ends_of_the_curve():
    curve = GaussianTradeOff(2.0)
    np.testing.assert_array_equal(curve.power([0.0, 1.0]), [0, 1])
    np.testing.assert_array_equal(curve.fnr([0.0, 1.0]), [1, 0])
    np.testing.assert_array_equal(curve.fpr([0.0, 1.0]), [0, 1])
    assert curve.delta(np.inf) == 0


def test_limits_mix_with_ordinary_parameters():
    curve = GaussianTradeOff([0.0, 1.0, np.inf])
    assert curve.power(0.3).tolist() == [0.3, GaussianTradeOff(1.0).power(0.3), 1.0]
    assert curve.delta(0.5).tolist() == [0.0, GaussianTradeOff(1.0).delta(0.5), 1.0]
    assert curve.epsilon(0.1).tolist() == [0.0, GaussianTradeOff(1.0).epsilon(0.1), np.inf]


def test_parameters_and_arguments_broadcast():
    curve = GaussianTradeOff(np.array([[0.5], [1.0], [3.0]]))
    fpr = np.array([0.1, 0.2])
    for method, other in ((curve.power, fpr), (curve.delta, fpr), (curve.epsilon, fpr)):
        table = method(other)
        assert table.shape == (3, 2)
        for row, mu in enumerate((0.5, 1.0, 3.0)):
            single = getattr(GaussianTradeOff(mu), method.__name__)(other)
            np.testing.assert_allclose(table[row], single, rtol=2e-15)
    assert isinstance(GaussianTradeOff(1.0).power(0.1), float)
    assert curve.power(np.empty((3, 0))).shape == (3, 0)


def test_long_arrays_are_cut_into_blocks_unseen():
    fpr = RNG.random(10_001)
    mu = RNG.uniform(0, 5, 10_001)
    whole = GaussianTradeOff(mu)
    parts = [GaussianTradeOff(mu[i : i + 997]) for i in range(0, mu.size, 997)]
    pieces = [fpr[i : i + 997] for i in range(0, mu.size, 997)]
    for name in ("power", "fnr", "delta"):
        expected = [getattr(c, name)(x) for c, x in zip(parts, pieces, strict=True)]
        np.testing.assert_array_equal(getattr(whole, name)(fpr), np.concatenate(expected))


def test_the_squares_of_mu_add():
    both = GaussianTradeOff(3.0).compose(GaussianTradeOff([0.0, 4.0, np.inf], kind="asymptotic"))
    assert both.mu.tolist() == [3.0, 5.0, np.inf]
    assert both.kind == "asymptotic"


unit = st.floats(0, 1)
distances = st.floats(0, 30)


@given(mu=distances, fpr=st.lists(unit, min_size=3, max_size=3).map(sorted))
def test_power_is_nondecreasing_and_concave(mu, fpr):
    low, mid, high = fpr
    power = GaussianTradeOff(mu).power(fpr)
    assert power[0] <= power[1] * (1 + 1e-13)
    assert power[1] <= power[2] * (1 + 1e-13)
    assert (power[1] - power[0]) * (high - mid) >= (power[2] - power[1]) * (mid - low) - 1e-13


@given(mu=st.floats(0, 8), power=st.floats(1e-250, 1 - 1e-9))
def test_fpr_is_the_inverse_of_power(mu, power):
    curve = GaussianTradeOff(mu)
    assert curve.power(curve.fpr(power)) == pytest.approx(power, rel=1e-11)


@given(mu=st.floats(1e-3, 20), epsilon=st.floats(0, 50))
def test_delta_is_the_supremum_of_power_less_e_epsilon_fpr(mu, epsilon):
    curve = GaussianTradeOff(mu)
    value = curve.delta(epsilon)
    best = special.ndtr(-epsilon / mu - mu / 2)  # where the likelihood ratio is e^epsilon
    grid = np.append(best, np.linspace(0, 1, 101))
    reached = curve.power(grid) - np.exp(epsilon) * grid
    assert reached.max() <= value + 1e-13
    assert reached[0] == pytest.approx(value, abs=1e-13)
