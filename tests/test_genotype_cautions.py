"""What rows of genotypes show: relatives, persons twice, a panel of the same people, lone alleles.

The rows are simulated: of unrelated people in four kinds of populations, of siblings and of persons
who were genotyped twice.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from mialeak import (
    exact_mean_tradeoff,
    gaussian_mean_tradeoff,
    leakage_score,
    mean_leakage,
    mean_tradeoff,
    samples_for_leakage,
)
from mialeak._checks.means.frequencies import hardy_weinberg_ratio
from mialeak._checks.means.relatives import are_too_near
from mialeak.cli import main
from mialeak.datasets import load_genotypes
from mialeak.estimators import mean_influence
from mialeak.laws import Chain, Genotype

DATA = load_genotypes()


def table_of(counts):
    return {f"rs{100 + k}": column for k, column in enumerate(np.asarray(counts, np.int8).T)}


def regenotyped(counts, rng, error=0.01):
    """The same people once more, a share of the genotypes wrong."""
    wrong = rng.random(counts.shape) < error
    return np.where(wrong, (counts + 1) % 3, counts)


def siblings(pairs, p, rng):
    """Two children of each pair of parents, sites unlinked."""
    parents = rng.random((pairs, 1, 2, 2, p.size)) < p
    chosen = rng.integers(2, size=(pairs, 2, 2, 1, p.size))
    return np.take_along_axis(parents, chosen, axis=3).sum(axis=(2, 3)).reshape(-1, p.size)


def mosaics(people, sites, rng):
    """Linked sites: each haplotype copies one of 40, and changes it at one site of twenty."""
    founders = rng.random((40, sites)) < rng.uniform(0.05, 0.5, sites)
    moves = rng.random((2 * people, sites)) < 0.05
    moves[:, 0] = True
    last = np.maximum.accumulate(np.where(moves, np.arange(sites), 0), axis=1)
    copied = rng.integers(40, size=moves.shape)[np.arange(2 * people)[:, None], last]
    haplotypes = founders[copied, np.arange(sites)]
    return haplotypes[::2] + 1 * haplotypes[1::2]


def divided(people, sites, rng, *, mixed):
    """People of four populations (F_ST 0.1), or mixtures of these."""
    p = rng.uniform(0.05, 0.95, sites)
    each = rng.beta(9.0 * p, 9.0 * (1.0 - p), (4, sites))
    shares = rng.dirichlet([0.5] * 4, people) if mixed else np.eye(4)[rng.integers(4, size=people)]
    return rng.binomial(2, np.clip(shares @ each, 0.0, 1.0))


def cohorts():
    """Unrelated people: unlinked and linked sites, populations, mixtures; real people."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        people, sites = 100 + 160 * seed, 80 + 320 * seed
        p = rng.uniform(0.01, 0.5, sites)
        yield f"independent {seed}", rng.binomial(2, p, (people, sites))
        yield f"linked {seed}", mosaics(people, sites, rng)
        yield f"populations {seed}", divided(people, sites, rng, mixed=False)
        yield f"mixtures {seed}", divided(people, sites, rng, mixed=True)
    for name in ("AFR", "AMR", "EAS", "EUR", "SAS"):
        yield name, DATA.counts[DATA.columns["superpopulation"] == name]
    yield "all", DATA.counts[::3]


def test_sites_of_one_digit_are_sites_as_others_are():
    """rs0 to rs9 were named as strangers beside rs10 and more."""
    rng = np.random.default_rng(11)
    counts = rng.binomial(2, rng.uniform(0.1, 0.5, 40), (300, 40))
    table = {f"rs{k}": column for k, column in enumerate(counts.T)}
    assert mean_leakage(table).cautions == ()
    strangers = mean_leakage({**table, "sex": rng.integers(2, size=300)}).cautions
    assert len(strangers) == 1
    assert "beside 40 columns of genotypes: column 'sex'." in strangers[0]


def test_unrelated_people_are_not_alike():
    """Neither in a table, nor between a half and a panel of the other half."""
    for name, counts in cohorts():
        half = len(counts) // 2
        counts = np.random.default_rng(0).permutation(counts)
        parts = counts[:half], counts[half:]
        varied = np.logical_and(*(np.ptp(part, axis=0) > 0 for part in parts))
        table, panel = (table_of(part[:, varied]) for part in parts)
        report = mean_leakage(table_of(counts), structure="diagonal")
        beside = mean_leakage(table, panel=panel, structure="diagonal")
        said = " ".join([*report.cautions, *report.warnings, *beside.cautions])
        for words in ("nearly all", "siblings", "include people"):
            assert words not in said, name


