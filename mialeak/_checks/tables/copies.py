"""Signs that persons have several rows, or that those of small cells were left out.

Persons that have several rows show by too few rows that no other row equals.  Rows of different
persons are drawn from some law: a law that has the frequencies of the columns, and of as many pairs
of columns as a tree connects, is simulated.  Real rows may have more equal ones, but not hardly any
alone where it has many.  And each column is bound to the others, as where rows are copies: columns
of groups, as of the classes of a school, are not bound to those of persons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._cells import all_differ, codes_of, count_cells
from mialeak._checks.names import is_household_name, is_person_name
from mialeak._checks.tables.small_counts import cautions_of_small_counts
from mialeak._checks.tables.structure import MOST_COLUMNS
from mialeak._columns import Factor

__all__ = ["cautions_later", "cautions_of_copies", "cautions_of_small_cells"]

IntArray = npt.NDArray[np.int64]
Codes = tuple[npt.NDArray[Any], int]

#: Fewest rows, and the first rows that are looked at: in all columns, and in all but one.
_FEWEST_ROWS, _FIRST, _FIRST_WITHOUT = 200, 2**15, 10_000
#: Share of rows alone from which nothing is simulated; that of the expected ones below which these
#: are too few, and the fewest that are expected; how many more different rows are.
_OFTEN_ALONE, _RARELY, _FEWEST_ALONE, _MORE_CELLS = 0.3, 0.4, 50, 1.25
#: Fewest pairs of equal rows; by what factor triples are fewer than by any law of rows, and triples
#: that are added to theirs, as few vary by chance.
_FEWEST_TWICE, _FEWER, _BY_CHANCE = 50, 4, 10
#: Least share of rows that shuffling a column changes, and how many more cells it makes.
_CHANGED, _MORE_SHUFFLED = 0.1, 1.05
#: Cells near the smallest from which one suspects that smaller ones were left out: a trial has a
#: pair of arms of few persons.
_FEWEST_NEAR = 8


def cautions_later(
    every: Mapping[Any, Factor], values: Mapping[Any, Factor], counts: IntArray
) -> list[Callable[[], list[str]]]:
    """What fits laws and simulates, when cautions are asked for.

    :func:`cautions_of_copies` of the first rows of `every` column, and
    :func:`cautions_of_small_cells` of the `values` and `counts` of the cells.
    """
    later: list[Callable[[], list[str]]] = [partial(cautions_of_small_cells, values, counts)]
    first = {name: Factor(each.codes[:_FIRST].copy(), each.levels) for name, each in every.items()}
    return [*later, partial(cautions_of_copies, first)] if every else later


def cautions_of_small_cells(values: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if the persons of small cells seem to be left out of the rows."""
    near = np.count_nonzero(counts < 2 * counts.min())
    return cautions_of_small_counts(values, counts) if near >= _FEWEST_NEAR else []


def cautions_of_copies(every: Mapping[Any, Factor]) -> list[str]:
    """A sentence if nearly all rows have an equal one, in all columns or in all but one.

    None if a column names persons, or numbers the rows: other cautions concern these.
    """
    sizes = {name: each.n_values for name, each in every.items()}
    rows = len(next(iter(every.values())).codes) if every else 0
    if rows < _FEWEST_ROWS or not 2 < len(every) <= MOST_COLUMNS:
        return []
    if any(is_person_name(k, size, rows) or is_household_name(k) for k, size in sizes.items()):
        return []
    several = {name: each for name, each in every.items() if sizes[name] > 1}
    several = {name: each for name, each in several.items() if not all_differ(each)}
    if sentence := _twice(several, rows):
        return [sentence]
    sentence = _alone(several, min(rows, _FIRST))
    if sentence:
        return [
            f"Only {sentence} Persons seem to be repeated, as by survey weights or by a merge of "
            "tables. Pass each person once."
        ]
    first = min(rows, _FIRST_WITHOUT)
    cells = _number_of_cells(several, first)
    for name in several:
        others = {key: each for key, each in several.items() if key != name}
        if cells < _MORE_CELLS * _number_of_cells(others, first):
            continue
        sentence = _alone(others, first)
        if sentence:
            return [
                f"Without column {name!r} only {sentence} Persons seem to have several rows, with "
                f"different values of {name!r}, as explode and merge make them. Pass one row a "
                "person, or add a column that identifies the person, and name it with person='ID'."
            ]
    return []


def _twice(factors: Mapping[Any, Factor], rows: int) -> str:
    """A sentence if more rows occur twice, and fewer three times, than by any law of rows.

    Of independent rows of any law let m_k be the expected number of values with k rows.  Then
    ``(2 m_2)**2 <= m_1 (6 m_3)``, by the inequality of Cauchy and Schwarz: ``k! m_k`` is the sum of
    ``rate**k exp(-rate)`` over the values.
    """
    if len(factors) < 2:
        return ""
    cells = count_cells(map(codes_of, factors.values()), rows).counts
    alone, twice, thrice = np.bincount(cells, minlength=4)[1:4].tolist()
    least = 2.0 * twice**2 / (3.0 * max(alone, 1))
    if twice < _FEWEST_TWICE or min(least, twice) < _FEWER * (thrice + _BY_CHANCE):
        return ""
    return (
        f"{twice:,} times two rows are equal in all columns, and {thrice:,} times three, where at "
        f"least {least:,.0f} times three would be among rows of different persons, of any "
        "frequencies. Persons seem to have two rows, as where files that share persons were "
        "joined. Pass each person once."
    )


