"""What the tables that an estimate is made of show: the cautions of released means, as warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mialeak._arrays import FloatArray, listed
from mialeak._checks.markers import marker_cautions, may_hold_markers
from mialeak._checks.means.cautions import cautions_of
from mialeak._checks.means.matrices import cautions_of_matrix
from mialeak._checks.means.scaled import columns_of_rows
from mialeak._checks.names import is_person_name
from mialeak._checks.persons import person_cautions, unpublished_columns, weight_cautions
from mialeak._columns import factor_from_values, factor_if_plain, numeric_levels
from mialeak._warnings import warn

if TYPE_CHECKING:
    from mialeak.estimators._influence import InfluenceFunctions

__all__ = ["formula_columns", "of_rows"]

#: What to do where a person has several rows.
_SUMS = (
    "An influence function is that of a row, and a person of several rows leaks more: sum the rows "
    "of influence of each person, times the number of persons over that of rows, and pass theta "
    "and these sums to InfluenceFunctions."
)


#: What to do where a code marks a missing value.
_OUT = "take such rows out and estimate again: {!r} is no measurement"

#: Numbers of a table up to which it gets all cautions of means, in a second.
_MOST_OF_MEANS = 2**20
#: What options belong to that a caution of means names.
_OF_MEANS = " These are options of mean_leakage, which computes the same scores."

Kind = Literal["means", "regression", "columns", "rows"]


def of_rows(
    result: InfluenceFunctions, *tables: Any, kind: Kind = "regression"
) -> InfluenceFunctions:
    """`result` with the index of the tables that it is made of; warns of what these show.

    The tables are X and y, or a result of statsmodels.  "rows" are those of any equations, whose
    columns need be no measurements.
    """
    made = _Made.of(tables, result.n)
    cautions = _of_clusters(tables[0], result.n) or [*made.of_persons()]
    if kind == "means":
        cautions += made.of_means(bool(cautions))
    elif kind != "rows":
        cautions += made.of_markers()
    if kind == "regression":
        cautions += made.of_scaled()
    for sentence in cautions:
        warn(sentence.removesuffix("."))
    if made.index is not None:
        object.__setattr__(result, "row_names", made.index)
    return result


def formula_columns(model: Any) -> list[Any]:
    """The columns of its table that the formula of a model of statsmodels names."""
    words = set(re.findall(r"[^\W\d][\w.]*", str(getattr(model, "formula", ""))))
    frame: Any = getattr(getattr(model, "data", None), "frame", None)
    names = list(frame.columns) if hasattr(frame, "iloc") else []
    return [name for name in names if words.issuperset(re.findall(r"[^\W\d][\w.]*", str(name)))]


@dataclass(frozen=True)
class _Made:
    """Of what an estimate is made: the columns of numbers, and tables of pandas that have these.

    `raw` are those before a formula transforms them.  Each table is beside the names of its columns
    that the estimate uses.
    """

    columns: Mapping[Any, FloatArray]
    raw: Mapping[Any, FloatArray]
    frames: Sequence[tuple[Any, Sequence[Any]]]
    index: Any

    @classmethod
    def of(cls, tables: Sequence[Any], rows: int) -> _Made:
        model = getattr(tables[0], "model", None)
        data: Any = getattr(model, "data", None)
        if hasattr(data, "row_labels"):  # of statsmodels
            tables = data.orig_exog, data.orig_endog
        columns = {name: each for table in tables for name, each in _numbers(table)}
        known = [each for each in tables if hasattr(each, "iloc") and len(each) == rows]
        index = known[0].index if known else None
        frame: Any = getattr(data, "frame", None)
        if known and hasattr(frame, "iloc") and len(frame) == rows:  # of a formula
            used = formula_columns(model)
            raw = dict(_numbers(frame[used]))
            return cls({**columns, **raw}, raw, [(frame, used)], index)
        frames = [each if each.ndim > 1 else each.to_frame(each.name or "y") for each in known]
        return cls(columns, columns, [(each, list(each.columns)) for each in frames], index)

    def of_persons(self) -> Iterator[str]:
        if not self.frames:
            return
        (frame, used), *_ = self.frames
        others = {
            name: each
            for name, each in unpublished_columns(frame, used, len(frame)).items()
            if each.rows_of_level.max() > 1 or isinstance(each.value(0), str)
        }
        named = list(filter(is_person_name, used))
        if not others and not named:
            return
        factors = {
            name: each
            for frame, used in self.frames
            for name in used
            for each in factor_if_plain(frame, name)
        }
        others |= {name: factors[name] for name in named if name in factors}
        yield from person_cautions(others, factors, np.arange(len(frame)), _SUMS)

    def of_markers(self) -> list[str]:
        """Cautions for numbers that usually mark a missing value."""
        return marker_cautions(
            {k: factor_from_values(x, k) for k, x in self.raw.items() if may_hold_markers(x)},
            cure=_OUT,
        )

    def of_scaled(self) -> list[str]:
        """A caution for columns that were computed from these rows, such as by a scaler."""
        every = len(self.columns)
        return [
            f"{len(names)} of {every} columns of X and y (column {listed(names, most=3)}) have "
            f"{kind}, as where they were computed by these rows: each row moves the entries of the "
            "others as well, and coefficients with them. Fit the columns as they were, or scaled "
            "by constants that do not come from the rows; where means and deviations are "
            "published as well, take joint_influence of the fit, mean_influence and "
            "variance_influence (of columns with at least three values)."
            for kind, names in columns_of_rows(self.columns).items()
        ]

    def of_means(self, are_persons: bool) -> list[str]:
        """The cautions of the report on means, of a table that is not too large for these."""
        if sum(each.size for each in self.columns.values()) > _MOST_OF_MEANS:
            return self.of_markers()
        factors = {name: factor_from_values(each, name) for name, each in self.columns.items()}
        levels = {name: numeric_levels(each) for name, each in factors.items()}
        cautions = [] if are_persons else cautions_of(factors, levels, chosen=True)
        cautions += weight_cautions(factors)
        with np.errstate(all="ignore"):  # in any unit
            cautions += cautions_of_matrix(np.column_stack([*self.columns.values()]))
        return [f"{each}{_OF_MEANS * ('=[' in each)}" for each in cautions]


def _numbers(table: Any) -> Iterator[tuple[Any, FloatArray]]:
    """The columns of numbers of an argument, and their names."""
    if hasattr(table, "iloc") and table.ndim > 1:
        for place, name in enumerate(table.columns):
            yield from ((name, each) for _, each in _numbers(table.iloc[:, place].to_numpy()))
        return
    array = np.asarray(table)
    if array.dtype.kind not in "iuf":
        return
    if array.ndim == 1:
        name = getattr(table, "name", None)
        yield "y" if name is None else name, array.astype(np.float64)
    elif array.ndim == 2:
        yield from enumerate(np.array(array.T, np.float64, order="C"))


def _of_clusters(result: Any, rows: int) -> list[str]:
    """A caution for standard errors of a fit of statsmodels that are those of groups."""
    groups = (getattr(result, "cov_kwds", None) or {}).get("groups")
    if groups is None or len(groups) != rows:
        return []
    sizes = [len(set(column.tolist())) for column in np.asarray(groups).reshape(rows, -1).T]
    return [
        f"The standard errors are those of {size:,} groups, and each of {rows:,} rows counts as a "
        f"person of its own. If a group is a person, sum the rows of influence by group, times "
        f"{size:,} / {rows:,}, and pass theta and these sums to InfluenceFunctions."
        for size in sizes
        if size < rows
    ][:1]
