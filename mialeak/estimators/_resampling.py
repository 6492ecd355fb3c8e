"""Estimates that are made again of drawn rows, with a row and without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_floats, first_index, invalid
from mialeak._blocks import as_rng
from mialeak._warnings import warn

if TYPE_CHECKING:
    from mialeak.estimators._influence import InfluenceFunctions

__all__ = ["resampled_estimates"]

#: Standard errors by which an estimate may be off theta, as solvers stop early; and the least share
#: of their influence by which rows that move theta by more must move the estimate.
_OFF, _MOVED = 0.5, 0.25


def resampled_estimates(
    rows: InfluenceFunctions,
    row: int,
    fit: Callable[..., Any],
    tables: Sequence[Any],
    *,
    n: int,
    rounds: Any,
    rng: Any,
) -> FloatArray:
    """Estimates from n of the other rows, drawn with replacement, and from the row and n - 1.

    Returns
    -------
    ndarray, shape (2, rounds, d)
        Without the row, and with it.
    """
    rounds = as_count(rounds, "rounds", least=1)
    row = as_count(row, "row", most=rows.n - 1)
    data = [np.asarray(table) for table in tables]
    for i, table in enumerate(data):
        if table.ndim == 0 or table.shape[0] != rows.n:
            invalid("tables", f"have {rows.n} rows each; tables[{i}] has shape {table.shape}")

    def estimate(drawn: Any) -> FloatArray:
        release = as_floats(fit(*(table[drawn] for table in data)), "fit(...)")
        if release.shape != rows.theta.shape:
            rule = f"have the shape of theta, {rows.theta.shape}; its shape is {release.shape}"
            invalid("fit(...)", rule)
        return release

    _warn_of_others(rows, row, estimate)
    generator = as_rng(rng)
    releases = np.empty((2, rounds, rows.theta.size))
    for world, t in np.ndindex(2, rounds):
        drawn = generator.integers(rows.n - 1, size=n)
        drawn += drawn >= row
        if world:
            drawn[0] = row
        releases[world, t] = estimate(drawn)
    return releases


def _warn_of_others(
    rows: InfluenceFunctions, row: int, estimate: Callable[[Any], FloatArray]
) -> None:
    """Warn if the estimate from all rows is not theta, or that from the others not moved so."""
    error = np.sqrt(np.diagonal(rows.covariance) / rows.n)
    release = estimate(np.arange(rows.n))
    off = np.abs(release - rows.theta)
    bad = off > _OFF * error + 1e-9 * np.abs(rows.theta)
    if bad.any():
        (j,) = first_index(bad)
        warn(
            f"entry {j} of fit(*tables) is {release[j]:.4g}, and of theta {rows.theta[j]:.4g}: the "
            "curve is that of another estimate. Let fit give the entries in the order of theta, "
            "and pass the rows of which theta was made"
        )
        return
    moved = rows.without(row)[0] - rows.theta
    j = int(np.argmax(np.abs(moved) / np.where(error > 0.0, error, np.inf)))
    if np.abs(moved[j]) < _OFF * error[j]:
        return
    again = float(estimate(np.delete(np.arange(rows.n), row))[j] - release[j])
    if again / float(moved[j]) < _MOVED:
        warn(
            f"without row {row} entry {j} of fit(*tables) moves by {again:.3g}, and by "
            f"{moved[j]:.3g} by the influence functions: the row is another one there. Pass the "
            "rows in the order in which theta was made of them"
        )
