"""Laws of coordinates that are counts: bits, genotypes, and presence of an allele."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_count,
    invalid,
)
from mialeak._checks.means.frequencies import MOST_ROWS, require_likely_counts
from mialeak._checks.means.genotypes import (
    Releases,
    bit_probabilities,
    refuse_answers_of_genotypes,
    require_counts,
    require_genotype,
    require_genotype_means,
    require_possible_target,
)
from mialeak._kernels import scores as sums
from mialeak._numerics.draws import binomial_draw, draw_means
from mialeak.laws._base import Marginal, as_parameter, as_rows, with_labels
from mialeak.special import binom_logpmf

__all__ = [
    "Bernoulli",
    "Genotype",
    "Presence",
    "moments_of_draws",
]

#: With so many 2 expected among genotypes there is one.
_TWOS = 30.0
#: 1/p**2 overflows for p < 2**-500; such p are scaled by 2**500 first.
_RARE, _RAISED = 2.0**-500, 2.0**500


class _Probability(Marginal):
    """A law whose parameter is one probability per coordinate."""

    p: Any

    def __post_init__(self) -> None:
        given, p = self.p, bit_probabilities(as_parameter(self.p, "p"), "p")
        p.flags.writeable = False
        object.__setattr__(self, "p", p)
        with_labels(self, p=given)

    #: A value is a sum of this many bits.
    _bits: ClassVar[int] = 1

    @property
    def _chances(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities that a bit is one and zero."""
        return self.p, 1.0 - self.p

    @property
    def std(self) -> FloatArray:  # type: ignore[override]
        """Standard deviation."""
        return np.asarray(np.sqrt(self._bits * self.p * (1.0 - self.p)))

    @property
    def skewness(self) -> FloatArray:  # type: ignore[override]
        """Standardised third cumulant."""
        return moments_of_draws(*self._chances, self._bits)[0]

    @property
    def excess_kurtosis(self) -> FloatArray:  # type: ignore[override]
        """Standardised fourth cumulant."""
        return moments_of_draws(*self._chances, self._bits)[1]

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        p = self._chances[0]
        draw_means(rng, binomial_draw(self._bits, p), np.zeros(p.size), np.ones(p.size), 1, out)


def moments_of_draws(
    one: FloatArray, zero: FloatArray, draws: int
) -> tuple[FloatArray, FloatArray]:
    """Skewness and excess kurtosis of Binomial(draws, one), zero = 1 - one; NaN if constant."""
    variance = one * zero
    with np.errstate(divide="ignore", invalid="ignore"):
        safe = np.where(variance > 0.0, variance, np.nan)
        return (zero - one) / np.sqrt(draws * safe), (1.0 - 6.0 * variance) / (draws * safe)


def _bit_log_ratio(
    releases: Releases, target: FloatArray, one: FloatArray, zero: FloatArray, p: FloatArray
) -> FloatArray:
    """Log of release/one or (1 - release)/zero, with the probabilities `one` and `zero`."""
    require_counts(target, 1)
    chance = np.where(target == 1.0, one, zero)
    require_possible_target(chance > 0.0, target, p)
    require_likely_counts(target, one, 1)
    rows = releases.rows
    releases.require((rows >= 0.0) & (rows <= 1.0), "be between 0 and 1")
    fixed = (one == 0.0) | (zero == 0.0)
    releases.require(
        ~fixed | (rows == target), "be possible; all rows have the same value in this column"
    )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.where(target == 1.0, rows, 1.0 - rows) / chance))


@dataclass(frozen=True, eq=False)
class Bernoulli(_Probability):
    """Independent bits.

    Parameters
    ----------
    p : array_like, shape (d,)
        Probability of a one in each coordinate.  Marks of the carriers of alleles with the
        frequencies p have the law ``Presence(p)``: their probability is p (2 - p).

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments; the last two are NaN where p is 0 or 1.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1], or above 0 and below 2**-1000.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Bernoulli
    >>> law = Bernoulli([0.2, 0.5])
    >>> law.mean, law.std
    (array([0.2, 0.5]), array([0.4, 0.5]))
    >>> np.round(law.log_likelihood_ratio([0.3, 0.4], target=[1, 0], n=10), 4)
    array([0.4055, 0.1823])
    >>> law.easiest_target(), law.hardest_target()
    (array([1., 1.]), array([0., 0.]))
    """

    p: Any

    @classmethod
    def from_data(cls, rows: Any) -> Bernoulli:
        """Bits with the frequencies of ones in `rows`, shape (n0, d), as probabilities.

        Results that are exact for the true law hold for the estimated law only as n0 grows: scores
        shift by about d/n0, and in a column that is constant in the rows every other value counts
        as impossible.  The rows must not be those of the release.
        """
        return with_labels(cls(as_rows(rows, 1, (0.0, 1.0)).mean(axis=0)), rows=rows)

    def easiest_target(self) -> FloatArray:
        """The row that a released mean gives away most: in each column the rarer value.

        1 where ``p <= 1/2``, else 0; shape (d,).
        """
        return np.asarray(self.p <= 0.5, np.float64)

    def hardest_target(self) -> FloatArray:
        """The row that a released mean gives away least: in each column the commoner value.

        1 where ``p > 1/2``, else 0; shape (d,).
        """
        return np.asarray(self.p > 0.5, np.float64)

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """The probabilities."""
        return np.asarray(self.p)

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        return _bit_log_ratio(releases, target, self.p, 1.0 - self.p, self.p)


