"""Compositions of many releases: brute sums, tables of parts, bounds near one, time."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from mialeak import GaussianTradeOff, PiecewiseTradeOff, compose
from mialeak._arrays import FloatArray
from mialeak._numerics.chernoff import least_over_exponents
from mialeak._numerics.laplace_losses import LaplaceLoss
from mialeak._numerics.loss_grids import _fewer, _Law
from mialeak.tradeoff import ComposedTradeOff, LaplaceTradeOff
from mialeak.tradeoff._far_bounds import FarBounds

DIRECTIONS = ("in", "out")


def exact_power(p_out: list[float], p_in: list[float], count: int, fpr: float) -> Fraction:
    """Power of the best test of `count` outcomes of two laws: all multisets, in fractions."""
    atoms = []
    for kept in itertools.combinations_with_replacement(range(len(p_out)), count):
        ways = math.factorial(count)
        for each in set(kept):
            ways //= math.factorial(kept.count(each))
        both = [ways * math.prod(Fraction(law[each]) for each in kept) for law in (p_out, p_in)]
        atoms.append(both)
    atoms.sort(key=lambda atom: atom[1] / atom[0] if atom[0] else math.inf, reverse=True)
    power, budget = Fraction(0), Fraction(fpr)
    for a, b in atoms:
        share = min(budget / a, 1) if a else 1
        power, budget = power + share * b, budget - share * a
    return power


@pytest.mark.parametrize(
    ("p_out", "p_in", "fpr"),
    [
        ([0.9967091, 0.0032909], [0.0, 1.0], 0.0032909**10 * (1.0 - 3e-10)),
        ([0.00203678, 0.99796322, 0.0], [0.00609228, 0.2307959, 0.76311182], 7.6e-4),
        ([0.00203678, 0.99796322, 0.0], [0.00609228, 0.2307959, 0.76311182], 0.0154),
    ],
)
def test_bounds_of_a_power_near_one_hold_it(p_out, p_in, fpr):
    """The bounds were (1, 1) for 1 - 3e-10, and 1 - 3.7e-7 for 1 - 4.6e-7."""
    curve = ComposedTradeOff((PiecewiseTradeOff.from_laws(p_out, p_in),), (10,))
    missed = float(1 - exact_power(p_out, p_in, 10, fpr))
    assert 1e-10 < missed < 1e-6
    bounds = curve.enclosure(fpr)
    assert 1.0 - bounds.upper - 1e-12 <= missed <= 1.0 - bounds.lower + 1e-12
    assert bounds.width < 1e-10
    fnr = curve.fnr(fpr)
    assert abs(fnr - missed) <= curve.error * missed + 1e-13
    assert curve.error < 1e-4


def points_of_laplace(distance: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities *out* and log ratios of sampled Laplace noise: two atoms and Gauss's rule."""
    x, weight = np.polynomial.legendre.leggauss(24)
    x, weight = 0.5 * distance * (x + 1.0), 0.5 * distance * weight
    p = np.concatenate([[0.5], 0.5 * weight * np.exp(-x), [0.5 * np.exp(-distance)]])
    ratio = np.concatenate([[-distance], 2.0 * x - distance, [distance]])
    return p, np.log1p(rate * np.expm1(ratio))


