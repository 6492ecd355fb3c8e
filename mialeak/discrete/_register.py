"""The leakage of samples of a register, cell size by cell size, without cancellation.

With f = n/N (or the rate) and H the sampled people of a cell of K people, the leakage of a target
in it is ``(1 - f + gamma f) E(H - c)+ / (K f (1 - f))`` for gamma >= 1 and
``(1 - f + gamma f) E(c - H)+ / (gamma K f (1 - f))`` for gamma <= 1, where ``c = w K`` and
``w = gamma f / (1 - f + gamma f)``.  Where c is within 1 of the largest or least count, only that
count has a part, and gamma drops out: ``P(H = K) / f``, ``P(H = 0) / (1 - f)``.  Elsewhere c is
formed in double-word arithmetic, since a threshold just below a whole number has a small excess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_counts, invalid, unsupported
from mialeak._blocks import BLOCK, map_blocks
from mialeak._kernels.ufuncs import ufunc
from mialeak._numerics.corners import corners_of_atoms
from mialeak._numerics.double_word import two_product, two_sum
from mialeak.discrete._tradeoff import EnclosedTradeOff
from mialeak.populations import Register
from mialeak.special import (
    binom_excess,
    binom_logpmf,
    binom_mad,
    binom_sf,
    binom_shortfall,
    hypergeom_logpmf,
    hypergeom_mad,
    hypergeom_sf,
)
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = [
    "DROP",
    "MOST_OUTCOMES",
    "Sample",
    "cell_leakage",
    "curve_of",
    "refuse_outcomes",
    "register_atoms",
    "register_leakage",
    "register_min_samples",
    "register_tradeoff",
    "sampled_tradeoff",
]

_hypergeom_excess = ufunc("hypergeom_excess", "E(H - c)+ of a hypergeometric count H.")

#: Cell sizes computed at a time: up to 30 ms.
_SIZES = BLOCK // 4

#: Outcomes (cell size, count) of a curve, at most: 1 s, 0.5 GB.
MOST_OUTCOMES = 2**22

#: Counts of probability e^-60 on either side are left out where there are more outcomes than that.
DROP = 60.0


#: Of a product of leakages, each with 4 eps.
_STEP_ROUNDING = 1e-14


class Sample:
    """How a register is sampled: the law of the sampled people of a cell."""

    def __init__(self, register: Register, n: Any) -> None:
        self.people = register.people
        self.rate = register.rate
        if self.rate is not None:
            if n is not None:
                remedy = "A register without rate= takes the number of people drawn"
                invalid("n", "be left out for a Register with a rate", value=n, remedy=remedy)
            self.share = Fraction(self.rate)
            return
        most = self.people - 1
        if n is None:
            rule = f"be given, between 1 and {most:,}, for a Register without a rate"
            invalid("n", rule, error=TypeError)
        self.n = as_count(n, "n", least=1)
        if self.n > most:
            rule = f"be at most {most:,}, one less than the people of the register"
            invalid("n", rule, value=self.n, remedy="In a sample of all there is nobody to be out")
        self.share = Fraction(self.n, self.people)

    def logpmf(self, h: Any, size: FloatArray) -> FloatArray:
        if self.rate is not None:
            return np.asarray(binom_logpmf(h, size, self.rate))
        return np.asarray(hypergeom_logpmf(h, self.people, size, self.n))

    def mad(self, size: FloatArray) -> FloatArray:
        if self.rate is not None:
            return np.asarray(binom_mad(size, self.rate))
        return np.asarray(hypergeom_mad(self.people, size, self.n))

    def excess(self, high: FloatArray, low: FloatArray, size: FloatArray) -> FloatArray:
        """``E(H - high - low)+``"""
        if self.rate is not None:
            value = binom_excess(high, size, self.rate)
            return np.asarray(value - low * binom_sf(_below(high, low), size, self.rate))
        value = _hypergeom_excess(high, self.people, size, self.n)
        return np.asarray(value - low * hypergeom_sf(_below(high, low), self.people, size, self.n))

    def shortfall(self, high: FloatArray, low: FloatArray, size: FloatArray) -> FloatArray:
        """``E(high + low - H)+``; of a sample of n, the excess of those of other cells."""
        if self.rate is not None:
            value = binom_shortfall(high, size, self.rate)
            at_most = np.where(low > 0.0, np.floor(high), np.ceil(high) - 1.0)
            return np.asarray(value + low * binom_sf(size - 1.0 - at_most, size, 1.0 - self.rate))
        threshold, low_word = two_sum(float(self.n), -high)
        threshold, low_word = two_sum(threshold, low_word - low)
        others = self.people - size
        value = _hypergeom_excess(threshold, self.people, others, self.n)
        tail = hypergeom_sf(_below(threshold, low_word), self.people, others, self.n)
        return np.asarray(value - low_word * tail)


def _below(high: FloatArray, low: FloatArray) -> FloatArray:
    """The h for which ``P(H > h)`` is the slope of the excess at ``high + low``."""
    return np.where(low < 0.0, np.ceil(high) - 1.0, high)


def cell_leakage(sample: Sample, size: FloatArray, gamma: float) -> FloatArray:
    """Leakage of a target in a cell of each size, sizes of at least 1."""
    share, weight = sample.share, Fraction(gamma)
    if gamma == 1.0:
        values = sample.mad(size) / (2.0 * size) / float(share * (1 - share))
    else:
        mixed = 1 - share + weight * share
        part = weight * share / mixed  # c = part * size
        high, low = two_product(size, float(part))
        high, low = two_sum(high, low + size * float(part - Fraction(float(part))))
        if gamma > 1.0:
            one = size * float(1 - part) <= 1.0  # c >= size - 1
            values = np.exp(sample.logpmf(size, size)) / float(share)
            moment: Any = sample.excess
            factor = mixed / (share * (1 - share))
        else:
            one = size * float(part) <= 1.0  # c <= 1
            values = np.exp(sample.logpmf(0.0, size)) / float(1 - share)
            moment = sample.shortfall
            factor = mixed / (weight * share * (1 - share))
        if not one.all():
            inner = moment(high[~one], low[~one], size[~one])
            values[~one] = inner / size[~one] * float(factor)
    values[size == 1.0] = 1.0
    return np.clip(values, 0.0, 1.0)


def register_leakage(register: Register, n: Any, gamma: float, workers: int) -> float | FloatArray:
    """The leakage of a random person of the register, for each of the sizes `n` of the sample."""
    if n is None or isinstance(n, int) or not (hasattr(n, "__len__") or hasattr(n, "__array__")):
        return _sums(register, [Sample(register, n)], gamma, workers)[0]
    if register.rate is not None:
        Sample(register, n)  # refuses n
    sizes = as_counts(n, "n", least=1)
    samples = [Sample(register, each) for each in sizes.ravel().tolist()]
    return np.array(_sums(register, samples, gamma, workers)).reshape(sizes.shape)


def _sums(register: Register, samples: list[Sample], gamma: float, workers: int) -> list[float]:
    def reduce(job: tuple[Sample, slice]) -> float:
        sample, block = job
        size = register.cell_sizes[block].astype(np.float64)
        people = (register.cell_sizes[block] * register.cells_per_size[block]).astype(np.float64)
        return math.fsum((people * cell_leakage(sample, size, gamma)).tolist())

    starts = range(0, register.cell_sizes.size, _SIZES)
    jobs = ((sample, slice(start, start + _SIZES)) for sample in samples for start in starts)
    parts: list[list[float]] = [[] for _ in samples]
    for job, part in enumerate(map_blocks(reduce, jobs, workers)):
        parts[job // len(starts)].append(part)
    return [min(math.fsum(each) / register.people, 1.0) for each in parts]


def register_atoms(register: Register, n: Any, gamma: float) -> FloatArray:
    """The leakage of a target in each cell, in the order of the cells; 1 in an empty one."""
    if register.counts is None:
        remedy = "Pass the counts as an array or a memory map"
        invalid("p", "be a Register that holds its cells, not one of an iterator", remedy=remedy)
    sample = Sample(register, n)
    leakage = cell_leakage(sample, register.cell_sizes.astype(np.float64), gamma)
    leakage = np.concatenate([[1.0], leakage])
    sizes = np.concatenate([[0], register.cell_sizes])
    return leakage[np.searchsorted(sizes, register.counts)]


def register_min_samples(register: Register, leakage: float, gamma: float) -> int:
    """The smallest n such that every sample of n to N - n people leaks at most `leakage`.

    n times the leakage of n rows does not fall with n: who drops a random row from a sample of
    n + 1 has a sample of n of the same world, or with probability 1/(n + 1), the target being the
    one that is dropped, one without it.  So sizes from n leakage(n) / leakage to n leak no more
    than `leakage` if n does not, and those below n/2 are searched downward by such steps, none of
    which passes over a size that leaks more.
    """
    if register.rate is not None or gamma != 1.0:
        case = "for a Register with a rate" if gamma == 1.0 else "for a Register and this gamma"
        why = "its samples have no size" if gamma == 1.0 else "its leakage may rise and fall with n"
        remedy = "Call max_leakage for each rate, or each n, that you can choose from"
        unsupported("min_samples", case, why, remedy, error=TypeError)

    def leaks(n: int) -> float:
        return float(register_leakage(register, n, 1.0, 1))

    n = register.people // 2
    value = leaks(n)
    if value > leakage:
        rule = f"be reached by a sample of half of the people, {n:,}, which leaks {value!r}"
        remedy = "Larger samples leak as much as the people left out of them"
        invalid("leakage", rule, value=leakage, remedy=remedy)
    while n > 1:
        lowest = max(math.ceil(n * value / leakage * (1.0 + _STEP_ROUNDING)), 1)
        n = min(lowest, n)
        below = leaks(n - 1) if n > 1 else math.inf
        if below > leakage:
            return n
        n, value = n - 1, below
    return 1


def register_tradeoff(register: Register, n: Any) -> PiecewiseTradeOff | EnclosedTradeOff:
    """The curve of the optimal attack on the counts of a sample, target a random person."""
    return sampled_tradeoff([(register, Sample(register, n))])


def sampled_tradeoff(
    strata: Sequence[tuple[Register, Sample]],
) -> PiecewiseTradeOff | EnclosedTradeOff:
    """The same for samples of several registers, each published: the target is in one of them."""
    total = sum(register.people for register, _ in strata)
    ranges = [_support(register, sample) for register, sample in strata]
    exact = sum(float((most - least + 1.0).sum()) for least, most in ranges) <= MOST_OUTCOMES
    if not exact:
        likely = [_likely(register, sample) for register, sample in strata]
        ranges = [
            (np.maximum(least, low), np.minimum(most, high))
            for (least, most), (low, high) in zip(ranges, likely, strict=True)
        ]
        refuse_outcomes(sum(float((most - least + 1.0).sum()) for least, most in ranges))
    parts = [
        _outcomes(*stratum, *ends, total) for stratum, ends in zip(strata, ranges, strict=True)
    ]
    outcomes = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return curve_of(*outcomes, dropped=0.0 if exact else 2.0 * math.exp(-DROP))


def curve_of(
    p_out: FloatArray, p_in: FloatArray, log_ratio: FloatArray, *, dropped: float
) -> PiecewiseTradeOff | EnclosedTradeOff:
    """The curve of outcomes, which miss a probability of at most `dropped` in either world."""
    if dropped == 0.0:
        return PiecewiseTradeOff._of(corners_of_atoms(p_out, p_in, log_ratio), "exact")
    upper = np.append(p_out, [dropped, 0.0]), np.append(p_in, [0.0, dropped])
    return EnclosedTradeOff(
        PiecewiseTradeOff.from_laws(*upper, kind="bound"),
        PiecewiseTradeOff.from_laws(p_out, p_in, kind="bound"),
    )


def refuse_outcomes(count: float) -> None:
    """Refuse a population whose curve has too many outcomes."""
    if count > MOST_OUTCOMES:
        rule = f"have at most {MOST_OUTCOMES:,} outcomes; this population has {count:,.0f}"
        remedy = "max_leakage(p, n, gamma=exp(epsilon)) is delta at epsilon, for any population"
        invalid("p", rule, remedy=f"For its curve merge large cells; {remedy}")


def _support(register: Register, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """The least and the largest number of sampled people, for each cell size."""
    size = register.cell_sizes.astype(np.float64)
    if sample.rate is not None:
        return np.zeros_like(size), size
    unsampled = float(register.people - sample.n)
    return np.maximum(size - unsampled, 0.0), np.minimum(size, float(sample.n))


def _likely(register: Register, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Counts beyond which either world has probability e^-DROP at most, for each cell size.

    By Bernstein's inequality, ``P(|H - m| >= t) <= exp(-t^2 / (2 (v + t/3)))`` a side with m = f K
    and v = f (1 - f) K, which holds without replacement too (Hoeffding); the two worlds are at most
    1/f and 1/(1 - f) times as likely as H.
    """
    size, share = register.cell_sizes.astype(np.float64), float(sample.share)
    variance = float(sample.share * (1 - sample.share))
    drop = DROP - math.log(variance)
    reach = drop / 3.0 + np.sqrt((drop / 3.0) ** 2 + 2.0 * drop * variance * size)
    return np.floor(share * size - reach), np.ceil(share * size + reach)


