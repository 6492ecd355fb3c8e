"""The inversion of a moment function on a sequence of saddle-point contours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, require
from mialeak._numerics.inversion._integrals import (
    Contour,
    Function,
    LogMoment,
    MomentFunction,
    option,
    tail_and_density,
)

__all__ = ["SaddlePointInversion"]

ComplexArray = npt.NDArray[np.complex128]

#: Target for the relative error of the trapezoid rule.
_TOLERANCE = 1e-15
#: The integrand is negligible below this share of its largest value.
_NEGLIGIBLE = 1e-18
#: First step, in units of one over the standard deviation.  For a normal law half this step has an
#: error below 1e-16 anywhere between two contours.
_FIRST_STEP = 0.8
#: Distance of the first contours from the pole at 0, least distance from the pole at 1, and
#: distance of neighbouring contours, in the same units.
_START, _APART, _LADDER = 0.5, 0.1, 2.5
#: Largest distance of x from the saddle of its contour, in standard deviations of the tilted law:
#: the integral loses a factor e^(d^2/2) to cancellation.
_FAR = 2.0
#: If the saddle is within this share of a period of the mean, f(x + period) is the total mass: the
#: wrap-around is the mass, and is subtracted.
_NEAR = 0.7
#: Nodes of a chunk, number of its last nodes that must be negligible, and most nodes of a contour.
_CHUNK, _LAST, _MOST_NODES = 16, 4, 1 << 18
#: Tails below exp(_FLOOR - |x|) are zero (a log ratio multiplies them by e^x); most contours.
_FLOOR, _MOST_CONTOURS = -1100.0, 4096
#: Largest number of steps for a quantile, and points of its starting table.
_STEPS, _TABLE = 100, 65
#: Relative error of a tail below which the next Newton step is the last: its square is rounding.
_CLOSE = 1e-8
_EPS = 4.0 * 2.0**-52


class SaddlePointInversion:
    """Tails, density, quantiles and options of a real law from its log moment function.

    Parameters
    ----------
    law : MomentFunction or callable
        As a callable ``K(s)`` of an array of complex s; away from the real axis its imaginary part
        may be off by multiples of 2 pi.  If ``e^K(0)`` is below 1, l = -inf has the residual mass.
    strip : tuple of float, optional
        Open interval of real s, 0 within, where K is finite.
    windows : sequence of (float, float), optional
        Intervals of t beyond the first range where ``|M(theta + it)|`` is not negligible.
    reach : float, optional
        Upper limit of the first range of t; beyond it only the windows are evaluated.
    omitted : float, optional
        Relative size of the integrand outside the windows: the tolerance of the step.
    support : tuple of float, optional
        Interval that holds all l.
    least : callable, optional
        ``least(theta)``: the first range of t is at least this long.  The default ends where the
        integrand is negligible.
    most_nodes : int, optional
        Largest number of nodes of a contour; a law that needs more raises ArithmeticError.

    Notes
    -----
    Relative accuracy 1e-13 if K is exact.  An absolute error of K is a relative error of the
    result.
    """

    def __init__(
        self,
        law: MomentFunction | LogMoment,
        *,
        strip: tuple[float, float] = (-np.inf, np.inf),
        windows: Sequence[tuple[float, float]] = (),
        reach: float = np.inf,
        omitted: float = 0.0,
        support: tuple[float, float] = (-np.inf, np.inf),
        least: Callable[[float], float] | None = None,
        most_nodes: int = _MOST_NODES,
    ):
        self._least, self._most_nodes = least, most_nodes
        self._law: MomentFunction = Function(law) if callable(law) else law
        self._strip, self._support = strip, support
        self._windows, self._reach_of_base, self._omitted = windows, reach, omitted
        self._contours: list[Contour] = []
        self._known: dict[float, tuple[float, float, float]] = {}
        #: Why the first two contours, which any x needs, have no answer.
        self._refused: str | None = None

    @property
    def error(self) -> float:
        """Largest relative error of the trapezoid rule on the contours used so far."""
        return max((contour.error for contour in self._contours), default=0.0)

    @property
    def lines(self) -> list[float]:
        """Real parts of the contours used so far."""
        return [contour.theta for contour in self._contours]

    def log_tails(self, x: Any, *, tilt: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """``log E[e^(tilt l); l <= x]`` and ``log E[e^(tilt l); l > x]``.

        If l is a log likelihood ratio, ``tilt=1`` gives the tails under the other law.
        """
        x = np.asarray(x, np.float64)
        (tail, _), theta = self._evaluate(x, tilt, tail_and_density)
        log_mass = self._local(tilt)[0]
        with np.errstate(divide="ignore"):
            other = log_mass + np.log(-np.expm1(np.minimum(tail - log_mass, 0.0)))
        upper = theta > tilt
        return np.where(upper, other, tail), np.where(upper, tail, other)

    def log_density(self, x: Any) -> FloatArray:
        """Log density."""
        (_, density), _ = self._evaluate(np.asarray(x, np.float64), 0.0, tail_and_density)
        return np.asarray(density)

    def log_call(self, x: Any) -> FloatArray:
        """``log E (e^(l - x) - 1)+``; needs 1 inside the strip."""
        return self._log_option(np.asarray(x, np.float64), 1.0)

    def log_put(self, x: Any) -> FloatArray:
        """``log E (1 - e^(l - x))+`` over the finite l; needs 1 inside the strip."""
        return self._log_option(np.asarray(x, np.float64), -1.0)

    def _log_option(self, x: FloatArray, sign: float) -> FloatArray:
        """Log of the call (sign 1) or the put (-1), directly or by parity from another option."""
        part, theta = self._evaluate(x, 0.0, option)
        mass_out, mass_in = self._local(0.0)[0], self._local(1.0)[0] - x
        paid, lost = (mass_in, mass_out) if sign > 0.0 else (mass_out, mass_in)
        direct = theta > 1.0 if sign > 0.0 else theta < 0.0
        middle = (theta > 0.0) & (theta < 1.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            other = np.exp(part - paid) * np.where(middle, -1.0, 1.0)
            whole = np.where(middle, 1.0, -np.expm1(lost - paid))
            far = np.log(np.maximum(whole + other, 0.0)) + paid
        return np.where(direct, part, far)

    def quantile(self, log_p: Any, *, upper: bool = False, tilt: float = 0.0) -> FloatArray:
        """The x whose lower (upper) log tail is `log_p`, by Newton's method within a bracket."""
        target = np.asarray(log_p, np.float64)
        proper = (target < self._local(tilt)[0]) & (target > -np.inf)
        require(proper, target, "log_p", "be below the log of the mass, and finite")
        if not target.size:
            return np.empty(target.shape)
        side, sign = int(upper), -1.0 if upper else 1.0
        low, high, x = self._bracket(target, side, tilt)
        at = np.arange(target.size)  # indices not yet converged
        low, high, x, wanted = low.ravel(), high.ravel(), x.ravel(), target.ravel()
        for _ in range(_STEPS):
            (tail, density), theta = self._evaluate(x[at], tilt, tail_and_density)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                other = (theta > tilt) != upper
                log_mass = self._local(tilt)[0]
                complement = log_mass + np.log(-np.expm1(np.minimum(tail - log_mass, 0.0)))
                excess = sign * (np.where(other, complement, tail) - wanted[at])
                slope = np.exp(density + tilt * x[at] - wanted[at] - sign * excess)
                moved = x[at] - excess / slope
            high[at] = np.where(excess > 0.0, x[at], high[at])
            low[at] = np.where(excess > 0.0, low[at], x[at])
            # Newton's next error is the square of this one.
            near = np.abs(excess) <= _CLOSE
            outside = ~((moved > low[at]) & (moved < high[at]) | near)
            moved = np.where(outside, 0.5 * (low[at] + high[at]), moved)
            still = near | (high[at] - low[at] <= _EPS * np.abs(moved))
            x[at] = moved
            at = at[~still]
            if not at.size:
                break
        return x.reshape(target.shape)

    def _bracket(
        self, target: FloatArray, side: int, tilt: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lower bound, upper bound and start for each quantile, from a table of tails."""
        _, mean, spread = self._local(tilt)
        reach = np.array([spread, spread])  # towards the small tails, and towards the large ones
        while True:
            ends = reach[::-1] if side else reach
            x = np.linspace(mean - ends[0], mean + ends[1], _TABLE)
            tails = self.log_tails(x, tilt=tilt)[side]
            short = np.array([tails.min() > target.min(), tails.max() < target.max()])
            if not short.any():
                break
            reach = np.where(short, 2.0 * reach, reach)
        tails = np.maximum.accumulate(tails if side == 0 else tails[::-1])
        x = x if side == 0 else x[::-1]
        right = np.clip(np.searchsorted(tails, target), 1, _TABLE - 1)
        first, last = x[right - 1], x[right]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (target - tails[right - 1]) / (tails[right] - tails[right - 1])
        share = np.where((share > 0.0) & (share < 1.0), share, 0.5)
        start = first + share * (last - first)
        return np.minimum(first, last), np.maximum(first, last), start

    def _local(self, theta: float) -> tuple[float, float, float]:
        """K, K' and sqrt K'' at theta."""
        if theta not in self._known:
            self._known[theta] = self._law.local(theta)
        return self._known[theta]

    def _evaluate(
        self, x: FloatArray, anchor: float, kernel: Callable[..., FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Log of the integral at each x on the contour whose saddle is nearest, and its theta."""
        low, high = self._support
        flat = np.where(x < low, -np.inf, np.where(x >= high, np.inf, x)).ravel()
        mean = self._local(anchor)[1]
        rows = (2,) if kernel is tail_and_density else ()
        result = np.full(rows + flat.shape, -np.inf)
        theta = np.where(flat > mean, np.inf, -np.inf)
        result[..., np.isnan(flat)] = np.nan
        finite = np.flatnonzero(np.isfinite(flat))
        if finite.size:
            contours = self._reach(flat[finite])
            saddles = np.array([contour.saddle for contour in contours])
            which = np.searchsorted(0.5 * (saddles[1:] + saddles[:-1]), flat[finite])
            for k in np.unique(which):
                contour, places = contours[k], finite[which == k]
                seen = self._in_reach(contour, flat[places])
                part = self._integral(contour, flat[places], kernel, anchor)
                result[..., places] = np.where(seen, part, -np.inf)
                theta[places] = contour.theta
        return result.reshape(rows + x.shape), theta.reshape(x.shape)

    def _in_reach(self, contour: Contour, x: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether the Chernoff bound of the contour on the tail at x is above the floor."""
        bound = contour.log_moment - self._local(0.0)[0] - contour.theta * x
        return np.asarray(bound > _FLOOR - np.abs(x))

    def _reach(self, x: FloatArray) -> list[Contour]:
        """The contours, extended outward from 0 until each x has a near saddle or a zero tail.

        A new list replaces the old one, which another thread may be reading.
        """
        contours = list(self._contours)
        if not contours:
            spread = self._local(0.0)[2]
            if not spread > 0.0:
                self._refuse(0.0)
            if self._refused is not None:
                raise ArithmeticError(self._refused)
            try:
                for direction in (-1, 1):
                    theta = self._next(0.0, direction, _START / spread)
                    contours.append(self._contour(theta))
            except ArithmeticError as error:
                self._refused = str(error)
                raise
        for direction in (-1, 1):
            beyond = x
            while len(contours) < _MOST_CONTOURS:
                last = contours[0 if direction < 0 else -1]
                further = direction * (beyond - last.saddle) > 0.5 * _LADDER * last.spread
                beyond = beyond[further & self._in_reach(last, beyond)]
                theta = self._next(last.theta, direction, _LADDER / last.spread)
                if not beyond.size or theta == last.theta:
                    break
                place = 0 if direction < 0 else len(contours)
                contours.insert(place, self._contour(theta))
        self._fill(contours, x)
        self._contours = contours
        return contours

    def _fill(self, contours: list[Contour], x: FloatArray) -> None:
        """Contours in between, where the tilted law changes so fast that an x is far from both."""
        while len(contours) < _MOST_CONTOURS:
            saddles = np.array([contour.saddle for contour in contours])
            spreads = np.array([contour.spread for contour in contours])
            near = np.searchsorted(0.5 * (saddles[1:] + saddles[:-1]), x)
            far = np.abs(x - saddles[near]) > _FAR * spreads[near]
            right = np.searchsorted(saddles, x)
            far &= (right > 0) & (right < saddles.size)
            if not far.any():
                return
            place = int(right[np.argmax(far)])
            first, last = contours[place - 1].theta, contours[place].theta
            middle = 0.5 * (first + last)
            if not first < middle < last:
                return
            if min(abs(middle), abs(middle - 1.0)) < 0.125 * (last - first):
                middle += 0.25 * (last - first)
            contours.insert(place, self._contour(middle))

    def _next(self, theta: float, direction: int, step: float) -> float:
        """Theta plus `step` outward: off the pole at 1, at most half the way to the strip's end."""
        distance = abs(self._strip[1 if direction > 0 else 0] - theta)
        moved = theta + direction * min(step, 0.5 * distance)
        apart = _APART * step
        if abs(moved - 1.0) < apart < 0.5 * distance:
            moved = 1.0 + apart
        return moved

    def _contour(self, theta: float) -> Contour:
        log_moment, saddle, spread = self._known[theta] = self._law.local(theta)
        if not spread > 0.0:  # one atom has all the mass that float64 resolves
            self._refuse(theta)
        probes = saddle + 0.5 * _LADDER * spread * np.array([-1.0, 0.0, 1.0])
        step = _FIRST_STEP / spread
        places, values = self._places(theta, step)
        before, error = np.full(3, np.inf), np.inf
        while True:
            nodes = np.asarray(places * step, np.float64)
            given = (theta, saddle, spread, log_moment, step, nodes, values)
            contour = Contour(*given, error)
            now = self._integral(contour, probes, tail_and_density, 0.0)[0]
            seen = np.all(np.isfinite(now) & np.isfinite(before))
            error = min(float(np.max(np.abs(now - before))), 1.0) ** 2 if seen else 1.0
            if error <= max(_TOLERANCE, self._omitted**2):
                return Contour(*given, error)
            if 2 * places.size > self._most_nodes:
                if self._omitted == 0.0:
                    self._refuse(theta)
                return Contour(*given, float(np.sqrt(error)))
            before, step = now, 0.5 * step
            places, values = self._halved(theta, step, places, values)

    def _places(self, theta: float, step: float) -> tuple[npt.NDArray[np.int64], ComplexArray]:
        """Nodes as multiples of the step, and M there: the first range, then the windows."""
        values, start = [], 0
        least = self._least(theta) if self._least is not None else 0.0
        while start < self._most_nodes:
            values.append(self._law.wave(theta, start * step, step, _CHUNK))
            start += _CHUNK
            vanished = np.abs(values[-1][-_LAST:]).max() < _NEGLIGIBLE
            if (vanished and start * step >= least) or start * step >= self._reach_of_base:
                break
        else:
            self._refuse(theta)
        base = np.concatenate(values)
        kept = min(int(np.flatnonzero(np.abs(base) >= _NEGLIGIBLE)[-1]) + 2, base.size)
        pieces, values = [np.arange(kept)], [base[:kept]]
        for low, high in self._windows:
            first = max(int(np.ceil(low / step)), int(pieces[-1][-1]) + 1)
            count = int(high / step) + 1 - first
            if count > 0:
                pieces.append(np.arange(first, first + count))
                values.append(self._law.wave(theta, first * step, step, count))
        return np.concatenate(pieces), np.concatenate(values)

    def _halved(
        self, theta: float, step: float, places: npt.NDArray[np.int64], values: ComplexArray
    ) -> tuple[npt.NDArray[np.int64], ComplexArray]:
        """Nodes of half the step, and M there: each old node is followed by a new one."""
        both = np.empty(2 * places.size, np.complex128)
        both[::2] = values
        runs = np.flatnonzero(np.diff(places, prepend=-2, append=places[-1] + 2) > 1)
        for first, last in pairwise(runs):
            start = (2 * places[first] + 1) * step
            wave = self._law.wave(theta, start, 2.0 * step, int(last - first))
            both[2 * first + 1 : 2 * last : 2] = wave
        return np.ravel(2 * places[:, None] + np.array([0, 1])), both

    def _integral(
        self, contour: Contour, x: FloatArray, kernel: Callable[..., FloatArray], anchor: float
    ) -> FloatArray:
        """Log of the integral on one contour by the trapezoid rule."""
        period = 2.0 * np.pi / contour.step

        def known(pole: float) -> float:
            """Log of the wrap-around from the periods in which f is its limit at the pole."""
            log_mass, mean, _ = self._local(pole)
            if abs(contour.saddle - mean) > _NEAR * period:
                return -np.inf
            away = period * abs(contour.theta - pole)
            return log_mass - away - float(np.log(-np.expm1(-away)))

        if kernel is option:
            held, sold = known(0.0), known(1.0)
            gap = sold - held if np.isfinite(held) else np.inf
            if np.isfinite(gap) and not 0.0 <= contour.theta <= 1.0:
                # (e^nearer - 1)/(e^far - 1) without an exponential that overflows
                nearer, far = float(np.copysign(period, contour.theta)), period * abs(contour.theta)
                ratio = np.expm1(-period) / np.expm1(-far) * np.exp(max(nearer, 0.0) - far)
                ratio = float(np.copysign(ratio, nearer))
                gap = self._local(1.0)[0] - self._local(0.0)[0] + nearer - float(np.log1p(-ratio))
            return option(contour, x, held, sold, gap)
        return kernel(contour, x, anchor, known(anchor))

    def _refuse(self, theta: float) -> NoReturn:
        invalid(
            "log_moment",
            f"fall off along the line Re s = {theta:.6g}: it did not in {self._most_nodes} nodes",
            remedy="Enumerate a law that has a small number of atoms",
            error=ArithmeticError,
        )
