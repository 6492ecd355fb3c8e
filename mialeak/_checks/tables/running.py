"""Counts that are running totals: each includes those of the rows before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import codes_of, count_cells
from mialeak._checks.tables.counts import numbers_of
from mialeak._columns import Factor

__all__ = ["cautions_of_running"]

IntArray = npt.NDArray[np.int64]

#: Fewest steps, and the odds against that none is down from which counts are running totals.
_FEWEST_STEPS, _ODDS = 20, 1e7
#: Values for each row, at most, where several groups share most of them.
_SHARED = 0.6


def cautions_of_running(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if the counts of a table never fall, where those of persons would by chance.

    `categories` and `counts` are those of the cells, in the order of the table.  The rows of each
    combination of some columns are compared with the one before.  The others stand in one order in
    all of them, or in their own: a table that is sorted by its counts has neither.
    """
    names = list(categories)
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    sets = [[key for key in names if key != name] for name in names]
    sets += [names[:k] for k in range(len(names) - 1) if names[:k] not in sets]
    for within in sets:
        over = [name for name in names if name not in within]
        group = count_cells([codes[name] for name in within], counts.size).of_row
        over_place = count_cells([codes[name] for name in over], counts.size).of_row
        rows = np.argsort(group, kind="stable")
        inside = np.flatnonzero(np.diff(group[rows]) == 0)
        one, next_one = rows[inside], rows[inside + 1]
        if one.size < _FEWEST_STEPS or (counts[next_one] < counts[one]).any():
            continue
        if _log_odds(over_place[one], counts[one], counts[next_one]) < math.log(_ODDS):
            continue
        if not _in_order(categories, over, over_place, one, next_one):
            continue
        of = f", of each value of {listed(within)}," if within else ""
        return [
            f"The counts over {listed(over)}{of} never fall from row to row in {one.size:,} steps, "
            "of which many are so small that some would fall by chance: they seem to be running "
            "totals, each with the persons of the rows before it. Pass the counts of the rows "
            "alone (their differences)."
        ]
    return []


def _log_odds(place: IntArray, counts: IntArray, next_counts: IntArray) -> float:
    """The logarithm of the odds that a step of counts would be down, if they rise as they do.

    Of a step of z standard deviations, or its opposite, with z for its mean, the odds are
    ``exp(-2 z**2)`` to 1 that it is down.  Steps that are those of other values by design, and
    those of 0, count once and never.
    """
    steps = np.unique(np.stack([place, counts, next_counts]), axis=1)[1:].astype(np.float64)
    up = steps[1] > steps[0]
    squares = (steps[1] - steps[0]) ** 2 / (steps[1] + steps[0])
    return float(np.log1p(np.exp(-2.0 * squares[up])).sum())


def _in_order(
    categories: Mapping[Any, Factor],
    over: list[Any],
    place: IntArray,
    one: IntArray,
    next_one: IntArray,
) -> bool:
    """Whether the values of columns stand in one order in several groups, or in their own.

    `place` numbers them as they are first shown.
    """
    if np.unique(place).size <= _SHARED * place.size:
        return bool((place[next_one] > place[one]).all())
    factor = categories[over[0]]
    numbers = numbers_of(factor)
    values: Any = [str(factor.value(code)) for code in range(len(factor.levels))]
    values = np.array(values) if numbers is None else numbers
    if factor.n_missing:
        return False
    shown = values[factor.codes]
    return bool((shown[next_one] >= shown[one]).all())
