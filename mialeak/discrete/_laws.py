"""Who the rows could be: one protocol for every form that `p` can take.

====================  ==========================================================================
`p`                   class
====================  ==========================================================================
array                 :class:`ArrayLaw`; a memory map stays on disk until a block is read
iterator of arrays    :class:`BlockLaw`, which is read once and never held
frozen scipy.stats    :class:`CountableLaw`; of one made from a list of atoms, :class:`ArrayLaw`
a population          :class:`RegisterSample`, :class:`StratifiedSample`, :class:`PanelRows`
====================  ==========================================================================

The public functions of this room convert `p` and call one method.  A new population is a subclass
of :class:`Population` and a line of :func:`as_population`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    MAX_COUNT,
    FloatArray,
    as_count,
    as_floats,
    check_mass,
    invalid,
    refuse_masked,
    rounded_to_one,
)
from mialeak._blocks import BLOCK
from mialeak._kernels import binomial
from mialeak._numerics.rows_needed import rows_needed
from mialeak._results import Bounds
from mialeak.discrete._countable import CountableWindow, ScipyLaw, from_scipy
from mialeak.discrete._enclosure import countable_leakage, enclose, kernel_rounding
from mialeak.discrete._populations import (
    Curve,
    PanelRows,
    Population,
    RegisterSample,
    StratifiedSample,
)
from mialeak.discrete._series import WholeWindow, Window
from mialeak.discrete._sums import (
    DIVIDE,
    NO_CELLS,
    Piece,
    as_block,
    as_sizes,
    bad_probability,
    block_mass,
    checked_block,
    cut,
    leakage_sum,
    leakage_sums,
    pieces_of,
    shaped,
    total_mass,
)
from mialeak.discrete._tradeoff import histogram_tradeoff
from mialeak.populations import Panel, Register, Stratified

__all__ = [
    "ArrayLaw",
    "BlockLaw",
    "CountableLaw",
    "Law",
    "Population",
    "as_law",
    "as_population",
]

#: For gamma other than 1, leakages below this are indistinguishable from 0: their terms underflow.
_LEAST = 1e-290

_DOUBLE = np.dtype(np.float64)  # one object for all arrays of such numbers
#: By how much the sum of probabilities in single precision, such as a softmax, differs from 1.
_SINGLE_TOLERANCE = 1e-6
#: How the types of such numbers end: of numpy in either order of bytes, pandas, polars and pyarrow.
_SINGLE = "float32", "f4", "float[pyarrow]"
_NORMALIZE = f"Pass normalize=True to divide p, counts of cells, by its sum. {NO_CELLS}"


class Law(Population):
    """The law of independent rows: probabilities of atoms."""

    @abstractmethod
    def pieces(self, *, keep: bool = False) -> Iterator[Piece]:
        """All atoms, in order; with `keep` a piece outlives the next."""

    @abstractmethod
    def window(self) -> Window:
        """The atoms one by one, as far as wanted, and what is known of the others."""

    @abstractmethod
    def leakages(
        self, sizes: list[float], gamma: float, *, remedy: str = DIVIDE, workers: int = 1
    ) -> list[float]:
        """The largest leakage at each size; `remedy` is for probabilities that are not a law."""

    @abstractmethod
    def enclosures(self, sizes: list[float], gamma: float) -> tuple[list[float], list[float]]:
        """Lower and upper bounds of the largest leakage at each size."""

    @abstractmethod
    def enough(self, leakage: float) -> float:
        """A guess of the number of rows that leaks so little."""

    def normalized(self) -> Law:
        """The law with its probabilities divided by their sum."""
        return self

    def require_reading_twice(self, why: str) -> None:
        """Refuse a law that can be read only once, with the reason `why`."""

    def leakage(
        self, n: Any, gamma: float, *, normalize: bool = False, workers: int = 1
    ) -> float | FloatArray:
        sizes, shape = as_sizes(n)
        law = self.normalized() if normalize else self
        return shaped(law.leakages(sizes, gamma, remedy=_NORMALIZE, workers=workers), shape)

    def atom_leakage(self, n: Any, gamma: float) -> FloatArray:
        size = float(as_count(n, "n", least=1))
        leakages: list[FloatArray] = []
        masses: list[float] = []
        for start, piece in self.pieces():
            block = as_block(piece)
            out = np.empty_like(block)
            bad = binomial.leakage_atoms(block, size, gamma, 1.0, out)
            if bad >= 0:  # perhaps only what rounding leaves above 1
                bad = binomial.leakage_atoms(rounded_to_one(block), size, gamma, 1.0, out)
            if bad >= 0:
                bad_probability(start, bad, piece, DIVIDE)
            leakages.append(np.minimum(out, 1.0, out=out))  # a rare atom's 1 may round up
            masses.append(block_mass(block))
        check_mass(math.fsum(masses), "p", DIVIDE)
        return np.concatenate(leakages)

    def bounds(self, n: Any, gamma: float) -> Bounds:
        sizes, shape = as_sizes(n)
        lower, upper = self.enclosures(sizes, gamma)
        if gamma != 1:
            lower = [low if low > _LEAST else 0.0 for low in lower]
            upper = [max(high, _LEAST) for high in upper]
        return Bounds(shaped(lower, shape), shaped(upper, shape))

    def tradeoff(self, n: Any) -> Curve:
        size = float(as_count(n, "n", least=1))
        self.require_reading_twice("discrete_tradeoff goes through it more than once")
        return histogram_tradeoff(self.window(), size)

    def min_samples(self, leakage: float, gamma: float) -> int:
        self.require_reading_twice("min_samples goes through it many times")

        def leaks(n: int) -> float:
            return self.leakages([float(n)], gamma)[0]

        return rows_needed(leaks, leakage, near=self.enough(leakage))


class PieceLaw(Law):
    """Probabilities in memory, on disk or to come, taken at their word."""

    total = 1.0

    def window(self) -> WholeWindow:
        return WholeWindow(self.pieces())

    def leakages(
        self, sizes: list[float], gamma: float, *, remedy: str = DIVIDE, workers: int = 1
    ) -> list[float]:
        pieces = self.pieces(keep=workers > 1)
        return leakage_sums(pieces, sizes, gamma, self.total, remedy, workers)

    def enclosures(self, sizes: list[float], gamma: float) -> tuple[list[float], list[float]]:
        values, rounding = self.leakages(sizes, gamma), kernel_rounding(gamma)
        return [value * (1 - rounding) for value in values], [
            value * (1 + rounding) for value in values
        ]

    def enough(self, leakage: float) -> float:
        blocks = (checked_block(*piece) for piece in self.pieces())
        diversity = math.fsum(float(np.sqrt(p * (1.0 - p)).sum()) for p in blocks)
        return min(diversity / (2.0 * leakage), math.sqrt(MAX_COUNT)) ** 2


class ArrayLaw(PieceLaw):
    """Probabilities in an array, divided by `total`."""

    def __init__(self, p: npt.NDArray[Any], total: float = 1.0) -> None:
        self.p, self.total = p, total

    def pieces(self, *, keep: bool = False) -> Iterator[Piece]:
        return cut(0, self.p)

    def leakages(
        self, sizes: list[float], gamma: float, *, remedy: str = DIVIDE, workers: int = 1
    ) -> list[float]:
        if self.p.size <= BLOCK and len(sizes) == 1:
            return [leakage_sum((0, self.p), sizes[0], gamma, self.total, remedy)]
        return super().leakages(sizes, gamma, remedy=remedy, workers=workers)

    def normalized(self) -> ArrayLaw:
        return ArrayLaw(self.p, total_mass(self.pieces()))


class BlockLaw(PieceLaw):
    """Probabilities that an iterator gives block by block, once."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self.blocks = blocks

    def pieces(self, *, keep: bool = False) -> Iterator[Piece]:
        return pieces_of(self.blocks, keep=keep)

    def normalized(self) -> NoReturn:
        invalid(
            "normalize",
            "be False for an iterator, which can be read only once",
            remedy="Pass an array or a memory map, or divide the blocks by their sum",
        )

    def require_reading_twice(self, why: str) -> None:
        invalid("p", f"be an array or a law, not an iterator: {why}", error=TypeError)


