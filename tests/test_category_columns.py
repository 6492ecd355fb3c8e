"""Categories of one variable, and both alleles of a site, as columns that are independent."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from mialeak import exact_mean_tradeoff, laws, leakage_score, mean_tradeoff
from mialeak.datasets import load_genotypes

GENOTYPES = load_genotypes().counts[:503].astype(float)
P = GENOTYPES.mean(axis=0) / 2
SHARES = np.array([0.6, 0.3, 0.1])
MATRIX = np.diag(SHARES) - np.outer(SHARES, SHARES)


def said(function, *arguments):
    """The warnings."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        function(*arguments)
    return " ".join(str(each.message) for each in met)


@pytest.mark.parametrize("place", range(3))
def test_shares_of_categories_have_a_covariance(place):
    """The released count of the category of the target is binomial: an exact distance."""
    target, count = np.eye(3)[place], np.arange(201)
    out, others = binom.pmf(count, 200, SHARES[place]), binom.pmf(count[:-1], 199, SHARES[place])
    exact = 0.5 * np.abs(out - np.append(0.0, others)).sum()
    assert mean_tradeoff(target, SHARES, MATRIX, 200).advantage == pytest.approx(exact, rel=3e-3)
    rest = mean_tradeoff(target[:2], SHARES[:2], MATRIX[:2, :2], 200)
    assert rest.advantage == pytest.approx(exact, rel=3e-3)
    variances = SHARES * (1 - SHARES)
    for kind in (np.float64, np.int64, bool):
        for cov in (variances, np.diag(variances)):
            message = said(mean_tradeoff, target.astype(kind), SHARES, cov, 200)
            assert "pass cov=np.diag(p) - np.outer(p, p) with p = mean" in message
    assert "atom_leakage" in said(exact_mean_tradeoff, target, laws.Bernoulli(SHARES), 200)
    assert "adds up to 1" in said(leakage_score, np.eye(3), SHARES, variances, 200)
    with pytest.warns(UserWarning, match="adds up") as met:
        wrong = mean_tradeoff(target, SHARES, variances, 200).advantage
    assert len(met) == 1
    assert wrong > 1.09 * exact


@pytest.mark.parametrize("order", ["one after the other", "the others at the end"])
def test_both_alleles_of_each_site_are_counted_twice(order):
    def both(a, b):
        together = np.stack([a, b], axis=-1 if order == "one after the other" else 0)
        return together.ravel()

    target, cov = GENOTYPES[0], 2 * P * (1 - P)
    with pytest.warns(UserWarning, match="leave one of the two out"):
        twice = mean_tradeoff(both(target, 2 - target), both(2 * P, 2 - 2 * P), both(cov, cov), 503)
    once = mean_tradeoff(target, 2 * P, cov, 503)
    assert float(twice.mu) == pytest.approx(2**0.5 * float(once.mu))
    law = laws.Genotype(both(P, 1 - P))
    assert "leave one of the two out" in said(
        exact_mean_tradeoff, both(target, 2 - target), law, 503
    )


def test_copies_of_three_alleles_and_categories_of_two_variables():
    p = np.array([0.25, 0.4, 0.35])
    target, cov = [0.0, 1.0, 1.0], 2 * p * (1 - p)
    assert "pass cov=2 * (np.diag(p) - np.outer(p, p)) with p = mean / 2" in said(
        mean_tradeoff, target, 2 * p, cov, 200
    )
    assert "mean_tradeoff" in said(exact_mean_tradeoff, target, laws.Genotype(p), 200)
    two = np.array([0.451, 0.549, 0.2, 0.5, 0.3])
    rows = [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert "the covariance matrix of all" in said(mean_tradeoff, rows, two, two * (1 - two), 200)
    rows[1][-1] = 1
    assert said(mean_tradeoff, rows, two, two * (1 - two), 200) == ""


def test_other_columns_have_no_warning():
    """With covariances, one column fewer, other targets, halves, and few digits of two columns."""
    target, cov = np.array([1.0, 0.0, 0.0]), SHARES * (1 - SHARES)
    assert said(mean_tradeoff, target, SHARES, MATRIX, 200) == ""
    assert said(mean_tradeoff, target[:2], SHARES[:2], cov[:2], 200) == ""
    for other in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.3, 0.2], [[1, 0, 0], [1, 1, 0]]):
        assert said(mean_tradeoff, other, SHARES, cov, 200) == ""
    assert said(mean_tradeoff, [1.0, 0.0], [0.25, 0.75], [3 / 16, 3 / 16], 200) == ""
    assert said(mean_tradeoff, np.tile([1.0, 0.0], 9), np.full(18, 0.5), np.full(18, 0.25), 9) == ""
    assert said(mean_tradeoff, [0.0, 1.0], [-0.4, 1.4], [1.0, 1.0], 200) == ""
    rng = np.random.default_rng(35)
    for _ in range(300):
        p = rng.uniform(0.05, 0.95, int(rng.integers(2, 12))).round(6)
        bits, row = (rng.random(p.size) < p).astype(float), rng.binomial(2, p).astype(float)
        assert said(mean_tradeoff, bits, p, p * (1 - p), 200) == ""
        assert said(mean_tradeoff, row, 2 * p, 2 * p * (1 - p), 200) == ""
