"""What the structure of a table betrays: cells that are passed as persons, rounded counts.

Names of columns and words in cells are for :mod:`._counts` and :mod:`._cautions`; here are numbers
that would be a coincidence in the table that is asked about.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import chain, combinations, islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import codes_of, count_cells, summed
from mialeak._checks.names import NAMES_OF_VARIABLES, columns_that, is_period_name, word_of
from mialeak._checks.samples import DATE
from mialeak._checks.tables.counts import numbers_of
from mialeak._checks.tables.small_counts import cautions_of_small_counts
from mialeak._columns import Factor

__all__ = [
    "FEWEST_PAIRS",
    "MOST_COLUMNS",
    "agreeing",
    "cautions_of_alike",
    "cautions_of_counts",
    "cautions_of_dependence",
    "cautions_of_melted",
    "cautions_of_repeats",
    "cautions_of_shares",
    "cautions_of_stacked",
    "common_divisor",
]

IntArray = npt.NDArray[np.int64]
Codes = tuple[npt.NDArray[Any], int]

#: Odds against a common divisor of all counts by chance, and the fewest counts of cells that were
#: published, or made from rows, to look for one.
_DIVISIBLE, _FEWEST_ROUNDED = 1e4, 4

#: Columns up to which one looks for counts among them.
MOST_COLUMNS = 50

#: Pairs of rows that are expected to agree before it is remarkable that none does, and combinations
#: of values for each row up to which a table lists most of them.
FEWEST_PAIRS, _DENSE = 7.0, 1.5

#: Tables below each other: persons, how unlike their sums may be, share of the cells that differ.
_FEWEST_PERSONS, _ALIKE, _NESTED = 50, 0.005, 0.9
#: Samples are drawn with multiples of so many persons in each region; shares sum to one, nearly.
_QUOTA = 10
#: Cells in which one looks first for one of a joint table.
_FIRST_CELLS = 256
#: Fewest groups whose sums are those of shares.
_FEWEST_GROUPS = 3
#: How unlike the sums of rounded counts may be.
_ROUNDED = 0.03
#: Most of them that are looked for by their words for "all", and the fewest values of a column with
#: such a word: halves of a design are no tables.
_MOST_TABLES, _FEWEST_VALUES = 20, 3

#: Questions at most, and rows of an answer to one that another does not have, by no chance.
_MOST_VARIABLES, _DISTINCT_ANSWERS = 200, 30

#: Level of the test of independence; rows that each lumped cell expects; pairs that are tested.
_LEVEL, _EXPECTED, _MOST_PAIRS = 1e-9, 5.0, 200
#: Fewest letters of the name of a column of counts that another name has by no chance.
_LONG_NAME = 4
#: Numbers of the tables of all years that are compared.
_MOST_SEEN = 2**22


def cautions_of_stacked(
    categories: Mapping[Any, Factor], counts: IntArray, counted: bool = False
) -> list[str]:
    """A sentence if tables of the same persons stand below each other, each by another category.

    Then the counts of each value of a column have one sum, and next to no two of these values share
    what the other columns hold; or, in a table that is `counted`, the sum is none that a quota has.
    `categories` and `counts` are those of the cells.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items():
        others = [pair for key, pair in codes.items() if key != name]
        sums = summed(levels, counts, size)
        sums = sums[sums > 0]
        if not others or len(sums) < 2 or len(sums) == len(levels) or 2 * len(levels) > sums.max():
            continue
        alike = sums.min() >= _FEWEST_PERSONS and sums.max() - sums.min() <= _ALIKE * sums.max()
        equal = counted and len(sums) > 2 and sums.min() == sums.max()
        equal &= bool(1 < sums.max() % _QUOTA < _QUOTA - 1)
        if alike and (
            equal or len(count_cells(others, len(levels)).counts) >= _NESTED * len(levels)
        ):
            return [
                f"The counts of each value of column {name!r} sum to {sums.max():,}, or nearly, as "
                "tables do that stand below each other and count the same persons. Then pass one "
                "row a person, and name the tables with margins=['A', 'B']."
            ]
    return _of_margins(categories, codes, counts)


