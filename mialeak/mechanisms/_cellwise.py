"""Leakage of mechanisms that treat each cell on its own, by signed measures.

A signed measure is the law of what is released "in", less gamma times that "out".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from mialeak._arrays import FloatArray, unsupported
from mialeak._kernels import enumeration
from mialeak.populations import Register
from mialeak.special import binom_logpmf, hypergeom_logpmf

if TYPE_CHECKING:
    from mialeak.mechanisms._builtin import CellMechanism, IntArray

__all__ = [
    "joint_leakage",
    "joint_size",
    "joint_terms",
    "leaked",
    "poisson_pmf",
    "register_cell_terms",
    "target_cell_leakage",
    "target_cell_terms",
    "total",
    "window",
]

#: Counts of cells worked on at once, and outcomes that noise makes of them: 32 MB.
_BLOCK, _MOST_OUTCOMES = 2**18, 2**22
#: A single cell's window at most: 1e8 counts, for cells that expect 2.5e13 rows.
_WIDEST = 2**27
#: A Poisson or binomial count is outside its mean +- (WIDTH sqrt(mean) + MORE) with probability
#: below 1e-20, by Bernstein's inequality.
_WIDTH, _MORE = 9.7, 31.0


# ---- signed measures ----


def leaked(measure: FloatArray, gamma: float) -> FloatArray:
    """What each outcome contributes to the leakage, in positive terms."""
    if gamma >= 1.0:
        return np.maximum(measure, 0.0)
    return np.maximum(-measure, 0.0) / gamma


def total(terms: FloatArray) -> float:
    """Sum of an array, correctly rounded."""
    flat = np.ravel(terms)
    return math.fsum(flat[flat != 0.0].tolist())


def window(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and last count that matter to a Poisson or binomial count of this mean."""
    reach = _WIDTH * np.sqrt(mean) + _MORE
    return np.maximum(np.floor(mean - reach), 0.0), np.ceil(mean + reach)


def poisson_pmf(k: FloatArray, mean: FloatArray | float) -> FloatArray:
    """P(N = k), zero for negative k; broadcasts."""
    counts, means = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(mean, np.float64))
    possible = counts >= 0.0
    out = np.empty(counts.shape)
    enumeration.poisson_pmf(
        np.where(possible, counts, 0.0).ravel(), np.array(means).ravel(), out.reshape(-1)
    )
    return np.where(possible, out, 0.0)


# ---- the target's own cell ----


