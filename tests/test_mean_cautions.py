"""Cautions of means: what they find among ordinary rows, and ordinary rows that have none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage
from mialeak.datasets import load_genotypes

RNG = np.random.default_rng(22)
AGE = RNG.integers(20, 90, 400)
SEX, SMOKING = RNG.choice([1, 2], 400), RNG.choice(3, 400, p=[0.5, 0.3, 0.2])


@pytest.mark.parametrize("most", [0.1, 0.4])
@pytest.mark.parametrize("others", [{}, {"sex": SEX, "smoking": SMOKING}])
def test_diagnoses_are_no_genotypes(most, others):
    """Of 0 and 1, beside measures, a sex and answers from 0 to 2."""
    rng = np.random.default_rng(23)
    ill = pd.DataFrame(rng.random((400, 25)) < rng.uniform(0.02, most, 25)).astype(int)
    assert mean_leakage(ill.add_prefix("icd_").assign(age=AGE, **others)).cautions == ()


def test_answers_are_no_genotypes():
    answers = np.random.default_rng(24).choice(3, (400, 30), p=[0.5, 0.3, 0.2])
    assert mean_leakage(pd.DataFrame(answers).add_prefix("q").assign(age=AGE)).cautions == ()


@pytest.mark.parametrize("rows", [slice(400), slice(0, 2400, 6)])
def test_an_age_beside_genotypes_of_any_name_has_a_caution(rows):
    """Of people of one population, and of all."""
    sites = pd.DataFrame(load_genotypes().counts[rows]).add_prefix("snp")
    (caution,) = mean_leakage(sites.assign(age=AGE)).cautions
    assert caution.startswith("Taken as published beside 127 columns of genotypes: column 'age'.")
