"""An audit of DP-SGD in one run: coins, training, scores and guesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from mialeak._arrays import FloatArray, as_count, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._report.text import at_least, at_most
from mialeak._results import Kind, Result
from mialeak.auditing import OneRunResult, one_run_audit

__all__ = ["DPSGDAudit", "dp_sgd_audit"]

#: Scores that know nothing give so few right guesses with this probability at most.
_REVERSED = 5e-4


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
        "refuted": more than the claimed epsilon is proved.  "proved": an epsilon above 0 is proved,
        and none was claimed.  "untested": nothing that was asked for is proved.  This proves
        nothing about the training until a control is caught: the same audit of a training that is
        broken on purpose (without noise, for instance) has to prove more than the claim.
    statement : str
        The verdict as a sentence.
    kind : str
        "bound".

    Notes
    -----
    An attack that is a coin proves 0 of a training without any noise.  In six settings of real
    DP-SGD runs (no noise, clipping forgotten, a tenth of the noise; 36 runs in all) the attack of
    the guide proved 0 each time: only the control shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.training import dp_sgd_audit
    >>> result = dp_sgd_audit(lambda member: 1.0 * member, 100, rng=0)
    >>> result.member.size, f"{result.bound.epsilon_lower:.2f}"
    (100, '2.57')
    """

    bound: OneRunResult
    member: npt.NDArray[np.bool_] = field(repr=False)
    scores: FloatArray = field(repr=False)
    guesses: npt.NDArray[np.int64] = field(repr=False)
    verdict: Literal["refuted", "proved", "untested"]
    statement: str = field(repr=False)
    kind: Kind = "bound"


def dp_sgd_audit(
    train: Callable[[npt.NDArray[np.bool_]], Any],
    n_canaries: int,
    *,
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
        box, :meth:`CovarianceAttack.scores` of the canaries' gradients; black box, their losses
        with the sign turned.
    n_canaries : int
        m, at least 2.
    guesses : (int, int), or sequence of these, optional
        How many of the highest scores to guess in, and of the lowest out, as in
        :func:`mialeak.auditing.one_run_audit`.
    delta, confidence : float
        As there.
    claimed_epsilon : float, optional
        The epsilon that the training is claimed to have at `delta`.
    rng : seed or numpy.random.Generator, optional
        For the coins that put canaries in, and the order of equal scores.

    Returns
    -------
    DPSGDAudit
        Its ``verdict`` is "untested" where nothing is proved: audit a training that is broken on
        purpose, as a control, before a proof of 0 is believed.

    Raises
    ------
    TypeError
        If train is no function.
    ValueError
        If train returns other than m numbers, or a NaN; before the training, if one_run_audit
        refuses its parameters, or the coins of so few canaries fell on one side.

    See Also
    --------
    select_canaries : canaries that prove more.

    Notes
    -----
    [AB24] Algorithm 5, with the bound of Steinke, Nasr and Jagielski (2023).  The epsilon is one
    of adding or removing a row.  The scores may use everything the training releases but not
    `member`: the bound holds only if the coins enter through the training alone.

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
    """
    count = as_count(n_canaries, "n_canaries", least=2)
    if not callable(train):
        rule = "be a function of member that returns a score for each canary"
        invalid("train", rule, value=train, error=TypeError)
    generator = as_rng(rng)
    member = generator.random(count) < 0.5
    if member.all() or not member.any():
        remedy = "Of 20 canaries all are on one side twice in a million runs"
        invalid("n_canaries", f"be more; the coins of all {count} fell on one side", remedy=remedy)
    options: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "guesses": guesses,
        "claimed_epsilon": claimed_epsilon,
        "allow_reversed": True,
    }
    one_run_audit(
        np.arange(count) + 0.5, member, **options
    )  # refuses before the training, not after
    scores = as_floats(train(member.copy()), "train(member)", ndim=1)
    if scores.size != count:
        invalid("train(member)", f"be {count} scores, one a canary; its shape is {scores.shape}")
    require(~np.isnan(scores), scores, "train(member)", "not be NaN")
    shuffled = generator.permutation(count)
    order = shuffled[np.argsort(scores[shuffled], kind="stable")]
    ranks = np.empty(count)
    ranks[order] = np.arange(count) + 0.5  # never the flags themselves
    bound = one_run_audit(ranks, member, **options)
    if scores.min() == scores.max():  # their ranks are coins of this function
        bound = replace(bound, epsilon_lower=0.0)
    plus, minus = bound.guesses
    guessed = np.zeros(count, np.int64)
    guessed[order[count - plus :]] = 1
    guessed[order[:minus]] = -1
    verdict, statement = _judge(bound, guessed)
    return DPSGDAudit(bound, member, scores, guessed, verdict, statement)


def _judge(
    bound: OneRunResult, guesses: npt.NDArray[np.int64]
) -> tuple[Literal["refuted", "proved", "untested"], str]:
    """The verdict, and the sentence that states it."""
    claim, epsilon = bound.claimed_epsilon, bound.epsilon_lower
    if bound.verdict == "refuted":
        return "refuted", f"The claimed epsilon {claim:g} is refuted: {at_most(epsilon)} is proved."
    if claim is None and epsilon > 0.0:
        return "proved", f"Epsilon is at least {at_most(epsilon)}."
    asked = "Nothing is proved" if claim is None else f"The claimed epsilon {claim:g} is not tested"
    sentences = [
        f"{asked}. This means nothing until a control is caught: the same audit of a training "
        "broken on purpose, without noise for instance, must prove more."
    ]
    right, made = bound.correct, int(np.count_nonzero(guesses))
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
    return "untested", " ".join(sentences)
