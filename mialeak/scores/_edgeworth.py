"""Edgeworth expansion of the log likelihood ratio, coordinate by coordinate."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_flag,
    contiguous,
    every,
    invalid,
    require_within,
)
from mialeak._kernels import scores as kernels
from mialeak._labels import require_same_columns
from mialeak.scores._linear import as_target
from mialeak.scores._releases import (
    Piece,
    as_columns,
    cubic_sums,
    in_unit_of,
    map_releases,
)

__all__ = ["edgeworth_score"]

#: Smallest number above 0.
_LEAST = math.ulp(0.0)
#: Where skewnesses vary by more than the first, the kurtosis of bits and of genotypes exceeds their
#: square by the same number in each column, to the second.
_VARIED, _SAME = 0.1, 1e-6


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
    terms: bool = False,
) -> float | FloatArray:
    """Log likelihood ratio of a released mean with independent coordinates, to order n**(-order/2).

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means.  A memory map is read in pieces, float32 as such.
    target : array_like, shape (d,)
        The row whose membership is in question.
    mean, std, skewness, excess_kurtosis : array_like, shape (d,) or a number
        Moments of the coordinates of a row: the laws of ``mialeak.laws`` have them as
        attributes.
    n : int
        Rows of the release, the target included; at least 2.
    order : {1, 2, 3}, optional
        The last power of ``n**-0.5`` that is kept.
    terms : bool, optional
        Return the term of each coordinate in place of their sum.

    Returns
    -------
    float or ndarray, shape (T,)
        Larger means more likely in.  With `terms` an ndarray of the shape of the releases.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, std is not positive, or order is not
        1, 2 or 3.

    See Also
    --------
    covariance_score : for correlated coordinates, to the first order.

    Notes
    -----
    With ``x = sqrt(n) (release - mean)/std``, ``a = (target - mean)/std``, ``s = n**-0.5`` and the
    standardised cumulants l3 and l4, the term of a coordinate is ([AB25] Appendix C, corrected)::

        s a x
        + s^2/2 ((1 - x^2)(1 + l3 a) - a^2)
        + s^3 (a x + l3 (x^3/3 - x/2) + l3 a^2 x/2 - a (l3^2 (x - x^3/2) + l4 (x^3 - 3x)/6))

    The paper prints the first Edgeworth polynomial as ``l3 (x^3 - 3x)``; the factor is l3/6, and
    with the printed one the correction is five times worse than none.  The series holds for
    densities and on lattices that the target lies on.

    A cubic polynomial for each column: the sum takes one pass and no temporary of the size of the
    releases.

    **Accuracy.**  A coordinate's error shrinks as 1/n, n**-1.5 and n**-2 for orders 1, 2 and 3.
    Rounding: a few eps of the sum of the absolute terms, and the same bits on every processor.

    **Cost** of the sum: about that of ``releases @ w`` from memory.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import edgeworth_score
    >>> from mialeak.laws import Bernoulli
    >>> law = Bernoulli([0.3, 0.5])
    >>> moments = law.mean, law.std, law.skewness, law.excess_kurtosis
    >>> f"{edgeworth_score([0.32, 0.49], [1, 0], *moments, 1000):.4f}"
    '0.0843'
    >>> np.round(edgeworth_score([0.32, 0.49], [1, 0], *moments, 1000, terms=True), 4)
    array([0.0645, 0.0198])
    >>> np.round(np.log([0.32 / 0.3, 0.51 / 0.5]), 4)
    array([0.0645, 0.0198])
    """
    require_same_columns(
        target=target,
        mean=mean,
        std=std,
        skewness=skewness,
        excess_kurtosis=excess_kurtosis,
        releases=releases,
    )
    table, constant = _polynomials(target, mean, std, skewness, excess_kurtosis, n, order)
    columns = np.size(target)
    centre, scale, c1, c2, c3, c0 = table[:, :columns]
    in_unit = partial(in_unit_of, centre, n=n, deviations=lambda: as_columns(std, "std", columns))
    if as_flag(terms, "terms"):

        def expanded(piece: Piece) -> FloatArray:
            with np.errstate(over="ignore", invalid="ignore"):
                x = np.subtract(piece.rows, centre, dtype=np.float64)
                x *= scale
                total: FloatArray = x * c3
                for c in (c2, c1):
                    total += c
                    total *= x
                total += c0
            return total

        return np.asarray(map_releases(releases, columns, in_unit(expanded)))
    return map_releases(
        releases,
        columns,
        in_unit(lambda piece: cubic_sums(piece.rows, table, constant)),
    )


def _polynomials(
    target: Any, mean: Any, std: Any, skewness: Any, excess_kurtosis: Any, n: int, order: int
) -> tuple[FloatArray, float]:
    """The table of :func:`cubic_sums` with a row of constants, and their sum."""
    target = as_target(target)
    d = target.size
    mean, std = as_columns(mean, "mean", d), as_columns(std, "std", d)
    remedy = "Leave out the columns that do not vary"
    require_within(std, _LEAST, math.inf, "std", "be greater than 0", remedy=remedy)
    l3 = as_columns(skewness, "skewness", d)
    l4 = as_columns(excess_kurtosis, "excess_kurtosis", d)
    first = float(l4[0]) - float(l3[0]) * float(l3[0])  # refutes most at once
    for kind, raw in (("bits", 1.0), ("genotypes", 2.0)):
        slack = _SAME * (1.0 + raw)
        if (
            abs(first - raw) <= slack
            and every(np.abs(l4 - l3 * l3 - raw) <= slack)
            and np.ptp(l3) > _VARIED
        ):
            rule = f"be in excess of 3, that of a normal law; it is the kurtosis of {kind}"
            invalid("excess_kurtosis", rule, remedy="Subtract 3")
    n = as_count(n, "n", least=2)
    order = as_count(order, "order", least=1, most=3)
    table = np.zeros((6, kernels.padded_columns(d)))
    known = [contiguous(values) for values in (target, mean, std, l3, l4)]
    total = kernels.edgeworth_columns(known, math.sqrt(n), order, table)
    if not math.isfinite(total):
        invalid("target", "be near enough to mean, in units of std, for a score to be a number")
    return table, total
