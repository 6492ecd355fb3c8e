"""The referee: ball arithmetic with proven radii, and enumeration in rational numbers.

Nothing here knows how the package computes.  Every value is an ``arb`` of python-flint, a midpoint
with a proven radius, and the precision is raised until that radius is below ``2**-70`` of the
value.  All functions take the float64 a caller would pass and mean it exactly: ``p = 0.1`` is the
dyadic rational nearest to one tenth, and ``n * p`` is its exact product.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

__all__ = [
    "EPS",
    "atom_leakage",
    "binom_excess",
    "binom_logpmf",
    "binom_mad",
    "binom_sf",
    "binom_shortfall",
    "certain",
    "log_pmf",
    "max_leakage",
    "max_leakage_by_enumeration",
    "precision",
    "rational",
    "rounded",
    "tail_fraction",
    "tails",
]

EPS = 2.0**-52

#: A ball is good when its radius is below this part of its midpoint: far below what float64 shows.
ENOUGH = arb(2) ** -70

#: Bits to try in turn.  The first serves nearly all; close to an integer ``c`` deep in a tail the
#: two terms of the excess cancel and more is needed.
LADDER = (192, 320, 768, 1600, 3200)

#: Bits for continued fractions: their balls grow by some bits at every one of up to 1000 steps.
FRACTION_BITS = 3200


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the working precision of ``arb`` for a block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def certain(function: Callable[[], arb], *, absolute: bool = False) -> arb:
    """The value of `function`, at the first precision where its radius is small enough.

    With `absolute` a radius below ``2**-70`` itself is enough as well: for logarithms, which
    pass through 0.
    """
    for bits in LADDER:
        with precision(bits):
            value = function()
            if not value.is_finite():
                continue
            size = abs(arb(value.mid()))
            if arb(value.rad()) <= ENOUGH * (size.max(1) if absolute else size):
                return value
    raise ArithmeticError(f"no certain value with {LADDER[-1]} bits: {value}")


def rounded(value: arb) -> tuple[float, float]:
    """The float64 nearest to `value`, and what rounding took away, in units of eps * value."""
    if abs(value) < arb(2) ** -1100:
        return 0.0, 0.0  # below every float64, and 2**-1e9 would not fit the memory
    mantissa, exponent = value.mid().man_exp()
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    nearest = float(exact)  # Python rounds the quotient of two integers correctly
    if exact == 0:
        return nearest, 0.0
    return nearest, float((exact - Fraction(nearest)) / (abs(exact) * Fraction(EPS)))


def rational(x: float | Fraction) -> fmpq:
    """`x` exactly."""
    numerator, denominator = x.as_integer_ratio()
    return fmpq(numerator, denominator)


# --- binomial ----------------------------------------------------------------------------------


def log_pmf(k: int, n: int, p: fmpq) -> arb:
    """Log of P(B = k) for 0 <= k <= n and 0 < p < 1, at the working precision."""
    log_choose = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    if p <= fmpq(1, 2):
        log_p, log_q = arb(p).log(), (-arb(p)).log1p()
    else:
        q = arb(1 - p)
        log_p, log_q = (-q).log1p(), q.log()
    return log_choose + k * log_p + (n - k) * log_q


def tails(k: int, n: int, p: fmpq) -> tuple[arb, arb]:
    """P(B < k) and P(B >= k) for 1 <= k <= n; the smaller is the one computed."""
    if p * (n + 3) < k + 1:
        upper = small_tail(k, n, p)
        return 1 - upper, upper
    lower = small_tail(n - k + 1, n, 1 - p)
    return lower, 1 - lower


def small_tail(k: int, n: int, p: fmpq) -> arb:
    """P(B >= k) = I_p(k, n - k + 1) for k above the mean."""
    fraction = tail_fraction(k, n, p)
    if fraction is not None:
        # b(k; n, p) (1 - p) * fraction, by DLMF 8.17.22.
        return log_pmf(k, n, p).exp() * arb(1 - p) * fraction
    if p <= fmpq(1, 2):
        return arb(p).beta_lower(arb(k), arb(n - k + 1), True)
    return 1 - arb(1 - p).beta_lower(arb(n - k + 1), arb(k), True)


def tail_fraction(k: int, n: int, p: fmpq, most_steps: int = 1000) -> arb | None:
    """The continued fraction of DLMF 8.17.22, or None where it is slow (close to the mean).

    For p < (a+1)/(a+b+2) its convergents 4m, 4m+1 lie below the limit and 4m+2, 4m+3 above it
    (DLMF 8.17.24), so that two of them enclose it.
    """
    bits = ctx.prec
    with precision(FRACTION_BITS):
        a, b, x = arb(k), arb(n - k + 1), arb(p)
        # Convergent j is top/bottom; *_before is convergent j - 1.
        top_before, top, bottom_before, bottom = arb(0), arb(1), arb(1), arb(1)
        for j in range(1, most_steps):
            m = j // 2
            if j % 2:
                step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            else:
                step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            top_before, top = top, top + step * top_before
            bottom_before, bottom = bottom, bottom + step * bottom_before
            if j % 4 != 3:
                continue
            if not arb(bottom.rad()) < abs(arb(bottom.mid())) / 2:
                return None
            last, one_before = top / bottom, top_before / bottom_before
            both = last.union(one_before)
            if arb(both.rad()) < abs(arb(both.mid())) * arb(2) ** -bits:
                return both
            scale = 1 / arb(bottom.mid())
            top_before, top = top_before * scale, top * scale
            bottom_before, bottom = bottom_before * scale, bottom * scale
    return None


def binom_mad(n: float, p: float) -> arb:
    """E|B - n p| = 2 n p (1-p) b(floor(n p); n-1, p), the floor of the exact product."""
    n, exact = int(n), rational(p)
    if n == 0 or exact in (0, 1):
        return arb(0)
    m = int((exact * n).floor())

    def value() -> arb:
        return 2 * n * arb(exact) * arb(1 - exact) * log_pmf(m, n - 1, exact).exp()

    return certain(value)


def binom_excess(c: float, n: float, p: float) -> arb:
    """E (B - c)+ for finite c, from k (1-p) b(k; n, p) + (n p - c) P(B >= k), k = floor(c) + 1."""
    return _deviation(c, int(n), p, above=True)


def binom_shortfall(c: float, n: float, p: float) -> arb:
    """E (c - B)+ for finite c, from k (1-p) b(k; n, p) - (n p - c) P(B < k), k = floor(c) + 1."""
    return _deviation(c, int(n), p, above=False)


def _deviation(c: float, n: int, p: float, *, above: bool) -> arb:
    exact, cut = rational(p), rational(c)
    distance = exact * n - cut
    if c <= 0 or c >= n or n == 0 or exact in (0, 1):
        # B does not vary, or lies on one side of c for certain.
        return certain(lambda: arb(max(distance if above else -distance, fmpq(0))))
    k = math.floor(c) + 1

    def value() -> arb:
        lower, upper = tails(k, n, exact)
        common = k * arb(1 - exact) * log_pmf(k, n, exact).exp()
        return common + arb(distance) * upper if above else common - arb(distance) * lower

    return certain(value)


def binom_sf(c: float, n: float, p: float) -> arb:
    """P(B > c) for finite c."""
    n, exact = int(n), rational(p)
    if c < 0 or (exact == 1 and c < n):
        return arb(1)
    if c >= n or exact == 0:
        return arb(0)
    return certain(lambda: tails(math.floor(c) + 1, n, exact)[1])


def binom_logpmf(k: float, n: float, p: float) -> arb:
    """Log P(B = k) for 0 <= k <= n and 0 < p < 1."""
    return certain(lambda: log_pmf(int(k), int(n), rational(p)), absolute=True)


# --- leakage of discrete data ------------------------------------------------------------------


def atom_leakage(p: float, n: int, gamma: float = 1.0) -> arb:
    """What one atom adds to the largest leakage: E (B - gamma n p)+ / n, or its mirror image.

    ``gamma n p`` is the exact product, which no float64 `c` need equal.
    """
    if gamma == 1:
        return binom_mad(n, p) / (2 * n)
    exact, ratio = rational(p), rational(gamma)
    cut = ratio * n * exact
    above = ratio >= 1

    def value() -> arb:
        # The same as _deviation, for a rational cut; n p - cut is (1 - gamma) n p exactly.
        distance = exact * n - cut
        if cut >= n or exact in (0, 1):
            return arb(max(distance if above else -distance, fmpq(0)))
        k = int(cut.floor()) + 1
        lower, upper = tails(k, n, exact)
        common = k * arb(1 - exact) * log_pmf(k, n, exact).exp()
        return common + arb(distance) * upper if above else common - arb(distance) * lower

    return certain(value) / (n if above else arb(ratio) * n)


def max_leakage(p: Sequence[float], n: int, gamma: float = 1.0) -> arb:
    """The largest leakage of discrete data, a sum of positive terms (the p need not sum to 1)."""
    with precision(256):
        return sum((atom_leakage(float(x), n, gamma) for x in p), arb(0))


def max_leakage_by_enumeration(
    p: Sequence[Fraction], n: int, gamma: Fraction = Fraction(1)
) -> Fraction:
    """The largest leakage from its definition: all count vectors, in exact arithmetic.

    The optimal attack sees the target's atom and the whole histogram.  Out: the two are
    independent.  In: the target is one of the n rows.  The leakage is the sum over both of
    (P_in - gamma P_out)+, or of (gamma P_out - P_in)+ / gamma below 1.
    """
    out_laws = _histogram_law(p, n)
    in_law = _histogram_law(p, n - 1)
    total = Fraction(0)
    for counts, out_probability in out_laws.items():
        for atom, probability in enumerate(p):
            fewer = tuple(c - (i == atom) for i, c in enumerate(counts))
            gap = in_law.get(fewer, Fraction(0)) - gamma * out_probability
            total += probability * max(gap if gamma >= 1 else -gap, Fraction(0))
    return total / min(gamma, Fraction(1))


def _histogram_law(p: Sequence[Fraction], n: int) -> dict[tuple[int, ...], Fraction]:
    """Probability of each vector of counts of `n` rows."""
    law = {}
    for counts in itertools.product(range(n + 1), repeat=len(p)):
        if sum(counts) == n:
            ways = math.factorial(n)
            chance = Fraction(1)
            for count, probability in zip(counts, p, strict=True):
                ways //= math.factorial(count)
                chance *= probability**count
            law[counts] = ways * chance
    return law
