"""Influence functions of means, variances and quantiles of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from scipy import linalg, special

from mialeak._arrays import FloatArray, as_floats, first_index, invalid, require, require_within
from mialeak._labels import require_same_index
from mialeak.estimators._influence import InfluenceFunctions
from mialeak.estimators._rows import warn_of_repeats
from mialeak.estimators._tables import of_rows

__all__ = ["joint_influence", "mean_influence", "quantile_influence", "variance_influence"]

#: Sums of larger numbers overflow.
_MOST = 1e290
#: Squared deviations that differ by less, relative to their mean, differ by rounding.
_EVEN = 1e-12
#: Of so many rows, at most this share has the value at a quantile of a law with a density.
_ROWS, _ALIKE = 50, 0.2
#: Largest deviations whose squares, and those of the squares, are floats with all their digits.
_SQUARES = 1e-70, 1e70


def _table(X: Any) -> FloatArray:
    """Columns (n, c) of at least 3 finite numbers; a vector is one column."""
    table = as_floats(X, "X", finite=True)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] < 3 or not table.shape[1]:
        invalid("X", f"have at least 3 rows and 1 column; its shape is {np.shape(X)}")
    return table


def _centred(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of the columns and the deviations from them, which sum to zero."""
    mean = table.mean(axis=0)
    deviation = table - mean
    # Far from zero the rounding of a mean of many rows shows beside the spread of the column.
    low = deviation.mean(axis=0)
    mean, deviation = mean + low, deviation - low
    # A constant column differs from its mean by rounding only.
    deviation[:, np.ptp(table, axis=0) == 0.0] = 0.0
    return mean, deviation


def mean_influence(X: Any) -> InfluenceFunctions:
    """Influence functions of the mean of columns: the rows less the mean.

    Parameters
    ----------
    X : array_like, shape (n, d) or (n,)
        The table, at least 3 rows.

    Returns
    -------
    InfluenceFunctions
        Of the d means.

    Raises
    ------
    ValueError
        If X is not a table of finite numbers.

    See Also
    --------
    mialeak.mean_leakage : the same scores, and with uncorrelated columns.

    Warns
    -----
    UserWarning
        With each caution of :func:`mialeak.mean_leakage`, such as persons with several rows or
        columns that these rows centred; for more than 2**20 numbers only with those of persons
        that an index names and of numbers that usually mark a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import mean_influence
    >>> rows = mean_influence([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 3.0], [9.0, 0.0]])
    >>> np.round(rows.leakage_scores(), 2)
    array([ 0.41,  0.52,  1.97,  0.06, 10.15])
    """
    table = _table(X)
    require_within(table, -_MOST, _MOST, "X", f"hold numbers of at most {_MOST:g} in size")
    return of_rows(InfluenceFunctions(*_centred(table)), X, kind="means")


def variance_influence(X: Any) -> InfluenceFunctions:
    """Influence functions of the variances of columns.

    Parameters
    ----------
    X : array_like, shape (n, d) or (n,)
        The table, at least 3 rows.

    Returns
    -------
    InfluenceFunctions
        Of the d variances, with the divisor n - 1.

    Raises
    ------
    ValueError
        If X is not a table of finite numbers, or a column has two values, each in half of the
        rows: its variance does not move to first order; or if squares of deviations leave what
        float64 holds.

    Warns
    -----
    UserWarning
        If persons have several rows: each row occurs several times, or an index of pandas names
        persons; and for numbers that usually mark a missing value, such as -9 and 999.

    Notes
    -----
    ``(x - mean)^2 - variance``: that the mean is estimated too does not show to first order.  The
    influence of a row left out is exactly that at the mean and the variance (divisor n - 1) of the
    n - 1 others; the estimate that ``without`` states is off by 2/(n(n - 1)) of the variance.  For
    covariances, pass the products of the centred columns to :func:`mean_influence`.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import variance_influence
    >>> rows = variance_influence([31.0, 45.0, 28.0, 39.0, 72.0, 50.0, 66.0, 24.0])
    >>> np.round(rows.leakage_scores(), 2)
    array([0.  , 0.17, 0.01, 0.12, 2.25, 0.12, 0.24, 0.14])
    """
    table = _table(X)
    warn_of_repeats(table, "X")
    n = table.shape[0]
    _, deviation = _centred(table)
    size = np.abs(deviation).max(axis=0)
    fits = (size == 0.0) | ((size > _SQUARES[0]) & (size < _SQUARES[1]))
    if not fits.all():
        rule = "have deviations whose squares float64 holds; those of column"
        (column,) = first_index(~fits)
        remedy = "Change the unit of the column: leakage does not depend on it"
        invalid("X", f"{rule} {column} are up to {size[column]:.3g}", remedy=remedy)
    squares = deviation * deviation
    spread = squares.mean(axis=0)
    even = (np.abs(squares - spread).max(axis=0) <= _EVEN * spread) & (spread > 0.0)
    if even.any():
        invalid(
            "X",
            "have deviations of more than one size; half of the rows of column "
            f"{first_index(even)[0]} have one value and half another",
            remedy="Its variance is known from its mean: release that",
        )
    omitted = n * (n + 1.0) / (n - 1.0) ** 2 * squares - n / (n - 1.0) * spread
    rows = InfluenceFunctions(spread * (n / (n - 1.0)), squares - spread, omitted)
    return of_rows(rows, X, kind="columns")


