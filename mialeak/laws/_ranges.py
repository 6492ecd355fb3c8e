"""Releases of linked columns that hide counts: rounded and noisy means, and what is present."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid, require, unsupported
from mialeak._checks.means.genotypes import count_tolerance
from mialeak.special import binom_logpmf

if TYPE_CHECKING:
    from mialeak.laws._chain import Chain

__all__ = ["MOST_IN_RANGES", "noisy_ratios", "range_ratios"]

#: Most haplotypes, by the order of a chain: a column takes as many steps of so many numbers each,
#: and of second order the fourth power of operations and the third of memory (130 MB).
MOST_IN_RANGES = {1: 10_000, 2: 250}
#: A release is refused where a column has a smaller log probability given those before it: below,
#: products of probabilities lose digits, or underflow.
_LEAST = -650.0
#: Standard deviations of the noise that a mean is at most from a possible one: beyond, the
#: probability is below 1e-32.
_FARTHEST = 12.0


def range_ratios(law: Chain, releases: Any, until: Any, target: FloatArray, n: int) -> FloatArray:
    """Log likelihood ratios of columns given those before, for means within ranges."""
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
    counts = np.arange(size + 1)

    def log_weights(place: tuple[int, ...]) -> FloatArray:
        within = (counts >= low[place][:, None]) & (counts <= high[place][:, None])
        return np.where(within, 0.0, -np.inf)

    return _ratios(law, log_weights, first.shape, target, n)


def noisy_ratios(law: Chain, releases: Any, noise: Any, target: FloatArray, n: int) -> FloatArray:
    """The same for means with independent normal noise of these standard deviations."""
    means = as_floats(releases, "releases", finite=True)
    if means.ndim not in (1, 2) or means.shape[-1] != law.size:
        invalid("releases", f"have {law.size} columns; its shape is {means.shape}")
    spread = as_floats(noise, "noise", finite=True)
    if spread.shape not in ((), (law.size,)):
        rule = f"be a number or have {law.size} entries, one for each column"
        invalid("noise", f"{rule}; its shape is {spread.shape}")
    require(spread > 0.0, spread, "noise", "be above 0; without noise leave it out")
    counts = np.arange(law.ploidy * n + 1)
    scale = n * np.broadcast_to(spread, law.size)[:, None]
    off = np.abs(n * means - np.clip(np.rint(n * means), 0.0, counts[-1]))
    slack = 8.0 * np.finfo(np.float64).eps * np.abs(n * means)  # of a mean that is rounded
    rule = f"be within {_FARTHEST:g} standard deviations of the noise of a mean of {n} rows"
    values = "0 or 1" if law.ploidy == 1 else "0, 1 or 2"
    remedy = f"Pass means of {values}, not per cent or counts, and the noise that they have"
    require(off <= _FARTHEST * scale[:, 0] + slack, means, "releases", rule, remedy=remedy)

    def log_weights(place: tuple[int, ...]) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(-0.5 * ((n * means[place][:, None] - counts) / scale) ** 2)

    return _ratios(law, log_weights, means.shape, target, n)


def _refuse_release() -> None:
    why = "its probability is 0, or below what float64 holds"
    unsupported("The likelihood ratio", "of this release", why, error=ArithmeticError)


def _ratios(
    law: Chain,
    log_weights: Callable[[tuple[int, ...]], FloatArray],
    shape: tuple[int, ...],
    target: FloatArray,
    n: int,
) -> FloatArray:
    """Ratios by `log_weights`, of the likelihood of each hidden count of each column.

    The counts are a Markov chain in both worlds, of ``ploidy n`` haplotypes and of those of the
    other rows, so that the probability of a release is a sum over hidden counts, column by column;
    of second order the counts of two neighbours with that of ones in both.
    """
    log_chances = _log_chances if law.order == 1 else _pair_log_chances
    others = law.ploidy * (n - 1)
    shift = target.astype(np.int64).tolist()
    ratios = np.empty(shape)
    for place in np.ndindex(shape[:-1]):
        both = log_weights(place)
        inside = np.stack([row[z : z + others + 1] for row, z in zip(both, shift, strict=True)])
        (out, top), (into, most) = (_scaled(each, log_chances, law) for each in (both, inside))
        if not (out > _LEAST).all():
            _refuse_release()
        ratios[place] = (into - out) + (most - top)
    return ratios


def _scaled(
    log_weights: FloatArray, log_chances: Callable[[Chain, FloatArray], FloatArray], law: Chain
) -> tuple[FloatArray, FloatArray]:
    """`log_chances` of weights of which the largest of each column is 1, and the logs of these."""
    top = log_weights.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    return log_chances(law, np.exp(log_weights - top[:, None])), top


def _log_chances(law: Chain, weights: FloatArray) -> FloatArray:
    """Log of the mean weight of the count of each column, given those before.

    -inf from a column of probability 0 on.
    """
    chances = np.zeros(len(weights))
    before = _binomial(weights.shape[1] - 1, law.start)
    for j, weight in enumerate(weights):
        if j:
            before = _step(before, law.after_zero[j - 1], law.after_one[j - 1])
        kept = before * weight
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


def _pair_log_chances(law: Chain, weights: FloatArray) -> FloatArray:
    """`_log_chances` of a chain of second order.

    The state is a matrix for each count e of a column, by the haplotypes with ones in the column
    before it alone (rows) and in both (columns).  Of the former and those without a one, `rises`
    have a one in the next column; of the latter and the others with a one `stays`.
    """
    zero, one = law.after_zero, law.after_one
    steps = np.stack([zero[:, 0], one[:, 0], zero[:, 1], one[:, 1]], axis=1)
    steps = np.concatenate([[[law.start] * 4], steps])  # as if two columns of zeros came before
    chances, size = np.zeros(len(weights)), weights.shape[1] - 1
    least, before = 0, [np.eye(size + 1, 1)]
    for j, weight in enumerate(weights):
        shown_counts = np.flatnonzero(weight)
        if not shown_counts.size:
            chances[j:] = -np.inf
            return chances
        first, last = int(shown_counts[0]), int(shown_counts[-1])
        most = least + len(before) - 1
        rises = _sums(size - least, steps[j, 0], steps[j, 2])
        stays = _sums(most, steps[j, 1], steps[j, 3])
        moved = np.zeros((len(before), size + 1, most + 1))  # by e, rises and stays
        for e, state in enumerate(before, least):
            moved[e - least, : size - e + 1, : e + 1] = rises[size - e].T @ state @ stays[e]
        least, before = first, []
        for count in range(first, last + 1):
            alone, both = np.ogrid[: size - count + 1, : count + 1]
            place = alone + both - (most + 1 - len(moved))
            good = (place >= 0) & (place < len(moved))
            shown = moved[
                np.where(good, place, 0), count - both, np.minimum(both, moved.shape[2] - 1)
            ]
            before.append(np.where(good, weight[count] * shown, 0.0))
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
