"""What protections of the counts leave, for the population that the table came from.

A protection that treats each cell on its own has its leakage g(p) for a target in a cell of
probability p.  The leakage of the protected table is the integral of that g against the mixing law
that was fitted to the table (see :mod:`._sampling`), as the leakage of the raw counts is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv

from mialeak._arrays import FloatArray, as_share, invalid, listed
from mialeak._columns import Factor
from mialeak._results import Kind, Result
from mialeak.mechanisms import (
    CellMechanism,
    Histogram,
    MechanismLeakage,
    Pram,
    Swap,
    coarsen,
    information_lost,
    mechanism_leakage,
)
from mialeak.tables._estimate import estimate_atom_leakage, estimate_max_leakage
from mialeak.tables._sampling import LIGHT, CompletedLaw, complete, leakage_at

if TYPE_CHECKING:
    from mialeak.tables._register_report import PopulationReport
    from mialeak.tables._report import TableReport

__all__ = ["ProtectedTable", "Protections", "as_protections", "protected_tables"]

IntArray = npt.NDArray[np.int64]

#: Expected rows of a cell at which the leakage of a row alone in it is computed: as many evenly
#: spaced ones, powers of a ratio from the least on, and even steps of the square root, of which a
#: count's own spread is 1/2, up to the largest.  Then so many between the neighbours of the best.
_EVEN, _LEAST, _RATIO, _STEP, _LARGEST, _BETWEEN = 64, 1e-2, 1.05, 0.25, 4096.0, 17
#: Budgets for the table's own frequencies that are tried, each at most so large a part of the one
#: before, until all cells are merged.
_TRIES, _NEXT = 30, 0.97


@dataclass(frozen=True, repr=False)
class ProtectedTable(Result):
    """What leaks if the counts are protected before they are published.

    Attributes
    ----------
    protection : str
        What is done to the counts.
    value : float
        Leakage for the population that the rows came from, comparable with
        ``TableReport.estimate``: of a target, by the released count of its own cell; by all counts
        for :class:`~mialeak.mechanisms.Pram`.
    plug_in : MechanismLeakage
        The leakage if the table's own frequencies were the population and the number of rows is
        known: exact, or enclosed between what the target's own cell leaks and what all raw counts
        leak.  With a register, of its samples.
    alone, alone_high : float or None
        Leakage of a row that is alone in its cell: estimate of the mean over such rows, and the
        highest that is compatible with its count.  None if no row is alone.
    hidden : float or None
        Share of the table's cells whose count is hidden; None where it is not known, as for merged
        cells.
    change : float or None
        Mean absolute difference of the shown counts from the true ones; None for merged cells and
        for moved rows.
    groups : int or None
        Cells after merging; None if no cells were merged.
    optimal : bool or None
        Whether it was proved that no fewer merges do for the table's own frequencies; None if no
        cells were merged.
    kind : str
        "estimate"; "exact" if the register is at hand.
    cell_leakage : (cells,) ndarray
        Leakage of a row in each cell of the table: as `alone`, for rows whose cell has as many.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> table = {"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}
    >>> from mialeak.mechanisms import Round
    >>> raw, rounded = table_leakage(table, protect=Round(7)).protections
    >>> rounded.protection, rounded.value <= raw.value, rounded.change
    ('Round(base=7)', True, 3.0)
    """

    protection: str
    value: float
    plug_in: MechanismLeakage
    alone: float | None
    alone_high: float | None
    hidden: float | None = None
    change: float | None = None
    groups: int | None = None
    optimal: bool | None = None
    kind: Kind = "estimate"
    cell_leakage: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, and not the array."""
        content = super().to_dict()
        del content["cell_leakage"]
        return content


@dataclass(frozen=True)
class Protections:
    """Protections to compare: names and mechanisms, and the leakage to merge cells down to."""

    mechanisms: Mapping[str, CellMechanism | Pram]
    coarsen: float | None = None


def as_protections(
    protect: Any,
    coarsen: float | None,
    margins: Any,
    values: Mapping[Any, Factor],
    counts: IntArray,
    register: Any,
) -> Protections:
    """The arguments of ``table_leakage``, checked for cells with these values and counts."""
    if margins is not None and (protect is not None or coarsen is not None):
        name = "protect" if protect is not None else "coarsen"
        rule = "be left out with margins: protections are compared for all joint counts"
        remedy = "Leave one of the two out; Release takes several tables, each with its protection"
        invalid(name, rule, remedy=remedy)
    if coarsen is not None:
        coarsen = as_share(coarsen, "coarsen")
    named = _named(protect)
    for name, each in named.items():
        if isinstance(each, Pram):
            named[name] = _of_cells(each, values, counts, register)
    return Protections(named, coarsen)


def _named(protect: Any) -> dict[str, Any]:
    if protect is None:
        return {}
    if isinstance(protect, (CellMechanism, Pram, Swap)):
        protect = [protect]
    if isinstance(protect, Sequence) and not isinstance(protect, str):
        protect = {repr(each): each for each in protect}
    if not isinstance(protect, Mapping):
        rule = "be a protection such as Round(5), a list of them or a dict of names"
        invalid("protect", rule, value=protect, error=TypeError)
    for name, each in protect.items():
        if isinstance(each, Swap):
            rule = (
                "hold protections whose leakage for the population can be computed; that of Swap "
                "is known for few rows of a known law only, and between two bounds otherwise"
            )
            _refuse_moved("Swap", rule, TypeError)
        if not isinstance(each, (CellMechanism, Pram)):
            remedy = "For other procedures use mechanism_leakage with a known law"
            rule = (
                "hold protections of counts: Round, RandomRound, Suppress, CellKey, Geometric, "
                "DiscreteGaussian, Synthetic, a Pipeline of these, Pram or another CellMechanism"
            )
            invalid("protect", rule, index=name, value=each, error=TypeError, remedy=remedy)
    return {str(name): each for name, each in protect.items()}


def _refuse_moved(kind: str, rule: str, error: type[Exception] = ValueError) -> NoReturn:
    remedy = (
        f"For the table's own frequencies call mechanism_leakage({kind}(...), report.cell_counts / "
        "report.rows, report.n); for the population, which has cells that the table does not show, "
        "call it with a law of all cells"
    )
    invalid("protect", rule, error=error, remedy=remedy)


def _of_cells(moved: Pram, values: Mapping[Any, Factor], counts: IntArray, register: Any) -> Pram:
    """The matrix in the order of the table's cells.

    The law of the likelihood ratio of a moved row takes the probabilities of all cells: they are
    known where each cell has so many rows that its share is taken for its probability.
    """
    if register is not None:
        rule = (
            "leave Pram out with a register: mechanism_leakage(Pram(...), Register(counts), n), "
            "the cells in the order of the matrix, is exact for a few people and encloses for many"
        )
        _refuse_moved("Pram", rule)
    if moved.by is None:
        remedy = "Pass Pram(matrix, by=[...]), with the value or the tuple of values of each cell"
        invalid("protect", "hold a Pram that names its cells", value=moved, remedy=remedy)
    cells = list(
        zip(*(map(each.value, each.codes.tolist()) for each in values.values()), strict=True)
    )
    by = moved.by
    names = [str(name) for name in values]
    if moved.columns is not None and len(names) > 1 and set(moved.columns) == set(names):
        columns = [moved.columns.index(name) for name in names]
        by = [tuple(each[k] for k in columns) for each in by]
    place = {_words(each): k for k, each in enumerate(by)}
    for cell, count in zip(cells, counts.tolist(), strict=True):
        shown = cell[0] if len(cell) == 1 else cell
        if _words(cell) not in place:
            rule = f"hold a Pram of the cells of the table; it lacks {shown!r}"
            remedy = f"Its columns are {listed(values)}, in this order"
            invalid("protect", rule, value=moved, remedy=remedy)
        if count <= LIGHT:
            rule = (
                f"hold no Pram for a table of small cells, such as {shown!r} with {count:,} rows: "
                "its leakage for the population takes the probability of each cell, and those of "
                f"cells of at most {LIGHT} rows, or of none, are not known"
            )
            _refuse_moved("Pram", rule)
    if len(place) != len(cells):
        extra = next(each for each in by if _words(each) not in set(map(_words, cells)))
        rule = f"hold a Pram of the cells of the table; {extra!r} has no row"
        _refuse_moved("Pram", rule)
    order = np.array([place[_words(cell)] for cell in cells])
    return Pram(moved.matrix[np.ix_(order, order)], by=cells)


def _words(cell: Any) -> tuple[str, ...]:
    """A cell as a file has it."""
    return tuple(map(str, cell)) if isinstance(cell, tuple) else (str(cell),)


def protected_tables(report: TableReport, protect: Protections) -> tuple[ProtectedTable, ...]:
    """The raw counts, each protection, and the merged cells; nothing if nothing is compared."""
    if not protect.mechanisms and protect.coarsen is None:
        return ()
    if report.population is not None:
        cellwise = {k: each for k, each in protect.mechanisms.items() if not isinstance(each, Pram)}
        return _of_sample(report, report.population, cellwise)
    law = complete(report.cell_counts)
    frequencies = report.cell_counts / report.rows
    unique = report.n_unique > 0
    leakage = leakage_at(_probabilities(law), report.n, 1.0)
    raw = ProtectedTable(
        protection="none: all counts as they are",
        value=report.estimate.value,
        plug_in=mechanism_leakage(Histogram(), frequencies, report.n),
        alone=_alone(law, leakage[: len(law.nodes)]) if unique else None,
        alone_high=1.0 if unique else None,
        hidden=0.0,
        change=0.0,
        cell_leakage=_by_cell(law, leakage, report.cell_counts),
    )
    tables = [raw]
    for name, each in protect.mechanisms.items():
        if isinstance(each, Pram):
            tables.append(_moved(report, raw, name, each))
        else:
            tables.append(_protected(report, law, raw, name, each))
    if protect.coarsen is not None:
        tables.append(_merged(report, protect.coarsen))
    return tuple(tables)


def _protected(
    report: TableReport,
    law: CompletedLaw,
    raw: ProtectedTable,
    name: str,
    protection: CellMechanism,
) -> ProtectedTable:
    n = report.n
    p = _probabilities(law)
    shares = np.r_[law.shares, p[len(law.nodes) :] * law.cells[law.heavy]]
    leakage = protection.atom_leakage(p, n)
    whole = float(shares @ leakage_at(p, n, 1.0))
    # The estimate of the raw counts is corrected for what the fit misses; here the same share is.
    value = raw.value * float(shares @ leakage) / whole if whole > 0 else 0.0
    plug_in = mechanism_leakage(protection, report.cell_counts / report.rows, n)
    if plug_in.method == "enumeration":
        # So few cells that each count follows from the others and the number of rows.
        value = max(value, plug_in.lower)
    alone = high = None
    if raw.alone is not None:
        tail = (1 - report.estimate.confidence) / 2
        most = betainccinv(2.0, law.rows - 1, tail) if law.rows > 1 else 1.0
        alone = _alone(law, leakage[: len(law.nodes)])
        high = _highest(protection, float(most), n)
    hidden, change = _lost(protection, report.cell_counts)
    return ProtectedTable(
        protection=name,
        value=min(value, raw.value),
        plug_in=plug_in,
        alone=alone,
        alone_high=high,
        hidden=hidden,
        change=change,
        cell_leakage=_by_cell(law, leakage, report.cell_counts),
    )


def _highest(protection: CellMechanism, most: float, n: int) -> float:
    """The largest leakage of a target in a cell of probability at most `most`.

    It may rise and fall with the probability, and is largest where the cell expects few rows,
    whatever n is.
    """
    rows = n * most
    powers = _LEAST * _RATIO ** np.arange(max(math.log(max(rows, _LEAST) / _LEAST, _RATIO), 0.0))
    roots = (_STEP * np.arange(1.0, math.sqrt(min(rows, _LARGEST)) / _STEP)) ** 2
    points = np.union1d(np.linspace(0.0, rows, _EVEN), np.append(powers, roots))
    for last in (False, False, True):
        leakage = protection.atom_leakage(np.minimum(points / n, most), n)
        best = int(leakage.argmax())
        if not last:
            ends = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
            points = np.append(np.linspace(*ends, _BETWEEN), points[best])
    return float(leakage[best])


def _moved(report: TableReport, raw: ProtectedTable, name: str, moved: Pram) -> ProtectedTable:
    """The same for rows that are moved: of cells that all have many rows, all counts together."""
    frequencies = report.cell_counts / report.rows
    plug_in = mechanism_leakage(moved, frequencies, report.n)
    # As for cells on their own, the estimate is corrected for what the fit misses.
    scale = raw.value / raw.plug_in.upper if raw.plug_in.upper > 0 else 1.0
    cells = np.asarray(moved.atom_leakage(frequencies, report.n).upper)
    return ProtectedTable(
        protection=name,
        value=min(plug_in.upper * scale, raw.value),
        plug_in=plug_in,
        alone=None,
        alone_high=None,
        hidden=0.0,
        cell_leakage=cells,
    )


def _probabilities(law: CompletedLaw) -> FloatArray:
    """Those of the nodes of light cells, then of the heavy cells of each size."""
    return np.concatenate([law.nodes, law.sizes[law.heavy] / law.rows])


def _by_cell(law: CompletedLaw, leakage: FloatArray, counts: IntArray) -> FloatArray:
    """For each cell the mean leakage of rows whose cell has as many, from that at each node."""
    light = law.sizes[~law.heavy]
    weights = law.pmf[light - 1] * law.shares
    values = np.empty(len(law.sizes))
    values[~law.heavy] = weights @ leakage[: len(law.nodes)] / weights.sum(axis=1)
    values[law.heavy] = leakage[len(law.nodes) :]
    return np.asarray(np.clip(values[np.searchsorted(law.sizes, counts)], 0.0, 1.0))


def _lost(protection: CellMechanism, counts: IntArray) -> tuple[float | None, float | None]:
    lost = information_lost(protection, counts)
    return (None, None) if lost is None else (lost.hidden, lost.change)


def _of_sample(
    report: TableReport, population: PopulationReport, protections: Mapping[str, CellMechanism]
) -> tuple[ProtectedTable, ...]:
    """The same for a sample whose register is at hand: exact, by the count of a person's cell."""
    register, n = population.register, population.n
    people, where = np.unique(population.cell_people, return_inverse=True)
    cells = population.register_cells / register.people
    shown = population.cell_counts == 1  # rows alone in their cell of the table
    tables = []
    raw: dict[str, Any] = {"none: all counts as they are": Histogram()}
    lost: tuple[float | None, float | None]
    for name, each in [*raw.items(), *protections.items()]:
        plug_in = mechanism_leakage(each, register, n)
        if isinstance(each, Histogram):
            value, rows, lost = plug_in.lower, population.cell_leakage, (0.0, 0.0)
        else:
            atoms = each.atom_leakage(register, n)
            value = max(float(cells @ atoms), plug_in.lower)
            size, place = np.unique(population.register_cells, return_index=True)
            rows = atoms[place[np.searchsorted(size, people)]][where]
            lost = _lost(each, report.cell_counts)
        alone, high = None, None
        if shown.any():
            alone, high = float(rows[shown].mean()), float(rows[shown].max())
        table = ProtectedTable(
            protection=name,
            value=value,
            plug_in=plug_in,
            alone=alone,
            alone_high=high,
            hidden=lost[0],
            change=lost[1],
            kind="exact",
            cell_leakage=rows,
        )
        tables.append(table)
    return tuple(tables)


def _alone(law: CompletedLaw, leakage: FloatArray) -> float:
    """Mean leakage of the rows alone in their cells, given that at each node."""
    weights = law.pmf[0] * law.shares
    return float(weights @ leakage / weights.sum())


def _merged(report: TableReport, leakage: float) -> ProtectedTable:
    """Cells merged: neighbours, if they are the values of one column in their order."""
    order, ordered = _order(report)
    counts = report.cell_counts[order]
    law, n, budget = counts / report.rows, report.n, leakage
    for tries in range(_TRIES):
        groups = coarsen(law, n, budget, ordered=ordered)
        merged = np.bincount(groups.labels, counts).astype(np.int64)
        estimate = estimate_max_leakage(merged, n, confidence=report.estimate.confidence)
        if estimate.value <= leakage or groups.groups == 1:
            break
        # Rare cells leak more in the population than by the table's own frequencies.
        budget *= min(_NEXT, leakage / estimate.value) if tries < _TRIES - 2 else 0.0
    proved = groups.optimal and budget == leakage
    how = "fewest merges" if proved else "merges" if ordered else "merges found greedily"
    neighbours = " of neighbours" if ordered else ""
    alone = high = None
    cells = estimate_atom_leakage(merged, n, confidence=report.estimate.confidence)
    by_cell = np.empty(len(counts))
    by_cell[order] = cells.value[groups.labels]
    if report.n_unique:
        lone = groups.labels[counts == 1]
        alone, high = float(cells.value[lone].mean()), float(cells.high[lone].max())
    return ProtectedTable(
        protection=f"{len(law):,} cells merged to {groups.groups:,} ({how}{neighbours})",
        value=estimate.value,
        plug_in=mechanism_leakage(Histogram(), merged / report.rows, n),
        alone=alone,
        alone_high=high,
        groups=groups.groups,
        optimal=proved,
        cell_leakage=by_cell,
    )


def _order(report: TableReport) -> tuple[IntArray, bool]:
    """The cells in the order of their values, if these are numbers of one column; and whether."""
    cells = np.arange(report.n_cells)
    if len(report.columns) > 1:
        return cells, False
    values = [report.cell_values(cell)[report.columns[0]] for cell in cells.tolist()]
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        return cells, False
    return np.argsort(numbers, kind="stable"), True
