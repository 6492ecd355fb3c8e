"""Columns of text in a table of means: numbers that are written as text, and names of persons."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from mialeak._arrays import invalid, listed
from mialeak._checks.names import columns_that, is_household_name, is_person_name
from mialeak._columns import Factor
from mialeak._fields import MARKERS, is_number, reads_as_number

__all__ = [
    "are_foreign_numbers",
    "label_cautions",
    "names_persons",
    "refuse_foreign_numbers",
    "text_cautions",
    "text_number_cautions",
]

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
    *,
    chosen: bool,
) -> None:
    """Refuse a column of very many numbers in another notation, unless it is a category by name.

    `numbers` are the levels of each column of numbers, and None for a category.  Unless columns are
    `chosen`, one with another value in every row is not published.
    """
    for name, factor in factors.items():
        if numbers[name] is not None or name in categories or names_persons(name):
            continue
        if not chosen and len(factor.levels) == len(factor.codes):
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
        remedy = f"If that is meant, pass categories=[{name!r}]; if not, exclude=[{name!r}]"
        invalid(argument, rule, remedy=remedy)


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


def label_cautions(
    labels: Mapping[Any, Mapping[Any, str]],
    levels: Mapping[Any, npt.NDArray[Any] | None],
) -> list[str]:
    """A caution for columns of codes whose mean is published: each value has a label in the file.

    `levels` are those of each column of numbers, and None for a category.  The mean of two codes
    states the shares of both, and a label that is a number, such as '18', is no name.
    """
    coded, example = [], ""
    for name, known in labels.items():
        values = levels.get(name)
        if values is None or len(values) <= 2:
            continue
        words = [known.get(value) for value in values.tolist()]
        if all(word and not any(map(str.isdecimal, word)) for word in words):
            example = example or f"{values[0]:g} is {words[0]!r}"
            coded.append(name)
    if not coded:
        return []
    return [
        f"{columns_that(coded, 'holds')} codes, for each of which the file has a label "
        f"({example}), and the mean of the codes is taken to be published. If the share of each "
        f"value is published, pass categories={coded[:1]!r}."
    ]


def names_persons(name: Any) -> bool:
    """Whether a column has the name of a number of persons or households."""
    short = str(name).strip().lower() in _SHORT
    return short or is_person_name(name) or is_household_name(name)


#: A number with a decimal comma, signs between thousands, parentheses for a minus, or a unit.
_UNIT = (
    r"\s*(?:[$€£¥%]|(?:eur|usd|gbp|chf|kr|sek|nok|dkk|pln|kg|g|cm|mm|m|lbs?|years|yrs?)\b\.?)\s*"
)
#: Digits: in groups of three, or of two and at last three, with decimals or without, or in one.
_DIGITS = (
    r"(?:\d{1,3}(?:(?P<sign>[.,'\u2019 \u00a0\u202f])\d{3})(?:(?P=sign)\d{3})*(?:[.,]\d+)?|"
    r"\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?|\d+(?:[.,]\d+)?)"
)
_FOREIGN_NUMBER = re.compile(
    rf"\(?(?:{_UNIT})?[+-]?(?:{_UNIT})?{_DIGITS}(?:{_UNIT})?\)?",
    re.ASCII | re.IGNORECASE,
)
#: A duration, as pandas and Arrow have it.
_DURATION = re.compile(r"(-?\d+ days?,? )?(-1 day, )?[+-]?\d+:\d\d:\d\d(\.\d+)?", re.ASCII)
#: A number with a unit of any name behind it, as in 13.9 g/dL; of one letter, of few, since others
#: number seats, beds, classes and arms of chromosomes.
_MEASURE = re.compile(
    r"([+-]?\d+(?:[.,]\d+)?)\s*"
    r"((?:[^\W\d_]|[µμ°%])(?:[^\W_]|[µμ°%/*^.²³-]){1,14}|[dghlmsyKLNVW%])"
)
#: A limit in place of a number: below the limit of detection, or the last age of a list.
_LIMIT = re.compile(
    r"(?:[<>\u2264\u2265]=?|(?:below|above|under|over)\s)\s*\d+(?:[.,]\d+)?|\d+(?:\.\d+)?\s*\+",
    re.IGNORECASE,
)
#: Two numbers, as a blood pressure has them.
_TWO_NUMBERS = re.compile(r"(\d{1,4}(?:\.\d+)?)\s*/\s*(\d{1,4}(?:\.\d+)?)", re.ASCII)
#: Fewest different numbers of a measure, with decimals and without: there are fewer doses of a
#: treatment and fewer sizes of a household.  Most units that one measure is written in.
_FEWEST_DECIMAL, _FEWEST, _UNITS = 8, 20, 3


def text_number_cautions(
    texts: Mapping[Any, Sequence[str]], unpublished: Container[Any]
) -> tuple[list[str], set[Any]]:
    """Cautions for columns of `texts` that hold numbers in some way of writing, and these.

    Of the columns that are `unpublished` every row has a value of its own.
    """
    foreign: list[Any] = []
    unread: list[Any] = []
    pairs: dict[Any, str] = {}
    limits: dict[Any, str] = {}
    for name, values in texts.items():
        words = [word for word in values if word.strip().lower() not in MARKERS]
        if not words:
            continue
        if names_persons(name):
            continue
        if are_foreign_numbers(words) or _are_measures(words):
            (unread if name in unpublished else foreign).append(name)
        elif limit := _limit_among(words):
            limits[name] = limit
        elif _are_two_numbers(words):
            pairs[name] = words[0]
    cautions = []
    cure = "Write them with a decimal point and no other sign."
    if foreign:
        cautions.append(
            f"Numbers like {_foreign_among(texts[foreign[0]])!r} in column {listed(foreign)} are "
            f"taken for names of categories: the share of each is published. {cure}"
        )
    if unread:
        cautions.append(
            f"Numbers like {_foreign_among(texts[unread[0]])!r} in column {listed(unread)} are "
            f"text with another value in each row, and left out as names of rows are. {cure} If "
            f"they are names, pass exclude={unread!r}."
        )
    if limits:
        name, word = next(iter(limits.items()))
        cautions.append(
            f"{word!r} stands among the numbers of column {listed(limits)}, which are taken for "
            "names of categories for that reason: the share of each is published. Write a number "
            "in its place, as it was for the mean that is published."
        )
    if pairs:
        cautions.append(
            f"Two numbers in one field, like {next(iter(pairs.values()))!r} in column "
            f"{listed(pairs)}, are taken for names of categories: the share of each is published. "
            "Write them in two columns."
        )
    return cautions, {*foreign, *unread, *limits, *pairs}


def _foreign_among(words: Sequence[str]) -> str:
    """The first that is neither a number nor the mark of a missing value."""
    return next(
        word for word in words if word.strip().lower() not in MARKERS and not is_number(word)
    )


def are_foreign_numbers(words: Sequence[str]) -> bool:
    """Whether all words are numbers in one notation that is none of a number here."""
    if all(map(is_number, words)):
        return False
    return any(all(map(each.fullmatch, words)) for each in (_FOREIGN_NUMBER, _DURATION))


def _are_of_measure(numbers: set[str]) -> bool:
    """Whether there are as many numbers as of a measure."""
    has_decimals = any("." in number or "," in number for number in numbers)
    return len(numbers) >= (_FEWEST_DECIMAL if has_decimals else _FEWEST)


def _are_measures(words: Sequence[str]) -> bool:
    """Whether words are numbers with a unit behind them, of few units."""
    parts: list[re.Match[str]] = []
    for word in words:
        part = _MEASURE.fullmatch(word.strip())
        if part is None:
            return False
        parts.append(part)
    units = {part[2].casefold() for part in parts}
    return 1 <= len(units) <= _UNITS and _are_of_measure({part[1] for part in parts})


def _limit_among(words: Sequence[str]) -> str | None:
    """The first limit among numbers, which are as many as of a measure."""
    numbers, limits = set(), []
    for word in map(str.strip, words):
        if is_number(word):
            numbers.add(word)
        elif _LIMIT.fullmatch(word):
            limits.append(word)
        else:
            return None
    return limits[0] if limits and len(limits) < len(numbers) and _are_of_measure(numbers) else None


def _are_two_numbers(words: Sequence[str]) -> bool:
    """Whether words are two numbers, the first above the second, as no alleles and no months are.

    Alleles of a genotype may be equal and in any order; a year stands before a month.
    """
    if len(words) < _FEWEST:
        return False
    seconds = set()
    for word in words:
        part = _TWO_NUMBERS.fullmatch(word.strip())
        if part is None or float(part[1]) <= float(part[2]):
            return False
        seconds.add(float(part[2]))
    return not seconds <= set(range(1, 13))
