"""Rows without a group, and lists of codes that begin with a number below 0."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage
from mialeak.cli import main

RNG = np.random.default_rng(31)
FRAME = pd.DataFrame(
    {"x": RNG.integers(30, 90, 120), "y": RNG.integers(0, 50, 120), "arm": RNG.choice([1, 2], 120)}
)


def test_rows_without_a_group_are_left_out_if_asked_for(tmp_path, capsys):
    """Each group is judged as if they were not in the table, and the report counts them."""
    coded = FRAME.copy()
    coded.loc[[3, 50, 51], "arm"] = -9
    known = coded[coded["arm"] > 0]
    with pytest.raises(ValueError, match=r"row 3 has none\. Pass na='drop' to leave such rows out"):
        mean_leakage(coded, by="arm", missing=-9)
    report = mean_leakage(coded, by="arm", missing=-9, na="drop")
    expected = mean_leakage(known, by="arm")
    for group, each in expected.reports.items():
        assert each.leakage == pytest.approx(report.reports[group].leakage)
    assert "3 rows without a group of arm: left out." in str(report)
    assert "without a group" not in str(expected)
    coded.to_csv(tmp_path / "t.csv", index=False)
    line = ["mean", str(tmp_path / "t.csv"), "--by", "arm", "--missing", "-9"]
    assert main(line) == 1
    assert "Pass --na drop to leave such rows out" in capsys.readouterr().err
    assert main([*line, "--na", "drop"]) == 0


@pytest.mark.parametrize("by", ["arm", [None] * 120, pd.Series([None] * 120)])
def test_groups_that_are_all_missing_are_refused(by):
    with pytest.raises(ValueError, match=r"^by must give rows a group; all values are missing\. "):
        mean_leakage(FRAME.assign(arm=np.nan), by=by, na="drop", columns=["x", "y"])


@pytest.mark.parametrize("codes", ["-3,-7", "-3,NA", "-3.0,-7.0", "-3,y=-7"])
def test_lists_of_codes_below_0_need_no_sign(tmp_path, capsys, codes):
    coded = FRAME.astype(str if "." not in codes else float).astype(str)
    coded.loc[[3, 5], "x"] = codes.split(",")[0]
    coded.loc[7, "y"] = codes.split(",")[1].removeprefix("y=")
    coded.to_csv(tmp_path / "t.csv", index=False)
    answers = []
    for typed in (["--missing", codes], [f"--missing={codes}"]):
        assert main(["mean", str(tmp_path / "t.csv"), *typed, "--na", "drop", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["rows_dropped"] == 3
    assert main(["mean", str(tmp_path / "t.csv"), "--missing", "-x,y"]) == 1
    assert "stands behind =" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("groups", "other"),
    [(["F", "M"], "f"), (["Berlin", "Kiel"], "berlin"), (["Göttingen", "Kiel"], "Goettingen"),
     (["1", "2"], "1.0"), (["EUR", "AFR"], "Eur")],
)  # fmt: skip
def test_groups_of_two_spellings_have_a_caution(groups, other):
    rng = np.random.default_rng(5)
    table = {"age": rng.integers(18, 90, 300), "g": np.array(groups, object)[np.arange(300) % 2]}
    assert mean_leakage(table, by="g").cautions == ()
    table["g"][:20:2] = other
    (caution,) = mean_leakage(table, by="g").cautions
    assert "are counted apart, in column 'g' (rows 0, 20 for 'g')" in caution


def test_samples_of_one_person_show_by_the_table_of_samples():
    rng = np.random.default_rng(19)
    names = [f"S{k:03}" for k in range(240)]
    table = {"sample": names, "x": rng.normal(size=240), "y": rng.normal(size=240)}
    samples = {"sample": names, "group": ["a", "b"] * 120}
    for column, count in (("subject_id", 120), ("donor", 60)):
        owner = [f"P{k % count}" for k in range(240)]
        given = pd.DataFrame({**samples, column: owner}).sample(frac=1.0, random_state=1)
        (caution,) = mean_leakage(table, by="group", samples=given).cautions
        assert caution.startswith(f"Column {column!r}, which is left out, has the name of an")
        assert f"240 rows have {count} of its values" in caution
    given = pd.DataFrame({**samples, "subject_id": names, "plate": owner})
    assert mean_leakage(table, by="group", samples=given).cautions == ()
