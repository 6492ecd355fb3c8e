"""Values, dates and genotypes that a column writes in two ways, as where files were joined."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from mialeak._arrays import listed
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import is_number

__all__ = ["cautions_of_spellings", "cautions_of_thousands", "turned_pair"]

#: A number with a point between thousands, how many of them at least, and digits of smaller ones.
_THOUSANDS, _FEWEST_POINTS, _DIGITS = re.compile(r"[1-9]\d{0,2}\.\d{3}"), 20, 3
#: A whole number, of which zeros before and after it are a matter of spelling.
_WHOLE = re.compile(r"0*(\d+)(\.0*)?")
#: Values of a column up to which their spelling is compared.
_MOST_VALUES = 10_000
#: Words of letters and digits, with a space between two, which have one spelling but for capitals.
_OF_WORDS = re.compile(r"[A-Za-z][A-Za-z\d]*(?:[,.]? [A-Za-z][A-Za-z\d]*)*", re.ASCII)
#: What may be written as a space between letters.
_SEPARATOR = re.compile(r"(?<=[^\W\d])[-_](?=[^\W\d])")
#: Dashes and apostrophes for which a plain one stands, and a dash between numbers in other forms.
_SIGNS = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
                        **dict.fromkeys("\u2018\u2019\u02bc\u00b4`", "'")})  # fmt: skip
_RANGE = re.compile(r"(?<=\d)(?:\s*-\s*|\s+to\s+|(?<=[12]\d{3})/(?=\d\d$))(?=\d)")
#: An open class, and the months of those that a spreadsheet reads as days: 10-14 is 14-Oct.
_OPEN = re.compile(
    r"(?:>=|\u2265)\s*(\d+)|(\d+)\s*(?:\+|plus|(?:and|or) (?:over|older|above|more))"
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAY = re.compile(rf"(?:0?(\d\d?)-)?({'|'.join(_MONTHS)})(?:-0?(\d\d?))?")
#: A code of a disease with a dot, as I21.9.
_DOTTED = re.compile(r"([a-z]\d[\da-z])\.(\w{1,4})")
#: A value with the mark of a footnote behind it: A* is a grade.
_FOOTNOTE = re.compile(r"(.*?\w)\s*(?:(?<!^\w)\*+|[\u00b9\u00b2\u00b3\u2070-\u2079]+|\s\(?\d\))")
#: Cyrillic and Greek letters that look like Latin ones, which stand for them.
_ALIKE = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
    "ABEKMHOPCTXaeopcyxABEZHIKMNOPTYXo",
)
#: Letters and the pairs that stand for them: Goettingen is a spelling of one.
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "æ": "ae", "ø": "oe", "å": "aa"})
#: A whole number with a word behind it.
_WITH_WORD = re.compile(r"(\d+)\s+([^\W\d_]{2,12})\.?")
#: Months and days, with the year first or last.
_YEAR_FIRST = re.compile(r"(19|20)\d\d([-/.])(0?[1-9]|1[0-2])(\2[0-3]?\d)?")
_YEAR_LAST = re.compile(r"([0-3]?\d([-/.]))?[0-3]?\d[-/.](19|20)\d\d")
#: An allele: a letter, bases, or a name with a digit as e3, *17 or A*02:01.
_ALLELE = r"(?:[A-Z]|[ACGT]{1,12}|(?=[^\d/]*\d)[A-Za-z]{0,5}\d{0,2}\*?\d[\w:]{0,11})"
#: The two alleles of a person, whose order is not known.
_GENOTYPE = re.compile(rf"({_ALLELE})/({_ALLELE})")
#: What stands for a missing genotype.
_NO_GENOTYPE = frozenset(["./.", "-/-", "0/0", "na", "nan", "?", "."])
#: Characters of a number that is no short one.
_LONG = 9
#: Values of each way at least, and values of a column up to which they are looked at.
_FEWEST, _MOST = 3, 10_000


def cautions_of_thousands(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for columns of numbers that seem to have a point between thousands: 1.986, 650.

    All numbers with a point have three decimals, the last zeros among them, and others have none.
    """
    met = {name: word for name, factor in factors.items() if (word := _with_thousands(factor))}
    if not met:
        return []
    word = next(iter(met.values()))
    return [
        f"Numbers like {word!r} in column {listed(met)} are read as decimals, beside numbers "
        "without a point. If the point stands between thousands, write them without it: "
        f"{word.replace('.', '')}."
    ]


