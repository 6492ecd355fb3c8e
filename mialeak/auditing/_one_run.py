"""Audits of one training run with many canaries, each in or out by a coin of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincc, expit

from mialeak._arrays import FloatArray, as_count, as_flag, as_float, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._checks.audits.beside import cautions_of_index
from mialeak._checks.audits.copies import check_resampled, refuse_repeats
from mialeak._checks.audits.scores import cautions_of_names
from mialeak._numerics.order import IntArray, Order
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report, bound_panel
from mialeak._results import Kind, as_confidence
from mialeak.auditing._checks import (
    Verdict,
    as_claim,
    as_delta,
    canaries_of,
    refuse_repeated_coins,
    require_direction,
    verdict_on,
    warn_of_order,
)
from mialeak.auditing._documents import (
    OF_CANARIES,
    cautions_of,
    claim_sentence,
    one_run_document,
    reach_sentence,
)
from mialeak.special import binom_logpmf

if TYPE_CHECKING:
    from mialeak.tradeoff import TradeOff

__all__ = [
    "Choices",
    "OneRunResult",
    "best_bound",
    "choices_of",
    "members_below",
    "one_run_audit",
    "one_run_p_value",
]

#: The epsilon that each default choice can prove, if all its guesses are right; by how much at most
#: the share of the error grows from one default choice to the next.
_REACH, _GROWTH = 2.0, 1.25
#: Of the means in the term with delta, so many are looked at before more are.
_FIRST = 256
_TOLERANCE, _MARGIN = 1e-10, 1e-9

#: Pairs of guesses, and the share of the error of each.
Choices = list[tuple[tuple[int, int], float]]


@dataclass(frozen=True, repr=False)
class OneRunResult(Report):
    """What the canaries of one run prove.

    ``print(result)`` writes it out for people; a notebook shows it, :meth:`plot` draws the bounds,
    :meth:`to_html` writes a page, :meth:`to_frame` has the numbers in one row.

    Attributes
    ----------
    epsilon_lower : float
        The training is not (epsilon, delta)-differentially private for any smaller epsilon, of
        adding or removing a row.
    guesses : tuple of int
        ``(k_plus, k_minus)``, how many canaries were guessed *in* and *out*: of the choices stated,
        the one that proves most.
    correct : int
        How many of these guesses are right.
    n_canaries : int
        Number of canaries, those without a guess included.
    delta, confidence : float
        As given.
    claimed_epsilon : float or None
        As given.
    p_value : float or None
        Of the null curve, if one was given: below 1 - confidence the curve is refuted.
    kind : str
        "bound".
    mu_lower : float
        The training is not mu-Gaussian differentially private, of adding or removing a row, for any
        smaller mu.  By itself, with `confidence`; computed when asked for.
    provable_epsilon : float
        The bound of a perfect attack on so many canaries with these coins and choices of guesses:
        each member has a larger score than each other canary.
    verdict : str or None
        On the claim: "refuted" (`epsilon_lower` is above it), "not refuted", or "not testable":
        not even a perfect attack could have refuted it (`provable_epsilon` is not above it).

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import one_run_audit
    >>> member = np.random.default_rng(0).integers(0, 2, 100)
    >>> result = one_run_audit(scores=2.0 * member, member=member, guesses=(40, 40))
    >>> result.kind, result.correct
    ('bound', 80)
    """

    epsilon_lower: float
    guesses: tuple[int, int]
    correct: int
    n_canaries: int
    delta: float
    confidence: float
    claimed_epsilon: float | None = None
    p_value: float | None = field(default=None, repr=False)
    kind: Kind = "bound"
    _members: int = field(repr=False, kw_only=True)
    _cautions: list[str] = field(default_factory=list, repr=False, kw_only=True)
    _is_higher: bool = field(default=True, repr=False, compare=False, kw_only=True)
    _choices: Choices = field(repr=False, compare=False, kw_only=True)
    _right: list[int] = field(repr=False, compare=False, kw_only=True)

    _title = "What these canaries prove"

    @cached_property
    def mu_lower(self) -> float:
        """What is proved of mu."""
        from mialeak.auditing._one_run_curves import gaussian_bound

        return gaussian_bound(self._choices, self._right, self.n_canaries)

    @cached_property
    def provable_epsilon(self) -> float:
        """What a perfect attack on so many canaries proves."""
        others = self.n_canaries - self._members
        below = np.maximum(np.arange(self.n_canaries + 1) - others, 0)
        epsilon, _, _ = best_bound(self._choices, below, self.delta)
        return max(epsilon, self.epsilon_lower)

    @property
    def verdict(self) -> Verdict | None:
        """On the claimed epsilon: refuted, not refuted, or not testable with so few canaries."""
        return verdict_on(self.claimed_epsilon, self.epsilon_lower, self.provable_epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values (str, int, float, list, dict), ready for JSON."""
        return {
            "epsilon_lower": self.epsilon_lower,
            "guesses": list(self.guesses),
            "correct": self.correct,
            "n_canaries": self.n_canaries,
            "delta": self.delta,
            "confidence": self.confidence,
            "provable_epsilon": self.provable_epsilon,
            "claimed_epsilon": self.claimed_epsilon,
            "verdict": self.verdict,
            "kind": self.kind,
            "assumed": list(OF_CANARIES),
            **({} if self.p_value is None else {"p_value": self.p_value}),
        }

    def reach(self) -> str:
        """What no attack can exceed with so many canaries, in words."""
        return reach_sentence(self)

    def claim(self) -> str:
        """The verdict on the claimed epsilon as a sentence; empty without a claim."""
        return claim_sentence(self)

    def document(self, *, claim: bool = True) -> Document:
        """The content of the report, without a layout; with what became of a claim, or without."""
        return one_run_document(self, claim=claim)

    def panels(self) -> list[Panel]:
        """The epsilons that are proved, provable and claimed."""
        bars = {"proved": self.epsilon_lower, "provable": self.provable_epsilon}
        return [bound_panel({**bars, "claimed": self.claimed_epsilon})]

    def _table(self) -> dict[str, Any]:
        plus, minus = self.guesses
        numbers = {"guesses_in": plus, "guesses_out": minus, **self.to_dict()}
        omitted = ("guesses", "assumed")
        return {name: [value] for name, value in numbers.items() if name not in omitted}


