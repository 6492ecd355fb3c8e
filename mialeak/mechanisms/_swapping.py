"""Swapping: rows of a group exchange a value before they are counted.

All permutations are as likely: the counts by what rows keep, and those by value, stay as they are.
And what moved rows of a register leak, whether they were swapped or post-randomised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_float, invalid
from mialeak._blocks import as_rng
from mialeak.discrete import max_leakage
from mialeak.mechanisms._cellwise import leaked, total
from mialeak.mechanisms._closed_forms import raw_leakage
from mialeak.mechanisms._enumerate import count_vectors
from mialeak.mechanisms._post_randomisation import Pram, as_table
from mialeak.populations import Register

__all__ = ["Swap", "moved_register_leakage", "swap_leakage"]

#: Choices of rows, in all count vectors, that are enumerated: seconds.
_MOST_CHOICES = 100_000
#: Larger numbers of choices than its exponential count as this.
_LARGEST_LOG = 700.0

Table = tuple[int, ...]


@dataclass(frozen=True)
class Swap:
    """Swapping: each row is chosen with a probability, and chosen rows exchange a value.

    Cells are pairs of what a row keeps, such as its age, and of the value that it exchanges, such
    as its place.  The values of the chosen rows of a group are dealt out among them, all
    permutations being as likely.

    Parameters
    ----------
    rate : float
        Probability that a row is chosen, from 0 to 1.
    by : sequence of tuples, length K
        For each cell what a row of it keeps and the value that it exchanges, ``(kept, value)``; or,
        if only rows of one group exchange, ``(group, kept, value)``.

    Raises
    ------
    ValueError
        If the rate is outside [0, 1], or `by` lists a cell twice or lacks a pair of a kept part and
        a value of a group.
    TypeError
        If `by` does not hold tuples of two or three.

    Notes
    -----
    Swapping keeps the counts of each group by what is kept, and by the value: it leaks at least
    what these tables leak.  :func:`mechanism_leakage` enumerates few rows; otherwise it states
    these bounds, and that of the raw counts.

    As ``protect=`` of :func:`mialeak.table_leakage` it is refused.  Of the values that a row may
    come to have, the shown counts depend on all rows of its group, also on those of cells that the
    table does not show, so that no cell has a law of its own and the estimate for the population
    none to integrate.  The two sides are answers of their own: with ``margins=`` what is kept, and
    what the counts leak as they are; for a known law both come from :func:`mechanism_leakage`.

    Examples
    --------
    Two ages, two places.  However many rows exchange their places, the counts by age and those by
    place stay as they are:

    >>> from mialeak import max_leakage, mechanism_leakage
    >>> from mialeak.mechanisms import Swap
    >>> law, by = [0.4, 0.1, 0.3, 0.2], [("young", 1), ("young", 2), ("old", 1), ("old", 2)]
    >>> for rate in (0.0, 0.5, 1.0):
    ...     print(f"{float(mechanism_leakage(Swap(rate, by), law, 6)):.4f}")
    0.2773
    0.2468
    0.2331
    >>> print(f"{max_leakage([0.7, 0.3], 6):.4f} by place alone")
    0.1513 by place alone
    """

    rate: float
    by: Sequence[Any]
    random = True
    _groups: tuple[tuple[int, int, tuple[int, ...]], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= as_float(self.rate, "rate") <= 1.0:
            invalid("rate", "be between 0 and 1", value=self.rate)
        cells = [self._triple(place, each) for place, each in enumerate(self.by)]
        if len(set(cells)) < len(cells):
            twice = next(cell for cell in cells if cells.count(cell) > 1)
            invalid("by", "list each cell once", value=twice)
        place = {cell: k for k, cell in enumerate(cells)}
        groups = []
        for group in dict.fromkeys(cell[0] for cell in cells):
            kept = list(dict.fromkeys(cell[1] for cell in cells if cell[0] == group))
            values = list(dict.fromkeys(cell[2] for cell in cells if cell[0] == group))
            for pair in product(kept, values):
                if (group, *pair) not in place:
                    rule = "have a cell for each kept part and each value of a group"
                    remedy = "A row can come to it: list it, with probability 0"
                    invalid("by", f"{rule}; it lacks {pair!r}", remedy=remedy)
            of_group = tuple(place[group, one, value] for one in kept for value in values)
            groups.append((len(kept), len(values), of_group))
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "_groups", tuple(groups))

    @staticmethod
    def _triple(place: int, cell: Any) -> tuple[Any, Any, Any]:
        if not isinstance(cell, tuple) or len(cell) not in (2, 3):
            rule = "hold tuples (kept, value) or (group, kept, value)"
            invalid("by", rule, index=place, value=cell, error=TypeError)
        return cell if len(cell) == 3 else (None, *cell)

    def _margins(self, masses: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The masses of each group by what is kept, and by the value: both stay as they are."""
        tables = [masses[list(cells)].reshape(rows, width) for rows, width, cells in self._groups]
        return [np.concatenate([each.sum(axis=axis) for each in tables]) for axis in (1, 0)]

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """Counts of the rows after they were swapped.

        Parameters
        ----------
        counts : array_like of int, shape (K,)
        rng : None, int or numpy.random.Generator, optional

        Returns
        -------
        ndarray of int64, shape (K,)
        """
        values, generator = as_table(counts, len(self.by)), as_rng(rng)
        out = values.copy()
        chosen = generator.binomial(values, self.rate)
        for _, width, cells in self._groups:
            places = np.array(cells)
            part = chosen[places].reshape(-1, width)
            kept = np.repeat(np.arange(len(part)), part.sum(axis=1))
            dealt = generator.permutation(np.repeat(np.arange(width), part.sum(axis=0)))
            swapped = np.bincount(kept * width + dealt, minlength=len(places))
            out[places] += swapped - chosen[places]
        return out


