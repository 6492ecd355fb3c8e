"""The log likelihood ratios of Laplace noise, also of a sample of the rows."""

from __future__ import annotations

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.losses import (
    WIDEST,
    Cuts,
    Local,
    Loss,
    Points,
    cuts_below,
    local_of,
    quadrature,
    sampled,
)
from mialeak._numerics.mean_waves import (
    DEEP,
    ComplexArray,
    log_of_waves,
    summed,
    tilted,
    waves_less_one,
)

__all__ = ["LaplaceLoss", "SampledLoss"]

#: Largest phase, on the scale of the tilted law, of waves that are summed up by a quadrature.
_SLOW = 1.0
_RULE = np.polynomial.legendre.leggauss(20)


class LaplaceLoss(Loss):
    """The ratio of two Laplace laws of scale 1 at a distance of epsilon.

    Half of the mass *out* is at -epsilon, and e^-epsilon / 2 at epsilon; in between the density of
    l is ``e^(-(l + epsilon)/2) / 4``.  So M(1/2 + z) is in proportion to ``2 cosh(z epsilon) +
    sinh(z epsilon) / z``.  Laws of several releases are one table, whose ratios are added.
    """

    falls = False

    def __init__(self, epsilon: float, times: float = 1.0):
        self.epsilon, self.support = epsilon, (-epsilon, epsilon)
        self.atoms = np.array([-epsilon, epsilon])
        self._epsilons, self._times = np.array([epsilon]), np.array([times])

    @classmethod
    def together(cls, parts: list[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
        if len(parts) < 2:
            return parts
        table = cls(0.0)
        laws = [(part.epsilon, m) for part, m in parts if isinstance(part, LaplaceLoss)]
        table._epsilons, table._times = np.array(laws, np.float64).T
        return [(table, 1)]

    def local(self, theta: float) -> Local:
        log_mass, mean, moved, ratio = self._quadrature(theta)
        spread = np.sum(moved * (ratio - mean[:, None]) ** 2, axis=1)
        return summed(self._times, log_mass, mean, spread)

    def log_wave(self, theta: float, t: FloatArray) -> ComplexArray:
        _, mean, moved, ratio = self._quadrature(theta)
        fall, turn = abs(theta - 0.5), t[:, None] * np.copysign(1.0, theta - 0.5)
        wave = self._scaled(fall, turn) / self._scaled(fall, np.zeros(()))
        wave *= np.exp(-1j * np.multiply.outer(t, mean))
        parts = np.array([wave.real - 1.0, wave.imag])
        # On the scale of the tilted laws; relatively accurate, as the sum of waves less one.
        scales = np.minimum(self._epsilons, 1.0 / max(fall, 1e-300))
        slow = np.abs(t) * scales.min() < _SLOW
        if slow.any():
            near = np.multiply.outer(np.abs(t[slow]), scales) < _SLOW
            sums = waves_less_one(moved, ratio - mean[:, None], t[slow])
            parts[:, slow] = np.where(near, sums, parts[:, slow])
        return np.asarray(log_of_waves(*parts) @ self._times)

    def ceiling(self, theta: float, t: float) -> float:
        fall = abs(theta - 0.5)
        least = self._scaled(fall, np.zeros(())).real
        most = (1.0 + np.exp(-2.0 * fall * self._epsilons)) * (1.0 + 0.5 / np.hypot(fall, t))
        return float(np.exp(self._times @ np.log(np.minimum(most / least, 1.0))))

    def _scaled(self, fall: float, t: FloatArray) -> ComplexArray:
        """``(2 cosh(z epsilon) + sinh(z epsilon) / z) e^(-fall epsilon)`` at z = fall + it."""
        twice = 2.0 * fall * self._epsilons
        turned = np.exp(1j * t * self._epsilons)
        back = np.exp(-twice) * turned.conj()
        z = fall + 1j * t
        with np.errstate(invalid="ignore"):
            # e^x - e^-x of a small x by its parts: no cancellation.
            odd = 1j * (1.0 + np.exp(-twice)) * turned.imag - np.expm1(-twice) * turned.real
            even = np.where(z == 0.0, self._epsilons, odd / (2.0 * z))
        return np.asarray(turned + back + even)

    def _quadrature(self, theta: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """K and K' of each release, and the weights and ratios of the tilted laws."""
        # The weights fall as e^((theta - 1/2) l) from one end: pieces of two such lengths.
        fall = theta - 0.5
        widths = 2.0 * self._epsilons
        if fall:
            widths = np.minimum(widths, DEEP / abs(fall))
        pieces = int(np.ceil(max(float(widths.max()) * abs(fall) / 2.0, 1.0)))
        nodes, weights = _RULE
        unit = np.add.outer(np.arange(pieces), 0.5 * (nodes + 1.0)).ravel() / pieces
        place = np.multiply.outer(widths, unit)
        ends = self._epsilons[:, None]
        ratio = ends - place if fall > 0.0 else place - ends
        share = np.multiply.outer(widths, np.tile(0.5 * weights, pieces) / pieces)
        log_p = np.log(0.25 * share) - 0.5 * (ratio + ends)
        ratio = np.hstack([ratio, -ends, ends])
        log_p = np.hstack([log_p, np.full(ends.shape, np.log(0.5)), np.log(0.5) - ends])
        log_mass, mean, moved = tilted(log_p, ratio, theta, np.zeros(ends.size))
        return log_mass, mean, moved, ratio

    def points(self, theta: float, cuts: Cuts) -> Points:
        return self.within(theta, abs(theta), cuts)

    def within(self, theta: float, fastest: float, cuts: Cuts) -> Points:
        """Points for weights that change at least as e^(theta l), and at most as e^(fastest l)."""
        epsilon, fall = self.epsilon, theta - 0.5
        reach = DEEP / abs(fall) if fall else np.inf
        low = max(-epsilon, epsilon - reach) if fall > 0.0 else -epsilon
        high = min(epsilon, -epsilon + reach) if fall < 0.0 else epsilon
        breaks = np.concatenate([[low], cuts(low, high), [high]])
        ratio, weight = quadrature(breaks, WIDEST / max(1.0, fastest))
        log_p = np.log(0.25 * weight) - 0.5 * (ratio + epsilon)
        ends = np.log(0.5) - np.array([0.0, epsilon])
        return np.append(log_p, ends), np.append(ratio, self.atoms)


class SampledLoss(Loss):
    """The ratio of a mixture, a share `rate` of the law *in* of another release, to its *out*."""

    inverts = False

    def __init__(self, base: LaplaceLoss, rate: float):
        self.base, self.rate = base, rate
        self.lost = base.lost[0], rate * base.lost[1]
        low, high = (float(sampled(np.array(end), rate)) for end in base.support)
        self.support = low, high
        self.atoms = sampled(base.atoms, rate)
        self._known: dict[float, Local] = {}

    def local(self, theta: float) -> Local:
        return local_of(self, theta, self._known)

    def points(self, theta: float, cuts: Cuts) -> Points:
        # The slope of the sampled ratio grows with the ratio of the whole release.
        growth = self.rate * np.exp(np.array(self.base.support))
        least, most = (growth / (1.0 - self.rate + growth)).tolist()
        below = cuts_below(cuts, self.rate)
        log_p, ratio = self.base.within(theta * least, abs(theta) * most, below)
        return log_p, sampled(ratio, self.rate)
