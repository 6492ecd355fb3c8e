"""From a log moment function to tails, density, quantiles and options: saddle-point contours.

A real law ``l`` is given by ``K(s) = log E e^(s l)``, a vectorised function of complex s, analytic
in a strip around the real axis' points used here.  With theta in the strip,

    P(l > x) = (1/pi) Re int_0^oo e^(K(s) - s x) / s dt,    s = theta + it, theta > 0,

and with other rational functions in place of 1/s the lower tail, the density and the two options

    E (e^(l - x) - 1)+  and  E (1 - e^(l - x))+    from 1 / (s (s - 1)), theta > 1 or theta < 0.

Near the saddle point, K'(theta) = x, the integrand does not oscillate, so that the result is
relatively accurate however far in the tail.  Contours are laid at steps of one standard deviation
of the tilted law (a *ladder*), built when first needed and kept: each serves all x near its saddle,
at a loss of e^(1/8) at most, so that a curve of thousands of points costs a few dozen contours.
A ladder starts half a step from the pole, so that no residue is ever subtracted.

On a contour the trapezoid rule converges geometrically.  The step is halved until the change,
squared, is below the tolerance (its error is the probability that wraps around, and halving the
step squares that).  The range grows until the integrand has vanished for a whole lobe; where
``|M|`` returns later, as it does for nearly periodic laws, `windows` says where to look again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, require

__all__ = ["SaddlePointInversion", "cosine_and_sine"]

ComplexArray = npt.NDArray[np.complex128]
LogMoment = Callable[[ComplexArray], ComplexArray]
Kernel = Literal["tail", "density", "option"]

#: Relative error asked of the trapezoid rule.
_TOLERANCE = 1e-15
#: The integrand counts as gone below this share of its largest value.
_GONE = 1e-18
#: First step, in units of one over the standard deviation, and in units of the pole's distance:
#: half of it has an error below 1e-16 for a normal law.
_FIRST_STEP, _POLE_STEP = 0.8, 0.22
#: Nodes of a chunk, and at most on a contour; points times nodes worked on at once.
_CHUNK, _MOST_NODES, _BLOCK = 16, 1 << 18, 1 << 16
#: The difference of two tails is taken directly where the log of their quotient is below this.
_CLOSE = np.log(0.5)
#: Tails below exp(_FLOOR - |x|) are zero: a log ratio multiplies them by e^x.  Contours at most.
_FLOOR, _MOST_CONTOURS = -1100.0, 4096
#: Bisections and Newton steps for a quantile.
_STEPS = 100


@dataclass(frozen=True)
class _Contour:
    """The line ``Re s = theta`` with ``values = e^(K(s) - K(theta) - it saddle)`` on its nodes."""

    theta: float
    saddle: float  # K'(theta)
    spread: float  # sqrt K''(theta)
    log_moment: float  # K(theta) - K(anchor)
    step: float
    nodes: FloatArray
    values: ComplexArray
    error: float


class SaddlePointInversion:
    """A real law by its log moment function.

    Parameters
    ----------
    log_moment : callable
        ``K(s)`` for an array of complex s.  Its imaginary part may be off by multiples of 2 pi,
        except close to the real axis.  ``e^K(0) < 1`` is a law that lacks mass (what a likelihood
        ratio of -inf takes away).
    strip : tuple of float, optional
        Open interval of real s, 0 within, where K is finite.
    windows : sequence of (float, float), optional
        Intervals of t where ``|M(theta + it)|`` matters although it vanished before.

    Notes
    -----
    Accuracy: relative 1e-13 and better where K is accurate to the last digit, since an absolute
    error of K is a relative one of the result.  `error` says what the trapezoid rule left.
    """

    def __init__(
        self,
        log_moment: LogMoment,
        *,
        strip: tuple[float, float] = (-np.inf, np.inf),
        windows: Sequence[tuple[float, float]] = (),
    ):
        self._log_moment = log_moment
        self._strip = strip
        self._windows = windows
        self._ladders: dict[tuple[float, int], list[_Contour]] = {}

    @property
    def error(self) -> float:
        """Largest relative error of the trapezoid rule on the contours used so far."""
        return max((c.error for ladder in self._ladders.values() for c in ladder), default=0.0)

    def log_tails(self, x: Any, *, tilt: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """``log E[e^(tilt l); l <= x]`` and the same for ``l > x``.

        ``tilt=0`` gives the two tails; if l is a log likelihood ratio, ``tilt=1`` gives those under
        the other law.
        """
        x = np.asarray(x, np.float64)
        mean, log_mass = self._local(tilt)[0], self._k(tilt).real
        upper = x > mean
        tail = np.empty(x.shape)
        tail[upper] = self._evaluate(x[upper], tilt, 1, "tail")
        tail[~upper] = self._evaluate(x[~upper], tilt, -1, "tail")
        with np.errstate(divide="ignore"):
            other = log_mass + np.log(-np.expm1(np.minimum(tail - log_mass, 0.0)))
        return np.where(upper, other, tail), np.where(upper, tail, other)

    def log_density(self, x: Any) -> FloatArray:
        """Log density."""
        x = np.asarray(x, np.float64)
        upper = x > self._local(0.0)[0]
        result = np.empty(x.shape)
        result[upper] = self._evaluate(x[upper], 0.0, 1, "density")
        result[~upper] = self._evaluate(x[~upper], 0.0, -1, "density")
        return result

    def log_call(self, x: Any) -> FloatArray:
        """``log E (e^(l - x) - 1)+``; needs 1 inside the strip."""
        x = np.asarray(x, np.float64)
        return self._option(x, self.log_tails(x, tilt=1.0)[1] - x, self.log_tails(x)[1], 1)

    def log_put(self, x: Any) -> FloatArray:
        """``log E (1 - e^(l - x))+`` over the finite l; needs 1 inside the strip."""
        x = np.asarray(x, np.float64)
        return self._option(x, self.log_tails(x)[0], self.log_tails(x, tilt=1.0)[0] - x, -1)

    def _option(
        self, x: FloatArray, paid: FloatArray, price: FloatArray, direction: int
    ) -> FloatArray:
        """Log of the difference of two tails: theirs, or a contour of its own if they are close."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = price - paid
            result = np.where(paid == -np.inf, paid, paid + np.log(-np.expm1(share)))
        close = (share > _CLOSE) & (paid > -np.inf)
        anchor = 1.0 if direction > 0 else 0.0
        result[close] = self._evaluate(x[close], anchor, direction, "option")
        return result

    def quantile(self, log_p: Any, *, upper: bool = False) -> FloatArray:
        """Where the lower (upper) tail is `log_p`: Newton's method inside a shrinking bracket."""
        target = np.asarray(log_p, np.float64)
        some = (target < self._k(0.0).real) & (target > -np.inf)
        require(some, target, "log_p", "be below the log of the mass, and finite")
        side, sign = int(upper), -1.0 if upper else 1.0
        low, high = (np.full(target.shape, x) for x in self._bracket(target, side))
        x = 0.5 * (low + high)
        for _ in range(_STEPS):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                excess = sign * (self.log_tails(x)[side] - target)
                slope = np.exp(self.log_density(x) - target - sign * excess)
                moved = x - excess / slope
            high, low = np.where(excess > 0.0, x, high), np.where(excess > 0.0, low, x)
            moved = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
            if np.all(np.abs(moved - x) <= 4e-16 * np.abs(x)):
                break
            x = moved
        return np.asarray(x)

    def _bracket(self, target: FloatArray, side: int) -> tuple[float, float]:
        mean, reach = self._local(0.0)
        while True:
            ends = mean + np.array([-reach, reach])
            tails = self.log_tails(ends)[side]
            if tails.min() <= target.min() and tails.max() >= target.max():
                return float(ends[0]), float(ends[1])
            reach *= 2.0

    def _k(self, s: complex) -> complex:
        return complex(self._log_moment(np.array([s], np.complex128))[0])

    def _on_line(self, theta: float, t: npt.NDArray[Any]) -> ComplexArray:
        return self._log_moment(np.asarray(theta + 1j * t, np.complex128))

    def _local(self, theta: float) -> tuple[float, float]:
        """K' and sqrt K'' at theta, from how K falls along the imaginary direction."""
        at, reach = self._k(theta).real, 1.0
        for _ in range(_STEPS):
            fall = at - self._k(complex(theta, reach)).real
            if 0.005 < fall < 0.05:
                break
            # |M| is largest on the real axis: what is not above zero is rounding.
            reach *= float(np.clip(np.sqrt(0.02 / fall), 1e-3, 1e3)) if fall > 0.0 else 1e3
        small = 1e-4 * reach
        return self._k(complex(theta, small)).imag / small, float(np.sqrt(2.0 * fall)) / reach

    def _evaluate(self, x: FloatArray, anchor: float, direction: int, kernel: Kernel) -> FloatArray:
        """Log of the integral at each x on the contour whose saddle is nearest."""
        flat = x.ravel()
        result = np.full(flat.shape, -np.inf)
        result[np.isnan(flat)] = np.nan
        finite = np.flatnonzero(np.isfinite(flat))
        if finite.size:
            ladder = self._ladder(flat[finite], anchor, direction)
            log_mass = self._k(anchor).real
            saddles = np.array([direction * c.saddle for c in ladder])
            middles = 0.5 * (saddles[1:] + saddles[:-1])
            which = np.searchsorted(middles, direction * flat[finite])
            for k in np.unique(which):
                places = finite[which == k]
                part = _integral(ladder[k], flat[places], kernel, anchor)
                seen = _in_reach(ladder[k], flat[places], anchor)
                result[places] = np.where(seen, log_mass + part, -np.inf)
        return result.reshape(x.shape)

    def _ladder(self, x: FloatArray, anchor: float, direction: int) -> list[_Contour]:
        """Contours outward from the anchor, until each x has its own or is out of reach."""
        ladder = self._ladders.setdefault((anchor, direction), [])
        if not ladder:
            spread = self._local(anchor)[1]
            ladder.append(self._contour(self._next(anchor, direction, 0.5 / spread), anchor))
        while len(ladder) < _MOST_CONTOURS:
            last = ladder[-1]
            x = x[(direction * (x - last.saddle) > 0.0) & _in_reach(last, x, anchor)]
            theta = self._next(last.theta, direction, 1.0 / last.spread)
            if not x.size or theta == last.theta:
                break
            ladder.append(self._contour(theta, anchor))
        return ladder

    def _next(self, theta: float, direction: int, step: float) -> float:
        """`step` outward, or half the way to the end of the strip."""
        room = abs(self._strip[1 if direction > 0 else 0] - theta)
        return theta + direction * min(step, 0.5 * room)

    def _contour(self, theta: float, anchor: float) -> _Contour:
        saddle, spread = self._local(theta)
        base = self._k(theta).real
        depth = base - self._k(anchor).real
        probes = saddle + spread * np.array([-0.5, 0.0, 0.5])
        step = min(_FIRST_STEP / spread, _POLE_STEP * abs(theta - anchor))
        places = self._places(theta, base, step)
        before, error = np.full(3, np.inf), np.inf
        while True:
            nodes = np.asarray(places * step, np.float64)
            values = np.exp(self._on_line(theta, nodes) - (base + 1j * saddle * nodes))
            contour = _Contour(theta, saddle, spread, depth, step, nodes, values, error)
            now = _integral(contour, probes, "tail", anchor)
            error = min(float(np.max(np.abs(now - before))), 1.0) ** 2
            if error <= _TOLERANCE:
                return replace(contour, error=error)
            if 2 * places.size > _MOST_NODES:
                self._refuse(theta)
            before, step = now, 0.5 * step
            places = np.sort(np.concatenate([2 * places, 2 * places + 1]))

    def _places(self, theta: float, base: float, step: float) -> npt.NDArray[np.int64]:
        """Multiples of the step from 0 until a whole chunk is gone, and those in the windows."""
        start = 0
        while start < _MOST_NODES:
            chunk = np.arange(start, start + _CHUNK)
            size = self._on_line(theta, step * chunk).real - base
            start += _CHUNK
            if size.max() < np.log(_GONE):
                break
        else:
            self._refuse(theta)
        pieces = [np.arange(start)]
        for low, high in self._windows:
            first = max(int(np.ceil(low / step)), pieces[-1][-1] + 1)
            pieces.append(np.arange(first, max(int(high / step) + 1, first)))
        return np.concatenate([piece for piece in pieces if piece.size])

    def _refuse(self, theta: float) -> NoReturn:
        invalid(
            "log_moment",
            f"fall off along the line Re s = {theta:.6g}: it did not within {_MOST_NODES} nodes",
            remedy="A law of few atoms has to be enumerated",
            error=ArithmeticError,
        )


