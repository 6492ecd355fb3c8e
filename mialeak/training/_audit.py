"""An audit of DP-SGD in one run: coins, training, scores and guesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._results import Kind, Result
from mialeak.auditing import OneRunResult, one_run_audit

__all__ = ["DPSGDAudit", "dp_sgd_audit"]


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
    kind : str
        "bound".

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
    kind: Kind = "bound"


def dp_sgd_audit(
    train: Callable[[npt.NDArray[np.bool_]], Any],
    n_canaries: int,
    *,
    guesses: Any = None,
    delta: float = 0.0,
    confidence: float = 0.95,
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
    rng : seed or numpy.random.Generator, optional
        For the coins that put canaries in, and the order of equal scores.

    Returns
    -------
    DPSGDAudit

    Raises
    ------
    TypeError
        If train is no function.
    ValueError
        If train returns other than m numbers, or a NaN, or one_run_audit refuses its parameters.

    See Also
    --------
    select_canaries, rank_canaries : canaries that prove more.

    Notes
    -----
    [AB24] Algorithm 5, with the bound of Steinke, Nasr and Jagielski (2023).  The epsilon is one
    of adding or removing a row.  The scores may use everything the training releases but not
    `member`: the bound holds only if the coins enter through the training alone.

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
    scores = as_floats(train(member.copy()), "train(member)", ndim=1)
    if scores.size != count:
        invalid("train(member)", f"be {count} scores, one a canary; its shape is {scores.shape}")
    require(~np.isnan(scores), scores, "train(member)", "not be NaN")
    shuffled = generator.permutation(count)
    order = shuffled[np.argsort(scores[shuffled], kind="stable")]
    ranks = np.empty(count)
    ranks[order] = np.arange(count)
    bound = one_run_audit(ranks, member, delta=delta, confidence=confidence, guesses=guesses)
    plus, minus = bound.guesses
    guessed = np.zeros(count, np.int64)
    guessed[order[count - plus :]] = 1
    guessed[order[:minus]] = -1
    return DPSGDAudit(bound, member, scores, guessed)