def one_run_audit(
    scores: Any,
    member: Any,
    *,
    delta: Any = 0.0,
    confidence: Any = 0.95,
    guesses: Any = None,
    higher_is_member: bool = True,
    claimed_epsilon: Any = None,
    allow_reversed: bool = False,
    null: TradeOff | None = None,
    rng: Any = 0,
) -> OneRunResult:
    """Lower bound on epsilon from the scores of many canaries in one training run.

    Parameters
    ----------
    scores : (m,) array_like
        One score for each canary, or a single column of them; they may be infinite, and need not be
        independent.  **They may depend on the coins through what this one run released only.**
        Scores pooled from several models, each calibrated on the others (leave-one-out LiRA),
        depend on the coins of all of them: at 5 % they gave 17 false claims in 100 where nothing
        leaked.  Those of one model, calibrated on models that saw no coin of it, are admissible.
    member : (m,) array_like
        1 (or True) for canaries that were in the training data, 0 for those left out.  **Each must
        have been put in or left out by a fair coin of its own**, independent of everything else.
        With a fixed number of members, or with members that were not chosen at random, the bound
        does not hold.  Numbers of members that fair coins give with probability 1e-6 at most
        (exact binomial test, two-sided) are refused, and so are 26 flags or more with all members
        on one side, as where members and non-members of a model are joined, or that alternate or
        stand in blocks (exact test of the number of neighbours that differ), or that repeat fewer
        flags, as where a canary has several scores; the theorem is for fair coins only.
    delta : float
        In [0, 1).
    confidence : float
        Probability, at least 0.5 and below 1, with which the bound holds.
    guesses : (int, int), or sequence of these, optional
        ``(k_plus, k_minus)``: the canaries with the `k_plus` largest scores are guessed *in*, those
        with the `k_minus` smallest *out*, and the others are abstained from.  **State them before
        seeing the scores.**  Several choices share the error equally (Bonferroni).  By default
        those are m/2, m/4, m/8, ... on either side, as far as each proves an epsilon of 2 if all
        its guesses are right; the share grows by 2 m delta, and no more than 25%, from one to the
        next, since delta weighs the most where guesses are few.
    higher_is_member : bool
        Whether larger scores speak for *in*.  Decide before seeing the scores.
    claimed_epsilon : float, optional
        An epsilon of adding or removing a row that the training is claimed to have at `delta`, at
        least 0: the result holds a `verdict` on it.  State it before seeing the scores.
    allow_reversed : bool
        Whether scores are audited as they are where the area under their curve, of members against
        others, lies below 1/2 beyond its interval of 95 % (at any `confidence`).  By default they
        are an error: a forgotten sign would prove 0.
    null : TradeOff, optional
        A symmetric curve that the training is claimed to keep to, of adding or removing a row: the
        result holds the `p_value` of that claim.  Of Gaussian curves `mu_lower` of the result is
        the largest mu that is refuted.
    rng : int, Generator or SeedSequence
        Seed of the order of tied scores, fixed by default: the best of several seeds is no bound.

    Returns
    -------
    OneRunResult

    Raises
    ------
    ValueError
        For no canaries, NaN among the scores, flags other than 0 and 1, all the same or not of fair
        coins, scores that point the other way, guesses that are more than the canaries, and
        parameters out of range.

    Warns
    -----
    UserWarning
        For fewer flags than are refused that alternate or have all members on one side, as coins
        have with probability 1e-3 at most; for sorted scores that prove nothing.

    See Also
    --------
    audit : scores of separate runs.

    Notes
    -----
    Steinke, Nasr and Jagielski (NeurIPS 2023, Theorem 5.2): of r guesses, the number of right ones
    is W with ``P(W >= v) <= P(B >= v) + 2 m delta max over i of P(v > B >= v-i)/i``, B binomial
    with r trials and probability ``e^epsilon/(1 + e^epsilon)``.  The bound is where this reaches
    ``1 - confidence``.  It grows with the number of canaries only to about the logarithm of it, so
    that one run proves less than many.

    Of curves, Mahloujifar, Melis and Chaudhuri (ICML 2025): the law of the number of right guesses
    keeps to ``sum_{j >= v} j p_j / m <= h(sum_{j >= v} (r - j + 1) p_{j-1} / m)`` for every v, with
    ``h`` the power at a false-positive rate; the p-value is the largest P(W >= v) of such a law.
    For Gaussian noise that is larger evidence than an epsilon at a delta.

    Epsilon is one of adding or removing a row, unlike that of :func:`audit`: a canary is in the
    data, or nothing is in its place.  Equal scores of all canaries prove nothing.

    **Accuracy.**  Tails and probabilities to 1e-13; the bound is rounded down by 1e-9, and the
    p-value of a curve up, by 1e-5 of its value for up to 100,000 canaries.

    **Cost.**  One sort, and for each choice one p-value or a search of some ten; if delta > 0, each
    takes as many probabilities as there are guesses between the count and its mean, twice or more:
    0.3 s and 0.9 s for a million canaries.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import one_run_audit
    >>> rng = np.random.default_rng(0)
    >>> member = rng.integers(0, 2, 1000)
    >>> result = one_run_audit(rng.normal(3.0 * member), member, delta=1e-5, guesses=(100, 100))
    >>> result.guesses, result.correct
    ((100, 100), 200)
    >>> f"{result.epsilon_lower:.4f}"
    '4.1665'
    """
    higher_is_member = as_flag(higher_is_member, "higher_is_member")
    allow_reversed = as_flag(allow_reversed, "allow_reversed")
    named = cautions_of_names(higher_is_member, allow_reversed, member=member, scores=scores)
    values, flags = canaries_of(scores, member)
    named = cautions_of_index(scores, member, flags) + named
    delta, level = as_delta(delta), as_confidence(confidence)
    claim = as_claim(claimed_epsilon, delta)
    choices = choices_of(guesses, values.size, delta, 1.0 - level)
    worlds = values[flags == 1], values[flags == 0]
    order = Order.of(*worlds, higher_is_member=higher_is_member, rng=0)
    refuse_repeats(order, ("scores", "scores"))
    refuse_repeated_coins(flags)
    if not allow_reversed:
        require_direction(order, higher_is_member=higher_is_member, one_run=True)
    copies = check_resampled(order, ("scores", "scores"))
    if not higher_is_member:
        values = -values
    below = members_below(values, flags, rng)
    size, is_flat = values.size, values.min() == values.max()
    epsilon, chosen, right = best_bound(choices, below, delta)
    warn_of_order(values, epsilon)
    counts = [0 if is_flat else right_guesses(below, *pair) for pair, _ in choices]
    p_value = None
    if null is not None:
        from mialeak.auditing._one_run_curves import curve_p_value

        p_value = curve_p_value(null, choices, counts, size)
    return OneRunResult(
        epsilon_lower=0.0 if is_flat else epsilon,
        guesses=chosen,
        correct=right,
        n_canaries=size,
        delta=delta,
        confidence=level,
        claimed_epsilon=claim,
        p_value=p_value,
        _members=int(below[size]),
        _cautions=[*copies, *cautions_of(order, higher_is_member=higher_is_member), *named],
        _is_higher=higher_is_member,
        _choices=choices,
        _right=counts,
    )


