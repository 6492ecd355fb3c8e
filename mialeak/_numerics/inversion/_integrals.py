"""Moment functions, and integrals along one contour by the trapezoid rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = [
    "Contour",
    "Function",
    "LogMoment",
    "MomentFunction",
    "cosine_and_sine",
    "option",
    "tail_and_density",
]

ComplexArray = npt.NDArray[np.complex128]
LogMoment = Callable[[ComplexArray], ComplexArray]

#: Largest number of trials for the t at which K has fallen by about 0.02, for its curvature.
_STEPS = 100


class MomentFunction(Protocol):
    """A moment function, as :class:`SaddlePointInversion` evaluates it."""

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""


class Function:
    """A :class:`MomentFunction` from a vectorised K, with numerical derivatives."""

    def __init__(self, log_moment: LogMoment):
        self._log_moment = log_moment

    def _k(self, s: complex) -> complex:
        return complex(self._log_moment(np.array([s], np.complex128))[0])

    def local(self, theta: float) -> tuple[float, float, float]:
        at, reach, fall = self._k(theta).real, 1.0, 0.0
        for _ in range(_STEPS):
            fall = at - self._k(complex(theta, reach)).real
            if 0.005 < fall < 0.05:
                break
            reach *= float(np.clip(np.sqrt(0.02 / fall), 1e-3, 1e3)) if fall > 0.0 else 1e3
        small = 1e-4 * reach
        slope = self._k(complex(theta, small)).imag / small
        return at, slope, float(np.sqrt(2.0 * fall)) / reach

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        at, slope, _ = self.local(theta)
        t = start + step * np.arange(count)
        s = np.asarray(theta + 1j * t, np.complex128)
        return np.exp(self._log_moment(s) - (at + 1j * slope * t))


#: Points times nodes evaluated at once.
_BLOCK = 1 << 16
#: Exponents are clipped to this, below overflow.
_LARGE = 700.0


@dataclass(frozen=True)
class Contour:
    """The line ``Re s = theta``; ``values = e^(K(s) - K(theta) - it saddle)`` on its nodes."""

    theta: float
    saddle: float  # K'(theta)
    spread: float  # sqrt K''(theta)
    log_moment: float  # K(theta)
    step: float
    nodes: FloatArray
    values: ComplexArray
    error: float


def tail_and_density(contour: Contour, x: FloatArray, anchor: float, known: float) -> FloatArray:
    """Log of the tail relative to `anchor`, and log of the density."""
    gap, plain = contour.theta - anchor, _weights(contour)
    poles = plain * np.sign(gap) / (gap + 1j * contour.nodes)
    total = _sum(contour, x, np.stack([poles, plain], axis=1))
    depth = contour.log_moment - gap * x
    total[:, 0] -= np.exp(np.minimum(known - depth, _LARGE))
    return _log(total.T) + np.stack([depth, depth - anchor * x])


def option(contour: Contour, x: FloatArray, held: float, sold: float, gap: float) -> FloatArray:
    """Log of the option of the contour: call, put, or the minimum of the two laws.

    `held` and `sold` are logs of the wrap-around of the laws at the poles 0 and 1; `gap` is
    ``sold - held``, accurate where the subtraction is not.
    """
    theta = contour.theta
    s = theta + 1j * contour.nodes
    middle = 0.0 < theta < 1.0
    weights = _weights(contour) / (s * (s - 1.0)) * (-1.0 if middle else 1.0)
    depth = contour.log_moment - theta * x
    mass_out = np.exp(np.minimum(held - depth, _LARGE))
    mass_in = np.exp(np.minimum(sold - x - depth, _LARGE))
    if middle:
        return _log(_sum(contour, x, weights) - (mass_out + mass_in)) + depth
    near = np.abs(gap - x) < 1.0  # nearly equal worlds: the two masses nearly cancel
    known = np.where(near, mass_out * np.expm1(np.where(near, gap - x, 0.0)), mass_in - mass_out)
    known *= 1.0 if theta > 1.0 else -1.0
    return _log(_sum(contour, x, weights) - known) + depth


def _weights(contour: Contour) -> ComplexArray:
    weights = contour.values * (contour.step / np.pi)
    weights[0] *= 0.5
    return weights


def _log(total: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(total, 0.0))


def _sum(contour: Contour, x: FloatArray, weights: ComplexArray) -> FloatArray:
    """``Re sum of weights e^(-it (x - saddle))`` over the nodes, the first axis of `weights`."""
    total = np.empty(x.shape + weights.shape[1:])
    rows = max(1, _BLOCK // contour.nodes.size)
    for start in range(0, x.size, rows):
        phase = np.multiply.outer(x[start : start + rows] - contour.saddle, contour.nodes)
        cosine, sine = cosine_and_sine(phase)
        total[start : start + rows] = cosine @ weights.real + sine @ weights.imag
    return total


def cosine_and_sine(phase: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cosine and sine from the tangent of half the angle: 8 times as fast, error 4 ulp.

    NumPy has vector code for the tangent only.
    """
    half = np.tan(0.5 * phase)
    square = half * half
    below = 1.0 / (1.0 + square)
    return (1.0 - square) * below, 2.0 * half * below
