"""The law of a sum of log likelihood ratios on a grid, tilted.

Each ratio l is split between the two neighbouring multiples of the step h, in the shares that leave
its probability in both worlds as it is: the law of the split ratios is a mean-preserving spread of
e^l under *out*, and its curve is nowhere below the true one.  The same holds for sums, which are
convolutions by the Fast Fourier Transform.  A second law splits each l between four neighbours with
Lagrange's weights: the errors of its sums of smooth functions are of the order h^4.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import fft as scipy_fft

from mialeak._arrays import FloatArray, unsupported
from mialeak._numerics.chernoff import least_over_exponents
from mialeak._numerics.lattice import lattice_steps
from mialeak._numerics.losses import ComposedLoss, Points

__all__ = [
    "Grid",
    "grid_of",
    "interpolation_weights",
    "sums_beyond",
]

IndexArray = npt.NDArray[np.int64]

#: Probabilities below e^-_DEEP of the tilted law are omitted, and counted.
_DEEP = 46.0
#: A point so near to a node, in steps, is moved to it: below the rounding of its ratio.
_ON_NODE = 1e-9
#: Lattices of atoms with at most so many different ratios are aligned with the grid.
_MOST_RATIOS = 64
#: Least share of the step that suits a range; the law takes 0.9 of the nodes, 0.02 are below it.
_FINEST = 0.94
#: Laws of at most so many nodes are convolved directly, and up to the second in pairs: several for
#: one Fourier transform of the size of the grid.
_SHORT, _LONG = 1 << 11, 1 << 15
#: Nodes of which it is computed what they pay; the later ones pay less than the bound there.
_PAYING = 1 << 14
#: Points that are split at once.
_AT_ONCE = 1 << 17
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

    @cached_property
    def paid_in(self) -> float:
        """What the nodes above a threshold pay: the root of a sum of squares, see below."""
        return _paid_beyond(self, 1.0 - self.theta, 1.0)

    @cached_property
    def paid_out(self) -> float:
        """The same of the nodes below a threshold."""
        return _paid_beyond(self, -self.theta, -1.0)


def grid_of(loss: ComposedLoss, theta: float, size: int) -> Grid:
    """The law of the sum on a grid of `size` nodes, tilted by theta."""
    log_mass, mean, spread = loss.local(theta)
    empty = np.zeros(0)
    if not spread > 0.0:
        return Grid(theta, mean, 0.0, log_mass, 1.0, 0, empty, empty, 0.0, 0.0, 0.0)
    ends, rates = _range(loss, theta, log_mass, mean, spread)
    step = _aligned(loss, (ends[1] - ends[0]) / (0.9 * size))
    first = int(np.floor(ends[0] / step)) - size // 50
    split = _split_all(loss, theta, step, rates)
    times = np.array([m for _, m in loss.parts], np.float64)
    releases = float(times.sum())
    variance, missing = float(times @ split.variance), float(times @ split.missing)
    # The smallest and the largest sum, in steps.
    reach = times @ split.first, times @ (split.first + split.count - 1)
    tails = times @ split.tails
    fft = 4.0 * _EPS * np.log2(size)
    spectra = np.ones((2, size // 2 + 1), np.complex128)
    doubt, size_of = np.zeros(size // 2 + 1), np.ones(size // 2 + 1)
    offset, noise = 0, 0.0
    for law in _fewer(split.laws(loss), fft):
        waves = scipy_fft.rfft(_centred(law.masses, law.first, size))
        modulus = np.abs(waves[0])
        doubt += law.times / np.maximum(modulus, 1e-300)
        size_of *= _raised(modulus, law.times)
        spectra *= _raised(waves, law.times)
        offset += law.times * law.centre
        noise += law.times * law.noise
    upper, value = np.roll(scipy_fft.irfft(spectra, size), offset - first, axis=1)
    window = np.array([mean - first * step, (first + size) * step - mean])
    outside = np.array([reach[0] < first, reach[1] >= first + size])
    missing += float(np.exp(np.minimum(tails - rates * window, 0.0))[outside].sum())
    missing += 2.0 * float(times @ split.moved)
    share = np.minimum(doubt * size_of, releases)
    # By Parseval's identity, for both halves of the spectrum.
    noise += fft * float(np.sqrt(2.0 * np.sum((share + size_of) ** 2) / size))
    upper = upper * (1.0 + 16.0 * _EPS * np.sqrt(releases))
    return Grid(theta, mean, spread, log_mass, step, first, upper, value, variance, noise, missing)


class _Law(NamedTuple):
    """Masses on consecutive nodes from `first` on, relative to `centre`, a number of times."""

    masses: FloatArray  # of the upper law and of the value, (2, nodes)
    first: int
    centre: int
    times: int
    noise: float = 0.0  # bound on the root of the sum of squares of the errors of the upper law


def _fewer(laws: list[_Law], fft: float) -> list[_Law]:
    """The same sum of fewer laws: the shorter ones are convolved in pairs.

    Short ones without a transform, whose error is relative.  With one the error of a product of two
    is, by Parseval's identity, at most `fft` times the norms of the two and of their product.
    """
    number = itertools.count()  # of laws of one length the first come first
    queue = [
        (law.masses.shape[1], next(number), law._replace(times=1))
        for law in laws
        if law.times * (law.masses.shape[1] - 1) < _LONG
        for _ in range(law.times)
    ]
    if len(queue) < 2:
        return laws
    kept = [law for law in laws if law.times * (law.masses.shape[1] - 1) >= _LONG]
    heapq.heapify(queue)
    while len(queue) > 1:
        _, _, one = heapq.heappop(queue)
        _, _, other = heapq.heappop(queue)
        masses, error = _product(one.masses, other.masses, fft)
        error += one.noise + other.noise
        first, centre = one.first + other.first, one.centre + other.centre
        both = _Law(masses, first, centre, 1, error)
        if masses.shape[1] > _LONG:
            kept.append(both)
        else:
            heapq.heappush(queue, (masses.shape[1], next(number), both))
    return kept + [law for _, _, law in queue]


def _product(one: FloatArray, other: FloatArray, fft: float) -> tuple[FloatArray, float]:
    """Two laws convolved, and a bound on the root of the sum of squares of the upper's errors."""
    count = one.shape[1] + other.shape[1] - 1
    if count <= _SHORT:
        return np.array([np.convolve(a, b) for a, b in zip(one, other, strict=True)]), 0.0
    size = scipy_fft.next_fast_len(count, real=True)
    waves = scipy_fft.rfft(one, size) * scipy_fft.rfft(other, size)
    both = scipy_fft.irfft(waves, size)[:, :count]
    norms = sum(float(np.sqrt(each[0] @ each[0])) for each in (one, other, both))
    return both, fft * norms


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

        def reach(rate: float, sign: float = sign) -> float:
            grown = loss.local(theta + sign * rate)[0] - log_mass
            return (grown + _DEEP) / rate - sign * mean

        least, rate = least_over_exponents(reach, spread)
        if np.isfinite(least):
            away[side], rates[side] = least, rate
    low, high = loss.support
    ends = np.array([max(mean - away[0], low), min(mean + away[1], high)])
    if not np.isfinite(ends).all():
        why = "no moment of float64 shows how far it reaches"
        unsupported("The grid", "of the ratio", why, error=ArithmeticError)
    return ends, rates


