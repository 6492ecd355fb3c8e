"""What was learnt, on disk: an npz archive with a header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mialeak._io import read_state, write_state
from mialeak.covariance._learning import Learnt
from mialeak.covariance._moments import moments_of

__all__ = ["load", "save"]

_KIND, _VERSION = "StreamingCovariance", 1


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
