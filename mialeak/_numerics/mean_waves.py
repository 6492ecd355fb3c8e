"""Means of the waves ``e^(i t l)`` under many discrete laws, each tilted.

The laws of several releases are the rows of a table.  Where all phases of a row are small the sums
over its outcomes are power series in t, whose coefficients are moments: computed once, they serve
every frequency.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray

__all__ = [
    "DEEP",
    "ComplexArray",
    "MeanWaves",
    "log_of_waves",
    "near_the_peak",
    "summed",
    "tilted",
    "waves_less_one",
]

ComplexArray = npt.NDArray[np.complex128]

#: Frequencies times outcomes evaluated at once, and outcomes whose powers are.
_BLOCK, _CACHED = 1 << 20, 1 << 14
#: Phases below this have the series of sin(y) - y.
_SMALL_PHASE = 0.1
#: A mean of waves with a real part further below 1 has its log from its modulus: no cancellation.
_NEAR_ONE = -0.5
#: K below this is computed as log1p of a sum of small terms.
_SMALL_K = 0.5
#: A sum over a grid leaves out terms below e^-DEEP relative to the largest.
DEEP = 46.0
#: Terms of the series, even.  Its remainder is at most a share _REMAINDER of the term of t^2.
_TERMS, _REMAINDER = 32, 2.0**-56
#: Rows of fewer outcomes, or fewer frequencies, are not worth a series.
_LEAST_OUTCOMES, _LEAST_FREQUENCIES = 64, 8
#: A table of fewer columns is worth its copy if they are this share of all.
_WORTH = 0.75


class MeanWaves:
    """``sum of weights (e^(i t centred) - 1 - i t centred)`` of each row, at any frequencies.

    Parameters
    ----------
    weights : (J, Y) array
        Of the sum 1.
    centred : (J, Y) array
        Values of the mean 0.

    Notes
    -----
    The series of e^(iy) up to y^(n - 1) has an error of at most |y|^n / n!.  With the n-th absolute
    moment m of a row, n even, the error of its mean is at most ``m t^n / n!``: the series serves
    the row up to the t at which that is negligible beside ``variance t^2 / 2``.  Moments are log
    convex in their order, so that no term is much larger than the first up to this t.
    """

    def __init__(self, weights: FloatArray, centred: FloatArray):
        self._weights, self._centred = weights, centred
        self._scale = np.abs(centred).max(axis=1)
        #: Largest t of the series of each row.
        self._reach: FloatArray | None = None
        self._moments = np.zeros((0, 0))

    def __call__(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Real and imaginary parts, a row for each t and a column for each row of the table."""
        if self._weights.shape[1] < _LEAST_OUTCOMES or t.size < _LEAST_FREQUENCIES:
            return waves_less_one(self._weights, self._centred, t)
        if self._reach is None:
            self._make_moments()
        short = np.max(np.abs(t)) <= self._reach
        if not short.any():
            return waves_less_one(self._weights, self._centred, t)
        real, imaginary = np.empty((2, t.size, short.size))
        real[:, short], imaginary[:, short] = self._series(t, short)
        if not short.all():
            others = waves_less_one(self._weights[~short], self._centred[~short], t)
            real[:, ~short], imaginary[:, ~short] = others
        return real, imaginary

    def _make_moments(self) -> None:
        """Moments of the values over their largest, from the second on."""
        count, width = self._weights.shape
        moments = np.empty((_TERMS - 1, count))
        scale = np.where(self._scale > 0.0, self._scale, 1.0)
        rows = max(1, _CACHED // width)
        for start in range(0, count, rows):
            block = slice(start, start + rows)
            value = self._centred[block] / scale[block, None]
            power = self._weights[block] * value
            for row in range(_TERMS - 1):
                power *= value
                np.sum(power, axis=1, out=moments[row, block])
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = _REMAINDER * 0.5 * special.factorial(_TERMS) * moments[0] / moments[-1]
            reach = np.where(moments[0] > 0.0, bound ** (1.0 / (_TERMS - 2)), np.inf) / scale
        self._moments, self._reach = moments, reach

    def _series(self, t: FloatArray, short: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        phase = np.multiply.outer(t, self._scale[short])
        square, moments = phase * phase, self._moments[:, short]
        even, odd = np.zeros((2, *phase.shape))
        # By Horner's rule: 1 - y^2/2 + ..., and -y^3/6 + ...
        for order in range(_TERMS - 1, 1, -1):
            term = moments[order - 2] / special.factorial(order)
            part = odd if order % 2 else even
            part *= -square
            part += term
        return -square * even, -square * phase * odd


def near_the_peak(
    log_p: FloatArray, ratio: FloatArray, theta: float, deep: float, *, both: bool = False
) -> tuple[FloatArray, FloatArray]:
    """The columns of each row from its first to its last of more than e^-deep of the largest.

    The weights are those of the law tilted by theta; where `both`, or of the law itself.
    """
    width = log_p.shape[1]
    if width < _LEAST_OUTCOMES:
        return log_p, ratio
    exponent = log_p + theta * ratio
    kept = exponent >= exponent.max(axis=1)[:, None] - deep
    if both:
        kept |= log_p >= log_p.max(axis=1)[:, None] - deep
    first, end = np.argmax(kept, axis=1), width - np.argmax(kept[:, ::-1], axis=1)
    most = int((end - first).max())
    if most > _WORTH * width:
        return log_p, ratio
    columns = np.minimum(first, width - most)[:, None] + np.arange(most)
    columns += width * np.arange(columns.shape[0])[:, None]
    return log_p.ravel()[columns], ratio.ravel()[columns]


def summed(
    times: FloatArray, log_mass: FloatArray, mean: FloatArray, spread: FloatArray
) -> tuple[float, float, float]:
    """K, K' and K'' of a sum of ratios, each a number of times."""
    return float(times @ log_mass), float(times @ mean), float(times @ spread)


def tilted(
    log_p: FloatArray, ratio: FloatArray, theta: float, lost: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """K, K' and the weights of the tilted law of each row; K is relatively accurate if small."""
    tilt = theta * ratio
    exponent = log_p + tilt
    most = exponent.max(axis=1)
    moved = np.exp(exponent - most[:, None])
    total = moved.sum(axis=1)
    moved /= total[:, None]
    log_mass = most + np.log(total)
    small = np.abs(log_mass) < _SMALL_K
    if small.any():
        if not small.all():
            log_p, tilt, exponent = log_p[small], tilt[small], exponent[small]
        steep = np.abs(tilt) >= 1.0
        p, gain = np.exp(log_p), np.expm1(np.where(steep, 0.0, tilt))
        gain *= p
        if steep.any():
            with np.errstate(over="ignore"):
                gain[steep] = np.exp(exponent[steep]) - p[steep]
        log_mass[small] = np.log1p(gain.sum(axis=1) - lost[small])
    return log_mass, np.sum(moved * ratio, axis=1), moved


def waves_less_one(
    weights: FloatArray, centred: FloatArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Real and imaginary part of the sum of ``weights (e^(i t centred) - 1 - i t centred)``.

    The centred values are one row, for all rows of weights, or as many rows; a row of the result is
    for one t, and a column for a row of weights.
    """
    real, imaginary = np.empty((2, t.size, weights.shape[0]))
    rows = max(1, _BLOCK // centred.size)
    for start in range(0, t.size, rows):
        block = slice(start, start + rows)
        phase = np.multiply.outer(t[block], centred)
        half = np.tan(0.5 * phase)  # NumPy has vector code for the tangent only
        below = 1.0 / (1.0 + half * half)
        square = phase * phase
        fourth = 1.0 - square / 42.0 * (1.0 - square / 72.0)
        series = -phase * square / 6.0 * (1.0 - square / 20.0 * fourth)
        small = np.abs(phase) < _SMALL_PHASE
        odd = np.where(small, series, 2.0 * half * below - phase)
        for out, values in ((real, -2.0 * half * half * below), (imaginary, odd)):
            if centred.ndim == 1:
                out[block] = values @ weights.T
            else:
                out[block] = np.einsum("tjy,jy->tj", values, weights)
    return real, imaginary


def log_of_waves(real: FloatArray, imaginary: FloatArray, drift: Any = 0.0) -> ComplexArray:
    """Log of ``1 + real + i (imaginary + drift)``, less i drift, accurate near 1."""
    imaginary = imaginary + drift
    with np.errstate(divide="ignore"):
        near = 0.5 * np.log1p(np.maximum(2.0 * real + real * real + imaginary**2, -1.0))
        far = np.log(np.hypot(1.0 + real, imaginary))
    modulus = np.where(real > _NEAR_ONE, near, far)
    return np.asarray(modulus + 1j * (np.arctan2(imaginary, 1.0 + real) - drift))
