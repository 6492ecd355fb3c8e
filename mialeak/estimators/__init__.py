"""Leakage of released estimates: each is, for large n, the mean of its influence functions.

An estimate that solves equations (a mean, a quantile, a regression: a Z-estimator) moves with
each row by that row's influence over n.  What is known of released means then holds for it: the
leakage score of every row, the trade-off curve, the covariance score of a release.
"""

from mialeak.estimators._descriptive import (
    joint_influence,
    mean_influence,
    quantile_influence,
    variance_influence,
)
from mialeak.estimators._fitted import influence_of
from mialeak.estimators._influence import InfluenceFunctions
from mialeak.estimators._regression import least_squares_influence, logistic_influence, z_estimator

__all__ = [
    "InfluenceFunctions",
    "influence_of",
    "joint_influence",
    "least_squares_influence",
    "logistic_influence",
    "mean_influence",
    "quantile_influence",
    "variance_influence",
    "z_estimator",
]
