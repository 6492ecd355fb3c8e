"""Columns whose mean is the same whoever is in the table: centred, ranked, or scaled to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, erf

from mialeak._arrays import FloatArray, Numbers

__all__ = ["cautions_of_centred", "cautions_of_scaled", "columns_of_rows"]

#: Means and standard deviations to which scores are scaled: of IQ, T, PISA, stens, stanines.
_SCALES = (
    *((100.0, 15.0), (100.0, 16.0), (100.0, 10.0), (100.0, 20.0), (50.0, 10.0), (500.0, 100.0)),
    *((500.0, 110.0), (10.0, 3.0), (5.5, 2.0), (5.0, 2.0)),
)
#: A column is scaled if chance makes mean and deviation as near to such ones more rarely than this.
_CHANCE = 1e-6
#: Largest distance of a number from a line in its rank, as a share of the range, and of the
#: variance from that of equal steps; fewest different numbers, and share of the
#: rows where each has as many.
_STRAY, _EVEN, _FEWEST, _DIFFERENT = 1e-6, 0.1, 20, 0.5

#: Columns that are copied at once.
_BLOCK = 16


def cautions_of_scaled(matrix: npt.NDArray[np.generic]) -> list[str]:
    """A caution for columns that are ranks of these rows, or were scaled to a mean over them."""
    if matrix.dtype.kind != "f" or matrix.shape[0] < _FEWEST or not matrix.size:
        return []
    moments, ranks = [], []
    for first in range(0, matrix.shape[1], _BLOCK):
        block = matrix[:, first : first + _BLOCK].astype(np.float64)
        moments.append((block.mean(axis=0), block.std(axis=0)))
        width = np.maximum(block.max(axis=0) - block.min(axis=0), 1e-300)
        likely = np.abs(12.0 * (moments[-1][1] / width) ** 2 - 1.0) < _EVEN
        ranks += [first + k for k in np.flatnonzero(likely).tolist() if _are_ranks(block[:, k])]
    mean, std = np.concatenate(moments, axis=1)
    scaled = np.zeros(mean.size, np.bool_)
    likely = np.flatnonzero(_are_scaled(mean, std, matrix.shape[0], steps=np.zeros(mean.size)))
    if likely.size:
        steps = np.array([_step_of(matrix[:, j]) for j in likely])
        scaled[likely] = _are_scaled(mean[likely], std[likely], matrix.shape[0], steps=steps)
    count = len(ranks) + int(np.count_nonzero(scaled))
    if not count:
        return []
    one = ranks[0] if ranks else int(np.argmax(scaled))
    what = "ranks or numbers of these rows" if ranks else "scores scaled to it"
    which = f"{count:,} columns have a mean" if count > 1 else "One column has a mean"
    return [
        f"{which} that is the same whoever is in the table, as {what} have (mean {mean[one]:.6g}, "
        f"standard deviation {std[one]:.4g}): such means leak nothing. The answer is for columns "
        "that are not scaled by these rows: pass those whose means are published."
    ]


def _are_scaled(
    mean: FloatArray, std: FloatArray, rows: int, *, steps: FloatArray
) -> npt.NDArray[np.bool_]:
    """Whether mean and standard deviation are nearer to those of a scale than chance leaves them.

    Over rows of a population that was scaled the mean has a standard error, and the deviation too.
    Where values are in steps both have steps as well, and chance meets those of a scale exactly.
    """
    error, spread = std / np.sqrt(rows), std / np.sqrt(2.0 * rows)
    centre, width = np.array(_SCALES).T[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.maximum(np.abs(mean - centre), _LEAST * error) + 0.5 * steps / rows
        near = np.minimum(0.8 * away / error, 1.0)
        sample = np.abs(std * np.sqrt(rows / (rows - 1.0)) - width)
        off = np.minimum(np.abs(std - width), sample) + 0.5 * steps**2 / (rows * std)
        met = near * np.minimum(1.6 * off / spread, 1.0) * len(_SCALES) < _CHANCE
    return np.asarray(met.any(axis=0) & (std > 0.0), np.bool_)


def _are_ranks(column: npt.NDArray[np.generic]) -> bool:
    """Whether numbers are on a line in their ranks, ties by the mean of theirs.

    Whole numbers from one to the next, in as many rows each, may number these, or persons: other
    cautions name them.
    """
    values, times = np.unique(column, return_counts=True)
    if values.size < _FEWEST or (values.size < _DIFFERENT * column.size and np.ptp(times) == 0):
        return False
    ranks = np.cumsum(times) - 0.5 * (times - 1.0)
    numbers = values.astype(np.float64)
    step = (numbers[-1] - numbers[0]) / (ranks[-1] - ranks[0])
    is_count = numbers[0] % 1.0 == 0.0 and numbers[1] - numbers[0] == 1.0
    if is_count and np.ptp(times) == 0:
        return False
    off = np.abs(numbers - numbers[0] - step * (ranks - ranks[0]))
    return bool(off.max() <= _STRAY * (numbers[-1] - numbers[0]))


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
#: Rows of other values than the first by which the step of a column is found; errors of divisors of
#: values of 64 and of 32 bits, as shares of the largest value; and the least step in such errors.
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
    # Of columns with large steps, such as balanced ones, the exact mean 0 is no small chance.
    chances = np.sort(_chance(np.maximum(distance[chosen], _LEAST) + 0.5 * steps))
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
    places = np.flatnonzero(number >= _TIMES * columns * _chance(distance))
    return max(least, int(places[-1]) + 1 if places.size else 0)


def _step_of(column: npt.NDArray[Any]) -> float:
    """The number of which all differences of values are multiples; 0 if there is none."""
    others = column[column != column[0]][:_ROWS]
    values = np.unique(np.append(others, column[0]).astype(np.float64))
    is_single = bool((values.astype(np.float32) == values).all())
    error = (_SINGLE if is_single else _ERROR) * float(np.abs(values).max())
    step = 0.0
    for gap in np.diff(values).tolist():
        while gap > error:
            step, gap = gap, abs(math.remainder(step, gap))
    return step if step >= _STEP * error else 0.0


#: Rounding of a mean of 0, for each row's share, and of other numbers of a scaler.
_ROUNDING, _SCALER = 1e-13, 1e-9
#: Different numbers of a column that no design balances: of standard deviation 1, and of any.
_LEVELS, _BALANCED = 6, 20
#: Values that are multiples of this share of 1 may be shares that are rounded, or of a few items.
_SHARE = 1e-4
_FROM_0_TO_1 = "the least value 0 and the largest value 1"


def columns_of_rows(columns: Mapping[Any, FloatArray]) -> dict[str, list[Any]]:
    """Columns that a scaler computed from these very rows, by what it made of them.

    None that a design may have so: of few values, on a grid that holds 0, or symmetric to 0.  One
    from 0 to 1 may hold shares: so must be all columns but one, which is the response.
    """
    kinds: dict[str, list[Any]] = {}
    for name, column in columns.items():
        kind = _kind_of(column) if column.size > 2 else ""
        if kind:
            kinds.setdefault(kind, []).append(name)
    if sum(column.min() < 0.0 or column.max() > 1.0 for column in columns.values()) > 1:
        kinds.pop(_FROM_0_TO_1, None)
    return kinds


@np.errstate(over="ignore", invalid="ignore")
def _kind_of(column: FloatArray) -> str:
    n, low, high = column.size, float(column.min()), float(column.max())
    if low == 0.0 and high == 1.0 and _is_alone(column, low) and _is_alone(column, high):
        is_measured = _differ(column, _BALANCED) and _step_of(np.unique(column)) < _SHARE
        return _FROM_0_TO_1 if is_measured else ""
    size = float(np.abs(column).sum())
    if low < 0.0 < high and abs(float(column.sum())) <= _ROUNDING * n * size:
        square = float(column @ column)
        is_one = any(abs(square - one) <= _SCALER * one for one in (n, n - 1.0, 1.0))
        if is_one and _differ(column, _LEVELS):
            return "mean 0 and standard deviation 1"
        return "mean 0" if _differ(column, _BALANCED) and not _is_design(column) else ""
    if low < 0.0 < high and np.count_nonzero(column < 0.0) <= n / 2.0 >= np.count_nonzero(
        column > 0
    ):
        first, middle, third = np.quantile(column, (0.25, 0.5, 0.75))
        is_robust = abs(middle) <= _SCALER and abs(third - first - 1.0) <= _SCALER
        if is_robust and _differ(column, _BALANCED) and not _is_design(column):
            return "the median 0 and quartiles that are 1 apart"
    return ""


def _is_alone(column: FloatArray, value: float) -> bool:
    return bool(np.count_nonzero(column == value) == 1)


def _differ(column: FloatArray, least: int) -> bool:
    """Whether a column has so many different values, or as many as rows."""
    return np.unique(column).size >= min(least, column.size)


def _is_design(column: FloatArray) -> bool:
    """Whether a design has such columns: on a grid of half steps from 0, or symmetric to 0."""
    ordered = np.sort(column)
    if np.abs(ordered + ordered[::-1]).max() <= _SCALER * ordered[-1]:
        return True
    step = 0.5 * _step_of(np.unique(column))
    return step > 0.0 and bool(np.abs(column / step - np.rint(column / step)).max() < _EQUAL**0.5)
