"""Scores of bits and genotypes are ratios of probabilities, in exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from mialeak.scores import (
    bernoulli_score,
    genotype_score,
)


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else Fraction(0)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
@pytest.mark.parametrize("z", [0, 1])
def test_bernoulli_score_is_the_ratio_of_probabilities(n, z):
    p = Fraction(5, 16)
    for k in range(n + 1):
        out, into = binomial(k, n, p), binomial(k - z, n - 1, p)
        got = bernoulli_score([k / n], [z], [float(p)], n)
        assert got == pytest.approx(math.log(into / out) if into else -math.inf, abs=1e-15)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
@pytest.mark.parametrize("z", [0, 1, 2])
def test_genotype_score_is_the_ratio_of_probabilities(n, z):
    p = Fraction(5, 16)
    for k in range(2 * n + 1):
        out, into = binomial(k, 2 * n, p), binomial(k - z, 2 * n - 2, p)
        truth = math.log(into / out) if into else -math.inf
        for kind in (np.float64, np.float32):
            release = np.array([k / n], kind)
            assert genotype_score(release, [z], [float(p)], n) == pytest.approx(truth, abs=1e-15)


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("z", [0, 1, 2])
def test_rounded_genotypes_have_the_summed_probabilities(decimals, z):
    n, p = 30, Fraction(3, 8)
    cells = {}
    for k in range(2 * n + 1):  # Fraction rounds ties to the even digit
        cells.setdefault(round(Fraction(k, n), decimals), []).append(k)
    for mean, counts in cells.items():
        out = sum(binomial(k, 2 * n, p) for k in counts)
        into = sum(binomial(k - z, 2 * n - 2, p) for k in counts)
        got = genotype_score([float(mean)], [z], [float(p)], n, decimals=decimals)
        truth = math.log(into / out) if into else -math.inf
        assert got == pytest.approx(truth, abs=1e-13)


def test_enough_decimals_round_nothing():
    rng = np.random.default_rng(4)
    n, p = 40, rng.uniform(0.1, 0.9, 30)
    releases, z = rng.binomial(2 * n, p, (5, 30)) / n, rng.binomial(2, p)
    np.testing.assert_allclose(
        genotype_score(releases, z, p, n, decimals=3),
        genotype_score(releases, z, p, n),
        atol=1e-12,
    )


@pytest.mark.parametrize("p", [1e-300, 1e-20, 1 - 2.0**-53, 0.5])
def test_extreme_probabilities_take_logs_one_by_one(p):
    """Ratios of 1e300 each, far outside what can be multiplied."""
    d, n = 64, 1000
    for z, release in ((1, 0.25), (0, 0.25), (1, 1.0), (0, 0.0)):
        chance = mpmath.mpf(p) if z else 1 - mpmath.mpf(p)
        value = mpmath.mpf(release) if z else 1 - mpmath.mpf(release)
        truth = float(d * mpmath.log(value / chance))
        got = bernoulli_score(np.full(d, release), np.full(d, z), p, n)
        assert got == pytest.approx(truth, rel=1e-14)
        with mpmath.workdps(40):
            k, q = 250, 1 - mpmath.mpf(p)
            ratio = mpmath.mpf(k) * (k - 1) / (2 * n * (2 * n - 1)) / mpmath.mpf(p) ** 2
            if z == 0:
                ratio = mpmath.mpf(2 * n - k) * (2 * n - k - 1) / (2 * n * (2 * n - 1)) / q**2
            truth = float(d * mpmath.log(ratio))
        got = genotype_score(np.full(d, 0.25), np.full(d, 2 * z), p, n)
        assert got == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("release", [2.0**-63, 2.0**-64, 2.0**-65, 2.0**-1060, 5e-324])
def test_both_sides_of_the_ratios_that_are_multiplied(release):
    """P = 1/2 shifts the ratio by one power of two."""
    for d in (1, 8, 64, 65):
        got = bernoulli_score(np.full(d, release), np.ones(d), 0.5, 10)
        assert got == pytest.approx(d * (math.log(release) + math.log(2)), rel=1e-14)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 3), (5, 2), (12, 1), (12, 3)])
def test_all_outcomes_of_a_bernoulli_mean(n, d):
    """Advantage, best attack and score ranks by enumeration in exact fractions."""
    p = [Fraction(3, 8), Fraction(1, 2), Fraction(13, 16)][:d]
    z = [1, 0, 1][:d]
    outcomes = list(itertools.product(range(n + 1), repeat=d))
    out = [math.prod(binomial(k, n, q) for k, q in zip(o, p, strict=True)) for o in outcomes]
    into = [
        math.prod(binomial(k - b, n - 1, q) for k, b, q in zip(o, z, p, strict=True))
        for o in outcomes
    ]
    assert sum(out) == sum(into) == 1
    got = bernoulli_score(np.array(outcomes) / n, z, [float(q) for q in p], n)
    ratio = [a / b for a, b in zip(into, out, strict=True)]
    order = sorted(range(len(outcomes)), key=lambda i: ratio[i])
    assert np.all(np.diff(got[order][np.isfinite(got[order])]) > -1e-14)
    best = sum(a - b for a, b in zip(into, out, strict=True) if a > b)
    attack = sum(a - b for a, b, s in zip(into, out, got, strict=True) if s > 1e-14)  # 1e-14: ties
    assert attack == best
    finite = np.isfinite(got)
    assert np.all((np.array([float(r) for r in ratio]) == 0) == ~finite)
    # under the world out, e^score has expectation 1
    assert np.exp(got) @ [float(x) for x in out] == pytest.approx(1.0, rel=1e-13)


def test_impossible_is_minus_infinity_and_a_sure_column_says_nothing():
    assert bernoulli_score([0.0, 0.5], [1, 1], [0.5, 0.5], 4) == -math.inf
    assert genotype_score([0.25, 0.5], [2, 1], [0.5, 0.5], 4) == -math.inf
    alone = bernoulli_score([0.75], [1], [0.5], 4)
    assert bernoulli_score([0.75, 0.0, 1.0], [1, 0, 1], [0.5, 0.0, 1.0], 4) == alone
    alone = genotype_score([0.75], [1], [0.5], 4)
    assert genotype_score([0.75, 0.0, 2.0], [1, 0, 2], [0.5, 0.0, 1.0], 4) == alone
