"""A table beside the register that it was sampled from: its exact leakage, free of any estimate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, invalid, listed
from mialeak._columns import Factor, each_factor, near
from mialeak._results import Kind, Result
from mialeak.discrete import atom_leakage, max_leakage
from mialeak.populations import Register
from mialeak.tables._cautions import cautions_of_periods, names_of
from mialeak.tables._cells import Cells, count_cells
from mialeak.tables._counts import (
    as_cell_counts,
    check_index,
    codes_of,
    count_column,
    is_count_name,
)
from mialeak.tables._recoding import Recoding, recoded
from mialeak.tables._sample import cautions_of_sample

__all__ = [
    "PopulationReport",
    "RowInPopulation",
    "check_population",
    "counts_of_table",
    "population_report",
]

IntArray = npt.NDArray[np.int64]


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


@dataclass(frozen=True, repr=False, eq=False)
class PopulationReport(Result):
    """What the counts of a sample leak about the people of the register it was drawn from.

    The sample is drawn without replacement, each as likely as any other of its size.

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
    categories : dict
        For each column its values in the cells of the register, in the order of `register_cells`.
    register_cells : (cells of the register,) ndarray of int64
        People in each cell of the register.
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
    categories: dict[Any, Factor] = field(repr=False)
    register_cells: IntArray = field(repr=False)
    _values: dict[Any, Factor] = field(repr=False)
    kind: Kind = "exact"

    @property
    def people(self) -> int:
        """N, the people of the register."""
        return self.register.people

    @property
    def average(self) -> float:
        """Leakage of a random row of the table."""
        return float(self.cell_counts @ self.cell_leakage) / self.rows

    @property
    def highest(self) -> float:
        """Leakage of the riskiest row of the table."""
        return float(self.cell_leakage.max())

    @property
    def row_leakage(self) -> FloatArray:
        """Leakage of each row, ``(table rows,)``; NaN for a dropped row."""
        return np.where(self.row_cells < 0, np.nan, self.cell_leakage[self.row_cells])

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
    def prior(self) -> float:
        """Share of the register's people who are in the table."""
        return self.rows / self.people

    @property
    def claim_right(self) -> float:
        """How often a claim "this person is in the table" is right, at the :attr:`prior`.

        It is made of everyone in a cell of which the table holds a larger share than the prior;
        the prior itself if there is no such cell.
        """
        rows, people = self.cell_counts.astype(np.float64), self.cell_people.astype(np.float64)
        claimed = rows * self.people > self.rows * people
        if not claimed.any():
            return self.prior
        return float(rows[claimed].sum() / people[claimed].sum())

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
        more = ("presence_high", "unique_share", "prior", "claim_right")
        return {
            "kind": self.kind,
            **{name: getattr(self, name) for name in names + more},
            "riskiest": [row.to_dict() for row in self.riskiest(top)],
        }

    def __repr__(self) -> str:
        return f"PopulationReport(leakage={self.leakage:.4g}, n={self.n}, people={self.people})"


def check_population(population: Any, **others: Any) -> None:
    """Refuse what has no answer beside a register, if there is one, before anything is read."""
    if population is None:
        return
    if isinstance(population, (int, float, np.number)):
        rule = "be the register as a table; from its size alone nothing exact is known"
        remedy = (
            "Pass a table of its people, or of their counts with counts='n'. Without one, leave "
            "population out: the estimate is for an endless population, close to a sample of at "
            "most 1 % of the people and too low for larger ones"
        )
        invalid("population", rule, value=population, remedy=remedy)
    if isinstance(population, Register):
        rule = "be the register as a table, not a Register, whose cells have no values"
        remedy = "Call max_leakage(population, n) for one"
        invalid("population", rule, remedy=remedy, error=TypeError)
    for name, value in others.items():
        if value is not None:
            rule = "be left out with population, which answers for the joint counts as they are"
            remedy = f"Leave out population: then {name} is answered for an endless population"
            invalid(name, rule, remedy=remedy)


def counts_of_table(frame: Any, population: Any, counts: Any) -> Any:
    """`counts` for the table itself: None if the register alone has that column."""
    if population is None or counts in names_of(frame) or counts not in names_of(population):
        return counts
    return None


def population_report(
    population: Any,
    values: dict[Any, Factor],
    cells: Cells,
    *,
    row_cells: IntArray,
    n: int | None,
    counts: Any,
    na: str,
    missing: Any,
    recoding: Recoding | None = None,
) -> tuple[PopulationReport | None, list[str]]:
    """The report for a table whose cells have `values`, sampled from the register `population`.

    None without a register.  Beside it the cautions about the register.

    Raises
    ------
    ValueError
        If the register lacks a column, has missing values and ``na="error"``, fewer people in a
        cell than the table has rows, or not more people than the release has rows.
    """
    if population is None:
        return None, []
    factors, persons = _read(population, list(values), counts, missing)
    factors, _ = recoded(factors, recoding, persons)
    places = _places(factors, persons, na)
    register, place, first = _matched(factors, persons, places, values)
    people = np.append(register, 0)[place]
    rows = int(cells.counts.sum())
    over = cells.counts > people
    if over.any():
        cell = int(np.argmax(over))
        row = int(np.argmax(row_cells == cell))
        _refuse_cell(cell, cells.counts, people, row, values, factors)
    shown = np.zeros(register.size, np.int64)
    shown[place] = cells.counts
    whole = Register(register)
    n = _size(n, rows, whole.people)
    categories = {name: Factor(each.codes[first], each.levels) for name, each in factors.items()}
    report = PopulationReport(
        register=whole,
        n=n,
        rows=rows,
        leakage=float(max_leakage(whole, n)),
        row_cells=row_cells,
        cell_counts=cells.counts,
        cell_people=people,
        cell_leakage=atom_leakage(whole, n)[place],
        categories=categories,
        register_cells=register,
        _values=values,
    )
    cautions = cautions_of_periods(population, factors, "register")
    return report, cautions + cautions_of_sample(categories, register, shown)


