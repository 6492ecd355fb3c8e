"""What the tables that an estimate is made of show: the cautions of released means, as warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._checks.names import is_person_name
from mialeak._checks.persons import person_cautions, unpublished_columns
from mialeak._columns import Factor, factor_if_plain
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


def of_rows(result: InfluenceFunctions, *tables: Any) -> InfluenceFunctions:
    """`result` with the index of the tables that it is made of; warns of what these show.

    The tables are X and y, or a result of statsmodels.
    """
    made = _Made.of(tables, result.n)
    for sentence in _of_clusters(tables[0], result.n) or made.of_persons():
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
    """The tables of pandas of which an estimate is made, and the columns of them that it uses."""

    frames: Sequence[tuple[Any, Sequence[Any]]]
    index: Any

    @classmethod
    def of(cls, tables: Sequence[Any], rows: int) -> _Made:
        model = getattr(tables[0], "model", None)
        data: Any = getattr(model, "data", None)
        if hasattr(data, "row_labels"):  # of statsmodels
            tables = data.orig_exog, data.orig_endog
        known = [each for each in tables if hasattr(each, "iloc") and len(each) == rows]
        index = known[0].index if known else None
        frame: Any = getattr(data, "frame", None)
        if known and hasattr(frame, "iloc") and len(frame) == rows:  # of a formula
            return cls([(frame, formula_columns(model))], index)
        frames = [each if each.ndim > 1 else each.to_frame(each.name or "y") for each in known]
        return cls([(each, list(each.columns)) for each in frames], index)

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
        columns = dict(self._factors())
        others |= {name: columns[name] for name in named if name in columns}
        yield from person_cautions(others, columns, np.arange(len(frame)), _SUMS)

    def _factors(self) -> Iterator[tuple[Any, Factor]]:
        for frame, used in self.frames:
            for name in used:
                yield from ((name, each) for each in factor_if_plain(frame, name))


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