def test_people_with_the_same_genotypes_of_one_gene_are_no_copies():
    """Haplotypes of 100 kinds that do not recombine: a fifth of the people have an equal."""
    rng = np.random.default_rng(5)
    kinds = np.empty((0, 180), bool)
    for _ in range(5):  # of five ancestors, each copied with changes at one site of fifty
        ancestor = rng.random(180) < 0.4
        kinds = np.vstack([kinds, ancestor ^ (rng.random((20, 180)) < 0.02)])
    haplotypes = kinds[rng.choice(100, 2000, p=rng.dirichlet(np.full(100, 0.7)))]
    counts = haplotypes[::2] + 1 * haplotypes[1::2]
    assert len(np.unique(counts, axis=0)) < 900
    assert mean_leakage(table_of(counts), structure="diagonal").cautions == ()
    parts = counts[:500], counts[500:]
    varied = np.logical_and(*(np.ptp(part, axis=0) > 0 for part in parts))
    table, panel = (table_of(part[:, varied]) for part in parts)
    assert mean_leakage(table, panel=panel, structure="diagonal").cautions == ()


@pytest.mark.parametrize("sites", [120, 1000])
def test_a_person_with_two_rows_that_differ_a_little_is_noticed(sites):
    """Wherever the rows stand: 30 of 600 people are genotyped once more, with 1 % of errors."""
    rng = np.random.default_rng(sites)
    counts = rng.binomial(2, rng.uniform(0.05, 0.5, sites), (600, sites))
    twice = rng.permutation(np.vstack([counts, regenotyped(counts[:30], rng)]))
    (caution,) = mean_leakage(table_of(twice), structure="diagonal").cautions
    assert caution.startswith("30 rows agree with another row in nearly all sites")
    few = np.vstack([counts, regenotyped(counts[:2], rng)])
    assert mean_leakage(table_of(few), structure="diagonal").cautions == ()


def test_siblings_are_reported_beside_the_answer(tmp_path, capsys):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.5, 1500)
    counts = np.vstack([siblings(20, p, rng), rng.binomial(2, p, (160, p.size))])
    report = mean_leakage(table_of(counts))
    assert report.cautions == ()
    assert any("rows 20 pairs seem to be parents and children" in x for x in report.warnings)
    np.save(tmp_path / "t.npy", counts)
    assert main(["mean", str(tmp_path / "t.npy"), "--max-leakage", "1"]) == 0
    first = capsys.readouterr().out.partition("\nLeakage")[0]
    assert "20 pairs seem to be parents" in " ".join(first.split())


