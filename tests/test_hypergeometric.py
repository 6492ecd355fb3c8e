"""Hypergeometric laws: exact fractions, symmetries, the limit with replacement, the same bits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import hypergeometric as truth
import numpy as np
import pytest
import referee
from hypothesis import given, strategies as st
from referee import EPS

from mialeak import special
from mialeak._kernels import ufuncs

#: E (H - c)+ has no public name yet.
excess = ufuncs.ufunc("hypergeom_excess", "E (H - c)+ of (c, N, K, n).")


def probabilities(N: int, K: int, n: int) -> list[Fraction]:
    """Of H = 0, ..., n, in whole numbers."""
    return [
        Fraction(math.comb(K, h) * math.comb(N - K, n - h), math.comb(N, n)) for h in range(n + 1)
    ]


def agrees(got: float, exact: Fraction, eps: float) -> bool:
    return abs(Fraction(float(got)) - exact) <= Fraction(eps * EPS) * exact


@pytest.mark.parametrize("N", [*range(14), 30])
def test_small_populations_are_those_of_exact_fractions(N):
    """Every K and n; a probability of 0 is 0, and its logarithm minus infinity."""
    for K, n in product(range(N + 1), repeat=2):
        law = probabilities(N, K, n)
        mean = Fraction(n * K, max(N, 1))
        mad = sum(abs(h - mean) * p for h, p in enumerate(law))
        assert agrees(special.hypergeom_mad(N, K, n), mad, 4), (N, K, n)
        h = np.arange(-1, n + 2)
        logs, tails = special.hypergeom_logpmf(h, N, K, n), special.hypergeom_sf(h, N, K, n)
        over = excess(h + 0.375, N, K, n)
        for i, k in enumerate(h.tolist()):
            p = law[k] if 0 <= k <= n else 0
            if p == 0:
                assert logs[i] == -np.inf
            else:
                exact = math.log(p.numerator) - math.log(p.denominator)
                assert logs[i] == pytest.approx(exact, rel=1e-13, abs=1e-13)
            assert agrees(tails[i], sum(law[k + 1 :], Fraction(0)) if k >= 0 else Fraction(1), 10)
            c = k + Fraction(3, 8)
            whole = sum((max(j - c, 0) * q for j, q in enumerate(law)), Fraction(0))
            assert agrees(over[i], whole, 10), (k, N, K, n)


@pytest.mark.parametrize("N", [57, 100, 101])
def test_every_deviation_on_both_sides_of_the_table_is_that_of_whole_numbers(N):
    """100 is the last population whose coefficients are in a table."""
    marked, drawn = (each.ravel() for each in np.mgrid[1:N, 1:N])
    got = special.hypergeom_mad(N, marked, drawn).tolist()
    row = [[math.comb(a, b) for b in range(a + 1)] for a in range(N + 1)]
    for value, K, n in zip(got, marked.tolist(), drawn.tolist(), strict=True):
        support = range(max(0, K + n - N), min(K, n) + 1)
        total = sum(abs(h * N - n * K) * row[K][h] * row[N - K][n - h] for h in support)
        assert agrees(value, Fraction(total, N * row[N][n]), 3), (N, K, n)


def test_excess_is_that_of_ball_arithmetic():
    columns = truth.with_count(np.random.default_rng(8), 150)
    c = columns[0] + np.random.default_rng(9).random(150) - 0.5
    got = excess(c, *columns[1:])
    for value, *point in zip(got, c, *columns[1:], strict=True):
        expected, _ = referee.rounded(truth.excess(*map(float, point)))
        if expected > 1e-290:
            assert value == pytest.approx(expected, rel=1e-13, abs=0.0), point


def test_excess_at_the_ends_of_the_law():
    assert excess(np.inf, 9, 4, 4) == 0
    assert excess(-np.inf, 9, 4, 4) == np.inf
    assert excess(-2.5, 9, 4, 3) == pytest.approx(2.5 + 12 / 9, rel=1e-15)
    assert excess(-1e300, 9, 4, 3) == 1e300
    assert excess([4, 4.5], 9, 4, 4).tolist() == [0, 0]
    assert excess([1.5, 3, 3.5], 9, 9, 3).tolist() == [1.5, 0, 0]


def test_sums_and_integrals_of_the_truth_agree(monkeypatch):
    N, K, n = 10**7, 4 * 10**6, 3 * 10**6
    for k in (n * K // N + 1, n * K // N + 900, n * K // N + 4000):
        with referee.precision(192):
            for power in (0, 1):
                monkeypatch.setattr(truth, "LONGEST_SUM", 10**9)
                by_sum = truth.moment_above(k, N, K, n, power)
                monkeypatch.setattr(truth, "LONGEST_SUM", 10)
                by_integral = truth.moment_above(k, N, K, n, power)
                assert abs(float(by_integral / by_sum - 1)) < 1e-24


def test_the_truth_encloses_exact_fractions():
    for N, K, n in ((30, 11, 17), (64, 32, 32), (50, 3, 40)):
        law = probabilities(N, K, n)
        for k in range(max(0, K + n - N), min(K, n)):
            tail = referee.rational(sum(law[k + 1 :]))
            with referee.precision(400):
                assert abs(truth.sf(k, N, K, n) - referee.arb(tail)) < referee.arb(2) ** -60
                log = referee.arb(referee.rational(law[k])).log()
                assert truth.logpmf(k, N, K, n).overlaps(log)


def laws_up_to(largest: int):
    """(N, K, n), K and n of every size up to N."""
    return st.integers(2, largest).flatmap(
        lambda N: st.tuples(st.just(N), st.integers(0, N), st.integers(0, N))
    )


@given(law=laws_up_to(2**53))
def test_marks_and_draws_change_places(law):
    """The ones not drawn are a sample too, and deviate alike."""
    N, K, n = law
    mad = special.hypergeom_mad(N, K, n)
    assert special.hypergeom_mad(N, n, K) == pytest.approx(mad, rel=8 * EPS)
    assert special.hypergeom_mad(N, K, N - n) == mad
    assert special.hypergeom_mad(N, N - K, n) == mad


@given(law=laws_up_to(2**53), share=st.floats(0, 1))
def test_tails_of_the_unmarked_are_those_of_the_marked(law, share):
    N, K, n = law
    h = math.floor(share * n)
    above, below = special.hypergeom_sf(h, N, K, n), special.hypergeom_sf(n - h - 1, N, N - K, n)
    assert above + below == pytest.approx(1, rel=1e-13)
    logs = special.hypergeom_logpmf([h, n - h], N, [K, N - K], n)
    assert logs[0] == logs[1]


@given(law=laws_up_to(3000))
def test_probabilities_sum_to_one(law):
    N, K, n = law
    h = np.arange(n + 1)
    assert math.fsum(np.exp(special.hypergeom_logpmf(h, N, K, n))) == pytest.approx(1, rel=1e-13)


@given(law=laws_up_to(2**53))
def test_the_deviation_is_twice_the_excess_over_the_mean(law):
    N, K, n = law
    mean = n * K / N
    if Fraction(mean) == Fraction(n * K, N):
        mad = special.hypergeom_mad(N, K, n)
        assert mad == pytest.approx(2 * excess(mean, N, K, n), rel=2e-13, abs=1e-290)


def test_a_large_population_is_the_limit_with_replacement():
    N, n, h = 2.0**53, 1000, np.arange(0, 1001, 50)
    for share in (2.0**-9, 0.25, 0.75):
        mad = special.hypergeom_mad(N, share * N, n)
        assert mad == pytest.approx(special.binom_mad(n, share), rel=1e-9)
        logs = special.hypergeom_logpmf(h, N, share * N, n)
        assert logs == pytest.approx(special.binom_logpmf(h, n, share), rel=1e-9)


@pytest.mark.parametrize("N", [10**15 + 37, 2**53 - 1, 2**53])
def test_the_floor_of_the_mean_is_that_of_whole_numbers(N):
    """Here n K is 1 less than a multiple of N, and n K/N in float64 is that multiple."""
    K = 3**25
    n = -pow(K, -1, N) % N
    assert math.floor(n * K / N) != n * K // N
    expected, _ = referee.rounded(truth.mad(N, K, n))
    assert special.hypergeom_mad(N, K, n) == pytest.approx(expected, rel=4 * EPS)
