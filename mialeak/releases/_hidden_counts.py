"""Counts that an output hides or rounds, and the ranges that all outputs leave for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mialeak._results import Kind, Result
from mialeak.releases._analysis import Analysis, joined
from mialeak.releases._explanations import in_words
from mialeak.releases._people import conditions_in_words

__all__ = ["HiddenCounts", "Recovered", "count_range", "recovered_cells"]

IntArray = npt.NDArray[np.int64]

#: Cells up to which ranges are computed by linear and by integer programming; nodes of the latter.
_MOST_CELLS, _MOST_WHOLE, _MOST_NODES = 2000, 200, 1000
#: Ranges that are computed for one output, those of fewest people first.
_MOST_RANGES = 50
#: An optimum that is so close to a whole number is one.
_WHOLE = 1e-6


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
        The published numbers that give the count, if a combination of them does; else empty.
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
        Whether the ranges of all counts that no combination gives were computed.
    """

    cells: tuple[Recovered, ...]
    keys: tuple[tuple[str, tuple[int, ...]], ...]
    marks: IntArray
    complete: bool


def recovered_cells(analysis: Analysis) -> HiddenCounts:
    """Hidden or rounded counts whose range all outputs narrow.

    A combination of published numbers gives the count; or non-negative whole numbers leave a
    shorter range than the output itself.
    """
    every: list[tuple[Recovered, tuple[str, tuple[int, ...]], int]] = []
    complete = True
    for number, output in enumerate(analysis.outputs):
        cells = np.flatnonzero(~output.exact & (output.low < output.high))
        if not cells.size:
            continue
        counts = np.bincount(analysis.cells[number] + 1, analysis.atoms.counts, output.n_cells + 1)
        counts = counts[1:].astype(np.int64)
        cells = cells[np.lexsort((counts[cells], counts[cells] == 0))]
        members = analysis.members(number)[cells]
        may_follow = analysis.shown.may_follow(members)
        marks = analysis.marks_of(members)
        program, ranges = _Program.of(analysis, number), _MOST_RANGES
        for place, cell in enumerate(cells.tolist()):
            shown = (int(output.low[cell]), int(output.high[cell]))
            ends, words = shown, ""
            group = np.sort(members[[place]].indices).astype(np.int64)
            combination = analysis.shown.combination(group) if may_follow[place] else None
            if combination is not None:
                ends = (int(counts[cell]),) * 2
                words = in_words(analysis, combination, analysis.shown_published)
            elif program is None or not ranges:
                complete = False
            else:
                ends, ranges = program.range_of(number, cell), ranges - 1
            if ends[1] - ends[0] < shown[1] - shown[0]:
                labels = output.labels[cell].tolist()
                narrowed = Recovered(
                    output=output.name,
                    cell=conditions_in_words(
                        analysis.people, output.masks(analysis.people, labels), output.where
                    ),
                    shown_low=shown[0],
                    shown_high=shown[1],
                    low=ends[0],
                    high=ends[1],
                    people=int(counts[cell]),
                    explanation=words,
                    kind="exact" if ends[0] == ends[1] else "bound",
                )
                every.append((narrowed, (output.name, tuple(labels)), int(marks[place])))
    every.sort(key=lambda each: (each[0].kind != "exact", each[0].people))
    return HiddenCounts(
        cells=tuple(narrowed for narrowed, _, _ in every),
        keys=tuple(key for _, key, _ in every),
        marks=np.array([mark for _, _, mark in every], np.int64),
        complete=complete,
    )


@dataclass(frozen=True, eq=False)
class _Program:
    """The outputs as ranges of sums of cells: what nobody has is taken to be known to be empty."""

    matrix: Any
    low: IntArray
    high: IntArray
    rows: dict[tuple[int, int], IntArray]

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
            elif key.max() < _MOST_WHOLE:
                finer = joined(key, cells + 1)
                if finer.max() < _MOST_WHOLE:
                    key = finer
                    taken.append(k)
        _, first = np.unique(key, return_index=True)
        alike = analysis.cells[taken][:, first]
        if alike.shape[1] > _MOST_CELLS:
            return None
        low, high = [analysis.n], [analysis.n]
        members = [np.arange(alike.shape[1])]
        rows: dict[tuple[int, int], IntArray] = {}
        for k, codes in zip(taken, alike, strict=True):
            output = analysis.outputs[k]
            for cell in range(output.n_cells):
                rows[k, cell] = np.flatnonzero(codes == cell)
                members.append(rows[k, cell])
                low.append(int(output.low[cell]))
                high.append(int(output.high[cell]))
        lengths = [row.size for row in members]
        index = (np.repeat(np.arange(len(members)), lengths), np.concatenate(members))
        shape = (len(members), alike.shape[1])
        matrix = sparse.csr_matrix((np.ones(sum(lengths)), index), shape=shape)
        return cls(matrix, np.array(low), np.array(high), rows)

    def range_of(self, number: int, cell: int) -> tuple[int, int]:
        """Least and largest count of a cell of the output."""
        return count_range(self.matrix, self.low, self.high, self.rows[number, cell])


def _names(analysis: Analysis, number: int) -> set[Any]:
    output = analysis.outputs[number]
    return {*output.columns, *output.where.masks}


def count_range(matrix: Any, low: IntArray, high: IntArray, group: IntArray) -> tuple[int, int]:
    """Least and largest count of the cells `group`, if row i of `matrix` counts low to high.

    Counts are whole numbers of at least 0; for more than `_MOST_WHOLE` cells, or where that is not
    proved within `_MOST_NODES` nodes, numbers of at least 0.  The range is never too narrow.
    """
    from scipy import optimize

    size = matrix.shape[1]
    objective = np.zeros(size)
    objective[group] = 1.0
    ends = []
    for sign in (1.0, -1.0):
        result = optimize.milp(
            sign * objective,
            integrality=np.full(size, int(size <= _MOST_WHOLE)),
            bounds=optimize.Bounds(0.0, float(high[0])),
            constraints=optimize.LinearConstraint(matrix, low, high),
            options={"node_limit": _MOST_NODES, "mip_rel_gap": 0.0},
        )
        bound = result.fun if result.success else result.mip_dual_bound
        ends.append(sign * (-math.inf if bound is None else bound))
    least, most = ends
    least = 0 if not math.isfinite(least) else math.ceil(least - _WHOLE)
    return max(0, least), int(high[0]) if not math.isfinite(most) else math.floor(most + _WHOLE)
