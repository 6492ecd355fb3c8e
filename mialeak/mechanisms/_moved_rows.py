"""Rows that are moved before they are counted: post-randomisation, and swapping.

Post-randomisation.  Rows drawn independently are independent after each was changed by itself, with
the law q = p M.  The target, changed from cell k to cell j with probability M_kj, is in the table
or not: for the shown counts C the likelihood ratio is ``sum_j (M_kj / q_j) C_j / n``.  Cells of the
same weight ``M_kj / q_j`` are one.

Swapping.  Rows of a group exchange a value, all permutations being as likely: the counts by what
rows keep, and those by value, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MASS_TOLERANCE,
    FloatArray,
    as_counts,
    as_float,
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
from mialeak.mechanisms._closed_forms import raw_leakage
from mialeak.mechanisms._enumerate import count_vectors

__all__ = ["Pram", "Swap", "pram_leakage", "swap_leakage"]

#: Count vectors of one target, and of all, that are enumerated.
_MOST_VECTORS, _ALL_VECTORS = 2**20, 2**24
#: Choices of rows, in all count vectors, that are enumerated: seconds.
_MOST_CHOICES = 100_000
#: Larger numbers of choices than its exponential count as this.
_LARGEST_LOG = 700.0

Table = tuple[int, ...]


def _as_table(counts: Any, cells: int) -> npt.NDArray[np.int64]:
    """The counts of a table of so many cells."""
    table = as_counts(counts, "counts")
    if table.shape != (cells,):
        rule = f"have one for each of the {cells:,} cells; their shape is {table.shape}"
        invalid("counts", rule)
    return table


# ---- post-randomisation ----


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
        values, generator = _as_table(counts, len(self.matrix)), as_rng(rng)
        return np.asarray(generator.multinomial(values, self.matrix).sum(axis=0), np.int64)


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


# ---- swapping ----


@dataclass(frozen=True)
class Swap:
    """Swapping: each row is chosen with a probability, and chosen rows exchange a value.

    Cells are pairs of what a row keeps, such as its age, and of the value that it exchanges, such
    as its place.  The values of the chosen rows of a group are dealt out among them, all
    permutations being as likely.

    Parameters
    ----------
    rate : float
        Probability that a row is chosen, from 0 to 1.
    by : sequence of tuples, length K
        For each cell what a row of it keeps and the value that it exchanges, ``(kept, value)``; or,
        if only rows of one group exchange, ``(group, kept, value)``.

    Raises
    ------
    ValueError
        If the rate is outside [0, 1], or `by` lists a cell twice or lacks a pair of a kept part and
        a value of a group.
    TypeError
        If `by` does not hold tuples of two or three.

    Notes
    -----
    Swapping keeps the counts of each group by what is kept, and by the value: it leaks at least
    what these tables leak.  :func:`mechanism_leakage` enumerates few rows; otherwise it states
    these bounds, and that of the raw counts.

    Examples
    --------
    Two ages, two places.  However many rows exchange their places, the counts by age and those by
    place stay as they are:

    >>> from mialeak import max_leakage, mechanism_leakage
    >>> from mialeak.mechanisms import Swap
    >>> law, by = [0.4, 0.1, 0.3, 0.2], [("young", 1), ("young", 2), ("old", 1), ("old", 2)]
    >>> for rate in (0.0, 0.5, 1.0):
    ...     print(f"{float(mechanism_leakage(Swap(rate, by), law, 6)):.4f}")
    0.2773
    0.2468
    0.2331
    >>> print(f"{max_leakage([0.7, 0.3], 6):.4f} by place alone")
    0.1513 by place alone
    """

    rate: float
    by: Sequence[Any]
    random = True
    _groups: tuple[tuple[int, int, tuple[int, ...]], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= as_float(self.rate, "rate") <= 1.0:
            invalid("rate", "be between 0 and 1", value=self.rate)
        cells = [self._triple(place, each) for place, each in enumerate(self.by)]
        if len(set(cells)) < len(cells):
            twice = next(cell for cell in cells if cells.count(cell) > 1)
            invalid("by", "list each cell once", value=twice)
        place = {cell: k for k, cell in enumerate(cells)}
        groups = []
        for group in dict.fromkeys(cell[0] for cell in cells):
            kept = list(dict.fromkeys(cell[1] for cell in cells if cell[0] == group))
            values = list(dict.fromkeys(cell[2] for cell in cells if cell[0] == group))
            for pair in product(kept, values):
                if (group, *pair) not in place:
                    rule = "have a cell for each kept part and each value of a group"
                    remedy = "A row can come to it: list it, with probability 0"
                    invalid("by", f"{rule}; it lacks {pair!r}", remedy=remedy)
            of_group = tuple(place[group, one, value] for one in kept for value in values)
            groups.append((len(kept), len(values), of_group))
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "_groups", tuple(groups))

    @staticmethod
    def _triple(place: int, cell: Any) -> tuple[Any, Any, Any]:
        if not isinstance(cell, tuple) or len(cell) not in (2, 3):
            rule = "hold tuples (kept, value) or (group, kept, value)"
            invalid("by", rule, index=place, value=cell, error=TypeError)
        return cell if len(cell) == 3 else (None, *cell)

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """Counts of the rows after they were swapped.

        Parameters
        ----------
        counts : array_like of int, shape (K,)
        rng : None, int or numpy.random.Generator, optional

        Returns
        -------
        ndarray of int64, shape (K,)
        """
        values, generator = _as_table(counts, len(self.by)), as_rng(rng)
        out = values.copy()
        chosen = generator.binomial(values, self.rate)
        for _, width, cells in self._groups:
            places = np.array(cells)
            part = chosen[places].reshape(-1, width)
            kept = np.repeat(np.arange(len(part)), part.sum(axis=1))
            dealt = generator.permutation(np.repeat(np.arange(width), part.sum(axis=0)))
            swapped = np.bincount(kept * width + dealt, minlength=len(places))
            out[places] += swapped - chosen[places]
        return out


def swap_leakage(
    mechanism: Swap, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    """Lower and upper bound of the average leakage, equal where it is exact; and the method."""
    if len(mechanism.by) != len(p):
        rule = f"list each of the {len(p):,} cells"
        invalid("by", f"{rule}; it lists {len(mechanism.by):,}")
    if mechanism.rate == 0.0:
        raw = raw_leakage(p, n, gamma, poisson=poisson)
        return raw, raw, "closed form"
    if not poisson and _choices(n, len(p)) <= _MOST_CHOICES:
        exact = _all_exchanges(mechanism, p, n, gamma)
        return exact, exact, "enumeration"
    low = 0.0
    for axis in (0, 1):
        margin: list[float] = []
        for rows, width, cells in mechanism._groups:
            margin += p[list(cells)].reshape(rows, width).sum(axis=1 - axis).tolist()
        low = max(low, raw_leakage(np.array(margin), n, gamma, poisson=poisson))
    return (
        low,
        raw_leakage(p, n, gamma, poisson=poisson),
        "counts that swapping keeps, and raw counts",
    )


def _choices(n: int, cells: int) -> float:
    """Choices of rows in all count vectors, nearly: each cell chooses from 0 to all of its rows."""
    vectors = math.lgamma(n + cells) - math.lgamma(n + 1) - math.lgamma(cells)
    return math.exp(min(vectors + cells * math.log1p(n / cells), _LARGEST_LOG))


def _all_exchanges(mechanism: Swap, p: FloatArray, n: int, gamma: float) -> float:
    """Over all count vectors, all choices of rows, and all ways to deal their values out."""
    sums: dict[Table, FloatArray] = {}
    for counts in count_vectors(n, len(p)).tolist():
        orders = math.factorial(n)
        chance = 1.0
        for share, count in zip(p.tolist(), counts, strict=True):
            orders //= math.factorial(count)
            chance *= share**count
        score = orders * chance * (np.array(counts) / n - gamma * p)
        for shown, part in _swapped(mechanism, tuple(counts)):
            sums[shown] = sums.get(shown, 0.0) + part * score
    return total(leaked(np.array(list(sums.values())), gamma))


def _swapped(mechanism: Swap, counts: Table) -> Iterator[tuple[Table, float]]:
    """The tables that a table can become, not all different, and their probabilities."""
    law: dict[Table, float] = {counts: 1.0}
    for _, width, cells in mechanism._groups:
        after: dict[Table, float] = {}
        for table, chance in law.items():
            for chosen in product(*(range(table[k] + 1) for k in cells)):
                part = chance * math.prod(
                    math.comb(table[k], s)
                    * mechanism.rate**s
                    * (1.0 - mechanism.rate) ** (table[k] - s)
                    for k, s in zip(cells, chosen, strict=True)
                )
                for dealt, share in _dealt(chosen, width):
                    shown = list(table)
                    for k, s, d in zip(cells, chosen, dealt, strict=True):
                        shown[k] += d - s
                    after[tuple(shown)] = after.get(tuple(shown), 0.0) + part * share
        law = after
    yield from law.items()


@lru_cache(maxsize=2**14)
def _dealt(chosen: Table, width: int) -> tuple[tuple[Table, float], ...]:
    """Tables with the sums of this one by row and by column, and their probabilities."""
    rows = [chosen[k : k + width] for k in range(0, len(chosen), width)]
    sums, values = [sum(row) for row in rows], [sum(column) for column in zip(*rows, strict=True)]
    every = math.factorial(sum(sums))
    alike = math.prod(map(math.factorial, [*sums, *values]))
    return tuple(
        (table, alike / (every * math.prod(map(math.factorial, table))))
        for table in _tables(sums, values)
    )


def _tables(sums: list[int], values: list[int]) -> Iterator[Table]:
    """All tables of counts with these sums by row and by column."""
    if not sums:
        yield ()
        return
    for row in product(*(range(value + 1) for value in values)):
        if sum(row) == sums[0]:
            unused = [value - count for value, count in zip(values, row, strict=True)]
            for others in _tables(sums[1:], unused):
                yield (*row, *others)
