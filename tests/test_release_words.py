"""Which rows of a release are listed first, and how values of where are read and stated."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.releases import Release


def test_a_row_that_a_mean_is_nearly_made_of_is_listed_first():
    rng = np.random.default_rng(4)
    firms = {
        "nace": rng.choice(["C10", "C11", "C12"], 300),
        "turnover": rng.lognormal(3.0, 0.5, 300).round(1),
    }
    firms["turnover"][7] = 500_000.0
    release = Release(firms)
    release.add_table(["nace"])
    release.add_mean(["turnover"], where={"nace": firms["nace"][7]})
    first, second, *_ = release.leakage().riskiest()
    assert first.row == 7
    assert first.leakage.value > 10.0 * second.leakage.value


def test_two_numbers_are_two_values_and_the_report_states_that():
    """A tuple would be read as a range, which has ends of its own."""
    rng = np.random.default_rng(5)
    people = {"age": rng.integers(0, 90, 900), "code": rng.choice([1, 5, 9, 11], 900)}
    release = Release({**people, "sex": rng.choice(["f", "m"], 900)})
    with pytest.raises(ValueError, match=r"'age'.*Pass \{'min': 18, 'max': 40\} for this range"):
        release.add_table(["sex"], where={"age": (18, 40)})
    release.add_table(["sex"], where={"code": [1, 9]})
    release.add_table(["sex"], where={"age": {"min": 18, "max": 40}})
    release.add_table(["sex"], where={"age": (18, 19)})
    assert release.outputs[0].endswith("where code = 1 or 9")
    assert not [each for each in release.leakage().cautions if "two values" in each]
    release.add_table(["sex"], where={"age": [40, 18]})
    assert release.outputs[-1].endswith("where age = 18 or 40")
    (caution,) = (each for each in release.leakage().cautions if "two values" in each)
    assert "with the two values 18 and 40 of column 'age', and 21 others lie between" in caution
    assert "age = { min = 18, max = 40 }" in caution
