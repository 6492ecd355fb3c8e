"""What stands in place of mean counts and frequencies of genotypes; and real panels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.laws import Genotype
from mialeak.means import leakage_score, mean_tradeoff
from mialeak.scores import genotype_score

SAYS = r"releases must be (mean counts of alleles|means of rows); all \d+ are 0 or 1"


@pytest.mark.parametrize("columns", [2, 5, 8, 10, 12, 14, 30])
@pytest.mark.parametrize("n", [30, 200])
def test_answers_of_a_beacon_are_refused(columns, n):
    """Also of rare alleles, few of which are present."""
    rng = np.random.default_rng(columns)
    for share in (0.002, 0.02, 0.1):
        p = rng.uniform(0.2 * share, share, columns)
        sample = rng.binomial(2, p, (n, columns))
        sample[0, 0] = max(sample[0, 0], 1)
        answers = (sample > 0).any(axis=0).astype(float)
        with pytest.raises(ValueError, match=SAYS):
            genotype_score(answers, sample[0], p, n)
        with pytest.raises(ValueError, match=SAYS):
            genotype_score(answers, sample[0], p, n, decimals=2)
        with pytest.raises(ValueError, match=SAYS):
            Genotype(p).log_likelihood_ratio(answers, sample[0], n)


def test_alleles_that_are_fixed_or_absent_in_a_sample_are_taken():
    """In windows of real panels: means of 0 and 2, and some of 1 beside others."""
    panel = load_genotypes()
    rng = np.random.default_rng(3)
    p = panel.counts.mean(axis=0) / 2.0
    for size in (2, 5, 12, 40, 400):
        for _ in range(60):
            rows = rng.choice(len(panel.counts), size, replace=False)
            sites = rng.choice(len(p), rng.integers(2, 15), replace=False)
            sample = panel.counts[np.ix_(rows, sites)].astype(float)
            inside = np.clip(p[sites], 0.5 / len(panel.counts), 1.0 - 0.5 / len(panel.counts))
            assert np.isfinite(genotype_score(sample.mean(axis=0), sample[0], inside, size))


def test_a_mean_of_one_is_taken_where_chance_explains_it():
    for p, n in ((0.5, 1000), (0.45, 100), (0.3, 40), (0.01, 9), (0.9, 1000)):
        assert np.isfinite(genotype_score([0.0, 1.0], [0, 1], [1e-4, p], n))
    with pytest.raises(ValueError, match=r"in column 1\. Of answers"):
        genotype_score([0.0, 1.0], [0, 1], [1e-4, 0.3], 200)


@pytest.mark.parametrize("score", [leakage_score, mean_tradeoff])
def test_frequencies_of_rarer_alleles_are_named_by_one_target(score):
    """By six standard deviations of the copies of unlinked sites; not those of ALT."""
    rng = np.random.default_rng(12)
    p = rng.uniform(0.05, 0.95, 120)
    people = rng.binomial(2, p, (40, p.size))
    rarer = np.minimum(p, 1.0 - p)
    for target in people[:8]:
        for law in (2.0 * rarer * (1.0 - rarer), np.diag(2.0 * rarer * (1.0 - rarer))):
            with pytest.warns(UserWarning, match="copies.*those of the rarer"):
                score(target, 2.0 * rarer, law, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in people:
            score(target, 2.0 * p, 2.0 * p * (1.0 - p), 500)
        for target in rng.binomial(2, rarer, people.shape):
            score(target, 2.0 * rarer, 2.0 * rarer * (1.0 - rarer), 500)
