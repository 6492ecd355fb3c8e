"""Laws of the coordinates of a row, and the exact likelihood ratio of a released mean of each.

A law stores the parameters of all columns of its kind as arrays; a list of laws is the law of the
columns of all parts in turn.
"""

from mialeak.laws._base import Joint, Marginal, as_joint
from mialeak.laws._chain import Chain
from mialeak.laws._chain_fit import ChainFit
from mialeak.laws._counts import Bernoulli, Genotype, Presence
from mialeak.laws._lattice import Lattice
from mialeak.laws._normal import Normal

__all__ = [
    "Bernoulli",
    "Chain",
    "ChainFit",
    "Genotype",
    "Joint",
    "Lattice",
    "Marginal",
    "Normal",
    "Presence",
    "as_joint",
]
