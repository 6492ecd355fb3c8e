"""What a table's means are: numbers as they are, categories as their histograms."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from mialeak._arrays import MAX_COUNT, FloatArray, as_floats, invalid, listed
from mialeak._columns import Factor
from mialeak.means import row_leakage_scores
from mialeak.means._rows import downdated
from mialeak.tables._cells import frame_factors

__all__ = ["Column", "Released", "as_numbers", "category_scores", "release_of"]

#: Rows for each free column that a full covariance takes to be known.
_ROWS_PER_COLUMN = 5

#: A number as people write it, without leading zeros.
_NUMBER = re.compile(r"\s*[+-]?(0|[1-9]\d*|(?=\.\d))(\.\d*)?([eE][+-]?\d{1,3})?\s*")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the table, whose mean or histogram is published.

    Attributes
    ----------
    name : object
    factor : Factor
        Its values, none of them missing.
    values : (rows,) ndarray or None
        The numbers; None for a category.
    """

    name: Any
    factor: Factor
    values: FloatArray | None

    @property
    def is_category(self) -> bool:
        """Whether its histogram is published."""
        return self.values is None

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows of each level."""
        return np.bincount(self.factor.codes)

    @cached_property
    def mean(self) -> float:
        """Of the numbers."""
        assert self.values is not None
        return float(self.values.mean())

    @cached_property
    def std(self) -> float:
        """Of the numbers; 0 where they differ by rounding only."""
        assert self.values is not None
        largest = float(np.abs(self.values).max())
        std = float(self.values.std())
        return std if std > 8.0 * np.finfo(np.float64).eps * largest else 0.0

    @property
    def present(self) -> int:
        """Distinct values among the rows."""
        return int(np.count_nonzero(self.counts))

    @property
    def stray(self) -> str | None:
        """Of a category of words most of which read as numbers, one that does not."""
        words = [level for level in self.factor.levels if isinstance(level, str)]
        strays = [word for word in words if not _reads_as_number(word)]
        return strays[0] if 0 < 2 * len(strays) < len(words) else None

    @property
    def free(self) -> int:
        """Numbers that can be chosen freely among those published."""
        if self.is_category:
            return self.present - 1
        return int(self.std > 0.0)

    def deviation(self, row: int) -> float:
        """How far the row's value is from what is published, in standard deviations."""
        if self.values is None:
            share = self.counts[self.factor.codes[row]] / len(self.factor.codes)
            return math.sqrt(1.0 / share - 1.0)
        return (float(self.values[row]) - self.mean) / self.std if self.std else 0.0

    def value(self, row: int) -> Any:
        """The row's value, as a plain Python object."""
        if self.values is None:
            return self.factor.value(int(self.factor.codes[row]))
        number = float(self.values[row])
        return int(number) if number.is_integer() and abs(number) < MAX_COUNT else number

    def released(self) -> FloatArray:
        """The columns whose means are published, each in units of its standard deviation."""
        if self.values is not None:
            scale = 1.0 / self.std if self.std else 0.0
            return ((self.values - self.mean) * scale)[:, np.newaxis]
        present = np.flatnonzero(self.counts)
        share = self.counts[present] / len(self.factor.codes)
        std = np.sqrt(share * (1.0 - share))
        indicator = self.factor.codes[:, np.newaxis] == present
        released: FloatArray = indicator / np.where(std > 0.0, std, 1.0)
        return released


