"""Whether the rows of a fitted regression are cells of a table of counts, or studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, listed
from mialeak._checks.names import is_count_of_persons, is_person_name
from mialeak._columns import factor_if_plain
from mialeak.estimators._tables import formula_columns

__all__ = ["sentence_on_cells"]

#: Fewest rows that are cells where each combination of categories has one, and of these at least.
_FEWEST, _FEWEST_COLUMNS = 6, 2
#: The largest of counts of persons, at least: a person may have a few cases in the family.
_LARGE = 10
#: Rows of a table of counts at most: more are those of persons.
_MOST = 2**14
#: Rows of studies or groups at most, and by what factor their weights differ at least.
_STUDIES, _UNEQUAL = 50, 10.0


def sentence_on_cells(model: Any) -> str:
    """What a warning states where a row seems to be no person; empty for others.

    Responses are counts of persons if they have the name of these, and some are large.
    Counts in a model of Poisson are those of cells where each combination of the categories beside
    them has one row.  Weights by variances or sizes are those of few studies.
    """
    response = np.asarray(model.endog, np.float64)
    family = type(getattr(model, "family", model)).__name__
    if family == "Poisson" and response.ndim == 1 and np.all(response == np.rint(response)):
        keys = _grid(model) if response.max() >= _FEWEST else []
        if keys and not any(map(is_person_name, keys)):  # of a person in several periods
            return (
                f"responses are counts, and each combination of the values of {listed(keys)} has "
                "one row, as cells of a table have. If a row is such a cell, its influence is that "
                "of all of its persons together: fit a row for each person"
            )
    if (name := _name_of_counts(model, response)) is not None:
        return (
            f"responses {name!r} have the name of counts of persons, and are up to "
            f"{response.max():,.0f}. If a row is a cell of a table or an area, its influence is "
            "that of all of its persons together: fit a row for each person"
        )
    weights = np.asarray(getattr(model, "weights", 1.0), np.float64)
    if type(model).__name__ == "WLS" and weights.size == response.size <= _STUDIES:
        low, high = float(weights.min()), float(weights.max())
        if 0.0 < low * _UNEQUAL <= high and not _follows(weights, model.exog):
            return (
                f"{response.size:,} rows have weights from {low:.3g} to {high:.3g}: where a row is "
                "a study or a group, weighted by its size or precision, it is no person. Fit a row "
                "for each person"
            )
    return ""


def _name_of_counts(model: Any, response: FloatArray) -> str | None:
    """The name of responses, if it is that of counts of persons and they may be these."""
    name = getattr(model, "endog_names", None)
    if not isinstance(name, str) or not is_count_of_persons(name) or response.ndim != 1:
        return None
    are_whole = np.all((response >= 0.0) & (response == np.rint(response)))
    return name if are_whole and response.max() >= _LARGE else None


def _follows(weights: FloatArray, exog: Any) -> bool:
    """Whether weights rise or fall with a regressor, as those of a law of the variance do."""
    columns = np.asarray(exog, np.float64).T
    steps = [np.diff(weights[np.argsort(each)]) for each in columns if np.unique(each).size > 2]
    return any(bool((each >= 0.0).all() or (each <= 0.0).all()) for each in steps)


def _grid(model: Any) -> list[Any]:
    """The categories, each combination of which has one row; none if they are no grid.

    Those that the formula names, or all of its table.
    """
    rows = len(model.exog)
    if not _FEWEST <= rows <= _MOST:
        return []
    frame: Any = getattr(getattr(model, "data", None), "frame", None)
    if not hasattr(frame, "iloc") or len(frame) != rows:
        names = getattr(model, "exog_names", None)
        exog: FloatArray = np.asarray(model.exog, np.float64)
        return _keys(dict(zip(names or range(exog.shape[1]), exog.T, strict=True)), rows)
    response = str(getattr(model, "endog_names", ""))
    columns = {name: frame for name in frame.columns if str(name) != response}
    used = {name: frame for name in formula_columns(model) if name in columns}
    return _keys(used, rows) or _keys(columns, rows)


def _keys(columns: Mapping[Any, Any], rows: int) -> list[Any]:
    """The names of columns, of arrays or of the tables that have them, if these are a grid."""
    codes, cells = {}, 1
    for name, each in columns.items():
        table = each if hasattr(each, "iloc") else {name: each}
        for factor in factor_if_plain(table, name):
            size = np.unique(factor.codes).size
            if 1 < size < rows:
                codes[name], cells = factor.codes, cells * size
        if cells > rows:
            return []
    is_grid = len(codes) >= _FEWEST_COLUMNS and cells == rows
    return list(codes) if is_grid and _are_different(list(codes.values())) else []


def _are_different(codes: Sequence[Any]) -> bool:
    return bool(np.unique(np.stack(codes), axis=1).shape[1] == codes[0].size)
