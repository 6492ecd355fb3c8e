"""Every tenth person of a sorted register, and samples that were drawn at random."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import Release, table_leakage

SAYS = "more exactly than a random sample would"


def register(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice(list("NSEWC"), 20_000, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
            "sex": rng.choice(["f", "m"], 20_000),
            "age": rng.gamma(4, 10, 20_000).astype(int).clip(max=99),
            "school": rng.choice(list("abcd"), 20_000, p=[0.3, 0.4, 0.25, 0.05]),
        }
    ).sort_values(["region", "sex", "age", "school"])


@pytest.mark.parametrize("columns", [["region", "sex"], ["region", "sex", "school"]])
def test_a_systematic_sample_of_a_sorted_register_is_no_random_one(columns):
    """Of ten samples, next to none has the table of another: a person is known by it."""
    people = register(11)
    tables = [tuple(people.iloc[k::10].groupby(columns).size()) for k in range(10)]
    same = np.mean([tables[j] == tables[k] for j in range(10) for k in range(10) if j != k])
    report = table_leakage(people.iloc[3::10], columns, population=people)
    assert report.population.leakage < 0.1 < 0.8 < 1.0 - same
    (caution,) = report.cautions
    assert SAYS in caution
    release = Release(people.iloc[3::10], population=people)
    release.add_table(columns)
    assert any(SAYS in each for each in release.leakage().cautions)
    within = table_leakage(people.iloc[3::10], ["age", "sex"], population=people, strata="sex")
    assert any(SAYS in each and "its strata" in each for each in within.cautions)


def test_proportional_strata_are_named_and_random_samples_are_taken():
    for seed in range(20):
        people = register(seed).sample(frac=1.0, random_state=seed)
        for share in (0.02, 0.3, 0.8):
            drawn = people.sample(frac=share, random_state=seed)
            report = table_leakage(drawn, ["region", "sex", "school"], population=people)
            assert not report.cautions
    drawn = people.groupby(["region", "school"]).sample(frac=0.1, random_state=1)
    columns = ["region", "school", "sex"]
    assert any(SAYS in each for each in table_leakage(drawn, columns, population=people).cautions)
    drawn = people.groupby("region").sample(frac=0.1, random_state=1)
    report = table_leakage(drawn, columns, population=people, strata="region")
    assert not report.cautions
