"""Columns that the rows have centred are noticed, and columns that chance leaves near 0 are not."""

import numpy as np
import pytest

from mialeak.means import mean_leakage

DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "single": lambda rng, shape: rng.normal(size=shape).astype(np.float32),
    "three decimals": lambda rng, shape: rng.normal(size=shape).round(3),
    "signs": lambda rng, shape: 0.3 * rng.choice([-1.0, 1.0], size=shape),
    "of 8 bits": lambda rng, shape: 0.0123 * np.rint(30.0 * rng.normal(size=shape)),
    "of three factors": lambda rng, shape: (
        rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    ),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(size=shape),
}


def are_noticed(rows):
    return [each for each in mean_leakage(rows).cautions if "the mean 0 over these rows" in each]


@pytest.mark.parametrize("shape", [(64, 1000), (200, 1000), (300, 100)])
@pytest.mark.parametrize("kind", DRAWS)
def test_raw_columns_are_not_taken_for_centred_ones_however_many_there_are(kind, shape):
    for seed in range(5):
        assert not are_noticed(DRAWS[kind](np.random.default_rng(seed), shape))


@pytest.mark.parametrize(
    ("rows", "columns", "centred", "decimals"),
    [(64, 1000, 1000, 4), (64, 20, 20, 3), (200, 1000, 20, 12), (500, 1000, 3, 12), (30, 3, 3, 4)],
)
def test_columns_less_their_means_are_noticed_beside_others(rows, columns, centred, decimals):
    table = np.random.default_rng(1).normal(0.2, 1.0, (rows, columns))
    table[:, :centred] -= table[:, :centred].mean(axis=0)
    (caution,) = are_noticed(table.round(decimals))
    number = int(caution.split(" columns have")[0].replace(",", ""))
    assert 0.95 * centred <= number <= centred


def test_one_centred_column_is_noticed():
    table = np.random.default_rng(2).normal(0.2, 1.0, (300, 10))
    table[:, 4] -= table[:, 4].mean()
    (caution,) = are_noticed(table)
    assert caution.startswith("One column has the mean 0")


def test_multiples_of_one_column_with_a_small_mean_are_one():
    rng = np.random.default_rng(3)
    column = rng.normal(size=200)
    column += 1e-3 * column.std() / 200**0.5 - column.mean()
    assert not are_noticed(np.outer(column, rng.uniform(1.0, 2.0, 40)))
