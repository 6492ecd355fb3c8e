"""Leakage of protected counts of people who were drawn from a register."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mialeak._arrays import as_count, unsupported
from mialeak.discrete import max_leakage
from mialeak.mechanisms._builtin import CellMechanism, Histogram, IntArray
from mialeak.mechanisms._cellwise import joint_size, joint_terms, register_cell_terms, total
from mialeak.populations import Register

__all__ = ["register_leakage"]

#: Cells and people of a register whose samples are enumerated, at most: each cell is an axis of an
#: array, and numbers of samples are floats.
_MOST_CELLS, _MOST_PEOPLE = 12, 1000


def register_leakage(
    mechanism: Any, register: Register, n: int | None, gamma: float, most: int
) -> tuple[float, float, str]:
    """Lower and upper bound of the average leakage, equal where it is exact; and the method.

    An enumeration may hold `most` numbers.
    """
    if not isinstance(mechanism, (CellMechanism, Histogram)):
        why = "its people are not independent rows"
        remedy = "Take Histogram() or a protection of counts such as Round(5), or a law for p"
        unsupported(f"{mechanism!r}", "for a Register", why, remedy, error=TypeError)
    raw = float(max_leakage(register, n, gamma=gamma))
    if isinstance(mechanism, Histogram):
        return raw, raw, "closed form"
    sizes, cells = register.cell_sizes, register.cells_per_size
    terms = register_cell_terms(mechanism, sizes, register, n, gamma)
    single = total(terms * cells * (sizes / register.people))
    if register.rate is not None:
        return single, single, "own cell"  # the other cells do not depend on the target's
    number = int(cells.sum())
    if number == 1:
        return 0.0, 0.0, "closed form"
    drawn = as_count(n, "n", least=1)
    countable = number <= _MOST_CELLS and register.people <= _MOST_PEOPLE
    if countable and joint_size(mechanism, number, drawn, most) <= most:
        exact = _enumerated(mechanism, register, np.repeat(sizes, cells), drawn, gamma)
        return exact, exact, "enumeration"
    return min(single, raw), raw, "own cell and raw counts"


def _enumerated(
    mechanism: CellMechanism, register: Register, sizes: IntArray, n: int, gamma: float
) -> float:
    """Leakage of n people drawn without replacement from cells of so many, all cells seen."""
    counts = np.indices((n + 1,) * len(sizes), sparse=True)
    weight = np.where(sum(counts) == n, 1.0, 0.0)
    for size, count in zip(sizes.tolist(), counts, strict=True):
        choose = [float(math.comb(size, h)) for h in range(n + 1)]
        weight = weight * np.array(choose)[count]
    weight /= float(math.comb(register.people, n))
    others = register.people - n
    scores = [
        count / n - gamma * (size - count) / others
        for size, count in zip(sizes.tolist(), counts, strict=True)
    ]
    return joint_terms(mechanism, weight, scores, n, gamma)
