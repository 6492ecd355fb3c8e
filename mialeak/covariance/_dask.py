"""Dask arrays: their chunks are learnt where they are, and joined by a fixed tree.

The graph depends on the chunks alone, and every task on its arguments alone: a task that is run
again, because a worker was lost, gives the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import one_blas_thread
from mialeak.covariance._learning import Learnt, Recipe, join, learn_blocks

__all__ = ["is_lazy", "learn_lazy", "map_lazy"]


def is_lazy(X: Any) -> bool:
    """Whether `X` is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__")


def learn_lazy(recipe: Recipe, X: Any, names: Any) -> Learnt:
    """The rows of all chunks, by whatever scheduler Dask is told to use."""
    from dask.delayed import delayed

    array, starts = _by_rows(X)
    chunks = array.to_delayed().ravel()
    part = delayed(_learn_chunk, pure=True)
    parts = [part(recipe, names, c, start) for c, start in zip(chunks, starts, strict=True)]
    both = delayed(_join, pure=True)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [both(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    learnt: Learnt = parts[0].compute()
    return learnt


def map_lazy(estimator: Any, X: Any, whiten: bool) -> Any:
    """Distances or whitened rows of each chunk, not computed yet."""
    from dask.delayed import delayed

    array, _ = _by_rows(X, sizes=False)
    scorer = delayed(estimator, pure=True)
    function = _whiten if whiten else _distances
    more: dict[str, Any] = {} if whiten else {"drop_axis": 1}
    meta = np.empty((0, 0) if whiten else 0)
    return array.map_blocks(function, scorer, dtype=np.float64, meta=meta, **more)


def _by_rows(X: Any, sizes: bool = True) -> tuple[Any, list[int]]:
    """The array in chunks of whole rows, and the number of the first row of each."""
    array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    if array.ndim != 2:
        invalid("X", f"have 2 dimensions; its shape is {array.shape}")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    rows = array.chunks[0]
    if sizes and any(np.isnan(count) for count in rows):
        array = array.compute_chunk_sizes()
        rows = array.chunks[0]
    return array, np.cumsum([0, *rows[:-1]]).tolist()


def _learn_chunk(recipe: Recipe, names: Any, chunk: Any, start: int) -> Learnt | None:
    with one_blas_thread():
        return learn_blocks(recipe, [(names, chunk)], start=start)


def _join(one: Learnt | None, other: Learnt | None) -> Learnt | None:
    with one_blas_thread():
        return join(one, other)


def _distances(chunk: Any, estimator: Any) -> FloatArray:
    with one_blas_thread():
        return np.asarray(estimator.mahalanobis(chunk))


def _whiten(chunk: Any, estimator: Any) -> FloatArray:
    with one_blas_thread():
        return np.asarray(estimator.transform(chunk))
