"""What several outputs of the same people leak together: the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_count
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Bounds, Estimate, Kind, Result
from mialeak.releases._accounts import (
    ReleaseAccount,
    ReleaseLeakage,
    account_of_law,
    account_of_sample,
)
from mialeak.releases._analysis import Analysis
from mialeak.releases._cautions import cautions_of_release
from mialeak.releases._design import MOST_ROWS
from mialeak.releases._document import assumed, document, panels
from mialeak.releases._explanations import Determined, determined_groups
from mialeak.releases._hidden_counts import HiddenCounts, Recovered, recovered_cells
from mialeak.releases._people import Column
from mialeak.tables import estimate_max_leakage

__all__ = [
    "OutputCost",
    "ReleaseReport",
    "RowInRelease",
    "cost_between",
    "report_of",
]

IntArray = npt.NDArray[np.int64]

#: Groups that are determined and hidden, of which a report holds the smallest.
_MOST_REPORTED = 50


@dataclass(frozen=True, repr=False)
class RowInRelease(Result):
    """A row of the people, and what all outputs together leak about it.

    Attributes
    ----------
    row : int
        Its place in the table of people.
    people : int
        People who are alike in every output, the row itself included.
    leakage : ReleaseLeakage
        For the population: that given, or the one that the people came from.
    plug_in : ReleaseLeakage
        If the people's own frequencies are the population; with a population given, that of it.
    values : dict
        The values of the columns that the outputs use: personal data.
    kind : str
        That of `leakage`.

    Examples
    --------
    >>> from mialeak import Release
    >>> release = Release({"sex": ["f"] * 9 + ["m"]})
    >>> release.add_table(["sex"])
    >>> row = release.leakage().riskiest(1)[0]
    >>> row.row, row.people, row.values, row.kind
    (9, 1, {'sex': 'm'}, 'estimate')
    """

    row: int
    people: int
    leakage: ReleaseLeakage
    plug_in: ReleaseLeakage
    values: dict[Any, Any]
    kind: Kind


@dataclass(frozen=True, repr=False)
class OutputCost(Result):
    """What one output adds to the others.

    Attributes
    ----------
    output : str
    without, together : ReleaseLeakage
        Leakage on average of the other outputs, and of these and the output.
    determined : int
        Groups below the threshold that are determined only with the output, and hidden counts whose
        range is shorter with it.
    explanations : tuple of str
        The combinations that determine the groups, of those that the report holds, and the ranges.
    kind : str
        That of `together`.

    Examples
    --------
    >>> from mialeak import Release
    >>> release = Release({"city": list("AAABB"), "age": [30, 40, 90, 30, 35]})
    >>> release.add_table(["city"])
    >>> cost = release.cost_of(["city"], where={"age": {"max": 80}})
    >>> cost.determined, cost.explanations
    (1, ('table 1 (city = A) minus table 2 (city = A, age <= 80)',))
    """

    output: str
    without: ReleaseLeakage
    together: ReleaseLeakage
    determined: int
    explanations: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, repr=False, eq=False)
class ReleaseReport(Report):
    """What several outputs of the same people leak together.

    Attributes
    ----------
    outputs : tuple of str
        The outputs in words.
    design : tuple of tuple
        For each output its name, the columns that it counts by, averages or estimates, and the
        columns that limit its people.
    rows : int
        People.
    people : int
        People of the register, and without one those of the release.
    n_counts : int
        Numbers published.
    n_cells : int
        Cells of the finest table that the outputs make.
    threshold : int
        Groups of fewer people are reported as small.
    small : int
        Published counts from 1 to below `threshold`.
    determined : tuple of Determined
        Small groups whose count follows from the outputs, though no output shows it: the 50 of
        fewest people.  They hold no smaller one.
    recovered : tuple of Recovered
        Suppressed or rounded counts that the outputs together narrow.
    row_cells : (rows,) ndarray of int64
        The cell of each row.
    population : ReleaseAccount
        What leads: the leakage for the population that was given, exact or bounds; otherwise, for
        the population that the people came from, ranges that hold with `confidence`.
    plug_in : ReleaseAccount
        The leakage if the people's own frequencies are the population, which is that of a census
        and usually too low for a sample.  With a population given, the same as `population`.
    joint : Estimate or None
        The leakage of the counts of all cells for the population that the people came from, which
        no function of these counts exceeds; None with a population given.
    confidence : float
        Nominal coverage of the ranges.
    cautions : tuple of str
        What was probably misunderstood, a sentence each: people who seem to be visits, cells or
        the same persons twice, and marks of missing values.
    caveats : tuple of str
        The cautions, and what the numbers rest on, a sentence each.
    kind : str
        "exact", "bound" or "estimate": that of the average.

    Examples
    --------
    >>> from mialeak import Release
    >>> release = Release({"city": list("AAABB"), "age": [30, 40, 90, 30, 35]})
    >>> release.add_table(["city"])
    >>> release.add_table(["city"], where={"age": {"max": 80}})
    >>> report = release.leakage()
    >>> report
    ReleaseReport(2 outputs; average=0.3772 in [0.09887, 0.983], determined=1)
    >>> report.determined[0].group, report.determined[0].people
    ('city = A, age > 80', 1)
    """

    outputs: tuple[str, ...]
    design: tuple[tuple[str, tuple[Any, ...], tuple[Any, ...]], ...]
    rows: int
    people: int
    n_counts: int
    n_cells: int
    threshold: int
    small: int
    determined: tuple[Determined, ...]
    recovered: tuple[Recovered, ...]
    row_cells: IntArray
    population: ReleaseAccount
    plug_in: ReleaseAccount
    joint: Estimate | None
    confidence: float
    cautions: tuple[str, ...]
    caveats: tuple[str, ...]
    _marks: IntArray = field(repr=False)
    _hidden: HiddenCounts = field(repr=False)
    _counts: IntArray = field(repr=False)
    _columns: tuple[Column, ...] = field(repr=False)
    kind: Kind = "bound"

    _title = "What these outputs leak together"

    @property
    def average(self) -> ReleaseLeakage:
        """Leakage of a random row, for the population."""
        return self.population.average

    @property
    def highest(self) -> ReleaseLeakage:
        """Leakage of the riskiest row, for the population."""
        return self.population.highest

    @property
    def row_leakage(self) -> Bounds:
        """Both ends of the leakage of each row for the population, ``(rows,)``."""
        return Bounds(self.population.low[self.row_cells], self.population.high[self.row_cells])

    @property
    def n_determined(self) -> int:
        """Small groups that follow from the outputs, with small hidden counts that do.

        A group whose count several outputs hide is one group.
        """
        return int(np.union1d(self._marks, self._exact_marks).size)

    @property
    def n_undecided(self) -> int:
        """Small hidden counts of which it is not known whether the outputs leave one value only.

        More than 0 only for tables of thousands of cells, whose ranges are not all computed.
        """
        people = self._hidden.undecided
        return int(np.count_nonzero((people > 0) & (people < self.threshold)))

    @property
    def _exact_marks(self) -> IntArray:
        """The marks of small hidden counts that are recovered."""
        hidden = self._hidden
        small = [x.kind == "exact" and 0 < x.people < self.threshold for x in hidden.cells]
        return hidden.marks[np.array(small, np.bool_)]

    @property
    def exact_share(self) -> float:
        """Share of the rows whose leakage by `plug_in` is exact."""
        return float(self._counts[self.plug_in.exact].sum()) / self.rows

    def riskiest(self, top: int | None = 10) -> tuple[RowInRelease, ...]:
        """The `top` rows of the largest leakage in the limit, then of the largest ends, in order.

        A mean raises no lower end, but the limit, of the rows that it is nearly made of.
        """
        top = self.rows if top is None else as_count(top, "top")
        cells, account = self.row_cells, self.population
        order = np.lexsort((-account.high[cells], -account.low[cells], -account.value[cells]))
        return tuple(self._row(int(row)) for row in order[:top])

    def _row(self, row: int) -> RowInRelease:
        cell = int(self.row_cells[row])
        leakage = self.population.of_cell(cell)
        return RowInRelease(
            row=row,
            people=int(self._counts[cell]),
            leakage=leakage,
            plug_in=self.plug_in.of_cell(cell),
            values={each.name: each.values[each.codes[row]] for each in self._columns},
            kind=leakage.kind,
        )

    def document(
        self, *, top: int = 10, show_rows: bool = False, contributions: Sequence[OutputCost] = ()
    ) -> Document:
        """The report as a document: the answer, the outputs, what is determined, rows at risk."""
        return document(self, top=top, show_rows=show_rows, contributions=contributions)

    def panels(self, limit: float | None = None) -> Sequence[Panel]:
        """What :meth:`plot` draws; `limit`: the largest leakage of a row that a gate accepts."""
        return panels(self, limit)

    def _table(self) -> dict[str, Any]:
        """The rows: both ends of their leakage and the limit for many people, in both accounts."""
        columns = {}
        for prefix, account in (("", self.population), ("plug_in_", self.plug_in)):
            for name in ("low", "value", "high"):
                columns[prefix + name] = getattr(account, name)[self.row_cells]
        return {**columns, "exact": self.plug_in.exact[self.row_cells]}

    def to_dict(self, *, top: int | None = 10, show_rows: bool = False) -> dict[str, Any]:
        """The report as plain values, ready for JSON: `top` rows at risk, and not the arrays."""
        names = ("kind", "rows", "people", "n_counts", "n_cells", "threshold", "small")
        rows = [row.to_dict() for row in self.riskiest(top)]
        for row in rows:
            row["values"] = {str(k): v for k, v in row["values"].items()} if show_rows else None
        return {
            **{name: getattr(self, name) for name in names},
            "outputs": list(self.outputs),
            "average": self.average.to_dict(),
            "highest": self.highest.to_dict(),
            "plug_in": {
                "average": self.plug_in.average.to_dict(),
                "highest": self.plug_in.highest.to_dict(),
            },
            "confidence": None if self.joint is None else self.confidence,
            "exact_share": self.exact_share,
            "joint": None if self.joint is None else self.joint.to_dict(),
            "determined": [each.to_dict() for each in self.determined],
            "recovered": [each.to_dict() for each in self.recovered],
            "riskiest": rows,
            "assumed": list(assumed(self)),
            "caveats": list(self.caveats),
        }

    def __repr__(self) -> str:
        average, count = self.average, len(self.outputs)
        if average.kind == "exact":
            shown = f"{average.value:.4g} exact"
        else:
            shown = f"{average.value:.4g} in [{average.low:.4g}, {average.high:.4g}]"
        several = "s" * (count != 1)
        return (
            f"ReleaseReport({count} output{several}; average={shown}, "
            f"determined={len(self.determined)})"
        )


# ---- from an analysis ----


def report_of(
    analysis: Analysis, threshold: int, confidence: float, attacks: int, unread: Sequence[str]
) -> ReleaseReport:
    """The report on the outputs of an analysis."""
    atoms, outputs, people = analysis.atoms, analysis.outputs, analysis.people
    plug_in = account_of_law(analysis, attacks)
    population, joint = plug_in, None
    if not people.in_register and not people.independent:
        counts = np.ones(analysis.n, np.int64) if analysis.separates else atoms.counts
        joint = estimate_max_leakage(counts, confidence=confidence)
        population = account_of_sample(analysis, joint, confidence)
    hidden = recovered_cells(analysis)
    determined, marks = determined_groups(analysis, threshold, _MOST_REPORTED)
    cautions = _not_read(unread)
    cautions += cautions_of_release(people, outputs, atoms.counts, atoms.mass, threshold)
    names = list(
        dict.fromkeys(name for each in outputs for name in [*each.columns, *each.where.masks])
    )
    return ReleaseReport(
        outputs=tuple(output.words(people) for output in outputs),
        design=tuple(
            (each.name, each.columns or tuple(each.weights), tuple(each.where.masks))
            for each in outputs
        ),
        rows=analysis.n,
        people=int(atoms.mass.sum()),
        n_counts=sum(each.n_cells + len(each.weights) for each in outputs),
        n_cells=int(atoms.first.size),
        threshold=threshold,
        small=analysis.small(threshold),
        determined=determined,
        recovered=hidden.cells,
        row_cells=atoms.of_row[: analysis.n],
        population=population,
        plug_in=plug_in,
        joint=joint,
        confidence=confidence,
        cautions=tuple(cautions),
        caveats=(
            *cautions,
            *_of_ends(population),
            *_caveats(analysis, hidden.complete, plug_in.kind, attacks, joint),
        ),
        _marks=marks,
        _hidden=hidden,
        _counts=atoms.counts,
        _columns=tuple(people.column(name) for name in names),
        kind=population.kind,
    )


def _of_ends(account: ReleaseAccount) -> list[str]:
    """Why the range of the average ends above that of the riskiest row, where it does."""
    if account.average.high <= account.highest.high:
        return []
    return [
        f"The range of the average ends above that of the riskiest row ({account.average.high:.3g} "
        f"and {account.highest.high:.3g}): it also holds for people who are unlike all of these "
        "rows, and it is computed from all counts together. A limit on the average is the stricter "
        "one here."
    ]


def _caveats(
    analysis: Analysis, complete: bool, kind: str, attacks: int, joint: Estimate | None
) -> list[str]:
    """What the numbers rest on."""
    outputs, sentences = analysis.outputs, []
    if analysis.people.in_register:
        sentences.append("The people are a sample of the register without replacement.")
    elif analysis.people.independent:
        sentences.append(
            "Leakage is for a population with the people's frequencies in each table, whose "
            "columns are independent given those that tables share."
        )
    else:
        sentences.append(
            "The people's own frequencies are the population of a census. Of a sample they make "
            "the leakage too low: a group of one person may be far rarer than one in all people."
        )
    if joint is not None and not joint.claimed:
        sentences.append(
            "No coverage is claimed for the range, since it was measured for tables of at least "
            "1,000 rows."
        )
    if kind != "exact":
        sentences.append(
            "Certified: at least what the best single count leaks, at most what the counts of all "
            "cells leak. Between them, the limit for many people in every cell (asymptotic)."
        )
        if attacks and analysis.can_attack:
            sentences.append(
                "The lower end of the rows at most risk is what an attack on all published counts "
                "achieves, if that is more."
            )
        elif attacks:
            sentences.append(
                "No attack was computed: that takes people who are no sample of a register, and at "
                f"most {MOST_ROWS:,} published counts."
            )
    protected = [each.name for each in outputs if each.protect is not None or each.gaps]
    if protected:
        sentences.append(
            f"The limit leaves out the protected counts ({', '.join(protected)}); the upper end "
            "takes them as they were before protection."
        )
    if any(each.asymptotic for each in outputs):
        sentences.append(
            "Estimates count by their influence functions in the limit (asymptotic), not in the "
            "lower end; the upper end takes them to depend on every person."
        )
    if not (analysis.design.complete and analysis.shown.complete):
        sentences.append(
            "There are too many published counts for the rank of the design: determined groups are "
            "those that follow from one count after the other, and the limit is not computed."
        )
    if not analysis.shown_groups.complete:
        sentences.append(
            "Groups that follow only by many columns at once, or by columns of many values, are "
            "not all looked at."
        )
    if not complete:
        sentences.append(
            "Of some tables the hidden counts are too many, or in too many cells: the ranges of "
            "those that no combination recovers are not all computed, or may be too wide."
        )
    return sentences


def _not_read(unread: Sequence[str]) -> list[str]:
    if not unread:
        return []
    return [
        f"Not read, and not counted in any leakage: {', '.join(unread)} of ACRO's results. If "
        "these show no numbers of the people, name the others as outputs."
    ]


def cost_between(words: str, before: ReleaseReport | None, after: ReleaseReport) -> OutputCost:
    """What an output adds, from the reports without it and with it."""
    none = ReleaseLeakage(0.0, 0.0, 0.0, "exact")
    added = after._marks if before is None else np.setdiff1d(after._marks, before._marks)
    named = zip(after.determined, np.isin(after._marks, added), strict=False)  # the first of them
    new = [each.explanation for each, is_new in named if is_new]
    ranges: dict[Any, tuple[int, int]] = {}
    known: set[int] = set()
    if before is not None:
        narrowed = zip(before._hidden.keys, before.recovered, strict=True)
        ranges = {key: (each.low, each.high) for key, each in narrowed}
        known = {*before._marks.tolist(), *before._exact_marks.tolist()}
    hidden = after._hidden
    recovered = [
        f"{each.output}, {each.cell}: between {each.low:,} and {each.high:,}"
        for key, mark, each in zip(hidden.keys, hidden.marks.tolist(), hidden.cells, strict=True)
        if ranges.get(key) != (each.low, each.high) and mark not in known
    ]
    return OutputCost(
        output=words,
        without=none if before is None else before.average,
        together=after.average,
        determined=added.size + len(recovered),
        explanations=(*new, *recovered),
        kind=after.kind,
    )
