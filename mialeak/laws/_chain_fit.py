"""Estimates of a chain of linked columns from rows, and what a chain misses of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mialeak._arrays import FloatArray, first_index, invalid
from mialeak._checks.means.genotypes import MISSING
from mialeak._results import Kind, Result

__all__ = [
    "LAGS",
    "ChainFit",
    "mean_square",
    "require_values",
    "second_order_gain",
    "steps_of",
    "tables_of",
]

#: Distances in columns at which a fit compares correlations.
LAGS = (1, 2, 5, 10, 20)
#: With fewer haplotypes the leakage by the fit is uncertain: of 60 linked columns and a release of
#: 50 haplotypes it was wrong by 39 %, 20 % and 6 % with 50, 100 and 250 (root of the mean square).
_LEAST_HAPLOTYPES = 200
#: Columns further apart are no chain of its order where their r^2 is above `_TIMES` that of the
#: chain, `_CHANCE` over the rows and this.  Of 800 fits of chains of first order two were, of fewer
#: than 80 rows.
_TIMES, _CHANCE, _BEYOND = 2.0, 5.0, 0.02
#: The expectation-maximisation of neighbouring columns ends at this change, or after so many steps.
_CHANGE, _STEPS = 1e-12, 2000


@dataclass(frozen=True, repr=False)
class ChainFit(Result):
    """What :meth:`Chain.fit` used, and what the chain misses of the rows.

    Attributes
    ----------
    rows : int
        Rows of the fit.
    smoothing : float
        Haplotypes of independent columns that were added to each pair of columns, or with order 2
        to each three.
    constant_columns : tuple of int
        Columns with one value in all rows.
    least_haplotypes : float
        The smallest number of haplotypes from which a transition probability was estimated.
    lags : tuple of int
        Distances in columns.
    correlation : tuple of float
        Mean squared correlation (r^2) of the rows, of columns at these distances.
    chain_correlation : tuple of float
        The same of the chain.  Where it is much below the first, beyond the 1/rows that chance
        adds, the columns are no chain of this order, and an attacker who knows their law can do
        better than the chain states.
    ploidy : int
        Haplotypes of a row.
    order : int
        1, or 2 if a column depends on the two before it.
    second_order_gain : float or None
        Log likelihood of the rows, in nats, that a second order adds to the first without
        smoothing, less the penalty of the Bayesian information criterion.  Above 0 a chain of
        second order fits the rows better.  None for genotypes, whose phase is not known.
    variance_ratio : float or None
        Variance of genotypes in that of Hardy-Weinberg proportions, where these clearly differ;
        the chain takes the two haplotypes of a row as independent.
    kind : str
        "estimate".
    warnings : tuple of str
        Why the leakage that is computed with the chain may be wrong: few haplotypes, or columns
        that are no chain of this order.  ``exact_mean_tradeoff`` warns with these.

    Examples
    --------
    >>> from mialeak.laws import Chain
    >>> rows = Chain(0.3, [0.1] * 20, [0.8] * 20).draw(2000, rng=0)
    >>> fit = Chain.fit(rows).fitted
    >>> fit.lags[:2], [round(r, 2) for r in fit.correlation[:2]]
    ((1, 2), [0.49, 0.24])
    >>> [round(r, 2) for r in fit.chain_correlation[:2]]
    [0.49, 0.24]
    """

    rows: int
    smoothing: float
    constant_columns: tuple[int, ...]
    least_haplotypes: float
    lags: tuple[int, ...]
    correlation: tuple[float, ...]
    chain_correlation: tuple[float, ...]
    ploidy: int = 1
    order: int = 1
    second_order_gain: float | None = None
    variance_ratio: float | None = None
    kind: Kind = "estimate"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the leakage that is computed with the chain may be wrong."""
        doubts = []
        haplotypes = self.ploidy * self.rows
        if haplotypes < _LEAST_HAPLOTYPES:
            doubts.append(
                f"The chain was fitted to {haplotypes:,} haplotypes: with fewer than "
                f"{_LEAST_HAPLOTYPES} the leakage may be wrong by a fifth and more. Fit it to a "
                "larger panel"
            )
        if self.variance_ratio is not None:
            doubts.append(
                f"The genotypes that the chain was fitted to have {self.variance_ratio:.2f} times "
                "the variance of Hardy-Weinberg proportions, as of inbred people or of several "
                "populations: the chain takes the two haplotypes of a row as independent, and the "
                "leakage is not that of these people. mean_leakage takes the variance of the rows"
            )
        for lag, seen, chain in zip(
            self.lags, self.correlation, self.chain_correlation, strict=True
        ):
            if lag > self.order and seen > _TIMES * chain + _CHANCE / self.rows + _BEYOND:
                doubts.append(
                    f"Columns {lag} apart have a mean r^2 of {seen:.2g} in the rows that the chain "
                    f"was fitted to, and of {chain:.2g} in the chain. Sort the columns by their "
                    "positions; of sorted ones, an attacker who knows their law does better than "
                    "the chain states, and mean_leakage with structure='shrunk' takes all "
                    "correlations into account"
                )
                break
        return tuple(doubts)


