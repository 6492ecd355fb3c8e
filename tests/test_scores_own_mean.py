"""Scores of a release that was passed as the mean of the population as well."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.scores import bernoulli_score, covariance_score, genotype_score

GENOTYPES = load_genotypes().counts.astype(float)
PEOPLE, OTHERS = GENOTYPES[:400], GENOTYPES[400:]
BITS, OTHER_BITS = (PEOPLE > 0).astype(float), (OTHERS > 0).astype(float)
CASES = [
    (lambda f, t, p: genotype_score(f, t, p / 2, 400), PEOPLE, OTHERS),
    (lambda f, t, p: covariance_score(f, t, p, p * (1 - p / 2), 400), PEOPLE, OTHERS),
    (lambda f, t, p: bernoulli_score(f, t, p, 400), BITS, OTHER_BITS),
]


@pytest.mark.parametrize(("score", "rows", "others"), CASES, ids=["genotype", "cov", "bernoulli"])
@pytest.mark.parametrize("digits", [16, 5])
def test_a_release_that_equals_the_mean_of_the_population_is_warned_of(score, rows, others, digits):
    release = rows.mean(axis=0)
    with pytest.warns(UserWarning, match="equals the mean of the population in all columns"):
        own = score(release, rows[0], np.round(release, digits))
    assert abs(own) < 0.5  # a member
    assert score(release, rows[0], others.mean(axis=0)) > 5.0
    assert score(release[:9], rows[0, :9], release[:9]) == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize(("score", "rows", "others"), CASES, ids=["genotype", "cov", "bernoulli"])
def test_ordinary_releases_are_not(score, rows, others):
    """One equal column, many releases, and the mean of all people, of whom the rows are most."""
    release, mean = rows.mean(axis=0), others.mean(axis=0)
    mean[0] = release[0]
    score(release, rows[0], mean)
    score(np.stack([release] * 3), rows[0], mean)
    score(release, rows[0], np.concatenate([rows, others[:3]]).mean(axis=0))
