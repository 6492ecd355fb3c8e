"""Several estimates from the same rows, released together."""

from __future__ import annotations

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak.estimators._influence import InfluenceFunctions

__all__ = ["joint_influence"]


def joint_influence(*parts: InfluenceFunctions) -> InfluenceFunctions:
    """Influence functions of several estimates from the same rows, released together.

    Parameters
    ----------
    *parts : InfluenceFunctions
        Of the estimates, their rows in the same order.

    Returns
    -------
    InfluenceFunctions
        Of all entries of the estimates, in the order given.

    Raises
    ------
    TypeError
        If one is something else.
    ValueError
        If there are none, or their tables have different numbers of rows.

    Notes
    -----
    Estimates from the same rows are correlated; the joint leakage is neither the sum nor the
    largest of theirs.  The same estimate twice adds nothing.

    Examples
    --------
    Mean and variance of ages leak more than the mean alone:

    >>> import numpy as np
    >>> from mialeak.estimators import joint_influence, mean_influence, variance_influence
    >>> ages = np.array([31.0, 45.0, 28.0, 39.0, 72.0, 50.0, 66.0, 24.0])
    >>> both = joint_influence(mean_influence(ages), variance_influence(ages))
    >>> np.round(mean_influence(ages).leakage_scores(), 2)
    array([0.09, 0.  , 0.14, 0.01, 0.58, 0.01, 0.28, 0.24])
    >>> np.round(both.leakage_scores(), 2)
    array([0.1 , 0.25, 0.27, 0.13, 2.78, 0.27, 0.37, 1.21])
    """
    if not parts:
        invalid("parts", "be at least one")
    for place, part in enumerate(parts):
        if not isinstance(part, InfluenceFunctions):
            rule = "be InfluenceFunctions"
            invalid("parts", rule, index=place, value=part, error=TypeError)
    rows = {part.n for part in parts}
    if len(rows) > 1:
        invalid("parts", f"have the same rows; their numbers are {[part.n for part in parts]}")
    return InfluenceFunctions(
        np.concatenate([part.theta for part in parts]),
        np.concatenate([part.influence for part in parts], axis=1),
        _joint_moves(parts),
    )


def _joint_moves(parts: tuple[InfluenceFunctions, ...]) -> FloatArray:
    """One multiple for each row where the parts agree on it, else what it moves them by."""
    first = parts[0].omitted
    if first.ndim == 1 and all(np.array_equal(part.omitted, first) for part in parts):
        return first
    return np.concatenate([_as_rows(part) for part in parts], axis=1)


def _as_rows(part: InfluenceFunctions) -> FloatArray:
    if part.omitted.ndim == 2:
        return part.omitted
    known = np.isfinite(part.omitted)
    rows = np.where(known, part.omitted, 0.0)[:, None] * part.influence
    rows[~known] = np.inf
    return rows
