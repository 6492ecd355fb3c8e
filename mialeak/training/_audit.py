"""An audit of DP-SGD in one run: coins, training, scores and guesses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln

from mialeak._arrays import FloatArray, as_count, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._report.text import at_least, at_most
from mialeak._results import Kind, Result
from mialeak.auditing import OneRunResult, audit, one_run_audit
from mialeak.tradeoff import GaussianTradeOff, compose
from mialeak.training._attack import CovarianceAttack

__all__ = ["DPSGDAudit", "dp_sgd_audit"]

Verdict = Literal["refuted", "not refuted", "proved", "untested"]

#: Scores that know nothing give so few right guesses with this probability at most.
_REVERSED = 5e-4
#: Scores that coins have a part in are sorted with this probability at most.
_CHANCE = 1e-6
#: Areas under the curve that canaries lose to one another before they are called hidden.
_HIDDEN = 0.05
#: An area under the curve that is enough: 100 such canaries without noise refute an epsilon of 2.
_STRONG = 0.95
#: The largest number of canaries that a remedy names.
_MOST = 1 << 20
#: Share of the stated noise below which the noise that the steps show is named.
_LESS = 0.9
#: Times the stated noise above which the known rows do not explain the steps.
_MORE = 1.5


@dataclass(frozen=True, repr=False, eq=False)
class DPSGDAudit(Result):
    """What one training with canaries proves, and how.

    Attributes
    ----------
    bound : OneRunResult
        Its ``epsilon_lower`` is what is proved.
    member : ndarray of bool, shape (m,)
        Which canaries were in.
    scores : ndarray, shape (m,)
        What the training gave for each.
    guesses : ndarray of int, shape (m,)
        1 for those guessed in, -1 for those guessed out, 0 for the others.
    verdict : str
        "refuted": more is proved than is claimed, of epsilon or of mu.  "proved": an epsilon above
        0 is proved, and none was claimed.  "not refuted": the claim stands against an audit that
        refuted it for the control.  "untested": nothing that was asked for is proved, and no
        control was caught.  That is no evidence about the training.
    statement : str
        The verdict as a sentence.
    mu_lower : float or None
        The training is not mu-Gaussian differentially private for any smaller mu.  Where the
        training returned a :class:`CovarianceAttack` with known rows and "every-step", and the
        clipped canaries are orthogonal, of one length and the same at each step, as
        :func:`dirac_canary` makes them: no canary then changes another's score.  It holds together
        with `bound`, each with half of the error, and is that of ``method="rank-sum"`` of
        :func:`mialeak.auditing.audit`: at a confidence of 95 % a correct training is
        refuted by mu with probability 2.5 % (which its noise spends in full: give or take 0.5 for
        the fixed seed of :func:`mialeak.auditing.audit`), and by either with 5 % at most.
    accountant_epsilon : float or None
        The epsilon at delta that follows from the noise multiplier, sampling rate and steps of such
        an attack: what an accountant states, by :func:`mialeak.compose`; an upper bound where the
        steps are so few and their rate so small that only an enclosure is known.
    noise_multiplier : float or None
        The noise that the steps show, of such an attack.
    control : DPSGDAudit or None
        The audit of the control.
    kind : str
        "bound".

    Notes
    -----
    An attack that is a coin proves 0 of a training without any noise.  In six settings of real
    DP-SGD runs (no noise, clipping forgotten, a tenth of the noise; 36 runs in all) the attack
    without known rows proved 0 each time: only the control shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.training import dp_sgd_audit
    >>> result = dp_sgd_audit(lambda member: member + np.arange(100) / 200, 100, rng=0)
    >>> result.member.size, f"{result.bound.epsilon_lower:.2f}"
    (100, '2.57')
    """

    bound: OneRunResult
    member: npt.NDArray[np.bool_] = field(repr=False)
    scores: FloatArray = field(repr=False)
    guesses: npt.NDArray[np.int64] = field(repr=False)
    verdict: Verdict
    statement: str = field(repr=False)
    mu_lower: float | None = None
    accountant_epsilon: float | None = None
    noise_multiplier: float | None = None
    control: DPSGDAudit | None = field(default=None, repr=False)
    kind: Kind = "bound"
    _attack: CovarianceAttack | None = field(default=None, repr=False, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values (str, int, float, list, dict), ready for JSON."""
        content = replace(self, _attack=None)
        return {name: value for name, value in Result.to_dict(content).items() if name[0] != "_"}


