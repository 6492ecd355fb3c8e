"""What a table reveals of a column that is secret.

An attacker knows that a person is in the table and the person's values of all columns but one, the
secret.  The best guess from the counts is the commonest secret of the person's cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._cells import codes_of, count_cells, of_rows, summed
from mialeak._columns import Factor, near
from mialeak._report.document import Notes, Pairs, Section, Table
from mialeak._report.text import percent, printable
from mialeak._results import Kind, Result
from mialeak.tables._protected_secrets import ProtectedSecret, protected_secret

if TYPE_CHECKING:
    from mialeak.tables._report import TableReport

__all__ = ["SecretReport", "check_secret", "secret_report", "section_of_secret"]

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
        all others, and so where nobody else is in the cell; of those that are equally common there
        too the first by value.
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
    protected : tuple of ProtectedSecret
        The same of each of the protections to compare, from the protected counts of the person's
        cell of the known columns.
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
    protected: tuple[ProtectedSecret, ...] = ()
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
        protected = [each.to_dict() for each in self.protected]
        return {"kind": self.kind, "column": str(self.column), **numbers, "protected": protected}

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
    secret: Any,
    values: Mapping[Any, Factor],
    counts: IntArray,
    row_cells: IntArray,
    protections: Mapping[str, Any],
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
    value = _numbered(values[secret])
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
    from_table = int(counts[first].sum()) / total
    return SecretReport(
        column=secret,
        from_table=from_table,
        from_others=int(counts[first[right]].sum()) / total,
        baseline=int(totals.max()) / total,
        homogeneous=int(sizes[~mixed].sum()) / total,
        diversity=int(values_of.min()),
        row_cells=row_cells,
        cell_from_table=(counts[first] / sizes)[known],
        cell_from_others=from_others,
        protected=tuple(
            protected_secret(name, each, known, rank[value], counts, from_table)
            for name, each in protections.items()
        ),
    )


def _numbered(secret: Factor) -> IntArray:
    """The number of each cell's secret in the order of the values, which that of the rows is not.

    It decides between secrets that are equally common everywhere.
    """
    codes, _ = codes_of(secret)
    shown, place = np.unique(codes, return_inverse=True)
    absent = len(secret.levels)  # the code of missing values, which come last
    names = [None if code == absent else secret.value(code) for code in shown.tolist()]
    number = np.empty(len(shown), np.int64)
    number[sorted(range(len(names)), key=lambda k: _order(names[k]))] = np.arange(len(names))
    return number[place.ravel()]


def _order(name: Any) -> tuple[bool, bool, Any]:
    """Numbers by size, before text, and a missing value behind all."""
    is_text = not isinstance(name, (int, float))
    return name is None, is_text, str(name) if is_text else name


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
    parts: list[Pairs | Table | Notes] = [Pairs(pairs)]
    if secret.protected:
        body = [(_shares(each), each.protection) for each in secret.protected]
        parts.append(Table(("right", "counts published"), body, left=1))
    lines = [
        f"For persons known to be in the table, of whom all columns but {name} are known: how "
        "often the best guess from the counts is right, and a guess from the others. Exact for "
        "this table."
    ]
    if secret.protected:
        lines.append(
            "From protected counts: the best guess by what is shown of the person's own cell of "
            "the other columns, for an attacker who knows how many cells have which counts, not "
            "which. A guess that uses similar cells too, as a fitted model does, may be right more "
            "often, of people who are not in the table too. A range is between a guess by fewer "
            "counts, of moved rows by none, and that from the counts as they are."
        )
    return [Section(f"Guesses of {name}", [*parts, Notes(lines)])]


def _shares(each: ProtectedSecret) -> str:
    low, high = percent(each.lower), percent(each.upper)
    return low if each.kind == "exact" else f"{low} to {high}"
