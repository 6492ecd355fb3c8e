"""The curve between N(0, 1) and N(mu, 1)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray, as_choice, as_floats, as_frozen, require_within
from mialeak._numerics.losses import Loss
from mialeak._numerics.normal import blockwise, shifted_normal
from mialeak._numerics.normal_losses import NormalLoss
from mialeak._numerics.normal_options import call, call_at_zero, call_strike
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff, require_scalar, weakest
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = ["GaussianTradeOff"]


@dataclass(frozen=True, repr=False, eq=False)
class GaussianTradeOff(TradeOff):
    """The trade-off between N(0, 1) and N(mu, 1), the curve of mu-Gaussian differential privacy.

    Parameters
    ----------
    mu : array_like
        Distance of the two normals in standard deviations, at least 0; the square root of the
        leakage score of a released mean.  0 reveals nothing, inf everything.
    kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
        Kind of the curve as a result, set by its author; it changes no number.

    Raises
    ------
    ValueError
        If `mu` is negative or NaN.

    Notes
    -----
    With Phi the normal cdf and phi its density ([AB25] Section 3; Dong, Roth and Su, 2022)::

        power(fpr)     = Phi(Phi^-1(fpr) + mu)
        advantage      = 2 Phi(mu/2) - 1
        auc            = Phi(mu / sqrt 2)
        delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

    Both directions of delta are the same.

    **Accuracy.**  Relative errors against 60-digit arithmetic, mu in [1e-8, 60]: `power`, `fnr` and
    `fpr` below 7e-14 for arguments from 1e-300 to 1 - 1e-16; `delta` below 2e-14 wherever it is a
    normal number, for epsilon up to 700 and at epsilon = mu = 1e-6, where the formula above loses
    nine digits; `epsilon` below the larger of 1e-14 and the effect of a change of 3e-15 in delta
    (which is larger for delta close to `advantage`).

    **Cost.**  About 70 ns a point for `power`, `fnr` and `fpr`, up to three times as much for
    `delta` and far in the tails (below 1e-9); 1 us for `epsilon`.

    Examples
    --------
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> curve = GaussianTradeOff(1.5)
    >>> f"{curve.advantage:.6f}"
    '0.546745'
    >>> f"{curve.power(1e-300):.6e}"
    '4.606444e-277'

    Many curves at once:

    >>> import numpy as np
    >>> np.round(GaussianTradeOff([0.5, 1.0, 2.0]).power(0.05), 4)
    array([0.1261, 0.2595, 0.6388])
    """

    mu: Any
    kind: Kind = field(default="exact", kw_only=True)

    _in_leads = True

    def __post_init__(self) -> None:
        mu = as_floats(self.mu, "mu")
        require_within(mu, 0.0, np.inf, "mu", "be at least 0")
        as_choice(self.kind, "kind", get_args(Kind))
        object.__setattr__(self, "mu", as_frozen(mu))

    @property
    def advantage(self) -> float | FloatArray:
        """The largest power - fpr, ``2 Phi(mu/2) - 1``."""
        result: float | FloatArray = call_at_zero(self.mu)
        return result

    @property
    def auc(self) -> float | FloatArray:
        """Area under the curve of power against fpr, ``Phi(mu / sqrt 2)``."""
        result: float | FloatArray = special.ndtr(self.mu / np.sqrt(2.0))
        return result

    def compose(self, other: TradeOff) -> TradeOff:
        """The curve of this release and an independent second one: the squares of mu add.

        Parameters
        ----------
        other : GaussianTradeOff

        Returns
        -------
        TradeOff
            A GaussianTradeOff for another of its kind, otherwise that of :func:`compose`.

        Raises
        ------
        TypeError
            As :func:`compose`.

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> GaussianTradeOff(3.0).compose(GaussianTradeOff(4.0))
        GaussianTradeOff(mu=5, kind='exact')
        """
        if not isinstance(other, GaussianTradeOff):
            return super().compose(other)
        return GaussianTradeOff(np.hypot(self.mu, other.mu), kind=weakest(self.kind, other.kind))

    def _composable(self) -> TradeOff:
        require_scalar(self.mu, "mu")
        # Without any noise the release reveals everything: two outcomes, one in each world.
        return self if self.mu < np.inf else PiecewiseTradeOff([0.0], [1.0], kind=self.kind)

    @property
    def _identity(self) -> Hashable:
        return type(self), self.kind, float(self.mu)

    @property
    def _mirrored(self) -> bool:
        return True

    def _loss(self) -> Loss:
        return NormalLoss(float(self.mu))

    def _power(self, fpr: FloatArray) -> FloatArray:
        return self._shifted(fpr, 1.0, at_zero=fpr, at_inf=1.0)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return self._shifted(fpr, 1.0, at_zero=1.0 - fpr, at_inf=0.0, upper=True)

    def _fpr(self, power: FloatArray) -> FloatArray:
        return self._shifted(power, -1.0, at_zero=power, at_inf=0.0)

    def _shifted(
        self, u: FloatArray, sign: float, *, at_zero: Any, at_inf: float, upper: bool = False
    ) -> FloatArray:
        mu = np.asarray(self.mu)
        proper = (mu > 0.0) & (mu < np.inf)
        if proper.all():
            return shifted_normal(u, sign * mu, upper=upper)
        result = shifted_normal(u, sign * np.where(proper, mu, 0.0), upper=upper)
        return np.where(proper, result, np.where(mu == 0.0, at_zero, at_inf))

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self._delta_near(epsilon, np.zeros(()), direction)

    def _delta_near(self, epsilon: FloatArray, low: FloatArray, direction: str) -> FloatArray:
        return blockwise(call, epsilon, low, np.asarray(self.mu))

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return blockwise(call_strike, delta, np.asarray(self.mu))
