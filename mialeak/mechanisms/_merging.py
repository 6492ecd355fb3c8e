"""Which atoms to merge.

Ordered atoms are cut into groups of neighbours: optimally, or by a Lagrangian with a proved gap.
Others are merged greedily.

========  ==========================================================================
Symbol    Meaning
========  ==========================================================================
cost      (K+1, K+1): row j, column i the leakage of the group of atoms i to j - 1
layer     least cost of the first j atoms in g groups, and where the last group begins
========  ==========================================================================
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._kernels import coarsening
from mialeak._numerics.double_word import two_sum
from mialeak.special import binom_mad

__all__ = ["best_cuts", "greedy_groups", "group_masses", "path_cuts"]

IntArray = npt.NDArray[np.int64]

#: Rounding of sums of costs: cuts that exceed the budget by less are tried, and summed exactly.
_SLACK = 1e-12
#: Steps of dynamic programming that the search for entropy may take: half a second.
_WORK = 2e8
#: What branch and bound may do, a half second each: partial cuts it looks at times atoms, and
#: partial cuts it keeps in mind.
_NODES, _MOST_KEPT = 500_000, 30_000
_MOST_ROUNDS = 40
#: Atoms at most of which all pairs are looked at, where they have no order.
_MOST_PAIRS = 1024
#: Share of the budget that plain sums may fill there: what is missing is for their rounding.
_FILLED = 1.0 - 1e-13


def group_cost(mass: Any, n: int) -> Any:
    """What a group of this mass contributes to the leakage."""
    return binom_mad(n, np.clip(mass, 0.0, 1.0)) / (2.0 * n)


def _cumulative(p: FloatArray) -> FloatArray:
    """Mass of the first j atoms, right to the last bits."""
    sums = [0.0]
    high = low = 0.0
    for x in p.tolist():
        high, lost = two_sum(high, x)
        low += lost
        sums.append(min(high + low, 1.0))
    sums[-1] = 1.0
    return np.array(sums)


# ---- up to a thousand ordered atoms ----


@dataclass
class _Table:
    """Layers of dynamic programming for groups 1, 2, ... of the first j atoms."""

    values: list[FloatArray]
    last_cut: list[npt.NDArray[np.int32]]

    def cuts(self, groups: int) -> list[int]:
        """Where the groups of the best cut of all atoms begin, the first left out."""
        cuts, j = [], len(self.values[0]) - 1
        for g in range(groups - 1, 0, -1):
            j = int(self.last_cut[g][j])
            cuts.append(j)
        return cuts[::-1]


def _layers(cost: FloatArray, groups: int, budget: float = math.inf) -> _Table:
    """As many layers as wanted, or the last that fits the budget and one more."""
    atoms = len(cost) - 1
    before = np.full(atoms + 1, np.inf)
    before[0] = 0.0
    table = _Table([], [])
    for g in range(1, groups + 1):
        after, last_cut = np.empty(atoms + 1), np.empty(atoms + 1, np.int32)
        coarsening.cut_layer(g, cost, before, after, last_cut)
        table.values.append(after)
        table.last_cut.append(last_cut)
        if after[-1] > budget:
            break
        before = after
    return table


def best_cuts(p: FloatArray, n: int, budget: float) -> tuple[IntArray, float]:
    """The most groups within the budget, of these the most entropy found, and a bound on it."""
    edges = _cumulative(p)
    mass = np.clip(edges[:, None] - edges, 0.0, 1.0)
    cost = np.ascontiguousarray(group_cost(mass, n))
    table = _layers(cost, len(p), budget * (1.0 + _SLACK) + _SLACK)
    groups = len(table.values) - (table.values[-1][-1] > budget * (1.0 + _SLACK) + _SLACK)
    while groups > 1 and _leakage(p, table.cuts(groups), n) > budget:
        groups -= 1
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(mass > 0.0, -mass * np.log(mass), 0.0)
    search = _EntropySearch(p, n, cost, entropy, groups, budget, table)
    cuts, bound = search.run()
    return np.array(cuts, np.int64), bound


def _leakage(p: FloatArray, cuts: list[int], n: int) -> float:
    """Of the groups that begin at 0 and at `cuts`, right to the last bits."""
    return math.fsum(group_cost(group_masses(np.split(p, cuts)), n).tolist())


def group_masses(parts: list[FloatArray]) -> FloatArray:
    """The mass of each group of atoms; the largest is what the others leave, so that they sum to 1.

    Its sum may round to more than 1, or to less beside atoms of probability 0 alone.
    """
    masses = [math.fsum(part.tolist()) for part in parts]
    largest = max(range(len(masses)), key=masses.__getitem__)
    masses[largest] = 1.0 - math.fsum(masses[:largest] + masses[largest + 1 :])
    return np.array(masses)


class _EntropySearch:
    """The most entropy of `groups` groups within the budget.

    With the multiplier t >= 0 the cut that has most of ``entropy - t leakage`` is a layer of
    dynamic programming; the largest value of ``entropy - t (leakage - budget)`` bounds the entropy.
    The multiplier is moved along the hull of (leakage, entropy); what gap is left is closed by
    branch and bound from the last group backwards, the same layers being its bounds.
    """

    def __init__(
        self,
        p: FloatArray,
        n: int,
        cost: FloatArray,
        entropy: FloatArray,
        groups: int,
        budget: float,
        least: _Table,
    ) -> None:
        self.p, self.n, self.cost, self.entropy = p, n, cost, entropy
        self.groups, self.budget, self.least = groups, budget, least
        self.cuts = least.cuts(groups)
        self.best_entropy = self._entropy_of(self.cuts)

    def _entropy_of(self, cuts: list[int]) -> float:
        edges = [0, *cuts, len(self.p)]
        return math.fsum(self.entropy[j, i] for i, j in pairwise(edges))

    def _try(self, cuts: list[int]) -> float:
        """The leakage of `cuts`, which are kept if they fit and are better than what is known."""
        leakage, entropy = _leakage(self.p, cuts, self.n), self._entropy_of(cuts)
        if leakage <= self.budget and entropy > self.best_entropy:
            self.cuts, self.best_entropy = cuts, entropy
        return leakage

    def run(self) -> tuple[list[int], float]:
        """Cuts, and a bound on the entropy of any."""
        if self.groups == 1:
            return self.cuts, self.best_entropy
        work = sum((len(self.p) - g) ** 2 / 2 for g in range(self.groups))
        rounds = min(max(int(_WORK / max(work, 1.0)), 2), _MOST_ROUNDS)
        inside = _leakage(self.p, self.cuts, self.n), self.best_entropy
        bound, best_table, best_rate = math.inf, None, 0.0
        outside = None
        rate = 0.0
        for _ in range(rounds):
            table = _layers(rate * self.cost - self.entropy, self.groups)
            cuts = table.cuts(self.groups)
            value = -float(table.values[-1][-1]) + rate * self.budget
            if value < bound:
                bound, best_table, best_rate = value, table, rate
            point = self._try(cuts), self._entropy_of(cuts)
            if point[0] <= self.budget:
                if outside is None or point[1] <= inside[1] or point == inside:
                    break
                inside = point
            else:
                if outside is not None and point[0] >= outside[0]:
                    break
                outside = point
            if outside[0] - inside[0] <= 0.0:
                break
            rate = max((outside[1] - inside[1]) / (outside[0] - inside[0]), 0.0)
        if best_table is not None and bound > self.best_entropy:
            bound = self._branch(best_table, best_rate, bound)
        return self.cuts, max(bound, self.best_entropy)

    def _branch(self, table: _Table, rate: float, bound: float) -> float:
        """Close the gap, or give up and return the bound that is left."""
        atoms = len(self.p)
        # The most hopeful first: (-bound, groups left, first atom of the last group, cuts, ...).
        heap: list[tuple[float, int, int, tuple[int, ...], float, float]] = [
            (-bound, self.groups, atoms, (), 0.0, 0.0)
        ]
        for _ in range(max(_NODES // atoms, 1)):
            if not heap:
                return self.best_entropy
            if len(heap) > _MOST_KEPT:
                break
            top, g, j, cuts, leakage, entropy = heapq.heappop(heap)
            if -top <= self.best_entropy + _SLACK:
                return self.best_entropy
            if g == 1:
                self._try(list(cuts))
                continue
            i = np.arange(g - 1, j)
            leak = leakage + self.cost[j, i]
            gained = entropy + self.entropy[j, i]
            if g == 2:
                leak, gained = leak + self.cost[i, 0], gained + self.entropy[i, 0]
                hope = gained
                good = leak <= self.budget + _SLACK
            else:
                hope = gained - table.values[g - 2][i] + rate * (self.budget - leak)
                good = leak + self.least.values[g - 2][i] <= self.budget + _SLACK
            good &= hope > self.best_entropy + _SLACK
            for at in np.flatnonzero(good):
                item = -float(hope[at]), g - 1, int(i[at]), (int(i[at]), *cuts)
                heapq.heappush(heap, (*item, float(leak[at]), float(gained[at])))
        return max(self.best_entropy, -heap[0][0]) if heap else self.best_entropy


# ---- more ordered atoms ----


def path_cuts(p: FloatArray, n: int, budget: float) -> tuple[IntArray, int]:
    """Cuts that fit the budget, and the number of groups that no coarsening exceeds.

    Paths that cost ``leakage - reward groups`` least lie on the hull of (groups, leakage); the
    reward is moved until the hull's edge at the budget is found.
    """
    edges = _cumulative(p)
    inside: tuple[int, float, list[int]] = (1, 0.0, [])
    every = list(range(1, len(p)))
    outside: tuple[int, float, list[int]] = (len(p), _leakage(p, every, n), every)
    most = float(len(p))
    for _ in range(_MOST_ROUNDS):
        reward = (outside[1] - inside[1]) / (outside[0] - inside[0])
        cuts, value = _path(edges, n, reward)
        # No coarsening has leakage - reward groups below `value`.
        most = min(most, (budget - value + _SLACK) / reward)
        point = len(cuts) + 1, _leakage(p, cuts, n), cuts
        if not inside[0] < point[0] < outside[0]:
            break
        if point[1] <= budget:
            inside = point
        else:
            outside = point
        if outside[0] - inside[0] <= 1 or math.floor(most) <= inside[0]:
            break
    cuts = max((inside[2], _merged(p, n, outside[2], budget, len(inside[2]))), key=len)
    return np.array(cuts, np.int64), max(math.floor(most), len(cuts) + 1)


def _path(edges: FloatArray, n: int, reward: float) -> tuple[list[int], float]:
    atoms = len(edges) - 1
    cost, last_cut = np.empty(atoms + 1), np.empty(atoms + 1, np.int32)
    scratch = np.empty(atoms // coarsening.BLOCK + 2)
    coarsening.cut_path(edges, float(n), reward, cost, scratch, last_cut)
    cuts, j = [], int(last_cut[atoms])
    while j > 0:
        cuts.append(j)
        j = int(last_cut[j])
    return cuts[::-1], float(cost[atoms])


def _merged(p: FloatArray, n: int, cuts: list[int], budget: float, fewest: int) -> list[int]:
    """Merge neighbours from too fine a cut on, the pair that lowers the leakage most each time."""
    starts = np.array([0, *cuts])
    mass = np.add.reduceat(p, starts)
    while len(starts) - 1 > fewest:
        cost = group_cost(mass, n)
        if cost.sum() <= budget * (1.0 - _SLACK):
            break
        at = int(np.argmax(cost[:-1] + cost[1:] - group_cost(mass[:-1] + mass[1:], n)))
        mass[at] += mass[at + 1]
        mass, starts = np.delete(mass, at + 1), np.delete(starts, at + 1)
    return [int(x) for x in starts[1:]]


# ---- atoms without an order ----


def greedy_groups(p: FloatArray, n: int, budget: float) -> IntArray:
    """The better of two: one group of the largest atoms, and the best pair again and again."""
    groupings = [_one_group(p, n, budget)]
    if len(p) <= _MOST_PAIRS:
        groupings.append(_best_pairs(p, n, budget))
    return max(groupings, key=lambda labels: (labels.max(), _entropy(labels, p)))


def _entropy(labels: IntArray, p: FloatArray) -> float:
    mass = np.bincount(labels, p)
    mass = mass[mass > 0.0]
    return float(-(mass * np.log(mass)).sum())


def _numbered(labels: IntArray) -> IntArray:
    """The same groups, numbered in the order of their first atoms."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[place]


