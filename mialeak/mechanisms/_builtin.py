"""The built-in mechanisms: those that treat each cell of a table on its own, and single statistics.

What a cell mechanism makes of a count is a law over outcomes.  A signed measure over counts (such
as "in" less gamma times "out") is *pushed* through it to one over outcomes, and what is positive of
that is the leakage.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
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
    require_within,
    rounded_to_one,
)
from mialeak._blocks import as_rng
from mialeak._kernels import enumeration
from mialeak.discrete import atom_leakage as cell_atoms
from mialeak.mechanisms._cellwise import register_cell_terms, target_cell_terms
from mialeak.populations import Register

__all__ = [
    "CellMechanism",
    "Geometric",
    "Histogram",
    "IntArray",
    "Maximum",
    "Mean",
    "Mode",
    "RandomRound",
    "Round",
    "Suppress",
]

IntArray = npt.NDArray[np.int64]

#: Multiples of more than a million are no protection but a summary, and a window of counts is held
#: in memory a base at a time.
_LARGEST_BASE = 2**20

#: Draws of a larger noise lie on a grid of float64, and what is added to them could be read off.
_LEAST_EPSILON = 1e-12

#: Rows that a cell must expect at least, lest a probability underflow.
_RARE = 1e-100


# ---- each cell on its own ----


class CellMechanism(ABC):
    """Base of the mechanisms that release something of each cell, whatever the others hold.

    Examples
    --------
    >>> from mialeak.mechanisms import CellMechanism, Round, Suppress
    >>> isinstance(Round(5), CellMechanism), isinstance(Suppress(3), CellMechanism)
    (True, True)
    """

    #: Windows of counts that are pushed begin at `phase` modulo `grain`, and are whole grains long.
    grain: int = 1
    phase: int = 0
    random: bool = False

    def _of_release(self, n: float) -> CellMechanism:
        """The mechanism for releases made from n rows; most do not depend on them."""
        return self

    def _outcomes(self, last: IntArray, widths: IntArray) -> IntArray:
        """Outcomes of counts up to `last` in windows of these widths, at most."""
        return widths + 1

    @abstractmethod
    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """Signed measures over counts as measures over outcomes.

        Parameters
        ----------
        measure : ndarray, shape (R, W)
            A measure a row, on W consecutive counts.
        first : ndarray of int, shape (R,)
            The first count of each row.

        Returns
        -------
        ndarray, shape (R, outcomes)
        """

    def outcome_law(self, counts: Any, n: int) -> FloatArray:
        """The probability of each outcome, for cells with these counts.

        Parameters
        ----------
        counts : array_like of int, shape (C,)
            At least 0.  The memory is that of C times the largest of them.
        n : int
            Number of rows of the table.

        Returns
        -------
        ndarray of float64, shape (C, outcomes)
            Rows sum to 1.  Outcomes that only counts above the largest have are one with those that
            have the same likelihood ratio for all others, and so are those below.

        Examples
        --------
        >>> from mialeak.mechanisms import RandomRound
        >>> RandomRound(3).outcome_law([0, 1, 3], 10).round(3)
        array([[1.   , 0.   , 0.   ],
               [0.667, 0.333, 0.   ],
               [0.   , 1.   , 0.   ]])
        """
        values = as_counts(counts, "counts")
        mechanism = self._of_release(float(as_count(n, "n", least=1)))
        first = -((-mechanism.phase) % mechanism.grain)
        width = -(-(int(values.max(initial=0)) + 1 - first) // mechanism.grain) * mechanism.grain
        if not len(values):
            return mechanism.push(np.zeros((1, width)), np.full(1, first))[:0]
        units = np.zeros((len(values), width))
        units[np.arange(len(values)), values - first] = 1.0
        return mechanism.push(units, np.full(len(values), first))

    def atom_leakage(self, p: Any, n: int | None = None) -> FloatArray:
        """Leakage of a target whose cell has probability `p`, if that cell alone is released.

        For raw counts this is :func:`mialeak.atom_leakage`.

        Parameters
        ----------
        p : array_like of float, any shape, or Register
            Probabilities of cells, of one law or not.  At 0 the limit.  Or the people of the cells
            of a :class:`~mialeak.populations.Register`; of an empty cell, of somebody alone in it.
        n : int
            Number of rows, the target included; left out for a register with a rate.

        Returns
        -------
        ndarray of float64
            In the shape of `p`, or one for each cell of a register.

        Raises
        ------
        ValueError
            If a probability is outside [0, 1], or `n` out of range.

        Examples
        --------
        One person in a cell that expects a hundredth of a row, and in one that expects two:

        >>> from mialeak.mechanisms import Round
        >>> Round(5).atom_leakage([1e-5, 0.002], 1000).round(4)
        array([0.    , 0.2704])
        """
        if isinstance(p, Register):
            whole = cell_atoms(p, n)  # of the raw counts: checks n, and that the cells are known
            people = np.maximum(np.asarray(p.counts, np.int64), 1)
            sizes, place = np.unique(people, return_inverse=True)
            terms = register_cell_terms(self, sizes, p, n, 1.0)
            return np.asarray(np.minimum(terms[place], whole))
        probability = rounded_to_one(as_floats(p, "p"))
        require_within(probability, 0.0, 1.0, "p", "hold probabilities between 0 and 1")
        rows = as_count(n, "n", least=1)
        if not probability.size:
            return np.zeros(probability.shape)
        # Where a count above 1 has no chance, a leakage is its limit.
        atoms, place = np.unique(np.maximum(probability, _RARE / rows), return_inverse=True)
        leakage = target_cell_terms(self, atoms, rows, 1.0, poisson=False) / atoms
        return np.asarray(np.minimum(leakage, 1.0)[place].reshape(probability.shape))

    @abstractmethod
    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """What is published in place of counts.

        Parameters
        ----------
        counts : array_like of int, any shape
            At least 0.
        rng : None, int or numpy.random.Generator, optional
            For random mechanisms, as ``np.random.default_rng`` takes it.

        Returns
        -------
        ndarray of int64
            In the shape of `counts`.
        """


@dataclass(frozen=True)
class Round(CellMechanism):
    """Round each count to the nearest multiple of a base; halves are rounded up.

    Parameters
    ----------
    base : int
        From 2 to 2**20; 3, 5 and 10 are usual.

    Raises
    ------
    ValueError
        If the base is outside that range; TypeError if it is not an integer.

    Examples
    --------
    >>> from mialeak.mechanisms import Round
    >>> Round(5).release([0, 2, 3, 7, 8, 12])
    array([ 0,  0,  5,  5, 10, 10])
    """

    base: int

    def __post_init__(self) -> None:
        as_count(self.base, "base", least=2, most=_LARGEST_BASE)

    @property
    def grain(self) -> int:  # type: ignore[override]
        """The base: so many counts are released as one."""
        return self.base

    @property
    def phase(self) -> int:  # type: ignore[override]
        """The first count that is rounded to a given multiple, modulo the base."""
        return -(self.base // 2) % self.base

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of each run of counts that are rounded alike."""
        return np.asarray(measure.reshape(len(measure), -1, self.base).sum(axis=-1))

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The rounded counts."""
        values = as_counts(counts, "counts")
        return (values + self.base // 2) // self.base * self.base


@dataclass(frozen=True)
class RandomRound(CellMechanism):
    """Round each count up or down to a multiple of a base at random, right in the mean.

    A count that exceeds a multiple by r goes up with probability ``r / base``.

    Parameters
    ----------
    base : int
        From 2 to 2**20; 3 and 5 are usual.

    Raises
    ------
    ValueError
        As :class:`Round`.

    Examples
    --------
    >>> from mialeak.mechanisms import RandomRound
    >>> RandomRound(3).release([0, 3, 4, 5], rng=1)
    array([0, 3, 3, 3])
    """

    base: int
    random = True

    def __post_init__(self) -> None:
        as_count(self.base, "base", least=2, most=_LARGEST_BASE)

    @property
    def grain(self) -> int:  # type: ignore[override]
        """The base."""
        return self.base

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass that goes down to each multiple, and that which comes up to it."""
        runs = measure.reshape(len(measure), -1, self.base)
        up = runs @ (np.arange(self.base) / self.base)
        outcomes = np.zeros((len(measure), runs.shape[1] + 1))
        outcomes[:, :-1] = runs @ (np.arange(self.base, 0, -1) / self.base)
        outcomes[:, 1:] += up
        return outcomes

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The rounded counts."""
        values = as_counts(counts, "counts")
        up = as_rng(rng).integers(0, self.base, values.shape) < values % self.base
        return (values // self.base + up) * self.base


@dataclass(frozen=True)
class Suppress(CellMechanism):
    """Hide small counts: all below a threshold are released as one mark, -1.

    Parameters
    ----------
    below : int
        The smallest count that is shown; 5 and 10 are usual.
    zeros_shown : bool, default False
        Show that a cell is empty, which leaks more.

    Raises
    ------
    ValueError
        If the threshold is below 1; TypeError if it is not an integer.

    Examples
    --------
    >>> from mialeak.mechanisms import Suppress
    >>> Suppress(5).release([0, 4, 5, 12]), Suppress(5, zeros_shown=True).release([0, 4, 5])
    (array([-1, -1,  5, 12]), array([ 0, -1,  5]))
    """

    below: int
    zeros_shown: bool = False

    def __post_init__(self) -> None:
        as_count(self.below, "below", least=1)

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of all hidden counts, beside those that are shown."""
        hidden = self._hidden(first[:, None] + np.arange(measure.shape[1]))
        mark = np.where(hidden, measure, 0.0).sum(axis=1)
        return np.column_stack([np.where(hidden, 0.0, measure), mark])

    def _hidden(self, counts: IntArray) -> npt.NDArray[np.bool_]:
        hidden: npt.NDArray[np.bool_] = counts < self.below
        return hidden & (counts != 0) if self.zeros_shown else hidden

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The counts, with -1 where one is hidden."""
        values = as_counts(counts, "counts")
        return np.where(self._hidden(values), -1, values)


@dataclass(frozen=True)
class Geometric(CellMechanism):
    """Add two-sided geometric noise to each count: ``P(Z = z)`` falls by ``e^-epsilon`` a step.

    One row more or less in a cell is then epsilon-differentially private; a row that is replaced
    changes two cells.

    Parameters
    ----------
    epsilon : float
        Positive and finite.

    Raises
    ------
    ValueError
        If epsilon is not positive and finite.

    Examples
    --------
    >>> from mialeak.mechanisms import Geometric
    >>> Geometric(1.0).release([10, 10, 10, 10], rng=0)
    array([10,  8, 10,  9])
    """

    epsilon: float
    random = True

    def __post_init__(self) -> None:
        if not as_float(self.epsilon, "epsilon") > 0:
            invalid("epsilon", "be positive", value=self.epsilon)

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The noisy measure; what falls outside the window counts at its ends.

        Exact: outside the range of counts the likelihood ratio is constant.
        """
        noisy = np.array(measure, order="C")
        scratch = np.empty(measure.shape[1])
        enumeration.geometric_blur(math.exp(-self.epsilon), scratch, noisy)
        return noisy

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The counts with noise; they may be negative.

        An epsilon below 1e-12 is refused: the last digits of so large a noise would not be random.
        """
        values = as_counts(counts, "counts")
        if self.epsilon < _LEAST_EPSILON:
            rule = "be at least 1e-12 for a release: larger noise has no random last digits"
            invalid("epsilon", rule, value=self.epsilon)
        generator, success = as_rng(rng), -math.expm1(-self.epsilon)
        plus = generator.geometric(success, values.shape)
        return values + plus - generator.geometric(success, values.shape)


# ---- one statistic of the rows ----


@dataclass(frozen=True)
class Histogram:
    """Release all counts: no procedure leaks more.

    Examples
    --------
    >>> from mialeak import max_leakage, mechanism_leakage
    >>> from mialeak.mechanisms import Histogram
    >>> law = [0.5, 0.3, 0.2]
    >>> float(mechanism_leakage(Histogram(), law, 20)) == max_leakage(law, 20)
    True
    """


@dataclass(frozen=True, eq=False)
class Mean:
    """Release the mean of the rows, each atom standing for a number.

    With a Poisson number of rows it is their sum over n.

    Parameters
    ----------
    values : array_like, shape (K,)
        The number of each atom; multiples of a common step, such as integers or one decimal.

    Raises
    ------
    ValueError
        If a value is NaN or infinite.

    Examples
    --------
    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Mean
    >>> print(f"{float(mechanism_leakage(Mean([1, 2, 3, 4, 5, 6]), [1 / 6] * 6, 100)):.6f}")
    0.035139
    """

    values: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_floats(self.values, "values", ndim=1, finite=True))


@dataclass(frozen=True)
class Maximum:
    """Release which is the last of the atoms that occur, their order being that of `p`.

    Examples
    --------
    For a bit that is 1 with probability p it leaks ``2 p (1-p)**n``:

    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Maximum
    >>> p, n = 0.01, 100
    >>> found = mechanism_leakage(Maximum(), [1 - p, p], n)
    >>> print(f"{float(found):.10f} {2 * p * (1 - p) ** n:.10f}")
    0.0073206468 0.0073206468
    """

    def __call__(self, counts: Any) -> npt.NDArray[np.int64]:
        """The place of the last positive count in each row; -1 if there is none."""
        present = as_counts(counts, "counts") > 0
        last = present.shape[1] - 1 - np.argmax(present[:, ::-1], axis=1)
        return np.where(present.any(axis=1), last, -1)


@dataclass(frozen=True)
class Mode:
    """Release which atom occurs most often; of several the first.

    Examples
    --------
    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Mode
    >>> print(f"{float(mechanism_leakage(Mode(), [0.4, 0.3, 0.3], 100)):.6f}")
    0.025349
    """

    def __call__(self, counts: Any) -> npt.NDArray[np.int64]:
        """The place of the largest count in each row."""
        return np.asarray(np.argmax(as_counts(counts, "counts"), axis=1), np.int64)
