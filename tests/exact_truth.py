"""Truth for the exact law of a released mean: rational enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import comb

__all__ = ["advantage", "auc", "bits", "convolved", "delta", "genotypes", "releases", "vertices"]


def bits(p: Fraction, z: int, n: int) -> list[tuple[Fraction, Fraction]]:
    """Probability out and in of each number of rows with the target's bit."""
    own = p if z else 1 - p
    law = []
    for k in range(n + 1):
        out = comb(n, k) * own**k * (1 - own) ** (n - k)
        inside = comb(n - 1, k - 1) * own ** (k - 1) * (1 - own) ** (n - k) if k else Fraction(0)
        law.append((out, inside))
    return law


def genotypes(p: Fraction, z: int, n: int) -> list[tuple[Fraction, Fraction]]:
    """The same for the sum of n genotypes."""

    def chance(k: int, draws: int) -> Fraction:
        if not 0 <= k <= draws:
            return Fraction(0)
        return comb(draws, k) * p**k * (1 - p) ** (draws - k)

    return [(chance(k, 2 * n), chance(k - z, 2 * n - 2)) for k in range(2 * n + 1)]


def releases(laws: list[list[tuple[Fraction, Fraction]]]) -> list[tuple[Fraction, Fraction]]:
    """Probability out and in of every release, equal ratios merged, largest ratio first."""
    merged: dict[Fraction, list[Fraction]] = {}
    for outcome in product(*laws):
        out, inside = Fraction(1), Fraction(1)
        for a, b in outcome:
            out, inside = out * a, inside * b
        total = merged.setdefault(inside / out, [Fraction(0), Fraction(0)])
        total[0] += out
        total[1] += inside
    return [(out, inside) for _, (out, inside) in sorted(merged.items(), reverse=True)]


def advantage(law: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Total variation."""
    return sum((max(b - a, Fraction(0)) for a, b in law), Fraction(0))


def delta(law: list[tuple[Fraction, Fraction]], growth: Fraction, *, inward: bool) -> Fraction:
    """``sup P_in - growth P_out``, or the worlds exchanged."""
    pairs = [(b, a) if inward else (a, b) for a, b in law]
    return sum((max(x - growth * y, Fraction(0)) for x, y in pairs), Fraction(0))


def vertices(law: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Corners (fpr, power) from (0, 0) on."""
    corners = [(Fraction(0), Fraction(0))]
    for a, b in law:
        corners.append((corners[-1][0] + a, corners[-1][1] + b))
    return corners


def auc(law: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Area under the polygon."""
    corners = vertices(law)
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(corners):
        area += (x1 - x0) * (y0 + y1) / 2
    return area


def convolved(law: dict[float, Fraction], n: int) -> dict[float, Fraction]:
    """The law of a sum of n independent values, each with its probability."""
    total: dict[float, Fraction] = {0: Fraction(1)}
    for _ in range(n):
        following: dict[float, Fraction] = {}
        for s, a in total.items():
            for v, b in law.items():
                following[s + v] = following.get(s + v, 0) + a * b
        total = following
    return total
