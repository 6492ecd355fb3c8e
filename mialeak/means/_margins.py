"""What offices publish, one- and two-way margins of a table, as a released mean of indicators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from mialeak._arrays import FloatArray, as_counts, as_flag, invalid
from mialeak._blocks import progress_bar
from mialeak._numerics.leave_one_out import downdated

__all__ = ["margin_leakage_scores"]

IntArray = npt.NDArray[np.int64]

#: Indicators at most: their covariance is a matrix of that size squared, 800 MB.
_MOST_CELLS = 10_000
#: An indicator is a combination of others where its pivot is below (16 + d) eps: the rounding of
#: the factorisation.
_PIVOT = 16
#: The squares of all rows sum to the rank; by more than this share off, rounding has decided it.
_RANK = 1e-6
#: Rows of a strip of the matrix that is updated at a time.
_STRIP = 512


def margin_leakage_scores(
    codes: Any,
    margins: Sequence[Sequence[int]],
    *,
    leave_one_out: bool = True,
    progress: bool = False,
) -> FloatArray:
    """Leakage score of every row of a table of categories against its published margins.

    A margin is the table of counts of a few columns.  The counts of all cells of all margins are n
    times the mean of indicators, with a covariance that follows from the table, so that the score
    accounts for all margins together.

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
    progress : bool, optional
        Show a progress bar (by tqdm, the extra ``progress``).

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
    mean_leakage : for columns of numbers.
    table_leakage : the exact leakage of one table of counts.

    Notes
    -----
    For one margin, with frequencies given, the score of a row in cell k is ``(1/p_k - 1)/n``.
    A margin implied by another adds no leakage: its directions are in the null space, which the
    pseudo-inverse ignores.  With
    x the indicators of a row and M their mean of ``x x^T`` ::

        (x - p)^T (M - p p^T)^- (x - p) = x^T M^- x - 1

    The score is about large n.  Its curve leaks too little for cells that expect fewer than ten
    rows: by up to 14 % for one margin, by up to 19 % for several (one cell that expects one row is
    the exception, by 4 % too much).  :func:`mialeak.table_leakage` encloses the exact leakage, and
    computes it for one margin and for independent ones.

    **Accuracy.**  1e-11 relative for scores below 1000.

    **Cost.**  One factor of the matrix M, margin by margin, and its inverse, in one array of cells
    times cells; then a sum over pairs of margins for each distinct row.  28 two-way margins of
    eight columns of Adult (6,994 cells, 32,561 rows) take 6 s on a core and 0.6 GB.

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
    leave_one_out = as_flag(leave_one_out, "leave_one_out")
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
    places = np.stack(cells, axis=1) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    squares = _squares(places, sizes, counts, progress)
    # The scatter over n - 2 in place of n scales the squares.
    scores = downdated(squares * ((n - 2.0) / n), n) if leave_one_out else squares / n
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


def _squares(places: IntArray, sizes: list[int], counts: IntArray, progress: bool) -> FloatArray:
    """``x^T M^- x - 1`` for each distinct row of indicators x, that so many rows have."""
    rows = float(counts.sum())
    order = np.argsort(-np.array(sizes), kind="stable")  # the first block of M is diagonal
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in order])
    place = np.empty(columns.size, np.int64)
    place[columns] = np.arange(columns.size)
    places = place[places[:, order]]
    ends = np.cumsum(np.array(sizes)[order])
    with progress_bar(progress, 3 * columns.size, "cell") as done:
        matrix, scale = _moments(places, ends, counts)
        blocks = _eliminate(matrix, ends, done)
        inverse = _inverse(matrix, blocks, done)
    kept = np.concatenate(blocks)
    position = np.full(columns.size, -1)
    position[kept] = np.arange(kept.size)
    squares = np.zeros(places.shape[0])
    for a in range(places.shape[1]):
        for b in range(a + 1):
            one, other = position[places[:, a]], position[places[:, b]]
            used = np.flatnonzero((one >= 0) & (other >= 0))
            one, other = one[used], other[used]
            term = inverse[np.maximum(one, other), np.minimum(one, other)]
            term *= scale[places[used, a]] * scale[places[used, b]] * (1.0 + (a != b))
            squares[used] += term
    squares *= rows
    total = float(counts @ squares) / rows
    if not abs(total - kept.size) <= _RANK * kept.size:
        rule = "have cells that do not all but determine each other"
        invalid("margins", rule, remedy="Leave out the margin with the most cells")
    return np.maximum(squares - 1.0, 0.0)


