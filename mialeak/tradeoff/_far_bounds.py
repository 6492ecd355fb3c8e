"""Upper bounds of a composition that hold where neither an inversion nor a grid resolves it.

Two of them.  Worlds of a release are equal with probability 1 - a, a its advantage, if they are
coupled as well as can be; hence all of them with probability ``prod (1 - a_j)^m_j``.  And
Chernoff's: each moment of the ratio bounds delta at every epsilon.  Where one draw in a million
moves the ratio far, its moments are those of that draw: they are taken of the ratios that are not
so large, and the probability that one of the releases has a larger one is added to delta.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.chernoff import log_chernoff
from mialeak._numerics.losses import ComposedLoss
from mialeak.tradeoff._base import TradeOff

__all__ = ["FarBounds"]

#: Exponents, and such in units of one over the standard deviation of the ratio.
_PLAIN, _SCALED = np.geomspace(0.5, 50.0, 20), np.geomspace(1e-3, 30.0, 60)
#: For rounding.
_ROUNDED = 1.0 + 1e-12
#: Weights below e^-this of the largest are those of a tail.
_DEEP = (30.0, 46.0)


class FarBounds:
    """Upper bounds of power, delta and epsilon.

    Parameters
    ----------
    curves : sequence of TradeOff
    counts : sequence of int
    losses : ComposedLoss
    """

    def __init__(self, curves: Sequence[TradeOff], counts: Sequence[int], losses: ComposedLoss):
        apart = np.array([float(curve.advantage) for curve in curves])
        with np.errstate(divide="ignore"):
            equal = np.asarray(counts, np.float64) @ np.log1p(-apart)
        #: The largest advantage.
        self.advantage = float(min(-np.expm1(equal) * _ROUNDED, 1.0))
        self._lost = losses.lost
        spreads = [losses.local(theta)[2] for theta in (0.0, 0.5, 1.0)]
        scaled = [_SCALED / spread for spread in spreads if spread > 0.0]
        exponents = np.unique(np.concatenate([_PLAIN, *scaled])).tolist()
        #: By direction: what is added to delta, and exponents with the logarithms of their factors.
        self._pairs = {side: [(0.0, losses.far(side, exponents))] for side in ("in", "out")}
        self._pairs["in"] += [_without_tail(losses, exponents, deep) for deep in _DEEP]

    def power(self, fpr: FloatArray) -> FloatArray:
        """Power at a false-positive rate."""
        most = self.advantage + (1.0 - self.advantage) * fpr
        return np.asarray(np.minimum(most * _ROUNDED, 1.0))

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Delta at an epsilon."""
        finite, far = np.minimum(epsilon, 1e300), np.ones(np.shape(epsilon))
        for added, pairs in self._pairs[direction]:
            for r, log_a in pairs:
                far = np.minimum(far, added + np.exp(np.minimum(log_a - r * finite, 0.0)))
        return np.minimum(far + self._lost[direction == "in"], self.advantage)

    def epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        """Epsilon at a delta; infinite where nothing is known."""
        more = delta - self._lost[direction == "in"]
        far = np.full(more.shape, np.inf)
        for added, pairs in self._pairs[direction]:
            log_kept = np.log(np.where(more > added, more - added, 1.0))
            for r, log_a in pairs:
                epsilon = np.maximum((log_a - log_kept) / r, 0.0)
                far = np.where(more > added, np.minimum(far, epsilon), far)
        return np.where(delta >= self.advantage, 0.0, far)


def _without_tail(
    losses: ComposedLoss, exponents: list[float], deep: float
) -> tuple[float, list[tuple[float, float]]]:
    """The pairs for "in" of ratios with more than e^-deep of the largest weight, and the rest."""
    omitted, parts = 0.0, []
    for part, m in losses.parts:
        log_p, ratio = part.points(1.0, lambda low, high: np.zeros(0))
        log_weight = log_p + ratio  # of the world in
        log_weight -= log_weight.max()
        weight = np.exp(log_weight)
        weight *= (1.0 - part.lost[1]) / weight.sum()
        kept = (log_weight >= -deep) | (ratio <= 0.0)
        missing = float(weight[~kept].sum())
        omitted += m * missing
        parts.append((weight[kept], ratio[kept], missing + part.lost[1], m))
    pairs = []
    for r in exponents:
        log_moment = 0.0
        for weight, ratio, missing, m in parts:
            most = max(r * float(ratio.max(initial=0.0)), 0.0)
            if most < 1.0:  # the moment is near 1
                log_moment += m * float(np.log1p(weight @ np.expm1(r * ratio) - missing))
            else:
                log_moment += m * (most + float(np.log(weight @ np.exp(r * ratio - most))))
        pairs.append((r, log_chernoff(r) + log_moment))
    return omitted, pairs
