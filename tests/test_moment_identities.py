"""Variances by the formula of another quantity are refused, of one column and of many."""

from __future__ import annotations

import numpy as np
import pytest
from mean_messages import message_of

from mialeak import mean_tradeoff
from mialeak.datasets import load_genotypes

GENOTYPES = load_genotypes().counts[:503].astype(float)
SHARES = np.array([0.392, 0.063, 0.148])
N = 189


def said(target, mean, cov, n=N):
    return message_of(target, mean, cov, n)


def test_the_right_moments_of_three_shares():
    """One column after the other: 189 rows, the squared distance in the variance of a bit."""
    target, variance = np.array([1.0, 1.0, 0.0]), SHARES * (1 - SHARES)
    curve = mean_tradeoff(target, SHARES, variance, N)
    assert float(curve.mu) ** 2 == pytest.approx(
        sum((z - m) ** 2 / v for z, m, v in zip(target, SHARES, variance, strict=True)) / N
    )
    for digits in (2, 3, 6):
        assert said(target, SHARES.round(digits), variance.round(digits)) == ""
    assert said(100 * target, 100 * SHARES, 1e4 * variance) == ""
    assert said(np.zeros(3), 100 * SHARES, 1e4 * variance) == ""  # 0 is 0 per cent


@pytest.mark.parametrize("target", [[1, 1, 0], [1.0, 1.0, 0.0], [[1, 1, 0], [0, 0, 1]]])
@pytest.mark.parametrize(
    ("unit", "scale", "power", "says"),
    [
        (100, 1e4, 1.0, "mean must be that of the bits 0 and 1 of target; it is 100 * p, in per"),
        (100, 1.0, 1.0, "in per cent. Divide it by 100"),
        (N, N, 1.0, "a sum of n = 189 rows, and so is cov. Divide both by n"),
        (N, 1.0, 1.0, "a sum of n = 189 rows. Divide it by n"),
        (N, N**2, 1.0, "Divide mean by n and cov by n**2"),
        (1, N, 1.0, "cov must be that of the bits 0 and 1 of target; it is that of a sum"),
        (1, 1 / N, 1.0, "the squared standard error of a mean of n = 189 rows. Multiply it by n"),
        (1, 1 / N, 0.5, "it is the standard error of a mean of n = 189 rows"),
        (1, 1.0, 0.5, "the square root of it, the standard deviation. Pass variances"),
    ],
)
def test_moments_of_shares_in_another_unit_are_refused(target, unit, scale, power, says):
    for divisor in (N, N - 1):
        variance = SHARES * (1 - SHARES) * N / divisor
        cov = (scale * variance) ** power
        assert says in said(target, unit * SHARES, cov)
        assert says in said(target, unit * SHARES, np.diag(cov))
        rounded = [float(f"{each:.4g}") for each in cov]
        assert says in said(target, unit * SHARES, rounded)


@pytest.mark.parametrize("sites", [slice(3), slice(9), slice(None)])
def test_moments_of_genotypes_in_another_unit_are_refused(sites):
    rows, n = GENOTYPES[:, sites], len(GENOTYPES)
    p = rows.mean(axis=0) / 2
    right = 2 * p * (1 - p)
    for target in rows[:40][rows[:40].max(axis=1) > 0.0]:
        assert said(target, 2 * p, right, n) == said(target, 2 * p, rows.var(axis=0), n) == ""
        assert "a sum of n = 503 rows, and so is cov" in said(target, 2 * p * n, right * n, n)
        assert "cov must be" in said(target, 2 * p, right * n, n)
        assert "cov must be" in said(target, 2 * p, right / n, n)
        assert "100 * p, in per cent" in said(target, 100 * p, 1e4 * p * (1 - p), n)


def test_one_share_and_its_squared_standard_error():
    assert said([1.0], [0.37], [0.37 * 0.63]) == said([1.0], [0.37], [0.23]) == ""
    assert "squared standard error" in said([1.0], [0.37], [0.37 * 0.63 / N])
    assert said([1.0], [0.4], [0.0013]) == ""  # of so few digits it is a coincidence


def test_moments_of_samples_of_bits_counts_and_measures_are_taken():
    """Rounded or not, of 1 to 20 columns."""
    rng = np.random.default_rng(34)
    for _ in range(100):
        columns, n = int(rng.choice([1, 3, 9, 20])), int(rng.choice([20, 189, 5000]))
        p, digits = rng.beta(0.8, 1.2, columns).clip(0.1, 0.9), int(rng.choice([2, 4, 16]))
        bits = (rng.random((n, columns)) < p).astype(float)
        rate = rng.gamma(1.0, 3.0, columns) + 0.5
        for table in (bits, n * bits, bits + (rng.random((n, columns)) < p),
                      rng.poisson(rate, (n, columns)).astype(float),
                      rng.integers(1, 6, (n, columns)).astype(float)):  # fmt: skip
            mean, cov = table.mean(axis=0), table.var(axis=0, ddof=1).clip(0.01)
            assert said(table[0], mean.round(digits), cov.round(digits), n) == ""
        assert said(np.minimum(table[0], 2.0), rate.round(1), rate.round(1), n) == ""


def test_a_sex_of_1_and_2_beside_a_share():
    """Of 228 rows; with a variance of two digits, of all digits and of a sample."""
    mean = [0.45, 62.0]
    for variance in (0.25, 0.2475, 0.2475 * 228 / 227):
        for cov in ([variance, 81.0], np.diag([variance, 81.0])):
            assert said([1.0, 45.3], mean, cov, 228) == said([0, 45], mean, cov, 228) == ""
            for target in ([2.0, 45.0], [2, 45], [2.0, 45.3], [[1.0, 50.0], [2.0, 45.0]]):
                message = said(target, mean, cov, 228)
                assert "target is 2 in column 0" in message
                assert "if they are 1 and 2, subtract 1" in message
    assert "target is 9 in column 0" in said([9.0, 45.0], mean, [0.2475, 81.0], 228)
    assert said([2.0, 45.0], [1.45, 62.0], [0.2475, 81.0], 228) == ""
    assert said([2.0, 45.0], [0.45, 62.0], [0.35, 81.0], 228) == ""  # genotypes
    assert said([1.7, 45.0], [0.45, 62.0], [0.2475, 81.0], 228) == ""
    rows = GENOTYPES[:, :9]
    assert {said(each, *(rows.mean(axis=0), rows.var(axis=0)), 503) for each in rows} == {""}
