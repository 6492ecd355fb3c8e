"""Lattices: the steps between values, and laws of sums of independent variables on one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid

__all__ = [
    "lattice_steps",
    "sum_law",
]
#: Largest number of steps of a sum: minutes of work (12 s for a quarter of it).
_MOST_STEPS = 2**20


def sum_law(law: FloatArray, n: int) -> FloatArray:
    """The law of the sum of n draws, by repeated squaring from the leading bit on."""
    if n * (law.size - 1) > _MOST_STEPS:
        rule = f"be at most {_MOST_STEPS // (law.size - 1)} for a lattice of {law.size - 1} steps"
        invalid("n", f"{rule}: the work grows with its square", value=n + 1)
    total = np.ones(1)
    for bit in bin(n)[2:]:
        total = np.convolve(total, total)
        if bit == "1":
            total = np.convolve(total, law)
    return total


#: Values are multiples of their greatest common step if ratios of gaps are fractions with at most
#: this denominator, to within the tolerance.
_DENOMINATOR, _OFF = 10_000, 1e-9


def lattice_steps(values: FloatArray) -> tuple[npt.NDArray[np.int64], float]:
    """Each value as a number of steps from the first value, and the step."""
    gaps = values - values[0]
    if gaps.size == 1:
        return np.zeros(1, np.int64), 1.0
    first = float(np.diff(values).min())
    fractions = [Fraction(float(gap / first)).limit_denominator(_DENOMINATOR) for gap in gaps]
    common = math.lcm(*(fraction.denominator for fraction in fractions))
    steps = np.array([float(fraction * common) for fraction in fractions])
    steps /= math.gcd(*(int(step) for step in steps))
    unit = float(gaps[-1] / steps[-1])
    off = np.abs(gaps / unit - steps) > _OFF * steps
    if off.any() or common > _DENOMINATOR:
        place = int(np.argmax(off)) if off.any() else gaps.size - 1
        rule = "lie on a lattice: evenly spaced, with gaps allowed"
        invalid("values", rule, index=place, value=values[place])
    return steps.astype(np.int64), unit
