"""Rows of a value, or of a part of a name, that are as alike as those of one person are."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray, listed
from mialeak._checks.names import is_group_name, is_household_name, is_person_name
from mialeak._checks.samples import (
    LEVEL,
    are_days,
    correlation_within,
    variances_of_groups,
)
from mialeak._columns import Factor
from mialeak._fields import as_numbers

__all__ = ["VISITS", "cautions_of_alike_rows", "quoted", "ranks_of", "sharing_a_part"]

IntArray = npt.NDArray[np.integer[Any]]

#: Fewest values that are compared, of a column of any name and of one that is called by a noun for
#: a person; rows of a value of which rows are visits, on average, and rows in all at most.
_FEWEST, _FEWEST_NAMED, VISITS, _MOST_ROWS = 20, 5, 10, 2**17
#: Fewest measures in which they are alike, of few rows a value and of more, and different values of
#: each; correlation of two rows of a value from which they are so.
_FEWEST_ALIKE, _FEWEST_OF_LONG, _FEWEST_MEASURED = 2, 3, 10
_ALIKE, _ALIKE_OF_LONG = 0.5, 0.25
#: Parts of a name: between separators, and runs of digits and of letters; parts looked at.
_PARTS = (re.compile(r"[^\W_]+"), re.compile(r"\d+|[^\W\d_]+"))
_MOST_PARTS = 12
#: Variance of the difference of two ranks that are rounded to one place: 2 / 12.
_VARIANCE_OF_PLACE = 1.0 / 6.0

_OF_PERSON = "as those of a person are."


def cautions_of_alike_rows(
    names: Mapping[Any, Factor], published: Mapping[Any, Factor], chosen: Container[Any]
) -> list[str]:
    """A caution for a column whose rows of one value differ little in what is published.

    Parameters
    ----------
    names : mapping
        The columns that may name persons, those that are `chosen` (left out) by any name.
    published : mapping
        The columns that may be measures.

    Notes
    -----
    Up to ten rows of a value, on average, are taken for visits of a person if two rows of a value
    are correlated by more than 1/2 in half of the measures.  More rows are alike in schools and
    regions as well: these are so in all measures, by more than 1/4, and the column is not named as
    such a group; with a noun for a person as its name, any correlation that is no chance suffices.
    Columns that are constant within values are those of groups, and no measures.  Of numbers
    neighbours must differ too: a column that rises with a measure names no persons.
    """
    ranks = {name: place for name, each in published.items() if (place := ranks_of(each)).size}
    if len(ranks) < _FEWEST_ALIKE:
        return []
    for name, factor in names.items():
        if factor.n_missing or is_household_name(name):
            continue
        is_noun = is_person_name(name)  # those of identifiers have a caution by their name
        shown = factor.n_values
        if shown == len(factor.codes):
            cautions = _of_parts(name, factor, ranks)
            if cautions:
                return cautions
        elif (name in chosen or (is_noun and shown < _FEWEST)) and not are_days(factor):
            others = {key: place for key, place in ranks.items() if key != name}
            alike = _alike_in(factor.codes, others, name, _order(factor), is_noun)
            if alike:
                return [
                    f"Rows of one value of column {quoted(name, published)} are alike in "
                    f"column {listed(alike)}, {_OF_PERSON}"
                ]
    return []


def quoted(name: Any, published: Container[Any]) -> str:
    """A column, and whether it is left out."""
    return repr(name) if name in published else f"{name!r}, which is left out,"


def _alike_in(
    codes: IntArray,
    ranks: Mapping[Any, FloatArray],
    name: Any,
    order: IntArray | None = None,
    is_noun: bool = False,
) -> list[Any]:
    """The measures in which rows of one code are alike, if these are as many as of persons."""
    rows, groups = codes.size, int(np.count_nonzero(np.bincount(codes)))
    if not (_FEWEST_NAMED if is_noun else _FEWEST) <= groups < rows:
        return []
    is_long = rows > VISITS * groups
    if is_long and is_group_name(name) and not is_noun:
        return []
    shares = {key: _correlation(place, codes, order) for key, place in ranks.items()}
    if is_long:  # what is constant within values describes a group
        shares = {key: share for key, share in shares.items() if share < 1.0}
    least = 0.0 if is_noun else _ALIKE_OF_LONG if is_long else _ALIKE
    alike = [key for key, share in shares.items() if share > least]
    if is_long and not is_noun:
        return alike if len(alike) == len(shares) >= _FEWEST_OF_LONG else []
    return alike if len(alike) >= max(_FEWEST_ALIKE, len(shares) / 2) else []


def _of_parts(name: Any, factor: Factor, ranks: Mapping[Any, FloatArray]) -> list[str]:
    """A caution for names that differ in each row, of which rows that share a part are alike.

    As P17_T0.bam and P17_T1.bam share P17, whatever stands before and behind it.
    """
    if are_days(factor):  # which are alike where they follow one another
        return []
    for codes, (one, other) in sharing_a_part(factor):
        alike = _alike_in(codes, ranks, name)
        if alike:
            return [
                f"Names in column {name!r} that agree in a part, such as {one!r} and {other!r}, "
                f"have rows that are alike in column {listed(alike)}, as samples or visits of a "
                f"person are: {codes.size:,} rows have {np.unique(codes).size:,} such parts."
            ]
    return []


def sharing_a_part(factor: Factor) -> Iterator[tuple[IntArray, list[str]]]:
    """Codes of the parts that names of rows share, and two names that do; none of other columns."""
    rows = len(factor.codes)
    if not _FEWEST < rows <= _MOST_ROWS or factor.n_missing or factor.rows_of_level.max() > 1:
        return
    if not isinstance(factor.value(0), str):
        return
    words = [factor.value(code) for code in factor.codes.tolist()]
    for codes in _stems(words):
        order = np.argsort(codes, kind="stable")
        first = int(np.flatnonzero(np.diff(codes[order]) == 0)[0])
        yield codes, sorted(words[row] for row in order[first : first + 2].tolist())


def _stems(words: Sequence[str]) -> Iterator[IntArray]:
    """The codes of each range of parts of names that several rows share."""
    met = set()
    for pattern in _PARTS:
        parts = [pattern.findall(word) for word in words]
        fewest = min(map(len, parts))
        if not max(map(len, parts)) > 1 or not fewest or fewest > _MOST_PARTS:
            continue
        for aligned in (range(fewest), range(-fewest, 0)):
            coded = [np.unique([part[k] for part in parts], return_inverse=True) for k in aligned]
            varied = [codes for values, codes in coded if values.size > 1]
            for start, end in combinations(range(len(varied) + 1), 2):
                codes = varied[start]
                for more in varied[start + 1 : end]:
                    pairs = codes * np.int64(more.max() + 1) + more
                    codes = np.unique(pairs, return_inverse=True)[1]
                groups = int(codes.max()) + 1
                key = (groups, codes[: _FEWEST * VISITS].tobytes())
                if _FEWEST <= groups < len(words) and key not in met:
                    met.add(key)
                    yield codes


def ranks_of(factor: Factor, fewest: int = _FEWEST_MEASURED) -> FloatArray:
    """The ranks of the numbers of a measure without a missing value; empty for other columns.

    A measure has `fewest` different numbers at least.
    """
    levels = as_numbers(factor.levels, text=isinstance(factor.value(0), str))
    rows = factor.rows_of_level
    if levels is None or factor.n_missing or np.count_nonzero(rows) < fewest:
        return np.zeros(0)
    order = np.argsort(np.asarray(levels, np.float64), kind="stable")
    ranks = np.empty(len(levels))
    ranks[order] = np.cumsum(rows[order]) - rows[order] / 2.0
    return ranks[factor.codes]


def _order(factor: Factor) -> IntArray | None:
    """The codes in the order of their numbers; None if they are words."""
    levels = as_numbers(factor.levels, text=isinstance(factor.value(0), str))
    if levels is None:
        return None
    order = np.argsort(np.asarray(levels, np.float64), kind="stable")
    return np.asarray(order[factor.rows_of_level[order] > 0])


def _correlation(ranks: FloatArray, codes: IntArray, order: IntArray | None) -> float:
    """The correlation of two rows of one code, 0 if it may be chance.

    Ranks are known to one place: a few pairs of rows that agree differ by less than they may.
    """
    sizes = np.bincount(codes)
    rows, groups = codes.size, np.count_nonzero(sizes)
    between, inside = variances_of_groups(ranks, codes)
    within = max(inside, _VARIANCE_OF_PLACE)
    if order is not None:
        means = (np.bincount(codes, ranks) / np.maximum(sizes, 1))[order]
        steps = float(np.square(np.diff(means)).mean())
        if steps < float(np.var(means)):  # twice the variance if numbers are in random order
            return 0.0
    share = correlation_within(between, within, sizes) if inside else 1.0
    chance = float(special.fdtrc(groups - 1.0, rows - groups, between / max(within, 1e-300)))
    return share if chance < LEVEL else 0.0
