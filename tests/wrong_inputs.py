"""What the corpus of wrong inputs is made of, and its cases on means and audits.

A case is data: what someone has (files by name), what that person types or calls, and the words
that must come back.  :mod:`test_wrong_inputs` runs all cases; those on tables are in
:mod:`wrong_tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mialeak import estimate_max_leakage, max_leakage, min_samples


@dataclass(frozen=True)
class Shell:
    """A line that someone types, in a folder with `files`."""

    title: str
    line: str
    says: list[str]
    files: dict[str, str | bytes] = field(default_factory=dict)
    cautioned: bool = False


@dataclass(frozen=True)
class Call:
    """A call that someone makes in Python."""

    title: str
    call: Callable[[], Any]
    says: list[str]
    cautioned: bool = False


def csv(header, *columns, comma=","):
    """The text of a CSV; without a header if that is None."""
    lines = [comma.join(header)] if header else []
    lines += [comma.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join(lines) + "\n"


MEANS = [
    Shell(
        "'?' for missing among numbers, which become a category",
        "mean t.csv --na drop",
        ["'?' is counted", "in 2 rows of column 'age'", "--missing '?'"],
        {"t.csv": csv(["age", "hours"], [39, "?", 38, 50] * 2, [40, 38, 40, 20, 38, 20, 40, 38])},
        cautioned=True,
    ),
]

AUDITS = [
    Shell(
        "scores as numpy.savetxt writes them, without a name",
        "audit in.csv out.csv",
        [
            "in.csv",
            "looks like data: its field 1 is a number",
            "Write a line with a name above the data",
        ],
        {"in.csv": "0.25\n0.5\n1.5\n", "out.csv": "0.25\n0.5\n1.5\n"},
    ),
]

CALLS = [
    Call(
        "counts in place of probabilities",
        lambda: max_leakage([30, 20, 50], 100),
        ["probabilities between 0 and 1"],
    ),
    Call(
        "per cent in place of probabilities",
        lambda: min_samples([50.0, 30.0, 20.0], 0.01),
        ["probabilities between 0 and 1"],
    ),
    Call(
        "probabilities in place of counts",
        lambda: estimate_max_leakage([0.5, 0.3, 0.2]),
        ["integers"],
    ),
]
