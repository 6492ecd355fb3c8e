"""The numbers of a picture of leakage: values, ranges, and which of many rows are drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid, require_within
from mialeak._results import Bounds, Estimate

__all__ = ["DECADES", "Range", "as_leakage", "classes", "falling", "ranks"]

#: A log axis shows so many decades below the largest leakage at most.
DECADES = 4
#: Rows that are drawn one by one; of more, so many are chosen on either scale.
_MANY, _POINTS = 3000, 400


class Range(NamedTuple):
    """Where the leakage may be, and who says so."""

    lower: FloatArray
    upper: FloatArray
    name: str


def as_leakage(leakage: Any) -> tuple[FloatArray, Range | None]:
    """The line and the band of what stands for one leakage, or one range, at each point."""
    if isinstance(leakage, Bounds):
        lower = _as_shares(leakage.lower, "leakage.lower")
        upper = _as_shares(leakage.upper, "leakage.upper")
        return upper, Range(lower, upper, "range")
    if isinstance(leakage, (list, tuple)) and leakage and isinstance(leakage[0], Estimate):
        rows = [(each.value, each.low, each.high) for each in leakage]
        value, low, high = _as_shares(np.transpose(rows), "leakage", ndim=2)
        return value, Range(low, high, f"{100 * leakage[0].confidence:g}% interval")
    return _as_shares(leakage, "leakage"), None


def _as_shares(values: Any, name: str, *, ndim: int = 1) -> FloatArray:
    array = as_floats(values, name, ndim=ndim)
    if not array.size:
        invalid(name, "have at least one element")
    remedy = "Leave the dropped rows out" if np.isnan(array).any() else ""
    require_within(array, 0.0, 1.0, name, "be between 0 and 1", remedy=remedy)
    return array


def falling(values: FloatArray) -> FloatArray:
    return np.sort(values)[::-1]


def ranks(rows: int) -> Any:
    """The ranks of the rows to draw: all of them, or those that either scale needs."""
    if rows <= _MANY:
        return np.arange(rows)
    spread = np.linspace(0, rows - 1, _POINTS), np.geomspace(1, rows, _POINTS) - 1
    return np.unique(np.concatenate(spread).astype(np.intp))


def classes(leakage: FloatArray, bins: int, scale: str) -> FloatArray:
    """Edges of the classes of a histogram; on a log scale the first is for all that is small."""
    largest = float(leakage.max())
    if scale == "linear" or largest == 0.0:
        return np.linspace(0.0, largest or 1.0, bins + 1)
    smallest = max(float(leakage.min()), largest * 10.0**-DECADES)
    edges = np.geomspace(min(smallest, 0.5 * largest), largest, bins + 1)
    edges[-1] = largest
    return edges
