"""Membership games row by row, and alias tables in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

__all__ = [
    "alias_draws",
    "alias_words",
    "binomial_weights",
    "lattice_means",
    "play_bits",
]

_SHARE = 2**48


def play_bits(rng: np.random.Generator, target: Any, p: Any, n: int, rounds: int) -> Any:
    """The game of a fixed target as in [AB25] Algorithms 1 and 2: (releases, member).

    Every row of every round is drawn; on bits only.
    """
    releases, member = np.empty((rounds, np.size(p))), rng.random(rounds) < 0.5
    for t in range(rounds):
        rows = rng.binomial(1, p, (n, np.size(p)))
        if member[t]:
            rows[0] = target
        releases[t] = rows.mean(axis=0)
    return releases, member


def binomial_weights(trials: int, p: float, first: int, size: int) -> Any:
    """Twin of the kernel: probabilities by that of the mode, from SciPy."""
    mode = min(int((trials + 1) * p), trials)
    numbers = np.arange(first, first + size)
    return stats.binom.pmf(numbers, trials, p) / stats.binom.pmf(mode, trials, p)


def alias_words(weights: Any) -> Any:
    """Twin of the kernel: Vose's method with lists."""
    share = [float(w) / float(np.add.accumulate(weights)[-1]) * len(weights) for w in weights]
    words = [(_SHARE - 1) << 16 | i for i in range(len(share))]
    poor = [i for i, s in enumerate(share) if s < 1.0]
    rich = [i for i, s in enumerate(share) if s >= 1.0]
    while poor and rich:
        to, source = poor.pop(), rich[-1]
        words[to] = int(share[to] * _SHARE) << 16 | source
        share[source] = (share[source] + share[to]) - 1.0
        if share[source] < 1.0:
            poor.append(rich.pop())
    return np.array(words, np.uint64)


def alias_draws(bits: Any, words: Any, first: float) -> Any:
    """Twin of the kernel: Python's integers do not overflow."""
    drawn = []
    for bit in bits:
        column, fraction = divmod(int(bit) * len(words), 2**64)
        share, other = divmod(int(words[column]), 2**16)
        drawn.append(first + (column if fraction >> 16 < share else other))
    return np.array(drawn)


def lattice_means(sums: Any, least: Any, unit: Any, rows: float, place: Any, out: Any) -> None:
    """Twin of the kernel."""
    out[place] = least + unit * (np.transpose(sums) / rows)
