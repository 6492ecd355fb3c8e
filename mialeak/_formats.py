"""Numbers, dates and genotypes that a column writes in two ways, as where two files were joined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from mialeak._arrays import listed
from mialeak._columns import Factor

__all__ = ["cautions_of_formats", "turned_pair"]

#: A whole number with a word behind it.
_WITH_WORD = re.compile(r"(\d+)\s+([^\W\d_]{2,12})\.?")
#: Months and days, with the year first or last.
_YEAR_FIRST = re.compile(r"(19|20)\d\d([-/.])(0?[1-9]|1[0-2])(\2[0-3]?\d)?")
_YEAR_LAST = re.compile(r"([0-3]?\d([-/.]))?[0-3]?\d[-/.](19|20)\d\d")
#: An allele: a letter, bases, or a name with a digit as e3, *17 or A*02:01.
_ALLELE = r"(?:[A-Z]|[ACGT]{1,12}|(?=[^\d/]*\d)[A-Za-z]{0,5}\d{0,2}\*?\d[\w:]{0,11})"
#: The two alleles of a person, whose order is not known.
_GENOTYPE = re.compile(rf"({_ALLELE})/({_ALLELE})")
#: What stands for a missing genotype.
_NO_GENOTYPE = frozenset(["./.", "-/-", "0/0", "na", "nan", "?", "."])
#: Values of each way at least, and values of a column up to which they are looked at.
_FEWEST, _MOST = 3, 10_000


def cautions_of_formats(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for columns that write the same numbers, or dates, in two ways."""
    turned = {name: pair for name, each in factors.items() if (pair := _turned_genotype(each))}
    cautions = []
    if turned:
        one, other = next(iter(turned.values()))
        cautions.append(
            f"{one!r} and {other!r} are counted apart, in column {listed(turned)}. If they are the "
            "two alleles of a person in any order, write them in one order."
        )
    met = [name for name, factor in factors.items() if _is_written_twice(factor)]
    if not met:
        return cautions
    return [
        *cautions,
        "Numbers with and without a word behind them, or dates with the year first and last, are "
        f"counted apart, in column {listed(met)}. If they mean the same, write them in the same "
        "way.",
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


def turned_pair(word: str) -> str:
    """The same two alleles in the other order; the word itself if it has not two."""
    parts = re.split(r"([/|: ])", word)
    return "".join(reversed(parts)) if len(parts) == 3 else word[::-1]


def _turned_genotype(factor: Factor) -> tuple[str, str] | None:
    """Two values that are one genotype with its alleles in both orders; None if there are none.

    All values are genotypes, and one at least of two equal alleles.
    """
    levels = factor.levels
    if isinstance(levels, range) or (isinstance(levels, np.ndarray) and levels.dtype.kind != "O"):
        return None
    codes = np.flatnonzero(factor.rows_of_level)
    if not 3 <= codes.size <= _MOST:
        return None
    values = [factor.value(code) for code in codes.tolist()]
    words = [value.strip() for value in values if isinstance(value, str)]
    genotypes = [word for word in words if word and word.lower() not in _NO_GENOTYPE]
    parts = [part for part in map(_GENOTYPE.fullmatch, genotypes) if part]
    if len(parts) < max(len(genotypes), 3) or all(part[1] != part[2] for part in parts):
        return None
    if all(part[1].isdecimal() for part in parts):  # days and months, or results of games
        return None
    met = set(genotypes)
    pairs = (
        (part[0], f"{part[2]}/{part[1]}")
        for part in parts
        if part[1] != part[2] and f"{part[2]}/{part[1]}" in met
    )
    return next(pairs, None)
