"""Integrals along one contour by the trapezoid rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = ["Contour", "cosine_and_sine", "option", "tail_and_density"]

ComplexArray = npt.NDArray[np.complex128]

#: Points times nodes worked on at once.
_BLOCK = 1 << 16
#: Exponents at most: what would overflow is of no use.
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
    """Log of the tail and, whatever the anchor, log of the density."""
    gap, plain = contour.theta - anchor, _weights(contour)
    poles = plain * np.sign(gap) / (gap + 1j * contour.nodes)
    total = _sum(contour, x, np.stack([poles, plain], axis=1))
    depth = contour.log_moment - gap * x
    total[:, 0] -= np.exp(np.minimum(known - depth, _LARGE))
    return _log(total.T) + np.stack([depth, depth - anchor * x])


def option(contour: Contour, x: FloatArray, held: float, sold: float, gap: float) -> FloatArray:
    """Log of the option that belongs to the contour: call, put or the smaller of the two laws.

    `held` and `sold` are logs of what the periods add to the mass and the price, `gap` is ``sold -
    held`` if known better than by subtraction.
    """
    theta = contour.theta
    s = theta + 1j * contour.nodes
    middle = 0.0 < theta < 1.0
    weights = _weights(contour) / (s * (s - 1.0)) * (-1.0 if middle else 1.0)
    depth = contour.log_moment - theta * x
    mass = np.exp(np.minimum(held - depth, _LARGE))
    price = np.exp(np.minimum(sold - x - depth, _LARGE))
    if middle:
        return _log(_sum(contour, x, weights) - (mass + price)) + depth
    near = np.abs(gap - x) < 1.0  # nearly equal worlds: the two nearly cancel
    known = np.where(near, mass * np.expm1(np.where(near, gap - x, 0.0)), price - mass)
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
    """By the tangent of half the angle, for which NumPy has vector code: 8 times as fast, 4 ulp."""
    half = np.tan(0.5 * phase)
    square = half * half
    below = 1.0 / (1.0 + square)
    return (1.0 - square) * below, 2.0 * half * below
