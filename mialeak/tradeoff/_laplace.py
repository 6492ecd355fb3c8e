"""The curve between two Laplace laws of the same scale."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, as_floats, as_frozen, plain, require_within
from mialeak._numerics.laplace_losses import LaplaceLoss
from mialeak._numerics.losses import Loss
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff, require_scalar
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = ["LaplaceTradeOff"]


@dataclass(frozen=True, repr=False, eq=False)
class LaplaceTradeOff(TradeOff):
    """The trade-off of Laplace noise of scale 1 between two values at a distance of epsilon.

    Noise of two-sided geometric law between two neighbouring counts has the curve of randomised
    response instead, ``PiecewiseTradeOff.from_epsilon``.

    Parameters
    ----------
    distance : array_like
        Distance of the two values in units of the scale of the noise, at least 0: the epsilon of
        pure differential privacy.  0 reveals nothing, inf everything.
    kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
        Kind of the curve as a result, set by its author; it changes no number.

    Raises
    ------
    ValueError
        If `distance` is negative or NaN.

    Notes
    -----
    With a the distance (Dong, Roth and Su, 2022, Appendix A)::

        fnr(fpr)       = 1 - e^a fpr           for fpr <= e^-a / 2
                         e^-a / (4 fpr)        for e^-a / 2 <= fpr <= 1/2
                         e^-a (1 - fpr)        for fpr >= 1/2
        delta(epsilon) = 1 - e^((epsilon - a)/2), both directions, for epsilon <= a
        auc            = 1 - e^-a (1/2 + a/4)

    **Accuracy.**  Several units in the last place.  **Cost.**  20 ns a point.

    Examples
    --------
    >>> from mialeak.tradeoff import LaplaceTradeOff
    >>> curve = LaplaceTradeOff(1.0)
    >>> f"{curve.advantage:.6f} {curve.delta(0.5):.6f} {curve.epsilon(0.0):.1f}"
    '0.393469 0.221199 1.0'
    """

    distance: Any
    kind: Kind = field(default="exact", kw_only=True)

    _in_leads = True

    def __post_init__(self) -> None:
        distance = as_floats(self.distance, "distance")
        require_within(distance, 0.0, np.inf, "distance", "be at least 0")
        as_choice(self.kind, "kind", get_args(Kind))
        object.__setattr__(self, "distance", as_frozen(distance))

    @property
    def auc(self) -> float | FloatArray:
        """Area under the curve of power against fpr."""
        finite = np.minimum(self.distance, 1e300)
        return plain(1.0 - np.exp(-finite) * (0.5 + 0.25 * finite))

    def _composable(self) -> TradeOff:
        require_scalar(self.distance, "distance")
        if self.distance == np.inf:
            return PiecewiseTradeOff([0.0], [1.0], kind=self.kind)
        return self

    @property
    def _identity(self) -> Hashable:
        return type(self), self.kind, float(self.distance)

    @property
    def _mirrored(self) -> bool:
        return True

    def _loss(self) -> Loss:
        return LaplaceLoss(float(self.distance))

    def _power(self, fpr: FloatArray) -> FloatArray:
        steep = self._steep(fpr)
        return np.where(steep < 0.5, steep, 1.0 - self._fnr(fpr))

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return self._errors(fpr, 1.0 - fpr)

    def _fpr(self, power: FloatArray) -> FloatArray:
        return self._errors(1.0 - power, power)  # the worlds are alike but for the direction

    @property
    def _root(self) -> FloatArray:
        """``e^(-a/2)``; ``e^-a`` itself is 0 where products with it are not."""
        return np.asarray(np.exp(-0.5 * np.asarray(self.distance)))

    def _steep(self, rate: FloatArray) -> FloatArray:
        """``e^a rate``, the line from the origin."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            line = rate / self._root / self._root
        origin = np.where(np.isinf(self.distance), np.inf, 0.0)
        return np.where(rate > 0.0, line, origin)

    def _errors(self, rate: FloatArray, complement: FloatArray) -> FloatArray:
        """The least rate of errors in one world for that in the other one."""
        root, steep = self._root, self._steep(rate)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            middle = 0.25 * root * (root / rate)
        flat = np.where(rate < 0.5, middle, root * (root * complement))
        return np.where(steep <= 0.5, 1.0 - steep, np.where(root > 0.0, flat, 0.0))

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        with np.errstate(invalid="ignore"):
            below = np.where(epsilon < self.distance, self.distance - epsilon, 0.0)
        return np.asarray(-np.expm1(-0.5 * below))

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        with np.errstate(divide="ignore"):
            least = self.distance + 2.0 * np.log1p(-delta)
        return np.where(delta < 1.0, np.maximum(least, 0.0), 0.0)
