"""The largest leakage of discrete data, its atoms, and the samples needed."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import referee
import zoo
from fresh import seconds_to_stop
from hypothesis import assume, given, strategies as st
from scipy import stats

from mialeak._blocks import BLOCK
from mialeak.discrete import atom_leakage, max_leakage, max_leakage_bounds, min_samples

EPS = 2.0**-52


def relative_error(value, truth) -> float:
    truth = referee.rounded(truth)[0] if not isinstance(truth, float) else truth
    return abs(value - truth) / truth if truth else abs(value)


def dirichlet(size, seed=0, weight=1.0):
    p = np.random.default_rng(seed).dirichlet(np.full(size, weight))
    return p / math.fsum(p)


def random_cases(count):
    """Dyadic laws, so that they are exact as floats and sum to 1, small n, gamma of all sizes."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        atoms, n = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        cuts = np.sort(rng.integers(0, 257, atoms - 1))
        p = np.diff(np.concatenate([[0], cuts, [256]])) / 256
        gamma = float(rng.choice([1.0, 0.5, 2.0, np.exp(rng.normal()), np.exp(3 * rng.normal())]))
        yield p, n, gamma


def laws(largest=40):
    weights = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=largest)
    return weights.map(lambda w: np.array(w) / math.fsum(w))


def blocks(p, sizes):
    """The array `p` as an iterator of blocks of these sizes, over and over."""
    start, turn = 0, 0
    while start < p.size:
        yield p[start : start + sizes[turn % len(sizes)]]
        start += sizes[turn % len(sizes)]
        turn += 1


# --- the number ----------------------------------------------------------------------------------


def test_max_leakage_equals_enumeration_of_all_histograms_and_attacks():
    for p, n, gamma in random_cases(200):
        exact = referee.max_leakage_by_enumeration([Fraction(x) for x in p], n, Fraction(gamma))
        value = max_leakage(p, n, gamma=gamma)
        assert abs(value - float(exact)) <= 1e-14 * float(exact), (p, n, gamma)


def test_tiny_leakages_keep_their_digits_where_the_printed_formula_loses_them():
    # Uniform on ten atoms: AGP25 eq 17, which subtracts, is wrong by factors of 3.7 to 1e26 here.
    p = np.full(10, 0.1)
    for n, gamma, size in [(2000, 0.5, 2.06e-18), (200, 3.0, 6.2e-17), (2000, 2.0, 4.3e-43)]:
        value = max_leakage(p, n, gamma=gamma)
        assert relative_error(value, referee.max_leakage(p, n, gamma)) < 1e-13
        assert value == pytest.approx(size, rel=0.01)
    c, n, gamma = 0.5 * 2000 * 0.1, 2000, 0.5
    binomial = stats.binom(n, 0.1)
    j = np.arange(n + 1)
    printed = 10 * np.sum(binomial.pmf(j) * abs(j - c)) / (2 * gamma * n) - abs(1 - 1 / gamma) / 2
    assert abs(printed / 2.06e-18 - 1) > 10


@pytest.mark.parametrize("n", [1, 2, 99, 10**6, 10**12, 2**53])
@pytest.mark.parametrize("gamma", [0.25, 1.0, 1.0000001, 3.0])
def test_max_leakage_agrees_with_ball_arithmetic_for_every_size(n, gamma):
    p = np.array([0.5, 0.3, 0.15, 0.04, 0.009, 0.001 - 1e-13, 1e-13])
    truth = referee.rounded(referee.max_leakage(p, n, gamma))[0]
    bound = 4 * EPS if gamma == 1 else 1e-13
    value = max_leakage(p, n, gamma=gamma)
    assert value == truth < 1e-290 or relative_error(value, truth) <= bound


def test_one_atom_leaks_nothing_and_one_row_is_recognised():
    assert max_leakage([1.0], 5) == 0
    assert max_leakage([0.25] * 4, 1) == pytest.approx(0.75)


