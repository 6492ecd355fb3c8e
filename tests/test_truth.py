"""The referee is held to account: exact rational sums, and proof that its whistle blows."""

from __future__ import annotations

import math
import zlib
from fractions import Fraction

import numpy as np
import pytest
import referee
import stored
import truth
from flint import arb
from truth import CASES, EPS

from mialeak import __version__

#: CI recomputes another sample of the stored truth with every version.
SEED = zlib.crc32(__version__.encode())


def exact_sum(n: int, p: float, term) -> Fraction:
    """E term(B), in rational arithmetic."""
    p = Fraction(p)
    return sum(
        (term(j) * math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)), Fraction(0)
    )


def contains(ball: arb, value: Fraction) -> bool:
    with referee.precision(4000):
        return ball.contains(referee.rational(value))


def small_laws(count: int):
    """(c, n, p) with n below 50 and p, c of every kind."""
    rng = np.random.default_rng(3)
    for _ in range(count):
        n = int(rng.integers(1, 50))
        p = rng.choice([rng.random(), 10.0 ** -rng.uniform(0, 20), 1 - 2.0 ** -rng.integers(1, 54)])
        whole = float(rng.integers(1, n + 1))
        c = rng.choice([rng.uniform(0, n), whole, np.nextafter(whole, 0), n * p])
        yield float(c), n, float(p)


def test_deviations_enclose_the_exact_sums():
    for c, n, p in small_laws(60):
        mean, cut = n * Fraction(p), Fraction(c)
        mad = exact_sum(n, p, lambda j, mean=mean: abs(j - mean))
        excess = exact_sum(n, p, lambda j, cut=cut: max(j - cut, 0))
        assert contains(referee.binom_mad(n, p), mad)
        assert contains(referee.binom_excess(c, n, p), excess)
        assert contains(referee.binom_shortfall(c, n, p), excess + cut - mean)


def test_logpmf_encloses_the_log_of_the_exact_probability():
    for c, n, p in small_laws(40):
        k = int(c)
        probability = exact_sum(n, p, lambda j, k=k: Fraction(j == k))
        with referee.precision(200):
            expected = arb(referee.rational(probability)).log()
        assert referee.binom_logpmf(k, n, p).overlaps(expected)


@pytest.mark.parametrize(
    ("n", "p"),
    [(10**3, 0.3), (10**6, 1e-12), (10**6, 0.3), (2**53, 1e-12), (2**53, 0.3), (2**53, 0.999)],
)
def test_continued_fraction_and_incomplete_beta_agree(n, p):
    exact = referee.rational(p)
    k = int(n * p + 12 * math.sqrt(n * p * (1 - p))) + 1
    with referee.precision(192):
        fraction = referee.tail_fraction(k, n, exact)
        by_fraction = referee.log_pmf(k, n, exact).exp() * arb(1 - exact) * fraction
    with referee.precision(400):
        if p <= 0.5:
            by_beta = arb(exact).beta_lower(arb(k), arb(n - k + 1), True)
        else:
            by_beta = 1 - arb(1 - exact).beta_lower(arb(n - k + 1), arb(k), True)
    assert by_fraction.overlaps(by_beta)
    assert by_fraction.rad() < by_fraction * 1e-30
    assert by_beta.rad() < by_beta * 1e-30


def test_rounding_is_to_nearest_and_the_rest_is_what_it_took():
    with referee.precision(200):
        nearest, rest = referee.rounded(arb(1) / 3)
        assert nearest == 1 / 3
        assert rest == pytest.approx(float((Fraction(1, 3) - Fraction(1 / 3)) * 3 / Fraction(EPS)))
        assert referee.rounded(arb(1) + arb(2) ** -54) == (1.0, pytest.approx(0.25))
        assert referee.rounded(arb(0)) == (0.0, 0.0)
        assert referee.rounded(arb(2) ** -1080)[0] == 0.0


def test_an_uncertain_value_is_refused():
    with pytest.raises(ArithmeticError, match="no certain value"):
        referee.certain(lambda: arb(1, 1e-9))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_errors_are_seen(case):
    """One unit in the last place more is seen as just that, and NaN or a wrong sign never pass."""
    true = np.full(4, 1.5)
    got = np.array([1.5, 1.5 + EPS, np.nan, -1.5])
    error = truth.errors(case, got, true, np.zeros(4))
    assert error[0] == 0
    assert error[1] == pytest.approx(1 / 1.5)
    assert error[2] == np.inf
    assert error[3] > 1e15


def test_errors_count_what_rounding_the_truth_took():
    case = CASES[0]
    got = np.array([1.0, 1.0 + EPS, 1.0])
    error = truth.errors(case, got, np.ones(3), np.array([0.4, 0.4, -0.2]))
    assert error == pytest.approx([0.4, 0.6, 0.2])


def test_errors_are_absolute_only_where_the_case_says_so():
    relative, absolute = CASES[0], next(case for case in CASES if case.floor == 1)
    small = np.array([EPS])
    assert truth.errors(relative, 2 * small, small, np.zeros(1)) == 1 / EPS
    assert truth.errors(absolute, 2 * small, small, np.zeros(1)) == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_samplers_stay_in_the_domain_and_visit_every_region(case):
    samplers = [case.sampler, *case.seams.values()]
    for sampler in samplers:
        columns = dict(zip(case.arguments, sampler(np.random.default_rng(1), 2000), strict=True))
        for name in set(columns) & {"n", "k", "N", "K"}:
            count = columns[name]
            assert np.all((count >= (name != "k")) & (count <= 2**53) & (count == np.floor(count)))
        assert np.all(case.family.contains(columns))
    columns = case.sampler(np.random.default_rng(2), 2000)
    assert np.all(np.bincount(case.region_of(columns), minlength=len(case.regions)) >= 20)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stored_tables_hold_the_truth(case):
    columns, true, rest = stored.read(case)
    assert true.size == case.stored
    pick = np.random.default_rng(SEED).choice(true.size, 100, replace=False)
    again, rest_again = truth.truths(case, [column[pick] for column in columns])
    assert np.array_equal(true[pick], again)
    assert np.allclose(rest[pick], rest_again, rtol=0, atol=0.006)


def test_max_leakage_agrees_with_enumeration():
    rng = np.random.default_rng(4)
    for _ in range(12):
        weights = rng.integers(1, 9, rng.integers(2, 5))
        p = [Fraction(int(w), 64) for w in weights[:-1]]
        p.append(1 - sum(p))
        n, gamma = int(rng.integers(1, 6)), Fraction(int(rng.integers(1, 12)), 4)
        ball = truth.max_leakage([float(x) for x in p], n, float(gamma))
        assert contains(ball + arb(0, 1e-60), truth.max_leakage_by_enumeration(p, n, gamma))


def test_one_row_released_leaks_the_gini_simpson_index():
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    assert truth.max_leakage_by_enumeration(p, 1) == sum(x * (1 - x) for x in p)
