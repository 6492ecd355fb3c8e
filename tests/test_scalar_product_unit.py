"""The reference of a scalar product, by the genotypes of people: right ones are never refused."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.scores import scalar_product_score

GENOTYPES = load_genotypes().counts.astype(float)
RARER = np.where(GENOTYPES.mean(axis=0) > 1.0, 2.0 - GENOTYPES, GENOTYPES)


@pytest.mark.parametrize("most", [0.4, 0.6, 0.8])
def test_no_genotypes_show_the_unit_of_the_reference(most):
    """At linked sites right references are as far from twice the mean as halves are for others."""
    rows = RARER[:, RARER.mean(axis=0) < most]
    mean, release = rows.mean(axis=0), rows[:400].mean(axis=0)
    scores = [scalar_product_score(release, target, mean) for target in rows]
    np.testing.assert_allclose(scores, (rows - mean) @ release, rtol=0, atol=1e-10)
    times = rows.sum(axis=1) / mean.sum()
    assert np.count_nonzero(np.abs(times - 2.0) < 0.3) > 50


def test_a_reference_in_another_unit_is_a_reference_elsewhere():
    """With half of the mean, and halves as release, all scores are further up by one number."""
    mean, release = GENOTYPES[400:].mean(axis=0), GENOTYPES[:400].mean(axis=0)
    right = [scalar_product_score(release / 2, each, mean) for each in GENOTYPES[:50]]
    wrong = [scalar_product_score(release / 2, each, mean / 2) for each in GENOTYPES[:50]]
    np.testing.assert_allclose(np.subtract(wrong, right), mean @ release / 4, rtol=1e-12)
