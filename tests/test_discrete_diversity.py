"""Diversities of a law, and the bounds of its leakage that come from them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from mialeak._blocks import BLOCK
from mialeak.discrete import (
    diversity,
    diversity_bounds,
    diversity_range,
    gini_simpson,
    max_leakage,
    shannon_entropy,
)

LEAST = 0.8**4.5
MOST = 20 * 0.3**1.5 * 0.7**3.5 / math.sqrt(5)


def random_laws(count, seed=0):
    """Laws from nearly one atom to nearly uniform ones, with sample sizes from 1 to 1e6."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = rng.dirichlet(np.full(int(rng.integers(1, 60)), rng.uniform(0.05, 1.0)))
        yield p / math.fsum(p), int(np.exp(rng.uniform(0, 14)))


# --- diversities ----------------------------------------------------------------------------------


def test_diversities_of_equal_atoms():
    for count in (1, 2, 3, 10, 1000):
        p = np.full(count, 1 / count)
        assert diversity(p) == pytest.approx(math.sqrt(count - 1), rel=1e-14)
        assert gini_simpson(p) == pytest.approx(1 - 1 / count, rel=1e-14)
        assert shannon_entropy(p) == pytest.approx(math.log(count), rel=1e-14)


def test_diversities_are_their_sums_in_forty_digits():
    p = np.random.default_rng(6).dirichlet(np.full(200, 0.1))
    with mpmath.workdps(40):
        law = [mpmath.mpf(float(x)) for x in p / math.fsum(p)]
        spread = float(mpmath.fsum(mpmath.sqrt(x * (1 - x)) for x in law))
        simpson = float(mpmath.fsum(x * (1 - x) for x in law))
        entropy = float(-mpmath.fsum(x * mpmath.log(x) for x in law))
    p = [float(x) for x in law]
    assert diversity(p) == pytest.approx(spread, rel=1e-14)
    assert gini_simpson(p) == pytest.approx(simpson, rel=1e-14)
    assert shannon_entropy(p) == pytest.approx(entropy, rel=1e-14)


def test_nearly_certain_laws_keep_their_digits():
    # 1 - sum of squares would be 0.
    p = np.array([1 - 2.0**-53, 2.0**-53])
    assert gini_simpson(p) == pytest.approx(2.0**-52, rel=1e-14)
    assert 1 - p @ p == pytest.approx(2.0**-52, rel=0.6)
    assert gini_simpson([1.0, 1e-20]) == pytest.approx(1e-20, rel=1e-14)


def test_diversities_of_blocks_are_those_of_the_array():
    p = np.random.default_rng(3).dirichlet(np.ones(2 * BLOCK + 5))
    for function in (diversity, gini_simpson, shannon_entropy):
        whole = function(p)
        assert function(iter(np.array_split(p, 13))) == pytest.approx(whole, rel=1e-15)
        assert type(whole) is float


def test_atoms_of_probability_zero_are_no_atoms():
    for function in (diversity, gini_simpson, shannon_entropy):
        assert function([0.3, 0.0, 0.7]) == function([0.3, 0.7])


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=50))
def test_the_three_diversities_bound_each_other(weights):
    """AGP25 eqs 23-25, which hold for the entropy in nats."""
    p = np.array(weights) / math.fsum(weights)
    spread, simpson, entropy = diversity(p), gini_simpson(p), shannon_entropy(p)
    slack = 1e-12
    assert simpson <= spread / 2 + slack
    assert spread / p.size <= math.sqrt(simpson / p.size) + slack
    assert entropy <= spread + slack
    assert spread <= math.sqrt(p.size * entropy) + slack


def test_in_bits_entropy_is_not_below_diversity():
    p = np.full(4, 0.25)
    assert shannon_entropy(p) < diversity(p) < shannon_entropy(p) / math.log(2)


# --- the range of diversities ---------------------------------------------------------------------


