"""The cells of margins, and what these leak about each row for given frequencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    invalid,
    unsupported,
)
from mialeak.tables._cells import Cells, count_cells
from mialeak.tables._estimate import probability_range
from mialeak.tables._products import product_leakage
from mialeak.tables._sampling import leakage_at

__all__ = ["FEW", "MarginCells", "as_margins", "margin_cells"]

IntArray = npt.NDArray[np.int64]
Ends = tuple[FloatArray, FloatArray, FloatArray]
Codes = dict[Any, tuple[npt.NDArray[Any], int]]

#: The limit for many rows is rough for a cell in which a release expects fewer than this.
FEW = 10


@dataclass(frozen=True)
class MarginCells:
    """What the margins show of each cell of the table of all columns.

    `share` of the `rows`; `counts` of the cell of each margin that it lies in, (margins, cells);
    `widest`, the margins that no other one holds; `joint`, counts of the joint cell of all columns
    of the margins; `squares`, rows times the leakage score by the table's own frequencies, None
    where no limit is needed.
    """

    rows: int
    share: FloatArray
    counts: IntArray
    widest: tuple[int, ...]
    joint: IntArray
    squares: FloatArray | None
    independent: bool

    def by_frequencies(self, n: int) -> Ends:
        """Lower end, value and upper end if the table's own frequencies are the population."""
        scores = None if self.squares is None else self.squares / n
        return self._ends(n, lambda count: count / self.rows, scores)

    def by_others(self, n: int) -> Ends:
        """The same by the frequencies of the others, for each row; not for independent columns."""
        scores = None
        if self.squares is not None:
            from mialeak._numerics.leave_one_out import downdated

            # The scatter over n - 2, without the row: what leaving it out would give.
            squares = self.squares * ((self.rows - 2.0) / self.rows)
            scores = downdated(squares, self.rows) * (self.rows / n)
        return self._ends(n, lambda count: np.asarray((count - 1.0) / (self.rows - 1.0)), scores)

    def by_confidence(self, n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Range of the leakage for probabilities within their confidence intervals.

        Every margin has its share of what an end may miss, so that both ends hold together with
        `confidence` for each row.
        """
        level = self.shared(confidence)
        if self.independent:
            high = self._products(n, lambda count: probability_range(count, self.rows, level)[0])
            low = self._products(n, lambda count: probability_range(count, self.rows, level)[1])
            return low, high
        rarest = self.counts[list(self.widest)].min(axis=0)
        low = leakage_at(probability_range(rarest, self.rows, level)[1], n, 1.0)
        high = leakage_at(probability_range(self.joint, self.rows, confidence)[0], n, 1.0)
        return low, np.maximum(low, high)

    def shared(self, confidence: float) -> float:
        """The confidence of each of the widest margins with which all hold with `confidence`."""
        return 1.0 - (1.0 - confidence) / len(self.widest)

    def _ends(
        self, n: int, probability: Callable[[IntArray], FloatArray], scores: FloatArray | None
    ) -> Ends:
        if self.independent:
            value = self._products(n, probability)
            return value, value, value
        low = leakage_at(probability(self.counts[list(self.widest)].min(axis=0)), n, 1.0)
        if scores is None:
            return low, low, low
        # In both a row that no others can be like leaks 1, and rounding must not part the two.
        high = np.maximum(low, leakage_at(probability(self.joint), n, 1.0))
        from mialeak.tradeoff import GaussianTradeOff

        limit = np.asarray(GaussianTradeOff(np.sqrt(scores)).advantage)
        return low, np.clip(limit, low, high), high

    def _products(self, n: int, probability: Callable[[IntArray], FloatArray]) -> FloatArray:
        laws, places = [], []
        for margin in self.widest:
            sizes, place = np.unique(self.counts[margin], return_inverse=True)
            laws.append(probability(sizes))
            places.append(place)
        return product_leakage(laws, np.stack(places), n)


def as_margins(margins: Any, columns: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    """The columns of each margin; those must be among `columns`, unless that is None."""
    if not isinstance(margins, Iterable):
        rule = "be a sequence of columns and tuples of columns"
        invalid("margins", rule, value=margins, error=TypeError)
    given = [margins] if isinstance(margins, str) else list(margins)
    found = [tuple(each) if isinstance(each, (list, tuple)) else (each,) for each in given]
    if not found:
        invalid("margins", "name at least one margin")
    for place, margin in enumerate(found):
        if not margin:
            invalid("margins", "name at least one column each", index=place, value=margin)
        if len(set(margin)) < len(margin):
            invalid("margins", "name a column once each", index=place, value=margin)
        for name in margin:
            if columns is not None and name not in columns:
                invalid("margins", "name columns that are chosen", index=place, value=name)
    return found


def margin_cells(
    margins: Sequence[tuple[Any, ...]],
    codes: Codes,
    cells: Cells,
    *,
    independent: bool,
    progress: bool,
) -> tuple[MarginCells, list[Cells], IntArray]:
    """What `margins` show of each of the joint `cells` of the columns `codes`.

    Beside it the cells of each margin, and the counts of the joint cells of all their columns.
    """
    rows = len(cells.of_row)
    if rows < 3:
        invalid("frame", f"have at least 3 rows for margins, not {rows}")
    widest = _widest(margins)
    if independent:
        _require_apart([margins[k] for k in widest])
    columns = list(dict.fromkeys(name for margin in margins for name in margin))
    each = [count_cells([codes[name] for name in names], rows) for names in margins]
    joint = cells
    if len(columns) < len(codes):
        joint = count_cells([codes[name] for name in columns], rows)
    squares = None
    if len(widest) > 1 and not independent:
        from mialeak.means import margin_leakage_scores

        place = {name: k for k, name in enumerate(codes)}
        table = np.stack([column for column, _ in codes.values()], axis=1)
        indices = [[place[name] for name in margins[k]] for k in widest]
        scores = margin_leakage_scores(table, indices, leave_one_out=False, progress=progress)
        squares = rows * scores[cells.first_row]
    found = MarginCells(
        rows=rows,
        share=cells.counts / rows,
        counts=np.stack([own.counts[own.of_row[cells.first_row]] for own in each]),
        widest=widest,
        joint=joint.counts[joint.of_row[cells.first_row]],
        squares=squares,
        independent=independent,
    )
    return found, each, joint.counts


def _widest(margins: Sequence[tuple[Any, ...]]) -> tuple[int, ...]:
    """The margins whose columns are not all among those of another one; the first of equal ones."""
    sets = [frozenset(margin) for margin in margins]
    return tuple(
        k
        for k, one in enumerate(sets)
        if not any(one < other for other in sets) and one not in sets[:k]
    )


def _require_apart(margins: Sequence[tuple[Any, ...]]) -> None:
    seen: set[Any] = set()
    for margin in margins:
        for name in margin:
            if name in seen:
                remedy = "Without it, the leakage of such margins is enclosed"
                case = "for margins that share a column"
                unsupported("independent", case, f"{name!r} is in two", remedy)
        seen.update(margin)
