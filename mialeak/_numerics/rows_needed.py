"""How many rows: the smallest whole number at which a falling function is at most 0.

The one search of the package over numbers of rows, runs and canaries.  It leaps from a guess to
both sides until the answer is between two numbers, and interpolates on a logarithmic scale, where
leakage is nearly straight.  All elements of an array are searched at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, FloatArray, invalid

__all__ = ["excess", "rows_bracket", "rows_needed"]

#: The function: numbers (whole float64) and the places that they belong to, to its values there.
#: Only signs are used where a value is infinite.
Excess = Callable[[FloatArray, npt.NDArray[np.intp]], Any]

#: Each leap multiplies or divides by this.
_STRIDE = 4
#: Every fourth step bisects: interpolation fails where the function is mostly rounding.
_PATIENCE = 4


def rows_needed(
    leaks: Callable[[int], float], leakage: float, *, near: float = 1.0, least: int = 1
) -> int:
    """Smallest number of rows, from `least` to 2**53, that leaks at most `leakage`.

    Parameters
    ----------
    leaks : callable
        Number of rows to leakage, which never increases.
    leakage : float
        The leakage wanted.
    near : float
        A guess of the answer.
    least : int
        Fewest rows of a release.

    Raises
    ------
    ValueError
        If 2**53 rows leak more.
    """

    def function(n: FloatArray, _: object) -> FloatArray:
        return excess(leaks(int(n[0])), leakage)

    high = rows_bracket(function, [near], least=least)[1][0]
    if high > MAX_COUNT:
        rule = f"be reached with at most 2**53 rows, which leak {leaks(MAX_COUNT):.6g}"
        invalid("leakage", rule, value=leakage)
    return int(high)


def excess(value: Any, bound: Any) -> FloatArray:
    """``log(value / bound)``, above 0 exactly where ``value > bound``."""
    with np.errstate(divide="ignore"):
        ratio = np.log(value) - np.log(bound)
    # Two neighbouring floats may have one logarithm.
    return np.asarray(
        np.where(value > bound, np.maximum(ratio, 2.0**-52), np.minimum(ratio, 0.0)), np.float64
    )


def rows_bracket(
    function: Excess,
    near: npt.ArrayLike,
    *,
    least: int = 1,
    most: int = MAX_COUNT,
    stride: int = _STRIDE,
    precision: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Two numbers for each element: `function` is above 0 at the first, at most 0 at the second.

    Parameters
    ----------
    function : callable
        Numbers and their places in `near` to the values of a falling function of each.
    near : array_like of shape (k,)
        Guesses, at which the search begins.
    least, most : int
        Ends of the search.
    stride : int
        Factor of the first steps.
    precision : float
        Relative distance at which the numbers are close enough; 0 for neighbours.

    Returns
    -------
    low, high : ndarray of shape (k,)
        Whole numbers.  `low` is ``least - 1`` where nothing is above 0, `high` infinite where
        everything is.
    """
    at = np.clip(np.ceil(np.asarray(near, np.float64)), least, most)
    low, high = np.full(at.shape, least - 1.0), np.full(at.shape, np.inf)
    above, below = np.full(at.shape, np.inf), np.full(at.shape, -np.inf)
    # Which end moved last: an end that stays twice counts half (the Illinois rule).
    moved = np.zeros(at.shape)
    active = np.arange(at.size)
    step = 0
    while active.size:
        values = np.broadcast_to(function(at[active], active), active.shape)
        is_above = values > 0.0
        up, down = active[is_above], active[~is_above]
        low[up], above[up] = at[up], values[is_above]
        high[down], below[down] = at[down], values[~is_above]
        below[up] /= 1.0 + (moved[up] > 0.0)
        above[down] /= 1.0 + (moved[down] < 0.0)
        moved[up], moved[down] = 1.0, -1.0
        step += 1
        reached = np.isfinite(high)
        between = (low >= least) & reached
        distant = (high - low > 1.0) & (high > (1.0 + precision) * low)
        unknown = np.where(reached, high > least, low < most)
        active = np.flatnonzero(np.where(between, distant, unknown))
        upwards = np.minimum(stride * np.maximum(low, 1.0), most)
        downwards = np.maximum(np.where(reached, high, 1.0) // stride, least)
        inside = _inside(low, high, above, below, bisect=step % _PATIENCE == 0)
        at = np.where(between, inside, np.where(reached, downwards, upwards))
    return low, high


def _inside(
    low: FloatArray, high: FloatArray, above: FloatArray, below: FloatArray, *, bisect: bool
) -> FloatArray:
    """Whole numbers strictly between `low` and `high`, by interpolation or as geometric means."""
    middle = np.rint(np.sqrt(np.maximum(low, 1.0)) * np.sqrt(high))
    if not bisect:
        with np.errstate(all="ignore"):
            x, y = np.log(low), np.log(high)
            straight = np.rint(np.exp((x * below - y * above) / (below - above)))
        middle = np.where(np.isfinite(straight), straight, middle)
    return np.asarray(np.clip(middle, low + 1.0, high - 1.0))
