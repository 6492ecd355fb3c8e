"""Means of waves: sums in 40 digits on either side of the series, and where tails are left out."""

from __future__ import annotations

import time

import mpmath
import numpy as np
import pytest

from mialeak import GaussianTradeOff, PiecewiseTradeOff, compose
from mialeak._arrays import FloatArray
from mialeak._numerics.losses import AtomLoss, ComposedLoss
from mialeak._numerics.mean_waves import MeanWaves
from mialeak.tradeoff import LaplaceTradeOff

mpmath.mp.dps = 40


def laws() -> tuple[FloatArray, FloatArray]:
    """Weights and centred values: normal, skew, and with a far value of small weight."""
    place = np.arange(-99.0, 101.0)
    weights = np.exp(-0.5 * (place / 12.0) ** 2), np.exp(-0.1 * (place + 99.0)), np.ones(200)
    table = np.array(weights)
    table[2, -1] = 1e-12
    values = np.array([0.01 * place, 0.001 * place, 0.02 * np.sin(place)])
    values[2, -1] = 3.0
    table /= table.sum(axis=1)[:, None]
    return table, values - np.sum(table * values, axis=1)[:, None]


@pytest.mark.parametrize("share", [1e-7, 0.3, 0.999, 1.001, 4.0])
def test_waves_are_sums_on_either_side_of_the_series(share):
    weights, centred = laws()
    waves = MeanWaves(weights, centred)
    waves(np.linspace(1.0, 2.0, 16))
    reach = np.array(waves._reach)
    # The series serves phases of about one standard deviation, and fewer beside a far value.
    spread = np.sqrt(np.sum(weights * centred**2, axis=1))
    assert np.all((reach[:2] * spread[:2] > 0.2) & (reach[:2] * spread[:2] < 2.0))
    assert reach[2] < 5.0
    for row in range(3):
        t = share * reach[row] * np.linspace(0.2, 1.0, 9)
        real, imaginary = waves(t)
        for number in (0, 8):
            exact = mpmath.fsum(
                mpmath.mpf(w) * (mpmath.expj(mpmath.mpf(t[number]) * x) - 1 - 1j * t[number] * x)
                for w, x in zip(weights[row].tolist(), map(mpmath.mpf, centred[row]), strict=True)
            )
            computed = mpmath.mpc(float(real[number, row]), float(imaginary[number, row]))
            # The imaginary part is of third order: its own digits are lost to those of the real.
            assert abs(computed - exact) <= 1e-13 * abs(exact)


@pytest.mark.parametrize("theta", [-3.0, 0.0, 0.5, 1.0, 1.0 + 1e-9, 30.0])
def test_moments_of_tables_without_their_tails_are_whole_sums(theta):
    """K' and the waves leave out what is negligible; K also where both worlds nearly cancel."""
    made = []
    for sigma in (2.0, 2.4, 2.9):
        place = np.arange(-70.0, 71.0)
        log_p = -0.5 * (place / sigma) ** 2
        p = np.exp(log_p) / np.exp(log_p).sum()
        made.append((p, (place - 0.5) / sigma**2))
    loss = ComposedLoss([(AtomLoss(np.log(p), ratio, (0.0, 0.0)), 2) for p, ratio in made])
    ((table, _),) = loss._merged
    assert table._log_p.shape == (3, 141)
    t = np.linspace(0.05, 2.5, 12)
    truth, slope, spread = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
    wave = [mpmath.mpf(0)] * t.size
    for p, ratio in made:
        p, ratio = [mpmath.mpf(x) for x in p.tolist()], [mpmath.mpf(x) for x in ratio.tolist()]
        moved = [a * mpmath.exp(theta * x) for a, x in zip(p, ratio, strict=True)]
        mass = mpmath.fsum(moved)
        mean = mpmath.fdot(moved, ratio) / mass
        truth += 2 * mpmath.log(mass)
        slope += 2 * mean
        spread += (
            2 * mpmath.fsum(a * (x - mean) ** 2 for a, x in zip(moved, ratio, strict=True)) / mass
        )
        for number, one in enumerate(t.tolist()):
            total = mpmath.fdot(moved, [mpmath.expj(one * (x - mean)) for x in ratio]) / mass
            wave[number] += 2 * mpmath.log(total)
    computed = loss.local(theta)
    assert abs(computed[0] - truth) <= 4e-15 + 1e-14 * abs(truth)
    assert computed[1] == pytest.approx(float(slope), rel=1e-13)
    assert computed[2] == pytest.approx(float(mpmath.sqrt(spread)), rel=1e-13)
    for one, exact in zip(loss.wave(theta, 0.05, t[1] - t[0], 12), wave, strict=True):
        assert abs(one - complex(mpmath.exp(exact))) <= 1e-13 * abs(complex(mpmath.exp(exact)))