def test_a_panel_with_people_of_the_table_is_noticed():
    """By rows that agree nearly, and of frequencies by means that are too near."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.05, 0.5, 600)
    counts, others = rng.binomial(2, p, (300, p.size)), rng.binomial(2, p, (300, p.size))
    table = table_of(counts)

    def cautions(panel):
        return " ".join(mean_leakage(table, panel=table_of(panel), structure="diagonal").cautions)

    assert cautions(others) == ""
    again = np.vstack([regenotyped(counts[:20], rng), others])
    assert cautions(again).startswith("20 of 300 rows equal a row of the panel in nearly all col")


def test_frequencies_that_include_the_table_are_noticed(tmp_path):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.5, 600)
    counts, others = rng.binomial(2, p, (300, p.size)), rng.binomial(2, p, (300, p.size))
    names = [f"rs{k}_A" for k in range(p.size)]
    lines = [" ".join(["FID IID PAT MAT SEX PHENOTYPE", *names])]
    lines += [f"p{k} p{k} 0 0 0 -9 {' '.join(map(str, each))}" for k, each in enumerate(counts)]
    (tmp_path / "t.raw").write_text("\n".join(lines) + "\n")
    for rows, said in ((others, False), (np.vstack([counts, others]), True)):
        share = rows.mean(axis=0) / 2
        lines = ["#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT"]
        lines += [f"1\trs{k}\tG\tA\t{q:.6g}\t{2 * len(rows)}" for k, q in enumerate(share)]
        (tmp_path / "p.afreq").write_text("\n".join(lines) + "\n")
        report = mean_leakage(tmp_path / "t.raw", panel=tmp_path / "p.afreq")
        assert any("seems to include people of the table" in x for x in report.cautions) == said


def test_an_allele_that_one_row_has_is_named_beside_its_leakage_of_one():
    """By its frequency in the population, the leakage is far below 1; a panel states that."""
    rng = np.random.default_rng(2)
    p = np.exp(rng.uniform(np.log(1 / 2000), np.log(0.5), 100))
    counts = rng.binomial(2, p, (300, 100))
    report = mean_leakage(table_of(counts))
    alone = np.flatnonzero(np.isinf(report.scores))
    lone = (
        np.sort(np.array([(counts == k).sum(axis=0) for k in range(3)]), axis=0)[-1] == 299
    ).sum()
    assert report.highest == 1.0
    assert 0 < alone.size < 30
    words = f"Rows with an allele that no other of 300 rows has: {alone.size}, at {lone} of the"
    assert report.warnings[0].startswith(words)
    assert words in " ".join(str(report).partition("\nLeakage")[0].split())
    truth = [exact_mean_tradeoff(counts[k], Genotype(p), 300).advantage for k in alone[:3]]
    assert max(truth) < 0.8
    panel = rng.binomial(2, p, (3000, 100))
    varied = np.ptp(panel, axis=0) > 0
    beside = mean_leakage(table_of(counts[:, varied]), panel=table_of(panel[:, varied]))
    assert beside.highest < 1.0
    assert "no other of" not in " ".join(beside.warnings)
    register = np.vstack([counts, rng.binomial(2, p, (60, 100))])
    known = mean_leakage(table_of(counts), population=table_of(register))
    assert "no other of" not in " ".join(known.warnings)


def test_dosages_and_standardised_genotypes_with_a_row_for_each_site_are_noticed():
    rng = np.random.default_rng(4)
    counts = rng.binomial(2, rng.uniform(0.05, 0.95, 240), (150, 240))
    dosages = np.clip(counts + rng.normal(0.0, 0.05, counts.shape), 0.0, 2.0).round(3)
    standard = ((counts - counts.mean(axis=0)) / counts.std(axis=0)).round(4)
    for rows, words, centred in (
        (dosages, "The 240 rows differ as sites do", False),
        (standard, "Each of the 240 rows has the mean 0 and the standard deviation 1", True),
    ):
        (caution,) = mean_leakage(dict(enumerate(rows))).cautions
        assert caution.startswith(words)
        cautions = mean_leakage(dict(enumerate(rows.T))).cautions
        assert len(cautions) == centred
        assert all("columns have the mean 0 over these rows" in each for each in cautions)


def test_genotypes_of_which_none_is_heterozygous_are_noticed():
    """Calls of one chromosome that a program wrote as two copies of it."""
    rng = np.random.default_rng(5)
    bits = rng.binomial(1, rng.uniform(0.1, 0.9, 30), (100, 30))
    (caution,) = mean_leakage(table_of(2 * bits)).cautions
    assert caution.startswith("All values of the 30 columns are 0 and 2: of genotypes, none is het")
    one = 2 * bits
    one[7, 3] = 1
    assert mean_leakage(table_of(one)).cautions == ()


def test_rows_left_out_for_missing_genotypes_are_a_caution_above_a_tenth():
    """Of 1 % missing genotypes at 240 sites nine of ten people miss one, and 23 leak far more."""
    rng = np.random.default_rng(6)
    counts = rng.binomial(2, rng.uniform(0.2, 0.5, 240), (200, 240)).astype(float)
    truth = mean_leakage(dict(enumerate(counts.T))).average
    rows, sites = rng.integers(200, size=480), rng.integers(240, size=480)
    missing = counts.copy()
    missing[rows, sites] = np.nan
    left = np.setdiff1d(np.arange(200), rows).size
    with pytest.raises(ValueError, match=f"columns; {200 - left} of 200 rows miss a value"):
        mean_leakage(dict(enumerate(missing.T)))
    report = mean_leakage(dict(enumerate(missing.T)), na="drop")
    assert report.average > 2.0 * truth
    assert report.cautions[0].startswith(f"{200 - left} of 200 rows are left out")
    for people, is_large in ((20, False), (21, True)):
        few = counts.copy()
        few[:people, 0] = np.nan
        assert len(mean_leakage(dict(enumerate(few.T)), na="drop").cautions) == is_large


def test_names_and_codes_of_biobanks_are_known():
    """Numbers of persons, -3 for no answer, and scores by plink2 --score, which are no means."""
    rng = np.random.default_rng(7)
    age, score = rng.integers(40, 70, 300), rng.normal(size=300)
    numbers = rng.choice(5_000_000, 300, replace=False)
    for name in ("eid", "f.eid", "IID", "FID", "sample", "sampleID", "studyid", "mrn", "barcode"):
        report = mean_leakage({name: numbers, "age": age})
        assert report.identifiers == (name,)
        assert any("Exclude what is a number of the row" in x for x in report.warnings)
    assert mean_leakage({"paid": numbers, "age": age}).identifiers == ()
    answers = rng.choice([-3, 0, 1, 2], 300, p=[0.05, 0.5, 0.3, 0.15])
    (caution,) = mean_leakage({"smoke": answers, "age": age}).cautions
    assert caution.startswith("-3 is counted as a value like any other")
    contrast = rng.choice([-3, -1, 1, 3], 300)
    assert mean_leakage({"contrast": contrast, "age": age}).cautions == ()
    named = {"#IID": [f"P{k}" for k in range(300)], "SCORE1_AVG": score}
    assert mean_leakage(named).cautions == ()
    (caution,) = mean_leakage({"ward": [f"W{k}" for k in range(300)], "bmi_avg": score}).cautions
    assert "seems to hold means of the groups" in caution


@pytest.mark.parametrize("population", ["AFR", "EUR", "SAS"])
def test_frequencies_of_the_rarer_allele_beside_counts_of_the_other_are_refused(population):
    """For 40 targets; other people of the population, and of each other one, are taken."""
    of = DATA.columns["superpopulation"]
    counts = DATA.counts[of == population].astype(float)
    p = counts[40:].mean(axis=0) / 2
    varied = (p > 0.02) & (p < 0.98)
    p = p[varied]
    rarer = np.minimum(p, 1 - p)
    with pytest.raises(ValueError, match=r"the allele of mean in each column;.*MAF"):
        mean_tradeoff(counts[:40][:, varied], 2 * rarer, 2 * rarer * (1 - rarer), 500)
    folded = np.where(p > 0.5, 2 - counts[:40][:, varied], counts[:40][:, varied])
    mean_tradeoff(folded, 2 * rarer, 2 * rarer * (1 - rarer), 500)
    for other in set(of):
        targets = DATA.counts[of == other][:40, varied].astype(float)
        mean_tradeoff(targets, 2 * p, 2 * p * (1 - p), 500)


def test_a_row_for_each_person_and_site_is_noticed():
    counts = DATA.counts[:40, :20]
    people, sites = np.repeat(np.arange(40), 20), np.tile(np.arange(20), 40)
    long = {"name": [f"P{k}" for k in people], "at": [f"s{k}" for k in sites]}
    long["gt"] = counts[people, sites]
    (caution,) = mean_leakage(long).cautions
    assert caution.startswith("Each combination of the values of column 'name', 'at' has one row")
    few = {"sample": long["name"][:-3], "at": long["at"][:-3], "x": long["gt"][:-3]}
    (caution,) = mean_leakage(few).cautions
    assert caution.startswith("Column 'sample' has 40 values in 797 rows")


def test_sites_of_an_array_with_names_of_several_kinds_are_its_sites(tmp_path):
    names = [*DATA.snps[:20], *(f"AX-{k}" for k in range(8))]
    head = " ".join(["FID IID PAT MAT SEX PHENOTYPE", *(f"{name}_A" for name in names)])
    lines = [f"p{k} p{k} 0 0 0 -9 " + " ".join(map(str, DATA.counts[k, :28])) for k in range(90)]
    (tmp_path / "t.raw").write_text("\n".join([head, *lines]) + "\n")
    assert mean_leakage(tmp_path / "t.raw").cautions == ()


def test_numbers_of_genotypes_of_each_probe_set_are_no_persons():
    rng = np.random.default_rng(8)
    table = {"probeset_id": [f"AX-{k}" for k in range(60)]}
    table |= {name: rng.integers(0, 90, 60) for name in ("AA", "AB", "BB")}
    (caution,) = mean_leakage(table).cautions
    assert caution.startswith("The rows seem to be genes or probes, by column 'probeset_id'")


def test_mean_counts_in_place_of_frequencies_are_refused():
    """For people drawn by half of them; those drawn by the frequencies are answered."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.49, 300)
    people = rng.binomial(2, p, (40, 300))
    for target in people:
        with pytest.raises(ValueError, match=r"p must be frequencies .* p / 2 is more likely"):
            exact_mean_tradeoff(target, Genotype(2 * p), n=500)
    for target in people[:4]:
        assert exact_mean_tradeoff(target, Genotype(p), n=500).advantage < 0.5
    for counts in (DATA.counts, mosaics(40, 200, rng), divided(40, 300, rng, mixed=False)):
        q = counts.mean(axis=0) / 2
        law = Genotype(q)
        for target in counts[:40]:
            assert np.isfinite(law.log_likelihood_ratio(2 * q, target, len(counts))).any()


