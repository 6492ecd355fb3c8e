"""Files: those whose rows are learnt, and the one in which what was learnt is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mialeak._arrays import invalid
from mialeak._blocks import map_blocks, one_blas_thread
from mialeak._io import read_blocks, read_state, write_state
from mialeak.covariance._input import check_names, check_width
from mialeak.covariance._learning import Learnt, Recipe, join, learn_blocks
from mialeak.covariance._moments import moments_of

__all__ = ["learn_files", "load", "paths_of", "save"]

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
