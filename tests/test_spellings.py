"""Two spellings of one value, in a column that is counted and in that of the persons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.tables import table_leakage

SAYS = "are counted apart, in column"
ALIKE = [
    ("15-24", "15\u201324"), ("15-24", "15 - 24"), ("15-24", "15 to 24"), ("King's", "King\u2019s"),
    ("I21.9", "I219"), ("S\u00fcd", "S\u00c3\u00bcd"), ("East", "East*"), ("A & B", "A and B"),
    ("North-East", "North\u2013East"), ("2019/20", "2019-20"), ("caf\u00e9", "cafe\u0301"),
    ("65+", "65 and over"), ("65+", "\u226565"), ("10-14", "Oct-14"), ("10-14", "14-Oct"),
]  # fmt: skip
OTHERS = [
    ("15-24", "25-34"), ("1/2", "1-2"), ("King", "Kings"), ("I21.9", "I21.1"), ("A1.5", "A15"),
    ("S\u00fcd", "Sud"), ("North", "North-East"), ("1.5", "15"), ("AB", "A+B"), ("2-1", "2 of 1"),
    ("A", "A*"), ("65+", "65"), ("65", ">65"), ("5-9", "Oct-14"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*ALIKE, *OTHERS])
def test_two_spellings_of_a_value_are_a_caution(one, other):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"town": rng.choice(["x", "y"], 400), "v": rng.choice([one, other], 400)})
    told = any(SAYS in each for each in table_leakage(table).cautions)
    assert told == ((one, other) in ALIKE)


@pytest.mark.parametrize("spelt", [lambda k: f"{k:06d}", lambda k: f"{k}.0", lambda k: f"{k} "])
def test_persons_whose_number_is_spelt_in_two_ways_are_a_caution(spelt):
    """Each is then taken for two persons of fewer rows, who leak less."""
    rng = np.random.default_rng(8)
    person = rng.permutation(np.repeat(np.arange(1, 301), 4))
    table = pd.DataFrame({"pid": person.astype(str), "dx": rng.choice(list("ABCDE"), 1200)})
    right = table_leakage(table, ["dx"], person="pid")
    assert not any(SAYS in each for each in right.cautions)
    at = rng.random(1200) < 0.5
    table.loc[at, "pid"] = [spelt(k) for k in person[at]]
    wrong = table_leakage(table, ["dx"], person="pid")
    assert wrong.persons.persons > 1.7 * right.persons.persons
    assert any(f"{SAYS} 'pid'" in each for each in wrong.cautions)


@pytest.mark.parametrize("kind", ["sum", "single precision", "text", "all single", "codes"])
def test_numbers_that_differ_by_rounding_alone_are_a_caution(kind):
    rng = np.random.default_rng(3)
    tenths = rng.integers(1, 11, 400) / 10
    mixed = np.where(rng.random(400) < 0.5, tenths, tenths.astype(np.float32).astype(float))
    values = {
        "sum": np.where(rng.random(400) < 0.5, 0.1 + 0.2, 0.3),
        "single precision": mixed,
        "text": [str(each) for each in mixed],
        "all single": tenths.astype(np.float32),
        "codes": [1_000_000_001 + k for k in rng.integers(0, 3, 400)],
    }[kind]
    report = table_leakage({"town": rng.choice(["x", "y"], 400), "v": values})
    told = any("differ by rounding alone" in each for each in report.cautions)
    assert told == (kind in ("sum", "single precision", "text"))
