"""Composition against sums and integrals that know nothing of moment functions."""

from __future__ import annotations

import itertools
import pickle
import time

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

import mialeak
from mialeak import (
    EmpiricalTradeOff,
    GaussianTradeOff,
    PiecewiseTradeOff,
    SubsampledTradeOff,
    TradeOff,
    compose,
    exact_mean_tradeoff,
)
from mialeak.laws import Bernoulli
from mialeak.tradeoff import LaplaceTradeOff


def gaussian_call(weight: float, strike: float, mu: float) -> float:
    """``E_out (weight e^g - strike)+`` for the log ratio g of two normals, in closed form."""
    if strike <= 0.0:
        return weight - strike
    edge = np.log(strike / weight)
    return weight * special.ndtr(mu / 2 - edge / mu) - strike * special.ndtr(-mu / 2 - edge / mu)


def any_epsilon(curve: TradeOff, epsilon: float) -> float:
    """``sup of P_in - e^epsilon P_out`` also for a negative epsilon."""
    if epsilon >= 0.0:
        return float(curve.delta(epsilon, direction="in"))
    return -np.expm1(epsilon) + np.exp(epsilon) * float(curve.delta(-epsilon, direction="out"))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0, 6.0])
def test_a_discrete_release_beside_a_gaussian_one(epsilon):
    p_out, p_in = np.array([0.1, 0.5, 0.4]), np.array([0.4, 0.5, 0.1])
    curve = compose(PiecewiseTradeOff.from_laws(p_out, p_in), GaussianTradeOff(0.7))
    terms = (gaussian_call(b, np.exp(epsilon) * a, 0.7) for a, b in zip(p_out, p_in, strict=True))
    assert curve.method == "inversion"
    assert curve.delta(epsilon) == pytest.approx(sum(terms), rel=2e-12)


def test_what_only_one_world_makes_possible_stays_apart():
    p_out, p_in = np.array([0.2, 0.5, 0.3, 0.0]), np.array([0.0, 0.6, 0.3, 0.1])
    discrete, normal = PiecewiseTradeOff.from_laws(p_out, p_in), GaussianTradeOff(1.2)
    curve = compose(discrete, normal)
    for epsilon in (0.0, 0.5, 2.0):
        inside = 0.1 + sum(
            gaussian_call(b, np.exp(epsilon) * a, 1.2) for a, b in [(0.5, 0.6), (0.3, 0.3)]
        )
        # The worlds exchanged: the log ratio of the normals is -g, of the same law.
        out = 0.2 + sum(
            gaussian_call(a, np.exp(epsilon) * b, 1.2) for a, b in [(0.5, 0.6), (0.3, 0.3)]
        )
        assert curve.delta(epsilon, direction="in") == pytest.approx(inside, rel=2e-12)
        assert curve.delta(epsilon, direction="out") == pytest.approx(out, rel=2e-12)
    assert curve.power(0.0) == pytest.approx(0.1, rel=1e-13)
    assert curve.fnr(0.8) == 0.0
    assert curve.power(0.799) < 1.0
    assert curve.epsilon(0.1, direction="in") == np.inf == curve.epsilon(0.2, direction="out")
    assert curve.epsilon(0.0) == np.inf


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.1), (0.5, 0.3), (2.0, 0.05)])
def test_a_step_of_dp_sgd_and_a_gaussian_release_against_an_integral(mu, rate):
    step, other = SubsampledTradeOff(GaussianTradeOff(mu), rate), GaussianTradeOff(0.5)
    curve = compose(step, other)

    def ratio(z: float) -> float:
        return float(np.log1p(rate * np.expm1(mu * z - mu * mu / 2)))

    for epsilon in (0.0, 0.1, 0.5):

        def shown(z: float, e: float = epsilon) -> float:
            density = rate * stats.norm.pdf(z - mu) + (1 - rate) * stats.norm.pdf(z)
            return density * any_epsilon(other, e - ratio(z))

        truth = integrate.quad(shown, -9, 9 + mu, epsabs=1e-14, epsrel=1e-11, limit=400)[0]
        assert curve.delta(epsilon, direction="in") == pytest.approx(truth, rel=1e-10)


