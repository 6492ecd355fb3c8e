"""Dask arrays: their chunks are learnt where they are, and joined by a fixed tree.

The graph depends on the chunks alone, and every task on its arguments alone: a task that is run
again, because a worker was lost, gives the same bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import one_blas_thread
from mialeak.covariance._learning import Learnt, Recipe, join, learn_blocks

__all__ = ["by_rows", "is_lazy", "learn_lazy", "map_lazy"]

#: Sums that are joined at a time: a deeper tree has workers wait for one another more often.
_BRANCHES = 4


def is_lazy(X: Any) -> bool:
    """Whether `X` is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__")


def learn_lazy(recipe: Recipe, X: Any, names: Any) -> Learnt:
    """The rows of all chunks, by whatever scheduler Dask is told to use."""
    from dask.delayed import delayed

    array = by_rows(X, sizes=True)
    # Each block of it is a Learnt: so Dask makes a chunk and learns it in one task.
    learnt = array.map_blocks(
        _learn_chunk,
        recipe,
        names,
        dtype=object,
        meta=np.empty((0, 0), object),
        chunks=((1,) * array.numblocks[0], (1,)),
    )
    parts = learnt.to_delayed().ravel().tolist()
    together = delayed(_join, pure=True)
    while len(parts) > 1:
        parts = [together(parts[i : i + _BRANCHES]) for i in range(0, len(parts), _BRANCHES)]
    whole: Learnt = parts[0].compute()
    return whole


def map_lazy(estimator: Any, array: Any, whiten: bool) -> Any:
    """Distances or whitened rows of each chunk, not computed yet."""
    from dask.delayed import delayed

    scorer = delayed(estimator, pure=True)
    function = _whiten if whiten else _distances
    more: dict[str, Any] = {} if whiten else {"drop_axis": 1}
    meta = np.empty((0, 0) if whiten else 0)
    return array.map_blocks(function, scorer, dtype=np.float64, meta=meta, **more)


def by_rows(X: Any, sizes: bool = False) -> Any:
    """The array in chunks of whole rows, of known `sizes` if those are asked for."""
    array = X.to_dask_array(lengths=sizes or None) if hasattr(X, "to_dask_array") else X
    if array.ndim != 2:
        invalid("X", f"have 2 dimensions; its shape is {array.shape}")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    if sizes and any(np.isnan(count) for count in array.chunks[0]):
        array = array.compute_chunk_sizes()
    return array


def _learn_chunk(chunk: Any, recipe: Recipe, names: Any, block_info: Any) -> Learnt | None:
    start = block_info[0]["array-location"][0][0]
    with one_blas_thread():
        return learn_blocks(recipe, [(names, chunk)], start=start)


def _join(parts: list[Learnt | None]) -> Learnt | None:
    with one_blas_thread():
        return functools.reduce(join, parts)


def _distances(chunk: Any, estimator: Any) -> FloatArray:
    with one_blas_thread():
        return np.asarray(estimator.mahalanobis(chunk))


def _whiten(chunk: Any, estimator: Any) -> FloatArray:
    with one_blas_thread():
        return np.asarray(estimator.transform(chunk))
