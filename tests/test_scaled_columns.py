"""Columns whose means are the same for all tables: ranks and scaled scores; and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from mialeak import mean_leakage

RNG = np.random.default_rng(25)
ROWS = 600
Z = RNG.normal(size=ROWS)
RANKS = rankdata(Z.round(2))
STANDARD = (Z - Z.mean()) / Z.std()


def met(column):
    frame = pd.DataFrame({"x": column, "y": RNG.normal(size=ROWS)})
    return [each for each in mean_leakage(frame).cautions if "same whoever is in the table" in each]


@pytest.mark.parametrize(
    ("column", "mean"),
    [(RANKS, "300.5"), (RANKS / ROWS * 100, "50.0833"), ((RANKS - 0.5) / ROWS, "0.5"),
     (100 + 15 * STANDARD, "100"), ((50 + 10 * STANDARD).round(2), "50"),
     (rankdata(RNG.integers(20, 80, ROWS)), "300.5"),
     (500 + 100 * STANDARD * np.sqrt(1 - 1 / ROWS), "500")],
)  # fmt: skip
def test_scaled_columns_have_a_caution(column, mean):
    (caution,) = met(column)
    assert "One column has a mean" in caution
    assert f"(mean {mean}, " in caution


def test_means_of_ranks_are_those_of_any_rows():
    """The truth of the caution: the leakage of such a mean is 0."""
    means = {float(rankdata(RNG.normal(size=ROWS)).mean()) for _ in range(20)}
    assert means == {300.5}


def test_scores_and_numbers_that_other_people_scaled_have_none():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        iq = 100 + 15 * rng.normal(size=ROWS)
        assert met(iq) == met(iq.round()) == []
    assert met(np.arange(1, ROWS + 1)) == []  # the report names it as a number of the row
    assert met(RNG.uniform(size=ROWS)) == []
    assert met(RNG.uniform(size=ROWS).round(3)) == []
    assert met(RNG.integers(0, 101, ROWS)) == []
    assert met(np.resize([1.0, 2.0, 3.0, 4.0], ROWS)) == []
    assert met(RNG.binomial(100, 0.5, ROWS)) == []


def items(rng, least, most, centre):
    return np.clip(np.rint(rng.normal(centre, 2.2, (60, 10))), least, most)


def doses(rng, most):
    return np.column_stack([rng.permutation(np.repeat([0.0, most], 40)), rng.normal(131, 17, 80)])


@pytest.mark.parametrize(
    "draw",
    [lambda rng: items(rng, 0, 10, 5.0), lambda rng: items(rng, 1, 10, 5.5),
     lambda rng: doses(rng, 10.0), lambda rng: doses(rng, 1000.0),
     lambda rng: np.clip(np.rint(rng.normal(5.5, 2.0, (30, 1))), 1, 10)],
)  # fmt: skip
def test_means_of_steps_that_equal_that_of_a_scale_by_chance_have_none(draw):
    """Of n values in steps of s, about s/n of the means near a number are equal to it."""
    assert not any(
        "same whoever is in the table" in each
        for seed in range(60)
        for each in mean_leakage(draw(np.random.default_rng(seed))).cautions
    )


def test_matrices_of_pairs_are_symmetric_up_to_rounding_or_a_triangle():
    rng = np.random.default_rng(1)
    for columns in (12, 30, 31, 50):
        genotypes = rng.binomial(2, rng.uniform(0.05, 0.5, columns), (150, columns))
        r = np.corrcoef(genotypes.T)
        inverse = np.linalg.pinv(np.cov(genotypes.T))
        for matrix in (r, np.abs(r), inverse, np.triu(r), np.tril(r), np.triu(r).round(3)):
            (caution,) = mean_leakage(matrix).cautions
            assert "as in a matrix of correlations, relationships or distances" in caution
        square = rng.normal(0.0, 1.0, (columns, columns)).round(2)
        for table in (square, np.triu(square, 1) + 1e-3 * np.tril(square), np.abs(square) > 1.5):
            cautions = " ".join(mean_leakage(table.astype(float)).cautions)
            assert "as in a matrix of correlations" not in cautions
