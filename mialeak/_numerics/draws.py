"""Draws of sums of rows on a lattice, from alias tables or by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._blocks import row_blocks
from mialeak._kernels import draws as kernels

__all__ = ["TILE", "Draw", "binomial_draw", "draw_means", "lattice_draw"]

#: Sums drawn at a time: 256 kB stay in the cache until they are means.
TILE = 2**15

#: Numbers this much less likely than the mode are omitted from a table, as in draws.h: 64 random
#: bits cannot resolve them.
_NEGLIGIBLE = 2.0**-70

#: Largest number of words of all tables: 256 MB.  Beyond it, a draw misses every cache and takes as
#: long as NumPy's draw without a table.
_MOST_WORDS = 2**25


class Draw(Protocol):
    """Draws of whole numbers for a range of columns; `quick` if a draw takes nanoseconds."""

    quick: ClassVar[bool]

    def __call__(self, rng: np.random.Generator, columns: slice, draws: int) -> FloatArray:
        """Independent draws, shape (columns, draws)."""


@dataclass(frozen=True, eq=False)
class _Tables:
    """Draws from alias tables of laws on consecutive whole numbers; `law` maps columns to laws."""

    quick: ClassVar[bool] = True
    words: npt.NDArray[np.uint64]
    start: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    first: FloatArray
    law: npt.NDArray[np.int64]

    def __call__(self, rng: np.random.Generator, columns: slice, draws: int) -> FloatArray:
        law = self.law[columns]
        out = np.empty((law.size, draws))
        kernels.alias_draws(
            rng.bit_generator, self.words, self.start, self.size, self.first, law, out
        )
        return out


@dataclass(frozen=True, eq=False)
class _Binomial:
    """Binomial draws by NumPy."""

    quick: ClassVar[bool] = False
    trials: int
    p: FloatArray

    def __call__(self, rng: np.random.Generator, columns: slice, draws: int) -> FloatArray:
        p = self.p[columns, np.newaxis]
        return rng.binomial(self.trials, p, (p.size, draws)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Multinomial:
    """Multinomial draws by NumPy: the number of rows with each value."""

    quick: ClassVar[bool] = False
    rows: int
    numbers: npt.NDArray[np.int64]
    probabilities: FloatArray

    def __call__(self, rng: np.random.Generator, columns: slice, draws: int) -> FloatArray:
        laws = zip(self.numbers[columns], self.probabilities[columns], strict=True)
        sums = [rng.multinomial(self.rows, law, draws) @ numbers for numbers, law in laws]
        return np.array(sums, np.float64)


def _tables(
    weights: FloatArray, size: npt.NDArray[np.int64], first: FloatArray, law: npt.NDArray[np.intp]
) -> _Tables:
    """Alias tables of laws whose weights are concatenated."""
    longest = int(size.max())
    start, words = np.cumsum(size) - size, np.empty(weights.size, np.uint64)
    scratch = np.empty(longest), np.empty(longest, np.uint32)
    kernels.alias_words(weights, start, size, *scratch, words)
    return _Tables(words, start, size, first, law.astype(np.int64))


def binomial_draw(trials: int, p: FloatArray) -> Draw:
    """Draws from Binomial(trials, p[j]) in column j; equal probabilities share a table."""
    chances, law = np.unique(p, return_inverse=True)
    first, size = np.empty(chances.size), np.empty(chances.size, np.int64)
    kernels.binomial_windows(float(trials), chances, first, size)
    if size.max() > kernels.MOST_WORDS or size.sum() > _MOST_WORDS:
        return _Binomial(trials, p)
    weights = np.empty(int(size.sum()))
    start = np.cumsum(size) - size
    kernels.binomial_weights(float(trials), chances, first, start, size, weights)
    return _tables(weights, size, first, law)


def lattice_draw(rows: int, numbers: npt.NDArray[np.int64], probabilities: FloatArray) -> Draw:
    """Draws of sums of rows with values ``numbers[j]`` and ``probabilities[j]`` in column j."""
    both = np.column_stack([numbers.astype(np.float64), probabilities])
    laws, law = np.unique(both, axis=0, return_inverse=True)
    sums, words = [], 0
    for numbers_of, chances in zip(*np.hsplit(laws, 2), strict=True):
        row = np.zeros(int(numbers_of[-1]) + 1)
        row[numbers_of.astype(np.int64)] = chances
        total = _trimmed_sum(row, rows)
        words += 0 if total is None else total[1].size
        if total is None or words > _MOST_WORDS:
            return _Multinomial(rows, numbers, probabilities)
        sums.append(total)
    size = np.array([weights.size for _, weights in sums])
    first = np.array([first for first, _ in sums], np.float64)
    return _tables(np.concatenate([weights for _, weights in sums]), size, first, law.ravel())


def _trimmed_sum(row: FloatArray, count: int) -> tuple[int, FloatArray] | None:
    """First number and weights of a sum of `count` draws from a law on 0, 1, 2, ...

    By repeated squaring, with positive terms only; None if the sum is too wide for a table.
    """
    row_first, row = _trim(0, row)
    first, total = 0, np.ones(1)
    for bit in bin(count)[2:]:
        first, total = _trim(2 * first, np.convolve(total, total))
        if bit == "1":
            first, total = _trim(first + row_first, np.convolve(total, row))
        if total.size > kernels.MOST_WORDS:
            return None
    return first, total


def _trim(first: int, law: FloatArray) -> tuple[int, FloatArray]:
    kept = np.flatnonzero(law >= _NEGLIGIBLE * law.max())
    return first + int(kept[0]), np.ascontiguousarray(law[kept[0] : kept[-1] + 1])


def draw_means(
    rng: np.random.Generator,
    sums: Draw,
    least: FloatArray,
    unit: FloatArray,
    rows: int,
    out: FloatArray,
) -> None:
    """Fill `out`, shape (t, d), with means of `rows` fresh rows: least + unit * sum / rows."""
    rounds = out.shape[0]
    order = np.arange(rounds)
    for place in row_blocks(out.shape[1], rounds, elements=TILE):
        kernels.lattice_means(
            sums(rng, place, rounds), least[place], unit[place], float(rows), order, out[:, place]
        )
