"""Influence functions of linear and logistic regression, plain or with a ridge penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy import linalg, special

from mialeak._arrays import (
    FloatArray,
    as_flag,
    as_floats,
    first_index,
    invalid,
    require,
    require_within,
    unsupported,
)
from mialeak._checks.samples import COPIED, common_copies
from mialeak._labels import require_same_rows
from mialeak._numerics.distances import kernel_blocks
from mialeak.estimators._centring import Centring, null_space
from mialeak.estimators._influence import ALONE, InfluenceFunctions
from mialeak.estimators._rows import times_of_rows, warn_of_repeats, warn_of_times
from mialeak.estimators._tables import of_rows

__all__ = [
    "as_regression",
    "inverse_curvature",
    "least_squares_influence",
    "linear_influence",
    "logistic_influence",
    "logistic_terms",
    "squares_influence",
    "warn_of_copies",
    "z_estimator",
]

#: Squares of larger numbers, and their sums, overflow.
_MOST = 1e150


def z_estimator(
    psi: Callable[[Any, FloatArray], Any],
    derivative: Callable[[Any, FloatArray], Any],
    X: Any,
    theta: Any,
) -> InfluenceFunctions:
    """Influence functions of an estimate that solves ``sum over rows of psi(row, theta) = 0``.

    Parameters
    ----------
    psi : callable
        ``psi(X, theta)`` gives the equations' terms of every row, shape (n, d).
    derivative : callable
        ``derivative(X, theta)`` gives their derivatives in theta, shape (n, d, d), the equation
        first, or the mean of these over the rows, shape (d, d).
    X : object
        The rows, passed to both functions unchanged.
    theta : array_like, shape (d,)
        The estimate from all rows.

    Returns
    -------
    InfluenceFunctions
        ``-V^-1 psi``, V the mean derivative.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, V is singular, or theta does not solve
        the equations.

    Warns
    -----
    UserWarning
        If persons have several rows: each row occurs several times, or an index of pandas names
        persons.

    Notes
    -----
    With a derivative for each row, the influence of a row is taken at the estimate from the other
    rows, computed by one Newton step (exact if psi is linear in theta).  With the mean derivative
    alone, the derivative of each row is taken to be the mean.

    A penalty ``P`` on the whole sum goes in as its share for each row: ``psi - P theta / n``.

    Examples
    --------
    Huber's location of seven ages, which shortens residuals beyond 15 years:

    >>> import numpy as np
    >>> from scipy.optimize import brentq
    >>> from mialeak.estimators import z_estimator
    >>> ages = np.array([31.0, 45.0, 28.0, 39.0, 87.0, 50.0, 61.0])
    >>> psi = lambda x, t: np.clip(x - t, -15.0, 15.0)[:, None]
    >>> slope = lambda x, t: -1.0 * (np.abs(x - t) < 15.0)[:, None, None]
    >>> centre = brentq(lambda t: psi(ages, t).sum(), 28.0, 87.0)
    >>> rows = z_estimator(psi, slope, ages, [centre])
    >>> np.round(rows.leakage_scores(), 2)
    array([0.35, 0.  , 0.24, 0.05, 0.24, 0.04, 0.24])
    """
    theta = as_floats(theta, "theta", ndim=1, finite=True)
    terms = as_floats(psi(X, theta), "psi(X, theta)", ndim=2, finite=True)
    n, columns = terms.shape
    if columns != theta.size or n < 3:
        rule = f"have at least 3 rows and {theta.size} columns, as theta has; its shape is"
        invalid("psi(X, theta)", f"{rule} {terms.shape}")
    slopes = as_floats(derivative(X, theta), "derivative(X, theta)", finite=True)
    if slopes.shape not in ((columns, columns), (n, columns, columns)):
        rule = f"have shape {(n, columns, columns)} or {(columns, columns)}; its shape is"
        invalid("derivative(X, theta)", f"{rule} {slopes.shape}")
    mean = slopes if slopes.ndim == 2 else slopes.mean(axis=0)
    if np.linalg.matrix_rank(mean) < columns:
        rule = "be invertible on average over the rows; its rank is"
        invalid("derivative(X, theta)", f"{rule} {np.linalg.matrix_rank(mean)} of {columns}")
    warn_of_repeats(terms, "psi(X, theta)")
    influence = -np.linalg.solve(mean, terms.T).T
    if slopes.ndim == 2:
        return of_rows(InfluenceFunctions(theta, influence), X, kind="rows")
    rows = InfluenceFunctions(theta, influence, _omitted(influence, slopes, mean))
    return of_rows(rows, X, kind="rows")


def _omitted(influence: FloatArray, slopes: FloatArray, mean: FloatArray) -> FloatArray:
    """``(1 - V^-1 D_i / n)^-1 I_i`` of each row; inf where the others leave theta open."""
    n, columns = influence.shape
    share = np.linalg.solve(mean, slopes) / n
    others = np.eye(columns) - share
    open_ = np.linalg.cond(others) > 1.0 / ALONE
    others[open_] = np.eye(columns)
    moved = np.linalg.solve(others, influence[:, :, None])[:, :, 0]
    moved[open_] = np.inf
    return np.asarray(moved)


def inverse_curvature(design: FloatArray, curvature: FloatArray, penalty: FloatArray) -> FloatArray:
    """Inverse of ``sum_i curvature_i x_i x_i^T + diag(penalty)``."""
    matrix = np.zeros((design.shape[1], design.shape[1]))
    for block in kernel_blocks(design):
        rows = design[block]
        matrix += (rows.T * curvature[block]) @ rows
    matrix[np.diag_indices_from(matrix)] += penalty
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    inverse = 1.0 / np.where(scale > 0.0, scale, 1.0)
    limit = (16 + scale.size) * np.finfo(np.float64).eps
    unit = matrix * inverse * inverse[:, None]
    factor, order, rank, info = linalg.lapack.dpstrf(unit, tol=limit, lower=1)
    if info != 0 or rank < scale.size:
        place = int(order[rank]) - 1
        ones = design.shape[1] > 1 and bool((design[:, 0] == 1.0).all())
        first = ", of which parameter 0 is the intercept" if ones else ""
        known = f"the columns are collinear (rank {rank} of {scale.size}{first})"
        least = 100.0 * limit * float(np.diagonal(matrix).max())
        if ((penalty > 0.0) & (penalty < least)).any():
            rule = f"be large enough for the parameter {place}: {known} and the penalty is rounding"
            remedy = f"Take one of at least {least:.0e}, or leave its column out"
            _refuse_penalty(penalty, rule, remedy)
        invalid(
            "X",
            f"determine the estimate; with these rows, the parameter {place} is open, as {known}",
            remedy="Leave its column out, or add a penalty",
        )
    order = order - 1
    root = linalg.solve_triangular(factor, np.eye(scale.size), lower=True)
    result = np.empty_like(matrix)
    result[np.ix_(order, order)] = root.T @ root
    return np.asarray(result * inverse * inverse[:, None])


def _refuse_penalty(weights: FloatArray, rule: str, remedy: str) -> NoReturn:
    """Refuse a penalty that is too small, with its smallest positive entry."""
    least = float(weights[weights > 0.0].min())
    invalid("penalty", rule, value=least, remedy=remedy)


def linear_influence(
    theta: FloatArray,
    design: FloatArray,
    score: FloatArray,
    curvature: FloatArray,
    penalty: FloatArray,
    unweighted: FloatArray | None = None,
) -> InfluenceFunctions:
    """Influence functions where psi is ``score_i x_i``, its derivative ``-curvature_i x_i x_i^T``.

    theta solves ``sum_i score_i x_i = penalty * theta``.  A is the sum of all curvature and the
    penalty, h the leverage ``curvature_i x_i^T A^-1 x_i`` ::

        I        = n A^-1 (score_i x_i - penalty theta / n)
        theta_-i = theta - A^-1 x_i score_i / (1 - h)               one step; exact if linear
        omitted = n A^-1 (score_i x_i / (1 - h) - penalty theta_-i / (n - 1))

    `unweighted` has the columns before they were multiplied by roots of weights.
    """
    centring = Centring.of(design if unweighted is None else unweighted, penalty)
    if centring is None:
        return _plain_influence(theta, design, score, curvature, penalty)
    inner = centring.inward(theta), centring.columns(design)
    centred = _plain_influence(*inner, score, curvature, penalty)
    omitted = centred.omitted if centred.omitted.ndim == 1 else centring.outward(centred.omitted)
    result = InfluenceFunctions(theta, centring.outward(centred.influence), omitted)
    object.__setattr__(result, "centred", (centring.matrix, centred))
    return result


def _plain_influence(
    theta: FloatArray,
    design: FloatArray,
    score: FloatArray,
    curvature: FloatArray,
    penalty: FloatArray,
) -> InfluenceFunctions:
    """The same by the columns as they are."""
    n = design.shape[0]
    inverse = n * inverse_curvature(design, curvature, penalty)
    influence, remaining = np.empty(design.shape), np.empty(n)
    for block in kernel_blocks(design):
        rows, raw = design[block], influence[block]
        np.matmul(rows, inverse, out=raw)
        remaining[block] = 1.0 - curvature[block] * np.vecdot(rows, raw) / n
        raw *= score[block, None]
    open_ = remaining <= ALONE
    influence[open_] = 0.0  # such a row is fitted perfectly: what is left is rounding
    multiple = np.where(open_, np.inf, 1.0 / np.where(open_, 1.0, remaining))
    if not penalty.any():
        return InfluenceFunctions(theta, influence, multiple)
    without = influence * np.where(open_, 1.0, multiple)[:, None]
    drawn = penalty[:, None] * inverse / (n - 1.0)
    without -= (theta - without / n) @ drawn
    influence -= inverse @ (penalty * theta / n)
    null, inward = null_space(design, penalty)
    influence -= (influence @ inward) @ null
    without -= (without @ inward) @ null
    without[open_] = np.inf
    return InfluenceFunctions(theta, influence, without)


#: Newton's steps: a solution is found within 10 or so, as errors are squared; without one the
#: gradient falls by a factor e a step, and is far from the next number after these.  With a small
#: penalty it has to fall to that: 60 steps are enough for one of 1e-18.
_STEPS, _STEPS_PENALISED = 25, 60
#: Steps end when the gradient is this share of its standard error, or less for a loss below 1.
_CONVERGED = 1e-9
#: A loss may rise by its rounding.
_ROUNDING = 1e-10
#: Below this share of its own spread, what a regression leaves of y is rounding.
_PERFECT = 1e-12


def as_regression(
    X: Any, y: Any, penalty: Any, fit_intercept: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Design (n, d) with the intercept first, responses (n,), penalties (d,)."""
    fit_intercept = as_flag(fit_intercept, "fit_intercept")
    require_same_rows(X=X, y=y)
    table = as_floats(X, "X", ndim=2, finite=True)
    response = as_floats(y, "y", ndim=1, finite=True)
    for name, values in (("X", table), ("y", response)):
        require_within(values, -_MOST, _MOST, name, f"hold numbers of at most {_MOST:g} in size")
    n, columns = table.shape
    if response.size != n:
        invalid("y", f"have an entry for each of {n} rows of X; its shape is {response.shape}")
    if n < 3 or not columns + fit_intercept:
        invalid("X", f"have at least 3 rows and 1 column; its shape is {table.shape}")
    weights = as_floats(penalty, "penalty", finite=True)
    if weights.shape not in ((), (columns,)):
        rule = f"be a number or have {columns} entries, one for each column of X; its shape is"
        invalid("penalty", f"{rule} {weights.shape}")
    require(weights >= 0.0, weights, "penalty", "be at least 0")
    weights = np.array(np.broadcast_to(weights, (columns,)))
    if fit_intercept:
        same = (table == table[0]).all(axis=0) & (table[0] != 0.0)
        if same.any():
            rule = (
                f"vary in every column beside an intercept; column {first_index(same)[0]} does not"
            )
            invalid("X", rule, remedy="Leave it out: the intercept is the same column")
        table = np.concatenate([np.ones((n, 1)), table], axis=1)
        weights = np.concatenate([[0.0], weights])
    warn_of_copies(table, response)
    return table, response, weights


