"""``mialeak mean --exact``: rows at risk by the exact law of independent columns."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mialeak import exact_mean_tradeoff, mean_tradeoff
from mialeak.cli import main
from mialeak.datasets import load_genotypes
from mialeak.laws import Bernoulli, Genotype

ROWS = 40


@pytest.fixture(scope="module")
def columns():
    """Two bits, one of them in words, genotypes, a column that is the same for all, an age."""
    rng = np.random.default_rng(8)
    return {
        "smokes": rng.integers(0, 2, ROWS),
        "sex": rng.choice(["f", "m"], ROWS),
        "snp": rng.binomial(2, 0.4, ROWS),
        "rare": rng.binomial(2, 0.3, ROWS),
        "same": np.ones(ROWS, int),
        "age": 20 + np.arange(ROWS) % 24,
    }


def write(path, columns):
    rows = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def table(tmp_path, columns):
    return write(tmp_path / "table.csv", columns)


def answer(capsys, *arguments):
    assert main(["mean", *arguments, "--exact", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def by_hand(columns, names, row, rate=1.0):
    """The curve and its limit by the frequencies of the other rows."""
    bits = {"smokes": 1, "sex": "m"}
    target, laws, mean, variance = [], [], [], []
    for name in names:
        values = columns[name]
        numbers = (values == bits[name]).astype(float) if name in bits else values.astype(float)
        other = np.delete(numbers, row).mean()
        p = other if name in bits else other / 2
        target.append(numbers[row])
        laws.append(Bernoulli([p]) if name in bits else Genotype([p]))
        mean.append(other)
        variance.append(p * (1 - p) * (1 if name in bits else 2))
    curve = exact_mean_tradeoff(target, laws, ROWS, sampling_rate=rate)
    return curve, mean_tradeoff(target, mean, variance, ROWS, sampling_rate=rate)


@pytest.mark.parametrize(
    "names", [["smokes", "sex"], ["snp", "rare"], ["smokes", "sex", "snp", "rare"]]
)
@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_rows_are_judged_by_the_frequencies_of_the_others(table, columns, capsys, names, rate):
    options = ["--columns", ",".join(names), "--rate", str(rate), "--top", "4"]
    content = answer(capsys, table, *options)
    exact = content["exact"]
    assert exact["kind"] == "exact"
    assert exact["bits"] + exact["genotypes"] == len(names)
    assert [row["row"] for row in exact["rows"]] == [row["row"] for row in content["riskiest"]]
    assert len(exact["rows"]) == 4
    for row in exact["rows"]:
        curve, limit = by_hand(columns, names, row["row"], rate)
        assert row["leakage"] == pytest.approx(curve.advantage, abs=1e-11)
        assert row["limit"] == pytest.approx(limit.advantage, rel=1e-12)
        for point in row["power"]:
            assert point["power"] == pytest.approx(curve.power(point["fpr"]), rel=1e-9)


def test_a_column_that_is_the_same_for_all_says_nothing(table, capsys):
    with_it = answer(capsys, table, "--columns", "sex,snp,same")["exact"]
    without = answer(capsys, table, "--columns", "sex,snp")["exact"]
    assert with_it["bits"] == without["bits"] + 1
    assert with_it["rows"] == without["rows"]


def test_where_all_columns_are_the_same_for_all_nothing_leaks(table, capsys):
    assert main(["mean", table, "--columns", "same", "--exact", "--top", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["exact"]["rows"]
    assert row["leakage"] == row["limit"] == row["error"] == 0.0
    assert all(point["power"] == point["fpr"] for point in row["power"])


@pytest.mark.parametrize(("rate", "power"), [("1", 1.0), ("0.5", 0.505)])
def test_a_row_alone_in_its_kind_is_told_for_certain(tmp_path, columns, capsys, rate, power):
    alone = np.arange(ROWS) == 7
    path = write(tmp_path / "t.csv", {"snp": columns["snp"], "alone": alone.astype(int)})
    (row,) = answer(capsys, path, "--top", "1", "--rate", rate)["exact"]["rows"]
    assert (row["row"], row["leakage"], row["limit"]) == (7, float(rate), float(rate))
    assert row["power"][0] == {"fpr": 0.01, "power": power}


def test_the_assumptions_are_said(table, capsys):
    assert main(["mean", table, "--columns", "smokes,snp", "--exact"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Columns (1 of two values and 1 genotypes) are taken as independent" in text
    assert "the frequencies among the other rows as those of the population" in text


def test_without_rows_nothing_is_added(table, capsys):
    assert main(["mean", table, "--columns", "smokes", "--exact", "--top", "0"]) == 0
    shown = capsys.readouterr().out
    assert "columns are independent" not in shown
    assert "taken as independent" not in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--columns", "sex,age"],
            "--exact is not available for column 'age', which has 24 values: every column must "
            "have two values, or genotype counts 0, 1 and 2. Choose other columns",
        ),
        (
            ["--columns", "snp", "--categories", "snp"],
            "--exact is not available for column 'snp', which has 3 values: every column must "
            "have two values, or genotype counts 0, 1 and 2. Choose other columns",
        ),
        (
            ["--columns", "sex", "--noise-std", "0.1"],
            "--exact is not available with noise: the law of a noisy mean is not known exactly. "
            "Leave out the noise",
        ),
    ],
)
def test_what_has_no_exact_law_is_refused(table, capsys, options, message):
    assert main(["mean", table, *options, "--exact"]) == 1
    assert capsys.readouterr().err == f"mialeak: error: {message}\n"


def test_a_curve_that_is_not_sure_is_no_answer(tmp_path, capsys):
    """Fifty rare alleles, one of which the row at risk has."""
    rows = np.arange(1000)
    columns = {f"s{j}": (rows * (2 * j + 3) % 997 < 1 + j // 5).astype(int) for j in range(50)}
    for name in columns:
        columns[name][0] = int(name == "s0")
    path = tmp_path / "t.npz"
    np.savez(path, **columns)
    code = main(["mean", str(path), "--exact", "--top", "1"])
    err = capsys.readouterr().err
    assert (code, err) == (
        1,
        "mialeak: error: --exact is not available for row 0: with so few columns, or values so "
        "rare, the error of its curve is too large. Leave out --exact, or list fewer rows\n",
    )


def test_the_gate_heeds_what_exact_reports(tmp_path, capsys):
    """0.617 was printed below "0.5794, is within the limit 0.6", with exit code 0."""
    genotypes = load_genotypes()
    path = tmp_path / "few.npy"
    np.save(path, genotypes.counts[:100])
    arguments = ["mean", str(path), "--exact", "--max-leakage", "0.6"]
    for top in ([], ["--top", "1"], ["--top", "0"]):
        assert main([*arguments, *top]) == 2
        verdict = capsys.readouterr().out.splitlines()[-1]
        assert verdict == "The exact leakage of row 24, 0.6168, is above the limit 0.6."
    assert main([*arguments[:-1], "0.62"]) == 0
    assert main(["mean", str(path), "--max-leakage", "0.6"]) == 0
