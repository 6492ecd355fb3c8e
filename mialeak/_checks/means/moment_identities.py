"""Variances that follow from means by the formula of another quantity, or in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_floats, invalid
from mialeak._warnings import warn

__all__ = ["require_no_other_identity", "rounding_of", "warn_of_codes_beside_bits"]

#: Relative difference of variances that are the same: single precision, frequencies to six digits.
_SAME = 1e-5
#: Decimals that are looked at, and how far from whole a number of so many is.
_DECIMALS, _STRAY = 12, 1e-6
#: By what factor the variance of a sample exceeds that by its mean at most: n / (n - 1).
_MOST_OF_SAMPLE = 1.2
#: Columns that refute most formulas, by the log of a ratio, and columns for the others.
_FIRST, _ROUGH, _LOOKED_AT = 8, 0.2, 64
#: Share of the columns that follow, and the largest probability that they do by chance.
_NEARLY_ALL, _CHANCE = 0.9, 1e-4
#: Largest rounding of a variance of bits, relative to it, with which it differs from that of
#: genotypes; if most of so many columns have targets beside bits, their moments were designed.
_COARSE, _DESIGNED = 0.1, 10
#: The least mean of such a column, and the expected number of genotypes 2 with this mean: without
#: one in the sample, genotypes have the variance of bits.
_LEAST_MEAN, _TWOS = 0.2, 3.0
_REMEDY = "For frequencies p pass mean=2 * p, cov=2 * p * (1 - p)"


class _Identity(NamedTuple):
    """Wrong moments ``mean = unit * k * p`` and ``cov = (scale * k * p * (1 - p)) ** power``.

    `kind` is k, 1 for bits and 2 for genotypes; `name` is the argument at fault.  Variances are
    those of a population, or of a sample as well.
    """

    kind: int
    unit: float
    scale: float
    power: float = 1.0
    name: str = ""
    given: str = ""
    remedy: str = _REMEDY
    of_sample: bool = True


#: Right moments: those of bits and of genotypes, and of a law of Poisson, whose variance is its
#: mean.
_RIGHTS = (_Identity(1, 1.0, 1.0), _Identity(2, 1.0, 1.0))
_POISSON = _Identity(1, 1e12, 1e12)


@lru_cache(maxsize=32)
def _identities(n: int | None, least: int) -> tuple[list[_Identity], FloatArray]:
    """Those of `least` copies and more that are looked for, with their numbers as columns."""
    cent, of_cent = "100 * p, in per cent", "200 * p, of p in per cent"
    both, by_100 = "and so is the unit of cov", "Divide mean by 100 and cov by 10,000"
    root = "the square root of it, the standard deviation"
    table = [
        _Identity(2, 1.0, 0.5, 1.0, "cov", "p * (1 - p), for a mean of 2 * p", of_sample=False),
        _Identity(2, 0.5, 1.0, 1.0, "mean", "p, for a cov of 2 * p * (1 - p)", of_sample=False),
        _Identity(1, 100.0, 1e4, 1.0, "mean", f"{cent}, {both}", by_100),
        _Identity(1, 100.0, 1.0, 1.0, "mean", cent, "Divide it by 100"),
        _Identity(2, 100.0, 1e4, 1.0, "mean", f"{of_cent}, {both}", by_100),
        _Identity(2, 100.0, 1.0, 1.0, "mean", of_cent, "Divide it by 100"),
        _Identity(2, 50.0, 1.0, 1.0, "mean", cent),
        *(_Identity(2, 50.0, scale, 1.0, "mean", f"{cent}, {both}") for scale in (2.5e3, 5e3, 1e4)),
    ]
    for kind in (1, 2):
        table.append(_Identity(kind, 1.0, 1.0, 0.5, "cov", root, "Pass variances"))
        if n is not None:
            rows, total = float(n), f"a sum of n = {n:,} rows"
            squares = f"the squared standard error of a mean of n = {n:,} rows"
            error = f"the standard error of a mean of n = {n:,} rows"
            table += [
                _Identity(kind, rows, rows, 1.0, "mean", f"{total}, and so is cov",
                          "Divide both by n"),
                _Identity(kind, rows, 1.0, 1.0, "mean", total, "Divide it by n"),
                _Identity(kind, rows, rows**2, 1.0, "mean", f"{total}, {both}",
                          "Divide mean by n and cov by n**2"),
                _Identity(kind, 1.0, rows, 1.0, "cov", f"that of {total}", "Divide it by n"),
                _Identity(kind, 1.0, 1.0 / rows, 1.0, "cov", squares, "Multiply it by n"),
                _Identity(kind, 1.0, 1.0 / rows, 0.5, "cov", error,
                          "Square it and multiply it by n"),
            ]  # fmt: skip
    if least == 2:  # else they are right for bits
        as_bits = "p, and cov p * (1 - p), as of bits"
        table.insert(0, _Identity(2, 0.5, 0.5, 1.0, "mean", as_bits, of_sample=False))
    table = [each for each in table if each.kind >= least]
    return table, np.array([each[:4] for each in table]).T[:, :, None]


def require_no_other_identity(target: Any, mean: FloatArray, cov: Any, n: int | None) -> None:
    """Refuse variances that follow from means by another formula than that of bits or genotypes.

    Of any number of columns, as far as their digits show that this is no coincidence.  Columns of
    which targets have other values than 0, 1 and 2 are left out.
    """
    given = np.asarray(cov) if not hasattr(cov, "fit") else np.zeros(0)
    if given.dtype.kind not in "fiu" or given.shape not in (mean.shape, 2 * mean.shape):
        return
    seen = slice(None, None, max(-(-mean.size // _LOOKED_AT), 1))
    values, m = as_floats(target, "target").reshape(-1, mean.size)[:, seen], mean[seen]
    v = np.asarray(given.diagonal() if given.ndim == 2 else given, np.float64)[seen]
    held = _are_copies(values).all(axis=0) & (m > 0.0) & (v > 0.0) & (v < np.inf)
    values, m, v = values[:, held], m[held], v[held]
    if not values.size:
        return
    least = int(values.max())
    rights = [right for right in _RIGHTS if right.kind >= least]
    if any(_is_multiple(right, m, v) for right in rights):  # most are right
        return
    first = slice(None, None, -(-m.size // _FIRST))
    possible = list(_possible(m[first], v[first], n, least))
    if not possible or any(_follow(right, m, v, n, 1.0) for right in [*rights, _POISSON]):
        return
    copies = (values > 0.0).any(axis=0)  # 0 is 0 in any unit
    for each in possible:
        columns = slice(None) if each.unit <= 1.0 else copies
        if _follow(each, m[columns], v[columns], n, _CHANCE):
            listed = "bits 0 and 1" if each.kind == 1 else "genotypes 0, 1 and 2"
            rule = f"be that of the {listed} of target; it is {each.given}"
            invalid(each.name, rule, remedy=each.remedy)


def warn_of_codes_beside_bits(target: Any, mean: FloatArray, cov: Any, n: int | None) -> None:
    """Warn of a whole number other than 0 and 1 where mean and variance are those of bits.

    Of whole numbers with the mean m in (0, 1) none but 0 and 1 have so small a variance.
    """
    values = np.asarray(target)
    if values.dtype.kind not in "fiu" or values.shape[-1:] != mean.shape or hasattr(cov, "fit"):
        return
    given = np.asarray(cov)
    if given.dtype.kind not in "fiu" or given.shape not in (mean.shape, 2 * mean.shape):
        return
    variances = np.asarray(given.diagonal() if given.ndim == 2 else given)
    rows, size = values.reshape(-1, mean.size), float(n or np.inf)
    law, of_sample, most = mean - mean * mean, 1.0 - 1.0 / size, 1.0 + _SAME + _COARSE
    near = (variances >= (2.0 - most) * law) & (of_sample * variances <= most * law)
    columns = np.flatnonzero(near & (mean >= max(_LEAST_MEAN, math.sqrt(4.0 * _TWOS / size))))
    if not columns.size:
        return
    held = rows[:, columns]
    columns = columns[(((held > 1.0) | (held < 0.0)) & (np.rint(held) == held)).any(axis=0)]
    m, v, law = mean[columns], variances[columns], law[columns]
    rounding = rounding_of(m) * np.abs(1.0 - 2.0 * m) + rounding_of(v)
    near = np.abs(v - law) <= _SAME * law + rounding
    near |= np.abs(of_sample * v - law) <= _SAME * law + rounding
    near &= (rounding <= _COARSE * law) & (v + 2.0 * rounding < m * (1.0 - 0.5 * m))
    columns = columns[near]
    if not columns.size or (mean.size >= _DESIGNED and 2 * columns.size > mean.size):
        return
    column = int(columns[0])
    if (
        _are_copies(rows).all(axis=0) & (variances > _MOST_OF_SAMPLE * mean * np.abs(1.0 - mean))
    ).any():
        return  # beside genotypes it is a site without a 2 in the sample
    held = rows[:, column]
    value = float(held[np.argmax((held != 0.0) & (held != 1.0))])
    cure = "as mean and cov are: if they are 1 and 2, subtract 1" if value == 2.0 else "as mean is"
    warn(
        f"target is {value:g} in column {column}, where the variance by cov is mean * (1 - mean), "
        f"that of values 0 and 1 alone. Code targets as 0 and 1, {cure}",
    )


def _are_copies(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each value is 0, 1 or 2."""
    return np.asarray((values >= 0.0) & (values <= 2.0) & (np.rint(values) == values), np.bool_)


