"""Leakage of a few people in a few cells, exactly: by all populations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray

__all__ = ["beyond_enumeration", "enumerated_leakage"]

IntArray = npt.NDArray[np.int64]

#: Populations that are gone through one by one: 0.2 s.
_MOST_POPULATIONS = 100_000
#: Rows, and cells but one, that both exceed this have over 2**40 populations.
_BOTH_ABOVE = 40


def beyond_enumeration(cells: int, n: int) -> bool:
    """Whether `n` rows fill `cells` cells in more than `_MOST_POPULATIONS` different ways."""
    if min(cells - 1, n) > _BOTH_ABOVE:
        return True
    return math.comb(n + cells - 1, n) > _MOST_POPULATIONS


def enumerated_leakage(
    shown: Sequence[Any], mass: npt.NDArray[Any], n: int, *, register: bool
) -> FloatArray:
    """Exact leakage of a target in each cell, by all populations.

    Parameters
    ----------
    shown : sequence of callable
        What is published of counts, ``(populations, cells)``: an integer array of as many rows.
    mass : (cells,) array
        Probabilities of the cells, or the people of a register in each of them.
    n : int
        Rows of the release.
    register : bool
        Whether the rows are drawn without replacement.

    Returns
    -------
    (cells,) ndarray
        ``E |E[c_k | shown] - n p_k|`` over ``2 n p_k``, with ``1 - n/N`` beside it for a register.
    """
    counts = _all_counts(len(mass), n)
    masses = mass.astype(np.float64)
    total = float(masses.sum())
    if register:
        counts = counts[(counts <= mass).all(axis=1)]
        chance = _log_choose(masses, counts).sum(axis=1) - _log_choose(np.array(total), n)
    else:
        logs = special.xlogy(counts, masses / total) - special.gammaln(counts + 1.0)
        chance = logs.sum(axis=1) + special.gammaln(n + 1.0)
    weight = np.exp(chance)
    seen = np.concatenate([np.asarray(each(counts)).reshape(len(counts), -1) for each in shown], 1)
    _, release = np.unique(seen, axis=0, return_inverse=True)
    release = release.reshape(-1)
    chances = np.bincount(release, weight)
    expected = n * masses / total
    leakage = np.empty(len(mass))
    for cell in range(len(mass)):
        mean = np.bincount(release, weight * counts[:, cell])
        leakage[cell] = np.abs(mean - expected[cell] * chances).sum() / (2.0 * expected[cell])
    if register:
        leakage /= 1.0 - n / total
    return np.clip(leakage, 0.0, 1.0)


def _all_counts(cells: int, n: int) -> IntArray:
    """Every vector of `cells` counts that sum to `n`."""
    vectors = np.zeros((1, 0), np.int64)
    remaining = np.array([n])
    for _ in range(cells - 1):
        repeats = remaining + 1
        first = np.repeat(np.cumsum(repeats) - repeats, repeats)
        counts = np.arange(repeats.sum()) - first
        vectors = np.column_stack([np.repeat(vectors, repeats, axis=0), counts])
        remaining = np.repeat(remaining, repeats) - counts
    return np.column_stack([vectors, remaining])


def _log_choose(total: FloatArray, part: Any) -> FloatArray:
    gammaln = special.gammaln
    return np.asarray(gammaln(total + 1.0) - gammaln(part + 1.0) - gammaln(total - part + 1.0))
