"""Log likelihood ratios as random variables: what composition needs of a release.

A release has the log likelihood ratio ``l = log(P_in / P_out)``, a random variable under *out*.  It
may be -inf (a release that the target rules out) or, under *in* only, +inf (one that only the
target makes possible).  The finite part has the moment function ``M(s) = E_out[e^(s l)]``, and
``M(1 + s)`` is that under *in*.  The moment function of independent releases is a product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from mialeak._arrays import FloatArray, unsupported
from mialeak._numerics.chernoff import log_chernoff
from mialeak._numerics.mean_waves import (
    DEEP,
    ComplexArray,
    MeanWaves,
    log_of_waves,
    near_the_peak,
    summed,
    tilted,
)

__all__ = [
    "WIDEST",
    "AtomLoss",
    "ComposedLoss",
    "Cuts",
    "Local",
    "Loss",
    "MirroredLoss",
    "Points",
    "Recurrences",
    "cuts_below",
    "local_of",
    "quadrature",
    "sampled",
]

Local = tuple[float, float, float]
#: ``cuts(low, high)``: values in an interval at which a law is cut into pieces.
Cuts = Callable[[float, float], FloatArray]
#: Logs of probabilities under *out*, and log ratios.
Points = tuple[FloatArray, FloatArray]

#: Longest piece of a quadrature in units of the scale on which the integrand varies, and numbers of
#: nodes with the least piece, as a share of the longest, that needs them: errors below 1e-15.
WIDEST = 0.25
_RULES = [
    (np.polynomial.legendre.leggauss(n), most) for n, most in ((6, 0.1), (3, 0.004), (2, -1.0))
]


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
    #: Whether |M| is known along a contour, so that an inversion is possible.
    inverts: bool = True
    #: Whether |M| falls off along it, or returns only in known windows: not beside atoms.
    falls: bool = True

    @classmethod
    def together(cls, parts: list[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
        """The same sum of ratios of this kind in fewer parts, whose means are computed at once."""
        return parts

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


class AtomLoss(Loss):
    """Finitely many outcomes: log probability *out* and finite log ratio of each.

    Laws of several releases are the rows of a table, whose ratios are added.
    """

    falls = False
    #: The waves of the last theta.
    _waves: tuple[float, MeanWaves | None] = (np.nan, None)

    def __init__(self, log_p: FloatArray, log_ratio: FloatArray, lost: tuple[float, float]):
        self._log_p, self._ratio = log_p[None], log_ratio[None]
        self._times = np.ones(1)
        # A sum of probabilities is above 1 by rounding.
        self.lost = min(lost[0], 1.0), min(lost[1], 1.0)
        self._ruled_out = np.array([self.lost[0]])
        self.atoms = log_ratio
        self.support = float(log_ratio.min()), float(log_ratio.max())

    @classmethod
    def together(cls, parts: list[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
        if len(parts) < 2:
            return parts
        laws = [(part, m) for part, m in parts if isinstance(part, AtomLoss)]
        laws.sort(key=lambda law: law[0].atoms.size)
        tables: list[tuple[Loss, int]] = []
        while laws:
            alike = [law for law in laws if law[0].atoms.size <= 2 * laws[0][0].atoms.size]
            laws = laws[len(alike) :]
            width = alike[-1][0].atoms.size
            table = cls.__new__(cls)
            table._log_p = np.full((len(alike), width), -np.inf)
            table._ratio = np.zeros((len(alike), width))
            for row, (law, _) in enumerate(alike):
                size = law.atoms.size
                table._log_p[row, :size], table._ratio[row, :size] = law._log_p[0], law._ratio[0]
                table._ratio[row, size:] = law._ratio[0, 0]  # of no probability
            table._times = np.array([float(m) for _, m in alike])
            table._ruled_out = np.concatenate([law._ruled_out for law, _ in alike])
            tables.append((table, 1))
        return tables

    def local(self, theta: float) -> Local:
        # K is a small difference of the two laws where these are alike.
        table = self._log_p, self._ratio
        log_p, ratio = near_the_peak(*table, theta, 2.0 * DEEP, both=True)
        log_mass, mean, moved = tilted(log_p, ratio, theta, self._ruled_out)
        spread = np.sum(moved * (ratio - mean[:, None]) ** 2, axis=1)
        return summed(self._times, log_mass, mean, spread)

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        at, waves = self._waves
        if waves is None or at != theta:
            log_p, ratio = near_the_peak(self._log_p, self._ratio, theta, DEEP)
            _, mean, moved = tilted(log_p, ratio, theta, self._ruled_out)
            # The phases average 0, but for rounding.
            waves = MeanWaves(moved, ratio - mean[:, None])
            self._waves = theta, waves
        return np.asarray(log_of_waves(*waves(t)) @ self._times)

    def points(self, theta: float, cuts: Cuts) -> Points:
        return self._log_p[0], self._ratio[0]


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
        return local_of(self, theta, self._known)

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


class ComposedLoss:
    """The sum of independent log likelihood ratios, each a number of times.

    It has the interface of a moment function of :class:`SaddlePointInversion`.
    """

    def __init__(self, parts: Sequence[tuple[Loss, int]]):
        self.parts = list(parts)
        kinds: dict[type[Loss], list[tuple[Loss, int]]] = {}
        for part, m in parts:
            kinds.setdefault(type(part), []).append((part, m))
        self._merged = [each for kind, alike in kinds.items() for each in kind.together(alike)]
        self._known: dict[float, Local] = {}
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
        """Whether a part has atoms, so that its moment function does not fall off."""
        return not all(part.falls for part, _ in self.parts)

    def local(self, theta: float) -> Local:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""
        known = self._known.get(theta)
        if known is None:
            sums = np.zeros(3)
            with np.errstate(over="ignore", invalid="ignore"):
                for part, m in self._merged:
                    sums += m * np.array(part.local(theta))
            if not np.isfinite(sums).all():
                why = f"float64 does not hold it at theta = {theta:.3g}"
                unsupported("The moment function", "of this ratio", why, error=ArithmeticError)
            known = float(sums[0]), float(sums[1]), float(np.sqrt(sums[2]))
            self._known[theta] = known
        return known

    def far(self, direction: str, exponents: Iterable[float]) -> list[tuple[float, float]]:
        """Pairs of r and log a: delta's finite part is at most ``a e^(-r x)``, by Chernoff."""
        pairs = []
        for r in exponents:
            try:
                pairs.append((r, self.log_far(direction, r)))
            except ArithmeticError:
                break
        return pairs

    def log_far(self, direction: str, r: float) -> float:
        """As ``far``, the log a of one r."""
        return log_chernoff(r) + self.local(r + 1.0 if direction == "in" else -r)[0]

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""
        t = np.asarray(start + step * np.arange(count), np.float64)
        total = np.zeros(count, np.complex128)
        for part, m in self._merged:
            wave = part.log_wave(theta, t)
            total += m * wave.real + 1j * (m * wave.imag)
        return np.exp(total)

    def ceiling(self, theta: float, t: float) -> float:
        """``|M(theta + iu)| / M(theta)`` is at most this for all u >= t."""
        return float(np.prod([part.ceiling(theta, t) ** m for part, m in self._merged]))


