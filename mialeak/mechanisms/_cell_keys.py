"""Cell keys: noise from a table of probabilities, a ptable, as statistical offices publish them.

The ptable that leaks least within given noise is a linear programme.  With P(s | c) the probability
that a count c is shown as s, and m_k(c) what "in" less "out" gives to the count c of a target in
cell k, the leakage is ``sum_k p_k sum_s max(0, sum_c m_k(c) P(s | c))``: a maximum of linear forms
of P.  That a ptable is one, that its noise has mean 0, and its variance are linear in P too.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_counts,
    as_float,
    as_floats,
    invalid,
    unsupported,
)
from mialeak._blocks import as_rng
from mialeak.mechanisms._builtin import CellMechanism, IntArray
from mialeak.mechanisms._cellwise import poisson_pmf, window
from mialeak.mechanisms._leakage import as_law

__all__ = ["CellKey", "optimal_ptable"]

#: How far the probabilities of a count may be from a sum of 1: files have 8 digits, and small
#: probabilities were set to 0.
_SUM = 1e-4
#: Counts that a ptable lists at most, and values of its noise.
_MOST_COUNTS, _MOST_SHIFTS = 100_000, 10_001
#: A ptable of the ONS lists counts up to 750, of which the last 250 are used again and again.
_ONS_COUNTS, _ONS_REPEAT = 750, 250
#: Constraints of the programme at most: a minute or so.
_MOST_ROWS = 100_000
#: A number of a file with a comma before its decimals.
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
#: What the solver's constraints may be off by.
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class CellKey(CellMechanism):
    """The cell-key method: to each count noise is added that a ptable describes.

    Each record has a random key, and those of a cell determine its noise, so that the same cell has
    the same noise in every table.  To an attacker, who does not know the keys, the noise of a count
    c is v with the probability P(v | c) of the ptable.

    Parameters
    ----------
    ptable : path, table, or array
        In one of three forms, a CSV file (fields separated by a semicolon, a comma or a tab, the
        first line the names) or a dict of columns or data frame with the same names:

        * columns ``i`` (count), ``v`` (noise, or ``j``, the count shown; both if they agree) and
          ``p`` (probability),
          as ``pt_export`` of the R package ptable writes it for tau-ARGUS and SAS (destatis);
        * columns ``pcv`` (count), ``ckey`` (cell key) and ``pvalue`` (noise): the ONS;
        * a column a count, named 1, 2, ... or V1, V2, ..., and a row a cell key, with the noise:
          the ABS.  An array of integers is taken for this one, from the count 1 on.

        A count of 0 that is not listed stays 0.
    repeat : int, optional
        Larger counts than those listed have the noise of the last `repeat` counts in turn.  By
        default 1: that of the last; and 250 for the form of the ONS with 750 counts.

    Attributes
    ----------
    shifts : (V,) ndarray of int64
        The values of the noise, consecutive.
    probabilities : (C, V) ndarray
        P(v | c) for the counts c = 0, 1, ..., C - 1.

    Raises
    ------
    ValueError
        If counts are missing between 0 and the largest, probabilities are negative or do not sum to
        1, a shown count would be negative, noise and shown counts disagree, the ptable is one for
        magnitudes, or `repeat` is out of range.
    TypeError
        If `ptable` is none of these.

    Notes
    -----
    Probabilities of a count may miss a sum of 1 by 1e-4, since files have 8 digits and small
    probabilities were set to 0; they are divided by their sum.

    Examples
    --------
    A ptable that moves a count by at most 1, and 0 not at all:

    >>> from mialeak.mechanisms import CellKey
    >>> ptable = {"i": [0, 1, 1, 1, 2, 2, 2], "v": [0, -1, 0, 1, -1, 0, 1],
    ...           "p": [1, 0.3, 0.4, 0.3, 0.25, 0.5, 0.25]}
    >>> keys = CellKey(ptable)
    >>> keys
    CellKey(counts 0 to 2, noise -1 to 1)
    >>> keys.release([0, 1, 7, 30], rng=0)
    array([ 0,  0,  6, 29])
    >>> print(f"{keys.atom_leakage(0.002, 1_000):.3f}")
    0.248
    """

    ptable: Any
    repeat: int | None = None
    shifts: IntArray = field(init=False)
    probabilities: FloatArray = field(init=False)
    random = True

    def __post_init__(self) -> None:
        counts, noise, chance, repeat = _read(self.ptable)
        shifts, table = _table(counts, noise, chance)
        if self.repeat is not None:
            repeat = as_count(self.repeat, "repeat", least=1, most=len(table))
        for name, value in (("shifts", shifts), ("probabilities", table), ("repeat", repeat)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        low, high = int(self.shifts[0]), int(self.shifts[-1])
        return f"CellKey(counts 0 to {len(self.probabilities) - 1}, noise {low} to {high})"

    def _row(self, counts: IntArray) -> IntArray:
        """The row of the ptable for each count."""
        listed, repeat = len(self.probabilities), int(self.repeat or 1)
        beyond = listed - repeat + (counts - listed) % repeat
        return np.asarray(np.where(counts < listed, counts, beyond))

    def _outcomes(self, last: IntArray, widths: IntArray) -> IntArray:
        return widths + len(self.shifts)

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of each number that is shown, from the first count and the least noise on."""
        rows = self._row(first[:, None] + np.arange(measure.shape[1]))
        out = np.zeros((len(measure), measure.shape[1] + len(self.shifts) - 1))
        for place, column in enumerate(self.probabilities.T):
            out[:, place : place + measure.shape[1]] += measure * column[rows]
        return out

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The noisy counts, each with a key of its own."""
        values = as_counts(counts, "counts")
        edges = np.cumsum(self.probabilities, axis=1)[self._row(values)]
        place = (as_rng(rng).random(values.shape)[..., None] >= edges).sum(axis=-1)
        return np.asarray(values + self.shifts[np.minimum(place, len(self.shifts) - 1)])


# ---- the forms of a ptable ----


def _read(ptable: Any) -> tuple[IntArray, IntArray, FloatArray, int]:
    """Counts, their noise, its probability, and how many of the last counts repeat."""
    if isinstance(ptable, np.ndarray):
        return *_of_keys(ptable), 1
    if isinstance(ptable, (str, PathLike)):
        columns = _columns_of(Path(ptable))
    elif isinstance(ptable, Mapping) or hasattr(ptable, "columns"):
        names = list(ptable) if isinstance(ptable, Mapping) else list(ptable.columns)
        columns = {str(name).strip(): np.asarray(ptable[name]) for name in names}
    else:
        rule = "be a path, a dict of columns, a data frame or an array"
        invalid("ptable", rule, value=ptable, error=TypeError)
    if not columns:
        invalid("ptable", "have columns")
    given = {name.lower(): values for name, values in columns.items()}
    if {"i", "p"} <= set(given) and {"v", "j"} & set(given):
        kinds = set(np.asarray(given.get("type", [])).ravel().tolist()) - {"all"}
        if kinds:
            rule = f"be one for counts; its types are {', '.join(sorted(map(str, kinds)))}"
            invalid("ptable", rule, remedy="A ptable for magnitudes has no leakage of counts")
        counts = _whole(given["i"], "i")
        noise = _noise_of(counts, given)
        return counts, noise, as_floats(given["p"], "ptable['p']", ndim=1, finite=True), 1
    if {"pcv", "ckey", "pvalue"} <= set(given):
        counts, noise = _whole(given["pcv"], "pcv"), _whole(given["pvalue"], "pvalue")
        keys = len(np.unique(_whole(given["ckey"], "ckey")))
        repeat = _ONS_REPEAT if counts.size and counts.max() == _ONS_COUNTS else 1
        return counts, noise, np.full(len(counts), 1.0 / keys), repeat
    by_count = {name: values for name, values in columns.items() if name}
    for name in by_count:
        if not name.lstrip("Vv").isdecimal():
            rule = (
                "have the columns i, v and p, or pcv, ckey and pvalue, or one for each count "
                "from 1 on (V1, V2, ...)"
            )
            invalid("ptable", rule, value=name)
    noise = np.column_stack([_whole(x, name) for name, x in by_count.items()])
    return *_of_keys(noise, [int(name.lstrip("Vv")) for name in by_count]), 1


def _noise_of(counts: IntArray, given: Mapping[str, Any]) -> IntArray:
    """The noise, from the counts shown if these are given."""
    if "j" not in given:
        return _whole(given["v"], "v")
    noise = _whole(given["j"], "j") - counts
    if "v" in given and (wrong := _whole(given["v"], "v") != noise).any():
        at = int(np.argmax(wrong))
        rule = f"hold the noise, shown count less count, which is {noise[at]} here"
        invalid("ptable['v']", rule, index=at, value=int(given["v"][at]), remedy="Leave v or j out")
    return noise


def _columns_of(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The columns of a file, as text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
        file.seek(0)
        delimiter = max(";,\t", key=line.count)
        rows = [row for row in csv.reader(file, delimiter=delimiter) if row]
    if len(rows) < 2:
        invalid("ptable", "have a line of names and lines below it", value=str(path))
    names = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            rule = f"have {len(names)} fields in every line; line {number} has {len(row)}"
            invalid("ptable", rule, value=str(path))
    columns = zip(*([field.strip() for field in row] for row in rows[1:]), strict=True)
    return {
        name: _numbers(values) for name, values in zip(names, map(np.array, columns), strict=True)
    }


def _numbers(text: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The numbers that a column of a file holds, or its words."""
    try:
        return text.astype(np.float64)
    except ValueError:
        pass
    for word in text.tolist():
        if _DECIMAL_COMMA.fullmatch(word.strip()):
            invalid("ptable", "have numbers with a decimal point", value=word)
    return text


