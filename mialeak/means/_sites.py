"""How many sites of genotypes can be published, the most common ones first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, special

from mialeak._arrays import FloatArray
from mialeak._checks.means.matrices import are_genotypes
from mialeak._numerics.leave_one_out import downdated

if TYPE_CHECKING:
    from mialeak.means._release import Release
    from mialeak.means._report import MeanReport

__all__ = ["is_of_genotypes", "sites_within"]

#: Entries of a block of sites.
_ENTRIES = 2**18
#: A site whose part that no site before it explains has less than this share of its variance
#: follows from these.
_FOLLOWS = 1e-10


def is_of_genotypes(release: Release) -> bool:
    """Whether all columns count the copies of an allele."""
    counts = release.numbers
    small = counts.dtype == np.int8 and len(release.columns) == counts.shape[1]
    return small and are_genotypes(counts)


def sites_within(report: MeanReport, release: Release, leakage: float) -> dict[str, Any] | None:
    """How many sites leak at most `leakage`, if the most common are published and no others.

    The sites are in the order of their minor-allele frequency, the largest first.  A score is the
    sum of what each site adds beside those before it, and so never falls: the numbers are the
    largest.

    Returns
    -------
    dict or None
        `leakage`; `riskiest` and `average`: the sites with which the riskiest row, and the average
        one, leak at most that; and for each the minor-allele frequency of the last such site, None
        for no site.  None unless all columns are genotypes, rows are judged by the others, and
        their covariance is full or diagonal (a shrunk one depends on all sites).
    """
    others = report.has_register or report.has_reference or report.covariance == "shrunk"
    if others or not is_of_genotypes(release):
        return None
    shares = release.means / 2.0
    minor = np.minimum(shares, 1.0 - shares)
    order = np.argsort(-minor, kind="stable")
    count = dict.fromkeys(("riskiest", "average"), 0)
    for scores in (_full if report.covariance == "full" else _diagonal)(report, release, order):
        leaks = special.erf(np.sqrt(scores / 8.0))  # 2 Phi(sqrt(m)/2) - 1
        leaks *= report.rate
        within = leaks.max(axis=0) <= leakage, leaks.mean(axis=0) <= leakage
        for name, each in zip(count, within, strict=True):
            count[name] += int(np.count_nonzero(each))
        if not within[1][-1]:
            break
    last = {f"{name}_frequency": float(minor[order[k - 1]]) if k else None
            for name, k in count.items()}  # fmt: skip
    return {"leakage": leakage, **count, **last}


def _variance(report: MeanReport) -> tuple[float, float]:
    """Variance of the noise in that of a column, and what scores are divided by."""
    rate = report.rows_used / report.rows
    variance = report.sampling_error**2 * report.rows_used
    return rate * report.noise_std**2 / variance, rate * variance


def _diagonal(
    report: MeanReport, release: Release, order: npt.NDArray[np.intp]
) -> Iterator[FloatArray]:
    """Scores of rows with 1, 2, ... sites, taken as uncorrelated; a block of sites at a time."""
    variance, divisor = _variance(report)
    divisor *= (release.rows - 1.0) ** 2
    total = np.zeros((release.rows, 1))
    for columns in _blocks(order, release.rows):
        sums = np.cumsum(release.terms(columns, variance), axis=1)
        sums += total
        total = sums[:, -1:].copy()
        yield np.where(sums > 1e290, np.inf, sums / divisor)


def _full(
    report: MeanReport, release: Release, order: npt.NDArray[np.intp]
) -> Iterator[FloatArray]:
    """The same by the covariance of these sites: squares of what Cholesky's factor leaves."""
    variance, divisor = _variance(report)
    rows = release.rows
    stds = release.stds[order]
    scale = np.divide(1.0, stds, out=np.zeros_like(stds), where=stds > 0.0)
    centred = (release.numbers[:, order] - release.means[order]) * scale
    scatter = centred.T @ centred / (rows - 2.0)
    scatter[np.diag_indices(order.size)] += rows * variance
    factor = _factor(scatter)
    kept = np.flatnonzero(np.diagonal(factor))
    whitened = linalg.solve_triangular(factor[np.ix_(kept, kept)], centred[:, kept].T, lower=True)
    squares = np.zeros((order.size, rows))
    squares[kept] = np.square(whitened)
    yield downdated(np.cumsum(squares, axis=0).T, rows) / divisor


def _blocks(order: npt.NDArray[np.intp], rows: int) -> Iterator[npt.NDArray[np.intp]]:
    size = max(1, _ENTRIES // rows)
    for start in range(0, order.size, size):
        yield order[start : start + size]


def _factor(matrix: FloatArray) -> FloatArray:
    """Cholesky's factor, with a row and column of zeros where a column follows from others."""
    factor = np.tril(matrix)
    diagonal = np.diagonal(matrix).copy()
    for k in range(len(matrix)):
        pivot = factor[k, k]
        if pivot <= _FOLLOWS * diagonal[k]:
            factor[k:, k] = factor[k, :k] = 0.0
            continue
        factor[k:, k] /= np.sqrt(pivot)
        column = factor[k + 1 :, k]
        factor[k + 1 :, k + 1 :] -= np.outer(column, column)
    return np.tril(factor)
