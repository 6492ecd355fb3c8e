"""Maps a score function over releases: a matrix, a memory map or an iterator, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    all_finite,
    as_floats,
    contiguous,
    first_index,
    for_columns,
    invalid,
    refuse_masked,
    within,
)
from mialeak._blocks import block_rows
from mialeak._checks.means.genotypes import refuse_answers
from mialeak._kernels import checks, scores as kernels
from mialeak._warnings import warn

__all__ = [
    "Piece",
    "as_columns",
    "cubic_sums",
    "cubic_table",
    "in_unit_of",
    "map_releases",
    "padded",
]

#: Entries of a piece: the unit in which a strided or memory-mapped matrix is copied, and after
#: which Ctrl-C takes effect (1 to 2 ms).
_PIECE = 1 << 20
#: So many columns are enough to compare releases with the mean, of so many releases.
_COLUMNS, _SEEN = 10, 100
#: Factors between frequencies, mean counts and per cent, from which on a factor is one of a total.
_FACTORS, _TOTALS = (0.005, 0.01, 0.02, 0.5, 2.0, 50.0, 100.0, 200.0), 20.0
#: Least log of a factor, its distance from one that is named, and how much nearer a multiple is.
_OTHER_UNIT, _NEAR_FACTOR, _NEARER = 0.5, 0.1, 0.5
#: Share of the range that is far from a mean and that is close to it; so many columns are far, of
#: which so many are close to the mean of the other allele.
_FAR, _CLOSE, _SEVERAL, _NEARLY_ALL = 0.25, 0.1, 6, 0.9
#: What a release may be in place of means m of bits, with the mean that it then has; and the same
#: of mean counts m.
_OF_BITS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "shares of carriers, m * (2 - m)": lambda m: m * (2.0 - m),
    "frequencies, where m are shares of carriers": lambda m: 1.0 - np.sqrt(1.0 - m),
    "mean counts, where m are shares of carriers": lambda m: 2.0 - 2.0 * np.sqrt(1.0 - m),
    "shares of homozygotes, m**2": np.square,
}
_OF_COUNTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "shares of carriers, m - m**2 / 4": lambda m: m - 0.25 * m * m,
}
#: Columns at least in which this shows, the share of them that counts as independent, standard
#: errors that the release is away from `mean`, and squared ones from the other mean at most.
_FEWEST_OF_LAW, _UNLINKED, _ERRORS, _FITS = 20, 0.1, 6.0, 5.0
#: Largest difference of two means that are the same, as of five digits or of float32, and in
#: standard errors.
_EQUAL, _EQUAL_ERRORS = 1e-5, 0.01
#: Columns that are compared to see that p is of another population, at least and at most; rows of
#: the release, at least; and the median of the squared distances of its columns from p, divided by
#: their variances, from which on it is so: of subsets of one population in 20 to 127 linked sites
#: it was at most 4.3, of other continents 38 and more.
_FEWEST_SITES, _MOST_SITES, _FEWEST_ROWS, _MEDIAN = 20, 64, 20, 10.0
_FLOAT32 = np.dtype(np.float32)


class Piece:
    """Consecutive rows of the releases (float64 or float32, C-contiguous) and their position."""

    def __init__(self, rows: npt.NDArray[Any], start: int, single: bool, first: int = 0):
        self.rows = rows
        self._start, self._single, self._first = start, single, first

    def columns(self, place: slice) -> Piece:
        """The same rows in a range of columns."""
        return Piece(self.rows[:, place], self._start, self._single, self._first + place.start)

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good`, shape (t, d), is false."""
        if not good.all():
            row, column = first_index(~good)
            self.refuse(row, column, rule, remedy)

    def refuse(self, row: int, column: int, rule: str, remedy: str = "") -> None:
        """Raise for the entry at (row, column) of the piece."""
        shown = self._first + column
        index = (shown,) if self._single else (self._start + row, shown)
        invalid("releases", rule, index=index, value=self.rows[row, column], remedy=remedy)


#: Computes the results of a piece; raises for a piece that has results that are not finite.
Function = Callable[[Piece], FloatArray]
ExplainFailure = Callable[[Piece, FloatArray], None]


