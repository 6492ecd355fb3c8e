"""Log likelihood ratios as random variables: what composition needs of a release.

A release has the log likelihood ratio ``l = log(P_in / P_out)``, a random variable under *out*.  It
may be -inf (a release that the target rules out) or, under *in* only, +inf (one that only the
target makes possible).  The finite part has the moment function ``M(s) = E_out[e^(s l)]``, and
``M(1 + s)`` is that under *in*.  The moment function of independent releases is a product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, unsupported

__all__ = [
    "AtomLoss",
    "ComposedLoss",
    "LaplaceLoss",
    "Loss",
    "MirroredLoss",
    "NormalLoss",
    "Recurrences",
    "SampledLoss",
    "SampledNormalLoss",
]

ComplexArray = npt.NDArray[np.complex128]
Local = tuple[float, float, float]
#: ``cuts(low, high)``: values in an interval at which a law is cut into pieces.
Cuts = Callable[[float, float], FloatArray]
#: Logs of probabilities under *out*, and log ratios.
Points = tuple[FloatArray, FloatArray]

#: Frequencies times outcomes evaluated at once.
_BLOCK = 1 << 20
#: Phases below this have the series of sin(y) - y.
_SMALL_PHASE = 0.1
#: A mean of waves whose real part is further below 1 is computed from its modulus, not the distance
#: of its square from 1: that has the rounding error of 1.
_NEAR_ONE = -0.5
#: K below this is computed as log1p of a sum of small terms.
_SMALL_K = 0.5
#: A sum over a grid of z leaves out terms below e^-_DEEP relative to the largest.
_DEEP = 46.0
#: Step of a first grid, in standard deviations of z.
_STEP = 0.25
#: The trapezoid rule of step h is exact, but for e^-(_BAND - 9)^2/2, for a normal law times a wave
#: of frequency f if ``h <= 2 pi / (f + _BAND)``; the local frequency of e^(itl) is t l'.
_BAND, _WIDER = 18.0, 1.25
#: The grid has no z below this: a tail there has a probability below 1e-1000.
_LOWEST = -70.0
#: Longest piece of a quadrature in units of the scale on which the integrand varies, and numbers of
#: nodes with the least piece, as a share of the longest, that needs them: errors below 1e-15.
_WIDEST, _RULES = 0.25, ((6, 0.1), (3, 0.004), (2, -1.0))
#: Largest number of points of the grid, with frequencies and without, and number of grids that are
#: stored.
_MOST_POINTS, _MOST_WITHOUT_WAVES, _GRIDS = 1 << 14, 1 << 19, 8
#: Frequencies, in units of one over the standard deviation, at which a smooth law is looked at for
#: its largest modulus beyond a frequency.
_PROBES = np.geomspace(1.0, 8.0, 33)


class Recurrences(Protocol):
    """First range of t, intervals of t with recurrences, and relative size of the omitted ones."""

    @property
    def start(self) -> float: ...

    @property
    def windows(self) -> Sequence[tuple[float, float]]: ...

    @property
    def omitted(self) -> float: ...


class Loss(ABC):
    """The log likelihood ratio of one release."""

    #: P_out(l = -inf) and P_in(l = +inf).
    lost: tuple[float, float] = (0.0, 0.0)
    #: Interval that holds all finite l.
    support: tuple[float, float] = (-np.inf, np.inf)
    #: Open interval of real s, 0 within, where K is finite.
    strip: tuple[float, float] = (-np.inf, np.inf)
    #: Where |M| is large again, for laws that are nearly lattices.
    recurrences: Recurrences | None = None
    #: Values of positive probability.
    atoms: FloatArray = np.zeros(0)
    #: Whether |M| falls off, or is known on a lattice, so that an inversion is possible.
    inverts: bool = True

    @abstractmethod
    def local(self, theta: float) -> Local:
        """``K = log M``, K' and K'' at a real theta."""

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        """``K(theta + it) - K(theta) - i t K'(theta)``, up to multiples of 2 pi i.

        Relatively accurate for small t: it is multiplied by the number of releases.
        """
        why = "its moment function does not fall off"
        unsupported("An inversion", "of this ratio", why, error=ArithmeticError)

    def ceiling(self, theta: float, t: float) -> float:
        """``|M(theta + iu)| / M(theta)`` is at most this for all u >= t."""
        return 1.0

    def points(self, theta: float, cuts: Cuts) -> Points:
        """A quadrature of the finite part, rounding apart exact on each piece between cuts.

        It holds all but e^-40 of the law tilted by theta.
        """
        why = "it has the moment function of its ratio, and not the ratio of each outcome"
        unsupported("An enclosure", "of a composition with an exact mean of many columns", why)


