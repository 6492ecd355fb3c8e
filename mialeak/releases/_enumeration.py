"""Exact leakage: of a few people in a few cells by all populations, of decomposable margins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray
from mialeak._numerics.junction_trees import separators_of
from mialeak.special import binom_logpmf

__all__ = ["JunctionTree", "beyond_enumeration", "decomposable_leakage", "enumerated_leakage"]

IntArray = npt.NDArray[np.int64]

#: Populations that are gone through one by one: 0.2 s.
_MOST_POPULATIONS = 100_000
#: Vectors of the counts of bases for one cell, 0.5 s; sums over the counts of cliques for all
#: cells, 10 s; sums at a time; joint values of columns that cliques share.
_MOST_STATES, _MOST_SUMS, _AT_A_TIME, _MOST_JOINT = 2_000_000, 200_000_000, 1 << 18, 200_000
#: Sums for an independence that nobody asked for: 1 s.
_MOST_UNASKED = 20_000_000
#: A cell that takes so many times its part of all sums ends the computation early.
_UNEVEN = 4
#: Cells for which independence is looked for in the people's frequencies.
_MOST_FACTORS = 2000
#: Vectors of counts that are as unlikely are left out.
_NEGLIGIBLE = 1e-22
#: Rows, and cells but one, that both exceed this have over 2**40 populations.
_BOTH_ABOVE = 40


def beyond_enumeration(cells: int, n: int) -> bool:
    """Whether `n` rows fill `cells` cells in more than `_MOST_POPULATIONS` different ways."""
    if min(cells - 1, n) > _BOTH_ABOVE:
        return True
    return math.comb(n + cells - 1, n) > _MOST_POPULATIONS


def enumerated_leakage(
    shown: Sequence[Any], mass: npt.NDArray[Any], n: int, *, register: bool
) -> FloatArray:
    """Exact leakage of a target in each cell, by all populations.

    Parameters
    ----------
    shown : sequence of callable
        What is published of counts, ``(populations, cells)``: an integer array of as many rows.
    mass : (cells,) array
        Probabilities of the cells, or the people of a register in each of them.
    n : int
        Rows of the release.
    register : bool
        Whether the rows are drawn without replacement.

    Returns
    -------
    (cells,) ndarray
        ``E |E[c_k | shown] - n p_k|`` over ``2 n p_k``, with ``1 - n/N`` beside it for a register.
    """
    counts = _all_counts(len(mass), n)
    masses = mass.astype(np.float64)
    total = float(masses.sum())
    if register:
        counts = counts[(counts <= mass).all(axis=1)]
        chance = _log_choose(masses, counts).sum(axis=1) - _log_choose(np.array(total), n)
    else:
        logs = special.xlogy(counts, masses / total) - special.gammaln(counts + 1.0)
        chance = logs.sum(axis=1) + special.gammaln(n + 1.0)
    weight = np.exp(chance)
    seen = np.concatenate([np.asarray(each(counts)).reshape(len(counts), -1) for each in shown], 1)
    _, release = np.unique(seen, axis=0, return_inverse=True)
    release = release.reshape(-1)
    chances = np.bincount(release, weight)
    expected = n * masses / total
    leakage = np.empty(len(mass))
    for cell in range(len(mass)):
        mean = np.bincount(release, weight * counts[:, cell])
        leakage[cell] = np.abs(mean - expected[cell] * chances).sum() / (2.0 * expected[cell])
    if register:
        leakage /= 1.0 - n / total
    return np.clip(leakage, 0.0, 1.0)


def _all_counts(cells: int, n: int) -> IntArray:
    """Every vector of `cells` counts that sum to `n`."""
    vectors = np.zeros((1, 0), np.int64)
    remaining = np.array([n])
    for _ in range(cells - 1):
        repeats = remaining + 1
        first = np.repeat(np.cumsum(repeats) - repeats, repeats)
        counts = np.arange(repeats.sum()) - first
        vectors = np.column_stack([np.repeat(vectors, repeats, axis=0), counts])
        remaining = np.repeat(remaining, repeats) - counts
    return np.column_stack([vectors, remaining])


def _log_choose(total: FloatArray, part: Any) -> FloatArray:
    gammaln = special.gammaln
    return np.asarray(gammaln(total + 1.0) - gammaln(part + 1.0) - gammaln(total - part + 1.0))


# ---- decomposable margins ----


@dataclass(frozen=True)
class JunctionTree:
    """Sets of columns that outputs count by, none within another, and their separators.

    Attributes
    ----------
    cliques : tuple of frozenset
    separators : tuple of frozenset
        One fewer than cliques; each is within two of them.
    """

    cliques: tuple[frozenset[Any], ...]
    separators: tuple[frozenset[Any], ...]

    @classmethod
    def of(cls, sets: Sequence[frozenset[Any]]) -> JunctionTree | None:
        """The junction tree of the sets of columns; None if they are not decomposable."""
        cliques = [each for each in dict.fromkeys(sets) if not any(each < other for other in sets)]
        separators = separators_of(cliques)
        return None if separators is None else cls(tuple(cliques), tuple(separators))

    def factorises(self, columns: Mapping[Any, IntArray], first: IntArray) -> bool:
        """Whether the rows of `columns` are independent given the separators, in exact integers.

        `first` has a row of each joint value.  If the counts of those that occur are products of
        margins, their probabilities sum to 1 and no other joint value has any.
        """
        if first.size > _MOST_FACTORS:
            return False
        n = len(next(iter(columns.values())))
        top = _count_alike(columns, frozenset(columns))[first].astype(object)
        for separator in self.separators:
            top = top * (_count_alike(columns, separator)[first] if separator else n)
        below = np.ones(first.size, object)
        for clique in self.cliques:
            below = below * _count_alike(columns, clique)[first]
        return bool(np.all(top == below))


def _count_alike(columns: Mapping[Any, IntArray], names: frozenset[Any]) -> IntArray:
    """For each row how many have the same values in these columns."""
    place = np.zeros(len(next(iter(columns.values()))), np.int64)
    for name in names:
        key = place * (int(columns[name].max()) + 1) + columns[name]
        place = np.unique(key, return_inverse=True)[1].reshape(-1)
    return np.bincount(place)[place]


def decomposable_leakage(
    tree: JunctionTree,
    columns: Mapping[Any, IntArray],
    first: IntArray,
    *,
    asked: bool = True,
) -> FloatArray | None:
    """Exact leakage of the margins of a junction tree.

    The columns have the people's margins, and are independent given the separators.  With c the
    counts of the target's cells, C the cliques and S the separators ::

        LR = prod_C [c_C / (n p_C)] / prod_S [c_S / (n p_S)]          0 where a c_S is 0

    The count of a clique is a binomial thinning of its base, the columns that it shares with other
    cliques.  How many people have the target's values of which bases and separators is multinomial.
    (The counts of three separators along a path are no Markov chain: those who have not the
    target's value of the middle one may have either of the others'.)

    Parameters
    ----------
    tree : JunctionTree
    columns : dict of (people,) int64 arrays
        The code of each person in each column of the cliques.
    first : (cells,) int64
        A person of each cell whose leakage is computed.
    asked : bool
        Whether the independence was named; if it only happens to hold, few sums are taken.

    Returns
    -------
    (cells,) ndarray or None
        None if that takes more than `_MOST_STATES` vectors of counts for a cell or `_MOST_SUMS`
        sums for all, or the bases have more than `_MOST_JOINT` joint values.
    """
    n = len(next(iter(columns.values())))
    bases = [
        frozenset[Any]().union(*(each for each in tree.separators if each < clique))
        for clique in tree.cliques
    ]
    sets = [each for each in dict.fromkeys([*tree.separators, *bases]) if each]
    names = list(frozenset[Any]().union(*sets))
    sizes = [int(columns[name].max()) + 1 for name in names]
    if math.prod(sizes) > _MOST_JOINT:
        return None

    def codes(chosen: frozenset[Any], values: Mapping[Any, IntArray]) -> IntArray:
        code: Any = np.zeros_like(next(iter(values.values()))) if values else np.zeros(1, np.int64)
        for name in chosen:
            code = code * (int(columns[name].max()) + 1) + values[name]
        return np.asarray(code)

    def share(chosen: frozenset[Any]) -> FloatArray:
        return np.bincount(codes(chosen, columns)) / n

    grid = dict(zip(names, np.indices(sizes).reshape(len(names), math.prod(sizes)), strict=True))
    joint = np.ones(math.prod(sizes))
    for chosen, power in [(each, 1) for each in bases] + [(each, -1) for each in tree.separators]:
        if chosen:
            table = np.append(share(chosen), np.zeros(math.prod(sizes)))[codes(chosen, grid)]
            joint = (
                joint * table if power > 0 else np.divide(joint, table, where=table > 0, out=joint)
            )
    persons = {name: column[first] for name, column in columns.items()}
    on_grid = np.array([codes(each, grid) for each in sets]).reshape(len(sets), joint.size)
    of_cell = np.array([codes(each, persons) for each in sets]).reshape(len(sets), first.size)
    of_clique = np.array([share(each)[codes(each, persons)] for each in tree.cliques])
    of_set = np.array([share(each)[codes(each, persons)] for each in sets]).reshape(
        len(sets), first.size
    )
    bits = 1 << np.arange(len(sets))
    number: dict[Any, int] = {}
    laws: list[Any] = []
    of_law = np.empty(first.size, np.int64)
    for cell in range(first.size):
        kinds, place = np.unique(bits @ (on_grid == of_cell[:, [cell]]), return_inverse=True)
        chances = np.asarray(np.bincount(place.reshape(-1), joint), np.float64)
        shares = of_clique[:, cell], of_set[:, cell]
        key = (*kinds.tolist(), *np.concatenate([chances, *shares]).tolist())
        of_law[cell] = number.setdefault(key, len(laws))
        if len(number) > len(laws):
            laws.append(((kinds[:, None] & bits) > 0, chances, shares))
    budget, leakage = _MOST_SUMS if asked else _MOST_UNASKED, np.empty(len(laws))
    for k, (members, chances, shares) in enumerate(laws):
        most = min(budget, _UNEVEN * budget // (len(laws) - k))
        sums, value = _tree_leakage(tree, bases, sets, members, chances, shares, n, most)
        budget -= sums
        if value is None:
            return None
        leakage[k] = value
    return leakage[of_law]


def _tree_leakage(
    tree: JunctionTree,
    bases: Sequence[frozenset[Any]],
    sets: Sequence[frozenset[Any]],
    members: npt.NDArray[np.bool_],
    chances: FloatArray,
    shares: tuple[FloatArray, FloatArray],
    n: int,
    budget: int,
) -> tuple[int, float | None]:
    """``E (1 - LR)^+``: over all counts of the kinds of people, and of all cliques but one.

    After the number of sums that it takes; None if these are more than `budget`.
    """
    weight, remaining = np.ones(1), np.full(1, n)
    vectors = np.zeros((1, 0), np.int64)
    for k, chance in enumerate(chances.tolist()[:-1]):
        others = float(chances[k:].sum())
        expanded = _thinned(weight, remaining, min(1.0, chance / others) if others > 0.0 else 0.0)
        if expanded is None:
            return 0, None
        row, count, weight = expanded
        vectors, remaining = np.column_stack([vectors[row], count]), remaining[row] - count
    vectors = np.column_stack([vectors, remaining])
    sums = len(vectors)
    counts = {frozenset[Any](): np.full(weight.size, n)}
    counts |= {each: vectors @ members[:, k] for k, each in enumerate(sets)}
    share_of = {frozenset[Any](): 1.0} | dict(zip(sets, shares[1].tolist(), strict=True))
    factor = np.ones(weight.size)
    for separator in tree.separators:
        below = counts[separator]
        factor *= np.where(below > 0, n * share_of[separator] / np.maximum(below, 1), 0.0)
    thinned = []
    for clique, base, of_clique in zip(tree.cliques, bases, shares[0].tolist(), strict=True):
        factor /= n * of_clique
        if clique == base:
            factor *= counts[base]
        else:
            thinned.append((counts[base], min(1.0, of_clique / share_of[base])))
    # The widest laws last: the last has a closed form, that before it is a row of a table.
    thinned.sort(key=lambda each: -float(weight @ each[0]) * each[1] * (1.0 - each[1]))
    while len(thinned) > 2:
        counted, rate = thinned.pop()
        expanded = _thinned(weight, counted, rate)
        if expanded is None:
            return 0, None
        row, count, weight = expanded
        sums += row.size
        factor = factor[row] * count
        thinned = [(each[row], other) for each, other in thinned]
    if not thinned:
        return sums, float(weight @ np.maximum(1.0 - factor, 0.0))
    last = _Binomials.of_counts(*thinned[0])
    if len(thinned) == 1:
        return sums, float(weight @ last.shortfall(np.arange(weight.size), factor))
    first = _Binomials.of_counts(*thinned[1])
    width = first.mass.shape[1]
    sums += weight.size * width
    if sums > budget:
        return sums, None
    total = 0.0
    for start in range(0, weight.size, max(1, _AT_A_TIME // width)):
        row = np.arange(start, min(weight.size, start + max(1, _AT_A_TIME // width)))
        count = first.least[first.of[row], None] + np.arange(width)
        part = last.shortfall(row[:, None], factor[row, None] * count)
        total += float(weight[row] @ (first.mass[first.of[row]] * part).sum(axis=1))
    return sums, total


def _reach(variance: Any) -> Any:
    """Beyond this distance of its mean a binomial has less than `_NEGLIGIBLE` (Bernstein)."""
    far = -math.log(_NEGLIGIBLE)
    return far / 3.0 + np.sqrt(far * far / 9.0 + 2.0 * far * variance)


def _thinned(
    weight: FloatArray, counted: IntArray, rate: float
) -> tuple[IntArray, IntArray, FloatArray] | None:
    """Rows repeated for the counts of a binomial thinning of each: row, count and weight.

    None if they are too many.
    """
    reach = _reach(counted * rate * (1.0 - rate))
    least = np.maximum(np.floor(counted * rate - reach), 0.0).astype(np.int64)
    repeats = np.minimum(np.ceil(counted * rate + reach).astype(np.int64), counted) - least + 1
    if repeats.sum() > _MOST_STATES:
        return None
    row = np.repeat(np.arange(counted.size), repeats)
    count = np.arange(row.size) - np.repeat(np.cumsum(repeats) - repeats - least, repeats)
    chance = weight[row] * np.exp(binom_logpmf(count, counted[row], rate))
    taken = chance > _NEGLIGIBLE
    return row[taken], count[taken], chance[taken]


@dataclass(frozen=True, eq=False)
class _Binomials:
    """Binomial laws of one rate, tabulated where they are not negligible.

    Attributes
    ----------
    of : (rows,) int64
        The law of each row.
    least : (laws,) int64
        The first count of each law that is tabulated.
    mass : (laws, width) float64
    below, mean : (laws, width + 1) float64
        Probability of less than each count, and the mean below it.
    """

    of: IntArray
    least: IntArray
    mass: FloatArray
    below: FloatArray
    mean: FloatArray

    @classmethod
    def of_counts(cls, counted: IntArray, rate: float) -> _Binomials:
        sizes, of = np.unique(counted, return_inverse=True)
        reach = int(_reach(sizes.max() * rate * (1.0 - rate))) + 1
        width = min(2 * reach + 1, int(sizes.max()) + 1)
        least = np.maximum(np.floor(sizes * rate).astype(np.int64) - reach, 0)
        count = least[:, None] + np.arange(width)
        inside = count <= sizes[:, None]
        mass = np.zeros(count.shape)
        mass[inside] = np.exp(
            binom_logpmf(count[inside], np.broadcast_to(sizes[:, None], count.shape)[inside], rate)
        )
        start = np.zeros((sizes.size, 1))
        below = np.concatenate([start, np.cumsum(mass, axis=1)], axis=1)
        mean = np.concatenate([start, np.cumsum(mass * count, axis=1)], axis=1)
        return cls(of.reshape(-1), least, mass, below, mean)

    def shortfall(self, row: Any, factor: FloatArray) -> FloatArray:
        """``E (1 - factor X)^+`` with X of the law of each row."""
        law = self.of[row]
        most = np.full(factor.shape, np.inf)  # the first count for which LR is not below 1
        np.divide(1.0, factor, out=most, where=factor > 0.0)
        place = np.ceil(np.clip(most - self.least[law], 0.0, self.mass.shape[1])).astype(np.int64)
        return np.asarray(np.maximum(self.below[law, place] - factor * self.mean[law, place], 0.0))
