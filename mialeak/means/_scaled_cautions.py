"""Columns whose mean is the same whoever is in the table: ranks, and scores that were scaled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = ["cautions_of_scaled"]

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
    if matrix.shape[0] < _FEWEST or not matrix.size:
        return []
    moments, ranks = [], []
    for first in range(0, matrix.shape[1], _BLOCK):
        block = matrix[:, first : first + _BLOCK].astype(np.float64)
        moments.append((block.mean(axis=0), block.std(axis=0)))
        width = np.maximum(block.max(axis=0) - block.min(axis=0), 1e-300)
        likely = np.abs(12.0 * (moments[-1][1] / width) ** 2 - 1.0) < _EVEN
        ranks += [first + k for k in np.flatnonzero(likely).tolist() if _are_ranks(block[:, k])]
    mean, std = np.concatenate(moments, axis=1)
    scaled = _are_scaled(mean, std, matrix.shape[0])
    count = len(ranks) + int(np.count_nonzero(scaled))
    if not count:
        return []
    one = ranks[0] if ranks else int(np.argmax(scaled))
    what = "ranks of these rows" if ranks else "scores scaled to it"
    which = f"{count:,} columns have a mean" if count > 1 else "One column has a mean"
    return [
        f"{which} that is the same whoever is in the table, as {what} have (mean {mean[one]:.6g}, "
        f"standard deviation {std[one]:.4g}): such means leak nothing. The answer is for columns "
        "that are not scaled by these rows: pass those whose means are published."
    ]


def _are_scaled(mean: FloatArray, std: FloatArray, rows: int) -> npt.NDArray[np.bool_]:
    """Whether mean and standard deviation are nearer to those of a scale than chance leaves them.

    Over rows of a population that was scaled the mean has a standard error, and the deviation too.
    """
    met = np.zeros(mean.size, np.bool_)
    error, spread = std / np.sqrt(rows), std / np.sqrt(2.0 * rows)
    for centre, width in _SCALES:
        with np.errstate(divide="ignore", invalid="ignore"):
            near = np.minimum(0.8 * np.abs(mean - centre) / error, 1.0)
            sample = np.abs(std * np.sqrt(rows / (rows - 1.0)) - width)
            off = np.minimum(np.abs(std - width), sample)
            met |= near * np.minimum(1.6 * off / spread, 1.0) * len(_SCALES) < _CHANCE
    return met & (std > 0.0)


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
