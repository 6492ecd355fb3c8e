"""Years and waves of one table, by the names of their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mialeak.tables import table_leakage

PERIODS = """
school_year schoolYear yr FY academic_year snapshot DATA_YEAR ano timepoint survey_round sweep
occasion ronda onda Schuljahr fiscal_year wave_no time_point year wave Welle
"""
NO_PERIODS = """
year_of_birth birth_year yob school year_built schooling panel term_of_office cohort age model_year
diagnosis_year first_year
"""


def test_years_and_waves_that_are_left_out_are_a_caution_by_their_names():
    """90 % of 900 pupils in each of three years, whose counts are added up to those of 2,430."""
    rng = np.random.default_rng(5)
    pupils = pd.DataFrame(
        {"town": rng.choice(list("abc"), 900), "sex": rng.choice(["f", "m"], 900)}
    )
    years = [pupils.sample(810, random_state=k).assign(year=2021 + k) for k in range(3)]
    table = pd.concat(years, ignore_index=True)
    for name in PERIODS.split() + NO_PERIODS.split():
        frame = table.rename(columns={"year": name})
        counted = frame.groupby(list(frame)).size().reset_index(name="n")
        for cautions in (
            table_leakage(frame, ["town", "sex"]).cautions,
            table_leakage(counted, ["town", "sex"], counts="n").cautions,
        ):
            told = [each for each in cautions if "their persons are added up" in each]
            assert bool(told) == (name in PERIODS.split()), (name, cautions)