def target_cell_leakage(
    mechanism: CellMechanism | None, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> float:
    """Average leakage if the attacker sees the target's own cell only; None: the raw count.

    With a Poisson number of rows the other cells add nothing, and this is the whole leakage.
    """
    atoms, cells = np.unique(p[p > 0.0], return_counts=True)
    return total(target_cell_terms(mechanism, atoms, n, gamma, poisson=poisson) * cells)


def target_cell_terms(
    mechanism: CellMechanism | None, atoms: FloatArray, n: int, gamma: float, *, poisson: bool
) -> FloatArray:
    """The same for each of `atoms`, positive and rising, times its probability."""
    low, high = window(n * atoms)
    if not poisson:
        high = np.minimum(high, float(n))

    def measure(rows: slice, counts: FloatArray) -> FloatArray:
        # The mean is rounded once, for the probabilities and for the distances from it: what a law
        # with these probabilities leaks, and each is right to 2**-53.
        mean = n * atoms[rows, None]
        if poisson:
            chance = poisson_pmf(counts, mean)
        else:
            chance = np.exp(binom_logpmf(counts, float(n), atoms[rows, None]))
        return chance * ((counts - gamma * mean) / n)

    return _pushed_terms(mechanism, low, high, float(n), gamma, measure)


def register_cell_terms(
    mechanism: CellMechanism | None,
    sizes: IntArray,
    register: Register,
    n: int | None,
    gamma: float,
) -> FloatArray:
    """Leakage of a target in a register's cells of so many people each, by that cell alone.

    Of the people in a cell h are drawn.  "In" less gamma "out" of one of them is, with f = n/N or
    the rate, P(h) (h / (K f) - gamma (K - h) / (K (1 - f))) for a cell of K people.
    """
    people = sizes.astype(np.float64)
    rate = register.rate
    share = n / register.people if rate is None else rate  # type: ignore[operator]
    rows = float(n) if n is not None else share * register.people
    low, high = window(people * share)
    high = np.minimum(high, people)
    if n is not None:
        high = np.minimum(high, float(n))
        low = np.maximum(np.minimum(low, high), n - (register.people - people))

    def measure(block: slice, counts: FloatArray) -> FloatArray:
        cell = people[block, None]
        possible = counts <= cell
        h = np.where(possible, counts, 0.0)
        if rate is None:
            log = hypergeom_logpmf(h, float(register.people), cell, float(n or 0))
        else:
            log = binom_logpmf(h, cell, rate)
        score = h / (cell * share) - gamma * (cell - h) / (cell * (1.0 - share))
        return np.where(possible, np.exp(log) * score, 0.0)

    return _pushed_terms(mechanism, low, high, rows, gamma, measure)


def _pushed_terms(
    mechanism: CellMechanism | None,
    low: FloatArray,
    high: FloatArray,
    n: float,
    gamma: float,
    measure: Callable[[slice, FloatArray], FloatArray],
) -> FloatArray:
    """What is positive of each cell's measure over the counts from `low` to `high`, once shown."""
    if mechanism is not None:
        mechanism = mechanism._of_release(n)
    grain, phase = (1, 0) if mechanism is None else (mechanism.grain, mechanism.phase)
    first = ((low.astype(np.int64) - phase) // grain) * grain + phase
    widths = -(-(high.astype(np.int64) + 1 - first) // grain) * grain
    if widths.max() > _WIDEST:
        why = f"a cell has more than {_WIDEST:,} counts that matter"
        unsupported("The leakage of the mechanism", f"at n = {n:,.0f}", why, "Choose a smaller n")
    terms = np.empty(len(first))
    outcomes = widths if mechanism is None else mechanism._outcomes(first + widths, widths)
    for rows in _rows(widths, outcomes):
        width, start = int(widths[rows].max()), first[rows]
        counts = (start[:, None] + np.arange(width)).astype(np.float64)
        weighted = measure(rows, counts)
        seen = weighted if mechanism is None else mechanism.push(weighted, start)
        terms[rows] = leaked(seen, gamma).sum(axis=1)
    return terms


def _rows(widths: IntArray, outcomes: IntArray) -> Iterator[slice]:
    """Consecutive cells whose padded windows, and outcomes, make a block, or one cell."""
    start = 0
    while start < len(widths):
        size = max(1, min(_BLOCK // int(widths[start]), len(widths) - start))
        block = slice(start, start + size)
        while size > 1 and (
            size * int(widths[block].max()) > 2 * _BLOCK
            or size * int(outcomes[block].max()) > _MOST_OUTCOMES
        ):
            size //= 2
            block = slice(start, start + size)
        yield block
        start += size


# ---- all cells together, where they are few ----


def joint_size(mechanism: CellMechanism, cells: int, n: int, most: int) -> int:
    """Numbers that :func:`joint_leakage` holds at once; exact only up to `most`."""
    size = int((n + 1) * max(n + mechanism.grain, (n + 1) ** (cells - 1)))
    if size > most:
        return size
    outcomes = int(mechanism.outcome_law(np.arange(n + 1), n).shape[1])
    return max(size, int(outcomes**cells))


def joint_leakage(mechanism: CellMechanism, p: FloatArray, n: int, gamma: float) -> float:
    """Leakage for n rows, all cells seen: the measure over count vectors, pushed axis by axis."""
    counts = np.indices((n + 1,) * len(p), sparse=True)
    weight = np.where(sum(counts) == n, 1.0, 0.0)
    for share, count in zip(p, counts, strict=True):
        weight = weight * poisson_pmf(count.astype(np.float64), n * float(share))
    weight /= float(poisson_pmf(np.array([float(n)]), float(n))[0])
    scores = [count / n - gamma * share for share, count in zip(p, counts, strict=True)]
    return joint_terms(mechanism, weight, scores, n, gamma)


def joint_terms(
    mechanism: CellMechanism, weight: FloatArray, scores: list[FloatArray], n: int, gamma: float
) -> float:
    """What is positive of ``weight * score`` for each target, each axis shown as a cell is."""
    kernel = mechanism.outcome_law(np.arange(n + 1), n)
    terms = []
    for score in scores:
        measure = weight * score
        for _ in range(weight.ndim):  # the first axis becomes the last: all in turn
            measure = np.tensordot(measure, kernel, axes=(0, 0))
        terms.append(total(leaked(measure, gamma)))
    return math.fsum(terms)
