"""Exact leakage of the mode, the first of the commonest cells.

Given the number of rows, counts are independent Poisson counts given their sum, so that
``E[(N_k - gamma n p_k) 1{the mode is l}]`` is a Fourier coefficient: a sum over the nodes w of a
circle and over the rows m of the mode.  Of each pair of w and m the cells multiply: those before
the mode l hold fewer than m rows and those behind it at most m.  A Poisson number of rows needs
the node 1 alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, unsupported
from mialeak.mechanisms._cellwise import leaked, poisson_pmf, total, window

__all__ = ["mode_leakage"]

ComplexArray = npt.NDArray[np.complex128]
#: Partial sums held at once, and pairs of cells: 0.5 GB an array.
_MOST_HELD = 2**25
#: Partial sums over all nodes, and products of those of two cells: some 10 s each.
_MOST_SUMS, _MOST_PRODUCTS = 2**28, 2**35
#: What the pairs of a node and a count that are left out may contribute to the leakage, in all.
_OMITTED = 1e-17
#: Pairs that are multiplied at once.
_PAIRS = 2**9


@dataclass(frozen=True)
class _Terms:
    """What the cells contribute, shape (cells, pairs of a node and a count m).

    Attributes
    ----------
    below, upto : ndarray
        Sums of the laws over counts below m, and up to m.
    moment_below, moment_upto : ndarray
        The same of ``count - gamma n p_k``.
    law, shifted : ndarray
        The law at m, and ``m - gamma n p_l`` times it, both with the weight of the node.
    """

    below: ComplexArray
    upto: ComplexArray
    moment_below: ComplexArray
    moment_upto: ComplexArray
    law: ComplexArray
    shifted: ComplexArray


def mode_leakage(p: FloatArray, n: int, gamma: float, *, poisson: bool) -> float:
    """The leakage of the mode, in time K^2 for K cells and each pair that matters."""
    cells = len(p)
    size = 0 if poisson else 2 * math.ceil(window(np.array([float(n)]))[1][0] - n) + 2
    low, high = window(n * p)
    most = int(high.max()) if poisson else int(min(high.max(), n))
    held = (most + 2) * cells
    sums = held * (size // 2 + 1)
    if max(held, cells * cells) > _MOST_HELD or sums > _MOST_SUMS or sums * cells > _MOST_PRODUCTS:
        case = f"at n = {n:,} with {cells:,} cells"
        why = "that would take minutes, or gigabytes"
        unsupported("The leakage of the mode", case, why, "Choose a smaller n, or fewer cells")
    nodes, weights = np.ones(1, complex), np.ones(1, complex)
    if not poisson:
        half = np.arange(size // 2 + 1)
        nodes = np.exp(2j * math.pi / size * half)
        chance = float(poisson_pmf(np.array([float(n)]), float(n))[0])
        once = (half == 0) | (half == size // 2)
        weights = np.where(once, 1.0, 2.0) / (size * chance) * nodes**-n
    padded = 2 ** max(cells - 1, 0).bit_length()
    measure = np.zeros((padded, padded))
    for terms in _terms_that_matter(p, n, gamma, nodes, weights, (int(low.max()), most)):
        for start in range(0, terms.law.shape[1], _PAIRS):
            _add_products(terms, slice(start, start + _PAIRS), measure)
    return total(leaked(measure[:cells, :cells] / n, gamma))


def _terms_that_matter(
    p: FloatArray,
    n: int,
    gamma: float,
    nodes: ComplexArray,
    weights: ComplexArray,
    counts_of_mode: tuple[int, int],
) -> Iterator[_Terms]:
    """The terms of each node, at the counts at which they may be larger than `_OMITTED` allows.

    The product of all cells but two is at most that without its two smallest factors.
    """
    least, most = counts_of_mode
    counts = np.arange(most + 1)
    law = poisson_pmf(counts.astype(np.float64), n * p[:, None])
    gap = counts - gamma * n * p[:, None]
    moments = np.abs(gap) * law
    largest = law.sum(axis=0) * np.cumsum(moments, axis=1).sum(axis=0) + moments.sum(axis=0)
    allowed = _OMITTED * n * max(gamma, 1.0) / (len(nodes) * (most + 1 - least))
    possible = np.flatnonzero((largest * np.abs(weights).max() > allowed) & (counts >= least))
    if not possible.size:
        return
    law, gap = law[:, : possible[-1] + 1], gap[:, : possible[-1] + 1]
    for node, weight in zip(nodes, weights, strict=True):
        turned = law * node ** counts[: possible[-1] + 1]
        upto = np.cumsum(turned, axis=1)
        below = _shifted(upto)
        others = _without_two_smallest(upto, below, possible)
        m = possible[others * largest[possible] * abs(weight) > allowed]
        if m.size:
            moment = np.cumsum(gap * turned, axis=1)
            at = weight * turned[:, m]
            yield _Terms(
                below[:, m], upto[:, m], _shifted(moment)[:, m], moment[:, m], at, gap[:, m] * at
            )


def _shifted(sums: ComplexArray) -> ComplexArray:
    """Sums over counts of at most m - 1 from those of at most m."""
    return np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)


def _without_two_smallest(
    upto: ComplexArray, below: ComplexArray, m: npt.NDArray[np.intp]
) -> FloatArray:
    """Product over the cells of the larger absolute sum, without the two smallest factors."""
    factors = np.maximum(np.abs(upto[:, m]), np.abs(below[:, m]))
    for _ in range(2):
        np.put_along_axis(factors, factors.argmin(axis=0)[None], 1.0, axis=0)
    return np.asarray(factors.prod(axis=0))


@dataclass(frozen=True)
class _Runs:
    """Runs of as many neighbouring cells each, of which those of the left half come first.

    Attributes
    ----------
    before, behind : ndarray, shape (runs, cells of a run, pairs)
        Of each cell k its moment times the sums of the others of its run, if all are before the
        mode, and if all are behind it.
    law : ndarray, shape (runs, cells of a run, pairs)
        Of each cell l its law times the sums of the cells of its run before and behind it.
    below, upto : ndarray, shape (runs, pairs)
        Products of the sums of all cells.
    """

    before: ComplexArray
    behind: ComplexArray
    law: ComplexArray
    below: ComplexArray
    upto: ComplexArray

    def even(self) -> _Runs:
        """With a run of cells that hold nothing, if the number of runs is odd."""
        if len(self.below) % 2 == 0:
            return self
        none, one = np.zeros_like(self.law[:1]), np.ones_like(self.below[:1])
        ends = (none, none, none, one, one)
        parts = (self.before, self.behind, self.law, self.below, self.upto)
        return _Runs(*(np.concatenate(both) for both in zip(parts, ends, strict=True)))

    def merged(self) -> _Runs:
        """Each two neighbouring runs as one."""
        below, upto = self.below[:, None], self.upto[:, None]
        even, odd = slice(0, None, 2), slice(1, None, 2)

        def joined(part: ComplexArray, before: Any, after: Any) -> ComplexArray:
            halves = part[even] * after[odd], part[odd] * before[even]
            return np.concatenate(halves, axis=1)

        return _Runs(
            joined(self.before, below, below),
            joined(self.behind, upto, upto),
            joined(self.law, below, upto),
            self.below[even] * self.below[odd],
            self.upto[even] * self.upto[odd],
        )


def _add_products(terms: _Terms, pairs: slice, measure: FloatArray) -> None:
    """Add ``E[(N_k - gamma n p_k) 1{the mode is l}]`` of these pairs to ``measure[l, k]``.

    Runs of cells are merged two by two, and cells l and k meet where their runs do: no product of
    all cells but two is divided out.
    """
    below, upto, law = terms.below[:, pairs], terms.upto[:, pairs], terms.law[:, pairs]
    cells = len(law)
    ahead = np.ones((cells + 1, law.shape[1]), complex)  # products of the cells before
    after = np.ones_like(ahead)  # of the cells from here on
    np.cumprod(below, axis=0, out=ahead[1:])
    np.cumprod(upto[::-1], axis=0, out=after[-2::-1])
    diagonal = (terms.shifted[:, pairs] * ahead[:-1] * after[1:]).real.sum(axis=1)
    measure[np.diag_indices(cells)] += diagonal
    before, behind = terms.moment_below[:, pairs], terms.moment_upto[:, pairs]
    runs = _Runs(before[:, None], behind[:, None], law[:, None], below, upto)
    while len(runs.below) > 1:
        runs = runs.even()
        height = runs.law.shape[1]
        starts = height * np.arange(0, len(runs.below), 2)
        outside = (ahead[starts] * after[np.minimum(starts + 2 * height, cells)])[:, None]
        later = _real_products(runs.law[1::2] * outside, runs.before[::2])
        earlier = _real_products(runs.law[::2] * outside, runs.behind[1::2])
        for i, start in enumerate(starts.tolist()):
            first, second = slice(start, start + height), slice(start + height, start + 2 * height)
            measure[second, first] += later[i]
            measure[first, second] += earlier[i]
        runs = runs.merged()


def _real_products(a: ComplexArray, b: ComplexArray) -> FloatArray:
    """Real parts of the sums of products of the rows of each two matrices."""
    first = np.concatenate([a.real, a.imag], axis=2)[:, :, None]
    second = np.concatenate([b.real, -b.imag], axis=2)[:, None]
    return np.asarray(np.vecdot(first, second))  # a dot product at a time starts no threads
