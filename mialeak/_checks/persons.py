"""Columns that are not published and name the persons of several rows, or their weights."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, listed
from mialeak._checks.alike import VISITS, cautions_of_alike_rows, quoted
from mialeak._checks.names import (
    columns_that,
    is_body_weight,
    is_count_name,
    is_group_name,
    is_household_name,
    is_number_of_examples,
    is_period_name,
    is_person_name,
    is_weight,
)
from mialeak._checks.samples import groups_of_rows, mean_ranks, number_persons
from mialeak._columns import Factor, factor_from_values, factor_if_plain, numeric_levels
from mialeak._fields import as_numbers
from mialeak._labels import names_of

__all__ = [
    "Rows",
    "cautions_of_cells",
    "cautions_of_names_beside",
    "cautions_of_same_names",
    "cautions_of_shared_persons",
    "names_of_rows",
    "person_cautions",
    "unpublished_columns",
    "weight_cautions",
    "weight_notes",
]

IntArray = npt.NDArray[np.integer[Any]]

#: Columns of a table, and values in all, up to which those that are left out are compared with the
#: others.
_MOST_COLUMNS, _MOST_VALUES = 200, 2**24
#: What an index without a name is called: as ``reset_index`` calls it, and files that hold it.
_INDEX = "index"
_INDICES = (_INDEX, "", "Unnamed: 0", "__index_level_0__")
#: Values of an index that are looked at.
_FIRST = 1000
#: Fewest values of a column named as persons that are looked at, and of one of another name.
_FEWEST_NAMED, _FEWEST = 5, 20
#: Rows of a value in an index of names.
_ROWS_OF_NAME = 20
#: Fewest different counts of cells, pairs of rows that would agree if they were persons, and rows
#: up to which these are compared.
_FEWEST_COUNTS, _FEWEST_PAIRS, _MOST_CELLS = 3, 7.0, 2**17
#: The difference of two correlations, by Fisher's transformation, that is no chance, times the root
#: of the number of rows: six standard deviations; and the largest correlation.
_SURE, _ONE = 8.5, 0.999999
#: By how much the sum or the mean of weights, typed or of single precision, differs from 1.
_SHARES = 1e-6


def unpublished_columns(table: Any, published: Container[Any], rows: int) -> dict[Any, Factor]:
    """The columns of a table that are not `published`, and the levels of the index of a frame.

    Of a table of more than 200 columns, or of many `rows`, those whose name bears a caution alone.
    Columns that do not hold single values of one type are no names of persons, nor are those whose
    values are all missing.
    """
    every = names_of(table)
    names = [name for name in every if name not in published]
    if len(every) > _MOST_COLUMNS or len(every) * rows > _MOST_VALUES:
        names = [name for name in names if _is_heeded(name)]
    plain = {name: factor for name in names for factor in factor_if_plain(table, name)}
    columns = {name: factor for name, factor in plain.items() if factor.codes.max(initial=-1) >= 0}
    index = getattr(table, "index", None) if hasattr(table, "iloc") else None
    if index is None:
        return columns
    for place, name in enumerate(index.names):
        key, level = _INDEX if name is None else name, index.get_level_values(place)
        numbers_rows = level.is_unique and level.dtype.kind in "iufbmM"
        if name in published or (name is None and (_INDEX in every or numbers_rows)):
            continue
        for factor in factor_if_plain({key: level.to_numpy()}, key):
            columns.setdefault(key, factor)
    return columns


def _is_heeded(name: Any) -> bool:
    """Whether a name bears a caution."""
    return is_person_name(name) or is_weight(name) or is_number_of_examples(name)


def names_of_rows(table: Any) -> dict[Any, Factor]:
    """The first values of the index of a frame, if it holds text or has several levels."""
    index = getattr(table, "index", None) if hasattr(table, "iloc") else None
    if index is None or (index.nlevels == 1 and index.dtype.kind in "iufbmM"):
        return {}
    named: dict[Any, Factor] = {}
    for place, name in enumerate(index.names):
        values = index[:_FIRST].get_level_values(place).to_numpy()
        key = _INDEX if name is None else name
        named[key] = factor_from_values(values, key)
    return named


def person_cautions(
    unpublished: Mapping[Any, Factor],
    published: Mapping[Any, Factor],
    rows: IntArray,
    cure: str = "",
) -> list[str]:
    """A caution for a column that is left out, or not, and names the persons of several `rows`.

    By its name, or since rows of one value agree in other columns as those of a person do.  `cure`
    is what to do, if that is not to take a row for each person.
    """
    signs = _signs_of_persons(unpublished, published, rows)
    return [f"{sign} {cure or _CURE}" for sign in signs]


def _signs_of_persons(
    unpublished: Mapping[Any, Factor], published: Mapping[Any, Factor], rows: IntArray
) -> list[str]:
    chosen = {name: Factor(each.codes[rows], each.levels) for name, each in unpublished.items()}
    sites = {
        name: Factor(each.codes[rows], each.levels)
        for name, each in published.items()
        if is_group_name(name)
    }
    named = _signs_of_names(chosen, published, sites)
    if named:
        groups = sites | {name: each for name, each in chosen.items() if is_group_name(name)}
        return [sign + _numbered_in(groups, chosen[name]) for name, sign in named.items()]
    columns = len(published) + len(chosen)
    if columns > _MOST_COLUMNS or columns * rows.size > _MOST_VALUES:
        return []
    every = {name: Factor(each.codes[rows], each.levels) for name, each in published.items()}
    owner, others = groups_of_rows({**every, **chosen}, among=chosen)
    if owner is not None and not is_household_name(owner):
        return [
            f"Rows of one value of column {quoted(owner, published)} agree in column "
            f"{listed(others)}, as those of a person, or of a household, do."
        ]
    measures = {name: Factor(each.codes[rows], each.levels) for name, each in published.items()}
    numbers = number_persons(chosen)
    names = {name: each for name, each in {**every, **chosen}.items() if name not in numbers}
    return cautions_of_alike_rows(names, measures, chosen)


def cautions_of_names_beside(columns: Mapping[Any, Factor]) -> list[str]:
    """The same by the names of columns of another table, which describe the rows of this one."""
    return [f"{sign} {_CURE}" for sign in _signs_of_names(columns, (), {}).values()]


def _numbered_in(groups: Mapping[Any, Factor], persons: Factor) -> str:
    """What to add where most numbers of persons are there again in another group, as a centre."""
    codes = persons.codes.astype(np.int64)
    for name, factor in groups.items():
        size = len(factor.levels)
        known = (codes >= 0) & (factor.codes >= 0)
        pairs = np.unique(codes[known] * size + factor.codes[known])
        values, times = np.unique(pairs // size, return_counts=True)
        if pairs.size < np.count_nonzero(known) and 2 * np.count_nonzero(times > 1) > values.size:
            return (
                f" Most of these values are there with several values of column {name!r}: if each "
                f"{name} numbers its own persons, a person has one value of the two columns "
                "together."
            )
    return ""


def _signs_of_names(
    chosen: Mapping[Any, Factor], published: Container[Any], sites: Mapping[Any, Factor]
) -> dict[Any, str]:
    """A sign by a name among `chosen`, of the first that does not begin anew in each of `sites`."""
    numbers = number_persons({**sites, **chosen})
    for name, factor in chosen.items():
        if name in numbers:
            continue
        known = int(factor.rows_of_level.sum())
        values = factor.n_values
        if _FEWEST_NAMED <= values < known and is_person_name(name, values, known):
            sign = (
                f"Column {quoted(name, published)} has the name of an identifier, and "
                f"{known:,} rows have {values:,} of its values."
            )
            return {name: sign}
        is_index = name in _INDICES and _are_words(factor)
        if is_index and max(_FEWEST, known / _ROWS_OF_NAME) <= values < known:
            return {name: f"The index has {values:,} values in {known:,} rows."}
    return {}


def _are_words(factor: Factor) -> bool:
    return as_numbers(factor.levels, text=isinstance(factor.value(0), str)) is None


def cautions_of_cells(
    unpublished: Mapping[Any, Factor], published: Mapping[Any, Factor], rows: IntArray
) -> list[str]:
    """A caution if the rows are cells, whose counts are in a column that is left out.

    It has the name of a count, and no two rows agree in all others, where several pairs of rows
    of persons would if the columns were independent.
    """
    every = {**published, **unpublished}
    names = [name for name in unpublished if is_count_name(name)]
    if not names or not 2 < len(every) <= _MOST_COLUMNS or rows.size > _MOST_CELLS:
        return []
    columns = {name: Factor(each.codes[rows], each.levels) for name, each in every.items()}
    for name in names:
        counts = [str(value) for value in _shown(columns[name])]
        if len(counts) < _FEWEST_COUNTS or not all(map(str.isdecimal, counts)):
            continue
        others = [each for key, each in columns.items() if key != name]
        shares = [float(np.square(each.rows_of_level / rows.size).sum()) for each in others]
        agreeing = rows.size * (rows.size / 2.0) * math.prod(shares)
        codes = np.stack([each.codes for each in others])
        if agreeing >= _FEWEST_PAIRS and np.unique(codes, axis=1).shape[1] == rows.size:
            return [
                f"Column {name!r}, which is left out, has the name of a count, and no two rows "
                "agree in the others, as cells of a table that is already counted. Each row is "
                "taken for one person here. Pass one row for each person (pandas: "
                f"frame.loc[frame.index.repeat(frame[{name!r}])])."
            ]
    return []


def _shown(factor: Factor) -> list[Any]:
    return [factor.value(code) for code in np.flatnonzero(factor.rows_of_level).tolist()]


def cautions_of_shared_persons(
    table: Any, by: Any, places: Mapping[Any, npt.NDArray[np.intp]]
) -> list[str]:
    """A caution for a column by which the groups seem to hold the same persons.

    `places` are the rows of each group.  The column has the name of one of persons, or each of its
    values has one row in a group at most and half of them are in several; numbers from 1 on in each
    group may count its rows.
    """
    group = np.concatenate([np.full(len(rows), k) for k, rows in enumerate(places.values())])
    rows = np.concatenate(list(places.values()))
    for name, factor in unpublished_columns(table, (), rows.size).items():
        if name == by or is_period_name(name):
            continue
        codes = factor.codes[rows].astype(np.int64)
        known = codes >= 0
        pairs = np.unique(codes[known] * len(places) + group[known])
        groups_of_value = np.bincount(pairs // len(places))
        values = int(np.count_nonzero(groups_of_value))
        shared = int(np.count_nonzero(groups_of_value > 1))
        total = int(np.count_nonzero(known))
        named = values >= _FEWEST_NAMED and is_person_name(name, values, total)
        alone = values >= _FEWEST and pairs.size == total and 2 * shared >= values
        if shared and (named or (alone and _may_name(factor, codes[known], group[known]))):
            return [
                f"{shared:,} of {values:,} values of column {name!r} are in several groups of "
                f"{by}. Each group is judged alone here: if such a value names the same person in "
                "each, the means of all groups together leak more. Pass one row for each person, "
                "with a column for each variable of each group (pandas: pivot)."
            ]
    return []


def _may_name(factor: Factor, codes: npt.NDArray[np.int64], group: npt.NDArray[Any]) -> bool:
    """Whether the values of a column may be names: text, or numbers that count no rows."""
    text = isinstance(factor.value(0), str)
    numbers = as_numbers(factor.levels, text=text)
    if numbers is None:
        return True
    values = np.asarray(numbers, np.float64)[codes]
    if not (np.isfinite(values) & (values == np.rint(values))).all():
        return False
    sizes = np.bincount(group)
    low, high = np.full(sizes.size, np.inf), np.full(sizes.size, -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return not (high - low == sizes - 1.0).all()


_CURE = (
    "The report is about rows, and a person of several rows leaks more: take one row for each "
    "person, such as the mean of theirs."
)


class Rows(NamedTuple):
    """A table, which of its rows are used, and their numbers, columns in one order for both."""

    table: Any
    places: IntArray
    numbers: npt.NDArray[Any]


def cautions_of_same_names(rows: Rows, others: Rows, published: Container[Any]) -> list[str]:
    """A caution where `others` hold persons of `rows`, by a column or index of names.

    Two studies may number their persons alike, and in one order: ranks of values must also be
    more correlated than each with those of the next name.
    """
    beside = _names_of_each(others, published)
    for name, known in _names_of_each(rows, published).items():
        there = beside.get(name, {})
        shared = [each for each in known if each in there]
        if len(shared) < _FEWEST:
            continue
        first = rows.numbers[[known[each] for each in shared]][:, :_MOST_COLUMNS]
        second = others.numbers[[there[each] for each in shared]][:, :_MOST_COLUMNS]
        pairs = [
            np.array([mean_ranks(each[:, k]) for each in (first, second)])
            for k in range(first.shape[1])
        ]
        same = [_are_of_same(each) for each in pairs if np.ptp(each, axis=1).all()]
        if same and 2 * sum(same) >= len(same):
            return [
                f"{len(shared):,} of the {len(known):,} names in column {name!r} of the "
                "table are in it as well, with like values, as of the same persons. Take "
                "other people: what is known of the population includes these otherwise."
            ]
    return []


def _names_of_each(rows: Rows, published: Container[Any]) -> dict[Any, dict[Any, int]]:
    """The place of each name, for the index and the columns that name each row but few."""
    columns = unpublished_columns(rows.table, published, len(rows.places))
    named = {
        name: list(map(each.value, each.codes[rows.places].tolist()))
        for name, each in columns.items()
        if each.codes.min() >= 0 and _is_short(each)
    }
    if hasattr(rows.table, "iloc"):
        named.setdefault(_INDEX, rows.table.index[rows.places].tolist())
    return {name: {str(each): k for k, each in enumerate(values)} for name, values in named.items()}


def _is_short(factor: Factor) -> bool:
    """Whether a value has ten rows at most, on average."""
    return bool(len(factor.codes) <= VISITS * factor.n_values)


def _are_of_same(ranks: FloatArray) -> bool:
    """Whether two columns are more correlated than the first with the second, moved by one.

    By 1/2, and beyond chance, by Fisher's transformation.
    """
    every = np.corrcoef([*ranks, np.roll(ranks[1], 1)])[0]
    same, moved = np.clip(every[1:], -_ONE, _ONE).tolist()
    gain = math.atanh(same) - math.atanh(moved)
    return bool(same - moved > 0.5 and gain > _SURE / math.sqrt(ranks.shape[1] - 3.0))


def weight_cautions(published: Mapping[Any, Factor]) -> list[str]:
    """A caution for weights that are averaged like a measurement."""
    return [
        f"{columns_that(names, 'has')} the name of {kind}, and is averaged here as one of "
        f"the columns. {_WEIGHTED} If the means are not weighted, pass exclude=[{listed(names)}]."
        for names, kind in _weights(published)
    ]


def weight_notes(unpublished: Mapping[Any, Factor]) -> list[str]:
    """A sentence beside the answer if columns that are left out are weights."""
    return [
        f"{columns_that(names, 'has')} the name of {kind}, and no mean here is weighted. "
        f"{_WEIGHTED}"
        for names, kind in _weights(unpublished)
    ]


def _weights(columns: Mapping[Any, Factor]) -> list[tuple[list[Any], str]]:
    """The columns of different numbers that are called weights, and what these are.

    A name that is also that of the weight of a body is one of weights whose sum or mean is 1.
    """
    varied = [name for name in columns if columns[name].n_values > 2]
    surveys = [
        name
        for name in varied
        if is_weight(name) and (not is_body_weight(name) or _are_shares(columns[name]))
    ]
    examples = [name for name in varied if is_number_of_examples(name)]
    kinds = (surveys, "a survey weight"), (examples, "the weight of a federated average")
    return [(names, kind) for names, kind in kinds if names]


def _are_shares(factor: Factor) -> bool:
    """Whether positive numbers have the sum or the mean 1, to six digits."""
    numbers = numeric_levels(factor)
    if numbers is None or (factor.codes < 0).any():
        return False
    values = np.asarray(numbers, np.float64)[factor.codes]
    away = min(abs(float(each) - 1.0) for each in (values.sum(), values.mean()))
    return bool((values > 0.0).all()) and away < _SHARES


_WEIGHTED = (
    "Weighted means leak more about the rows of large weights: mialeak.estimators.z_estimator "
    "computes it, from the terms w * (x - mean)."
)
