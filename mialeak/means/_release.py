"""What is published of a table: means of columns of numbers, shares of values of categories."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, FloatArray, Numbers, invalid
from mialeak._checks.means.cautions import size_cautions
from mialeak._checks.means.matrices import are_genotypes, cautions_of_matrix, repeat_cautions
from mialeak._checks.means.relatives import Kin, kin_of
from mialeak._checks.names import VARIANT, is_person_name
from mialeak._columns import Factor
from mialeak._fields import reads_as_number
from mialeak._numerics.distances import kernel_blocks
from mialeak._numerics.leave_one_out import ALONE, downdated
from mialeak._numerics.whitening import Outside
from mialeak.means._rows import (
    basis_of,
    calibrated_shrinkage,
    copies_of,
    noisy_scores,
    refuse_full,
    row_leakage_scores,
    shrunk_scores,
    spectrum,
)

__all__ = ["Column", "Release", "category_scores"]

#: Rows for each free column that a full covariance takes to be known well.
ROWS_PER_COLUMN = 5

#: Rows for each integer in the range of a table, from which on the terms of a score are computed
#: for each integer once: by then they are fewer than the entries of the table.
_ROWS_PER_LEVEL = 4

#: Names of columns that number the rows or the persons.
_IDENTIFIERS = re.compile(
    r"(.*[_ .-])?(id|no|nr|number|index|key|uuid|barcode)|unnamed: 0|(.*[_ .-])?[efips]id|"
    r"(sample|person|patient|participant|subject|study|individual|family)(id)?|mrn|guid",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Column:
    """A column whose mean is published, or the shares of whose values.

    Attributes
    ----------
    name : object
    factor : Factor or None
        The values of a category, none of them missing; None for numbers.
    place : int
        Of numbers, the column of :attr:`Release.numbers`.
    """

    name: Any
    factor: Factor | None
    place: int = -1

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows of each level of a category."""
        assert self.factor is not None
        return np.bincount(self.factor.codes)

    @cached_property
    def present(self) -> int:
        """Distinct values of a category among the rows."""
        return int(np.count_nonzero(self.counts))

    @property
    def stray(self) -> str | None:
        """Of a category of words most of which read as numbers, one that does not."""
        assert self.factor is not None
        words = [level for level in self.factor.levels if isinstance(level, str)]
        strays = [word for word in words if not reads_as_number(word)]
        return strays[0] if 0 < 2 * len(strays) < len(words) else None


@dataclass(frozen=True, eq=False)
class _Shrunk:
    """Standardised columns, those that copy another left out.

    Attributes
    ----------
    rows : (rows, columns) ndarray
    copies : (columns,) ndarray
        How many columns of the table each is.
    is_basis : bool
        Whether no column is determined by others.
    values, squares : ndarray
        Of :func:`spectrum`, for a basis of the columns.
    dimensions : int
        Columns that others do not determine.
    intensity : float
        Of shrinkage.
    alone : (rows,) ndarray of bool
        Which rows are alone in a column.
    """

    rows: FloatArray
    copies: npt.NDArray[np.intp]
    is_basis: bool
    values: FloatArray
    squares: FloatArray
    dimensions: int
    intensity: float
    alone: npt.NDArray[np.bool_]


class _Beside(Protocol):
    """A register or a panel, with its people if it is not of frequencies alone."""

    @property
    def release(self) -> Release | None:
        """The people."""