def in_unit_of(
    mean: FloatArray,
    function: Function,
    *,
    n: int,
    deviations: Callable[[], Any],
    most: float | None = None,
) -> Function:
    """`function`, which refuses releases of another unit or of the other allele than `mean`.

    The means of many columns are near `mean`.  Where a multiple of `mean` is nearer by far, such as
    half of it, releases are frequencies beside mean counts, per cent or totals; where columns that
    are far from `mean` are near `most` minus `mean`, they are means of the other allele.  `most` is
    the largest value of a row, by default 1 or 2, whichever fits.  Means of n rows that are further
    from `mean` than chance explains, and near the shares of carriers, are these.  `deviations`
    returns those of the columns of a row; it is called for a release that equals `mean`.
    """
    if mean.size < _COLUMNS:
        return function
    far = _FAR * (most or 1.0)

    def checked(piece: Piece) -> FloatArray:
        rows = piece.rows
        if len(rows) == 1 and abs(rows.item(0) - mean.item(0)) <= _EQUAL:
            _warn_of_same_mean(rows[0], mean, n, deviations)
        if len(rows):
            release = rows[0] if len(rows) == 1 else rows[:_SEEN].mean(axis=0, dtype=np.float64)
            if not checks.is_near(release, mean, far, _SEVERAL):
                release = release.astype(np.float64, copy=False)
                if all_finite(release):
                    refuse_answers(rows[0], mean, n)
                    _require_unit(release, mean, totals=most is None)
                    for value in (1.0, 2.0) if most is None else (most,):
                        _require_allele(release, mean, value)
                        _require_law(release, mean, value, n)
            if most is not None and n >= _FEWEST_ROWS and mean.size >= _FEWEST_SITES:
                _warn_of_other_population(rows[0], mean, most, n)
        return function(piece)

    return checked


