"""What the corpus of wrong inputs is made of, and its cases on means and audits.

A case is data: what someone has (files by name), what that person types or calls, and the words
that must come back.  :mod:`test_wrong_inputs` runs all cases; those on tables are in
:mod:`wrong_tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mialeak import (
    EmpiricalTradeOff,
    audit,
    estimate_max_leakage,
    max_leakage,
    min_samples,
)


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

UP = [0.1 * i + 0.03 * (i % 7) for i in range(20)]
DOWN = [value - 0.5 for value in UP]
SCORES = {"in.csv": csv(["score"], UP), "out.csv": csv(["score"], DOWN)}

AUDITS = [
    Shell(
        "scores as numpy.savetxt writes them, without a name",
        "audit in.csv out.csv",
        ["in.csv", "looks like data: '0.25'", "Write a line with a name above the data"],
        {"in.csv": "0.25\n0.5\n1.5\n", "out.csv": "0.25\n0.5\n1.5\n"},
    ),
    Shell(
        "a significance level in place of the confidence",
        "audit in.csv out.csv --confidence 0.05",
        ["--confidence must be at least 0.5", "pass 0.95"],
        SCORES,
    ),
    Shell(
        "epsilon as delta and delta as epsilon, in a claim",
        "audit in.csv out.csv --delta 0.9 --claimed-epsilon 1e-5",
        ["--claimed-epsilon must be an epsilon", "look exchanged"],
        SCORES,
    ),
    Shell(
        "epsilon as delta and delta as epsilon, in a gate",
        "audit in.csv out.csv --delta 0.9 --max-epsilon 1e-5",
        ["--max-epsilon must be an epsilon", "pass --max-epsilon 0.9 --delta 1e-05"],
        SCORES,
    ),
    Shell(
        "each score a hundred times, as a join writes them",
        "audit in.csv out.csv",
        ["in.csv must be independent", "occurs 100 times"],
        {"in.csv": csv(["score"], UP * 100), "out.csv": csv(["score"], DOWN * 100)},
    ),
    Shell(
        "losses of the training rows, then of the test rows, as canaries of one run",
        "audit loss.csv member.csv --one-run --lower-is-member",
        ["member.csv must come of fair coins", "all members stand before all others"],
        {"loss.csv": csv(["loss"], DOWN + UP), "member.csv": csv(["member"], [1] * 20 + [0] * 20)},
    ),
    Shell(
        "the same file twice",
        "audit in.csv in.csv",
        ["in.csv must be draws of their own", "the 20 scores of the other world"],
        SCORES,
    ),
    Shell(
        "scores and flags in one file",
        "audit both.csv both.csv --one-run",
        ["both.csv must have one column"],
        {"both.csv": csv(["score", "member"], UP, [0, 1] * 10)},
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
    Call(
        "scores and flags in place of the scores of two worlds",
        lambda: EmpiricalTradeOff(UP, [0, 1] * 10),
        ["out_scores must be scores", "pass scores[flags == 1] and scores[flags == 0]"],
    ),
    Call(
        "flags and scores, exchanged",
        lambda: EmpiricalTradeOff([0, 1] * 10, UP),
        ["in_scores must be scores"],
    ),
    Call(
        "scores of shadow models by examples, as LiRA has them",
        lambda: audit([UP, UP], [DOWN, DOWN]),
        ["in_scores must have one score for each run; its shape is (2, 20)", "one example a model"],
    ),
]
