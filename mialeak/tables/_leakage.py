"""From a frame to a :class:`TableReport`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_choice, as_count, invalid
from mialeak._columns import Factor
from mialeak.tables._cells import count_cells, frame_factors
from mialeak.tables._estimate import estimate_max_leakage
from mialeak.tables._margins import as_margins, margin_report
from mialeak.tables._protections import as_protections
from mialeak.tables._report import TableReport

__all__ = ["table_leakage"]

_NA = ("error", "category", "drop")


def table_leakage(
    frame: Any,
    columns: Sequence[Any] | None = None,
    *,
    margins: Sequence[Any] | None = None,
    n: int | None = None,
    na: Literal["error", "category", "drop"] = "error",
    confidence: float = 0.95,
    protect: Any = None,
    coarsen: float | None = None,
) -> TableReport:
    """How much publishing the counts of a table's joint cells leaks about its rows.

    Parameters
    ----------
    frame : table
        A pandas, polars or pyarrow table, whatever narwhals takes, or a dict of columns (arrays or
        lists of equal length).  One row a person.
    columns : sequence, optional
        Names of the columns whose joint values make the cells; by default all, or those that
        `margins` name.
    margins : sequence, optional
        Publish, in place of the joint cells, only the counts by some of the columns at a time: a
        column or a tuple of columns each, such as ``["age", "sex", ("age", "sex")]``.
    n : int, optional
        Rows of the release, the target included.  By default those of the table; another number
        asks about a release of that size from the same population.
    na : {"error", "category", "drop"}
        What to do with missing values (None, NaN, NaT, ``NA``, null): refuse them, count them as a
        value of their own, or leave their rows out, which the report then says.
    confidence : float
        Nominal coverage of the intervals.
    protect : protection, sequence or dict, optional
        Compare what would leak if the counts were rounded, suppressed or made noisy: such as
        ``Round(5)``, a list of protections, or a dict of names.
    coarsen : float, optional
        Merge cells until the estimate for the merged counts is at most this leakage, and compare.

    Returns
    -------
    TableReport
        The estimate for the population the rows came from, with its interval; the plug-in value,
        which is exact if the table's own frequencies were the population; cells, rows at risk,
        rows needed for a target leakage; with `margins` what these leak, in ``.margins``; with
        `protect` and `coarsen` what these leave, in ``.protections``.  ``print`` shows it.

    Raises
    ------
    TypeError
        If `frame` is no table, a column does not hold single values of one type, or `protect`
        holds something else than protections.
    ValueError
        If columns are missing (the near ones are named), chosen twice or of unequal length, there
        are no rows, values are missing and ``na="error"``, or `n` or `confidence` is out of range;
        with `margins`, if one is empty, names a column twice or one that is not among `columns`,
        they have more than 10,000 cells together, or there are fewer than 3 rows; if `protect` or
        `coarsen` come with `margins`.
    ImportError
        If `frame` is a data frame and the extra ``mialeak[dataframe]`` is not installed.

    See Also
    --------
    estimate_max_leakage : the same estimate from counts.
    mialeak.discrete.max_leakage : the exact leakage of a known law.

    Notes
    -----
    The counts determine the empirical law of the rows, so the leakage of publishing them is the
    largest that any learning procedure on these columns can have [AGP25, Theorem 14].

    The margins are a function of the joint counts and leak no more than these.  They are the mean
    of indicators, with a covariance that follows from the table, so that their leakage is that of a
    released mean [AB25, Section 3], taken over all margins together; it is told for every row, as
    the limit for many rows in every cell.  See :func:`mialeak.mean.margin_leakage_scores`.

    Values are compared by equality: ``1`` and ``"1"`` in different columns are what they are, and
    a column must not mix types.  A cell that no row shows takes no part.

    **Accuracy**: the cells are counted exactly.  :func:`estimate_max_leakage` says how good the
    estimate is.

    A protection's estimate integrates its leakage for a cell of given probability over the same
    fitted law, so that it can be compared with the estimate for the raw counts.  It is what the
    protected count of the target's own cell leaks, as with a number of rows that is not published;
    with a published one all counts together leak at most what the raw counts do.  It has no
    interval; how far it was off for known laws stands in ``docs/estimate_coverage.md``.

    The limit for margins, compared with enumeration on a table of four cells, is off by 5 % where
    the rarest cell expects one row and by 0.6 % where it expects eight; the error falls as 1/n.

    **Cost**: linear in the rows; the combined codes are sorted only where cells times the levels of
    the next column exceed both 2**20 and twice the rows.  The report keeps 8 bytes a row and no
    reference to the frame.

    Examples
    --------
    >>> from mialeak.datasets import load_adult
    >>> from mialeak.tables import table_leakage
    >>> report = table_leakage(load_adult().columns, ["age", "education", "race", "sex"])
    >>> report.n_cells, report.n_unique
    (3355, 1268)
    >>> round(report.plug_in, 3)
    0.092
    >>> report.estimate.value > report.plug_in
    True
    >>> row = report.riskiest(1)[0]
    >>> row.row, row.values
    (6, {'age': 49, 'education': '9th', 'race': 'Black', 'sex': 'Female'})

    Two one-way tables and a two-way table of the same people leak less than all four columns:

    >>> margins = ["age", "race", ("education", "sex")]
    >>> report = table_leakage(load_adult().columns, margins=margins)
    >>> average = report.margins.average
    >>> print(f"{average.lower:.4f} to {average.upper:.4f}")
    0.0205 to 0.0206
    """
    as_choice(na, "na", _NA)
    if n is not None:
        n = as_count(n, "n", least=1 if margins is None else 2)
    columns = [columns] if isinstance(columns, str) else columns
    named = None if margins is None else as_margins(margins, columns)
    if named is not None and columns is None:
        columns = list(dict.fromkeys(name for margin in named for name in margin))
    factors = frame_factors(frame, columns)
    missing = np.logical_or.reduce([factor.codes < 0 for factor in factors.values()])
    n_missing = int(np.count_nonzero(missing))
    if n_missing and na == "error":
        _refuse_missing(factors)
    kept: Any = ~missing if n_missing and na == "drop" else slice(None)

    codes = {name: _codes(factor, kept) for name, factor in factors.items()}
    rows = len(next(iter(codes.values()))[0])
    if not rows:
        invalid("frame", "have at least one row without a missing value")
    cells = count_cells(codes.values(), rows)
    row_cells, first_row = cells.of_row, cells.first_row
    if rows < len(missing):
        row_cells = np.full(len(missing), -1)
        row_cells[kept] = cells.of_row
        first_row = np.flatnonzero(kept)[first_row]

    n = rows if n is None else n
    values = {name: Factor(f.codes[first_row], f.levels) for name, f in factors.items()}
    report = None
    if named is not None:
        report = margin_report(named, codes, cells, values, row_cells=row_cells, n=n)
    return TableReport(
        estimate=estimate_max_leakage(cells.counts, n, confidence=confidence),
        columns=tuple(factors),
        rows=rows,
        n=n,
        row_cells=row_cells,
        cell_counts=cells.counts,
        rows_dropped=len(missing) - rows,
        rows_missing=n_missing if rows == len(missing) else 0,
        margins=report,
        _cell_values=tuple(values.values()),
        _protect=as_protections(protect, coarsen, margins),
    )


def _codes(factor: Factor, kept: Any) -> tuple[npt.NDArray[Any], int]:
    """Codes of the rows `kept`, a missing value being one more level, and the number of levels."""
    codes, size = factor.codes[kept], len(factor.levels)
    missing = codes < 0
    if not missing.any():
        return codes, size
    return np.where(missing, size, codes), size + 1


def _refuse_missing(factors: dict[Any, Factor]) -> NoReturn:
    counts = [(name, factor.n_missing) for name, factor in factors.items() if factor.n_missing]
    where = ", ".join(f"{count:,} in column {name!r}" for name, count in counts)
    remedy = "Pass na='category' to count missing as a value, or na='drop' to leave such rows out"
    invalid("frame", f"have no missing values; there are {where}", remedy=remedy)
