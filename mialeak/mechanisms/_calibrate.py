"""The weakest protection of a kind that keeps the leakage within a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

from mialeak._arrays import as_share, invalid
from mialeak.mechanisms._builtin import CellMechanism, Geometric, RandomRound, Round, Suppress
from mialeak.mechanisms._leakage import mechanism_leakage
from mialeak.mechanisms._noise import DiscreteGaussian, Synthetic

__all__ = ["calibrate"]

#: Parameters that are tried one by one: bases of rounding, since a larger one may leak more.
_BASES = range(2, 1_001)
#: The largest threshold, and the most synthetic rows, that are tried.
_LARGEST_BELOW, _MOST_ROWS = 2**40, 2**30
#: Noise whose leakage falls all along, and the parameters between which to search, weakest first.
_REAL = {Geometric: (64.0, 1e-9), DiscreteGaussian: (0.05, 1e5)}
#: Relative precision of a real parameter.
_PRECISION = 1e-4


def calibrate(
    protection: Callable[[Any], Any],
    p: Any,
    n: int | None = None,
    *,
    leakage: float,
    rows: Literal["fixed", "poisson"] = "poisson",
    values: Iterable[Any] | None = None,
) -> Any:
    """The weakest protection of a kind that leaks at most a given leakage.

    Parameters
    ----------
    protection : class or callable
        :class:`Round`, :class:`RandomRound`, :class:`Suppress`, :class:`Geometric`,
        :class:`DiscreteGaussian` or :class:`Synthetic`; or, with `values`, anything that makes a
        protection of a parameter, such as ``lambda base: Pipeline(Suppress(7), Round(base))``.
    p : array_like, Register, or callable
        Whose rows are protected, as for :func:`mechanism_leakage`; or a function that returns the
        leakage of a protection, such as that of a table's report.
    n : int, optional
        Number of rows; left out for a register with a rate, and for a function.
    leakage : float
        The largest that is allowed, strictly between 0 and 1.
    rows : {"fixed", "poisson"}
        As for :func:`mechanism_leakage`; left at its default for a register.  "poisson" is what the
        protected count of the target's own cell leaks; with "fixed" many cells have an upper bound
        only, which is that of raw counts.
    values : iterable, optional
        The parameters to try, the weakest first.

    Returns
    -------
    protection
        The first that leaks at most `leakage`, by its upper bound.

    Raises
    ------
    ValueError
        If none does; the message states what the strongest leaks.  For synthetic rows also if the
        counts leak no more as they are: then any number of them does.
    TypeError
        If `protection` is another kind and `values` is left out.

    Notes
    -----
    A higher threshold, more noise and fewer synthetic rows leak less, and are found by bisection;
    a parameter that is no whole number to 0.01 % on the safe side.  (For discrete Gaussian noise
    this is taken for granted; what is returned was computed.)  A larger base of rounding may leak
    more, so that bases are tried from 2 to 1,000.

    Examples
    --------
    >>> from mialeak.mechanisms import Geometric, Round, Suppress, calibrate
    >>> law = [0.01] * 100
    >>> calibrate(Round, law, 100, leakage=0.2)
    Round(base=5)
    >>> calibrate(Suppress, law, 100, leakage=0.2)
    Suppress(below=3, zeros_shown=False)
    >>> noise = calibrate(Geometric, law, 100, leakage=0.2)
    >>> print(f"{noise.epsilon:.2f}")
    0.59
    """
    limit = as_share(leakage, "leakage")
    leak = _measure(p, n, rows)

    def reaches(parameter: Any) -> bool:
        return leak(protection(parameter)) <= limit

    if values is not None:
        tried = list(values)
        if not tried:
            invalid("values", "hold at least one parameter")
        return _first(protection, tried, reaches, leak)
    if protection in (Round, RandomRound):
        return _first(protection, list(_BASES), reaches, leak)
    if protection is Suppress:
        return Suppress(_threshold(reaches, leak))
    if protection is Synthetic:
        raw = leak(Suppress(1))  # the mark of an empty cell is as good as its 0
        if raw <= limit:
            rule = f"be below what the counts leak as they are, {raw:.4g}, for synthetic rows"
            invalid("leakage", rule, value=limit)
        return Synthetic(_synthetic(reaches, leak))
    if protection in _REAL:
        weak, end = _REAL[protection]
        strong, step = weak, 2.0 if end > weak else 0.5
        while not reaches(strong):
            if strong == end:
                _require(False, protection(end), leak)
            further = min(step * strong, end) if step > 1.0 else max(step * strong, end)
            weak, strong = strong, further
        while abs(math.log(strong / weak)) > _PRECISION:
            middle = math.sqrt(weak * strong)
            weak, strong = (weak, middle) if reaches(middle) else (middle, strong)
        return protection(strong)
    kinds = "Round, RandomRound, Suppress, Geometric, DiscreteGaussian or Synthetic"
    rule = f"be {kinds} without values"
    remedy = "Pass values=, the parameters to try, the weakest first"
    return invalid("protection", rule, value=protection, remedy=remedy, error=TypeError)


def _measure(p: Any, n: int | None, rows: Any) -> Callable[[CellMechanism], float]:
    """The leakage of a protection."""
    from mialeak.populations import Register

    if callable(p):
        if n is not None:
            invalid("n", "be left out where p is a function that returns the leakage", value=n)
        return lambda protection: float(p(protection))
    if isinstance(p, Register) and rows != "poisson":
        remedy = "A Register states how its people are drawn, by its rate or by n"
        invalid("rows", "be left out for a Register", value=rows, remedy=remedy)
    options = {} if isinstance(p, Register) else {"rows": rows}
    return lambda protection: mechanism_leakage(protection, p, n, **options).upper


def _first(protection: Any, tried: list[Any], reaches: Any, leak: Any) -> Any:
    for parameter in tried:
        if reaches(parameter):
            return protection(parameter)
    return _require(False, protection(tried[-1]), leak)


def _threshold(reaches: Callable[[int], bool], leak: Any) -> int:
    """The smallest threshold of suppression that reaches the limit."""
    low, high = 0, 1
    while not reaches(high):
        if high > _LARGEST_BELOW:
            _require(False, Suppress(high), leak)
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _synthetic(reaches: Callable[[int], bool], leak: Any) -> int:
    """The most synthetic rows that reach the limit."""
    low, high = 1, 2
    _require(reaches(low), Synthetic(low), leak)
    while high < _MOST_ROWS and reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def _require(reached: bool, strongest: Any, leak: Callable[[Any], float]) -> None:
    if not reached:
        rule = f"be reached by the strongest protection tried, {strongest!r}"
        remedy = f"It leaks {leak(strongest):.4g}: allow for more, or take another kind"
        invalid("leakage", rule, remedy=remedy)
