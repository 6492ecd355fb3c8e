"""The law behind a sample of counts, completed by the cells that the sample missed.

========  ====================================================================================
Symbol    Meaning
========  ====================================================================================
N, c      rows of the sample, and of them in one cell
p         probability of a cell in the population
b         b(j; N-1, p): probability that j of the other N-1 rows share the cell of a given row
F         mixing law: F(dp) is the share of the population that lives in cells of probability p
========  ====================================================================================

The sample shows F through b alone: for any numbers a(j)

    E (1/N) sum_k c_k a(c_k - 1)  =  int sum_j a(j) b(j; N-1, p) F(dp),

exactly, whatever the cells are (the left side looks up, for each row, how many others share its
cell).  So F is a probability measure to be deconvolved, and the number of cells, seen or not,
never enters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, contiguous
from mialeak._kernels import binomial
from mialeak.tables._interior_point import step_length

__all__ = [
    "LARGEST_NODE",
    "NODE_STEP",
    "CompletedLaw",
    "binomial_pmf",
    "complete",
    "largest_count",
    "leakage_at",
    "scaled_nodes",
]

#: Cells seen at most this often are light: the law of their probabilities is fitted.  Heavier
#: ones have a probability known to 13 % or better, and count each for itself.
LIGHT = 64
#: Largest N p of a node on which bounds are checked: such a cell is light once in 300 samples.
LARGEST_NODE = 90.0
#: Distance of the nodes in sqrt(N p).  A count's own spread is 1/2 on that scale.
NODE_STEP = 0.1
#: Fitted nodes stay this far below LIGHT, so that few of their cells are counted as heavy.
_HEAVY_GAP = 8
#: Light counts are pooled from these on (the last goes up to LARGEST_NODE, for small samples).
_POOLS = np.r_[1:13, 14, 16, 18, 21, 24, 28, 32, 37, 42, 48, 54, 61, 69, 78, 88]
#: Weight of the log-barrier that shrinks the fitted mixture towards uniform, in pseudo-cells:
#: 0.03 a node, 2 to 3 in total.  Maximum likelihood alone puts all mass on a handful of nodes,
#: which suits uniform laws only; with ten times the weight these lose more than smooth laws gain.
_BARRIER = 0.03
#: Newton steps of the fit (ten are usual), and as in ``_interior_point``.
_STEPS, _FRACTION_TO_BOUNDARY, _CENTERING = 60, 0.9, 0.1


@dataclass(frozen=True)
class CompletedLaw:
    """Counts of a sample by size, and the mixing law fitted to the light ones.

    Attributes
    ----------
    rows : int
        N.
    sizes, cells : int arrays
        The distinct positive counts, rising, and how many cells have each.
    nodes, shares : float arrays
        Probabilities, rising, and the share of the population in light cells of each.
    """

    rows: int
    sizes: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    nodes: FloatArray
    shares: FloatArray

    @property
    def light(self) -> int:
        """Largest count of a light cell."""
        return _largest_light(self.rows)

    @property
    def heavy(self) -> npt.NDArray[np.bool_]:
        """Which of `sizes` are those of heavy cells."""
        return self.sizes > self.light

    @cached_property
    def pmf(self) -> FloatArray:
        """Probability that j = 0, 1, ... other rows share a cell (rows), at each node (columns).

        As many rows as nodes up to LARGEST_NODE need.
        """
        count = min(largest_count(LARGEST_NODE), self.rows)
        return binomial_pmf(count, self.rows - 1, self.nodes)


def largest_count(expected: float) -> int:
    """Counts that matter in a cell that expects so many rows: 8 standard deviations above."""
    return int(expected + 8 * math.sqrt(expected) + 10)


def leakage_at(p: FloatArray, n: int, gamma: float) -> FloatArray:
    """Leakage of a target of probability p in a release of n rows; 1 in the limit p = 0.

    With B ~ Binomial(n, p), E(B - gamma n p)+ / (n p), or for gamma < 1 its mirror image
    E(gamma n p - B)+ / (gamma n p).  It falls with p: thinning B by q/p gives the count of a cell
    of probability q < p, and E(thinned B / (n q) | B) = B / (n p), so B / (n p) is smaller in
    convex order than its like at q.
    """
    atoms = np.clip(np.asarray(p, np.float64), 0.0, 1.0)
    out = np.empty(atoms.size)
    bad = binomial.leakage_atoms(contiguous(atoms.ravel()), float(n), gamma, 1.0, out)
    if bad >= 0:
        raise ArithmeticError(f"a fitted probability is {atoms.ravel()[bad]!r}")
    return out.reshape(atoms.shape)


def binomial_pmf(count: int, n: int, p: FloatArray) -> FloatArray:
    """Probabilities of 0..count-1 successes (rows) in n trials of probability p (columns).

    All columns share the coefficients, whose logarithms are a running sum: no factorials, and one
    exponential an element.
    """
    j = np.arange(count, dtype=np.float64)
    log_choose = np.r_[0.0, np.cumsum(np.log((n - j[:-1]) / (j[:-1] + 1)))]
    # Finite at p = 0 and 1, where a zeroth power must be 1.
    log_p = np.log(np.maximum(p, 1e-300))
    log_q = np.where(p < 1, np.log1p(-np.minimum(p, 1 - 2**-53)), -1e3)
    log_pmf = np.multiply.outer(j, log_p - log_q)
    log_pmf += n * log_q
    log_pmf += log_choose[:, None]
    return np.asarray(np.exp(log_pmf, out=log_pmf))


def scaled_nodes(largest: float, step: float = NODE_STEP) -> FloatArray:
    """Values of N p at the nodes: even steps of the square root, from half a step to `largest`."""
    steps = np.arange(1, math.floor(math.sqrt(largest) / step) + 1)
    return np.union1d((np.r_[0.5, steps] * step) ** 2, largest)


def complete(counts: npt.NDArray[np.int64]) -> CompletedLaw:
    """Fit the mixing law of a sample: nonparametric maximum likelihood on a grid.

    The number of cells seen c times is Poisson with mean ``int (N / c) b(c-1; N-1, p) F(dp)``, all
    but independently of the others while cells are light.
    """
    rows = int(counts.sum())
    sizes, cells = _tally(counts)
    light = _largest_light(rows)
    scaled = scaled_nodes(light - _HEAVY_GAP if light < rows else rows)
    nodes = scaled / rows

    count = np.arange(1, light + 1)
    expected = binomial_pmf(light, rows - 1, nodes) * (rows / count)[:, None]
    seen = np.zeros(light)
    seen[sizes[sizes <= light] - 1] = cells[sizes <= light]
    pools = _POOLS[np.less_equal(_POOLS, light)] - 1
    shares = _most_likely(np.add.reduceat(seen, pools), np.add.reduceat(expected, pools, axis=0))
    return CompletedLaw(rows, sizes, cells, nodes, shares)


def _largest_light(rows: int) -> int:
    return rows if rows <= LARGEST_NODE else LIGHT


def _tally(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct positive counts and how often each occurs, without sorting all counts."""
    small = counts <= LARGEST_NODE
    times = np.bincount(counts[small], minlength=1)
    times[0] = 0
    sizes = np.flatnonzero(times)
    heavy, heavy_times = np.unique(counts[~small], return_counts=True)
    return np.r_[sizes, heavy], np.r_[times[sizes], heavy_times]


