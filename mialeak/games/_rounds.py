"""The rounds of a membership game, as a result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._results import Kind, Result
from mialeak.tradeoff import EmpiricalTradeOff

__all__ = ["Rounds"]


@dataclass(frozen=True, repr=False, eq=False)
class Rounds(Result):
    """The rounds of a membership game.

    Attributes
    ----------
    member : ndarray of bool, shape (T,)
        Whether each round was played in the world *in*.
    scores : ndarray, shape (T,) or (T, s), or None
        Scores of the attack, if there was one.
    releases : ndarray, shape (T, d), or None
        The releases, if there was no attack.
    targets : ndarray, shape (T, d), or None
        The targets of a game that draws them, if there was no attack.
    references : ndarray, shape (T, d), or None
        Means of the reference rows of a game that draws them, if there was no attack.
    kind : str
        "estimate".

    Examples
    --------
    >>> from mialeak.games import FixedTargetGame
    >>> from mialeak.laws import Bernoulli
    >>> game = FixedTargetGame([1, 0], Bernoulli([0.3, 0.4]), n=10)
    >>> rounds = game.play(1000, score=lambda releases: releases @ [1, -1], rng=0)
    >>> rounds.in_scores.size + rounds.out_scores.size
    1000
    >>> rounds.tradeoff().kind
    'estimate'
    """

    member: npt.NDArray[np.bool_]
    scores: FloatArray | None = None
    releases: FloatArray | None = None
    targets: FloatArray | None = None
    references: FloatArray | None = None
    kind: Kind = "estimate"

    @property
    def in_scores(self) -> FloatArray:
        """Scores of the rounds in the world *in*."""
        return self._scored()[self.member]

    @property
    def out_scores(self) -> FloatArray:
        """Scores of the rounds in the world *out*."""
        return self._scored()[~self.member]

    def tradeoff(self, *, allow_reversed: bool = False) -> EmpiricalTradeOff:
        """The trade-off that the attack achieved.

        Parameters
        ----------
        allow_reversed : bool
            As for :class:`mialeak.tradeoff.EmpiricalTradeOff`.

        Returns
        -------
        EmpiricalTradeOff

        Raises
        ------
        ValueError
            If there was no attack, the attack returned several scores a round, or scores are
            larger *out*.
        """
        if self._scored().ndim != 1:
            rule = f"be one for each round; its shape is {self._scored().shape}"
            remedy = "Give EmpiricalTradeOff a column of in_scores and one of out_scores"
            invalid("scores", rule, remedy=remedy)
        return EmpiricalTradeOff(self.in_scores, self.out_scores, allow_reversed=allow_reversed)

    def _scored(self) -> FloatArray:
        if self.scores is None:
            rule = "be there, but the game was played without an attack"
            invalid("scores", rule, remedy="Pass score= to play")
        return self.scores

    def __repr__(self) -> str:
        given = [f.name for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)]
        shapes = ", ".join(f"{name}={getattr(self, name).shape}" for name in given[1:])
        worlds = f"{np.count_nonzero(self.member)} in, {np.count_nonzero(~self.member)} out"
        return f"Rounds({worlds}; {shapes})" if shapes else f"Rounds({worlds})"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values of the fields that are not None."""
        return {name: value for name, value in super().to_dict().items() if value is not None}