def _warn_of_other_population(
    release: npt.NDArray[Any], mean: FloatArray, most: float, n: int
) -> None:
    """Warn of a release that is further from `mean` than means of n rows are, in most columns."""
    step = -(-mean.size // _MOST_SITES)
    m, given = mean[::step], release[::step].astype(np.float64)
    variances, away = m * (most - m), given - m
    ratios = (n * most) * away * away / np.where(variances > 0.0, variances, np.inf)
    far = np.count_nonzero(ratios > _MEDIAN)
    if 2 * far > m.size and within(given, 0.0, most) and np.ptp(given) > 0.0 and np.ptp(m) > 0.0:
        ratio = float(np.median(ratios[variances > 0.0]))
        warn(
            "p seems to be of another population than the release: in half of the columns their "
            f"squared distance is more than {ratio:.3g} times the variance of a mean of n rows. "
            "Any person of the population of the release then seems to be among the n rows. Pass p "
            "of the population of the release, and releases that are means of n rows"
        )


def _warn_of_same_mean(
    release: npt.NDArray[Any], mean: FloatArray, n: int, deviations: Callable[[], Any]
) -> None:
    """Warn of a release that equals the mean of the population in all columns, as by chance none.

    Of the frequencies 0 and 1 both are equal for every sample, and equal ones may be designed.
    """
    apart = np.abs(release - mean)
    if np.ptp(mean) <= _CLOSE or not (apart <= _EQUAL).all():
        return
    if (apart <= _EQUAL_ERRORS / math.sqrt(n) * deviations()).all():
        warn(
            "The release equals the mean of the population in all columns: it seems to have been "
            "passed for both, and then every target has a score of about 0 or below, a member as "
            "well. Pass frequencies of the population, such as those of a reference panel.",
        )


def _require_unit(release: FloatArray, mean: FloatArray, *, totals: bool) -> None:
    """Refuse a release that a multiple of `mean` is nearer to."""
    if np.ptp(mean) <= _CLOSE * np.abs(mean).max():
        return
    square = float(mean @ mean)
    factor = float(release @ mean) / square if 0.0 < square < np.inf else 1.0
    if not (factor > 0.0 and abs(math.log(factor)) > _OTHER_UNIT):
        return
    off, off_multiple = np.abs(release - mean).sum(), np.abs(release - factor * mean).sum()
    named = min(_FACTORS, key=lambda each: abs(math.log(each / factor)))
    if off_multiple < _NEARER * off and (
        (totals and factor > _TOTALS) or abs(math.log(named / factor)) < _NEAR_FACTOR
    ):
        invalid(
            "releases",
            f"be means in the unit of mean; they are {factor:.3g} times as large",
            remedy="Of genotypes 0, 1 and 2 a mean is twice the frequency of the allele",
        )


def _require_allele(release: FloatArray, mean: FloatArray, most: float) -> None:
    """Refuse a release of which several columns are near `most` minus `mean`."""
    far = np.abs(release - mean) > _FAR * most
    several = int(np.count_nonzero(far))
    if several < _SEVERAL or mean.min() < 0.0 or mean.max() > most:
        return
    turned = far & (np.abs(most - release - mean) < _CLOSE * most)
    if np.count_nonzero(turned) >= _NEARLY_ALL * several and np.ptp(mean[turned]) > _CLOSE * most:
        column = int(np.argmax(turned))
        of = f"{most - release[column]:.4g}, {most:g} minus it, is near the mean {mean[column]:.4g}"
        invalid(
            "releases",
            f"count the same allele as mean; in {several} columns they seem to count the other",
            index=column,
            value=release[column],
            remedy=f"As {of}, replace releases by {most:g} minus them there",
        )


def _require_law(release: FloatArray, mean: FloatArray, most: float, n: int) -> None:
    """Refuse shares of carriers beside frequencies, and the like, that `mean` does not explain."""
    is_constant = np.ptp(mean) <= _CLOSE * np.abs(mean).max()
    if mean.size < _FEWEST_OF_LAW or is_constant or not within(mean, 0.0, most):
        return
    apart = release - mean
    error = math.sqrt(float(mean @ (most - mean)) / n)  # at most, of a sum of independent columns
    if _UNLINKED**0.5 * abs(float(apart.sum())) < _ERRORS * error:
        return
    laws = _OF_BITS if most == 1.0 else _OF_COUNTS
    values = {given: law(mean) for given, law in laws.items()}
    off = {given: np.abs(release - value) for given, value in values.items()}
    given = min(off, key=lambda each: float(off[each].sum()))
    variance = float(values[given] @ np.abs(most - values[given])) / n
    fits = off[given] @ off[given] < _FITS * variance
    if fits and off[given].sum() < _NEARER * np.abs(apart).sum():
        invalid(
            "releases",
            f"be means of rows with the mean m; they seem to be {given}",
            remedy="Carriers of an allele of frequency p have the law mialeak.laws.Presence(p) and "
            "the mean 1 - (1 - p)**2, counts 0, 1 and 2 the mean 2 * p",
        )


def map_releases(
    releases: Any, columns: int, function: Function, explain_failure: ExplainFailure | None = None
) -> float | FloatArray:
    """The concatenated results of `function` for every piece.

    One release (d,) has one result; a matrix or an iterator has one result for each release.  If a
    result is not finite, `explain_failure` may raise; then entries that are not finite are refused.
    """
    if type(releases) is not np.ndarray and hasattr(releases, "__next__"):
        parts, start = [], 0
        for block in releases:
            matrix = np.atleast_2d(_as_releases(block, columns))
            parts += _results(matrix, start, False, function, explain_failure)
            start += matrix.shape[0]
        return _joined(parts, columns, function)
    array = _as_releases(releases, columns)
    if array.ndim == 1:
        (part,) = _results(array[None], 0, True, function, explain_failure)
        one: float | FloatArray = part[0]
        return one
    return _joined(_results(array, 0, False, function, explain_failure), columns, function)


def _as_releases(values: Any, columns: int) -> npt.NDArray[Any]:
    array: npt.NDArray[Any]
    if isinstance(values, np.ndarray) and values.dtype == _FLOAT32:
        refuse_masked(values, "releases")
        array = np.asarray(values)
    else:
        array = as_floats(values, "releases")
    if array.ndim not in (1, 2) or array.shape[-1] != columns:
        invalid(
            "releases",
            f"have {columns} columns (its last axis), one for each of target, and be one release "
            f"or a matrix of them; its shape is {array.shape}",
        )
    return array


def _results(
    matrix: npt.NDArray[Any],
    start: int,
    single: bool,
    function: Function,
    explain_failure: ExplainFailure | None,
) -> list[FloatArray]:
    rows, columns = matrix.shape
    step = block_rows(columns, elements=_PIECE)
    results = []
    for first in range(0, rows, step):
        block = contiguous(matrix if step >= rows else matrix[first : first + step])
        piece = Piece(block, start + first, single)
        result = function(piece)
        if not all_finite(result):
            if explain_failure:
                explain_failure(piece, result)
            piece.require(np.isfinite(block), "be finite")
            lost = np.isnan(result)
            if lost.any():
                row = "it" if single else f"row {start + first + first_index(lost)[0]}"
                invalid(
                    "releases", f"be near enough to mean for a score to be a number; {row} is not"
                )
        results.append(result)
    return results


def _joined(parts: list[FloatArray], columns: int, function: Function) -> FloatArray:
    """The results of all pieces; an empty array of the right shape if there are none."""
    if not parts:
        return function(Piece(np.empty((0, columns)), 0, False))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def as_columns(values: Any, name: str, columns: int) -> FloatArray:
    """A number for each column from one for each or one for all: finite, shape (columns,)."""
    array = as_floats(values, name, finite=True)
    if array.shape not in ((), (columns,)):
        invalid(
            name,
            f"be a number or have {columns} entries, one for each of target; "
            f"its shape is {array.shape}",
        )
    return for_columns(array, columns)


def padded(neutral: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """A table of column parameters for a kernel, and the view of it that the caller fills.

    The table has `neutral`, shape (k, 1), in its padding; the view has shape (k, columns).
    """
    table = np.empty((len(neutral), kernels.padded_columns(columns)))
    table[:, columns:] = neutral
    return table, table[:, :columns]


def cubic_table(rows: list[Any], columns: int) -> FloatArray:
    """The column parameters of :func:`cubic_sums`: mean, scale, c1 and, if not 0, c2 and c3."""
    table = np.zeros((5, kernels.padded_columns(columns)))
    for row, values in enumerate(rows):
        table[row, :columns] = values
    return table


def cubic_sums(rows: npt.NDArray[Any], table: FloatArray, constant: float) -> FloatArray:
    """``constant + sum of x (c1 + x (c2 + x c3))`` of ``x = (row - mean) scale``, for each row."""
    out = np.empty(rows.shape[0])
    kernels.cubic_sums(rows, table, constant, out)
    return out
