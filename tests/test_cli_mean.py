"""``mialeak mean``: every row of a table against the release of its own means."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import mialeak
from mialeak._report.text import at_most
from mialeak.cli import main
from mialeak.datasets import load_adult, load_genotypes
from mialeak.means import mean_leakage


def write(path, columns):
    rows = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(6)
    rows = 60
    return {
        "age": rng.integers(20, 60, rows).tolist(),
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "income": np.round(rng.lognormal(3.0, 0.7, rows), 2).tolist(),
    }


@pytest.fixture
def table(tmp_path, columns):
    return write(tmp_path / "table.csv", columns)


def answer(capsys, *arguments, code=0):
    """The JSON of an answer; no number in it that JSON does not know."""
    assert main(["mean", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def refused(capsys, *arguments):
    """The one line of an error."""
    assert main(["mean", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mialeak: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


def advantage(score):
    return 2 * stats.norm.cdf(math.sqrt(score) / 2) - 1


# --- genotypes, end to end --------------------------------------------------------------------


@pytest.fixture(scope="module")
def scores():
    """Of all people, each by the mean and covariance of the others, recomputed for a few."""
    counts = load_genotypes().counts.astype(float)

    def score(row, noise_std=0.0):
        others = np.delete(counts, row, axis=0)
        noise = len(counts) * noise_std**2 * np.diag(counts.var(axis=0))
        gap = counts[row] - others.mean(axis=0)
        cov = np.cov(others, rowvar=False) + noise
        return gap @ np.linalg.solve(cov, gap) / len(counts)

    return score


def test_the_example_answers_in_one_sentence(capsys):
    assert main(["mean", "--example", "genotypes", "--show-rows"]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert " ".join(lines[:3]).startswith(
        "Publishing the means of these 127 columns over 2,504 rows leaks 0.091 on average and "
        "0.133 about the riskiest row: an attacker who knows the population and sees the means "
        "can tell with 56.6% accuracy whether that row is among the rows (guessing: 50%)."
    )
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert "full covariance of 127 free columns" in text
    assert "Rows most at risk (20 of 2,504; row 0 is the first)" in text
    assert lines[-2].startswith("Table from https://www.internationalgenome.org")
    assert text.count("AMR") > 10


def test_the_scores_of_the_example_are_those_of_recomputation(capsys, scores):
    content = answer(capsys, "--example", "genotypes", "--target", "0.02", "--show-rows")
    assert len(content["riskiest"]) == 20
    for row in content["riskiest"]:
        assert row["score"] == pytest.approx(scores(row["row"]), rel=1e-9)
        assert row["leakage"] == pytest.approx(advantage(row["score"]), rel=1e-12)
    assert content["highest"] == content["riskiest"][0]["leakage"]
    # The expected score of a fresh row is d/n; that of a row judged by the others a little more.
    assert advantage(127 / 2504) < content["average"] < 1.1 * advantage(127 / 2504)

    noise_std = content["noise_needed"]["riskiest"]
    genotypes = load_genotypes()
    frame = dict(zip(genotypes.snps.tolist(), genotypes.counts.T, strict=True))
    leakage = mean_leakage(frame).leakage_with(noise_std)
    riskiest = int(np.argmax(leakage))
    assert advantage(scores(riskiest, noise_std)) == pytest.approx(0.02, rel=1e-6)
    first = content["riskiest"][0]
    assert first["labels"] == {
        name: genotypes.columns[name][first["row"]]
        for name in ("sample", "population", "superpopulation")
    }


def test_persons_are_shown_only_when_asked_for(tmp_path, capsys):
    page = tmp_path / "page.html"
    for option, shown in (([], False), (["--show-rows"], True)):
        arguments = ["--example", "genotypes", "--top", "3", *option]
        assert main(["mean", *arguments, "--html", str(page)]) == 0
        for out in (capsys.readouterr().out, page.read_text()):
            assert ("NA19716" in out) == shown
            assert ("rs12130799 = 2 (+5.5)" in out) == shown
        for row in answer(capsys, *arguments)["riskiest"]:
            assert (row["labels"] is not None) == (row["furthest"] is not None) == shown


def test_furthest_columns_are_told_with_value_and_distance(capsys):
    content = answer(capsys, "--example", "genotypes", "--top", "1", "--show-rows")
    genotypes = load_genotypes()
    counts = genotypes.counts.astype(float)
    (row,) = content["riskiest"]
    distance = (counts[row["row"]] - counts.mean(axis=0)) / counts.std(axis=0)
    order = np.argsort(-np.abs(distance))[: len(row["furthest"])]
    for found, place in zip(row["furthest"], order, strict=True):
        assert found["column"] == genotypes.snps[place]
        assert found["value"] == counts[row["row"], place]
        assert found["deviations"] == pytest.approx(distance[place], rel=1e-9)


# --- a table of numbers and categories --------------------------------------------------------


def test_json_says_what_the_report_says(table, columns, capsys):
    options = ["--noise-std", "0.05", "--rate", "0.5", "--target", "0.1", "--top", "2"]
    content = answer(capsys, table, *options)
    frame = {name: np.array(values) for name, values in columns.items()}
    report = mean_leakage(frame, noise_std=0.05, sampling_rate=0.5)
    expected = {
        "schema": "mialeak.mean/2",
        "mialeak": mialeak.__version__,
        **report.to_dict(leakage=0.1, top=2),
        "limit": None,
        "judged": {"leakage": {"of": "riskiest row", "value": report.highest}},
        "baseline": None,
    }
    assert content == expected
    assert list(content) == list(expected)
    assert content["kind"] == "asymptotic"
    assert (content["rows"], content["rows_used"], content["free_columns"]) == (60, 30, 3)
    assert content["average"] == pytest.approx(report.leakage.mean(), rel=1e-14)
    assert content["columns"][0] == {
        "name": "age",
        "kind": "number",
        "mean": pytest.approx(np.mean(columns["age"])),
        "std": pytest.approx(np.std(columns["age"])),
    }
    assert content["columns"][1] == {"name": "sex", "kind": "category", "values": 2}


def test_a_share_of_the_rows_leaks_at_most_that_share(table, capsys):
    content = answer(capsys, table, "--rate", "0.1")
    assert content["rows_used"] == 6
    assert content["highest"] <= 0.1
    score = content["riskiest"][0]["score"]
    assert content["highest"] == pytest.approx(0.1 * advantage(score), rel=1e-12)
    bare = answer(capsys, table)
    assert score == pytest.approx(10 * bare["riskiest"][0]["score"], rel=1e-9)
    assert main(["mean", table, "--rate", "0.1"]) == 0
    assert "over 6 rows drawn from 60 rows leaks" in capsys.readouterr().out.replace("\n", " ")
    assert answer(capsys, table, "--rate", "0.1", "--target", "0.1")["noise_needed"] == {
        "leakage": 0.1,
        "riskiest": 0.0,
        "average": 0.0,
    }


def test_noise_lowers_the_leakage_of_the_riskiest_row_and_on_average(table, capsys):
    effect = answer(capsys, table, "--noise-std", "0.3")["noise_effect"]
    stds = [x["noise_std"] for x in effect]
    assert stds == pytest.approx(sorted([0.3, *(np.array([0, 0.5, 1, 2, 5, 10]) / math.sqrt(60))]))
    for name in ("riskiest", "average"):
        assert np.all(np.diff([x[name] for x in effect]) < 0)
    found = {x["noise_std"]: x["riskiest"] for x in effect}
    assert found[0.0] == answer(capsys, table)["highest"]
    assert found[0.3] == answer(capsys, table, "--noise-std", "0.3")["highest"]


@pytest.mark.parametrize("target", [0.3, 0.01, 1e-6])
def test_the_noise_needed_is_the_least_that_does(columns, target):
    frame = {name: np.array(values) for name, values in columns.items()}
    report = mean_leakage(frame)
    needed = report.noise_needed(target)
    for name, summary in (("riskiest", np.max), ("average", np.mean)):
        if summary(report.leakage) <= target:
            assert needed[name] == 0
        else:
            assert summary(report.leakage_with(needed[name])) <= target
            assert summary(report.leakage_with(needed[name] * (1 - 1e-6))) > target
    assert needed["average"] <= needed["riskiest"]


def test_the_noise_that_is_told_passes_the_gate(capsys):
    assert main(["mean", "--example", "genotypes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    noise = next(line.split()[0] for line in lines if line.endswith("so about every row"))
    gate = ["mean", "--example", "genotypes", "--max-leakage", "0.01", "--noise-std"]
    assert main([*gate, noise]) == 0
    assert main([*gate, f"{float(noise) * (1 - 1e-3)}"]) == 2


def test_the_distribution_counts_rows(table, columns, capsys):
    content = answer(capsys, table)
    frame = {name: np.array(values) for name, values in columns.items()}
    leakage = mean_leakage(frame).leakage
    assert [point["share"] for point in content["distribution"]] == [0.01, 0.1, 0.5, 0.9]
    for point in content["distribution"][1:]:
        assert np.mean(leakage >= point["leakage"]) == pytest.approx(point["share"])


def test_rows_and_their_places_survive_dropped_ones(tmp_path, columns, capsys):
    bare = answer(capsys, write(tmp_path / "bare.csv", columns), "--top", "3")
    more = {name: ["", *values[:10], "", *values[10:]] for name, values in columns.items()}
    more["age"][0] = 33
    path = write(tmp_path / "more.csv", more)
    assert "Pass --na drop" in refused(capsys, path)
    content = answer(capsys, path, "--na", "drop", "--top", "3")
    assert (content["rows"], content["rows_dropped"]) == (60, 2)
    for one, other in zip(bare["riskiest"], content["riskiest"], strict=True):
        assert other["row"] == one["row"] + 1 + (one["row"] >= 10)
        assert other["furthest"] == one["furthest"]
    assert main(["mean", path, "--na", "drop"]) == 0
    assert "60 rows; 2 more dropped: a value is missing" in capsys.readouterr().out


def test_files_of_every_kind_give_the_same_answer(table, tmp_path, columns, capsys):
    expected = answer(capsys, table)
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", **columns)
    (tmp_path / "t.tsv").write_text((tmp_path / "table.csv").read_text().replace(",", "\t"))
    for name in ("t.parquet", "t.npz", "t.tsv"):
        content = answer(capsys, str(tmp_path / name))
        assert content == expected, name


def test_numbers_can_be_taken_as_categories(table, capsys):
    content = answer(capsys, table, "--columns", "age,income", "--categories", "age")
    assert [column["kind"] for column in content["columns"]] == ["category", "number"]
    assert content["covariance"] == "diagonal"
    assert main(["mean", table, "--columns", "age,income", "--categories", "age"]) == 0
    assert "Columns are taken as uncorrelated" in capsys.readouterr().out


def test_a_row_of_a_kind_of_its_own_is_told(tmp_path, columns, capsys):
    sex = ["x", *columns["sex"][1:]]
    path = write(tmp_path / "t.csv", {**columns, "sex": sex})
    content = answer(capsys, path, "--top", "1")
    (row,) = content["riskiest"]
    assert (row["row"], row["score"], row["leakage"]) == (0, None, 1.0)
    assert any("1 of the rows: judged by the others they leak 1" in x for x in content["caveats"])
    assert any("here 1, are too rare" in text for text in content["caveats"])
    assert content["noise_needed"]["riskiest"] > 0
    assert main(["mean", path]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100


def test_adult_is_a_table_of_both(capsys):
    content = answer(
        capsys, "--example", "adult", "--columns", "age,sex,race,hours_per_week", "--show-rows"
    )
    kinds = {column["name"]: column["kind"] for column in content["columns"]}
    assert kinds == {"age": "number", "sex": "category", "race": "category"} | {
        "hours_per_week": "number"
    }
    adult = load_adult().columns
    row = content["riskiest"][0]
    expected = {name: adult[name][row["row"]] for name in kinds}
    assert {x["column"]: x["value"] for x in row["furthest"]}.items() <= expected.items()


def test_the_gate_goes_by_the_riskiest_row(table, capsys):
    highest = answer(capsys, table)["highest"]
    for limit, code in [(highest, 0), (highest - 1e-12, 2), (0, 2), (1, 0)]:
        content = answer(capsys, table, "--max-leakage", repr(limit), code=code)
        limits = {"max_leakage": limit, "over": code == 2, "undecided": False}
        assert content["limit"] == limits
    assert main(["mean", table, "--max-leakage", "0.01"]) == 2
    out = capsys.readouterr().out
    assert out.endswith(f"The riskiest row, {at_most(highest)}, is above the limit 0.01.\n")
    assert main(["mean", table, "--max-leakage", "0.9"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"The riskiest row, {at_most(highest)}, is within the limit 0.9.\n")


def test_wide_and_hostile_names_stay_on_their_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{'x' * 200},a\x1b[31m,{k}\n" for k in range(4))
    path.write_text(f"{'name ' * 40},b\x1b[31m,c\n" + rows)
    assert main(["mean", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines)


def test_the_rows_at_risk_can_be_left_out(table, capsys):
    assert main(["mean", table, "--top", "0"]) == 0
    assert "at risk" not in capsys.readouterr().out


def test_one_column_has_one_mean(table, capsys):
    assert main(["mean", table, "--columns", "age"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Publishing the mean of this column over 60 rows leaks")
    assert "1 column of numbers: age" in text


# --- pictures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--noise-std", "0.2", "--rate", "0.5"]])
def test_a_picture_is_written(table, tmp_path, capsys, options):
    path = tmp_path / "mean.png"
    assert main(["mean", table, "--plot", str(path), *options]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.startswith("Publishing the means")


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch, table, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = 'a picture takes matplotlib: pip install "mialeak[plot]"'
    assert refused(capsys, table, "--plot", "mean.png") == message


# --- errors -----------------------------------------------------------------------------------

SEE = " (see mialeak mean --help)"
USAGE = "mean takes a FILE or --example, one of them (see mialeak mean --help)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], USAGE),
        (["FILE", "--example", "adult"], USAGE),
        (
            ["FILE", "--noise-std", "1e300"],
            "--noise-std must be between 0 and 1e100; got 1e300" + SEE,
        ),
        (["FILE", "--noise-std", "-1"], "--noise-std must be between 0 and 1e100; got -1" + SEE),
        (
            ["FILE", "--noise-std", "nan"],
            "--noise-std must be between 0 and 1e100; got nan" + SEE,
        ),
        (
            ["FILE", "--rate", "0"],
            "--rate must be above 0 and at most 1; got 0" + SEE,
        ),
        (
            ["FILE", "--rate", "0.33"],
            "--rate must draw an integer number of rows, at least 2, of n = 60; got "
            "0.33. The nearest that do: 0.31666666666666665 (19 rows) and "
            "0.3333333333333333 (20 rows)",
        ),
        (
            ["FILE", "--target", "1"],
            "--target must be strictly between 0 and 1; got 1" + SEE,
        ),
        (
            ["FILE", "--top", "2.5"],
            "--top must be a whole number; got '2.5'" + SEE,
        ),
        (["FILE", "--top", "-1"], "--top must be at least 0; got -1" + SEE),
        (["FILE", "--max-leakage", "2"], "--max-leakage must be between 0 and 1; got 2" + SEE),
        (
            ["FILE", "--columns", "agee"],
            "--columns must be columns of the table; got 'agee'. Did you mean 'age'?",
        ),
        (
            ["FILE", "--categories", '"age'],
            "--categories must be a line of CSV; got '\"age' (unexpected end of data)",
        ),
        (
            ["FILE", "--categories", "zip"],
            "--categories must be among the columns; got 'zip'",
        ),
        (["none.csv"], "none.csv: No such file or directory"),
    ],
)
def test_errors_are_one_line_on_stderr_and_exit_with_1(table, capsys, arguments, message):
    arguments = [table if word == "FILE" else word for word in arguments]
    assert refused(capsys, *arguments) == message


def test_two_rows_have_no_others_to_be_judged_by(tmp_path, capsys):
    path = write(tmp_path / "t.csv", {"a": [1, 2]})
    assert refused(capsys, path) == f"{path} must have at least 3 rows; it has 2"


def test_help_is_there(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["mean", "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("usage: mialeak mean")