def _moments(places: IntArray, ends: IntArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of products of the indicators, scaled to a diagonal of 1, below it; and the scale.

    The sums are of whole numbers, hence exact: combinations of indicators leave pivots of rounding.
    """
    cells = int(ends[-1])
    starts = np.concatenate([[0], ends[:-1]])
    matrix = np.zeros((cells, cells), order="F")
    scale = np.empty(cells)
    for column, start, end in zip(places.T, starts, ends, strict=True):
        frequencies = np.bincount(column - start, counts, end - start)
        scale[start:end] = 1.0 / np.sqrt(frequencies)
        matrix[range(start, end), range(start, end)] = 1.0
    for b in range(ends.size):
        for a in range(b + 1, ends.size):
            one, other = (slice(starts[k], ends[k]) for k in (a, b))
            size = ends[b] - starts[b]
            key = (places[:, a] - starts[a]) * size + places[:, b] - starts[b]
            both = np.bincount(key, counts, (ends[a] - starts[a]) * size)
            block = both.reshape(-1, size)
            matrix[one, other] = block * scale[one, None] * scale[other]
    return matrix, scale


def _eliminate(matrix: FloatArray, ends: IntArray, done: Callable[[int], object]) -> list[IntArray]:
    """Cholesky's factor below the diagonal, margin by margin; the indicators kept of each.

    The others are combinations of the ones before.  The kept ones of a margin are in the order of
    their pivots; their rows and columns hold the factor.
    """
    cells = matrix.shape[0]
    limit = (_PIVOT + cells) * np.finfo(np.float64).eps
    kept: list[IntArray] = []
    start = 0
    for end in ends:
        block = np.array(matrix[start:end, start:end], order="F")
        largest = float(np.diagonal(block).max())
        factor, pivots, rank, _ = linalg.lapack.dpstrf(block, tol=limit, lower=1, overwrite_a=1)
        rank = rank if largest > limit else 0  # LAPACK takes the first pivot if it is above 0
        pivotal = start + pivots[:rank] - 1
        head = np.asfortranarray(np.tril(factor[:rank, :rank]))
        matrix[np.ix_(pivotal, pivotal)] = head
        kept.append(pivotal)
        if rank and end < cells:
            below = np.asfortranarray(matrix[end:, pivotal])
            below = linalg.blas.dtrsm(1.0, head, below, side=1, lower=1, trans_a=1, overwrite_b=1)
            matrix[end:, pivotal] = below
            for top in range(end, cells, _STRIP):
                strip = slice(top, min(top + _STRIP, cells))
                update = below[top - end :] @ below[top - end : strip.stop - end].T
                matrix[top:, strip] -= update
        done(int(end) - start)
        start = int(end)
    return kept


def _inverse(
    matrix: FloatArray, blocks: list[IntArray], done: Callable[[int], object]
) -> FloatArray:
    """Inverse of what was factored into the rows and columns of `blocks`, below its diagonal.

    In the memory of `matrix`, which is lost: a block moves forward, over what has been moved.
    """
    kept = np.concatenate(blocks)
    buffer = matrix.reshape(-1, order="F")
    start = 0
    for pivotal in blocks:
        columns = matrix[np.ix_(kept, pivotal)]
        end = start + columns.size
        buffer[start:end] = columns.reshape(-1, order="F")
        start = end
    factor = buffer[:start].reshape((kept.size, kept.size), order="F")
    inverse, _ = linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)
    done(matrix.shape[0])
    inverse, _ = linalg.lapack.dlauum(inverse, lower=1, overwrite_c=1)
    done(matrix.shape[0])
    return np.asarray(inverse)
