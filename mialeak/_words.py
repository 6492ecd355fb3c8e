"""Words in names of columns, scores and files: the one place where names are split into them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

__all__ = ["is_called", "word_of", "words_of"]

#: Where a word begins inside another: trainLoss, LRScore.
_INNER = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: A sign that is written without a space before what it turns: negloss.
_SIGN = re.compile(r"(neg(?:ative)?)(?=loss|log)", re.IGNORECASE)
_PART = re.compile(r"\d+|[^\W\d_]+")


def word_of(name: Any) -> str:
    """A whole name in small letters, as sets of names have it: ".id" is "id"."""
    return str(name).strip().lower().strip("._")


def words_of(name: Any) -> list[str]:
    """The words and numbers of a name in small letters, and each two that follow each other.

    >>> words_of("trainLoss_2")
    ['train', 'loss', '2', 'trainloss', 'loss2']
    """
    text = _INNER.sub(" ", _SIGN.sub(r"\1 ", str(name)))
    words = _PART.findall(text.lower())
    return words + [first + second for first, second in pairwise(words)]


def is_called(name: Any, kind: re.Pattern[str]) -> bool:
    """Whether a word of the name, or two in turn, are of this kind."""
    return any(map(kind.fullmatch, words_of(name)))
