"""What a report says, apart from how it looks: an answer, then sections of numbers and tables.

The rooms that report write a :class:`Document`; :func:`as_text` sets it for the terminal, and
:mod:`mialeak._report` as a page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mialeak._report.text import align, paragraph, width

__all__ = ["ASSUMED", "Document", "Notes", "Pairs", "Section", "Table", "as_text"]

#: The title of what an answer takes for granted.
ASSUMED = "What this answer assumes"


@dataclass(frozen=True)
class Pairs:
    """Numbers, and what each of them is."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Columns under their names; the last `left` hold words, the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 0


@dataclass(frozen=True)
class Notes:
    """Sentences or facts, each for itself."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Section:
    """A title and what is below it."""

    title: str
    parts: Sequence[Pairs | Table | Notes]


@dataclass(frozen=True)
class Document:
    """The answer in a sentence, what to heed before it, and what it rests on.

    `assumed` is what the answer takes for granted about the data, an assumption a line, each with
    the argument for data that are otherwise.  `compared` are the sentences of a page on what the
    numbers compare, where that is not a release with and without a person.
    """

    answer: str
    sections: Sequence[Section]
    cautions: Sequence[str] = ()
    compared: Sequence[str] = ()
    assumed: Sequence[str] = ()


def as_text(document: Document) -> str:
    """`document` for a terminal, in lines that fit it."""
    blocks = [paragraph(f"Caution: {caution}") for caution in document.cautions]
    blocks.append(paragraph(document.answer))
    if document.assumed:
        blocks.append([ASSUMED, *("  " + line for line in _lines(Notes(document.assumed)))])
    for section in document.sections:
        lines = [line for part in section.parts for line in _lines(part)]
        blocks.append([*paragraph(section.title), *("  " + line for line in lines)])
    return "\n\n".join("\n".join(block) for block in blocks)


def _lines(part: Pairs | Table | Notes) -> Iterable[str]:
    if isinstance(part, Table):
        return align(part.header, part.rows, left=part.left)
    if isinstance(part, Pairs):
        flush = max(len(head) for head, _ in part.rows)
        told = [(f"{head:>{flush}}  {text}", " " * (flush + 2)) for head, text in part.rows]
    else:
        told = [(line, "  ") for line in part.lines]
    wrapped = (
        textwrap.wrap(line, width(), subsequent_indent=indent, break_on_hyphens=False)
        for line, indent in told
    )
    return [line for group in wrapped for line in group]