def require_values(data: FloatArray, ploidy: int) -> None:
    """Refuse what is no haplotype, or no genotype."""
    good = np.isin(data, np.arange(ploidy + 1.0))
    if not good.all():
        row, column = first_index(~good)
        value, remedy = float(data[row, column]), ""
        if ploidy == 1 and value == 2.0:
            remedy = "Pass ploidy=2 for genotypes"
        elif value in MISSING:
            remedy = "If it marks a missing genotype, leave out its row"
        rule = "be 0 or 1" if ploidy == 1 else "be 0, 1 or 2"
        invalid("rows", rule, index=(row, column), value=value, remedy=remedy)
    if ploidy == 2:
        p = data.mean(axis=0) / 2.0
        twos = len(data) * float(p @ p)
        if twos > 30.0 and data.max() < 2.0:
            rule = (
                f"be genotypes; they hold no 2, where {twos:,.0f} are expected, as bits have none"
            )
            invalid("rows", rule, remedy="Leave out ploidy=2 for haplotypes")


def tables_of(
    data: FloatArray, ploidy: int, p: FloatArray, smoothing: float, columns: int
) -> FloatArray:
    """Numbers of haplotypes with each combination of bits in neighbouring columns.

    Parameters
    ----------
    data : ndarray, shape (n0, d)
        Haplotypes, or with ploidy 2 genotypes.
    ploidy : {1, 2}
        Haplotypes of a row.
    p : ndarray, shape (d,)
        Frequencies of ones.
    smoothing : float
        Haplotypes with independent columns that are added.
    columns : {2, 3}
        Columns of a table.

    Returns
    -------
    ndarray, shape (2, ..., 2, d + 1 - columns)
        An axis for the bit of each column; the last for the first of the columns.
    """
    size = data.shape[1] + 1 - columns
    added = np.full((2,) * columns + (size,), smoothing)
    for k in range(columns):
        bits = np.stack([1.0 - p[k : k + size], p[k : k + size]])
        added *= bits.reshape((1,) * k + (2,) + (1,) * (columns - 1 - k) + (size,))
    return _tables_of_bits(data, added) if ploidy == 1 else _tables_of_genotypes(data, added)


def _tables_of_bits(data: FloatArray, added: FloatArray) -> FloatArray:
    columns, size = added.ndim - 1, added.shape[-1]
    parts = [data[:, k : k + size].T for k in range(columns)]
    ones: dict[tuple[int, ...], FloatArray] = {}  # rows with a one in each of these columns
    ones[()] = np.full(size, float(len(data)))
    for k in range(columns):
        ones[k,] = parts[k].sum(axis=1)
    ones[0, 1] = np.vecdot(parts[0], parts[1])
    if columns == 3:
        ones[0, 2], ones[1, 2] = np.vecdot(parts[0], parts[2]), np.vecdot(parts[1], parts[2])
        ones[0, 1, 2] = np.vecdot(parts[0] * parts[1], parts[2])
    table = np.zeros_like(added)  # of whole numbers: exact, whatever is subtracted
    for bits in product((0, 1), repeat=columns):
        zeros = [k for k in range(columns) if not bits[k]]
        for flips in product((0, 1), repeat=len(zeros)):  # inclusion and exclusion
            flipped = [k for k, flip in zip(zeros, flips, strict=True) if flip]
            key = tuple(sorted([k for k in range(columns) if bits[k]] + flipped))
            table[bits] += (-1.0) ** len(flipped) * ones[key]
    return table + added


