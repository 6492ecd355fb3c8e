"""The report on a table's means: what `mean_leakage` computes, says and refuses."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import mialeak
from mialeak.cli import main
from mialeak.means import MeanReport, mean_leakage
from mialeak.means._yardsticks import homer_scores


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    rows = 60
    return {
        "person": [f"P{k}" for k in range(rows)],
        "age": rng.integers(20, 60, rows),
        "sex": rng.choice(["f", "m"], rows),
        "income": rng.lognormal(3.0, 0.7, rows),
    }


def recomputed(frame, row, noise_std):
    """Advantage against the other rows, without a closed form; the sex as one bit."""
    matrix = np.column_stack([frame["age"], frame["sex"] == "m", frame["income"]]).astype(float)
    others = np.delete(matrix, row, axis=0)
    noise = np.diag(matrix.var(axis=0)) * len(matrix) * noise_std**2
    gap = matrix[row] - others.mean(axis=0)
    score = gap @ np.linalg.solve(np.cov(others, rowvar=False) + noise, gap) / len(matrix)
    return 2 * stats.norm.cdf(np.sqrt(score) / 2) - 1


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_the_report_is_that_of_recomputation(frame, kind):
    report = mialeak.mean_leakage(kind(frame))
    assert type(report) is MeanReport
    assert report.names == ("person",)
    assert report.columns == ("age", "sex", "income")
    assert (report.rows, report.free_columns, report.covariance) == (60, 3, "full")
    expected = [recomputed(frame, row, 0.0) for row in range(60)]
    assert report.leakage == pytest.approx(expected, rel=1e-9)
    assert report.average == pytest.approx(np.mean(expected))
    assert report.highest == pytest.approx(max(expected))


def test_noise_of_numbers_is_in_their_standard_deviations(frame):
    """Two indicators of a category are noisy each; numbers alone agree with recomputation."""
    numbers = {name: frame[name] for name in ("age", "income")}
    report = mean_leakage(numbers, noise_std=0.2)
    matrix = np.column_stack(list(numbers.values())).astype(float)
    for row in (0, 17, 59):
        others = np.delete(matrix, row, axis=0)
        cov = np.cov(others, rowvar=False) + 60 * 0.04 * np.diag(matrix.var(axis=0))
        gap = matrix[row] - others.mean(axis=0)
        assert report.scores[row] == pytest.approx(gap @ np.linalg.solve(cov, gap) / 60, rel=1e-9)


def test_it_prints_as_a_report_and_shows_as_one_line(frame):
    report = mean_leakage(frame)
    assert str(report).startswith("Publishing the means of these 3 columns over 60 rows leaks")
    assert repr(report).startswith("MeanReport(average=0.")
    assert "\n" not in repr(report)
    assert report.to_dict(top=2, show_rows=True)["riskiest"] == report.riskiest(2)
    assert [row["furthest"] for row in report.to_dict(top=2)["riskiest"]] == [None, None]
    assert "income = " in report.text(show_rows=True)
    assert "income = " not in str(report)
    assert report.text(top=0) in str(report)[: len(report.text(top=0))]


def test_labels_describe_rows_and_are_not_published(frame):
    report = mean_leakage(frame, labels=["person", "sex"])
    assert report.columns == ("age", "income")
    assert report.names == ()
    first = report.riskiest(1)[0]
    assert first["labels"] == {
        "person": f"P{first['row']}",
        "sex": frame["sex"][first["row"]],
    }


def test_exact_rows_are_asked_for_by_an_argument(frame):
    bits = {"sex": frame["sex"], "old": frame["age"] > 40}
    report = mean_leakage(bits, exact=True)
    assert len(report.to_dict(top=3)["exact"]["rows"]) == 3
    assert mean_leakage(bits).to_dict()["exact"] is None
    assert "if columns are independent" in str(report)


def test_structures(frame):
    few = {name: values[:12] for name, values in frame.items()}
    assert mean_leakage(few).covariance == "diagonal"
    assert mean_leakage(few).shrinkage is None
    assert (
        "Columns are taken as uncorrelated (12 rows are at most 5 for each of 3 columns)"
        in (mean_leakage(few).warnings[1])
    )
    assert "(as asked)" in mean_leakage(frame, structure="diagonal").warnings[1]
    shrunk = mean_leakage(few, structure="shrunk")
    assert 0 < shrunk.shrinkage <= 1
    assert "Correlations are shrunk to 0" in shrunk.warnings[1]
    full = mean_leakage(few, structure="full")
    assert "too high by a factor of about 1.3" in full.warnings[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "block"}, 'structure must be "auto", "full", "shrunk" or "diagonal"; got'),
        ({"na": "category"}, 'na must be "error" or "drop"; got'),
        ({"noise_std": 1e200}, "noise_std must be between 0 and 1e+100; got noise_std = 1e+200"),
        ({"noise_std": -0.1}, "noise_std must be between 0 and 1e+100; got noise_std = -0.1"),
        ({"sampling_rate": 0.33}, "sampling_rate must draw an integer number of rows"),
        ({"columns": "agee"}, "columns must be columns of the table; got columns[0] = 'agee'"),
        ({"labels": ["name"]}, "labels must be columns of the table; got labels[0] = 'name'"),
        ({"exact": True}, "exact is not available for column"),
        (
            {"exact": True, "noise_std": 1.0},
            "exact is not available with noise: the law of a noisy",
        ),
    ],
)
def test_bad_input_is_refused(frame, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mean_leakage(frame, **options)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="table must have at least 3 rows; it has 2"):
        mean_leakage({"x": [1.0, 2.0]})
    with pytest.raises(TypeError, match="table must be a pandas, polars or pyarrow table"):
        mean_leakage([1.0, 2.0])
    with pytest.raises(ValueError, match=r'structure must be "shrunk" or "diagonal" for 4 rows'):
        mean_leakage({"x": [1.0, 2.0, 4.0, 3.0], "y": [1, 1, 2, 3]}, structure="full")


@pytest.mark.parametrize("code", [255, -128, -9])
def test_codes_of_a_missing_genotype_are_named_in_arrays_too(code):
    """0.1 looked for them in files of text alone."""
    counts = np.random.default_rng(3).binomial(2, 0.4, (200, 12))
    counts[range(12), range(12)] = code
    (caution,) = mean_leakage({f"s{k}": column for k, column in enumerate(counts.T)}).cautions
    assert f"{code}" in caution
    assert "is counted as a value like" in caution
    assert "in 1 row of column 's0'" in caution


@pytest.mark.parametrize(("noise", "cautioned"), [(0.5, False), (1.0, False), (30.0, True)])
def test_noise_is_named_in_standard_deviations(noise, cautioned):
    table = {"age": [20 + k * 7 % 50 for k in range(60)], "pay": [k * k % 97 for k in range(60)]}
    report = mean_leakage(table, noise_std=noise)
    assert f"with noise of {noise:g} standard deviations on each, leaks" in " ".join(
        str(report).split()
    )
    assert any(text.startswith("noise_std counts") for text in report.cautions) is cautioned


@pytest.mark.parametrize("name", ["id", "person", "Patient_ID", "household", "pid", "hh_id", "ssn"])
def test_a_number_that_rows_share_names_their_person(name):
    table = {name: [k // 2 for k in range(80)], "pay": [k * k % 97 for k in range(80)]}
    (caution,) = mean_leakage(table).cautions
    what = "household, family" if name.startswith(("hh", "household")) else "person"
    assert caution.startswith(f"Column {name!r} seems to name the {what}")
    assert "80 rows" in caution
    left_out = mean_leakage(table, exclude=[name]).cautions
    assert ("which is left out" in "".join(left_out)) == (not name.startswith(("hh", "household")))
    of_persons = {name: table[name][::2], "pay": np.reshape(table["pay"], (40, 2)).mean(axis=1)}
    assert mean_leakage(of_persons, exclude=[name]).cautions == ()


@pytest.mark.parametrize("name", ["n", "count", "Population", "n_obs", "number of persons"])
def test_rows_that_count_persons_are_groups(name):
    table = {name: [5 + k % 9 for k in range(80)], "pay": [k * k % 97 for k in range(80)]}
    (caution,) = mean_leakage(table).cautions
    assert caution.startswith(f"Column {name!r} seems to count the persons of each row")


@pytest.mark.parametrize("name", ["age", "number of children", "income", "identity", "rooms"])
def test_other_whole_numbers_are_values_of_persons(name):
    table = {name: [5 + k % 30 for k in range(80)], "pay": [k * k % 97 for k in range(80)]}
    assert mean_leakage(table).cautions == ()


@pytest.mark.parametrize(
    "as_column",
    [
        list,
        tuple,
        lambda values: np.array(values, object),
        lambda values: pd.Series(values, dtype=object),
        lambda values: [float(value) if k % 2 else value for k, value in enumerate(values)],
        lambda values: [np.int64(value) for value in values],
        lambda values: [Decimal(value) for value in values],
        lambda values: [Fraction(value) for value in values],
    ],
)
def test_numbers_in_a_list_are_numbers_as_those_of_an_array(as_column):
    """They were names of categories, each number with a share of its own."""
    values = [k * k % 97 for k in range(80)]
    report, truth = (
        mean_leakage({"pay": as_column(values)}),
        mean_leakage({"pay": np.array(values)}),
    )
    assert report.free_columns == 1
    np.testing.assert_array_equal(report.scores, truth.scores)
    assert mean_leakage({"pay": as_column(values)}, categories=["pay"]).free_columns > 1


def test_true_and_false_in_a_list_are_the_values_of_a_category():
    flags = [k % 3 == 0 for k in range(80)]
    report = mean_leakage({"flag": flags})
    np.testing.assert_array_equal(report.scores, mean_leakage({"flag": np.array(flags)}).scores)
    assert "1 category: flag" in str(report)


def test_decimals_of_an_arrow_table_are_numbers():
    values = [k * k % 97 for k in range(80)]
    money = pa.table({"pay": pa.array([Decimal(value) for value in values])})
    truth = mean_leakage({"pay": np.array(values)})
    np.testing.assert_array_equal(mean_leakage(money).scores, truth.scores)


def test_a_column_that_others_determine_up_to_rounding_is_refused():
    """It ended in an exception without words, as its correlation matrix is singular."""
    rng = np.random.default_rng(1)
    age, hours = rng.integers(18, 80, 2000), rng.integers(10, 80, 2000)
    table = {"age": age, "hours": hours, "sum": (age * 12.0 + hours / 7).round(6)}
    words = "table must have no column that others determine up to rounding, as they do column"
    with pytest.raises(ValueError, match=words):
        mean_leakage(table).scores  # noqa: B018
    exact = mean_leakage(table | {"sum": age * 12.0 + hours / 7})
    shrunk = mean_leakage(table, structure="shrunk")
    without = mean_leakage({"age": age, "hours": hours}, structure="shrunk")
    assert shrunk.scores.mean() == pytest.approx(without.scores.mean(), rel=1e-9)
    error = np.abs(shrunk.leakage / exact.leakage - 1.0).max()
    assert error < np.abs(without.leakage / exact.leakage - 1.0).max() < 0.01


def test_the_power_at_few_false_alarms_is_that_of_a_normal_shift(tmp_path):
    """The yardstick is for genotypes alone: no other numbers have a shift of sqrt(sites/people)."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.2, 0.5, 30)
    counts = {f"rs{j}": rng.binomial(2, share, 400) for j, share in enumerate(p)}
    report = mean_leakage(counts, sampling_rate=0.5)
    shift = stats.norm.ppf(0.5 + 0.5 * report.leakage / 0.5) * 2.0
    expected = 0.5 * stats.norm.sf(stats.norm.isf(0.001) - shift) + 0.5 * 0.001
    np.testing.assert_allclose(report.power(), expected, rtol=1e-9)
    power = report.to_dict()["power"]
    assert power["average"] == pytest.approx(expected.mean(), rel=1e-9)
    assert power["riskiest"] == pytest.approx(expected.max(), rel=1e-9)
    yardstick = stats.norm.sf(stats.norm.isf(0.001) - np.sqrt(30 / 200))
    assert power["yardstick"] == pytest.approx(yardstick, rel=1e-9)
    assert report.power(0.5).min() > 0.5
    for table, noise in ((counts, 0.1), ({k: 0.5 * v for k, v in counts.items()}, 0.0)):
        assert mean_leakage(table, noise_std=noise).to_dict()["power"]["yardstick"] is None
    with pytest.raises(ValueError, match="fpr must be strictly between 0 and 1"):
        report.power(1.0)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_yardsticks_are_attacks_on_the_same_frequencies(structure):
    """Homer's statistic by its definition for each row, without the row; never above the best."""
    rng = np.random.default_rng(6)
    linked = np.sort(rng.integers(0, 3, (90, 12)), axis=0)[rng.permutation(90)]
    counts = np.concatenate(
        [rng.binomial(2, rng.uniform(0.05, 0.5, 12), (90, 12)), linked[:, :3]], 1
    )
    counts[:, 3] = counts[:, 2]
    counts[:9, 3] = 1
    counts[:, 4] = 0
    report = mean_leakage({f"rs{j}": c for j, c in enumerate(counts.T)}, structure=structure)
    shifts = []
    for row in range(90):
        others = np.delete(counts, row, axis=0).astype(float)
        gap = counts[row] - others.mean(axis=0)
        signs, cov = np.sign(gap), np.cov(others.T)
        cov = cov if structure == "full" else np.diag(np.diag(cov))
        shifts.append(np.abs(gap).sum() / np.sqrt(90 * signs @ cov @ signs))
    known, best = report.yardsticks(0.01), report.power(0.01)
    leakage = 2.0 * stats.norm.cdf(np.array(shifts) / 2.0) - 1.0
    power = stats.norm.sf(stats.norm.isf(0.01) - shifts)
    assert known["homer"]["average"] == pytest.approx(leakage.mean(), rel=1e-10)
    assert known["homer"]["riskiest"] == pytest.approx(leakage.max(), rel=1e-10)
    assert known["homer"]["power_average"] == pytest.approx(power.mean(), rel=1e-10)
    assert known["homer"]["power_riskiest"] == pytest.approx(power.max(), rel=1e-10)
    assert (leakage <= report.leakage * (1.0 + 1e-9)).all()
    assert (power <= best * (1.0 + 1e-9)).all()
    bound = 2.0 * stats.norm.cdf(0.5 * np.sqrt(14 / 90)) - 1.0  # one of 15 sites does not vary
    assert known["sankararaman"]["average"] == pytest.approx(bound, rel=1e-10)
    assert known["sankararaman"]["riskiest"] == known["sankararaman"]["average"]


