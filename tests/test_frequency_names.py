"""Numbers between 0 and 1 are frequencies by the names of columns, not by themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.means import mean_leakage

RNG = np.random.default_rng(4)
PIXELS = RNG.beta(0.5, 1.5, (300, 12))
SOFTMAX = RNG.dirichlet(np.ones(5), 300)


def cautions(table, names):
    report = mean_leakage(pd.DataFrame(table, columns=names))
    return [each for each in report.cautions if "hold frequencies" in each]


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (PIXELS, [f"px{j}" for j in range(12)]),
        (PIXELS, [f"f{j}" for j in range(12)]),
        (PIXELS, list(range(12))),
        (SOFTMAX, [f"class_{j}" for j in range(5)]),
        (SOFTMAX, ["cat", "dog", "bird", "fish", "other"]),
        (PIXELS[:, :1], ["confidence"]),
    ],
)
def test_pixels_and_probabilities_are_no_frequencies_of_sites(table, names):
    assert not cautions(table, names)


@pytest.mark.parametrize(
    "names", [["AFR", "EUR", "EAS"], ["p"], ["a1", "a2"], ["pop1", "pop2", "pop3"], ["af", "x"]]
)
def test_columns_called_as_populations_and_alleles_hold_frequencies(names):
    (caution,) = cautions(PIXELS[:, : len(names)], names)
    assert "cov=2*p*(1-p)" in caution
