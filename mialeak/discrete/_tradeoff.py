"""The whole trade-off of the optimal attack on discrete data, exact or enclosed.

An outcome is a pair (k, j): the target is atom k and the histogram shows it j times.  Out, its
probability is p_k b(j; n, p_k); in, that times the likelihood ratio j/(n p_k).  The trade-off of
the two laws of (k, j) is the curve, since nothing else in the histogram bears on the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._numerics.corners import corners_of_atoms
from mialeak._results import Bounds, Kind
from mialeak.discrete._series import Window
from mialeak.special import binom_logpmf, binom_sf
from mialeak.tradeoff import PiecewiseTradeOff, TradeOff

__all__ = ["EnclosedTradeOff", "histogram_tradeoff"]

#: Outcomes that become corners of an exact curve, at most: half a second, 0.5 GB.
_MOST_CORNERS = 2**22

#: Up to so many outcomes each is a corner.  Of more, the smallest and the largest counts of each
#: atom are merged, whose probability is at most e^-60 on either side.
_ALL_CORNERS = 2**17
_DROP = 60.0

#: Likelihood ratios closer than this, relatively, are one.
_TIE = 2.0**-49

#: Likelihood ratios of atoms next to impossible stop here.
_LARGEST = 1e300

#: Outcomes gone through at a time: their arrays stay in the cache.
_CHUNK = 2**15

#: Thresholds of an enclosed curve.  Of an atom with more than `_MOST_LISTED` outcomes the tails
#: at the thresholds are computed in place of the outcomes; with `_TAILS` of them, a tenth of a
#: second, many such atoms leave time for fewer thresholds.
_MOST_THRESHOLDS = 2**16
_FEWEST_THRESHOLDS = 2**10
_MOST_LISTED = 2**17
_TAILS = 2**20

#: Atoms taken one by one from a countable law, at most, and the mass outside that is let go.
_MOST_ATOMS = 2**18
_LITTLE_MASS = 1e-15

#: What rounding may do to the power of either curve.
_POWER_ROUNDING = 1e-12


# ---- a trade-off known to lie between two curves ----


@dataclass(frozen=True, repr=False, eq=False)
class EnclosedTradeOff(TradeOff):
    """A trade-off between two piecewise linear curves: none beats `upper`, one reaches `lower`.

    What it answers is the answer of `upper`: power, advantage, delta and epsilon are never below
    the truth, and the power is above it by at most `error`.

    Attributes
    ----------
    upper, lower : PiecewiseTradeOff
        The curve lies between them.
    error : float
        Largest difference of their powers at one false-positive rate, and 1e-12 for rounding.
    kind : str
        "bound".

    Examples
    --------
    >>> from scipy import stats
    >>> from mialeak import discrete_tradeoff
    >>> curve = discrete_tradeoff(stats.zipf(3), 50)
    >>> bounds = curve.enclosure(0.1)
    >>> bool(bounds.lower <= bounds.upper <= bounds.lower + curve.error)
    True
    >>> f"{curve.power(0.1):.6f}"
    '0.155268'
    """

    upper: PiecewiseTradeOff
    lower: PiecewiseTradeOff
    error: float = field(init=False)
    kind: Kind = field(default="bound", init=False)

    def __post_init__(self) -> None:
        # Piecewise linear differences are largest at a vertex.
        fpr = np.concatenate([self.upper.vertices.fpr, self.lower.vertices.fpr])
        gap = self.upper._power(fpr) - self.lower._power(fpr)
        object.__setattr__(self, "error", float(gap.max()) + _POWER_ROUNDING)

    def enclosure(self, fpr: npt.ArrayLike) -> Bounds:
        """Bounds of the power at these false-positive rates.

        Parameters
        ----------
        fpr : array_like
            P(guess "in" | out), in [0, 1].

        Returns
        -------
        Bounds
        """
        upper = self.upper.power(fpr)
        lower = np.maximum(self.lower.power(fpr) - 0.5 * _POWER_ROUNDING, fpr)
        return Bounds(np.minimum(lower, upper), upper)

    @property
    def advantage(self) -> float:
        """The largest power - fpr of `upper`."""
        return self.upper.advantage

    @property
    def auc(self) -> float:
        """Area under `upper`."""
        return self.upper.auc

    def _sampled(self, rate: Any, symmetric: bool) -> TradeOff:
        return self.upper.subsample(rate, symmetric=symmetric)

    def compose(self, other: TradeOff) -> TradeOff:
        """The upper curve of this release and an independent second one together.

        Parameters
        ----------
        other : PiecewiseTradeOff or EnclosedTradeOff

        Returns
        -------
        PiecewiseTradeOff
            Of kind "bound".

        Raises
        ------
        TypeError
            As :meth:`PiecewiseTradeOff.compose`.
        """
        return self.upper.compose(other.upper if isinstance(other, EnclosedTradeOff) else other)

    def _composable(self) -> TradeOff:
        return self.upper

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "upper": self.upper.to_dict(),
            "lower": self.lower.to_dict(),
            "error": self.error,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(error={self.error:.3g}, advantage={self.advantage:.6g}, "
            f"kind={self.kind!r})"
        )

    def _power(self, fpr: FloatArray) -> FloatArray:
        return self.upper._power(fpr)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return self.upper._fnr(fpr)

    def _fpr(self, power: FloatArray) -> FloatArray:
        return self.upper._fpr(power)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self.upper._delta(epsilon, direction)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return self.upper._epsilon(delta, direction)


# ---- the curve of counts ----


class Outcomes(NamedTuple):
    """Pairs (k, j), or groups of them: probabilities in the two worlds."""

    p_out: FloatArray
    p_in: FloatArray


#: More than all counts that are omitted, as if each gave the target away or cleared it.
_OMITTED = Outcomes(
    2 * math.exp(-_DROP) * np.array([1, 0]), 2 * math.exp(-_DROP) * np.array([0, 1])
)


class Atoms(NamedTuple):
    """Distinct probabilities, the mass of all atoms that have each, and the counts to look at."""

    p: FloatArray
    mass: FloatArray
    least: FloatArray
    most: FloatArray


def histogram_tradeoff(window: Window, size: float) -> PiecewiseTradeOff | EnclosedTradeOff:
    """The curve of the optimal attack on the counts of `size` independent rows."""
    probabilities, mass, edge = _head(window)
    beyond = _tail_outcomes(mass, edge, size) if mass > _LITTLE_MASS else None
    atoms = _distinct(probabilities, size)
    outcomes = atoms.most - atoms.least + 1
    if float(outcomes.sum()) <= _MOST_CORNERS:
        p_out, p_in, log_ratio = _grouped(atoms, size)
        if beyond is None:
            if mass > 0.0:  # atoms outside, as rare as any: at best they give the target away
                p_out, p_in = np.append(p_out, [0.0, mass]), np.append(p_in, [mass, 0.0])
                log_ratio = np.append(log_ratio, [np.inf, -np.inf])
            return PiecewiseTradeOff._of(corners_of_atoms(p_out, p_in, log_ratio), "exact")
        lower = upper = Outcomes(p_out, p_in)
    else:
        wide = int(np.count_nonzero(outcomes > _MOST_LISTED))
        count = min(_MOST_THRESHOLDS, max(_TAILS // max(wide, 1), _FEWEST_THRESHOLDS))
        thresholds = _thresholds(atoms, size, count)
        lower = _binned(atoms, size, thresholds)
        upper = _spread(lower, thresholds)
    more, less = ((beyond[0],), (beyond[1],)) if beyond is not None else ((), ())
    return EnclosedTradeOff(_curve(upper, _OMITTED, *more), _curve(lower, *less))


def _head(window: Window) -> tuple[FloatArray, float, float]:
    """The atoms to take one by one, the mass outside and the largest probability there."""
    blocks: list[FloatArray] = []
    while True:
        blocks += [block for block, _ in window.grow()]
        mass = math.fsum(window.outside()) / 2
        if mass <= _LITTLE_MASS or window.size >= _MOST_ATOMS or window.exhausted:
            if not window.complete:
                mass = max(mass, math.ulp(0.0))
            return np.concatenate(blocks), mass, window.edge()


def _curve(*parts: Outcomes) -> PiecewiseTradeOff:
    p_out, p_in = (np.concatenate(each) for each in zip(*parts, strict=True))
    return PiecewiseTradeOff.from_laws(p_out, p_in, kind="bound")


def _tail_outcomes(mass: float, edge: float, n: float) -> tuple[Outcomes, Outcomes]:
    """What atoms outside the window do: upper and lower curve.

    At best every appearance gives the target away.  At worst only this is seen: whether the target
    appears at all, which out happens with probability at most n edge.
    """
    seen = mass * min(n * edge, 1.0)
    upper = Outcomes(np.array([0.0, mass]), np.array([mass, 0.0]))
    return upper, Outcomes(np.array([seen, mass - seen]), np.array([mass, 0.0]))


def _distinct(p: FloatArray, n: float) -> Atoms:
    """Atoms of equal probability as one, each with the range of counts that are looked at."""
    p, multiplicity = np.unique(p[p > 0], return_counts=True)
    if p.size * (n + 1) <= _ALL_CORNERS:
        least, most = np.where(p < 1, 0.0, n), np.full_like(p, n)
    else:
        low, high = _poisson_range(n * p)
        other_low, other_high = _poisson_range(n * (1 - p))
        least = np.maximum(low, n - other_high)
        most = np.minimum(np.minimum(high, n - other_low) + 1, n)
    return Atoms(p, p * multiplicity, least, most)


def _poisson_range(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Whole numbers beyond which a binomial count of this mean has probability e^-_DROP at most.

    By Chernoff's bound P(B >= x) <= exp(-(x log(x/mean) - x + mean)) for x above the mean, likewise
    below.
    """
    above = mean + _DROP / 3 + np.sqrt((_DROP / 3) ** 2 + 2 * _DROP * mean)
    positive = mean > 0
    for _ in range(6):  # Newton's method from the far side of a convex function
        log = np.log(above, where=positive, out=np.zeros_like(mean))
        log -= np.log(mean, where=positive, out=np.zeros_like(mean))
        value = above * log - above + mean - _DROP
        above -= np.divide(value, log, where=positive, out=above.copy())
    below = np.floor(np.maximum(mean - np.sqrt(2 * _DROP * mean), 0.0))
    return below, np.where(positive, np.floor(above), 0.0)