def test_atoms_of_probability_zero_add_nothing():
    assert max_leakage([0.5, 0.0, 0.5, 0.0], 9) == max_leakage([0.5, 0.5], 9)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 1.7])
@pytest.mark.parametrize("n", [1, 30, 10**7])
def test_max_leakage_is_the_mean_of_the_atoms(n, gamma):
    p = dirichlet(1000)
    mean = math.fsum(p * atom_leakage(p, n, gamma=gamma))
    assert mean == pytest.approx(max_leakage(p, n, gamma=gamma), rel=1e-14)


def test_an_atom_leaks_the_total_variation_between_its_two_counts():
    # Target k: N_k is Binomial(n, p) out and 1 + Binomial(n-1, p) in.
    p, n = np.array([0.6, 0.25, 0.14, 0.01]), 37
    j = np.arange(n + 1)
    for probability, value in zip(p, atom_leakage(p, n), strict=True):
        out = stats.binom.pmf(j, n, probability)
        inside = stats.binom.pmf(j - 1, n - 1, probability)
        assert value == pytest.approx(abs(out - inside).sum() / 2, rel=1e-12)


def test_an_impossible_atom_has_the_limit_of_rare_ones():
    assert atom_leakage([1.0, 0.0], 50).tolist() == [0.0, 1.0]
    assert atom_leakage([1.0, 1e-300], 50)[1] == 1.0


@given(laws(), st.integers(1, 10**6), st.sampled_from([0.5, 1.0, 1.1, 4.0]))
def test_leakage_never_increases_with_n(p, n, gamma):
    assert max_leakage(p, n + 1, gamma=gamma) <= max_leakage(p, n, gamma=gamma) * (1 + 1e-12)


@given(laws(), st.integers(1, 10**4), st.floats(1.0, 20.0), st.floats(1.0, 5.0))
def test_leakage_falls_on_both_sides_of_the_balanced_game(p, n, gamma, factor):
    assert max_leakage(p, n, gamma=gamma * factor) <= max_leakage(p, n, gamma=gamma) + 1e-15
    assert max_leakage(p, n, gamma=1 / gamma / factor) <= max_leakage(p, n, gamma=1 / gamma) + 1e-15


@given(laws(), st.integers(1, 10**4), st.floats(0.05, 20.0), st.randoms())
def test_the_order_of_the_atoms_is_of_no_account(p, n, gamma, random):
    shuffled = p.copy()
    random.shuffle(shuffled)
    assume(abs(math.fsum(p) - 1) < 1e-9)
    assert max_leakage(shuffled, n, gamma=gamma) == max_leakage(p, n, gamma=gamma)


@given(laws(10), st.integers(1, 1000), st.integers(2, 20))
def test_merging_atoms_never_raises_leakage(p, n, groups):
    merged = np.bincount(np.arange(p.size) % groups, p)
    assert max_leakage(merged, n) <= max_leakage(p, n) * (1 + 1e-12)


def divergence(p, q, gamma):
    """D_gamma of two laws as lists of fractions (AGP25, eq 26)."""
    excess = sum(max(gamma * a - b, Fraction(0)) for a, b in zip(p, q, strict=True)) / gamma
    return max(Fraction(1), gamma) * (excess - max(1 - 1 / gamma, Fraction(0)))


@pytest.mark.parametrize("gamma", [Fraction(1, 4), Fraction(7, 8), Fraction(1), Fraction(3)])
def test_gamma_and_its_inverse_exchange_the_two_worlds(gamma):
    p, n = [Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)], 6
    out, inside = [], []
    for x in p:
        for j in range(n + 1):
            pmf = math.comb(n, j) * x**j * (1 - x) ** (n - j)
            out.append(x * pmf)
            inside.append(pmf * j / n)
    value = max_leakage([float(x) for x in p], n, gamma=float(gamma))
    assert value == pytest.approx(float(divergence(out, inside, gamma)), rel=1e-14)
    assert value == pytest.approx(float(divergence(inside, out, 1 / gamma)), rel=1e-14)


