"""Columns that are the categories of one variable, or the two alleles of a site, by their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, every
from mialeak._checks.means.moment_identities import rounding_of
from mialeak._warnings import warn

__all__ = ["warn_of_categories", "warn_of_moments_of_categories"]

#: How far a sum of frequencies is from a whole number, but for their rounding; and at most.
_NEAR, _FAR = 1e-6, 0.02
#: Two frequencies that add up show nothing if they were rounded by more.
_COARSE = 6e-4
#: Median log of the ratio of variances to those by the means, at most.
_UNLIKE = 0.3


def warn_of_moments_of_categories(target: Any, mean: FloatArray, cov: Any) -> None:
    """Warn of variances without covariances of columns that add up to one or to two copies."""
    total = float(mean.sum())
    if not abs(total - round(total)) <= _FAR or mean.size < 2 or hasattr(cov, "fit"):
        return
    given = np.asarray(cov)
    if given.dtype.kind not in "fiu" or given.shape not in (mean.shape, 2 * mean.shape):
        return
    v = given.diagonal() if given.ndim == 2 else given
    if given.ndim == 2 and np.count_nonzero(given) > np.count_nonzero(v):
        return
    values = as_floats(target, "target")
    if values.shape[-1:] != mean.shape:
        return
    for copies in (1, 2):
        law = mean * (1.0 - mean / copies)
        known = (law > 0.0) & (v > 0.0)
        if known.any() and np.median(np.abs(np.log(v[known] / law[known]))) < _UNLIKE:
            matrix = "np.diag(p) - np.outer(p, p)"
            cure = f"pass cov={matrix} with p = mean"
            if copies == 2:
                cure = f"pass cov=2 * ({matrix}) with p = mean / 2"
            if _warned(values, mean / copies, copies, f"mean adds up to {copies}", cure):
                return


def warn_of_categories(target: FloatArray, p: FloatArray, copies: int) -> None:
    """The same of columns that a law takes as independent, with the frequencies `p`."""
    cure = "atom_leakage(p, n) is exact"
    if copies == 2:
        cure = "mean_tradeoff with cov=2 * (np.diag(p) - np.outer(p, p)) holds"
    _warned(target, p, copies, "p adds up to 1", cure)


def _warned(targets: FloatArray, p: FloatArray, copies: int, adds: str, cure: str) -> bool:
    """Warn if columns add up, all of them or group by group."""
    total = float(p.sum())
    if p.size < 2 or not abs(total - round(total)) <= _FAR or every(p == 0.5):
        return False
    shares = targets.reshape(-1, p.size) / copies
    if not every((targets >= 0.0) & (np.rint(targets) == targets)):
        return False
    size, half = _size_of_groups(shares, p), p.size // 2
    if not size and p.size == 2 * half:  # one allele of each site, and then the others
        order = np.arange(2 * half).reshape(2, half).T.ravel()
        size = 2 * (_size_of_groups(shares[:, order], p[order]) == 2)
    if not size:
        return False
    if size == 2:
        adds = "each column adds up to a constant with another"
        cure = "leave one of the two out"
    elif size < p.size:
        adds, cure = "columns add up group by group", "pass the covariance matrix of all columns"
    kind = (
        "the categories of one variable" if copies == 1 else "the copies of the alleles of a site"
    )
    warn(
        f"{adds}, and so does target, as {kind} do. Here columns are taken as independent, which "
        f"such columns are not. If they are {kind}, {cure}"
    )
    return True


def _size_of_groups(shares: FloatArray, p: FloatArray) -> int:
    """The size of groups of neighbouring columns in which `p` and each target add up to 1.

    All columns, if they are one group; 2 if all groups are pairs, 3 for others; 0 for no groups.
    """
    groups = round(float(p.sum()))
    if groups == 0 or 2 * groups > p.size or not every(shares.sum(axis=1) == groups):
        return 0
    rounding = float(rounding_of(p).sum())
    if rounding > _COARSE and p.size == 2:
        return 0
    sums, rows = np.cumsum(p), np.cumsum(shares, axis=1)
    whole = np.rint(sums)
    near = _NEAR if abs(float(sums[-1] - whole[-1])) <= _NEAR else min(rounding, _FAR)
    ends = np.flatnonzero((np.abs(sums - whole) <= near) & (rows == whole).all(axis=0))
    ends = ends[whole[ends] > 0.0]
    if not ends.size or ends[-1] != p.size - 1:
        return 0
    if not np.array_equal(np.unique(whole[ends]), np.arange(1.0, groups + 1.0)):
        return 0
    return p.size // groups if groups == 1 or p.size == 2 * groups else 3