def dp_sgd_audit(
    train: Callable[[npt.NDArray[np.bool_]], Any],
    n_canaries: int,
    *,
    control: Callable[[npt.NDArray[np.bool_]], Any] | None = None,
    guesses: Any = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    claimed_epsilon: Any = None,
    rng: Any = None,
) -> DPSGDAudit:
    """Lower bound on the epsilon of a training procedure from one run with many canaries.

    Parameters
    ----------
    train : callable
        ``train(member)`` trains on the fixed examples and on the canaries where member, shape
        (m,), is True, and returns a score for each canary: larger means more likely in.  White
        box, the :class:`CovarianceAttack` itself, which has seen the steps; black box, the losses
        of the canaries with the sign turned.
    n_canaries : int
        m, at least 2.
    control : callable, optional
        The same training broken on purpose, with the noise off: as `train`, and run first, with
        coins of its own.  It has to be caught: where the same audit does not prove more than the
        claim of it, a proof of 0 for `train` means nothing and is "untested".
    guesses : (int, int), or sequence of these, optional
        How many of the highest scores to guess in, and of the lowest out, as in
        :func:`mialeak.auditing.one_run_audit`.
    delta, confidence : float
        As there.
    claimed_epsilon : float, optional
        The epsilon that the training is claimed to have at `delta`.  By default what an accountant
        states for the attack that `train` returns, if its ``noise_multiplier`` is given.
    rng : seed or numpy.random.Generator, optional
        For the coins that put canaries in, and the order of equal scores.

    Returns
    -------
    DPSGDAudit
        Its ``verdict`` is "untested" where nothing is proved and no control was caught.

    Raises
    ------
    TypeError
        If train is no function.
    ValueError
        If train returns other than m numbers, a NaN, or the coins in place of scores; before the
        training, if one_run_audit refuses its parameters, or the coins of so few canaries fell on
        one side.

    Warns
    -----
    UserWarning
        Before the training, if even a perfect attack on so many canaries cannot refute
        `claimed_epsilon`, with what it proves and the number of canaries that can.

    See Also
    --------
    select_canaries : canaries that prove more.

    Notes
    -----
    [AB24] Algorithm 5, with the bound of Steinke, Nasr and Jagielski (2023).  The epsilon is one
    of adding or removing a row.  The scores may use everything the training releases but not
    `member`: the bound holds only if the coins enter through the training alone.

    An epsilon of one run shows noise that was forgotten, not noise that is half of what it should
    be: with 1,000 orthogonal canaries a bound of 1.4 at a claim of 2.0.  Their `mu_lower` refutes
    that claim with 300.

    Scores that point the other way are no error here, since the training is made and their scores
    are in the result: the statement names them.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.training import dp_sgd_audit
    >>> noise = np.random.default_rng(1).normal(size=1000)
    >>> audit = dp_sgd_audit(lambda member: 4.0 * member + noise, 1000, guesses=(50, 50), rng=2)
    >>> audit.bound.correct, round(audit.bound.epsilon_lower, 2)
    (100, 3.49)

    A run without noise as the control, and the attack of an auditor who knows the rows:

    >>> from mialeak import CovarianceAttack
    >>> def train(member, noise=3.0):
    ...     rows, canaries = np.ones((50, 400)) / 20, np.eye(200, 400)
    ...     released = rows.sum(axis=0) + canaries[member].sum(axis=0)
    ...     released += noise * np.random.default_rng(5).normal(size=400)
    ...     attack = CovarianceAttack(
    ...         known=rows, batch_size=50, noise_multiplier=3.0, clip_norm=1.0
    ...     )
    ...     _ = attack.update(canaries, released / 50)
    ...     return attack
    >>> audit = dp_sgd_audit(train, 200, control=lambda m: train(m, 0.0), delta=1e-5, rng=1)
    >>> print(audit.statement)
    The claimed epsilon 1.27 is not refuted: 0.1738 is proved, and 3.001 of the control.
    """
    count = as_count(n_canaries, "n_canaries", least=2)
    for name, function in (("train", train), ("control", control)):
        if not callable(function) and (name == "train" or function is not None):
            rule = "be a function of member that returns a score for each canary"
            invalid(name, rule, value=function, error=TypeError)
    generator = as_rng(rng)
    member = _coins(generator, count)
    options: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "guesses": guesses,
        "claimed_epsilon": claimed_epsilon,
        "allow_reversed": True,
    }
    trial = np.roll(np.arange(count) + 0.5, 1)  # in no order that would be named
    before = one_run_audit(trial, member, **options)  # refuses before the training
    if before.verdict == "not testable":
        _warn_if_not_testable(before, guesses)
    checked = None
    if control is not None:
        coins = _coins(generator, count)
        checked = _audited(control(coins.copy()), "control(member)", coins, generator, options)
    result = _audited(train(member.copy()), "train(member)", member, generator, options)
    if checked is None:
        return result
    verdict, statement = _judge(result, checked)
    return replace(result, control=checked, verdict=verdict, statement=statement)