def _tables_of_genotypes(data: FloatArray, added: FloatArray) -> FloatArray:
    """The same of the two haplotypes of each row, whose phase is not known, by EM."""
    columns, size = added.ndim - 1, added.shape[-1]
    seen = [data == x for x in range(3)]
    sure, open_cases = added.copy(), []
    for genotype in product((0, 1, 2), repeat=columns):
        parts = [seen[x][:, k : k + size] for k, x in enumerate(genotype)]
        match = parts[0] & parts[1] if columns == 2 else parts[0] & parts[1] & parts[2]
        rows = match.sum(axis=0).astype(np.float64)
        single = [k for k in range(columns) if genotype[k] == 1]
        phases = []
        for bits in product((0, 1), repeat=max(len(single) - 1, 0)):
            first = [x // 2 for x in genotype]
            for k, bit in zip(single[1:], bits, strict=True):
                first[k] = bit
            phases.append(
                (tuple(first), tuple(x - y for x, y in zip(genotype, first, strict=True)))
            )
        if len(phases) == 1:
            for haplotype in phases[0]:
                sure[haplotype] += rows
        elif rows.any():
            open_cases.append((rows, phases))
    shares = [np.full((len(phases), size), 1.0 / len(phases)) for _, phases in open_cases]
    for _ in range(_STEPS):
        table = _completed(sure, open_cases, shares)
        change = 0.0
        for k, (_, phases) in enumerate(open_cases):
            weights = np.stack([table[first] * table[second] for first, second in phases])
            total = weights.sum(axis=0)
            with np.errstate(invalid="ignore"):
                new = np.where(total > 0.0, weights / total, 1.0 / len(phases))
            change = max(change, float(np.max(np.abs(new - shares[k]), initial=0.0)))
            shares[k] = new
        if change < _CHANGE:
            break
    return _completed(sure, open_cases, shares)


_Phases = list[tuple[tuple[int, ...], tuple[int, ...]]]


def _completed(
    sure: FloatArray, open_cases: list[tuple[FloatArray, _Phases]], shares: list[FloatArray]
) -> FloatArray:
    """Numbers of haplotypes with the rows of unknown phase, in these shares."""
    table = sure.copy()
    for (rows, phases), parts in zip(open_cases, shares, strict=True):
        for pair, part in zip(phases, parts, strict=True):
            for haplotype in pair:
                table[haplotype] += rows * part
    return table


def steps_of(tables: list[FloatArray], p: FloatArray, value: int) -> FloatArray:
    """Probability of a one after this value, of all steps, by the tables of 2 and of 3 columns."""
    first = _shares(tables[0][value], p[1:])
    if len(tables) == 1:
        return first
    later = [_shares(tables[1][before, value], p[2:]) for before in (0, 1)]
    return np.concatenate([[[first[0]] * 2], np.stack(later, axis=1)])


def _shares(table: FloatArray, p: FloatArray) -> FloatArray:
    """Ones of each column of a table of zeros and ones; p where there are none of both."""
    total = table[0] + table[1]
    with np.errstate(invalid="ignore"):
        return np.minimum(np.where(total > 0.0, table[1] / total, p), 1.0)


def second_order_gain(data: FloatArray) -> float | None:
    """Log likelihood of haplotypes that a second order adds, less its penalty; see ChainFit."""
    size = data.shape[1] - 2
    if size < 1:
        return None
    triples = _tables_of_bits(data, np.zeros((2, 2, 2, size)))
    pairs, gain, added = triples.sum(axis=0), 0.0, 0
    for before, here in product((0, 1), repeat=2):
        origin = triples[before, here].sum(axis=0)
        added += int(np.count_nonzero(origin))
        for there in (0, 1):
            both, whole = triples[before, here, there], pairs[here].sum(axis=0)
            seen = both > 0.0
            ratio = both[seen] * whole[seen] / (origin[seen] * pairs[here, there][seen])
            gain += float(np.sum(both[seen] * np.log(ratio)))
    added -= int(np.count_nonzero(pairs.sum(axis=1)))
    return gain - 0.5 * added * float(np.log(len(data)))


def mean_square(data: FloatArray, lag: int) -> float:
    """Mean squared correlation of columns of data `lag` apart; 0 beside a constant one."""
    centred = data - data.mean(axis=0)
    norm = np.sqrt(np.vecdot(centred.T, centred.T))
    centred /= np.where(norm > 0.0, norm, 1.0)
    return float(np.mean(np.vecdot(centred[:, :-lag].T, centred[:, lag:].T) ** 2))