def _possible(m: FloatArray, v: FloatArray, n: int | None, least: int) -> Iterator[_Identity]:
    """Formulas that these columns do not refute; in another unit means are beyond 1 or 2."""
    table, (kind, unit, scale, power) = _identities(n, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(v) - power * np.log(_law(m, kind, unit, scale))
    off = np.median(np.abs(logs), axis=1)
    beyond = (unit <= 1.0) | (m.max() > kind)
    yield from (table[k] for k in np.flatnonzero((off < _ROUGH) & beyond[:, 0]))


def _law(m: FloatArray, kind: Any, unit: Any, scale: Any) -> FloatArray:
    """The variance of a column by its mean."""
    share = m / (unit * kind)
    return np.asarray(scale * kind * share * (1.0 - share))


def _is_multiple(right: _Identity, m: FloatArray, v: FloatArray) -> bool:
    """Whether variances are one multiple of those by their means, as n / (n - 1) of a sample is."""
    law = _law(m, right.kind, right.unit, right.scale)
    if not law.min() > 0.0:
        return False
    ratio = v / law
    low, high = float(ratio.min()), float(ratio.max())
    return high - low <= _SAME and low >= 1.0 - _SAME and high <= _MOST_OF_SAMPLE


def _follow(by: _Identity, m: FloatArray, v: FloatArray, n: int | None, chance: float) -> bool:
    """Whether nearly all variances follow, up to their digits, and not by chance.

    They are those of a population, or of a sample of n or another number of rows.
    """
    law = _law(m, by.kind, by.unit, by.scale)
    if not law.size or not (law > 0.0).all():
        return False
    ratio = v ** (1.0 / by.power) / law
    rounding = rounding_of(m)
    least, most = (_law(each, by.kind, by.unit, by.scale) for each in (m - rounding, m + rounding))
    exact = _SAME + rounding_of(v) / v / by.power
    rounded = exact + 0.5 * np.abs(most - least) / law
    single = np.unique(m, return_index=True)[1]
    usual = float(np.clip(np.median(ratio), 1.0, _MOST_OF_SAMPLE))
    factors = [(1.0, 0)]
    if by.of_sample:
        factors += [(usual, 1)] if n is None else [(n / (n - 1.0), 0), (usual, 1)]
    for factor, free in factors:
        off = np.abs(ratio / factor - 1.0)
        if np.count_nonzero(off <= rounded) < _NEARLY_ALL * m.size:
            continue
        by_chance = np.where(off <= exact, 2.0 * exact, np.where(off <= rounded, 2.0 * rounded, 1))
        logs = np.sort(np.log(np.minimum(by_chance, 1.0))[single])
        if float(logs[free:].sum()) <= math.log(chance):
            return True
    return False


def rounding_of(values: FloatArray) -> FloatArray:
    """Half a unit of the last decimal that numbers have."""
    scaled = np.multiply.outer(10.0 ** np.arange(_DECIMALS), values)
    whole = np.abs(scaled - np.rint(scaled)) < _STRAY
    decimals = np.where(whole.any(axis=0), whole.argmax(axis=0), _DECIMALS)
    return np.asarray(0.5 * 10.0 ** -decimals.astype(np.float64), np.float64)
