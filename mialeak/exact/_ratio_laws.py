"""Laws of the log likelihood ratio in both worlds, one class for each method."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    unsupported,
)
from mialeak._numerics.corners import corners_of_atoms
from mialeak._numerics.inversion import TwoWorlds, beyond
from mialeak._numerics.losses import Loss
from mialeak.exact._atoms import MOST_ATOMS, MOST_SMALL, Atoms, Halves
from mialeak.exact._moments import RatioMoments
from mialeak.exact._recurrences import Recurrences, find_recurrences, growth, growth_at
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = ["AtomLaw", "ContourLaw", "HalvesLaw", "RatioArrays", "RatioLaw", "RatioLoss"]

_EPS = 2.0**-52
#: Measured rounding error of K for one coordinate; the errors add up like a random walk.
_ROUNDING = 4.0 * _EPS
#: Relative error of ``e^x`` for each unit of ``|x|``.
_EXPONENT = 8.0 * _EPS
#: Omitted recurrences above this are evaluated on every contour; the error is this multiple of
#: their root mean square.  Of 2,880 tails of 40 laws, 5 had an error of 1 to 1.6 root mean squares.
_RECURRING, _DEVIATIONS = 1e-12, 2.0
#: Errors are relative to probabilities below this.
_RELATIVE = 1e-3
#: Tail mass of one coordinate beyond its stored counts.
_CUT_OFF = 3e-17
#: Thresholds of the table, and steps of the search for a quantile of two halves.  The last two
#: thirds of the steps are halvings, which end at the atom.
_TABLE, _STEPS = 129, 90
#: Relative error of a power that a step along the tangent of the curve may leave.
_SECOND_ORDER = 1e-16
#: Thresholds of the table where one threshold takes ten times as long.
_COARSE = 33
#: Up to this epsilon, delta of two halves is computed by `Halves.excess`, which is accurate where
#: the worlds are close.
_SMALL_EPSILON = 1.0


class RatioArrays(NamedTuple):
    """The law of the log likelihood ratio of a release, where it consists of atoms.

    Attributes
    ----------
    log_ratio : ndarray
        Its values, increasing.
    cdf_out, cdf_in : ndarray
        P(l <= log_ratio) in the two worlds.  `cdf_out` includes the probability of l = -inf: the
        outcomes that the target makes impossible.

    Examples
    --------
    >>> from mialeak import exact_mean_tradeoff
    >>> from mialeak.laws import Bernoulli
    >>> law = exact_mean_tradeoff([1.0], Bernoulli([0.5]), 2).to_arrays()
    >>> law.cdf_out.tolist(), law.cdf_in.tolist()
    ([0.75, 1.0], [0.5, 1.0])
    """

    log_ratio: FloatArray
    cdf_out: FloatArray
    cdf_in: FloatArray


class RatioLaw(ABC):
    """Law of ``l`` in the worlds 0 (out) and 1 (in); `lost` is P(l = -inf) in *out*."""

    method: str
    lost: float
    #: Upper bounds on the probability, out and in, of the outcomes that the sums omit.
    missing: tuple[float, float] = (0.0, 0.0)
    #: The least probability, out and in, of the results so far.
    least: tuple[float, float] = (1.0, 1.0)

    @property
    @abstractmethod
    def body_error(self) -> float:
        """Error of results above 1e-3."""

    @property
    def error(self) -> float:
        """Error of the results so far: relative below 1e-3, absolute above."""
        return self.error_at(*self.least)

    def error_at(self, out: float, inside: float) -> float:
        """Error of results with these least probabilities; 1 for a zero that may be inexact."""
        error = self.body_error
        for least, missing in zip((out, inside), self.missing, strict=True):
            if least > 0.0:
                error += missing if least > _RELATIVE else missing / (least + missing)
                error -= _EXPONENT * math.log(min(least, 1.0))
            else:
                error += float(missing > 0.0)
        return error

    def note(self, out: float, inside: float) -> None:
        """Record the least probabilities of a result."""
        self.least = min(self.least[0], out), min(self.least[1], inside)

    @abstractmethod
    def log_tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        """``log P(l <= x)``, -inf included, and ``log P(l > x)``."""

    @abstractmethod
    def at_fpr(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Threshold, power and fnr."""

    @abstractmethod
    def at_power(self, power: FloatArray) -> FloatArray:
        """The least fpr."""

    @abstractmethod
    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        """Delta of one direction, "in" or "out"."""

    @property
    @abstractmethod
    def auc(self) -> float:
        """Area under the curve."""

    @abstractmethod
    def log_density(self, x: FloatArray) -> FloatArray:
        """Log density of the finite part, out."""


