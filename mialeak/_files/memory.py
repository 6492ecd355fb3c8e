"""Memory that a file may take: refused is what does not fit, before it is unpacked.

A packed file of a megabyte may hold a gigabyte, and a header may state more than any machine has.
What a format states is compared with the memory that is available, and what it does not state is
added up as it is unpacked.  A file that fits is read, whatever its size.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["Memory", "TooLarge", "available_memory"]

#: Share of the available memory that the content of a file may take; what is computed from it takes
#: the rest.
_SHARE = 0.75

#: Bytes read at a time.
_PIECE = 2**20

_MEGABYTE = 1e6

#: Files of Linux: the memory of the machine, of a container, and of this process.
_MACHINE, _PROCESS = Path("/proc/meminfo"), Path("/proc/self/statm")
_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def available_memory() -> float:
    """Bytes that this process may still take, as far as the system states it; inf if it does not.

    The least of what the machine has available, of the limit of the container and of the limit on
    the addresses of the process.  Where only the size of the memory is known, that.
    """
    rooms = [float("inf")]
    if machine := _words(_MACHINE, "MemAvailable:"):
        rooms.append(float(machine[0]) * 1024)
    else:
        with contextlib.suppress(AttributeError, ValueError, OSError):  # as on Windows
            rooms.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for path in _CONTAINER:
        limit = _words(path)
        if limit and limit[0].isdigit():  # else "max"
            rooms.append(float(limit[0]))
    taken = _words(_PROCESS)
    if taken:
        import resource

        addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
        if addresses != resource.RLIM_INFINITY:
            rooms.append(addresses - float(taken[0]) * resource.getpagesize())
    return max(0.0, min(rooms))


def _words(path: Path, after: str = "") -> list[str]:
    """The words of a file, those of the line that begins with `after`; [] if there are none."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return next((line.removeprefix(after).split() for line in lines if line.startswith(after)), [])


class TooLarge(ValueError):
    """A file whose content does not fit into memory; it is not damaged."""


class Memory:
    """What the content of a file has taken, and may take.

    Parameters
    ----------
    name : object
        The file, for the error.
    cure : str
        What to do if it does not fit.
    """

    def __init__(self, name: object, cure: str) -> None:
        self._name, self._cure = name, cure
        self.limit, self._taken = _SHARE * available_memory(), 0.0

    def take(self, size: float, *, stated: bool = False) -> None:
        """Add `size` bytes, all that there are if `stated`; TooLarge if they do not fit."""
        self._taken += size
        if self._taken > self.limit:
            least = "" if stated else "more than "
            raise self._too_large(
                f"its content takes {least}{self._taken / _MEGABYTE:,.0f} MB, and "
                f"{self.limit / _MEGABYTE:,.0f} MB, three quarters of what is available, are the "
                "limit"
            )

    def read(self, opened: BinaryIO) -> io.BytesIO:
        """What is left of an open file whose size nobody states, at its beginning.

        What is available may be in pieces, or be taken by others meanwhile: then the system
        refuses, and so does this.
        """
        whole = io.BytesIO()
        try:
            while piece := opened.read(_PIECE):
                self.take(len(piece))
                whole.write(piece)
        except MemoryError as error:
            raise self._too_large(
                f"no more was left after {self._taken / _MEGABYTE:,.0f} MB of its content"
            ) from error
        whole.seek(0)
        return whole

    def _too_large(self, why: str) -> TooLarge:
        cure = f"{self._cure}, or use a machine with more memory"
        return TooLarge(f"{self._name} must fit into memory: {why}. {cure}")
