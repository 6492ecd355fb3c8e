"""What a caller's mechanism gives for a block of count vectors, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MASS_TOLERANCE, FloatArray, first_index, invalid, require_within

__all__ = ["Kernel", "Outcomes", "as_outcomes", "require_repeatable"]

IntArray = npt.NDArray[np.int64]

#: Labels of a block are taken for places, without sorting, if they span at most so many each.
_SPREAD = 2

_NUMBER = "Number the outcomes, or give a row of probabilities for each count vector"


@dataclass(frozen=True)
class Outcomes:
    """A label for each vector: ``names[labels]`` are the caller's, in increasing order."""

    names: IntArray
    labels: IntArray


@dataclass(frozen=True)
class Kernel:
    """A row of probabilities for each vector."""

    names: IntArray
    chances: FloatArray


def as_outcomes(
    mechanism: Any, counts: IntArray | None, first: int, size: int = 1
) -> Outcomes | Kernel:
    """What `mechanism` makes of `counts`; of a table (no counts) the labels from `first` on."""
    if counts is None:
        return _compact(mechanism[first : first + size])
    found = np.asarray(mechanism(counts))
    if found.ndim not in (1, 2) or len(found) != len(counts):
        invalid(
            "mechanism",
            f"give labels of shape (M,) or probabilities of shape (M, L) for M = {len(counts)} "
            f"count vectors; the shape is {found.shape}",
        )
    if found.ndim == 1:
        if found.dtype.kind not in "iub":
            rule = f"give integer labels, not {found.dtype}"
            invalid("mechanism", rule, remedy=_NUMBER, error=TypeError)
        return _compact(found.astype(np.int64))
    return _as_kernel(found, counts)


def _as_kernel(found: npt.NDArray[Any], counts: IntArray) -> Kernel:
    name = "mechanism(counts)"
    if found.dtype.kind not in "fiub" or not found.shape[1]:
        rule = f"give probabilities, not {found.dtype} of shape {found.shape}"
        invalid("mechanism", rule, error=TypeError)
    chances = np.ascontiguousarray(found, np.float64)
    require_within(chances, 0.0, 1.0, name, "hold probabilities in [0, 1]")
    mass = chances.sum(axis=1)
    off = np.abs(mass - 1.0) > MASS_TOLERANCE
    if off.any():
        (row,) = first_index(off)
        given = f"{mass[row]!s} for the counts {counts[row].tolist()}"
        invalid(name, f"have rows that sum to 1 within 1e-9; the sum is {given}")
    return Kernel(np.arange(found.shape[1]), chances)


def _compact(labels: npt.NDArray[Any]) -> Outcomes:
    least, most = int(labels.min()), int(labels.max())
    if most - least < _SPREAD * len(labels):
        local = np.ascontiguousarray(labels, np.int64)
        return Outcomes(np.arange(least, most + 1), local - least if least else local)
    names, places = np.unique(labels, return_inverse=True)
    return Outcomes(names.astype(np.int64), places.astype(np.int64).reshape(-1))


def require_repeatable(mechanism: Any, counts: IntArray) -> None:
    """Refuse a mechanism that draws its labels at random: they would pass for a fixed map."""
    once, again = np.asarray(mechanism(counts)), np.asarray(mechanism(counts))
    if once.shape == again.shape and once.ndim == 1 and (once != again).any():
        (row,) = first_index(np.asarray(once != again))
        values = f"{once[row]!s} and then {again[row]!s} for {counts[row].tolist()}"
        invalid(
            "mechanism",
            f"give the same labels for the same counts; it gave {values}",
            remedy="If it is random, give the probabilities of its outcomes, shape (M, L)",
        )
