"""Tables of matched pairs and sets: a row a person, with the number of the pair."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak.tables import table_leakage

PAIRS = 40
RNG = np.random.default_rng(17)
NUMBER = np.repeat(np.arange(1, PAIRS + 1), 2)
ONE = np.tile([1, 0], PAIRS)
AGE, SEX = (np.repeat(RNG.integers(*limits, PAIRS), 2) for limits in ((40, 50), (0, 2)))

TABLES = {
    "cases and controls": {"pair": NUMBER, "case": ONE, "dose": RNG.integers(0, 4, 2 * PAIRS)},
    "bits": {"m": NUMBER, "case": ONE, "smoker": RNG.integers(0, 2, 2 * PAIRS)},
    "strata": {"stratum": NUMBER, "status": ONE, "age": AGE, "bmi": 18 + RNG.poisson(7, 2 * PAIRS)},
    "twins": {"twin_pair": NUMBER, "twin": ONE, "sex": SEX, "iq": 90 + RNG.poisson(9, 2 * PAIRS)},
    "couples": {"couple": NUMBER, "sex": ONE, "children": RNG.poisson(2, 2 * PAIRS)},
    "sets of three": {
        "set": np.repeat(np.arange(1, PAIRS + 1), 3),
        "case": np.tile([1, 0, 0], PAIRS),
        "visits": RNG.poisson(3, 3 * PAIRS),
    },
}  # fmt: skip


def cautions_of(table, **options):
    return " ".join(table_leakage(table, **options).cautions)


@pytest.mark.parametrize("kind", TABLES)
def test_persons_of_matched_sets_are_no_cells(kind):
    said = cautions_of(TABLES[kind])
    assert "already counted" not in said
    (first, *_) = TABLES[kind]
    number = f"Column {first!r} seems to number families, pairs or matched sets of rows"
    assert (number in said) == (kind != "bits")
    assert ("long table" in said) == (kind == "bits")


def test_sets_that_are_left_out_make_no_copies_of_the_others():
    table = {"set": NUMBER, "case": ONE, "age": AGE, "sex": SEX}
    said = cautions_of(table, columns=["age", "sex"])
    assert "is there 2 times" not in said
    assert "again, in the same order" not in said
    twice = {name: np.concatenate([each, each]) for name, each in table.items()}
    assert "is there 4 times" in cautions_of(twice, columns=["age", "sex"])
    del table["set"]
    assert "is there 2 times" in cautions_of(table, columns=["age", "sex"])


@pytest.mark.parametrize("counts", ["n", "count"])
def test_cells_of_numbered_strata_are_cells_still(counts):
    table = {"stratum": NUMBER, "sex": ONE, counts: RNG.poisson(9, 2 * PAIRS)}
    with pytest.raises(ValueError, match=f"counts='{counts}'"):
        table_leakage(table)
    named = {"region": np.repeat([f"region {chr(65 + k)}" for k in range(PAIRS)], 2), **table}
    del named["stratum"]
    stock = {"region": named["region"], "sex": ONE, "stk": RNG.poisson(9, 2 * PAIRS)}
    assert "already counted" in cautions_of(stock)


def test_many_columns_of_decimals_have_no_warning_of_an_overflow():
    """Of the number of combinations of their values, which is beyond 2**63."""
    table = {f"x{k}": RNG.normal(size=300) for k in range(12)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_leakage(table)
