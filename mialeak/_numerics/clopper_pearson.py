"""Confidence intervals for the probability of a cell, from its count in a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from mialeak._arrays import FloatArray

__all__ = ["probability_range"]


def probability_range(
    sizes: npt.NDArray[Any], rows: int | FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest probability that a cell with `sizes` of `rows` rows may have.

    Clopper and Pearson's interval.  The smallest one is that for the other ``rows - 1`` rows, of
    which ``size - 1`` share the cell, so that the interval holds both for a cell that was named
    before the sample was seen and for the cell of a row of the sample: a row alone in its cell is
    no sign of how rare the cell is, and its smallest probability is 0.
    """
    tail = (1 - confidence) / 2
    size = np.asarray(sizes, dtype=np.float64)
    others, elsewhere = size - 1, rows - size
    least = np.where(others > 0, betaincinv(np.maximum(others, 1), elsewhere + 1, tail), 0.0)
    most = np.where(elsewhere > 0, betainccinv(size + 1, np.maximum(elsewhere, 1), tail), 1.0)
    return least, most
