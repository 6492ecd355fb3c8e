"""Edgeworth expansion of the log likelihood ratio, coordinate by coordinate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, require_within
from mialeak.scores._linear import as_target
from mialeak.scores._releases import (
    Piece,
    as_columns,
    cubic_sums,
    cubic_table,
    map_releases,
)

__all__ = ["edgeworth_score", "edgeworth_terms"]

#: Smallest number above 0.
_LEAST = math.ulp(0.0)


def edgeworth_terms(
    releases: Any,
    target: Any,
    mean: Any,
    std: Any,
    skewness: Any,
    excess_kurtosis: Any,
    n: int,
    *,
    order: int = 3,
) -> FloatArray:
    """Log likelihood ratio of each coordinate of a released mean, expanded in powers of n**-0.5.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means.
    target : array_like, shape (d,)
        The row whose membership is in question.
    mean, std, skewness, excess_kurtosis : array_like, shape (d,) or a number
        Moments of the coordinates of a row, which are attributes of the laws of
        ``mialeak.laws``.
    n : int
        Rows of the release, the target included; at least 2.
    order : {1, 2, 3}, optional
        The highest power of ``n**-0.5`` in the expansion.

    Returns
    -------
    ndarray, shape (T, d) or (d,)
        Terms whose sum is :func:`edgeworth_score`: larger means more likely in.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, std is not positive, or order is not
        1, 2 or 3.

    See Also
    --------
    edgeworth_score : the sum of the terms, without the matrix of terms.

    Notes
    -----
    With ``x = sqrt(n) (release - mean)/std``, ``a = (target - mean)/std``, ``s = n**-0.5`` and the
    standardised cumulants l3 and l4 ([AB25] Appendix C, corrected)::

        s a x
        + s^2/2 ((1 - x^2)(1 + l3 a) - a^2)
        + s^3 (a x + l3 (x^3/3 - x/2) + l3 a^2 x/2 - a (l3^2 (x - x^3/2) + l4 (x^3 - 3x)/6))

    The paper prints the first Edgeworth polynomial as ``l3 (x^3 - 3x)``; the factor is l3/6, and
    the error with the printed factor is five times that without the correction.  The series is
    valid for densities, and for lattices that contain the target.

    **Accuracy.**  The error of a coordinate is O(1/n), O(n**-1.5) and O(n**-2) for orders 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import edgeworth_terms
    >>> from mialeak.laws import Bernoulli
    >>> law = Bernoulli([0.3, 0.5])
    >>> moments = law.mean, law.std, law.skewness, law.excess_kurtosis
    >>> np.round(edgeworth_terms([0.32, 0.49], [1, 0], *moments, 1000), 4)
    array([0.0645, 0.0198])
    >>> np.round(np.log([0.32 / 0.3, 0.51 / 0.5]), 4)
    array([0.0645, 0.0198])
    """
    centre, scale, constants, coefficients = _polynomials(
        target, mean, std, skewness, excess_kurtosis, n, order
    )
    c1, c2, c3 = coefficients

    def terms(piece: Piece) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.subtract(piece.rows, centre, dtype=np.float64)
            x *= scale
            total: FloatArray = x * c3
            for c in (c2, c1):
                total += c
                total *= x
            total += constants
        return total

    return np.asarray(map_releases(releases, centre.size, terms))


def edgeworth_score(
    releases: Any,
    target: Any,
    mean: Any,
    std: Any,
    skewness: Any,
    excess_kurtosis: Any,
    n: int,
    *,
    order: int = 3,
) -> float | FloatArray:
    """Log likelihood ratio of a released mean with independent coordinates, to order n**(-order/2).

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means.  A memory map is read in pieces, float32 as such.
    target : array_like, shape (d,)
        The row whose membership is in question.
    mean, std, skewness, excess_kurtosis : array_like, shape (d,) or a number
        Moments of the coordinates of a row.
    n : int
        Rows of the release, the target included; at least 2.
    order : {1, 2, 3}, optional
        The highest power of ``n**-0.5`` in the expansion.

    Returns
    -------
    float or ndarray, shape (T,)
        The sum of :func:`edgeworth_terms`: larger means more likely in.

    Raises
    ------
    ValueError
        As :func:`edgeworth_terms`.

    See Also
    --------
    edgeworth_terms : the formula and its error.
    covariance_score : for correlated coordinates, to the first order.

    Notes
    -----
    A cubic polynomial for each column, summed in one pass without a temporary array of the size of
    the releases.

    **Accuracy** of the sum: several eps of the sum of the absolute terms.  The same bits on every
    processor.

    **Cost.**  About that of ``releases @ w`` from memory.

    Examples
    --------
    >>> from mialeak.scores import edgeworth_score
    >>> from mialeak.laws import Bernoulli
    >>> law = Bernoulli([0.3, 0.5])
    >>> moments = law.mean, law.std, law.skewness, law.excess_kurtosis
    >>> f"{edgeworth_score([0.32, 0.49], [1, 0], *moments, 1000):.4f}"
    '0.0843'
    """
    centre, scale, constants, coefficients = _polynomials(
        target, mean, std, skewness, excess_kurtosis, n, order
    )
    table = cubic_table([centre, scale, *coefficients], centre.size)
    constant = math.fsum(constants.tolist())
    return map_releases(
        releases, centre.size, lambda piece: cubic_sums(piece.rows, table, constant)
    )


def _polynomials(
    target: Any, mean: Any, std: Any, skewness: Any, excess_kurtosis: Any, n: int, order: int
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
    """Mean and scale of x, the constant terms, and the coefficients of x, x^2 and x^3."""
    target = as_target(target)
    d = target.size
    mean, std = as_columns(mean, "mean", d), as_columns(std, "std", d)
    remedy = "Leave out the columns that do not vary"
    require_within(std, _LEAST, math.inf, "std", "be greater than 0", remedy=remedy)
    l3 = as_columns(skewness, "skewness", d)
    l4 = as_columns(excess_kurtosis, "excess_kurtosis", d)
    n = as_count(n, "n", least=2)
    order = as_count(order, "order", least=1, most=3)
    a, s = (target - mean) / std, 1.0 / math.sqrt(n)
    c0 = c2 = c3 = np.zeros(d)
    c1 = s * a
    if order >= 2:
        half = 0.5 * s * s
        skew = l3 * a
        c2 = -half * (1.0 + skew)
        c0 = -half * a * a - c2
    if order >= 3:
        cube, square = s * s * s, l3 * l3
        c1 += cube * (a - 0.5 * l3 + a * (0.5 * (skew + l4) - square))
        c3 = cube * (l3 / 3.0 + a * (0.5 * square - l4 / 6.0))
    return mean, math.sqrt(n) / std, c0, (c1, c2, c3)
