"""An audit of DP-SGD in one run: coins, training, scores and guesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._report.text import at_least
from mialeak._warnings import warn
from mialeak.auditing import OneRunResult, audit, one_run_audit
from mialeak.tradeoff import GaussianTradeOff, compose
from mialeak.training._attack import CovarianceAttack
from mialeak.training._verdict import DPSGDAudit, judge

__all__ = ["dp_sgd_audit"]

#: The largest number of canaries that a remedy names.
_MOST = 1 << 20
#: Scores of so many values are not the same in two trainings by chance.
_VALUES = 10


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
        If train returns other than m numbers, a NaN, the coins in place of scores, or the scores
        of the control; before the training, if one_run_audit refuses its parameters, or the coins
        of so few canaries fell on one side.

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
    _refuse_scores_of_control(result.scores, checked.scores)
    verdict, statement = judge(result, checked)
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
    warn(
        f"this audit can prove at most {at_least(before.provable_epsilon)}: even a perfect attack "
        f"on {before.n_canaries} canaries does not refute claimed_epsilon = {claim:g}{remedy}",
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
    verdict, statement = judge(result, None)
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


def _refuse_scores_of_control(scores: FloatArray, control: FloatArray) -> None:
    """Refuse the scores of the control: with coins of its own a training has others."""
    if np.array_equal(scores, control) and np.unique(scores).size >= _VALUES:
        rule = (
            f"train anew with the coins of its call; its {scores.size} scores are those of the "
            "control, as where a checkpoint or a cache of the earlier training is loaded"
        )
        remedy = "Remove it before each call, or write to another path"
        invalid("train", rule, remedy=remedy)


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
