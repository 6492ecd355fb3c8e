"""The estimator: sums over blocks of rows, from which distances and scores follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import resolve_workers
from mialeak._warnings import warn
from mialeak.covariance import _learning, _sources
from mialeak.covariance._learning import Learnt, join
from mialeak.covariance._parameters import Once
from mialeak.covariance._scoring import Scoring

__all__ = ["StreamingCovariance"]


class StreamingCovariance(Scoring):
    """Mean, covariance and squared Mahalanobis distances from one pass over blocks of rows.

    Parameters
    ----------
    structure : {"full", "diagonal", "block", "low-rank"}
        What the covariance is: any matrix; variances of uncorrelated columns; blocks of columns
        uncorrelated with each other, each full; or that of fewer rows than columns plus a multiple
        of the identity, which takes `ridge` or `shrinkage`.
    shrinkage : None, float in [0, 1], "ledoit-wolf", "oas" or "oas-simplified"
        The share a in ``(1 - a) S + a (tr S/d) I``: none, fixed, or estimated from the rows, block
        by block for structure "block".  "oas" supposes correlations, and is not for variances; it
        is formula 23 of Chen et al. (2010), and "oas-simplified" that formula without its terms in
        2/d, as scikit-learn's ``OAS`` has it.
    ridge : float
        Added to every variance.
    blocks : sequence of int, optional
        Widths of the blocks for structure "block", in the order of the columns.
    missing : {"error", "drop"}
        Rows with a NaN or an infinity are an error, or left out (and counted); their distances are
        NaN.
    assume_centered : bool
        Whether the law of the rows is known to have mean 0: the covariance is then
        ``(1/n) sum x x^T``, and deviations are taken from 0.  It may be set after the rows were
        seen.
    workers : int
        Threads for files; -1 for all processors.  The numbers do not depend on it.

    Attributes
    ----------
    mean_, location_ : ndarray, shape (d,)
        Mean of the rows seen, from which deviations are taken; zeros with `assume_centered`.
    covariance_ : ndarray, shape (d, d), or (d,) for structure "diagonal"
        Their covariance, with 1/n, shrunk and ridged.  It is made on request; the other results do
        without it.
    precision_ : ndarray, shape (d, d), or (d,) for structure "diagonal"
        Its inverse, made on request.
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
        For a parameter out of range, reported when rows are first learnt, as scikit-learn does.

    See Also
    --------
    mialeak.leakage_score : takes such an object for its covariance.

    Notes
    -----
    Rows are centred at their own mean.  ``(1/n) sum g g^T``, which [AB25] Algorithm 3 prints for
    rows g whose mean is then subtracted, ranks the worst canary last where their mean is large (a
    test holds the example); `assume_centered` subtracts nothing.

    Attributes and methods that scikit-learn's covariances have mean what they mean there:
    :meth:`score` is the mean log-likelihood of rows, and its own tests are run with this class in
    their place.  A singular covariance is refused where scikit-learn takes a pseudo-inverse.

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
        if _sources.is_lazy(X):
            learnt = join(known, _sources.learn_lazy(recipe, X, _learning.column_names(X)))
        elif (paths := _sources.paths_of(X)) is not None:
            learnt = join(known, _sources.learn_files(recipe, paths, workers))
        else:
            sole = not hasattr(X, "__next__")
            pairs = ((_learning.column_names(block), block) for block in ((X,) if sole else X))
            learnt = _learning.learn_blocks(recipe, pairs, known, sole=sole)
        if learnt is None:
            invalid("X", "have at least one block of rows; it was empty")
        if rows_needed and not learnt.moments.n:
            shape = f"(0, {learnt.moments.centre.size})"
            remedy = (
                f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required"
            )
            rule = f"have at least one row{' without NaN' * bool(learnt.dropped)}"
            invalid("X", rule, remedy="" if learnt.dropped else remedy)
        if rows_needed and learnt.moments.n == 1:
            message = "Only one sample available. You may want to reshape your data array"
            warn(message)
        self._commit(learnt)

    def _commit(self, learnt: Learnt) -> None:
        self._kind = self._kind_now()
        self._learnt = learnt
        self._once = Once()
        self.n_features_in_ = learnt.moments.centre.size
        if learnt.names is not None:
            self.feature_names_in_ = learnt.names

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
        _sources.save(path, self.get_params(), learnt)

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
        parameters, learnt = _sources.load(path)
        loaded = cls(**parameters)
        loaded._commit(learnt)
        return loaded
