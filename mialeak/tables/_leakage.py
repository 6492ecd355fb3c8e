"""From a table to a :class:`TableReport`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_choice, as_count
from mialeak._cells import Cells, codes_of, count_cells
from mialeak._checks.lines import cautions_of_blank_rows, cautions_of_code_lists
from mialeak._checks.tables.cautions import (
    cautions_of,
    cautions_of_dropped,
    cautions_of_measures,
    cautions_of_numbers,
    cautions_of_periods,
    cautions_of_persons,
    cautions_of_uncounted_persons,
)
from mialeak._checks.tables.copies import cautions_later
from mialeak._checks.tables.crosstabs import cautions_of_index
from mialeak._checks.tables.rows import cautions_of_omitted_counts, cautions_of_rows
from mialeak._checks.tables.running import cautions_of_running
from mialeak._checks.tables.structure import (
    cautions_of_alike,
    cautions_of_counts,
    cautions_of_dependence,
    cautions_of_melted,
    cautions_of_repeats,
    cautions_of_shares,
    cautions_of_stacked,
)
from mialeak._checks.tables.totals import cautions_of_sums
from mialeak._columns import Factor
from mialeak._results import as_confidence
from mialeak.tables._estimate import estimate_max_leakage
from mialeak.tables._margin_report import margin_report
from mialeak.tables._margins import MarginReport
from mialeak.tables._persons import check_person, persons_report
from mialeak.tables._protections import as_protections
from mialeak.tables._recoding import Recoding, as_recoding, cautions_of_recoding, recoded
from mialeak.tables._register import (
    check_population,
    counts_of_table,
    is_size,
    panel_report,
    population_report,
    totals_of,
)
from mialeak.tables._report import LaterCautions, TableReport
from mialeak.tables._rows import (
    all_columns,
    as_asked,
    blank_rows,
    kept_cells,
    kept_rows,
    persons_in,
    read_rows,
    repeated,
    with_omitted,
)
from mialeak.tables._secrets import check_secret, secret_report
from mialeak.tables._sources import Source, as_table, beginning, repeated_cells

__all__ = ["table_leakage"]

IntArray = npt.NDArray[np.int64]

_NA = ("error", "category", "drop")


def table_leakage(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    exclude: Sequence[Any] | None = None,
    counts: Any = None,
    population: Any = None,
    strata: Any = None,
    prior: float | None = None,
    panel: Any = None,
    person: Any = None,
    margins: Sequence[Any] | None = None,
    n: int | None = None,
    na: Literal["error", "category", "drop"] = "error",
    missing: Any = (),
    total: Any = (),
    suppressed: Any = None,
    confidence: float = 0.95,
    independent: bool = False,
    protect: Any = None,
    coarsen: float | None = None,
    secret: Any = None,
    recode: Any = None,
    progress: bool = False,
) -> TableReport:
    """How much publishing the counts of a table's joint cells leaks about its rows.

    Parameters
    ----------
    table : table
        A pandas, polars or pyarrow table, whatever narwhals takes, or a dict of columns (arrays or
        lists of equal length).  One row a person, or with `counts` one row a cell.  The rows of a
        polars LazyFrame, a DuckDB relation, a Dask or PySpark DataFrame, an Ibis table, an Arrow
        stream or a pyarrow dataset are counted where they are, and only the cells come.  So are
        those of a large file or a folder of Parquet files, by its path; the path of another file
        is read as the shell reads it without options.
    columns : sequence, optional
        Names of the columns whose joint values make the cells; by default all, or those that
        `margins` name.
    exclude : sequence, optional
        Names of the columns to leave out, such as identifiers; all others are counted by.
    counts : str, optional
        Name of the column that holds the count of each row, for a table that is already counted.
        The answer is that for the table with one row a person.  A count may be 0.  With
        `population`, of the table, of the register, or of both.
    population : table or int, optional
        The register that the rows were sampled from, without replacement: a table with the same
        columns, in one of the forms of `table`, with one row a person or a column `counts`.  The
        answer is then exact and needs no estimate.  Or the number of its people, if no more is
        known of them: an estimate for a sample of so many.
    strata : str, optional
        Name of the counted column whose values are the strata of the sample: so many people as the
        table has rows were drawn from each, out of those of the register.
    prior : float, optional
        The probability that a person is in the table before it is seen, for the share of true
        claims beside the register's answer.  By default the share of its people in the table.
    panel : table, optional
        A sample of the population, with the same columns, none of whose rows are in the table: the
        leakage to an attacker who knows the population by it alone.
    person : str, optional
        Name of the column that names the person of a row, for tables in which persons have several
        rows (visits, purchases).  The report is then on the leakage of persons.
    margins : sequence, optional
        Publish, in place of the joint cells, only the counts by some of the columns at a time: a
        column or a tuple of columns each, such as ``["age", "sex", ("age", "sex")]``.
    n : int, optional
        Rows of the release, the target included.  By default those of the table; another number
        asks about a release of that size from the same population.
    na : {"error", "category", "drop"}
        What to do with missing values (None, NaN, NaT, ``NA``, null): refuse them, count them as a
        value of their own, or leave their rows out, which the report then states.
    missing : value or sequence, optional
        Values that mark a missing one too, such as ``["?", -9, "sex=9"]``, the last of one column
        alone.  The report warns of the usual markers that are not among them.
    total : value or sequence, optional
        With `counts`, values of categories that stand for the sum of others, such as ``"Total"``:
        their rows are left out, in the table, the register and the panel, where these are counted.
        ``"sex=0"`` is the value 0 of column "sex" alone, as is needed for a number that is a value
        of several columns.
    suppressed : int or dict, optional
        With `counts`, the count to take where a mark such as "<5", "c", ":" or "*" stands for one
        that is not published; or a dict of marks, such as ``{"<5": 1, "-": 0}``.  A dash, a number
        and, beside others, ``""`` must be named.  The report states how many were taken so.
    confidence : float
        Nominal coverage of the intervals.
    independent : bool
        Take the columns of different margins to be independent, as columns drawn independently
        by design are.  What margins leak is then known exactly.
    protect : protection, sequence or dict, optional
        Compare what would leak if the counts were rounded, suppressed or made noisy: such as
        ``Round(5)`` or ``Pipeline(Suppress(7), Round(5))`` of :mod:`mialeak.mechanisms`, a list of
        protections, or a dict of names.  ``Pram(matrix, by=cells)`` where each cell has more than
        64 rows.
    coarsen : float, optional
        Merge cells until the estimate for the merged counts is at most this leakage, and compare.
    secret : str, optional
        Name of a column that an attacker wants to learn of a person who is known to be in the
        table, and of whom the other columns are known.  It is counted by as the others are.  With
        `protect`, from the protected counts too.
    recode : Recoding, mapping or path, optional
        Make columns coarser before they are counted, those of the register too: rules such as
        ``{"age": {"bin": 5, "top": 80}}``, or the file of a recode table.
    progress : bool
        Show a progress bar while margins are scored (by tqdm, the extra ``progress``).

    Returns
    -------
    TableReport
        The estimate for the population the rows came from, with its interval; the plug-in value,
        which is exact if the table's own frequencies were the population; cells, rows at risk,
        rows needed for a target leakage; with `population` the exact leakage, in
        ``.population``; with `panel` that for such an attacker, in ``.panel``; with `person` that
        of persons, in ``.persons``; with `margins` what these leak, in ``.margins``; with `protect`
        and `coarsen` what these leave, in ``.protections``; with `secret` how well it is guessed,
        in ``.secret``.  ``print`` shows it.

    Raises
    ------
    TypeError
        If `table` is no table, a column does not hold single values of one type, or `protect`
        holds something else than protections.
    ValueError
        If columns are missing (the near ones are named), chosen twice or of unequal length, there
        are no rows, values are missing and ``na="error"``, or `n` or `confidence` is out of range;
        if the frame looks like a table of counts or a cross-tabulation and `counts` is not given;
        if a count is no whole number of at least 0, a row is a total, or the counts have the name
        of survey weights; with `margins`, if one is empty, names a column twice, the counts or one
        that is not among `columns`, two of them share
        a column with `independent`, they have more than 10,000 cells together (not counting those
        that others hold), or there are fewer than 3 rows; if `protect` or
        `coarsen` come with `margins`, or `secret` does, or is no column.
        With `population`, if it lacks a column, has fewer people in a cell than the table has
        rows, or not more than `n` in all, or comes with `margins` or `coarsen`; with `strata`,
        if the table has no row of one, or all of its people, or `recode` changes its column.
        With `person`, if a row's is missing, each has one row, or it comes with `counts`,
        `population`, `panel`, `margins`, `protect`, `coarsen` or `secret`.  With `panel`, if it
        lacks a column, or comes with `population`, `margins`, `protect` or `coarsen`.
        With `counts`, if `total` names no value of a counted table, or `suppressed` a count that
        its mark excludes, or the counts of a register are suppressed; if they come without
        `counts`.
    ImportError
        If `table` is a data frame and the extra ``mialeak[dataframe]`` is not installed, or a file
        whose extra is not.
    OSError
        If `table` or `population` is a path that cannot be opened.

    See Also
    --------
    estimate_max_leakage : the same estimate from counts.
    mialeak.discrete.max_leakage : the exact leakage of a known law.

    Notes
    -----
    The counts determine the empirical law of the rows, so the leakage of publishing them is the
    largest that any learning procedure on these columns can have [AGP25, Theorem 14].

    **Margins** are a function of the joint counts of their columns and leak no more than these,
    and each of them is a function of all, so that together they leak at least what a single one
    does.  Both ends are exact leakages of a table of counts, and what the report calls `low` and
    `high`; for a row they are taken at its own cells.  They meet for a margin that holds all
    others, which is answered as its table of counts is.  The value between them takes the law of
    the rarest count, and for the others the limit for many rows, as of a mean of indicators [AB25,
    Section 3; :func:`mialeak.means.margin_leakage_scores`]; that for the population rests on laws
    fitted to the counts of each margin.  With `independent`, margins without a common column have
    independent binomial counts, the likelihood ratio is ``prod_j N_j / (n p_j)``, and the leakage,
    ``E|ratio - 1| / 2``, is computed from its law.

    **A register** makes the answer exact: the people of a cell are known, and the leakage of a
    sample of n of them is that of :func:`mialeak.discrete.max_leakage` for a
    :class:`~mialeak.populations.Register`.  Beside it stand the classical measures, which are
    functions of the same c_k rows and N_k people of a cell: the k-map, the smallest N_k of a cell
    shown; delta-presence, the smallest and the largest c_k / N_k; the share of rows with N_k = 1.
    A claim that a person is in the table is right c_k / N_k of the time.  A sample of strata is
    that of :class:`~mialeak.populations.Stratified`, published.

    **Persons** with m rows in a cell of probability p, out of n, leak the difference of two
    binomial tails, ``P(m + Bin(n - m, p) > t) - P(Bin(n, p) > t)``, where t is the most rows with
    ``(c)_m <= (n)_m p**m`` (falling factorials).  With rows in several cells there are bounds:
    below by one cell, above by a sum over the cells, each given the rows in those before it, and by
    half the standard deviation of the likelihood ratio.

    Values are compared by equality: ``1`` and ``"1"`` in different columns are what they are, and
    a column must not mix types.  A cell that no row shows takes no part.

    **Accuracy**: the cells are counted exactly.  :func:`estimate_max_leakage` states how good the
    estimate is.

    The value for margins errs for cells that expect few rows.  Its average was 8 % too low to 0.1 %
    too high by own frequencies (200 laws), 8 % too low to 10 % too high for the population (254
    tables, releases of no more rows): go by `high`.  With `independent`: below 5e-5 relative.

    A protection's estimate integrates its leakage for a cell of given probability over the same
    fitted law, so that it can be compared with the estimate for the raw counts.  It is what the
    protected count of the target's own cell leaks, as with a number of rows that is not published;
    with a published one all counts together leak at most what the raw counts do.  It has no
    interval; how far it was off for known laws stands in ``docs/estimate_coverage.md``.

    **Cost**: linear in the rows; the combined codes are sorted only where cells times the levels of
    the next column exceed both 2**20 and twice the rows.  Several margins take the cube of their
    cells: 28 two-way margins of Adult (6,994 cells) 6 s on a core and 0.6 GB.  Independent margins
    take 1 ms for each combination of their counts.  The report keeps 8 bytes a row and no reference
    to the frame; of a table that is counted where it is, 8 bytes a cell, and the lazy frame or the
    path, by which :meth:`TableReport.fetch` filters the rows at risk.

    Examples
    --------
    >>> from mialeak.datasets import load_adult
    >>> from mialeak.tables import table_leakage
    >>> report = table_leakage(load_adult().columns, ["age", "education", "race", "sex"])
    >>> report.n_cells, report.n_unique
    (3355, 1268)
    >>> round(report.plug_in, 3)
    0.092
    >>> row = report.riskiest(1)[0]
    >>> row.row, row.values
    (6, {'age': 49, 'education': '9th', 'race': 'Black', 'sex': 'Female'})

    A table that is already counted gives the same answer:

    >>> table = {"sex": ["f", "f", "m", "m"], "smokes": ["no", "yes", "no", "yes"]}
    >>> report = table_leakage({**table, "n": [301, 60, 274, 93]}, counts="n")
    >>> report.rows, report.n_cells
    (728, 4)

    So does a lazy frame, of which only the cells come, and the rows at risk when they are fetched:

    >>> import polars as pl
    >>> lazy = pl.LazyFrame(load_adult().columns)
    >>> report = table_leakage(lazy, ["age", "education", "race", "sex"])
    >>> report.n_cells, report.n_unique, report.source.engine
    (3355, 1268, 'polars')
    >>> report.fetch(1).collect().height
    1

    A sample whose register is at hand, here every tenth row of Adult:

    >>> adult = load_adult().columns
    >>> sample = {name: values[::10] for name, values in adult.items()}
    >>> columns = ["age", "education", "race", "sex"]
    >>> population = table_leakage(sample, columns, population=adult).population
    >>> print(f"{population.leakage:.4f} {population.unique_share:.3f} {population.k_map}")
    0.3064 0.041 1

    Two one-way tables and a two-way table of the same people leak less than all four columns:

    >>> margins = ["age", "race", ("education", "sex")]
    >>> report = table_leakage(load_adult().columns, margins=margins)
    >>> average = report.margins.plug_in.average
    >>> print(f"{average.value:.4f}, certainly between {average.low:.4f} and {average.high:.4f}")
    0.0205, certainly between 0.0179 and 0.0924
    >>> average = report.margins.average
    >>> print(f"for the population between {average.low:.3f} and {average.high:.3f}")
    for the population between 0.016 and 0.115
    """
    protection = {"protect": protect, "coarsen": coarsen}
    check_population(population, strata, prior, panel, margins=margins, **protection)
    as_choice(na, "na", _NA)
    n = None if n is None else as_count(n, "n", least=1 if margins is None else 2)
    people = population if is_size(population) else None
    table, population, panel = as_table(table), as_table(population), as_table(panel)
    others = {"population": population, "panel": panel, "counts": counts, "secret": secret}
    exclude = check_person(table, person, columns, exclude, margins=margins, **protection, **others)
    beside = population if panel is None else panel
    column = counts_of_table(table, beside, counts)
    totals = totals_of(table, beside, column, counts, total=total, missing=missing)
    if isinstance(table, Source) and (column is not None or person is not None):
        table = table.whole()
    columns, named = as_asked(columns, column, margins, independent)
    columns = check_secret(secret, columns, margins, column)
    options = {"exclude": exclude, "total": totals[0], "suppressed": suppressed}
    counted = _count(table, columns, column, na, missing, recode, **options)
    cells, values, row_cells = counted.cells, counted.values, counted.row_cells
    reading = {"counts": counts, "na": na, "missing": missing, "total": totals[1]}
    reading |= {"row_cells": row_cells, "recoding": counted.recoding}
    options = {"strata": strata, "prior": prior, "table": table, "persons_of_rows": counted.persons}
    register, of_register = population_report(population, values, cells, n=n, **options, **reading)
    n = counted.rows if n is None else n
    beside_panel, of_panel = panel_report(panel, values, cells, n=n, table=table, **reading)
    protections = as_protections(protect, coarsen, margins, values, cells.counts, register)
    question = {"row_cells": row_cells, "n": n, "confidence": as_confidence(confidence)}
    options = {"counts": cells.counts, "missing": missing, **question}
    of_persons, unknown = persons_report(table, person, **options)
    question |= {"independent": independent, "progress": progress}
    of_margins, dependent = _margins(named, counted, question)
    cautions = [*of_register, *of_panel, *_cautions(counted, person, column)]
    return TableReport(
        estimate=estimate_max_leakage(cells.counts, n, confidence=confidence, population=people),
        columns=tuple(counted.factors),
        rows=counted.rows,
        n=n,
        row_cells=row_cells,
        cell_counts=cells.counts,
        rows_dropped=counted.n_dropped,
        rows_missing=counted.n_missing,
        margins=of_margins,
        population=register,
        panel=beside_panel,
        persons=of_persons,
        people=None if people is None else int(people),
        secret=secret_report(secret, values, cells.counts, row_cells, protections.mechanisms),
        recoding=counted.recoding,
        counts=column,
        source=table if isinstance(table, Source) else None,
        cells_empty=counted.n_empty,
        columns_stripped=tuple(k for k, factor in counted.factors.items() if factor.stripped),
        _stated=tuple(dict.fromkeys([*cautions, *unknown, *dependent])),
        _cell_values=tuple(values.values()),
        _protect=protections,
    )


@dataclass(frozen=True)
class _Counted:
    """The rows of a table that count, and their cells.

    `unrecoded` are the columns before they were recoded, `persons` those of each row of a table of
    counts, `kept` which rows count, `row_cells` the cell of each row (-1 for a dropped one),
    `values` those of each cell.
    """

    table: Any
    unrecoded: dict[Any, Factor]
    factors: dict[Any, Factor]
    persons: IntArray | None
    kept: npt.NDArray[np.bool_]
    cells: Cells
    row_cells: IntArray
    values: dict[Any, Factor]
    recoding: Recoding | None
    n_empty: int
    n_dropped: int
    n_missing: int
    notes: list[str]

    @property
    def rows(self) -> int:
        """Persons in all cells."""
        return persons_in(self.kept, self.persons)


def _count(
    table: Any, columns: Any, counts: Any, na: str, missing: Any, recode: Any, **options: Any
) -> _Counted:
    """Read, recode and count the columns of a table."""
    options |= {"counts": counts, "missing": missing, "na": na}
    unrecoded, persons, empty, notes = read_rows(table, columns, **options)
    factors, recoding = recoded(unrecoded, as_recoding(recode), persons)
    kept, n_missing = kept_rows(factors, persons, na, counts)
    cells, row_cells, values = kept_cells(factors, kept, persons)
    return _Counted(
        table=table,
        unrecoded=unrecoded,
        factors=factors,
        persons=persons,
        kept=kept,
        cells=cells,
        row_cells=row_cells,
        values=values,
        recoding=recoding,
        n_empty=empty,
        n_dropped=n_missing if na == "drop" else 0,
        n_missing=n_missing if na == "category" else 0,
        notes=notes,
    )


def _margins(
    named: list[tuple[Any, ...]] | None, counted: _Counted, options: dict[str, Any]
) -> tuple[MarginReport | None, list[str]]:
    """What the margins leak, and the cautions about their independence; None without margins."""
    if named is None:
        return None, []
    places, persons = np.flatnonzero(counted.kept), counted.persons
    every = places if persons is None else repeated(places, persons[places])
    codes = {name: codes_of(factor, every) for name, factor in counted.factors.items()}
    cautions = cautions_of_dependence(named, codes) if options["independent"] else []
    joint = counted.cells if persons is None else count_cells(codes.values(), every.size)
    return margin_report(named, codes, joint, counted.values, **options), cautions


def _cautions(counted: _Counted, person: Any, counts: Any) -> list[str | LaterCautions]:
    """What the report states first, and what computes more of it."""
    table, factors, values = counted.table, counted.factors, counted.values
    persons, sizes = counted.persons, counted.cells.counts
    absent = 0 if persons is not None else counted.n_dropped + counted.n_missing
    blank = blank_rows(table, counted.unrecoded) if absent else 0
    cautions = [
        *counted.notes,
        *cautions_of_dropped(factors, counted.rows, counted.n_dropped - blank),
        *cautions_of_blank_rows(blank if counted.n_missing else 0),
        *cautions_of_index(table, counted.unrecoded if persons is None else {}),
        *cautions_of(factors, persons, counted.unrecoded),
        *cautions_of_recoding(counted.unrecoded, factors, counted.recoding),
    ]
    if person is None:
        cautions += cautions_of_periods(table, factors) + cautions_of_alike(values, sizes)
    if isinstance(table, Source) and persons is not None:
        # Two rows of a cell show what is alone, and what is not.
        factors, persons = repeated_cells(factors, persons, 2), None
        cautions += cautions_of_persons(factors)
    if persons is None:
        everything = with_omitted(table, counted.unrecoded)
        cautions += cautions_of_code_lists(counted.unrecoded, everything)
        stacked = cautions_of_stacked(values, sizes)
        if person is not None:
            return [*cautions, *cautions_of_numbers(person, everything), *stacked]
        cautions += cautions_of_uncounted_persons(table, factors, everything, beginning)
        in_memory, is_whole = not isinstance(table, Source), factors is counted.unrecoded
        cells = counted.cells if in_memory and is_whole and counted.kept.all() else None
        of_rows = cautions_of_omitted_counts(everything, counted.unrecoded, cells=cells)
        of_rows = of_rows or cautions_of_rows(factors, counted.cells, values, everything)
        if not (of_rows := of_rows + stacked):
            asked, of_cells = (everything, None) if in_memory else (values, sizes)
            of_rows = cautions_of_melted(asked, of_cells, factors)
        later = cautions_later(everything if in_memory else {}, values, sizes)
        return [*cautions, *of_rows, *([] if of_rows else later)]
    every = all_columns(table, counted.unrecoded, counts)
    return [
        *cautions,
        *cautions_of_repeats(every),
        *cautions_of_measures(every, factors),
        *(cautions_of_sums(values, sizes) + cautions_of_running(values, sizes)),
        *cautions_of_counts(factors, sizes, counts),
        *(cautions_of_stacked(values, sizes, True) or cautions_of_shares(values, sizes)),
    ]