def _coins(generator: np.random.Generator, count: int) -> npt.NDArray[np.bool_]:
    member = generator.random(count) < 0.5
    if member.all() or not member.any():
        remedy = "Of 20 canaries all are on one side twice in a million runs"
        invalid("n_canaries", f"be more; the coins of all {count} fell on one side", remedy=remedy)
    return member


def _warn_if_not_testable(before: OneRunResult, guesses: Any) -> None:
    """State what the audit can prove at most, before the training."""
    claim, count = before.claimed_epsilon, before.n_canaries
    remedy = ""
    if guesses is None:
        while count < _MOST:
            count *= 2
            coins = np.random.default_rng(count).permutation(np.arange(count) % 2 == 0)
            options: dict[str, Any] = {"delta": before.delta, "confidence": before.confidence}
            perfect = one_run_audit(coins + np.linspace(0.0, 0.5, count), coins, **options)
            if perfect.epsilon_lower > (claim or 0.0):
                remedy = f"; {count} canaries can"
                break
    warnings.warn(
        f"this audit can prove at most {at_least(before.provable_epsilon)}: even a perfect attack "
        f"on {before.n_canaries} canaries does not refute claimed_epsilon = {claim:g}{remedy}",
        stacklevel=3,
    )


def _audited(
    outcome: Any,
    name: str,
    member: npt.NDArray[np.bool_],
    generator: np.random.Generator,
    options: dict[str, Any],
) -> DPSGDAudit:
    """The audit of one training, from its scores or its attack."""
    attack = outcome if isinstance(outcome, CovarianceAttack) else None
    scores = as_floats(outcome if attack is None else attack.scores(), name, ndim=1)
    count = member.size
    if scores.size != count:
        invalid(name, f"be {count} scores, one a canary; its shape is {scores.shape}")
    require(~np.isnan(scores), scores, name, "not be NaN")
    if attack is None:
        _refuse_coins(scores, name, member)
        _refuse_order(outcome, scores, name)
    stated = _stated_epsilon(attack, options["delta"])
    if stated is not None and options["claimed_epsilon"] is None and np.isfinite(stated):
        options = {**options, "claimed_epsilon": stated}
    plain = None if attack is None else attack._independent_scores
    if plain is not None:  # two bounds, each with half of the error
        options = {**options, "confidence": 0.5 + 0.5 * options["confidence"]}
    order, ranks = _ranked(scores, generator)
    # One place further: the verdict names sorted scores itself.
    bound = one_run_audit(np.roll(ranks, 1), np.roll(member, 1), **options)
    if scores.min() == scores.max():  # their ranks are coins of this function
        bound = replace(bound, epsilon_lower=0.0)
    mu = None
    if plain is not None:
        ranks = _ranked(plain, generator)[1]
        level = options["confidence"]
        worlds = ranks[member], ranks[~member]
        mu = audit(*worlds, confidence=level, method="rank-sum", allow_reversed=True).mu_lower
        mu = 0.0 if plain.min() == plain.max() else mu
    plus, minus = bound.guesses
    guessed = np.zeros(count, np.int64)
    guessed[order[count - plus :]] = 1
    guessed[order[:minus]] = -1
    seen = getattr(attack, "noise_multiplier_", None)
    result = DPSGDAudit(
        bound, member, scores, guessed, "untested", "", mu, stated, seen, _attack=attack
    )
    verdict, statement = _judge(result, None)
    return replace(result, verdict=verdict, statement=statement)


