"""Mechanisms that release one statistic of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_counts, as_floats

__all__ = ["Histogram", "Maximum", "Mean", "Mode"]


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
