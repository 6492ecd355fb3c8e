"""A table beside the register that it was sampled from: its exact leakage, free of any estimate."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_share, invalid, listed, unsupported
from mialeak._cells import Cells, codes_of, count_cells, summed
from mialeak._checks.names import is_count_name
from mialeak._checks.tables.cautions import cautions_of_periods
from mialeak._checks.tables.counts import as_words, count_column, rows_of_total
from mialeak._checks.tables.crosstabs import check_index
from mialeak._checks.tables.registers import (
    cautions_of_panel,
    cautions_of_sample,
    cautions_of_strata,
)
from mialeak._checks.tables.rows import cautions_of_omitted_counts
from mialeak._checks.tables.totals import cautions_of_sums
from mialeak._columns import Factor, each_factor, factor_if_plain, near
from mialeak._labels import names_of
from mialeak.discrete import atom_leakage, max_leakage
from mialeak.populations import Panel, Register
from mialeak.tables._recoding import Recoding, recoded
from mialeak.tables._register_cautions import (
    cautions_of_drawn,
    cautions_of_drawn_groups,
    cautions_of_people,
    cautions_of_same_people,
    cautions_of_strangers,
    cautions_of_uncounted_shares,
    uncounted_of_both,
)
from mialeak.tables._register_report import (
    PanelReport,
    PopulationReport,
    StratumInPopulation,
)
from mialeak.tables._rows import counts_of_rows, with_omitted
from mialeak.tables._sources import Source, repeated_cells

__all__ = [
    "check_population",
    "counts_of_table",
    "is_size",
    "panel_report",
    "population_report",
    "totals_of",
]

IntArray = npt.NDArray[np.int64]


def check_population(population: Any, strata: Any, prior: Any, panel: Any, **others: Any) -> None:
    """Refuse what has no answer beside a register or a panel, before anything is read."""
    for name, value in ({"population": population} | others if panel is not None else {}).items():
        if value is not None:
            why = "the panel stands for a population that is not known otherwise"
            unsupported("panel", f"with {name}", why, "Leave out one of the two")
    is_table = population is not None and not is_size(population)
    for name, value in (("strata", strata), ("prior", prior)):
        if value is not None and not is_table:
            rule = "come with population, the register as a table"
            invalid(name, rule, remedy=f"Pass the register, or leave {name} out")
    if isinstance(population, Register):
        rule = "be the register as a table, not a Register, whose cells have no values"
        remedy = "Call max_leakage(population, n) for one"
        invalid("population", rule, remedy=remedy, error=TypeError)
    is_whole = is_table and strata is None  # protections of such a sample have an answer
    for name, value in others.items():
        if value is not None and population is not None and not (is_whole and name == "protect"):
            if name == "protect" and strata is not None:
                rule = "be left out with strata, for which no protection is computed yet"
                invalid(name, rule, remedy="Leave out one of the two")
            rule = "be left out with population, which answers for the joint counts as they are"
            remedy = f"Leave out population: then {name} is answered for an infinite population"
            invalid(name, rule, remedy=remedy)


def is_size(population: Any) -> bool:
    """Whether this is a number of people, and no register."""
    return isinstance(population, (int, float, np.number))


def counts_of_table(frame: Any, population: Any, counts: Any) -> Any:
    """`counts` for the table itself: None if the register, or the panel, alone has that column."""
    if (
        population is None
        or is_size(population)
        or counts in names_of(frame)
        or counts not in names_of(population)
    ):
        return counts
    return None


def totals_of(
    frame: Any, beside: Any, counts: Any, given: Any, *, total: Any, missing: Any
) -> tuple[Any, Any]:
    """The values that are totals in the table, and those in the register or panel `beside` it.

    `counts` is the column of the table, `given` that of either.  Of two counted tables each has
    those that are among its values.

    Raises
    ------
    ValueError
        If a value is in neither.
    """
    if given is None or beside is None or is_size(beside) or given not in names_of(beside):
        return total, ()
    if counts is None:
        return (), total
    words = as_words(total)
    both: list[list[Any]] = []
    for table in (frame, beside):
        table = table.whole() if isinstance(table, Source) and words else table
        names = [name for name in names_of(table) if name != given] if words else []
        factors = {name: each for name in names for each in factor_if_plain(table, name, missing)}
        both.append([word for word in words if rows_of_total(factors, word)])
    for place, word in enumerate(words):
        if all(word not in part for part in both):
            rule = "be values of a category of the table, or of the one beside it"
            invalid("total", rule, index=place, value=word)
    return both[0], both[1]


def population_report(
    population: Any,
    values: dict[Any, Factor],
    cells: Cells,
    *,
    row_cells: IntArray,
    n: int | None,
    counts: Any,
    na: str,
    missing: Any,
    strata: Any,
    prior: float | None,
    table: Any = None,
    persons_of_rows: IntArray | None = None,
    total: Any = (),
    recoding: Recoding | None = None,
) -> tuple[PopulationReport | None, list[str]]:
    """The report for a table whose cells have `values`, sampled from the register `population`.

    None without a register.  Beside it the cautions about the register.

    Raises
    ------
    ValueError
        If the register lacks a column, has missing values and ``na="error"``, fewer people in a
        cell than the table has rows, or not more people than the release has rows; if a stratum
        of it has no rows in the table, or nobody else.
    """
    # Weights are those of rows of persons; a table of counts is in memory.
    rowwise = table if persons_of_rows is None or isinstance(table, Source) else {}
    if population is None or is_size(population):
        size = None if population is None else int(population)
        return None, cautions_of_drawn(rowwise, size, values)
    if strata is not None:
        _check_strata(strata, list(values), n, recoding)
    factors, persons, notes = _read(population, list(values), counts, missing, total, na)
    factors, _ = recoded(factors, recoding, persons)
    places = _places(factors, persons, na)
    register, place, first = _matched(factors, persons, places, values)
    people = np.append(register, 0)[place]
    rows = int(cells.counts.sum())
    over = cells.counts > people
    if over.any():
        cell = int(np.argmax(over))
        row = int(np.argmax(row_cells == cell))
        _refuse_cell(cell, cells.counts, people, row, values, factors)
    shown = np.zeros(register.size, np.int64)
    shown[place] = cells.counts
    whole = Register(register)
    n = _size(n, rows, whole.people)
    categories = {name: Factor(each.codes[first], each.levels) for name, each in factors.items()}
    parts: tuple[StratumInPopulation, ...] = ()
    if strata is None:
        leakage, cell_leakage = float(max_leakage(whole, n)), atom_leakage(whole, n)
        share = np.full(register.size, rows / whole.people)
    else:
        parts, leakage, cell_leakage, share = _stratified(strata, categories, register, shown)
    report = PopulationReport(
        register=whole,
        n=n,
        rows=rows,
        leakage=leakage,
        row_cells=row_cells,
        cell_counts=cells.counts,
        cell_people=people,
        cell_leakage=cell_leakage[place],
        cell_share=share[place],
        strata=parts,
        categories=categories,
        register_cells=register,
        _values=values,
        _prior=None if prior is None else as_share(prior, "prior"),
    )
    cautions = notes + cautions_of_periods(population, factors, "register")
    if persons is None:
        cautions += cautions_of_people(population)
    else:
        cautions += _of("register", cautions_of_sums(categories, register))
    of_rows = (row_cells >= 0) * (1 if persons_of_rows is None else persons_of_rows)
    names = [name for name in names_of(population) if name not in (*values, counts)]
    cautions += cautions_of_strangers(table, of_rows, population, names, missing)
    uncounted = list(uncounted_of_both(table, of_rows, population, persons, names, missing))
    cautions += cautions_of_drawn_groups(uncounted)
    if strata is None:
        cautions += cautions_of_sample(categories, register, shown)
        cautions += cautions_of_uncounted_shares(uncounted)
        return report, cautions + cautions_of_drawn(rowwise, whole.people, values)
    return report, cautions + cautions_of_strata(strata, categories, register, shown)


def panel_report(
    panel: Any,
    values: dict[Any, Factor],
    cells: Cells,
    *,
    table: Any,
    row_cells: IntArray,
    n: int,
    counts: Any,
    na: str,
    missing: Any,
    total: Any = (),
    recoding: Recoding | None = None,
) -> tuple[PanelReport | None, list[str]]:
    """The report for an attacker who knows the population by `panel` alone, and cautions.

    None without a panel.
    """
    if panel is None:
        return None, []
    factors, persons, notes = _read(panel, list(values), counts, missing, total, na, "panel")
    factors, _ = recoded(factors, recoding, persons)
    places = _places(factors, persons, na, "panel")
    rows, place, first = _matched(factors, persons, places, values)
    fresh = place < 0
    place = np.where(fresh, rows.size + np.cumsum(fresh) - 1, place)
    every = np.append(rows, np.zeros(int(fresh.sum()), np.int64))
    shown = np.zeros(every.size, np.int64)
    shown[place] = cells.counts
    categories = {
        name: _joined(factor, first, values[name], fresh) for name, factor in factors.items()
    }
    cautions = notes + cautions_of_periods(panel, factors, "panel")
    of_people = cautions_of_panel(categories, every, shown)
    if not of_people and persons is None and counts is None:
        of_people = cautions_of_same_people(table, row_cells >= 0, panel, values, missing)
    cautions += of_people
    law = Panel(every)
    report = PanelReport(
        panel=law,
        n=n,
        leakage=float(max_leakage(law, n)),
        row_cells=row_cells,
        cell_counts=cells.counts,
        cell_panel=every[place],
        cell_leakage=atom_leakage(law, n)[place],
    )
    return report, cautions


def _check_strata(strata: Any, names: list[Any], n: int | None, recoding: Recoding | None) -> None:
    if not isinstance(strata, Hashable):
        remedy = "Make one column of several, in the table and in the register, and pass its name"
        rule = f"be the name of one column, not {type(strata).__name__}"
        invalid("strata", rule, remedy=remedy, error=TypeError)
    if strata not in names:
        rule = "name one of the columns that are counted"
        if set(str(strata).split(",")) <= set(map(str, names)):
            remedy = "Make one column of several, in the table and in the register, and name it"
            invalid("strata", rule, value=strata, remedy=remedy)
        remedy = (
            "Add it to the columns: the counts by stratum leak at least as much as their sums"
            if len(names) > 1 or near(strata, names) == ""
            else near(strata, names)
        )
        invalid("strata", rule, value=strata, remedy=remedy)
    if recoding is not None and strata in recoding.rules:
        rule = "leave the column of the strata as it is, which merged ones would not be drawn from"
        invalid("recode", rule, value=strata, remedy="Recode the other columns")
    if n is not None:
        rule = "be left out with strata, whose sizes are those of the table"
        invalid("n", rule, value=n, remedy="max_leakage of a Stratified has other sizes")


def _stratified(
    strata: Any, categories: dict[Any, Factor], people: IntArray, rows: IntArray
) -> tuple[tuple[StratumInPopulation, ...], float, FloatArray, FloatArray]:
    """Each stratum, the leakage of a random person, that in each cell, the share drawn there."""
    factor = categories[strata]
    codes, size = codes_of(factor)
    sampled, total = summed(codes, rows, size), summed(codes, people, size)
    leakage, parts = np.empty(people.size), []
    for code in np.flatnonzero(total).tolist():
        n, whole = int(sampled[code]), int(total[code])
        value = factor.value(code) if code < len(factor.levels) else None  # missing
        where = f"of the stratum {value!r} of column {strata!r}"
        if n == 0:
            rule = f"have no people {where}, of which the table has no row; it has {whole:,}"
            remedy = "Leave them out: nobody of them can be in the table"
            invalid("population", rule, remedy=remedy)
        if n == whole:
            rule = f"have more people {where} than the table has rows ({n:,})"
            remedy = "Leave a stratum that was taken as a whole out of both: nobody is out of it"
            invalid("population", rule, remedy=remedy)
        inside = np.flatnonzero(codes == code)
        register = Register(people[inside])
        leakage[inside] = atom_leakage(register, n)
        parts.append(StratumInPopulation(value, n, whole, float(max_leakage(register, n))))
    average = math.fsum(part.people * part.leakage for part in parts) / int(people.sum())
    return tuple(parts), average, leakage, (sampled / np.maximum(total, 1))[codes]


def _size(n: int | None, rows: int, people: int) -> int:
    if n is None and rows >= people:
        rule = f"hold more people than the table has rows ({rows:,}); it holds {people:,}"
        invalid("population", rule, remedy="A table of everyone leaves nobody to be out of it")
    if n is not None and n >= people:
        rule = f"be at most {people - 1:,}, one less than the people of the population"
        invalid("n", rule, value=n, remedy="A release of everyone leaves nobody to be out of it")
    return rows if n is None else n


def _of(table: str, notes: list[str]) -> list[str]:
    """Notes on the table beside the one in question."""
    return [f"Of the {table}: {note[0].lower()}{note[1:]}" for note in notes]


def _read(
    population: Any,
    names: list[Any],
    counts: Any,
    missing: Any,
    total: Any,
    na: str,
    argument: str = "population",
) -> tuple[dict[Any, Factor], IntArray | None, list[str]]:
    """The register's columns of these names, the people of each row where rows are cells, notes."""
    given = names_of(population)
    if given:
        for name in names:
            if name not in given:
                rule = f"have the columns of the table; it has none named {name!r}"
                invalid(argument, rule, remedy=near(name, given))
    counted = counts is not None and counts in given
    table = "register" if argument == "population" else argument
    if isinstance(population, Source):
        if not counted:
            _check_is_no_count(population, names, argument)
            factors, people = population.cells(names, missing)
            every = with_omitted(population, factors)
            return factors, people, _of(table, cautions_of_omitted_counts(every, names, argument))
        population = population.whole()
    wanted = [*names, counts] if counted else names
    options = {"argument": argument, "chosen_by": argument}
    factors = dict(each_factor(population, wanted, missing=missing, **options))
    if counted:
        how = {"total": total, "cure": f"Pass the {table} before suppression: all of it is known"}
        persons, _, notes = counts_of_rows(
            population, counts, factors.pop(counts), factors, missing, na, **how
        )
        check_index(population, factors, counts)
        return factors, persons, _of(table, notes)
    _check_is_no_count(population, names, argument, factors)
    every = with_omitted(population, factors)
    return factors, None, _of(table, cautions_of_omitted_counts(every, factors, argument))


