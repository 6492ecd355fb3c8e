"""Counts that an output hides or rounds, and the ranges that all outputs leave for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mialeak._results import Kind, Result
from mialeak.releases._analysis import Analysis, joined
from mialeak.releases._count_ranges import Budget, Ranges, count_ranges
from mialeak.releases._explanations import in_words
from mialeak.releases._people import conditions_in_words
from mialeak.releases._scopes import Published

__all__ = ["HiddenCounts", "Recovered", "recovered_cells"]

IntArray = npt.NDArray[np.int64]

#: Cells up to which ranges are computed; cells that outputs of other columns may split these into.
_MOST_CELLS, _MOST_SPLIT = 20_000, 200
#: What the ranges of all counts may cost, in calls of the solver: some 20 s; and what
#: may be spent besides on counts that are not decided then: on tables in which they differ, some
#: 20 s, and on proofs that they do not, some 20 s.
_BUDGET, _SEARCHES, _PROOFS = 1700.0, 2500.0, 1500.0


@dataclass(frozen=True, repr=False)
class Recovered(Result):
    """A count that an output hides or rounds, and the range that all outputs leave for it.

    Attributes
    ----------
    output : str
    cell : str
        What the people of the cell have in common.
    shown_low, shown_high : int
        The range that the output itself shows.
    low, high : int
        The range by all outputs: whole numbers of at least 0.
    people : int
        The count.
    explanation : str
        The published numbers that give the count, if a combination of them does; else empty.  It
        states if it holds only since nobody has certain combinations of values, such as a town and
        another region than its own.
    kind : str
        "exact" if the count is recovered, otherwise "bound".

    Examples
    --------
    >>> from mialeak import Release
    >>> from mialeak.mechanisms import Suppress
    >>> release = Release({"city": ["A"] * 9 + ["B"] * 2 + ["C"] * 7})
    >>> release.add_table(["city"], protect=Suppress(3))
    >>> cell = release.leakage().recovered[0]
    >>> cell.cell, cell.low, cell.high
    ('city = B', 2, 2)
    """

    output: str
    cell: str
    shown_low: int
    shown_high: int
    low: int
    high: int
    people: int
    explanation: str
    kind: Kind = "exact"


@dataclass(frozen=True, eq=False)
class HiddenCounts:
    """Hidden or rounded counts whose range all outputs narrow.

    Attributes
    ----------
    cells : tuple of Recovered
    keys : tuple of (str, tuple of int)
        For each its output and the codes of its values there, which name it among all reports.
    marks : (cells,) int64
        For each the sum of the marks of its people.
    complete : bool
        Whether all ranges were computed, none of them too wide.
    undecided : (counts,) int64
        The counts of which it is not known whether the outputs leave one value or several.
    """

    cells: tuple[Recovered, ...]
    keys: tuple[tuple[str, tuple[int, ...]], ...]
    marks: IntArray
    complete: bool
    undecided: IntArray


def recovered_cells(analysis: Analysis) -> HiddenCounts:
    """Hidden or rounded counts whose range all outputs narrow.

    A combination of published numbers gives the count; or non-negative whole numbers leave a
    shorter range than the output itself.
    """
    every: list[tuple[Recovered, tuple[str, tuple[int, ...]], int]] = []
    complete, undecided, budget = True, [np.zeros(0, np.int64)], Budget(_BUDGET, _SEARCHES, _PROOFS)
    for number, output in enumerate(analysis.outputs):
        cells = np.flatnonzero(~output.exact & (output.low < output.high))
        if not cells.size:
            continue
        counts = np.bincount(analysis.cells[number] + 1, analysis.atoms.counts, output.n_cells + 1)
        counts = counts[1:].astype(np.int64)
        cells = cells[np.lexsort((counts[cells], counts[cells] == 0))]
        members = analysis.members(number)[cells]
        marks = analysis.marks_of(members)
        words = _explained(analysis, members, number, output.labels[cells])
        low, high = output.low[cells], output.high[cells]
        low[list(words)] = high[list(words)] = counts[cells[list(words)]]
        unknown = np.flatnonzero(low < high)
        program = _Program.of(analysis, number)
        if program is None:
            complete &= not unknown.size
            undecided.append(counts[cells[unknown]])
        else:
            ranges = program.ranges(number, cells[unknown], budget)
            low[unknown], high[unknown] = ranges.low, ranges.high
            complete &= bool(ranges.proved.all())
            undecided.append(counts[cells[unknown[~(ranges.proved | ranges.several)]]])
        shown_low, shown_high = output.low[cells], output.high[cells]
        for place in np.flatnonzero(high - low < shown_high - shown_low).tolist():
            labels = output.labels[cells[place]].tolist()
            narrowed = Recovered(
                output=output.name,
                cell=conditions_in_words(
                    analysis.people, output.masks(analysis.people, labels), output.where
                ),
                shown_low=int(shown_low[place]),
                shown_high=int(shown_high[place]),
                low=int(low[place]),
                high=int(high[place]),
                people=int(counts[cells[place]]),
                explanation=words.get(place, ""),
                kind="exact" if low[place] == high[place] else "bound",
            )
            every.append((narrowed, (output.name, tuple(labels)), int(marks[place])))
    every.sort(key=lambda each: (each[0].kind != "exact", each[0].people))
    return HiddenCounts(
        cells=tuple(narrowed for narrowed, _, _ in every),
        keys=tuple(key for _, key, _ in every),
        marks=np.array([mark for _, _, mark in every], np.int64),
        complete=complete,
        undecided=np.concatenate(undecided),
    )


def _explained(analysis: Analysis, members: Any, number: int, labels: IntArray) -> dict[int, str]:
    """The combination that gives each of the counts of an output that one gives.

    `members` has the cells of each as a row of a sparse matrix, `labels` the codes of its values.
    """
    words = {}
    for place in np.flatnonzero(analysis.shown.may_follow(members)).tolist():
        group = np.sort(members[[place]].indices).astype(np.int64)
        combination = analysis.shown.combination(group)
        if combination is not None:
            count = Published(number, tuple(labels[place].tolist()))
            words[place] = in_words(analysis, combination, analysis.shown_published, count)
    return words


@dataclass(frozen=True, eq=False)
class _Program:
    """The outputs as ranges of sums of cells: what nobody has is taken to be known to be empty."""

    matrix: Any
    low: IntArray
    high: IntArray
    table: IntArray
    parts: dict[int, IntArray]

    @classmethod
    def of(cls, analysis: Analysis, number: int) -> _Program | None:
        """The outputs that share a column with output `number`, and of the others those that split
        no cell of these, or leave few cells; None for too many cells.
        """
        names, outputs = _names(analysis, number), range(len(analysis.outputs))
        taken = [k for k in outputs if names & _names(analysis, k)]
        key = np.zeros(analysis.atoms.first.size, np.int64)
        for k in taken:
            key = joined(key, analysis.cells[k] + 1)
        for k in [k for k in outputs if k not in taken]:
            cells = analysis.cells[k]
            of_key = np.zeros(int(key.max()) + 1, np.int64)
            of_key[key] = cells
            if np.array_equal(of_key[key], cells):
                taken.append(k)
            elif key.max() < _MOST_SPLIT:
                finer = joined(key, cells + 1)
                if finer.max() < _MOST_SPLIT:
                    key = finer
                    taken.append(k)
        table = np.bincount(key, analysis.atoms.counts).astype(np.int64)
        _, first = np.unique(key, return_index=True)
        alike = analysis.cells[taken][:, first]
        if alike.shape[1] > _MOST_CELLS:
            return None
        low, high = [analysis.n], [analysis.n]
        members = [np.arange(alike.shape[1])]
        parts: dict[int, IntArray] = {}
        for k, codes in zip(taken, alike, strict=True):
            output = analysis.outputs[k]
            parts[k] = len(members) + np.arange(output.n_cells)
            members += [np.flatnonzero(codes == cell) for cell in range(output.n_cells)]
            low += output.low.tolist()
            high += output.high.tolist()
        lengths = [row.size for row in members]
        index = (np.repeat(np.arange(len(members)), lengths), np.concatenate(members))
        shape = (len(members), alike.shape[1])
        matrix = sparse.csr_matrix((np.ones(sum(lengths), np.int64), index), shape=shape)
        return cls(matrix, np.array(low), np.array(high), table, parts)

    def ranges(self, number: int, cells: IntArray, budget: Budget) -> Ranges:
        """Least and largest counts of cells of the output."""
        wanted, parts = self.parts[number][cells], list(self.parts.values())
        parts = [each for each in parts if each.size]
        numbers = self.matrix, self.low, self.high, self.table
        return count_ranges(*numbers, wanted, parts, budget)


def _names(analysis: Analysis, number: int) -> set[Any]:
    output = analysis.outputs[number]
    return {*output.columns, *output.where.masks}
