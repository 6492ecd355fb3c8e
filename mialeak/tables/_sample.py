"""Whether a table looks like a random sample of its register, or like its panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import Factor
from mialeak.tables._cells import codes_of, summed
from mialeak.tables._structure import common_divisor

__all__ = [
    "cautions_of_panel",
    "cautions_of_sample",
    "cautions_of_strata",
    "log_chance_of_all_cells",
    "pairs_of_both",
]

IntArray = npt.NDArray[np.int64]

#: Level of the tests, and the rows and the people outside that each lumped value expects.
_LEVEL, _EXPECTED = 1e-9, 5.0


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
            f"{listed(other)} (chi-squared test, p < {_LEVEL:g}). The answer is for a sample in "
            "which everyone is equally likely. If it was stratified, pass strata=, the column of "
            "the strata; if it is about a part of the register, pass the people of that part."
        )
    if rows.all() and log_chance_of_all_cells(people, int(rows.sum())) < np.log(_LEVEL):
        cautions.append(
            "The table shows each of the register's cells, the rare ones too, which a random "
            f"sample would not (p < {_LEVEL:g}): the register may have been made from the table "
            "and its weights. Pass the register of all people; the leakage is too low without "
            "those that the table does not show."
        )
        return cautions
    divisor = common_divisor(people)
    if divisor > 1:
        cautions.append(
            f"Each cell of the register holds a multiple of {divisor:,} people, as if the counts "
            f"were rounded or everyone were there {divisor:,} times. Pass each person once, or "
            "the counts before rounding."
        )
    return cautions


def cautions_of_strata(
    strata: Any, categories: Mapping[Any, Factor], people: IntArray, rows: IntArray
) -> list[str]:
    """A sentence if within strata, the values of that column, the table is no random sample."""
    codes, size = codes_of(categories[strata])
    found: dict[Any, list[str]] = {}
    for stratum in range(size):
        inside = codes == stratum
        if not 0 < rows[inside].sum() < people[inside].sum():
            continue
        for name, factor in categories.items():
            part = Factor(factor.codes[inside], factor.levels)
            if name != strata and _differs(part, people[inside], rows[inside]):
                missing = stratum == len(categories[strata].levels)
                value = None if missing else categories[strata].value(stratum)
                found.setdefault(name, []).append(repr(value))
    return [
        f"Within strata the table is no random sample of the register: its shares differ in column "
        f"{name!r} in stratum {listed(values, show=str)} (chi-squared test, p < {_LEVEL:g}). The "
        "answer is for samples in which everyone of a stratum is equally likely."
        for name, values in found.items()
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
            f"{listed(other)} (chi-squared test, p < {_LEVEL:g}). The answer takes its rows to "
            "be drawn at random from that population, with the values written in the same way."
        )
    level = np.log(_LEVEL)
    if (panel == rows).all() and _log_chance_of_rows(both, rows) < level:
        cautions.append(
            "The panel has the same counts as the table, in each cell. The answer is for a panel "
            "of other people; pass the rows by which the attacker knows the population."
        )
    elif (panel >= rows).all() and _log_chance_of_at_most_half(both, int(rows.sum())) < level:
        cautions.append(
            "The panel has no cell with fewer rows than the table, as if it held the people of the "
            f"table (p < {_LEVEL:g}). The answer is for a panel of other people; if it is the "
            "register that the table was drawn from, pass it as population=."
        )
    else:
        pairs, level_of_pairs = pairs_of_both(both, rows)
        if level_of_pairs < level:
            cautions.append(
                f"{pairs:,} cells hold one row of the table and one of the panel, more than two "
                f"samples of different people would show (p < {_LEVEL:g}): the panel seems to hold "
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
    from scipy.special import chdtrc

    codes, size = codes_of(factor)
    seen, whole = (summed(codes, each, size).astype(np.float64) for each in (rows, people))
    share = seen.sum() / whole.sum()
    common = whole * min(share, 1.0 - share) >= _EXPECTED
    lumped = []
    for counts in (seen, whole):
        lumped.append(np.append(counts[common], counts[~common].sum()))
    seen, whole = lumped
    if whole[-1] * min(share, 1.0 - share) < _EXPECTED:
        if len(whole) < 2:
            return False
        seen, whole = (np.append(each[:-2], each[-2] + each[-1]) for each in lumped)
    if len(whole) < 2:
        return False
    expected = share * whole
    distance = float(np.sum((seen - expected) ** 2 / expected))
    distance *= (whole.sum() - 1.0) / (whole.sum() - seen.sum())  # drawn without replacement
    return bool(chdtrc(len(whole) - 1, distance) < _LEVEL)


def log_chance_of_all_cells(people: IntArray, n: int) -> float:
    """An upper bound of the logarithm of the probability that n rows show every cell.

    That a cell has no row has at least the probability ``((N - n - k + 1) / (N - k + 1))**k`` for
    its k of N people, and such cells are negatively associated: all have a row with at most the
    product of the complements.
    """
    k = people.astype(np.float64)
    every = float(people.sum())
    ratio = np.maximum(every - n - k + 1.0, 0.0) / (every - k + 1.0)
    return float(np.log1p(-(ratio**k)).sum())
