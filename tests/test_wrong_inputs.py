"""Natural wrong inputs: each is refused with its cure, or named before the answer.

Made by reading how people call pandas, sdcMicro, ARX, Opacus and privacy meters.  Refused means:
exit code 1, one line on stderr, nothing on stdout; in Python a ValueError or TypeError.  Cautioned
means: an answer, and the words before it.
"""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from wrong_audits import AUDITS
from wrong_calls import (
    AGES_TO_90,
    ALLELES,
    CALLS,
    LAWS,
    ORDERS,
    PERSON,
    SEXES,
)
from wrong_counts import COUNTS
from wrong_genotypes import (
    CARRIES,
    GENETICS,
    GENOTYPES,
    MEASURED,
    MEASURES,
    MOMENTS,
    SOMEONE,
    TABLE,
)
from wrong_inputs import MEANS
from wrong_layouts import LARGE_CALLS, LAYOUTS
from wrong_means import CALLS_OF_PERSONS, MEANS_OF_PERSONS, ORDINARY_MEANS
from wrong_offices import CURED, OFFICES, ORDINARY_OFFICES
from wrong_persons import ORDINARY, PERSONS
from wrong_registers import REGISTER_INPUTS
from wrong_releases import PLANS
from wrong_rows import ORDINARY_ROWS, ROW_CALLS, ROWS
from wrong_surveys import FRAMES, ORDINARY_SURVEYS, SURVEY_CALLS, SURVEYS
from wrong_tables import COUNTED, NAMED, PEOPLE, RAW, TABLE_CALLS, TABLES

from mialeak import exact_mean_tradeoff, mean_leakage, mean_tradeoff
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.estimators import least_squares_influence, quantile_influence
from mialeak.laws import Bernoulli, Genotype, Lattice
from mialeak.scores import bernoulli_score, covariance_score
from mialeak.tables import table_leakage

LONGEST = 600

#: How the answer begins, after the cautions.
ANSWERS = {"table": " Publishing ", "mean": " Publishing ", "release": " These 2 outputs "}
ANSWERS |= {"audit": " Nothing is proved"}