def _chunks(atoms: Atoms, n: float) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Likelihood ratios of all outcomes and their probabilities out, in chunks."""
    counts = (atoms.most - atoms.least + 1).astype(np.int64)
    ends = np.cumsum(counts)
    first = 0
    while first < counts.size:
        start = ends[first] - counts[first]
        last = max(int(np.searchsorted(ends, start + _CHUNK, side="right")), first + 1)
        chunk = slice(first, last)
        least = atoms.least[chunk] - (ends[chunk] - counts[chunk] - start)
        parts = atoms.p[chunk], atoms.mass[chunk], least
        p, mass, j = (np.repeat(part, counts[chunk]) for part in parts)
        j += np.arange(j.size)
        with np.errstate(under="ignore", over="ignore"):
            p_out = binom_logpmf(j, n, p)
            np.exp(p_out, out=p_out)
            p_out *= mass
            p *= n
            ratio = np.divide(j, p, out=j)
        np.minimum(ratio, _LARGEST, out=ratio)
        yield ratio, p_out
        first = last


def _grouped(atoms: Atoms, n: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probabilities and log ratios of all outcomes, those of one likelihood ratio put together.

    The ratios descend.  Outcomes without probability are left out, save for the largest and
    the smallest ratio: these have one that no float64 is as small as, and decide which epsilon
    holds where delta is 0.
    """
    chunks = [*_chunks(atoms, n), *_tails(atoms, n)]
    ratio, p_out = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    order = np.argsort(ratio, kind="stable")[::-1]  # uses that those of an atom are sorted
    ratio, p_out = ratio.take(order), p_out.take(order)
    none = ratio.size - np.count_nonzero(ratio)  # outcomes without the target, one for each atom
    if none > 1:
        ratio, p_out = ratio[: 1 - none], np.append(p_out[:-none], p_out[-none:].sum())
    p_in = p_out * ratio
    starts = _ties(ratio)
    if starts.size < ratio.size:
        p_out, p_in = np.add.reduceat(p_out, starts), np.add.reduceat(p_in, starts)
        ratio = ratio[starts]
    kept = (p_out > 0.0) | (p_in > 0.0)
    kept[[0, -1]] = True
    if not kept.all():
        p_out, p_in, ratio = p_out[kept], p_in[kept], ratio[kept]
    with np.errstate(divide="ignore"):
        return p_out, p_in, np.log(ratio)


