"""A caution for columns that the rows of a table have centred."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, erf

from mialeak._arrays import FloatArray, Numbers

__all__ = ["cautions_of_centred"]

#: A mean that is nearer to 0 than this share of its standard error may have been made so, if the
#: probability of so many means that are so near is below e^-16.
_CENTRED, _SURPRISE = 0.02, 16.0
#: Means that are compared, the nearest ones; nearer ones than the least are 0 but for rounding.
_NEAREST, _LEAST = 32, 1e-12
#: They are so many times as many as chance gives on average, at least, since columns depend on one
#: another: of a few factors, all means are near to 0 together.
_TIMES = 100.0
#: Proportional columns are one: their distances differ by less.
_EQUAL = 1e-9
#: Rows by which the step of a column is found; errors of divisors of values of 64 and of 32 bits,
#: as shares of the largest value; and a step in these errors, at least.
_ROWS, _ERROR, _SINGLE, _STEP = 64, 1e-10, 3e-5, 10.0


def cautions_of_centred(matrix: Numbers) -> list[str]:
    """A caution for columns whose means over these rows are 0, nearer than chance leaves them.

    Of all the columns, so many have a mean that is so near to 0 with a binomial probability, at
    each of the nearest means, and more by a factor than on average, which is rare for columns that
    depend on one another too.  A mean of a column with few values is 0 by chance more often.
    """
    if matrix.dtype.kind != "f" or not matrix.size:
        return []
    rows = matrix.shape[0]
    error = matrix.std(axis=0, dtype=np.float64) / np.sqrt(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(matrix.mean(axis=0, dtype=np.float64)) / error
    near = np.flatnonzero(distance < _CENTRED)
    # A column of halves may be balanced by design, as one of -1 and 1 is.
    near = near[(matrix[:, near] % 0.5).any(axis=0)]
    every = near[np.argsort(distance[near], kind="stable")]
    near = _without_multiples(every, distance)
    if not near.size:
        return []
    columns = int((error > 0.0).sum())
    ranks = _ranks(near.size)
    chosen = near[ranks]
    steps = np.array([_step_of(matrix[:, j]) for j in chosen]) / (rows * error[chosen])
    chances = _chance(np.maximum(distance[chosen], _LEAST) + 0.5 * steps)
    tails = bdtrc(ranks, columns, chances) * len(ranks)
    tails[ranks + 1 < _TIMES * columns * chances] = 1.0
    if -math.log(max(float(tails.min()), 1e-300)) < _SURPRISE:
        return []
    centred = _centred_of(distance[every], columns, least=int(ranks[np.argmin(tails)]) + 1)
    which = f"{centred:,} columns have" if centred > 1 else "One column has"
    return [
        f"{which} the mean 0 over these rows, as after a scaler, ranks or components that were "
        "computed of them: such means are 0 whoever is in the table, and leak nothing. The answer "
        "is for columns that the rows do not centre: pass those whose means are published."
    ]


def _without_multiples(near: npt.NDArray[np.intp], distance: FloatArray) -> npt.NDArray[np.intp]:
    """One of each column and its multiples, whose means are as near; all that are 0."""
    away = distance[near]
    kept = np.diff(away, prepend=-1.0) > _EQUAL * away
    return near[kept | (away <= _LEAST)]


def _ranks(size: int) -> npt.NDArray[np.int64]:
    """The ranks, from 0, at which the number of near means is compared: the first ones, and few."""
    doubled = _NEAREST * 2 ** np.arange(1, 40)
    return np.unique(np.minimum([*range(1, _NEAREST + 1), *doubled], size)) - 1


def _chance(distance: FloatArray) -> FloatArray:
    """With which probability a mean is as near to 0, in standard errors."""
    return np.asarray(erf(distance / np.sqrt(2.0)), np.float64)


def _centred_of(distance: FloatArray, columns: int, *, least: int) -> int:
    """How many of the nearest means, rising, are far more than chance gives; `least` or more."""
    number = np.arange(1, distance.size + 1)
    rows = np.flatnonzero(number >= _TIMES * columns * _chance(distance))
    return max(least, int(rows[-1]) + 1 if rows.size else 0)


def _step_of(column: npt.NDArray[Any]) -> float:
    """The number of which all differences of values are multiples; 0 if there is none."""
    values = np.unique(column[:_ROWS].astype(np.float64))
    is_single = bool((values.astype(np.float32) == values).all())
    error = (_SINGLE if is_single else _ERROR) * float(np.abs(values).max())
    step = 0.0
    for gap in np.diff(values).tolist():
        while gap > error:
            step, gap = gap, abs(math.remainder(step, gap))
    return step if step >= _STEP * error else 0.0
