"""Rows of a file that are no persons: lines of a header, units, totals and sources, and blanks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._checks.names import WORDS_OF_TOTALS, columns_that
from mialeak._columns import Factor
from mialeak._fields import MARKERS, is_number

__all__ = [
    "cautions_of_blank_rows",
    "cautions_of_code_lists",
    "cautions_of_limit",
    "cautions_of_lines",
    "cautions_of_names",
    "cautions_of_statistics",
    "number_of_blank_rows",
]

#: Most rows at the start that are looked at for lines of a header, less one, and rows of a table in
#: which text in two of them is no coincidence.
_MOST_HEADERS, _FEWEST_LINES = 4, 20
#: The largest share of the rows that repeat the names of the columns, one for each file.
_REPEATED_NAMES = 0.25
#: Values of a column up to which those of its first rows and of all others are compared.
_MOST_CODES = 400
#: What begins a line of remarks in the languages of statistical offices.
_SOURCE = re.compile(r"(sources?|notes?|kilde|källa|quelle|fuente|fonte|bron|anmerkung)\s*:")
#: Lines of a sheet in the old and the new files of Excel.
_LINES_OF_SHEETS = 2**16, 2**20


def cautions_of_limit(rows: int) -> list[str]:
    """A caution for as many rows as a sheet has below the names of its columns."""
    if rows + 1 not in _LINES_OF_SHEETS:
        return []
    return [
        f"There are {rows:,} rows, as many as a sheet of Excel holds below the names of its "
        "columns: further rows may be cut off. If so, pass the whole file."
    ]


#: Names of rows that describe a column: those of its location, and others, in small letters.
_LOCATIONS = frozenset(("mean", "median", "average", "avg", "mittelwert", "moyenne", "media"))
_STATISTIC_WORDS = """
count,n,nobs,no.,number,std,sd,std.,stdev,std dev,st. dev.,standard deviation,std. dev.,var,
variance,se,sem,s.e.,std. error,standard error,min,max,minimum,maximum,sum,unique,top,freq,iqr,mad,
skew,skewness,kurt,kurtosis,missing,nunique,cv,range,q1,q2,q3,1st qu.,3rd qu.,min.,max.,mode
"""
_STATISTICS = _LOCATIONS.union(_STATISTIC_WORDS.replace("\n", "").split(","))
_QUANTILE = re.compile(r"[pq]?\d{1,2}(\.\d+)?\s?%?")


def cautions_of_statistics(named: Mapping[Any, Factor]) -> list[str]:
    """A caution for rows that are a summary of persons, by a column or index that names these."""
    for name, factor in named.items():
        shown = np.flatnonzero(factor.rows_of_level)[: len(_STATISTICS)].tolist()
        words = [str(factor.value(code)).strip().lower() for code in shown]
        known = _STATISTICS.intersection(words)
        if len(known) < 2 or _LOCATIONS.isdisjoint(known):
            continue
        if all(word in known or _QUANTILE.fullmatch(word) for word in words):
            return [
                f"The rows seem to be no persons but a summary of them, by column {name!r} "
                f"({listed(sorted(known))}). Take the table of which it was computed; with means "
                "and variances alone, call mialeak.mean_tradeoff(target, mean, cov, n)."
            ]
    return []


def cautions_of_lines(factors: dict[Any, Factor], *, of_persons: bool = True) -> list[str]:
    """Sentences for blank fields that repeat the value above, and for lines that are no persons.

    The latter, where each row is one person (`of_persons`): a line of units, a total or a source.
    """
    cautions = [
        f"In column {name!r} {factor.n_missing:,} of {len(factor.codes):,} rows have no value, and "
        "the others all differ, as where one cell stands for all rows below it (merged cells, the "
        "index of a pivot table). If so, write the value into each row."
        for name, factor in factors.items()
        if _has_merged_cells(factor)
    ]
    cautions += cautions_of_names(factors) if of_persons else []
    headers = _header_lines(factors) if of_persons else 0
    if headers:
        cautions.append(
            f"Rows 0 and {headers - 1}, the first, seem to be no persons but lines of a header: "
            "they hold text where all others hold numbers. If so, take them out of the file."
        )
    for row in _lines(factors) if of_persons and not headers else ():
        which = "the first" if row == 0 else "the last"
        cautions.append(
            f"Row {row:,}, {which}, seems to be no person but a line of units, a total or a source "
            f"(column {next(name for name in factors if _is_line(factors[name], row))!r}). If so, "
            "take it out of the file."
        )
    return cautions


def number_of_blank_rows(columns: Sequence[npt.NDArray[np.integer[Any]]]) -> int:
    """How many rows have no value in any of several columns, as blank lines of a spreadsheet do.

    0 if they may be persons of whom nothing is known: where they are neither the last rows nor more
    than half of those without some value.  `columns` are the codes of each, -1 for no value.
    """
    absent = [codes < 0 for codes in columns]
    if len(absent) < 2:
        return 0
    blank = np.logical_and.reduce(absent)
    number = int(np.count_nonzero(blank))
    if number < 2 or number == blank.size:
        return 0
    is_last = bool(blank[-number:].all())
    return number if is_last or 2 * number > np.count_nonzero(np.logical_or.reduce(absent)) else 0


def cautions_of_blank_rows(number: int) -> list[str]:
    """A caution for so many rows without any value, where these are a further category."""
    if not number:
        return []
    return [
        f"{number:,} rows have no value in any column, as blank lines of a spreadsheet do, and "
        "count as persons. If nobody is meant, take these lines out of the file."
    ]


def cautions_of_names(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for rows that repeat the names of the columns, as where files were joined."""
    rows = None
    for name, factor in sorted(factors.items(), key=lambda each: len(each[1].levels)):
        if isinstance(factor.levels, range) or factor.n_values < 2:
            return []
        if isinstance(factor.levels, np.ndarray) and factor.levels.dtype.kind in "iufbmM":
            return []
        word = str(name)
        codes = (code for code, value in enumerate(factor.values) if value == word)
        held = factor.codes == next(codes, len(factor.levels))
        if not held.any() or (rows is not None and (held != rows).any()):
            return []
        rows = held
    # A value of one column may have its name.
    if rows is None or len(factors) < 2 or np.count_nonzero(rows) > _REPEATED_NAMES * rows.size:
        return []
    places = [f"{row:,}" for row in np.flatnonzero(rows).tolist()]
    return [
        f"Row {listed(places, show=str)} repeats the names of the columns, as where files were "
        "joined, and is counted as a person. Take it out, and see that nobody is in two files."
    ]


