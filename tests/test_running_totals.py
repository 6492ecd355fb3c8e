"""Counts that were added up from row to row within each group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.tables import table_leakage

SAYS = "seem to be running totals"


def by_age(seed):
    """Counts by sex and age, sorted by sex."""
    rng = np.random.default_rng(seed)
    ages = np.arange(20, 62)
    means = 30 * np.exp(-(((ages - 38) / 15) ** 2))
    counts = np.concatenate([rng.poisson(2 * means), rng.poisson(means)]).clip(1)
    return pd.DataFrame({"sex": np.repeat(["m", "f"], 42), "age": np.tile(ages, 2), "n": counts})


def told(table):
    return [x for x in table_leakage(table, ["sex", "age"], counts="n").cautions if SAYS in x]


@pytest.mark.parametrize("order", [["sex", "age"], ["age", "sex"]])
@pytest.mark.parametrize("seed", range(5))
def test_running_totals_have_a_caution(seed, order):
    table = by_age(seed).assign(n=lambda each: each.groupby("sex")["n"].cumsum())
    (caution,) = told(table.sort_values(order))
    assert "over 'age', of each value of 'sex', never fall from row to row in 82 steps" in caution


@pytest.mark.parametrize("order", [["sex", "age"], ["n"], ["sex", "n"], ["age", "n"]])
def test_counts_have_none_in_any_order(order):
    for seed in range(25):
        assert not told(by_age(seed).sort_values(order))


def test_deaths_that_rise_with_age_have_none():
    """Each year of age has 9 % more, until they are few; all steps are far from chance."""
    ages = np.arange(40, 88)
    deaths = np.round(4000 * 1.09 ** (ages - 40)).astype(int)
    table = {"sex": np.repeat(["m", "f"], 48), "age": np.tile(ages, 2), "n": np.tile(deaths, 2)}
    assert not told(table)
