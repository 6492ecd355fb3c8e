"""Columns of one kind in a game: their possible values, and draws of their means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import row_blocks
from mialeak._kernels import draws as kernels
from mialeak._numerics.draws import TILE, Draw, binomial_draw, draw_means, lattice_draw
from mialeak.laws import Bernoulli, Chain, Genotype, Joint, Lattice, Marginal, Normal, Presence

__all__ = ["Block", "Columns", "columns_of", "laws_of"]

#: Largest distance of a target from a value of its column, in steps of the lattice.
_OFF = 1e-9


class Block(NamedTuple):
    """A block of rounds, with the arrays that a game fills.

    Attributes
    ----------
    order : ndarray
        The numbers of the rounds; rounds whose rows do not include the target come first.
    out : int
        The number of rounds whose rows do not include the target.
    releases : ndarray, shape (t, d)
        Output: the releases.
    targets : ndarray, shape (t, d), or None
        Output: the targets, if each round has a separate target.
    """

    order: npt.NDArray[np.int64]
    out: int
    releases: FloatArray
    targets: FloatArray | None

    @classmethod
    def of(
        cls, present: npt.NDArray[np.bool_], releases: FloatArray, targets: FloatArray | None
    ) -> Block:
        """A block from the mask of rounds whose rows include the target."""
        order = np.argsort(present, kind="stable")
        return cls(order, present.size - int(np.count_nonzero(present)), releases, targets)

    def columns(self, place: slice) -> Block:
        """The same rounds for a range of columns."""
        targets = None if self.targets is None else self.targets[:, place]
        return Block(self.order, self.out, self.releases[:, place], targets)


class Columns(Protocol):
    """Columns of one kind in a game with a fixed number of rows per release."""

    size: int
    quick: bool

    def possible(self, target: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each entry of a target has a positive probability."""

    def values(self, column: int) -> str:
        """The possible values of a column, as text for an error."""

    def play(self, rng: np.random.Generator, block: Block, target: FloatArray | None) -> None:
        """Play the rounds of `block` with `target`, or with a fresh target in each round."""

    def means(self, rng: np.random.Generator, rows: int, out: FloatArray) -> None:
        """Draw means of `rows` fresh rows; `rows` is 1 or an announced number."""


