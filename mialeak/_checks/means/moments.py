"""Checks of moments beside targets: those of genotypes and of bits, by the variances of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, every, invalid, within
from mialeak._checks.means.categories import warn_of_moments_of_categories
from mialeak._checks.means.frequencies import require_likely_counts, warn_of_chromosomes
from mialeak._checks.means.genotypes import MISSING
from mialeak._checks.means.moment_identities import (
    require_no_other_identity,
    warn_of_codes_beside_bits,
)
from mialeak._checks.means.moment_units import (
    LEAST_COLUMNS,
    require_likely_units,
    warn_of_far_targets,
)
from mialeak._kernels import checks

__all__ = ["require_genotype_moments"]

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
#: Correlations of a column with itself, and means of standardised columns, are as near to 1 and 0;
#: correlations that were typed have as few digits.
_EXACT, _DIGITS = 1e-9, 1e4
#: Means nearer than this to 0 and 2 are those of columns that hardly vary.
_EDGE = 0.02
_REMEDY = (
    "Take mean and cov of the same counts as target; for frequencies p of the genotypes 0, 1 and 2 "
    "pass mean=2 * p, cov=2 * p * (1 - p)"
)
_REMEDY_OF_HALVES = (
    "Pass 2 * target with mean=2 * p, cov=2 * p * (1 - p), or target with mean=p, "
    "cov=p * (1 - p) / 2"
)
#: Halves are at least this share of the heterozygous genotypes expected, fewer in mixed groups.
_FEWEST_HALVES = 0.25
#: A centred target has this share of negatives.
_CENTRED = 0.2
#: Means of which the likelihood of a row is taken are as far from 0 and 2; typed numbers are whole.
_TINY_MEAN, _STRAY = 1e-9, 1e-6


def require_genotype_moments(target: Any, mean: FloatArray, cov: Any, n: int | None = None) -> None:
    """Refuse the moments of an allele, or of half of them, beside the genotypes 0, 1 and 2.

    With the frequency p a count has the mean 2p and the variance 2p(1 - p), and in a mixture of
    populations more.  Standard deviations, correlations and per cent are refused as well, and so
    are targets of the other allele; `n`, if given, is compared with the counts in `mean`.
    """
    with np.errstate(over="ignore"):  # means of which a square overflows are no such moments
        warn_of_moments_of_categories(target, mean, cov)
        warn_of_codes_beside_bits(target, mean, cov, n)
        if (n is None or mean.size < _COLUMNS) and checks.are_of_counts(target, mean, cov):
            return
        require_no_correlations(mean, cov)
        if mean.size < _COLUMNS:
            warn_of_far_targets(target, mean, cov)
        _require_likely_moments(target, mean, cov, n)
        if n is not None and mean.size >= LEAST_COLUMNS:
            require_likely_units(target, mean, cov, n)
        require_no_other_identity(target, mean, cov, n)
        if np.shape(cov) == mean.shape and np.asarray(target).min(initial=0.0) < 0.0:
            _require_no_centred(as_floats(target, "target"), mean, as_floats(cov, "cov"))


def _require_no_centred(targets: FloatArray, mean: FloatArray, variances: FloatArray) -> None:
    """Refuse centred targets beside variances that are those of genotypes, of few columns too."""
    rows = targets.reshape(-1, mean.size)
    row, law = rows[int(np.argmin(rows.min(axis=1)))], _diploid(mean)
    varied = mean[law > 0.0]
    if not varied.size or not every(np.abs(variances - law) <= _SAME * law):
        return
    if (varied != varied[0]).any() and (row < 0.0).sum() > _CENTRED * row.size:
        _refuse_centred(row, variances, mean)


def require_no_correlations(mean: FloatArray, cov: Any) -> None:
    """Refuse a computed matrix of correlations beside means that are no standardised ones."""
    if hasattr(cov, "fit") or np.shape(cov) != (mean.size, mean.size) or mean.size < 2:
        return
    matrix = np.asarray(cov)
    if matrix.dtype.kind != "f" or not (np.abs(np.diagonal(matrix) - 1.0) <= _EXACT).all():
        return
    apart = np.abs(matrix[np.triu_indices(mean.size, 1)])
    if apart.max() >= 1.0:
        return
    typed = np.abs(apart * _DIGITS - np.rint(apart * _DIGITS)) < _STRAY
    if typed.any() or np.unique(apart).size < apart.size:
        return  # a matrix that was designed
    if np.abs(mean).max() > _EXACT and np.unique(mean).size == mean.size:
        remedy = "Multiply it by the standard deviations of its row and of its column"
        invalid("cov", "hold covariances; it seems to hold correlations", remedy=remedy)


def _require_likely_moments(target: Any, mean: FloatArray, cov: Any, n: int | None) -> None:
    """Compare the variances of many columns with those of genotypes and of bits."""
    variances = _variances(cov, mean.size)
    if variances is None:
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
    if mean.min() < 0.0:
        _refuse_logs(counts, v, m)
        return
    fault = _standardised(variances, mean, np.ndim(cov) == 2, unit)
    if fault is None and unit == 0.5:
        fault = _misread_halves(v, m, values / unit)
    fault = fault or _misread(v, m, heterozygous=counts.max() < 2.0, n=n)
    if fault is None:
        _require_likely_rows(values / unit, m, v, n, unit, float(np.sum(cov)) / unit**2)
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
    targets: FloatArray, m: FloatArray, v: FloatArray, n: int | None, unit: float, total: float
) -> None:
    """Compare targets with the frequencies that moments of genotypes or of bits imply.

    All are in multiples of `unit`; `total` is the variance of the sum of a row by cov.
    """
    if not within(m, _TINY_MEAN, 2.0 - _TINY_MEAN):
        return
    if m.max() < 1.0 and _spread(np.log(v / (m * (1.0 - m))), 1.0, 1.0) < _APART:
        if within(targets, 0.0, 1.0):
            require_likely_counts(targets, m, 1, name="mean")
        return
    if within(targets, 0.0, 2.0) and _spread(np.log(v / _diploid(m)), 1.0, _MIXED) < _NEAR:
        require_likely_counts(targets, 0.5 * m, 2, name="mean", unit=unit, variance=total)
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


def _standardised(
    v: FloatArray, m: FloatArray, correlated: bool, unit: float
) -> tuple[str, str, str] | None:
    """The same where each variance is 1, as of standardised columns, of which the mean is not."""
    if not correlated and np.ptp(m) < _SAME:  # a law with one mean for all
        return None
    if every(np.abs(v - 1.0) < _SAME) and m.max() < 2.0 * unit and (m < 0.9 * unit).any():
        of = "in a matrix of correlations" if correlated else "of standardised columns"
        return "cov", f"1 in every column, as {of}", "Pass covariances"
    return None


def _misread(
    v: FloatArray, m: FloatArray, *, heterozygous: bool, n: int | None
) -> tuple[str, str, str] | None:
    """The argument that is wrong, what it is and the cure, if moments are not those of genotypes.

    A law of which few columns vary alike, a constant variance or one in proportion to the mean fits
    more than genotypes do: another law must fit twice as well as these.
    """
    inside = (m > _EDGE) & (m < 2.0 - _EDGE)
    if m.max() > 2.0:
        return _scaled(v, m, n)
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
    if np.ptp(np.log(v / np.sqrt(diploid))) <= _SAME < np.ptp(np.log(diploid)):
        return "cov", "in proportion to the standard deviation: pass variances", _REMEDY
    usual = _spread(np.log(v / diploid), 1.0, _INBRED)
    if usual < _APART:
        return None
    usual = min(usual, _spread(np.log(v), 0.0, np.inf), _spread(np.log(v / m), 0.5, np.inf))
    if usual < _APART:
        return None
    laws = {
        ("cov", "near its square root, the standard deviation"): np.sqrt(diploid),
        ("cov", "near p * (1 - p), for a mean of 2 * p"): diploid / 2.0,
        ("cov", "near its inverse, the precision"): 1.0 / (_MIXED * diploid),
        ("cov", "near a quarter of it, as of the halves 0, 0.5 and 1"): diploid / 4.0,
    }
    if m.max() < 1.0:
        allele = m * (1.0 - m)
        laws["mean", "near p, half of it, by cov"] = 2.0 * allele
        laws["mean", "near p, and cov near p * (1 - p), as of one allele"] = allele
        laws["mean", "near p, and cov near p * (1 - p) / 2, as of halves"] = allele / 2.0
        laws["mean", "near p, and cov near 4 * p * (1 - p)"] = 4.0 * allele
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
    if fits[name, given] < min(_NEAR, 0.5 * usual):
        return name, given, _REMEDY
    return None


def _misread_halves(
    v: FloatArray, m: FloatArray, counts: FloatArray
) -> tuple[str, str, str] | None:
    """The same of halves with moments of whole genotypes; all are in multiples of a half.

    A dosage may be a half, too: halves are a share of the heterozygous genotypes expected.
    """
    p = m / 4.0  # of a mean 2 p
    inside = (p > _EDGE) & (p < 1.0 - _EDGE)
    if p.max() > 1.0 or inside.sum() < _COLUMNS or counts.max() < 2.0:
        return None
    heterozygous = 2.0 * p * (1.0 - p)
    expected = heterozygous[inside].mean()
    if (counts == 1.0).mean() < _FEWEST_HALVES * expected or not within(counts, 0.0, 2.0):
        return None
    if m.max() > 2.0:
        return "mean", f"up to {0.5 * m.max():.3g}, near 2 * p", _REMEDY_OF_HALVES
    usual = min(
        _spread(np.log(v / _diploid(m))[inside], 1.0, _INBRED),
        _spread(np.log(v)[inside], 0.0, np.inf),
        _spread(np.log(v / m)[inside], 0.5, np.inf),
    )
    whole = "as of the genotypes 0, 1 and 2"
    laws = {
        ("cov", f"near 2 * p * (1 - p), {whole}"): 4.0 * _diploid(m),
        ("mean", f"near 2 * p, and cov near 2 * p * (1 - p), {whole}"): 4.0 * heterozygous,
        ("mean", "near 2 * p, twice it, by cov"): heterozygous,
    }
    fits = {fault: _spread(np.log(v / law)[inside], 1.0, _MIXED) for fault, law in laws.items()}
    name, given = min(fits, key=lambda fault: fits[fault])
    if fits[name, given] < min(_NEAR, 0.5 * usual):
        return name, given, _REMEDY_OF_HALVES
    return None


def _scaled(v: FloatArray, m: FloatArray, n: int | None) -> tuple[str, str, str] | None:
    """The same for means above 2: per cent, and sums of n rows."""
    units = [
        (50.0, 50.0, "100 * p, in per cent, and so is the unit of cov"),
        (50.0, 1.0, "100 * p, in per cent"),
        (100.0, 100.0, "200 * p, of p in per cent, and so is the unit of cov"),
        (100.0, 1.0, "200 * p, of p in per cent"),
    ]
    if n is not None:
        units += [(float(n), 1.0, "a sum of n rows"), (0.5 * n, 1.0, "a sum of n/2 rows")]
    for unit, root, given in units:
        shares = m / unit
        inside = (shares > _EDGE) & (shares < 2.0 - _EDGE)
        if inside.sum() < _COLUMNS or shares.max() > 2.0:
            continue
        if _spread(np.log(v / root**2 / _diploid(shares))[inside], 1.0, _INBRED) <= _LIKE:
            return "mean", given, _REMEDY
    return None


def _refuse_logs(counts: FloatArray, v: FloatArray, m: FloatArray) -> None:
    """Refuse negative means beside genotypes 0, 1 and 2 whose variances are at most 1."""
    if set(counts.tolist()) == {0.0, 1.0, 2.0} and v.max() <= 1.0 + _DOSAGE and np.ptp(v) > _SAME:
        column = int(np.argmin(m))
        rule = "be between 0 and 2, as it is of the genotypes 0, 1 and 2 of target"
        invalid("mean", rule, index=column, value=m[column], remedy=_REMEDY)


def _diploid(mean: FloatArray) -> FloatArray:
    """The variance ``2 p (1 - p)`` of genotypes with the mean 2 p."""
    return mean * (1.0 - 0.5 * mean)


def _spread(logs: FloatArray, least: float, most: float) -> float:
    """Mean absolute deviation from the median, or from its nearest value in [least, most]."""
    with np.errstate(divide="ignore"):
        middle = np.clip(np.median(logs), np.log(least), np.log(most))
    return float(np.abs(logs - middle).mean())
