"""Cross-tabulations and other tables of counts that are passed as if their rows were persons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid, listed
from mialeak._cells import all_differ, codes_of, count_cells
from mialeak._checks.names import WORDS_OF_SEXES, WORDS_OF_TOTALS, is_person_name, word_of
from mialeak._checks.tables.counts import (
    NEARLY_ALL,
    count_column,
    holds_counts,
    numbers_of,
    refuse_counted,
)
from mialeak._checks.tables.unpublished import whole_count
from mialeak._columns import Factor, factor_if_plain, numeric_levels
from mialeak._fields import is_number
from mialeak._labels import names_of

__all__ = ["cautions_of_index", "check_index", "check_rows_are_persons", "may_be_crosstab"]

#: Largest table of shares, and how far from 1 or 100 their rounding can bring the sum.
_MOST_SHARES, _ROUNDING = 100_000, 0.005

#: Fewest rows at which whole numbers that rise are taken for the categories of a cross-tabulation.
_FEWEST_RISING = 5
#: The same of numbers that fall, or rise as words do.
_FEWEST_FALLING = 10

#: Most rows of a cross-tabulation whose row labels or column names are looked at, and the least
#: number of its largest count: those below are answers, bits and genotypes.
_MOST_LABELS, _LEAST_COUNT = 10_000, 10
#: Names that programs give to a column without one.
_UNNAMED = ("", "Unnamed: 0")
#: Steps and first values of an index that numbers rows.
_PLACES = ((1, 0), (1, 1))


def check_rows_are_persons(factors: dict[Any, Factor]) -> None:
    """Refuse a table of counts that is passed as if its rows were persons.

    A table of counts has a column of whole numbers with the name of a count, and next to no two
    rows that agree in all other columns; a table of shares has a column of fractions that sum to 1
    or to 100.  In a cross-tabulation no two rows agree in the first column, and all others, at
    least two, hold whole numbers or what stands for one that is not published, or shares of their
    rows or of the whole.
    """
    rows = len(next(iter(factors.values())).codes)
    if rows < 2 or len(factors) < 2:
        return
    counted = count_column(factors)
    if counted is not None and _is_sum_of_others(counted, factors):
        _refuse_crosstab(next(iter(factors)), "all other columns hold whole numbers", counted)
    if counted is not None:
        refuse_counted(counted)
    for name, factor in factors.items():
        if _sums_to_whole(factor):
            others = [codes_of(other) for key, other in factors.items() if key != name]
            if len(count_cells(others, rows).counts) >= NEARLY_ALL * rows:
                _refuse_shares(name)
    first, *others_names = factors
    if (
        len(others_names) >= 2
        and _are_categories(factors[first])
        and all(holds_counts(factors[name], strict=True) for name in others_names)
    ):
        _refuse_crosstab(first, "all other columns hold whole numbers")
    if (
        len(others_names) >= 2
        and rows <= _MOST_SHARES
        and _are_categories(factors[first])
        and _are_shares([factors[name] for name in others_names])
    ):
        _refuse_crosstab(first, "the other columns are shares that sum to 1 or to 100")


def check_index(frame: Any, factors: dict[Any, Factor], counts: Any) -> None:
    """Refuse a pandas frame whose index holds the categories, which would be ignored.

    So come counts from ``pandas.crosstab`` and from ``groupby(...).size().to_frame()``.  An index
    without a name holds those of a cross-tabulation if it has words or numbers with decimals.
    """
    index: Any = getattr(frame, "index", None)
    names = [name for name in getattr(index, "names", ()) if name is not None]
    if counts is None and not may_be_crosstab(factors, bool(names)):
        return
    if names:
        rule = f"hold its categories in columns; its index has the name {listed(names)}"
        remedy = (
            "Call reset_index() first, or reset_index(drop=True) if the index identifies persons"
        )
        invalid("table", rule, remedy=remedy)
    if counts is None and _are_values(list(factors)):
        cure = "with its counts in a column 'n'"
        _refuse_labels(f"its columns are called {listed(list(factors))}", cure)
    if counts is None and _are_labels(index):
        cure = "pandas: frame.rename_axis('row').reset_index().melt('row', value_name='n')"
        which = f"its index has '{index[0]}', '{index[1]}' ..."
        _refuse_labels(
            which, cure, "; if the index identifies persons, call reset_index(drop=True)"
        )


def cautions_of_index(frame: Any, factors: Mapping[Any, Factor]) -> list[str]:
    """A sentence if a pandas frame has an index with a name, whose values repeat.

    Or one without a name, or a first column without one, which may be those of a cross-tabulation.
    """
    index = getattr(frame, "index", None)
    names = [name for name in getattr(index, "names", ()) if name is not None]
    if names and index is not None and not index.is_unique:
        return [
            f"The index of the frame, {listed(names)}, is not counted. If it is a category, call "
            "reset_index() first."
        ]
    if not names and _has_several_rows(index, factors):
        return [
            "Rows that follow one another have the same label in the index of the frame and differ "
            "in columns, as where explode or merge gives a person several rows. If so, call "
            "reset_index() and pass person='index'."
        ]
    if names:
        return []
    labels, others = next(iter(factors), None), dict(list(factors.items())[1:])
    which = None
    if may_be_crosstab(factors):
        which = _classes_of_rows(frame, index, factors)
    # In this order: few columns are labels, which is seen at once.
    if (
        which is None
        and others
        and _are_classes(labels, factors[labels])
        and may_be_crosstab(others)
    ):
        which = f"no two rows agree in {labels!r}"
    if which is None:
        return []
    return [
        f"The counted columns hold whole numbers, and {which}, as in a cross-tabulation. If so, "
        "write one row a cell, with the label of its row and its column, and pass counts='n'. If "
        "each row is a person, leave the numbers of the rows out of the table."
    ]


def _has_several_rows(index: Any, factors: Mapping[Any, Factor]) -> bool:
    """Whether equal labels of an index stand together, and rows with one label differ."""
    if index is None or not factors or index.is_unique:
        return False
    same = np.asarray(index[1:] == index[:-1], np.bool_)
    if len(index) - np.count_nonzero(same) != index.nunique(dropna=False):
        return False
    return any((np.diff(each.codes) != 0)[same].any() for each in factors.values())


def may_be_crosstab(factors: Mapping[Any, Factor], named: bool = False) -> bool:
    """Whether all columns hold whole numbers; without a `named` index large ones, of few rows."""
    rows = len(next(iter(factors.values())).codes) if factors else 0
    if not (named and factors) and not (1 < rows <= _MOST_LABELS and len(factors) > 1):
        return False
    if not all(holds_counts(each, strict=True) for each in factors.values()):
        return False
    return named or any(_largest(each) >= _LEAST_COUNT for each in factors.values())


def _largest(factor: Factor) -> int:
    """The largest of numbers of which some may not be published."""
    numbers, present = numeric_levels(factor), factor.rows_of_level > 0
    if numbers is not None:
        return int(numbers[present].max())
    shown = np.flatnonzero(present).tolist()
    return max(whole_count(factor.value(code)) or 0 for code in shown)


def _are_values(names: list[Any]) -> bool:
    """Whether columns are called as values are: by numbers not from 0 on, or by the sexes."""
    words = [word_of(name) for name in names]
    if len(WORDS_OF_SEXES.intersection(words)) > 1:
        return WORDS_OF_SEXES.union(WORDS_OF_TOTALS).issuperset(words)
    if not all(map(is_number, words)):
        return False
    return list(map(float, words)) != [*range(len(words))]


def _are_labels(index: Any) -> bool:
    """Whether an index without a name has different words, or decimals by even steps."""
    if index is None or not index.is_unique:
        return False
    if index.dtype.kind == "f":
        return bool((index % 1.0 != 0.0).any()) and _is_even(np.diff(index))
    return all(isinstance(label, str | tuple) and not is_number(str(label)) for label in index)


def _classes_of_rows(frame: Any, index: Any, factors: Mapping[Any, Factor]) -> str | None:
    """What may be the row labels of a cross-tabulation: even steps that begin above 1, or words."""
    if index is not None and index.dtype.kind == "i":
        steps = np.diff(index)
        if _is_even(steps) and (steps[0], index[0]) not in _PLACES:
            return f"its rows are labelled {index[0]}, {index[1]} ..."
    names = names_of(frame)
    for name in set(_UNNAMED).intersection(names).difference(factors):
        for factor in filter(_are_categories, factor_if_plain(frame, name, ())):
            first = [factor.value(code) for code in factor.codes[:2].tolist()]
            if tuple(map(str, first)) not in (("0", "1"), ("1", "2")):
                return f"column {name!r}, which is left out, labels rows {first[0]}, {first[1]} ..."
    for name in [each for each in names[:1] if each not in factors]:
        for factor in factor_if_plain(frame, name, ()):
            if _are_classes(name, factor, numbering=False):
                first = [factor.value(code) for code in factor.codes[:2].tolist()]
                return f"column {name!r}, which is left out, labels rows {first[0]}, {first[1]} ..."
    return None


def _are_classes(name: Any, factor: Factor, *, numbering: bool = True) -> bool:
    """Whether numbers that differ by even steps label rows, and number neither these nor persons.

    In another order than their own, numbers from 0 or 1 on may label rows if `numbering` may.
    """
    if is_person_name(name) or not all_differ(factor):
        return False
    numbers = numbers_of(factor)
    if numbers is None:
        return False
    shown = numbers[factor.codes]
    ordered = np.sort(shown)
    steps = np.diff(ordered)
    if not _is_even(steps):
        return False
    is_order = not numbering or np.array_equal(shown, ordered)
    return not (is_order and (steps[0], ordered[0]) in _PLACES)


def _sums_to_whole(factor: Factor) -> bool:
    """Whether the values are shares: fractions of at least 0 that sum to 1, or to 100."""
    if len(factor.codes) > _MOST_SHARES or factor.n_missing:
        return False
    numbers = numbers_of(factor)
    if numbers is None:
        return False
    counts = factor.rows_of_level
    shown = numbers[counts > 0]
    if not (shown >= 0.0).all() or (shown == np.floor(shown)).all():
        return False
    total = float(numbers @ counts)
    return any(abs(total / whole - 1.0) <= _ROUNDING for whole in (1.0, 100.0))


def _are_shares(factors: list[Factor]) -> bool:
    """Whether they are fractions of at least 0 whose sums, of rows or in all, are 1 or 100."""
    numbers = [numbers_of(factor) for factor in factors]
    if any(each is None for each in numbers):
        return False
    columns = np.array([x[each.codes] for x, each in zip(numbers, factors, strict=True)])  # type: ignore[index]
    if not (columns >= 0.0).all() or (columns == np.floor(columns)).all():
        return False
    sums = columns.sum(axis=0)
    return any(
        bool((np.abs(each / whole - 1.0) <= _ROUNDING).all())
        for each in (sums, sums.sum())
        for whole in (1.0, 100.0)
    )


def _are_categories(factor: Factor) -> bool:
    """Whether no two rows agree: words, or numbers in order, whole or by even steps.

    They rise or fall, or rise as words do: 1, 10, 11, 2.
    """
    if not all_differ(factor):
        return False
    first = factor.value(int(factor.codes[0]))
    if isinstance(first, str) and whole_count(first) is None:
        return True
    numbers = numbers_of(factor)
    if len(factor.codes) < _FEWEST_RISING or numbers is None:
        return False
    steps = np.diff(numbers[factor.codes])
    if len(factor.codes) < _FEWEST_FALLING and not (steps > 0.0).all():
        return False
    if _is_even(np.abs(steps)) and np.ptp(np.sign(steps)) == 0.0:
        return True
    words = [str(factor.value(code)) for code in factor.codes[:_MOST_LABELS].tolist()]
    in_order = (steps > 0.0).all() or (steps < 0.0).all() or words == sorted(words)
    return bool(in_order) and holds_counts(factor)


def _is_even(steps: npt.NDArray[Any]) -> bool:
    """Whether numbers rise by even steps."""
    return bool(steps.size and steps[0] > 0.0 and np.allclose(steps, steps[0], rtol=_ROUNDING))


def _refuse_shares(name: Any) -> NoReturn:
    rule = (
        f"have one row a person; it looks like a table of shares: column {name!r} sums to 1 or to "
        "100, and no two rows agree in the other columns"
    )
    invalid("table", rule, remedy="Pass the table of counts, with counts='n' for their column")


def _is_sum_of_others(total: Any, factors: Mapping[Any, Factor]) -> bool:
    """Whether a column has the sums of all but the first one, as a cross-tabulation with totals."""
    first, *names = factors
    parts = [factors[name] for name in names if name != total]
    if total not in names or len(parts) < 2 or not _are_categories(factors[first]):
        return False
    numbers = [numbers_of(each) for each in (*parts, factors[total])]
    if any(each is None for each in numbers) or any(each.n_missing for each in parts):
        return False
    columns = [x[each.codes] for x, each in zip(numbers, (*parts, factors[total]), strict=True)]  # type: ignore[index]
    return bool(np.array_equal(np.sum(columns[:-1], axis=0), columns[-1]))


def _refuse_crosstab(first: Any, others: str, total: Any = None) -> NoReturn:
    rule = (
        f"have one row a person; it looks like a cross-tabulation: no two rows agree in {first!r}, "
        f"and {others}"
    )
    remedy, frame = "", "frame"
    if total is not None:
        remedy = f"Leave out column {total!r}, which has the sums of the others. "
        frame = f"frame.drop(columns={total!r})"
    remedy += (
        f"Write one row a cell (pandas: {frame}.melt({first!r}, value_name='n')) and pass "
        f"counts='n'; if {first!r} identifies persons, pass exclude=[{first!r}]"
    )
    invalid("table", rule, remedy=remedy)


def _refuse_labels(which: str, cure: str, otherwise: str = "") -> NoReturn:
    rule = (
        f"have one row a person; it looks like a cross-tabulation: {which}, and all columns hold "
        "whole numbers"
    )
    remedy = f"Write one row a cell ({cure}) and pass counts='n'{otherwise}"
    invalid("table", rule, remedy=remedy)
