"""Persons who are drawn together and alike: families and households that are no column here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray
from mialeak._checks.alike import ranks_of, sharing_a_part
from mialeak._checks.names import is_name_of_relatives
from mialeak._checks.samples import LEVEL, correlation_within, variances_of_groups
from mialeak._columns import Factor
from mialeak._fields import as_numbers

__all__ = ["family_cautions"]

IntArray = npt.NDArray[np.integer[Any]]

#: Columns that are looked at, and values in all; fewest sites that show who is related; fewest
#: families, and rows of each on average.
_COLUMNS, _MOST_VALUES, _FEWEST_SITES, _FEWEST, _ROWS = 200, 2**24, 20, 20, 10
#: How much larger small leakages are at least, and the correlation of rows that share a part of
#: their names: that of siblings is 1/2, and of people of one population up to 0.2.
_LARGER, _OF_RELATIVES = 1.1, 0.25


def family_cautions(
    unpublished: Mapping[Any, Factor], published: Mapping[Any, Factor], rows: IntArray
) -> list[str]:
    """A caution if rows of one family, by a column that is left out or by names, are alike.

    With a correlation r of the members the difference of the two worlds is that of persons drawn
    alone times ``sqrt(1 + (k - 1) r)``, of a member of a group of k, the mean size that a row has.
    """
    labels = {
        name: each
        for name, each in {**published, **unpublished}.items()
        if len(each.levels) >= rows.size > 0 and isinstance(each.value(0), str)
    }
    groups = {name: each for name, each in unpublished.items() if is_name_of_relatives(name)}
    if not labels and not groups:
        return []
    count = min(_COLUMNS, _MOST_VALUES // max(rows.size, 1))
    first = dict(islice(published.items(), count))
    every = {name: Factor(each.codes[rows], each.levels) for name, each in first.items()}
    sites = {name: each for name, each in every.items() if _is_site(each)}
    measures = {name: place for name, each in every.items() if (place := ranks_of(each)).size}
    measures |= {name: ranks_of(each, fewest=2) for name, each in sites.items()}
    for name, each in groups.items():
        sentence = _of_groups(each.codes[rows], list(measures.values()))
        if sentence:
            return [f"Rows of one value of column {name!r}, which is left out, {sentence}"]
    if len(sites) < _FEWEST_SITES:
        return []
    ranks = [measures[name] for name in sites]
    for name, each in labels.items():
        for codes, (one, other) in sharing_a_part(Factor(each.codes[rows], each.levels)):
            sentence = _of_groups(codes, ranks, _OF_RELATIVES)
            if sentence:
                return [
                    f"Rows whose names in column {name!r} agree in a part, such as {one!r} and "
                    f"{other!r}, {sentence}"
                ]
    return []


def _is_site(factor: Factor) -> bool:
    numbers = as_numbers(factor.levels, text=isinstance(factor.value(0), str))
    if numbers is None or factor.n_missing:
        return False
    shown = np.asarray(numbers, np.float64)[factor.rows_of_level > 0]
    return bool(shown.size > 1 and np.isin(shown, (0, 1, 2)).all())


def _of_groups(codes: IntArray, ranks: list[FloatArray], least: float = 0.0) -> str:
    """What rows of one code are, if they are alike by no chance, and what that means."""
    if codes.min(initial=0) < 0:  # a missing value
        return ""
    sizes = np.bincount(codes)
    rows, groups = codes.size, int(np.count_nonzero(sizes))
    if not ranks or not max(_FEWEST, rows / _ROWS) <= groups < rows:
        return ""
    values = np.stack([place - place.mean() for place in ranks])
    values /= np.sqrt(np.mean(values * values, axis=1, keepdims=True))
    between, within = np.sum([variances_of_groups(each, codes) for each in values], axis=0)
    correlation = correlation_within(between, within, sizes)
    # So many independent measures have as large a sum of squared correlations.
    free = len(values) ** 2 / float(np.square(values @ values.T / rows).sum())
    chance = special.fdtrc(free * (groups - 1.0), free * (rows - groups), between / within)
    members = float(np.square(sizes).sum()) / rows
    larger = math.sqrt(max(1.0 + (members - 1.0) * correlation, 0.0))
    if chance >= LEVEL or larger < _LARGER or correlation < least:
        return ""
    return (
        f"have a correlation of {correlation:.2g}, as members of a family or a household have, or "
        f"samples of one person: {rows:,} rows have {groups:,} of these. Persons who are drawn "
        f"together leak more than persons drawn alone: small leakages are about {larger:.2g} times "
        "as large as stated here. If such rows are of one person, take one row for each person."
    )
