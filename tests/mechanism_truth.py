"""Leakage of mechanisms by enumeration in exact rationals: lemma 5.2 of [AGP23], literally.

And protections beside their laws: what a count, or a table whose rows move, becomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product

import mpmath

from mialeak.mechanisms import (
    CellKey,
    DiscreteGaussian,
    Pipeline,
    Pram,
    RandomRound,
    Round,
    Suppress,
    Swap,
)

__all__ = [
    "BY",
    "CELLWISE",
    "FLOATS",
    "FOUR",
    "GAMMAS",
    "LAW",
    "MOVING",
    "NOISE",
    "PTABLE",
    "count_vectors",
    "enumerated",
    "geometric",
    "hidden",
    "moved",
    "one",
    "one_after_the_other",
    "random_round",
    "rounded",
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


# --- protections, each with its law ---

LAW = [Fraction(1, 2), Fraction(5, 16), Fraction(3, 16)]
FLOATS = [float(x) for x in LAW]
GAMMAS = [Fraction(1, 2), Fraction(1), Fraction(3)]

SIGMA = 0.75


def key_law(count):
    return {count + v: p for v, p in NOISE[min(count, 3)].items()}


def one(function):
    """The law of a step that is no matter of chance."""
    return lambda count: {function(count): Fraction(1)}


def rounded(base):
    return one(lambda x: (x + base // 2) // base * base)


def hidden(below, *, zeros=False):
    return one(lambda x: x if x >= below or (zeros and x == 0) else None)


def one_after_the_other(*steps):
    """The law of the last step's outcome; None, a hidden count, stays."""

    def law(count):
        outcomes = {count: Fraction(1)}
        for step in steps:
            after = {}
            for value, chance in outcomes.items():
                for shown, p in ({None: Fraction(1)} if value is None else step(value)).items():
                    after[shown] = after.get(shown, 0) + chance * p
            outcomes = after
        return outcomes

    return law


def gaussian(count):
    """Discrete Gaussian noise to 40 digits; beyond 12 its mass is below 1e-50."""
    with mpmath.workdps(40):
        mass = [mpmath.exp(-mpmath.mpf(z * z) / (2 * Fraction(SIGMA) ** 2)) for z in range(-12, 13)]
        whole = mpmath.fsum(mass)
        return {count + z - 12: Fraction(str(m / whole)) for z, m in enumerate(mass)}


CELLWISE = {
    "cell key": (CellKey(PTABLE), key_law),
    "discrete Gaussian": (DiscreteGaussian(SIGMA), gaussian),
    "one step": (Pipeline(Round(3)), rounded(3)),
    "suppress, round": (
        Pipeline(Suppress(3), Round(2)),
        one_after_the_other(hidden(3), rounded(2)),
    ),
    "round, suppress": (
        Pipeline(Round(2), Suppress(3)),
        one_after_the_other(rounded(2), hidden(3)),
    ),
    "zeros shown": (
        Pipeline(Suppress(2, zeros_shown=True), Round(3)),
        one_after_the_other(hidden(2, zeros=True), rounded(3)),
    ),
    "random, suppress": (
        Pipeline(RandomRound(3), Suppress(2)),
        one_after_the_other(random_round(3), hidden(2)),
    ),
    "key, suppress, round": (
        Pipeline(CellKey(PTABLE), Suppress(2), Round(3)),
        one_after_the_other(key_law, hidden(2), rounded(3)),
    ),
    "key, random": (
        Pipeline(CellKey(PTABLE), RandomRound(2)),
        one_after_the_other(key_law, random_round(2)),
    ),
    "Gaussian, suppress": (
        Pipeline(DiscreteGaussian(SIGMA), Suppress(1)),
        one_after_the_other(gaussian, hidden(1)),
    ),
}


# --- rows that move ---

MATRIX = [
    [Fraction(3, 4), Fraction(1, 4), Fraction(0)],
    [Fraction(1, 8), Fraction(3, 4), Fraction(1, 8)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
]
FOUR = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
BY = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def moved(matrix):
    """The law of the counts after each row moved, row by row."""

    def mechanism(counts):
        law = {(0,) * len(counts): Fraction(1)}
        for k, c in enumerate(counts):
            for _ in range(c):
                after = {}
                for shown, chance in law.items():
                    for j, p in enumerate(matrix[k]):
                        if p:
                            key = (*shown[:j], shown[j] + 1, *shown[j + 1 :])
                            after[key] = after.get(key, 0) + chance * p
                law = after
        return law

    return mechanism


def exchanged(by, rate):
    """The law of the counts after chosen rows of a group exchanged values, row by row."""
    triples = [cell if len(cell) == 3 else (None, *cell) for cell in by]

    def mechanism(counts):
        rows = [triples[k] for k, c in enumerate(counts) for _ in range(c)]
        law = {}
        for chosen in product((False, True), repeat=len(rows)):
            chance = math.prod((rate if each else 1 - rate for each in chosen), start=Fraction(1))
            dealt = [list(rows)]
            for group in {row[0] for row in rows}:
                places = [i for i, row in enumerate(rows) if chosen[i] and row[0] == group]
                dealt = [
                    [
                        (*row[:2], rows[order[places.index(i)]][2]) if i in places else row
                        for i, row in enumerate(table)
                    ]
                    for table in dealt
                    for order in permutations(places)
                ]
            for table in dealt:
                shown = tuple(table.count(cell) for cell in triples)
                law[shown] = law.get(shown, 0) + chance / len(dealt)
        return law

    return mechanism


GROUPED = [("x", *BY[0]), ("x", *BY[1]), ("y", "a", 1), ("y", "a", 2)]
MOVING = {
    "pram": (Pram([[float(x) for x in row] for row in MATRIX]), moved(MATRIX), LAW),
    "swap": (Swap(0.25, BY), exchanged(BY, Fraction(1, 4)), FOUR),
    "swap all": (Swap(1.0, BY), exchanged(BY, Fraction(1)), FOUR),
    "swap none": (Swap(0.0, BY), exchanged(BY, Fraction(0)), FOUR),
    "within groups": (Swap(0.5, GROUPED), exchanged(GROUPED, Fraction(1, 2)), FOUR),
}
