"""What a set of outputs determines and leaks, cell by cell of the finest table they make."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse, special

from mialeak._arrays import FloatArray, invalid, unsupported
from mialeak._blocks import one_blas_thread
from mialeak.discrete import atom_leakage
from mialeak.populations import Register
from mialeak.releases._attack import attack_advantages
from mialeak.releases._design import MOST_ROWS, Design
from mialeak.releases._enumeration import (
    JunctionTree,
    beyond_enumeration,
    decomposable_leakage,
    enumerated_leakage,
)
from mialeak.releases._outputs import Output
from mialeak.releases._people import People
from mialeak.releases._scopes import Groups, Published, Rows, groups_of

__all__ = ["Analysis", "Atoms", "codes_of", "joined"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Share of a row's own variance that is added to it, so that dependent rows have an inverse.
_RIDGE = 1e-10
#: Cells whose dense columns are in memory at a time, and in a cache.
_COLUMNS = 2048
#: Entries of gathered matrices that are in memory at a time.
_GATHERED = 1 << 22


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
        self._extension: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self._square = np.zeros(0)
        self.atoms = Atoms.of(people, key)
        self.n = people.rows
        self.cells = np.stack([each.of_row[self.atoms.first] for each in outputs])
        weights = np.bincount(self.atoms.of_row, people.weights, self.atoms.first.size)
        self._weights = weights.astype(np.int64)
        before = self._previous
        self.design: Design
        self.shown: Design
        self._always = [each.always for each in outputs]
        self.design, self.published = self._design(
            self._always, None if before is None else before.design
        )
        self._basis = self.design.basis
        self.shown, self.shown_published = self.design, self.published
        if not all(self._always):
            self.shown, self.shown_published = self._design(
                [True] * len(outputs), None if before is None else before.shown
            )

    # --- designs ---

    def _design(
        self, taken: Sequence[bool], previous: Design | None
    ) -> tuple[Design, list[Published | None]]:
        """The numbers of the outputs taken; row 0 is the number of people."""
        rows = Rows(self.atoms.first.size)
        for number in np.flatnonzero(taken).tolist():
            output = self.outputs[number]
            rows.add_counts(number, self.cells[number], output.labels, output.exact)
            for name in output.weights:
                whole = output.scaled(name)
                if whole is not None:
                    values = np.where(self.cells[number] < 0, 0, whole[self.atoms.first])
                    rows.add_sum(number, name, values)
        return Design.of(rows.matrix(), self._weights, previous), rows.published

    @functools.cached_property
    def groups(self) -> Groups:
        """Groups that follow from the outputs that are published as they are, by scopes."""
        before = self._previous
        if before is None:
            return groups_of(self, self._always)
        return groups_of(self, self._always, before.groups, len(before.outputs))

    @functools.cached_property
    def shown_groups(self) -> Groups:
        """Groups that follow from what is shown of all outputs, by scopes."""
        if all(self._always):
            return self.groups
        return groups_of(self, [True] * len(self.outputs))

    # --- leakage ---

    def leakage_of(self, mass: npt.NDArray[Any]) -> FloatArray:
        """Leakage of a count that is published, of groups of people of this mass."""
        total = int(self.atoms.mass.sum())
        if not self.people.in_register:
            return np.where(mass > 0, self.leakage_at(mass / total), 0.0)
        sizes, place = np.unique(mass, return_inverse=True)
        leaks = np.zeros(sizes.size)
        for k, size in enumerate(sizes.tolist()):
            if 0 < size < total:
                leaks[k] = atom_leakage(Register([size, total - size]), self.n)[0]
        return leaks[place.reshape(-1)].reshape(mass.shape)

    def leakage_at(self, share: FloatArray) -> FloatArray:
        """Leakage of the count of a group of this share of an infinite population; 1 for 0."""
        shares, place = np.unique(share, return_inverse=True)
        leaks = np.where(shares > 0.0, 0.0, 1.0)
        for k in np.flatnonzero((shares > 0.0) & (shares < 1.0)).tolist():
            leaks[k] = atom_leakage(np.array([shares[k], 1.0 - shares[k]]), self.n)[0]
        return leaks[place.reshape(-1)].reshape(share.shape)

    @functools.cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Lower end, limit for large cells and upper end of every cell's leakage; which are exact.

        Upper: the counts of all cells together, and of all people where an estimate is published.
        Lower: the best single count that holds the cell, published or of a group that follows.
        """
        mass = self.atoms.mass
        whole = self._by_margins()
        if whole is None:
            whole = self._enumerated()
        if whole is not None:
            return whole, whole, whole, np.ones(mass.size, np.bool_)
        counted = self.leakage_of(mass)
        high, exact = counted, self.design.determined.copy()
        if self.separates:
            high = self.leakage_of(np.ones_like(mass))
            exact &= mass == 1
        low = np.where(self.design.determined, counted, 0.0)
        for place, (output, cells) in enumerate(zip(self.outputs, self.cells, strict=True)):
            sizes = self._sizes(place, mass)
            if output.always:
                leaks = self.leakage_of(sizes)
            elif output.protect is not None and not output.gaps:
                leaks = np.zeros(sizes.size)
                leaks[1:] = output.protect.atom_leakage(sizes[1:] / mass.sum(), self.n)
            else:
                continue
            low = np.maximum(low, leaks[cells + 1])
        groups = self.groups.matrix
        leaks = np.repeat(self.leakage_of(groups @ mass), np.diff(groups.indptr))
        np.maximum.at(low, groups.indices, leaks)
        low = np.minimum(low, high)
        rate = self.n / self.atoms.mass.sum() if self.people.in_register else 0.0
        limit = special.erf(np.sqrt(self.squares / (8.0 * self.n * (1.0 - rate))))
        self._previous = None  # nothing more is taken from it
        return low, np.clip(limit, low, high), high, exact

    @property
    def separates(self) -> bool:
        """Whether an estimate is published, which may differ for the people of one cell."""
        return any(each.asymptotic for each in self.outputs)

    @functools.cached_property
    def tables(self) -> list[IntArray]:
        """The counts of every output that is published as it is, with that of who is left out.

        And those of the most cells by columns of a scope, if all of them follow from the outputs.
        """
        counts = self.atoms.counts
        tables = [self._sizes(place, counts) for place in np.flatnonzero(self._always).tolist()]
        scopes = {id(scope): scope for each in self.groups.sources for scope, _ in each}
        whole = [scope for scope in scopes.values() if scope.design.determined.all()]
        joint = [np.bincount(scope.of_atom, counts).astype(np.int64) for scope in whole]
        return tables + sorted(joint, key=len)[-1:]

    @functools.cached_property
    def rarest_counts(self) -> tuple[IntArray, int]:
        """The smallest known count of a group that holds each cell, and of how many it is.

        Of a cell that is determined its own count; of others that of a cell of an output or of a
        group that follows, the smallest of at most so many.
        """
        counts = self.atoms.counts
        rarest = np.full(counts.size, self.n)
        for place in np.flatnonzero(self._always).tolist():
            sizes = self._sizes(place, counts)[self.cells[place] + 1]
            rarest = np.minimum(rarest, sizes)
        groups = self.groups.matrix
        of_groups = np.repeat(groups @ counts, np.diff(groups.indptr))
        np.minimum.at(rarest, groups.indices, of_groups)
        following = np.bincount(groups.indices, minlength=1).max()
        candidates = max(1, sum(self._always) + int(following))
        return np.where(self.design.determined, counts, rarest), candidates

    def _sizes(self, place: int, mass: IntArray) -> IntArray:
        """Sums of `mass` over the cells of an output, after that of all who are in none."""
        size = self.outputs[place].n_cells + 1
        return np.bincount(self.cells[place] + 1, mass, minlength=size).astype(np.int64)

    def attacked(self, most: int) -> FloatArray:
        """The lower end of every cell, raised by an attack on the `most` cells at most risk.

        Cells of people of the release whose leakage is not exact, those of the largest limit first.
        """
        low, value, high, _ = self.bounds
        cells = np.flatnonzero((self.atoms.counts > 0) & (low < high))
        cells = cells[np.argsort(-value[cells], kind="stable")[:most]]
        if not cells.size or not self.can_attack:
            return low
        counts = np.array([each is None or not each.summed for each in self.published])
        advantages = attack_advantages(self.design.matrix[counts], self.atoms.mass, self.n, cells)
        low = low.copy()
        low[cells] = np.minimum(np.maximum(low[cells], advantages), high[cells])
        return low

    @property
    def can_attack(self) -> bool:
        """Whether an attack can be computed: not for samples of a register, or too many counts."""
        return not self.people.in_register and self.design.matrix.shape[0] <= MOST_ROWS

    def _by_margins(self) -> FloatArray | None:
        """The exact leakage of every cell if the outputs are decomposable margins.

        The population has these independences by name, or the people's frequencies have them.
        """
        tree, independent = None, self.people.independent
        if all(each.always and not each.where.masks and each.columns for each in self.outputs):
            tree = JunctionTree.of([frozenset(each.columns) for each in self.outputs])
        if tree is None or self.people.in_register:
            if independent:
                why = (
                    "independence given the columns that tables share is defined for tables of all "
                    "people, without protection, whose columns make a tree"
                )
                what = "population='independent'"
                unsupported(what, "for these outputs", why, "Leave population out: bounds then")
            return None
        columns = {
            name: self.people.column(name).codes
            for name in dict.fromkeys(name for each in self.outputs for name in each.columns)
        }
        if not independent and not tree.factorises(columns, self.atoms.first):
            return None
        leakage = decomposable_leakage(tree, columns, self.atoms.first, asked=independent)
        if leakage is None and independent:
            why = "its law takes too many sums for so many people and shared columns"
            unsupported("population='independent'", "for these outputs", why, "Leave it out")
        return leakage

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

    @functools.cached_property
    def squares(self) -> FloatArray:
        """Squared Mahalanobis distance of what a person of each cell adds to the numbers.

        ``a_k' G^-1 a_k - 1``, G the weighted Gram matrix of the rows, by all outputs without
        protection; ``erf(sqrt(square / (8 n)))`` is the leakage in the limit of many people in
        every cell.  Zeros where there are too many numbers.
        """
        if not self.design.complete or self._basis.size > MOST_ROWS:
            return np.zeros(self.atoms.first.size)
        matrix = self._real_rows()
        mass = self.atoms.mass / self.atoms.mass.sum()
        scale = np.sqrt(matrix.multiply(matrix) @ mass)
        scale[scale == 0.0] = 1.0
        matrix = (sparse.diags(1.0 / scale) @ matrix).tocsr()
        with one_blas_thread():
            squares = self._squares(matrix, mass)
        return np.asarray(np.maximum(squares - 1.0, 0.0))

    def _squares(self, matrix: Any, mass: FloatArray) -> FloatArray:
        """``a_k' G^-1 a_k`` of every cell; of the rows of the previous analysis it is known."""
        before = self._previous
        known = None if before is None else before._known_inverse()
        if before is not None and not np.array_equal(
            before._basis, self._basis[: len(before._basis)]
        ):
            known = None
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
        squares = before._square[before.atoms.of_row[self.atoms.first]]
        columns = matrix.T.tocsr()
        for start in range(0, squares.size, _COLUMNS):
            part = columns[start : start + _COLUMNS]
            beyond = part[:, len(known) :].toarray() - part[:, : len(known)] @ turned
            squares[start : start + _COLUMNS] += ((beyond @ inverse) * beyond).sum(axis=1)
        self._extension = known, turned, inverse
        self._square = np.asarray(squares)
        return self._square

    def _known_inverse(self) -> FloatArray | None:
        """The inverse Gram matrix of the rows, made from its parts when it is asked for."""
        if self._extension is not None:
            known, turned, corner = self._extension
            across = turned @ corner
            self._inverse = np.block([[known + across @ turned.T, -across], [-across.T, corner]])
            self._extension = None
        return self._inverse

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
        matrix = self.design.matrix[self._basis].astype(np.float64)
        return sparse.vstack([matrix, sparse.csr_matrix(np.array(more))]) if more else matrix

    # --- groups ---

    def members(self, place: int) -> Any:
        """The cells of the finest table that each count of an output holds, a sparse matrix."""
        inside = np.flatnonzero(self.cells[place] >= 0)
        index = (self.cells[place][inside], inside)
        shape = (self.outputs[place].n_cells, self.cells[place].size)
        return sparse.csr_matrix((np.ones(inside.size, np.int64), index), shape=shape)

    def marks_of(self, groups: Any) -> IntArray:
        """The sum of the marks of the people in each group, a row of a sparse matrix each."""
        marks = np.zeros(self.atoms.first.size, np.int64)
        with np.errstate(over="ignore"):
            np.add.at(marks, self.atoms.of_row[: self.n], self.people.marks)
            return np.asarray(groups @ marks)

    def small(self, threshold: int) -> int:
        """Published counts from 1 to below `threshold`."""
        cells = (
            np.bincount(cells + 1, self.atoms.counts, each.n_cells + 1)[1:][each.exact]
            for each, cells in zip(self.outputs, self.cells, strict=True)
        )
        counts = np.concatenate(list(cells))
        return int(np.count_nonzero((counts > 0) & (counts < threshold)))


def _inverse(gram: FloatArray) -> FloatArray:
    """The inverse of a Gram matrix of rows of variance 1, which may depend on each other."""
    if not gram.size:
        return gram
    gram[np.diag_indices(len(gram))] += _RIDGE
    factor, failed = linalg.lapack.dpotrf(gram, lower=1)
    if failed:  # of rows that depend on each other, or sums that do
        return np.asarray(linalg.pinvh(gram, rtol=1e-9))
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