def test_the_statistic_of_homer_gains_what_its_yardstick_states():
    """The statistic itself, |y - p| - |y - m| summed, in simulated releases of both worlds."""
    rng, people, sites, rounds = np.random.default_rng(1), 200, 60, 40_000
    p = rng.uniform(0.1, 0.45, sites)
    counts = rng.binomial(2, p, (people, sites))
    table = {f"rs{j}": c for j, c in enumerate(counts.T)}
    shares = counts.mean(axis=0) / 2.0
    report = mean_leakage(table, structure="diagonal")
    shifts = np.sqrt(homer_scores(report, report._release))
    row = int(np.argmax(shifts))
    y = counts[row] / 2.0
    others = (people * shares - y) / (people - 1.0)
    drawn = [rng.binomial(2 * k, others, (rounds, sites)) / (2.0 * people) for k in (200, 199)]
    drawn[1] += y / people
    out, inside = (np.abs(y - others).sum() - np.abs(y - m).sum(axis=1) for m in drawn)
    fpr, power = (np.mean(each > 0.5 * np.abs(y - others).sum() / people) for each in (out, inside))
    stated = 2.0 * stats.norm.cdf(shifts[row] / 2.0) - 1.0
    assert stated > 0.2
    assert abs(power - fpr - stated) < 0.012  # five standard errors


