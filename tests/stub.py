"""Writes ``mialeak/__init__.pyi``, what type checkers and editors see of the hall.

    python tests/stub.py

The stub is made from the table ``_HALL`` of ``mialeak/__init__.py``, so that a name is listed once.
"""

from __future__ import annotations

from pathlib import Path

import mialeak

__all__ = ["STUB", "stub"]

STUB = Path(__file__).parents[1] / "mialeak" / "__init__.pyi"


def stub() -> str:
    """The text of the stub."""
    lines = ['"""The hall of mialeak; written by tests/stub.py."""', ""]
    rooms = sorted(mialeak._ROOMS)
    lines += ["from mialeak import ("]
    lines += [f"    {room} as {room}," for room in rooms] + [")"]
    for room, names in sorted(mialeak._HALL.items()):
        aliases = sorted(names, key=lambda name: (not name[0].isupper(), name))
        if len(aliases) == 1:
            lines.append(f"from mialeak.{room} import {aliases[0]} as {aliases[0]}")
        else:
            lines += [f"from mialeak.{room} import ("]
            lines += [f"    {name} as {name}," for name in aliases] + [")"]
    lines += ["", "__version__: str", "__all__: list[str]", ""]
    lines += ["_HALL: dict[str, tuple[str, ...]]", "_HOME: dict[str, str]"]
    lines += ["_ROOMS: tuple[str, ...]", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
