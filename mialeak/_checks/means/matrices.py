"""What the numbers of a table show to be wrong, whatever the names of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, Numbers
from mialeak._checks.means.relatives import Kin, same_persons
from mialeak._checks.means.scaled import cautions_of_centred, cautions_of_scaled
from mialeak._checks.samples import common_copies, repeated_piece
from mialeak._numerics.distances import kernel_blocks

__all__ = [
    "are_genotypes",
    "cautions_of_matrix",
    "common_rows",
    "repeat_cautions",
    "share_of_twins",
]

#: The least side of a matrix of genotypes that is looked at for rows that are sites.
_SIDE = 20
#: If they are, the variance between the means of rows is so many times what that within rows gives,
#: and, less that, so many times the same between columns, which is known to so many errors.
_BEYOND_CHANCE, _RATIO, _ERRORS = 5.0, 5.0, 3.0
#: Dosages are on average so far from a genotype at most, and each genotype has this share at least.
_AWAY, _LEAST_SHARE = 0.15, 0.01
#: Codes of genotypes and their copies of an allele: these, those of snpStats and of rrBLUP, shares
#: of alleles, and those of cyvcf2, where 2 is unknown, or of a missing one, -1 and -9; and share of
#: the columns that hold them.
_CODES = [
    ((0.0, 1.0, 2.0), (0, 1, 2)),
    ((1.0, 2.0, 3.0), (0, 1, 2)),
    ((-1.0, 0.0, 1.0), (0, 1, 2)),
    ((0.0, 0.5, 1.0), (0, 1, 2)),
    ((0.0, 1.0, 2.0, 3.0), (0, 1, 1, 2)),
    ((-1.0, 0.0, 1.0, 2.0), (1, 0, 1, 2)),
    ((-9.0, 0.0, 1.0, 2.0), (1, 0, 1, 2)),
]
_NEARLY_ALL = 0.9
#: Relative difference of two entries that would be equal without rounding, as of an inverse; and
#: the fewest rows of a triangle whose zeros are no coincidence.
_SYMMETRIC, _TRIANGLE = 1e-8, 5
#: A mean 0 and a variance 1 after rounding to three decimals and more.
_TYPED = 2e-3
#: So many columns without a heterozygous genotype are no coincidence.
_HOMOZYGOUS = 10
#: Columns that rise together with the rows do so in this many rows at least, equal ones aside.
_RISING = 10
#: So many rows at the end and at the start may sum up the others, rounded to so many decimals; and
#: the largest probability that a person is so near by chance.
_TAIL, _HEAD, _DECIMALS, _CHANCE = 6, 3, 8, 1e-4
#: Relative difference of a sum or a mean that was not rounded, and half of 1, to which others are.
_ROUNDED, _UNIT = 1e-6, 0.5 * (1.0 + 1e-9)
#: Equal rows are copies if they are so many, and this share of the rows, and pairs that agree in
#: all columns but one are fewer by this factor; of so many columns one is left out.
_COPIES, _COPIED, _NEAR, _OMITTED = 3, 0.01, 2, 32
#: Columns that follow from others: looked at so many at once and in all; their share of the
#: columns at least, their variance given the others at most for blocks of a quarter of the rows,
#: and rows that vary at least, and all of them.
_BLOCK, _COLUMNS, _SHARE, _FREE, _VARYING, _FEWEST = 64, 2048, 0.2, 1e-4, 5, 12
#: Relative difference of the projections of columns that are equal.
_EQUAL = 1e-9


def cautions_of_matrix(
    matrix: Numbers,
    categories: Sequence[npt.NDArray[Any]] = (),
    kin: Kin | None = None,
    *,
    are_sites: bool = False,
) -> list[str]:
    """Cautions for matrices of pairs, sums, copies of rows, and transposed genotypes.

    `categories` are the codes of the columns that are published beside the numbers, `kin` the pairs
    of rows of genotypes that are alike.  `are_sites` is whether columns have names of sites.
    """
    rows, columns = matrix.shape
    of_pairs = _shape_of_pairs(matrix) if rows == columns > 2 else ""
    if of_pairs:
        return [
            f"{of_pairs}, as in a matrix of correlations, relationships or distances. Take the "
            "table of which it was computed, with a row for each person."
        ]
    copies = _of_copies(matrix, categories, kin) or same_persons(kin)
    cautions = _of_summaries(matrix) + copies
    if columns >= _HOMOZYGOUS and matrix.max() == 2.0 and _hold(matrix, (0.0, 2.0)).all():
        cautions.append(
            f"All values of the {columns:,} columns are 0 and 2: of genotypes, none is "
            "heterozygous. Each row is taken for one person here. If rows are haplotypes of "
            "persons, add the two of each person; leave out what people have one copy of."
        )
    if min(rows, columns) >= _SIDE and _are_standard(matrix):
        cautions.append(
            f"Each of the {rows:,} rows has the mean 0 and the standard deviation 1, as columns "
            "have that were standardised. Each row is taken for a person here. Transpose the table "
            "if its columns are persons."
        )
    cautions += cautions_of_centred(matrix) or cautions_of_scaled(matrix)
    genotypes = None
    if not are_sites and min(rows, columns) >= _SIDE:
        genotypes = _genotypes_of(matrix)
    if genotypes is None:
        return cautions
    matrix, columns = genotypes, genotypes.shape[1]
    by_row, by_column = matrix.mean(axis=1), matrix.mean(axis=0)
    between = by_row.var(ddof=1), by_column.var(ddof=1)
    squares = sum(float(np.square(part, dtype=np.float64).sum()) for part in _parts(matrix))
    variance = squares / matrix.size - float(by_row.mean()) ** 2
    within = max(variance - by_row.var() - by_column.var(), 0.0)
    chance = within / columns, within / rows
    of_columns = max(between[1] - chance[1], 0.0) + _ERRORS * chance[1] * (2.0 / columns) ** 0.5
    is_beyond = between[0] >= _BEYOND_CHANCE * chance[0]
    if not is_beyond or between[0] - chance[0] < _RATIO * of_columns:
        return cautions
    return [
        *cautions,
        f"The {rows:,} rows differ as sites do, and the {columns:,} columns as persons do: each "
        "row is taken for a person here. Transpose the table if its rows are sites.",
    ]


def _shape_of_pairs(matrix: Numbers) -> str:
    """What shows that a square matrix is one of pairs: it is symmetric, or a half of that."""
    values, size = np.asarray(matrix, np.float64), len(matrix)
    scale = np.abs(values).max(axis=1)
    if (np.abs(values - values.T) <= _SYMMETRIC * np.minimum(scale, scale[:, None])).all():
        return f"The {size:,} columns are symmetric to the {size:,} rows"
    is_half = np.tril(values, -1).any() != np.triu(values, 1).any()
    if not is_half or size < _TRIANGLE or not np.diagonal(values).all():
        return ""
    return f"All values on one side of the diagonal of the {size:,} rows and columns are 0"


def _of_copies(
    matrix: Numbers, categories: Sequence[npt.NDArray[Any]], kin: Kin | None
) -> list[str]:
    """A caution where the number of each different row has a common divisor, or rows are copies."""
    rows, columns = matrix.shape
    every = _weights(columns + len(categories))
    weights = every[:columns]
    texts = [
        _hashed(codes, weight) for codes, weight in zip(categories, every[columns:], strict=True)
    ]
    keys = sum(texts, start=_keys(matrix, weights))
    _, cells, times = np.unique(keys, return_inverse=True, return_counts=True)
    copies = common_copies(times)
    if copies > 1:
        often = "twice" if copies == 2 else f"{copies} times, or a multiple of it"
        return [
            f"Each of {times.size:,} different rows occurs {often}. If a file was joined to "
            f"itself, take each row once: {rows // copies:,} rows leak more than {rows:,}."
        ]
    extra = rows - times.size
    is_linked = kin is not None and kin.is_linked
    if (
        rows >= 2 * _SIDE
        and columns >= 2
        and not is_linked
        and max(_COPIES, _COPIED * rows) <= extra <= rows / 2
        and _near_pairs(matrix, texts, keys, weights) * _NEAR <= _pairs(keys)
    ):
        return [
            f"{extra:,} of {rows:,} rows equal an earlier one in all columns, and "
            "next to none in all but one, as different persons would. If files that share persons "
            "were joined, take each person once: more rows seem to leak less."
        ]
    again = repeated_piece(cells, times)
    if not again:
        return []
    return [
        f"{again:,} rows one after another are there again, in the same order. If files that "
        "share persons were joined, take each person once: more rows seem to leak less."
    ]


def common_rows(matrix: Numbers, other: Numbers) -> int:
    """The number of rows that a second matrix has too; 0 where different persons are often alike.

    They are, if rows that agree in all columns but one are as frequent.
    """
    weights = _weights(matrix.shape[1])
    keys, others = (_keys(each, weights) for each in (matrix, other))
    equal = int(np.isin(keys, others).sum())
    if equal < _COPIES or matrix.shape[1] < 2:
        return 0
    near = 0.0
    chosen = _chosen(matrix.shape[1])
    for j in chosen:
        without, beside = (
            each - _hashed(part[:, [j]], weights[[j]]).ravel()
            for each, part in ((keys, matrix), (others, other))
        )
        near += int(np.isin(without, beside).sum()) - equal
    return 0 if near * matrix.shape[1] / len(chosen) * _NEAR > equal else equal


def share_of_twins(matrix: Numbers) -> float:
    """Share of the rows that equal another row."""
    keys = _keys(matrix, _weights(matrix.shape[1]))
    rows = np.unique(keys, return_counts=True)[1]
    return float(rows[rows > 1].sum() / len(keys))


def are_genotypes(matrix: Numbers) -> bool:
    """Whether all numbers are 0, 1 and 2, and some are 2."""
    return bool(matrix.size and matrix.max() == 2.0 and _hold(matrix, (0.0, 1.0, 2.0)).all())


def _genotypes_of(matrix: Numbers) -> Numbers | None:
    """The columns of genotypes if nearly all are, as 0, 1 and 2 or dosages; None if not."""
    for codes, counts in _CODES:
        if np.isin(matrix[:_SIDE], codes).all(axis=0).mean() < _NEARLY_ALL:
            continue
        held = _hold(matrix, codes)
        if held.mean() < _NEARLY_ALL or min(_SIDE, len(held)) > held.sum():
            continue
        if matrix.dtype == np.int8 and codes == counts and held.all():
            return matrix if matrix.max() >= 1 else None
        sites = np.empty((len(matrix), int(held.sum())), np.int8)
        for block in kernel_blocks(matrix, matrix=False):
            sites[block] = np.asarray(counts, np.int8)[np.searchsorted(codes, matrix[block, held])]
        if sites.max() == 2 or (codes[-1] == 2.0 and sites.max() == 1):
            return sites
    is_within = matrix.min() >= 0.0 and 1.0 <= matrix.max() <= 2.0
    return matrix if is_within and _are_dosages(matrix) else None


def _are_standard(matrix: Numbers) -> bool:
    """Whether each row has the mean 0 and the deviation 1 (or 0 if equal), and columns do not."""
    if matrix.dtype.kind != "f":
        return False
    for part in _parts(matrix):
        size = part.shape[1]
        mean, square = part.mean(axis=1), np.square(part).mean(axis=1)
        standard = np.abs(square - 1.0) <= 1.0 / size + _TYPED
        if (np.abs(mean) > _TYPED).any() or not (standard | (square <= _TYPED)).all():
            return False
    return bool(np.abs(matrix.mean(axis=0)).max() > _TYPED and matrix.any())


def _are_dosages(matrix: Numbers) -> bool:
    """Whether numbers between 0 and 2 are near 0, 1 and 2, and some near each."""
    away, near = 0.0, np.zeros(3)
    for part in _parts(matrix):
        nearest = np.rint(part)
        away += float(np.abs(part - nearest).sum())
        near += [np.count_nonzero(nearest == k) for k in range(3)]
    return away <= _AWAY * matrix.size and bool(near.min() >= _LEAST_SHARE * matrix.size)


def _parts(matrix: Numbers) -> Iterator[Numbers]:
    """The matrix, block after block of rows: a copy of all may not fit the memory."""
    return (matrix[block] for block in kernel_blocks(matrix))


def _hold(matrix: Numbers, values: Sequence[float]) -> npt.NDArray[np.bool_]:
    """Which columns hold these values alone."""
    held = np.ones(matrix.shape[1], np.bool_)
    for part in _parts(matrix):
        held &= np.logical_or.reduce([part == value for value in values]).all(axis=0)
    return held


def _weights(columns: int) -> npt.NDArray[np.uint64]:
    """Odd random numbers, by which the values of a row are hashed."""
    return 2 * np.random.default_rng(0).integers(0, 2**63, columns, np.uint64) + 1


def _keys(matrix: Numbers, weights: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A number of each row, the same for equal rows."""
    keys = np.empty(len(matrix), np.uint64)
    for block in kernel_blocks(matrix, matrix=False):
        keys[block] = _hashed(matrix[block], weights).sum(axis=1, dtype=np.uint64)
    return keys


