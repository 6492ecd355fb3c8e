"""Compositions on grids: their bounds against integrals, sums and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, spatial, special, stats

from mialeak import GaussianTradeOff, PiecewiseTradeOff, TradeOff, compose
from mialeak._numerics.grid_worlds import GridWorlds
from mialeak._numerics.losses import ComposedLoss
from mialeak.guarantees import epsilon_for_leakage, noise_multiplier_for_leakage
from mialeak.tradeoff import ComposedTradeOff, LaplaceTradeOff

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
    epsilon = np.array([0.0, 0.7, 3.0, 30.0])
    for direction in DIRECTIONS:
        low, value, high = worlds.bounds(epsilon, direction)
        delta = truth.delta(epsilon)
        assert np.all((low <= delta) & (delta <= high) & (low <= value) & (value <= high))
        assert np.all(high - low < 2e-3 * delta)  # the last is 1e-200
        assert value == pytest.approx(delta, rel=1e-11)
    fpr = np.array([0.0, 1e-30, 0.5, 1.0])
    low, high = worlds.power_bounds(fpr)
    assert np.all((low <= truth.power(fpr)) & (truth.power(fpr) <= high))
    assert np.all(high - low <= 1e-4 * high)
    assert worlds.auc == pytest.approx(truth.auc, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_laplace_noise_beside_normal_noise_against_an_integral(direction):
    curve = compose(LaplaceTradeOff(0.8), GaussianTradeOff(0.6))
    assert curve.method == "inversion"
    for epsilon in (0.0, 0.5, 2.0, 6.0):
        truth = beside_laplace(0.8, GaussianTradeOff(0.6), epsilon, direction)
        assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-13)
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


def test_a_symmetric_curve_is_the_hull_of_the_curve_and_its_mirror_image():
    for base, rate in ((GaussianTradeOff(1.3), 0.2), (LaplaceTradeOff(0.9), 0.4)):
        one, both = base.subsample(rate), base.subsample(rate, symmetric=True)
        fpr = np.union1d(np.linspace(0.0, 1.0, 20_001), np.geomspace(1e-12, 1e-3, 3000))
        power = np.asarray(one.power(fpr))
        points = np.stack([np.append(fpr, 1.0 - power), np.append(power, 1.0 - fpr)], axis=1)
        points = np.vstack([points, [[1.0, 0.0]]])
        corners = points[spatial.ConvexHull(points).vertices]
        corners = corners[np.lexsort((corners[:, 1], corners[:, 0]))]
        hull = np.interp(fpr, *corners[corners[:, 1] >= corners[:, 0]].T)
        assert np.asarray(both.power(fpr)) == pytest.approx(hull, abs=3e-7)
        assert both.auc == pytest.approx(integrate.simpson(hull, x=fpr), abs=1e-6)
        assert np.asarray(both.fpr(both.power(fpr[1:-1]))) == pytest.approx(fpr[1:-1], rel=1e-10)
        assert np.asarray(both.fnr(fpr)) == pytest.approx(1.0 - np.asarray(both.power(fpr)))
        for epsilon in (0.0, 0.1, 0.3):
            most = np.max(hull - np.exp(epsilon) * fpr)
            for direction in DIRECTIONS:
                assert both.delta(epsilon, direction=direction) == pytest.approx(most, abs=1e-6)
        assert both.delta(both.epsilon(1e-3)) == pytest.approx(1e-3, rel=1e-12)
    with pytest.raises(TypeError, match="base must be Gaussian or Laplace where symmetric"):
        PiecewiseTradeOff([0.1], [0.4]).subsample(0.1, symmetric=True)


def test_two_batches_without_replacement_against_an_integral():
    mu, rate = 1.0, 0.2
    step = GaussianTradeOff(mu).subsample(rate, symmetric=True)
    curve = compose(step, counts=2)
    assert curve.method == "grid"
    for epsilon in (0.0, 0.3, 1.0, 4.0):

        def shown(z: float, e: float = epsilon) -> float:
            ratio = np.log1p(rate * np.expm1(mu * z - mu * mu / 2.0))
            p_out = stats.norm.pdf(z)
            mirrored = p_out * any_epsilon(step, e + ratio)
            return p_out * np.exp(ratio) * any_epsilon(step, e - ratio) + mirrored

        truth = integral(shown, np.arange(mu / 2.0, 14.0, 0.5))
        truth += (1.0 - rate) * float(GaussianTradeOff(mu).advantage) * any_epsilon(step, epsilon)
        for direction in DIRECTIONS:
            assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-8)
            bounds = curve.enclosure(epsilon=epsilon, direction=direction)
            assert bounds.lower <= truth <= bounds.upper


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
    message = r"not available at this point: .* of 262,144 nodes puts a probability between 0 and"
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


def test_laplace_curves_are_those_of_the_integrals():
    curve = LaplaceTradeOff(1.7)
    laws = stats.laplace(0.0), stats.laplace(1.7)
    for threshold in (-3.0, 0.2, 0.9, 1.6, 4.0):
        fpr, power = (law.sf(threshold) for law in laws)
        assert curve.power(fpr) == pytest.approx(power, rel=1e-14)
        assert curve.fnr(fpr) == pytest.approx(laws[1].cdf(threshold), rel=1e-13)
        if 0.0 < threshold < 1.7:
            assert curve.fpr(power) == pytest.approx(fpr, rel=1e-13)
    assert curve.fpr(1e-9) == pytest.approx(1e-9 * np.exp(-1.7), rel=1e-14)
    epsilon = 0.6  # P_in - e^epsilon P_out is largest on x > (epsilon + 1.7) / 2
    best = laws[1].sf(1.15) - np.exp(epsilon) * laws[0].sf(1.15)
    assert curve.delta(epsilon) == pytest.approx(best, rel=1e-14)
    assert curve.epsilon(curve.delta(epsilon)) == pytest.approx(epsilon, rel=1e-13)
    grid = np.linspace(0.0, 1.0, 20_001)
    assert curve.auc == pytest.approx(integrate.simpson(curve.power(grid), x=grid), abs=1e-7)
    for nothing in (0.0, np.inf):
        ends = LaplaceTradeOff(nothing)
        revealed = float(nothing > 0.0)
        assert ends.advantage == revealed
        assert ends.power(0.3) == max(0.3, revealed)
        assert ends.fpr(0.3) == 0.3 * (1.0 - revealed)
        assert compose(ends, counts=2).advantage == revealed
    with pytest.raises(ValueError, match="distance must be at least 0"):
        LaplaceTradeOff(-1.0)


def test_randomised_response_and_noise_on_the_integers_have_their_curves():
    curve = PiecewiseTradeOff.from_epsilon(1.0, 0.1)
    for epsilon in (0.0, 0.4, 1.0, 3.0):
        e = np.exp(1.0)
        truth = 0.1 + 0.9 * max(e - np.exp(epsilon), 0.0) / (1.0 + e)
        assert curve.delta(epsilon) == pytest.approx(truth, rel=1e-14)
    alpha = np.exp(-1.0)
    p = alpha ** np.abs(np.arange(-200, 201)) * (1.0 - alpha) / (1.0 + alpha)
    noise = PiecewiseTradeOff.from_noise(p / p.sum())
    assert noise.delta(0.3) == pytest.approx(PiecewiseTradeOff.from_epsilon(1.0).delta(0.3))
    assert PiecewiseTradeOff.from_epsilon(np.inf).advantage == 1.0
    for arguments, message in [
        ((-1.0,), "epsilon must be at least 0"),
        ((1.0, 1.5), "delta must be between 0 and 1"),
        (([1.0, 2.0],), "epsilon must be one number"),
    ]:
        with pytest.raises(ValueError, match=message):
            PiecewiseTradeOff.from_epsilon(*arguments)


def test_tests_beside_what_only_one_world_makes_possible():
    p_out, p_in = np.array([0.2, 0.5, 0.3, 0.0]), np.array([0.0, 0.6, 0.3, 0.1])
    discrete = PiecewiseTradeOff.from_laws(p_out, p_in)
    curve = compose(discrete, LaplaceTradeOff(0.4))
    # Laplace noise in 2,000 cells: a curve below, by about the square of a cell.
    edges = np.linspace(-0.4, 0.4, 2001)
    cells_out = np.append(np.diff(-np.exp(-(edges + 0.4) / 2)) / 2, [0.5, np.exp(-0.4) / 2])
    cells_in = np.append(np.diff(np.exp((edges - 0.4) / 2)) / 2, [0.5 * np.exp(-0.4), 0.5])
    below = discrete.compose(PiecewiseTradeOff.from_laws(cells_out, cells_in))
    fpr = np.array([0.0, 0.01, 0.1, 0.3, 0.6, 0.79, 0.9])
    assert np.asarray(curve.power(fpr)) == pytest.approx(below.power(fpr), abs=3e-7)
    assert np.asarray(curve.fnr(fpr)) == pytest.approx(below.fnr(fpr), abs=3e-7)
    assert curve.auc == pytest.approx(below.auc, abs=3e-7)


def test_what_has_no_enclosure_is_refused():
    curve = compose(GaussianTradeOff(1.0), LaplaceTradeOff(1.0))
    for arguments in ({}, {"epsilon": 1.0, "delta": 0.1}):
        with pytest.raises(ValueError, match="fpr must be given, or epsilon, or delta: one of"):
            curve.enclosure(**arguments)


def test_privacy_loss_distributions_of_dp_accounting_bracket_the_composition():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    curve = compose(GaussianTradeOff(1.0).subsample(0.02), LaplaceTradeOff(0.5), counts=[200, 1])
    theirs = {}
    for pessimistic in (False, True):
        rounding = {
            "pessimistic_estimate": pessimistic,
            "value_discretization_interval": 1e-4,
            "use_connect_dots": True,
        }
        steps = pld.from_gaussian_mechanism(1.0, sampling_prob=0.02, **rounding)
        theirs[pessimistic] = steps.self_compose(200).compose(
            pld.from_laplace_mechanism(2.0, **rounding)
        )
    for epsilon in (0.1, 0.5, 1.5):
        low, high = (theirs[side].get_delta_for_epsilon(epsilon) for side in (False, True))
        assert low * (1 - 1e-9) <= curve.delta(epsilon) <= high * (1 + 1e-9)


def test_curves_become_privacy_loss_distributions_and_come_back():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    curves = [
        compose(GaussianTradeOff(1.0).subsample(0.02), counts=200),
        PiecewiseTradeOff.from_epsilon(0.3, 0.01),
        LaplaceTradeOff(1.0),
    ]
    for curve in curves:
        made = curve.to_pld(1e-3)
        again = PiecewiseTradeOff.from_pld(made)
        assert again.kind == "bound"
        for epsilon in (0.0, 0.1, 0.25):
            delta = curve.delta(epsilon)
            assert delta - 1e-10 <= made.get_delta_for_epsilon(epsilon) < delta + 1e-7
            inside = curve.delta(epsilon, direction="in")
            assert inside - 1e-10 <= again.delta(epsilon, direction="in") < inside + 1e-7
            out = curve.delta(epsilon, direction="out")
            assert out - 1e-10 <= again.delta(epsilon, direction="out") < out + 1e-6
    laplace = PiecewiseTradeOff.from_pld(
        pld.from_laplace_mechanism(1.0, value_discretization_interval=1e-3)
    )
    assert laplace.delta(0.5) == pytest.approx(LaplaceTradeOff(1.0).delta(0.5), abs=1e-6)
    optimistic = pld.from_laplace_mechanism(1.0, pessimistic_estimate=False)
    with pytest.raises(ValueError, match="pld must be a pessimistic estimate"):
        PiecewiseTradeOff.from_pld(optimistic)
    with pytest.raises(ValueError, match="interval must be above 0"):
        curves[2].to_pld(0.0)
    with pytest.raises(ValueError, match="interval must be at least"):
        curves[2].to_pld(1e-9)


def test_what_is_no_privacy_loss_distribution_is_refused():
    with pytest.raises(TypeError, match="pld must be a privacy loss distribution of dp-acc"):
        PiecewiseTradeOff.from_pld([0.5, 0.5])


def test_epsilons_and_noises_of_several_releases_are_those_of_their_composition():
    for arguments in ({}, {"delta": 1e-3}, {"gamma": 0.8}):
        epsilon = epsilon_for_leakage(0.1, steps=12, **arguments)
        p = special.expit(epsilon)
        kept, lost = stats.binom(12, p), stats.binom(12, 1.0 - p)
        k, missing = np.arange(13), 1.0 - (1.0 - arguments.get("delta", 0.0)) ** 12
        scale = 1.0 / arguments.get("gamma", 1.0)
        gains = np.maximum(kept.pmf(k) - scale * lost.pmf(k), 0.0).sum()
        assert missing + (1.0 - missing) * gains == pytest.approx(0.1, rel=1e-10)
    assert epsilon_for_leakage(0.1, steps=1) == epsilon_for_leakage(0.1)
    assert (epsilon_for_leakage(0.0, steps=2), epsilon_for_leakage(1.0, steps=2)) == (0.0, np.inf)
    for steps, delta in ((1, 0.0), (12, 0.0), (12, 1e-4)):
        epsilon = epsilon_for_leakage(attack=(0.01, 0.05), steps=steps, delta=delta)
        p, k = special.expit(epsilon), np.arange(steps, -1, -1)
        kept = (1.0 - delta) ** steps
        out, inside = (kept * stats.binom(steps, each).pmf(k) for each in (1.0 - p, p))
        power = np.interp(
            0.01, np.append(0.0, np.cumsum(out)), 1 - kept + np.append(0, inside.cumsum())
        )
        assert power == pytest.approx(0.05, rel=1e-10)
    assert epsilon_for_leakage(attack=(0.0, 0.1), delta=0.01) == np.inf
    assert epsilon_for_leakage(attack=(0.2, 0.2), steps=3) == 0.0
    noise = noise_multiplier_for_leakage(attack=(0.001, 0.01), steps=100)
    mu = stats.norm.ppf(0.01) - stats.norm.ppf(0.001)  # of all steps together
    assert noise == pytest.approx(20.0 / mu, rel=1e-10)
    sampled = noise_multiplier_for_leakage(attack=(0.001, 0.01), steps=4, rate=0.5)
    step = GaussianTradeOff(2.0 / sampled).subsample(0.5, symmetric=True)
    assert compose(step, counts=4).power(0.001) == pytest.approx(0.01, rel=1e-6)
    assert noise_multiplier_for_leakage(attack=(0.1, 0.1)) == np.inf
    for call, message in [
        (
            lambda: epsilon_for_leakage(0.001, steps=2, delta=1e-3),
            "leakage must be at least 0.0019",
        ),
        (lambda: epsilon_for_leakage(0.1, steps=2, target="random"), "steps is not available with"),
        (lambda: epsilon_for_leakage([0.1], steps=2), "leakage must be one number where releases"),
        (lambda: epsilon_for_leakage(0.1, attack=(0.1, 0.2)), "leakage must be given, or attack"),
        (
            lambda: epsilon_for_leakage(attack=(0.2, 0.1)),
            "attack must have a power of at least 0.2",
        ),
        (lambda: noise_multiplier_for_leakage(), "leakage must be given, or attack, but not both"),
        (lambda: noise_multiplier_for_leakage(0.1, rate=0.0), "rate must be above 0 and at most 1"),
        (lambda: noise_multiplier_for_leakage(attack=(0.2, 0.1)), "attack must have a power of at"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_discrete_gaussians_of_different_scales_to_1e_35():
    scales, count, epsilon = (2.0, 3.3), 2, 10.2
    laws = []
    for scale in scales:
        k = np.arange(-40 * 4, 40 * 4 + 1)
        p = np.exp(-0.5 * (k / scale) ** 2)
        laws.append((p / p.sum(), k))
    curve = compose(*(PiecewiseTradeOff.from_noise(p) for p, _ in laws), counts=count)
    # In each kind the noises add up: a double sum of positive terms over both sums.
    parts = []
    for (p, k), scale in zip(laws, scales, strict=True):
        total = np.convolve(p, p)
        place = 2 * k[0] + np.arange(total.size)
        parts.append((total, (place - 0.5 * count) / scale**2))
    ratio = np.add.outer(parts[0][1], parts[1][1])
    weight = np.multiply.outer(parts[0][0], parts[1][0])
    beyond = ratio > epsilon
    truth = float(np.sum(weight[beyond] * np.exp(epsilon) * np.expm1(ratio[beyond] - epsilon)))
    assert 1e-37 < truth < 1e-33
    assert curve.delta(epsilon) == pytest.approx(truth, rel=1e-10)
    bounds = curve.enclosure(epsilon=epsilon)
    assert bounds.lower <= truth <= bounds.upper < truth * (1 + 1e-4)


def test_tests_of_few_atoms_are_within_their_stated_errors():
    # A sampled Laplace law alone, and outcomes off a common lattice.
    laws = np.array([[0.0, 0.3, 0.34, 0.36], [0.48, 0.12, 0.26, 0.14]])
    base = LaplaceTradeOff(2.2652653763143475)
    noise = base.subsample(0.1)
    alone = ComposedTradeOff((noise,), (1,))
    fpr = np.array([1.5380441282493554e-4, 0.3, 0.9])
    for ours, truth in ((alone.power, noise.power), (alone.fnr, noise.fnr), (alone.fpr, noise.fpr)):
        assert np.all(np.abs(ours(fpr) / truth(fpr) - 1.0) <= alone.error)
    assert abs(alone.auc / noise.auc - 1.0) <= alone.error < 1e-4
    twice, other = PiecewiseTradeOff.from_laws(*laws), PiecewiseTradeOff([0.2, 0.7], [0.5, 0.9])
    listed, grid = compose(twice, other), ComposedTradeOff((twice, other), (1, 1))
    assert (listed.method, grid.method) == ("atoms", "grid")
    for name in ("power", "fnr", "fpr"):
        ours, truth = getattr(grid, name)(fpr), getattr(listed, name)(fpr)
        assert np.all(np.abs(ours - truth) <= grid.error * truth + 1e-13)
    assert abs(grid.auc / listed.auc - 1.0) <= grid.error < 1e-4


def test_what_is_possible_in_one_world_only_is_never_above_one():
    laws = PiecewiseTradeOff.from_laws(
        [0.2527305426004156, 0.7472694573995845, 0.0], [0.0, 0.2527305426004156, 0.7472694573995845]
    )
    curve = compose(laws, LaplaceTradeOff(0.41).subsample(0.01, symmetric=True), counts=[30, 1])
    assert curve.power(0.0) == curve.delta(0.0, direction="in") == curve.advantage == 1.0
    assert curve.fnr(0.5) == 0.0


def test_worlds_that_are_nearly_apart():
    p_out, p_in = [0.02108304977709467, 0.9789169502229054], [0.999933267070109, 6.6732929891e-05]
    law = PiecewiseTradeOff.from_laws(p_out, np.array(p_in) / np.sum(p_in))
    curve = ComposedTradeOff((law, LaplaceTradeOff(2.1).subsample(0.1)), (30, 1))
    for direction in DIRECTIONS:
        assert np.asarray(curve.delta([0.0, 1.2, 2.0], direction=direction)) == pytest.approx(1.0)
    bounds = curve.enclosure(epsilon=1.2)
    assert bounds.lower <= 1.0 <= bounds.upper + 1e-12
    bounds = curve.enclosure(0.2)
    assert bounds.lower <= 1.0 <= bounds.upper + 1e-12
    with pytest.raises(ArithmeticError, match="grid"):
        _ = curve.auc
    law = PiecewiseTradeOff.from_laws([0.0008283842517, 0.9991716157483], [1.0, 0.0])
    curve = ComposedTradeOff((law, LaplaceTradeOff(2.1)), (12, 1))  # ruled out but for 1e-37
    assert curve.fnr(0.0) == 1.0 - curve.power(0.0) == 1.0


@pytest.mark.parametrize(("distance", "mu"), [(1.0, 1.0), (2.0, 0.5), (0.5, 0.2)])
def test_areas_and_powers_of_laplace_beside_normal_noise_are_integrals(distance, mu):
    """The log ratio of Laplace noise is |x| - |x - distance|: two atoms and a density between."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x, w = 0.5 * distance * (nodes + 1.0), 0.5 * distance * weights
    ratio = np.concatenate([[-distance], 2.0 * x - distance, [distance]])
    out = np.concatenate([[0.5], 0.5 * w * np.exp(-x), [0.5 * np.exp(-distance)]])
    inside = out * np.exp(ratio)
    reach = distance + 0.5 * mu * mu + 9.0 * mu
    nodes, weights = np.polynomial.legendre.leggauss(600)
    t, w = reach * nodes, reach * weights
    shift = 0.5 * mu * mu
    z_out = (t[:, None] - ratio + shift) / mu
    z_in = (t[:, None] - ratio - shift) / mu
    density = np.exp(-0.5 * z_out**2) @ out / (mu * np.sqrt(2.0 * np.pi))
    fpr, power = special.ndtr(-z_out) @ out, special.ndtr(-z_in) @ inside
    curve = compose(LaplaceTradeOff(distance), GaussianTradeOff(mu))
    assert curve.auc == pytest.approx(float(w * density @ power), abs=1e-12)
    some = np.searchsorted(-fpr, [-0.9, -0.5, -0.1, -1e-3, -1e-6])
    assert curve.power(fpr[some]) == pytest.approx(power[some], rel=1e-6)
