"""From losses of members and others to a bound on security."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_flag, as_float, as_scores, invalid
from mialeak._checks.audits.beside import beside_index, refuse_runs
from mialeak._checks.audits.copies import check_resampled, refuse_copies, refuse_repeats
from mialeak._checks.audits.scores import are_turned, cautions_of_names, name_of, refuse_score_name
from mialeak._numerics.order import Order, smallest_bound
from mialeak._numerics.rank_tests import Curves, Pairs
from mialeak._results import Kind, Result, as_confidence
from mialeak._warnings import warn
from mialeak.guarantees._guarantees import positive

__all__ = ["SecurityBound", "overfitting_security_bound"]

#: Losses whose area is so many standard errors below one half point the other way.
_REVERSED = 5.0


@dataclass(frozen=True, repr=False)
class SecurityBound(Result):
    """A procedure's security is at most this.

    Attributes
    ----------
    security_upper : float
        Holds with probability `confidence`.
    plug_in : float
        The bound if the measured shares were the true ones.
    threshold : float
        The loss at which the plug-in bound is reached: guess "in" up to it.
    gamma, confidence : float
        As given.
    kind : str
        "bound".

    Examples
    --------
    >>> from mialeak.guarantees import overfitting_security_bound
    >>> result = overfitting_security_bound([0.0] * 100, range(1, 101))
    >>> f"{result.security_upper:.3f} {result.plug_in:.3f} {result.threshold:g}"
    '0.062 0.000 0'
    """

    security_upper: float
    plug_in: float
    threshold: float
    gamma: float
    confidence: float
    kind: Kind = "bound"


def overfitting_security_bound(
    member_losses: Any,
    nonmember_losses: Any,
    *,
    gamma: Any = 1.0,
    confidence: Any = 0.95,
    allow_reversed: bool = False,
) -> SecurityBound:
    """How much security is left when members have smaller losses than others.

    Parameters
    ----------
    member_losses, nonmember_losses : array_like
        Losses of rows that were trained on, and of fresh ones: numbers that are smaller for
        members.  Of confidences pass the negative logarithms.  **All must be independent**: one
        loss from each training run.  Losses of the members of one model are not independent; with
        them `plug_in` describes that model, and nothing is proved about the procedure: Series that
        are called as training and test rows, or whose index names the models, are refused.
    gamma : float
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
        Positive and finite.
    confidence : float
        At least 0.5 and below 1.
    allow_reversed : bool
        Take losses that are larger of members, by more than five standard errors of the area under
        their curve, as they are: the bound is near 1.  Without it they are refused, since exchanged
        arguments, and confidences or accuracies in place of losses, are such.

    Returns
    -------
    SecurityBound

    Raises
    ------
    ValueError
        For no losses, NaN among them (with count and index), more than one axis of them, those
        called confidences or the like, flags in place of losses, parameters out of range, losses
        that are larger of members, and copies of losses: all of one side among those of the other,
        or each of them several times.

    Notes
    -----
    [AGP25] Theorem 11: at every threshold e, ``security <= max(1, 1/gamma) (P(member loss > e) +
    gamma P(fresh loss <= e))``, where the best e may be chosen: with confidence, by the rank pairs
    of :func:`mialeak.auditing`, which hold at all thresholds at once.  An overfit procedure, all of
    whose members' losses are below e and few others', has almost no security.

    **Cost.**  0.15 s for 10,000 losses of either kind.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.guarantees import overfitting_security_bound
    >>> rng = np.random.default_rng(0)
    >>> losses = 0.01 * rng.exponential(size=500), rng.exponential(size=500)
    >>> result = overfitting_security_bound(*losses)
    >>> f"{result.security_upper:.3f} {result.plug_in:.3f}"
    '0.098 0.056'
    """
    inside = _as_losses(member_losses, "member_losses")
    outside = _as_losses(nonmember_losses, "nonmember_losses")
    given = {"member_losses": member_losses, "nonmember_losses": nonmember_losses}
    for caution in cautions_of_names(False, True, **given):
        warn(caution)
    columns = [beside_index(each) for each in given.values()]
    refuse_runs(list(given), columns, [inside, outside], list(given))
    gamma = float(positive(as_float(gamma, "gamma"), "gamma"))
    level = as_confidence(confidence)
    _require_no_flags(inside, outside)
    if not as_flag(allow_reversed, "allow_reversed"):
        _require_direction(inside, outside)
    order = Order.of(inside, outside, higher_is_member=False, rng=0)
    names = ("member_losses", "nonmember_losses")
    refuse_copies(order.inside, order.outside, names, higher_is_member=False)
    refuse_repeats(order, names)
    for caution in check_resampled(order, names):
        warn(caution)

    def bound(one: Order) -> float:
        pairs = Pairs.of(one, 1.0 - level)
        return max(
            pairs.tail(True).bound(_excess(gamma), 1.0),
            pairs.tail(False).bound(_excess_mirrored(gamma), 1.0),
        )

    proved = smallest_bound(order, bound)
    threshold, measured = _best_threshold(np.sort(inside), np.sort(outside), gamma)
    factor = max(1.0, 1.0 / gamma)
    upper = min(factor * (1.0 - proved), 1.0)
    return SecurityBound(upper, min(factor * (1.0 - measured), 1.0), threshold, gamma, level)


def _as_losses(losses: Any, name: str) -> FloatArray:
    """The losses, one of each training run, whose name is not that of confidences."""
    if (word := name_of(losses)) is not None and not are_turned(word, losses):
        cure = "Pass losses, as the negative logarithms of confidences"
        refuse_score_name(word, name, higher_is_member=False, cure=cure)
    scores, sides = as_scores(losses, name), np.shape(losses)
    if sum(side != 1 for side in sides) > 1:
        rule = f"have one loss for each training run; its shape is {sides}"
        remedy = "Losses of several rows of one model are not independent: take one row a model"
        invalid(name, rule, remedy=remedy)
    return scores


def _require_no_flags(inside: FloatArray, outside: FloatArray) -> None:
    """Refuse flags beside losses."""
    flags = [np.array_equal(np.unique(each), [0.0, 1.0]) for each in (inside, outside)]
    if flags[0] != flags[1] and len(np.unique(inside if flags[1] else outside)) > 2:
        name = "member_losses" if flags[0] else "nonmember_losses"
        rule = f"be losses; all {(inside if flags[0] else outside).size} are 0 or 1, as flags are"
        invalid(name, rule, remedy="Pass the losses of members, and those of others")


def _require_direction(inside: FloatArray, outside: FloatArray) -> None:
    """Refuse losses of members that are certainly larger than those of others."""
    others = np.sort(outside)
    below = np.searchsorted(others, inside, side="left").mean()
    upto = np.searchsorted(others, inside, side="right").mean()
    area = 1.0 - 0.5 * float(below + upto) / others.size
    error = math.sqrt((1.0 / inside.size + 1.0 / others.size) / 12.0)
    if area < 0.5 - _REVERSED * error:
        rule = f"be the smaller losses; the area under their curve is {area:.3f}"
        remedy = (
            "Exchange the arguments if nonmember_losses are those of members; pass minus a "
            "confidence or accuracy; or pass allow_reversed=True"
        )
        invalid("member_losses", rule, remedy=remedy)


def _excess(gamma: float) -> Curves:
    """The curves h(u) = min(1, theta + gamma u)."""
    return Curves(
        forward=lambda u, theta: np.minimum(theta + gamma * u, 1.0),
        backward=lambda v, theta: np.maximum(v - theta, 0.0) / gamma,
        scale=np.ones_like,
    )


def _excess_mirrored(gamma: float) -> Curves:
    """The same with the worlds exchanged and the scores negated."""
    return Curves(
        forward=lambda u, theta: np.maximum(1.0 - np.maximum(1.0 - u - theta, 0.0) / gamma, 0.0),
        backward=lambda v, theta: np.maximum(1.0 - theta - gamma * (1.0 - v), 0.0),
        scale=np.ones_like,
    )


def _best_threshold(inside: FloatArray, outside: FloatArray, gamma: float) -> tuple[float, float]:
    """Where P(member loss <= e) - gamma P(fresh loss <= e) is largest as measured, and this."""
    caught = np.searchsorted(inside, inside, side="right") / inside.size
    false = np.searchsorted(outside, inside, side="right") / outside.size
    excess = caught - gamma * false
    best = int(np.argmax(excess))
    return float(inside[best]), max(float(excess[best]), 0.0)
