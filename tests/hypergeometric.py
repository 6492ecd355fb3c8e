"""Hypergeometric laws: truth in ball arithmetic, points, how SciPy writes them, cases.

H counts the marked ones, K of N, among n drawn.  Nothing here knows how the package computes.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import samplers
from case import Case, Family, Region
from flint import arb, arb_series, ctx, fmpq
from referee import EPS, certain
from scipy import special, stats

__all__ = ["excess", "log_pmf", "upper_tail"]

Array = np.ndarray
Columns = tuple[Array, ...]

# --- truth -------------------------------------------------------------------------------------

#: Sums of so many terms take some milliseconds; longer ones are integrals (Euler and Maclaurin).
LONGEST_SUM = 4000
#: Terms of their series; the next is below (1/300)^14 of the sum.
CORRECTIONS = 6
#: Of these integrals: panels of at most one standard deviation, and nodes that err by 1e-30 there.
PANELS, NODES = 15, 30
#: What lies this far below a first term in logarithms is nothing beside 2^-70 of it.
DEPTH = 90


def support(N: int, K: int, n: int) -> tuple[int, int]:
    """The least and the largest value of H."""
    return max(0, K + n - N), min(K, n)


def log_pmf(h: int | arb | arb_series, N: int, K: int, n: int) -> arb | arb_series:
    """Log P(H = h), from log-factorials; h may be any number, or a power series."""
    h = arb(h) if isinstance(h, int) else h

    def factorial(x):
        return (x + 1).lgamma()

    margins = sum((arb(x + 1).lgamma() for x in (K, n, N - K, N - n)), -arb(N + 1).lgamma())
    return margins - factorial(h) - factorial(K - h) - factorial(n - h) - factorial(N - K - n + h)


def moment_above(k: int, N: int, K: int, n: int, power: int) -> arb:
    """E (H - k)^power 1{H >= k} over P(H = k), for k in the support, above the mean."""
    ratio = _ratio(k, N, K, n)
    slope = float(1 - ratio)
    sd = math.sqrt(n / N * K * (1 - K / N) * (N - n) / max(N - 1, 1))
    if min(DEPTH / max(slope, 1e-300), 14 * sd + DEPTH, min(K, n) - k) > LONGEST_SUM:
        return _by_integral(k, N, K, n, power, min(DEPTH / max(slope, 1e-300), 14 * sd))
    term, total, i = arb(1), arb(power == 0), 0
    while k + i < min(K, n):
        ratio = _ratio(k + i, N, K, n)
        term, i = term * arb(ratio), i + 1
        total += term * i**power
        # The ratios fall: what follows is below a geometric series (and its derivative).
        if i % 16 == 0 and ratio < 1:
            rest = term * (i + 1) ** power / (1 - arb(ratio)) ** (1 + power)
            if rest < total * arb(2) ** -(ctx.prec // 2):
                return total + arb(0, rest.upper()) if rest > 0 else total
    return total


def _ratio(h: int, N: int, K: int, n: int) -> fmpq:
    """P(H = h + 1)/P(H = h)."""
    return fmpq((K - h) * (n - h), (h + 1) * (N - K - n + h + 1))


@cache
def _rule() -> list[tuple[arb, arb]]:
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    rule = [arb.legendre_p_root(NODES, i, weight=True) for i in range(NODES)]
    return [((1 + node) / 2, weight / 2) for node, weight in rule]


def _by_integral(k: int, N: int, K: int, n: int, power: int, width: float) -> arb:
    """The sum by Euler and Maclaurin: an integral, half the first term, derivatives there."""
    length = int(min(width + 10, min(K, n) - k))
    with_bits = ctx.prec
    ctx.prec = with_bits + 120  # log-factorials of 2^53 have 58 bits before the point
    cap, ctx.cap = ctx.cap, 2 * CORRECTIONS + 2
    try:
        start = log_pmf(k, N, K, n)

        panel, total = arb(length) / PANELS, arb(0)
        for i in range(PANELS):
            for node, weight in _rule():
                x = (i + node) * panel
                total += weight * panel * (log_pmf(k + x, N, K, n) - start).exp() * x**power
        at = arb_series([k, 1])
        values = (log_pmf(at, N, K, n) - start).exp() * arb_series([0, 1]) ** power
        total += values[0] / 2
        for j in range(1, CORRECTIONS + 1):
            # B_2j/(2j)! times the derivative: (2j - 1)! times the coefficient.
            total -= arb.bernoulli(2 * j) / (2 * j) * values[2 * j - 1]
        return total
    finally:
        ctx.prec, ctx.cap = with_bits, cap


def upper_tail(k: int, N: int, K: int, n: int, power: int = 0) -> arb:
    """E (H - k)^power 1{H >= k} for k in the support, above the mean."""
    return log_pmf(k, N, K, n).exp() * moment_above(k, N, K, n, power)


def logpmf(h: float, N: float, K: float, n: float) -> arb:
    """Log P(H = h), for h in the support."""
    h, N, K, n = int(h), int(N), int(K), int(n)
    return certain(lambda: log_pmf(h, N, K, n), absolute=True)


def mad(N: float, K: float, n: float) -> arb:
    """E|H - n K/N| = 2 m (N-K-n+m)/N P(H = m), m = floor(n K/N) + 1, in whole numbers."""
    N, K, n = int(N), int(K), int(n)
    if 0 in (K, n, N - K, N - n):
        return arb(0)
    m = n * K // N + 1
    factor = fmpq(2 * m * (N - K - n + m), N)
    return certain(lambda: arb(factor) * log_pmf(m, N, K, n).exp())


def sf(h: float, N: float, K: float, n: float) -> arb:
    """P(H > h), from the tail away from the mean."""
    k, N, K, n = math.floor(h) + 1, int(N), int(K), int(n)
    low, high = support(N, K, n)
    if k <= low or k > high:
        return arb(k <= low)
    if k * N > n * K:
        return certain(lambda: upper_tail(k, N, K, n))
    return certain(lambda: 1 - upper_tail(n - k + 1, N, N - K, n))


def excess(c: float, N: float, K: float, n: float) -> arb:
    """E (H - c)+ from the side of c away from the mean, and c - n K/N."""
    c_exact, k, N, K, n = fmpq(*c.as_integer_ratio()), math.floor(c) + 1, int(N), int(K), int(n)
    low, high = support(N, K, n)
    distance = fmpq(n * K, N) - c_exact
    if k <= low or k > high:
        return arb(distance) if k <= low else arb(0)
    if k * N > n * K:
        share = arb(k - c_exact)
        return certain(lambda: upper_tail(k, N, K, n, 1) + share * upper_tail(k, N, K, n))
    k, share = n - k + 1, arb(c_exact - k + 1)
    return certain(
        lambda: arb(distance) + upper_tail(k, N, N - K, n, 1) + share * upper_tail(k, N, N - K, n)
    )


# --- points ------------------------------------------------------------------------------------

LARGEST = 2.0**53


def _shares(rng: np.random.Generator, N: Array) -> Array:
    """Whole numbers in [1, N - 1]: any share, small, large, next to N/2."""
    size = N.size
    few = np.exp(rng.uniform(0, np.log(N)))
    choices = [
        N * rng.random(size),
        few,
        N - few,
        np.rint(N / 2) + rng.integers(-2, 3, size),
        np.rint(np.sqrt(N * np.exp(rng.uniform(-3, 3, size)))),
    ]
    which = rng.choice(len(choices), size, p=[0.4, 0.2, 0.1, 0.15, 0.15])
    return np.clip(np.floor(np.choose(which, choices)), 1, N - 1)


def laws(rng: np.random.Generator, size: int) -> Columns:
    """Columns (N, K, n) of laws with more than one value."""
    N = np.floor(np.exp2(rng.uniform(1, 53, size)))
    special = 2.0 ** rng.integers(2, 54, size) + rng.integers(-1, 2, size)
    N = np.clip(np.where(rng.random(size) < 0.1, special, N), 2, LARGEST)
    return N, _shares(rng, N), _shares(rng, N)


def _mean_sd(N: Array, K: Array, n: Array) -> Columns:
    mean = n * (K / N)
    return mean, np.sqrt(mean * (1 - K / N) * (N - n) / np.maximum(N - 1, 1))


def _inside(h: Array, N: Array, K: Array, n: Array) -> Array:
    """The nearest whole number in the support."""
    return np.clip(np.rint(h), np.maximum(0, K - (N - n)), np.minimum(K, n))


def with_count(rng: np.random.Generator, size: int) -> Columns:
    """Columns (h, N, K, n), h in the support: near the mean, far out, anywhere, at the ends."""
    N, K, n = laws(rng, size)
    mean, sd = _mean_sd(N, K, n)
    low, high = np.maximum(0, K - (N - n)), np.minimum(K, n)
    choices = [
        mean + rng.uniform(-6, 6, size) * sd,
        mean + rng.uniform(-36, 36, size) * sd,
        low + rng.random(size) * (high - low),
        low + rng.integers(0, 3, size),
        high - rng.integers(0, 3, size),
    ]
    which = rng.choice(len(choices), size, p=[0.35, 0.35, 0.1, 0.1, 0.1])
    return _inside(np.choose(which, choices), N, K, n), N, K, n


def with_threshold(rng: np.random.Generator, size: int) -> Columns:
    """The same where neither tail is below 1e-290, by Chernoff's bound."""
    parts: list[Columns] = []
    while sum(part[0].size for part in parts) < size:
        h, N, K, n = columns = with_count(rng, size)
        mean, sd = _mean_sd(N, K, n)
        cells = (h, K - h, n - h, N - K - n + h)
        expected = (mean, K - mean, n - mean, N - K - n + mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = [special.xlogy(c, c / e) for c, e in zip(cells, expected, strict=True)]
        # Near the mean the four cancel; the tail is not small there.
        good = (np.abs(h - mean) < 8 * sd) | (np.sum(terms, axis=0) < 600)
        good &= h < np.minimum(K, n)
        parts.append(tuple(column[good] for column in columns))
    return tuple(np.concatenate(column)[:size] for column in zip(*parts, strict=True))


def mean_one(rng: np.random.Generator, size: int) -> Columns:
    """Laws with a mean of 1, exactly or nearly."""
    K = np.floor(np.exp2(rng.uniform(1, 26, size)))
    n = np.floor(np.exp2(rng.uniform(1, 26, size)))
    N = np.maximum(K * n + rng.integers(-1, 2, size), np.maximum(K, n) + 1)
    return N, K, n


def whole_mean(rng: np.random.Generator, size: int) -> Columns:
    """Laws whose mean is a whole number, or next to one."""
    share = np.floor(np.exp2(rng.uniform(1, 20, size)))
    n = share * np.floor(np.exp2(rng.uniform(0, 20, size)))
    K = np.floor(np.exp2(rng.uniform(0, 12, size)))
    N = share * K + rng.integers(-1, 2, size)
    N = np.maximum(N * np.ceil((n + 1) / N), K + 1)
    return N, K, np.minimum(n, N - 1)


def halves(rng: np.random.Generator, size: int) -> Columns:
    """Laws that are folded, or just not."""
    N = np.floor(np.exp2(rng.uniform(2, 53, size)))
    near = [np.clip(np.floor(N / 2) + rng.integers(-1, 2, size), 1, N - 1) for _ in "Kn"]
    return N, *near


def end_of_table(rng: np.random.Generator, size: int) -> Columns:
    """The last populations whose coefficients are in a table, and the next."""
    N = rng.integers(98, 104, size) * 1.0
    return N, *(np.ceil(rng.random(size) * (N - 1)) for _ in "Kn")


def _counted(draw, reach: float):
    """The same laws with a count at most so many standard deviations from the mean."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        N, K, n = draw(rng, size)
        mean, sd = _mean_sd(N, K, n)
        return _inside(mean + rng.uniform(-reach, reach, size) * sd, N, K, n), N, K, n

    return sampler


_SEAMS = {"mean 1": mean_one, "mean a whole number": whole_mean, "K and n at N/2": halves}

# --- SciPy's forms -----------------------------------------------------------------------------


def scipy_logpmf(h: Array, N: Array, K: Array, n: Array) -> Array:
    """SciPy's own."""
    return stats.hypergeom.logpmf(h, N, K, n)


def scipy_sf(h: Array, N: Array, K: Array, n: Array) -> Array:
    """SciPy's own: a sum of probabilities."""
    return stats.hypergeom.sf(h, N, K, n)


def scipy_mad(N: Array, K: Array, n: Array) -> Array:
    """E|H - n K/N| by the closed form; pmf itself takes minutes for some N above 1e4."""
    m = np.floor(n * K / N) + 1
    return 2 * m * (N - K - n + m) / N * np.exp(stats.hypergeom.logpmf(m, N, K, n))


# --- cases -------------------------------------------------------------------------------------


def _everywhere(*columns: Array) -> Array:
    return np.ones(columns[0].shape, bool)


def _smaller_mean(N: Array, K: Array, n: Array) -> Array:
    return np.minimum(K, N - K) * (np.minimum(n, N - n) / N)


def _sds(h: Array, N: Array, K: Array, n: Array) -> Array:
    mean, sd = _mean_sd(N, K, n)
    return np.abs(h - mean) / sd


def _at_an_end(h: Array, N: Array, K: Array, n: Array) -> Array:
    return (h == np.maximum(0, K - (N - n))) | (h == np.minimum(K, n))


_TAIL_BOUND = 1e-13 / EPS
_BOTH = ((0, 0, 0), (5, 0, 3), (5, 5, 3), (5, 3, 0), (5, 3, 5), (LARGEST, LARGEST, LARGEST))
_SURE = [*_BOTH, (LARGEST, 0.0, 7), (LARGEST, LARGEST, 7)]


def _moderate(rng: np.random.Generator, size: int) -> dict[str, Array]:
    """K marked ones of twice as many as are drawn: the deviation is about that of the binomial."""
    columns = samplers.moderate(rng, size)
    n, N = columns["n"], 2 * columns["n"] + 1
    K = np.clip(np.rint(2 * columns["p"] * n), 1, 2 * n)
    low, high = np.maximum(0, K + n - N), np.minimum(K, n)
    h = np.clip(np.rint(columns["c"]), low, np.maximum(high - 1, low))
    return {"N": N, "K": K, "n": n, "h": h}


_COUNTS = np.arange(1.0, 24.0)
FAMILY = Family(
    "hypergeometric",
    "N",
    {"N": 20, "K": 8, "n": 9, "h": 3},
    {"N": _COUNTS + 23, "K": _COUNTS[::-1], "n": _COUNTS, "h": np.floor(_COUNTS / 3)},
    _moderate,
    lambda at: np.maximum(at["K"], at["n"]) < at["N"],
)

CASES = (
    Case(
        "hypergeom_mad",
        "mialeak.special",
        ("N", "K", "n"),
        mad,
        laws,
        (
            Region("N up to 100", lambda N, K, n: N <= 100, 4.0),
            Region("mean below 1", lambda N, K, n: _smaller_mean(N, K, n) < 1, 4.0),
            Region("mean 1 or more, N < 2^32", lambda N, K, n: N < 2**32, 4.0),
            Region("mean 1 or more, N >= 2^32", _everywhere, 4.0),
        ),
        0.0,
        2.0**-1021,
        {**_SEAMS, "N at 100": end_of_table},
        tuple((law, 0.0) for law in _SURE),
        FAMILY,
        stored=5_000,
        scipy=scipy_mad,
    ),
    Case(
        "hypergeom_logpmf",
        "mialeak.special",
        ("h", "N", "K", "n"),
        logpmf,
        with_count,
        (
            Region("an end of the support", _at_an_end, 4.0),
            Region("within 6 sd of the mean", lambda *at: _sds(*at) < 6, 4.0),
            Region("further out", _everywhere, 4.0),
        ),
        1.0,
        0.0,
        {name: _counted(draw, 30) for name, draw in _SEAMS.items()},
        (
            *(((min(law[1:]), *law), 0.0) for law in _SURE),
            ((4, 5, 3, 5), -math.inf),
            ((-1, 9, 4, 4), -math.inf),
            ((0, 9, 6, 4), -math.inf),
            ((5, 9, 6, 4), -math.inf),
        ),
        FAMILY,
        stored=5_000,
        scipy=scipy_logpmf,
    ),
    Case(
        "hypergeom_sf",
        "mialeak.special",
        ("h", "N", "K", "n"),
        sf,
        with_threshold,
        (
            Region("20 sd or more", lambda *at: _sds(*at) >= 20, _TAIL_BOUND),
            Region("6 to 20 sd", lambda *at: _sds(*at) >= 6, _TAIL_BOUND),
            Region("1 to 6 sd", lambda *at: _sds(*at) >= 1, _TAIL_BOUND),
            Region("within 1 sd of the mean", _everywhere, _TAIL_BOUND),
        ),
        0.0,
        1e-290,
        {name: _counted(draw, 8) for name, draw in _SEAMS.items()},
        (
            *(((min(law[1:]), *law), 0.0) for law in _SURE),
            *(((min(law[1:]) - 0.5, *law), 1.0) for law in _BOTH[:5]),
            ((math.inf, 9, 4, 4), 0.0),
            ((-math.inf, 9, 4, 4), 1.0),
            ((4, 9, 4, 4), 0.0),
            ((0.5, 9, 6, 4), 1.0),
        ),
        FAMILY,
        stored=1_200,
        rival_largest=2.0**14,
        scipy=scipy_sf,
    ),
)
