"""Rows of numbers and text that are there twice, and rows of which none is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage


@pytest.mark.parametrize(("sites", "again"), [(20, 0), (20, 30), (6, 0)])
def test_rows_are_equal_in_their_text_too(sites, again):
    """Beside two columns of one number, as sex and phenotype are where all are male cases."""
    rng = np.random.default_rng(1)
    letters = np.array(["AA", "AG", "GG"])
    people = pd.DataFrame(letters[rng.binomial(2, rng.uniform(0.1, 0.9, sites), (252, sites))])
    people = people.rename(columns=str).assign(sex=1, phenotype=1)
    table = pd.concat([people.sample(frac=1.0, random_state=0), people[:again]])
    table = table.sample(frac=1.0, random_state=1).reset_index(drop=True)
    told = [each for each in mean_leakage(table).cautions if "equal an earlier one" in each]
    equal = table.duplicated().sum()
    assert (equal == again) == (sites == 20)  # different people have six equal genotypes
    words = f"{equal} of {len(table)} rows"
    assert [each.startswith(words) for each in told] == [True] * (again > 0)
