"""``mialeak mean``: columns that are names, that number rows, that are linked, that are many."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mialeak.cli import main
from mialeak.datasets import load_genotypes
from mialeak.means import mean_leakage


def answer(capsys, *arguments):
    """The JSON of an answer."""
    assert main(["mean", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    """The one line of an error."""
    assert main(["mean", *arguments]) == 1
    return capsys.readouterr().err.removeprefix("mialeak: error: ").rstrip("\n")


@pytest.fixture
def cohort(tmp_path):
    """Names, numbers of rows, and three columns of data; one of them nearly of numbers."""
    path = tmp_path / "cohort.csv"
    rows = [
        f"P{i},{i + 1},{i % 7},{'none' if i == 5 else i % 5},{'0' if i % 2 else 'a'}"
        for i in range(40)
    ]
    path.write_text("\n".join(["sample,no,age,income,code", *rows]))
    return str(path)


def test_names_are_not_published_and_the_answer_begins_with_it(cohort, capsys):
    """0.1 answered "leaks 1 on average", and its fourth caveat named the column."""
    content = answer(capsys, cohort, "--exclude", "no")
    assert content["names"] == ["sample"]
    assert [column["name"] for column in content["columns"]] == ["age", "income", "code"]
    assert content["average"] < 0.5
    assert content["caveats"][0] == (
        "Not published: 'sample', in which every row has its own value, as a name has."
    )
    assert main(["mean", cohort, "--exclude", "no"]) == 0
    answered = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert "(guessing: 50%). Not published: 'sample', in which every row" in answered
    without = answer(capsys, cohort, "--columns", "age,income,code")
    assert without["names"] == []
    assert without["highest"] == content["highest"]


def test_a_name_that_is_chosen_is_published_with_a_warning(cohort, capsys):
    content = answer(capsys, cohort, "--columns", "sample,age")
    assert content["highest"] == 1.0
    assert main(["mean", cohort, "--columns", "sample,age"]) == 0
    answered = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert "Every row has its own value in 'sample': this alone makes the leakage 1." in answered


def test_numbers_of_rows_are_named_in_the_answer(cohort, capsys):
    assert main(["mean", cohort]) == 0
    answered = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert "'no': whole numbers, different in every row. Exclude what is a number of" in answered


def test_a_column_nearly_of_numbers_is_told(cohort, capsys):
    assert answer(capsys, cohort)["caveats"][-1] == (
        "Column 'income' is taken as a category: not all of its values are numbers, 'none' is none."
    )


# --- linkage ----------------------------------------------------------------------------------


@pytest.fixture
def genotypes(tmp_path):
    """500 people of 127 sites."""
    counts = load_genotypes().counts[::5][:500]
    counts = counts[:, (counts.std(axis=0) > 0)]
    path = tmp_path / "genotypes.npz"
    np.savez(path, **{f"s{j}": column for j, column in enumerate(counts.T)})
    return str(path)


def test_linkage_that_is_left_out_is_named_in_the_answer(genotypes, capsys):
    assert main(["mean", genotypes]) == 0
    answered = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert (
        "(guessing: 50%). Columns are taken as uncorrelated (500 rows are at most 5 for" in answered
    )
    assert "a shrunk covariance takes their correlations into account." in answered


def test_linkage_can_be_taken_into_account(genotypes, capsys):
    content = {kind: answer(capsys, genotypes, "--covariance", kind) for kind in ("shrunk", "auto")}
    assert [x["covariance"] for x in content.values()] == ["shrunk", "diagonal"]
    assert 0 < content["shrunk"]["shrinkage"] < 1
    assert content["auto"]["shrinkage"] is None
    full = answer(capsys, genotypes, "--covariance", "full")
    assert "too high by a factor of about 1.3" in full["caveats"][0]
    assert content["shrunk"]["average"] < 0.9 * full["average"]
    assert main(["mean", genotypes, "--covariance", "shrunk"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Correlations are shrunk to 0 by an intensity of" in printed


def test_a_full_covariance_of_few_rows_is_refused(tmp_path, capsys):
    path = tmp_path / "t.npz"
    rng = np.random.default_rng(3)
    np.savez(path, **{f"s{j}": rng.normal(size=50) for j in range(25)})
    assert refused(capsys, str(path), "--covariance", "full").startswith(
        '--covariance must be "shrunk" or "diagonal" for 50 rows and 25 free columns. A full '
        "covariance takes more than two rows for each dimension"
    )


def test_thousands_of_columns_are_no_square_of_columns(monkeypatch):
    """0.1 summed over all columns for each of them; the sum is taken once."""
    frame = {f"s{j}": np.arange(6) * (j % 5) % 7 for j in range(300)}
    taken = []
    original = np.count_nonzero
    monkeypatch.setattr(np, "count_nonzero", lambda *x, **y: taken.append(1) or original(*x, **y))
    mean_leakage(frame).to_dict()
    assert len(taken) < 3 * 300


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("people.panel", "--samples must end in .csv or .tsv"),
        ("people.tsv", "--samples must have a column 'sample', with the names that FILE has"),
    ],
)
def test_files_of_samples_are_refused_in_words_of_their_option(tmp_path, capsys, name, words):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,2\n2,5\n4,3\n" * 4)
    (tmp_path / name).write_text("#IID\tpop\np0\ta\n")
    line = ["mean", str(tmp_path / "t.csv"), "--by", "pop", "--samples", str(tmp_path / name)]
    assert main(line) == 1
    assert words in capsys.readouterr().err


def test_groups_of_several_columns_of_samples_are_refused_with_the_cure(tmp_path, capsys):
    table, people = tmp_path / "t.csv", tmp_path / "people.csv"
    table.write_text("sample,rs1\n" + "".join(f"P{k},{k % 3}\n" for k in range(12)))
    lines = [f"P{k},{'AB'[k % 2]},{'fm'[k % 2]}{'AB'[k % 2]}" for k in range(12)]
    people.write_text("\n".join(["sample,pop,both", *lines]) + "\n")
    line = ["mean", str(table), "--samples", str(people), "--by"]
    assert main([*line, "pop,sex"]) == 1
    error = capsys.readouterr().err
    assert f"--by must be one column of {people}; got 'pop,sex'. Groups of several" in error
    assert main([*line, "both"]) == 0
