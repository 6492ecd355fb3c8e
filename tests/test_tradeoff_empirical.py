"""Measured curves against brute force over thresholds and pairs, in fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from mialeak.tradeoff import EmpiricalTradeOff, PiecewiseTradeOff, _empirical

SCORES = st.lists(st.integers(-4, 4), min_size=1, max_size=12)


def points(inside, outside):
    """(fpr, power) of every threshold, in fractions."""
    thresholds = [*sorted({*inside, *outside}, reverse=True)]
    found = [(Fraction(0), Fraction(0))]
    for threshold in thresholds:
        fpr = Fraction(sum(s >= threshold for s in outside), len(outside))
        power = Fraction(sum(s >= threshold for s in inside), len(inside))
        found.append((fpr, power))
    return found


def mann_whitney(inside, outside):
    wins = sum(Fraction(1 + (a > b) - (a < b), 2) for a in inside for b in outside)
    return wins / (len(inside) * len(outside))


def hull_power(corners, fpr):
    """The least concave majorant at fpr: the best mixture of two points."""
    return max(
        y1 if x1 == x2 else y1 + (y2 - y1) * (fpr - x1) / (x2 - x1)
        for x1, y1 in corners
        for x2, y2 in corners
        if x1 <= fpr <= x2 and not (x1 == x2 != fpr)
    )


@given(inside=SCORES, outside=SCORES)
def test_points_areas_and_deltas_against_brute_force(inside, outside):
    measured = EmpiricalTradeOff(inside, outside)
    expected = points(inside, outside)
    assert measured.roc.fpr.tolist() == [float(x) for x, _ in expected]
    assert measured.roc.power.tolist() == [float(y) for _, y in expected]
    assert measured.auc == float(mann_whitney(inside, outside))
    assert measured.advantage == pytest.approx(float(max(y - x for x, y in expected)), rel=1e-15)
    for growth in (Fraction(1), Fraction(3, 2), Fraction(8)):
        epsilon = np.log(float(growth))
        first = max(y - growth * x for x, y in expected)
        second = max((1 - x) - growth * (1 - y) for x, y in expected)
        assert measured.delta(epsilon, direction="in") == pytest.approx(float(first), abs=1e-15)
        assert measured.delta(epsilon, direction="out") == pytest.approx(float(second), abs=1e-15)


@given(inside=SCORES, outside=SCORES, walk=st.booleans())
def test_the_hull_is_the_least_concave_curve_above(inside, outside, walk):
    with pytest.MonkeyPatch.context() as patch:
        if walk:
            patch.setattr(_empirical, "_PASSES", 0)
        hull = EmpiricalTradeOff(inside, outside).hull
    corners = points(inside, outside)
    grid = sorted({x for x, _ in corners} | {Fraction(k, 7) for k in range(8)})
    for fpr in grid:
        truth = hull_power(corners, fpr)
        assert hull.power(float(fpr)) == pytest.approx(float(truth), rel=1e-14)
    area = sum(
        (b - a) * (hull_power(corners, a) + hull_power(corners, b)) / 2
        for a, b in itertools.pairwise(grid)
    )
    assert hull.auc == pytest.approx(float(area), rel=1e-13)


@given(inside=SCORES, outside=SCORES)
def test_the_plain_curve_lies_below_its_hull_and_spans_its_area(inside, outside):
    measured = EmpiricalTradeOff(inside, outside)
    fpr = np.linspace(0, 1, 41)
    power = measured.power(fpr)
    assert (np.diff(power) >= 0).all()
    assert (power <= measured.hull.power(fpr) + 1e-15).all()
    np.testing.assert_allclose(measured.fnr(fpr), 1 - power, atol=1e-15)
    assert measured.auc <= measured.hull_auc + 1e-15
    assert measured.hull_auc >= 0.5 - 1e-15
    for target in (0.0, 0.3, 0.99, 1.0):
        assert measured.power(measured.fpr(target)) >= target - 1e-15


def test_a_tie_is_broken_at_random():
    measured = EmpiricalTradeOff([1, 1, 1, 1], [1, 1])
    assert measured.power([0.0, 0.25, 1.0]).tolist() == [0.0, 0.25, 1.0]
    assert measured.auc == measured.hull_auc == 0.5
    assert measured.advantage == 0


def test_jumps_take_the_better_value():
    measured = EmpiricalTradeOff([3, 2, 0], [1, 1])
    assert measured.power(0.0) == pytest.approx(2 / 3)
    assert measured.fpr([0.5, 2 / 3]).tolist() == [0.0, 0.0]
    assert measured.power(1.0) == 1
    assert measured.fpr(1.0) == 1
    assert measured.fnr(1.0) == 0


def test_thresholds_belong_to_their_points():
    measured = EmpiricalTradeOff([3.0, 2.0, 2.0, 1.0], [2.0, 1.0, 1.0, 0.0])
    fpr, power, threshold = measured.roc
    for i, t in enumerate(threshold[1:], start=1):
        assert fpr[i] == np.mean(np.array([2.0, 1.0, 1.0, 0.0]) >= t)
        assert power[i] == np.mean(np.array([3.0, 2.0, 2.0, 1.0]) >= t)
    assert threshold[0] == np.inf


def test_infinite_scores_are_scores():
    measured = EmpiricalTradeOff([np.inf, 1.0, -np.inf], [-np.inf, -np.inf, 1.0])
    assert measured.power(0.0) == pytest.approx(1 / 3)
    assert measured.auc == float(mann_whitney([9, 1, -9], [-9, -9, 1]))


def test_zeros_of_both_signs_tie():
    assert EmpiricalTradeOff([0.0, -0.0], [-0.0, 0.0]).auc == 0.5


def test_separated_scores_reveal_all():
    measured = EmpiricalTradeOff([2, 3], [0, 1])
    assert measured.auc == measured.hull_auc == measured.advantage == 1
    with pytest.warns(UserWarning, match="epsilon is infinite: of 2 scores in and 2 out"):
        assert measured.epsilon(0.5) == np.inf
    assert measured.epsilon(1.0) == 0
    inverted = EmpiricalTradeOff([0, 1], [2, 3])
    assert inverted.auc == 0
    assert inverted.hull_auc == 0.5
    assert inverted.advantage == inverted.delta(0.0) == 0


@pytest.mark.parametrize(("size", "refused"), [(23, False), (25, True)])
def test_reversed_scores_are_refused_beyond_six_standard_errors(size, refused):
    """Separated scores: the area 0 is 1/2 below 1/2, six errors of sqrt(1/(6 size)) at size 24."""
    worlds = np.arange(size), np.arange(size) + size
    if refused:
        with pytest.raises(ValueError, match="in_scores must be the larger scores"):
            EmpiricalTradeOff(*worlds)
    else:
        assert EmpiricalTradeOff(*worlds).auc == 0.0
    assert EmpiricalTradeOff(*worlds, allow_reversed=True).advantage == 0.0
    assert EmpiricalTradeOff(*worlds[::-1]).auc == 1.0


def test_many_scores_give_the_curve_of_their_laws():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(1.0, 1, 200_000), rng.normal(size=100_000)
    measured = EmpiricalTradeOff(inside, outside)
    from mialeak.tradeoff import GaussianTradeOff

    truth = GaussianTradeOff(1.0)
    for fpr in (0.01, 0.1, 0.5):
        assert abs(measured.power(fpr) - truth.power(fpr)) < 0.01
    assert abs(measured.auc - truth.auc) < 0.005
    assert measured.auc < measured.hull_auc < measured.auc + 0.002
    assert abs(measured.delta(1.0) - truth.delta(1.0)) < 0.01


def test_the_hull_does_not_depend_on_how_it_is_found(monkeypatch):
    rng = np.random.default_rng(4)
    x = np.append(0, np.cumsum(rng.integers(0, 3, 3000)))
    y = np.append(0, np.cumsum(rng.integers(0, 3, 3000)))
    # a long concave arc that a last steep rise makes useless, the slow case for whole passes
    arc = np.arange(2000)
    u, v = np.append(arc, 2000), np.append(np.sqrt(arc * 4000.0).astype(int), 400_000)
    for a, b in ((x, y), (u, v)):
        fast = _empirical._upper_hull(a, b)
        monkeypatch.setattr(_empirical, "_PASSES", 0)
        np.testing.assert_array_equal(fast, _empirical._upper_hull(a, b))
        monkeypatch.undo()


def test_scores_of_any_shape_and_kind_are_taken():
    inside = np.arange(6.0).reshape(2, 3)
    measured = EmpiricalTradeOff(inside, np.float32([0, 1]))
    assert (measured.n_in, measured.n_out) == (6, 2)
    assert isinstance(measured.hull, PiecewiseTradeOff)
    assert measured.kind == measured.hull.kind == "estimate"


@pytest.mark.parametrize(
    ("inside", "outside", "message"),
    [
        ([], [1.0], "in_scores must hold at least one score"),
        ([1.0], [], "out_scores must hold at least one score"),
        (
            [1.0],
            [0.0, np.nan, np.nan],
            r"out_scores must be free of NaN, which 2 of 3 are; got out_scores\[1\] = nan",
        ),
    ],
)
def test_bad_scores_are_refused(inside, outside, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalTradeOff(inside, outside)


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="in_scores must be an array of real numbers"):
        EmpiricalTradeOff(["a"], [1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i, o: (i, pd.concat([i, o])), "out_scores must be those of one world; they hold"),
        (lambda i, o: (i, i), "out_scores must be draws of their own; they are the 90 scores"),
        (lambda i, o: (i, np.exp(o).rename("confidence")), "be the same quantity .* are two"),
        (
            lambda i, o: (np.exp(i).rename("prob"), 100.0 * np.exp(o).rename("prob")),
            "out_scores must have the unit of the scores of the other world; 'prob' goes up to ",
        ),
    ],
)
def test_one_world_twice_and_two_quantities_are_refused(change, message):
    rng = np.random.default_rng(3)
    inside, outside = (pd.Series(-rng.exponential(k, 90), name="logit") for k in (0.3, 1.0))
    EmpiricalTradeOff(inside, outside)
    for allow_reversed in (False, True):
        with pytest.raises(ValueError, match=message):
            EmpiricalTradeOff(*change(inside, outside), allow_reversed=allow_reversed)


def test_quantiles_of_two_laws_are_taken():
    """They mirror one another; in an audit, minus the scores of the other world are no draws."""
    place = (np.arange(999) + 0.5) / 999
    measured = EmpiricalTradeOff(stats.norm.ppf(place) + 0.5, stats.norm.ppf(place) - 0.5)
    assert measured.advantage == pytest.approx(2.0 * stats.norm.cdf(0.5) - 1.0, abs=2e-3)
    few = np.arange(40.0) % 4
    assert EmpiricalTradeOff(few, few).advantage == 0.0


def test_all_values_of_uniform_laws_are_taken():
    """One range lies in the other, and is no sample that both worlds hold."""
    measured = EmpiricalTradeOff(np.arange(10, 20), np.arange(20))
    assert measured.advantage == 0.5
    EmpiricalTradeOff(0.1 * np.arange(1, 12) + 1e3, 0.1 * np.arange(12) + 1e3)
    rng = np.random.default_rng(5)
    many = rng.integers(0, 20, 400)  # each value of one world is in the other, several times
    assert EmpiricalTradeOff(many[:90] % 5 + 15, many).advantage > 0.7
    for scale in (1e-12, 1.0):
        scores = scale * rng.normal(size=60)
        with pytest.raises(ValueError, match="they hold the 30 scores"):
            EmpiricalTradeOff(scores[:30], scores)
