"""Rows into sums: blocks in memory or by an iterator, one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from mialeak._arrays import FloatArray, as_floats, first_index, invalid, refuse_masked
from mialeak._numerics.double_word import mean_difference
from mialeak.covariance._moments import (
    Blocks,
    Diagonal,
    Full,
    Moments,
    References,
    Rows,
    moments_of,
    move_powers,
)

__all__ = [
    "Learnt",
    "Recipe",
    "about_zero",
    "as_rows",
    "check_names",
    "check_width",
    "column_names",
    "is_one_piece",
    "join",
    "learn_blocks",
    "pieces",
    "refuse_rows",
    "require_finite",
]

#: Entries of a piece: 16 MB as float64, enough rows for BLAS to be at its best, and as long as
#: Ctrl-C waits (some 50 ms).
_PIECE = 2**21
#: The fewest rows of a piece: a product with fewer is bound by memory.
_ROWS = 256


def as_rows(values: Any, name: str = "X") -> Rows:
    """`values` as a matrix of float64 or float32 of any layout, copied only if it is neither."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        invalid(
            name, "be dense; it is a sparse matrix", remedy="Pass its toarray()", error=TypeError
        )
    refuse_masked(values, name)
    if not isinstance(values, np.ndarray) and hasattr(values, "__array__"):
        values = _array_of(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        invalid(name, "be real. Complex data not supported")
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        values = _numbers_of(values, name)
    if not (isinstance(values, np.ndarray) and values.dtype == np.float32):
        values = as_floats(values, name)
    if values.ndim != 2:
        hint = "Reshape your data: X[None] if it is one row, X[:, None] if it is one column"
        remedy = hint * (values.ndim == 1)
        invalid(name, f"have 2 dimensions; its shape is {values.shape}", remedy=remedy)
    if values.shape[1] == 0:
        shape = f"0 feature(s) (shape={values.shape})"
        invalid(name, f"have columns; it has {shape} while a minimum of 1 is required.")
    return np.asarray(np.require(values, requirements=["A"]))


def _array_of(values: Any) -> Any:
    """Its array, where that works; if not, as_floats words the error."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return values


def _numbers_of(values: npt.NDArray[Any], name: str) -> Rows:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        invalid(name, f"be an array of real numbers ({error})", error=type(error))


def column_names(values: Any) -> npt.NDArray[np.object_] | None:
    """Names of the columns of a data frame, if all are strings."""
    names = getattr(values, "columns", None)
    if names is None or isinstance(values, np.ndarray):
        return None
    names = list(names)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    array = np.empty(len(names), object)
    array[:] = names
    return array


def check_width(rows: Rows, columns: int, name: str = "X") -> None:
    """Refuse rows of another width than those before."""
    if rows.shape[1] != columns:
        invalid(
            name,
            f"have {columns} columns, as those before: X has {rows.shape[1]} features, but "
            f"StreamingCovariance is expecting {columns} features as input",
        )


def check_names(given: Any, known: Any, what: str = "X") -> None:
    """Refuse columns of other names than those before, where both have names."""
    if given is None or known is None or np.array_equal(given, known):
        return
    here, there = list(given), list(known)
    rule = f"have the columns that the rows before had ({len(there)}, in their order)"
    for place, (one, other) in enumerate(zip(here, there, strict=False)):
        if one != other:
            invalid(what, f"{rule}; column {place} is {one!r}, and was {other!r}")
    invalid(what, f"{rule}; it has {len(here)}")


def pieces(rows: Rows) -> Iterator[tuple[int, Rows]]:
    """The rows in pieces that depend on their shape alone, with the number of the first row."""
    size = _piece_rows(rows.shape[1])
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]


def is_one_piece(rows: Rows) -> bool:
    """Whether the rows are taken at once."""
    return len(rows) <= _piece_rows(rows.shape[1])


def _piece_rows(columns: int) -> int:
    return max(_ROWS, _PIECE // columns)


def refuse_rows(rows: Rows, start: int, name: str = "X", remedy: str = "") -> NoReturn:
    """Raise for the first entry that is not finite, or too large; `start` rows stand before."""
    good = np.isfinite(rows)
    rule = "be finite (no NaN, no inf)"
    if good.all():
        with np.errstate(over="ignore"):
            size = np.abs(rows, dtype=np.float64)
        good, rule, remedy = size < size.max(), "be small enough for its powers to be summed", ""
    row, column = first_index(~good)
    invalid(name, rule, index=(start + row, column), value=rows[row, column], remedy=remedy)


_DROP = 'Pass missing="drop" to leave such rows out'


@dataclass(frozen=True)
class Recipe:
    """How rows are to be added up; it travels to other threads and machines."""

    structure: str
    tails: bool
    blocks: tuple[int, ...] | None
    drop: bool

    def fresh(self, columns: int) -> Moments:
        """Sums over no rows yet."""
        if self.blocks is not None and sum(self.blocks) != columns:
            total = sum(self.blocks)
            invalid("blocks", f"sum to the {columns} columns of X; their sum is {total}")
        return moments_of(self.structure, columns, self.tails, self.blocks)


@dataclass
class Learnt:
    """Sums over some rows, the names of their columns, and the rows left out."""

    moments: Moments
    names: npt.NDArray[np.object_] | None
    dropped: int = 0

    def __sizeof__(self) -> int:
        """Bytes of the sums: Dask weighs by it what to send, and where to."""
        return sum(np.asarray(array).nbytes for array in self.moments.state().values())

    def copy(self) -> Learnt:
        """The same, to be added to."""
        return Learnt(self.moments.copy(), self.names, self.dropped)

    def check(self, rows: Rows, names: Any, name: str) -> None:
        """Refuse rows of another width, or of other columns."""
        check_width(rows, self.moments.centre.size, name)
        check_names(names, self.names, name)


def learn_blocks(
    recipe: Recipe,
    blocks: Iterable[tuple[Any, Any]],
    known: Learnt | None = None,
    *,
    name: str = "X",
    start: int = 0,
    sole: bool = False,
) -> Learnt | None:
    """Add blocks of rows, each with the names of its columns; None if there was no block.

    `start` rows stand before the first.  `known` stays as it is if rows are refused, and may be
    changed if not: a `sole` block that is taken at once is added to it, without a copy.
    """
    learnt = known
    owned = known is None
    for names, block in blocks:
        rows = as_rows(block, name)
        if learnt is None:
            learnt = Learnt(recipe.fresh(rows.shape[1]), names)
        learnt.check(rows, names, name)
        if not owned and not (sole and is_one_piece(rows)):
            learnt, owned = learnt.copy(), True
        learnt.dropped += _absorb(recipe, learnt.moments, rows, start, name)
        start += len(rows)
    return learnt


def _absorb(recipe: Recipe, moments: Moments, rows: Rows, before: int, name: str) -> int:
    """Add rows, and count those left out; `before` rows stand before them."""
    dropped = 0
    for start, piece in pieces(rows):
        if _add(recipe, moments, piece):
            continue
        good = require_finite(piece, before + start, recipe.drop, name)
        dropped += int(len(good) - good.sum())
        if good.any() and not _add(recipe, moments, piece[good]):
            require_finite(piece[good], before + start, recipe.drop, name)
    return dropped


def _add(recipe: Recipe, moments: Moments, rows: Rows) -> bool:
    """Add some rows; False, and nothing changed, if their squares are not finite.

    More rows than there were are summed about their own mean and merged: about that of a few, which
    may lie far off, all digits could cancel.
    """
    if recipe.structure == "low-rank" or not 0 < moments.n < len(rows):
        return moments.absorb(rows)
    fresh = replace(recipe, tails=moments.tails).fresh(rows.shape[1])
    if not fresh.absorb(rows) or not _near(moments, fresh):
        return False
    moments.merge(fresh)
    return True


def _near(one: Moments, other: Moments) -> bool:
    """Whether powers of what lies between the two means are finite."""
    gap = mean_difference((one.centre, one.low), (other.centre, other.low))
    with np.errstate(over="ignore"):
        return bool(np.isfinite((other.n * (gap @ gap)) ** (2 if one.tails else 1)))


def require_finite(piece: Rows, start: int, drop: bool, name: str = "X") -> npt.NDArray[np.bool_]:
    """Which rows are finite, where some are not; raise unless they may be dropped."""
    good = np.asarray(np.isfinite(piece).all(axis=1))
    if not drop or good.all():
        refuse_rows(piece, start, name, _DROP)
    return good


def join(one: Learnt | None, other: Learnt | None, name: str = "X") -> Learnt | None:
    """The rows of both, those of `one` first; neither is changed."""
    if one is None or other is None:
        return one or other
    if one.moments.n == 0 or other.moments.n == 0:
        kept = one if other.moments.n == 0 else other
        return Learnt(kept.moments, kept.names, one.dropped + other.dropped)
    check_names(other.names, one.names, name)
    if not _near(one.moments, other.moments):
        invalid(name, "lie near enough to the rows before for its powers to be summed")
    moments = one.moments.copy()
    moments.merge(other.moments)
    names = other.names if one.names is None else one.names
    return Learnt(moments, names, one.dropped + other.dropped)


def about_zero(moments: Moments) -> Any:
    """The same sums about 0, ``sum x x^T`` among them: nothing cancels.

    With the mean m of n rows, ``sum x x^T = sum v v^T + n m m^T``.
    """
    if isinstance(moments, Blocks):
        side = copy.copy(moments)
        side.parts = [_full(part) for part in moments.parts]
        return side
    if isinstance(moments, References):
        stacked = moments.copy()
        stacked.columns = _diagonal(moments.columns)
        return stacked
    if isinstance(moments, Diagonal):
        return _diagonal(moments)
    assert isinstance(moments, Full)
    return _full(moments)


def _full(moments: Full) -> Full:
    twin, mean = moments.copy(), _mean(moments, 2 if moments.tails else 1)
    if moments.tails:
        third, fourth = moments.tails_about(-mean)
        twin.third, twin.fourth = third, np.asarray(fourth)
    twin.make_writable()
    twin.products = blas.dsyr(moments.n, mean, a=twin.products, lower=1, overwrite_a=1)
    twin.centre, twin.low, twin.lost = np.zeros_like(mean), np.zeros_like(mean), 0
    return twin


def _diagonal(moments: Diagonal) -> Diagonal:
    twin, mean = moments.copy(), _mean(moments, 2 if moments.tails else 1)
    move_powers(twin.powers, moments.n, -mean)
    twin.centre, twin.low = np.zeros_like(mean), np.zeros_like(mean)
    return twin


def _mean(moments: Full | Diagonal, power: int) -> FloatArray:
    """The mean, if its powers can be summed."""
    mean = moments.centre + moments.low
    with np.errstate(over="ignore"):
        if not np.isfinite((moments.n * (mean @ mean)) ** power):
            rule = "be False: the mean is too large for its powers to be summed"
            invalid("assume_centered", rule)
    return mean
