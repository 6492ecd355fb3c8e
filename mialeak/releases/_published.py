"""Published tables with their totals, which are outputs of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mialeak._arrays import invalid
from mialeak._checks.names import WORDS_OF_TOTALS
from mialeak._columns import each_factor
from mialeak._fields import is_number
from mialeak._report.text import printable
from mialeak.mechanisms import CellMechanism
from mialeak.releases._outputs import Output, mean_output, table_output
from mialeak.releases._people import People, Where

__all__ = ["are_sums", "published_outputs"]

#: The counts of cells: their values, and what is published of each.
Cells = list[tuple[tuple[Any, ...], Any]]


def published_outputs(
    people: People,
    before: int,
    columns: Sequence[Any],
    where: Where,
    protect: CellMechanism | None,
    shown: Any,
) -> list[Output]:
    """The table `shown`, and its totals by fewer columns where these do not follow from its counts.

    A total has a value such as "Total", which nobody has, in the columns that are summed over.
    """
    parts, name = _split(people, columns, shown)
    if not parts:
        return [table_output(people, before + 1, columns, where, protect, shown)]
    whole = parts.pop(tuple(columns), [])
    outputs = [_output(people, before + 1, tuple(columns), where, protect, whole, name)]
    known = {cell: _number(count) for cell, count in whole}
    for kept, cells in parts.items():
        places = [list(columns).index(each) for each in kept]
        if are_sums({cell: _number(count) for cell, count in cells}, known, places):
            continue
        rule, number = protect, before + len(outputs) + 1
        if not kept:
            outputs += _everyone(people, number, where, protect, cells)
            continue
        as_it_is = table_output(people, number, kept, where, None)
        counts = as_it_is.low.tolist()
        labels = [
            tuple(people.column(each).values[code] for each, code in zip(kept, row, strict=True))
            for row in as_it_is.labels.tolist()
        ]
        true = dict(zip(labels, counts, strict=True))
        if all(_number(count) == true.get(cell, 0) for cell, count in cells):
            rule = None  # exact totals of protected counts
        try:
            outputs.append(_output(people, number, kept, where, rule, cells, name))
        except ValueError as error:
            by = " by ".join(map(printable, kept))
            raise ValueError(f"of the totals by {by}: {error}") from error
    return outputs


def are_sums(
    totals: Mapping[Any, float | None],
    cells: Mapping[tuple[Any, ...], float | None],
    places: Sequence[int],
) -> bool:
    """Whether totals by the columns at `places` are the sums of the cells that are shown.

    They are nothing new then.
    """
    sums: dict[Any, float] = {}
    for cell, count in cells.items():
        label = tuple(cell[place] for place in places)
        sums[label] = sums.get(label, 0.0) + (count or 0.0)
    return all(count is None or sums.get(label, 0.0) == count for label, count in totals.items())


def _split(
    people: People, columns: Sequence[Any], shown: Any
) -> tuple[dict[tuple[Any, ...], Cells], Any]:
    """The cells of a published table by the columns that are not summed over; the counts' name.

    None if it has no totals, or is no such table, which :func:`table_output` refuses.
    """
    factors = dict(each_factor(shown, None, argument="published"))
    counted = [name for name in factors if name not in columns]
    if len(counted) != 1 or len(factors) != len(columns) + 1:
        return {}, None
    summed = {}
    for name in columns:
        values = set(people.column(name).values)
        words = [factors[name].value(code) for code in range(len(factors[name].levels))]
        summed[name] = {
            word
            for word in words
            if isinstance(word, str)
            and word not in values
            and word.strip().lower() in WORDS_OF_TOTALS
        }
    if not any(summed.values()):
        return {}, None
    parts: dict[tuple[Any, ...], Cells] = {}
    amount = factors[counted[0]]
    for row in range(len(amount.codes)):
        cell = {name: factors[name].value(int(factors[name].codes[row])) for name in columns}
        kept = tuple(name for name in columns if cell[name] not in summed[name])
        count = amount.value(int(amount.codes[row]))
        parts.setdefault(kept, []).append((tuple(cell[name] for name in kept), count))
    return parts, counted[0]


def _output(
    people: People,
    number: int,
    columns: tuple[Any, ...],
    where: Where,
    protect: CellMechanism | None,
    cells: Cells,
    name: Any,
) -> Output:
    shown = {each: [cell[k] for cell, _ in cells] for k, each in enumerate(columns)}
    shown[name] = [count for _, count in cells]
    return table_output(people, number, columns, where, protect, shown)


def _everyone(
    people: People, number: int, where: Where, protect: CellMechanism | None, cells: Cells
) -> list[Output]:
    """The number of people of `where`, if it is the total that is published; that of all is known.

    A protected total is left out: nothing that is certain follows from it.
    """
    inside = int(np.count_nonzero(where.rows[: people.rows]))
    total = next((each for _, count in cells if (each := _number(count)) is not None), None)
    if total not in (None, inside) and protect is None:
        invalid("published", f"have the number of the people, {inside:,}, as total", value=total)
    is_known = not where.masks or total != inside
    return [] if is_known else [mean_output(people, number, "table", where, {})]


def _number(count: Any) -> float | None:
    """A count as a number; None for one that is hidden."""
    return float(count) if count is not None and is_number(str(count)) else None