def _whole(values: Any, name: str) -> IntArray:
    numbers = as_floats(values, f"ptable[{name!r}]", ndim=1, finite=True)
    if (numbers != np.rint(numbers)).any():
        at = int(np.argmax(numbers != np.rint(numbers)))
        invalid(f"ptable[{name!r}]", "hold whole numbers", index=at, value=float(numbers[at]))
    return numbers.astype(np.int64)


def _of_keys(
    noise: npt.NDArray[Any], names: Sequence[int] | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """An array of noise, a row a cell key and a column a count of `names`, or from 1 on."""
    if noise.ndim != 2 or noise.dtype.kind not in "iu" or not noise.size:
        rule = "hold whole numbers, a row for each cell key and a column for each count from 1 on"
        invalid("ptable", f"{rule}; it is {noise.dtype} of shape {noise.shape}")
    keys, counts = noise.shape
    if names is not None and 0 in names and (noise[:, list(names).index(0)] < 0).any():
        rule = "have columns named by the counts, from 1 on; that named 0 has noise below 0"
        invalid("ptable", rule)
    every = np.tile(np.arange(1, counts + 1) if names is None else np.array(names), keys)
    return every, noise.astype(np.int64).ravel(), np.full(noise.size, 1.0 / keys)


def _table(counts: IntArray, noise: IntArray, chance: FloatArray) -> tuple[IntArray, FloatArray]:
    """Consecutive noise, and its probabilities for each count from 0 on."""
    if not len(counts) == len(noise) == len(chance) or not len(counts):
        invalid("ptable", "have as many counts as probabilities, at least one")
    for bad, rule in (
        (counts < 0, "list counts of at least 0"),
        (chance < 0.0, "hold probabilities of at least 0"),
        ((counts + noise < 0) & (chance > 0.0), "show no negative count"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            shown = f"count {counts[at]}, noise {noise[at]}, probability {chance[at]:g}"
            invalid("ptable", f"{rule}; it has {shown}", index=at)
    used = chance > 0.0
    if not used.any():
        invalid("ptable", "hold probabilities above 0")
    low, high, most = int(noise[used].min()), int(noise[used].max()), int(counts.max())
    if kept := not (counts == 0).any():  # a count of 0 stays 0
        low, high = min(low, 0), max(high, 0)
    if most >= _MOST_COUNTS or high - low >= _MOST_SHIFTS:
        invalid(
            "ptable", f"list counts below {_MOST_COUNTS:,} and noise of {_MOST_SHIFTS:,} values"
        )
    table = np.zeros((most + 1, high - low + 1))
    np.add.at(table, (counts[used], noise[used] - low), chance[used])
    if kept:
        table[0, -low] = 1.0
    mass = table.sum(axis=1)
    off = np.abs(mass - 1.0) > _SUM
    if off.any():
        at = int(np.argmax(off))
        rule = f"hold probabilities that sum to 1 for each count from 0 to {most}"
        invalid("ptable", f"{rule}; those of {at} sum to {mass[at]:.6g}")
    return np.arange(low, high + 1), table / mass[:, None]


# ---- the ptable that leaks least ----


def optimal_ptable(
    p: Any, n: int, *, noise: int, variance: float | None = None, counts: int | None = None
) -> CellKey:
    """The ptable that leaks least of those whose noise is bounded, of mean 0, and of some variance.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities of the cells.
    n : int
        Expected number of rows; it is Poisson, so that cells are independent.
    noise : int
        Largest change of a count, at least 1.
    variance : float, optional
        Largest variance of the noise of a count; by default any that `noise` allows.
    counts : int, optional
        Counts from this one on have the same noise; by default ``2 noise``, and at least `noise`,
        from which on noise of either sign is possible.

    Returns
    -------
    CellKey
        Its leakage is that of ``mechanism_leakage(keys, p, n, rows="poisson")``.

    Raises
    ------
    ValueError
        If a number is out of range, or there are too many different cells of too many rows.

    Notes
    -----
    A count of 0 stays 0, since noise of mean 0 would have to be negative at times.  A linear
    programme in P(s | c), solved by HiGHS (scipy) to 1e-7; cells of one probability are one.

    Examples
    --------
    Cells that expect one or three rows, counts changed by at most 2, with a variance of at most 1:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Histogram, optimal_ptable
    >>> law, n = [0.01] * 40 + [0.03] * 20, 100
    >>> keys = optimal_ptable(law, n, noise=2, variance=1.0)
    >>> for way in (Histogram(), keys):
    ...     print(f"{float(mechanism_leakage(way, law, n, rows='poisson')):.3f}")
    0.282
    0.251
    """
    law, rows = as_law(p), as_count(n, "n", least=1)
    most = as_count(noise, "noise", least=1, most=100)
    last = 2 * most if counts is None else as_count(counts, "counts", least=most, most=10_000)
    spread = math.inf if variance is None else as_float(variance, "variance")
    if not spread > 0.0:
        invalid("variance", "be above 0", value=variance)
    atoms, times = np.unique(law[law > 0.0], return_counts=True)
    programme = _Programme(most, last, spread)
    for atom, cells in zip((rows * atoms).tolist(), times.tolist(), strict=True):
        programme.add(atom, cells * atom / rows)
    table = programme.solve()
    names = np.arange(last + 1)[:, None], np.arange(-most, most + 1)
    i, v = (np.broadcast_to(each, table.shape).ravel() for each in names)
    kept = table.ravel() > 0.0
    return CellKey({"i": i[kept], "v": v[kept], "p": table.ravel()[kept]})


class _Programme:
    """Variables: P(c + v | c) for the counts c up to the last listed, then a part a shown count."""

    def __init__(self, noise: int, last: int, variance: float) -> None:
        self.noise, self.last, self.variance = noise, last, variance
        self.width = 2 * noise + 1
        self.listed = (last + 1) * self.width
        self.entries: list[tuple[Any, Any, FloatArray]] = []
        self.weights: list[float] = []

    def add(self, mean: float, weight: float) -> None:
        """The parts of a cell that expects `mean` rows: each shown count's excess of "in"."""
        low, high = (int(end[0]) for end in window(np.array([mean])))
        first, shown = max(low - self.noise, 0), high + self.noise
        if len(self.weights) + shown - first + 1 > _MOST_ROWS:
            case = f"for cells that expect {mean:,.0f} rows"
            why = f"it would have more than {_MOST_ROWS:,} constraints"
            remedy = "Leave out cells of many rows, which leak little, or round their probabilities"
            unsupported("The optimal ptable", case, why, remedy)
        counts = np.arange(low, high + 1)
        measure = poisson_pmf(counts.astype(np.float64), mean) * (counts / mean - 1.0)
        row = len(self.weights) - first
        shift = np.arange(-self.noise, self.noise + 1)
        target = counts[:, None] + shift
        column = np.minimum(counts, self.last)[:, None] * self.width + np.arange(self.width)
        value = np.broadcast_to(measure[:, None], target.shape)
        possible = target >= 0
        self.entries.append((target[possible] + row, column[possible], value[possible]))
        self.weights += [weight] * (shown - first + 1)

    def solve(self) -> FloatArray:
        """P, a row a count."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack, vstack

        parts = len(self.weights)
        row, column, value = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        forms = coo_array((value, (row, column)), shape=(parts, self.listed))
        slack = coo_array((-np.ones(parts), (np.arange(parts),) * 2), shape=(parts, parts))
        shift = np.tile(np.arange(-self.noise, self.noise + 1), self.last + 1)
        place = np.repeat(np.arange(self.last + 1), self.width)
        every = np.arange(self.listed)
        sums = [
            coo_array((moment, (place, every)), shape=(self.last + 1, self.listed + parts))
            for moment in (np.ones(self.listed), shift.astype(float), (shift * shift).astype(float))
        ]
        above, bound = [hstack([forms, slack])], [np.zeros(parts)]
        if math.isfinite(self.variance):
            above.append(sums[2])
            bound.append(np.full(self.last + 1, self.variance))
        negative = place + shift < 0
        high = np.concatenate([np.where(negative, 0.0, 1.0), np.full(parts, np.inf)])
        problem: dict[str, Any] = {
            "A_ub": vstack(above).tocsr(),
            "b_ub": np.concatenate(bound),
            "A_eq": vstack(sums[:2]).tocsr(),
            "b_eq": np.repeat([1.0, 0.0], self.last + 1),
            "bounds": np.column_stack([np.zeros(len(high)), high]),
        }
        cost = np.concatenate([np.zeros(self.listed), self.weights])
        solution = linprog(cost, **problem, method="highs")
        if solution.x is None:
            unsupported(
                "The optimal ptable", "for this law", f"the solver stopped: {solution.message}"
            )
        table = solution.x[: self.listed].reshape(self.last + 1, self.width)
        table = np.where(table > _TOLERANCE, table, 0.0)
        return np.asarray(table / table.sum(axis=1, keepdims=True))
