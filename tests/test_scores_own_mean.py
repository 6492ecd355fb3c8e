"""Scores of a release that was passed as the mean of the population as well."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    genotype_score,
    glir_score,
)

GENOTYPES = load_genotypes().counts.astype(float)
PEOPLE, OTHERS = GENOTYPES[:400], GENOTYPES[400:]
BITS, OTHER_BITS = (PEOPLE > 0).astype(float), (OTHERS > 0).astype(float)
CASES = [
    (lambda f, t, p: genotype_score(f, t, p / 2, 400), PEOPLE, OTHERS),
    (lambda f, t, p: covariance_score(f, t, p, p * (1 - p / 2), 400), PEOPLE, OTHERS),
    (lambda f, t, p: bernoulli_score(f, t, p, 400), BITS, OTHER_BITS),
]


@pytest.mark.filterwarnings("ignore:p seems to be of another population")  # of which others are
@pytest.mark.parametrize(("score", "rows", "others"), CASES, ids=["genotype", "cov", "bernoulli"])
@pytest.mark.parametrize("digits", [16, 5])
def test_a_release_that_equals_the_mean_of_the_population_is_warned_of(score, rows, others, digits):
    release = rows.mean(axis=0)
    with pytest.warns(UserWarning, match="equals the mean of the population in all columns"):
        own = score(release, rows[0], np.round(release, digits))
    assert abs(own) < 0.5  # a member
    assert score(release, rows[0], others.mean(axis=0)) > 5.0
    assert score(release[:9], rows[0, :9], release[:9]) == pytest.approx(0.0, abs=0.1)


@pytest.mark.filterwarnings("ignore:p seems to be of another population")  # of which others are
@pytest.mark.parametrize(("score", "rows", "others"), CASES, ids=["genotype", "cov", "bernoulli"])
def test_ordinary_releases_are_not(score, rows, others):
    """One equal column, many releases, and the mean of all people, of whom the rows are most."""
    release, mean = rows.mean(axis=0), others.mean(axis=0)
    mean[0] = release[0]
    score(release, rows[0], mean)
    score(np.stack([release] * 3), rows[0], mean)
    score(release, rows[0], np.concatenate([rows, others[:3]]).mean(axis=0))


def test_releases_of_precise_columns_or_of_very_many_rows_are_not():
    """Their distances from the mean are standard errors, however small the unit makes these."""
    mean = np.array([0.14, 0.0042, 0.104, 0.0024, 0.0012, 0.005, 0.0051, 0.0013, 0.0031, 0.00008])
    std = mean / 20
    for seed in range(50):
        rng = np.random.default_rng(seed)
        for n in (50_000, 2_000_000):
            release, target = rng.normal(mean, std / n**0.5), rng.normal(mean, std)
            for cov in (std**2, np.diag(std**2)):
                covariance_score(release, target, mean, cov, n)
            glir_score(release, target, mean, std**2, n)
            edgeworth_score(release, target, mean, std, 0.0, 0.0, n)
        p = rng.uniform(0.05, 0.5, 30)
        bernoulli_score(rng.binomial(10**11, p) / 10**11, rng.binomial(1, p), p, 10**11)
    for score in (
        lambda f: covariance_score(f, target, mean, std**2, n),
        lambda f: glir_score(f, target, mean, std**2, n),
        lambda f: edgeworth_score(f, target, mean, std, 0.0, 0.0, n),
    ):
        with pytest.warns(UserWarning, match="equals the mean of the population"):
            score(mean.astype(np.float32))
