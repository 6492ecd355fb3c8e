"""Signs that the rows of a table, passed as persons, are cells or parts of persons."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import Cells, codes_of, count_cells, joint_sums
from mialeak._checks.names import (
    is_count_name,
    is_household_name,
    is_name_of_relatives,
    is_person_name,
    word_of,
)
from mialeak._checks.samples import LEVEL, long_table, numbers_within, repeated_piece
from mialeak._checks.tables.counts import (
    are_counts,
    count_column,
    holds_counts,
    numbers_of,
    refuse_counted,
)
from mialeak._checks.tables.multiples import cautions_of_multiples
from mialeak._checks.tables.structure import FEWEST_PAIRS, MOST_COLUMNS, agreeing, common_divisor
from mialeak._columns import Factor

__all__ = [
    "are_sets",
    "cautions_of_omitted_counts",
    "cautions_of_rows",
    "columns_of_counts",
    "counts_of_cells",
]

IntArray = npt.NDArray[np.int64]

#: Fewest cells for a common divisor of the numbers of rows that is no coincidence, and the rows of
#: each cell from which that is a quota.
_FEWEST_DOUBLED, _QUOTA = 10, 50

#: The same in all columns of persons, of whom designs make some more distinct than chance.
_FEWEST_EQUAL = 20.0

#: Combinations of values for each row up to which a table of counts is likely to list so many.
_DENSE = 20
#: Fewest rows that list each combination of values once as no persons do.
_FEWEST_CELLS = 4

#: Fewest pairs or matched sets, and rows of each at most; and other names of these.
_FEWEST_SETS, _ROWS_OF_SET = 10, 20
#: Share of the rows that differ in a table of such sets, at least: two controls may be alike.
_DISTINCT = 0.75
_STRATA = frozenset(("stratum", "strata"))

#: The same where the counts have an unknown name, and the least of the largest count.
_FEWEST_OF_GRID = 6

#: Combinations of categories for each row, at most, that a further category is taken to divide.
_HIDDEN = 0.4
#: How much larger than half of the numbers the largest is, where these are counts of many cells.
_SPREAD = 10.0

#: Fewest blocks of equal rows, how many more than different rows, and how much more often the
#: values of two that follow one another agree where a table is sorted; how often two agree at most.
_FEWEST_BLOCKS, _MORE_BLOCKS, _IN_ORDER, _COMMON = 50, 1.05, 0.1, 0.05

#: Rows in which two that agree are searched for first.
_FIRST_ROWS = 10_000


def cautions_of_rows(
    factors: Mapping[Any, Factor],
    cells: Cells,
    values: Mapping[Any, Factor],
    every: Mapping[Any, Factor],
) -> list[str]:
    """A sentence if the rows, passed as persons, are cells, or some are there twice.

    `factors` are the columns of the rows, `values` those of the cells; `every` are the columns of
    the table, also those that are left out, or those of its first rows.
    """
    cell_counts = cells.counts
    sets = [name for name, each in every.items() if are_sets(name, each)]
    # Rows that agree in all columns agree in some of them.
    alone = cell_counts.max() == 1
    cautions = [_of_cells(*split) for split in _cells_as_rows(factors)] if alone else []
    if not cautions and len(factors) > 2:
        even = {name: each.codes for name, each in factors.items() if _is_even(each)}
        cautions = list(filter(None, [long_table({k: even[k] for k in even if k not in sets})]))
    size = cells.of_row.size
    if sets and len(count_cells(map(codes_of, every.values()), size).counts) >= _DISTINCT * size:
        return cautions  # persons of a matched set agree in some columns, and are no copies
    divisor = common_divisor(cell_counts, _FEWEST_DOUBLED)
    # As many rows in every cell, and more than there are cells, are a quota sample.
    is_quota = max(cell_counts.size + 1, _QUOTA) <= divisor == cell_counts.max()
    if divisor > 1 and not is_quota:
        cautions.append(
            f"Each combination of values is there {divisor:,} times, or a multiple of it, as if "
            f"every row were there {divisor:,} times. Pass each person once."
        )
        return cautions
    cautions += _of_weights(factors, cells)
    size = repeated_piece(cells.of_row, cell_counts)
    if size:
        cautions.append(
            f"{size:,} rows one after another are there again, in the same order, as where files "
            "that share persons were joined. Pass each person once."
        )
    if not cautions and alone:
        cautions = _of_distinct(factors)
    is_more = len(every) > len(factors)
    if is_more and len(next(iter(every.values())).codes) >= cell_counts.sum():
        return cautions or _of_distinct(every, True) or cautions_of_multiples(every, None)
    return cautions or cautions_of_multiples(values, cell_counts)


def columns_of_counts(every: Mapping[Any, Factor]) -> list[Any]:
    """The columns that seem to hold the counts of the rows, which are cells then; none if none."""
    met = counts_of_cells(every)
    for name in filter(is_count_name, () if met else every):
        sizes = [each.n_values for key, each in every.items() if key != name]
        if math.prod(sizes) <= _DENSE * len(every[name].codes) and count_column(every) == name:
            return [name]
    return met


def _of_distinct(factors: Mapping[Any, Factor], is_more: bool = False) -> list[str]:
    """A sentence if no two rows are equal, though persons of independent columns often would be.

    If `is_more` columns are looked at than are counted, not where two of several identify the rows:
    subjects and days of a panel.
    """
    rows = len(next(iter(factors.values())).codes)
    if rows < 2 or len(factors) > MOST_COLUMNS or numbers_within(factors):
        return []
    pairs = rows * (rows - 1) / 2.0
    columns = [codes_of(factor) for factor in factors.values()]
    pairs *= math.prod(agreeing(*column) for column in columns)
    if pairs < _FEWEST_EQUAL or not _rows_differ(columns, rows):
        return []
    pairs_of_columns = itertools.combinations(columns, 2) if is_more else ()
    if any(_rows_differ(pair, rows) for pair in pairs_of_columns):
        return []
    where = f" in {listed(factors)}" * is_more
    return [
        f"No two of the {rows:,} rows are equal{where}, where about {pairs:,.0f} pairs of so many "
        "persons would be: each combination of values seems to be listed once (SELECT DISTINCT, "
        "drop_duplicates). Pass one row for each person, or the counts of the combinations with "
        "counts='n'."
    ]


def _of_weights(factors: Mapping[Any, Factor], cells: Cells) -> list[str]:
    """A sentence if each row is there as many times as a survey weight states, one after another.

    The blocks of equal rows are more than the different rows, and in no order of a column: a table
    of counts with one row a person has one block for each, and sorted persons agree in a column.
    """
    differs = cells.of_row[1:] != cells.of_row[:-1]
    blocks, rows = 1 + int(np.count_nonzero(differs)), cells.of_row.size
    if not max(_FEWEST_BLOCKS, _MORE_BLOCKS * cells.counts.size) <= blocks <= rows / 2:
        return []
    begin = np.flatnonzero(np.append(True, differs))
    if float(np.square(np.bincount(cells.of_row[begin]) / blocks).sum()) > _COMMON:
        return []
    for factor in factors.values():
        codes = factor.codes[begin]
        chance = float(np.square(np.unique(codes, return_counts=True)[1] / blocks).sum())
        if np.mean(codes[1:] == codes[:-1]) > chance + _IN_ORDER:
            return []
    return [
        f"The {rows:,} rows stand in {blocks:,} blocks of equal rows, as where each person is "
        "there as many times as a survey weight states, or has several rows. Pass each person "
        "once."
    ]


def _is_even(factor: Factor) -> bool:
    """Whether all values of a column have as many rows."""
    shown = factor.rows_of_level[factor.rows_of_level > 0]
    return bool(shown.size and shown.min() == shown.max())


def cautions_of_omitted_counts(
    every: Mapping[Any, Factor],
    chosen: Container[Any],
    argument: str = "table",
    cells: Cells | None = None,
) -> list[str]:
    """A sentence if the rows, passed as persons, are cells whose counts are not among `chosen`.

    `every` are the columns of the table, the argument of that name, those that are chosen first;
    `cells` are those of the chosen columns, if they are counted already.

    Raises
    ------
    ValueError
        If a column that is left out has the name of a count, and no two rows agree in the others
        where persons would, or each combination of their values is there once.
    """
    omitted = [name for name in every if name not in chosen]
    named = list(filter(is_count_name, omitted))
    for keys, counts in _cells_as_rows(every) if omitted else ():
        if len(counts) == 1 and counts[0] in named:
            refuse_counted(counts[0], argument)
        if any(name in omitted for name in counts):
            return [_of_cells(keys, counts)]
    for name in filter(is_count_name, every):
        others = {key: factor for key, factor in every.items() if key != name}
        used = [factor.n_values for factor in others.values()]
        rows, combinations = len(every[name].codes), math.prod(used)
        is_grid = len(used) > 1 < min(used) and rows == combinations >= _FEWEST_CELLS
        if name in named and is_grid and count_column(every) == name:
            refuse_counted(name, argument)
        if are_counts(every[name]):
            return [
                f"Column {name!r} has the name of a count, and its numbers are spread as counts "
                f"are. If each row stands for so many persons, pass counts={name!r}; if it is a "
                "quantity of each person, rename the column."
            ]
        of_chosen = {key: factor for key, factor in others.items() if key in chosen}
        listed_by = [others, of_chosen] if combinations <= _DENSE * rows else [of_chosen]
        if name in named and any(count_column({**k, name: every[name]}) == name for k in listed_by):
            return [
                f"Column {name!r}, which is left out, has the name of a count, and next to no "
                f"two rows agree in the others. If it holds their counts, pass counts={name!r}."
            ]
    return _of_hidden_cells(every, chosen, cells) if every else []


def _of_hidden_cells(
    every: Mapping[Any, Factor], chosen: Container[Any], cells: Cells | None
) -> list[str]:
    """A caution for cells of a table with a further category, which is left out or not in the file.

    Such rows list the combinations of the other categories once for each of its values: the
    combinations have more even numbers of rows than random rows, or rows that agree never stand
    together.  Equal numbers, as of a design, are no sign.
    """
    from scipy.special import chdtr

    rows = len(next(iter(every.values())).codes)
    for name, factor in every.items():
        others = [each for key, each in every.items() if key != name and key in chosen]
        if not others or len(every) > MOST_COLUMNS or is_person_name(name):
            continue
        if cells is None:
            cells = count_cells((codes_of(every[key]) for key in every if key in chosen), rows)
        if _are_uneven(cells, factor) and _agree_in_turn(others, rows):
            continue
        if not (holds_counts(factor, strict=True) and are_counts(factor, spread=_SPREAD)):
            continue
        # The combinations of some columns from those of all: there are fewer cells than rows.
        pairs = [codes_of(each, cells.first_row) for each in others]
        times = joint_sums(pairs, cells.counts)
        if times.size < 2 or times.size > _HIDDEN * rows or times.min() == times.max():
            continue
        expected = rows / times.size
        is_even = chdtr(times.size - 1, float(np.sum((times - expected) ** 2) / expected)) < LEVEL
        together = (rows - 1) * float(np.square(times / rows).sum())
        is_apart = together > -math.log(LEVEL) and not _agree_in_turn(others, rows)
        if is_even or is_apart:
            how = "are there in numbers too even for" if is_even else "never stand together, unlike"
            return [
                f"Rows that agree in all columns but {name!r} {how} rows of persons: they may be "
                "the cells of a table that is already counted, by a column that is left out. If "
                f"{name!r} holds their counts, pass counts={name!r}."
            ]
    return []


def _are_uneven(cells: Cells, factor: Factor) -> bool:
    """Whether the cells without the column `factor` surely have no even numbers of rows.

    They are at least m = cells/values of the column, of which one has at least the rows of the
    largest cell: if these exceed rows/m by sqrt(rows), chi-square is at least m.
    """
    rows = len(factor.codes)
    fewest = len(cells.counts) / (factor.n_values + 1)  # or it is missing
    return bool(cells.counts.max() >= rows / fewest + math.sqrt(rows))


def _agree_in_turn(columns: Sequence[Factor], rows: int) -> bool:
    """Whether a row agrees with the one before it in all `columns`."""
    for part in (min(rows, _FIRST_ROWS), rows):  # the first rows show that most often
        if np.logical_and.reduce(
            [each.codes[1:part] == each.codes[: part - 1] for each in columns]
        ).any():
            return True
    return False


def _of_cells(keys: Sequence[Any], counts: Sequence[Any]) -> str:
    """The caution that rows are cells by the columns `keys`."""
    cure = (
        f"If {counts[0]!r} holds their counts, pass counts={counts[0]!r}."
        if len(counts) == 1
        else f"If {listed(counts)} hold their counts, write one row a cell (pandas: melt) and "
        "pass counts='n'."
    )
    return (
        f"No two rows agree in {listed(keys)}, where rows of persons would: the rows may be "
        f"the cells of a table that is already counted. {cure}"
    )


def _cells_as_rows(factors: Mapping[Any, Factor]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The columns of categories and of counts, if persons would not be so distinct; at most once.

    If columns were independent, pairs of rows would agree in all categories as often as the product
    of the shares of pairs that agree in each, and dependent columns agree more often.  Few rows
    seem to be cells where each combination of categories has one.
    """
    rows = len(next(iter(factors.values())).codes)
    within = numbers_within(factors)  # persons of a household are as distinct as cells
    names = [name for name in factors if name not in within]
    if rows < 2 or not 2 < len(names) <= MOST_COLUMNS:
        return
    sets = {name for name in names if _numbers_units(name, factors[name])}
    pairs = {name: codes_of(factors[name]) for name in names}
    shares = {name: agreeing(*pair) for name, pair in pairs.items()}
    splits = [(names[:k], names[k:]) for k in range(2, len(names) - 1)]
    splits += [([key for key in names if key != name], [name]) for name in names]
    for keys, counts in splits:
        if not sets.isdisjoint(keys) and not any(map(is_count_name, counts)):
            continue
        if all(_are_bits(factors[name]) for name in counts):
            continue
        expected = rows * (rows - 1) / 2.0 * math.prod(shares[name] for name in keys)
        used = [factors[name].n_values for name in keys]
        is_grid = min(used) > 1 and math.prod(used) == rows >= _FEWEST_OF_GRID
        if (
            (expected >= FEWEST_PAIRS or (is_grid and all(_rise(factors[k]) for k in counts)))
            and all(holds_counts(factors[name]) for name in counts)
            and _rows_differ([pairs[name] for name in keys], rows)
        ):
            yield keys, counts
            return


