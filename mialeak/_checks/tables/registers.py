"""What the report states first on a sample and its register, or a panel beside the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._cells import codes_of, count_cells, summed
from mialeak._checks.samples import (
    LEVEL,
    differ_together,
    distance_of_shares,
    log_chance_of_all_cells,
    shares_differ,
)
from mialeak._checks.tables.structure import common_divisor
from mialeak._columns import Factor

__all__ = [
    "cautions_of_agreement",
    "cautions_of_panel",
    "cautions_of_sample",
    "cautions_of_strata",
    "pairs_of_both",
    "pairs_of_columns",
]

IntArray = npt.NDArray[np.int64]

#: Pairs of columns that are compared with the register.
_MOST_PAIRS = 20


def cautions_of_sample(
    categories: Mapping[Any, Factor], people: IntArray, rows: IntArray
) -> list[str]:
    """A sentence for each sign that the table is no random sample of its register.

    `categories`, `people` and `rows` (of the table) are those of the register's cells.
    """
    if not 0 < rows.sum() < people.sum():
        return []
    cautions = []
    other = [name for name, factor in categories.items() if _differs(factor, people, rows)]
    if other:
        cautions.append(
            f"The table is no simple random sample of the register: their shares differ in column "
            f"{listed(other)} (chi-squared test, p < {LEVEL:g}). The answer is for a sample in "
            "which everyone is equally likely. If it was stratified, pass strata=, the column of "
            "the strata; if it is about a part of the register, pass the people of that part."
        )
    if rows.all() and log_chance_of_all_cells(people, int(rows.sum())) < np.log(LEVEL):
        cautions.append(
            "The table shows each of the register's cells, the rare ones too, which a random "
            f"sample would not (p < {LEVEL:g}): the register may have been made from the table "
            "and its weights. Pass the register of all people; the leakage is too low without "
            "those that the table does not show."
        )
        return cautions
    coded = [codes_of(factor) for factor in categories.values()]
    parts = [(rows, people), *pairs_of_columns(coded, rows, people)]
    cautions += cautions_of_agreement(parts, "pass strata=, the column of the strata")
    divisor = common_divisor(people)
    if divisor > 1:
        cautions.append(
            f"Each cell of the register holds a multiple of {divisor:,} people, as if the counts "
            f"were rounded or everyone were there {divisor:,} times. Pass each person once, or "
            "the counts before rounding."
        )
    return cautions


def pairs_of_columns(
    coded: Sequence[tuple[npt.NDArray[Any], int]], rows: IntArray, people: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows and the people of each cell of two columns, given by their codes and sizes."""
    for pair in islice(combinations(coded, 2), _MOST_PAIRS):
        cells = count_cells(pair, len(people))
        drawn, whole = (summed(cells.of_row, each, len(cells.counts)) for each in (rows, people))
        yield drawn, whole


def cautions_of_agreement(parts: Iterable[tuple[IntArray, IntArray]], cure: str) -> list[str]:
    """A sentence if in one of these tables a sample has the shares of its register too exactly.

    `cure` is what to do if the sample was stratified.
    """
    agreeing = (_of_agreement(*distance_of_shares(*each), "the register", cure) for each in parts)
    return next(filter(None, agreeing), [])


def cautions_of_strata(
    strata: Any, categories: Mapping[Any, Factor], people: IntArray, rows: IntArray
) -> list[str]:
    """A sentence if within strata, the values of that column, the table is no random sample."""
    codes, size = codes_of(categories[strata])
    differing: dict[Any, list[str]] = {}
    freedom, distance = 0, 0.0
    for stratum in range(size):
        inside = codes == stratum
        if not 0 < rows[inside].sum() < people[inside].sum():
            continue
        of_stratum = distance_of_shares(rows[inside], people[inside])
        freedom, distance = freedom + of_stratum[0], distance + of_stratum[1]
        for name, factor in categories.items():
            part = Factor(factor.codes[inside], factor.levels)
            if name != strata and _differs(part, people[inside], rows[inside]):
                missing = stratum == len(categories[strata].levels)
                value = None if missing else categories[strata].value(stratum)
                differing.setdefault(name, []).append(repr(value))
    for name, factor in categories.items():
        is_new = name not in (*differing, strata)
        if is_new and differ_together(codes, codes_of(factor), people, rows):
            differing[name] = []
    places = {
        name: f"stratum {listed(values, show=str)} (chi-squared test, p < {LEVEL:g})"
        for name, values in differing.items()
        if values
    }
    together = f"all strata together (Bernstein's inequality, p < {LEVEL:g})"
    return [
        f"Within strata the table is no random sample of the register: its shares differ in column "
        f"{name!r} in {places.get(name, together)}. The answer is for samples in which everyone of "
        "a stratum is equally likely."
        for name in differing
    ] + _of_agreement(
        freedom, distance, "its strata", "pass strata=, a column with a value for each of these"
    )


