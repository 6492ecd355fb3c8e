"""Enclosures of the leakage of a countable law: the truth lies between, whatever was rounded."""

from __future__ import annotations

import math

import numpy as np

from mialeak._arrays import FloatArray, unsupported
from mialeak._kernels import binomial
from mialeak.discrete._countable import CountableWindow, ScipyLaw
from mialeak.discrete._families import EPS, Pmf
from mialeak.discrete._series import Window, convex_sum

__all__ = ["NEGLIGIBLE", "countable_leakage", "enclose", "kernel_rounding", "rare_leakage"]

#: Relative error of an atom's leakage at gamma = 1 and elsewhere.
_MAD_ROUNDING = 4 * EPS
_TAIL_ROUNDING = 1e-13

#: An enclosure of this relative width is as good as a number.
_CLOSE = 1e-12

#: What the atoms left out may add to that.
_CLOSE_OUTSIDE = 2e-13

#: Atoms a window holds before those outside of it are summed as a convex sequence.
_LEAST_WINDOW = 2**12

#: Relative errors are not taken from atoms rarer than this: all of them together weigh nothing.
NEGLIGIBLE = 1e-20


def countable_leakage(law: ScipyLaw, sizes: list[float], gamma: float) -> list[float]:
    """The middle of each enclosure, if it is as good as a number."""
    values = []
    for n, lower, upper in zip(sizes, *enclose(law, sizes, gamma), strict=True):
        if upper - lower > _CLOSE * upper:
            case = f"within {_CLOSE:g} of itself for this law at n = {n:.0f}"
            why = f"it lies between {lower!r} and {upper!r}"
            unsupported("The leakage", case, why, "max_leakage_bounds gives such an enclosure")
        values.append(lower + (upper - lower) / 2)
    return values


def enclose(law: ScipyLaw, sizes: list[float], gamma: float) -> tuple[list[float], list[float]]:
    """Lower and upper bounds at each size, from a window that grows until they are close."""
    window = CountableWindow(law)
    apart = gamma == 1  # the dominant atom is seen better through all the others
    inside: list[tuple[list[float], list[float]]] = [([], []) for _ in sizes]
    while True:
        for p, rounding in window.grow():
            for n, (low, high) in zip(sizes, inside, strict=True):
                atoms = np.where(p > 0.5, 0.0, p) if apart else p
                block_low, block_high = _block_bounds(atoms, rounding, n, gamma)
                low.append(block_low)
                high.append(block_high)
        lower, upper, close = [], [], True
        crowded = not window.complete and max(1.0, gamma) * max(sizes) * window.edge() >= 1
        for n, (low, high) in zip(sizes, inside, strict=True):
            rare_low, rare_high = rare_leakage(window, n, gamma, math.fsum(low))
            big_low, big_high = _dominant_leakage(window, n) if apart else (0.0, 0.0)
            lower.append(math.fsum([*low, rare_low, big_low]))
            upper.append(math.fsum([*high, rare_high, big_high]))
            close = close and rare_high - rare_low <= max(_CLOSE_OUTSIDE * lower[-1], window.doubt)
        if close or (window.exhausted and not (crowded and window.widen())):
            return lower, upper


def kernel_rounding(gamma: float) -> float:
    """Relative error of the leakage of an atom of known probability."""
    return _MAD_ROUNDING if gamma == 1 else _TAIL_ROUNDING


def _sum(p: FloatArray, n: float, gamma: float) -> float:
    return float(binomial.leakage_sum(p, n, gamma, 1.0)[1])


