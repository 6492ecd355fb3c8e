"""Estimates of a chain of linked columns from rows, and what a chain of first order misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mialeak._arrays import FloatArray, first_index, invalid
from mialeak._counts import MISSING
from mialeak._results import Kind, Result

__all__ = [
    "LAGS",
    "ChainFit",
    "mean_square",
    "pairs_of_bits",
    "pairs_of_genotypes",
    "require_values",
]

#: Distances in columns at which a fit compares correlations.
LAGS = (1, 2, 5, 10, 20)
#: With fewer haplotypes the leakage by the fit is uncertain: of 60 linked columns and a release of
#: 50 haplotypes it was wrong by 39 %, 20 % and 6 % with 50, 100 and 250 (root of the mean square).
_LEAST_HAPLOTYPES = 200
#: Columns further apart are no chain of first order where their r^2 is above `_TIMES` that of the
#: chain, `_CHANCE` over the rows and this.  Of 800 fits of chains two were, of fewer than 80 rows.
_TIMES, _CHANCE, _BEYOND = 2.0, 5.0, 0.02
#: The expectation-maximisation of pairs of columns ends at this change, or after so many steps.
_CHANGE, _STEPS = 1e-12, 2000


@dataclass(frozen=True, repr=False)
class ChainFit(Result):
    """What :meth:`Chain.fit` used, and what a chain of first order misses of the rows.

    Attributes
    ----------
    rows : int
        Rows of the fit.
    smoothing : float
        Haplotypes of independent columns that were added to each pair of columns.
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
        adds, the columns are no chain of first order, and an attacker who knows their law can do
        better than the chain states.
    ploidy : int
        Haplotypes of a row.
    kind : str
        "estimate".
    warnings : tuple of str
        Why the leakage that is computed with the chain may be wrong: few haplotypes, or columns
        that are no chain of first order.  ``exact_mean_tradeoff`` warns with these.

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
        for lag, seen, chain in zip(
            self.lags, self.correlation, self.chain_correlation, strict=True
        ):
            if lag > 1 and seen > _TIMES * chain + _CHANCE / self.rows + _BEYOND:
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


def pairs_of_bits(data: FloatArray, added: FloatArray) -> FloatArray:
    """Numbers of the pairs 00, 01, 10, 11 of neighbours, plus `added`; shape (4, d - 1)."""
    here, there = data[:, :-1], data[:, 1:]
    both = np.vecdot(here.T, there.T)
    one, other = here.sum(axis=0) - both, there.sum(axis=0) - both
    return np.asarray(np.stack([len(data) - one - other - both, other, one, both]) + added)


def pairs_of_genotypes(data: FloatArray, added: FloatArray) -> FloatArray:
    """The same of the two haplotypes of each row, whose phase is unknown, by EM."""
    here, there = data[:, :-1], data[:, 1:]
    tables = [[np.sum((here == x) & (there == y), axis=0) for y in range(3)] for x in range(3)]
    (n00, n01, n02), (n10, n11, n12), (n20, n21, n22) = tables
    sure = added + np.stack(
        [
            2.0 * n00 + n01 + n10,
            2.0 * n02 + n01 + n12,
            2.0 * n20 + n10 + n21,
            2.0 * n22 + n21 + n12,
        ]
    )
    aligned = np.full(sure.shape[1], 0.5)
    for _ in range(_STEPS):
        pairs = sure + n11 * np.stack([aligned, 1.0 - aligned, 1.0 - aligned, aligned])
        same, other = pairs[0] * pairs[3], pairs[1] * pairs[2]
        with np.errstate(invalid="ignore"):
            new = np.where(same + other > 0.0, same / (same + other), 0.5)
        change, aligned = float(np.max(np.abs(new - aligned), initial=0.0)), new
        if change < _CHANGE:
            break
    return np.asarray(sure + n11 * np.stack([aligned, 1.0 - aligned, 1.0 - aligned, aligned]))


def mean_square(data: FloatArray, lag: int) -> float:
    """Mean squared correlation of columns of data `lag` apart; 0 beside a constant one."""
    centred = data - data.mean(axis=0)
    norm = np.sqrt(np.vecdot(centred.T, centred.T))
    centred /= np.where(norm > 0.0, norm, 1.0)
    return float(np.mean(np.vecdot(centred[:, :-lag].T, centred[:, lag:].T) ** 2))
