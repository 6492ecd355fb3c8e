"""A NumPy twin of every kernel, by the same name: the literal formula, as one would write it.

Those of discrete data are here, those of other families in the modules of this package.  Tests and
benchmarks hold the kernels against them; nothing in mialeak imports them, and they are no fallback.
They are right where float64 arithmetic on the formula is right, and no further: each docstring says
where that ends.
"""

from __future__ import annotations

from mialeak.reference.binomial import (
    binom_excess,
    binom_logpmf,
    binom_mad,
    binom_sf,
    binom_shortfall,
    leakage_atoms,
    leakage_sum,
)

__all__ = [
    "binom_excess",
    "binom_logpmf",
    "binom_mad",
    "binom_sf",
    "binom_shortfall",
    "leakage_atoms",
    "leakage_sum",
]
