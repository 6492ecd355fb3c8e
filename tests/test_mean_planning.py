"""Inverse problems of a released mean, against the forward formulas and by enumeration."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from mpmath import mp
from scipy import special

from mialeak.laws import Bernoulli
from mialeak.means import (
    gaussian_mean_tradeoff,
    leakage_score,
    mean_tradeoff,
    noise_for_leakage,
    samples_for_leakage,
)
from mialeak.reference import mean as twins

RNG = np.random.default_rng(31)


def law(d):
    mixing = RNG.normal(size=(d, d))
    return RNG.normal(size=d), mixing @ mixing.T


@pytest.mark.parametrize("wanted", [1e-6, 0.01, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("structure", ["scalar", "vector", "matrix"])
def test_the_noise_brings_the_advantage_to_what_was_wanted(structure, wanted):
    mean, matrix = law(4)
    cov = {"scalar": 2.0, "vector": np.diagonal(matrix), "matrix": matrix}[structure]
    z = mean + 20 * RNG.normal(size=(6, 4))
    std = noise_for_leakage(z, mean, cov, 12, wanted)
    assert std.shape == (6,)
    for row, noise in zip(z, std, strict=True):
        if noise:
            curve = mean_tradeoff(row, mean, cov, 12, release_noise_cov=noise**2)
            assert curve.advantage == pytest.approx(wanted, rel=1e-11)
        else:
            assert mean_tradeoff(row, mean, cov, 12).advantage <= wanted


def test_noise_is_right_in_fifty_digits():
    z, variances, n, wanted = [3.0, 1.0, 1e-3], [0.5, 2.0, 1e-9], 7, 0.2
    with mp.workdps(50):
        allowed = 8 * mp.erfinv(mp.mpf(wanted)) ** 2
        pairs = list(zip(z, variances, strict=True))

        def excess(std):
            terms = [mp.mpf(a) ** 2 / (mp.mpf(v) + n * std**2) for a, v in pairs]
            return sum(terms) / n - allowed

        truth = mp.findroot(excess, (0.1, 10), solver="anderson")
    assert noise_for_leakage(z, [0.0] * 3, variances, n, wanted) == pytest.approx(
        float(truth), rel=1e-14
    )


def test_bisection_agrees():
    mean, cov = law(3)
    z = mean + np.array([4.0, -2.0, 9.0])
    got = noise_for_leakage(z, mean, cov, 5, 0.1)
    assert got == pytest.approx(twins.noise_for_leakage(z, mean, cov, 5, 0.1), rel=1e-12)


def test_no_noise_where_none_is_needed():
    assert noise_for_leakage([1.0], [0.0], 1.0, 1000, 0.5) == 0.0
    assert noise_for_leakage([0.0], [0.0], 1.0, 2, 1e-9) == 0.0
    assert noise_for_leakage(np.eye(3), [1 / 3] * 3, np.eye(3) / 3 - 1 / 9, 10**6, 0.5).max() == 0


def test_noise_protects_a_target_outside_the_range():
    for cov in ([1.0, 0.0], np.diag([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0]])):
        std = noise_for_leakage([1.0, 3.0], [0.0, 0.0], cov, 10, 0.2)
        curve = mean_tradeoff([1.0, 3.0], [0.0, 0.0], cov, 10, release_noise_cov=std**2)
        assert curve.advantage == pytest.approx(0.2, rel=1e-10)


#: Turnover in dollars and a rate, of a person two standard deviations from the mean of the first
#: and thirty from that of the second.
UNITS = {
    "target": np.array([7e9, 0.35]),
    "mean": np.array([5e9, 0.05]),
    "variances": np.array([1e9, 0.01]) ** 2,
}


@pytest.mark.parametrize("correlation", [None, 0.0, 0.5, 1.0])
def test_columns_of_different_units_get_the_noise_they_need(correlation):
    target, mean, variances = UNITS.values()
    cov = variances
    if correlation is not None:
        cov = np.diag(variances)
        cov[0, 1] = cov[1, 0] = correlation * np.sqrt(variances.prod())
    std = noise_for_leakage(target, mean, cov, 100, 0.1)
    curve = mean_tradeoff(target, mean, cov, 100, release_noise_cov=std**2)
    assert curve.advantage == pytest.approx(0.1, rel=1e-10)
    share = noise_for_leakage(target, mean, cov, 100, 0.1, proportional=True)
    curve = mean_tradeoff(target, mean, cov, 100, release_noise_cov=share**2 * variances)
    assert curve.advantage == pytest.approx(0.1, rel=1e-10)


@pytest.mark.filterwarnings("ignore:target is:UserWarning")  # 46 standard deviations away
def test_matrices_of_any_units_get_the_noise_they_need():
    """Scales e^(20 N): no answer of 0 where the bare mean leaks, none that leaks more or less."""
    rng = np.random.default_rng(7)
    zeros = 0
    for _ in range(150):
        d = int(rng.integers(1, 6))
        scale, mixing = np.exp(20 * rng.normal(size=d)), rng.normal(size=(d, d))
        cov = mixing @ mixing.T * scale * scale[:, None]
        mean = scale * rng.normal(size=d)
        target = mean + 10 * scale * rng.normal(size=d)
        std = noise_for_leakage(target, mean, cov, 500, 0.3)
        curve = mean_tradeoff(target, mean, cov, 500, release_noise_cov=std**2)
        zeros += std == 0.0
        if std:
            assert curve.advantage == pytest.approx(0.3, rel=1e-10)
        else:
            assert curve.advantage <= 0.3
    assert 10 < zeros < 140


def test_noise_in_proportion_does_not_depend_on_the_units():
    mean, matrix = law(4)
    z = mean + 20 * RNG.normal(size=(6, 4))
    units = np.array([1e-9, 1.0, 60.0, 1e12])
    for cov in (np.diagonal(matrix), matrix):
        other = cov * units**2 if cov.ndim == 1 else cov * units * units[:, None]
        usual = noise_for_leakage(z, mean, cov, 12, 0.05, proportional=True)
        found = noise_for_leakage(z * units, mean * units, other, 12, 0.05, proportional=True)
        assert found == pytest.approx(usual, rel=1e-9)


def test_noise_in_proportion_to_zero_protects_nobody():
    options = {"mean": [0.0, 5.0], "cov": [1.0, 0.0], "n": 10, "leakage": 0.1}
    assert noise_for_leakage([9.0, 5.0], proportional=True, **options) > 0
    with pytest.raises(
        ValueError, match=r"only in columns that vary, .*target\[1\] = 6\.0\. Leave"
    ):
        noise_for_leakage([9.0, 6.0], proportional=True, **options)


def test_least_number_of_rows_is_on_the_edge():
    """Up to 1,000 rows the edge of the exact curve, beyond that of its first two orders."""
    mean, cov = law(3)
    z = mean + 30 * RNG.normal(size=(50, 3))
    for wanted in (0.003, 0.1, 0.7):
        rows = samples_for_leakage(z, mean, cov, wanted)
        assert rows.dtype == np.int64
        for row, n in zip(z, rows.tolist(), strict=True):

            def advantage(n, row=row):
                if n <= 1000:
                    return gaussian_mean_tradeoff(row, mean, cov, n).advantage
                score = leakage_score(row, mean, cov, n) + 3 / (2 * n**2)
                return special.erf(np.sqrt(score / 8))

            assert advantage(n) <= wanted
            assert n == 2 or advantage(n - 1) > wanted


@pytest.mark.parametrize("wanted", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("d", "v"), [(1000, 0.01), (10_000, 0.001), (100, 0.05), (10, 0.0)])
def test_columns_more_numerous_than_rows_leak_by_their_spread(d, v, wanted):
    """The exact advantage with the rows of the first order, 2 to 8, is up to 1."""
    law = np.full(d, v), np.zeros(d), np.ones(d)
    n = samples_for_leakage(*law, wanted)
    assert gaussian_mean_tradeoff(*law, n).advantage <= wanted * 1.001
    assert n == 2 or gaussian_mean_tradeoff(*law, n - 1).advantage > wanted * 0.999


def test_least_number_of_rows_where_the_quotient_is_an_integer():
    for n in range(2, 300):
        wanted = gaussian_mean_tradeoff([1.0], [0.0], 1.0, n).advantage
        assert samples_for_leakage([1.0], [0.0], 1.0, float(wanted)) == n
    assert type(samples_for_leakage([1.0], [0.0], 1.0, 0.5)) is int
    assert samples_for_leakage([0.0], [0.0], 1.0, 0.5) == 2
    assert samples_for_leakage([0.0], [0.0], 0.0, 0.5) == 2


def test_easiest_and_hardest_target_by_enumeration():
    p = RNG.uniform(0.05, 0.95, 8)
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    scores = leakage_score(rows, p, p * (1 - p), 10)
    np.testing.assert_array_equal(Bernoulli(p).easiest_target(), rows[scores.argmax()])
    np.testing.assert_array_equal(Bernoulli(p).hardest_target(), rows[scores.argmin()])


def test_extreme_targets_of_the_papers_experiment():
    """Integrals of 1/p and 1/(1-p) over [1/4, 3/4]: 5 (4 log 2 - 1) and 5 (4 log 1.5 - 1)."""
    p = 0.25 + 0.5 * (np.arange(5000) + 0.5) / 5000
    easy = leakage_score(Bernoulli(p).easiest_target(), p, p * (1 - p), 1000)
    hard = leakage_score(Bernoulli(p).hardest_target(), p, p * (1 - p), 1000)
    assert easy == pytest.approx(5 * (4 * np.log(2) - 1), rel=1e-6)
    assert hard == pytest.approx(5 * (4 * np.log(1.5) - 1), rel=1e-6)


def test_extreme_targets_at_the_ends_and_in_the_middle():
    law = Bernoulli([0.0, 1.0, 0.5, 0.25])
    np.testing.assert_array_equal(law.easiest_target(), [1, 0, 1, 1])
    np.testing.assert_array_equal(law.hardest_target(), [0, 1, 0, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noise_for_leakage([1.0], [0.0], 1.0, 5, 0.0), "leakage must be above 0 and"),
        (lambda: noise_for_leakage([1.0], [0.0], 1.0, 5, 1.0), "leakage must be above 0 and"),
        (lambda: noise_for_leakage([np.nan], [0.0], 1.0, 5, 0.1), "target must be finite; got"),
        (lambda: noise_for_leakage([1.0], [0.0], 1.0, 1, 0.1), "n must be between 2"),
        (
            lambda: noise_for_leakage([1.0] * 2, [0.0] * 2, [[1, 2], [2, 1]], 5, 0.1),
            "cov must be positive semi-definite",
        ),
        (lambda: samples_for_leakage([1.0], [0.0], 1.0, -0.1), "leakage must be above 0"),
        (lambda: noise_for_leakage([1.0], [0.0], 1.0, 5, 1e-300), "leakage must be large enough"),
        (lambda: samples_for_leakage([1.0], [0.0], 1.0, 5e-324), "leakage must be large enough"),
        (lambda: samples_for_leakage([1e9], [0.0], 1.0, 1e-9), "target must need at most 2**53"),
        (lambda: samples_for_leakage([1.0], [0.0], 0.0, 0.1), "target must differ from mean only"),
    ],
)
def test_bad_input_is_told(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