def _with_thousands(factor: Factor) -> str:
    """The first number that seems to have a point between thousands; "" if none has."""
    levels = factor.levels
    if isinstance(levels, range) or (isinstance(levels, np.ndarray) and levels.dtype.kind != "O"):
        return ""
    words = [factor.values[code] for code in np.flatnonzero(factor.rows_of_level).tolist()]
    if not all(isinstance(word, str) and (not word or is_number(word)) for word in words):
        return ""
    pointed = [word for word in words if "." in word]
    whole = [word for word in words if word.strip("0") and "." not in word]
    if len(pointed) < _FEWEST_POINTS or not whole or not all(map(_THOUSANDS.fullmatch, pointed)):
        return ""
    is_padded = any(word.endswith("0") for word in pointed)
    return pointed[0] if is_padded and max(map(len, whole)) <= _DIGITS else ""


def cautions_of_spellings(factors: dict[Any, Factor]) -> list[str]:
    """A caution for columns in which two values are spellings of one; the values are not shown."""
    met = {name: each for name, factor in factors.items() if (each := _spelt_twice(factor))}
    others = _cautions_of_formats({k: each for k, each in factors.items() if k not in met})
    if not met:
        return others
    name, rows = next(iter(met.items()))
    return [
        "Values that are the first letter of another, or differ in capitals, spaces, hyphens, "
        "dots, leading zeros, ae for ä, + for and over, a mark of a footnote, the encoding or the "
        "script of a letter alone are counted apart, in "
        f"column {listed(met)} (rows {listed(rows)} for {name!r}). If they mean the same, write "
        "them in the same way.",
        *others,
    ]


def _spelt_twice(factor: Factor) -> tuple[int, ...]:
    """The first two rows whose values are spellings of one; none if there are no such."""
    levels = factor.levels
    if isinstance(levels, range):
        return ()
    if isinstance(levels, np.ndarray) and levels.dtype.kind in "iufbmM":
        return ()
    codes = np.flatnonzero(factor.rows_of_level)
    if len(codes) > _MOST_VALUES:
        return ()
    met: dict[str, int] = {}
    values = {code: factor.values[code] for code in codes.tolist()}
    bare = {value.strip() for value in values.values() if isinstance(value, str)}
    for code, value in values.items():
        if not isinstance(value, str):
            continue
        if not value.isascii():
            value = _decoded_again(value)
            value = "".join(each for each in value if unicodedata.category(each) != "Cf")
            value = value.translate(_ALIKE).translate(_SIGNS)
        word = value.lower() if _OF_WORDS.fullmatch(value) else _spelling_of(value, bare)
        other = met.setdefault(word, code)
        if other != code:
            return _first_rows(factor, other, code)
    return _first_rows(factor, *_abbreviated(values))


def _spelling_of(value: str, bare: set[str]) -> str:
    """What all spellings of a value have in common; `bare` are the values without spaces around."""
    note = _FOOTNOTE.fullmatch(value.strip())
    value = note[1] if note and note[1] in bare else value
    word = _SEPARATOR.sub(" ", unicodedata.normalize("NFKC", value)).casefold()
    word = word.translate(_UMLAUTS)
    word = _RANGE.sub("-", " ".join(word.split())).replace(" & ", " and ")
    if dotted := _DOTTED.fullmatch(word):
        word = dotted[1] + dotted[2]
    elif opened := _OPEN.fullmatch(word):
        word = f"{opened[1] or opened[2]}+"
    elif (day := _DAY.fullmatch(word)) and (day[1] is None) != (day[3] is None):
        word = f"{1 + _MONTHS.index(day[2])}-{day[1] or day[3]}"
    word = word.removesuffix(".") if any(map(str.isalpha, word)) else word
    number = _WHOLE.fullmatch(word)
    return number[1] if number else word


def _decoded_again(value: str) -> str:
    """The text whose bytes in UTF-8 were read as Windows-1252; the value itself if it is none."""
    try:
        return value.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return value


def _first_rows(factor: Factor, *codes: int) -> tuple[int, ...]:
    return tuple(sorted(int(np.argmax(factor.codes == each)) for each in codes))


def _abbreviated(values: Mapping[int, Any]) -> tuple[int, ...]:
    """The codes of a letter and of the word for which it stands, as M for Male; none if none does.

    Each of two letters at least begins exactly one of the words, and another each.
    """
    words = {code: value.strip().casefold() for code, value in values.items()
             if isinstance(value, str) and value.strip().isalpha()}  # fmt: skip
    letters = {code: word for code, word in words.items() if len(word) == 1}
    if len(letters) < 2 or len(letters) == len(words):
        return ()
    begun = [
        [code for code, word in words.items() if len(word) > 1 and word[0] == letter]
        for letter in letters.values()
    ]
    return (next(iter(letters)), begun[0][0]) if all(len(each) == 1 for each in begun) else ()


