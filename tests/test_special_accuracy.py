"""Every special function against the truth: stored points, fresh points, seams, edges."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import stored
from truth import CASES, Case, describe, errors, truths

from mialeak import __version__

#: Another sample of fresh points with every version.
SEED = zlib.crc32(__version__.encode())

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_seam = pytest.mark.parametrize(
    ("case", "seam"),
    [pytest.param(case, seam, id=f"{case.name}: {seam}") for case in CASES for seam in case.seams],
)


def assert_within_bounds(case: Case, columns, truth, rest) -> None:
    """Each point with a truth above the smallest tested keeps the bound of its region."""
    got = case.function(*columns)
    error = errors(case, got, truth, rest)
    error[np.maximum(np.abs(truth), case.floor) < case.least] = 0
    bound = np.array([region.bound for region in case.regions])[case.region_of(columns)]
    bad = error > bound
    columns = [column[bad] for column in columns]
    assert not bad.any(), "\n" + describe(case, columns, got[bad], truth[bad], error[bad])


@each_case
def test_stored_points_are_within_the_bounds(case):
    columns, truth, rest = stored.read(case)
    assert_within_bounds(case, columns, truth, rest)


@each_case
def test_no_region_is_worse_than_it_was(case):
    """The stored worst errors may only shrink (``make_truth.py --worst`` stores them anew)."""
    columns, truth, rest = stored.read(case)
    error = errors(case, case.function(*columns), truth, rest)
    region = case.region_of(columns)
    before = stored.read_worst()[case.name]
    assert list(before) == [part.name for part in case.regions]
    worse = {
        name: (worst, error[region == i].max())
        for i, (name, worst) in enumerate(before.items())
        if error[region == i].max() > 1.1 * worst
    }
    assert not worse


@each_case
def test_fresh_points_are_within_the_bounds(case):
    columns = case.sampler(
        np.random.default_rng(SEED), 400 if case.name in {"binom_mad", "binom_logpmf"} else 100
    )
    assert_within_bounds(case, columns, *truths(case, columns))


@each_seam
def test_both_sides_of_a_seam_are_within_the_bounds(case, seam):
    size = 400 if case.name in {"binom_mad", "binom_logpmf"} else 40
    columns = case.seams[seam](np.random.default_rng(SEED), size)
    assert_within_bounds(case, columns, *truths(case, columns))


@each_case
def test_edges_are_met_exactly(case):
    for arguments, value in case.edges:
        got = case.function(*arguments)
        assert got == value, f"{case.name}{arguments} = {got!r}, not {value!r}"


@each_case
def test_every_edge_is_met_in_an_array_too(case):
    """Lanes with unlike methods side by side do not disturb one another."""
    columns = np.array([arguments for arguments, _ in case.edges], float).T
    expected = np.array([value for _, value in case.edges])
    assert np.array_equal(case.function(*columns), expected)


@each_case
def test_a_value_does_not_depend_on_its_neighbours(case):
    """The same bits alone, in an array, and in an array of any length and order."""
    columns, _, _ = stored.read(case)
    columns = [column[:700] for column in columns]
    together = case.function(*columns)
    alone = [case.function(*point) for point in zip(*columns, strict=True)]
    assert np.array_equal(together, alone)
    order = np.random.default_rng(5).permutation(together.size)
    assert np.array_equal(case.function(*(column[order] for column in columns)), together[order])
    for size in range(1, 40):
        assert np.array_equal(case.function(*(c[:size] for c in columns)), together[:size])
