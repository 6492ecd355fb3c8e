"""How much a released mean leaks: scores of targets, trade-off curves, inverse problems.

The mean of n rows is released; the attacker knows the target, the mean and the covariance of the
law that the rows come from.  *Out*: n fresh rows; *in*: the target and n - 1 fresh rows.
"""

from mialeak.means._gaussian import GaussianMeanTradeOff, gaussian_mean_tradeoff
from mialeak.means._leakage import mean_leakage
from mialeak.means._margins import margin_leakage_scores
from mialeak.means._planning import (
    easiest_target,
    hardest_target,
    noise_for_leakage,
    samples_for_leakage,
)
from mialeak.means._report import MeanReport
from mialeak.means._rows import row_leakage_scores
from mialeak.means._score import leakage_score
from mialeak.means._tradeoff import gaussian_release_tradeoff, mean_tradeoff, misspecified_advantage

__all__ = [
    "GaussianMeanTradeOff",
    "MeanReport",
    "easiest_target",
    "gaussian_mean_tradeoff",
    "gaussian_release_tradeoff",
    "hardest_target",
    "leakage_score",
    "margin_leakage_scores",
    "mean_leakage",
    "mean_tradeoff",
    "misspecified_advantage",
    "noise_for_leakage",
    "row_leakage_scores",
    "samples_for_leakage",
]
