"""Audits of separate runs: bounds that hold at all thresholds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

from mialeak._arrays import as_float, invalid
from mialeak._results import Kind, Result
from mialeak.audit._intervals import (
    Band,
    Interval,
    advantage_interval,
    area_interval,
    hull_area_interval,
    power_band,
    power_interval,
)
from mialeak.audit._order import Order
from mialeak.audit._pairs import GAUSSIAN, Pairs, Tails, indistinguishable
from mialeak.tradeoff import EmpiricalTradeOff
from mialeak.tradeoff._base import Direction, as_probability

__all__ = ["AuditResult", "as_confidence", "as_slip", "audit"]

#: False-positive rates at which an audit tells the power.
_FPR = (0.001, 0.01, 0.1)


@dataclass(frozen=True, repr=False, eq=False)
class AuditResult(Result):
    """What scores prove about a release, and what the attack achieved.

    Attributes
    ----------
    epsilon_lower : float
        The release is not (epsilon, delta)-indistinguishable for any smaller epsilon.
    mu_lower : float
        Its trade-off is not under the mu-Gaussian curve for any smaller mu.  No model is assumed;
        to turn this into an epsilon would take one.
    tpr_at_fpr : dict of float to Interval
        Power of the attack at false-positive rates.
    delta, confidence : float
        As given.
    n_in, n_out : int
        Numbers of scores.
    kind : str
        "bound".

    Notes
    -----
    `epsilon_lower`, `mu_lower` and :meth:`epsilon` at any number of deltas hold *together* with
    probability `confidence`: they are read from one set of curves.  Each interval and the band hold
    with that probability by themselves.

    Examples
    --------
    >>> from mialeak.audit import audit
    >>> result = audit(in_scores=range(100, 200), out_scores=range(100), delta=1e-5)
    >>> result.advantage
    Interval(value=1, low=0.930301, high=1, confidence=0.95, kind='estimate')
    >>> f"{result.epsilon_lower:.2f} {result.mu_lower:.2f}"
    '3.15 3.84'
    """

    epsilon_lower: float
    mu_lower: float
    tpr_at_fpr: dict[float, Interval] = field(repr=False)
    delta: float
    confidence: float
    n_in: int
    n_out: int
    kind: Kind = "bound"
    _order: Order = field(repr=False, kw_only=True)
    _pairs: Pairs = field(repr=False, kw_only=True)

    def epsilon(self, delta: Any, *, direction: Direction = "both") -> float:
        """The lower bound on epsilon at another delta, which holds together with the others.

        Parameters
        ----------
        delta : float
            In [0, 1).
        direction : {"both", "in", "out"}
            "in": from P_in(S) <= e^epsilon P_out(S) + delta only; "out": with the worlds exchanged;
            "both": the larger of the two.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from mialeak.audit import audit
        >>> rng = np.random.default_rng(0)
        >>> result = audit(rng.normal(2, 1, 1000), rng.normal(0, 1, 1000))
        >>> f"{result.epsilon(1e-5):.2f} {result.epsilon(0.01, direction='in'):.2f}"
        '3.64 3.58'
        """
        if direction not in get_args(Direction):
            invalid("direction", 'be "both", "in" or "out"', value=direction)
        curves = indistinguishable(as_slip(delta))
        return self._pairs.of_direction(direction).bound(curves, 2.0)

    @cached_property
    def advantage(self) -> Interval:
        """The largest power - fpr."""
        return advantage_interval(self._order, self.confidence)

    @cached_property
    def auc(self) -> Interval:
        """Area under the measured curve: P(in-score > out-score), ties counted half."""
        return area_interval(self._order, self.confidence)

    @cached_property
    def hull_auc(self) -> Interval:
        """Area under the least concave curve above the measured one."""
        return hull_area_interval(self.band, self.tradeoff.hull_auc, self.confidence)

    @cached_property
    def tradeoff(self) -> EmpiricalTradeOff:
        """The measured curve."""
        return EmpiricalTradeOff(self._order.inside, self._order.outside)

    @cached_property
    def band(self) -> Band:
        """``(fpr, lower, upper, name)``: the whole true curve lies in it, with `confidence`."""
        return power_band(self._order, self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values (str, int, float, list, dict), ready for JSON."""
        return {
            "epsilon_lower": self.epsilon_lower,
            "mu_lower": self.mu_lower,
            "advantage": self.advantage.to_dict(),
            "tpr_at_fpr": [
                {"fpr": rate, **power.to_dict()} for rate, power in self.tpr_at_fpr.items()
            ],
            "auc": self.auc.to_dict(),
            "hull_auc": self.hull_auc.to_dict(),
            "delta": self.delta,
            "confidence": self.confidence,
            "n_in": self.n_in,
            "n_out": self.n_out,
            "kind": self.kind,
        }


