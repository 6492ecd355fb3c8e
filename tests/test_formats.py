"""Numbers and dates that a column writes in two ways."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.cli import main
from mialeak.tables import table_leakage

RNG = np.random.default_rng(8)
SEX = RNG.choice(["f", "m"], 800)
SECOND = np.arange(800) % 2 == 1
AGE, YEAR = RNG.integers(20, 90, 800).astype(str), RNG.integers(1990, 2005, 800).astype(str)
MONTH = np.char.zfill(RNG.integers(1, 13, 800).astype(str), 2)


def joined(*parts):
    return np.array(["".join(each) for each in zip(*parts, strict=True)])


def between(word):
    return np.full(800, word)


def told(column):
    cautions = table_leakage(pd.DataFrame({"x": column, "sex": SEX})).cautions
    return [each for each in cautions if "counted apart, in column 'x'" in each]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (AGE, joined(AGE, between(" years"))),
        (joined(AGE, between(" Jahre")), AGE),
        (joined(YEAR, between("-"), MONTH), joined(MONTH, between("."), YEAR)),
        (joined(YEAR, between("-"), MONTH, between("-15")),
         joined(between("15."), MONTH, between("."), YEAR)),
    ],
)  # fmt: skip
def test_the_same_in_two_ways_has_a_caution(first, second):
    assert len(told(np.where(SECOND, second, first))) == 1
    assert not told(first)
    assert not told(second)


def test_numbers_with_other_words_have_no_caution():
    rooms = RNG.choice(["1", "2", "3", "4", "5", "5 and more", "none"], 800)
    lines = RNG.choice(["1", "2", "3", "10A", "10B", "1A", "2A", "3A"], 800)
    sizes = RNG.choice(["1 person", "2 persons", "3 persons", "4 persons", "1", "2"], 800)
    for column in (rooms, lines, sizes, AGE, np.where(SECOND, AGE, "95 years")):
        assert not told(column)


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        ("80+", "Write 80 in its place, and make 80 the top code"),
        ("30,5", "Write it with a decimal point, 30.5"),
        ("old", "Group its rare values, in place of bands"),
    ],
)
def test_a_band_of_no_number_names_the_option_and_the_cure(value, cure, tmp_path, capsys):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"age": np.where(AGE.astype(int) < 80, AGE, value), "sex": SEX})
    frame.to_csv(path, index=False)
    assert main(["table", str(path), "--bin", "age:5"]) == 1
    error = capsys.readouterr().err
    assert "--bin must hold numbers in column 'age' for bands" in error
    assert f"got '{value}'. {cure}" in error
    with pytest.raises(ValueError, match=f"recode must hold numbers .* {cure}"):
        table_leakage(frame, recode={"age": {"bin": 5}})
    if value == "80+":
        cured = frame.assign(age=frame["age"].replace(value, "80"))
        cured.to_csv(path, index=False)
        assert main(["table", str(path), "--bin", "age:5", "--top-code", "age:80"]) == 0