def test_the_range_of_diversity_holds_random_laws_and_is_reached():
    rng = np.random.default_rng(5)
    for _ in range(2000):
        count = int(rng.integers(1, 9))
        p = rng.dirichlet(np.full(count, rng.uniform(0.2, 5.0)))
        p /= math.fsum(p)
        bounds = diversity_range(count, max(p.max(), 1 / count))
        assert bounds.lower - 1e-12 <= diversity(p) <= bounds.upper + 1e-12
    for count, largest in [(5, 0.3), (5, 0.6), (10, 1 / 3), (2, 0.5), (7, 1 / 7)]:
        bounds = diversity_range(count, largest)
        others = np.full(count - 1, (1 - largest) / (count - 1))
        assert diversity([largest, *others]) == pytest.approx(bounds.upper, rel=1e-14)
        full = min(math.floor(1 / largest), count - 1)
        fewest = [largest] * full + [max(1 - full * largest, 0.0)]
        assert diversity(fewest) == pytest.approx(bounds.lower, rel=1e-12)


def test_the_range_of_diversity_at_its_ends():
    for count in (1, 2, 3, 49, 1000):
        equal = diversity_range(count, 1 / count)
        assert equal.lower == pytest.approx(math.sqrt(count - 1), rel=1e-12)
        assert equal.upper == pytest.approx(math.sqrt(count - 1), rel=1e-12)
        certain = diversity_range(count, 1.0)
        assert (certain.lower, certain.upper) == (0.0, 0.0)


@pytest.mark.parametrize("count", range(1, 100))
def test_the_range_holds_the_diversity_of_equal_atoms_to_the_last_bit(count):
    equal = diversity([1 / count] * count)
    bounds = diversity_range(count, 1 / count)
    assert bounds.lower <= equal <= bounds.upper
    # With room for more atoms, what rounding leaves of 1 is no atom: its root would be 1e-8.
    bounds = diversity_range(count + 3, 1 / count)
    assert bounds.lower <= equal <= bounds.lower + 1e-11


def test_the_range_is_not_narrower_the_further_from_one_half():
    """The remark before AGP25 Lemma 24."""

    def width(largest):
        return diversity_range(10, largest).width

    assert width(0.35) == pytest.approx(1.395, abs=1e-3)
    assert width(0.4) == pytest.approx(1.355, abs=1e-3)
    assert width(0.45) == pytest.approx(1.358, abs=1e-3)
    assert width(0.35) > width(0.45)


# --- bounds of the leakage ------------------------------------------------------------------------


def test_bounds_from_diversity_hold_on_twenty_thousand_laws():
    sharp = 0
    for p, n in random_laws(20_000):
        bounds, leakage = diversity_bounds(p, n), max_leakage(p, n)
        assert bounds.lower <= leakage <= bounds.upper, (p, n)
        sharp += bounds.lower > 0
    assert sharp > 10_000


def test_bounds_are_attained():
    # Every atom at p = 1/5, n = 5, and nearly every atom at p = 3/10.
    bounds = diversity_bounds([0.2] * 5, 5)
    assert bounds.lower == pytest.approx(max_leakage([0.2] * 5, 5), rel=1e-13)
    p = [0.3, 0.3, 0.3, 0.1]
    rare = 0.1 * 0.9**5
    assert max_leakage(p, 5) - rare == pytest.approx(
        MOST * 3 * math.sqrt(0.21) / math.sqrt(5), rel=1e-13
    )
    assert diversity_bounds(p, 5).upper == pytest.approx(max_leakage(p, 5), rel=1e-13)


@pytest.mark.parametrize("n", [1, 4])
def test_below_five_rows_only_the_general_bound_is_left(n):
    p = [0.5, 0.3, 0.2]
    bounds = diversity_bounds(p, n)
    assert bounds.lower == 0
    assert bounds.upper == pytest.approx(diversity(p) / (2 * math.sqrt(n)), rel=1e-13)
    assert diversity_bounds(p, 5).lower > 0


def test_an_atom_beyond_one_minus_1_over_n_leaves_the_general_bound_only():
    n = 100
    at_most = [1 - 1 / n, 1 / n]
    more = [1 - 0.999 / n, 0.999 / n]
    assert diversity_bounds(at_most, n).lower > 0
    assert diversity_bounds(more, n).lower == 0
    assert diversity_bounds(more, n).upper == pytest.approx(diversity(more) / 20, rel=1e-13)


