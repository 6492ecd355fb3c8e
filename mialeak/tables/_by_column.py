"""What single columns do: a table's leakage without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._cells import codes_of, count_cells, summed
from mialeak._columns import Factor
from mialeak._report.document import Notes, Section, Table
from mialeak._report.text import number, printable
from mialeak._results import Kind, Result
from mialeak.discrete import max_leakage
from mialeak.populations import Register
from mialeak.tables._estimate import estimate_max_leakage

if TYPE_CHECKING:
    from mialeak.tables._report import TableReport

__all__ = [
    "ColumnEffect",
    "column_effects",
    "is_shown",
    "merged_counts",
    "section_of_columns",
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
    claimed = report.estimate.claimed
    ends = f"{100 * report.estimate.confidence:g}% interval" if claimed else "rough range"
    header = ("leakage", *(() if exact else (ends,)), "cells", "without")
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
