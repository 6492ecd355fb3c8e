"""A table beside the register that its rows were drawn from: which of its people they are."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid, listed
from mialeak._checks.means import size_cautions
from mialeak._checks.samples import LEVEL, shares_differ
from mialeak.means._release import Release

__all__ = ["InRegister", "cautions_of_others", "in_register"]

#: Columns that are compared at most, classes of the numbers of each, and the share of the columns
#: that may differ by the errors of the test.
_MOST, _CLASSES, _BY_CHANCE = 1000, 10, 1e-3
#: By which cautions about a table and about others may differ and be the same.
_NUMBER = re.compile(r"\d[\d,.]*")


class InRegister(NamedTuple):
    """The place of each row of a table among the people of a register; equal people have one."""

    release: Release
    places: npt.NDArray[np.intp]

    def cautions(self, table: Release) -> list[str]:
        """A caution where the rows of the table are no random sample of the register's people."""
        beside = {column.name: column for column in self.release.columns}
        step = -(-len(table.columns) // _MOST)
        looked_at = table.columns[::step]
        other = []
        rows: npt.NDArray[Any]
        people: npt.NDArray[Any]
        for column in looked_at:
            known = beside[column.name]
            if column.factor is None:
                values = self.release.numbers[:, known.place]
                ends = np.unique(np.quantile(values, np.arange(1, _CLASSES) / _CLASSES))
                rows = np.searchsorted(ends, table.numbers[:, column.place])
                people = np.searchsorted(ends, values)
            else:
                assert known.factor is not None
                codes = known.factor.codes.astype(np.intp)
                people, rows = codes, codes[self.places]
            size = int(people.max()) + 1
            if shares_differ(*(np.bincount(each, minlength=size) for each in (rows, people))):
                other.append(column.name)
        if len(other) <= _BY_CHANCE * len(looked_at):
            return []
        return [
            f"The table is no simple random sample of the register: their values differ in column "
            f"{listed(other)} (chi-squared test, p < {LEVEL:g}). The answer is for a sample in "
            "which everyone of the register is equally likely. If the table is about a part of the "
            "register, pass the people of that part: they leak more."
        ]


def cautions_of_others(
    table: Release, register: InRegister | None, panel: Release | None
) -> list[str]:
    """Those about the people of a register or a panel alone, and about the draw from a register."""
    known = {_NUMBER.sub("", each) for each in (*table.cautions, *table.row_cautions)}
    cautions = [
        f"Of {name}: {each[0].lower()}{each[1:]}"
        for name, people in (("population", register and register.release), ("panel", panel))
        if people is not None
        for each in (*people.cautions, *people.row_cautions)
        if _NUMBER.sub("", each) not in known
    ]
    cautions += [] if register is None else register.cautions(table)
    return cautions + ([] if panel is None else size_cautions(panel.rows, "panel"))


def in_register(table: Release, register: Release) -> InRegister:
    """The place of each row of the table in the register from which it was drawn.

    Raises
    ------
    ValueError
        If a column of numbers holds text in the register, or the register has fewer people like a
        row than the table.
    """
    words = {column.name for column in register.categories}
    for column in table.columns:
        if column.factor is None and column.name in words:
            rule = f"hold numbers in column {column.name!r}, as the table does; it holds text"
            remedy = "Convert the column of one of the two, or name it among the categories"
            invalid("population", rule, remedy=remedy)
    people = _keys(register, register)
    every, first, place = np.unique(people, return_index=True, return_inverse=True)
    rows = _keys(table, register)
    at = np.minimum(np.searchsorted(every, rows), every.size - 1)
    shown = np.bincount(at, minlength=every.size)
    known = np.where(every[at] == rows, np.bincount(place, minlength=every.size)[at], 0)
    over = shown[at] > known
    if over.any():
        row = int(np.argmax(over))
        alike = int(np.count_nonzero(rows == rows[row]))
        rule = (
            f"have at least as many people like each row as the table; it has {int(known[row]):,} "
            f"like row {int(table.places[row]):,}, of which the table has {alike:,}"
        )
        remedy = _stranger(table, register, row)
        invalid("population", rule, remedy=remedy)
    return InRegister(register, first[at])


def _stranger(table: Release, register: Release, row: int) -> str:
    """Why a row of the table is none of the people, as far as one of its categories shows."""
    levels = {
        column.name: [column.factor.value(code) for code in range(len(column.factor.levels))]
        for column in register.columns
        if column.factor is not None
    }
    for column in table.categories:
        value, known = table.value(row, column), levels[column.name]
        if value not in known:
            sentence = f"It has no {value!r} in column {column.name!r}"
            if str(value) in map(str, known):
                sentence += ", but one of another type: convert the column of one of the two"
            return sentence
    return "Every row of the table must be one of its people, with the same numbers"


def _keys(release: Release, register: Release) -> npt.NDArray[np.void]:
    """Each row as bytes: its numbers, and its categories by their codes in the register."""
    columns = {column.name: column for column in register.columns}
    matrix = np.empty((release.rows, len(columns)))
    for k, column in enumerate(columns.values()):
        here = next(each for each in release.columns if each.name == column.name)
        if column.factor is None:
            matrix[:, k] = release.numbers[:, here.place] + 0.0  # one sign for zero
            continue
        assert here.factor is not None
        codes = {column.factor.value(code): code for code in range(len(column.factor.levels))}
        level = [codes.get(here.factor.value(c), -1) for c in range(len(here.factor.levels))]
        matrix[:, k] = np.array(level, np.float64)[here.factor.codes]
    return matrix.view(np.dtype((np.void, matrix.itemsize * len(columns)))).ravel()
