"""The kernels beneath ``discrete``: sums of leakages over atoms, and the leakage of each atom."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import referee
from referee import EPS

from mialeak._kernels import binomial

#: Both sides of the balanced game, of the cut-offs 2**-60 and 2**700, and the ends of float64.
GAMMAS = (
    5e-324,
    1e-300,
    2.0**-61,
    2.0**-60,
    2.0**-59,
    0.01,
    0.5,
    1 - EPS / 2,
    1.0,
    1 + EPS,
    1.25,
    40.0,
    1e9,
    2.0**699,
    2.0**700,
    2.0**701,
    1.7e308,
)
COUNTS = (1, 2, 17, 1000, 10**9, 2**53)


def law() -> np.ndarray:
    """Atoms of every size, dyadic, so that they sum to 1 exactly."""
    p = np.array([0.5, 2.0**-2, 2.0**-4, 2.0**-10, 2.0**-20, 2.0**-40, 2.0**-300, 0.0])
    p[-1] = 1 - math.fsum(p)
    return p


def leakage_sum(p, n, gamma=1.0, total=1.0):
    """Leakage and mass, each the exact sum of its two words."""
    bad, *words = binomial.leakage_sum(p, n, gamma, total)
    assert bad == -1
    leak, mass = words[:2], words[2:]
    return math.fsum(leak), math.fsum(mass)


def leakage_atoms(p, n, gamma=1.0, total=1.0) -> np.ndarray:
    out = np.full(p.size, 77.0)
    assert binomial.leakage_atoms(p, n, gamma, total, out) == -1
    return out


def numbers_apart(got: float, truth: float) -> float:
    """Relative distance, 0 below 1e-290 where no bound is promised."""
    if truth < 1e-290:
        return 0.0 if 0 <= got < 2e-290 else math.inf
    return abs(got - truth) / truth


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", COUNTS)
def test_sums_are_right_to_1e_13(n, gamma):
    p = law()
    expected, _ = referee.rounded(referee.max_leakage(p, n, gamma))
    leakage, mass = leakage_sum(p, n, gamma)
    assert numbers_apart(leakage, expected) <= (4 * EPS if gamma == 1 else 1e-13)
    assert mass == 1


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", COUNTS)
def test_atoms_are_right_to_1e_13(n, gamma):
    p = law()
    atoms = leakage_atoms(p, n, gamma)
    for probability, got in zip(p.tolist(), atoms.tolist(), strict=True):
        with referee.precision(300):
            ball = referee.atom_leakage(probability, n, gamma)
            expected, _ = referee.rounded(ball / referee.arb(referee.rational(probability)))
        assert numbers_apart(got, expected) <= 1e-13, probability


@pytest.mark.parametrize("gamma", [0.01, 0.9, 1.0, 1.1, 30.0])
def test_atoms_average_to_the_sum(gamma):
    p = np.random.default_rng(8).dirichlet(np.full(2000, 0.3))
    leakage, _ = leakage_sum(p, 3000, gamma)
    assert math.fsum(p * leakage_atoms(p, 3000, gamma)) == pytest.approx(leakage, rel=1e-13)


def test_an_atom_of_probability_0_has_the_limit_and_adds_nothing():
    p = np.array([0.25, 0.0, 0.75, 0.0])
    for gamma in (0.5, 1.0, 2.0):
        atoms = leakage_atoms(p, 50, gamma)
        assert np.all(atoms[[1, 3]] == 1)
        assert leakage_sum(p, 50, gamma) == leakage_sum(p[[0, 2]], 50, gamma)


def test_a_certain_atom_leaks_nothing():
    one = np.array([1.0])
    for gamma in (0.5, 1.0, 2.0):
        assert leakage_sum(one, 9, gamma) == (0, 1)
        assert leakage_atoms(one, 9, gamma) == 0


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 512, 513, 4099])
def test_every_atom_counts_once_at_any_length(size):
    p = np.full(size, 1 / size)
    one = referee.rounded(referee.atom_leakage(1 / size, 100))[0]
    leakage, mass = leakage_sum(p, 100)
    assert leakage == pytest.approx(size * one, rel=4 * EPS)
    assert mass == float(Fraction(1 / size) * size)
    assert np.array_equal(leakage_atoms(p, 100), np.repeat(leakage_atoms(p[:1], 100), size))


def test_total_divides():
    p = law()
    for gamma in (0.5, 1.0, 1.5):
        assert leakage_sum(4 * p, 100, gamma, 4.0) == leakage_sum(p, 100, gamma)
        assert np.array_equal(leakage_atoms(4 * p, 100, gamma, 4.0), leakage_atoms(p, 100, gamma))


@pytest.mark.parametrize("bad", [-5e-324, -0.5, 1 + EPS, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("place", [0, 3, 7, 8, 255, 256, 300, 999])
def test_the_first_bad_atom_is_named(bad, place):
    p = np.full(1000, 1e-3)
    p[place] = bad
    p[min(place + 5, 999)] = bad
    for gamma in (0.5, 1.0, 2.0):
        assert binomial.leakage_sum(p, 10, gamma, 1.0)[0] == place
        assert binomial.leakage_atoms(p, 10, gamma, 1.0, np.empty(1000)) == place


def test_sums_of_many_atoms_lose_nothing():
    """A million equal atoms: 64 plain additions in a row would already show."""
    p = np.full(10**6, 2.0**-20)
    one = leakage_atoms(p[:1], 10**5)[0] * 2.0**-20
    leakage, mass = leakage_sum(p, 10**5)
    assert leakage == pytest.approx(1e6 * one, rel=2 * EPS)
    assert mass == 1e6 * 2.0**-20
