"""A probability that rounding leaves above 1 counts as 1; a larger one is refused."""

import re

import numpy as np
import pytest

from mialeak.discrete import (
    atom_leakage,
    discrete_tradeoff,
    diversity,
    gini_simpson,
    max_leakage,
    max_leakage_bounds,
    shannon_entropy,
)
from mialeak.guarantees import divergence
from mialeak.laws import Bernoulli, Chain, Genotype
from mialeak.mechanisms import Pram, Round, mechanism_leakage
from mialeak.scores import bernoulli_score
from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff

EPS = 2.0**-52
HALVES = [0.5, 0.5]


def _chances(one):
    return lambda counts: np.tile([one, 0.0], (len(counts), 1))


#: Each computes a number from the probabilities `one` and 0.
COMPUTED = {
    "p of max_leakage": lambda one: max_leakage([one, 0.0], 5),
    "blocks": lambda one: max_leakage(iter([[0.0], [one]]), 5),
    "several sizes": lambda one: max_leakage([0.0, one], [5, 6]),
    "p of atom_leakage": lambda one: atom_leakage([one, 0.0], 5),
    "p of max_leakage_bounds": lambda one: max_leakage_bounds([one, 0.0], 5).upper,
    "p of discrete_tradeoff": lambda one: discrete_tradeoff([one, 0.0], 5).power(0.3),
    "p of diversity": lambda one: diversity([one, 0.0]),
    "p of gini_simpson": lambda one: gini_simpson([one, 0.0]),
    "p of shannon_entropy": lambda one: shannon_entropy([one, 0.0]),
    "p_out of divergence": lambda one: divergence([one, 0.0], HALVES),
    "p_in of divergence": lambda one: divergence(HALVES, [[one, 0.0], HALVES]),
    "p_in of a curve": lambda one: PiecewiseTradeOff.from_laws(HALVES, [one, 0.0]).power(0.1),
    "fpr": lambda one: GaussianTradeOff(1.0).power(one),
    "p of mechanism_leakage": lambda one: mechanism_leakage(Round(3), [one, 0.0], 5).upper,
    "p of a mechanism": lambda one: Round(3).atom_leakage([0.0, one], 5),
    "mechanism(counts)": lambda one: mechanism_leakage(_chances(one), HALVES, 4).upper,
    "matrix of Pram": lambda one: Pram([[one, 0.0], [0.25, 0.75]]).matrix,
    "p of Bernoulli": lambda one: Bernoulli([one, 0.25]).p,
    "p of Genotype": lambda one: Genotype([one, 0.25]).p,
    "start of Chain": lambda one: Chain(one, [0.25], [0.5]).p,
    "after_one of Chain": lambda one: Chain(0.5, [0.25], [one]).p,
    "p of a score": lambda one: bernoulli_score([[1.0, 0.5]], [1, 1], [one, 0.5], 4),
}


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("above", [EPS, 8 * EPS])
def test_what_rounding_leaves_above_one_counts_as_one(name, above):
    result, expected = COMPUTED[name](1.0 + above), COMPUTED[name](1.0)
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("above", [9 * EPS, 1e-12])
def test_what_is_above_one_by_more_than_rounding_is_refused(name, above):
    with pytest.raises(ValueError, match=r"between 0 and 1|\[0, 1\]") as raised:
        COMPUTED[name](1.0 + above)
    assert re.search(r"got .* = 1\.0+[1-9]", str(raised.value))


def test_the_law_of_a_caller_keeps_its_bits():
    p = np.array([1.0 + EPS, 0.0])
    max_leakage(p, 5)
    divergence(p, HALVES)
    assert p[0] == 1.0 + EPS


def test_rounding_of_stochastic_matrices_passes():
    rng = np.random.default_rng(20)
    above = 0
    for _ in range(300):
        first, second = rng.dirichlet(np.ones(6), 6), np.zeros((6, 6))
        second[:, 0] = 1.0
        law = (rng.dirichlet(np.ones(6)) @ first) @ second
        above += law[0] > 1.0
        assert max_leakage(law, 10) <= 1e-14
    assert above > 10  # the rounding did occur


@pytest.mark.parametrize("workers", [1, 2])
def test_one_above_one_among_other_mistakes_is_not_named(workers):
    p = [1.0 + EPS, -0.25]
    with pytest.raises(ValueError, match=r"got p\[1\] = -0.25"):
        max_leakage(p, 5, workers=workers)
