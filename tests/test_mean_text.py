"""Means of columns of text: numbers that are text, or in another notation, and categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage
from mialeak._checks.means import text
from mialeak.cli import main

RNG = np.random.default_rng(41)
ROWS = 400
PAY = RNG.integers(800, 4000, ROWS)
HOURS = np.round(RNG.choice(np.arange(20, 60), ROWS) / 2, 1)
AGE = RNG.integers(20, 90, ROWS)
OF_TEXT = "numbers are text, and so names of categories"


@pytest.mark.parametrize(("name", "values"), [("pay", PAY), ("hours", HOURS)])
def test_numbers_that_are_text_are_named_as_such(name, values):
    """Many different whole numbers, and some with a point, however many rows share each."""
    as_text = mean_leakage(pd.DataFrame({name: values.astype(str), "age": AGE}))
    assert any(OF_TEXT in each and f"frame['{name}']" in each for each in as_text.cautions)
    converted = pd.DataFrame({name: values.astype(str), "age": AGE}).astype({name: float})
    assert mean_leakage(converted).cautions == ()
    assert mean_leakage(converted).average < as_text.average / 2


@pytest.mark.parametrize(
    "codes",
    [
        RNG.choice(["11", "12", "21", "22", "31"], ROWS),
        RNG.choice([f"{k}" for k in range(10, 35)], ROWS),
        RNG.choice([f"0{k}" for k in range(10, 99)], ROWS),
        RNG.choice(["1.1", "1.2", "2.1"], ROWS),
    ],
)
def test_codes_that_are_text_are_categories(codes):
    report = mean_leakage(pd.DataFrame({"code": codes, "age": AGE}))
    assert not any(OF_TEXT in each for each in report.cautions)


def test_very_many_numbers_in_another_notation_are_refused(monkeypatch):
    """With as many categories the covariance took minutes before the caution came."""
    commas = [f"{number}".replace(".", ",") for number in HOURS]
    frame = pd.DataFrame({"hours": commas, "age": AGE})
    size = len(set(commas))
    monkeypatch.setattr(text, "_NO_CATEGORIES", size + 1)
    (caution,) = mean_leakage(frame).cautions
    assert "are taken for names of categories" in caution
    monkeypatch.setattr(text, "_NO_CATEGORIES", size)
    with pytest.raises(ValueError, match=rf"column 'hours' holds '.*', and each of its {size} val"):
        mean_leakage(frame)
    named = mean_leakage(frame, categories=["hours"])
    assert "are taken for names of categories" in named.cautions[0]


def test_the_shell_refuses_decimal_commas_at_once(tmp_path, capsys):
    path = tmp_path / "pay.csv"
    values = RNG.normal(10.0, 2.0, 3000).round(4)
    lines = [f"{each}".replace(".", ",") + f";{k % 70}" for k, each in enumerate(values)]
    path.write_text("pay;age\n" + "\n".join(lines) + "\n")
    assert main(["mean", str(path), "--delimiter", ";"]) == 1
    error = capsys.readouterr().err
    assert "must have numbers with a decimal point and no other sign; column 'pay' holds" in error
    assert "If that is meant, pass --categories pay" in error
    path.write_text(path.read_text().replace(",", "."))
    assert main(["mean", str(path), "--delimiter", ";"]) == 0
