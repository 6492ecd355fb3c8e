"""Checks of targets and releases that count: bits and genotypes, and their probabilities."""

from __future__ import annotations

import math
import warnings
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_floats,
    every,
    for_columns,
    invalid,
    require,
    require_within,
    within,
)
from mialeak._kernels import checks

__all__ = [
    "COUNTS_RULE",
    "MISSING",
    "MOST_ROWS",
    "Releases",
    "as_column_probabilities",
    "count_tolerance",
    "is_mean_of_half",
    "require_counts",
    "require_genotype",
    "require_genotype_means",
    "require_genotype_moments",
    "require_likely_counts",
    "require_possible_genotype",
    "require_possible_target",
    "require_probability",
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
#: Relative difference of two variances that are the same, of frequencies to six digits.
_SAME = 1e-5
#: So many columns are enough to compare variances with those of genotypes.
_COLUMNS = 10
#: Mean absolute log of the ratio of variances to those of a law: at most `_NEAR` where the law
#: fits, and half of what usual laws have, which is at least `_APART` then.  `_LIKE`: at most so
#: much where rows are taken for genotypes.
_NEAR, _APART, _LIKE = 0.2, 0.08, 0.3
#: By what factor populations that are mixed raise variances at most, and inbred lines.
_MIXED, _INBRED = 1.4, 2.0
#: Below and above these times their own variance genotypes have that of a mean or of a sum.
_TINY, _HUGE = 0.1, 5.0
#: By what factors variances of bits differ from p(1 - p): halves of genotypes, and n/(n - 1).
_LEAST_FACTOR, _MOST_FACTOR = 0.4, 1.6
#: Mean distance of dosages from whole numbers, at most.
_DOSAGE = 0.1
#: So many columns are enough to compare the likelihoods of a row, of so many rows.
_SITES, _ROWS = 20, 100
#: A row counts the other allele where its log loss is above that of the other allele by so many
#: nats, and above `_UNUSUAL` times the expected one, and that of the other allele below `_TYPICAL`
#: times the expected one.  Of 1.2 million pairs of a person and the frequencies of an ancestry, in
#: 20 to 127 columns, one is refused; of swapped persons 20 to 90 %, of swapped bits 5 to 80 %.
_NATS, _UNUSUAL, _TYPICAL = 40.0, 1.8, 1.2
#: A draw has at least so many times the expected number of rarer alleles, which is taken for at
#: least `_LEAST_COPIES`.  Above `_RARER` no allele is rare.
_DESIGNED, _LEAST_COPIES, _RARER = 0.5, 5.0, 0.4
#: Means of which the likelihood of a row is taken are as far from 0 and 2.
_TINY_MEAN = 1e-9
#: With so many genotypes 2 expected there is one; a centred target has this share of negatives.
_TWOS, _CENTRED = 20.0, 0.2
#: Correlations of a column with itself, and means of standardised columns, are as near to 1 and 0;
#: correlations that were typed have as few digits.
_EXACT, _DIGITS = 1e-9, 1e4
#: Decimals of frequencies that were rounded, not counted.
_ROUNDED = 10**6
#: Codes of a genotype that is missing.
MISSING = (-9.0, -1.0, 3.0, 9.0, 99.0, -99.0, 255.0, -128.0)
#: Means nearer than this to 0 and 2 are those of columns that hardly vary.
_EDGE = 0.02
_REMEDY = (
    "Take mean and cov of the same counts as target; for frequencies p of the genotypes 0, 1 and 2 "
    "pass mean=2 * p, cov=2 * p * (1 - p)"
)
COUNTS_RULE = "be the mean of {n} counts 0, 1 or 2"


def as_column_probabilities(
    values: Any, name: str, columns: int
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Probabilities of `columns` coordinates, or one for all; and the columns that do not vary."""
    array = as_floats(values, name)
    if array.shape not in ((), (columns,)):
        rule = f"be a number or have {columns} entries, one for each of target"
        invalid(name, f"{rule}; its shape is {array.shape}")
    p = for_columns(array, columns)
    if within(array, _LEAST, _BELOW_ONE):
        return p, _NO_COLUMNS
    require_probability(array, name)
    return p, ((p == 0.0) | (p == 1.0)).nonzero()[0]


def require_probability(array: FloatArray, name: str) -> None:
    require_within(array, 0.0, 1.0, name, "be between 0 and 1")
    require((array == 0.0) | (array >= _LEAST), array, name, "be 0 or at least 2**-1000")


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
    if not (within(target, 0.0, most) and every(np.rint(target) == target)):
        rule = "be 0 or 1" if most == 1 else "be 0, 1 or 2"
        require(np.isin(target, np.arange(most + 1)), target, "target", rule)


def require_genotype(target: FloatArray, p: FloatArray) -> None:
    """Refuse a target that is not 0, 1 or 2, or has probability 0."""
    require_counts(target, 2)
    require_possible_genotype(target, p)
    require_likely_counts(target, p, 2)


def require_likely_counts(
    targets: FloatArray, p: FloatArray, most: int, *, name: str = "p", unit: float = 1.0
) -> None:
    """Refuse targets of the other allele, and marks of carriers in place of genotypes.

    `targets`, shape (..., d), count the draws of an allele with the frequency `p` among `most`; the
    caller has them, and a mean called `name`, in multiples of `unit`.
    """
    if p.size < _SITES or not targets.size or checks.are_likely_draws(targets, p, most):
        return
    rows = targets.reshape(-1, p.size)[:_ROWS]
    if not within(p, _TINY_MEAN, 1.0 - _TINY_MEAN):
        inside = (p > _TINY_MEAN) & (p < 1.0 - _TINY_MEAN)
        if np.count_nonzero(inside) < _SITES:
            return
        p, rows = p[inside], rows[:, inside]
    # The log of the ratio of the likelihoods with 1 - p and with p.
    gains = (most - 2.0 * rows) @ np.log(p / (1.0 - p))
    if gains.max() > _NATS:
        _require_same_allele(np.rint(rows), p, most, gains, name, f"{most * unit:g} - target")
    if most == 2 and p @ p > _TWOS and rows.max() < 1.5:
        _require_genotypes(np.rint(rows), p)


def _require_same_allele(
    rows: FloatArray, p: FloatArray, most: int, gains: FloatArray, name: str, swapped: str
) -> None:
    expected = _expected_loss(p, most)
    other = (gains > _NATS) & (_log_loss(rows, p, most) > _UNUSUAL * expected)
    other &= _log_loss(rows, 1.0 - p, most) < _TYPICAL * expected
    other &= _is_drawn(rows, 1.0 - p, most)
    if 2 * np.count_nonzero(other) > other.size:
        gain = float(np.median(gains[other]))
        rule = f"count the allele of {name}; {swapped} is more likely by e^{gain:.0f}"
        invalid("target", rule, remedy=f"If it counts the other allele, pass {swapped}")


def _require_genotypes(rows: FloatArray, p: FloatArray) -> None:
    """Refuse rows without a 2 that are likely as marks of carriers."""
    if np.ptp(rows, axis=1).min() == 0.0:
        return
    carriers = p * (2.0 - p)
    usual = _log_loss(rows, carriers, 1) < _TYPICAL * _expected_loss(carriers, 1)
    if 2 * np.count_nonzero(usual & _is_drawn(rows, carriers, 1)) > usual.size:
        rule = f"be genotypes; no entry is 2, where {p @ p:,.0f} are expected, as of carriers"
        moments = "the mean m = p * (2 - p) and the variance m * (1 - m)"
        invalid("target", rule, remedy=f"Marks of carriers have the law Presence(p), {moments}")


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


def warn_of_chromosomes(mean: FloatArray, n: int, *, stacklevel: int = 6) -> None:
    """Warn where `mean` is that of n/2 genotypes, as if n counted their chromosomes.

    Not an error: the release of twice the persons may be planned.
    """
    if is_mean_of_half(mean, n):
        warnings.warn(
            f"n = {n:,} is twice the {n // 2:,} persons whose genotypes have this mean. n counts "
            f"persons, not chromosomes: for the release of these persons pass n={n // 2}.",
            stacklevel=stacklevel,
        )


def is_mean_of_half(mean: FloatArray, n: int) -> bool:
    """Whether n/2 is the least number of genotypes that can have this mean of many columns."""
    first = 0.5 * n * mean[:_SITES]  # refutes most at once
    unlike = n % 2 or n > MOST_ROWS or mean.size < _SITES
    if unlike or (np.abs(first - np.rint(first)) > _STRAY).any():
        return False
    varied = mean[(mean > 0.0) & (mean < 2.0)]
    counts, rounded = 0.5 * n * varied, 0.5 * _ROUNDED * varied
    whole = np.rint(counts)
    few_digits = (np.abs(rounded - np.rint(rounded)) < _STRAY).all()
    if varied.size < _SITES or few_digits or (np.abs(counts - whole) > _STRAY).any():
        return False
    return math.gcd(n // 2, *whole.astype(np.int64).tolist()) == 1


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


def require_genotype_moments(target: Any, mean: FloatArray, cov: Any, n: int | None = None) -> None:
    """Refuse the moments of an allele, or of half of them, beside the genotypes 0, 1 and 2.

    With the frequency p a count has the mean 2p and the variance 2p(1 - p), and in a mixture of
    populations more.  Standard deviations, correlations and per cent are refused as well, and so
    are targets of the other allele; `n`, if given, is compared with the counts in `mean`.
    """
    if n is None and checks.are_of_counts(target, mean, cov):
        return
    require_no_correlations(mean, cov)
    _require_likely_moments(target, mean, cov, n)
    if np.shape(cov) != mean.shape or not within(mean, 0.0, 2.0):
        return
    varied = mean[(mean > 0.0) & (mean < 2.0)]
    if not varied.size or (varied == varied[0]).all():  # a coincidence
        return
    variances, half, bits = as_floats(cov, "cov"), 0.5 * mean, mean * (1.0 - mean)

    def is_variance(of: FloatArray) -> bool:
        first = abs(variances[0] - of[0]) <= _SAME * abs(of[0])  # refutes most at once
        return bool(first and every(np.abs(variances - of) <= _SAME * np.abs(of)))

    if is_variance(half * (1.0 - half)):
        name, given = "cov", "p * (1 - p), for a mean of 2 * p"
    elif is_variance(2.0 * bits):
        name, given = "mean", "p, for a cov of 2 * p * (1 - p)"
    elif is_variance(bits):
        name, given = "mean", "p, and cov p * (1 - p), as of bits"
    else:
        return
    values = as_floats(target, "target")
    whole = within(values, 0.0, 2.0) and every(np.rint(values) == values)
    if not whole or (is_variance(bits) and within(values, 0.0, 1.0)):
        return
    rule = f"be that of the genotypes 0, 1 and 2 of target; it is {given}"
    invalid(name, rule, remedy="For frequencies p pass mean=2 * p, cov=2 * p * (1 - p)")


def require_no_correlations(mean: FloatArray, cov: Any) -> None:
    """Refuse a computed matrix of correlations beside means that are no standardised ones."""
    if hasattr(cov, "fit") or np.shape(cov) != (mean.size, mean.size) or mean.size < 2:
        return
    matrix = np.asarray(cov)
    if matrix.dtype.kind != "f" or not (np.abs(np.diagonal(matrix) - 1.0) <= _EXACT).all():
        return
    apart = np.abs(matrix[np.triu_indices(mean.size, 1)])
    typed = np.abs(apart * _DIGITS - np.rint(apart * _DIGITS)) < _STRAY
    if typed.any() or apart.max() >= 1.0 or np.unique(apart).size < apart.size:
        return  # a matrix that was designed
    if np.abs(mean).max() > _EXACT and np.unique(mean).size == mean.size:
        remedy = "Multiply it by the standard deviations of its row and of its column"
        invalid("cov", "hold covariances; it seems to hold correlations", remedy=remedy)


def _require_likely_moments(target: Any, mean: FloatArray, cov: Any, n: int | None) -> None:
    """Compare the variances of many columns with those of genotypes and of bits."""
    variances = _variances(cov, mean.size)
    if variances is None or not within(mean, 0.0, 100.0):
        return
    values = as_floats(target, "target")
    if values.shape[-1:] != mean.shape or not values.size:
        return
    row = values.reshape(-1, mean.size)[0]
    unit = 0.5 if (row == 0.5).any() else 1.0
    counts, m, v = row / unit, mean / unit, variances / unit**2
    known = (counts >= 0.0) & (counts <= 2.0)
    if not every(known):
        if unit == 1.0 and 2 * known.sum() > known.size and np.isin(row[~known], MISSING).all():
            _refuse_codes(row, known, v, m)
        elif (row < 0.0).sum() > _CENTRED * row.size:
            _refuse_centred(row, v, m)
        return
    if counts.min() == counts.max():
        return
    fault = _misread(v, m, heterozygous=counts.max() < 2.0, correlated=np.ndim(cov) == 2)
    if fault is None:
        _require_likely_rows(values / unit, m, v, n, unit)
    if unit == 0.5 and fault is None and np.allclose(v, m * (2.0 - m), _SAME, 0.0):
        fault = "cov", "p * (1 - p), that of bits", "For frequencies p pass cov=p * (1 - p) / 2"
    if fault is None or not within(values, 0.0, 2.0 * unit):
        return
    stray = float(np.abs(values / unit - np.rint(values / unit)).mean())
    if stray > (_DOSAGE if counts.max() == 2.0 else 0.0):
        return
    name, given, remedy = fault
    kind = "bits" if counts.max() < 2.0 else "genotypes"
    listed = "0 and 1" if kind == "bits" else "0, 1 and 2" if unit == 1.0 else "0, 0.5 and 1"
    invalid(name, f"be that of the {kind} {listed} of target; it is {given}", remedy=remedy)


def _require_likely_rows(
    targets: FloatArray, m: FloatArray, v: FloatArray, n: int | None, unit: float
) -> None:
    """Compare targets with the frequencies that moments of genotypes or of bits imply.

    All are in multiples of `unit`.
    """
    if not within(m, _TINY_MEAN, 2.0 - _TINY_MEAN):
        return
    if m.max() < 1.0 and _spread(np.log(v / (m * (1.0 - m))), 1.0, 1.0) < _APART:
        if within(targets, 0.0, 1.0):
            require_likely_counts(targets, m, 1, name="mean")
        return
    if within(targets, 0.0, 2.0) and _spread(np.log(v / _diploid(m)), 1.0, _MIXED) < _NEAR:
        require_likely_counts(targets, 0.5 * m, 2, name="mean", unit=unit)
        if n is not None:
            warn_of_chromosomes(m, n)


def _variances(cov: Any, columns: int) -> FloatArray | None:
    """The variances of many columns, all positive, or None."""
    if hasattr(cov, "fit"):  # an estimator: its moments are those of the rows
        return None
    given = np.asarray(cov)
    if columns < _COLUMNS or given.dtype.kind not in "fiu":
        return None
    if given.shape not in ((columns,), (columns, columns)):
        return None
    variances = np.asarray(np.diagonal(given) if given.ndim == 2 else given, np.float64)
    return variances if every((variances > 0.0) & (variances < np.inf)) else None


def _refuse_codes(row: FloatArray, known: Any, v: FloatArray, m: FloatArray) -> None:
    """Refuse a target with codes of missing genotypes beside moments of genotypes."""
    inside = (m > 0.0) & (m < 2.0)
    if not every(v[inside] <= 1.1 * (m * (2.0 - m))[inside]) or not every(inside):
        return
    if _spread(np.log(v / _diploid(m)), 1.0, _INBRED) < _LIKE:
        column = int(np.argmin(known))
        rule = "be a genotype, 0, 1 or 2, as mean and cov are those of genotypes"
        remedy = "If it marks a missing genotype, leave the column out of target, mean and cov"
        invalid("target", rule, index=column, value=row[column], remedy=remedy)


def _refuse_centred(row: FloatArray, v: FloatArray, m: FloatArray) -> None:
    """Refuse a target that was centred or standardised beside moments of genotypes."""
    if within(m, _TINY_MEAN, 2.0) and _spread(np.log(v / _diploid(m)), 1.0, _MIXED) < _NEAR:
        column = int(np.argmin(row))
        rule = "be a genotype, 0, 1 or 2, as mean and cov are those of genotypes"
        remedy = "If target was centred or standardised, pass it as it was before"
        invalid("target", rule, index=column, value=row[column], remedy=remedy)


def _misread(
    v: FloatArray, m: FloatArray, *, heterozygous: bool, correlated: bool
) -> tuple[str, str, str] | None:
    """The argument that is wrong, what it is and the cure, if moments are not those of genotypes.

    A law of which few columns vary alike, a constant variance or one in proportion to the mean fits
    more than genotypes do: another law must fit twice as well as these.
    """
    if correlated and every(np.abs(v - 1.0) < _SAME) and m.max() < 2.0 and (m < 0.9).any():
        return "cov", "1 in every column, as in a matrix of correlations", "Pass covariances"
    inside = (m > _EDGE) & (m < 2.0 - _EDGE)
    if m.max() > 2.0:
        shares = m / 50.0
        inside = (shares > _EDGE) & (shares < 2.0 - _EDGE)
        if inside.sum() < _COLUMNS:
            return None
        if _spread(np.log(v / 2500.0 / _diploid(shares))[inside], 1.0, _INBRED) > _LIKE:
            return None
        return "mean", "100 * p, in per cent, and so is the unit of cov", _REMEDY
    v, m = v[inside], m[inside]
    if m.size < _COLUMNS:
        return None
    if heterozygous:
        if m.max() >= 1.0:
            return None
        bits = m * (1.0 - m)
        if np.ptp(bits) <= _SAME:
            return None
        factor = float(v[0] / bits[0])
        if np.ptp(v / bits) < _SAME * factor and not _LEAST_FACTOR < factor < _MOST_FACTOR:
            return "cov", f"{factor:.3g} times p * (1 - p)", "Pass that of one row"
        ratio = np.log(v / np.sqrt(bits))
        if np.ptp(ratio) > _SAME or abs(ratio[0]) > 0.5 or np.ptp(np.log(v)) < _APART:
            return None
        return "cov", "the square root of it, the standard deviation", "Pass variances"
    diploid = _diploid(m)
    usual = _spread(np.log(v / diploid), 1.0, _INBRED)
    if usual < _APART:
        return None
    usual = min(usual, _spread(np.log(v), 0.0, np.inf), _spread(np.log(v / m), 0.5, np.inf))
    if usual < _APART:
        return None
    laws = {
        ("cov", "near its square root, the standard deviation"): np.sqrt(diploid),
        ("cov", "near p * (1 - p), for a mean of 2 * p"): diploid / 2.0,
        ("cov", "near a quarter of it, as of the halves 0, 0.5 and 1"): diploid / 4.0,
    }
    if m.max() < 1.0:
        allele = m * (1.0 - m)
        laws["mean", "near p, half of it, by cov"] = 2.0 * allele
        laws["mean", "near p, and cov near p * (1 - p), as of one allele"] = allele
        laws["mean", "near p, and cov near p * (1 - p) / 2, as of halves"] = allele / 2.0
    fits = {}
    for fault, law in laws.items():
        power = 2.0 if "root" in fault[1] else 1.0
        fits[fault] = _spread(power * np.log(v / law), 1.0, _MIXED) / power
    for power, law, kind in ((1.0, diploid, "variance"), (2.0, np.sqrt(diploid), "standard error")):
        ratio = power * np.log(v / law)
        of = "a mean" if np.median(ratio) < 0.0 else "a sum"
        bounds = (0.0, _TINY) if of == "a mean" else (_HUGE, np.inf)
        fits["cov", f"near the {kind} of {of} of many rows: pass that of one row"] = (
            _spread(ratio, *bounds) / power
        )
    name, given = min(fits, key=lambda fault: fits[fault])
    return (name, given, _REMEDY) if fits[name, given] < min(_NEAR, 0.5 * usual) else None


def _diploid(mean: FloatArray) -> FloatArray:
    """The variance ``2 p (1 - p)`` of genotypes with the mean 2 p."""
    return mean * (1.0 - 0.5 * mean)


def _spread(logs: FloatArray, least: float, most: float) -> float:
    """Mean absolute deviation from the median, or from its nearest value in [least, most]."""
    with np.errstate(divide="ignore"):
        middle = np.clip(np.median(logs), np.log(least), np.log(most))
    return float(np.abs(logs - middle).mean())


class Releases(Protocol):
    """Some releases in rows that can state where an offending one stands."""

    rows: npt.NDArray[Any]

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good` is false."""
