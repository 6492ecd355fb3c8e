"""Columns of text in a table of means: numbers that are written as text, and names of persons."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy.typing as npt

from mialeak._arrays import invalid
from mialeak._columns import Factor
from mialeak._fields import is_number, reads_as_number
from mialeak._labels import is_household_name, is_person_name
from mialeak.means._text_numbers import are_foreign_numbers

__all__ = ["names_persons", "refuse_foreign_numbers", "text_cautions"]

#: Short names of persons' numbers, which have other meanings as well.
_SHORT = {"nr", "no", "chi"}
#: A column with fewer rows than this for each value may be an identifier; its values at least.
_ROWS_PER_VALUE, _VALUES = 5, 20
#: Values from which on numbers in another notation are no categories: the covariance of as many
#: columns takes seconds, of three times as many minutes.
_NO_CATEGORIES = 1000


def refuse_foreign_numbers(
    factors: Mapping[Any, Factor],
    numbers: Mapping[Any, npt.NDArray[Any] | None],
    categories: Container[Any],
    argument: str,
) -> None:
    """Refuse a column of very many numbers in another notation, unless it is a category by name.

    `numbers` are the levels of each column of numbers, and None for a category.
    """
    for name, factor in factors.items():
        if numbers[name] is not None or name in categories:
            continue
        if len(factor.levels) < _NO_CATEGORIES or not isinstance(factor.value(0), str):
            continue
        words = [str(factor.value(code)) for code in range(len(factor.levels))]
        words = [word for word in words if word]
        if len(words) < _NO_CATEGORIES or not are_foreign_numbers(words):
            continue
        word = next(word for word in words if not is_number(word))
        rule = (
            f"have numbers with a decimal point and no other sign; column {name!r} holds {word!r}, "
            f"and each of its {len(words):,} values would be a category"
        )
        invalid(argument, rule, remedy=f"If that is meant, pass categories=[{name!r}]")


def text_cautions(texts: Mapping[Any, list[str]], factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for each column of text with many values: numbers as text, or names of persons."""
    cautions = []
    for name, words in texts.items():
        values, rows = len(words), len(factors[name].codes)
        if not _VALUES <= values < rows:
            continue
        start = (
            f"Column {name!r} has {values:,} values in {rows:,} rows, and the share of each is "
            "published"
        )
        are_numbers = all(map(reads_as_number, words))
        if are_numbers and any("." in word for word in words):
            cautions.append(
                f"{start}: its numbers are text, and so names of categories. For their mean, "
                f"convert the column to numbers (pandas: frame[{name!r}].astype(float))."
            )
        elif rows < _ROWS_PER_VALUE * values or names_persons(name):
            as_text = (
                "Its numbers are text, and so names of categories: for their mean, convert the "
                f"column to numbers (pandas: frame[{name!r}].astype(float)). "
            )
            cautions.append(
                f"{start}. {as_text * are_numbers}The report is about rows: if rows share a "
                "person, take one row for each first, such as the mean of theirs. If "
                f"{name!r} is an identifier, pass exclude=[{name!r}]."
            )
    return cautions


def names_persons(name: Any) -> bool:
    """Whether a column has the name of a number of persons or households."""
    short = str(name).strip().lower() in _SHORT
    return short or is_person_name(name) or is_household_name(name)
