"""Hidden counts that follow, what an output adds, and the words for groups and conditions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mialeak import Release, atom_leakage
from mialeak.cli import main
from mialeak.mechanisms import RandomRound, Suppress

# --- all hidden counts ----------------------------------------------------------------------------


def test_a_combination_recovers_a_count_however_many_others_are_hidden():
    """51 wards of one person are hidden, and a ward of two that the table by region shows."""
    wards = [f"ward {k:02d}" for k in range(51)]
    people = {
        "ward": [*wards, "x", "x", *["y"] * 40],
        "region": ["p"] * 51 + ["q"] * 2 + ["r"] * 40,
    }
    release = Release(people)
    shown = {"ward": [*wards, "x", "y"], "n": [None] * 52 + [40]}
    release.add_table(["ward"], published=shown)
    release.add_table(["region"])
    report = release.leakage()
    assert report.n_determined == 1
    cell = report.recovered[0]
    assert (cell.cell, cell.low, cell.high) == ("ward = x", 2, 2)
    why = "since each value of ward has one value of region"
    assert cell.explanation == f"table 2 (region = q) ({why})"


@pytest.mark.parametrize(
    ("mark", "others", "below"),
    [("*", [7, 62], 5), ("", [12, 62], 10), ("1-4", [7, 62], None), ("*", [4, 62], None)],
)
def test_a_rule_that_hid_all_small_counts_is_named_whatever_the_threshold(mark, others, below):
    """Three wards of 4 of 12 people in all: a reader who knows that each is below 5 has them."""
    counts = dict(zip("abcdef", [130, 4, 4, 4, *others], strict=True))
    release = Release({"ward": [ward for ward, n in counts.items() for _ in range(n)]})
    shown = [mark if ward in "bcd" else str(n) for ward, n in counts.items()]
    release.add_table(["ward"], published={"ward": list(counts), "n": shown})
    cautions = release.leakage().cautions
    assert len(cautions) == (below is not None)
    if below:
        assert f"those below {below}. A reader" in cautions[0]
        assert f'add protect = "suppress:{below}"' in cautions[0]
    if below == 5:
        release = Release({"ward": [ward for ward, n in counts.items() for _ in range(n)]})
        published = {"ward": list(counts), "n": shown}
        release.add_table(["ward"], protect=Suppress(5), published=published)
        assert [(each.low, each.high) for each in release.leakage().recovered] == [(4, 4)] * 3


def test_counts_of_nobody_do_not_take_the_place_of_hidden_counts_of_people():
    """A register of 60 towns: the sample has nobody of 57, and their counts are hidden too."""
    towns = [f"t{k:02d}" for k in range(60)]
    register = {"town": towns * 5, "coast": [town in towns[:2] for town in towns * 5]}
    people = {"town": ["t00"] * 2 + ["t01"] * 3 + ["t02"], "coast": [True] * 5 + [False]}
    release = Release(people, register)
    release.add_table(["town"], published={"town": towns, "n": [None] * 60})
    release.add_table(["coast"])
    cells = {each.cell: (each.low, each.high) for each in release.leakage().recovered}
    assert cells["town = t00"] == cells["town = t01"] == (0, 5)


def test_a_group_that_several_outputs_hide_is_one_group():
    release = Release({"ward": ["a"] * 30 + ["b"] * 2 + ["c"] * 19})
    release.add_table(["ward"], protect=Suppress(5))
    release.add_table(["ward"], protect=Suppress(4))
    report = release.leakage()
    assert [each.people for each in report.recovered] == [2, 2]
    assert report.n_determined == 1


def test_a_count_that_its_own_mark_gives_is_known():
    """A mark for counts below 2 beside zeros that are shown stands for one person."""
    people = {
        "ward": ["a"] * 9 + ["b"] + ["c"] + ["d"] * 7,
        "coast": [0] * 9 + [1, 0, 1, 1] + [0] * 5,
    }
    protect = Suppress(2, zeros_shown=True)
    release = Release(people)
    release.add_table(["ward"], protect=protect)
    release.add_table(["ward"], where={"coast": 0})
    report = release.leakage()
    assert report.small == 7  # 9, 1, 1 and 7 of the first table, 9, 1 and 5 of the second
    assert [each.group for each in report.determined] == ["ward = d, coast = 1"]


@pytest.mark.parametrize("counts", [[5, 5], [4, 4]])
def test_ranges_of_randomly_rounded_counts_agree_with_all_tables_that_fit(counts):
    """By enumeration: counts that random rounding to 3 may turn into those that are published."""
    n, published = sum(counts), [3, 3]
    fits = [a for a in range(n + 1) if abs(a - 3) < 3 and abs(n - a - published[1]) < 3]
    release = Release({"ward": ["a"] * counts[0] + ["b"] * counts[1]})
    shown = {"ward": ["a", "b"], "n": published}
    release.add_table(["ward"], protect=RandomRound(3), published=shown)
    report = release.leakage()
    cells = {each.cell: each for each in report.recovered}
    first = cells["ward = a"]
    assert (first.shown_low, first.shown_high) == (1, 5)
    assert (first.low, first.high) == (min(fits), max(fits))
    assert report.n_determined == (2 if len(fits) == 1 else 0)


def test_the_range_of_a_rounding_that_is_not_known_is_that_of_both_multiples():
    """7 people go to 6 or to 9, which counts from 4 to 11 may do; 6 go to 6 alone."""
    release = Release({"ward": ["a"] * 7 + ["b"] * 6 + ["c"] * 40, "c": [1] * 7 + [0] * 46})
    release.add_table(["ward"], protect=RandomRound(3))
    release.add_table(["c"])
    cells = {each.cell: each for each in release.leakage().recovered}
    assert (cells["ward = a"].shown_low, cells["ward = a"].shown_high) == (4, 11)
    assert (cells["ward = a"].low, cells["ward = a"].high) == (7, 7)
    assert "ward = b" not in cells or cells["ward = b"].shown_high == 8


# --- what an output adds --------------------------------------------------------------------------


def test_a_count_that_was_narrowed_and_is_recovered_is_added():
    people = {"ward": ["a"] * 20 + ["b"] * 10 + ["c"] + ["d"] * 2, "old": [0] * 30 + [1] + [0] * 2}
    release = Release(people)
    release.add_table(["ward"], protect=Suppress(5))
    before = release.leakage()
    assert {(each.low, each.high) for each in before.recovered} == {(0, 3)}
    cost = release.cost_of(["old"])
    assert cost.determined == 2
    assert cost.explanations[0] == "table 1, ward = c: between 1 and 1"
    release.add_table(["old"])
    assert release.contributions()[1] == cost


def test_further_names_of_a_condition_add_no_hidden_counts():
    """The second table names the values c = 0 of the first one c < 1: nothing else is new."""
    people = {"a": [0, 0, 1, 1, 0, 0, 1, 1, 0], "c": [1, 1, 0, 1, 0, 0, 1, 1, 1]}
    release = Release(people)
    release.add_table(["a", "c"], protect=Suppress(3))
    assert len(release.leakage().recovered) == 2
    cost = release.cost_of(["c"], where={"c": {"min": 1}}, protect=Suppress(3))
    assert cost.determined == 0


def test_a_hidden_count_of_a_group_that_follows_already_is_not_added():
    release = Release({"a": [1] * 12 + [0] * 2})
    release.add_mean(["a"])
    assert release.leakage().n_determined == 1
    assert release.cost_of(["a"], protect=Suppress(3)).determined == 0


# --- words ----------------------------------------------------------------------------------------


def test_a_group_that_a_sum_gives_is_named_by_the_values_of_the_column():
    """12 people of 0 and 3 of 0.5: twice the sum is the number of the latter."""
    release = Release({"x": [0.0] * 12 + [0.5] * 3 + [7.0] * 5, "g": [0] * 15 + [1] * 5})
    release.add_mean(["x"], where={"g": 0})
    (group,) = release.leakage(threshold=5).determined
    assert (group.group, group.people) == ("x = 0.5, g = 0", 3)
    assert group.explanation == "2 x the sum of x in mean 1 (g = 0)"


def test_outputs_are_described_by_the_conditions_that_were_put():
    """Nobody is between 60 and 80: both conditions select the same people."""
    release = Release({"city": ["a", "b"] * 10, "age": [30] * 18 + [90] * 2})
    release.add_table(["city"])
    release.add_table(["city"], where={"age": {"max": 80}})
    release.add_table(["city"], where={"age": {"max": 60}})
    assert release.outputs[1:] == (
        "table 2: city, where age <= 80",
        "table 3: city, where age <= 60",
    )
    assert "table 2 (city = a, age <= 80)" in release.leakage().determined[0].explanation


def test_a_group_is_named_by_the_values_of_all_its_people():
    """The outputs do not separate b = 1 and b = 2 of those with a = 0, who are two people."""
    people = {"a": [1, 2, 3] * 5 + [0] * 3, "b": [1] * 12 + [0] * 3 + [1, 2, 0]}
    release = Release(people)
    release.add_table(["b"], where={"b": {"max": 0}})
    release.add_table(["a", "b"], where={"a": [1, 2, 3]})
    groups = {each.rows: each for each in release.leakage(threshold=3).determined}
    assert groups[15, 16].group == "b > 0, a = 0"
    assert not groups[15, 16].by_design


def test_all_but_a_joint_value_follow_by_design():
    """Everyone but 12 of a joint value, whatever values others have: no values of each column."""
    release = Release({"a": [0] * 12 + [1, 0], "b": [0] * 12 + [0, 1]})
    release.add_table(["a", "b"], where={"a": 0, "b": 0})
    (group,) = release.leakage(threshold=3).determined
    assert (group.group, group.people) == ("everyone but (a = 0, b = 0)", 2)
    assert group.by_design


def test_groups_of_joint_values_are_named_by_these():
    """Two joint values of two bits are published: nothing but the sum of the others follows."""
    pairs = [(0, 1)] * 20 + [(1, 0)] * 12 + [(0, 0), (1, 1)]
    release = Release(dict(zip("ab", map(list, zip(*pairs, strict=True)), strict=True)))
    release.add_table(["a"], where={"a": 0, "b": 1})
    release.add_table(["a"], where={"a": 1, "b": 0})
    (group,) = release.leakage(threshold=3).determined
    assert set(group.group.split(" or ")) == {"(a = 0, b = 0)", "(a = 1, b = 1)"}
    assert group.people == 2
    assert group.by_design


def test_joint_values_that_are_many_are_counted():
    """Eight values of two columns are published, each beside another: eight others remain."""
    shown = [(k, k) for k in range(8)]
    pairs = [pair for pair in shown for _ in range(12)] + [(k, (k + 1) % 8) for k in range(8)]
    release = Release(dict(zip("ab", map(list, zip(*pairs, strict=True)), strict=True)))
    for k in range(8):
        release.add_table(["a"], where={"a": k, "b": k})
    (group,) = release.leakage().determined
    assert group.people == 8
    assert group.group.startswith("(a = 0, b = 1) or ")
    assert group.group.endswith(" or 5 further joint values")


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        (np.int64(30), 2),
        (np.float32(30.0), 2),
        ({"max": np.int64(40)}, 4),
        (np.array([30, 90]), 3),
        (pd.Series([30, 90]), 3),
        (range(30, 41, 10), 3),
        ({"not": np.array([90])}, 4),
    ],
    ids=str,
)
def test_conditions_take_values_of_numpy_and_pandas(condition, count):
    release = Release({"age": [30, 40, 90, 30, 35], "well": [True, False, True, True, True]})
    release.add_table(["well"], where={"age": condition})
    release.add_table(["well"], where={"well": np.True_})
    first, second = release._outputs
    assert (first.low.sum(), second.low.sum()) == (count, 4)


def test_a_mean_needs_no_values_of_the_people_outside_its_condition():
    people = {"income": [100, 250, None, 700], "adult": [1, 1, 0, 0]}
    release = Release(people, na="category")
    release.add_mean(["income"], where={"adult": 1})
    release.add_table(["adult"])
    explanations = [each.explanation for each in release.leakage().determined]
    assert any("the sum of income" in each for each in explanations)
    with pytest.raises(ValueError, match="no missing or infinite values"):
        release.add_mean(["income"])


# --- the riskiest row of a sample -----------------------------------------------------------------


def test_the_lower_end_of_the_riskiest_row_holds_for_all_rows_at_once():
    """2,000 cells that are alike: the largest of all lower ends was above the leakage of each."""
    truth = float(atom_leakage([1 / 2000, 1999 / 2000], 16_000)[0])
    rng = np.random.default_rng(5)
    for _ in range(3):
        release = Release({"a": rng.integers(0, 2000, 16_000)})
        release.add_table(["a"])
        report = release.leakage()
        assert max(row.leakage.low for row in report.riskiest(1)) > truth
        assert report.highest.low <= truth <= report.highest.high


def test_half_people_are_no_rounding():
    """The whole part of 30.5 and 9 are multiples of 3."""
    release = Release({"ward": ["a"] * 30 + ["b"] * 9})
    with pytest.raises(ValueError, match="Pass the people it was made from"):
        release.add_table(["ward"], published={"ward": ["a", "b"], "n": [30.5, 9]})


# --- plans and the results of ACRO ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[outputs]]\ntable = ["a"]\nprotect = "round:1"',
            "protect in output 1 of plan.toml: base",
        ),
        ("outputs = []", "Write one below a line [[outputs]]"),
        ('[[outputs]]\nacro = "../a"', "acro in output 1 of plan.toml must be a file"),
    ],
)
def test_errors_of_a_plan_name_the_output_and_the_cure(tmp_path, capsys, text, words):
    (tmp_path / "people.csv").write_text("a\n1\n2\n1\n")
    head = 'schema = "mialeak.release-plan/1"\npeople = "people.csv"\n'
    (tmp_path / "plan.toml").write_text(head + text)
    assert main(["release", str(tmp_path / "plan.toml")]) == 1
    assert words in capsys.readouterr().err


def test_the_grand_total_of_a_sub_population_that_acro_shows_is_an_output(tmp_path):
    """The totals by grant and the grand total give a group of 9, of which every count is hidden."""
    grants = ["G"] * 27 + ["N"] * 42 + ["R"] * 9
    years = [2010] * 15 + [2011] * 12 + [2010] * 20 + [2011] * 22 + [2010] * 5 + [2011] * 4
    people = {"year": years * 2, "grant": grants * 2, "region": ["n"] * 78 + ["s"] * 78}
    table = "year,G,N,R,All\n2010,15,20,,\n2011,12,22,,\nAll,27,42,,78\n"
    output = {"type": "table", "properties": {"method": "crosstab"}, "files": [{"name": "t.csv"}]}
    results = {"version": "0.4.12", "results": {"output_0": output}}
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "t.csv").write_text(table)
    release = Release(people)
    release.add_acro(tmp_path, where={"region": "n"})
    assert release.outputs[1] == "table 2: number of people, where region = n"
    report = release.leakage()
    (group,) = report.determined
    assert group.people == 9
    assert group.explanation.startswith("table 2 (region = n) minus table 1")
    assert {each.high for each in report.recovered} == {9}
    (tmp_path / "t.csv").write_text(table.replace("78", "80"))
    for where, number in (({"region": "n"}, 78), (None, 156)):
        with pytest.raises(ValueError, match=rf"number of people \({number}\)|counts differ"):
            Release(people).add_acro(tmp_path, where=where)


def test_the_answer_for_protected_counts_alone_is_an_upper_end():
    """Their limit is 0, since it leaves them out; beside a raw table it is stated."""
    people = {"town": [k * k % 7 for k in range(300)], "sex": [k % 2 for k in range(300)]}
    release = Release(people)
    release.add_table(["town", "sex"], protect=Suppress(5))
    words = str(release.leakage())
    assert "leaks at most" in words
    assert "in the limit of many people 0 " not in words.partition("What this answer assumes")[0]
    release.add_table(["sex"])
    assert "leak at most" not in str(release.leakage())


def test_people_of_three_waves_are_known_by_the_counts_that_are_published():
    """One of their answers and their age change, so that no row is there three times."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame({key: rng.integers(k, size=900) for key, k in {"a": 5, "b": 4}.items()})
    people["age"] = rng.integers(20, 90, 900)
    waves = [people.assign(age=people["age"] + k, said=rng.integers(3, size=900)) for k in range(3)]
    for table, copies in ((people, 0), (pd.concat(waves, ignore_index=True), 1)):
        release = Release(table)
        release.add_table(["a", "b"])
        cautions = release.leakage().cautions
        assert len(cautions) == copies
    assert "is there 3 times, or a multiple of it" in cautions[0]
