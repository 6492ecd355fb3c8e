"""The outputs of a release: the people they are made of, which of them, and what is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, unsupported
from mialeak._columns import Factor, each_factor
from mialeak._fields import is_number, is_suppressed, suppressed_range
from mialeak._report.text import printable
from mialeak.mechanisms import CellMechanism, Geometric, RandomRound, Round, Suppress
from mialeak.releases._people import People, Where, conditions_in_words, is_quantity

__all__ = [
    "Output",
    "as_protection",
    "is_share",
    "mean_output",
    "share_output",
    "table_output",
    "total_output",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Decimals that make whole numbers of the values of a column, so that their sum is exact.
_DECIMALS = 4
#: Size below which a value is a whole number that sums of 2**20 people hold exactly.
_WHOLE = 2.0**31
#: How the names of means begin.
_MEAN = "mean"
#: Chance below which published counts are not those that a protection gave.
_CHANCE = 1e-9


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
    _totals: dict[tuple[int, ...], tuple[IntArray, IntArray, BoolArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def is_share(self) -> bool:
        """Whether the counts are those that the mean of a column of two values gives."""
        return bool(self.columns) and self.name.startswith(_MEAN)

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
        by = by or "number of people"
        by += " (two values: their counts)" * self.is_share
        conditions = conditions_in_words(people, self.where.masks, self.where)
        return f"{self.name}: {by}" + f", where {conditions}" * bool(self.where.masks)

    def totals(self, kept: tuple[int, ...]) -> tuple[IntArray, IntArray, BoolArray]:
        """The counts summed over all but the columns at these places; kept for the next call.

        The labels of the totals, -1 for the columns summed over; the total of each cell; and which
        totals follow from counts that are published as they are.
        """
        if kept not in self._totals:
            labels = np.full_like(self.labels, -1)
            labels[:, kept] = self.labels[:, kept]
            labels, place = np.unique(labels, axis=0, return_inverse=True)
            place = place.reshape(-1)
            hidden = np.bincount(place, ~self.exact, minlength=len(labels))
            self._totals[kept] = labels, place, hidden == 0
        return self._totals[kept]

    def scaled(self, name: str) -> IntArray | None:
        """The weights as whole numbers, if a power of 10 makes them so; None if none does.

        None of an estimate, whose sums are not published.
        """
        scale = self.scale(name)
        return None if scale is None else np.rint(self.weights[name] * scale).astype(np.int64)

    def scale(self, name: str) -> int | None:
        """The power of 10 that makes whole numbers of the weights, as `scaled` takes it."""
        if self.asymptotic:
            return None
        values = self.weights[name]
        for decimals in range(_DECIMALS + 1):
            whole = values * 10.0**decimals
            if np.abs(whole).max(initial=0.0) >= _WHOLE:
                return None
            if np.array_equal(np.rint(whole) / 10.0**decimals, values):
                return int(10**decimals)
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
    gaps = False
    if shown is None:
        exact, low, high = _seen(protect, counts, people.rows)
    else:
        published = _compared(people, columns, labels, counts, protect, shown)
        protect = published.protection(protect, counts)
        exact, low, high = _seen(protect, counts, people.rows)
        missing = published.count < 0
        if isinstance(protect, Suppress):
            missing &= protect.release(counts) >= 0  # a count that the protection hides is no gap
        if isinstance(protect, RandomRound):
            known = published.count >= 0
            low[known], high[known] = _unrounded(published.count[known], protect, people.rows)
        gaps = bool(missing.any())
        exact &= ~missing
        low[missing] = published.least[missing]
        high[missing] = np.minimum(published.most[missing], people.rows)
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
    """Which counts are shown, by themselves or by a mark, and the range of the others.

    The range of a count that is rounded at random is that of both multiples it may go to.
    """
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
        elif isinstance(protect, RandomRound):
            down = counts // protect.base * protect.base
            up = down + protect.base * (down < counts)
            low, high = _unrounded(down, protect, rows)[0], _unrounded(up, protect, rows)[1]
    low[exact] = high[exact] = counts[exact]
    return exact | (low == high), low, high


def _unrounded(shown: IntArray, protect: RandomRound, rows: int) -> tuple[IntArray, IntArray]:
    """The least and the largest count that may be rounded to `shown` at random."""
    return np.maximum(shown - protect.base + 1, 0), np.minimum(shown + protect.base - 1, rows)


@dataclass(frozen=True, eq=False)
class _Published:
    """What a published table states of each cell that has people.

    Attributes
    ----------
    count : (cells,) int64
        Its count in the table, -1 where it has none.
    least, most : (cells,) int64
        The counts that a hidden one may be: by its mark, such as "<5", or any.
    marked : (cells,) bool
        Whether a mark with a number stands in its place.
    zeros_shown, zeros_hidden : bool
        Whether 0 is published of a cell without people; whether the count of such a cell is hidden.
    """

    count: IntArray
    least: IntArray
    most: IntArray
    marked: BoolArray
    zeros_shown: bool
    zeros_hidden: bool

    def protection(self, protect: CellMechanism | None, counts: IntArray) -> CellMechanism | None:
        """`protect`, with zeros shown if they are; or suppression, if the marks state it."""
        if isinstance(protect, Suppress) and self.zeros_shown and not self.zeros_hidden:
            return replace(protect, zeros_shown=True)
        if protect is not None or not self.marked.any():
            return protect
        below = int(self.most[self.marked].min()) + 1
        by_rule = bool((self.most[self.marked] < below).all()) and below > 1
        if by_rule and np.array_equal(self.marked, counts < below):
            return Suppress(below, zeros_shown=bool((self.least[self.marked] > 0).all()))
        return None


def _rows_shown(
    people: People,
    columns: Sequence[Any],
    labels: IntArray,
    factors: Mapping[Any, Factor],
    amount: Factor,
) -> Iterator[tuple[Any, int | None]]:
    """Yield the count of each row of a published table, and its cell: None where nobody is."""
    index = {
        tuple(people.column(name).values[code] for name, code in zip(columns, row, strict=True)): k
        for k, row in enumerate(labels.tolist())
    }
    seen: set[int] = set()
    for row in range(len(amount.codes)):
        count = amount.value(int(amount.codes[row]))
        if isinstance(count, str):
            count = float(count) if is_number(count) else count.strip()
        values = (factors[name].value(int(factors[name].codes[row])) for name in columns)
        cell = index.get(tuple(values))
        if cell in seen:
            invalid("published", "hold each cell once", index=row)
        if cell is not None:
            seen.add(cell)
        yield count, cell


def _compared(
    people: People,
    columns: Sequence[Any],
    labels: IntArray,
    counts: IntArray,
    protect: CellMechanism | None,
    shown: Any,
) -> _Published:
    """The published table, whose counts must be those of the people.

    A count that a protection with noise made below 0 is 0 here.
    """
    factors = dict(each_factor(shown, None, argument="published"))
    counted = [name for name in factors if name not in columns]
    if len(counted) != 1 or len(factors) != len(columns) + 1:
        rule = "hold the columns of the table and one column of counts"
        invalid("published", rule, value=list(factors))
    published, marked = np.full(counts.size, -1), np.zeros(counts.size, np.bool_)
    least, most = np.zeros(counts.size, np.int64), np.full(counts.size, people.rows)
    wrong, zeros_shown, zeros_hidden = list[str](), False, False
    noisy: list[tuple[float, int]] = []
    every: list[tuple[float, bool, bool]] = []  # the count, whether it is wrong, and no cell's
    shown_rows = _rows_shown(people, columns, labels, factors, factors[counted[0]])
    for row, (count, cell) in enumerate(shown_rows):
        true = 0 if cell is None else int(counts[cell])
        is_mark = isinstance(count, str) and is_suppressed(count)
        if count is None or count == "" or is_mark:
            low, high = suppressed_range(count) if is_mark else (0, None)
            if not low <= true <= (people.rows if high is None else high):
                rule = (
                    f"have the counts of the people; row {row} holds {count!r} for {true:,} people"
                )
                invalid("published", rule)
            if cell is None:
                zeros_hidden = True
            elif high is not None:
                least[cell], most[cell], marked[cell] = low, high, True
            continue
        if not is_quantity(count):
            rule = f"hold counts; row {row} holds {count!r}"
            invalid("published", rule, remedy="Leave the field of a hidden count empty")
        wanted = true
        if protect and not protect.random and (true or not isinstance(protect, Suppress)):
            wanted = int(protect.release(np.array([true]))[0])
        if protect is None or not protect.random:
            if count != wanted:
                wrong.append(f"row {row} holds {count:,.15g} for {wanted:,}")
            every.append((count, bool(count != wanted), cell is None))
        else:
            noisy.append((float(count), true))
        if cell is None:
            zeros_shown |= count == 0
            continue
        published[cell] = max(0, int(min(count, 2.0**53)))
    if noisy:
        _require_noise(protect, *np.array(noisy).T)
    if wrong:
        after = f" after {protect!r}" if protect else ""
        rule = f"have the counts of the people{after}; {len(wrong):,} of its counts differ: "
        rule += wrong[0] + ", and so on" * (len(wrong) > 1)
        invalid("published", rule, remedy=_cause(np.array(every, np.float64), protect))
    if zeros_shown and not zeros_hidden:
        least = np.maximum(least, 1)  # a count that is hidden where zeros are shown is none
    return _Published(published, least, most, marked, zeros_shown, zeros_hidden)


def _cause(counts: FloatArray, protect: CellMechanism | None) -> str:
    """The probable cause of wrong counts: rows of a count, whether it is wrong, and no cell's."""
    published, wrong, is_absent = counts.T
    wrong_ones = published[wrong > 0]
    whole = published.astype(np.int64)
    base = int(np.gcd.reduce(whole)) if np.array_equal(whole, published) else 1
    if (is_absent[wrong > 0] > 0).all() and (wrong_ones > 0).all():
        return (
            "They are of values that nobody has, as those of totals are: write Total for such a "
            "value, so that the totals are counted as outputs of their own"
        )
    if not wrong_ones.any():
        return "They are 0: leave the field of a hidden count empty"
    if base > 1 and protect is None:
        return f"All are multiples of {base}: if they are rounded, pass protect='round:{base}'"
    return "Pass the people it was made from, the same where and the same protect"


