"""The exact curve of a released mean: against enumeration, two methods, two tilts, simulation."""

from __future__ import annotations

from fractions import Fraction

import exact_truth
import numpy as np
import pytest

from mialeak import exact_mean_tradeoff
from mialeak.exact import ExactTradeOff
from mialeak.exact._atoms import halves_of
from mialeak.exact._enclosure import TailEnclosure
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import pack
from mialeak.exact._ratio_laws import ContourLaw
from mialeak.laws import Bernoulli, Genotype, Normal
from mialeak.scores import bernoulli_score


def bits_case(d, low=0.25, high=0.75, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(low, high, d), (rng.random(d) < 0.5).astype(float)


def paper(d=5000):
    """The probabilities of the reproducible values, and their easy target."""
    p = 0.25 + 0.5 * (np.arange(d) + 0.5) / d
    return p, (p <= 0.5).astype(float)


# --- against enumeration -----------------------------------------------------------------------

CASES = [(2, 1), (3, 2), (8, 1), (8, 2), (8, 3), (5, 3)]


def rational_case(n, d, kind):
    rng = np.random.default_rng(10 * n + d)
    p = [Fraction(int(x), 64) for x in rng.integers(1, 64, d)]
    z = rng.integers(0, 2 if kind is Bernoulli else 3, d)
    one = exact_truth.bits if kind is Bernoulli else exact_truth.genotypes
    law = exact_truth.releases([one(q, int(x), n) for q, x in zip(p, z, strict=True)])
    return law, exact_mean_tradeoff(z.astype(float), kind([float(q) for q in p]), n)


@pytest.mark.parametrize("kind", [Bernoulli, Genotype])
@pytest.mark.parametrize(("n", "d"), CASES)
def test_enumeration_gives_the_advantage_and_every_vertex(n, d, kind):
    if kind is Genotype and n * d > 16:
        n = 4
    law, curve = rational_case(n, d, kind)
    assert curve.method == "atoms"
    assert curve.advantage == pytest.approx(float(exact_truth.advantage(law)), abs=curve.error)
    assert curve.auc == pytest.approx(float(exact_truth.auc(law)), abs=curve.error)
    corners = exact_truth.vertices(law)
    fpr, power = (np.array([float(c[i]) for c in corners]) for i in (0, 1))
    inside = (fpr > 0.0) & (fpr < 1.0)
    np.testing.assert_allclose(curve.power(fpr[inside]), power[inside], rtol=1e-13)
    miss = np.array([float(1 - c[1]) for c in corners])
    np.testing.assert_allclose(curve.fnr(fpr[inside]), miss[inside], rtol=1e-12, atol=1e-15)
    for growth in (1, 2, 5):
        for inward, direction in ((True, "in"), (False, "out")):
            truth = float(exact_truth.delta(law, Fraction(growth), inward=inward))
            got = curve.delta(np.log(growth), direction=direction)
            assert got == pytest.approx(truth, rel=1e-12, abs=1e-15)
    assert curve.impossible == pytest.approx(float(sum(a for a, b in law if not b)), rel=1e-12)


@pytest.mark.parametrize("kind", [Bernoulli, Genotype])
@pytest.mark.parametrize(("n", "d"), CASES)
def test_the_enclosure_contains_the_truth_in_every_enumerated_case(n, d, kind):
    if kind is Genotype and n * d > 16:
        n = 4
    _, curve = rational_case(n, d, kind)
    fpr = np.array([0.01, 0.1, 0.3, 0.5, 0.9])
    bounds = curve.enclosure(fpr, reach=300.0)
    truth = curve.power(fpr)
    assert np.all(bounds.lower <= truth)
    assert np.all(truth <= bounds.upper)
    assert np.all(bounds.width <= 1.0)


def test_the_enclosure_of_a_smooth_law_narrows_with_its_reach():
    p, z = bits_case(400)
    curve = exact_mean_tradeoff(z, Bernoulli(p), 500)
    fpr = np.array([0.01, 0.2])
    truth, widths = curve.power(fpr), []
    for reach in (100.0, 1000.0):
        bounds = curve.enclosure(fpr, reach=reach)
        assert np.all((bounds.lower < truth) & (truth < bounds.upper))
        widths.append(np.max(bounds.width))
    assert widths[1] < 0.005
    assert 5.0 < widths[0] / widths[1] < 20.0


@pytest.mark.parametrize("world", [0, 1])
def test_rounding_is_added_to_an_enclosure_on_either_side(world):
    p, z = bits_case(50)
    moments = exact_mean_tradeoff(z, Bernoulli(p), 100)._moments
    x = np.array([-0.5, 0.0, 0.5])
    without, rounded = (TailEnclosure(moments, world, 100.0, r)(x) for r in (0.0, 1e-3))
    np.testing.assert_allclose(without[0] - rounded[0], 1e-3, rtol=1e-9)
    np.testing.assert_allclose(rounded[1] - without[1], 1e-3, rtol=1e-9)


# --- two methods -------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "n"), [(4, 60), (6, 40)])
def test_few_columns_agree_with_meeting_in_the_middle(d, n):
    p, z = bits_case(d, 0.3, 0.6, seed=d)
    halves = exact_mean_tradeoff(z, Bernoulli(p), n, method="halves")
    curve = exact_mean_tradeoff(z, Bernoulli(p), n, method="inversion")
    grid = np.array([0.01, 0.3, 0.9])
    for world in ("out", "in"):
        x = np.asarray(halves.threshold(grid))
        gap = np.asarray(curve.sf(x, world)) - np.asarray(halves.sf(x, world))
        assert np.all(np.abs(gap) <= curve.error)
    assert abs(curve.advantage - halves.advantage) <= curve.error


@pytest.mark.parametrize(("d", "n", "least"), [(1, 5, 1e-9), (2, 30, 1e-18), (2, 5000, 1e-35)])
def test_two_halves_keep_their_digits_in_the_tails(d, n, least):
    p, z = bits_case(d, 0.3, 0.6, seed=d)
    atoms = exact_mean_tradeoff(z, Bernoulli(p), n)
    halves = exact_mean_tradeoff(z, Bernoulli(p), n, method="halves")
    fpr = np.geomspace(least, 0.5, 60)
    power = np.asarray(atoms.power(fpr))
    # Of 5,000 rows the atoms leave out what is rarer than 1e-40, which matters below 1e-28.
    missing = np.array([atoms._law.error_at(*both) for both in zip(fpr, power, strict=True)])
    assert np.all(missing[fpr > 1e-27] < 1e-11)
    assert np.all(np.abs(halves.power(fpr) / power - 1.0) <= 1e-11 + missing)
    assert np.all(np.abs(halves.fpr(power) / fpr - 1.0) <= 1e-11 + missing)
    if n < 99:  # every outcome is an atom
        assert halves.power(1e-300) == pytest.approx(atoms.power(1e-300), rel=1e-12)


@pytest.mark.parametrize(("d", "n"), [(2, 100), (3, 60)])
def test_the_switch_to_halves_changes_nothing(d, n):
    p, z = bits_case(d, 0.3, 0.6, seed=d)
    atoms = exact_mean_tradeoff(z, Bernoulli(p), n)
    halves = exact_mean_tradeoff(z, Bernoulli(p), n, method="halves")
    assert (atoms.method, halves.method) == ("atoms", "meet in the middle")
    grid = np.array([1e-6, 0.01, 0.3, 0.9])
    np.testing.assert_allclose(halves.power(grid), atoms.power(grid), rtol=1e-12)
    np.testing.assert_allclose(halves.fnr(grid), atoms.fnr(grid), rtol=1e-12)
    np.testing.assert_allclose(halves.fpr(grid), atoms.fpr(grid), rtol=1e-12)
    assert halves.advantage == pytest.approx(atoms.advantage, abs=1e-14)
    assert halves.auc == pytest.approx(atoms.auc, abs=1e-14)
    for direction in ("in", "out"):
        np.testing.assert_allclose(
            halves.delta([0.0, 0.1, 1.0], direction=direction),
            atoms.delta([0.0, 0.1, 1.0], direction=direction),
            rtol=1e-9,
        )


def test_equal_columns_agree_with_halves():
    """Twelve equal columns have few atoms and many returns of the moment function."""
    families = exact_mean_tradeoff(np.ones(12), Bernoulli([0.4] * 12), 12)._moments.families
    halves = halves_of(pack(families, 1.0, np.inf).kept(1), 1 << 17, 1 << 21)
    curve = exact_mean_tradeoff(np.ones(12), Bernoulli([0.4] * 12), 12, method="inversion")
    x = np.array([-0.5, 0.123, 0.8])
    gap = np.asarray(curve.sf(x)) - halves.tails(x, 0)[1]
    assert np.all(np.abs(gap) <= curve.error)


# --- known values, tilts, doubled frequencies ----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("easy", 0.863679881264), ("hard", 0.622240200910), ("ones", 0.779097146919)],
)
def test_the_reproducible_values_are_met(name, value):
    p, easy = paper()
    target = {"easy": easy, "hard": 1.0 - easy, "ones": np.ones(p.size)}[name]
    curve = exact_mean_tradeoff(target, Bernoulli(p), 1000)
    assert curve.advantage == pytest.approx(value, abs=1e-12)
    assert curve.error < 1e-12