def sums_of_calls(epsilon: float, width: float, direction: str) -> tuple[mp.mpf, mp.mpf]:
    """Delta of a step of rate 0.1, mu = 1, and a Gaussian release, mu = 0.5: a sum over z.

    Also the sum over every other z, the rule of twice the width.
    """
    mu, other, rate, terms = mp.mpf(1), mp.mpf("0.5"), mp.mpf(0.1), {}
    for place in range(-int(46 / width), int(46 / width)):
        z = place * mp.mpf(width)
        ratio = mp.log(1 - rate + rate * mp.exp(mu * z - mu * mu / 2))
        log_strike = epsilon - ratio if direction == "in" else epsilon + ratio
        density = mp.npdf(z)
        if direction == "in":
            density = rate * mp.npdf(z - mu) + (1 - rate) * density
        call = mp.ncdf(other / 2 - log_strike / other)
        call -= mp.exp(log_strike) * mp.ncdf(-other / 2 - log_strike / other)
        terms[place] = density * call
    half = mp.fsum(term for place, term in terms.items() if place % 2 == 0)
    return width * mp.fsum(terms.values()), 2 * width * half


@pytest.mark.parametrize(
    ("epsilon", "size", "direction", "error"),
    [
        (10, -27, "in", 1e-13),
        (25, -127, "in", 1e-13),
        (39.5, -299, "in", 1e-12),
        (5, -23, "out", 1e-13),
        (18.63, -299, "out", 1e-12),
    ],
)
def test_tiny_deltas_have_all_digits(epsilon, size, direction, error):
    """Moduli of waves were computed from 1 - |M|^2: a relative error of 4e-12 at delta 7e-28."""
    curve = compose(GaussianTradeOff(1.0).subsample(0.1), GaussianTradeOff(0.5))
    with mp.workdps(50):  # relative, also of the smallest terms: all are positive
        truth, coarse = sums_of_calls(epsilon, 0.125, direction)
        assert abs(coarse / truth - 1) < 1e-15  # the rule of the truth has converged
        assert 10.0 ** (size - 1) < truth < 10.0 ** (size + 1)
        assert abs(curve.delta(epsilon, direction=direction) / truth - 1) < error


@pytest.mark.parametrize(
    "all_shown",
    [
        (GaussianTradeOff(np.inf),),
        (GaussianTradeOff(np.inf), GaussianTradeOff(1.0).subsample(0.1)),
        (PiecewiseTradeOff([0.0], [1.0]), GaussianTradeOff(1.0)),
        (PiecewiseTradeOff([0.0], [1.0]), PiecewiseTradeOff([0.1], [0.2])),
    ],
)
def test_with_a_release_that_reveals_everything_everything_is_revealed(all_shown):
    curve = compose(*all_shown)
    assert curve.advantage == curve.auc == curve.delta(100.0) == curve.power(0.0) == 1.0
    assert curve.epsilon(0.5) == np.inf
    assert compose(*all_shown, counts=3).fnr(0.2) == 0.0


def test_noiseless_steps_of_sampled_rows_reveal_the_row_that_is_drawn():
    curve = compose(GaussianTradeOff(np.inf).subsample(0.1), counts=3)
    assert curve.method == "atoms"
    assert curve.delta(50.0, direction="in") == pytest.approx(1 - 0.9**3, rel=1e-14)
    # Direction out: the target rules nothing out.
    assert curve.epsilon(0.0, direction="out") == pytest.approx(-3 * np.log(0.9), rel=1e-14)


def test_a_composed_curve_can_be_pickled():
    curve = compose(GaussianTradeOff(1.0).subsample(0.1), GaussianTradeOff(0.5), counts=[20, 1])
    before = curve.delta(1.0)
    again = pickle.loads(pickle.dumps(curve))
    assert again.delta(1.0) == before


