"""What the structure of a table betrays: cells that are passed as persons, totals, rounded counts.

Names of columns and words in cells are for :mod:`._counts` and :mod:`._cautions`; here are numbers
that would be a coincidence in the table that is asked about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid, listed
from mialeak._columns import Factor
from mialeak.tables._cells import codes_of, count_cells, summed
from mialeak.tables._counts import holds_counts, numbers_of

__all__ = [
    "cautions_of_counts",
    "cautions_of_dependence",
    "cautions_of_repeats",
    "cautions_of_rows",
    "cautions_of_stacked",
    "cautions_of_sums",
    "common_divisor",
]

IntArray = npt.NDArray[np.int64]

#: Odds against a coincidence from which a level is named, and refused, as the sum of the others.
_NAMED, _REFUSED = 300.0, 1e6

#: Odds against a common divisor of all counts by chance, and the fewest counts of cells that were
#: published, or made from rows, to look for one.
_DIVISIBLE, _FEWEST_ROUNDED, _FEWEST_DOUBLED = 1e4, 4, 10

#: Pairs of rows that are expected to agree before it is remarkable that none does, and columns up
#: to which one looks.
_FEWEST_PAIRS, _MOST_COLUMNS = 7.0, 50

#: Rows in which one looks first whether two agree.
_FIRST_ROWS = 10_000

#: Smallest counts that offices publish, and the cells near it from which one suspects it.
_THRESHOLDS, _FEWEST_NEAR, _SPREAD = range(3, 21), 8, 10

#: Classes that are open below, as "<20" or "up to 20 years", and above, as "65+"; and the fewest of
#: them that are parts of one another.
_UP_TO = re.compile(
    r"(?:<=?|\u2264|under|below|up to|until|unter|bis|moins de) ?(\d+)(?: \w+)?"
    r"|(\d+)(?: \w+)? (?:and|or) (?:under|below|less|younger)"
)
_FROM = re.compile(
    r"(?:>=?|\u2265|over|above|from|at least|ab|\u00fcber) ?(\d+)(?: \w+)?"
    r"|(\d+)(?: \w+)? ?(?:\+|(?:and|or) (?:over|above|more|older))"
)
_FEWEST_CLASSES = 3

#: Noise of a count that is protected by noise: totals differ from their parts by so much for each.
_NOISE = 3

#: Levels of a column up to which sums of a part of them are looked for.
_MOST_LEVELS = 400

#: Tables below each other: persons, how unlike their sums may be, share of the cells that differ.
_FEWEST_PERSONS, _ALIKE, _NESTED = 50, 0.005, 0.9

#: Level of the test of independence; rows that each lumped cell expects; pairs that are tested.
_LEVEL, _EXPECTED, _MOST_PAIRS = 1e-9, 5.0, 200


def cautions_of_sums(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for each value that may be the total of the others in its column.

    Its count is half of what all rows sum to that differ in this column alone, wherever one looks.
    `categories` and `counts` are those of the cells, none of which is empty.

    Raises
    ------
    ValueError
        If that cannot be a coincidence.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    cautions = _of_cumulative(categories, counts)
    for name, (levels, size) in codes.items():
        others = [pair for key, pair in codes.items() if key != name]
        group = count_cells(others, len(levels)).of_row
        level, odds = max(
            _total(levels, size, group, counts),
            _subtotal(levels, size, group, counts),
            key=lambda pair: pair[1],
        )
        if odds < math.log(_NAMED):
            continue
        value = categories[name].value(level if level < len(categories[name].levels) else -1)
        if odds >= math.log(_REFUSED):
            rule = f"hold no totals; the counts of {value!r} are the sums of others"
            cure = f"total=[{f'{name}={value}'!r}]" if value is not None else "na='drop'"
            remedy = f"Leave out the rows of totals with {cure}"
            invalid(f"column {name!r}", rule, remedy=remedy)
        cautions.append(
            f"The counts of {value!r} in column {name!r} are the sums of others. If these are "
            "totals, leave out their rows."
        )
    return cautions


def _total(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray
) -> tuple[int, float]:
    """The level that is most like the sum of all others, and the logarithm of the odds for it.

    `levels` are those of the cells, `group` what their other columns hold.
    """
    in_group = np.bincount(group)
    sums = summed(group, counts, len(in_group))
    # Counts may be rounded each, or have noise of their own.
    slack = in_group[group] * max(int(np.gcd.reduce(counts)), _NOISE)
    off = np.abs(2 * counts - sums[group])
    half = off <= slack
    chance = np.where(off == 0, 1, 2 * slack + 1) / counts
    telling = np.where(half & (in_group[group] > 2), -np.log(np.minimum(chance, 1.0)), 0.0)
    odds = np.bincount(levels, telling, minlength=size)
    odds[np.bincount(levels[half], minlength=size) != len(in_group)] = 0.0
    level = int(np.argmax(odds))
    return level, float(odds[level])


def _subtotal(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray
) -> tuple[int, float]:
    """The same for the sum of levels that stand together.

    The counts of levels are compared by sums with random weights, modulo 2**64.
    """
    order = levels[np.sort(np.unique(levels, return_index=True)[1])]
    if not 4 <= len(order) <= _MOST_LEVELS:
        return -1, 0.0
    weights = np.random.default_rng(0).integers(2**62, size=int(group.max()) + 1, dtype=np.int64)
    sums = summed(levels, weights[group] * counts, size)
    upto = np.concatenate(([0], np.cumsum(sums[order])))
    runs = (upto[None, :] - upto[:, None])[np.triu_indices(len(upto), 2)]
    odds = np.bincount(levels, np.log(counts), minlength=size) - math.log(len(order) * len(runs))
    odds[~np.isin(sums, runs)] = 0.0
    level = int(np.argmax(odds))
    return level, float(odds[level])


def cautions_of_stacked(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence if tables of the same persons stand below each other, each by another category.

    Then the counts of each value of a column have one sum, and next to no two of these values share
    what the other columns hold.  `categories` and `counts` are those of the cells.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items():
        others = [pair for key, pair in codes.items() if key != name]
        sums = summed(levels, counts, size)
        sums = sums[sums > 0]
        if not others or len(sums) < 2 or len(sums) == len(levels) or 2 * len(levels) > sums.max():
            continue
        alike = sums.min() >= _FEWEST_PERSONS and sums.max() - sums.min() <= _ALIKE * sums.max()
        if alike and len(count_cells(others, len(levels)).counts) >= _NESTED * len(levels):
            return [
                f"The counts of each value of column {name!r} sum to {sums.max():,}, or nearly, as "
                "tables do that stand below each other and count the same persons. Then pass one "
                "row a person, and name the tables with margins=['A', 'B']."
            ]
    return []


def cautions_of_repeats(categories: Mapping[Any, Factor]) -> list[str]:
    """A sentence if rows of a table of counts agree in all categories, as those of persons do."""
    rows = len(next(iter(categories.values())).codes)
    cells = len(count_cells(map(codes_of, categories.values()), rows).counts)
    if cells == rows:
        return []
    return [
        f"The {rows:,} rows of the table of counts are {cells:,} cells: rows that agree in all "
        "categories are added up. If each row is one person, leave counts out."
    ]


def cautions_of_counts(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for each sign that counts were rounded, or small ones left out.

    `categories` are those of the rows, `counts` those of the cells, none of which is empty.
    """
    cautions = []
    others = _other_counts(categories)
    if others:
        cautions.append(
            f"Column {listed(others)} holds whole numbers and is not needed to distinguish the "
            "cells. If these are counts too, write one row a cell (pandas: melt), and pass the "
            "column of all counts."
        )
    divisor = common_divisor(counts)
    if divisor > 1:
        cautions.append(
            f"All counts are multiples of {divisor:,}, as rounded counts are. The report takes "
            "them for the true ones, and rounding hides the rows alone in their cell; pass the "
            "counts before rounding, or counts of persons if these are thousands."
        )
        return cautions
    least = int(counts.min())
    near = counts[counts < 2 * least]
    if (
        least in _THRESHOLDS
        and len(near) >= _FEWEST_NEAR
        and int(counts.max()) >= _SPREAD * least
        and 2 * np.count_nonzero(2 * near < 3 * least) >= len(near)
    ):
        cautions.append(
            f"No count is between 1 and {least - 1}, and {len(near)} are between {least} and "
            f"{2 * least - 1}: small counts seem to be left out. Their persons leak most; pass the "
            "table before suppression."
        )
    return cautions