def sampled(ratio: FloatArray, rate: float) -> FloatArray:
    """``log(1 - rate + rate e^ratio)``."""
    if np.max(ratio, initial=0.0) <= 500.0 and rate < 1.0:
        return np.asarray(np.log1p(rate * np.expm1(ratio)))
    with np.errstate(over="ignore", divide="ignore"):
        near = np.log1p(rate * np.expm1(np.minimum(ratio, 500.0)))
    return np.asarray(np.where(ratio > 500.0, ratio + np.log(rate), near))


def cuts_below(cuts: Cuts, rate: float) -> Cuts:
    """The cuts of the ratio of the whole release, from those of the sampled one."""

    def below(low: float, high: float) -> FloatArray:
        ends = sampled(np.array([low, high]), rate)
        cut = cuts(*ends.tolist())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            near = np.log1p(np.expm1(np.minimum(cut, 500.0)) / rate)
        inside = np.where(cut > 500.0, cut - np.log(rate), near)
        return np.asarray(inside[(inside > low) & (inside < high)])

    return below


def quadrature(breaks: FloatArray, widest: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss and Legendre's rules on each piece, halved to at most `widest`."""
    width = np.diff(breaks)
    start, width = breaks[:-1][width > 0.0], width[width > 0.0]
    pieces = np.maximum(np.ceil(width / widest), 1.0).astype(np.int64)
    start = np.repeat(start, pieces)
    part = np.repeat(width / pieces, pieces)
    start = start + part * (np.arange(part.size) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    nodes, weights = [], []
    share, before = part / widest, np.inf
    for (place, weight), most in _RULES:
        chosen = (share <= before) & (share > most)
        nodes.append(start[chosen] + np.multiply.outer(0.5 * (place + 1.0), part[chosen]))
        weights.append(np.multiply.outer(0.5 * weight, part[chosen]))
        before = most
    return (
        np.concatenate([each.ravel() for each in nodes]),
        np.concatenate([each.ravel() for each in weights]),
    )


def local_of(loss: Loss, theta: float, known: dict[float, Local]) -> Local:
    """K, K' and K'' from points of the ratio."""
    if theta not in known:
        log_p, ratio = loss.points(theta, lambda low, high: np.zeros(0))
        ruled_out = np.array([loss.lost[0]])
        log_mass, mean, moved = tilted(log_p[None], ratio[None], theta, ruled_out)
        known[theta] = float(log_mass[0]), float(mean[0]), float(moved[0] @ (ratio - mean) ** 2)
    return known[theta]
