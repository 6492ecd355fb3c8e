"""Attack scores: how much more likely a released mean is with the target among its rows.

Every function takes one release or many, in memory, memory-mapped or as an iterator of blocks, and
gives a score for each: larger means more likely *in*, always.
"""

from mialeak.scores._edgeworth import edgeworth_score
from mialeak.scores._exact import bernoulli_score, genotype_score
from mialeak.scores._linear import covariance_score, scalar_product_score
from mialeak.scores._transformed import glir_score, mixture_score

__all__ = [
    "bernoulli_score",
    "covariance_score",
    "edgeworth_score",
    "genotype_score",
    "glir_score",
    "mixture_score",
    "scalar_product_score",
]
