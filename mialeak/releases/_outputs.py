"""The outputs of a release: the people they are made of, which of them, and what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, listed, unsupported
from mialeak._columns import each_factor
from mialeak._fields import is_number
from mialeak._report.text import printable
from mialeak.mechanisms import CellMechanism, Round, Suppress
from mialeak.releases._people import People, Where, conditions_in_words, is_quantity
from mialeak.releases._plan import PublishedTable

__all__ = ["Output", "acro_outputs", "as_protection", "mean_output", "table_output"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Decimals that make whole numbers of the values of a column, so that their sum is exact.
_DECIMALS = 4
#: Size below which a value is a whole number that sums of 2**20 people hold exactly.
_WHOLE = 2.0**31


@dataclass(frozen=True, eq=False)
class Output:
    """One output: cells of a sub-population, or weights of its people.

    Attributes
    ----------
    name : str
        "table 2", "mean 3": its kind and its number in the order in which outputs were added.
    columns : tuple
    where : Where
    of_row : (people,) int64
        The cell of each person, -1 outside the sub-population.
    labels : (cells, columns) int64
        The code of each column in each cell.
    protect : CellMechanism or None
    exact : (cells,) bool
        Cells whose count is published as it is.
    low, high : (cells,) int64
        What is published of the counts of the others.
    always : bool
        Whether the counts are published as they are, whatever they are.
    gaps : bool
        Whether counts are missing from what was published, by a rule that is not known.
    weights : dict of (people,) float arrays
        What is summed over the people, for means and estimates.
    asymptotic : bool
        Whether an estimate is published in place of the sums, which agree with it for many people.
    """

    name: str
    columns: tuple[Any, ...]
    where: Where
    of_row: IntArray
    labels: IntArray
    protect: CellMechanism | None
    exact: BoolArray
    low: IntArray
    high: IntArray
    always: bool
    gaps: bool = False
    weights: dict[str, FloatArray] = field(default_factory=dict)
    asymptotic: bool = False

    @property
    def n_cells(self) -> int:
        """Counts published."""
        return len(self.labels)

    def masks(self, people: People, labels: Sequence[int] | None) -> dict[Any, BoolArray]:
        """For each column that matters to a count, the values of the people who are counted.

        `labels` has the code of each column, -1 for those that are summed over.
        """
        masks: dict[Any, BoolArray] = {}
        for name, code in zip(self.columns, labels or (), strict=labels is not None):
            if code >= 0:
                mask = np.zeros(len(people.column(name).values), np.bool_)
                mask[code] = True
                masks[name] = mask
        for name, mask in self.where.masks.items():
            masks[name] = mask & masks[name] if name in masks else mask
        return masks

    def words(self, people: People) -> str:
        """The output in words."""
        by = " by ".join(printable(name) for name in self.columns or self.weights)
        conditions = conditions_in_words(people, self.where.masks)
        return f"{self.name}: {by}" + f", where {conditions}" * bool(self.where.masks)

    def scaled(self, name: str) -> IntArray | None:
        """The weights as whole numbers, if a power of 10 makes them so; None if none does.

        None of an estimate, whose sums are not published.
        """
        if self.asymptotic:
            return None
        values = self.weights[name]
        for decimals in range(_DECIMALS + 1):
            whole = values * 10.0**decimals
            if np.abs(whole).max(initial=0.0) >= _WHOLE:
                return None
            rounded = np.rint(whole)
            if np.array_equal(rounded / 10.0**decimals, values):
                return rounded.astype(np.int64)
        return None


def as_protection(protect: Any, in_register: bool) -> CellMechanism | None:
    """`protect`, which must be None or a protection of each count by itself."""
    if protect is None:
        return None
    if not isinstance(protect, CellMechanism):
        rule = "be a protection of each count by itself, such as Round(5)"
        remedy = "For other procedures of one table use mechanism_leakage with a known law"
        invalid("protect", rule, value=protect, remedy=remedy, error=TypeError)
    if in_register:
        why = "the law of a protected count of a sample without replacement is not computed"
        unsupported("protect", "with population", why, "Leave population out")
    return protect


def table_output(
    people: People,
    number: int,
    columns: Sequence[Any],
    where: Where,
    protect: CellMechanism | None,
    shown: Any = None,
) -> Output:
    """The counts of the people of `where` by `columns`; `shown` is what was published of them."""
    chosen = [people.column(name) for name in columns]
    inside = np.flatnonzero(where.rows)
    place = np.zeros(inside.size, np.int64)
    for column in chosen:
        key = place * len(column.values) + column.codes[inside]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
    labels = np.stack([column.codes[inside[first]] for column in chosen], axis=1)
    of_row = np.full(where.rows.size, -1, np.int64)
    of_row[inside] = place
    counts = np.bincount(of_row[: people.rows] + 1, minlength=len(labels) + 1)[1:]
    exact, low, high = _seen(protect, counts, people.rows)
    gaps = False
    if shown is not None:
        published = _compared(people, columns, labels, counts, protect, shown)
        missing = ~published
        if isinstance(protect, Suppress):
            missing &= exact  # a count that the protection hides is no gap
        gaps = bool(missing.any())
        exact &= published
        low[missing], high[missing] = 0, people.rows
    return Output(
        name=f"table {number}",
        columns=tuple(columns),
        where=where,
        of_row=of_row,
        labels=labels,
        protect=protect,
        exact=exact,
        low=low,
        high=high,
        always=protect is None and not gaps,
        gaps=gaps,
    )


def _seen(
    protect: CellMechanism | None, counts: IntArray, rows: int
) -> tuple[BoolArray, IntArray, IntArray]:
    """Which counts are shown as they are, and the range of the others."""
    low, high = np.zeros(counts.size, np.int64), np.full(counts.size, rows)
    if protect is None:
        return np.ones(counts.size, np.bool_), counts.copy(), counts.copy()
    if isinstance(protect, Suppress):
        exact = protect.release(counts) >= 0
        low[~exact] = int(protect.zeros_shown)
        high[~exact] = protect.below - 1
    else:
        exact = np.zeros(counts.size, np.bool_)
        if isinstance(protect, Round):
            shown = protect.release(counts)
            low = np.maximum(shown - protect.base // 2, 0)
            high = np.minimum(shown + (protect.base - 1) // 2, rows)
    low[exact] = high[exact] = counts[exact]
    return exact, low, high


def _compared(
    people: People,
    columns: Sequence[Any],
    labels: IntArray,
    counts: IntArray,
    protect: CellMechanism | None,
    shown: Any,
) -> BoolArray:
    """Which cells have a count in the published table, which must be those of the people."""
    factors = dict(each_factor(shown, None, argument="published"))
    counted = [name for name in factors if name not in columns]
    if len(counted) != 1 or len(factors) != len(columns) + 1:
        rule = "hold the columns of the table and one column of counts"
        invalid("published", rule, value=list(factors))
    index = {
        tuple(people.column(name).values[code] for name, code in zip(columns, row, strict=True)): k
        for k, row in enumerate(labels.tolist())
    }
    published, amount, wrong = np.zeros(counts.size, np.bool_), factors[counted[0]], 0
    for row in range(len(amount.codes)):
        count = amount.value(int(amount.codes[row]))
        if count is None or count == "":
            continue
        if isinstance(count, str) and is_number(count):
            count = float(count)
        cell = index.get(
            tuple(factors[name].value(int(factors[name].codes[row])) for name in columns)
        )
        wanted = np.array([0 if cell is None else counts[cell]])
        if protect is not None and not protect.random:
            wanted = protect.release(wanted)
        differs = not is_quantity(count) or count != wanted[0]
        wrong += differs and not (protect is not None and protect.random)
        if cell is not None and published[cell]:
            invalid("published", "hold each cell once", index=row)
        if cell is not None:
            published[cell] = True
    if wrong:
        rule = f"have the counts of the people; {wrong:,} of its counts differ"
        remedy = "Pass the people it was made from, the same where and the same protect"
        invalid("published", rule, remedy=remedy)
    return published


def mean_output(
    people: People, number: int, kind: str, where: Where, weights: dict[str, FloatArray]
) -> Output:
    """Sums of `weights` over the people of `where`, and how many they are."""
    labels = np.zeros((1, 0), np.int64)
    of_row = np.where(where.rows, 0, -1)
    count = np.array([np.count_nonzero(where.rows[: people.rows])])
    return Output(
        name=f"{kind} {number}",
        columns=(),
        where=where,
        of_row=of_row,
        labels=labels,
        protect=None,
        exact=np.ones(1, np.bool_),
        low=count,
        high=count,
        always=True,
        weights=weights,
        asymptotic=kind == "estimate",
    )


# ---- tables of ACRO ----

#: What ACRO calls the totals of a table, where nobody has such a value.
_TOTALS = ("All", "Total")


def acro_outputs(people: People, table: PublishedTable, where: Any, before: int) -> list[Output]:
    """A table as ACRO published it, and its totals where they are published for themselves."""
    limits, parts = Where.of(people, where), list(zip(*table.counts, strict=True))
    names, words = [], []
    for name, values in zip(table.columns, parts, strict=True):
        levels = list(dict.fromkeys(values))
        names.append(_column_of(people, levels, names) if name is None else _named(people, name))
        words.append({_word(value): value for value in people.column(names[-1]).values})
    cells: dict[tuple[Any, ...], dict[tuple[Any, ...], float | None]] = {}
    for labels, count in table.counts.items():
        total = [
            (label in _TOTALS or not label) and label not in known
            for label, known in zip(labels, words, strict=True)
        ]
        kept = tuple(name for name, summed in zip(names, total, strict=True) if not summed)
        values = tuple(
            known.get(label, label)
            for label, known, summed in zip(labels, words, total, strict=True)
            if not summed
        )
        cells.setdefault(kept, {})[values] = count
    whole = cells.pop(tuple(names), {})
    outputs = []
    for kept, counts in [(tuple(names), whole), *cells.items()]:
        if kept and (kept == tuple(names) or not _are_sums(counts, whole, names, kept)):
            shown = {name: [cell[k] for cell in counts] for k, name in enumerate(kept)}
            column = max(("n", *map(str, kept)), key=len) + "_"  # none of their names
            shown[column] = list(counts.values())
            number = before + len(outputs) + 1
            outputs.append(table_output(people, number, kept, limits, None, shown))
    return outputs


def _are_sums(
    totals: Mapping[Any, float | None],
    cells: Mapping[tuple[Any, ...], float | None],
    names: Sequence[Any],
    kept: Sequence[Any],
) -> bool:
    """Whether totals are the sums of the cells that are shown, and so nothing new."""
    sums: dict[Any, float] = {}
    for cell, count in cells.items():
        label = tuple(cell[names.index(name)] for name in kept)
        sums[label] = sums.get(label, 0.0) + (count or 0.0)
    return all(count is None or sums.get(label, 0.0) == count for label, count in totals.items())


def _word(value: Any) -> str:
    """A value as a file has it."""
    return "" if value is None else str(value)


def _named(people: People, name: str) -> Any:
    """The column of the people that a file calls `name`."""
    same = [each for each in people.names if str(each) == name]
    if not same:
        remedy = "Pass the people that the outputs were made from"
        invalid("people", f"have the column {name!r} of the table", remedy=remedy)
    return same[0]


def _column_of(people: People, levels: Sequence[str], taken: Sequence[Any]) -> Any:
    """The only column of the people that has all these values, beside totals."""
    fitting = []
    for each in people.names:
        words = set(map(_word, people.column(each).values)) if each not in taken else set()
        if words and all(level in words or level in _TOTALS for level in levels):
            fitting.append(each)
    if len(fitting) != 1:
        having = f"{listed(fitting)} have them" if fitting else "none has them"
        rule = f"have one column with the values {listed(levels)} of the table; {having}"
        remedy = "ACRO does not write its name. Pass people without further columns of these values"
        invalid("people", rule, remedy=remedy)
    return fitting[0]
