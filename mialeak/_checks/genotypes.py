"""Checks of targets and releases that count: bits and genotypes, and their probabilities."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_float,
    as_floats,
    every,
    for_columns,
    invalid,
    listed,
    require,
    require_within,
    rounded_to_one,
    within,
)
from mialeak._kernels import checks
from mialeak._warnings import warn

__all__ = [
    "COUNTS_RULE",
    "MISSING",
    "MOST_ROWS",
    "Releases",
    "as_column_probabilities",
    "bit_probabilities",
    "count_tolerance",
    "hardy_weinberg_ratio",
    "refuse_answers",
    "refuse_answers_of_genotypes",
    "require_counts",
    "require_genotype",
    "require_genotype_means",
    "require_likely_counts",
    "require_persons",
    "require_possible_genotype",
    "require_possible_target",
    "sampled_rows",
    "surplus_of_rarer_alleles",
    "swapped_alleles",
    "warn_of_chromosomes",
]
#: Rows at most where counts are read from their mean: kernels round exactly up to here.
MOST_ROWS = 2**45
#: Smallest probability but 0, its inverse finite with room, and largest but 1.
_LEAST, _BELOW_ONE = 2.0**-1000, 1.0 - 2.0**-53
_NO_COLUMNS = np.arange(0)
#: How far from whole n times a mean may be: rounding to nine decimals passes for n up to 1000, and
#: the rounding of float sums; the nearest count is never in doubt.
_STRAY = 1e-6
#: So many columns are enough to compare the likelihoods of a row, of so many rows.
_SITES, _ROWS = 20, 100
#: A row counts the other allele where its log loss is above that of the other allele by so many
#: nats, and above `_UNUSUAL` times the expected one, and that of the other allele below `_TYPICAL`
#: times the expected one.  Of 1.2 million pairs of a person and the frequencies of an ancestry, in
#: 20 to 127 columns, one is refused; of swapped persons 20 to 90 %, of swapped bits 5 to 80 %.
_NATS, _UNUSUAL, _TYPICAL = 40.0, 1.8, 1.2
#: The same of frequencies that are twice as large.
_UNLIKE, _LIKE = 1.3, 1.15
#: Genotypes are not in Hardy-Weinberg proportions from this excess of variance, and this many
#: standard deviations, on.  Of the people of five continents together it is 0.24.
_FAR_FROM_ONE, _SURE = 0.3, 6.0
#: A draw has at least so many times the expected number of rarer alleles, which is taken for at
#: least `_LEAST_COPIES`.  Above `_RARER` no allele is rare.
_DESIGNED, _LEAST_COPIES, _RARER = 0.5, 5.0, 0.4
#: Squared distances, in its variance, of the mean of rows from p in a column of the other allele at
#: least, from 1 - p there at most (normal: 1e-12 and 2e-3), and from p in the others on average;
#: and so many columns at least.  Of 7,806 pairs of 20 to 90 people and the frequencies of their
#: population or another one, in 20 to 127 columns, none is refused.
_SWAPPED, _FITS, _FAR, _LEAST_SWAPPED = 50.0, 10.0, 3.5, 3
#: Means of which the likelihood of a row is taken are as far from 0 and 2.
_TINY_MEAN = 1e-9
#: Most decimals of frequencies that were rounded.
_DIGITS = 6
#: Codes of a genotype that is missing.
MISSING = (-9.0, -1.0, 3.0, 9.0, 99.0, -99.0, 255.0, -128.0)
#: So many columns of so many rows show that a release holds answers, of which so many are 1; and
#: the smallest frequency of an allele in a population of people.
_COLUMNS, _FEWEST_EQUAL, _ANSWERS, _LEAST_SHARE = 10, 10, 6, 1e-12
#: Means of genotypes that are all 0 or 1 are answers if chance gives so large ones so rarely.
_BY_CHANCE = 1e-9
#: Of the rarer alleles no frequency is above 1/2; so many are between the first of these and 1/2.
#: Targets then have so many standard deviations more copies than expected, where these are of ALT,
#: and so many of the copies of a person on average.
_FREQUENT, _FEWEST_FREQUENT, _MORE, _MORE_OF_EACH = 0.3, 12, 6.0, 2.0
#: With so many genotypes 2 expected there is one.
_TWOS = 20.0
COUNTS_RULE = "be the mean of {n} counts 0, 1 or 2"


def as_column_probabilities(
    values: Any, name: str, columns: int
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Probabilities of `columns` coordinates, or one for all; and the columns that do not vary."""
    array = as_floats(values, name)
    if array.shape not in ((), (columns,)):
        rule = f"be a number or have {columns} entries, one for each of target"
        invalid(name, f"{rule}; its shape is {array.shape}")
    if within(array, _LEAST, _BELOW_ONE):
        return for_columns(array, columns), _NO_COLUMNS
    p = for_columns(bit_probabilities(array, name), columns)
    return p, ((p == 0.0) | (p == 1.0)).nonzero()[0]