def _check_is_no_count(
    population: Any, names: list[Any], argument: str, factors: dict[Any, Factor] | None = None
) -> None:
    """Refuse a table of counts that is passed as if its rows were people.

    `factors` are its columns of these names, if they are in memory.
    """
    for name in names_of(population):
        if name in names or not is_count_name(name):
            continue
        if factors is not None:
            options = {"argument": argument, "chosen_by": argument}
            every = {**factors, **dict(each_factor(population, [name], **options))}
        elif population.can_be_read_again:
            cells, rows = population.cells([*names, name], ())
            every = repeated_cells(cells, rows, 2)
        else:
            continue
        if count_column(every) == name:
            rule = (
                f"have one row a person; it looks like a table of counts: column {name!r} "
                "holds whole numbers, and no two rows agree in the columns of the table"
            )
            invalid(argument, rule, remedy=f"Pass counts={name!r}, or leave it out")


def _places(
    factors: dict[Any, Factor], persons: IntArray | None, na: str, argument: str = "population"
) -> IntArray:
    """The rows of the register that count."""
    absent = np.logical_or.reduce([factor.codes < 0 for factor in factors.values()])
    if persons is not None:
        absent &= persons > 0
    if na == "error" and absent.any():
        gaps = [(name, factor.n_missing) for name, factor in factors.items() if factor.n_missing]
        where = listed(gaps, show=lambda each: f"{each[1]:,} in column {each[0]!r}")
        remedy = "Pass na='category' to count missing as a value, or na='drop' to leave them out"
        invalid(argument, f"have no missing values; there are {where}", remedy=remedy)
    kept = ~absent if na == "drop" else np.ones(absent.size, np.bool_)
    if persons is not None:
        kept &= persons > 0
    places = np.flatnonzero(kept)
    if not places.size:
        invalid(argument, "have at least one person without a missing value")
    return places


