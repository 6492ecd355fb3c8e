"""Two files of ``mialeak audit`` whose rows are matched by a column that names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mialeak._checks.audits.beside import texts_of
from mialeak._columns import Factor
from mialeak._labels import names_of

__all__ = ["cure_of_others", "matched", "same_values"]

#: A name that ends in a number.
_NUMBERED = re.compile(r"(.*?)(\d+)")


def matched(
    paths: Sequence[str], first: Any, second: Any, keys: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """The columns of two files, of the second in the order of the first, and what matches them.

    Of `keys`, columns of both files, that is the first with another value in each row.
    """
    for key in keys:
        words = [texts_of(table[key]) for table in (first, second)]
        if any(np.unique(each).size < each.size for each in words):
            continue
        order = np.argsort(words[1])
        places = np.searchsorted(words[1], words[0], sorter=order)
        places = order[np.minimum(places, order.size - 1)]
        n_other = int(np.count_nonzero(words[1][places] != words[0]))
        if n_other or words[0].size != words[1].size:
            n_other = max(n_other, abs(words[0].size - words[1].size))
            raise ValueError(
                f"{paths[1]} must have the rows of {paths[0]}; {n_other:,} values of {key!r} are "
                f"in one of the two only. {cure_of_others(*words)}"
            )
        columns = {name: _taken(second[name], places) for name in names_of(second)}
        return columns | {name: first[name] for name in names_of(first)}, key
    what = f"of {' and '.join(map(repr, keys))} some values repeat" if keys else "there is none"
    raise ValueError(
        f"{paths[0]} and {paths[1]} must have one column each, or a column that names each row in "
        f"both; {what}. Merge them into one file by what names a canary, and pass --member COLUMN "
        "and --score COLUMN"
    )


def cure_of_others(first: Sequence[str], second: Sequence[str]) -> str:
    """What to do with names that one of two files alone has.

    Numbers from 0 in one and from 1 in the other name each row by the number of the next one:
    without those at the ends all would be matched, and wrongly.
    """
    if {_first_number(first), _first_number(second)} == {0, 1} and len(first) == len(second):
        return (
            "One counts from 0 and the other from 1, so that a number does not mean the same in "
            "both: number them in the same way"
        )
    return "Leave these out"


def _first_number(names: Sequence[str]) -> int:
    """The least of consecutive numbers at the end of names that are alike before it; -1 if not."""
    parts = [_NUMBERED.fullmatch(str(name)) for name in names]
    known = [part for part in parts if part]
    if len(known) < len(parts) or len({part[1] for part in known}) != 1:
        return -1
    numbers = sorted(int(part[2]) for part in known)
    return numbers[0] if numbers == list(range(numbers[0], numbers[0] + len(numbers))) else -1


def same_values(first: Any, second: Any) -> str | None:
    """Whether two columns are "equal", or the same values "moved" to another order; None else.

    None too where a value occurs twice.
    """
    one, other = texts_of(first), texts_of(second)
    if one.shape != other.shape or np.unique(one).size < one.size:
        return None
    if (one == other).all():
        return "equal"
    return "moved" if (np.sort(one) == np.sort(other)).all() else None


def _taken(column: Any, places: Any) -> Any:
    """The rows of a column at these places."""
    if hasattr(column, "codes"):
        return Factor(column.codes[places], column.levels)
    return column.take(places) if hasattr(column, "to_pylist") else np.asarray(column)[places]
