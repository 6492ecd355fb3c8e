"""Outcomes of the coordinates of a release, with their probabilities and log ratios.

The outcomes of a coordinate are numbered by a count k.  A family holds the coordinates of one kind:
it computes the range of likely counts and evaluates any selection of (coordinate, k) at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from mialeak._arrays import FloatArray, invalid, require
from mialeak._checks.means.categories import warn_of_categories
from mialeak._checks.means.frequencies import require_likely_counts, warn_of_chromosomes
from mialeak._checks.means.genotypes import (
    require_counts,
    require_genotype,
    require_possible_target,
)
from mialeak._numerics.lattice import sum_law
from mialeak._numerics.noncentral import deviance_share, twist
from mialeak.laws import Bernoulli, Genotype, Joint, Lattice, Marginal, Normal, Presence
from mialeak.special import binom_logpmf

__all__ = ["CoordinateFamily", "NormalPart", "families_of", "log_of"]

IntArray = npt.NDArray[np.int64]
Parameters = Sequence[npt.NDArray[Any]]

#: Largest numbers of rows: of all laws, so that twice a count is exact in float64; and where every
#: count of a column is listed.
_MOST_ROWS, _MOST_LISTED = 2**50, 2**24
#: Listed outcomes less likely than the first lose relative accuracy by underflow.  If P(target
#: value) is below the second, neighbouring outcomes underflow: such targets are refused.
_LEAST, _LEAST_VALUE = 1e-290, 1e-250
#: Largest distance of the target from the mean of a normal column, in standard deviations: the
#: curve is 1 well before, and beyond it the exponents of the law lose their fractional digits.
_FARTHEST = 1e5


class CoordinateFamily(ABC):
    """Coordinates of one kind; equal coordinates are stored once.

    Attributes
    ----------
    copies : (G,) ndarray
        Number of equal coordinates.
    centre, spread : (G,) ndarray
        Mean and standard deviation of the count, out.
    ratio_spread : (G,) ndarray
        Approximate standard deviation of the log ratio.
    curvature : (G,) ndarray
        Deviation of the log ratios from a lattice, ``spread^2 l''/l'``; 0 if not known.
    last : (G,) ndarray
        Largest count; the smallest is 0.
    lost, kept : (G,) ndarray
        Probability, out, of the outcomes that the target makes impossible; 1 - lost.
    least, most : (G,) ndarray
        Smallest and largest log ratio.
    highest : (G,) ndarray
        Largest log ratio of outcomes of any positive probability, or an upper bound.
    faint : (G,) ndarray
        Upper bound on the probability, out, of listed outcomes omitted because they underflow.
    ruled_out : bool
        Whether an outcome of positive probability rules the target out.
    smooth : bool
        Whether probability and ratio are smooth in the count.
    """

    copies: FloatArray
    centre: FloatArray
    spread: FloatArray
    ratio_spread: FloatArray
    curvature: FloatArray
    last: FloatArray
    lost: FloatArray
    kept: FloatArray
    least: FloatArray
    most: FloatArray
    highest: FloatArray
    faint: FloatArray | float = 0.0
    ruled_out: bool = True
    smooth: bool = False

    @abstractmethod
    def parameters(self, which: IntArray) -> Parameters:
        """What :meth:`outcomes` must know of the coordinates `which`: arrays of its shape."""

    @abstractmethod
    def outcomes(self, known: Parameters, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probability and log ratio of counts in range; the ratio is arbitrary where P = 0."""

    def reach(self, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and last count for a number of standard deviations, by Bernstein's inequality."""
        w = deviations * deviations
        away = w / 6.0 + np.hypot(w / 6.0, deviations * self.spread)
        low = np.maximum(np.floor(self.centre - away), 0.0)
        return low, np.minimum(np.ceil(self.centre + away), self.last)


def log_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Log of ``p = 1 - q``, from the smaller of p and q."""
    with np.errstate(divide="ignore"):
        return np.where(p < 0.5, np.log(p), np.log1p(-q))


def _distinct(*columns: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """The distinct rows of the columns in lexicographic order, and how often each occurs."""
    order = np.lexsort(columns[::-1])
    columns = tuple(column[order] for column in columns)
    changes = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    first = np.flatnonzero(np.concatenate([[True], changes]))
    copies = np.diff(first, append=order.size).astype(np.float64)
    return [column[first] for column in columns], copies


class _Bits(CoordinateFamily):
    """Bits: the count is of rows with the rarer value of the target's column."""

    smooth = True

    def __init__(self, p_target: FloatArray, other: FloatArray, n: int):
        (p_target, other), self.copies = _distinct(p_target, other)
        self._n = float(n)
        self._p_target = p_target
        self._flipped = p_target > 0.5  # count the rows with the other value
        self._p = np.where(self._flipped, other, p_target)
        self.centre = n * self._p
        self.spread = np.sqrt(n * p_target * other)
        self.last = np.full(p_target.shape, float(n))
        self.ratio_spread = np.sqrt(other / (n * p_target))
        self.curvature = other
        self.least, self.most = -np.log(n * p_target), -np.log(p_target)
        self.highest = self.most
        log_lost = n * log_of(other, p_target)
        self.lost, self.kept = np.exp(log_lost), -np.expm1(log_lost)

    def parameters(self, which: IntArray) -> Parameters:
        expected = self._n * self._p_target[which]
        return self._p[which], self.centre[which], self._flipped[which], expected

    def outcomes(self, known: Parameters, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        p, mean, flipped, expected = known
        weight = np.exp(binom_logpmf(k, self._n, p))
        # log of (rows like the target) / (their expected number), by its deviation
        away = np.where(flipped, mean - k, k - mean) / expected
        none = np.where(flipped, k == self._n, k == 0.0)
        ratio = np.log1p(np.where(none, 0.0, away))
        return np.where(none, 0.0, weight), ratio


class _Genotypes(CoordinateFamily):
    """Genotypes: counts of alleles among 2n draws, of which the target has 0, 1 or 2."""

    def __init__(self, p: FloatArray, target: FloatArray, n: int):
        q = 1.0 - p
        # p and target, or 1 - p and 2 - target
        turned = (target == 2.0) | ((target == 1.0) & (p > 0.5))
        p, q, target = (
            np.where(turned, q, p),
            np.where(turned, p, q),
            np.where(turned, 2.0 - target, target),
        )
        (p, q, target), self.copies = _distinct(p, q, target)
        self._p, self._q, self._target = p, q, target
        self._draws = 2.0 * n
        self.centre, self.spread = 2.0 * n * p, np.sqrt(2.0 * n * p * q)
        self.last = np.full(p.shape, 2.0 * n)
        hetero = np.abs(q - p) / np.sqrt(2.0 * n * p * q) + 1.0 / (2.0 * n)
        self.ratio_spread = np.where(self._target == 1.0, hetero, np.sqrt(2.0 * p / (n * q)))
        self.curvature = np.where(self._target == 1.0, 0.5, p)
        one = self._target == 1.0
        most = np.where(one, float(n), 0.0)
        self.most = self.highest = self.outcomes((p, q, one), most)[1]
        ends = np.where(one, 1.0, 2.0 * n - 2.0), 2.0 * n - np.where(one, 1.0, 2.0)
        self.least = np.minimum(*(self.outcomes((p, q, one), end)[1] for end in ends))
        log_p, log_q = log_of(p, q), log_of(q, p)
        none, full = 2.0 * n * log_q, 2.0 * n * log_p
        single = np.logaddexp(full, np.log(2.0 * n) + log_q + (2.0 * n - 1.0) * log_p)
        log_lost = np.where(one, np.logaddexp(none, full), single)
        self.lost = np.exp(log_lost)
        # P(at least two of the other allele), without the cancellation
        self.kept = np.where(one, -np.expm1(log_lost), betainc(2.0, 2.0 * n - 1.0, q))

    def parameters(self, which: IntArray) -> Parameters:
        return self._p[which], self._q[which], self._target[which] == 1.0

    def outcomes(self, known: Parameters, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        p, q, one = known
        draws, rare = self._draws, p <= q
        weight = np.exp(binom_logpmf(np.where(rare, k, draws - k), draws, np.where(rare, p, q)))
        # Excess of the other allele over its mean, computed from the rarer allele.
        more = np.where(rare, draws * p - k, (draws - k) - draws * q)
        again = np.where(rare, (draws - 1.0) * p - k, (draws - 1.0 - k) - (draws - 1.0) * q)
        first = np.where(one, -more / (draws * p), more / (draws * q))
        second = np.where(one, again + 1.0, again) / ((draws - 1.0) * q)
        none = np.where(one, (k == 0.0) | (k == draws), k >= draws - 1.0)
        ratio = np.log1p(np.where(none, 0.0, first)) + np.log1p(np.where(none, 0.0, second))
        return np.where(none, 0.0, weight), ratio


class _Listed(CoordinateFamily):
    """Coordinates whose outcomes are listed one by one."""

    def __init__(
        self, laws: list[tuple[FloatArray, FloatArray]], copies: FloatArray, p_target: FloatArray
    ):
        """`laws` are the probabilities, out and in; `p_target` those of the target's values."""
        self.copies = copies
        kept, self.lost, self.kept = [], np.empty(len(laws)), np.empty(len(laws))
        for place, (out, inside) in enumerate(laws):
            both = (out > _LEAST) & (inside > 0.0)
            self.lost[place] = out[(out > _LEAST) & ~both].sum()
            self.kept[place] = out[both].sum()
            kept.append((out[both], np.log(inside[both] / out[both])))
        sizes = np.array([out.size for out, _ in kept])
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        self._weight = np.concatenate([out for out, _ in kept])
        self._ratio = np.concatenate([ratio for _, ratio in kept])
        self.last = sizes - 1.0
        index = np.concatenate([np.arange(size) for size in sizes]).astype(np.float64)
        self.centre = self._mean(index)
        self.spread = np.sqrt(self._mean((index - np.repeat(self.centre, sizes)) ** 2))
        mean = np.repeat(self._mean(self._ratio), sizes)
        self.ratio_spread = np.sqrt(self._mean((self._ratio - mean) ** 2))
        self.curvature = np.zeros(sizes.shape)
        self.least = np.minimum.reduceat(self._ratio, self._first[:-1])
        self.most = np.maximum.reduceat(self._ratio, self._first[:-1])
        # P(in)/P(out) of an outcome is at most 1/p_target.
        self.faint = np.array([_LEAST * np.count_nonzero(out <= _LEAST) for out, _ in laws])
        faint = self.faint > 0.0
        self.highest = np.where(faint, -np.log(p_target), self.most)
        self.ruled_out = bool(np.any(faint) or np.any(self.lost > 0.0))

    def _mean(self, values: FloatArray) -> FloatArray:
        total = np.add.reduceat(self._weight, self._first[:-1])
        return np.asarray(np.add.reduceat(self._weight * values, self._first[:-1]) / total)

    def reach(self, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """All counts."""
        return np.zeros(self.last.shape), self.last

    def parameters(self, which: IntArray) -> Parameters:
        return (self._first[which],)

    def outcomes(self, known: Parameters, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        (first,) = known
        at = first + k.astype(np.int64)
        return self._weight[at], self._ratio[at]


class NormalPart:
    """The sum of all normal coordinates, with ``K(s)`` in closed form.

    With u = 1 + s/(n-1), Q the squared distance of the target and d their number ::

        K(s) = s ((d/2) log(n/(n-1)) + Q/2) - (d/2) log u - (n Q/2) (1 - 1/u)
    """

    def __init__(self, columns: int, distance: float, n: int):
        self.columns, self.distance, self.n = columns, distance, n
        self._others = n - 1.0
        self._slope = 0.5 * (columns * np.log1p(1.0 / self._others) + distance)
        self._half_distance = 0.5 * n * distance

    @property
    def ratio_spread(self) -> float:
        """Standard deviation of the log ratio, out."""
        return float(self.local(0.0)[2] ** 0.5)

    @property
    def most(self) -> float:
        """The largest log ratio."""
        return float(self._slope)

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K, K', K''``."""
        others, whole = self._others, self._others + theta
        half, far = 0.5 * self.columns, 0.5 * self.distance
        # (s - log(1 + s)) / s^2 without the cancellation of the two terms
        one, all_ = (float(deviance_share(s, 1.0 + s)) for s in (1.0 / others, theta / others))
        # The terms in Q cancel, completely at theta = 1: they are combined first.
        k = half * theta / others**2 * (theta * all_ - one) + far * theta * (theta - 1.0) / whole
        first = half / others * (theta / whole - one / others)
        first += far * (theta * (others + whole) - others) / whole**2
        second = half / whole**2 + 2.0 * far * (self.n / whole) * (others / whole) / whole
        return float(k), float(first), float(second)

    def wave(self, theta: float, t: FloatArray) -> npt.NDArray[np.complex128]:
        """``e^(K(theta + it) - K(theta) - i t K'(theta))``."""
        u = 1.0 + theta / self._others
        y = t / (self._others * u)
        log_part = 0.5 * np.log1p(y * y) - 1j * twist(y)  # log(1 + iy) - iy
        exponent = -0.5 * self.columns * log_part - self._half_distance / u * y * y / (1.0 + 1j * y)
        return np.asarray(np.exp(exponent))


def families_of(
    marginals: Marginal, target: FloatArray, n: int
) -> tuple[list[CoordinateFamily], NormalPart | None]:
    """The coordinates that depend on the target, by kind."""
    parts = marginals.parts if isinstance(marginals, Joint) else (marginals,)
    if len(parts) == 1 and isinstance(parts[0], (Bernoulli, Genotype)):
        copies = 1 if isinstance(parts[0], Bernoulli) else 2
        warn_of_categories(target, parts[0].p, copies)
    families: list[CoordinateFamily] = []
    columns, distance, start = 0, 0.0, 0
    for part in parts:
        row = target[start : start + part.size]
        start += part.size
        if isinstance(part, Normal):
            columns += part.size
            away = np.abs((row - part.mean) / part.std)
            rule = f"be within {_FARTHEST:g} standard deviations of the mean of a normal column"
            require(away <= _FARTHEST, row, "target", rule)
            distance += float(np.sum(away**2))
        else:
            families += _families(part, row, n)
    normal = NormalPart(columns, distance, n) if columns else None
    return families, normal


def _families(part: Marginal, target: FloatArray, n: int) -> list[CoordinateFamily]:
    if n > _MOST_ROWS:
        invalid("n", "be at most 2**50 here", value=n)
    if isinstance(part, (Bernoulli, Presence)):
        return _bits(part, target, n)
    if isinstance(part, Genotype):
        require_genotype(target, part.p)
        warn_of_chromosomes(2.0 * part.p, n)
        free = (part.p > 0.0) & (part.p < 1.0)
        if not free.any():
            return []
        p, row = part.p[free], target[free]
        q = 1.0 - p
        p_target = np.where(row == 1.0, 2.0 * p * q, np.where(row == 2.0, p, q) ** 2)
        _require_likely(p_target, row)
        if part.decimals is None:
            return [_Genotypes(p, row, n)]
        return [_rounded(p, row, n, part.decimals)]
    if not isinstance(part, Lattice):
        kind = type(part).__name__
        invalid("marginals", f"be of the laws of mialeak.laws, not {kind}", error=TypeError)
    return [_lattice(part, target, n)]


def _require_likely(p_target: FloatArray, target: Any) -> None:
    rule = f"have values whose probability is at least {_LEAST_VALUE:g}"
    require(p_target >= _LEAST_VALUE, target, "target", rule)


def _bits(part: Bernoulli | Presence, target: FloatArray, n: int) -> list[CoordinateFamily]:
    require_counts(target, 1)
    p = part.p
    one, zero = (p, 1.0 - p) if isinstance(part, Bernoulli) else (p * (2.0 - p), (1.0 - p) ** 2)
    p_target, other = np.where(target == 1.0, one, zero), np.where(target == 1.0, zero, one)
    require_possible_target(p_target > 0.0, target, p)
    require_likely_counts(target, one, 1)
    _require_likely(p_target, target)
    free = other > 0.0
    return [_Bits(p_target[free], other[free], n)] if free.any() else []


def _rounded(p: FloatArray, target: FloatArray, n: int, decimals: int) -> CoordinateFamily:
    """Genotypes whose mean is rounded to `decimals`: an outcome is a cell of counts."""
    if n > _MOST_LISTED:
        rule = f"be at most {_MOST_LISTED} for genotypes with decimals: every count is listed"
        invalid("n", rule, value=n)
    ten = 10**decimals
    if 8 * n * ten >= 2**62:
        invalid("decimals", f"be fewer for n = {n}: such means are not rounded", value=decimals)
    k = np.arange(2 * n + 1)
    cell, remainder = np.divmod(k * ten, n)
    cell += (2 * remainder > n) | ((2 * remainder == n) & (cell % 2 == 1))
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    (p, target), copies = _distinct(p, target)
    laws = []
    for share, z in zip(p.tolist(), target.tolist(), strict=True):
        out = np.exp(binom_logpmf(k, 2 * n, share))
        inside = np.exp(binom_logpmf(k - int(z), 2 * n - 2, share))
        inside[(k < z) | (k - z > 2 * n - 2)] = 0.0
        laws.append((np.add.reduceat(out, starts), np.add.reduceat(inside, starts)))
    p_target = np.where(
        target == 1.0, 2.0 * p * (1.0 - p), np.where(target == 2.0, p, 1.0 - p) ** 2
    )
    return _Listed(laws, copies, p_target)


def _lattice(part: Lattice, target: FloatArray, n: int) -> CoordinateFamily:
    """Coordinates with values on a lattice; laws of sums by direct convolution."""
    laws: list[tuple[FloatArray, FloatArray]] = []
    copies: list[float] = []
    p_target: list[float] = []
    seen: dict[Any, int] = {}
    for j, (values, chances) in enumerate(zip(part.values, part.probabilities, strict=True)):
        at = np.flatnonzero(np.abs(values - target[j]) <= 1e-9 * (1.0 + np.abs(values)))
        if not at.size or chances[at[0]] == 0.0:
            rule = "be one of the values with positive probability"
            invalid("target", rule, index=j, value=target[j])
        _require_likely(chances[at], target[j])
        key = (values.tobytes(), chances.tobytes(), int(at[0]))
        if key in seen:
            copies[seen[key]] += 1.0
            continue
        seen[key] = len(laws)
        dense = np.zeros(int(part._steps[j, -1]) + 1)
        dense[part._steps[j]] = chances
        before = sum_law(dense, n - 1)
        place = int(part._steps[j, at[0]])
        inside = np.zeros(before.size + dense.size - 1)
        inside[place : place + before.size] = before
        possible = _possible(dense > 0.0, n)
        laws.append((np.convolve(before, dense)[possible], inside[possible]))
        copies.append(1.0)
        p_target.append(float(chances[at[0]]))
    return _Listed(laws, np.array(copies), np.array(p_target))


def _possible(values: npt.NDArray[np.bool_], n: int) -> npt.NDArray[np.bool_]:
    """Which sums of n values are possible, however unlikely."""
    if values.all():
        return np.ones(n * (values.size - 1) + 1, bool)
    total = np.ones(1, bool)
    for bit in bin(n)[2:]:
        for more in (total, values)[: 1 + int(bit)]:
            last = total.size + more.size - 1
            size = 1 << last.bit_length()
            sums = np.fft.irfft(np.fft.rfft(total, size) * np.fft.rfft(more, size), size)
            total = sums[:last] > 0.5
    return total
