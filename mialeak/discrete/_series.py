"""Sums over all atoms of a law, countable ones included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, check_mass, invalid
from mialeak.discrete._convex import convex_sum
from mialeak.discrete._countable import CountableLaw, Window
from mialeak.discrete._families import Pmf
from mialeak.discrete._input import as_block, as_law, bad_probability, pieces
from mialeak.discrete._sums import DIVIDE, block_mass

__all__ = ["ENOUGH", "checked_blocks", "sum_of_law", "sum_over"]

Term = Callable[[FloatArray], FloatArray]

#: A series is summed when what it lacks is below this part of it.
ENOUGH = 1e-13

#: Atoms a window holds before those outside of it are summed as a convex sequence.
_LEAST_WINDOW = 2**14

#: From here on a tail is extrapolated as a power of k, and the largest share of the tail that may
#: come from that.
_FAR = 2.0**50
_GUESSED = 1e-3


def sum_over(p: Any, term: Term) -> float:
    """Sum of `term` over the atoms of `p`."""
    law = as_law(p)
    if isinstance(law, CountableLaw):
        return sum_of_law(law, term)
    sums, masses = [], []
    for block in checked_blocks(law):
        sums.append(float(term(block).sum()))
        masses.append(block_mass(block))
    check_mass(math.fsum(masses), "p", DIVIDE)
    return math.fsum(sums)


def checked_blocks(law: npt.NDArray[Any] | Iterator[Any]) -> Iterator[FloatArray]:
    """The atoms of `law` in blocks, each found to hold numbers in [0, 1]."""
    for start, piece in pieces(law):
        block = as_block(piece)
        good = (block >= 0) & (block <= 1)
        if not good.all():
            bad_probability(start, int(np.argmin(good)), piece, DIVIDE)
        yield block


def sum_of_law(law: CountableLaw, term: Term) -> float:
    """Sum over a window that doubles, until the rest is small or known.

    Raises
    ------
    ValueError
        If the sum is infinite, or not seen to be finite.
    """
    window = Window(law)
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
                f"{window.size:.0f} atoms of {law.name} it is {total:.6g} and grows",
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

    def rest(j: float) -> float:
        near, far = terms(np.array([j, 2 * j]))[0]
        if near == 0:
            return 0.0
        power = math.log2(near / far) if far > 0 else math.inf
        if power > 1 + ENOUGH:
            return j * float(near) / (power - 1)
        if j < _FAR:
            return math.inf
        rule = f"be a law over which the sum is finite; for {window.law.name} its terms fall like"
        return invalid("p", f"{rule} k**-{power:.3f}")

    if count > _FAR:
        rest(_FAR)
    bounds = convex_sum(terms, rest, count, window.size, tolerance)
    if bounds is None:
        return None
    lower, upper, beyond = bounds
    found = upper - lower <= 2 * tolerance and beyond <= _GUESSED * upper
    return (lower + upper) / 2 + beyond if found else None