def _of_cumulative(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for each column of classes such as "<20", "<30", each a part of the next.

    All values of such a column but one at most are open to the same side, and counts rise with
    their bounds wherever the other columns agree.  `categories` and `counts` are those of the
    cells.
    """
    cautions = []
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items():
        present = np.unique(levels).tolist()
        if not _FEWEST_CLASSES <= len(present) <= _MOST_LEVELS:
            continue
        missing = len(categories[name].levels)
        classes = {code: _open_bound(categories[name].value(code)) for code in present
                   if code < missing}  # fmt: skip
        others = [pair for key, pair in codes.items() if key != name]
        group = (
            count_cells(others, len(levels)).of_row if others else np.zeros(len(levels), np.int64)
        )
        for sign in (1, -1):
            bounds = np.full(size, math.nan)
            for code, each in classes.items():
                if each and each[0] == sign:
                    bounds[code] = sign * each[1]
            if np.isfinite(bounds).sum() < max(_FEWEST_CLASSES, len(present) - 1):
                continue
            order = np.lexsort((bounds[levels], group))
            order = order[np.isfinite(bounds[levels][order])]
            same = np.diff(group[order]) == 0
            if same.any() and (np.diff(counts[order])[same] >= 0).all():
                cautions.append(
                    f"The classes of column {name!r} are parts of one another, and so are their "
                    "counts. Pass the count of each class without the others: the differences."
                )
    return cautions


def _open_bound(value: Any) -> tuple[int, float] | None:
    """Of a class that is open below (1) or above (-1), the side and the bound."""
    text = str(value).strip().lower()
    for sign, pattern in ((1, _UP_TO), (-1, _FROM)):
        if match := pattern.fullmatch(text):
            return sign, float(next(filter(None, match.groups())))
    return None


def common_divisor(counts: IntArray, fewest: int = _FEWEST_ROUNDED) -> int:
    """The greatest common divisor of all counts, if it is no coincidence; 1 if it is."""
    divisor = int(np.gcd.reduce(counts))
    remarkable = divisor > 1 and len(counts) * math.log(divisor) >= math.log(_DIVISIBLE)
    remarkable &= len(counts) >= fewest
    return divisor if remarkable else 1


def _other_counts(categories: Mapping[Any, Factor]) -> list[Any]:
    """The columns of whole numbers without which the cells are as distinct, and no codes of one."""
    if len(categories) > _MOST_COLUMNS:
        return []
    whole = [name for name, factor in categories.items() if holds_counts(factor, strict=True)]
    keys = [factor for name, factor in categories.items() if name not in whole]
    if not whole or not keys:
        return []
    rows = len(keys[0].codes)
    pairs = [codes_of(factor) for factor in keys]
    if rows < 2 or len(count_cells(pairs, rows).counts) < rows:
        return []
    return [name for name in whole if not _is_code(categories[name], pairs, rows)]


def _is_code(factor: Factor, keys: Sequence[tuple[npt.NDArray[Any], int]], rows: int) -> bool:
    """Whether a column numbers the values of another, or the rows."""
    codes, size = codes_of(factor)
    present = np.count_nonzero(np.bincount(codes, minlength=size))
    if present == 1:
        return True
    if present == rows:
        values = None if factor.n_missing else numbers_of(factor)
        return values is not None and bool((np.diff(values[factor.codes]) > 0.0).all())
    return any(
        len(count_cells([key, (codes, size)], rows).counts)
        == np.count_nonzero(np.bincount(key[0], minlength=key[1]))
        < rows
        for key in keys
    )


def cautions_of_rows(factors: Mapping[Any, Factor], cell_counts: IntArray) -> list[str]:
    """A sentence if the rows, passed as persons, are cells, or each is there twice."""
    cautions = []
    # Rows that agree in all columns agree in some of them.
    for keys, counts in _cells_as_rows(factors) if cell_counts.max() == 1 else ():
        cure = (
            f"If {counts[0]!r} holds their counts, pass counts={counts[0]!r}."
            if len(counts) == 1
            else f"If {listed(counts)} hold their counts, write one row a cell (pandas: melt) and "
            "pass counts='n'."
        )
        cautions.append(
            f"No two rows agree in {listed(keys)}, where rows of persons would: the rows may be "
            f"the cells of a table that is already counted. {cure}"
        )
    divisor = common_divisor(cell_counts, _FEWEST_DOUBLED)
    if divisor > 1:
        cautions.append(
            f"Each combination of values is there {divisor:,} times, or a multiple of it, as if "
            f"every row were there {divisor:,} times. Pass each person once."
        )
    return cautions


def _cells_as_rows(factors: Mapping[Any, Factor]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The columns of categories and of counts, if persons would not be so distinct; at most once.

    If columns were independent, ``rows (rows - 1) / 2 * prod_j sum_v share_jv**2`` pairs of rows
    would agree in all categories, and dependent columns agree more often.
    """
    names = list(factors)
    rows = len(next(iter(factors.values())).codes)
    if rows < 2 or not 2 < len(names) <= _MOST_COLUMNS:
        return
    pairs = {name: codes_of(factor) for name, factor in factors.items()}
    agreeing, repeats = {}, {}
    for name, (codes, size) in pairs.items():
        shares = np.bincount(codes, minlength=size) / rows
        agreeing[name] = float(shares @ shares)
        repeats[name] = 2 * np.count_nonzero(shares) <= rows
    splits = [(names[:k], names[k:]) for k in range(2, len(names) - 1)]
    splits += [([key for key in names if key != name], [name]) for name in names]
    for keys, counts in splits:
        expected = rows * (rows - 1) / 2.0 * math.prod(agreeing[name] for name in keys)
        if (
            expected >= _FEWEST_PAIRS
            and all(repeats[name] for name in keys)
            and all(holds_counts(factors[name]) for name in counts)
            and _rows_differ([pairs[name] for name in keys], rows)
        ):
            yield keys, counts
            return


def _rows_differ(columns: Sequence[tuple[npt.NDArray[Any], int]], rows: int) -> bool:
    """Whether no two rows agree in all `columns`, of which the first rows refute most."""
    for part in (min(rows, _FIRST_ROWS), rows):
        first = [(codes[:part], size) for codes, size in columns]
        if len(count_cells(first, part).counts) < part:
            return False
    return True


def cautions_of_dependence(
    margins: Sequence[tuple[Any, ...]], codes: Mapping[Any, tuple[npt.NDArray[Any], int]]
) -> list[str]:
    """A sentence if columns of different margins depend on each other in these rows."""
    from scipy.special import chdtrc

    met = []
    pairs = [pair for one, other in combinations(margins, 2) for pair in product(one, other)][
        :_MOST_PAIRS
    ]
    lumped = {name: _lumped(*codes[name]) for name in {name for pair in pairs for name in pair}}
    for one, other in pairs:
        (a, size_a), (b, size_b) = lumped[one], lumped[other]
        if one == other or min(size_a, size_b) < 2:
            continue
        shape = (size_a, size_b)
        seen = np.bincount(a * size_b + b, minlength=size_a * size_b).reshape(shape)
        expected = seen.sum(axis=1, keepdims=True) * (seen.sum(axis=0) / len(a))
        distance = float(np.sum((seen - expected) ** 2 / expected))
        if chdtrc((size_a - 1) * (size_b - 1), distance) < _LEVEL:
            met.append((one, other))
    if not met:
        return []
    where = listed(met, show=lambda pair: f"{pair[0]!r} on {pair[1]!r}")
    return [
        f"In these rows columns of different margins depend on each other, {where} (chi-squared "
        f"test, p < {_LEVEL:g}). The answer is that for independent ones; if they are not "
        "independent by design, pass independent=False."
    ]


def _lumped(codes: npt.NDArray[Any], size: int) -> tuple[IntArray, int]:
    """The codes with rare levels made one, so that pairs of levels expect `_EXPECTED` rows."""
    shown = np.bincount(codes, minlength=size)
    common = shown >= math.sqrt(_EXPECTED * len(codes))
    place = np.full(size, np.count_nonzero(common))
    place[common] = np.arange(np.count_nonzero(common))
    lumped = place[codes]
    rare = len(codes) - int(shown[common].sum())
    if 0 < rare < math.sqrt(_EXPECTED * len(codes)) and common.any():
        lumped[lumped == np.count_nonzero(common)] = np.argmax(shown[common])
        rare = 0
    return lumped, int(np.count_nonzero(common)) + (rare > 0)
