"""What scores rows: a covariance of each structure in the form that whitens a deviation.

All have the methods of :class:`Factor`, a :class:`~mialeak._numerics.whitening.Whitening` that
refuses where it is singular; deviations are rows (t, d) of float64 that may be overwritten.
"""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn, Protocol

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from mialeak._arrays import FloatArray
from mialeak._kernels import covariance as kernels
from mialeak._numerics.whitening import Diagonal, Whitening, as_correlation, least_pivot
from mialeak.covariance._moments import Rows, centred, squared_norms

__all__ = [
    "BlocksFactor",
    "DiagonalFactor",
    "Factor",
    "FullFactor",
    "LowRankFactor",
    "Singular",
    "diagonal_factor",
    "full_factor",
    "low_rank_factor",
]

_EPS = float(np.finfo(np.float64).eps)
#: Columns of a triangle that is not halved further: as few as keep BLAS busy, for all beside these
#: triangles is done by matrix products.
_CORNER = 32
#: Where the low-rank form leaves less than this part of a norm, more than ten of its 53 bits have
#: cancelled, and a dearer form is taken, a sum of squares.
_CANCELLED = 2.0**-10


class Factor(Whitening, Protocol):
    """A covariance C that can be solved with, or refuses."""

    @property
    def log_determinant(self) -> float:
        """Logarithm of its determinant."""

    @property
    def shrinkage(self) -> float | FloatArray:
        """The intensity it was shrunk by."""

    @property
    def condition(self) -> float:
        """Condition number, estimated."""

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row, v its deviation from ``centre + low``."""

    def weights(self, deviation: FloatArray) -> FloatArray:
        """``C^-1 v`` of one v, or of each row v."""

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """``W v`` of each row v, where ``W^T W = C^-1``."""


class Singular:
    """A covariance without an inverse."""

    name = "the covariance"
    log_determinant = -np.inf
    condition = np.inf

    def __init__(self, rank: int, columns: int, remedy: str, shrinkage: float = 0.0):
        self.rank, self._columns, self._remedy = rank, columns, remedy
        self.shrinkage: float | FloatArray = shrinkage

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"{self.name} must have full rank; its rank is {self.rank} of {self._columns}. "
            f"{self._remedy}"
        )

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """Refuse."""
        self._refuse()

    def squared(self, deviations: FloatArray) -> FloatArray:
        """Refuse."""
        self._refuse()

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Refuse."""
        self._refuse()

    def weights(self, deviation: FloatArray) -> FloatArray:
        """Refuse."""
        self._refuse()

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """Refuse."""
        self._refuse()


_REMEDY = (
    "Fit more rows, leave out columns that are constant or sums of others, or set shrinkage or "
    "ridge"
)


