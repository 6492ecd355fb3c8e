"""Classes of a table of counts whose persons other classes count too: 15-24 beside 20-64.

No sum betrays them if some classes are not in the table, or were rounded; their names do, and that
no part has more persons than the whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._cells import codes_of, count_cells, summed
from mialeak._columns import Factor

__all__ = ["cautions_of_classes"]

IntArray = npt.NDArray[np.int64]
#: The letters before a class, and its ends.
Class = tuple[str, float, float]

#: Letters before a number, as in "Y15-24"; a unit behind it.
_LETTERS = r"((?:[a-z]{1,3}_?|ages? |aged )?)"
_UNIT = r"(?: (?:years?|yrs?|år|jahre?|ans|años|anni|jaar|vuotta|lat|let))?"

#: A number, or a class with both of its ends.
_CLOSED = re.compile(
    _LETTERS + r"(\d+(?:\.\d+)?)(?: ?(?:-|\u2013|t|to|bis|till|til|tot|\u00e0|a)"
    r"(?: (?:unter|under|less than))? ?(\d+(?:\.\d+)?))?" + _UNIT
)

#: Classes that are open below, as "<20" or "up to 20 years", and above, as "65+"; and the fewest of
#: them that are parts of one another.
_UP_TO = re.compile(
    r"(?:<=?|\u2264|under|below|up to|until|unter|bis|moins de) ?(\d+)(?: \w+)?"
    r"|(\d+)(?: \w+)? (?:and|or|und|et|og|eller|och|of) "
    r"(?:under|below|less|younger|jünger|weniger|moins|derunder|yngre|jonger)"
    r"|(?:[a-z]_)?l[te]_?(\d+)"
)
_FROM = re.compile(
    r"(?:>=?|\u2265|over|above|from|at least|ab|\u00fcber) ?(\d+)(?: \w+)?"
    r"|(\d+)(?: \w+)? ?(?:\+|(?:and|or|und|et|og|eller|och|of|y) "
    r"(?:over|above|more|older|mehr|älter|plus|derover|eldre|äldre|ouder|más))"
    r"|(?:[a-z]_)?g[te]_?(\d+)"
)
#: A number, and words or marks behind it that are no unit: in most languages a class that is open
#: above, as "65 lat i więcej" or "65-w"; unless one of the words is that of one open below.
_NUMBER_FIRST = re.compile(
    r"(?:aged? |y_?)?(\d+)(?:\W*\s[^\d\s]+\s[^\d\s]+(?:\s[^\d\s]+){0,2}|\s?[-\u2013](?:[a-z]{1,3})?"
    r"|\s?(?:plus|ve .+|\D*(?:\u4ee5\u4e0a|\uc774\uc0c1)))"
)
_BELOW_WORDS = """
under below less lower fewer younger unter jünger weniger darunter moins derunder yngre jonger menos
meno minder mniej méně kevesebb menor inferior lägre lavere old completed révolus
"""
_BELOW = frozenset(_BELOW_WORDS.split())
#: Words before a number that open its class above.
_MORE_THAN = re.compile(
    r"(?:plus de|m[aá]s de|mais de|de|da|od|oltre|meer dan|mer än|mere end|more than|powyżej|yli) "
    r"(\d+)\D*"
)
#: How much less than its parts a whole may have, where counts are rounded.
_ROUNDED = 0.99
_FEWEST_CLASSES = 3
#: Classes that are open by words alone, as "Bachelor's or higher", below and above; and the fewest
#: comparisons of two open classes.
_AND = r".*\D (?:and|or|und|oder|et|ou|og|och|eller|of|en|y|o) "
_DOWN = re.compile(_AND + r"(?:below|under|less|lower|fewer|weniger|niedriger|moins|lägre|lavere)")
_UP = re.compile(_AND + r"(?:above|over|more|higher|better|beyond|mehr|höher|plus|högre|más)")
_FEWEST_COMPARED = 4

#: Levels of a column up to which its classes are compared.
_MOST_LEVELS = 400

#: What begins the name of a part of another value, and the names of totals with further words.
_PART = re.compile(
    r"(?:-+ ?)?(?:of which|thereof|davon|darunter|dont|heraf|herav|därav|di cui)\b.+"
)
_TOTAL = re.compile(
    r"tot\.?|(?:total|totale|totaal|totalt|insgesamt|gesamt|all(?! of| day| the))\b.+"
    r"|.+ (?:total|totale|totaal|totalt|insgesamt|gesamt|i alt)|(?:eu|ea)\d\d(?:_\d{4})?"
)

#: A code, such as AT11 or C10.1; the fewest codes that are parts of others, and these others.
_CODE = re.compile(r"[A-Za-z]*[0-9A-Za-z.]*")
_FEWEST_PARTS, _FEWEST_WHOLES = 5, 2


def cautions_of_classes(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for each column some of whose classes are parts of others, or overlap with them.

    `categories` and `counts` are those of the cells, none of which is empty.
    """
    cautions = _of_cumulative(categories, counts)
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, factor in categories.items():
        shown = np.flatnonzero(factor.rows_of_level > 0).tolist()
        if not 2 <= len(shown) <= _MOST_LEVELS or isinstance(factor.levels, np.ndarray | range):
            continue
        words = {code: str(factor.value(code)).strip() for code in shown}
        levels, size = codes[name]
        persons = summed(levels, counts, size)
        others = [pair for key, pair in codes.items() if key != name]
        met = _of_words(name, words, levels, others, counts)
        if not any(map(_falls, words.values())):
            met = met or _of_holding(name, words) or _of_overlaps(name, words, persons)
        if not met:
            met = _of_prefixes(name, words, levels, others, counts)
        cautions += met
    return cautions


