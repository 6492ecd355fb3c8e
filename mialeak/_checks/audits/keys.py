"""What names rows where no column does so by itself: a part of a name, or two columns together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Key", "keys_of"]

#: So many columns and parts of names are paired, so that wide files stay fast.
_MOST = 12
#: Numbers and words of a name: "c017_aug0.png" has c, 017, aug, 0 and png.
_PART = re.compile(r"\d+|[^\W\d_]+")
_NUMBER, _SEPARATOR = re.compile(r"\d+"), re.compile(r"[\W_]+")
#: Pairs of values are counted in a table of so many places for each row at most, else by sorting.
_PLACES = 16
#: Values by which text is distinguished from numbers, and numbers with digits behind the point.
_FIRST = 8


class Key(NamedTuple):
    """What may name the rows, in words, and its values: `codes`, and sorted by the second column.

    `turned` is `codes` but for pairs.
    """

    what: str
    codes: npt.NDArray[np.intp]
    turned: npt.NDArray[np.intp]


def keys_of(columns: Sequence[Any]) -> Iterator[Key]:
    """Parts of names, and pairs of columns or parts, of which each value has two rows or more.

    Each of `columns` has a `name`, `codes` of its rows, and `words`, its values by their code.
    """
    bases: list[tuple[str, npt.NDArray[np.intp]]] = []
    for each in columns:
        words = each.words(_FIRST)
        if _repeats(each.codes) and not all(map(_is_fraction, words)):
            bases.append((repr(each.name), each.codes))
        if all(map(_is_text, words)):
            for shown, of_words in _parts(each.words(), len(each.codes) // 2):
                codes = of_words[each.codes]
                bases.append((f"a part of {each.name!r} (such as {shown!r})", codes))
                yield Key(bases[-1][0], codes, codes)
    for (first, a), (second, b) in combinations(bases[:_MOST], 2):
        codes = _counted(a, b)
        if _repeats(codes):
            yield Key(f"{first} and {second}", codes, _counted(b, a))


def _parts(words: Sequence[str], most: int) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
    """Parts of the words that differ among them, and a part shown; of equally many, or both ends.

    Beside each part the beginning up to it is one; those of more than `most` values are none.
    """
    for pattern in (_PART, _NUMBER):
        parts = [pattern.findall(word) for word in words]
        if len(parts[0]) > 1 and len(set(map(len, parts))) == 1:
            break
        if pattern is _NUMBER and set(map(len, parts)) == {1}:
            break
    else:
        parts = [[ends[0], ends[-1]] for ends in map(_SEPARATOR.split, words)]
    before: npt.NDArray[np.intp] | None = None
    is_beginning = True
    for place, each in enumerate(zip(*parts, strict=True)):
        values = sorted(set(each))
        if len(values) == 1:
            continue
        if len(values) > most:
            is_beginning = False  # of a part: each with this one has more values
            continue
        numbers = {value: k for k, value in enumerate(values)}
        codes = np.fromiter(map(numbers.__getitem__, each), np.intp, len(words))
        yield parts[0][place], codes
        before = codes if before is None else _counted(before, codes)
        is_beginning = is_beginning and _repeats(before, most)
        if is_beginning and before is not codes:
            yield " ".join(parts[0][: place + 1]), before


def _counted(first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The pairs of two columns, counted in their order."""
    codes: npt.NDArray[np.intp] = first * (second.max() + 1) + second
    seen = np.zeros(int(codes.max()) + 1, np.bool_)
    if seen.size > _PLACES * codes.size:
        return np.unique(codes, return_inverse=True)[1]
    seen[codes] = True
    return (np.cumsum(seen) - 1)[codes]


def _repeats(codes: npt.NDArray[np.intp], most: int | None = None) -> bool:
    """Whether there are several values, at most so many: by default of two rows on average."""
    return 1 < int(codes.max(initial=0)) + 1 <= (codes.size // 2 if most is None else most)


def _is_text(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return True
    return False


def _is_fraction(word: str) -> bool:
    return not _is_text(word) and not float(word).is_integer()
