"""The search for the smallest number of rows, against falling functions with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mialeak._numerics.rows_needed import excess, rows_bracket, rows_needed

MOST = 2**53


@pytest.mark.parametrize("near", [1.0, 2.0, 999.5, 1e9, 2.0**53])
@pytest.mark.parametrize("answer", [1, 2, 3, 4, 5, 17, 1000, 1001, 12_345_678_901, MOST - 1, MOST])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_answer_is_exact_from_any_guess(answer, near, power):
    """A step of the leakage at `answer` is the worst case of an interpolation."""
    calls = []

    def leaks(n):
        calls.append(n)
        return 0.1 * (answer / n) ** power * (1.0 if n >= answer else 1.001)

    assert rows_needed(leaks, 0.1, near=near) == answer
    assert all(1 <= n <= MOST for n in calls)
    assert len(calls) < 120
    assert len(set(calls)) == len(calls)


def test_interpolation_takes_few_steps():
    calls = []

    def leaks(n):
        calls.append(n)
        return 3.0 / math.sqrt(n)

    assert rows_needed(leaks, 0.001, near=1000.0) == 9_000_000
    assert len(calls) < 20


def test_where_2_to_the_53_rows_leak_more_the_message_states_how_much():
    with pytest.raises(
        ValueError, match=r"leakage must be reached with at most 2\*\*53 rows"
    ) as got:
        rows_needed(lambda n: 0.25, 0.125)
    assert "which leak 0.25; got leakage = 0.125" in str(got.value)


def test_a_release_has_at_least_so_many_rows():
    assert rows_needed(lambda n: 0.0, 0.5, near=100.0, least=2) == 2


def test_elements_are_searched_side_by_side():
    answers = np.array([1.0, 7.0, 10_000.0, 2.0**53, 2.0**60])

    def function(n, which):
        return excess(answers[which] / n, 1.0)

    low, high = rows_bracket(function, np.full(5, 50.0))
    assert low.tolist() == [0.0, 6.0, 9999.0, 2.0**53 - 1, 2.0**53]
    assert high.tolist() == [1.0, 7.0, 10_000.0, 2.0**53, math.inf]


@pytest.mark.parametrize("answer", [1, 30, 4321, 10**12])
def test_with_a_precision_the_answer_lies_between(answer):
    """Signs alone: infinite values."""
    calls = []

    def function(n, _):
        calls.append(n[0])
        return np.where(n < answer, np.inf, -np.inf)

    (low,), (high,) = rows_bracket(function, [100.0], precision=0.02)
    assert low < answer <= high
    assert high <= 1.02 * low or high - low == 1
    assert len(calls) < 40


def test_an_excess_has_the_sign_of_the_difference():
    """Where two neighbouring floats have one logarithm, and at 0."""
    value = 1e300
    above = np.nextafter(value, np.inf)
    assert excess(above, value) > 0.0
    assert excess(value, value) == 0.0
    assert excess(value, above) <= 0.0
    assert excess(0.0, value) == -math.inf
