"""The trade-off curve of a release of a random share of the rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray, as_frozen, as_probability, invalid, plain
from mialeak._numerics.laplace_losses import LaplaceLoss, SampledLoss
from mialeak._numerics.losses import Loss, MirroredLoss
from mialeak._numerics.normal_losses import SampledNormalLoss
from mialeak._numerics.roots import increasing_root
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff, require_scalar
from mialeak.tradeoff._gaussian import GaussianTradeOff
from mialeak.tradeoff._laplace import LaplaceTradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = ["SubsampledTradeOff"]

#: Above this e^epsilon - 1 is replaced by e^epsilon, a relative difference of 1e-217; above 709
#: both overflow.
_LARGE = 500.0
#: Range of z, and number of nodes, of the area under a symmetric curve.
_LOWEST, _NODES = 12.0, 2001
#: Logarithms of ratios below this are rounding error.
_ROUNDING = 2.0**-51


@dataclass(frozen=True, repr=False, eq=False)
class SubsampledTradeOff(TradeOff):
    """The trade-off of a release of a random share `rate` of the rows, drawn together.

    A target in the data is among the drawn rows with probability `rate`; otherwise the release does
    not depend on the target.  The world *in* is a mixture of the base curve's *in* and *out*.

    Parameters
    ----------
    base : TradeOff
        The curve of the release of the drawn rows if the target is one of them: for a mean over n
        rows, the curve of ``rate * n`` rows.
    rate : array_like
        In [0, 1].  0 reveals nothing; 1 is `base`.
    symmetric : bool, keyword-only
        The least curve above this one that is the same with the worlds exchanged: that of
        differential privacy for batches of a fixed size drawn without replacement, where both
        worlds have a row that the other lacks.  `base` must be symmetric: Gaussian or Laplace.  A
        step with noise of sigma times the clipping norm is
        ``GaussianTradeOff(2 / sigma).subsample(rate, symmetric=True)``.

    Attributes
    ----------
    kind : str
        That of `base`.

    Raises
    ------
    TypeError
        If `base` is not a trade-off, or of another kind where `symmetric`.
    ValueError
        If a rate is outside [0, 1].

    Notes
    -----
    With f the power of the base and ``delta_f`` its delta ::

        power(fpr)           = rate f(fpr) + (1 - rate) fpr
        delta(eps), "in"     = rate delta_f(log(1 + (e^eps - 1)/rate))
        delta(eps), "out"    = q delta_f(log(1 + (e^eps - 1)/q)),   q = 1 - (1 - rate) e^eps

    each with the base's delta of the same direction, and 0 in direction "out" if q <= 0, which is
    for eps >= -log(1 - rate).  The advantage is `rate` times that of the base, at most `rate`.  The
    formula of [AB25] Theorem 4.2 and [AB24] Theorem 4.3, ``2 Phi(sqrt(rate m)/2) - 1`` for a score
    m at full size, treats the columns as drawn independently and exceeds `rate`; the
    sqrt(rate m)-Gaussian curve of [AB24] Remark 4.4 is not a bound.

    The symmetric curve is the hull of ``power(fpr)`` and its mirror image at the other diagonal
    (Dong, Roth and Su, 2022, Theorem 4.2): delta of both directions is that of "in".

    **Accuracy.**  As that of the base: 1e-13 for a Gaussian base, for rates down to 1e-12 and
    epsilon up to 700, where `numpy.longdouble` has more digits than a double (on Windows and on
    Apple silicon deltas below 1e-200 have errors of up to 1e-12).  1e-10 for the area under a
    symmetric curve.

    **Cost.**  That of the base; `fpr`, and `epsilon` in direction "out", evaluate it ten to forty
    times.

    Examples
    --------
    >>> from mialeak.tradeoff import GaussianTradeOff, SubsampledTradeOff
    >>> curve = SubsampledTradeOff(GaussianTradeOff(3.0), 0.1)
    >>> f"{curve.advantage:.4f} {curve.delta(0.1, direction='out'):.4f}"
    '0.0866 0.0030'
    """

    base: TradeOff
    rate: Any
    symmetric: bool = field(default=False, kw_only=True)
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, TradeOff):
            invalid("base", f"be a TradeOff, not {type(self.base).__name__}", error=TypeError)
        object.__setattr__(self, "rate", as_frozen(as_probability(self.rate, "rate")))
        object.__setattr__(self, "kind", self.base.kind)
        if self.symmetric and not isinstance(self.base, (GaussianTradeOff, LaplaceTradeOff)):
            rule = f"be Gaussian or Laplace where symmetric, not {type(self.base).__name__}"
            invalid("base", rule, error=TypeError)

    def __repr__(self) -> str:
        return super().__repr__().replace(", symmetric=False", "")

    @property
    def _in_leads(self) -> bool:  # type: ignore[override]
        # x delta_f(log(1 + c/x)) = sup_S x (P_in - P_out)(S) - c P_out(S) grows with x; q <= rate.
        return self.base._in_leads

    @property
    def advantage(self) -> float | FloatArray:
        """The largest power - fpr, `rate` times that of the base."""
        result: float | FloatArray = self.rate * self.base.advantage
        return result

    @property
    def auc(self) -> float | FloatArray:
        """Area under the curve of power against fpr."""
        result: float | FloatArray = self.rate * self.base.auc + (1.0 - self.rate) * 0.5
        if not self.symmetric:
            return result
        from scipy.integrate import simpson

        fpr, power = self._turn
        # Up to the turn, by the trapezoid rule in z, fpr = Phi(z); then its mirror image.
        z = np.linspace(-_LOWEST, 0.0, _NODES).reshape((-1, *(1,) * np.ndim(power)))
        z = z + special.ndtri(fpr)
        height = self._one_power(special.ndtr(z)) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        first = simpson(height, dx=_LOWEST / (_NODES - 1), axis=0)
        middle = 0.5 * ((1.0 - power) ** 2 - fpr**2) + (power - fpr) * (1.0 - power - fpr)
        return plain(2.0 * first + middle + power - fpr * power)

    @property
    def _turn(self) -> tuple[FloatArray, FloatArray]:
        """The fpr and the power at which the slope of the curve is 1."""
        advantage = np.asarray(self.base.advantage)
        fpr = 0.5 * (1.0 - advantage)
        return fpr, fpr + np.asarray(self.rate) * advantage

    def _sampled(self, rate: Any, symmetric: bool) -> TradeOff:
        if self.symmetric or symmetric:
            return super()._sampled(rate, symmetric)
        return SubsampledTradeOff(self.base, self.rate * as_probability(rate, "rate"))

    def _composable(self) -> TradeOff:
        require_scalar(self.rate, "rate")
        base, rate = self.base._composable(), float(self.rate)
        if isinstance(base, GaussianTradeOff) and (rate == 0.0 or base.mu == 0.0):
            return GaussianTradeOff(0.0, kind=self.kind)
        if isinstance(base, PiecewiseTradeOff):
            if not self.symmetric:
                return base.subsample(rate)
            # Without noise: in either world the row is shown with probability `rate`.
            laws = np.array([[0.0, 1.0 - rate, rate], [rate, 1.0 - rate, 0.0]])
            return PiecewiseTradeOff.from_laws(*laws, kind=self.kind)
        if isinstance(base, (GaussianTradeOff, LaplaceTradeOff)):
            whole = SubsampledTradeOff(base, rate, symmetric=self.symmetric)
            return base if rate == 1.0 else whole
        return super()._composable()

    @property
    def _identity(self) -> Hashable:
        return self.symmetric, float(self.rate), self.base._identity

    @property
    def _mirrored(self) -> bool:
        return self.symmetric

    def _loss(self) -> Loss:
        if self.symmetric:
            centre = (1.0 - float(self.rate)) * float(self.base.advantage)
            return MirroredLoss(self._one_loss(), centre)
        return self._one_loss()

    def _one_loss(self) -> Loss:
        if isinstance(self.base, GaussianTradeOff):
            return SampledNormalLoss(float(self.base.mu), float(self.rate))
        if isinstance(self.base, LaplaceTradeOff):
            return SampledLoss(LaplaceLoss(float(self.base.distance)), float(self.rate))
        return super()._loss()

    def _power(self, fpr: FloatArray) -> FloatArray:
        if not self.symmetric:
            return self._one_power(fpr)
        turn, power = self._turn
        flat = np.where(fpr < 1.0 - power, fpr + (power - turn), 1.0 - self._one_fpr(1.0 - fpr))
        return np.where(fpr < turn, self._one_power(fpr), flat)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        if not self.symmetric:
            return self._one_fnr(fpr)
        turn, power = self._turn
        flat = np.where(fpr < 1.0 - power, (1.0 - fpr) - (power - turn), self._one_fpr(1.0 - fpr))
        return np.where(fpr < turn, self._one_fnr(fpr), flat)

    def _fpr(self, power: FloatArray) -> FloatArray:
        if not self.symmetric:
            return self._one_fpr(power)
        turn, most = self._turn
        flat = np.where(power < 1.0 - turn, power - (most - turn), self._one_fnr(1.0 - power))
        return np.where(power < most, self._one_fpr(power), flat)

    def _one_power(self, fpr: FloatArray) -> FloatArray:
        return np.asarray(self.rate * self.base._power(fpr) + (1.0 - self.rate) * fpr)

    def _one_fnr(self, fpr: FloatArray) -> FloatArray:
        return np.asarray(self.rate * self.base._fnr(fpr) + (1.0 - self.rate) * (1.0 - fpr))

    def _one_fpr(self, power: FloatArray) -> FloatArray:
        # The subsampled curve is below the base's curve, whose power is at most 1, and above the
        # diagonal: the root is between max(base's fpr, (power - rate) / (1 - rate)) and power.
        rate = np.asarray(self.rate)
        complement = np.where(rate < 1.0, 1.0 - rate, 1.0)
        low = np.maximum(
            self.base._fpr(power), np.where(rate < 1.0, (power - rate) / complement, 0.0)
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = increasing_root(
                lambda fpr: np.log(self._one_power(fpr) / power),
                np.minimum(low, power),
                power,
                tolerance=_ROUNDING,
            )
        return np.where(power > 0.0, root, 0.0)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        direction = "in" if self.symmetric else direction
        # In extended precision: the base multiplies an error of its epsilon by up to 1500.
        rate = np.asarray(self.rate).astype(np.longdouble)
        small = np.minimum(epsilon, _LARGE).astype(np.longdouble)
        growth = np.expm1(small)
        share = rate if direction == "in" else rate - (1.0 - rate) * growth
        alive = (share > 0.0) & ((direction == "in") | (epsilon <= _LARGE) | (rate == 1.0))
        share = np.where(alive, share, 1.0)
        inner = np.log1p(growth / share)
        inner = np.where(epsilon > _LARGE, epsilon - np.log(np.where(alive, rate, 1.0)), inner)
        rounded = inner.astype(np.float64)
        with np.errstate(invalid="ignore"):
            lost = np.where(rounded < np.inf, inner - rounded, 0.0).astype(np.float64)
        result = share.astype(np.float64) * self.base._delta_near(rounded, lost, direction)
        return np.where(alive, result, 0.0)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        rate = np.asarray(self.rate)
        direction = "in" if self.symmetric else direction
        positive = rate > 0.0
        with np.errstate(over="ignore"):
            share = np.minimum(np.where(positive, delta / np.where(positive, rate, 1.0), 1.0), 1.0)
        inner = self.base._epsilon(share, direction)
        if direction == "out":
            return _shrink(self._inner_out(delta, rate, inner), rate)
        with np.errstate(over="ignore"):
            near = np.log1p(rate * np.expm1(np.minimum(inner, _LARGE)))
            far = inner + np.log(np.where(positive, rate + (1.0 - rate) * np.exp(-inner), 1.0))
        return np.where(inner > _LARGE, far, near)

    def _inner_out(self, delta: FloatArray, rate: FloatArray, above: FloatArray) -> FloatArray:
        """The base's epsilon y at which ``q delta_f(y) = delta``; q = rate/(1 + (1-rate)(e^y - 1)).

        Upper bounds on y: the solution of ``rate delta_f(y) = delta``, since q <= rate, and that of
        q = delta, since delta_f <= 1.  With q at an upper bound in place of q, the solution is a
        lower bound.
        """
        complement = np.where(rate < 1.0, 1.0 - rate, 1.0)
        bound = (rate < 1.0) & (delta > 0.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = np.where(bound, rate / delta - 1.0, 0.0)
            high = np.where(bound, np.log1p(np.maximum(ratio, 0.0) / complement), np.inf)
            high = np.minimum(above, high)
            solve = bound & (high > 0.0) & (high < np.inf)
            start = np.where(solve, high, 0.0)
            fraction = np.where(solve, delta / _share(start, rate), 1.0)
            low = np.minimum(self.base._epsilon(np.minimum(fraction, 1.0), "out"), start)
            root = increasing_root(
                lambda y: -np.log(_share(y, rate) * self.base._delta(y, "out") / delta),
                low * (1.0 - 1e-9),
                start,
                tolerance=_ROUNDING,
            )
        return np.where(solve, root, high)


def _share(inner: FloatArray, rate: FloatArray) -> FloatArray:
    """The share ``q = rate / (1 + (1 - rate)(e^inner - 1))``; rate < 1 where inner is large."""
    near = rate / (1.0 + (1.0 - rate) * np.expm1(np.minimum(inner, _LARGE)))
    return np.where(inner > _LARGE, rate / (1.0 - rate) * np.exp(-inner), near)


def _shrink(inner: FloatArray, rate: FloatArray) -> FloatArray:
    """Epsilon in direction "out" for the base's `inner`, -log(1 - rate + rate e^-inner)."""
    fall = np.expm1(-inner)
    with np.errstate(divide="ignore"):
        near = -np.log1p(rate * fall)
        far = -np.log((1.0 - rate) + rate * np.exp(-inner))
    return np.where(rate == 1.0, inner, np.where(rate * fall < -0.5, far, near)) + 0.0


TradeOff._subsampled = SubsampledTradeOff
