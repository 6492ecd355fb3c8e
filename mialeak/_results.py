"""Base classes of results, which have a kind, a short ``repr`` and a dictionary form.

Every result that is not a single number is a frozen dataclass that inherits :class:`Result`.  The
kind of a result is one of four:

exact
    the number itself, with the stated floating-point error;
bound
    the true value always lies on the stated side (or between the two numbers);
asymptotic
    the limit for large n, with no guarantee at finite n;
estimate
    a statistic of data, with an interval whose coverage was measured.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mialeak._arrays import FloatArray, as_float, as_share, invalid

__all__ = [
    "Bounds",
    "Direction",
    "Estimate",
    "Kind",
    "Result",
    "as_confidence",
]

Kind = Literal["exact", "bound", "asymptotic", "estimate"]


class Result:
    """Base of the frozen dataclasses that public functions return."""

    kind: Kind

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values (str, int, float, list, dict), ready for JSON."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: _plain(getattr(self, field.name)) for field in fields}

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        shown = (f"{f.name}={_short(getattr(self, f.name))}" for f in fields if f.repr)
        return f"{type(self).__name__}({', '.join(shown)})"


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=6, edgeitems=2, separator=", ")
    return repr(value)


@dataclass(frozen=True, repr=False)
class Bounds(Result):
    """A quantity that lies between two numbers (floats, or arrays of one shape).

    Attributes
    ----------
    lower, upper : float or ndarray
    kind : str
        "bound".
    """

    lower: float | FloatArray
    upper: float | FloatArray
    kind: Kind = "bound"

    @property
    def width(self) -> float | FloatArray:
        """``upper - lower``."""
        return self.upper - self.lower


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """An estimate from a sample, with its confidence interval and the plug-in value beside it.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        The interval.
    plug_in : float
        The formula with the frequencies of the sample as the law: exact for that law, and usually
        far below the value for the population.
    confidence : float
        Nominal coverage of the interval.
    claimed : bool
        Whether the interval has a claimed coverage.  If not, because the coverage was not measured
        for samples like this one, `low` and `high` are a rough range.
    kind : str
        "estimate".
    """

    value: float
    low: float
    high: float
    plug_in: float
    confidence: float = 0.95
    claimed: bool = True
    kind: Kind = "estimate"


Direction = Literal["both", "in", "out"]


def as_confidence(confidence: Any) -> float:
    """`confidence` as a number of at least 0.5 and below 1."""
    level = as_float(confidence, "confidence")
    if 1.0 < level <= 100.0:
        remedy = f"For {level:g} % pass {level / 100.0:g}"
        invalid("confidence", "be strictly between 0 and 1", value=level, remedy=remedy)
    level = as_share(level, "confidence")
    if level < 0.5:
        remedy = f"For a probability of error of {level:g} pass {1.0 - level:g}"
        invalid("confidence", "be at least 0.5", value=level, remedy=remedy)
    return level
