"""Laws on many cells, and samples of them."""

from __future__ import annotations

import numpy as np

__all__ = ["draw", "two_sizes", "zipf"]


def draw(p: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Counts of `size` independent rows with law `p`."""
    return np.random.default_rng(seed).multinomial(size, p)


def zipf(exponent: float, atoms: int) -> np.ndarray:
    """Probabilities that fall as a power of the rank."""
    weights = np.arange(1.0, atoms + 1) ** -exponent
    return weights / weights.sum()


def two_sizes() -> np.ndarray:
    """Half of the population in 5,000 rare cells, half in 100 common ones."""
    return np.r_[np.full(5_000, 1e-4), np.full(100, 5e-3)]
