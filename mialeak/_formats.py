"""Numbers and dates that a column writes in two ways, as where files of two sources were joined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from mialeak._arrays import listed
from mialeak._columns import Factor

__all__ = ["cautions_of_formats"]

#: A whole number with a word behind it.
_WITH_WORD = re.compile(r"(\d+)\s+([^\W\d_]{2,12})\.?")
#: Months and days, with the year first or last.
_YEAR_FIRST = re.compile(r"(19|20)\d\d([-/.])(0?[1-9]|1[0-2])(\2[0-3]?\d)?")
_YEAR_LAST = re.compile(r"([0-3]?\d([-/.]))?[0-3]?\d[-/.](19|20)\d\d")
#: Values of each way at least, and values of a column up to which they are looked at.
_FEWEST, _MOST = 3, 10_000


def cautions_of_formats(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for columns that write the same numbers, or dates, in two ways."""
    met = [name for name, factor in factors.items() if _is_written_twice(factor)]
    if not met:
        return []
    return [
        "Numbers with and without a word behind them, or dates with the year first and last, are "
        f"counted apart, in column {listed(met)}. If they mean the same, write them in the same "
        "way."
    ]


def _is_written_twice(factor: Factor) -> bool:
    levels = factor.levels
    if isinstance(levels, range) or (isinstance(levels, np.ndarray) and levels.dtype.kind != "O"):
        return False
    codes = np.flatnonzero(factor.rows_of_level)
    if not 2 * _FEWEST <= codes.size <= _MOST:
        return False
    values = {factor.value(code) for code in codes.tolist()}
    words = {value.strip() for value in values if isinstance(value, str)}
    dates = [sum(map(bool, map(way.fullmatch, words))) for way in (_YEAR_FIRST, _YEAR_LAST)]
    if min(dates) >= _FEWEST and sum(dates) == len(words):
        return True
    alike: defaultdict[str, int] = defaultdict(int)
    for part in filter(None, map(_WITH_WORD.fullmatch, words)):
        alike[part[2].casefold()] += part[1] in words
    return max(alike.values(), default=0) >= _FEWEST
