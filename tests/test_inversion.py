"""Saddle-point inversion of a moment function, against laws whose tails are known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from scipy import special, stats

from mialeak._numerics.inversion import SaddlePointInversion
from mialeak._numerics.noncentral import (
    log_call,
    log_density as chi_square_log_density,
    log_put,
    log_tails,
)


def normal(mean=3.0, variance=4.0):
    return SaddlePointInversion(lambda s: mean * s + 0.5 * variance * s * s)


def chi_square(df, nc, slope=1.0):
    """The law of ``slope X``; the strip ends at the branch point."""
    end = 0.5 / slope
    return SaddlePointInversion(
        lambda s: -df / 2 * np.log(1 - 2 * slope * s) + nc * slope * s / (1 - 2 * slope * s),
        strip=(-np.inf, end) if slope > 0 else (end, np.inf),
    )


def test_normal_tails_are_right_to_1e_300():
    law = normal()
    z = np.linspace(-37.0, 37.0, 301)
    below, above = law.log_tails(3.0 + 2.0 * z)
    np.testing.assert_allclose(below, special.log_ndtr(z), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(above, special.log_ndtr(-z), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(
        law.log_density(3.0 + 2.0 * z), stats.norm.logpdf(z) - np.log(2.0), rtol=1e-14
    )
    assert law.error < 1e-15


@pytest.mark.parametrize(("df", "nc"), [(20.0, 3.0), (100.0, 0.0), (1000.0, 50.0)])
def test_non_central_chi_square_agrees_with_the_parabolic_contour(df, nc):
    x = df + nc + np.sqrt(2 * df + 4 * nc) * np.linspace(-30, 90, 151)
    x = x[x > 0]
    law, upper = chi_square(df, nc), x > df + nc
    got, truth = law.log_tails(x), log_tails(x, df, nc)
    small = np.where(upper, truth[1], truth[0])
    seen = small > -1000
    assert small[seen].min() < -200
    got = np.where(upper, got[1], got[0])
    np.testing.assert_allclose(got[seen], small[seen], rtol=2e-14, atol=1e-14)
    density = chi_square_log_density(x, df, nc)
    np.testing.assert_allclose(law.log_density(x)[seen], density[seen], rtol=2e-14, atol=2e-14)


def test_options_agree_with_the_parabolic_contour():
    df, nc, width = 100.0, 30.0, 0.02
    law = chi_square(df, nc, slope=-width / 2)
    x = df + nc + np.sqrt(2 * df + 4 * nc) * np.linspace(-10, 20, 61)
    x = x[x > 0]
    call, put = law.log_call(-width * x / 2), law.log_put(-width * x / 2)
    np.testing.assert_allclose(call, log_call(x, df, nc, width), rtol=1e-13, atol=5e-13)
    np.testing.assert_allclose(put, log_put(x, df, nc, width), rtol=1e-13, atol=5e-13)


@pytest.mark.parametrize("score", [1e-8, 1e-2, 1.0, 100.0, 1e4])
def test_options_of_a_normal_log_ratio_keep_their_digits_for_every_score(score):
    law = normal(-score / 2, score)
    for epsilon in (0.0, np.sqrt(score), 0.5 * score):
        with mp.workdps(60):
            m, e = mp.mpf(score), mp.mpf(float(epsilon))
            shift = mp.sqrt(m) / 2
            truth = mp.ncdf(shift - e / mp.sqrt(m)) - mp.exp(e) * mp.ncdf(-shift - e / mp.sqrt(m))
        assert float(law.log_call(epsilon)) + epsilon == pytest.approx(
            float(mp.log(truth)), rel=1e-12, abs=1e-12
        )
        assert float(law.log_put(-epsilon)) == pytest.approx(
            float(mp.log(truth)), rel=1e-12, abs=1e-12
        )


def test_tilting_by_one_gives_the_other_law_of_a_log_ratio():
    score = 5.0
    law = normal(-score / 2, score)
    x = np.linspace(-40.0, 40.0, 81)
    z = (x - score / 2) / np.sqrt(score)
    below, above = law.log_tails(x, tilt=1.0)
    np.testing.assert_allclose(below, special.log_ndtr(z), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(above, special.log_ndtr(-z), rtol=1e-13, atol=1e-14)


def test_a_defective_law_keeps_its_mass():
    """An atom at minus infinity: the finite part has mass 0.7."""
    law = SaddlePointInversion(lambda s: np.log(0.7) + 0.5 * s * s)
    below, above = law.log_tails([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(np.exp(below), 0.7 * special.ndtr([-1.0, 0.0, 2.0]), rtol=1e-14)
    np.testing.assert_allclose(np.exp(below) + np.exp(above), 0.7, rtol=1e-14)


def test_windows_find_what_returns_later():
    """A sum of 400 signs and a narrow uniform: |M| returns near every multiple of pi."""
    width = 0.2

    def log_moment(s):
        spread = np.where(s == 0, 1.0, s)
        smooth = np.where(s == 0, 1.0, np.sinh(width * spread) / (width * spread))
        return 400 * np.log(np.cosh(s)) + np.log(smooth) + 0.5 * (0.05 * s) ** 2

    signs = stats.binom(400, 0.5)
    x = np.array([4.1, 20.05, 59.85])
    value = 2 * np.arange(401) - 400
    truth = [np.sum(signs.pmf(np.arange(401)) * _above(at - value, width)) for at in x]
    blind = np.exp(SaddlePointInversion(log_moment).log_tails(x)[1])
    windows = [(k * np.pi - 0.6, k * np.pi + 0.6) for k in range(1, 40)]
    seeing = np.exp(SaddlePointInversion(log_moment, windows=windows).log_tails(x)[1])
    assert np.abs(blind / truth - 1).max() > 1e-3
    np.testing.assert_allclose(seeing, truth, rtol=1e-11)


def _above(gap, width):
    """P(U + 0.05 Z > gap) for U uniform on (-width, width) and Z normal."""
    low, high = (gap - width) / 0.05, (gap + width) / 0.05
    both = [0.05 * (z * special.ndtr(z) + stats.norm.pdf(z)) for z in (low, high)]
    return 1.0 - (both[1] - both[0]) / (2 * width)


def test_quantile_inverts_either_tail():
    law = chi_square(30.0, 4.0)
    logs = np.log([1e-250, 1e-20, 0.01, 0.5, 0.9])
    below, above = law.quantile(logs), law.quantile(logs, upper=True)
    np.testing.assert_allclose(law.log_tails(below)[0], logs, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(law.log_tails(above)[1], logs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("log_p", [0.1, 0.0, -np.inf])
def test_a_tail_that_no_point_has_is_refused(log_p):
    with pytest.raises(ValueError, match="log_p must be below the log of the mass, and finite"):
        normal().quantile([-1.0, log_p])


def test_beyond_a_bounded_support_there_is_nothing():
    law = chi_square(40.0, 0.0)
    below, above = law.log_tails([-5.0, 0.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(below, [-np.inf, -np.inf, 0.0, -np.inf, np.nan])
    np.testing.assert_array_equal(above, [0.0, 0.0, -np.inf, 0.0, np.nan])


def test_a_law_of_atoms_is_refused():
    law = SaddlePointInversion(lambda s: np.log(np.cosh(s)))
    with pytest.raises(ArithmeticError, match="log_moment must fall off along the line Re s = "):
        law.log_tails([0.5])


def test_a_law_that_has_no_answer_is_not_tried_again():
    """At any other point either: the first contours are those of all points."""
    calls = []

    def coin(s):
        calls.append(s.size)
        return np.log(0.5 + 0.5 * np.exp(s))

    law = SaddlePointInversion(coin, most_nodes=256)
    with pytest.raises(ArithmeticError, match="must fall off") as first:
        law.log_tails(0.3)
    assert sum(calls) > 200
    calls.clear()
    for ask in (law.log_tails, law.log_density, law.log_call):
        with pytest.raises(ArithmeticError) as again:
            ask(np.array([0.3, 0.7]))
        assert str(again.value) == str(first.value)
    assert sum(calls) < 20
