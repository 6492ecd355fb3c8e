"""Mahalanobis distances of points under any whitening; errors name the point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from mialeak._arrays import (
    FloatArray,
    Numbers,
    all_finite,
    as_floats,
    first_index,
    invalid,
    require,
)
from mialeak._blocks import block_rows, row_blocks
from mialeak._numerics.whitening import Diagonal, Outside, Whitening

__all__ = [
    "as_mean",
    "as_points",
    "inner_products",
    "kernel_blocks",
    "squared_distances",
]
#: Entries of a block of targets: a block and its whitened copy stay in the cache.
_BLOCK = 1 << 15
#: Rows of a block for a triangular system (fewer rows make the matrix kernels slow), and its
#: largest number of entries.
_MATRIX_ROWS, _MATRIX_BLOCK = 256, 1 << 22
_RULE = "differ from mean only within the range of cov"


def as_mean(mean: Any) -> FloatArray:
    """The mean as a finite vector of at least one column."""
    vector = as_floats(mean, "mean", ndim=1, finite=True)
    if not vector.size:
        invalid("mean", "have at least one column")
    return vector


def as_points(points: Any, mean: FloatArray, name: str) -> FloatArray:
    """Targets, shape (..., d); the distance functions check that they are finite."""
    array = as_floats(points, name)
    if array.ndim == 0 or array.shape[-1] != mean.size:
        invalid(
            name,
            f"have {mean.size} columns (its last axis), as mean has; its shape is {array.shape}",
        )
    return array


@np.errstate(over="ignore", invalid="ignore")
def squared_distances(
    points: FloatArray, mean: FloatArray, by: Whitening, name: str, rule: str = _RULE
) -> float | FloatArray:
    """``(z - mean)^T C^-1 (z - mean)`` of every point z; `rule` is for points out of range."""
    flat = points.reshape(-1, mean.size)
    result = np.empty(flat.shape[0])
    deviations = None
    step = block_rows(mean.size, elements=_elements(mean.size, not isinstance(by, Diagonal)))
    for start in range(0, result.size, step):
        rows = flat[start : start + step]
        deviations = (
            rows - mean
            if deviations is None
            else np.subtract(rows, mean, deviations[: rows.shape[0]])
        )
        try:
            result[start : start + step] = by.squared(deviations)
        except Outside as outside:
            _refuse(points, name, rule, start, outside)
    if not all_finite(result):
        _refuse_not_finite(result, points, name)
    shaped: FloatArray = result.reshape(points.shape[:-1])
    return shaped[()]


@np.errstate(over="ignore", invalid="ignore")
def inner_products(
    points: FloatArray, others: FloatArray, mean: FloatArray, by: Whitening, names: tuple[str, str]
) -> float | FloatArray:
    """``(a - mean)^T C^-1 (b - mean)`` of points a and b, which broadcast."""
    try:
        one, other = np.broadcast_arrays(points, others)
    except ValueError:
        shapes = f"the shapes are {others.shape} and {points.shape}"
        invalid(names[1], f"broadcast with {names[0]}; {shapes}")
    flat, flat_other = one.reshape(-1, mean.size), other.reshape(-1, mean.size)
    result = np.empty(flat.shape[0])
    for block in kernel_blocks(flat, matrix=not isinstance(by, Diagonal)):
        result[block] = by.inner(flat[block] - mean, flat_other[block] - mean)
    shaped: FloatArray = result.reshape(one.shape[:-1])
    return shaped[()]


def kernel_blocks(flat: Numbers, *, matrix: bool = True) -> Iterator[slice]:
    """Blocks of rows that fit the cache, or that are large enough for matrix kernels."""
    rows, columns = flat.shape
    return row_blocks(rows, columns, elements=_elements(columns, matrix))


def _elements(columns: int, matrix: bool) -> int:
    """Entries of a block."""
    return max(_BLOCK, min(_MATRIX_ROWS * columns, _MATRIX_BLOCK)) if matrix else _BLOCK


def _refuse(points: FloatArray, name: str, rule: str, start: int, outside: Outside) -> NoReturn:
    row = np.unravel_index(start + outside.row, points.shape[:-1]) if points.ndim > 1 else ()
    index = (*(int(i) for i in row), outside.column)
    invalid(
        name,
        f"{rule}, whose rank is {outside.rank} of {outside.columns}",
        index=index,
        value=points[index],
        remedy=f"No fresh row is like it in column {outside.column}, so that the release gives it "
        "away: leave that column out, or add noise to the release",
    )


def _refuse_not_finite(result: FloatArray, points: FloatArray, name: str) -> NoReturn:
    """Raise for the first entry that makes a distance infinite or NaN."""
    require(np.isfinite(points), points, name, "be finite")
    row = first_index(~np.isfinite(result))[0]
    invalid(name, "be near enough to mean for its square to be a number", index=row)
