"""A panel in another unit is noticed where means are near 0, by the spread of its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.means import mean_leakage

LAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t of 2 degrees": lambda rng, shape: rng.standard_t(2, size=shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(size=shape),
    "sparse": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.05),
    "sparse with a heavy tail": lambda rng, shape: (
        rng.choice([-1.0, 1.0], size=shape)
        * np.exp(2.0 * rng.normal(size=shape))
        * (rng.random(shape) < 0.1)
    ),
    "half at the limit of detection": lambda rng, shape: np.maximum(
        np.exp(2.0 * rng.normal(size=shape)), 1.0
    ),
    "half of them 0": lambda rng, shape: (
        np.exp(1.5 * rng.normal(size=shape)) * (rng.random(shape) < 0.5)
    ),
}


def spread_cautions(table, panel):
    names = [f"g{j}" for j in range(table.shape[1])]
    report = mean_leakage(
        pd.DataFrame(table, columns=names), panel=pd.DataFrame(panel, columns=names)
    )
    return [each for each in report.cautions if "has the standard deviation" in each]


@pytest.mark.parametrize("factor", [64.0, 10.0])
@pytest.mark.parametrize("columns", [8, 40])
def test_gradients_summed_over_a_batch_are_not_those_of_a_row(columns, factor):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, columns))
    (caution,) = spread_cautions(rows[:500], factor * rows[500:])
    assert f"and those of {columns - 1} other columns differ as well" in caution
    assert not spread_cautions(rows[:500], rows[500:])
    assert not spread_cautions(rows[:500], 1.5 * rows[500:])


def test_one_column_in_another_unit_is_named():
    rng = np.random.default_rng(1)
    table, panel = rng.normal(size=(300, 30)), rng.normal(size=(600, 30))
    panel[:, 7] *= 100.0
    (caution,) = spread_cautions(table, panel)
    assert caution.startswith("Column 'g7' has the standard deviation")
    assert "other column" not in caution


@pytest.mark.parametrize("sizes", [(200, 1000), (30, 60), (1000, 100)])
@pytest.mark.parametrize("law", LAWS)
def test_columns_of_one_law_are_of_one_unit_whatever_their_tails(law, sizes):
    rng = np.random.default_rng(2)
    for _ in range(3):
        table, panel = (LAWS[law](rng, (size, 60)) for size in sizes)
        varied = (np.ptp(table, axis=0) > 0.0) & (np.ptp(panel, axis=0) > 0.0)
        assert not spread_cautions(table[:, varied], panel[:, varied])


@pytest.mark.parametrize("seed", range(12))
def test_a_panel_and_a_register_of_persons_have_no_caution(seed):
    """With names and labels that both tables number alike, in the order of a measure or not."""
    rng = np.random.default_rng(seed)
    table, others = (
        pd.DataFrame(
            {
                "age": rng.integers(18, 90, rows),
                "bmi": rng.normal(27.0, 4.0, rows).round(1),
                "smoker": rng.integers(0, 2, rows),
            }
        )
        for rows in (200, 300)
    )
    register = pd.concat([table, others], ignore_index=True)
    tables = [table, others, register]
    if seed % 3 == 1:
        tables = [each.sort_values("age", ignore_index=True) for each in tables]
    for each in tables if seed % 2 else ():
        each["pid"] = [f"S{k}" for k in range(len(each))]
    table, others, register = tables
    columns = ["age", "bmi", "smoker"]
    for options in ({"panel": others}, {"population": register}):
        assert mean_leakage(table, columns, **options).cautions == ()
