"""Units of mean and cov beside targets: which are refused or warned of, and right ones.

Means and variances are those of a table of measures, so that the right leakage is known.
"""

from __future__ import annotations

import numpy as np
import pytest
from mean_messages import message_of

from mialeak import leakage_score, mean_leakage, mean_tradeoff
from mialeak.datasets import load_genotypes

RNG = np.random.default_rng(30)
N = 400
STD = np.exp(RNG.normal(1.5, 1.2, 30))
LAB = RNG.uniform(5, 300, 30) * STD / 10 + 60 * STD + STD * RNG.normal(size=(N, 30))
ITEMS = RNG.integers(1, 6, (N, 30)).astype(float)
GENOTYPES = load_genotypes().counts[:N].astype(float)
SITES = np.flatnonzero(GENOTYPES.mean(axis=0) > 0.2)[:6]


def moments(table):
    return table.mean(axis=0), table.var(axis=0, ddof=1)


def said(target, mean, cov, n=N):
    return message_of(target, mean, cov, n)


@pytest.mark.parametrize("table", [LAB, ITEMS], ids=["lab", "items"])
def test_units_of_measures(table):
    mean, var = moments(table)
    cov = np.cov(table.T)
    squared = "squared standard errors, variances divided by n"
    for target in table[:20]:
        assert said(target, mean, var) == said(target, mean, cov) == ""
        assert squared in said(target, mean, var / N)
        assert squared in said(target, mean, cov / N)
        assert "mean must have the unit of target; it seems to be a sum of n = 400" in said(
            target, mean * N, var
        )


def test_square_roots_in_place_of_variances():
    """By one target this shows for many; more than nine in ten of standard errors."""
    mean, var = moments(LAB)
    deviations = [said(target, mean, var**0.5) for target in LAB[:50]]
    errors = [said(target, mean, (var / N) ** 0.5) for target in LAB[:50]]
    assert sum("seems to hold standard deviations" in each for each in deviations) > 20
    assert not any("errors" in each for each in deviations)
    assert sum("standard errors" in each for each in errors) > 45


@pytest.mark.parametrize("table", [LAB, ITEMS], ids=["lab", "items"])
@pytest.mark.parametrize(
    ("of", "words"),
    [(lambda v: v / N, "squared standard errors; multiply"), (np.sqrt, "deviations; pass"),
     (lambda v: (v / N) ** 0.5, "standard errors; pass"), (lambda v: 1 / v, "one over variances")],
)  # fmt: skip
def test_the_rows_as_targets_refute_other_variances(table, of, words):
    mean, var = moments(table)
    assert words in said(table, mean, of(var))
    assert words in said(table, mean, np.diag(of(var)))
    assert said(table, mean, var) == said(table, mean, np.cov(table.T)) == ""
    assert words in said(table, mean, of(table.var(axis=0)))
    assert said(table, mean, moments(table[::2])[1]) == ""


