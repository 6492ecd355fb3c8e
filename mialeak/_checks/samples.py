"""Signs that rows are no simple random sample, of the people of a register or of anyone."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._checks.names import (
    is_date_name,
    is_group_name,
    is_household_name,
    is_period_name,
    is_person_name,
)
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import is_number

__all__ = [
    "COPIED",
    "DATE",
    "LEVEL",
    "are_days",
    "are_periods",
    "common_copies",
    "correlation_within",
    "differ_together",
    "distance_of_shares",
    "groups_of_rows",
    "log_chance_of_all_cells",
    "long_table",
    "mean_ranks",
    "number_persons",
    "numbers_within",
    "repeated_piece",
    "shares_differ",
    "variances_of_groups",
]

IntArray = npt.NDArray[np.int64]

#: A year, a part of one, or a day.
DATE = re.compile(
    r"(?:19|20)\d\d(?:[-./ ]?[QKTMWSH]?\d{1,2})?(?:[-./]\d\d)?(?:[T ][\d:.Z]+)?"
    r"|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d",
    re.I,
)

#: A wave of a survey, and the most different dates that are those of waves.
_WAVE = re.compile(r"(w|wave|welle|vague|r|round|t|s)[ _.-]?\d{1,2}", re.I)
_MOST_PERIODS = 20

#: Level of the tests, and the rows and the people outside that each lumped value expects.
LEVEL, _EXPECTED = 1e-9, 5.0


#: Rows are called copies where chance makes them so with this probability at most.
COPIED = 1e-6


def common_copies(times: IntArray) -> int:
    """How many times each different row occurs, or a multiple of it; 1 if that may be chance.

    `times` are those of the different rows.  Numbers that happen to be there have a common divisor
    of at least k with a probability of about ``k**(1 - times.size)``.
    """
    copies = int(np.gcd.reduce(times))
    return copies if (times.size - 1) * np.log(copies) >= -np.log(COPIED) else 1


#: Different rows that a piece must have to be called a copy of another; about how many places of a
#: table are compared, and the rows at each.
_PIECE, _PLACES, _WINDOW = 20, 1 << 12, 8
_ODD = np.uint64(0x9E3779B97F4A7C15)


def repeated_piece(cells: IntArray, times: IntArray) -> int:
    """Rows of the longest piece of a table that stands there again, in the same order.

    Parameters
    ----------
    cells : (n,) ndarray
        The number of each row among the different rows.
    times : ndarray
        How often each of these occurs.

    Returns
    -------
    int
        0 where there is no piece of 20 different rows, or where chance makes one with a probability
        above 1e-9.
    """
    rows = cells.size
    if rows - times.size < _PIECE:
        return 0
    # Both copies of a piece have the places that the rows themselves choose; at each of these
    # the next eight rows are hashed.
    one_of = 1 << (rows // _PLACES).bit_length() >> 1 or 1
    places = np.flatnonzero(cells & (one_of - 1) == 0)
    places = places[places <= rows - _WINDOW]
    key = np.zeros(places.size, np.uint64)
    for k in range(_WINDOW):
        key += cells[k:][places].view(np.uint64)
        key *= _ODD
        key ^= key >> np.uint64(29)
    in_order = np.sort(key)
    if (in_order[1:] != in_order[:-1]).all():
        return 0
    kept, first, seen = np.unique(key, return_index=True, return_counts=True)
    again = np.ones(places.size, np.bool_)
    again[first] = False
    second = np.flatnonzero(again)
    number = np.searchsorted(kept, key[second])
    twice = seen[number] == 2
    apart = np.bincount(places[second[twice]] - places[first[number[twice]]], minlength=1)
    lag = int(apart.argmax())
    if lag == 0:
        return 0
    equal = np.concatenate([[False], cells[lag:] == cells[:-lag], [False]])
    begin, end = np.flatnonzero(equal[1:] != equal[:-1]).reshape(-1, 2).T
    longest = int((end - begin).argmax())
    piece = cells[begin[longest] : end[longest]]
    surprise = -np.log(times[piece] / rows).sum()
    if np.unique(piece).size < _PIECE or surprise < 2.0 * np.log(rows) - np.log(LEVEL):
        return 0
    return piece.size


#: Fewest values, each with one row for each value of another column, that are those of persons.
_FEWEST_LONG = 20


def long_table(columns: Mapping[Any, npt.NDArray[Any]]) -> str:
    """A sentence if each value of a column has one row for each value of another one, or "".

    `columns` are the codes of each, with a negative one for a missing value; the table has others.
    """
    sizes = {}
    for name, codes in columns.items():
        if codes.size and codes.min() >= 0:
            shown = np.bincount(codes)
            shown = shown[shown > 0]
            if 1 < shown.size < codes.size and shown.min() == shown.max():
                sizes[name] = shown.size
    for one, other in permutations(sizes, 2):
        first, second = columns[one].astype(np.int64), columns[other]
        if sizes[one] * sizes[other] != first.size or sizes[one] < _FEWEST_LONG:
            continue
        if np.unique(first * (int(second.max()) + 1) + second).size == first.size:
            return (
                f"Each of the {sizes[one]:,} values of column {one!r} has one row for each of the "
                f"{sizes[other]:,} values of {other!r}, as in a long table, where a person has "
                "several rows. Pass one row a person, with a column for each variable (pandas: "
                "pivot)."
            )
    return ""


#: Fewest groups that are taken for persons, the rows of each on average and of the largest.
_FEWEST_GROUPS, _ROWS, _MOST_ROWS = 50, 10, 60


def groups_of_rows(
    columns: Mapping[Any, Factor], among: Container[Any] | None = None
) -> tuple[Any, list[Any]]:
    """A column within whose values others never differ, as those of a person's rows, and these.

    Its values have a few rows each.  Two of the others must be no function of one another, as the
    county and the state of a postcode are; one suffices where the rows of a value stand together.
    That no value has two of theirs must be no chance.  The column is one of `among`, if that is
    not None.  None if there is no such column.
    """
    for name, factor in columns.items():
        if among is not None and name not in among:
            continue
        sizes = factor.rows_of_level[factor.rows_of_level > 0]
        rows, groups = len(factor.codes), sizes.size
        if groups < _FEWEST_GROUPS or factor.n_missing or not groups < rows <= _ROWS * groups:
            continue
        if sizes.max() > _MOST_ROWS or are_days(factor):
            continue
        order = np.argsort(factor.codes, kind="stable")
        same = np.diff(factor.codes[order]) == 0
        together = np.count_nonzero(np.diff(factor.codes)) == groups - 1
        met: dict[Any, IntArray] = {}
        for other, each in columns.items():
            agree = float(np.square(each.rows_of_level / rows).sum())
            values = each.n_values
            coarser = other != name and 1 < values < groups
            if not coarser or (groups - rows) * np.log(agree) < -np.log(LEVEL) or each.n_missing:
                continue
            codes = each.codes[order]
            is_constant = bool((codes[1:] == codes[:-1])[same].all())
            if is_constant and not (_is_finer(factor, each) or _is_band(factor, each)):
                met[other] = each.codes.astype(np.int64)
        if (met and together) or any(_are_crossed(*pair) for pair in combinations(met.values(), 2)):
            return name, list(met)
    return None, []


#: Rows at most of the largest household, class or other group whose persons have numbers in it.
_LARGEST_GROUP = 200
#: Local numbers of a site begin near 1 and are at least this share of those up to their last; the
#: last ones differ by this factor; and rows of a site that is looked at, at least.
_SHARE_OF_NUMBERS, _LAST_DIFFER, _ROWS_OF_SITE = 0.5, 1.1, 5
_NUMBER_OF_NAME = re.compile(r"(\D*)(\d{1,15})")
#: Fewest numbers whose rows fall by no chance, and the rows of each on average.
_FEWEST_NUMBERS, _ROWS_OF_NUMBER = 4, 50


def numbers_within(columns: Mapping[Any, Factor]) -> dict[Any, Any]:
    """Columns that number the persons of each household, or site, and the column of the latter.

    In the rows of each value of the latter, which has the name of one of households, such a column
    holds 1 to their number, each once, or from 0 on.  So are visits of a person numbered.
    """
    return _numbers_of_households(columns) | _numbers_of_sites(columns)


def _numbers_of_sites(columns: Mapping[Any, Factor]) -> dict[Any, Any]:
    """Columns of persons whose numbers begin anew in each site, and the column of the site.

    Each pair of both is there once, and the numbers of each site are dense from near 1 on, up to
    different ends: those of all persons, in several runs, would have one end.
    """
    known = [name for name, each in columns.items() if not each.n_missing]
    persons, sites = (list(filter(kind, known)) for kind in (is_person_name, is_group_name))
    return {
        name: site
        for name in persons
        if sites and (numbers := _numbers_at_the_end(columns[name])) is not None
        for site in reversed(sites)
        if site != name and _begin_anew(columns[name], numbers, columns[site])
    }


def _numbers_at_the_end(factor: Factor) -> IntArray | None:
    """The whole number of each level, also behind one word; None if rows share none, or all do."""
    shown = np.flatnonzero(factor.rows_of_level)
    if not _ROWS_OF_SITE <= shown.size < len(factor.codes):
        return None
    numbers = np.zeros(len(factor.levels), np.int64)
    levels = numeric_levels(factor)
    if levels is not None:
        values = levels[shown].astype(np.float64)
        if not ((values >= 0.0) & (values < 2.0**53) & (values == np.rint(values))).all():
            return None
        numbers[shown] = values
        return numbers
    parts = [_NUMBER_OF_NAME.fullmatch(str(factor.value(code))) for code in shown.tolist()]
    if not all(parts) or len({part[1] for part in parts if part}) != 1:
        return None
    numbers[shown] = [int(part[2]) for part in parts if part]
    return numbers


def _begin_anew(factor: Factor, numbers: IntArray, site: Factor) -> bool:
    """Whether `numbers` of the levels of a column begin anew in each value of `site`."""
    of_row, rows = numbers[factor.codes], site.rows_of_level
    first, last = np.full(rows.size, np.iinfo(np.int64).max), np.zeros(rows.size, np.int64)
    np.minimum.at(first, site.codes, of_row)
    np.maximum.at(last, site.codes, of_row)
    large = rows >= _ROWS_OF_SITE
    first, last, rows = first[large], last[large], rows[large]
    are_local = rows.size > 1 and (first <= 1 + last / 10).all()
    are_dense = are_local and rows.sum() >= _SHARE_OF_NUMBERS * last.sum()
    if not are_dense or last.max() < _LAST_DIFFER * last.min():
        return False
    pairs = site.codes.astype(np.int64) * len(factor.levels) + factor.codes
    return bool(np.unique(pairs).size == pairs.size)


def _numbers_of_households(columns: Mapping[Any, Factor]) -> dict[Any, Any]:
    """Columns that number the persons of each household, and the column of the household."""
    households = [name for name, each in columns.items() if not each.n_missing]
    households = list(filter(is_household_name, households))
    met = {}
    for name, factor in columns.items() if households else ():
        times, place = _places(factor)
        if place is None:
            continue
        within = place[factor.codes]
        for other in households:
            codes, groups = columns[other].codes, columns[other].rows_of_level
            if other == name or np.count_nonzero(groups) != times[0]:
                continue
            begin = np.cumsum(groups) - groups
            is_inside = (within < groups[codes]).all()
            if is_inside and np.unique(begin[codes] + within).size == len(codes):
                met[name] = other
                break
    return met


def number_persons(columns: Mapping[Any, Factor]) -> set[Any]:
    """The columns that number persons within households, whose column may not be among these.

    Without it such a column holds 1 to 4 at least, or from 0 on, each in many rows and ever fewer.
    """
    met = set(numbers_within(columns))
    for name, factor in columns.items():
        values, rows = factor.n_values, len(factor.codes)
        if values < _FEWEST_NUMBERS or rows < _ROWS_OF_NUMBER * values:
            continue
        times, place = _places(factor)
        if place is not None and (np.diff(times) < 0).all():
            met.add(name)
    return met


def _places(factor: Factor) -> tuple[IntArray, IntArray | None]:
    """The rows of each whole number from 0 or 1 on, which fall, and the place of each level.

    None if the values are others, or many.
    """
    shown = np.flatnonzero(factor.rows_of_level)
    if factor.n_missing or not 2 <= shown.size <= _LARGEST_GROUP:
        return shown, None
    levels = numeric_levels(factor)
    if levels is not None:
        numbers = levels[shown].astype(np.float64)
        if not np.isfinite(numbers).all():
            return shown, None
    else:
        words = [str(factor.value(code)).strip() for code in shown.tolist()]
        if not all(map(is_number, words)):
            return shown, None
        numbers = np.array(words, np.float64)
    order = np.argsort(numbers)
    times = factor.rows_of_level[shown[order]]
    ordered = numbers[order]
    if (
        ordered[0] not in (0.0, 1.0)
        or (np.diff(ordered) != 1.0).any()
        or (np.diff(times) > 0).any()
    ):
        return shown, None
    place = np.zeros(len(factor.levels), np.int64)
    place[shown[order]] = np.arange(shown.size)
    return times, place


def _are_crossed(one: IntArray, other: IntArray) -> bool:
    """Whether neither column is a function of the other."""
    pairs = np.unique(one * (int(other.max()) + 1) + other).size
    return bool(pairs > max(np.unique(one).size, np.unique(other).size))


def are_periods(name: Any, factor: Factor) -> bool:
    """Whether a column has the name of periods, or that of dates or surveys and a few values."""
    if is_period_name(name):
        return True
    shown = np.flatnonzero(factor.rows_of_level).tolist() if is_date_name(name) else []
    values = [str(factor.value(code)).strip() for code in shown[: _MOST_PERIODS + 1]]
    return 1 < len(values) <= _MOST_PERIODS and (
        all(map(DATE.fullmatch, values)) or all(map(_WAVE.fullmatch, values))
    )


def are_days(factor: Factor) -> bool:
    """Whether the values are days, or parts of years, whose own parts other columns may hold."""
    shown = np.flatnonzero(factor.rows_of_level)[:_FEWEST_GROUPS].tolist()
    return all(DATE.fullmatch(str(factor.value(code)).strip()) for code in shown)


def _is_band(factor: Factor, other: Factor) -> bool:
    """Whether the other column is a class of the numbers of a column, as a band of ages is."""
    numbers = numeric_levels(factor)
    if numbers is None:  # of a file they are words
        words = [str(factor.value(code)) for code in range(len(factor.levels))]
        if not all(map(is_number, words)):
            return False
        numbers = np.array(words, np.float64)
    codes = other.codes[np.argsort(numbers[factor.codes], kind="stable")]
    return bool(np.count_nonzero(np.diff(codes)) < other.n_values)


def _is_finer(factor: Factor, other: Factor) -> bool:
    """Whether each code of a column begins with that of the other column, as 0312 does with 03."""
    _, first = np.unique(factor.codes, return_index=True)
    return all(
        str(factor.value(int(factor.codes[row]))).startswith(
            str(other.value(int(other.codes[row])))
        )
        for row in first.tolist()
    )


def mean_ranks(values: npt.NDArray[Any]) -> FloatArray:
    """The ranks of values less 1/2, their mean size/2; equal values have the mean of theirs."""
    _, codes, times = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(times) - 0.5 * times)[codes], np.float64)


def variances_of_groups(values: FloatArray, codes: npt.NDArray[Any]) -> tuple[float, float]:
    """The mean squares between and within groups of rows, of an analysis of variance.

    `codes` are those of the groups, of which there are two or more, and fewer than rows.
    """
    sizes = np.bincount(codes)
    rows, groups = codes.size, np.count_nonzero(sizes)
    means = np.bincount(codes, values) / np.maximum(sizes, 1)
    between = float(sizes @ (means - values.mean()) ** 2) / (groups - 1.0)
    return between, float(np.square(values - means[codes]).sum()) / float(rows - groups)


def correlation_within(between: float, within: float, sizes: IntArray) -> float:
    """The correlation of two rows of one of groups of these sizes, from both mean squares."""
    rows = float(sizes.sum())
    typical = (rows - float(np.square(sizes).sum()) / rows) / (np.count_nonzero(sizes) - 1.0)
    return (between - within) / max(between + (typical - 1.0) * within, 1e-300)


def shares_differ(rows: IntArray, people: IntArray) -> bool:
    """Whether the rows of each value of a column are no random sample of its people (p < 1e-9)."""
    from scipy.special import chdtrc

    freedom, distance = distance_of_shares(rows, people)
    return freedom > 0 and bool(chdtrc(freedom, distance) < LEVEL)


def distance_of_shares(rows: IntArray, people: IntArray) -> tuple[int, float]:
    """Degrees of freedom and chi-squared distance of a sample of rows from the people of a column.

    Values that expect fewer than 5 rows are taken together.
    """
    seen, whole = rows.astype(np.float64), people.astype(np.float64)
    share = seen.sum() / whole.sum()
    common = whole * min(share, 1.0 - share) >= _EXPECTED
    lumped = []
    for counts in (seen, whole):
        lumped.append(np.append(counts[common], counts[~common].sum()))
    seen, whole = lumped
    if whole[-1] * min(share, 1.0 - share) < _EXPECTED and len(whole) > 1:
        seen, whole = (np.append(each[:-2], each[-2] + each[-1]) for each in lumped)
    if len(whole) < 2:
        return 0, 0.0
    expected = share * whole
    distance = float(np.sum((seen - expected) ** 2 / expected))
    distance *= (whole.sum() - 1.0) / (whole.sum() - seen.sum())  # drawn without replacement
    return len(whole) - 1, distance


def differ_together(
    strata: IntArray, values: tuple[IntArray, int], people: IntArray, rows: IntArray
) -> bool:
    """Whether the rows of each value are too many or too few for samples of all strata together.

    `strata` and `values` (the codes, and their number) are those of the cells.  By Bernstein's
    inequality, which holds for rows drawn without replacement, with p < 1e-9.
    """
    codes, size = values
    drawn, whole = (np.bincount(strata, each) for each in (rows, people))
    inside = np.zeros((whole.size, size))
    np.add.at(inside, (strata, codes), people)
    share = inside / np.maximum(whole, 1.0)[:, None]
    expected = drawn @ share
    variance = drawn @ (share * (1.0 - share))
    off = np.abs(np.bincount(codes, rows, minlength=size) - expected)
    exponent = off**2 / np.maximum(2.0 * (variance + off / 3.0), 1e-300)
    return bool((exponent > np.log(2.0 * size / LEVEL)).any())


def log_chance_of_all_cells(people: IntArray, n: int) -> float:
    """An upper bound of the logarithm of the probability that n rows show every cell.

    That a cell has no row has at least the probability ``((N - n - k + 1) / (N - k + 1))**k`` for
    its k of N people, and such cells are negatively associated: all have a row with at most the
    product of the complements.
    """
    k = people.astype(np.float64)
    every = float(people.sum())
    ratio = np.maximum(every - n - k + 1.0, 0.0) / (every - k + 1.0)
    return float(np.log1p(-(ratio**k)).sum())