def _ties(ratio: FloatArray) -> npt.NDArray[np.int64]:
    """Where each group of equal ones among descending ratios starts.

    Neighbours that are close may chain ratios that are far apart: such a chain is cut into pieces.
    """
    new = np.append(True, ratio[:-1] - ratio[1:] > _TIE * ratio[:-1])
    if new.all():
        return np.arange(ratio.size)
    close, starts = np.flatnonzero(~new), np.flatnonzero(new)
    first = ratio[starts[np.searchsorted(starts, close) - 1]]
    with np.errstate(invalid="ignore"):  # 0/0, of ratios that are all 0
        piece = np.floor((first - ratio[close]) / (2 * _TIE * first))
    before = np.append(0.0, piece[:-1])
    before[new[close - 1]] = 0.0
    new[close] = piece > before
    return np.flatnonzero(new)


def _tails(atoms: Atoms, n: float) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The counts beyond the ranges, spread to the two ends of where their likelihood ratios lie."""
    p, mass, least, _ = (part[(atoms.least > 0) & (atoms.p < 1)] for part in atoms)
    others = n - least
    p_out, p_in = mass * binom_sf(others, n, 1 - p), mass * binom_sf(others, n - 1, 1 - p)
    yield from _ends(np.zeros_like(p), (least - 1) / (n * p), p_out, p_in)
    p, mass, _, most = (part[atoms.most < n] for part in atoms)
    p_out, p_in = mass * binom_sf(most, n, p), mass * binom_sf(most - 1, n - 1, p)
    yield from _ends((most + 1) / (n * p), np.minimum(1 / p, _LARGEST), p_out, p_in)


def _ends(
    low: FloatArray, high: FloatArray, p_out: FloatArray, p_in: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Outcomes of ratios between `low` and `high`, each moved to one of the two."""
    width = high - low
    upper = np.divide(p_in - low * p_out, width, where=width > 0, out=np.zeros_like(width))
    upper = np.clip(upper, 0.0, p_out)
    yield from ((low, p_out - upper), (high, upper))