def _matched(
    factors: dict[Any, Factor],
    persons: IntArray | None,
    places: IntArray,
    values: dict[Any, Factor],
) -> tuple[IntArray, IntArray, IntArray]:
    """People in each cell of the register, the cell of the register of each of the table, a row.

    The second is -1 where nobody of the register is, the third the first row of each cell.
    """
    cells = count_cells([codes_of(each, places) for each in factors.values()], places.size)
    register = cells.counts
    if persons is not None:
        register = summed(cells.of_row, persons[places], cells.counts.size)
    first, columns = places[cells.first_row], []
    for name, factor in factors.items():
        size = len(factor.levels)
        codes = np.where(factor.codes[first] < 0, size, factor.codes[first]).astype(np.int64)
        columns.append((np.concatenate([codes, _codes_in(factor, values[name])]), size + 2))
    both = count_cells(columns, register.size + len(next(iter(values.values())).codes)).of_row
    place = both[register.size :]  # the register's cells come first, each new
    return register, np.where(place < register.size, place, -1), first


def _codes_in(factor: Factor, other: Factor) -> IntArray:
    """The values of `own` as codes of `factor`: two more for missing and for a value not there."""
    size = len(factor.levels)
    code_of = {factor.value(code): code for code in range(size)}
    shown, place = np.unique(other.codes, return_inverse=True)
    codes = [
        size if code < 0 else code_of.get(other.value(code), size + 1) for code in shown.tolist()
    ]
    return np.array(codes, np.int64)[place]


