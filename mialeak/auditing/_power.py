"""How many runs or canaries an audit takes to prove what there is to prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, as_count, as_float, as_share, invalid
from mialeak._blocks import as_rng
from mialeak._numerics.order import Order
from mialeak._numerics.rows_needed import rows_bracket
from mialeak._results import Kind, Result, as_confidence
from mialeak.auditing._audit import Evidence
from mialeak.auditing._checks import as_delta
from mialeak.auditing._one_run import best_bound, choices_of, members_below
from mialeak.tradeoff import TradeOff

__all__ = ["AuditPower", "Design", "audit_power"]

Design = Literal["runs", "one-run"]

#: Scores in each world, or canaries, at which the search begins, and its relative precision.
_FEWEST, _PRECISION = 16, 0.1


@dataclass(frozen=True, repr=False)
class AuditPower(Result):
    """The size of an audit.

    Attributes
    ----------
    n : int
        Runs in each world, or canaries of one run.
    power : float
        Share of the simulated audits of this size that proved `epsilon`.
    epsilon, delta, confidence : float
        As given.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak.auditing import audit_power
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> result = audit_power(0.5, GaussianTradeOff(2.0), repetitions=50)
    >>> result.kind, result.power >= 0.8
    ('estimate', True)
    """

    n: int
    power: float
    epsilon: float
    delta: float
    confidence: float
    kind: Kind = "estimate"


def audit_power(
    epsilon: Any,
    tradeoff: TradeOff,
    *,
    delta: Any = 0.0,
    confidence: Any = 0.95,
    power: Any = 0.8,
    design: Design = "runs",
    repetitions: Any = 200,
    most: Any = 100_000,
    rng: Any = 0,
) -> AuditPower:
    """How many runs, or canaries of one run, prove an epsilon with this power.

    Parameters
    ----------
    epsilon : float
        What is to be proved, above 0 and finite.
    tradeoff : TradeOff
        One curve: what the attack achieves in truth, on a canary.
    delta, confidence : float
        Of the audit to come.
    power : float
        Probability, strictly between 0 and 1, with which it is to succeed.
    design : {"runs", "one-run"}
        "runs": :func:`mialeak.auditing` of n independent scores in each world; "one-run":
        :func:`mialeak.auditing.one_run_audit` of n canaries that disturb one another little.
    repetitions : int
        Audits to simulate at each size: the standard error of the power is at most
        ``0.5/sqrt(repetitions)``.
    most : int
        The largest size to look at.
    rng : int, Generator or SeedSequence
        Of the simulation.

    Returns
    -------
    AuditPower

    Raises
    ------
    ValueError
        If the epsilon is not below that of the curve, at delta; if `most` is not enough; for
        parameters out of range.

    Notes
    -----
    Scores with the given curve are drawn from uniform numbers, U out and the false-positive rate at
    which the power is V in, and audited.  The size is doubled until the power is reached, and then
    bracketed between the last two by halving, to 10%.  The power grows with the size, up to what
    simulation adds.

    **Cost.**  Five to ten sizes; for each audit simulated 10 ms of "runs", 1 to 4 of "one-run".

    Examples
    --------
    >>> from mialeak.auditing import audit_power
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> one = audit_power(0.5, GaussianTradeOff(2.0), design="one-run", repetitions=50)
    >>> 16 <= one.n < 200
    True
    """
    wanted, level = as_float(epsilon, "epsilon"), as_confidence(confidence)
    delta, aim = as_delta(delta), as_share(power, "power")
    as_choice(design, "design", get_args(Design))
    count = as_count(repetitions, "repetitions", least=1)
    largest = as_count(most, "most", least=_FEWEST)
    if not isinstance(tradeoff, TradeOff):
        invalid("tradeoff", f"be a TradeOff, not {type(tradeoff).__name__}", error=TypeError)
    reach = np.asarray(tradeoff.epsilon(delta))
    if reach.ndim:
        invalid("tradeoff", f"be one curve, not of shape {reach.shape}")
    there = float(reach)
    if not 0.0 < wanted < there:
        remedy = "No audit proves more than there is"
        rule = f"be above 0 and below that of the curve, {there:.6g}"
        invalid("epsilon", rule, value=wanted, remedy=remedy)
    seeds = as_rng(rng).integers(2**63, size=count)

    def share(n: int) -> float:
        bounds = [_bound(tradeoff, n, delta, level, design, int(seed)) for seed in seeds]
        return float(np.mean(np.array(bounds) >= wanted))

    shares: dict[int, float] = {}

    def function(n: FloatArray, _: object) -> FloatArray:
        size = int(n[0])
        shares[size] = share(size)
        return np.where(shares[size] < aim, np.inf, -np.inf)

    (high,) = rows_bracket(
        function, [_FEWEST], least=_FEWEST, most=largest, stride=2, precision=_PRECISION
    )[1]
    if not np.isfinite(high):
        remedy = "Give a larger one, or prove less"
        rule = f"be enough: of {largest} the power is {shares[largest]:.2f}"
        invalid("most", rule, remedy=remedy)
    size = int(high)
    return AuditPower(size, shares[size], wanted, delta, level)


def _bound(
    tradeoff: TradeOff, n: int, delta: float, confidence: float, design: str, seed: int
) -> float:
    """The bound of one simulated audit; small scores speak for *in*."""
    rng = np.random.default_rng(seed)
    if design == "runs":
        order = Order.of(_inside(tradeoff, rng, n), rng.random(n), higher_is_member=False, rng=seed)
        return Evidence(order, 1.0 - confidence, "both", "calibrated").epsilon(delta)
    member = rng.integers(0, 2, n)
    if member.min() == member.max():
        return 0.0
    scores = np.where(member == 1, _inside(tradeoff, rng, n), rng.random(n))
    choices = choices_of(None, n, delta, 1.0 - confidence)
    return best_bound(choices, members_below(-scores, member, seed), delta)[0]


def _inside(tradeoff: TradeOff, rng: np.random.Generator, n: int) -> FloatArray:
    return np.asarray(tradeoff.fpr(rng.random(n)), np.float64)
