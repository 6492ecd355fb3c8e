"""The tables that ship: the numbers their publishers print, their sizes, and that none is shared.

Truth: ``adult.names`` of the UCI repository (rows with and without unknown values), counts printed
in the literature on Adult, the sample list of the 1000 Genomes Project, and the allele counts and
frequencies that the project wrote into the INFO field of its VCF.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from importlib import resources

import numpy as np
import pytest

from mialeak.datasets import Dataset, Genotypes, load_adult, load_genotypes

FILES = resources.files("mialeak.datasets")
LOADERS = [load_adult, load_genotypes]
QUASI_IDENTIFIERS = ["age", "education", "marital_status", "race", "sex"]

ADULT_CATEGORIES = {
    "age": 73,
    "workclass": 9,
    "education": 16,
    "marital_status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "hours_per_week": 94,
    "native_country": 42,
    "income": 2,
}
ADULT_COUNTS = [
    ("income", "<=50K", 24720),
    ("income", ">50K", 7841),
    ("sex", "Male", 21790),
    ("sex", "Female", 10771),
    ("race", "White", 27816),
    ("education", "HS-grad", 10501),
    ("education", "Preschool", 51),
    ("native_country", "United-States", 29170),
    ("workclass", "?", 1836),
    ("occupation", "?", 1843),
    ("native_country", "?", 583),
]

SUPERPOPULATIONS = {"AFR": 661, "AMR": 347, "EAS": 504, "EUR": 503, "SAS": 489}
#: SNP: chromosome, position, reference, alternate, alternate alleles in all, frequency by the
#: project in EAS, AMR, AFR, EUR, SAS (four decimals).
PUBLISHED_SNPS = {
    "rs731257": (7, 12669251, "G", "A", 944, (0.3472, 0.3934, 0.0174, 0.1541, 0.1462)),
    "rs2946788": (11, 24010530, "G", "T", 2408, (0.3383, 0.7421, 0.1399, 0.7247, 0.6524)),
    "rs3793451": (9, 71659280, "C", "T", 605, (0.249, 0.2118, 0.0492, 0.0507, 0.093)),
}


@pytest.mark.parametrize("load", LOADERS)
def test_a_dataset_says_where_it_comes_from_and_on_what_terms(load):
    dataset = load()
    assert isinstance(dataset, Dataset)
    assert dataset.source.startswith("https://")
    assert dataset.citation.count("https://doi.org/") == 1
    for fact in (dataset.citation.split("https://doi.org/")[1], "- Licence: ", "- Source: "):
        assert fact in dataset.description
    assert str(dataset.n_rows) in repr(dataset)


@pytest.mark.parametrize("load", LOADERS)
def test_every_column_has_every_row_and_no_missing_value(load):
    dataset = load()
    for name, column in dataset.columns.items():
        assert column.shape == (dataset.n_rows,), name
        assert column.dtype.kind in "iU", name
        assert column.dtype.kind == "i" or np.char.str_len(column).min() > 0, name


@pytest.mark.parametrize("load", LOADERS)
def test_every_load_makes_new_arrays(load):
    first, second = load(), load()
    for name in first.columns:
        assert not np.shares_memory(first.columns[name], second.columns[name])
        first.columns[name][:] = first.columns[name][0]
        assert len(np.unique(second.columns[name])) > 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.columns = {}


@pytest.mark.parametrize(("name", "limit"), [("adult", 400_000), ("genotypes", 150_000)])
def test_the_files_are_small_and_hold_no_pickle(name, limit):
    assert len((FILES / f"{name}.npz").read_bytes()) < limit
    with np.load(FILES / f"{name}.npz", allow_pickle=False) as archive:
        assert all(archive[key].dtype.kind in "iuU" for key in archive)


def test_adult_has_the_published_rows_and_categories():
    adult = load_adult()
    assert adult.n_rows == 32561
    assert {name: len(np.unique(column)) for name, column in adult.columns.items()} == (
        ADULT_CATEGORIES
    )


@pytest.mark.parametrize(("column", "category", "count"), ADULT_COUNTS)
def test_adult_has_the_published_counts(column, category, count):
    assert np.count_nonzero(load_adult().columns[column] == category) == count


def test_adult_keeps_unknown_as_a_category_and_its_rows():
    columns = load_adult().columns.values()
    unknown = np.any([column == "?" for column in columns if column.dtype.kind == "U"], axis=0)
    assert np.count_nonzero(~unknown) == 30162  # adult.names: "if instances with unknown removed"


def test_adult_numbers_are_whole_years_and_hours():
    columns = load_adult().columns
    for name, low, high in [("age", 17, 90), ("hours_per_week", 1, 99)]:
        assert columns[name].dtype == np.int64
        assert (columns[name].min(), columns[name].max()) == (low, high)


def test_adult_quasi_identifiers_have_6493_cells():
    columns = load_adult().columns
    assert len(Counter(zip(*(columns[name] for name in QUASI_IDENTIFIERS), strict=True))) == 6493


def test_adult_begins_and_ends_as_the_source_does():
    columns = load_adult().columns
    assert [column[0] for column in columns.values()] == [
        39, "State-gov", "Bachelors", "Never-married", "Adm-clerical", "Not-in-family", "White",
        "Male", 40, "United-States", "<=50K",
    ]  # fmt: skip
    assert [columns[name][-1] for name in [*QUASI_IDENTIFIERS, "income"]] == [
        52, "HS-grad", "Married-civ-spouse", "White", "Female", ">50K",
    ]  # fmt: skip


def test_genotypes_have_the_projects_people():
    genotypes = load_genotypes()
    columns = genotypes.columns
    assert genotypes.n_rows == 2504
    assert len(np.unique(columns["sample"])) == 2504
    assert Counter(columns["superpopulation"].tolist()) == SUPERPOPULATIONS
    assert Counter(columns["sex"].tolist()) == {"female": 1271, "male": 1233}
    populations = Counter(columns["population"].tolist())
    assert len(populations) == 26
    assert (populations["GBR"], populations["YRI"], populations["JPT"]) == (91, 108, 104)
    pairs = set(zip(columns["population"], columns["superpopulation"], strict=True))
    assert len(pairs) == 26  # each population lies in one superpopulation


def test_genotypes_are_counts_of_127_snps_with_none_missing():
    genotypes = load_genotypes()
    assert isinstance(genotypes, Genotypes)
    assert genotypes.counts.shape == (2504, 127)
    assert genotypes.counts.dtype == np.int8
    assert np.unique(genotypes.counts).tolist() == [0, 1, 2]
    assert len(np.unique(genotypes.snps)) == 127
    assert all(re.fullmatch(r"rs\d+", snp) for snp in genotypes.snps)


def test_snps_lie_on_22_chromosomes_in_order_with_two_different_alleles():
    genotypes = load_genotypes()
    places = list(zip(genotypes.chromosomes, genotypes.positions, strict=True))
    assert places == sorted(places)
    assert set(genotypes.chromosomes.tolist()) == set(range(1, 23))
    alleles = {*genotypes.reference_alleles, *genotypes.alternate_alleles}
    assert alleles == {"A", "C", "G", "T"}
    assert np.all(genotypes.reference_alleles != genotypes.alternate_alleles)


@pytest.mark.parametrize("snp", PUBLISHED_SNPS)
def test_allele_counts_are_those_the_project_published(snp):
    genotypes = load_genotypes()
    chromosome, position, reference, alternate, total, frequencies = PUBLISHED_SNPS[snp]
    (j,) = np.flatnonzero(genotypes.snps == snp)
    assert (genotypes.chromosomes[j], genotypes.positions[j]) == (chromosome, position)
    assert genotypes.reference_alleles[j] == reference
    assert genotypes.alternate_alleles[j] == alternate
    counts = genotypes.counts[:, j]
    assert counts.sum() == total
    for group, frequency in zip(["EAS", "AMR", "AFR", "EUR", "SAS"], frequencies, strict=True):
        people = genotypes.columns["superpopulation"] == group
        assert round(float(counts[people].mean() / 2), 4) == frequency
