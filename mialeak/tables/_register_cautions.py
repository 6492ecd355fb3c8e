"""Cautions from the columns of a register that are not counted: what its rows are, who is drawn."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import all_differ, count_cells
from mialeak._checks.names import is_count_name, is_person_name
from mialeak._checks.samples import LEVEL, shares_differ
from mialeak._checks.tables.registers import cautions_of_panel
from mialeak._checks.tables.weights import UNEQUAL, cautions_of_weights
from mialeak._columns import Factor, factor_if_plain
from mialeak._labels import names_of
from mialeak.tables._sources import Source, beginning, repeated_cells

__all__ = [
    "cautions_of_drawn",
    "cautions_of_drawn_groups",
    "cautions_of_people",
    "cautions_of_same_people",
    "cautions_of_strangers",
    "cautions_of_uncounted_shares",
    "uncounted_of_both",
]

IntArray = npt.NDArray[np.int64]


class Uncounted(NamedTuple):
    """A column that is not counted: its name, and the persons of each value in both tables."""

    name: Any
    drawn: IntArray
    whole: IntArray


#: Fewest groups that were drawn, and that were not.
_FEWEST_GROUPS = 5


def cautions_of_people(register: Any) -> list[str]:
    """A caution for a register of rows, not people: by its column of persons, which repeats."""
    for name in names_of(register):
        if not is_person_name(name):
            continue
        values, rows = beginning(register, name)
        if values < rows and is_person_name(name, values, rows):
            return [
                f"Of the register: column {name!r} has the name of an identifier, and some of its "
                "values are those of several rows, each of which counts as a person. Pass each "
                "person once."
            ]
    return []


def cautions_of_strangers(
    table: Any, rows: IntArray, register: Any, names: Sequence[Any], missing: Any
) -> list[str]:
    """A caution for persons of the table whom the register has not, by a column of their names.

    `rows` are the persons of each row of the table, 0 for one that is not counted.  Names of which
    fewer than half are in the register may be those of another source, or number the rows.
    """
    if isinstance(table, Source) or isinstance(register, Source):
        return []
    for name in names:
        if name not in names_of(table) or not is_person_name(name):
            continue
        both = [each for side in (table, register) for each in factor_if_plain(side, name, missing)]
        if len(both) < 2:
            continue
        drawn, whole = both
        known = {whole.value(code) for code in np.flatnonzero(whole.rows_of_level).tolist()}
        counted = np.unique(drawn.codes[(drawn.codes >= 0) & (rows > 0)])
        strange = np.array([drawn.value(code) not in known for code in counted.tolist()], np.bool_)
        if counted.size < _FEWEST_GROUPS or not 0 < 2 * np.count_nonzero(strange) <= counted.size:
            continue
        row = int(np.argmax(np.isin(drawn.codes, counted[strange]) & (rows > 0)))
        return [
            f"{np.count_nonzero(strange):,} of the {counted.size:,} values of column {name!r} in "
            f"the table, the first of them in row {row}, are not in the register. The answer is "
            "for a sample of its people: pass the register that the table was drawn from, as it "
            "was then."
        ]
    return []


def cautions_of_uncounted_shares(uncounted: Sequence[Uncounted]) -> list[str]:
    """A caution if the table is no random sample of the register by columns that are left out."""
    differing = [
        name
        for name, drawn, whole in uncounted
        if shares_differ(drawn, whole) and not _are_whole(drawn, whole)
    ]
    if not differing:
        return []
    which = "column {}, which is" if len(differing) == 1 else "columns {}, which are"
    return [
        f"The table is no simple random sample of the register: their shares differ in "
        f"{which.format(listed(differing))} not counted (chi-squared test, p < {LEVEL:g}). The "
        "answer is for a sample in which everyone is equally likely. If the table is about a part "
        "of the register, pass the people of that part; if it was stratified, count the column of "
        "the strata too, and pass strata=, that column."
    ]


def cautions_of_drawn_groups(uncounted: Sequence[Uncounted]) -> list[str]:
    """A caution if the table holds all or none of the people of each value of such a column."""
    for name, drawn, whole in uncounted:
        if _are_whole(drawn, whole):
            groups = f"{np.count_nonzero(drawn):,} of {np.count_nonzero(whole):,}"
            return [
                f"The table holds all people of {groups} values of column {name!r} and nobody of "
                "the others, as where whole households, classes or sites were drawn. The answer is "
                "for people who were drawn one by one: a person leaks more together with others of "
                "the group. No answer is computed for drawn groups. If the table is about a part "
                "of the register, pass the people of that part."
            ]
    return []


def cautions_of_drawn(table: Any, people: int | None, chosen: Container[Any]) -> list[str]:
    """A caution if unequal survey weights show that some people were more likely drawn.

    `people` is their number, if it is known; then the weights may be one of the columns `chosen`,
    of which other cautions are given without it.
    """
    names = names_of(table)
    cure = (
        "If they were drawn by strata, pass strata=, their column, and the register as population="
    )
    meaning = f"{UNEQUAL}{cure}, or pass the rows of one stratum at a time."
    if people is not None:
        meaning = (
            f"not each of the {people:,} people was equally likely to be in the table, as the "
            f"answer assumes. {cure}."
        )
    asked = names if people is not None else [name for name in names if name not in chosen]
    others = [] if isinstance(table, Source) else names
    return cautions_of_weights(asked, partial(_looked_at, table), meaning, others, people)


def _looked_at(table: Any, name: Any) -> list[Factor]:
    """A column, or its first rows; none if it does not hold single values."""
    if not isinstance(table, Source):
        return factor_if_plain(table, name)
    if not table.can_be_read_again:
        return []
    factor, rows = table.beginning(name)
    return [repeated_cells({name: factor}, rows)[name]]


def uncounted_of_both(
    table: Any,
    rows: IntArray,
    register: Any,
    people: IntArray | None,
    names: Sequence[Any],
    missing: Any,
) -> Iterator[Uncounted]:
    """Yield the columns that table and register have and neither counts.

    `rows` are the persons of each row of the table, 0 for one that is not counted; `people` those
    of each row of the register, None for one each; `names` are columns of it.  A column whose
    values are written in another way in one of the two is left out.
    """
    if isinstance(table, Source) or (isinstance(register, Source) and people is not None):
        return
    for name in names:
        if name not in names_of(table) or is_count_name(name):
            continue
        for factor in factor_if_plain(table, name, missing):
            for other, weights in _column(register, name, missing):
                of_both = _persons(factor, rows, other, weights if people is None else people)
                if of_both is not None:
                    yield Uncounted(name, *of_both)


def cautions_of_same_people(
    table: Any, rows: npt.NDArray[np.bool_], panel: Any, chosen: Container[Any], missing: Any
) -> list[str]:
    """A sentence if the panel seems to hold people of the table, by all columns that both have.

    `rows` are those of the table that count, by the columns `chosen`.  A column in which all rows
    of one of the two differ is left out: both may number their rows.
    """
    if isinstance(table, Source) or isinstance(panel, Source):
        return []
    names = [name for name in names_of(panel) if name in names_of(table)]
    if all(name in chosen for name in names):
        return []
    columns, size = [], 0
    for name in names:
        for first in factor_if_plain(table, name, missing):
            for second in factor_if_plain(panel, name, missing):
                if not (all_differ(first) or all_differ(second)):
                    columns.append(_codes_of_both(first, second, rows))
                    size = len(columns[-1][0])
    if len(columns) < 2:
        return []
    inside = int(np.count_nonzero(rows))
    cells = count_cells(columns, size)
    of_table = np.bincount(cells.of_row[:inside], minlength=len(cells.counts))
    notes = cautions_of_panel({}, cells.counts - of_table, of_table.astype(np.int64))
    return [f"By all columns of both: {note[0].lower()}{note[1:]}" for note in notes]


def _codes_of_both(
    first: Factor, second: Factor, rows: npt.NDArray[np.bool_]
) -> tuple[IntArray, int]:
    """The codes of these rows of one column, then those of another, with one code a value."""
    codes: dict[Any, int] = {}
    every = []
    for factor in (first, second):
        values = [factor.value(code) for code in range(len(factor.levels))]
        of_level = np.array([codes.setdefault(value, len(codes)) for value in [*values, None]])
        every.append(of_level[factor.codes])  # a missing one is the last
    return np.concatenate([every[0][rows], every[1]]).astype(np.int64), len(codes)


def _are_whole(drawn: IntArray, whole: IntArray) -> bool:
    """Whether all or none of the people of each value were drawn, by no chance.

    A random sample holds all of a group of k, if it holds one, with the probability of the share
    of everyone to the power of k - 1 at most.
    """
    shown, out = drawn > 0, (drawn == 0) & (whole > 0)
    if not (drawn[shown] == whole[shown]).all():
        return False
    if min(np.count_nonzero(shown), np.count_nonzero(out)) < _FEWEST_GROUPS:
        return False
    others = int((whole[shown] - 1).sum())
    return bool(others * math.log(drawn.sum() / whole.sum()) < math.log(LEVEL))


def _column(register: Any, name: Any, missing: Any) -> list[tuple[Factor, IntArray]]:
    """The column and how often each of its rows is there; none if it holds no plain values."""
    if isinstance(register, Source):
        if not register.can_be_read_again:
            return []
        factors, rows = register.cells([name], missing)
        return [(factors[name], rows)]
    return [
        (factor, np.ones(len(factor.codes), np.int64))
        for factor in factor_if_plain(register, name, missing)
    ]


def _persons(
    factor: Factor, rows: IntArray, other: Factor, people: IntArray
) -> tuple[IntArray, IntArray] | None:
    """The rows and the people of each value, if those with one may be some of these, not all."""
    codes = {other.value(code): code for code in range(len(other.levels))}
    known, inside = (factor.codes >= 0) & (rows > 0), other.codes >= 0
    shown, place = np.unique(factor.codes[known], return_inverse=True)
    values = [factor.value(code) for code in shown.tolist()]
    if not values or not all(value in codes for value in values):
        return None
    mine = np.array([codes[value] for value in values], np.int64)[place.reshape(-1)]
    size = len(other.levels)
    drawn = np.bincount(mine, rows[known], size).astype(np.int64)
    whole = np.bincount(other.codes[inside], people[inside], size).astype(np.int64)
    is_part = bool((drawn <= whole).all()) and drawn.sum() < whole.sum()
    return (drawn, whole) if is_part else None
