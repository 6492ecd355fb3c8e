"""What the report on a release states first: people who are probably not what was meant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import codes_of, count_cells
from mialeak._checks.lines import (
    cautions_of_blank_rows,
    cautions_of_limit,
    cautions_of_lines,
    number_of_blank_rows,
)
from mialeak._checks.markers import marker_cautions
from mialeak._checks.names import (
    is_count_name,
    is_person_name,
)
from mialeak._checks.samples import (
    LEVEL,
    are_periods,
    groups_of_rows,
    log_chance_of_all_cells,
    long_table,
    number_persons,
    numbers_within,
    shares_differ,
)
from mialeak._checks.spellings import cautions_of_spellings, cautions_of_thousands
from mialeak._checks.tables.copies import cautions_of_small_cells
from mialeak._checks.tables.registers import cautions_of_agreement, pairs_of_columns
from mialeak._checks.tables.rows import cautions_of_rows, columns_of_counts
from mialeak._checks.tables.weights import UNEQUAL, cautions_of_weights, may_be_weight
from mialeak._columns import Factor, each_factor
from mialeak.releases._outputs import Output
from mialeak.releases._people import People, between

__all__ = ["cautions_of_release"]

IntArray = npt.NDArray[np.int64]

#: Rows that agree are a sign only if chance would make all groups of them even this rarely.
_CHANCE = 1e-9

#: Different numbers of a column of which two may be the ends of a range; those that lie between, at
#: least, of all whole numbers there.
_FEWEST_MEASURED, _FEWEST_BETWEEN, _NEARLY_EACH = 20, 8, 0.8

#: Columns up to which whole rows are compared.
_MOST_COLUMNS = 100


def cautions_of_release(
    people: People, outputs: Sequence[Output], counts: IntArray, mass: IntArray, threshold: int
) -> list[str]:
    """A sentence for each suspicion, with its cure.

    `counts` are the people in each cell of the finest table, `mass` those of the population.
    """
    counted = _names(people, [each.columns for each in outputs])
    used = _names(people, [(*each.columns, *each.where.masks, *each.weights) for each in outputs])
    factors = {name: _of_people(people, name) for name in used}
    cautions = marker_cautions(factors, cure="list it in `missing`: [{!r}]")
    cautions += cautions_of_spellings(factors)
    limited = _names(people, [tuple(each.where.masks) for each in outputs])
    cautions += cautions_of_thousands({name: factors[name] for name in limited})
    cautions += cautions_of_limit(people.rows)
    cautions += cautions_of_lines(factors) if factors else []
    for name in counted:
        if may_be_weight(name, factors[name]):
            cautions.append(
                f"Column {name!r} has the name of a survey weight and is counted as a category."
            )
        elif len(factors[name].codes) > 1 and _all_differ(factors[name].codes.astype(np.int64)):
            cautions.append(
                f"Every row has a value of its own in column {name!r}, as an identifier has."
            )
    if people.in_register:
        categories = _names(people, [(*each.columns, *each.where.masks) for each in outputs])
        cautions += _of_sample(people, categories, counts, mass)
    cautions += _of_ends(people, outputs)
    cautions += _of_hidden(people, outputs, threshold)
    factors = {name: _factor(people, name) for name in people.names[:_MOST_COLUMNS]}
    cautions += cautions_of_weights(
        [name for name in factors if name not in used],
        lambda name: [factors[name]],
        f"{UNEQUAL}If they were drawn by strata, pass the people of one stratum at a time.",
        list(factors),
    )
    return cautions + (_of_rows(people, used, factors) or _of_small_cells(people, outputs))


def _of_small_cells(people: People, outputs: Sequence[Output]) -> list[str]:
    """A sentence if the people of the small cells of a table seem to be left out of the file."""
    for output in outputs:
        if output.columns:
            counts = np.bincount(output.of_row[: people.rows] + 1, minlength=output.n_cells + 1)[1:]
            shown = counts > 0
            cells = {
                name: Factor(codes, people.column(name).values)
                for name, codes in zip(output.columns, output.labels[shown].T, strict=True)
            }
            if cautions := cautions_of_small_cells(cells, counts[shown]):
                return [f"Of {output.name}: {cautions[0]}"]
    return []


def _of_ends(people: People, outputs: Sequence[Output]) -> list[str]:
    """A sentence for an end in another unit, or two values that may be meant as those of a range.

    An end that excludes nobody is in the unit of the column seldom.
    """
    for output in outputs:
        for name, values in output.where.idle.items():
            return [
                f"The condition {output.where.words[name]} of {output.name} excludes nobody: "
                f"column {name!r} holds {values}. The end of a condition is in the unit of the "
                "column (years, months, thousands). If it is, leave the condition out."
            ]
        for name, mask in output.where.masks.items():
            numbers = people.column(name).numbers()
            if numbers is None or np.count_nonzero(mask) != 2 or numbers.size < _FEWEST_MEASURED:
                continue
            low, high = np.sort(numbers[mask]).tolist()
            inside = between(people.column(name), [low, high])
            if inside >= max(_FEWEST_BETWEEN, _NEARLY_EACH * (high - low - 1.0)):
                return [
                    f"{output.name} is of the people with the two values {low:g} and {high:g} of "
                    f"column {name!r}, and {inside} others lie between. For all from {low:g} to "
                    f"{high:g} write {name} = {{ min = {low:g}, max = {high:g} }} in where."
                ]
    return []


def _of_hidden(people: People, outputs: Sequence[Output], threshold: int) -> list[str]:
    """A sentence if all counts that were hidden by hand are small, and smaller than those shown."""
    cautions = []
    for output in outputs:
        if not output.gaps or output.protect is not None:
            continue
        counts = np.bincount(output.of_row[: people.rows] + 1, minlength=output.n_cells + 1)[1:]
        most = int(counts[~output.exact].max())
        least = int(counts[output.exact & (counts > 0)].min(initial=people.rows))
        below = threshold if threshold <= least else most + 1
        if 0 < most < min(threshold, least) and output.high[~output.exact].max() >= below:
            cautions.append(
                f"The counts hidden in {output.name} are those below {below}. A reader who "
                f'knows that may recover more of them: add protect = "suppress:{below}" '
                f"(in Python Suppress({below})) to this output."
            )
    return cautions


def _of_sample(
    people: People, categories: Sequence[Any], counts: IntArray, mass: IntArray
) -> list[str]:
    """Cautions for people who are no random sample of the register, and for one of weights."""
    other = []
    for name in categories:
        column = people.column(name)
        inside, whole = column.codes[: people.rows], column.codes[people.rows :]
        values = len(column.values)
        if shares_differ(np.bincount(inside, None, values), np.bincount(whole, None, values)):
            other.append(name)
    unused = [
        name
        for name, (inside, whole) in people.shares.items()
        if name not in categories and not is_count_name(name) and shares_differ(inside, whole)
    ]
    cautions = []
    if other or unused:
        which = [listed(other)] if other else []
        which += [f"{listed(unused)}, which no output counts by"] if unused else []
        cautions.append(
            "The people are no simple random sample of the register: their shares differ in column "
            f"{', and in column '.join(which)} (chi-squared test, p < {LEVEL:g}). The answer is "
            "for a sample in which everyone is equally likely. If they are a part of the register, "
            "pass the people of that part; a stratified sample has no answer here (table_leakage "
            "takes strata=)."
        )
    coded = [(people.column(name).codes, len(people.column(name).values)) for name in categories]
    inside = (np.arange(sum(people.sizes)) < people.rows).astype(np.int64)
    counts, mass = counts[mass > 0], mass[mass > 0]
    parts = [(counts, mass), *pairs_of_columns(coded, inside, 1 - inside)]
    cure = "there is no answer here, but table_leakage takes strata="
    cautions += cautions_of_agreement(parts, cure)
    if counts.all() and log_chance_of_all_cells(mass, int(counts.sum())) < np.log(LEVEL):
        cautions.append(
            "The people show each of the register's cells, the rare ones too, which a random "
            f"sample would not (p < {LEVEL:g}): the register may have been made from the people "
            "and their weights. Pass the register of all."
        )
    divisor = int(np.gcd.reduce(mass))
    if divisor > 1 and mass.size * math.log(divisor) >= -math.log(_CHANCE):
        cautions.append(
            f"Each cell of the register holds a multiple of {divisor:,} people, as if everyone "
            f"were there {divisor:,} times. Pass each person once."
        )
    return cautions


def _names(people: People, groups: Sequence[Sequence[Any]]) -> list[Any]:
    """The columns of the people that are named, in their order."""
    named = {str(name) for group in groups for name in group}
    return [name for name in people.names if str(name) in named]


def _of_people(people: People, name: Any) -> Factor:
    """A column of the people alone, without its missing values."""
    column = people.column(name)
    levels = [value for value in column.values if value is not None]
    place = np.cumsum([value is not None for value in column.values]) - 1
    missing = np.array([value is None for value in column.values])
    return Factor(np.where(missing, -1, place)[column.codes[: people.rows]], levels)


def _of_rows(people: People, used: Sequence[Any], factors: dict[Any, Factor]) -> list[str]:
    """Cautions for rows that are not one person each: visits, years, cells, and persons twice."""
    cautions = []
    columns = {name: factor.codes.astype(np.int64) for name, factor in factors.items()}
    cautions += cautions_of_blank_rows(number_of_blank_rows(list(columns.values())))
    of_persons, others = groups_of_rows(factors)
    numbers, households = number_persons(factors), numbers_within(factors).values()
    for name, codes in columns.items():
        values = np.unique(codes[codes >= 0]).size
        if name in numbers:
            why = ""
        elif values < codes.size and is_person_name(name, values, codes.size):
            why = "has the name of an identifier, and some of its values are those of several rows"
        elif name == of_persons and name not in households:
            why = f"has values whose rows agree in column {listed(others)}, as those of a person do"
        else:
            why = ""
        if why:
            cautions.append(
                f"Column {name!r} {why}. The report takes each row for one person: pass one row "
                "for each person, or its leakage is too low for persons with several rows."
            )
        elif name not in used and np.unique(codes).size > 1 and are_periods(name, factors[name]):
            cautions.append(
                f"The people have different values of column {name!r}, which no output uses. If a "
                f"person may be in several, keep the rows of one value of {name!r}."
            )
    if len(columns) > 2 and (long := long_table(columns)):
        return [*cautions, long]
    if counts := columns_of_counts(factors):
        repeat = f" (pandas: frame.loc[frame.index.repeat(frame[{counts[0]!r}])])"
        return [
            *cautions,
            f"The people look like a table of counts: column {listed(counts)} holds whole "
            "numbers, and next to no two rows agree in the other columns. Pass one row for each "
            f"person{repeat if len(counts) == 1 else ''}.",
        ]
    cells = count_cells(map(codes_of, factors.values()), people.rows)
    of_cells = {k: Factor(each.codes[cells.first_row], each.levels) for k, each in factors.items()}
    return cautions + cautions_of_rows(factors, cells, of_cells, factors)


def _factor(people: People, name: Any) -> Factor:
    """A column of the people, whether an output uses it or not."""
    return next(each_factor(people.frame, [name], argument="people"))[1]


def _all_differ(codes: IntArray) -> bool:
    return bool(np.unique(codes).size == codes.size and codes.min() >= 0)
