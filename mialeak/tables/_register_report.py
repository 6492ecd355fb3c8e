"""The report on a table whose register or panel is at hand, and its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count
from mialeak._cells import of_rows
from mialeak._columns import Factor
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import accuracy, number, percent, printable
from mialeak._results import Kind, Result
from mialeak.populations import Panel, Register
from mialeak.tables._by_column import section_of_columns
from mialeak.tables._document import compared, counted
from mialeak.tables._secrets import section_of_secret

if TYPE_CHECKING:
    from mialeak.tables._report import TableReport

__all__ = [
    "PanelReport",
    "PopulationReport",
    "RowInPopulation",
    "StratumInPopulation",
    "document_of_population",
]

IntArray = npt.NDArray[np.int64]

#: A cell of which the table holds just its share is not claimed.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class RowInPopulation(Result):
    """A row of a table whose register is at hand.

    Attributes
    ----------
    row : int
        Its place in the table, counted from 0.
    cell : int
        The number of its cell, as in ``TableReport.row_cells``.
    count : int
        Rows of the table in that cell, itself included.
    people : int
        People of the register in that cell.
    presence : float
        ``count / people``: how often a claim that one of these people is in the table is right.
    leakage : float
        Of any of these people, by the counts of a sample.
    values : dict
        Its value in each of the columns; None where missing.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> register = {"age": [30] * 6 + [41] * 3 + [52]}
    >>> report = table_leakage({"age": [30, 30, 52]}, population=register)
    >>> row = report.population.riskiest(1)[0]
    >>> row.row, row.count, row.people, row.leakage
    (2, 1, 1, 1.0)
    """

    row: int
    cell: int
    count: int
    people: int
    presence: float
    leakage: float
    values: dict[Any, Any]
    kind: Kind = "exact"


@dataclass(frozen=True, repr=False)
class StratumInPopulation(Result):
    """A stratum of a register and its sample.

    Attributes
    ----------
    value : object
        Of the column of the strata; None where missing.
    rows, people : int
        Rows of the table and people of the register in the stratum.
    leakage : float
        Of a random person of the stratum.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> register = {"town": list("aaaaaabbb"), "age": [30, 30, 30, 40, 40, 40, 30, 30, 40]}
    >>> sample = {"town": ["a", "a", "b"], "age": [30, 40, 30]}
    >>> report = table_leakage(sample, population=register, strata="town")
    >>> for stratum in report.population.strata:
    ...     print(stratum.value, stratum.rows, stratum.people, f"{stratum.leakage:.3f}")
    a 2 6 0.300
    b 1 3 0.667
    """

    value: Any
    rows: int
    people: int
    leakage: float
    kind: Kind = "exact"


class _RowsOfTable(Result):
    """The leakage of the rows of a table, by their cells; the fields are those of the reports."""

    row_cells: IntArray
    cell_counts: IntArray
    cell_leakage: FloatArray

    @property
    def average(self) -> float:
        """Leakage of a random row of the table."""
        return float(self.cell_counts @ self.cell_leakage) / int(self.cell_counts.sum())

    @property
    def highest(self) -> float:
        """Leakage of the riskiest row of the table."""
        return float(self.cell_leakage.max())

    @property
    def row_leakage(self) -> FloatArray:
        """Leakage of each row, ``(table rows,)``; NaN for a dropped row."""
        return of_rows(self.row_cells, self.cell_leakage)


@dataclass(frozen=True, repr=False, eq=False)
class PopulationReport(_RowsOfTable):
    """What the counts of a sample leak about the people of the register it was drawn from.

    The sample is drawn without replacement, each as likely as any other of its size; with `strata`
    of the sizes that the table has in each stratum.

    Attributes
    ----------
    register : Register
        People in each cell of the register.
    n : int
        Rows of the release in question.
    rows : int
        Rows of the table.
    leakage : float
        Leakage of a random person of the register: the largest of any procedure on these columns.
    row_cells : (table rows,) ndarray of int64
        The cell of each row, -1 for a dropped one, as in ``TableReport.row_cells``.
    cell_counts, cell_people : (cells,) ndarray of int64
        Rows of the table and people of the register, in each cell that the table shows.
    cell_leakage : (cells,) ndarray
        Leakage of a person in each cell that the table shows.
    cell_share : (cells,) ndarray
        Share of the people who are in the table; with strata, of the stratum of the cell.
    categories : dict
        For each column its values in the cells of the register, in the order of `register_cells`.
    register_cells : (cells of the register,) ndarray of int64
        People in each cell of the register.
    strata : tuple of StratumInPopulation
        Each stratum of the register; empty without strata.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> register = {"age": [30] * 6 + [41] * 3 + [52]}
    >>> population = table_leakage({"age": [30, 30, 52]}, population=register).population
    >>> population
    PopulationReport(leakage=0.3679, n=3, people=10)
    >>> population.k_map, population.presence_low, population.presence_high
    (1, 0.0, 1.0)
    >>> round(population.unique_share, 3), round(population.claim_right, 3)
    (0.333, 0.429)
    """

    register: Register
    n: int
    rows: int
    leakage: float
    row_cells: IntArray
    cell_counts: IntArray
    cell_people: IntArray
    cell_leakage: FloatArray
    cell_share: FloatArray
    categories: dict[Any, Factor] = field(repr=False)
    register_cells: IntArray = field(repr=False)
    _values: dict[Any, Factor] = field(repr=False)
    _prior: float | None = field(default=None, repr=False)
    strata: tuple[StratumInPopulation, ...] = ()
    kind: Kind = "exact"

    @property
    def people(self) -> int:
        """N, the people of the register."""
        return self.register.people

    @property
    def k_map(self) -> int:
        """Fewest people of the register in a cell that the table shows."""
        return int(self.cell_people.min())

    @property
    def presence_low(self) -> float:
        """Delta-presence: the least share of a register's cell that is in the table."""
        shown = np.count_nonzero(self.cell_counts)
        if shown < int(self.register.cells_per_size.sum()):
            return 0.0
        return float((self.cell_counts / self.cell_people).min())

    @property
    def presence_high(self) -> float:
        """Delta-presence: the largest share of a register's cell that is in the table."""
        return float((self.cell_counts / self.cell_people).max())

    @property
    def unique_share(self) -> float:
        """Share of the table's rows that are alone in their cell of the register."""
        return float(np.count_nonzero(self.cell_people == 1)) / self.rows

    @property
    def sampled_share(self) -> float:
        """Share of the register's people who are in the table."""
        return self.rows / self.people

    @property
    def prior(self) -> float:
        """The probability that a person is in the table, before it is seen.

        As given to :func:`table_leakage`; by default :attr:`sampled_share`.
        """
        return self.sampled_share if self._prior is None else self._prior

    @property
    def claim_right(self) -> float:
        """How often a claim "this person is in the table" is right, at the :attr:`prior`.

        It is made of everyone in a cell of which the table holds a larger share than of all people,
        or of the people of its stratum; the prior itself if there is no such cell.  With another
        prior than the table's own, those in the table and those out of it weigh accordingly.
        """
        rows, people = self.cell_counts.astype(np.float64), self.cell_people.astype(np.float64)
        claimed = rows > self.cell_share * people * (1.0 + _ROUNDING)
        if not claimed.any():
            return self.prior
        rows, others = rows[claimed], (people - rows)[claimed]
        if self._prior is not None:
            rows = rows * (self._prior / self.cell_share[claimed])
            others = others * ((1.0 - self._prior) / (1.0 - self.cell_share[claimed]))
        return float(rows.sum() / (rows.sum() + others.sum()))

    def riskiest(self, top: int | None = 10) -> tuple[RowInPopulation, ...]:
        """The `top` rows that leak most, then those of most :attr:`presence`, then in order."""
        top = self.rows if top is None else as_count(top, "top")
        rows = np.flatnonzero(self.row_cells >= 0)
        cells = self.row_cells[rows]
        presence = (self.cell_counts / self.cell_people)[cells]
        order = np.lexsort((-presence, -self.cell_leakage[cells]))
        return tuple(self._row(int(row)) for row in rows[order[:top]])

    def _row(self, row: int) -> RowInPopulation:
        cell = int(self.row_cells[row])
        count, people = int(self.cell_counts[cell]), int(self.cell_people[cell])
        return RowInPopulation(
            row=row,
            cell=cell,
            count=count,
            people=people,
            presence=count / people,
            leakage=float(self.cell_leakage[cell]),
            values={name: each.value(int(each.codes[cell])) for name, each in self._values.items()},
        )

    def to_dict(self, *, top: int | None = 10) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` rows at risk, and not the arrays."""
        names = ("people", "leakage", "average", "highest", "k_map", "presence_low")
        more = ("presence_high", "unique_share", "sampled_share", "prior", "claim_right")
        return {
            "kind": self.kind,
            **{name: getattr(self, name) for name in names + more},
            "strata": [stratum.to_dict() for stratum in self.strata],
            "riskiest": [row.to_dict() for row in self.riskiest(top)],
        }

    def __repr__(self) -> str:
        return f"PopulationReport(leakage={self.leakage:.4g}, n={self.n}, people={self.people})"


@dataclass(frozen=True, repr=False, eq=False)
class PanelReport(_RowsOfTable):
    """What the counts leak to an attacker who knows the population by a panel alone.

    The cells are those that the table or the panel shows, and their law is known to the attacker by
    the panel and Jeffreys' prior, 1/2 for each: see :class:`mialeak.populations.Panel`.

    Attributes
    ----------
    panel : Panel
        Rows of the panel in each cell.
    n : int
        Rows of the release in question.
    leakage : float
        Leakage of a random person of the population, on average over what is unknown of it.
    row_cells : (table rows,) ndarray of int64
        The cell of each row, -1 for a dropped one, as in ``TableReport.row_cells``.
    cell_counts, cell_panel : (cells,) ndarray of int64
        Rows of the table and of the panel, in each cell that the table shows.
    cell_leakage : (cells,) ndarray
        Leakage of a person in each cell that the table shows.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> panel = {"age": [30] * 60 + [41] * 30 + [52] * 10}
    >>> table_leakage({"age": [30, 30, 52]}, panel=panel).panel
    PanelReport(leakage=0.2877, n=3, rows=100)
    """

    panel: Panel
    n: int
    leakage: float
    row_cells: IntArray
    cell_counts: IntArray
    cell_panel: IntArray
    cell_leakage: FloatArray
    kind: Kind = "exact"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON, and not the arrays."""
        return {
            "kind": self.kind,
            "rows": self.panel.rows,
            "leakage": self.leakage,
            "average": self.average,
            "highest": self.highest,
        }

    def __repr__(self) -> str:
        return f"PanelReport(leakage={self.leakage:.4g}, n={self.n}, rows={self.panel.rows})"


#: Strata listed.
_STRATA = 30


def document_of_population(
    report: TableReport, population: PopulationReport, *, top: int, show_rows: bool
) -> Document:
    """The answer, the numbers, the table and its register, rows at risk."""
    sections = [_numbers(report, population), _measures(population), counted(report)]
    if population.strata:
        sections.insert(1, _strata(population.strata))
    sections += [*section_of_secret(report), *section_of_columns(report)]
    if report.protections:
        sections.append(compared(report.protections))
    if top:
        sections.append(_riskiest(report, population.riskiest(top), show_rows))
    return Document(_answer(report, population), sections, report.cautions)


def _answer(report: TableReport, population: PopulationReport) -> str:
    release = f"these {report.n_cells:,} counts" if report.n_cells > 1 else "this count"
    if population.n != population.rows:
        release = f"such counts of {population.n:,} rows"
    value = population.leakage
    return (
        f"Publishing {release}, of a sample of the register's {population.people:,} people, leaks "
        f"{number(value)} (exact). An attacker who knows the register and sees such counts can "
        f"decide with {accuracy(value)} accuracy whether a random person of it is in the table "
        "(guessing: 50%)."
    )


def _numbers(report: TableReport, population: PopulationReport) -> Section:
    estimate = report.estimate
    span = f"{number(estimate.low)} to {number(estimate.high)}"
    numbers = [
        (number(population.leakage), "for a random person of the register (exact)"),
        (number(population.average), "for a random row of the table (exact)"),
        (number(population.highest), "for the riskiest row of the table (exact)"),
        (
            number(estimate.value),
            f"for comparison, from the table alone and an infinite population (estimate, {span})",
        ),
    ]
    return Section("Leakage", [Pairs(numbers)])


def _measures(population: PopulationReport) -> Section:
    low, high = percent(population.presence_low), percent(population.presence_high)
    prior = ""
    if population.prior != population.sampled_share:
        prior = f", if {percent(population.prior)} of those asked about are in it"
    numbers = [
        (percent(population.sampled_share), "of the register's people are in the table"),
        (
            percent(population.claim_right),
            f"right: a claim that a person is in the table, where the counts speak for it{prior}",
        ),
        (f"{population.k_map:,}", "people of the register at least in a cell shown (k-map)"),
        (f"{low} to {high}", "of a cell's people are in the table (delta-presence)"),
        (
            percent(population.unique_share),
            "of the rows are alone in their cell of the register (population uniques)",
        ),
    ]
    lines = ["The leakage is over all samples of this size, these numbers are of this table."]
    return Section("The table in its register", [Pairs(numbers), Notes(lines)])


def _strata(strata: Sequence[StratumInPopulation]) -> Section:
    header = ("rows", "people", "share", "leakage", "stratum")
    body = [
        (
            f"{each.rows:,}",
            f"{each.people:,}",
            percent(each.rows / each.people),
            number(each.leakage),
            printable(each.value),
        )
        for each in strata[:_STRATA]
    ]
    title = "Strata (exact)"
    if len(strata) > _STRATA:
        title += f", the first {_STRATA} of {len(strata):,}"
    return Section(title, [Table(header, body, left=1)])


def _riskiest(report: TableReport, rows: Sequence[RowInPopulation], show_rows: bool) -> Section:
    names = report.columns if show_rows else ()
    header = (
        "row",
        "in its cell",
        "in the register",
        "a claim is right",
        "leakage",
        *(printable(name) for name in names),
    )
    body = [
        (
            f"{row.row}",
            f"{row.count:,}",
            f"{row.people:,}",
            percent(row.presence),
            number(row.leakage),
            *(printable(row.values[name]) for name in names),
        )
        for row in rows
    ]
    thing, every = ("Cells", report.n_cells) if report.by_cell else ("Rows", report.rows)
    title = f"{thing} most at risk ({len(rows):,} of {every:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(names))])
