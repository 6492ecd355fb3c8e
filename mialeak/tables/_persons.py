"""A table in which a person has several rows: the leakage of a person, not of a row.

With m rows of a person in a cell of probability p, out of n, the likelihood ratio of c rows of the
table in that cell is ``(c)_m / ((n)_m p**m)``, falling factorials, and rises with c.  With rows in
several cells it is the product over the cells, and the leakage lies above that of one cell, and
below the sum over the cells, each given those before it, and half the root of the variance of the
likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from mialeak._arrays import FloatArray, as_count, invalid, unsupported
from mialeak._checks.spellings import cautions_of_spellings
from mialeak._checks.tables.cautions import cautions_of_unknown
from mialeak._columns import each_factor, near
from mialeak._labels import names_of
from mialeak._numerics.clopper_pearson import probability_range
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import accuracy, number, printable
from mialeak._results import Bounds, Kind, Result
from mialeak.special import binom_sf

__all__ = [
    "PersonAtRisk",
    "PersonsReport",
    "check_person",
    "document_of_persons",
    "persons_report",
    "ratio_variance",
    "repeated_leakage",
]

IntArray = npt.NDArray[np.int64]

#: Likelihood ratios that are closer to 1 than this are 1: either side of a tie will do.
_TIE = 1e-14

#: Log-gammas of arguments below it lose at most 1e-12; from there on Stirling's series has 1e-16.
_STIRLING = 1e3

#: Rounding of a variance of the likelihood ratio, which is a sum of terms near 1.
_SUM_ERROR = 1e-13


@dataclass(frozen=True, repr=False)
class PersonAtRisk(Result):
    """A person whose rows leak much.

    Attributes
    ----------
    value : object
        Of the column that names the person.
    row : int
        The first of the rows, counted from 0.
    rows, cells : int
        The person's rows, and the cells that they are in.
    low, high : float
        Range of the leakage, for the population.
    plug_in : Bounds
        If the table's own frequencies were the population.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> table = {"person": ["a", "a", "b", "c", "d", "e"], "ward": [1, 1, 1, 2, 2, 2]}
    >>> person = table_leakage(table, person="person").persons.riskiest(1)[0]
    >>> person.value, person.rows, f"{person.plug_in.upper:.3f}"
    ('a', 2, '0.344')
    """

    value: Any
    row: int
    rows: int
    cells: int
    low: float
    high: float
    plug_in: Bounds
    kind: Kind = "estimate"


@dataclass(frozen=True, repr=False, eq=False)
class PersonsReport(Result):
    """What the counts of a table leak about the persons whose rows it counts.

    *In*: all rows of the person, and fresh rows up to n.  *Out*: n fresh rows.

    Attributes
    ----------
    column : object
        Name of the column that names the person.
    n : int
        Rows of the release in question.
    first_row : (persons,) ndarray of int64
        The first row of each person.
    person_rows, person_cells : (persons,) ndarray of int64
        Rows of each person, and cells that they are in.
    plug_in : Bounds
        Leakage of each person if the table's own frequencies were the population and the rows of
        others independent: exact for those whose rows are all in one cell, both ends are equal.
    person_leakage : Bounds
        Range of it for the population, by the rows that others have in the person's cells.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak.tables import table_leakage
    >>> table = {"person": ["a", "a", "b", "c", "d", "e"], "ward": [1, 1, 1, 2, 2, 2]}
    >>> persons = table_leakage(table, person="person").persons
    >>> persons
    PersonsReport(average=[0.07923, 0.7778], persons=5, rows=6, n=6)
    >>> persons.plug_in.upper.round(3).tolist()
    [0.344, 0.156, 0.156, 0.156, 0.156]
    """

    column: Any
    n: int
    first_row: IntArray
    person_rows: IntArray
    person_cells: IntArray
    plug_in: Bounds
    person_leakage: Bounds
    _values: Any = field(repr=False)
    kind: Kind = "estimate"

    @property
    def persons(self) -> int:
        """Number of persons."""
        return len(self.person_rows)

    @property
    def rows(self) -> int:
        """Their rows."""
        return int(self.person_rows.sum())

    @property
    def average(self) -> Bounds:
        """Range of the leakage of a random person of the table, for the population."""
        ends = self.person_leakage
        return Bounds(float(np.mean(ends.lower)), float(np.mean(ends.upper)), kind="estimate")

    @property
    def highest(self) -> Bounds:
        """Range of the leakage of the riskiest person, for the population."""
        ends = self.person_leakage
        return Bounds(float(np.max(ends.lower)), float(np.max(ends.upper)), kind="estimate")

    @property
    def plug_in_average(self) -> Bounds:
        """Leakage of a random person, if the table's own frequencies were the population."""
        ends = self.plug_in
        return Bounds(float(np.mean(ends.lower)), float(np.mean(ends.upper)), kind=ends.kind)

    def riskiest(self, top: int | None = 10) -> tuple[PersonAtRisk, ...]:
        """The `top` persons that leak most: by the upper, then the lower end, then in order."""
        top = self.persons if top is None else as_count(top, "top")
        lower, upper = np.asarray(self.person_leakage.lower), np.asarray(self.person_leakage.upper)
        return tuple(self._person(k) for k in np.lexsort((-lower, -upper))[:top].tolist())

    def _person(self, k: int) -> PersonAtRisk:
        def end(bounds: Bounds, name: str) -> float:
            return float(np.asarray(getattr(bounds, name))[k])

        plug_in = Bounds(end(self.plug_in, "lower"), end(self.plug_in, "upper"), self.plug_in.kind)
        row = int(self.first_row[k])
        return PersonAtRisk(
            value=self._values.value(int(self._values.codes[row])),
            row=row,
            rows=int(self.person_rows[k]),
            cells=int(self.person_cells[k]),
            low=end(self.person_leakage, "lower"),
            high=end(self.person_leakage, "upper"),
            plug_in=plug_in,
        )

    def to_dict(self, *, top: int | None = 10) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` persons at risk, and not the arrays."""
        return {
            "kind": self.kind,
            "column": str(self.column),
            "persons": self.persons,
            "most_rows": int(self.person_rows.max()),
            "in_one_cell": int(np.count_nonzero(self.person_cells == 1)),
            "average": self.average.to_dict(),
            "highest": self.highest.to_dict(),
            "plug_in": self.plug_in_average.to_dict(),
            "riskiest": [person.to_dict() for person in self.riskiest(top)],
        }

    def __repr__(self) -> str:
        low, high = self.average.lower, self.average.upper
        return (
            f"PersonsReport(average=[{low:.4g}, {high:.4g}], persons={self.persons}, "
            f"rows={self.rows}, n={self.n})"
        )


def check_person(frame: Any, person: Any, columns: Any, exclude: Any, **others: Any) -> Any:
    """The columns to leave out, with that of the person; refuses what has no answer with it."""
    if person is None:
        return exclude
    for name, value in others.items():
        if value is not None:
            why = "it is answered for rows, and a person has several of them"
            unsupported(name, "with person", why, "Leave out one of the two")
    if not isinstance(person, Hashable):
        invalid("person", "be the name of a column", value=person, error=TypeError)
    names = names_of(frame)
    if names and person not in names:
        remedy = near(person, names)
        invalid("person", "name a column of the table", value=person, remedy=remedy)
    given = [columns] if isinstance(columns, str) else columns
    if given is not None:
        if person in given:
            rule = "be left out of the columns that are counted"
            invalid("person", rule, value=person)
        return exclude
    excluded = [exclude] if isinstance(exclude, str) else list(exclude or ())
    return excluded if person in excluded else [*excluded, person]


def repeated_leakage(m: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    """Leakage of a person with m of n rows, all in a cell of probability p; falls with p."""
    least = _threshold(m, n, p)
    power, fpr = _at_least(least - m, n - m, p), _at_least(least, n, p)
    return np.clip(power - fpr, 0.0, 1.0)


def ratio_variance(m: FloatArray, n: float, p: FloatArray) -> float:
    """Variance of the likelihood ratio of m rows in each of several cells, of n rows.

    It is E(ratio | in) - 1.  In, a cell has m + B rows with multinomial B, and by Vandermonde's
    identity ``(m + B)_m`` is the sum over i of ``C(m, i) (m)_i (B)_(m - i)``; the expectation of a
    product of falling factorials ``(B_k)_j`` is ``(n - all m)_(sum of j)`` times powers of p.
    """
    rows = float(m.sum())
    law = np.ones(1)
    with np.errstate(all="ignore"):
        for size, share in zip(m.tolist(), p.tolist(), strict=True):
            i = np.arange(size)
            # C(m, i + 1) (m)_(i + 1) by their ratios, over (n p) to that power.
            steps = (size - i) ** 2 / ((i + 1.0) * np.float64(n * share))
            law = np.convolve(law, np.append(1.0, np.cumprod(steps)))
        total = np.arange(rows + 1.0)
        factors = rows - total  # of the falling factorial
        remaining = n - rows - factors  # of the fresh rows
        log = _log_falling(n - rows, np.where(remaining >= 0.0, factors, 0.0))
        log += np.where(factors > 0.0, factors * np.log1p(-rows / n), 0.0)
        log -= _log_falling(n, rows)
        terms = np.where(remaining >= 0.0, np.exp(log), 0.0) * law
    value = float(terms.sum()) - 1.0
    return max(value, 0.0) if math.isfinite(value) else math.inf


def _log_falling(x: Any, m: Any) -> FloatArray:
    """log((x)_m / x**m), falling factorial, without the digits that log-gammas lose."""
    x, m = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(m, np.float64))
    y = x - m
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = gammaln(x + 1.0) - gammaln(y + 1.0) - m * np.log(x)
        less = np.log1p(-m / x)
        series = -(y + 0.5) * less - m
        series += (1.0 / x - 1.0 / y) / 12.0 - (1.0 / x**3 - 1.0 / y**3) / 360.0
    value = np.where((x < _STIRLING) | (y < _STIRLING), direct, series)
    return np.where(m == 0.0, 0.0, value)


def _threshold(m: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    """The fewest rows in the cell whose likelihood ratio is above 1; n + 1 if there are none."""
    level = _log_falling(n, m)
    low, high = m - 1.0, n + 1.0  # the ratio is 0 below m
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        count = np.maximum(middle, m)
        with np.errstate(divide="ignore"):
            log_ratio = m * np.log(count / (n * p)) + _log_falling(count, m) - level
        above = (middle >= m) & (log_ratio > _TIE)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def _at_least(h: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    """P(B >= h) for B binomial."""
    certain, never = h <= 0.0, h > n
    inner = ~(certain | never)
    values = np.where(certain, 1.0, 0.0)
    values[inner] = binom_sf(h[inner] - 1.0, n[inner], p[inner])
    return values


def persons_report(
    frame: Any,
    person: Any,
    *,
    row_cells: IntArray,
    counts: IntArray,
    n: int,
    confidence: float,
    missing: Any,
) -> tuple[PersonsReport | None, list[str]]:
    """The report on the persons of a table whose rows have these cells, and cautions.

    None without persons.
    """
    if person is None:
        return None, []
    factor = dict(each_factor(frame, [person], missing=missing))[person]
    kept = row_cells >= 0
    gaps = kept & (factor.codes < 0)
    if gaps.any():
        row, count = int(np.argmax(gaps)), int(np.count_nonzero(gaps))
        rule = f"name the person of each row; it is missing in {count:,} of them, the first {row:,}"
        remedy = "Leave these rows out, or give each of their persons a name"
        invalid("person", rule, remedy=remedy)
    rows = np.flatnonzero(kept)
    _, first, code = np.unique(factor.codes[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    code = place[code.ravel()]  # numbered as the rows first show them
    person_rows = np.bincount(code)
    if person_rows.max() > n:
        rule = f"be at least the rows of each person; one has {int(person_rows.max()):,}"
        invalid("n", rule, value=n)
    if person_rows.max() == 1:
        rule = "name the person of each row, of whom one has several; each has one row"
        invalid("person", rule, remedy="Leave person out: a row is a person")
    pairs, groups = np.unique(code * len(counts) + row_cells[rows], return_counts=True)
    owner, cell = np.divmod(pairs, len(counts))
    # The upper bound takes a person's cells in turn: few rows first, whatever the table's order.
    turn = np.lexsort((counts[cell], groups, owner))
    cell, groups = cell[turn], groups[turn]
    sizes = _Sizes(owner, groups.astype(np.float64), person_rows.astype(np.float64))
    total = float(len(rows))
    in_cell = counts[cell].astype(np.float64)
    lower, upper = sizes.bounds(in_cell / total, float(n))
    one = bool((sizes.person_cells == 1).all())
    others, elsewhere = in_cell - sizes.groups + 1.0, total - sizes.rows[owner] + 1.0
    least, most = probability_range(others, elsewhere, confidence)
    report = PersonsReport(
        column=person,
        n=n,
        first_row=rows[np.sort(first)],
        person_rows=person_rows,
        person_cells=sizes.person_cells,
        plug_in=Bounds(lower, upper, kind="exact" if one else "bound"),
        person_leakage=Bounds(
            sizes.bounds(most, float(n))[0], sizes.bounds(least, float(n))[1], kind="estimate"
        ),
        _values=factor,
    )
    cautions = _cautions_of_clusters(person, person_rows, sizes.person_cells)
    cautions += cautions_of_unknown(person, factor, rows) + cautions_of_spellings({person: factor})
    return report, cautions


def _cautions_of_clusters(person: Any, rows: IntArray, cells: IntArray) -> list[str]:
    """A sentence if most rows come with others of their person in one cell; refused if all do.

    The leakage is that among independent rows: counts that rise by the rows of a person at once
    vary more, and leak less.
    """
    column, most = printable(person), int(rows.max())
    if (cells == 1).all() and (rows == most).all():
        rule = f"name persons whose rows differ; each of {rows.size:,} has {most:,} rows, all alike"
        remedy = "The counts are those of persons, times this: pass one row for each, without it"
        invalid("person", rule, value=person, remedy=remedy)
    together = int(rows[(cells == 1) & (rows > 1)].sum())
    if 2 * together <= rows.sum():
        return []
    return [
        f"{together:,} of {int(rows.sum()):,} rows are with all others of their person, by column "
        f"{column}, in one cell. The leakage is that among rows that are independent; where the "
        "rows of a person come together, it is lower. Of persons who are counted once each, pass "
        "one row for each, without option person."
    ]


class _Sizes:
    """How many rows each person has in each of the person's cells, by person."""

    def __init__(self, owner: IntArray, groups: FloatArray, rows: FloatArray) -> None:
        self.owner, self.groups, self.rows = owner, groups, rows
        self.person_cells = np.bincount(owner)
        starts = np.cumsum(self.person_cells) - self.person_cells
        total = np.cumsum(groups) - groups
        #: Rows that the person has in the cells before.
        self.before = total - total[starts][owner]
        self.starts = starts

    def bounds(self, p: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of each person's leakage; equal for rows in one cell."""
        m, every = self.groups, self.rows[self.owner]
        size = np.full_like(m, n)
        each = _distinct(repeated_leakage, m, size - self.before, p)
        upper = np.minimum(np.add.reduceat(each, self.starts), 1.0)
        for k in np.flatnonzero(self.person_cells > 1).tolist():
            cells = slice(self.starts[k], self.starts[k] + self.person_cells[k])
            variance = ratio_variance(m[cells], n, p[cells]) + _SUM_ERROR
            upper[k] = min(upper[k], 0.5 * math.sqrt(variance))
        least = _distinct(_threshold, m, size, p)
        one = _at_least(least - m, size - every, p) - _at_least(least, size, p)
        lower = np.clip(np.maximum.reduceat(one, self.starts), 0.0, 1.0)
        return np.where(self.person_cells == 1, upper, lower), upper


def _distinct(function: Any, *arguments: FloatArray) -> FloatArray:
    """The function of equal arguments computed once."""
    table, place = np.unique(np.stack(arguments), axis=1, return_inverse=True)
    return np.asarray(function(*table))[place.ravel()]


def document_of_persons(
    report: Any, persons: PersonsReport, sections: list[Section], *, top: int, show_rows: bool
) -> Document:
    """The answer about persons, their numbers, those at risk, and the table's other `sections`."""
    average, highest, plug_in = persons.average, persons.highest, persons.plug_in_average
    exact = "exact" if plug_in.kind == "exact" else "certain bounds"
    numbers = [
        (_span(average), "for a random person (estimate)"),
        (_span(highest), "for the riskiest person (estimate)"),
        (
            _span(plug_in),
            f"on average, if the table's own frequencies were the population ({exact})",
        ),
    ]
    one = int(np.count_nonzero(persons.person_cells == 1))
    lines = [
        f"{persons.persons:,} persons by column {printable(persons.column)}, with "
        f"{int(persons.person_rows.max()):,} rows at most; all rows of {one:,} are in one cell.",
        "A range is by the rows that others have in the person's cells, which are taken as "
        "independent. With rows in several cells it is that of two bounds.",
    ]
    answer = (
        f"Publishing these {report.n_cells:,} counts leaks {_span(average)} about a random person "
        f"(estimate). An attacker who knows the population and all rows of the person can decide "
        f"with at most {accuracy(float(average.upper))} accuracy whether they are in the table "
        "(guessing: 50%)."
    )
    body = [Section("Leakage of a person", [Pairs(numbers), Notes(lines)]), *sections]
    if top:
        body.append(_riskiest(persons, top, show_rows))
    return Document(answer, body, report.cautions)


def _span(bounds: Bounds) -> str:
    low, high = number(float(bounds.lower)), number(float(bounds.upper))
    return low if low == high else f"{low} to {high}"


def _riskiest(persons: PersonsReport, top: int, show_rows: bool) -> Section:
    listed = persons.riskiest(top)
    header: tuple[str, ...] = ("first row", "rows", "cells", "leakage", "own frequencies")
    body: list[tuple[str, ...]] = [
        (
            f"{x.row}",
            f"{x.rows:,}",
            f"{x.cells:,}",
            f"{number(x.low)} to {number(x.high)}",
            _span(x.plug_in),
        )
        for x in listed
    ]
    if show_rows:
        header += (printable(persons.column),)
        body = [(*row, printable(x.value)) for row, x in zip(body, listed, strict=True)]
    title = f"Persons most at risk ({len(listed):,} of {persons.persons:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(header) - 5)])