def _of_margins(
    categories: Mapping[Any, Factor], codes: Mapping[Any, Codes], counts: IntArray
) -> list[str]:
    """The same where each table has a value of its own for "all" in the columns it is not by.

    In m tables of as many persons such a value has those of some of the tables, and the rows that
    have it in the same columns are one table.  Rounded counts have such sums nearly; then no row
    may be a cell by all columns.
    """
    of_tables = np.arange(2, _MOST_TABLES + 1)[:, None]
    of_persons = float(counts.sum()) / of_tables
    fewest = np.maximum(_FEWEST_PERSONS, 2 * len(counts) // of_tables)
    places = np.flatnonzero(of_persons >= fewest).tolist()
    if not places:
        return []
    away = {}  # how far the sum of each level is from those of some of the tables
    for name, (levels, size) in codes.items():
        rows = np.bincount(levels, minlength=size)
        if np.count_nonzero(rows) >= _FEWEST_VALUES:
            parts = summed(levels, counts, size) / of_persons
            whole = np.rint(parts)
            off = np.where((whole > 0) & (whole < of_tables), np.abs(parts - whole), np.inf)
            away[name] = off, off.min(axis=1).tolist(), rows
    for place, slack in product(places, (0.0, _ROUNDED)):
        tables, persons = int(of_tables[place, 0]), float(of_persons[place, 0])
        near = [name for name, (_, least, _) in away.items() if least[place] <= slack]
        words = {}
        for name in near if len(near) > 1 else ():
            off, _, rows = away[name]
            met = np.flatnonzero(off[place] <= slack)
            if slack:
                met = met[[np.argmax(rows[met])]]
            if met.size == 1:
                words[name] = int(met[0])
        if len(words) < 2:
            continue
        known = [(codes[name][0], word) for name, word in words.items()]
        first = np.array([levels[:_FIRST_CELLS] != word for levels, word in known])
        if slack and first.all(axis=0).any():  # a cell of a joint table, as most of these are
            continue
        by = np.array([levels != word for levels, word in known])
        if slack and by.all(axis=0).any():
            continue
        cells = count_cells([(each.astype(np.int64), 2) for each in by], len(counts))
        of_table = summed(cells.of_row, counts, len(cells.counts))
        margins = np.count_nonzero(by[:, cells.first_row].any(axis=0) & (cells.counts > 1))
        alike = bool((np.abs(of_table - persons) <= slack * persons).all())
        if len(of_table) == tables and alike and margins > 1:
            values = [categories[name].value(word) for name, word in words.items()
                      if word < len(categories[name].levels)]  # fmt: skip
            return [
                f"The rows are {tables} tables of {persons:,.0f} persons each, it seems, which "
                f"stand below each other, with {listed(values)} in the columns that a table is not "
                "by. Each person is then counted in each table. Pass one row a person, and name "
                "the tables with margins=['A', 'B']."
            ]
    return []


def cautions_of_melted(
    categories: Mapping[Any, Factor], counts: IntArray | None, chosen: Container[Any]
) -> list[str]:
    """A sentence if each person seems to have a row for each value of a column, as of a question.

    Then all values have as many rows, and as many in each cell of the other columns but that of
    the answers; and some of these have answers of their own, or the column the name of one that
    lists variables.  `categories` and `counts` are those of cells, or of rows, without counts.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items() if len(codes) <= MOST_COLUMNS else ():
        factor = categories[name]
        whole = counts is None and not factor.n_missing
        sums = factor.rows_of_level if whole else summed(levels, counts, size)
        shown = np.flatnonzero(sums)
        if not 2 <= shown.size <= _MOST_VARIABLES or np.ptp(sums[shown]) > 0:
            continue
        persons = int(sums.max())
        is_named = word_of(name) in NAMES_OF_VARIABLES
        is_quota = shown.size == 2 or not 1 < persons % _QUOTA < _QUOTA - 1
        for answer in codes if persons >= _FEWEST_PERSONS else ():
            others = [key for key in codes if key not in (name, answer)]
            if answer == name or not (is_named or others or not is_quota):
                continue
            if not is_named and not _have_distinct_answers(
                _table(levels, codes[answer][0], counts)[shown]
            ):
                continue
            cells = count_cells([codes[key] for key in others], len(levels))
            table = _table(levels, cells.of_row, counts)[shown]
            if np.ptp(table, axis=0).any() or (others and np.ptp(table[0]) == 0):
                continue
            omitted = "" if name in chosen else ", which is left out,"
            agree = f", as many of each value of {listed(others)}" if others else ""
            return [
                f"Each of the {shown.size:,} values of column {name!r}{omitted} has {persons:,} "
                f"rows{agree}, as where each person has a row for each question or variable. Each "
                "person is then counted several times, and leaks more than stated. Pass one row a "
                "person, with a column for each variable (pandas: pivot), and name the tables with "
                "margins=['A', 'B']."
            ]
    return []


def _table(levels: npt.NDArray[Any], other: npt.NDArray[Any], counts: IntArray | None) -> IntArray:
    """The persons of each level of a column and of another one; zeros if these are too many."""
    shape = int(levels.max()) + 1, int(other.max()) + 1
    if math.prod(shape) > _MOST_SEEN:
        return np.zeros((shape[0], 1), np.int64)
    cells = levels.astype(np.int64) * shape[1] + other
    return summed(cells, counts, math.prod(shape)).reshape(shape)


def _have_distinct_answers(answers: IntArray) -> bool:
    """Whether a value has many rows of one question and none of another."""
    return bool(((answers.max(axis=0) >= _DISTINCT_ANSWERS) & (answers.min(axis=0) == 0)).any())


def cautions_of_shares(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if the counts of each group of cells sum to 100, or to 1,000 but for rounding.

    Groups of exactly 1,000 are left alone, for samples are drawn with so many in each region; and
    so are two groups, into which 200 or 2,000 persons often fall.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    parts = chain.from_iterable(combinations(codes, k) for k in range(1, len(codes)))
    for names in islice(parts, min(_MOST_PAIRS, 1 + _MOST_SEEN // len(counts))):
        cells = count_cells([codes[name] for name in names], len(counts))
        if len(cells.counts) < _FEWEST_GROUPS or cells.counts.max() < 2:
            continue
        sums = summed(cells.of_row, counts, len(cells.counts))
        rounding = np.maximum(1.0, np.sqrt(cells.counts / 3.0))  # two standard deviations
        for whole, unit in ((100, "per cent"), (1000, "per mille")):
            exact = bool((sums == whole).all())
            if (np.abs(sums - whole) <= rounding).all() and not (exact and whole == 1000):
                return [
                    f"The counts of each value of {listed(names)} sum to {whole:,}, or nearly, as "
                    f"shares in {unit} do. The report takes them for persons: pass the counts of "
                    "persons."
                ]
    return []


def cautions_of_alike(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for years, or waves, whose tables are too alike to be of different people.

    If each year had people of its own, the chi-squared distance of their tables would be that of
    samples of one law at least; the same people, asked again, are less far apart.  `categories` and
    `counts` are those of the cells.  Some categories may change with the years, such as the age.
    """
    from scipy.special import chdtr

    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items():
        if not (is_period_name(name) or _are_dates(categories[name])):
            continue
        others = [key for key in codes if key != name]
        parts = chain.from_iterable(combinations(others, k) for k in range(len(others), 0, -1))
        for kept in islice(parts, min(_MOST_PAIRS, 1 + _MOST_SEEN // len(counts))):
            cells = count_cells([codes[key] for key in kept], len(counts))
            if chdtr(*_distance(cells.of_row, levels, size, counts)) >= _LEVEL:
                continue
            return [
                f"The tables of the values of column {name!r} are too alike to be of different "
                f"people (chi-squared test, p < {_LEVEL:g}), and each row counts as a person of "
                "its own. If the same people are in several, name them with person='ID', or keep "
                f"the rows of one value of {name!r}."
            ]
    return []


def _are_dates(factor: Factor) -> bool:
    """Whether the values are a few years, quarters, months or days."""
    shown = np.flatnonzero(factor.rows_of_level > 0).tolist()
    return len(shown) <= _MOST_TABLES and all(
        DATE.fullmatch(str(factor.value(code)).strip()) for code in shown
    )


def _distance(
    cells: IntArray, levels: npt.NDArray[Any], size: int, counts: IntArray
) -> tuple[int, float]:
    """Degrees of freedom and chi-squared distance of the tables of the levels of a column.

    Cells in which one of the tables expects fewer than 5 are left out.
    """
    of_level = summed(levels, counts, size)
    of_cell = summed(cells, counts, int(cells.max()) + 1)
    present = np.flatnonzero(of_level)
    common = of_cell * of_level[present].min() >= _EXPECTED * of_level.sum()
    if present.size < 2 or np.count_nonzero(common) < 2 or present.size * common.sum() > _MOST_SEEN:
        return 1, math.inf
    column = np.cumsum(common) - 1
    inside = common[cells]
    seen = np.zeros((size, int(common.sum())))
    np.add.at(seen, (levels[inside], column[cells[inside]]), counts[inside])
    seen = seen[present]
    seen = seen[seen.sum(axis=1) > 0.0]
    expected = seen.sum(axis=1, keepdims=True) * (seen.sum(axis=0) / seen.sum())
    freedom = (len(seen) - 1) * (seen.shape[1] - 1)
    if freedom < 1:
        return 1, math.inf
    return freedom, float(np.sum((seen - expected) ** 2 / expected))


def cautions_of_repeats(categories: Mapping[Any, Factor]) -> list[str]:
    """A sentence if rows of a table of counts agree in all categories, as those of persons do."""
    rows = len(next(iter(categories.values())).codes)
    cells = len(count_cells(map(codes_of, categories.values()), rows).counts)
    if cells == rows:
        return []
    return [
        f"The {rows:,} rows of the table of counts are {cells:,} cells: rows that agree in all "
        "categories are added up. If each row is one person, leave counts out."
    ]


def cautions_of_counts(
    categories: Mapping[Any, Factor], counts: IntArray, column: Any = None
) -> list[str]:
    """A sentence for each sign that counts were rounded, or small ones left out.

    `categories` are those of the rows, `counts` those of the cells, none of which is empty, and
    `column` the name of theirs.
    """
    cautions = []
    others = _other_counts(categories, counts, word_of(column))
    if others:
        cautions.append(
            f"{columns_that(others, 'holds')} numbers, without which the cells are as distinct. "
            "If these are counts too, write one row a cell (pandas: melt), and pass the column of "
            "all counts; if they are published as well, shares or means of the cells leak more."
        )
    divisor = common_divisor(counts)
    if divisor > 1:
        cautions.append(
            f"All counts are multiples of {divisor:,}, as rounded counts are. The report takes "
            "them for the true ones, and rounding hides the rows alone in their cell; pass the "
            "counts before rounding, or counts of persons if these are thousands."
        )
        return cautions
    return cautions + cautions_of_small_counts(categories, counts)


def common_divisor(counts: IntArray, fewest: int = _FEWEST_ROUNDED) -> int:
    """The greatest common divisor of all counts, if it is no coincidence; 1 if it is."""
    divisor = int(np.gcd.reduce(counts))
    remarkable = divisor > 1 and len(counts) * math.log(divisor) >= math.log(_DIVISIBLE)
    remarkable &= len(counts) >= fewest
    return divisor if remarkable else 1


def _other_counts(categories: Mapping[Any, Factor], counts: IntArray, column: str) -> list[Any]:
    """The columns of numbers without which the cells are as distinct, and no codes of one.

    Those of most values are left out first: a class of ages is needed, a count is not.  Numbers are
    no codes if they and the counts have one sum in all rows, or the name is that of the counts with
    a syllable, such as "noncarriers".
    """
    if len(categories) > MOST_COLUMNS:
        return []
    shown = {name: factor.n_values for name, factor in categories.items()}
    numbers = [name for name, factor in categories.items() if numbers_of(factor) is not None]
    rows = len(next(iter(categories.values())).codes)
    kept = {name: codes_of(factor) for name, factor in categories.items()}
    others = []
    for name in sorted(numbers, key=lambda name: -shown[name]):
        without = {key: pair for key, pair in kept.items() if key != name}
        if without and rows > 1 and len(count_cells(without.values(), rows).counts) == rows:
            kept = without
            others.append(name)
    if not others:
        return []
    keys = list(kept.values())
    shares = [agreeing(*pair) for pair in keys]
    listed_by_all = math.prod(int(shown[name]) for name in kept)
    by_chance = rows * (rows - 1) / 2.0 * math.prod(shares) < FEWEST_PAIRS
    by_chance = by_chance and _DENSE * rows < listed_by_all
    return [
        name
        for name in numbers
        if name in others
        and (
            not (by_chance or _is_code(categories[name], keys, rows))
            or _is_complement(categories[name], counts)
            or (len(column) >= _LONG_NAME and column in word_of(name))
        )
    ]


def agreeing(codes: npt.NDArray[Any], size: int) -> float:
    """The share of pairs of rows that agree in a column."""
    counted = np.bincount(codes, minlength=size).astype(np.float64)
    return float(counted @ (counted - 1.0)) / (len(codes) * (len(codes) - 1.0))


def _is_complement(factor: Factor, counts: IntArray) -> bool:
    """Whether different numbers and the counts have the same sum in each row."""
    numbers = numbers_of(factor)
    if numbers is None or factor.n_missing or len(counts) != len(factor.codes):
        return False
    shown = numbers[factor.codes]
    return bool(np.ptp(shown) > 0.0 and np.ptp(shown + counts) == 0.0)


def _is_code(factor: Factor, keys: Sequence[tuple[npt.NDArray[Any], int]], rows: int) -> bool:
    """Whether a column numbers the values of another, or the rows."""
    codes, size = codes_of(factor)
    present = np.count_nonzero(np.bincount(codes, minlength=size))
    if present == 1:
        return True
    if present == rows:
        values = None if factor.n_missing else numbers_of(factor)
        return values is not None and bool((np.diff(values[factor.codes]) > 0.0).all())
    return any(
        len(count_cells([key, (codes, size)], rows).counts)
        == np.count_nonzero(np.bincount(key[0], minlength=key[1]))
        < rows
        for key in keys
    )


def cautions_of_dependence(
    margins: Sequence[tuple[Any, ...]], codes: Mapping[Any, tuple[npt.NDArray[Any], int]]
) -> list[str]:
    """A sentence if columns of different margins depend on each other in these rows."""
    from scipy.special import chdtrc

    met = []
    pairs = [pair for one, other in combinations(margins, 2) for pair in product(one, other)][
        :_MOST_PAIRS
    ]
    lumped = {name: _lumped(*codes[name]) for name in {name for pair in pairs for name in pair}}
    for one, other in pairs:
        (a, size_a), (b, size_b) = lumped[one], lumped[other]
        if one == other or min(size_a, size_b) < 2:
            continue
        shape = (size_a, size_b)
        seen = np.bincount(a * size_b + b, minlength=size_a * size_b).reshape(shape)
        expected = seen.sum(axis=1, keepdims=True) * (seen.sum(axis=0) / len(a))
        distance = float(np.sum((seen - expected) ** 2 / expected))
        if chdtrc((size_a - 1) * (size_b - 1), distance) < _LEVEL:
            met.append((one, other))
    if not met:
        return []
    where = listed(met, show=lambda pair: f"{pair[0]!r} on {pair[1]!r}")
    return [
        f"In these rows columns of different margins depend on each other, {where} (chi-squared "
        f"test, p < {_LEVEL:g}). The answer is that for independent ones; if they are not "
        "independent by design, pass independent=False."
    ]


def _lumped(codes: npt.NDArray[Any], size: int) -> tuple[IntArray, int]:
    """The codes with rare levels made one, so that pairs of levels expect `_EXPECTED` rows."""
    shown = np.bincount(codes, minlength=size)
    common = shown >= math.sqrt(_EXPECTED * len(codes))
    place = np.full(size, np.count_nonzero(common))
    place[common] = np.arange(np.count_nonzero(common))
    lumped = place[codes]
    rare = len(codes) - int(shown[common].sum())
    if 0 < rare < math.sqrt(_EXPECTED * len(codes)) and common.any():
        lumped[lumped == np.count_nonzero(common)] = np.argmax(shown[common])
        rare = 0
    return lumped, int(np.count_nonzero(common)) + (rare > 0)
