"""Ranges of counts of which only sums, and ranges of sums, are known: integer programming.

========  ====================================================================================
Symbol    Meaning
========  ====================================================================================
x         counts of cells: whole numbers of at least 0
M         sums of cells by cells, of entries 0 and 1: ``low <= M x <= high``
table     the true counts, one such x
attained  the least and the largest values of sums at such x that were computed
========  ====================================================================================

A range ends where a computed x attains a simple bound, and needs no program then.  For the others,
the sum of all counts whose range is open is minimised and maximised, as long as the solutions close
a range; then each count alone.  Of a count that is not decided then, another table is searched in
which it differs.  The cells are split into components first,
which no sum joins after the cells that are known are taken out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from mialeak.releases._other_tables import other_tables

__all__ = ["Budget", "Ranges", "count_ranges"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Nodes of a program of few cells, and of one of more than so many.
_SMALL, _NODES, _NODES_LARGE = 200, 1000, 10
#: Cells up to which counts are whole numbers in a program, and cells beyond which none is solved.
_MOST_WHOLE, _MOST_CELLS = 2000, 12_000
#: An optimum that is so close to a whole number is one.
_WHOLE = 1e-6
#: Entries of a program of about the cost of the call itself; the cost grows faster than these.
_ENTRIES = 500
#: How much faster a program is without whole numbers, up to the cells beyond which all are.
_FASTER = 10.0
#: Cells that vary where another table is searched for, before bounds are proved and after.
_FIRST_SEARCHES, _LAST_SEARCHES = (300, 800, 800), (2000, 2000)


@dataclass
class Budget:
    """What may be spent on programs, in calls of the solver; a large one costs more than 1.

    Attributes
    ----------
    remaining : float
        For the ends of ranges.
    searches : float
        For other tables that fit, which show that a sum is open.
    proofs : float
        For bounds of sums that no other table changed.
    """

    remaining: float
    searches: float = 0.0
    proofs: float = 0.0

    def take(self, entries: int) -> bool:
        """Whether a program of so many entries may be solved, which is then paid."""
        cost = _cost(entries)
        if cost > self.remaining:
            return False
        self.remaining -= cost
        return True

    def search(self, entries: int) -> bool:
        """The same of a program that searches for another table."""
        cost = _cost(entries)
        if cost > self.searches:
            return False
        self.searches -= cost
        return True

    def prove(self, entries: int, cells: int) -> bool:
        """The same of a program without whole numbers, which is faster if others have these."""
        cost = _cost(entries) / (_FASTER if cells <= _MOST_WHOLE else 1.0)
        if cost > self.proofs:
            return False
        self.proofs -= cost
        return True


def _cost(entries: int) -> float:
    return float(1.0 + (entries / _ENTRIES) ** 1.5)


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of some sums.

    Attributes
    ----------
    low, high : (sums,) int64
        Ends that hold for every x, though they may be too wide.
    proved : (sums,) bool
        Whether an x has each of both ends.
    several : (sums,) bool
        Whether two x are known in which the sum differs.
    """

    low: IntArray
    high: IntArray
    proved: BoolArray
    several: BoolArray


