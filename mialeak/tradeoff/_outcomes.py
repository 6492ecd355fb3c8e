"""Outcomes of discrete laws, and of pairs of independent ones.

An outcome has a probability in each world and their log ratio.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._numerics.corners import Corners

__all__ = [
    "MOST_PAIRS",
    "Outcomes",
    "all_pairs",
    "difference",
    "log_ratios",
    "on_one_lattice",
    "outcomes_of",
]

#: Log ratios that differ by less than this times the largest are equal.
_SAME = 4e-15
#: Largest number of pairs of segments that `compose` sorts: 2 s and 0.5 GB; and of those that it
#: adds up without sorting, where the log ratios of both are on one lattice: 0.3 s.
MOST_PAIRS, _LATTICE_PAIRS = 2**22, 2**30
#: Largest number of steps of a lattice that is not full, as a multiple of its outcomes.
_SPARSE = 16
#: Log ratios below this are more accurate than the difference of their two probabilities.
_SMALL_RATIO = 0.5

Outcomes = tuple[FloatArray, FloatArray, FloatArray]


def outcomes_of(corners: Corners) -> Outcomes:
    """``(p_out, p_in, log_ratio)`` of the outcomes of a curve."""
    p_out, p_in = corners.probabilities()
    certain, log_slope = corners.power[0], corners.log_slope
    if certain == 0.0:
        return p_out, p_in, log_slope
    # Outcomes that only the target makes possible.
    return np.append(0.0, p_out), np.append(certain, p_in), np.append(np.inf, log_slope)


def log_ratios(p_out: FloatArray, p_in: FloatArray) -> FloatArray:
    """``log(p_in / p_out)``, accurate also where the ratio is near 1."""
    apart = p_in - p_out
    near = np.abs(apart) < 0.5 * p_out
    with np.errstate(divide="ignore"):
        ratio = np.log(p_in) - np.log(p_out)
    return np.where(near, np.log1p(np.where(near, apart, 0.0) / np.where(near, p_out, 1.0)), ratio)


def difference(atoms: Outcomes) -> FloatArray:
    """``p_in - p_out`` of each outcome, without cancellation where the ratio is near 1."""
    p_out, p_in, log_ratio = atoms
    small = np.abs(log_ratio) < _SMALL_RATIO
    return np.where(small, p_out * np.expm1(np.where(small, log_ratio, 0.0)), p_in - p_out)


def all_pairs(ours: Outcomes, theirs: Outcomes) -> Outcomes:
    """All pairs of outcomes, those of equal ratio merged."""
    p_out = np.multiply.outer(ours[0], theirs[0]).ravel()
    p_in = np.multiply.outer(ours[1], theirs[1]).ravel()
    with np.errstate(invalid="ignore"):  # impossible in the one and certain in the other
        log_ratio = np.add.outer(ours[2], theirs[2]).ravel()
    ends = (log_ratio == np.nanmax(log_ratio)) | (log_ratio == np.nanmin(log_ratio))
    possible = (p_out > 0.0) | (p_in > 0.0) | ends
    return _merged(p_out[possible], p_in[possible], log_ratio[possible])


class _Lattice(NamedTuple):
    """Outcomes whose finite log ratios are ``least + step * (0, 1, 2, ...)``."""

    least: float
    step: float
    p_out: FloatArray
    p_in: FloatArray

    @classmethod
    def of(cls, atoms: Outcomes) -> _Lattice | None:
        finite = np.isfinite(atoms[2])
        p_out, p_in, ratio = (part[finite] for part in atoms)
        if ratio.size < 2:
            return None
        least, step = float(ratio.min()), float(-np.diff(ratio).max())
        if not step > 0.0:
            return None
        place = np.rint((ratio - least) / step)
        # The step is known to within rounding: the whole range gives it better.
        step = float(ratio.max() - least) / float(place.max())
        slack = _SAME * float(np.abs(ratio).max())
        if place.max() > _SPARSE * ratio.size or np.any(
            np.abs(least + step * place - ratio) > slack
        ):
            return None
        full = np.zeros((2, int(place.max()) + 1))
        full[0, place.astype(np.int64)], full[1, place.astype(np.int64)] = p_out, p_in
        return cls(least, step, *full)


def on_one_lattice(ours: Outcomes, theirs: Outcomes) -> Outcomes | None:
    """All pairs of outcomes if the finite ratios of both are on lattices of the same step."""
    if ours[0].size * theirs[0].size > _LATTICE_PAIRS:
        return None
    one, other = _Lattice.of(ours), _Lattice.of(theirs)
    if one is None or other is None or abs(one.step - other.step) > _SAME * one.step:
        return None
    p_out, p_in = _convolved(one.p_out, other.p_out), _convolved(one.p_in, other.p_in)
    places = np.arange(p_out.size, dtype=np.float64)
    ratio = np.asarray((one.least + other.least) + one.step * places, np.float64)
    possible = (p_out > 0.0) | (p_in > 0.0)
    possible[0] = possible[-1] = True  # the ends stay where their probabilities underflow
    p_out, p_in, ratio = (part[possible][::-1] for part in (p_out, p_in, ratio))
    for world, end in ((0, -np.inf), (1, np.inf)):
        one_lost, other_lost = (
            float(atoms[world][atoms[2] == end].sum()) for atoms in (ours, theirs)
        )
        lost = one_lost + other_lost - one_lost * other_lost
        if lost > 0.0:
            more = (0.0, lost, end) if world else (lost, 0.0, end)
            parts = zip((p_out, p_in, ratio), more, strict=True)
            p_out, p_in, ratio = (
                np.append(x, part) if world else np.append(part, x) for part, x in parts
            )
    return np.asarray(p_out), np.asarray(p_in), np.asarray(ratio)


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    """The convolution of two laws; their ends, which may underflow to 0 far out, take no time."""
    result = np.zeros(one.size + other.size - 1)
    if not (one.any() and other.any()):
        return result
    (start, end), (begin, stop) = (np.flatnonzero(p)[[0, -1]].tolist() for p in (one, other))
    inner = np.convolve(one[start : end + 1], other[begin : stop + 1])
    result[start + begin : end + stop + 1] = inner
    return result


def _merged(p_out: FloatArray, p_in: FloatArray, log_ratio: FloatArray) -> Outcomes:
    """The outcomes by descending ratio, where equal ratios are one outcome."""
    order = np.argsort(-log_ratio, kind="stable")
    p_out, p_in, log_ratio = p_out[order], p_in[order], log_ratio[order]
    scale = np.max(np.abs(log_ratio), where=np.isfinite(log_ratio), initial=0.0)
    with np.errstate(invalid="ignore"):
        gap = np.where(log_ratio[1:] == log_ratio[:-1], 0.0, log_ratio[:-1] - log_ratio[1:])
    starts = np.append(0, 1 + np.flatnonzero(gap > _SAME * scale))
    if starts.size == p_out.size:
        return p_out, p_in, log_ratio
    mass = np.add.reduceat(p_out + p_in, starts)
    first = np.repeat(log_ratio[starts], np.diff(np.append(starts, p_out.size)))
    with np.errstate(invalid="ignore"):
        away = np.where(np.isfinite(first), (p_out + p_in) * (log_ratio - first), 0.0)
    shift = np.add.reduceat(away, starts) / np.where(mass > 0.0, mass, 1.0)
    return np.add.reduceat(p_out, starts), np.add.reduceat(p_in, starts), log_ratio[starts] + shift
