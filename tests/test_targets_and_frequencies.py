"""Targets and frequencies that do not go together, at every function that takes both.

The truth is how the genotypes were drawn: each target is a person of the release or of the same
population, and an advantage with the right frequencies is that of `exact_mean_tradeoff`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak import exact_mean_tradeoff, leakage_score, mean_tradeoff, samples_for_leakage
from mialeak.datasets import load_genotypes
from mialeak.games import FixedTargetGame
from mialeak.laws import Genotype
from mialeak.scores import covariance_score, genotype_score

N = 1000


def moments(p):
    return 2.0 * p, 2.0 * p * (1.0 - p)


#: Function of a target, frequencies and a release of N rows.
CALLS = {
    "mean_tradeoff": lambda x, p, _: mean_tradeoff(x, *moments(p), N),
    "leakage_score": lambda x, p, _: leakage_score(x, *moments(p), N),
    "samples_for_leakage": lambda x, p, _: samples_for_leakage(x, *moments(p), 0.05),
    "covariance_score": lambda x, p, mean: covariance_score(mean, x, *moments(p), N),
    "exact_mean_tradeoff": lambda x, p, _: exact_mean_tradeoff(x, Genotype(p), N),
    "genotype_score": lambda x, p, mean: genotype_score(mean, x, p, N),
    "FixedTargetGame": lambda x, p, _: FixedTargetGame(x, Genotype(p), N),
}


def drawn(sites, seed=0):
    """Frequencies, the genotypes of N persons and their mean, at unlinked sites."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, sites)
    persons = rng.binomial(2, p, (N, sites)).astype(float)
    return p, persons, persons.mean(axis=0)


@pytest.mark.parametrize("sites", [127, 1000])
@pytest.mark.parametrize("name", CALLS)
def test_frequencies_of_rarer_alleles_are_warned_of(name, sites):
    p, persons, mean = drawn(sites)
    rarer = np.minimum(p, 1.0 - p)
    with pytest.warns(UserWarning, match="If the frequencies are those of the rarer allele"):
        CALLS[name](persons[0], rarer, np.minimum(mean, 2.0 - mean))


@pytest.mark.parametrize("sites", [127, 300, 1000])
@pytest.mark.parametrize("name", CALLS)
def test_haplotypes_beside_the_law_of_genotypes_are_refused(name, sites):
    for seed in range(3):
        p, _, mean = drawn(sites, seed)
        haplotype = np.random.default_rng(100 + seed).binomial(1, p).astype(float)
        with pytest.raises(ValueError, match=r"as of haplotypes|p / 2 is more likely"):
            CALLS[name](haplotype, p, mean)


@pytest.mark.parametrize("name", CALLS)
def test_right_targets_pass_in_silence(name):
    """Of both kinds: any allele counted, and the rarer one counted by targets and frequencies."""
    p, persons, mean = drawn(200)
    turned = p > 0.5
    for k in range(20):
        CALLS[name](persons[k], p, mean)
        folded = np.where(turned, 2.0 - persons[k], persons[k])
        rarer, release = np.where(turned, 1.0 - p, p), np.where(turned, 2.0 - mean, mean)
        CALLS[name](folded, rarer, release)


def test_real_people_with_the_rarer_alleles_counted_are_seldom_warned_of():
    """At sites that show ancestry, 30 of 2,504 people of five continents: by these, most differ."""
    data = load_genotypes().counts.astype(float)
    p = data.mean(axis=0) / 2.0
    folded, rarer = np.where(p > 0.5, 2.0 - data, data), np.minimum(p, 1.0 - p)
    warned = 0
    for person in folded:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            covariance_score(np.empty((0, rarer.size)), person, *moments(rarer), N)
        warned += bool(caught)
    assert warned <= 50