def are_sets(name: Any, factor: Factor) -> bool:
    """Whether a column numbers pairs or matched sets of persons."""
    is_named = is_name_of_relatives(name) or word_of(name) in _STRATA
    return is_named and not is_household_name(name) and _has_small_groups(factor)


def _numbers_units(name: Any, factor: Factor) -> bool:
    """Whether a column numbers groups or persons of a few rows each, by its name."""
    size = factor.n_values, len(factor.codes)
    is_named = is_household_name(name) or is_person_name(name, *size)
    return are_sets(name, factor) or (is_named and _has_small_groups(factor))


def _has_small_groups(factor: Factor) -> bool:
    """Whether each of several numbers has a few rows."""
    shown = np.flatnonzero(factor.rows_of_level)
    rows = factor.rows_of_level[shown]
    if rows.size < _FEWEST_SETS or not 2 <= rows.max() <= _ROWS_OF_SET:
        return False
    return all(any(map(str.isdigit, str(factor.values[code]))) for code in shown.tolist())


def _are_bits(factor: Factor) -> bool:
    """Whether a column holds 0 and 1 alone: counts of cells are larger somewhere."""
    numbers = numbers_of(factor)
    return numbers is not None and bool(numbers[factor.rows_of_level > 0].max(initial=0.0) <= 1.0)


def _rise(factor: Factor) -> bool:
    """Whether a column holds several numbers above 1 that do not number the rows."""
    numbers = numbers_of(factor)
    if numbers is None:
        return False
    shown = numbers[factor.rows_of_level > 0]
    numbered = shown.size == len(factor.codes) and np.ptp(shown) == shown.size - 1.0
    return bool(shown.size > 2 and shown.max() >= _FEWEST_OF_GRID and not numbered)


def counts_of_cells(factors: Mapping[Any, Factor]) -> list[Any]:
    """The columns that seem to hold the counts of the rows, which seem to be cells."""
    return next((counts for _, counts in _cells_as_rows(factors)), [])


def _rows_differ(columns: Sequence[tuple[npt.NDArray[Any], int]], rows: int) -> bool:
    """Whether no two rows agree in all `columns`, of which the first rows refute most."""
    for part in (min(rows, _FIRST_ROWS), rows):
        first = [(codes[:part], size) for codes, size in columns]
        if len(count_cells(first, part).counts) < part:
            return False
    return True
