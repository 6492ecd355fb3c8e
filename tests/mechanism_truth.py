"""Leakage of mechanisms by enumeration in exact rationals: lemma 5.2 of [AGP23], literally."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

__all__ = [
    "NOISE",
    "PTABLE",
    "count_vectors",
    "enumerated",
    "geometric",
    "random_round",
    "separately",
]

Counts = tuple[int, ...]
Law = dict[object, Fraction]

#: P(v | c) for c = 0, 1, 2 and more.
NOISE = {
    0: {0: Fraction(1)},
    1: {-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)},
    2: {-2: Fraction(1, 8), -1: Fraction(1, 8), 0: Fraction(3, 8), 1: Fraction(3, 8)},
    3: {
        -2: Fraction(1, 8),
        -1: Fraction(1, 4),
        0: Fraction(1, 4),
        1: Fraction(1, 4),
        2: Fraction(1, 8),
    },
}
PTABLE = {
    "i": [i for i, law in NOISE.items() for _ in law],
    "v": [v for law in NOISE.values() for v in law],
    "p": [float(p) for law in NOISE.values() for p in law.values()],
}


def count_vectors(n: int, cells: int) -> Iterator[Counts]:
    """All ways to share n rows among the cells, in lexicographic order."""
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in count_vectors(n - first, cells - 1):
            yield (first, *rest)


def weight(counts: Counts, p: list[Fraction]) -> Fraction:
    """The product of p_k^c_k / c_k!; times n! it is a multinomial probability."""
    factors = (pk**c / math.factorial(c) for pk, c in zip(p, counts, strict=True))
    return math.prod(factors, start=Fraction(1))


def enumerated(
    mechanism: Callable[[Counts], Law], p: list[Fraction], n: int, gamma: Fraction, most: int = 0
) -> Fraction | float:
    """Leakage; with `most`, for a Poisson number of rows with mean n that is at most `most`.

    The printed form: max(1, g) [sum |E[(g p_k - N_k/n) G(l | N)]|/(2 g) - |1 - 1/g|/2].
    """
    sums: dict[object, list[Fraction]] = {}
    for rows in range(most + 1) if most else (n,):
        for counts in count_vectors(rows, len(p)):
            w = weight(counts, [n * pk for pk in p]) if most else weight(counts, p)
            for outcome, chance in mechanism(counts).items():
                row = sums.setdefault(outcome, [Fraction(0)] * len(p))
                for k, c in enumerate(counts):
                    row[k] += w * chance * (gamma * p[k] - Fraction(c, n))
    absolute = sum(abs(x) for row in sums.values() for x in row)
    scale = math.exp(-n) if most else math.factorial(n)
    both = max(Fraction(1), gamma)
    return both * (absolute * scale / (2 * gamma) - abs(1 - 1 / gamma) / 2)


def separately(of_cell: Callable[[int], Law]) -> Callable[[Counts], Law]:
    """A mechanism that treats each cell on its own."""

    def mechanism(counts: Counts) -> Law:
        joint: Law = {(): Fraction(1)}
        for c in counts:
            joint = {
                (*outcome, y): chance * q  # type: ignore[misc]
                for outcome, chance in joint.items()
                for y, q in of_cell(c).items()
                if q
            }
        return joint

    return mechanism


def random_round(base: int) -> Callable[[int], Law]:
    """Up with the probability of the remainder over the base."""

    def of_cell(c: int) -> Law:
        r = c % base
        return {c - r: Fraction(base - r, base), c - r + base: Fraction(r, base)}

    return of_cell


def geometric(alpha: Fraction, low: int, high: int) -> Callable[[int], Law]:
    """Noise with P(z) ~ alpha^|z|; all below `low` and above `high` is taken for these."""

    def of_cell(c: int) -> Law:
        law = {y: (1 - alpha) / (1 + alpha) * alpha ** abs(y - c) for y in range(low + 1, high)}
        law[low] = alpha ** (c - low) / (1 + alpha)
        law[high] = alpha ** (high - c) / (1 + alpha)
        return law  # type: ignore[return-value]

    return of_cell
