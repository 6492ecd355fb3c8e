"""Whether the rows of a fitted regression are cells of a table of counts, or studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, listed

__all__ = ["sentence_on_cells"]

#: Fewest rows that are cells where each combination of categories has one, and of these at least.
_FEWEST, _FEWEST_COLUMNS = 6, 2
#: Rows of studies or groups at most, and by what factor their weights differ at least.
_STUDIES, _UNEQUAL = 50, 10.0


def sentence_on_cells(model: Any) -> str:
    """What a warning states where a row seems to be no person; empty for others.

    Counts in a model of Poisson are those of cells where each combination of the categories beside
    them has one row.  Weights by variances or sizes are those of few studies.
    """
    response = np.asarray(model.endog, np.float64)
    family = type(getattr(model, "family", model)).__name__
    if family == "Poisson" and response.ndim == 1 and np.all(response == np.rint(response)):
        keys = _grid(model)
        if keys and response.max() >= _FEWEST:
            return (
                f"responses are counts, and each combination of the values of {listed(keys)} has "
                "one row, as cells of a table have: the influence of a row is then that of all of "
                "its persons together. Fit a row for each person"
            )
    weights = np.asarray(getattr(model, "weights", 1.0), np.float64)
    if type(model).__name__ == "WLS" and weights.size == response.size <= _STUDIES:
        low, high = float(weights.min()), float(weights.max())
        if 0.0 < low * _UNEQUAL <= high:
            return (
                f"{response.size:,} rows have weights from {low:.3g} to {high:.3g}: where a row is "
                "a study or a group, weighted by its size or precision, it is no person. Fit a row "
                "for each person"
            )
    return ""


def _grid(model: Any) -> list[Any]:
    """The categories, each combination of which has one row; none if they are no grid."""
    frame: Any = getattr(getattr(model, "data", None), "frame", None)
    if hasattr(frame, "iloc"):
        used = str(getattr(model, "endog_names", ""))
        columns = {name: frame[name].to_numpy() for name in frame.columns if str(name) != used}
    else:
        names = getattr(model, "exog_names", None)
        exog: FloatArray = np.asarray(model.exog, np.float64)
        columns = dict(zip(names or range(exog.shape[1]), exog.T, strict=True))
    codes = {
        name: np.unique(each.astype(str), return_inverse=True)[1] for name, each in columns.items()
    }
    sizes = {name: int(each.max()) + 1 for name, each in codes.items()}
    rows = len(model.exog)
    keys = [name for name, size in sizes.items() if 1 < size < rows]
    if rows < _FEWEST or len(keys) < _FEWEST_COLUMNS:
        return []
    return keys if _has_each_once([codes[k] for k in keys], [sizes[k] for k in keys]) else []


def _has_each_once(codes: Sequence[Any], sizes: Sequence[int]) -> bool:
    rows = codes[0].size
    if math.prod(sizes) != rows:
        return False
    return bool(np.unique(np.stack(codes), axis=1).shape[1] == rows)
