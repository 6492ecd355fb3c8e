"""The steps of a chain of second order: a column depends on the two before it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._checks.means.genotypes import Releases
from mialeak.laws._forward import log_chances

__all__ = ["SecondOrder"]

IntArray = npt.NDArray[np.int64]

#: Releases and targets, times columns, in memory at once; and releases times squared haplotypes,
#: as of the tables that they share.
_NUMBERS, _TABLES = 1 << 22, 1 << 25


class SecondOrder:
    """Frequencies, draws and likelihood ratios of a chain of second order.

    Parameters
    ----------
    start : float
        Probability of a one in the first column.
    after_zero, after_one : ndarray, shape (d - 1, 2)
        Probability of a one after a zero and after a one, for each value of the column before
        that; of the first step both are equal.
    ploidy : {1, 2}
        Haplotypes of a row.
    """

    #: Most haplotypes of a release: the time of a column grows as their power 3/2.
    most = 10_000

    def __init__(self, start: float, after_zero: FloatArray, after_one: FloatArray, ploidy: int):
        self._start, self._zero, self._one, self._ploidy = start, after_zero, after_one, ploidy
        self._first = float(after_zero[0, 0]), float(after_one[0, 0])
        # After 00, 01, 10, 11.
        steps = (after_zero[1:, 0], after_one[1:, 0], after_zero[1:, 1], after_one[1:, 1])
        self._chances = np.stack(steps, axis=1)
        zero, one = self._first
        pairs = np.empty((len(after_zero), 4))
        pairs[0, :2] = np.array([1.0 - zero, zero]) * (1.0 - start)
        pairs[0, 2:] = np.array([1.0 - one, one]) * start
        for j, chances in enumerate(self._chances):
            pairs[j + 1] = _moved(pairs[j], chances)
        self._pairs = pairs
        p = np.concatenate([[start], pairs[:, 1] + pairs[:, 3]])
        self.p: FloatArray = np.minimum(p, 1.0)

    @property
    def correlation(self) -> FloatArray:
        """Correlation of each column with the next; not finite beside a constant one."""
        return self._correlation(self._pairs[:, 3], 1)

    def mean_square(self, lag: int) -> float:
        """Mean squared correlation of columns `lag` apart."""
        columns = self.p.size - lag
        ones = self._pairs[:columns].copy()
        ones[:, :2] = 0.0  # the first column is one
        for step in range(lag - 1):
            ones = _moved(ones, self._chances[step : step + columns])
        r = self._correlation(ones[:, 1] + ones[:, 3], lag)
        return float(np.mean(np.nan_to_num(r, posinf=0.0, neginf=0.0) ** 2))

    def _correlation(self, both: FloatArray, lag: int) -> FloatArray:
        p, variance = self.p, self.p * (1.0 - self.p)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(variance[:-lag] * variance[lag:])
            return np.asarray((both - p[:-lag] * p[lag:]) / spread)

    def log_ratios(
        self, releases: Releases, counts: FloatArray, target: FloatArray, size: float
    ) -> FloatArray:
        """Log likelihood ratio of each column given those before, shape (releases, d)."""
        out = np.empty(counts.shape)
        for part in self._blocks(counts, 2, size):
            with np.errstate(invalid="ignore"):
                terms = self._terms(counts[part], target[None], int(size))
            self._require_possible(releases, terms[0], part, len(counts))
            out[part] = terms[1] - terms[0]
        return out

    def scores(
        self, releases: Releases, counts: FloatArray, targets: FloatArray, size: float
    ) -> FloatArray:
        """Log likelihood ratios, shape (T, t)."""
        out = np.empty((len(counts), len(targets)))
        for part in self._blocks(counts, len(targets) + 1, size):
            terms = self._terms(counts[part], targets, int(size))
            self._require_possible(releases, terms[0], part, len(counts))
            out[part] = np.sum(terms[1:] - terms[0], axis=2).T
        return out

    def _blocks(self, counts: FloatArray, worlds: int, size: float) -> list[slice]:
        step = max(1, min(_NUMBERS // (worlds * self.p.size), int(_TABLES // size**2)))
        return [slice(first, first + step) for first in range(0, len(counts), step)]

    def _terms(self, counts: FloatArray, targets: FloatArray, size: int) -> FloatArray:
        """Log probabilities out and in for each target, shape (1 + targets, releases, d)."""
        out = counts.astype(np.int64)
        shift = np.concatenate([np.zeros((1, self.p.size)), targets]).astype(np.int64)
        others = (out - shift[:, None]).reshape(-1, self.p.size)
        sizes = np.full(len(others), size - self._ploidy)
        sizes[: len(out)] = size
        terms = log_chances(self._start, self._first, self._chances, sizes, others)
        return terms.reshape(len(shift), *out.shape)

    @staticmethod
    def _require_possible(releases: Releases, terms: FloatArray, part: slice, number: int) -> None:
        good = np.ones((number, terms.shape[1]), bool)
        good[part] = np.isfinite(terms)
        rule = "be possible after the counts of the columns before, with a probability above 1e-300"
        releases.require(good, rule)

    def chances(self, target: FloatArray) -> FloatArray:
        """Probability of each entry of a row given those before."""
        z, chances = target.astype(int), np.zeros(target.size)
        bits, pairs = np.array([0, 1, 0, 1]), np.arange(4)
        law = np.array([1.0 - self._start, self._start, 0.0, 0.0])
        good, known = bits == z[0], law
        if self._ploidy == 2:  # the phase of a genotype is not known: the law of two pairs of bits
            bits = bits[:, None] + bits
            good, known = bits == z[0], np.outer(law, law)
        zero, one = self._first
        steps = np.concatenate([[[zero, one, zero, one]], self._chances])
        for j in range(target.size):
            if j:
                table = np.zeros((4, 4))
                table[pairs, 2 * (pairs % 2) + 1] = steps[j - 1]
                table[pairs, 2 * (pairs % 2)] = 1.0 - steps[j - 1]
                known = table.T @ known
                known, good = known if self._ploidy == 1 else known @ table, bits == z[j]
            known = np.where(good, known, 0.0)
            chances[j] = known.sum()
            if chances[j] == 0.0:
                break
            known = known / chances[j]
        return chances

    def cause(self, target: FloatArray, j: int) -> str:
        """Why entry j > 0 of a target is impossible."""
        values = ", ".join(f"{value:g}" for value in target[max(j - 2, 0) : j])
        zero, one = self._zero[j - 1].tolist(), self._one[j - 1].tolist()
        steps = f"after_zero[{j - 1}] = {zero} and after_one[{j - 1}] = {one}"
        return f"With {steps} no row has it after {values}"

    def draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Fill `out`, shape (rows, d), with fresh rows."""
        out[...] = 0.0
        for _ in range(self._ploidy):
            ones = rng.random(len(out)) < self._start
            out[:, 0] += ones
            now = (rng.random(len(out)) < np.where(ones, self._first[1], self._first[0])) * 1
            out[:, 1] += now
            pair = 2 * ones + now
            for j, chances in enumerate(self._chances):
                now = rng.random(len(out)) < chances[pair]
                out[:, j + 2] += now
                pair = 2 * (pair % 2) + now

    def draw_counts(self, rng: np.random.Generator, rows: int, rounds: int) -> IntArray:
        """Counts of ones of `rows` rows, by the four groups of a step: shape (d, rounds)."""
        size = self._ploidy * rows
        counts = np.empty((self.p.size, rounds), np.int64)
        counts[0] = rng.binomial(size, self._start, rounds)
        zero, one = self._first
        ones, zeros = rng.binomial(counts[0], one), rng.binomial(size - counts[0], zero)
        counts[1] = ones + zeros
        groups = [size - counts[0] - zeros, zeros, counts[0] - ones, ones]  # 00, 01, 10, 11
        for j, chances in enumerate(self._chances):
            up = [
                rng.binomial(group, chance) for group, chance in zip(groups, chances, strict=True)
            ]
            none, one_zero = groups[0] + groups[2], groups[1] + groups[3]
            rises, stays = up[0] + up[2], up[1] + up[3]
            groups = [none - rises, rises, one_zero - stays, stays]
            counts[j + 2] = rises + stays
        return counts


def _moved(pairs: FloatArray, chances: FloatArray) -> FloatArray:
    """The law of the values of the next two columns, 00, 01, 10, 11, from that of these."""
    ones = pairs * chances
    zeros = pairs - ones
    return np.stack(
        [
            zeros[..., 0] + zeros[..., 2],
            ones[..., 0] + ones[..., 2],
            zeros[..., 1] + zeros[..., 3],
            ones[..., 1] + ones[..., 3],
        ],
        axis=-1,
    )