def _require_noise(protect: Any, published: FloatArray, counts: FloatArray) -> None:
    """Refuse published counts that the protection of these counts would not give."""
    distance = np.abs(published - counts)
    if isinstance(protect, RandomRound):
        wrong = int(np.count_nonzero((distance >= protect.base) | (published % protect.base > 0)))
    elif isinstance(protect, Geometric):
        share = np.exp(-protect.epsilon)
        reach = 2.0 * share**distance / (1.0 + share)  # the chance of noise as large
        wrong = int(np.count_nonzero(reach < _CHANCE / counts.size))
        if not distance.any() and counts.size * np.log((1 - share) / (1 + share)) < np.log(_CHANCE):
            rule = f"have noise, as {protect!r} makes it; its counts are those of the people"
            invalid("published", rule, remedy="Leave protect out if they are published as they are")
    else:
        return
    if wrong:
        rule = f"have the counts of the people after {protect!r}; {wrong:,} of its counts cannot be"
        invalid("published", rule, remedy="Pass the people, the where and the protect of the table")


def total_output(people: People, number: int, where: Where, shown: float | None) -> Output:
    """The number of the people of `where`, which must be that in `shown`."""
    output = mean_output(people, number, "table", where, {})
    if shown != output.low[0]:
        remedy = "Pass the people it was made from, and the same where"
        invalid(
            "the total", f"be the number of people ({output.low[0]:,})", value=shown, remedy=remedy
        )
    return output


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


def is_share(people: People, name: Any, where: Where) -> bool:
    """Whether a column of numbers has two values that `where` admits, so that its mean is a share.

    Its number of people and its mean then give both counts: of a column of 0 and 1 the sum is one.
    """
    numbers = people.column(name).averaged()
    if numbers is None:
        return False
    admitted = numbers[where.masks.get(name, np.ones(numbers.size, np.bool_))]
    admitted = admitted[~np.isnan(admitted)]
    return bool(admitted.size == 2 and admitted[0] != admitted[1])


def share_output(people: People, number: int, name: Any, where: Where) -> Output:
    """The mean of a column of two values, as the counts of both that follow from it."""
    return replace(table_output(people, number, [name], where, None), name=f"{_MEAN} {number}")
