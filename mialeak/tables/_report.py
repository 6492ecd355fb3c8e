"""The report on a table: two numbers, each for a question, and the rows that are most at risk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, unsupported
from mialeak._cells import of_rows
from mialeak._columns import Factor
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Bounds, Estimate, Kind
from mialeak.discrete import min_samples
from mialeak.tables._by_column import ColumnEffect, column_effects, is_shown
from mialeak.tables._document import CellSize, RowAtRisk, SampleSize, assumed, counted, document
from mialeak.tables._estimate import (
    TESTED_RATIO,
    TESTED_ROWS,
    atom_leakage_range,
    estimated_min_samples,
    is_far,
    min_samples_interval,
)
from mialeak.tables._margin_report import document_of_margins
from mialeak.tables._margins import MarginReport
from mialeak.tables._persons import PersonsReport, document_of_persons
from mialeak.tables._pictures import panels_of
from mialeak.tables._protections import ProtectedTable, Protections, protected_tables
from mialeak.tables._recoding import Recoding
from mialeak.tables._register_report import PanelReport, PopulationReport, document_of_population
from mialeak.tables._sampling import Sampling
from mialeak.tables._secrets import SecretReport
from mialeak.tables._sources import Source

__all__ = ["CellSize", "LaterCautions", "RowAtRisk", "SampleSize", "TableReport"]

IntArray = npt.NDArray[np.int64]
#: Computes cautions that cost more than the report, when they are asked for.
LaterCautions = Callable[[], list[str]]

#: Smallest sizes of the classes of :attr:`TableReport.cell_sizes`.  Statistical offices suppress
#: below 3, 5 or 10.
_CLASSES = (1, 2, 3, 5, 10, 100)


@dataclass(frozen=True, repr=False, eq=False)
class TableReport(Report):
    """How much publishing the counts of a table leaks about its rows.

    ``print(report)`` writes it out for people, :meth:`to_dict` for machines; a notebook shows it,
    :meth:`plot` draws it, :meth:`to_html` writes a page, :meth:`to_frame` lists the cells.

    Attributes
    ----------
    estimate : Estimate
        The leakage for the population that the rows came from: value, interval, and beside it
        ``plug_in``.  This is the number to go by.
    columns : tuple
        The columns whose joint cells were counted.
    rows : int
        Rows counted.
    n : int
        Rows of the release in question: `rows`, unless another number was asked about.
    row_cells : (table rows,) ndarray of int64
        The cell of each row of the table, -1 for a dropped one.  Cells are numbered in the order
        in which the rows first show them.
    cell_counts : (cells,) ndarray of int64
        Rows in each cell.
    rows_dropped : int
        Rows left out because a value is missing (``na="drop"``).
    rows_missing : int
        Rows counted though a value is missing (``na="category"``).
    margins : MarginReport or None
        What leaks if only margins are published, not all joint counts; then the number to go by.
    population : PopulationReport or None
        The exact leakage, if the register that the rows were sampled from is at hand; then the
        number to go by.
    panel : PanelReport or None
        The leakage to an attacker who knows the population by a panel alone.
    persons : PersonsReport or None
        The leakage of persons who have several rows; then the number to go by.
    people : int or None
        Of the population that the rows were drawn from without replacement, if only their number is
        known; the estimates are then for that.
    secret : SecretReport or None
        How well a secret of persons in the table is guessed.
    recoding : Recoding or None
        How columns were made coarser, with the values of this table that were kept.
    counts : object
        Name of the column that held the counts, if the table was already counted: its rows are
        then cells, and `rows` counts persons.  None where a row is a person.
    cells_empty : int
        Rows of a table of counts with a count of 0; their cells take no part.
    columns_stripped : tuple
        Columns of a file in which values had spaces around them, which were removed.
    source : Source or None
        The table, if its engine counted it or it was counted by blocks: `row_cells` has an entry
        for each cell that came, and `rows` counts persons.  None for a table in memory.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> report = table_leakage(table)
    >>> f"{report.estimate.value:.3f}, for the table's own frequencies {report.plug_in:.3f}"
    "0.026, for the table's own frequencies 0.026"
    """

    estimate: Estimate
    columns: tuple[Any, ...]
    rows: int
    n: int
    row_cells: IntArray
    cell_counts: IntArray
    rows_dropped: int
    rows_missing: int
    margins: MarginReport | None
    population: PopulationReport | None
    panel: PanelReport | None
    persons: PersonsReport | None
    people: int | None
    secret: SecretReport | None
    recoding: Recoding | None
    counts: Any
    cells_empty: int
    columns_stripped: tuple[Any, ...]
    _stated: tuple[str | LaterCautions, ...] = field(repr=False)
    source: Source | None = field(repr=False)
    _cell_values: tuple[Factor, ...] = field(repr=False)
    kind: Kind = "estimate"
    _protect: Protections = field(default=Protections({}), repr=False)

    _title = "What publishing these counts leaks"

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What was probably misunderstood, with the argument that cures it; stated first."""
        parts = [[each] if isinstance(each, str) else each() for each in self._stated]
        return tuple(itertools.chain.from_iterable(parts))

    @property
    def plug_in(self) -> float:
        """The leakage if the table's own frequencies were the population; exact for that."""
        return self.estimate.plug_in

    @property
    def n_cells(self) -> int:
        """Number of distinct cells in the table."""
        return len(self.cell_counts)

    @property
    def n_unique(self) -> int:
        """Number of rows that are alone in their cell."""
        return int(np.count_nonzero(self.cell_counts == 1))

    @property
    def by_cell(self) -> bool:
        """Whether a row of the table is a cell: it was counted before, by its engine or blocks."""
        return self.counts is not None or self.source is not None

    def fetch(self, top: int = 10) -> Any:
        """The rows in the cells of :meth:`riskiest`, with all columns, from a table elsewhere.

        Parameters
        ----------
        top : int
            Cells.

        Returns
        -------
        frame
            A lazy frame or a relation of the table's own engine, which no one has computed yet;
            of a file, a folder or a dataset a dict of columns.

        Raises
        ------
        ValueError
            If the table is in memory, or an Arrow stream, which is read once.
        """
        if self.source is None:
            unsupported("fetch", "for a table in memory", "its rows are at hand", "See riskiest()")
        cells = [row.cell for row in self.riskiest(top)]
        return self.source.rows_in(np.flatnonzero(np.isin(self.row_cells, cells)))

    @cached_property
    def protections(self) -> tuple[ProtectedTable, ...]:
        """What leaks if the counts are protected: first as they are; empty if nothing is compared.

        One for each of the arguments `protect` and `coarsen` of :func:`table_leakage`.
        """
        return protected_tables(self, self._protect)

    @cached_property
    def by_column(self) -> tuple[ColumnEffect, ...]:
        """What leaks without each column, and without the pairs of columns that matter.

        Least leakage first; empty for a single column and with margins.  A pair is listed if the
        table without both leaks at most half of what it leaks without the better of the two.
        """
        return column_effects(self)

    def cell_values(self, cell: int) -> dict[Any, Any]:
        """The values of the columns in `cell`; None where missing."""
        return {
            name: factor.value(int(factor.codes[cell]))
            for name, factor in zip(self.columns, self._cell_values, strict=True)
        }

    @property
    def cell_leakage(self) -> Bounds:
        """Range of the leakage of a row in each cell, ``(cells,)``.

        The probability of a cell is known from its count only within an interval; the range is
        what the leakage can be for the probabilities in it.  A cell seen once may be common or
        unique: its range goes up to 1, or nearly.
        """
        return Bounds(*self._cell_range, kind="estimate")

    @property
    def row_leakage(self) -> Bounds:
        """Range of the leakage of each row, ``(table rows,)``; NaN for a dropped row."""
        lower, upper = (of_rows(self.row_cells, end) for end in self._cell_range)
        return Bounds(lower, upper, kind="estimate")

    @cached_property
    def _cell_range(self) -> tuple[FloatArray, FloatArray]:
        sizes, place = np.unique(self.cell_counts, return_inverse=True)
        confidence, sampling = self.estimate.confidence, Sampling(self.people)
        lower, upper = atom_leakage_range(sizes, self.rows, self.n, confidence, sampling=sampling)
        return lower[place], upper[place]

    @cached_property
    def cell_sizes(self) -> tuple[CellSize, ...]:
        """The cells by the number of rows in them: 1, 2, 3-4, 5-9, 10-99, 100 and more."""
        classes = np.searchsorted(_CLASSES, self.cell_counts, side="right")
        return tuple(self._size_class(classes == k) for k in np.unique(classes))

    def _size_class(self, cells: npt.NDArray[np.bool_]) -> CellSize:
        counts = self.cell_counts[cells]
        lower, upper = self._cell_range
        return CellSize(
            least=int(counts.min()),
            most=int(counts.max()),
            cells=len(counts),
            rows=int(counts.sum()),
            low=float(lower[cells].min()),
            high=float(upper[cells].max()),
        )

    def riskiest(self, top: int | None = 10) -> tuple[RowAtRisk, ...]:
        """The rows in the rarest cells, at most `top` of them, rarest first and then in order.

        Of a table that was already counted the rows are cells, the first row of each.  Rows in
        cells of the same size are equally at risk as far as the table shows.
        """
        top = self.rows if top is None else as_count(top, "top")
        sizes, cells = np.unique(self.cell_counts, return_counts=True)
        rows_of = np.ones_like(sizes) if self.by_cell else sizes
        # The smallest size up to which there are rows enough; only those rows are sorted.
        last = min(int(np.searchsorted(np.cumsum(rows_of * cells), top)), len(sizes) - 1)
        rows = np.flatnonzero(
            (self.row_cells >= 0) & (self.cell_counts <= sizes[last])[self.row_cells]
        )
        if self.by_cell:  # rows that are added to one cell name it once
            rows = rows[np.sort(np.unique(self.row_cells[rows], return_index=True)[1])]
        order = np.argsort(self.cell_counts[self.row_cells[rows]], kind="stable")
        return tuple(self._row_at_risk(int(row)) for row in rows[order[:top]])

    def _row_at_risk(self, row: int) -> RowAtRisk:
        cell = int(self.row_cells[row])
        lower, upper = self._cell_range
        return RowAtRisk(
            row=row,
            cell=cell,
            count=int(self.cell_counts[cell]),
            values=self.cell_values(cell),
            low=float(lower[cell]),
            high=float(upper[cell]),
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the answer takes for granted, each with the argument for a table that differs."""
        return assumed(self)

    @property
    def caveats(self) -> tuple[str, ...]:
        """The cautions, and why the interval may be worse than its level; often none."""
        sentences = list(self.cautions)
        if self.rows < TESTED_ROWS:
            sentences.append(
                f"No interval is claimed below {TESTED_ROWS:,} rows: the range is a rough one."
            )
        if self.people is not None and self.n != self.rows:
            sentences.append(
                "No interval is claimed for other releases than the table, of N people."
            )
        elif is_far(self.n, self.rows):
            sentences.append(
                f"No interval is claimed for releases over {TESTED_RATIO} times larger or smaller "
                "than the table."
            )
        return tuple(sentences)

    def samples_for(self, leakage: float) -> SampleSize:
        """Smallest number of rows with which a release leaks at most `leakage`.

        Parameters
        ----------
        leakage : float
            Strictly between 0 and 1.

        Raises
        ------
        ValueError
            Outside that range, or if 2**53 rows still leak more; if the rows are a sample of a
            known number of people, whose leakage may rise with the rows.
        """
        if self.people is not None:
            why = "what a sample of N people leaks may rise with its rows"
            unsupported("samples_for", "with a known number of people", why, "Try several n")
        population = estimated_min_samples(self.cell_counts, leakage)
        low, high = min_samples_interval(
            self.cell_counts, leakage, self.estimate.confidence, population
        )
        return SampleSize(
            leakage=leakage,
            population=population,
            low=low,
            high=high,
            plug_in=min_samples(self.cell_counts / self.rows, leakage),
            rough=population > TESTED_RATIO * self.rows,
        )

    def document(
        self, *, leakage: float = 0.01, top: int = 10, show_rows: bool = False
    ) -> Document:
        """The content of the report, without a layout.

        Parameters
        ----------
        leakage : float
            The leakage for which :meth:`samples_for` is reported.
        top : int
            Rows at risk to list.
        show_rows : bool
            Whether to show the values of these rows, which are those of persons.
        """
        rows: Any = {"top": top, "show_rows": show_rows}
        if self.population is not None:
            content = document_of_population(self, self.population, **rows)
        elif self.persons is not None:
            content = document_of_persons(self, self.persons, [counted(self)], **rows)
        elif self.margins is not None:
            content = document_of_margins(self, self.margins, leakage=leakage, **rows)
        else:
            content = document(self, leakage=leakage, **rows)
        return replace(content, cautions=self.cautions, assumed=self.assumed)

    def panels(self, *, leakage: float = 0.01) -> Sequence[Panel]:
        """What :meth:`plot` draws, with a line at a `leakage`."""
        return panels_of(self, leakage)

    def _table(self) -> dict[str, Any]:
        """The cells: their values, rows, and the range of their leakage."""
        values = {
            str(name): [factor.value(code) for code in factor.codes.tolist()]
            for name, factor in zip(self.columns, self._cell_values, strict=True)
        }
        cells = {**values, "rows": self.cell_counts}
        if self.population is not None:
            people = {"people": self.population.cell_people}
            return {**cells, **people, "leakage": self.population.cell_leakage}
        low, high = self._cell_range
        return {**cells, "leakage_low": low, "leakage_high": high}

    def to_dict(self, *, top: int | None = 10, show_rows: bool = False) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` rows at risk, and not the arrays.

        The values of these rows are None unless `show_rows`.
        """
        margins = None if self.margins is None else self.margins.to_dict(top=top)
        population = None if self.population is None else self.population.to_dict(top=top)
        persons = None if self.persons is None else self.persons.to_dict(top=top)
        riskiest = [row.to_dict() for row in self.riskiest(top)]
        if not show_rows:
            for row in persons["riskiest"] if persons else ():
                row["value"] = None
            for part in (margins, population):
                for row in [*riskiest, *(part["riskiest"] if part else ())]:
                    row["values"] = None
        return {
            "kind": self.kind,
            "columns": [str(name) for name in self.columns],
            "rows": self.rows,
            "rows_dropped": self.rows_dropped,
            "rows_missing": self.rows_missing,
            "n": self.n,
            "people": self.people,
            "counts": None if self.counts is None else str(self.counts),
            "counted_by": None if self.source is None else self.source.engine,
            "cells_empty": self.cells_empty,
            "columns_stripped": [str(name) for name in self.columns_stripped],
            "estimate": self.estimate.to_dict(),
            "plug_in": self.plug_in,
            "assumed": list(self.assumed),
            "caveats": list(self.caveats),
            "n_cells": self.n_cells,
            "n_unique": self.n_unique,
            "cell_sizes": [size.to_dict() for size in self.cell_sizes],
            "riskiest": riskiest,
            "margins": margins,
            "population": population,
            "panel": None if self.panel is None else self.panel.to_dict(),
            "persons": persons,
            "protections": [table.to_dict() for table in self.protections],
            "recoding": None if self.recoding is None else self.recoding.to_dict(),
            "secret": None if self.secret is None else self.secret.to_dict(),
            "by_column": [x.to_dict() for x in self.by_column] if is_shown(self) else None,
        }

    def __repr__(self) -> str:
        value, lead = self.estimate, ""
        for name in ("margins", "persons", "population"):
            if getattr(self, name) is not None:  # what the text leads with
                lead = f"{name}={getattr(self, name)!r}, "
        cautions = f", cautions={len(self.cautions)}" if self.cautions else ""
        return (
            f"TableReport({lead}estimate={value.value:.4g} [{value.low:.4g}, {value.high:.4g}], "
            f"plug_in={self.plug_in:.4g}, rows={self.rows}, n={self.n}, n_cells={self.n_cells}, "
            f"columns={self.columns!r}{cautions})"
        )
