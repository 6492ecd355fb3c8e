"""The ptable that leaks least within given noise: a linear programme.

With P(s | c) the probability that a count c is shown as s, and m_k(c) what "in" less "out" gives to
the count c of a target in cell k, the leakage is ``sum_k p_k sum_s max(0, sum_c m_k(c) P(s | c))``:
a maximum of linear forms of P.  That a ptable is one, that its noise has mean 0, and its variance
are linear in P too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_float, invalid, unsupported
from mialeak.mechanisms._cell_keys import CellKey
from mialeak.mechanisms._cellwise import poisson_pmf, window
from mialeak.mechanisms._leakage import as_law

__all__ = ["optimal_ptable"]

#: Constraints of the programme at most: a minute or so.
_MOST_ROWS = 100_000
#: What the solver's constraints may be off by.
_TOLERANCE = 1e-7


def optimal_ptable(
    p: Any, n: int, *, noise: int, variance: float | None = None, counts: int | None = None
) -> CellKey:
    """The ptable that leaks least of those whose noise is bounded, of mean 0, and of some variance.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities of the cells.
    n : int
        Expected number of rows; it is Poisson, so that cells are independent.
    noise : int
        Largest change of a count, at least 1.
    variance : float, optional
        Largest variance of the noise of a count; by default any that `noise` allows.
    counts : int, optional
        Counts from this one on have the same noise; by default ``2 noise``, and at least `noise`,
        from which on noise of either sign is possible.

    Returns
    -------
    CellKey
        Its leakage is that of ``mechanism_leakage(keys, p, n, rows="poisson")``.

    Raises
    ------
    ValueError
        If a number is out of range, or there are too many different cells of too many rows.

    Notes
    -----
    A count of 0 stays 0, since noise of mean 0 would have to be negative at times.  A linear
    programme in P(s | c), solved by HiGHS (scipy) to 1e-7; cells of one probability are one.

    Examples
    --------
    Cells that expect one or three rows, counts changed by at most 2, with a variance of at most 1:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Histogram, optimal_ptable
    >>> law, n = [0.01] * 40 + [0.03] * 20, 100
    >>> keys = optimal_ptable(law, n, noise=2, variance=1.0)
    >>> for way in (Histogram(), keys):
    ...     print(f"{float(mechanism_leakage(way, law, n, rows='poisson')):.3f}")
    0.282
    0.251
    """
    law, rows = as_law(p), as_count(n, "n", least=1)
    most = as_count(noise, "noise", least=1, most=100)
    last = 2 * most if counts is None else as_count(counts, "counts", least=most, most=10_000)
    spread = math.inf if variance is None else as_float(variance, "variance")
    if not spread > 0.0:
        invalid("variance", "be above 0", value=variance)
    atoms, times = np.unique(law[law > 0.0], return_counts=True)
    programme = _Programme(most, last, spread)
    for atom, cells in zip((rows * atoms).tolist(), times.tolist(), strict=True):
        programme.add(atom, cells * atom / rows)
    table = programme.solve()
    names = np.arange(last + 1)[:, None], np.arange(-most, most + 1)
    i, v = (np.broadcast_to(each, table.shape).ravel() for each in names)
    kept = table.ravel() > 0.0
    return CellKey({"i": i[kept], "v": v[kept], "p": table.ravel()[kept]})


class _Programme:
    """Variables: P(c + v | c) for the counts c up to the last listed, then a part a shown count."""

    def __init__(self, noise: int, last: int, variance: float) -> None:
        self.noise, self.last, self.variance = noise, last, variance
        self.width = 2 * noise + 1
        self.listed = (last + 1) * self.width
        self.entries: list[tuple[Any, Any, FloatArray]] = []
        self.weights: list[float] = []

    def add(self, mean: float, weight: float) -> None:
        """The parts of a cell that expects `mean` rows: each shown count's excess of "in"."""
        low, high = (int(end[0]) for end in window(np.array([mean])))
        first, shown = max(low - self.noise, 0), high + self.noise
        if len(self.weights) + shown - first + 1 > _MOST_ROWS:
            case = f"for cells that expect {mean:,.0f} rows"
            why = f"it would have more than {_MOST_ROWS:,} constraints"
            remedy = "Leave out cells of many rows, which leak little, or round their probabilities"
            unsupported("The optimal ptable", case, why, remedy)
        counts = np.arange(low, high + 1)
        measure = poisson_pmf(counts.astype(np.float64), mean) * (counts / mean - 1.0)
        row = len(self.weights) - first
        shift = np.arange(-self.noise, self.noise + 1)
        target = counts[:, None] + shift
        column = np.minimum(counts, self.last)[:, None] * self.width + np.arange(self.width)
        value = np.broadcast_to(measure[:, None], target.shape)
        possible = target >= 0
        self.entries.append((target[possible] + row, column[possible], value[possible]))
        self.weights += [weight] * (shown - first + 1)

    def solve(self) -> FloatArray:
        """P, a row a count."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack, vstack

        parts = len(self.weights)
        row, column, value = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        forms = coo_array((value, (row, column)), shape=(parts, self.listed))
        slack = coo_array((-np.ones(parts), (np.arange(parts),) * 2), shape=(parts, parts))
        shift = np.tile(np.arange(-self.noise, self.noise + 1), self.last + 1)
        place = np.repeat(np.arange(self.last + 1), self.width)
        every = np.arange(self.listed)
        sums = [
            coo_array((moment, (place, every)), shape=(self.last + 1, self.listed + parts))
            for moment in (np.ones(self.listed), shift.astype(float), (shift * shift).astype(float))
        ]
        above, bound = [hstack([forms, slack])], [np.zeros(parts)]
        if math.isfinite(self.variance):
            above.append(sums[2])
            bound.append(np.full(self.last + 1, self.variance))
        negative = place + shift < 0
        high = np.concatenate([np.where(negative, 0.0, 1.0), np.full(parts, np.inf)])
        problem: dict[str, Any] = {
            "A_ub": vstack(above).tocsr(),
            "b_ub": np.concatenate(bound),
            "A_eq": vstack(sums[:2]).tocsr(),
            "b_eq": np.repeat([1.0, 0.0], self.last + 1),
            "bounds": np.column_stack([np.zeros(len(high)), high]),
        }
        cost = np.concatenate([np.zeros(self.listed), self.weights])
        solution = linprog(cost, **problem, method="highs")
        if solution.x is None:
            unsupported(
                "The optimal ptable", "for this law", f"the solver stopped: {solution.message}"
            )
        table = solution.x[: self.listed].reshape(self.last + 1, self.width)
        table = np.where(table > _TOLERANCE, table, 0.0)
        return np.asarray(table / table.sum(axis=1, keepdims=True))