def bracket(
    mu: float, rate: float, steps: int, epsilon: float, width: float
) -> tuple[float, float]:
    """Delta in direction "in" from log ratios rounded down and up to multiples of `width`."""
    low, high = -20.0, 60.0
    edges = np.arange(np.floor(low / width), np.ceil(high / width) + 1) * width
    # The z at which the log ratio is an edge; below log(1 - rate) there is none.
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.log((np.expm1(edges) + rate) / rate)
    z = np.where(edges > np.log1p(-rate), (growth + mu * mu / 2) / mu, -np.inf)
    below = rate * special.ndtr(z - mu) + (1 - rate) * special.ndtr(z)
    cells = np.diff(below)
    mass, place = np.ones(1), 0
    square, square_place, left = cells, round(edges[0] / width), steps
    while left:
        if left & 1:
            mass, place = np.maximum(_convolved(mass, square), 0.0), place + square_place
        square, square_place = np.maximum(_convolved(square, square), 0.0), 2 * square_place
        left >>= 1
        kept = np.flatnonzero(square > 1e-18)
        square, square_place = square[kept[0] : kept[-1] + 1], square_place + int(kept[0])
        kept = np.flatnonzero(mass > 1e-18)
        mass, place = mass[kept[0] : kept[-1] + 1], place + int(kept[0])
    ratios = (place + np.arange(mass.size)) * width
    found = []
    for shift in (0.0, steps * width):
        gain = -np.expm1(np.minimum(epsilon - (ratios + shift), 0.0))
        found.append(float(mass @ gain))
    return found[0], found[1]


def _convolved(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    size = one.size + other.size - 1
    return np.fft.irfft(np.fft.rfft(one, 2 * size) * np.fft.rfft(other, 2 * size), 2 * size)[:size]


@pytest.mark.parametrize(("mu", "rate", "steps"), [(1.0, 0.02, 300), (0.8, 0.1, 60)])
def test_many_steps_lie_between_rounded_ratios(mu, rate, steps):
    curve = compose(SubsampledTradeOff(GaussianTradeOff(mu), rate), counts=steps)
    for epsilon in (0.05, 0.3, 1.0):
        low, high = bracket(mu, rate, steps, epsilon, 1e-3)
        assert low - 1e-12 <= curve.delta(epsilon, direction="in") <= high + 1e-12
        assert high - low < 0.2


def test_ten_thousand_steps_take_milliseconds():
    step = GaussianTradeOff(1.0).subsample(0.01)
    start = time.perf_counter()
    curve = compose(step, counts=10_000)
    least = curve.epsilon(1e-5)
    took = time.perf_counter() - start
    assert curve.delta(least) == pytest.approx(1e-5, rel=1e-9)
    assert took < 5.0  # 50 ms alone; a generous limit for a busy machine
    # The law of the sum is nearly normal: mu = rate sqrt(steps (e - 1)).
    assert curve.advantage == pytest.approx(GaussianTradeOff(np.sqrt(np.e - 1)).advantage, rel=0.02)


def test_randomised_response_to_the_last_of_its_tail():
    share, count = 0.55, 200
    curve = compose(PiecewiseTradeOff([1 - share], [share]), counts=count)
    assert curve.method == "atoms"
    with mp.workdps(60):
        p, q = mp.mpf(share), 1 - mp.mpf(share)
        law_in = [mp.binomial(count, k) * p**k * q ** (count - k) for k in range(count + 1)]
        law_out = [mp.binomial(count, k) * q**k * p ** (count - k) for k in range(count + 1)]
        for epsilon in (0.0, 1.0, 10.0, 30.0):
            truth = sum(max(a - mp.e**epsilon * b, 0) for a, b in zip(law_in, law_out, strict=True))
            assert curve.delta(epsilon) == pytest.approx(float(truth), rel=1e-11)


def discrete_gaussian(sigma: float, shift: int) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(-40 * int(np.ceil(sigma)), 40 * int(np.ceil(sigma)) + shift + 1)
    out, inside = np.exp(-0.5 * (k / sigma) ** 2), np.exp(-0.5 * ((k - shift) / sigma) ** 2)
    return out / out.sum(), inside / inside.sum()


def test_discrete_gaussians_of_one_scale_stay_on_a_lattice():
    # The statistic is the sum of the noises: its law is a convolution of the discrete normal.
    sigma, count = 3.0, 40
    curve = compose(PiecewiseTradeOff.from_laws(*discrete_gaussian(sigma, 1)), counts=count)
    assert curve.method == "atoms"
    out, _ = discrete_gaussian(sigma, 1)
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, out)
        total = total[: np.flatnonzero(total > 1e-40)[-1] + 1]
    k = np.arange(total.size) - 40 * 3 * count
    ratio = (k - 0.5 * count) / sigma**2
    for epsilon in (0.0, 1.0, 4.0):
        truth = float(np.sum(total * np.maximum(np.exp(ratio) - np.exp(epsilon), 0.0)))
        assert curve.delta(epsilon) == pytest.approx(truth, rel=1e-9)


