"""What lies inside the domain of the special functions, what outside, and what each says."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import referee
import stored
from hypothesis import assume, example, given, strategies as st
from truth import CASES, EPS

from mialeak import special

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

BAD_N = (-1, -0.5, 3.5, 1 - EPS, 2.0**53 + 2, 1e300, math.inf, -math.inf)
BAD_P = (-5e-324, -0.1, 1 + EPS, 2, math.inf, -math.inf)
BAD_K = (0.5, -1.5, 3 + 4 * EPS, 2.0**52 - 0.5)


def with_argument(case, name: str, value: float) -> list[float]:
    """The good point of `case` with one argument replaced."""
    return [value if other == name else case.family.good[other] for other in case.arguments]


def outside(case):
    """(argument, value) pairs outside the domain of `case`."""
    bad = {"n": BAD_N, "N": (*BAD_N, 7), "K": (*BAD_N, 21), "p": BAD_P, "k": BAD_K}
    bad["h"] = BAD_K if case.name.endswith("logpmf") else ()
    return [(name, value) for name in case.arguments for value in bad.get(name, ())]


# --- NaN and the outside -----------------------------------------------------------------------


@each_case
def test_nan_gives_nan_without_a_word(case):
    with np.errstate(all="raise"):
        for name in case.arguments:
            assert np.isnan(case.function(*with_argument(case, name, math.nan)))
            column = np.full(50, math.nan)
            assert np.isnan(case.function(*with_argument(case, name, column))).all()


@each_case
def test_nan_beside_a_value_outside_the_domain_is_still_silent(case):
    nan_and_bad = {"n": -1.0, "p": 2.0, "k": 0.5, "N": -1.0, "K": -1.0, "h": 0.5}
    with np.errstate(all="raise"):
        for name in case.arguments:
            arguments = [
                math.nan if argument == name else nan_and_bad.get(argument, 1.0)
                for argument in case.arguments
            ]
            assert np.isnan(case.function(*arguments))


@each_case
def test_outside_the_domain_is_nan_with_numpys_warning(case):
    for name, value in outside(case):
        message = f"invalid value encountered in {case.name}"
        with pytest.warns(RuntimeWarning, match=message):
            result = case.function(*with_argument(case, name, value))
        assert np.isnan(result), (name, value)


@each_case
def test_errstate_rules_the_warning_as_for_np_log(case):
    name, value = outside(case)[0]
    arguments = with_argument(case, name, value)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(case.function(*arguments))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid value"):
        case.function(*arguments)


@each_case
def test_one_bad_element_spoils_no_other(case):
    point = [case.family.good[name] for name in case.arguments]
    columns = [np.full(101, value, float) for value in point]
    good = case.function(*point)
    for name, value in outside(case):
        for place in (0, 7, 50, 100):
            spoilt = [column.copy() for column in columns]
            spoilt[case.arguments.index(name)][place] = value
            with pytest.warns(RuntimeWarning, match="invalid value"):
                result = case.function(*spoilt)
            assert np.isnan(result[place])
            assert np.all(np.delete(result, place) == good)


@each_case
def test_valid_points_raise_no_floating_point_flag(case):
    """Nor do the methods not taken: lanes compute them all."""
    columns, truth, _ = stored.read(case)
    with np.errstate(all="raise"):
        case.function(*columns)
        for point in zip(*(column[:300] for column in columns), strict=True):
            case.function(*point)
        for arguments, _ in case.edges:
            case.function(*arguments)
    assert np.all(np.isfinite(truth))


def test_signed_zeros_are_zeros():
    assert special.binom_mad(-0.0, 0.5) == 0
    assert special.binom_mad(5, -0.0) == 0
    assert special.binom_excess(-0.0, 4, 0.25) == 1
    assert special.binom_logpmf(-0.0, 5, -0.0) == 0


def test_logpmf_outside_the_support_is_minus_infinity_without_a_word():
    with np.errstate(all="raise"):
        k = np.array([-1.0, -1e300, 10.0, 2.0**53, 1e300])
        assert np.all(special.binom_logpmf(k, 9, 0.5) == -np.inf)
        assert np.all(special.binom_logpmf(k, 9, 0.0) == -np.inf)
        assert np.all(special.binom_logpmf(k, 9, 1.0) == -np.inf)


def test_cuts_at_infinity_have_limits():
    with np.errstate(all="raise"):
        assert special.binom_excess(np.inf, 9, 0.5) == 0
        assert special.binom_excess(-np.inf, 9, 0.5) == np.inf
        assert special.binom_shortfall(np.inf, 9, 0.5) == np.inf
        assert special.binom_shortfall(-np.inf, 9, 0.5) == 0


# --- the ends of float64 -----------------------------------------------------------------------


@pytest.mark.parametrize("p", [5e-324, 1e-320, 2.0**-1022, 1e-305])
@pytest.mark.parametrize("n", [1, 2, 1000, 2**53])
def test_subnormal_probabilities_are_exact_to_the_last_place(n, p):
    tolerance = 2 * 5e-324
    assert abs(special.binom_mad(n, p) - referee.rounded(referee.binom_mad(n, p))[0]) <= (
        tolerance + 4 * EPS * n * p
    )
    for c in (0.0, 0.25):
        expected, _ = referee.rounded(referee.binom_excess(c, n, p))
        assert abs(special.binom_excess(c, n, p) - expected) <= tolerance + 1e-13 * expected
    expected, _ = referee.rounded(referee.binom_logpmf(1, n, p))
    assert special.binom_logpmf(1, n, p) == pytest.approx(expected, rel=6 * EPS)


def test_tails_below_the_smallest_float_fade_to_zero():
    n, p = 10**6, 0.5
    c = np.linspace(500_000, 1_000_000, 2001)
    excess = special.binom_excess(c, n, p)
    assert np.all(np.diff(excess) <= 0)
    assert excess[-1] == 0
    assert np.all(excess >= 0)
    shortfall = special.binom_shortfall(n - c, n, p)
    assert np.all(np.diff(shortfall) <= 0)
    assert np.all(shortfall >= 0)


def test_tails_between_1e_290_and_the_smallest_float_are_right_to_their_last_places():
    n, p = 4000, 0.25
    for c in range(2350, 2560, 7):
        expected, _ = referee.rounded(referee.binom_excess(c, n, p))
        got = special.binom_excess(c, n, p)
        assert abs(got - expected) <= 1e-12 * expected + 4 * 5e-324, c


# --- identities, which no table holds ----------------------------------------------------------

counts = st.one_of(st.integers(1, 60), st.integers(1, 2**53))
probabilities = st.one_of(
    st.floats(2.0**-60, 0.5),
    st.floats(0.0, 60.0).map(lambda x: 2.0**-x),
    st.integers(1, 63).map(lambda j: j / 64),
)
#: Probabilities up to 1/2 whose complements are doubles.
exact_complements = st.integers(0, 2**52).map(lambda k: k * 2.0**-53)


@given(n=counts, p=exact_complements)
@example(n=2**53, p=0.5)
@example(n=1, p=2.0**-53)
def test_mad_is_symmetric_in_p(n, p):
    assert special.binom_mad(n, p) == pytest.approx(special.binom_mad(n, 1 - p), rel=8 * EPS)


@given(n=counts, p=exact_complements, share=st.floats(0, 1))
def test_excess_and_shortfall_are_mirror_images(n, p, share):
    c = float(math.floor(share * n))
    excess, shortfall = special.binom_excess(c, n, p), special.binom_shortfall(n - c, n, 1 - p)
    assert excess == pytest.approx(shortfall, rel=2e-13, abs=1e-290)


@given(n=counts, p=probabilities, share=st.floats(0, 1))
def test_excess_minus_shortfall_is_the_distance_to_the_mean(n, p, share):
    c = share * n
    excess, shortfall = special.binom_excess(c, n, p), special.binom_shortfall(c, n, p)
    distance = float(n * Fraction(p) - Fraction(c))
    assert excess - shortfall == pytest.approx(distance, abs=1e-13 * max(excess, shortfall))


@given(n=counts, p=probabilities, share=st.floats(0, 1), part=st.floats(0, 1))
def test_excess_is_linear_between_integers(n, p, share, part):
    low = float(min(math.floor(share * n), n - 1))
    c = low + part
    assume(low <= c <= low + 1)
    part = c - low
    ends = special.binom_excess(np.array([low, low + 1]), n, p)
    between = float((1 - part) * ends[0] + part * ends[1])
    assert special.binom_excess(c, n, p) == pytest.approx(between, rel=4e-13, abs=1e-290)


@given(n=counts, p=probabilities)
def test_mad_is_twice_the_excess_over_an_exact_mean(n, p):
    mean = n * p
    assume(Fraction(mean) == n * Fraction(p))
    excess, shortfall = special.binom_excess(mean, n, p), special.binom_shortfall(mean, n, p)
    assert special.binom_mad(n, p) == pytest.approx(2 * excess, rel=2e-13)
    assert excess == pytest.approx(shortfall, rel=2e-13)


@given(n=counts, p=probabilities)
def test_mad_is_at_most_the_standard_deviation(n, p):
    assert special.binom_mad(n, p) <= math.sqrt(n * p * (1 - p)) * (1 + 8 * EPS)


@given(n=st.integers(0, 3000), p=st.floats(0, 1))
def test_probabilities_sum_to_one(n, p):
    total = math.fsum(np.exp(special.binom_logpmf(np.arange(n + 1), n, p)))
    assert total == pytest.approx(1, rel=1e-12)


@given(n=st.integers(1, 400), p=st.floats(0, 1), share=st.floats(0, 1))
def test_deviations_are_the_sums_that_define_them(n, p, share):
    k = np.arange(n + 1)
    probability = np.exp(special.binom_logpmf(k, n, p))
    c = share * n
    excess = math.fsum(np.maximum(k - c, 0) * probability)
    assert special.binom_excess(c, n, p) == pytest.approx(excess, rel=1e-11, abs=1e-300)