def _joined(factor: Factor, first: IntArray, other: Factor, fresh: npt.NDArray[np.bool_]) -> Factor:
    """The values of the rows `first` of `factor`, then those of the cells `fresh` of `own`."""
    size = len(factor.levels)
    codes = _codes_in(factor, other)
    codes = np.where(codes > size, size + other.codes, codes)[fresh]  # values that are not there
    codes[other.codes[fresh] < 0] = -1
    levels = [factor.value(code) for code in range(size)]
    levels += [other.value(code) for code in range(len(other.levels))]
    return Factor(np.concatenate([factor.codes[first], codes]), levels)


def _refuse_cell(
    cell: int,
    rows: IntArray,
    people: IntArray,
    row: int,
    values: dict[Any, Factor],
    factors: dict[Any, Factor],
) -> NoReturn:
    """Refuse a cell, by the first of its rows: its values may be those of one person."""
    remedy = "Every row of the table must be one of its people"
    for name, factor in values.items():
        value = factor.value(int(factor.codes[cell]))
        levels = [factors[name].value(code) for code in range(len(factors[name].levels))]
        if value is not None and value not in levels:
            remedy = f"It has no such value in column {name!r}"
            if str(value) in map(str, levels):
                remedy += ", but one of another type: convert the column of one of the two"
            break
    rule = (
        f"have at least as many people as the table has rows in every cell; it has "
        f"{int(people[cell]):,} in that of row {row:,} of the table, which has {int(rows[cell]):,}"
    )
    invalid("population", rule, remedy=remedy)