def _refuse_order(outcome: Any, scores: FloatArray, name: str) -> None:
    """Refuse scores whose labels (of pandas) have another order than the coins."""
    remedy = "Return the score of each canary, in the order of member"
    labels: Any = getattr(outcome, "index", None)
    if labels is not None and not callable(labels):
        places = list(labels)
        if places != list(range(scores.size)) and set(places) == set(range(scores.size)):
            rule = f"have its index in the order of member; its first label is {places[0]!r}"
            invalid(name, rule, remedy=remedy + ", or an array")


def _refuse_coins(scores: FloatArray, name: str, member: npt.NDArray[np.bool_]) -> None:
    """Refuse the coins as scores: one value for all members and another for all others.

    -1 and 1 are the guesses of an attack; two canaries have two scores.
    """
    values = np.unique(scores)
    is_one_each = values.size == 2 < scores.size and len({*zip(scores, member, strict=True)}) == 2
    if is_one_each and not np.array_equal(values, [-1.0, 1.0]):
        rule = (
            f"be scores of an attack; they are {values[0]:g} and {values[1]:g} as the coins that "
            "put canaries in are, and no output of the training"
        )
        remedy = "Return the score of each canary, by the model that was trained. Write the "
        invalid(name, rule, remedy=f"{remedy}guesses of an attack as -1 and 1")


