"""Mechanisms on laws and sizes where formulas break: rare atoms, single cells, near-lattices."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import mialeak
from mialeak import max_leakage, mechanism_leakage
from mialeak.mechanisms import (
    Geometric,
    Histogram,
    Mean,
    MechanismLeakage,
    Mode,
    RandomRound,
    Round,
    Suppress,
    _closed_forms,
)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_which_of_many_cells_are_empty_is_told_where_all_others_are_hidden(gamma):
    """13 cells, more than are pushed together, and no count that is shown but 0."""
    law = np.arange(1.0, 14.0) / 91
    found = mechanism_leakage(Suppress(10, zeros_shown=True), law, 3, gamma=gamma)
    truth = mechanism_leakage(lambda c: (c > 0) @ 2 ** np.arange(13), law, 3, gamma=gamma)
    assert float(found) == pytest.approx(float(truth), abs=1e-14)
    assert float(mechanism_leakage(Suppress(10), law, 3, gamma=gamma)) < 1e-14


def test_an_enclosure_of_what_hides_nothing_is_in_order():
    law = np.random.default_rng(0).dirichlet(np.ones(50), 20)
    for p in law:
        found = mechanism_leakage(Suppress(1), p, 1000)
        assert found.upper * (1 - 1e-12) < found.lower <= found.upper


@pytest.mark.parametrize("n", [10**6, 2**53])
@pytest.mark.parametrize("ours", [Round(5), RandomRound(3), Suppress(5), Geometric(1.0)])
def test_a_single_cell_of_many_rows_tells_nothing(ours, n):
    assert float(mechanism_leakage(ours, [1.0], n)) == 0.0


def test_a_large_base_takes_little_memory():
    found = mechanism_leakage(RandomRound(2**20), [0.5, 0.5], 1000)
    assert 0.0 < found.lower < found.upper == mialeak.max_leakage([0.5, 0.5], 1000)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ours", [Histogram(), Round(5), Suppress(2), Geometric(1.0)])
@pytest.mark.parametrize("rows", ["fixed", "poisson"])
@pytest.mark.parametrize("rare", [5e-324, 1e-310, 1e-300])
def test_atoms_next_to_impossible_do_no_harm(ours, rows, rare):
    law = [0.5, 0.5, rare]
    found = mechanism_leakage(ours, law, 10, rows=rows)
    assert float(found) == pytest.approx(
        float(mechanism_leakage(ours, [0.5, 0.5], 10, rows=rows)), abs=1e-15
    )
    many = mechanism_leakage(ours, [*np.full(30, 1 / 30), rare], 10, rows=rows)
    assert 0.0 < many.lower <= many.upper < 1.0


@pytest.mark.parametrize(
    ("step", "n"), [(1000, 1), (1000, 2), (1000, 100), (1000, 1000), (100, 10**4), (100, 10**5)]
)
def test_the_mean_of_two_far_values_and_a_rare_one_is_their_histogram(step, n):
    """Nearly a lattice of that step: the sum tells all counts while the rare one is below it."""
    law = [0.6, 0.4 - 0.1 / n, 0.1 / n]
    found = mechanism_leakage(Mean([0, step, 1]), law, n)
    error = 2.0**-52 * (30 + math.sqrt(n))
    assert float(found) == pytest.approx(mialeak.max_leakage(law, n), abs=error)


def poisson_truth(p, n, base=1):
    """Leakage of Round(base) at gamma = 1 for a Poisson number of rows, at 60 digits.

    The mass of (N - m) over N >= b is m P(N = b - 1), so that only the two ends of the run of
    counts that holds the mean m matter.
    """

    def moment(m, count):
        return m * mpmath.exp((count - 1) * mpmath.log(m) - m - mpmath.loggamma(count))

    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for share in p:
            m = n * mpmath.mpf(float(share))
            first = (int(m) + base // 2) // base * base - base // 2
            total += max(moment(m, first), moment(m, first + base))
        return float(total / n)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("p", "n"),
    [
        ([0.5, 0.5], 2**32 - 10**7),
        ([0.5, 0.5], 4294968312),  # the first whose window of counts reached beyond 2**31
        ([0.5, 0.5], 2**32 + 10**7),
        ([0.2, 0.3, 0.5], 10**10),
        ([2.0**-10] * 2**10, 10**15),
    ],
)
@pytest.mark.parametrize(("ours", "base"), [(Histogram(), 1), (Suppress(5), 1), (Round(5), 5)])
def test_a_poisson_number_of_rows_beyond_two_to_the_31(p, n, ours, base):
    found = mechanism_leakage(ours, p, n, rows="poisson")
    assert float(found) == pytest.approx(poisson_truth(p, n, base), rel=1e-11)


def test_more_counts_than_can_be_listed_are_refused():
    with pytest.raises(
        ValueError, match="The leakage of the mechanism is not available at n = 1,000,"
    ):
        mechanism_leakage(Round(5), [0.5, 0.5], 10**15, rows="poisson")


def test_no_digit_below_the_error_is_printed():
    """The Fourier sums of the mode end at 1e-14; large deviations give e^-145 here."""
    found = mechanism_leakage(Mode(), [0.6, 0.2, 0.2], 1000)
    assert 0.0 <= found.upper <= found.error < 3e-14
    assert (
        repr(found)
        == "MechanismLeakage(lower=<1.7e-14, upper=<1.7e-14, kind='exact', rows='fixed')"
    )
    assert found.to_dict()["error"] == found.error


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "<1e-14"),
        (1e-15, "<1e-14"),
        (1e-14, "<1e-14"),
        (1.96e-13, "2e-13"),
        (0.123456789, "0.123457"),
    ],
)
def test_digits_are_printed_as_far_as_the_error_goes(value, printed):
    found = MechanismLeakage(value, value, "exact", error=1e-14)
    assert f"lower={printed}," in repr(found)


@pytest.mark.parametrize("rows", ["fixed", "poisson"])
def test_the_mean_of_many_rows_needs_few_frequencies(rows, monkeypatch):
    """Of the law of one row; that of many has no others, and a mean of bits is all of their counts.

    (With a Poisson number of rows it is the count of the ones, whose cell is the target's or not.)
    """
    seen = []

    def spy(steps, mass, width, frequency):
        seen.append((len(frequency), width))
        return transform(steps, mass, width, frequency)

    transform = _closed_forms._transform_less_one
    monkeypatch.setattr(_closed_forms, "_transform_less_one", spy)
    for n in (1, 2, 1000, 10**6):
        found = mechanism_leakage(Mean([0, 1]), [0.5, 0.5], n, rows=rows)
        expected = max_leakage([0.5, 0.5], n)
        if rows == "poisson":  # E|B - n p| / n of a Poisson count of mean n p, for a target of 1
            mean = n / 2
            mode = math.floor(mean)
            expected = math.exp(mode * math.log(mean) - mean - math.lgamma(mode + 1)) / 2
        assert float(found) == pytest.approx(expected, abs=found.error, rel=1e-9)
    assert seen[-1][0] < 0.05 * seen[-1][1]
    many = mechanism_leakage(Mean(np.arange(60)), np.full(60, 1 / 60), 10**6, rows=rows)
    assert seen[-1][0] < 1e-3 * seen[-1][1]
    assert 0.0 < float(many) < 1e-3


@pytest.mark.parametrize("gamma", [1e6, 1e10, 1e200])
@pytest.mark.parametrize("rare", [1e-12, 1e-300])
@pytest.mark.parametrize("statistic", [Mode(), Mean([0.1, 2, 1000])])
def test_no_statistic_leaks_more_than_the_counts_at_large_gamma(statistic, rare, gamma):
    law = [rare, 0.5, 0.5 - rare]
    found = mechanism_leakage(statistic, law, 5, gamma=gamma)
    assert float(found) <= max_leakage(law, 5, gamma=gamma)
    assert found.error >= (1e-14 * min(gamma, 1e100) if isinstance(statistic, Mode) else 1e-14)
