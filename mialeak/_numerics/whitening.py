"""Whitening of deviations from the mean, for every form of a covariance argument.

A scalar is the variance of every column, a vector the variances of uncorrelated columns, a matrix
the covariance.  An object with ``covariance_`` and ``mahalanobis`` (scikit-learn's names) computes
distances by its ``whitening_`` or ``mahalanobis``, unless noise is added: then its matrix is used.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg

from mialeak._arrays import (
    FloatArray,
    as_floats,
    first_index,
    for_columns,
    invalid,
    require,
    within,
)

__all__ = [
    "Diagonal",
    "Full",
    "Outside",
    "Whitening",
    "as_correlation",
    "constant_slack",
    "least_pivot",
    "standard_deviations",
    "variances_or_matrix",
    "whitening",
]

#: A correlation matrix is singular where a pivot of its Cholesky factor is below (16 + d) eps: the
#: rounding error of the factorisation and of a covariance computed from data.
_PIVOT = 16
#: A deviation is in the range if its residual is below this share of its largest entry, both in
#: standard deviations: the square root of eps, since the factor may have any condition.
_RANGE = 1e-8
#: A constant column may differ from its mean by this share of the mean: rounding.
_CONSTANT = 1e-12
#: Entries (i, j) and (j, i) of a symmetric matrix may differ by this share: rounding.
_SYMMETRIC = 1e-10
_LARGEST = sys.float_info.max
#: The inverse of a variance from here on is finite.
_LEAST_NORMAL = sys.float_info.min


class Outside(Exception):
    """A deviation that no fresh row can have: its row in the block, its column, and the rank."""

    def __init__(self, row: int, column: int, rank: int, columns: int):
        super().__init__(row, column)
        self.row, self.column, self.rank, self.columns = row, column, rank, columns


def least_pivot(columns: int) -> float:
    """The pivot below which a correlation matrix of so many columns is singular."""
    return float((_PIVOT + columns) * np.finfo(np.float64).eps)


def as_correlation(matrix: FloatArray, inverse: FloatArray, share: float = 1.0) -> FloatArray:
    """``share * matrix``, a covariance, in standard deviations: 1 over those is `inverse`."""
    correlation = matrix * inverse
    correlation *= (inverse * share)[:, None]
    return correlation


class Whitening(Protocol):
    """``a^T C^-1 b`` for rows a and b, C^-1 the generalised inverse on the range of C."""

    rank: int

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` for each row v, which may be overwritten; :class:`Outside` if infinite."""

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` for each pair of rows, which may be overwritten."""

    def weights(self, deviation: FloatArray) -> FloatArray | None:
        """The vector ``C^-1 v``; None if C is singular, or known by its distances only.

        v may be overwritten by the result, and is not changed otherwise.
        """


class Diagonal:
    """Whitening for uncorrelated columns; constant columns are checked, not whitened."""

    def __init__(self, variances: FloatArray, mean: FloatArray):
        self.rank = variances.size
        if within(variances, _LEAST_NORMAL, _LARGEST):  # most are, and errstate takes a microsecond
            self._weights = np.reciprocal(variances)
        else:
            self.rank = int(np.count_nonzero(variances))
            with np.errstate(divide="ignore", over="ignore"):
                self._weights = np.reciprocal(variances)
        self._varies = self.rank == variances.size
        if not self._varies:
            self._fixed = np.flatnonzero(variances == 0.0)
            self._weights[self._fixed] = 0.0
            self._slack = constant_slack(mean[self._fixed])

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` for each row v."""
        return self.inner(deviations, deviations)

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` for each pair of rows."""
        if not self._varies:
            for rows in (one, other):
                _check_fixed(rows, self._fixed, self._slack, self.rank)
        one *= other
        return one @ self._weights

    def weights(self, deviation: FloatArray) -> FloatArray | None:
        """The vector ``C^-1 v``, if every column varies."""
        if not self._varies:
            return None
        deviation *= self._weights
        return deviation


