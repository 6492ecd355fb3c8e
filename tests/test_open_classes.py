"""Classes that are open above, as offices of many languages write them, and others beside them."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.tables import table_leakage

TOWNS = 12
RNG = np.random.default_rng(8)
#: Persons of the ages 0-14, 15-24, 25-64, 65-74 and from 75 on, in each town.
FROM_0, FROM_15, FROM_25, FROM_65, FROM_75 = RNG.integers(60, 240, (5, TOWNS))
FROM_25 *= 3

OPEN = [
    "{} Jahre und mehr", "{} anni e più", "{} & over", "{} plus", "aged {} and over",
    "{} ans ou plus", "plus de {} ans", "{} o más", "de {} años en adelante", "{} anos ou mais",
    "{} e mais anos", "{} jaar en ouder", "{} år og ældre", "{} lat i więcej", "{} a více let",
    "{} éves és idősebb", "{} vuotta täyttäneet", "{} \u2013", "{} лет и старше", "{}歳以上",
    "{}-w", "{}-max", "Y{}-MAX", "{} u. ä.", "{} J. und älter",
]  # fmt: skip


def overlaps(classes):
    """Whether the classes with these counts have the caution."""
    table = {
        "age": [name for name in classes for _ in range(TOWNS)],
        "town": [f"t{k}" for k in range(TOWNS)] * len(classes),
        "n": [int(count) for counts in classes.values() for count in counts],
    }
    return any("overlap" in each for each in table_leakage(table, counts="n").cautions)


def named(form, *ages):
    return [form.format(age) for age in ages]


@pytest.mark.parametrize("form", OPEN)
def test_open_classes_that_hold_others_are_named(form):
    closed = "Y{}-{}" if form.startswith("Y") else "{}-{}"
    old, older = named(form, 15, 75)
    every = FROM_15 + FROM_25 + FROM_65 + FROM_75
    held = {closed.format(0, 14): FROM_0, closed.format(15, 24): FROM_15, old: every}
    assert overlaps({**held, older: FROM_75})


@pytest.mark.parametrize("form", OPEN)
def test_an_open_class_above_all_others_is_right(form):
    (oldest,) = named(form, 75)
    assert not overlaps(
        {"0-14": FROM_0, "15-24": FROM_15, "25-64": FROM_25, "65-74": FROM_65, oldest: FROM_75}
    )


@pytest.mark.parametrize(
    "below", ["15 and under", "15 jaar en jonger", "15 lat i mniej", "poniżej 15", "menos de 15"]
)
def test_a_class_that_is_open_below_is_right(below):
    assert not overlaps({below: FROM_0 * 9, "16-24": FROM_15, "25-64": FROM_25, "65+": FROM_65})


def test_single_years_beside_classes_are_right():
    years = {f"{k} years old": RNG.integers(60, 240, TOWNS) for k in range(4)}
    assert not overlaps({**years, "4-9 years": FROM_15, "10-14 years": FROM_65})
