"""What the report on a table says first: values and columns that are probably misunderstood."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import MARKERS, Factor, is_number, numeric_levels

__all__ = ["all_differ", "cautions_of", "identifiers", "lone_markers"]

IntArray = npt.NDArray[np.int64]

#: Numbers that mark a missing value: below all others, none of which is negative, ...
_BELOW = (-1.0, -9.0, -99.0, -999.0, -9999.0)
#: ... or above all others by this factor.
_ABOVE, _FACTOR = (99.0, 999.0, 9999.0, 99999.0), 2.0


#: Names of columns that identify persons, and of survey weights, in small letters.
_IDENTIFIERS = frozenset({"id", "pid", "uid", "uuid", "ssn", "cpr", "iid", "email"}) | {
    f"{who}_id" for who in ("person", "patient", "subject", "user", "customer", "sample", "case")
}
_WEIGHTS = frozenset({"wgt", "wgts", "weights", "pweight", "fnlwgt", "sample_weight", "gewicht"})


def cautions_of(factors: dict[Any, Factor], weights: IntArray | None = None) -> list[str]:
    """A sentence for each suspicion, with the argument that cures it.

    `weights` are the persons of each row, where these are cells; a column is then no identifier.
    """
    met: dict[Any, list[tuple[Any, int]]] = {}
    for name, factor in factors.items():
        for value, rows in lone_markers(factor, weights):
            met.setdefault(value, []).append((name, rows))
    cautions = [
        f"{value!r} is counted as a value like any other, "
        f"{listed(places, show=lambda place: _where(*place))}. "
        f"If it marks a missing value, pass missing=[{str(value)!r}]."
        for value, places in met.items()
    ]
    if weights is None:
        cautions += _of_names(factors)
    names = [] if weights is not None else identifiers(factors)
    if names:
        cautions.append(
            f"Every row has a value of its own in column {listed(names)}, as an identifier has. "
            + (f"Leave such columns out with exclude=[{listed(names)}]." if len(names) <= 3 else "")
        )
    return [caution.strip() for caution in cautions]


def _where(name: Any, rows: int) -> str:
    return f"in {rows:,} row{'s' * (rows != 1)} of column {name!r}"


def _of_names(factors: dict[Any, Factor]) -> list[str]:
    """Cautions for columns whose name is that of an identifier or of a survey weight."""
    cautions = []
    for name, factor in factors.items():
        word = str(name).strip().lower()
        if word in _IDENTIFIERS and not all_differ(factor):
            cautions.append(
                f"Column {name!r} has the name of an identifier, and some of its values are those "
                f"of several rows. The report is about rows, not persons; if {name!r} is no "
                f"category, pass exclude=[{name!r}]."
            )
        if word in _WEIGHTS:
            cautions.append(
                f"Column {name!r} has the name of a survey weight and is counted as a category. If "
                f"it is a weight, pass exclude=[{name!r}]."
            )
    return cautions


def identifiers(factors: dict[Any, Factor]) -> list[Any]:
    """The columns in which every row has a value of its own."""
    return [
        name for name, factor in factors.items() if len(factor.codes) > 1 and all_differ(factor)
    ]


def all_differ(factor: Factor) -> bool:
    """Whether no two rows have the same value, and none is missing."""
    if len(factor.levels) < len(factor.codes) or factor.n_missing:
        return False
    return int(np.bincount(factor.codes).max()) == 1


def lone_markers(factor: Factor, weights: IntArray | None = None) -> list[tuple[Any, int]]:
    """The values of a column that usually mark a missing one, and the rows that hold each."""
    known = factor.codes >= 0
    shown = np.bincount(factor.codes[known], minlength=len(factor.levels))
    found = [code for code in _candidates(factor, shown > 0) if shown[code]]
    rows = np.ones(len(factor.codes), np.int64) if weights is None else weights
    return [(factor.value(code), int(rows[factor.codes == code].sum())) for code in found]


def _candidates(factor: Factor, present: npt.NDArray[np.bool_]) -> list[int]:
    """The codes of markers among the levels that are present."""
    if np.count_nonzero(present) < 2:
        return []
    numbers = numeric_levels(factor)
    if numbers is not None:
        return _far_off(np.where(present, numbers, np.nan))
    levels: Any = factor.levels
    plain = levels.to_pylist() if hasattr(levels, "to_pylist") else levels
    if set(map(type, plain)) <= {int, float, type(None)}:
        numbers = np.array([np.nan if value is None else float(value) for value in plain])
        return _far_off(np.where(present, numbers, np.nan))
    if not all(isinstance(value, str) for value in plain):
        return []
    words = [value.strip() for value in plain]
    markers = [k for k, word in enumerate(words) if word.lower() in MARKERS]
    others = [k for k in np.flatnonzero(present).tolist() if words[k].lower() not in MARKERS]
    if not others or not all(is_number(words[k]) for k in others):
        return markers
    values = np.full(len(words), np.nan)
    values[others] = [float(words[k]) for k in others]
    return markers + _far_off(values)


def _far_off(values: npt.NDArray[np.float64]) -> list[int]:
    """The codes of the numbers that stand far from all others; NaN is no number."""
    numbers = values[np.isfinite(values)]
    if numbers.size < 3:
        return []
    first, second, last_but_one, last = np.partition(numbers, [0, 1, -2, -1])[[0, 1, -2, -1]]
    found = []
    if first in _BELOW and second >= 0.0:
        found.append(first)
    if last in _ABOVE and last > _FACTOR * max(last_but_one, 1.0):
        found.append(last)
    return [int(np.flatnonzero(values == number)[0]) for number in found]