class NormalLoss(Loss):
    """N(-mu^2/2, mu^2), the ratio of two normal laws at a distance of mu."""

    def __init__(self, mu: float):
        self.mu = mu

    def local(self, theta: float) -> Local:
        square = self.mu * self.mu
        return 0.5 * square * theta * (theta - 1.0), square * (theta - 0.5), square

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        return (-0.5 * (self.mu * t) ** 2).astype(np.complex128)

    def ceiling(self, theta: float, t: float) -> float:
        return float(np.exp(-0.5 * (self.mu * t) ** 2))

    def points(self, theta: float, cuts: Cuts) -> Points:
        centre, reach = theta * self.mu, np.sqrt(2.0 * _DEEP)
        return _normal_points(self.mu, centre - reach, centre + reach, cuts)


class AtomLoss(Loss):
    """Finitely many outcomes: probability *out* and finite log ratio of each."""

    def __init__(self, p_out: FloatArray, log_ratio: FloatArray, lost: tuple[float, float]):
        self.log_p, self.ratio = np.log(p_out), log_ratio
        # A sum of probabilities is above 1 by rounding.
        self.lost = min(lost[0], 1.0), min(lost[1], 1.0)
        self.atoms = log_ratio
        self.support = float(log_ratio.min()), float(log_ratio.max())

    def local(self, theta: float) -> Local:
        log_mass, mean, moved = _tilted(self.log_p, self.ratio, theta, self.lost[0])
        return log_mass, mean, float(moved @ (self.ratio - mean) ** 2)

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        _, mean, moved = _tilted(self.log_p, self.ratio, theta, self.lost[0])
        return _log_wave(moved, self.ratio - mean, t)

    def points(self, theta: float, cuts: Cuts) -> Points:
        return self.log_p, self.ratio


class LaplaceLoss(Loss):
    """The ratio of two Laplace laws of scale 1 at a distance of epsilon.

    Half of the mass *out* is at -epsilon, and e^-epsilon / 2 at epsilon; in between the density of
    l is ``e^(-(l + epsilon)/2) / 4``.
    """

    inverts = False

    def __init__(self, epsilon: float):
        self.epsilon, self.support = epsilon, (-epsilon, epsilon)
        self.atoms = np.array([-epsilon, epsilon])
        self._known: dict[float, Local] = {}

    def local(self, theta: float) -> Local:
        return _local_of(self, theta, self._known)

    def points(self, theta: float, cuts: Cuts) -> Points:
        return self.within(theta, abs(theta), cuts)

    def within(self, theta: float, fastest: float, cuts: Cuts) -> Points:
        """Points for weights that change at least as e^(theta l), and at most as e^(fastest l)."""
        epsilon, fall = self.epsilon, theta - 0.5
        reach = _DEEP / abs(fall) if fall else np.inf
        low = max(-epsilon, epsilon - reach) if fall > 0.0 else -epsilon
        high = min(epsilon, -epsilon + reach) if fall < 0.0 else epsilon
        breaks = np.concatenate([[low], cuts(low, high), [high]])
        ratio, weight = _quadrature(breaks, _WIDEST / max(1.0, fastest))
        log_p = np.log(0.25 * weight) - 0.5 * (ratio + epsilon)
        ends = np.log(0.5) - np.array([0.0, epsilon])
        return np.append(log_p, ends), np.append(ratio, self.atoms)


class SampledLoss(Loss):
    """The ratio of a mixture, a share `rate` of the law *in* of another release, to its *out*."""

    inverts = False

    def __init__(self, base: LaplaceLoss, rate: float):
        self.base, self.rate = base, rate
        self.lost = base.lost[0], rate * base.lost[1]
        low, high = (float(_sampled(np.array(end), rate)) for end in base.support)
        self.support = low, high
        self.atoms = _sampled(base.atoms, rate)
        self._known: dict[float, Local] = {}

    def local(self, theta: float) -> Local:
        return _local_of(self, theta, self._known)

    def points(self, theta: float, cuts: Cuts) -> Points:
        # The slope of the sampled ratio grows with the ratio of the whole release.
        growth = self.rate * np.exp(np.array(self.base.support))
        least, most = (growth / (1.0 - self.rate + growth)).tolist()
        below = _cuts_below(cuts, self.rate)
        log_p, ratio = self.base.within(theta * least, abs(theta) * most, below)
        return log_p, _sampled(ratio, self.rate)


