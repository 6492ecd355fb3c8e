"""Means of columns of two values: shares, which give the counts of both values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mialeak import Release
from mialeak.cli import main

#: 13 people of group B, one of whom has the second value, and 60 of group A.
GROUP = ["B"] * 13 + ["A"] * 60


def _people(first, second):
    values = [second] + [first] * 12 + [first, second] * 30
    return {"group": GROUP, "v": values, "sex": ["f", "m"] * 36 + ["f"]}


def _with_share(people, *tables):
    release = Release(people)
    for columns in tables:
        release.add_table(columns)
    release.add_mean(["v"], where={"group": "B"})
    return release


@pytest.mark.parametrize("coding", [(0, 1), (1, 0), (1, 2), (0, 100), (0.1, 0.2), ("0", "1")])
@pytest.mark.parametrize("tables", [(), (["group"],), (["group", "sex"],)])
def test_the_counts_of_a_share_are_published_and_follow(coding, tables):
    """The truth: the number of people and the mean give the count of the second value."""
    people = _people(*coding)
    first, second = map(Fraction, map(str, coding))
    inside = [Fraction(str(v)) for v, g in zip(people["v"], GROUP, strict=True) if g == "B"]
    mean = sum(inside) / 13
    assert (mean - first) / (second - first) * 13 == 1
    report = _with_share(people, *tables).leakage()
    (alone,) = (each for each in report.determined if each.people == 1)
    assert alone.group == f"v = {coding[1]}, group = B"
    assert alone.rows == (0,)
    without = Release(people)
    for columns in tables or (["sex"],):
        without.add_table(columns)
    assert report.small == without.leakage().small + 1


@pytest.mark.parametrize("code", [(0, 1), (1, 2)])
def test_a_share_leaks_what_the_table_of_its_counts_leaks(code):
    people = _people(*code)
    table = Release(people)
    table.add_table(["group"])
    table.add_table(["v"], where={"group": "B"})
    share, counts = _with_share(people, ["group"]).leakage(), table.leakage()
    assert share.average == counts.average
    assert share.plug_in.highest == counts.plug_in.highest
    assert np.array_equal(share.plug_in.low, counts.plug_in.low)
    assert np.array_equal(share.row_leakage.upper, counts.row_leakage.upper)
    assert share.small == counts.small == 1


def test_the_number_of_people_of_a_share_is_published():
    """Five people, two of whom have a 1: two counts follow, and that of all five is shown."""
    release = Release({"group": ["B"] * 5 + ["A"] * 60, "v": [1, 1, 0, 0, 0] + [0, 1] * 30})
    release.add_mean(["v"], where={"group": "B"})
    report = release.leakage()
    assert [each.people for each in report.determined] == [2, 3]
    alike = Release({"group": ["B"] * 5 + ["A"] * 60, "v": [1] * 5 + [0, 1] * 30})
    alike.add_mean(["v"], where={"group": "B"})
    assert (alike.leakage().n_determined, alike.leakage().small) == (0, 1)


def test_a_condition_may_leave_two_values():
    """9 marks who was not asked: of those who were, the mean is a share."""
    people = {"v": [1] + [0] * 12 + [9] * 30}
    release = Release(people)
    release.add_mean(["v"], where={"v": {"not": 9}})
    assert release.leakage().small == 1
    of_all = Release(people)
    of_all.add_mean(["v"])
    assert of_all.leakage().small == 0
    assert of_all.outputs == ("mean 1: v",)


def test_shares_among_other_means_are_outputs_of_their_own():
    people = _people(0, 1) | {"income": [100 + k for k in range(73)]}
    release = Release(people)
    release.add_mean(["v", "income"], where={"group": "B"})
    assert release.outputs == (
        "mean 1: income, where group = B",
        "mean 2: v (two values: their counts), where group = B",
    )
    report = release.leakage()
    assert report.small == 1
    assert [each.people for each in report.determined] == [1]


def test_large_counts_of_a_share_are_no_small_groups():
    people = {"group": ["A"] * 100 + ["B"] * 100, "v": [0, 1] * 100}
    release = Release(people)
    release.add_table(["group"])
    release.add_mean(["v"], where={"group": "B"})
    report = release.leakage()
    assert (report.n_determined, report.small) == (0, 0)


@pytest.mark.parametrize("limit", ["determined", "small"])
def test_a_gate_sees_the_count_of_a_share(tmp_path, capsys, limit):
    people = _people(0, 1)
    rows = zip(*people.values(), strict=True)
    lines = [",".join(people), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = "mialeak.release-plan/1"\npeople = "people.csv"\n'
        '[[outputs]]\ntable = ["group"]\n'
        '[[outputs]]\nmean = ["v"]\nwhere = { group = "B" }\n'
        f"[limits]\n{limit} = 0\n"
    )
    assert main(["release", str(plan)]) == 2
    assert "is above the limit 0" in capsys.readouterr().out


@pytest.mark.parametrize("tables", [(), (["group"],), (["group", "sex"],)])
def test_the_mean_of_a_truth_value_is_the_share_of_the_true_ones(tables):
    truths, numbers = _people(False, True), _people(0, 1)
    of_truths, of_numbers = (_with_share(each, *tables).leakage() for each in (truths, numbers))
    assert of_truths.average == of_numbers.average
    assert of_truths.small == of_numbers.small
    people = [each.people for each in of_numbers.determined]
    assert [each.people for each in of_truths.determined] == people
    release = Release({"v": [True, False, None]}, na="category")
    with pytest.raises(ValueError, match="have no missing or infinite values"):
        release.add_mean(["v"])
