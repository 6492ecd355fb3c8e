"""The leakage of releases for the population that a sample came from."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak import Release, atom_leakage, table_leakage
from mialeak.datasets import load_adult
from mialeak.tables import estimate_max_leakage


def test_one_table_of_a_sample_leaks_what_the_report_on_tables_states():
    adult = load_adult().columns
    columns = ["age", "education", "sex"]
    release = Release(adult)
    release.add_table(columns)
    report, table = release.leakage(), table_leakage(adult, columns)
    estimate = table.estimate
    assert report.kind == report.average.kind == report.highest.kind == "estimate"
    assert (report.average.low, report.average.high) == (estimate.low, estimate.high)
    assert report.average.value == estimate.value
    assert report.plug_in.average.value == pytest.approx(table.plug_in, rel=1e-12)
    assert report.plug_in.kind == "exact"
    for row in table.riskiest(5):
        low, high = (ends[row.row] for ends in (report.row_leakage.lower, report.row_leakage.upper))
        assert (low, high) == pytest.approx((row.low, row.high), rel=1e-12)


def test_a_person_alone_in_a_sample_may_leak_up_to_one():
    """By the sample's own frequencies it was 1/e at most, and a gate at 0.5 passed."""
    release = Release({"town": ["A"] * 600 + ["B"] * 599 + ["C"]})
    release.add_table(["town"])
    report = release.leakage()
    assert report.plug_in.highest.high == pytest.approx((1 - 1 / 1200) ** 1200, rel=1e-12)
    assert report.highest.high == 1.0
    assert report.riskiest(1)[0].plug_in.high < 0.37


def test_ranges_of_a_sample_hold_the_leakage_of_the_population():
    """150 samples of 1,000 people of a law with many rare cells, and two tables of them."""
    rng = np.random.default_rng(20261124)
    shape, rows, samples = (40, 30), 1000, 150
    law = np.outer(1.0 / np.arange(1, 41), 1.0 / np.arange(1, 31))
    law = np.sort(rng.exponential(law.ravel()))[::-1]  # not independent
    law = (law / law.sum()).reshape(shape)
    joint = float(law.ravel() @ atom_leakage(law.ravel(), rows))
    single = [atom_leakage(law.sum(axis=k), rows) for k in (1, 0)]
    best = max(float(law.sum(axis=k) @ leaks) for k, leaks in zip((1, 0), single, strict=True))
    of_cells = atom_leakage(law.ravel(), rows).reshape(shape)
    average = row_low = row_high = 0
    for _ in range(samples):
        a, b = np.unravel_index(rng.choice(law.size, rows, p=law.ravel()), shape)
        release = Release({"a": a, "b": b})
        release.add_table(["a"])
        release.add_table(["b"])
        report = release.leakage()
        average += report.average.low <= best and joint <= report.average.high
        row = rng.integers(rows)
        low, high = report.row_leakage.lower[row], report.row_leakage.upper[row]
        row_low += low <= max(single[0][a[row]], single[1][b[row]]) * (1 + 1e-12)
        row_high += of_cells[a[row], b[row]] <= high * (1 + 1e-12)
    # 95 % nominal: fewer than 133 of 150 have a chance of 1 in 1,800.
    assert min(average, row_low, row_high) >= 133


def test_what_is_known_of_a_register_is_no_estimate():
    people = {"town": ["A"] * 6 + ["B"] * 3 + ["C"]}
    register = {"town": ["A"] * 40 + ["B"] * 30 + ["C"] * 2}
    release = Release(people, register)
    release.add_table(["town"])
    report = release.leakage()
    assert report.population is report.plug_in
    assert report.kind == "exact"
    assert report.joint is None


def test_a_random_sample_of_a_register_has_no_caution_by_columns_without_outputs():
    """Nor has one whose columns hold other values in the register, or are written otherwise."""
    rng = np.random.default_rng(31)
    register = {
        "sex": rng.choice(["f", "m"], 3000),
        "age": rng.integers(18, 90, 3000),
        "town": rng.choice(list("pqrst"), 3000, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
        "id": np.arange(3000),
    }
    drawn = rng.choice(3000, 600, replace=False)
    people = {name: values[drawn] for name, values in register.items()}
    for changed in ({}, {"town": np.char.upper(people["town"])}, {"age": people["age"] + 100}):
        release = Release({**people, **changed}, population=register)
        release.add_table(["sex"])
        assert release.leakage().cautions == ()
    old = {name: values[register["age"] > 60][:600] for name, values in register.items()}
    release = Release(old, population=register)
    release.add_table(["sex"])
    (caution,) = release.leakage().cautions
    assert "in column 'age', which no output counts by" in caution


def test_a_further_table_lowers_no_lower_end_but_by_its_share_of_the_confidence():
    """The counts of both bands of ages by sex and job follow, whatever is added."""
    rng = np.random.default_rng(17)
    people = {"sex": rng.choice(["f", "m"], 4000, p=[0.25, 0.75]), "job": rng.integers(0, 4, 4000)}
    people |= {"age": rng.integers(20, 70, 4000), "born": rng.integers(0, 2, 4000)}
    is_old = (people["age"] >= 60).astype(int)
    counts = np.bincount(is_old * 8 + people["job"] * 2 + (people["sex"] == "f"))
    release = Release(people)
    release.add_table(["sex", "job"])
    release.add_table(["sex", "job"], where={"age": {"max": 59}})
    before = release.leakage().population.average.low
    assert before == estimate_max_leakage(counts).low
    release.add_table(["sex", "born"], where={"age": {"min": 60}})
    after = release.leakage().population.average.low
    # One of four candidates: the three tables, and the counts that follow from the first two.
    assert after == estimate_max_leakage(counts, confidence=1.0 - 0.05 / 4).low
    assert 0.99 * before < after < before
