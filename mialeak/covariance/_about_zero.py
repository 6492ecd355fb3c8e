"""From sums about the mean of the rows to those about 0, for a law whose mean is known to be 0."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.linalg import blas

from mialeak._arrays import FloatArray, invalid
from mialeak.covariance._moments import (
    Blocks,
    Diagonal,
    Full,
    Moments,
    References,
    move_powers,
)

__all__ = ["about_zero"]


def about_zero(moments: Moments) -> Any:
    """The same sums about 0, ``sum x x^T`` among them: nothing cancels.

    With the mean m of n rows, ``sum x x^T = sum v v^T + n m m^T``.
    """
    if isinstance(moments, Blocks):
        side = copy.copy(moments)
        side.parts = [_full(part) for part in moments.parts]
        return side
    if isinstance(moments, References):
        stacked = moments.copy()
        stacked.columns = _diagonal(moments.columns)
        return stacked
    if isinstance(moments, Diagonal):
        return _diagonal(moments)
    assert isinstance(moments, Full)
    return _full(moments)


def _full(moments: Full) -> Full:
    twin, mean = moments.copy(), _mean(moments, 2 if moments.tails else 1)
    if moments.tails:
        third, fourth = moments.tails_about(-mean)
        twin.third, twin.fourth = third, np.asarray(fourth)
    twin.own()
    twin.products = blas.dsyr(moments.n, mean, a=twin.products, lower=1, overwrite_a=1)
    twin.centre, twin.rest, twin.lost = np.zeros_like(mean), np.zeros_like(mean), 0
    return twin


def _diagonal(moments: Diagonal) -> Diagonal:
    twin, mean = moments.copy(), _mean(moments, 2 if moments.tails else 1)
    move_powers(twin.powers, moments.n, -mean)
    twin.centre, twin.rest = np.zeros_like(mean), np.zeros_like(mean)
    return twin


def _mean(moments: Full | Diagonal, power: int) -> FloatArray:
    """The mean, if its powers can be summed."""
    mean = moments.centre + moments.rest
    with np.errstate(over="ignore"):
        if not np.isfinite((moments.n * (mean @ mean)) ** power):
            rule = "be False: the mean is too large for its powers to be summed"
            invalid("assume_centered", rule)
    return mean
