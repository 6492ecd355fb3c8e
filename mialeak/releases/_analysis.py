"""What a set of outputs determines and leaks, cell by cell of the finest table they make."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse, special

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import one_blas_thread
from mialeak.discrete import atom_leakage
from mialeak.populations import Register
from mialeak.releases._design import MOST_ROWS, Design
from mialeak.releases._enumeration import beyond_enumeration, enumerated_leakage
from mialeak.releases._outputs import Output
from mialeak.releases._people import People

__all__ = ["Analysis", "Atoms", "Published", "codes_of", "joined"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Share of a row's own variance that is added to it, so that dependent rows have an inverse.
_RIDGE = 1e-10
#: Entries of gathered matrices that are in memory at a time.
_GATHERED = 1 << 22
#: Columns of a table whose totals by some of them are looked at.
_MOST_COLUMNS = 5
#: Differences of two counts that are looked at, those of fewest people first.
_MOST_GROUPS = 2000


def joined(key: IntArray, codes: IntArray) -> IntArray:
    """Numbers, without gaps, of the joint values of a key and further codes of the people."""
    size = int(codes.max(initial=0)) + 1
    _, number = np.unique(key * size + codes, return_inverse=True)
    return np.asarray(number.reshape(-1))


def codes_of(output: Output) -> list[IntArray]:
    """What of a person an output depends on: the cell, and the values that are summed."""
    codes = [output.of_row + 1]
    for values in output.weights.values():
        _, place = np.unique(np.where(output.of_row < 0, 0.0, values), return_inverse=True)
        codes.append(place.reshape(-1))
    return codes


@dataclass(frozen=True, eq=False)
class Atoms:
    """The cells of the finest table: people in one cell are alike for every output.

    Attributes
    ----------
    of_row : (people,) int64
        The cell of each person, people of the register after those of the release.
    first : (cells,) int64
        A person of each cell.
    counts : (cells,) int64
        People of the release in each cell.
    mass : (cells,) int64
        The same, of the register if there is one.
    """

    of_row: IntArray
    first: IntArray
    counts: IntArray
    mass: IntArray

    @classmethod
    def of(cls, people: People, key: IntArray) -> Atoms:
        """The cells of the numbers `key`."""
        _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        counts = np.bincount(of_row[: people.rows], minlength=first.size)
        mass = np.bincount(of_row[people.rows :], minlength=first.size)
        if people.in_register and (counts > mass).any():
            over = int(np.count_nonzero(counts > mass))
            rule = (
                "have at least as many people as the release in every cell; it has fewer in "
                f"{over:,} of {first.size:,}"
            )
            invalid("population", rule, remedy="Each of the people must be one of the register")
        return cls(of_row, first, counts, mass if people.in_register else counts)


@dataclass(frozen=True)
class Published:
    """A row of a design: a count or a sum that an output publishes, or a total of its counts.

    `labels` has the code of each column, -1 for those that are summed over.
    """

    output: int
    labels: tuple[int, ...]
    summed: str = ""


class Analysis:
    """Everything that one set of outputs makes of the people.

    What is known of `previous`, the analysis of the first of the outputs, is used.
    """

    def __init__(
        self,
        people: People,
        outputs: Sequence[Output],
        key: IntArray,
        previous: Analysis | None = None,
    ) -> None:
        self.people, self.outputs = people, tuple(outputs)
        first = () if previous is None else previous.outputs
        self._previous = previous if first == self.outputs[: len(first)] else None
        self._inverse: FloatArray | None = None
        self._square = np.zeros(0)
        self._differences: dict[int, Any] = {}
        self.atoms = Atoms.of(people, key)
        self.n = people.rows
        self.cells = np.stack([each.of_row[self.atoms.first] for each in outputs])
        wheres = {np.ones(people.rows, np.bool_).tobytes(): 0}
        self._where = [
            wheres.setdefault(each.where.rows[: people.rows].tobytes(), len(wheres))
            for each in outputs
        ]
        weights = np.bincount(self.atoms.of_row, people.weights, self.atoms.first.size)
        self._weights = weights.astype(np.int64)
        before = self._previous
        self.design: Design
        self.shown: Design
        self.design, self.published, self._basic = self._design(
            [each.always for each in outputs], None if before is None else before.design
        )
        self.shown, self.shown_published = self.design, self.published
        self.shown_basic = self._basic
        if not all(each.always for each in outputs):
            self.shown, self.shown_published, self.shown_basic = self._design(
                [True] * len(outputs), None if before is None else before.shown
            )

    # --- designs ---

    def _design(
        self, taken: Sequence[bool], previous: Design | None
    ) -> tuple[Design, list[Published | None], int]:
        """The numbers of the outputs taken and, after them, the totals that follow from each.

        Row 0 is the number of people.
        """
        rows = _Rows(self.atoms.first.size)
        chosen = [number for number in range(len(self.outputs)) if taken[number]]
        for number in chosen:
            output = self.outputs[number]
            rows.add_counts(Published(number, ()), self.cells[number], output.labels, output.exact)
            for name in output.weights:
                whole = output.scaled(name)
                if whole is not None:
                    values = np.where(self.cells[number] < 0, 0, whole[self.atoms.first])
                    rows.add_sum(Published(number, (), name), values)
        basic = np.arange(len(rows.published))
        if any(self._where[number] for number in chosen):
            seen: set[tuple[int, frozenset[Any]]] = set()
            for number in chosen:
                output = self.outputs[number]
                if output.exact.all():
                    seen.add((self._where[number], frozenset(output.columns)))
            for number in chosen:
                self._add_totals(rows, number, seen)
        return Design.of(rows.matrix(), basic, self._weights, previous), rows.published, basic.size

    def _add_totals(self, rows: _Rows, number: int, seen: set[tuple[int, frozenset[Any]]]) -> None:
        """The totals of a table by some of its columns, where all their counts are shown.

        Of the tables in `seen`, by sub-population and columns, another one has all of them.
        """
        output = self.outputs[number]
        width = len(output.columns)
        if width > _MOST_COLUMNS:
            return
        for size in range(width - 1, -1, -1):
            for kept in itertools.combinations(range(width), size):
                table = (self._where[number], frozenset(output.columns[k] for k in kept))
                if table in seen:
                    continue
                if output.exact.all():
                    seen.add(table)
                labels = np.full_like(output.labels, -1)
                labels[:, kept] = output.labels[:, kept]
                labels, place = np.unique(labels, axis=0, return_inverse=True)
                place = place.reshape(-1)
                hidden = np.bincount(place, ~output.exact, minlength=len(labels))
                cells = np.append(place, -1)[self.cells[number]]
                rows.add_counts(Published(number, ()), cells, labels, hidden == 0)

    # --- leakage ---

    def leakage_of(self, mass: npt.NDArray[Any]) -> FloatArray:
        """Leakage of a count that is published, of groups of people of this mass."""
        sizes, place = np.unique(mass, return_inverse=True)
        total = int(self.atoms.mass.sum())
        leaks = np.zeros(sizes.size)
        for k, size in enumerate(sizes.tolist()):
            if 0 < size < total:
                pair = [size, total - size]
                law: Any = Register(pair) if self.people.in_register else np.array(pair) / total
                leaks[k] = atom_leakage(law, self.n)[0]
        return leaks[place.reshape(-1)].reshape(mass.shape)

    @functools.cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Lower end, limit for large cells and upper end of every cell's leakage; which are exact.

        Upper: the counts of all cells together.  Lower: the best single count, published or the
        difference of two, that holds the cell.
        """
        mass = self.atoms.mass
        high = self.leakage_of(mass)
        exact = self.design.determined.copy()
        enumerated = self._enumerated()
        if enumerated is not None:
            return enumerated, enumerated, enumerated, np.ones(mass.size, np.bool_)
        low = np.where(exact, high, 0.0)
        for output, cells in zip(self.outputs, self.cells, strict=True):
            sizes = np.bincount(cells + 1, mass, minlength=output.n_cells + 1).astype(np.int64)
            if output.always:
                leaks = self.leakage_of(sizes)
            elif output.protect is not None and not output.gaps:
                leaks = np.zeros(sizes.size)
                leaks[1:] = output.protect.atom_leakage(sizes[1:] / mass.sum(), self.n)
            else:
                continue
            low = np.maximum(low, leaks[cells + 1])
        groups = self.differences(self.design, self.n)
        leaks = np.repeat(self.leakage_of(groups @ mass), np.diff(groups.indptr))
        np.maximum.at(low, groups.indices, leaks)
        low = np.minimum(low, high)
        value = np.clip(self._limit(), low, high)
        self._previous = None  # nothing more is taken from it
        return low, value, high, exact

    def _enumerated(self) -> FloatArray | None:
        """The exact leakage of every cell by all populations, if these are few enough."""
        cells = self.atoms.first.size
        if beyond_enumeration(cells, self.n):
            return None
        shown = []
        for number, output in enumerate(self.outputs):
            if output.gaps or (output.protect is not None and output.protect.random):
                return None
            sums = np.zeros((cells, output.n_cells), np.int64)
            inside = np.flatnonzero(self.cells[number] >= 0)
            sums[inside, self.cells[number][inside]] = 1
            shown.append(_shown(sums, output.protect))
            for name in output.weights:
                whole = output.scaled(name)
                if whole is None:
                    return None
                values = np.where(self.cells[number] < 0, 0, whole[self.atoms.first])
                shown.append(_shown(values[:, None], None))
        register = self.people.in_register
        return enumerated_leakage(shown, self.atoms.mass, self.n, register=register)

    def _limit(self) -> FloatArray:
        """Leakage in the limit of many people in every cell, by all outputs without protection.

        ``erf(sqrt(m / 8))`` with ``m = (a_k' G^-1 a_k - 1) / n``, G the weighted Gram matrix of
        the rows: the leakage score of the mean of what a person adds to the published numbers.
        """
        matrix = self._real_rows()
        if matrix.shape[0] > MOST_ROWS:
            return np.zeros(matrix.shape[1])
        mass = self.atoms.mass / self.atoms.mass.sum()
        scale = np.sqrt(matrix.multiply(matrix) @ mass)
        scale[scale == 0.0] = 1.0
        matrix = (sparse.diags(1.0 / scale) @ matrix).tocsr()
        with one_blas_thread():
            squares = self._squares(matrix, mass)
        rate = self.n / self.atoms.mass.sum() if self.people.in_register else 0.0
        score = np.maximum(squares - 1.0, 0.0) / (self.n * (1.0 - rate))
        return np.asarray(special.erf(np.sqrt(score / 8.0)))

    def _squares(self, matrix: Any, mass: FloatArray) -> FloatArray:
        """``a_k' G^-1 a_k`` of every cell; of the rows of the previous analysis it is known."""
        before = self._previous
        known = None if before is None else before._inverse
        if before is None or known is None or self._sums_reals():
            gram = (matrix.multiply(mass) @ matrix.T).toarray()
            self._inverse = _inverse(gram)
            self._square = _quadratic_forms(self._inverse, matrix.tocsc())
            return self._square
        first, last = matrix[: len(known)], matrix[len(known) :]
        cross = (first.multiply(mass) @ last.T).toarray()
        turned = known @ cross
        corner = (last.multiply(mass) @ last.T).toarray() - cross.T @ turned
        inverse = _inverse(corner)
        beyond = last.T.toarray() - first.T @ turned
        parent = before.atoms.of_row[self.atoms.first]
        return np.asarray(before._square[parent] + ((beyond @ inverse) * beyond).sum(axis=1))

    def _sums_reals(self) -> bool:
        """Whether sums are published that are no whole numbers."""
        return any(each.scaled(name) is None for each in self.outputs for name in each.weights)

    def _real_rows(self) -> Any:
        """The rows of the design and those of sums that are no whole numbers."""
        more = []
        for number, output in enumerate(self.outputs):
            for name, values in output.weights.items():
                if output.scaled(name) is None:
                    inside = self.cells[number] >= 0
                    more.append(np.where(inside, values[self.atoms.first], 0.0))
        matrix = self.design.matrix[: self._basic].astype(np.float64)
        return sparse.vstack([matrix, sparse.csr_matrix(np.array(more))]) if more else matrix

    # --- groups ---

    def small(self, threshold: int) -> int:
        """Published counts from 1 to below `threshold`."""
        cells = (
            np.bincount(cells + 1, self.atoms.counts, each.n_cells + 1)[1:][each.exact]
            for each, cells in zip(self.outputs, self.cells, strict=True)
        )
        counts = np.concatenate(list(cells))
        return int(np.count_nonzero((counts > 0) & (counts < threshold)))

    def differences(self, design: Design, below: int) -> Any:
        """Groups of fewer than `below` people that are one published count less another.

        A sparse row a group, those of fewest people first.
        """
        if id(design) not in self._differences:
            self._differences[id(design)] = self._all_differences(design)
        groups = self._differences[id(design)]
        return groups[groups @ self.atoms.counts < below]

    def _all_differences(self, design: Design) -> Any:
        """The differences of counts of different sub-populations, at most `_MOST_GROUPS`.

        Of the same sub-population they are sums of published counts, and of no interest.
        """
        published = self.published if design is self.design else self.shown_published
        table = np.array([each is None or not each.summed for each in published])
        kind = np.array([0 if each is None else self._where[each.output] for each in published])
        pattern, kind = design.matrix[table], kind[table]
        size = np.diff(pattern.indptr)
        limited = np.flatnonzero(kind > 0)
        if not limited.size:
            return pattern[:0]
        inside = np.unique(pattern[limited].indices)
        part = pattern[:, inside]
        overlap = (part[limited] @ part.T.tocsr()).tocoo()
        inner, outer = limited[overlap.row], overlap.col
        inside = (overlap.data == size[inner]) & (size[outer] > size[inner])
        inside &= kind[inner] != kind[outer]
        inner, outer = inner[inside], outer[inside]
        counts = pattern @ self.atoms.counts
        between = counts[outer] - counts[inner]
        taken = np.flatnonzero(between > 0)
        keys = np.random.default_rng(7).integers(-(2**62), 2**62, pattern.shape[1])
        with np.errstate(over="ignore"):
            sums = pattern @ keys
            marks = sums[outer[taken]] - sums[inner[taken]]
        _, first = np.unique(marks, return_index=True)
        taken = taken[first[~np.isin(marks[first], sums)]]
        taken = taken[np.argsort(between[taken], kind="stable")][:_MOST_GROUPS]
        groups = pattern[outer[taken]] - pattern[inner[taken]]
        groups.eliminate_zeros()
        return groups.tocsr()


