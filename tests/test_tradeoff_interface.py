"""What all kinds of curve share: arguments, refusals, immutability, defaults of the base class."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

from mialeak import discrete_tradeoff, exact_mean_tradeoff, tradeoff
from mialeak._numerics.roots import increasing_root
from mialeak.laws import Bernoulli
from mialeak.means import GaussianMeanTradeOff
from mialeak.tradeoff import (
    EmpiricalTradeOff,
    GaussianTradeOff,
    LaplaceTradeOff,
    PiecewiseTradeOff,
    SubsampledTradeOff,
    TradeOff,
)

CURVES = [
    GaussianTradeOff(1.0),
    GaussianTradeOff([0.0, 2.0, np.inf], kind="asymptotic"),
    SubsampledTradeOff(GaussianTradeOff(3.0), [[0.1], [0.5]]),
    PiecewiseTradeOff([0.25], [0.75], kind="bound"),
    EmpiricalTradeOff([3, 2, 2], [2, 1, 0]),
    LaplaceTradeOff([0.5, 0.0, np.inf]),
]
METHODS = {"power": "fpr", "fnr": "fpr", "fpr": "power", "epsilon": "delta"}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [-1e-9, 1.0000001, np.nan, np.inf])
def test_numbers_outside_0_and_1_are_refused(curve, method, value):
    name = METHODS[method]
    message = rf"^{name} must be between 0 and 1; got {name}\[1\] = "
    with pytest.raises(ValueError, match=message):
        getattr(curve, method)([0.5, value, 0.5])


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("value", [-1e-300, np.nan, -np.inf])
def test_a_negative_epsilon_is_refused(curve, value):
    with pytest.raises(ValueError, match=r"^epsilon must be at least 0; got epsilon = "):
        curve.delta(value)


@pytest.mark.parametrize("curve", CURVES)
def test_an_unknown_direction_is_refused(curve):
    message = 'direction must be "both", "in" or "out"; got direction = \'up\''
    with pytest.raises(ValueError, match=message):
        curve.delta(1.0, direction="up")
    with pytest.raises(ValueError, match=message):
        curve.epsilon(0.1, direction="up")


@pytest.mark.parametrize("curve", CURVES)
def test_words_are_refused(curve):
    with pytest.raises(TypeError, match="fpr must be an array of real numbers"):
        curve.power("a")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianTradeOff(-1.0), r"mu must be at least 0; got mu = -1\.0"),
        (lambda: GaussianTradeOff([1.0, np.nan]), r"mu must be at least 0; got mu\[1\] = nan"),
        (
            lambda: SubsampledTradeOff(CURVES[0], 1.5),
            r"rate must be between 0 and 1; got rate = 1\.5",
        ),
        (lambda: CURVES[0].subsample([0.5, np.nan]), r"rate must be.*got rate\[1\] = nan"),
        (lambda: CURVES[3].subsample(-0.1), r"rate must be between 0 and 1; got rate = -0\.1"),
        (lambda: CURVES[2].subsample(2.0), r"rate must be between 0 and 1; got rate = 2\.0"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_kind_that_is_none_is_refused():
    """It was taken, and a composition failed without a reason."""
    for make in (GaussianTradeOff, LaplaceTradeOff, PiecewiseTradeOff.from_epsilon):
        with pytest.raises(ValueError, match='kind must be "exact", "bound"'):
            make(1.0, kind="guess")


def test_a_base_that_is_no_curve_is_refused():
    with pytest.raises(TypeError, match="base must be a TradeOff, not float"):
        SubsampledTradeOff(0.5, 0.5)


@pytest.mark.parametrize("curve", CURVES)
def test_what_is_no_curve_cannot_be_composed(curve):
    with pytest.raises(TypeError, match="other must be a TradeOff, not int"):
        curve.compose(3)


def test_measured_curves_do_not_compose():
    with pytest.raises(TypeError, match="compose is not available for EmpiricalTradeOff"):
        CURVES[4].compose(CURVES[4])


@pytest.mark.parametrize("curve", CURVES)
def test_curves_are_immutable(curve):
    for name in [field.name for field in dataclasses.fields(curve)]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(curve, name, 1.0)
        value = getattr(curve, name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0


def test_a_curve_keeps_its_own_parameters():
    mu = np.array([1.0, 2.0])
    curve = GaussianTradeOff(mu)
    mu[0] = 7
    assert curve.mu[0] == 1
    fpr = np.array([0.25])
    piecewise = PiecewiseTradeOff(fpr, [0.75])
    fpr[0] = 0.5
    assert piecewise.vertices.fpr[1] == 0.25


@pytest.mark.parametrize("curve", CURVES)
def test_curves_travel(curve):
    for other in (pickle.loads(pickle.dumps(curve)), copy.deepcopy(curve)):
        assert repr(other) == repr(curve)
        np.testing.assert_array_equal(other.power(0.3), curve.power(0.3))
        np.testing.assert_array_equal(other.delta(0.1), curve.delta(0.1))
    again = json.loads(json.dumps(curve.to_dict()))
    assert again["type"] == type(curve).__name__
    assert again["kind"] == curve.kind


def test_a_curve_says_what_it_is():
    assert repr(CURVES[0]) == "GaussianTradeOff(mu=1, kind='exact')"
    assert repr(SubsampledTradeOff(CURVES[0], 0.1)) == (
        "SubsampledTradeOff(base=GaussianTradeOff(mu=1, kind='exact'), rate=0.1, kind='exact')"
    )
    assert repr(CURVES[3]) == "PiecewiseTradeOff(3 vertices, advantage=0.5, kind='bound')"
    kinds = ["exact", "asymptotic", "exact", "bound", "estimate", "exact"]
    assert [curve.kind for curve in CURVES] == kinds
    assert PiecewiseTradeOff([0.25], [0.75]).to_dict() == {
        "type": "PiecewiseTradeOff",
        "fpr": [0.0, 0.25, 1.0],
        "power": [0.0, 0.75, 1.0],
        "p_out": [0.25, 0.75],
        "p_in": [0.75, 0.25],
        "kind": "exact",
    }


def test_a_composition_is_no_better_than_its_weaker_part():
    bound, exact = CURVES[3], PiecewiseTradeOff([0.1], [0.2])
    assert bound.compose(exact).kind == exact.compose(bound).kind == "bound"
    assert CURVES[4].hull.compose(bound).kind == "estimate"


@pytest.mark.parametrize("curve", CURVES)
def test_the_advantage_is_delta_at_zero_in_both_directions(curve):
    for direction in ("in", "out", "both"):
        value = curve.delta(0.0, direction=direction)
        np.testing.assert_allclose(value, curve.advantage, rtol=1e-14)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Laplace(TradeOff):
    """A shift by `shift` under Laplace noise: the base class does all but the three answers."""

    shift: float
    kind: str = "exact"

    @property
    def auc(self):
        return 1 - 0.25 * (2 + self.shift) * np.exp(-self.shift)

    def _power(self, fpr):
        growth = np.exp(self.shift)
        middle = 1 - 0.25 / (growth * np.maximum(fpr, 1e-300))
        high = 1 - (1 - fpr) / growth
        return np.where(fpr < 0.5 / growth, growth * fpr, np.where(fpr < 0.5, middle, high))

    def _delta(self, epsilon, direction):
        return np.maximum(-np.expm1(0.5 * (epsilon - self.shift)), 0.0)


class TestDefaults:
    curve = Laplace(2.0)

    def test_the_advantage(self):
        assert self.curve.advantage == pytest.approx(1 - np.exp(-1.0), rel=1e-15)

    def test_fnr_is_the_rest_of_power(self):
        assert self.curve.fnr(0.3) == 1 - self.curve.power(0.3)

    def test_fpr_is_found_by_search(self):
        power = np.array([0.0, 1e-300, 1e-9, 0.3, 0.6, 0.999, 1.0])
        np.testing.assert_allclose(self.curve.power(self.curve.fpr(power)), power, rtol=1e-14)
        assert self.curve.fpr(0.0) == 0

    def test_epsilon_is_found_by_search(self):
        delta = np.array([1e-12, 0.1, 0.5])
        expected = 2.0 + 2 * np.log1p(-delta)
        np.testing.assert_allclose(self.curve.epsilon(delta), expected, rtol=1e-12)
        # the least: delta is 0 from epsilon = 2 on
        assert self.curve.epsilon(0.0) == pytest.approx(2.0, rel=1e-15)
        assert self.curve.epsilon(0.7) == self.curve.epsilon(1.0) == 0

    def test_fpr_is_the_least_where_power_stays_level(self):
        class Capped(Laplace):
            def _power(self, fpr):
                return np.minimum(4 * fpr, 1.0)

        assert Capped(1.0).fpr([0.5, 1.0]).tolist() == [0.125, 0.25]

    def test_epsilon_is_infinite_where_nothing_suffices(self):
        class Certain(Laplace):
            def _delta(self, epsilon, direction):
                return np.full(np.shape(epsilon), 0.5)

        assert Certain(1.0).epsilon(0.4) == np.inf
        assert Certain(1.0).epsilon([0.5, 0.6]).tolist() == [0, 0]

    def test_subsampling_works_on_it(self):
        sub = self.curve.subsample(0.25)
        for direction in ("in", "out"):
            epsilon = sub.epsilon(0.01, direction=direction)
            assert sub.delta(epsilon, direction=direction) == pytest.approx(0.01, rel=1e-12)
        assert sub.epsilon(0.0, direction="out") == pytest.approx(
            -np.log1p(0.25 * np.expm1(-2.0)), rel=1e-12
        )
        assert sub.fpr(sub.power(0.01)) == pytest.approx(0.01, rel=1e-13)

    def test_no_exact_composition(self):
        with pytest.raises(TypeError, match="compose is not available for Laplace"):
            self.curve.compose(self.curve)


class TestRoots:
    @pytest.mark.parametrize("root", [0.0, 5e-324, 1e-300, 1e-9, 0.3, 1.0, 7.0, 1e200])
    def test_a_jump_is_found_to_the_last_bit(self, root):
        found = increasing_root(lambda x: np.where(x >= root, 1.0, -1.0), 0.0, 1.7e308)
        assert found == root

    @pytest.mark.parametrize("root", [1e-200, 1e-9, 0.3, 7.0])
    def test_a_smooth_root_takes_few_steps(self, root):
        calls = []

        def function(x):
            calls.append(1)
            return np.log(x / root)

        with np.errstate(divide="ignore"):
            assert increasing_root(function, 0.0, 10.0) == pytest.approx(root, rel=4e-16)
        assert len(calls) < 25

    def test_many_problems_of_different_scales_at_once(self):
        roots = np.array([1e-300, 1e-10, 0.5, 3.0])
        found = increasing_root(lambda x: x**3 - roots**3, np.zeros(4), np.full(4, 10.0))
        np.testing.assert_allclose(found[1:], roots[1:], rtol=1e-15)
        assert found[0] < 1e-100  # cubes below it are zero

    def test_rounding_at_the_root_costs_few_steps(self):
        calls = []

        def function(x):
            calls.append(1)
            return np.log(x / 0.3) + 1e-13 * np.sin(1e17 * x)

        assert increasing_root(function, 1e-20, 1.0) == pytest.approx(0.3, rel=1e-12)
        assert len(calls) < 60
        calls.clear()
        assert increasing_root(function, 1e-20, 1.0, tolerance=2e-13) > 0.2999
        assert len(calls) < 25

    def test_ends_are_returned_where_there_is_no_crossing(self):
        assert increasing_root(lambda x: x + 1, 2.0, 3.0) == 2
        assert increasing_root(lambda x: x - 9, 2.0, 3.0) == 3
        assert increasing_root(lambda x: np.full_like(x, np.nan), 2.0, 3.0) == 3
        assert increasing_root(lambda x: x - 2, 2.0, 2.0) == 2


def test_the_room_shows_its_names():
    assert set(tradeoff.__all__) >= {
        "TradeOff",
        "GaussianTradeOff",
        "SubsampledTradeOff",
        "PiecewiseTradeOff",
        "EmpiricalTradeOff",
    }


BITS = Bernoulli(np.linspace(0.2, 0.8, 20)), np.tile([1.0, 0.0], 10)
ALL_KINDS = {
    "gaussian": GaussianTradeOff(1.0),
    "far": GaussianTradeOff(30.0),
    "sub-sampled": SubsampledTradeOff(GaussianTradeOff(20.0), 0.01),
    "piecewise": PiecewiseTradeOff([0.0, 0.2], [0.1, 0.6]),
    "gaussian rows": GaussianMeanTradeOff(0.1, n=50, columns=3),
    "atoms": exact_mean_tradeoff([1.0, 0.0], Bernoulli([0.3, 0.4]), 20),
    "inversion": exact_mean_tradeoff(BITS[1], BITS[0], 100),
    "sample": exact_mean_tradeoff([1.0, 0.0], Bernoulli([0.3, 0.4]), 20, sampling_rate=0.5),
    "histogram": discrete_tradeoff([0.5, 0.3, 0.2], 10**5),
    "enclosed": discrete_tradeoff([0.5, 0.3, 0.2], 2**40),
}


@pytest.mark.parametrize("curve", ALL_KINDS.values(), ids=ALL_KINDS)
def test_every_kind_keeps_what_holds_for_all_curves(curve):
    """A concave curve of this height has an area between those of a triangle and of a box."""
    tv, fpr = float(curve.advantage), np.linspace(0.0, 1.0, 41)
    assert 0.5 + tv / 2 - 1e-9 <= curve.auc <= 0.5 + tv - tv**2 / 2 + 1e-9
    power = np.asarray(curve.power(fpr))
    assert np.all(np.diff(power) >= 0)
    assert np.all(np.diff(power, 2) <= 1e-9)
    for direction in ("in", "out", "both"):
        delta = np.asarray(curve.delta([0.0, 0.1, 1.0, 3.0, 700.0], direction=direction))
        assert np.all(np.diff(delta) <= 0)
        epsilon = np.asarray(curve.epsilon([0.0, 1e-300, 1e-9, 0.1, 1.0], direction=direction))
        assert np.all(epsilon[1:] <= epsilon[:-1])
    assert curve.delta(1.0, direction="in") >= np.max(power - np.e * fpr) - 1e-9
    assert curve.delta(1.0, direction="out") >= np.max(1 - fpr - np.e * (1 - power)) - 1e-9


def test_a_root_just_above_the_lower_end_is_found_by_leaps_from_far_above():
    """Leaps of 2**55 numbers closed the bracket and the upper end was returned: 256.0 for 1."""
    low = np.array(1.0)
    high = (low.view(np.int64) + 2**55 + 1).view(np.float64)
    root = increasing_root(lambda x: np.where(x > 1.0, 1.0, -1.0), low, high)
    assert root == np.nextafter(1.0, 2.0)


def test_laplace_noise_at_distances_whose_exponential_is_no_number():
    """e^-800 is below the smallest number, but not its ratio to a small rate; values by mpmath."""
    curve = LaplaceTradeOff([800.0, np.inf])
    assert curve.fnr(1e-125)[0] == pytest.approx(9.169686460444218e-224, rel=1e-13, abs=0.0)
    assert curve.power(0.0).tolist() == [0.0, 1.0]
    assert curve.fpr(1.0).tolist() == [1.0, 0.0]
    assert curve.fnr(0.0).tolist() == [1.0, 0.0]
