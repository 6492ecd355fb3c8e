"""The tables in ``tests/data``: expensive truth, made once, and the errors that may only shrink.

A table is bzip2 text, a point a line: the arguments and the truth as C99 hexadecimal floats,
then what rounding the truth took away in eps.  ``bzcat`` shows it.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from truth import Case

__all__ = ["WORST", "read", "read_worst", "write", "write_worst"]

DATA = Path(__file__).parent / "data"

#: The largest error seen in each region of each function, in eps.
WORST = DATA / "worst_errors.json"


def write(case: Case, columns: Sequence[np.ndarray], truth: np.ndarray, rest: np.ndarray) -> Path:
    """Store the points of `case`; the same points give the same bytes."""
    lines = [f"# {case.name}: {' '.join(case.arguments)} truth rest\n"]
    for *values, remainder in zip(*columns, truth, rest, strict=True):
        lines.append(" ".join(_hex(value) for value in values) + f" {remainder:.2f}\n")
    path = DATA / f"{case.name}.txt.bz2"
    path.write_bytes(bz2.compress("".join(lines).encode()))
    return path


def _hex(value: float) -> str:
    """`value` exactly; integers below 2**53 in decimal, which is shorter and easier to read."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) <= 2**53 else value.hex()


def read(case: Case) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """The points stored for `case`: columns of arguments, truth and rest."""
    with bz2.open(DATA / f"{case.name}.txt.bz2", "rt") as lines:
        next(lines)
        rows = [[_value(word) for word in line.split()] for line in lines]
    *columns, truth, rest = np.array(rows).T
    return tuple(columns), truth, rest


def _value(word: str) -> float:
    return float.fromhex(word) if "0x" in word else float(word)


def read_worst() -> dict[str, dict[str, float]]:
    """Function to region to worst error in eps."""
    return json.loads(WORST.read_text())


def write_worst(worst: dict[str, dict[str, float]]) -> None:
    """Store the worst errors."""
    WORST.write_text(json.dumps(worst, indent=1) + "\n")
