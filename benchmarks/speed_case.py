"""What a row of the benchmark is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["EPS", "SpeedCase"]

EPS = 2.0**-52


@dataclass(frozen=True)
class SpeedCase:
    """One row of the table.

    Attributes
    ----------
    name : str
        What is computed, on what.
    size, quick_size : int
        Elements, and elements where only the running is tested.
    rival_size : int
        Elements the rivals are timed on: fewer where they would take minutes.
    setup : callable
        ``setup(size)`` gives the arguments.
    ours : callable
        The package's function of these arguments.
    rivals : dict
        Name to function of the same arguments.
    error : callable
        ``error(function, size)`` gives the worst error in eps against the truth.
    bound : float
        The error in eps that ours may make.
    floor : callable or None
        The least that can be done with such arguments: ``np.add`` of two of them.
    floor_name : str
        What that is.
    unit : str
        "element", or "call" where the size does not matter.
    """

    name: str
    size: int
    quick_size: int
    setup: Callable[[int], tuple[Any, ...]]
    ours: Callable[..., Any]
    rivals: dict[str, Callable[..., Any]]
    error: Callable[[Callable[..., Any], int], float] | None = None
    bound: float = 0.0
    floor: Callable[..., Any] | None = None
    floor_name: str = "np.add"
    unit: str = "element"
    rival_size: int = 10**9

    def size_for(self, name: str, scale: float = 1.0) -> int:
        """Elements that the contender is timed on, at `scale` times the full sizes."""
        size = max(int(self.size * scale), self.quick_size)
        return min(size, self.rival_size) if name in self.rivals else size

    def contenders(self) -> dict[str, Callable[..., Any]]:
        """Everyone who is timed, ours first."""
        others = {self.floor_name: self.floor} if self.floor else {}
        return {"mialeak": self.ours, **self.rivals, **others}