# --- what the papers have wrong -------------------------------------------------------------------


@pytest.mark.parametrize(("n", "remainder"), [(80, 1.06301e-3), (320, 1.42608e-8)])
def test_the_remainder_of_lemma_29_is_not_below_every_power_of_e(n, remainder):
    """AGP25 eq 44 drops |1 - 1/gamma| o(e^-n); what it drops is |1 - 1/gamma| sum p P(B > m)."""
    p, gamma = np.full(10, 0.1), 2.0
    m = math.floor(gamma * n * 0.1)
    closed_part = 10 * 0.1 * 0.9 * stats.binom.pmf(m, n - 1, 0.1)
    dropped = (closed_part - max_leakage(p, n, gamma=gamma)) / gamma
    assert dropped == pytest.approx(remainder, rel=1e-5)
    assert dropped == pytest.approx((1 - 1 / gamma) * stats.binom.sf(m, n, 0.1), rel=1e-9)
    assert dropped > 1e30 * math.exp(-n)


def leakage_of_the_sample_maximum(n, p, gamma):
    """All samples of n bits: D_gamma between (max, fresh bit) and (max, a bit of the sample)."""
    q = 1 - p
    out = [p * (1 - q**n), p * q**n, q * (1 - q**n), q * q**n]
    inside = [p, Fraction(0), q * (1 - q ** (n - 1)), q**n]
    return divergence(out, inside, gamma)


@pytest.mark.parametrize(
    ("gamma", "limit"),
    [(Fraction(1, 2), 0.3), (Fraction(1), 0.6), (Fraction(11, 10), 0.23), (Fraction(3, 2), 0.0)],
)
def test_the_maximum_of_bits_leaks_in_proportion_to_q_to_the_n(gamma, limit):
    """AGP25 Lemma 22 has o(q^n): it is p q^n, 2 p q^n, (1 - gamma q) q^n or 0."""
    p = Fraction(3, 10)
    for n in (10, 40, 80):
        exact = leakage_of_the_sample_maximum(n, p, gamma)
        assert float(exact / (1 - p) ** n) == pytest.approx(limit, abs=1e-12)
        assert float(exact) <= max_leakage([0.3, 0.7], n, gamma=float(gamma)) * (1 + 1e-12)


# --- forms of p, workers --------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [1.0, 1.3])
def test_results_have_the_same_bits_for_any_workers(gamma):
    p = dirichlet(3 * BLOCK + 17 if gamma == 1 else BLOCK + 17)
    n = [100, 10**9]
    one = max_leakage(p, n, gamma=gamma)
    assert np.array_equal(one, max_leakage(p, n, gamma=gamma, workers=2))
    assert np.array_equal(one, max_leakage(p, n, gamma=gamma, workers=-1))
    assert np.array_equal(one, max_leakage(iter([p]), n, gamma=gamma, workers=3))


@pytest.mark.parametrize("sizes", [[1], [7, 0, 100], [5000]])
def test_an_iterator_of_blocks_is_the_array_in_pieces(sizes):
    p = dirichlet(3000)
    n = np.array([[1, 10], [10**5, 2**53]])
    value = max_leakage(blocks(p, sizes), n)
    assert value.shape == (2, 2)
    np.testing.assert_allclose(value, max_leakage(p, n), rtol=EPS)
    np.testing.assert_array_equal(atom_leakage(blocks(p, sizes), 10), atom_leakage(p, 10))


def test_an_iterator_may_hand_out_one_buffer_over_and_over():
    p = dirichlet(5 * BLOCK)
    buffer = np.empty(BLOCK)

    def refilled():
        for start in range(0, p.size, BLOCK):
            buffer[:] = p[start : start + BLOCK]
            yield buffer

    assert max_leakage(refilled(), 1000, workers=3) == max_leakage(p, 1000)


