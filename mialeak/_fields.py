"""Fields of a file and levels of a column: which are numbers, and which are names of something."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Container, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid

__all__ = [
    "MARKERS",
    "as_markers",
    "as_numbers",
    "is_number",
    "is_one_of",
    "is_suppressed",
    "near",
    "reads_as_number",
    "suppressed_range",
]
#: Column names listed in an error when none is like the one asked for.
_SHOWN = 8
#: A number as people write it, without leading zeros.
_QUANTITY = re.compile(r"\s*[+-]?(0|[1-9]\d*|(?=\.\d))(\.\d*)?([eE][+-]?\d{1,3})?\s*")
#: A number as a field of a file.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
#: A count that a statistical office does not publish.
_SUPPRESSED = re.compile(
    r"(?:[<\u2264]\s*=?|fewer than|less than)\s*\d+|\d+\s*(?:[-\u2013]|to)\s*\d+|[cdsx*:\u2013-]+"
    r"|\([cdsx]\)|\[[a-z]{1,2}\]|\.+|n\.?/?[ap]\.?",
    re.I,
)
#: What marks a missing value in files, in small letters.
MARKERS = frozenset(
    {
        "",
        "?",
        "*",
        ".",
        "..",
        "./.",
        ".|.",
        "-",
        "--",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "<na>",
        "null",
        "nat",
        "(null)",
    }
)


def is_number(text: str) -> bool:
    """Whether a field of a file is a number."""
    return _NUMBER.fullmatch(text) is not None


def as_numbers(levels: Any, *, text: bool) -> npt.NDArray[Any] | None:
    """The levels as numbers; None if they are none.  With `text` they are words of a CSV.

    Numbers of a list are numbers as those of an array are; True and False are values of a category.
    """
    if isinstance(levels, range):
        return np.arange(levels.start, levels.stop)
    if hasattr(levels, "to_numpy"):  # a pyarrow array
        levels = levels.to_numpy(zero_copy_only=False)
    if isinstance(levels, np.ndarray) and levels.dtype != np.object_:
        return levels if levels.dtype.kind in "iuf" else None
    if text and all(isinstance(each, str) and reads_as_number(each) for each in levels):
        return np.array([float(level or "nan") for level in levels])
    if all(isinstance(each, (Real, Decimal)) and not isinstance(each, bool) for each in levels):
        return np.array([_as_float(level) for level in levels])
    return None


def _as_float(number: Any) -> float:
    """A number as a float, infinite where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def reads_as_number(text: str) -> bool:
    """Whether an empty or missing field, or a number; "007" is the name of something."""
    return text == "" or _QUANTITY.fullmatch(text) is not None


def is_one_of(text: str, numbers: Container[float]) -> bool:
    """Whether a field reads as one of some numbers; "09" does not read as 9."""
    return bool(text) and reads_as_number(text) and float(text) in numbers


def is_suppressed(text: str) -> bool:
    """Whether a field stands for a count that is not published, as ``<5``, ``1-4`` or ``c``."""
    return _SUPPRESSED.fullmatch(text) is not None


def suppressed_range(text: str) -> tuple[int, int | None]:
    """The counts that such a field stands for: (0, 4) for ``<5``, (1, 4) for ``1-4``.

    The last is None if the field has no number.
    """
    limits = [int(number) for number in re.findall(r"\d+", text)]
    if not limits:
        return 0, None
    is_below = ("<" in text and "=" not in text) or "than" in text
    return (0 if len(limits) == 1 else min(limits)), max(limits) - is_below


def as_markers(missing: Any) -> list[str]:
    """The values that mark a missing one, as text: one, or a sequence of them."""
    if isinstance(missing, (str, int, float)):
        missing = [missing]
    if not isinstance(missing, Iterable):
        invalid("missing", "be a value or a sequence of values", value=missing, error=TypeError)
    return [str(marker).strip() for marker in missing]


def near(name: Any, names: Sequence[Any]) -> str:
    """A sentence that names the columns most like `name`, or the first few."""
    by_lower = {str(known).lower(): known for known in names}
    near = difflib.get_close_matches(str(name).strip().lower(), list(by_lower), n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(repr(by_lower[word]) for word in near)}?"
    shown = ", ".join(map(repr, names[:_SHOWN]))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"The table has {shown}{more}"