class MirroredLoss(Loss):
    """The positive ratios of a release, their negatives with the worlds exchanged, and 0.

    `centre` is the probability of 0, the same in both worlds.
    """

    inverts = False

    def __init__(self, one: Loss, centre: float):
        self.one, self.centre = one, centre
        high = one.support[1]
        self.support = -high, high
        positive = one.atoms[one.atoms > 0.0]
        self.atoms = np.concatenate([positive, -positive, [0.0]])
        self._known: dict[float, Local] = {}

    def local(self, theta: float) -> Local:
        return _local_of(self, theta, self._known)

    def points(self, theta: float, cuts: Cuts) -> Points:
        def with_zero(low: float, high: float) -> FloatArray:
            inside = cuts(low, high)
            return np.union1d(inside, 0.0) if low < 0.0 < high else inside

        log_p, ratio = self.one.points(theta, with_zero)
        # Mirrored, e^(theta l) p is e^((1 - theta) l) p.
        other_p, other = self.one.points(1.0 - theta, with_zero)
        positive, mirrored = ratio > 0.0, other > 0.0
        log_p = np.concatenate(
            [log_p[positive], (other_p + other)[mirrored], [np.log(self.centre)]]
        )
        return log_p, np.concatenate([ratio[positive], -other[mirrored], [0.0]])


