"""Plans of releases in files, the shell, and bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from mialeak import Release
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.estimators import mean_influence
from mialeak.mechanisms import Mode, Round, Suppress

PEOPLE = {
    "city": ["Oslo"] * 40 + ["Bergen"] * 31,
    "sex": ["f", "m"] * 35 + ["f"],
    "age": [30, 50] * 35 + [90],
    "income": [400 + 7 * k % 90 for k in range(71)],
}
HEAD = 'schema = "mialeak.release-plan/1"\npeople = "people.csv"\n'
TWO_TABLES = """
[[outputs]]
table = ["city"]
[[outputs]]
table = ["city"]
where = { age = { max = 80 } }
"""
#: The kinds of differencing that users ask output checkers about, and the words of the answer.
DIFFERENCING = {
    "a table and its sub-population (AI-SDC/ACRO 106, 117)": (
        TWO_TABLES,
        "city = Bergen, age > 80: 1 person = table 1 (city = Bergen) minus table 2 "
        "(city = Bergen, age <= 80)",
    ),
    "means of all and of all but one (datashield/dsBase 250)": (
        '[[outputs]]\nmean = ["income"]\n'
        '[[outputs]]\nmean = ["income"]\nwhere = { age = { max = 80 } }\n',
        "age > 80: 1 person = the number of people minus mean 2 (age <= 80)",
    ),
    "a small count is hidden, the total is not (ddsjoberg/gtsummary 1691)": (
        '[[outputs]]\ntable = ["age"]\nprotect = "suppress:5"\n',
        "table 1, age = 90: can be recovered, between 1 and 1 (shown: between 0 and 4) = "
        "the number of people minus table 1 (age = 30) minus table 1 (age = 50)",
    ),
    "linked tables, one of them suppressed (sdcTools/UserSupport 180)": (
        '[[outputs]]\ntable = ["city", "age"]\nprotect = "suppress:5"\n'
        '[[outputs]]\ntable = ["city"]\n',
        "table 1, city = Bergen, age = 90: can be recovered, between 1 and 1",
    ),
    "a group and its complement, indirectly (OpenSAFELY)": (
        '[[outputs]]\ntable = ["sex"]\nwhere = { city = { not = "Bergen" } }\n'
        '[[outputs]]\ntable = ["sex"]\nwhere = { age = { max = 80 } }\n'
        '[[outputs]]\ntable = ["sex"]\n',
        "sex = f, age > 80: 1 person = table 3 (sex = f) minus table 2 (sex = f, age <= 80)",
    ),
}


@pytest.fixture
def folder(tmp_path):
    rows = zip(*PEOPLE.values(), strict=True)
    lines = [",".join(PEOPLE), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def written(folder, text, head=HEAD):
    plan = folder / "plan.toml"
    plan.write_text(head + text)
    return str(plan)


# --- the shell ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", DIFFERENCING)
def test_differencing_of_the_field_is_flagged_with_its_explanation(folder, capsys, case):
    text, words = DIFFERENCING[case]
    assert main(["release", written(folder, text), "--max-determined", "0"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert words in out
    assert "is above the limit 0" in out


def test_the_mended_release_is_within_the_limit(folder, capsys):
    """The second table keeps everybody and joins the oldest with their neighbours."""
    text = '[[outputs]]\ntable = ["city"]\n[[outputs]]\ntable = ["sex"]\n'
    text += "[limits]\ndetermined = 0\nmax_row_leakage = 1.0\n"
    assert main(["release", written(folder, text)]) == 0
    out = capsys.readouterr().out
    assert "follow from the outputs, 0, is within the limit 0." in out
    assert "is within the limit 1." in out


MORNING = (
    HEAD
    + """threshold = 10
