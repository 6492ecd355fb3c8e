"""Binomial tails by 500 steps of the continued fraction of their mean excess, in ball arithmetic.

A second truth beside ``referee.py``, a hundred times as fast near the mean, for runs of hundreds of
thousands of points (``tail_accuracy.py``).  Nothing in it is fitted: the last 41 convergents are
summed with binomial weights.  ``test_fraction.py`` holds it to the referee.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

from flint import arb, fmpq
from referee import log_pmf, precision, rational

__all__ = ["FIRST", "SCALE_STEP", "mean_excess", "smoothed", "tails_at", "weights"]

BITS = 256
STEPS, SMOOTHED = 500, 40

#: As in src_c/fraction.h.
FIRST, SCALE_STEP = 10, 19


@cache
def weights() -> list[float]:
    """The weights of convergents that the kernels use."""
    header = Path(__file__).parents[1] / "src_c" / "coefficients.h"
    table = re.search(r"FRACTION_WEIGHT\[\d+\] = \{(.*?)\}", header.read_text(), re.DOTALL)
    assert table
    return [float.fromhex(word) for word in re.findall(r"0x[\w.+-]+", table[1])]


def mean_excess(d: arb, terms: int, p: arb) -> arb:
    """E(B - k | B >= k) of a binomial law: a_m = m p (terms - m), b_m = d + m (1 + p)."""
    top, top_before, bottom, bottom_before = arb(0), arb(1), arb(1), arb(0)
    one_more, over, under = 1 + p, arb(0), arb(0)
    for m in range(1, STEPS + 1):
        if m >= terms:
            return top / bottom
        a, b = m * (terms - m) * p, d + m * one_more
        top, top_before = b * top + a * top_before, top
        bottom, bottom_before = b * bottom + a * bottom_before, bottom
        if m >= STEPS - SMOOTHED:
            size = ((b * b + 4 * a).sqrt() - b) / 2  # of what the next step shrinks errors by
            weight = math.comb(SMOOTHED, m - STEPS + SMOOTHED)
            over, under = over * size + weight * top, under * size + weight * bottom
    return over / under


def smoothed(d: arb, terms: int, p: arb, given: list[float]) -> arb:
    """The same by the steps and weights of the kernels, without their rounding."""
    at = d + SCALE_STEP * (1 + p)
    a = SCALE_STEP * max(terms - SCALE_STEP, 0) * p
    scale = ((at * at + 4 * a).sqrt() - at * 15 / 16) / 2
    top, top_before, bottom, bottom_before = arb(0), arb(1), arb(1), arb(0)
    over, under = arb(0), arb(0)
    for m in range(1, FIRST + len(given)):
        a, b = m * (terms - m) * p / scale**2, (d + m * (1 + p)) / scale
        top, top_before = b * top + a * top_before, top
        bottom, bottom_before = b * bottom + a * bottom_before, bottom
        if m >= FIRST:
            over, under = over + given[m - FIRST] * top, under + given[m - FIRST] * bottom
    return scale * over / under


def tails_at(c: float, n: int, p: float) -> tuple[arb, arb, arb]:
    """E(B - c)+, E(c - B)+ and P(B > c) for 0 <= c < n."""
    exact, cut, j = rational(p), rational(c), math.floor(c)
    above = cut - exact * n
    with precision(BITS):
        v = arb((n - j) * exact) * log_pmf(j, n, exact).exp()
        if above >= 0:
            d = arb(j + 1 - exact * n)
            rho = mean_excess(d, n - j, arb(exact))
            tail = v / (d + rho)
            first = (rho + arb(j + 1 - cut)) * tail
            return first, first + arb(above), tail
        d = arb(exact * n - j)
        rho = mean_excess(d, j + 1, arb(fmpq(1) - exact))
        tail = v / (d + rho)
        first = (rho + arb(cut - j)) * tail
        return first - arb(above), first, 1 - tail
