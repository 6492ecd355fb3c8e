"""Groups of people that follow from the outputs if only some of the columns are looked at.

The count of a group may follow from a few outputs although every cell of the finest table is open:
a further table splits the group, and none of the parts follows.  So the outputs are looked at by
sets of columns, *scopes*, one after the other: every output whose sub-population is limited by
columns of the scope is summed over its other columns, people whom these totals do not separate
are one cell, and the cells whose count is determined are the groups of the scope.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mialeak.releases._design import Design
from mialeak.releases._outputs import Output

if TYPE_CHECKING:
    from mialeak.releases._analysis import Analysis

__all__ = ["Groups", "Published", "Rows", "groups_of", "shown_rows"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Scopes that are looked at, those of fewest columns first; columns that a scope adds to those that
#: limit one or two sub-populations.
_MOST_SCOPES, _MOST_COLUMNS = 400, 5
#: Joint values of the columns of a scope, and totals in it, beyond which it is left out.
_MOST_VALUES, _MOST_TOTALS = 20_000, 600
#: Joint codes below which the values that occur are marked in an array.
_MARKED = 1 << 21


@dataclass(frozen=True)
class Published:
    """A row of a design: a count or a sum that an output publishes, or a total of its counts.

    `labels` has the code of each column, -1 for those that are summed over.
    """

    output: int
    labels: tuple[int, ...]
    summed: str = ""


def shown_rows(outputs: Sequence[Output], published: Sequence[Published | None]) -> BoolArray:
    """Rows of a design that an output shows: not the counts that follow from a share."""
    shown = (
        each is None or not outputs[each.output].is_share or max(each.labels) < 0
        for each in published
    )
    return np.fromiter(shown, np.bool_, len(published))


class Rows:
    """The rows of a design, collected; the first is the number of people."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self.published: list[Published | None] = [None]
        self._rows, self._columns = [np.zeros(cells, np.int64)], [np.arange(cells)]
        self._data = [np.ones(cells, np.int64)]

    def add_counts(self, output: int, cells: IntArray, labels: IntArray, shown: BoolArray) -> None:
        """The counts that are shown, one row each; `cells` has the count of each cell, or -1."""
        numbers = np.flatnonzero(shown)
        place = np.full(len(labels) + 1, -1)
        place[numbers] = len(self.published) + np.arange(numbers.size)
        row = place[cells]
        inside = np.flatnonzero(row >= 0)
        self._append(row[inside], inside, np.ones(inside.size, np.int64))
        self.published += [Published(output, tuple(k)) for k in labels[numbers].tolist()]

    def add_sum(self, output: int, name: str, values: IntArray) -> None:
        """The sum of whole numbers over the cells."""
        inside = np.flatnonzero(values)
        self._append(np.full(inside.size, len(self.published)), inside, values[inside])
        self.published.append(Published(output, (), name))

    def _append(self, rows: IntArray, columns: IntArray, data: IntArray) -> None:
        self._rows.append(rows)
        self._columns.append(columns)
        self._data.append(data)

    def matrix(self) -> Any:
        """The rows as a sparse matrix."""
        index = (np.concatenate(self._rows), np.concatenate(self._columns))
        shape = (len(self.published), self._cells)
        return sparse.csr_matrix((np.concatenate(self._data), index), shape=shape)


