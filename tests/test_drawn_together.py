"""Families whose members are drawn together, by names and columns left out; their leakage."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage

bed_reader = pytest.importorskip("bed_reader")


def siblings(size, seed=22, families=70, sites=50):
    """Genotypes of unlinked sites of siblings, `size` in each family."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.5, sites)
    parents = rng.binomial(2, p, (2, families, sites))
    passed = rng.binomial(1, np.repeat(parents, size, axis=1) / 2.0)
    return passed.sum(axis=0)


def frame(genotypes, **columns):
    named = {f"rs{k}": each for k, each in enumerate(genotypes.T)}
    return pd.DataFrame({**columns, **named})


@pytest.mark.parametrize(
    "name", ["FAM{:03}-{}", "TW{}_{}", "FAM{:03}-{}-proband", "{1}.{0:04}", "K{:03}{}"]
)
@pytest.mark.parametrize("size", [2, 3])
def test_siblings_show_by_their_names(name, size):
    genotypes = siblings(size)
    sample = [name.format(k // size, "abc"[k % size]) for k in range(len(genotypes))]
    (caution,) = mean_leakage(frame(genotypes, sample=sample)).cautions
    assert caution.startswith("Rows whose names in column 'sample' agree in a part")
    stated = float(re.search(r"about ([\d.]+) times", caution)[1])
    assert stated == pytest.approx(math.sqrt((size + 1) / 2), rel=0.06)
    first = frame(genotypes[::size], sample=sample[::size])
    assert mean_leakage(first).cautions == ()


def test_siblings_of_a_csv_show_too(tmp_path):
    genotypes = siblings(3)
    sample = [f"F{k // 3:03}.{k}" for k in range(len(genotypes))]
    frame(genotypes, sample=sample).to_csv(tmp_path / "f.csv", index=False)
    (caution,) = mean_leakage(tmp_path / "f.csv").cautions
    assert "have a correlation of 0.4" in caution


def test_the_score_of_siblings_is_larger_by_the_factor_that_is_stated():
    """What a member of a family shifts the sum by, against the variance of that of families."""
    rng, size = np.random.default_rng(1), 3
    parents = rng.binomial(2, 0.3, (2, 200_000, 1))
    genotypes = rng.binomial(1, np.repeat(parents, size, axis=2) / 2.0).sum(axis=0)
    total, one = genotypes.sum(axis=1), genotypes[:, 0]
    shift = np.cov(total, one)[0, 1] / one.var()  # 1 of a person who is drawn alone
    variance = total.var() / (size * one.var())  # so is this
    assert shift**2 / variance == pytest.approx((size + 1) / 2, rel=0.02)


def written(folder, **properties):
    genotypes = siblings(3)
    rows, sites = genotypes.shape
    of_sites = {"chromosome": ["1"] * sites, "sid": [f"rs{k}" for k in range(sites)]}
    of_sites |= {"allele_1": ["A"] * sites, "allele_2": ["G"] * sites}
    of_sites["bp_position"] = [10_000 * (k + 1) for k in range(sites)]
    properties = {"iid": [f"I{k:03}" for k in range(rows)], **of_sites, **properties}
    bed_reader.to_bed(folder / "f.bed", genotypes.astype(float), properties=properties)
    return mean_leakage(folder / "f.bed").cautions


def test_families_of_plink_have_a_caution(tmp_path):
    family, alone = [f"F{k // 3}" for k in range(210)], [f"I{k:03}" for k in range(210)]
    parents = [f"P{k // 3}" for k in range(210)]
    for properties in ({"fid": family}, {"fid": alone, "father": parents, "mother": parents}):
        (caution,) = written(tmp_path, **properties)
        assert caution.startswith("210 of 210 people share a family (FID) or a parent")
    populations = [f"POP{k % 5}" for k in range(210)]
    for fid in (alone, populations, ["0"] * 210):
        assert written(tmp_path, fid=fid) == ()


def households(correlation):
    rng = np.random.default_rng(131)
    shared = np.repeat(rng.normal(0.0, 1.0, (100, 4)), 4, axis=0)
    own = rng.normal(0.0, 1.0, (400, 4))
    values = math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * own
    columns = dict(zip(["age", "bmi", "sbp", "chol"], values.round(2).T, strict=True))
    return pd.DataFrame(columns).assign(household_id=np.arange(400) // 4)


def test_households_that_are_left_out_have_a_caution_if_they_are_alike():
    (caution,) = mean_leakage(households(0.74), exclude=["household_id"]).cautions
    assert "'household_id', which is left out, have a correlation of 0.7" in caution
    assert "about 1.8 times as large" in caution
    assert mean_leakage(households(0.0), exclude=["household_id"]).cautions == ()


def test_people_who_are_drawn_alone_have_none():
    rng = np.random.default_rng(7)
    for k in range(20):
        people, sites = int(rng.integers(60, 400)), int(rng.integers(20, 120))
        of_site = rng.uniform(0.05, 0.95, sites)
        p = rng.beta(of_site * 9.0, (1.0 - of_site) * 9.0, (25, sites)).clip(0.01, 0.99)
        population = rng.integers(0, 25, people)
        genotypes = rng.binomial(2, p[population])
        forms = [f"POP{population[k]}_{k:04}" for k in range(people)]
        centres = [f"{rng.integers(30):02}-{k:04}" for k in range(people)]
        for sample in (forms, centres, [f"{k // 3:03}_{k}" for k in range(people)]):
            assert mean_leakage(frame(genotypes, sample=sample)).cautions == (), k