def test_an_iterator_is_read_once_and_never_ahead_of_its_blocks():
    alive = []

    class Watched(np.ndarray):
        def __del__(self):
            alive.remove(id(self))

    def watched():
        for _ in range(50):
            block = np.full(1000, 1 / 50000).view(Watched)
            alive.append(id(block))
            yield block
            del block
            assert len(alive) <= 2

    assert max_leakage(watched(), 10) == pytest.approx(max_leakage([1 / 50000] * 50000, 10))


def test_a_memory_map_is_never_read_whole(tmp_path):
    p = dirichlet(2 * BLOCK)
    path = tmp_path / "p.f32"
    p.astype(np.float32).tofile(path)
    mapped = np.memmap(path, np.float32, "r")
    value = max_leakage(mapped, 1000, normalize=True)
    single = p.astype(np.float32).astype(np.float64)
    assert value == pytest.approx(max_leakage(single / math.fsum(single), 1000), rel=1e-14)


@pytest.mark.parametrize("name", [name for name, _ in zoo.layouts(np.ones(3))])
def test_arrays_of_any_layout_give_the_same_bits(name):
    p = dirichlet(101)
    array = dict(zoo.layouts(p))[name]
    before = array.copy()
    assert max_leakage(array, 50) == max_leakage(p, 50)
    np.testing.assert_array_equal(atom_leakage(array, 50), atom_leakage(p, 50))
    assert zoo.is_untouched(before, array)


def test_containers_of_any_kind_give_the_same_bits():
    p = dirichlet(101)
    for name, values in [
        *zoo.containers(p),
        ("pandas", pd.Series(p, index=range(7, 108))),
        ("polars", pl.Series(p)),
    ]:
        assert max_leakage(values, 50) == max_leakage(p, 50), name


def test_float32_and_integers_are_normalized_in_double_precision():
    counts = np.array([3, 5, 9, 1000])
    value = max_leakage(counts / 1017, 20)
    for array in (counts, counts.astype(np.int32), counts.astype(np.float32), counts.tolist()):
        assert max_leakage(array, 20, normalize=True) == pytest.approx(value, rel=1e-15)


def test_probabilities_of_float32_are_divided_by_their_sum_in_any_container():
    p = (dirichlet(20_001) * (1 + 2e-7)).astype(np.float32)
    exact = p.astype(np.float64)
    assert abs(math.fsum(exact) - 1.0) > 1e-9
    value = max_leakage(exact / math.fsum(exact), 50)
    kinds = "float32", "Float32", "float[pyarrow]"
    single = [p, p.astype(">f4"), pl.Series(p), *(pd.Series(p).astype(kind) for kind in kinds)]
    for values in single:
        assert max_leakage(values, 50) == pytest.approx(value, rel=1e-14)


def test_normalize_is_invariant_under_scaling():
    p = np.random.default_rng(2).random(5000)
    for scale in (1e-310, 1e-200, 1.0, 1e300):
        np.testing.assert_allclose(
            max_leakage(p * scale, 99, normalize=True),
            max_leakage(p, 99, normalize=True),
            rtol=1e-6 if scale < 1e-307 else 1e-14,
        )


def test_the_result_has_the_shape_of_n():
    p = [0.5, 0.3, 0.2]
    assert type(max_leakage(p, 10)) is float
    assert type(max_leakage(p, np.int32(10))) is float
    assert type(max_leakage(p, np.array(10))) is float
    assert max_leakage(p, np.array([], np.int64)).shape == (0,)
    assert max_leakage(p, np.ones((2, 0, 3), np.int64)).shape == (2, 0, 3)
    value = max_leakage(p, np.arange(1, 31, dtype=np.uint8).reshape(2, 3, 5))
    assert value.shape == (2, 3, 5)
    assert value[1, 2, 4] == max_leakage(p, 30)