def test_other_tables_have_no_yardsticks():
    rng = np.random.default_rng(2)
    counts = {f"rs{j}": rng.binomial(2, 0.3, 60) for j in range(8)}
    assert mean_leakage(counts).yardsticks() is not None
    halves = {name: 0.5 * column for name, column in counts.items()}
    assert mean_leakage(halves).yardsticks() is None
    for options in (
        {"noise_std": 0.1},
        {"sampling_rate": 0.5},
        {"structure": "shrunk"},
        {"population": 100},
        {"panel": 100},
    ):
        assert mean_leakage(counts, **options).yardsticks() is None
    with pytest.raises(ValueError, match="fpr must be strictly between 0 and 1"):
        mean_leakage(counts).yardsticks(0.0)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"noise_std": 0.1}, {"sampling_rate": 0.5, "noise_std": 0.05, "population": 900}],
    ids=["all rows", "noise", "sample"],
)
def test_sites_within_a_leakage_are_counted_by_publishing_ever_more(structure, settings):
    """Against a release of each number of sites, one of which repeats another, one is constant."""
    rng = np.random.default_rng(8)
    counts = rng.binomial(2, rng.uniform(0.02, 0.6, 12), (120, 12))
    counts[:, 5], counts[:, 7] = counts[:, 3], 0
    share = counts.mean(axis=0) / 2
    order = np.argsort(-np.minimum(share, 1 - share), kind="stable")
    names = [f"rs{k}" for k in range(12)]
    table = dict(zip(names, counts.T, strict=True))
    settings = {**settings, "structure": structure}
    each = [mean_leakage(table, [names[j] for j in order[: k + 1]], **settings) for k in range(12)]
    report = mean_leakage(table, **settings)
    for leakage in (0.05, 0.2, 0.3, 0.5):
        sites = report.sites_within(leakage)
        assert sites["riskiest"] == sum(one.highest <= leakage for one in each)
        assert sites["average"] == sum(one.average <= leakage for one in each)
        last = share[order[sites["average"] - 1]]
        expected = None if not sites["average"] else pytest.approx(min(last, 1 - last))
        assert sites["average_frequency"] == expected


