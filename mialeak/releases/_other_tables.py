"""Other tables with the same published sums: integer programs of a few cells at a time.

A sum is open as soon as it differs between two tables that fit.  A program of all cells is slow if
there are thousands; with all cells but some hundred held at their true counts it takes
milliseconds, and its solution, which is checked, is a table that fits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["other_tables"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Nodes of a program; weight of the sum it is about, the others having random ones about 1.
_NODES, _WEIGHT = 10, 3.0
#: Rows that are added to a block at a time, a part of those that touch it.
_PART = 4


def other_tables(
    numbers: tuple[Any, IntArray, IntArray],
    table: IntArray,
    sums: Any,
    sizes: Sequence[int],
    undecided: Callable[[], IntArray],
    pay: Callable[[int], bool],
) -> Iterator[IntArray]:
    """Tables x of whole numbers of at least 0 with ``low <= matrix x <= high``.

    Parameters
    ----------
    numbers : matrix, low, high
        Sums of cells and their ranges; `table` fits.
    table : (cells,) array
        The true counts.
    sums : sparse matrix
        The sums that other tables shall change.
    sizes : sequence of int
        Cells that vary in a program, in turn for each sum that is not decided.
    undecided : callable
        Gives the places among `sums` of those that no table changed yet.
    pay : callable
        Whether a program of so many entries may be solved.
    """
    matrix, low, high = numbers
    by_cell, rng = matrix.tocsc(), np.random.default_rng(0)
    seen = matrix @ table
    for size in sizes:
        for place in undecided().tolist():
            opened = undecided()
            if place not in opened:
                continue
            cells = _block(matrix, by_cell, sums[[place]].indices, size, rng)
            part = matrix[:, cells].tocsr()
            rows = np.flatnonzero(np.diff(part.indptr))
            part = part[rows]
            if not pay(part.nnz):
                return
            counts = part @ table[cells]
            weights = np.zeros(sums.shape[0])
            weights[opened] = rng.standard_normal(opened.size)
            weights[place] += _WEIGHT * rng.choice([-1.0, 1.0])
            ends = (low - seen)[rows] + counts, (high - seen)[rows] + counts
            solution = _solved(sums[:, cells].T @ weights, part, *ends)
            if solution is not None:
                other = table.copy()
                other[cells] = solution
                yield other


def _block(
    matrix: Any, by_cell: Any, start: IntArray, size: int, rng: np.random.Generator
) -> IntArray:
    """About `size` cells around those of `start`, along rows with few cells first."""
    inside = np.zeros(matrix.shape[1], np.bool_)
    inside[start] = True
    used, lengths = np.zeros(matrix.shape[0], np.bool_), np.diff(matrix.indptr)
    while np.count_nonzero(inside) < size:
        rows = np.unique(by_cell[:, np.flatnonzero(inside)].indices)
        rows = rows[~used[rows]]
        if not rows.size:
            break
        rows = rows[np.argsort(lengths[rows] * rng.uniform(0.5, 2.0, rows.size), kind="stable")]
        for row in rows[: max(1, rows.size // _PART)].tolist():
            used[row] = True
            inside[matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]] = True
            if np.count_nonzero(inside) >= size:
                break
    return np.flatnonzero(inside)


def _solved(objective: Any, matrix: Any, low: IntArray, high: IntArray) -> IntArray | None:
    """Whole numbers with these ranges of sums and a small objective, if the solver has some."""
    from scipy import optimize

    result = optimize.milp(
        np.asarray(objective, np.float64),
        integrality=np.ones(matrix.shape[1]),
        bounds=optimize.Bounds(0.0, np.inf),
        constraints=optimize.LinearConstraint(matrix, low, high),
        options={"node_limit": _NODES, "mip_rel_gap": 0.0},
    )
    if result.x is None:
        return None
    whole = np.rint(result.x).astype(np.int64)
    counts = matrix @ whole
    fits = (whole >= 0).all() and (low <= counts).all() and (counts <= high).all()
    return whole if fits else None