class SampledNormalLoss(Loss):
    """The ratio of N(0, 1) and its mixture with a share `rate` of N(mu, 1).

    ``l = log(1 - rate + rate e^g)``, g = mu z - mu^2/2 and z standard normal.  Means are sums over
    a grid of z: the trapezoid rule, whose error for an analytic function falls off as e^(-c/step).
    """

    def __init__(self, mu: float, rate: float):
        self.mu, self.rate = mu, rate
        self.support = float(np.log1p(-rate)), np.inf
        # The singularities of l are at a distance of pi / mu from the real line.
        self._step = 2.0 * np.pi**2 / (mu * _DEEP)
        self._grids: dict[tuple[float, float], tuple[FloatArray, FloatArray]] = {}

    def local(self, theta: float) -> Local:
        log_p, ratio = self._grid(theta, 0.0)
        log_mass, mean, moved = _tilted(log_p, ratio, theta, 0.0)
        return log_mass, mean, float(moved @ (ratio - mean) ** 2)

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        most = float(np.max(np.abs(t), initial=0.0))
        # Rounded up to a power of two: neighbouring frequencies share a grid.
        log_p, ratio = self._grid(theta, float(np.exp2(np.ceil(np.log2(max(most, 1e-300))))))
        _, mean, moved = _tilted(log_p, ratio, theta, 0.0)
        return _log_wave(moved, ratio - mean, t)

    def ceiling(self, theta: float, t: float) -> float:
        # The density of l is smooth and has one mode: its transform falls off without a return.
        return float(np.exp(np.max(self.log_wave(theta, t * _PROBES).real)))

    def points(self, theta: float, cuts: Cuts) -> Points:
        z = np.arange(_LOWEST, max(theta * self.mu, 0.0) + np.sqrt(2.0 * _DEEP), _STEP)
        exponent = theta * self._ratio(z)[0] - 0.5 * z * z
        z = z[exponent >= exponent.max() - _DEEP]
        below = _cuts_below(cuts, self.rate)
        log_p, ratio = _normal_points(self.mu, z[0] - _STEP, z[-1] + _STEP, below)
        return log_p, _sampled(ratio, self.rate)

    def _grid(self, theta: float, t: float) -> tuple[FloatArray, FloatArray]:
        """The grid of :meth:`_make_grid`, one of the last few."""
        made = self._grids.get((theta, t))
        if made is None:
            made = self._make_grid(theta, t)
            # A new dict: another thread may be reading the old one.
            self._grids = {**dict(list(self._grids.items())[1 - _GRIDS :]), (theta, t): made}
        return made

    def _make_grid(self, theta: float, t: float) -> tuple[FloatArray, FloatArray]:
        """Log weights of the points of z that matter at theta, and their log ratios."""
        low, high = _LOWEST, max(theta * self.mu, 0.0) + np.sqrt(2.0 * _DEEP)
        most = _MOST_POINTS if t > 0.0 else _MOST_WITHOUT_WAVES
        _require_size((high - low) / _STEP, most)
        coarse = np.arange(low, high + _STEP, _STEP)
        ratio, share = self._ratio(coarse)
        exponent = theta * ratio - 0.5 * coarse * coarse
        kept = np.flatnonzero(exponent >= exponent.max() - _DEEP)
        # For theta < 0 the peak is narrower than that of z: its curvature is at most this.
        share = share[kept]
        curvature = 1.0 - min(theta, 0.0) * self.mu**2 * float((share * (1.0 - share)).max())
        band = _WIDER * t * self.mu * float(share.max()) + _BAND * np.sqrt(curvature)
        step = min(self._step, 2.0 * np.pi / band)
        first, last = coarse[kept[0]] - _STEP, coarse[kept[-1]] + _STEP
        _require_size((last - first) / step, most)
        points = np.arange(np.floor(first / step), np.ceil(last / step) + 1.0)
        z = step * points
        return np.log(step / np.sqrt(2.0 * np.pi)) - 0.5 * z * z, self._ratio(z)[0]

    def _ratio(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log ratio at z, and the posterior share of the second normal, l' / mu."""
        growth = self.mu * (z - 0.5 * self.mu)
        ratio = _sampled(growth, self.rate)
        return ratio, self.rate * np.exp(growth - ratio)


def _require_size(points: float, most: int) -> None:
    """Refuse a grid that would take too long, before it is made."""
    if not points <= most:
        why = f"a grid of {points:.3g} points does not resolve its likelihood ratio"
        unsupported("The grid", "of the ratio", why, error=ArithmeticError)


class ComposedLoss:
    """The sum of independent log likelihood ratios, each a number of times.

    It has the interface of a moment function of :class:`SaddlePointInversion`.
    """

    def __init__(self, parts: Sequence[tuple[Loss, int]]):
        self.parts = list(parts)
        with np.errstate(divide="ignore"):
            kept = [sum(m * np.log1p(-part.lost[world]) for part, m in parts) for world in (0, 1)]
        self.lost = float(-np.expm1(kept[0])), float(-np.expm1(kept[1]))
        low, high = (float(sum(m * part.support[end] for part, m in parts)) for end in (0, 1))
        slack = 1e-13 * (abs(low) + abs(high)) if np.isfinite(low) and np.isfinite(high) else 0.0
        self.support = low - slack, high + slack
        self.spread = self.local(0.0)[2]
        self.strip = (
            max(part.strip[0] for part, _ in parts),
            min(part.strip[1] for part, _ in parts),
        )
        known = [part.recurrences for part, _ in parts if part.recurrences is not None]
        #: Those of one part: the product is nowhere larger.
        self.recurrences = min(known, key=lambda each: each.omitted, default=None)

    @property
    def has_atoms(self) -> bool:
        """Whether a part is discrete, so that its moment function does not fall off."""
        return any(isinstance(part, AtomLoss) for part, _ in self.parts)

    def local(self, theta: float) -> Local:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""
        sums = np.zeros(3)
        for part, m in self.parts:
            sums += m * np.array(part.local(theta))
        return float(sums[0]), float(sums[1]), float(np.sqrt(sums[2]))

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""
        t = np.asarray(start + step * np.arange(count), np.float64)
        total = np.zeros(count, np.complex128)
        for part, m in self.parts:
            wave = part.log_wave(theta, t)
            total += m * wave.real + 1j * (m * wave.imag)
        return np.exp(total)

    def ceiling(self, theta: float, t: float) -> float:
        """``|M(theta + iu)| / M(theta)`` is at most this for all u >= t."""
        return float(np.prod([part.ceiling(theta, t) ** m for part, m in self.parts]))


def _sampled(ratio: FloatArray, rate: float) -> FloatArray:
    """``log(1 - rate + rate e^ratio)``."""
    with np.errstate(over="ignore", divide="ignore"):
        near = np.log1p(rate * np.expm1(np.minimum(ratio, 500.0)))
    return np.asarray(np.where(ratio > 500.0, ratio + np.log(rate), near))


def _normal_points(mu: float, low: float, high: float, cuts: Cuts) -> Points:
    """Points of a standard normal z in [low, high], and the ratio ``mu z - mu^2/2``."""
    inside = cuts(mu * (low - 0.5 * mu), mu * (high - 0.5 * mu))
    breaks = np.concatenate([[low], inside / mu + 0.5 * mu, [high]])
    # A share of it, when sampled, bends on the scale of 1/mu.
    z, weight = _quadrature(np.clip(breaks, low, high), _WIDEST / max(1.0, mu))
    return np.log(weight / np.sqrt(2.0 * np.pi)) - 0.5 * z * z, mu * (z - 0.5 * mu)


def _cuts_below(cuts: Cuts, rate: float) -> Cuts:
    """The cuts of the ratio of the whole release, from those of the sampled one."""

    def below(low: float, high: float) -> FloatArray:
        ends = _sampled(np.array([low, high]), rate)
        cut = cuts(*ends.tolist())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            near = np.log1p(np.expm1(np.minimum(cut, 500.0)) / rate)
        inside = np.where(cut > 500.0, cut - np.log(rate), near)
        return np.asarray(inside[(inside > low) & (inside < high)])

    return below


def _quadrature(breaks: FloatArray, widest: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss and Legendre's rules on each piece, halved to at most `widest`."""
    width = np.diff(breaks)
    start, width = breaks[:-1][width > 0.0], width[width > 0.0]
    pieces = np.maximum(np.ceil(width / widest), 1.0).astype(np.int64)
    start = np.repeat(start, pieces)
    part = np.repeat(width / pieces, pieces)
    start = start + part * (np.arange(part.size) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    nodes, weights = [], []
    share, before = part / widest, np.inf
    for number, most in _RULES:
        chosen = (share <= before) & (share > most)
        place, weight = np.polynomial.legendre.leggauss(number)
        nodes.append(start[chosen] + np.multiply.outer(0.5 * (place + 1.0), part[chosen]))
        weights.append(np.multiply.outer(0.5 * weight, part[chosen]))
        before = most
    return (
        np.concatenate([each.ravel() for each in nodes]),
        np.concatenate([each.ravel() for each in weights]),
    )


def _local_of(loss: Loss, theta: float, known: dict[float, Local]) -> Local:
    """K, K' and K'' from points of the ratio."""
    if theta not in known:
        log_p, ratio = loss.points(theta, lambda low, high: np.zeros(0))
        log_mass, mean, moved = _tilted(log_p, ratio, theta, loss.lost[0])
        known[theta] = log_mass, mean, float(moved @ (ratio - mean) ** 2)
    return known[theta]


def _tilted(
    log_p: FloatArray, ratio: FloatArray, theta: float, lost: float
) -> tuple[float, float, FloatArray]:
    """K, K' and the weights of the tilted law; K is relatively accurate where it is small."""
    exponent = log_p + theta * ratio
    most = float(exponent.max())
    moved = np.exp(exponent - most)
    total = float(moved.sum())
    moved /= total
    log_mass = most + float(np.log(total))
    if abs(log_mass) < _SMALL_K:
        p, gentle = np.exp(log_p), np.abs(theta * ratio) < 1.0
        with np.errstate(over="ignore"):
            steep = np.exp(np.where(gentle, 0.0, exponent)) - p
        gain = np.where(gentle, p * np.expm1(np.where(gentle, theta * ratio, 0.0)), steep)
        log_mass = float(np.log1p(gain.sum() - lost))
    return log_mass, float(moved @ ratio), moved


def _log_wave(weights: FloatArray, centred: FloatArray, t: FloatArray) -> ComplexArray:
    """Log of ``sum of weights e^(i t centred)``, accurate near 1; the centred values average 0."""
    result = np.empty(t.shape, np.complex128)
    rows = max(1, _BLOCK // centred.size)
    for start in range(0, t.size, rows):
        phase = np.multiply.outer(t[start : start + rows], centred)
        half = np.tan(0.5 * phase)  # NumPy has vector code for the tangent only
        below = 1.0 / (1.0 + half * half)
        real = -2.0 * (half * half * below) @ weights
        square = phase * phase
        fourth = 1.0 - square / 42.0 * (1.0 - square / 72.0)
        series = -phase * square / 6.0 * (1.0 - square / 20.0 * fourth)
        small = np.abs(phase) < _SMALL_PHASE
        imaginary = np.where(small, series, 2.0 * half * below - phase) @ weights
        # The phases average 0, but for rounding.
        with np.errstate(divide="ignore"):
            near = 0.5 * np.log1p(np.maximum(2.0 * real + real * real + imaginary**2, -1.0))
            far = np.log(np.hypot(1.0 + real, imaginary))
        modulus = np.where(real > _NEAR_ONE, near, far)
        result[start : start + rows] = modulus + 1j * np.arctan2(imaginary, 1.0 + real)
    return result
