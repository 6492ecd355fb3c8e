"""Checks of targets and releases that count: bits and genotypes, and their probabilities."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_floats,
    every,
    for_columns,
    invalid,
    require,
    require_within,
    within,
)

__all__ = [
    "COUNTS_RULE",
    "MOST_ROWS",
    "Releases",
    "as_column_probabilities",
    "count_tolerance",
    "require_counts",
    "require_genotype",
    "require_genotype_means",
    "require_genotype_moments",
    "require_possible_genotype",
    "require_possible_target",
    "require_probability",
]
#: Rows at most where counts are told from their mean: kernels round exactly up to here.
MOST_ROWS = 2**45
#: Smallest probability but 0, its inverse finite with room, and largest but 1.
_LEAST, _BELOW_ONE = 2.0**-1000, 1.0 - 2.0**-53
_NO_COLUMNS = np.arange(0)
#: How far from whole n times a mean may be: rounding to nine decimals passes for n up to 1000, and
#: the rounding of float sums; the nearest count is never in doubt.
_STRAY = 1e-6
#: Relative difference of two variances that are the same, of frequencies to six digits.
_SAME = 1e-5
COUNTS_RULE = "be the mean of {n} counts 0, 1 or 2"


def as_column_probabilities(
    values: Any, name: str, columns: int
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Probabilities of `columns` coordinates, or one for all; and the columns that do not vary."""
    array = as_floats(values, name)
    if array.shape not in ((), (columns,)):
        rule = f"be a number or have {columns} entries, one for each of target"
        invalid(name, f"{rule}; its shape is {array.shape}")
    p = for_columns(array, columns)
    if within(array, _LEAST, _BELOW_ONE):
        return p, _NO_COLUMNS
    require_probability(array, name)
    return p, ((p == 0.0) | (p == 1.0)).nonzero()[0]


def require_probability(array: FloatArray, name: str) -> None:
    require_within(array, 0.0, 1.0, name, "be between 0 and 1")
    require((array == 0.0) | (array >= _LEAST), array, name, "be 0 or at least 2**-1000")


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
    """How far ``n * release`` may be from whole; an error if counts cannot be told apart."""
    tolerance = _STRAY + 8.0 * n * float(np.finfo(dtype).eps)
    if tolerance > 0.25:
        invalid(
            "releases",
            f"be precise enough to tell {n} counts apart, which {np.dtype(dtype).name} is not",
            remedy="Pass float64, or decimals= if the means were rounded",
        )
    return tolerance


def require_counts(target: FloatArray, most: int) -> None:
    """Refuse a target that is not whole, from 0 to 1 or 2."""
    if not (within(target, 0.0, most) and every(np.rint(target) == target)):
        rule = "be 0 or 1" if most == 1 else "be 0, 1 or 2"
        require(np.isin(target, np.arange(most + 1)), target, "target", rule)


def require_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that is not 0, 1 or 2, or has probability 0."""
    require_counts(target, 2)
    require_possible_genotype(target, p)


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


def require_genotype_moments(target: Any, mean: FloatArray, cov: Any) -> None:
    """Refuse the moments of an allele, or of half of them, beside the genotypes 0, 1 and 2.

    With the frequency p a count has the mean 2p and the variance 2p(1 - p).
    """
    if np.shape(cov) != mean.shape or not within(mean, 0.0, 2.0):
        return
    varied = mean[(mean > 0.0) & (mean < 2.0)]
    if not varied.size or (varied == varied[0]).all():  # a coincidence
        return
    variances, half, bits = as_floats(cov, "cov"), 0.5 * mean, mean * (1.0 - mean)

    def is_variance(of: FloatArray) -> bool:
        return bool(np.allclose(variances, of, _SAME, 0.0))

    if is_variance(half * (1.0 - half)):
        name, given = "cov", "p * (1 - p), for a mean of 2 * p"
    elif is_variance(2.0 * bits):
        name, given = "mean", "p, for a cov of 2 * p * (1 - p)"
    elif is_variance(bits):
        name, given = "mean", "p, and cov p * (1 - p), as of bits"
    else:
        return
    values = as_floats(target, "target")
    if not (within(values, 0.0, 2.0) and every(np.rint(values) == values)):
        return
    if is_variance(bits) and within(values, 0.0, 1.0):
        return
    rule = f"be that of the genotypes 0, 1 and 2 of target; it is {given}"
    invalid(name, rule, remedy="For frequencies p pass mean=2 * p, cov=2 * p * (1 - p)")


class Releases(Protocol):
    """Some releases in rows that can say where an offending one stands."""

    rows: npt.NDArray[Any]

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good` is false."""
