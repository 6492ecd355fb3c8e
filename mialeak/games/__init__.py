"""Simulated membership games: the measured success of an attack on released means.

Rounds are drawn from the exact laws of the means, not row by row: a thousand rounds of a release of
5000 columns take less than a second.
"""

from mialeak.games._game import AverageTargetGame, FixedTargetGame
from mialeak.games._rounds import Rounds

__all__ = ["AverageTargetGame", "FixedTargetGame", "Rounds"]