def _cautions_of_formats(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for columns that write the same numbers, or dates, in two ways."""
    turned = {name: pair for name, each in factors.items() if (pair := _turned_genotype(each))}
    cautions = []
    if turned:
        one, other = next(iter(turned.values()))
        cautions.append(
            f"{one!r} and {other!r} are counted apart, in column {listed(turned)}. If they are the "
            "two alleles of a person in any order, write them in one order."
        )
    twins = {name: both for name, each in factors.items() if (both := _rounded_apart(each))}
    if twins:
        low, high = next(iter(twins.values()))
        cautions.append(
            f"Numbers that differ by rounding alone, such as {low!r} and {high!r}, are counted "
            f"apart, in column {listed(twins)}. Round them to as many decimals as are meant."
        )
    met = [name for name, factor in factors.items() if _is_written_twice(factor)]
    if not met:
        return cautions
    return [
        *cautions,
        "Numbers with and without a word behind them, or dates with the year first and last, are "
        f"counted apart, in column {listed(met)}. If they mean the same, write them in the same "
        "way.",
    ]


def _rounded_apart(factor: Factor) -> tuple[float, float] | None:
    """Two numbers that are one in single precision, which one of them is, or has few digits."""
    numbers = numeric_levels(factor)
    if numbers is None:
        shown = np.flatnonzero(factor.rows_of_level).tolist()
        words = [str(factor.values[code]) for code in shown]
        if not any(len(word) > _LONG for word in words) or not all(map(is_number, words)):
            return None
        numbers = np.array(words, np.float64)
    elif numbers.dtype.kind != "f":
        return None
    else:
        numbers = numbers[factor.rows_of_level > 0].astype(np.float64)
    ordered = np.sort(numbers[np.isfinite(numbers)])
    with np.errstate(over="ignore", under="ignore"):
        single = ordered.astype(np.float32)
    for k in np.flatnonzero((single[1:] == single[:-1]) & (ordered[1:] != ordered[:-1])).tolist():
        pair = float(ordered[k]), float(ordered[k + 1])
        if any(each in (float(f"{each:.6g}"), float(single[k])) for each in pair):
            return pair
    return None


def _is_written_twice(factor: Factor) -> bool:
    levels = factor.levels
    if isinstance(levels, range) or (isinstance(levels, np.ndarray) and levels.dtype.kind != "O"):
        return False
    codes = np.flatnonzero(factor.rows_of_level)
    if not 2 * _FEWEST <= codes.size <= _MOST:
        return False
    values = [factor.values[code] for code in codes.tolist()]
    words = {value.strip() for value in values if isinstance(value, str)}
    every = len(words)
    words = {word for word in words if word[:1].isdecimal()}  # as the others are neither
    dates = [sum(map(bool, map(way.fullmatch, words))) for way in (_YEAR_FIRST, _YEAR_LAST)]
    if min(dates) >= _FEWEST and sum(dates) == every:
        return True
    alike: defaultdict[str, int] = defaultdict(int)
    for part in filter(None, map(_WITH_WORD.fullmatch, words)):
        alike[part[2].casefold()] += part[1] in words
    return max(alike.values(), default=0) >= _FEWEST


def turned_pair(word: str) -> str:
    """The same two alleles in the other order; the word itself if it has not two."""
    parts = re.split(r"([/|: ])", word)
    return "".join(reversed(parts)) if len(parts) == 3 else word[::-1]


def _turned_genotype(factor: Factor) -> tuple[str, str] | None:
    """Two values that are one genotype with its alleles in both orders; None if there are none.

    All values are genotypes, and one at least of two equal alleles.
    """
    levels = factor.levels
    if isinstance(levels, range) or (isinstance(levels, np.ndarray) and levels.dtype.kind != "O"):
        return None
    codes = np.flatnonzero(factor.rows_of_level)
    if not 3 <= codes.size <= _MOST:
        return None
    values = [factor.values[code] for code in codes.tolist()]
    words = [value.strip() for value in values if isinstance(value, str)]
    genotypes = [word for word in words if word and word.lower() not in _NO_GENOTYPE]
    if any("/" not in word for word in genotypes):
        return None
    parts = [part for part in map(_GENOTYPE.fullmatch, genotypes) if part]
    if len(parts) < max(len(genotypes), 3) or all(part[1] != part[2] for part in parts):
        return None
    if all(part[1].isdecimal() for part in parts):  # days and months, or results of games
        return None
    met = set(genotypes)
    pairs = (
        (part[0], f"{part[2]}/{part[1]}")
        for part in parts
        if part[1] != part[2] and f"{part[2]}/{part[1]}" in met
    )
    return next(pairs, None)
