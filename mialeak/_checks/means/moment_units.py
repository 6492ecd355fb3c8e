"""Units of moments: those of sums, standard errors and deviations, by the distances of targets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, every, invalid, within
from mialeak._warnings import warn

__all__ = [
    "LEAST_COLUMNS",
    "require_likely_units",
    "warn_of_far_targets",
    "warn_of_influential_rows",
]

#: So many columns are enough to see by one target that variances are in another unit.
_COLUMNS = 10
#: Means are those of the rows if they are as near, in standard errors.
_SAME = 1e-5
#: The most by which a variance of genotypes may exceed 1.
_ROUNDED = 0.1
#: Median of the squared distance of a normal value in its variance.
_MEDIAN = 0.455
#: Fewest columns in which units are compared; and the median squared distance of
#: targets in the variances from which on moments are in doubt.
LEAST_COLUMNS, _FAR = 4, 25.0
#: Squared distances of a mean from 0, and of a target from it, in the variance of a column.
#: Correlations of a column with itself are as near to 1.
_NARROW, _FARTHEST, _UNIT = 9.0, 1600.0, 1e-9
#: Distances are those of a wrong unit if they are so many times too large at least, if they fit the
#: other unit within this factor and differ by it, as no designed ones do; or if their
#: likelihood there is e^3 times that of any multiple, or e^7 times where it is refused.
_FAR_TIMES, _FIT, _LIKELY = 4.0, 6.0, (3.0, 7.0)
#: Rows with means near 0, by this squared distance, may differ in scale, as gradients do.
_CENTRED = 25.0
#: Logarithm by which a variance of rows and the one passed differ, at least; standard errors by
#: which half of them do where chance does not explain it; and rounding of such ones, at most.
_OTHER, _ERRORS, _DIGITS = 0.15, 6.0, 0.01
#: Targets whose distances are looked at, and as many as show by themselves that moments are wrong.
_LOOKED_AT, _SURE = 50, 20
#: Relative difference of the sum of all distances of rows from that by their own covariance, and
#: the score from which on a row is part of it: its distance by the others is 1.25 times as large.
_DIFFER, _PART = 1e-3, 0.2
#: Only warned of: targets of another population may be as far.
_SQUARED = (
    "squared standard errors, variances divided by n",
    "If so, multiply it by n; if target is of another population, cov may be right",
)
_REMEDY = (
    "Take mean and cov of the same counts as target; for frequencies p of the genotypes 0, 1 and 2 "
    "pass mean=2 * p, cov=2 * p * (1 - p)"
)


def warn_of_far_targets(target: Any, mean: FloatArray, cov: Any) -> None:
    """Warn of a target in another unit than mean or cov, by one of few columns.

    Where the mean is three standard deviations from 0, even a long tail (a log-normal law) reaches
    forty with a probability of 3e-17; beside a matrix of correlations, five are as far.  Bits and
    genotypes reach any distance, and so do columns around 0.
    """
    given, values = np.asarray(cov), np.asarray(target)
    if given.shape == values.shape == mean.shape and given.dtype.kind + values.dtype.kind == "ff":
        every_part = zip(values.tolist(), mean.tolist(), given.tolist(), strict=True)
        if all((x - m) * (x - m) <= _FAR * v for x, m, v in every_part):  # NumPy takes longer
            return
    if given.dtype.kind not in "fiu" or given.ndim > 2 or values.dtype.kind not in "bfiu":
        return
    values = np.asarray(values, np.float64)
    v = given.diagonal() if given.ndim == 2 else given
    if values.shape[-1:] != mean.shape or (v.shape and v.shape != mean.shape):
        return
    are_correlations = given.ndim == 2 and bool((np.abs(v - 1.0) <= _UNIT).all()) and mean.size > 1
    with np.errstate(over="ignore", invalid="ignore"):
        squares, most = np.square(values - mean), (_FAR if are_correlations else _FARTHEST) * v
        is_far = (mean * mean > _NARROW * v) & (v > 0.0) & (squares > most)
        excess = np.where(is_far, squares - most, 0.0)
    if excess.max(initial=0.0) <= 0.0:
        return
    if within(mean, 0.0, 2.0) and within(values, 0.0, 2.0) and every(np.rint(values) == values):
        return
    place = np.unravel_index(int(np.argmax(excess)), excess.shape)
    column = int(place[-1])
    variance = float(np.broadcast_to(v, mean.shape)[column])
    away = math.sqrt(float(squares[place]) / variance)
    cure = "Pass target, mean and cov in one unit, and covariances, not their inverse"
    if are_correlations:
        cure = (
            "All variances are 1: if cov holds correlations, multiply it by the standard "
            "deviations of its row and of its column"
        )
    warn(
        f"target is {float(values[place]):g} in column {column}, {away:.3g} standard deviations "
        f"from mean, which is {mean[column]:g} there with the variance {variance:g} by cov: no "
        f"usual value is as far. {cure}. If the value is right, so is the leakage.",
    )


def require_likely_units(target: Any, mean: FloatArray, cov: Any, n: int) -> None:
    """Refuse, or warn of, moments in another unit than targets, by the distances of these.

    Half of the columns are then many standard deviations away, and in the other unit they are not.
    """
    given = np.asarray(cov) if not hasattr(cov, "fit") else np.zeros(0)
    if given.dtype.kind not in "fiu" or given.shape not in (mean.shape, 2 * mean.shape):
        return
    v = np.asarray(np.diagonal(given) if given.ndim == 2 else given, np.float64)
    values = as_floats(target, "target")
    if values.shape[-1:] != mean.shape or not values.size or not every((v > 0.0) & (v < np.inf)):
        return
    if values.shape == (n, mean.size) and n >= _SURE:
        _refuse_other_variances(values, mean, v, n)
    rows = values.reshape(-1, mean.size)[:_LOOKED_AT]
    squares = (rows - mean) ** 2
    distances = squares / v
    if 2 * np.count_nonzero(distances > _FAR_TIMES * _MEDIAN) < distances.size:
        return
    median = float(np.median(distances))
    if median > _FAR and mean.max() > 2.0 and v.max() <= 1.0 + _ROUNDED:
        _refuse_mean_of_genotypes(values, mean)
    if mean.size < _COLUMNS or not median > _FAR_TIMES * _MEDIAN:
        return
    if median > _FAR:
        _refuse_scaled_mean(rows, mean, v, n)
    if np.median(mean**2 / v) < _CENTRED:
        return
    is_genotype = within(rows, 0.0, 2.0) and every(np.rint(rows) == rows)
    unit = None if is_genotype else _unit_of(squares, v, n, median)
    if unit is None:
        return
    rule = f"hold covariances of single rows; by the distances of target it seems to hold {unit[0]}"
    if len(rows) >= _SURE and unit is not _SQUARED:
        invalid("cov", rule, remedy=unit[1])
    warn(
        f"cov must {rule}: with cov, target is {math.sqrt(median):.3g} standard deviations from "
        f"mean in half of the columns. {unit[1]}.",
    )


def _refuse_mean_of_genotypes(values: FloatArray, mean: FloatArray) -> None:
    """Refuse a mean outside of the range of genotypes, whose variance is that of genotypes."""
    if within(values, 0.0, 2.0) and np.ptp(values) > 0.0 and every(np.rint(values) == values):
        column = int(np.argmax(mean))
        rule = "be between 0 and 2, as target and cov are those of the genotypes 0, 1 and 2"
        invalid("mean", rule, index=column, value=float(mean[column]), remedy=_REMEDY)


def _refuse_scaled_mean(rows: FloatArray, mean: FloatArray, v: FloatArray, n: int) -> None:
    """Refuse sums in place of means, and per cent, of which targets are a fixed share."""
    units = ((float(n), f"a sum of n = {n:,} rows", "Divide it by n"),
             (100.0, "100 times the unit of target", "Pass both in one unit"))  # fmt: skip
    for factor, given, remedy in units:
        near = np.abs(rows - mean / factor)
        fits = every(rows != 0.0) and np.median(near**2 / v) < _FAR_TIMES * _MEDIAN * _FIT
        if fits and np.median(near / np.abs(rows)) < 1.0:
            invalid("mean", f"have the unit of target; it seems to be {given}", remedy=remedy)


def _unit_of(squares: FloatArray, v: FloatArray, n: int, median: float) -> tuple[str, str] | None:
    """What cov holds in place of variances, and the cure; None if it may hold variances.

    A square root fits if its square is likelier than any multiple of it.  Squared standard errors
    are variances divided by n, and fit if all distances are n times too large.
    """

    def likelihood(variance: FloatArray) -> float:
        return -0.5 * float(np.sum(np.log(variance) + squares / variance))

    other = likelihood(float(np.mean(squares / v)) * v)
    for factor, given, remedy in (
        (1.0, "standard deviations", "Square it"),
        (float(n), "standard errors", "Square it and multiply it by n"),
    ):
        square = factor * v**2
        times = float(np.median(squares / square)) / _MEDIAN
        likely = _LIKELY[len(squares) >= _SURE]
        if 1.0 / _FIT < times < _FIT and likelihood(square) > other + likely:
            return given, remedy
    times, distances = median / _MEDIAN / n, squares / v
    differ = distances.max() > _FIT * distances.min()
    if differ and median > _FAR and 1.0 / _FIT < times < _FIT:
        return _SQUARED
    return None


def _refuse_other_variances(values: FloatArray, mean: FloatArray, v: FloatArray, n: int) -> None:
    """Refuse variances of the n rows in another unit, if these are the targets, with their mean.

    Those of a population, shrunk ones and robust ones differ from the variances of the rows as
    well: only what equals another function of these is refused, and rounded where it is far.
    """
    if within(values, 0.0, 2.0):  # of genotypes, whose variances may be taken from frequencies
        return
    variances = values.var(axis=0, ddof=1)
    known = variances > 0.0
    near = np.abs(values.mean(axis=0) - mean) <= _SAME * np.sqrt(variances / n)
    if not known.any() or not every(near[known]):
        return
    logs = np.log(variances[known] / v[known])
    if np.abs(logs).max() < _OTHER:
        return
    is_far = bool(np.median(np.abs(logs)) > _ERRORS * math.sqrt(2.0 / (n - 1.0)))
    for divisor in (n - 1.0, float(n)):
        of_rows = np.log(variances[known] * ((n - 1.0) / divisor))
        powers = {
            "squared standard errors; multiply it by n": of_rows - math.log(n),
            "standard errors; pass variances": 0.5 * (of_rows - math.log(n)),
            "standard deviations; pass variances": 0.5 * of_rows,
            "one over variances; pass variances": -of_rows,
        }
        if is_far:
            kind = "correlations or variances of standardised columns; pass variances"
            powers[kind] = np.zeros(of_rows.size)
        off = {kind: np.abs(np.log(v[known]) - by).max() for kind, by in powers.items()}
        kind = min(off, key=lambda each: off[each])
        if off[kind] < (_DIGITS if is_far else _SAME):
            rule = (
                "hold the covariances of the rows, which are the targets here; their variances are "
                f"{float(np.exp(np.median(logs))):.4g} times as large in half of the columns"
            )
            invalid("cov", rule, remedy=f"It seems to hold {kind}")


def warn_of_influential_rows(target: Any, mean: FloatArray, cov: Any, score: Any, n: int) -> None:
    """Warn of the n rows themselves by their own covariance, where a row is a large part of it.

    A row with the score m by all n rows has about ``m / (1 - m)`` by the others.  Of variances that
    is so column by column.
    """
    if np.shape(score) != (n,) or np.ndim(target) != 2 or np.max(score) < _PART:
        return
    rows, distances = as_floats(target, "target"), float(n * np.sum(score))
    ranks = distances / np.array([n - 1.0, n])  # a whole number, by one of the two divisors
    if np.abs(ranks - np.rint(ranks)).min() > _DIFFER or ranks[0] > mean.size + 1:
        return
    std = rows.std(axis=0)
    if not every(np.abs(rows.mean(axis=0) - mean) <= _SAME * std):
        return
    part = float(np.max(score))
    if np.ndim(cov) == 1:
        highest = np.max(np.abs(rows - mean), axis=0)[std > 0.0]
        part = float(np.max(highest**2 / std[std > 0.0] ** 2)) / n
    if part >= _PART:
        warn(
            f"targets are {n:,} rows with this mean and this covariance, as the rows of the "
            "release. Each is then part of its own mean and covariance, and rows that are far from "
            "the others leak more than stated: mean_leakage(table) takes each row by the others",
        )
