"""Chernoff's bounds: each moment of a log likelihood ratio bounds both of its tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["least_over_exponents", "log_chernoff"]

#: Exponents, in units of one over the standard deviation, of Chernoff's bounds on the range; small
#: ones are for tails that are heavier than exponential ones.
_EXPONENTS = np.geomspace(0.01, 200.0, 18)
#: Which of them is usually the best: near sqrt(2 46), for a tail of e^-46.
_USUAL = 12


def log_chernoff(r: float) -> float:
    """Log c, where (u - 1)+ <= c u^(r + 1) and (1 - u)+ <= c u^-r for all u > 0, each with a touch.

    With u = e^(l - x) of a log ratio l, delta at epsilon x is at most c e^(-r x) times the moment
    E e^((r + 1) l) under *out*, and in the other direction E e^(-r l).
    """
    return float(r * np.log(r) - (r + 1.0) * np.log1p(r))


def least_over_exponents(bound: Callable[[float], float], spread: float) -> tuple[float, float]:
    """The least of Chernoff's bounds, and its exponent; inf where no moment is known.

    A bound is a convex function of the exponent divided by it: it falls up to the least, and rises.
    """
    rates = (_EXPONENTS / spread).tolist()

    def at(place: int) -> float:
        if not 0 <= place < len(rates):
            return np.inf
        try:
            return bound(rates[place])
        except ArithmeticError:
            return np.inf

    place, least = _USUAL, at(_USUAL)
    while place > 0 and least == np.inf:
        place -= 1
        least = at(place)
    for step in (-1, 1) if place == _USUAL else (-1,):
        start = place
        while (after := at(place + step)) < least or (step < 0 and after == least < np.inf):
            place, least = place + step, after
        if place != start:
            break
    return least, rates[place]
