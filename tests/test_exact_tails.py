"""The exact curve far out and in the small: enumeration, tilts, wider windows, many games."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import exact_truth
import mpmath
import numpy as np
import pytest
from scipy import stats

from mialeak import exact_mean_tradeoff
from mialeak._numerics.inversion import _saddle
from mialeak._numerics.inversion._integrals import option, tail_and_density
from mialeak.exact import ExactTradeOff, _recurrences
from mialeak.exact._ratio_laws import ContourLaw
from mialeak.games import FixedTargetGame
from mialeak.laws import Bernoulli
from mialeak.scores import bernoulli_score

LEVELS = [1e-6, 1e-12, 1e-30]
STORED = Path(__file__).parent.parent / "docs" / "gallery"


def bits_case(d, low=0.25, high=0.75, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(low, high, d), (rng.random(d) < 0.5).astype(float)


# --- far out -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smooth():
    p, z = bits_case(300)
    return exact_mean_tradeoff(z, Bernoulli(p), 500)


def on_two_contours(curve, x, wanted):
    """Log of what two contours beside the nearest one say, as ``wanted(contour, x)`` reads it."""
    inversion, spread = curve._law.worlds.inversion, curve._moments.spread
    near = min(inversion._contours, key=lambda contour: abs(contour.saddle - x))
    return [
        float(wanted(inversion._contour(near.theta + away / spread), np.array([x])))
        for away in (-0.6, 0.7)
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("world", [0, 1])
@pytest.mark.parametrize("upper", [True, False])
def test_tails_of_both_laws_agree_at_two_tilts(smooth, level, world, upper):
    """The fpr and the power where they are `level`, and so are their complements."""
    inversion = smooth._law.worlds.inversion
    (x,) = inversion.quantile(np.log([level]), upper=upper, tilt=float(world))

    def tail(contour, x):
        assert (contour.theta > world) == upper  # else the other tail, 1 - level
        return inversion._integral(contour, x, tail_and_density, float(world))[0, 0]

    for found in on_two_contours(smooth, x, tail):
        assert np.exp(found) == pytest.approx(level, rel=1e-9)
    tails = (smooth.cdf(x, "in"), smooth.sf(x, "in")) if world else (smooth.cdf(x), smooth.sf(x))
    assert tails[upper] == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("direction", ["in", "out"])
def test_delta_agrees_at_two_tilts(smooth, level, direction):
    inversion = smooth._law.worlds.inversion
    epsilon = float(smooth.epsilon(level, direction=direction))
    assert smooth.delta(epsilon, direction=direction) == pytest.approx(level, rel=1e-9)
    x, discount = (epsilon, epsilon) if direction == "in" else (-epsilon, 0.0)

    def delta(contour, x):
        assert contour.theta > 1.0 if direction == "in" else contour.theta < 0.0
        return inversion._integral(contour, x, option, 0.0)[0] + discount

    for found in on_two_contours(smooth, x, delta):
        assert np.exp(found) == pytest.approx(level, rel=1e-9)


@pytest.fixture(scope="module")
def enumerated():
    """A law in rationals whose least probability is 1e-34, and the curve of it."""
    p = [Fraction(1, 64), Fraction(3, 64), Fraction(5, 64)]
    law = exact_truth.releases([exact_truth.bits(share, 1, 8) for share in p])
    return law, exact_mean_tradeoff(np.ones(3), Bernoulli([float(x) for x in p]), 8)


def interpolated(x, corners):
    """The other coordinate at x of the polygon through the corners, in rationals."""
    for (x0, y0), (x1, y1) in pairwise(corners):
        if x0 <= x <= x1 > x0:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    raise AssertionError(x)


@pytest.mark.parametrize("level", LEVELS)
def test_tails_agree_with_enumeration(enumerated, level):
    law, curve = enumerated
    corners = exact_truth.vertices(law)
    assert 0 < corners[1][0] < level
    power = interpolated(Fraction(level), corners)
    assert curve.power(level) == pytest.approx(float(power), rel=1e-12)
    fpr = interpolated(Fraction(level), [(y, x) for x, y in corners])
    assert curve.fpr(level) == pytest.approx(float(fpr), rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_delta_agrees_with_enumeration(enumerated, level):
    law, curve = enumerated
    epsilon = float(curve.epsilon(level, direction="in"))
    with mpmath.workdps(60):
        growth = Fraction(str(mpmath.exp(mpmath.mpf(epsilon))))
    truth = exact_truth.delta(law, growth, inward=True)
    assert float(truth) == pytest.approx(level, rel=1e-9)
    assert curve.delta(epsilon, direction="in") == pytest.approx(float(truth), rel=1e-9)


# --- few columns, wider windows ------------------------------------------------------------------


def half_of(p, z, n):
    """Log ratios of some columns in order, and their probabilities: within 7 deviations."""
    ratio, chance = np.zeros(1), np.ones(1)
    for own in np.where(z == 1.0, p, 1.0 - p):
        reach = 7.0 * np.sqrt(n * own * (1.0 - own))
        k = np.arange(max(1, int(n * own - reach)), min(n, int(n * own + reach)) + 1)
        ratio = np.add.outer(ratio, np.log(k / (n * own))).ravel()
        chance = np.multiply.outer(chance, stats.binom.pmf(k, n, own)).ravel()
    order = np.argsort(ratio)
    return ratio[order], chance[order]


def test_six_columns_of_three_hundred_rows_meet_in_the_middle():
    d, n = 6, 300
    p, z = bits_case(d, 0.3, 0.6, seed=6)
    curve = exact_mean_tradeoff(z, Bernoulli(p), n)
    assert curve.method == "inversion"
    (large, large_chance), (small, small_chance) = (
        half_of(p[:3], z[:3], n),
        half_of(p[3:], z[3:], n),
    )
    x = np.asarray(curve.threshold([0.01, 0.3, 0.9]))
    for world in ("out", "in"):
        tilts = (np.exp(large), np.exp(small)) if world == "in" else (1.0, 1.0)
        above = np.append(np.cumsum((large_chance * tilts[0])[::-1])[::-1], 0.0)
        for threshold in x:
            place = np.searchsorted(large, threshold - small, side="right")
            truth = (small_chance * tilts[1]) @ above[place]
            assert abs(curve.sf(threshold, world) - truth) <= curve.error
    assert curve.error < 1e-4


@pytest.mark.parametrize(("low", "high", "rare"), [(0.25, 0.75, False), (0.001, 0.01, True)])
def test_twice_the_frequencies_and_windows_change_nothing(monkeypatch, low, high, rare):
    p, z = bits_case(150, low, high)
    z *= not rare
    curve = exact_mean_tradeoff(z, Bernoulli(p), 1000)
    returns = curve._law.recurrences
    assert bool(returns.windows) == rare
    fpr = np.array([1e-9, 0.01, 0.5])
    power = np.asarray(curve.power(fpr))
    monkeypatch.setattr(_saddle, "_FIRST_STEP", 0.5 * _saddle._FIRST_STEP)
    monkeypatch.setattr(_saddle, "_NEGLIGIBLE", _saddle._NEGLIGIBLE**2)
    monkeypatch.setattr(_recurrences, "_SMALL", 1e-3 * _recurrences._SMALL)
    monkeypatch.setattr(_recurrences, "_ENOUGH", 1e-1 * _recurrences._ENOUGH)
    more = _recurrences.find_recurrences(curve._moments)
    if rare:
        assert sum(b - a for a, b in more.windows) > sum(b - a for a, b in returns.windows)
    wide = [(a - 0.5 * (b - a), b + 0.5 * (b - a)) for a, b in more.windows]
    moments = curve._moments
    again = ExactTradeOff(
        ContourLaw(moments, more._replace(windows=wide), (-np.inf, np.inf)), moments, 1000
    )
    gap = np.abs(np.asarray(again.power(fpr)) - power)
    assert np.all(gap <= curve.error * np.minimum(1.0, 1e3 * power))
    assert abs(again.advantage - curve.advantage) <= curve.error < 1e-9


# --- games -------------------------------------------------------------------------------------


def within_band(above, rounds, chance, points):
    """Whether counts are what `rounds` coins give, all points at once with 99.9 per cent."""
    side = 0.5e-3 / points
    low, high = (stats.binom.ppf(q, rounds, chance) for q in (side, 1.0 - side))
    return bool(np.all((low <= above) & (above <= high)))


def test_a_million_games_are_within_the_band():
    d, n, fpr = 50, 100, np.linspace(0.001, 0.999, 100)
    p, z = bits_case(d, seed=4)
    curve = exact_mean_tradeoff(z, Bernoulli(p), n)
    game = FixedTargetGame(z, Bernoulli(p), n)
    played = game.play(1_000_000, score=lambda x: bernoulli_score(x, z, p, n), rng=1)
    cuts = np.asarray(curve.threshold(fpr))
    for scores, chance in ((played.out_scores, fpr), (played.in_scores, curve.power(fpr))):
        above = scores.size - np.searchsorted(np.sort(scores), cuts, side="right")
        assert within_band(above, scores.size, chance, 200)
        # One standard deviation and a half off, everywhere: noticed.
        off = 4.0 * np.sqrt(scores.size * chance * (1.0 - chance))
        assert not within_band(above + off, scores.size, chance, 200)


@pytest.fixture(scope="module")
def games():
    about = json.loads((STORED / "exact_games.json").read_text())
    path = STORED / "exact_games.npz"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == about["sha256"]
    return about, np.load(path)


@pytest.mark.parametrize("name", ["easy", "medium", "hard", "rate"])
def test_games_of_the_published_setting_are_within_the_band(games, name):
    about, stored = games
    d, n = about["columns"], about["rows"]
    rate = about["band_rate"] if name == "rate" else 1.0
    p = 0.25 + 0.5 * (np.arange(d) + 0.5) / d
    easy = (p <= 0.5).astype(float)
    targets = {"medium": stored["medium"].astype(float), "hard": 1.0 - easy}
    target = targets.get(name, easy)
    cuts, out, inside, outside = stored[f"band {name}"]
    curve = exact_mean_tradeoff(target, Bernoulli(p), n, sampling_rate=rate)
    fpr = np.asarray(exact_mean_tradeoff(target, Bernoulli(p), round(rate * n)).sf(cuts))
    np.testing.assert_allclose(fpr, stored["levels"], rtol=1e-9)
    assert (about["band_rounds"], fpr.size) == (100_000, 200)
    assert within_band(out, outside, fpr, 1600)
    assert within_band(inside, about["band_rounds"] - outside, curve.power(fpr), 1600)


def test_fifty_equal_rare_columns_are_answered():
    """The two columns of ones summed over all counts, the sum of the 48 others drawn."""
    n, p, draws = 31634, 1e-3, 20_000
    target = np.zeros(50)
    target[:2] = 1.0
    curve = exact_mean_tradeoff(target, Bernoulli(np.full(50, p)), n)
    k = np.arange(1, 140)
    single, chance = np.log(k / (n * p)), stats.binom.pmf(k, n, p)
    ratio, weight = np.add.outer(single, single).ravel(), np.multiply.outer(chance, chance).ravel()
    counts = np.random.default_rng(1).binomial(n, p, (draws, 48))
    other = np.sort(np.log1p((n * p - counts) / (n * (1.0 - p))).sum(axis=1))
    above = np.append(np.cumsum(np.exp(other[::-1]))[::-1], 0.0) / draws
    for x in (-0.5, -0.1, 0.1, 0.3, 0.8, 1.5):
        place = np.searchsorted(other, x - ratio, side="right")
        # Draws move a small part of the law: what a standard error of theirs makes is below 1e-4.
        assert curve.sf(x) == pytest.approx(weight @ (1.0 - place / draws), abs=3e-4)
        assert curve.sf(x, "in") == pytest.approx((weight * np.exp(ratio)) @ above[place], abs=3e-4)
    assert curve.error < 1e-9
    assert 0.0 < curve.power(1e-3) < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_rare_sites_of_the_size_of_the_shipped_genotypes_are_answered(seed):
    """127 columns; two of these four draws were refused, with errors of 5 and 13 per cent."""
    rng = np.random.default_rng(seed)
    p = np.exp(rng.uniform(np.log(5e-4), np.log(0.05), 127))
    target = (rng.random(127) < p).astype(float)
    n, draws = 2504, 40_000
    curve = exact_mean_tradeoff(target, Bernoulli(p), n)
    counts = rng.binomial(n, p, (draws, 127))
    ratio = np.where(target == 1.0, 0.0, np.log1p((n * p - counts) / (n * (1.0 - p)))).sum(axis=1)
    own = target == 1.0
    with np.errstate(divide="ignore"):
        ratio += np.log(counts[:, own] / (n * p[own])).sum(axis=1)
    rises = np.maximum(np.expm1(ratio), 0.0)
    assert curve.error < 1e-9
    assert curve.advantage == pytest.approx(rises.mean(), abs=4.5 * rises.std() / np.sqrt(draws))
    for x in np.quantile(ratio, [0.1, 0.4, 0.7, 0.95]):
        chance = float(np.mean(ratio > x))
        assert curve.sf(x) == pytest.approx(chance, abs=4.5 * 0.5 / np.sqrt(draws))
