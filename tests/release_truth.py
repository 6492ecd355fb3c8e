"""Small releases drawn at random, and what they leak by enumeration in fractions.

    python tests/release_truth.py 10000

compares as many of them with :class:`mialeak.Release`.  A release is a table of people and outputs
of it; the truth goes through all populations of as many rows.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np

from mialeak import Release
from mialeak.mechanisms import Round, Suppress
from mialeak.releases import _enumeration

__all__ = [
    "checked",
    "compositions",
    "determined",
    "drawn",
    "exact_leakage",
    "rank",
    "release_of",
]

#: Of a bound from floats against a fraction.
TOLERANCE = 1e-12


def drawn(rng, *, protected=False, margins=False):
    """People, and outputs as pairs of columns and condition (or None), with protections.

    With `margins` outputs are by one of several columns, which leaves many cells open; few designs
    of so few people do.
    """
    columns = int(rng.integers(2 if margins else 1, 4))
    levels = [2, 2, 2] if columns == 3 else [int(rng.integers(2, 4)) for _ in range(columns)]
    rows = int(rng.integers(5 if margins else 2, 7))
    names = "abc"[:columns]
    people = {
        name: rng.integers(0, k, rows).tolist() for name, k in zip(names, levels, strict=True)
    }
    outputs = []
    for _ in range(int(rng.integers(2 if margins else 1, 4))):
        by = [name for name in names if rng.random() < 0.5] or [names[0]]
        if margins:
            by = [names[int(rng.integers(columns))]]
        where = None
        if rng.random() < (0.1 if margins else 0.5):
            name = names[int(rng.integers(columns))]
            where = {name: people[name][int(rng.integers(rows))]}
            if rng.random() < 0.3:
                where = {name: {"max": where[name]}}
        protect = None
        if protected and rng.random() < 0.6:
            protect = [Round(2), Round(3), Suppress(2), Suppress(3)][int(rng.integers(4))]
        outputs.append((by, where, protect))
    return people, outputs


def release_of(people, outputs):
    """The same as a Release."""
    release = Release(people)
    for by, where, protect in outputs:
        release.add_table(by, where=where, protect=protect)
    return release


def cells_of(people):
    """The joint values of the rows, in their order."""
    return list(zip(*people.values(), strict=True))


def published(people, outputs, support):
    """Numbers of each output: for each, the cells of `support` that it counts."""
    names, found = list(people), []
    for by, where, protect in outputs:
        counted = {}
        for k, cell in enumerate(support):
            values = dict(zip(names, cell, strict=True))
            if where:
                (name, wanted), *_ = where.items()
                low_enough = isinstance(wanted, dict) and values[name] <= wanted["max"]
                if not (low_enough or values[name] == wanted):
                    continue
            counted.setdefault(tuple(values[name] for name in by), []).append(k)
        found += [(members, protect) for members in counted.values()]
    return found


def exact_leakage(people, outputs):
    """The leakage about each row, a fraction, by all populations of as many rows."""
    rows = cells_of(people)
    counts, n = Counter(rows), len(rows)
    support = list(counts)
    p = [Fraction(counts[cell], n) for cell in support]
    numbers = published(people, outputs, support)
    joint = {}
    for vector in compositions(len(support), n):
        chance = Fraction(math.factorial(n))
        for count, share in zip(vector, p, strict=True):
            chance *= share**count / math.factorial(count)
        seen = []
        for members, protect in numbers:
            count = sum(vector[k] for k in members)
            seen.append(count if protect is None else int(protect.release([count])[0]))
        chances = joint.setdefault(tuple(seen), [Fraction(0)] * (len(support) + 1))
        chances[-1] += chance
        for k, count in enumerate(vector):
            chances[k] += chance * count
    leakage = [
        sum(abs(each[k] - n * p[k] * each[-1]) for each in joint.values()) / (2 * n * p[k])
        for k in range(len(support))
    ]
    return [leakage[support.index(row)] for row in rows]


def compositions(cells, n):
    """All vectors of `cells` counts that sum to n."""
    for bars in itertools.combinations(range(n + cells - 1), cells - 1):
        ends = (-1, *bars, n + cells - 1)
        yield [b - a - 1 for a, b in itertools.pairwise(ends)]


def determined(people, outputs):
    """Whether the count of each row's cell follows from the numbers and n, for all populations.

    By the rank of a matrix of fractions, of all outputs without a protection; cells that no output
    tells apart count as one.
    """
    rows = cells_of(people)
    support = list(dict.fromkeys(rows))
    matrix = [[1] * len(support)]
    for members, protect in published(people, outputs, support):
        if protect is None:
            matrix.append([int(k in members) for k in range(len(support))])
    seen = [members for members, _ in published(people, outputs, support)]
    alike = [tuple(k in members for members in seen) for k in range(len(support))]
    whole = rank(matrix)
    unit = [[int(alike[k] == alike[j]) for j in range(len(support))] for k in range(len(support))]
    follows = [rank([*matrix, each]) == whole for each in unit]
    return [follows[support.index(row)] for row in rows]


def rank(matrix):
    """The rank of a matrix, in fractions."""
    matrix, found = [[Fraction(int(x)) for x in row] for row in matrix], 0
    for column in range(len(matrix[0])):
        pivot = next((i for i in range(found, len(matrix)) if matrix[i][column]), None)
        if pivot is None:
            continue
        matrix[found], matrix[pivot] = matrix[pivot], matrix[found]
        for i in range(found + 1, len(matrix)):
            factor = matrix[i][column] / matrix[found][column]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[found], strict=True)]
        found += 1
    return found


def own_ends(report):
    """Both ends of the leakage of each row for a known population: that given, or the people."""
    return tuple(end[report.row_cells] for end in (report.plug_in.low, report.plug_in.high))


def checked(people, outputs):
    """Compare a release with the truth, by enumeration and by bounds.

    Rows, and how many of them have an exact leakage without enumeration.
    """
    truth = [float(value) for value in exact_leakage(people, outputs)]
    follows = determined(people, outputs)
    for most in (_enumeration._MOST_POPULATIONS, 0):  # the second time without exact laws
        limits = {"_MOST_POPULATIONS": most, "_MOST_FACTORS": most}
        with mock.patch.multiple(_enumeration, **limits):
            report = release_of(people, outputs).leakage(attacks=100)
        exact = report.plug_in.exact[report.row_cells]
        low, high = own_ends(report)
        value = report.plug_in.value[report.row_cells]
        for row, wanted in enumerate(truth):
            case = (people, outputs, row, wanted, low[row], high[row])
            assert low[row] - TOLERANCE <= wanted <= high[row] + TOLERANCE, case
            assert low[row] <= value[row] <= high[row], case
            if exact[row]:
                assert abs(wanted - low[row]) <= TOLERANCE, case
                assert low[row] == high[row], case
            if not most:
                assert exact[row] == follows[row], case
    return len(truth), int(np.count_nonzero(exact))


if __name__ == "__main__":
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    generator = np.random.default_rng(20260102)
    total = np.zeros(2, int)
    for case in range(cases):
        total += checked(*drawn(generator, protected=case % 3 == 1, margins=case % 3 == 2))
    print(f"{cases:,} releases agree; {total[1]:,} of {total[0]:,} rows are determined")