def test_a_person_alone_with_an_allele_limits_the_sites_to_those_without_it():
    counts = {f"rs{k}": np.random.default_rng(k).binomial(2, 0.4, 50) for k in range(4)}
    counts["rare"] = np.eye(1, 50, 17, dtype=int)[0]
    for structure in ("full", "diagonal"):
        sites = mean_leakage(counts, structure=structure).sites_within(0.999)
        assert (sites["riskiest"], sites["average"]) == (4, 5)


def test_sites_are_counted_for_genotypes_alone(frame):
    genotypes = {f"rs{k}": np.random.default_rng(k).binomial(2, 0.4, 50) for k in range(4)}
    assert mean_leakage(frame).sites_within(0.1) is None
    assert mean_leakage({"age": frame["age"]}).sites_within(0.1) is None
    assert mean_leakage(genotypes, structure="shrunk").sites_within(0.1) is None
    with pytest.raises(ValueError, match="leakage must be strictly between 0 and 1"):
        mean_leakage(genotypes).sites_within(1.0)


def test_a_survey_weight_that_is_left_out_is_named_beside_the_answer():
    rng = np.random.default_rng(4)
    table = {"sbp": rng.normal(130.0, 15.0, 90), "WTMEC2YR": rng.lognormal(9.0, 1.0, 90)}
    report = mean_leakage(table, exclude=["WTMEC2YR"])
    assert not report.cautions
    assert "'WTMEC2YR' has the name of a survey weight, and no mean here is weighted" in str(
        report.document().answer
    )
    assert not mean_leakage({"sbp": table["sbp"]}).warnings


