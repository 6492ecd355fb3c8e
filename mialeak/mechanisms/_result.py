"""What the leakage of a procedure is known to be."""

from __future__ import annotations

from dataclasses import dataclass, field

from mialeak._results import Kind, Result

__all__ = ["MechanismLeakage"]


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
        How it was found, in a few words.

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

    def __float__(self) -> float:
        if self.kind != "exact":
            raise TypeError(
                f"the leakage is not known exactly but between {self.lower:.6g} and "
                f"{self.upper:.6g}: use .lower and .upper"
            )
        return self.lower
