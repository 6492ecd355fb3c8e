"""Columns of a mean that name families, pairs or matched sets, whose persons are drawn together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._columns import Factor
from mialeak._labels import is_household_name, is_name_of_relatives

__all__ = ["relatives_cautions"]

#: Fewest groups, persons of each on average, and persons of the largest.
_FEWEST_GROUPS, _LEAST, _MOST, _LARGEST = 20, 1.2, 10.0, 30
#: Share of the groups that are of one size where the name alone shows too little.
_OF_ONE_SIZE = 0.9


def relatives_cautions(
    factors: Mapping[Any, Factor],
    texts: Mapping[Any, Sequence[str]],
    held: Mapping[Any, tuple[FloatArray, npt.NDArray[np.int64]]],
) -> tuple[list[str], list[Any]]:
    """Cautions for columns that name groups of persons and are averaged, and these columns.

    With a correlation r of the k members of a group the difference of the two worlds is
    ``sqrt(1 + (k - 1) r)`` times as large as that of persons who are drawn alone.
    """
    cautions, names = [], []
    for name in (*texts, *held):
        if not is_name_of_relatives(name):
            continue
        if name in held and (not np.isfinite(held[name][0]).all() or (held[name][0] % 1.0).any()):
            continue
        sizes = factors[name].rows_of_level[factors[name].rows_of_level > 0]
        groups, rows = sizes.size, int(sizes.sum())
        if groups < _FEWEST_GROUPS or sizes.max() > _LARGEST:
            continue
        if not _LEAST * groups <= rows <= _MOST * groups:
            continue
        usual = np.bincount(sizes).max()
        if not is_household_name(name) and usual < _OF_ONE_SIZE * groups:
            continue
        names.append(name)
        most = int(sizes.max())
        cautions.append(
            f"Column {name!r} seems to name the household, family, pair or matched set of a row: "
            f"{rows:,} rows have {groups:,} of its values. It is averaged here as a measurement: "
            f"pass exclude=[{name!r}]. Persons who are drawn together and are alike leak more than "
            f"persons drawn alone, small leakages up to {math.sqrt(most):.2g} times as much where "
            f"{most} are. If rows of one value are of one person, take one row for each first."
        )
    return cautions, names
