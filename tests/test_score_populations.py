"""Scores by the frequencies of another population are warned of, those of linked sites are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak.datasets import load_genotypes
from mialeak.scores import bernoulli_score, genotype_score

TABLE = load_genotypes()
COUNTS = TABLE.counts.astype(float)
CONTINENT, POPULATION = (np.array(TABLE.columns[k]) for k in ("superpopulation", "population"))
BRITISH, OTHERS = COUNTS[POPULATION == "GBR"], COUNTS[POPULATION == "CEU"]


def frequencies(rows):
    return (rows.sum(axis=0) + 0.5) / (2 * len(rows) + 1)


def said(score, *arguments):
    """The warnings."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        score(*arguments)
    return " ".join(str(each.message) for each in met)


@pytest.mark.parametrize("continent", ["AFR", "AMR", "EAS", "SAS"])
def test_people_of_the_population_of_the_release_seem_to_be_in_it(continent):
    p = frequencies(COUNTS[continent == CONTINENT])
    release = BRITISH.mean(axis=0)
    with pytest.warns(UserWarning, match="p seems to be of another population than the release"):
        by_others = [genotype_score(release, target, p, 91) for target in OTHERS]
    assert min(by_others) > 0.0  # none of them is in
    right = frequencies(COUNTS[(CONTINENT == "EUR") & (POPULATION != "GBR")])
    assert np.median([genotype_score(release, target, right, 91) for target in OTHERS]) < 0.0
    carriers = (COUNTS > 0).astype(float)
    share = carriers[continent == CONTINENT].mean(axis=0).clip(0.001, 0.999)
    release = carriers[POPULATION == "GBR"].mean(axis=0)
    message = said(bernoulli_score, release, carriers[POPULATION == "CEU"][0], share, 91)
    assert "of another population" in message


def test_linked_sites_of_one_population_have_no_warning():
    """Subsets and the rest of each population, continent and all, with all sites and with 20."""
    rng = np.random.default_rng(37)
    groups = [group == labels for labels in (CONTINENT, POPULATION) for group in np.unique(labels)]
    for people in (*groups, np.ones(len(COUNTS), np.bool_)):
        rows = rng.permutation(np.flatnonzero(people))
        for n in (20, len(rows) // 4, len(rows) // 2):
            for sites in (np.arange(127), rng.permutation(127)[:20]):
                known, p = COUNTS[rows[:n]][:, sites], frequencies(COUNTS[rows[n:]])[sites]
                assert said(genotype_score, known.mean(axis=0), known[0], p, n) == ""
