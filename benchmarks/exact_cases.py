"""Row of the benchmark for the exact curve of a released mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from speed_case import EPS, SpeedCase

from mialeak import exact
from mialeak._inversion import SaddlePointInversion
from mialeak.marginals import Bernoulli
from mialeak.reference.exact import BitMoments

__all__ = ["EXACT_CASES"]

ROWS = 1000
FPR = np.linspace(0.0005, 0.9995, 1000)


def bits(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The easy target of so many bits, and their probabilities."""
    p = 0.25 + 0.5 * (np.arange(size) + 0.5) / size
    return (p <= 0.5).astype(float), p


def advantage_and_curve(target: np.ndarray, p: np.ndarray) -> float:
    """The advantage and 1000 points of the curve."""
    curve = exact.exact_tradeoff(target, Bernoulli(p), ROWS, method="inversion")
    curve.power(FPR)
    return float(curve.advantage)


def numpy_advantage_and_curve(target: np.ndarray, p: np.ndarray) -> float:
    """The same contours, the moment function in NumPy."""
    inversion = SaddlePointInversion(BitMoments(target, p, ROWS))
    inversion.log_tails(inversion.quantile(np.log(FPR), upper=True), tilt=1.0)
    return float(np.exp(inversion.log_call(0.0)))


def advantage_error(function: Callable[..., Any], size: int) -> float:
    """Against the value of 5000 columns that two implementations agree on."""
    return abs(function(*bits(5000)) / 0.863679881264 - 1.0) / EPS


EXACT_CASES = (
    SpeedCase(
        name="`exact_tradeoff`, d = 5000, n = 1000: advantage and 1000 points",
        size=5000,
        quick_size=500,
        setup=bits,
        ours=advantage_and_curve,
        rivals={"NumPy twin": numpy_advantage_and_curve},
        error=advantage_error,
        bound=1e-11 / EPS,
        unit="call",
    ),
)