class _Rows:
    """The rows of a design, collected."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self.published: list[Published | None] = [None]
        self._rows, self._columns = [np.zeros(cells, np.int64)], [np.arange(cells)]
        self._data = [np.ones(cells, np.int64)]

    def add_counts(
        self, output: Published, cells: IntArray, labels: IntArray, shown: BoolArray
    ) -> None:
        """The counts that are shown, one row each; `cells` has the count of each cell, or -1."""
        numbers = np.flatnonzero(shown)
        place = np.full(len(labels) + 1, -1)
        place[numbers] = len(self.published) + np.arange(numbers.size)
        row = place[cells]
        inside = np.flatnonzero(row >= 0)
        self._append(row[inside], inside, np.ones(inside.size, np.int64))
        self.published += [Published(output.output, tuple(k)) for k in labels[numbers].tolist()]

    def add_sum(self, output: Published, values: IntArray) -> None:
        """The sum of whole numbers over the cells."""
        inside = np.flatnonzero(values)
        self._append(np.full(inside.size, len(self.published)), inside, values[inside])
        self.published.append(output)

    def _append(self, rows: IntArray, columns: IntArray, data: IntArray) -> None:
        self._rows.append(rows)
        self._columns.append(columns)
        self._data.append(data)

    def matrix(self) -> Any:
        """The rows as a sparse matrix."""
        index = (np.concatenate(self._rows), np.concatenate(self._columns))
        shape = (len(self.published), self._cells)
        return sparse.csr_matrix((np.concatenate(self._data), index), shape=shape)


def _inverse(gram: FloatArray) -> FloatArray:
    """The inverse of a Gram matrix of rows of variance 1, which may depend on each other."""
    gram[np.diag_indices(len(gram))] += _RIDGE
    factor = linalg.lapack.dpotrf(gram, lower=1)[0]
    inverse = linalg.lapack.dpotri(factor, lower=1)[0]
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


def _shown(matrix: IntArray, protect: Any) -> Any:
    """What an output shows of vectors of counts."""
    if protect is None:
        return lambda counts: counts @ matrix
    return lambda counts: protect.release(counts @ matrix)


def _quadratic_forms(inverse: FloatArray, columns: Any) -> FloatArray:
    """``a' inverse a`` of each sparse column a."""
    count = np.diff(columns.indptr)
    widest = int(count.max(initial=1))
    index = np.zeros((count.size, widest), np.int64)
    value = np.zeros((count.size, widest))
    inside = np.arange(widest) < count[:, None]
    index[inside], value[inside] = columns.indices, columns.data
    squares = np.empty(count.size)
    block = max(1, _GATHERED // widest**2)
    for start in range(0, count.size, block):
        part = slice(start, start + block)
        gathered = inverse[index[part, :, None], index[part, None, :]]
        squares[part] = np.einsum("ki,kij,kj->k", value[part], gathered, value[part])
    return squares
