"""Audits of separate runs: bounds that hold at all thresholds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtri

from mialeak._arrays import FloatArray, as_choice, as_flag, as_probability
from mialeak._checks.audits.beside import beside_index, refuse_runs
from mialeak._checks.audits.copies import check_resampled, refuse_copies, refuse_repeats
from mialeak._checks.audits.scores import cautions_of_names
from mialeak._numerics.order import Order, smallest_bound
from mialeak._numerics.rank_tests import GAUSSIAN, Curves, Pairs, indistinguishable
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Direction, Kind, as_confidence
from mialeak.auditing._calibrated import Shift, calibrated_bound, rank_sum_bound
from mialeak.auditing._checks import (
    Verdict,
    as_claim,
    as_delta,
    refuse_flags,
    refuse_matrices,
    refuse_orders,
    require_direction,
    verdict_on,
)
from mialeak.auditing._documents import (
    OF_RUNS,
    audit_columns,
    audit_document,
    audit_panels,
    cautions_of,
    claim_sentence,
    reach_sentence,
)
from mialeak.auditing._intervals import (
    Band,
    Interval,
    advantage_interval,
    area_interval,
    hull_area_interval,
    power_band,
    power_interval,
)
from mialeak.tradeoff import EmpiricalTradeOff

__all__ = ["AuditResult", "Evidence", "audit"]

Method = Literal["calibrated", "simultaneous", "rank-sum"]

_PROBIT = Shift(ndtri, lambda x: np.sqrt(2.0 * np.pi) * np.exp(0.5 * ndtri(x) ** 2))
#: False-positive rates at which an audit states the power.
_FPR = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class Evidence:
    """What the counts at the ranks prove about either parameter, by the method chosen."""

    order: Order
    alpha: float
    direction: Direction
    method: Method

    def epsilon(self, delta: float) -> float:
        """At one delta."""
        if self.method == "simultaneous":
            return self._by_pairs(indistinguishable(delta))
        return self._by_draws(Shift(np.log, np.reciprocal, delta))

    def mu(self) -> float:
        """Of the Gaussian curves."""
        if self.method == "simultaneous":
            return self._by_pairs(GAUSSIAN)
        return self._by_draws(_PROBIT)

    def _by_pairs(self, curves: Curves) -> float:
        def bound(order: Order) -> float:
            return Pairs.of(order, self.alpha, self.direction).bound(curves, 2.0)

        return smallest_bound(self.order, bound)

    def _by_draws(self, shift: Shift) -> float:
        function = rank_sum_bound if self.method == "rank-sum" else calibrated_bound

        def bound(order: Order) -> float:
            return function(order, shift, self.alpha, self.direction)

        return smallest_bound(self.order, bound)

    def provable_epsilon(self, delta: float) -> float:
        """What as many scores of a perfect attack prove at one delta."""
        return replace(self, order=self.order.separated()).epsilon(delta)


@dataclass(frozen=True, repr=False, eq=False)
class AuditResult(Report):
    """What scores prove about a release, and what the attack achieved.

    ``print(result)`` writes it out for people; a notebook shows it, :meth:`plot` draws the measured
    curve and the scores, :meth:`to_html` writes a page, :meth:`to_frame` lists what was measured.

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
    claimed_epsilon : float or None
        As given.
    kind : str
        "bound".
    provable_epsilon : float
        The bound of a perfect attack, with each score of *in* above each of *out*: no scores of
        this number prove more.  Computed when asked for, in the time of another audit.
    verdict : str or None
        On the claim: "refuted" (`epsilon_lower` is above it), "not refuted", or "not testable":
        not even a perfect attack could have refuted it (`provable_epsilon` is not above it).

    Notes
    -----
    `epsilon_lower`, `mu_lower`, :meth:`epsilon` at another delta, each interval and the band hold
    with probability `confidence` by themselves.  With ``method="simultaneous"`` those on mu and on
    epsilon at any number of deltas hold *together*: they are read from one set of curves.

    Examples
    --------
    >>> from mialeak.auditing import audit
    >>> result = audit(in_scores=range(100, 200), out_scores=range(100), delta=1e-5)
    >>> result.advantage
    Interval(value=1, low=0.930032, high=1, confidence=0.95, kind='estimate')
    >>> f"{result.epsilon_lower:.2f} {result.mu_lower:.2f}"
    '4.18 4.05'
    """

    epsilon_lower: float
    mu_lower: float
    tpr_at_fpr: dict[float, Interval] = field(repr=False)
    delta: float
    confidence: float
    n_in: int
    n_out: int
    claimed_epsilon: float | None = None
    kind: Kind = "bound"
    _cautions: list[str] = field(default_factory=list, repr=False, kw_only=True)
    _is_higher: bool = field(default=True, repr=False, compare=False, kw_only=True)
    _order: Order = field(repr=False, kw_only=True)
    _evidence: Evidence = field(repr=False, kw_only=True)

    _title = "What these scores prove"

    def epsilon(self, delta: Any) -> float:
        """The lower bound on epsilon at another delta.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from mialeak.auditing import audit
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.normal(2, 1, 1000), rng.normal(0, 1, 1000)
        >>> result = audit(*scores, method="simultaneous")
        >>> f"{result.epsilon(1e-5):.2f} {result.epsilon(0.01):.2f}"
        '3.64 3.58'
        """
        return self._evidence.epsilon(as_delta(delta))

    @cached_property
    def provable_epsilon(self) -> float:
        """What as many scores of a perfect attack prove, at `delta`."""
        return max(self._evidence.provable_epsilon(self.delta), self.epsilon_lower)

    @property
    def verdict(self) -> Verdict | None:
        """On the claimed epsilon: refuted, not refuted, or not testable with so few scores."""
        return verdict_on(self.claimed_epsilon, self.epsilon_lower, self.provable_epsilon)

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """The scores in and out, rising, turned so that larger speaks for *in*."""
        return self._order.inside, self._order.outside

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
        worlds = self._order.inside, self._order.outside
        return EmpiricalTradeOff(*worlds, allow_reversed=True)

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
            "provable_epsilon": self.provable_epsilon,
            "claimed_epsilon": self.claimed_epsilon,
            "verdict": self.verdict,
            "kind": self.kind,
            "assumed": list(OF_RUNS),
        }

    def reach(self) -> str:
        """What no attack can exceed with so many scores, in words."""
        return reach_sentence(self)

    def claim(self) -> str:
        """The verdict on the claimed epsilon as a sentence; empty without a claim."""
        return claim_sentence(self)

    def document(self, *, claim: bool = True) -> Document:
        """The content of the report, without a layout; with what became of a claim, or without."""
        return audit_document(self, claim=claim)

    def panels(self) -> list[Panel]:
        """The measured curve in its band, and the scores of both worlds."""
        return audit_panels(self)

    def _table(self) -> dict[str, Any]:
        return audit_columns(self)


def audit(
    in_scores: Any,
    out_scores: Any,
    *,
    delta: Any = 0.0,
    confidence: Any = 0.95,
    higher_is_member: bool = True,
    fpr: Sequence[float] = _FPR,
    direction: Direction = "both",
    method: Method = "calibrated",
    claimed_epsilon: Any = None,
    allow_reversed: bool = False,
    rng: Any = 0,
) -> AuditResult:
    """Lower bounds on epsilon and mu from the scores of an attack, valid at all thresholds at once.

    Parameters
    ----------
    in_scores, out_scores : array_like
        Scores of the attack in the two worlds, one a run; they may be infinite.  **All of them
        must be independent**: scores of separate training runs, or of canaries of which none
        changes another's score.  The scores of the members of one model are not independent; for
        canaries of one run see :func:`one_run_audit`.  Matrices (shadow models by examples),
        scores that each occur several times, and scores whose neighbours are alike, as those of
        the steps of one training are (a test of runs at a level of 1e-6; sorted scores are taken),
        are refused.  Booleans, and scores of a world that
        are 0 and 1 only (or -1 and 1 beside other scores), are refused: flags look so.  Series
        whose names state two quantities, such as a logit and a confidence, and probabilities in
        per cent in one world only, are refused as well, and so is an index, of one level or more,
        that names a run or a model in several rows.  The guesses of an attack are scores if written
        as -1 and 1.
    delta : float
        In [0, 1).
    confidence : float
        Probability, at least 0.5 and below 1, with which the bounds hold.
    higher_is_member : bool
        Whether larger scores speak for *in*.  Decide before seeing the scores; to try both, take
        each at half the error.  Scores that point the other way are refused, see `allow_reversed`.
    fpr : sequence of float
        False-positive rates, between 0 and 1, at which to state the power.
    direction : {"both", "in", "out"}
        "in": refute P_in(S) <= e^epsilon P_out(S) + delta, by large scores of members; "out": with
        the worlds exchanged, by small scores of the others; "both": either.  One of them alone
        gains some per cent if only that leaks.  Decide before seeing the scores.
    method : {"calibrated", "simultaneous", "rank-sum"}
        "calibrated" gives the larger bounds, each valid by itself; "simultaneous" bounds that are
        valid together, at all deltas and for mu.  "rank-sum" gives the larger mu where noise
        shifts the whole law of the scores, and a small epsilon.  Decide before seeing the scores.
    claimed_epsilon : float, optional
        An epsilon that the release is claimed to have at `delta`, at least 0: the result holds a
        `verdict` on it.  State it before seeing the scores, and of the same two worlds.
    allow_reversed : bool
        Whether scores are audited as they are where the area under their curve lies below 1/2
        beyond its interval of 95 % (at any `confidence`).  By default they are an error: a
        forgotten sign would prove 0.  The direction is never changed silently.
    rng : int, Generator or SeedSequence
        Seed of the orders of tied scores, and of the draws of "calibrated".  It is fixed by
        default: the best of several seeds is no bound.  The orders of a tie depend on how many
        scores of either world lie below and in the tie, too, so that a fixed seed is no fixed
        order; where scores of both worlds are equal, a bound is the smallest over five.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        For no scores in one of the worlds, NaN among them (with count and index), flags in place
        of scores, scores that point the other way, and parameters out of range.

    See Also
    --------
    one_run_audit : canaries of one run.

    Notes
    -----
    At the r-th largest out-score the false-positive rate is a beta variable U whatever the law of
    the scores, and the number k of in-scores above is binomial given U.  So ``P(V <= h(U))``, V of
    law Beta(k, n_in-k+1), is an exact p-value of the claim that no threshold has power above
    ``h(fpr)``.  "simultaneous" takes the largest epsilon whose curve is rejected at one of ranks
    1, 3, 9, ..., from either end, at levels that were fixed beforehand (Sidak's, valid since all
    the events increase in the same independent variables).  "calibrated" takes more ranks, and
    both ends together, at the level that 999 draws of uniform numbers give: under the null curve
    the counts do not exceed theirs in law, all together, and the test is valid at any number of
    draws.  "rank-sum" calibrates likewise the number of pairs in which a score of *in* lies above
    one of *out*, of at most 32 evenly spaced ranks of each world.  The proofs are in
    docs/audits.md, the share of false claims over many laws in docs/audit_coverage.md.

    Epsilon is of the two worlds that the scores come from: of substitution if the target takes the
    place of a fresh row, as elsewhere in this package.  A bound is 0 where nothing is proved; equal
    scores of both worlds prove nothing, whatever the seed.

    **Accuracy.**  P-values of "simultaneous" are integrals by a trapezoid rule, to which the
    difference from the rule with every second node is added where the curve has a corner: of 28,983
    pairs of counts, p-values below 0.06 were short of the truth by 2e-11 at most, larger ones by
    4e-4 (those of the advantage are right to 1e-4 of their value, where all scores of a world are
    beyond the rank); the bounds are rounded down by 1e-7.  With other draws a calibrated bound
    differs by about a fifteenth of its standard deviation; at 95% the error of one seed has the law
    Beta(50, 950), 5% give or take 0.7, and that of all seeds is 5%.  If scores
    of both worlds are tied, a bound is the smallest over five random orders of them, each of which
    is enough for its confidence.  Of all outcomes of two values, 2 to 40 scores in a world, at most
    2.9% of the calibrated bounds at 95% are false, and 4.2% with other seeds.

    **Cost.**  One sort, two sorted copies of the scores, and 20 to 40 ms; with ties four to ten
    times all that.  Areas, band and measured curve are computed when asked for.  Beyond a
    confidence of 0.98 "calibrated" takes 20/(1 - confidence) draws: 0.3 s and 30 MB at 0.999, 3 s
    and 270 MB at 0.9999.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import audit
    >>> rng = np.random.default_rng(0)
    >>> result = audit(rng.normal(2, 1, 1000), rng.normal(0, 1, 1000), delta=1e-5)
    >>> f"{result.epsilon_lower:.2f} {result.mu_lower:.2f}"
    '3.57 1.86'
    >>> result.advantage
    Interval(value=0.679, low=0.604881, high=0.772617, confidence=0.95, kind='estimate')
    >>> result.tpr_at_fpr[0.01]
    Interval(value=0.38, low=0.188381, high=0.488382, confidence=0.95, kind='estimate')
    """
    delta, level = as_delta(delta), as_confidence(confidence)
    claim = as_claim(claimed_epsilon, delta)
    higher_is_member = as_flag(higher_is_member, "higher_is_member")
    allow_reversed = as_flag(allow_reversed, "allow_reversed")
    as_choice(direction, "direction", get_args(Direction))
    as_choice(method, "method", get_args(Method))
    rates = as_probability(fpr, "fpr").ravel().tolist()
    worlds = {"in_scores": in_scores, "out_scores": out_scores}
    named = cautions_of_names(higher_is_member, allow_reversed, **worlds)
    refuse_matrices(in_scores, "in_scores")
    refuse_matrices(out_scores, "out_scores")
    order = Order.of(in_scores, out_scores, higher_is_member=higher_is_member, rng=rng)
    refuse_flags(order, higher_is_member=higher_is_member)
    refuse_copies(order.inside, order.outside, higher_is_member=higher_is_member)
    refuse_repeats(order)
    series = refuse_orders(in_scores, out_scores)
    refuse_runs(list(worlds), [beside_index(each) for each in worlds.values()], series)
    if not allow_reversed:
        require_direction(order, higher_is_member=higher_is_member)
    copies = check_resampled(order)
    valued = cautions_of(order, *series, higher_is_member=higher_is_member)
    evidence = Evidence(order, 1.0 - level, direction, method)
    return AuditResult(
        epsilon_lower=evidence.epsilon(delta),
        mu_lower=evidence.mu(),
        tpr_at_fpr={rate: power_interval(order, rate, level) for rate in rates},
        delta=delta,
        confidence=level,
        n_in=order.inside.size,
        n_out=order.outside.size,
        claimed_epsilon=claim,
        _cautions=[*copies, *valued, *named],
        _is_higher=higher_is_member,
        _order=order,
        _evidence=evidence,
    )
