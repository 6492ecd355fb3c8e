"""Scores, and flags in words, of a column of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray

__all__ = ["in_numbers", "is_flag", "numbers"]

#: Words that are flags, beside such as "member" or "not in training".
_TRUTH = {"true": "1", "yes": "1", "false": "0", "no": "0", "out": "0"}
_NOT = re.compile(r"(?i)\s*(non|not)[\W_]*(an?\b)?")
#: How types of Arrow that hold words begin.
_WORDS = ("dictionary", "string", "large_string")
#: Words of parts of the data, which are no flags of canaries.
_PARTS = ("train", "training", "test", "val", "valid", "validation", "holdout", "held-out")


def _flag_of(word: str) -> str | None:
    """The flag, "1" or "0", that a word states; None for another word."""
    from mialeak._checks.audits.scores import names_members

    word = word.strip().lower()
    if word in _TRUTH:
        return _TRUTH[word]
    negation = _NOT.match(word)
    if not names_members(word[negation.end() :] if negation else word):
        return None
    return "0" if negation else "1"


def is_flag(word: str) -> bool:
    """Whether a word states a flag."""
    return _flag_of(word) is not None


def numbers(path: str, column: Any, name: str | None = None) -> FloatArray:
    """A column of a table, which errors call by its name, as numbers."""
    import numpy as np

    from mialeak._arrays import as_floats
    from mialeak._columns import Factor, factor_from_arrow, factor_from_values

    if isinstance(column, list):
        column = factor_from_values(column, name)
    elif str(getattr(column, "type", "")).startswith(_WORDS):
        column = factor_from_arrow(column, name)
    n_missing = getattr(column, "n_missing" if isinstance(column, Factor) else "null_count", 0)
    if n_missing:
        what = "score in every row" if name is None else f"value of {name!r} in every row"
        raise ValueError(f"{path} must have a {what}; {n_missing} have none")
    if isinstance(column, Factor):
        levels = np.empty(len(column.levels))
        for place, word in enumerate(column.levels):
            try:
                levels[place] = float(_flag_of(str(word)) or word)
            except ValueError:
                raise ValueError(_not_a_number(path, word)) from None
        return as_floats(levels, path)[column.codes]
    return as_floats(column.to_numpy() if hasattr(column, "to_numpy") else column, path)


def _not_a_number(path: str, word: str) -> str:
    """What a file must hold in place of this word, and the cure where the word shows it."""
    cure = ""
    if word.strip().lower() in _PARTS:
        cure = (
            ". Training and test rows of a model are no canaries; if a fair coin put each row in, "
            "write 1 for those that were in and 0 for the others"
        )
    elif re.fullmatch(r"\s*-?\d+,\d+\s*", word):
        cure = ". Write decimal points: read the file with decimal commas and save it again"
    elif word.rstrip().endswith("%"):
        cure = ". Leave out the percent sign"
    return (
        f"{path} must hold numbers as scores, and 1 and 0 (or true and false) as flags; one entry "
        f"is {word!r}{cure}"
    )


def in_numbers(column: Any) -> Any:
    """The numbers of a column, flags in words among them; None for others."""
    try:
        return numbers("", column)
    except (ValueError, TypeError):
        return None
