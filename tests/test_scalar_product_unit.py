"""The unit of the reference of a scalar product, by the genotypes of people."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.scores import scalar_product_score

GENOTYPES = load_genotypes().counts.astype(float)
PEOPLE, OTHERS = GENOTYPES[::2], GENOTYPES[1::2]
MEAN = OTHERS.mean(axis=0)


def test_frequencies_beside_copies_are_refused():
    """For nearly all people; the score would have an offset for every target."""
    release = PEOPLE[:400].mean(axis=0)
    offset = -(MEAN / 2) @ (release / 2)
    errors = []
    for target in PEOPLE[:100]:
        right = scalar_product_score(release, target, MEAN)
        assert right == pytest.approx((target - MEAN) @ release)
        try:
            wrong = scalar_product_score(release / 2, target, MEAN / 2)
        except ValueError as error:
            errors.append(str(error))
        else:
            assert wrong == pytest.approx(target @ release / 2 + offset)
    assert all("it seems to hold frequencies" in each for each in errors)
    assert all("reference=2 * p" in each for each in errors)
    assert len(errors) >= 90


def test_references_in_the_unit_of_the_target_are_taken():
    """Halves, another person, carriers, one number, and few columns."""
    release = PEOPLE[:400].mean(axis=0)
    minor = np.where(MEAN > 1.0, 2.0 - PEOPLE, PEOPLE), np.minimum(MEAN, 2.0 - MEAN)
    for target in minor[0][:200]:
        scalar_product_score(release, target, minor[1])
    for k, target in enumerate(PEOPLE[:200]):
        scalar_product_score(release / 2, target / 2, MEAN / 2)
        scalar_product_score(release, target, OTHERS[k])
        scalar_product_score(release, np.minimum(target, 1.0), (OTHERS > 0).mean(axis=0))
        scalar_product_score(release, target, 1.0)
        scalar_product_score(release[:9] / 2, target[:9], MEAN[:9] / 2)
