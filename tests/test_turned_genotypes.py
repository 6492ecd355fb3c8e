"""Genotypes that are written with their alleles in both orders, and other pairs of values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage, table_leakage

RNG = np.random.default_rng(21)


def pairs(*alleles, form="{}/{}", ordered=False, same=True):
    drawn = RNG.choice(len(alleles), (600, 2))
    drawn = np.sort(drawn, axis=1) if ordered else drawn
    if not same:
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    values = [form.format(alleles[i], alleles[j]) for i, j in drawn]
    return pd.DataFrame({"x": values, "sex": RNG.choice(["F", "M"], len(values))})


def met(report):
    return [each for each in report.cautions if "two alleles of a person in any order" in each]


ALLELES = [
    ("A", "G"),
    ("*1", "*2", "*17"),
    ("e2", "e3", "e4"),
    ("A*02:01", "A*03:01"),
    ("C", "CTT"),
]


@pytest.mark.parametrize("alleles", ALLELES)
def test_both_orders_have_one_caution_in_a_table(alleles):
    (caution,) = met(table_leakage(pairs(*alleles)))
    first, second = caution.split("'")[1:4:2]
    assert first.split("/") == second.split("/")[::-1]
    assert first != second
    assert "column 'x'" in caution
    assert met(table_leakage(pairs(*alleles, ordered=True))) == []


@pytest.mark.parametrize(
    "frame",
    [
        pairs("home", "work"),  # from and to
        pairs(*range(1, 13)),  # days and months, or results
        pairs("A", "G", form="{}|{}"),  # phased
        pairs("A", "B", same=False),  # a match of two teams
        pairs("yes", "no"),
    ],
)
def test_other_pairs_have_none(frame):
    assert met(table_leakage(frame)) == []


def test_means_name_both_orders_of_alleles_with_several_letters():
    (caution,) = mean_leakage(pairs("e2", "e3", "e4")[["x"]]).cautions
    first, second = caution.split("'")[3:6:2]
    assert first.split("/") == second.split("/")[::-1]
