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
MARITAL = {1: "married", 2: "single", 3: "widowed", 4: "divorced"}
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


class TestLabelsOfFiles:
    def written(self, path, labels):
        pyreadstat = pytest.importorskip("pyreadstat")
        codes = np.random.default_rng(5).integers(1, 5, 600) * 1.0
        frame = pd.DataFrame({"marital": codes, "sex": codes % 2, "age": 20.0 + codes})
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
        return str(path)

    def told(self, path, **options):
        return [each for each in mean_leakage(path, **options).cautions if "has a label" in each]

    def test_codes_that_all_have_a_label_are_named(self, tmp_path):
        path = self.written(tmp_path / "a.sav", {"marital": MARITAL, "sex": {0: "m", 1: "f"}})
        (caution,) = self.told(path)
        assert caution.startswith("Column 'marital' holds codes")
        assert "(1 is 'married')" in caution
        assert "pass categories=['marital']" in caution
        assert not self.told(path, categories=["marital"])
        assert not self.told(path, columns=["sex", "age"])

    def test_they_are_named_beside_markers(self, tmp_path, capsys):
        path = self.written(tmp_path / "a.sav", {"marital": MARITAL})
        main(["mean", path, "--missing", "4", "--na", "drop"])
        assert "pass --categories marital" in " ".join(capsys.readouterr().out.split())

    @pytest.mark.parametrize(
        "labels", [{1: "married", 2: "single"}, {k: f"class {k}" for k in (1, 2, 3, 4)}]
    )
    def test_numbers_are_no_codes(self, tmp_path, labels):
        """Some values have a label, or labels are numbers themselves."""
        assert not self.told(self.written(tmp_path / "a.sav", {"marital": labels}))
