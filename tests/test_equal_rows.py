"""Rows of numbers and text that are there twice, and rows of which none is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage, table_leakage


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


def persons(seed, rows=3000):
    """Few of each age, education and hours, of whom some are equal by chance."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(60, 0.3), 3)
    columns = [rng.choice(60, rows, p=each) for each in law]
    return pd.DataFrame(np.array([*columns, rng.choice(4, rows)]).T, columns=list("abcd"))


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_persons_that_are_there_twice_in_another_order_have_a_caution(share):
    wide = persons(0).assign(e=np.random.default_rng(1).integers(0, 50, 3000))
    table = pd.concat([wide, wide.sample(frac=share, random_state=2)])
    table = table.sample(frac=1.0, random_state=3).reset_index(drop=True)
    told = [each for each in table_leakage(table, ["d"]).cautions if "two rows are equal" in each]
    times = table.value_counts().value_counts()
    assert told[0].startswith(f"{times[2]:,} times two rows are equal in all columns")


@pytest.mark.parametrize("seed", range(60))
def test_persons_who_are_equal_by_chance_have_no_caution(seed):
    frame = persons(seed)
    cautions = table_leakage(frame, ["d"]).cautions
    assert (frame.value_counts() == 2).sum() > 50
    assert not any("two rows are equal" in each for each in cautions)
