"""What a report of a table is made of: rows at risk, cells by their size, rows needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mialeak._results import Kind, Result

__all__ = ["CellSize", "RowAtRisk", "SampleSize"]


@dataclass(frozen=True, repr=False)
class RowAtRisk(Result):
    """A row in a rare cell.

    Attributes
    ----------
    row : int
        Its place in the table, counted from 0.
    cell : int
        The number of its cell, as in ``TableReport.row_cells``.
    count : int
        Rows of the table in that cell, itself included.
    values : dict
        Its value in each of the columns; None where missing.
    low, high : float
        Range of its leakage: how well the best attack tells, from the released counts, that this
        row is among them.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> row = table_leakage(table).riskiest(1)[0]
    >>> f"row {row.row} shares its cell with {row.count - 1} others"
    'row 0 shares its cell with 199 others'
    """

    row: int
    cell: int
    count: int
    values: dict[Any, Any]
    low: float
    high: float
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False)
class CellSize(Result):
    """All cells that hold about the same number of rows.

    Attributes
    ----------
    least, most : int
        Smallest and largest number of rows in such a cell.
    cells, rows : int
        How many cells there are, and rows in them.
    low, high : float
        Range of the leakage of those rows.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> size = table_leakage(table).cell_sizes[0]
    >>> f"{size.cells} cells of {size.least} to {size.most} rows"
    '6 cells of 200 to 200 rows'
    """

    least: int
    most: int
    cells: int
    rows: int
    low: float
    high: float
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False)
class SampleSize(Result):
    """Rows a release must have for a target leakage.

    Attributes
    ----------
    leakage : float
        The target.
    population : int
        For the population the table came from: an estimate.
    low, high : int
        Rows with which the lower and the upper end of the interval of the leakage are at most the
        target.  `high` is None if no number of rows up to 2**53 will do: cells that the table
        missed may be too rare for any.
    plug_in : int
        Exact, if the table's own frequencies were the population.
    rough : bool
        Whether `population` is more than ten times the table.  How rare the rarest cells are, which
        decides it there, is more than the table can tell.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> needed = table_leakage(table).samples_for(0.01)
    >>> needed.plug_in, needed.low < needed.population < needed.high
    (7959, True)
    """

    leakage: float
    population: int
    low: int
    high: int | None
    plug_in: int
    rough: bool
    kind: Kind = "estimate"
