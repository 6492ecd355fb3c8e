"""Checks of targets and releases that count: bits and genotypes, and their probabilities."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_float,
    as_floats,
    every,
    for_columns,
    invalid,
    listed,
    require,
    require_within,
    rounded_to_one,
    within,
)
from mialeak._checks.means.frequencies import STRAY, is_mean_of_half, require_likely_counts
from mialeak._kernels import checks

__all__ = [
    "COUNTS_RULE",
    "MISSING",
    "Releases",
    "as_column_probabilities",
    "bit_probabilities",
    "count_tolerance",
    "refuse_answers",
    "refuse_answers_of_genotypes",
    "require_counts",
    "require_genotype",
    "require_genotype_means",
    "require_persons",
    "require_possible_genotype",
    "require_possible_target",
    "sampled_rows",
]

#: Smallest probability but 0, its inverse finite with room, and largest but 1.
_LEAST, _BELOW_ONE = 2.0**-1000, 1.0 - 2.0**-53
_NO_COLUMNS = np.arange(0)
#: Codes of a genotype that is missing.
MISSING = (-9.0, -1.0, 3.0, 9.0, 99.0, -99.0, 255.0, -128.0)
#: So many columns of so many rows show that a release holds answers, of which so many are 1; and
#: the smallest frequency of an allele in a population of people.
_COLUMNS, _FEWEST_EQUAL, _ANSWERS, _LEAST_SHARE = 10, 10, 6, 1e-12
#: Means of genotypes that are all 0 or 1 are answers if chance gives so large ones so rarely.
_BY_CHANCE = 1e-9
COUNTS_RULE = "be the mean of {n} counts 0, 1 or 2"


def as_column_probabilities(
    values: Any, name: str, columns: int
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Probabilities of `columns` coordinates, or one for all; and the columns that do not vary."""
    array = as_floats(values, name)
    if array.shape not in ((), (columns,)):
        rule = f"be a number or have {columns} entries, one for each of target"
        invalid(name, f"{rule}; its shape is {array.shape}")
    if within(array, _LEAST, _BELOW_ONE):
        return for_columns(array, columns), _NO_COLUMNS
    p = for_columns(bit_probabilities(array, name), columns)
    return p, ((p == 0.0) | (p == 1.0)).nonzero()[0]


def bit_probabilities(array: FloatArray, name: str) -> FloatArray:
    """`array`, probabilities of bits or alleles, without what rounding leaves above 1."""
    array = rounded_to_one(array)
    require_within(array, 0.0, 1.0, name, "be between 0 and 1")
    require((array == 0.0) | (array >= _LEAST), array, name, "be 0 or at least 2**-1000")
    return array


