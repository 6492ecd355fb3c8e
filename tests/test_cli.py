"""The shell command: answers on stdout, one line for an error, exit codes that a gate can use."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mialeak
from mialeak import cli
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

CSV = "sex,age\nf,30\nm,30\nf,30\nf,41\nm,41\nf,30\nm,30\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(CSV)
    return str(path)


def shell(*arguments, **options):
    command = [sys.executable, "-m", "mialeak", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def refused(capsys, *arguments):
    """The one line of an error."""
    capsys.readouterr()
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mialeak: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


# --- end to end -------------------------------------------------------------------------------


def test_the_example_answers_in_the_first_line():
    done = shell("table", "--example", "adult")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Publishing these 6,493 counts of 32,561 people leaks 0.")
    assert "32,561 rows, 5 columns: age, education, marital_status, race, sex" in done.stdout
    assert "Rows a release needs to leak at most 0.01" in done.stdout
    assert "Rows most at risk" in done.stdout
    assert done.stdout.endswith(
        "Table from https://archive.ics.uci.edu/dataset/2/adult (CC BY 4.0)\n"
    )


def test_an_error_is_one_line_without_a_traceback(tmp_path):
    done = shell("table", str(tmp_path / "none.csv"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"mialeak: error: {tmp_path / 'none.csv'}: No such file or directory\n"


def test_the_reader_may_leave_early():
    command = f"{sys.executable} -m mialeak table --example adult --top 30000 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Publishing")
    assert done.stderr == ""


def test_without_stdout_the_exit_code_is_the_answer(table):
    command = [sys.executable, "-m", "mialeak", "table", table]
    closed = ["sh", "-c", '"$@" >&-', "sh", *command]
    done = subprocess.run(closed, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_answer_is_written_over_a_file_that_is_read(table, tmp_path, capsys):
    before = Path(table).read_bytes()
    links = {"html": tmp_path / "link.html", "plot": tmp_path / "link.png"}
    for option, link in links.items():
        link.symlink_to(table)
        path = str(link)
        message = f"--{option} must be a file of its own; got {path!r}"
        assert refused(capsys, "table", table, f"--{option}", path) == message
        assert refused(capsys, "mean", table, f"--{option}", path) == message
        for files in ((table, "out.csv"), ("in.csv", table)):
            assert refused(capsys, "audit", *files, f"--{option}", path) == message
    assert Path(table).read_bytes() == before
    for read in ("population", "panel"):
        line = ["table", "people.csv", f"--{read}", table, "--certificate", table]
        assert refused(capsys, *line) == f"--certificate must be a file of its own; got {table!r}"
    line = ["table", "people.csv", "--recode", "codes.csv", "--recode-to", "codes.csv"]
    assert "--recode-to must be a file of its own" in refused(capsys, *line)
    assert Path(table).read_bytes() == before
    both = str(tmp_path / "both.svg")
    message = refused(capsys, "curve", "--mu", "1", "--plot", both, "--html", both)
    assert message.startswith(f"--html must end in .html or .htm; got {both!r}")


def test_names_that_the_terminal_cannot_write_are_escaped(tmp_path):
    (tmp_path / "t.csv").write_text("größe\nü\nß\n", encoding="utf-8")
    env = dict(os.environ, PYTHONIOENCODING="ascii")
    done = shell("table", str(tmp_path / "t.csv"), env=env)
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe" in done.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys, contextlib; from mialeak.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "print(sorted({'numpy', 'scipy', 'pandas', 'pyarrow', 'narwhals'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: mialeak")
    assert done.stdout.endswith("[]\n")


# --- the table --------------------------------------------------------------------------------


def test_json_says_what_the_report_says(capsys):
    assert main(["table", "--example", "adult", "--json", "--top", "2", "--target", "0.05"]) == 0
    content = json.loads(capsys.readouterr().out)
    columns = ["age", "education", "marital_status", "race", "sex"]
    report = table_leakage(load_adult().columns, columns)
    expected = {
        "schema": "mialeak.table/2",
        "mialeak": mialeak.__version__,
        **report.to_dict(top=2),
        "samples": {**report.samples_for(0.05).to_dict(), "margins": None},
        "protections": [],
        "limit": None,
        "plan": None,
        "judged": {
            "leakage": {"of": "upper end of the interval", "value": report.estimate.high},
            "row_leakage": {
                "of": "leakage of the riskiest row, upper end of its 95% range",
                "value": max(size.high for size in report.cell_sizes),
            },
        },
        "baseline": None,
    }
    assert content == expected
    assert list(content) == list(expected)


def test_text_is_that_of_the_report(table, capsys):
    arguments = ["--columns", "age,sex", "--n", "5", "--confidence", "0.9", "--top", "2"]
    assert main(["table", table, *arguments, "--target", "0.1"]) == 0
    columns = {"age": ["30", "30", "30", "41", "41", "30", "30"], "sex": list("fmffmfm")}
    report = table_leakage(columns, n=5, confidence=0.9)
    assert capsys.readouterr().out == report.text(leakage=0.1, top=2) + "\n"


def test_persons_are_shown_only_when_asked_for(table, tmp_path, capsys):
    page = tmp_path / "page.html"
    for option, shown in (([], False), (["--show-rows"], True)):
        arguments = ["table", table, *option]
        assert main([*arguments, "--html", str(page)]) == 0
        text = capsys.readouterr().out
        assert main([*arguments, "--json"]) == 0
        values = [row["values"] for row in json.loads(capsys.readouterr().out)["riskiest"]]
        for out in (text.split("most at risk")[1], page.read_text().split("most at risk")[1]):
            assert (re.search(r"\b41\b", out.split("<footer>")[0]) is not None) == shown
        assert (values[0] == {"sex": "f", "age": "41"}) == shown
        assert (set(map(str, values)) == {"None"}) != shown


def test_the_rows_at_risk_can_be_left_out(table, capsys):
    assert main(["table", table, "--top", "0"]) == 0
    assert "at risk" not in capsys.readouterr().out


def test_files_of_every_kind_give_the_same_answer(table, tmp_path, capsys):
    assert main(["table", table]) == 0
    expected = capsys.readouterr().out
    values = [line.split(",") for line in CSV.splitlines()[1:]]
    columns = {"sex": [sex for sex, _ in values], "age": [int(age) for _, age in values]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    import numpy as np

    np.savez(tmp_path / "t.npz", **columns)
    (tmp_path / "t.tsv").write_text(CSV.replace(",", "\t"))
    for name in ("t.parquet", "t.npz", "t.tsv"):
        assert main(["table", str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == expected, name


def test_names_with_commas_are_quoted(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text('"a,b",c\n1,2\n3,4\n')
    assert main(["table", str(path), "--columns", '"a,b", c', "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["a,b", "c"]


def test_delimiters_are_told(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(CSV.replace(",", ";"))
    assert "single column; if ';' divides" in refused(capsys, "table", str(path))
    assert main(["table", str(path), "--delimiter", ";"]) == 0
    path.write_text(CSV.replace(",", "\t"))
    assert r"if '\t' divides its columns" in refused(capsys, "table", str(path))
    assert main(["table", str(path), "--delimiter", r"\t"]) == 0


@pytest.mark.parametrize(("na", "rows", "dropped"), [("category", 8, 0), ("drop", 7, 1)])
def test_missing_values_are_refused_counted_or_dropped(tmp_path, capsys, na, rows, dropped):
    path = tmp_path / "t.csv"
    path.write_text(CSV + "f,\n")
    assert refused(capsys, "table", str(path)) == (
        f"{path} must have no missing values; there are 1 in column 'age'. "
        "Pass --na category to count missing as a value, or --na drop to leave such rows out"
    )
    assert main(["table", str(path), "--na", na, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["rows"], content["rows_dropped"]) == (rows, dropped)


# --- errors -----------------------------------------------------------------------------------

USAGE = "table takes a FILE or --example, one of them (see mialeak table --help)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND (see mialeak --help)"),
        (["tabel"], "argument COMMAND: invalid choice: 'tabel'"),  # 3.15 adds a guess
        (["table"], USAGE),
        (["table", "FILE", "--example", "adult"], USAGE),
        (["table", "FILE", "--what"], "unrecognized arguments: --what (see mialeak table --help)"),
        (
            ["table", "FILE", "--n", "3.5"],
            "--n must be a whole number; got '3.5' (see mialeak table --help)",
        ),
        (["table", "FILE", "--n", "0"], "--n must be at least 1; got 0"),
        (["table", "FILE", "--top", "-1"], "--top must be at least 0; got -1"),
        (
            ["table", "FILE", "--target", "x"],
            "--target must be a number; got 'x' (see mialeak table --help)",
        ),
        (
            ["table", "FILE", "--target", "2"],
            "--target must be strictly between 0 and 1; got 2 (see mialeak table --help)",
        ),
        (
            ["table", "FILE", "--max-leakage", "nan"],
            "--max-leakage must be between 0 and 1; got nan (see mialeak table --help)",
        ),
        (
            ["table", "FILE", "--max-leakage", "1.5"],
            "--max-leakage must be between 0 and 1; got 1.5",
        ),
        (
            ["table", "FILE", "--confidence", "95"],
            "--confidence must be strictly between 0 and 1; got 95",
        ),
        (
            ["table", "FILE", "--columns", "sex,agee"],
            "--columns must be columns of the table; got 'agee'. Did you mean 'age'?",
        ),
        (["table", "FILE", "--columns", ""], "--columns must name at least one column"),
        (
            ["table", "FILE", "--columns", 'sex,"age'],
            "--columns must be a line of CSV; got 'sex,\"age' (unexpected end of data)",
        ),
        (
            ["table", "--example", "adult", "--columns", "marital"],
            "--columns must be columns of the table; got 'marital'. Did you mean 'marital_status'?",
        ),
        (
            ["table", "FILE", "--margins", "sex,agee*sex"],
            "--margins must be columns of the table; got 'agee'. Did you mean 'age'?",
        ),
        (
            ["table", "FILE", "--columns", "sex", "--margins", "sex*age"],
            "--margins must name columns that are chosen; got 'age'",
        ),
        (
            ["table", "FILE", "--margins", "sex*sex"],
            "--margins must name a column once each; got ('sex', 'sex')",
        ),
        (["table", "FILE", "--margins", ""], "--margins must name at least one column"),
        (
            ["table", "FILE", "--target", "1e-16"],
            "--target must be reached with at most 2**53 rows, which leak 1.80068e-08; got",
        ),
        (["table", "FILE", "--delimiter", "::"], "--delimiter must be one character; got '::'"),
        (
            ["table", "FILE", "--conf", "0.9"],
            "unrecognized arguments: --conf 0.9 (see mialeak table --help)",
        ),
        (["info", "FILE"], "unrecognized arguments: FILE (see mialeak info --help)"),
    ],
)
def test_errors_are_one_line_on_stderr_and_exit_with_1(table, capsys, arguments, message):
    arguments = [table if word == "FILE" else word for word in arguments]
    # argparse words the lists of choices differently from one Python to the next.
    assert refused(capsys, *arguments).replace(table, "FILE").startswith(message)


def test_errors_of_files_name_the_file(tmp_path, capsys):
    message = f"{tmp_path} is a folder without a Parquet file"
    assert refused(capsys, "table", str(tmp_path)) == message
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    message = f"{tmp_path} must hold Parquet files alone; it holds folder.csv"
    assert refused(capsys, "table", str(tmp_path)).startswith(message)
    ragged = tmp_path / "t.csv"
    ragged.write_text("a,b\n1,2\n3\n")
    message = f"{ragged} line 3 has 1 field where the header has 2"
    assert refused(capsys, "table", str(ragged)) == message


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "mialeak: interrupted\n"),
        (MemoryError(), 1, "mialeak: error: not enough memory\n"),
        (ValueError("two\nlines"), 1, "mialeak: error: two lines\n"),
    ],
)
def test_interrupts_and_exhaustion_end_without_a_traceback(monkeypatch, capsys, error, code, line):
    def fail(options):
        raise error

    monkeypatch.setattr(cli.table, "run", fail)
    monkeypatch.setattr(cli, "_parser", cli._parser.__wrapped__)  # one that is not kept
    assert main(["table", "--example", "adult"]) == code
    assert capsys.readouterr().err == line


# --- the rest ---------------------------------------------------------------------------------


def described(capsys, *arguments):
    """What ``--help`` prints."""
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def commands(capsys):
    """The subcommands, as the help lists them."""
    return re.findall(r"^    (\w+)  ", described(capsys), re.MULTILINE)


def test_help_ends_with_examples_that_the_parser_takes(commands, capsys):
    assert {"table", "mean", "curve", "info"} <= set(commands)
    for command in ([], *([command] for command in commands)):
        text = described(capsys, *command)
        assert text.startswith(" ".join(["usage: mialeak", *command]))
        examples = re.findall(r"^  (?:\w+=\w+ )?mialeak (.*)$", text, re.MULTILINE)
        assert 2 <= len(examples) <= 4
        for example in examples:
            words = shlex.split(example)
            if "--help" not in words:
                cli._parse(words, argparse.Namespace())
                assert words[0] == (command or words)[0]


def test_help_fits_the_usual_terminal(commands, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in ([], *([command] for command in commands)):
        assert max(map(len, described(capsys, *command).splitlines())) < 80


def test_an_option_that_two_commands_share_is_described_alike(commands, capsys):
    found: dict[str, set[str]] = {}
    for command in commands:
        text = described(capsys, command).split("options:")[1].split("\n\n")[0]
        for option in re.split(r"\n  (?=-)", text)[1:]:
            name, *words = option.replace(",", " ").split()
            found.setdefault(name, set()).add(" ".join(words))
    # Their values differ from command to command, or what they are for.
    differ = {
        "--example",
        "--columns",
        "--panel",
        "--population",
        "--target",
        "--na",
        "--top",
        "--delta",
    }
    for name in set(found) - differ:
        assert len(found[name]) == 1, found[name]


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"mialeak {mialeak.__version__}\n"


def test_info_prints_the_configuration(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    config = mialeak.show_config(mode="dicts")
    assert f"kernel      {config['kernel']['isa']} of " in text
    assert text.startswith(f"mialeak     {mialeak.__version__}\n")
    mialeak.show_config()
    assert capsys.readouterr().out == text


def test_info_as_json_is_the_configuration(capsys):
    assert main(["info", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content.pop("schema") == "mialeak.info/1"
    assert content.pop("mialeak") == mialeak.__version__
    assert content == mialeak.show_config(mode="dicts")


def test_the_configuration_names_versions_kernel_blas_and_processors():
    import numpy as np
    import scipy

    config = mialeak.show_config(mode="dicts")
    assert config["versions"]["numpy"] == np.__version__
    assert config["versions"]["scipy"] == scipy.__version__
    assert config["kernel"]["isa"] in config["kernel"]["available"]
    assert config["blas"][0]["num_threads"] >= 1
    assert 1 <= config["processors"]["usable"] <= config["processors"]["installed"]


def test_a_forced_kernel_is_told():
    env = dict(os.environ, MIALEAK_ISA="sse2")
    assert "sse2 of " in shell("info", env=env).stdout
    assert "forced by MIALEAK_ISA=sse2" in shell("info", env=env).stdout


def test_the_mode_of_the_configuration_is_checked():
    with pytest.raises(ValueError, match='mode must be "stdout" or "dicts"; got mode = \'dict\''):
        mialeak.show_config(mode="dict")
