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

The program compares m_a and g on a grid of probabilities.  Between the points of the grid m_a may
still fall short of g; the largest shortfall is computed, and all hats are raised by it.

Scores are a baseline a0 plus a combination of hats, functions that are linear between knots.  The
baseline is right for heavy cells, where p = c/N is all but known; the hats see to the light ones.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from mialeak import special
from mialeak._arrays import FloatArray
from mialeak.tables._interior_point import cheapest_majorant
from mialeak.tables._sampling import (
    INFINITE,
    LARGEST_NODE,
    NODE_STEP,
    CompletedLaw,
    Sampling,
    largest_count,
    scaled_nodes,
)

__all__ = ["completed_leakage", "interval_end", "leakage_interval"]

#: Number of other rows in the cell at which the hats peak.  Beyond the last the hat stays 1.
_KNOTS = np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36])
#: g has kinks where gamma n p is an integer, and arches between them.  The grid has quarters of the
#: first so many arches, and ends and tops of the next; of the others one for each step.
_QUARTERED, _SEEN = 20, 80
#: At a gamma below it, or above its reciprocal, no kink is among the probabilities of the grid, or
#: none is apart from the next; products of a smaller or larger one would overflow.
_LEAST_GAMMA = 1e-100
#: Points of the grid that are closer than this, relative, are one.
_APART = 1e-9
#: Points of the grid on which the means of the scores are computed at once.
_BLOCK = 100
#: A cell of each size up to 3 is taken to have been seen this many times more when standard errors
#: are computed: none seen does not mean none there.
_UNSEEN_SIZES, _UNSEEN = 3, 2.0
#: The same for the weights of the hats only, while the best scores are sought.
_UNSEEN_HAT = 0.5
#: Bias of the baseline at a kink, in units of its own correction, rounded up: 0.43 / 0.37 where
#: gamma n p is large, 1.16 at gamma n p = 1.
_KINK_BIAS = 1.5
#: Kinks closer to one another than two standard deviations of the count blur: the baseline averages
#: over arches.  In units of a probability of the count, g lies between 1/12 below that average (at
#: the kinks) and 1/24 above it (at the tops: the second Bernoulli polynomial).  Twice at c/N, once
#: at its sides and once at p, this makes at most 1/4; all counts of n = N rows are at kinks.
_BLURRED, _ARCHES = 0.5, 1 / 4


def _baseline(
    counts: FloatArray, rows: int, n: int, gamma: float, sampling: Sampling = INFINITE
) -> FloatArray:
    """Contribution of a cell seen `counts` times, free of the bias that curvature brings.

    With f(p) = p g(p), the plug-in f(c/N) falls short of f(p) by half the curvature times the
    variance of c/N.  Twice f(c/N) less the mean of f one standard deviation to the left and to the
    right makes up for it.
    """
    spread = sampling.spread(counts, rows)
    p = np.clip(np.concatenate([counts, counts + spread, counts - spread]) / rows, 0.0, 1.0)
    plug_in, above, below = (p * sampling.leakage(p, n, gamma)).reshape(3, -1)
    return np.asarray(2 * plug_in - (above + below) / 2)


def _baseline_scores(count: int, rows: int, n: int, gamma: float, sampling: Sampling) -> FloatArray:
    """a0(j) for j < count: what a row adds to its cell's baseline contribution."""
    sizes = np.arange(1.0, count + 1)
    return _baseline(sizes, rows, n, gamma, sampling) / (sizes / rows)


def _baseline_total(law: CompletedLaw, n: int, gamma: float) -> float:
    """Baseline contributions of all cells of the sample."""
    sizes = law.sizes.astype(np.float64)
    return float(law.cells @ _baseline(sizes, law.rows, n, gamma, law.sampling))