def cautions_of_code_lists(chosen: Mapping[Any, Factor], every: Mapping[Any, Factor]) -> list[str]:
    """A caution for a column of which the first rows have other values than all rows from one on.

    So has a table of two files with different codes.  None if another of `every` column has other
    values there too, but of one each, as the file of a region has.
    """
    met = {name: cut for name, factor in chosen.items() if (cut := _only_cut(factor))}
    for cut in sorted(set(met.values())):
        names = [name for name in met if met[name] == cut]
        if any(name not in met and _is_cut(factor, cut) for name, factor in every.items()):
            continue
        return [
            f"{columns_that(names, 'holds')} other values from row {cut:,} on than in the rows "
            "before it, as where files with different codes were joined. If so, write the values "
            "in one way."
        ]
    return []


def _only_cut(factor: Factor) -> int:
    """The row that divides a column into two parts, each of several values in turn; 0 if none."""
    codes = factor.codes
    shown = factor.n_values
    if len(codes) < 2 * _FEWEST_LINES or not 4 <= shown <= _MOST_CODES:
        return 0
    # Of two parts neither ends within these rows: a value of both ends is in both parts.
    ends = set(codes[:_FEWEST_LINES].tolist()).intersection(codes[-_FEWEST_LINES:].tolist())
    if max(ends, default=-1) >= 0:
        return 0
    values, first = np.unique(codes, return_index=True)
    last = codes.size - 1 - np.unique(codes[::-1], return_index=True)[1]
    first, last = first[values >= 0], last[values >= 0]
    order = np.argsort(first)
    cuts = np.flatnonzero(first[order][1:] > np.maximum.accumulate(last[order])[:-1]) + 1
    if cuts.size != 1 or not 2 <= cuts[0] <= shown - 2:
        return 0
    row = int(first[order][cuts[0]])
    return row if _FEWEST_LINES <= row <= codes.size - _FEWEST_LINES else 0


def _is_cut(factor: Factor, row: int) -> bool:
    """Whether no value of a column stands both before a row and from it on."""
    return not np.intersect1d(factor.codes[:row], factor.codes[row:]).size


def _has_merged_cells(factor: Factor) -> bool:
    """Whether a value stands in the first row of its block, and all others of the block are blank.

    All values then differ, and at least as many rows have none.
    """
    rows = len(factor.codes)
    if rows < 4 or not rows / 2 <= factor.n_missing <= rows - 2:
        return False
    shown = factor.codes[factor.codes >= 0]
    return bool(factor.codes[0] >= 0 and np.unique(shown).size == shown.size)


def _lines(factors: dict[Any, Factor]) -> list[int]:
    """The first and the last row, where they are no persons."""
    rows = len(next(iter(factors.values())).codes)
    if rows < 4:
        return []
    return [row for row in (0, rows - 1) if any(_is_line(each, row) for each in factors.values())]


def _header_lines(factors: dict[Any, Factor]) -> int:
    """How many rows at the start hold text, each another, in each column of numbers: 2, 3 or 0."""
    numbers_of_lines = set()
    for factor in factors.values():
        rows = len(factor.codes)
        if rows < _FEWEST_LINES or isinstance(factor.levels, range | np.ndarray):
            continue
        first = factor.codes[:_MOST_HEADERS].tolist()
        texts = [code >= 0 and _is_text_of(factor, code) for code in first]
        lines = texts.index(False) if False in texts else _MOST_HEADERS + 1
        if not 2 <= lines <= _MOST_HEADERS - 1:
            continue
        others = np.unique(factor.codes[lines:])
        numbers = [code < 0 or is_number(str(factor.value(code))) for code in others.tolist()]
        if all(numbers):
            numbers_of_lines.add(lines)
    return numbers_of_lines.pop() if len(numbers_of_lines) == 1 else 0


def _is_text_of(factor: Factor, code: int) -> bool:
    """Whether one row alone has the value, and it is text and no mark of a missing one."""
    value = factor.value(code)
    if not isinstance(value, str) or np.count_nonzero(factor.codes == code) > 1:
        return False
    word = value.strip().lower()
    return word not in MARKERS and not is_number(word)


def _is_line(factor: Factor, row: int) -> bool:
    """Whether no other row has the value of the row, a word for totals or one among numbers."""
    code = int(factor.codes[row])
    value = factor.value(code)
    if not isinstance(value, str) or np.count_nonzero(factor.codes == code) > 1:
        return False
    word = value.strip().lower()
    if word in WORDS_OF_TOTALS or _SOURCE.match(word):
        return True
    if word in MARKERS or any(letter.isdigit() for letter in word):  # such as "90 and over"
        return False
    others = np.unique(factor.codes[(factor.codes >= 0) & (factor.codes != code)]).tolist()
    return len(others) > 1 and all(is_number(str(factor.value(other))) for other in others)
