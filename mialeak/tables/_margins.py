"""What publishing margins, counts by a few of the columns at a time, leaks about each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_share
from mialeak._cells import of_rows
from mialeak._columns import Factor
from mialeak._numerics.rows_needed import rows_needed
from mialeak._results import Bounds, Kind, Result
from mialeak.tables._margin_cells import SMALL, MarginCells

__all__ = ["Margin", "MarginAccount", "MarginLeakage", "MarginReport", "RowInMargins"]

IntArray = npt.NDArray[np.int64]

#: Shares of the rows at which their leakage is reported, riskiest first.
_SHARES = (0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True, repr=False)
class Margin(Result):
    """One of the published tables of counts.

    Attributes
    ----------
    columns : tuple
        What the rows are counted by.
    cells : int
        Distinct cells.
    least : int
        Rows in the smallest of them.
    small : int
        Cells in which a release of n rows expects fewer than ten.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> margin = table_leakage(table, margins=["sex", "age"]).margins.margins[1]
    >>> margin.name, margin.cells, margin.least
    ('age', 3, 400)
    """

    columns: tuple[Any, ...]
    cells: int
    least: int
    small: int

    @property
    def name(self) -> str:
        """The columns as the shell takes them."""
        return "*".join(map(str, self.columns))

    def to_dict(self) -> dict[str, Any]:
        """The columns by their names, and the counts."""
        return {**super().to_dict(), "columns": [str(name) for name in self.columns]}


@dataclass(frozen=True, repr=False)
class MarginLeakage(Result):
    """A leakage of margins, and two numbers that enclose it.

    Attributes
    ----------
    low, value, high : float
        The leakage is between `low` and `high`: for the population, with the confidence of the
        report; for given frequencies, always.  `value` is the leakage itself if `kind` is "exact",
        otherwise the number between the two that `kind` describes.
    kind : str
        "exact"; "asymptotic", with the law of the rarest count and the limit for many rows of all
        others; "bound", where that is outside and `value` is the end that it is beyond; "estimate"
        for the population.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> average = table_leakage(table, margins=["sex", "age"]).margins.plug_in.average
    >>> f"{average.value:.4f}, certainly between {average.low:.4f} and {average.high:.4f}"
    '0.0199, certainly between 0.0163 and 0.0257'
    """

    low: float
    value: float
    high: float
    kind: Kind


@dataclass(frozen=True, repr=False)
class RowInMargins(Result):
    """A row that the margins put at risk.

    Attributes
    ----------
    row : int
        Its place in the table, counted from 0.
    margin : str
        The margin in which its cell is smallest.
    count : int
        Rows in that cell, itself included.
    values : dict
        Its value in each of the columns; None where missing.
    population, plug_in : MarginLeakage
        Its leakage for the population, and if the table's own frequencies were the population.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> row = table_leakage(table, margins=["sex", "age"]).margins.riskiest(1)[0]
    >>> row.row, row.margin, row.count
    (0, 'age', 400)
    """

    row: int
    margin: str
    count: int
    values: dict[Any, Any]
    population: MarginLeakage
    plug_in: MarginLeakage
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False, eq=False)
class MarginAccount(Result):
    """What the margins leak about each row, by one account of the population.

    Attributes
    ----------
    average : MarginLeakage
        Leakage of a random row.
    low, value, high : (cells,) ndarray
        Leakage of a row in each joint cell, as in :class:`MarginLeakage`.
    kinds : (cells,) ndarray of str
        Of each.
    kind : str
        The weakest of them.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> account = table_leakage(table, margins=["sex", "age"]).margins.plug_in
    >>> f"{account.highest.value:.4f}, {account.kind}"
    '0.0199, asymptotic'
    """

    average: MarginLeakage
    low: FloatArray
    value: FloatArray
    high: FloatArray
    kinds: npt.NDArray[np.str_]
    kind: Kind

    @property
    def highest(self) -> MarginLeakage:
        """Leakage of the riskiest row."""
        low, value, high = (float(end.max()) for end in (self.low, self.value, self.high))
        kind = "exact" if self.average.kind == "exact" else self.kind
        return MarginLeakage(low, value, high, kind)

    def of_cell(self, cell: int) -> MarginLeakage:
        """Leakage of a row in a joint cell."""
        low, value, high = (float(end[cell]) for end in (self.low, self.value, self.high))
        return MarginLeakage(low, value, high, str(self.kinds[cell]))  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False, eq=False)
class MarginReport(Result):
    """How much publishing the margins of a table leaks about each of its rows.

    Two accounts are given, each with two numbers between which the leakage is.  That of the
    *population* that the rows came from is known through the table only: its numbers are estimates,
    by the laws fitted to the counts of each margin.
    The *plug-in* account takes the table's own frequencies for those of the population, and holds
    for that.

    Attributes
    ----------
    margins : tuple of Margin
    rows : int
        Rows counted.
    n : int
        Rows of the release in question.
    confidence : float
        With which the numbers for the population hold: each by itself, that of a row and that of
        the average.
    independent : bool
        Whether the columns of different margins were taken to be independent.
    row_cells : (table rows,) ndarray of int64
        The cell of each row in the table of all columns, -1 for a dropped row.
    population, plug_in : MarginAccount
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> margins = table_leakage(table, margins=["sex", "age"]).margins
    >>> [margin.name for margin in margins.margins], margins.is_exact
    (['sex', 'age'], False)
    """

    margins: tuple[Margin, ...]
    rows: int
    n: int
    confidence: float
    independent: bool
    row_cells: IntArray
    population: MarginAccount
    plug_in: MarginAccount
    _cells: MarginCells = field(repr=False)
    _values: dict[Any, Factor] = field(repr=False)
    kind: Kind = "estimate"

    @property
    def n_counts(self) -> int:
        """Number of counts published."""
        return sum(margin.cells for margin in self.margins)

    @property
    def average(self) -> MarginLeakage:
        """Leakage of a random row, for the population."""
        return self.population.average

    @property
    def highest(self) -> MarginLeakage:
        """Leakage of the riskiest row, for the population."""
        return self.population.highest

    @property
    def cell_leakage(self) -> Bounds:
        """Range of the leakage of a row in each joint cell, ``(cells,)``, for the population."""
        return Bounds(self.population.low, self.population.high, kind="estimate")

    @property
    def row_leakage(self) -> Bounds:
        """Range of the leakage of each row, for the population; NaN for a dropped row."""
        ends = (self.population.low, self.population.high)
        low, high = (of_rows(self.row_cells, end) for end in ends)
        return Bounds(low, high, kind="estimate")

    @property
    def is_exact(self) -> bool:
        """Whether the plug-in account is the leakage itself and not an approximation."""
        return self.plug_in.average.kind == "exact"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the numbers rest on, a sentence each."""
        sentences = []
        if self.independent:
            sentences.append(
                "The columns of different margins are taken to be independent: exact if they are."
            )
        elif not self.is_exact:
            sentences.append(
                "Certified: at least what the single margin with the rarest cell leaks, at most "
                "what the joint counts of all these columns leak.  Between them, the law of the "
                "rarest count and the limit for many rows of the others (asymptotic)."
            )
            small = sum(margin.small for margin in self.margins)
            if small:
                sentences.append(
                    f"In {small:,} of the {self.n_counts:,} cells such a release expects fewer "
                    f"than {SMALL} rows: there the average may be 8 % too low, or for the "
                    "population 10 % too low or too high; go by the upper end."
                )
        return tuple(sentences)

    def distribution(self) -> list[dict[str, float]]:
        """Shares of the rows, and what these leak at least, by both accounts."""
        points = [{"share": share} for share in _SHARES]
        account = self.population
        columns = {
            "low": account.low,
            "value": account.value,
            "high": account.high,
            "plug_in": self.plug_in.value,
        }
        for name, end in columns.items():
            order = np.argsort(-end, kind="stable")
            places = np.searchsorted(np.cumsum(self._cells.share[order]), _SHARES)
            for each, place in zip(points, places, strict=True):
                each[name] = float(end[order[min(place, end.size - 1)]])
        return points

    def average_at(self, n: int) -> float:
        """Leakage of a random row by a release of `n` rows: ``plug_in.average.value`` there."""
        n = as_count(n, "n", least=2)
        return float(self._cells.share @ self._cells.by_frequencies(n)[1])

    def samples_for(self, leakage: float) -> int:
        """Smallest number of rows whose margins leak at most `leakage` on average.

        The population is taken to have the table's own frequencies.

        Parameters
        ----------
        leakage : float
            Strictly between 0 and 1.

        Raises
        ------
        ValueError
            Outside that range, or if 2**53 rows still leak more.
        """
        leakage = as_share(leakage, "leakage")
        # Leakage falls nearly as 1 / sqrt(n).
        near = self.rows * min(self.plug_in.average.value / leakage, 1e8) ** 2
        return rows_needed(self.average_at, leakage, near=near, least=2)

    def riskiest(self, top: int | None = 10) -> tuple[RowInMargins, ...]:
        """The `top` rows that leak most for the population, then by plug-in, then in order."""
        top = self.rows if top is None else as_count(top, "top")
        rows = np.flatnonzero(self.row_cells >= 0)
        value, plug_in = (
            each.value[self.row_cells[rows]] for each in (self.population, self.plug_in)
        )
        return tuple(self._row(int(row)) for row in rows[np.lexsort((-plug_in, -value))[:top]])

    def _row(self, row: int) -> RowInMargins:
        cell = int(self.row_cells[row])
        counts = self._cells.counts[:, cell]
        rarest = int(np.argmin(counts))
        return RowInMargins(
            row=row,
            margin=self.margins[rarest].name,
            count=int(counts[rarest]),
            values={
                name: factor.value(int(factor.codes[cell])) for name, factor in self._values.items()
            },
            population=self.population.of_cell(cell),
            plug_in=self.plug_in.of_cell(cell),
        )

    def to_dict(self, *, top: int | None = 10) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` rows at risk, and not the arrays."""
        return {
            "kind": self.kind,
            "margins": [margin.to_dict() for margin in self.margins],
            "n_counts": self.n_counts,
            "confidence": self.confidence,
            "independent": self.independent,
            "population": _ends(self.population),
            "plug_in": _ends(self.plug_in),
            "distribution": self.distribution(),
            "caveats": list(self.caveats),
            "riskiest": [row.to_dict() for row in self.riskiest(top)],
        }

    def __repr__(self) -> str:
        margins = ", ".join(margin.name for margin in self.margins)
        average = self.average
        return (
            f"MarginReport({margins}; average={average.value:.4g} "
            f"[{average.low:.4g}, {average.high:.4g}], n={self.n})"
        )


def _ends(account: MarginAccount) -> dict[str, Any]:
    return {"average": account.average.to_dict(), "highest": account.highest.to_dict()}
