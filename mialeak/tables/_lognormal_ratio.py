"""Leakage of several margins: the rarest count by its law, the others by their score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray
from mialeak.special import binom_logpmf
from mialeak.tables._sampling import complete, leakage_at

__all__ = ["fitted_shares", "leakage_beside"]

IntArray = npt.NDArray[np.int64]

#: A count that expects more rows is near its normal limit: its correction is taken as a factor.
_LARGE = 50.0
#: Standard deviations of a count that are summed over, and further rows for rare cells:
#: the tail beyond has less than 1e-12.
_DEVIATIONS, _MORE = 7.0, 16.0
#: If more cells have one expected count, they are interpolated between so many nodes: 2e-4.
_NODES = 513
#: Smallest variance of a logarithm, in place of 0.
_LEAST = 1e-24
#: Entries of the sum over counts at a time.
_BLOCK = 1 << 18
#: A cell with more rows has the share of the rows that it has; of fewer, that of the fitted law.
#: Its nodes end at 56 expected rows; the leakage at c/N is by some 0.4/c too large.
_FITTED = 32


def leakage_beside(p: FloatArray, remainder: FloatArray, n: int) -> FloatArray:
    r"""Leakage of targets by the count of a cell, and by other counts of a given score.

    Parameters
    ----------
    p : (T,) array
        Probability of the rarest cell of each target; positive.
    remainder : (T,) array
        Leakage score of all counts less that of this one, ``(1/p - 1) / n``; at least 0.
    n : int
        Rows of the release.

    Returns
    -------
    (T,) ndarray

    Notes
    -----
    ========  ==================================================================================
    Symbol    Meaning
    ========  ==================================================================================
    R         likelihood ratio of the rarest count, B / (n p) with B ~ Binomial(n, p)
    L         likelihood ratio of all counts given the rarest one
    v         the remainder: the variance of L in the limit of many rows
    z         probability that L is 0
    ========  ==================================================================================

    The leakage is ``E(1 - R L)+``.  R has its own law; L is taken to be independent of R, and
    lognormal with mean 1 in one of two ways, of which the larger leakage is returned: the variance
    of log L is v; or L is 0 with the probability z = exp(-1/v) of a Poisson count that has this
    variance, and otherwise lognormal, with the variance v in all.  The sum over the values of R is
    one of undiscounted put options.

    Where B expects more than 50 rows the leakage is ``erf(sqrt(S / 8))``, S the score of all
    counts, with the share ``(1/p - 1) / (n S)`` of the relative correction that the exact leakage
    of the rarest count alone has.

    **Accuracy**: an approximation, exact for v = 0.  Relative to enumerations, on average over the
    rows: -8 to +0.1 % for 200 random laws of 4 to 9 cells in 4 to 15 rows (five sets of margins;
    the limit alone: -19 to 0 %), where a single cell is -23 to +19 % off.  For independent columns
    with two, three or five cells that expect half a row to ten rows: -4 to +4 % (the limit: -19
    to -1 %).
    """
    out = np.empty(p.size)
    single = np.maximum(1.0 / p - 1.0, 0.0) / n
    large = n * p > _LARGE
    if large.any():
        score = single[large] + remainder[large]
        alone = special.erf(np.sqrt(single[large] / 8.0))
        exact = leakage_at(p[large], n, 1.0)
        correction = np.divide(exact, alone, out=np.ones_like(exact), where=alone > 0.0) - 1.0
        share = np.divide(single[large], score, out=np.ones_like(exact), where=score > 0.0)
        out[large] = special.erf(np.sqrt(score / 8.0)) * (1.0 + correction * share)
    small = np.flatnonzero(~large)
    order = small[np.argsort(p[small], kind="stable")]
    for members in np.split(order, np.flatnonzero(np.diff(p[order])) + 1) if order.size else []:
        levels = remainder[members]
        if levels.size <= _NODES:
            out[members] = _by_counts(float(p[members[0]]), levels, n)
            continue
        # In this variable the leakage is nearly linear.
        place = special.erf(np.sqrt(levels / 8.0))
        nodes = np.linspace(0.0, np.sqrt(place.max()), _NODES) ** 2
        at_nodes = 8.0 * special.erfinv(np.minimum(nodes, 1.0 - 2.0**-52)) ** 2
        out[members] = np.interp(place, nodes, _by_counts(float(p[members[0]]), at_nodes, n))
    return np.clip(out, 0.0, 1.0)


def _by_counts(p: float, remainder: FloatArray, n: int) -> FloatArray:
    """The same of targets with one p, by the sum over the counts of the rarest cell."""
    mean = n * p
    reach = _DEVIATIONS * np.sqrt(mean) + _MORE
    counts = np.arange(max(1.0, np.floor(mean - reach)), min(n, np.ceil(mean + reach)) + 1.0)
    weights = np.exp(binom_logpmf(counts, n, p))
    zero = float(np.exp(n * np.log1p(-p))) if p < 1.0 else 0.0
    logs = np.log(counts / mean)
    out = np.empty(remainder.size)
    block = max(1, _BLOCK // counts.size)
    for start in range(0, remainder.size, block):
        v = np.maximum(remainder[start : start + block], np.finfo(np.float64).tiny)
        empty = np.exp(-1.0 / v)
        positive = np.log(-np.expm1(-1.0 / v))
        puts = [
            _puts(logs, weights, v, np.zeros_like(v)),
            empty * weights.sum()
            + np.exp(positive) * _puts(logs, weights, np.log1p(v) + positive, -positive),
        ]
        out[start : start + block] = zero + np.maximum(*puts)
    return out


def _puts(
    logs: FloatArray, weights: FloatArray, variance: FloatArray, log_mean: FloatArray
) -> FloatArray:
    """``E(1 - R L)+`` over positive R, with L lognormal: variance of its log, log of its mean."""
    spread = np.sqrt(np.maximum(variance, _LEAST))[:, None]
    forward = logs + log_mean[:, None]
    middle = -forward / spread
    put = special.ndtr(middle + spread / 2.0)
    put -= np.exp(forward) * special.ndtr(middle - spread / 2.0)
    return np.asarray(put @ weights)


def fitted_shares(counts: IntArray, n: int) -> Callable[[IntArray], FloatArray]:
    """Probabilities of cells by the number of their rows, under the law fitted to all `counts`.

    Cells with c rows have the probability at which a cell leaks what such cells leak on average:
    given c - 1 other rows in its cell, a row has a posterior law over the nodes of the fitted law
    (:func:`~mialeak.tables._sampling.complete`).  Those of more than 32 rows have c/N.
    """
    law = complete(counts)
    pmf = law.pmf[: min(_FITTED, law.light)]
    leakage = leakage_at(law.nodes, n, 1.0)
    mean = (pmf @ (law.shares * leakage)) / (pmf @ law.shares)
    grid = np.geomspace(law.nodes[0], law.nodes[-1], 1024)
    falling = np.minimum.accumulate(leakage_at(grid, n, 1.0))
    fitted = np.exp(np.interp(-mean, -falling, np.log(grid)))

    def share(sizes: IntArray) -> FloatArray:
        light = fitted[np.minimum(sizes, fitted.size) - 1]
        return np.where(sizes <= fitted.size, light, sizes / law.rows)

    return share
