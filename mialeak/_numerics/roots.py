"""Roots of increasing functions on ``[0, oo)``, elementwise and to the last bit.

The bits of non-negative float64 numbers, read as integers, have the order of the numbers; this
integer, the place of x, is a piecewise linear log2(x).  A search over places shrinks the bracket to
two neighbouring numbers at any scale of the root, in at most 64 halvings; inverse quadratic
interpolation (T. R. Chandrupatla, Advances in Engineering Software 28, 1997) takes about ten steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = [
    "increasing_root",
    "least_epsilon",
    "least_epsilon_near",
    "positive_where",
]

#: Every fourth step is a halving: interpolation fails where the function is mostly rounding.
_PATIENCE = 4
#: The worst case takes 63 halvings.
_STEPS = 63 * _PATIENCE
#: Binary logarithm of the first leap in places: 8 octaves of 2**52 places.
_LEAP = 55


def increasing_root(
    function: Callable[[FloatArray], Any], low: Any, high: Any, *, tolerance: float = 0.0
) -> FloatArray:
    """Least x in [low, high] at which the increasing function is >= 0; high if there is none.

    Parameters
    ----------
    function : callable
        From an array of any shape to an array of a shape that broadcasts with it; NaN counts as
        negative.  Where it is zero at several x the result may be any of them:
        :func:`positive_where` makes it positive there.
    low, high : array_like, 0 <= low <= high < inf
    tolerance : float
        Values of at most this modulus count as zero.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    f_low, f_high = np.asarray(function(low)), np.asarray(function(high))
    low, high, f_low, f_high = np.broadcast_arrays(low, high, f_low, f_high)
    result: FloatArray = np.where(f_low >= 0.0, low, high)
    at, other, f_at, f_other = _place(low), _place(high), f_low, f_high
    active = (f_at < 0.0) & (f_other > 0.0)
    # Most roots lie near the upper end: leap down from it, each leap twice the last.
    for power in range(_LEAP, 63):
        leaping = active & (other - at > 2**power)
        if not leaping.any():
            break
        new = np.where(leaping, other - 2**power, at)
        f_new = np.asarray(function(new.view(np.float64)))
        below = ~(f_new > 0.0)
        at, f_at = np.where(below, new, at), np.where(below, f_new, f_at)
        other, f_other = np.where(below, other, new), np.where(below, f_other, f_new)
    result = np.where(active, other.view(np.float64), result)  # where leaps alone close the bracket
    active &= other - at > 1
    last, f_last = at, f_at  # makes the next step a halving
    for number in range(_STEPS):
        if not active.any():
            break
        if number % _PATIENCE == _PATIENCE - 1:
            last, f_last = at, f_at
        new = at + _step(at, other, last, f_at, f_other, f_last)
        x = np.where(active, new.view(np.float64), result)
        f_new = np.asarray(function(x))
        same = (f_new > 0.0) == (f_at > 0.0)
        last, f_last = np.where(same, at, other), np.where(same, f_at, f_other)
        other, f_other = np.where(same, other, at), np.where(same, f_other, f_at)
        at, f_at = new, f_new
        converged = np.abs(f_at) <= tolerance
        upper = np.where(converged | (f_at > 0.0), at, other).view(np.float64)
        result = np.where(active, upper, result)
        active &= (np.abs(other - at) > 1) & ~converged
    return result


def _place(x: FloatArray) -> npt.NDArray[np.int64]:
    return (x + 0.0).view(np.int64)  # -0.0 becomes 0.0


def _step(at: Any, other: Any, last: Any, f_at: Any, f_other: Any, f_last: Any) -> Any:
    """Chandrupatla's step from `at` towards `other`, in places: from 1 to the distance - 1."""
    span = (other - at).astype(np.float64)
    with np.errstate(all="ignore"):
        xi = span / (other - last)
        phi = (f_at - f_other) / (f_last - f_other)
        smooth = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        share = (f_at / (f_other - f_at)) * (f_last / (f_other - f_last)) + (
            (last - at) / span * (f_at / (f_last - f_at)) * (f_other / (f_last - f_other))
        )
    share = np.where(smooth & (share > 0.0) & (share < 1.0), share, 0.5)
    step = np.rint(share * np.abs(span)).astype(np.int64)
    return np.where(span < 0.0, -1, 1) * np.clip(step, 1, np.maximum(np.abs(other - at) - 1, 1))


#: Where an epsilon is looked for first: from here on e^epsilon has no float64.
_USUAL = 710.0
_LARGEST = np.finfo(np.float64).max
_SMALLEST = np.finfo(np.float64).tiny


def least_epsilon(function: Callable[[FloatArray], FloatArray], delta: FloatArray) -> FloatArray:
    """Least epsilon at which the decreasing `function` is at most delta; inf if there is none."""

    def excess(epsilon: FloatArray) -> FloatArray:
        reached = function(epsilon)
        return positive_where(-np.log(reached / delta), reached <= delta)

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        usual = excess(np.asarray(_USUAL)) >= 0.0
        root = increasing_root(excess, 0.0, np.where(usual, _USUAL, _LARGEST))
    return np.where(root < _LARGEST, root, np.inf)


def positive_where(excess: FloatArray, enough: Any) -> FloatArray:
    """`excess`, positive also where it is zero but `enough`: the least argument is looked for."""
    return np.where(enough & ~(excess > 0.0), _SMALLEST, excess)


#: Largest number of Newton steps; 3 to 5 are usual.  A function below 1 has a relative error of
#: `_NOISE`, and `_NOISE_OF_LOG` times its logarithm: a result may lie so far above the root.
_NEWTON_STEPS, _NOISE, _NOISE_OF_LOG = 30, 4e-15, 1e-15


def least_epsilon_near(
    function: Callable[[FloatArray, npt.NDArray[np.intp]], tuple[FloatArray, FloatArray]],
    start: FloatArray,
    delta: FloatArray,
) -> FloatArray:
    """As `least_epsilon` for positive `delta`, by Newton's method for the logarithm.

    ``function(epsilon, places)`` returns values for the elements `places` of `delta`, shape (k,),
    and the logarithm of minus their derivatives.  Each result is an epsilon at which the function
    was computed and is at most delta, or NaN where the method fails.
    """
    result, at = np.full(delta.shape, np.nan), start.copy()
    low, high = np.zeros(delta.shape), np.full(delta.shape, np.inf)
    places = np.arange(delta.size)
    log_delta = np.log(delta)
    for _ in range(_NEWTON_STEPS):
        epsilon = at[places]
        value, log_slope = function(epsilon, places)
        with np.errstate(all="ignore"):
            log_value = np.log(value)
            scale = np.exp(log_value - log_slope)
            step = (log_value - log_delta[places]) * scale
            slack = (_NOISE - _NOISE_OF_LOG * log_delta[places]) * scale + 4e-16 * epsilon
            enough = value <= delta[places]
            done = enough & ((epsilon == 0.0) | (step >= -4.0 * slack))
            new = epsilon + step + slack
        low[places] = np.where(enough, low[places], epsilon)
        high[places] = np.where(enough, epsilon, high[places])
        bottom, top = low[places], high[places]
        # Newton's step from below may leave the bracket, or the range of the function.
        middle = np.where(top < np.inf, 0.5 * (bottom + top), 2.0 * bottom + 1.0)
        new = np.where(enough & (new <= 0.0), 0.0, new)
        at[places] = np.where((new >= bottom) & (new < top), new, middle)
        result[places[done]] = epsilon[done]
        places = places[~done]
        if not places.size:
            break
    return result