def completed_leakage(
    law: CompletedLaw, n: int, gamma: float, baseline: float | None = None
) -> float:
    """Leakage of the completed law: baseline of the sample, and what the fit expects it to miss."""
    if baseline is None:
        baseline = _baseline_total(law, n, gamma)
    seen = _all_scores(law.rows, n, gamma, law.sampling).scores[0] @ law.pmf
    missed = float(law.shares @ (law.sampling.leakage(law.nodes, n, gamma) - seen))
    return min(max(baseline + missed, 0.0), 1.0)


def _kinks(rows: int, n: int, gamma: float) -> float:
    """Kinks of g for each row that a cell expects in the sample, as far as products allow."""
    return min(max(gamma, _LEAST_GAMMA), 1.0 / _LEAST_GAMMA) * n / rows


class _AllScores:
    """The baseline and the hats, and how they compare with g: alike for all samples of N rows."""

    def __init__(self, rows: int, n: int, gamma: float, sampling: Sampling) -> None:
        self.rows, self.n, self.gamma, self.sampling = rows, n, gamma, sampling
        count = min(largest_count(LARGEST_NODE), rows)
        last = min(int(_KNOTS[-1]), rows - 1)
        self.knots = np.append(_KNOTS[np.less(_KNOTS, last)], last)
        #: Shape (1 + hats, counts): a(j).
        base = _baseline_scores(count, rows, n, gamma, sampling)
        self.scores = np.vstack([base, self.hats(np.arange(count))])

    def mean(self, p: FloatArray) -> FloatArray:
        """m_a(p) of each score, shape (1 + hats, p), for rising p."""
        means = np.empty((len(self.scores), len(p)))
        for start in range(0, len(p), _BLOCK):
            block = slice(start, start + _BLOCK)
            count = largest_count(self.rows * float(p[block][-1]))
            scores = self.scores[:, :count]
            pmf = self.sampling.pmf(scores.shape[1], self.rows, p[block])
            means[:, block] = scores @ pmf
            means[-1, block] += 1 - pmf.sum(axis=0)
        return means

    def hats(self, others: npt.NDArray[np.int64]) -> FloatArray:
        identity = np.eye(len(self.knots))
        return np.array([np.interp(others, self.knots, hat) for hat in identity])

    @cached_property
    def grid(self) -> FloatArray:
        """Probabilities at which m_a and g are compared.

        Even steps, closer where a release larger than the sample resolves more than the sample
        does; kinks and tops of the arches.
        """
        largest = min(LARGEST_NODE, self.rows)
        scale = _kinks(self.rows, self.n, self.gamma)
        steps = scaled_nodes(largest, NODE_STEP / 2)
        kinks = np.floor(scale * steps)
        single = steps[np.diff(kinks, prepend=0.0) <= 1]
        first = [np.arange(0.25, _QUARTERED, 0.25), np.arange(_QUARTERED, _SEEN, 0.5)]
        arches = np.concatenate([*first, kinks + 0.5, kinks + 1])
        finer = scaled_nodes(16.0) / max(scale, self.n / self.rows)
        grid = np.unique(np.concatenate([[0.0], single, arches / scale, finer, [largest]]))
        grid = grid[(grid <= largest) & (np.diff(grid, prepend=-1.0) > _APART * grid)]
        return self.sampling.possible(grid / self.rows)

    @cached_property
    def points(self) -> FloatArray:
        """The grid at the even places, and half-way between its points at the odd ones."""
        root = np.sqrt(self.grid)
        points = np.empty(2 * len(root) - 1)
        points[::2], points[1::2] = self.grid, ((root[1:] + root[:-1]) / 2) ** 2
        return points

    @cached_property
    def roots(self) -> FloatArray:
        """The square roots of the points."""
        return np.asarray(np.sqrt(self.points))

    @cached_property
    def bounds(self) -> FloatArray:
        """m_a and, last, g at the points."""
        return self.with_leakage(self.points)

    def with_leakage(self, p: FloatArray) -> FloatArray:
        """m_a and, last, g at these probabilities, which rise."""
        return np.vstack([self.mean(p), self.sampling.leakage(p, self.n, self.gamma)])