def _of_words(
    name: Any,
    words: Mapping[int, str],
    levels: npt.NDArray[Any],
    others: list[tuple[npt.NDArray[Any], int]],
    counts: IntArray,
) -> list[str]:
    """A sentence for a part by its words, or a whole by its words that is nowhere below another."""
    group = _groups(others, len(levels))
    most = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(most, group, counts)
    for code, word in words.items():
        if _PART.match(word.lower()):
            return [
                f"The value {word!r} of column {name!r} has the words of a part of another: its "
                "persons are counted twice. Leave out its rows."
            ]
        at = levels == code
        if _TOTAL.fullmatch(word.lower()) and (counts[at] == most[group[at]]).all():
            return [
                f"The value {word!r} of column {name!r} has the words of a total, and no value has "
                f"more persons. If it is one, pass total=[{f'{name}={word}'!r}]."
            ]
    return []


def _of_holding(name: Any, words: Mapping[int, str]) -> list[str]:
    """A sentence if a class with both ends, such as 20-24, holds several of the others."""
    ends = {word: each for word in words.values() if (each := _closed(word))}
    for word, (letters, low, high) in ends.items():
        inside = [
            other
            for other, (these, least, most) in ends.items()
            if these == letters and low <= least and most <= high and (least, most) != (low, high)
        ]
        if len(inside) > 1:
            return [
                f"The class {word!r} of column {name!r} holds others, such as {inside[0]!r}: "
                "its persons are counted twice. Leave out the rows of such classes, or of "
                "their parts."
            ]
    return []


def _of_overlaps(name: Any, words: Mapping[int, str], persons: IntArray) -> list[str]:
    """A sentence if two classes overlap, and none has more `persons` than one that holds it.

    Classes that have one end in common, as 0-5 and 5-10, share nobody, for one of the ends may
    not belong to its class.  One class at least must have two ends: "1+", "2+" may be grades.
    """
    classes = {code: each for code, word in words.items() if (each := _class(word))}
    if not any(low < high < math.inf and low > -math.inf for _, low, high in classes.values()):
        return []
    met = []
    if any(_lacks_parts(one, classes, persons) for one in classes):
        return []
    for one, (letters, low, high) in classes.items():
        for other, (these, least, most) in classes.items():
            if one == other or these != letters or max(low, least) >= min(high, most):
                continue
            holds = low <= least and most <= high
            if holds and ((low, high) == (least, most) or persons[other] > persons[one]):
                return []
            met.append((one, other))
    if not met:
        return []
    one, other = met[0]
    return [
        f"The classes {words[one]!r} and {words[other]!r} of column {name!r} overlap: the persons "
        "of both are counted twice. Keep the rows of classes that share nobody."
    ]


def _lacks_parts(code: int, classes: Mapping[int, Class], persons: IntArray) -> bool:
    """Whether a class that is open has fewer persons than classes in it that share nobody."""
    letters, low, high = classes[code]
    if low > -math.inf and high < math.inf:
        return False
    inside = sorted(
        (most, least, other)
        for other, (these, least, most) in classes.items()
        if these == letters and low <= least < most <= high and math.isfinite(most - least)
    )
    end, total = -math.inf, 0
    for most, least, other in inside:
        if least >= end:
            end, total = most, total + int(persons[other])
    return bool(persons[code] < _ROUNDED * total)


