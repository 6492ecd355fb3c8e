"""What single columns do: a table's leakage without them, and what it reveals of a secret one.

An attacker knows that a person is in the table and the person's values of all columns but one, the
secret.  The best guess from the counts is the commonest secret of the person's cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._columns import Factor, near
from mialeak._report.document import Notes, Pairs, Section, Table
from mialeak._report.text import number, percent, printable
from mialeak._results import Kind, Result
from mialeak.discrete import max_leakage
from mialeak.populations import Register
from mialeak.tables._cells import codes_of, count_cells, of_rows, summed
from mialeak.tables._estimate import estimate_max_leakage

if TYPE_CHECKING:
    from mialeak.tables._report import TableReport

__all__ = [
    "ColumnEffect",
    "SecretReport",
    "check_secret",
    "column_effects",
    "is_shown",
    "merged_counts",
    "secret_report",
    "section_of_columns",
    "section_of_secret",
]

#: A pair of columns matters if the table without both leaks at most this share of what it leaks
#: without the better of the two: neither of them alone does it.
_PAIR = 0.5
#: A report shows the effects if they take less than a second: so many cells times columns are
#: merged, and so many leakages computed (5 ms each).
_WORK, _LEAKAGES = 50_000_000, 150


@dataclass(frozen=True, repr=False)
class ColumnEffect(Result):
    """What a table leaks without one or two of its columns.

    Attributes
    ----------
    without : tuple
        Names of the columns that are left out.
    value : float
        Leakage of the counts by the other columns, on the scale of the report's answer: the
        estimate, or with a register the exact leakage.
    low, high : float
        The interval of the estimate; equal to `value` where that is exact.
    plug_in : float or None
        The leakage if the table's own frequencies were the population; None with a register.
    n_cells : int
        Distinct cells of the table by the other columns.
    kind : str
        "estimate", or "exact" with a register.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> for effect in table_leakage(table).by_column:
    ...     print(effect.without, effect.n_cells, f"{effect.value:.2f}")
    ('age',) 2 0.01
    ('sex',) 3 0.02
    """

    without: tuple[Any, ...]
    value: float
    low: float
    high: float
    plug_in: float | None
    n_cells: int
    kind: Kind = "estimate"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the names of the columns as text."""
        return super().to_dict() | {"without": [str(name) for name in self.without]}