def test_rare_atoms_add_their_missing_mass():
    p = np.array([0.5, 0.4, *[0.01] * 10])
    rare = 0.1 * 0.99**50
    common = 0.5 + math.sqrt(0.24)
    bounds = diversity_bounds(p, 50)
    assert bounds.lower == pytest.approx(LEAST * common / math.sqrt(50) + rare, rel=1e-13)
    assert bounds.upper == pytest.approx(MOST * common / math.sqrt(50) + rare, rel=1e-13)


def test_bounds_have_the_shape_of_n():
    p = [0.5, 0.3, 0.2]
    assert type(diversity_bounds(p, 10).lower) is float
    many = diversity_bounds(iter([p]), [[2, 10], [100, 1000]])
    assert many.lower.shape == many.upper.shape == (2, 2)
    assert many.upper[1, 0] == diversity_bounds(p, 100).upper
    assert many.kind == "bound"


# --- what the papers have wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "p", "lower", "middle"),
    [
        (100, [0.9999, 0.0001], 2.90e-4, 9.9e-5),
        (1000, [1 - 1e-6, 1e-6], 9.17e-6, 9.99e-7),
    ],
)
def test_lemma_21_needs_a_largest_probability_of_at_most_1_minus_1_over_n(n, p, lower, middle):
    """AGP25 Lemma 21 as printed, with its constant 0.29; o(e^-n) cannot rescue it."""
    rare = sum(x * (1 - x) ** n for x in p if n * x < 1)
    common = sum(math.sqrt(x * (1 - x)) for x in p if n * x >= 1)
    printed = 0.29 * common / math.sqrt(n)
    left = max_leakage(p, n) - rare
    assert printed == pytest.approx(lower, rel=0.01)
    assert left == pytest.approx(middle, rel=0.01)
    assert printed > left + math.exp(-n)
    assert diversity_bounds(p, n).lower == 0


def test_the_probability_of_a_geometric_time_is_not_what_a_rare_atom_leaks():
    """The remark after AGP25 Lemma 21: p (1-p)^n is P(G = n + 1), not P(G <= n)."""
    time = stats.geom(0.1)
    assert time.cdf(20) == pytest.approx(0.878, abs=1e-3)
    assert time.pmf(21) == pytest.approx(0.1 * 0.9**20, rel=1e-12)


@pytest.mark.parametrize(("n", "atoms"), [(2, 1000), (2, 10_000), (10, 10_000), (100, 100_000)])
def test_corollary_5_1_2_is_no_lower_bound(n, atoms):
    """AGP23 Corollary 5.1.2 exceeds 1 for many equal atoms; the leakage never does."""
    p = np.full(atoms, 1 / atoms)
    spread = diversity(p) - 1 / math.sqrt(2 * n)
    printed = math.exp(-13 / 6) / math.sqrt(2 * math.pi) * spread / math.sqrt(n)
    assert printed > 1 > max_leakage(p, n)
    bounds = diversity_bounds(p, n)
    assert bounds.lower <= max_leakage(p, n) <= bounds.upper


def test_the_sharp_constants_lie_inside_the_printed_ones():
    """AGP25 Corollary 15 prints 0.29 and 0.44; the extremes are at n = 5."""
    assert 0.29 < LEAST < 0.3664
    assert 0.4217 < MOST < 0.44
    ratios = []
    for n in range(5, 60):
        for m in range(1, n - 1):
            for p in ((m + 1e-9) / n, (m + 0.5) / n, (m + 1 - 1e-9) / n):
                pmf = math.comb(n - 1, m) * p**m * (1 - p) ** (n - 1 - m)
                ratios.append(math.sqrt(n * p * (1 - p)) * pmf)
    assert min(ratios) == pytest.approx(LEAST, rel=1e-7)
    assert max(ratios) == pytest.approx(MOST, rel=1e-7)
