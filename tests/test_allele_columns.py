"""Columns of alleles of persons: bytes of missing ones, names of alleles, and their order."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak import mean_leakage, table_leakage


@pytest.mark.parametrize("form", ["{}_{}", "{}{}", "{}.{}", "locus {}/{}"])
@pytest.mark.parametrize("field", ["{0}*{1:02}:01", "HLA-{0}*{1:02}:01:02", "{0}*{1:02}"])
def test_names_of_hla_alleles_show_in_columns_of_any_name(form, field):
    rng = np.random.default_rng(1)
    columns = {
        form.format(gene, k): [field.format(gene, each) for each in rng.integers(1, 8, 300)]
        for gene in "ABC"
        for k in (1, 2)
    }
    (caution,) = mean_leakage(columns).cautions
    assert "and 3 more seem to hold alleles of a microsatellite or of an HLA gene" in caution
    times = [f"{hour:02}:30" for hour in rng.integers(8, 12, 300)]
    assert mean_leakage({"start": times, "age": rng.integers(20, 90, 300)}).cautions == ()


@pytest.mark.parametrize("names", [("rs{}", "rs{}.1"), ("rs{}_1", "rs{}_2"), ("s{}", "s{} (2)")])
@pytest.mark.parametrize("alleles", [(1, 2), ("A", "G")])
def test_heterozygous_genotypes_of_a_fixed_order_are_two_alleles(names, alleles):
    """As PLINK writes them, so that of some sites the first column is constant."""
    rng = np.random.default_rng(33)
    counts = rng.binomial(2, rng.uniform(0.03, 0.5, 20), (300, 20))
    pairs = {}
    for k, each in enumerate(counts.T):
        pairs[names[0].format(110 + k)] = np.where(each == 2, *alleles[::-1])
        pairs[names[1].format(110 + k)] = np.where(each >= 1, *alleles[::-1])
    (caution,) = mean_leakage(pairs).cautions
    assert "and 19 pairs more, seem to be the two alleles of a person at one site" in caution


def test_nested_answers_and_steps_are_no_alleles():
    rng = np.random.default_rng(2)
    for k in range(40):
        score = rng.normal(size=(300, 1)) + rng.normal(size=(300, 20)) * (k % 3)
        ever = rng.random((300, 10)) < rng.uniform(0.1, 0.9, 10)
        now = ever & (rng.random((300, 10)) < rng.uniform(0.3, 0.9))
        steps = score[:, :1] > np.linspace(-1.0, 1.0, 20)
        for table in (np.stack([now, ever], axis=2).reshape(300, 20), score > 0.0, steps):
            columns = {f"q{k}": each for k, each in enumerate(table.T.astype(int))}
            assert not any("two alleles" in each for each in mean_leakage(columns).cautions)


@pytest.mark.parametrize("sites", [1, 2, 5, 8])
@pytest.mark.parametrize("code", [255, 127, -127, -128])
def test_bytes_of_missing_genotypes_are_noticed_at_any_number_of_sites(sites, code):
    rng = np.random.default_rng(sites)
    counts = rng.binomial(2, rng.uniform(0.2, 0.5, sites), (500, sites))
    assert mean_leakage(counts).cautions == ()
    coded = np.where(rng.random(counts.shape) < 0.03, code, counts)
    (caution,) = mean_leakage(coded).cautions
    assert caution.startswith(f"{code} is counted as a value like any other, in")


def test_percentages_and_one_large_count_are_no_bytes_of_missing_genotypes():
    rng = np.random.default_rng(1)
    counts = rng.binomial(2, 0.4, 500)
    large = np.where(np.arange(500) == 3, 120, counts)
    for column in (rng.choice([0, 100], 500), rng.choice([0, 50, 100], 500), large):
        assert mean_leakage({"x": column, "y": counts}).cautions == ()


def test_probabilities_of_a_persons_genotypes_are_no_frequencies():
    rng = np.random.default_rng(8)
    columns = {}
    for k in range(12):
        each = rng.dirichlet([8.0, 1.0, 1.0] if k % 2 else [1.0, 3.0, 6.0], 200).round(3)
        columns |= {f"rs{k}_{name}": each[:, j] for j, name in enumerate(("AA", "AG", "GG"))}
    assert not any("frequencies" in each for each in mean_leakage(columns).cautions)
    alone = {name: each for name, each in columns.items() if name.endswith("AA")}
    assert any("frequencies" in each for each in mean_leakage(alone).cautions)


@pytest.mark.parametrize("name", ["rs", "snp", "marker", "gene"])
@pytest.mark.parametrize(
    "values", [("AA", "AG", "GG"), ("A/A", "A/G", "G/G"), ("0/0", "0/1", "1/1"), (0, 1, 2)]
)
def test_the_genotypes_of_one_site_are_categories_of_persons(name, values):
    """A column that lists sites is called so as well; each person has a row for each of these."""
    table = {"status": ["case"] * 3 + ["control"] * 3, name: [*values, *values]}
    table["n"] = [31, 52, 17, 40, 43, 12]
    assert table_leakage(table, counts="n").cautions == ()
    for sites in (("rs123", "rs456", "rs789"), ("AA", "CC", "GT"), (1, 2, 3)):
        (caution,) = table_leakage(table | {name: [*sites, *sites]}, counts="n").cautions
        assert f"Column '{name}' has the name of one that lists variables" in caution
    del table[name]
    (caution,) = table_leakage(table | {"item": [0, 1, 2] * 2}, counts="n").cautions
    assert "lists variables" in caution
