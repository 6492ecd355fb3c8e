"""Which counts follow from the outputs: exact linear algebra over the cells of a release.

========  ====================================================================================
Symbol    Meaning
========  ====================================================================================
A         outputs by cells: one row a published number, one column a cell of the population
y         weights of published numbers, with ``y' A`` the indicator of a group of cells
D         random weights of the cells, modulo a prime
G         ``A D A'``, the weighted Gram matrix of the rows, modulo the prime
========  ====================================================================================

The count of a group of cells *is determined* if its indicator lies in the row space of A: then
``y`` times the published numbers is the count, for whatever people.  A cell is determined if and
only if every null vector of A is 0 there.  A random null vector, ``x = w - D A' G^-1 A w`` modulo
the prime, decides that a cell is *not* determined; where x is 0, y is reconstructed as fractions
from its digits modulo the prime, and ``y' A`` is compared with the indicator in exact integers.  If
the rank modulo the prime is the number of cells, so is the rank, and all cells are determined.  So
a cell is called determined only with a proof.  One that is missed, with a probability of at most
(rows / prime), has bounds in place of an exact leakage.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._blocks import one_blas_thread
from mialeak.releases._modular import PRIME, Factors, fractions_modulo, gram, image

__all__ = ["MOST_ROWS", "Combination", "Design"]

IntArray = npt.NDArray[np.int64]
#: A weight for each published number that takes part, by the number of its row in A.
Combination = dict[int, Fraction]

#: Rows of A beyond which the rank is not computed: 10 s and 400 MB.
MOST_ROWS = 4000


#: Digits to the base of the prime that weights have at most, and how many are tried.
_MOST_DIGITS, _TRIED = 16, (1, 2, 4, 8, 16)


@dataclass(frozen=True, eq=False)
class Design:
    """The published numbers as integer rows over the cells.

    Attributes
    ----------
    matrix : (rows, cells) sparse int64
        A, with the number of people as row 0, and sums of its rows.
    determined : (cells,) bool
        Whether the count of each cell is determined, with a proof.
    complete : bool
        Whether the rank was computed; if not, only what follows from one row after the other.
    keys : (cells,) int64
        Random numbers: two groups of cells are the same if their sums are.
    """

    matrix: Any
    determined: npt.NDArray[np.bool_]
    complete: bool
    _peeled: dict[int, int]
    _core: _Core | None
    keys: IntArray
    _sums: IntArray

    @classmethod
    def of(
        cls,
        matrix: Any,
        weights: IntArray | None = None,
        previous: Design | None = None,
    ) -> Design:
        """The design of the rows `matrix`: which cells they determine.

        `previous` is a design whose rows are the first ones of this one; a weight of its cells is
        the sum of the `weights` of the cells that it was split into.
        """
        rng = np.random.default_rng(20260101)
        size = matrix.shape[1]
        peeled = _peel(matrix)
        determined = np.zeros(size, np.bool_)
        determined[list(peeled)] = True
        weights = rng.integers(1, PRIME, size) if weights is None else weights % PRIME
        cells = np.arange(size)
        rows = _different_rows(matrix, rng)
        if rows.size > MOST_ROWS:
            cells = np.flatnonzero(~determined)
            rows = _different_rows(matrix[:, cells], rng)
        complete, core = rows.size <= MOST_ROWS, None
        if cells.size and complete:
            with one_blas_thread():
                known = None if previous is None or cells.size < size else previous._whole_core
                core = _Core.of(matrix[rows][:, cells].tocsr(), rows, cells, weights[cells], known)
                determined[cells] |= core.determined(rng, determined[cells])
        keys = rng.integers(-(2**62), 2**62, size)
        with np.errstate(over="ignore"):
            return cls(matrix, determined, complete, peeled, core, keys, matrix @ keys)

    def combination(self, group: IntArray) -> Combination | None:
        """Weights of the rows whose sum is the indicator of the cells `group`; None if no exist.

        Two or three rows are tried first, then any number of them.
        """
        short = self._short(group)
        return short if short is not None else self._long(group)

    def may_follow(self, groups: Any) -> npt.NDArray[np.bool_]:
        """Which groups of cells, rows of a sparse matrix, may be combinations of the rows.

        Those over which a random null vector of A sums to 0 modulo the prime: all that are, and
        by chance 1 of 2**23 others.
        """
        return np.asarray(groups @ self._null_vector % PRIME == 0)

    @functools.cached_property
    def _null_vector(self) -> IntArray:
        """Random x with ``A x = 0``; without the rank, random for all cells that are not peeled."""
        rng, null = np.random.default_rng(20260104), np.zeros(self.matrix.shape[1], np.int64)
        if not self.complete:
            null = rng.integers(1, PRIME, null.size)
            null[list(self._peeled)] = 0
        elif self._core is not None:
            null[self._core.cells] = self._core.null_vector(rng)
        return null

    @property
    def basis(self) -> IntArray:
        """Rows of which all others are combinations; all rows where the rank is not known."""
        core = self._whole_core
        if core is None:
            return np.arange(self.matrix.shape[0])
        return core.rows[core.factors.basis]

    def keys_of(self, groups: Any) -> IntArray:
        """The sum of the keys of each group, a row of a sparse matrix each."""
        with np.errstate(over="ignore"):
            return np.asarray(groups @ self.keys)

    def proves(self, combination: Combination, group: IntArray) -> bool:
        """Whether the weighted sum of the rows is the indicator of `group`, in exact integers."""
        scale = math.lcm(*(weight.denominator for weight in combination.values()))
        total: dict[int, int] = {}
        for row, weight in combination.items():
            part = self.matrix[[row]]
            factor = int(weight * scale)
            for cell, entry in zip(part.indices.tolist(), part.data.tolist(), strict=True):
                total[cell] = total.get(cell, 0) + factor * entry
        wanted = dict.fromkeys(group.tolist(), scale)
        return {cell: value for cell, value in total.items() if value} == wanted

    # --- a few rows ---

    def _short(self, group: IntArray) -> Combination | None:
        """One row, or the sum or difference of two or three, that is the indicator of `group`.

        The sum of random keys over the cells of a row is linear in the row: a table of these sums
        is looked up.
        """
        order = np.argsort(self._sums, kind="stable")
        ordered = self._sums[order]
        holding = self.matrix[:, [int(group[0])]].tocoo().row
        sizes = np.diff(self.matrix.indptr)
        holding = holding[np.lexsort((holding, sizes[holding]))].tolist()  # the smallest first
        with np.errstate(over="ignore"):
            wanted = self.keys[group].sum()
            for row in holding:
                if self._sums[row] == wanted and self.proves({row: Fraction(1)}, group):
                    return {row: Fraction(1)}
            for signs in ((-1,), (1,), (-1, -1), (-1, 1)):
                for row in holding:
                    part = wanted - self._sums[row]
                    if len(signs) == 2:
                        part = part - signs[0] * self._sums
                    parts = np.atleast_1d(signs[-1] * part)
                    place = np.minimum(np.searchsorted(ordered, parts), ordered.size - 1)
                    for other in np.flatnonzero(ordered[place] == parts).tolist():
                        rows = [
                            row,
                            *([other] if len(signs) == 2 else []),
                            int(order[place[other]]),
                        ]
                        terms = _weights(zip(rows, (1, *signs), strict=True))
                        if terms and self.proves(terms, group):
                            return terms
        return None

    # --- any number of rows ---

    @property
    def _whole_core(self) -> _Core | None:
        """The core, if it has all cells: not only those that remain after peeling."""
        core = self._core
        return core if core is not None and core.cells.size == self.matrix.shape[1] else None

    def _long(self, group: IntArray) -> Combination | None:
        if self._whole_core is not None:
            whole = self._whole_core.combination(group)
            if whole is not None:
                return whole
        single = [cell for cell in group.tolist() if cell in self._peeled]
        inner = np.array([cell for cell in group.tolist() if cell not in self._peeled], np.int64)
        terms: Combination = {}
        if inner.size:
            core = None if self._core is None else self._core.combination(inner)
            if core is None:
                return None
            self._expand(core, inner, terms, Fraction(1))
        for cell in single:
            self._expand_peeled(cell, terms, Fraction(1))
        terms = {row: weight for row, weight in terms.items() if weight}
        return terms if self.proves(terms, group) else None

    def _expand(
        self, core: Combination, inner: IntArray, terms: Combination, factor: Fraction
    ) -> None:
        """Add rows of the core less the peeled cells that these hold beside it."""
        excess: dict[int, Fraction] = {}
        for row, weight in core.items():
            terms[row] = terms.get(row, Fraction(0)) + factor * weight
            part = self.matrix[[row]]
            for cell, entry in zip(part.indices.tolist(), part.data.tolist(), strict=True):
                if cell in self._peeled:
                    excess[cell] = excess.get(cell, Fraction(0)) + weight * entry
        for cell, weight in excess.items():
            if weight:
                self._expand_peeled(cell, terms, -factor * weight)

    def _expand_peeled(self, cell: int, terms: Combination, factor: Fraction) -> None:
        """Add `factor` times the count of a peeled cell, by the rows that give it."""
        waiting = {cell: factor}
        order = list(self._peeled)
        position = {each: place for place, each in enumerate(order)}
        while waiting:  # the cell that was peeled last first: it needs only those before it
            last = max(waiting, key=position.__getitem__)
            weight = waiting.pop(last)
            if not weight:
                continue
            row = self._peeled[last]
            part = self.matrix[[row]]
            entries = dict(zip(part.indices.tolist(), part.data.tolist(), strict=True))
            weight /= entries.pop(last)
            terms[row] = terms.get(row, Fraction(0)) + weight
            for other, entry in entries.items():
                waiting[other] = waiting.get(other, Fraction(0)) - weight * entry


def _weights(terms: Any) -> Combination:
    """The sum of (row, weight) pairs."""
    weights: Combination = {}
    for row, weight in terms:
        weights[row] = weights.get(row, Fraction(0)) + weight
    return {row: weight for row, weight in weights.items() if weight}


def _peel(matrix: Any) -> dict[int, int]:
    """Cells that are alone in a row, or alone but for cells peeled before; each with its row."""
    pattern = matrix.copy()
    pattern.data = np.ones_like(pattern.data)
    numbers = np.arange(matrix.shape[1])
    open_cells = np.ones(matrix.shape[1], np.int64)
    peeled: dict[int, int] = {}
    while True:
        rows = np.flatnonzero(pattern @ open_cells == 1)
        if not rows.size:
            return peeled
        cells, first = np.unique((pattern[rows] @ (open_cells * numbers)), return_index=True)
        peeled |= dict(zip(cells.tolist(), rows[first].tolist(), strict=True))
        open_cells[cells] = 0


def _different_rows(matrix: Any, rng: np.random.Generator) -> IntArray:
    """The first of each set of equal rows, without empty ones; by random keys, never too many."""
    keys = rng.integers(-(2**62), 2**62, matrix.shape[1])
    with np.errstate(over="ignore"):
        sums = matrix @ keys
    _, first = np.unique(sums, return_index=True)
    filled = np.diff(matrix.indptr) > 0
    return np.sort(first[filled[first]])


# ---- the core: rank modulo a prime ----


@dataclass(frozen=True, eq=False)
class _Core:
    """Rows and cells of a design, and the factors of their weighted Gram matrix."""

    columns: Any  # csr, (rows, cells)
    residues: Any  # the same, modulo the prime
    rows: IntArray  # of the design
    cells: IntArray  # of the design
    weights: IntArray
    factors: Factors

    @classmethod
    def of(
        cls, columns: Any, rows: IntArray, cells: IntArray, weights: IntArray, known: _Core | None
    ) -> _Core:
        """The core of these rows and cells; `known` may have the first of the rows."""
        residues = columns.copy()
        residues.data = residues.data % PRIME
        size = 0 if known is None else known.rows.size
        if known is not None and size <= rows.size and np.array_equal(rows[:size], known.rows):
            factors = known.factors.extended(gram(residues[size:], residues, weights))
        else:
            factors = Factors.of(gram(residues, residues, weights))
        return cls(columns, residues, rows, cells, weights, factors)

    def determined(
        self, rng: np.random.Generator, known: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Cells where a random null vector of A is 0, and whose combination is proved or known."""
        if (
            self.factors.basis.size == self.cells.size
        ):  # so many rows are independent, over Q as well
            return np.ones_like(known)
        proved = known.copy()
        for place in np.flatnonzero((self.null_vector(rng) == 0) & ~known).tolist():
            proved[place] = self.combination(self.cells[[place]]) is not None
        return proved

    def combination(self, group: IntArray) -> Combination | None:
        """Weights of rows of the design that are the indicator of `group` on the core's cells.

        The digits of the weights to the base of the prime, one after the other (Dixon 1982), until
        fractions with these digits are a solution.
        """
        wanted = np.zeros(self.cells.size, np.int64)
        wanted[np.searchsorted(self.cells, group)] = 1
        remaining, digits = wanted, []
        for place in range(_MOST_DIGITS):
            right = image(self.residues, remaining % PRIME * self.weights % PRIME)
            digits.append(self.factors.solve(right))
            if self._largest * PRIME >= 2**62:
                remaining = (remaining - image(self.residues.T, digits[-1])) % PRIME
            else:
                remaining = remaining - self.columns.T @ digits[-1]
            if (remaining % PRIME).any():
                return None
            remaining = remaining // PRIME
            if place + 1 in _TRIED:
                solution = self._solution(digits, wanted)
                if solution is not None or self._largest * PRIME >= 2**62:
                    return solution
        return None

    def _solution(self, digits: list[IntArray], wanted: IntArray) -> Combination | None:
        """Fractions with these digits, if they solve the equations in exact integers."""
        parts = np.flatnonzero(np.any(digits, axis=0))
        powers = [PRIME**place for place in range(len(digits))]
        residues = [
            sum(int(digit[row]) * power for digit, power in zip(digits, powers, strict=True))
            for row in parts
        ]
        numbers = fractions_modulo(residues, PRIME ** len(digits))
        if numbers is None:
            return None
        scale = math.lcm(*(each.denominator for each in numbers))
        exact = [int(each * scale) for each in numbers]
        rows = self.columns[parts]
        if max(map(abs, [*exact, scale])) * self._largest < 2**62:
            solved = np.array_equal(rows.T @ np.array(exact, np.int64), scale * wanted)
        else:
            total = [0] * self.cells.size
            entries = zip(rows.tocoo().row, rows.indices, rows.data.tolist(), strict=True)
            for row, cell, entry in entries:
                total[cell] += exact[row] * entry
            solved = total == [scale * each for each in wanted.tolist()]
        return dict(zip(self.rows[parts].tolist(), numbers, strict=True)) if solved else None

    @functools.cached_property
    def _largest(self) -> int:
        """The largest sum of the sizes of the entries of a cell."""
        return int(np.abs(self.columns).sum(axis=0).max())

    def null_vector(self, rng: np.random.Generator) -> IntArray:
        """``x = w - D A' G^-1 A w`` for random w modulo the prime, for which ``A x = 0``."""
        start = rng.integers(0, PRIME, self.cells.size)
        inner = self.factors.solve(image(self.residues, start))
        return (start - self.weights * image(self.residues.T, inner)) % PRIME
