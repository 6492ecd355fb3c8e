"""What is known of the atoms of a law: some one by one, and of the others their mass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np

from mialeak._arrays import FloatArray, check_mass
from mialeak.discrete._families import Pmf
from mialeak.discrete._input import DIVIDE, Piece, checked_block
from mialeak.discrete._sums import block_mass

__all__ = ["WholeWindow", "Window"]


class Window(ABC):
    """The atoms of a law that are taken one by one, and bounds for those outside.

    Attributes
    ----------
    name : str
        Of the law, for messages.
    """

    name: str

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of atoms inside."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether no atom is outside."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether the window cannot grow."""

    @abstractmethod
    def grow(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Enlarge the window; yield the new atoms in blocks, with their relative errors."""

    @abstractmethod
    def outside(self) -> tuple[float, float]:
        """Lower and upper bound of the mass outside."""

    @abstractmethod
    def edge(self) -> float:
        """Upper bound of every probability outside."""

    @abstractmethod
    def sides(self) -> Iterator[tuple[Pmf, float]]:
        """Each side outside: the pmf of its j-th atom (j = 1, 2, ...), and the number of atoms."""


class WholeWindow(Window):
    """All atoms of a law given as pieces, taken at their word: no errors and nothing outside."""

    name, size, complete, exhausted = "p", math.inf, True, True

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = pieces

    def grow(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        masses = []
        for start, piece in self._pieces:
            block = checked_block(start, piece)
            masses.append(block_mass(block))
            yield block, np.broadcast_to(0.0, block.shape)
        check_mass(math.fsum(masses), "p", DIVIDE)

    def outside(self) -> tuple[float, float]:
        return 0.0, 0.0

    def edge(self) -> float:
        return 0.0

    def sides(self) -> Iterator[tuple[Pmf, float]]:
        return iter(())
