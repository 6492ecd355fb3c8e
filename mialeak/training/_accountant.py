"""Epsilon of DP-SGD as accountants compute it: the claim that an audit is to be compared with.

Steps on full batches are one Gaussian mechanism, and their epsilon is exact.  For Poisson batches
the privacy losses of T steps are convolved on a grid (Koskela, Jalko and Honkela 2020).  Losses are
rounded up and what is cut off is added to delta: the result is an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from mialeak._arrays import FloatArray
from mialeak.tradeoff import GaussianTradeOff

__all__ = ["dp_sgd_epsilon"]

#: Rounding of the total loss, the largest grid, and the share of delta for all that is cut off.
_ROUNDING, _LARGEST, _SHARE = 0.002, 1 << 21, 1e-4
#: Exponents of the moments that bound the tails of the total loss.
_EXPONENTS = np.geomspace(1e-2, 1e3, 31)


def dp_sgd_epsilon(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Epsilon at delta of adding or removing a row, for `steps` steps; infinite without noise."""
    if noise_multiplier == 0.0 or (delta == 0.0 and rate > 0.0):
        return np.inf
    if rate == 1.0:
        return float(np.asarray(GaussianTradeOff(np.sqrt(steps) / noise_multiplier).epsilon(delta)))
    noise = noise_multiplier

    def place(loss: FloatArray) -> FloatArray:
        """Where the log ratio of the mixture to the noise has this value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.maximum((np.exp(loss) - 1.0 + rate) / rate, 0.0))
        return np.asarray(noise**2 * ratio + 0.5)

    def removed(loss: FloatArray) -> FloatArray:
        x = place(loss)
        return np.asarray((1.0 - rate) * ndtr(x / noise) + rate * ndtr((x - 1.0) / noise))

    def added(loss: FloatArray) -> FloatArray:
        return np.asarray(ndtr(-place(-loss) / noise))

    reach = -float(ndtri(_SHARE * delta / (4.0 * steps)))
    ends = np.array([-reach * noise, 1.0 + reach * noise])
    low, high = np.log1p(rate * np.expm1((2.0 * ends - 1.0) / (2.0 * noise**2))).tolist()
    return max(
        _composed(removed, low, high, steps, delta), _composed(added, -high, -low, steps, delta)
    )


def _composed(
    cdf: Callable[[FloatArray], FloatArray], low: float, high: float, steps: int, delta: float
) -> float:
    """Epsilon of the sum of independent losses with this distribution function."""
    width = _ROUNDING / steps
    while True:
        grid = low + width * np.arange(np.ceil((high - low) / width) + 2)
        mass = np.diff(cdf(grid), prepend=0.0)
        tails = _SHARE * delta
        exponents = np.concatenate([-_EXPONENTS[::-1], _EXPONENTS])
        shift = exponents[:, None] * np.array([grid[0], grid[-1]])
        scale = shift.max(axis=1)
        moments = [
            np.log(mass @ np.exp(t * grid - s)) for t, s in zip(exponents, scale, strict=True)
        ]
        logs = steps * (np.array(moments) + scale) - np.log(tails)
        upper = float(np.min((logs / exponents)[exponents > 0.0]))
        lower = float(np.max((logs / exponents)[exponents < 0.0]))
        size = 1 << int(np.ceil(np.log2(max((upper - lower) / width, grid.size) + 2.0)))
        if size <= _LARGEST:
            break
        width *= size / _LARGEST
    spectrum = np.fft.rfft(mass, size) ** steps
    total = np.maximum(np.fft.irfft(spectrum, size), 0.0)
    start = steps * grid[0]  # the loss at place 0, up to whole turns of the circle
    turn = size * width
    losses = start + width * np.arange(size)
    losses = lower + np.mod(losses - lower, turn)
    order = np.argsort(losses)
    losses, total = losses[order], total[order]
    lost = 3.0 * tails + steps * max(1.0 - float(mass.sum()), 0.0)
    above = np.cumsum(total[::-1])[::-1]
    with np.errstate(over="ignore"):
        below = np.cumsum((total * np.exp(-losses))[::-1])[::-1]
    excess = above - np.exp(losses) * below + lost  # delta at epsilon = each loss
    within = np.flatnonzero((excess <= delta) & (losses >= 0.0))
    return float(losses[within[0]]) if within.size else np.inf
