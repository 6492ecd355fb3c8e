"""Errors of the shell: short whatever the input, with the options of the shell in them."""

from __future__ import annotations

import pickle
import re
import shlex

import pytest

from mialeak._arrays import invalid, listed, unsupported
from mialeak.cli import main
from mialeak.cli._output import LONGEST, as_typed, in_shell, shortened


def refused(capsys, *arguments):
    """The one line of an error."""
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


@pytest.mark.parametrize("option", ["--suppressed=1", "--total=Total"])
def test_an_option_of_counted_tables_names_the_option_that_is_missing(option, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("sex,age\nf,1\nm,2\nf,1\n")
    message = refused(capsys, "table", str(path), option)
    assert "without --counts: it is about a table of counts. Pass --counts" in message


@pytest.mark.parametrize(
    "line",
    [
        "table FILE --margins age --margins sex",
        "table FILE --columns age --exclude sex --columns sex",
        "mean FILE --exclude age --exclude sex",
        "release FILE --max-leakage 0.5 --max-leakage 0.1",
        "curve --dp-sgd sigma=1,rate=0.1,steps=10 --delta 1e-5 --dp-sgd sigma=2,rate=0.1,steps=10",
    ],
)
def test_a_second_value_of_an_option_is_not_put_in_place_of_the_first(line, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("sex,age\nf,1\nm,2\nf,1\n")
    words = [str(path) if word == "FILE" else word for word in line.split()]
    assert "is given twice: write it once, with all of its values" in refused(capsys, *words)


def test_an_error_has_at_most_600_characters(tmp_path, capsys):
    names = [f"column {place} of a survey with long names" for place in range(2000)]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n" + "\n".join([",".join(["1", "2"] * 1000)] * 3) + "\n")
    long = "x" * 5000
    for arguments in (
        ["table", str(path), "--columns", long],
        ["table", str(path), "--columns", ",".join([*names, names[0]])],
        ["table", str(path), "--columns", "a," * 3000],
        ["table", str(path), *[f"--{name.replace(' ', '-')}" for name in names]],
        ["table", str(path), "--example", long],
        ["table", str(path), "--max-leakage", long],
        ["table", f"{long}.csv"],
        ["mean", str(path), "--columns", long],
    ):
        assert len(refused(capsys, *arguments)) <= LONGEST == 600
    path.write_text(",".join(names) + "\n" + "\n".join(["," * 1999] * 3) + "\n")
    for command in ("table", "mean"):
        message = refused(capsys, command, str(path))
        assert "column 2 of a survey with long names' and 1,997 more. Pass --na " in message


def test_a_long_error_keeps_its_beginning_and_its_end():
    assert shortened("a" * LONGEST) == "a" * LONGEST
    line = shortened("begin " + "a" * LONGEST + " end")
    assert len(line) == LONGEST
    assert line.startswith("begin aaa")
    assert line.endswith("aaa end")
    assert " ... " in line


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("pass exclude=['id'].", "pass --exclude id."),
        ("pass exclude=['a', \"b's\", 'c,d']", "pass --exclude 'a,b'\"'\"'s,\"c,d\"'"),
        ("pass missing=['?'] or missing=['-9']", "pass --missing '?' or --missing -9"),
        ("pass missing=['./.'].", "pass --missing './.'."),
        ("pass counts='n'", "pass --counts n"),
        ("pass counts='my n'", "pass --counts 'my n'"),
        ("na='drop'; header=False; header=True", "--na drop; --no-header; --header"),
        ("Pass unmatched='omit' to leave", "Pass --unmatched omit to leave"),
        ("pass other=['id']", "pass other=['id']"),
    ],
)
def test_advice_is_worded_for_the_shell(text, typed):
    assert in_shell(text) == typed


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (["a"], "'a'"),
        ("abc", "'a', 'b', 'c'"),
        ("abcd", "'a', 'b', 'c' and 1 more"),
        (range(2003), "0, 1, 2 and 2,000 more"),
    ],
)
def test_a_list_names_three_and_a_count(items, text):
    assert listed(items) == text


def test_no_item_and_no_value_fills_an_error():
    assert len(listed(["x" * 1000] * 5)) < 330
    with pytest.raises(ValueError, match="must be short; got n = 'xxx") as caught:
        invalid("n", "be short", value="x" * 1000, remedy="Shorten it")
    assert str(caught.value).endswith("xxx'. Shorten it")
    assert len(str(caught.value)) < 150


def test_an_option_stands_for_the_argument_and_its_place():
    """From the parts of the error: the words of a message may change."""
    typed = {"columns": "--columns", "exact": "--exact"}
    for raised, line in (
        (
            lambda: invalid("columns", "be columns", index=1, value="b", remedy="Try columns = c"),
            "--columns must be columns; got 'b'. Try columns = c",
        ),
        (
            lambda: invalid("rows", "not be columns must be", value=3),
            "rows must not be columns must be; got rows = 3",
        ),
        (
            lambda: invalid("columns", "be integers", error=TypeError),
            "--columns must be integers",
        ),
        (
            lambda: unsupported("exact", "with noise", "no law is known", "Leave out exact"),
            "--exact is not available with noise: no law is known. Leave out --exact",
        ),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            raised()
        assert as_typed(caught.value, {"names": "--names", **typed}) == line


def test_an_error_of_another_kind_is_not_taken_apart():
    assert as_typed(ValueError("columns must go"), {"columns": "--columns"}) == "columns must go"


def test_an_error_and_its_parts_go_through_a_pickle():
    """As errors of workers do, whatever the value is."""
    with pytest.raises(TypeError) as caught:
        invalid("score", "be a number", index=2, value=lambda: None, error=TypeError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) == again.fault.sentence()
    assert again.fault == caught.value.fault
    assert (again.fault.argument, again.fault.rule, again.fault.index) == (
        "score",
        "be a number",
        2,
    )
    assert again.fault.value.startswith("<function")


@pytest.mark.parametrize("mark", ["--", "-", "-x", "-9", "--,-9", "-1,-2"])
def test_a_mark_that_begins_with_a_dash_is_taken_as_the_caution_writes_it(tmp_path, capsys, mark):
    """Argparse takes such values for options, and -- for their end."""
    path = tmp_path / "t.csv"
    rows = [f"{20 + k % 30},{'fm'[k % 2]}" for k in range(60)]
    path.write_text("\n".join(["age,sex", *rows, *(f"{each},f" for each in mark.split(","))]))
    assert main(["table", str(path), f"--missing={mark}", "--na", "drop"]) == 0
    capsys.readouterr()
    assert main(["table", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    typed = re.findall(r"pass (--missing.*?)\. ", text)
    if typed:
        assert main(["table", str(path), *shlex.split(" ".join(typed)), "--na", "drop"]) == 0
        assert "missing value, pass" not in " ".join(capsys.readouterr().out.split())


def test_a_value_that_looks_like_an_option_is_named_with_its_cure(capsys):
    for line in (["--missing", "-x"], ["--missing", "--"], ["--missing"]):
        assert main(["table", "t.csv", *line]) == 1
        assert (
            "one that begins with - stands behind =, as in --missing=-x" in capsys.readouterr().err
        )