@dataclass(frozen=True, eq=False)
class Release:
    """The means of the columns of a table.

    Attributes
    ----------
    columns : sequence of Column
    numbers : (rows, columns of numbers) ndarray
        The values of the columns of numbers: int8 if all are small integers, as genotypes are, of
        which there may be hundreds of millions; else float64.
    places : (rows,) ndarray of int
        Where the rows stand in the table as it was given.
    rows_dropped : int
        Rows left out because a value is missing.
    names : tuple
        Columns of text that are not published: every row has its own value.
    labels : mapping of str to list
        Values of columns that describe a row and are not published.
    cautions : sequence of str
        Why the table is probably not what was meant.
    notes : sequence of str
        What was omitted of a file of genotypes, and survey weights that are left out.
    """

    columns: Sequence[Column]
    numbers: Numbers
    places: npt.NDArray[np.intp]
    rows_dropped: int
    names: tuple[Any, ...] = ()
    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cautions: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.places)

    @cached_property
    def categories(self) -> list[Column]:
        """The columns whose shares of values are published."""
        return [column for column in self.columns if column.factor is not None]

    @cached_property
    def means(self) -> FloatArray:
        """Of the columns of numbers."""
        return np.asarray(self.numbers.mean(axis=0))

    @cached_property
    def stds(self) -> FloatArray:
        """Of the columns of numbers; 0 where the rows differ by rounding only."""
        squares = np.zeros(self.numbers.shape[1])
        for block in kernel_blocks(self.numbers, matrix=False):
            squares += np.square(self.numbers[block] - self.means).sum(axis=0)
        std = np.sqrt(squares / self.rows)
        low, high = (self.numbers.min(axis=0), self.numbers.max(axis=0))
        size = np.maximum(high.astype(np.float64), -low.astype(np.float64))
        return np.where(std > 8.0 * np.finfo(np.float64).eps * size, std, 0.0)

    @cached_property
    def free(self) -> int:
        """Numbers published, not counting those that follow from others: d."""
        return int(np.count_nonzero(self.stds)) + sum(c.present - 1 for c in self.categories)

    @property
    def has_rows_for_full(self) -> bool:
        """Whether there are rows enough for a covariance of all columns."""
        return self.rows > ROWS_PER_COLUMN * self.free

    @cached_property
    def identifiers(self) -> list[Any]:
        """Columns of numbers that look like a number of the row, or of the person."""
        if self.rows < 3 or not self.numbers.size:
            return []
        low, high = (np.asarray(x(axis=0), float) for x in (self.numbers.min, self.numbers.max))
        names = []
        for column in self.columns:
            if column.factor is not None:
                continue
            consecutive = high[column.place] - low[column.place] == self.rows - 1
            name = str(column.name).strip()
            if not (consecutive or _IDENTIFIERS.fullmatch(name) or is_person_name(name)):
                continue
            values = self.numbers[:, column.place]
            if np.all(values % 1.0 == 0.0) and np.unique(values).size == self.rows:
                names.append(column.name)
        return names

    @cached_property
    def row_cautions(self) -> list[str]:
        """Cautions about rows that are no persons, or persons several times."""
        factors = [column.factor for column in self.categories if column.factor is not None]
        codes = [factor.codes for factor in factors]
        if factors and not self.numbers.size and all(map(_are_truths, factors)):
            return cautions_of_matrix(np.stack([_truths(f)[f.codes] for f in factors], axis=1))
        named = sum(VARIANT.match(str(column.name)) is not None for column in self.columns)
        are_sites = 2 * named > len(self.columns)
        return cautions_of_matrix(self.numbers, codes, self.kin, are_sites=are_sites)

    def cautions_beside(self, register: _Beside | None, panel: _Beside | None) -> list[str]:
        """Cautions about the people of a register and of a panel, as about those of a table.

        Those that hold of the table as well are not repeated.
        """
        known = {*self.cautions, *self.row_cautions}
        beside = {"population": register, "panel": panel}
        return [
            f"Of {argument}: {each[0].lower()}{each[1:]}"
            for argument, other in beside.items()
            if other is not None and (people := other.release) is not None
            for each in (*people.cautions, *people.row_cautions, *size_cautions(people.rows))
            if each not in known
        ]

    @cached_property
    def kin(self) -> Kin | None:
        """Pairs of rows that are alike, of genotypes."""
        return kin_of(self.numbers) if are_genotypes(self.numbers) else None

    @cached_property
    def repeats(self) -> list[str]:
        """A caution where columns taken as independent follow from others."""
        names = [column.name for column in self.columns if column.factor is None]
        return repeat_cautions(self.numbers, names) if names else []

    def deviations(self, row: int) -> FloatArray:
        """How far each value of the row is from what is published, in standard deviations."""
        gaps = self.numbers[row] - self.means
        gaps = np.divide(gaps, self.stds, out=np.zeros_like(gaps), where=self.stds > 0.0)
        result = np.empty(len(self.columns))
        for k, column in enumerate(self.columns):
            if column.factor is None:
                result[k] = gaps[column.place]
            else:
                share = column.counts[column.factor.codes[row]] / self.rows
                result[k] = math.sqrt(1.0 / share - 1.0)
        return result

    def value(self, row: int, column: Column) -> Any:
        """The value of a row, as a plain Python object."""
        if column.factor is not None:
            return column.factor.value(int(column.factor.codes[row]))
        number = float(self.numbers[row, column.place])
        return int(number) if number.is_integer() and abs(number) < MAX_COUNT else number

    def require_rows(self, covariance: str) -> None:
        """Refuse a full covariance of too few rows."""
        if covariance == "full" and self.rows <= 2 * self.free:
            refuse_full(self.rows, f"{self.free:,} free columns")

    # --- scores -------------------------------------------------------------------------------

    def scores(self, covariance: str, noise_std: float, rate: float) -> FloatArray:
        """Leakage score of each row against the other rows.

        The means are those of a share `rate` of the rows, with noise of `noise_std` standard
        deviations of its column on each.  `covariance` is "full", "shrunk" or "diagonal".
        """
        # (C + k R)^-1 / k with k = rate n, from (C + n R')^-1 / n.
        variance = rate * noise_std**2
        if covariance == "diagonal":
            return self._diagonal(variance) / rate
        if covariance == "full" and variance == 0.0:
            matrix = self._standard()
            try:
                scores = row_leakage_scores(matrix) if matrix.shape[1] else np.zeros(self.rows)
            except Outside as outside:
                self._refuse_near(outside.column)
            return scores / rate
        if covariance == "shrunk":
            return self._shrunk_scores(variance) / rate
        values, squares = self._spectrum
        added = self.rows * variance + values / (self.rows - 2.0)
        return downdated(squares @ (1.0 / added), self.rows, 1.0) / rate

    def _shrunk_scores(self, variance: float) -> FloatArray:
        """By shrunk correlations; copies of a column are one, whose noise is their average's."""
        known, share = self._shrunk, 1.0 - self.shrinkage
        scores = shrunk_scores(known.values, known.squares, share)
        if variance == 0.0:
            return np.where(known.alone, np.inf, scores)
        added = self.rows * variance / known.copies
        if known.is_basis and (known.copies == 1).all():
            level = 1.0 - share + added[:1] + share / (self.rows - 2.0) * known.values
            return downdated(known.squares @ (1.0 / level), self.rows, share)
        noisy = noisy_scores(known.rows, added, share)
        # Noise hides; without it, columns that others determine are known to add nothing.
        return noisy if known.is_basis else np.minimum(noisy, scores)

    def _refuse_near(self, place: int) -> NoReturn:
        """Refuse a column that others determine up to rounding, by its place in the matrix."""
        moving = np.flatnonzero(self.stds)
        numbers = [column.name for column in self.columns if column.factor is None]
        name = numbers[moving[place]] if place < moving.size else None
        which = "one" if name is None else f"column {name!r}"
        cure = "exclude it" if name is None else f"pass exclude=[{name!r}]"
        rule = f"have no column that others determine up to rounding, as they do {which}"
        invalid("table", rule, remedy=f"Leave it out: {cure}; or take a shrunk covariance")

    @property
    def shrinkage(self) -> float:
        """The intensity of a shrunk covariance."""
        return self._shrunk.intensity

    @property
    def dimensions(self) -> int:
        """Numbers published, not counting those that others of a shrunk covariance determine."""
        return self._shrunk.dimensions

    def _standard(self) -> FloatArray:
        """The columns whose means are published, each in units of its standard deviation."""
        moving = np.flatnonzero(self.stds)
        varied = [column for column in self.categories if column.present > 1]
        matrix = np.empty((self.rows, moving.size + sum(column.present for column in varied)))
        place = moving.size
        for block in kernel_blocks(self.numbers, matrix=False):
            target = matrix[block, :place]
            np.subtract(self.numbers[block][:, moving], self.means[moving], target)
            target /= self.stds[moving]
        for column in varied:
            assert column.factor is not None
            levels = np.flatnonzero(column.counts)
            share = column.counts[levels] / self.rows
            target = matrix[:, place : place + levels.size]
            np.subtract(column.factor.codes[:, np.newaxis] == levels, share, target)
            target /= np.sqrt(share * (1.0 - share))
            place += levels.size
        return matrix

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        return spectrum(self._standard())

    @cached_property
    def _shrunk(self) -> _Shrunk:
        """What scores by a shrunk covariance are computed of."""
        rows = self._standard()
        limit = (self.rows - 1.0) * (1.0 - ALONE)
        alone = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
        first, groups = copies_of(rows)
        rows = rows[:, first]
        basis = rows[:, basis_of(rows)]
        values, squares = spectrum(basis)
        dimensions = min(self.free, basis.shape[1])
        return _Shrunk(
            rows,
            np.bincount(groups, minlength=first.size),
            basis.shape == rows.shape,
            values,
            squares,
            dimensions,
            calibrated_shrinkage(values, squares, dimensions),
            alone**2 >= limit,
        )

    def _diagonal(self, variance: float) -> FloatArray:
        """With columns taken as uncorrelated, a category being one column of several numbers."""
        n = self.rows
        scores = np.zeros(n)
        terms = self._terms_of(np.arange(self.means.size), variance)
        for block in kernel_blocks(self.numbers, matrix=False):
            scores[block] = terms(self.numbers[block]).sum(axis=1)
        scores = np.where(scores > 1e290, np.inf, scores / (n - 1.0) ** 2)
        for column in self.categories:
            assert column.factor is not None
            scores += category_scores(column.counts, variance)[column.factor.codes]
        return scores

    def terms(self, columns: npt.NDArray[np.intp], variance: float) -> FloatArray:
        """What each number of these columns adds to the score of its row, as if uncorrelated.

        Times (n - 1)^2; 1e300 and more stand for infinity.  `variance` is that of the noise on a
        mean, in units of that of its column.
        """
        return self._terms_of(columns, variance)(self.numbers[:, columns])

    def _terms_of(
        self, columns: npt.NDArray[np.intp], variance: float
    ) -> Callable[[Numbers], FloatArray]:
        """The function from numbers of these columns to their terms."""
        if self._range is None:
            return lambda numbers: self._terms(numbers, columns, variance)
        low, levels = self._range
        grid = np.arange(low, low + levels, dtype=np.float64)[:, np.newaxis]
        terms = np.ascontiguousarray(self._terms(grid, columns, variance).T).ravel()
        first = np.arange(columns.size) * levels - low
        return lambda numbers: terms[numbers + first]

    @cached_property
    def _range(self) -> tuple[int, int] | None:
        """The least of the numbers, and how many it is to the largest, where few for the rows."""
        if self.numbers.dtype != np.int8 or not self.numbers.size:
            return None
        low = int(self.numbers.min())
        levels = int(self.numbers.max()) - low + 1
        return (low, levels) if _ROWS_PER_LEVEL * levels <= self.rows else None

    def _terms(self, numbers: Any, columns: npt.NDArray[np.intp], variance: float) -> FloatArray:
        """What each number adds to the score of its row; `numbers` broadcast to the columns."""
        n, stds = self.rows, self.stds[columns]
        scale = np.divide(1.0, stds, out=np.zeros_like(stds), where=stds > 0.0)
        squares = np.subtract(numbers, self.means[columns])
        squares *= scale
        squares *= squares
        # The scatter of the others is n less n/(n - 1) times the square.
        others = squares * (-1.0 / ((n - 1.0) * (n - 2.0)))
        others += 1.0 / (n - 2.0)
        lone = squares >= (n - 1.0) * (1.0 - ALONE)
        if lone.any():
            others[lone] = 0.0
            if variance == 0.0:
                others[lone] = 1e-300
        others += variance
        return np.asarray(np.divide(squares, others, out=others))


