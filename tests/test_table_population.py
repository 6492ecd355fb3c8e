"""A table beside the register that it was sampled from."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mialeak import Register, max_leakage
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

REGISTER = {
    "age": [30, 30, 30, 41, 41, 52, 30, 52, 41, 60],
    "sex": ["f", "f", "f", "m", "m", "f", "m", "f", "m", "m"],
}
ROWS = [0, 3, 9, 4]
SAMPLE = {name: [values[row] for row in ROWS] for name, values in REGISTER.items()}
COLUMNS = ["age", "education", "marital_status", "race", "sex"]


def cells_of(table):
    return list(zip(*table.values(), strict=True))


def enumerated(person, n):
    """Total variation between the counts of all samples with and without that person."""
    people = cells_of(REGISTER)
    laws = [Counter(), Counter()]
    for sample in combinations(range(len(people)), n):
        seen = tuple(sorted(Counter(people[row] for row in sample).items()))
        laws[person in sample][seen] += 1
    sums = [sum(law.values()) for law in laws]
    return (
        sum(
            abs(Fraction(laws[1][seen], sums[1]) - Fraction(laws[0][seen], sums[0]))
            for seen in laws[0].keys() | laws[1].keys()
        )
        / 2
    )


def test_leakage_is_that_of_enumerating_all_samples():
    population = table_leakage(SAMPLE, population=REGISTER).population
    truth = [enumerated(person, len(ROWS)) for person in range(10)]
    assert population.kind == "exact"
    assert population.leakage == pytest.approx(float(sum(truth) / 10), rel=1e-14)
    of_rows = [float(truth[row]) for row in ROWS]
    assert population.row_leakage == pytest.approx(of_rows, rel=1e-14)
    assert population.average == pytest.approx(sum(of_rows) / 4, rel=1e-14)
    assert population.highest == max(of_rows) == 1.0
    other = table_leakage(SAMPLE, population=REGISTER, n=7).population
    truth = [enumerated(person, 7) for person in range(10)]
    assert other.leakage == pytest.approx(float(sum(truth) / 10), rel=1e-14)


def test_the_classical_measures_are_those_of_the_counts():
    population = table_leakage(SAMPLE, population=REGISTER).population
    people, rows = Counter(cells_of(REGISTER)), Counter(cells_of(SAMPLE))
    shares = {cell: Fraction(rows[cell], count) for cell, count in people.items()}
    assert population.k_map == min(people[cell] for cell in rows)
    assert population.presence_low == float(min(shares.values())) == 0.0
    assert population.presence_high == float(max(shares.values()))
    assert population.unique_share == sum(people[cell] == 1 for cell in rows) / len(ROWS)
    assert population.prior == 0.4
    claimed = [cell for cell in people if shares[cell] > Fraction(4, 10)]
    right = sum(rows[cell] for cell in claimed) / sum(people[cell] for cell in claimed)
    assert population.claim_right == pytest.approx(right)
    assert population.people == 10


def test_presence_is_even_where_every_cell_is_sampled_alike():
    register = {"sex": ["f"] * 4 + ["m"] * 2}
    population = table_leakage({"sex": ["f", "m", "f"]}, population=register).population
    assert population.presence_low == population.presence_high == 0.5
    assert population.claim_right == population.prior == 0.5


def test_the_riskiest_rows_come_first_with_their_people():
    rows = table_leakage(SAMPLE, population=REGISTER).population.riskiest(3)
    assert [(row.row, row.count, row.people) for row in rows] == [(2, 1, 1), (1, 2, 3), (3, 2, 3)]
    assert rows[0].values == {"age": 60, "sex": "m"}
    assert [row.presence for row in rows] == [1.0, 2 / 3, 2 / 3]
    assert table_leakage(SAMPLE, population=REGISTER).population.riskiest(0) == ()


@pytest.mark.parametrize("shape", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_any_form_of_the_register_gives_the_same_bits(shape):
    order = np.random.default_rng(1).permutation(10)
    shuffled = {name: [values[i] for i in order] for name, values in REGISTER.items()}
    wide = {"town": list("xyxyxyxyxy"), **shuffled}
    values = {
        table_leakage(SAMPLE, population=shape(table)).population.leakage
        if list(table) == list(SAMPLE)
        else table_leakage(SAMPLE, ["age", "sex"], population=shape(table)).population.leakage
        for table in (REGISTER, shuffled, wide)
    }
    assert values == {table_leakage(SAMPLE, population=REGISTER).population.leakage}


def test_either_table_may_be_counted():
    truth = table_leakage(SAMPLE, population=REGISTER).population

    def counted(table, name="n"):
        cells = Counter(cells_of(table))
        columns = zip(*cells, strict=True)
        return {**dict(zip(table, map(list, columns), strict=True)), name: list(cells.values())}

    register = counted(REGISTER)
    register = {name: [*values, register[name][0]] for name, values in register.items()}
    register["age"][-1], register["n"][-1] = 99, 0  # a cell without people
    for sample, population in (
        (SAMPLE, register),
        (counted(SAMPLE), register),
        (counted(SAMPLE), REGISTER),
    ):
        found = table_leakage(sample, population=population, counts="n").population
        assert (found.leakage, found.k_map) == (truth.leakage, truth.k_map)
        assert (found.claim_right, found.unique_share) == (truth.claim_right, truth.unique_share)
        assert found.average == pytest.approx(truth.average, rel=1e-15)


def test_missing_values_are_a_category_or_dropped_in_both_tables():
    register = {"age": [30, 30, None, None, 41, 41], "sex": list("ffffmm")}
    sample = {"age": [30, None], "sex": ["f", "f"]}
    found = table_leakage(sample, population=register, na="category").population
    assert (found.people, found.cell_people.tolist()) == (6, [2, 2])
    found = table_leakage(sample, population=register, na="drop").population
    assert (found.people, found.cell_people.tolist()) == (4, [2])
    assert np.isnan(found.row_leakage[1])
    found = table_leakage(sample, population=register, na="drop", missing=["30"], columns=["sex"])
    assert found.population.people == 6


def test_adult_as_its_own_register():
    """Exact leakage is that of the register; the estimate of a 10 % sample is close to it."""
    adult = load_adult().columns
    rows = np.random.default_rng(5).permutation(32_561)[:16_280]
    sample = {name: np.asarray(adult[name])[rows] for name in COLUMNS}
    population = table_leakage(sample, COLUMNS, population=adult).population
    counts = table_leakage(adult, COLUMNS).cell_counts
    assert population.leakage == pytest.approx(max_leakage(Register(counts), 16_280), rel=1e-15)
    independent = max_leakage(counts / 32_561, 16_280)
    assert population.leakage / independent == pytest.approx(1.49, abs=0.005)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"population": {name: values[1:] for name, values in REGISTER.items()}, "n": 3}
            | {"table": {"age": [30, 30, 30], "sex": ["f", "f", "f"]}},
            ValueError,
            "population must have at least as many people as the table has rows in every cell; it "
            "has 2 in that of row 0 of the table, which has 3. Every row of the table must be one",
        ),
        (
            {"table": {"age": [31], "sex": ["f"]}},
            ValueError,
            "of the table, which has 1. It has no such value in column 'age'",
        ),
        (
            {"table": {"age": ["30"], "sex": ["f"]}},
            ValueError,
            "It has no such value in column 'age', but one of another type: convert the column",
        ),
        ({"n": 10}, ValueError, "n must be at most 9, one less than the people"),
        ({"table": REGISTER}, ValueError, "population must hold more people than the table has"),
        (
            {"population": {"age": [30]}},
            ValueError,
            "population must have the columns of the table; it has none named 'sex'. The table has",
        ),
        (
            {"population": {"Age": [30], "sex": ["f"]}},
            ValueError,
            "it has none named 'age'. Did you mean 'Age'?",
        ),
        ({"population": 5e6}, TypeError, "population must be an integer"),
        ({"population": 4}, ValueError, "population must be above the 4 rows that are drawn from"),
        ({"population": 50, "n": 50}, ValueError, "population must be above the 50 rows that are"),
        ({"population": 50, "margins": ["age"]}, ValueError, "margins must be left out with pop"),
        ({"population": 50, "strata": "age"}, ValueError, "strata must come with population, the"),
        (
            {"population": None, "prior": 0.5},
            ValueError,
            "prior must come with population, the reg",
        ),
        ({"prior": 1.0}, ValueError, "prior must be strictly between 0 and 1"),
        ({"strata": "town"}, ValueError, "strata must name one of the columns that are counted"),
        ({"strata": "sex", "n": 3}, ValueError, "n must be left out with strata, whose sizes are"),
        (
            {"table": {"age": [30, 52], "sex": ["f", "f"]}, "strata": "sex"},
            ValueError,
            "population must have no people of the stratum 'm' of column 'sex', of which the table "
            "has no row; it has 5. Leave them out",
        ),
        (
            {"strata": "age"},
            ValueError,
            "population must have no people of the stratum 52 of column 'age'",
        ),
        (
            {
                "table": {"age": [30, 60, 41, 52], "sex": ["f", "m", "m", "f"]},
                "strata": "age",
            },
            ValueError,
            "population must have more people of the stratum 60 of column 'age' than the table has "
            "rows (1). Leave a stratum that was taken as a whole out of both",
        ),
        ({"population": Register([3, 4])}, TypeError, "population must be the register as a table"),
        ({"population": [[30, "f"]]}, TypeError, "population must be a pandas, polars or pyarrow"),
        ({"population": [1, 2]}, TypeError, "population must be a pandas, polars or"),
        ({"population": {"age": [], "sex": []}}, ValueError, "population must have at least one"),
        ({"margins": ["age"]}, ValueError, "margins must be left out with population"),
        ({"coarsen": 0.1}, ValueError, "coarsen must be left out with population"),
        (
            {"population": {"age": [30, None], "sex": ["f", "m"]}},
            ValueError,
            "population must have no missing values; there are 1 in column 'age'. Pass na=",
        ),
        (
            {"population": {"age": [30, 41, 60], "sex": ["f", "m", "m"], "n": [5, 4, 3]}},
            ValueError,
            "population must have one row a person; it looks like a table of counts: column 'n'",
        ),
        (
            {"counts": "n", "population": {**REGISTER, "n": [2.5] * 10}},
            ValueError,
            "column 'n' must hold counts",
        ),
    ],
)
def test_what_is_no_register_of_the_table_is_refused(options, error, message):
    options = {"table": SAMPLE, "population": REGISTER} | options
    with pytest.raises(error, match=re.escape(message)):
        table_leakage(options.pop("table"), **options)


def test_the_report_names_what_is_exact_and_hides_the_values_of_persons():
    report = table_leakage(SAMPLE, population=REGISTER)
    text = report.text()
    assert "of a sample of the register's 10 people, leaks" in " ".join(text.split())
    assert "for a random person of the register (exact)" in text
    assert "people of the register at least in a cell shown (k-map)" in text
    assert "60" not in text.split("Rows most at risk")[1]
    assert "60" in report.text(show_rows=True).split("Rows most at risk")[1]
    content = report.to_dict(show_rows=True)["population"]
    assert content["riskiest"][0]["values"] == {"age": 60, "sex": "m"}
    assert report.to_dict()["population"]["riskiest"][0]["values"] is None
    json.dumps(content)


@pytest.fixture
def files(tmp_path):
    for name, table in (("sample", SAMPLE), ("register", REGISTER)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    return str(tmp_path / "sample.csv"), str(tmp_path / "register.csv")


def test_the_shell_states_the_smallest_sample_that_leaks_no_more_than_the_target(files, capsys):
    sample, register = files
    leakages = [float(sum(enumerated(person, n) for person in range(10)) / 10) for n in range(1, 6)]
    target = leakages[2] * 1.0001
    size = 1 + next(k for k, leakage in enumerate(leakages) if leakage <= target)
    assert size == 3
    assert main(["table", sample, "--population", register, "--target", repr(target)]) == 0
    assert f"{size}  people: the smallest sample of the register" in capsys.readouterr().out


def test_the_shell_answers_and_judges_the_exact_number(files, tmp_path, capsys):
    sample, register = files
    exact = table_leakage(SAMPLE, population=REGISTER).population.leakage
    command = ["table", sample, "--population", register]
    page = tmp_path / "page.html"
    over = [*command, "--max-leakage", repr(exact * 0.999), "--html", str(page)]
    assert main(over) == 2
    shown = " ".join(capsys.readouterr().out.split())
    assert "The leakage, 0.5611," in shown
    assert "is above the limit" in shown
    text = page.read_text(encoding="utf-8")
    assert "drawn without replacement from all people of the register" in text
    assert "register.csv" in text
    assert main([*command, "--max-leakage", repr(exact * 1.001)]) == 0
    capsys.readouterr()
    assert main([*command, "--max-row-leakage", "0.99", "--json"]) == 2
    content = json.loads(capsys.readouterr().out)
    assert content["population"]["leakage"] == pytest.approx(exact, rel=1e-15)
    assert content["limit"]["row_leakage"] == 1.0
    assert content["samples"] is None


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ("4", "--population must be above the 4 rows that are drawn from these people"),
        ("none.csv", "none.csv: No such file"),
    ],
)
def test_the_shell_refuses_what_is_no_register(files, capsys, population, message):
    assert main(["table", files[0], "--population", population]) == 1
    assert message in capsys.readouterr().err


def people_and_sample(seed, size=400):
    """A register of 4,000 people in 300 cells, and the rows of a simple random sample."""
    rng = np.random.default_rng(seed)
    people = {
        "age": np.minimum(rng.geometric(0.04, 4000), 75),
        "sex": rng.integers(2, size=4000),
        "town": rng.geometric(0.7, 4000),
    }
    return people, rng.permutation(4000)[:size]


def at(people, rows):
    return {name: values[rows] for name, values in people.items()}


@pytest.mark.parametrize("size", [40, 400, 3600, 3995])
def test_random_samples_of_a_register_bear_no_caution(size):
    for seed in range(10):
        people, rows = people_and_sample(seed, size)
        assert table_leakage(at(people, rows), population=people).cautions == ()


def test_a_sample_out_of_proportion_to_its_register_is_cautioned():
    people, _ = people_and_sample(1)
    women = np.flatnonzero(people["sex"] == 1)
    other = np.flatnonzero(people["sex"] == 0)
    for rows in (women[:400], np.concatenate([women[:900], other[:400]])):
        (caution,) = table_leakage(at(people, rows), population=people).cautions
        assert "shares differ in column 'sex' (chi-squared test, p < 1e-09)" in caution
        assert "If it was stratified, pass strata=, the column of the strata" in caution
    part = at(people, women)
    assert table_leakage(at(people, women[:400]), population=part).cautions == ()


def test_a_register_made_from_the_table_by_its_weights_is_cautioned():
    people, rows = people_and_sample(2)
    sample = at(people, rows)
    weights = np.random.default_rng(3).integers(5, 15, len(rows))
    made = {name: np.repeat(values, weights) for name, values in sample.items()}
    (caution,) = table_leakage(sample, population=made).cautions
    assert "shows each of the register's cells, the rare ones too" in caution


def test_a_register_with_everyone_twice_is_cautioned():
    people, rows = people_and_sample(4)
    twice = {name: np.tile(values, 2) for name, values in people.items()}
    (caution,) = table_leakage(at(people, rows), population=twice).cautions
    assert "Each cell of the register holds a multiple of 2 people" in caution


def test_a_sample_is_judged_by_the_exact_law_of_its_empty_cells():
    """The bound of "every cell is shown" lies above the frequency of it, by enumeration."""
    from itertools import combinations

    from mialeak._checks.samples import log_chance_of_all_cells

    cells = [0, 0, 0, 1, 1, 2, 2, 3]
    for n in range(4, 8):
        drawn = [set(rows) for rows in combinations(range(8), n)]
        full = sum({cells[row] for row in rows} == {0, 1, 2, 3} for rows in drawn)
        bound = np.exp(log_chance_of_all_cells(np.bincount(cells), n))
        assert full / len(drawn) <= bound * (1 + 1e-12) <= 1 + 1e-12


def test_the_shell_takes_a_counted_register_beside_chosen_columns(tmp_path, capsys):
    counted = Counter(cells_of(REGISTER))
    lines = [f"{age},{sex},{n}\n" for (age, sex), n in counted.items()]
    (tmp_path / "r.csv").write_text("age,sex,n\n" + "".join(lines))
    rows = [f"{age},{sex}\n" for age, sex in cells_of(SAMPLE)]
    (tmp_path / "s.csv").write_text("age,sex\n" + "".join(rows))
    line = ["table", str(tmp_path / "s.csv"), "--population", str(tmp_path / "r.csv"), "--json"]
    answers = []
    for columns in ([], ["--columns", "age,sex"]):
        assert main([*line, "--counts", "n", *columns]) == 0
        answers.append(json.loads(capsys.readouterr().out)["population"]["leakage"])
    assert answers[0] == answers[1]
    assert main([*line, "--counts", "N", "--columns", "age,sex"]) == 1
    assert "got 'N'" in capsys.readouterr().err


def test_what_is_assumed_of_a_part_of_the_rows_and_of_a_number_of_people():
    """Fewer rows than the table are drawn anew; of a number of people each is equally likely."""
    table = {"sex": ["f", "m"] * 60, "age": [20, 30, 40] * 40}
    drawn = "The 60 rows are drawn anew from an infinite population"
    infinite = "Everyone in a large population was equally likely"
    for settings, words in (
        ({"n": 60}, drawn),
        ({}, infinite),
        ({"n": 240}, infinite),
        ({"population": 500}, "Each of the 500 people was equally likely"),
    ):
        assert table_leakage(table, **settings).assumed[1].startswith(words)


@pytest.mark.parametrize("strange", [0, 30, 150, 151, 300])
def test_persons_whom_the_register_has_not_are_cautioned_if_most_are_there(strange):
    """None of 300 is unknown; up to a half; and names of another source, or of the rows."""
    rng = np.random.default_rng(27)
    register = pd.DataFrame({"pnr": np.arange(5000, 8000), "sex": rng.choice(["f", "m"], 3000)})
    table = register.sample(300, random_state=1).reset_index(drop=True)
    table.loc[: strange - 1, "pnr"] += 10_000
    report = table_leakage(table, ["sex"], population=register)
    words = f"{strange} of the 300 values of column 'pnr' in the table, the first of them in row 0"
    assert any(words in each for each in report.cautions) == (0 < strange <= 150)
    table["pnr"] = np.arange(1, 301)
    assert table_leakage(table, ["sex"], population=register).cautions == ()
