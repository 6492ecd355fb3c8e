"""Signed measures: the law of what is released "in", less gamma times that "out"."""

from __future__ import annotations

import math

import numpy as np

from mialeak._arrays import FloatArray
from mialeak._kernels import enumeration

__all__ = ["leaked", "poisson_pmf", "total", "window"]

#: A Poisson or binomial count is outside its mean +- (WIDTH sqrt(mean) + MORE) with probability
#: below 1e-20, by Bernstein's inequality.
_WIDTH, _MORE = 9.7, 31.0


def leaked(measure: FloatArray, gamma: float) -> FloatArray:
    """What each outcome contributes to the leakage, in positive terms."""
    if gamma >= 1.0:
        return np.maximum(measure, 0.0)
    return np.maximum(-measure, 0.0) / gamma


def total(terms: FloatArray) -> float:
    """Sum of an array, correctly rounded."""
    flat = np.ravel(terms)
    return math.fsum(flat[flat != 0.0].tolist())


def window(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and last count that matter to a Poisson or binomial count of this mean."""
    reach = _WIDTH * np.sqrt(mean) + _MORE
    return np.maximum(np.floor(mean - reach), 0.0), np.ceil(mean + reach)


def poisson_pmf(k: FloatArray, mean: FloatArray | float) -> FloatArray:
    """P(N = k), zero for negative k; broadcasts."""
    counts, means = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(mean, np.float64))
    possible = counts >= 0.0
    out = np.empty(counts.shape)
    enumeration.poisson_pmf(
        np.where(possible, counts, 0.0).ravel(), np.array(means).ravel(), out.reshape(-1)
    )
    return np.where(possible, out, 0.0)