def test_gaussian_curves_merge_and_nothing_changes_nothing():
    curve = compose(GaussianTradeOff(0.3), GaussianTradeOff(0.4), counts=[4, 9])
    assert curve.method == "closed form"
    assert curve.advantage == pytest.approx(GaussianTradeOff(np.hypot(0.6, 1.2)).advantage)
    step = GaussianTradeOff(1.0).subsample(0.2)
    with_nothing = compose(step, step.subsample(0.0), PiecewiseTradeOff([0.5], [0.5]))
    assert with_nothing.delta(0.3) == pytest.approx(float(step.delta(0.3)), rel=1e-12)


def test_the_order_and_the_grouping_do_not_matter():
    parts = [
        GaussianTradeOff(0.5),
        GaussianTradeOff(1.0).subsample(0.1),
        PiecewiseTradeOff([0.3], [0.6]),
    ]
    whole = [compose(*order) for order in itertools.permutations(parts)]
    whole.append(compose(compose(parts[0], parts[1]), parts[2]))
    whole.append(parts[0].compose(parts[1]).compose(parts[2]))
    for curve in whole[1:]:
        assert curve.power([1e-9, 0.01, 0.5]) == pytest.approx(
            whole[0].power([1e-9, 0.01, 0.5]), rel=1e-11
        )


def test_methods_of_a_composed_curve_agree_with_each_other():
    curve = compose(GaussianTradeOff(1.0).subsample(0.1), GaussianTradeOff(0.4), counts=[50, 1])
    fpr = np.array([1e-12, 1e-4, 0.1, 0.5, 0.9])
    power = np.asarray(curve.power(fpr))
    assert np.asarray(curve.fpr(power)) == pytest.approx(fpr, rel=1e-9)
    assert power + np.asarray(curve.fnr(fpr)) == pytest.approx(np.ones(5), rel=1e-13)
    grid = np.linspace(0.0, 1.0, 4001)
    assert curve.auc == pytest.approx(
        integrate.simpson(np.asarray(curve.power(grid)), x=grid), abs=2e-4
    )
    # delta is the largest distance of the curve from a line of slope e^epsilon.
    dense = np.linspace(0.0, 0.2, 20001)
    best = np.max(np.asarray(curve.power(dense)) - np.exp(0.5) * dense)
    assert curve.delta(0.5, direction="in") == pytest.approx(best, rel=1e-6)
    assert 0.0 < curve.error < 1e-11
    assert curve.to_dict()["counts"] == [50, 1]


def test_a_composed_release_leaks_no_less_than_its_parts():
    rng = np.random.default_rng(5)
    for _ in range(20):
        laws = rng.dirichlet(np.ones(4), 2)
        parts = [
            PiecewiseTradeOff.from_laws(*laws),
            GaussianTradeOff(rng.uniform(0.2, 2.0)),
            GaussianTradeOff(rng.uniform(0.2, 2.0)).subsample(rng.uniform(0.05, 0.9)),
        ]
        curve = compose(*parts)
        for part in parts:
            for epsilon in (0.0, 0.5, 2.0):
                assert curve.delta(epsilon) >= part.delta(epsilon) * (1 - 1e-10)
        total = 1.0 - np.prod([1.0 - float(part.advantage) for part in parts])
        assert curve.advantage <= total + 1e-12