def category_scores(counts: npt.NDArray[np.int64], variance: float) -> FloatArray:
    """Leakage score of a row of each level against the histogram of one category.

    `variance` is that of the noise on each share, in units of the ``p (1 - p)`` of that share.  The
    frequencies q are those of the other rows, their covariance ``C = a (diag(q) - q q^T)`` with
    ``a = (n-1)/(n-2)``, and C + n R is inverted by Sherman and Morrison, with ``w = q + n R / a``::

        n m = ((1 - q_k)^2/w_k + sum over j != k of q_j^2/w_j + (s - t_k)^2/s) / a,
        t = n R / (a w),  s = q^T t

    which without noise is ``(1/q_k - 1)/a``; inf for a level of one row.
    """
    scores = np.zeros(counts.size)
    shown = counts > 0
    n, present = int(counts.sum()), counts[shown]
    if present.size < 2:
        return scores
    a = (n - 1.0) / (n - 2.0)
    alike, other = (present - 1.0) / (n - 1.0), present / (n - 1.0)
    if variance == 0.0:
        with np.errstate(divide="ignore"):
            squares = (n - present) / (present - 1.0)  # 1/alike - 1
    else:
        added = n * variance * (present / n) * (1.0 - present / n) / a
        shares, lost = other**2 / (other + added), other * added / (other + added)
        t = added / (alike + added)
        s = lost.sum() - lost + alike * t
        squares = (1.0 - alike) ** 2 / (alike + added) + shares.sum() - shares + (s - t) ** 2 / s
    scores[shown] = squares / (a * n)
    return scores


def _are_truths(factor: Factor) -> bool:
    """Whether the values are True and False."""
    return {_word(factor, code) for code in range(len(factor.levels))} <= {"true", "false"}


def _truths(factor: Factor) -> npt.NDArray[np.int8]:
    """1 for each level that is True, and 0 for False."""
    return np.array([_word(factor, code) == "true" for code in range(len(factor.levels))], np.int8)


def _word(factor: Factor, code: int) -> str:
    return str(factor.value(code)).lower()
