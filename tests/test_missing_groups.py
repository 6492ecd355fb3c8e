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