def _outcomes(
    register: Register, sample: Sample, least: FloatArray, most: FloatArray, total: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probabilities in the two worlds and log ratios; outcomes of one likelihood ratio as one.

    The ratio depends on h / K alone, whose float64 is the same for equal quotients.
    """
    counts = (most - least + 1.0).astype(np.int64)
    place = np.repeat(np.arange(counts.size), counts)
    h = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts - least, counts)
    size = register.cell_sizes.astype(np.float64)[place]
    people = (register.cell_sizes * register.cells_per_size).astype(np.float64)[place]
    share, others = float(sample.share), float(1 - sample.share)
    with np.errstate(under="ignore"):
        mass = people / total * np.exp(sample.logpmf(h, size))
        p_in, p_out = mass * (h / size) / share, mass * ((size - h) / size) / others
    order = np.argsort(h / size, kind="stable")
    h, size = h[order], size[order]
    p_in, p_out = p_in[order], p_out[order]
    starts = np.flatnonzero(np.append(True, np.diff(h / size) > 0.0))
    p_in, p_out = np.add.reduceat(p_in, starts), np.add.reduceat(p_out, starts)
    h, size = h[starts], size[starts]
    kept = (p_out > 0.0) | (p_in > 0.0)
    kept[[0, -1]] = True  # no float64 is as small as their probability may be
    with np.errstate(divide="ignore"):
        log_ratio = np.log(h) - np.log(size - h) + math.log(others / share)
    return p_out[kept], p_in[kept], log_ratio[kept]
