"""Beta-binomial counts: what the count of a panel's cell leaks, and its law.

========  ========================================================================================
Symbol    Meaning
========  ========================================================================================
n, c      rows of the release, and of them in the cell
s, b, S   weight of the cell, of all others, and their sum
h(c)      ``C(c + s, c) C(n - c + b, n - c) / C(n + S, n)``: hypergeometric, with real margins
========  ========================================================================================

With the law ``f(c) = h(c) s b (n + S) / ((c + s) (n - c + b) S)`` of c, averaged over the targets,
the sum of ``(c - n s/S) f(c)`` over all c from m on is ``m (b + n - m) f(m) / S``, as the ratio of
f(c + 1) to f(c) shows.  With the first m above ``n s / S``, a target in the cell leaks
``m b h(m) / (n (m + s))`` at gamma = 1.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainccinv, betaincinv, gamma, xlog1py

from mialeak._arrays import FloatArray, invalid

__all__ = ["MOST_TERMS", "WHOLE", "Law", "beta_binomial", "count_window", "panel_leakage"]

#: The number of its first outcome, and the probabilities.
Law = tuple[int, FloatArray]

#: Laws of so many outcomes are computed whole; of longer ones all but e^-60 on either side.
WHOLE = 2**12

#: Outcomes that are computed at most: 10 s or so.
MOST_TERMS = 2**27

#: Probabilities follow from one another by their ratios, so many times in a row: their rounding
#: adds up.
_STRIDE = 2**12

#: Stirling's series is right to the last bits from here on; its terms, the last first.
_STIRLING = 12.0
_SERIES = (1 / 156, 691 / 360360, 1 / 1188, 1 / 1680, 1 / 1260, 1 / 360, 1 / 12)

#: Exponent of what is left out.
_DROP = 60.0


def count_window(size: int, variance: float, mean: float) -> tuple[int, int]:
    """Outcomes outside which a sampled count of `size` people has probability 2 e^-60 at most.

    By Bernstein's inequality, as for the curve of a register.
    """
    if size < WHOLE:
        return 0, size
    reach = _DROP / 3.0 + math.sqrt((_DROP / 3.0) ** 2 + 2.0 * _DROP * variance)
    return max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), size)


def panel_leakage(n: int, weight: FloatArray, others: FloatArray) -> FloatArray:
    """Leakage at gamma = 1 of a target in a cell of each weight, `others` being that of the rest.

    In closed form: the cost does not depend on n, and nothing is left out.
    """
    rows, total = float(n), weight + others
    # The smaller share is right to the last bits.
    m = np.where(
        weight <= others,
        np.floor(rows * (weight / total)) + 1.0,
        rows + 1.0 - np.ceil(rows * (others / total)),
    )
    m = np.clip(m, 1.0, rows)
    part = m * others / (rows * (m + weight))
    return np.where(others > 0.0, part * _pmf(m, rows - m, weight, others), 0.0)


def _pmf(c: FloatArray, outside: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """h(c), with n = c + outside.

    Stirling's formula for each factorial leaves the table's divergence from independent rows and
    columns, the difference of all four numbers from their expectation being the same.
    """
    rows, total = c + outside, s + b
    whole, column, other = rows + total, c + s, outside + b
    with np.errstate(under="ignore"):
        difference = (c * b - outside * s) / whole
        divergence = np.zeros(np.broadcast_shapes(c.shape, s.shape))
        for row, of, sign in (
            (rows, column, 1.0),
            (rows, other, -1.0),
            (total, column, -1.0),
            (total, other, 1.0),
        ):
            expected = row * (of / whole)
            with np.errstate(divide="ignore", invalid="ignore"):  # 0/0: no number, no part
                excess = np.maximum(sign * difference / expected, -1.0)
                part = expected * (xlog1py(1.0 + excess, excess) - excess)
            divergence += np.where(expected > 0.0, part, 0.0)
        up = _stirling(rows) * _stirling(total) * _stirling(column) * _stirling(other)
        down = _stirling(c) * _stirling(outside) * _stirling(s) * _stirling(b) * _stirling(whole)
        return np.asarray(np.exp(-divergence) * (up / down))


def _stirling(z: FloatArray) -> FloatArray:
    """The part of z! that Stirling's main term leaves, ``z! e^z / z^z``, of real z from 0 on."""
    small = np.minimum(z, _STIRLING)
    direct = gamma(small + 1.0) * np.exp(small) / small**small
    y = np.maximum(z, _STIRLING)
    series = np.zeros_like(y)
    for term in _SERIES:
        series = term - series / (y * y)
    return np.where(z < _STIRLING, direct, np.sqrt(2.0 * math.pi * y) * np.exp(series / y))


def beta_binomial(n: int, a: float, b: float) -> Law:
    """The law of a binomial count whose probability is Beta(a, b), a >= 1.

    By its ratios, from probabilities that are computed one by one; of short laws from the mode on,
    divided by their sum.
    """
    if b == 0.0:
        return n, np.ones(1)
    if n < WHOLE:
        ratio = _ratios(np.arange(float(n)), n, a, b)
        mode = int(np.count_nonzero(ratio >= 1.0))  # they fall through 1 once, or never
        with np.errstate(under="ignore"):
            rising = np.cumprod(1.0 / ratio[:mode][::-1])[::-1]
            law = np.concatenate([rising, [1.0], np.cumprod(ratio[mode:])])
            return 0, law / law.sum()
    least = float(betaincinv(a, b, math.exp(-_DROP)))
    most = float(betainccinv(a, b, math.exp(-_DROP)))
    first = count_window(n, n * least * (1.0 - least), n * least)[0]
    last = count_window(n, n * most * (1.0 - most), n * most)[1]
    if last - first >= MOST_TERMS:
        rule = f"have at most {MOST_TERMS:,} outcomes with this n"
        invalid("p", rule, remedy="Pass a larger panel, or ask about a smaller n")
    law = np.empty(last - first + 1)
    starts = np.arange(float(first), last + 1.0, _STRIDE)
    outside = n - starts
    known = _pmf(starts, outside, np.asarray(a), np.asarray(b))
    known *= a * (b / (outside + b)) * ((n + a + b) / ((starts + a) * (a + b)))
    for k, start in enumerate(starts.tolist()):
        part = law[k * _STRIDE : (k + 1) * _STRIDE]
        part[0] = known[k]
        with np.errstate(under="ignore"):
            part[1:] = _ratios(start + np.arange(part.size - 1.0), n, a, b)
            np.cumprod(part, out=part)
    return first, law


def _ratios(c: FloatArray, n: int, a: float, b: float) -> FloatArray:
    """Of each probability but the first to the one before, from P(c + 1) / P(c) on."""
    with np.errstate(over="ignore"):  # of a subnormal b: the mode is n
        return np.asarray((n - c) * (c + a) / ((c + 1.0) * (n - c - 1.0 + b)))
