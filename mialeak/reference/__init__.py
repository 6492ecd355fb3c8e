"""A NumPy twin of every kernel, of the same name: the literal formula.

The package exports the twins of discrete data; the modules have those of the other families.  Tests
and benchmarks compare the kernels with the twins; no other room imports the twins, which are not a
fallback.  A twin is as accurate as the formula in float64 arithmetic: the docstring states where
that fails.
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