def count_ranges(
    matrix: Any,
    low: IntArray,
    high: IntArray,
    table: IntArray,
    wanted: IntArray,
    parts: Sequence[IntArray],
    budget: Budget,
) -> Ranges:
    """The ranges of the sums `wanted`, rows of `matrix`, the first ones first.

    Row 0 is the sum of all cells, and each of `parts` are rows that have no cell in common.
    """
    fixed = _fixed(matrix, low, high, table)
    known = matrix[:, fixed] @ table[fixed]
    open_cells = np.flatnonzero(~fixed)
    inner, low, high = matrix[:, open_cells].tocsr(), low - known, high - known
    kept = np.diff(inner.indptr) > 0
    total = int(table[open_cells].sum())
    trivial = (low <= 0) & (high >= total)
    trivial[wanted] = False
    kept &= ~trivial
    if _implied(inner, low, high, parts):
        kept[0] = False
    ends, yes = (low[wanted], high[wanted]), np.zeros((2, wanted.size), np.bool_)
    ranges = Ranges(*ends, *yes)
    seen = (inner[wanted] @ table[open_cells]).astype(np.int64)
    closed = ~kept[wanted]
    ranges.low[closed] = ranges.high[closed] = seen[closed]
    ranges.proved[closed] = True
    place = np.full(matrix.shape[0], -1)
    place[wanted] = np.arange(wanted.size)
    for rows, cells in _components(inner, np.flatnonzero(kept)):
        of_rows = place[rows]
        if (of_rows < 0).all():
            continue
        part = _Component(inner[rows][:, cells].tocsr(), low[rows], high[rows])
        chosen = np.flatnonzero(of_rows >= 0)
        chosen = chosen[np.argsort(of_rows[chosen])]
        result = part.ranges(table[open_cells[cells]], chosen, budget)
        at = of_rows[chosen]
        ranges.low[at], ranges.high[at] = result.low, result.high
        ranges.proved[at], ranges.several[at] = result.proved, result.several
    known = known[wanted]
    return Ranges(ranges.low + known, ranges.high + known, ranges.proved, ranges.several)


def _fixed(matrix: Any, low: IntArray, high: IntArray, table: IntArray) -> BoolArray:
    """Cells whose count follows from one sum after the other."""
    fixed = np.zeros(matrix.shape[1], np.bool_)
    while True:
        unknown = matrix @ (~fixed).astype(np.int64)
        residual = high - matrix @ np.where(fixed, table, 0)
        follows = (unknown > 0) & ((residual == 0) | ((unknown == 1) & (low == high)))
        if not follows.any():
            return fixed
        fixed[matrix[np.flatnonzero(follows)].indices] = True


def _implied(matrix: Any, low: IntArray, high: IntArray, parts: Sequence[IntArray]) -> bool:
    """Whether the sum of all cells is the sum of other rows that are known."""
    for rows in parts:
        part = matrix[rows]
        used = np.diff(part.indptr) > 0
        if part.nnz == matrix.shape[1] and (low[rows] == high[rows])[used].all():
            return True
    return False