def _most_likely(seen: FloatArray, expected: FloatArray) -> FloatArray:
    """Maximise ``sum seen log(expected @ F) - sum expected @ F + pull * sum log F`` over F > 0.

    Primal-dual Newton steps, the linear systems as large as there are pools of counts.
    """
    total = expected.sum(axis=0)
    diagonal = np.arange(len(seen))
    root = np.sqrt(seen)
    shares = np.full(len(total), max(float(seen.sum()), 1.0) / total.sum())
    dual = total.copy()
    for _ in range(_STEPS):
        fitted = expected @ shares
        gradient = total - (seen / fitted) @ expected
        gap = float(shares @ dual) / len(total)
        target = max(_BARRIER, _CENTERING * gap)
        scale = shares / dual
        rank = expected * (root / fitted)[:, None]
        system = (rank * scale) @ rank.T
        system[diagonal, diagonal] += 1.0
        free = scale * (target / shares - gradient)
        step = free - scale * (np.linalg.solve(system, rank @ free) @ rank)
        dual_step = target / shares - dual - step / scale
        alpha_primal = step_length(shares, step, _FRACTION_TO_BOUNDARY)
        alpha_dual = step_length(dual, dual_step, _FRACTION_TO_BOUNDARY)
        shares = shares + alpha_primal * step
        dual = dual + alpha_dual * dual_step
        if (
            target == _BARRIER
            and min(alpha_primal, alpha_dual) == 1.0
            and abs(gap - _BARRIER) < 0.5 * _BARRIER
        ):
            break
    return shares
