"""Files: each is learnt by itself, several at a time, and their sums are joined in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mialeak._arrays import invalid
from mialeak._blocks import map_blocks, one_blas_thread
from mialeak._io import read_blocks
from mialeak.covariance._input import check_names, check_width
from mialeak.covariance._learning import Learnt, Recipe, join, learn_blocks

__all__ = ["learn_files", "paths_of"]

#: Entries of a batch of a Parquet file: 32 MB.
_BATCH = 2**22


def paths_of(X: Any) -> list[Path] | None:
    """`X` as paths, if it is one or a sequence of them."""
    if isinstance(X, (str, Path)):
        return [Path(X)]
    if isinstance(X, (list, tuple)) and X and all(isinstance(item, (str, Path)) for item in X):
        return [Path(item) for item in X]
    return None


def learn_files(recipe: Recipe, paths: list[Path], workers: int) -> Learnt:
    """The rows of all files; the same bits for any number of workers."""

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
