"""Ranges of a release: that of the average may end above that of the riskiest row, and says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import Release


def report_of(cells):
    release = Release(pd.DataFrame({"cell": cells}))
    release.add_table(["cell"])
    return release.leakage()


def test_a_range_of_the_average_beyond_that_of_the_riskiest_row_is_explained():
    """Two halves of 1,200 people; with p = 1/2 both leak 0.0115, which both ranges hold."""
    report = report_of(np.random.default_rng(0).choice(["f", "m"], 1200))
    exact = 0.0115
    for leakage in (report.average, report.highest):
        assert leakage.low <= exact <= leakage.high
    assert report.average.high > report.highest.high
    (sentence,) = [each for each in report.caveats if "ends above that of the riskiest" in each]
    assert f"({report.average.high:.3g} and {report.highest.high:.3g})" in sentence
    assert sentence in " ".join(str(report).split())


@pytest.mark.parametrize("kinds", [1000, 40])
def test_other_ranges_need_no_such_sentence(kinds):
    rng = np.random.default_rng(1)
    report = report_of(rng.geometric(5.0 / kinds, 1200))
    assert report.average.high <= report.highest.high
    assert not [each for each in report.caveats if "ends above that of the riskiest" in each]
