"""How a table's rows were drawn: from an infinite population, or from N people without replacement.

What an estimate needs of it is the law of the number of other rows that share the cell of a row,
given the cell's share p of the population, and the leakage of a target in that cell.  Of N people
K = N p are in the cell; between whole K both are taken to be linear, as nothing lies there.

The law behind a sample of counts is completed by the cells that the sample missed:

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgesv

from mialeak import special
from mialeak._arrays import FloatArray, as_count, contiguous, invalid, unsupported
from mialeak._kernels import binomial
from mialeak.tables._interior_point import step_length

__all__ = [
    "INFINITE",
    "LARGEST_NODE",
    "LIGHT",
    "NODE_STEP",
    "CompletedLaw",
    "Sampling",
    "as_sampling",
    "binomial_pmf",
    "complete",
    "largest_count",
    "leakage_at",
    "scaled_nodes",
]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: K closer to a whole number than this is that number: p is K/N rounded.
_WHOLE = 1e-6


@dataclass(frozen=True)
class Sampling:
    """How rows are drawn.

    Attributes
    ----------
    people : int or None
        N, from whom rows are drawn without replacement; None for an infinite population.
    """

    people: int | None = None

    def pmf(self, count: int, rows: int, p: FloatArray) -> FloatArray:
        """P(j of the other ``rows - 1`` rows share the cell), j < `count` (rows), p (columns)."""
        if self.people is None:
            return binomial_pmf(count, rows - 1, p)
        j = np.arange(float(count))[:, None]
        others = float(self.people - 1)

        def at(k: FloatArray) -> FloatArray:
            with np.errstate(under="ignore"):
                log = special.hypergeom_logpmf(j, others, k - 1.0, float(rows - 1))
                return np.asarray(np.exp(log))

        return self._between(p, at)

    def leakage(self, p: FloatArray, n: int, gamma: float = 1.0) -> FloatArray:
        """Leakage of a target in a cell of the share p, in a release of n rows.

        It falls with p.  For whole N p: from the sampled people of a cell those of a cell with one
        person more can be made, in both worlds alike, by drawing for that person.
        """
        if self.people is None:
            return leakage_at(p, n, gamma)
        people, share = float(self.people), n / self.people

        def at(k: FloatArray) -> FloatArray:
            mad = special.hypergeom_mad(people, k, float(n))
            return np.clip(np.asarray(mad) / (2.0 * k * share * (1.0 - share)), 0.0, 1.0)

        return self._between(p, at)

    def spread(self, counts: FloatArray, rows: int) -> FloatArray:
        """Standard deviation of the counts of heavy cells."""
        sampled = 0.0 if self.people is None else rows / self.people
        return np.asarray(np.sqrt(counts * (1 - counts / rows) * (1 - sampled)))

    def shrinkage(self, rows: int) -> float:
        """By how much variances of counts are less than those of independent rows."""
        return 1.0 if self.people is None else 1.0 - rows / self.people

    def possible(self, p: FloatArray) -> FloatArray:
        """Those of the shares p, rising, that a cell may have."""
        if self.people is None:
            return p
        sizes = np.unique(np.rint(p * self.people))
        return np.asarray(sizes[(sizes >= 1.0) & (sizes <= self.people)] / self.people)

    def share_range(
        self, sizes: FloatArray, rows: int, tail: float
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the largest K/N of cells with so many of the `rows`, for N people.

        By inverting hypergeometric tests: fewer people would show as many rows with a probability
        below `tail`, the one row that is asked about not counted, and more would show as few.
        """
        assert self.people is not None
        people, size = float(self.people), np.asarray(sizes, np.float64)

        def is_below(k: FloatArray) -> BoolArray:
            above = special.hypergeom_sf(size - 2.0, people - 1.0, k - 1.0, rows - 1.0)
            return np.asarray(above <= tail) & (size > 1.0)

        def is_above(k: FloatArray) -> BoolArray:
            at_most = special.hypergeom_sf(rows - size - 1.0, people, people - k, float(rows))
            return np.asarray(at_most <= tail)

        first, most = np.maximum(size, 1.0), people - (rows - size)
        least = np.where(is_below(first), _last(is_below, first, most) + 1.0, first)
        largest = _last(lambda k: ~is_above(k), first, most)
        largest = np.where(is_above(most), largest, most)
        return least / people, np.maximum(largest, least) / people

    def _between(self, p: FloatArray, at: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """A function of whole K, evaluated at K = N p by linear interpolation."""
        assert self.people is not None
        k = np.clip(np.asarray(p, np.float64) * self.people, 1.0, float(self.people))
        whole = np.rint(k)
        k = np.where(np.abs(k - whole) < _WHOLE, whole, k)
        low = np.floor(k)
        sizes, place = np.unique(np.concatenate([low, np.ceil(k)]), return_inverse=True)
        values = np.asarray(at(sizes))[..., place.ravel()]
        lower, upper = values[..., : k.size], values[..., k.size :]
        return np.asarray(lower + (k - low) * (upper - lower))


INFINITE = Sampling()


def as_sampling(population: Any, rows: int, n: int | None, gamma: float = 1.0) -> Sampling:
    """How `rows` rows, and the `n` of the release, are drawn from `population` people."""
    if population is None:
        return INFINITE
    people = as_count(population, "population", least=1)
    if gamma != 1.0:
        why = "bounds of its leakage were made for gamma = 1"
        unsupported("population", "with this gamma", why, "max_leakage of a Register has any")
    drawn = rows if n is None else max(rows, n)
    if people <= drawn:
        rule = f"be above the {drawn:,} rows that are drawn from these people"
        remedy = "A sample of everyone leaves nobody to be out of it"
        invalid("population", rule, value=people, remedy=remedy)
    return Sampling(people)


def _last(
    holds: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray
) -> FloatArray:
    """The last whole number from `low` on at which `holds`, which it does up to there alone."""
    low, high = low.copy(), high.copy()
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        inside = holds(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


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
    return np.minimum(out, 1.0).reshape(atoms.shape)


def binomial_pmf(count: int, n: int, p: FloatArray) -> FloatArray:
    """Probabilities of 0..count-1 successes (rows) in n trials of probability p (columns).

    All columns share the coefficients, whose logarithms are a running sum: no factorials, and one
    exponential an element.
    """
    j = np.arange(count, dtype=np.float64)
    longer = min(_CHOSEN * math.ceil(count / _CHOSEN), n + 1)  # the sums of the first are the same
    log_choose = _log_choose(max(longer, count), n)[:count]
    # Finite at p = 0 and 1, where a zeroth power must be 1.
    log_p = np.log(np.maximum(p, 1e-300))
    log_q = np.where(p < 1, np.log1p(-np.minimum(p, 1 - 2**-53)), -1e3)
    log_pmf = np.multiply.outer(j, log_p - log_q)
    log_pmf += n * log_q
    log_pmf += log_choose[:, None]
    return np.asarray(np.exp(log_pmf, out=log_pmf))


#: The logarithms of binomial coefficients are kept in so many lengths.
_CHOSEN = 64


@lru_cache(maxsize=16)
def _log_choose(count: int, n: int) -> FloatArray:
    """Logarithms of "n choose j" for j < count."""
    j = np.arange(count - 1, dtype=np.float64)
    return np.append(0.0, np.cumsum(np.log((n - j) / (j + 1))))


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
    sizes: IntArray
    cells: IntArray
    nodes: FloatArray
    shares: FloatArray
    sampling: Sampling = INFINITE

    @property
    def light(self) -> int:
        """Largest count of a light cell."""
        return _largest_light(self.rows)

    @property
    def heavy(self) -> npt.NDArray[np.bool_]:
        """Which of `sizes` are those of heavy cells."""
        return self.sizes > self.light

    @property
    def pmf(self) -> FloatArray:
        """Probability that j = 0, 1, ... other rows share a cell (rows), at each node (columns).

        As many rows as nodes up to LARGEST_NODE need.
        """
        return _pmf(self.rows, self.sampling)


def largest_count(expected: float) -> int:
    """Counts that matter in a cell that expects so many rows: 8 standard deviations above."""
    return int(expected + 8 * math.sqrt(expected) + 10)


def scaled_nodes(largest: float, step: float = NODE_STEP) -> FloatArray:
    """Values of N p at the nodes: even steps of the square root, from half a step to `largest`."""
    steps = np.arange(1, math.floor(math.sqrt(largest) / step) + 1)
    return np.union1d((np.append(0.5, steps) * step) ** 2, largest)


# A law is fitted to each table of the same people: nodes depend on the number of rows alone.
@lru_cache(maxsize=8)
def _nodes(rows: int, sampling: Sampling) -> tuple[FloatArray, IntArray, FloatArray]:
    """The nodes for samples of so many rows; the pools; cells expected in a pool, at a node."""
    light = _largest_light(rows)
    count = np.arange(1, light + 1)
    gap = _HEAVY_GAP * math.sqrt(sampling.shrinkage(rows))  # in standard deviations of the count
    scaled = scaled_nodes(light - gap if light < rows else rows)
    if sampling.shrinkage(rows) < _SHARP:
        scaled = np.union1d(scaled, count[count <= scaled[-1] + 1])
    nodes = sampling.possible(scaled / rows)
    expected = sampling.pmf(light, rows, nodes) * (rows / count)[:, None]
    pools = _POOLS[np.less_equal(_POOLS, light)] - 1
    return nodes, pools, np.add.reduceat(expected, pools, axis=0)


@lru_cache(maxsize=8)
def _pmf(rows: int, sampling: Sampling) -> FloatArray:
    count = min(largest_count(LARGEST_NODE), rows)
    return sampling.pmf(count, rows, _nodes(rows, sampling)[0])


def complete(counts: IntArray, sampling: Sampling = INFINITE) -> CompletedLaw:
    """Fit the mixing law of a sample: nonparametric maximum likelihood on a grid.

    The number of cells seen c times is Poisson with mean ``int (N / c) b(c-1; N-1, p) F(dp)``, all
    but independently of the others while cells are light; without replacement that mean has the
    hypergeometric law in place of b.
    """
    rows = int(counts.sum())
    sizes, cells = _tally(counts)
    nodes, pools, expected = _nodes(rows, sampling)
    light = _largest_light(rows)
    seen = np.zeros(light)
    seen[sizes[sizes <= light] - 1] = cells[sizes <= light]
    possible = expected.any(axis=1)  # without replacement a count may be that of no node
    shares = _most_likely(np.add.reduceat(seen, pools)[possible], expected[possible])
    return CompletedLaw(rows, sizes, cells, nodes, shares, sampling)


def _largest_light(rows: int) -> int:
    return rows if rows <= LARGEST_NODE else LIGHT


def _tally(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct positive counts and how often each occurs, without sorting all counts."""
    small = counts <= LARGEST_NODE
    times = np.bincount(counts[small], minlength=1)
    times[0] = 0
    sizes = np.flatnonzero(times)
    heavy, heavy_times = np.unique(counts[~small], return_counts=True)
    return np.append(sizes, heavy), np.append(times[sizes], heavy_times)


def _most_likely(seen: FloatArray, expected: FloatArray) -> FloatArray:
    """Maximise ``sum seen log(expected @ F) - sum expected @ F + pull * sum log F`` over F > 0.

    Primal-dual Newton steps, the linear systems as large as there are pools of counts.
    """
    total = expected.sum(axis=0)
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
        system.ravel()[:: len(seen) + 1] += 1.0
        central = target / shares
        free = scale * (central - gradient)
        step = free - scale * (dgesv(system, rank @ free)[2] @ rank)
        dual_step = central - dual - step / scale
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