@pytest.mark.parametrize("level", [1e-6, 1e-12, 1e-30])
def test_tails_agree_with_atoms_where_those_reach(level):
    p, z = np.array([0.3, 0.45]), np.array([1.0, 0.0])
    copies = 1
    atoms = exact_mean_tradeoff(
        np.tile(z, copies), Bernoulli(np.tile(p, copies)), 400, method="atoms"
    )
    halves = exact_mean_tradeoff(
        np.tile(z, copies), Bernoulli(np.tile(p, copies)), 400, method="halves"
    )
    if level > 1e-16:  # the counts kept by halves
        assert halves.power(level) == pytest.approx(atoms.power(level), rel=1e-9)
    x = atoms.threshold(level)
    assert atoms.sf(x) <= level <= atoms.sf(np.nextafter(x, -np.inf)) * (1 + 1e-9)


def test_halving_the_step_and_widening_the_counts_changes_nothing():
    p, z = bits_case(200)
    curve = exact_mean_tradeoff(z, Bernoulli(p), 300)
    inversion = curve._law.worlds.inversion
    value = curve.power(0.01)
    contour = inversion._contours[0]
    fine = contour.step / 2
    wave = curve._moments.wave(contour.theta, 0.0, fine, 2 * contour.nodes.size)
    np.testing.assert_allclose(wave[: 2 * contour.nodes.size : 2], contour.values, atol=2e-15)
    moments = RatioMoments(curve._moments.families, None)
    moments._packs = [pack(moments.families, 30.0, np.inf, 1.5).kept(1)]
    law = ContourLaw(moments, curve._law.recurrences, (-np.inf, np.inf))
    assert ExactTradeOff(law, moments, 300).power(0.01) == pytest.approx(value, rel=1e-13)