def test_two_exact_means_are_one_mean_of_all_their_columns():
    p = np.linspace(0.2, 0.6, 60)
    target = (np.arange(60) % 3 == 0).astype(float)
    once = exact_mean_tradeoff(target, Bernoulli(p), 80)
    whole = exact_mean_tradeoff(np.tile(target, 3), Bernoulli(np.tile(p, 3)), 80)
    curve = compose(once, counts=3)
    assert curve.method == "inversion"
    for fpr in (1e-30, 1e-6, 0.1, 0.7):
        assert curve.power(fpr) == pytest.approx(float(whole.power(fpr)), rel=1e-11)
    for epsilon in (0.0, 1.0, 5.0):
        assert curve.delta(epsilon) == pytest.approx(float(whole.delta(epsilon)), rel=1e-10)
    assert curve.auc == pytest.approx(whole.auc, rel=1e-12)


def test_an_exact_mean_of_few_columns_is_composed_by_its_atoms():
    curve = exact_mean_tradeoff([1.0, 0.0], Bernoulli([0.3, 0.6]), 5)
    twice = compose(curve, counts=2)
    whole = exact_mean_tradeoff([1.0, 0.0, 1.0, 0.0], Bernoulli([0.3, 0.6, 0.3, 0.6]), 5)
    assert twice.method == "atoms"
    assert twice.advantage == pytest.approx(float(whole.advantage), rel=1e-13)
    assert twice.delta(0.5, direction="out") == pytest.approx(
        float(whole.delta(0.5, direction="out")), rel=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "counts", "message"),
    [
        ((), None, "curves must have at least one TradeOff"),
        ((GaussianTradeOff(1.0),), [1, 2], "counts must have one element for each of the 1 curves"),
        ((GaussianTradeOff(1.0),), 0, "counts"),
        ((GaussianTradeOff(1.0),), [[2]], r"counts must be one number or a list.*\(1, 1\)"),
        ((GaussianTradeOff([1.0, 2.0]),), None, "mu must be one number"),
        ((GaussianTradeOff(1.0).subsample([0.1, 0.2]),), 3, "rate must be one number"),
    ],
)
def test_what_cannot_be_composed_is_refused(arguments, counts, message):
    with pytest.raises(ValueError, match=message):
        compose(*arguments, counts=counts)


def test_kinds_without_a_likelihood_ratio_are_refused():
    measured = EmpiricalTradeOff(np.arange(9.0) + 3, np.arange(9.0))
    with pytest.raises(TypeError, match="the law of its likelihood ratio is not known"):
        compose(measured, GaussianTradeOff(1.0))
    with pytest.raises(TypeError, match="curves must be TradeOffs, not float"):
        compose(1.0)
    with pytest.raises(TypeError):
        compose(GaussianTradeOff(1.0), counts=1.5)


def test_the_hall_has_compose():
    assert mialeak.compose is compose


@pytest.mark.parametrize("direction", ["in", "out"])
def test_the_search_for_an_epsilon_needs_no_delta_that_is_not_resolved(direction):
    """One epoch of a hundred steps: the search looked at an epsilon of 2.8."""
    curve = compose(GaussianTradeOff(0.5).subsample(0.01), counts=100)
    for delta in (1e-3, 1e-5):
        epsilon = curve.epsilon(delta, direction=direction)
        assert curve.delta(epsilon, direction=direction) == pytest.approx(delta, rel=1e-10)
    many = compose(GaussianTradeOff(1.0).subsample(0.01), counts=1000)
    for epsilon in (0.0, 0.5, 1.0, 2.0):  # in place of delta stands an upper bound
        bound = many._delta_down_to(np.inf, epsilon, direction)
        delta = many.delta(epsilon, direction=direction)
        assert delta < bound < 25 * delta
        assert many._delta_down_to(0.1 * delta, epsilon, direction) == delta


