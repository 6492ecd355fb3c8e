"""Enumeration of count vectors by the literal formulas, and mechanisms on single counts.

Log-factorials in float64 have a relative error of n eps in each probability.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

__all__ = [
    "count_vectors",
    "cut_layer",
    "cut_path",
    "enumerate_kernel",
    "enumerate_labels",
    "geometric_blur",
    "mechanism_leakage",
    "poisson_pmf",
    "weights",
]


def poisson_pmf(k: Any, mean: Any) -> Any:
    """Twin of the kernel: SciPy's."""
    return stats.poisson.pmf(k, mean)


def count_vectors(n: int, cells: int) -> npt.NDArray[np.int64]:
    """All count vectors of n rows in the cells, in lexicographic order, by stars and bars."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), np.int64)
    bars = bars.reshape(-1, cells - 1)
    return np.diff(bars, axis=1, prepend=-1, append=n + cells - 1) - 1


def weights(counts: Any, p: Any) -> Any:
    """Multinomial probabilities."""
    counts = np.asarray(counts)
    logs = special.xlogy(counts, p) - special.gammaln(counts + 1)
    return np.exp(special.gammaln(counts[0].sum() + 1) + logs.sum(axis=1))


def enumerate_labels(counts: Any, weight: Any, offset: Any, labels: Any, outcomes: int) -> Any:
    """Twin of the kernel: one weighted histogram of the labels per cell."""
    x = counts - offset
    columns = [np.bincount(labels, weight * column, outcomes) for column in x.T]
    return np.stack(columns, axis=1)


def enumerate_kernel(counts: Any, weight: Any, offset: Any, kernel: Any) -> Any:
    """Twin of the kernel: one product of matrices."""
    return np.asarray(kernel).T @ (weight[:, None] * (counts - offset))


def mechanism_leakage(labels: Any, counts: Any, p: Any, gamma: float = 1.0) -> float:
    """Lemma 5.2 of [AGP23] as printed, for one label per count vector."""
    p, n = np.asarray(p), counts[0].sum()
    sums = enumerate_labels(counts, weights(counts, p), gamma * n * p, labels, labels.max() + 1)
    inner = np.abs(sums).sum() / n / (2 * gamma) - abs(1 - 1 / gamma) / 2
    return float(max(1.0, gamma) * inner)


def geometric_blur(alpha: float, values: Any) -> Any:
    """Twin of the kernel: a matrix of noise, with the tail mass added to the ends."""
    width = values.shape[1]
    place = np.arange(width)
    noise = (1 - alpha) / (1 + alpha) * alpha ** np.abs(place[:, None] - place)
    noise[:, 0], noise[:, -1] = alpha**place / (1 + alpha), alpha ** place[::-1] / (1 + alpha)
    return values @ noise


def cut_layer(groups: int, cost: Any, before: Any) -> tuple[Any, Any]:
    """Twin of the kernel: the whole matrix, masked."""
    j, i = np.indices(cost.shape)
    table = np.where((i < j) & (i >= groups - 1), before + cost, np.inf)
    return table.min(axis=1), table.argmin(axis=1)


def cut_path(cumulative: Any, n: int, reward: float) -> tuple[Any, Any]:
    """Twin of the kernel: all cuts are evaluated."""
    x = np.asarray(cumulative)
    cost, last_cut = np.zeros(len(x)), np.zeros(len(x), np.int64)
    for j in range(1, len(x)):
        mass = x[j] - x[:j]
        m = np.floor(n * mass)
        group = mass * (1 - mass) * stats.binom.pmf(m, n - 1, mass)
        values = cost[:j] + group - reward
        last_cut[j] = j - 1 - np.argmin(values[::-1])
        cost[j] = values.min()
    return cost, last_cut
