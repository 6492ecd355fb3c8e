"""Epsilon and delta of a privacy guarantee that look exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._warnings import warn

__all__ = ["look_exchanged", "warn_of_exchange"]

#: An epsilon of at most the first with a delta of at least the second is an exchange of the two.
_SMALL_EPSILON, _LARGE_DELTA = 0.01, 0.1


def look_exchanged(epsilon: Any, delta: Any) -> bool:
    """Whether each epsilon is so small, and each delta so large, that they seem to be exchanged.

    Not at an epsilon of 0: delta is a bound on the total variation then.
    """
    epsilon, delta = np.asarray(epsilon), np.asarray(delta)
    is_small = (epsilon > 0.0) & (epsilon <= _SMALL_EPSILON)
    return bool(epsilon.size and delta.size and is_small.all() and (delta >= _LARGE_DELTA).all())


def warn_of_exchange(epsilon: Any, delta: Any) -> None:
    """Warn of a pair that looks exchanged, which a function takes as it is."""
    if look_exchanged(epsilon, delta):
        x, share = (float(np.ravel(value)[0]) for value in (epsilon, delta))
        warn(
            f"epsilon = {x:g} and delta = {share:g} look exchanged: a guarantee has a small delta. "
            f"For epsilon {share:g} and delta {x:g} pass epsilon={share:g}, delta={x:g}; if they "
            "are meant so, the answer holds."
        )
