"""Scores of an audit that depend on one another, by a column beside them."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, ndtri

from mialeak._arrays import FloatArray, invalid
from mialeak._checks.audits.scores import names_identity, names_models
from mialeak._checks.samples import mean_ranks, variances_of_groups

__all__ = ["Ranked", "is_sorted", "refuse_alike", "refuse_pairs", "refuse_several_rows"]

#: Rows beyond the values of a column by which it is one of several rows of a run.
_REPEATS = 20
#: Fewest values that have the same number of rows by design, whatever the column is called.
_RUNS = 5
#: Scores of a run are alike, or those of two worlds opposed, by chance with this probability.
_CHANCE = 1e-6


class Ranked(NamedTuple):
    """Ranks of the scores of a world, and the places of the smallest, of the next, and so on."""

    ranks: FloatArray
    order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, scores: FloatArray) -> Ranked:
        """Those of the scores of one world."""
        return cls(mean_ranks(scores), np.argsort(scores, kind="stable"))


def refuse_several_rows(
    name: str, argument: str, groups: npt.NDArray[np.intp], ranked: Ranked
) -> None:
    """Refuse several scores of a run, by a column that names runs and its values, from 0 on."""
    runs = int(groups.max(initial=-1)) + 1
    if (names_models(name) or names_identity(name)) and 1 < runs <= groups.size - _REPEATS:
        _refuse_runs(repr(name), argument, runs, groups.size)
    refuse_alike(repr(name), argument, groups, ranked)


def refuse_alike(what: str, argument: str, groups: npt.NDArray[np.intp], ranked: Ranked) -> None:
    """Refuse several scores of a run, by values that have as many rows each, with scores alike.

    By an analysis of variance of ranks, at a level of 1e-6.
    """
    counts = np.bincount(groups)
    is_even = counts.size >= _RUNS and counts.max() == counts.min()
    if is_even and counts.size <= groups.size - _REPEATS and _are_alike(groups, ranked):
        _refuse_runs(what, argument, counts.size, groups.size)


def _refuse_runs(what: str, argument: str, runs: int, size: int) -> NoReturn:
    rule = (
        f"have one score for each run; its {size:,} rows have {runs:,} values of {what}. Scores of "
        "one run, or of one model, are not independent"
    )
    remedy = (
        "Keep one score of each, such as their mean; if each row is of a run of its own, leave out "
        "what states these values"
    )
    invalid(argument, rule, remedy=remedy)


def _are_alike(groups: npt.NDArray[np.intp], ranked: Ranked) -> bool:
    """Whether scores of one group are alike, but for a column that was computed from the scores."""
    size, runs = groups.size, int(groups.max()) + 1
    if np.count_nonzero(np.diff(groups[ranked.order])) == runs - 1:
        return False
    if not np.ptp(ranked.ranks):
        return False
    between, within = variances_of_groups(ranked.ranks, groups)
    ratio = between / max(within, 1e-9 * float(ranked.ranks.var()))
    return bool(fdtrc(runs - 1.0, size - runs, ratio) <= _CHANCE)


def refuse_pairs(
    name: str, argument: str, inside: tuple[Any, FloatArray], outside: tuple[Any, FloatArray]
) -> None:
    """Refuse scores of both worlds that a column pairs, where one is small if the other is large.

    Each world has the values of the column, which differ, and its scores, both in the order of the
    values.  By the rank correlation, at a level of 1e-6.  Pairs that rise together, as those of one
    seed do, make a bound smaller, and are taken.
    """
    common = inside[0]
    first = second = np.arange(common.size)
    if not np.array_equal(inside[0], outside[0]):
        common, first, second = np.intersect1d(
            inside[0], outside[0], assume_unique=True, return_indices=True
        )
    if common.size < _REPEATS:
        return
    ranks = [mean_ranks(each) for each in (inside[1][first], outside[1][second])]
    a, b = (each - 0.5 * common.size for each in ranks)
    scale = float(np.sqrt((a @ a) * (b @ b)))
    correlation = float(a @ b) / scale if scale > 0.0 else 0.0
    if correlation * np.sqrt(common.size - 1.0) >= float(ndtri(_CHANCE)):
        return
    rule = (
        f"be of other runs than those of the other world; {common.size:,} scores of either have "
        f"the same {name!r}, and the ranks of these pairs have a correlation of "
        f"{correlation:.2f}: they are not independent"
    )
    remedy = (
        f"Keep the scores of one world for half of the values of {name!r}, and those of the other "
        "world for the other half"
    )
    invalid(argument, rule, remedy=remedy)


def is_sorted(scores: FloatArray) -> bool:
    """Whether scores are in order, so that the numbers of their rows pair nothing."""
    first, second = scores[:-1], scores[1:]
    return bool((first <= second).all() or (first >= second).all())
