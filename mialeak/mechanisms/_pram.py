"""Post-randomisation: rows are moved to other cells before they are counted.

Rows drawn independently are independent after each was changed by itself, with the law q = p M.
The target, changed from cell k to cell j with probability M_kj, is in the table or not: for the
shown counts C the likelihood ratio is ``sum_j (M_kj / q_j) C_j / n``.  Cells of the same weight
``M_kj / q_j`` are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MASS_TOLERANCE,
    FloatArray,
    as_counts,
    as_floats,
    invalid,
    require_within,
)
from mialeak._blocks import as_rng
from mialeak.mechanisms._cellwise import (
    leaked,
    poisson_pmf,
    target_cell_leakage,
    target_cell_terms,
    total,
    window,
)

__all__ = ["Pram", "pram_leakage"]

#: Count vectors of one target, and of all, that are enumerated.
_MOST_VECTORS, _ALL_VECTORS = 2**20, 2**24


@dataclass(frozen=True, eq=False)
class Pram:
    """Post-randomisation: each row moves to another cell with given probabilities.

    Parameters
    ----------
    matrix : array_like, shape (K, K)
        Row k holds the probabilities with which a row of cell k is counted in each cell.

    Raises
    ------
    ValueError
        If it is not square, a probability is outside [0, 1], or a row does not sum to 1.

    Notes
    -----
    The target's row is moved as every other.  The law of the cells and the matrix are known to the
    attacker.

    Examples
    --------
    Randomised response on a bit that one person in ten has:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Pram
    >>> for keep in (1.0, 0.9, 0.75):
    ...     pram = Pram([[keep, 1 - keep], [1 - keep, keep]])
    ...     print(f"{float(mechanism_leakage(pram, [0.9, 0.1], 50)):.4f}")
    0.0333
    0.0209
    0.0110
    """

    matrix: Any

    def __post_init__(self) -> None:
        matrix = as_floats(self.matrix, "matrix", ndim=2)
        if matrix.shape[0] != matrix.shape[1] or not matrix.size:
            invalid("matrix", f"be square; its shape is {matrix.shape}")
        require_within(matrix, 0.0, 1.0, "matrix", "hold probabilities between 0 and 1")
        mass = matrix.sum(axis=1)
        if (np.abs(mass - 1.0) > MASS_TOLERANCE).any():
            at = int(np.argmax(np.abs(mass - 1.0) > MASS_TOLERANCE))
            rule = "have rows that sum to 1 within 1e-9"
            invalid("matrix", f"{rule}; the sum is {mass[at]!s}", index=at)
        object.__setattr__(self, "matrix", matrix / mass[:, None])

    def _shown(self, p: FloatArray) -> FloatArray:
        """The law q of a counted row."""
        if len(p) != len(self.matrix):
            rule = f"have a row for each of the {len(p):,} cells; it has {len(self.matrix):,}"
            invalid("matrix", rule)
        return np.asarray(p @ self.matrix)

    def _ratios(self, p: FloatArray) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """For a target of each cell the distinct weights M_kj / q_j, and the mass of each."""
        shown = self._shown(p)
        reached = shown > 0.0
        for k in np.flatnonzero(p > 0.0).tolist():
            values, place = np.unique(self.matrix[k, reached] / shown[reached], return_inverse=True)
            yield k, values, np.asarray(np.bincount(place, shown[reached]), np.float64)

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """Counts of the moved rows.

        Parameters
        ----------
        counts : array_like of int, shape (K,)
        rng : None, int or numpy.random.Generator, optional

        Returns
        -------
        ndarray of int64, shape (K,)
        """
        values, generator = as_counts(counts, "counts"), as_rng(rng)
        if values.shape != (len(self.matrix),):
            invalid("counts", f"have one for each row of the matrix; their shape is {values.shape}")
        return np.asarray(generator.multinomial(values, self.matrix).sum(axis=0), np.int64)


# ---- the leakage ----


def pram_leakage(
    mechanism: Pram, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    """Lower and upper bound of the average leakage, equal where it is exact; and the method."""
    shown = mechanism._shown(p)
    known = np.zeros(len(p))
    atoms = shown[shown > 0.0]
    known[shown > 0.0] = target_cell_terms(None, atoms, n, gamma, poisson=poisson) / atoms
    known = mechanism.matrix @ known
    budget, exact = _ALL_VECTORS, True
    lower, upper = np.zeros(len(p)), np.zeros(len(p))
    like: dict[tuple[bytes, bytes], tuple[float, bool]] = {}  # targets of the same groups
    for k, values, masses in mechanism._ratios(p):
        key = values.tobytes(), masses.tobytes()
        if key not in like:
            size = _size(values, masses, n, poisson=poisson)
            whole = size <= min(_MOST_VECTORS, budget)
            budget -= size if whole else 0
            ends = _enumerated if whole else _least
            like[key] = ends(values, masses, n, gamma, poisson=poisson), whole
        lower[k], whole = like[key]
        upper[k] = lower[k] if whole else known[k]
        exact = exact and whole
    low, high = (math.fsum((p * ends).tolist()) for ends in (lower, upper))
    if exact:
        return low, low, "enumeration"
    high = min(high, target_cell_leakage(None, p, n, gamma, poisson=poisson))
    return min(low, high), high, "groups of cells, and moved rows seen"


def _least(values: FloatArray, masses: FloatArray, n: int, gamma: float, *, poisson: bool) -> float:
    """What the count of cells leaks that a target comes to often, or of those of most weight."""
    cuts = {int(np.searchsorted(values, 1.0, side="right")), len(values) - 1} - {0, len(values)}
    least = 0.0
    for cut in cuts:
        mass = np.array([masses[:cut].sum(), masses[cut:].sum()])
        value = np.array([values[:cut] @ masses[:cut], values[cut:] @ masses[cut:]]) / mass
        if poisson:  # the count of the others is not looked at: its mean stands for it
            other = float(value[0] * mass[0])
            value, mass = value[1:], mass[1:]
        else:
            other = 0.0
        part = _enumerated(value, mass, n, gamma, poisson=poisson, other=other)
        least = max(least, part)
    return least


def _windows(values: FloatArray, masses: FloatArray, n: int, *, poisson: bool) -> list[Any]:
    """Counts of each group that matter; at a fixed number of rows of all but the largest."""
    low, high = window(n * masses)
    if not poisson:
        high = np.minimum(high, float(n))
        keep = np.arange(len(masses)) != int(np.argmax(masses))
    else:
        keep = values > 0.0
    return [np.arange(a, b + 1.0) for a, b in zip(low[keep], high[keep], strict=True)]


def _size(values: FloatArray, masses: FloatArray, n: int, *, poisson: bool) -> int:
    return math.prod(len(each) for each in _windows(values, masses, n, poisson=poisson))


def _enumerated(
    values: FloatArray,
    masses: FloatArray,
    n: int,
    gamma: float,
    *,
    poisson: bool,
    other: float = 0.0,
) -> float:
    """Leakage of a target of likelihood ratio ``other + sum values C / n``, over all counts C."""
    windows = _windows(values, masses, n, poisson=poisson)
    grids = np.meshgrid(*windows, indexing="ij", sparse=True) if windows else []
    if poisson:
        kept = values > 0.0
        weight, score = np.ones(()), np.zeros(())
    else:
        largest = int(np.argmax(masses))
        kept = np.arange(len(values)) != largest
        others = n - sum(grids, np.zeros(()))
        weight = poisson_pmf(others, n * masses[largest])
        weight = weight / float(poisson_pmf(np.array([float(n)]), float(n))[0])
        score = values[largest] * others
    for value, mass, grid in zip(values[kept], masses[kept], grids, strict=True):
        weight = weight * poisson_pmf(grid, n * mass)
        score = score + value * grid
    return total(leaked(weight * (score / n + other - gamma), gamma))
