"""Released counts of linked columns: ratios of transitions, and a forward recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

__all__ = ["transfer_step", "transition_ratios"]


def transition(m: int, c: int, e: int, a: float, b: float) -> float:
    """P(e | c): Binomial(c, b) + Binomial(m - c, a)."""
    i = np.arange(c + 1)
    return float(stats.binom.pmf(i, c, b) @ stats.binom.pmf(e - i, m - c, a))


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
