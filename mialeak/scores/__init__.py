"""Attack scores of released means: the evidence that the target is among the rows.

Every function takes one release or an array of releases, in memory, memory-mapped or as an iterator
of blocks, and returns a score for each release.  Larger scores mean more likely *in*.
"""

from mialeak.scores._edgeworth import edgeworth_score
from mialeak.scores._exact import bernoulli_score, genotype_score, likelihood_ratio_score
from mialeak.scores._linear import covariance_score, scalar_product_score
from mialeak.scores._transformed import glir_score, mixture_score

__all__ = [
    "bernoulli_score",
    "covariance_score",
    "edgeworth_score",
    "genotype_score",
    "glir_score",
    "likelihood_ratio_score",
    "mixture_score",
    "scalar_product_score",
]
