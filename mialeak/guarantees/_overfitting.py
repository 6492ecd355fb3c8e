"""From losses of members and others to a bound on security; samples for empirical means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mialeak._arrays import MAX_COUNT, FloatArray, as_count, as_float, as_scores, as_share, invalid
from mialeak._numerics.order import Order
from mialeak._numerics.rank_tests import Curves, Pairs
from mialeak._results import Kind, Result
from mialeak.guarantees._guarantees import positive

__all__ = ["SecurityBound", "mean_samples_needed", "overfitting_security_bound"]


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
    member_losses: Any, nonmember_losses: Any, *, gamma: Any = 1.0, confidence: Any = 0.95
) -> SecurityBound:
    """How much security is left when members have smaller losses than others.

    Parameters
    ----------
    member_losses, nonmember_losses : array_like
        Losses of rows that were trained on, and of fresh ones.  **All must be independent**: one
        loss from each training run.  Losses of the members of one model are not independent; with
        them `plug_in` describes that model, and nothing is proved about the procedure.
    gamma : float
        Balance of the game, positive and finite.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    SecurityBound

    Raises
    ------
    ValueError
        For no losses, NaN among them (with count and index), parameters out of range.

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
    inside = as_scores(member_losses, "member_losses")
    outside = as_scores(nonmember_losses, "nonmember_losses")
    balance = float(positive(as_float(gamma, "gamma"), "gamma"))
    level = as_share(confidence, "confidence")
    order = Order.of(inside, outside, higher_is_member=False, rng=0)
    pairs = Pairs.of(order, 1.0 - level)
    proved = max(
        pairs.tail(True).bound(_excess(balance), 1.0),
        pairs.tail(False).bound(_excess_mirrored(balance), 1.0),
    )
    threshold, measured = _best_threshold(np.sort(inside), np.sort(outside), balance)
    factor = max(1.0, 1.0 / balance)
    upper = min(factor * (1.0 - proved), 1.0)
    return SecurityBound(upper, min(factor * (1.0 - measured), 1.0), threshold, balance, level)


def mean_samples_needed(c: Any, d: Any, leakage: Any, *, gamma: Any = 1.0) -> int:
    """Rows with which a function of an empirical mean leaks no more than `leakage`.

    Parameters
    ----------
    c : float
        The constant of the procedure and the law of the data, at least 0.  It is unknown in
        general: nothing in the data bounds it.
    d : int
        Coordinates of the mean, at least 1.
    leakage : float
        The leakage allowed, above 0 and at most 1.
    gamma : float
        Balance of the game, positive and finite.

    Returns
    -------
    int
        The least n with ``max(1, gamma) (c + sqrt(d)/(2 sqrt n))/sqrt n <= leakage``.

    Raises
    ------
    TypeError
        If d is not an integer.
    ValueError
        If c is negative, d below 1, leakage not above 0 and at most 1, gamma not positive, or more
        than 2**53 rows would be needed.

    Notes
    -----
    [AGP25] Theorem 13.  ([AGP23] Corollary 4.1.1 says that n >= sqrt(d)/leakage is enough whatever
    the law: that is false.)

    Examples
    --------
    >>> from mialeak.guarantees import mean_samples_needed
    >>> mean_samples_needed(0.5, 100, 0.1)
    100
    """
    constant, allowed = as_float(c, "c"), as_float(leakage, "leakage")
    dimension = as_count(d, "d", least=1)
    balance = float(positive(as_float(gamma, "gamma"), "gamma"))
    if constant < 0.0:
        invalid("c", "be at least 0", value=constant)
    if not 0.0 < allowed <= 1.0:
        invalid("leakage", "be above 0 and at most 1", value=allowed)
    allowed /= max(1.0, balance)
    width = math.sqrt(dimension)
    # With r = 1/sqrt(n): c r + sqrt(d) r^2/2 = leakage; its root, up to rounding, is 1/`root`.
    spread = math.hypot(constant, math.sqrt(2.0 * allowed * width))
    root = (constant / 2.0 + spread / 2.0) / allowed
    if not root < math.sqrt(MAX_COUNT):
        invalid("leakage", "be within reach of 2**53 rows", value=leakage)
    low = math.floor(root * root * (1.0 - 1e-12))
    high = math.ceil(root * root * (1.0 + 1e-12)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        side = math.sqrt(middle)
        if (constant + width / side / 2.0) / side > allowed * (1.0 + 1e-15):
            low = middle
        else:
            high = middle
    return high


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
