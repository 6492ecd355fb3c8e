"""Rows that were made distinct, and persons who are; counts of cells that are few and distinct."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

SAYS = "each combination of values seems to be listed once"


@pytest.mark.parametrize(
    "columns", [["age", "sex"], ["age", "education", "sex"], ["education", "race", "sex"]]
)
def test_distinct_rows_are_no_persons(columns):
    people = pd.DataFrame({key: list(load_adult().columns[key]) for key in columns})
    report = table_leakage(people.drop_duplicates())
    assert report.estimate.value > 0.9 > 0.1 > table_leakage(people).estimate.value
    assert any(SAYS in each for each in report.cautions)


@pytest.mark.parametrize("chosen", [["education", "sex"], ["race", "sex"]])
def test_rows_that_are_distinct_by_more_columns_than_are_counted_have_a_caution(chosen):
    keys = ["age", "education", "race", "sex"]
    people = pd.DataFrame({key: list(load_adult().columns[key]) for key in keys})
    met = table_leakage(people.drop_duplicates(), chosen).cautions
    assert any(SAYS in each and "rows are equal in '" in each for each in met)
    assert not any(SAYS in each for each in table_leakage(people, chosen).cautions)


def test_subjects_and_days_of_a_panel_may_be_distinct():
    """Each pair of a subject and a day is there once: the rows are not made distinct."""
    subjects, days = np.divmod(np.arange(400), 20)
    groups = np.random.default_rng(3).integers(0, 2, 400)
    panel = {"subject": subjects, "occasion": days, "group": groups}
    assert not any(SAYS in each for each in table_leakage(panel, ["group"]).cautions)


def tables(seeds):
    """Few persons of several ordinary columns."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([30, 80, 200, 1000]))
        columns = {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "region": rng.choice(list("NSEWC"), rows, p=[0.4, 0.25, 0.2, 0.1, 0.05]),
            "smoker": rng.choice([0, 1], rows, p=[0.8, 0.2]),
            "children": rng.poisson(1.3, rows).clip(max=6),
            "diagnosis": rng.choice(["A01", "B20", "C50", "E11"], rows, p=[0.1, 0.2, 0.3, 0.4]),
            "visits": rng.poisson(3, rows),
            "rooms": rng.integers(1, 7, rows),
            "likert": rng.integers(1, 6, rows),
        }
        chosen = rng.choice(list(columns), rng.integers(2, 6), replace=False)
        yield pd.DataFrame({name: columns[name] for name in chosen.tolist()})


def test_ordinary_persons_may_all_differ():
    for frame in tables(200):
        for columns in (None, list(frame)[:1]):
            assert not any(SAYS in each for each in table_leakage(frame, columns).cautions)


def test_numbers_of_few_persons_are_no_counts():
    """Without a column of numbers the cells of a sparse table are as distinct by chance."""
    said = 0
    for frame in tables(200):
        counted = frame.groupby(list(frame)).size().reset_index(name="n")
        cautions = table_leakage(counted, counts="n").cautions
        said += any("without which the cells" in each for each in cautions)
    assert not said
