"""Exact leakage of single statistics, without enumeration.

Each function is for the law `p` of the atoms and n rows, or a Poisson number with mean n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    invalid,
)
from mialeak._numerics.lattice import lattice_steps
from mialeak.discrete import max_leakage
from mialeak.mechanisms._builtin import Histogram, Maximum, Mean, Mode
from mialeak.mechanisms._cellwise import leaked, target_cell_leakage, total
from mialeak.mechanisms._mode import mode_leakage

__all__ = ["closed_leakage", "raw_leakage"]

#: Points of a sum's law at most.
_MOST_POINTS = 2**26
#: Exponent of the negligible, e^-46 = 1e-20, in Bernstein's inequality.
_NEGLIGIBLE = 46.0
#: Points of a law worked on at once.
_PIECE = 2**14
#: Powers of a transform below e^-60 are left out, and the rounding of one that fft computes.
_SMALLEST, _TRANSFORM_ROUNDING = 60.0, 1e-13


def closed_leakage(
    mechanism: Any, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> float | None:
    """Leakage of the built-in statistics; None for others."""
    if isinstance(mechanism, Histogram):
        return raw_leakage(p, n, gamma, poisson=poisson)
    if isinstance(mechanism, Maximum):
        return _maximum_leakage(p, n, gamma, poisson=poisson)
    if isinstance(mechanism, Mean):
        leakage = _mean_leakage(p, mechanism.values, n, gamma, poisson=poisson)
    elif isinstance(mechanism, Mode):
        leakage = mode_leakage(p, n, gamma, poisson=poisson)
    else:
        return None
    # Sums of Fourier have absolute errors, which may be more than the counts themselves leak.
    return min(leakage, raw_leakage(p, n, gamma, poisson=poisson))


def raw_leakage(p: FloatArray, n: int, gamma: float, *, poisson: bool) -> float:
    """Leakage of all counts as they are."""
    if poisson:
        return target_cell_leakage(None, p, n, gamma, poisson=True)
    return float(max_leakage(p, n, gamma=gamma))


# ---- the maximum ----


def _maximum_leakage(p: FloatArray, n: int, gamma: float, *, poisson: bool) -> float:
    """In O(K): the probabilities of each maximum, given a target below, at and above it."""
    p = p[p > 0.0]
    above = np.append(np.cumsum(p[:0:-1])[::-1], 0.0)  # mass of the later atoms
    below = np.append(0.0, np.cumsum(p)[:-1])
    upto = below + p
    with np.errstate(divide="ignore"):  # where one branch is -inf, the other is taken
        log_upto = np.where(above <= 0.5, np.log1p(-above), np.log(upto))

    def law(rows: int) -> tuple[FloatArray, FloatArray]:
        """P(maximum <= l) and P(maximum = l)."""
        at_most = np.exp(-n * above) if poisson else np.exp(rows * log_upto)
        if poisson:
            return at_most, at_most * -np.expm1(-n * p)
        if rows == 0:
            return at_most, np.zeros(len(p))
        step = log_upto - np.append(-np.inf, log_upto[:-1])
        return at_most, at_most * -np.expm1(-rows * step)

    _, out = law(n)
    at_most, others = law(n - 1)
    terms = p * leaked(at_most - gamma * out, gamma)
    terms += below * leaked(others - gamma * out, gamma) + above * leaked(-gamma * out, gamma)
    none = leaked(np.array([-gamma * math.exp(-n)]), gamma) if poisson else 0.0
    return total(np.append(terms, none))


# ---- the mean ----


def _mean_leakage(
    p: FloatArray, values: FloatArray, n: int, gamma: float, *, poisson: bool
) -> float:
    """By the law of the sum on a circle large enough, whose Fourier transform is a power."""
    if values.shape != p.shape:
        rule = "have one entry for each atom of p"
        invalid("values", f"{rule}; the shapes are {values.shape} and {p.shape}")
    p, values = p[p > 0.0], values[p > 0.0]
    levels, where = np.unique(np.append(values, 0.0) if poisson else values, return_inverse=True)
    steps, _ = lattice_steps(levels)
    mass = np.bincount(where[: len(p)], p, len(levels)).astype(np.float64)
    # What is counted from turns the circle.  From the commonest value, frequencies at which the
    # transform is near 1 in size are those at which it is near 1, and its excess is exact there.
    steps = steps - steps[where[-1] if poisson else int(np.argmax(mass))]
    centre = 0 if poisson else int(np.rint(steps @ mass))
    width = _circle(steps - centre, mass, n, poisson=poisson)
    frequency = _frequencies_that_matter(steps, mass, width, n, poisson=poisson)
    excess = _transform_less_one(steps, mass, width, frequency)
    out = _law(np.exp(n * excess) if poisson else _power(excess, n), frequency, width)
    others = out if poisson else _law(_power(excess, n - 1), frequency, width)
    twice, scaled = np.tile(others, 2), gamma * out
    terms = []
    for step, share in zip(steps.tolist(), mass.tolist(), strict=True):
        if share > 0.0:
            start = -step % width  # from there on the law is moved by the step
            terms.append(share * _leaked_on(twice[start : start + width], scaled, gamma))
    return math.fsum(terms)


def _leaked_on(law_in: FloatArray, scaled: FloatArray, gamma: float) -> float:
    """Sum of :func:`leaked`, of "in" less gamma times "out": piece by piece, in the cache."""
    gain, sums = np.empty(_PIECE), []
    for start in range(0, len(scaled), _PIECE):
        piece = scaled[start : start + _PIECE]
        part = np.subtract(law_in[start : start + _PIECE], piece, out=gain[: len(piece)])
        if gamma < 1.0:
            np.negative(part, out=part)
        sums.append(float(np.maximum(part, 0.0, out=part).sum()))
    return math.fsum(sums) / min(gamma, 1.0)


def _frequencies_that_matter(
    steps: npt.NDArray[np.int64], mass: FloatArray, width: int, n: int, *, poisson: bool
) -> npt.NDArray[np.int64]:
    """Those at which the transform of the sum of n, or n - 1, rows may be above e^-60 in size.

    By a transform of one row that has the rounding of its largest value, 1.
    """
    wave = np.fft.rfft(np.bincount(steps % width, mass, width))
    if poisson:
        return np.flatnonzero(wave.real + _TRANSFORM_ROUNDING > 1.0 - _SMALLEST / n)
    least = math.exp(-_SMALLEST / (n - 1)) if n > 1 else 0.0
    return np.flatnonzero(np.abs(wave) + _TRANSFORM_ROUNDING > least)


def _transform_less_one(
    steps: npt.NDArray[np.int64], mass: FloatArray, width: int, frequency: npt.NDArray[np.int64]
) -> Any:
    """Fourier transform of the law of one row, less 1: turns are reduced while they are whole."""
    excess = np.zeros(len(frequency), complex)
    for step, share in zip(steps.tolist(), mass.tolist(), strict=True):
        half = math.pi / width * ((frequency * step + width // 2) % width - width // 2)
        excess.real -= 2.0 * share * np.sin(half) ** 2
        excess.imag -= share * np.sin(2.0 * half)
    return excess


def _power(excess: Any, n: int) -> Any:
    """(1 + z)^n, by the logarithm where that is small: it multiplies the error of z by n."""
    near = np.abs(excess) < 0.5
    z = excess[near]
    log = 0.5 * np.log1p(2.0 * z.real + z.real**2 + z.imag**2)
    power = (1.0 + excess) ** n
    power[near] = np.exp(n * (log + 1j * np.arctan2(z.imag, 1.0 + z.real)))
    return power


def _law(powers: Any, frequency: npt.NDArray[np.int64], width: int) -> FloatArray:
    transform = np.zeros(width // 2 + 1, complex)
    transform[frequency] = powers
    law = np.fft.irfft(transform, width)
    return np.where(law > 2.0**-60, law, 0.0)  # what is less is rounding


def _circle(steps: npt.NDArray[np.int64], mass: FloatArray, n: int, *, poisson: bool) -> int:
    """Points of the circle: twice as far from the mean as the sum gets, and a step further."""
    low, high = int(steps.min()), int(steps.max())
    reach = max(abs(low), abs(high), 1)
    spread = n * float(mass @ steps.astype(np.float64) ** 2)
    far = _NEGLIGIBLE * reach / 3.0
    width = 2.0 * (far + math.sqrt(far * far + 2.0 * _NEGLIGIBLE * spread)) + 4.0 * reach
    if not poisson:
        width = min(width, float((n + 2) * (high - low) + 1))
    if width > _MOST_POINTS:
        rule = f"give a mean with fewer than {_MOST_POINTS:,} likely values; it has {width:.3g}"
        invalid("values", rule, remedy="Round them to a coarser step")
    return 2 * math.ceil(width / 2.0) + 2