def merged_counts(
    factors: Iterable[Factor], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Rows in each cell of fewer columns, from the values and the rows of the cells of all."""
    every = np.arange(len(counts))
    of_cell = count_cells([codes_of(each, every) for each in factors], len(counts)).of_row
    return summed(of_cell, counts, int(of_cell.max()) + 1)


def _has_effects(report: TableReport) -> bool:
    """Whether the answer is that of joint counts of rows, of a population or a register."""
    population = report.population
    others = report.margins, report.panel, report.persons
    return others == (None, None, None) and (population is None or not population.strata)


def is_shown(report: TableReport) -> bool:
    """Whether a report has the effects: it is not of margins, and they take less than a second."""
    if not _has_effects(report):
        return False
    columns = len(report.columns)
    leakages = columns * (columns + 1) // 2
    cells = report.n_cells
    if report.population is not None:
        cells += len(next(iter(report.population.categories.values())).codes)
    return leakages <= _LEAKAGES and leakages * columns * cells <= _WORK


def column_effects(report: TableReport) -> tuple[ColumnEffect, ...]:
    """The effect of each column, the largest first, then of the pairs that matter."""
    columns = report.columns
    if len(columns) < 2 or not _has_effects(report):
        return ()
    single = {(name,): _effect(report, (name,)) for name in columns}
    pairs = []
    for pair in combinations(columns, 2) if len(columns) > 2 else ():
        both = _effect(report, pair)
        better = min(single[name,].value for name in pair)
        if both.value <= _PAIR * better:
            pairs.append(both)
    ordered = (sorted(part, key=lambda each: each.value) for part in (single.values(), pairs))
    return tuple(effect for part in ordered for effect in part)


def _effect(report: TableReport, without: tuple[Any, ...]) -> ColumnEffect:
    kept = [name for name in report.columns if name not in without]
    values = dict(zip(report.columns, report._cell_values, strict=True))
    counts = merged_counts([values[name] for name in kept], report.cell_counts)
    population = report.population
    if population is None:
        level = report.estimate.confidence
        estimate = estimate_max_leakage(
            counts, report.n, confidence=level, population=report.people
        )
        low, high = estimate.low, estimate.high
        return ColumnEffect(without, estimate.value, low, high, estimate.plug_in, len(counts))
    people = merged_counts(
        [population.categories[name] for name in kept], population.register_cells
    )
    leakage = float(max_leakage(Register(people), population.n))
    return ColumnEffect(without, leakage, leakage, leakage, None, len(counts), "exact")


def section_of_columns(report: TableReport) -> list[Section]:
    """What a report shows of the effects; nothing where they are none or would take long."""
    if len(report.columns) < 2 or not is_shown(report):
        return []
    exact = report.population is not None
    level = f"{100 * report.estimate.confidence:g}%"
    header = ("leakage", *(() if exact else (f"{level} interval",)), "cells", "without")
    body = [
        (
            number(effect.value),
            *(() if exact else (f"{number(effect.low)} to {number(effect.high)}",)),
            f"{effect.n_cells:,}",
            " and ".join(printable(name) for name in effect.without),
        )
        for effect in report.by_column
    ]
    parts: list[Table | Notes] = [Table(header, body, left=1)]
    if any(len(effect.without) > 1 for effect in report.by_column):
        parts.append(
            Notes(
                [
                    "Of the pairs those are listed without which the table leaks at most half of "
                    "what it leaks without the better of the two columns."
                ]
            )
        )
    return [Section("Leakage if a column is left out", parts)]


IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class SecretReport(Result):
    """How well an attacker guesses a secret of persons who are in the table.

    Attributes
    ----------
    column : object
        Name of the column that holds the secret; the attacker knows the others.
    from_table : float
        Share of the rows whose secret is guessed right from the counts: of each cell of the known
        columns the commonest secret.  No guess from the counts is right more often.
    from_others : float
        Share that is guessed right from the rows of everybody else: the commonest secret of the
        others in the cell; of secrets that are equally common there the one that is commoner among
        all others, and so where nobody else is in the cell.
    baseline : float
        Share of the commonest secret: a guess without any other column.
    homogeneous : float
        Share of the rows in cells of the known columns with a single secret, which the counts
        reveal for certain (l-diversity 1).
    diversity : int
        Fewest different secrets in a cell of the known columns (l of l-diversity).
    row_cells : (table rows,) ndarray of int64
        The cell of each row, as in ``TableReport.row_cells``.
    cell_from_table, cell_from_others : (cells,) ndarray
        Probability that the guess is right for a row of each cell, of all columns; from the others
        it is 0 or 1.
    kind : str
        "exact": for this table.

    Examples
    --------
    Three of four young people smoke; the only old one does not, which the others do not show:

    >>> from mialeak import table_leakage
    >>> table = {"age": ["young"] * 4 + ["old"], "smokes": ["yes", "yes", "yes", "no", "no"]}
    >>> secret = table_leakage(table, secret="smokes").secret
    >>> secret
    SecretReport(column='smokes', from_table=0.8, from_others=0.6, baseline=0.6)
    >>> secret.homogeneous, secret.diversity
    (0.2, 1)
    """

    column: Any
    from_table: float
    from_others: float
    baseline: float
    homogeneous: float
    diversity: int
    row_cells: IntArray
    cell_from_table: FloatArray
    cell_from_others: FloatArray
    kind: Kind = "exact"

    @property
    def gain(self) -> float:
        """How much more often the guess is right because the person is in the table.

        Than that from the others or, where that is worse, by the commonest secret alone.
        """
        return self.from_table - max(self.from_others, self.baseline)

    @property
    def row_from_table(self) -> FloatArray:
        """`cell_from_table` of each row, ``(table rows,)``; NaN for a dropped row."""
        return of_rows(self.row_cells, self.cell_from_table)

    @property
    def row_from_others(self) -> FloatArray:
        """`cell_from_others` of each row, ``(table rows,)``; NaN for a dropped row."""
        return of_rows(self.row_cells, self.cell_from_others)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, and not the arrays."""
        names = ("from_table", "from_others", "gain", "baseline", "homogeneous", "diversity")
        numbers = {name: getattr(self, name) for name in names}
        return {"kind": self.kind, "column": str(self.column), **numbers}

    def __repr__(self) -> str:
        return (
            f"SecretReport(column={self.column!r}, from_table={self.from_table:.4g}, "
            f"from_others={self.from_others:.4g}, baseline={self.baseline:.4g})"
        )


def check_secret(secret: Any, columns: Any, margins: Any, counts: Any) -> Any:
    """The columns to count by: those asked for, and the secret."""
    if secret is None:
        return columns
    if margins is not None:
        rule = "be left out with margins: it is guessed from all joint counts"
        invalid("secret", rule, value=secret, remedy="Leave one of the two out")
    if secret == counts:
        invalid("secret", "be a column of categories, not that of the counts", value=secret)
    if columns is None or secret in columns:
        return columns
    return [*columns, secret]


def secret_report(
    secret: Any, values: Mapping[Any, Factor], counts: IntArray, row_cells: IntArray
) -> SecretReport | None:
    """The report for cells with these values and rows; None without a secret.

    Raises
    ------
    ValueError
        If there is no such column, or no other.
    """
    if secret is None:
        return None
    if secret not in values:
        remedy = near(secret, list(values))
        invalid("secret", "be a column of the table", value=secret, remedy=remedy)
    if len(values) < 2:
        invalid("secret", "leave a column that the attacker knows", value=secret)
    every = np.arange(len(counts))
    kept = [codes_of(each, every) for name, each in values.items() if name != secret]
    known = count_cells(kept, len(counts)).of_row
    value = count_cells([codes_of(values[secret], every)], len(counts)).of_row
    totals = summed(value, counts, int(value.max()) + 1)
    rank = np.empty(len(totals), np.int64)  # commonest first
    rank[np.argsort(-totals, kind="stable")] = np.arange(len(totals))
    values_of = np.bincount(known)
    sizes = summed(known, counts, len(values_of))
    # Of each known cell the commonest secret, and the next; of equal ones the commoner in all.
    first = _commonest(counts, rank[value], known, len(sizes))
    others = counts.copy()
    others[first] = 0
    second = _commonest(others, rank[value], known, len(sizes))
    mixed = values_of > 1
    second[~mixed] = -1
    right = _by_others(counts, value, totals, first, second)
    total = int(counts.sum())
    from_others = np.zeros(len(counts))
    from_others[first[right]] = 1.0
    return SecretReport(
        column=secret,
        from_table=int(counts[first].sum()) / total,
        from_others=int(counts[first[right]].sum()) / total,
        baseline=int(totals.max()) / total,
        homogeneous=int(sizes[~mixed].sum()) / total,
        diversity=int(values_of.min()),
        row_cells=row_cells,
        cell_from_table=(counts[first] / sizes)[known],
        cell_from_others=from_others,
    )


def _commonest(counts: IntArray, rank: IntArray, known: IntArray, cells: int) -> IntArray:
    """For each known cell the place of the largest count, of equal ones that of least rank."""
    most = np.full(cells, -1)
    np.maximum.at(most, known, counts)
    largest = np.flatnonzero(counts == most[known])
    least = np.full(cells, len(rank))
    np.minimum.at(least, known[largest], rank[largest])
    places = largest[rank[largest] == least[known[largest]]]
    first = np.empty(cells, np.int64)
    first[known[places]] = places
    return first


def _by_others(
    counts: IntArray, value: IntArray, totals: IntArray, first: IntArray, second: IntArray
) -> npt.NDArray[np.bool_]:
    """Whether the others show the commonest secret of each known cell to those who have it.

    The others never show another secret than the commonest: one row less makes no rarer secret the
    commonest.
    """
    others = counts[first] - 1
    best = np.where(second < 0, 0, counts[second])
    # Equally common among the others of the cell: the commoner one of all others is guessed.
    # In a cell of nobody else any secret may be, so that it is compared with the commonest one.
    alone = others == 0
    order = np.argsort(-totals, kind="stable")
    top, runner = order[0], order[min(1, len(order) - 1)]
    rival = np.where(second < 0, -1, value[second])
    rival = np.where(alone, np.where(value[first] == top, runner, top), rival)
    mine = totals[value[first]] - 1
    theirs = totals[rival]
    chosen = (mine > theirs) | ((mine == theirs) & (value[first] < rival))
    chosen |= rival == value[first]  # a table of one secret
    return np.asarray((others > best) | ((others == best) & chosen))


def section_of_secret(report: TableReport) -> list[Section]:
    """What a report shows of the secret; nothing without one."""
    secret = report.secret
    if secret is None:
        return []
    pairs = [
        (percent(secret.from_table), "right from the counts, the person's own row among them"),
        (percent(secret.from_others), "right from the rows of everybody else"),
        (percent(secret.baseline), "right by the commonest value alone"),
        (
            percent(secret.homogeneous),
            "of the rows are in cells of the other columns with a single value: certain "
            f"(l-diversity {secret.diversity})",
        ),
    ]
    name = printable(secret.column)
    lines = [
        f"For persons known to be in the table, of whom all columns but {name} are known: how "
        "often the best guess from the counts is right, and a guess from the others. Exact for "
        "this table."
    ]
    if report.protections:
        lines.append("Protected counts, compared below, reveal at most as much of it.")
    return [Section(f"Guesses of {name}", [Pairs(pairs), Notes(lines)])]