class CountableLaw(Law):
    """A law of scipy.stats, with infinitely many atoms or too many."""

    def __init__(self, law: ScipyLaw) -> None:
        self.law = law

    def pieces(self, *, keep: bool = False) -> Iterator[Piece]:
        return cut(0, self.law.atoms())

    def window(self) -> CountableWindow:
        return CountableWindow(self.law)

    def leakages(
        self, sizes: list[float], gamma: float, *, remedy: str = DIVIDE, workers: int = 1
    ) -> list[float]:
        return countable_leakage(self.law, sizes, gamma)

    def enclosures(self, sizes: list[float], gamma: float) -> tuple[list[float], list[float]]:
        return enclose(self.law, sizes, gamma)

    def enough(self, leakage: float) -> float:
        return 4.0


def as_population(p: Any) -> Population:
    """`p` as a population: whatever :func:`max_leakage` takes."""
    if isinstance(p, Register):
        return RegisterSample(p)
    if isinstance(p, Stratified):
        return StratifiedSample(p)
    if isinstance(p, Panel):
        return PanelRows(p)
    return as_law(p)


def as_law(p: Any) -> Law:
    """`p` as a law of independent rows."""
    if isinstance(p, np.ndarray):
        refuse_masked(p, "p")
        array = np.asarray(p)  # a memory map becomes a plain view of itself
    elif hasattr(p, "__next__"):
        return BlockLaw(iter(p))
    elif hasattr(type(p), "pmf") or hasattr(type(p), "pdf"):
        law = from_scipy(p)
        if isinstance(law, ScipyLaw):
            return CountableLaw(law)
        array = law
    else:
        array = as_floats(p, "p")
    if array.ndim != 1:
        invalid("p", f"have 1 dimension; its shape is {array.shape}")
    if array.size == 0:
        invalid("p", "hold at least one atom")
    kind = getattr(p, "dtype", _DOUBLE)
    if kind is not _DOUBLE and str(kind).lower().endswith(_SINGLE):
        mass = total_mass(cut(0, array))
        if abs(mass - 1.0) <= _SINGLE_TOLERANCE:
            return ArrayLaw(array, mass)
    return ArrayLaw(array)
