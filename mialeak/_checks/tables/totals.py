"""Totals among the rows of a table of counts: rows whose persons other rows count too."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, invalid, listed
from mialeak._cells import codes_of, count_cells, summed
from mialeak._checks.tables.classes import cautions_of_classes
from mialeak._checks.tables.levels import (
    MOST_LEVELS,
    keys_of,
    log_counts,
    sums_of_codes,
    sums_of_levels,
)
from mialeak._columns import Factor
from mialeak._fields import is_number

__all__ = ["cautions_of_sums", "without_empties"]

IntArray = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Odds against a coincidence from which a level is named, and refused, as the sum of the others.
_NAMED, _REFUSED = 300.0, 1e6
#: Odds from which the first or the last level is named.
_NAMED_AT_END = 30.0

#: Noise of a count that is protected by noise: totals differ from their parts by so much for each.
_NOISE = 3
#: Rows times sets of columns without a value, up to which the rows of each set are compared.
_MOST_COMPARED = 100_000_000
#: Such sets, without a total in all of which no more are looked at.
_FIRST_MARGINS = 4

#: Rows from which all cells of a value of a column may be left out as small.
_FEWEST_CUT = 10

#: Levels of a column up to which sums of any part of them are looked for, by all parts and by
#: elimination.
_MOST_FOR_ALL, _MOST_ELIMINATED = 16, 160
#: The residues of the elimination: products of two are below 2**62.
_PRIME = 2**31 - 1


def cautions_of_sums(
    categories: Mapping[Any, Factor], counts: IntArray, na: str = "category"
) -> list[str]:
    """A sentence for values that may be totals of others in their column, or classes of classes.

    The count of a total is half of what all rows sum to that differ in this column alone, wherever
    it stands beside others; that of a subtotal the sum of values that stand together, or of any
    others if there are enough counts to show that.  Rows of
    totals of several columns that have one word sum to what the rows without it sum to.
    `categories` and `counts` are those of the cells, none of which is empty; with the `na` "drop",
    rows without a value are in the table where the column is left out.

    Raises
    ------
    ValueError
        If that cannot be a coincidence.
    """
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    cautions = cautions_of_classes(categories, counts)
    for name, (levels, size) in codes.items():
        others = [pair for key, pair in codes.items() if key != name]
        group = count_cells(others, len(levels)).of_row
        new = _is_new(levels, group, counts)
        sums, odds = max(
            _total(levels, size, group, counts, new),
            _total_of_shown(levels, size, group, counts, new),
            _subtotals(levels, size, group, counts, new),
            _of_any(levels, size, group, counts, new),
            sums_of_codes(categories[name], levels, size, group, counts, new),
            sums_of_levels(categories[name], levels, size, group, counts),
            key=lambda pair: pair[1],
        )
        missing = len(categories[name].levels)
        if odds < math.log(_NAMED):
            inside, tables = _shared_out(levels, size, group, counts)
            if len(inside) > 1:
                of = [None if k == missing else categories[name].value(k) for k in inside]
                cautions.append(
                    f"The counts of {listed(of, show=repr)} in column {name!r} sum to 1/{tables} "
                    f"of those of all values, as where {tables} questions to the same persons "
                    "share a column. Keep the values of one of them."
                )
            continue
        values = [None if level == missing else categories[name].value(level) for level in sums]
        met = listed(values, show=repr)
        if odds >= math.log(_REFUSED):
            _refuse_sums(name, met, values, na)
        cautions.append(
            f"The counts of {met} in column {name!r} are the sums of others. If these are "
            "totals, leave out their rows."
        )
    for word, names, odds in _words_of_margins(categories, counts):
        if odds >= math.log(_REFUSED):
            _refuse_sums(names[0], repr(word), [word], na)
        cautions.append(
            f"The rows with {word!r} in column {listed(names)} sum to what the others sum to. If "
            "these are totals, leave out their rows."
        )
    return cautions


def without_empties(
    categories: Mapping[Any, Factor], counts: IntArray, na: str, chosen: Container[Any]
) -> tuple[IntArray, list[str]]:
    """The counts, 0 in rows that an empty field marks as totals, as ROLLUP does; and a note.

    Such rows are left out with ``na="drop"``, which leaves out all rows without a value in a
    `chosen` column.  They are those without a value in the same columns
    whose counts are the sums of the rows with a value in every column.

    Raises
    ------
    ValueError
        If that cannot be a coincidence, and `na` is another.
    """
    rows, names, odds, larger = _rows_of_empties(categories, counts)
    if label := _label_of(categories, counts, rows) if odds >= math.log(_NAMED_AT_END) else []:
        return counts, [
            f"The rows without a value in column {listed(names)} sum to what the others sum to, "
            f"and column {listed(label)} holds one value in these and another in the others. If "
            "these are totals, take them out of the table. Controls matched to cases are no totals."
        ]
    if odds < math.log(_NAMED_AT_END):
        is_dropped = na == "drop" and all(name in chosen for name in larger)
        return counts, _cautions_of_larger(larger, is_dropped)
    if na == "drop":
        note = (
            f"{np.count_nonzero(rows):,} of {len(rows):,} rows are left out as totals: each has an "
            "empty field, and their counts are the sums of the other rows."
        )
        return np.where(rows, 0, counts), [note]
    if odds >= math.log(_REFUSED):
        rule = "hold no totals; the counts of rows without a value there are the sums of others"
        remedy = "Leave out the rows of totals with na='drop'"
        invalid(f"column {names[0]!r}", rule, remedy=remedy)
    return counts, [
        f"The rows without a value in column {listed(names)} sum to what the others sum to. If "
        "these are totals, leave out their rows with na='drop'."
    ]


def _cautions_of_larger(names: list[Any], is_dropped: bool) -> list[str]:
    if not names:
        return []
    return [
        f"The rows without a value in column {listed(names)} count more persons than those that "
        "they would be the totals of, as where small counts are not in the table. If these are "
        + (
            "totals, none of these persons is missing."
            if is_dropped
            else "totals, take their rows out of the table: the same persons are counted twice."
        )
    ]


def _label_of(categories: Mapping[Any, Factor], counts: IntArray, rows: Flags) -> list[Any]:
    """Columns with one word in all of `rows` and another in the others: "total", or "control"."""
    met = []
    for name, each in categories.items():
        codes = [np.unique(each.codes[(counts > 0) & part]).tolist() for part in (rows, ~rows)]
        met_in = [code[0] for code in codes if len(code) == 1 and code[0] >= 0]
        words = {str(each.value(code)).strip() for code in met_in}
        met += [name] if len(words) == 2 and not any(map(is_number, words)) else []
    return met


def _rows_of_empties(
    categories: Mapping[Any, Factor], counts: IntArray
) -> tuple[Flags, list[Any], float, list[Any]]:
    """The rows that an empty field marks as totals, these columns, and the logarithm of the odds.

    And the columns without a value where all such rows may be totals of others, some not shown.
    A column with one value in all other rows, as the level of a total is, is not compared.
    """
    none = np.zeros(len(counts), np.bool_)
    empty = {name: each.codes < 0 for name, each in categories.items() if each.n_missing}
    if not empty:
        return none, [], 0.0, []
    marked = np.array(list(empty.values())) & (counts > 0)
    detail = ~marked.any(axis=0) & (counts > 0)
    margins = np.unique(marked[:, marked.any(axis=0)], axis=1).T
    if not detail.any() or len(margins) * len(counts) > _MOST_COMPARED:
        return none, [], 0.0, []
    unseen = int(np.count_nonzero(detail) >= _FEWEST_CUT)
    single = {name for name, each in categories.items() if np.ptp(each.codes[detail]) == 0}
    sizes = {name: each.n_values for name, each in categories.items()}
    odds, rows, met, larger = 0.0, none, np.zeros(len(empty), np.bool_), 0
    for place, margin in enumerate(margins):
        if place >= _FIRST_MARGINS and odds == larger == 0:
            break
        away = single.union(name for name, is_in in zip(empty, margin, strict=True) if is_in)
        kept = [each for name, each in categories.items() if name not in away]
        here = np.asarray((marked == margin[:, None]).all(axis=0))
        sums, parts = _margin(kept, counts, detail, detail | here)
        if (gained := _odds_of_margin(sums, parts)) > 0.0:
            odds, rows, met = odds + gained, rows | here, met | margin
        _, shown = _margin(kept, detail.astype(np.int64), detail, detail | here)
        # Each cell that is left out as small has less than the smallest shown.
        listable = math.prod(sizes[name] + unseen for name in away - single)
        hidden = float(min(listable, MAX_COUNT)) - shown
        most = parts + np.maximum(hidden, 0) * (int(counts[detail].min()) - 1)
        fits = np.all((sums == 0) | ((parts <= sums) & (sums <= most)))
        larger += int(fits and sums.sum() >= parts.sum())
    names = [name for name, is_in in zip(empty, met, strict=True) if is_in]
    return rows, names, odds, list(empty) if larger == len(margins) > 0 else []


def _refuse_sums(name: Any, met: str, values: list[Any], na: str) -> NoReturn:
    rule = f"hold no totals; the counts of {met} are the sums of others"
    cure = "na='drop'" if None in values else f"total={[f'{name}={each}' for each in values]!r}"
    remedy = f"Leave out the rows of totals with {cure}"
    if None in values and na == "drop":
        remedy = "Take the rows without a value there out of the table"
    invalid(f"column {name!r}", rule, remedy=remedy)


def _total(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray, new: Flags
) -> tuple[list[int], float]:
    """The level that is most like the sum of all others, and the logarithm of the odds for it.

    `levels` are those of the cells, `group` what their other columns hold, and `new` the cells
    that :func:`_is_new` states.  A level that stands
    first or last, as totals do, needs less.
    """
    in_group = np.bincount(group)
    sums = summed(group, counts, len(in_group))
    # Counts may be rounded each, or have noise of their own.
    slack = in_group[group] * max(int(np.gcd.reduce(counts)), _NOISE)
    off = np.abs(2 * counts - sums[group])
    half, beside = off <= slack, in_group[group] > 1
    # A sum that some cells miss is one with noise in the others too.
    is_missed = np.bincount(levels[beside & (off != 0)], minlength=size) > 0
    counted = half & new & (in_group[group] > 2)
    telling = np.where(counted, np.log(counts), 0.0)
    odds = np.bincount(levels, telling, minlength=size)
    odds[is_missed] = _odds_of_noise(levels, size, counted, off, counts)[is_missed]
    everywhere = np.bincount(levels[half], minlength=size) == len(in_group)
    # Where a level is not in all groups, it is the sum in each that has others, and to the last.
    half = np.where(everywhere[levels], half, off == 0)
    odds[~everywhere] -= math.log(size)
    exact = np.bincount(levels[off == 0], minlength=size) == len(in_group)
    odds[exact & np.isin(np.arange(size), levels[[0, -1]])] += math.log(_NAMED / _NAMED_AT_END)
    odds[np.bincount(levels[beside & ~half], minlength=size) > 0] = 0.0
    level = int(np.argmax(odds))
    return [level], float(odds[level])


def _total_of_shown(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray, new: Flags
) -> tuple[list[int], float]:
    """The same where small counts were replaced, by the smallest of all, or are not in the table.

    Only groups that show all of the levels count; in the others a total has at least the sum.
    """
    in_group = np.bincount(group)
    low = counts == counts.min()
    hidden = np.bincount(group, low, len(in_group))
    whole = (hidden == 0) & (in_group == in_group.max())
    if whole.all() or in_group.max() < 3:
        return [], 0.0
    others = summed(group, counts, len(in_group))[group] - counts
    odds = np.bincount(
        levels, np.where(new & whole[group] & (counts == others), np.log(counts), 0.0), size
    )
    wrong = np.where(whole[group], counts != others, ~low & (counts < others - hidden[group]))
    odds[np.bincount(levels[wrong & (in_group[group] > 1)], minlength=size) > 0] = 0.0
    level = int(np.argmax(odds))
    return [level], max(float(odds[level]) - math.log(size), 0.0)


def _odds_of_noise(
    levels: npt.NDArray[Any], size: int, counted: Flags, off: IntArray, counts: IntArray
) -> npt.NDArray[np.float64]:
    """The logarithm of the odds for each level that its counts are half of groups but for noise.

    That it is about half of all persons counts once; a value that half of the persons have is near
    half of each group by a normal law of the variance of a binomial one.  `off` is how far twice a
    count is from all of its group, and the largest of these is what chance would have to keep to.
    """
    largest = np.zeros(size)
    np.maximum.at(largest, levels[counted], off[counted])
    largest = largest[levels]
    everyone = np.maximum(np.log(counts / (2.0 * largest + 1.0)), 0.0)
    again = np.maximum(0.5 * np.log(4.0 * np.pi * counts) - np.log(2.0 * largest + 2.0), 0.0)
    once = np.zeros(size)
    np.maximum.at(once, levels[counted], (everyone - again)[counted])
    return np.bincount(levels, np.where(counted, again, 0.0), minlength=size) + once


def _shared_out(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray
) -> tuple[list[int], int]:
    """Levels whose counts sum to a part 1/m of each group, and m: m ways to divide one group.

    The counts of such levels are compared by sums with random weights, modulo 2**64.  By chance a
    sum meets a part of a group of n with probability of at most about 1 / sqrt(n).
    """
    present = np.unique(levels)
    sums = summed(group, counts, int(group.max()) + 1)
    odds = 0.5 * float(np.log(sums).sum()) - present.size * math.log(2.0)
    if not 4 <= present.size <= _MOST_FOR_ALL or odds < math.log(_REFUSED):
        return [], 0
    keys = keys_of(levels, size, group, counts)[present]
    if np.unique(keys).size < keys.size:  # by design, as the arms of a trial
        return [], 0
    parts = np.zeros(1, np.int64)
    for key in keys:
        parts = np.concatenate((parts, parts + key))
    for tables in range(2, present.size // 2 + 1):
        for part in np.flatnonzero(parts * np.int64(tables) == parts[-1])[:1].tolist():
            return [level for k, level in enumerate(present.tolist()) if part >> k & 1], tables
    return [], 0


def _subtotals(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray, new: Flags
) -> tuple[list[int], float]:
    """The same for levels that are sums of others that stand together.

    The counts of levels are compared by sums with random weights, modulo 2**64.
    """
    order = levels[np.sort(np.unique(levels, return_index=True)[1])]
    if not 4 <= len(order) <= MOST_LEVELS:
        return [], 0.0
    sums = keys_of(levels, size, group, counts)
    upto = np.concatenate(([0], np.cumsum(sums[order])))
    runs = (upto[None, :] - upto[:, None])[np.triu_indices(len(upto), 2)]
    odds = log_counts(levels, size, counts, new) - math.log(len(runs))
    met = order[np.isin(sums[order], runs) & (odds[order] > 0.0)]
    # So many of all levels could be chosen in at most len(order) ** len(met) ways.
    return met.tolist(), float(np.maximum(odds[met] - math.log(len(order)), 0.0).sum())


def _of_any(
    levels: npt.NDArray[Any], size: int, group: IntArray, counts: IntArray, new: Flags
) -> tuple[list[int], float]:
    """The same for levels that are sums of any others, in whatever order the rows are.

    Few levels are compared with the sums of all their parts.  Of more, the counts of each are
    written as a combination of those of smaller ones, by elimination modulo a prime: that of a
    total has no factors but 0 and 1.
    """
    present = np.unique(levels)
    groups = int(group.max()) + 1
    if not 3 <= present.size <= _MOST_ELIMINATED or groups < 2:
        return [], 0.0
    odds = log_counts(levels, size, counts, new)
    odds -= present.size * math.log(2.0) + math.log(present.size)
    if odds.max() <= 0.0:
        return [], 0.0
    if present.size <= _MOST_FOR_ALL:
        keys = keys_of(levels, size, group, counts)[present]
        sums = np.zeros(1, np.int64)
        for key in keys:
            sums = np.concatenate((sums, sums + key))
        parts_of = [np.flatnonzero(sums == key) for key in keys]
        totals = [k for k, parts in enumerate(parts_of) if (parts & (parts - 1) != 0).any()]
    else:
        totals = _sums_of_smaller(levels, present, group, counts)
    met = [level for level in present[totals].tolist() if odds[level] > 0.0]
    return met, float(odds[met].sum())


def _sums_of_smaller(
    levels: npt.NDArray[Any], present: npt.NDArray[Any], group: IntArray, counts: IntArray
) -> list[int]:
    """The places in `present` of the levels whose counts are sums of those of two or more others.

    Counts are projected on as many random directions as there are levels.
    """
    place = np.searchsorted(present, levels)
    width = present.size
    directions = np.random.default_rng(0).integers(_PRIME, size=(width, int(group.max()) + 1))
    rows: IntArray = np.zeros((width, width), np.int64)
    for k, weights in enumerate(directions):
        rows[k] = summed(place, counts % _PRIME * weights[group] % _PRIME, width)
    order = np.argsort(summed(place, counts, width), kind="stable")
    rows = rows[:, order] % _PRIME
    pivots: list[int] = []
    totals = []
    for column in range(width):
        rank = len(pivots)
        below = np.flatnonzero(rows[rank:, column])
        if not below.size:
            factors = rows[:rank, column]
            if (factors <= 1).all() and factors.sum() > 1:
                totals.append(int(order[column]))
            continue
        first = rank + int(below[0])
        rows[[rank, first]] = rows[[first, rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, column]), -1, _PRIME) % _PRIME
        others = np.flatnonzero(rows[:, column])
        others = others[others != rank]
        rows[others] = (rows[others] - rows[others, column, None] * rows[rank]) % _PRIME
        pivots.append(column)
    return totals


def _is_new(levels: npt.NDArray[Any], group: IntArray, counts: IntArray) -> npt.NDArray[np.bool_]:
    """The cells of the first of all groups with the same counts of the same levels.

    Blocks have them by design: a sum that all of them show is no more than what one shows.
    """
    keys = keys_of(group, int(group.max()) + 1, levels, counts)
    return np.asarray(np.isin(group, np.unique(keys, return_index=True)[1]))


def _words_of_margins(
    categories: Mapping[Any, Factor], counts: IntArray
) -> Iterator[tuple[str, list[Any], float]]:
    """Values of several columns that mark margins of the other rows: word, columns and log odds.

    The rows with the word in the same columns then sum to what the rows without it sum to.
    """
    places: dict[str, dict[Any, IntArray]] = {}
    for name, factor in categories.items():
        if isinstance(factor.levels, range) or len(factor.levels) > MOST_LEVELS:
            continue
        for code in np.flatnonzero(factor.rows_of_level > 0).tolist():
            value = factor.value(code)
            if isinstance(value, str) and not is_number(value.strip()):
                places.setdefault(value, {})[name] = factor.codes == code
    for word, met in places.items():
        if len(met) < 2:
            continue
        marked = np.array(list(met.values()))
        detail = np.asarray(~marked.any(axis=0))
        odds = 0.0
        for margin in np.unique(marked[:, ~detail], axis=1).T:
            kept = [key for key in categories if key not in np.array(list(met), object)[margin]]
            rows = np.asarray(detail | (marked == margin[:, None]).all(axis=0))
            odds += _odds_of_margin(*_margin([categories[k] for k in kept], counts, detail, rows))
        if odds >= math.log(_NAMED):
            yield word, list(met), odds


def _margin(
    kept: list[Factor],
    counts: IntArray,
    detail: npt.NDArray[np.bool_],
    rows: npt.NDArray[np.bool_],
) -> tuple[IntArray, IntArray]:
    """The counts of the other `rows` by the columns `kept`, and those of the rows of `detail`."""
    places = np.flatnonzero(rows)
    cells = count_cells([codes_of(factor, places) for factor in kept], len(places))
    parts = summed(cells.of_row, np.where(detail, counts, 0)[places], len(cells.counts))
    sums = summed(cells.of_row, np.where(detail, 0, counts)[places], len(cells.counts))
    return sums, parts


def _odds_of_margin(sums: IntArray, parts: IntArray) -> float:
    """Logarithm of the odds against the counts `sums` being those of their `parts` by chance."""
    shown = sums > 0
    return float(np.log(sums[shown]).sum()) if (parts == sums)[shown].all() else 0.0
