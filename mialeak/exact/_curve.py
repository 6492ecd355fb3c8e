"""The exact trade-off curve of a released mean at finite n."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    as_probability,
    invalid,
    plain,
    unsupported,
)
from mialeak._numerics.losses import Loss
from mialeak._numerics.roots import least_epsilon
from mialeak._results import Bounds, Kind
from mialeak.exact._enclosure import (
    ENCLOSED,
    TailEnclosure,
    enclosed_power,
    enclosing_curves,
    power_without_spread,
)
from mialeak.exact._moments import RatioMoments
from mialeak.exact._ratio_laws import AtomLaw, RatioArrays, RatioLaw, RatioLoss
from mialeak.tradeoff import SubsampledTradeOff, TradeOff

__all__ = ["ExactTradeOff"]

World = Literal["out", "in"]

#: Results with a larger error are refused: small numbers of lattice and normal columns cause it.
#: For an inversion the error is twice the root mean square of the omitted recurrences.
_WORST_ERROR = 2e-2
#: An error above this is printed with the curve: the sixth digit of the advantage may be wrong.
_SHOWN_ERROR = 1e-6
#: A delta of 0 may be inexact if more probability than this is missing.
_DOUBTFUL = 1e-290


@dataclass(frozen=True, repr=False, eq=False)
class ExactTradeOff(TradeOff):
    """The trade-off of a released mean at finite n; made by :func:`exact_mean_tradeoff`.

    Attributes
    ----------
    rows : int
        Rows of the mean.
    sampling_rate : float
        Rows of the mean as a share of all rows.
    kind : str
        "exact".

    See Also
    --------
    exact_mean_tradeoff : method and accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import exact_mean_tradeoff
    >>> from mialeak.laws import Bernoulli
    >>> curve = exact_mean_tradeoff(np.ones(50), Bernoulli(np.linspace(0.3, 0.7, 50)), 100)
    >>> curve
    ExactTradeOff(advantage=0.293828, rows=100, sampling_rate=1, method='inversion')
    >>> f"{curve.power(1e-12):.6e} {curve.threshold(0.01):.6f}"
    '1.302886e-10 1.456424'
    """

    _law: RatioLaw = field(repr=False)
    _moments: RatioMoments = field(repr=False)
    rows: int
    sampling_rate: float = 1.0
    kind: Kind = field(default="exact", init=False)
    #: Whether results with too large an error are refused.
    _strict: bool = field(default=True, repr=False)

    @property
    def method(self) -> str:
        """Method of computation: "atoms", "meet in the middle" or "inversion"."""
        return self._law.method

    @property
    def error(self) -> float:
        """Error of the results so far: relative for results below 1e-3, otherwise absolute.

        For atoms and for two halves the error is a bound: the probability of the omitted outcomes
        relative to the least probability of a result so far, and measured rounding.  A power is the
        power at an fpr with this relative error; the error of a delta is relative to the
        probability of the releases in its sum.

        For the inversion the error is an estimate: wrap-around, trapezoid rule, omitted recurrences
        of the moment function, and rounding.  Above 1e-12 the recurrences dominate, and the true
        error may be larger than the estimate; `enclosure` is a bound.
        """
        return self._law.error

    @property
    def impossible(self) -> float:
        """Probability, in the world *out*, of a release that rules the target out."""
        return self._law.lost if self.sampling_rate == 1.0 else 0.0

    @property
    def auc(self) -> float:
        """Area under the curve of power against fpr; above 2**20 atoms by the inversion."""
        rate = self.sampling_rate
        return rate * self._law.auc + (1.0 - rate) * 0.5

    def threshold(self, fpr: Any) -> float | FloatArray:
        """The log likelihood ratio above which the best attack with this fpr guesses "in".

        At an atom of the law the attack randomises.

        Parameters
        ----------
        fpr : array_like
            In [0, 1].

        Returns
        -------
        float or ndarray
        """
        return plain(self._outer(self._law.at_fpr(as_probability(fpr, "fpr"))[0]))

    def cdf(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """P(log likelihood ratio <= log_ratio).

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray
        """
        return self._tail(log_ratio, world, 0)

    def sf(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """P(log likelihood ratio > log_ratio), without the cancellation.

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray
        """
        return self._tail(log_ratio, world, 1)

    def _tail(self, log_ratio: Any, world: str, side: int) -> float | FloatArray:
        y = as_floats(log_ratio, "log_ratio")
        x = self._inner(y)
        known = ~np.isnan(x)
        result = np.exp(self._law.log_tails(np.where(known, x, 0.0), 0)[side])
        low, high = self._moments.extremes
        between = known & (x > low) & (x < high)  # outside these a zero is exact
        least = [_least(result, between), 1.0]
        if self._world(world):
            inside = np.exp(self._law.log_tails(np.where(known, x, 0.0), 1)[side])
            least[1] = _least(inside, between)
            result = self.sampling_rate * inside + (1.0 - self.sampling_rate) * result
        self._law.note(*least)
        # The log ratio of a sampled release is at least log(1 - rate).
        result = np.where(y < self._outer(np.array(-np.inf)), float(side), result)
        return plain(np.where(known, result, np.nan))

    def density(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """Density of the log likelihood ratio by the inversion, which smooths atoms.

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray

        Raises
        ------
        TypeError
            If the method is "atoms".
        """
        y = as_floats(log_ratio, "log_ratio")
        x = self._inner(y)
        log_density = self._law.log_density(x)
        rate = self.sampling_rate
        # l' = log(1 - r + r e^l), so that dl'/dl = r e^(l - l')
        with np.errstate(invalid="ignore"):
            density = np.exp(log_density - x + y) / rate
        density = np.where(np.isfinite(x), density, 0.0)
        return plain(density * np.exp(y) if self._world(world) else density)

    def to_arrays(self, points: int = 1001) -> RatioArrays:
        """The law of the log likelihood ratio: its atoms, or its cdf at `points` values.

        Parameters
        ----------
        points : int, optional
            Ignored if all atoms are known.

        Returns
        -------
        RatioArrays
        """
        points = as_count(points, "points", least=2, most=10**7)
        if isinstance(self._law, AtomLaw):
            x = self._law.atoms.ratio
        else:
            (_, low, spread_out), (_, high, spread_in) = (
                self._moments.local(0.0),
                self._moments.local(1.0),
            )
            x = np.linspace(low - 9.0 * spread_out, high + 9.0 * spread_in, points)
        y = self._outer(x)
        return RatioArrays(y, np.asarray(self.cdf(y, "out")), np.asarray(self.cdf(y, "in")))

    def enclosure(self, fpr: Any, *, reach: float = 3000.0) -> Bounds:
        """Rigorous bounds on the power, valid for any moment function at high frequency.

        Parameters
        ----------
        fpr : array_like
            In [0, 1].
        reach : float, optional
            Highest frequency used, in units of one over the standard deviation of the log ratio;
            the width is about ``2.5 / reach`` at most.

        Returns
        -------
        Bounds
            By Prawitz's inequality, rigorous except for rounding, for which 1e-13 plus 4e-16 times
            the square root of the number of coordinates are added on each side.
        """
        fpr = as_probability(fpr, "fpr")
        reach = float(as_floats(reach, "reach"))
        if not 10.0 <= reach <= 1e6:
            invalid("reach", "be between 10 and 1e6", value=reach)
        flat = fpr.ravel()
        rounding = self._rounding
        spreads = [self._moments.local(theta)[2] for theta in (0.0, 1.0)]
        if not all(spreads):  # likely releases have one finite log ratio
            bounds = power_without_spread(self._law.lost, flat, rounding, varied=any(spreads))
        else:
            if reach not in self._enclosures:
                self._enclosures[reach] = tuple(
                    TailEnclosure(self._moments, world, reach, rounding) for world in (0, 1)
                )
            out, inside = self._enclosures[reach]
            bounds = enclosed_power(out, inside, self._law.lost, flat, rounding)
        rate = self.sampling_rate
        lower, upper = (rate * b + (1.0 - rate) * flat for b in bounds)
        return Bounds(plain(lower.reshape(fpr.shape)), plain(upper.reshape(fpr.shape)))

    def _composable(self) -> TradeOff:
        if self.sampling_rate != 1.0:
            return super()._composable()
        return self._law.curve if isinstance(self._law, AtomLaw) else self

    def _loss(self) -> Loss:
        return RatioLoss(self._law, self._moments)

    def _enclosing(self) -> tuple[TradeOff, TradeOff]:
        fpr = np.concatenate([[0.0], ENCLOSED, 1.0 - ENCLOSED[-2::-1], [1.0]])
        bounds = self.enclosure(fpr)
        return enclosing_curves(fpr, np.asarray(bounds.lower), np.asarray(bounds.upper))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "advantage": float(self.advantage),
            "auc": self.auc,
            "error": self.error,
            "impossible": self.impossible,
            "rows": self.rows,
            "sampling_rate": self.sampling_rate,
            "method": self.method,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        try:
            advantage = f"{self.advantage:.6g}"
        except ValueError:  # its error is too large
            advantage = "unknown"
        error = f", error={self.error:.1g}" if self.error > _SHOWN_ERROR else ""
        return (
            f"{type(self).__name__}(advantage={advantage}, rows={self.rows}, "
            f"sampling_rate={self.sampling_rate:.6g}, method={self.method!r}{error})"
        )

    @property
    def _rounding(self) -> float:
        coordinates = self._moments.coordinates + 1.0
        return 4e-16 * float(np.sqrt(coordinates)) + 3e-17 * coordinates

    @staticmethod
    def _world(world: str) -> int:
        return int(as_choice(world, "world", get_args(World)) == "in")

    def _outer(self, x: FloatArray) -> FloatArray:
        """Log ratio of the release from the log ratio l of the sample, ``log(1 - r + r e^l)``."""
        rate = self.sampling_rate
        if rate == 1.0:
            return x
        with np.errstate(divide="ignore", over="ignore"):
            near = np.log1p(rate * np.expm1(np.minimum(x, 500.0)))
        return np.where(x > 500.0, x + np.log(rate), near)

    def _inner(self, y: FloatArray) -> FloatArray:
        rate = self.sampling_rate
        if rate == 1.0:
            return y
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grown = np.expm1(np.minimum(y, 500.0)) / rate
            near = np.where(grown >= -1.0, np.log1p(np.maximum(grown, -1.0)), -np.inf)
        return np.where(y > 500.0, y - np.log(rate), near)

    @cached_property
    def _enclosures(self) -> dict[float, tuple[TailEnclosure, ...]]:
        """Enclosures of the tails in both worlds, by their reach."""
        return {}

    @cached_property
    def _thinned(self) -> SubsampledTradeOff:
        """The same curve, by subsampling the curve of a target that is in the sample."""
        whole = ExactTradeOff(self._law, self._moments, self.rows, _strict=False)
        return SubsampledTradeOff(whole, self.sampling_rate)

    def _sound(self, answer: FloatArray, out: float = 1.0, inside: float = 1.0) -> FloatArray:
        """`answer`, or a ValueError if its error is above `_WORST_ERROR`.

        `out` and `inside` are the least probabilities in the computation.
        """
        if not self._strict:
            return answer
        error = self._law.error_at(out, inside)
        if error > _WORST_ERROR:
            if self._law.body_error <= _WORST_ERROR:
                why = f"omitted counts make an error of {error:.1g}"
                remedy = f"The counts in use have all but {max(self._law.missing):.1g}"
                unsupported("The exact curve", "for releases so unlikely", why, remedy)
            case = "for so few columns, or values so unlikely"
            remedy = 'Without normal or linked columns method="halves" is exact; '
            remedy += "enclosure() holds the power"
            unsupported("The exact curve", case, f"the error is {error:.1g} here", remedy)
        self._law.note(out, inside)
        return answer

    def _power(self, fpr: FloatArray) -> FloatArray:
        rate, power = self.sampling_rate, self._law.at_fpr(fpr)[1]
        least = _least(fpr, fpr > 0.0), _least(power, fpr > 0.0)
        return self._sound(rate * power + (1.0 - rate) * fpr, *least)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        rate, fnr = self.sampling_rate, self._law.at_fpr(fpr)[2]
        above = (1.0 - fpr) - self._law.lost
        least = _least(above, above > 0.0), _least(fnr, fnr > 0.0)
        return self._sound(rate * fnr + (1.0 - rate) * (1.0 - fpr), *least)

    def _fpr(self, power: FloatArray) -> FloatArray:
        if self.sampling_rate != 1.0:
            return self._thinned._fpr(power)
        fpr, smaller = self._law.at_power(power), np.minimum(power, 1.0 - power)
        return self._sound(fpr, _least(fpr, fpr > 0.0), _least(smaller, smaller > 0.0))

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        if self.sampling_rate != 1.0:
            return self._thinned._delta(epsilon, direction)
        delta = np.minimum(self._law.delta(epsilon, direction), 1.0)
        return self._sound(delta, *self._least_of(epsilon, delta, direction))

    def _least_of(
        self, epsilon: FloatArray, delta: FloatArray, direction: str
    ) -> tuple[float, float]:
        """The least probability in a delta, in the world of its direction."""
        missing = self._law.missing[direction == "in"]
        last = self._moments.extremes[1] if direction == "in" else self._moments.last("out")
        if missing > _DOUBTFUL and np.any((delta == 0.0) & (epsilon < last)):
            self._law.note(*((1.0, 0.0) if direction == "in" else (0.0, 1.0)))
        least = _least(delta, delta > 0.0)
        return (1.0, least) if direction == "in" else (least, 1.0)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        if self.sampling_rate != 1.0:
            return self._thinned._epsilon(delta, direction)
        last = 0.0 if delta.all() else self._moments.last(direction)
        if not delta.any():
            return np.full(delta.shape, last)
        if isinstance(self._law, AtomLaw):
            epsilons = self._law.curve._epsilon(delta, direction)
        else:
            epsilons = least_epsilon(lambda epsilon: self._law.delta(epsilon, direction), delta)
        least = _least(delta, delta > 0.0)
        self._sound(epsilons, *((1.0, least) if direction == "in" else (least, 1.0)))
        return np.where(delta > 0.0, epsilons, last)


def _least(values: FloatArray, where: Any) -> float:
    """The smallest of the selected values, at most 1."""
    return float(np.min(values, where=where, initial=1.0))
