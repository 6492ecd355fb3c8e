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

from mialeak._arrays import FloatArray
from mialeak.tables._interior_point import step_length
from mialeak.tables._sampling import ENDLESS, Sampling

__all__ = [
    "LARGEST_NODE",
    "NODE_STEP",
    "CompletedLaw",
    "complete",
    "largest_count",
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
#: Where the variance of counts is below this share of its value for independent rows, each count
#: has a node of its own: between the others there may be none at which it is possible.
_SHARP = 0.5
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
    sampling : Sampling
        How the rows were drawn.
    """

    rows: int
    sizes: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    nodes: FloatArray
    shares: FloatArray
    sampling: Sampling = ENDLESS

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
        return self.sampling.pmf(count, self.rows, self.nodes)


def largest_count(expected: float) -> int:
    """Counts that matter in a cell that expects so many rows: 8 standard deviations above."""
    return int(expected + 8 * math.sqrt(expected) + 10)


def scaled_nodes(largest: float, step: float = NODE_STEP) -> FloatArray:
    """Values of N p at the nodes: even steps of the square root, from half a step to `largest`."""
    steps = np.arange(1, math.floor(math.sqrt(largest) / step) + 1)
    return np.union1d((np.r_[0.5, steps] * step) ** 2, largest)


def complete(counts: npt.NDArray[np.int64], sampling: Sampling = ENDLESS) -> CompletedLaw:
    """Fit the mixing law of a sample: nonparametric maximum likelihood on a grid.

    The number of cells seen c times is Poisson with mean ``int (N / c) b(c-1; N-1, p) F(dp)``, all
    but independently of the others while cells are light; without replacement that mean has the
    hypergeometric law in place of b.
    """
    rows = int(counts.sum())
    sizes, cells = _tally(counts)
    light = _largest_light(rows)
    count = np.arange(1, light + 1)
    gap = _HEAVY_GAP * math.sqrt(sampling.shrinkage(rows))  # in standard deviations of the count
    scaled = scaled_nodes(light - gap if light < rows else rows)
    if sampling.shrinkage(rows) < _SHARP:
        scaled = np.union1d(scaled, count[count <= scaled[-1] + 1])
    nodes = sampling.possible(scaled / rows)

    expected = sampling.pmf(light, rows, nodes) * (rows / count)[:, None]
    seen = np.zeros(light)
    seen[sizes[sizes <= light] - 1] = cells[sizes <= light]
    pools = _POOLS[np.less_equal(_POOLS, light)] - 1
    expected = np.add.reduceat(expected, pools, axis=0)
    possible = expected.any(axis=1)  # without replacement a count may be that of no node
    shares = _most_likely(np.add.reduceat(seen, pools)[possible], expected[possible])
    return CompletedLaw(rows, sizes, cells, nodes, shares, sampling)


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
