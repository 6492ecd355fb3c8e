"""Regions and their states below each other in one column of a table of counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.tables import table_leakage

NAMES = {
    "as numbers": [f"State {k}" for k in range(46)],
    "as names": [
        "".join(word) for word in np.random.default_rng(5).choice(list("abcdefg"), (46, 6))
    ],
}


def stacked(states, seed, further, names):
    """Counts of the regions and, below them, of their states; of the states alone too."""
    rng = np.random.default_rng(seed)
    rows = 4877
    people = pd.DataFrame({"state": rng.choice(states, rows, p=rng.dirichlet(np.full(states, 2)))})
    people["sex"] = rng.choice(["f", "m"], rows, p=[0.24, 0.76])
    people["edu"] = rng.integers(0, further, rows)
    people["region"] = np.array(["North", "South", "East", "West"])[people["state"] % 4]
    people["state"] = np.array(names)[people["state"]]
    tables = [
        people.rename(columns={level: "area"}).groupby(["area", "sex", "edu"]).size()
        for level in ("region", "state")
    ]
    return pd.concat(tables).reset_index(name="n"), tables[1].reset_index(name="n")


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_regions_beside_their_states_are_refused(names, seed):
    both, _ = stacked(46, seed, 3, NAMES[names])
    with pytest.raises(ValueError, match=r"'area' must hold no totals.*'(North|East)'"):
        table_leakage(both, ["area", "sex", "edu"], counts="n")


@pytest.mark.parametrize("seed", range(3))
def test_of_few_counts_they_have_a_caution_in_any_order(seed):
    both, _ = stacked(46, seed, 1, NAMES["as numbers"])
    for table in (both, both.sample(frac=1.0, random_state=seed)):
        (caution,) = (
            each
            for each in table_leakage(table, ["area", "sex"], counts="n").cautions
            if "sums of others" in each
        )
        assert "and 1 more in column 'area'" in caution


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("seed", range(30))
def test_states_alone_have_no_caution(names, seed):
    for further in (1, 3):
        _, states = stacked(46, seed, further, NAMES[names])
        cautions = table_leakage(states, ["area", "sex", "edu"], counts="n").cautions
        assert not any("sums of others" in each for each in cautions)


def test_arms_of_a_trial_by_centre_have_as_many_persons_by_design():
    areas = [f"{arm}{centre}" for arm in ("drug", "placebo") for centre in range(10)]
    sizes = np.random.default_rng(1).integers(20, 90, (10, 2))
    table = {"area": np.repeat(areas, 2), "sex": ["f", "m"] * 20, "n": np.tile(sizes.ravel(), 2)}
    cautions = table_leakage(table, ["area", "sex"], counts="n").cautions
    assert not any("sums of others" in each for each in cautions)