def _of_prefixes(
    name: Any,
    words: Mapping[int, str],
    levels: npt.NDArray[Any],
    others: list[tuple[npt.NDArray[Any], int]],
    counts: IntArray,
) -> list[str]:
    """A sentence if codes are parts of those with which they begin: AT11 of AT1, C10 of C.

    Wherever the other columns agree, the parts have no more persons than the whole; most parts
    add a number to it.  Of codes that are numbered, such as A1 to A12, one is the whole with a 0
    behind it.
    """
    if not all(map(_CODE.fullmatch, words.values())):
        return []
    places = {word: code for code, word in words.items()}
    parts: dict[str, list[str]] = {}
    for word in places:
        shorter = (word[:k] for k in range(len(word) - 1, 0, -1))
        whole = next((each for each in shorter if each in places), None)
        if whole is not None:
            parts.setdefault(whole, []).append(word)
    parts = {
        whole: each
        for whole, each in parts.items()
        if not (whole[-1].isdigit() and whole + "0" in each)
    }
    ends = [word[len(whole) :] for whole, each in parts.items() for word in each]
    numbered = sum(any(map(str.isdigit, end)) for end in ends)
    if len(parts) < _FEWEST_WHOLES or len(ends) < _FEWEST_PARTS or 2 * numbered < len(ends):
        return []
    group = _groups(others, len(levels))
    size = int(group.max()) + 1
    for whole, each in parts.items():
        of_whole = levels == places[whole]
        of_parts = np.isin(levels, [places[word] for word in each])
        sums = summed(group[of_parts], counts[of_parts], size)
        if (sums > summed(group[of_whole], counts[of_whole], size)).any():
            return []
    whole, each = max(parts.items(), key=lambda pair: len(pair[1]))
    return [
        f"The code {each[0]!r} of column {name!r} seems to be a part of {whole!r}, as others are "
        "of the codes with which they begin: their persons are counted twice. Keep the codes of "
        "one level."
    ]


def _of_cumulative(categories: Mapping[Any, Factor], counts: IntArray) -> list[str]:
    """A sentence for each column of classes such as "<20", "<30", each a part of the next.

    All values of such a column but one at most are open to the same side, and counts rise with
    their bounds wherever the other columns agree.  `categories` and `counts` are those of the
    cells.
    """
    cautions = []
    codes = {name: codes_of(factor) for name, factor in categories.items()}
    for name, (levels, size) in codes.items():
        present = np.unique(levels).tolist()
        if not 2 <= len(present) <= _MOST_LEVELS:
            continue
        missing = len(categories[name].levels)
        words = {code: categories[name].value(code) for code in present if code < missing}
        classes = {code: _open_bound(value) for code, value in words.items()}
        persons = summed(levels, counts, size)
        if not any(classes.values()):  # the rank of a class by its persons is its bound
            classes = {code: _open_in_words(value, persons[code]) for code, value in words.items()}
        others = [pair for key, pair in codes.items() if key != name]
        group = _groups(others, len(levels))
        for sign in (1, -1):
            bounds = np.full(size, math.nan)
            for code, each in classes.items():
                if each and each[0] == sign:
                    bounds[code] = sign * each[1]
            open_classes = np.isfinite(bounds).sum()
            if open_classes < max(2, len(present) - 1):
                continue
            order = np.lexsort((bounds[levels], group))
            order = order[np.isfinite(bounds[levels][order])]
            same = np.diff(group[order]) == 0
            fewest = 1 if open_classes >= _FEWEST_CLASSES else _FEWEST_COMPARED
            if same.sum() >= fewest and (np.diff(counts[order])[same] >= 0).all():
                cautions.append(
                    f"The classes of column {name!r} are parts of one another, and so are their "
                    "counts. Pass the count of each class without the others: the differences."
                )
    return cautions


def _groups(others: list[tuple[npt.NDArray[Any], int]], rows: int) -> IntArray:
    """The number of each row's cell by the other columns."""
    return count_cells(others, rows).of_row if others else np.zeros(rows, np.int64)


def _falls(word: str) -> bool:
    """Whether it is two numbers of which the first is larger: a code, such as 2-1 or 2020-12."""
    match = _CLOSED.fullmatch(word.lower())
    return match is not None and match[3] is not None and float(match[2]) > float(match[3])


def _closed(word: str) -> Class | None:
    """The class with both ends that a word names, or the number; None if it names none."""
    match = _CLOSED.fullmatch(word.lower())
    if match is None:
        return None
    low, high = float(match[2]), float(match[3] or match[2])
    return (match[1].strip("_ "), low, high) if low <= high else None


def _class(word: str) -> Class | None:
    """The class that a word names, which may be open."""
    if bound := _open_bound(word):
        text = word.lower()
        letters = text[0] if text[1:2] == "_" else ""
        side, end = bound
        return (letters, -math.inf, end) if side > 0 else (letters, end, math.inf)
    return _closed(word)


def _open_in_words(value: Any, persons: int) -> tuple[int, float] | None:
    """The same of a class whose bound is a word: its persons rise with the bound, or fall."""
    text = str(value).strip().lower()
    for sign, pattern in ((1, _DOWN), (-1, _UP)):
        if pattern.fullmatch(text):
            return sign, sign * float(persons)
    return None


def _open_bound(value: Any) -> tuple[int, float] | None:
    """Of a class that is open below (1) or above (-1), the side and the bound."""
    text = str(value).strip().lower()
    for sign, pattern in ((1, _UP_TO), (-1, _FROM)):
        if match := pattern.fullmatch(text):
            return sign, float(next(filter(None, match.groups())))
    match = _MORE_THAN.fullmatch(text)
    if match is None and _BELOW.isdisjoint(re.split(r"[\W\d]+", text)):
        match = _NUMBER_FIRST.fullmatch(text)
    return (-1, float(match[1])) if match else None
