"""Separators of sets of columns that form a tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

__all__ = ["separators_of"]


def separators_of(cliques: Sequence[frozenset[Any]]) -> list[frozenset[Any]] | None:
    """Separators of a junction tree of the sets, none within another; None if there is no tree.

    One fewer than sets; empty ones join sets that share no column.  A spanning tree of the largest
    intersections is a junction tree if and only if each column is in one set more than separators.
    """
    edges = sorted(
        itertools.combinations(range(len(cliques)), 2),
        key=lambda edge: -len(cliques[edge[0]] & cliques[edge[1]]),
    )
    part, separators = list(range(len(cliques))), []
    for one, other in edges:
        if part[one] != part[other]:
            separators.append(cliques[one] & cliques[other])
            part = [part[one] if each == part[other] else each for each in part]
    for column in frozenset[Any]().union(*cliques):
        excess = sum(column in each for each in cliques)
        if excess - sum(column in each for each in separators) != 1:
            return None
    return separators