def audit(
    in_scores: Any,
    out_scores: Any,
    *,
    delta: Any = 0.0,
    confidence: Any = 0.95,
    higher_is_member: bool = True,
    fpr: Sequence[float] = _FPR,
    tails: Tails = "both",
    rng: Any = 0,
) -> AuditResult:
    """Lower bounds on epsilon and mu from the scores of an attack, valid at all thresholds at once.

    Parameters
    ----------
    in_scores, out_scores : array_like
        Scores of the attack in the two worlds, of any shape; they may be infinite.  **All of them
        must be independent**: scores of separate training runs, or of canaries of which none
        changes another's score.  The scores of the members of one model are not independent; for
        canaries of one run see :func:`one_run_audit`.
    delta : float
        In [0, 1).
    confidence : float
        Probability, strictly between 0 and 1, with which the bounds hold.
    higher_is_member : bool
        Whether larger scores speak for *in*.  Decide before seeing the scores; to try both, take
        each at half the error.
    fpr : sequence of float
        False-positive rates, between 0 and 1, at which to tell the power.
    tails : {"both", "top"}
        "top" looks only for large scores of members, and gains some per cent if only these leak.
        Decide before seeing the scores.
    rng : int, Generator or SeedSequence
        Seed of the order of tied scores.  It is fixed by default: the best of several seeds is no
        bound.  Without ties between the worlds it has no effect.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        For no scores in one of the worlds, NaN among them (with count and index), and parameters
        out of range.

    See Also
    --------
    one_run_audit : canaries of one run.

    Notes
    -----
    At the r-th largest out-score the false-positive rate is a beta variable U whatever the law of
    the scores, and the number k of in-scores above is binomial given U.  So ``P(V <= h(U))``, V of
    law Beta(k, n_in-k+1), is an exact p-value of the claim that no threshold has power above
    ``h(fpr)``.  The bound is the largest epsilon whose curve is rejected at one of the ranks 1, 3,
    9, ..., from either end, at levels that were fixed beforehand (Sidak's, valid since all the
    events increase in the same independent variables).  The proofs are in docs/audits.md, the share
    of false claims over many laws in docs/audit_coverage.md.

    Epsilon tells the two worlds apart that the scores come from: of substitution if the target
    takes the place of a fresh row, as elsewhere in this package.  A bound is 0 where nothing is
    proved.

    **Accuracy.**  The p-values are integrals by a trapezoid rule, right to 1e-9 of their value (of
    the advantage 1e-4, where all scores of a world are beyond the rank); the bounds are rounded
    down by 1e-7.

    **Cost.**  One sort, two sorted copies of the scores, and 20 ms; areas, band and measured curve
    are found when asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> result = audit(rng.normal(2, 1, 1000), rng.normal(0, 1, 1000), delta=1e-5)
    >>> f"{result.epsilon_lower:.2f} {result.mu_lower:.2f}"
    '3.64 1.81'
    >>> result.advantage
    Interval(value=0.679, low=0.604881, high=0.772617, confidence=0.95, kind='estimate')
    >>> result.tpr_at_fpr[0.01]
    Interval(value=0.38, low=0.188381, high=0.488382, confidence=0.95, kind='estimate')
    """
    slip, level = as_slip(delta), as_confidence(confidence)
    if tails not in get_args(Tails):
        invalid("tails", 'be "both" or "top"', value=tails)
    rates = as_probability(fpr, "fpr").ravel().tolist()
    order = Order.of(in_scores, out_scores, higher_is_member=higher_is_member, rng=rng)
    pairs = Pairs.of(order, 1.0 - level, tails)
    return AuditResult(
        epsilon_lower=pairs.bound(indistinguishable(slip), 2.0),
        mu_lower=pairs.bound(GAUSSIAN, 2.0),
        tpr_at_fpr={rate: power_interval(order, rate, level) for rate in rates},
        delta=slip,
        confidence=level,
        n_in=order.inside.size,
        n_out=order.outside.size,
        _order=order,
        _pairs=pairs,
    )


def as_slip(delta: Any) -> float:
    """`delta` as a number in [0, 1)."""
    value = as_float(delta, "delta")
    if not 0.0 <= value < 1.0:
        invalid("delta", "be at least 0 and less than 1", value=value)
    return value


def as_confidence(confidence: Any) -> float:
    """`confidence` as a number in (0, 1)."""
    value = as_float(confidence, "confidence")
    if not 0.0 < value < 1.0:
        invalid("confidence", "be strictly between 0 and 1", value=value)
    return value
