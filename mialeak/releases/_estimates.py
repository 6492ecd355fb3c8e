"""Whether an estimate was fitted to the rows of the people, by the values of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._checks.samples import mean_ranks
from mialeak._columns import each_factor, numeric_levels
from mialeak._warnings import warn
from mialeak.releases._people import People

__all__ = ["warn_of_other_rows"]

#: Columns that are compared, of the people and of an estimate each; fewest rows.
_MOST_COLUMNS, _FEWEST_ROWS = 100, 30
#: Fewest steps between different values that two columns do not share by chance.
_FEWEST_VALUES = 20
#: Columns are unrelated if their rank correlation is within so many of its standard deviations, by
#: independence, of 0.
_UNRELATED = 3.0
#: Largest difference of centred and scaled values that are equal, in single precision too.
_ROUNDED = 1e-5


class _Column(NamedTuple):
    """A column of numbers: centred and scaled, and these in order, with the larger end last."""

    name: Any
    values: FloatArray
    ordered: FloatArray

    @classmethod
    def of(cls, name: Any, numbers: FloatArray) -> _Column | None:
        """None for numbers that are not finite, or all equal."""
        spread = float(numbers.std()) if np.isfinite(numbers).all() else 0.0
        if not (0.0 < spread < np.inf and np.ptp(numbers) > _ROUNDED * np.abs(numbers).max()):
            return None
        values = (numbers - numbers.mean()) / spread
        ordered = np.sort(values)
        return cls(name, values, max(ordered, -ordered[::-1], key=lambda each: float(each[-1])))

    def has_values_of(self, other: _Column) -> bool:
        """Whether both have the same values, in whatever order, unit and sign."""
        return bool(np.abs(self.ordered - other.ordered).max() <= _ROUNDED)

    def is_equal(self, other: _Column) -> bool:
        """Whether both have the same values row by row, in whatever unit and sign."""
        return any(
            np.abs(self.values - sign * other.values).max() <= _ROUNDED for sign in (1.0, -1.0)
        )

    def identifies_rows(self) -> bool:
        """Whether its values are many, and have no even steps as the numbers of rows do."""
        steps = np.diff(np.unique(np.round(self.ordered, 6)))
        return steps.size >= _FEWEST_VALUES and float(np.ptp(steps)) > 1e-3 * float(steps.max())


def warn_of_other_rows(people: People, *tables: Any) -> None:
    """Warn if the rows of X and y are not those of the people, or have another order.

    They are not if a column has the values of one of the people in another order, or has ranks that
    are uncorrelated with those of the people's column of the same name.  Units may differ.
    """
    if people.rows < _FEWEST_ROWS:
        return
    fitted = [each for table in tables for each in _columns_of(table, people.rows)]
    known = list(_columns_of_people(people)) if fitted else []
    for each in fitted[:_MOST_COLUMNS]:
        same = [other for other in known if other.name == each.name and each.name is not None]
        if sentence := _of_order(each, fitted, known) or _of_persons(each, same, people.rows):
            warn(sentence)
            return


def _of_order(each: _Column, fitted: list[_Column], known: list[_Column]) -> str | None:
    """A sentence if a column has the values of one of the people in another order.

    Several columns of the same values, such as ranks, show nothing.
    """
    same = [other for other in known if each.has_values_of(other)]
    if len(same) != 1 or each.is_equal(same[0]) or not each.identifies_rows():
        return None
    if sum(each.has_values_of(other) for other in fitted) > 1:
        return None
    what = "A column" if each.name is None else f"Column {each.name!r}"
    return (
        f"{what} of the rows of the estimate has the values of the people's {same[0].name!r} in "
        "another order. What the estimate leaks together with the other outputs is then that of "
        "wrong persons: fit it to the people's rows in their order"
    )


def _of_persons(each: _Column, same: list[_Column], rows: int) -> str | None:
    """A sentence if a column is unrelated to the people's column of the same name."""
    for other in same:
        a, b = (mean_ranks(column.values) - 0.5 * rows for column in (each, other))
        correlation = float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))
        if abs(correlation) * np.sqrt(rows - 1.0) < _UNRELATED:
            return (
                f"Column {each.name!r} of the rows of the estimate is unrelated to that of the "
                f"people: their ranks have a correlation of {correlation:.2f}. If the rows are "
                "those of other persons, or in another order, what the estimate leaks is that of "
                "wrong persons: fit it to the people's rows in their order"
            )
    return None


def _columns_of(table: Any, rows: int) -> Iterator[_Column]:
    """The columns of numbers of a table, an array or results; those of an array have no name."""
    if hasattr(table, "model"):  # results of statsmodels
        table = getattr(getattr(table.model, "data", None), "orig_exog", None)
    if table is None or np.shape(table)[:1] != (rows,):
        return
    names = list(getattr(table, "columns", [getattr(table, "name", None)]))
    try:
        matrix = np.asarray(table, np.float64).reshape(rows, -1)
    except (TypeError, ValueError):
        return  # some are no numbers
    if len(names) != matrix.shape[1]:
        names = [None] * matrix.shape[1]
    for name, numbers in zip(names, matrix.T, strict=True):
        if (column := _Column.of(name, numbers)) is not None:
            yield column


def _columns_of_people(people: People) -> Iterator[_Column]:
    for name, factor in each_factor(people.frame, people.names[:_MOST_COLUMNS], argument="people"):
        levels = numeric_levels(factor)
        if levels is None and all(isinstance(value, (int, float)) for value in factor.levels):
            levels = np.array(factor.levels, np.float64)  # of a dict of lists
        if levels is not None and not factor.n_missing:
            column = _Column.of(name, levels[factor.codes].astype(np.float64))
            if column is not None:
                yield column
