"""Cell keys: noise from a table of probabilities, a ptable, as statistical offices publish them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_counts, as_floats, invalid
from mialeak._blocks import as_rng
from mialeak.mechanisms._builtin import CellMechanism, IntArray

__all__ = ["CellKey"]

#: How far the probabilities of a count may be from a sum of 1: files have 8 digits, and small
#: probabilities were set to 0.
_SUM = 1e-4
#: Counts that a ptable lists at most, and values of its noise.
_MOST_COUNTS, _MOST_SHIFTS = 100_000, 10_001
#: A ptable of the ONS lists counts up to 750, of which the last 250 are used again and again.
_ONS_COUNTS, _ONS_REPEAT = 750, 250


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

        * columns ``i`` (count), ``v`` (noise; or ``j``, the count shown) and ``p`` (probability),
          as ``pt_export`` of the R package ptable writes it for tau-ARGUS and SAS (destatis);
        * columns ``pcv`` (count), ``ckey`` (cell key) and ``pvalue`` (noise): the ONS;
        * a column a count, from 1 on, and a row a cell key, with the noise: the ABS.  An array of
          integers is taken for this one.

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
        1, a shown count would be negative, the ptable is one for magnitudes, or `repeat` is out of
        range.
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
        noise = _whole(given["v"], "v") if "v" in given else _whole(given["j"], "j") - counts
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
    return *_of_keys(np.column_stack([_whole(x, name) for name, x in by_count.items()])), 1


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
        return text


def _whole(values: Any, name: str) -> IntArray:
    numbers = as_floats(values, f"ptable[{name!r}]", ndim=1, finite=True)
    if (numbers != np.rint(numbers)).any():
        at = int(np.argmax(numbers != np.rint(numbers)))
        invalid(f"ptable[{name!r}]", "hold whole numbers", index=at, value=float(numbers[at]))
    return numbers.astype(np.int64)


def _of_keys(noise: npt.NDArray[Any]) -> tuple[IntArray, IntArray, FloatArray]:
    """An array of noise, a row a cell key and a column a count from 1 on."""
    if noise.ndim != 2 or noise.dtype.kind not in "iu" or not noise.size:
        rule = "hold whole numbers, a row for each cell key and a column for each count from 1 on"
        invalid("ptable", f"{rule}; it is {noise.dtype} of shape {noise.shape}")
    keys, counts = noise.shape
    every = np.tile(np.arange(1, counts + 1), keys)
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
    low, high, most = int(noise[used].min()), int(noise[used].max()), int(counts.max())
    if most >= _MOST_COUNTS or high - low >= _MOST_SHIFTS:
        invalid(
            "ptable", f"list counts below {_MOST_COUNTS:,} and noise of {_MOST_SHIFTS:,} values"
        )
    table = np.zeros((most + 1, high - low + 1))
    np.add.at(table, (counts[used], noise[used] - low), chance[used])
    if not (counts == 0).any() and low <= 0 <= high:
        table[0, -low] = 1.0
    mass = table.sum(axis=1)
    off = np.abs(mass - 1.0) > _SUM
    if off.any():
        at = int(np.argmax(off))
        rule = f"hold probabilities that sum to 1 for each count from 0 to {most}"
        invalid("ptable", f"{rule}; those of {at} sum to {mass[at]:.6g}")
    return np.arange(low, high + 1), table / mass[:, None]
