"""The cheapest affine statistic whose expectation lies above a function everywhere.

A small convex program, solved by a primal-dual interior-point method: a dozen Newton steps on as
many unknowns as there are coefficients, whatever the size of the sample.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dgesv  # of few unknowns in a tenth of the time of NumPy's solve

from mialeak._arrays import FloatArray

__all__ = ["cheapest_majorant", "step_length"]

#: Weight of half the squared coefficients in the cost.  Where the data show nothing a coefficient
#: could grow without end; a cost of this size does not show in any bound.
_RIDGE = 1e-5
#: Share of the trace added to the diagonal, lest rounding make the Newton matrix singular.
_ROUNDING = 1e-13
#: The program is solved when what is left to gain is below this share of the error margin, or
#: below this number.
_GAIN_SHARE, _GAIN = 0.02, 1e-7
#: A coefficient's cost and the prices of what it does must balance to this.
_BALANCE = 1e-3
#: Largest number of Newton steps.  Ten is usual.  The result bounds the function even when the
#: steps run out: it is then merely not the cheapest.
_STEPS = 60
#: Fraction to the boundary that a step may take, and the target of the next gap.
_FRACTION_TO_BOUNDARY, _CENTERING = 0.97, 0.1


def cheapest_majorant(
    cost: FloatArray, covariance: FloatArray, margin: float, mean: FloatArray, floor: FloatArray
) -> FloatArray:
    """Minimise ``cost @ x + margin * sd(x)`` over all x with ``mean @ x >= floor``.

    Parameters
    ----------
    cost : array of shape (R,)
        Expected value of each coefficient's statistic.
    covariance : array of shape (1 + R, 1 + R)
        Positive semidefinite; ``sd(x)**2 = (1, x) @ covariance @ (1, x)``.
    margin : float
        Standard errors to pay for.
    mean : array of shape (m, R)
        Expectation of the statistics in each of m situations.  Rows sum to 1 (or the last alone
        is positive), so that a constant x can be raised above any floor.
    floor : array of shape (m,)
        The function to stay above.

    Returns
    -------
    array of shape (R,)
        Coefficients that satisfy the constraints exactly, and are cheapest to about 2 % of the
        error margin.

    Notes
    -----
    The square root is handled by its own tangent majorant, ``sd <= (v / s + s) / 2`` with s the
    value at the last step, which keeps every Newton matrix positive definite without a line
    search.
    """
    m, r = mean.shape
    square, cross, constant = covariance[1:, 1:], covariance[1:, 0], covariance[0, 0]
    least_variance = 0.01 * constant + 1e-14
    x = np.full(r, max(float(floor.max()), 0.0) + 0.05)
    slack = mean @ x - floor
    dual = np.full(m, 1.0 / m)
    for _ in range(_STEPS):
        half_gradient = square @ x + cross
        variance = constant + x @ (half_gradient + cross)
        sd = math.sqrt(max(variance, 0.0) + least_variance)
        gradient = cost + (margin / sd) * half_gradient + _RIDGE * x
        gap = float(slack @ dual)
        if gap < max(_GAIN, _GAIN_SHARE * margin * sd):
            balance = np.abs(gradient - dual @ mean).max()
            if balance < _BALANCE:
                break
        ratio = dual / slack
        newton = (margin / sd) * square + (mean.T * ratio) @ mean
        newton.ravel()[:: r + 1] += _RIDGE + _ROUNDING * newton.trace()
        central = (_CENTERING * gap / m) / slack
        step = dgesv(newton, central @ mean - gradient)[2]
        slack_step = mean @ step
        dual_step = central - dual - ratio * slack_step
        share = step_length(slack, slack_step, _FRACTION_TO_BOUNDARY)
        x, slack = x + share * step, slack + share * slack_step
        dual = dual + step_length(dual, dual_step, _FRACTION_TO_BOUNDARY) * dual_step
    return x - min(float((mean @ x - floor).min()), 0.0)


def step_length(position: FloatArray, step: FloatArray, most: float) -> float:
    """Share of `step`, at most 1, that uses up no more than `most` of any positive `position`."""
    fastest = -float(np.minimum.reduce(step / position))
    return min(1.0, most / fastest) if fastest > 0 else 1.0
