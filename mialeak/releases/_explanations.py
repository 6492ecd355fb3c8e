"""Groups of people whose count follows from the outputs, and the combination that gives it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mialeak._results import Kind, Result
from mialeak.releases._analysis import Analysis
from mialeak.releases._design import Combination, Design
from mialeak.releases._people import conditions_in_words
from mialeak.releases._scopes import Published, shown_rows

__all__ = ["FOR_PEOPLE", "Determined", "determined_groups", "in_words"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
#: Published numbers (None is the number of people) and their weights in a combination.
Terms = list[tuple[Published | None, Fraction]]

#: Of what a combination holds that is not by design.
FOR_PEOPLE = "for the combinations of values that people have"
#: Joint values of the columns of a combination up to which it is checked for all of them.
_MOST_VALUES = 100_000
#: Groups that are looked at; what is left of those beyond is not.
_MOST_CANDIDATES = 5000
#: Scopes of one group of which the best explanation is taken.
_MOST_SOURCES = 8
#: Numbers that are written out in an explanation, and joint values in a group, counted above.
_MOST_TERMS, _MOST_JOINT = 6, 3


@dataclass(frozen=True, repr=False)
class Determined(Result):
    """A group of people whose count follows from the outputs, though no output shows it.

    Attributes
    ----------
    people : int
        How many people are in the group.
    rows : tuple of int
        Their places in the table of people.
    group : str
        What they have in common: values of columns, or a few joint values.
    explanation : str
        The published numbers that give the count: "table 3 (city = Oslo) minus table 7 (...)".
    outputs : tuple of str
        The outputs that are combined.
    terms : int
        How many published numbers are combined.
    by_design : bool
        Whether the combination counts the group whatever values people have; if not, it holds
        since combinations of values that nobody of the population has are known to be empty.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak import Release
    >>> people = {"city": ["A", "A", "A", "B", "B"], "age": [30, 40, 90, 30, 35]}
    >>> release = Release(people)
    >>> release.add_table(["city"])
    >>> release.add_table(["city"], where={"age": {"max": 80}})
    >>> release.leakage().determined[0].explanation
    'table 1 (city = A) minus table 2 (city = A, age <= 80)'
    """

    people: int
    rows: tuple[int, ...]
    group: str
    explanation: str
    outputs: tuple[str, ...]
    terms: int
    by_design: bool
    kind: Kind = "exact"


# ---- groups ----


def determined_groups(
    analysis: Analysis, threshold: int, most: int
) -> tuple[tuple[Determined, ...], IntArray]:
    """Groups of fewer than `threshold` people that combinations of published counts determine.

    Those of fewest people first, at most `most` of them, and the marks of all, those of the groups
    returned first; without published counts and hidden ones, which are reported as such.
    """
    design, counts = analysis.shown, analysis.atoms.counts
    single = np.flatnonzero(design.determined & (counts > 0) & (counts < threshold))
    cells = sparse.csr_matrix(
        (np.ones(single.size, np.int64), single, np.arange(single.size + 1)),
        shape=(single.size, counts.size),
    )
    tables = np.array([each is None or not each.summed for each in analysis.shown_published])
    is_shown = shown_rows(analysis.outputs, analysis.shown_published)
    of_shares = _people_of_shares(analysis)
    rows = sparse.vstack([design.matrix[tables & is_shown], of_shares]).tocsr()
    rows = rows[rows @ counts > 0]
    hidden = [
        np.flatnonzero(cells == cell)
        for output, cells in zip(analysis.outputs, analysis.cells, strict=True)
        for cell in np.flatnonzero(~output.exact & (output.low < output.high)).tolist()
    ]
    others = analysis.shown_groups.matrix
    people = others @ counts
    small = np.flatnonzero((people > 0) & (people < threshold))
    source = dict(zip(design.keys_of(others[small]).tolist(), small.tolist(), strict=True))
    groups = _smallest([cells, others[small]], rows, design, counts)
    keys = design.keys_of(groups)
    shown = design.keys_of(sparse.vstack([design.matrix[is_shown], of_shares]))
    with np.errstate(over="ignore"):
        marks = [design.keys[group].sum() for group in hidden]
    groups = groups[~np.isin(keys, [*shown.tolist(), *marks])]
    groups = groups[np.lexsort((np.diff(groups.indptr), groups @ counts))]
    sources, named = analysis.shown_groups.sources, dict[int, Determined]()
    for group in range(min(most, groups.shape[0])):
        members = np.sort(groups[[group]].indices).astype(np.int64)
        place = source.get(int(design.keys_of(groups[[group]])[0]))
        every = [(design.combination(members), analysis.shown_published)] if place is None else []
        for scope, cell in reversed([] if place is None else sources[place][-_MOST_SOURCES:]):
            every.append((scope.design.combination(np.array([cell])), scope.published))
        follows = [
            _terms(analysis, combination, published)
            for combination, published in every
            if combination is not None
        ]
        if follows:
            named[group] = _determined(analysis, min(follows, key=_plainness(analysis)), members)
    order = [*named, *(group for group in range(groups.shape[0]) if group not in named)]
    return tuple(named.values()), analysis.marks_of(groups)[order]


def _people_of_shares(analysis: Analysis) -> Any:
    """The cells of the people of each share, a row each: how many they are is published."""
    shares = [output.is_share for output in analysis.outputs]
    return sparse.csr_matrix((analysis.cells[shares] >= 0).astype(np.int64))


def _smallest(parts: Sequence[Any], rows: Any, design: Design, counts: IntArray) -> Any:
    """The groups that hold no other one and no published count; what such a one leaves is one."""
    groups = _different(sparse.vstack(parts).tocsr(), design)
    while True:
        every = sparse.vstack([groups, rows]).tocsr()
        size = np.diff(every.indptr)
        overlap = (groups @ every.T).tocoo()
        inside = (overlap.data == size[overlap.col]) & (size[overlap.col] < size[overlap.row])
        outer, inner = overlap.row[inside], overlap.col[inside]
        beyond = (groups[outer] - every[inner]).tocsr()
        beyond.eliminate_zeros()
        beyond = beyond[beyond @ counts > 0]
        more = _different(sparse.vstack([groups, beyond]).tocsr(), design)
        if more.shape[0] == groups.shape[0] or more.shape[0] > _MOST_CANDIDATES:
            return groups[np.setdiff1d(np.arange(groups.shape[0]), outer)]
        groups = more


def _different(groups: Any, design: Design) -> Any:
    """The first of each set of equal groups, in their order."""
    _, first = np.unique(design.keys_of(groups), return_index=True)
    return groups[np.sort(first)]


def in_words(
    analysis: Analysis,
    combination: Combination,
    published: Sequence[Published | None],
    count: Published,
) -> str:
    """The combination of rows of a design, `published`, in words, which gives the hidden `count`.

    It also states if the count is given only since nobody has certain combinations of values, and
    if these are those of a hierarchy, as of a town and another region than its own, which one.
    """
    terms = _terms(analysis, combination, published)
    counted = _counted(analysis, [*terms, (count, Fraction(-1))])
    if counted is not None and not counted.total.any():
        return _sentence(analysis, terms)
    why = "" if counted is None else _hierarchy(analysis, counted)
    return f"{_sentence(analysis, terms)} ({why or FOR_PEOPLE})"


def _terms(
    analysis: Analysis, combination: Combination, published: Sequence[Published | None]
) -> Terms:
    """What is added first, then what is taken away; the number of people last of each.

    The weight of a sum is that of the values as they are: the row of the design has whole numbers.
    """
    order = sorted(combination.items(), key=lambda term: (term[1] < 0, term[0] == 0, term[0]))
    terms: Terms = []
    for row, weight in order:
        each, scale = published[row], 1
        if each is not None and each.summed:
            scale = analysis.outputs[each.output].scale(each.summed) or 1
        terms.append((each, weight * scale))
    return terms


def _plainness(analysis: Analysis) -> Callable[[Terms], tuple[int, ...]]:
    """By what the best explanation is chosen: fewest terms, and tables that describe the group."""

    def order(terms: Terms) -> tuple[int, ...]:
        others = any(each is None for each, _ in terms)  # the number of people
        by_design = _by_design(analysis, terms) is not None
        return len(terms), not by_design, others, -len(_columns(analysis, terms))

    return order


def _determined(analysis: Analysis, terms: Terms, group: IntArray) -> Determined:
    member = np.isin(analysis.atoms.of_row[: analysis.n], group)
    words = _by_design(analysis, terms)
    numbers = sorted({each.output for each, _ in terms if each is not None})
    return Determined(
        people=int(analysis.atoms.counts[group].sum()),
        rows=tuple(np.flatnonzero(member).tolist()),
        group=_group_words(analysis, group, terms) if words is None else words,
        explanation=_sentence(analysis, terms),
        outputs=tuple(analysis.outputs[number].name for number in numbers),
        terms=len(terms),
        by_design=words is not None,
    )


def _sentence(analysis: Analysis, terms: Terms) -> str:
    """The combination in words."""
    if len(terms) > _MOST_TERMS:
        names = dict.fromkeys(analysis.outputs[each.output].name for each, _ in terms if each)
        return f"{len(terms)} published numbers of {', '.join(names)}"
    words = ""
    for each, weight in terms:
        size = abs(weight)
        times = "" if size == 1 else f"{size} x "
        joint = " minus " if weight < 0 else " plus "
        words += (joint if words else "-" * (weight < 0)) + times + _number_words(analysis, each)
    return words


def _number_words(analysis: Analysis, published: Published | None) -> str:
    if published is None:
        return "the number of people"
    output = analysis.outputs[published.output]
    labels = None if published.summed else published.labels
    masks = output.masks(analysis.people, labels)
    words = conditions_in_words(analysis.people, masks, output.where)
    words = f"{output.name} ({words})"
    return f"the sum of {published.summed} in {words}" if published.summed else words


def _group_words(analysis: Analysis, group: IntArray, terms: Terms) -> str:
    """What the people of a group have in common, in fact: values of columns, or joint values."""
    people, names = analysis.people, _columns(analysis, terms)
    member = np.isin(analysis.atoms.of_row, group)
    masks, whole = {}, np.ones(member.size, np.bool_)
    for name in names:
        column = people.column(name)
        masks[name] = np.zeros(len(column.values), np.bool_)
        masks[name][column.codes[member]] = True
        whole &= masks[name][column.codes]
    if np.array_equal(whole, member):
        return conditions_in_words(people, masks)
    codes = np.stack([people.column(name).codes[member] for name in names], axis=1)
    joint = np.unique(codes, axis=0)
    parts = []
    for row in joint[:_MOST_JOINT].tolist():
        units = [np.arange(len(masks[name])) == code for name, code in zip(names, row, strict=True)]
        parts.append(f"({conditions_in_words(people, dict(zip(names, units, strict=True)))})")
    more = len(joint) - len(parts)
    return " or ".join(parts) + f" or {more:,} further joint values" * bool(more)


def _columns(analysis: Analysis, terms: Terms) -> list[Any]:
    """The columns that the numbers of a combination depend on."""
    names: dict[Any, None] = {}
    for published, _ in terms:
        if published is not None:
            output = analysis.outputs[published.output]
            kept = [
                name for name, k in zip(output.columns, published.labels, strict=True) if k >= 0
            ]
            averaged = [name for name in analysis.people.names if str(name) == published.summed]
            names |= dict.fromkeys([*kept, *averaged, *output.where.masks])
    return list(names)


@dataclass(frozen=True, eq=False)
class _Counted:
    """How often a combination counts each joint value of its columns.

    `total` is that times `scale`, by the classes of values that it does not separate.
    """

    names: list[Any]
    classes: dict[Any, IntArray]
    scale: int
    total: npt.NDArray[Any]


def _counted(analysis: Analysis, terms: Terms) -> _Counted | None:
    """What a combination counts, whatever values occur; None with sums, or too many values."""
    boxes: list[tuple[Fraction, dict[Any, BoolArray]]] = []
    for published, weight in terms:
        if published is None:
            boxes.append((weight, {}))
        elif published.summed:
            return None
        else:
            output = analysis.outputs[published.output]
            boxes.append((weight, output.masks(analysis.people, published.labels)))
    names = list(dict.fromkeys(name for _, box in boxes for name in box))
    classes = {name: _alike([box[name] for _, box in boxes if name in box]) for name in names}
    sizes = [int(number.max()) + 1 for number in classes.values()]
    if math.prod(sizes) > _MOST_VALUES:
        return None
    scale = math.lcm(*(weight.denominator for weight, _ in boxes))
    total = np.zeros(sizes, object)
    for weight, box in boxes:
        inside = np.full(sizes, int(weight * scale), object)
        for axis, name in enumerate(names):
            if name in box:
                chosen = np.zeros(sizes[axis], np.int64)
                chosen[classes[name][box[name]]] = 1
                shape = [1] * len(sizes)
                shape[axis] = -1
                inside = inside * chosen.reshape(shape)
        total = total + inside
    return _Counted(names, classes, scale, total)


def _hierarchy(analysis: Analysis, counted: _Counted) -> str:
    """The columns that are functions of others, if what is counted is 0 where these are."""
    sizes: tuple[int, ...] = counted.total.shape
    total, words = counted.total, []
    for one, other in itertools.permutations(range(total.ndim), 2):
        names = counted.names[one], counted.names[other]
        values = analysis.people.values_of_each(*names)
        if values is None:
            continue
        admitted = np.zeros((sizes[one], sizes[other]), np.bool_)
        classes = [counted.classes[name] for name in names]
        admitted[classes[0], classes[1][values]] = True
        shape = [size if axis in (one, other) else 1 for axis, size in enumerate(sizes)]
        kept = total * (admitted if one < other else admitted.T).reshape(shape)
        if not np.array_equal(kept, total):
            words.append(f"since each value of {names[0]} has one value of {names[1]}")
        total = kept
    return "" if total.any() else ", ".join(words)


def _by_design(analysis: Analysis, terms: Terms) -> str | None:
    """The words for the group that a combination counts, whatever values occur.

    None if the combination counts no group for all joint values of its columns, or one that is
    neither given by values of each column, nor all but such a group, nor a few joint values.
    """
    of_values = _counted(analysis, terms)
    if of_values is None:
        return None
    names, classes = of_values.names, of_values.classes
    sizes: tuple[int, ...] = of_values.total.shape
    counted = of_values.total == of_values.scale
    if not np.all(counted | (of_values.total == 0)):
        return None

    def words(box: Sequence[BoolArray]) -> str:
        masks = {name: chosen[classes[name]] for name, chosen in zip(names, box, strict=True)}
        return conditions_in_words(analysis.people, masks)

    whole, beyond = _box(counted), _box(~counted)
    if whole is not None:
        return words(whole)
    if beyond is not None:
        return f"everyone but ({words(beyond)})"
    joint = np.argwhere(counted)
    if len(joint) > _MOST_JOINT:
        return None
    parts = [
        [np.arange(size) == value for size, value in zip(sizes, row, strict=True)] for row in joint
    ]
    return " or ".join(f"({words(each)})" for each in parts)


def _box(inside: BoolArray) -> list[BoolArray] | None:
    """The values of each axis of which `inside` holds all joint values, and no others."""
    chosen: list[BoolArray] = []
    whole = np.ones(inside.shape, np.bool_)
    for axis, size in enumerate(inside.shape):
        others = tuple(k for k in range(inside.ndim) if k != axis)
        chosen.append(np.asarray(inside.any(axis=others)))
        shape = [1] * inside.ndim
        shape[axis] = size
        whole = whole & chosen[-1].reshape(shape)
    return chosen if np.array_equal(whole, inside) else None


def _alike(masks: Sequence[BoolArray]) -> IntArray:
    """Numbers of the values: two have the same one if every mask has both or neither."""
    _, number = np.unique(np.stack(masks), axis=1, return_inverse=True)
    return np.asarray(number.reshape(-1))