def swap_leakage(
    mechanism: Swap, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    """Lower and upper bound of the average leakage, equal where it is exact; and the method."""
    if len(mechanism.by) != len(p):
        rule = f"list each of the {len(p):,} cells"
        invalid("by", f"{rule}; it lists {len(mechanism.by):,}")
    if mechanism.rate == 0.0:
        raw = raw_leakage(p, n, gamma, poisson=poisson)
        return raw, raw, "closed form"
    if not poisson and _choices(n, len(p)) <= _MOST_CHOICES:
        exact = _all_exchanges(mechanism, p, n, gamma)
        return exact, exact, "enumeration"
    kept = mechanism._margins(p)
    low = max(raw_leakage(margin, n, gamma, poisson=poisson) for margin in kept)
    return (
        low,
        raw_leakage(p, n, gamma, poisson=poisson),
        "counts that swapping keeps, and raw counts",
    )


def _choices(n: int, cells: int) -> float:
    """Choices of rows in all count vectors, nearly: each cell chooses from 0 to all of its rows."""
    vectors = math.lgamma(n + cells) - math.lgamma(n + 1) - math.lgamma(cells)
    return math.exp(min(vectors + cells * math.log1p(n / cells), _LARGEST_LOG))


def _all_exchanges(mechanism: Swap, p: FloatArray, n: int, gamma: float) -> float:
    """Over all count vectors, all choices of rows, and all ways to deal their values out."""
    sums: dict[Table, FloatArray] = {}
    for counts in count_vectors(n, len(p)).tolist():
        orders = math.factorial(n)
        chance = 1.0
        for share, count in zip(p.tolist(), counts, strict=True):
            orders //= math.factorial(count)
            chance *= share**count
        score = orders * chance * (np.array(counts) / n - gamma * p)
        for shown, part in _swapped(mechanism, tuple(counts)):
            sums[shown] = sums.get(shown, 0.0) + part * score
    return total(leaked(np.array(list(sums.values())), gamma))


def _swapped(mechanism: Swap, counts: Table) -> Iterator[tuple[Table, float]]:
    """The tables that a table can become, not all different, and their probabilities."""
    law: dict[Table, float] = {counts: 1.0}
    for _, width, cells in mechanism._groups:
        after: dict[Table, float] = {}
        for table, chance in law.items():
            for chosen in product(*(range(table[k] + 1) for k in cells)):
                part = chance * math.prod(
                    math.comb(table[k], s)
                    * mechanism.rate**s
                    * (1.0 - mechanism.rate) ** (table[k] - s)
                    for k, s in zip(cells, chosen, strict=True)
                )
                for dealt, share in _dealt(chosen, width):
                    shown = list(table)
                    for k, s, d in zip(cells, chosen, dealt, strict=True):
                        shown[k] += d - s
                    after[tuple(shown)] = after.get(tuple(shown), 0.0) + part * share
        law = after
    yield from law.items()


# ---- people of a register ----


def moved_register_leakage(
    mechanism: Pram | Swap, register: Register, n: int | None, gamma: float
) -> tuple[float, float, str]:
    """The same for people of a register whose rows move: over all samples, and all their moves.

    A target of cell k, of s_k people of whom c_k are drawn, is one of those with a chance that has
    the likelihood ratio ``c_k (N - n) / ((s_k - c_k) n)``; with a rate, N times it stands for n.
    """
    if register.counts is None:
        invalid("p", "hold the counts of its cells", remedy="Pass Register an array")
    people, raw = register.counts, float(max_leakage(register, n, gamma=gamma))
    cells = len(people)
    names = len(mechanism.by) if isinstance(mechanism, Swap) else len(mechanism.matrix)
    if names != cells:
        what = "by" if isinstance(mechanism, Swap) else "matrix"
        invalid(what, f"have one for each of the {cells:,} cells; it has {names:,}")
    if isinstance(mechanism, Swap):
        if mechanism.rate == 0.0:
            return raw, raw, "closed form"
        moves = math.prod((size + 1) * (size + 2) // 2 for size in people.tolist())
    else:
        moves = math.prod(math.comb(size + cells, cells) for size in people.tolist())
    if moves <= _MOST_CHOICES:
        exact = _all_moves(mechanism, people, register.rate, n, gamma)
        return exact, exact, "enumeration"
    low = 0.0
    if isinstance(mechanism, Swap):
        kept = [Register(each, rate=register.rate) for each in mechanism._margins(people)]
        low = max(float(max_leakage(each, n, gamma=gamma)) for each in kept)
    return low, raw, "counts that moving keeps, and raw counts"


def _all_moves(
    mechanism: Pram | Swap,
    people: npt.NDArray[np.int64],
    rate: float | None,
    n: int | None,
    gamma: float,
) -> float:
    """Over all samples of the people of each cell, and all tables that each can become."""
    whole = int(people.sum())
    inside = float(as_count(n, "n", least=1)) if rate is None else whole * rate
    sums: dict[Table, FloatArray] = {}
    for counts in product(*(range(size + 1) for size in people.tolist())):
        drawn = sum(counts)
        if rate is None and drawn != n:
            continue
        samples = math.prod(map(math.comb, people.tolist(), counts))
        if rate is None:
            chance = samples / math.comb(whole, drawn)
        else:
            chance = samples * rate**drawn * (1.0 - rate) ** (whole - drawn)
        taken = np.array(counts)
        score = chance * (taken / inside - gamma * (people - taken) / (whole - inside))
        if isinstance(mechanism, Swap):
            tables = _swapped(mechanism, counts)
        else:
            tables = _spread(mechanism, counts)
        for shown, part in tables:
            sums[shown] = sums.get(shown, 0.0) + part * score
    return total(leaked(np.array(list(sums.values())), gamma))


def _spread(mechanism: Pram, counts: Table) -> Iterator[tuple[Table, float]]:
    """The tables that a table becomes if each row moves by itself, and their probabilities."""
    law: dict[Table, float] = {(0,) * len(counts): 1.0}
    for count, row in zip(counts, mechanism.matrix.tolist(), strict=True):
        spread = {
            tuple(table): math.factorial(count)
            * math.prod(p**c / math.factorial(c) for p, c in zip(row, table, strict=True))
            for table in count_vectors(count, len(counts)).tolist()
        }
        after: dict[Table, float] = {}
        for table, chance in law.items():
            for added, part in spread.items():
                shown = tuple(map(int.__add__, table, added))
                after[shown] = after.get(shown, 0.0) + chance * part
        law = after
    yield from law.items()


@lru_cache(maxsize=2**14)
def _dealt(chosen: Table, width: int) -> tuple[tuple[Table, float], ...]:
    """Tables with the sums of this one by row and by column, and their probabilities."""
    rows = [chosen[k : k + width] for k in range(0, len(chosen), width)]
    sums, values = [sum(row) for row in rows], [sum(column) for column in zip(*rows, strict=True)]
    every = math.factorial(sum(sums))
    alike = math.prod(map(math.factorial, [*sums, *values]))
    return tuple(
        (table, alike / (every * math.prod(map(math.factorial, table))))
        for table in _tables(sums, values)
    )


def _tables(sums: list[int], values: list[int]) -> Iterator[Table]:
    """All tables of counts with these sums by row and by column."""
    if not sums:
        yield ()
        return
    for row in product(*(range(value + 1) for value in values)):
        if sum(row) == sums[0]:
            unused = [value - count for value, count in zip(values, row, strict=True)]
            for others in _tables(sums[1:], unused):
                yield (*row, *others)
