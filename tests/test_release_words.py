"""Which rows of a release are listed first, and how values of where are read and stated."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.cli import main
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


@pytest.mark.parametrize(
    ("condition", "words", "is_idle"),
    [
        ({"max": 65}, "age <= 65", True),
        ({"max": 0.65}, "age <= 0.65", False),
        ({"min": 0, "max": 65}, "0 <= age <= 65", True),
        ({"min": "0.18"}, "age >= 0.18", True),
        ({"min": 0.19}, "age >= 0.19", False),
        ({"not": 0.25}, "age other than 0.25", False),
    ],
)
def test_a_condition_that_excludes_nobody_is_stated_and_has_a_caution(condition, words, is_idle):
    """The age is in hundreds of years, as in a table of visits to doctors."""
    rng = np.random.default_rng(6)
    ages = np.arange(19, 73, 2) / 100.0
    people = {"age": rng.choice(ages, 900), "sex": rng.choice([0, 1], 900)}
    people["age"][:2] = ages[[0, 3]]
    release = Release(people)
    release.add_table(["sex"], where={"age": condition, "sex": [0, 1]})
    assert release.outputs == (f"table 1: sex, where {words}",)
    met = [each for each in release.leakage().cautions if "excludes nobody" in each]
    assert len(met) == is_idle
    for each in met:
        assert f"The condition {words} of table 1 excludes nobody" in each
        assert "column 'age' holds 0.19 to 0.71" in each


def test_a_gate_stops_at_a_condition_that_excludes_nobody(tmp_path, capsys):
    rng = np.random.default_rng(7)
    ages, sexes = rng.choice(np.arange(19, 73) / 100.0, 900), rng.choice(["f", "m"], 900)
    rows = "".join(f"{age:.2f},{sex}\n" for age, sex in zip(ages, sexes, strict=True))
    (tmp_path / "people.csv").write_text("age,sex\n" + rows)
    plan = tmp_path / "plan.toml"
    text = 'schema = "mialeak.release-plan/1"\npeople = "people.csv"\n[limits]\ndetermined = 0\n'
    text += '[[outputs]]\ntable = ["sex"]\nwhere = { age = { max = 65 } }\n'
    plan.write_text(text)
    assert main(["release", str(plan)]) == 3
    assert "where age <= 65" in capsys.readouterr().out
    plan.write_text(text.replace("max = 65", "max = 0.95, min = 0.19"))
    assert main(["release", str(plan)]) == 0


def test_a_mean_of_those_with_a_value_is_limited_as_the_error_proposes():
    people = {"income": [3.0, None, 5.0, 8.0, 8.0], "sex": list("fmffm")}
    release = Release(people, na="category")
    words = r"have no missing or infinite values.*limit it to them: (where=\{.*\})"
    with pytest.raises(ValueError, match=words) as error:
        release.add_mean(["income"])
    assert "where={'income': {'min': 3}}" in str(error.value)
    release.add_mean(["income"], where={"income": {"min": 3}})
    assert release.outputs == ("mean 1: income, where income >= 3",)
    assert np.isfinite(release.leakage().row_leakage.upper).all()


def test_the_proposed_end_is_the_least_value_to_the_last_digit():
    people = {"income": [1234567.5, None, 5e6, 8e6, 8e6], "sex": list("fmffm")}
    with pytest.raises(ValueError, match=r"where=\{'income': \{'min': 1234567\.5\}\}"):
        Release(people, na="category").add_mean(["income"])


@pytest.mark.parametrize("values", [[np.nan] * 5, [1.0, np.inf, 3.0, 3.0, 4.0]])
def test_no_end_is_proposed_that_would_not_help(values):
    release = Release({"income": np.array(values), "sex": list("fmffm")}, na="category")
    with pytest.raises(ValueError, match=r"to be averaged\. Leave the column out"):
        release.add_mean(["income"])


def test_dropping_is_refused_with_its_cure():
    with pytest.raises(ValueError, match=r"na must be .*condition in where leaves out those"):
        Release({"sex": ["f", None]}, na="drop")
