"""Rows of the benchmark: audits and closed-form bounds."""

from __future__ import annotations

from typing import Any

import coverage
import numpy as np
from speed_case import SpeedCase

from mialeak.auditing import audit
from mialeak.guarantees import dp_leakage_bound, epsilon_for_leakage

__all__ = ["AUDIT_CASES"]


def normal_scores(size: int) -> tuple[np.ndarray, np.ndarray]:
    """In and out scores, normal with means 1 and 0."""
    rng = np.random.default_rng(11)
    return rng.normal(1.0, 1.0, size), rng.normal(0.0, 1.0, size)


def shares(size: int) -> tuple[np.ndarray]:
    """Numbers between 0 and 1."""
    return (np.random.default_rng(12).random(size),)


def ours(inside: Any, outside: Any) -> float:
    """The audit as called, with its bound on mu and three powers."""
    return audit(inside, outside, delta=1e-5).epsilon_lower


def jax_privacy(inside: Any, outside: Any) -> float:
    """Its bound for both directions, all thresholds."""
    auditor = coverage.jax_privacy().CanaryScoreAuditor(inside, outside)
    return float(auditor.epsilon_clopper_pearson(0.05, 1e-5, one_sided=False))


def closed_form(label: str, function: Any) -> SpeedCase:
    """The row of a bound in closed form."""
    return SpeedCase(
        name=label,
        size=1_000_000,
        quick_size=1000,
        setup=shares,
        ours=function,
        rivals={},
        floor=lambda x: np.add(x, x),
    )


AUDIT_CASES = (
    SpeedCase(
        name="`audit`, 10^6 scores in each world",
        size=1_000_000,
        quick_size=1000,
        setup=normal_scores,
        ours=ours,
        rivals={} if coverage.jax_privacy() is None else {"jax-privacy": jax_privacy},
    ),
    closed_form("`dp_leakage_bound`", dp_leakage_bound),
    closed_form("`epsilon_for_leakage`", epsilon_for_leakage),
)
