"""Numbers that a table of a mean holds as text, and categories that only look like these."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage

RNG = np.random.default_rng(28)
ROWS = 300
AGE = RNG.integers(20, 80, ROWS)
HB = [f"{each:.1f} g/dL" for each in RNG.normal(13.9, 1.4, ROWS)]
HEIGHT = [f"{each:.0f}cm" for each in RNG.normal(172, 9, ROWS)]
LENGTH = [f"{each:.0f} cm" if k % 3 else f"{each / 100:.2f} m"
          for k, each in enumerate(RNG.normal(172, 9, ROWS))]  # fmt: skip
CRP = [f"{each:.2f}" if each > 0.2 else "<0.2" for each in RNG.exponential(2.0, ROWS)]
OLD = [f"{each}" if each < 75 else "75+" for each in AGE]
PRESSURE = [f"{each + 50}/{each}" for each in RNG.integers(60, 95, ROWS)]


@pytest.mark.parametrize(
    ("values", "words"),
    [(HB, "Numbers like '{}'"), (HEIGHT, "Numbers like '{}'"), (LENGTH, "Numbers like '{}'"),
     (CRP, "'<0.2' stands among the numbers"), (OLD, "'75+' stands among the numbers"),
     (PRESSURE, "Two numbers in one field, like '{}'")],
)  # fmt: skip
def test_measures_as_text_have_one_caution_with_the_cure(values, words):
    (caution,) = mean_leakage(pd.DataFrame({"x": values, "age": AGE})).cautions
    assert caution.startswith(words.format(values[0]))
    assert "column 'x'" in caution
    assert "Write" in caution


def test_measures_as_text_have_the_caution_beside_a_marker():
    cautions = mean_leakage(pd.DataFrame({"x": ["NA", *HB[1:]], "age": AGE})).cautions
    assert any(each.startswith(f"Numbers like {HB[1]!r} in column 'x'") for each in cautions)


def of(*values):
    return RNG.permutation(np.resize(np.array(values, object), ROWS))


@pytest.mark.parametrize(
    "values",
    [
        of("5 mg", "10 mg", "20 mg", "40 mg"),  # the doses of a trial
        of("0", "1", "2", "3", "4", ">4"),  # children
        of("<8", *map(str, range(8, 17)), ">16"),  # years of school
        of(*(f"{k}{letter}" for k in range(5, 13) for letter in "abcd")),  # classes of a school
        of("1st", "2nd", "3rd"),
        of("<30", "30-59", "60+"),
        of("1/2", "2/3", "3/3", "3/2"),  # repeats of a locus
        of(*(f"{year}/{month}" for year in (2023, 2024) for month in range(1, 13))),
        of("18 years", "no answer"),
        of(*(f"{k}{letter}" for k in range(1, 31) for letter in "AB")),  # seats
        of(*(f"{k}{arm}" for k in range(1, 23) for arm in "pq")),
        of(*pd.date_range("2020-01-01", periods=150).strftime("%d.%m.%Y")),
        of(*(f"030 {7919 * k:07}" for k in range(150))),
        of(*(f"10.0.15.{k}" for k in range(150))),
    ],
)
def test_categories_with_digits_have_no_caution(values):
    cautions = mean_leakage(pd.DataFrame({"x": values, "age": AGE})).cautions
    assert not [each for each in cautions if "taken for names of categories" in each]


def test_numbers_of_persons_are_not_taken_for_measures():
    for value in ("{}A", "{},000", "030 {}"):
        frame = pd.DataFrame({"patient_id": of(*map(value.format, range(100, 250))), "age": AGE})
        (caution,) = mean_leakage(frame).cautions
        assert "pass exclude=['patient_id']" in caution


@pytest.mark.parametrize("rows", [999, 1000])
def test_text_with_another_value_in_each_row_is_left_out_and_not_refused(rows):
    age = np.random.default_rng(29).normal(50.0, 15.0, rows).round(1)
    names = pd.DataFrame({"phone": [f"030 {k + 100000}" for k in range(rows)], "age": age})
    report = mean_leakage(names)
    assert (report.columns, report.cautions) == (("age",), ())
    numbers = pd.DataFrame({"pay": [f"1.{k + 100},5" for k in range(rows)], "age": age})
    report = mean_leakage(numbers.iloc[:900])
    assert report.columns == ("age",)
    assert "left out as names of rows are" in report.cautions[0]
    assert "'1.100,5' in column 'pay'" in report.cautions[0]
    assert mean_leakage(numbers.iloc[:900], exclude=["pay"]).cautions == ()


def test_spellings_of_one_value_have_a_caution():
    frame = pd.DataFrame({"t2d": of("Yes", "yes", "No", "No"), "age": AGE})
    (caution,) = mean_leakage(frame).cautions
    assert "differ in capitals" in caution
    assert "column 't2d'" in caution
    right = frame.assign(t2d=frame["t2d"].str.lower())
    assert mean_leakage(right).cautions == ()
