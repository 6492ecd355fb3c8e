"""The law of a sum of log likelihood ratios on a grid, tilted.

Each ratio l is split between the two neighbouring multiples of the step h, in the shares that leave
its probability in both worlds as it is: the law of the split ratios is a mean-preserving spread of
e^l under *out*, and its curve is nowhere below the true one.  The same holds for sums, which are
convolutions by the Fast Fourier Transform.  A second law splits each l between four neighbours with
Lagrange's weights: the errors of its sums of smooth functions are of the order h^4.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import signal, special

from mialeak._arrays import FloatArray, unsupported
from mialeak._numerics.lattice import lattice_steps
from mialeak._numerics.losses import ComposedLoss

__all__ = [
    "EXPONENTS",
    "Grid",
    "grid_of",
    "interpolation_weights",
    "paid_beyond",
    "sums_beyond",
]

#: Probabilities below e^-_DEEP of the tilted law are omitted, and counted.
_DEEP = 46.0
#: A point so near to a node, in steps, is moved to it: below the rounding of its ratio.
_ON_NODE = 1e-9
#: Exponents, in units of one over the standard deviation, of Chernoff's bounds on the range; small
#: ones are for tails that are heavier than exponential ones.
EXPONENTS = np.geomspace(0.01, 200.0, 18)
#: Lattices of atoms with at most so many different ratios are aligned with the grid.
_MOST_RATIOS = 64
#: Laws with fewer nodes than this are convolved directly: several for one Fourier transform.
_SHORT = 1 << 11
#: Nodes of which it is computed what they pay; the later ones pay less than the bound there.
_PAYING = 1 << 14
_EPS = 2.0**-52


@dataclass(frozen=True)
class Grid:
    """The law of the sum, tilted by theta, on nodes ``step * (first, first + 1, ...)``."""

    theta: float
    mean: float
    spread: float
    log_mass: float  # of the tilt: the sum of K(theta)
    step: float
    first: int
    upper: FloatArray
    value: FloatArray
    variance: float  # v of the module
    noise: float  # bound on the root of the sum of squares of all rounding errors
    missing: float  # tilted probability outside the nodes, at most

    def place(self, x: float) -> int:
        """The node at or below x, with three neighbours on either side."""
        return int(np.clip(np.floor(x / self.step) - self.first, 3, self.upper.size - 4))

    def node(self, place: Any) -> Any:
        return (self.first + place) * self.step


def grid_of(loss: ComposedLoss, theta: float, size: int) -> Grid:
    """The law of the sum on a grid of `size` nodes, tilted by theta."""
    log_mass, mean, spread = loss.local(theta)
    empty = np.zeros(0)
    if not spread > 0.0:
        return Grid(theta, mean, 0.0, log_mass, 1.0, 0, empty, empty, 0.0, 0.0, 0.0)
    ends, rates = _range(loss, theta, log_mass, mean, spread)
    step = _aligned(loss, (ends[1] - ends[0]) / (0.9 * size))
    first = int(np.floor(ends[0] / step)) - size // 50
    variance = missing = moved = 0.0
    tails = np.zeros(2)
    releases, reach = 0, np.zeros(2)  # the smallest and the largest sum, in steps
    laws: list[_Law] = []
    for part, m in loss.parts:
        log_p, ratio = part.points(theta, partial(_cuts, step))
        log_mass_of, mean_of, _ = part.local(theta)
        split = _split(log_p + theta * ratio - log_mass_of, ratio, theta, step)
        centre = int(np.rint(mean_of / step))
        laws.append(_Law(split.masses, split.first - centre, centre, m))
        releases += m
        reach += m * np.array([split.first, split.first + split.masses[0].size - 1])
        missing += m * split.missing
        variance += m * split.variance
        nodes = (split.first + np.arange(split.masses[0].size)) * step
        shifted = nodes - mean_of
        moved += m * split.moved
        grown = np.multiply.outer([-rates[0], rates[1]], shifted)
        tails += m * special.logsumexp(grown, axis=1, b=split.masses[0])
    spectra = np.ones((2, size // 2 + 1), np.complex128)
    doubt, size_of = np.zeros(size // 2 + 1), np.ones(size // 2 + 1)
    offset = 0
    for law in _fewer(laws):
        pair = [_centred(masses, law.first, size) for masses in law.masses]
        waves = np.fft.rfft(np.array(pair))
        modulus = np.abs(waves[0])
        doubt += law.times / np.maximum(modulus, 1e-300)
        size_of *= _raised(modulus, law.times)
        spectra *= _raised(waves, law.times)
        offset += law.times * law.centre
    upper, value = np.roll(np.fft.irfft(spectra, size), offset - first, axis=1)
    window = np.array([mean - first * step, (first + size) * step - mean])
    outside = np.array([reach[0] < first, reach[1] >= first + size])
    missing += float(np.exp(np.minimum(tails - rates * window, 0.0))[outside].sum()) + 2.0 * moved
    fft = 4.0 * _EPS * np.log2(size)
    share = np.minimum(doubt * size_of, float(releases))
    # By Parseval's identity, for both halves of the spectrum.
    noise = fft * float(np.sqrt(2.0 * np.sum((share + size_of) ** 2) / size))
    upper = upper * (1.0 + 16.0 * _EPS * np.sqrt(releases))
    return Grid(theta, mean, spread, log_mass, step, first, upper, value, variance, noise, missing)


class _Law(NamedTuple):
    """Masses on consecutive nodes from `first` on, relative to `centre`, a number of times."""

    masses: tuple[FloatArray, FloatArray]
    first: int
    centre: int
    times: int


def _fewer(laws: list[_Law]) -> list[_Law]:
    """The same sum of fewer laws: short ones are convolved without a transform."""
    short = [law for law in laws if law.times * (law.masses[0].size - 1) < _SHORT]
    if len(short) < 2:
        return laws
    kept = [law for law in laws if law.times * (law.masses[0].size - 1) >= _SHORT]
    queue = [
        (law.masses[0].size, order, law._replace(times=1))
        for order, law in enumerate(short)
        for _ in range(law.times)
    ]
    heapq.heapify(queue)
    while len(queue) > 1:
        _, order, one = heapq.heappop(queue)
        _, _, other = heapq.heappop(queue)
        pairs = zip(one.masses, other.masses, strict=True)
        upper, value = (np.convolve(a, b) for a, b in pairs)
        both = _Law((upper, value), one.first + other.first, one.centre + other.centre, 1)
        if upper.size > _SHORT:
            kept.append(both)
        else:
            heapq.heappush(queue, (upper.size, order, both))
    return kept + [law for _, _, law in queue]


def _raised(values: Any, times: int) -> Any:
    """A power with a whole exponent, by squaring: powers of complex arrays are slow in NumPy."""
    result, square = None, values
    while True:
        if times & 1:
            result = square if result is None else result * square
        times >>= 1
        if not times:
            return result
        square = square * square


def _range(
    loss: ComposedLoss, theta: float, log_mass: float, mean: float, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Interval that holds all but e^-_DEEP of the tilted law, and the exponents that show it."""
    away, rates = np.full(2, np.inf), np.ones(2) / spread
    for side, sign in ((0, -1.0), (1, 1.0)):
        for rate in EXPONENTS / spread:
            try:
                grown = loss.local(theta + sign * rate)[0] - log_mass
            except ArithmeticError:
                break
            reach = (grown + _DEEP) / rate - sign * mean
            if reach < away[side]:
                away[side], rates[side] = reach, rate
    low, high = loss.support
    ends = np.array([max(mean - away[0], low), min(mean + away[1], high)])
    if not np.isfinite(ends).all():
        why = "no moment of float64 shows how far it reaches"
        unsupported("The grid", "of the ratio", why, error=ArithmeticError)
    return ends, rates


