"""Targets and frequencies that do not go together: of the other allele, of carriers, of half n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    Numbers,
    invalid,
    listed,
    within,
)
from mialeak._kernels import checks
from mialeak._warnings import warn

__all__ = [
    "MOST_ROWS",
    "STRAY",
    "hardy_weinberg_ratio",
    "is_mean_of_half",
    "require_likely_counts",
    "surplus_of_rarer_alleles",
    "swapped_alleles",
    "warn_of_chromosomes",
]

#: Rows at most where counts are read from their mean: kernels round exactly up to here.
MOST_ROWS = 2**45
#: How far from whole n times a mean may be: rounding to nine decimals passes for n up to 1000, and
#: the rounding of float sums; the nearest count is never in doubt.
STRAY = 1e-6
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
#: Of the rarer alleles no frequency is above 1/2; so many are between the first of these and 1/2.
#: Targets then have so many standard deviations more copies than expected, where these are of ALT,
#: and so many of the copies of a person on average.
_FREQUENT, _FEWEST_FREQUENT, _MORE, _MORE_OF_EACH = 0.3, 12, 6.0, 2.0
#: With so many genotypes 2 expected there is one.
_TWOS = 20.0


def require_likely_counts(
    targets: FloatArray,
    p: FloatArray,
    most: int,
    *,
    name: str = "p",
    unit: float = 1.0,
    variance: float = 0.0,
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
        return 0.0, np.arange(0)
    rows = np.rint(targets[:_ROWS][:, columns].astype(np.float64))
    p = p[columns]
    gains = (2.0 - 2.0 * rows) @ np.log(p / (1.0 - p))
    gain = _gain_of_other(rows, p, 2, gains) if gains.max() > _NATS else 0.0
    if gain or len(rows) < _SITES:
        return gain, np.arange(0)
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
    if is_mean_of_half(mean, n):
        warn(
            f"n = {n:,} is twice the {n // 2:,} persons whose genotypes have this mean. n counts "
            f"persons, not chromosomes: for the release of these persons pass n={n // 2}.",
        )


def surplus_of_rarer_alleles(
    targets: Numbers, p: FloatArray, variance: float = 0.0
) -> tuple[float, float] | None:
    """The copies of targets and those expected, where p seem to be frequencies of rarer alleles.

    No frequency is above 1/2, though several are near, and targets have more copies by six standard
    deviations, and by two of a person: persons of another population have more in common.  One
    target shows for no site which allele is meant, but for all of them together.  `variance` is
    that of the copies of a person, if known; it is that of unlinked sites or of targets at least.
    """
    if p.max() > 0.5 or np.count_nonzero(p > _FREQUENT) < _FEWEST_FREQUENT:
        return None
    of_each = targets.reshape(-1, p.size).sum(axis=1)
    rows, copies = of_each.size, float(of_each.sum())
    expected = 2.0 * rows * float(p.sum())
    among = float(of_each.var(ddof=1)) if rows > 1 else 0.0
    deviation = math.sqrt(max(2.0 * float(p @ (1.0 - p)), variance, among))
    errors = max(_MORE / math.sqrt(rows), _MORE_OF_EACH)
    far = copies - expected >= errors * rows * deviation
    return (copies, expected) if far else None


def _warn_of_rarer_alleles(targets: FloatArray, p: FloatArray, variance: float) -> None:
    """Warn of frequencies of rarer alleles beside targets that count the alternate ones."""
    surplus = surplus_of_rarer_alleles(targets, p, variance)
    if surplus is not None and np.ptp(targets) > 0.0:  # a constant target is designed
        warn(
            f"no frequency of these {p.size:,} sites exceeds 1/2, and targets have "
            f"{surplus[0]:,.0f} copies of the alleles that they count where {surplus[1]:,.0f} are "
            "expected. If the frequencies are those of the rarer allele (MAF), the leakage is too "
            "high: pass those of the allele that targets count (ALT)",
        )


def is_mean_of_half(mean: FloatArray, n: int) -> bool:
    """Whether n/2 is the least number of genotypes that can have this mean of many columns."""
    if n % 2 or n > MOST_ROWS or mean.size < _SITES:
        return False
    first = 0.5 * n * mean[:_SITES]  # refutes most at once
    if (np.abs(first - np.rint(first)) > STRAY).any():
        return False
    varied = mean[(mean > 0.0) & (mean < 2.0)]
    counts = 0.5 * n * varied
    whole = np.rint(counts)
    if varied.size < _SITES or (np.abs(counts - whole) > STRAY).any():
        return False
    if _are_whole_if_rounded(0.5 * varied, n):
        return False
    return math.gcd(n // 2, *whole.astype(np.int64).tolist()) == 1


def _are_whole_if_rounded(frequency: FloatArray, n: int) -> bool:
    """Whether any frequencies of so few digits as these, times n, are whole."""
    for digits in range(_DIGITS + 1):
        scaled = 10.0**digits * frequency
        if (np.abs(scaled - np.rint(scaled)) < STRAY).all():
            return bool(n % 10**digits == 0)
    return False
