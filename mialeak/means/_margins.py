"""What offices publish, one- and two-way margins of a table, as a released mean of indicators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_counts, invalid
from mialeak._numerics.distances import kernel_blocks
from mialeak._numerics.whitening import Full
from mialeak.means._rows import downdated

__all__ = ["margin_leakage_scores"]

IntArray = npt.NDArray[np.int64]

#: Indicators at most: their covariance is a matrix of that size squared, 800 MB.
_MOST_CELLS = 10_000


def margin_leakage_scores(
    codes: Any, margins: Sequence[Sequence[int]], *, leave_one_out: bool = True
) -> FloatArray:
    """Leakage score of every row of a table of categories against its published margins.

    A margin is the table of counts of a few columns.  The counts of all cells of all margins are n
    times the mean of indicators, with a covariance that follows from the table, so that the score
    accounts for what the margins say together.

    Parameters
    ----------
    codes : array_like of int, shape (n, columns)
        The categories, each column coded 0, 1, 2, ...
    margins : sequence of sequences of int
        The columns of each margin: ``[[0], [1], [0, 1]]`` are the margins of columns 0 and 1 and
        their two-way table.
    leave_one_out : bool, optional
        Take the frequencies, for each row, from the other rows (the default); or from the whole
        table, row included, as if they were those of the population.

    Returns
    -------
    ndarray, shape (n,)
        Leakage scores.  inf, leaving one out, for a row with a cell of its own.

    Raises
    ------
    ValueError
        If `codes` is not a table of at least 3 rows, a margin is empty or names a column that is
        not there, or the margins have more than 10,000 cells.

    See Also
    --------
    row_leakage_scores : for columns of numbers.
    table_leakage : the exact leakage of one table of counts.

    Notes
    -----
    For one margin, with frequencies given, the score of a row in cell k is ``(1/p_k - 1)/n``.
    Margins of other margins add nothing, and the generalised inverse says so.  The score is about
    large n, and rests on cells of ten rows or more; rarer ones leak more than the curve that
    belongs to it says, and their exact leakage is that of the table of counts.

    **Accuracy.**  1e-11 relative for scores below 1000.

    **Cost.**  Rows that agree in all columns used are one: one factor of the covariance of the
    cells, and one triangular solve for the distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.means import margin_leakage_scores
    >>> codes = np.array([[0, 0]] * 5 + [[0, 1]] * 3 + [[1, 0]] * 3 + [[1, 1]] * 4)
    >>> apart = margin_leakage_scores(codes, [[0], [1]], leave_one_out=False)
    >>> together = margin_leakage_scores(codes, [[0, 1]], leave_one_out=False)
    >>> np.round(apart[[0, 5, 8, 11]], 3)
    array([0.098, 0.167, 0.167, 0.127])
    >>> np.round(together[[0, 5, 8, 11]], 3)
    array([0.133, 0.267, 0.267, 0.183])
    """
    table = as_counts(codes, "codes")
    if table.ndim != 2 or table.shape[0] < 3:
        invalid("codes", f"have 2 dimensions and at least 3 rows; its shape is {table.shape}")
    used = _as_margins(margins, table.shape[1])
    n = table.shape[0]
    columns = sorted({column for margin in used for column in margin})
    distinct, inverse, counts = _distinct(table[:, columns])
    place = {column: k for k, column in enumerate(columns)}
    cells = [_distinct(distinct[:, [place[c] for c in margin]])[1] for margin in used]
    sizes = [int(cell.max()) + 1 for cell in cells]
    if sum(sizes) > _MOST_CELLS:
        invalid("margins", f"have at most {_MOST_CELLS} cells together; they have {sum(sizes)}")
    frequencies, covariance = _moments(cells, sizes, counts / n)
    places = np.stack(cells, axis=1) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if leave_one_out:
        covariance *= n / (n - 2.0)
    squares = _squares(places, frequencies, covariance)
    scores = downdated(squares, n) if leave_one_out else squares / n
    return scores[inverse]


def _as_margins(margins: Sequence[Sequence[int]], columns: int) -> list[tuple[int, ...]]:
    used = []
    for k, margin in enumerate(margins):
        if not np.iterable(margin):
            rule = "be tuples of columns"
            invalid("margins", rule, index=k, value=margin, remedy="(0,) is column 0 alone")
        used.append(tuple(int(c) for c in as_counts(list(margin), "margins")))
    for k, margin in enumerate(used):
        if not margin:
            invalid("margins", "each name at least one column", index=k, value=margin)
        if max(margin) >= columns:
            invalid("margins", f"name columns below {columns}", index=k, value=margin)
    if not used:
        invalid("margins", "name at least one margin")
    return used


def _distinct(table: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Distinct rows, the place of each row among them, and how often each occurs."""
    radix = table.max(axis=0).astype(object) + 1
    if int(np.prod(radix)) < 2**62:
        key = np.zeros(table.shape[0], np.int64)
        for column, size in zip(table.T, radix, strict=True):
            key = key * int(size) + column
        _, first, inverse, counts = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        return table[first], inverse, counts
    rows, inverse, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return rows, inverse.reshape(-1), counts


def _moments(
    cells: list[IntArray], sizes: list[int], weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Frequencies of all cells and the covariance of their indicators."""
    ends = np.cumsum(sizes)
    joint = np.zeros((ends[-1], ends[-1]))
    for a, (cell, size) in enumerate(zip(cells, sizes, strict=True)):
        for b in range(a + 1):
            both = np.bincount(cell * sizes[b] + cells[b], weights, size * sizes[b])
            block = both.reshape(size, sizes[b])
            one, other = (slice(ends[k] - sizes[k], ends[k]) for k in (a, b))
            joint[one, other], joint[other, one] = block, block.T
    frequencies = np.diagonal(joint).copy()
    joint -= np.multiply.outer(frequencies, frequencies)
    return frequencies, joint


def _squares(places: IntArray, frequencies: FloatArray, covariance: FloatArray) -> FloatArray:
    """``v^T C^-1 v`` for each distinct row of indicators less their frequencies."""
    by = Full(covariance, np.zeros(frequencies.size), "codes")
    squares = np.empty(places.shape[0])
    shape = np.broadcast_to(frequencies, (places.shape[0], frequencies.size))
    for block in kernel_blocks(shape):
        rows = np.array(shape[block])
        np.negative(rows, out=rows)
        rows[np.arange(rows.shape[0])[:, None], places[block]] += 1.0
        squares[block] = by.squared(rows)
    return squares
