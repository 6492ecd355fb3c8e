"""Interval and estimate of the largest leakage from a sample of counts.

========  ====================================================================================
Symbol    Meaning
========  ====================================================================================
N, n      rows of the sample, rows of the release in question
g(p)      leakage of a target whose cell has probability p, from 1 down to 0 as p grows
F         mixing law (see ``_completed``): the leakage sought is  Delta = int g dF
a(j)      a score for a row whose cell j other rows share; its average over the sample, S(a),
          has expectation  int m_a dF,  m_a(p) = sum_j a(j) b(j; N-1, p)
========  ====================================================================================

If m_a >= g everywhere, S(a) overestimates Delta for every law, so S(a) plus a few standard errors
is an upper bound; scores with m_a <= g give a lower one.  Among those scores we take the ones whose
bounds would be tightest if the fitted law were the truth.  The fit chooses, and it gives the
standard errors; that m_a bounds g does not depend on it.

Scores are a baseline a0 plus a combination of hats, functions that are linear between knots.  The
baseline is right for heavy cells, where p = c/N is all but known; the hats see to the light ones.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from mialeak._arrays import FloatArray
from mialeak.tables._interior_point import cheapest_majorant
from mialeak.tables._mixture_fit import (
    LARGEST_NODE,
    CompletedLaw,
    binomial_pmf,
    leakage_at,
    scaled_nodes,
)

__all__ = ["completed_leakage", "leakage_interval"]

#: Number of other rows in the cell at which the hats peak.  Beyond the last the hat stays 1.
_KNOTS = np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36])
#: Largest counts that nodes up to LARGEST_NODE give: 8 standard deviations above.
_COUNTS = int(LARGEST_NODE + 8 * math.sqrt(LARGEST_NODE) + 10)
#: g has kinks where gamma n p is an integer.  The first 80 are nodes (between the first 20 also
#: the middles); further on they ripple g by 1 / (8 * 80) = 0.2 % and less.
_KINKS, _MIDDLES = 80, 20
#: A cell of each size up to 3 is taken to have been seen this many times more when standard errors
#: are computed: none seen does not mean none there.
_UNSEEN_SIZES, _UNSEEN = 3, 2.0
#: The same for the weights of the hats only, while the best scores are sought.
_UNSEEN_HAT = 0.5
#: Bias of the baseline at a kink, in units of its own correction, rounded up (0.43 / 0.37).
_KINK_BIAS = 1.5


def _baseline(counts: FloatArray, rows: int, n: int, gamma: float) -> FloatArray:
    """Contribution of a cell seen `counts` times, free of the bias that curvature brings.

    With f(p) = p g(p), the plug-in f(c/N) falls short of f(p) by half the curvature times the
    variance of c/N.  Twice f(c/N) less the mean of f one standard deviation to the left and to the
    right makes up for it.
    """
    spread = np.sqrt(counts * (1 - counts / rows))

    def contribution(count: FloatArray) -> FloatArray:
        p = np.clip(count / rows, 0.0, 1.0)
        return p * leakage_at(p, n, gamma)

    sides = contribution(counts + spread) + contribution(counts - spread)
    return 2 * contribution(counts) - sides / 2


def _baseline_scores(count: int, rows: int, n: int, gamma: float) -> FloatArray:
    """a0(j) for j < count: what a row adds to its cell's baseline contribution."""
    sizes = np.arange(1.0, count + 1)
    return _baseline(sizes, rows, n, gamma) / (sizes / rows)


def _baseline_total(law: CompletedLaw, n: int, gamma: float) -> float:
    """Baseline contributions of all cells of the sample."""
    return float(law.cells @ _baseline(law.sizes.astype(np.float64), law.rows, n, gamma))


def completed_leakage(law: CompletedLaw, n: int, gamma: float) -> float:
    """Leakage of the completed law: baseline of the sample, and what the fit expects it to miss."""
    count = min(_COUNTS, law.rows)
    seen = _baseline_scores(count, law.rows, n, gamma) @ law.pmf(count)
    missed = float(law.shares @ (leakage_at(law.nodes, n, gamma) - seen))
    return min(max(_baseline_total(law, n, gamma) + missed, 0.0), 1.0)


