"""Several outputs of the same people: what follows from them, and what they leak together.

Two tables that are harmless one by one may subtract to one person.  :class:`Release` holds the
outputs of one data set; its report names each small group whose count follows from them, with the
combination of outputs that gives it, and bounds the leakage of every person.
"""

from __future__ import annotations

from mialeak.releases._accounts import ReleaseAccount, ReleaseLeakage
from mialeak.releases._explanations import Determined
from mialeak.releases._hidden_counts import Recovered
from mialeak.releases._release import Release
from mialeak.releases._report import OutputCost, ReleaseReport, RowInRelease

__all__ = [
    "Determined",
    "OutputCost",
    "Recovered",
    "Release",
    "ReleaseAccount",
    "ReleaseLeakage",
    "ReleaseReport",
    "RowInRelease",
]