def members_below(values: FloatArray, flags: IntArray, rng: Any) -> IntArray:
    """How many members are among the k smallest scores, for k = 0, 1, ...; ties in random order."""
    shuffled = as_rng(rng).permutation(values.size)
    rising = flags[shuffled[np.argsort(values[shuffled], kind="stable")]]
    return np.concatenate([[0], np.cumsum(rising)])


def right_guesses(below: IntArray, plus: int, minus: int) -> int:
    """How many guesses are right, of the largest scores in and of the smallest out."""
    return int(below[-1] - below[below.size - 1 - plus] + minus - below[minus])


def best_bound(
    choices: Choices, below: IntArray, delta: float
) -> tuple[float, tuple[int, int], int]:
    """The largest bound of the choices, its guesses, and how many of them are right."""
    size, best = below.size - 1, (-1.0, choices[0][0], 0)
    for (plus, minus), share in choices:
        right = right_guesses(below, plus, minus)
        if best[0] >= 0.0 and _p_value(right, plus + minus, best[0], size, delta) > share:
            continue  # proves less
        epsilon = _epsilon(right, plus + minus, size, delta, share)
        best = max(best, (epsilon, (plus, minus), right))
    return best


def one_run_p_value(
    correct: int, guesses: int, epsilon: float, *, delta: float = 0.0, n_canaries: int | None = None
) -> float:
    """The largest probability of so many right guesses under (epsilon, delta)-privacy.

    Parameters
    ----------
    correct, guesses : int
        Right guesses, and all of them: ``0 <= correct <= guesses``.
    epsilon : float
        At least 0.
    delta : float
        In [0, 1]; of 1 nothing is claimed, and the p-value is 1.
    n_canaries : int, optional
        Canaries, the abstained among them; as many as guesses by default.

    Returns
    -------
    float

    Examples
    --------
    >>> from mialeak.auditing import one_run_p_value
    >>> f"{one_run_p_value(75, 100, 1.0):.5f}"
    '0.38272'
    """
    guesses = as_count(guesses, "guesses")
    correct = as_count(correct, "correct", most=guesses)
    canaries = guesses if n_canaries is None else as_count(n_canaries, "n_canaries", least=guesses)
    rate = float(as_floats(epsilon, "epsilon", ndim=0))
    require(rate >= 0.0, rate, "epsilon", "be at least 0")
    failure = as_float(delta, "delta")
    require(0.0 <= failure <= 1.0, failure, "delta", "be between 0 and 1")
    return _p_value(correct, guesses, rate, canaries, failure)


