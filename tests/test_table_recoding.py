"""Columns made coarser: bands, codes of the ends, rare values; and the cheapest plan to do it."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mialeak import Register, max_leakage
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.tables import Recoding, estimate_max_leakage, plan_recoding, table_leakage
from mialeak.tables._recoding_search import RecodingSearch

COLUMNS = ["age", "education", "marital_status", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    return load_adult().columns


def coded(values, rules):
    """The values of each row by the code that a report shows for it."""
    report = table_leakage({"x": values}, recode={"x": rules}, na="category")
    return [report.cell_values(cell)["x"] for cell in report.row_cells]


@pytest.mark.parametrize(
    ("values", "rules", "expected"),
    [
        ([17, 19, 20, 24, 25], {"bin": 5}, ["15-19", "15-19", "20-24", "20-24", "25-29"]),
        ([17, 19, 20], {"bin": 5, "start": 2}, ["17-21", "17-21", "17-21"]),
        ([-3, 0, 3], {"bin": 3}, ["-3--1", "0-2", "3-5"]),
        ([0.2, 1.7, 2.5], {"bin": 1.25}, ["[0, 1.25)", "[1.25, 2.5)", "[2.5, 3.75)"]),
        ([1, 50, 90, 99], {"top": 90}, ["1", "50", "90+", "90+"]),
        ([1, 5, 9], {"bottom": 5}, ["up to 5", "up to 5", "9"]),
        ([1, 31, 80, 95], {"bin": 10, "bottom": 9, "top": 80}, ["up to 9", "30-39", "80+", "80+"]),
        (["17", "19", "20"], {"bin": 10}, ["10-19", "10-19", "20-29"]),
        ([2020, 1234567], {"top": 1234567}, ["2020", "1234567+"]),
        (list("aaab"), {"rare": 2}, ["a", "a", "a", "other"]),
        (list("abc"), {"keep": ["b"]}, ["other", "b", "other"]),
        (list("abc"), {"drop": True}, ["*", "*", "*"]),
        (list("abc"), {"codes": {"a": "x", "b": "x", "c": "y"}}, ["x", "x", "y"]),
        ([30, None, 41], {"bin": 10}, ["30-39", None, "40-49"]),
    ],
)
def test_each_rule_makes_the_codes_that_it_states(values, rules, expected):
    assert coded(values, rules) == expected


def test_ages_of_adult_in_bands_leak_what_was_announced(adult):
    found = {
        width: table_leakage(adult, COLUMNS, recode={"age": {"bin": width}}).estimate.value
        for width in (2, 5, 10)
    }
    assert {width: round(value, 3) for width, value in found.items()} == {
        2: 0.138,
        5: 0.094,
        10: 0.071,
    }
    ages = [age // 5 for age in adult["age"]]
    own = {**adult, "age": ages}
    assert found[5] == table_leakage(own, COLUMNS).estimate.value


def test_a_counted_table_and_a_register_are_recoded_as_their_people_are(adult):
    rules = {"age": {"bin": 10}, "education": {"rare": 1_500}}
    sample = {name: values[::5] for name, values in adult.items()}
    columns = ["age", "education"]
    people = table_leakage(sample, columns, recode=rules)
    cells = Counter(zip(*(sample[name] for name in columns), strict=True))
    counted = {name: [cell[k] for cell in cells] for k, name in enumerate(columns)}
    counted["n"] = list(cells.values())
    assert table_leakage(counted, counts="n", recode=rules).estimate == people.estimate
    exact = table_leakage(sample, columns, recode=rules, population=adult).population
    size = Counter(sample["education"])
    kept = {value for value, rows in size.items() if rows >= 1_500}
    register = Counter(
        (age // 10, school if school in kept else "other")
        for age, school in zip(adult["age"], adult["education"], strict=True)
    )
    rows = len(sample["age"])
    assert exact.leakage == pytest.approx(max_leakage(Register(list(register.values())), rows))


def test_margins_and_a_secret_are_those_of_the_recoded_columns(adult):
    rules = {"age": {"bin": 10}}
    own = {**adult, "age": [age // 10 for age in adult["age"]]}
    margins = ["age", ("education", "sex")]
    for options in ({"margins": margins}, {"columns": ["age", "sex"], "secret": "income"}):
        ours, theirs = table_leakage(adult, recode=rules, **options), table_leakage(own, **options)
        assert ours.estimate == theirs.estimate
        assert ours.secret is None or ours.secret.to_dict() == theirs.secret.to_dict()
        assert ours.margins is None or ours.margins.average == theirs.margins.average


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_recode_table_is_applied_again(adult, tmp_path, suffix):
    plan = plan_recoding(adult, ["age", "education", "sex"], 0.02)
    path = tmp_path / f"recode{suffix}"
    plan.write(path)
    again = table_leakage(adult, ["age", "education", "sex"], recode=path)
    assert again.estimate == plan.after
    if suffix == ".json":
        assert json.loads(path.read_text())["schema"] == "mialeak.recode/1"
        assert Recoding.read(path) == plan.recoding
    else:
        assert path.read_text().startswith("column,value,code\n")
        other = {name: adult[name][:50].tolist() for name in ("age", "education", "sex")}
        other["age"][3] = 117
        with pytest.raises(ValueError, match=r"a code for each value of column 'age'; got .*117"):
            table_leakage(other, recode=path)


@pytest.mark.parametrize(
    ("recode", "error", "message"),
    [
        ({"ago": {"bin": 5}}, ValueError, "name columns that are counted by.*Did you mean 'age'"),
        ({"age": {"bins": 5}}, ValueError, "must hold bin, start"),
        ({"age": {"bin": 0}}, ValueError, "'bin'.* must be above 0"),
        ({"age": {"bin": "5"}}, TypeError, "'bin'"),
        ({"age": {"top": 5, "bottom": 5}}, ValueError, "above the bottom code"),
        ({"age": {"bin": 5, "rare": 3}}, ValueError, "rules for numbers, or one of"),
        ({"age": {"rare": 2.5}}, TypeError, "rare"),
        ({"age": {}}, TypeError, "be a mapping such as"),
        ({"sex": {"bin": 5}}, ValueError, "hold numbers in column 'sex'"),
        (5, TypeError, "be a mapping of columns to rules"),
    ],
)
def test_what_is_no_recoding_is_refused(recode, error, message):
    with pytest.raises(error, match=message):
        table_leakage({"age": [20, 30], "sex": ["f", "m"]}, recode=recode)


def test_files_that_hold_no_recode_table_are_refused(tmp_path):
    for name, text, message in (
        ("a.json", "{", "be JSON; a.json is not"),
        ("b.json", "{}", "hold the schema 'mialeak.recode/1'"),
        ("c.csv", "a,b\n1,2\n", "columns column, value, code"),
        ("d.csv", "column,value,code\nage,1\n", "line 2 has 2"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=message):
            Recoding.read(tmp_path / name)
    with pytest.raises(ValueError, match=r"end in \.json or \.csv"):
        Recoding({"age": {"bin": 5}}).write(tmp_path / "e.txt")


# --- the plan --------------------------------------------------------------------------------


def entropy(values):
    share = np.array(list(Counter(values).values())) / len(values)
    return float(-(share * np.log2(share)).sum())


@pytest.mark.parametrize(("limit", "exact"), [(0.05, False), (0.12, False), (0.1, True)])
def test_no_combination_of_the_levels_is_cheaper(limit, exact):
    """All of them, one by one, counted by Python."""
    rng = np.random.default_rng(4)
    rows = 4_000
    every = {
        "age": np.clip(rng.normal(40, 12, rows), 18, 80).astype(int),
        "job": rng.choice(list("abcdefgh"), rows, p=np.array([30, 25, 20, 12, 8, 3, 1, 1]) / 100),
        "sex": rng.choice(["f", "m"], rows),
    }
    table = {name: values[: rows // (4 if exact else 1)] for name, values in every.items()}
    population = every if exact else None
    weights = {"age": 2.0, "sex": 0.5}
    plan = plan_recoding(table, None, limit, weights=weights, population=population)
    assert plan.optimal
    report = table_leakage(table, population=population)
    search = RecodingSearch(report, limit, {"age": 2.0, "job": 1.0, "sex": 0.5}, set())
    levels = [[level.rules for level in column] for column in search.levels]
    size = len(table["age"])
    codes, people = [], []
    for (name, values), rules in zip(table.items(), levels, strict=True):
        kept = Counter(values.tolist())
        codes.append([list(values) if r is None else coded(list(values), r) for r in rules])
        whole = list(every[name])
        settled = [
            {"keep": [v for v in kept if kept[v] >= r["rare"]]} if r and "rare" in r else r
            for r in rules
        ]
        people.append([whole if r is None else coded(whole, r) for r in settled])
    lost = [
        [weights.get(name, 1.0) * (entropy(column[0]) - entropy(each)) for each in column]
        for name, column in zip(table, codes, strict=True)
    ]
    best = math.inf
    for chosen in product(*(range(len(column)) for column in codes)):
        cost = sum(column[k] for column, k in zip(lost, chosen, strict=True))
        if cost >= best:
            continue
        shown = people if exact else codes
        cells = Counter(zip(*(c[k] for c, k in zip(shown, chosen, strict=True)), strict=True))
        counts = np.array(list(cells.values()))
        leak = max_leakage(Register(counts), size) if exact else estimate_max_leakage(counts).high
        if leak <= limit:
            best = cost
    assert plan.lost == pytest.approx(best, abs=1e-9)
    assert plan.after.high <= limit < plan.before.high
    again = table_leakage(table, recode=plan.recoding, population=population)
    leak = again.population.leakage if exact else again.estimate.high
    assert leak == pytest.approx(plan.after.high, rel=1e-12)
    assert plan.kind == ("exact" if exact else "estimate")


def test_values_of_the_register_alone_may_be_merged_at_no_loss():
    # In the sample "c" is the only rare value, and only changes its name; of the register it
    # becomes one with "d" and "e".
    people = {"cat": ["a"] * 40 + ["b"] * 40 + ["c"] * 2 + ["d"] * 9 + ["e"] * 9}
    sample = {"cat": ["a"] * 12 + ["b"] * 12 + ["c"]}
    as_it_is, merged = (
        max_leakage(Register(each), 25) for each in ([40, 40, 2, 9, 9], [40, 40, 20])
    )
    limit = (as_it_is + merged) / 2
    plan = plan_recoding(sample, leakage=limit, population=people)
    assert plan.recoding.rules == {"cat": {"keep": ["a", "b"]}}
    assert (plan.lost, plan.optimal) == (0.0, True)
    assert plan.after.value == pytest.approx(merged, rel=1e-14)


def test_adult_is_brought_below_five_percent_with_the_least_loss(adult):
    plan = plan_recoding(adult, COLUMNS, 0.05)
    assert plan.optimal
    assert plan.before.value == pytest.approx(0.186, abs=5e-4)
    assert plan.after.high <= 0.05
    assert plan.lost == pytest.approx(3.10, abs=0.01)
    assert (np.diff(plan.curve_lost) > 0).all()
    assert (np.diff(plan.curve_leakage) < 0).all()
    assert plan.curve_lost[0] == 0
    assert plan.curve_leakage[0] == plan.before.high
    cheapest = plan.curve_lost[plan.curve_leakage <= 0.05].min()
    assert cheapest == pytest.approx(plan.lost)
    assert "Cheapest recoding for a leakage of at most 0.05" in str(plan)
    kept = plan_recoding(adult, COLUMNS, 0.05, keep=["race", "sex"])
    assert not {"race", "sex"} & set(kept.recoding.rules)
    assert kept.lost >= plan.lost


def test_nothing_is_changed_where_nothing_need_be(adult):
    plan = plan_recoding(adult, ["sex"], 0.5)
    assert plan.recoding == Recoding({})
    assert plan.lost == 0
    assert plan.after == plan.before


def test_of_many_levels_every_second_is_tried_and_of_too_many_columns_none(monkeypatch):
    from mialeak.tables import _recoding_search

    rng = np.random.default_rng(2)
    table = {f"c{k}": rng.integers(0, 40, 2_000) for k in range(3)}
    whole = plan_recoding(table, None, 0.2)
    monkeypatch.setattr(_recoding_search, "_MOST_PLANS", 60)
    plan = plan_recoding(table, None, 0.2)
    assert plan.after.high <= 0.2
    assert plan.lost >= whole.lost
    monkeypatch.setattr(_recoding_search, "_MOST_PLANS", 7)
    with pytest.raises(ValueError, match="A plan is not available for 3 columns"):
        plan_recoding(table, None, 0.2)
    monkeypatch.setattr(_recoding_search, "_MOST_PLANS", 60)
    monkeypatch.setattr(_recoding_search, "MOST_LEAKAGES", 1)
    early = plan_recoding(table, None, 0.2)
    assert not early.optimal
    assert early.after.high <= 0.2
    assert "a cheaper one may exist" in str(early)


def test_a_plan_that_there_is_none_of_is_refused(adult):
    with pytest.raises(ValueError, match="leakage must be reached with every column dropped"):
        plan_recoding(adult, ["age", "sex"], 0.001, keep=["age"])
    with pytest.raises(ValueError, match="keep must name columns"):
        plan_recoding(adult, ["age", "sex"], 0.1, keep=["ago"])
    with pytest.raises(ValueError, match="weights must name columns"):
        plan_recoding(adult, ["age", "sex"], 0.1, weights={"ago": 1})
    with pytest.raises(ValueError, match="leakage must be"):
        plan_recoding(adult, ["age"], 0.0)


# --- in the shell ----------------------------------------------------------------------------


def test_the_shell_recodes_plans_and_applies_a_plan(tmp_path, capsys, adult):
    table, path = ["table", "--example", "adult", "--columns", "age,sex"], tmp_path / "r.csv"
    assert main([*table, "--bin", "age:5", "--top-code", "age:80", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    rules = {"age": {"bin": 5, "top": 80}}
    report = table_leakage(adult, ["age", "sex"], recode=rules)
    assert content["estimate"] == report.estimate.to_dict()
    assert content["recoding"]["rules"] == rules
    assert main([*table, "--plan", "0.01", "--keep", "sex", "--recode-to", str(path)]) == 0
    text = capsys.readouterr().out
    assert "Cheapest recoding for a leakage of at most 0.01" in text
    assert main([*table, "--recode", str(path), "--max-leakage", "0.01"]) == 0
    assert "is within the limit 0.01" in capsys.readouterr().out
    secret = [*table, "--secret", "income", "--json"]
    assert main([*secret, "--plan", "0.02"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["plan"]["before"] == content["estimate"]
    assert main([*table, "--plan", "0.01", "--weight", "sex:9", "--json"]) == 0
    plan = plan_recoding(adult, ["age", "sex"], 0.01, weights={"sex": 9})
    assert json.loads(capsys.readouterr().out)["plan"]["recoding"] == plan.recoding.to_dict()
    assert main([*table, "--group-rare", "age:500", "--bottom-code", "sex:3"]) == 1
    assert "hold numbers in column 'sex'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bin", "age"], "--bin must be COLUMN:NUMBER; got 'age'"),
        (["--bin", "age:x"], "--bin must be COLUMN:NUMBER"),
        (["--bin", "ago:5"], "--bin must name columns"),
        (["--bin", "age:5", "--recode", "x.csv"], "--recode must be given alone"),
        (["--bin", "age:5", "--plan", "0.1"], "--plan must be given without another recoding"),
        (["--keep", "age"], "--keep, --weight and --recode-to go with --plan"),
        (["--plan", "0.1", "--margins", "age,sex"], "--plan must be given without --margins"),
        (["--plan", "0.1", "--person", "age"], "--plan must be given without --person"),
        (["--plan", "0.1", "--panel", "x.csv"], "--plan must be given without --panel"),
        (["--plan", "0.1", "--strata", "sex"], "--plan must be given without --strata"),
        (["--plan", "0.1", "--weight", "ago:2"], "--weight must name columns"),
        (["--plan", "2"], "--plan must be strictly between 0 and 1"),
    ],
)
def test_bad_options_are_refused_in_a_line(arguments, message, capsys):
    assert main(["table", "--example", "adult", *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_plan_is_for_the_table_that_is_asked_about(tmp_path, monkeypatch, capsys):
    """Totals, suppressed counts and columns that are left out."""
    monkeypatch.chdir(tmp_path)
    cells = [(age, sex, 3 + (7 * age) % 40) for age in range(12) for sex in "fm"]
    lines = [f"{age},{sex},x{k},{n}" for k, (age, sex, n) in enumerate(cells)]
    lines += [f"{age},Total,y{age},{2 * (3 + (7 * age) % 40)}" for age in range(12)]
    Path("t.csv").write_text("\n".join(["age,sex,name,n", *lines, "12,f,z,<5"]) + "\n")
    table = ["table", "t.csv", "--counts", "n", "--total", "Total", "--suppressed", "2"]
    command = [*table, "--exclude", "name", "--plan", "0.1", "--json"]
    assert main(command) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["plan"]["before"] == content["estimate"]
    frame = {"age": [c[0] for c in cells] + [12], "sex": [c[1] for c in cells] + ["f"],
             "n": [c[2] for c in cells] + [2]}  # fmt: skip
    plan = plan_recoding(frame, leakage=0.1, counts="n")
    assert content["plan"]["lost"] == pytest.approx(plan.lost, rel=1e-12)


def test_a_band_that_an_end_cuts_is_named_by_what_it_holds():
    """It was "60-79" beside "74+", and 79 was in the latter."""
    ages = {"age": [12, 61, 73, 74, 79]}
    cut = table_leakage(ages, recode={"age": {"bin": 20, "top": 74}})
    assert {row.values["age"] for row in cut.riskiest(5)} == {"0-19", "60-73", "74+"}
    cut = table_leakage({"age": [16, 17, 18, 20, 21]}, recode={"age": {"bin": 5, "bottom": 17}})
    assert {row.values["age"] for row in cut.riskiest(5)} == {"up to 17", "18-19", "20-24"}
    cut = table_leakage({"age": [1.0, 5.5, 7.5]}, recode={"age": {"bin": 2.5, "top": 6.0}})
    assert {row.values["age"] for row in cut.riskiest(3)} == {"[0, 2.5)", "[5, 6)", "6+"}


def test_missing_values_of_a_dropped_column_are_dropped():
    """They were a cell of their own: 140 cells for 102, and a limit that did not hold."""
    table = {"region": ["a", None, "b", None] * 50, "sex": ["f", "m"] * 100}
    dropped = table_leakage(table, na="category", recode={"region": {"drop": True}})
    assert dropped.n_cells == 2
    assert dropped.plug_in == table_leakage({"sex": table["sex"]}).plug_in


def test_a_plan_puts_no_codes_with_leading_zeros_into_bands():
    table = {"code": [f"{k % 16 + 1:02}" for k in range(800)], "x": [k % 7 for k in range(800)]}
    plan = plan_recoding(table, None, 0.05)
    assert set(plan.recoding.rules.get("code", {})) <= {"rare", "keep", "drop"}
    assert plan_recoding({**table, "code": [int(k) for k in table["code"]]}, None, 0.05)


@pytest.mark.parametrize(
    ("rules", "values", "expected"),
    [
        ({"bin": 0.1}, [0.25, 0.3, 0.7], ["[0.2, 0.3)", "[0.3, 0.4)", "[0.7, 0.8)"]),
        ({"bin": 0.1}, [-0.3, 0.6, 1.1], ["[-0.3, -0.2)", "[0.6, 0.7)", "[1.1, 1.2)"]),
        ({"bin": 0.2, "start": 0.1}, [19.9, 20.2], ["[19.9, 20.1)", "[20.1, 20.3)"]),
    ],
)
def test_a_number_at_the_end_of_a_band_is_in_the_one_that_begins_there(rules, values, expected):
    report = table_leakage({"x": values}, recode={"x": rules})
    shown = [report.cell_values(int(cell))["x"] for cell in report.row_cells]
    assert shown == expected


@pytest.mark.parametrize(
    "rules",
    [
        {"top": 80},
        {"keep": [20, 30]},
        {"rare": 2},
        {"codes": {age: "old" if age > 50 else "young" for age in (20, 21, 30, 85, 90)}},
    ],
)
def test_whole_numbers_are_the_same_with_decimals(rules):
    """As pandas has them beside missing values."""
    sample = {"age": [20, 20, 30, 30, 85]}
    register = [20, 20, 20, 21, 30, 30, 30, 85, 85, 90]
    whole, decimals = (
        table_leakage(sample, population={"age": ages}, recode={"age": rules}).population.leakage
        for ages in (register, [float(age) for age in register])
    )
    assert decimals == whole
    with_rows = {"age": [float(age) for age in sample["age"]]}
    again = table_leakage(with_rows, population={"age": register}, recode={"age": rules})
    assert again.population.leakage == whole


def test_a_plan_is_right_for_a_register_with_decimals():
    sample = {"age": [20] * 9 + [30] * 9 + [40] * 2}
    ages = [20] * 40 + [30] * 40 + [40] * 4 + [50] * 3
    plans = [
        plan_recoding(sample, leakage=0.13, population={"age": each})
        for each in (ages, [float(age) for age in ages])
    ]
    assert plans[0].after.value == plans[1].after.value
    assert plans[0].recoding == plans[1].recoding


def test_a_recode_table_of_decimals_is_that_of_whole_numbers(tmp_path):
    recoding = Recoding({"age": {"top": 80}})
    recoding.write(tmp_path / "codes.csv", values={"age": [20.0, 30.5, 85.0]})
    lines = (tmp_path / "codes.csv").read_text().splitlines()
    assert lines == ["column,value,code", "age,20,20", "age,30.5,30.5", "age,85,80+"]
    report = table_leakage({"age": [20, 20, 85]}, recode=tmp_path / "codes.csv")
    assert [report.cell_values(cell)["age"] for cell in (0, 1)] == ["20", "80+"]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"top": 120}, "top code 120 of column 'x' changes no value: it holds 0 to 41"),
        ({"bin": 5, "top": 100}, "top code 100 of column 'x' changes no value"),
        ({"top": 60}, None),  # one for all years of a series
        ({"bin": 5, "top": 41}, None),
        ({"bottom": 3, "top": 30}, None),
    ],
)
def test_the_code_of_an_end_in_months_of_a_column_in_years_has_a_caution(rules, words):
    tenure = np.random.default_rng(8).integers(0, 42, 2000)
    tenure[:2] = 0, 41
    met = table_leakage({"x": tenure, "y": tenure % 2}, recode={"x": rules}).cautions
    met = [each for each in met if "unit of the column" in each]
    assert [words in each for each in met] == ([True] if words else [])


@pytest.mark.parametrize(
    ("rules", "is_met"),
    [
        ({"bin": 10, "top": 100}, True),  # thousands
        ({"bin": 10_000, "top": 100_000}, False),
        ({"top": 1}, False),  # any earnings
        ({"bottom": 5000}, False),
        ({"bottom": 500_000}, True),
    ],
)
def test_the_code_of_an_end_that_nearly_all_earnings_have_has_a_caution(rules, is_met):
    rng = np.random.default_rng(9)
    dollars = np.where(rng.random(2000) < 0.3, 0, rng.lognormal(10.0, 0.8, 2000).round(-2))
    dollars[0] = 600_000
    met = table_leakage({"x": dollars, "y": dollars % 2}, recode={"x": rules}).cautions
    met = [each for each in met if "that of nearly all rows: it holds 0 to 600000" in each]
    assert len(met) == is_met
