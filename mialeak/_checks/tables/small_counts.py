"""Small counts that a table lacks: left out, or changed to zero and larger ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._columns import Factor

__all__ = ["cautions_of_small_counts"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Smallest counts that offices publish.
_THRESHOLDS = range(2, 21)
#: The cells near the smallest count from which one suspects it by the combinations without a count
#: (more in a table of one column), for thresholds from `_FIRST` on; and how much larger the largest
#: count is.
_FEWEST_NEAR, _FEWEST_CROWDED, _FIRST, _SPREAD = 8, 12, 3, 10

#: The log of how much less likely the table is if smaller counts are shown too than if not: 2 of
#: 27,000 whole tables were, of Poisson counts with equal means, or means of gamma, lognormal,
#: geometric and bimodal laws, or with crossed columns.
_UNLIKELY = -math.log(1e4)
#: The counts that are compared are below this multiple of the smallest, and so many at least: laws
#: of two parameters hold for counts of one size.
_TIMES, _FEWEST_SIZES = 3, 4
#: Newton's steps at most, how far one is halved, and the gain of the last.
_STEPS, _HALVED, _GAIN = 100, 2.0**-20, 1e-4


def cautions_of_small_counts(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if the small counts seem to be left out; arguments of `cautions_of_counts`."""
    least = int(counts.min())
    if least not in _THRESHOLDS or not (_lacks(counts) or _lacks_cells(categories, counts)):
        return []
    absent = "1" if least == 2 else f"between 1 and {least - 1}"
    near = np.count_nonzero(counts < 2 * least)
    return [
        f"No count is {absent}, and {near:,} are between {least} and {2 * least - 1}: small counts "
        "seem to be left out, or changed to 0 or larger ones. Their persons leak most; pass the "
        "table before suppression. If values were merged until no count was smaller, the answer "
        "holds."
    ]


def _lacks(counts: IntArray) -> bool:
    """Whether a table with so many counts of each size would have smaller ones.

    The cells with k persons, of those of about one size, are as many as ``k**a b**k`` for some a
    and b: laws of counts are close to one of these, those that spread less than Poisson's too.  If
    the smallest count is the first of the law, the likelihood of the table is larger than if 1 is.
    """
    least = int(counts.min())
    end = max(_TIMES * least, least + _FEWEST_SIZES)
    cells = np.bincount(counts[counts < end], minlength=end)[1:].astype(np.float64)
    sizes = np.arange(1.0, end)
    powers = np.column_stack([np.log(sizes), sizes / least])
    cut = _log_likelihood(powers[least - 1 :], cells[least - 1 :])
    return _log_likelihood(powers, cells) - cut < _UNLIKELY


def _log_likelihood(powers: FloatArray, cells: FloatArray) -> float:
    """The largest log likelihood of a law with the log weights ``powers @ (a, log b)``."""
    seen, number = cells @ powers, float(cells.sum())
    at, value = np.zeros(2), -number * math.log(cells.size)
    for _ in range(_STEPS):
        weights = np.exp(powers @ at - np.max(powers @ at))
        weights /= weights.sum()
        mean = weights @ powers
        spread = (powers - mean).T @ ((powers - mean) * weights[:, None])
        step = np.linalg.solve(number * spread + 1e-9 * np.eye(2), seen - number * mean)
        part, before = 1.0, value
        while part >= _HALVED:
            tried = at + part * step
            value = float(seen @ tried - number * np.logaddexp.reduce(powers @ tried))
            if value >= before:
                break
            part /= 2.0
        else:
            return before
        at = tried
        if value - before < _GAIN:
            break
    return value


def _lacks_cells(categories: Mapping[Any, Factor], counts: IntArray) -> bool:
    """Whether the smallest counts are as many as the combinations of values without a count.

    Cells that were left out are such combinations: about as many as the counts up to twice the
    smallest.  In a table of one column, which does not show them, the small counts must crowd near
    the smallest.  Of 28,000 whole tables of Poisson counts whose means had gamma laws none of
    several columns, and 0.1 % of those of one, were taken for cut.
    """
    least = int(counts.min())
    near = counts[counts < 2 * least]
    halved = int(np.count_nonzero(2 * near < 3 * least))
    if least < _FIRST or len(near) < _FEWEST_NEAR or 2 * halved < len(near):
        return False
    sizes = [len(np.unique(factor.codes[factor.codes >= 0])) for factor in categories.values()]
    if int(counts.max()) < _SPREAD * least:
        return False
    if len(sizes) > 1:
        return 2 * (math.prod(sizes) - len(counts)) >= len(near)
    return len(near) >= _FEWEST_CROWDED and 3 * halved >= 2 * len(near)
