"""How a table is read for its means: which columns hold numbers, which are categories or names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import Numbers, as_floats, first_index, invalid, listed
from mialeak._checks.lines import cautions_of_statistics
from mialeak._checks.means.cautions import cautions_of, refuse_sites
from mialeak._checks.means.groups import cautions_of_genes, cautions_of_named_groups
from mialeak._checks.means.text import label_cautions, refuse_foreign_numbers
from mialeak._checks.means.together import family_cautions
from mialeak._checks.persons import (
    cautions_of_cells,
    names_of_rows,
    person_cautions,
    unpublished_columns,
    weight_cautions,
    weight_notes,
)
from mialeak._columns import Factor, each_factor
from mialeak._fields import as_numbers
from mialeak._files.tables import read_table
from mialeak.means._release import Column, Release

__all__ = ["Gaps", "as_table", "release_of"]

#: Numbers whose squares are neither infinite nor rounded to 0: the largest in size, and the least
#: difference in a column.  Both leave room for sums of squares.
_MOST, _LEAST = 1e150, 1e-150

#: What to do with several rows of a person of a register or of a panel.
_EACH_ONCE = (
    "Each row counts as one more person here, and the answer is that for so many people: pass one "
    "row for each person."
)

#: The largest number of int8, in size.
_SMALL = 127

#: Share of the rows from which on those left out for a missing value are a caution.
_MOST_DROPPED = 0.1

#: Levels whose codes fit into a byte: all columns are held at once, of genotypes very many.
_SHORT = 128


class Gaps(NamedTuple):
    """Which values mark a missing one, and whether rows with such a value are left out."""

    markers: Sequence[str] = ()
    drop: bool = False


def as_table(table: Any, *, frequencies: bool = False) -> Any:
    """What :func:`release_of` takes: a file is read, and a matrix becomes a dict of its columns."""
    if isinstance(table, (str, PathLike)):
        return read_table(table, frequencies=frequencies)  # type: ignore[arg-type]
    if hasattr(table, "__dlpack__") and getattr(table, "ndim", 0) == 2:  # of any library
        table = as_floats(table, "table") if not isinstance(table, np.ndarray) else table
    if isinstance(table, np.ndarray) and table.ndim == 2:
        return dict(enumerate(table.T))
    return table


def release_of(
    table: Any,
    columns: Sequence[Any] | None,
    *,
    exclude: Sequence[Any] = (),
    categories: Sequence[Any] = (),
    labels: Sequence[Any] = (),
    gaps: Gaps = Gaps(),  # noqa: B008 - a tuple
    argument: str = "table",
) -> Release:
    """The release of the means of a table.

    Columns of numbers stay numbers, and so do those of a CSV whose values all read as numbers,
    unless they are among `categories`.  Unless `columns` are chosen, a column of text in which
    every row has its own value is not published.  Errors name the table by its `argument`.

    Raises
    ------
    ValueError
        As :func:`each_factor`, for an unknown category, or for missing values that are not dropped.
    """
    described = _described(table, labels)
    exclude = [*exclude, *(described if columns is None else ())]
    parts, missing = _parts(table, columns, exclude, categories, gaps.markers, argument)
    factors = {name: part.factor for name, part in parts.items()}
    refuse_sites(factors)
    refuse_sites(names_of_rows(table))
    for place, name in enumerate(categories):
        if name not in parts:
            invalid("categories", "be among the columns", index=place, value=name)
    places = _complete_rows(parts, missing, gaps, argument)
    levels = {name: part.numbers for name, part in parts.items()}
    is_chosen = columns is not None
    refuse_foreign_numbers(factors, levels, categories, argument, chosen=is_chosen)
    chosen = is_chosen or bool(getattr(table, "sites", ()))
    cautions = cautions_of(factors, levels, chosen=chosen)
    cautions += label_cautions(getattr(table, "labels", {}), levels)
    notes = list(getattr(table, "notes", ()))
    unpublished = unpublished_columns(table, factors, missing.size)
    cautions += _of_rows(table, unpublished, factors, places, cautions, argument)
    notes += weight_notes(unpublished)
    del factors, levels
    published, unique = list[Column](), list[Any]()
    numbers = [part.numbers for part in parts.values() if part.numbers is not None]
    kind = np.int8 if numbers and all(map(_are_small, numbers)) else np.float64
    matrix, place = np.empty((places.size, len(numbers)), kind), 0
    for name in list(parts):
        part = parts.pop(name)  # its memory goes to the matrix
        codes = part.factor.codes[places]
        if part.numbers is not None:
            values = np.asarray(part.numbers)[codes]
            matrix[:, place] = (
                values if kind == np.int8 else as_floats(values, f"column {name!r}", finite=True)
            )
            _require_squares(matrix[:, place], f"column {name!r}")
            published.append(Column(name, None, place))
            place += 1
            continue
        column = Column(name, Factor(codes, part.factor.levels))
        if columns is None and places.size >= 3 and _is_name(column, places.size):
            unique.append(name)
        else:
            published.append(column)
    if not published:
        rule = "have a column in which two rows agree, or one of numbers; every row has its own "
        rule += f"value in {listed(unique)}"
        invalid(argument, rule, remedy="Choose columns to publish such a column all the same")
    labelled = {
        str(name): [factor.value(int(code)) for code in factor.codes]
        for name, factor in described.items()
    }
    dropped = missing.size - places.size
    cautions += _of_dropped(dropped, missing.size)
    cautions += getattr(table, "cautions", ())
    return Release(published, matrix, places, dropped, tuple(unique), labelled, cautions, notes)


def _of_rows(
    table: Any,
    unpublished: Mapping[Any, Factor],
    factors: Mapping[Any, Factor],
    places: npt.NDArray[np.intp],
    cautions: Sequence[str],
    argument: str,
) -> list[str]:
    """Cautions by columns that are not published and by the index: rows that are no persons.

    `cautions` are those by the columns that are published.
    """
    cure = "" if argument == "table" else _EACH_ONCE
    persons = person_cautions(unpublished, factors, places, cure)
    more = [
        *(persons or family_cautions(unpublished, factors, places)),
        *weight_cautions(factors),
        *cautions_of_cells(unpublished, factors, places),
        *cautions_of_genes(named := {**unpublished, **names_of_rows(table)}),
        *cautions_of_statistics({**factors, **named}),
    ]
    if not any("Each row is taken for" in each for each in (*cautions, *more)):
        more += cautions_of_named_groups({**factors, **unpublished})
    return more


@dataclass(frozen=True)
class _Part:
    """A column as it is read: its factor, the numbers of the codes, where it has no value."""

    factor: Factor
    numbers: npt.NDArray[Any] | None
    gaps: npt.NDArray[np.bool_] | None


def _described(table: Any, labels: Sequence[Any]) -> dict[Any, Factor]:
    return (
        dict(each_factor(table, labels, argument="table", chosen_by="labels"))
        if len(labels)
        else {}
    )


def _parts(
    table: Any,
    columns: Sequence[Any] | None,
    exclude: Sequence[Any],
    categories: Sequence[Any],
    markers: Sequence[str],
    argument: str,
) -> tuple[dict[Any, _Part], npt.NDArray[np.bool_]]:
    """The columns as they are read, and the rows in which one of them has no value."""
    chosen_by = "columns" if argument == "table" else argument
    parts: dict[Any, _Part] = {}
    missing = np.zeros(0, np.bool_)
    options = {"exclude": list(exclude) or None, "missing": markers}
    for name, factor in each_factor(
        table, columns, argument=argument, chosen_by=chosen_by, **options
    ):
        text = isinstance(table, Mapping) and isinstance(table[name], Factor)
        if not missing.size:
            missing = np.zeros(len(factor.codes), np.bool_)
        absent = factor.codes < 0
        gaps = absent if absent.any() else None
        if gaps is not None:
            missing |= gaps
        numbers = None if name in categories else as_numbers(factor.levels, text=text)
        if numbers is not None and len(numbers) <= _SHORT:
            factor = Factor(factor.codes.astype(np.int8), factor.levels, factor.stripped)
        parts[name] = _Part(factor, numbers, gaps)
    return parts, missing


def _are_small(levels: Any) -> bool:
    """Whether numbers are those of int8, none of them a negative zero."""
    levels = np.asarray(levels)
    if levels.dtype.kind not in "iuf" or not np.isfinite(levels).all():
        return False
    if levels.dtype.kind == "f" and (np.signbit(levels) & (levels == 0.0)).any():
        return False
    return bool(((levels >= -_SMALL) & (levels <= _SMALL) & (levels == np.rint(levels))).all())


def _require_squares(values: Numbers, name: str) -> None:
    """Refuse a column of numbers of which the squared deviations leave the range of float64."""
    low, high = float(values.min()), float(values.max())
    remedy = "The leakage of a mean does not depend on its unit: {} the column by a power of ten"
    if max(high, -low) > _MOST:
        rule = f"hold numbers of at most {_MOST:g} in size"
        place = int(np.argmax(np.abs(values)))
        cure = f"{remedy.format('divide')}, or pass such a number as missing"
        invalid(name, rule, index=place, value=float(values[place]), remedy=cure)
    if 0.0 < high - low < _LEAST:
        rule = f"have rows that differ by at least {_LEAST:g}, or agree; they differ by"
        invalid(name, f"{rule} {high - low:g} at most", remedy=remedy.format("multiply"))


def _complete_rows(
    parts: Mapping[Any, _Part], missing: npt.NDArray[np.bool_], gaps: Gaps, argument: str
) -> npt.NDArray[np.intp]:
    """The rows without a missing value, if others may be dropped, and some are left."""
    absent = {name: part.gaps for name, part in parts.items() if part.gaps is not None}
    if absent and not gaps.drop:
        _refuse_missing(absent, argument)
    places = np.flatnonzero(~missing)
    if not places.size:
        most = sorted(absent, key=lambda name: -int(absent[name].sum()))[:3]
        remedy = f"Exclude the columns that miss most: {listed(most)}"
        invalid(argument, "have at least one row without a missing value", remedy=remedy)
    return places


def _refuse_missing(gaps: Mapping[Any, npt.NDArray[np.bool_]], argument: str) -> None:
    counts = [(name, int(each.sum())) for name, each in gaps.items()]
    where = listed(counts, show=lambda each: f"{each[1]:,} in column {each[0]!r}")
    rows = np.logical_or.reduce(list(gaps.values()))
    remedy = (
        "Pass na='drop' to leave such rows out, or exclude such columns; "
        f"{np.count_nonzero(rows):,} of {rows.size:,} rows miss a value"
    )
    invalid(argument, f"have no missing values; there are {where}", remedy=remedy)


def _of_dropped(dropped: int, rows: int) -> list[str]:
    """A caution where so many rows are left out that the answer is that of another release."""
    if dropped <= _MOST_DROPPED * rows:
        return []
    return [
        f"{dropped:,} of {rows:,} rows are left out, since they have a missing value: the answer "
        f"is that of means over the other {rows - dropped:,}. Means over all rows that have a "
        "value in a column leak less: exclude the columns that miss values, or fill these in."
    ]


def _is_name(column: Column, rows: int) -> bool:
    """Whether a column is text, and every row has its own value in it."""
    assert column.factor is not None
    if column.present < rows:
        return False
    return isinstance(column.factor.value(int(first_index(column.counts > 0)[0])), str)
