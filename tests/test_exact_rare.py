"""Rare sites at plausible sizes, which were refused: truth by own sums and draws in log space."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mialeak import exact_mean_tradeoff
from mialeak.laws import Bernoulli


def test_fifty_equal_rare_columns_are_answered():
    """The two columns of ones summed over all counts, the sum of the 48 others drawn."""
    n, p, draws = 31634, 1e-3, 20_000
    target = np.zeros(50)
    target[:2] = 1.0
    curve = exact_mean_tradeoff(target, Bernoulli(np.full(50, p)), n)
    k = np.arange(1, 140)
    single, chance = np.log(k / (n * p)), stats.binom.pmf(k, n, p)
    ratio, weight = np.add.outer(single, single).ravel(), np.multiply.outer(chance, chance).ravel()
    counts = np.random.default_rng(1).binomial(n, p, (draws, 48))
    other = np.sort(np.log1p((n * p - counts) / (n * (1.0 - p))).sum(axis=1))
    above = np.append(np.cumsum(np.exp(other[::-1]))[::-1], 0.0) / draws
    for x in (-0.5, -0.1, 0.1, 0.3, 0.8, 1.5):
        place = np.searchsorted(other, x - ratio, side="right")
        # Draws move a small part of the law: what a standard error of theirs makes is below 1e-4.
        assert curve.sf(x) == pytest.approx(weight @ (1.0 - place / draws), abs=3e-4)
        assert curve.sf(x, "in") == pytest.approx((weight * np.exp(ratio)) @ above[place], abs=3e-4)
    assert curve.error < 1e-9
    assert 0.0 < curve.power(1e-3) < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_rare_sites_of_the_size_of_the_shipped_genotypes_are_answered(seed):
    """127 columns; two of these four draws were refused, with errors of 5 and 13 per cent."""
    rng = np.random.default_rng(seed)
    p = np.exp(rng.uniform(np.log(5e-4), np.log(0.05), 127))
    target = (rng.random(127) < p).astype(float)
    n, draws = 2504, 40_000
    curve = exact_mean_tradeoff(target, Bernoulli(p), n)
    counts = rng.binomial(n, p, (draws, 127))
    ratio = np.where(target == 1.0, 0.0, np.log1p((n * p - counts) / (n * (1.0 - p)))).sum(axis=1)
    own = target == 1.0
    with np.errstate(divide="ignore"):
        ratio += np.log(counts[:, own] / (n * p[own])).sum(axis=1)
    rises = np.maximum(np.expm1(ratio), 0.0)
    assert curve.error < 1e-9
    assert curve.advantage == pytest.approx(rises.mean(), abs=4.5 * rises.std() / np.sqrt(draws))
    for x in np.quantile(ratio, [0.1, 0.4, 0.7, 0.95]):
        chance = float(np.mean(ratio > x))
        assert curve.sf(x) == pytest.approx(chance, abs=4.5 * 0.5 / np.sqrt(draws))
