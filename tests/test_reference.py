"""The NumPy twins are right where the formula in float64 is, and the truth tells how far."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import referee
import rivals
from truth import CASES, errors, max_leakage_by_enumeration, truths

from mialeak import reference

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def moderate_points(case) -> list[np.ndarray]:
    """Points within 2 standard deviations of the mean, n below 10,000."""
    columns = case.family.moderate(np.random.default_rng(6), 300)
    return [columns[name] for name in case.arguments]


@each_case
def test_twins_and_scipy_forms_agree_with_the_truth_at_moderate_points(case):
    columns = moderate_points(case)
    truth, rest = truths(case, columns)
    for name, function in case.rivals.items():
        worst = errors(case, function(*columns), truth, rest).max()
        # 1e-8: the two terms of an excess cancel by up to 1e4, and log-factorials lose 1e-12.
        assert worst < 1e-8 / 2**-52, name


@each_case
def test_twins_meet_the_edges(case):
    for arguments, value in case.edges:
        if np.all(np.isfinite(arguments)):
            got = case.twin(*arguments)
            assert got == pytest.approx(value, rel=1e-7, abs=1e-12), arguments


@each_case
def test_twins_broadcast_and_keep_scalars(case):
    columns = moderate_points(case)
    twin = case.twin
    flat = twin(*columns)
    assert np.ndim(twin(*(column[0] for column in columns))) == 0
    assert np.array_equal(twin(*(column.reshape(30, 10) for column in columns)).ravel(), flat)


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0, 1.5, 4.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_leakage_twin_is_the_enumerated_maximum(n, gamma):
    p = [Fraction(1, 2), Fraction(5, 16), Fraction(3, 16)]
    expected = max_leakage_by_enumeration(p, n, Fraction(gamma))
    assert reference.leakage_sum([float(x) for x in p], n, gamma) == pytest.approx(float(expected))


def test_leakage_twin_of_many_atoms_is_the_truth():
    p = np.random.default_rng(7).dirichlet(np.ones(40))
    expected, _ = referee.rounded(referee.max_leakage(p, 500))
    assert reference.leakage_sum(p, 500) == pytest.approx(expected, rel=1e-11)
    assert rivals.max_leakage(p, 500) == pytest.approx(expected, rel=1e-11)
    assert p @ reference.leakage_atoms(p, 500) == pytest.approx(expected, rel=1e-11)
