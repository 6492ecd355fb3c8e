"""Small tables of counts that are passed as persons, and persons who are none."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from mialeak.tables import table_leakage

SAYS = "No two rows agree in"


def cells(levels, name, seed=0):
    """All combinations of so many levels, with a count each."""
    rng = np.random.default_rng(seed)
    rows = list(itertools.product(*(list("abcdef"[:k]) for k in levels)))
    table = pd.DataFrame(rows, columns=[f"k{j}" for j in range(len(levels))])
    return table.assign(**{name: rng.integers(5, 900, len(rows))})


@pytest.mark.parametrize("levels", [(2, 3), (3, 6), (2, 2, 2), (2, 2, 3)])
@pytest.mark.parametrize("name", ["persons_2023", "households", "BEV001", "_c0", "sum"])
def test_counts_of_an_unknown_name_are_named_in_small_tables(levels, name):
    """And are no identifiers; where they are left out, too."""
    table = cells(levels, name)
    keys = [each for each in table if each != name]
    for columns in (None, keys):
        (caution,) = table_leakage(table, columns).cautions
        assert caution.startswith(SAYS)
        assert caution.endswith(f"If {name!r} holds their counts, pass counts={name!r}.")
    assert not table_leakage(table, counts=name).cautions


def test_values_is_the_name_of_a_count():
    with pytest.raises(ValueError, match=r"table of counts.*Pass counts='values'"):
        table_leakage(cells((3, 6), "values"))


@pytest.mark.parametrize("rows", [6, 8, 12, 20, 40])
def test_few_persons_are_no_cells(rows):
    """With an age, a number of the row, or an outcome of 0 and 1 beside their categories."""
    rng = np.random.default_rng(rows)
    for _ in range(20):
        table = pd.DataFrame(
            {
                "sex": rng.choice(list("fm"), rows),
                "region": rng.choice(list("abc"), rows),
                "age": rng.integers(18, 90, rows),
            }
        )
        if len(table[["sex", "region"]].drop_duplicates()) < rows:
            assert not [each for each in table_leakage(table).cautions if each.startswith(SAYS)]
    grid = cells((2, 3), "n").drop(columns="n")
    for beside in (np.arange(6), np.arange(6)[::-1] + 17, [0, 1, 1, 0, 1, 0], [2, 3, 1, 2, 2, 4]):
        cautions = table_leakage(grid.assign(x=beside)).cautions
        assert not [each for each in cautions if each.startswith(SAYS)]


@pytest.mark.parametrize("name", ["weight", "wght", "WGHT", "gewicht"])
def test_weights_that_are_too_large_for_bodies_are_survey_weights(name):
    """Of people or newborns, in kilograms or grams, they are not."""
    rng = np.random.default_rng(7)
    people = pd.DataFrame(rng.choice(list("abc"), (400, 2)), columns=["region", "status"])
    for weights, is_survey in (
        (rng.lognormal(11.5, 0.8, 400).round(), True),
        (rng.normal(75.0, 15.0, 400).round(1), False),
        (rng.lognormal(8.1, 0.4, 400).round(), False),
    ):
        table = people.assign(**{name: weights})
        said = [
            each for each in table_leakage(table, ["region", "status"]).cautions if name in each
        ]
        assert bool(said) == is_survey
        if said:
            assert "has the name of a survey weight" in said[0]
    (caution, *_) = table_leakage(people.assign(**{name: rng.integers(1, 9, 400)})).cautions
    assert f"{name!r} has the name of a survey weight and is counted as a category" in caution


@pytest.mark.parametrize("name", ["weight", "wt", "poids"])
def test_weights_of_goods_in_grams_are_survey_weights_only_if_they_are_meant_so(name):
    """They differ as much as survey weights, which are sure where they go by another column."""
    rng = np.random.default_rng(11)
    sold = pd.DataFrame(rng.choice(list("abc"), (400, 2)), columns=["kind", "status"])
    grams = rng.lognormal(6.5, 0.9, 400).round()
    drawn = sold["kind"].map({"a": 900.0, "b": 2300.0, "c": 4100.0})
    for column, is_sure in ((grams, False), (drawn, True)):
        said = " ".join(table_leakage(sold.assign(**{name: column}), ["kind", "status"]).cautions)
        assert f"Column {name!r} has the name of a survey weight, from " in said
        assert ("if it is one, and no measurement" in said) != is_sure


def test_classes_of_the_weight_of_a_body_are_no_survey_weights():
    rng = np.random.default_rng(12)
    table = pd.DataFrame({"weight": rng.choice(["under", "normal", "over"], 400)})
    assert not table_leakage(table).cautions
    numbers = {"weight": rng.integers(1, 4, 400)}
    assert "survey weight" in " ".join(table_leakage(numbers).cautions)
