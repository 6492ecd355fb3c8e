"""Influence functions of the rows of a table, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_floats, first_index, invalid, require
from mialeak._numerics.distances import kernel_blocks
from mialeak._numerics.leave_one_out import units
from mialeak._numerics.whitening import Full, Outside, Whitening, variances_or_matrix
from mialeak._results import Kind, Result
from mialeak._warnings import warn
from mialeak.estimators._centring import centred_noise, centred_releases
from mialeak.estimators._resampling import resampled_estimates
from mialeak.estimators._rows import refusing_the_row
from mialeak.means import mean_tradeoff
from mialeak.scores import covariance_score
from mialeak.tradeoff import EmpiricalTradeOff, TradeOff

__all__ = ["ALONE", "InfluenceFunctions"]

#: A row that makes up all but this share of what is known in its direction has no others to hide
#: among: its score would be above 1e8 and its advantage 1 to the last digit.
ALONE = 1e-8

#: Influence functions average to zero where the estimate solves its equations.  Solvers stop early
#: and quantiles jump, but half a standard error off is another estimate.
_UNSOLVED = 0.5

#: With fewer rows for each entry of theta, an average leakage score above d/n, which is that of the
#: law of the rows, by more than this factor is warned of.  With more rows outliers cause it; with
#: fewer entries so few rows are less than 100, few for any covariance.
_ROWS_OF_ESTIMATE, _EXCESS, _LEAST_ENTRIES = 20, 1.25, 5

#: With a singular covariance, a row within so many standard deviations of no influence at all has
#: none: its rounding would stick out of the range, and its score is below 1e-14.
_NONE = 1e-7

#: Relative error of a row that is computed back from its influence, for each root of a row.
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class InfluenceFunctions(Result):
    """How each row of a table moves an estimate made of it, and what a release of it leaks.

    Made by `mean_influence`, `quantile_influence`, `variance_influence`,
    `least_squares_influence`, `logistic_influence`, `influence_of`, `z_estimator` and
    `joint_influence`, or from arrays.

    Parameters
    ----------
    theta : array_like, shape (d,)
        The estimate from all rows.
    influence : array_like, shape (n, d)
        Influence function of each row: n times the first-order change of the estimate if the row
        is weighted up by 1/n.  They average to zero.
    omitted : array_like, shape (n,) or (n, d), optional
        The same as it is for a row that had no part in the estimate: n times what the estimate
        from the others is moved by when the row takes the place of one of them.  A number for each
        row is a multiple of its influence function.  inf where the others do not determine the
        estimate.  By default ``n/(n-1)``, which is exact for a mean.

    Attributes
    ----------
    n : int
        Rows of the table, at least 3.
    kind : str
        "asymptotic": every statement about a release holds for large n.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN, or the influence functions do not average to
        zero: then theta does not solve the equations they belong to.

    Notes
    -----
    With I the influence functions and Sigma their covariance, the estimate is Gaussian around
    theta0 with covariance Sigma/n, and a target in the data moves it by I/n.  The leakage score
    and the covariance score are those of a released mean of I [AB25, end of Section 3] ::

        I(x)  = -V^-1 psi(x)          V the mean derivative of psi in theta
        Sigma = V^-1 E[psi psi^T] V^-T
        m     = I^T Sigma^-1 I / n  =  psi^T E[psi psi^T]^-1 psi / n
        score = I^T Sigma^-1 (estimate - theta0) - m/2

    The score printed there subtracts theta0 from I and has V in the place of Sigma; a target one
    standard deviation off in each of 20 columns, of which means of 20 rows are released, it finds
    with an advantage of 0.187 in place of 0.383, and it depends on the units of the columns.

    **Leave one out.**  For a row of the table the law of fresh rows is that of the others, as the
    row would hide in its own covariance.  Its own influence is taken at the estimate from the
    others (exact for mean, variance, least squares and ridge, one Newton step otherwise); the
    others' influence functions stay at the estimate from all rows, less the row, in closed form.
    For the mean that is exactly that of :func:`mialeak.mean_leakage` with ``structure="full"``.

    **Cost.**  The n by d influence functions are kept.  For 100,000 rows of 50 columns, on one
    core, means take 0.1 s, variances 0.3, quantiles 0.7, least squares 0.5, logistic regression 1
    to 2, and the leakage scores of all rows another 0.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import InfluenceFunctions
    >>> ages = np.array([[31.0], [45.0], [28.0], [39.0], [87.0]])
    >>> rows = InfluenceFunctions(ages.mean(axis=0), ages - ages.mean())
    >>> rows
    InfluenceFunctions(theta=array([46.]), n=5, kind='asymptotic')
    >>> np.round(rows.leakage_scores(), 2)
    array([0.11, 0.  , 0.16, 0.02, 8.82])
    """

    theta: FloatArray
    influence: FloatArray
    omitted: FloatArray
    n: int
    kind: Kind = "asymptotic"
    #: A matrix T and the same of ``T theta``, whose covariance is better known.
    centred: ClassVar[tuple[FloatArray, InfluenceFunctions] | None] = None
    #: The index of the pandas table of which it was made, by which orders of rows are compared.
    row_names: ClassVar[Any] = None

    def __init__(self, theta: Any, influence: Any, omitted: Any = None):
        theta = as_floats(theta, "theta", ndim=1, finite=True)
        influence = as_floats(influence, "influence", ndim=2, finite=True)
        n, columns = influence.shape
        if n < 3 or not columns or theta.size != columns:
            invalid(
                "influence",
                "have at least 3 rows and a column for each entry of theta; the shapes are "
                f"{influence.shape} and {theta.shape}",
            )
        centre = influence.mean(axis=0)
        influence = influence - centre
        _require_solved(centre, influence)
        if omitted is None:
            omitted = np.full(n, n / (n - 1.0))
        else:
            omitted = as_floats(omitted, "omitted")
            if omitted.shape not in ((n,), influence.shape):
                rule = f"have shape {(n,)} or {influence.shape}, as influence; its shape is"
                invalid("omitted", f"{rule} {omitted.shape}")
            require(~np.isnan(omitted), omitted, "omitted", "be numbers")
        fields = {"theta": theta, "influence": influence, "omitted": omitted, "n": n}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        shown = np.array2string(self.theta, precision=6, threshold=6, edgeitems=2, separator=", ")
        return f"InfluenceFunctions(theta=array({shown}), n={self.n}, kind={self.kind!r})"

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the influence functions, (d, d): n times that of the estimate."""
        return np.asarray(self._scatter() / (self.n - 1))

    def leakage_scores(self, *, n: int | None = None, release_noise_cov: Any = None) -> FloatArray:
        """Leakage score of every row against a release of the estimate, leave one out.

        Parameters
        ----------
        n : int, optional
            Rows of the release, the target included, if these are not those of the table: the
            table then stands for the population.
        release_noise_cov : array_like, optional
            Covariance of noise added to the released estimate: a number, (d,) or (d, d).

        Returns
        -------
        ndarray, shape (rows of the table,)
            Leakage scores m, asymptotic; ``2 Phi(sqrt(m)/2) - 1`` is the advantage of the best
            attack.  inf for a row without which the others would not determine the estimate, or
            its spread: the release gives it away.

        Raises
        ------
        ValueError
            If n is below 2, the noise is not a covariance, or the influence functions are so nearly
            collinear that rounding decides.

        Warns
        -----
        UserWarning
            If there are fewer than 20 rows for each of d >= 5 entries of theta, and the average
            score is above 1.25 d/n: it is d/n by the law of the rows, whatever that is.

        Notes
        -----
        **Few rows.**  The covariance of few other rows overstates the leakage.  Least squares on
        normal columns: the average advantage is 1.15 times that of the law with 20 rows for each
        coefficient, 1.3 times with 10, 1.7 times with 5.  Logistic regression: 1.06, 1.14 and 1.36
        times; means: 1.03, 1.06 and 1.12 times.  Estimates from a larger table of the same
        population, with the `n` of the release, have no such excess.

        **Accuracy.**  Against recomputation without the row: 1e-10 relative for scores below
        1000 and a well-conditioned covariance.

        **Cost.**  One factor of the covariance and one triangular solve for all rows; four, where
        `omitted` is no multiple of `influence`.
        """
        size = self._release_size(n)
        if release_noise_cov is None:
            self._warn_of_excess()
        return self._scores(size, release_noise_cov)[0]

    def _scores(self, size: int, release_noise_cov: Any = None) -> tuple[FloatArray, int]:
        """The leakage scores of a release of so many rows, and the rank of its covariance."""
        if self.centred is not None:
            noise = centred_noise(release_noise_cov, self.centred[0])
            return self.centred[1]._scores(size, noise)
        columns = self.theta.size
        unit = _unit(self.influence)
        influence = self.influence if unit is None else self.influence * unit
        cov = np.asarray(influence.T @ influence) / (self.n - 2)
        if release_noise_cov is not None:
            noise = size * variances_or_matrix(release_noise_cov, columns, "release_noise_cov")
            noise = np.diag(noise) if noise.ndim == 1 else noise
            cov += noise if unit is None else noise * unit * unit[:, None]
        by = Full(cov, np.full(columns, np.inf), "influence")
        none = _NONE * np.sqrt(np.diagonal(cov))
        try:
            return self._squares(influence, unit, by, none) / size, by.rank
        except Outside as outside:
            rule = "not be nearly collinear; by rounding alone the rank of its covariance is"
            remedy = "Leave out a nearly collinear column, or add noise to the release"
            invalid("influence", f"{rule} {outside.rank} of {columns}", remedy=remedy)

    @cached_property
    def _excess(self) -> float:
        """The average leakage score over d/n, which it is by the law of the rows; 1 for many."""
        if self.n >= _ROWS_OF_ESTIMATE * self.theta.size or self.theta.size < _LEAST_ENTRIES:
            return 1.0
        scores, rank = self._scores(self.n)
        known = scores[np.isfinite(scores)]
        if 2 * known.size < scores.size:  # of so many estimates a row lies outside of the others
            return np.inf
        return float(known.mean()) * self.n / rank if known.size and rank else 1.0

    def _warn_of_excess(self) -> None:
        if self._excess > _EXCESS:
            what = f"{self._excess:.3g} times what it is by the law of the rows, d/n"
            if np.isinf(self._excess):
                what = "infinite, as most rows lie outside of the span of the others, and not d/n"
            warn(
                f"{self.n:,} rows are few for {self.theta.size:,} estimates: the average leakage "
                f"score is {what}, so that the leakage of a row is too high. Estimate less, or "
                f"estimate from more rows of the same population and pass n={self.n}",
            )

    def _squares(
        self, influence: FloatArray, unit: FloatArray | None, by: Whitening, none: FloatArray
    ) -> FloatArray:
        """Squared moves by the covariance of the others; `influence`, and `none`, in the unit."""
        columns = self.theta.size
        share = self.n / ((self.n - 1.0) * (self.n - 2.0))
        scores = np.empty(self.n)
        for block in kernel_blocks(influence):
            rows, moves = influence[block], self.omitted[block]
            known = np.isfinite(moves if moves.ndim == 1 else moves.sum(axis=1))
            if by.rank < columns:
                rows = rows * (np.abs(rows) > none).any(axis=1, keepdims=True)
            squares = by.squared(rows.copy())
            remaining = 1.0 - share * squares
            hidden = known & (remaining > ALONE)
            remaining[~hidden] = 1.0
            if moves.ndim == 1:
                scored = np.where(hidden, moves, 0.0) ** 2 * squares / remaining
            else:
                moves = np.where(hidden[:, None], moves, 0.0)
                if unit is not None:
                    moves *= unit
                if by.rank < columns:
                    moves *= (np.abs(moves) > none).any(axis=1, keepdims=True)
                mixed = by.inner(moves.copy(), rows.copy())
                scored = by.squared(moves) + share * mixed**2 / remaining
            scores[block] = np.where(hidden, scored, np.inf)
        return scores

    def without(self, row: int) -> tuple[FloatArray, FloatArray]:
        """By the other rows: where the estimate is without `row`, and the covariance.

        Parameters
        ----------
        row : int
            A row of the table, counted from 0.

        Returns
        -------
        theta : ndarray, shape (d,)
            What the estimate is around if the row is out.
        cov : ndarray, shape (d, d)
            Covariance of the others' influence functions.

        Raises
        ------
        ValueError
            If there is no such row, or the others do not determine the estimate.
        """
        row = as_count(row, "row", most=self.n - 1)
        rows, moved = self.influence[row], self._move(row)
        if not np.isfinite(moved).all():
            invalid(
                "row",
                "be one without which the others determine the estimate",
                value=row,
                remedy="The release gives it away: leave out the column it alone decides",
            )
        scatter = self._scatter() - self.n / (self.n - 1.0) * np.outer(rows, rows)
        # A column in which the row is alone would keep the rounding of the difference.
        alone = np.diagonal(scatter) <= ALONE * np.diagonal(self._scatter())
        scatter[alone] = 0.0
        scatter[:, alone] = 0.0
        return self.theta - moved / self.n, scatter / (self.n - 2)

    def tradeoff(
        self,
        row: int,
        *,
        n: int | None = None,
        release_noise_cov: Any = None,
        sampling_rate: float = 1.0,
    ) -> TradeOff:
        """Trade-off curve of the best attack that asks whether a row is in the release.

        Parameters
        ----------
        row : int
            A row of the table, counted from 0; the attacker knows it.
        n, release_noise_cov : optional
            As for :meth:`leakage_scores`.
        sampling_rate : float, optional
            As for :func:`mialeak.mean_tradeoff`.

        Returns
        -------
        GaussianTradeOff or SubsampledTradeOff
            Of kind "asymptotic".

        Raises
        ------
        ValueError
            As :meth:`without` and :func:`mialeak.mean_tradeoff`.
        """
        by = self
        if self.centred is not None:
            release_noise_cov = centred_noise(release_noise_cov, self.centred[0])
            by = self.centred[1]
        centre, cov = by.without(row)
        if release_noise_cov is None:
            self._warn_of_excess()
        target, size = by._target(row, centre), self._release_size(n)
        options = {"release_noise_cov": release_noise_cov, "sampling_rate": sampling_rate}
        with refusing_the_row(row):
            return mean_tradeoff(target, centre, cov, size, **options)

    def score(self, releases: Any, row: int, *, n: int | None = None) -> float | FloatArray:
        """Covariance score of released estimates for a row of the table: larger is more likely in.

        Parameters
        ----------
        releases : array_like, shape (T, d) or (d,), or iterator of such blocks
            Released estimates, in the order of theta.
        row : int
            The row whose membership is in question, counted from 0.
        n : int, optional
            Rows of each release, as for :meth:`leakage_scores`.

        Returns
        -------
        float or ndarray, shape (T,)
            Nearly N(-m/2, m) if the row is out and N(m/2, m) if it is in, m its leakage score.
            Estimates have a bias of order 1/n, which shifts both alike: at small n set the
            threshold on scores of releases without the row.

        Raises
        ------
        ValueError
            As :meth:`without` and :func:`mialeak.scores.covariance_score`.
        """
        if self.centred is not None:
            matrix, by = self.centred
            return by.score(centred_releases(releases, matrix), row, n=n)
        centre, cov = self.without(row)
        target = self._target(row, centre)
        with refusing_the_row(row):
            return covariance_score(releases, target, centre, cov, self._release_size(n))

    def _target(self, row: int, centre: FloatArray) -> FloatArray:
        """What the row is to a mean: the estimate, moved by it; whole numbers without rounding."""
        moved = self._move(row)
        target = centre + moved
        whole, size = np.rint(target), np.abs(centre) + np.abs(moved)
        return np.where(np.abs(target - whole) <= _ROUNDING * self.n**0.5 * size, whole, target)

    def resampled_tradeoff(
        self,
        row: int,
        fit: Callable[..., Any],
        *tables: Any,
        n: int | None = None,
        rounds: int = 1000,
        rng: Any = None,
    ) -> EmpiricalTradeOff:
        """What the covariance score achieves at finite n: the check of the other answers.

        In each round an estimate is made of n of the other rows, drawn with replacement, and one
        of the row and n - 1 others.

        Parameters
        ----------
        row : int
            The row whose membership is in question, counted from 0.
        fit : callable
            ``fit(*drawn)`` gives the estimate, shape (d,), from the drawn rows of each table.
        *tables : array_like, n rows each
            What the estimate is made of: X, or X and y.
        n : int, optional
            Rows of each release, as for :meth:`leakage_scores`.
        rounds : int, optional
            Estimates in each of the two worlds.
        rng : None, int or numpy.random.Generator, optional
            What the draws are made with.

        Returns
        -------
        EmpiricalTradeOff
            Of kind "estimate": its advantage has a standard error of about ``0.7/sqrt(rounds)``,
            and, as the best of many thresholds, lies above the truth by about as much.

        Raises
        ------
        ValueError
            If a table has another number of rows, or `fit` gives another shape.

        Warns
        -----
        UserWarning
            If `fit` of the whole tables is not theta, within half a standard error, or stays where
            it is without a row that moves theta by more: entries or rows have another order.
        """
        size = self._release_size(n)
        releases = resampled_estimates(self, row, fit, tables, n=size, rounds=rounds, rng=rng)
        out, into = (self.score(releases[world], row, n=size) for world in (0, 1))
        return EmpiricalTradeOff(in_scores=into, out_scores=out, allow_reversed=True)

    def _move(self, row: int) -> FloatArray:
        """What `row` moves the estimate from the others by, times n."""
        moves = self.omitted[row]
        if moves.ndim or not np.isfinite(moves):
            return np.asarray(np.broadcast_to(moves, self.theta.shape))
        return np.asarray(moves * self.influence[row])

    def _scatter(self) -> FloatArray:
        return np.asarray(self.influence.T @ self.influence)

    def _release_size(self, n: int | None) -> int:
        return self.n if n is None else as_count(n, "n", least=2)


def _unit(influence: FloatArray) -> FloatArray | None:
    """Units of the columns in which sums of their squares are floats; None if all are 1."""
    unit = units(np.maximum(influence.max(axis=0), -influence.min(axis=0)))
    return None if np.all(unit == 1.0) else unit


def _require_solved(centre: FloatArray, influence: FloatArray) -> None:
    """Refuse an estimate that is no root: its influence functions do not average to zero."""
    unit = _unit(influence)
    if unit is not None:
        centre, influence = centre * unit, influence * unit
    deviation = np.sqrt(np.einsum("ij,ij->j", influence, influence)) / influence.shape[0]
    size = np.maximum(influence.max(axis=0), -influence.min(axis=0))
    off = np.abs(centre) > _UNSOLVED * deviation + 1e-12 * size
    if off.any():
        (j,) = first_index(off)
        error = centre[j] / deviation[j] if deviation[j] else np.inf
        invalid(
            "theta",
            "solve the equations of the estimator for these rows; its entry "
            f"{j} is {error:.3g} standard errors off",
            remedy="Pass the rows that it was fitted to, and the penalty that it was fitted with",
        )
