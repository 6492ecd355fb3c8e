"""What was learnt, as attributes and as distances and scores of rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid
from mialeak.covariance import _learning, _sources
from mialeak.covariance._factors import Factor
from mialeak.covariance._learning import Learnt, about_zero
from mialeak.covariance._moments import centred
from mialeak.covariance._parameters import NotFittedError, Once, Parameters
from mialeak.covariance._shrinkage import covariance

__all__ = ["Scoring"]


class Scoring(Parameters):
    """The half of the estimator that reads: rows are scored, nothing is learnt."""

    _learnt: Learnt | None = None
    _kind: tuple[str, tuple[int, ...] | None]
    _once: Once
    n_features_in_: int

    def _rule_and_ridge(self) -> tuple[Any, float]:
        """Shrinkage and ridge, if the parameters are good and go with the rows seen."""
        rule, ridge = self._check_parameters()
        if self._learnt is None:
            return rule, ridge
        if self._kind != self._kind_now():
            invalid("structure", "be what it was when the rows were seen", remedy="Call fit")
        tails = self._learnt.moments.tails or self.structure == "low-rank"
        if rule == "ledoit-wolf" and not tails:
            invalid(
                "shrinkage",
                "be 'ledoit-wolf' from the first row on, for it takes sums that were not kept",
                remedy="Call fit",
            )
        return rule, ridge

    def _kind_now(self) -> tuple[str, tuple[int, ...] | None]:
        widths = self.blocks
        return self.structure, None if widths is None else tuple(int(width) for width in widths)

    def _centre(self) -> tuple[FloatArray, FloatArray]:
        """Where deviations are taken from, and its low word."""
        moments = self._seen().moments
        if self.assume_centered:
            return np.zeros_like(moments.centre), np.zeros_like(moments.low)
        return moments.centre, moments.low

    def mahalanobis(self, X: Any) -> FloatArray:
        """Squared Mahalanobis distances of rows from the mean.

        Parameters
        ----------
        X : array_like or Dask array, shape (t, d)
            Any layout; float32 is taken as such.

        Returns
        -------
        ndarray, shape (t,), or Dask array of that shape
            ``(x - mean_)^T covariance_^-1 (x - mean_)``, squared as in scikit-learn.

        Raises
        ------
        NotFittedError
            Before any row was seen.
        TypeError, ValueError
            As :meth:`partial_fit`, and if the covariance is singular.
        """
        distances: FloatArray = self._score(X, whiten=False)
        return distances

    def transform(self, X: Any) -> FloatArray:
        """Rows with the mean taken off and whitened.

        Parameters
        ----------
        X : array_like or Dask array, shape (t, d)
            As for :meth:`mahalanobis`.

        Returns
        -------
        ndarray, shape (t, d), or Dask array of that shape
            Rows whose squared lengths are the distances: solved with the lower Cholesky factor of
            the covariance, or multiplied by its inverse symmetric root for a low rank.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As :meth:`mahalanobis`.
        """
        white: FloatArray = self._score(X, whiten=True)
        return white

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows under the Gaussian law with this mean and covariance.

        Parameters
        ----------
        X : array_like or Dask array, shape (t, d)
            As for :meth:`mahalanobis`; rows that are left out do not count.
        y : object
            Ignored.

        Returns
        -------
        float
            ``-(mean of the distances + log_determinant_ + d log(2 pi))/2``, as in scikit-learn.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As :meth:`mahalanobis`, and for no rows.
        """
        del y
        distances = self.mahalanobis(X)
        if _sources.is_lazy(distances):
            distances = distances.compute()  # type: ignore[attr-defined]
        kept = distances[~np.isnan(distances)]
        if not kept.size:
            invalid("X", "have at least one row")
        constant = self.n_features_in_ * np.log(2.0 * np.pi)
        return float(-0.5 * (kept.mean() + self.log_determinant_ + constant))

    def get_precision(self) -> FloatArray:
        """Inverse of the covariance; distances do without it.

        Returns
        -------
        ndarray, shape (d, d), or (d,) for structure "diagonal"

        Raises
        ------
        NotFittedError
            Before any row was seen.
        ValueError
            If the covariance is singular.
        """
        factor = self.whitening_
        if self.structure == "diagonal":
            return factor.weights(np.ones(self.n_features_in_))
        inverse = factor.weights(np.eye(self.n_features_in_))
        return np.asarray(0.5 * (inverse + inverse.T))

    def error_norm(
        self, comp_cov: Any, norm: str = "frobenius", scaling: bool = True, squared: bool = True
    ) -> float:
        """Norm of the difference to another covariance.

        Parameters
        ----------
        comp_cov : array_like, shape (d, d), or (d,) for variances
            The other one.
        norm : {"frobenius", "spectral"}
            The root of the sum of squares, or the largest singular value.
        scaling : bool
            Whether the squared norm is divided by d.
        squared : bool
            Whether the norm stays squared.

        Returns
        -------
        float

        Raises
        ------
        NotImplementedError
            For another norm, as in scikit-learn.
        NotFittedError, TypeError, ValueError
            Before any row was seen; for what is no covariance of d columns.
        """
        if norm not in ("frobenius", "spectral"):
            rule = 'be "frobenius" or "spectral"'
            invalid("norm", rule, value=norm, error=NotImplementedError)
        mine, other = self.covariance_, as_floats(comp_cov, "comp_cov", finite=True)
        columns = len(mine)
        if other.shape not in ((columns, columns), (columns,)):
            rule = f"have the shape ({columns}, {columns}); its shape is {other.shape}"
            invalid("comp_cov", rule)
        wide = [np.diag(each) if each.ndim == 1 else each for each in (mine, other)]
        error = wide[1] - wide[0]
        square = np.sum(error**2) if norm == "frobenius" else np.linalg.norm(error, 2) ** 2
        square = square / columns if scaling else square
        return float(square if squared else np.sqrt(square))

    def _score(self, X: Any, whiten: bool) -> Any:
        learnt, names = self._seen(), _learning.column_names(X)
        if _sources.is_lazy(X):
            array = _sources.by_rows(X)
            learnt.check(array, names, "X")
            return _sources.map_lazy(copy.copy(self), array, whiten)
        factor, rows = self.whitening_, _learning.as_rows(X)
        learnt.check(rows, names, "X")
        centre, low = self._centre()
        out = np.empty(rows.shape if whiten else len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            for start, piece in _learning.pieces(rows):
                if whiten:
                    values = factor.whiten(centred(piece, centre, low))
                else:
                    values = factor.distances(piece, centre, low)
                if not np.isfinite(values).all():
                    good = _learning.require_finite(piece, start, self.missing == "drop")
                    values[~good] = np.nan
                out[start : start + len(piece)] = values
        return out

    def _seen(self) -> Learnt:
        if self._learnt is None or self._learnt.moments.n == 0:
            remedy = "Call fit or partial_fit first"
            invalid(type(self).__name__, "have seen rows", remedy=remedy, error=NotFittedError)
        return self._learnt

    @property
    def whitening_(self) -> Factor:
        """What distances are made with."""
        moments = self._seen().moments
        rule, ridge = self._rule_and_ridge()
        return self._once.get(moments, rule, ridge, bool(self.assume_centered))

    @property
    def mean_(self) -> FloatArray:
        """Mean of the rows seen, or zeros with `assume_centered`."""
        return self._centre()[0].copy()

    @property
    def location_(self) -> FloatArray:
        """:attr:`mean_`, by scikit-learn's name."""
        return self.mean_

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of the rows seen, shrunk and ridged."""
        factor, moments = self.whitening_, self._seen().moments
        if self.assume_centered:
            moments = about_zero(moments)
        return covariance(moments, factor.shrinkage, float(self.ridge))

    @property
    def precision_(self) -> FloatArray:
        """Inverse of the covariance."""
        return self.get_precision()

    @property
    def n_samples_seen_(self) -> int:
        """Rows learnt from."""
        return self._seen().moments.n

    @property
    def n_samples_dropped_(self) -> int:
        """Rows left out by ``missing="drop"``."""
        return self._seen().dropped

    @property
    def rank_(self) -> int:
        """Rank of the covariance."""
        return self.whitening_.rank

    @property
    def condition_(self) -> float:
        """Condition number."""
        return self.whitening_.condition

    @property
    def log_determinant_(self) -> float:
        """Logarithm of the determinant of the covariance."""
        return self.whitening_.log_determinant

    @property
    def shrinkage_(self) -> float | FloatArray:
        """The intensity in use."""
        return self.whitening_.shrinkage