def test_both_worlds_have_all_their_mass():
    for d in (50, 500):
        p, z = bits_case(d, 0.05, 0.95)
        moments = exact_mean_tradeoff(z, Bernoulli(p), 1000)._moments
        assert abs(moments.local(1.0)[0]) < 1e-14
        assert abs(moments.local(0.0)[0]) < 1e-14


# --- rare alleles ------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [200, 1000])
def test_rare_alleles_need_the_returning_windows(d):
    """Against simulation; the naive cut is wrong beside it."""
    rng = np.random.default_rng(d)
    p, n, rounds = rng.uniform(0.001, 0.01, d), 1000, 5_000_000 // d
    z = (rng.random(d) < p).astype(float)
    curve = exact_mean_tradeoff(z, Bernoulli(p), n)
    assert curve._law.recurrences.windows
    assert curve.error < 1e-9
    from mialeak._numerics.inversion import SaddlePointInversion

    naive = SaddlePointInversion(curve._moments)
    x = np.asarray(curve.threshold(np.linspace(0.02, 0.98, 97)))
    exact, cut = np.asarray(curve.sf(x)), np.exp(naive.log_tails(x)[1])
    assert np.abs(cut - exact).max() > 1e-4
    scores = np.concatenate(
        [bernoulli_score(rng.binomial(n, p, (5000, d)) / n, z, p, n) for _ in range(rounds // 5000)]
    )
    seen = np.array([(scores > threshold).mean() for threshold in x])
    deviation = (seen - exact) / np.sqrt(exact * (1 - exact) / rounds)
    assert np.abs(deviation).max() < 4.5


def test_a_lattice_that_does_not_bend_away_has_its_jumps():
    """All alleles alike: the law has atoms a lattice step apart, seen by the windows."""
    d, n, p = 30, 200, 0.01
    curve = exact_mean_tradeoff(np.zeros(d), Bernoulli(np.full(d, p)), n, method="inversion")
    rng = np.random.default_rng(1)
    k = rng.binomial(n, p, (200_000, d))
    scores = np.log1p((n * p - k) / (n * (1 - p))).sum(axis=1)
    x = np.median(scores) + np.linspace(-0.02, 0.02, 41)
    seen = np.array([(scores > t).mean() for t in x])
    assert np.abs(seen - curve.sf(x)).max() < 4.5 * 0.5 / np.sqrt(scores.size) + curve.error


def test_an_answer_with_a_large_error_is_refused_and_the_enclosure_is_not():
    curve = exact_mean_tradeoff([1, 1, 0.3], [Bernoulli([0.3, 0.4]), Normal([0.0], [1.0])], 50)
    message = "not available for so few columns, or values so unlikely: the error is 0.2 here"
    with pytest.raises(ValueError, match=message):
        _ = curve.advantage
    with pytest.raises(ValueError, match=message):
        curve.power(0.1)
    bounds = curve.enclosure(0.1)
    assert 0.1 <= bounds.lower < bounds.upper < 0.2