@pytest.mark.parametrize("count", [1500, 2000])
def test_answers_whose_epsilons_sum_to_more_than_the_least_number(count):
    """The false-positive rates underflow: delta was 5 % too large, epsilon infinite."""
    curve = compose(PiecewiseTradeOff.from_epsilon(1.0), counts=count)
    assert curve.method == "atoms"
    with mp.workdps(40):
        p = 1 / (1 + mp.exp(-1))
        law = [mp.binomial(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
        for epsilon in (300.0, 690.0, 0.46 * count, 0.5 * count, 0.7 * count):
            first = int((epsilon + count) // 2) + 1
            terms = zip(law[first:], law[: count - first + 1][::-1], strict=True)
            truth = float(sum(a - mp.exp(epsilon) * b for a, b in terms))
            for direction in ("in", "out"):
                delta = curve.delta(epsilon, direction=direction)
                assert delta == pytest.approx(truth, rel=1e-11, abs=0.0)
                if truth < 0.99:
                    least = curve.epsilon(truth, direction=direction)
                    assert least == pytest.approx(epsilon, rel=1e-12)
    assert curve.power(0.0) == 0.0
    assert curve.epsilon(0.0) == pytest.approx(count, rel=1e-12)


def test_many_answers_have_the_error_that_is_stated_and_take_no_time():
    """Zeros at the ends were convolved: 10 s; the error was that of one release."""
    start = time.process_time()
    curve = compose(PiecewiseTradeOff.from_epsilon(0.01), counts=30_001)
    assert time.process_time() - start < 1.0  # 0.02 s; it was 1.5 s
    with mp.workdps(40):
        # P(k heads) in, less that out: C(n, k) 2 sinh(x (k - n/2)) / (2 cosh(x/2))^n.
        x, count = mp.mpf(0.01), 30_001
        weight, truth = mp.binomial(count, count // 2 + 1) / (2 * mp.cosh(x / 2)) ** count, 0
        for k in range(count // 2 + 1, count // 2 + 2000):
            truth += weight * 2 * mp.sinh(x * (2 * k - count) / 2)
            weight *= mp.mpf(count - k) / (k + 1)
        truth = float(truth)
    assert abs(curve.advantage / truth - 1.0) < curve.error < 1e-11
    assert curve.error > 1e-12


def test_gaussian_curves_of_any_mu_merge():
    """mu^2 was 0, or overflowed."""
    tiny = compose(GaussianTradeOff(3e-170), GaussianTradeOff(4e-170))
    assert tiny.advantage == pytest.approx(GaussianTradeOff(5e-170).advantage, rel=1e-14, abs=0.0)
    large = compose(GaussianTradeOff(1e160), counts=4)
    assert (large.advantage, large.curves[0].mu) == (1.0, pytest.approx(2e160))


@pytest.mark.parametrize(
    "answer",
    [
        lambda: compose(GaussianTradeOff(1e-9).subsample(0.5), counts=10).advantage,
        lambda: compose(LaplaceTradeOff(1.0), LaplaceTradeOff(0.5)).subsample(0.3).fpr(0.1),
        lambda: LaplaceTradeOff(740.0).fnr(1.0),
    ],
)
def test_answers_come_without_warnings_of_numpy(answer):
    """A warning is an error in the tests."""
    assert 0.0 <= answer() < 1.0


@pytest.mark.parametrize(
    ("epsilon", "count", "other", "expected"),
    [
        (1.0, 20, PiecewiseTradeOff.from_epsilon(0.1), 3.0),
        (8.0, 100, PiecewiseTradeOff.from_epsilon(0.1), 18.0),
        (1.0, 3, PiecewiseTradeOff.from_epsilon(0.1), 1.3),
        (1.0, 1, LaplaceTradeOff(0.5), 1.5),
    ],
)
def test_epsilon_at_the_delta_of_the_one_release_that_has_one(epsilon, count, other, expected):
    """Basic composition is attained there: the probability of certainty is the sum of many."""
    one = PiecewiseTradeOff.from_epsilon(epsilon, 1e-5)
    curve = compose(one, other, counts=[1, count])
    assert curve.epsilon(1e-5) == pytest.approx(expected, rel=1e-9)
    assert curve.enclosure(delta=1e-5).upper == pytest.approx(expected, rel=1e-9)
    assert curve.epsilon(1e-5 * (1.0 - 1e-9)) == np.inf
    assert curve.epsilon(1e-4) < expected


@pytest.mark.parametrize("mu", [1.0, np.inf])
def test_samples_of_different_neighbours_do_not_compose(mu):
    """Also without noise, where a sample is a curve of two points."""
    samples = [GaussianTradeOff(mu).subsample(0.1, symmetric=each) for each in (False, True)]
    with pytest.raises(ValueError, match="symmetric=True"):
        compose(*samples)
    for sample in samples:
        assert compose(sample, counts=2).advantage > sample.advantage
