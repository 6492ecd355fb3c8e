"""Rows of linked columns: Markov chains of bits, alone or as the sum of two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_float, as_floats, first_index, invalid, require
from mialeak._counts import (
    Releases,
    count_tolerance,
    require_counts,
    require_possible_target,
    require_probability,
)
from mialeak._kernels import chains as kernels
from mialeak._labels import labels_of, require_same_columns
from mialeak.laws._base import Marginal, as_parameter, as_rows
from mialeak.laws._chain_fit import (
    LAGS,
    ChainFit,
    mean_square,
    pairs_of_bits,
    pairs_of_genotypes,
    require_values,
)
from mialeak.laws._counts import log_sums, moments_of_draws
from mialeak.laws._ranges import MOST_IN_RANGES, range_ratios

__all__ = ["Chain"]

#: Largest number of haplotypes of a release: the time of a ratio grows as its root.
_MOST_HAPLOTYPES = 2**31
#: Targets times columns scored at once.
_TARGETS = 1 << 20
#: A correlation may leave the range of its two frequencies by this much: rounding.
_ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Chain(Marginal):
    """Linked columns: each row is a Markov chain of bits, or the sum of two.

    Parameters
    ----------
    start : float
        Probability of a one in the first column.
    after_zero, after_one : array_like, shape (d - 1,)
        Probability of a one in each next column, after a zero and after a one.
    ploidy : {1, 2}, optional
        2 for unphased genotypes: a row is the sum of two independent chains, with values 0, 1, 2.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments of each column; the last two are NaN where a column does not vary.
    p : ndarray, shape (d,)
        Probability of a one in each column of a chain: frequencies of alleles.
    fitted : ChainFit or None
        What the fit used, of a chain made by :meth:`fit`.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1] or above 0 and below 2**-1000, shapes do not match, or
        ploidy is not 1 or 2.

    See Also
    --------
    Bernoulli, Genotype : independent columns.
    mialeak.scores.likelihood_ratio_score : the exact score of a release.

    Notes
    -----
    Rows are drawn independently.  The counts of a release are a Markov chain as well: given the
    count c of a column, the set of rows with a one is uniform whatever came before, so that of m
    haplotypes::

        next count = Binomial(c, after_one) + Binomial(m - c, after_zero)

    in the world *out* with ``m = ploidy n``; in the world *in* the same chain of
    ``m = ploidy (n - 1)`` plus the target.  The likelihood ratio is a product of ratios of
    transition probabilities, each a mean under Fisher's non-central hypergeometric law of the
    number of ones in both columns.

    Real haplotypes are no chains of first order; ``fit(rows).fitted`` compares correlations.

    **Accuracy.**  Ratios are relatively accurate to about 1e-14, with terms of one sign only.

    **Cost.**  About 24 standard deviations of the number of ones in both columns for each column
    and release: 0.1 to 1 us.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Chain
    >>> law = Chain(0.3, [0.1, 0.2], [0.8, 0.7])
    >>> np.round(law.p, 3), np.round(law.correlation, 3)
    (array([0.3  , 0.31 , 0.355]), array([0.694, 0.483]))
    >>> np.round(law.log_likelihood_ratio([0.5, 0.5, 0.25], target=[1, 1, 0], n=4), 4)
    array([0.5108, 0.1712, 0.6032])
    """

    start: Any
    after_zero: Any
    after_one: Any
    ploidy: int = 1
    p: FloatArray = field(init=False, repr=False)
    fitted: ChainFit | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        start = as_floats(self.start, "start")
        if start.ndim:
            rule = "be one number, the probability of a one in the first column"
            remedy = "Chain.from_correlation takes the probabilities of all columns"
            invalid("start", f"{rule}; its shape is {start.shape}", remedy=remedy)
        require_probability(start, "start")
        set_field = object.__setattr__
        for name in ("after_zero", "after_one"):
            given = getattr(self, name)
            after = np.empty(0) if np.size(given) == 0 else as_parameter(given, name)
            require_probability(after, name)
            set_field(self, name, after)
        zero, one = self.after_zero, self.after_one
        if zero.size != one.size:
            rule = f"have as many entries as after_zero, {zero.size}, one for each step"
            invalid("after_one", f"{rule}; its shape is {one.shape}")
        set_field(self, "start", float(start))
        set_field(self, "ploidy", as_count(self.ploidy, "ploidy", least=1, most=2))
        p = np.full(zero.size + 1, float(start))
        for j in range(zero.size):
            p[j + 1] = zero[j] * (1.0 - p[j]) + one[j] * p[j]
        p.flags.writeable = False
        set_field(self, "p", np.minimum(p, 1.0))

    @classmethod
    def from_correlation(cls, p: Any, correlation: Any, *, ploidy: int = 1) -> Chain:
        """The chain with these probabilities and correlations of neighbouring columns.

        Parameters
        ----------
        p : array_like, shape (d,)
            Probability of a one in each column.
        correlation : array_like, shape (d - 1,) or a number
            Correlation of each column with the next (of alleles: r, the root of r^2, with a sign).
        ploidy : {1, 2}, optional
            As for the class.

        Raises
        ------
        ValueError
            If no two bits have these probabilities and this correlation; the message states the
            range of a correlation.

        Examples
        --------
        >>> from mialeak.laws import Chain
        >>> Chain.from_correlation([0.3, 0.3], 0.9).after_one
        array([0.93])
        """
        named = labels_of(p)
        p = as_parameter(p, "p")
        require_probability(p, "p")
        r = as_floats(correlation, "correlation", finite=True)
        if r.shape not in ((), (p.size - 1,)):
            rule = f"be a number or have {p.size - 1} entries, one for each two neighbours"
            invalid("correlation", f"{rule}; its shape is {r.shape}")
        r = np.broadcast_to(r, p.size - 1)
        here, there = p[:-1], p[1:]
        shift = r * np.sqrt(here * (1.0 - here) * there * (1.0 - there))
        both = here * there
        low, high = np.maximum(here + there - 1.0, 0.0) - both, np.minimum(here, there) - both
        good = (low - _ROUNDED <= shift) & (shift <= high + _ROUNDED)
        if not good.all():
            (j,) = first_index(~good)
            spread = np.sqrt(here[j] * (1.0 - here[j]) * there[j] * (1.0 - there[j]))
            rule = (
                f"be between {low[j] / spread:.4g} and {high[j] / spread:.4g}, as of bits with the "
                f"probabilities {here[j]:.4g} and {there[j]:.4g}"
            )
            invalid("correlation", rule, index=j, value=float(r[j]))
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(here > 0.0, there + shift / here, there)
            zero = np.where(here < 1.0, there - shift / (1.0 - here), there)
        law = cls(p[0], np.clip(zero, 0.0, 1.0), np.clip(one, 0.0, 1.0), ploidy)
        return law._named(named)

    @classmethod
    def fit(cls, rows: Any, *, ploidy: int = 1, smoothing: float = 1.0) -> Chain:
        """The chain with the transition frequencies of `rows`, shape (n0, d).

        Parameters
        ----------
        rows : array_like, shape (n0, d)
            Haplotypes, 0 and 1; with ``ploidy=2`` unphased genotypes 0, 1 and 2.  At least 2, in
            the order of the genome, and not those of the release.
        ploidy : {1, 2}, optional
            2 for genotypes.  Of two neighbouring columns the phase of a row with 1 in both is
            unknown: its probability is estimated by expectation-maximisation.
        smoothing : float, optional
            Haplotypes with independent columns that are added to those of the rows.  With 0, what
            does not occur in the rows counts as impossible.

        Returns
        -------
        Chain
            With the report ``fitted``.

        Raises
        ------
        ValueError
            If a value is missing or another than those of the ploidy, or rows are fewer than 2.

        Notes
        -----
        Results that are exact for the true law hold for the estimated law only as n0 grows.

        Examples
        --------
        >>> import numpy as np
        >>> from mialeak.laws import Chain
        >>> law = Chain.fit([[0, 0], [0, 0], [1, 1], [0, 1]], smoothing=0.0)
        >>> law.start, np.round(law.after_zero, 3), law.after_one
        (0.25, array([0.333]), array([1.]))
        """
        ploidy = as_count(ploidy, "ploidy", least=1, most=2)
        smoothing = as_float(smoothing, "smoothing")
        require(np.array(smoothing >= 0.0), np.array(smoothing), "smoothing", "be at least 0")
        data = as_rows(rows, 2)
        require_values(data, ploidy)
        size = float(ploidy * len(data))
        p = (data.sum(axis=0) + 0.5 * smoothing) / (size + smoothing)
        bits = np.stack([1.0 - p, p])
        added = (smoothing * bits[:, None, :-1] * bits[None, :, 1:]).reshape(4, -1)
        pairs = (pairs_of_bits if ploidy == 1 else pairs_of_genotypes)(data, added)
        from_zero, from_one = pairs[0] + pairs[1], pairs[2] + pairs[3]
        with np.errstate(invalid="ignore"):
            zero = np.where(from_zero > 0.0, pairs[1] / from_zero, p[1:])
            one = np.where(from_one > 0.0, pairs[3] / from_one, p[1:])
        law = cls(p[0], np.minimum(zero, 1.0), np.minimum(one, 1.0), ploidy)
        constant = np.flatnonzero(np.ptp(data, axis=0) == 0.0)
        inside = [part[part > 0.0] for part in (from_zero, from_one)]
        lags = tuple(lag for lag in LAGS if lag < data.shape[1])
        report = ChainFit(
            rows=len(data),
            smoothing=smoothing,
            constant_columns=tuple(constant.tolist()),
            least_haplotypes=float(min((part.min() for part in inside if part.size), default=size)),
            lags=lags,
            correlation=tuple(mean_square(data, lag) for lag in lags),
            chain_correlation=tuple(law._mean_square(lag) for lag in lags),
            ploidy=ploidy,
        )
        object.__setattr__(law, "fitted", report)
        return law._named(labels_of(rows))

    def _named(self, labels: tuple[Any, ...] | None) -> Chain:
        if labels is not None and len(labels) == self.size:
            object.__setattr__(self, "_labels", labels)
        return self

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """Means of the columns."""
        return np.asarray(self.ploidy * self.p)

    @property
    def std(self) -> FloatArray:  # type: ignore[override]
        """Standard deviations of the columns."""
        return np.asarray(np.sqrt(self.ploidy * self.p * (1.0 - self.p)))

    @property
    def skewness(self) -> FloatArray:  # type: ignore[override]
        """Standardised third cumulants of the columns."""
        return moments_of_draws(self.p, 1.0 - self.p, self.ploidy)[0]

    @property
    def excess_kurtosis(self) -> FloatArray:  # type: ignore[override]
        """Standardised fourth cumulants of the columns."""
        return moments_of_draws(self.p, 1.0 - self.p, self.ploidy)[1]

    @property
    def correlation(self) -> FloatArray:
        """Correlation of each column with the next, shape (d - 1,); NaN beside a constant one.

        That of columns further apart is the product of those between them.
        """
        variance = self.p * (1.0 - self.p)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(variance[:-1] / variance[1:])
            return np.asarray((self.after_one - self.after_zero) * scale)

    def _mean_square(self, lag: int) -> float:
        """Mean squared correlation of columns `lag` apart."""
        r = np.nan_to_num(self.correlation, posinf=0.0, neginf=0.0)
        product = np.prod([r[i : r.size - lag + 1 + i] for i in range(lag)], axis=0)
        return float(np.mean(product**2))

    def log_likelihood_ratio(
        self, releases: Any, target: Any, n: int, *, until: Any = None
    ) -> FloatArray:
        """Log likelihood ratio of each column given those before, in against out.

        Parameters
        ----------
        releases : array_like, shape (T, d) or (d,)
            Means of n rows.
        target : array_like, shape (d,)
            The row that is among them in the world *in*.
        n : int
            Rows of the release, the target included; at least 2.
        until : array_like, shape of `releases`, optional
            Where a release states ranges of means alone, their upper ends; `releases` are the lower
            ones, both included.  Of a frequency rounded to 0.01 they are 0.005 less and more, of an
            answer that an allele is present 1/n and the ploidy, that it is absent 0 and 0.

        Returns
        -------
        ndarray, shape (T, d) or (d,)
            Exact; -inf where the release is impossible with the target.  Their sum is the score.

        Raises
        ------
        ValueError
            If shapes do not match, a row is impossible, or haplotypes with `until` exceed 10,000.
        ArithmeticError
            If ranges have next to no probability.

        Notes
        -----
        **Accuracy** with `until`: errors below 1e-12.  **Cost** for 500 haplotypes: 5 ms for an
        answer, 0.2 ms for a rounded mean.

        Examples
        --------
        >>> import numpy as np
        >>> from mialeak.laws import Chain
        >>> law = Chain(0.3, [0.1, 0.2], [0.8, 0.7])
        >>> answers = np.array([1, 1, 0])  # of a beacon of three people
        >>> ratio = law.log_likelihood_ratio(answers / 3, [1, 1, 0], 3, until=answers)
        >>> np.round(ratio, 4)
        array([0.4201, 0.1272, 1.0591])
        """
        if until is None:
            return super().log_likelihood_ratio(releases, target, n)
        require_same_columns(law=self, target=target, releases=releases, until=until)
        n = as_count(n, "n", least=2, most=MOST_IN_RANGES // self.ploidy)
        row = as_floats(target, "target", finite=True)
        if row.shape != (self.size,):
            invalid("target", f"have {self.size} entries; its shape is {row.shape}")
        return range_ratios(self, releases, until, self._possible(row, n), n)

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        ratios = self._ratios(self._counts(releases, n), self._possible(target, n)[None], n)[:, 0]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(ratios))

    def _scores(self, releases: Releases, targets: FloatArray, n: int) -> FloatArray:
        """Log likelihood ratios, shape (T, t), by sums with the same bits on every machine."""
        for target in targets:
            self._possible(target, n)
        counts, out = self._counts(releases, n), np.empty((len(releases.rows), len(targets)))
        if len(targets) == 1:
            out[:, 0] = log_sums(self._ratios(counts, targets, n)[:, 0])
            return out
        step = max(1, _TARGETS // self.size)
        for row, count in enumerate(counts):
            for first in range(0, len(targets), step):
                place = slice(first, first + step)
                out[row, place] = log_sums(self._ratios(count[None], targets[place], n)[0])
        return out

    def _ratios(self, counts: FloatArray, targets: FloatArray, n: int) -> FloatArray:
        """Likelihood ratio of each column given those before, shape (releases, targets, d)."""
        ploidy, size = self.ploidy, float(self.ploidy * n)
        states, columns = (ploidy + 1) ** 2, self.size - 1
        table = np.empty((states, len(counts), columns))
        if columns:
            kernels.transition_ratios(ploidy, size, counts, self.after_zero, self.after_one, table)
        z = targets.astype(np.intp)
        state = (ploidy + 1) * z[:, :-1] + z[:, 1:]
        ratios = np.empty((len(counts), len(targets), self.size))
        ratios[:, :, 1:] = table[state, :, np.arange(columns)].transpose(2, 0, 1)
        ratios[:, :, 0] = self._first_ratio(counts[:, 0], size)[z[:, 0]].T
        return ratios

    def _first_ratio(self, count: FloatArray, size: float) -> FloatArray:
        """Likelihood ratio of the first column, for each value of a target."""
        p, q, zeros = self.start, 1.0 - self.start, size - count
        if self.ploidy == 1:
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

    def _counts(self, releases: Releases, n: int) -> FloatArray:
        """Counts of ones of releases; raises for what is no mean of n rows, or impossible."""
        n = as_count(n, "n", least=2, most=_MOST_HAPLOTYPES // self.ploidy)
        given, size = n * np.asarray(releases.rows, np.float64), float(self.ploidy * n)
        counts = np.rint(given)
        slack = count_tolerance(releases.rows.dtype, n)
        good = (np.abs(counts - given) <= slack) & (counts >= 0.0) & (counts <= size)
        values = "0 or 1" if self.ploidy == 1 else "0, 1 or 2"
        remedy = "Means that were rounded take their ranges: pass until="
        releases.require(good, f"be the mean of {n} rows of {values}", remedy)
        here, there = counts[:, :-1], counts[:, 1:]
        zero, one = self.after_zero, self.after_one
        first = counts[:, :1]
        possible = (self.start > 0.0) | (first == 0.0)
        possible = np.where(self.start < 1.0, possible, first == size)
        low = np.maximum(there - (size - here), np.where(one == 1.0, here, 0.0))
        low = np.maximum(low, np.where(zero == 0.0, there, 0.0))
        high = np.minimum(np.minimum(here, there), np.where(one == 0.0, 0.0, np.inf))
        high = np.minimum(high, np.where(zero == 1.0, there - (size - here), np.inf))
        possible = np.concatenate([possible, low <= high], axis=1)
        releases.require(possible, "be possible after the count of the column before")
        return np.ascontiguousarray(counts)

    def _possible(self, target: FloatArray, n: int) -> FloatArray:
        """The target; raises if it has another value, or probability 0."""
        require_counts(target, self.ploidy)
        chance = self._chances(target)
        if chance[0] == 0.0:
            require_possible_target(chance[:1] > 0.0, target, self.p)
        if not chance.all():
            j = int(np.argmin(chance > 0.0))
            zero, one = float(self.after_zero[j - 1]), float(self.after_one[j - 1])
            remedy = (
                f"With after_zero[{j - 1}] = {zero!r} and after_one[{j - 1}] = {one!r} no row has "
                f"it after {target[j - 1]:g}"
            )
            invalid("target", "be possible", index=j, value=target[j], remedy=remedy)
        return target

    def _chances(self, target: FloatArray) -> FloatArray:
        """Probability of each entry of a row given the one before."""
        after = [self.after_zero, self.after_one]
        bits = [[1.0 - chance for chance in after], after]  # bits[y][x]: y after x
        before, now = target[:-1], target[1:]
        chances = np.zeros(target.shape)
        if self.ploidy == 1:
            start = [1.0 - self.start, self.start]
            for x in (0, 1):
                for y in (0, 1):
                    chances[1:] += bits[y][x] * ((before == x) & (now == y))
        else:
            p, q = self.start, 1.0 - self.start
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

    def _innovation(self, target: FloatArray) -> float:
        """Squared distances of the entries from what those before let expect, in variances.

        Over n, about the variance of the log likelihood ratio, for many rows.
        """
        p, zero, one = self.p, self.after_zero, self.after_one
        means = np.append(self.ploidy * p[0], self.ploidy * zero + target[:-1] * (one - zero))
        within = (1.0 - p[:-1]) * zero * (1.0 - zero) + p[:-1] * one * (1.0 - one)
        variances = self.ploidy * np.append(p[0] * (1.0 - p[0]), within)
        varied = variances > 0.0
        return float(np.sum((target - means)[varied] ** 2 / variances[varied]))

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        out[...] = 0.0
        for _ in range(self.ploidy):
            ones = rng.random(len(out)) < self.start
            out[:, 0] += ones
            for j, (zero, one) in enumerate(zip(self.after_zero, self.after_one, strict=True)):
                ones = rng.random(len(out)) < np.where(ones, one, zero)
                out[:, j + 1] += ones

    def _draw_counts(
        self, rng: np.random.Generator, rows: int, rounds: int
    ) -> npt.NDArray[np.int64]:
        """Counts of ones of `rows` rows, by their transitions: shape (d, rounds)."""
        size = self.ploidy * rows
        counts = np.empty((self.size, rounds), np.int64)
        counts[0] = rng.binomial(size, self.start, rounds)
        for j, (zero, one) in enumerate(zip(self.after_zero, self.after_one, strict=True)):
            counts[j + 1] = rng.binomial(counts[j], one)
            counts[j + 1] += rng.binomial(size - counts[j], zero)
        return counts