def test_genotypes_of_selfing_plants_have_no_exact_law():
    """With an inbreeding coefficient of 0.9; ordinary cohorts are in Hardy-Weinberg proportions."""
    rng = np.random.default_rng(31)
    p = rng.uniform(0.1, 0.5, 80)
    first, second = (rng.random((500, 80)) < p for _ in range(2))
    plants = first + 1 * np.where(rng.random((500, 80)) < 0.9, first, second)
    score = np.max((plants - 2 * p) ** 2 @ (1 / (2 * p * (1 - p) * 1.9))) / 500
    report = mean_leakage(table_of(plants), structure="diagonal")
    truth = special.erf(np.sqrt(score / 8))
    assert report.highest == pytest.approx(truth, rel=0.1)
    exact = report.exact_rows(1)
    assert exact.rows[0]["leakage"] > 1.25 * truth
    (caution,) = exact.cautions
    assert "times the variance of Hardy-Weinberg proportions" in caution
    assert caution.partition(" times")[0].endswith(("1.88", "1.89", "1.90", "1.91", "1.92"))
    law = Chain.fit(plants, ploidy=2)
    assert any("Hardy-Weinberg" in doubt for doubt in law.fitted.warnings)
    for name, counts in cohorts():
        assert hardy_weinberg_ratio(counts) is None, name
    assert Chain.fit(DATA.counts[:400, :40], ploidy=2).fitted.variance_ratio is None


