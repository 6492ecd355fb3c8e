"""Post-randomisation: rows that change their cell before they are counted.

Rows drawn independently are independent after each was changed by itself, with the law q = p M.
The target, changed from cell k to cell j with probability M_kj, is in the table or not: for the
shown counts C the likelihood ratio is ``sum_j (M_kj / q_j) C_j / n``, the mean of n independent
weights.  Cells of the same weight ``M_kj / q_j`` are one.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MASS_TOLERANCE,
    FloatArray,
    as_count,
    as_counts,
    as_floats,
    as_probabilities,
    invalid,
    require_within,
    rounded_to_one,
)
from mialeak._blocks import as_rng
from mialeak._labels import labels_of, require_same_columns, require_same_values
from mialeak._results import Bounds
from mialeak.mechanisms._cellwise import (
    leaked,
    poisson_pmf,
    target_cell_leakage,
    target_cell_terms,
    total,
    window,
)

__all__ = ["Pram", "as_table", "pram_leakage"]

#: Count vectors of one target, and of all, that are enumerated.
_MOST_VECTORS, _ALL_VECTORS = 2**20, 2**24
#: Points of the law of a sum, of one target and of all: seconds.
_MOST_POINTS, _ALL_POINTS = 2**20, 2**25
#: Rows of a sum beyond which its law has fewer than eight digits; and the error of one for each.
_MOST_ROWS, _ROUNDING = 2**26, 2.0**-50
#: Roundings of the transform and its sum, beside one for each row.
_FEWEST_ROUNDINGS = 1024
#: Frequencies whose amplitude is below e^-100 add nothing to a law.
_LOG_OF_NOTHING = -100.0
#: A sum of n weights is outside its mean +- (WIDTH deviations + MORE times the largest) with a
#: probability below 1e-20, by Bernstein's inequality.
_WIDTH, _MORE = 9.7, 31.0


def as_table(counts: Any, cells: int) -> npt.NDArray[np.int64]:
    """The counts of a table of so many cells."""
    table = as_counts(counts, "counts")
    if table.shape != (cells,):
        rule = f"have one for each of the {cells:,} cells; their shape is {table.shape}"
        invalid("counts", rule)
    return table


@dataclass(frozen=True, eq=False)
class Pram:
    """Post-randomisation: each row moves to another cell with given probabilities.

    Parameters
    ----------
    matrix : array_like, shape (K, K), or path
        Row k holds the probabilities with which a row of cell k is counted in each cell.  Rows and
        columns of a data frame have one order, and a law that is a Series has it too.  A path is
        that of a CSV file: a line of names, and a line for each cell, with its values and then the
        K probabilities.
    by : sequence, optional
        What the cells are, in the order of the matrix: for each its value, or a tuple of the values
        of several columns.  :func:`mialeak.table_leakage` needs it, to know which cell is which; a
        file states it.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the columns whose values make the cells, which a file states.

    Raises
    ------
    ValueError
        If it is not square, a probability is outside [0, 1], or a row does not sum to 1; if `by`
        lists a cell twice, or not one for each row; if names of its rows are those of its columns,
        or of `by`, in another order.
    OSError
        If the file cannot be opened.

    Notes
    -----
    The target's row is moved as every other.  The law of the cells and the matrix are known to the
    attacker.

    Examples
    --------
    Randomised response on a bit that one person in ten has:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Pram
    >>> for keep in (1.0, 0.9, 0.75):
    ...     pram = Pram([[keep, 1 - keep], [1 - keep, keep]])
    ...     print(f"{float(mechanism_leakage(pram, [0.9, 0.1], 50)):.4f}")
    0.0333
    0.0209
    0.0110
    """

    matrix: Any
    by: Sequence[Any] | None = None
    columns: tuple[str, ...] | None = field(init=False, default=None, repr=False)
    _index: Any = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.matrix
        if isinstance(given, (str, PathLike)):
            if self.by is not None:
                invalid("by", "be left out with a file, which states it", value=self.by)
            given, by, columns = _read(given)
            object.__setattr__(self, "by", by)
            object.__setattr__(self, "columns", columns)
        require_same_columns(matrix=given)
        if hasattr(given, "iloc"):
            object.__setattr__(self, "_index", given.index)
        matrix = rounded_to_one(as_floats(given, "matrix", ndim=2))
        if matrix.shape[0] != matrix.shape[1] or not matrix.size:
            invalid("matrix", f"be square; its shape is {matrix.shape}")
        require_within(matrix, 0.0, 1.0, "matrix", "hold probabilities between 0 and 1")
        mass = matrix.sum(axis=1)
        if (np.abs(mass - 1.0) > MASS_TOLERANCE).any():
            at = int(np.argmax(np.abs(mass - 1.0) > MASS_TOLERANCE))
            rule = "have rows that sum to 1 within 1e-9"
            invalid("matrix", f"{rule}; the sum is {mass[at]!s}", index=at)
        object.__setattr__(self, "matrix", matrix / mass[:, None])
        if self.by is not None:
            cells = _as_cells(self.by, len(matrix))
            _require_order("by", "matrix", cells, labels_of(given))
            object.__setattr__(self, "by", cells)

    def __repr__(self) -> str:
        return f"Pram({len(self.matrix)} x {len(self.matrix)} probabilities)"

    def _shown(self, p: FloatArray) -> FloatArray:
        """The law q of a counted row."""
        if len(p) != len(self.matrix):
            rule = f"have a row for each of the {len(p):,} cells; it has {len(self.matrix):,}"
            invalid("matrix", rule)
        return np.asarray(p @ self.matrix)

    def _ratios(self, p: FloatArray) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """For a target of each cell the distinct weights M_kj / q_j, and the mass of each."""
        shown = self._shown(p)
        reached = shown > 0.0
        for k in np.flatnonzero(p > 0.0).tolist():
            values, place = np.unique(self.matrix[k, reached] / shown[reached], return_inverse=True)
            yield k, values, np.asarray(np.bincount(place, shown[reached]), np.float64)

    def atom_leakage(self, p: Any, n: int) -> Bounds:
        """Leakage of a target of each cell, all counts of the moved rows being released.

        Parameters
        ----------
        p : array_like of float, shape (K,)
            The law of the cells.
        n : int
            Number of rows, the target included.

        Returns
        -------
        Bounds
            Two arrays of shape (K,), equal where it is exact.

        Raises
        ------
        ValueError
            If `p` is no law of K cells, or `n` out of range.

        Examples
        --------
        >>> from mialeak.mechanisms import Pram
        >>> Pram([[0.9, 0.1], [0.1, 0.9]]).atom_leakage([0.9, 0.1], 50).lower.round(4)
        array([0.0116, 0.1047])
        """
        require_same_values("cells", matrix=self, p=p)
        law = as_probabilities(p, "p")
        rows = as_count(n, "n", least=1)
        lower, upper, _ = pram_target_leakage(self, law, rows, 1.0, poisson=False)
        return Bounds(lower, upper)

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """Counts of the moved rows.

        Parameters
        ----------
        counts : array_like of int, shape (K,)
        rng : None, int or numpy.random.Generator, optional

        Returns
        -------
        ndarray of int64, shape (K,)
        """
        values, generator = as_table(counts, len(self.matrix)), as_rng(rng)
        return np.asarray(generator.multinomial(values, self.matrix).sum(axis=0), np.int64)


def _as_cells(by: Any, cells: int) -> tuple[Any, ...]:
    """The names of the cells: one for each row of the matrix, all different."""
    named = tuple(by)
    if len(named) != cells:
        invalid(
            "by", f"have one for each of the {cells:,} rows of the matrix; it has {len(named):,}"
        )
    for place, each in enumerate(named):
        if not isinstance(each, Hashable):
            rule = "hold values, or tuples of values"
            invalid("by", rule, index=place, value=each, error=TypeError)
        if each in named[:place]:
            invalid("by", "list each cell once", index=place, value=each)
    return named


def _require_order(name: str, other: str, cells: Sequence[Any], labels: Any) -> None:
    """Refuse cells that are the columns of the matrix in another order."""
    if labels is None or list(labels) == list(cells) or set(labels) != set(cells):
        return
    place = next(k for k, pair in enumerate(zip(labels, cells, strict=True)) if pair[0] != pair[1])
    rule = f"have the order of the columns of {other}, where {labels[place]!r} is at {place}"
    invalid(name, rule, index=place, value=cells[place], remedy="Reorder one of the two")


def _read(path: Any) -> tuple[Any, tuple[Any, ...], tuple[str, ...]]:
    """The matrix of a CSV file, the values of its cells, and the names of their columns."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        names, *lines = [line for line in csv.reader(file) if line] or [[]]
    width = len(lines[0]) - len(lines) if lines else 0
    for place, line in enumerate(lines):
        if width < 1 or len(line) != len(lines) + width:
            rule = "hold the values of a cell and a probability for each cell, on each line"
            remedy = f"Line {place + 2} has {len(line)} fields, for {len(lines)} cells"
            invalid(str(path), rule, remedy=remedy)
    try:
        matrix = [[float(field) for field in line[width:]] for line in lines]
    except ValueError as error:
        invalid(str(path), f"hold numbers as probabilities ({error})")
    cells = [tuple(line[:width]) for line in lines]
    by = tuple(cell[0] if width == 1 else cell for cell in cells)
    names = [name.strip() for name in names]
    if width == 1 and len(set(by)) == len(names) - 1:
        cells_of = [str(each).strip() for each in by]
        _require_order(f"lines of {path}", "its line 1", cells_of, names[1:])
    return matrix, by, tuple(names[:width])


