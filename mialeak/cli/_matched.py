"""Two files of ``mialeak audit`` whose rows are matched by a column that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mialeak._checks.audits.beside import texts_of
from mialeak._columns import Factor
from mialeak._labels import names_of

__all__ = ["matched", "same_values"]


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
                "in one of the two only. Leave these rows out"
            )
        columns = {name: _taken(second[name], places) for name in names_of(second)}
        return columns | {name: first[name] for name in names_of(first)}, key
    what = f"of {' and '.join(map(repr, keys))} some values repeat" if keys else "there is none"
    raise ValueError(
        f"{paths[0]} and {paths[1]} must have one column each, or a column that names each row in "
        f"both; {what}. Merge them into one file by what names a canary, and pass --member COLUMN "
        "and --score COLUMN"
    )


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
