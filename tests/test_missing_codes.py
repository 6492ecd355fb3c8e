"""Codes of missing values that are for one column alone: ``--missing column=9``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mialeak.cli import main
from mialeak.means import mean_leakage
from mialeak.tables import table_leakage

RNG = np.random.default_rng(3)
ROWS = 500
#: Pupils of grades 1 to 9, whose nationality 9 is one that is not stated.
PUPILS = pd.DataFrame(
    {
        "grade": RNG.integers(1, 10, ROWS),
        "nationality": RNG.choice([1, 2, 9], ROWS),
        "sex": RNG.choice(["f", "m"], ROWS),
    }
)
STATED = PUPILS[PUPILS["nationality"] != 9]


def answer(folder, frame, *options):
    path = folder / "t.csv"
    frame.to_csv(path, index=False)
    return main(["table", str(path), *options, "--json"])


@pytest.mark.parametrize("code", ["nationality=9", "nationality=9.0", "?,nationality=9"])
def test_a_code_of_one_column_leaves_its_rows_out(tmp_path, capsys, code):
    assert answer(tmp_path, PUPILS, "--missing", code, "--na", "drop") == 0
    shown = json.loads(capsys.readouterr().out)
    assert answer(tmp_path, STATED) == 0
    expected = json.loads(capsys.readouterr().out)
    assert shown["rows"] == expected["rows"] == len(STATED)
    assert shown["estimate"] == expected["estimate"]


def test_so_it_does_in_python():
    report = table_leakage(PUPILS, missing="nationality=9", na="drop")
    assert report.estimate == table_leakage(STATED).estimate
    assert report.rows_dropped == ROWS - len(STATED)


def test_a_code_that_only_the_register_has_is_no_error(tmp_path, capsys):
    unknown = pd.DataFrame({"grade": [-7], "nationality": [1], "sex": ["f"]})
    register = tmp_path / "register.csv"
    pd.concat([PUPILS] * 3 + [unknown]).to_csv(register, index=False)
    options = ["--population", str(register), "--missing", "grade=-7", "--na", "drop"]
    assert answer(tmp_path, PUPILS, *options) == 0
    assert json.loads(capsys.readouterr().out)["population"]["people"] == 3 * ROWS


@pytest.mark.parametrize("code", [-9.0, -99.0, -999.0])
def test_a_negative_code_beside_negative_measures_is_named(code):
    rng = np.random.default_rng(4)
    scores = np.round(rng.normal(size=1000), 2)
    people = pd.DataFrame({"height": np.round(rng.normal(170, 9, 1000)), "z": scores})
    assert not mean_leakage(people).cautions
    people.loc[rng.random(1000) < 0.015, "z"] = code
    (caution,) = mean_leakage(people).cautions
    assert caution.startswith(f"{code} is counted as a value like any other, in ")


#: Genotypes of int8, as libraries of genetics hold them, with -1 for a missing one.
CALLS = np.random.default_rng(12).binomial(2, 0.3, (200, 12)).astype(np.int8)
CALLS[np.random.default_rng(13).random(CALLS.shape) < 0.01] = -1
KNOWN = CALLS[(CALLS >= 0).all(axis=1)]


@pytest.mark.parametrize("missing", [-1, "-1", ["-1", "N"]])
@pytest.mark.parametrize("of_table", [np.asarray, pd.DataFrame])
def test_means_take_the_codes_that_their_cautions_name(of_table, missing):
    (caution,) = mean_leakage(of_table(CALLS)).cautions
    assert "pass missing=['-1']" in caution
    report = mean_leakage(of_table(CALLS), missing=missing, na="drop")
    expected = mean_leakage(KNOWN)
    assert (report.rows, report.average) == (len(KNOWN), expected.average)
    with pytest.raises(ValueError, match=r"have no missing values; .* in column 1, .*na='drop'"):
        mean_leakage(of_table(CALLS), missing=missing)


def test_codes_are_those_of_the_register_the_panel_and_the_groups_too():
    rows, options = KNOWN[:60], {"missing": -1, "na": "drop"}
    for beside in ("population", "panel"):
        if beside == "panel":
            rows = rows[:, :11]
        others = {"panel": CALLS[-100:, :11], "population": np.concatenate([CALLS, KNOWN])}
        known = {name: each[(each >= 0).all(axis=1)] for name, each in others.items()}
        report = mean_leakage(rows, **{beside: others[beside]}, **options)
        assert report.average == mean_leakage(rows, **{beside: known[beside]}).average
    groups = np.where(CALLS[:, 0] < 0, 0, CALLS[:, 0])
    frame = pd.DataFrame(CALLS).assign(group=groups)
    report = mean_leakage(frame, by="group", **options)
    expected = mean_leakage(frame[(CALLS >= 0).all(axis=1)], by="group")
    averages = [each.average for each in report.reports.values()]
    assert averages == [each.average for each in expected.reports.values()]
    frame["group"] = np.where(np.arange(len(frame)) % 9, frame["group"], -1)
    with pytest.raises(ValueError, match=r"give each row a group; row 0 has none\. Pass na='drop'"):
        mean_leakage(frame, by="group", missing=-1)
    known = frame[(CALLS >= 0).all(axis=1) & (frame["group"] >= 0)]
    report, expected = (mean_leakage(each, by="group", **options) for each in (frame, known))
    averages = [each.average for each in report.reports.values()]
    assert averages == [each.average for each in expected.reports.values()]


def test_the_least_of_many_measures_is_no_code():
    """Temperatures of -9 and balances of -99 that occur three times, with others around them."""
    rng = np.random.default_rng(5)
    degrees = np.round(rng.normal(-2, 3, 2000).clip(-9, None), 1)
    balances = np.round(rng.normal(0, 30, 2000).clip(-99, None))
    degrees[:4], balances[:4] = -9.0, -99.0
    people = pd.DataFrame({"degrees": degrees, "balance": balances})
    assert not mean_leakage(people).cautions


@pytest.mark.parametrize("place", [0, 300])
def test_a_row_with_marks_in_many_columns_has_one_caution(place):
    """Positions of sites in the first row, or numbers of alleles in the last."""
    rng = np.random.default_rng(6)
    sites = pd.DataFrame(rng.binomial(2, 0.3, (300, 40)).astype(float)).add_prefix("rs")
    assert not mean_leakage(sites).cautions
    positions = pd.DataFrame([np.arange(1000.0, 1040.0)], columns=sites.columns)
    pieces = [positions, sites] if place == 0 else [sites, positions]
    cautions = mean_leakage(pd.concat(pieces, ignore_index=True)).cautions
    (caution,) = (each for each in cautions if "far from all others" in each)
    assert caution.startswith(f"Row {place} holds a number far from all others in 40 columns")
    assert not any("is counted as a value like any other" in each for each in cautions)


@pytest.mark.parametrize(("code", "shift"), [(-1, 0), (0, 1)])
def test_codes_of_missing_genotypes_here_and_there_have_one_caution(code, shift):
    """-1 beside 0, 1 and 2, and 0 beside 1, 2 and 3, of which 3 is a genotype then."""
    rng = np.random.default_rng(8)
    sites = rng.binomial(2, 0.3, (100, 300)) + shift
    sites[rng.random(sites.shape) < 0.01] = code
    (caution,) = mean_leakage(pd.DataFrame(sites).add_prefix("rs")).cautions
    assert caution.startswith(f"{code} is counted as a value like ")


@pytest.mark.parametrize(
    ("zeros", "mean", "named"), [(1, 130, True), (2, 130, True), (1, 75, False), (3, 75, True)]
)
def test_a_lone_pressure_of_0_is_a_code_if_it_is_far_from_the_others(zeros, mean, named):
    """15 is the standard deviation: 75 is five of these above 0."""
    pressure = np.random.default_rng(9).normal(mean, 15.0, 800).round()
    pressure = np.maximum(pressure, 30.0)
    pressure[:zeros] = 0.0
    cautions = mean_leakage(pd.DataFrame({"sbp": pressure})).cautions
    assert [each.startswith("0.0 is counted as a value") for each in cautions] == [True] * named
