"""``mialeak table --protect`` and ``--coarsen``: usual protections compared."""

from __future__ import annotations

import json

import pytest

from mialeak import mechanism_leakage
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.mechanisms import (
    CellKey,
    DiscreteGaussian,
    Geometric,
    Pipeline,
    RandomRound,
    Round,
    Suppress,
    Synthetic,
)
from mialeak.tables import table_leakage

THREE = ["--protect", "round:5", "--protect", "suppress:10", "--protect", "geometric:1.0"]


def test_three_protections_of_adult_are_compared(capsys):
    assert main(["table", "--example", "adult", *THREE, "--top", "0"]) == 0
    said = capsys.readouterr().out
    columns = ["age", "education", "marital_status", "race", "sex"]
    ways = {"round:5": Round(5), "suppress:10": Suppress(10), "geometric:1.0": Geometric(1.0)}
    report = table_leakage(load_adult().columns, columns, protect=ways)
    assert [table.protection for table in report.protections[1:]] == list(ways)
    law = report.cell_counts / report.rows
    for table in report.protections[1:]:
        fixed = mechanism_leakage(ways[table.protection], law, report.n)
        assert (table.plug_in.lower, table.plug_in.upper) == (fixed.lower, fixed.upper)
        (line,) = (line for line in said.splitlines() if line.endswith(table.protection))
        assert line.split()[0] == f"{table.value:.3f}"
        assert line.split()[3:6] == [f"{fixed.lower:.3f}", "to", f"{fixed.upper:.3f}"]
    assert "Protections compared" in said
    assert "all counts as they are" in said


def test_json_has_the_protections_of_the_report(capsys):
    arguments = ["table", "--example", "adult", "--columns", "age", "--json"]
    assert main([*arguments, "--protect", "random-round:3", "--coarsen", "0.005"]) == 0
    content = json.loads(capsys.readouterr().out)
    ages = {"age": load_adult().columns["age"]}
    report = table_leakage(ages, protect={"random-round:3": RandomRound(3)}, coarsen=0.005)
    assert content["protections"] == [table.to_dict() for table in report.protections]
    raw, rounded, merged = content["protections"]
    assert raw["value"] == content["estimate"]["value"]
    assert raw["plug_in"]["kind"] == "exact"
    assert rounded["protection"] == "random-round:3"
    assert rounded["plug_in"]["kind"] == "bound"
    assert rounded["plug_in"]["upper"] == raw["plug_in"]["upper"]
    assert merged["value"] <= 0.005 < raw["value"]
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
    assert "of neighbours" in told[0][1]["protection"]
    for ours, theirs in zip(*told, strict=True):
        assert ours["protection"] == theirs["protection"]
        assert ours["value"] == pytest.approx(theirs["value"], rel=1e-12)


def test_only_cells_in_an_order_have_neighbours(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n10,x\n9,y\n10,x\n9,x\n")
    assert main(["table", str(path), "--coarsen", "0.95"]) == 0
    assert "3 cells merged to 3 (fewest merges)" in capsys.readouterr().out
    assert main(["table", str(path), "--columns", "a", "--coarsen", "0.95"]) == 0
    assert "2 cells merged to 2 (fewest merges of neighbours)" in capsys.readouterr().out


def test_a_column_of_words_is_merged_greedily(capsys):
    words = ["table", "--example", "adult", "--columns", "education", "--json"]
    assert main([*words, "--coarsen", "0.004"]) == 0
    raw, merged = json.loads(capsys.readouterr().out)["protections"]
    assert merged["plug_in"]["kind"] == "exact"
    assert not merged["optimal"]
    assert "greedily" in merged["protection"]
    assert merged["value"] <= 0.004 < raw["value"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protect", "round"], "must be round:BASE, random-round:BASE, suppress:BELOW"),
        (["--protect", "round:2.5"], "got 'round:2.5'"),
        (["--protect", "round:1"], "got 'round:1'"),
        (["--protect", "geometric:-1"], "got 'geometric:-1'"),
        (["--protect", "swap:1"], "got 'swap:1'"),
        (["--protect", "suppress:3+gaussian:1"], "add noise before counts are hidden"),
        (["--protect", "cell-key:no-such.csv"], "got 'cell-key:no-such.csv' ([Errno 2] No such"),
        (["--coarsen", "2"], "--coarsen must be between 0 and 1; got 2 (see"),
        (["--margins", "age,sex", "--coarsen", "0.1"], "--coarsen must be left out with margins"),
        (["--margins", "age", "--protect", "round:5"], "must be left out with margins"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_exit_with_1(arguments, message, capsys):
    assert main(["table", "--example", "adult", *arguments]) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not said.out


def test_every_protection_has_a_name_in_the_shell(tmp_path, capsys):
    ptable = tmp_path / "ptable.csv"
    ptable.write_text("i;v;p\n0;0;1\n1;-1;0.5\n1;1;0.5\n")
    ways = {
        f"cell-key:{ptable}": CellKey(ptable),
        "gaussian:2": DiscreteGaussian(2.0),
        "synthetic:500": Synthetic(500),
        "suppress:7+round:5": Pipeline(Suppress(7), Round(5)),
        "round:5+suppress:7": Pipeline(Round(5), Suppress(7)),
    }
    options = [word for name in ways for word in ("--protect", name)]
    arguments = ["table", "--example", "adult", "--columns", "age,race", "--json"]
    assert main([*arguments, *options]) == 0
    found = json.loads(capsys.readouterr().out)["protections"]
    columns = {name: load_adult().columns[name] for name in ("age", "race")}
    assert found == [table.to_dict() for table in table_leakage(columns, protect=ways).protections]
    suppressed, rounded = found[-2:]
    assert suppressed["hidden"] < rounded["hidden"]
    assert suppressed["value"] > rounded["value"]
