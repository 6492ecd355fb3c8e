"""Laws of sums of independent variables on a lattice."""

from __future__ import annotations

import numpy as np

from mialeak._arrays import FloatArray, invalid

__all__ = [
    "sum_law",
]
#: Steps of a sum at most: a few minutes (12 s for a quarter of them).
_MOST_STEPS = 2**20


def sum_law(law: FloatArray, n: int) -> FloatArray:
    """The law of the sum of n, by repeated squaring from the leading bit on."""
    if n * (law.size - 1) > _MOST_STEPS:
        rule = f"be at most {_MOST_STEPS // (law.size - 1)} for a lattice of {law.size - 1} steps"
        invalid("n", f"{rule}: the work grows with its square", value=n + 1)
    total = np.ones(1)
    for bit in bin(n)[2:]:
        total = np.convolve(total, total)
        if bit == "1":
            total = np.convolve(total, law)
    return total
