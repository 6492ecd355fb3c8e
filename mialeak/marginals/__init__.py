"""Laws of the coordinates of a row, and the exact likelihood ratio of a released mean of each.

A law holds the coordinates of all columns of its kind, as arrays; a list of laws stands for their
columns side by side.
"""

from mialeak.marginals._base import Joint, Marginal, as_joint
from mialeak.marginals._counts import Bernoulli, Genotype, Presence
from mialeak.marginals._lattice import Lattice, lattice_steps
from mialeak.marginals._normal import Normal

__all__ = [
    "Bernoulli",
    "Genotype",
    "Joint",
    "Lattice",
    "Marginal",
    "Normal",
    "Presence",
    "as_joint",
    "lattice_steps",
]
