"""The gates of the shell: limits, quiet ones, and an earlier release as the limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mialeak._report.text import at_most
from mialeak.cli import main

CSV = "sex,age\nf,30\nm,30\nf,30\nf,41\nm,41\nf,30\nm,30\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(CSV)
    return str(path)


def refused(capsys, *arguments):
    """The one line of an error."""
    capsys.readouterr()
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


def test_the_gate_exits_with_2(table):
    assert main(["table", table, "--max-leakage", "0.001"]) == 2


def test_a_quiet_gate_prints_its_sentence_alone_and_only_where_it_stops(table, capsys):
    assert main(["table", table, "--max-leakage", "1", "--quiet", "--accept-cautions"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["table", table, "--max-leakage", "0.001", "--quiet"]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("is above the limit 0.001.")
    assert "beside a limit" in refused(capsys, "table", "no such file.csv", "--quiet")  # at once
    assert "beside a limit" in refused(capsys, "table", table, "--quiet")
    files = [str(Path(table).with_name(name)) for name in ("certificate.json", "recode.csv")]
    writing = ["--certificate", files[0], "--plan", "0.5", "--recode-to", files[1]]
    assert "beside a limit" in refused(capsys, "table", table, "--quiet", *writing)
    assert not any(Path(file).exists() for file in files), "a refused command writes no file"
    assert "--json" in refused(capsys, "table", table, "--max-leakage", "1", "--quiet", "--json")


def test_a_release_is_held_against_an_earlier_one(tmp_path, capsys):
    """The same table passes; one column more leaks more, and stops."""
    earlier, example = tmp_path / "earlier.json", ["table", "--example", "adult"]
    assert main([*example, "--columns", "age", "--json"]) == 0
    earlier.write_text(capsys.readouterr().out)
    gate = [*example, "--baseline", str(earlier)]
    assert main([*gate, "--columns", "age", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main([*gate, "--columns", "age,sex", "--json"]) == 2
    answer, before = json.loads(capsys.readouterr().out), json.loads(earlier.read_text())
    assert answer["limit"] is None
    assert answer["baseline"]["leakage"] == before["judged"]["leakage"]["value"]
    assert answer["judged"]["leakage"]["value"] == answer["estimate"]["high"]
    assert answer["judged"]["leakage"]["value"] > before["estimate"]["high"]


def test_a_baseline_of_another_table_has_a_caution(tmp_path, capsys):
    """A caution decides nothing; a column more or less, or another order, has none."""
    earlier, example = tmp_path / "earlier.json", ["table", "--example", "adult", "--columns"]
    for columns, others, code in (
        ("race,sex", "age,workclass", 3),
        ("race,sex,education", "race,workclass", 3),
        ("age,race,sex", "sex,race", 0),
        ("race,sex", "sex,race", 0),
    ):
        assert main([*example, columns, "--json"]) == 0
        earlier.write_text(capsys.readouterr().out)
        gate = [*example, others, "--max-leakage", "0.9", "--baseline", str(earlier)]
        result, answer = main([*gate, "--json"]), json.loads(capsys.readouterr().out)
        over = answer["baseline"]["over"]
        assert result == (2 if over else code)
        met = [each for each in answer["caveats"] if "they seem to be different tables" in each]
        assert len(met) == (code == 3)
        assert all(f"{each!r}" in met[0] for each in f"{columns},{others}".split(",") if met)
        if code and not over:
            assert main([*gate, "--accept-cautions", "--quiet"]) == 0


def test_a_baseline_of_another_question_is_refused(tmp_path, capsys, table):
    path = tmp_path / "earlier.json"
    assert main(["table", table, "--json"]) == 0
    path.write_text(capsys.readouterr().out)
    message = refused(capsys, "mean", table, "--baseline", str(path))
    assert "must have the schema mialeak.mean/2" in message
    message = refused(capsys, "table", table, "--margins", "sex,age", "--baseline", str(path))
    assert "must have judged the leakage on average" in message
    for text in ("{}", "[1]", "no", '{"schema": 1}'):
        path.write_text(text)
        assert "--json printed" in refused(capsys, "table", table, "--baseline", str(path))
    assert "No such file" in refused(capsys, "table", table, "--baseline", f"{path}x")
    assert "a file of its own" in refused(
        capsys, "table", table, "--baseline", f"{path}.html", "--html", f"{path}.html"
    )


def test_the_gate_goes_by_the_upper_end_of_the_interval(table, capsys):
    assert main(["table", table, "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)["estimate"]
    high = estimate["high"]
    assert estimate["value"] < high < 1
    for limit, code in [(high, 0), (high - 1e-9, 2), (estimate["value"], 2), (0, 2), (1, 0)]:
        assert main(["table", table, "--json", "--max-leakage", repr(limit)]) == code
        content = json.loads(capsys.readouterr().out)
        assert content["limit"] == {
            "max_leakage": limit,
            "leakage": high,
            "max_row_leakage": None,
            "row_leakage": None,
            "over": code == 2,
            "undecided": False,
        }
    assert main(["table", table, "--max-leakage", "0.25"]) == 2
    out = capsys.readouterr().out
    assert out.endswith(
        f"The upper end of the interval, {at_most(high)}, is above the limit 0.25.\n"
    )
    low = float(at_most(high))  # a limit that the four digits do not tell from what is over it
    assert main(["table", table, "--max-leakage", repr(low)]) == 2
    out = capsys.readouterr().out
    assert out.endswith(f"The upper end of the interval, {high!r}, is above the limit {low:g}.\n")
    assert main(["table", table, "--max-leakage", "1"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"The upper end of the interval, {at_most(high)}, is within the limit 1.\n")
    protected = ["--protect", "round:5", "--max-leakage", "1"]
    assert main(["table", table, *protected]) == 0
    assert "The limit is for the counts without protection" in capsys.readouterr().out
