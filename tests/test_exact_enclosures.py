"""Enclosures of the power where they said nothing once: normal columns, and a power of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mialeak import GaussianTradeOff, exact_mean_tradeoff, gaussian_mean_tradeoff
from mialeak._numerics.inversion._integrals import option
from mialeak.exact import _curve, _enclosure
from mialeak.laws import Bernoulli, Normal

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("n", [2, 10, 1000])
@pytest.mark.parametrize("d", [10, 30, 100])
@pytest.mark.parametrize("away", [0.0, 0.5, 3.0])
def test_normal_columns_are_enclosed_as_closely_as_others(n, d, away):
    """The bound of the integrand was taken beyond the pole of the moment function."""
    target = np.full(d, away)
    law = Normal(np.zeros(d), np.ones(d))
    bounds = exact_mean_tradeoff(target, law, n).enclosure(0.1)
    truth = gaussian_mean_tradeoff(target, np.zeros(d), np.ones(d), n).power(0.1)
    assert bounds.lower <= truth <= bounds.upper < bounds.lower + 3e-3


def test_bits_beside_normal_columns_are_enclosed():
    rng = np.random.default_rng(5)
    laws = [Bernoulli(rng.uniform(0.02, 0.98, 30)), Normal(np.zeros(3), np.ones(3))]
    curve = exact_mean_tradeoff(np.r_[rng.random(30) < 0.5, 0.3, -1.0, 2.0].astype(float), laws, 20)
    bounds = curve.enclosure(0.3)
    assert bounds.lower <= curve.power(0.3) + 1e-12
    assert curve.power(0.3) <= bounds.upper < bounds.lower + 3e-3


def test_a_power_of_one_is_enclosed():
    """Every release that is possible with the target is rarer, without it, than the fpr."""
    target = np.r_[1.0, np.zeros(49)]
    curve = exact_mean_tradeoff(target, Bernoulli(np.linspace(0.81, 0.99, 50)), 20)
    assert curve.impossible > 0.9
    bounds = curve.enclosure(0.1)
    assert 1.0 - 1e-12 < bounds.lower < bounds.upper == 1.0
    tight = curve.enclosure(0.5 * (1.0 - curve.impossible))
    assert 0.0 < tight.lower <= tight.upper <= 1.0


@pytest.mark.parametrize("theta", [3.0, -2.0])
def test_a_fine_contour_far_from_both_poles_leaks_no_warning(theta):
    """e^(period theta) overflowed: seen as delta(40) of twelve columns of two rows."""
    rng = np.random.default_rng(0)
    target, p = (rng.random(12) < 0.5).astype(float), rng.uniform(0.2, 0.8, 12)
    inversion = exact_mean_tradeoff(
        target, Bernoulli(p), 200, method="inversion"
    )._law.worlds.inversion
    contour = inversion._contour(theta)
    fine = replace(contour, step=2.0 * np.pi / 400.0)
    assert abs(theta) * 2.0 * np.pi / fine.step > 710.0
    assert np.isfinite(inversion._integral(fine, np.array([contour.saddle]), option, 0.0)).all()


def test_a_second_enclosure_has_the_bits_of_a_fresh_one():
    target, p = np.arange(300) % 3 == 0, np.linspace(0.2, 0.8, 300)
    curve = exact_mean_tradeoff(target, Bernoulli(p), 200)
    fresh = replace(curve).enclosure(0.03, reach=500.0)
    for fpr, reach in ((0.3, 500.0), (0.3, 50.0), (0.03, 500.0)):
        bounds = curve.enclosure(fpr, reach=reach)
    assert (bounds.lower, bounds.upper) == (fresh.lower, fresh.upper)


def test_panels_that_are_left_out_are_negligible():
    """Every fifth panel that is called negligible, by the kernel; rare values, wide and narrow."""
    skipped = 0
    for p, n in ((np.linspace(0.2, 0.8, 900), 500), (np.geomspace(1e-3, 0.5, 2000), 3000)):
        curve = exact_mean_tradeoff(np.arange(p.size) % 3 == 0, Bernoulli(p), n)
        moments = curve._moments
        for theta in (0.0, 1.0):
            length = _enclosure._PANEL / moments.local(theta)[2]
            live = _enclosure._live_panels(moments, theta, length, 600)
            # |phi| is near e^(-x^2/2) at x standard deviations
            assert live[: int(np.sqrt(2.0 * _enclosure._QUIET) / _enclosure._PANEL)].all()
            quiet = np.flatnonzero(~live)[::5]
            skipped += quiet.size
            for place in (0.0, 0.37, 0.99):
                wave = [abs(moments.wave(theta, length * (i + place), length, 1)[0]) for i in quiet]
                assert max(wave) < np.exp(-_enclosure._QUIET)
    assert skipped > 150


def test_an_enclosure_is_the_same_with_every_panel(monkeypatch):
    p = np.linspace(0.2, 0.8, 900)
    curve = exact_mean_tradeoff(np.arange(p.size) % 3 == 0, Bernoulli(p), 500)
    fpr = np.array([1e-3, 0.1, 0.7])
    quick = curve.enclosure(fpr, reach=300.0)
    monkeypatch.setattr(_enclosure, "_live_panels", lambda *given: np.ones(given[3], bool))
    every = curve.enclosure(fpr, reach=300.0)
    np.testing.assert_allclose(quick.lower, every.lower, rtol=1e-10)
    np.testing.assert_allclose(quick.upper, every.upper, rtol=1e-10)


def test_an_exact_mean_of_many_columns_is_enclosed_beside_normal_noise(monkeypatch):
    """Against the sum over the atoms of the mean of the closed form of the noise."""
    monkeypatch.setattr(_curve, "ENCLOSED", np.geomspace(2e-3, 0.5, 80))  # as dense, a third of all
    p, mu = np.linspace(0.2, 0.6, 8), 0.5
    target = (np.arange(8) % 3 == 0).astype(float)
    atoms = exact_mean_tradeoff(target, Bernoulli(p), 6, method="atoms")._law.atoms
    mean = exact_mean_tradeoff(target, Bernoulli(p), 6, method="halves")
    curve = mean.compose(GaussianTradeOff(mu))
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        x = epsilon - atoms.ratio
        far = stats.norm.cdf(mu / 2 - x / mu), stats.norm.cdf(-mu / 2 - x / mu)
        into = float(atoms.inside @ far[0] - np.exp(epsilon) * (atoms.out @ far[1]))
        bounds = curve.enclosure(epsilon=epsilon, direction="in")
        # An enclosure of a power is as wide as an atom near its threshold.
        assert bounds.lower <= into <= bounds.upper < bounds.lower + 0.03
        near = curve.enclosure(delta=into, direction="in")
        assert near.lower <= epsilon + 1e-12
        assert near.upper >= epsilon - 1e-12
