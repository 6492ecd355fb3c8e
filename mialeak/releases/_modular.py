"""Linear algebra modulo a prime: residues in float64, products by BLAS, sums that are exact."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = ["PRIME", "Factors", "fractions_modulo", "gram", "image"]

IntArray = npt.NDArray[np.int64]

#: Largest prime below 2**23: a sum of `_BLOCK` products of residues is an exact float64.
PRIME = 8388593
_BLOCK = 64
#: Products of residues that are summed before a reduction: 2**16 * 2**46 < 2**63.
_CHUNK = 1 << 16


def image(matrix: Any, vector: IntArray) -> IntArray:
    """A sparse matrix times a vector of residues; `_CHUNK` products are summed at a time."""
    total = np.zeros(matrix.shape[0], np.int64)
    if matrix.shape[1] <= _CHUNK:
        return np.asarray(matrix @ vector % PRIME)
    matrix = matrix.tocsc()
    for first in range(0, matrix.shape[1], _CHUNK):
        part = slice(first, first + _CHUNK)
        total = (total + matrix[:, part] @ vector[part]) % PRIME
    return total


def gram(rows: Any, columns: Any, weights: IntArray) -> FloatArray:
    """``B D A'`` modulo the prime, of two matrices of residues."""
    total = np.zeros((rows.shape[0], columns.shape[0]), np.int64)
    for start in range(0, columns.shape[1], _CHUNK):
        part = rows[:, start : start + _CHUNK].tocsr()
        part.data = part.data * weights[start + part.indices] % PRIME
        total += (part @ columns[:, start : start + _CHUNK].T).toarray() % PRIME
    return (total % PRIME).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Factors:
    """``G = L S L'`` with S block diagonal, modulo the prime, `_BLOCK` rows at a time.

    A row whose pivot is 0 depends on those before it, and takes no part: its solution is 0.
    """

    size: int
    blocks: list[tuple[IntArray, int, FloatArray, FloatArray]]  # rows, first below, L, 1/S

    @classmethod
    def of(cls, matrix: FloatArray) -> Factors:
        """Factors of a symmetric matrix of residues, which is overwritten."""
        blocks = []
        for start in range(0, len(matrix), _BLOCK):
            stop = min(start + _BLOCK, len(matrix))
            local, inverse = _inverted_block(matrix[start:stop, start:stop])
            rows = start + local
            down = matrix[stop:, rows]
            below = _reduced(down @ inverse)
            trailing = matrix[stop:, stop:]
            for first in range(0, len(trailing), _BLOCK):  # the lower triangle, piece by piece
                piece = trailing[first : first + _BLOCK, : first + _BLOCK]
                piece -= below[first : first + _BLOCK] @ down[: first + _BLOCK].T
                _reduced(piece)
            blocks.append((rows, stop, below, inverse))
        return cls(len(matrix), blocks)

    def extended(self, matrix: FloatArray) -> Factors:
        """Factors with further rows, of which `matrix` has all columns; it is overwritten."""
        blocks = []
        corner = matrix[:, self.size :]
        for rows, stop, below, inverse in self.blocks:
            part = matrix[:, rows].copy()
            more = _reduced(part @ inverse)
            down = _reduced(below @ _inverted_block(inverse)[1])
            matrix[:, stop : self.size] -= more @ down.T
            _reduced(matrix[:, stop : self.size])
            corner -= more @ part.T
            _reduced(corner)
            blocks.append((rows, stop, np.concatenate([below, more]), inverse))
        size = self.size
        last = [
            (size + rows, size + stop, below, inverse)
            for rows, stop, below, inverse in Factors.of(corner.copy()).blocks
        ]
        return Factors(len(matrix) + size, blocks + last)

    @functools.cached_property
    def basis(self) -> IntArray:
        """Rows that are independent: each of those that do not depend on the rows before."""
        return np.concatenate([np.zeros(0, np.int64), *(rows for rows, _, _, _ in self.blocks)])

    def solve(self, right: IntArray) -> IntArray:
        """The solution that is 0 in the rows that take no part."""
        vector, middle = right % PRIME, []
        for rows, stop, below, inverse in self.blocks:
            part = vector[rows].astype(np.float64)
            middle.append((inverse @ part).astype(np.int64) % PRIME)
            vector[stop:] = (vector[stop:] - (below @ part).astype(np.int64)) % PRIME
        solution = np.zeros(self.size, np.int64)
        for (rows, stop, below, _), centre in zip(self.blocks[::-1], middle[::-1], strict=True):
            above = np.zeros(rows.size, np.int64)
            for first in range(stop, self.size, _BLOCK):
                block = slice(first, first + _BLOCK)
                values = below[first - stop : first - stop + _BLOCK].T @ solution[block]
                above = (above + values.astype(np.int64)) % PRIME
            solution[rows] = (centre - above) % PRIME
        return solution


def _inverted_block(block: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows of a basis of the symmetric block, and the inverse of their part, row by row."""
    matrix, kept = block.astype(np.int64), []
    for row in range(len(matrix)):
        pivot = int(matrix[row, row])
        if not pivot:
            continue
        kept.append(row)
        reciprocal = pow(pivot, -1, PRIME)
        down = matrix[:, row] * reciprocal % PRIME
        across = matrix[row].copy()
        matrix = (matrix - down[:, None] * across) % PRIME
        matrix[row] = across * reciprocal % PRIME
        matrix[:, row] = -down % PRIME
        matrix[row, row] = reciprocal
    rows = np.array(kept, np.int64)
    return rows, matrix[np.ix_(rows, rows)].astype(np.float64)


def _reduced(values: FloatArray) -> FloatArray:
    """Whole numbers of size below 2**53 as residues in [0, prime), in place."""
    quotient = values * (1.0 / PRIME)
    np.floor(quotient, out=quotient)
    quotient *= PRIME
    values -= quotient
    values[values < 0.0] += PRIME
    values[values >= PRIME] -= PRIME
    return values


def fractions_modulo(residues: Sequence[int], modulus: int = PRIME) -> list[Fraction] | None:
    """The fractions with these residues whose terms are at most ``sqrt(modulus / 2)``.

    None if one has no such terms.
    """
    largest, numbers = math.isqrt(modulus // 2), []
    for residue in residues:
        above, below = (modulus, 0), (residue, 1)
        while below[0] > largest:
            quotient = above[0] // below[0]
            above, below = below, (above[0] - quotient * below[0], above[1] - quotient * below[1])
        if below[1] == 0 or abs(below[1]) > largest:
            return None
        numbers.append(Fraction(below[0], below[1]))
    return numbers