def _aligned(loss: ComposedLoss, step: float) -> float:
    """A step of about `step`, or up to twice that, of which the ratios of all atoms are multiples.

    It is not below `_FINEST` of `step`, with which a grid does not reach the ends of the law.
    """
    ratios = {0.0}
    for part, _ in loss.parts:
        ratios |= set(np.abs(part.atoms).tolist())
    if not 1 < len(ratios) <= _MOST_RATIOS:
        return step
    try:
        unit = lattice_steps(np.array(sorted(ratios)))[1]
    except ValueError:
        return step
    if unit < step:
        return step
    fine = float(unit / np.ceil(unit / step))
    return fine if fine >= _FINEST * step else float(unit / np.floor(unit / step))


@dataclass(frozen=True)
class _Splits:
    """Masses on consecutive nodes of many laws, one after the other, that sum to about 1 each."""

    first: IndexArray  # node of each law
    count: IndexArray
    masses: FloatArray  # of the upper law and of the value, (2, all nodes)
    mean: FloatArray
    variance: FloatArray
    missing: FloatArray
    moved: FloatArray  # largest distance of a point from the node it is moved to
    tails: FloatArray  # log moments of the upper law around its mean, (laws, 2)
    step: float

    def laws(self, loss: ComposedLoss) -> list[_Law]:
        centre = np.rint(self.mean / self.step).astype(np.int64)
        ends = np.cumsum(self.count)[:-1]
        pieces = np.split(self.masses, ends, axis=1)
        starts = zip((self.first - centre).tolist(), centre.tolist(), strict=True)
        both = zip(loss.parts, pieces, starts, strict=True)
        return [_Law(masses, *start, m) for (_, m), masses, start in both]


def _split_all(loss: ComposedLoss, theta: float, step: float, rates: FloatArray) -> _Splits:
    """The tilted laws of all parts, split between the nodes: some parts at once."""
    cuts = partial(_cuts, step)
    made: list[_Splits] = []
    points: list[Points] = []
    held = 0
    for place, (part, _) in enumerate(loss.parts):
        points.append(part.points(theta, cuts))
        held += points[-1][0].size
        if held > _AT_ONCE or place + 1 == len(loss.parts):
            made.append(_split(points, theta, step, rates))
            points, held = [], 0
    names = ("first", "count", "mean", "variance", "missing", "moved", "tails")
    joined = {name: np.concatenate([getattr(each, name) for each in made]) for name in names}
    masses = np.concatenate([each.masses for each in made], axis=1)
    return _Splits(masses=masses, step=step, **joined)