@dataclass(frozen=True, eq=False)
class Scope:
    """The outputs by the columns of one scope.

    Attributes
    ----------
    design : Design
        Totals by cells that these do not separate.
    published : list of Published
        What the rows of the design are.
    of_atom : (atoms,) int64
        The cell of each cell of the finest table.
    groups : (groups,) int64
        Cells whose count follows from the totals, though it is none of them.
    """

    design: Design
    published: list[Published | None]
    of_atom: IntArray
    groups: IntArray


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of people that follow from the outputs, by scopes: each once.

    Attributes
    ----------
    sources : list of lists
        For each group the scopes that have it, and its cell in each; those of fewest columns first.
    matrix : (groups, atoms) sparse int64
        The cells of the finest table in each group.
    complete : bool
        Whether all scopes were looked at.
    empty : set of frozenset
        Scopes without a group.
    """

    sources: list[list[tuple[Scope, int]]]
    matrix: Any
    complete: bool
    empty: set[frozenset[Any]]


def scopes_of(outputs: Sequence[Output]) -> tuple[list[frozenset[Any]], bool]:
    """The scopes of the outputs, those of fewest columns first; and whether these are all.

    The columns that limit the sub-populations of one or two outputs, with columns that these two
    count by; and every two columns that outputs count by.
    """
    every: set[frozenset[Any]] = set()
    for one, other in itertools.combinations_with_replacement(outputs, 2):
        limits = frozenset(one.where.masks) | frozenset(other.where.masks)
        columns = list(dict.fromkeys([*one.columns, *other.columns]))
        most = min(_MOST_COLUMNS, len(columns)) if limits else min(2, len(columns))
        for size in range(most + 1):
            every |= {limits.union(each) for each in itertools.combinations(columns, size)}
            if len(every) > 8 * _MOST_SCOPES:
                break
    whole = [
        frozenset(each.columns)
        for each in outputs
        if each.exact.all() and not each.where.masks and not each.is_share
    ]
    every = {each for each in every if each and not any(each <= columns for columns in whole)}
    ordered = sorted(every, key=lambda columns: (len(columns), sorted(map(str, columns))))
    return ordered[:_MOST_SCOPES], len(ordered) <= _MOST_SCOPES


def groups_of(
    analysis: Analysis, taken: Sequence[bool], previous: Groups | None = None, before: int = 0
) -> Groups:
    """Groups that follow from the outputs taken.

    `previous` has those of the first outputs, `before` in number: a scope without groups has none
    if the other outputs add nothing to it.
    """
    outputs = [each for each, chosen in zip(analysis.outputs, taken, strict=True) if chosen]
    names, complete = scopes_of(outputs)
    size = int(np.count_nonzero(taken[:before]))
    known = set() if previous is None else previous.empty
    empty = {
        each
        for each in names
        if each in known and not _extended(each, outputs[:size], outputs[size:])
    }
    sources: dict[int, list[tuple[Scope, int]]] = {}
    members = [np.zeros(0, np.int64)]
    keys = np.random.default_rng(7).integers(-(2**62), 2**62, analysis.atoms.first.size)
    for columns in names:
        scope = None if columns in empty else _scope(analysis, taken, columns)
        if scope is None:
            complete &= columns in empty
            continue
        if not scope.groups.size:
            empty.add(columns)
        order = np.argsort(scope.of_atom, kind="stable") if scope.groups.size else scope.groups
        ends = np.searchsorted(scope.of_atom[order], [scope.groups, scope.groups + 1])
        for cell, first, last in zip(scope.groups.tolist(), *ends.tolist(), strict=True):
            atoms = order[first:last]
            with np.errstate(over="ignore"):
                key = int(keys[atoms].sum())
            if key not in sources:
                members.append(np.sort(atoms))
            sources.setdefault(key, []).append((scope, cell))
    ends = np.cumsum([each.size for each in members])
    index = np.concatenate(members)
    shape = (len(sources), analysis.atoms.first.size)
    matrix = sparse.csr_matrix((np.ones(index.size, np.int64), index, ends), shape=shape)
    return Groups(list(sources.values()), matrix, complete, empty)


def _extended(columns: frozenset[Any], first: Sequence[Output], more: Sequence[Output]) -> bool:
    """Whether further outputs may have totals by these columns that the first ones have not."""
    wholes = [frozenset(x.columns) for x in first if x.exact.all() and not x.where.masks]
    for output in more:
        kept = columns & frozenset(output.columns)
        if output.where.masks or output.weights:
            if columns.issuperset(output.where.masks):
                return True
        elif kept and not any(kept <= whole for whole in wholes):
            return True
    return False


def _scope(analysis: Analysis, taken: Sequence[bool], columns: frozenset[Any]) -> Scope | None:
    """The outputs taken by these columns; None if they have too many joint values or totals."""
    values = _joint_values(analysis, columns)
    if values is None:
        return None
    first, of_atom = values
    totals = list(_totals(analysis, taken, columns, first))
    if sum(shown.size for _, _, _, shown, _ in totals) > _MOST_TOTALS:
        return None
    key = _not_separated(first.size, totals)
    _, merged = np.unique(key, return_index=True)
    rows = Rows(merged.size)
    for number, cells, labels, shown, sums in totals:
        rows.add_counts(number, cells[merged], labels, shown)
        for name, whole in sums.items():
            rows.add_sum(number, name, whole[merged])
    matrix = rows.matrix()
    design = Design.of(matrix)
    alone = matrix[shown_rows(analysis.outputs, rows.published) & (np.diff(matrix.indptr) == 1)]
    is_total = np.zeros(merged.size, np.bool_)
    is_total[alone.indices[alone.data == 1]] = True
    groups = np.flatnonzero(design.determined & ~is_total)
    return Scope(design, rows.published, key[of_atom], groups)


def _not_separated(size: int, totals: Sequence[Any]) -> IntArray:
    """The cell of each of `size` joint values: those of one cell are in the same totals."""
    key, cells = np.zeros(size, np.int64), 1
    for _, place, _, shown, sums in totals:
        if cells == size:
            break
        number = np.where(shown, np.arange(1, shown.size + 1), 0)
        parts = [np.append(number, 0)[place]]
        parts += [np.unique(each, return_inverse=True)[1].reshape(-1) for each in sums.values()]
        for codes in parts:
            joint = key * (int(codes.max()) + 1) + codes
            values, key = np.unique(joint, return_inverse=True)
            key, cells = key.reshape(-1), values.size
    return key


def _joint_values(analysis: Analysis, columns: frozenset[Any]) -> tuple[IntArray, IntArray] | None:
    """An atom of each joint value of the columns, and the joint value of each atom."""
    key, size = np.zeros(analysis.atoms.first.size, np.int64), 1
    for name in columns:
        column = analysis.people.column(name)
        if size * len(column.values) >= 2**62:
            return None
        key = key * len(column.values) + column.codes[analysis.atoms.first]
        size *= len(column.values)
    if size > _MARKED:
        _, first, of_atom = np.unique(key, return_index=True, return_inverse=True)
        return None if first.size > _MOST_VALUES else (first, of_atom.reshape(-1))
    place = np.full(size, -1)
    place[key[::-1]] = np.arange(key.size)[::-1]  # the first atom of each value is written last
    occurs = place >= 0
    if np.count_nonzero(occurs) > _MOST_VALUES:
        return None
    return place[occurs], (np.cumsum(occurs) - 1)[key]


def _totals(
    analysis: Analysis, taken: Sequence[bool], columns: frozenset[Any], atoms: IntArray
) -> Iterable[tuple[int, IntArray, IntArray, BoolArray, dict[str, IntArray]]]:
    """For each output that the scope holds, those that are summed over fewest columns first: its
    number, the total of each of `atoms`, the labels of the totals, which are shown, and its sums.
    """
    numbers = [
        number
        for number, output in enumerate(analysis.outputs)
        if taken[number] and columns.issuperset(output.where.masks)
    ]
    numbers.sort(key=lambda k: len(set(analysis.outputs[k].columns) - columns))
    names = set(map(str, columns))
    for number in numbers:
        output = analysis.outputs[number]
        kept = tuple(k for k, name in enumerate(output.columns) if name in columns)
        labels, place, shown = output.totals(kept)
        inside = analysis.cells[number][atoms]
        sums = {}
        for name in output.weights:
            whole = output.scaled(name)
            if whole is not None and name in names:
                sums[name] = np.where(inside < 0, 0, whole[analysis.atoms.first[atoms]])
        yield number, np.append(place, -1)[inside], labels, shown, sums
