"""Merging atoms: optimal against brute force, bounds, greedy, labels; bins of continuous data."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special, stats

from mialeak import max_leakage
from mialeak.datasets import load_adult
from mialeak.discrete import diversity, shannon_entropy
from mialeak.mechanisms import _coarsen, _merging, coarsen, discretize


def merged(p, labels):
    return np.minimum([math.fsum(p[labels == g]) for g in range(labels.max() + 1)], 1.0)


def brute_force(p, n, budget):
    """Most groups of neighbours within the budget, and the most entropy of so many."""
    edges = np.append(0.0, np.cumsum(p))
    mass = np.clip(edges[:, None] - edges, 0.0, 1.0)
    cost = mass * (1 - mass) * stats.binom.pmf(np.floor(n * mass), n - 1, mass)
    entropy = -special.xlogy(mass, mass)
    best = (1, 0.0)
    for mask in range(1, 2 ** (len(p) - 1)):
        ends = [0, *(i + 1 for i in range(len(p) - 1) if mask >> i & 1), len(p)]
        if sum(cost[j, i] for i, j in pairwise(ends)) <= budget + 1e-12:
            best = max(best, (len(ends) - 1, sum(entropy[j, i] for i, j in pairwise(ends))))
    return best


#: A budget is met if the leakage is this close: it may be that of atoms added in another order.
TIE = 1e-12
ATOMS = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=9).map(lambda x: np.array(x) / sum(x))


@settings(max_examples=80, deadline=None)
@given(ATOMS, st.integers(1, 3000), st.floats(0.0, 1.1))
def test_ordered_coarsening_is_what_brute_force_finds(p, n, share):
    budget = min(share * max_leakage(p, n), 1.0)
    found = coarsen(p, n, budget, ordered=True)
    groups, entropy = brute_force(p, n, budget)
    assert found.groups == groups
    assert found.optimal
    assert found.most_groups == groups
    assert found.entropy == pytest.approx(entropy, abs=1e-9)
    assert found.most_entropy == pytest.approx(entropy, abs=1e-9)
    assert found.leakage <= budget * (1 + TIE)
    assert found.leakage == pytest.approx(max_leakage(merged(p, found.labels), n), abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(ATOMS, st.integers(1, 3000), st.floats(0.0, 1.1))
def test_unordered_coarsening_fits_and_says_that_it_is_greedy(p, n, share):
    budget = min(share * max_leakage(p, n), 1.0)
    found = coarsen(p, n, budget)
    assert found.leakage <= budget * (1 + TIE)
    assert not found.ordered
    assert found.optimal == (found.groups == len(p))
    assert found.entropy == pytest.approx(shannon_entropy(merged(p, found.labels)))
    assert found.labels[0] == 0
    assert np.all(np.diff(np.unique(found.labels)) == 1)


def hill(atoms):
    x = np.arange(atoms)
    p = np.exp(-(((x - 0.35 * atoms) / (0.25 * atoms)) ** 2)) + 0.001
    return p / p.sum()


def test_the_number_of_groups_is_optimal_up_to_a_thousand_atoms_and_beyond_it_is_bounded():
    """The Lagrangian, tried on atoms for which the truth is known."""
    for atoms, n, share in [(60, 1000, 0.3), (60, 1000, 0.9), (200, 10**5, 0.6)]:
        p = hill(atoms)
        budget = share * max_leakage(p, n)
        exact = coarsen(p, n, budget, ordered=True)
        assert exact.optimal
        cuts, most = _merging.path_cuts(p, n, budget)
        assert len(cuts) + 1 <= exact.groups <= most
        assert most - len(cuts) - 1 <= 3


def test_more_than_a_thousand_atoms_fit_and_have_a_proved_gap():
    p = hill(1001)
    budget = 0.5 * max_leakage(p, 10**5)
    found = coarsen(p, 10**5, budget, ordered=True)
    assert found.leakage <= budget
    assert (np.diff(found.labels) >= 0).all()
    assert found.groups <= found.most_groups <= found.groups + 5
    assert found.optimal == (found.groups == found.most_groups)


def test_what_search_gives_up_leaves_a_proved_bound(monkeypatch):
    p = hill(60)
    budget = 0.7 * max_leakage(p, 1000)
    exact = coarsen(p, 1000, budget, ordered=True)
    assert exact.most_entropy == pytest.approx(exact.entropy)
    monkeypatch.setattr(_merging, "_NODES", 1)
    monkeypatch.setattr(_merging, "_WORK", 1.0)
    found = coarsen(p, 1000, budget, ordered=True)
    assert found.groups == exact.groups
    assert found.leakage <= budget
    assert found.entropy <= exact.entropy + 1e-12
    assert exact.entropy <= found.most_entropy + 1e-12


def test_the_ends_of_the_budget():
    p = hill(30)
    raw = max_leakage(p, 100)
    for ordered in (False, True):
        untouched = coarsen(p, 100, raw, ordered=ordered)
        assert untouched.groups == 30
        assert untouched.merges == 0
        assert untouched.optimal
        assert untouched.leakage == pytest.approx(raw, rel=1e-14)
        nothing = coarsen(p, 100, 0.0, ordered=ordered)
        assert nothing.groups == 1
        assert nothing.leakage == 0.0
        assert nothing.entropy == 0.0
    assert coarsen([1.0], 5, 0.0).labels.tolist() == [0]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("weights", [[0, 9, 1, 7, 9, 9], [0, 3, 4, 4, 4], [1, 2, 0, 4, 5, 0]])
def test_atoms_of_probability_zero_beside_one_group_leak_nothing(weights, ordered):
    # All other atoms together have the mass 1, of which their sum differs by rounding.
    found = coarsen(np.array(weights) / sum(weights), 1_000, 0.0, ordered=ordered)
    assert found.leakage == 0.0
    assert not ordered or found.groups == found.most_groups == 1 + (0 in (weights[0], weights[-1]))


def test_leakage_falls_with_every_merge():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.dirichlet(np.ones(6))
        n = int(rng.integers(1, 500))
        assert max_leakage(np.append(p[:4], p[4] + p[5]), n) <= max_leakage(p, n) + 1e-15


def test_labels_serve_a_data_frame():
    pandas = pytest.importorskip("pandas")
    age = load_adult().columns["age"]
    values, codes, counts = np.unique(age, return_inverse=True, return_counts=True)
    p = counts / counts.sum()
    found = coarsen(p, len(age), 0.3 * max_leakage(p, len(age)), ordered=True)
    frame = pandas.DataFrame({"age": age})
    frame["group"] = frame["age"].map(found.mapping(values))
    assert np.array_equal(frame["group"].to_numpy(), found.labels[codes])
    shares = frame["group"].value_counts(normalize=True).sort_index().to_numpy()
    assert max_leakage(shares, len(age)) == pytest.approx(found.leakage)
    for (_, before), (_, after) in pairwise(frame.groupby("group")["age"]):
        assert before.max() < after.min()
    assert set(found.to_dict()) >= {"labels", "leakage", "optimal", "most_groups"}
    assert "optimal=True" in repr(found)


@pytest.mark.parametrize("atoms", [40, _merging._MOST_PAIRS + 1])
def test_pairs_are_tried_for_few_atoms_only(atoms, monkeypatch):
    tried = []
    pairs = _merging._best_pairs

    def watched(*given):
        tried.append(True)
        return pairs(*given)

    monkeypatch.setattr(_merging, "_best_pairs", watched)
    p = np.random.default_rng(1).dirichlet(np.ones(atoms))
    found = coarsen(p, 500, 0.8 * max_leakage(p, 500))
    assert found.leakage <= 0.8 * max_leakage(p, 500)
    assert bool(tried) == (atoms <= _merging._MOST_PAIRS)


def test_ordered_atoms_change_method_at_a_thousand():
    assert _coarsen._MOST_EXACT == 1000
    p = np.full(1000, 1e-3)
    found = coarsen(p, 100, 0.9 * max_leakage(p, 100), ordered=True)
    assert found.optimal


# --- continuous columns ------------------------------------------------------------------------


@pytest.fixture
def x():
    pytest.importorskip("sklearn")
    return np.random.default_rng(0).gamma(2.0, size=2000)


@pytest.mark.parametrize("method", ["kmeans", "quantile", "uniform"])
def test_bins_are_intervals_that_other_data_can_be_put_into(x, method):
    found = discretize(x, 8, method=method)
    assert np.array_equal(found.transform(x), found.labels)
    assert len(found.p) == 8
    np.testing.assert_allclose(found.p, np.bincount(found.labels) / len(x), rtol=1e-15)
    assert found.leakage == max_leakage(found.p, len(x))
    order = np.argsort(x)
    assert (np.diff(found.labels[order]) >= 0).all()
    assert found.transform([-1.0, 1e9]).tolist() == [0, 7]
    if method == "quantile":
        assert np.ptp(found.p) < 2e-3


def test_a_budget_is_met_by_as_many_bins_as_fit(x):
    found = discretize(x, leakage=0.05, method="quantile", n=500)
    assert found.leakage <= 0.05
    assert found.n == 500
    more = discretize(x, len(found.p) + 1, method="quantile", n=500)
    assert more.leakage > 0.05
    assert len(discretize(x, leakage=0.0, method="quantile").p) == 1
    tied = discretize(np.repeat([1.0, 2.0], 50), 10, method="quantile")
    assert len(tied.p) <= 2


def test_many_rows_are_clustered_in_batches_and_near_to_their_centres():
    rng = np.random.default_rng(4)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    own = rng.integers(0, 3, 20_001)
    found = discretize(centres[own] + rng.normal(0.0, 0.5, (len(own), 2)), 3, rng=0)
    pairs = np.unique(np.stack([own, found.labels]), axis=1)
    assert pairs.shape == (2, 3)  # one label for each centre


def test_several_columns_are_clustered(x):
    pairs = x.reshape(-1, 2)
    found = discretize(pairs, 6, rng=0)
    assert found.labels.shape == (1000,)
    assert len(found.p) == 6
    assert np.array_equal(discretize(pairs, 6, rng=0).labels, found.labels)
    assert discretize(pairs, leakage=0.02, rng=0).leakage <= 0.02
    assert found.to_dict()["kind"] == "estimate"


def test_bins_can_be_sent_to_another_process(x):
    for found, data in (
        (discretize(x, 5), x),
        (discretize(x.reshape(-1, 2), 5, rng=0), x.reshape(-1, 2)),
        (discretize(x, 1), x),
    ):
        same = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(same.transform(data), found.labels)


@pytest.mark.parametrize("columns", [1, 2])
def test_every_bin_that_other_data_can_fall_in_has_a_share(columns):
    """Of clusters of a few distinct rows some have none, maybe the last."""
    x = np.random.default_rng(1).integers(0, 3, (40, columns)).astype(float)
    elsewhere = np.random.default_rng(2).normal(0.0, 3.0, (200, columns))
    for data in (x, x + 1e15):
        for bins in (2, 5, 18, 25):
            found = discretize(data, bins, rng=0)
            assert found.transform(elsewhere).max() < len(found.p)
            assert found.transform(elsewhere + 1e15).max() < len(found.p)
            np.testing.assert_array_equal(found.transform(data), found.labels)


def test_discretised_digits_leak_a_part_of_the_bound_and_still_teach():
    """Table 1 of [AGP25] in small: clusters of images, accuracy, C_K, exact leakage, the bound."""
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    n, last = 800, (0.0, 0.0)
    for clusters in (5, 10, 20):
        found = discretize(images[:400], clusters, n=n, rng=0)
        codes = found.transform(images[400:])
        learned, tested = slice(0, n), slice(n, None)
        votes = np.zeros((clusters, 10))
        np.add.at(votes, (codes[learned], labels[400:][learned]), 1)
        accuracy = np.mean(votes.argmax(axis=1)[codes[tested]] == labels[400:][tested])
        p = np.bincount(codes, minlength=clusters) / len(codes)
        leakage, bound = max_leakage(p, n), diversity(p) / (2 * math.sqrt(n))
        assert 0.73 * bound < leakage < 0.85 * bound  # 2 x .3663 and 2 x .4218
        assert accuracy > last[0]
        assert leakage > last[1]
        last = accuracy, leakage
    assert last[0] > 0.75
