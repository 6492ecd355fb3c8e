"""Sums of values of a column in other values of it, by codes, and by two levels of areas.

Each function returns the values that are sums, and the logarithm of the odds against a coincidence.
The counts of values are compared by sums with random weights, modulo 2**64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._cells import summed
from mialeak._columns import Factor

__all__ = ["MOST_LEVELS", "keys_of", "log_counts", "sums_of_codes", "sums_of_levels"]

IntArray = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Levels of a column up to which sums of a part of them are looked for; those from which two levels
#: of areas are, the share of these with counts of their own, and the first word of a name.
MOST_LEVELS, _FEWEST_AREAS, _DIFFERENT = 400, 12, 0.75
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def sums_of_codes(
    factor: Factor,
    levels: npt.NDArray[Any],
    size: int,
    group: IntArray,
    counts: IntArray,
    new: Flags,
) -> tuple[list[int], float]:
    """Levels whose code is the beginning of those that they are sums of: A, A01."""
    shown = np.unique(levels[levels < len(factor.levels)]).tolist()
    names = sorted((str(factor.value(level)), level) for level in shown)
    if not 3 <= len(names) <= MOST_LEVELS:
        return [], 0.0
    sums = keys_of(levels, size, group, counts)
    odds = log_counts(levels, size, counts, new) - math.log(len(names))
    met = []
    for place, (name, level) in enumerate(names):
        parts: list[tuple[str, int]] = []  # directly below it
        for other in names[place + 1 :]:
            if not other[0].startswith(name):
                break
            if not (parts and other[0].startswith(parts[-1][0])):
                parts.append(other)
        if len(parts) > 1 and sums[[part for _, part in parts]].sum() == sums[level]:
            met.append(level)
    return met, float(np.maximum(odds[met], 0.0).sum())


def sums_of_levels(
    factor: Factor, levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray
) -> tuple[list[int], float]:
    """All regions, where their states stand in the same column: both have everybody.

    The regions are the first or the last of the rows, or all or none of the states have the same
    first word.  That a part of the levels has half of the n persons of a group is a coincidence
    with odds against it of about n in one group, and of sqrt(n) in each other one.  Levels of which
    many have equal counts have them by design, as the arms of a trial.
    """
    order = levels[np.sort(np.unique(levels, return_index=True)[1])]
    if not _FEWEST_AREAS < order.size <= MOST_LEVELS:
        return [], 0.0
    keys = keys_of(levels, size, group, counts)
    if np.unique(keys[order]).size < _DIFFERENT * order.size:
        return [], 0.0
    sums = summed(group, counts, int(group.max()) + 1)
    odds = 0.5 * float(np.log(sums).sum()) + 0.5 * math.log(int(sums.max()))
    keys = keys[order]
    for candidates, part in _two_levels(factor, order, keys):
        if 1 < part.sum() < order.size - 1 and keys[part].sum() == keys[~part].sum():
            regions = part if 2 * part.sum() <= order.size else ~part
            return order[regions].tolist(), max(odds - math.log(candidates), 0.0)
    return [], 0.0


def _two_levels(
    factor: Factor, order: npt.NDArray[Any], keys: IntArray
) -> Iterator[tuple[int, Flags]]:
    """Parts of the levels that may be one level of areas, and how many parts were candidates.

    Those with the same first word, and the first levels of the table if they have half of `keys`.
    """
    missing = len(factor.levels)
    values = [None if code == missing else factor.value(code) for code in order.tolist()]
    words = [_FIRST_WORD.match(str(value)) for value in values]
    names = np.array([word[0].lower() if word else "" for word in words])
    shown, times = np.unique(names, return_counts=True)
    common = shown[times > 1]
    for word in common:
        yield common.size, names == word
    upto = np.cumsum(keys)
    for place in np.flatnonzero(upto + upto == upto[-1]).tolist():
        yield order.size, np.arange(order.size) <= place


def log_counts(
    levels: npt.NDArray[Any], size: int, counts: IntArray, new: Flags
) -> npt.NDArray[np.float64]:
    """The logarithm of the odds against what a sum is being that of each level by chance."""
    return np.asarray(np.bincount(levels[new], np.log(counts[new]), minlength=size), np.float64)


def keys_of(levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray) -> IntArray:
    """Sums of the counts of each level with random weights, modulo 2**64."""
    weights = np.random.default_rng(0).integers(2**62, size=int(group.max()) + 1, dtype=np.int64)
    return summed(levels, weights[group] * counts, size)
