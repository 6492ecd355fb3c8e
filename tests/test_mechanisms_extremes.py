"""Mechanisms on laws and sizes where formulas break: rare atoms, single cells, near-lattices."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mialeak
from mialeak import mechanism_leakage
from mialeak.mechanisms import Geometric, Histogram, Mean, RandomRound, Round, Suppress


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_which_of_many_cells_are_empty_is_told_where_all_others_are_hidden(gamma):
    """13 cells, more than are pushed together, and no count that is shown but 0."""
    law = np.arange(1.0, 14.0) / 91
    found = mechanism_leakage(Suppress(10, zeros_shown=True), law, 3, gamma=gamma)
    truth = mechanism_leakage(lambda c: (c > 0) @ 2 ** np.arange(13), law, 3, gamma=gamma)
    assert float(found) == pytest.approx(float(truth), abs=1e-14)
    assert float(mechanism_leakage(Suppress(10), law, 3, gamma=gamma)) < 1e-14


def test_an_enclosure_of_what_hides_nothing_is_in_order():
    law = np.random.default_rng(0).dirichlet(np.ones(50), 20)
    for p in law:
        found = mechanism_leakage(Suppress(1), p, 1000)
        assert found.upper * (1 - 1e-12) < found.lower <= found.upper


@pytest.mark.parametrize("n", [10**6, 2**53])
@pytest.mark.parametrize("ours", [Round(5), RandomRound(3), Suppress(5), Geometric(1.0)])
def test_a_single_cell_of_many_rows_tells_nothing(ours, n):
    assert float(mechanism_leakage(ours, [1.0], n)) == 0.0


def test_a_large_base_takes_little_memory():
    found = mechanism_leakage(RandomRound(2**20), [0.5, 0.5], 1000)
    assert 0.0 < found.lower < found.upper == mialeak.max_leakage([0.5, 0.5], 1000)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ours", [Histogram(), Round(5), Suppress(2), Geometric(1.0)])
@pytest.mark.parametrize("rows", ["fixed", "poisson"])
@pytest.mark.parametrize("rare", [5e-324, 1e-310, 1e-300])
def test_atoms_next_to_impossible_do_no_harm(ours, rows, rare):
    law = [0.5, 0.5, rare]
    found = mechanism_leakage(ours, law, 10, rows=rows)
    assert float(found) == pytest.approx(
        float(mechanism_leakage(ours, [0.5, 0.5], 10, rows=rows)), abs=1e-15
    )
    many = mechanism_leakage(ours, [*np.full(30, 1 / 30), rare], 10, rows=rows)
    assert 0.0 < many.lower <= many.upper < 1.0


@pytest.mark.parametrize(
    ("step", "n"), [(1000, 1), (1000, 2), (1000, 100), (1000, 1000), (100, 10**4), (100, 10**5)]
)
def test_the_mean_of_two_far_values_and_a_rare_one_is_their_histogram(step, n):
    """Nearly a lattice of that step: the sum tells all counts while the rare one is below it."""
    law = [0.6, 0.4 - 0.1 / n, 0.1 / n]
    found = mechanism_leakage(Mean([0, step, 1]), law, n)
    error = 2.0**-52 * (30 + math.sqrt(n))
    assert float(found) == pytest.approx(mialeak.max_leakage(law, n), abs=error)