def _aligned(loss: ComposedLoss, step: float) -> float:
    """A step of at most about `step`, of which the ratios of all atoms are multiples."""
    ratios = {0.0}
    for part, _ in loss.parts:
        ratios |= set(np.abs(part.atoms).tolist())
    if not 1 < len(ratios) <= _MOST_RATIOS:
        return step
    try:
        unit = lattice_steps(np.array(sorted(ratios)))[1]
    except ValueError:
        return step
    return step if unit < step else unit / np.ceil(unit / step)


@dataclass(frozen=True)
class _Split:
    """Masses on consecutive nodes, of the upper law and of the value, that sum to about 1."""

    first: int
    masses: tuple[FloatArray, FloatArray]
    variance: float
    missing: float
    moved: float  # largest distance of a point from the node it is moved to


def _split(log_weight: FloatArray, ratio: FloatArray, theta: float, step: float) -> _Split:
    kept = log_weight >= log_weight.max() - _DEEP
    missing = float(np.exp(log_weight[~kept]).sum()) + float(np.exp(-_DEEP))
    weight, place = np.exp(log_weight[kept]), ratio[kept] / step
    below = np.floor(place)
    share = place - below
    above = share > 1.0 - _ON_NODE
    below[above] += 1.0
    on_node = above | (share < _ON_NODE)
    moved = step * float(np.max(np.abs(place - below), where=on_node, initial=0.0))
    share = np.where(on_node, 0.0, share)
    between = bool((share > 0.0).any())
    cell = below.astype(np.int64)
    first = int(cell.min()) - 1
    count, cell = int(cell.max()) - first + 4, cell - first
    up = np.expm1(share * step) / np.expm1(step)
    down = np.exp(share * step) * np.expm1((1.0 - share) * step) / np.expm1(step)
    lower_share = weight * down * np.exp(-theta * step * share)
    upper = np.asarray(np.bincount(cell, lower_share, count), np.float64)
    upper = upper + np.bincount(cell + 1, weight * up * np.exp(theta * step * (1.0 - share)), count)
    value = np.zeros(count)
    for shift, part in enumerate(interpolation_weights(share)):
        value += np.bincount(cell - 1 + shift, weight * part, count)
    return _Split(first, (upper, value), 0.25 * step * step if between else 0.0, missing, moved)


