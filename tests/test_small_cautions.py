"""Cautions and errors that read rightly: blood groups, linked sites, zeros and intercepts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage, table_leakage
from mialeak.estimators import least_squares_influence, logistic_influence

RNG = np.random.default_rng(18)
ROWS = 500
AGE = RNG.integers(20, 90, ROWS)


def test_a_minus_beside_a_plus_marks_no_missing_value():
    rhesus = RNG.choice(["+", "-"], ROWS, p=[0.85, 0.15])
    frame = pd.DataFrame({"rh": rhesus, "age": AGE})
    assert mean_leakage(frame).cautions == ()
    assert not [x for x in table_leakage(frame[["rh"]]).cautions if "missing value" in x]
    (caution,) = mean_leakage(frame.replace({"rh": {"+": "yes"}})).cautions
    assert "'-' is counted as a value" in caution


@pytest.mark.parametrize(("mean", "std"), [(130, 30), (55, 12), (13, 1.5)])
def test_zeros_among_measures_mark_a_missing_value(mean, std):
    values = RNG.normal(mean, std, ROWS).round(1).clip(1.2 * std)
    holed = np.where(np.arange(ROWS) % 50 == 7, 0.0, values)
    frame = pd.DataFrame({"x": holed, "age": AGE})
    (caution,) = mean_leakage(frame).cautions
    assert caution.startswith("0.0 is counted as a value like any other, in 10 rows of column 'x'")
    assert mean_leakage(frame.assign(x=values)).cautions == ()


@pytest.mark.parametrize(
    "values",
    [RNG.poisson(16, ROWS).clip(0, 40), np.maximum(RNG.normal(50, 25, ROWS), 0.0).round(),
     np.where(RNG.random(ROWS) < 0.3, 0, RNG.normal(130, 30, ROWS).round())],
)  # fmt: skip
def test_zeros_of_counts_and_of_a_part_of_the_rows_do_not(values):
    cautions = mean_leakage(pd.DataFrame({"x": values, "age": AGE})).cautions
    assert not [each for each in cautions if "missing value" in each]


def blocks(name):
    """Genotypes of 100 persons at 30 sites, of which ten are nearly the same each."""
    site = RNG.binomial(2, 0.5, (100, 3))
    matrix = np.repeat(site, 10, axis=1)
    matrix = np.where(RNG.random(matrix.shape) < 0.02, 1, matrix)
    return pd.DataFrame(matrix, columns=[name.format(k) for k in range(30)])


def test_columns_with_names_of_sites_are_not_taken_for_persons():
    transposed = "Transpose the table if its rows are sites"
    assert not [x for x in mean_leakage(blocks("rs{}")).cautions if transposed in x]
    assert [x for x in mean_leakage(blocks("P{}")).cautions if transposed in x]


def test_a_text_beside_genotypes_is_no_allele():
    frame = pd.DataFrame(RNG.binomial(2, 0.4, (100, 80))).add_prefix("rs")
    frame["smokes"] = ["no", "yes"] * 49 + ["no", "once"]
    report = mean_leakage(frame)
    assert np.isinf(report.scores).sum() == 1
    assert "Rows with an allele that no other" not in str(report)
    frame["rs7"] = (np.arange(100) == 5).astype(int)
    text = " ".join(str(mean_leakage(frame)).split())
    assert "Rows with an allele that no other of 100 rows has: 1, at 1 of the sites" in text


@pytest.mark.parametrize("influence", [logistic_influence, least_squares_influence])
def test_collinear_columns_are_named_beside_the_intercept(influence):
    X, y = RNG.normal(size=(200, 2)), RNG.integers(0, 2, 200).astype(float)
    constant = np.column_stack([X, np.ones(200)])
    with pytest.raises(ValueError, match=r"column 2 does not\. Leave it out: the intercept is the"):
        influence(constant, y)
    influence(constant, y, fit_intercept=False)
    dummies = pd.get_dummies(pd.Series(RNG.integers(0, 3, 200)), dtype=float)
    with pytest.raises(ValueError, match="of which parameter 0 is the intercept"):
        influence(dummies, y)
    with pytest.raises(ValueError, match=r"rank 2 of 3\)"):
        influence(np.column_stack([X, X.sum(axis=1)]), y, fit_intercept=False)


def grouped(cautions):
    return [each for each in cautions if "fractions of copies that vary" in each]


@pytest.mark.parametrize("size", [8, 20, 200])
def test_means_of_groups_at_sites_have_a_caution(size):
    """By their variance, which is that of genotypes over the persons of a group."""
    share = RNG.uniform(0.3, 0.7, 40)
    means = RNG.binomial(2 * size, share, (60, 40)) * 2.0 / (2 * size)
    frame = pd.DataFrame(means).add_prefix("rs")
    (caution,) = grouped(mean_leakage(frame).cautions)
    times = float(caution.split("vary ")[1].split(" times")[0])
    assert times == pytest.approx(1 / size, rel=0.2)


@pytest.mark.parametrize("error", [0.0, 0.05, 0.3])
def test_genotypes_and_dosages_of_persons_have_none(error):
    """A dosage of a share of the information has that share of the variance."""
    share = RNG.uniform(0.2, 0.8, 40)
    genotypes = RNG.binomial(2, share, (200, 40))
    dosages = (1 - error) * genotypes + error * 2 * share
    frame = pd.DataFrame(dosages.round(3)).add_prefix("rs")
    assert grouped(mean_leakage(frame).cautions) == []


def test_men_have_one_copy_of_x():
    copies = pd.DataFrame(RNG.binomial(1, 0.5, (200, 30)))
    on_x = copies.rename(columns=lambda k: f"X:{1000 + k}:A:G")
    assert mean_leakage(on_x).cautions == ()
    (caution,) = mean_leakage(copies.rename(columns=lambda k: f"7:{1000 + k}:A:G")).cautions
    assert "hold 0 and 1 alone" in caution