def _of_agreement(freedom: int, distance: float, within: str, cure: str) -> list[str]:
    """A sentence if a sample agrees with its register, or with its strata, better than by chance.

    Every tenth person of a sorted list is one of ten samples, of which most have other tables.
    """
    from scipy.special import chdtr

    if not freedom or chdtr(freedom, distance) >= LEVEL:
        return []
    return [
        f"The sample has the shares of {within}, in cells of its table, more exactly than a random "
        f"sample would (chi-squared test, p < {LEVEL:g}), as if every k-th person of a sorted list "
        "had been taken, or so many from each stratum. Of a sorted list only k samples are "
        f"possible, and the leakage may be up to 1. If persons were drawn at random within "
        f"{'finer strata' if within == 'its strata' else 'strata'}, {cure}."
    ]


def cautions_of_panel(
    categories: Mapping[Any, Factor], panel: IntArray, rows: IntArray
) -> list[str]:
    """A sentence for each sign that the panel is no sample of its own from the table's population.

    `panel` and `rows` (of the table) are those of the cells that either shows.  If both are samples
    of one law, the table is a simple random sample of the two together.
    """
    both = panel + rows
    cautions = []
    other = [name for name, factor in categories.items() if _differs(factor, both, rows)]
    if other:
        cautions.append(
            f"The panel is no sample of the population of the table: their shares differ in column "
            f"{listed(other)} (chi-squared test, p < {LEVEL:g}). The answer takes its rows to "
            "be drawn at random from that population, with the values written in the same way."
        )
    level = np.log(LEVEL)
    if (panel == rows).all() and _log_chance_of_rows(both, rows) < level:
        cautions.append(
            "The panel has the same counts as the table, in each cell. The answer is for a panel "
            "of other people; pass the rows by which the attacker knows the population."
        )
    elif (panel >= rows).all() and _log_chance_of_at_most_half(both, int(rows.sum())) < level:
        cautions.append(
            "The panel has no cell with fewer rows than the table, as if it held the people of the "
            f"table (p < {LEVEL:g}). The answer is for a panel of other people; if it is the "
            "register that the table was drawn from, pass it as population=."
        )
    else:
        pairs, level_of_pairs = pairs_of_both(both, rows)
        if level_of_pairs < level:
            cautions.append(
                f"{pairs:,} cells hold one row of the table and one of the panel, more than two "
                f"samples of different people would show (p < {LEVEL:g}): the panel seems to hold "
                "people of the table. The answer is for a panel of other people; leave their rows "
                "out of the panel."
            )
    divisor = common_divisor(panel[panel > 0])
    if divisor > 1:
        cautions.append(
            f"Each cell of the panel has a multiple of {divisor:,} rows, as if the counts were "
            f"rounded or everyone were there {divisor:,} times. Pass each row once."
        )
    return cautions


def pairs_of_both(both: IntArray, rows: IntArray) -> tuple[int, float]:
    """Cells with a row of each of two samples and no more, and the log of the chance of so many.

    Exact for samples of one law, given the rows of both in all cells of two rows: m cells, t rows
    of the first sample.  All ``C(2 m, t)`` choices of these rows are as likely, and s of the cells
    are shared in ``C(m, s) C(m - s, (t - s) / 2) 2**s`` of them.
    """
    from scipy.special import logsumexp

    two = both == 2
    m, t = int(np.count_nonzero(two)), int(rows[two].sum())
    shared = int(np.count_nonzero(rows[two] == 1))
    s = np.arange(shared, min(t, 2 * m - t) + 1, 2)
    log = _log_choices(m, s) + _log_choices(m - s, (t - s) // 2) + s * np.log(2.0)
    return shared, float(logsumexp(log) - _log_choices(2 * m, t))


def _log_choices(people: Any, drawn: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(people + 1.0) - gammaln(drawn + 1.0) - gammaln(people - drawn + 1.0)


def _log_chance_of_rows(both: IntArray, rows: IntArray) -> float:
    """The logarithm of the probability of these rows in a random sample of as many of `both`."""
    return float(_log_choices(both, rows).sum() - _log_choices(both.sum(), rows.sum()))


def _log_chance_of_at_most_half(both: IntArray, n: int) -> float:
    """An upper bound of the log of the probability that n rows show at most half of each cell.

    The rows of the cells are negatively associated: the product of the probabilities of each.
    """
    from scipy.stats import hypergeom

    sizes, cells = np.unique(both, return_counts=True)
    return float(cells @ hypergeom.logcdf(sizes // 2, int(both.sum()), sizes, n))


def _differs(factor: Factor, people: IntArray, rows: IntArray) -> bool:
    """Whether the table's shares of a column's values differ from those of the register."""
    codes, size = codes_of(factor)
    return shares_differ(summed(codes, rows, size), summed(codes, people, size))
