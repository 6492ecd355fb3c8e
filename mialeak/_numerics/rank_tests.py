"""Rank tests of an audit: counts at ranks fixed in advance, and their exact p-values.

Let Y_(r) be the r-th largest of n0 out-scores and k the number of n1 in-scores above it.  If no
threshold has power above h(fpr), then, for any laws of the scores,

    P(at least k above) <= P(V <= h(U)),   U ~ Beta(r, n0-r+1),  V ~ Beta(k, n1-k+1) independent,

which is an exact p-value of the curve h.  The same holds for the other tail, with the r-th smallest
in-score and the out-scores below it, and h mirrored.  The events that p-values fall below their
levels all increase in the same independent uniforms: Sidak levels hold for all tests together.
docs/audits.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import (
    betainc,
    betainccinv,
    betaincinv,
    expit,
    log_expit,
    logit,
    ndtr,
    ndtri,
)

from mialeak._arrays import FloatArray
from mialeak._numerics.order import IntArray, Order
from mialeak._results import Direction

__all__ = [
    "ADVANTAGE",
    "GAUSSIAN",
    "Curves",
    "PairTest",
    "Pairs",
    "indistinguishable",
    "pair_shares",
]

#: Ratio of the ranks of one tail, and the floor of the weights 2**-j.  Of 90 settings this one has
#: the best mean and worst share of an oracle's bound on nine laws.
_RATIO, _FLOOR = 3, 1.0 / 32.0

#: Nodes of the trapezoid rule for an expectation over a beta law, equidistant in log odds between
#: the quantiles at `_OUTSIDE` and above; the integrand is smooth on the scale of the law.
_NODES, _OUTSIDE = 192, 1e-12

#: Largest alpha, so that log(1 - alpha) is finite.
_ALMOST_ONE = 1.0 - 2.0**-53

#: Tolerance of the search for a bound, and the amount by which the bound is rounded down.
_TOLERANCE, _MARGIN = 1e-9, 1e-7


class Curves(NamedTuple):
    """A family of null curves h that increase with the parameter."""

    #: h(u) and its inverse, at a parameter.
    forward: Callable[[FloatArray, Any], FloatArray]
    backward: Callable[[FloatArray, Any], FloatArray]
    #: Derivative of the scale on which the parameter is a shift: shows which variable is narrow.
    scale: Callable[[FloatArray], FloatArray]
    #: h(0): V below it is certainly below the curve.
    start: float = 0.0


GAUSSIAN = Curves(
    forward=lambda u, mu: ndtr(ndtri(u) + mu),
    backward=lambda v, mu: ndtr(ndtri(v) - mu),
    scale=lambda x: np.exp(0.5 * ndtri(x) ** 2),
)
ADVANTAGE = Curves(
    forward=lambda u, a: np.minimum(u + a, 1.0),
    backward=lambda v, a: np.maximum(v - a, 0.0),
    scale=np.ones_like,
)


def indistinguishable(delta: float) -> Curves:
    """Curves of (epsilon, delta)-indistinguishable worlds, with parameter epsilon."""
    return Curves(
        forward=lambda u, epsilon: np.minimum(delta + np.exp(epsilon) * u, 1.0),
        backward=lambda v, epsilon: np.maximum(v - delta, 0.0) * np.exp(-epsilon),
        scale=np.reciprocal,
        start=delta,
    )


@dataclass(frozen=True)
class Pairs:
    """Counts at ranks: `hits` of `n_hits` beyond the `ranks`-th of `n_ranks`, and their levels."""

    hits: IntArray
    ranks: IntArray
    n_hits: IntArray
    n_ranks: IntArray
    levels: FloatArray
    is_top: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, order: Order, alpha: float, direction: Direction = "both") -> Pairs:
        """Count hits at the ranks of an audit, which depend on the numbers of scores only.

        If all scores are equal, all counts are 0: constant scores are no evidence.
        """
        n_in, n_out = order.inside.size, order.outside.size
        tails = {"both": (True, False), "in": (True,), "out": (False,)}[direction]
        share = -np.expm1(np.log1p(-min(alpha, _ALMOST_ONE)) / len(tails))
        parts = []
        for is_top in tails:
            ranks, shares = pair_shares(n_out if is_top else n_in)
            counts = order.hits(ranks) if is_top else order.rejections(ranks)
            if order.is_constant:
                counts = np.zeros_like(counts)
            sizes = (n_in, n_out) if is_top else (n_out, n_in)
            full = (np.full(ranks.size, value) for value in (*sizes, is_top))
            n_hits, n_ranks, top = full
            # With independent tests, P(at least one p-value below its level) = share.
            levels = -np.expm1(np.log1p(-share) * shares)
            parts.append((counts, ranks, n_hits, n_ranks, levels, top))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def select(self, chosen: npt.NDArray[Any] | slice) -> Pairs:
        """Those of a mask, of indices or of a slice."""
        return Pairs(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def tail(self, is_top: bool) -> Pairs:
        """The pairs of one tail, at their levels."""
        return self.select(self.is_top == is_top)

    def bound(self, curves: Curves, high: float) -> float:
        """The least upper bound of the parameters that at least one pair rejects, or 0.

        The search begins at `high`, which is doubled until no pair rejects it.
        """
        from scipy.optimize import brentq

        pairs = self.select(self.hits > 0)
        test, log_levels = PairTest.of(pairs, curves), np.log(pairs.levels)

        def evidence(parameter: float, which: npt.NDArray[np.intp]) -> FloatArray:
            p = test.p_values(parameter, which) + 2.0 * _OUTSIDE  # tail mass beyond the nodes
            value: FloatArray = log_levels[which] - np.log(p)
            return value

        def root(low: float, high: float, which: npt.NDArray[np.intp]) -> float:
            while evidence(high, which)[0] >= 0.0:
                low, high = high, 2.0 * high
            value: float = brentq(lambda x: evidence(x, which)[0], low, high, xtol=_TOLERANCE)
            return value

        active, bound = np.arange(pairs.hits.size), 0.0
        while active.size:  # p-values increase with the parameter: accepted pairs stay accepted
            each = evidence(bound, active)
            loudest = int(np.argmax(each))
            if each[loudest] > _TOLERANCE:
                bound = root(bound, max(high, bound), active[[loudest]])
                each[loudest] = 0.0
            active = active[each > _TOLERANCE]
        return max(bound - _MARGIN, 0.0)


@dataclass(frozen=True)
class PairTest:
    """P(V <= h(U)) of pairs as a function of the parameter of h, by an integral over U or V.

    If V is narrower, the mean over V of 1 - P(U < h^-1(V)); otherwise the mean over U of
    P(V <= h(U)).
    """

    curves: Curves
    over_v: npt.NDArray[np.bool_]
    below: FloatArray
    nodes: FloatArray
    weights: FloatArray
    a: FloatArray
    b: FloatArray

    @classmethod
    def of(cls, pairs: Pairs, curves: Curves) -> PairTest:
        """Compute the nodes and weights, which do not depend on the parameter."""
        k, n = pairs.hits.astype(np.float64), pairs.n_hits.astype(np.float64)
        r, m = pairs.ranks.astype(np.float64), pairs.n_ranks.astype(np.float64)
        over_v = _spread(k, n, curves, curves.start) <= _spread(r, m, curves)
        outer = np.where(over_v, k, r), np.where(over_v, n - k, m - r) + 1.0
        inner = np.where(over_v, r, k), np.where(over_v, m - r, n - k) + 1.0
        start = np.where(over_v, curves.start, 0.0)
        below = np.asarray(betainc(*outer, start), dtype=np.float64)
        nodes, weights = _nodes(*outer, start, below)
        return cls(curves, over_v, below, nodes, weights, *inner)

    def p_values(self, parameter: Any, which: npt.NDArray[np.intp]) -> FloatArray:
        """P-values of the selected pairs at a parameter, or at one each (as a column)."""
        x, over_v = self.nodes[which], self.over_v[which]
        curves = self.curves.backward(x, parameter), self.curves.forward(x, parameter)
        inner = betainc(
            self.a[which, None], self.b[which, None], np.where(over_v[:, None], *curves)
        )
        weights = self.weights[which]
        mean = np.einsum("ij,ij->i", inner, weights)
        # h(u) has a corner where it reaches 1: every second node is off by more than all of them.
        coarse = np.einsum("ij,ij->i", inner[:, ::2], weights[:, ::2])
        error = np.abs(coarse / weights[:, ::2].sum(axis=1) - mean)
        p: FloatArray = np.where(over_v, 1.0 - (1.0 - self.below[which]) * mean, mean + error)
        return p


def pair_shares(size: int) -> tuple[IntArray, FloatArray]:
    """Ranks 1, 3, 9, ... up to half of `size`, and their shares of log(1 - alpha) for a tail."""
    ranks = [1]
    while ranks[-1] * _RATIO <= size // 2:
        ranks.append(ranks[-1] * _RATIO)
    weights = 0.5 ** np.arange(len(ranks)) + _FLOOR
    return np.array(ranks), np.asarray(weights / weights.sum())


def _spread(count: FloatArray, size: FloatArray, curves: Curves, start: float = 0.0) -> Any:
    """Standard deviation of Beta(count, size - count + 1) on the scale of the parameter."""
    mean = count / (size + 1.0)
    above = np.maximum(mean - start, 1e-300)
    return np.sqrt(mean * (1.0 - mean) / size) * curves.scale(above)


def _nodes(
    a: FloatArray, b: FloatArray, start: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for Beta(a, b) conditional on exceeding `start`; `below` is P(<= start).

    The log odds of ``(x - start)/(1 - start)`` have a smooth density with exponential tails, for
    which the trapezoid rule converges geometrically.
    """
    ends = (
        betaincinv(a, b, below + (1.0 - below) * _OUTSIDE),
        betainccinv(a, b, (1.0 - below) * _OUTSIDE),
    )
    scaled = (np.clip((end - start) / (1.0 - start), 1e-300, 1.0 - 1e-16) for end in ends)
    first, last = (logit(end)[:, None] for end in scaled)
    odds = first + (last - first) * np.linspace(0.0, 1.0, _NODES)
    a, b, start = a[:, None], b[:, None], start[:, None]
    x = start + (1.0 - start) * expit(odds)
    log_density = (a - 1.0) * np.log(x) + b * log_expit(-odds) + log_expit(odds)
    weights = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return x, weights / weights.sum(axis=1, keepdims=True)
