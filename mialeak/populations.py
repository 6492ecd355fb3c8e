"""Populations that are lists of people rather than laws: samples of a register.

An office draws n of the N people of a register, a biobank or a trainer draws from a pool.  The rows
are then dependent, and the sample leaks more than as many independent rows do.
:func:`mialeak.discrete.max_leakage`, :func:`~mialeak.discrete.atom_leakage` and
:func:`~mialeak.discrete.discrete_tradeoff` take a population in place of probabilities: a
:class:`Register`, a :class:`Stratified` sample of several, or a :class:`Panel`, which is a
reference sample of a law that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MAX_COUNT,
    FloatArray,
    as_count,
    as_counts,
    as_flag,
    as_float,
    as_floats,
    as_frozen,
    invalid,
    refuse_masked,
    require,
)
from mialeak._labels import require_same_values

__all__ = ["Panel", "Register", "Stratified"]

IntArray = npt.NDArray[np.int64]

#: Cells gone through at a time: 32 MB of counts.
_CHUNK = 2**22

#: Cells of fewer people are tallied by their size (8 MB); larger ones, of which a register has
#: fewer, are sorted.
_TALLIED = 2**20

#: Below this nobody is expected in a sample of as many people as a count can hold.
_LEAST_RATE = 2.0**-53


class _Population:
    """A population that is no array of probabilities."""

    __slots__ = ()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refused, so that whatever takes an array of probabilities refuses a population."""
        raise TypeError(
            f"a {type(self).__name__} holds people; max_leakage, atom_leakage and "
            "discrete_tradeoff take it, other functions its counts or their shares"
        )


class Register(_Population):
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
    Half of ten people are drawn; the presence of the one who is alone in a cell is certain:

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

    __slots__ = ("_index", "cell_sizes", "cells_per_size", "counts", "n_cells", "people", "rate")

    _index: Any
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
        is_series = hasattr(counts, "iloc") and getattr(counts, "ndim", 0) == 1
        self._index = counts.index if is_series else None
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

    def __repr__(self) -> str:
        rate = "" if self.rate is None else f", rate={self.rate!r}"
        return f"Register(people={self.people}, n_cells={self.n_cells}{rate})"


class Stratified(_Population):
    """Strata of a population, from each of which a sample of its own is drawn.

    Parameters
    ----------
    registers : sequence of Register or of array_like
        The people of each stratum by cell.  With ``published=False`` all strata list the
        same cells in the same order (pandas Series: the same index); otherwise their cells need
        not correspond.
    n : sequence of int, optional
        People drawn from each stratum, without replacement: from 1 to one less than its people;
        None for a register with a rate.  Left out if all registers have a rate.
    published : bool, default True
        Whether the counts of each stratum are published.  False: only their sums over the strata.

    Attributes
    ----------
    registers : tuple of Register
    n : tuple of (int or None)
    published : bool
    people : int
        In all strata.

    Raises
    ------
    TypeError
        If `registers` is no sequence, such as a data frame or a dict; if `n` is missing for a
        register without a rate, or is no integer.
    ValueError
        If there are no registers, or not as many `n`; if an `n` is out of range, or given for a
        register with a rate; if pooled registers differ in their cells or were made of iterators.

    See Also
    --------
    Register : one stratum.

    Notes
    -----
    Strata are drawn independently of each other, so a target's leakage is that of the register of
    the target's own stratum if the strata are published.  Sums over the strata are a function of
    these counts and leak at most as much.  With rates, the sum of a cell is a sum of independent
    binomial counts, and the leakage is computed from its law.  With samples of fixed size only an
    enclosure is known: :func:`mialeak.discrete.max_leakage_bounds`.

    Examples
    --------
    A tenth of the country and half of the islands, published apart:

    >>> from mialeak import max_leakage
    >>> from mialeak.populations import Stratified
    >>> strata = Stratified([[600, 380, 20], [40, 9, 1]], n=[100, 25])
    >>> print(f"{max_leakage(strata):.4f}")
    0.0495

    Each person drawn with such a probability, counts published together and by stratum:

    >>> from mialeak import Register
    >>> rates = [Register([600, 380, 20], rate=0.1), Register([40, 9, 1], rate=0.5)]
    >>> for published in (False, True):
    ...     print(f"{max_leakage(Stratified(rates, published=published)):.4f}")
    0.0606
    0.0691
    """

    __slots__ = ("n", "people", "published", "registers")

    registers: tuple[Register, ...]
    n: tuple[int | None, ...]
    published: bool
    people: int

    def __init__(
        self,
        registers: Sequence[Any],
        n: Sequence[int | None] | None = None,
        *,
        published: bool = True,
    ) -> None:
        is_named = isinstance(registers, (str, Mapping)) or hasattr(registers, "columns")
        if isinstance(registers, Register) or is_named or not hasattr(registers, "__len__"):
            remedy = "Pass a list with one Register a stratum"
            invalid("registers", "be a sequence of registers", remedy=remedy, error=TypeError)
        if not len(registers):
            invalid("registers", "hold at least one stratum")
        self.registers = tuple(
            each if isinstance(each, Register) else Register(each) for each in registers
        )
        self.published = as_flag(published, "published")
        self.people = sum(each.people for each in self.registers)
        if self.people > MAX_COUNT:
            invalid("registers", f"hold at most 2**53 people; they hold {self.people:,}")
        if n is not None and (not hasattr(n, "__len__") or len(n) != len(self.registers)):
            rule = f"have one number for each of the {len(self.registers)} strata"
            invalid("n", rule, value=n)
        sizes = [None] * len(self.registers) if n is None else list(n)
        self.n = tuple(_size(each, sizes[k], k) for k, each in enumerate(self.registers))
        if not self.published:
            self._check_pooled()

    def _check_pooled(self) -> None:
        cells = {each.n_cells for each in self.registers}
        if len(cells) > 1:
            rule = "have the same cells in each stratum where strata are pooled"
            numbers = ", ".join(f"{each.n_cells:,}" for each in self.registers)
            remedy = "Give a cell without people in a stratum the count 0 there"
            invalid("registers", f"{rule}; they have {numbers}", remedy=remedy)
        if any(each.counts is None for each in self.registers):
            remedy = "Pass the counts as arrays or memory maps"
            invalid("registers", "hold their cells where strata are pooled", remedy=remedy)
        named = {f"registers[{place}]": each for place, each in enumerate(self.registers)}
        require_same_values("cells", **named)

    def __repr__(self) -> str:
        strata = len(self.registers)
        return f"Stratified(people={self.people}, strata={strata}, published={self.published})"


