"""Edgeworth scores have the promised order on densities and lattices."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from mialeak.laws import Bernoulli
from mialeak.reference import scores as twins
from mialeak.scores import (
    covariance_score,
    edgeworth_score,
)


def moments(law):
    return law.mean, law.std, law.skewness, law.excess_kurtosis


def bits_case(d, rounds=6, n=50, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, d)
    return rng.binomial(n, p, (rounds, d)) / n, (rng.random(d) < p) * 1.0, p, n


def gamma_ratio(x, a, n, shape=2):
    """Exact log ratio of the mean of n Gamma(shape) rows, at x and a in standard deviations."""
    root = mpmath.sqrt(shape)
    z, mean = shape + root * a, shape + root * x / mpmath.sqrt(n)

    def log_density(s, count):
        k = shape * count
        return (k - 1) * mpmath.log(s) - s - mpmath.loggamma(k)

    return log_density(n * mean - z, (n - 1)) - log_density(n * mean, n)


def bernoulli_ratio(x, a, n, p):
    """The exact formula, which is smooth: x need not be on the lattice."""
    std = mpmath.sqrt(p * (1 - p))
    mean = p + std * x / mpmath.sqrt(n)
    return mpmath.log(mean / p) if a > 0 else mpmath.log((1 - mean) / (1 - p))


def uniform_ratio(x, a, n):
    """Means of uniform rows on [0, 1] by the Irwin-Hall density."""
    std = 1 / mpmath.sqrt(12)
    total, z = n * (mpmath.mpf(1) / 2 + std * x / mpmath.sqrt(n)), mpmath.mpf(1) / 2 + std * a

    def density(s, count):
        terms = (
            (-1) ** k * mpmath.binomial(count, k) * (s - k) ** (count - 1)
            for k in range(int(mpmath.floor(s)) + 1)
        )
        return mpmath.fsum(terms) / mpmath.factorial(count - 1)

    return mpmath.log(density(total - z, n - 1) / density(total, n))


P = mpmath.mpf(3) / 10
LAWS = {
    "gamma": (gamma_ratio, math.sqrt(2.0), 3.0, (-1.0, 0.5, 2.0), (1000, 16000)),
    "bernoulli": (
        lambda x, a, n: bernoulli_ratio(x, a, n, P),
        float((1 - 2 * P) / mpmath.sqrt(P * (1 - P))),
        float((1 - 6 * P * (1 - P)) / (P * (1 - P))),
        (float(mpmath.sqrt((1 - P) / P)), -float(mpmath.sqrt(P / (1 - P)))),
        (1000, 16000),
    ),
    "uniform": (uniform_ratio, 0.0, -1.2, (-1.0, 0.5, 1.5), (40, 160)),
}


def edgeworth_error(law, n, order, skewness=None):
    """Largest error over some x and a, mean 0 and std 1."""
    exact, l3, l4, targets, _ = LAWS[law]
    l3 = l3 if skewness is None else skewness
    worst = 0.0
    with mpmath.workdps(120):
        for a, x in itertools.product(targets, (-1.5, -0.3, 0.7, 2.0)):
            release = x / math.sqrt(n)
            term = edgeworth_score([release], [a], 0.0, 1.0, l3, l4, n, order=order, terms=True)[0]
            truth = float(exact(mpmath.mpf(release) * mpmath.sqrt(n), mpmath.mpf(a), n))
            worst = max(worst, abs(term - truth))
    return worst


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_edgeworth_errors_shrink_by_half_a_power_an_order(law, order):
    few, many = LAWS[law][4]
    errors = edgeworth_error(law, few, order), edgeworth_error(law, many, order)
    slope = math.log(errors[1] / errors[0]) / math.log(many / few)
    steeper = 0.5 if law == "uniform" and order == 2 else 0.0  # no skewness, half the terms vanish
    assert -(1 + order) / 2 - steeper - 0.12 < slope < -(1 + order) / 2 + 0.12


def test_the_printed_first_edgeworth_polynomial_is_worse_than_none():
    """[AB25] Lemma C.8 prints lambda3 for lambda3/6; without the term, lambda3 is 0 there."""
    n = 1000
    right, none = edgeworth_error("gamma", n, 2), edgeworth_error("gamma", n, 2, skewness=0.0)
    printed = edgeworth_error("gamma", n, 2, skewness=6 * math.sqrt(2.0))
    assert right < none / 5
    assert printed > 4 * none


def test_the_density_of_a_gamma_mean_shows_the_factor_of_a_sixth():
    n, x = 10**6, mpmath.mpf(1) / 2
    with mpmath.workdps(40):
        k = 2 * n
        s = k + mpmath.sqrt(k) * x
        density = mpmath.exp((k - 1) * mpmath.log(s) - s - mpmath.loggamma(k)) * mpmath.sqrt(k)
        first = (density / mpmath.npdf(x) - 1) * mpmath.sqrt(n)
        assert float(first / (mpmath.sqrt(2) * (x**3 - 3 * x))) == pytest.approx(1 / 6, abs=1e-4)


def test_terms_sum_to_the_score_and_agree_with_the_print():
    releases, z, p, n = bits_case(90)
    law = Bernoulli(p)
    for order in (1, 2, 3):
        terms = edgeworth_score(releases, z, *moments(law), n, order=order, terms=True)
        printed = twins.edgeworth_terms(releases, z, *moments(law), n, order)
        np.testing.assert_allclose(terms, printed, atol=1e-14)
        whole = edgeworth_score(releases, z, *moments(law), n, order=order)
        np.testing.assert_allclose(whole, terms.sum(axis=1), atol=1e-13)


def test_order_two_without_skewness_is_the_covariance_score_and_its_variance():
    releases, z, p, n = bits_case(20)
    law = Bernoulli(p)
    flat = edgeworth_score(releases, z, law.mean, law.std, 0.0, 0.0, n, order=2)
    x = np.sqrt(n) * (releases - p) / law.std
    linear = covariance_score(releases, z, p, p * (1 - p), n)
    np.testing.assert_allclose(flat, linear + (1 - x * x).sum(axis=1) / (2 * n), atol=1e-13)


@pytest.mark.parametrize("terms", [False, True])
def test_a_target_whose_square_overflows_is_refused_and_not_its_releases(terms):
    assert edgeworth_score([0.5], [1e100], 0.0, 1.0, 0.0, 0.0, 10) == pytest.approx(-5e198)
    with pytest.raises(ValueError, match="target must be near enough to mean"):
        edgeworth_score([0.5], [1e200], 0.0, 1.0, 0.0, 0.0, 10, terms=terms)
