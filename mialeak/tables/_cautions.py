"""What the report on a table says first: columns that are probably misunderstood."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import Factor, each_factor
from mialeak._labels import NAMES_OF_PERIODS, NAMES_OF_PERSONS
from mialeak._markers import lone_markers, marker_cautions
from mialeak.tables._cells import all_differ

__all__ = [
    "cautions_of",
    "cautions_of_dropped",
    "cautions_of_persons",
    "cautions_of_uncounted_persons",
    "cautions_of_unknown",
    "identifiers",
    "is_share",
    "is_weight",
]

IntArray = npt.NDArray[np.int64]

#: Names of columns that identify persons, also households, and of survey weights, in small letters.
_IDENTIFIERS = NAMES_OF_PERSONS | {
    "hhid", "hh_id", "hid", "hidp", "household_id", "serial", "serialno"
}  # fmt: skip
_WEIGHT_WORDS = """
weight weights wgt wgts wt wts fnlwgt finalwgt pweight perwt hhwt wtfinl asecwt pwgtp wgtp
sampling_weight sample_weight survey_weight person_weight hhweight gewicht poids pondération
ponderation peso vægt vikt vekt gewichtung hochrechnungsfaktor
"""
_WEIGHTS = frozenset(_WEIGHT_WORDS.split())

#: Words in the names of columns of shares, means, thousands and amounts, which count nobody.
_SHARE_WORDS = """
pct perc percent percentage percentages share shares proportion prop rate rates ratio
mean avg average median prozent anteil quote
turnover revenue revenues income incomes wage wages salary salaries earnings hours
eur euro euros usd dollar dollars gbp chf dkk nok sek pln
umsatz lohn löhne einkommen salaire salaires omsætning omsättning lønn
thousand thousands 1000 1000s tsd tusind million millions mio
"""
_SHARES = frozenset(_SHARE_WORDS.split())

#: A whole number, of which zeros before and after it are a matter of spelling.
_WHOLE = re.compile(r"0*(\d+)(\.0*)?")

#: Rows of a person that are those of many: so many, and so many times those of any other.
_MANY_ROWS, _MANY_TIMES = 20, 5

#: Values of a column up to which their spelling is compared.
_MOST_VALUES = 10_000


def cautions_of(factors: dict[Any, Factor], weights: IntArray | None = None) -> list[str]:
    """A sentence for each suspicion, with the argument that cures it.

    `weights` are the persons of each row, where these are cells; a column is then no identifier.
    """
    cautions = marker_cautions(factors, weights) + _of_spellings(factors)
    return cautions if weights is not None else cautions + cautions_of_persons(factors)


def cautions_of_persons(factors: dict[Any, Factor]) -> list[str]:
    """A sentence for each column that is no category, where each row is one person."""
    cautions = _of_names(factors)
    names = identifiers(factors)
    if names:
        cure = f" Leave such columns out with exclude=[{listed(names)}]." if len(names) <= 3 else ""
        cautions.append(
            f"Every row has a value of its own in column {listed(names)}, as an identifier "
            f"has.{cure}"
        )
    return cautions


def _of_names(factors: dict[Any, Factor]) -> list[str]:
    """Cautions for columns whose name is that of an identifier or of a survey weight."""
    cautions = []
    for name, factor in factors.items():
        word = str(name).strip().lower()
        if word in _IDENTIFIERS and not all_differ(factor):
            cautions.append(
                f"Column {name!r} has the name of an identifier, and some of its values are those "
                f"of several rows. The report is about rows, not persons; if {name!r} names the "
                f"person of each row, pass person={name!r}, and if it is no category, "
                f"exclude=[{name!r}]."
            )
        if is_weight(name):
            cautions.append(
                f"Column {name!r} has the name of a survey weight and is counted as a category. If "
                f"it is a weight, pass exclude=[{name!r}]."
            )
    return cautions


def names_of(frame: Any) -> list[Any]:
    """The names of the columns of a data frame or a dict."""
    if isinstance(frame, Mapping):
        return list(frame)
    names = getattr(frame, "column_names", None)  # of pyarrow
    return list(getattr(frame, "columns", ()) if names is None else names)


def cautions_of_periods(frame: Any, chosen: Container[Any], table: str = "table") -> list[str]:
    """A caution for columns of several years or waves that are left out, so that these add up."""
    for name in names_of(frame):
        if name in chosen or str(name).strip().lower() not in NAMES_OF_PERIODS:
            continue
        factor = dict(each_factor(frame, [name]))[name]
        if len(np.unique(factor.codes)) > 1:
            return [
                f"The {table} has rows of different values of column {name!r}, which is left out: "
                "their persons are added up. If a person may be in several, keep the rows of one "
                f"value of {name!r}."
            ]
    return []


def cautions_of_uncounted_persons(
    frame: Any, chosen: Container[Any], repeats: Callable[[Any, Any], bool]
) -> list[str]:
    """A caution for a column that is left out and names the persons of several rows.

    `repeats` returns of a table and a column whether two rows share a value.
    """
    for name in names_of(frame):
        if name in chosen or str(name).strip().lower() not in NAMES_OF_PERSONS:
            continue
        if repeats(frame, name):
            return [
                f"Column {name!r}, which is left out, has the name of an identifier, and some of "
                "its values are those of several rows. The report is about rows; if a person has "
                f"several, pass person={name!r}."
            ]
    return []


def cautions_of_unknown(name: Any, factor: Factor, rows: IntArray) -> list[str]:
    """A caution if one of the persons that `name` names in `rows` is probably many unknown ones.

    It is the one with most rows, and has a value that marks a missing one, or far more rows than
    any other.
    """
    codes = factor.codes[rows]
    of_person = np.bincount(codes)
    next_most, most = np.sort(of_person)[-2:].tolist() if of_person.size > 1 else (0, 0)
    if most == next_most:
        return []
    code = int(np.argmax(of_person))
    marked = factor.value(code) in [value for value, _ in lone_markers(factor)]
    if not marked and most < max(_MANY_ROWS, _MANY_TIMES * next_most):
        return []
    first = int(rows[np.argmax(codes == code)])
    return [
        f"One person by column {name!r} has {most:,} rows, the first {first:,}, and no other more "
        f"than {next_most:,}: the value may stand for all who are not known. Then leave these rows "
        "out, or give each of their persons a name."
    ]


def cautions_of_dropped(factors: dict[Any, Factor], rows: int, dropped: int) -> list[str]:
    """A caution if more persons were dropped for missing values than are left."""
    if dropped <= rows:
        return []
    name = max(factors, key=lambda each: factors[each].n_missing)
    return [
        f"{dropped:,} of {rows + dropped:,} persons are dropped, since a value is missing, mostly "
        f"in column {name!r}. The answer is about the other {rows:,}; if {name!r} is no category, "
        f"pass exclude=[{name!r}]."
    ]


def _of_spellings(factors: dict[Any, Factor]) -> list[str]:
    """A caution for columns in which two values are spellings of one; the values are not shown."""
    met = {name: each for name, factor in factors.items() if (each := _spelt_twice(factor))}
    if not met:
        return []
    name, rows = next(iter(met.items()))
    return [
        f"Values that differ in capitals, spaces or leading zeros alone are counted apart, in "
        f"column {listed(met)} (rows {listed(rows)} for {name!r}). If they mean the same, write "
        "them in the same way."
    ]


def _spelt_twice(factor: Factor) -> tuple[int, ...]:
    """The first two rows whose values are spellings of one; none if there are no such."""
    if isinstance(factor.levels, np.ndarray) and factor.levels.dtype.kind in "iufbmM":
        return ()
    codes, first_row = np.unique(factor.codes, return_index=True)
    if len(codes) > _MOST_VALUES:
        return ()
    met: dict[str, int] = {}
    for code, row in sorted(zip(codes.tolist(), first_row.tolist(), strict=True)):
        value = None if code < 0 else factor.value(code)
        if not isinstance(value, str):
            continue
        word = " ".join(value.split()).casefold()
        number = _WHOLE.fullmatch(word)
        other = met.setdefault(number[1] if number else word, row)
        if other != row:
            return tuple(sorted((other, row)))
    return ()


def is_weight(name: Any) -> bool:
    """Whether it is the name of a column of survey weights."""
    return str(name).strip().lower() in _WEIGHTS


def is_share(name: Any) -> bool:
    """Whether it is the name of a column of shares, means, thousands or amounts."""
    return not _SHARES.isdisjoint(re.split(r"[\W_]+", str(name).lower().replace("%", " pct ")))


def identifiers(factors: dict[Any, Factor]) -> list[Any]:
    """The columns in which every row has a value of its own."""
    return [
        name for name, factor in factors.items() if len(factor.codes) > 1 and all_differ(factor)
    ]