def test_bounds_of_an_array_hold_its_rounding():
    p = dirichlet(50)
    for n in (3, 10**6):
        for gamma in (0.7, 1.0, 2.0):
            truth = referee.rounded(referee.max_leakage(p, n, gamma))[0]
            bounds = max_leakage_bounds(p, n, gamma=gamma)
            assert bounds.lower <= truth <= bounds.upper <= bounds.lower * (1 + 4e-13)
    assert max_leakage_bounds(p, [3, 4]).lower.shape == (2,)


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_bounds_hold_what_underflows():
    """Ten thousand fair bits leak about e^-4900 at gamma = 1.9; one atom leaks nothing."""
    for n in (1400, 10**4):
        bounds = max_leakage_bounds([0.5, 0.5], n, gamma=1.9)
        assert (bounds.lower, bounds.upper) == (0.0, 1e-290)
    assert max_leakage_bounds([0.5, 0.5], 1300, gamma=1.9).lower > 1e-290
    assert max_leakage_bounds([1.0], 5).upper == 0.0


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_max_leakage_within_a_second(workers):
    setup = "import numpy as np\nfrom mialeak.discrete import max_leakage\np = np.full(10**6, 1e-6)"
    work = f"max_leakage(p, np.arange(10**6, 10**6 + 2000), gamma=1.1, workers={workers})"
    assert seconds_to_stop(setup, work) < 1


# --- samples needed -------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.6, 1.0, 1.5])
@pytest.mark.parametrize("size", [2, 3, 50, 4000])
@pytest.mark.parametrize("leakage", [0.3, 0.01, 1e-4])
def test_min_samples_is_the_first_n_that_leaks_little_enough(size, leakage, gamma):
    p = dirichlet(size, seed=size)
    n = min_samples(p, leakage, gamma=gamma)
    assert type(n) is int
    assert max_leakage(p, n, gamma=gamma) <= leakage
    assert n == 1 or max_leakage(p, n - 1, gamma=gamma) > leakage


@pytest.mark.parametrize("n", [1, 2, 17, 1000, 10**7])
def test_min_samples_undoes_max_leakage(n):
    p = dirichlet(20)
    assert min_samples(p, max_leakage(p, n)) == n


@pytest.mark.parametrize("gamma", [0.9, 1.0, 1.1])
def test_min_samples_tells_neighbouring_floats_apart(gamma):
    """Their logarithms are often one."""
    p = np.array([0.72221117, 0.27778883])
    for n in range(150, 170):
        value = max_leakage(p, n, gamma=gamma)
        for budget in (np.nextafter(value, 0), value, np.nextafter(value, 1)):
            found = min_samples(p, budget, gamma=gamma)
            assert max_leakage(p, found, gamma=gamma) <= budget
            assert max_leakage(p, found - 1, gamma=gamma) > budget


def test_min_samples_takes_the_first_of_several_with_the_same_leakage():
    # E|B/n - 1/2| is the same for n = 2 and 3.
    assert max_leakage([0.5, 0.5], [2, 3]) == pytest.approx(0.25, rel=EPS)
    assert max_leakage([0.5, 0.5], 2) == 0.25
    assert min_samples([0.5, 0.5], 0.25) == 2


def test_min_samples_of_a_countable_law():
    law = stats.geom(0.3)
    n = min_samples(law, 0.02)
    assert max_leakage(law, n) <= 0.02 < max_leakage(law, n - 1)


def test_min_samples_at_the_edge_of_the_domain():
    p = [0.5, 0.5]
    least = max_leakage(p, 2**53)
    assert min_samples(p, least * 1.001) <= 2**53
    with pytest.raises(ValueError, match=r"leakage must be reached with at most 2\*\*53 rows"):
        min_samples(p, least * 0.999)
    assert min_samples([1.0], 1e-300) == 1


def test_no_atom_leaks_more_than_one_by_rounding():
    rare = 10.0 ** np.linspace(-18.0, -4.0, 500)
    law = np.append(rare, 1.0 - rare.sum())
    for gamma in 10.0 ** np.linspace(-8.0, 0.0, 20):
        assert atom_leakage(law, 30, gamma=gamma).max() <= 1.0