def bit_probabilities(array: FloatArray, name: str) -> FloatArray:
    """`array`, probabilities of bits or alleles, without what rounding leaves above 1."""
    array = rounded_to_one(array)
    require_within(array, 0.0, 1.0, name, "be between 0 and 1")
    require((array == 0.0) | (array >= _LEAST), array, name, "be 0 or at least 2**-1000")
    return array


def require_possible_target(good: npt.NDArray[np.bool_], target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that no row equals, naming the coordinate."""
    if not every(good):
        column = int(np.argmin(good))
        invalid(
            "target",
            "be possible",
            index=column,
            value=target[column],
            remedy=f"With p[{column}] = {float(p[column])!r} no row is like it in that column",
        )


def count_tolerance(dtype: npt.DTypeLike, n: int) -> float:
    """How far ``n * release`` may be from whole; an error if counts cannot be distinguished."""
    tolerance = _STRAY + 8.0 * n * float(np.finfo(dtype).eps)
    if tolerance > 0.25:
        invalid(
            "releases",
            f"be precise enough to distinguish {n} counts, which {np.dtype(dtype).name} is not",
            remedy="Pass float64, or decimals= if the means were rounded",
        )
    return tolerance


def require_counts(target: FloatArray, most: int) -> None:
    """Refuse a target that is not whole, from 0 to 1 or 2."""
    if checks.are_counts(target, most):
        return
    if not (within(target, 0.0, most) and every(np.rint(target) == target)):
        rule = "be 0 or 1" if most == 1 else "be 0, 1 or 2"
        require(np.isin(target, np.arange(most + 1)), target, "target", rule)


def require_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that is not 0, 1 or 2, or has probability 0."""
    require_counts(target, 2)
    require_possible_genotype(target, p)
    require_likely_counts(target, p, 2)


def require_likely_counts(
    targets: FloatArray,
    p: FloatArray,
    most: int,
    *,
    name: str = "p",
    unit: float = 1.0,
    variance: float | None = None,
) -> None:
    """Refuse targets of the other allele, and carriers and haplotypes in place of genotypes.

    `targets`, shape (..., d), count the draws of an allele with the frequency `p` among `most`; the
    caller has them, and a mean called `name`, in multiples of `unit`.  There is a warning of
    genotypes beside frequencies of rarer alleles; `variance` is that of the copies of a person.
    """
    if not targets.size:
        return
    if p.size >= _SITES:
        if most == 2 and name == "p":
            _require_frequencies(targets.reshape(-1, p.size)[:_ROWS], p)
        if not checks.are_likely_draws(targets, p, most):
            _refuse_other_counts(targets.reshape(-1, p.size)[:_ROWS], p, most, name, unit)
    if most == 2:
        _warn_of_rarer_alleles(targets, p, variance)


def _refuse_other_counts(
    rows: FloatArray, p: FloatArray, most: int, name: str, unit: float
) -> None:
    """Refuse `rows` that count the other allele, in all columns or in some, or count no allele."""
    columns = np.arange(p.size)
    if not within(p, _TINY_MEAN, 1.0 - _TINY_MEAN):
        inside = (p > _TINY_MEAN) & (p < 1.0 - _TINY_MEAN)
        if np.count_nonzero(inside) < _SITES:
            return
        p, rows, columns = p[inside], rows[:, inside], columns[inside]
    # The log of the ratio of the likelihoods with 1 - p and with p.
    gains = (most - 2.0 * rows) @ np.log(p / (1.0 - p))
    if gains.max() > _NATS:
        _require_same_allele(np.rint(rows), p, most, gains, name, f"{most * unit:g} - target")
    if most == 2 and p @ p > _TWOS and rows.max() < 1.5:
        _require_genotypes(np.rint(rows), p)
    if len(rows) >= _SITES:
        swapped = _swapped_columns(rows, p, most)
        if swapped.any():
            rule = (
                f"count the allele of {name} in each column; {np.count_nonzero(swapped):,} seem to "
                f"count the other, column {listed(columns[swapped].tolist())}"
            )
            remedy = (
                f"Of frequencies of the rarer allele (MAF), pass {most * unit:g} - target there"
            )
            invalid("target", rule, remedy=remedy)


def swapped_alleles(targets: Any, p: FloatArray) -> tuple[float, npt.NDArray[np.intp]]:
    """By how much genotypes are more likely of the other allele, in nats, or columns of the other.

    0 if they are not, or there are fewer than 20 columns that vary; columns are looked at beside 20
    targets or more.
    """
    columns = np.flatnonzero((p > _TINY_MEAN) & (p < 1.0 - _TINY_MEAN))
    if columns.size < _SITES or not len(targets):
        return 0.0, _NO_COLUMNS
    rows = np.rint(targets[:_ROWS][:, columns].astype(np.float64))
    p = p[columns]
    gains = (2.0 - 2.0 * rows) @ np.log(p / (1.0 - p))
    gain = _gain_of_other(rows, p, 2, gains) if gains.max() > _NATS else 0.0
    if gain or len(rows) < _SITES:
        return gain, _NO_COLUMNS
    return 0.0, columns[_swapped_columns(rows, p, 2)]


def _require_same_allele(
    rows: FloatArray, p: FloatArray, most: int, gains: FloatArray, name: str, swapped: str
) -> None:
    gain = _gain_of_other(rows, p, most, gains)
    if gain:
        rule = f"count the allele of {name}; {swapped} is more likely by e^{gain:.0f}"
        invalid("target", rule, remedy=f"If it counts the other allele, pass {swapped}")


def _gain_of_other(rows: FloatArray, p: FloatArray, most: int, gains: FloatArray) -> float:
    """The median of the gains of the rows of the other allele, if most are; or 0."""
    expected = _expected_loss(p, most)
    other = (gains > _NATS) & (_log_loss(rows, p, most) > _UNUSUAL * expected)
    other &= _log_loss(rows, 1.0 - p, most) < _TYPICAL * expected
    other &= _is_drawn(rows, 1.0 - p, most)
    return float(np.median(gains[other])) if 2 * np.count_nonzero(other) > other.size else 0.0


def hardy_weinberg_ratio(counts: Any) -> float | None:
    """The variance of genotypes in that of Hardy-Weinberg proportions, where these clearly differ.

    A sum over the columns of `counts`, shape (rows, columns): 2 for people who are fully inbred; 1
    plus F_ST where several populations are mixed.  None within 30 %, and within six standard
    deviations of as many independent columns as have common alleles, at most 20.
    """
    mean, rows = counts.mean(axis=0), len(counts)
    expected = mean * (1.0 - 0.5 * mean)
    if not expected.sum():
        return None
    ratio = float(counts.var(axis=0).sum() / expected.sum())
    columns = min(float(expected.sum() ** 2 / np.square(expected).sum()), 20.0)
    sure = abs(ratio - 1.0) > max(_FAR_FROM_ONE, _SURE / np.sqrt(rows * columns))
    return ratio if sure else None


def _require_frequencies(rows: FloatArray, p: FloatArray) -> None:
    """Refuse mean counts, twice the frequencies, where the halves are far more likely."""
    if rows.sum() > 0.75 * len(rows) * 2.0 * p.sum():  # refutes most at once
        return
    inside = (p > _TINY_MEAN) & (p < 1.0 - _TINY_MEAN)
    if np.count_nonzero(inside) < _SITES:
        return
    rows, p = np.rint(rows[:, inside]), p[inside]
    gains = rows @ np.full(p.size, -np.log(2.0)) + (2.0 - rows) @ np.log(
        (2.0 - p) / (2.0 - 2.0 * p)
    )
    twice = (gains > _NATS) & (_log_loss(rows, p, 2) > _UNLIKE * _expected_loss(p, 2))
    twice &= _log_loss(rows, 0.5 * p, 2) < _LIKE * _expected_loss(0.5 * p, 2)
    twice &= _is_drawn(rows, 0.5 * p, 2)
    if 2 * np.count_nonzero(twice) > twice.size:
        gain = float(np.median(gains[twice]))
        rule = f"be frequencies of the allele; for target, p / 2 is more likely by e^{gain:.0f}"
        invalid("p", rule, remedy="Of genotypes 0, 1 and 2 the frequency is half the mean")


def _swapped_columns(rows: FloatArray, p: FloatArray, most: int) -> npt.NDArray[np.bool_]:
    """Which columns of many rows count the other allele, where the others fit."""
    means = rows.mean(axis=0) / most
    error = p * (1.0 - p) * (2.0 / (most * len(rows)))  # of the rows, and of p at most
    far, back = (means - p) ** 2 / error, (1.0 - means - p) ** 2 / error
    other = (far > _SWAPPED) & (back < _FITS)
    if p.max() <= 0.5:  # as of the rarer allele, where columns near 1/2 may be swapped as well
        far = np.minimum(far, back)
    if not _LEAST_SWAPPED <= other.sum() < other.size or far[~other].mean() >= _FAR:
        other[:] = False
    return np.asarray(other)


def _require_genotypes(rows: FloatArray, p: FloatArray) -> None:
    """Refuse rows without a 2 that are likely as marks of carriers, or as haplotypes."""
    if np.ptp(rows, axis=1).min() == 0.0:
        return
    laws = {
        "carriers": (p * (2.0 - p), "Presence(p), the mean m = p * (2 - p) and the variance"),
        "haplotypes": (p, "Bernoulli(p) among 2 * n rows, the mean m = p and the variance"),
    }
    for kind, (chances, law) in laws.items():
        usual = _log_loss(rows, chances, 1) < _TYPICAL * _expected_loss(chances, 1)
        if 2 * np.count_nonzero(usual & _is_drawn(rows, chances, 1)) > usual.size:
            rule = f"be genotypes; no entry is 2, where {p @ p:,.0f} are expected, as of {kind}"
            which = "Marks of carriers" if kind == "carriers" else "Haplotypes"
            invalid("target", rule, remedy=f"{which} have the law {law} m * (1 - m)")


def _log_loss(rows: FloatArray, p: FloatArray, most: int) -> FloatArray:
    """Minus the log of the probability of each row of Binomial(most, p)."""
    loss = -(rows @ np.log(p)) - (most - rows) @ np.log1p(-p)
    twice = 0.0 if most == 1 else np.log(2.0) * np.count_nonzero(rows == 1.0, axis=1)
    return np.asarray(loss - twice)


def _is_drawn(rows: FloatArray, p: FloatArray, most: int) -> npt.NDArray[np.bool_]:
    """Whether each row has about as many of the rarer alleles as a draw has.

    Rows that are designed to leak most have none of those that are rarer with the other p.
    """
    rarer = np.minimum(p, 1.0 - p)
    rare = rarer < _RARER
    copies = np.where(p < 0.5, rows, most - rows)[:, rare].sum(axis=1)
    return np.asarray(copies >= _DESIGNED * max(most * rarer[rare].sum(), _LEAST_COPIES))


def _expected_loss(p: FloatArray, most: int) -> float:
    draws = -(p @ np.log(p)) - (1.0 - p) @ np.log1p(-p)
    return float(most * draws - (most - 1) * 2.0 * np.log(2.0) * (p @ (1.0 - p)))


def warn_of_chromosomes(mean: FloatArray, n: int) -> None:
    """Warn where `mean` is that of n/2 genotypes, as if n counted their chromosomes.

    Not an error: the release of twice the persons may be planned.
    """
    if _is_mean_of_half(mean, n):
        warn(
            f"n = {n:,} is twice the {n // 2:,} persons whose genotypes have this mean. n counts "
            f"persons, not chromosomes: for the release of these persons pass n={n // 2}.",
        )


def surplus_of_rarer_alleles(
    targets: FloatArray, p: FloatArray, variance: float | None = None
) -> tuple[float, float] | None:
    """The copies of targets and those expected, where p seem to be frequencies of rarer alleles.

    No frequency is above 1/2, though several are near, and targets have more copies by six standard
    deviations, and by two of a person: persons of another population have more in common.  One
    target shows for no site which allele is meant, but for all of them together.  `variance` is
    that of the copies of a person, by default that of unlinked sites.
    """
    if p.max() > 0.5 or np.count_nonzero(p > _FREQUENT) < _FEWEST_FREQUENT:
        return None
    rows = targets.size // p.size
    copies, expected = float(targets.sum()), 2.0 * rows * float(p.sum())
    of_person = 2.0 * float(p @ (1.0 - p)) if variance is None else variance
    errors = max(_MORE / math.sqrt(rows), _MORE_OF_EACH)
    far = copies - expected >= errors * rows * math.sqrt(of_person)
    return (copies, expected) if far else None


def _warn_of_rarer_alleles(targets: FloatArray, p: FloatArray, variance: float | None) -> None:
    """Warn of frequencies of rarer alleles beside targets that count the alternate ones."""
    surplus = surplus_of_rarer_alleles(targets, p, variance)
    if surplus is not None and np.ptp(targets) > 0.0:  # a constant target is designed
        warn(
            f"no frequency of these {p.size:,} sites exceeds 1/2, and targets have "
            f"{surplus[0]:,.0f} copies of the alleles that they count where {surplus[1]:,.0f} are "
            "expected. If the frequencies are those of the rarer allele (MAF), the leakage is too "
            "high: pass those of the allele that targets count (ALT)",
        )


def refuse_answers(release: FloatArray, mean: FloatArray, n: int) -> None:
    """Refuse 0 and 1 alone, which are no means of n rows, as answers of a beacon.

    Few rows may all be equal in linked columns.
    """
    if mean.size < _COLUMNS or n < _FEWEST_EQUAL:
        return
    present = (release == 1.0) & (mean > _LEAST_SHARE) & (mean < 0.5)
    answers = int(np.count_nonzero(present))
    are_answers = bool(((release == 0.0) | (release == 1.0)).all())
    if answers < _ANSWERS or not are_answers or mean.min() < 0.0:
        return
    invalid(
        "releases",
        f"be means of rows; all {release.size} are 0 or 1, and {answers} are 1 where the mean is "
        "below 1/2, as answers are whether a row has an allele",
        remedy="Of such answers mialeak.laws.Chain has log_likelihood_ratio(until=)",
    )


def refuse_answers_of_genotypes(release: FloatArray, p: FloatArray, n: int) -> None:
    """Refuse 0 and 1 alone in place of mean counts, as answers of a beacon, of few columns too.

    A mean count is 1 where half of the 2n alleles are alternate ones: of an allele of frequency
    p < 1/2 with a probability of at most ``(4 p (1 - p))**n``.  One that all persons have has the
    mean 2.
    """
    if release.size < 2 or n < _FEWEST_EQUAL or not ((release == 0.0) | (release == 1.0)).all():
        return
    present = p[(release == 1.0) & (p > _LEAST_SHARE) & (p < 0.5)]
    if n * float(np.log(4.0 * present * (1.0 - present)).sum()) > math.log(_BY_CHANCE):
        return
    invalid(
        "releases",
        f"be mean counts of alleles; all {release.size} are 0 or 1, and half of the alleles of "
        f"{n:,} persons are not of a kind this rare, as p states, in column "
        f"{listed(np.flatnonzero((release == 1.0) & (p < 0.5)).tolist())}",
        remedy="Of answers whether a person has an allele mialeak.laws.Chain has "
        "log_likelihood_ratio(until=); a mean count is twice the frequency of the allele",
    )


def require_persons(release: Any, n: int) -> None:
    """Refuse n chromosomes: the sums of the counts of n genotypes are not all even."""
    if _is_mean_of_half(np.asarray(release, np.float64), n):
        remedy = f"Pass the number of persons, {n // 2}"
        invalid("n", "count persons; the sums of all columns are even", value=n, remedy=remedy)


def _is_mean_of_half(mean: FloatArray, n: int) -> bool:
    """Whether n/2 is the least number of genotypes that can have this mean of many columns."""
    if n % 2 or n > MOST_ROWS or mean.size < _SITES:
        return False
    first = 0.5 * n * mean[:_SITES]  # refutes most at once
    if (np.abs(first - np.rint(first)) > _STRAY).any():
        return False
    varied = mean[(mean > 0.0) & (mean < 2.0)]
    counts = 0.5 * n * varied
    whole = np.rint(counts)
    if varied.size < _SITES or (np.abs(counts - whole) > _STRAY).any():
        return False
    if _are_whole_if_rounded(0.5 * varied, n):
        return False
    return math.gcd(n // 2, *whole.astype(np.int64).tolist()) == 1


def _are_whole_if_rounded(frequency: FloatArray, n: int) -> bool:
    """Whether any frequencies of so few digits as these, times n, are whole."""
    for digits in range(_DIGITS + 1):
        scaled = 10.0**digits * frequency
        if (np.abs(scaled - np.rint(scaled)) < _STRAY).all():
            return bool(n % 10**digits == 0)
    return False


def require_possible_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a genotype that has probability 0."""
    possible = ((p > 0.0) | (target == 0.0)) & ((p < 1.0) | (target == 2.0))
    require_possible_target(possible, target, p)


def require_genotype_means(releases: Releases, n: int) -> None:
    """Refuse releases that are no mean of n genotypes."""
    counts = n * np.asarray(releases.rows, np.float64)
    slack = count_tolerance(releases.rows.dtype, n)
    with np.errstate(invalid="ignore"):  # inf - inf
        whole = (np.abs(counts - np.rint(counts)) <= slack) | np.isnan(counts)
    good = whole & ~(counts < -slack) & ~(counts > 2.0 * n + slack)
    remedy = "Pass decimals= if the means were rounded; a mean count is twice a frequency"
    releases.require(good, COUNTS_RULE.format(n=n), remedy)


class Releases(Protocol):
    """Some releases in rows that can state where an offending one stands."""

    rows: npt.NDArray[Any]

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good` is false."""


def sampled_rows(rate: float, n: int) -> int:
    """``rate * n``, which must be an integer of at least 2."""
    rate = as_float(rate, "sampling_rate")
    if not 0.0 < rate <= 1.0:
        invalid("sampling_rate", "be above 0 and at most 1", value=rate)
    rows = round(rate * n)
    if abs(rate * n - rows) > 1e-9 * rows or rows < 2:
        low = max(2, int(np.floor(rate * n)))
        high = min(n, low + 1 if rate * n >= 2.0 else low)
        near = " and ".join(f"{k / n!r} ({k} rows)" for k in sorted({low, high}))
        invalid(
            "sampling_rate",
            f"draw an integer number of rows, at least 2, of n = {n}",
            value=rate,
            remedy=f"The nearest that do: {near}",
        )
    return rows
