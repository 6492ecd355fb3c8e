"""Compositions on grids: their bounds against integrals, sums and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from mialeak import GaussianTradeOff, PiecewiseTradeOff, TradeOff, compose, exact_mean_tradeoff
from mialeak._numerics.grid_worlds import GridWorlds
from mialeak._numerics.losses import ComposedLoss
from mialeak.laws import Bernoulli
from mialeak.tradeoff import LaplaceTradeOff

DIRECTIONS = ("in", "out")


def any_epsilon(curve: TradeOff, epsilon: float, direction: str = "in") -> float:
    """Delta of one direction also for a negative epsilon, by parity."""
    if epsilon >= 0.0:
        return float(curve.delta(epsilon, direction=direction))
    other = "out" if direction == "in" else "in"
    return -np.expm1(epsilon) + np.exp(epsilon) * float(curve.delta(-epsilon, direction=other))


def integral(function, edges) -> float:
    parts = itertools.pairwise(edges)
    return sum(integrate.quad(function, *ends, epsabs=0, epsrel=1e-12)[0] for ends in parts)


def two_steps(mu: float, rate: float, epsilon: float) -> float:
    """Delta, "in", of two sampled steps: an integral over the release of the first."""
    one = GaussianTradeOff(mu).subsample(rate)

    def shown(z: float) -> float:
        density = rate * stats.norm.pdf(z - mu) + (1.0 - rate) * stats.norm.pdf(z)
        ratio = np.log1p(rate * np.expm1(mu * z - mu * mu / 2.0))
        return density * any_epsilon(one, epsilon - ratio)

    return integral(shown, np.arange(-10.0, 12.5, 0.5))


def beside_laplace(distance: float, other: TradeOff, epsilon: float, direction: str) -> float:
    """Delta of Laplace noise and another release: an integral over the noisy value."""

    def shown(x: float) -> float:
        away, ratio = (x - distance, x), abs(x) - abs(x - distance)
        first = away[0] if direction == "in" else away[1]
        sign = 1.0 if direction == "in" else -1.0
        return 0.5 * np.exp(-abs(first)) * any_epsilon(other, epsilon - sign * ratio, direction)

    inner = np.linspace(0.0, distance, 9).tolist()
    return integral(shown, [-60.0, -10.0, *inner, distance + 10.0, distance + 60.0])


@pytest.mark.parametrize(("mu", "count"), [(1.0, 1), (0.1, 100)])
def test_bounds_hold_the_closed_form(mu, count):
    truth = GaussianTradeOff(mu * np.sqrt(count))
    loss = ComposedLoss([(GaussianTradeOff(mu)._loss(), count)])
    worlds = GridWorlds(loss)
    epsilon = np.array([0.0, 0.7, 3.0, 9.0, 30.0])
    for direction in DIRECTIONS:
        low, value, high = worlds.bounds(epsilon, direction)
        delta = truth.delta(epsilon)
        assert np.all((low <= delta) & (delta <= high) & (low <= value) & (value <= high))
        assert np.all(high - low < 2e-3 * delta)  # the last is 1e-200
        assert value == pytest.approx(delta, rel=1e-11)
    fpr = np.array([0.0, 1e-30, 1e-3, 0.5, 0.99, 1.0])
    low, high = worlds.power_bounds(fpr)
    assert np.all((low <= truth.power(fpr)) & (truth.power(fpr) <= high))
    assert np.all(high - low <= 1e-4 * high)
    assert worlds.auc == pytest.approx(truth.auc, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_laplace_noise_beside_normal_noise_against_an_integral(direction):
    curve = compose(LaplaceTradeOff(0.8), GaussianTradeOff(0.6))
    assert curve.method == "grid"
    for epsilon in (0.0, 0.5, 2.0, 6.0):
        truth = beside_laplace(0.8, GaussianTradeOff(0.6), epsilon, direction)
        assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-9)
        bounds = curve.enclosure(epsilon=epsilon, direction=direction)
        assert bounds.lower <= truth <= bounds.upper


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_laplace_noises_and_a_sampled_one_against_integrals(direction):
    pair = compose(LaplaceTradeOff(0.8), LaplaceTradeOff(0.5))
    sampled = compose(LaplaceTradeOff(0.8), LaplaceTradeOff(2.0).subsample(0.2))
    for curve, other in ((pair, LaplaceTradeOff(0.5)), (sampled, sampled.curves[1])):
        assert curve.method == "grid"
        for epsilon in (0.0, 0.4, 1.2):
            truth = beside_laplace(0.8, other, epsilon, direction)
            bounds = curve.enclosure(epsilon=epsilon, direction=direction)
            assert bounds.lower <= truth * (1 + 1e-12)
            assert truth * (1 - 1e-12) <= bounds.upper
            assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-8)
    assert pair.delta(1.3) == pair.epsilon(1.0) == 0.0
    assert pair.epsilon(0.0) == pytest.approx(1.3, rel=1e-12)


def test_a_small_number_of_steps_with_a_small_rate_is_answered():
    """No number of nodes of a contour was enough: it was refused."""
    curve = compose(GaussianTradeOff(0.5).subsample(0.001), counts=2)
    for epsilon in (0.0, 0.001, 0.01):
        truth = two_steps(0.5, 0.001, epsilon)
        assert curve.delta(epsilon, direction="in") == pytest.approx(truth, rel=1e-6)
        bounds = curve.enclosure(epsilon=epsilon, direction="in")
        assert bounds.lower <= truth <= bounds.upper
    assert curve.delta(curve.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert 0.0 < curve.error < 0.1


def test_what_a_grid_does_not_resolve_is_refused_with_its_bounds():
    curve = compose(GaussianTradeOff(0.5).subsample(0.001), counts=2)
    message = r"not available so far in the tail: a grid of 262,144 nodes puts it between 0 and"
    with pytest.raises(ArithmeticError, match=message):  # 5.6e-24, by the integral
        curve.delta(0.1)
    assert curve.enclosure(epsilon=0.1).upper < 1e-17


def test_discrete_laws_of_any_ratios_lie_in_the_bounds():
    rng = np.random.default_rng(4)
    laws = [rng.dirichlet(np.ones(30), 2) for _ in range(3)]
    p_out, p_in = (
        np.multiply.outer(np.multiply.outer(laws[0][w], laws[1][w]), laws[2][w]).ravel()
        for w in (0, 1)
    )
    curve = compose(*(PiecewiseTradeOff.from_laws(*law) for law in laws))
    for epsilon in (0.0, 1.0, 5.0, 9.0):
        for direction in DIRECTIONS:
            one, other = (p_in, p_out) if direction == "in" else (p_out, p_in)
            truth = float(np.sum(np.maximum(one - np.exp(epsilon) * other, 0.0)))
            bounds = curve.enclosure(epsilon=epsilon, direction=direction)
            assert bounds.lower <= truth * (1 + 1e-13)
            assert truth * (1 - 1e-13) <= bounds.upper <= bounds.lower + 1e-6 * truth
    power = float(curve.power(0.01))
    bounds = curve.enclosure(0.01)
    assert bounds.lower <= power <= bounds.upper < power * (1 + 1e-6)


def test_outcomes_that_are_too_many_to_be_listed_are_put_on_a_grid():
    rng = np.random.default_rng(1)
    parts = [PiecewiseTradeOff.from_laws(*rng.dirichlet(np.ones(3000), 2)) for _ in range(2)]
    curve = compose(*parts)
    assert curve.method == "grid"
    # All pairs: the sum over the first of the curve of the second.
    _, p_in, ratio = parts[0]._outcomes
    truth = sum(b * any_epsilon(parts[1], 0.5 - r) for b, r in zip(p_in, ratio, strict=True))
    assert curve.delta(0.5, direction="in") == pytest.approx(truth, rel=1e-8)


def test_bounds_of_epsilon_enclose_it_in_both_directions():
    curve = compose(GaussianTradeOff(1.0).subsample(0.1), GaussianTradeOff(0.3), counts=[30, 1])
    for direction in DIRECTIONS:
        for delta in (0.1, 1e-6, 1e-40):
            bounds = curve.enclosure(delta=delta, direction=direction)
            value = curve.epsilon(delta, direction=direction)
            assert bounds.lower < value < bounds.upper < value + 1e-3
    assert curve.enclosure(delta=0.9).upper == 0.0
    assert curve.method == "inversion"


def test_bounds_keep_what_only_one_world_makes_possible():
    p_out, p_in = np.array([0.2, 0.5, 0.3, 0.0]), np.array([0.0, 0.6, 0.3, 0.1])
    curve = compose(PiecewiseTradeOff.from_laws(p_out, p_in), LaplaceTradeOff(0.4))
    other = LaplaceTradeOff(0.4)
    truth = 0.1 + sum(
        b * any_epsilon(other, 0.3 - np.log(b / a)) for a, b in [(0.5, 0.6), (0.3, 0.3)]
    )
    bounds = curve.enclosure(epsilon=0.3, direction="in")
    assert bounds.lower <= truth <= bounds.upper
    assert curve.power(0.0) == pytest.approx(0.1, rel=1e-13)
    assert curve.epsilon(0.05) == np.inf
    assert curve.enclosure(delta=0.05).lower == np.inf


def test_what_has_no_enclosure_is_refused():
    curve = compose(GaussianTradeOff(1.0), LaplaceTradeOff(1.0))
    for arguments in ({}, {"epsilon": 1.0, "delta": 0.1}):
        with pytest.raises(ValueError, match="fpr must be given, or epsilon, or delta: one of"):
            curve.enclosure(**arguments)
    p = np.linspace(0.2, 0.6, 60)
    mean = exact_mean_tradeoff((np.arange(60) % 3 == 0).astype(float), Bernoulli(p), 80)
    with pytest.raises(ValueError, match="with an exact mean of many columns"):
        mean.compose(GaussianTradeOff(0.1)).enclosure(epsilon=1.0)
