"""Sums over all atoms of a law, countable ones included.

A window holds the atoms that are known one by one, and what is known of the others.  What it leaves
out is summed as a convex sequence, enclosed from a few of its terms.  Over a
run of integers it lies below its chord and above its tangent at the middle:

    N h(middle)  <=  sum of h over N integers  <=  N (h(first) + h(last)) / 2       (N odd)

Runs of equal length within an octave, octave after octave, make the gap fall as the square of the
run's length.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from mialeak._arrays import FloatArray, check_mass, invalid
from mialeak.discrete._families import Pmf
from mialeak.discrete._sums import DIVIDE, Piece, block_mass, checked_block

__all__ = ["ENOUGH", "WholeWindow", "Window", "convex_sum", "sum_over"]

Term = Callable[[FloatArray], FloatArray]
#: Indices to terms and the relative errors of those.
Sequence = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: A series is summed when what it lacks is below this part of it.
ENOUGH = 1e-13

#: Atoms a window holds before those outside of it are summed as a convex sequence.
_LEAST_WINDOW = 2**14

#: From here on a tail is extrapolated as a power of k, and the largest share of the tail that may
#: come from that.
_FAR = 2.0**50
_GUESSED = 1e-3

#: Runs that an octave is cut into at first, and at most.
_FIRST_RUNS = 2.0**5
_MOST_RUNS = 2.0**18

#: Largest index: integers beyond are not exact as float64.
_LAST_INDEX = 2.0**53

#: Each octave may take this part of the gap allowed.
_SHARE = 1 / 16

#: Relative rise or bend that is put down to rounding, besides the errors of the terms.
_SLACK = 1e-13


# ---- windows ----


class Window(ABC):
    """The atoms of a law that are taken one by one, and bounds for those outside.

    Attributes
    ----------
    name : str
        Of the law, for messages.
    """

    name: str

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of atoms inside."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether no atom is outside."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether the window cannot grow."""

    @abstractmethod
    def grow(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Enlarge the window; yield the new atoms in blocks, with their relative errors."""

    @abstractmethod
    def outside(self) -> tuple[float, float]:
        """Lower and upper bound of the mass outside."""

    @abstractmethod
    def edge(self) -> float:
        """Upper bound of every probability outside."""

    @abstractmethod
    def sides(self) -> Iterator[tuple[Pmf, float]]:
        """Each side outside: the pmf of its j-th atom (j = 1, 2, ...), and the number of atoms."""


class WholeWindow(Window):
    """All atoms of a law given as pieces, taken at their word: no errors and nothing outside."""

    name, size, complete, exhausted = "p", math.inf, True, True

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = pieces

    def grow(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        masses = []
        for start, piece in self._pieces:
            block = checked_block(start, piece)
            masses.append(block_mass(block))
            yield block, np.broadcast_to(0.0, block.shape)
        check_mass(math.fsum(masses), "p", DIVIDE)

    def outside(self) -> tuple[float, float]:
        return 0.0, 0.0

    def edge(self) -> float:
        return 0.0

    def sides(self) -> Iterator[tuple[Pmf, float]]:
        return iter(())


# ---- sums over them ----


def sum_over(window: Window, term: Term) -> float:
    """Sum of `term` over the atoms of a window that doubles, until those outside add little.

    Raises
    ------
    ValueError
        If the sum is infinite, or not seen to be finite.
    """
    added = [_over(window, term)]
    while not window.complete:
        added.append(_over(window, term))
        total = math.fsum(added)
        last, before = added[-1], added[-2] if len(added) > 2 else 0.0
        # What is added dies out like a geometric series, or faster.
        if last == 0 or (last < before and last * last <= ENOUGH * total * (before - last)):
            return total
        if window.size >= _LEAST_WINDOW:
            tails = [_heavy_tail(window, term, *side, ENOUGH * total) for side in window.sides()]
            known = [tail for tail in tails if tail is not None]
            if len(known) == len(tails):
                return math.fsum(added + known)
        if window.exhausted:
            invalid(
                "p",
                "be a law over which the sum converges; over "
                f"{window.size:.0f} atoms of {window.name} it is {total:.6g} and grows",
            )
    return math.fsum(added)


def _over(window: Window, term: Term) -> float:
    return math.fsum(float(term(p).sum()) for p, _ in window.grow())


def _heavy_tail(
    window: Window, term: Term, pmf: Pmf, count: float, tolerance: float
) -> float | None:
    """Sum of `term` over one side outside a window, or None if it is not found."""

    def terms(j: FloatArray) -> tuple[FloatArray, FloatArray]:
        values = term(pmf(j)[0])
        return values, np.zeros_like(values)

    def remainder(j: float) -> float:
        near, far = terms(np.array([j, 2 * j]))[0]
        if near == 0:
            return 0.0
        power = math.log2(near / far) if far > 0 else math.inf
        if power > 1 + ENOUGH:
            return j * float(near) / (power - 1)
        if j < _FAR:
            return math.inf
        rule = f"be a law over which the sum is finite; for {window.name} its terms fall like"
        return invalid("p", f"{rule} k**-{power:.3f}")

    if count > _FAR:
        remainder(_FAR)
    bounds = convex_sum(terms, remainder, count, window.size, tolerance)
    if bounds is None:
        return None
    lower, upper, beyond = bounds
    close = upper - lower <= 2 * tolerance and beyond <= _GUESSED * upper
    return (lower + upper) / 2 + beyond if close else None


# ---- long convex sequences ----


def convex_sum(
    sequence: Sequence,
    remainder: Callable[[float], float],
    count: float,
    octave: float,
    tolerance: float,
    *,
    persist: bool = False,
) -> tuple[float, float, float] | None:
    """Bounds of the sum of a falling convex sequence over 1, 2, ..., count.

    Parameters
    ----------
    sequence : callable
        Indices to terms and their relative errors, which widen the bounds.
    remainder : callable
        Index to an upper bound of the sum from there on.
    count : float
        Number of terms, or infinity.
    octave : float
        Length of the first octave; each is twice as long as the one before.
    tolerance : float
        Gap wanted between the bounds.  It is not promised.
    persist : bool
        Come as close as can be even where `tolerance` is out of reach.

    Returns
    -------
    tuple of float, or None
        Lower and upper bound of the sum as far as it was taken, and `remainder` of where that was.
        None if the sequence is seen not to fall or not to be convex.
    """
    lower: list[float] = []
    upper: list[float] = []
    start, share = 1.0, _SHARE * tolerance
    while start <= count:
        beyond = remainder(start)
        if beyond <= share or start + octave > _LAST_INDEX:
            return math.fsum(lower), math.fsum(upper), beyond
        summed = _octave_sum(sequence, start, min(octave, count - start + 1), share, persist)
        if summed is None:
            return None
        low, high, rounding, used = summed
        if high - low > share and not persist:
            share = high - low  # no need to be closer elsewhere
        lower.append(low * max(1 - rounding, 0.0))
        upper.append(high * (1 + rounding))
        start += used
        octave *= 2
    return math.fsum(lower), math.fsum(upper), 0.0


def _octave_sum(
    sequence: Sequence, start: float, length: float, tolerance: float, persist: bool
) -> tuple[float, float, float, float] | None:
    """Bounds over at most `length` terms from `start`, their rounding, and how many were taken."""
    run, finest = _odd(length / _FIRST_RUNS), _odd(length / _MOST_RUNS)
    while True:
        runs = length // run
        first = start + run * np.arange(runs)
        nodes = np.concatenate([first, first + (run - 1) / 2, first + (run - 1)])
        terms, errors = sequence(nodes)
        begin, middle, end = terms.reshape(3, -1)
        chord, rounding = (begin + end) / 2, float(errors.max())
        more = 1 + 2 * rounding + _SLACK
        if not np.all((middle <= begin * more) & (end <= middle * more) & (middle <= chord * more)):
            return None
        gap = run * float(np.sum(chord - middle))
        # The gap goes with the square of the run's length.
        hopeless = finest > 1 and gap * (finest / run) ** 2 > tolerance and not persist
        if gap <= tolerance or run <= finest or hopeless:
            return run * float(middle.sum()), run * float(chord.sum()), rounding, run * runs
        finer = _odd(run * math.sqrt(tolerance / (2 * gap)))
        run = max(min(finer, _odd(run / 2)), finest)


def _odd(length: float) -> float:
    """The largest odd whole number up to `length`, at least 1."""
    return max(1.0, 2 * math.floor((length + 1) / 2) - 1.0)
