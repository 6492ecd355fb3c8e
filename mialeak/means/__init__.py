"""How much a released mean leaks: scores of targets, trade-off curves, inverse problems.

The mean of n rows is released; the attacker knows the target, the mean and the covariance of the
law that the rows come from.  *Out*: n fresh rows; *in*: the target and n - 1 fresh rows.
"""

from mialeak.means._gaussian import GaussianMeanTradeOff, gaussian_mean_tradeoff
from mialeak.means._groups import GroupedMeanReport
from mialeak.means._leakage import mean_leakage
from mialeak.means._margins import margin_leakage_scores
from mialeak.means._planning import noise_for_leakage, samples_for_leakage
from mialeak.means._report import MeanReport
from mialeak.means._tradeoff import gaussian_release_tradeoff, leakage_score, mean_tradeoff

__all__ = [
    "GaussianMeanTradeOff",
    "GroupedMeanReport",
    "MeanReport",
    "gaussian_mean_tradeoff",
    "gaussian_release_tradeoff",
    "leakage_score",
    "margin_leakage_scores",
    "mean_leakage",
    "mean_tradeoff",
    "noise_for_leakage",
    "samples_for_leakage",
]
