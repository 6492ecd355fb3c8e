"""The estimator: sums over blocks of rows, and the distances that follow from them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import resolve_workers
from mialeak.covariance import _dask, _input, _learning, _saved, _shards
from mialeak.covariance._factors import Factor
from mialeak.covariance._learning import Learnt, join
from mialeak.covariance._matrix import covariance
from mialeak.covariance._moments import centred
from mialeak.covariance._parameters import NotFittedError, Once, Parameters

__all__ = ["StreamingCovariance"]


class StreamingCovariance(Parameters):
    """Mean, covariance and squared Mahalanobis distances from one pass over blocks of rows.

    Parameters
    ----------
    structure : {"full", "diagonal", "block", "low-rank"}
        What the covariance is: any matrix; variances of uncorrelated columns; blocks of columns
        uncorrelated with each other, each full; or that of fewer rows than columns plus a multiple
        of the identity, which takes `ridge` or `shrinkage`.
    shrinkage : None, float in [0, 1], "ledoit-wolf" or "oas"
        The share a in ``(1 - a) S + a (tr S/d) I``: none, fixed, or estimated from the rows, block
        by block for structure "block".  "oas" supposes correlations, and is not for variances.
    ridge : float
        Added to every variance.
    blocks : sequence of int, optional
        Widths of the blocks for structure "block", in the order of the columns.
    missing : {"error", "drop"}
        Rows with a NaN or an infinity are an error, or left out (and counted); their distances are
        NaN.
    workers : int
        Threads for files; -1 for all processors.  The numbers do not depend on it.

    Attributes
    ----------
    mean_ : ndarray, shape (d,)
        Mean of the rows seen.
    covariance_ : ndarray, shape (d, d), or (d,) for structure "diagonal"
        Their covariance, with 1/n, shrunk and ridged.  It is made on request; the other results do
        without it.
    shrinkage_ : float, or ndarray with one for each block
        The intensity in use.
    rank_ : int
        Rank of the covariance, by Cholesky with complete pivoting where there is doubt.
    condition_ : float
        Condition number: of the correlation matrix, estimated in the 1-norm of its Cholesky factor
        (the largest of the blocks); of the covariance for structure "low-rank".
    log_determinant_ : float
        Logarithm of the determinant, -inf where it is singular.
    whitening_ : object
        What distances are made with: ``squared(V)``, ``inner(A, B)``, ``weights(v)`` and
        ``whiten(V)`` of deviations from the mean, float64 arrays that may be overwritten.
    n_samples_seen_, n_samples_dropped_, n_features_in_ : int
        Rows learnt from, rows left out, columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where the rows came with names.

    Raises
    ------
    ValueError
        For a parameter out of range, told when rows are first learnt, as scikit-learn does.

    See Also
    --------
    mialeak.leakage_score : takes such an object for its covariance.

    Notes
    -----
    Rows are always centred at their own mean.  ``(1/n) sum g g^T``, which [AB25] Algorithm 3 prints
    for rows g whose mean is then subtracted, ranks the worst canary last where their mean is large
    (a test holds the example).

    **Method.**  Deviations from the mean so far are added up by ``dsyrk``, one call for a block, or
    by a fused kernel for variances; sums of two objects are joined as Chan, Golub and LeVeque do
    (1979).  The mean is kept in two float64 numbers a column.  One Cholesky factor is made when it
    is first needed and kept until the next update; a block of distances is one triangular solve.
    A low rank of r references takes r by r work only:
    ``(X^T X/r + a I)^-1 = (I - X^T (r a I + X X^T)^-1 X)/a``, X centred.

    **Accuracy.**  Relative error of a distance about ``condition_`` times 2e-16, whatever the mean
    of the columns and their scales; docs/covariance_accuracy.md has a table against 60 digits, with
    scikit-learn's and river's beside it.  float32 rows are added up as float64.

    **Cost.**  n rows of d columns and t distances: ``n d^2 + d^3/3 + t d^2`` operations for a full
    structure, one pass for a diagonal one, ``r^2 d + 2 t r d`` for a low rank.  Memory does not
    grow with the rows, but for the references of a low rank.

    Scoring from several threads is safe; learning while another thread scores is not.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import StreamingCovariance
    >>> rows = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 5.0], [6.0, 2.0]])
    >>> cov = StreamingCovariance().partial_fit(rows[:2]).partial_fit(rows[2:])
    >>> cov.mean_, cov.n_samples_seen_
    (array([3., 2.]), 4)
    >>> np.round(cov.mahalanobis(rows), 3)
    array([1.815, 1.148, 2.704, 2.333])
    """

    _learnt: Learnt | None = None
    _kind: tuple[str, tuple[int, ...] | None]
    _once: Once
    n_features_in_: int

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, after forgetting those seen before.

        Parameters
        ----------
        X : array_like, shape (n, d), data frame, iterator of such blocks, files or Dask array
            Any layout; float32 is taken as such.  Files are a path or a list of paths (.npy, .npz
            or .parquet); each is learnt by itself and joined to those before it.  Chunks of a Dask
            array are learnt where they are, and joined by a fixed tree.
        y : object
            Ignored.

        Returns
        -------
        StreamingCovariance
            Itself.

        Raises
        ------
        TypeError
            If X does not hold real numbers, or is sparse.
        ValueError
            If its shape is wrong, or it holds NaN or infinities.  Nothing has changed then.
        """
        del y
        fresh = type(self)(**self.get_params())
        fresh._learn(X, rows_needed=True)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fresh.__dict__)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : array_like, shape (n, d), data frame, iterator of such blocks, files or Dask array
            As in :meth:`fit`; n may be 0.
        y : object
            Ignored.

        Returns
        -------
        StreamingCovariance
            Itself.

        Raises
        ------
        TypeError, ValueError
            As :meth:`fit`, and if the width or the names of the columns are not those before.
        """
        del y
        self._learn(X, rows_needed=False)
        return self

    def _learn(self, X: Any, rows_needed: bool) -> None:
        rule, _ = self._rule_and_ridge()
        workers = resolve_workers(self.workers)
        known = self._learnt
        structure, blocks = self._kind_now()
        drop, tails = self.missing == "drop", rule == "ledoit-wolf"
        recipe = _learning.Recipe(structure, tails, blocks, drop)
        learnt: Learnt | None
        if _dask.is_lazy(X):
            learnt = join(known, _dask.learn_lazy(recipe, X, _input.column_names(X)))
        elif (paths := _shards.paths_of(X)) is not None:
            learnt = join(known, _shards.learn_files(recipe, paths, workers))
        else:
            sole = not hasattr(X, "__next__")
            pairs = ((_input.column_names(block), block) for block in ((X,) if sole else X))
            learnt = _learning.learn_blocks(recipe, pairs, known, sole=sole)
        if learnt is None:
            invalid("X", "give at least one block of rows; it was empty")
        if rows_needed and not learnt.moments.n:
            invalid("X", f"have at least one row{' without NaN' * bool(learnt.dropped)}")
        self._commit(learnt)

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

    def _commit(self, learnt: Learnt) -> None:
        self._kind = self._kind_now()
        self._learnt = learnt
        self._once = Once()
        self.n_features_in_ = learnt.moments.centre.size
        if learnt.names is not None:
            self.feature_names_in_ = learnt.names

    def merge(self, other: StreamingCovariance) -> Self:
        """Learn the rows that another object has seen, as if they came after one's own.

        Parameters
        ----------
        other : StreamingCovariance
            Of the same structure, columns and kind of shrinkage; it is not changed.

        Returns
        -------
        StreamingCovariance
            Itself.

        Raises
        ------
        ValueError
            If the two cannot be added up.
        """
        if not isinstance(other, StreamingCovariance):
            invalid("other", f"be a StreamingCovariance, not {type(other).__name__}")
        theirs, mine = other._learnt, self._learnt
        if theirs is None:
            return self
        self._rule_and_ridge()
        tails = mine is None or mine.moments.tails == theirs.moments.tails
        if self._kind_now() != other._kind or not tails:
            rule = "have the structure, blocks and kind of shrinkage that self has"
            invalid("other", f"{rule}: {self!r}; it is {other!r}")
        if mine is not None:
            columns = self.n_features_in_
            if columns != other.n_features_in_:
                rule = f"have {columns} columns, as self; it has {other.n_features_in_}"
                invalid("other", rule)
        joined = join(mine, theirs, "other")
        if joined is not None:
            self._commit(joined.copy())
        return self

    def save(self, path: str | Path) -> None:
        """Write all that was learnt to a file, in the form of ``numpy.savez``.

        Parameters
        ----------
        path : str or Path
            Taken as it is; a file there is replaced once the new one is complete.

        Raises
        ------
        NotFittedError
            Before any row was seen.
        ValueError
            If the structure is not what it was then.
        """
        learnt = self._seen()
        self._rule_and_ridge()
        _saved.save(path, self.get_params(), learnt)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What :meth:`save` wrote, to score with or to learn more.

        Parameters
        ----------
        path : str or Path
            Nothing in it is executed.

        Returns
        -------
        StreamingCovariance

        Raises
        ------
        OSError
            If the file cannot be opened.
        ValueError
            If it is damaged, or holds something else.
        """
        parameters, learnt = _saved.load(path)
        loaded = cls(**parameters)
        loaded._commit(learnt)
        return loaded

    # --- results -------------------------------------------------------------------------------

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

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Learn from rows, and whiten the same rows.

        Parameters
        ----------
        X : array_like, shape (n, d), or data frame
            As for :meth:`fit`.
        y : object
            Ignored.

        Returns
        -------
        ndarray, shape (n, d)
            As from :meth:`transform`.
        """
        return self.fit(X, y).transform(X)

    def _score(self, X: Any, whiten: bool) -> Any:
        learnt, names = self._seen(), _input.column_names(X)
        if _dask.is_lazy(X):
            array = _dask.by_rows(X)
            learnt.check(array, names, "X")
            return _dask.map_lazy(copy.copy(self), array, whiten)
        factor, rows = self.whitening_, _input.as_rows(X)
        learnt.check(rows, names, "X")
        centre, rest = learnt.moments.centre, learnt.moments.rest
        out = np.empty(rows.shape if whiten else len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            for start, piece in _input.pieces(rows):
                if whiten:
                    found = factor.whiten(centred(piece, centre, rest))
                else:
                    found = factor.distances(piece, centre, rest)
                if not np.isfinite(found).all():
                    good = _learning.require_finite(piece, start, self.missing == "drop")
                    found[~good] = np.nan
                out[start : start + len(piece)] = found
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
        return self._once.get(moments, rule, ridge)

    @property
    def mean_(self) -> FloatArray:
        """Mean of the rows seen."""
        return self._seen().moments.centre.copy()

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of the rows seen, shrunk and ridged."""
        return covariance(self._seen().moments, self.whitening_.shrinkage, float(self.ridge))

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
