"""Guesses of the coins of examples by shadow models: how many are right, and what that refutes.

An example is guessed *in* where its score is above its median.  The law of the weighted number of
right guesses is largest where each coin is guessed right with probability ``e^e / (1 + e^e)``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, logsumexp

from mialeak._arrays import FloatArray, invalid
from mialeak.auditing._checks import FITTED
from mialeak.auditing._shadow_design import BoolArray, Design, Reading

__all__ = ["AllReadings", "Guesses", "epsilons"]

IntArray = npt.NDArray[np.int64]

#: P-values are made at so many epsilons to the unit: bounds are rounded down to them.
_STEPS = 100
#: The largest weight of a guess, and the largest sum of weights of all models.
_WEIGHT, _SUM = 64, 8192
#: Scores worked on at once.
_BLOCK = 1 << 22
#: Epsilons whose laws are made at once: with more these leave the cache of the processor.
_TOGETHER = 32
#: What scores that know nothing do with this probability at most is refused.
_CHANCE = 1e-6
#: Bounds of each total by models, design and levels, for the next audit: so many at most.
_CACHED: dict[tuple[int, Design, float, float], FloatArray] = {}
_CACHE_SIZE = 16


class Guesses:
    """The weighted numbers of right guesses of examples, for one design of the coins."""

    def __init__(self, values: FloatArray, coins: BoolArray, reading: Reading):
        self._design, self._odds = reading.design, 1.0
        if reading.pairs is not None:
            # One row fewer here is one more there: the odds of a coin are those of both models.
            first, second = reading.pairs
            values, coins, self._odds = values[first] - values[second], coins[first], 2.0
        self._models = len(coins)
        is_half = self._design == "half"
        self.weights = np.ones(self._models, np.int64) if is_half else _weights(self._models)
        self.totals = _totals(values, coins, self.weights, self._design)
        # Constant scores are no evidence.
        self.is_flat = values.min(axis=0) == values.max(axis=0)
        self._table: tuple[FloatArray, FloatArray] | None = None

    def require_direction(self, *, higher_is_member: bool) -> None:
        """Refuse scores that are right less often than coins, beyond chance (Hoeffding)."""
        totals, weights = self.totals[~self.is_flat], self.weights
        if not totals.size:
            return
        is_half = self._design == "half"
        largest = weights.sum() // 2 if is_half else weights.sum()
        short = 0.5 * largest - totals.mean()
        spread = np.sum(np.square(weights, dtype=np.float64)) / (4.0 if is_half else 1.0)
        if short > 0.0 and np.exp(-2.0 * totals.size * short**2 / spread) <= _CHANCE:
            rule = (
                f"tend to be {'larger' if higher_is_member else 'smaller'} for members with "
                f"higher_is_member={higher_is_member}; {totals.mean() / largest:.1%} of the "
                "guesses, by weight, are right"
            )
            remedy = (
                "Decide the direction from what a score is (a loss is smaller for members), then "
                f"pass higher_is_member={not higher_is_member}. {FITTED}"
            )
            invalid("scores", rule, remedy=remedy)

    def p_values(self, epsilon: float) -> FloatArray:
        """Of the claim, for each example."""
        law = _tails(self.weights, self._models, np.array([self._odds * epsilon]), self._design)
        return np.where(self.is_flat, 1.0, law[0][self.totals])

    def bounds(self, most: float, level: float) -> FloatArray:
        """The largest epsilon that an example refutes at this level; 0 for none.

        `most` is the largest level of all that are asked for.
        """
        return np.where(self.is_flat, 0.0, self._by_total(most, level)[self.totals])

    def provable(self, most: float, level: float) -> float:
        """The bound of the largest total, of a perfect attack."""
        return float(self._by_total(most, level)[-1])

    def _by_total(self, most: float, level: float) -> FloatArray:
        key = self._models, self._design, most, level
        bounds = _CACHED.get(key)
        if bounds is None:
            if len(_CACHED) >= _CACHE_SIZE:
                _CACHED.clear()
            bounds = _CACHED[key] = self._largest_refuted(most, level)
        return bounds / self._odds

    def _largest_refuted(self, most: float, level: float) -> FloatArray:
        """By each total, on the scale of the log odds of a coin."""
        if self._table is None:  # of the one grid
            grid = epsilons(self._models, most)
            self._table = grid, _tails(self.weights, self._models, grid, self._design)
        grid, table = self._table
        refuted = np.count_nonzero(table <= level, axis=0)
        return np.asarray(grid[np.maximum(refuted - 1, 0)])


class AllReadings:
    """What holds for each design that may have made the coins: the largest p-values."""

    def __init__(self, each: list[Guesses]):
        self._each = each

    def p_values(self, epsilon: float) -> FloatArray:
        """Of the claim, for each example."""
        return np.asarray(np.max([one.p_values(epsilon) for one in self._each], axis=0))

    def bounds(self, most: float, level: float) -> FloatArray:
        """The epsilon that an example refutes at this level for every design."""
        return np.asarray(np.min([one.bounds(most, level) for one in self._each], axis=0))

    def provable(self, most: float, level: float) -> float:
        """The bound of a perfect attack."""
        return min(one.provable(most, level) for one in self._each)


def epsilons(models: int, level: float) -> FloatArray:
    """Epsilons up to what all right guesses prove at a level."""
    share = float(np.exp(np.log(level) / models))
    most = max(np.log(share) - np.log1p(-share), 0.0)
    return np.asarray(np.arange(int(most * _STEPS) + 2.0) / _STEPS)


def _weights(models: int) -> IntArray:
    """Of guesses by rank of distance: squares, in so many steps that their sum stays small."""
    steps = int(np.clip(3 * _SUM // models, 1, _WEIGHT))
    ranks = np.arange(1.0, models + 1.0)
    return np.ceil(steps * (ranks / models) ** 2).astype(np.int64)


def _totals(values: FloatArray, coins: BoolArray, weights: IntArray, design: Design) -> IntArray:
    """Weighted number of right guesses of each example; with halves, of those guessed in."""
    models, examples = values.shape
    totals = np.empty(examples, np.int64)
    width = max(1, _BLOCK // models)
    for start in range(0, examples, width):
        part = slice(start, start + width)
        scores, flags = values[:, part], coins[:, part]
        if design == "half":
            order = np.argsort(scores, axis=0, kind="stable")[models // 2 :]
            totals[part] = np.take_along_axis(flags, order, axis=0).sum(axis=0)
            continue
        distance = scores - np.median(scores, axis=0)
        right = (distance > 0.0) == flags
        order = np.argsort(np.abs(distance), axis=0, kind="stable")
        totals[part] = weights @ np.take_along_axis(right, order, axis=0)
    return totals


def _tails(weights: IntArray, models: int, grid: FloatArray, design: Design) -> FloatArray:
    """P(total >= t) for each epsilon (rows) and t."""
    if design == "half":
        half = models // 2
        right = np.arange(half + 1.0)
        logs = 2.0 * (gammaln(half + 1.0) - gammaln(right + 1.0) - gammaln(half - right + 1.0))
        logs = logs + 2.0 * grid[:, None] * right
        law = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    else:
        law = np.zeros((grid.size, int(weights.sum()) + 1))
        law[:, 0] = 1.0
        for start in range(0, grid.size, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            _add_guesses(law[part], weights, grid[part, None])
    return np.asarray(np.minimum(np.cumsum(law[:, ::-1], axis=1)[:, ::-1], 1.0))


def _add_guesses(law: FloatArray, weights: IntArray, epsilon: FloatArray) -> None:
    """The law of the weighted number of right guesses, in place of that of none."""
    right, wrong, reached = expit(epsilon), expit(-epsilon), 0
    buffer = np.empty_like(law)  # made once: fresh memory takes longer than the products
    for weight in weights.tolist():
        size = reached + 1
        moved = np.multiply(law[:, :size], right, out=buffer[:, :size])
        law[:, :size] *= wrong
        law[:, weight : weight + size] += moved
        reached += weight
