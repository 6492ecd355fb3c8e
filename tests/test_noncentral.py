"""The non-central chi-square law against ball arithmetic, to 1e-300 and beyond."""

from __future__ import annotations

import numpy as np
import pytest
from mean_truth import chi_square_options, chi_square_tail
from mpmath import mp
from scipy import special, stats

from mialeak._numerics import noncentral
from mialeak._numerics.noncentral import (
    deviance_share,
    log_call,
    log_density,
    log_put,
    log_tails,
    quantile,
)

LAWS = [
    *((1.0, nc) for nc in (0.0, 1e-8, 0.3, 1e3)),
    *((2.0, nc) for nc in (0.0, 10.0)),
    (3.5, 0.3),
    *((50.0, nc) for nc in (0.0, 10.0, 1e3)),
    *((1e3, nc) for nc in (0.0, 1e-8, 1e3)),
    (1e6, 0.0),
    (1e6, 10.0),
    (1.0, 1e6),
    (1e6, 1e6),
]
LOGS = np.log([1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.3, 0.5])


def points(df: float, nc: float) -> np.ndarray:
    """From 36 standard deviations below the mean to 36 above, and near zero where it can be."""
    z = np.array([-36.0, -8.0, -1.0, 0.0, 1.0, 8.0, 36.0])
    x = df + nc + np.sqrt(2 * df + 4 * nc) * z
    low = (df + nc) * np.array([1e-300, 1e-10, 0.01, 0.5]) if df < 60 else []
    return np.concatenate([low, x[x > 0]])


@pytest.mark.parametrize(("df", "nc"), LAWS)
def test_both_tails_are_right_to_the_last_digits_of_their_logarithm(df, nc):
    x = points(df, nc)
    tails = log_tails(x, df, nc)
    for i in range(x.size):
        upper = bool(x[i] > df + nc)
        if tails[upper][i] > -800:
            truth = float(chi_square_tail(x[i], df, nc, upper=upper).log())
            assert tails[upper][i] == pytest.approx(truth, abs=5e-15, rel=1e-15), x[i]


@pytest.mark.parametrize(("df", "nc"), LAWS)
def test_the_two_tails_sum_to_one(df, nc):
    below, above = log_tails(points(df, nc), df, nc)
    np.testing.assert_allclose(np.exp(below) + np.exp(above), 1.0, rtol=0, atol=3e-15)


