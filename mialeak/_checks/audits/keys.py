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
#: Of each letter of ASCII, whether it is of a number, of a word, or of neither, as above.
_KINDS = np.array([chr(c).isdigit() + 2 * chr(c).isalpha() for c in range(128)], np.uint8)
#: So many letters are compared at once, as one number of 64 bits, of which masks keep the first.
_EIGHT = 8
_FIRST_LETTERS = np.array([2**64 - 2 ** (64 - 8 * k) for k in range(_EIGHT + 1)], np.uint64)
#: Words up to so many letters are searched all at once, so that memory stays small.
_LONGEST = 100
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
    before: npt.NDArray[np.intp] | None = None
    is_beginning = True
    shown: list[str] = []
    for part, codes in _columns_of_parts(words):
        shown.append(part)
        values = int(codes.max()) + 1
        if values == 1:
            continue
        if values > most:
            is_beginning = False  # of a part: each with this one has more values
            continue
        yield part, codes
        before = codes if before is None else _counted(before, codes)
        is_beginning = is_beginning and _repeats(before, most)
        if is_beginning and before is not codes:
            yield " ".join(shown), before


def _columns_of_parts(words: Sequence[str]) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
    """The first part of all words, the second, and so on: that of the first word, and the codes."""
    if max(map(len, words)) <= _LONGEST and "".join(words).isascii():
        letters, starts, stops = _spans(np.array(words, np.bytes_))
        for start, stop in zip(starts, stops, strict=True):
            shown = letters[start[0] : stop[0]].tobytes().decode()
            yield shown, _codes_of_spans(letters, start, stop)
        return
    for pattern in (_PART, _NUMBER):
        parts = [pattern.findall(word) for word in words]
        if len(parts[0]) > 1 and len(set(map(len, parts))) == 1:
            break
        if pattern is _NUMBER and set(map(len, parts)) == {1}:
            break
    else:
        parts = [[ends[0], ends[-1]] for ends in map(_SEPARATOR.split, words)]
    for each in zip(*parts, strict=True):
        numbers = {value: k for k, value in enumerate(sorted(set(each)))}
        yield each[0], np.fromiter(map(numbers.__getitem__, each), np.intp, len(words))


def _spans(
    words: npt.NDArray[np.bytes_],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The letters of all words in a row, and where their parts begin and end, as by the patterns.

    All words of ASCII at once, since a search in each takes microseconds.
    """
    width = words.itemsize + 2  # a separator at both ends
    letters = np.zeros((words.size + _EIGHT, width), np.uint8)
    letters[: words.size, 1:-1] = words.view(np.uint8).reshape(words.size, -1)
    kinds = _KINDS[letters.ravel()]
    for kind, fewest in ((kinds, 2), (kinds * (kinds == 1), 1)):
        changes = kind[1:] != kind[:-1]
        starts, stops = (np.flatnonzero(changes & (each > 0)) + 1 for each in (kind[1:], kind[:-1]))
        times = np.bincount(starts // width, minlength=words.size)
        if times[0] >= fewest and (times == times[0]).all():
            shape = words.size, -1
            return letters.ravel(), starts.reshape(shape).T, stops.reshape(shape).T
    size = np.strings.str_len(words)
    is_between = kinds.reshape(-1, width)[: words.size] == 0
    first = is_between[:, 1:].argmax(axis=1) + 1
    is_between &= np.arange(width) <= size[:, None]
    last = width - is_between[:, ::-1].argmax(axis=1)
    begin = width * np.arange(words.size)
    return (
        letters.ravel(),
        np.array([begin + 1, begin + last]),
        np.array([begin + first, begin + size + 1]),
    )


def _codes_of_spans(
    letters: npt.NDArray[np.uint8], start: npt.NDArray[np.intp], stop: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """The parts of words between two places, counted in their order: eight letters are a number."""
    eight = np.ndarray(letters.size - _EIGHT + 1, ">u8", letters, strides=(1,))
    codes = np.zeros(start.size, np.intp)
    size = stop - start
    for first in range(0, int(size.max()), _EIGHT):
        inside = np.clip(size - first, 0, _EIGHT)
        numbers = (
            eight[np.where(inside, start + first, 0)].astype(np.uint64) & _FIRST_LETTERS[inside]
        )
        if (numbers != numbers[0]).any():
            codes = _counted(codes, np.unique(numbers, return_inverse=True)[1])
    return codes


def _counted(first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The pairs of two columns, counted in their order."""
    codes: npt.NDArray[np.intp] = first * (second.max() + 1) + second
    if int(codes.max()) >= _PLACES * codes.size:
        return np.unique(codes, return_inverse=True)[1]
    seen = np.zeros(int(codes.max()) + 1, np.bool_)
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
