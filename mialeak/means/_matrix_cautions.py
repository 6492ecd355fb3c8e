"""What the numbers of a table show to be wrong, whatever the names of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.distances import kernel_blocks

__all__ = ["cautions_of_matrix"]

#: The least side of a matrix of genotypes that is looked at for rows that are sites, and by what
#: factor the variance between rows is above that between columns, and that within, if they are.
_SIDE, _RATIO = 20, 20.0
#: Relative difference of a last row from a sum or a mean that was rounded.
_ROUNDED = 1e-6
#: Rows of a description by pandas: the number of rows, mean, deviation and five quantiles.
_DESCRIPTION = 8


def cautions_of_matrix(matrix: FloatArray) -> list[str]:
    """Cautions for matrices of pairs, rows that all occur twice, and transposed genotypes."""
    rows, columns = matrix.shape
    if rows == columns > 2 and not (matrix != matrix.T).any():
        return [
            f"The {rows:,} columns are symmetric to the {rows:,} rows, as in a matrix of "
            "correlations, relationships or distances. Take the table of which it was computed, "
            "with a row for each person."
        ]
    cautions = _of_summaries(matrix) + _of_copies(matrix)
    if min(rows, columns) < _SIDE or matrix.min() != 0.0 or matrix.max() not in (1.0, 2.0):
        return cautions
    if not ((matrix == 0.0) | (matrix == 1.0) | (matrix == 2.0)).all():
        return cautions
    by_row, by_column = matrix.mean(axis=1), matrix.mean(axis=0)
    between = columns * by_row.var(ddof=1), rows * by_column.var(ddof=1)
    within = max(float(matrix.var()) - by_row.var() - by_column.var(), 0.0)
    if between[0] < _RATIO * max(between[1], within):
        return cautions
    return [
        *cautions,
        f"The {rows:,} rows differ as sites do, and the {columns:,} columns as persons do: each "
        "row is taken for a person here. Transpose the table if its rows are sites.",
    ]


def _of_copies(matrix: FloatArray) -> list[str]:
    """A caution where the number of each different row has a common divisor."""
    rows, columns = matrix.shape
    if rows < 2 * _SIDE:
        return []
    weights = 2 * np.random.default_rng(0).integers(0, 2**63, columns, np.uint64) + 1
    keys = np.empty(rows, np.uint64)
    for block in kernel_blocks(matrix, matrix=False):
        bits = np.ascontiguousarray(matrix[block], np.float64).view(np.uint64)
        keys[block] = ((bits ^ (bits >> 32)) * weights).sum(axis=1, dtype=np.uint64)
    _, times = np.unique(keys, return_counts=True)
    copies = int(np.gcd.reduce(times))
    if copies < 2 or times.size < _SIDE:
        return []
    often = "twice" if copies == 2 else f"{copies} times, or a multiple of it"
    return [
        f"Each of {times.size:,} different rows occurs {often}. If a file was joined to itself, "
        f"take each row once: {rows // copies:,} rows leak more than {rows:,}."
    ]


def _of_summaries(matrix: FloatArray) -> list[str]:
    """A caution for a last row that sums up the others, or a table of summaries alone."""
    rows, columns = matrix.shape
    if rows == _DESCRIPTION and columns > 1:
        quantiles = matrix[3:]
        if (matrix[0] == matrix[0, 0]).all() and not (np.diff(quantiles, axis=0) < 0.0).any():
            return [
                "The 8 rows seem to be a description: the number of rows, mean, standard "
                "deviation and quantiles. Take the table of which it was computed."
            ]
    if rows <= _SIDE:
        return []
    last = matrix[-1]
    mean = matrix[:-1].mean(axis=0)
    for name, summary in (("sum", mean * (rows - 1)), ("mean", mean)):
        near = np.abs(last - summary) <= _ROUNDED * np.abs(summary)
        if near.all() and summary.any():
            return [f"The last row is the {name} of the others, not a person. Take it out."]
    return []
