"""Columns of a mean that name families or matched sets, by a simulation of twins; and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage

RNG = np.random.default_rng(4)
ROWS = 400


def table(**columns):
    return pd.DataFrame(
        {**columns, "iq": RNG.normal(100, 15, ROWS), "age": RNG.normal(50, 9, ROWS)}
    )


@pytest.mark.parametrize("name", ["family", "FID", "fam_id", "pair", "twin_pair", "hhid", "set"])
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("form", [int, "F{:03}".format])
def test_groups_of_persons_that_are_averaged_have_one_caution(name, size, form):
    frame = table(**{name: [form(k // size) for k in range(ROWS)]})
    (caution,) = mean_leakage(frame).cautions
    assert caution.startswith(f"Column {name!r} seems to name the household, family, pair")
    assert f"{ROWS:,} rows have {ROWS // size} of its values" in caution
    assert f"up to {np.sqrt(size):.2g} times as much" in caution
    assert f"exclude=[{name!r}]" in caution
    how = "It is averaged here as a" if form is int else "The share of each is published here"
    assert how in caution
    assert "such as the mean of theirs" not in caution
    assert mean_leakage(frame, exclude=[name]).cautions == ()


def test_the_factor_is_that_of_twins():
    """The mean of pairs with correlation 0.8, with one pair fixed and without, by simulation."""
    rng, n, r = np.random.default_rng(5), 40, 0.8
    drawn = rng.normal(size=(20_000, n // 2, 2))
    twins = np.sqrt(r) * drawn[:, :, :1] + np.sqrt(1 - r) * rng.normal(size=(20_000, n // 2, 2))
    x = 2.0
    co_twin = r * x + np.sqrt(1 - r**2) * rng.normal(size=20_000)
    out = twins.mean(axis=(1, 2))
    known = (twins[:, 1:].sum(axis=(1, 2)) + x + co_twin) / n
    shift = (known.mean() - out.mean()) / out.std()
    alone = x / np.sqrt(n)
    assert shift / alone == pytest.approx(np.sqrt(1 + r), abs=0.05)
    assert shift / alone < np.sqrt(2)


def test_the_factor_of_a_large_family_among_single_persons():
    """The deviation of a mean with 90 single persons and 10 families of 10 who are all alike."""
    sizes = np.repeat([1, 10], [90, 10])
    persons = np.repeat(np.arange(100), sizes)
    means = np.random.default_rng(6).normal(size=(20_000, 100)) @ sizes / 190
    factor = (10 / 190) / means.std() * np.sqrt(190)
    frame = pd.DataFrame({"family": persons, "iq": np.random.default_rng(7).normal(size=190)})
    (caution,) = mean_leakage(frame).cautions
    shown = float(caution.split("small leakages up to ")[1].split(" times")[0])
    assert shown == pytest.approx(factor, rel=0.03)
    assert "as much where 10 are" in caution


@pytest.mark.parametrize(
    "column",
    [
        {"family": RNG.integers(1, 6, ROWS)},  # its size
        {"set": RNG.integers(1, 4, ROWS)},  # of a split
        {"pair": RNG.poisson(40, ROWS)},  # a measure
        {"match": RNG.random(ROWS)},
        {"familiarity": np.arange(ROWS) // 2},
    ],
)
def test_other_columns_have_none(column):
    assert not [each for each in mean_leakage(table(**column)).cautions if "household" in each]


def test_the_report_states_that_persons_are_drawn_independently():
    assert "drawn independently of the others, not with a household or class" in " ".join(
        str(mean_leakage(table())).split()
    )