def pram_leakage(
    mechanism: Pram, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[float, float, str]:
    """Lower and upper bound of the average leakage, equal where it is exact; and the method."""
    *ends, method = pram_target_leakage(mechanism, p, n, gamma, poisson=poisson)
    low, high = (math.fsum((p * end).tolist()) for end in ends)
    if method != "enumeration":
        high = min(high, target_cell_leakage(None, p, n, gamma, poisson=poisson))
    return min(low, high), high, method


def pram_target_leakage(
    mechanism: Pram, p: FloatArray, n: int, gamma: float, *, poisson: bool
) -> tuple[FloatArray, FloatArray, str]:
    """The same for a target of each cell."""
    shown = mechanism._shown(p)
    known = np.zeros(len(p))
    atoms = shown[shown > 0.0]
    known[shown > 0.0] = target_cell_terms(None, atoms, n, gamma, poisson=poisson) / atoms
    known = mechanism.matrix @ known
    budget, exact = _ALL_VECTORS, True
    lower, upper = np.zeros(len(p)), np.zeros(len(p))
    like: dict[tuple[bytes, bytes], tuple[float, float]] = {}  # targets of the same groups
    targets = list(mechanism._ratios(p))
    points = min(_MOST_POINTS, max(_ALL_POINTS // len(targets), 2))
    points = 2 ** (points.bit_length() - 1)  # a power of two is fast
    for k, values, masses in targets:
        key = values.tobytes(), masses.tobytes()
        if key not in like:
            size = _size(values, masses, n, poisson=poisson)
            if size <= min(_MOST_VECTORS, budget):
                budget -= size
                like[key] = (_enumerated(values, masses, n, gamma, poisson=poisson),) * 2
            else:
                least = _least(values, masses, n, gamma, poisson=poisson)
                low, high = _on_lattice(values, masses, n, gamma, points, poisson=poisson)
                like[key] = max(least, low), max(least, high)
        lower[k], upper[k] = like[key]
        exact = exact and lower[k] == upper[k]
        upper[k] = max(lower[k], min(upper[k], known[k]))
    if exact:
        return lower, lower, "enumeration"
    return lower, upper, "sums on a lattice, groups of cells, and moved rows seen"


def _on_lattice(
    values: FloatArray, masses: FloatArray, n: int, gamma: float, points: int, *, poisson: bool
) -> tuple[float, float]:
    """Lower and upper bound by the sum of the rows' weights, on a lattice of so many points.

    Each weight becomes one of the two next points, right in the mean, which raises the mean of a
    convex function, such as the leakage, and by at most half the mean size of what is added.
    """
    deviation = values - (0.0 if poisson else 1.0)
    spread = math.sqrt(n * float(masses @ deviation**2))
    reach = _WIDTH * spread + _MORE * float(np.abs(deviation).max())
    steps = int(points / (2.0 * reach)) if reach > 0.0 else 0  # in a weight of 1
    if steps < 1 or n > _MOST_ROWS:
        return 0.0, math.inf
    below = np.floor(values * steps)
    part = values * steps - below
    place = below.astype(np.int64)
    law = np.bincount(place % points, masses * (1.0 - part), points)
    law += np.bincount((place + 1) % points, masses * part, points)
    wave = np.fft.rfft(law)
    with np.errstate(divide="ignore"):
        log = wave - 1.0 if poisson else np.log(wave)
    seen = log.real > _LOG_OF_NOTHING / n  # the others would underflow
    wave[~seen] = 0.0
    wave[seen] = np.exp(n * log[seen])
    sums = np.fft.irfft(wave, points)
    sums = np.roll(sums, points // 2 - n * steps % points)
    score = (np.arange(points) - points // 2) / (float(steps) * n) + (1.0 - gamma)
    high = total(leaked(np.maximum(sums, 0.0) * score, gamma))
    added = math.sqrt(float(masses @ (part * (1.0 - part))) / n) / steps
    slack = _ROUNDING * (n + _FEWEST_ROUNDINGS) * reach / n / min(1.0, gamma)
    return max(high - 0.5 * added / min(1.0, gamma) - slack, 0.0), high + slack


def _least(values: FloatArray, masses: FloatArray, n: int, gamma: float, *, poisson: bool) -> float:
    """What the count of cells leaks that a target comes to often, or of those of most weight."""
    cuts = {int(np.searchsorted(values, 1.0, side="right")), len(values) - 1} - {0, len(values)}
    least = 0.0
    for cut in cuts:
        mass = np.array([masses[:cut].sum(), masses[cut:].sum()])
        value = np.array([values[:cut] @ masses[:cut], values[cut:] @ masses[cut:]]) / mass
        if poisson:  # the count of the others is not looked at: its mean stands for it
            other = float(value[0] * mass[0])
            value, mass = value[1:], mass[1:]
        else:
            other = 0.0
        part = _enumerated(value, mass, n, gamma, poisson=poisson, other=other)
        least = max(least, part)
    return least


def _windows(values: FloatArray, masses: FloatArray, n: int, *, poisson: bool) -> list[Any]:
    """Counts of each group that matter; at a fixed number of rows of all but the largest."""
    low, high = window(n * masses)
    if not poisson:
        high = np.minimum(high, float(n))
        keep = np.arange(len(masses)) != int(np.argmax(masses))
    else:
        keep = values > 0.0
    return [np.arange(a, b + 1.0) for a, b in zip(low[keep], high[keep], strict=True)]


def _size(values: FloatArray, masses: FloatArray, n: int, *, poisson: bool) -> int:
    return math.prod(len(each) for each in _windows(values, masses, n, poisson=poisson))


def _enumerated(
    values: FloatArray,
    masses: FloatArray,
    n: int,
    gamma: float,
    *,
    poisson: bool,
    other: float = 0.0,
) -> float:
    """Leakage of a target of likelihood ratio ``other + sum values C / n``, over all counts C."""
    windows = _windows(values, masses, n, poisson=poisson)
    grids = np.meshgrid(*windows, indexing="ij", sparse=True) if windows else []
    if poisson:
        kept = values > 0.0
        weight, score = np.ones(()), np.zeros(())
    else:
        largest = int(np.argmax(masses))
        kept = np.arange(len(values)) != largest
        others = n - sum(grids, np.zeros(()))
        weight = poisson_pmf(others, n * masses[largest])
        weight = weight / float(poisson_pmf(np.array([float(n)]), float(n))[0])
        score = values[largest] * others
    for value, mass, grid in zip(values[kept], masses[kept], grids, strict=True):
        weight = weight * poisson_pmf(grid, n * mass)
        score = score + value * grid
    return total(leaked(weight * (score / n + other - gamma), gamma))
