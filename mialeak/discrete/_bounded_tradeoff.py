"""A trade-off known to lie between two curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._results import Bounds, Kind
from mialeak.tradeoff import PiecewiseTradeOff, TradeOff

__all__ = ["EnclosedTradeOff"]

#: What rounding may do to the power of either curve.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False, eq=False)
class EnclosedTradeOff(TradeOff):
    """A trade-off between two piecewise linear curves: none beats `upper`, one reaches `lower`.

    What it answers is the answer of `upper`: power, advantage, delta and epsilon are never below
    the truth, and the power is above it by at most `error`.

    Attributes
    ----------
    upper, lower : PiecewiseTradeOff
        The curve lies between them.
    error : float
        Largest difference of their powers at one false-positive rate, and 1e-12 for rounding.
    kind : str
        "bound".

    Examples
    --------
    >>> from scipy import stats
    >>> from mialeak import discrete_tradeoff
    >>> curve = discrete_tradeoff(stats.zipf(3), 50)
    >>> bounds = curve.enclosure(0.1)
    >>> bool(bounds.lower <= bounds.upper <= bounds.lower + curve.error)
    True
    >>> f"{curve.power(0.1):.6f}"
    '0.155268'
    """

    upper: PiecewiseTradeOff
    lower: PiecewiseTradeOff
    error: float = field(init=False)
    kind: Kind = field(default="bound", init=False)

    def __post_init__(self) -> None:
        # Piecewise linear differences are largest at a vertex.
        fpr = np.concatenate([self.upper.vertices.fpr, self.lower.vertices.fpr])
        gap = self.upper._power(fpr) - self.lower._power(fpr)
        object.__setattr__(self, "error", float(gap.max()) + _ROUNDING)

    def enclosure(self, fpr: npt.ArrayLike) -> Bounds:
        """Bounds of the power at these false-positive rates.

        Parameters
        ----------
        fpr : array_like
            P(guess "in" | out), in [0, 1].

        Returns
        -------
        Bounds
        """
        return Bounds(self.lower.power(fpr), self.upper.power(fpr))

    @property
    def advantage(self) -> float:
        """The largest power - fpr of `upper`."""
        return self.upper.advantage

    @property
    def auc(self) -> float:
        """Area under `upper`."""
        return self.upper.auc

    def subsample(self, rate: Any, *, symmetric: bool = False) -> TradeOff:
        """The upper curve if only a share `rate` of the rows goes into the release.

        Parameters
        ----------
        rate : array_like
            In [0, 1].
        symmetric : bool
            Refused: for Gaussian and Laplace curves only.

        Returns
        -------
        TradeOff
        """
        return self.upper.subsample(rate, symmetric=symmetric)

    def compose(self, other: TradeOff) -> TradeOff:
        """The upper curve of this release and an independent second one together.

        Parameters
        ----------
        other : PiecewiseTradeOff or EnclosedTradeOff

        Returns
        -------
        PiecewiseTradeOff
            Of kind "bound".

        Raises
        ------
        TypeError
            As :meth:`PiecewiseTradeOff.compose`.
        """
        return self.upper.compose(other.upper if isinstance(other, EnclosedTradeOff) else other)

    def _composable(self) -> TradeOff:
        return self.upper

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "upper": self.upper.to_dict(),
            "lower": self.lower.to_dict(),
            "error": self.error,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(error={self.error:.3g}, advantage={self.advantage:.6g}, "
            f"kind={self.kind!r})"
        )

    def _power(self, fpr: FloatArray) -> FloatArray:
        return self.upper._power(fpr)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return self.upper._fnr(fpr)

    def _fpr(self, power: FloatArray) -> FloatArray:
        return self.upper._fpr(power)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self.upper._delta(epsilon, direction)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return self.upper._epsilon(delta, direction)
