"""Unordered atoms merged greedily."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak.special import binom_mad

__all__ = ["greedy_groups", "group_cost"]

#: Atoms at most of which all pairs are looked at.
_MOST_PAIRS = 1024
#: Share of the budget that plain sums may fill: the rest is for their rounding.
_SLACK = 1.0 - 1e-13


def group_cost(mass: Any, n: int) -> Any:
    """What a group of this mass contributes to the leakage."""
    return binom_mad(n, np.clip(mass, 0.0, 1.0)) / (2.0 * n)


def greedy_groups(p: FloatArray, n: int, budget: float) -> npt.NDArray[np.int64]:
    """The better of two: one group of the largest atoms, and the best pair again and again."""
    found = [_one_group(p, n, budget)]
    if len(p) <= _MOST_PAIRS:
        found.append(_best_pairs(p, n, budget))
    return max(found, key=lambda labels: (labels.max(), _entropy(labels, p)))


def _entropy(labels: npt.NDArray[np.int64], p: FloatArray) -> float:
    mass = np.bincount(labels, p)
    mass = mass[mass > 0.0]
    return float(-(mass * np.log(mass)).sum())


def _numbered(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The same groups, numbered in the order of their first atoms."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[place]


def _one_group(p: FloatArray, n: int, budget: float) -> npt.NDArray[np.int64]:
    """The fewest of the largest atoms that fit as one group, beside single atoms."""
    order = np.argsort(-p, kind="stable")
    single = np.append(np.cumsum(group_cost(p[order], n)[::-1])[::-1], 0.0)
    leakage = single[1:] + group_cost(np.cumsum(p[order]), n)
    # Rounding aside, the last fits always: one group leaks nothing.
    leakage[-1] = 0.0
    size = int(np.argmax(leakage <= budget * _SLACK)) + 1
    labels = np.arange(len(p))
    labels[order[:size]] = order[0]
    return _numbered(labels)


def _best_pairs(p: FloatArray, n: int, budget: float) -> npt.NDArray[np.int64]:
    """Merge the pair that lowers the leakage most, until it fits."""
    mass, cost = p.copy(), group_cost(p, n)
    labels, alive = np.arange(len(p)), np.ones(len(p), bool)
    gain = cost[:, None] + cost - group_cost(mass[:, None] + mass, n)
    np.fill_diagonal(gain, -np.inf)
    partner = np.argmax(gain, axis=1)
    best = gain[np.arange(len(p)), partner]
    while cost[alive].sum() > budget * _SLACK and alive.sum() > 1:
        kept = int(np.argmax(best))
        gone = int(partner[kept])
        labels[labels == gone] = kept
        mass[kept] += mass[gone]
        cost[kept] = group_cost(mass[kept], n)
        alive[gone] = False
        gain[gone, :] = gain[:, gone] = best[gone] = -np.inf
        row = np.where(alive, cost + cost[kept] - group_cost(mass + mass[kept], n), -np.inf)
        row[kept] = -np.inf
        gain[kept, :] = gain[:, kept] = row
        better = row > best
        best[better], partner[better] = row[better], kept
        stale = np.flatnonzero(alive & ~better & ((partner == kept) | (partner == gone)))
        stale = np.union1d(stale, [kept])
        partner[stale] = np.argmax(gain[stale], axis=1)
        best[stale] = gain[stale, partner[stale]]
    return _numbered(labels)
