"""Rank pairs of many examples at once: the counts of each, and what they refute.

For one example the scores of the models with it and of those without it are independent draws of
two laws, if each score depends on its own model: the tests of :func:`mialeak.auditing.audit` hold,
at ranks 1, 3, 9, ... from either end.  Examples share most of their counts, so that each test is
computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._numerics.order import IntArray
from mialeak._numerics.rank_tests import Pairs, PairTest, indistinguishable, pair_shares
from mialeak.auditing._shadow_guesses import epsilons

__all__ = ["ExamplePairs"]

BoolArray = npt.NDArray[np.bool_]

#: Scores worked on at once.
_BLOCK = 1 << 22
#: Tests whose integrals are made at once: 25 MB a table.
_TESTS = 1 << 14
#: What the trapezoid rule leaves out of a p-value at most.
_OUTSIDE = 2e-12


@dataclass(frozen=True)
class ExamplePairs:
    """Tests of all examples, each distinct one once.

    A test is the number of hits, of how many, the rank, of how many, and its share in the error of
    an example: P(no p-value of the example is below 1 - (1 - a)^share) is at least 1 - a.
    """

    tests: Pairs
    shares: FloatArray
    #: The tests of each example, (tests an example, n); -1 for none.
    places: IntArray
    n_in: IntArray
    models: int

    @classmethod
    def of(cls, values: FloatArray, coins: BoolArray) -> ExamplePairs:
        """Count the hits of each example at its ranks; ties in random order."""
        models, examples = values.shape
        hits = [
            _hits(values[:, start : start + width], coins[:, start : start + width])
            for width in [max(1, _BLOCK // models)]
            for start in range(0, examples, width)
        ]
        return cls._made(np.concatenate(hits, axis=2), coins.sum(axis=0), models)

    @classmethod
    def _made(cls, hits: IntArray, n_in: IntArray, models: int) -> ExamplePairs:
        ranks = _ranks(models)[:, None]
        sizes = np.stack([n_in, models - n_in])  # hits of the top tail are in-scores
        rows = []
        for tail in range(2):
            n_hits, n_ranks = sizes[tail], sizes[1 - tail]
            used = (ranks <= np.maximum(n_ranks // 2, 1)) & (n_hits > 0) & (n_ranks > 0)
            table = np.stack(np.broadcast_arrays(hits[tail], n_hits, ranks, n_ranks))
            rows.append(np.where(used & (hits[tail] > 0), table, -1))
        flat = np.concatenate(rows, axis=1)  # (4, tests an example, n)
        distinct, places = np.unique(flat.reshape(4, -1), axis=1, return_inverse=True)
        none = int(distinct[0, 0] < 0)
        k, n_hits, r, n_ranks = distinct[:, none:]
        tests = Pairs(k, r, n_hits, n_ranks, np.ones(k.size), np.ones(k.size, bool))
        pairs = zip(r.tolist(), n_ranks.tolist(), strict=True)
        shares = np.array([_share(*pair) for pair in pairs])
        return cls(tests, shares, places.reshape(flat.shape[1:]) - none, n_in, models)

    def p_values(self, epsilon: float) -> FloatArray:
        """Of the claim, for each example: the least error at which one of its tests refutes it."""
        p = np.empty(self.shares.size)
        for part, test in self._blocks():
            which = np.arange(p[part].size)
            p[part] = test.p_values(np.full((which.size, 1), epsilon), which) + _OUTSIDE
        with np.errstate(divide="ignore"):
            scaled = -np.expm1(np.log1p(-np.minimum(p, 1.0)) / self.shares)
        return self._over_tests(scaled, 1.0, np.minimum)

    def bounds(self, most: float, level: float) -> FloatArray:
        """The largest epsilon that an example refutes at this level; 0 for none.

        `most` is the largest level of all that are asked for.
        """
        grid = epsilons(self.models, most)
        levels = -np.expm1(np.log1p(-level) * self.shares)
        reached = np.zeros(self.shares.size)
        for which, test in self._blocks():
            reached[which] = _largest_refuted(test, grid, levels[which])
        return self._over_tests(reached, 0.0, np.maximum)

    def provable(self, most: float, level: float) -> float:
        """The largest bound of an attack whose scores of *in* all lie above those of *out*."""
        sizes = np.unique(self.n_in)
        hits = np.stack([sizes, self.models - sizes])[:, None]
        hits = np.broadcast_to(hits, (2, len(_ranks(self.models)), sizes.size))
        return float(self._made(hits, sizes, self.models).bounds(most, level).max())

    @functools.cached_property
    def _at_once(self) -> PairTest:
        return PairTest.of(self.tests, indistinguishable(0.0))

    def _blocks(self) -> Iterator[tuple[slice, PairTest]]:
        """Places of tests and their integrals, which are kept if they are few."""
        if self.shares.size <= _TESTS:
            yield slice(None), self._at_once
            return
        for start in range(0, self.shares.size, _TESTS):
            part = slice(start, start + _TESTS)
            yield part, PairTest.of(self.tests.select(part), indistinguishable(0.0))

    def _over_tests(self, values: FloatArray, none: float, combine: np.ufunc) -> FloatArray:
        return np.asarray(combine.reduce(np.append(values, none)[self.places], axis=0))


def _largest_refuted(test: PairTest, grid: FloatArray, levels: FloatArray) -> FloatArray:
    """The largest epsilon of the grid that each test refutes at its level; 0 for none."""

    def refutes(places: IntArray, which: IntArray) -> BoolArray:
        p = test.p_values(grid[places, None], which) + _OUTSIDE
        return np.asarray(p <= levels[which])

    reached, every = np.zeros(levels.size), np.arange(levels.size)
    which = every[refutes(np.zeros(levels.size, np.int64), every)]
    low, high = np.zeros(which.size, np.int64), np.full(which.size, grid.size)
    while (high - low > 1).any():
        middle = (low + high) // 2
        is_refuted = refutes(middle, which)
        low, high = np.where(is_refuted, middle, low), np.where(is_refuted, high, middle)
    reached[which] = grid[low]
    return reached


def _hits(values: FloatArray, coins: BoolArray) -> IntArray:
    """Hits (2, ranks, n) beyond each rank: in-scores from above, out-scores from below."""
    models, examples = values.shape
    rng = np.random.default_rng([models, examples])
    mixed = rng.permuted(np.broadcast_to(np.arange(models)[:, None], values.shape), axis=0)
    order = np.argsort(np.take_along_axis(values, mixed, axis=0), axis=0, kind="stable")
    rising = np.take_along_axis(coins, np.take_along_axis(mixed, order, axis=0), axis=0)
    is_flat = values.min(axis=0) == values.max(axis=0)  # constant scores are no evidence
    hits = np.empty((2, len(_ranks(models)), examples), np.int64)
    for tail, flags in enumerate((rising[::-1], ~rising)):
        misses, reached = np.cumsum(~flags, axis=0), np.cumsum(flags, axis=0)
        for row, rank in zip(hits[tail], _ranks(models).tolist(), strict=True):
            place = np.argmax(misses >= rank, axis=0)[None]
            row[:] = np.take_along_axis(reached, place, axis=0)[0]
    return np.where(is_flat, 0, hits)


def _ranks(models: int) -> IntArray:
    """Ranks of a world of all models: those of any example are among these."""
    return np.asarray(pair_shares(models)[0])


@functools.cache
def _share(rank: int, n_ranks: int) -> float:
    """Of one test in the error of both tails."""
    ranks, shares = pair_shares(n_ranks)
    return 0.5 * float(shares[ranks == rank][0])
