"""Record numbers that begin anew in each site: one number is not one person."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.means import mean_leakage
from mialeak.releases import Release
from mialeak.tables import table_leakage

SIZES = [60, 45, 80, 30]
RNG = np.random.default_rng(19)
COLUMNS = ["sex", "age"]


def persons(rows):
    return {"sex": RNG.integers(0, 2, rows), "age": RNG.choice(["<40", "40-60", ">60"], rows)}


def local(name="id", site="site", word="{}", gaps=0.0):
    """Patients of four sites, each numbered from 1; a share of them is taken out."""
    numbers = [word.format(k + 1) for size in SIZES for k in range(size)]
    table = {site: np.repeat(list("ABCD"), SIZES), name: numbers, **persons(sum(SIZES))}
    frame = pd.DataFrame(table).infer_objects()
    return frame[RNG.random(len(frame)) >= gaps].sample(frac=1.0, random_state=1)


LOCAL = {
    "numbers": local(),
    "text": local("patient_id", "hospital", "P{:03}"),
    "gaps": local("subject", "clinic", gaps=0.2),
}


def said(report):
    return " ".join(report.cautions)


@pytest.mark.parametrize("kind", LOCAL)
def test_numbers_that_begin_anew_in_each_site_name_no_person(kind):
    frame = LOCAL[kind]
    site, name, *_ = frame
    text = said(table_leakage(frame, COLUMNS, person=name))
    assert f"Column {name!r} numbers the rows of each value of column {site!r}" in text
    assert "rows with one number are not one: leave person out" in text
    text = said(table_leakage(frame))
    assert f"Column {name!r} begins anew in each value of column {site!r}" in text
    assert "pass person=" not in text
    assert not table_leakage(frame, COLUMNS).cautions
    assert not table_leakage(frame, [site, *COLUMNS]).cautions
    measured = frame.assign(bmi=RNG.normal(26.0, 4.0, len(frame)))
    assert "identifier" not in said(mean_leakage(measured, ["bmi", site]))
    release = Release(frame)
    release.add_table(COLUMNS)
    assert "identifier" not in said(release.leakage())


def test_the_person_who_has_one_number_in_each_site_was_joined_of_several():
    """Each row is a person: with person=, up to four are one, and leak as one."""
    frame = local()
    report = table_leakage(frame, COLUMNS, person="id")
    assert report.persons.persons == max(SIZES) < len(frame)


def visits():
    """80 persons of the register of all sites, with three rows each, and one site each."""
    home = np.repeat(RNG.choice(list("ABCD"), 80), 3)
    return pd.DataFrame({"site": home, "id": np.repeat(np.arange(1, 81), 3), **persons(240)})


def runs():
    """40 persons, who were measured in each of three batches but for some who were not there."""
    crossed = pd.DataFrame(
        {"batch": np.repeat(list("xyz"), 40), "id": np.tile(np.arange(1, 41), 3), **persons(120)}
    )
    return crossed[RNG.random(120) < 0.85]


def openings():
    """Persons who were in a second hospital as well, which opened later."""
    numbers = [*range(1, 61), *range(40, 121)]
    table = {"hospital": ["A"] * 60 + ["B"] * 81, "id": numbers, **persons(141)}
    return pd.DataFrame(table)


@pytest.mark.parametrize(
    "frame", [visits(), runs(), openings()], ids=["visits", "runs", "openings"]
)
def test_numbers_of_all_sites_are_those_of_persons(frame):
    assert "Column 'id' numbers" not in said(table_leakage(frame, COLUMNS, person="id"))
    assert "pass person='id'" in said(table_leakage(frame, COLUMNS))