def require_possible_target(good: npt.NDArray[np.bool_], target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that no row equals, naming the coordinate."""
    if not every(good):
        column = int(np.argmin(good))
        invalid(
            "target",
            "be possible",
            index=column,
            value=target[column],
            remedy=f"With p[{column}] = {float(p[column])!r} no row is like it in that column",
        )


def count_tolerance(dtype: npt.DTypeLike, n: int) -> float:
    """How far ``n * release`` may be from whole; an error if counts cannot be distinguished."""
    tolerance = STRAY + 8.0 * n * float(np.finfo(dtype).eps)
    if tolerance > 0.25:
        invalid(
            "releases",
            f"be precise enough to distinguish {n} counts, which {np.dtype(dtype).name} is not",
            remedy="Pass float64, or decimals= if the means were rounded",
        )
    return tolerance


def require_counts(target: FloatArray, most: int) -> None:
    """Refuse a target that is not whole, from 0 to 1 or 2."""
    if checks.are_counts(target, most):
        return
    if not (within(target, 0.0, most) and every(np.rint(target) == target)):
        rule = "be 0 or 1" if most == 1 else "be 0, 1 or 2"
        require(np.isin(target, np.arange(most + 1)), target, "target", rule)


def require_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that is not 0, 1 or 2, or has probability 0."""
    require_counts(target, 2)
    require_possible_genotype(target, p)
    require_likely_counts(target, p, 2)


def refuse_answers(release: FloatArray, mean: FloatArray, n: int) -> None:
    """Refuse 0 and 1 alone, which are no means of n rows, as answers of a beacon.

    Few rows may all be equal in linked columns.
    """
    if mean.size < _COLUMNS or n < _FEWEST_EQUAL:
        return
    present = (release == 1.0) & (mean > _LEAST_SHARE) & (mean < 0.5)
    answers = int(np.count_nonzero(present))
    are_answers = bool(((release == 0.0) | (release == 1.0)).all())
    if answers < _ANSWERS or not are_answers or mean.min() < 0.0:
        return
    invalid(
        "releases",
        f"be means of rows; all {release.size} are 0 or 1, and {answers} are 1 where the mean is "
        "below 1/2, as answers are whether a row has an allele",
        remedy="Of such answers mialeak.laws.Chain has log_likelihood_ratio(until=)",
    )


def refuse_answers_of_genotypes(release: FloatArray, p: FloatArray, n: int) -> None:
    """Refuse 0 and 1 alone in place of mean counts, as answers of a beacon, of few columns too.

    A mean count is 1 where half of the 2n alleles are alternate ones: of an allele of frequency
    p < 1/2 with a probability of at most ``(4 p (1 - p))**n``.  One that all persons have has the
    mean 2.
    """
    if release.size < 2 or n < _FEWEST_EQUAL or not ((release == 0.0) | (release == 1.0)).all():
        return
    present = p[(release == 1.0) & (p > _LEAST_SHARE) & (p < 0.5)]
    if n * float(np.log(4.0 * present * (1.0 - present)).sum()) > math.log(_BY_CHANCE):
        return
    invalid(
        "releases",
        f"be mean counts of alleles; all {release.size} are 0 or 1, and half of the alleles of "
        f"{n:,} persons are not of a kind this rare, as p states, in column "
        f"{listed(np.flatnonzero((release == 1.0) & (p < 0.5)).tolist())}",
        remedy="Of answers whether a person has an allele mialeak.laws.Chain has "
        "log_likelihood_ratio(until=); a mean count is twice the frequency of the allele",
    )


def require_persons(release: Any, n: int) -> None:
    """Refuse n chromosomes: the sums of the counts of n genotypes are not all even."""
    if is_mean_of_half(np.asarray(release, np.float64), n):
        remedy = f"Pass the number of persons, {n // 2}"
        invalid("n", "count persons; the sums of all columns are even", value=n, remedy=remedy)


def require_possible_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a genotype that has probability 0."""
    possible = ((p > 0.0) | (target == 0.0)) & ((p < 1.0) | (target == 2.0))
    require_possible_target(possible, target, p)


def require_genotype_means(releases: Releases, n: int) -> None:
    """Refuse releases that are no mean of n genotypes."""
    counts = n * np.asarray(releases.rows, np.float64)
    slack = count_tolerance(releases.rows.dtype, n)
    with np.errstate(invalid="ignore"):  # inf - inf
        whole = (np.abs(counts - np.rint(counts)) <= slack) | np.isnan(counts)
    good = whole & ~(counts < -slack) & ~(counts > 2.0 * n + slack)
    remedy = "Pass decimals= if the means were rounded; a mean count is twice a frequency"
    releases.require(good, COUNTS_RULE.format(n=n), remedy)


class Releases(Protocol):
    """Some releases in rows that can state where an offending one stands."""

    rows: npt.NDArray[Any]

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good` is false."""


def sampled_rows(rate: float, n: int) -> int:
    """``rate * n``, which must be an integer of at least 2."""
    rate = as_float(rate, "sampling_rate")
    if not 0.0 < rate <= 1.0:
        invalid("sampling_rate", "be above 0 and at most 1", value=rate)
    rows = round(rate * n)
    if abs(rate * n - rows) > 1e-9 * rows or rows < 2:
        low = max(2, int(np.floor(rate * n)))
        high = min(n, low + 1 if rate * n >= 2.0 else low)
        near = " and ".join(f"{k / n!r} ({k} rows)" for k in sorted({low, high}))
        invalid(
            "sampling_rate",
            f"draw an integer number of rows, at least 2, of n = {n}",
            value=rate,
            remedy=f"The nearest that do: {near}",
        )
    return rows