@lru_cache(maxsize=8)
def _all_scores(rows: int, n: int, gamma: float, sampling: Sampling) -> _AllScores:
    """The scores for samples of `rows` rows, kept for the next table of the same people."""
    return _AllScores(rows, n, gamma, sampling)


class _Scores:
    """What there is to know about the averages of the scores over one sample."""

    def __init__(self, law: CompletedLaw, n: int, gamma: float) -> None:
        self.law, self.n, self.gamma = law, n, gamma
        self.all = _all_scores(law.rows, n, gamma, law.sampling)
        self.scores, self.knots = self.all.scores, self.all.knots
        self.row_shares = law.pmf @ law.shares
        self.heavy_sizes = law.sizes[law.heavy].astype(np.float64)
        self.heavy_cells = law.cells[law.heavy]

    @cached_property
    def fitted_mean(self) -> FloatArray:
        """m_a at the nodes of the fitted law."""
        mean = self.scores @ self.law.pmf
        mean[-1] += 1 - self.law.pmf.sum(axis=0)
        return np.asarray(mean)

    @cached_property
    def observed(self) -> FloatArray:
        """S(a) of each score."""
        law = self.law
        if law.sizes[-1] <= self.scores.shape[1]:  # as in most small tables
            hats = np.ascontiguousarray(self.scores[1:, law.sizes - 1])
        else:
            hats = self.all.hats(law.sizes - 1)
        hats = hats @ (law.cells * law.sizes / law.rows)
        return np.asarray(np.append(_baseline_total(law, self.n, self.gamma), hats))

    def _expected_hats(self) -> FloatArray:
        """What the fitted law expects of the hats."""
        expected = self.fitted_mean[1:] @ self.law.shares
        expected[-1] += self.heavy_sizes @ self.heavy_cells / self.law.rows
        return expected

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the S(a): cells independent and Poisson, given that they sum to N."""
        rows = self.law.rows
        size = np.arange(1, self.scores.shape[1] + 1) / rows
        mean = self.fitted_mean
        inside = mean * (self.law.shares * self.law.nodes)
        covariance = (self.scores * (size * self.row_shares)) @ self.scores.T - inside @ mean.T
        slopes = np.zeros((len(self.scores), len(self.heavy_sizes)))
        slopes[0], slopes[-1] = self._baseline_slopes(), 1 / rows
        variances = self.heavy_cells * self.heavy_sizes * self.law.sampling.shrinkage(rows)
        covariance += (slopes * variances) @ slopes.T
        unseen = self.scores[:, :_UNSEEN_SIZES] * size[:_UNSEEN_SIZES]
        covariance += _UNSEEN * unseen @ unseen.T
        # The hats sum to 1, so their S(a) sum to 1: condition on that.
        with_rows = covariance[:, 1:].sum(axis=1)
        return np.asarray(covariance - np.outer(with_rows, with_rows) / with_rows[1:].sum())

    def _baseline_slopes(self) -> FloatArray:
        sizes, rows = self.heavy_sizes, self.law.rows
        if not sizes.size:
            return sizes
        sampling = self.law.sampling
        spread = sampling.spread(sizes, rows)
        after = _baseline(sizes + spread / 2, rows, self.n, self.gamma, sampling)
        before = _baseline(sizes - spread / 2, rows, self.n, self.gamma, sampling)
        return np.asarray((after - before) / np.maximum(spread, 1e-9))

    def _hat_variance(self) -> FloatArray:
        """Variance that unseen cells could add to the hats below the last knot."""
        last = int(self.knots[-1])
        size = np.arange(1, last + 1) / self.law.rows
        unseen = self.scores[1:, :last] * size
        return np.asarray(_UNSEEN_HAT * unseen @ unseen.T)

    @cached_property
    def heavy_bias(self) -> float:
        """Largest bias of the baseline in heavy cells, which the kinks of g bring about."""
        sizes, rows, n = self.heavy_sizes, self.law.rows, self.n
        if not sizes.size:
            return 0.0
        p, sampling = sizes / rows, self.law.sampling
        plug_in = p * sampling.leakage(p, n, self.gamma)
        baseline = _baseline(sizes, rows, n, self.gamma, sampling)
        kink = _KINK_BIAS * np.abs(baseline - plug_in)
        threshold = np.minimum(np.floor(self.gamma * n * p), n)
        # Without replacement the count is narrower by the root of 1 - n/N, and p times the leakage
        # is larger by 1/(1 - n/N).
        probability = np.exp(special.binom_logpmf(threshold, float(n), p))
        probability /= sampling.shrinkage(n) ** 1.5
        arch = _ARCHES * probability / (n * min(self.gamma, 1.0))
        spread = sampling.spread(sizes, rows) * _kinks(rows, n, self.gamma)
        bias = np.where(spread > _BLURRED, np.maximum(kink, arch), kink)
        return float(self.heavy_cells @ bias)

    def cheapest(self, sign: int, margin: float) -> FloatArray:
        """Weights of the scores whose sum is at least g for sign 1, and at least -g for -1.

        Of all such weights, with that of the baseline equal to `sign`, those with the least
        expectation plus `margin` standard errors under the fitted law.
        """
        flip = np.append(sign, np.ones(len(self.knots)))
        covariance = self.covariance * np.outer(flip, flip)
        covariance[1:, 1:] += self._hat_variance()
        on_grid = self.all.bounds[:, ::2]
        # The last hat alone sees cells beyond the grid; there the baseline is right.
        mean = np.vstack([on_grid[1:-1].T, np.eye(len(self.knots))[-1]])
        floor = sign * np.append(on_grid[-1] - on_grid[0], 0.0)
        hats = cheapest_majorant(self._expected_hats(), covariance, margin, mean, floor)
        weights = np.append(sign, hats)
        # Hats sum to 1, so that this raises m_a everywhere by what it falls short somewhere.
        weights[1:] += self._shortfall(np.append(weights, -sign))
        return np.asarray(weights)

    def end(self, sign: int, confidence: float) -> float:
        """Upper end of the interval for sign 1, lower end for -1."""
        # One more squared standard error for the choice of the scores, which the data made.
        margin = math.sqrt(float(ndtri((1 - confidence) / 2)) ** 2 + 1)
        weights = self.cheapest(sign, margin)
        sd = math.sqrt(max(float(weights @ self.covariance @ weights), 0.0))
        end = sign * (float(weights @ self.observed) + margin * sd + self.heavy_bias)
        return min(max(end, 0.0), 1.0)

    def _shortfall(self, weights: FloatArray) -> float:
        """By how much the weighted scores less g fall below 0, at the points and between them.

        Wherever a point is lower than its neighbours, at the vertex of the parabola through them.
        """
        height, x = weights @ self.all.bounds, self.all.roots
        slope, middle = np.diff(height) / np.diff(x), (x[1:] + x[:-1]) / 2
        dip = np.flatnonzero((slope[:-1] <= 0) & (slope[1:] > 0))
        share = slope[dip] / (slope[dip] - slope[dip + 1])
        vertex = (middle[dip] + share * (middle[dip + 1] - middle[dip])) ** 2
        between = weights @ self.all.with_leakage(vertex)
        return max(-min(float(height.min()), float(between.min(initial=np.inf))), 0.0)


def leakage_interval(
    law: CompletedLaw, n: int, gamma: float, confidence: float
) -> tuple[float, float, float]:
    """Estimate of the leakage of a release of n rows, lower and upper end of its interval."""
    scores = _Scores(law, n, gamma)
    low, high = sorted(scores.end(sign, confidence) for sign in (-1, 1))
    estimate = completed_leakage(law, n, gamma, float(scores.observed[0]))
    return min(max(estimate, low), high), low, high


def interval_end(law: CompletedLaw, n: int, gamma: float, confidence: float, sign: int) -> float:
    """The upper end of the interval for sign 1, the lower end for -1."""
    return _Scores(law, n, gamma).end(sign, confidence)
