"""Rows of the benchmark for given mechanisms and for merging atoms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats
from speed_case import EPS, SpeedCase

from mialeak import datasets, discrete, mechanisms
from mialeak.reference import mechanisms as twins

__all__ = ["MECHANISM_CASES"]

#: Absolute errors of leakages, as documented, in eps.
_BOUND = 1e-12 / EPS


@cache
def labelled(size: int, cells: int) -> tuple[Any, ...]:
    """Labels for at least `size` count vectors, eight of them, and a law."""
    n = 1
    while math.comb(n + cells - 1, cells - 1) < size:
        n += 1
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 8, math.comb(n + cells - 1, cells - 1))
    return labels, rng.dirichlet(np.ones(cells)), n


def enumerated(labels: Any, p: Any, n: int) -> float:
    return float(mechanisms.mechanism_leakage(labels, p, n))


def twin_enumerated(labels: Any, p: Any, n: int) -> float:
    """One array expression over all count vectors, which are given, not counted."""
    return twins.mechanism_leakage(labels, mechanisms.count_vectors(n, len(p)), p)


def enumeration(cells: int, size: int, label: str) -> SpeedCase:
    setup = partial(labelled, cells=cells)

    def error(function: Callable[..., Any], points: int) -> float:
        arguments = setup(min(points, 20_000))
        return abs(function(*arguments) - twin_enumerated(*arguments)) / EPS

    return SpeedCase(
        name=f"`mechanism_leakage`, labels of {label}",
        size=size,
        quick_size=1000,
        setup=setup,
        ours=enumerated,
        rivals={"NumPy twin": twin_enumerated},
        error=error,
        bound=_BOUND,
    )


@cache
def adult(size: int) -> tuple[Any, ...]:
    """The law of Adult's 6,493 cells, and its rows."""
    columns = datasets.load_adult().columns
    names = ("age", "education", "marital_status", "race", "sex")
    codes = np.stack([np.unique(columns[name], return_inverse=True)[1] for name in names])
    _, counts = np.unique(codes, axis=1, return_counts=True)
    return counts / counts.sum(), int(counts.sum())


def noisy(p: Any, n: int) -> float:
    return float(mechanisms.mechanism_leakage(mechanisms.Geometric(1.0), p, n, rows="poisson"))


def scipy_noisy(p: Any, n: int) -> float:
    """Cell by cell: Poisson probabilities times a matrix of noise."""
    total = 0.0
    for share in p:
        mean = n * share
        j = np.arange(int(mean + 10 * np.sqrt(mean) + 40))
        measure = stats.poisson.pmf(j, mean) * (j / mean - 1.0)
        seen = twins.geometric_blur(math.exp(-1.0), measure[None])
        total += share * float(np.maximum(seen, 0.0).sum())
    return total


def noisy_error(function: Callable[..., Any], size: int) -> float:
    p, n = adult(size)
    few = p[:300] / p[:300].sum()
    return abs(function(few, n // 20) - scipy_noisy(few, n // 20)) / EPS


@cache
def hill(size: int) -> tuple[Any, ...]:
    """Ordered atoms, n, and half of what they leak."""
    x = np.arange(size)
    p = np.exp(-(((x - 0.35 * size) / (0.25 * size)) ** 2)) + 0.001
    p /= p.sum()
    return p, 10**5, 0.5 * float(discrete.max_leakage(p, 10**5))


def merged(p: Any, n: int, budget: float) -> int:
    return mechanisms.coarsen(p, n, budget, ordered=True).groups


def twin_merged(p: Any, n: int, budget: float) -> int:
    """Dynamic programming, a layer an array expression: groups only, not their entropy."""
    edges = np.append(0.0, np.cumsum(p))
    mass = np.clip(edges[:, None] - edges, 0.0, 1.0)
    cost = mass * (1 - mass) * stats.binom.pmf(np.floor(n * mass), n - 1, mass)
    before = np.full(len(edges), np.inf)
    before[0], groups = 0.0, 0
    while groups < len(p):
        before, _ = twins.cut_layer(groups + 1, cost, before)
        if before[-1] > budget * (1 + 1e-12):
            break
        groups += 1
    return groups


def merged_error(function: Callable[..., Any], size: int) -> float:
    arguments = hill(min(size, 100))
    return 0.0 if function(*arguments) == twin_merged(*arguments) else np.inf


MECHANISM_CASES = (
    enumeration(4, 1_373_701, "n = 200 rows in 4 cells"),
    enumeration(8, 2_629_575, "n = 24 rows in 8 cells"),
    SpeedCase(
        name="`mechanism_leakage(Geometric(1.0))`, Adult's 6,493 cells, Poisson rows",
        size=6493,
        quick_size=6493,
        setup=adult,
        ours=noisy,
        rivals={"SciPy, a cell at a time": scipy_noisy},
        error=noisy_error,
        bound=_BOUND,
        unit="call",
    ),
    SpeedCase(
        name="`coarsen`, 1000 ordered atoms",
        size=1000,
        quick_size=60,
        setup=hill,
        ours=merged,
        rivals={"NumPy twin, 150 atoms": twin_merged},
        error=merged_error,
        unit="call",
        rival_size=150,
    ),
)
