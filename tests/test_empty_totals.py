"""Rows that an empty field marks as totals, as ROLLUP and CUBE of SQL write them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from mialeak.cli import main
from mialeak.tables import table_leakage

KEYS = ["region", "sex", "edu"]


def persons(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    values = {"region": list("ABC"), "sex": list("fm"), "edu": ["low", "mid", "high"]}
    return pd.DataFrame({name: rng.choice(each, rows) for name, each in values.items()})


def grouped(frame, sets):
    """What GROUP BY GROUPING SETS writes: one grouping after another."""
    parts = [
        frame.groupby(list(keys)).size().reset_index(name="n")
        if keys
        else pd.DataFrame({"n": [len(frame)]})
        for keys in sets
    ]
    return pd.concat(parts)[[*KEYS, "n"]]


ROLLUP = [KEYS[:k] for k in (3, 2, 1, 0)]
CUBE = [keys for k in (3, 2, 1, 0) for keys in itertools.combinations(KEYS, k)]
FORMS = {"ROLLUP": ROLLUP, "CUBE": CUBE, "SETS": [KEYS, ["edu"]], "one total": [KEYS, []]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [None, KEYS, ["region"], ["edu", "sex"]])
def test_the_answer_is_that_of_the_table_without_totals(form, columns):
    """Also where the column with the empty field is not counted."""
    frame = persons()
    table = grouped(frame, FORMS[form])
    report = table_leakage(table, columns, counts="n", na="drop")
    assert (report.rows, report.rows_dropped) == (500, 0)
    expected = table_leakage(frame, columns)
    assert (report.plug_in, report.n_cells) == (expected.plug_in, expected.n_cells)
    (caution,) = report.cautions
    totals = len(table) - len(frame.value_counts(KEYS))
    assert caution.startswith(f"{totals} of {len(table)} rows are left out as totals: each has")


def test_the_level_of_a_total_beside_it_is_no_category_of_the_totals():
    table = grouped(persons(), ROLLUP)
    table["grouping_id"] = table[KEYS].isna().sum(axis=1)
    report = table_leakage(table, KEYS, counts="n", na="drop")
    assert (report.rows, report.rows_dropped) == (500, 0)


@pytest.mark.parametrize("na", ["error", "category"])
@pytest.mark.parametrize("columns", [None, ["region"]])
def test_totals_that_are_not_dropped_are_refused(na, columns):
    table = grouped(persons(), ROLLUP)
    with pytest.raises(ValueError, match=r"hold no totals; the counts of rows .*na='drop'"):
        table_leakage(table, columns, counts="n", na=na)


@pytest.mark.parametrize("seed", range(8))
def test_persons_without_a_value_are_no_totals(seed):
    frame = persons(seed=seed)
    rng = np.random.default_rng(seed)
    share = (0.02, 0.1, 0.3, 0.45)[seed % 4]
    for name in KEYS[seed % 3 :]:
        frame.loc[rng.random(len(frame)) < share, name] = None
    table = frame.groupby(KEYS, dropna=False).size().reset_index(name="n")
    known = int(frame.notna().all(axis=1).sum())
    report = table_leakage(table, counts="n", na="drop")
    assert (report.rows, report.rows_dropped) == (known, 500 - known)
    assert not any("left out as totals" in each or "twice" in each for each in report.cautions)
    assert table_leakage(table, counts="n", na="category").rows == 500
    with pytest.raises(ValueError, match="have no missing values"):
        table_leakage(table, counts="n")


def test_totals_whose_parts_are_suppressed_in_part_have_a_caution():
    table = grouped(persons(), ROLLUP)
    table = table[table["n"] > 27]
    report = table_leakage(table, ["region"], counts="n", na="drop")
    (caution,) = (each for each in report.cautions if "twice" in each)
    assert "count more persons than those that they would be the totals of" in caution
    caution, dropped = table_leakage(table, KEYS, counts="n", na="drop").cautions
    assert caution.endswith("If these are totals, none of these persons is missing.")
    assert "1,500 of 1,812 persons are dropped" in dropped


@pytest.mark.parametrize("least", [3, 5, 10])
def test_totals_of_a_group_whose_parts_are_all_left_out_have_a_caution(least):
    """Few people of region D, each of whose cells is too small to be shown (HAVING n >= 5)."""
    for seed in range(20):
        frame = persons(1000, seed)
        frame.loc[np.random.default_rng(seed).random(1000) < 0.02, "region"] = "D"
        table = grouped(frame, ROLLUP)
        table = table[table["n"] >= least]
        for columns, na in itertools.product((["region"], ["region", "sex"]), ("drop", "category")):
            try:
                report = table_leakage(table, columns, counts="n", na=na)
            except ValueError:  # the totals are refused
                continue
            text = " ".join(report.cautions)
            assert report.rows <= 1000 or "twice" in text or "sum to what" in text


def test_most_people_without_a_value_are_no_totals():
    """Dates of death, stages: more people without a value than with one; and half of them."""
    said = 0
    for seed in range(200):
        frame = persons(int(np.random.default_rng(seed).integers(50, 3000)), seed)[
            KEYS[: seed % 3 + 1]
        ]
        missing = np.random.default_rng(seed).random(len(frame)) < (0.3, 0.5, 0.6, 0.8)[seed % 4]
        frame.loc[missing, "region"] = None
        table = frame.groupby(list(frame), dropna=False).size().reset_index(name="n")
        cautions = table_leakage(table, counts="n", na="category").cautions
        said += any("totals of" in each for each in cautions)
    assert said <= 1


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.6, 0.8])
def test_persons_without_a_value_may_be_most(share):
    """Totals of which small counts are left out exceed their parts by no more than these."""
    for seed in range(20):
        frame = persons(seed=seed)[KEYS[: 1 + seed % 2]]
        missing = np.random.default_rng(seed).random(len(frame)) < share
        frame[frame.columns[-1]] = frame.iloc[:, -1].astype(object).where(~missing, None)
        table = frame.groupby(list(frame), dropna=False).size().reset_index(name="n")
        for na in ("drop", "category"):
            cautions = table_leakage(table, counts="n", na=na).cautions
            assert not any("totals" in each for each in cautions)


def test_totals_of_values_that_no_row_shows_have_a_caution():
    """Of the rarest group each cell is below 5: one group more than the rows show."""
    rng = np.random.default_rng(1)
    areas, weights = [f"a{k}" for k in range(12)], np.arange(12, 0, -1) ** 2 / 650
    frame = pd.DataFrame({"region": rng.choice(areas, 2000, p=weights)})
    frame["sex"] = rng.choice(list("uvwxyz"), 2000, p=[0.4, 0.3, 0.15, 0.1, 0.048, 0.002])
    keys = ["region", "sex"], ["region"]
    counted = [frame.groupby(list(each)).size().reset_index(name="n") for each in keys]
    table = pd.concat([*counted, pd.DataFrame({"n": [len(frame)]})])
    table = table[table["n"] >= 5]
    assert "z" not in set(table["sex"])
    for columns in (["region"], ["region", "sex"]):
        cautions = table_leakage(table, columns, counts="n", na="category").cautions
        assert any("twice" in each for each in cautions)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_totals_over_many_columns_are_found_without_an_overflow():
    """The 23 columns that are summed over have 12**23 combinations, more than 2**63."""
    rng = np.random.default_rng(0)
    parts = pd.DataFrame({f"c{j}": rng.integers(0, 12, 400).astype(str) for j in range(24)})
    parts["n"] = rng.integers(5, 60, 400)
    table = pd.concat([parts, parts.groupby("c0")["n"].sum().reset_index()])
    report = table_leakage(table, ["c0", "c1"], counts="n", na="drop")
    assert report.plug_in == table_leakage(parts, ["c0", "c1"], counts="n").plug_in
    assert report.rows == parts["n"].sum()


@pytest.mark.parametrize("na", ["error", "drop", "category"])
def test_controls_that_are_matched_to_cases_are_no_totals(na):
    """They have no stage, and as many of them as cases have each age and sex."""
    frame = persons(300)
    cases = frame.rename(columns={"region": "stage"}).assign(status="case")
    both = pd.concat([cases, cases.assign(status="control", stage=None)])
    table = both.groupby(["status", "stage", "sex", "edu"], dropna=False).size()
    report = table_leakage(table.reset_index(name="n"), ["status", "sex", "edu"], counts="n", na=na)
    assert report.plug_in == table_leakage(both, ["status", "sex", "edu"]).plug_in
    assert report.rows == 600
    (caution,) = report.cautions
    assert "column 'status' holds one value in these and another in the others" in caution


def test_dropped_rows_are_not_left_out_with_na_drop_once_more(tmp_path, capsys):
    table = grouped(persons(), ROLLUP)
    path = tmp_path / "t.csv"
    table[table["n"] > 27].to_csv(path, index=False)
    line = ["table", str(path), "--columns", "region,sex", "--counts", "n", "--na"]
    assert main([*line, "drop"]) == 1
    assert "Take the rows without a value there out of the table" in capsys.readouterr().err


def test_a_register_may_have_such_totals_too():
    frame = persons(3000)
    sample = frame[::10]
    expected = table_leakage(sample, KEYS, population=frame).population.leakage
    counted = grouped(frame, ROLLUP)
    report = table_leakage(sample, KEYS, population=counted, counts="n", na="drop")
    assert report.population.leakage == pytest.approx(expected, rel=1e-12)
    assert any("Of the register: 23 of" in each or "left out" in each for each in report.cautions)
    with pytest.raises(ValueError, match="hold no totals"):
        table_leakage(sample, KEYS, population=counted, counts="n")


def test_totals_that_are_left_out_by_their_word_are_not_looked_at_again():
    """As pandas.crosstab(..., margins=True) has "All" beside an empty field."""
    frame = persons()
    crossed = pd.crosstab([frame["region"], frame["sex"]], frame["edu"], margins=True)
    table = crossed.rename_axis(columns="edu").stack().reset_index(name="n")
    table["sex"] = table["sex"].replace("", None)
    assert table["sex"].isna().any()
    table = {name: table[name].tolist() for name in table}
    report = table_leakage(table, counts="n", total="All", na="category")
    assert report.plug_in == table_leakage(frame, ["region", "sex", "edu"]).plug_in
    assert not any("without a value in column" in each for each in report.cautions)