@pytest.mark.parametrize("rows", [16, 30, 45])
@pytest.mark.parametrize("exact", [True, False])
def test_columns_that_are_sums_of_others_are_named_with_few_rows(rows, exact):
    rng = np.random.default_rng(rows)
    left, right = rng.normal(4000.0, 300.0, (2, rows, 4)).round()
    total = left + right if exact else rng.normal(8000.0, 420.0, (rows, 4)).round()
    parts = {"left": left, "right": right, "total": total}
    table = {f"s{k}_{name}": part[:, k] for name, part in parts.items() for k in range(4)}
    cautions = mean_leakage(table, structure="diagonal").cautions
    if not exact:
        assert cautions == ()
        return
    (caution,) = cautions
    assert caution.startswith(
        "4 of the 12 columns can be computed from the other columns, such as 's"
    )


@pytest.mark.parametrize(("rows", "factor"), [(31, "1.2"), (49, "1.1"), (50, None)])
def test_a_full_covariance_of_few_rows_is_named_as_uncertain(rows, factor):
    table = np.random.default_rng(rows).normal(size=(rows, 5))
    report = mean_leakage(table, structure="full")
    named = [each for each in report.warnings if "the covariance is uncertain" in each]
    assert not report.cautions
    if factor is None:
        assert not named
        return
    assert named[0].startswith(f"{rows} rows for 5 columns: ")
    assert f"too high by a factor of about {factor} or more" in named[0]


