"""Sums over long convex sequences, enclosed from a few of their terms.

Over a run of integers a convex sequence lies below its chord and above its tangent at the middle:

    N h(middle)  <=  sum of h over N integers  <=  N (h(first) + h(last)) / 2       (N odd)

Runs of equal length within an octave, octave after octave, make the gap fall as the square of the
run's length.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mialeak._arrays import FloatArray

__all__ = ["convex_sum"]

#: Indices to terms and the relative errors of those.
Sequence = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: Runs that an octave is cut into at first, and at most.
_FEW_RUNS = 2.0**5
_MANY_RUNS = 2.0**18

#: Largest index: integers beyond are not exact as float64.
_LAST_INDEX = 2.0**53

#: Each octave may take this part of the gap allowed.
_SHARE = 1 / 16

#: Relative rise or bend that is put down to rounding, besides the errors of the terms.
_SLACK = 1e-13


def convex_sum(
    sequence: Sequence,
    rest: Callable[[float], float],
    count: float,
    octave: float,
    tolerance: float,
    *,
    persist: bool = False,
) -> tuple[float, float, float] | None:
    """Bounds of the sum of a falling convex sequence over 1, 2, ..., count.

    Parameters
    ----------
    sequence : callable
        Indices to terms and their relative errors, which widen the bounds.
    rest : callable
        Index to an upper bound of the sum from there on.
    count : float
        Number of terms, or infinity.
    octave : float
        Length of the first octave; each is twice as long as the one before.
    tolerance : float
        Gap wanted between the bounds.  It is not promised.
    persist : bool
        Come as close as can be even where `tolerance` is out of reach.

    Returns
    -------
    tuple of float, or None
        Lower and upper bound of the sum as far as it was taken, and `rest` of where that was.
        None if the sequence is seen not to fall or not to be convex.
    """
    lower: list[float] = []
    upper: list[float] = []
    start, share = 1.0, _SHARE * tolerance
    while start <= count:
        beyond = rest(start)
        if beyond <= share or start + octave > _LAST_INDEX:
            return math.fsum(lower), math.fsum(upper), beyond
        summed = _octave_sum(sequence, start, min(octave, count - start + 1), share, persist)
        if summed is None:
            return None
        low, high, rounding, used = summed
        if high - low > share and not persist:
            share = high - low  # no need to be closer elsewhere
        lower.append(low * max(1 - rounding, 0.0))
        upper.append(high * (1 + rounding))
        start += used
        octave *= 2
    return math.fsum(lower), math.fsum(upper), 0.0


def _octave_sum(
    sequence: Sequence, start: float, length: float, tolerance: float, persist: bool
) -> tuple[float, float, float, float] | None:
    """Bounds over at most `length` terms from `start`, their rounding, and how many were taken."""
    run, finest = _odd(length / _FEW_RUNS), _odd(length / _MANY_RUNS)
    while True:
        runs = length // run
        first = start + run * np.arange(runs)
        nodes = np.concatenate([first, first + (run - 1) / 2, first + (run - 1)])
        terms, errors = sequence(nodes)
        begin, middle, end = terms.reshape(3, -1)
        chord, rounding = (begin + end) / 2, float(errors.max())
        more = 1 + 2 * rounding + _SLACK
        if not np.all((middle <= begin * more) & (end <= middle * more) & (middle <= chord * more)):
            return None
        gap = run * float(np.sum(chord - middle))
        # The gap goes with the square of the run's length.
        hopeless = finest > 1 and gap * (finest / run) ** 2 > tolerance and not persist
        if gap <= tolerance or run <= finest or hopeless:
            return run * float(middle.sum()), run * float(chord.sum()), rounding, run * runs
        finer = _odd(run * math.sqrt(tolerance / (2 * gap)))
        run = max(min(finer, _odd(run / 2)), finest)


def _odd(length: float) -> float:
    """The largest odd whole number up to `length`, at least 1."""
    return max(1.0, 2 * math.floor((length + 1) / 2) - 1.0)
