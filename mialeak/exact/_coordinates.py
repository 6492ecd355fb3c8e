"""What each coordinate of a release can be: outcomes in a row, their probabilities and log ratios.

A coordinate's outcomes are numbered by a count k.  A family holds many coordinates of one kind; it
knows the range of k that matters and evaluates any selection of (coordinate, k) at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from mialeak._arrays import FloatArray, invalid, require
from mialeak._counts import require_counts, require_genotype, require_possible_target
from mialeak._numerics.lattice import sum_law
from mialeak._numerics.noncentral import deviance_share, twist
from mialeak.laws import Bernoulli, Genotype, Joint, Lattice, Marginal, Normal, Presence
from mialeak.special import binom_logpmf

__all__ = ["Family", "NormalPart", "families_of", "log_of"]

IntArray = npt.NDArray[np.int64]

#: Rows at most: of all laws, for twice a count to be exact in float64; and where every count of a
#: column is listed.
_MOST_ROWS, _MOST_LISTED = 2**50, 2**24
#: Listed outcomes less likely than this have lost their relative accuracy to underflow; a value of
#: the target less likely than that leaves no room for the outcomes beside the likeliest.
_LEAST, _LEAST_VALUE = 1e-290, 1e-250
#: Standard deviations from the mean of a normal column at most: the curve has long been 1, and the
#: exponents of its law still have digits behind the point.
_FARTHEST = 1e5


class Family(ABC):
    """Coordinates of one kind, each distinct one kept once.

    Attributes
    ----------
    copies : (G,) ndarray
        Coordinates that each stands for.
    centre, spread : (G,) ndarray
        Mean and standard deviation of the count, out.
    ratio_spread : (G,) ndarray
        Standard deviation of the log ratio, about.
    bend : (G,) ndarray
        How far from a lattice the log ratios are, ``spread^2 l''/l'``; 0 if not known.
    last : (G,) ndarray
        Largest count; the smallest is 0.
    lost, kept : (G,) ndarray
        Probability, out, of an outcome that the target makes impossible; one minus that.
    least, most : (G,) ndarray
        Smallest and largest log ratio.
    highest : (G,) ndarray
        The largest that any outcome has, however unlikely, or a bound of it.
    faint : (G,) ndarray
        Probability, out, of listed outcomes that are left out because they underflow.
    ruled_out : bool
        Whether some outcome, however unlikely, rules the target out.
    smooth : bool
        Whether probability and ratio are smooth in the count.
    """

    copies: FloatArray
    centre: FloatArray
    spread: FloatArray
    ratio_spread: FloatArray
    bend: FloatArray
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
    def outcomes(self, which: IntArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probability and log ratio (any number where the probability is 0) of counts in range."""

    def reach(self, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and last count within so many standard deviations, by Bernstein's inequality."""
        w = deviations * deviations
        away = w / 6.0 + np.hypot(w / 6.0, deviations * self.spread)
        low = np.maximum(np.floor(self.centre - away), 0.0)
        return low, np.minimum(np.ceil(self.centre + away), self.last)


def log_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Log of ``p = 1 - q``, of which the smaller has its digits."""
    with np.errstate(divide="ignore"):
        return np.where(p < 0.5, np.log(p), np.log1p(-q))


class _Bits(Family):
    """Bits: the count is that of rows unlike (like) the target's bit if that is the likelier."""

    smooth = True

    def __init__(self, own: FloatArray, other: FloatArray, n: int):
        pairs, copies = np.unique(np.stack([own, other], axis=1), axis=0, return_counts=True)
        own, other = pairs.T
        self.copies = copies.astype(np.float64)
        self._n = float(n)
        self._own = own
        self._flipped = own > 0.5  # the count is then of the other value
        self._p = np.where(self._flipped, other, own)
        self.centre = n * self._p
        self.spread = np.sqrt(n * own * other)
        self.last = np.full(own.shape, float(n))
        self.ratio_spread = np.sqrt(other / (n * own))
        self.bend = other
        self.least, self.most = -np.log(n * own), -np.log(own)
        self.highest = self.most
        log_lost = n * log_of(other, own)
        self.lost, self.kept = np.exp(log_lost), -np.expm1(log_lost)

    def outcomes(self, which: IntArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight = np.exp(binom_logpmf(k, self._n, self._p[which]))
        mean = self.centre[which]
        # log of (rows like the target) / (their expected number), by its deviation
        flipped, own = self._flipped[which], self._n * self._own[which]
        away = np.where(flipped, mean - k, k - mean) / own
        none = np.where(flipped, k == self._n, k == 0.0)
        ratio = np.log1p(np.where(none, 0.0, away))
        return np.where(none, 0.0, weight), ratio


class _Genotypes(Family):
    """Sums of 2n draws, the target's share 0, 1 or 2 of them."""

    def __init__(self, p: FloatArray, target: FloatArray, n: int):
        q = 1.0 - p
        # p and target, or 1 - p and 2 - target
        turned = (target == 2.0) | ((target == 1.0) & (p > 0.5))
        p, q, target = (
            np.where(turned, q, p),
            np.where(turned, p, q),
            np.where(turned, 2.0 - target, target),
        )
        rows, copies = np.unique(np.stack([p, q, target], axis=1), axis=0, return_counts=True)
        self._p, self._q, self._target = p, q, target = rows.T
        self.copies = copies.astype(np.float64)
        self._draws = 2.0 * n
        self.centre, self.spread = 2.0 * n * p, np.sqrt(2.0 * n * p * q)
        self.last = np.full(p.shape, 2.0 * n)
        hetero = np.abs(q - p) / np.sqrt(2.0 * n * p * q) + 1.0 / (2.0 * n)
        self.ratio_spread = np.where(self._target == 1.0, hetero, np.sqrt(2.0 * p / (n * q)))
        self.bend = np.where(self._target == 1.0, 0.5, p)
        every = np.arange(p.size)
        one = self._target == 1.0
        most = np.where(one, float(n), 0.0)
        self.most = self.highest = self.outcomes(every, most)[1]
        ends = np.where(one, 1.0, 2.0 * n - 2.0), 2.0 * n - np.where(one, 1.0, 2.0)
        self.least = np.minimum(*(self.outcomes(every, end)[1] for end in ends))
        log_p, log_q = log_of(p, q), log_of(q, p)
        none, full = 2.0 * n * log_q, 2.0 * n * log_p
        single = np.logaddexp(full, np.log(2.0 * n) + log_q + (2.0 * n - 1.0) * log_p)
        log_lost = np.where(one, np.logaddexp(none, full), single)
        self.lost = np.exp(log_lost)
        # at least two of the other allele: without the cancellation
        self.kept = np.where(one, -np.expm1(log_lost), betainc(2.0, 2.0 * n - 1.0, q))

    def outcomes(self, which: IntArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        p, q, draws = self._p[which], self._q[which], self._draws
        one, rare = self._target[which] == 1.0, p <= q
        weight = np.exp(binom_logpmf(np.where(rare, k, draws - k), draws, np.where(rare, p, q)))
        # How many more draws there are of the other allele than expected, by the rarer of the two.
        more = np.where(rare, draws * p - k, (draws - k) - draws * q)
        again = np.where(rare, (draws - 1.0) * p - k, (draws - 1.0 - k) - (draws - 1.0) * q)
        first = np.where(one, -more / (draws * p), more / (draws * q))
        second = np.where(one, again + 1.0, again) / ((draws - 1.0) * q)
        none = np.where(one, (k == 0.0) | (k == draws), k >= draws - 1.0)
        ratio = np.log1p(np.where(none, 0.0, first)) + np.log1p(np.where(none, 0.0, second))
        return np.where(none, 0.0, weight), ratio


class _Listed(Family):
    """Outcomes that were worked out one by one."""

    def __init__(
        self, laws: list[tuple[FloatArray, FloatArray]], copies: FloatArray, own: FloatArray
    ):
        """`laws`: the probabilities out and in of a coordinate's outcomes; `own` the target's."""
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
        self.bend = np.zeros(sizes.shape)
        self.least = np.minimum.reduceat(self._ratio, self._first[:-1])
        self.most = np.maximum.reduceat(self._ratio, self._first[:-1])
        # No outcome is likelier than that with the target in it by more than 1/own.
        self.faint = np.array([_LEAST * np.count_nonzero(out <= _LEAST) for out, _ in laws])
        faint = self.faint > 0.0
        self.highest = np.where(faint, -np.log(own), self.most)
        self.ruled_out = bool(np.any(faint) or np.any(self.lost > 0.0))

    def _mean(self, values: FloatArray) -> FloatArray:
        total = np.add.reduceat(self._weight, self._first[:-1])
        return np.asarray(np.add.reduceat(self._weight * values, self._first[:-1]) / total)

    def reach(self, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """All of them."""
        return np.zeros(self.last.shape), self.last

    def outcomes(self, which: IntArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = self._first[which] + k.astype(np.int64)
        return self._weight[at], self._ratio[at]


class NormalPart:
    """All normal coordinates together: ``K(s)`` in closed form.

    With u = 1 + s/(n-1), Q the squared distance of the target and d their number ::

        K(s) = s ((d/2) log(n/(n-1)) + Q/2) - (d/2) log u - (n Q/2) (1 - 1/u)
    """

    def __init__(self, columns: int, distance: float, n: int):
        self.columns, self.distance, self.n = columns, distance, n
        self._rest = n - 1.0
        self._slope = 0.5 * (columns * np.log1p(1.0 / self._rest) + distance)
        self._pull = 0.5 * n * distance

    @property
    def ratio_spread(self) -> float:
        """Standard deviation of their log ratio, out."""
        return float(self.local(0.0)[2] ** 0.5)

    @property
    def most(self) -> float:
        """The largest log ratio."""
        return float(self._slope)

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K, K', K''``."""
        rest, whole = self._rest, self._rest + theta
        half, far = 0.5 * self.columns, 0.5 * self.distance
        # (s - log(1 + s)) / s^2: times d/2, the difference of two logarithms would lose digits.
        one, all_ = (float(deviance_share(s, 1.0 + s)) for s in (1.0 / rest, theta / rest))
        # The terms in Q put together: they cancel, wholly where theta is 1.
        k = half * theta / rest**2 * (theta * all_ - one) + far * theta * (theta - 1.0) / whole
        first = half / rest * (theta / whole - one / rest)
        first += far * (theta * (rest + whole) - rest) / whole**2
        second = half / whole**2 + 2.0 * far * (self.n / whole) * (rest / whole) / whole
        return float(k), float(first), float(second)

    def wave(self, theta: float, t: FloatArray) -> npt.NDArray[np.complex128]:
        """``e^(K(theta + it) - K(theta) - i t K'(theta))``."""
        u = 1.0 + theta / self._rest
        y = t / (self._rest * u)
        bend = 0.5 * np.log1p(y * y) - 1j * twist(y)  # log(1 + iy) - iy
        exponent = -0.5 * self.columns * bend - self._pull / u * y * y / (1.0 + 1j * y)
        return np.asarray(np.exp(exponent))


def families_of(
    marginals: Marginal, target: FloatArray, n: int
) -> tuple[list[Family], NormalPart | None]:
    """The coordinates that say anything about the target, by kind."""
    parts = marginals.parts if isinstance(marginals, Joint) else (marginals,)
    families: list[Family] = []
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


def _families(part: Marginal, target: FloatArray, n: int) -> list[Family]:
    if n > _MOST_ROWS:
        invalid("n", "be at most 2**50 here", value=n)
    if isinstance(part, (Bernoulli, Presence)):
        return _bits(part, target, n)
    if isinstance(part, Genotype):
        require_genotype(target, part.p)
        free = (part.p > 0.0) & (part.p < 1.0)
        if not free.any():
            return []
        p, row = part.p[free], target[free]
        q = 1.0 - p
        own = np.where(row == 1.0, 2.0 * p * q, np.where(row == 2.0, p, q) ** 2)
        _require_likely(own, row)
        if part.decimals is None:
            return [_Genotypes(p, row, n)]
        return [_rounded(p, row, n, part.decimals)]
    if not isinstance(part, Lattice):
        kind = type(part).__name__
        invalid("marginals", f"be of the laws of mialeak.laws, not {kind}", error=TypeError)
    return [_lattice(part, target, n)]


def _require_likely(own: FloatArray, target: Any) -> None:
    rule = f"have values whose probability is at least {_LEAST_VALUE:g}"
    require(own >= _LEAST_VALUE, target, "target", rule)


def _bits(part: Bernoulli | Presence, target: FloatArray, n: int) -> list[Family]:
    require_counts(target, 1)
    p = part.p
    one, zero = (p, 1.0 - p) if isinstance(part, Bernoulli) else (p * (2.0 - p), (1.0 - p) ** 2)
    own, other = np.where(target == 1.0, one, zero), np.where(target == 1.0, zero, one)
    require_possible_target(own > 0.0, target, p)
    _require_likely(own, target)
    free = other > 0.0
    return [_Bits(own[free], other[free], n)] if free.any() else []


def _rounded(p: FloatArray, target: FloatArray, n: int, decimals: int) -> Family:
    """Genotypes whose mean is published with so many decimals: counts in cells."""
    if n > _MOST_LISTED:
        rule = f"be at most {_MOST_LISTED} for genotypes with decimals: every count is listed"
        invalid("n", rule, value=n)
    ten = 10**decimals
    if 8 * n * ten >= 2**62:
        invalid("decimals", f"be fewer for n = {n}: such means are not rounded", value=decimals)
    k = np.arange(2 * n + 1)
    cell, left = np.divmod(k * ten, n)
    cell += (2 * left > n) | ((2 * left == n) & (cell % 2 == 1))
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    pairs, copies = np.unique(np.stack([p, target], axis=1), axis=0, return_counts=True)
    laws = []
    for share, z in pairs.tolist():
        out = np.exp(binom_logpmf(k, 2 * n, share))
        inside = np.exp(binom_logpmf(k - int(z), 2 * n - 2, share))
        inside[(k < z) | (k - z > 2 * n - 2)] = 0.0
        laws.append((np.add.reduceat(out, starts), np.add.reduceat(inside, starts)))
    share, z = pairs.T
    own = np.where(
        z == 1.0, 2.0 * share * (1.0 - share), np.where(z == 2.0, share, 1.0 - share) ** 2
    )
    return _Listed(laws, copies.astype(np.float64), own)


def _lattice(part: Lattice, target: FloatArray, n: int) -> Family:
    """Sums of n values on a lattice, by direct convolution."""
    laws: list[tuple[FloatArray, FloatArray]] = []
    copies: list[float] = []
    own: list[float] = []
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
        some = _possible(dense > 0.0, n)
        laws.append((np.convolve(before, dense)[some], inside[some]))
        copies.append(1.0)
        own.append(float(chances[at[0]]))
    return _Listed(laws, np.array(copies), np.array(own))


def _possible(values: npt.NDArray[np.bool_], n: int) -> npt.NDArray[np.bool_]:
    """Which sums of n values there are, however unlikely."""
    if values.all():
        return np.ones(n * (values.size - 1) + 1, bool)
    total = np.ones(1, bool)
    for bit in bin(n)[2:]:
        for more in (total, values)[: 1 + int(bit)]:
            last = total.size + more.size - 1
            size = 1 << last.bit_length()
            ways = np.fft.irfft(np.fft.rfft(total, size) * np.fft.rfft(more, size), size)
            total = ways[:last] > 0.5
    return total
