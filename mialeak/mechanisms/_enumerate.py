"""Leakage of any procedure with finitely many outcomes: over all vectors of counts, or samples.

The vectors are walked in lexicographic order, the last count falling fastest, in fixed blocks.  A
block gives one row of sums for each outcome it meets; the rows are added up in the order of the
blocks, compensated, so that the result does not depend on the number of workers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MASS_TOLERANCE,
    FloatArray,
    as_count,
    first_index,
    invalid,
    require_within,
    rounded_to_one,
)
from mialeak._blocks import map_blocks, progress_bar, row_blocks, spawn_streams
from mialeak._kernels import enumeration
from mialeak._numerics.double_word import two_sum
from mialeak.discrete import max_leakage
from mialeak.mechanisms._cellwise import leaked, poisson_pmf, total, window

__all__ = [
    "LIMIT",
    "Enumeration",
    "Labels",
    "Sampling",
    "as_mechanism",
    "as_outcomes",
    "count_vectors",
    "enumerated_leakage",
    "require_sampled",
]

IntArray = npt.NDArray[np.int64]

#: Vectors a block: 4 MB of counts for eight cells, 1 to 100 ms of work.
_BLOCK = 2**16
#: Vectors at most, by default: minutes, with a mechanism written in NumPy.
LIMIT = 10**9
#: Distinct outcomes at most: 0.3 GB of sums for eight cells.
_MOST_OUTCOMES = 2**21
#: Size at most of all vectors in one array.
_MOST_BYTES = 2**31
#: Labels of a block are taken for places, without sorting, if they span at most so many each.
_SPREAD = 2
#: Vectors a second that messages reckon with: with labels given, and with a NumPy mechanism.
_TABLE_RATE, _CALL_RATE = 5e7, 5e6

_NUMBER = "Number the outcomes, or give a row of probabilities for each count vector"


# ---- the vectors of counts ----


class Enumeration:
    """The count vectors of n rows in K cells, or of a Poisson number of rows with mean n.

    Attributes
    ----------
    atoms : int
        K.
    cells, rows : int
        Cells and rows of the vectors that are walked: a Poisson number of rows is at most `rows`,
        the rest in a cell of its own.
    size : int
        How many there are.
    """

    def __init__(self, atoms: int, n: int, *, poisson: bool) -> None:
        self.atoms, self.n, self.poisson = atoms, n, poisson
        self.cells = atoms + poisson
        self.rows = int(window(np.array([float(n)]))[1][0]) if poisson else n
        self.size = math.comb(self.rows + self.cells - 1, self.cells - 1)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """First vector and number of vectors of each block."""
        for first in range(0, self.size, _BLOCK):
            yield first, min(_BLOCK, self.size - first)

    def vector(self, place: int) -> IntArray:
        """Count vector number `place`."""
        counts, rows_after = [], self.rows
        for behind in range(self.cells - 1, 0, -1):
            # The vectors with less than c here: all those of `rest` rows, less those of rest - c.
            every = math.comb(rows_after + behind, behind)
            low, high = 0, rows_after
            while low < high:
                c = (low + high + 1) // 2
                if every - math.comb(rows_after - c + behind, behind) <= place:
                    low = c
                else:
                    high = c - 1
            place -= every - math.comb(rows_after - low + behind, behind)
            counts.append(low)
            rows_after -= low
        return np.array([*counts, rows_after], np.int64)

    def counts(self, first: int, size: int) -> IntArray:
        """`size` count vectors from number `first` on, (size, K), read-only."""
        if self.cells == 1:
            counts = np.full((size, 1), self.rows, np.int64)
        else:
            counts = np.empty((size, self.cells), np.int64)
            enumeration.count_vectors(self.vector(first), counts)
            if self.poisson:
                counts = np.ascontiguousarray(counts[:, :-1])
        counts.flags.writeable = False
        return counts

    def factors(self, p: FloatArray) -> FloatArray:
        """The table of the walk: one factor for each cell and count."""
        grid = np.arange(self.rows + 1.0)
        table = np.ones((self.cells, len(grid)))
        table[: self.atoms] = poisson_pmf(grid, self.n * p[:, None])
        return table

    def check(self, limit: int, *, table: bool) -> None:
        """Refuse what is too large, saying how long it would take and what to do instead."""
        if self.cells > enumeration.MOST_CELLS:
            rule = f"have at most {enumeration.MOST_CELLS - 1} atoms to be enumerated"
            invalid("p", f"{rule}; it has {self.atoms}", remedy=_INSTEAD)
        if self.size > limit:
            formula = f"C({self.rows + self.cells - 1}, {self.cells - 1})"
            rule = (
                f"allow for {formula} = {_in_words(self.size)} count vectors, which would take "
                f"about {self.duration(table=table)}"
            )
            invalid("limit", rule, value=limit, remedy=_INSTEAD)

    def duration(self, *, table: bool) -> str:
        """How long it takes, roughly."""
        return _time(self.size, _TABLE_RATE if table else _CALL_RATE)


_INSTEAD = (
    "Raise limit=, merge atoms first (coarsen), take a built-in mechanism, which needs no "
    "enumeration, or be content with max_leakage (an upper bound for every mechanism) and "
    'method="sample" (a lower bound)'
)


def _in_words(size: int) -> str:
    return (
        f"{size:,}" if size < 10**12 else f"{float(size):.2g}" if size < 10**300 else "over 1e300"
    )


def _time(size: int, rate: float) -> str:
    if size > 10**24:
        return "forever"
    seconds = size / rate
    for unit, length in (
        ("years", 3.156e7),
        ("days", 86400.0),
        ("hours", 3600.0),
        ("minutes", 60.0),
    ):
        if seconds >= 2 * length:
            return f"{seconds / length:.2g} {unit}"
    return "a second" if seconds < 2 else f"{seconds:.0f} seconds"


def count_vectors(n: int, cells: int) -> IntArray:
    """All vectors of counts of n rows in `cells` cells, in the order of a table of labels.

    Parameters
    ----------
    n, cells : int
        Rows and cells.

    Returns
    -------
    ndarray of int64, shape (C(n + cells - 1, cells - 1), cells)
        In lexicographic order.

    Raises
    ------
    TypeError, ValueError
        If a number is no integer, or the vectors take more than 2 GiB.

    Examples
    --------
    >>> from mialeak.mechanisms import count_vectors
    >>> count_vectors(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    rows, cells = as_count(n, "n"), as_count(cells, "cells", least=1)
    every = Enumeration(cells, rows, poisson=False)
    every.check(LIMIT, table=True)
    size = every.size * cells * np.dtype(np.int64).itemsize
    if size > _MOST_BYTES:
        rule = f"allow for an array of at most {_MOST_BYTES // 2**30} GiB"
        invalid("cells", f"{rule}; {every.size:,} vectors of {cells} take {size / 2**30:.1f} GiB")
    return every.counts(0, every.size)


# ---- what a caller's mechanism gives for a block of them ----


@dataclass(frozen=True)
class Labels:
    """A label for each vector: ``names[labels]`` are the caller's, in increasing order."""

    names: IntArray
    labels: IntArray


@dataclass(frozen=True)
class Chances:
    """A row of probabilities for each vector."""

    names: IntArray
    chances: FloatArray


def as_mechanism(mechanism: Any, atoms: int, n: int, *, poisson: bool) -> Any:
    """A callable, or a table of labels of the right length."""
    if isinstance(mechanism, np.ndarray):
        if mechanism.dtype.kind not in "iub":
            rule = f"hold integer labels, not {mechanism.dtype}"
            invalid("mechanism", rule, error=TypeError)
        if poisson:
            rule = "be a function of counts if rows='poisson', not a table of labels"
            invalid("mechanism", rule, error=TypeError)
        size = Enumeration(atoms, n, poisson=False).size
        if mechanism.shape != (size,):
            rule = f"hold one label for each of {size:,} count vectors"
            invalid("mechanism", f"{rule}; its shape is {mechanism.shape}")
        return mechanism.astype(np.int64, copy=False)
    if isinstance(mechanism, type) or not callable(mechanism):
        invalid(
            "mechanism",
            "be a built-in such as Round(5), a function of count vectors or an array of labels",
            value=mechanism,
            error=TypeError,
        )
    return mechanism


def as_outcomes(
    mechanism: Any, counts: IntArray | None, first: int, size: int = 1
) -> Labels | Chances:
    """What `mechanism` makes of `counts`; of a table (no counts) the labels from `first` on."""
    if counts is None:
        return _compact(mechanism[first : first + size])
    shown = np.asarray(mechanism(counts))
    if shown.ndim not in (1, 2) or len(shown) != len(counts):
        invalid(
            "mechanism",
            f"give labels of shape (M,) or probabilities of shape (M, L) for M = {len(counts)} "
            f"count vectors; the shape is {shown.shape}",
        )
    if shown.ndim == 1:
        if shown.dtype.kind not in "iub":
            rule = f"give integer labels, not {shown.dtype}"
            invalid("mechanism", rule, remedy=_NUMBER, error=TypeError)
        return _compact(shown.astype(np.int64))
    return _as_chances(shown, counts)


def _as_chances(shown: npt.NDArray[Any], counts: IntArray) -> Chances:
    name = "mechanism(counts)"
    if shown.dtype.kind not in "fiub" or not shown.shape[1]:
        rule = f"give probabilities, not {shown.dtype} of shape {shown.shape}"
        invalid("mechanism", rule, error=TypeError)
    chances = rounded_to_one(np.ascontiguousarray(shown, np.float64))
    require_within(chances, 0.0, 1.0, name, "hold probabilities in [0, 1]")
    mass = chances.sum(axis=1)
    off = np.abs(mass - 1.0) > MASS_TOLERANCE
    if off.any():
        (row,) = first_index(off)
        given = f"{mass[row]!s} for the counts {counts[row].tolist()}"
        invalid(name, f"have rows that sum to 1 within 1e-9; the sum is {given}")
    return Chances(np.arange(shown.shape[1]), chances)


def _compact(labels: npt.NDArray[Any]) -> Labels:
    least, most = int(labels.min()), int(labels.max())
    if most - least < _SPREAD * len(labels):
        local = np.ascontiguousarray(labels, np.int64)
        return Labels(np.arange(least, most + 1), local - least if least else local)
    names, places = np.unique(labels, return_inverse=True)
    return Labels(names.astype(np.int64), places.astype(np.int64).reshape(-1))


def require_repeatable(mechanism: Any, counts: IntArray) -> None:
    """Refuse labels that are drawn at random, or by place: they would pass for a fixed map.

    Noise of a fixed seed gives each row of the argument the same label at every call, and another
    one where the rows stand in reverse order.
    """
    once = np.asarray(mechanism(counts))
    again = np.asarray(mechanism(np.ascontiguousarray(counts[::-1])))
    if not once.shape == again.shape == counts.shape[:1] or (once == again[::-1]).all():
        return
    again, how = again[::-1], "and, with these in reverse order,"
    shown = np.asarray(mechanism(counts))
    if once.shape == shown.shape and (once != shown).any():
        again, how = shown, "and then"
    (row,) = first_index(np.asarray(once != again))
    remedy = "If it is random, give the probabilities of its outcomes, shape (M, L)"
    if how == "and then":
        remedy += ', or take method="sample"'
    else:
        remedy += ": noise of a fixed seed is another for each place"
    invalid(
        "mechanism",
        f"give the same labels for the same counts; it gave {once[row]!s} {how} {again[row]!s} for "
        f"{counts[row].tolist()}",
        remedy=remedy,
    )


# ---- the leakage ----


def enumerated_leakage(
    mechanism: Any,
    p: FloatArray,
    n: int,
    gamma: float,
    *,
    poisson: bool,
    workers: int = 1,
    progress: bool = False,
    limit: int = LIMIT,
) -> float:
    """Leakage of a callable or a table of labels."""
    every = Enumeration(len(p), n, poisson=poisson)
    table = isinstance(mechanism, np.ndarray)
    every.check(limit, table=table)
    if progress:
        count = f"{every.size:,} count vectors"
        print(f"{count}, about {every.duration(table=table)}", file=sys.stderr)
    if not table:
        require_repeatable(mechanism, every.counts(0, min(1024, every.size)))
    if every.cells == 1:
        as_outcomes(mechanism, None if table else every.counts(0, 1), 0)
        return 0.0
    factors = every.factors(p)
    width = enumeration.padded_cells(len(p))
    offset = np.zeros(width)
    offset[: len(p)] = gamma * n * p

    def work(block: tuple[int, int]) -> tuple[int, IntArray, FloatArray]:
        first, size = block
        counts = None if table else every.counts(first, size)
        shown = as_outcomes(mechanism, counts, first, size)
        start, sums = every.vector(first), np.zeros((len(shown.names), 2, width))
        if isinstance(shown, Labels):
            enumeration.enumerate_labels(len(p), start, factors, offset, shown.labels, sums)
        else:
            enumeration.enumerate_kernel(len(p), start, factors, offset, shown.chances, sums)
        return size, shown.names, sums

    sums = _Sums(width)
    with progress_bar(progress, every.size, "count vector") as done:
        for size, names, part in map_blocks(work, every.blocks(), workers):
            sums.add(names, part)
            done(size)
    measure = (sums.values[:, 0] + sums.values[:, 1])[:, : len(p)] / n
    if not poisson:
        measure /= float(poisson_pmf(np.array([float(n)]), float(n))[0])
    return total(leaked(measure, gamma))


class _Sums:
    """Sums by outcome, compensated, in the order in which blocks come."""

    def __init__(self, width: int) -> None:
        self.names = np.empty(0, np.int64)
        self.values = np.empty((0, 2, width))

    def add(self, names: IntArray, part: FloatArray) -> None:
        """Add the rows `part` of the outcomes `names`, increasing."""
        place = np.searchsorted(self.names, names)
        known = place < len(self.names)
        known[known] = self.names[place[known]] == names[known]
        if not known.all():
            merged = np.union1d(self.names, names)
            if len(merged) > _MOST_OUTCOMES:
                rule = f"have at most {_MOST_OUTCOMES:,} different outcomes"
                invalid("mechanism", rule, remedy="max_leakage is what releasing all counts leaks")
            values = np.zeros((len(merged), *self.values.shape[1:]))
            values[np.searchsorted(merged, self.names)] = self.values
            self.names, self.values = merged, values
            place = np.searchsorted(merged, names)
        high, low = two_sum(self.values[place, 0], part[:, 0])
        self.values[place, 1] += low + part[:, 1]
        self.values[place, 0] = high


# ---- samples ----


def require_sampled(mechanism: Any, rows: str) -> None:
    """Refuse what need not, or cannot, be sampled."""
    if isinstance(mechanism, type) or not callable(mechanism):
        invalid(
            "mechanism",
            'be a function of count vectors for method="sample"',
            value=mechanism,
            remedy="Built-in mechanisms and tables of labels need no samples: leave method out",
            error=TypeError,
        )
    if rows != "fixed":
        rule = 'be "fixed" for method="sample": the bound is for scores of a known range'
        invalid("rows", rule, value=rows)


@dataclass(frozen=True)
class Sampling:
    """Two halves of count vectors: the first chooses an attack, the second measures it."""

    mechanism: Any
    p: FloatArray
    n: int
    gamma: float
    half: int
    workers: int

    def bounds(self, confidence: float, rng: Any, *, progress: bool) -> tuple[float, float]:
        """A lower bound with this confidence, and the leakage of the raw counts."""
        streams = spawn_streams(rng)
        attack: dict[int, FloatArray] = {}
        mean, square, seen = 0.0, 0.0, 0
        with progress_bar(progress, 2 * self.half, "sample") as done:
            for x, outcomes in self._draws(streams):
                for name, part in _by_outcome(outcomes, x):
                    attack[name] = attack.get(name, 0.0) + part
                done(len(x))
            for x, outcomes in self._draws(streams):
                y = _scores(outcomes, x, attack, self.gamma)
                gap = float(y.mean()) - mean
                square += float(((y - y.mean()) ** 2).sum()) + gap * gap * seen * len(y) / (
                    seen + len(y)
                )
                mean += gap * len(y) / (seen + len(y))
                seen += len(y)
                done(len(x))
        span = 1.0 + self.gamma
        log = math.log(2.0 / (1.0 - confidence))
        error = math.sqrt(2.0 * square / (seen - 1) * log / seen)
        error += 7.0 * span * log / (3 * (seen - 1))
        high = float(max_leakage(self.p, self.n, gamma=self.gamma))
        return min(max(mean - error, 0.0) / min(self.gamma, 1.0), high), high

    def _draws(self, streams: Any) -> Iterator[tuple[FloatArray, Any]]:
        """Half of the samples, from streams that go on where they were."""
        jobs = zip(row_blocks(self.half, len(self.p)), streams, strict=False)
        return map_blocks(self._draw, jobs, self.workers)

    def _draw(self, job: Any) -> tuple[FloatArray, Any]:
        block, stream = job
        counts = stream.multinomial(self.n, self.p, size=block.stop - block.start)
        counts = counts.astype(np.int64)
        counts.flags.writeable = False
        return counts / self.n - self.gamma * self.p, as_outcomes(self.mechanism, counts, 0)


def _by_outcome(outcomes: Any, x: FloatArray) -> list[tuple[int, FloatArray]]:
    """The sum of x for each outcome."""
    if isinstance(outcomes, Labels):
        order = np.argsort(outcomes.labels, kind="stable")
        present, first = np.unique(outcomes.labels[order], return_index=True)
        sums = np.add.reduceat(x[order], first, axis=0)
        return list(zip(outcomes.names[present].tolist(), sums, strict=True))
    return list(zip(outcomes.names.tolist(), outcomes.chances.T @ x, strict=True))


def _scores(
    outcomes: Any, x: FloatArray, attack: dict[int, FloatArray], gamma: float
) -> FloatArray:
    """Y for each sample, times gamma where that is below 1."""
    sign = 1.0 if gamma >= 1.0 else -1.0
    nothing = np.zeros(x.shape[1])
    guess = np.array([attack.get(name, nothing) for name in outcomes.names.tolist()])
    guess = (sign * guess > 0.0).astype(np.float64)
    if isinstance(outcomes, Labels):
        return np.asarray(sign * np.vecdot(x, guess[outcomes.labels]))
    return np.asarray(sign * np.vecdot(x, outcomes.chances @ guess))