def test_density_is_the_bessel_form():
    for df, nc, x in [(1.0, 0.5, 0.2), (2.0, 3.0, 70.0), (7.0, 1e4, 1.1e4), (9.5, 0.4, 1e-9)]:
        with mp.workdps(40):
            d, m, at = map(mp.mpf, (df, nc, x))
            bessel = mp.besseli(d / 2 - 1, mp.sqrt(m * at))
            truth = mp.log(mp.exp(-(at + m) / 2) * (at / m) ** (d / 4 - mp.mpf(1) / 2) * bessel / 2)
        assert float(log_density(x, df, nc)) == pytest.approx(float(truth), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(("df", "nc"), LAWS)
def test_quantile_inverts_either_tail(df, nc):
    for upper in (False, True):
        x, gap = quantile(LOGS, df, nc, upper=upper)
        back = log_tails(x, df, nc, gap)[upper]
        np.testing.assert_allclose(back[x > 0], LOGS[x > 0], rtol=2e-15, atol=1e-14)
        underflow = 50 - 325 * df > LOGS
        assert np.all((x > 0) | underflow)


def test_quantile_keeps_the_digits_that_x_loses_near_a_mean_of_1e18():
    df, nc = 5.0, 1e18
    x, gap = quantile(LOGS, df, nc)
    z = stats.norm.ppf(np.exp(LOGS))  # the law is normal but for a skewness of 1e-9
    np.testing.assert_allclose(gap / np.sqrt(4 * nc), z, rtol=2e-8, atol=1e-9)
    np.testing.assert_allclose(log_tails(x, df, nc, gap)[0], LOGS, rtol=2e-15, atol=1e-14)


@pytest.mark.parametrize(
    ("df", "nc", "width", "z"),
    [
        (1.0, 0.0, 0.1, [-0.5, -0.1, 0.0, 0.3]),
        (1.0, 0.0, 1.0, [-0.7, -0.1, 0.0]),
        (2.0, 5.0, 1e-3, [-1.0, 0.0, 3.0, 20.0]),
        (50.0, 0.0, 1 / 9, [-3.0, 0.0, 1.0, 5.0]),
        (3.0, 1e5, 1e-6, [-8.0, 0.0, 8.0]),
        (5000.0, 5e5, 1 / 999, [-20.0, -5.0, 0.0]),
        (1.0, 1e3, 0.5, [-8.0, 0.0, 8.0]),
    ],
)
def test_options_are_the_difference_of_two_tails_and_keep_its_digits(df, nc, width, z):
    for deviation in z:
        x = df + nc + deviation * np.sqrt(2 * df + 4 * nc)
        call, put = (float(truth.log()) for truth in chi_square_options(x, df, nc, width))
        assert float(log_call(x, df, nc, width)) == pytest.approx(call, rel=1e-14, abs=3e-14)
        assert float(log_put(x, df, nc, width)) == pytest.approx(put, rel=1e-14, abs=3e-14)


def test_scipy_agrees_in_the_body():
    rng = np.random.default_rng(3)
    df, nc = rng.uniform(1, 40, 50), rng.uniform(0.1, 40, 50)
    x = stats.ncx2.rvs(df, nc, random_state=rng)
    below, above = log_tails(x, df, nc)
    np.testing.assert_allclose(np.exp(below), stats.ncx2.cdf(x, df, nc), rtol=1e-10)
    np.testing.assert_allclose(np.exp(above), stats.ncx2.sf(x, df, nc), rtol=1e-10)
    np.testing.assert_allclose(np.exp(log_density(x, df, nc)), stats.ncx2.pdf(x, df, nc), rtol=1e-9)


def test_a_law_that_is_normal_to_the_last_digit_is_right_across_the_reach_of_the_pole():
    """The pole is corrected for within 8.7 standard deviations, and not beyond."""
    nc, z = 1e47, np.array([0.0, 0.5, 4.0, 8.0, 8.7, 8.75, 12.0, 37.0])
    above = log_tails(nc, 10.0, nc, gap=2 * np.sqrt(nc) * z)[1]
    below = log_tails(nc, 10.0, nc, gap=-2 * np.sqrt(nc) * z)[0]
    truth = special.log_ndtr(-z)
    np.testing.assert_allclose(above, truth, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(below, truth, rtol=1e-15, atol=1e-15)


def test_ends_and_nan():
    below, above = log_tails([-1.0, 0.0, np.inf, np.nan, 1e200], 3.0, 2.0)
    np.testing.assert_array_equal(below, [-np.inf, -np.inf, 0.0, np.nan, 0.0])
    np.testing.assert_array_equal(above[:4], [0.0, 0.0, -np.inf, np.nan])
    assert above[4] == pytest.approx(-5e199, rel=1e-12)
    assert np.isnan(log_tails(1.0, np.nan, 0.0)[0])
    np.testing.assert_array_equal(log_density([-1.0, 0.0, np.inf], 3.0, 2.0), -np.inf)
    np.testing.assert_array_equal(log_call([-1.0, 0.0], 3.0, 2.0, 0.1), -np.inf)
    x, gap = quantile([-np.inf, 0.0, np.nan], 3.0, 2.0)
    np.testing.assert_array_equal(x, [0.0, np.inf, np.nan])
    np.testing.assert_array_equal(gap, [-5.0, np.inf, np.nan])
    np.testing.assert_array_equal(quantile([-np.inf, 0.0], 3.0, 2.0, upper=True)[0], [np.inf, 0.0])


def test_points_of_very_different_laws_share_a_call():
    df = np.array([1.0, 1e6, 2.0, 50.0])
    nc = np.array([[0.0], [1e-3], [1e12]])
    x = df + nc
    together = np.stack(log_tails(x, df, nc))
    for i, j in np.ndindex(3, 4):
        alone = np.array(log_tails(x[i, j], df[j], nc[i, 0]))
        np.testing.assert_allclose(together[:, i, j], alone, rtol=1e-14, atol=1e-15)


def test_log1p_share_is_accurate_on_both_sides_of_its_cut():
    cut = 2 * noncentral._SERIES_LOG / (1 - noncentral._SERIES_LOG)
    low = -2 * noncentral._SERIES_LOG / (1 + noncentral._SERIES_LOG)
    for f in (
        1e-300,
        1e-16,
        -1e-9,
        0.01,
        *cut * np.array([0.999, 1.001]),
        *low * np.array([0.999, 1.001]),
        1e3,
    ):
        with mp.workdps(60):
            truth = (mp.mpf(f) - mp.log1p(mp.mpf(f))) / mp.mpf(f) ** 2 if abs(f) > 1e-50 else 0.5
        got = deviance_share(np.array([f]), np.array([1.0 + f]))[0]
        assert got == pytest.approx(float(truth), rel=2e-15)


def test_shift_of_the_arc_tangent_is_accurate_on_both_sides_of_its_cut():
    for y in (1e-30, 1e-3, 0.2999, 0.3001, 5.0):
        with mp.workdps(60):
            truth = float(mp.mpf(y) - mp.atan(mp.mpf(y)))
        assert noncentral.twist(np.array([y]))[0] == pytest.approx(truth, rel=3e-15)
