"""What the report on a table states first: columns or tables that are probably misunderstood."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import all_differ
from mialeak._checks.lines import cautions_of_limit, cautions_of_lines
from mialeak._checks.markers import cautions_of_gaps, lone_markers, marker_cautions
from mialeak._checks.names import (
    NAMES_OF_ALLELES,
    NAMES_OF_MEASURES,
    NAMES_OF_SITES,
    NAMES_OF_VARIABLES,
    VARIANT,
    columns_that,
    is_date_name,
    is_household_name,
    is_period_name,
    is_person_name,
    word_of,
    words_of,
)
from mialeak._checks.samples import (
    DATE,
    are_periods,
    groups_of_rows,
    number_persons,
    numbers_within,
)
from mialeak._checks.spellings import cautions_of_spellings
from mialeak._checks.tables.rows import are_sets, counts_of_cells
from mialeak._checks.tables.weights import may_be_weight
from mialeak._columns import Factor, each_factor, numeric_levels
from mialeak._fields import is_number
from mialeak._labels import names_of

__all__ = [
    "cautions_of",
    "cautions_of_dropped",
    "cautions_of_measures",
    "cautions_of_numbers",
    "cautions_of_persons",
    "cautions_of_uncounted_persons",
    "cautions_of_unknown",
    "identifiers",
    "is_share",
    "is_unit",
]

IntArray = npt.NDArray[np.int64]

#: Words in the names of columns of shares, means, amounts, estimates and sums up to a row, which
#: count nobody.
_SHARE_WORDS = """
pct perc percent percentage percentages share shares proportion prop rate rates ratio
mean avg average median prozent anteil quote
turnover revenue revenues income incomes wage wages salary salaries earnings hours
eur euro euros usd dollar dollars gbp chf dkk nok sek pln
umsatz lohn löhne einkommen salaire salaires omsætning omsättning lønn
weighted weight wtd wgt sumwt gewichtet hochgerechnet estimate estimated estimates est
cum cumulative cumulated kumuliert index rank change growth diff difference score
personyears pyears pyrs py years jahre personenjahre personår personaar lebensjahre fte vzä etp
"""
_SHARES = frozenset(_SHARE_WORDS.split())
#: Words in the names of columns of thousands, hundreds or millions of persons, of which "in100" is
#: "in 100" as well.
_UNIT_WORDS = """
thousand thousands thous ths 1000 1000s 000 000s tsd tausend tusind tusinde tusen tusental duizend
duizenden duizendtallen millier milliers miles migliaia milhares tys tysiące tisíc tisíce tuhat
tuhatta ezer million millions mio millionen miljoen hundred hundreds hundert hunderte centaines
in100 x100 100s
"""
_UNITS = frozenset(_UNIT_WORDS.split())

#: Fewest numbers of a measurement, persons for each of them at most, and the first that are read.
_FEWEST_MEASURED, _SHARED, _FIRST = 20, 10, 1000

#: Fewest columns of sites that make a table one of genotypes.
_SITES = 10

#: Most years, waves or months of a study: more numbers are durations.
_MOST_PERIODS = 100

#: Rows of a person that are those of many: so many, and so many times those of any other.
_UNKNOWN_ROWS, _UNKNOWN_TIMES = 20, 5

#: A genotype: two letters, or two letters or codes with a sign between.
_GENOTYPE = re.compile(r"[A-Za-z]{2}|[A-Za-z][/|][A-Za-z]|[01][/|][01]")


def cautions_of(
    factors: dict[Any, Factor], weights: IntArray | None, before: dict[Any, Factor]
) -> list[str]:
    """A sentence for each suspicion, with the argument that cures it.

    `weights` are the persons of each row, where these are cells; a column is then no identifier.
    `before` are the columns before they were recoded: bands hide the marks of missing values.
    """
    cautions = marker_cautions(before, weights) + cautions_of_gaps(before)
    cautions += cautions_of_spellings(factors)
    rows = len(next(iter(factors.values())).codes)
    cautions += cautions_of_limit(rows) or cautions_of_limit(
        0 if weights is None else weights.sum()
    )
    cautions += cautions_of_lines(factors, of_persons=weights is None)
    cautions += _of_measurements(factors, weights) + _of_sites(factors)
    if weights is not None:
        return cautions
    return cautions + cautions_of_persons(factors)


def _of_measurements(factors: dict[Any, Factor], weights: IntArray | None) -> list[str]:
    """A sentence for columns of numbers with decimals that few persons share."""
    names = []
    for name, factor in factors.items():
        values = factor.n_values
        persons = len(factor.codes) if weights is None else int(weights.sum())
        if values < _FEWEST_MEASURED or _SHARED * values < persons or all_differ(factor):
            continue
        numbers: Any = numeric_levels(factor)
        if numbers is None:
            words = [str(factor.value(code)) for code in range(min(len(factor.levels), _FIRST))]
            numbers = np.array(words, np.float64) if all(map(is_number, words)) else np.zeros(0)
        if np.any(numbers % 1.0 != 0.0):
            names.append(name)
    if not names:
        return []
    return [
        f"{columns_that(names, 'holds')} numbers with decimals that few persons share, as "
        "measurements and weights are, "
        "and each number is a category of its own. If that is not meant, publish a column of "
        f"classes in its place, or pass exclude=[{listed(names)}]."
    ]


def _of_sites(factors: dict[Any, Factor]) -> list[str]:
    """A sentence for a table of genotypes, whose joint combinations nobody publishes."""
    sites = [name for name in factors if VARIANT.fullmatch(str(name))]
    if len(sites) < _SITES:
        return []
    return [
        f"Columns {listed(sites)} have names of sites of the genome: combinations of all their "
        "genotypes are counted. If their allele frequencies are published, call mialeak mean, in "
        "Python mean_leakage."
    ]


def cautions_of_persons(factors: dict[Any, Factor]) -> list[str]:
    """A sentence for each column that is no category, where each row is one person."""
    cautions = _of_names(factors)
    names = identifiers(factors)
    if names:
        counts = counts_of_cells(factors)
        names = [name for name in names if name not in counts]
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
    within = numbers_within(factors)
    for name, factor in factors.items():
        if name in within and not is_household_name(within[name]):
            cautions.append(
                f"Column {name!r} begins anew in each value of column {within[name]!r}, so that it "
                "does not name a person by itself, and is counted as a category. If it is none, "
                f"pass exclude=[{name!r}]."
            )
            continue
        if name in within:
            cautions.append(
                f"Column {name!r} numbers the rows of each value of column {within[name]!r}, as "
                "persons are numbered in a household, and is counted as a category. If it is none, "
                f"pass exclude=[{name!r}, {within[name]!r}]."
            )
            continue
        size = factor.n_values, len(factor.codes)
        named = is_person_name(name, *size) or is_household_name(name, *size)
        if named and not all_differ(factor):
            cautions.append(
                f"Column {name!r} has the name of an identifier, and some of its values are those "
                f"of several rows. The report is about rows, not persons; if {name!r} names the "
                f"person of each row, pass person={name!r}, and if it is no category, "
                f"exclude=[{name!r}]."
            )
        elif not named and are_sets(name, factor):
            cautions.append(
                f"Column {name!r} seems to number families, pairs or matched sets of rows, and is "
                f"counted as a category. If it is none, pass exclude=[{name!r}]."
            )
        if may_be_weight(name, factor):
            cautions.append(
                f"Column {name!r} has the name of a survey weight and is counted as a category. If "
                f"it is one, or a measurement, pass exclude=[{name!r}]."
            )
    return cautions


def cautions_of_periods(frame: Any, chosen: Container[Any], table: str = "table") -> list[str]:
    """A caution for columns of several years or waves that are left out, so that these add up."""
    for name in names_of(frame):
        if name in chosen or not (is_period_name(name) or is_date_name(name)):
            continue
        factor = dict(each_factor(frame, [name]))[name]
        if not are_periods(name, factor):
            continue
        values = np.flatnonzero(factor.rows_of_level)
        if values.size > _MOST_PERIODS and not DATE.fullmatch(str(factor.value(int(values[0])))):
            continue  # durations
        if len(np.unique(factor.codes)) > 1:
            return [
                f"The {table} has rows of different values of column {name!r}, which is left out: "
                "their persons are added up. If a person may be in several, keep the rows of one "
                f"value of {name!r}."
            ]
    return []


def cautions_of_measures(categories: Mapping[Any, Factor], chosen: Container[Any]) -> list[str]:
    """A caution for a column of a table of counts that states what each number counts.

    `categories` are all columns, `chosen` those that are counted.  Populations and employed
    persons, or persons and thousands of them, are then added up; of a column that lists variables
    each person has a value in each; and each person has two alleles.
    """
    several = [name for name, factor in categories.items() if len(np.unique(factor.codes)) > 1]
    for name in several:
        word, omitted = word_of(name), "" if name in chosen else ", which is left out,"
        if word.removesuffix(" label") in NAMES_OF_MEASURES:
            return [
                f"Column {name!r}{omitted} has the name of one that states what a number counts, "
                "or its unit, and has several values. Keep the rows of one of them, which count "
                "persons; if the values are categories of persons, rename the column."
            ]
        if word in NAMES_OF_VARIABLES and not _are_genotypes(word, categories[name]):
            return [
                f"Column {name!r}{omitted} has the name of one that lists variables: each person "
                "may be counted once for each of its values, and leaks more than stated. Pass one "
                "row a person, and name the tables with margins=['A', 'B']; genotypes are for "
                "mean_leakage. If the values are categories of persons, rename the column."
            ]
        if word in NAMES_OF_ALLELES:
            return [
                f"Column {name!r}{omitted} has the name of alleles, of which each person has two: "
                "the answer is for chromosomes, and a person leaks more. Pass one row a person to "
                "mean_leakage, with the number of copies of each allele."
            ]
    return []


def _are_genotypes(word: str, factor: Factor) -> bool:
    """Whether a column called as sites holds genotypes of one: of two letters, or 0, 1 and 2."""
    if word not in NAMES_OF_SITES:
        return False
    shown = [str(factor.value(k)).strip() for k in np.flatnonzero(factor.rows_of_level).tolist()]
    letters = {letter for value in shown for letter in value.upper() if letter.isalnum()}
    codes = shown == ["0", "1", "2"]
    return codes or (len(letters) <= 2 and all(map(_GENOTYPE.fullmatch, shown)))


def cautions_of_uncounted_persons(
    frame: Any,
    chosen: Container[Any],
    every: Mapping[Any, Factor],
    beginning: Callable[[Any, Any], tuple[int, int]],
) -> list[str]:
    """A caution for a column of the persons, or households, of several rows: by name or by data.

    By its name only if it is left out; by what its values have in common, of `every` column.
    `beginning` returns of a table and a column how many values how many first rows have.
    """
    numbers = number_persons(every)
    for name in names_of(frame):
        if name in chosen or not is_person_name(name) or name in numbers:
            continue
        values, rows = beginning(frame, name)
        if values < rows and is_person_name(name, values, rows):
            return [
                f"Column {name!r}, which is left out, has the name of an identifier, and some of "
                "its values are those of several rows. The report is about rows; if a person has "
                f"several, pass person={name!r}."
            ]
    name, others = groups_of_rows(every)
    is_named = is_person_name(name) or is_household_name(name)
    if name is None or (name in chosen and (is_named or are_sets(name, every[name]))):
        return []  # named already
    if name in numbers_within(every).values():  # a household, of which each row is a person
        return []
    cure = f" If it numbers households, pass exclude=[{name!r}]." if name in chosen else ""
    return [
        f"Rows of one value of column {name!r} agree in column {listed(others)}, as those of a "
        "person, or of a household, do. The report is about rows; if a person has several, pass "
        f"person={name!r}.{cure}"
    ]


def cautions_of_numbers(person: Any, every: Mapping[Any, Factor]) -> list[str]:
    """A caution if the column of persons numbers them within their households."""
    household = numbers_within(every).get(person)
    if household is not None:
        what = f"numbers the rows of each value of column {household!r}"
    elif person in number_persons(every):
        what = "holds few numbers, each in many rows and ever fewer"
    else:
        return []
    return [
        f"Column {person!r} {what}, as where persons are numbered in each household or site. If "
        "so, each row is a person, and rows with one number are not one: leave person out."
    ]


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
    if not marked and most < max(_UNKNOWN_ROWS, _UNKNOWN_TIMES * next_most):
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


def is_share(name: Any) -> bool:
    """Whether it is the name of a column of shares, means or amounts."""
    words = words_of(str(name).replace("%", " pct "))
    return not _SHARES.isdisjoint(words) or ("per" in words and is_unit(name))


def is_unit(name: Any) -> bool:
    """Whether it is the name of a column of thousands, hundreds or millions of persons."""
    return not _UNITS.isdisjoint(words_of(name))


def identifiers(factors: dict[Any, Factor]) -> list[Any]:
    """The columns in which every row has a value of its own."""
    return [
        name for name, factor in factors.items() if len(factor.codes) > 1 and all_differ(factor)
    ]
