"""Measured trade-off curves, from the scores of an attack in the two worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_flag, as_scores, invalid
from mialeak._checks.audits.copies import refuse_copies
from mialeak._checks.audits.scores import name_of, refuse_quantities
from mialeak._numerics.corners import Corners, between
from mialeak._numerics.order import refuse_rates
from mialeak._results import Direction, Kind
from mialeak._warnings import warn
from mialeak.tradeoff._base import TradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = [
    "EmpiricalTradeOff",
    "Roc",
]

#: Largest number of passes of :func:`_upper_hull` over all points before it walks along the
#: remaining ones, and the least share of the points that a pass removes if another pass follows.
_PASSES, _WORTH_IT = 60, 0.02
#: So many scores of a world that are 0 and 1 only are flags, if those of the other are not.
_FLAGS = 10
#: Scores whose area is this many standard errors below one half point the other way.
_REVERSED = 6.0


class Roc(NamedTuple):
    """Points of a measured curve, for attacks that guess "in" for scores >= threshold."""

    fpr: FloatArray
    power: FloatArray
    threshold: FloatArray


@dataclass(frozen=True, init=False, repr=False, eq=False)
class EmpiricalTradeOff(TradeOff):
    """The measured trade-off of an attack, its receiver operating characteristic (ROC).

    Parameters
    ----------
    in_scores, out_scores : array_like
        Scores of the attack in the two worlds, larger meaning more likely *in*; of any shape, and
        they may be infinite.  A loss is smaller for members: pass its negative.  Scores of one
        world that are 0 and 1 only, beside others of the other, are refused: flags look so; and so
        are two arrays that both run from 0 to 1 in order, as the rates of a curve do.
    allow_reversed : bool
        Take scores that are larger *out*, by more than six standard errors of the area, as they
        are: their advantage is near 0.  Without it they are refused, since exchanged arguments,
        p-values and losses are such scores.

    Attributes
    ----------
    n_in, n_out : int
        Numbers of scores.
    kind : str
        "estimate".

    Raises
    ------
    ValueError
        If there are no scores in one of the worlds, NaN among them (with count and index), flags in
        place of scores, scores that are larger out, the scores of one world among those of the
        other, or Series that by their names are two quantities, or have two units.

    Notes
    -----
    `power`, `fnr`, `fpr` and `auc` are those of the plain curve: one point for each distinct score
    (:attr:`roc`), linear between points, which means that ties are broken at random.  `auc` is the
    Mann-Whitney statistic with ties counted half.  The plain curve need not be concave.
    :attr:`hull` is the least concave curve above it: the curve of attacks that randomise between
    two thresholds.  Its area is :attr:`hull_auc`.  `advantage`, `delta` and `epsilon` are the same
    for the plain curve and its hull.

    The results are statistics of the scores and claim nothing about the laws of the scores: the
    hull of a small number of scores lies well above the true curve, and epsilon is infinite at each
    delta below the share of the scores of one world that lie beyond all of the other, 1/n or more
    where there is one.  Lower bounds that hold are those of :func:`mialeak.auditing.audit`.

    **Accuracy.**  Points are ratios of counts, rounded once; ties are exact; the hull is computed
    in integers (up to 3e9 scores in either world).

    **Cost.**  O(n log n): 0.2 s for a million scores in each world; the hull takes the same time
    again, at its first use.

    Examples
    --------
    >>> from mialeak.tradeoff import EmpiricalTradeOff
    >>> measured = EmpiricalTradeOff(in_scores=[3, 2, 2, 1], out_scores=[2, 1, 1, 0])
    >>> measured
    EmpiricalTradeOff(n_in=4, n_out=4, advantage=0.5, auc=0.8125, hull_auc=0.8125, kind='estimate')
    >>> measured.roc.power
    array([0.  , 0.25, 0.75, 1.  , 1.  ])
    >>> measured.hull
    PiecewiseTradeOff(4 vertices, advantage=0.5, kind='estimate')
    """

    _is_one_attack = True

    n_in: int
    n_out: int
    _hits: npt.NDArray[np.int64] = field(repr=False)
    _false: npt.NDArray[np.int64] = field(repr=False)
    _threshold: FloatArray = field(repr=False)
    kind: Kind

    def __init__(self, in_scores: Any, out_scores: Any, *, allow_reversed: bool = False) -> None:
        allow_reversed = as_flag(allow_reversed, "allow_reversed")
        inside, outside = as_scores(in_scores, "in_scores"), as_scores(out_scores, "out_scores")
        _refuse_flags(inside, outside, "in_scores")
        _refuse_flags(outside, inside, "out_scores")
        refuse_rates(inside, outside)
        refuse_quantities([name_of(in_scores), name_of(out_scores)], [inside, outside])
        inside, outside = np.sort(inside, axis=None), np.sort(outside, axis=None)
        refuse_copies(inside, outside, are_draws=False)
        hits, false, threshold = _count_above(inside, outside)
        for part in (hits, false, threshold):
            part.setflags(write=False)
        values = (inside.size, outside.size, hits, false, threshold, "estimate")
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        if not allow_reversed:
            self._require_direction()

    def _require_direction(self) -> None:
        error = math.sqrt((1.0 / self.n_in + 1.0 / self.n_out) / 12.0)
        if self.auc < 0.5 - _REVERSED * error:
            rule = f"be the larger scores; the area of their curve is {self.auc:.3f}"
            remedy = (
                "Exchange the arguments if out_scores are those of members; pass minus a p-value, "
                "loss or distance; or pass allow_reversed=True"
            )
            invalid("in_scores", rule, remedy=remedy)

    @cached_property
    def roc(self) -> Roc:
        """``(fpr, power, threshold)`` of the plain curve, by ascending fpr."""
        return Roc(self._false / self.n_out, self._hits / self.n_in, self._threshold)

    @cached_property
    def hull(self) -> PiecewiseTradeOff:
        """The least concave curve above the plain one."""
        corner = _upper_hull(self._false, self._hits)
        false, hits = self._false[corner], self._hits[corner]
        if false.size > 1 and false[1] == 0:
            false, hits = false[1:], hits[1:]
        fpr, tnr = false / self.n_out, (self.n_out - false) / self.n_out
        power, fnr = hits / self.n_in, (self.n_in - hits) / self.n_in
        gap = (hits * self.n_out - false * self.n_in) / (self.n_in * self.n_out)
        with np.errstate(divide="ignore"):
            log_slope = np.log(np.diff(hits) / self.n_in) - np.log(np.diff(false) / self.n_out)
        return PiecewiseTradeOff._of(Corners(fpr, power, tnr, fnr, gap, log_slope), self.kind)

    def epsilon(self, delta: Any, *, direction: Direction = "both") -> float | FloatArray:
        """The least epsilon of the measured curve, with a warning where it is infinite.

        Parameters
        ----------
        delta : array_like
            In [0, 1].
        direction : {"both", "in", "out"}
            As for :meth:`delta`.

        Returns
        -------
        float or ndarray of the shape of delta
            A statistic of these scores, and no bound.

        Raises
        ------
        ValueError
            If delta is outside [0, 1], or direction another word.

        Warns
        -----
        UserWarning
            Where the epsilon is infinite: scores of one world lie beyond all of the other, as some
            do in nearly all samples of a finite epsilon.

        Examples
        --------
        >>> from mialeak.tradeoff import EmpiricalTradeOff
        >>> measured = EmpiricalTradeOff(in_scores=[3, 2, 2, 1], out_scores=[2, 1, 1, 0])
        >>> f"{measured.epsilon(0.25):.4f}"
        '0.6931'
        """
        result = self._least_epsilon(delta, direction)
        if np.isinf(result).any():
            warn(
                f"epsilon is infinite: of {self.n_in:,} scores in and {self.n_out:,} out, some lie "
                "beyond all of the other world. It is a statistic of these scores, and no bound on "
                "the epsilon of a procedure, which may be small. Lower bounds are those of "
                "mialeak.auditing.audit(in_scores, out_scores, delta=delta)",
            )
        return result

    @property
    def advantage(self) -> float:
        """The largest power - fpr, of the plain curve and of its hull."""
        gap = self._hits * self.n_out - self._false * self.n_in
        return float(gap.max() / (self.n_in * self.n_out))

    @property
    def auc(self) -> float:
        """Area under the plain curve: the Mann-Whitney statistic, ties counted half."""
        twice = np.diff(self._false) * (self._hits[1:] + self._hits[:-1])
        return int(twice.sum()) / (2 * self.n_in * self.n_out)

    @property
    def hull_auc(self) -> float:
        """Area under the hull, at least the plain area and at least 1/2."""
        return self.hull.auc

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: sizes, areas and the vertices of the hull."""
        return {
            "type": type(self).__name__,
            "n_in": self.n_in,
            "n_out": self.n_out,
            "advantage": self.advantage,
            "auc": self.auc,
            "hull_auc": self.hull_auc,
            "hull": self.hull.to_dict(),
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        sizes = f"n_in={self.n_in}, n_out={self.n_out}, advantage={self.advantage:.6g}"
        areas = f"auc={self.auc:.6g}, hull_auc={self.hull_auc:.6g}"
        return f"{type(self).__name__}({sizes}, {areas}, kind={self.kind!r})"

    def _power(self, fpr: FloatArray) -> FloatArray:
        roc = self.roc
        return between(fpr, roc.fpr, roc.power, rightmost=True)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return between(fpr, self.roc.fpr, (self.n_in - self._hits) / self.n_in, rightmost=True)

    def _fpr(self, power: FloatArray) -> FloatArray:
        roc = self.roc
        return between(power, roc.power, roc.fpr, rightmost=False)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self.hull._delta(epsilon, direction)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return self.hull._epsilon(delta, direction)


def _refuse_flags(scores: FloatArray, others: FloatArray, name: str) -> None:
    """Refuse 0 and 1, both, as the scores of one world where those of the other are none."""
    if scores.size < _FLAGS or scores.min() != 0.0 or scores.max() != 1.0:
        return
    if np.isin(scores, (0.0, 1.0)).all() and not np.isin(others, (0.0, 1.0)).all():
        rule = f"be scores of an attack; all {scores.size} are 0 or 1, as flags are"
        remedy = "With flags, pass scores[flags == 1] and scores[flags == 0]"
        invalid(name, rule, remedy=remedy)


def _count_above(
    inside: FloatArray, outside: FloatArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]:
    """Counts of the rising scores at or above each distinct one, in descending order, after 0."""
    runs = np.concatenate([inside, outside])
    order = np.argsort(runs, kind="stable")  # merges the two runs, linear in their length
    values = runs[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    below = np.append(0, np.cumsum(order < inside.size))[first]
    hits, false = inside.size - below, outside.size - (first - below)
    return (
        np.append(0, hits[::-1]),
        np.append(0, false[::-1]),
        np.append(np.inf, values[first][::-1]),
    )


def _upper_hull(x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Indices of the corners of the least concave curve above points with rising x and y.

    A point on or below the chord of its neighbours is not a corner.  One pass removes all such
    points, about half of them on a measured curve; a final walk checks the remaining points.
    """
    keep = np.arange(x.size)
    for _ in range(_PASSES):
        u, v = x[keep], y[keep]
        du, dv = np.diff(u), np.diff(v)
        corner = np.ones(keep.size, bool)
        corner[1:-1] = dv[:-1] * du[1:] > dv[1:] * du[:-1]
        removed = keep.size - int(corner.sum())
        if removed == 0:
            return keep
        keep = keep[corner]
        if removed < _WORTH_IT * corner.size:
            break
    hull: list[int] = []
    for index, u, v in zip(keep.tolist(), x[keep].tolist(), y[keep].tolist(), strict=True):
        while len(hull) > 1:
            before, last = hull[-2], hull[-1]
            if (y[last] - y[before]) * (u - x[last]) > (v - y[last]) * (x[last] - x[before]):
                break
            hull.pop()
        hull.append(index)
    return np.array(hull)