def _thresholds(atoms: Atoms, n: float, count: int) -> FloatArray:
    """Likelihood ratios from 0 to the largest, dense around 1 as the commonest atom's are."""
    spread = math.sqrt(float(np.min((1 - atoms.p) / (n * atoms.p))))
    largest = float(np.max(atoms.most / (n * atoms.p)))
    spread = max(spread, 1 / n)
    low, high = math.asinh(-1 / spread), math.asinh(max(largest - 1, 0.0) / spread)
    step = (high - low) / (count - 2)
    inner = 1 + spread * np.sinh(step * np.arange(math.ceil(low / step), math.ceil(high / step)))
    inner = inner[(inner > 0) & (inner < largest)]
    return np.concatenate([[0.0], inner, [largest]])


def _binned(atoms: Atoms, n: float, thresholds: FloatArray) -> Outcomes:
    """Outcomes between each two thresholds put together; the first are those of ratio 0."""
    p_out, p_in = np.zeros(thresholds.size), np.zeros(thresholds.size)
    wide = atoms.most - atoms.least >= _MOST_LISTED
    listed = Atoms(*(part[~wide] for part in atoms))
    for ratio, part in _chunks(listed, n):
        where = np.searchsorted(thresholds, ratio)
        p_out += np.bincount(where, part, thresholds.size)
        p_in += np.bincount(where, part * ratio, thresholds.size)
    for p, mass in zip(atoms.p[wide], atoms.mass[wide], strict=True):
        cut = thresholds * (n * p)
        p_out -= mass * np.diff(binom_sf(cut, n, p), prepend=1.0)
        p_in -= mass * np.diff(binom_sf(cut - 1, n - 1, p), prepend=1.0)
    return Outcomes(np.maximum(p_out, 0.0), np.maximum(p_in, 0.0))


def _spread(merged: Outcomes, thresholds: FloatArray) -> Outcomes:
    """The outcomes that leak most of those that merge into these: all moved to the thresholds."""
    low, high = thresholds[:-1], thresholds[1:]
    p_out, p_in = merged.p_out[1:], merged.p_in[1:]
    upper = np.clip((p_in - low * p_out) / (high - low), 0.0, p_out)
    lower = p_out - upper
    lower_in = np.minimum(low * lower, p_in)
    return Outcomes(
        np.concatenate([merged.p_out[:1], lower, upper]),
        np.concatenate([merged.p_in[:1], lower_in, p_in - lower_in]),
    )
