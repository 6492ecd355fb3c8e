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
