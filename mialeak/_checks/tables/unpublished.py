"""Counts that are not published: marks and codes in their place, and what these are taken for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, as_count, invalid, listed
from mialeak._checks.markers import MARKING_NUMBERS
from mialeak._fields import is_number, is_suppressed, suppressed_range

__all__ = [
    "BEFORE_SUPPRESSION",
    "cautions_of_codes",
    "codes_in",
    "count_of_empty",
    "count_of_mark",
    "is_separated",
    "is_unpublished",
    "remedy_of_count",
    "remedy_of_empty",
    "whole_count",
]

IntArray = npt.NDArray[np.int64]

#: A count with the mark of a note behind it, as "295 p" for a provisional one.
_NOTED = re.compile(r"(\d+)\s*[a-z*]{1,2}", re.I)

#: A count with a sign between thousands.
_SEPARATED = re.compile(r"[1-9]\d{0,2}([,. '\u00a0\u202f]\d{3})+")

#: Most letters of the mark of an office.
_LONGEST_MARK = 12
#: Marks that are a zero for most offices.
_DASHES = frozenset("-\u2013")

#: Codes that a column of counts has at most, and the other numbers that it must have.
_MOST_CODES, _FEWEST_COUNTS = 3, 2
#: How much larger than all other counts a code is that is one of the usual numbers and stands in
#: several rows; one that stands in a single row; and any other number, in so many rows.  Counts of
#: m persons agree rarely: each has a standard deviation of about ``sqrt(m)``.
_USUAL, _SINGLE, _OTHER, _ROWS = 2.0, 4.0, 10.0, 3
#: The smallest code in a single row: a count is one of four numbers of two digits too often.
_LEAST_SINGLE = 999

BEFORE_SUPPRESSION = (
    "Where the count is suppressed, pass the table before suppression: its leakage is an upper "
    "bound on that of the suppressed one; or pass suppressed=1 to take such counts to be 1"
)


def whole_count(value: Any) -> int | None:
    """A count of at least 0; None for anything else."""
    if isinstance(value, str):
        if not is_number(value.strip()):
            return None
        value = int(value) if value.strip().isdecimal() else float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= MAX_COUNT or value != int(value):
        return None
    return int(value)


def count_of_mark(value: Any, suppressed: Any) -> int | None:
    """The count that `suppressed` gives for a mark; None if it gives none.

    A dash is a zero for most offices and a suppressed count for others: it must be named, and so
    must a number.
    """
    text = _mark(value)
    if isinstance(suppressed, Mapping):
        given = {_mark(key): count for key, count in suppressed.items()}
        if text not in given:
            return None
        count = as_count(given[text], "suppressed")
    elif not isinstance(value, str) or not is_suppressed(text) or set(text) <= _DASHES:
        return None
    else:
        count = as_count(suppressed, "suppressed")
    _, most = suppressed_range(text)
    if is_suppressed(text) and most is not None and count > most:
        invalid("suppressed", f"be at most {most}, as the mark {text!r} states", value=count)
    return count


def count_of_empty(suppressed: Any, marks: Sequence[str]) -> int | None:
    """The same for an empty field, which must be named beside other `marks` of the column."""
    if isinstance(suppressed, Mapping):
        return count_of_mark("", suppressed)
    return None if marks or suppressed is None else as_count(suppressed, "suppressed")


def remedy_of_empty(marks: Sequence[str]) -> str:
    """What an error proposes for an empty field that is not named, beside these marks."""
    named = dict.fromkeys(("", *marks), 1)
    return f"If its count is suppressed too, name it with the others: pass suppressed={named!r}"


def _mark(value: Any) -> str:
    """The text of a mark; that of a whole number without decimals."""
    text = "" if value is None else str(value).strip()
    return text.removesuffix(".0") if is_number(text) else text


def is_separated(text: str) -> bool:
    """Whether it is a count with a sign between thousands."""
    return _SEPARATED.fullmatch(text) is not None


def is_unpublished(value: Any) -> bool:
    """Whether it stands for a count in a published table, though it is no number."""
    text = str(value).strip()
    return isinstance(value, str) and bool(is_suppressed(text) or is_separated(text))


def remedy_of_count(value: Any, cure: str) -> str:
    """What an error proposes for a value that is no count."""
    text = str(value).strip()
    if is_separated(text):
        return "Write it without separators: " + re.sub(r"\D", "", text)
    if text and set(text) <= _DASHES:
        zero = "If it is a zero, "
        zero += f"pass suppressed={{{text!r}: 0}}" if cure is BEFORE_SUPPRESSION else "write 0"
        return f"{zero}. {cure}"
    if noted := _NOTED.fullmatch(text):
        return f"If the letter marks a note, write the count alone: {noted[1]}"
    if not is_number(text.replace(",", ".")):
        if is_suppressed(text) or len(text) > _LONGEST_MARK or cure is not BEFORE_SUPPRESSION:
            return cure if is_suppressed(text) else ""
        return f"If it marks a suppressed count, pass suppressed={{{text!r}: 1}}"
    if text.startswith("-"):
        remedy = "A negative number is a correction or a marker, not a count"
        if cure is BEFORE_SUPPRESSION:
            remedy += f". If it marks a suppressed count, pass suppressed={{{_mark(value)!r}: 1}}"
        return remedy
    return (
        "A fraction is a weighted or estimated number, or one of thousands, not a count: write "
        "whole persons"
    )


def codes_in(counts: IntArray) -> tuple[dict[int, int], int]:
    """The numbers that are probably codes among the counts of rows, with their rows; the next one.

    A code stands far above all other counts, and is one of the numbers that mark a missing value,
    or stands in several rows.
    """
    values, rows = np.unique(counts[counts > 0], return_counts=True)
    for size in range(min(_MOST_CODES, values.size - _FEWEST_COUNTS), 0, -1):
        next_one, least = (int(each) for each in values[-size - 1 :][:2])
        met = dict(zip(values[-size:].tolist(), rows[-size:].tolist(), strict=True))
        if all(_is_code(*pair, times=least / next_one) for pair in met.items()):
            return met, next_one
    return {}, 0


def _is_code(number: int, rows: int, *, times: float) -> bool:
    """Whether a number in so many rows, above all others by the factor `times`, is a code."""
    if rows >= _ROWS and times > _OTHER:
        return True
    if number not in MARKING_NUMBERS:
        return False
    return times > _USUAL if rows > 1 else times > _SINGLE and number >= _LEAST_SINGLE


def cautions_of_codes(name: Any, counts: IntArray, cure: str) -> list[str]:
    """A caution for numbers in a column of counts that stand for counts that are not published."""
    codes, next_one = codes_in(counts)
    if not codes:
        return []
    rows = listed(list(codes.values()), show=lambda count: f"{count:,}")
    held = f"{listed(list(codes), show=str)} in {rows} row{'s' * (max(codes.values()) > 1)}"
    if cure is BEFORE_SUPPRESSION:
        marks = {str(code): 1 for code in codes}
        cure = f"If so, pass suppressed={marks!r} to take such counts to be 1"
    return [
        f"Column {name!r} holds {held}, and {next_one:,} at most in the others, as where a number "
        f"marks a count that is not published. The report takes it for persons. {cure}."
    ]