@pytest.mark.parametrize("people", [20, 40, 300])
def test_frequencies_of_shared_people_show_by_few_genotypes(people):
    """Of 200 people among 300, linked or not; of other people they are as far as chance says."""
    rng = np.random.default_rng(32)
    p = rng.uniform(0.1, 0.9, 300)
    for counts in (rng.binomial(2, p, (900, 300)), mosaics(900, 300, rng)):
        counts = counts[:, counts[:600].std(axis=0) > 0.0]
        variance, known = counts.var(axis=0), counts[600 : 600 + people]
        for panel, shared in ((counts[:300], True), (counts[300:600], False)):
            gap = counts[:200].mean(axis=0) - panel.mean(axis=0)
            distances = gap**2 / (variance * (1 / 200 + 1 / 300))
            assert are_too_near(distances, panel.mean(axis=0) / 2, known) == shared


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("G6PD", ["WT", "HET", "HOM"]),
        ("site", ["hom_ref", "het", "hom_alt"]),
        ("site", ["Homozygous 1/1", "Heterozygous 1/2", "Homozygous 2/2"]),
        ("site", ["wt/wt", "wt/mut", "mut/mut"]),
        ("site", ["-/-", "+/-", "+/+"]),
        ("site", ["A:A", "A:G", "G:G"]),
        ("D3S1358", ["17/17", "17/18", "18/18", "15/17"]),
        ("CYP2D6", ["*1/*1", "*1/*2", "*2/*2"]),
        ("blood", ["MM", "Mm", "mm"]),
        ("rs429358", ["Allele 1", "Both", "Allele 2"]),
    ],
)
def test_genotypes_in_any_words_are_cautioned(name, words):
    report = mean_leakage({name: words * 20, "age": list(range(20 * len(words)))})
    (caution,) = report.cautions
    assert caution.startswith(f"Genotypes are text in column {name!r}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("side", ["left", "right", "both"]),
        ("site", ["East", "West", "South"]),
        ("rs429358", ["carrier", "none"]),
        ("season", ["2019/20", "2020/21", "2021/22"]),
        ("sex", ["m", "f", "x"]),
        ("orientation", ["heterosexual", "homosexual", "other"]),
    ],
)
def test_other_words_are_no_genotypes(name, words):
    assert not mean_leakage({name: words * 20, "age": list(range(20 * len(words)))}).cautions


