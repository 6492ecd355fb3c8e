"""What the leakage of a procedure is known to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mialeak._results import Kind, Result

__all__ = ["MechanismLeakage"]

#: Digits that are printed at most.
_DIGITS = 6


@dataclass(frozen=True, repr=False)
class MechanismLeakage(Result):
    """Leakage of a procedure: a number, or two between which it lies.

    ``float()`` of it is the number if it is exact.

    Attributes
    ----------
    lower, upper : float
        The leakage lies between; equal if it is exact.
    kind : str
        "exact"; "bound"; or "estimate", if `lower` holds with a stated confidence only.
    rows : str
        "fixed" or "poisson": how many rows there are.
    method : str
        How it was computed, in a few words.
    error : float
        Absolute error of `lower` and `upper` by rounding.  Only digits above it are printed, and
        of a number below it that it is below: the mode of 10,000 rows leaks `<1e-14`.

    Examples
    --------
    >>> from mialeak import mechanism_leakage
    >>> from mialeak.mechanisms import Round
    >>> found = mechanism_leakage(Round(5), [0.5, 0.3, 0.2], 20)
    >>> found
    MechanismLeakage(lower=0.0951742, upper=0.0951742, kind='exact', rows='fixed')
    >>> round(float(found), 4)
    0.0952
    """

    lower: float
    upper: float
    kind: Kind
    rows: str = "fixed"
    method: str = field(default="", repr=False)
    error: float = field(default=0.0, repr=False)

    def __repr__(self) -> str:
        lower, upper = (_certain(value, self.error) for value in (self.lower, self.upper))
        end = f"kind={self.kind!r}, rows={self.rows!r}"
        return f"{type(self).__name__}(lower={lower}, upper={upper}, {end})"

    def __float__(self) -> float:
        if self.kind != "exact":
            raise TypeError(
                f"the leakage is not known exactly but between {self.lower:.6g} and "
                f"{self.upper:.6g}: use .lower and .upper"
            )
        return self.lower


def _certain(value: float, error: float) -> str:
    """The digits of `value` that are larger than its error."""
    if value == 0.0 or error == 0.0:
        return f"{value:.{_DIGITS}g}"
    if value <= error:
        return f"<{error:.2g}"
    digits = min(_DIGITS, max(1, math.floor(math.log10(value / error))))
    return f"{value:.{digits}g}"
