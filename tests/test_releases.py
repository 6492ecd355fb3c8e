"""Several outputs of the same people: leakage and determined counts against enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from release_truth import checked, compositions, drawn, own_ends, rank, release_of

from mialeak import Release, atom_leakage, table_leakage
from mialeak.datasets import load_adult
from mialeak.estimators import mean_influence, quantile_influence
from mialeak.mechanisms import Geometric
from mialeak.releases import (
    Determined,
    OutputCost,
    ReleaseLeakage,
    ReleaseReport,
    RowInRelease,
    _enumeration,
)

CITIES = {
    "city": ["Oslo"] * 40 + ["Bergen"] * 31,
    "sex": ["f", "m"] * 35 + ["f"],
    "age": [30, 50] * 35 + [90],
}


def bounds_only():
    """Without the enumeration of populations, and without the law of independent columns."""
    return mock.patch.multiple(_enumeration, _MOST_POPULATIONS=0, _MOST_FACTORS=0)


# --- random releases against fractions ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["", "protected", "margins"])
def test_random_releases_agree_with_all_populations_in_fractions(kind):
    """tests/release_truth.py does the same for 10,000."""
    rng = np.random.default_rng(len(kind))
    total = np.zeros(2, int)
    for _ in range(40 if kind else 80):
        total += checked(*drawn(rng, **({kind: True} if kind else {})))
    assert 0 < total[1] < total[0]


def test_the_check_of_random_releases_can_fail():
    people, outputs = {"a": [0, 0, 1]}, [(["a"], None, None)]
    checked(people, outputs)
    wrong = mock.patch("release_truth.exact_leakage", return_value=[Fraction(1, 2)] * 3)
    with wrong, pytest.raises(AssertionError):
        checked(people, outputs)


def test_a_release_of_one_table_leaks_what_the_table_leaks():
    release = Release(CITIES)
    release.add_table(["city", "sex"])
    report = release.leakage()
    columns = {name: CITIES[name] for name in ("city", "sex")}
    assert report.plug_in.average.kind == "exact"
    assert math.isclose(report.plug_in.average.value, table_leakage(columns).plug_in, rel_tol=1e-12)


@pytest.mark.parametrize("where", [None, {"a": 0}])
def test_a_sample_of_a_register_agrees_with_all_samples(where):
    register = {"a": [0, 0, 0, 1, 1, 1, 0], "b": [0, 1, 0, 1, 0, 0, 2]}
    chosen = [0, 1, 3, 5]
    people = {name: [values[k] for k in chosen] for name, values in register.items()}
    cells = list(zip(*register.values(), strict=True))
    support = sorted(set(cells))

    def numbers(sample):
        count = Counter(sample)
        inside = [cell for cell in support if where is None or cell[0] == 0]
        by_a = Counter(cell[0] for cell in count.elements() if cell in inside)
        by_b = Counter(cell[1] for cell in count.elements())
        return tuple(sorted(by_a.items())), tuple(sorted(by_b.items()))

    truth = {}
    for cell in support:
        others = list(cells)
        others.remove(cell)
        worlds = []
        for drawn_rows, target in ((3, [cell]), (4, [])):
            law = Counter(
                numbers([others[k] for k in sample] + target)
                for sample in itertools.combinations(range(len(others)), drawn_rows)
            )
            worlds.append({key: Fraction(n, law.total()) for key, n in law.items()})
        keys = set(worlds[0]) | set(worlds[1])
        truth[cell] = sum(abs(worlds[0].get(k, 0) - worlds[1].get(k, 0)) for k in keys) / 2
    exact = sampled(people, register, where).leakage()
    with bounds_only():
        bounds = sampled(people, register, where).leakage()
    for row, cell in enumerate(zip(*people.values(), strict=True)):
        low, high = (ends[row] for ends in own_ends(bounds))
        assert math.isclose(own_ends(exact)[0][row], truth[cell], abs_tol=1e-12)
        assert low - 1e-12 <= truth[cell] <= high + 1e-12
    assert exact.joint is None
    assert exact.people == 7


def sampled(people, register, where):
    release = Release(people, register)
    release.add_table(["a"], where=where)
    release.add_table(["b"])
    return release


def test_sums_agree_with_all_populations_in_fractions():
    people = {"a": [0, 1, 1, 0], "x": [1, 2, 5, 2]}
    cells = list(zip(people["a"], people["x"], strict=True))
    support = sorted(set(cells))
    p = [Fraction(cells.count(cell), 4) for cell in support]
    joint = {}
    for vector in compositions(len(support), 4):
        chance = Fraction(math.factorial(4))
        for count, share in zip(vector, p, strict=True):
            chance *= share**count / math.factorial(count)
        by_a = sum(n for n, cell in zip(vector, support, strict=True) if cell[0] == 0)
        total = sum(n * cell[1] for n, cell in zip(vector, support, strict=True))
        entry = joint.setdefault((by_a, total), [Fraction(0)] * (len(support) + 1))
        entry[-1] += chance
        for k, count in enumerate(vector):
            entry[k] += chance * count
    release = Release(people)
    release.add_table(["a"])
    release.add_mean(["x"])
    leaks = own_ends(release.leakage())
    for row, cell in enumerate(cells):
        k = support.index(cell)
        truth = sum(abs(e[k] - 4 * p[k] * e[-1]) for e in joint.values()) / (8 * p[k])
        assert math.isclose(leaks[0][row], truth, abs_tol=1e-12)


def star(arms):
    """Leakage of the margins of x0 with each of `arms` others, all bits fair and independent.

    Exact, by ``LR = prod_j (c_0j / (n / 4)) / (c_0 / (n / 2))**(arms - 1)``: given the count c_0 of
    the target's x0, its counts with the others are independent binomials.
    """
    n = 2 ** (arms + 1)
    leakage = Fraction(0)
    for first in range(n + 1):
        law = {1: math.comb(n, first)}  # ways, of 2**(n + arms * first)
        for _ in range(arms):
            product: Counter[int] = Counter()
            for value, ways in law.items():
                for count in range(first + 1):
                    product[value * count] += ways * math.comb(first, count)
            law = product
        # LR = value / top * below, in whole numbers over one denominator
        top, below = n**arms * max(2 * first, 1) ** (arms - 1), 4**arms * n ** (arms - 1)
        total = sum(ways * abs(value * below - top) for value, ways in law.items())
        leakage += Fraction(total, 2 * top * 2 ** (n + arms * first))
    return float(leakage)


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_decomposable_margins_agree_with_their_closed_form(arms):
    """The people are all values of the bits, so that their frequencies have the independence."""
    rows = np.array(list(itertools.product([0, 1], repeat=arms + 1)))
    reports = []
    for limit in (nullcontext(), bounds_only()):
        release = Release({f"x{j}": rows[:, j].tolist() for j in range(arms + 1)})
        for j in range(1, arms + 1):
            release.add_table(["x0", f"x{j}"])
        with limit:
            reports.append(release.leakage())
    (report, bounds), truth = reports, star(arms)
    assert report.plug_in.kind == "exact"
    assert np.allclose(report.plug_in.low, truth, rtol=1e-12)
    assert bounds.plug_in.kind == "bound"
    assert np.all(bounds.plug_in.low <= truth + 1e-12)
    assert np.all(truth <= bounds.plug_in.high + 1e-12)
    assert np.allclose(bounds.plug_in.value, truth, rtol=0.2)


def test_all_margins_of_adult_are_bounded_and_the_limit_lies_between():
    adult = load_adult().columns
    names = ["education", "marital_status", "race", "sex", "relationship"]
    people = {name: adult[name][:5000] for name in names}
    release = Release(people)
    for name in names:
        release.add_table([name])
    for pair in itertools.combinations(names, 2):
        release.add_table(list(pair))
    report = release.leakage()
    low, high = own_ends(report)
    joint = table_leakage(people)
    assert np.all(low <= high)
    assert math.isclose(float(high.mean()), joint.plug_in, rel_tol=1e-9)
    single = table_leakage(people, ["education", "relationship"])
    assert low.mean() >= single.plug_in - 1e-12
    average = report.plug_in.average
    assert average.low < average.value < average.high
    assert 0 < report.exact_share < 1


# --- differencing ---------------------------------------------------------------------------------


def test_a_table_less_its_sub_population_is_named():
    """The threads of ACRO on linked tables: two tables that differ by a person."""
    release = Release(CITIES)
    release.add_table(["city"])
    release.add_table(["city"], where={"age": {"max": 80}})
    report = release.leakage()
    (group,) = report.determined
    assert isinstance(report, ReleaseReport)
    assert isinstance(group, Determined)
    assert group.group == "city = Bergen, age > 80"
    assert group.explanation == "table 1 (city = Bergen) minus table 2 (city = Bergen, age <= 80)"
    assert (group.people, group.rows, group.by_design, group.terms) == (1, (70,), True, 2)
    assert group.outputs == ("table 1", "table 2")
    assert report.n_determined == 1
    row = report.riskiest(1)[0]
    assert isinstance(row, RowInRelease)
    assert isinstance(row.leakage, ReleaseLeakage)
    assert row.row == 70
    assert (row.kind, row.plug_in.kind) == ("estimate", "exact")
    assert row.values["age"] == 90
    assert row.leakage.high == 1.0
    assert math.isclose(row.plug_in.low, atom_leakage([1 / 71, 70 / 71], 71)[0], rel_tol=1e-12)


def test_a_group_of_several_cells_is_named():
    """Two people above an age limit differ in what another table shows: no single cell follows."""
    people = {"sex": ["f", "m"] * 50, "age": [30, 40] * 48 + [64, 64, 65, 64]}
    people["job"] = list("pqqp") * 24 + list("ppqq")
    release = Release(people)
    release.add_table(["sex"], where={"age": {"max": 63}})
    release.add_table(["sex"])
    release.add_table(["job"])
    groups = release.leakage(threshold=5).determined
    assert {(each.group, each.people) for each in groups} == {
        ("sex = f, age > 63", 2),
        ("sex = m, age > 63", 2),
    }
    assert all(each.by_design for each in groups)


def test_what_a_published_count_leaves_of_a_group_is_named():
    """Five men above 80, three of them published: the two others follow from three tables."""
    men = {"sex": ["m"] * 20, "age": [30] * 15 + [90] * 5, "job": list("pq" * 7) + list("pqqqpp")}
    women = {"sex": ["f"] * 20, "age": [30] * 20, "job": list("pq" * 10)}
    people = {name: men[name] + women[name] for name in men}
    release = Release(people)
    release.add_table(["sex"])
    release.add_table(["sex"], where={"age": {"max": 80}})
    release.add_table(["sex"], where={"age": {"min": 81}, "job": "q"})
    report = release.leakage(threshold=6)
    assert [(each.group, each.people, each.terms) for each in report.determined] == [
        ("sex = m, age >= 81, job = p", 2, 3)
    ]


def test_all_small_groups_are_counted_and_the_smallest_are_named():
    people = {"ward": [k // 30 for k in range(60 * 30)], "old": [k % 30 == 0 for k in range(1800)]}
    release = Release(people)
    release.add_table(["ward"])
    release.add_table(["ward"], where={"old": False})
    report = release.leakage()
    assert report.n_determined == 60
    assert len(report.determined) == 50
    assert "(10 of 60)" in report.text()


def test_overlapping_bands_of_age_are_named():
    """The threads of sdcTools on tables that are linked: bands of age with different limits."""
    people = {"age": [20, 30, 40, 50, 60] * 20 + [65]}
    release = Release(people)
    release.add_mean(["age"], where={"age": {"max": 60}})
    release.add_mean(["age"], where={"age": {"max": 65}})
    (group,) = release.leakage().determined
    assert group.group == "age > 60"
    assert group.people == 1


def test_two_means_give_the_value_of_a_person():
    """The threads of DataSHIELD on subsets: the mean of all, and of all but one."""
    people = {"income": [300, 410, 520, 333, 905], "old": [0, 0, 0, 0, 1]}
    release = Release(people)
    release.add_mean(["income"])
    release.add_mean(["income"], where={"old": 0})
    with bounds_only():
        report = release.leakage()
    group = report.determined[0]
    assert group.people == 1
    assert group.rows == (4,)
    assert "mean" in group.explanation


def test_what_holds_only_for_the_values_that_occur_is_said():
    """Nobody is female and smokes, so the smokers are men by two margins."""
    release = Release({"sex": ["f"] * 30 + ["m"] * 30, "smokes": [0] * 55 + [1] * 5})
    release.add_table(["sex"])
    release.add_table(["smokes"])
    group = next(g for g in release.leakage(threshold=40).determined if g.people == 25)
    assert not group.by_design
    assert group.group == "sex = m, smokes = 0"


# --- one more output, one fewer -------------------------------------------------------------------


def test_cost_of_says_what_one_more_table_adds_and_adds_nothing():
    release = Release(CITIES)
    release.add_table(["city"])
    cost = release.cost_of(["city"], where={"age": {"max": 80}})
    assert isinstance(cost, OutputCost)
    assert cost.determined == 1
    assert "minus" in cost.explanations[0]
    assert cost.without == release.leakage().average
    assert len(release.outputs) == 1
    release.add_table(["city"], where={"age": {"max": 80}})
    assert math.isclose(release.leakage().average.value, cost.together.value, rel_tol=1e-6)
    assert release.cost_of(["city"]).determined == 0


def test_outputs_added_one_by_one_agree_with_all_at_once():
    """What is known of the first outputs is kept; here more rows than are reduced at a time."""
    rng = np.random.default_rng(11)
    people = {name: rng.integers(0, 9, 400).tolist() for name in "abcd"}
    outputs = [(["a", "b"], None), (["b", "c"], None), (["c"], {"a": [1, 2]}), (["a", "d"], None)]
    stepwise, at_once = Release(people), Release(people)
    for by, where in outputs:
        stepwise.add_table(by, where=where)
        one = stepwise.leakage()
        at_once.add_table(by, where=where)
    stepwise.add_mean(["d"])
    at_once.add_mean(["d"])
    one, other = stepwise.leakage(), at_once.leakage()
    assert one.determined == other.determined
    assert one.determined
    assert np.array_equal(one.row_cells, other.row_cells)
    for which in ("plug_in", "population"):
        step, whole = getattr(one, which), getattr(other, which)
        for name in ("exact", "low", "high"):
            assert np.array_equal(getattr(step, name), getattr(whole, name))
        assert np.allclose(step.value, whole.value, rtol=1e-5)
        assert whole.low.mean() < whole.value.mean() < whole.high.mean()


def test_contributions_leave_out_each_output_once():
    release = Release(CITIES)
    release.add_table(["city"])
    release.add_table(["city"], where={"age": {"max": 80}})
    release.add_table(["sex"])
    first, second, third = release.contributions()
    # The number of people is known: without table 1 the person follows from it and table 2.
    assert (first.determined, second.determined, third.determined) == (0, 1, 0)
    assert third.without.value <= third.together.value
    assert third.without.high <= third.together.high


def test_the_order_of_outputs_does_not_matter():
    outputs = [(["city"], None, None), (["sex"], {"city": "Oslo"}, None), (["age"], None, None)]
    reports = [release_of(CITIES, each).leakage() for each in itertools.permutations(outputs)]
    for report in reports:
        assert np.allclose(own_ends(report)[0], own_ends(reports[0])[0], rtol=1e-12)
        assert report.n_determined == reports[0].n_determined


def test_an_estimate_counts_by_its_influence():
    rng = np.random.default_rng(5)
    people = {"a": rng.integers(0, 2, 60).tolist(), "x": rng.normal(size=60).tolist()}
    release = Release(people)
    release.add_table(["a"])
    before = release.leakage().average
    release.add_estimate(mean_influence(np.array(people["x"])[:, None]))
    after = release.leakage()
    assert after.plug_in.average.value > before.value
    assert after.plug_in.average.low >= before.low - 1e-12
    assert any("influence" in each for each in after.caveats)
    score = mean_influence(np.array(people["x"])[:, None]).leakage_scores()
    assert np.all(after.plug_in.value[after.row_cells] <= after.plug_in.high[after.row_cells])
    assert np.argmax(score) in [row.row for row in after.riskiest(60)]


def test_the_report_shows_values_only_if_asked():
    release = Release(CITIES)
    release.add_table(["age"])
    report = release.leakage()
    assert "  90" not in report.text()
    assert "  90" in report.text(show_rows=True)
    assert report.to_dict()["riskiest"][0]["values"] is None
    assert report.to_dict(show_rows=True)["riskiest"][0]["values"] == {"age": 90}
    assert str(report) == report.text()
    assert repr(release) == "Release(1 output of 71 people)"


def test_a_random_protection_has_bounds():
    release = Release({"a": [0, 0, 1]})
    release.add_table(["a"], protect=Geometric(1.0))
    report = release.leakage()
    truth = Geometric(1.0).atom_leakage([1 / 3], 3)[0]
    assert math.isclose(report.plug_in.low[report.row_cells[2]], truth, rel_tol=1e-12)
    assert report.plug_in.kind == "bound"
    assert report.plug_in.average.low < report.plug_in.average.high


# --- groups that a further output splits ----------------------------------------------------------


def test_a_further_table_does_not_hide_a_group():
    """Three bands of age give 60 to 64; a table of jobs splits these two people."""
    people = {"age": [25] * 30 + [50] * 30 + [62] * 2 + [70] * 30, "job": list("pq" * 46)}
    people["all"] = ["x"] * 92
    release = Release(people)
    for ends in ((20, 39), (40, 59), (20, 64)):
        release.add_table(["all"], where={"age": {"min": ends[0], "max": ends[1]}})
    release.add_table(["job"])
    (group,) = release.leakage().determined
    assert (group.people, group.rows, group.terms, group.by_design) == (2, (60, 61), 3, True)
    assert group.group == "age = 62"
    people = {
        "sex": list("f" * 30 + "m" * 30),
        "smokes": [0] * 55 + [1] * 5,
        "job": list("pq" * 30),
    }
    release = Release(people)
    for name in people:
        release.add_table([name])
    assert [g.group for g in release.leakage(threshold=40).determined] == ["sex = m, smokes = 0"]


def test_every_small_group_of_a_few_columns_is_found():
    """By the rank of fractions, for every pair of columns, with a third that splits all groups."""
    rng, followed = np.random.default_rng(6), 0
    for _ in range(25):
        people = {name: rng.integers(0, 3, 40).tolist() for name in "ab"}
        people["c"] = [k % 5 for k in range(40)]
        outputs = [(["a"], None), (["b"], None), (["c"], None)]
        outputs += [(["a"], {"b": [0, 1]}), (["b"], {"a": [int(rng.integers(3)), 2]})]
        release = Release(people)
        for by, where in outputs:
            release.add_table(by, where=where)
        report = release.leakage(threshold=40)
        pairs = list(itertools.product(range(3), repeat=2))
        matrix = [[1] * 9]
        for by, where in outputs:
            if by != ["c"]:
                inside = [
                    all({"a": a, "b": b}[x] in taken for x, taken in (where or {}).items())
                    for a, b in pairs
                ]
                matrix += [
                    [
                        int(cell["ab".index(by[0])] == k and taken)
                        for cell, taken in zip(pairs, inside, strict=True)
                    ]
                    for k in range(3)
                ]
        occurs = [cell in set(zip(people["a"], people["b"], strict=True)) for cell in pairs]
        shown = [[x for x, here in zip(row, occurs, strict=True) if here] for row in matrix]
        reported = {each.rows for each in report.determined}
        for a, b in itertools.compress(pairs, occurs):
            unit = [int(cell == (a, b)) for cell in itertools.compress(pairs, occurs)]
            rows = {k for k in range(40) if (people["a"][k], people["b"][k]) == (a, b)}
            if unit not in shown and rank([*shown, unit]) == rank(shown):
                followed += 1
                assert tuple(sorted(rows)) in reported
    assert followed > 20


def test_the_sums_of_influence_are_no_exact_answer():
    """The median of five numbers, by all samples: two values of influence, five of the median."""
    values = [0, 1, 2, 3, 10]
    samples = Counter(sorted(s)[2] for s in itertools.product(values, repeat=5))
    release = Release({"x": values})
    release.add_estimate(quantile_influence(np.array(values, float), 0.5, density=[0.1]))
    report = release.leakage()
    assert report.plug_in.kind == "bound"
    assert report.n_determined == 0
    assert not report.plug_in.exact.any()
    for row, target in enumerate(values):
        with_target = Counter(sorted([*s, target])[2] for s in itertools.product(values, repeat=4))
        truth = sum(abs(samples[x] / 5**5 - with_target[x] / 5**4) for x in values) / 2
        assert own_ends(report)[0][row] <= truth <= own_ends(report)[1][row]


def test_costs_count_groups_that_the_report_does_not_hold():
    """60 wards: an age limit gives a person in each, a second one another person in each."""
    rows = range(1800)
    people = {"ward": [k // 30 for k in rows], "old": [k % 30 == 0 for k in rows]}
    people["young"] = [k % 30 == 1 for k in rows]
    release = Release(people)
    release.add_table(["ward"])
    release.add_table(["ward"], where={"old": False})
    assert release.cost_of(["ward"], where={"young": False}).determined == 60
    assert [each.determined for each in release.contributions()] == [60, 60]
