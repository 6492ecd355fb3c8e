"""What to change in a table: its leakage without columns, recoded, and what a secret adds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mialeak import Register, max_leakage
from mialeak.datasets import load_adult
from mialeak.tables import estimate_max_leakage, table_leakage

COLUMNS = ["age", "education", "marital_status", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    return load_adult().columns


# --- which columns do it ---------------------------------------------------------------------


def counts_of(table, names, rows=None):
    """Rows in each cell, counted by Python."""
    values = zip(*(list(table[name]) for name in names), strict=True)
    return np.array(list(Counter(list(values)[:rows]).values()))


def test_adult_leaks_less_without_each_column(adult):
    report = table_leakage(adult, COLUMNS)
    shown = {effect.without: round(effect.value, 3) for effect in report.by_column}
    assert round(report.estimate.value, 3) == 0.186
    assert shown == {
        ("age",): 0.033,
        ("education",): 0.070,
        ("marital_status",): 0.111,
        ("race",): 0.132,
        ("sex",): 0.144,
        ("age", "education"): 0.010,
        ("age", "marital_status"): 0.016,
    }


def test_each_effect_is_the_estimate_of_the_other_columns(adult):
    report = table_leakage(adult, COLUMNS, n=20_000, confidence=0.9)
    for effect in report.by_column:
        counts = counts_of(adult, [name for name in COLUMNS if name not in effect.without])
        expected = estimate_max_leakage(counts, 20_000, confidence=0.9)
        assert effect.n_cells == len(counts)
        assert (effect.value, effect.low, effect.high, effect.plug_in) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.plug_in), rel=1e-12
        )


def test_a_pair_is_listed_if_neither_column_alone_lowers_the_leakage_as_much():
    """Two columns that state the same: without one of them nothing changes."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 3_000)
    table = {"age": age, "born": 2026 - age, "sex": rng.integers(0, 2, 3_000)}
    report = table_leakage(table)
    effects = {effect.without: effect.value for effect in report.by_column}
    assert effects["age",] == effects["born",] == report.estimate.value
    listed = {pair for pair in effects if len(pair) == 2}
    assert ("age", "born") in listed
    every = {
        pair: table_leakage(table, [name for name in table if name not in pair]).estimate.value
        for pair in combinations(table, 2)
    }
    assert listed == {
        pair for pair, value in every.items() if value <= min(effects[x,] for x in pair) / 2
    }


def test_with_a_register_the_effects_are_exact(adult):
    sample = {name: values[::10] for name, values in adult.items()}
    report = table_leakage(sample, COLUMNS, population=adult)
    rows = len(sample["age"])
    for effect in report.by_column:
        people = counts_of(adult, [name for name in COLUMNS if name not in effect.without])
        assert effect.kind == "exact"
        assert effect.plug_in is None
        assert effect.low == effect.value == effect.high == max_leakage(Register(people), rows)


def test_a_table_of_counts_has_the_effects_of_its_people():
    rng = np.random.default_rng(1)
    table = {"a": rng.integers(0, 9, 2_000), "b": rng.integers(0, 5, 2_000)}
    cells = Counter(zip(table["a"].tolist(), table["b"].tolist(), strict=True))
    counted = {
        "a": [cell[0] for cell in cells],
        "b": [cell[1] for cell in cells],
        "n": list(cells.values()),
    }
    people, cells = table_leakage(table), table_leakage(counted, counts="n")
    assert people.by_column == cells.by_column


def test_nothing_is_left_out_of_a_single_column_or_of_margins(adult):
    assert table_leakage(adult, ["sex"]).by_column == ()
    report = table_leakage(adult, margins=["sex", "race"])
    assert report.by_column == ()
    assert "left out" not in report.text()
    assert report.to_dict()["by_column"] is None


def test_a_report_lists_the_effects_where_they_take_less_than_a_second(adult):
    report = table_leakage(adult, COLUMNS)
    assert "Leakage if a column is left out" in report.text()
    assert report.to_dict()["by_column"][0]["without"] == ["age"]
    many = {f"c{k}": np.arange(300) % (k + 2) for k in range(20)}
    report = table_leakage(many)
    assert "left out" not in report.text()
    assert report.to_dict()["by_column"] is None
