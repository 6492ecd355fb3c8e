"""Leakage of discrete data: maxima, atoms, bounds, samples needed, diversity, trade-offs."""

from __future__ import annotations

from mialeak.discrete._diversity import (
    diversity,
    diversity_bounds,
    diversity_range,
    gini_simpson,
    shannon_entropy,
)
from mialeak.discrete._leakage import (
    atom_leakage,
    discrete_tradeoff,
    max_leakage,
    max_leakage_bounds,
    min_samples,
)
from mialeak.discrete._tradeoff import EnclosedTradeOff

__all__ = [
    "EnclosedTradeOff",
    "atom_leakage",
    "discrete_tradeoff",
    "diversity",
    "diversity_bounds",
    "diversity_range",
    "gini_simpson",
    "max_leakage",
    "max_leakage_bounds",
    "min_samples",
    "shannon_entropy",
]