def _chosen(columns: int) -> npt.NDArray[np.intp]:
    """Columns that are left out one at a time."""
    return np.random.default_rng(1).permutation(columns)[:_OMITTED]


def _hashed(values: Numbers, weights: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    return (bits ^ (bits >> np.uint64(32))) * weights


def _pairs(keys: npt.NDArray[np.uint64]) -> int:
    """The number of pairs of equal keys."""
    times = np.unique(keys, return_counts=True)[1]
    return int((times * (times - 1) // 2).sum())


def _near_pairs(
    matrix: Numbers,
    texts: Sequence[npt.NDArray[np.uint64]],
    keys: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.uint64],
) -> float:
    """The number of pairs of rows that differ in one column, or in columns of bits alone.

    `texts` are the hashed columns of categories, which are part of the keys.
    """
    columns = matrix.shape[1]
    equal = _pairs(keys)
    bits = np.flatnonzero(_hold(matrix, (0.0, 1.0)))
    chosen = _chosen(columns)
    without = [_hashed(matrix[:, [j]], weights[[j]]).ravel() for j in chosen]
    near = sum(_pairs(keys - each) - equal for each in without) * columns / len(chosen)
    if texts:
        chosen = _chosen(len(texts))
        more = sum(_pairs(keys - texts[k]) - equal for k in chosen)
        near += more * len(texts) / len(chosen)
    if bits.size > 1:
        of_bits = [_hashed(part[:, bits], weights[bits]).sum(axis=1) for part in _parts(matrix)]
        near += _pairs(keys - np.concatenate(of_bits)) - equal
    return float(near)


def _of_summaries(matrix: Numbers) -> list[str]:
    """A caution for first or last rows that sum up the others, or rows that all rise."""
    rows, columns = matrix.shape
    if _rise(matrix):
        return [
            f"In all of the {columns:,} columns no row has a smaller value than the row before, as "
            "of quantiles, cumulative sums or moments of time. Each row is taken for a person "
            "here: take the table of the persons."
        ]
    if rows <= _SIDE:
        return []
    total = matrix.sum(axis=0)
    for last, most in ((True, _TAIL), (False, _HEAD)):
        for size in range(1, most + 1):
            apart, others = (
                (matrix[-size:], matrix[:-size]) if last else (matrix[:size], matrix[size:])
            )
            row = apart[0 if last else -1]
            name = _summary(row, (total - apart.sum(axis=0)) / len(others), others)
            if name is None:
                continue
            end, beside = ("last", "above") if last else ("first", "below")
            if size == 1:
                return [f"The {end} row is {name} of the others, not a person. Take it out."]
            place = rows - size if last else size - 1
            return [
                f"Row {place:,} (row 0 is the first) is {name} of the rows {beside} it, not a "
                f"person. Take the {end} {size} rows out."
            ]
    return []


def _rise(matrix: Numbers) -> bool:
    """Whether no column falls from row to row, and several rise often and not in equal steps."""
    if len(matrix) < _RISING or (matrix[1:_RISING] < matrix[: _RISING - 1]).any():
        return False
    steps = np.diff(matrix.astype(np.float64), axis=0)
    often = (np.count_nonzero(steps, axis=0) >= _RISING - 1) & (np.ptp(steps, axis=0) > 0.0)
    return bool(np.count_nonzero(often) > 1 and not (steps < 0.0).any())


def _summary(row: Numbers, mean: FloatArray, others: Numbers) -> str | None:
    """What a row is of the others: the sum, the mean, or half of it; the sum in some columns."""
    # With the largest unit: hardly any row of a person is so near in all columns.
    summaries = np.multiply.outer((float(len(others)), 1.0, 0.5), mean)
    may_be = np.abs(row - summaries) <= np.maximum(_UNIT, _ROUNDED * np.abs(summaries))
    if not may_be[0].any() and not may_be.all(axis=1).any():
        return None
    scaled = np.multiply.outer(10.0 ** np.arange(_DECIMALS), row)
    whole = np.abs(scaled - np.rint(scaled)) <= np.maximum(_ROUNDED, 1e-9 * np.abs(scaled))
    decimals = np.flatnonzero(whole.all(axis=1))
    unit = _UNIT * 0.1 ** float(decimals[0]) if decimals.size else 0.0
    for k, name in enumerate(("the sum", "the mean", "half the mean")):
        summary = summaries[k]
        allowed = np.maximum(unit, _ROUNDED * np.abs(summary))
        if not (np.abs(row - summary) <= allowed).all() or not summary.any():
            continue
        outside = (summary > others.max(axis=0)) | (summary < others.min(axis=0))
        outside &= k == 0
        near = np.abs(others - summary) <= allowed
        if not outside.any() and (unit == _UNIT or near.all(axis=1).any()):
            continue  # a row of whole numbers, or one like those of other persons
        std = np.maximum(others.std(axis=0), 1e-300)
        by_chance = np.minimum(np.maximum(near.mean(axis=0), 0.8 * allowed / std), 1.0)
        if np.where(outside, 0.0, by_chance).prod() < _CHANCE:
            return name
    summary = summaries[0]
    allowed = np.maximum(unit, 1e-12 * np.abs(summary))
    summed = (np.abs(row - summary) <= allowed) & (summary > others.max(axis=0))
    summed &= others.min(axis=0) >= 0.0
    by_chance = np.where(summed, 2.0 * len(row) * allowed / np.maximum(summary, 1e-300), 1.0)
    # Amounts are summed up where ages have a mean, or nothing.
    return "the sum (in some columns)" if summed.any() and by_chance.prod() < _CHANCE else None


def repeat_cautions(matrix: Numbers, names: Sequence[Any]) -> list[str]:
    """A caution where columns taken as independent follow from others.

    These are equal but for sign and unit, such as the two alleles of a site, or few of them
    determine another, such as a column of bits for each value.
    """
    rows = len(matrix)
    mean = matrix.mean(axis=0)
    std = np.sqrt(sum(np.square(part - mean).sum(axis=0) for part in _parts(matrix)) / rows)
    highest = np.maximum(matrix.max(axis=0) - mean, mean - matrix.min(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        varied = np.flatnonzero((std > 0.0) & (_VARYING * highest**2 <= rows * std**2))
    if rows < _FEWEST:
        return []
    twins, pair = _twins(matrix, varied, std)
    if twins >= max(1.0, _SHARE * varied.size):
        count, seen = twins, varied.size
        shown = f"{names[pair[1]]!r} from {names[pair[0]]!r}"
    else:
        looked_at = [(varied[:_COLUMNS], min(_BLOCK, rows // 4))]
        if rows < 4 * _BLOCK:
            columns = np.flatnonzero(std > 0.0)[:_COLUMNS]
            varying = [np.unique(matrix[:, k]).size >= rows // 2 for k in columns.tolist()]
            looked_at.append((columns[np.array(varying, np.bool_)], min(_BLOCK, 3 * rows // 4)))
        blocks = [
            (*_determined(matrix, columns, mean, std, width), columns.size)
            for columns, width in looked_at
        ]
        blocks = [each for each in blocks if each[0] >= max(1.0, _SHARE * each[2])]
        if not blocks:
            return []
        count, place, seen = max(blocks)
        shown = "the last of the columns of bits for each value"
        if place >= 0 and not _hold(matrix[:, [place]], (0.0, 1.0)).all():
            shown = f"{names[place]!r}, a multiple, sum or difference of others"
    which = f"{count:,} column{'s' * (count > 1)}"
    if seen == len(names):
        which = f"{count:,} of the {seen:,} columns"
    return [
        f"{which} can be computed from the other columns, such as {shown}. Columns are taken as "
        "independent here, and what these show is counted twice: exclude them, or take a shrunk "
        "covariance."
    ]


def _twins(matrix: Numbers, varied: npt.NDArray[np.intp], std: FloatArray) -> tuple[int, list[int]]:
    """How many of these columns equal another but for sign and unit, and the first such pair."""
    rows = len(matrix)
    if varied.size < 2:
        return 0, []
    weights = np.random.default_rng(0).normal(size=(2, rows))
    weights -= weights.mean(axis=1, keepdims=True)
    projected = np.zeros((2, matrix.shape[1]))
    for block in kernel_blocks(matrix):
        projected += weights[:, block] @ matrix[block]
    first, second = projected[:, varied] / std[varied]
    second *= np.sign(first)
    first = np.abs(first)
    order = np.argsort(first, kind="stable")
    near = np.abs(np.diff(first[order])) <= _EQUAL * rows**0.5
    near &= np.abs(np.diff(second[order])) <= _EQUAL * rows**0.5
    twins = np.flatnonzero(near)
    if not twins.size:
        return 0, []
    return twins.size, sorted(varied[order[[twins[0], twins[0] + 1]]].tolist())


def _determined(
    matrix: Numbers, columns: npt.NDArray[np.intp], mean: FloatArray, std: FloatArray, width: int
) -> tuple[int, int]:
    """How many columns others of a block determine, of blocks of that width, and one; or -1.

    The least eigenvalue of the correlations of free columns is near ``(1 - sqrt(width / rows))**2``
    times that of their population.
    """
    rows, count, place = len(matrix), 0, -1
    least = _FREE * ((1.0 - (width / rows) ** 0.5) / 0.5) ** 2
    for start in range(0, columns.size if width > 1 else 0, max(width, 1)):
        block = columns[start : start + width]
        part = (matrix[:, block] - mean[block]) / std[block]
        values, axes = np.linalg.eigh(part.T @ part / rows)
        determined = int((values < least).sum())
        if determined and not count:
            place = int(block[np.abs(axes[:, 0]).argmax()])
        count += determined
    return count, place
