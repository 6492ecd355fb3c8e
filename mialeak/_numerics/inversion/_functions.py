"""The interface of a moment function, and its implementation from a callable K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Function", "LogMoment", "MomentFunction"]

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