def _components(matrix: Any, rows: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows and the cells of each component, of the rows given."""
    part = matrix[rows]
    graph = sparse.block_array([[None, part], [part.T, None]], format="csr")
    _, number = csgraph.connected_components(graph, directed=False)
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order])) + 1
    for each in np.split(order, ends):
        cells = each[each >= rows.size] - rows.size
        if cells.size < each.size:
            yield rows[each[each < rows.size]], cells


@dataclass(frozen=True, eq=False)
class _Component:
    matrix: Any
    low: IntArray
    high: IntArray

    def ranges(self, table: IntArray, wanted: IntArray, budget: Budget) -> Ranges:
        """The ranges of the sums `wanted`."""
        sums = self.matrix[wanted]
        attained = np.stack([sums @ table] * 2)
        bound = self._simple_bounds(wanted)
        for end, sign in enumerate((1, -1)):
            while self.matrix.shape[1] <= _MOST_CELLS:
                opened = np.flatnonzero(attained[end] != bound[end])
                if not opened.size or not budget.take(self.matrix.nnz):
                    break
                self._solve(sign * sums[opened].sum(axis=0), sums, attained)
                if (attained[end] != bound[end])[opened].all():
                    break
            for place in np.flatnonzero(attained[end] != bound[end]).tolist():
                if attained[end, place] == bound[end, place]:
                    continue  # attained at the solution for a count before
                if self.matrix.shape[1] > _MOST_CELLS or not budget.take(self.matrix.nnz):
                    break
                best = self._solve(sign * sums[[place]].toarray()[0], sums, attained)
                if math.isfinite(best):
                    narrowed = math.ceil(best - _WHOLE)
                    bound[end, place] = sign * max(sign * bound[end, place], narrowed)
        self._search(table, wanted, _FIRST_SEARCHES, bound, attained, budget)
        self._prove(sums, bound, attained, budget)
        self._search(table, wanted, _LAST_SEARCHES, bound, attained, budget)
        low = np.minimum(bound[0], attained[0])
        high = np.maximum(bound[1], attained[1])
        proved = (low == attained[0]) & (high == attained[1])
        return Ranges(low, high, proved, attained[0] < attained[1])

    def _search(
        self,
        table: IntArray,
        wanted: IntArray,
        sizes: tuple[int, ...],
        bound: IntArray,
        attained: IntArray,
        budget: Budget,
    ) -> None:
        """Widen `attained` of the sums that may have one value or several, by other tables."""
        sums = self.matrix[wanted]

        def undecided() -> IntArray:
            return np.flatnonzero((attained[0] == attained[1]) & (bound[0] < bound[1]))

        numbers = self.matrix, self.low, self.high
        for other in other_tables(numbers, table, sums, sizes, undecided, budget.search):
            shown = sums @ other
            np.minimum(attained[0], shown, out=attained[0])
            np.maximum(attained[1], shown, out=attained[1])

    def _prove(self, sums: Any, bound: IntArray, attained: IntArray, budget: Budget) -> None:
        """Narrow `bound` of the sums of which one value is known, to that one if no other fits."""
        if self.matrix.shape[1] > _MOST_CELLS:
            return
        alike = attained[0] == attained[1]
        for place in np.flatnonzero(alike & (bound[0] < bound[1])).tolist():
            for end, sign in enumerate((1, -1)):
                if attained[0, place] != attained[1, place]:
                    break
                if attained[end, place] == bound[end, place]:
                    continue
                if not budget.prove(self.matrix.nnz, self.matrix.shape[1]):
                    return
                best = self._solve(sign * sums[[place]].toarray()[0], sums, attained, whole=False)
                if math.isfinite(best):
                    narrowed = math.ceil(best - _WHOLE)
                    bound[end, place] = sign * max(sign * bound[end, place], narrowed)
                if attained[end, place] != bound[end, place]:
                    break  # it is not proved by this end: nor by the other alone

    def _simple_bounds(self, wanted: IntArray) -> IntArray:
        """Bounds of the sums `wanted`, both ends: from the most that each cell may have."""
        cells = self.matrix.tocsc()
        most = np.minimum.reduceat(self.high[cells.indices], cells.indptr[:-1])
        sums = self.matrix[wanted]
        shared = (sums.multiply(most) @ self.matrix.T).tocsr()  # most of the cells of two rows
        limits = (self.low - self.matrix @ most)[shared.indices] + shared.data
        filled = np.flatnonzero(np.diff(shared.indptr))
        low, high = self.low[wanted], np.minimum(self.high[wanted], sums @ most)
        least = np.maximum.reduceat(limits, shared.indptr[filled]) if filled.size else limits
        low[filled] = np.maximum(low[filled], least)
        return np.stack([low, high])

    def _solve(self, objective: Any, sums: Any, attained: IntArray, *, whole: bool = True) -> float:
        """A bound that the objective has for every x; the solution widens `attained`."""
        from scipy import optimize

        size = self.matrix.shape[1]
        nodes = _NODES if size <= _SMALL else _NODES_LARGE
        result = optimize.milp(
            np.asarray(objective, np.float64).ravel(),
            integrality=np.full(size, int(whole and size <= _MOST_WHOLE)),
            bounds=optimize.Bounds(0.0, np.inf),
            constraints=optimize.LinearConstraint(self.matrix, self.low, self.high),
            options={"node_limit": nodes, "mip_rel_gap": 0.0},
        )
        if result.x is not None:
            other = np.rint(result.x).astype(np.int64)
            counts = self.matrix @ other
            if (other >= 0).all() and (self.low <= counts).all() and (counts <= self.high).all():
                shown = sums @ other
                np.minimum(attained[0], shown, out=attained[0])
                np.maximum(attained[1], shown, out=attained[1])
        bound = result.fun if result.success else result.mip_dual_bound
        return -math.inf if bound is None else float(bound)