@dataclass(frozen=True, eq=False)
class Presence(_Probability):
    """Indicators of at least one alternate allele in a diploid genotype.

    Parameters
    ----------
    p : array_like, shape (d,)
        Frequency of the alternate allele in the population; a bit is 1 with probability
        ``p (2 - p)``.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments; the last two are NaN where p is 0 or 1.

    Raises
    ------
    ValueError
        As :class:`Bernoulli`.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Presence
    >>> np.round(Presence([0.1, 0.5]).mean, 2)
    array([0.19, 0.75])
    """

    p: Any

    @classmethod
    def from_data(cls, rows: Any) -> Presence:
        """Indicators with allele frequencies from the frequencies of ones in `rows` (n0, d).

        With the caveat of ``Bernoulli.from_data``.
        """
        share = as_rows(rows, 1, (0.0, 1.0)).mean(axis=0)
        return with_labels(cls(share / (1.0 + np.sqrt(1.0 - share))), rows=rows)

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """Probability of a one."""
        return np.asarray(self.p * (2.0 - self.p))

    @property
    def std(self) -> FloatArray:  # type: ignore[override]
        """Standard deviation."""
        return np.asarray((1.0 - self.p) * np.sqrt(self.mean))

    @property
    def _chances(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, self._zero

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        return _bit_log_ratio(releases, target, self.mean, self._zero, self.p)

    @property
    def _zero(self) -> FloatArray:
        """Probability of a zero, relatively accurate where small."""
        return np.asarray((1.0 - self.p) ** 2)


@dataclass(frozen=True, eq=False)
class Genotype(_Probability):
    """Counts of an alternate allele in a diploid genotype: Binomial(2, p).

    Parameters
    ----------
    p : array_like, shape (d,)
        Frequency of the alternate allele in the population.
    decimals : int, optional
        Decimals to which a released mean count (twice the allele frequency) is rounded, ties to
        the even digit; by default it is not rounded.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments of a count; the last two are NaN where p is 0 or 1.

    Raises
    ------
    ValueError
        As :class:`Bernoulli`, and if `decimals` is not between 0 and 15.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Genotype
    >>> law = Genotype([0.3, 0.7])
    >>> np.round(law.log_likelihood_ratio([0.75, 1.5], target=[1, 2], n=4), 4)
    array([0.2433, 0.0892])
    """

    _bits = 2

    p: Any
    decimals: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decimals is not None:
            object.__setattr__(self, "decimals", as_count(self.decimals, "decimals", most=15))

    @classmethod
    def from_data(cls, rows: Any, *, decimals: int | None = None) -> Genotype:
        """Genotypes with the allele frequencies of `rows`, shape (n0, d).

        With the caveat of ``Bernoulli.from_data``.  Rows without a 2 are refused where 30 would be
        expected.
        """
        data = as_rows(rows, 1, (0.0, 1.0, 2.0))
        p = data.mean(axis=0) / 2.0
        twos = len(data) * float(p @ p)
        if twos > _TWOS and not (data == 2.0).any():
            rule = (
                f"be genotypes; they hold no 2, where {twos:,.0f} are expected, as bits have none"
            )
            invalid("rows", rule, remedy="Pass bits to Bernoulli.from_data or Presence.from_data")
        return with_labels(cls(p, decimals), rows=rows)

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """Twice p."""
        return np.asarray(2.0 * self.p)

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        as_count(n, "n", least=2, most=MOST_ROWS)
        require_genotype(target, self.p)
        if len(releases.rows):
            refuse_answers_of_genotypes(releases.rows[0], self.p, n)
        if self.decimals is None:
            require_genotype_means(releases, n)
            k = np.rint(n * np.asarray(releases.rows, np.float64))
            low = high = k
        else:
            low, high = self._cells(releases, n, self.decimals)
        fixed = (self.p == 0.0) | (self.p == 1.0)
        sure = n * self.mean
        possible = ~fixed | ((low <= sure) & (sure <= high))
        releases.require(possible, "be possible; all rows have the same value in this column")
        ratio = self._mean_ratio(low, high, target, n)
        with np.errstate(divide="ignore"):
            log_ratio = np.log(ratio) + np.where(self._twice_rare(target), np.log(_RAISED) * 2.0, 0)
        return np.where(fixed, 0.0, log_ratio)

    def _twice_rare(self, target: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray((target == 2.0) & (self.p < _RARE))

    def _cells(self, releases: Releases, n: int, decimals: int) -> tuple[FloatArray, FloatArray]:
        """First and last sum of counts whose mean rounds to the release."""
        ten = 10**decimals
        if 8 * n * ten >= 2**62:
            invalid("decimals", f"be fewer for n = {n}: such means are not rounded", value=decimals)
        scaled = np.asarray(releases.rows, np.float64) * ten
        whole = np.rint(scaled)
        eps = float(np.finfo(releases.rows.dtype).eps)
        good = (np.abs(scaled - whole) <= 1e-6 + 8.0 * eps * ten) & (np.abs(whole) <= 2 * ten)
        good |= np.isnan(scaled)
        releases.require(good, f"be between 0 and 2 with at most {decimals} decimals")
        digits = np.where(np.isnan(scaled), 0.0, whole).astype(np.int64)
        odd = digits % 2
        below, above = n * (2 * digits - 1), n * (2 * digits + 1)
        low = -(-below // (2 * ten)) + odd * (below % (2 * ten) == 0)
        high = above // (2 * ten) - odd * (above % (2 * ten) == 0)
        low, high = np.maximum(low, 0), np.minimum(high, 2 * n)
        rule = f"be the mean of {n} counts 0, 1 or 2, rounded to {decimals} decimals"
        releases.require(low <= high, rule)
        return low.astype(np.float64), high.astype(np.float64)

    def _mean_ratio(
        self, low: FloatArray, high: FloatArray, target: FloatArray, n: int
    ) -> FloatArray:
        """Mean likelihood ratio over the counts low..high, weighted by their probabilities out.

        For a target with 2 copies of a very rare allele, the ratio over ``_RAISED**2``.
        """
        p = np.where((self.p > 0.0) & (self.p < 1.0), self.p, 0.5)
        chance = np.where(self._twice_rare(target), p * _RAISED, p)
        draws = 2.0 * n
        steps = int(np.max(high - low, initial=0.0)) + 1
        if steps == 1:
            return _draw_ratio(low, target, chance, draws)
        top = np.clip(np.rint(draws * p), low, high)
        height = binom_logpmf(top, draws, p)
        total, weighted = np.zeros(low.shape), np.zeros(low.shape)
        for step in range(steps):
            k = np.minimum(low + step, high)
            weight = np.exp(binom_logpmf(k, draws, p) - height) * (low + step <= high)
            total += weight
            weighted += weight * _draw_ratio(k, target, chance, draws)
        return weighted / total


def _draw_ratio(k: FloatArray, target: FloatArray, p: FloatArray, draws: float) -> FloatArray:
    """P(k - z; draws - 2)/P(k; draws), of binomial laws."""
    first = np.where(target > 0.0, k, draws - k) / (draws * np.where(target > 0.0, p, 1.0 - p))
    second = np.where(target == 2.0, k - 1.0, np.where(target == 1.0, draws - k, draws - k - 1.0))
    return np.asarray(first * (second / ((draws - 1.0) * np.where(target > 1.0, p, 1.0 - p))))


def log_sums(ratios: FloatArray) -> FloatArray:
    """Sums of the logarithms of rows of ratios, with the same bits on every machine.

    The kernel takes numbers up to 1: those of a column are divided by a power of two.
    """
    columns, out = ratios.shape[1], np.empty(len(ratios))
    scale = np.exp2(np.clip(np.frexp(ratios.max(axis=0, initial=0.0))[1], 0, 1000))
    table = np.zeros((3, sums.padded_columns(columns)))
    table[0], table[2] = 1.0, 1.0
    table[0, :columns], table[1, :columns], table[2, :columns] = 0.0, 1.0, scale
    sums.log_linear_sums(ratios / scale, table, out)
    return out
