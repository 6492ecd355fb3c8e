"""Truth for released means: ball arithmetic for the non-central chi-square, and what follows."""

from __future__ import annotations

import math

from flint import arb, ctx

__all__ = ["chi_square_options", "chi_square_tail", "log_ratio_delta", "normal_shift_power"]

#: Bits that survive the complement of a tail of 1e-300 twice over.
_BITS = 1300


def chi_square_tail(x, df, nc, *, upper) -> arb:
    """P(X > x) or P(X <= x), the Poisson mixture of central tails around its largest term."""
    ctx.prec = _BITS
    x, df, nc = arb(x), arb(df), arb(nc)
    if x <= 0:
        return arb(upper)
    half, shape, rate = x / 2, df / 2, nc / 2
    if not float(nc):
        above = half.gamma_upper(shape, regularized=1)
        return above if upper else 1 - above
    d, m, at = float(df), float(nc), float(x)
    largest = m * at / (d + math.sqrt(d * d + 4 * m * at))
    reach = int(25 * math.sqrt(largest) + 200)
    low, high = max(0, int(largest) - reach), int(largest) + reach
    weight = (arb(low) * rate.log() - rate - arb(low + 1).lgamma()).exp()
    shape += low
    above = half.gamma_upper(shape, regularized=1)
    step = (shape * half.log() - half - (shape + 1).lgamma()).exp()
    total = arb(0)
    for j in range(low, high + 1):
        total += weight * (above if upper else 1 - above)
        above += step
        shape += 1
        step *= half / shape
        weight *= rate / (j + 1)
    return total


def chi_square_options(x, df, nc, width) -> tuple[arb, arb]:
    """``E (e^(width (x - X)/2) - 1)+`` and ``E (1 - e^(width (x - X)/2))+``.

    Tilting by the exponential makes a scaled law of the same family.
    """
    ctx.prec = _BITS
    x, df, nc, width = arb(x), arb(df), arb(nc), arb(width)
    mass = (width * x / 2 - df / 2 * (1 + width).log() - nc * width / 2 / (1 + width)).exp()
    tilted = x * (1 + width), df, nc / (1 + width)
    call = mass * chi_square_tail(*tilted, upper=False) - chi_square_tail(x, df, nc, upper=False)
    put = chi_square_tail(x, df, nc, upper=True) - mass * chi_square_tail(*tilted, upper=True)
    return call, put


def log_ratio_delta(epsilon, score, n, columns, direction) -> arb:
    """Delta of the mean of n Gaussian rows, as the difference of the two tails."""
    ctx.prec = _BITS
    epsilon, score, ratio = arb(epsilon), arb(score), arb(n) / (n - 1)
    squared = n * score
    most = arb(columns) / 2 * ratio.log() + squared / 2
    at = epsilon if direction == "in" else -epsilon
    x = 2 * (n - 1) * (most - at)
    upper = direction == "out"
    out = chi_square_tail(x, columns, n * squared, upper=upper)
    into = chi_square_tail(x * ratio, columns, (n - 1) * squared, upper=upper)
    grown = epsilon.exp()
    return into - grown * out if direction == "in" else out - grown * into


def normal_shift_power(x, score, n, columns) -> tuple[arb, arb]:
    """(fpr, power) of the attack that guesses "in" where n |mean - target|^2 is at most x."""
    ctx.prec = _BITS
    squared = n * arb(score)
    fpr = chi_square_tail(x, columns, n * squared, upper=False)
    return fpr, chi_square_tail(arb(x) * n / (n - 1), columns, (n - 1) * squared, upper=False)