@pytest.mark.parametrize("people", [100, 127, 200, 1000])
def test_chromosomes_in_place_of_people_are_warned_of(people):
    """Also for numbers of people whose frequencies have few decimals, as rounded ones do."""
    rng = np.random.default_rng(35)
    counts = rng.binomial(2, rng.uniform(0.1, 0.9, 300), (people, 300))
    q = counts.mean(axis=0) / 2
    variance = 2 * q * (1 - q)
    with pytest.warns(UserWarning, match=f"twice the {people:,} persons"):
        mean_tradeoff(counts[0], 2 * q, variance, 2 * people)
    mean_tradeoff(counts[0], 2 * q, variance, people)
    mean_tradeoff(counts[0], 2 * np.round(q, 2), variance, 4 * people)


def test_the_covariance_of_fewer_rows_than_columns_is_refused():
    """By it every row of the table has the score (n - 1)^2/n^2, whatever it holds."""
    rng = np.random.default_rng(36)
    counts = rng.binomial(2, rng.uniform(0.1, 0.9, 150), (60, 150)).astype(float)
    mean, n = counts.mean(axis=0), 60
    for call in (mean_tradeoff, gaussian_mean_tradeoff, leakage_score):
        with pytest.raises(ValueError, match="cov must be that of the population; its rank is"):
            call(counts[0], mean, np.cov(counts.T), n)
    assert mean_tradeoff(counts[0], mean, counts.var(axis=0), n).advantage > 0.5
    shares = np.array([0.1, 0.3, 0.6])
    singular = np.diag(shares) - np.outer(shares, shares)
    assert leakage_score(np.eye(3)[0], shares, singular, 10) == pytest.approx(0.9)


@pytest.mark.parametrize("people", [10, 20, 1000])
def test_the_cohort_in_a_panel_shows_where_populations_differ_or_people_are_few(people):
    """Sites chosen to tell ancestries apart seem linked; of 20 people no linkage is known."""
    rng = np.random.default_rng(37)
    everyone = DATA.counts[rng.permutation(len(DATA.counts))]
    cohort = everyone[:people]
    for panel, shared in ((everyone[: 2 * people], True), (everyone[people : 2 * people], False)):
        cautions = mean_leakage(cohort, panel=panel, unmatched="omit").cautions
        said = f"{people:,} of {people:,} rows equal a row of the panel"
        assert any(each.startswith(said) for each in cautions) == shared


def test_people_alike_at_the_sites_of_one_gene_are_not_taken_for_one_person():
    """Four haplotypes: most people equal another, in the panel as often as across."""
    rng = np.random.default_rng(38)
    kinds = rng.random((4, 60)) < 0.5
    people = kinds[rng.integers(4, size=(400, 2))].sum(axis=1).astype(float)
    assert not any(
        "rows equal a row" in each
        for each in mean_leakage(people[:200], panel=people[200:], unmatched="omit").cautions
    )


def test_rows_of_a_mean_are_genotypes_again():
    """A row that is computed back from its influence is whole, as the target of a curve must be."""
    influence = mean_influence(DATA.counts[:1000].astype(float))
    for row in range(0, 1000, 50):
        assert 0.0 < influence.tradeoff(row).advantage < 1.0


def test_a_singular_covariance_of_the_rows_plans_no_release():
    rng = np.random.default_rng(39)
    counts = rng.binomial(2, 0.3, (60, 150)).astype(float)
    mean, variance = counts.mean(axis=0), counts.var(axis=0)
    with pytest.raises(ValueError, match=r"cov must be that of the population; its rank is n - 1"):
        samples_for_leakage(counts[0], mean, np.cov(counts.T), 0.1)
    assert samples_for_leakage(counts[0], mean, variance, 0.1) > 1500


def test_differences_with_a_mean_of_their_own_are_not_taken_for_centred():
    """Residuals of other people, and a balanced column of -1 and 1."""
    rng = np.random.default_rng(40)
    rows = rng.normal(size=(400, 6))
    rows[:, 5] = np.repeat([-1.0, 1.0], 200)
    assert not mean_leakage(rows).cautions
