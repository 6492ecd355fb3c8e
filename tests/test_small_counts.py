"""Tables without their smallest counts, and whole ones in which no count is small."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import Release, mean_leakage
from mialeak._checks.tables.small_counts import cautions_of_small_counts
from mialeak._columns import Factor
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

KEYS = ["age", "education", "marital_status", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    people = pd.DataFrame({key: list(load_adult().columns[key]) for key in KEYS})
    return {
        name: people.groupby(keys).size().reset_index(name="n")
        for name, keys in {"sparse": KEYS, "dense": ["age", "race", "sex"]}.items()
    }


@pytest.fixture(scope="module")
def synthetic():
    """The cells of 20,000 people by columns that are drawn independently: most of few people."""
    rng = np.random.default_rng(2)
    people = pd.DataFrame(
        {
            "region": rng.integers(5, size=20_000),
            "sex": rng.choice(["F", "M"], 20_000),
            "age": rng.gamma(4, 10, 20_000).astype(int).clip(max=99),
            "status": rng.choice(list("wxyz"), 20_000, p=[0.55, 0.07, 0.28, 0.1]),
            "school": rng.choice(list("abcd"), 20_000, p=[0.3, 0.4, 0.25, 0.05]),
        }
    )
    return people.groupby(list(people)).size().reset_index(name="n")


def at_least(least):
    return lambda counts, rng: np.where(counts < least, 0, counts)


def at_random(counts, rng):
    """1 and 2 are published as 0 or 3, with the same mean."""
    return np.where(counts < 3, 3 * (rng.random(len(counts)) < counts / 3), counts)


def at_threshold(counts, rng):
    return np.maximum(counts, 5)


CUTS = {
    "at least 2": (at_least(2), "No count is 1, and "),
    "at least 3": (at_least(3), "No count is between 1 and 2, and "),
    "0 or 3": (at_random, "No count is between 1 and 2, and "),
    "5 for below 5": (at_threshold, "No count is between 1 and 4, and "),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("table", ["sparse", "dense", "synthetic"])
def test_small_counts_that_were_left_out_or_changed_are_a_caution(adult, synthetic, cut, table):
    whole = synthetic if table == "synthetic" else adult[table]
    change, words = CUTS[cut]
    changed = whole.assign(n=change(whole["n"].to_numpy(), np.random.default_rng(1)))
    assert not table_leakage(whole, counts="n").cautions
    (caution,) = table_leakage(changed[changed["n"] > 0], counts="n").cautions
    assert caution.startswith(words)
    assert "seem to be left out, or changed" in caution


def test_what_counts_of_one_hide_is_large(adult):
    """The leakage without them is little more than half of that with them."""
    whole = adult["sparse"]
    cut = table_leakage(whole[whole["n"] > 1], counts="n")
    assert cut.estimate.value < 0.7 * table_leakage(whole, counts="n").estimate.value
    assert cut.cautions


def draws(rng, cells):
    """Means of the cells of a table, of several laws."""
    return [
        np.ones(cells),
        rng.gamma(rng.choice([0.5, 1.0, 3.0, 10.0]), size=cells),
        rng.lognormal(0.0, rng.choice([0.3, 1.0, 2.0]), cells),
        np.where(rng.random(cells) < 0.5, 1.0, 10.0) * rng.gamma(20.0, size=cells),
        0.5 ** np.arange(cells) ** 0.5,
    ]


def test_whole_tables_in_which_no_count_is_small_are_taken():
    """Poisson counts that are 2 to 20 at least, and those that spread less: families, classes.

    Each is of two columns, of which all combinations have a count.
    """
    rng = np.random.default_rng(7)
    taken, families = 0, rng.choice([2, 3, 4, 5, 6, 7], 300, p=[0.2, 0.25, 0.3, 0.15, 0.07, 0.03])
    others = [families, rng.integers(18, 31, 60), rng.choice([3, 4, 5, 6], 90), families + 1]
    while taken < 600:
        cells = int(rng.choice([12, 40, 150, 600]))
        means = draws(rng, cells)[rng.integers(5)]
        counts = rng.poisson(means / means.mean() * np.exp(rng.uniform(1.0, 5.0)))
        counts = counts[counts > 0]
        if counts.size and 2 <= counts.min() <= 20:
            taken += 1
            others.append(counts)
    for counts in others:
        row = np.arange(counts.size)
        columns = {"row": Factor(row, range(counts.size)), "all": Factor(0 * row, range(1))}
        assert not cautions_of_small_counts(columns, counts)


def test_people_of_small_cells_are_missed_in_tables_and_releases(synthetic):
    columns = [*synthetic][:-1]
    for least, says in ((1, ""), (2, "No count is 1, and"), (5, "No count is between 1 and 4")):
        cells = synthetic[synthetic.n >= least]
        people = cells.loc[cells.index.repeat(cells.n), columns]
        release = Release(people)
        release.add_table(columns)
        for cautions in (table_leakage(people).cautions, release.leakage().cautions):
            assert any(says in each for each in cautions) if says else cautions == ()


@pytest.mark.parametrize("rows", [65_534, 65_535])
def test_as_many_rows_as_a_sheet_of_excel_holds_may_be_cut_off(rows):
    people = {"sex": ["f", "m", "m"] * rows, "ward": [3, 1, 2, 5] * rows}
    people = {name: values[:rows] for name, values in people.items()}
    release = Release(people)
    release.add_table(["sex"])
    reports = table_leakage(people), release.leakage(), mean_leakage(people, ["ward"])
    for report in reports:
        cut = [each for each in report.cautions if "further rows may be cut off" in each]
        assert len(cut) == (rows == 65_535)
