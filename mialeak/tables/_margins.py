"""What publishing margins, counts by a few of the columns at a time, leaks about each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, FloatArray, as_count, as_share, invalid
from mialeak._columns import Factor
from mialeak._results import Bounds, Kind, Result
from mialeak.tables._cells import Cells, count_cells

__all__ = ["FEW", "Margin", "MarginReport", "RowInMargins", "as_margins", "margin_report"]

IntArray = npt.NDArray[np.int64]

#: The leakage told is that of many rows in a cell; for cells of fewer than this it is rough.
FEW = 10

#: Shares of the rows at which their leakage is told, riskiest first.
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
    few : int
        Cells of fewer than ten rows.
    """

    columns: tuple[Any, ...]
    cells: int
    least: int
    few: int

    @property
    def name(self) -> str:
        """The columns as the shell takes them."""
        return "*".join(map(str, self.columns))

    def to_dict(self) -> dict[str, Any]:
        """The columns by their names, and the counts."""
        return {**super().to_dict(), "columns": [str(name) for name in self.columns]}


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
    low, high : float
        Its leakage by the two accounts of :class:`MarginReport`.
    kind : str
        "asymptotic".
    """

    row: int
    margin: str
    count: int
    values: dict[Any, Any]
    low: float
    high: float
    kind: Kind = "asymptotic"


@dataclass(frozen=True, repr=False, eq=False)
class MarginReport(Result):
    """How much publishing the margins of a table leaks about each of its rows.

    Two accounts are given.  The lower one takes the table's own frequencies for those of the
    population.  The higher one takes, for each row, the frequencies of the others; a row with a
    cell of its own, in which by these nobody could be, leaks 1.  The two agree for rows all of
    whose cells hold many rows.

    Attributes
    ----------
    margins : tuple of Margin
    rows : int
        Rows counted.
    n : int
        Rows of the release in question.
    row_cells : (table rows,) ndarray of int64
        The cell of each row in the table of all columns, -1 for a dropped row.
    cell_leakage : Bounds
        Leakage of a row in each of those cells, ``(cells,)``, by the two accounts.
    kind : str
        "asymptotic": the limit for many rows in every cell.
    """

    margins: tuple[Margin, ...]
    rows: int
    n: int
    row_cells: IntArray
    cell_leakage: Bounds
    _cells: _Cells = field(repr=False)
    kind: Kind = "asymptotic"

    @property
    def n_counts(self) -> int:
        """Number of counts published."""
        return sum(margin.cells for margin in self.margins)

    @property
    def average(self) -> Bounds:
        """Leakage of a random row, by the two accounts."""
        low, high = (float(self._cells.share @ end) for end in self._ends)
        return Bounds(low, high, kind=self.kind)

    @property
    def highest(self) -> Bounds:
        """Leakage of the riskiest row, by the two accounts."""
        low, high = (float(end.max()) for end in self._ends)
        return Bounds(low, high, kind=self.kind)

    @property
    def row_leakage(self) -> Bounds:
        """Leakage of each row, ``(table rows,)``, by the two accounts; NaN for a dropped row."""
        dropped = self.row_cells < 0
        low, high = (np.where(dropped, np.nan, end[self.row_cells]) for end in self._ends)
        return Bounds(low, high, kind=self.kind)

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.cell_leakage.lower), np.asarray(self.cell_leakage.upper)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the numbers rest on, a sentence each."""
        found = ["Asymptotic: the limit for many rows in every cell."]
        few = sum(margin.few for margin in self.margins)
        if few:
            found.append(
                f"{few:,} of the {self.n_counts:,} cells hold fewer than {FEW} rows: what those "
                "leak is known roughly."
            )
        return tuple(found)

    def distribution(self) -> list[dict[str, float]]:
        """Shares of the rows, and what these leak at least by the two accounts."""
        found = [{"share": share} for share in _SHARES]
        for name, end in zip(("low", "high"), self._ends, strict=True):
            order = np.argsort(-end, kind="stable")
            places = np.searchsorted(np.cumsum(self._cells.share[order]), _SHARES)
            for each, place in zip(found, places, strict=True):
                each[name] = float(end[order[min(place, end.size - 1)]])
        return found

    def average_at(self, n: int) -> float:
        """Leakage of a random row by a release of `n` rows.

        The population is taken to have the table's own frequencies.
        """
        n = as_count(n, "n", least=2)
        return float(self._cells.share @ _advantage(self._cells.squares / n))

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
        low, high = 1, 2
        while self.average_at(high) > leakage:
            if high == MAX_COUNT:
                invalid("leakage", "be what at most 2**53 rows leak", value=leakage)
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.average_at(middle) > leakage else (low, middle)
        return high

    def riskiest(self, top: int | None = 10) -> tuple[RowInMargins, ...]:
        """The `top` rows that leak most, by the higher account, then the lower, then in order."""
        top = self.rows if top is None else as_count(top, "top")
        rows = np.flatnonzero(self.row_cells >= 0)
        low, high = (end[self.row_cells[rows]] for end in self._ends)
        return tuple(self._row(int(row)) for row in rows[np.lexsort((-low, -high))[:top]])

    def _row(self, row: int) -> RowInMargins:
        cell = int(self.row_cells[row])
        counts = self._cells.counts[:, cell]
        rarest = int(np.argmin(counts))
        return RowInMargins(
            row=row,
            margin=self.margins[rarest].name,
            count=int(counts[rarest]),
            values={
                name: factor.value(int(factor.codes[cell]))
                for name, factor in self._cells.values.items()
            },
            low=float(self._ends[0][cell]),
            high=float(self._ends[1][cell]),
        )

    def to_dict(self, *, top: int | None = 10) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` rows at risk, and not the arrays."""
        return {
            "kind": self.kind,
            "margins": [margin.to_dict() for margin in self.margins],
            "n_counts": self.n_counts,
            "average": self.average.to_dict(),
            "highest": self.highest.to_dict(),
            "distribution": self.distribution(),
            "caveats": list(self.caveats),
            "riskiest": [row.to_dict() for row in self.riskiest(top)],
        }

    def __repr__(self) -> str:
        margins = ", ".join(margin.name for margin in self.margins)
        low, high = self.average.lower, self.average.upper
        return f"MarginReport({margins}; average={low:.4g} to {high:.4g}, n={self.n})"


@dataclass(frozen=True)
class _Cells:
    """The cells of the table of all columns: what the margins say about each.

    `share` of the rows, `squares` (n times the leakage score by the table's own frequencies),
    `counts` of the cell of each margin that it lies in, ``(margins, cells)``, and its values.
    """

    share: FloatArray
    squares: FloatArray
    counts: IntArray
    values: dict[Any, Factor]


def as_margins(margins: Any, columns: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    """The columns of each margin; those must be among `columns`, unless that is None."""
    if not isinstance(margins, Iterable):
        rule = "be a sequence of columns and tuples of columns"
        invalid("margins", rule, value=margins, error=TypeError)
    given = [margins] if isinstance(margins, str) else list(margins)
    found = [tuple(each) if isinstance(each, (list, tuple)) else (each,) for each in given]
    if not found:
        invalid("margins", "name at least one margin")
    for place, margin in enumerate(found):
        if not margin:
            invalid("margins", "name at least one column each", index=place, value=margin)
        if len(set(margin)) < len(margin):
            invalid("margins", "name a column once each", index=place, value=margin)
        for name in margin:
            if columns is not None and name not in columns:
                invalid("margins", "name columns that are chosen", index=place, value=name)
    return found


def margin_report(
    margins: Sequence[tuple[Any, ...]],
    codes: dict[Any, tuple[npt.NDArray[Any], int]],
    cells: Cells,
    values: dict[Any, Factor],
    *,
    row_cells: IntArray,
    n: int,
) -> MarginReport:
    """The report on the margins of a table whose columns are `codes` and whose cells `cells`."""
    from mialeak.means import margin_leakage_scores
    from mialeak.means._rows import downdated

    rows = len(cells.of_row)
    if rows < 3:
        invalid("frame", f"have at least 3 rows for margins, not {rows}")
    place = {name: k for k, name in enumerate(codes)}
    found, counts = [], []
    for names in margins:
        own = count_cells([codes[name] for name in names], rows)
        few = int(np.count_nonzero(own.counts < FEW))
        found.append(Margin(names, len(own.counts), int(own.counts.min()), few))
        counts.append(own.counts[own.of_row[cells.first_row]])
    table = np.stack([column for column, _ in codes.values()], axis=1)
    indices = [[place[name] for name in names] for names in margins]
    scores = margin_leakage_scores(table, indices, leave_one_out=False)[cells.first_row]
    squares = rows * scores
    # The scatter over n - 2, without the row: what leave_one_out=True would find, without its cost.
    others = downdated(squares * ((rows - 2.0) / rows), rows)
    low, high = (_advantage(each * (rows / n)) for each in (scores, others))
    return MarginReport(
        margins=tuple(found),
        rows=rows,
        n=n,
        row_cells=row_cells,
        cell_leakage=Bounds(low, np.maximum(low, high), kind="asymptotic"),
        _cells=_Cells(cells.counts / rows, squares, np.stack(counts), values),
    )


def _advantage(scores: FloatArray) -> FloatArray:
    from mialeak.tradeoff import GaussianTradeOff

    return np.asarray(GaussianTradeOff(np.sqrt(scores)).advantage)