def test_a_thousand_releases_of_five_kinds_are_an_integral_and_take_a_second():
    """6.6 s before; the moment functions are closed forms and sums by the trapezoid rule."""
    share = np.linspace(0.0, 1.0, 200)
    distance, sigma = 0.01 + 0.06 * share, 20.0 + 50.0 * share
    noise, rate = 1.0 + 2.0 * share, 0.005 + 0.012 * share
    curves = [*map(LaplaceTradeOff, distance), *map(PiecewiseTradeOff.from_epsilon, distance)]
    curves += [GaussianTradeOff(1.0 / (0.5 * s)) for s in sigma]
    curves += [GaussianTradeOff(1.0 / s).subsample(q) for s, q in zip(noise, rate, strict=True)]
    laws = []
    for scale in sigma:
        place = np.arange(-int(40 * scale), int(40 * scale) + 1)
        p = np.exp(-0.5 * (place / scale) ** 2)
        laws.append(p / p.sum())
        curves.append(PiecewiseTradeOff.from_noise(laws[-1]))
    before = time.process_time()
    curve = compose(*curves)
    epsilon = curve.epsilon(1e-5)
    took = time.process_time() - before
    assert curve.method == "inversion"
    t = np.arange(0.0, 12.0, 0.1)
    s = 5.0 + 1j * t
    z = s - 0.5
    d = distance[:, None]
    laplace = np.exp(-0.5 * d) * (np.cosh(z * d) + np.sinh(z * d) / (2.0 * z))
    answers = (np.exp((s - 1.0) * d) + np.exp(-s * d)) / (1.0 + np.exp(-d))
    log_moment = np.log(laplace).sum(axis=0) + np.log(answers).sum(axis=0)
    log_moment += 0.5 * s * (s - 1.0) * float(np.sum((2.0 / sigma) ** 2))
    x = np.arange(-12.0, 18.0, 0.1)
    normal = 0.1 * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    for scale, q in zip(noise, rate, strict=True):
        ratio = np.log1p(q * np.expm1(x / scale - 0.5 / scale**2))
        log_moment += np.log(np.exp(np.multiply.outer(s, ratio)) @ normal)
    for scale, p in zip(sigma, laws, strict=True):
        place = np.arange(-int(40 * scale), int(40 * scale) + 1)
        near = np.abs(place) < 11.0 * scale
        waves = np.exp(np.multiply.outer(s, (place[near] - 0.5) / scale**2))
        log_moment += np.log(waves @ p[near])
    weight = np.where(t > 0.0, 0.1, 0.05) / np.pi
    truth = float(weight @ (np.exp(log_moment - (s - 1.0) * epsilon) / (s * (s - 1.0))).real)
    assert truth == pytest.approx(1e-5, rel=1e-10)
    assert took < 5.0  # 0.7 s alone; a generous limit for a busy machine


@pytest.mark.parametrize("sigma", [0.8, 30.0, 300.0])
def test_noise_that_is_symmetric_has_one_direction_and_other_laws_have_two(sigma):
    """Of wide noise each probability is a small difference of tails: it was computed twice."""
    place = np.arange(-int(40 * sigma) - 1, int(40 * sigma) + 2)
    p = np.exp(-0.5 * (place / sigma) ** 2)
    p /= p.sum()
    assert PiecewiseTradeOff.from_noise(p)._mirrored
    skew = p * (1.0 + 1e-12 * np.sign(place))
    assert not PiecewiseTradeOff.from_noise(skew / skew.sum())._mirrored
    assert not PiecewiseTradeOff.from_laws([0.5, 0.5], [0.6, 0.4])._mirrored