def _block_bounds(
    p: FloatArray, rounding: FloatArray, n: float, gamma: float
) -> tuple[float, float]:
    """Bounds of the leakage of some atoms whose probabilities are within `rounding` of `p`.

    At gamma = 1 one atom adds f(p) = p (1-p) b(m; n-1, p), and p f'/f = (m + 1 - n p - p)/(1 - p)
    lies between -p/(1-p) and 1: for p <= 1/2 the relative error of f is not above that of p, and
    for a larger one |f'| <= 1.
    """
    if gamma == 1:
        value, largest = _sum(p, n, 1.0), int(p.argmax())
        slack = value * (_worst(p, rounding) + _MAD_ROUNDING)
        slack += p[largest] * rounding[largest] if p[largest] > 0.5 else 0.0
        return value - slack, value + slack
    # E(B - c)+ rises with p and falls with c, E(c - B)+ the other way.  With both at the ends of
    # what they may be, c = gamma n p becomes that of a slightly different gamma.
    raised = np.minimum(p * (1 + rounding + EPS), 1.0)
    lowered = np.maximum(p * (1 - rounding - EPS), 0.0)
    worst = _worst(p, rounding) + EPS
    nearer, farther = (1 - worst) / (1 + worst), (1 + worst) / (1 - worst)
    if gamma > 1:
        low = _sum(lowered, n, gamma * farther)
        high = _sum(raised, n, gamma * nearer) if gamma * nearer >= 1 else None
    else:
        low = _sum(raised, n, gamma * nearer) * nearer
        high = _sum(lowered, n, gamma * farther) * farther if gamma * farther <= 1 else None
    if high is None:  # gamma is within rounding of 1, where leakage is largest
        return low * (1 - _TAIL_ROUNDING), _block_bounds(p, rounding, n, 1.0)[1]
    return low * (1 - _TAIL_ROUNDING), high * (1 + _TAIL_ROUNDING)


def _dominant_leakage(window: CountableWindow, n: float) -> tuple[float, float]:
    """Bounds at gamma = 1 for an atom above 1/2, which leaks what one of probability 1 - p does."""
    if not window.dominant:
        return 0.0, 0.0
    low, high = window.beside()
    rare, half = (low + high) / 2, (high - low) / 2
    value = _sum(np.array([rare]), n, 1.0)
    slack = min(half, 1.01 * half * value / low) if low > 0 else half
    return max(value * (1 - _MAD_ROUNDING) - slack, 0.0), value * (1 + _MAD_ROUNDING) + slack


def _worst(p: FloatArray, rounding: FloatArray) -> float:
    """Largest relative error among atoms that matter."""
    return float(np.max(rounding, where=p > NEGLIGIBLE, initial=0.0))


def rare_leakage(window: Window, n: float, gamma: float, inside: float) -> tuple[float, float]:
    """Bounds of the leakage of all atoms outside, close for a sum with the leakage `inside`.

    An atom with gamma n p < 1 adds p - g p (1 - (1-p)^n), g = max(1, gamma), exactly.  What is
    taken away is at most g n p^2, and it is convex in p for n p < 2.
    """
    low, high = window.outside()
    edge = window.edge()
    weight = max(1.0, gamma)
    if high == 0:
        return 0.0, 0.0
    if weight * n * edge >= 1:
        return 0.0, high
    missing_low, missing_high = 0.0, weight * n * edge * high
    tolerance = _CLOSE_OUTSIDE * (inside + max(low - missing_high, 0.0))
    if missing_high > tolerance and window.size >= _LEAST_WINDOW:
        sums = [
            _repeated_sum(pmf, count, window, n, high, tolerance / (4 * weight))
            for pmf, count in window.sides()
        ]
        missing_low = weight * sum(bounds_of_side[0] for bounds_of_side in sums)
        missing_high = min(missing_high, weight * sum(bounds_of_side[1] for bounds_of_side in sums))
    return max(low - missing_high, 0.0), high - missing_low


def _repeated_sum(
    pmf: Pmf, count: float, window: Window, n: float, mass: float, tolerance: float
) -> tuple[float, float]:
    """Bounds of the sum of p (1 - (1-p)^n) over one side, which has at most `mass`."""

    def repeated(j: FloatArray) -> tuple[FloatArray, FloatArray]:
        p, rounding = pmf(j)
        return -p * np.expm1(n * np.log1p(-p)), 2 * rounding + 8 * EPS

    def remainder(j: float) -> float:
        p, rounding = pmf(np.array([j]))
        return n * float(p[0] * (1 + rounding[0])) * mass

    bounds = convex_sum(
        repeated, remainder, count, window.size, tolerance, persist=window.exhausted
    )
    if bounds is None:
        return 0.0, math.inf
    lower, upper, beyond = bounds
    return lower, upper + beyond