#: 90 persons of three groups.
PERSONS = pd.DataFrame(np.random.default_rng(41).normal(size=(90, 2)), columns=["bmi", "sbp"])
GROUP = pd.Series(list("abc") * 30, name="arm")


@pytest.mark.parametrize(
    "by",
    [GROUP, GROUP.to_numpy(), GROUP.tolist(), pd.Index(GROUP), GROUP.astype("category")],
    ids=["Series", "array", "list", "Index", "category"],
)
def test_the_groups_of_rows_may_be_passed_as_values(by):
    truth = mean_leakage(PERSONS.assign(arm=GROUP), by="arm")
    report = mean_leakage(PERSONS, by=by)
    for group, each in truth.reports.items():
        np.testing.assert_array_equal(report.reports[group].scores, each.scores)


def test_a_series_of_a_column_is_that_column_and_other_values_of_its_name_are_not():
    table = PERSONS.assign(arm=GROUP)
    assert mean_leakage(table, by=table["arm"]).to_dict() == mean_leakage(table, by="arm").to_dict()
    halves = (PERSONS["bmi"] > 0.0).rename("bmi")
    report = mean_leakage(PERSONS, by=halves)
    assert report.by == "bmi (by)"
    assert [each.columns for each in report.reports.values()] == [("bmi", "sbp")] * 2


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (["arm", "sex"], "for each row of table; it has 2 of 90. Groups of several columns go"),
        (GROUP[:40], "it has 40 of 90"),
        (GROUP[::-1], "have the rows of table in their order"),
        (GROUP.where(GROUP != "b"), "give each row a group; row 1 has none"),
    ],
)
def test_values_that_are_no_groups_of_the_rows_are_refused(by, words):
    with pytest.raises(ValueError, match=words):
        mean_leakage(PERSONS, by=by)


def test_groups_share_what_is_said_of_each():
    """Of 20 groups of 4 rows and 2 of 5; the sentence on all rows names no group."""
    report = mean_leakage(PERSONS, by=np.r_[np.arange(80) // 4, [20] * 5, [21] * 5])
    (caution,) = report.cautions
    assert caution.startswith("In group 0, and with other numbers in 21 more: the table has 4 rows")
    assert sum("uncorrelated" in caveat for caveat in report.caveats) == 1
    report = mean_leakage(PERSONS, by=np.repeat(np.arange(18), 5))
    assert report.cautions[0].startswith("In each group: the table has 5 rows, and")


def test_a_number_of_people_is_a_number_however_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PERSONS.to_csv("t.csv", index=False)
    answers = []
    for number in ("8000", "8e3", "8,000", "8000.0"):
        assert main(["mean", "t.csv", "--population", number]) == 0
        answers.append(capsys.readouterr().out)
    assert set(answers) == {answers[0]}
    assert main(["mean", "t.csv", "--population", "8.5"]) == 1
    assert "a number of people must be whole; got 8.5" in capsys.readouterr().err
