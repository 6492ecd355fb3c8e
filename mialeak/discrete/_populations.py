"""Who the rows could be: the protocol of populations, and those that are counts of people.

=========  =======================================================================================
Symbol     Meaning
=========  =======================================================================================
n, N, f    people drawn, people in the register, n/N or the rate
q(h)       P(h of the sampled people share the target's cell | out); in, it is q(h - 1)
s, S       panel rows and prior of the target's cell; the same of all cells
=========  =======================================================================================

Strata that are published leak what the target's own does.  Pooled strata with rates: q is the
convolution of the binomial laws of the strata, the target's with one person fewer.

A panel: c is beta-binomial, q = BB(n; s + 1, S - s), and the likelihood ratio
``c (n + S) / (n (c + s))`` rises with c.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, invalid, unsupported
from mialeak._results import Bounds
from mialeak.discrete._beta_binomial import (
    MOST_TERMS,
    WHOLE,
    Law,
    beta_binomial,
    count_window,
    panel_leakage,
)
from mialeak.discrete._register import (
    DROP,
    Sample,
    curve_of,
    refuse_outcomes,
    register_atoms,
    register_leakage,
    register_min_samples,
    register_tradeoff,
    sampled_tradeoff,
)
from mialeak.discrete._sums import as_sizes, shaped
from mialeak.discrete._tradeoff import EnclosedTradeOff
from mialeak.populations import Panel, Register, Stratified
from mialeak.special import binom_logpmf, hypergeom_logpmf
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = ["Curve", "PanelRows", "Population", "RegisterSample", "StratifiedSample"]

IntArray = npt.NDArray[np.int64]

#: Products of a convolution that are computed at most: 10 s or so.
_MOST_PRODUCTS = 2**34

#: Relative error of a leakage, a bound of those measured: 1e-13.
_ROUNDING = 1e-12

Curve = PiecewiseTradeOff | EnclosedTradeOff


class Population(ABC):
    """Who the rows could be, as the functions of this room ask for it."""

    @abstractmethod
    def leakage(
        self, n: Any, gamma: float, *, normalize: bool = False, workers: int = 1
    ) -> float | FloatArray:
        """The largest leakage of n rows, of the shape of n."""

    @abstractmethod
    def atom_leakage(self, n: Any, gamma: float) -> FloatArray:
        """The leakage of a target in each cell."""

    @abstractmethod
    def bounds(self, n: Any, gamma: float) -> Bounds:
        """Two numbers that enclose the largest leakage, of the shape of n."""

    @abstractmethod
    def tradeoff(self, n: Any) -> Curve:
        """The curve of the optimal attack on the counts of n rows, target a random row."""

    @abstractmethod
    def min_samples(self, leakage: float, gamma: float) -> int:
        """The smallest number of rows that leaks at most `leakage`."""


class People(Population):
    """Populations of :mod:`mialeak.populations`: counts of people, no probabilities."""

    @abstractmethod
    def _leakage(self, n: Any, gamma: float, workers: int) -> float | FloatArray:
        """The leakage of a random person, for each of the sizes `n` of the sample."""

    def leakage(
        self, n: Any, gamma: float, *, normalize: bool = False, workers: int = 1
    ) -> float | FloatArray:
        if normalize:
            invalid("normalize", "be False for a population, which holds people")
        return self._leakage(n, gamma, workers)

    def bounds(self, n: Any, gamma: float) -> Bounds:
        value = self._leakage(n, gamma, 1)
        return Bounds(value * (1.0 - _ROUNDING), np.minimum(value * (1.0 + _ROUNDING), 1.0))


class RegisterSample(People):
    """People drawn from a register, without replacement or with a rate."""

    def __init__(self, register: Register) -> None:
        self.register = register

    def _leakage(self, n: Any, gamma: float, workers: int) -> float | FloatArray:
        return register_leakage(self.register, n, gamma, workers)

    def atom_leakage(self, n: Any, gamma: float) -> FloatArray:
        return register_atoms(self.register, n, gamma)

    def tradeoff(self, n: Any) -> Curve:
        return register_tradeoff(self.register, n)

    def min_samples(self, leakage: float, gamma: float) -> int:
        return register_min_samples(self.register, leakage, gamma)


class StratifiedSample(People):
    """Samples of strata, whose counts are published apart or added up."""

    def __init__(self, strata: Stratified) -> None:
        self.strata = strata

    def _samples(self) -> list[tuple[Register, int | None]]:
        return list(zip(self.strata.registers, self.strata.n, strict=True))

    def _leakage(self, n: Any, gamma: float, workers: int) -> float | FloatArray:
        _refuse_n(n)
        if not self.strata.published:
            counts = _counts(self.strata).T.ravel()
            return float(counts @ _pooled_atoms(self.strata, gamma) / self.strata.people)
        return self._apart(gamma, workers)

    def _apart(self, gamma: float, workers: int) -> float:
        """The leakage of the counts by stratum."""
        parts = [
            register.people * float(register_leakage(register, size, gamma, workers))
            for register, size in self._samples()
        ]
        return min(math.fsum(parts) / self.strata.people, 1.0)

    def atom_leakage(self, n: Any, gamma: float) -> FloatArray:
        """Of strata one after the other."""
        _refuse_n(n)
        if not self.strata.published:
            return _pooled_atoms(self.strata, gamma)
        return np.concatenate([register_atoms(*sample, gamma) for sample in self._samples()])

    def bounds(self, n: Any, gamma: float) -> Bounds:
        """Of pooled samples of fixed sizes, above, what the counts by stratum leak; below, what the
        sum of the target's own cell does.
        """
        if _is_exact(self.strata):
            return super().bounds(n, gamma)
        _refuse_n(n)
        upper = self._apart(gamma, 1)
        lower = min(_target_cell(self.strata, gamma), upper) * (1.0 - _ROUNDING)
        return Bounds(lower, min(upper * (1.0 + _ROUNDING), 1.0))

    def tradeoff(self, n: Any) -> Curve:
        _refuse_n(n)
        if not self.strata.published:
            return _pooled_tradeoff(self.strata)
        return sampled_tradeoff([(each, Sample(each, size)) for each, size in self._samples()])

    def min_samples(self, leakage: float, gamma: float) -> NoReturn:
        why = "a Stratified holds people and the number drawn from each stratum"
        remedy = "Call max_leakage for each Stratified that you can choose from"
        unsupported("min_samples", "for strata", why, remedy, error=TypeError)


class PanelRows(People):
    """Rows of a law that is known by a panel."""

    def __init__(self, panel: Panel) -> None:
        self.weights, self.place, self.cells = np.unique(
            panel.weights, return_inverse=True, return_counts=True
        )
        parts = (self.weights * self.cells).tolist()
        self.total = math.fsum(parts)
        low_word = math.fsum([*parts, -self.total])
        #: Weight of all cells but one of each weight, to the last bits also where one has it all.
        self.others = np.maximum((self.total - self.weights) + low_word, 0.0)

    def _leakage(self, n: Any, gamma: float, workers: int) -> float | FloatArray:
        sizes, shape = as_sizes(n)
        parts = self.weights * self.cells / self.total
        atoms = (self._atoms(int(size), gamma) for size in sizes)
        return shaped([min(math.fsum((parts * each).tolist()), 1.0) for each in atoms], shape)

    def atom_leakage(self, n: Any, gamma: float) -> FloatArray:
        return self._atoms(as_count(n, "n", least=1), gamma)[self.place]

    def _atoms(self, n: int, gamma: float) -> FloatArray:
        """Leakage of a target in a cell of each of the weights."""
        if gamma == 1.0:
            return panel_leakage(n, self.weights, self.others)
        leakage, terms = np.zeros(self.weights.size), 0
        for k, (weight, others) in enumerate(self._pairs()):
            first, p_out = beta_binomial(n, weight + 1.0, others)
            terms += p_out.size
            if terms > MOST_TERMS:
                rule = f"have at most {MOST_TERMS:,} outcomes with this n"
                invalid("p", rule, remedy="Merge cells of the panel, or ask about a smaller n")
            c = first + np.arange(float(p_out.size))
            gain = _ratio_above(gamma, c, weight, others, n)
            gain = np.maximum(gain, 0.0) if gamma >= 1.0 else np.maximum(-gain, 0.0) / gamma
            leakage[k] = float(p_out @ gain)
        return np.minimum(leakage, 1.0)

    def _pairs(self) -> Iterator[tuple[float, float]]:
        return zip(self.weights.tolist(), self.others.tolist(), strict=True)

    def tradeoff(self, n: Any) -> Curve:
        size = as_count(n, "n", least=1)
        parts, outcomes = [], 0
        for (weight, others), times in zip(self._pairs(), self.cells.tolist(), strict=True):
            first, law = beta_binomial(size, weight + 1.0, others)
            outcomes += law.size
            refuse_outcomes(outcomes)
            c = first + np.arange(float(law.size))
            excess = _ratio_above(1.0, c, weight, others, size)
            p_out = times * weight / self.total * law
            with np.errstate(divide="ignore", under="ignore"):
                parts.append((p_out, p_out * (1.0 + excess), np.log1p(excess)))
        dropped = 0.0 if size < WHOLE else 4.0 * math.exp(-DROP)
        return curve_of(*map(np.concatenate, zip(*parts, strict=True)), dropped=dropped)

    def min_samples(self, leakage: float, gamma: float) -> NoReturn:
        why = "the leakage of a sample of an unknown law is not known to fall with n"
        remedy = "Call max_leakage for each n that you can choose from"
        unsupported("min_samples", "for a Panel", why, remedy, error=TypeError)


def _refuse_n(n: Any) -> None:
    if n is not None:
        remedy = "A Stratified holds the number drawn from each stratum"
        invalid("n", "be left out for a Stratified", value=n, remedy=remedy)


# ---- strata whose counts are added up ----


def _is_exact(strata: Stratified) -> bool:
    rates = all(register.rate is not None for register in strata.registers)
    return strata.published or rates or len(strata.registers) == 1


def _counts(strata: Stratified) -> IntArray:
    """People by cell (rows) and stratum (columns)."""
    counts = [each.counts for each in strata.registers if each.counts is not None]
    return np.stack(counts, axis=1)


def _columns(strata: Stratified) -> tuple[list[list[int]], list[int]]:
    """The different cells, as people in each stratum, and the number of each."""
    cells, multiplicity = np.unique(_counts(strata), axis=0, return_counts=True)
    return cells.tolist(), multiplicity.tolist()


def _binomial(size: int, rate: float) -> Law:
    first, last = count_window(size, size * rate * (1.0 - rate), size * rate)
    h = np.arange(float(first), last + 1.0)
    with np.errstate(under="ignore"):
        return first, np.exp(binom_logpmf(h, float(size), rate))


def _hypergeometric(people: int, size: int, n: int) -> Law:
    share = n / people
    first, last = count_window(size, size * share * (1.0 - share), size * share)
    h = np.arange(float(first), last + 1.0)
    with np.errstate(under="ignore"):
        return first, np.exp(hypergeom_logpmf(h, float(people), float(size), float(n)))


def _sampled(sample: Sample, size: int) -> Law:
    """The law of the sampled people of a cell."""
    if sample.rate is not None:
        return _binomial(size, sample.rate)
    return _hypergeometric(sample.people, size, sample.n)


def _two_worlds(sample: Sample, size: int) -> tuple[Law, Law]:
    """The same with the target in the cell, in the sample and out of it."""
    if sample.rate is not None:
        first, law = _binomial(size - 1, sample.rate)
        return (first + 1, law), (first, law)
    first, law = (
        _hypergeometric(sample.people - 1, size - 1, sample.n - 1)
        if sample.n > 1
        else (0, np.ones(1))
    )
    return (first + 1, law), _hypergeometric(sample.people - 1, size - 1, sample.n)


def _sum(*laws: Law) -> Law:
    """The law of the sum of independent counts."""
    first, total = 0, np.ones(1)
    for start, law in sorted(laws, key=lambda each: each[1].size):
        if total.size * law.size > _MOST_PRODUCTS:
            rule = "have smaller cells where strata are pooled"
            remedy = "Merge strata of nearly one rate; or publish by stratum, an upper bound"
            invalid("p", rule, remedy=remedy)
        first, total = first + start, np.convolve(total, law)
    return first, total


def _aligned(p_in: Law, p_out: Law) -> tuple[FloatArray, FloatArray]:
    """Probabilities of the same outcomes."""
    first = min(p_in[0], p_out[0])
    size = max(start + law.size for start, law in (p_in, p_out)) - first
    worlds = np.zeros((2, size))
    for world, (start, law) in zip(worlds, (p_in, p_out), strict=True):
        world[start - first : start - first + law.size] = law
    return worlds[0], worlds[1]


def _leaked(p_in: Law, p_out: Law, gamma: float) -> float:
    """``sum (p_in - gamma p_out)+`` for gamma >= 1, ``sum (p_out - p_in / gamma)+`` below."""
    inside, outside = _aligned(p_in, p_out)
    with np.errstate(over="ignore"):
        gain = inside - gamma * outside if gamma >= 1.0 else outside - inside / gamma
    return min(float(gain[gain > 0.0].sum()), 1.0)


def _target_cell(strata: Stratified, gamma: float) -> float:
    """What the pooled count of the target's own cell leaks."""
    samples = [Sample(*each) for each in zip(strata.registers, strata.n, strict=True)]
    leakage = 0.0
    for column, times in zip(*_columns(strata), strict=True):
        laws = [_sampled(sample, size) for sample, size in zip(samples, column, strict=True)]
        for stratum, size in enumerate(column):
            if size:
                others = laws[:stratum] + laws[stratum + 1 :]
                p_in, p_out = _two_worlds(samples[stratum], size)
                leakage += times * size * _leaked(_sum(p_in, *others), _sum(p_out, *others), gamma)
    return leakage / strata.people