def quantile_influence(X: Any, q: Any = 0.5, *, density: Any = None) -> InfluenceFunctions:
    """Influence functions of the median, or of other quantiles, of columns with a density.

    Parameters
    ----------
    X : array_like, shape (n, c) or (n,)
        The table, at least 3 rows.
    q : float or array_like, shape (k,), optional
        The quantiles, between 0 and 1.
    density : array_like, shape (c k,), optional
        Density of the law of each column at each of its quantiles; by default an estimate.
        Leakage scores do not depend on it, scores of releases do.

    Returns
    -------
    InfluenceFunctions
        Of the c k quantiles, those of the first column first, as ``numpy.quantile`` gives them.

    Raises
    ------
    ValueError
        If q is not between 0 and 1, if so many rows share the value at a quantile that it has no
        density, or if X is not a table of finite numbers.

    Warns
    -----
    UserWarning
        If persons have several rows: each row occurs several times, or an index of pandas names
        persons; and for numbers that usually mark a missing value, such as -9 and 999.

    Notes
    -----
    ``(q - 1{x <= quantile}) / density``: only the side on which a row lies counts, so that no
    outlier stands out.  A median leaks about every row alike, with the score ``m = 1/n``; d medians
    of independent columns have ``d/n``, as d means do.

    The density is estimated by the difference quotient of quantiles, with the bandwidth of
    Bofinger (1975), made narrower where the quantile is near 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.estimators import quantile_influence
    >>> ages = np.array([31.0, 45.0, 28.0, 39.0, 87.0, 50.0, 61.0, 33.0, 70.0, 42.0])
    >>> rows = quantile_influence(ages, [0.5, 0.75])
    >>> rows.theta
    array([43.5 , 58.25])
    >>> np.round(rows.leakage_scores(), 2)
    array([0.11, 0.71, 0.11, 0.11, 0.31, 0.71, 0.31, 0.11, 0.31, 0.11])
    """
    table = _table(X)
    warn_of_repeats(table, "X")
    q = np.atleast_1d(as_floats(q, "q"))
    if q.ndim != 1 or not q.size:
        invalid("q", f"be a number or a vector of them; its shape is {q.shape}")
    require((q > 0.0) & (q < 1.0), q, "q", "be between 0 and 1")
    theta = np.quantile(table, q, axis=0)  # (k, c)
    alike = (table == theta[:, None]).mean(axis=1)
    if (alike > _ALIKE).any() and table.shape[0] >= _ROWS:
        _refuse_ties(q, first_index(alike > _ALIKE))
    if density is None:
        slope = _densities(table, q)
    else:
        slope = as_floats(density, "density", finite=True)
        if slope.shape != (theta.size,):
            rule = f"have an entry for each of {theta.size} quantiles; its shape is {slope.shape}"
            invalid("density", rule)
        require(slope > 0.0, slope, "density", "be above 0")
        slope = slope.reshape(theta.shape[::-1]).T
    below = table[:, :, None] <= theta.T
    psi = (q - below) / slope.T
    # Between two rows the estimate may lie anywhere: the jump of psi is no error of theirs.
    psi -= psi.mean(axis=0)
    rows = InfluenceFunctions(theta.T.ravel(), psi.reshape(table.shape[0], -1))
    return of_rows(rows, X, kind="columns")


