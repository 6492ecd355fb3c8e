"""Several independent releases about the same target: one curve for all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_floats,
    as_probability,
    invalid,
    plain,
    require,
    unsupported,
)
from mialeak._numerics.corners import CERTAIN
from mialeak._numerics.grid_worlds import GridWorlds
from mialeak._numerics.inversion import TwoWorlds
from mialeak._numerics.losses import ComposedLoss
from mialeak._numerics.roots import least_epsilon
from mialeak._results import Bounds, Direction, Kind
from mialeak.tradeoff._base import TradeOff, weakest
from mialeak.tradeoff._far_bounds import FarBounds
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = ["ComposedTradeOff"]

Method = Literal["closed form", "atoms", "inversion", "grid"]
Answer = TypeVar("Answer")

#: The integrand is negligible below this share of its largest value.
_NEGLIGIBLE = 1e-18
#: Most nodes of a contour, and their first step in units of one over the standard deviation.
_MOST_NODES, _FIRST_STEP = 1 << 13, 0.4
#: Exponents of Chernoff's bounds.
_EXPONENTS = (1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 23.0, 32.0, 45.0)
#: Bounds whose distance is a smaller share of the upper one are an answer; grids with a smaller
#: error need no others.
_CLOSE, _NARROW = 1e-9, 1e-7
#: Rounding error of one operation, and room for that of bounds.
_EPS, _ROUNDED = 2.0**-52, 2.0**-44


@dataclass(frozen=True, repr=False, eq=False)
class ComposedTradeOff(TradeOff):
    """The trade-off of several independent releases together; made by :func:`compose`.

    Attributes
    ----------
    curves : tuple of TradeOff
        The curves of the releases, those of one family merged.
    counts : tuple of int
        How often each is used.
    kind : str
        The weakest kind of the curves.

    See Also
    --------
    compose : method and accuracy.

    Examples
    --------
    >>> from mialeak import GaussianTradeOff, compose
    >>> step = GaussianTradeOff(1.0).subsample(0.01)
    >>> curve = compose(step, counts=10_000)
    >>> curve
    ComposedTradeOff(10,000 releases, advantage=0.480072, method='inversion', kind='exact')
    >>> f"{curve.epsilon(1e-5):.6f}"
    '6.187712'
    """

    curves: tuple[TradeOff, ...]
    counts: tuple[int, ...]
    kind: Kind = field(init=False)
    #: The curve itself, where one family has it in closed form.
    _whole: TradeOff | None = field(default=None)
    #: Number of releases whose outcomes were listed as one.
    _listed: int = field(default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", weakest(*(curve.kind for curve in self.curves)))

    @cached_property
    def _in_leads(self) -> bool:  # type: ignore[override]
        return all(curve._mirrored for curve in self.curves)

    @property
    def method(self) -> Method:
        """Method of computation: "closed form", "atoms", "inversion" or "grid"."""
        if self._whole is not None:
            return "atoms" if isinstance(self._whole, PiecewiseTradeOff) else "closed form"
        parts = [part for part, _ in self._losses.parts]
        inverts = all(part.inverts for part in parts) and any(part.falls for part in parts)
        return "inversion" if inverts else "grid"

    @property
    def error(self) -> float:
        """Estimated error of the results so far, relative.

        For the inversion: wrap-around, trapezoid rule and the rounding of the moment function.  A
        threshold deep in a tail multiplies it by the slope of the curve there.  For grids, which
        also answer where the inversion does not, a bound: the width of the enclosures so far.
        """
        releases = float(max(sum(self.counts), self._listed))
        if self._whole is not None:
            return float(64.0 * _EPS * np.sqrt(releases))
        error = 64.0 * _EPS * np.sqrt(len(self.counts))
        for bounds in ("_grid", "_bounds_far"):
            if bounds in self.__dict__:
                error += getattr(self, bounds).error
        with suppress(ArithmeticError):  # the inversion had no part in it
            if self.method == "inversion":
                loss = self._losses
                off = abs(loss.local(1.0)[0] - float(np.log1p(-loss.lost[1])))
                error += self._worlds.inversion.error + off
        return float(error)

    @property
    def auc(self) -> float:
        """Area under the curve of power against fpr."""
        if self._whole is not None:
            return float(self._whole.auc)
        return self._first(lambda: self._worlds.auc, lambda: self._grid.auc)

    def enclosure(
        self,
        fpr: Any = None,
        *,
        epsilon: Any = None,
        delta: Any = None,
        direction: Direction = "both",
    ) -> Bounds:
        """Bounds of the power, of delta or of epsilon.

        Parameters
        ----------
        fpr : array_like, optional
            The bounds are those of the power at this false-positive rate.
        epsilon, delta : array_like, optional
            In place of `fpr`: the bounds of delta at this epsilon, or of epsilon at this delta.
        direction : {"both", "in", "out"}
            As for :meth:`TradeOff.delta`.

        Returns
        -------
        Bounds
            Rigorous except for rounding, for which several hundred units in the last place are
            added on either side.

        Raises
        ------
        ValueError
            If not exactly one of `fpr`, `epsilon` and `delta` is given, or outside its range.

        Notes
        -----
        The log likelihood ratios are rounded to a grid in such a way that they remain those of two
        laws, whose curve is nowhere below the true one; what the rounding adds is bounded by
        Hoeffding's inequality.  For m releases and a grid of step h the width of delta is about m
        h^2 times the density of the ratio at epsilon; h is the range of the ratio divided by 2^18.
        Where these bounds are wide, closer ones are Chernoff's, those by the least ratio, and an
        attack that tests each release alone.  An epsilon within 1e-12 of the largest log ratio,
        relative, is taken as that ratio.  0.1 s for each of a dozen tilts.

        An exact mean of many columns is replaced by two discrete curves around its own enclosure,
        of an absolute width of 1e-3 to 3e-3: smaller deltas have no close bounds, and the curves
        take some seconds.

        Examples
        --------
        >>> from mialeak import GaussianTradeOff, compose
        >>> curve = compose(GaussianTradeOff(1.0).subsample(0.01), counts=1000)
        >>> bounds = curve.enclosure(delta=1e-5)
        >>> bool(bounds.lower < curve.epsilon(1e-5) < bounds.upper)
        True
        >>> f"{bounds.upper:.3f}, width {bounds.width:.0e}"
        '1.828, width 3e-04'
        """
        given = [value is not None for value in (fpr, epsilon, delta)]
        if sum(given) != 1:
            invalid("fpr", "be given, or epsilon, or delta: one of the three")
        as_choice(direction, "direction", get_args(Direction))
        sides = [side for side in self._directions(direction) if side is not None]
        if epsilon is not None:
            x = as_floats(epsilon, "epsilon")
            require(x >= 0.0, x, "epsilon", "be at least 0")
            ends = np.max([self._delta_bounds(x, side) for side in sides], axis=0)
        elif delta is not None:
            x = as_probability(delta, "delta")
            ends = np.max([self._epsilon_bounds(x, side) for side in sides], axis=0)
        else:
            x = as_probability(fpr, "fpr")
            ends = self._power_bounds(x)
        low, high = ends[0] * (1.0 - _ROUNDED), ends[1] * (1.0 + _ROUNDED)
        if delta is None:  # bounds of a probability
            low, high = np.maximum(low, 0.0 if fpr is None else x), np.minimum(high, 1.0)
        return Bounds(plain(low), plain(high))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "advantage": float(self.advantage),
            "curves": [curve.to_dict() for curve in self.curves],
            "counts": list(self.counts),
            "listed": self._listed,
            "method": self.method,
            "error": self.error,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        advantage = f"{float(self.advantage):.6g}"
        return (
            f"{type(self).__name__}({sum(self.counts):,} releases, advantage={advantage}, "
            f"method={self.method!r}, kind={self.kind!r})"
        )

    def _composable(self) -> TradeOff:
        if self.counts != (1,):
            why = "the law of the likelihood ratio of a sample of several releases is not known"
            remedy = "Sample each release, and compose the samples"
            unsupported("compose", "for a sampled composition", why, remedy, error=TypeError)
        return self.curves[0]._composable()

    @cached_property
    def _grid(self) -> GridWorlds:
        return GridWorlds(self._losses)

    @cached_property
    def _losses(self) -> ComposedLoss:
        return ComposedLoss(
            [(curve._loss(), m) for curve, m in zip(self.curves, self.counts, strict=True)]
        )

    @cached_property
    def _worlds(self) -> TwoWorlds:
        loss = self._losses
        options: dict[str, Any] = {"support": loss.support, "strip": loss.strip}
        again = loss.recurrences
        if again is not None and not loss.has_atoms:
            options |= {"windows": again.windows, "reach": again.start, "omitted": again.omitted}
            return TwoWorlds(loss, loss.lost, **options)
        options["least"] = self._range if loss.has_atoms else None
        return TwoWorlds(loss, loss.lost, most_nodes=_MOST_NODES, **options)

    def _range(self, theta: float) -> float:
        """The t beyond which the moment function is negligible, whatever the atoms do."""
        t = 8.0 / self._losses.local(theta)[2]
        most = t * _MOST_NODES * _FIRST_STEP / 8.0
        while self._losses.ceiling(theta, t) > _NEGLIGIBLE:
            t *= 1.25
            if t > most:
                raise ArithmeticError("the moment function does not fall off")
        return t

    def _first(self, invert: Callable[[], Answer], grid: Callable[[], Answer]) -> Answer:
        """The answer by inversion, or on a grid where the ratio is nearly discrete."""
        with suppress(ArithmeticError):
            if self.method == "inversion" and self._losses.spread > 0.0:  # else there is no contour
                answer = invert()
                if not np.isnan(np.asarray(answer)).any():
                    return answer
        return grid()

    def _enclosed(
        self, value: Callable[[], FloatArray], ends: Callable[[], FloatArray]
    ) -> FloatArray:
        """The value of a grid, if that is wide within closer bounds; or bounds that nearly meet."""
        try:
            answer = value()
            is_close = self._grid.error <= _NARROW
            return answer if is_close else np.asarray(np.clip(answer, *ends()))
        except ArithmeticError:
            low, high = ends()
            if np.any(high - low > _CLOSE * high):
                raise
            self._bounds_far.error = _CLOSE
            return np.asarray(high)

    def _power(self, fpr: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._power(fpr)
        return self._first(
            lambda: self._worlds.at_fpr(fpr)[1],
            lambda: self._enclosed(lambda: self._grid.power(fpr), lambda: self._power_bounds(fpr)),
        )

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._fnr(fpr)
        return self._first(
            lambda: self._worlds.at_fpr(fpr)[2],
            lambda: self._enclosed(
                lambda: self._grid.fnr(fpr), lambda: 1.0 - self._power_bounds(fpr)[::-1]
            ),
        )

    def _fpr(self, power: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._fpr(power)
        return self._first(lambda: self._worlds.at_power(power), lambda: self._grid.fpr(power))

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        if self._whole is not None:
            return self._whole._delta(epsilon, direction)
        lost = self._losses.lost[direction == "in"]
        delta = self._first(
            lambda: self._worlds.finite_delta(epsilon, direction) + lost,
            lambda: self._enclosed(
                lambda: self._grid.finite_delta(epsilon, direction) + lost,
                lambda: self._delta_bounds(epsilon, direction),
            ),
        )
        return np.asarray(np.minimum(delta, 1.0))

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        if self._whole is not None:
            return self._whole._epsilon(delta, direction)
        low, high = self._losses.support
        lost = self._losses.lost[direction == "in"]
        last = high if direction == "in" else -low
        more = self._more(delta, direction)
        sought = np.where(more > 0.0, more, 1.0)
        reached = self._first(
            lambda: least_epsilon(
                lambda epsilon: self._delta_down_to(float(sought.min()), epsilon, direction), sought
            ),
            lambda: self._on_grid(sought, direction),
        )
        least = sought[(reached == 0.0) & (more > 0.0)].min(initial=np.inf)
        if least < np.inf and self._delta(np.zeros(()), direction) - lost > 1.01 * least:
            raise ArithmeticError("an epsilon of 0 contradicts the advantage")
        return np.where(more > 0.0, reached, np.where(more < 0.0, np.inf, last))

    def _on_grid(
        self, delta: FloatArray, direction: str, which: int = 1, start: FloatArray | None = None
    ) -> FloatArray:
        """Epsilons on the grid: of the lower bound (0), the value (1) or the upper bound (2)."""
        starts = [None] * delta.size if start is None else start.ravel().tolist()
        pairs = zip(delta.ravel().tolist(), starts, strict=True)
        ends = [self._grid.epsilon(one, direction, which, first) for one, first in pairs]
        return np.array(ends).reshape(delta.shape)

    @cached_property
    def _bounds_far(self) -> FarBounds:
        return FarBounds(self.curves, self.counts, self._losses)

    @cached_property
    def _around(self) -> tuple[ComposedTradeOff, ComposedTradeOff] | None:
        """Compositions nowhere above and nowhere below, where the ratio of a part is not known."""
        pairs = [curve._enclosing() for curve in self.curves]
        if all(pair[0] is curve for pair, curve in zip(pairs, self.curves, strict=True)):
            return None
        below, above = (ComposedTradeOff(ends, self.counts) for ends in zip(*pairs, strict=True))
        return below, above

    def _delta_bounds(self, epsilon: FloatArray, direction: str) -> FloatArray:
        if self._around is not None:
            below, above = self._around
            low = below._delta_bounds(epsilon, direction)[0]
            return np.array([low, above._delta_bounds(epsilon, direction)[1]])
        far = self._bounds_far
        low, high = far.least_delta(epsilon, direction), far.delta(epsilon, direction)
        with suppress(ArithmeticError):
            least, _, most = self._grid.bounds(epsilon, direction)
            lost = self._losses.lost[direction == "in"]
            low, high = np.maximum(low, least + lost), np.minimum(high, most + lost)
        return np.array([low, np.maximum(low, high)])

    def _power_bounds(self, fpr: FloatArray) -> FloatArray:
        if self._around is not None:
            below, above = self._around
            low = below._power_bounds(fpr)[0]
            return np.array([low, above._power_bounds(fpr)[1]])
        low, high = self._bounds_far.least_power(fpr), self._bounds_far.power(fpr)
        with suppress(ArithmeticError):
            least, most = self._grid.power_bounds(fpr)
            low, high = np.maximum(low, least), np.minimum(high, most)
        return np.array([low, np.maximum(low, high)])

    def _epsilon_bounds(self, delta: FloatArray, direction: str) -> FloatArray:
        if self._around is not None:
            below, above = self._around
            low = below._epsilon_bounds(delta, direction)[0]
            return np.array([low, above._epsilon_bounds(delta, direction)[1]])
        more = self._more(delta, direction)
        sought = np.where(more > 0.0, more, 1.0)
        try:
            value = self._epsilon(delta, direction)
            start = np.where(more > 0.0, value, 0.0)
            ends = [self._on_grid(sought, direction, which, start) for which in (0, 2)]
        except ArithmeticError:
            low = self._bounds_far.least_epsilon(delta, direction)
            return np.array([low, np.maximum(low, self._bounds_far.epsilon(delta, direction))])
        return np.where(more > 0.0, ends, value)

    def _more(self, delta: FloatArray, direction: str) -> FloatArray:
        """What the finite log ratios may add to delta."""
        lost = self._losses.lost[direction == "in"]
        more = delta - lost
        return np.asarray(np.where(np.abs(more) <= CERTAIN * lost, 0.0, more))

    def _delta_down_to(self, least: float, epsilon: FloatArray, direction: str) -> FloatArray:
        """The finite part of delta, or Chernoff's bound on it where that is well below `least`.

        The search for an epsilon looks so far into the tail that the inversion may not resolve it.
        """
        epsilon = np.asarray(epsilon, np.float64)
        finite = np.minimum(epsilon, 1e300)
        if len(pairs := self._losses.far(direction, _EXPONENTS)) < len(_EXPONENTS):
            raise ArithmeticError("float64 does not hold the moments")
        bound = np.min([log_a - r * finite for r, log_a in pairs], axis=0)
        near = ~(bound < np.log(least) - 1.0)
        delta = np.array(np.exp(np.minimum(bound, 0.0)))
        if near.any():
            delta[near] = self._worlds.finite_delta(epsilon[near], direction)
        if np.isnan(delta).any():
            raise ArithmeticError("the inversion does not resolve the ratio")
        return delta
