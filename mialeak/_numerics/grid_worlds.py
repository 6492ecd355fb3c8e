"""Power, delta and epsilon of a sum of log likelihood ratios from its law on grids, with bounds.

**The lower bound.**  The sum of the split ratios is ``l + e``, with ``E[exp(e) | l] = 1`` under
*out* and e a sum of m independent errors on intervals of length h.  Let ``v = m h^2/4`` and Q be
the normal tail.  By Hoeffding's inequality e adds to delta, for a ratio at a distance d of the
threshold x, at most ``e^x psi(d)``, ``psi(d) = min(sqrt(v)/2, sqrt(2 pi v) Q(d / sqrt v))``.  Only
l + e is known: it is within 2 sqrt(v) of l with a probability of at least ``1 - 2/e^2``.  Hence, y
over the grid, ::

    delta >= upper - e^x sum of p_out(y) psi((|y - x| - 2 sqrt v)+) / (1 - 2/e^2)

**The value** between the bounds is that of the law split between four neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray, unsupported
from mialeak._numerics.chernoff import least_over_exponents
from mialeak._numerics.loss_grids import (
    Grid,
    grid_of,
    interpolation_weights,
    sums_beyond,
)
from mialeak._numerics.losses import ComposedLoss

__all__ = ["GridWorlds"]

#: Nodes of a grid, and number of grids that are stored: 12 MB each.
_SIZE, _KEPT = 1 << 18, 8
#: A grid is used for thresholds up to so many standard deviations from its mean.
_NEAR = 1.5
#: Bounds that are relatively wider than this are compared with those of other grids, if the tail is
#: so heavy that tilting multiplied the standard deviation by this.
_WIDE, _HEAVY = 1e-5, 4.0
#: Largest tilt, and halvings of the search for the tilt of a threshold.
_MOST_TILT, _HALVINGS = 1e5, 60
#: A value between bounds that are relatively wider than this is refused.
_REFUSED = 0.01
#: Relative distance of a threshold from the largest ratio that is rounding.
_SAME = 1e-12
#: Log of the ratio of a delta to the one that is looked for: near enough.
_CLOSE = 1e-14
#: Thresholds at which bounds of the power are computed at once, and the largest of them.
_MESH, _LARGEST = 9, 700.0
#: Doublings of an interval around its start, often an atom, before it moves to the least value.
_CENTRED = 6
#: Rounding error of a probability that is computed from its logarithm.
_SLACK = 2.0**-44
#: Rounding error of an area.
_ROUNDED = 1e-12
_EPS = 2.0**-52


class GridWorlds:
    """Power and delta of a sum of ratios on grids, as :class:`TwoWorlds`, with bounds.

    Parameters
    ----------
    loss : ComposedLoss
    size : int
        Nodes of a grid, a power of two.
    """

    def __init__(self, loss: ComposedLoss, size: int = _SIZE):
        self._loss, self._size = loss, size
        self._grids: tuple[Grid, ...] = ()
        self._tables: dict[tuple[float, str], tuple[FloatArray, FloatArray]] = {}
        self.lost, self.error = loss.lost, 0.0
        # The probability of the finite ratios, also where it is too small to be 1 - lost.
        masses = [
            np.exp(loss.local(float(world))[0]) if self.lost[world] else 1.0 for world in (0, 1)
        ]
        self._finite = float(masses[0]), float(masses[1])
        # The ratio may be constant in one world, to the last digit, and far from it in the other.
        self._is_constant = not max(loss.local(0.0)[2], loss.local(1.0)[2]) > 0.0

    def finite_delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """The part of delta that is due to finite l; ArithmeticError where the bounds are wide."""
        low, value, high = self.bounds(epsilon, direction)
        self._require_narrow(low, high)
        return np.asarray(value)

    def _require_narrow(self, low: FloatArray, high: FloatArray) -> None:
        """Record the relative width of bounds, and refuse a value between wide ones."""
        width = np.where(high > 0.0, (high - low) / np.where(high > 0.0, high, 1.0), 0.0)
        place, worst = int(np.argmax(width)), float(np.max(width, initial=0.0))
        if not worst <= _REFUSED:
            ends = f"{low.flat[place]:.3g} and {high.flat[place]:.3g}"
            why = (
                "its likelihood ratio is nearly discrete, or of a wide range: a grid of "
                f"{self._size:,} nodes puts a probability between {ends}"
            )
            remedy = "State its enclosure in place of a number"
            unsupported("The composition", "at this point", why, remedy, error=ArithmeticError)
        self.error = max(self.error, worst)

    def bounds(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Lower bound, value and upper bound of the finite part of delta, epsilon of any sign."""
        epsilon = np.asarray(epsilon, np.float64)
        result = np.zeros((3, epsilon.size))
        for place, one in enumerate(epsilon.ravel()):
            if one < 1e300:
                result[:, place] = self._narrowest(float(one), direction)
        return result.reshape((3, *epsilon.shape))

    def _narrowest(self, epsilon: float, direction: str) -> tuple[float, float, float]:
        """Bounds from the grid of the saddle, and from less tilted ones where these are wide.

        The saddle is no good tilt where the tail of l is heavier than an exponential one.
        """
        x, sign = (epsilon, 1.0) if direction == "in" else (-epsilon, -1.0)
        if (self._loss.support[direction == "in"] - x) * sign <= _SAME * abs(x):
            return 0.0, 0.0, 0.0
        grid = self._grid_at(x, direction)
        low, value, high = self._shown(grid, x, direction)
        width, edge = high - low, 1.0 if direction == "in" else 0.0
        for share in (0.0, 0.3, 0.7):
            plain = grid.spread <= _HEAVY * self._loss.local(edge)[2]
            if plain or width <= _WIDE * high or grid.theta == edge:
                break
            other = self._grid_with(edge + share * (grid.theta - edge))
            least, middle, most = self._shown(other, x, direction)
            if most - least < width:
                width, value = most - least, middle
            low, high = max(low, least), min(high, most)
        return low, min(max(value, low), high), high

    def _shown(self, grid: Grid, x: float, direction: str) -> tuple[float, float, float]:
        """The bounds and the value of one grid; 0 and 1 where float64 does not hold them."""
        with np.errstate(over="ignore", invalid="ignore"):
            ends = self._bounds(grid, x, direction)
        held = np.isfinite(ends).all() and 0.0 <= ends[0] <= ends[1] <= ends[2]
        return ends if held else (0.0, 0.0, 1.0)

    def _bounds(self, grid: Grid, x: float, direction: str) -> tuple[float, float, float]:
        sign = 1.0 if direction == "in" else -1.0
        weight = 1.0 - grid.theta if direction == "in" else -grid.theta  # exponent of what is paid
        if not grid.spread > 0.0:
            paid = -np.expm1(x - grid.mean) if direction == "in" else -np.expm1(grid.mean - x)
            one = float(np.exp(grid.log_mass + weight * x) * max(paid, 0.0))
            return one, one, one
        near = grid.node(4 if sign > 0.0 else grid.upper.size - 5)
        slack = grid.noise * (grid.paid_in if sign > 0.0 else grid.paid_out) + grid.missing
        scale = float(np.exp(grid.log_mass + weight * x))
        if (near - x) * sign > 0.0:  # all nodes are beyond the threshold
            y = grid.node(np.arange(grid.upper.size)) - x
            paid = np.where(y * sign > 0.0, -np.expm1(-np.abs(y)) * np.exp(weight * y), 0.0)
            most, middle = float(grid.upper @ paid), float(grid.value @ paid)
            low, high = most - self._gap(grid, x, sign) - slack, most + slack + 1e-13 * most
            low = max(low - 1e-13 * most, 0.0)
            return low * scale, min(max(middle, low), high) * scale, high * scale
        upper, value = self._table(grid, direction)
        i = grid.place(x)
        # Upper: the delta of a discrete law, times its cost, is linear in e^x between nodes.
        nodes = grid.node(np.arange(i - 1, i + 3))
        beyond = np.expm1(min(x - nodes[1], grid.step))
        share = float(np.clip(beyond / np.expm1(grid.step), 0.0, 1.0))
        if np.max((nodes - x) * weight) > _LARGEST:  # so far beyond its nodes a grid shows nothing
            return 0.0, 0.0, 1.0
        scaled = upper[i : i + 2] * np.exp((nodes[1:3] - x) * weight)
        if direction == "out":  # E (e^x - e^l)+ is linear; scaled is its quotient by e^x
            scaled = scaled * np.exp(nodes[1:3] - x)
        most = (1.0 - share) * scaled[0] + share * scaled[1]
        # Value: the logarithm at four nodes, interpolated.
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(value[i - 1 : i + 3]) + (nodes - x) * weight
        middle = float(np.exp(interpolation_weights(np.array((x - nodes[1]) / grid.step)) @ logs))
        least = most - self._gap(grid, x, sign)
        low, high = max(least - slack, 0.0), most + slack
        # At an atom the value is above the upper bound, which is exact there.
        middle = min(max(middle, low), high) if np.isfinite(middle) else 0.5 * (low + high)
        return low * scale, middle * scale, high * scale

    def _gap(self, grid: Grid, x: float, sign: float) -> float:
        """What the splitting may have added, in units of the tilt."""
        deviation = float(np.sqrt(grid.variance))
        if deviation == 0.0:
            return 0.0
        i = grid.place(x)
        reach = int(12.0 * deviation / grid.step) + 2
        first, last = max(i - reach, 0), min(i + reach + 1, grid.upper.size)
        y = grid.node(np.arange(first, last)) - x
        masses = np.maximum(grid.upper[first:last], 0.0)
        return float(masses @ (self._psi(grid, y) * np.exp(-grid.theta * y)))

    def _psi(self, grid: Grid, distance: FloatArray) -> FloatArray:
        """What the splitting adds at most to delta, for a ratio of 1 at this distance."""
        deviation = float(np.sqrt(grid.variance))
        if deviation == 0.0:
            return np.zeros(distance.shape)
        away = np.maximum(np.abs(distance) - 2.0 * deviation - grid.variance, 0.0) / deviation
        psi = deviation * np.minimum(0.5, np.sqrt(2.0 * np.pi) * special.ndtr(-away))
        return np.asarray(psi / (1.0 - 2.0 * np.exp(-2.0)) * (1.0 + deviation))

    def _table(self, grid: Grid, direction: str) -> tuple[FloatArray, FloatArray]:
        """Delta at each node, in units of the tilt there: of the upper law, and the value."""
        key = grid.theta, direction
        if key not in self._tables:
            upper = sums_beyond(grid, grid.upper, direction)
            value = sums_beyond(grid, grid.value, direction)
            # Sums of values of a density times a function that has a kink at the node.
            value = value + grid.step / 12.0 * grid.value
            self._tables = {**self._tables, key: (upper, value)}
        return self._tables[key]

    def epsilon(
        self, delta: float, direction: str, which: int = 1, start: float | None = None
    ) -> float:
        """Least epsilon at which a bound (0, 2) or the value (1) of delta's finite part is this.

        The search begins at `start`, which defaults to Chernoff's bound.
        """

        def excess(epsilon: float) -> float:
            reached = float(self.bounds(np.array(epsilon), direction)[which])
            return np.inf if reached == 0.0 else float(np.log(delta / reached))

        spread = self._loss.local(float(direction == "in"))[2]
        step = (0.25 if start is None else 1e-6) * spread
        start = max(self._chernoff(delta, direction), 0.0) if start is None else start
        step = max(step, 1e-9 * (1.0 + abs(start)))  # of a constant ratio
        low, high = 0.0, start
        f_high = excess(high)
        while f_high < 0.0:  # the bounds are above the law
            low, high = high, high + step
            f_high, step = excess(high), 2.0 * step
        if not low > 0.0:
            f_low = f_high
            low = high
            while low > 0.0 and f_low >= 0.0:
                high, f_high = low, f_low
                low, step = max(low - step, 0.0), 2.0 * step
                f_low = excess(low)
            if f_low >= 0.0:
                if which == 1:
                    self.finite_delta(np.zeros(()), direction)
                return 0.0
        else:
            f_low = excess(low)
        for number in range(200):  # regula falsi with halvings
            share = f_low / (f_low - f_high) if np.isfinite(f_high) and number % 3 < 2 else 0.5
            middle = low + min(max(share, 1e-3), 0.999) * (high - low)
            if not low < middle < high or high - low < 4.0 * _EPS * high:
                break
            f = excess(middle)
            if f >= 0.0:
                high, f_high = middle, f
            else:
                low, f_low = middle, f
            if 0.0 <= f_high < _CLOSE:
                break
        if which == 1:
            self.finite_delta(np.array(high), direction)
        return high

    def _chernoff(self, delta: float, direction: str) -> float:
        """An epsilon of which delta's finite part is at most this."""

        def bound(r: float) -> float:
            return float((self._loss.log_far(direction, r) - np.log(delta)) / r)

        return least_over_exponents(bound, max(self._loss.spread, 1e-300))[0]

    # ---- tests ----

    def power(self, fpr: FloatArray) -> FloatArray:
        """Power; ArithmeticError where the bounds are wide."""
        low, value, high = self._each(self._power, fpr)
        self._require_narrow(low, high)
        return np.asarray(value)

    def fnr(self, fpr: FloatArray) -> FloatArray:
        """False-negative rate; ArithmeticError where the bounds are wide."""
        ends = self._each(lambda one: self._other_rate(one, "out"), 1.0 - fpr)
        # Where 1 - fpr has lost the digits of fpr, those of 1 - power hold.
        near = 1.0 - self._each(self._power, fpr)[::-1]
        low, value, high = np.clip(ends, near[0] - 4.0 * _EPS, near[2] + 4.0 * _EPS)
        self._require_narrow(low, high)
        return np.asarray(value)

    def fpr(self, power: FloatArray) -> FloatArray:
        """False-positive rate; ArithmeticError where the bounds are wide."""
        low, value, high = self._each(lambda one: self._other_rate(one, "in"), power)
        self._require_narrow(low, high)
        return np.asarray(value)

    def power_bounds(self, fpr: FloatArray) -> FloatArray:
        """Lower and upper bounds of the power."""
        return np.asarray(self._each(self._power, fpr)[::2])

    def _each(self, bounds: Callable[[float], FloatArray], rate: FloatArray) -> FloatArray:
        ends = [bounds(one) for one in np.ravel(rate).tolist()]
        return np.transpose(ends).reshape((3, *np.shape(rate)))

    def _power(self, fpr: float) -> FloatArray:
        """Bounds and value of the power, the least ``delta(x) + e^x fpr``."""
        if fpr <= 0.0 or fpr >= self._finite[0]:
            return np.full(3, self.lost[1] if fpr <= 0.0 else 1.0)
        if self._is_constant:
            return np.clip(self.lost[1] + self._one_ratio(fpr, 0), fpr, 1.0)

        def paid(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            k = np.exp(np.minimum(x, _LARGEST))
            return k, self.bounds(x, "in") + (self.lost[1] + k * fpr)

        return np.clip(self._least(paid, self._quantile(fpr, 0.0)), fpr, 1.0)

    def _other_rate(self, rate: float, direction: str) -> FloatArray:
        """Bounds and value of the fnr where 1 - fpr is `rate` ("out"), or of the fpr at a power.

        Either is the largest ``e^x (rate - delta(-x))``, the worlds exchanged for the fpr.
        """
        inside = direction == "in"
        share, most = rate - self.lost[inside], min(rate, self._finite[not inside])
        if share <= 0.0 or rate >= 1.0:
            return np.full(3, self._finite[not inside] if rate >= 1.0 else 0.0)
        if self._is_constant:
            return np.minimum(self._one_ratio(share, int(inside)), most)

        def paid(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            k = np.exp(np.minimum(x, _LARGEST))
            return k, k * (self.bounds(-x, direction) - share)

        threshold = self._quantile(rate, 1.0) if inside else self._quantile(1.0 - rate, 0.0)
        least = self._least(paid, -threshold if inside else threshold)
        return np.clip(-least[::-1], 0.0, most)

    def _one_ratio(self, rate: float, world: int) -> FloatArray:
        """Bounds and value of the probability, in the other world, of a share of one outcome."""
        one, other = self._finite[world], self._finite[1 - world]
        return np.asarray(other * min(rate / one, 1.0) * (1.0 + _SLACK * np.arange(-1.0, 2.0)))

    def _least(
        self, paid: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: float
    ) -> FloatArray:
        """Bounds and value of the least of a convex function of k = e^x, of which bounds are given.

        An interval at whose ends it is larger than inside is found from `start` and narrowed.
        """
        width = 0.05 * self._loss.spread
        for step in range(_HALVINGS):
            x = start + width * np.linspace(-1.0, 1.0, 3)
            ends = paid(x)[1]
            if min(ends[0, 0], ends[0, -1]) >= ends[2, 1]:
                break
            if step >= _CENTRED:
                start = float(x[np.argmin(ends[2])])
            width *= 2.0
        else:
            return np.array([-np.inf, 0.0, np.inf])
        low, value, high = -np.inf, np.inf, np.inf
        for _ in range(_HALVINGS):
            x = np.linspace(x[0], x[-1], _MESH)
            k, ends = paid(x)
            gap, high = high - low, min(high, float(ends[2].min()))
            value = min(value, float(ends[1].min()))
            # In each interval it is above the lines through the two nodes before and after.
            with np.errstate(divide="ignore", invalid="ignore"):  # nodes may have the same e^x
                slope = (ends[0, 1:] - ends[2, :-1])[:-1] / np.diff(k)[:-1]
                before = ends[0, 1:-1] + np.minimum(slope * np.diff(k)[1:], 0.0)
                slope = (ends[2, 1:] - ends[0, :-1])[1:] / np.diff(k)[1:]
                after = ends[0, 1:-1] - np.maximum(slope * np.diff(k)[:-1], 0.0)
            lines = np.maximum(np.append(-np.inf, before), np.append(after, -np.inf))
            low = max(low, float(lines.min()))
            larger, place = ends[0] >= high, int(np.argmin(ends[2]))
            before_it = np.flatnonzero(larger[:place])
            after_it = place + 1 + np.flatnonzero(larger[place + 1 :])
            if before_it.size == 0 or after_it.size == 0 or not high - low < 0.9 * gap:
                break
            x = x[[before_it[-1], after_it[0]]]
            if x[1] - x[0] <= 64.0 * _EPS * (1.0 + np.abs(x).max()):
                break
        return np.array([low, min(max(value, low), high), high])

    def _quantile(self, rate: float, edge: float) -> float:
        """About the x that l exceeds with this probability *out* (edge 0) or *in* (1)."""
        sign = 1.0 if rate < 0.5 else -1.0
        wanted = np.log(min(rate, 1.0 - rate))

        def above(tilt: float) -> bool:
            log_mass, mean, _ = self._loss.local(edge + sign * tilt)
            return bool(log_mass - sign * tilt * mean > wanted)

        low, high = 0.0, 1.0 / max(self._loss.spread, 1.0 / _MOST_TILT)
        while above(high) and high < _MOST_TILT:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if above(middle) else (low, middle)
            if high - low < 1e-2 * high:
                break
        return self._loss.local(edge + sign * low)[1]

    @property
    def auc(self) -> float:
        """Area under the curve: which of two ratios, one of each world, is larger."""
        grid = self._grid_with(0.5)
        if self._is_constant:
            return float(0.5 * self._finite[0] * self._finite[1] + self._auc_lost())
        if not grid.spread > 0.0:
            why = "its ratio is constant between the two worlds, to the last digit"
            unsupported("The area", "of this composition", why, error=ArithmeticError)
        y = grid.node(np.arange(grid.value.size))
        tilts = [
            np.exp(np.clip(grid.log_mass + (t - grid.theta) * y, -745.0, 700.0)) for t in (0, 1)
        ]
        upper, value = (
            float((law * tilts[1]) @ (np.cumsum(law * tilts[0]) - 0.5 * law * tilts[0]))
            for law in (grid.upper, grid.value)
        )
        # What the splitting added to delta, at the thresholds that are ratios of the world *out*.
        reach = int(12.0 * np.sqrt(grid.variance) / grid.step) + 2
        psi = self._psi(grid, grid.step * np.arange(-reach, reach + 1.0))
        out, inside = (np.maximum(grid.upper, 0.0) * tilt for tilt in tilts)
        gap = float(inside @ np.convolve(out, psi, "same")) + _ROUNDED
        # The middle law does not show worlds that are nearly apart.
        gap += abs(self._finite[0] - float(out.sum())) + abs(self._finite[1] - inside.sum())
        least, most = max(upper - gap, 0.0), min(upper + gap, 1.0)
        lost = self._auc_lost()
        self._require_narrow(np.array([least + lost]), np.array([max(least, most) + lost]))
        if not gap <= _REFUSED:
            why = "its two laws are nearly apart, and no grid shows both"
            unsupported("The area", "of this composition", why, error=ArithmeticError)
        return float(np.clip(value, least, most)) + lost

    def _auc_lost(self) -> float:
        return self.lost[0] + self.lost[1] - self.lost[0] * self.lost[1]

    # ---- grids ----

    def _grid_at(self, x: float, direction: str) -> Grid:
        """A grid whose tilt suits the threshold x: at least 1 for "in", at most 0 for "out"."""
        edge = 1.0 if direction == "in" else 0.0
        for grid in self._grids:
            suits = grid.theta >= 1.0 if direction == "in" else grid.theta <= 0.0
            beyond = (x - grid.mean) * (1.0 if direction == "in" else -1.0)
            plain = grid.theta == edge and beyond <= 0.0
            if suits and (plain or abs(beyond) <= _NEAR * grid.spread):
                return grid
        return self._make(self._saddle(x, edge, np.inf if direction == "in" else -np.inf))

    def _grid_with(self, theta: float) -> Grid:
        """A grid of about this tilt."""
        spread = self._loss.local(theta)[2]
        for grid in self._grids:
            # The two laws are alike if the tilt between them changes little in either.
            if abs(grid.theta - theta) * max(grid.spread, spread) < 0.5 * (grid.spread > 0.0):
                return grid
            if grid.theta == theta:
                return grid
        return self._make(theta)

    def _saddle(self, x: float, edge: float, end: float) -> float:
        """The theta between `edge` and `end` whose tilted law has its mean at x, or `edge`."""
        sign = 1.0 if end > 0.0 else -1.0

        def short(theta: float) -> bool:
            return (x - self._loss.local(theta)[1]) * sign > 0.0

        if not short(edge):
            return edge
        step = 1.0
        while short(edge + sign * step) and step < _MOST_TILT:
            step *= 2.0
        low, high = 0.5 * step if step > 1.0 else 0.0, step
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if short(edge + sign * middle) else (low, middle)
            if high - low < 1e-3 * high:
                break
        return edge + sign * low

    def _make(self, theta: float) -> Grid:
        with np.errstate(over="ignore", invalid="ignore"):
            grid = grid_of(self._loss, theta, self._size)
        if not (np.isfinite(grid.upper).all() and np.isfinite(grid.variance / grid.step)):
            why = f"float64 does not hold its law at theta = {theta:.3g}"
            unsupported("The grid", "of the ratio", why, error=ArithmeticError)
        self._grids = (*self._grids[1 - _KEPT :], grid)
        kept = [each.theta for each in self._grids]
        self._tables = {key: each for key, each in self._tables.items() if key[0] in kept}
        return grid