def _p_value(correct: int, guesses: int, epsilon: float, canaries: int, delta: float) -> float:
    if correct == 0:
        return 1.0
    wrong = float(expit(-epsilon))  # the probability of a wrong guess, small: keeps its digits
    tail = float(betaincc(guesses - correct + 1, correct, wrong))
    if delta == 0.0:
        return tail
    return min(tail + 2.0 * canaries * delta * _slope(correct, guesses, wrong), 1.0)


def _slope(correct: int, guesses: int, wrong: float) -> float:
    """The largest mean of the first of P(B = correct-1), P(B = correct-2), ...

    These rise to the mode and then fall, and so do their means: one that has a lower mean after it
    is the largest.
    """
    count = min(_FIRST, correct)
    while True:
        terms = np.arange(1.0, count + 1.0)
        below = np.cumsum(np.exp(binom_logpmf(guesses - correct + terms, float(guesses), wrong)))
        means = below / terms
        peak = int(np.argmax(means))
        if count == correct or (peak < count - 1 and means[peak] > 0.0):
            return float(means[peak])
        count = min(4 * count, correct)


def _epsilon(correct: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """Where the p-value reaches the level; 0 if it is above it at once."""
    from scipy.optimize import brentq

    def evidence(epsilon: float) -> float:
        p = _p_value(correct, guesses, epsilon, canaries, delta)
        return float(np.log(level) - np.log(max(p, 1e-300)))

    if evidence(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 2.0
    while evidence(high) > 0.0:
        low, high = high, 2.0 * high
    root: float = brentq(evidence, low, high, xtol=_TOLERANCE)
    return max(root - _MARGIN, 0.0)


def choices_of(guesses: Any, size: int, delta: float, error: float) -> Choices:
    """Pairs of guesses, and the share of the error of each; from nothing but these numbers."""
    if guesses is None:
        return _halves(size, delta, error)
    pairs = _pairs(guesses, size)
    return [(pair, error / len(pairs)) for pair in pairs]


def _halves(size: int, delta: float, error: float) -> Choices:
    """The default choices."""
    growth = min(1.0 + 2.0 * size * delta, _GROWTH)
    halves, shares = [size // 2], [error]
    while half := halves[-1] // 2:
        weights = growth ** np.arange(len(halves) + 1.0)
        more = (error * weights / weights.sum()).tolist()
        if _p_value(2 * half, 2 * half, _REACH, size, delta) > more[-1]:
            break
        halves, shares = [*halves, half], more
    return [((half, half), share) for half, share in zip(halves, shares, strict=True)]


def _pairs(guesses: Any, size: int) -> list[tuple[int, int]]:
    """The choices stated, checked."""
    rule = "be a pair (k_plus, k_minus), such as (50, 50), or a sequence of pairs"
    if not isinstance(guesses, Iterable):
        invalid("guesses", rule, value=guesses, error=TypeError)
    pairs: list[Any] = list(guesses)
    if len(pairs) == 2 and not any(isinstance(part, Iterable) for part in pairs):
        pairs = [pairs]
    choices = []
    for place, pair in enumerate(pairs):
        parts = list(pair) if isinstance(pair, Iterable) else []
        if len(parts) != 2:
            invalid("guesses", rule, index=place, value=pair)
        plus, minus = (as_count(part, f"guesses[{place}]") for part in parts)
        if not 1 <= plus + minus <= size:
            invalid(
                "guesses",
                f"be at least 1 and at most all {size} canaries together",
                index=place,
                value=(plus, minus),
            )
        choices.append((plus, minus))
    if not choices:
        invalid("guesses", "have at least one choice")
    return choices