class Full:
    """Whitening by a Cholesky factor of the correlation matrix, pivoted if it is singular."""

    def __init__(self, matrix: FloatArray, slack: FloatArray, name: str):
        deviation = np.sqrt(np.diagonal(matrix))
        self._fixed = np.flatnonzero(deviation == 0.0)
        self._slack = slack[self._fixed]
        self._moving = np.flatnonzero(deviation)
        stray = matrix[self._fixed] != 0.0
        if stray.any():
            row, column = first_index(stray)
            index = int(self._fixed[row]), column
            rule = "be positive semi-definite; a column without variance has no covariance"
            invalid(name, rule, index=index, value=matrix[index])
        self._inverse = 1.0 / deviation[self._moving]
        limit = least_pivot(deviation.size)
        self._order: npt.NDArray[np.intp] | None = None
        self._factor, info = linalg.lapack.dpotrf(
            self._correlation(matrix), lower=1, clean=0, overwrite_a=1
        )
        self.rank = self._moving.size
        if info != 0 or np.min(np.diagonal(self._factor) ** 2, initial=1.0) <= limit:
            self._pivot(self._correlation(matrix), limit, name)

    def _correlation(self, matrix: FloatArray) -> FloatArray:
        if self._fixed.size:
            matrix = matrix[np.ix_(self._moving, self._moving)]
        return as_correlation(matrix.T, self._inverse)  # symmetric, and LAPACK counts by columns

    def _pivot(self, correlation: FloatArray, limit: float, name: str) -> None:
        factor, order, rank, _ = linalg.lapack.dpstrf(correlation, tol=limit, lower=1)
        order = order - 1
        below = factor[rank:, :rank]
        residual = correlation[np.ix_(order[rank:], order[rank:])] - below @ below.T
        if residual.size and np.abs(residual).max() > np.sqrt(limit):
            least = linalg.eigh(correlation, eigvals_only=True, subset_by_index=[0, 0])[0]
            rule = "be positive semi-definite; the least eigenvalue of its correlation matrix is"
            invalid(name, f"{rule} {least:.3g}")
        self._order, self.rank = order, int(rank)
        self._factor, self._below = np.asfortranarray(factor[:rank, :rank]), below

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` for each row v."""
        white = self._whiten(deviations)
        return np.asarray(np.vecdot(white, white))

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` for each pair of rows."""
        return np.asarray(np.vecdot(self._whiten(one), self._whiten(other)))

    def weights(self, deviation: FloatArray) -> FloatArray | None:
        """The vector ``C^-1 v``, if C is regular."""
        if self._fixed.size or self._order is not None:
            return None
        white = self._solve(deviation[None] * self._inverse)
        back = linalg.blas.dtrsm(1.0, self._factor, white.T, lower=1, trans_a=1)
        with np.errstate(over="ignore"):
            return np.asarray(back[:, 0] * self._inverse)

    def _whiten(self, deviations: FloatArray) -> FloatArray:
        """Solve one triangular system for all rows."""
        if self._fixed.size:
            _check_fixed(deviations, self._fixed, self._slack, self.rank)
            deviations = deviations[:, self._moving]
        deviations *= self._inverse
        if self._order is None:
            return self._solve(deviations)
        head = self._solve(deviations[:, self._order[: self.rank]])
        residual = np.abs(deviations[:, self._order[self.rank :]] - head @ self._below.T)
        bad = residual > _RANGE * np.abs(deviations).max(axis=1, keepdims=True, initial=0.0)
        if bad.any():
            row = first_index(bad.any(axis=1))[0]
            column = self._order[self.rank + int(np.argmax(residual[row]))]
            columns = self._moving.size + self._fixed.size
            raise Outside(row, int(self._moving[column]), self.rank, columns)
        return head

    def _solve(self, rows: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(rows)
        if rows.size:
            linalg.blas.dtrsm(1.0, self._factor, rows.T, lower=1, overwrite_b=1)
        return rows


class Estimator:
    """Whitening by an object that computes its Mahalanobis distances."""

    def __init__(self, estimator: Any, columns: int):
        self._estimator = estimator
        self.rank = columns
        centre = getattr(estimator, "mean_", getattr(estimator, "location_", None))
        self._centre = np.zeros(columns) if centre is None else np.asarray(centre, np.float64)

    @property
    def covariance(self) -> Any:
        """The covariance matrix of the object, computed on request."""
        return self._estimator.covariance_

    def whitening(self) -> Whitening:
        """The ``whitening_`` of the object, if it has one; otherwise this object."""
        result: Whitening = getattr(self._estimator, "whitening_", self)
        return result

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` for each row v."""
        return np.asarray(self._estimator.mahalanobis(deviations + self._centre), np.float64)

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` by polarisation."""
        return 0.25 * (self.squared(one + other) - self.squared(one - other))

    def weights(self, deviation: FloatArray) -> FloatArray | None:
        """None: a fitted object computes distances only."""
        return None


def _check_fixed(
    deviations: FloatArray, fixed: npt.NDArray[np.intp], slack: FloatArray, rank: int
) -> None:
    bad = np.abs(deviations[:, fixed]) > slack
    if bad.any():
        row, column = first_index(bad)
        raise Outside(row, int(fixed[column]), rank, deviations.shape[1])


def as_form(cov: Any, columns: int, name: str) -> FloatArray | Estimator:
    """A covariance as variances (columns,), a matrix (columns, columns), or an estimator."""
    # An array has no such names, and to look for one takes as long as for its numbers.
    plain = type(cov) is np.ndarray
    if (
        not plain
        and hasattr(cov, "mahalanobis")
        and (hasattr(type(cov), "whitening_") or hasattr(cov, "covariance_"))
    ):
        known = getattr(cov, "n_features_in_", columns)
        if known != columns:
            invalid(name, f"be fitted to {columns} columns; it was fitted to {known}")
        return Estimator(cov, columns)
    array = as_floats(cov, name)
    if array.shape not in ((), (columns,), (columns, columns)):
        invalid(
            name,
            f"be a number, {columns} variances or a {columns} by {columns} matrix, to go with "
            f"{columns} columns; its shape is {array.shape}",
        )
    if array.ndim < 2:
        if not within(array, 0.0, _LARGEST):
            require(np.isfinite(array), array, name, "be finite")
            require(array >= 0.0, array, name, "be at least 0 (a variance)")
        return for_columns(array, columns)
    require(np.isfinite(array), array, name, "be finite")
    _require_symmetric(array, name)
    diagonal = np.diagonal(array)
    bad = diagonal < 0.0
    if bad.any():
        j = first_index(bad)[0]
        invalid(name, "have variances of at least 0", index=(j, j), value=diagonal[j])
    return array


def _require_symmetric(matrix: FloatArray, name: str) -> None:
    """Check symmetry, row blocks against column blocks: no second matrix in memory."""
    size = np.sqrt(np.abs(np.diagonal(matrix)))
    rows = max(1, (1 << 18) // max(1, size.size))
    for start in range(0, size.size, rows):
        block = slice(start, start + rows)
        if np.array_equal(matrix[block], matrix[:, block].T):
            continue
        with np.errstate(over="ignore"):
            gap = np.abs(matrix[block] - matrix[:, block].T)
        allowed = np.multiply.outer(_SYMMETRIC * size[block], size)
        bad = gap > allowed + _SYMMETRIC * np.abs(matrix[block])
        if bad.any():
            i, j = first_index(bad)
            i += start
            one, other = float(matrix[i, j]), float(matrix[j, i])
            invalid(
                name,
                f"be symmetric; got {name}[{i}, {j}] = {one!r} and {name}[{j}, {i}] = {other!r}",
            )


def whitening(
    cov: Any,
    mean: FloatArray,
    *,
    factor: float = 1.0,
    noise: Any = None,
    noise_factor: float = 1.0,
    names: tuple[str, str] = ("cov", "release_noise_cov"),
) -> Whitening:
    """The whitening of ``factor * cov + noise_factor * noise``."""
    form = as_form(cov, mean.size, names[0])
    if noise is None and factor == 1.0:
        return form.whitening() if isinstance(form, Estimator) else _of_array(form, mean, names[0])
    term = _array_of(form, mean.size, names[0])
    if noise is None:
        return _of_array(factor * term, mean, names[0])
    other = variances_or_matrix(noise, mean.size, names[1])
    for matrix, name in zip((term, other), names, strict=True):
        if matrix.ndim == 2:
            _of_array(matrix, mean, name)  # check each term: an invalid term may have a valid sum
    return _of_array(_weighted_sum(term, factor, other, noise_factor), mean, names[0])


def constant_slack(mean: FloatArray) -> FloatArray:
    """Largest deviation of a constant column from its mean: the rounding of the mean."""
    return _CONSTANT * np.abs(mean)


def _of_array(cov: FloatArray, mean: FloatArray, name: str) -> Whitening:
    return Diagonal(cov, mean) if cov.ndim == 1 else Full(cov, constant_slack(mean), name)


def variances_or_matrix(cov: Any, columns: int, name: str) -> FloatArray:
    """A covariance as an array: variances (columns,) or a matrix (columns, columns)."""
    return _array_of(as_form(cov, columns, name), columns, name)


def standard_deviations(cov: Any, columns: int) -> FloatArray:
    """Those of the columns, from a valid `cov` of any form."""
    form = variances_or_matrix(cov, columns, "cov")
    return np.sqrt(np.diagonal(form) if form.ndim == 2 else form)


def _array_of(form: FloatArray | Estimator, columns: int, name: str) -> FloatArray:
    if isinstance(form, Estimator):
        return np.asarray(as_form(form.covariance, columns, f"{name}.covariance_"))
    return form


def _weighted_sum(
    cov: FloatArray, factor: float, noise: FloatArray, noise_factor: float
) -> FloatArray:
    if cov.ndim == noise.ndim:
        return factor * cov + noise_factor * noise
    matrix, variances = np.asarray(factor * cov), np.asarray(noise_factor * noise)
    if matrix.ndim == 1:
        matrix, variances = variances, matrix
    matrix[np.diag_indices_from(matrix)] += variances
    return matrix
