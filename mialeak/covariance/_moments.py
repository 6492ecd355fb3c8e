"""Sums over rows that are taken once, a block at a time, and can be added up: the four structures.

All are kept about the mean so far, ``centre + low``, which starts at that of the first rows.  A
block's deviations v from it give ``sum v`` and ``sum v v^T``; with the new number n of rows, the
mean moves by ``step = sum v / n`` and the sum of products about it is the old one plus ``sum v
v^T`` less ``n step step^T``.  What cancels there is at most 1 + n/m times what is left, m being the
rows before the block: one of more rows is summed by itself and merged.  In a column that does not
vary nothing cancels at all.

Symbols
-------
v        deviation of a row from the mean so far
step     how far the mean moves
third    sum of |v|^2 v, or of v^3 by columns
fourth   sum of |v|^4, or of v^4 by columns
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from mialeak._arrays import MAX_COUNT, FloatArray, invalid
from mialeak._kernels import covariance as kernels
from mialeak._numerics.double_word import add_to_mean, mean_difference

__all__ = [
    "Blocks",
    "Diagonal",
    "Full",
    "Moments",
    "References",
    "Rows",
    "centred",
    "moments_of",
    "move_powers",
    "squared_norms",
]

#: Rows whose mean is the first centre: the square of one far outlier among them weighs this number
#: squared less in what cancels than if it were the centre.
_FIRST = 256

#: A matrix of float64 or float32 in any layout.
Rows = npt.NDArray[Any]


class Moments(Protocol):
    """What is known of some rows, enough for their covariance in one structure."""

    @property
    def n(self) -> int:
        """Rows seen."""

    @property
    def centre(self) -> FloatArray:
        """High word of their mean."""

    @property
    def low(self) -> FloatArray:
        """Low word of their mean, which is ``centre + low``."""

    @property
    def tails(self) -> bool:
        """Whether third and fourth moments are kept: Ledoit and Wolf's intensity takes them."""

    def absorb(self, rows: Rows) -> bool:
        """Add some rows; False, and nothing changed, if their squares are not finite."""

    def merge(self, other: Any) -> None:
        """Add the rows that another object of the same kind has seen."""

    def copy(self) -> Self:
        """The same sums, to be added to."""

    def variances(self) -> FloatArray:
        """Variance of each column, with 1/n."""

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, as arrays by name."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take such a state for one's own."""


def moments_of(
    structure: str, columns: int, tails: bool, blocks: Sequence[int] | None = None
) -> Moments:
    """Sums over no rows yet, for one of the four structures."""
    if structure == "diagonal":
        return Diagonal(columns, tails)
    if structure == "low-rank":
        return References(columns)
    if structure == "block":
        return Blocks([] if blocks is None else [int(width) for width in blocks], tails)
    return Full(columns, tails)


def centred(
    rows: Rows, centre: FloatArray, low: FloatArray, sums: FloatArray | None = None
) -> FloatArray:
    """``(rows - centre) - low`` in Fortran order; its powers are added to `sums`, (2, d)."""
    out = np.empty(rows.shape, order="F")
    kernels.centre_rows(
        rows, centre, low, out, np.zeros((2, centre.size)) if sums is None else sums
    )
    return out


def squared_norms(rows: FloatArray) -> FloatArray:
    """Sum of the squares of each row."""
    none, out = np.zeros(rows.shape[1]), np.zeros(len(rows))
    kernels.row_norms(rows, none, none, np.ones(rows.shape[1]), out)
    return out