def warn_of_copies(design: FloatArray, response: FloatArray) -> None:
    """Warn of rows that occur several times, where chance makes them with 1e-6 at most.

    Either the numbers of equal rows have a common divisor, or most pairs of rows that agree in the
    column with the most values are equal, more than agree in another column by chance.
    """
    rows = np.column_stack([response, design])
    counts = times_of_rows(rows)
    n = len(rows)
    copies = common_copies(counts)
    if copies == 1 < int(counts.max()):
        copies = int(counts.max())
        columns = [np.unique(column, return_counts=True)[1] for column in rows.T]
        pairs = sorted(int(sizes @ (sizes - 1)) // 2 for sizes in columns)
        equal, alike = int(counts @ (counts - 1)) // 2, pairs[0]
        share = pairs[1] / (0.5 * n * (n - 1.0)) if len(pairs) > 1 else 1.0
        chance = float(special.bdtrc(equal - 1, alike, share))
        if chance > COPIED or equal < 0.5 * alike:
            return
    warn_of_times(counts, copies, "X and y")


def least_squares_influence(
    X: Any, y: Any, *, penalty: Any = 0.0, fit_intercept: bool = True
) -> InfluenceFunctions:
    """Influence functions of linear regression by least squares, or of ridge regression.

    Parameters
    ----------
    X : array_like, shape (n, p)
        Regressors.
    y : array_like, shape (n,)
        Responses.
    penalty : float or array_like, shape (p,), optional
        Ridge regression minimises ``sum (y - X b)^2 + sum penalty b^2``: scikit-learn's ``alpha``.
        The intercept is not penalised.
    fit_intercept : bool, optional
        Whether an intercept is estimated too; it then is the first entry of theta.

    Returns
    -------
    InfluenceFunctions
        Of the coefficients.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, columns are collinear (without a
        penalty), or X fits y perfectly.

    Warns
    -----
    UserWarning
        As :func:`influence_of`, of X and y.

    See Also
    --------
    influence_of : the same for a regression that has been fitted.

    Notes
    -----
    ``A^-1 x r`` with r the residual: a row leaks by its leverage times its surprise.  Without the
    row, its residual is ``r / (1 - h)``, h its leverage, exactly.  The covariance is the empirical
    one (the sandwich, HC0): nothing is assumed about the variance of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import least_squares_influence
    >>> dose = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [12.0]])
    >>> response = np.array([0.1, 1.2, 1.8, 3.1, 4.3, 4.8, 5.9, 9.0])
    >>> rows = least_squares_influence(dose, response)
    >>> np.round(rows.theta, 2)
    array([0.68, 0.75])
    >>> int(np.argmax(rows.leakage_scores()))
    7
    """
    design, response, weights = as_regression(X, y, penalty, fit_intercept)
    centring = Centring.of(design, weights)
    inner = design if centring is None else centring.columns(design)
    inverse = inverse_curvature(inner, np.ones(response.size), weights)
    theta = inverse @ (inner.T @ response)
    # A second step takes back what the inverse lost to the condition.
    theta += inverse @ (inner.T @ (response - inner @ theta) - weights * theta)
    if centring is not None:
        theta = centring.outward(theta)
    return of_rows(squares_influence(theta, design, response, weights), X, y)


def squares_influence(
    theta: FloatArray,
    design: FloatArray,
    response: FloatArray,
    weights: FloatArray,
    unweighted: FloatArray | None = None,
) -> InfluenceFunctions:
    """The same at given coefficients."""
    residual = response - design @ theta
    if np.abs(residual).max() <= _PERFECT * np.abs(response).max():
        why = "residuals that are rounding do not show the law of the rows"
        unsupported("The influence of rows", "where X predicts y perfectly", why)
    ones = np.ones(response.size)
    return linear_influence(theta, design, residual, ones, weights, unweighted)


def logistic_influence(
    X: Any, y: Any, *, penalty: Any = 0.0, fit_intercept: bool = True
) -> InfluenceFunctions:
    """Influence functions of logistic regression, plain or with a ridge penalty.

    Parameters
    ----------
    X : array_like, shape (n, p)
        Regressors.
    y : array_like, shape (n,)
        Responses, 0 or 1.
    penalty : float or array_like, shape (p,), optional
        Minimises ``-log likelihood + sum penalty b^2 / 2``: ``1/C`` of scikit-learn.  The
        intercept is not penalised.
    fit_intercept : bool, optional
        Whether an intercept is estimated too; it then is the first entry of theta.

    Returns
    -------
    InfluenceFunctions
        Of the coefficients.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, y is not 0 or 1, columns are collinear
        (without a penalty), or the classes can be separated: then no finite coefficients fit best.
        With a penalty, if that is so small that it is lost in rounding.

    Warns
    -----
    UserWarning
        As :func:`influence_of`, of X and y.

    See Also
    --------
    influence_of : the same for a regression that has been fitted.

    Notes
    -----
    ``A^-1 x (y - p)``, A the curvature ``sum p (1-p) x x^T``.  The fit is by Newton's steps,
    halved where they go too far.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import logistic_influence
    >>> hours = np.array([[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [5.0]])
    >>> passed = np.array([0, 0, 1, 0, 1, 0, 1, 1])
    >>> rows = logistic_influence(hours, passed)
    >>> np.round(rows.theta, 2)
    array([-2.57,  1.12])
    >>> int(np.argmax(rows.leakage_scores()))
    2
    """
    design, response, weights = as_regression(X, y, penalty, fit_intercept)
    require((response == 0.0) | (response == 1.0), response, "y", "be 0 or 1")
    centring = Centring.of(design, weights)
    if centring is None:
        theta = _logistic_fit(design, response, weights)
    else:
        theta = centring.outward(_logistic_fit(centring.columns(design), response, weights))
    score, curvature = logistic_terms(theta, design, response)
    return of_rows(linear_influence(theta, design, score, curvature, weights), X, y)


def logistic_terms(
    theta: FloatArray, design: FloatArray, response: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``y - p`` and ``p (1 - p)`` of each row, without cancellation near 0 and 1."""
    sign = 1.0 - 2.0 * response
    margin = sign * (design @ theta)
    other = special.expit(margin)
    return -sign * other, other * special.expit(-margin)


def _logistic_fit(design: FloatArray, response: FloatArray, weights: FloatArray) -> FloatArray:
    """The coefficients that minimise the penalised log loss."""
    sign = 1.0 - 2.0 * response

    def loss(at: FloatArray) -> float:
        along = sign * (design @ at)
        return float(np.logaddexp(0.0, along).sum() + 0.5 * weights @ (at * at))

    theta = np.zeros(design.shape[1])
    value = loss(theta)
    for _ in range(_STEPS_PENALISED if weights.any() else _STEPS):
        score, curvature = logistic_terms(theta, design, response)
        gradient = score @ design - weights * theta
        step = inverse_curvature(design, curvature, weights) @ gradient
        if gradient @ step <= _CONVERGED**2 * min(value, 1.0):
            break
        while (new := loss(theta + step)) > value * (1.0 + _ROUNDING):
            step = 0.5 * step
        theta, value = theta + step, new
    else:
        if weights.any():
            rule = (
                "be large enough for a fit where X separates y: Newton's steps do not reach the "
                "coefficients that fit best"
            )
            remedy = "Take one of at least 1e-15, or leave out the column that separates"
            _refuse_penalty(weights, rule, remedy)
        remedy = "Add a penalty, or leave out the column that separates"
        why = "no finite coefficients fit best"
        unsupported("The logistic fit", "where X separates y", why, remedy)
    return np.asarray(theta + step)