def _densities(table: FloatArray, q: FloatArray) -> FloatArray:
    """Density of each column at each quantile, shape (k, c)."""
    z = special.ndtri(q)
    bell = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    width = (4.5 * bell**4 / (2.0 * z**2 + 1.0) ** 2 / table.shape[0]) ** 0.2
    width = np.minimum(width, 0.5 * np.minimum(q, 1.0 - q))
    rise = np.quantile(table, q + width, axis=0) - np.quantile(table, q - width, axis=0)
    if not (rise > 0.0).all():
        _refuse_ties(q, first_index(~(rise > 0.0)))
    return np.asarray(2.0 * width[:, None] / rise)


def _refuse_ties(q: FloatArray, place: tuple[int, ...]) -> NoReturn:
    invalid(
        "X",
        f"have a density at its quantiles; around that of q = {float(q[place[0]])!r} many rows of "
        f"column {place[1]} have the same value",
        remedy="Release the shares of such values instead, by mean_influence of indicators",
    )


def joint_influence(*parts: InfluenceFunctions) -> InfluenceFunctions:
    """Influence functions of several estimates from the same rows, released together.

    Parameters
    ----------
    *parts : InfluenceFunctions
        Of the estimates, their rows in the same order: the indices of the pandas tables of which
        they were made are compared.

    Returns
    -------
    InfluenceFunctions
        Of all entries of the estimates, in the order given.

    Raises
    ------
    TypeError
        If one is something else.
    ValueError
        If there are none, or their tables have different numbers of rows, or indices in another
        order.

    Notes
    -----
    Estimates from the same rows are correlated; the joint leakage is neither the sum nor the
    largest of theirs.  The same estimate twice adds nothing.

    Examples
    --------
    Mean and variance of ages leak more than the mean alone:

    >>> import numpy as np
    >>> from mialeak.estimators import joint_influence, mean_influence, variance_influence
    >>> ages = np.array([31.0, 45.0, 28.0, 39.0, 72.0, 50.0, 66.0, 24.0])
    >>> both = joint_influence(mean_influence(ages), variance_influence(ages))
    >>> np.round(mean_influence(ages).leakage_scores(), 2)
    array([0.09, 0.  , 0.14, 0.01, 0.58, 0.01, 0.28, 0.24])
    >>> np.round(both.leakage_scores(), 2)
    array([0.1 , 0.25, 0.27, 0.13, 2.78, 0.27, 0.37, 1.21])
    """
    if not parts:
        invalid("parts", "be at least one")
    for place, part in enumerate(parts):
        if not isinstance(part, InfluenceFunctions):
            rule = "be InfluenceFunctions"
            invalid("parts", rule, index=place, value=part, error=TypeError)
    rows = {part.n for part in parts}
    if len(rows) > 1:
        invalid("parts", f"have the same rows; their numbers are {[part.n for part in parts]}")
    named = {f"parts[{k}]": part.row_names for k, part in enumerate(parts)}
    named = {name: index for name, index in named.items() if index is not None}
    require_same_index(named, argument="parts")
    joint = _joint(parts)
    object.__setattr__(joint, "row_names", next(iter(named.values()), None))
    if any(part.centred is not None for part in parts):
        pairs = [part.centred or (np.eye(part.theta.size), part) for part in parts]
        matrix = linalg.block_diag(*(matrix for matrix, _ in pairs))
        object.__setattr__(joint, "centred", (matrix, _joint([each for _, each in pairs])))
    return joint


def _joint(parts: Sequence[InfluenceFunctions]) -> InfluenceFunctions:
    return InfluenceFunctions(
        np.concatenate([part.theta for part in parts]),
        np.concatenate([part.influence for part in parts], axis=1),
        _joint_moves(parts),
    )


def _joint_moves(parts: Sequence[InfluenceFunctions]) -> FloatArray:
    """One multiple for each row where the parts agree on it, else what it moves them by."""
    first = parts[0].omitted
    if first.ndim == 1 and all(np.array_equal(part.omitted, first) for part in parts):
        return first
    return np.concatenate([_as_rows(part) for part in parts], axis=1)


def _as_rows(part: InfluenceFunctions) -> FloatArray:
    if part.omitted.ndim == 2:
        return part.omitted
    known = np.isfinite(part.omitted)
    rows = np.where(known, part.omitted, 0.0)[:, None] * part.influence
    rows[~known] = np.inf
    return rows
