"""Countable laws: frozen distributions of SciPy wherever a law is taken."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from mialeak import discrete
from mialeak.discrete import (
    atom_leakage,
    discrete_tradeoff,
    diversity,
    diversity_bounds,
    gini_simpson,
    max_leakage,
    max_leakage_bounds,
    min_samples,
    shannon_entropy,
)
from mialeak.discrete._countable import CountableWindow, ScipyLaw
from mialeak.discrete._series import convex_sum

EPS = 2.0**-52
mp.mp.dps = 25


def test_zipf_at_a_thousand_rows_takes_a_tenth_of_a_second():
    took = []
    for _ in range(5):
        start = time.perf_counter()
        bounds = max_leakage_bounds(stats.zipf(2.0), 1000)
        took.append(time.perf_counter() - start)
    assert bounds.upper - bounds.lower < 1e-12 * bounds.lower
    assert min(took) < 0.1


@pytest.mark.parametrize("n", [10, 10**5, 10**9])
def test_finite_laws_are_the_array_of_their_atoms(n):
    for law in (
        stats.binom(20, 0.3),
        stats.randint(3, 15),
        stats.hypergeom(40, 12, 9),
        stats.bernoulli(0.2),
        stats.boltzmann(1.4, 19),
        stats.betabinom(30, 0.5, 0.5),
        stats.zipfian(1.2, 50),
        stats.nhypergeom(30, 9, 6),
        stats.poisson_binom([0.1, 0.5, 0.7]),
    ):
        low, high = law.support()
        p = law.pmf(np.arange(low, high + 1))
        expected = max_leakage(p, n, normalize=True)
        assert max_leakage(law, n) == pytest.approx(expected, rel=1e-11), law.dist.name
        atoms = atom_leakage(law, n)
        np.testing.assert_allclose(atoms, atom_leakage(p / math.fsum(p), n), rtol=1e-9)


def test_laws_with_a_window_away_from_zero():
    # Mean 1e9: three standard deviations hold no more than 2e5 atoms, none of them near 0.
    poisson_, normal = stats.poisson(1e9), stats.norm(1e9, math.sqrt(1e9))
    k = np.arange(1e9 - 3e5, 1e9 + 3e5)
    p = normal.pdf(k)
    assert max_leakage(poisson_, 1000) == pytest.approx(
        max_leakage(p, 1000, normalize=True), rel=1e-4
    )


def test_moving_a_law_changes_nothing():
    for n in (5, 1000):
        assert max_leakage(stats.geom(0.3, loc=-7), n) == max_leakage(stats.geom(0.3), n)
        assert max_leakage(stats.poisson(mu=3, loc=10**6), n) == max_leakage(stats.poisson(3), n)


def test_a_law_made_from_a_list_of_atoms_is_that_list():
    p = [0.2, 0.5, 0.3]
    law = stats.rv_discrete(values=([0.5, 1.7, 3.0], p))
    for form in (law, law(), law(loc=0.25)):
        assert max_leakage(form, 10) == max_leakage(p, 10)
        np.testing.assert_array_equal(atom_leakage(form, 10), atom_leakage(p, 10))


class Halving(stats.rv_discrete):
    """A law of one's own: 2^-k for k >= 1, and nothing but its pmf."""

    def _pmf(self, k):
        return np.exp2(-k)


class Bumps(stats.rv_discrete):
    """Two bumps a hundred million apart."""

    def _pmf(self, k):
        return 0.3 * np.exp2(-np.abs(k)) + 0.4 / 3 * np.exp2(-np.abs(k - 1e8))


class Half(stats.rv_discrete):
    """Half a law."""

    def _pmf(self, k):
        return np.exp2(-k) / 2


def test_a_law_of_ones_own_needs_a_pmf_only():
    law = Halving(a=1, name="halving")()
    for n in (10, 1000):
        bounds = max_leakage_bounds(law, n)
        truth = max_leakage(stats.geom(0.5), n)
        assert bounds.lower <= truth <= bounds.upper < bounds.lower + 1e-10


class Negative(stats.rv_discrete):
    """No law at all."""

    def _pmf(self, k):
        return -np.exp2(-k)


@pytest.mark.parametrize(
    ("law", "error", "message"),
    [
        (stats.norm(0, 1), TypeError, "p must be a discrete law, with a pmf; norm is continuous"),
        (stats.norm, TypeError, "p must be a discrete law, with a pmf; norm is continuous"),
        (stats.geom, TypeError, r"p must be a frozen law.*geom has no parameters yet\. Give them"),
        (
            stats.poisson(3, loc=0.5),
            ValueError,
            r"on the integers; its loc is 0\.5",
        ),
        (stats.geom(1.5), ValueError, r"\{'p': 1\.5\} are no parameters of geom"),
        (stats.geom([0.1, 0.2]), ValueError, "p must be one law, not an array of"),
        (
            Half(a=1, name="half")(),
            ValueError,
            "sum to 1 and fall away.*; those of half",
        ),
        (Bumps(a=0, name="bumps")(), ValueError, "fall away from the bulk; those of bumps do not"),
        (Negative(a=1, name="neg")(), ValueError, "p must be a law"),
    ],
)
def test_what_is_no_countable_law_is_refused(law, error, message):
    for function in (max_leakage, max_leakage_bounds):
        with pytest.raises(error, match=message):
            function(law, 10)


