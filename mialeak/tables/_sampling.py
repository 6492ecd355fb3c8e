"""How a table's rows were drawn: from an endless population, or from N people without replacement.

What an estimate needs of it is the law of the number of other rows that share the cell of a row,
given the cell's share p of the population, and the leakage of a target in that cell.  Of N people
K = N p are in the cell; between whole K both are taken to be linear, as nothing lies there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak import special
from mialeak._arrays import FloatArray, as_count, contiguous, invalid, unsupported
from mialeak._kernels import binomial

__all__ = ["ENDLESS", "Sampling", "as_sampling", "binomial_pmf", "leakage_at"]

BoolArray = npt.NDArray[np.bool_]

#: K closer to a whole number than this is that number: p is K/N rounded.
_WHOLE = 1e-6


@dataclass(frozen=True)
class Sampling:
    """How rows are drawn.

    Attributes
    ----------
    people : int or None
        N, from whom rows are drawn without replacement; None for an endless population.
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

        def too_few(k: FloatArray) -> BoolArray:
            above = special.hypergeom_sf(size - 2.0, people - 1.0, k - 1.0, rows - 1.0)
            return np.asarray(above <= tail) & (size > 1.0)

        def too_many(k: FloatArray) -> BoolArray:
            at_most = special.hypergeom_sf(rows - size - 1.0, people, people - k, float(rows))
            return np.asarray(at_most <= tail)

        first, most = np.maximum(size, 1.0), people - (rows - size)
        least = np.where(too_few(first), _last(too_few, first, most) + 1.0, first)
        largest = _last(lambda k: ~too_many(k), first, most)
        largest = np.where(too_many(most), largest, most)
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


ENDLESS = Sampling()


def as_sampling(population: Any, rows: int, n: int | None, gamma: float = 1.0) -> Sampling:
    """How `rows` rows, and the `n` of the release, are drawn from `population` people."""
    if population is None:
        return ENDLESS
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
