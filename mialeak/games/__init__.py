"""Membership games, simulated: what an attack achieves on released means.

Rounds are drawn from the exact laws of the means, not row by row, so that a thousand rounds of a
release of 5000 columns take a fraction of a second.
"""

from mialeak.games._game import AverageTargetGame, FixedTargetGame
from mialeak.games._rounds import Rounds

__all__ = ["AverageTargetGame", "FixedTargetGame", "Rounds"]