def _size(register: Register, n: Any, stratum: int) -> int | None:
    """The number of people drawn from a stratum."""
    if register.rate is not None:
        if n is not None:
            invalid("n", "be None for a Register with a rate", index=(stratum,), value=n)
        return None
    most = register.people - 1
    if n is None:
        rule = f"be given for stratum {stratum}, a Register without a rate: between 1 and {most:,}"
        invalid("n", rule, error=TypeError)
    size: int = as_count(n, "n")
    if size < 1:
        remedy = "Leave a stratum of which nobody is drawn out: nobody of it can be in the sample"
        invalid("n", "be at least 1", index=(stratum,), value=size, remedy=remedy)
    if size > most:
        rule = f"be at most {most:,}, one less than the people of the stratum"
        remedy = "Leave a stratum that is drawn as a whole out: nobody of it can be out"
        invalid("n", rule, index=(stratum,), value=size, remedy=remedy)
    return size


class Panel(_Population):
    """A reference sample of a law that the attacker does not know otherwise.

    Parameters
    ----------
    counts : array_like of integers
        Rows of the panel in each cell, at least 0, in one dimension.  All cells that there are:
        also those without a row.
    prior : float or array_like, default 0.5
        What is known of the law before the panel: a Dirichlet law with this parameter for each
        cell.  1/2 is Jeffreys' prior, 1 has all laws equally likely; at 0 the answer is that of a
        permutation test of panel and sample.

    Attributes
    ----------
    counts : ndarray of int64
    weights : ndarray of float64
        ``counts + prior``: the law's expectation is ``weights / weights.sum()``.
    rows : int
        n0, rows of the panel.
    n_cells : int

    Raises
    ------
    TypeError
        If a count is not an integer, or `prior` no number.
    ValueError
        If a count is negative, `counts` is empty or has not one dimension, or `prior` is negative,
        not finite, of another length, or 0 without a row.

    See Also
    --------
    Register : if all people are known.

    Notes
    -----
    *In*: the target and n - 1 fresh rows.  *Out*: n fresh rows.  The law is random, and of the
    panel's rows none is in the sample.  With r_k rows of the n0 in the target's cell, a_k its prior
    and A the sum of all priors, the likelihood ratio is
    ``(c_k / n) (n + n0 + A) / (c_k + r_k + a_k)``; c_k is beta-binomial.

    Examples
    --------
    The more an attacker knows of the law, the more a sample of 100 leaks:

    >>> from mialeak import max_leakage
    >>> from mialeak.populations import Panel
    >>> for rows in (0, 10, 1000):
    ...     print(f"{max_leakage(Panel([rows, rows, rows]), 100):.4f}")
    0.0057
    0.0274
    0.0556
    >>> print(f"{max_leakage([1 / 3, 1 / 3, 1 / 3], 100):.4f}")
    0.0565
    """

    __slots__ = ("counts", "n_cells", "rows", "weights")

    counts: IntArray
    weights: FloatArray
    rows: int
    n_cells: int

    def __init__(self, counts: Any, *, prior: Any = 0.5) -> None:
        refuse_masked(counts, "counts")
        require_same_values("cells", counts=counts, prior=prior)
        self.counts = _as_cells(as_counts(counts, "counts"))
        self.n_cells = self.counts.size
        if not self.n_cells:
            invalid("counts", "have at least one cell")
        self.rows = sum(self.counts.tolist())
        if self.rows > MAX_COUNT:
            invalid("counts", f"sum to at most 2**53 rows; the sum is {self.rows:,}")
        parameters = as_floats(prior, "prior")
        if parameters.shape not in {(), (self.n_cells,)}:
            rule = f"be a number or have one for each of {self.n_cells:,} cells"
            invalid("prior", f"{rule}; the shape is {parameters.shape}")
        good = (parameters >= 0.0) & np.isfinite(parameters)
        require(good, parameters, "prior", "be finite and at least 0")
        self.weights = as_frozen(self.counts + parameters)
        with np.errstate(over="ignore"):  # a sum of infinity is refused below
            total = float(self.weights.sum())
        if total == 0.0:
            remedy = "Pass a prior above 0, or a panel with rows"
            invalid("prior", "be above 0 for a panel without a row", remedy=remedy)
        if total > MAX_COUNT:
            rule = "sum, over the cells and with the rows of the panel, to at most 2**53"
            invalid("prior", f"{rule}; the sum is {total:g}", remedy="Pass a smaller prior")

    def __repr__(self) -> str:
        return f"Panel(rows={self.rows}, n_cells={self.n_cells})"


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
