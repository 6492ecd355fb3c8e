"""The steps of a chain of first order: a column depends on the one before it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._checks.means.genotypes import Releases
from mialeak._kernels import chains as kernels
from mialeak.laws._counts import log_sums

__all__ = ["FirstOrder"]

#: Targets times columns scored at once.
_TARGETS = 1 << 20


class FirstOrder:
    """Frequencies, draws and likelihood ratios of a chain of first order.

    Parameters
    ----------
    start : float
        Probability of a one in the first column.
    after_zero, after_one : ndarray, shape (d - 1,)
        Probability of a one after a zero and after a one.
    ploidy : {1, 2}
        Haplotypes of a row.
    """

    #: Most haplotypes of a release: the time of a ratio grows as its root.
    most = 2**31

    def __init__(self, start: float, after_zero: FloatArray, after_one: FloatArray, ploidy: int):
        self._start, self._zero, self._one, self._ploidy = start, after_zero, after_one, ploidy
        p = np.full(after_zero.size + 1, start)
        for j in range(after_zero.size):
            p[j + 1] = after_zero[j] * (1.0 - p[j]) + after_one[j] * p[j]
        self.p: FloatArray = np.minimum(p, 1.0)

    @property
    def correlation(self) -> FloatArray:
        """Correlation of each column with the next; not finite beside a constant one."""
        variance = self.p * (1.0 - self.p)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(variance[:-1] / variance[1:])
            return np.asarray((self._one - self._zero) * scale)

    def mean_square(self, lag: int) -> float:
        """Mean squared correlation of columns `lag` apart."""
        r = np.nan_to_num(self.correlation, posinf=0.0, neginf=0.0)
        product = np.prod([r[i : r.size - lag + 1 + i] for i in range(lag)], axis=0)
        return float(np.mean(product**2))

    def require_possible(self, releases: Releases, counts: FloatArray, size: float) -> None:
        """Refuse counts that `size` haplotypes cannot have."""
        here, there = counts[:, :-1], counts[:, 1:]
        zero, one = self._zero, self._one
        first = counts[:, :1]
        possible = (self._start > 0.0) | (first == 0.0)
        possible = np.where(self._start < 1.0, possible, first == size)
        low = np.maximum(there - (size - here), np.where(one == 1.0, here, 0.0))
        low = np.maximum(low, np.where(zero == 0.0, there, 0.0))
        high = np.minimum(np.minimum(here, there), np.where(one == 0.0, 0.0, np.inf))
        high = np.minimum(high, np.where(zero == 1.0, there - (size - here), np.inf))
        possible = np.concatenate([possible, low <= high], axis=1)
        releases.require(possible, "be possible after the count of the column before")

    def log_ratios(
        self, releases: Releases, counts: FloatArray, target: FloatArray, size: float
    ) -> FloatArray:
        """Log likelihood ratio of each column given those before, shape (releases, d)."""
        self.require_possible(releases, counts, size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._ratios(counts, target[None], size)[:, 0]))

    def scores(
        self, releases: Releases, counts: FloatArray, targets: FloatArray, size: float
    ) -> FloatArray:
        """Log likelihood ratios, shape (T, t), by sums with the same bits on every machine."""
        self.require_possible(releases, counts, size)
        out = np.empty((len(counts), len(targets)))
        if len(targets) == 1:
            out[:, 0] = log_sums(self._ratios(counts, targets, size)[:, 0])
            return out
        step = max(1, _TARGETS // self.p.size)
        for row, count in enumerate(counts):
            for first in range(0, len(targets), step):
                place = slice(first, first + step)
                out[row, place] = log_sums(self._ratios(count[None], targets[place], size)[0])
        return out

    def _ratios(self, counts: FloatArray, targets: FloatArray, size: float) -> FloatArray:
        """Likelihood ratio of each column given those before, shape (releases, targets, d)."""
        states, columns = (self._ploidy + 1) ** 2, self.p.size - 1
        table = np.empty((states, len(counts), columns))
        if columns:
            kernels.transition_ratios(self._ploidy, size, counts, self._zero, self._one, table)
        z = targets.astype(np.intp)
        state = (self._ploidy + 1) * z[:, :-1] + z[:, 1:]
        ratios = np.empty((len(counts), len(targets), self.p.size))
        ratios[:, :, 1:] = table[state, :, np.arange(columns)].transpose(2, 0, 1)
        ratios[:, :, 0] = self._first_ratio(counts[:, 0], size)[z[:, 0]].T
        return ratios

    def _first_ratio(self, count: FloatArray, size: float) -> FloatArray:
        """Likelihood ratio of the first column, for each value of a target."""
        p, q, zeros = self._start, 1.0 - self._start, size - count
        if self._ploidy == 1:
            numbers, chances = [zeros, count], [size * q, size * p]
        else:
            numbers = [zeros * (zeros - 1.0), zeros * count, count * (count - 1.0)]
            pairs = size * (size - 1.0)
            chances = [pairs * q * q, pairs * p * q, pairs * p * p]
        good = [
            number / chance if chance > 0.0 else np.zeros(count.shape)
            for number, chance in zip(numbers, chances, strict=True)
        ]
        return np.stack(good)

    def chances(self, target: FloatArray) -> FloatArray:
        """Probability of each entry of a row given the one before."""
        after = [self._zero, self._one]
        bits = [[1.0 - chance for chance in after], after]  # bits[y][x]: y after x
        before, now = target[:-1], target[1:]
        chances = np.zeros(target.shape)
        if self._ploidy == 1:
            start = [1.0 - self._start, self._start]
            for x in (0, 1):
                for y in (0, 1):
                    chances[1:] += bits[y][x] * ((before == x) & (now == y))
        else:
            p, q = self._start, 1.0 - self._start
            start = [q * q, 2.0 * p * q, p * p]
            for total, (x, w) in enumerate(((0, 0), (0, 1), (1, 1))):
                law = [
                    bits[0][x] * bits[0][w],
                    bits[0][x] * bits[1][w] + bits[1][x] * bits[0][w],
                    bits[1][x] * bits[1][w],
                ]
                for y in (0, 1, 2):
                    chances[1:] += law[y] * ((before == total) & (now == y))
        chances[0] = start[int(target[0])]
        return chances

    def cause(self, target: FloatArray, j: int) -> str:
        """Why entry j > 0 of a target is impossible."""
        zero, one = float(self._zero[j - 1]), float(self._one[j - 1])
        return (
            f"With after_zero[{j - 1}] = {zero!r} and after_one[{j - 1}] = {one!r} no row has "
            f"it after {target[j - 1]:g}"
        )

    def draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Fill `out`, shape (rows, d), with fresh rows."""
        out[...] = 0.0
        for _ in range(self._ploidy):
            ones = rng.random(len(out)) < self._start
            out[:, 0] += ones
            for j, (zero, one) in enumerate(zip(self._zero, self._one, strict=True)):
                ones = rng.random(len(out)) < np.where(ones, one, zero)
                out[:, j + 1] += ones

    def draw_counts(
        self, rng: np.random.Generator, rows: int, rounds: int
    ) -> npt.NDArray[np.int64]:
        """Counts of ones of `rows` rows, by their transitions: shape (d, rounds)."""
        size = self._ploidy * rows
        counts = np.empty((self.p.size, rounds), np.int64)
        counts[0] = rng.binomial(size, self._start, rounds)
        for j, (zero, one) in enumerate(zip(self._zero, self._one, strict=True)):
            counts[j + 1] = rng.binomial(counts[j], one)
            counts[j + 1] += rng.binomial(size - counts[j], zero)
        return counts