def _size(n: int | None, rows: int, people: int) -> int:
    if n is None and rows >= people:
        rule = f"hold more people than the table has rows ({rows:,}); it holds {people:,}"
        invalid("population", rule, remedy="A table of everyone leaves nobody to be out of it")
    if n is not None and n >= people:
        rule = f"be at most {people - 1:,}, one less than the people of the population"
        invalid("n", rule, value=n, remedy="A release of everyone leaves nobody to be out of it")
    return rows if n is None else n


def _read(
    population: Any, names: list[Any], counts: Any, missing: Any
) -> tuple[dict[Any, Factor], IntArray | None]:
    """The register's columns of these names, and the people of each row where rows are cells."""
    given = names_of(population)
    if given:
        for name in names:
            if name not in given:
                rule = f"have the columns of the table; it has none named {name!r}"
                invalid("population", rule, remedy=near(name, given))
    counted = counts is not None and counts in given
    wanted = [*names, counts] if counted else names
    options = {"argument": "population", "chosen_by": "population"}
    factors = dict(each_factor(population, wanted, missing=missing, **options))
    if counted:
        persons = as_cell_counts(counts, factors.pop(counts), factors)
        check_index(population, factors, counts)
        return factors, persons
    for name in given:
        if name not in names and is_count_name(name):
            every = {**factors, **dict(each_factor(population, [name], **options))}
            if count_column(every) == name:
                rule = (
                    f"have one row a person; it looks like a table of counts: column {name!r} "
                    "holds whole numbers, and no two rows agree in the columns of the table"
                )
                invalid("population", rule, remedy=f"Pass counts={name!r}, or leave it out")
    return factors, None


def _places(factors: dict[Any, Factor], persons: IntArray | None, na: str) -> IntArray:
    """The rows of the register that count."""
    absent = np.logical_or.reduce([factor.codes < 0 for factor in factors.values()])
    if na == "error" and absent.any():
        gaps = [(name, factor.n_missing) for name, factor in factors.items() if factor.n_missing]
        where = listed(gaps, show=lambda each: f"{each[1]:,} in column {each[0]!r}")
        remedy = "Pass na='category' to count missing as a value, or na='drop' to leave them out"
        invalid("population", f"have no missing values; there are {where}", remedy=remedy)
    kept = ~absent if na == "drop" else np.ones(absent.size, np.bool_)
    if persons is not None:
        kept &= persons > 0
    places = np.flatnonzero(kept)
    if not places.size:
        invalid("population", "have at least one person without a missing value")
    return places


def _matched(
    factors: dict[Any, Factor],
    persons: IntArray | None,
    places: IntArray,
    values: dict[Any, Factor],
) -> tuple[IntArray, IntArray, IntArray]:
    """People in each cell of the register, the cell of the register of each of the table, a row.

    The second is -1 where nobody of the register is, the third the first row of each cell.
    """
    cells = count_cells([codes_of(each, places) for each in factors.values()], places.size)
    register = cells.counts
    if persons is not None:
        register = np.zeros(cells.counts.size, np.int64)
        np.add.at(register, cells.of_row, persons[places])
    first, columns = places[cells.first_row], []
    for name, factor in factors.items():
        size = len(factor.levels)
        codes = np.where(factor.codes[first] < 0, size, factor.codes[first]).astype(np.int64)
        columns.append((np.concatenate([codes, _codes_in(factor, values[name])]), size + 2))
    both = count_cells(columns, register.size + len(next(iter(values.values())).codes)).of_row
    place = both[register.size :]  # the register's cells come first, each new
    return register, np.where(place < register.size, place, -1), first


def _codes_in(factor: Factor, own: Factor) -> IntArray:
    """The values of `own` as codes of `factor`: two more for missing and for a value not there."""
    size = len(factor.levels)
    code_of = {factor.value(code): code for code in range(size)}
    shown, place = np.unique(own.codes, return_inverse=True)
    codes = [
        size if code < 0 else code_of.get(own.value(code), size + 1) for code in shown.tolist()
    ]
    return np.array(codes, np.int64)[place]


def _refuse_cell(
    cell: int,
    rows: IntArray,
    people: IntArray,
    row: int,
    values: dict[Any, Factor],
    factors: dict[Any, Factor],
) -> NoReturn:
    """Refuse a cell, by the first of its rows: its values may be those of one person."""
    remedy = "Every row of the table must be one of its people"
    for name, factor in values.items():
        value = factor.value(int(factor.codes[cell]))
        levels = [factors[name].value(code) for code in range(len(factors[name].levels))]
        if value is not None and value not in levels:
            remedy = f"It has no such value in column {name!r}"
            if str(value) in map(str, levels):
                remedy += ", but one of another type: convert the column of one of the two"
            break
    rule = (
        f"have at least as many people as the table has rows in every cell; it has "
        f"{int(people[cell]):,} in that of row {row:,} of the table, which has {int(rows[cell]):,}"
    )
    invalid("population", rule, remedy=remedy)