def test_other_variances_than_those_of_the_rows_are_taken():
    """Of the population that the rows were drawn from, shrunk, with noise, and by quartiles."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, std = int(rng.choice([20, 50, 200])), np.exp(rng.normal(size=6))
        table = std * rng.normal(5.0, 1.0, (n, 6))
        cov = np.cov(table.T)
        shrunk = 0.7 * cov + 0.3 * np.trace(cov) / 6 * np.eye(6)
        quartiles = np.subtract(*np.quantile(table, [0.75, 0.25], axis=0)) / 1.349
        for given in (std**2, shrunk, cov + n * 0.1**2 * np.eye(6), quartiles**2):
            assert said(table, table.mean(axis=0), given, n) == ""
        assert said(table / std, (table / std).mean(axis=0), np.eye(6), n) == ""
        own = said(table, table.mean(axis=0), cov, n)
        assert own == "" or own.startswith(f"targets are {n} rows with this mean")
        assert "standard deviations" in said(table, table.mean(axis=0), np.diag(cov) ** 0.5, n)


@pytest.mark.parametrize("sites", [SITES, slice(None)], ids=["6", "all"])
def test_a_mean_outside_of_the_range_of_genotypes_is_refused(sites):
    table = GENOTYPES[:, sites]
    mean, var = moments(table)
    share = mean / 2
    right = 2 * share * (1 - share)
    for target in table[:20]:
        assert said(target, mean, var) == said(target, 2 * share, right) == ""
        for wrong in (100 * share, 200 * share, table.sum(axis=0)):
            assert "mean must be" in said(target, wrong, var)
    if sites is not SITES:
        each = said(table[0], 200 * share, 10_000 * right)
        assert "200 * p, of p in per cent, and so is the unit of cov" in each


def test_unusual_targets_of_right_moments_have_no_warning():
    """Far in all columns, of heavy tails, of another population, and of columns in one unit."""
    mean, var = moments(LAB)
    rng = np.random.default_rng(31)
    heavy = rng.standard_t(2.5, (N, 30)) * STD
    assert said(np.zeros(30), mean, np.full(30, 0.1)) == ""
    designed = [mean + 3 * STD, mean + 20 * STD, np.zeros(30), mean + 4 * STD * LAB[0] / mean]
    assert [said(each, mean, var) for each in designed] == [""] * 4
    assert {said(each, *moments(heavy)) for each in heavy} == {""}
    gradients = rng.normal(size=(N, 200)) * rng.lognormal(0.0, 1.0, (N, 1)) * 0.01
    assert {said(each, *moments(gradients)) for each in gradients} == {""}
    counts = rng.poisson(3.0, (N, 12)).astype(float)
    assert {said(each, *moments(counts)) for each in counts} == {""}
    assert said(counts, *moments(counts)) == ""


def test_targets_of_another_population_are_warned_of_but_not_refused():
    """They may be as far as if variances were divided by n: 8 standard deviations of 64 rows."""
    mean, var = moments(LAB)
    rng = np.random.default_rng(32)
    others = mean + 8 * STD * rng.normal(size=(30, 30))
    with pytest.warns(UserWarning, match="if target is of another population, cov may be right"):
        curves = mean_tradeoff(others, mean, var, 64)
    exact = ((others - mean) ** 2 / var).sum(axis=1) / 64
    np.testing.assert_allclose(np.asarray(curves.mu) ** 2, exact, rtol=1e-9)


def test_a_mean_of_1_in_the_first_column_makes_no_warning_of_numpy():
    """Of bits no variance is left there, of genotypes the largest."""
    mean, var = np.array([1.0, 0.4, 0.7]), np.array([0.5, 0.3, 0.4])
    assert said(np.array([2.0, 0.0, 1.0]), mean, var) == ""
    assert "the square root of it" in said(
        np.array([2.0, 0.0, 1.0]), mean, np.sqrt(mean * (1 - mean / 2))
    )


def test_people_of_one_population_have_more_of_the_rarer_alleles_than_the_mean():
    """Sites are linked, and counts of the rarer alleles beside their frequencies are right."""
    everyone = load_genotypes().counts.astype(float)
    rarer = np.where(everyone.mean(axis=0) > 1.0, 2.0 - everyone, everyone)
    mean, cov = rarer.mean(axis=0), np.cov(rarer.T)
    for first in range(0, 2500, 50):
        for given in (mean * (1.0 - mean / 2.0), cov):
            assert said(rarer[first : first + 50], mean, given, 1000) == ""


#: Means, standard deviations and correlations of age, BMI, pressure, cholesterol and creatinine.
CLINICAL = np.array([55.0, 27.0, 130.0, 5.2, 1.4]), np.array([10.0, 4.0, 15.0, 1.0, 0.4])
CORRELATED = 0.3 + 0.7 * np.eye(5)


@pytest.mark.parametrize(
    ("target", "cov", "says"),
    [
        ([2.0, -1.0, 1.5, 1.0, -2.0], "correlations", "if cov holds correlations"),
        ([2.0, -1.0, 1.5, 1.0, -2.0], "precision", "not their inverse"),
        ([2.0, -1.0, 1.5, 234.8, -2.0], "right", "235 standard deviations from mean, which is 5.2"),
    ],
    ids=["correlations", "a precision matrix", "mg/dL beside mmol/L"],
)
def test_few_clinical_columns_in_another_unit_are_warned_of(target, cov, says):
    mean, std = CLINICAL
    right = CORRELATED * np.outer(std, std)
    wrong = {"precision": np.linalg.inv(right), "right": right}.get(str(cov), CORRELATED)
    row = mean + np.array(target) * std
    with pytest.warns(UserWarning, match="no usual value is as far") as met:
        mean_tradeoff(row, mean, wrong, 200)
    assert says in str(met[0].message)
    usual = np.random.default_rng(33).multivariate_normal(mean, right, 200)
    assert [said(each, mean, right) for each in usual] == [""] * 200


def test_few_standardised_genotypes_are_refused_beside_their_moments():
    p = np.array([0.1, 0.25, 0.4, 0.45])
    mean, var = 2 * p, 2 * p * (1 - p)
    for target in ([0.0, 1.0, 2.0, 0.0], [0.3, 1.0, 1.9, 0.0]):
        assert said(np.array(target), mean, var) == ""
        for centred in (np.array(target) - mean, (np.array(target) - mean) / np.sqrt(var)):
            assert "target must be a genotype, 0, 1 or 2" in said(centred, mean, var)


@pytest.mark.parametrize("kind", [list, bool, np.int8, np.uint8, np.int64, np.float16, np.float32])
def test_targets_of_any_type_have_the_same_answer(kind):
    """Small variances, of few columns and of many, and a mean that is far away."""
    target = np.array([1.0, 1.0, 0.0])
    given = target.astype(int).tolist() if kind is list else target.astype(kind)
    mean, cov = [0.39, 0.06, 0.15], [0.0001, 0.0004, 0.0007]
    expected = np.sum((target - mean) ** 2 / cov) / 189
    assert float(leakage_score(given, mean, cov, 189)) == pytest.approx(expected, rel=1e-12)
    assert float(leakage_score([given] * 2, mean, cov, 189)[1]) == pytest.approx(
        expected, rel=1e-12
    )
    far = [60.0, 6.0, 0.15], [0.1, 0.1, 0.1]
    assert said(given, *far) == said(target, *far) != ""
    many = np.tile(given, 10), np.tile(mean, 10), np.tile(cov, 10) / 100
    assert said(*many) == said(np.tile(target, 10), *many[1:])


def test_rows_that_are_part_of_their_own_moments_leak_more():
    """By the mean and the covariance of the other rows, about m / (1 - m) for a score m."""
    rng = np.random.default_rng(36)
    table = rng.multivariate_normal([65.0, 170.0], [[180.0, 80.0], [80.0, 80.0]], 200)
    usual = table.copy()
    table[11] = 166.0, 57.0  # exchanged
    mean, cov = table.mean(axis=0), np.cov(table.T)
    with pytest.warns(UserWarning, match="part of its own mean and covariance") as met:
        stated = np.asarray(leakage_score(table, mean, cov, 200))
    assert len(met) == 1
    others = np.delete(table, 11, axis=0)
    away = table[11] - others.mean(axis=0)
    by_others = away @ np.linalg.solve(np.cov(others.T), away) / 200
    part = 200**2 * stated[11] / 199**2
    assert by_others == pytest.approx(198 * part / (1 - part) / 199, rel=1e-9)
    with pytest.warns(UserWarning, match=r"mean_leakage\(table\) takes each row by the others"):
        highest = mean_tradeoff(table, mean, cov, 200).advantage.max()
    assert highest < 0.8 * mean_leakage(table).highest
    assert "part of its own" in said(table, mean, np.diag(cov), 200)
    assert said(table[11], mean, cov, 200) == said(table[:100], mean, cov, 200) == ""
    assert said(table, mean + 0.1, cov, 200) == said(table, mean, 1.1 * cov, 200) == ""
    assert said(usual, usual.mean(axis=0), np.cov(usual.T), 200) == ""
    assert said(GENOTYPES, *moments(GENOTYPES)) == ""  # many columns, each of which varies
