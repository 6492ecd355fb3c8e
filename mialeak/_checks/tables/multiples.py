"""Signs that each person has several rows: combinations that are there in multiples of a number.

A person who has k rows, for visits, years or waves, has the same sex and year of birth in each: the
combinations of such columns are there in multiples of k, in whatever order the rows are, and what
changes from row to row hides that in the combinations of all columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import codes_of, joint_sums
from mialeak._checks.samples import COPIED
from mialeak._columns import Factor

__all__ = ["cautions_of_multiples"]

IntArray = npt.NDArray[np.int64]

#: Columns up to which they are looked for.
_MOST_COLUMNS = 200
#: Rows of a person at most: larger numbers are those of a design, as of pupils in each school.
_MOST_ROWS = 60
#: Chance of numbers as even as those of a design, which has as many rows in each cell, or nearly.
_EVEN = 0.01


def cautions_of_multiples(every: Mapping[Any, Factor], counts: IntArray | None) -> list[str]:
    """A sentence if the joint values of some columns are there in multiples of a number of rows.

    `every` are the columns of the rows or, with their `counts`, of cells.
    """
    names, copies = _columns_in_multiples(every, counts) if every else ([], 1)
    if not names:
        return []
    return [
        f"Each combination of the values of column {listed(names)} is there {copies:,} times, or a "
        f"multiple of it, as if each person had {copies:,} rows (years, waves or visits). If so, "
        "pass one row a person."
    ]


def _columns_in_multiples(
    every: Mapping[Any, Factor], counts: IntArray | None
) -> tuple[list[Any], int]:
    """The columns, of which none determines all others, and the number; none if it may be chance.

    A divisor k of all of m numbers is there by chance with a probability of about ``k**(1 - m)``.
    Columns that make this smaller are taken in turn, those of most values first.
    """
    if not 1 < len(every) <= _MOST_COLUMNS:
        return [], 1
    candidates = {}
    for name, factor in every.items():
        if counts is None:
            times = np.append(factor.rows_of_level, factor.n_missing)
        else:
            times = joint_sums([codes_of(factor)], counts)
        if int(np.gcd.reduce(times)) > 1 and len(set(times[times > 0].tolist())) > 1:
            candidates[name] = np.count_nonzero(times)
    if len(candidates) < 2:
        return [], 1
    if counts is None:
        counts = np.ones(len(next(iter(every.values())).codes), np.int64)
    names: list[Any] = []
    times, surprise = np.ones(1, np.int64), 0.0
    for name in sorted(candidates, key=lambda each: -candidates[each]):
        sums = joint_sums([codes_of(every[key]) for key in [*names, name]], counts)
        gained = (sums.size - 1) * math.log(int(np.gcd.reduce(sums)))
        if gained > surprise:
            names, times, surprise = [*names, name], sums, gained
    copies = int(np.gcd.reduce(times))
    is_crossed = names and times.size > max(candidates[name] for name in names)
    by_chance = surprise < math.log(len(every)) - math.log(COPIED)
    if not is_crossed or by_chance or copies > _MOST_ROWS or _are_even(times // copies):
        return [], 1
    return names, copies


def _are_even(persons: IntArray) -> bool:
    """Whether numbers differ less than those of persons who fall into equally likely cells.

    Cells without a person are not seen: the numbers of the others are those of a Poisson law
    without 0, of mean m = rate/(1 - exp(-rate)) and variance m (1 + rate - m).
    """
    from scipy.special import chdtr, lambertw

    mean = float(persons.mean())
    rate = float((mean + lambertw(-mean * math.exp(-mean))).real)
    variance = mean * (1.0 + rate - mean)
    distance = float(np.square(persons - mean).sum())
    return persons.min() == persons.max() or bool(
        chdtr(persons.size - 1, distance / variance) < _EVEN
    )
