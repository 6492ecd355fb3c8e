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

#: Fewest steps, and the least odds against no step down with which counts are running totals.
_FEWEST_STEPS, _ODDS = 20, 1e7
#: Different values, as a share of the rows, up to which groups share enough to show one order.
_SHARED = 0.6


def cautions_of_running(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if the counts of a table never fall, where those of persons would by chance.

    `categories` and `counts` are those of the cells, in the order of the table.  Each row is
    compared with the one before it in the same group, a combination of values of some columns.  The
    other columns have one order in all groups, or are sorted: those of a table that is sorted by
    its counts do not.
    """
    names = list(categories)
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    sets = [[key for key in names if key != name] for name in names]
    sets += [names[:k] for k in range(len(names) - 1) if names[:k] not in sets]
    for within in sets:
        group = count_cells([codes[name] for name in within], counts.size).of_row
        rows = np.argsort(group, kind="stable")
        inside = np.flatnonzero(np.diff(group[rows]) == 0)
        one, next_one = rows[inside], rows[inside + 1]
        if one.size < _FEWEST_STEPS or (counts[next_one] < counts[one]).any():
            continue
        over = [name for name in names if name not in within]
        place = count_cells([codes[name] for name in over], counts.size).of_row
        if _log_odds(place[one], counts[one], counts[next_one]) < math.log(_ODDS):
            continue
        if not _in_order(categories[over[0]], place, one, next_one):
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
    """The logarithm of the odds against no step of counts of persons being down by chance.

    A step up by z standard deviations was one of z or of -z: by its density with the other sign as
    the mean, the odds are ``exp(-2 z**2)`` to 1 that it would be down.  Equal steps at one place,
    which are so by design, are taken once, and steps of 0 never.
    """
    steps = np.unique(np.stack([place, counts, next_counts]), axis=1)[1:].astype(np.float64)
    low, high = steps[:, steps[1] > steps[0]]
    return float(np.log1p(np.exp(-2.0 * (high - low) ** 2 / (high + low))).sum())


def _in_order(factor: Factor, place: IntArray, one: IntArray, next_one: IntArray) -> bool:
    """Whether the values of columns have one order in all groups, or the first is sorted in each.

    `place` numbers the values in the order in which the table shows them first.  Where most values
    have one row, the groups share too few of them to show a common order.
    """
    if np.unique(place).size <= _SHARED * place.size:
        return bool((place[next_one] > place[one]).all())
    if factor.n_missing:
        return False
    numbers = numbers_of(factor)
    values: Any = np.array(list(map(str, factor.values))) if numbers is None else numbers
    shown = values[factor.codes]
    return bool((shown[next_one] >= shown[one]).all())
