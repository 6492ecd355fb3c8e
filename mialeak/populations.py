"""Populations that are lists of people rather than laws: samples of a register.

An office draws n of the N people of a register, a biobank or a trainer draws from a pool.  The rows
are then dependent, and the sample leaks more than as many independent rows do.
:func:`mialeak.discrete.max_leakage`, :func:`~mialeak.discrete.atom_leakage` and
:func:`~mialeak.discrete.discrete_tradeoff` take a :class:`Register` in place of probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, as_counts, as_float, as_frozen, invalid, refuse_masked

__all__ = ["Register"]

IntArray = npt.NDArray[np.int64]

#: Cells gone through at a time: 32 MB of counts.
_CHUNK = 2**22

#: Cells of fewer people are tallied by their size (8 MB); larger ones, of which a register has
#: fewer, are sorted.
_TALLIED = 2**20

#: Below this nobody is expected in a sample of as many people as a count can hold.
_LEAST_RATE = 2.0**-53


class Register:
    """The people of a finite population by cell, of whom a sample is drawn.

    Parameters
    ----------
    counts : array_like of integers, or iterator of arrays
        People in each cell, at least 0, in one dimension; at least 2 in all and at most 2**53.  A
        memory map is read block by block and stays on disk; other arrays are copied.  An iterator
        yields blocks of counts and is read once; only the sizes of its cells are kept.
    rate : float, optional
        Probability, from 2**-53 to below 1, with which each person enters the sample
        independently of all others (Bernoulli or Poisson sampling, non-response).  Without it, n
        people are drawn without replacement, and n is an argument of the function that is called.

    Attributes
    ----------
    counts : ndarray of int64 or None
        People in each cell, read-only; None for an iterator.
    rate : float or None
    people : int
        N, the people in the register.
    n_cells : int
        Cells, empty ones included.
    cell_sizes : ndarray of int64
        The different numbers of people that a cell has, ascending, without 0.
    cells_per_size : ndarray of int64
        How many cells have each of them.

    Raises
    ------
    TypeError
        If a count is not an integer, or `rate` is no number.
    ValueError
        If a count is negative, `counts` has not one dimension, the people are fewer than 2 or more
        than 2**53, or `rate` is out of range.

    See Also
    --------
    mialeak.discrete.max_leakage : the largest leakage of a sample.
    mialeak.tables.table_leakage : the leakage of a table whose register is at hand.

    Notes
    -----
    *In*: the target and n - 1 of the other N - 1 people.  *Out*: n of the other N - 1 people.  With
    f = n/N and the number of sampled people H ~ Hypergeometric(N, N_k, n), the likelihood ratio of
    "in" against "out" for a target in cell k is ``H (1 - f) / ((N_k - H) f)``.  With `rate`, f is
    the rate and H ~ Binomial(N_k, rate).

    Cells of one size have one leakage.  N people fill at most ``sqrt(2 N)`` different sizes, so the
    cells are counted by size once and each size is computed once.

    **Cost**: one pass; 1e7 cells in 0.3 s.

    Examples
    --------
    Half of ten people: the one who is alone in a cell is given away.

    >>> from mialeak import Register, atom_leakage, max_leakage
    >>> register = Register([6, 3, 1])
    >>> register
    Register(people=10, n_cells=3)
    >>> atom_leakage(register, 5).round(4)
    array([0.1905, 0.4444, 1.    ])
    >>> print(f"{max_leakage(register, 5):.4f}")
    0.3476

    Each with probability one half:

    >>> print(f"{max_leakage(Register([6, 3, 1], rate=0.5)):.4f}")
    0.4375
    """

    __slots__ = ("cell_sizes", "cells_per_size", "counts", "n_cells", "people", "rate")

    counts: IntArray | None
    rate: float | None
    people: int
    n_cells: int
    cell_sizes: IntArray
    cells_per_size: IntArray

    def __init__(self, counts: Any, *, rate: float | None = None) -> None:
        self.rate = None if rate is None else as_float(rate, "rate")
        if self.rate is not None and not _LEAST_RATE <= self.rate < 1.0:
            invalid("rate", "be at least 2**-53 and below 1", value=self.rate)
        blocks: Iterator[Any]
        if hasattr(counts, "__next__"):
            self.counts, blocks = None, counts
        else:
            self.counts = _as_cells(counts)
            blocks = _chunks(self.counts)
        sizes = _Sizes()
        for block in blocks:
            refuse_masked(block, "counts")
            sizes.add(_one_dimensional(as_counts(block, "counts")))
        self.n_cells = sizes.n_cells
        self.cell_sizes, self.cells_per_size = sizes.finish()
        pairs = zip(self.cell_sizes.tolist(), self.cells_per_size.tolist(), strict=True)
        self.people = sum(size * cells for size, cells in pairs)
        if not 2 <= self.people <= MAX_COUNT:
            invalid("counts", f"sum to between 2 and 2**53 people; the sum is {self.people:,}")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refused, so that whatever takes an array of probabilities refuses a register."""
        raise TypeError(
            "a Register holds people; max_leakage, atom_leakage and discrete_tradeoff take "
            "it, other functions its counts or their shares"
        )

    def __repr__(self) -> str:
        rate = "" if self.rate is None else f", rate={self.rate!r}"
        return f"Register(people={self.people}, n_cells={self.n_cells}{rate})"


class _Sizes:
    """How many cells have each number of people, block by block."""

    def __init__(self) -> None:
        self.n_cells = 0
        self._tally = np.zeros(1, np.int64)
        self._large: dict[int, int] = {}

    def add(self, counts: IntArray) -> None:
        self.n_cells += counts.size
        if not counts.size:
            return
        large = counts >= _TALLIED
        if large.any():
            sizes, cells = np.unique(counts[large], return_counts=True)
            for size, more in zip(sizes.tolist(), cells.tolist(), strict=True):
                self._large[size] = self._large.get(size, 0) + more
            counts = counts[~large]
        tally = np.bincount(counts, minlength=self._tally.size)
        tally[: self._tally.size] += self._tally
        self._tally = tally

    def finish(self) -> tuple[IntArray, IntArray]:
        """The sizes above 0, ascending, and the cells of each."""
        small = np.flatnonzero(self._tally[1:]) + 1
        large = np.array(sorted(self._large), np.int64)
        more = np.array([self._large[size] for size in large.tolist()], np.int64)
        sizes = np.concatenate([small, large])
        cells = np.concatenate([self._tally[small], more])
        return as_frozen(sizes), as_frozen(cells)


def _as_cells(counts: Any) -> IntArray:
    """The counts as an array that cannot be written to: of a memory map a view, else a copy."""
    refuse_masked(counts, "counts")
    mapped = isinstance(counts, np.memmap)
    cells = np.asarray(counts) if mapped else as_counts(counts, "counts").copy()
    _one_dimensional(cells)
    cells = cells.view()
    cells.setflags(write=False)
    return cells


def _one_dimensional(cells: IntArray) -> IntArray:
    if cells.ndim != 1:
        rule = f"have 1 dimension; the shape is {cells.shape}"
        invalid("counts", rule, remedy="Pass counts.ravel()")
    return cells


def _chunks(cells: IntArray) -> Iterator[IntArray]:
    for start in range(0, cells.size, _CHUNK):
        yield cells[start : start + _CHUNK]
