"""A panel, or a register, whose rows are not persons or hold markers of missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage

RNG = np.random.default_rng(3)
P = RNG.uniform(0.05, 0.5, 40)
SITES = [f"rs{k}" for k in range(40)]


def genotypes(people):
    return pd.DataFrame(RNG.binomial(2, P, (people, 40)), columns=SITES)


def measured(people):
    normal = RNG.normal([55, 27, 130, 5.2], [10, 4, 15, 1], (people, 4)).round(1)
    return pd.DataFrame(normal, columns=["age", "bmi", "sbp", "chol"])


COHORT, PANEL, TABLE, OTHERS = genotypes(200), genotypes(400), measured(400), measured(1000)


@pytest.mark.parametrize("code", [9, -9, 3])
def test_markers_among_genotypes_of_a_panel_have_a_caution(code):
    assert mean_leakage(COHORT, panel=PANEL).cautions == ()
    coded = PANEL.where(RNG.random(PANEL.shape) > 0.02, code)
    caution = mean_leakage(COHORT, panel=coded).cautions[0]
    assert caution.startswith("Of panel: ")
    assert "If it marks a missing value, pass missing=" in caution


def test_markers_and_summaries_have_a_caution_in_place_of_a_panel():
    assert mean_leakage(TABLE, panel=OTHERS).cautions == ()
    coded = OTHERS.assign(sbp=OTHERS["sbp"].where(OTHERS.index % 20 > 0, 999.0))
    for panel, words in (
        (coded, "Of panel: 999.0 is counted as a value"),
        (OTHERS.describe(), "Of panel: the rows seem to be no persons but a summary"),
        (
            OTHERS.agg(["mean", "std", "count"]),
            "Of panel: the rows seem to be no persons but a summary",
        ),
        (
            OTHERS.quantile(np.linspace(0.01, 0.99, 99)),
            "Of panel: in all of the 4 columns no row has a smaller value",
        ),
    ):
        cautions = mean_leakage(TABLE, panel=panel).cautions
        assert any(each.startswith(words) for each in cautions)


def test_people_who_are_in_a_panel_or_register_more_than_once_have_a_caution():
    visits = pd.concat([OTHERS[:200]] * 5, ignore_index=True)
    visits["age"] += RNG.integers(0, 3, 1000)
    visits["patient_id"] = [f"P{k % 200}" for k in range(1000)]
    (caution,) = mean_leakage(TABLE, panel=visits).cautions
    assert caution.startswith("Of panel: column 'patient_id', which is left out, has the name of")
    assert "1,000 rows have 200 of its values" in caution
    rows = visits.iloc[:150].drop(columns="patient_id")
    (caution,) = mean_leakage(rows, population=visits).cautions
    assert caution.startswith("Of population: column 'patient_id'")
    once = visits.assign(patient_id=np.arange(1000))
    assert mean_leakage(rows, population=once).cautions == ()