def _ranked(
    scores: FloatArray, generator: np.random.Generator
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Order of the scores, equal ones at random, and their ranks: never the flags themselves."""
    shuffled = generator.permutation(scores.size)
    order = shuffled[np.argsort(scores[shuffled], kind="stable")]
    ranks = np.empty(scores.size)
    ranks[order] = np.arange(scores.size) + 0.5
    return order, ranks


def _stated_epsilon(attack: CovarianceAttack | None, delta: float) -> float | None:
    """What an accountant states of the steps that an attack has seen."""
    if attack is None or attack.participation == "one-step" or attack.noise_multiplier == 0.0:
        return None
    rate = attack.sampling_rate or 1.0
    return steps_epsilon(attack.noise_multiplier, rate, attack.n_steps_seen_, float(delta))


def steps_epsilon(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Epsilon at delta of adding or removing a row, for `steps` steps; infinite without noise."""
    if noise_multiplier == 0.0:
        return np.inf
    curve = compose(GaussianTradeOff(1.0 / noise_multiplier).subsample(rate), counts=steps)
    try:
        return float(curve.epsilon(delta))
    except ArithmeticError:
        return float(curve.enclosure(delta=delta).upper)


def _stated_mu(result: DPSGDAudit) -> float | None:
    """The mu of the stated noise, where a bound on mu stands beside it."""
    attack = result._attack
    if result.mu_lower is None or attack is None or attack.noise_multiplier == 0.0:
        return None
    return float(np.sqrt(attack.n_steps_seen_) / attack.noise_multiplier)


def _judge(result: DPSGDAudit, control: DPSGDAudit | None) -> tuple[Verdict, str]:
    """The verdict, and the sentence that states it."""
    bound = result.bound
    claim, epsilon = bound.claimed_epsilon, bound.epsilon_lower
    shown = _shown_noise(result)
    if bound.verdict == "refuted":
        lead = f"The claimed epsilon {claim:.3g} is refuted: {at_most(epsilon)} is proved."
        return "refuted", " ".join([lead, *shown])
    stated, mu = _stated_mu(result), result.mu_lower
    if stated is not None and mu is not None and mu > stated:
        lead = (
            f"The stated noise is refuted: mu is at least {at_most(mu)}, and {stated:.3g} stated."
        )
        return "refuted", " ".join([lead, *shown])
    if claim is None and epsilon > 0.0:
        return "proved", " ".join([f"Epsilon is at least {at_most(epsilon)}.", *shown])
    sentences = []
    misread = _misread(result.scores)
    if control is not None:
        reached = control.bound.epsilon_lower
        if not misread and reached > (claim or 0.0) and epsilon < reached:
            of_claim = "Nothing" if claim is None else f"The claimed epsilon {claim:.3g}"
            verb = "is proved" if claim is None else "is not refuted"
            lead = f"{of_claim} {verb}: {at_most(epsilon)} is proved, and {at_most(reached)} of the"
            hidden = _hidden(result, sampled=False)
            return "not refuted", " ".join([f"{lead} control.", *hidden, *shown])
        if not misread:
            sentences = [f"The control was not caught: {at_most(reached)} is proved of it."]
            theirs = [_misread(control.scores), *_hidden(control)]
            if any(theirs):
                sentences.append(f"Of the control: {' '.join(filter(None, theirs))}")
    asked = (
        "Nothing is proved" if claim is None else f"The claimed epsilon {claim:.3g} is not tested"
    )
    if misread:
        sentences = [f"{asked}. {misread}"]
    elif control is None:
        sentences = [
            f"{asked}. This means nothing until a control is caught: the same audit of a training "
            "broken on purpose, without noise for instance, must prove more."
        ]
    else:
        sentences.insert(0, f"{asked}.")
    right, made = bound.correct, int(np.count_nonzero(result.guesses))
    if epsilon > 0.0:
        sentences.append(f"Proved is an epsilon of {at_most(epsilon)}.")
    if bdtr(right, made, 0.5) <= _REVERSED:
        sentences.append(
            f"The scores point the other way: {right} of {made} guesses are right. A score has to "
            "be larger for a member."
        )
    if claim is not None and bound.verdict == "not testable":
        most = bound.provable_epsilon
        sentences.append(
            f"With so many canaries even a perfect attack proves at most {at_least(most)}."
        )
    hidden = _hidden(result, sampled=control is None)
    return "untested", " ".join([*sentences, *hidden, *shown])


def _misread(scores: FloatArray) -> str:
    """What is wrong with scores that cannot be those of canaries in the order of the coins.

    Coins that have a part in the scores sort them with the probability of a random order.
    """
    counts = np.unique(scores, return_counts=True)[1]
    if counts.size == 1:
        return "All scores are equal: no coin has a part in them."
    steps = np.diff(scores)
    chance = np.log(2.0) + gammaln(counts + 1.0).sum() - gammaln(scores.size + 1.0)
    if chance > np.log(_CHANCE) or not ((steps >= 0.0).all() or (steps <= 0.0).all()):
        return ""
    return (
        "The scores are sorted, and no longer in the order of the canaries. Return the score of "
        "each canary in the order of member."
    )


def _hidden(result: DPSGDAudit, *, sampled: bool = True) -> list[str]:
    """What the gradients of the canaries allow, where it is little or less than that of one.

    Of Poisson batches, where noise and hiding look alike, with `sampled` only.
    """
    if result._attack is None or result._attack._run is None:
        return []
    together, alone = result._attack._run.areas()
    cure = "Take others: of random inputs, or orthogonal ones."
    lead = "by their gradients and this noise the area under the curve of the best attack is"
    if alone is None:
        is_weak = sampled and together <= _STRONG
        return [f"For these canaries, {lead} about {together:.2f}. {cure}"] if is_weak else []
    if alone - together < _HIDDEN:
        return []
    return [
        f"The canaries hide one another: {lead} {together:.2f}, and {alone:.2f} if one were alone. "
        f"{cure}"
    ]


def _shown_noise(result: DPSGDAudit) -> list[str]:
    """What the steps show of noise and clipping, where it is less than stated."""
    attack, seen = result._attack, result.noise_multiplier
    if attack is None or seen is None or attack.clip_norm is None:
        return []
    sentences = []
    stated = attack.noise_multiplier
    if seen < _LESS * stated:
        sentences.append(f"The steps show a noise multiplier of {seen:.3g}; {stated:g} is stated.")
    elif seen > _MORE * stated > 0.0:
        sentences.append(
            f"The steps show a noise multiplier of {seen:.3g}, more than the stated {stated:g}: "
            "the known rows, the batch size or the sampling rate may not be those of the training."
        )
    if not attack.clipped_:
        sentences.append("The steps are more likely with gradients that were not clipped.")
    return sentences
