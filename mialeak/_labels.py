"""Names and labels that arguments carry: of columns, of rows, and that they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mialeak._arrays import invalid

__all__ = [
    "labels_of",
    "names_of",
    "require_consecutive",
    "require_same_columns",
    "require_same_index",
    "require_same_rows",
    "require_same_values",
]

_ARRAY = np.ndarray


def names_of(frame: Any) -> list[Any]:
    """The names of the columns of a data frame or a dict."""
    if isinstance(frame, Mapping):
        return list(frame)
    if hasattr(frame, "iloc"):  # pandas takes 50 us to find that it has no other attribute
        return list(getattr(frame, "columns", ()))
    names = getattr(frame, "column_names", None)  # of pyarrow
    return list(getattr(frame, "columns", ()) if names is None else names)


def labels_of(values: Any) -> tuple[Any, ...] | None:
    """The names of the columns of an argument; None if it has no names.

    A pandas Series has the names of its index, a data frame those of its columns, a fitted
    estimator ``feature_names_in_``, and a law the names of its parameters; the name of a column
    without one is None.
    """
    if type(values) is np.ndarray:
        return None
    if hasattr(values, "iloc"):
        return tuple(values.index if values.ndim == 1 else values.columns)
    if hasattr(values, "feature_names_in_"):
        return tuple(values.feature_names_in_)
    labels = getattr(values, "_labels", None)
    if labels is None and not hasattr(values, "dtype"):
        labels = getattr(values, "columns", None)  # of a polars frame
    return tuple(labels) if isinstance(labels, Sequence) else None


def require_same_columns(**arguments: Any) -> None:
    """Refuse arguments whose columns have names, in another order than those of the first.

    Names that are text must be the same; others, such as numbers of rows, are compared if they are
    the same in another order.
    """
    first: tuple[str, tuple[Any, ...]] | None = None
    for name, values in arguments.items():
        if type(values) is _ARRAY:  # most are; a call of a function takes several times as long
            continue
        labels = labels_of(values)
        if not labels:
            continue
        _require_same_order(values, name)
        if first is None:
            first = name, labels
        elif len(labels) == len(first[1]):
            _require_same(labels, name, *first)


def require_same_rows(**arguments: Any) -> None:
    """Refuse pandas arguments whose rows have the same different names in another order."""
    require_same_index(
        {name: each.index for name, each in arguments.items() if hasattr(each, "iloc")}
    )


def require_same_index(named: Mapping[str, Any], argument: str | None = None) -> None:
    """Refuse pandas indices of the same different names in another order than that of the first.

    An error names `argument` in place of a key, if given.
    """
    if not named:
        return
    (first, expected), *others = named.items()
    for name, index in others:
        if index.equals(expected) or not (index.is_unique and index.size == expected.size):
            continue
        if index.isin(expected).all():
            place = next(k for k in range(index.size) if index[k] != expected[k])
            label, other = (each[[place]].tolist()[0] for each in (expected, index))
            order = f"the rows of {first} in their order, where {label!r} is at {place}"
            remedy = f"Rows go by their place: pass {name}.loc[{first}.index], or arrays"
            rule = f"have {order}"
            if argument is not None:
                rule = f"have {order}; in {name} {other!r} is at {place}"
                remedy = "Rows go by their place: fit it to rows in this order, or pass arrays"
                invalid(argument, rule, remedy=remedy)
            invalid(name, rule, index=place, value=other, remedy=remedy)


def require_same_values(what: str, /, **arguments: Any) -> None:
    """Refuse pandas Series of the same length whose indices list other `what`, or in another order.

    What was made of a Series may keep its index as ``_index``.  Indices of different numbers are
    taken for numbers of rows, unless both have names, as those of ``value_counts`` and ``groupby``
    have.
    """
    indices = [(name, _index_of(each)) for name, each in arguments.items()]
    named = [(name, index) for name, index in indices if index is not None]
    for name, index in named[1:]:
        first, expected = named[0]
        if index.size != expected.size or index.equals(expected):
            continue
        places = (k for k in range(index.size) if index[k] != expected[k])
        place = next(places, 0)
        is_same = index.is_unique and index.isin(expected).all()
        are_numbers = all(each.dtype.kind in "iuf" for each in (index, expected))
        if not is_same and are_numbers and None in (index.name, expected.name):
            continue
        invalid(
            name,
            f"have the {what} of {first} in their order, where {expected[place]!r} is at {place}",
            index=place,
            value=index[place],
            remedy=f"They go by their place: reindex {name}, with 0 where it lacks one of them",
        )


def _index_of(values: Any) -> Any:
    if type(values) is _ARRAY:
        return None
    is_series = hasattr(values, "iloc") and values.ndim == 1
    return values.index if is_series else getattr(values, "_index", None)


def require_consecutive(what: str, values: Any, name: str, *, step: bool = True) -> None:
    """Refuse a pandas Series whose index has numbers in another order, as ``value_counts`` has.

    With `step`, an index with a name must have consecutive integers.
    """
    if type(values) is _ARRAY or not hasattr(values, "iloc") or values.ndim != 1:
        return
    index = values.index
    if index.dtype.kind not in "iuf" or index.size < 2:
        return
    steps = np.diff(np.asarray(index, np.float64))
    bad = (steps <= 0.0) | ((steps != 1.0) if step and index.name is not None else False)
    if bad.any():
        place = int(np.argmax(bad)) + 1
        rule = f"list {what} in their order; index {index[place]!s} follows {index[place - 1]!s}"
        remedy = f"They go by their place: pass {name}.sort_index()"
        if step:
            remedy += f".reindex(range({int(index.min())}, {int(index.max()) + 1}), fill_value=0)"
        invalid(name, rule, remedy=remedy)


def _require_same(
    labels: tuple[Any, ...], name: str, first: str, expected: tuple[Any, ...]
) -> None:
    if labels == expected:
        return
    known = [k for k, pair in enumerate(zip(labels, expected, strict=True)) if None not in pair]
    for side in (labels, expected):
        if not all(isinstance(side[k], str) for k in known) and set(labels) != set(expected):
            return
    for k in known:
        if labels[k] != expected[k]:
            invalid(
                name,
                f"have the columns of {first} in their order, where {expected[k]!r} is at {k}",
                index=k,
                value=labels[k],
                remedy="Columns go by their place: reorder them, or pass arrays",
            )


def _require_same_order(values: Any, name: str) -> None:
    """Refuse a square data frame whose rows have the names of its columns in another order."""
    if getattr(values, "ndim", 1) != 2 or not hasattr(values, "iloc"):
        return
    rows, columns = list(values.index), list(values.columns)
    if rows != columns and len(rows) == len(columns) and set(rows) == set(columns):
        place = next(k for k, label in enumerate(rows) if label != columns[k])
        rule = f"have rows in the order of its columns, where {columns[place]!r} is at {place}"
        remedy = f"Pass {name}.loc[{name}.columns]"
        invalid(name, rule, index=place, value=rows[place], remedy=remedy)