def _others(strata: Stratified, column: list[int]) -> Iterator[tuple[int, Law]]:
    """For each stratum with people in the cell, the law of its sum without one of them."""
    sizes: dict[float, int] = {}
    for register, size in zip(strata.registers, column, strict=True):
        assert register.rate is not None
        sizes[register.rate] = sizes.get(register.rate, 0) + size
    laws: dict[float, Law] = {}
    for stratum, register in enumerate(strata.registers):
        rate = register.rate
        if column[stratum] and rate is not None:
            if rate not in laws:
                others = {**sizes, rate: sizes[rate] - 1}
                laws[rate] = _sum(*(_binomial(size, r) for r, size in others.items() if size))
            yield stratum, laws[rate]


def _require_rates(strata: Stratified) -> None:
    if not _is_exact(strata):
        why = "the other cells of a sample of fixed size bear on the target's too"
        remedy = (
            "max_leakage_bounds encloses it; the counts by stratum, published=True, leak at least "
            "as much; registers with rates have an exact answer"
        )
        unsupported("An exact answer", "for pooled strata without rates", why, remedy)


def _pooled_atoms(strata: Stratified, gamma: float) -> FloatArray:
    _require_rates(strata)
    if len(strata.registers) == 1:
        return register_atoms(strata.registers[0], strata.n[0], gamma)
    cells, place = np.unique(_counts(strata), axis=0, return_inverse=True)
    leakage = np.ones(cells.shape)
    for row, column in enumerate(cells.tolist()):
        for stratum, (first, law) in _others(strata, column):
            if gamma == 1.0:  # the law has one peak: the gains telescope
                leakage[row, stratum] = law.max()
            else:
                leakage[row, stratum] = _leaked((first + 1, law), (first, law), gamma)
    return np.minimum(leakage[place.ravel()].T.ravel(), 1.0)


