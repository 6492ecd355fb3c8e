"""What a row of the table of truths is (truth.py)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import rivals
from flint import arb

__all__ = ["Case", "Family", "Region"]


@dataclass(frozen=True)
class Region:
    """A part of the domain with a bound of its own, in eps.

    `where` takes the columns of arguments and answers with a mask.  The first region of a case
    that claims a point keeps it.
    """

    name: str
    where: Callable[..., np.ndarray]
    bound: float


@dataclass(frozen=True)
class Family:
    """What tests know of the arguments of a family of functions.

    Attributes
    ----------
    name : str
        The module of ``mialeak.reference`` with the NumPy twins.
    largest : str
        The count that no other may exceed.
    good : dict
        Argument to its value at one point inside the domain.
    points : dict
        Argument to 23 values, whole where counts are.
    moderate : callable
        ``moderate(rng, size)`` to columns by argument, within 2 standard deviations of the mean,
        counts below 20,000.
    contains : callable
        Columns by argument to a mask of those in the domain of the samplers.
    """

    name: str
    largest: str
    good: dict[str, float]
    points: dict[str, np.ndarray]
    moderate: Callable[..., dict[str, np.ndarray]]
    contains: Callable[[dict[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class Case:
    """One public function, its truth, its domain and the error it may make.

    Attributes
    ----------
    name, path : str
        The function's name, and where it is imported from.
    arguments : tuple of str
        Names of the columns, in order.
    truth : callable
        The arguments of one point to a ball.
    sampler : callable
        ``sampler(rng, size)`` to columns of float64 that visit every region.
    regions : tuple of Region
        The error bounds; the last region takes what is left.
    floor : float
        Errors are measured relative to max(abs(truth), floor): 0 for relative errors, 1 for
        logarithms.
    least : float
        Points whose truth is below it are not held to the bounds.
    seams : dict
        Name of a cut-off to a sampler of points on both of its sides.
    edges : tuple
        (arguments, value) pairs whose value must be met exactly.
    family : Family
    stored : int
        Points in the table kept in ``tests/data``.
    rival_largest : float
        The largest count that the rivals are tried on: those that sum would fill the memory.
    scipy : callable or None
        How SciPy's users write it, if not by its name in ``rivals.py``.
    """

    name: str
    path: str
    arguments: tuple[str, ...]
    truth: Callable[..., arb]
    sampler: Callable[..., tuple[np.ndarray, ...]]
    regions: tuple[Region, ...]
    floor: float
    least: float
    seams: dict[str, Callable[..., tuple[np.ndarray, ...]]]
    edges: tuple[tuple[tuple[float, ...], float], ...]
    family: Family
    stored: int = 20_000
    rival_largest: float = 2.0**53
    scipy: Callable[..., np.ndarray] | None = None

    @property
    def function(self) -> Callable[..., np.ndarray]:
        """The package's function."""
        return getattr(importlib.import_module(self.path), self.name)

    @property
    def twin(self) -> Callable[..., np.ndarray]:
        """The same in NumPy."""
        return getattr(importlib.import_module(f"mialeak.reference.{self.family.name}"), self.name)

    @property
    def rivals(self) -> dict[str, Callable[..., np.ndarray]]:
        """What stands beside it in tables: the SciPy form and the NumPy twin."""
        return {"SciPy": self.scipy or getattr(rivals, self.name), "NumPy twin": self.twin}

    def rivals_can(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Which points the rivals are tried on."""
        largest = np.where(np.isfinite(columns), columns, 0.0).max(axis=0)
        return np.asarray(largest <= self.rival_largest)

    def region_of(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Index of the region of each point."""
        return np.argmax([region.where(*columns) for region in self.regions], axis=0)