class _Kept:
    """What all structures have in common."""

    n = 0
    centre: FloatArray
    low: FloatArray
    _arrays: tuple[str, ...] = ("centre", "low")

    def copy(self) -> Self:
        twin = copy.copy(self)
        for name in self._arrays:
            setattr(twin, name, np.copy(getattr(self, name), order="K"))
        return twin

    def state(self) -> dict[str, Any]:
        arrays = {name: np.asarray(getattr(self, name)) for name in self._arrays}
        return {"n": np.asarray(self.n), **arrays}

    def restore(self, state: dict[str, Any]) -> None:
        self.n = int(state["n"])
        for name in self._arrays:
            array = state[name]
            if array.shape != np.shape(getattr(self, name)) or array.dtype != np.float64:
                raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}")
            setattr(self, name, array)

    def _start(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """The mean so far; before there is one, that of the first rows, which is exact if equal."""
        if self.n:
            return self.centre, self.low
        first, sums = rows[0].astype(np.float64), np.zeros((2, rows.shape[1]))
        kernels.column_powers(rows[:_FIRST], first, self.low, sums)
        return first + sums[0] / min(len(rows), _FIRST), self.low

    def _weight(self, other: Any) -> tuple[int, FloatArray]:
        """Rows of both, and from one mean to the other."""
        n, mean = self.n + other.n, (self.centre, self.low)
        if n > MAX_COUNT:
            invalid("other", f"leave at most 2**53 rows in all; they are {n}")
        return n, mean_difference(mean, (other.centre, other.low))


class Full(_Kept):
    """The lower triangle of ``sum v v^T``: one ``dsyrk`` for a block of rows."""

    #: Ranks that centring takes from the sums.
    lost = 1

    def __init__(self, columns: int, tails: bool):
        self.centre, self.low = np.zeros(columns), np.zeros(columns)
        self.products: FloatArray = np.zeros((columns, columns), order="F")
        self.tails = tails
        if tails:
            self.third: FloatArray = np.zeros(columns)
            self.fourth: FloatArray = np.zeros(())
            self._arrays = ("centre", "low", "products", "third", "fourth")
        else:
            self._arrays = ("centre", "low", "products")

    def absorb(self, rows: Rows) -> bool:
        """Add some rows; False, and nothing changed, if their squares are not finite."""
        if not len(rows):
            return True
        prepared = self.prepare(rows)
        if prepared is None:
            return False
        self.add(*prepared)
        return True

    def prepare(self, rows: Rows) -> tuple[Rows, FloatArray, FloatArray] | None:
        """Rows, their deviations from the mean so far, the sums; None if a power is not finite."""
        sums = np.zeros((2, rows.shape[1]))
        v = centred(rows, *self._start(rows), sums)
        with np.errstate(over="ignore", invalid="ignore"):
            largest = sums[1].sum() ** (2 if self.tails else 1)
        return (rows, v, sums[0]) if np.isfinite(largest) else None

    def add(self, rows: Rows, v: FloatArray, total: FloatArray) -> None:
        """Add rows, given their deviations and the sum of those."""
        centre, low = self._start(rows)
        n = self.n + len(v)
        step = total / n
        spread = float(np.trace(self.products)) if self.tails else 0.0
        self.make_writable()
        self.products = blas.dsyrk(
            1.0, v, beta=1.0, c=self.products, trans=1, lower=1, overwrite_c=1
        )
        if self.tails:
            squares = squared_norms(v)
            third, spread = self.third + squares @ v, spread + float(squares.sum())
            turned = blas.dsymv(1.0, self.products, step, lower=1)
            length = float(step @ step)
            more = squares @ squares + 4 * (step @ turned) + 2 * length * spread
            self.fourth = np.asarray(self.fourth + more - 4 * (step @ third) - 3 * n * length**2)
            self.third = third - 2 * turned + (2 * n * length - spread) * step
        self.products = blas.dsyr(-n, step, a=self.products, lower=1, overwrite_a=1)
        self.centre, self.low = add_to_mean(centre, low, step)
        self.n = n

    def make_writable(self) -> None:
        """Copy sums that BLAS cannot write into: in C order, or of a memory map opened to read."""
        self.products = np.require(self.products, np.float64, ["F", "A", "W"])

    def merge(self, other: Full) -> None:
        """Add the rows that `other` has seen."""
        n, gap = self._weight(other)
        if self.tails:
            one = self.tails_about(gap * (other.n / n))
            two = other.tails_about(gap * (-self.n / n))
            self.third, self.fourth = one[0] + two[0], np.asarray(one[1] + two[1])
        self.make_writable()
        self.products += other.products
        weight = self.n * (other.n / n)
        self.products = blas.dsyr(weight, gap, a=self.products, lower=1, overwrite_a=1)
        self.centre, self.low = add_to_mean(self.centre, self.low, gap * (other.n / n))
        self.n = n

    def tails_about(self, step: FloatArray) -> tuple[FloatArray, float]:
        """Third and fourth moments about the mean plus `step`."""
        turned = blas.dsymv(1.0, self.products, step, lower=1)
        length, spread = float(step @ step), float(np.trace(self.products))
        third = self.third - 2 * turned - (spread + self.n * length) * step
        fourth = float(self.fourth) + self.n * length**2 + 4 * float(step @ turned)
        return third, fourth + 2 * length * spread - 4 * float(step @ self.third)

    def variances(self) -> FloatArray:
        """Variance of each column, with 1/n."""
        return np.diagonal(self.products) / self.n


class Diagonal(_Kept):
    """Column by column, in one fused pass of a kernel over the rows."""

    def __init__(self, columns: int, tails: bool):
        self.centre, self.low = np.zeros(columns), np.zeros(columns)
        self.powers = np.zeros((4 if tails else 2, columns))  # the first stays 0: about the mean
        self.tails = tails
        self._arrays = ("centre", "low", "powers")

    def absorb(self, rows: Rows) -> bool:
        """Add some rows; False, and nothing changed, if their squares are not finite."""
        if not len(rows):
            return True
        centre, low = self._start(rows)
        sums = self.powers.copy()
        kernels.column_powers(rows, centre, low, sums)
        if not np.isfinite(sums).all():
            return False
        n = self.n + len(rows)
        step = sums[0] / n
        move_powers(sums, n, step)
        self.powers, self.n = sums, n
        self.centre, self.low = add_to_mean(centre, low, step)
        return True

    def merge(self, other: Diagonal) -> None:
        """Add the rows that `other` has seen."""
        n, gap = self._weight(other)
        step = gap * (other.n / n)
        one, two = self.powers.copy(), other.powers.copy()
        move_powers(one, self.n, step)
        move_powers(two, other.n, gap * (-self.n / n))
        self.powers, self.n = one + two, n
        self.powers[0] = 0.0
        self.centre, self.low = add_to_mean(self.centre, self.low, step)

    def variances(self) -> FloatArray:
        """Variance of each column, with 1/n."""
        return np.asarray(self.powers[1] / self.n)


def move_powers(sums: FloatArray, n: int, step: FloatArray) -> None:
    """From sums of powers about a point to those about the point plus `step`, in place."""
    first, second = sums[0].copy(), sums[1].copy()
    square = step * step
    if len(sums) == 4:
        third = sums[2]
        sums[3] += step * (6 * step * second - 4 * third - 4 * square * first) + n * square**2
        sums[2] += 3 * step * (step * first - second) - n * square * step
    sums[1] += n * square - 2 * step * first
    sums[0] = 0.0


class Blocks:
    """Blocks of columns side by side, each full and uncorrelated with the others."""

    def __init__(self, sizes: Sequence[int], tails: bool):
        self.parts = [Full(size, tails) for size in sizes]
        self.tails = tails
        ends = np.cumsum([0, *sizes]).tolist()
        self.places = [slice(a, b) for a, b in itertools.pairwise(ends)]

    @property
    def n(self) -> int:
        """Rows seen."""
        return self.parts[0].n

    @property
    def centre(self) -> FloatArray:
        """Means of all columns."""
        return np.concatenate([part.centre for part in self.parts])

    @property
    def low(self) -> FloatArray:
        """What they leave out."""
        return np.concatenate([part.low for part in self.parts])

    def absorb(self, rows: Rows) -> bool:
        """Add some rows; False, and nothing changed, if their squares are not finite."""
        if not len(rows):
            return True
        columns = [rows[:, place] for place in self.places]
        pairs = zip(self.parts, columns, strict=True)
        prepared = [ready for part, mine in pairs if (ready := part.prepare(mine)) is not None]
        if len(prepared) < len(self.parts):
            return False
        for part, ready in zip(self.parts, prepared, strict=True):
            part.add(*ready)
        return True

    def merge(self, other: Blocks) -> None:
        """Add the rows that `other` has seen."""
        for part, others in zip(self.parts, other.parts, strict=True):
            part.merge(others)

    def copy(self) -> Self:
        """The same sums, to be added to."""
        twin = copy.copy(self)
        twin.parts = [part.copy() for part in self.parts]
        return twin

    def variances(self) -> FloatArray:
        """Variance of each column, with 1/n."""
        return np.concatenate([part.variances() for part in self.parts])

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, as arrays by name."""
        return {
            f"{place}.{name}": array
            for place, part in enumerate(self.parts)
            for name, array in part.state().items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take such a state for one's own."""
        for place, part in enumerate(self.parts):
            start = f"{place}."
            names = [name for name in state if name.startswith(start)]
            part.restore({name.removeprefix(start): state[name] for name in names})


class References:
    """The rows themselves, fewer than there are columns, and their variances."""

    tails = False

    def __init__(self, columns: int):
        self.columns = Diagonal(columns, tails=False)
        self._rows: list[Rows] = []

    @property
    def n(self) -> int:
        """Rows seen."""
        return self.columns.n

    @property
    def centre(self) -> FloatArray:
        """Means of all columns."""
        return self.columns.centre

    @property
    def low(self) -> FloatArray:
        """What they leave out."""
        return self.columns.low

    @property
    def rows(self) -> Rows:
        """All of them in one matrix."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0] if self._rows else np.empty((0, self.centre.size))

    def absorb(self, rows: Rows) -> bool:
        """Add some rows; False, and nothing changed, if their squares are not finite."""
        columns = self.columns.copy()
        if not columns.absorb(rows):
            return False
        self._require_wide(columns.n, "X")
        self.columns = columns
        self._rows.append(np.array(rows, order="C"))
        return True

    def _require_wide(self, n: int, name: str) -> None:
        if n >= self.centre.size:
            invalid(
                name,
                f"have fewer rows than columns in all for structure='low-rank'; it has {n} rows of "
                f"{self.centre.size} columns",
                remedy='Use structure="full"',
            )

    def merge(self, other: References) -> None:
        """Stack the rows of `other` below one's own."""
        self._require_wide(self.n + other.n, "other")
        self.columns.merge(other.columns)
        self._rows.append(other.rows)

    def copy(self) -> Self:
        """The same rows, to be added to."""
        twin = copy.copy(self)
        twin.columns, twin._rows = self.columns.copy(), list(self._rows)
        return twin

    def variances(self) -> FloatArray:
        """Variance of each column, with 1/n."""
        return self.columns.variances()

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, as arrays by name."""
        return {**self.columns.state(), "rows": self.rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Take such a state for one's own."""
        self.columns.restore(state)
        rows = state["rows"]
        if rows.shape != (self.n, self.centre.size) or rows.dtype not in (np.float32, np.float64):
            raise ValueError(f"rows has shape {rows.shape} and dtype {rows.dtype}")
        self._rows = [rows]