def interpolation_weights(u: FloatArray) -> FloatArray:
    """Weights of the values at -1, 0, 1, 2 for that at u."""
    return np.array(
        [
            -u * (u - 1.0) * (u - 2.0) / 6.0,
            (u + 1.0) * (u - 1.0) * (u - 2.0) / 2.0,
            -(u + 1.0) * u * (u - 2.0) / 2.0,
            (u + 1.0) * u * (u - 1.0) / 6.0,
        ]
    )


def _cuts(step: float, low: float, high: float) -> FloatArray:
    """Multiples of the step in [low, high]."""
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0)


def _centred(masses: FloatArray, first: int, size: int) -> FloatArray:
    """The masses on a circle of `size` nodes, the first at `first`."""
    if masses.size > size:
        why = f"one of its parts takes {masses.size} nodes of a grid of {size}"
        unsupported("The grid", "of these curves", why, error=ArithmeticError)
    circle = np.zeros(size)
    circle[: masses.size] = masses
    return np.roll(circle, first)


def sums_beyond(grid: Grid, masses: FloatArray, direction: str) -> FloatArray:
    """``sum over nodes y beyond x of masses * e^(-theta (y - x)) * |1 - e^..|`` at each node x.

    Two linear recurrences from the far end, whose terms are positive: "in" pays e^(y - x) - 1 for
    y > x, "out" 1 - e^(y - x) for y < x.
    """
    h, theta = grid.step, grid.theta
    if direction == "in":
        paid, lost, masses = np.exp((1.0 - theta) * h), np.exp(-theta * h), masses[::-1]
        more = lost * np.expm1(h)
    else:
        paid, lost = np.exp(theta * h), np.exp((theta - 1.0) * h)
        more = -paid * np.expm1(-h)
    plain = signal.lfilter([1.0], [1.0, -lost], masses)  # sum of lost^k, the node included
    beyond = signal.lfilter([0.0, more], [1.0, -paid], plain)
    return np.ascontiguousarray(beyond[::-1] if direction == "in" else beyond)


def paid_beyond(grid: Grid, weight: float, sign: float) -> float:
    """Root of the sum of squares of what the nodes beyond a threshold pay, in units of the tilt."""
    y = grid.step * np.arange(1.0, min(grid.upper.size, _PAYING))
    paid = np.exp(weight * sign * y) * -np.expm1(-y)
    later = np.exp(weight * sign * y[-1]) if grid.upper.size > _PAYING else 0.0
    return float(np.sqrt(paid @ paid + later * later * grid.upper.size))
