"""Plans of releases in files, the shell, and bad input."""

from __future__ import annotations

import json
import re
from datetime import date, datetime

import numpy as np
import pandas as pd
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


def test_published_counts_below_the_threshold_are_limited_by_themselves(tmp_path, capsys):
    """Counts of 2 and 30 people, with a threshold of 5: no group follows that no output shows."""
    (tmp_path / "people.csv").write_text("ward\n" + "A\n" * 2 + "B\n" * 30)
    plan = written(tmp_path, "threshold = 5\n[[outputs]]\ntable = 'ward'\n[limits]\nsmall = 1\n")
    assert main(["release", plan, "--max-determined", "0"]) == 0
    out = capsys.readouterr().out
    assert "1 published count is below 5." in out
    assert "published counts from 1 to 4, 1, is within the limit 1." in out
    assert main(["release", plan, "--max-small", "0"]) == 2
    assert "published counts from 1 to 4, 1, is above the limit 0." in capsys.readouterr().out
    plan = written(tmp_path, "threshold = 5\n[[outputs]]\ntable = 'ward'\n")
    assert main(["release", plan, "--max-determined", "0"]) == 0
    assert "counts from 1 to 4, 1, are not judged: pass --max-small" in capsys.readouterr().out


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
        (
            {"published": {"city": ["Oslo"], "n": [41]}},
            "1 of its counts differ: row 0 holds 41 for 40.",
        ),
        (
            {"published": {"city": ["Oslo"] * 2, "n": [40, 40]}},
            "published must hold each cell once",
        ),
        ({"published": {"city": ["Oslo", "Rome"], "n": [40, 2]}}, "1 of its counts differ"),
        (
            {"published": {"city": ["Oslo"], "n": [40]}, "protect": Round(7)},
            "after Round(base=7); 1 of its counts differ: row 0 holds 40 for 42. Pass the people",
        ),
        (
            {"published": {"city": ["Oslo", "Bergen"], "n": [40.0, 50.0]}, "protect": Round(5)},
            "1 of its counts differ: row 1 holds 50 for 30. Pass the people it was made from",
        ),
        (
            {"published": {"city": ["Oslo", "Bergen"], "n": [50, 30]}},
            "2 of its counts differ: row 0 holds 50 for 40, and so on. All are multiples of 10: "
            "if they are rounded, pass protect='round:10'",
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


@pytest.mark.parametrize("end", ["2024-01-30", date(2024, 1, 30), pd.Timestamp("2024-01-30")])
@pytest.mark.parametrize("hour", ["", "T00:00:00", "T09:30:00"])
def test_an_end_that_is_a_day_holds_all_of_it(end, hour):
    """Of days in words, of the times of a column of dates, and of other times; none of a time."""
    days = [f"{day}{hour}" for day in ("2024-01-09", "2024-01-30", "2024-11-02")]
    values = pd.to_datetime(days * 10) if hour == "T00:00:00" else days * 10
    release = Release(pd.DataFrame({"day": values, "sex": ["f"] * 30}))
    for key in ("max", "min"):
        release.add_table(["sex"], where={"day": {key: end}})
    people = [int(output.where.rows.sum()) for output in release._outputs]
    is_time = isinstance(end, datetime) and hour == "T09:30:00"
    assert people == ([10, 20] if is_time else [20, 20])