class Triangle:
    """A lower triangle to solve with, halved again and again.

    All but the small triangles on the diagonal is then matrix products, which BLAS does twice as
    fast as it solves triangular systems.
    """

    def __init__(self, lower: FloatArray):
        size = len(lower)
        self._corner: FloatArray | None = None
        if size <= _CORNER:
            self._corner = np.array(lower, order="F")
            return
        self._half = (size // _CORNER + 1) // 2 * _CORNER
        self._first = Triangle(lower[: self._half, : self._half])
        self._beside = np.array(lower[self._half :, : self._half], order="F")
        self._last = Triangle(lower[self._half :, self._half :])

    def solve(self, rows: FloatArray) -> None:
        """``L^-1 v`` for each row v, in place; `rows` has Fortran order."""
        if not len(rows):  # BLAS refuses what is empty
            return
        if self._corner is not None:
            blas.dtrsm(1.0, self._corner, rows, side=1, lower=1, trans_a=1, overwrite_b=1)
            return
        first, last = rows[:, : self._half], rows[:, self._half :]
        self._first.solve(first)
        blas.dgemm(-1.0, first, self._beside, beta=1.0, c=last, trans_b=1, overwrite_c=1)
        self._last.solve(last)

    def solve_back(self, rows: FloatArray) -> None:
        """``L^-T v`` for each row v, in place; `rows` has Fortran order."""
        if not len(rows):
            return
        if self._corner is not None:
            blas.dtrsm(1.0, self._corner, rows, side=1, lower=1, overwrite_b=1)
            return
        first, last = rows[:, : self._half], rows[:, self._half :]
        self._last.solve_back(last)
        blas.dgemm(-1.0, last, self._beside, beta=1.0, c=first, overwrite_c=1)
        self._first.solve_back(first)


def by_columns(rows: FloatArray) -> FloatArray:
    """The same numbers in Fortran order."""
    if rows.flags.f_contiguous:
        return rows
    none = np.zeros(rows.shape[1])
    return centred(rows, none, none)


def _inner(one: FloatArray, other: FloatArray) -> FloatArray:
    """``a^T b`` of each pair of rows; einsum is the fastest where columns lie side by side."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


class FullFactor:
    """A lower Cholesky factor: one triangular solve for a block of rows."""

    def __init__(self, lower: FloatArray, condition: float, shrinkage: float):
        self._triangle = Triangle(lower)
        self.rank = len(lower)
        self.condition, self.shrinkage = condition, shrinkage
        self.log_determinant = 2.0 * float(np.log(np.diagonal(lower)).sum())

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row, v its deviation from ``centre + low``."""
        return self.squared(centred(rows, centre, low))

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row v."""
        white = self.whiten(deviations)
        return _inner(white, white)

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` of each pair of rows."""
        white = self.whiten(one)
        return _inner(white, white if other is one else self.whiten(other))

    def weights(self, deviation: FloatArray) -> FloatArray:
        """``C^-1 v`` of one v, or of each row v."""
        rows = np.array(deviation, order="F", ndmin=2)
        if rows.size:
            self._triangle.solve(rows)
            self._triangle.solve_back(rows)
        return rows.reshape(deviation.shape)

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """``L^-1 v`` of each row v."""
        rows = by_columns(deviations)
        if rows.size:
            self._triangle.solve(rows)
        return rows


def full_factor(
    products: FloatArray, n: int, shrinkage: float, ridge: float, *, lost: int = 1
) -> FullFactor | Singular:
    """The factor of ``(1 - shrinkage) S + (shrinkage tr S/d + ridge) I``, S = products / n.

    S has a rank of ``n - lost`` at most: of deviations from their own mean, one is lost.
    The correlation matrix is factored, by plain Cholesky: it may succeed on a singular one.  Where
    its condition leaves doubt, a pivoted one decides the rank.
    """
    d = len(products)
    variances = np.diagonal(products) / n
    deviation = np.sqrt((1.0 - shrinkage) * variances + (shrinkage * variances.mean() + ridge))
    tolerance = least_pivot(d)
    added = shrinkage * variances.mean() + ridge
    if deviation.all() and (n - lost >= d or added > 0.0):
        lower, info = lapack.dpotrf(
            _correlation(products, n, shrinkage, deviation), lower=1, clean=0, overwrite_a=1
        )
        if info == 0:
            reciprocal = float(lapack.dtrcon(lower, norm="1", uplo="L")[0]) ** 2
            # |L^-1|_1 may be sqrt(d) below |L^-1|_2, whose square is 1/(least eigenvalue).
            certain = reciprocal > d * tolerance
            if certain or _rank(products, n, shrinkage, deviation, tolerance) == d:
                lower *= deviation[:, None]
                return FullFactor(lower, 1.0 / reciprocal, shrinkage)
    rank = _rank(products, n, shrinkage, deviation, tolerance)
    return Singular(rank, d, _REMEDY, shrinkage)


def _correlation(
    products: FloatArray, n: int, shrinkage: float, deviation: FloatArray
) -> FloatArray:
    with np.errstate(divide="ignore"):
        inverse = np.where(deviation > 0.0, 1.0 / deviation, 0.0)
    correlation = as_correlation(products, inverse, (1.0 - shrinkage) / n)
    correlation[np.diag_indices_from(correlation)] = deviation > 0.0
    return correlation


def _rank(
    products: FloatArray, n: int, shrinkage: float, deviation: FloatArray, tolerance: float
) -> int:
    """Rank by Cholesky with complete pivoting."""
    if not deviation.any():
        return 0
    correlation = _correlation(products, n, shrinkage, deviation)
    return int(lapack.dpstrf(correlation, tol=tolerance, lower=1, overwrite_a=1)[2])


class DiagonalFactor(Diagonal):
    """Variances of uncorrelated columns, all above 0."""

    condition = 1.0

    def __init__(self, variances: FloatArray, shrinkage: float):
        super().__init__(variances, np.zeros(variances.size))
        self.shrinkage = shrinkage
        self.log_determinant = float(np.log(variances).sum())

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row, v its deviation from ``centre + low``, by a kernel."""
        out = np.empty(len(rows))
        kernels.row_norms(rows, centre, low, self._weights, out)
        return out

    def weights(self, deviation: FloatArray) -> FloatArray:
        """``C^-1 v`` of one v, or of each row v."""
        return deviation * self._weights

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """Each column in standard deviations, in place."""
        deviations *= np.sqrt(self._weights)
        return deviations


def diagonal_factor(
    variances: FloatArray, shrinkage: float, ridge: float
) -> DiagonalFactor | Singular:
    """The factor of ``(1 - shrinkage) S + (shrinkage tr S/d + ridge) I``, S diagonal."""
    total = (1.0 - shrinkage) * variances + (shrinkage * variances.mean() + ridge)
    varies = total >= np.finfo(np.float64).tiny  # below, the inverse is no float
    if varies.all():
        return DiagonalFactor(total, shrinkage)
    return Singular(int(np.count_nonzero(varies)), total.size, _REMEDY, shrinkage)


class BlocksFactor:
    """Factors side by side."""

    def __init__(self, parts: list[FullFactor | Singular], places: list[slice]):
        self._parts, self._places = parts, places
        self.rank = sum(part.rank for part in parts)
        self.condition = max(part.condition for part in parts)
        self.log_determinant = sum(part.log_determinant for part in parts)
        self.shrinkage: float | FloatArray = np.array([part.shrinkage for part in parts])

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row, v its deviation from ``centre + low``."""
        total = np.zeros(len(rows))
        for part, at in zip(self._parts, self._places, strict=True):
            total += part.distances(rows[:, at], centre[at], low[at])
        return total

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row v."""
        none = np.zeros(deviations.shape[1])
        return self.distances(deviations, none, none)

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` of each pair of rows."""
        total = np.zeros(len(one))
        for part, at in zip(self._parts, self._places, strict=True):
            total += part.inner(np.array(one[:, at]), np.array(other[:, at]))
        return total

    def weights(self, deviation: FloatArray) -> FloatArray:
        """``C^-1 v`` of one v, or of each row v."""
        pairs = zip(self._parts, self._places, strict=True)
        return np.concatenate([part.weights(deviation[..., at]) for part, at in pairs], axis=-1)

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """``L^-1 v`` block by block, in place."""
        for part, at in zip(self._parts, self._places, strict=True):
            deviations[:, at] = part.whiten(np.array(deviations[:, at]))
        return deviations


class LowRankFactor:
    """``share X^T X + ridge I`` of r < d centred rows X, by r x r work alone.

    With ``K = (ridge/share) I + X X^T = L L^T``, ``C^-1 v = (v - X^T K^-1 X v) / ridge`` and
    ``v^T C^-1 v = (|v|^2 - |L^-1 X v|^2) / ridge``.  Where v lies so nearly in the span of the rows
    that this cancels, the same number is taken as ``(|v - X^T w|^2 + (ridge/share) |w|^2) / ridge``
    with ``w = K^-1 X v``, the least value over all w: nothing cancels, and an error in w enters
    squared.
    """

    def __init__(
        self, rows: FloatArray, gram: FloatArray, lower: FloatArray, share: float, ridge: float
    ):
        self._rows, self._gram, self._triangle = rows, gram, Triangle(lower)
        self._share, self._ridge = share, ridge
        r, d = rows.shape
        self.rank, self.shrinkage = d, 0.0
        determinant = 2.0 * float(np.log(np.diagonal(lower)).sum())
        self.log_determinant = determinant - r * np.log(ridge / share) + d * np.log(ridge)

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = linalg.eigh(self._gram, lower=True)
        return np.maximum(values, 0.0), vectors

    @property
    def condition(self) -> float:
        """Condition number of the covariance itself."""
        return 1.0 + self._share * float(self._spectrum[0][-1]) / self._ridge

    def distances(self, rows: Rows, centre: FloatArray, low: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row, v its deviation from ``centre + low``."""
        return self.squared(centred(rows, centre, low))

    def squared(self, deviations: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` of each row v."""
        whole = squared_norms(deviations)
        seen = self._seen(deviations)
        self._triangle.solve(seen)
        remaining = whole - squared_norms(seen)
        near = remaining < _CANCELLED * whole
        if near.any():
            w = np.array(seen[near], order="F")
            self._triangle.solve_back(w)
            outside = deviations[near] - w @ self._rows
            remaining[near] = squared_norms(outside) + (self._ridge / self._share) * squared_norms(
                w
            )
        return np.asarray(remaining / self._ridge)

    def inner(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """``a^T C^-1 b`` of each pair of rows."""
        return np.asarray(np.vecdot(one, self._precision(other)))

    def weights(self, deviation: FloatArray) -> FloatArray:
        """``C^-1 v`` of one v, or of each row v."""
        return self._precision(np.atleast_2d(deviation)).reshape(deviation.shape)

    def whiten(self, deviations: FloatArray) -> FloatArray:
        """``C^-1/2 v``, the symmetric root."""
        values, vectors = self._spectrum
        total = self._ridge + self._share * values
        gain = self._share / (total * (1.0 + np.sqrt(self._ridge / total)))
        seen = (self._seen(deviations) @ vectors) * gain
        return np.asarray((deviations - (seen @ vectors.T) @ self._rows) / np.sqrt(self._ridge))

    def _precision(self, deviations: FloatArray) -> FloatArray:
        w = self._seen(deviations)
        self._triangle.solve(w)
        self._triangle.solve_back(w)
        return np.asarray((deviations - w @ self._rows) / self._ridge)

    def _seen(self, deviations: FloatArray) -> FloatArray:
        """Products of each row with the references, in Fortran order."""
        return np.asarray((self._rows @ deviations.T).T)


def low_rank_factor(
    rows: FloatArray, gram: FloatArray, shrinkage: float, ridge: float
) -> LowRankFactor | DiagonalFactor | Singular:
    """The factor of ``(1 - shrinkage) S + (shrinkage tr S/d + ridge) I``, S = rows^T rows / r."""
    r, d = rows.shape
    added = shrinkage * float(np.trace(gram)) / (r * d) + ridge
    share = (1.0 - shrinkage) / r
    if added > 0.0 and share == 0.0:
        return DiagonalFactor(np.full(d, added), shrinkage)
    if added > _EPS * share * float(np.trace(gram)):
        shifted = np.array(gram, order="F")
        shifted[np.diag_indices(r)] += added / share
        lower, info = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            factor = LowRankFactor(rows, gram, lower, share, added)
            factor.shrinkage = shrinkage
            return factor
    scale = float(np.diagonal(gram).max(initial=0.0))
    rank = int(lapack.dpstrf(gram, tol=least_pivot(r) * scale, lower=1)[2]) if scale else 0
    remedy = "Set shrinkage or ridge, large enough not to be lost to rounding"
    return Singular(rank, d, remedy, shrinkage)
