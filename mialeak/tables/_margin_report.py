"""From margins to the report on them: the two accounts, and the average for the population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._columns import Factor
from mialeak._results import Kind
from mialeak.tables._cells import Cells
from mialeak.tables._estimate import estimate_max_leakage
from mialeak.tables._margin_cells import FEW, Codes, Ends, MarginCells, margin_cells
from mialeak.tables._margins import Margin, MarginAccount, MarginLeakage, MarginReport
from mialeak.tables._sampling import leakage_at

__all__ = ["margin_report"]

IntArray = npt.NDArray[np.int64]


def margin_report(
    margins: Sequence[tuple[Any, ...]],
    codes: Codes,
    cells: Cells,
    values: dict[Any, Factor],
    *,
    row_cells: IntArray,
    n: int,
    confidence: float,
    independent: bool,
    progress: bool,
) -> MarginReport:
    """The report on the margins of a table whose columns are `codes` and whose cells `cells`."""
    found, each, joint = margin_cells(
        margins, codes, cells, independent=independent, progress=progress
    )
    counts = [own.counts for own in each]
    rows = found.rows
    plug_in = _plug_in(found, n)
    return MarginReport(
        margins=tuple(
            Margin(
                columns=names,
                cells=len(own),
                least=int(own.min()),
                few=int(np.count_nonzero(own * (n / rows) < FEW)),
            )
            for names, own in zip(margins, counts, strict=True)
        ),
        rows=rows,
        n=n,
        confidence=confidence,
        independent=independent,
        row_cells=row_cells,
        population=_population(found, plug_in, counts, joint, n, confidence),
        plug_in=plug_in,
        _cells=found,
        _values=values,
    )


def _plug_in(cells: MarginCells, n: int) -> MarginAccount:
    low, value, high = cells.by_frequencies(n)
    kinds = np.full(low.size, "asymptotic")
    kinds[(value == low) | (value == high)] = "bound"
    kinds[low == high] = "exact"
    kind: Kind = "exact" if cells.squares is None else "asymptotic"
    average = MarginLeakage(
        low=float(cells.share @ low),
        value=float(cells.share @ value),
        high=float(cells.share @ high),
        kind=kind,
    )
    return MarginAccount(average, low, value, high, kinds, kind)


def _population(
    cells: MarginCells,
    plug_in: MarginAccount,
    counts: list[IntArray],
    joint: IntArray,
    n: int,
    confidence: float,
) -> MarginAccount:
    low, high = cells.by_confidence(n, confidence)
    value = plug_in.value if cells.independent else cells.by_others(n)[1]
    value = np.clip(value, low, high)
    average = _average(cells, counts, joint, n, confidence, (low, value, high))
    kinds = np.full(low.size, "estimate")
    return MarginAccount(average, low, value, high, kinds, "estimate")


def _average(
    cells: MarginCells,
    counts: list[IntArray],
    joint: IntArray,
    n: int,
    confidence: float,
    ends: Ends,
) -> MarginLeakage:
    """Leakage of a random row for the population.

    Of margins that one of them holds, the estimate of that table; of others, at least that of the
    single margin that leaks most and at most that of the joint counts.  The ends share what the
    interval may miss.  Of independent margins the mean of the rows' ranges, widened by the
    standard error of a mean over rows.
    """
    value = float(cells.share @ ends[1])
    if len(cells.widest) == 1:
        estimate = estimate_max_leakage(counts[cells.widest[0]], n, confidence=confidence)
        return MarginLeakage(estimate.low, estimate.value, estimate.high, "estimate")
    if cells.independent:
        variance = float(cells.share @ (ends[1] - value) ** 2) / cells.rows
        error = -float(special.ndtri((1.0 - confidence) / 2.0)) * math.sqrt(variance)
        low, high = (float(cells.share @ end) for end in (ends[0], ends[2]))
        return MarginLeakage(max(0.0, low - error), value, min(1.0, high + error), "estimate")
    level = cells.shared(confidence)
    single = [counts[k] for k in cells.widest]
    leaks = [own @ leakage_at(own / cells.rows, n, 1.0) for own in single]
    low = estimate_max_leakage(single[int(np.argmax(leaks))], n, confidence=level).low
    high = estimate_max_leakage(joint, n, confidence=confidence).high
    low = min(low, high)
    return MarginLeakage(low, min(max(value, low), high), high, "estimate")
