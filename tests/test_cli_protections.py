"""``mialeak table --mechanism`` and ``--coarsen``: usual protections compared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mialeak import coarsen, max_leakage, mechanism_leakage
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.mechanisms import Geometric, Round, Suppress
from mialeak.tables import table_leakage

THREE = ["--mechanism", "round:5", "--mechanism", "suppress:10", "--mechanism", "geometric:1.0"]


def test_three_protections_of_adult_are_compared(capsys):
    assert main(["table", "--example", "adult", *THREE, "--top", "0"]) == 0
    said = capsys.readouterr().out
    report = table_leakage(
        load_adult().columns, ["age", "education", "marital_status", "race", "sex"]
    )
    law = report.cell_counts / report.rows
    for name, way in (("round:5", Round(5)), ("suppress:10", Suppress(10)),
                      ("geometric:1.0", Geometric(1.0))):  # fmt: skip
        poisson = float(mechanism_leakage(way, law, report.n, rows="poisson"))
        fixed = mechanism_leakage(way, law, report.n)
        (line,) = (line for line in said.splitlines() if line.endswith(name))
        assert line.split()[:4] == [
            f"{poisson:.3f}", f"{fixed.lower:.3f}", "to", f"{fixed.upper:.3f}"
        ]  # fmt: skip
    assert "Protections compared" in said
    assert "all counts as they are" in said


def test_json_has_both_numbers_of_rows_and_their_kinds(capsys):
    arguments = ["table", "--example", "adult", "--columns", "age", "--json"]
    assert main([*arguments, "--mechanism", "random-round:3", "--coarsen", "0.005"]) == 0
    raw, rounded, merged = json.loads(capsys.readouterr().out)["protections"]
    assert raw["fixed"]["kind"] == raw["poisson"]["kind"] == "exact"
    assert rounded["protection"] == "random-round:3"
    assert rounded["fixed"]["kind"] == "bound"
    assert rounded["fixed"]["upper"] == raw["fixed"]["upper"]
    _, counts = np.unique(load_adult().columns["age"], return_counts=True)
    best = coarsen(counts / counts.sum(), counts.sum(), 0.005, ordered=True)
    assert merged["groups"] == best.groups
    assert merged["optimal"]
    assert merged["fixed"]["lower"] == pytest.approx(best.leakage)
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["protections"] == []


def test_numbers_of_a_csv_are_merged_in_their_order(tmp_path, capsys):
    ages = load_adult().columns["age"]
    path = tmp_path / "ages.csv"
    path.write_text("\n".join(["age", *map(str, ages)]))
    told = []
    for table in ([str(path)], ["--example", "adult", "--columns", "age"]):
        assert main(["table", *table, "--coarsen", "0.01", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["protections"])
    assert told[0][1]["optimal"]
    for ours, theirs in zip(*told, strict=True):
        assert ours["protection"] == theirs["protection"]
        assert ours["poisson"]["lower"] == pytest.approx(theirs["poisson"]["lower"], rel=1e-12)


def test_only_cells_in_an_order_have_neighbours(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n10,x\n9,y\n10,x\n9,x\n")
    assert main(["table", str(path), "--coarsen", "0.5"]) == 0
    assert "3 cells merged to 3 (fewest merges)" in capsys.readouterr().out
    assert main(["table", str(path), "--columns", "a", "--coarsen", "0.5"]) == 0
    assert "2 cells merged to 2 (fewest merges of neighbours)" in capsys.readouterr().out


def test_a_column_of_words_is_merged_greedily(capsys):
    words = ["table", "--example", "adult", "--columns", "education", "--json"]
    assert main([*words, "--coarsen", "0.004"]) == 0
    _, merged = json.loads(capsys.readouterr().out)["protections"]
    _, counts = np.unique(load_adult().columns["education"], return_counts=True)
    p = counts / counts.sum()
    assert merged["poisson"]["kind"] == "exact"
    assert not merged["optimal"]
    assert merged["fixed"]["lower"] <= 0.004 < max_leakage(p, counts.sum())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "round"], "must be round:BASE, random-round:BASE, suppress:BELOW or"),
        (["--mechanism", "round:2.5"], "got 'round:2.5'"),
        (["--mechanism", "round:1"], "got 'round:1'"),
        (["--mechanism", "geometric:-1"], "got 'geometric:-1'"),
        (["--mechanism", "swap:1"], "got 'swap:1'"),
        (["--coarsen", "2"], "--coarsen must be between 0 and 1; got 2 (see"),
        (["--margins", "age,sex", "--coarsen", "0.1"], "go with all joint counts, not with"),
        (["--margins", "age", "--mechanism", "round:5"], "not with --margins"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_exit_with_1(arguments, message, capsys):
    assert main(["table", "--example", "adult", *arguments]) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not said.out