def cosine_and_sine(phase: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both from the tangent of half the angle, which NumPy computes on whole vectors: eight times
    as fast as one of them, to 4 ulp.
    """
    half = np.tan(0.5 * phase)
    square = half * half
    below = 1.0 / (1.0 + square)
    return (1.0 - square) * below, 2.0 * half * below


def _in_reach(contour: _Contour, x: FloatArray, anchor: float) -> npt.NDArray[np.bool_]:
    """Whether the bound that the contour gives on the tail at x is above the floor."""
    bound = contour.log_moment - (contour.theta - anchor) * x
    return np.asarray(bound > _FLOOR - np.abs(x))


def _integral(contour: _Contour, x: FloatArray, kernel: Kernel, anchor: float) -> FloatArray:
    """Log of the integral on one contour less K(anchor), by the trapezoid rule."""
    s = contour.theta + 1j * contour.nodes
    weights = contour.values * (contour.step / np.pi)
    weights[0] *= 0.5
    if kernel == "tail":
        weights /= (s - anchor) * np.sign(contour.theta - anchor)
    elif kernel == "option":
        weights /= s * (s - 1.0)
    total = np.empty(x.shape)
    rows = max(1, _BLOCK // contour.nodes.size)
    for start in range(0, x.size, rows):
        phase = np.multiply.outer(x[start : start + rows] - contour.saddle, contour.nodes)
        cosine, sine = cosine_and_sine(phase)
        total[start : start + rows] = cosine @ weights.real + sine @ weights.imag
    depth = contour.log_moment - (contour.theta - anchor) * x
    with np.errstate(divide="ignore"):
        result = depth + np.log(np.maximum(total, 0.0))
    return result if kernel == "tail" else result - anchor * x
