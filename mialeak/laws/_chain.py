"""Rows of linked columns: Markov chains of bits, alone or as the sum of two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_float,
    as_floats,
    first_index,
    invalid,
    require,
)
from mialeak._checks.means.frequencies import hardy_weinberg_ratio
from mialeak._checks.means.genotypes import (
    Releases,
    bit_probabilities,
    count_tolerance,
    require_counts,
    require_possible_target,
)
from mialeak._labels import labels_of, require_same_columns
from mialeak.laws._base import Marginal, as_parameter, as_rows
from mialeak.laws._chain_fit import (
    LAGS,
    ChainFit,
    mean_square,
    require_values,
    second_order_gain,
    steps_of,
    tables_of,
)
from mialeak.laws._counts import moments_of_draws
from mialeak.laws._first_order import FirstOrder
from mialeak.laws._ranges import MOST_IN_RANGES, noisy_ratios, range_ratios
from mialeak.laws._second_order import SecondOrder

__all__ = ["Chain"]

#: A correlation may leave the range of its two frequencies by this much: rounding.
_ROUNDED = 1e-12
#: The square of a smaller probability may underflow.
_ROOT_OF_LEAST = 2.0**-500


@dataclass(frozen=True, eq=False)
class Chain(Marginal):
    """Linked columns: each row is a Markov chain of bits, or the sum of two.

    Parameters
    ----------
    start : float
        Probability of a one in the first column.
    after_zero, after_one : array_like, shape (d - 1,) or (d - 1, 2)
        Probability of a one in each next column, after a zero and after a one.  Two columns make a
        chain of second order: column k is the probability after the value k two columns back.  The
        first step has no such value: its two entries must be equal.
    ploidy : {1, 2}, optional
        2 for unphased genotypes: a row is the sum of two independent chains, with values 0, 1, 2.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments of each column; the last two are NaN where a column does not vary.
    p : ndarray, shape (d,)
        Probability of a one in each column of a chain: frequencies of alleles.
    order : int
        1, or 2 if a column depends on the two before it.  With equal columns the order is 1, and
        `after_zero` and `after_one` have the shape (d - 1,).
    fitted : ChainFit or None
        What the fit used, of a chain made by :meth:`fit`.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1] or above 0 and below 2**-1000, shapes do not match, the
        first step of a second order depends on a column before it, or ploidy is not 1 or 2.

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

    Of second order, a release does not show the number h of haplotypes with ones in two
    neighbouring columns.  Given h and the counts c and e of both, the four groups of haplotypes by
    their two values are uniform, so that of the column after them, with pkl the probability of a
    one after k and l::

        next h = Binomial(h, p11) + Binomial(e - h, p01)
        next count - next h = Binomial(c - h, p10) + Binomial(m - c - e + h, p00)

    and the probability of the counts is a sum over the hidden h, column by column, in both worlds.

    Real haplotypes are chains of no order; ``fit(rows).fitted`` compares correlations.

    **Accuracy.**  Relative, of first order about 1e-14 where the odds after a zero and after a one
    differ by less than 1e300; of second order 1e-12.  There the least likely hidden counts are
    omitted; their share in the probability of each release, by those beside them, is below 1e-13.

    **Cost.**  Of first order about 24 standard deviations of the number of ones in both columns for
    each column and release: 0.1 to 1 us.  Of second order, for at most 10,000 haplotypes, the time
    grows as the 3/2 power of their number: 1.5 s for a release of 1,000 columns of 200 haplotypes,
    and for 2,000 releases of 60 columns of 100 haplotypes, as of a drawn curve.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Chain
    >>> law = Chain(0.3, [0.1, 0.2], [0.8, 0.7])
    >>> np.round(law.p, 3), np.round(law.correlation, 3)
    (array([0.3  , 0.31 , 0.355]), array([0.694, 0.483]))
    >>> np.round(law.log_likelihood_ratio([0.5, 0.5, 0.25], target=[1, 1, 0], n=4), 4)
    array([0.5108, 0.1712, 0.6032])

    A one is likelier after two ones than after a zero and a one:

    >>> law = Chain(0.3, [[0.1, 0.1], [0.2, 0.4]], [[0.8, 0.8], [0.5, 0.9]])
    >>> law.order, np.round(law.p, 3)
    (2, array([0.3  , 0.31 , 0.401]))
    >>> np.round(law.log_likelihood_ratio([0.5, 0.5, 0.25], target=[1, 1, 0], n=4), 4)
    array([0.5108, 0.1712, 1.5079])
    """

    start: Any
    after_zero: Any
    after_one: Any
    ploidy: int = 1
    p: FloatArray = field(init=False, repr=False)
    fitted: ChainFit | None = field(init=False, repr=False, default=None)
    _steps: FirstOrder | SecondOrder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        start = as_floats(self.start, "start")
        if start.ndim:
            rule = "be one number, the probability of a one in the first column"
            remedy = "Chain.from_correlation takes the probabilities of all columns"
            invalid("start", f"{rule}; its shape is {start.shape}", remedy=remedy)
        start = bit_probabilities(start, "start")
        set_field = object.__setattr__
        for name in ("after_zero", "after_one"):
            set_field(self, name, _as_steps(getattr(self, name), name))
        zero, one = self.after_zero, self.after_one
        if zero.shape != one.shape:
            rule = f"have as many entries as after_zero, {zero.size}, one for each step"
            if zero.ndim == 2:
                rule = f"have the shape of after_zero, {zero.shape}"
            invalid("after_one", f"{rule}; its shape is {one.shape}")
        if zero.ndim == 2:
            for name, step in (("after_zero", zero[0].tolist()), ("after_one", one[0].tolist())):
                if step[0] != step[1]:
                    rule = f"be {step[0]!r}, as {name}[0, 0]"
                    remedy = "Of the first step both are equal: no column is two columns back"
                    invalid(name, rule, index=(0, 1), value=step[1], remedy=remedy)
            if (zero[:, 0] == zero[:, 1]).all() and (one[:, 0] == one[:, 1]).all():
                for name in ("after_zero", "after_one"):
                    set_field(self, name, _as_steps(getattr(self, name)[:, 0], name))
                zero, one = self.after_zero, self.after_one
        set_field(self, "start", float(start))
        set_field(self, "ploidy", as_count(self.ploidy, "ploidy", least=1, most=2))
        steps = (FirstOrder if zero.ndim == 1 else SecondOrder)(self.start, zero, one, self.ploidy)
        set_field(self, "_steps", steps)
        steps.p.flags.writeable = False
        set_field(self, "p", steps.p)

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
        p = bit_probabilities(as_parameter(p, "p"), "p")
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
    def fit(cls, rows: Any, *, ploidy: int = 1, smoothing: float = 1.0, order: int = 1) -> Chain:
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
        order : {1, 2}, optional
            2 for columns that depend on the two before them, by the frequencies of three
            neighbouring columns; at least 3 rows and columns.

        Returns
        -------
        Chain
            With the report ``fitted``.

        Raises
        ------
        ValueError
            If a value is missing or another than those of the ploidy, or rows are too few.

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
        order = as_count(order, "order", least=1, most=2)
        data = as_rows(rows, order + 1)
        if data.shape[1] <= order and order > 1:
            invalid("rows", f"have at least 3 columns with order=2; its shape is {data.shape}")
        require_values(data, ploidy)
        size = float(ploidy * len(data))
        p = (data.sum(axis=0) + 0.5 * smoothing) / (size + smoothing)
        tables = [tables_of(data, ploidy, p, smoothing, 2)]
        if order == 2:
            tables.append(tables_of(data, ploidy, p, smoothing, 3))
        zero, one = (steps_of(tables, p, value) for value in (0, 1))
        law = cls(p[0], zero, one, ploidy)
        constant = np.flatnonzero(np.ptp(data, axis=0) == 0.0)
        origins = tables[-1][..., 0, :] + tables[-1][..., 1, :]
        origins = origins[origins > 0.0]
        lags = tuple(lag for lag in LAGS if lag < data.shape[1])
        report = ChainFit(
            rows=len(data),
            smoothing=smoothing,
            constant_columns=tuple(constant.tolist()),
            least_haplotypes=float(np.min(origins, initial=size)),
            lags=lags,
            correlation=tuple(mean_square(data, lag) for lag in lags),
            chain_correlation=tuple(law._steps.mean_square(lag) for lag in lags),
            ploidy=ploidy,
            order=order,
            second_order_gain=second_order_gain(data) if ploidy == 1 else None,
            variance_ratio=hardy_weinberg_ratio(data) if ploidy == 2 else None,
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
    def order(self) -> int:
        """1, or 2 if a column depends on the two before it."""
        return int(self.after_zero.ndim)

    @property
    def correlation(self) -> FloatArray:
        """Correlation of each column with the next, shape (d - 1,); not finite beside a constant.

        In a chain of first order that of columns further apart is the product of those between.
        """
        return self._steps.correlation

    def log_likelihood_ratio(
        self, releases: Any, target: Any, n: int, *, until: Any = None, noise: Any = None
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
        noise : float or array_like, shape (d,), optional
            Standard deviation of independent normal noise on each mean; not with `until`.

        Returns
        -------
        ndarray, shape (T, d) or (d,)
            Exact; -inf where the release is impossible with the target, or may be where it is
            less likely than without it by a factor below e^-700.  Their sum is the score.

        Raises
        ------
        ValueError
            If shapes do not match, a row is impossible, or haplotypes with `until` or `noise`, or
            of a chain of second order, exceed 10,000, with both 250; if a mean is 12 standard
            deviations of the noise or more from a possible one.
        ArithmeticError
            If the release has next to no probability: below e^-650 for a column given others.

        Notes
        -----
        **Accuracy** with `until` or `noise`: errors below 1e-12, and 1e-15 of squared distances to
        the nearest possible count, in units of the noise.  **Cost** for 500 haplotypes: 5 ms for an
        answer, 0.2 ms for a rounded mean; of second order for 200 haplotypes 0.2 s and 10 ms.

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
        if until is not None and noise is not None:
            invalid("noise", "be None with until: the release is rounded or noisy, not both")
        if until is None and noise is None:
            return super().log_likelihood_ratio(releases, target, n)
        require_same_columns(law=self, target=target, releases=releases, until=until, noise=noise)
        n = as_count(n, "n", least=2, most=MOST_IN_RANGES[self.order] // self.ploidy)
        row = as_floats(target, "target", finite=True)
        if row.shape != (self.size,):
            invalid("target", f"have {self.size} entries; its shape is {row.shape}")
        row = self._possible(row, n)
        if noise is not None:
            return noisy_ratios(self, releases, noise, row, n)
        return range_ratios(self, releases, until, row, n)

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        counts, target = self._counts(releases, n), self._possible(target, n)
        return self._steps.log_ratios(releases, counts, target, float(self.ploidy * n))

    def _scores(self, releases: Releases, targets: FloatArray, n: int) -> FloatArray:
        """Log likelihood ratios, shape (T, t)."""
        for target in targets:
            self._possible(target, n)
        counts = self._counts(releases, n)
        return self._steps.scores(releases, counts, targets, float(self.ploidy * n))

    def _counts(self, releases: Releases, n: int) -> FloatArray:
        """Counts of ones of releases; raises for what is no mean of n rows."""
        n = as_count(n, "n", least=2, most=self._steps.most // self.ploidy)
        given, size = n * np.asarray(releases.rows, np.float64), float(self.ploidy * n)
        counts = np.rint(given)
        slack = count_tolerance(releases.rows.dtype, n)
        good = (np.abs(counts - given) <= slack) & (counts >= 0.0) & (counts <= size)
        values = "0 or 1" if self.ploidy == 1 else "0, 1 or 2"
        remedy = "Means that were rounded take their ranges: pass until="
        releases.require(good, f"be the mean of {n} rows of {values}", remedy)
        return np.ascontiguousarray(counts)

    def _possible(self, target: FloatArray, n: int) -> FloatArray:
        """The target; raises if it has another value, or probability 0."""
        require_counts(target, self.ploidy)
        chance = self._chances(target)
        if self.ploidy == 2 and not chance.all() and self._is_any_square_lost():
            j = int(np.argmin(chance > 0.0))
            remedy = "Its square of a probability underflows: take those below 2**-500 as 0"
            rule = "have a probability that float64 holds"
            invalid("target", rule, index=j, value=target[j], remedy=remedy)
        if chance[0] == 0.0:
            require_possible_target(chance[:1] > 0.0, target, self.p)
        if not chance.all():
            j = int(np.argmin(chance > 0.0))
            remedy = self._steps.cause(target, j)
            invalid("target", "be possible", index=j, value=target[j], remedy=remedy)
        return target

    def _is_any_square_lost(self) -> bool:
        """Whether the square of a positive probability is nearly 0 in float64."""
        given = np.concatenate([[self.start], self.after_zero.ravel(), self.after_one.ravel()])
        return bool(np.any((given > 0.0) & (given < _ROOT_OF_LEAST)))

    def _chances(self, target: FloatArray) -> FloatArray:
        """Probability of each entry of a row given those before."""
        return self._steps.chances(target)

    def _innovations(self, target: FloatArray) -> FloatArray:
        """Squared distances of the entries from what those before let expect, in variances.

        Their sum over n is about the variance of the log likelihood ratio, for many rows.
        """
        p, zero, one = self.p, self.after_zero, self.after_one
        means = np.append(self.ploidy * p[0], self.ploidy * zero + target[:-1] * (one - zero))
        within = (1.0 - p[:-1]) * zero * (1.0 - zero) + p[:-1] * one * (1.0 - one)
        variances = self.ploidy * np.append(p[0] * (1.0 - p[0]), within)
        varied = variances > 0.0
        distances = np.zeros(p.size)
        distances[varied] = (target - means)[varied] ** 2 / variances[varied]
        return distances

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        self._steps.draw(rng, out)

    def _draw_counts(
        self, rng: np.random.Generator, rows: int, rounds: int
    ) -> npt.NDArray[np.int64]:
        """Counts of ones of `rows` rows, by their transitions: shape (d, rounds)."""
        return self._steps.draw_counts(rng, rows, rounds)


def _as_steps(given: Any, name: str) -> FloatArray:
    """Probabilities of all steps as a read-only copy, shape (d - 1,) or (d - 1, 2)."""
    array = as_floats(given, name, finite=True)
    if not array.size:
        array = np.empty(0)
    elif array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 2):
        rule = "have one entry for each step, or two columns for a chain of second order"
        invalid(name, f"{rule}; its shape is {array.shape}")
    steps = np.array(bit_probabilities(array, name), ndmin=1, order="C")
    steps.flags.writeable = False
    return steps