def _one_group(p: FloatArray, n: int, budget: float) -> IntArray:
    """The fewest of the largest atoms that fit as one group, beside single atoms."""
    order = np.argsort(-p, kind="stable")
    single = np.append(np.cumsum(group_cost(p[order], n)[::-1])[::-1], 0.0)
    leakage = single[1:] + group_cost(np.cumsum(p[order]), n)
    # Rounding aside, the last fits always: one group leaks nothing.
    leakage[-1] = 0.0
    size = int(np.argmax(leakage <= budget * _FILLED)) + 1
    labels = np.arange(len(p))
    labels[order[:size]] = order[0]
    return _numbered(labels)


def _best_pairs(p: FloatArray, n: int, budget: float) -> IntArray:
    """Merge the pair that lowers the leakage most, until it fits."""
    mass, cost = p.copy(), group_cost(p, n)
    labels, alive = np.arange(len(p)), np.ones(len(p), bool)
    gain = cost[:, None] + cost - group_cost(mass[:, None] + mass, n)
    np.fill_diagonal(gain, -np.inf)
    partner = np.argmax(gain, axis=1)
    best = gain[np.arange(len(p)), partner]
    while cost[alive].sum() > budget * _FILLED and alive.sum() > 1:
        kept = int(np.argmax(best))
        merged = int(partner[kept])
        labels[labels == merged] = kept
        mass[kept] += mass[merged]
        cost[kept] = group_cost(mass[kept], n)
        alive[merged] = False
        gain[merged, :] = gain[:, merged] = best[merged] = -np.inf
        row = np.where(alive, cost + cost[kept] - group_cost(mass + mass[kept], n), -np.inf)
        row[kept] = -np.inf
        gain[kept, :] = gain[:, kept] = row
        better = row > best
        best[better], partner[better] = row[better], kept
        stale = np.flatnonzero(alive & ~better & ((partner == kept) | (partner == merged)))
        stale = np.union1d(stale, [kept])
        partner[stale] = np.argmax(gain[stale], axis=1)
        best[stale] = gain[stale, partner[stale]]
    return _numbered(labels)