def _split(points: list[Points], theta: float, step: float, rates: FloatArray) -> _Splits:
    """Each law, tilted and of the sum 1, on nodes."""
    sizes = np.array([ratio.size for _, ratio in points])
    starts, law = np.cumsum(sizes) - sizes, np.repeat(np.arange(sizes.size), sizes)
    ratio = np.concatenate([each for _, each in points])
    log_weight = np.concatenate([log_p for log_p, _ in points]) + theta * ratio
    log_weight -= np.maximum.reduceat(log_weight, starts)[law]
    weight = np.exp(log_weight)
    total = np.add.reduceat(weight, starts)
    weight /= total[law]
    mean = np.add.reduceat(weight * ratio, starts)
    kept = log_weight >= -_DEEP
    missing = np.add.reduceat(np.where(kept, 0.0, weight), starts) + np.exp(-_DEEP)
    weight, place, law = weight[kept], ratio[kept] / step, law[kept]
    starts = np.searchsorted(law, np.arange(sizes.size))
    below = np.floor(place)
    share = place - below
    above = share > 1.0 - _ON_NODE
    below[above] += 1.0
    on_node = above | (share < _ON_NODE)
    moved = step * np.maximum.reduceat(np.where(on_node, np.abs(place - below), 0.0), starts)
    share = np.where(on_node, 0.0, share)
    variance = np.where(np.maximum.reduceat(share, starts) > 0.0, 0.25 * step * step, 0.0)
    cell = below.astype(np.int64)
    first = np.minimum.reduceat(cell, starts) - 1
    count = np.maximum.reduceat(cell, starts) - first + 4
    begin = np.cumsum(count) - count
    cell += (begin - first)[law]
    size = int(count.sum())
    up = np.expm1(share * step) / np.expm1(step)
    down = np.exp(share * step) * np.expm1((1.0 - share) * step) / np.expm1(step)
    lower_share = weight * down * np.exp(-theta * step * share)
    upper = np.asarray(np.bincount(cell, lower_share, size), np.float64)
    upper += np.bincount(cell + 1, weight * up * np.exp(theta * step * (1.0 - share)), size)
    value = np.zeros(size)
    for shift, part in enumerate(interpolation_weights(share)):
        value += np.bincount(cell - 1 + shift, weight * part, size)
    node = np.arange(size) - np.repeat(begin - first, count)
    away = node * step - np.repeat(mean, count)
    tails = [
        _log_moments(upper, sign * rate * away, begin, count)
        for sign, rate in zip((-1.0, 1.0), rates.tolist(), strict=True)
    ]
    masses = np.array([upper, value])
    ends = np.transpose(tails)
    return _Splits(first, count, masses, mean, variance, missing, moved, ends, step)


def _log_moments(
    masses: FloatArray, exponent: FloatArray, begin: IndexArray, count: IndexArray
) -> FloatArray:
    """Log of the mean of e^exponent in each law."""
    most = np.maximum.reduceat(exponent, begin)
    grown = np.add.reduceat(masses * np.exp(exponent - np.repeat(most, count)), begin)
    with np.errstate(divide="ignore"):  # no mass near that end
        return np.asarray(most + np.log(grown))


def interpolation_weights(u: FloatArray) -> FloatArray:
    """Weights of the values at -1, 0, 1, 2 for that at u."""
    more, less, far = u + 1.0, u - 1.0, u - 2.0
    both = more * u
    return np.stack(
        [-u * less * far / 6.0, more * less * far / 2.0, -both * far / 2.0, both * less / 6.0]
    )


def _cuts(step: float, low: float, high: float) -> FloatArray:
    """Multiples of the step in [low, high]."""
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0)


def _centred(masses: FloatArray, first: int, size: int) -> FloatArray:
    """The masses on a circle of `size` nodes, the first at `first`."""
    count = masses.shape[1]
    if count > size:
        why = f"one of its parts takes {count} nodes of a grid of {size}"
        unsupported("The grid", "of these curves", why, error=ArithmeticError)
    circle = np.zeros((2, size))
    start = first % size
    fits = min(count, size - start)
    circle[:, start : start + fits] = masses[:, :fits]
    circle[:, : count - fits] = masses[:, fits:]
    return circle


def sums_beyond(grid: Grid, masses: FloatArray, direction: str) -> FloatArray:
    """``sum over nodes y beyond x of masses * e^(-theta (y - x)) * |1 - e^..|`` at each node x.

    Two linear recurrences from the far end, whose terms are positive: "in" pays e^(y - x) - 1 for
    y > x, "out" 1 - e^(y - x) for y < x.
    """
    from scipy import signal

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


def _paid_beyond(grid: Grid, weight: float, sign: float) -> float:
    """Root of the sum of squares of what the nodes beyond a threshold pay, in units of the tilt."""
    y = grid.step * np.arange(1.0, min(grid.upper.size, _PAYING))
    paid = np.exp(weight * sign * y) * -np.expm1(-y)
    later = np.exp(weight * sign * y[-1]) if grid.upper.size > _PAYING else 0.0
    return float(np.sqrt(paid @ paid + later * later * grid.upper.size))
