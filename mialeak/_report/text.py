"""Reports for people: numbers, values of cells and aligned tables, in plain text."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

__all__ = [
    "WIDTH",
    "accuracy",
    "align",
    "at_least",
    "at_most",
    "enough",
    "number",
    "paragraph",
    "percent",
    "printable",
    "significant",
    "width",
]

#: Maximum line width of a report, its indent excluded, and the minimum assumed terminal width.
WIDTH, _INDENT, _LEAST = 98, 2, 60

#: Characters a column of an aligned table is never cut below.
_NARROWEST = 10

_GAP = "  "

#: The largest float below 1.
_BELOW_1 = math.nextafter(1.0, 0.0)

#: Room for the note that columns are left out.
_NOTE = len(" and 9999 more")


def number(value: float) -> str:
    """A leakage: three decimals, two digits where those would be lost; 0 and 1 only if exact."""
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if value < 0.001:
        return f"{value:.1e}"
    return f"{value:.3f}" if value < 0.9995 else ">0.999"


def percent(share: float) -> str:
    """A share as a percentage, one decimal; 0% and 100% only if exact."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.9995 else ">99.9%"


def accuracy(leakage: float) -> str:
    """How often an attacker of this advantage is right in a fair game; 100% only if always."""
    return percent(1.0 if leakage == 1.0 else min(0.5 + 0.5 * leakage, _BELOW_1))


def significant(value: float, digits: int = 4) -> str:
    """So many digits, zeros at the end with them; 0 and 1 only if exact."""
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if 1.0 - 0.5 * 10.0**-digits <= value < 1.0:
        return f">0.{'9' * digits}"
    return f"{value:#.{digits}g}".rstrip(".")


def at_most(value: float, digits: int = 4) -> str:
    """So many digits, rounded down: what is proved is not told as more."""
    return _rounded(value, digits, ROUND_FLOOR)


def at_least(value: float, digits: int = 4) -> str:
    """So many digits, rounded up: what is needed is not told as less."""
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, way: str) -> str:
    return (
        f"{float(Context(prec=digits, rounding=way).create_decimal_from_float(value)):.{digits}g}"
    )


def enough(count: int) -> str:
    """An estimate of the rows needed: three digits, rounded up."""
    step = int(10 ** max(0, len(str(count)) - 3))
    return f"{-(-count // step) * step:,}"


def printable(value: Any) -> str:
    """The value of a cell on one line, with nothing in it that a terminal would obey."""
    if value is None:
        return "(missing)"
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def width() -> int:
    """:data:`WIDTH`, or what the terminal has room for."""
    columns = shutil.get_terminal_size((WIDTH + _INDENT, 24)).columns
    return min(WIDTH, max(_LEAST, columns) - _INDENT)


def paragraph(text: str) -> list[str]:
    """The lines of a sentence of any length; names in it are not broken."""
    return textwrap.wrap(text, width(), break_on_hyphens=False)


def align(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0) -> list[str]:
    """The lines of a table whose last `left` columns are flush left, the others flush right.

    The widest of those are cut, with "...", until a line fits :func:`width`; if that is not
    enough, the last columns are left out and the header says how many.
    """
    columns = [[head, *cells] for head, *cells in zip(header, *rows, strict=True)]
    widths, room = [max(map(len, column)) for column in columns], width()
    first_left = len(columns) - left
    while _span(widths) > room and left:
        widest = max(range(first_left, len(columns)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    shown = len(columns)
    while _span(widths[:shown]) > room - _NOTE * (shown < len(columns)) and shown > first_left + 1:
        shown -= 1
    lines = []
    for line in zip(*columns[:shown], strict=True):
        cells = [
            cell.rjust(size) if place < first_left else _cut(cell, size).ljust(size)
            for place, (cell, size) in enumerate(zip(line, widths, strict=False))
        ]
        lines.append(_GAP.join(cells).rstrip())
    if shown < len(columns):
        lines[0] += f" and {len(columns) - shown:,} more"
    return lines


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


def _span(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)
