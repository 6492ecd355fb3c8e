"""The smoothed continued fraction of a mean excess, and the weights of its convergents."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import referee
import samplers
from flint import arb, fmpq
from fraction_truth import mean_excess, smoothed, tails_at, weights
from referee import precision, rational

from mialeak import special

#: Of d + rho, relative: what fraction.h states.
TRUNCATION = 5e-16


def laws():
    """d, N and P of laws; with the weights as they are the worst has P near 1 and spread 10."""
    for sd, z, p in itertools.product(
        (0.3, 1.0, 3.0, 5.9, 8.0, 10.6, 15.0, 40.0, 300.0, 1e4, 1e7),
        (0.0, 0.05, 0.4, 1.0, 2.5, 6.0, 30.0),
        (1e-12, 0.1, 0.36, 0.6, 0.9, 0.9999, 1 - 2.0**-40),
    ):
        terms = round(sd**2 / p + 1 - z * sd)
        if terms >= 1:
            yield z * sd, terms, p


@functools.cache
def true_excesses() -> list[tuple[tuple[arb, int, arb], arb]]:
    """Each law with its mean excess, computed once."""
    with precision(192):
        known = [(arb(d), terms, arb(p)) for d, terms, p in laws()]
        return [(law, mean_excess(*law)) for law in known]


def worst_truncation(given: list[float]) -> float:
    worst = 0.0
    with precision(192):
        for law, true in true_excesses():
            worst = max(worst, abs(float((smoothed(*law, given) - true) / (law[0] + true))))
    return worst


def test_the_smoothed_fraction_is_that_of_500_steps_for_every_law():
    assert worst_truncation(weights()) < TRUNCATION


@pytest.mark.parametrize("which", range(13))
def test_no_weight_may_be_another(which):
    """The test above fails if one weight differs from its eighth digit on."""
    changed = weights().copy()
    changed[which] *= 1 + 2.0**-26
    assert worst_truncation(changed) > TRUNCATION


def test_weights_are_positive_and_the_middle_one_is_one():
    assert len(weights()) == 13
    assert min(weights()) > 0
    assert weights()[6] == 1


def test_the_fraction_is_the_mean_excess():
    """Of small laws, summed in rational numbers."""
    shares = Fraction(1, 8), Fraction(1, 2), Fraction(7, 8)
    for n, p in itertools.product((1, 2, 5, 13, 40), shares):
        pmf = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
        for j in range(n):
            d = j + 1 - n * p
            if d <= 0:
                continue
            tail = sum(pmf[j + 1 :])
            expected = sum((i - j - 1) * pmf[i] for i in range(j + 1, n + 1)) / tail
            assert (n - j) * p * pmf[j] == (d + expected) * tail
            with precision(256):
                exact = arb(fmpq(p.numerator, p.denominator))
                rho = mean_excess(arb(fmpq(d.numerator, d.denominator)), n - j, exact)
                assert abs(float(rho - arb(rational(expected)))) < 1e-40


def test_the_500_steps_agree_with_the_referee():
    c, n, p = samplers.excess(np.random.default_rng(8), 300)
    compared = 0
    for point in zip(c.tolist(), n.tolist(), p.tolist(), strict=True):
        if not 1 <= point[0] < point[1]:
            continue
        found = tails_at(point[0], int(point[1]), point[2])
        for mine, function in zip(
            found, (referee.binom_excess, referee.binom_shortfall, referee.binom_sf), strict=True
        ):
            truth = function(*point)
            if truth > 1e-290:
                assert abs(float((mine - truth) / truth)) < 1e-20
                compared += 1
    assert compared > 400


@pytest.mark.parametrize("n", [1, 2, 3, 9, 20, 21, 22, 23, 24, 40, 60, 127, 128, 129])
@pytest.mark.parametrize("p", [2.0**-30, 0.3, 0.5, 0.75, 1 - 2.0**-30])
def test_tails_of_small_laws_are_their_sums(n, p):
    """On both sides of 128, where the factorials end.

    With fewer terms than steps the steps beyond the end change nothing, whatever their sign.
    """
    hit, whole = p.as_integer_ratio()
    pmf = [math.comb(n, i) * hit**i * (whole - hit) ** (n - i) for i in range(n + 1)]
    cuts = range(-1, n + 2)
    sums = {
        special.binom_sf: [sum(pmf[max(j + 1, 0) :]) for j in cuts],
        special.binom_excess: [
            sum((i - j) * pmf[i] for i in range(max(j, 0), n + 1)) for j in cuts
        ],
        special.binom_shortfall: [
            sum((j - i) * pmf[i] for i in range(min(j, n + 1))) for j in cuts
        ],
    }
    for tail, expected in sums.items():
        for value, exact in zip(tail(cuts, n, p).tolist(), expected, strict=True):
            if exact * 10**290 > whole**n:
                up, down = value.as_integer_ratio()
                error = abs(up * whole**n - exact * down)
                assert error * 10**16 < 30 * exact * down, (tail, n, p)
            else:
                assert 0 <= value <= 1e-290
