"""Rows of the benchmark for calls of size 1: what a function costs before it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from speed_case import SpeedCase

from mialeak import discrete, guarantees, means, scores, special
from mialeak.laws import Bernoulli

__all__ = ["SINGLE_CASES"]

#: Microseconds that one call may take: of a ufunc, and of the functions that are called most.
UFUNC, FUNCTION = 3, 25

P, Z, RELEASE, VARIANCE = np.array([0.3]), np.array([1.0]), np.array([0.32]), np.array([0.21])
LAW = Bernoulli(P)
MOMENTS = LAW.mean, LAW.std, LAW.skewness, LAW.excess_kurtosis
ATOMS, COUNT = np.array([0.3, 0.7]), 2.0 * RELEASE


def repeated(function: Callable[[], Any]) -> Callable[[range], None]:
    """A loop of calls."""

    def calls(times: range) -> None:
        for _ in times:
            function()

    return calls


def single(name: str, limit: int, function: Callable[[], Any]) -> SpeedCase:
    """The row of one call; NumPy's sum of two one-element arrays stands beside it."""
    return SpeedCase(
        name=f"{name}, one call (limit {limit} us)",
        size=20,  # few enough that some round of them is not interrupted
        quick_size=3,
        setup=lambda size: (range(size),),
        ours=repeated(function),
        rivals={},
        floor=repeated(lambda: np.add(P, P)),
    )


SINGLE_CASES = (
    single("`binom_mad`", UFUNC, lambda: special.binom_mad(10, 0.3)),
    single("`binom_logpmf`", UFUNC, lambda: special.binom_logpmf(3, 10, 0.3)),
    single("`max_leakage`", FUNCTION, lambda: discrete.max_leakage(ATOMS, 100)),
    single("`dp_leakage_bound`", FUNCTION, lambda: guarantees.dp_leakage_bound(1.0)),
    single("`leakage_score`", FUNCTION, lambda: means.leakage_score(Z, P, VARIANCE, 100)),
    single("`mean_tradeoff`", FUNCTION, lambda: means.mean_tradeoff(Z, P, VARIANCE, 100)),
    single("`bernoulli_score`", FUNCTION, lambda: scores.bernoulli_score(RELEASE, Z, P, 100)),
    single("`genotype_score`", FUNCTION, lambda: scores.genotype_score(COUNT, Z, P, 100)),
    single(
        "`edgeworth_score`",
        FUNCTION,
        lambda: scores.edgeworth_score(RELEASE, Z, *MOMENTS, 100),
    ),
    single(
        "`covariance_score`",
        FUNCTION,
        lambda: scores.covariance_score(RELEASE, Z, P, VARIANCE, 100),
    ),
    single(
        "`scalar_product_score`",
        FUNCTION,
        lambda: scores.scalar_product_score(RELEASE, Z, P),
    ),
    single("`mixture_score`", FUNCTION, lambda: scores.mixture_score(0.5, 0.1)),
    single("`glir_score`", FUNCTION, lambda: scores.glir_score(RELEASE, Z, P, VARIANCE, 100)),
)
