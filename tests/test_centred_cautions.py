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


def sparse(rng, shape):
    """Changes in steps of 0.1, which most rows do not have, or half of the rows."""
    first = np.arange(shape[0])[:, None] < rng.choice([0, shape[0] // 2])
    unchanged = first | (rng.random(shape) < 0.97)
    return np.where(unchanged, 0.0, 0.1 * np.rint(3.0 * rng.normal(size=shape)))


def designed(rng, shape):
    """Contrasts of balanced factors, whose means are 0 by design, beside measures."""
    contrasts = np.array([[-0.6708, 0.5, -0.2236], [-0.2236, -0.5, 0.6708]])
    contrasts = np.concatenate([contrasts, -contrasts[::-1] * [1, -1, 1]])
    levels = [rng.permutation(np.resize(np.arange(4), shape[0])) for _ in range(2)]
    return np.hstack([*(contrasts[each] for each in levels), rng.normal(size=shape)])


def are_noticed(rows):
    return [each for each in mean_leakage(rows).cautions if "the mean 0 over these rows" in each]


@pytest.mark.parametrize("shape", [(64, 1000), (200, 1000), (300, 100)])
@pytest.mark.parametrize("kind", DRAWS)
def test_raw_columns_are_not_taken_for_centred_ones_however_many_there_are(kind, shape):
    for seed in range(5):
        assert not are_noticed(DRAWS[kind](np.random.default_rng(seed), shape))


@pytest.mark.parametrize("draw", [sparse, designed])
def test_means_that_are_0_by_chance_of_steps_or_by_design_are_not_noticed(draw):
    for seed in range(100):
        assert not are_noticed(draw(np.random.default_rng(seed), (200, 10)))


def test_centred_columns_are_noticed_beside_balanced_ones():
    table = designed(np.random.default_rng(1), (200, 10))
    table[:, 6:] -= table[:, 6:].mean(axis=0)
    assert are_noticed(table)


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