@dataclass(frozen=True, eq=False)
class Released:
    """The means of the columns of a table.

    Attributes
    ----------
    columns : sequence of Column
    places : (rows,) ndarray of int
        Where the rows stand in the table as it was given.
    rows_dropped : int
        Rows left out because a value is missing.
    """

    columns: Sequence[Column]
    places: npt.NDArray[np.intp]
    rows_dropped: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.places)

    @property
    def free(self) -> int:
        """Numbers published, not counting those that follow from others: d."""
        return sum(column.free for column in self.columns)

    @property
    def is_full(self) -> bool:
        """Whether there are rows enough for a covariance of all columns."""
        return self.rows > _ROWS_PER_COLUMN * self.free

    @cached_property
    def _matrix(self) -> FloatArray:
        parts = [
            column.released() for column in self.columns if self.is_full or not column.is_category
        ]
        return np.concatenate(parts, axis=1) if parts else np.empty((self.rows, 0))

    def scores(self, noise_std: float, rate: float) -> FloatArray:
        """Leakage score of each row against the other rows.

        The means are those of a share `rate` of the rows, with noise of `noise_std` standard
        deviations of its column on each.
        """
        # (C + k R)^-1 / k with k = rate n, from (C + n R')^-1 / n.
        variance = rate * noise_std**2
        noise = variance if variance > 0.0 else None
        if self.is_full:
            scores = row_leakage_scores(self._matrix) if noise is None else self._noisy(noise)
            return scores / rate
        scores = np.zeros(self.rows)
        if self._matrix.shape[1]:
            scores += row_leakage_scores(
                self._matrix, structure="diagonal", release_noise_cov=noise
            )
        for column in self.columns:
            if column.is_category:
                scores += category_scores(column.counts, variance)[column.factor.codes]
        return scores / rate

    def _noisy(self, variance: float) -> FloatArray:
        """`row_leakage_scores` of the matrix, by one decomposition for every noise."""
        scatter, squares = self._principal
        added = np.maximum(scatter, 0.0) + self.rows * variance
        return downdated(squares @ (1.0 / added), self.rows)

    @cached_property
    def _principal(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the scatter, and the squares of the rows along its axes."""
        rows = self._matrix - self._matrix.mean(axis=0)
        scatter, axes = linalg.eigh(rows.T @ rows / (self.rows - 2.0))
        squares = rows @ axes
        return scatter, np.square(squares, out=squares)


def category_scores(counts: npt.NDArray[np.int64], variance: float) -> FloatArray:
    """Leakage score of a row of each level against the histogram of one category.

    `variance` is that of the noise on each share, in units of the share's own ``p (1 - p)``.  The
    frequencies q are those of the other rows, their covariance ``C = a (diag(q) - q q^T)`` with
    ``a = (n-1)/(n-2)``, and C + n R is inverted by Sherman and Morrison, with ``w = q + n R / a``::

        n m = ((1 - q_k)^2/w_k + sum over j != k of q_j^2/w_j + (s - t_k)^2/s) / a,
        t = n R / (a w),  s = q^T t

    which without noise is ``(1/q_k - 1)/a``; inf for a level of one row.
    """
    scores = np.zeros(counts.size)
    shown = counts > 0
    n, some = int(counts.sum()), counts[shown]
    if some.size < 2:
        return scores
    a = (n - 1.0) / (n - 2.0)
    own, other = (some - 1.0) / (n - 1.0), some / (n - 1.0)
    if variance == 0.0:
        with np.errstate(divide="ignore"):
            squares = (n - some) / (some - 1.0)  # 1/own - 1
    else:
        added = n * variance * (some / n) * (1.0 - some / n) / a
        shares, lost = other**2 / (other + added), other * added / (other + added)
        t = added / (own + added)
        s = lost.sum() - lost + own * t
        squares = (1.0 - own) ** 2 / (own + added) + shares.sum() - shares + (s - t) ** 2 / s
    scores[shown] = squares / (a * n)
    return scores


def release_of(
    frame: Any, columns: Sequence[Any] | None, *, categories: Sequence[Any] = (), drop: bool = False
) -> Released:
    """The release of the means of a table.

    Columns of numbers stay numbers, and so do those of a CSV whose values all read as numbers,
    unless they are among `categories`.

    Raises
    ------
    ValueError
        As :func:`frame_factors`, for an unknown category, or for missing values unless `drop`.
    """
    factors = frame_factors(frame, columns)
    for place, name in enumerate(categories):
        if name not in factors:
            invalid("categories", "be among the columns", index=place, value=name)
    missing = np.logical_or.reduce([factor.codes < 0 for factor in factors.values()])
    if missing.any() and not drop:
        counts = [(name, factor.n_missing) for name, factor in factors.items() if factor.n_missing]
        where = listed(counts, show=lambda each: f"{each[1]:,} in column {each[0]!r}")
        remedy = "Pass --na drop to leave such rows out"
        invalid("frame", f"have no missing values; there are {where}", remedy=remedy)
    places = np.flatnonzero(~missing)
    if not places.size:
        invalid("frame", "have at least one row without a missing value")
    found = []
    for name, factor in factors.items():
        text = isinstance(frame, Mapping) and isinstance(frame[name], Factor)
        kept = Factor(factor.codes[places], factor.levels)
        numbers = None if name in categories else as_numbers(factor.levels, text=text)
        if numbers is not None:
            numbers = as_floats(numbers[kept.codes], f"column {name!r}", finite=True)
        found.append(Column(name, kept, numbers))
    return Released(tuple(found), places, missing.size - places.size)


def as_numbers(levels: Any, *, text: bool) -> npt.NDArray[Any] | None:
    """The levels as numbers; None if they are none.  With `text` they are words of a CSV."""
    if isinstance(levels, range):
        return np.arange(levels.start, levels.stop)
    if hasattr(levels, "to_numpy"):  # a pyarrow array
        levels = levels.to_numpy(zero_copy_only=False)
    if isinstance(levels, np.ndarray):
        return levels if levels.dtype.kind in "iuf" else None
    if not (text and all(map(_reads_as_number, levels))):
        return None
    return np.array([float(level or "nan") for level in levels])


def _reads_as_number(text: str) -> bool:
    """Whether an empty or missing field, or a number; "007" is the name of something."""
    return text == "" or _NUMBER.fullmatch(text) is not None
