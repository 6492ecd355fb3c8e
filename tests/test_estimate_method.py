"""What the estimate of leakage rests on: identities, the fitted law, the program of the bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from populations import draw, two_sizes, zipf
from scipy import stats
from scipy.optimize import linprog

from mialeak.tables import _interior_point, _interval, estimate_max_leakage
from mialeak.tables._interval import _baseline, _Scores
from mialeak.tables._sampling import LARGEST_NODE, binomial_pmf, complete, leakage_at

GAMMAS = [0.2, 0.5, 1.0, 1.7, 5.0]


# The leakage of one atom


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_leakage_of_an_atom_is_the_divergence_of_its_count_in_the_two_worlds(n, gamma):
    weight = Fraction(gamma)
    for p in (Fraction(1, 50), Fraction(3, 7), Fraction(1, 2), Fraction(9, 10)):

        def pmf(j, trials, p=p):
            return math.comb(trials, j) * p**j * (1 - p) ** (trials - j) if j >= 0 else 0

        out = [pmf(j, n) for j in range(n + 1)]
        inside = [pmf(j - 1, n - 1) for j in range(n + 1)]
        pairs = zip(out, inside, strict=True)
        if weight >= 1:
            truth = sum(max(q - weight * o, 0) for o, q in pairs)
        else:
            truth = sum(max(o - q / weight, 0) for o, q in pairs)
        value = leakage_at(np.array([float(p)]), n, gamma)[0]
        assert value == pytest.approx(float(truth), abs=1e-15)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_leakage_falls_with_the_probability_of_the_atom(n, gamma):
    p = np.unique(np.r_[np.geomspace(1e-9, 1, 2000), np.arange(1, n) / (gamma * n)])
    leakage = leakage_at(p[p <= 1], n, gamma)
    assert np.all(np.diff(leakage) <= 1e-15)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_leakage_of_an_atom_runs_from_1_to_0(gamma):
    assert leakage_at(np.array([0.0, 1e-310, 1.0]), 100, gamma).tolist() == [1, 1, 0]


# What a sample shows of a law


@pytest.mark.parametrize("n", [0, 1, 39, 10**12])
def test_binomial_pmf_is_scipys(n):
    p = np.array([0.0, 1e-12, 1e-3, 0.5, 0.999, 1.0])
    count = min(n + 1, 50)
    expected = stats.binom.pmf(np.arange(count)[:, None], n, p)
    assert binomial_pmf(count, n, p) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_average_score_of_the_rows_shows_the_mixing_law_without_bias():
    p, n = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 4
    score = [Fraction(3), Fraction(-1), Fraction(5), Fraction(2)]
    mean = Fraction(0)
    for rows in itertools.product(range(3), repeat=n):
        probability = math.prod(p[k] for k in rows)
        mean += probability * sum(score[rows.count(k) - 1] for k in rows) / n
    mixing = sum(
        q * sum(score[j] * math.comb(n - 1, j) * q**j * (1 - q) ** (n - 1 - j) for j in range(n))
        for q in p
    )
    assert mean == mixing


def test_completed_law_finds_the_weights_of_a_mixture():
    law = complete(draw(two_sizes(), 50_000, seed=1))
    light = law.nodes < 1e-3
    assert law.shares[light].sum() == pytest.approx(0.5, abs=0.01)
    mean = law.shares[light] @ law.nodes[light] / law.shares[light].sum()
    assert mean == pytest.approx(1e-4, rel=0.02)


def test_completed_law_holds_all_the_mass():
    # The pull towards an even spread is worth two or three cells, of all light sizes.
    for counts in (np.ones(2_000, np.int64), np.array([1_000, 1_000]), draw(two_sizes(), 2_000, 9)):
        law = complete(counts)
        heavy = law.sizes[law.heavy] @ law.cells[law.heavy] / law.rows
        assert law.shares.sum() + heavy == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("size", [64, 65])
def test_light_cells_end_at_64_in_a_large_sample(size):
    law = complete(np.array([size, 1000]))
    assert law.heavy.tolist() == [size > 64, True]


@pytest.mark.parametrize("rows", [90, 91])
def test_all_cells_of_a_small_sample_are_light(rows):
    assert complete(np.array([rows])).heavy.tolist() == [rows > 90]


# The program behind the bounds


def test_majorant_solves_the_linear_program_when_nothing_varies():
    rng = np.random.default_rng(2)
    mean = rng.dirichlet(np.ones(6), 40)
    floor, cost = rng.normal(size=40), mean.mean(axis=0)
    x = _interior_point.cheapest_majorant(cost, np.zeros((7, 7)), 2.0, mean, floor)
    best = linprog(cost, A_ub=-mean, b_ub=-floor, bounds=(None, None))
    assert (mean @ x - floor).min() >= -1e-14
    assert best.fun <= cost @ x <= best.fun + 2e-3


def test_majorant_weighs_cost_against_standard_error():
    # minimise x + 2 sqrt(1 + 4 x**2) over x >= -9: x = -1 / (2 sqrt(15)).
    x = _interior_point.cheapest_majorant(
        np.array([1.0]), np.diag([1.0, 4.0]), 2.0, np.array([[1.0]]), np.array([-9.0])
    )
    value = x[0] + 2 * math.sqrt(1 + 4 * x[0] ** 2)
    least = math.sqrt(1 - 1 / 16) * 2
    assert least <= value <= least * 1.01


@pytest.mark.parametrize("steps", [1, 3])
def test_majorant_stays_above_even_when_the_steps_run_out(steps, monkeypatch):
    monkeypatch.setattr(_interior_point, "_STEPS", steps)
    rng = np.random.default_rng(3)
    mean, floor = rng.dirichlet(np.ones(4), 30), rng.normal(size=30)
    x = _interior_point.cheapest_majorant(np.ones(4), np.eye(5), 2.0, mean, floor)
    assert (mean @ x - floor).min() >= -1e-14


def one_size(atoms, rows):
    """A sample of `rows` rows in equal cells."""
    return draw(np.full(atoms, 1 / atoms), rows, seed=atoms)


SAMPLES = {
    "Zipf": lambda: draw(zipf(1.1, 10_000), 2_000, seed=4),
    "24.5 rows a cell": lambda: one_size(816, 20_000),
    "3.05 rows a cell": lambda: one_size(327_869, 1_000_000),
    "60.5 rows a cell": lambda: one_size(1_653, 100_000),
}


@pytest.mark.parametrize(("ratio", "gamma"), [(0.1, 1), (1, 1), (3, 1), (10, 1), (1, 0.4), (1, 3)])
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_bound_the_leakage_between_the_points_of_the_grid(sign, sample, ratio, gamma):
    law = complete(SAMPLES[sample]())
    n = int(ratio * law.rows)
    scores = _Scores(law, n, gamma)
    weights = scores.cheapest(sign, 2.2)
    arches = np.arange(1, 8 * 2_000) / (8 * ratio * gamma)
    scaled = np.union1d(np.linspace(0, math.sqrt(90), 3001) ** 2, arches)
    p = scaled[scaled <= 90] / law.rows
    pmf = binomial_pmf(scores.scores.shape[1], law.rows - 1, p)
    mean = scores.scores @ pmf
    mean[-1] += 1 - pmf.sum(axis=0)
    assert (weights @ mean - sign * leakage_at(p, n, gamma)).min() > -5e-6


@pytest.mark.parametrize(
    ("rows_a_cell", "ratio"),
    [(400, 0.1), (1_100, 0.03), (95.5, 1), (91, 1), (100, 0.3), (5_000, 0.01), (300, 0.01)],
)
def test_bias_of_the_baseline_in_heavy_cells_is_within_what_the_interval_allows(rows_a_cell, ratio):
    # 400 at a tenth: kinks 10 rows apart, and a standard deviation of 20.
    rows = 1_000_000
    atoms = round(rows / rows_a_cell)
    n = round(ratio * rows)
    counts = np.arange(1, 3 * int(rows_a_cell) + 60)
    chance = stats.binom.pmf(counts, rows, 1 / atoms)
    mean = atoms * chance @ _baseline(counts.astype(float), rows, n, 1.0)
    bias = mean - leakage_at(np.array([1 / atoms]), n, 1.0)[0]
    allowed = _Scores(complete(one_size(atoms, rows)), n, 1.0).heavy_bias
    assert abs(bias) < allowed


def test_means_of_scores_are_the_same_in_blocks_and_at_once():
    law = complete(draw(zipf(1.1, 500), 400, seed=8))
    scores = _Scores(law, 4000, 1.0)
    np.testing.assert_allclose(scores.all.mean(law.nodes), scores.fitted_mean, rtol=0, atol=1e-12)
    assert scores.all.grid[0] == 0
    assert scores.all.grid[-1] * 400 == LARGEST_NODE


def test_samples_of_one_size_share_nothing_that_depends_on_their_counts():
    samples = [draw(zipf(a, 500), 2_000, seed=3) for a in (0.5, 1.5)]
    first = [estimate_max_leakage(sample, 1_000) for sample in samples]
    others = [estimate_max_leakage(samples[0], 1_000, gamma=2.0), estimate_max_leakage(samples[0])]
    again = [estimate_max_leakage(sample, 1_000) for sample in samples[::-1]][::-1]
    _interval._all_scores.cache_clear()
    afresh = [estimate_max_leakage(sample, 1_000) for sample in samples]
    assert [each.high for each in first] == [each.high for each in again]
    assert [each.low for each in first] == [each.low for each in afresh]
    assert len({each.high for each in [*first, *others]}) == 4
