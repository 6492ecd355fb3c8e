"""The exact law of a released mean of bits, and counts of linked columns, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "BitMoments",
    "bit_outcomes",
    "moment_sums",
    "moment_wave",
    "ratio_atoms",
    "transfer_step",
    "transition_ratios",
]


def bit_outcomes(target: Any, p: Any, n: int, stride: float = 0.6) -> tuple[Any, Any]:
    """Probabilities and log ratios of every h-th count, h = `stride` standard deviations.

    Shape (d, m); counts within 8.8 standard deviations, for large and similar ``n p (1 - p)``.
    """
    from scipy.stats import binom

    p_target = np.where(np.asarray(target) == 1, p, 1.0 - np.asarray(p))
    spread = np.sqrt(n * p_target * (1.0 - p_target))
    step = np.maximum(np.floor(stride * spread), 1.0)[:, None]
    reach = int(np.ceil(8.8 * spread.max() / step.min()))
    k = np.rint(n * p_target)[:, None] + step * np.arange(-reach, reach + 1)
    weight = np.asarray(binom.pmf(k, n, p_target[:, None]))
    ratio = np.log(np.where(weight > 0.0, k, 1.0) / (n * p_target[:, None]))
    return weight / weight.sum(axis=1, keepdims=True), ratio


def moment_sums(weight: Any, ratio: Any, theta: float) -> tuple[float, float, float]:
    """K, K' and K'' at theta, for arrays (d, m) of probabilities and log ratios."""
    tilted = weight * np.exp(theta * ratio)
    total = tilted.sum(axis=1)
    mean = (tilted * ratio).sum(axis=1) / total
    variance = (tilted * (ratio - mean[:, None]) ** 2).sum(axis=1) / total
    return float(np.log(total).sum()), float(mean.sum()), float(variance.sum())


def moment_wave(weight: Any, ratio: Any, theta: float, t: Any) -> Any:
    """``e^(K(theta + it) - K(theta) - i t K'(theta))``."""
    tilted = weight * np.exp(theta * ratio)
    total = tilted.sum(axis=1, keepdims=True)
    away = ratio - (tilted * ratio).sum(axis=1, keepdims=True) / total
    return np.array([np.prod((tilted / total * np.exp(1j * x * away)).sum(axis=1)) for x in t])


class BitMoments:
    """The moment function of a mean of bits, with the interface of an inversion."""

    def __init__(self, target: Any, p: Any, n: int):
        self.weight, self.ratio = bit_outcomes(target, p, n)

    def local(self, theta: float) -> tuple[float, float, float]:
        """K, K' and sqrt K''."""
        k, first, second = moment_sums(self.weight, self.ratio, theta)
        return k, first, float(np.sqrt(second))

    def wave(self, theta: float, start: float, step: float, count: int) -> Any:
        """Normalised M on the line theta + it."""
        return moment_wave(self.weight, self.ratio, theta, start + step * np.arange(count))


def ratio_atoms(target: Any, p: Any, n: int) -> tuple[Any, Any, Any]:
    """Log ratio and probabilities out and in of all (n + 1)^d releases of bits."""
    from scipy.stats import binom

    ratio, out = np.zeros(1), np.ones(1)
    k = np.arange(n + 1)
    for z, share in zip(target, p, strict=True):
        p_target = share if z == 1 else 1.0 - share
        with np.errstate(divide="ignore"):
            ratio = np.add.outer(ratio, np.log(k / (n * p_target))).ravel()
        out = np.multiply.outer(out, binom.pmf(k, n, p_target)).ravel()
    return ratio, out, out * np.exp(ratio)


def transition(m: int, c: int, e: int, a: float, b: float) -> float:
    """P(e | c): Binomial(c, b) + Binomial(m - c, a)."""
    from scipy.stats import binom

    i = np.arange(c + 1)
    return float(binom.pmf(i, c, b) @ binom.pmf(e - i, m - c, a))


def transition_ratios(ploidy: int, m: int, counts: Any, after_zero: Any, after_one: Any) -> Any:
    """Ratios in against out of each step, shape ((ploidy + 1)^2, rows, steps)."""
    values = range(ploidy + 1)
    states = [(z, w) for z in values for w in values]
    out = np.zeros((len(states), len(counts), len(after_zero)))
    for t, row in enumerate(np.asarray(counts, int)):
        for j, (a, b) in enumerate(zip(after_zero, after_one, strict=True)):
            c, e = row[j], row[j + 1]
            whole = transition(m, c, e, a, b)
            for s, (z, w) in enumerate(states):
                if 0 <= c - z <= m - ploidy:
                    out[s, t, j] = transition(m - ploidy, c - z, e - w, a, b) / whole
    return out


def transfer_step(
    first: Any, weight: Any, ratio: Any, centre: float, t: Any, before: Any, padded: int
) -> Any:
    """The forward step at frequencies t of `before`, (rows, nodes), complex: (nodes, padded)."""
    after = np.zeros((len(t), padded), complex)
    for r, start in enumerate(first):
        wave = weight[r] * np.exp(1j * np.multiply.outer(t, ratio[r] - centre))
        after[:, start : start + weight.shape[1]] += before[r][:, None] * wave
    return after
