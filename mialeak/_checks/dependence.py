"""Scores of an audit that depend on one another, by columns or an index beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, ndtri

from mialeak._arrays import FloatArray, invalid
from mialeak._checks.scores import names_identity, names_models

__all__ = ["refuse_indices", "refuse_pairs", "refuse_several_rows"]

#: Rows beyond the values of a column by which it is one of several rows of a run.
_REPEATS = 20
#: Fewest values that have the same number of rows by design, whatever the column is called.
_RUNS = 5
#: Scores of a run are alike, or those of two worlds opposed, by chance with this probability.
_CHANCE = 1e-6


def refuse_several_rows(name: str, argument: str, values: Any, scores: FloatArray) -> None:
    """Refuse several scores of a run, by the `values` of a column that names runs.

    A column of another name is one of runs where each value has as many rows as all others and
    their scores are alike: by an analysis of variance of ranks, at a level of 1e-6.
    """
    runs, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not 1 < runs.size <= scores.size - _REPEATS:
        return
    is_even = runs.size >= _RUNS and counts[0] == counts.max() == counts.min()
    if names_models(name) or names_identity(name) or (is_even and _are_alike(groups, scores)):
        rule = (
            f"have one score for each run; its {scores.size:,} rows have {runs.size:,} values of "
            f"{name!r}. Scores of one run, or of one model, are not independent"
        )
        remedy = (
            "Keep one score of each, such as their mean; if each row is of a run of its own, leave "
            f"out {name!r}"
        )
        invalid(argument, rule, remedy=remedy)


def _are_alike(groups: npt.NDArray[np.intp], scores: FloatArray) -> bool:
    """Whether scores of one group are alike, but for a column that was computed from the scores."""
    from scipy.stats import rankdata

    order = np.argsort(scores, kind="stable")
    size, runs = scores.size, int(groups.max()) + 1
    if np.count_nonzero(np.diff(groups[order])) == runs - 1:
        return False
    ranks = rankdata(scores) - 0.5 * (size + 1.0)
    if not ranks.any():
        return False
    means = np.bincount(groups, ranks) ** 2 / np.bincount(groups)
    between, total = float(means.sum()), float(ranks @ ranks)
    ratio = between / (runs - 1) / (max(total - between, 1e-9 * total) / (size - runs))
    return bool(fdtrc(runs - 1.0, size - runs, ratio) <= _CHANCE)


def refuse_pairs(
    name: str, inside: tuple[Any, FloatArray], outside: tuple[Any, FloatArray]
) -> None:
    """Refuse scores of both worlds that a column pairs, where one is small if the other is large.

    Each world has the values of the column and its scores.  By the rank correlation, at a level of
    1e-6; where the scores of a world are sorted, its row numbers pair nothing.  Pairs that rise
    together, as those of one seed do, make a bound smaller, and are taken.
    """
    from scipy.stats import rankdata

    if any(np.unique(values).size < len(values) for values, _ in (inside, outside)):
        return
    if any(_is_sorted(scores) for _, scores in (inside, outside)):
        return
    common, first, second = np.intersect1d(inside[0], outside[0], return_indices=True)
    if common.size < _REPEATS:
        return
    ranks = rankdata(np.stack([inside[1][first], outside[1][second]]), axis=1)
    a, b = ranks - 0.5 * (common.size + 1.0)
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
    invalid("in_scores", rule, remedy=remedy)


def refuse_indices(in_scores: Any, out_scores: Any) -> None:
    """Refuse pandas Series with several scores of a run, or pairs, by an index that has a name."""
    worlds = {"in_scores": in_scores, "out_scores": out_scores}
    names, pairs = [], []
    for argument, values in worlds.items():
        index = getattr(values, "index", None)
        name = getattr(index, "name", None)
        if not isinstance(name, str) or np.ndim(values) != 1:
            return
        pairs.append((np.asarray(index).astype(str), np.asarray(values, np.float64)))
        refuse_several_rows(name, argument, *pairs[-1])
        names.append(name)
    if names[0] == names[1]:
        refuse_pairs(names[0], pairs[0], pairs[1])


def _is_sorted(scores: FloatArray) -> bool:
    steps = np.diff(scores)
    return bool((steps >= 0.0).all() or (steps <= 0.0).all())