class _OnLattice:
    """Columns with the values ``least + unit k``, k = 0, 1, 2, ...

    Parameters
    ----------
    least, unit : ndarray, shape (d,)
        The lattice of each column.
    numbers, probabilities : ndarray, shape (d, K)
        The k that a row can have, and their probabilities.
    sums : callable
        ``sums(m)`` draws the sums of k over m rows.
    rows : int
        Rows of a release.
    decimals : int or None
        Decimals to which a mean is rounded.
    announced : set of int
        Further numbers of rows for :meth:`means`.
    """

    def __init__(
        self,
        least: FloatArray,
        unit: FloatArray,
        numbers: npt.NDArray[np.int64],
        probabilities: FloatArray,
        sums: Callable[[int], Draw],
        rows: int,
        decimals: int | None,
        announced: set[int],
    ):
        self.size = least.size
        self._least, self._unit = np.ascontiguousarray(least), np.ascontiguousarray(unit)
        self._numbers, self._probabilities = numbers, probabilities
        self._sums = {count: sums(count) for count in {1, rows - 1, *announced}}
        self.quick = all(draw.quick for draw in self._sums.values())
        self._rows, self._decimals = rows, decimals
        if decimals is not None and 8 * rows * 10**decimals >= 2**62:
            rule = f"be fewer for releases of {rows} rows: such means are not rounded"
            invalid("decimals", rule, value=decimals)

    def _steps(self, target: FloatArray) -> FloatArray:
        return (target - self._least) / self._unit

    def possible(self, target: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each entry of a target has a positive probability."""
        steps = self._steps(target)[:, np.newaxis]
        near = np.abs(steps - self._numbers) <= _OFF * (1.0 + np.abs(steps))
        return np.asarray((near & (self._probabilities > 0.0)).any(axis=1))

    def values(self, column: int) -> str:
        """The possible values of a column, as text for an error."""
        numbers = self._numbers[column][self._probabilities[column] > 0.0]
        values = self._least[column] + self._unit[column] * numbers
        shown = [f"{value:g}" for value in values[:5]] + ["..."] * (values.size > 5)
        return ", ".join(shown)

    def play(self, rng: np.random.Generator, block: Block, target: FloatArray | None) -> None:
        """Draw the sums of all rows but one, and add the target or a fresh row."""
        rounds, out = block.order.size, block.out
        steps = None if target is None else np.rint(self._steps(target))
        for part in self._column_blocks(rounds):
            sums = self._sums[self._rows - 1](rng, part, rounds)
            sums[:, :out] += self._sums[1](rng, part, out)
            if steps is not None:
                sums[:, out:] += steps[part, np.newaxis]
            if block.targets is not None:
                targets = self._sums[1](rng, part, rounds)
                sums[:, out:] += targets[:, out:]
                self._mean(targets, 1, part, block.order, block.targets)
            rows = self._rows
            if self._decimals is not None:
                sums, rows = _rounded(sums, rows, self._decimals)
            self._mean(sums, rows, part, block.order, block.releases)

    def means(self, rng: np.random.Generator, rows: int, out: FloatArray) -> None:
        """Draw means of `rows` fresh rows, without rounding."""
        draw_means(rng, self._sums[rows], self._least, self._unit, rows, out)

    def _column_blocks(self, rounds: int) -> Iterator[slice]:
        """Slices of columns whose sums fit the cache."""
        return row_blocks(self.size, rounds, elements=TILE)

    def _mean(
        self,
        sums: FloatArray,
        rows: int,
        part: slice,
        order: npt.NDArray[np.int64],
        out: FloatArray,
    ) -> None:
        """Write the means from sums over `rows` rows; column i goes to row ``order[i]``."""
        least, unit = self._least[part], self._unit[part]
        kernels.lattice_means(sums, least, unit, float(rows), order, out[:, part])


def _rounded(sums: FloatArray, rows: int, decimals: int) -> tuple[FloatArray, int]:
    """Rounded means as integers and their denominator, the power of ten; ties to even."""
    ten = 10**decimals
    digits, remainder = np.divmod(sums.astype(np.int64) * ten, rows)
    digits += (2 * remainder > rows) | ((2 * remainder == rows) & (digits % 2 == 1))
    return digits.astype(np.float64), ten


class _Normal:
    """Columns with a normal law."""

    quick = True

    def __init__(self, law: Normal, rows: int):
        self.size = law.size
        self._mean, self._std, self._rows = law.mean, law.std, rows

    def possible(self, target: FloatArray) -> npt.NDArray[np.bool_]:
        """All finite entries are possible."""
        return np.isfinite(target)

    def values(self, column: int) -> str:
        """The possible values of a column, as text for an error."""
        return "every number"

    def play(self, rng: np.random.Generator, block: Block, target: FloatArray | None) -> None:
        """The mean has variance std^2/rows out and (rows - 1) std^2/rows^2 in."""
        present = block.order[block.out :]
        scale = np.full((block.order.size, 1), self._rows**-0.5)
        scale[present] = np.sqrt(self._rows - 1.0) / self._rows
        draws = self._mean + scale * self._std * rng.standard_normal(block.releases.shape)
        if target is not None:
            draws[present] += (target - self._mean) / self._rows
        if block.targets is not None:
            self.means(rng, 1, block.targets)
            draws[present] += (block.targets[present] - self._mean) / self._rows
        block.releases[...] = draws

    def means(self, rng: np.random.Generator, rows: int, out: FloatArray) -> None:
        """Draw means of `rows` fresh rows."""
        out[...] = self._mean + self._std * rows**-0.5 * rng.standard_normal(out.shape)


class _Linked:
    """Columns of a chain: counts are drawn column by column, given those of the columns before."""

    quick = False

    def __init__(self, law: Chain, rows: int):
        self.size, self._law, self._rows = law.size, law, rows

    def possible(self, target: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each entry of a target is possible after those before."""
        chances = np.zeros(self.size)
        if np.isin(target, np.arange(self._law.ploidy + 1.0)).all():
            chances = self._law._chances(target)
        return np.asarray(chances > 0.0)

    def values(self, column: int) -> str:
        """The values of a chain, as text for an error."""
        values = "0, 1" if self._law.ploidy == 1 else "0, 1, 2"
        return f"{values}, if possible after the values before"

    def play(self, rng: np.random.Generator, block: Block, target: FloatArray | None) -> None:
        """Draw the sums of all rows but one, and add the target or a fresh row."""
        law, rounds, out = self._law, block.order.size, block.out
        sums = law._draw_counts(rng, self._rows - 1, rounds).T.astype(np.float64)
        sums[:out] += law._draw_counts(rng, 1, out).T
        if block.targets is not None:
            block.targets[block.order] = law._draw_counts(rng, 1, rounds).T
            sums[out:] += block.targets[block.order[out:]]
        elif target is not None:
            sums[out:] += target
        block.releases[block.order] = sums / self._rows

    def means(self, rng: np.random.Generator, rows: int, out: FloatArray) -> None:
        """Draw means of `rows` fresh rows."""
        out[...] = self._law._draw_counts(rng, rows, len(out)).T / rows


def laws_of(law: Marginal) -> list[Marginal]:
    """The parts of `law`, joint laws expanded."""
    if isinstance(law, Joint):
        return [simple for part in law.parts for simple in laws_of(part)]
    return [law]


def columns_of(law: Marginal, rows: int, announced: set[int]) -> Columns:
    """The columns of one law, in a game of releases with `rows` rows."""
    if isinstance(law, Normal):
        return _Normal(law, rows)
    if isinstance(law, Chain):
        return _Linked(law, rows)
    if isinstance(law, Lattice):
        numbers, chances = law.steps, law.probabilities

        def sums(count: int) -> Draw:
            return lattice_draw(count, numbers, chances)

        least, unit = law.values[:, 0], law.unit
        return _OnLattice(least, unit, numbers, chances, sums, rows, None, announced)
    if isinstance(law, Genotype):
        p, draws, decimals = law.p, 2, law.decimals
        chances = np.stack([(1.0 - p) ** 2, 2.0 * p * (1.0 - p), p * p], axis=1)
    elif isinstance(law, (Bernoulli, Presence)):
        p, draws, decimals = law.mean, 1, None
        chances = np.stack([1.0 - p, p], axis=1)
    else:
        kinds = "Bernoulli, Chain, Genotype, Presence, Lattice and Normal"
        invalid("marginals", f"be laws of the kinds {kinds}, not {type(law)}", error=TypeError)
    numbers = np.broadcast_to(np.arange(draws + 1), chances.shape)

    def binomial_sums(count: int) -> Draw:
        return binomial_draw(draws * count, p)

    zero, one = np.zeros(p.size), np.ones(p.size)
    return _OnLattice(zero, one, numbers, chances, binomial_sums, rows, decimals, announced)
