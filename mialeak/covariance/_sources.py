"""Rows that are elsewhere: in files or in Dask arrays; and the file that keeps their sums.

The chunks of a Dask array are summed where they are, and joined by a fixed tree.  The graph depends
on the chunks alone, and every task on its arguments alone: a task that is run again, because a
worker was lost, gives the same bits.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import map_blocks, one_blas_thread
from mialeak._files.states import read_state, write_state
from mialeak._files.tables import read_blocks
from mialeak.covariance._learning import (
    Learnt,
    Recipe,
    check_names,
    check_width,
    join,
    learn_blocks,
)
from mialeak.covariance._moments import moments_of

__all__ = [
    "by_rows",
    "is_lazy",
    "learn_files",
    "learn_lazy",
    "load",
    "map_lazy",
    "paths_of",
    "save",
]

#: Entries of a batch of a Parquet file: 32 MB.
_BATCH = 2**22
#: What a saved object is called, and the version of its layout.
_KIND, _VERSION = "StreamingCovariance", 1


# ---- rows ----


def paths_of(X: Any) -> list[Path] | None:
    """`X` as paths, if it is one or a sequence of them."""
    if isinstance(X, (str, Path)):
        return [Path(X)]
    if isinstance(X, (list, tuple)) and X and all(isinstance(item, (str, Path)) for item in X):
        return [Path(item) for item in X]
    return None


def learn_files(recipe: Recipe, paths: list[Path], workers: int) -> Learnt:
    """The rows of all files, each learnt by itself and joined in their order.

    The bits are the same for any number of workers.
    """

    def learn(path: Path) -> tuple[Path, Learnt | None]:
        return path, learn_blocks(recipe, read_blocks(path, _BATCH), name=str(path))

    first: Learnt | None = None
    with one_blas_thread():
        for path, part in map_blocks(learn, paths, workers):
            if first is not None and part is not None:
                columns = first.moments.centre.size
                check_width(np.empty((0, part.moments.centre.size)), columns, str(path))
                check_names(part.names, first.names, str(path))
            first = join(first, part)
    if first is None:
        invalid("X", "hold at least one row")
    return first


# ---- what was learnt: an npz archive with a header ----


def save(path: str | Path, parameters: dict[str, Any], learnt: Learnt) -> None:
    """Write parameters, sums and names of columns."""
    moments, names = learnt.moments, learnt.names
    plain = {name: _plain(value) for name, value in parameters.items()}
    header = {
        "parameters": plain,
        "columns": int(moments.centre.size),
        "tails": moments.tails,
        "names": None if names is None else list(names),
        "dropped": learnt.dropped,
    }
    write_state(path, _KIND, _VERSION, header, moments.state())


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return value if value is None or isinstance(value, (str, int, float)) else list(map(int, value))


def load(path: str | Path) -> tuple[dict[str, Any], Learnt]:
    """Parameters and what was learnt."""
    header, arrays = read_state(path, _KIND, _VERSION)
    try:
        parameters, columns = header["parameters"], int(header["columns"])
        blocks = parameters["blocks"]
        moments = moments_of(parameters["structure"], columns, bool(header["tails"]), blocks)
        moments.restore(arrays)
        names = None if header["names"] is None else np.array(header["names"], dtype=object)
        return parameters, Learnt(moments, names, int(header["dropped"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is a damaged {_KIND} ({error})") from error


# ---- Dask arrays ----

#: Sums that are joined at a time: a deeper tree has workers wait for one another more often.
_BRANCHES = 4


def is_lazy(X: Any) -> bool:
    """Whether `X` is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__")


def learn_lazy(recipe: Recipe, X: Any, names: Any) -> Learnt:
    """The rows of all chunks, by whatever scheduler Dask is set to."""
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