[limits]
determined = 0
"""
    + "".join(
        f"[[outputs]]\n{line}\n"
        for line in (
            'table = ["education", "sex"]',
            'table = ["race", "sex"]',
            'table = ["marital_status"]',
            'table = ["occupation", "sex"]',
            'table = ["workclass"]',
            'table = ["relationship", "sex"]',
            'mean = ["hours_per_week"]',
            'table = ["race"]\nwhere = { sex = "Female" }',
            'table = ["occupation"]\nwhere = { age = { max = 64 } }',
            'table = ["occupation"]\nwhere = { age = { max = LIMIT } }',
        )
    )
)


def test_a_morning_of_ten_outputs_of_which_one_is_dangerous(tmp_path, capsys):
    """Found, named by its explanation and by what each output adds, and mended by one age limit."""
    adult = load_adult().columns
    text = "\n".join(
        [",".join(adult), *map(",".join, zip(*map(words, adult.values()), strict=True))]
    )
    (tmp_path / "people.csv").write_text(text + "\n", encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(MORNING.replace("LIMIT", "65"), encoding="utf-8")
    assert main(["release", str(plan), "--contributions", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    rows = [k for k, age in enumerate(adult["age"]) if age == 65]
    for group in report["determined"]:
        if "age = 65" in group["group"]:
            assert set(group["rows"]) <= set(rows)
            assert group["outputs"] == ["table 9", "table 10"]
    first = report["determined"][0]
    assert first["group"] == "occupation = Tech-support, age = 65"
    assert first["people"] == 1
    assert [each["determined"] for each in report["contributions"]][:3] == [0, 0, 0]
    most = max(report["contributions"], key=lambda each: each["determined"])
    assert most["output"] == "table 10: occupation, where age <= 65"
    plan.write_text(MORNING.replace("LIMIT", "64"), encoding="utf-8")
    assert main(["release", str(plan), "--accept-cautions"]) == 0  # "?" is a value here
    assert "0, is within the limit 0." in capsys.readouterr().out


def words(column):
    return [str(value) for value in column]


def test_limits_of_the_options_replace_those_of_the_plan(folder, capsys):
    plan = written(folder, TWO_TABLES + "[limits]\ndetermined = 0\n")
    assert main(["release", plan]) == 2
    assert main(["release", plan, "--max-determined", "1"]) == 0
    assert main(["release", plan, "--max-determined", "1", "--max-leakage", "0"]) == 2
    assert main(["release", plan, "--max-determined", "1", "--max-row-leakage", "0.1"]) == 2
    capsys.readouterr()


def test_json_has_what_the_text_has(folder, capsys):
    plan = written(folder, TWO_TABLES)
    assert main(["release", plan, "--json", "--contributions", "--show-rows"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "mialeak.release/1"
    assert content["limit"] is None
    assert content["determined"][0]["rows"] == [70]
    assert content["kind"] == "estimate"
    assert content["plug_in"]["average"]["kind"] == "exact"
    assert [each["determined"] for each in content["contributions"]] == [0, 1]
    assert content["riskiest"][0]["values"] == {"city": "Bergen", "age": "90"}


def test_a_page_is_written(folder, capsys):
    page = folder / "report.html"
    assert main(["release", written(folder, TWO_TABLES), "--html", str(page)]) == 0
    assert "table 1 (city = Bergen) minus" in page.read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_plan_with_a_register_and_published_counts(folder):
    lines = (folder / "people.csv").read_text().splitlines()
    (folder / "sample.csv").write_text("\n".join([lines[0], *lines[1::3]]) + "\n")
    (folder / "shown.csv").write_text("city,n\nOslo,14\nBergen,\n")
    head = HEAD.replace("people.csv", "sample.csv") + 'population = "people.csv"\nthreshold = 3\n'
    text = '[[outputs]]\ntable = "city"\npublished = "shown.csv"\n'
    release = Release.from_plan(written(folder, text, head))
    report = release.leakage(threshold=release.plan.threshold)
    assert report.people == 71
    assert report.rows == 24
    assert report.joint is None
    assert [(each.cell, each.low, each.high) for each in report.recovered] == [
        ("city = Bergen", 10, 10)
    ]


# --- plans that are refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "head", "words"),
    [
        ("", "people = 'people.csv'\n", "schema of plan.toml must be 'mialeak.release-plan/1'"),
        ("", "schema = [", "must be a plan in TOML"),
        ("", HEAD, "outputs of plan.toml must be tables, each below a line [[outputs]]"),
        ("outputs = []", HEAD + "treshold = 3\n", "'treshold'. Did you mean 'threshold'?"),
        ("outputs = []", HEAD.split("people")[0], "people of plan.toml must be the name of a file"),
        ("[[outputs]]\ntabel = ['city']", HEAD, "'tabel'. Did you mean 'table'?"),
        ("[[outputs]]\ntable = ['city']\nwheer = {}", HEAD, "'wheer'. Did you mean 'where'?"),
        ("[[outputs]]\nmean = ['age']\nprotect = 'round:5'", HEAD, "hold no unknown keys"),
        ("[[outputs]]\ntable = ['city']\nmean = ['age']", HEAD, "one of them"),
        ("[[outputs]]\ntable = 3", HEAD, "be names of columns"),
        ("[[outputs]]\ntable = ['town']", HEAD, "output 1 of plan.toml: columns must be columns"),
        ("[[outputs]]\ntable = ['city']\nprotect = 'round'", HEAD, "must be round:BASE"),
        ("[[outputs]]\ntable = ['city']\nprotect = 'hide:3'", HEAD, "must be round:BASE"),
        (
            "[[outputs]]\ntable = ['city']\npublished = '../x.csv'",
            HEAD,
            "in the folder of the plan",
        ),
        ("outputs = []", HEAD.replace("people.csv", "/etc/passwd"), "in the folder of the plan"),
        ("outputs = []\n[limits]\nmax_leak = 1", HEAD, "Did you mean 'max_leakage'"),
        ("outputs = []\n[limits]\nmax_leakage = 2", HEAD, "must be between 0 and 1"),
        ("outputs = []\n[limits]\ndetermined = -1", HEAD, "a whole number of at least 0"),
        ("outputs = []", HEAD + "threshold = 0\n", "a whole number of at least 2"),
        ("outputs = []", HEAD + "na = 'drop'\n", 'na must be "error" or "category"'),
        ("[[outputs]]\ntable = ['city']", HEAD + "missing = ['Oslo']\n", 'na = "category" in it'),
        ("outputs = []", HEAD, "outputs must hold at least one"),
    ],
)
def test_a_plan_with_a_mistake_is_refused(folder, capsys, text, head, words):
    assert main(["release", written(folder, text, head)]) == 1
    assert words in capsys.readouterr().err


def test_a_plan_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["release", str(tmp_path / "plan.toml")]) == 1
    assert "No such file" in capsys.readouterr().err


# --- outputs that are refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"columns": ["town"]}, "columns must be columns of the table; got columns[0] = 'town'"),
        ({"columns": ["cty"]}, "Did you mean 'city'?"),
        ({"columns": []}, "columns must name at least one column"),
        ({"columns": ["city", "city"]}, "name each column once"),
        ({"where": {"town": 1}}, "where must be columns of the table; got where[0] = 'town'"),
        ({"where": {"city": "oslo"}}, "where must name values that occur; got where = 'oslo'"),
        ({"where": {"age": "90"}}, "there is one of another type that is written alike"),
        ({"where": {"age": {"min": 95}}}, "where must select at least one of the people"),
        ({"where": {"age": {"mx": 95}}}, "hold min, max or not"),
        ({"where": {"city": {"min": 3}}}, "compare with the values of column 'city'"),
        ({"where": "age > 80"}, "where must map columns"),
        ({"protect": 5}, "protect must be a protection of each count by itself"),
        ({"protect": Mode()}, "use mechanism_leakage with a known law"),
        ({"published": {"city": ["Oslo"]}}, "the columns of the table and one column of counts"),
        ({"published": {"city": ["Oslo"], "n": [41]}}, "1 of its counts differ"),
        (
            {"published": {"city": ["Oslo"] * 2, "n": [40, 40]}},
            "published must hold each cell once",
        ),
        ({"published": {"city": ["Oslo", "Rome"], "n": [40, 2]}}, "1 of its counts differ"),
        (
            {"published": {"city": ["Oslo"], "n": [40]}, "protect": Round(7)},
            "1 of its counts differ",
        ),
    ],
)
def test_an_output_with_a_mistake_is_refused_and_not_added(arguments, words):
    release = Release(PEOPLE)
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        release.add_table(**{"columns": ["city"], **arguments})
    assert release.outputs == ()


def test_people_with_a_mistake_are_refused():
    with pytest.raises(TypeError, match="must be a pandas, polars or pyarrow table or a dict"):
        Release([1, 2])
    with pytest.raises(ValueError, match="have at least one row"):
        Release({"a": []})
    with pytest.raises(ValueError, match="population must hold more people than the release"):
        Release(PEOPLE, PEOPLE)
    release = Release({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="column 'b' must have as many rows as column 'a'"):
        release.add_table(["a", "b"])
    release = Release({"a": [1, None]})
    with pytest.raises(ValueError, match="have no missing values; there are 1 in column 'a'"):
        release.add_table(["a"])
    release = Release({"a": [1, None]}, na="category")
    release.add_table(["a"])
    assert release.leakage().n_cells == 2


def test_people_who_are_no_sample_of_the_register_are_refused():
    release = Release({"a": [1, 1]}, {"a": [1, 2, 2]})
    release.add_table(["a"])
    with pytest.raises(ValueError, match="have at least as many people as the release in every"):
        release.leakage()


def test_protections_and_estimates_are_refused_with_a_register():
    release = Release({"a": [1, 2, 2]}, {"a": [1, 1, 2, 2]})
    with pytest.raises(ValueError, match="protect is not available with population: the law"):
        release.add_table(["a"], protect=Suppress(3))
    with pytest.raises(ValueError, match="add_estimate is not available with population"):
        release.add_estimate(mean_influence(np.array([[1.0], [2.0], [4.0]])))


def test_means_and_estimates_with_a_mistake_are_refused():
    release = Release(PEOPLE)
    with pytest.raises(TypeError, match="column 'city' must hold numbers, to be averaged"):
        release.add_mean(["city"])
    with pytest.raises(ValueError, match="no missing or infinite values"):
        Release({"a": [1.0, np.inf]}).add_mean(["a"])
    with pytest.raises(ValueError, match="have one row for each of the 71 people"):
        release.add_estimate(mean_influence(np.arange(5.0)[:, None]))
    with pytest.raises(ValueError, match="threshold must be between 2"):
        release.leakage(threshold=0)


# --- the results of ACRO --------------------------------------------------------------------------

GRANTS = {
    "year": [2010] * 40 + [2011] * 38,
    "grant_type": ["G"] * 15 + ["N"] * 20 + ["R"] * 5 + ["G"] * 12 + ["N"] * 22 + ["R"] * 4,
    "survivor": ["Dead", "Alive"] * 39,
}
#: Outputs as ACRO 0.4.12 writes them: its files by their names.
ACRO = {
    "suppressed": "year,G,N,R\n2010,15.0,20.0,\n2011,12.0,22.0,\n",
    "with totals": "year,G,N,R,All\n2010,15.0,20.0,,40\n2011,12.0,22.0,,38\nAll,27,42,9,78\n",
    "totals of what is shown": "year,G,N,All\n2010,15,20.0,35\n2011,12,22.0,34\nAll,27,42.0,69\n",
    "two columns": "grant_type,G,G,N,N,R,R\nsurvivor,Alive,Dead,Alive,Dead,Alive,Dead\n"
    "year,,,,,,\n2010,7,8,10,10,,\n2011,6,6,11,11,,\n",
    "two rows": "year,grant_type,Alive,Dead\n2010,G,7,8\n2010,N,10,10\n2010,R,,\n"
    "2011,G,6,6\n2011,N,11,11\n2011,R,,\n",
    "means": "year,G,N\n2010,9921906.5,0.25\n2011,8502247.0,123496.445\n",
}


def acro_results(folder, *names):
    """A results.json with the outputs, and one that is no table."""
    results = {}
    for place, name in enumerate(names):
        file = f"output_{place}_0.csv"
        (folder / file).write_text(ACRO[name])
        results[f"output_{place}"] = {
            "uid": f"output_{place}",
            "status": "review",
            "type": "table",
            "properties": {"method": "crosstab"},
            "files": [{"name": file, "sdc": {"summary": {"suppressed": True}, "cells": {}}}],
            "outcome": {},
            "command": "acro.crosstab(",
            "summary": "review; threshold: 2 cells suppressed; ",
            "timestamp": "2026-06-30T15:19:49.603861",
            "comments": [],
            "exception": "",
        }
    results["output_9"] = {
        "uid": "output_9",
        "status": "review",
        "type": "custom",
        "properties": {},
        "files": [{"name": "code.py", "sdc": {}}],
    }
    path = folder / "results.json"
    path.write_text(json.dumps({"version": "0.4.12", "results": results, "session_summary": {}}))
    return path


def test_the_results_of_acro_are_read_and_their_hidden_counts_recovered(tmp_path):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, "suppressed", "with totals", "means"))
    assert release.outputs == (
        "table 1: year by grant_type",
        "table 2: year by grant_type",
        "table 3: year",
        "table 4: grant_type",
    )
    report = release.leakage()
    hidden = {(each.output, each.cell): (each.low, each.high) for each in report.recovered}
    assert hidden["table 1", "year = 2010, grant_type = R"] == (5, 5)
    assert hidden["table 2", "year = 2011, grant_type = R"] == (4, 4)
    assert "output_2 (crosstab), output_9 (custom) of ACRO's results" in report.cautions[0]


def test_totals_of_what_acro_shows_are_no_further_outputs(tmp_path):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, "totals of what is shown"))
    assert release.outputs == ("table 1: year by grant_type",)
    hidden = release.leakage().recovered  # 9 people of two years remain
    assert all((each.low, each.high) == (0, 9) for each in hidden)


@pytest.mark.parametrize("name", ["two columns", "two rows"])
def test_tables_of_acro_by_three_columns_are_read(tmp_path, name):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, name).parent)
    assert len(release.outputs) == 1
    assert set(release.outputs[0].removeprefix("table 1: ").split(" by ")) == set(GRANTS)
    assert release.leakage().n_counts == 12


@pytest.mark.parametrize("hidden", [(2010,), (2010, 2011)])
def test_a_category_of_which_acro_hides_all_counts_is_no_line_of_names(tmp_path, hidden):
    path = acro_results(tmp_path, "suppressed")
    lines = ["2010,15,20,5", "2011,12,22,4"]
    lines = [f"{x[:4]},,," if int(x[:4]) in hidden else x for x in lines]
    (tmp_path / "output_0_0.csv").write_text("\n".join(["year,G,N,R", *lines]) + "\n")
    release = Release(GRANTS)
    release.add_acro(path)
    assert release.outputs == ("table 1: year by grant_type",)


def write_grants(tmp_path):
    rows = [GRANTS, *zip(*GRANTS.values(), strict=True)]
    (tmp_path / "people.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))


def test_a_gate_does_not_pass_for_outputs_that_are_not_read(tmp_path, capsys):
    path = acro_results(tmp_path, "with totals", "means")
    write_grants(tmp_path)
    plan = written(tmp_path, f'[[outputs]]\nacro = "{path.name}"\n')
    for more, code in (([], 3), (["--accept-cautions"], 0)):
        assert main(["release", plan, "--max-determined", "9", *more]) == code
        out = " ".join(capsys.readouterr().out.split())
        assert out.startswith("Caution: Not read, and not counted in any leakage: output_1")
    chosen = f'[[outputs]]\nacro = "{path.name}"\noutputs = ["output_0"]\n'
    for more, code in (("", 3), ('protect = "suppress:10"\n', 0)):
        plan = written(tmp_path, chosen + more)
        assert main(["release", plan, "--max-determined", "9"]) == code
        assert "Not read" not in capsys.readouterr().out


def test_a_plan_takes_the_results_of_acro(tmp_path, capsys):
    acro_results(tmp_path, "suppressed", "with totals")
    write_grants(tmp_path)
    plan = written(tmp_path, '[[outputs]]\nacro = "results.json"\noutputs = ["output_1"]\n')
    assert main(["release", plan, "--max-determined", "0"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "table 1, year = 2010, grant_type = R: can be recovered, between 5 and 5" in out
    assert "of ACRO's results" not in out


@pytest.mark.parametrize(
    ("people", "content", "arguments", "words"),
    [
        (GRANTS, "[]", {}, "be the results.json that ACRO writes, from version 0.4 on"),
        (GRANTS, "{", {}, "be JSON"),
        (GRANTS, None, {"outputs": ["output_7"]}, "outputs must be outputs of the results"),
        (GRANTS, None, {"where": {"survivor": "Dead"}}, "output_0 of ACRO: published must have"),
        ({"year": [2010, 2011]}, None, {}, "have one column with the values"),
        ({**GRANTS, "same": GRANTS["grant_type"]}, None, {}, "'grant_type', 'same' have them"),
    ],
)
def test_results_of_acro_with_a_mistake_are_refused(tmp_path, people, content, arguments, words):
    path = acro_results(tmp_path, "suppressed")
    if content is not None:
        path.write_text(content)
    release = Release(people)
    with pytest.raises(ValueError, match=re.escape(words)):
        release.add_acro(path, **arguments)
    assert release.outputs == ()


def test_results_of_acro_name_files_of_their_folder(tmp_path):
    path = acro_results(tmp_path, "suppressed")
    path.write_text(path.read_text().replace("output_0_0.csv", "../x.csv"))
    with pytest.raises(ValueError, match="a file in the folder of the plan or below it"):
        Release(GRANTS).add_acro(path)


def test_ends_that_are_written_as_text_are_those_of_numbers():
    release = Release({"hours": ["5", "40", "80", "100"] * 5, "sex": ["f", "m"] * 10})
    for end in (80, "80"):
        release.add_table(["hours"], where={"hours": {"max": end}})
        release.add_table(["sex"], where={"hours": {"min": end}})
    one, two, other_one, other_two = (output.partition(": ")[2] for output in release.outputs)
    assert (
        (one, two)
        == (other_one, other_two)
        == ("hours, where hours <= 80", "sex, where hours >= 80")
    )
    assert release.leakage().n_counts == 10


def test_ends_among_words_are_refused_where_their_order_is_not_that_of_numbers():
    """Ages of which the last is open, and bands; dates and letters are in one order."""
    for values, end in ((["9", "40", "70+"], "40"), (["(5, 30]", "(30, 50]"], "(30, 50]")):
        release = Release({"age": values * 10, "sex": ["f", "m"] * 5 * len(values)})
        with pytest.raises(
            ValueError, match="list the values that belong, or pass a column of numbers"
        ):
            release.add_table(["sex"], where={"age": {"max": end}})
    release = Release({"day": ["2024-01-09", "2024-01-30", "2024-11-02"] * 10, "sex": ["f"] * 30})
    release.add_table(["sex"], where={"day": {"max": "2024-02-01"}})
    assert release.leakage().rows == 30
