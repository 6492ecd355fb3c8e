"""The leakage of the mode against sums of positive terms over the counts of each cell."""

import time
from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from mialeak.mechanisms import Mode, mechanism_leakage

EPS = 2.0**-52


def _times(a, b, n):
    """Product of two polynomials, without the powers above n."""
    return [sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(n + 1)]


def _mode_chances(p, n, extra, one):
    """P(mode = l) for each l, of n rows and one row more in the cell `extra` (None: no row more).

    The chance of counts is n! times the product of p^c/c!, so that of bounded counts is a
    coefficient of a product of polynomials.
    """
    terms = [[one * x**c / factorial(c) for c in range(n + 1)] for x in p]

    def bounded(cell, low, high):
        more = cell == extra
        return [t if low <= c + more <= high else 0 * one for c, t in enumerate(terms[cell])]

    chances = []
    for mode in range(len(p)):
        total = 0 * one
        for m in range(1, n + 2):
            product = bounded(mode, m, m)
            for cell in range(len(p)):
                if cell != mode:
                    product = _times(product, bounded(cell, 0, m - (cell < mode)), n)
            total += product[n]
        chances.append(total * factorial(n))
    return chances


def _true_leakage(p, n, gamma, one):
    out = _mode_chances(p, n, None, one)
    leakage = 0 * one
    for k, chance in enumerate(p):
        inside = _mode_chances(p, n - 1, k, one)
        for a, b in zip(inside, out, strict=True):
            gap = a - gamma * b if gamma >= 1 else (b - a / gamma)
            leakage += chance * max(gap, 0 * one)
    return leakage


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 3), Fraction(2)])
@pytest.mark.parametrize(
    ("weights", "n"), [([3, 1, 2, 2, 5], 6), ([1, 1, 1, 1, 1, 1], 4), ([9, 1], 7), ([4, 7, 4], 1)]
)
def test_few_cells_leak_as_exact_fractions_say(weights, n, gamma):
    p = [Fraction(w, sum(weights)) for w in weights]
    truth = _true_leakage(p, n, gamma, Fraction(1))
    found = mechanism_leakage(Mode(), [float(x) for x in p], n, gamma=float(gamma))
    assert abs(found.upper - truth) <= found.error
    assert found.error < 1e-12


def _true_by_arrays(p, n):
    """The same in float64, by convolutions of positive terms: relative error below 1e-12."""
    terms = p[:, None] ** np.arange(n + 1) / [float(factorial(c)) for c in range(n + 1)]
    counts = np.arange(n + 1)

    def chances(rows, extra):
        result = np.zeros(len(p))
        for mode in range(len(p)):
            for m in range(1, n + 1):
                product = np.ones(1)
                for cell, term in enumerate(terms):
                    more = counts + (cell == extra)
                    high = m - (cell < mode)
                    kept = (more == m) if cell == mode else (more <= high)
                    product = np.convolve(product, np.where(kept, term, 0.0))[: rows + 1]
                result[mode] += product[rows] if len(product) > rows else 0.0
        return result * factorial(rows)

    out = chances(n, None)
    return sum(x * np.maximum(chances(n - 1, k) - out, 0.0).sum() for k, x in enumerate(p.tolist()))


@pytest.mark.parametrize("cells", [8, 11])  # a power of 2, and runs without a neighbour
def test_cells_of_different_sizes_leak_as_convolutions_say(cells):
    p = np.arange(1.0, cells + 1.0) ** -0.7
    p /= p.sum()
    for law in (p, p[::-1]):
        found = mechanism_leakage(Mode(), law, 12)
        assert abs(found.upper - _true_by_arrays(law, 12)) <= found.error


def test_what_is_left_out_is_far_below_the_error(monkeypatch):
    from mialeak.mechanisms import _mode

    p = np.random.default_rng(4).dirichlet(np.ones(30))
    some = mechanism_leakage(Mode(), p, 200)
    monkeypatch.setattr(_mode, "_OMITTED", 0.0)
    everything = mechanism_leakage(Mode(), p, 200)
    assert abs(some.upper - everything.upper) <= 1e-16


def test_many_cells_are_fast():
    p = 1.0 / np.arange(1.0, 201.0)
    start = time.process_time()
    found = mechanism_leakage(Mode(), p / p.sum(), 300)
    assert time.process_time() - start < 10.0  # 1 s; a sum over all pairs takes 30 s
    # By the sum over all nodes and counts, cell after cell.
    assert found.upper == pytest.approx(0.00013148713518160932, abs=1e-16)


@pytest.mark.parametrize(("cells", "n"), [(6000, 2), (40, 10**8), (4000, 200)])
def test_what_would_take_minutes_is_refused(cells, n):
    with pytest.raises(ValueError, match=rf"The leakage of the mode is not available at n = {n:,}"):
        mechanism_leakage(Mode(), np.full(cells, 1 / cells), n)


def test_a_leakage_that_is_left_out_is_printed_as_an_upper_limit():
    """All terms are below what may be left out: the sum is 0, and the leakage is not."""
    found = mechanism_leakage(Mode(), np.array([0.5, 0.5]), 20_000, gamma=2.0)
    assert found.lower == 0.0 < found.error
    assert f"lower=<{found.error:.2g}" in repr(found)