def test_an_enclosure_that_is_not_close_is_no_number():
    law = stats.betanbinom(3, 4.5, 0.5)
    bounds = max_leakage_bounds(law, 10**9)
    assert 0 < bounds.lower < bounds.upper
    with pytest.raises(
        ValueError,
        match=r"within 1e-12 of itself for this law at n = 1000000000: it lies between .* max_leak",
    ):
        max_leakage(law, 10**9)


def test_infinite_laws_have_no_array_of_atoms():
    with pytest.raises(ValueError, match=r"at most 16777216 atoms.*geom has infinitely many"):
        atom_leakage(stats.geom(0.5), 10)


def test_other_functions_take_laws():
    law = stats.geom(0.25)
    p = 0.25 * 0.75 ** np.arange(150)
    n = np.array([3, 100])
    assert max_leakage(law, n).shape == (2,)
    np.testing.assert_allclose(max_leakage(law, n), max_leakage(p, n), rtol=1e-12)
    assert min_samples(law, 0.05) == min_samples(p, 0.05)
    assert discrete_tradeoff(law, 50).advantage == pytest.approx(max_leakage(law, 50), rel=1e-12)


@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (stats.geom(0.25), lambda f: mp.fsum(f(mp.mpf(0.75) ** k / 4) for k in range(300))),
        (
            stats.poisson(7.0),
            lambda f: mp.fsum(f(mp.exp(-7) * mp.mpf(7) ** k / mp.factorial(k)) for k in range(80)),
        ),
    ],
    ids=["geom", "poisson"],
)
def test_diversities_of_light_laws(law, truth):
    for function, term in [
        (diversity, lambda p: mp.sqrt(p * (1 - p))),
        (gini_simpson, lambda p: p * (1 - p)),
        (shannon_entropy, lambda p: -p * mp.log(p)),
    ]:
        assert function(law) == pytest.approx(float(truth(term)), rel=1e-13)


def test_diversities_of_heavy_laws():
    total = mp.zeta(2)
    entropy = mp.log(total) - 2 * mp.zeta(2, 1, 1) / total
    assert shannon_entropy(stats.zipf(2)) == pytest.approx(float(entropy), rel=1e-12)
    simpson = 1 - mp.zeta(4) / total**2
    assert gini_simpson(stats.zipf(2)) == pytest.approx(float(simpson), rel=1e-13)
    # SciPy stops its sum early: 1.02328635.
    assert shannon_entropy(stats.yulesimon(2.5)) == pytest.approx(1.0232886741305, abs=1e-12)
    with pytest.raises(ValueError, match=r"sum is finite; for zipf its terms fall like k\*\*-1\.0"):
        diversity(stats.zipf(2))


@pytest.mark.parametrize(
    "law",
    [stats.zipf(2), stats.zipf(1.1), stats.geom(0.01), stats.poisson(9), stats.nbinom(5, 1e-3)],
    ids=lambda law: f"{law.dist.name}{law.args}",
)
def test_diversity_bounds_of_laws_enclose_their_leakage(law):
    n = np.array([5, 100, 10_000])
    bounds, leakage = diversity_bounds(law, n), max_leakage(law, n)
    assert np.all(bounds.lower <= leakage)
    assert np.all(leakage <= bounds.upper)
    assert np.all(bounds.upper <= 1.3 * bounds.lower)


# --- windows and convex sums ----------------------------------------------------------------------


def test_a_window_grows_to_both_sides_and_keeps_count_of_its_mass():
    window = CountableWindow(ScipyLaw(stats.skellam(2000.0, 1000.0)))
    sizes = []
    for _ in range(3):
        blocks = list(window.grow())
        assert sum(p.size for p, _ in blocks) == window.size - sum(sizes)
        sizes.append(window.size - sum(sizes))
    assert sizes == [1024, 1024, 2048]
    assert abs((window.low + window.high) / 2 - 1000) < 50
    low, high = window.outside()
    assert 0 <= low <= high < 1e-100


@pytest.mark.parametrize("count", [1.0, 2.0, 33.0, 1000.0, 123456.0, math.inf])
@pytest.mark.parametrize("power", [1.5, 2.0, 4.0])
def test_convex_sums_enclose_power_series(count, power):
    def terms(j):
        return (j + 5) ** -power, np.full(j.shape, 4 * EPS)

    def rest(j):
        return (j + 4) ** (1 - power) / (power - 1)

    low, high, beyond = convex_sum(terms, rest, count, 64.0, 1e-9)
    truth = mp.zeta(power, 6) - (mp.zeta(power, 6 + int(count)) if count < math.inf else 0)
    assert low <= truth <= high + beyond
    assert high + beyond - low < (2e-9 if power > 1.5 else 1e-6)


def test_convex_sums_see_what_is_not_convex_or_does_not_fall():
    def nothing(j):
        return math.inf

    def exact(sequence):
        return lambda j: (sequence(j), np.zeros(j.shape))

    assert convex_sum(exact(lambda j: 100 - j), nothing, 100.0, 16.0, 1e-9) is not None
    assert convex_sum(exact(lambda j: j), nothing, 1000.0, 1000.0, 1e-9) is None
    assert convex_sum(exact(lambda j: 1e7 - j**2), nothing, 1000.0, 1000.0, 1e-9) is None


def test_one_file_asks_which_form_a_law_has():
    """All others call its methods."""
    asking = [
        path.name
        for path in sorted(Path(discrete.__file__).parent.glob("*.py"))
        if re.search(r"isinstance\([^)]*\w*(Law|Window)\b", path.read_text())
    ]
    assert asking == ["_laws.py"]
