"""Row of the benchmark for the exact curve of a released mean."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from speed_case import EPS, SpeedCase

from mialeak import exact
from mialeak._numerics.inversion import SaddlePointInversion
from mialeak.laws import Bernoulli
from mialeak.reference.exact import BitMoments
from mialeak.special import binom_logpmf

__all__ = ["EXACT_CASES"]

ROWS = 1000
#: Columns that dp-accounting composes, and the grid that it rounds their privacy loss to.
FEW, GRID = 200, 1e-4
FPR = np.linspace(0.0005, 0.9995, 1000)


def bits(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The easy target of so many bits, and their probabilities."""
    p = 0.25 + 0.5 * (np.arange(size) + 0.5) / size
    return (p <= 0.5).astype(float), p


def advantage_and_curve(target: np.ndarray, p: np.ndarray) -> float:
    """The advantage and 1000 points of the curve."""
    curve = exact.exact_mean_tradeoff(target, Bernoulli(p), ROWS, method="inversion")
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


def composed_advantage(target: np.ndarray, p: np.ndarray) -> float:
    """The advantage by the privacy loss of each column on a grid of 1e-4, composed."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    k, total = np.arange(ROWS + 1), None
    for own in np.where(target == 1.0, p, 1.0 - p):
        out, inside = binom_logpmf(k, ROWS, own), binom_logpmf(k[:-1], ROWS - 1, own)
        one = pld.from_two_probability_mass_functions(
            dict(enumerate(out.tolist())),
            dict(enumerate(inside.tolist(), start=1)),
            value_discretization_interval=GRID,
        )
        total = one if total is None else total.compose(one)
    assert total is not None
    return float(total.get_delta_for_epsilon(0.0))


def plain_advantage(target: np.ndarray, p: np.ndarray) -> float:
    """The advantage alone."""
    return float(
        exact.exact_mean_tradeoff(target, Bernoulli(p), ROWS, method="inversion").advantage
    )


def composed_error(function: Callable[..., Any], size: int) -> float:
    """Ours as above; a composition of 200 columns against ours of these."""
    if function is plain_advantage:
        return advantage_error(function, size)
    return abs(function(*bits(FEW)) / plain_advantage(*bits(FEW)) - 1.0) / EPS


def composed_case() -> SpeedCase:
    """Time a column; the composition, linear in their number, is timed on 200 of the 5000."""
    return SpeedCase(
        name="advantage of 5000 columns, n = 1000, per column (dp-accounting: of 200, grid 1e-4)",
        size=5000,
        quick_size=50,
        setup=bits,
        ours=plain_advantage,
        rivals={"dp-accounting": composed_advantage},
        error=composed_error,
        bound=1e-11 / EPS,
        rival_size=FEW,
    )


EXACT_CASES = (
    SpeedCase(
        name="`exact_mean_tradeoff`, d = 5000, n = 1000: advantage and 1000 points",
        size=5000,
        quick_size=500,
        setup=bits,
        ours=advantage_and_curve,
        rivals={"NumPy twin": numpy_advantage_and_curve},
        error=advantage_error,
        bound=1e-11 / EPS,
        unit="call",
    ),
    *([composed_case()] if find_spec("dp_accounting") else []),
)