IN_PYTHON = TABLE_CALLS + LARGE_CALLS + CALLS + GENETICS + CALLS_OF_PERSONS
IN_PYTHON += SURVEY_CALLS + ROW_CALLS
LINES = TABLES + COUNTS + LAYOUTS + MEANS + AUDITS + PLANS + PERSONS + MEANS_OF_PERSONS
LINES += REGISTER_INPUTS + OFFICES + SURVEYS + ROWS
TAKEN = ORDINARY + ORDINARY_MEANS + ORDINARY_OFFICES + ORDINARY_SURVEYS + ORDINARY_ROWS


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.title)
def test_a_wrong_line_is_refused_or_cautioned(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in case.files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code = main(case.line.split())
    out, err = capsys.readouterr()
    if case.cautioned:
        gated = "--max-" in case.line
        assert code == (3 if gated else 0), err
        assert ("This is undecided" in out) == gated
        if gated:
            assert main([*case.line.split(), "--accept-cautions", "--json"]) == 0
            limit = json.loads(capsys.readouterr().out)["limit"]
            assert (limit["over"], limit["undecided"]) == (False, False)
            assert main([*case.line.split(), "--json"]) == 3
            assert json.loads(capsys.readouterr().out)["limit"]["undecided"]
        before, answer, _ = " ".join(out.split()).partition(ANSWERS[case.line.split()[0]])
        assert answer
        assert before.startswith("Caution: ")
    else:
        assert (code, out) == (1, "")
        assert err.startswith("mialeak: error: ")
        assert err.count("\n") == 1
        assert len(err) <= LONGEST + len("mialeak: error: \n")
        before = err
    for words in case.says:
        assert words in before


@pytest.mark.parametrize("case", IN_PYTHON, ids=lambda case: case.title)
def test_a_wrong_call_is_refused_or_cautioned(case):
    if case.cautioned:
        message = " ".join(case.call().cautions)
    else:
        with pytest.raises((ValueError, TypeError)) as caught:
            case.call()
        message = str(caught.value)
        assert len(message) <= LONGEST
    for words in case.says:
        assert words in message


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("table t.csv", {"t.csv": PEOPLE}),
        ("table raw.csv --names age,work,sex,hours --missing ? --na drop", {"raw.csv": RAW}),
        ("table raw.csv --no-header --missing ?,NA --na category", {"raw.csv": RAW}),
        ("table counts.csv --counts n", {"counts.csv": COUNTED}),
        ("table counts.csv --counts n --columns age", {"counts.csv": COUNTED}),
        ("table counts.csv --counts n --margins age,sex", {"counts.csv": COUNTED}),
        ("table t.csv --exclude id", {"t.csv": NAMED}),
        ("table t.csv --header", {"t.csv": "a\nb\na\nc\nb\n"}),
        ("table t.csv --missing -9 --missing NA --na drop", {"t.csv": PEOPLE}),
    ],
)
def test_the_cure_cures(line, files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert main(line.split()) == 0
    assert capsys.readouterr().out.startswith("Publishing ")


@pytest.mark.parametrize(("line", "file", "rows"), CURED, ids=lambda value: str(value)[:60])
def test_codes_and_empty_fields_are_taken_for_the_count_that_is_named(
    line, file, rows, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(file)
    assert main([*line.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == rows
    assert all("replaced by 1" in words for words in found["caveats"])


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case.title)
def test_an_ordinary_file_has_no_caution(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in case.files.items():
        (tmp_path / name).write_text(content)
    assert main(case.line.split()) == 0
    assert capsys.readouterr().out.startswith("Publishing ")


@pytest.mark.parametrize("name", FRAMES)
def test_frames_of_persons_are_no_cross_tabulations(name):
    assert not table_leakage(FRAMES[name]).cautions


@pytest.mark.parametrize("name", ORDERS)
def test_a_target_in_the_order_of_the_columns_is_taken(name):
    ORDERS[name](PERSON)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_law_takes_a_target_with_its_names_and_one_without(law):
    release, bare = law.mean, PERSON.to_numpy()
    if "Presence" not in repr(law):
        release = bare
    expected = law.log_likelihood_ratio(release, bare, 2)
    assert (law.log_likelihood_ratio(release, PERSON, 2) == expected).all()


@pytest.mark.parametrize(
    "values",
    [
        AGES_TO_90,
        [*AGES_TO_90[:-1], 99],  # once
        np.arange(200) % 100,  # a scale from 0 to 99
        np.where(np.arange(200) < 4, 99, 90 + np.arange(200) % 9),
        np.arange(200) % 3 - 1,  # genotypes
    ],
)
def test_values_that_mark_nothing_have_no_caution(values):
    rare = np.where(np.arange(200) < 3, -1, np.arange(200) % 2)  # beside common genotypes
    for frame in (
        {"x": values, "sex": SEXES},
        {"x": values, "y": rare, "z": np.arange(200) % 3 - 1},
    ):
        for report in (table_leakage(frame), mean_leakage(frame)):
            assert not [each for each in report.cautions if "is counted as a value" in each]


def test_moments_of_bits_and_of_genotypes_are_taken():
    p = ALLELES
    mean_tradeoff([1.0, 0.0, 1.0], p, p * (1 - p), 100)
    mean_tradeoff([2.0, 0.0, 1.0], 2 * p, 2 * p * (1 - p), 100)
    mean_tradeoff([1.0, 0.0, 1.0], np.full(3, 2 / 3), np.full(3, 2 / 9), 100)
    mean_tradeoff([0.0, 0.0, 0.0], np.zeros(3), np.zeros(3), 100)
    mean_tradeoff([0.5, 0.1, 1.3], 2 * p, p * (1 - p), 100)  # dosages of another kind


@pytest.mark.parametrize("columns", [slice(None), slice(12), slice(40, 60)])
def test_moments_of_people_are_taken(columns):
    """Of all people, of mixtures, of few, of bits, of inbred lines and of other counts."""
    rng = np.random.default_rng(3)
    tables = [GENOTYPES[rows] for rows in (slice(None), slice(100), slice(40), slice(0, None, 26))]
    tables += [(GENOTYPES > 0).astype(float), 2.0 * (GENOTYPES > 0), 2.0 - GENOTYPES]
    tables += [rng.poisson(GENOTYPES.mean(axis=0), GENOTYPES.shape).astype(float)]
    tables += [rng.negative_binomial(0.5, 0.4, (500, GENOTYPES.shape[1])).astype(float)]
    for table in tables:
        rows = table[:, columns][:, table[:, columns].std(axis=0) > 0]
        mean, cov = rows.mean(axis=0), np.cov(rows.T)
        for target in (np.minimum(rows[7], 2.0), 2.0 * (mean < 1.0), mean):
            mean_tradeoff(target, mean, np.diag(cov), 500)
            mean_tradeoff(target, mean, np.diag(np.diag(cov)), 500)
            mean_tradeoff(target / 2, mean / 2, np.diag(cov) / 4, 500)
    p = GENOTYPES[:, columns].mean(axis=0) / 2
    mean_tradeoff(SOMEONE[columns], 2 * p, 2 * p * (1 - p), 500)
    mean_tradeoff(SOMEONE[columns], 2 * p, np.full(p.size, 0.01), 500)
    mean_tradeoff(SOMEONE[columns], 2 * p, rng.uniform(0.01, 1.0, p.size), 500)
    mean_tradeoff(SOMEONE[columns] + 5, 2 * p + 5, 2 * p * (1 - p), 500)


def test_halves_of_rare_alleles_have_moments_of_halves():
    """A dosage may be a half too, and such rows have moments of whole genotypes."""
    row, rare = np.where(MOMENTS[0] < 1.0, SOMEONE, 2.0 - SOMEONE), MOMENTS[0] / 2
    rare = np.minimum(rare, 1 - rare)
    whole = 2 * rare, 2 * rare * (1 - rare)
    for cov, words in ((whole[1], "and cov near 2 "), (whole[1] / 4, "2 . p, twice it, by cov")):
        with pytest.raises(ValueError, match=f"mean must be .*, 0.5 and 1 of target.*{words}"):
            mean_tradeoff(row / 2, 2 * rare, cov, 500)
    mean_tradeoff(row / 2, rare, whole[1] / 4, 500)
    dosages = np.minimum(np.where(np.arange(row.size) % 30, row, 0.5), 1.0)
    mean_tradeoff(dosages, *whole, 500)


@pytest.mark.parametrize(
    "call",
    [
        lambda n: mean_tradeoff(SOMEONE, *MOMENTS, n),
        lambda n: exact_mean_tradeoff(SOMEONE, Genotype(MOMENTS[0] / 2), n),
    ],
    ids=["mean_tradeoff", "exact_mean_tradeoff"],
)
def test_chromosomes_in_place_of_persons_are_named(call):
    """Twice the persons of whom the mean is; the number itself and other multiples are taken."""
    match = r"n = 5,008 is twice the 2,504 persons .* pass n=2504"
    with pytest.warns(UserWarning, match=match) as caught:
        call(5008)
    assert caught[0].filename == __file__
    for n in (2504, 10_016, 1000, 5006):
        call(n)


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-20, 1.0 - 2.0**-53, 1.0])
def test_frequencies_at_the_ends_have_a_likelihood(p):
    for law, most in ((Genotype(np.full(50, p)), 2), (Bernoulli(np.full(50, p)), 1)):
        target = np.full(50, most * (p > 0.5))
        assert law.log_likelihood_ratio(target, target, 2).shape == (50,)
        if p % 1.0:
            law.log_likelihood_ratio(target, most - target, 2)


def test_rounded_frequencies_are_those_of_no_cohort():
    p = np.round(MOMENTS[0] / 2, 3)
    mean_tradeoff(SOMEONE, 2 * p, 2 * p * (1 - p), 1000)


def test_people_of_one_ancestry_beside_frequencies_of_another_are_taken():
    """With frequencies as far apart as these; and rows that were designed to leak most."""
    groups = [GENOTYPES[k : k + 500] for k in range(0, 2500, 500)]
    for group in groups:
        inside = group[:, (group.std(axis=0) > 0.0)]
        p = inside.mean(axis=0) / 2
        law = Genotype(p)
        for row in GENOTYPES[::50, group.std(axis=0) > 0.0]:
            mean_tradeoff(row, 2 * p, 2 * p * (1 - p), 500)
            if np.all((p > 1e-3) & (p < 0.999)):
                law.log_likelihood_ratio(law.mean.round(2), row, 100)
        mean_tradeoff(2.0 * (p <= 0.5), 2 * p, 2 * p * (1 - p), 500)
        mean_tradeoff(2.0 * (p > 0.5), 2 * p, 2 * p * (1 - p), 500)
        mean_tradeoff(np.ones(p.size), 2 * p, 2 * p * (1 - p), 500)
        mean_tradeoff(1.0 * (p <= 0.5), p, p * (1 - p), 500)


def test_names_that_end_in_numbers_are_those_of_persons():
    """Persons by family and number, and twins with genotypes, have no caution."""
    for names, rows in (
        ([f"F{k // 3}_{k % 3}" for k in range(120)], CARRIES[:120, :20]),
        ([f"A_{k}" for k in range(120)], CARRIES[:120, :20]),
        ([f"F{k // 2}_{k % 2 + 1}" for k in range(120)], GENOTYPES[:120, :20]),
    ):
        assert not mean_leakage(pd.DataFrame(rows).assign(name=names)).cautions


def test_tables_of_people_have_no_caution():
    """Of few sites and of more sites than people, rare variants, answers, and households."""
    rng = np.random.default_rng(11)
    rare = rng.binomial(2, rng.beta(0.3, 3.0, 300), (150, 300))
    common = rng.normal(size=(200, 1)) > rng.normal(size=20) + 0.3 * rng.normal(size=(200, 20))
    homes = np.repeat(np.arange(150), 2)
    people = pd.DataFrame(GENOTYPES[:60], [f"P{k}" for k in range(60)])
    tables = [people, GENOTYPES[:300, :50], CARRIES[:300, :50], rare, common * 1]
    tables += [GENOTYPES[:300, :50].cumsum(axis=1), rng.binomial(4, 0.3, (200, 12))]
    for table in tables:
        for structure in ("auto", "diagonal"):
            assert mean_leakage(pd.DataFrame(table), structure=structure).cautions == ()
    before = rng.binomial(1, rng.uniform(0.1, 0.9, 12), (300, 12))
    after = np.where(rng.random((300, 12)) < 0.8, before, 1 - before)
    frame = {f"q{k}_1": each for k, each in enumerate(before.T)}
    assert mean_leakage(frame | {f"q{k}_2": v for k, v in enumerate(after.T)}).cautions == ()
    answers = rng.binomial(3, rng.uniform(0.3, 0.7, 12), (300, 12))
    assert mean_leakage(pd.DataFrame(answers)).cautions == ()
    frame = {"size": 1 + homes % 5, "income": rng.lognormal(9, 1, 150).round()[homes]}
    frame["sex"] = rng.choice(["f", "m"], 300)
    assert mean_leakage(frame).cautions == ()


@pytest.mark.parametrize("rows", [60, 5000])
def test_tables_of_people_hold_no_totals_and_are_no_cells(rows):
    """By each pair of Adult's columns; the rows have a column with the name of a count too."""
    picked = np.random.default_rng(rows).choice(32_561, rows, replace=False)
    people = {name: np.asarray(each)[picked] for name, each in load_adult().columns.items()}
    for pair in combinations(people, 2):
        frame = pd.DataFrame({name: people[name] for name in pair}).assign(size=1 + picked % 5)
        words = table_leakage(frame, list(pair)).cautions
        counted = frame.groupby(list(pair), sort=False).size().reset_index(name="n")
        words += table_leakage(counted, counts="n").cautions
        for word in ("sums of others", "sum to what", "holds others", "No two rows", "of a count"):
            assert not any(word in each for each in words), (pair, words)


def test_designs_and_years_of_other_people_are_taken():
    """Blocks of which each has as many of a treatment, and samples of other people each year."""
    blocks = [(f"block {k}", arm) for k in range(60) for arm in ("A", "B", "C", *["none"] * 2)]
    designs = [pd.DataFrame(blocks, columns=["block", "arm"])]
    designs += [
        pd.DataFrame([(a, b) for a in one for b in other] * 25, columns=["a", "b"])
        for one, other in (("pq", "rs"), ("pqr", "uvw"), ("pqr", "uv"))
    ]
    rng = np.random.default_rng(29)
    laws = {"age": (60, None), "sex": (2, [0.5, 0.5]), "town": (4, [0.4, 0.3, 0.2, 0.1])}
    years = pd.DataFrame({key: rng.choice(k, 4000, p=law) for key, (k, law) in laws.items()})
    designs += [years.assign(year=2018 + rng.integers(0, k, 4000)) for k in (2, 5)]
    sites = [(site, arm) for site in range(9) for arm in "ABCD" for _ in range(40 + site)]
    designs += [pd.DataFrame(sites, columns=["site", "arm"])]
    designs += [years.assign(wave=np.repeat(np.arange(4), 1000))]
    for frame in designs:
        words = table_leakage(frame).cautions
        counted = (
            frame.groupby(list(frame)).size().reset_index(name="n").sample(frac=1.0, random_state=1)
        )
        words += table_leakage(counted, counts="n").cautions
        for word in ("sums of others", "too alike", "tables of", "those of all values"):
            assert not any(word in each for each in words), (word, words)


def test_sorted_people_are_no_households():
    """By age, by a detailed and a broad occupation, and households in random order."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"age": rng.integers(18, 99, 300), "job": rng.integers(0, 90, 300)})
    people["branch"] = people["job"] // 10
    people["town"] = rng.choice(list("abc"), 300)
    large = people.assign(job=rng.geometric(0.08, 300)).assign(branch=lambda t: t["job"] // 9)
    for frame in (people.sort_values("age"), people, large.sort_values("job")):
        assert not any("stand together" in each for each in table_leakage(frame).cautions)


def test_tables_of_every_combination_have_no_small_count_left_out():
    """Counts by three columns, and those without their counts below 5."""
    rng = np.random.default_rng(3)
    keys = pd.MultiIndex.from_product(
        [range(6), list("fm"), list("abcd")], names=["town", "sex", "school"]
    )

    def is_cut(counts):
        frame = pd.Series(counts, keys, name="n").reset_index()
        words = table_leakage(frame[frame["n"] > 0], counts="n").cautions
        return any("seem to be left out" in each for each in words)

    means = [rng.gamma(shape, size=48) for shape in (2.0, 3.0) for _ in range(100)]
    counts = [rng.poisson(2500 * each / each.sum()) for each in means]
    counts = [each for each in counts if np.count_nonzero(each < 2 * each.min()) >= 8]
    assert len(counts) > 10
    assert not any(map(is_cut, counts))
    means = [rng.gamma(0.6, size=48) for _ in range(40)]
    counts = [rng.poisson(600 * each / each.sum()) for each in means]
    cut = [is_cut(np.where(each < 5, 0, each)) for each in counts]
    assert sum(cut) > 10


def test_classes_and_codes_that_share_nobody_are_taken():
    """Classes with an end in common, grades, codes of two numbers, and numbered codes."""
    rng = np.random.default_rng(12)
    labels = [
        ["0-5", "5-10", "10-15", "15+"],
        ["under 18", "18-64", "65 and over"],
        ["Y_LT15", "Y15-64", "Y_GE65"],
        ["negative", "1+", "2+", "3+"],
        ["1-1", "1-2", "2-1", "2-2"],
        ["2019-2020", "2020-2021", "2021-2022"],
        [f"{letter}{k}" for letter in "AB" for k in range(1, 21)],
        ["A", "B", "AB", "O"],
        ["Not at all", "All of the time", "Some of the time"],
    ]
    words = (
        "has the words of",
        "overlap",
        "holds others",
        "seems to be a part",
        "parts of one another",
    )
    for names, _ in product(labels, range(5)):
        keys = pd.MultiIndex.from_product([names, list("NSEW")], names=["x", "town"])
        counts = rng.poisson(rng.gamma(2.0, 90.0, len(keys))) + 1
        counts[np.array([key[0] == names[-1] for key in keys])] += 900  # grades do not fall
        met = table_leakage(pd.Series(counts, keys, name="n").reset_index(), counts="n").cautions
        assert not any(word in each for word in words for each in met), (names, met)


def test_a_value_of_nearly_half_the_persons_is_no_total():
    """Small counts of a common value are half of their sums in many cells by chance."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        law = {"single": 0.35, "married": 0.45, "divorced": 0.12, "widowed": 0.08}
        people = {
            "sex": rng.choice(["m", "f"], 2400),
            "born": rng.integers(1930, 2005, 2400),
            "marital": rng.choice(list(law), 2400, p=list(law.values())),
        }
        cells = pd.DataFrame(people).groupby(list(people)).size().reset_index(name="n")
        assert not table_leakage(cells, counts="n").cautions


def test_towns_in_the_order_of_their_codes_are_no_households():
    """The code of a town begins with that of its region."""
    rng = np.random.default_rng(8)
    region = rng.integers(10, 28, 288)
    people = pd.DataFrame({"region": region.astype(str), "sex": rng.choice(list("fm"), 288)})
    people["town"] = [f"{each}{k}" for each, k in zip(region, rng.integers(1, 6, 288), strict=True)]
    for frame in (people, people.astype({"town": int, "region": int})):
        assert not table_leakage(frame.sort_values("town")).cautions


def test_matrices_that_may_be_covariances_are_taken():
    scaled = (MEASURED - MEASURES[0]) / MEASURED.std(axis=0)
    mean_tradeoff(scaled[0], np.zeros(4), MEASURES[1], 300)
    mean_tradeoff(MEASURED[0], MEASURES[0], np.cov(MEASURED.T), 300)
    steps = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    mean_tradeoff(np.arange(6.0), np.sin(np.arange(6.0)), np.exp(-steps / 3.0), 300)
    mean_tradeoff([1.0, 2.0], [0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]], 300)
    mean_tradeoff([1.0, 2.0], [0.0, 1.0], np.eye(2), 300)


@pytest.mark.filterwarnings("ignore:p seems to be of another population")  # as that of bits
def test_releases_of_other_people_are_taken():
    """Means of parts of the people beside frequencies of all; of one number, and far from it."""
    for rows in (slice(None, 90), slice(500), slice(0, None, 7), slice(1800, 1900), slice(2)):
        means = GENOTYPES[rows].mean(axis=0)
        for releases in (means, [means, 2.0 - MOMENTS[0]], [means] * 3):
            covariance_score(releases, SOMEONE, *MOMENTS, 500)
        bernoulli_score(means / 2, CARRIES[7], MOMENTS[0] / 2, 500)
    covariance_score(np.full(20, 0.5), np.ones(20), np.ones(20), 1.0, 10)
    covariance_score(np.ones(20), np.ones(20), np.zeros(20), 1.0, 10)
    least_squares_influence(TABLE[["age"]].reset_index(drop=True), TABLE["hours"])
    least_squares_influence(TABLE[["age"]], TABLE["hours"].set_axis(range(100, 160)))
    quantile_influence(TABLE, [0.1, 0.5])
    Genotype.from_data(CARRIES[:5, :10])
    Lattice.from_data(np.arange(-9.0, 10.0)[:, None])
    assert not mean_leakage(pd.DataFrame(GENOTYPES[:500, :30])).cautions
    assert not mean_leakage(pd.DataFrame(np.tile(CARRIES[:40, :3], (2, 1)))).cautions


def test_the_corpus_is_one_of_fifty():
    cases = [*LINES, *TABLE_CALLS, *CALLS, *GENETICS]
    assert len(cases) >= 50
    titles = [f"{case.title} {getattr(case, 'line', '')}" for case in cases]
    assert len(set(titles)) == len(titles)


PERSON_NUMBERS = """
SUBJID USUBJID PATNO record_id MRN study_id nhs_number hospital_no case_no CHI personnummer
PatientenNr nr Patient_No
"""


@pytest.mark.parametrize("name", PERSON_NUMBERS.split())
def test_several_rows_of_a_person_are_a_caution_whatever_its_number_is_called(name):
    rng = np.random.default_rng(0)
    person = np.repeat(100_000 + rng.permutation(90_000)[:150], 3)
    frame = pd.DataFrame({name: person, "sbp": rng.normal(130, 15, 450)})
    (caution,) = mean_leakage(frame).cautions
    assert f"Column {name!r} seems to name the person of a row, and 450 rows have 150" in caution
    other = mean_leakage(frame.rename(columns={name: "income"})).cautions
    assert not any("name the person" in each for each in other)
