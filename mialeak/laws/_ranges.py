"""Releases of linked columns that state ranges of counts: rounded means, and what is present."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_floats, invalid, require, unsupported
from mialeak._counts import count_tolerance
from mialeak.special import binom_logpmf

if TYPE_CHECKING:
    from mialeak.laws._chain import Chain

__all__ = ["MOST_IN_RANGES", "range_ratios"]

IntArray = npt.NDArray[np.int64]

#: Most haplotypes, by the order of a chain: a column takes as many steps of so many numbers each,
#: and of second order the fourth power of operations and the third of memory (130 MB).
MOST_IN_RANGES = {1: 10_000, 2: 250}


def range_ratios(law: Chain, releases: Any, until: Any, target: FloatArray, n: int) -> FloatArray:
    """Log likelihood ratios of columns given those before, for means within ranges.

    The counts are a Markov chain in both worlds, of ``ploidy n`` haplotypes and of those of the
    other rows, so that the probability of the ranges is a sum over hidden counts, column by column;
    of second order the counts of two neighbours with that of ones in both.
    """
    log_chances = _log_chances if law.order == 1 else _pair_log_chances
    first, last = (
        as_floats(releases, "releases", finite=True),
        as_floats(until, "until", finite=True),
    )
    if first.ndim not in (1, 2) or first.shape[-1] != law.size or last.shape != first.shape:
        rule = f"have {law.size} columns and the shape of until, {last.shape}"
        invalid("releases", f"{rule}; its shape is {first.shape}")
    size, slack = law.ploidy * n, count_tolerance(first.dtype, n)
    low, high = np.ceil(n * first - slack), np.floor(n * last + slack)
    good = (low <= high) & (high >= 0.0) & (low <= size)
    require(good, last, "until", f"be at least releases, with a mean of {n} rows between them")
    low, high = np.maximum(low, 0.0).astype(np.int64), np.minimum(high, size).astype(np.int64)
    shift = target.astype(np.int64)
    ratios = np.empty(first.shape)
    for place in np.ndindex(first.shape[:-1]):
        out = log_chances(law, size, low[place], high[place])
        if not np.isfinite(out).all():
            why = "its probability is 0, or below what float64 holds"
            unsupported("The likelihood ratio", "of this release", why, error=ArithmeticError)
        others = size - law.ploidy, low[place] - shift, high[place] - shift
        ratios[place] = log_chances(law, *others) - out
    return ratios


def _log_chances(law: Chain, size: int, low: IntArray, high: IntArray) -> FloatArray:
    """Log probability that the count of each column is in its range, given those before.

    -inf from a column of probability 0 on.
    """
    chances = np.zeros(len(low))
    before = _binomial(size, law.start)
    for j, (first, last) in enumerate(zip(low, high, strict=True)):
        if j:
            before = _step(before, law.after_zero[j - 1], law.after_one[j - 1])
        kept = np.zeros_like(before)
        place = slice(max(int(first), 0), max(int(last) + 1, 0))
        kept[place] = before[place]
        total = float(kept.sum())
        if total == 0.0:
            chances[j:] = -np.inf
            return chances
        chances[j] = np.log(total)
        before = kept / total
    return chances


def _step(before: FloatArray, after_zero: float, after_one: float) -> FloatArray:
    """The law of the next count: with u and v the laws of a bit after a one and after a zero,
    the sum over counts c of ``P(c) u^c v^(m - c)``, by Horner's rule from the largest c on.
    """
    shown = np.flatnonzero(before)
    least, most = int(shown[0]), int(shown[-1])
    total, power = before[most : most + 1], np.ones(1)
    for count in range(most - 1, least - 1, -1):
        total, power = _times(total, after_one), _times(power, after_zero)
        total += before[count] * power
    size = len(before) - 1
    common = np.convolve(_binomial(least, after_one), _binomial(size - most, after_zero))
    return np.convolve(common, total)


def _pair_log_chances(law: Chain, size: int, low: IntArray, high: IntArray) -> FloatArray:
    """`_log_chances` of a chain of second order.

    The state is a matrix for each count e of a column, by the haplotypes with ones in the column
    before it alone (rows) and in both (columns).  Of the former and those without a one, `rises`
    have a one in the next column; of the latter and the others with a one `stays`.
    """
    zero, one = law.after_zero, law.after_one
    steps = np.stack([zero[:, 0], one[:, 0], zero[:, 1], one[:, 1]], axis=1)
    steps = np.concatenate([[[law.start] * 4], steps])  # as if two columns of zeros came before
    chances = np.zeros(len(low))
    least, before = 0, [np.eye(size + 1, 1)]
    for j, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        most = least + len(before) - 1
        rises = _sums(size - least, steps[j, 0], steps[j, 2])
        stays = _sums(most, steps[j, 1], steps[j, 3])
        moved = np.zeros((len(before), size + 1, most + 1))  # by e, rises and stays
        for e, state in enumerate(before, least):
            moved[e - least, : size - e + 1, : e + 1] = rises[size - e].T @ state @ stays[e]
        least, before = max(first, 0), []
        for count in range(least, min(last, size) + 1):
            alone, both = np.ogrid[: size - count + 1, : count + 1]
            place = alone + both - (most + 1 - len(moved))
            good = (place >= 0) & (place < len(moved))
            shown = moved[
                np.where(good, place, 0), count - both, np.minimum(both, moved.shape[2] - 1)
            ]
            before.append(np.where(good, shown, 0.0))
        total = sum(float(state.sum()) for state in before)
        if total == 0.0:
            chances[j:] = -np.inf
            return chances
        chances[j] = np.log(total)
        before = [state / total for state in before]
    return chances


def _sums(most: int, common: float, other: float) -> list[FloatArray]:
    """Laws of the ones among 0, 1, ..., `most` bits; the row is the number of those of chance
    `other`, the remaining bits have the chance `common`.
    """
    laws = [np.ones((1, 1))]
    for size in range(1, most + 1):
        law = np.empty((size + 1, size + 1))
        law[:-1] = _times(laws[-1], common)
        law[-1] = _times(laws[-1][-1], other)
        laws.append(law)
    return laws


def _times(law: FloatArray, chance: float) -> FloatArray:
    """The law of a count and one more bit, along the last axis."""
    longer = np.zeros((*law.shape[:-1], law.shape[-1] + 1))
    longer[..., :-1] = (1.0 - chance) * law
    longer[..., 1:] += chance * law
    return longer


def _binomial(size: int, chance: float) -> FloatArray:
    """Probabilities of the counts of so many bits."""
    if not size:
        return np.ones(1)
    return np.asarray(np.exp(binom_logpmf(np.arange(size + 1.0), float(size), chance)))