def _pooled_tradeoff(strata: Stratified) -> Curve:
    _require_rates(strata)
    if len(strata.registers) == 1:
        return register_tradeoff(strata.registers[0], strata.n[0])
    parts, outcomes, whole = [], 0, True
    for column, times in zip(*_columns(strata), strict=True):
        whole = whole and max(column) < WHOLE
        for stratum, (_, law) in _others(strata, column):
            outcomes += law.size + 1
            refuse_outcomes(outcomes)
            mass = times * column[stratum] / strata.people
            p_in, p_out = np.append(0.0, law), np.append(law, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_ratio = np.log(p_in) - np.log(p_out)
            kept = (p_in > 0.0) & (p_out > 0.0)  # elsewhere it underflows, but at the ends
            kept[[0, -1]] = True
            parts.append((mass * p_out[kept], mass * p_in[kept], log_ratio[kept]))
    dropped = 0.0 if whole else 2.0 * len(strata.registers) * math.exp(-DROP)
    return curve_of(*map(np.concatenate, zip(*parts, strict=True)), dropped=dropped)


# ---- panels ----


def _ratio_above(gamma: float, c: FloatArray, s: float, others: float, n: int) -> FloatArray:
    """The likelihood ratio ``c (n + S) / (n (c + s))`` less gamma, with S = s + others.

    Near gamma = 1 by its difference from 1, which cancels no more than its terms do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if 0.5 <= gamma <= 2.0:
            above = (c * others - s * (n - c)) / (n * (c + s)) + (1.0 - gamma)
        else:
            above = c / (c + s) * ((n + s + others) / n) - gamma
    return np.where(c == 0.0, -gamma, above)