class ContourLaw(RatioLaw):
    """The law by inversion of the moment function."""

    method = "inversion"

    def __init__(self, moments: RatioMoments, recurrences: Recurrences, strip: tuple[float, float]):
        self.moments, self.recurrences = moments, recurrences
        self.lost = moments.lost
        self.worlds = TwoWorlds(
            moments,
            (self.lost, 0.0),
            strip=strip,
            windows=recurrences.windows,
            reach=recurrences.start,
            omitted=recurrences.omitted,
            support=moments.support,
        )
        self._coordinates = moments.coordinates + 1.0
        self._grown: dict[float, float] = {}

    @property
    def body_error(self) -> float:
        """Trapezoid rule and wrap-around, omitted recurrences, omitted counts, rounding."""
        off = abs(self.moments.local(1.0)[0])
        rounding = _ROUNDING * np.sqrt(self._coordinates) + off + 16.0 * _EPS
        omitted = self.recurrences.omitted
        inversion = self.worlds.inversion
        if omitted > _RECURRING:
            omitted *= _DEVIATIONS * max(map(self._growth, inversion.lines), default=1.0)
        return float(inversion.error + omitted + _CUT_OFF * self._coordinates + rounding)

    def _growth(self, theta: float) -> float:
        if theta not in self._grown:
            worst = self.recurrences.worst
            self._grown[theta] = (
                growth_at(self.moments, theta, worst) if worst else growth(self.moments, theta)
            )
        return self._grown[theta]

    def log_tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        return self.worlds.log_tails(x, world)

    def at_fpr(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.worlds.at_fpr(fpr)

    def at_power(self, power: FloatArray) -> FloatArray:
        return self.worlds.at_power(power)

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self.worlds.delta(epsilon, direction)

    @property
    def auc(self) -> float:
        return self.worlds.auc

    def log_density(self, x: FloatArray) -> FloatArray:
        return self.worlds.inversion.log_density(x)


class RatioLoss(Loss):
    """The log likelihood ratio of a released mean, as a part of a composition."""

    def __init__(self, law: RatioLaw, moments: RatioMoments):
        self._moments = moments
        contours = law.contours if isinstance(law, HalvesLaw) else law
        assert isinstance(contours, ContourLaw)
        self.recurrences = contours.recurrences
        self.lost, self.support = (law.lost, 0.0), moments.support
        self.strip = (moments.pole, np.inf)

    def local(self, theta: float) -> tuple[float, float, float]:
        log_mass, mean, spread = self._moments.local(theta)
        return log_mass, mean, spread * spread

    def log_wave(self, theta: float, t: FloatArray) -> npt.NDArray[np.complex128]:
        step = float(t[1] - t[0]) if t.size > 1 else 1.0
        with np.errstate(divide="ignore"):
            return np.log(self._moments.wave(theta, float(t[0]), step, t.size))

    def ceiling(self, theta: float, t: float) -> float:
        return 1.0


class AtomLaw(RatioLaw):
    """A law whose atoms are all enumerated."""

    method = "atoms"

    def __init__(self, atoms: Atoms, lost: float, faint: tuple[float, float] = (0.0, 0.0)):
        self.atoms, self.lost = atoms, lost
        self.missing = atoms.missing[0] + faint[0], atoms.missing[1] + faint[1]
        ratio, out, inside = atoms.ratio, atoms.out, atoms.inside
        if lost > 0.0:
            ratio, out = np.append(-np.inf, ratio), np.append(lost, out)
            inside = np.append(0.0, inside)
        corners = corners_of_atoms(out, inside, ratio, out * np.expm1(ratio))
        self.curve = PiecewiseTradeOff._of(corners, "exact")

    @property
    def body_error(self) -> float:
        """Rounding error."""
        gap = abs(float(self.atoms.inside.sum()) - 1.0)
        return gap + 64.0 * _EPS

    def log_tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        below, above = self.atoms.tails[world]
        place = np.searchsorted(self.atoms.ratio, x, side="right")
        with np.errstate(divide="ignore"):
            lower = np.log(below[place] + (self.lost if world == 0 else 0.0))
            return lower, np.log(above[place])

    def at_fpr(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Threshold, power and fnr; the threshold is an atom, where the attack randomises."""
        above = self.atoms.tails[0][1]
        place = np.searchsorted(-above, -fpr)  # the first with P(l > atom) <= fpr
        ratio = np.append(np.append(-np.inf, self.atoms.ratio), np.inf)
        x = np.where(fpr > 0.0, ratio[place], np.inf)
        return x, self.curve._power(fpr), self.curve._fnr(fpr)

    def at_power(self, power: FloatArray) -> FloatArray:
        return self.curve._fpr(power)

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self.curve._delta(epsilon, direction)

    @property
    def auc(self) -> float:
        return self.curve.auc

    def log_density(self, x: FloatArray) -> FloatArray:
        """Raise TypeError: a law of atoms has no density."""
        why = "the law of its log-likelihood ratio consists of atoms"
        unsupported("density", "for this curve", why, "to_arrays() lists them", error=TypeError)


class HalvesLaw(RatioLaw):
    """The law of two halves with enumerated atoms; density and large AUC use the inversion."""

    method = "meet in the middle"

    def __init__(self, halves: Halves, moments: RatioMoments, faint: tuple[float, float]):
        moments.all_outcomes()  # what the inversion needs too: no digit depends on who comes first
        self.halves, self.moments, self.lost = halves, moments, moments.lost
        self.missing = halves.missing[0] + faint[0], halves.missing[1] + faint[1]
        # 1 - lost, accurate where small.
        self._kept = float(np.exp(min(moments.local(0.0)[0], 0.0)))

    @cached_property
    def contours(self) -> ContourLaw:
        """The inversion; with a small number of columns its recurrences take seconds to find."""
        return ContourLaw(self.moments, find_recurrences(self.moments), (-np.inf, np.inf))

    @property
    def body_error(self) -> float:
        """Rounding error."""
        return 256.0 * _EPS

    def log_tails(self, x: FloatArray, world: int) -> tuple[FloatArray, FloatArray]:
        lower, upper = self.halves.tails(np.asarray(x, np.float64), world)
        with np.errstate(divide="ignore"):
            return np.log(lower + (self.lost if world == 0 else 0.0)), np.log(upper)

    @cached_property
    def _table(self) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray]]]:
        large, small = self.halves.large.ratio, self.halves.small.ratio
        _, mean, spread = self.moments.local(0.5)
        points = _TABLE if small.size <= MOST_SMALL else _COARSE
        x = mean + spread * np.linspace(-12.0, 12.0, points)
        # Beyond the extreme atoms, whatever the rounding of their sum.
        low, high = (
            large[end] + small[end] + sign * 4.0 * _EPS * (abs(large[end]) + abs(small[end]))
            for end, sign in ((0, -1.0), (-1, 1.0))
        )
        x = np.concatenate([[low], x, [high]])
        x = np.unique(np.clip(x, x[0], x[-1]))
        return x, [self.halves.tails(x, world) for world in (0, 1)]

    def _threshold(self, p: FloatArray, world: int) -> FloatArray:
        """The x with P(l > x) = p in the world, by regula falsi on the log of the smaller tail.

        The search stops when a step along the tangent of the curve is accurate: ratios between x
        and the quantile differ by at most the width of the bracket.  At an atom, x is on the side
        on which the smaller tail is at most its target.
        """
        grid, tables = self._table
        lower, upper = tables[world]
        shape, p = p.shape, p.ravel()
        right = np.clip(np.searchsorted(-upper, -p, side="left"), 1, grid.size - 1)
        ends = [grid[right - 1], grid[right]]
        small = p <= 0.5 * (1.0 if world else self._kept)
        target = np.where(small, p, 1.0 - p if world else self._lower_mass(p))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_target = np.log(target)
            sizes = [
                np.log(np.where(small, upper[k], lower[k])) - log_target for k in (right - 1, right)
            ]
        x, converged = np.where(small, ends[1], ends[0]), np.zeros(p.shape, bool)
        before = np.zeros(p.size, np.intp)  # the end that moved last: 1 or 2
        at = np.arange(p.size)  # indices not yet converged
        for step in range(_STEPS):
            low, high, f_low, f_high = ends[0][at], ends[1][at], sizes[0][at], sizes[1][at]
            with np.errstate(invalid="ignore", divide="ignore"):
                share = f_low / (f_low - f_high)
            halve = step % 4 == 3 or step >= _STEPS // 3
            share = np.where((share > 0.0) & (share < 1.0) & (not halve), share, 0.5)
            x[at] = low + share * (high - low)
            below, above = self.halves.tails(x[at], world)
            tail = np.where(small[at], above, below)
            with np.errstate(divide="ignore", invalid="ignore"):
                f = np.log(tail) - log_target[at]
            short = (tail > target[at]) == small[at]  # the quantile is above x
            # Illinois method: halve the value at an end that stays twice.
            again = before[at] == np.where(short, 1, 2)
            before[at] = np.where(short, 1, 2)
            weight = np.where(again, 0.5, 1.0)
            for end, moves in ((0, short), (1, ~short)):
                ends[end][at] = np.where(moves, x[at], ends[end][at])
                sizes[end][at] = np.where(moves, f, weight * sizes[end][at])
            width = ends[1][at] - ends[0][at]
            off = np.abs(tail - target[at]) * np.minimum(width, 1.0)
            converged[at] = off <= _SECOND_ORDER * target[at]
            at = at[~(converged[at] | (width <= 4.0 * _EPS * np.abs(ends[1][at])))]
            if not at.size:
                break
        return np.where(converged, x, np.where(small, ends[1], ends[0])).reshape(shape)

    def _lower_mass(self, fpr: FloatArray) -> FloatArray:
        """Mass of the finite part *out* minus fpr, from the more accurate of lost and kept."""
        mass = self._kept - fpr if self.lost > 0.5 else (1.0 - fpr) - self.lost
        return np.maximum(mass, 0.0)

    def at_fpr(self, fpr: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Threshold, power and fnr; between atoms the curve is straight with slope e^x."""
        x = self._threshold(fpr, 0)
        out, inside = self.halves.tails(x, 0), self.halves.tails(x, 1)
        with np.errstate(over="ignore"):
            drawn = np.exp(x) * beyond(fpr, self._lower_mass(fpr), out)
        certain = fpr >= self._kept
        power = np.where(fpr > 0.0, np.where(certain, 1.0, inside[1] + drawn), 0.0)
        fnr = np.where(fpr > 0.0, np.where(certain, 0.0, inside[0] - drawn), 1.0)
        # Below the mass of the last atom the difference is only rounding.
        most = np.minimum(fpr * np.exp(self._table[0][-1]), 1.0)
        return x, np.clip(power, 0.0, most), np.clip(fnr, 0.0, 1.0)

    def at_power(self, power: FloatArray) -> FloatArray:
        x = self._threshold(power, 1)
        out, inside = self.halves.tails(x, 0), self.halves.tails(x, 1)
        gap = beyond(power, 1.0 - power, inside)
        least = power * np.exp(-self._table[0][-1])
        fpr = np.clip(out[1] + np.exp(-x) * gap, least, 1.0)
        return np.where(power > 0.0, np.where(power < 1.0, fpr, self._kept), 0.0)

    def delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        side, sign = (1, 1.0) if direction == "in" else (0, -1.0)
        gap = np.zeros(epsilon.shape)
        near, far = epsilon <= _SMALL_EPSILON, (epsilon > _SMALL_EPSILON) & (epsilon <= 700.0)
        x = epsilon[near]
        scale = 1.0 if side else -np.exp(x)
        gap[near] = scale * self.halves.excess(sign * x, side)
        x = epsilon[far]
        first, second = (self.halves.tails(sign * x, world)[side] for world in (side, 1 - side))
        gap[far] = first - np.exp(x) * second
        return np.maximum(gap, 0.0) + (0.0 if side else self.lost)

    @cached_property
    def auc(self) -> float:
        """AUC of the enumerated atoms if their number allows, otherwise of the inversion."""
        large, small = self.halves.large, self.halves.small
        if large.size * small.size <= MOST_ATOMS:
            return AtomLaw(large.times(small), self.lost).auc
        return self.contours.auc

    def log_density(self, x: FloatArray) -> FloatArray:
        return self.contours.log_density(x)