class _Scores:
    """The baseline and the hats, and what there is to know about their averages."""

    def __init__(self, law: CompletedLaw, n: int, gamma: float) -> None:
        self.law, self.n, self.gamma = law, n, gamma
        count = min(_COUNTS, law.rows)
        others = np.arange(count)
        last = min(int(_KNOTS[-1]), law.rows - 1)
        self.knots = np.r_[_KNOTS[np.less(_KNOTS, last)], last]
        #: Shape (1 + hats, counts): a(j).
        base = _baseline_scores(count, law.rows, n, gamma)
        self.scores = np.vstack([base, self.hats(others)])
        self.nodes, self.shares = self._grid()
        pmf = binomial_pmf(count, law.rows - 1, self.nodes)
        #: Shape (1 + hats, nodes): m_a(p).
        self.mean = self.scores @ pmf
        self.mean[-1] += 1 - pmf.sum(axis=0)
        self.leakage = leakage_at(self.nodes, n, gamma)
        self.row_shares = pmf @ self.shares
        self.heavy_sizes = law.sizes[law.heavy].astype(np.float64)
        self.heavy_cells = law.cells[law.heavy]

    def hats(self, others: npt.NDArray[np.int64]) -> FloatArray:
        identity = np.eye(len(self.knots))
        return np.array([np.interp(others, self.knots, hat) for hat in identity])

    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Nodes on which m_a and g are compared, and the fitted shares there."""
        law, rate = self.law, self.n / self.law.rows
        largest = min(LARGEST_NODE, law.rows)
        kinks = np.r_[0.5:_MIDDLES:1.0, 1 : _KINKS + 1] / (self.gamma * rate)
        # Where a release larger than the sample resolves more than the sample does.
        finer = scaled_nodes(16.0) / (rate * max(self.gamma, 1.0))
        extra = np.r_[0.0, scaled_nodes(largest), kinks, finer]
        extra = extra[extra <= largest] / law.rows
        nodes = np.union1d(law.nodes, extra)
        shares = np.zeros(len(nodes))
        shares[np.searchsorted(nodes, law.nodes)] = law.shares
        return nodes, shares

    def observed(self) -> FloatArray:
        """S(a) of each score."""
        law = self.law
        hats = self.hats(law.sizes - 1) @ (law.cells * law.sizes / law.rows)
        return np.asarray(np.r_[_baseline_total(law, self.n, self.gamma), hats])

    def _expected_hats(self) -> FloatArray:
        """What the fitted law expects of the hats."""
        expected = self.mean[1:] @ self.shares
        expected[-1] += self.heavy_sizes @ self.heavy_cells / self.law.rows
        return expected

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the S(a): cells independent and Poisson, given that they sum to N."""
        rows = self.law.rows
        size = np.arange(1, self.scores.shape[1] + 1) / rows
        inside = self.mean * (self.shares * self.nodes)
        covariance = (self.scores * (size * self.row_shares)) @ self.scores.T - inside @ self.mean.T
        slopes = np.zeros((len(self.scores), len(self.heavy_sizes)))
        slopes[0], slopes[-1] = self._baseline_slopes(), 1 / rows
        covariance += (slopes * (self.heavy_cells * self.heavy_sizes)) @ slopes.T
        unseen = self.scores[:, :_UNSEEN_SIZES] * size[:_UNSEEN_SIZES]
        covariance += _UNSEEN * unseen @ unseen.T
        # The hats sum to 1, so their S(a) sum to 1: condition on that.
        with_rows = covariance[:, 1:].sum(axis=1)
        return np.asarray(covariance - np.outer(with_rows, with_rows) / with_rows[1:].sum())

    def _baseline_slopes(self) -> FloatArray:
        sizes, rows = self.heavy_sizes, self.law.rows
        spread = np.sqrt(sizes * (1 - sizes / rows))
        right = _baseline(sizes + spread / 2, rows, self.n, self.gamma)
        left = _baseline(sizes - spread / 2, rows, self.n, self.gamma)
        return np.asarray((right - left) / np.maximum(spread, 1e-9))

    def _hat_variance(self) -> FloatArray:
        """Variance that unseen cells could add to the hats below the last knot."""
        last = int(self.knots[-1])
        size = np.arange(1, last + 1) / self.law.rows
        unseen = self.scores[1:, :last] * size
        return np.asarray(_UNSEEN_HAT * unseen @ unseen.T)

    def heavy_bias(self) -> float:
        """Largest bias of the baseline in heavy cells, which shows at kinks of g."""
        p = self.heavy_sizes / self.law.rows
        plug_in = p * leakage_at(p, self.n, self.gamma)
        baseline = _baseline(self.heavy_sizes, self.law.rows, self.n, self.gamma)
        return _KINK_BIAS * float(self.heavy_cells @ np.abs(baseline - plug_in))

    def cheapest(self, sign: int, margin: float) -> FloatArray:
        """Weights of the scores whose sum is at least g for sign 1, and at least -g for -1.

        Of all such weights, with that of the baseline equal to `sign`, those with the least
        expectation plus `margin` standard errors under the fitted law.
        """
        flip = np.r_[sign, np.ones(len(self.knots))]
        covariance = self.covariance * np.outer(flip, flip)
        covariance[1:, 1:] += self._hat_variance()
        # The last hat alone sees cells beyond the nodes; there the baseline is right.
        mean = np.vstack([self.mean[1:].T, np.eye(len(self.knots))[-1]])
        floor = sign * np.r_[self.leakage - self.mean[0], 0.0]
        hats = cheapest_majorant(self._expected_hats(), covariance, margin, mean, floor)
        return np.asarray(np.r_[sign, hats])


def leakage_interval(
    law: CompletedLaw, n: int, gamma: float, confidence: float
) -> tuple[float, float, float]:
    """Estimate of the leakage of a release of n rows, lower and upper end of its interval."""
    scores = _Scores(law, n, gamma)
    observed, covariance, bias = scores.observed(), scores.covariance, scores.heavy_bias()
    # One more squared standard error for the choice of the scores, which the data made.
    margin = math.sqrt(float(ndtri((1 - confidence) / 2)) ** 2 + 1)
    ends = []
    for sign in (-1, 1):
        weights = scores.cheapest(sign, margin)
        sd = math.sqrt(max(float(weights @ covariance @ weights), 0.0))
        end = sign * (float(weights @ observed) + margin * sd + bias)
        ends.append(min(max(end, 0.0), 1.0))
    low, high = sorted(ends)
    return min(max(completed_leakage(law, n, gamma), low), high), low, high