def _number_of_cells(factors: Mapping[Any, Factor], rows: int) -> int:
    columns = [codes_of(each, slice(rows)) for each in factors.values()]
    return int(count_cells(columns, rows).counts.size)


def _alone(factors: Mapping[Any, Factor], rows: int) -> str:
    """How many of the first rows no other equals, and expected ones, if these are far more."""
    columns = [codes_of(each, slice(rows)) for each in factors.values()]
    if len(columns) < 2:
        return ""
    cells = count_cells(columns, rows).counts
    alone = int(np.count_nonzero(cells == 1))
    most = math.prod(size for _, size in columns)
    if alone > _OFTEN_ALONE * rows or most < _MORE_CELLS * cells.size:
        return ""
    columns = _merged(columns, rows)
    start, pairs, shared = _tree(columns, rows)
    simulated = count_cells(_simulated(columns, start, pairs, rows), rows).counts
    expected = int(np.count_nonzero(simulated == 1))
    if expected < max(_FEWEST_ALONE, alone / _RARELY):
        return ""
    if simulated.size < _MORE_CELLS * cells.size or not _are_bound(columns, shared, cells.size):
        return ""
    return (
        f"{alone:,} of {rows:,} rows equal no other row; of rows of different persons, with the "
        f"same frequencies of columns and of pairs of columns, about {expected:,} would."
    )


def _are_bound(columns: Sequence[Codes], shared: FloatArray, cells: int) -> bool:
    """Whether each column is bound to all others: there are more cells where it is shuffled.

    It is shuffled among rows that agree in the column it depends on most.  Pupils of a class agree
    in all columns of the class, but not in one of their own, which may be shuffled.
    """
    rng = np.random.default_rng(1)
    rows, met = columns[0][0].size, 0
    for k, (codes, size) in enumerate(columns):
        others = [*columns[:k], *columns[k + 1 :]]
        parent = columns[int(np.argmax(shared[k]))][0]
        shuffled = np.empty_like(codes)
        shuffled[np.argsort(parent, kind="stable")] = codes[np.lexsort((rng.random(rows), parent))]
        if np.mean(shuffled != codes) < _CHANGED:
            continue
        met += 1
        if count_cells([*others, (shuffled, size)], rows).counts.size < _MORE_SHUFFLED * cells:
            return False
    return met > 1


def _simulated(
    columns: Sequence[Codes], start: int, pairs: Sequence[tuple[int, int]], rows: int
) -> list[Codes]:
    """Columns that are drawn from a tree of pairs of the columns."""
    rng = np.random.default_rng(0)
    drawn = {start: columns[start][0][rng.integers(0, rows, rows)]}
    for parent, child in pairs:
        codes, size = columns[parent]
        order = np.argsort(codes, kind="stable")
        times = np.bincount(codes, minlength=size)
        begin = np.cumsum(times) - times
        of_row = drawn[parent]
        place = begin[of_row] + (rng.random(rows) * times[of_row]).astype(np.int64)
        drawn[child] = columns[child][0][order[place]]
    return [(drawn[k], size) for k, (_, size) in enumerate(columns)]


def _merged(columns: Sequence[Codes], rows: int) -> list[Codes]:
    """The columns, of which those that exclude or determine one another are made one.

    So are indicators of the values of a column, or questions that are asked after an answer.
    """
    merged: list[Codes] = []
    for codes, size in columns:
        cells = count_cells([(codes, size)], rows)
        current = cells.of_row, cells.counts.size
        k = 0
        while k < len(merged):
            both = count_cells([current, merged[k]], rows)
            if both.counts.size < current[1] + merged[k][1]:
                current = both.of_row, both.counts.size
                del merged[k]
                k = 0
            else:
                k += 1
        merged.append(current)
    return merged


def _tree(columns: Sequence[Codes], rows: int) -> tuple[int, list[tuple[int, int]], FloatArray]:
    """The column to begin with, the pairs of the tree with most mutual information, and that."""
    entropy = [_entropy([pair], rows) for pair in columns]
    shared = np.full((len(columns), len(columns)), -math.inf)
    for j, k in combinations(range(len(columns)), 2):
        shared[j, k] = shared[k, j] = (
            entropy[j] + entropy[k] - _entropy([columns[j], columns[k]], rows)
        )
    start = int(np.argmax(entropy))
    known, pairs = [start], []
    while len(known) < len(columns):
        among = shared[known]
        among[:, known] = -math.inf
        parent, child = divmod(int(np.argmax(among)), len(columns))
        pairs.append((known[parent], child))
        known.append(child)
    return start, pairs, shared


def _entropy(columns: Sequence[Codes], rows: int) -> float:
    share = count_cells(columns, rows).counts / rows
    return -float(share @ np.log(share))
