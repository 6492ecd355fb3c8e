"""Tables sampled from strata, with a prior, or from people of whom only the number is known."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_table_population import COLUMNS, REGISTER, ROWS, SAMPLE, at, cells_of, people_and_sample

from mialeak import Register, atom_leakage, max_leakage
from mialeak._checks.tables.registers import pairs_of_both
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.populations import Panel
from mialeak.tables import estimate_max_leakage, table_leakage


def test_strata_leak_what_enumerating_all_samples_of_them_says():
    """One of five women and three of five men: all pairs of such samples."""
    people = cells_of(REGISTER)
    strata = {sex: [i for i, cell in enumerate(people) if cell[1] == sex] for sex in "fm"}
    drawn = [a + b for a in combinations(strata["f"], 1) for b in combinations(strata["m"], 3)]
    population = table_leakage(SAMPLE, population=REGISTER, strata="sex").population
    leakage = []
    for person in range(10):
        laws = [Counter(), Counter()]
        for sample in drawn:
            seen = tuple(sorted(Counter(people[row] for row in sample).items()))
            laws[person in sample][seen] += 1
        sums = [sum(law.values()) for law in laws]
        gaps = (
            abs(Fraction(laws[1][x], sums[1]) - Fraction(laws[0][x], sums[0]))
            for x in laws[0].keys() | laws[1].keys()
        )
        leakage.append(sum(gaps) / 2)
    assert population.leakage == pytest.approx(float(sum(leakage) / 10), rel=1e-14)
    assert population.row_leakage == pytest.approx([float(leakage[row]) for row in ROWS], rel=1e-14)
    by_sex = {"f": strata["f"], "m": strata["m"]}
    for stratum in population.strata:
        rows = by_sex[stratum.value]
        assert (stratum.rows, stratum.people) == (sum(r in rows for r in ROWS), len(rows))
        expected = float(sum(leakage[row] for row in rows) / len(rows))
        assert stratum.leakage == pytest.approx(expected, rel=1e-14)


def test_strata_of_one_value_are_the_register():
    register = {**REGISTER, "town": ["a"] * 10}
    sample = {**SAMPLE, "town": ["a"] * 4}
    one = table_leakage(sample, population=register, strata="town").population
    whole = table_leakage(sample, population=register).population
    assert one.leakage == pytest.approx(whole.leakage, rel=1e-15)
    assert one.claim_right == whole.claim_right


def test_a_disproportionate_sample_of_strata_bears_no_caution():
    people, _ = people_and_sample(1)
    women, men = (np.flatnonzero(people["sex"] == sex) for sex in (1, 0))
    rows = np.concatenate([women[:900], men[:100]])
    report = table_leakage(at(people, rows), population=people, strata="sex")
    assert report.cautions == ()
    assert "Strata (exact)" in report.text()


def test_a_sample_out_of_proportion_within_a_stratum_is_cautioned():
    people, _ = people_and_sample(1)
    young = np.flatnonzero((people["sex"] == 1) & (people["age"] < 15))[:300]
    men = np.flatnonzero(people["sex"] == 0)[::10]
    rows = np.concatenate([young, men])
    (caution,) = table_leakage(at(people, rows), population=people, strata="sex").cautions
    assert "differ in column 'age' in stratum 1 (chi-squared test, p < 1e-09)" in caution


def test_strata_by_another_column_than_the_sample_was_drawn_by_are_cautioned():
    """In each of 50 strata by age alone the shares of the sexes may be chance."""
    rng = np.random.default_rng(3)
    people = {"age": rng.integers(50, size=5000), "sex": rng.integers(2, size=5000)}
    women, men = (rng.permutation(np.flatnonzero(people["sex"] == sex)) for sex in (1, 0))
    drawn = at(people, np.concatenate([women[:450], men[:150]]))
    (caution,) = table_leakage(drawn, population=people, strata="age").cautions
    assert "differ in column 'sex' in all strata together (Bernstein's inequality" in caution
    assert table_leakage(drawn, population=people, strata="sex").cautions == ()
    with pytest.raises(TypeError, match=r"^strata must be the name of one column, not list"):
        table_leakage(drawn, population=people, strata=["age", "sex"])


def test_strata_are_not_merged_by_a_recoding():
    """A sample of some strata is no random sample of these strata together."""
    message = "recode must leave the column of the strata as it is"
    options = {"population": REGISTER, "strata": "sex"}
    with pytest.raises(ValueError, match=message):
        table_leakage(SAMPLE, recode={"sex": {"drop": True}}, **options)
    assert table_leakage(SAMPLE, recode={"age": {"top": 41}}, **options).population.strata


@pytest.mark.parametrize("prior", [0.01, 0.4, 0.5, 0.9])
def test_claims_are_right_as_often_as_bayes_says(prior):
    """People of the table weigh `prior` in all, the others the remainder."""
    people = cells_of(REGISTER)
    rows = Counter(people[row] for row in ROWS)
    every = Counter(people)
    right = wrong = Fraction(0)
    for row, cell in enumerate(people):
        if Fraction(rows[cell], every[cell]) > Fraction(4, 10):
            if row in ROWS:
                right += Fraction(prior) / 4
            else:
                wrong += (1 - Fraction(prior)) / 6
    found = table_leakage(SAMPLE, population=REGISTER, prior=prior).population
    assert found.claim_right == pytest.approx(float(right / (right + wrong)), rel=1e-14)
    assert (found.prior, found.sampled_share) == (prior, 0.4)
    if prior == 0.4:
        own = table_leakage(SAMPLE, population=REGISTER).population
        assert own.claim_right == pytest.approx(found.claim_right, rel=1e-14)


def register_of(name):
    """People by cell: real, and as registers are."""
    if name == "Adult":
        return table_leakage(load_adult().columns, COLUMNS).cell_counts
    if name == "households":
        rng = np.random.default_rng(1)
        return rng.choice(np.arange(1, 7), 8_000, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01])
    return np.maximum(np.round(3_000 * np.arange(1.0, 6_001) ** -1.05), 1).astype(int)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", ["Adult", "households", "Zipf"])
def test_intervals_for_a_known_number_of_people_hold_the_truth(name, share):
    """12 samples each; docs/register_coverage.md has 100, of eight registers."""
    people, rng = register_of(name), np.random.default_rng(7)
    n = round(share * people.sum())
    truth = max_leakage(Register(people), n)
    estimates = []
    for _ in range(12):
        counts = rng.multivariate_hypergeometric(people, n, method="marginals")
        estimates.append(estimate_max_leakage(counts, population=int(people.sum())))
    assert all(each.claimed for each in estimates)
    assert sum(each.low <= truth <= each.high for each in estimates) >= 11
    error = np.mean([each.value for each in estimates]) - truth
    assert abs(error) < 0.02 * truth
    independent = estimate_max_leakage(counts)
    assert (independent.high < truth) == (share > 0.1)


def test_a_large_number_of_people_is_infinite():
    counts = np.repeat([1, 2, 3, 5, 10, 20, 50], [200, 80, 40, 30, 15, 6, 2])
    infinite, finite = estimate_max_leakage(counts), estimate_max_leakage(counts, population=10**9)
    for end in ("low", "value", "high", "plug_in"):
        assert getattr(finite, end) == pytest.approx(getattr(infinite, end), rel=1e-3)


@pytest.mark.parametrize(
    ("counts", "people"),
    [
        ([1], 2),
        ([1000], 1001),
        ([500, 500], 1001),
        ([1] * 1000, 1001),
        ([1] * 1000, 2**53),
        ([64] * 50, 3300),
        ([64] * 50, 6400),
        ([64] * 50, 6402),
        ([65] * 50, 3251),
        ([91] * 50, 4551),
        ([2**50], 2**51),
        ([3, 2**40], 2**53),
    ],
)
@pytest.mark.filterwarnings("error")
def test_extreme_samples_of_people_have_an_interval(counts, people):
    """Nearly all people, all counts equal, a sample of half (both sides of where nodes differ)."""
    found = estimate_max_leakage(counts, population=people)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_ranges_of_rows_invert_hypergeometric_tests():
    counts, people = [1, 2, 7, 50], 200
    table = {"cell": np.repeat(np.arange(4), counts)}
    report = table_leakage(table, population=people)
    for cell, count in enumerate(counts):
        sizes = np.arange(count, people - (60 - count) + 1)
        fits = stats.hypergeom.cdf(count, people, sizes, 60) > 0.025
        if count > 1:
            fits &= stats.hypergeom.sf(count - 2, people - 1, sizes - 1, 59) > 0.025
        ends = sizes[fits].min(), sizes[fits].max()
        leakage = [atom_leakage(Register([size, people - size]), 60)[0] for size in map(int, ends)]
        assert report.cell_leakage.lower[cell] == pytest.approx(leakage[1], rel=1e-12)
        assert report.cell_leakage.upper[cell] == pytest.approx(leakage[0], rel=1e-12)


def test_a_report_for_a_number_of_people_says_so():
    people, rows = people_and_sample(3, 1500)
    report = table_leakage(at(people, rows), population=4000)
    text = " ".join(report.text().split())
    assert "people, drawn from 4,000, leaks" in text
    assert "for the 4,000 people these rows were drawn from (estimate, 95% interval" in text
    assert "Rows a release needs" not in text
    assert (report.people, report.population, report.estimate.claimed) == (4000, None, True)
    exact = table_leakage(at(people, rows), population=people).population.leakage
    assert report.estimate.low <= exact <= report.estimate.high
    other = table_leakage(at(people, rows), population=4000, n=1400)
    assert not other.estimate.claimed
    assert "No interval is claimed for other releases" in other.caveats[-1]
    with pytest.raises(ValueError, match="samples_for is not available with a known number"):
        report.samples_for(0.1)
    with pytest.raises(ValueError, match="population is not available with this gamma"):
        estimate_max_leakage([3, 4], gamma=2.0, population=20)


# ---- panels ----


def test_a_panel_is_that_of_the_cells_that_either_table_shows(tmp_path, capsys):
    panel = {"age": [30] * 5 + [41] * 3 + [70], "sex": list("fffmmmmff")}
    table = {"age": [30, 41, 99, 30], "sex": list("fmff")}
    found = table_leakage(table, panel=panel).panel
    counts = Counter(cells_of(panel))
    cells = [*counts, (99, "f")]
    law = Panel([counts[cell] for cell in cells])
    assert (found.kind, found.panel.rows, found.n) == ("exact", 9, 4)
    assert found.leakage == pytest.approx(max_leakage(law, 4), rel=1e-14)
    atoms = dict(zip(cells, atom_leakage(law, 4), strict=True))
    assert found.row_leakage == pytest.approx([atoms[cell] for cell in cells_of(table)], rel=1e-14)
    assert found.average == pytest.approx(found.row_leakage.mean(), rel=1e-14)
    assert table_leakage(table, panel=panel, n=7).panel.leakage == max_leakage(law, 7)
    counted = {"age": [c[0] for c in counts], "sex": [c[1] for c in counts]}
    counted["n"] = list(counts.values())
    other = table_leakage(table, panel=counted, counts="n").panel
    assert other.leakage == pytest.approx(found.leakage, rel=1e-14)
    text = " ".join(table_leakage(table, panel=panel).text().split())
    assert "who knows the population by the 9 rows of the panel alone (exact)" in text
    for name, each in (("table", table), ("panel", panel)):
        pd.DataFrame(each).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / "table.csv"), "--panel", str(tmp_path / "panel.csv")]
    assert main(["table", *files, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)["panel"]
    assert content["leakage"] == pytest.approx(found.leakage, rel=1e-14)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"panel": {"age": [30]}}, "panel must have the columns of the table; it has none named"),
        ({"panel": {"age": [None], "sex": ["f"]}}, "panel must have no missing values; there are"),
        ({"population": 100}, "panel is not available with population"),
        ({"margins": ["age"]}, "panel is not available with margins"),
        ({"coarsen": 0.1}, "panel is not available with coarsen"),
        ({"strata": "sex"}, "strata must come with population"),
        ({"person": "sex"}, "panel is not available with person"),
    ],
)
def test_what_has_no_answer_for_a_panel_is_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        table_leakage(SAMPLE, **{"panel": REGISTER, **options})


def test_the_shell_takes_strata_a_prior_or_a_number_of_people(tmp_path, capsys):
    for name, table in (("sample", SAMPLE), ("register", REGISTER)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    sample, register = str(tmp_path / "sample.csv"), str(tmp_path / "register.csv")
    picture = str(tmp_path / "picture.svg")
    command = ["table", sample, "--json", "--plot", picture, "--population"]
    assert main([*command, register, "--strata", "sex", "--prior", "0.5"]) == 0
    content = json.loads(capsys.readouterr().out)["population"]
    found = table_leakage(SAMPLE, population=REGISTER, strata="sex", prior=0.5).population
    assert content["leakage"] == pytest.approx(found.leakage, rel=1e-15)
    assert content["claim_right"] == pytest.approx(found.claim_right, rel=1e-15)
    assert [each["value"] for each in content["strata"]] == ["f", "m"]
    assert main([*command, "1,000", "--max-leakage", "1"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["people"], content["population"], content["samples"]) == (1000, None, None)
    assert main([*command, "1000", "--strata", "sex"]) == 1
    assert "--strata must come with population" in capsys.readouterr().err


def enumerated_pairs(both, n):
    """P(at least so many cells of two rows are shared, for so many rows of one sample in these)."""
    people = [cell for cell, count in enumerate(both) for _ in range(count)]
    two = {cell for cell, count in enumerate(both) if count == 2}
    rows = Counter()
    for drawn in combinations(range(len(people)), n):
        counts = Counter(people[k] for k in drawn)
        inside = sum(counts[cell] for cell in two)
        shared = sum(counts[cell] == 1 for cell in two)
        rows[inside, shared] += 1
    return {
        (t, s): Fraction(sum(x for (u, v), x in rows.items() if u == t and v >= s),
                         sum(x for (u, _), x in rows.items() if u == t))
        for t, s in rows
    }  # fmt: skip


@pytest.mark.parametrize("both", [[2, 2, 2, 1, 3], [2, 2, 2, 2, 1], [2, 1, 1, 4]])
def test_the_chance_of_shared_cells_is_that_of_enumerating_all_samples(both):
    for (t, s), chance in enumerated_pairs(both, 4).items():
        in_two = [1] * s + [2] * ((t - s) // 2)
        rows = iter(in_two + [0] * (both.count(2) - len(in_two)))
        counts = np.array([next(rows) if count == 2 else 0 for count in both])
        shared, level = pairs_of_both(np.array(both), counts)
        assert shared == s
        assert np.exp(level) == pytest.approx(float(chance), rel=1e-12)


def test_a_panel_with_rows_of_the_table_is_cautioned():
    adult = load_adult().columns
    order = np.random.default_rng(5).permutation(len(adult["age"]))
    people = {name: np.asarray(adult[name])[order] for name in ("age", "education", "race", "sex")}
    table, others = at(people, slice(3000)), at(people, slice(3000, 7000))
    assert not table_leakage(table, panel=others).cautions
    (caution,) = table_leakage(table, panel=at(people, slice(2000, 6000))).cautions
    assert "the panel seems to hold people of the table" in caution


def cells_with_totals(table, word):
    """The counts by age and sex, and by age alone."""
    counts = Counter(cells_of(table))
    sums = Counter(age for age, _ in cells_of(table))
    cells = [*counts.items(), *(((age, word), count) for age, count in sums.items())]
    return {"age": [x[0][0] for x in cells], "sex": [x[0][1] for x in cells],
            "n": [x[1] for x in cells]}  # fmt: skip


def test_totals_of_a_register_are_left_out():
    expected = table_leakage(SAMPLE, population=REGISTER).population.leakage
    register = cells_with_totals(REGISTER, "both")
    report = table_leakage(SAMPLE, population=register, counts="n", total="both")
    assert report.population.leakage == pytest.approx(expected, rel=1e-15)
    (note,) = report.cautions
    assert note.startswith("Of the register: ")
    assert note.endswith(f" of {len(register['n'])} rows are left out as totals.")
    table = cells_with_totals(SAMPLE, "all sexes")
    options = {"population": register, "counts": "n"}
    report = table_leakage(table, total=["both", "all sexes"], **options)
    assert report.population.leakage == pytest.approx(expected, rel=1e-15)
    with pytest.raises(ValueError, match=r"total must be values of a category .*total\[1\] = 'al'"):
        table_leakage(table, total=["both", "al"], **options)
    panel = table_leakage(SAMPLE, panel=register, counts="n", total="both").panel
    assert panel.leakage == table_leakage(SAMPLE, panel=REGISTER).panel.leakage


def test_a_suppressed_count_of_a_register_has_no_answer():
    register = {"age": [30, 41], "n": ["60", "<5"]}
    with pytest.raises(ValueError, match="Pass the register before suppression: all of it is"):
        table_leakage({"age": [30]}, population=register, counts="n")
    register["n"][1] = "-"
    with pytest.raises(ValueError, match=r"If it is a zero, write 0\. Pass the register before"):
        table_leakage({"age": [30]}, population=register, counts="n")


def test_people_of_the_table_in_a_panel_show_in_columns_that_are_not_counted():
    """All of them, or some; other people of the same population have no caution."""
    rng = np.random.default_rng(8)
    people = {
        "sex": rng.choice(["f", "m"], 3000),
        "region": rng.choice(list("abcdefgh"), 3000),
        "age": rng.integers(18, 90, 3000),
        "income": rng.lognormal(7.0, 0.6, 3000).round(),
        "id": np.arange(3000) % 1000,
    }

    def part(*slices):
        return {name: np.concatenate([v[each] for each in slices]) for name, v in people.items()}

    table, counted = part(slice(0, 1000)), ["sex", "region"]
    options = {"columns": counted, "panel": part(slice(0, 3000))}
    (caution,) = table_leakage(table, **options).cautions
    assert caution.startswith("By all columns of both: the panel has no cell with fewer rows")
    assert caution.endswith("pass it as population=.")
    options["panel"] = part(slice(1000, 3000), slice(0, 200))
    (caution,) = table_leakage(table, **options).cautions
    assert "the panel seems to hold people of the table" in caution
    for others in (slice(1000, 3000), slice(1000, 1500)):
        assert not table_leakage(table, columns=counted, panel=part(others)).cautions
        few = {name: part(others)[name] for name in counted}
        assert not table_leakage(table, columns=counted, panel=few).cautions