def points_of_a_normal(mu: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities *out* and log ratios of sampled normal noise, by the trapezoid rule."""
    z = np.arange(-9.5, 10.5, 0.15)
    return 0.15 * stats.norm.pdf(z), np.log1p(rate * np.expm1(mu * z - 0.5 * mu * mu))


@pytest.mark.parametrize(
    ("releases", "points"),
    [
        ([(LaplaceTradeOff(0.7), 3)], [points_of_laplace(0.7, 1.0)] * 3),
        ([(LaplaceTradeOff(0.9).subsample(0.3), 3)], [points_of_laplace(0.9, 0.3)] * 3),
        (
            [(GaussianTradeOff(mu).subsample(q), 1) for mu, q in ((1.0, 0.2), (1.1, 0.1))]
            + [(LaplaceTradeOff(0.5), 1)],
            [
                points_of_a_normal(1.0, 0.2),
                points_of_a_normal(1.1, 0.1),
                points_of_laplace(0.5, 1.0),
            ],
        ),
        (
            [
                (GaussianTradeOff(mu).subsample(q), 1)
                for mu, q in ((1.0, 0.2), (0.6, 0.3), (0.4, 0.1))
            ],
            [
                points_of_a_normal(1.0, 0.2),
                points_of_a_normal(0.6, 0.3),
                points_of_a_normal(0.4, 0.1),
            ],
        ),
    ],
)
def test_three_continuous_releases_beside_a_normal_one_are_triple_sums(releases, points):
    mu = 0.6
    curves, counts = zip(*releases, strict=True)
    curve = compose(*curves, GaussianTradeOff(mu), counts=[*counts, 1])
    p, ratio = np.ones(1), np.zeros(1)
    for other, more in points:
        p, ratio = np.multiply.outer(p, other).ravel(), np.add.outer(ratio, more).ravel()
    for epsilon in (0.0, 0.5, 3.0):
        e = np.exp(epsilon)
        above, below = (epsilon - ratio) / mu, (epsilon + ratio) / mu
        inside = np.exp(ratio) * special.ndtr(mu / 2 - above) - e * special.ndtr(-mu / 2 - above)
        out = special.ndtr(mu / 2 - below) - e * np.exp(ratio) * special.ndtr(-mu / 2 - below)
        for direction, terms in (("in", inside), ("out", out)):
            truth = float(p @ terms)
            assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-11)
            if epsilon == 0.5:
                bounds = curve.enclosure(epsilon=epsilon, direction=direction)
                assert bounds.lower <= truth * (1 + 1e-13)
                assert truth * (1 - 1e-13) <= bounds.upper < truth * (1 + 1e-6)


@pytest.mark.parametrize(("cells", "mu"), [(40, 1.5), (100, 0.3)])
def test_areas_of_many_cells_beside_normal_noise_are_integrals(cells, mu):
    rng = np.random.default_rng(3)
    p_out, p_in = rng.dirichlet(np.ones(cells), 2)
    p_in = 0.7 * p_out + 0.3 * p_in
    curve = compose(PiecewiseTradeOff.from_laws(p_out, p_in), GaussianTradeOff(mu))
    ratio = np.log(p_in / p_out)
    reach = np.abs(ratio).max() + 0.5 * mu * mu + 9.0 * mu
    nodes, weights = np.polynomial.legendre.leggauss(1000)
    z = (reach * nodes[:, None] - ratio + 0.5 * mu * mu) / mu
    density = np.exp(-0.5 * z * z) @ p_out / (mu * np.sqrt(2.0 * np.pi))
    fpr, power = special.ndtr(-z) @ p_out, special.ndtr(mu - z) @ p_in
    assert curve.auc == pytest.approx(float(reach * weights * density @ power), abs=1e-12)
    place = np.searchsorted(-fpr, [-0.9, -0.5, -0.1, -1e-3, -1e-6])
    assert curve.power(fpr[place]) == pytest.approx(power[place], rel=1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        lambda x: GaussianTradeOff(0.8 * x).subsample(0.02 * x),
        lambda x: PiecewiseTradeOff.from_epsilon(0.1 * x),
    ],
)
def test_hundreds_of_nearly_equal_releases_are_one_release_many_times(kind):
    """Many releases share a table, one release has none."""
    shifts = 1.0 + 1e-9 * np.linspace(-1.0, 1.0, 201)
    normal = GaussianTradeOff(0.4)
    many = compose(*(kind(x) for x in shifts), normal)
    once = compose(kind(1.0), normal, counts=[201, 1])
    for epsilon in (0.0, 1.0, 4.0):
        for direction in DIRECTIONS:
            ours, theirs = (each.delta(epsilon, direction=direction) for each in (many, once))
            assert ours == pytest.approx(theirs, rel=1e-11)


def test_a_thousand_different_releases_take_a_second():
    rng = np.random.default_rng(1)
    noise, rate = rng.uniform(0.8, 3.0, 1000), rng.uniform(0.001, 0.02, 1000)
    start = time.process_time()
    curve = compose(
        *(GaussianTradeOff(1.0 / s).subsample(q) for s, q in zip(noise, rate, strict=True))
    )
    least = curve.epsilon(1e-5)
    took = time.process_time() - start
    assert curve.delta(least) == pytest.approx(1e-5, rel=1e-9)
    # Chernoff's bound by moments that are sums of binomial terms, and the limit of normal laws.
    bound = np.inf
    for a in range(2, 40):
        k = np.arange(a + 1)[:, None]
        terms = np.log(special.comb(a, k)) + k * np.log(rate) + (a - k) * np.log1p(-rate)
        moments = special.logsumexp(terms + 0.5 * k * (k - 1) / noise**2, axis=0)
        bound = min(bound, (moments.sum() - np.log(1e-5)) / (a - 1))
    normal = GaussianTradeOff(np.sqrt(np.sum(rate**2 * np.expm1(noise**-2)))).epsilon(1e-5)
    assert normal < least < bound < 2.0 * least
    assert took < 10.0  # half a second alone; a generous limit for a busy machine


def test_equal_curves_become_one():
    laws = [PiecewiseTradeOff([0.3], [0.6]), LaplaceTradeOff(0.3), GaussianTradeOff(1.0)]
    sampled = [curve.subsample(0.1) for curve in (LaplaceTradeOff(0.3), GaussianTradeOff(1.0))]
    curve = compose(*laws, *sampled, *laws, *sampled, counts=2)
    assert curve.counts == (4, 4, 4, 4, 1)


def test_worlds_that_differ_and_sampled_compositions_are_refused_in_words():
    added = GaussianTradeOff(1.0).subsample(0.1)
    replaced = GaussianTradeOff(2.0).subsample(0.1, symmetric=True)
    with pytest.raises(
        ValueError, match=r"curves must be samples with symmetric=True \(one row rep"
    ):
        compose(added, compose(replaced, GaussianTradeOff(0.5)))
    both = compose(added, GaussianTradeOff(1.0))
    with pytest.raises(TypeError, match="compose is not available for a sampled composition"):
        compose(both.subsample(0.5), added)
    once = compose(GaussianTradeOff(1.0))
    assert compose(once.subsample(0.1)).delta(0.1) == added.delta(0.1)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("mu", "rate"), [(10.0, 1e-12), (2.0, 1e-12), (1.0, 1e-12), (0.1, 1e-6)])
def test_a_million_rare_steps_are_answered_or_refused(mu, rate, direction):
    """Steps whose moments overflow had epsilon 0, below that of one step, and a delta of NaN."""
    step = GaussianTradeOff(mu).subsample(rate)
    for question in ({"delta": 1e-5}, {"delta": 1e-30}, {"epsilon": 0.0}):
        ((kind, value),) = question.items()
        inverse = "epsilon" if kind == "delta" else "delta"
        least = float(getattr(step, inverse)(value, direction=direction))
        try:
            answer = float(
                getattr(compose(step, counts=10**6), inverse)(value, direction=direction)
            )
        except ArithmeticError as refusal:
            assert "not available" in str(refusal)  # noqa: PT017
            continue
        # A union bound: a million steps change the laws by a million times as much at most.
        assert answer >= least * (1.0 - 1e-9)
        if inverse == "delta":
            assert answer <= 1e6 * least * (1.0 + 1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_million_steps_of_much_noise_that_take_nearly_all_rows(direction):
    """Epsilon was 0 in one direction; 10^6 steps of mu 0.0000999 are Gaussian but for 1e-4."""
    curve = compose(GaussianTradeOff(1e-4).subsample(0.999), counts=10**6)
    for delta in (1e-5, 1e-30):
        truth = GaussianTradeOff(0.0999).epsilon(delta)
        assert curve.epsilon(delta, direction=direction) == pytest.approx(truth, rel=1e-4)


def test_a_thousand_different_laplace_releases_are_an_integral_and_take_a_second():
    """Delta along a contour, with the moment function of Laplace noise in closed form: 3.9 s."""
    distances = np.linspace(0.005, 0.05, 1000)
    t = np.arange(0.0, 12.0, 0.01)
    s = 4.0 + 1j * t
    log_moment = log_moment_of_laplace(s, distances[:, None]).sum(axis=0)
    weight = np.where(t > 0.0, 0.01, 0.005) / np.pi
    before = time.process_time()
    curve = compose(*map(LaplaceTradeOff, distances))
    epsilon = curve.epsilon(1e-5)
    assert time.process_time() - before < 2.5  # 0.7 s, and four times as much before
    truth = float(weight @ (np.exp(log_moment - (s - 1.0) * epsilon) / (s * (s - 1.0))).real)
    assert truth == pytest.approx(1e-5, rel=1e-9)
    bounds = curve.enclosure(epsilon=2.0)
    truth = float(weight @ (np.exp(log_moment - (s - 1.0) * 2.0) / (s * (s - 1.0))).real)
    assert bounds.lower <= truth <= bounds.upper < truth * (1.0 + 1e-3)
    assert curve.delta(2.0) == pytest.approx(truth, rel=1e-10)


def log_moment_of_laplace(s: FloatArray, distance: FloatArray) -> FloatArray:
    """Log E_out[e^(s l)], of which the multiples of 2 pi i are left out."""
    inside = np.exp(-0.5 * distance) * np.sinh((s - 0.5) * distance) / (2.0 * (s - 0.5))
    ends = np.exp(-s * distance) + np.exp((s - 1.0) * distance)
    return np.log(0.5 * ends + inside)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("distance", [1e-6, 0.02, 1.0, 30.0, 900.0])
def test_waves_of_laplace_ratios_against_sixty_digits(distance, direction):
    def moment(s):
        half = s - mpmath.mpf(0.5)
        inside = mpmath.exp(-d / 2) * (mpmath.sinh(half * d) / half if half else d) / 2
        return (mpmath.exp(-s * d) + mpmath.exp((s - 1) * d)) / 2 + inside

    loss = LaplaceLoss(distance, 3.0)
    with mpmath.workdps(60):
        d = mpmath.mpf(distance)
        for theta in (-1.5, 0.5, 0.5 + 1e-9, 1.0, 7.25):
            theta = theta if direction == "in" else 1.0 - theta
            mean = mpmath.diff(lambda s: mpmath.log(moment(s)), theta)
            phases = np.array([1e-9, 1e-3, 0.3, 0.99, 1.01, 3.0, 40.0])
            for t, wave in zip(
                phases / distance, loss.log_wave(theta, phases / distance), strict=True
            ):
                ratio = moment(theta + 1j * mpmath.mpf(t)) / moment(mpmath.mpf(theta))
                truth = 3 * mpmath.log(ratio * mpmath.expj(-t * mean))
                away = complex(mpmath.exp(wave - truth) - 1)
                # A ratio of 900 has an error of 900 roundings, whatever its law's width.
                allowed = 1e-13 * max(1.0, distance, t * distance)
                assert abs(away) <= allowed * min(1.0, abs(truth))
                assert float(abs(ratio)) ** 3 <= loss.ceiling(theta, t) * (1.0 + 1e-13)


def test_a_thousand_mixed_releases_are_an_integral_and_take_a_second():
    shift = np.linspace(0.01, 0.1, 300)
    t = np.arange(0.0, 12.0, 0.01)
    s = 6.0 + 1j * t
    log_moment = log_moment_of_laplace(s, shift[:, None]).sum(axis=0)
    # Randomised responses of these epsilons, and 400 normal noises.
    answers = np.exp((s - 1.0) * shift[:, None]) + np.exp(-s * shift[:, None])
    log_moment += np.log(answers / (1.0 + np.exp(-shift[:, None]))).sum(axis=0)
    mu = np.linspace(0.01, 0.1, 400)
    log_moment += 0.5 * s * (s - 1.0) * (mu @ mu)
    before = time.process_time()
    curves = [*map(LaplaceTradeOff, shift), *map(GaussianTradeOff, mu)]
    curve = compose(*curves, *map(PiecewiseTradeOff.from_epsilon, shift))
    assert curve.method == "inversion"
    epsilon = curve.epsilon(1e-5)
    assert time.process_time() - before < 2.5  # 0.3 s
    weight = np.where(t > 0.0, 0.01, 0.005) / np.pi
    truth = float(weight @ (np.exp(log_moment - (s - 1.0) * epsilon) / (s * (s - 1.0))).real)
    assert truth == pytest.approx(1e-5, rel=1e-11)


def test_laws_of_one_length_that_are_used_several_times_are_convolved():
    """Products of one length were compared by their masses: the census of 2020 has such."""
    masses = [np.array([[1.0, 4.0, 1.0]] * 2) ** power for power in (1.0, 1.25, 1.5)]
    laws = [_Law(each / each[0].sum(), -1, 5, times) for times, each in enumerate(masses, 2)]
    whole, first, centre = np.ones(1), 0, 0
    for law in laws:
        for _ in range(law.times):
            whole = np.convolve(whole, law.masses[0])
            first, centre = first + law.first, centre + law.centre
    (made,) = _fewer(laws, 1e-15)
    assert (made.first, made.centre, made.times) == (first, centre, 1)
    np.testing.assert_allclose(made.masses, [whole, whole], rtol=1e-13)


@pytest.mark.parametrize("best", [-4.0, -1.0, 0.3, 1.0, 2.5, 4.0, 7.0])
@pytest.mark.parametrize("last", [np.inf, 30.0, 1.0, 0.02, 1e-3])
def test_the_best_exponent_is_found_without_trying_all(best, last):
    """Convex functions divided by the exponent, known up to the exponent `last`."""
    tried = []

    def bound(rate):
        tried.append(rate)
        if rate > last:
            raise ArithmeticError
        return (np.exp(best) * rate * rate + 1.0) / rate

    rates = np.geomspace(0.01, 200.0, 18) / 3.0
    known = [(bound(rate), rate) for rate in rates if rate <= last]
    tried.clear()
    least, rate = least_over_exponents(bound, 3.0)
    if known:
        assert (least, rate) == pytest.approx(min(known), rel=1e-12)
    else:
        assert least == np.inf
    assert len(tried) == len(set(tried)) < 15


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(0.001, 0.01, 1000), (0.004, 0.01, 1000), (0.01, 0.2, 3)]
)
def test_worlds_one_of_which_has_one_ratio_are_not_equal(sigma, rate, steps):
    """Out has a constant ratio to the last digit, in does not: the power was the fpr.

    A single step with the row decides all but epsilon and the area.
    """
    curve = compose(GaussianTradeOff(1.0 / sigma).subsample(rate), counts=steps)
    drawn = 1.0 - (1.0 - rate) ** steps  # a step with the row shows it
    for fpr in (1e-6, 0.1):
        assert curve.power(fpr) == pytest.approx(drawn + (1.0 - drawn) * fpr, rel=1e-9)
        bounds = curve.enclosure(fpr)
        assert bounds.lower - 1e-15 <= drawn + (1.0 - drawn) * fpr <= bounds.upper + 1e-15
        assert bounds.width < 1e-11
    for epsilon in (0.0, 1.0, 1000.0):  # nothing of the row is left in other steps
        bounds = curve.enclosure(epsilon=epsilon, direction="in")
        assert bounds.lower - 1e-15 <= drawn <= bounds.upper + 1e-15
        assert bounds.width < (1e-11 if epsilon < 600.0 else 1.0)
    bounds = curve.enclosure(epsilon=1.0, direction="out")
    truth = max(1.0 - np.e * (1.0 - drawn), 0.0)  # rounded
    assert bounds.lower - 1e-15 <= truth <= bounds.upper + 1e-15
    assert bounds.width < 1e-11
    assert curve.advantage == pytest.approx(drawn, rel=1e-9)
    assert 1e-9 <= curve.error < 1e-7
    with pytest.raises(ArithmeticError):
        _ = curve.auc


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(1.0, 0.01, 1000), (0.7, 0.001, 5000), (4.0, 0.5, 20), (2.0, 1, 3)]
)
def test_bounds_far_from_any_grid_enclose_the_curve(sigma, rate, steps):
    curve = compose(GaussianTradeOff(1.0 / sigma).subsample(rate), counts=steps)
    far = FarBounds(curve.curves, curve.counts, curve._losses)
    assert far.advantage >= curve.advantage
    assert far.least_power(np.array(0.01)) <= curve.power(0.01) <= far.power(np.array(0.01))
    for side in DIRECTIONS:
        epsilon = np.array([0.0, 0.3, 1.0, 2.0])
        assert (far.delta(epsilon, side) >= curve.delta(epsilon, direction=side)).all()
        assert (far.least_delta(epsilon, side) <= curve.delta(epsilon, direction=side)).all()
        assert far.least_delta(np.zeros(1), side)[0] > 0.1 * curve.delta(0.0, direction=side)
        delta = np.array([1e-2, 1e-5, 1e-9])
        exact = curve.epsilon(delta, direction=side)
        assert (far.least_epsilon(delta, side) <= exact).all()
        assert (far.epsilon(delta, side) >= exact).all()
        assert (far.epsilon(delta, side) <= 2.0 * exact + 1.0).all()


def test_a_bound_far_from_any_grid_is_above_the_power_of_ten_discrete_releases():
    """Worlds that are equal in part do not share the likelihood of one of them there."""
    p_out, p_in = [0.00203678, 0.99796322, 0.0], [0.00609228, 0.2307959, 0.76311182]
    curve = ComposedTradeOff((PiecewiseTradeOff.from_laws(p_out, p_in),), (10,))
    far = FarBounds(curve.curves, curve.counts, curve._losses)
    for fpr in (1e-9, 7.6e-4, 0.0154, 0.3):
        exact = float(exact_power(p_out, p_in, 10, fpr))
        bound = float(far.power(np.array(fpr)))
        assert float(far.least_power(np.array(fpr))) <= exact + 1e-15
        assert exact <= bound + 1e-15
        assert 1.0 - bound >= 0.5 * (1.0 - exact) - 1e-15


def test_a_bound_by_the_least_ratio_is_above_the_power_where_that_ratio_is_above_one():
    """It was rounded the wrong way there: 3e-12 below."""
    p_out, p_in = [1 / 8192, 8059 / 8192, 132 / 8192], [646 / 8192, 0.0, 7546 / 8192]
    curve = ComposedTradeOff((PiecewiseTradeOff.from_laws(p_out, p_in),), (2,))
    far = FarBounds(curve.curves, curve.counts, curve._losses)
    for fpr in (1e-6, 1e-4, 2e-4):
        bound = Fraction(float(far.power(np.array(fpr))))
        assert bound - exact_power(p_out, p_in, 2, fpr) >= 0
    assert bound - exact_power(p_out, p_in, 2, fpr) < 1e-10


def test_an_epsilon_of_zero_does_not_contradict_the_advantage():
    """Three steps with hardly any noise: delta is 0.49 at 0, and the epsilon at 1e-5 was 0."""
    curve = compose(GaussianTradeOff(20.0).subsample(0.2), counts=3)
    assert curve.delta(1.0) == pytest.approx(1.0 - 0.8**3, rel=1e-9)
    with pytest.raises(ArithmeticError):
        curve.epsilon(1e-5, direction="in")


def test_a_grid_reaches_the_ends_of_a_law_on_a_fine_lattice():
    """The epsilons have a common step of 1.5 steps of the grid; half of that is too fine for it."""
    curve = compose(LaplaceTradeOff(0.7157837883149293), LaplaceTradeOff(3.178354588257663))
    truth = [0.80624014915637710683, 0.68054401250643476687, 0.47330611836684488348]  # by mpmath
    np.testing.assert_allclose(curve.delta([0.0, 1.0, 2.0]), truth, rtol=1e-8)


def test_bounds_of_what_one_world_makes_possible_have_room_for_rounding():
    certain = PiecewiseTradeOff.from_laws([0.0, 1.0], [0.24415286186656354, 0.7558471381334365])
    bounds = compose(LaplaceTradeOff(1.0), certain).enclosure(epsilon=1.1, direction="in")
    assert bounds.lower < 0.24415286186656354 < bounds.upper < 0.24415286186658
