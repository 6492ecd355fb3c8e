"""What the report on a table says first: columns that are probably misunderstood."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import Factor
from mialeak._markers import marker_cautions

__all__ = ["all_differ", "cautions_of", "identifiers", "is_weight"]

IntArray = npt.NDArray[np.int64]

#: Names of columns that identify persons, and of survey weights, in small letters.
_IDENTIFIERS = frozenset({"id", "pid", "uid", "uuid", "ssn", "cpr", "iid", "email"}) | {
    f"{who}_id" for who in ("person", "patient", "subject", "user", "customer", "sample", "case")
}
_WEIGHT_WORDS = """
weight weights wgt wgts wt wts fnlwgt finalwgt pweight perwt hhwt wtfinl asecwt pwgtp wgtp
sampling_weight sample_weight survey_weight person_weight hhweight gewicht poids pondération
ponderation peso vægt vikt vekt gewichtung hochrechnungsfaktor
"""
_WEIGHTS = frozenset(_WEIGHT_WORDS.split())


def cautions_of(factors: dict[Any, Factor], weights: IntArray | None = None) -> list[str]:
    """A sentence for each suspicion, with the argument that cures it.

    `weights` are the persons of each row, where these are cells; a column is then no identifier.
    """
    cautions = marker_cautions(factors, weights)
    if weights is not None:
        return cautions
    cautions += _of_names(factors)
    names = identifiers(factors)
    if names:
        cure = f" Leave such columns out with exclude=[{listed(names)}]." if len(names) <= 3 else ""
        cautions.append(
            f"Every row has a value of its own in column {listed(names)}, as an identifier "
            f"has.{cure}"
        )
    return cautions


def _of_names(factors: dict[Any, Factor]) -> list[str]:
    """Cautions for columns whose name is that of an identifier or of a survey weight."""
    cautions = []
    for name, factor in factors.items():
        word = str(name).strip().lower()
        if word in _IDENTIFIERS and not all_differ(factor):
            cautions.append(
                f"Column {name!r} has the name of an identifier, and some of its values are those "
                f"of several rows. The report is about rows, not persons; if {name!r} is no "
                f"category, pass exclude=[{name!r}]."
            )
        if is_weight(name):
            cautions.append(
                f"Column {name!r} has the name of a survey weight and is counted as a category. If "
                f"it is a weight, pass exclude=[{name!r}]."
            )
    return cautions


def is_weight(name: Any) -> bool:
    """Whether it is the name of a column of survey weights."""
    return str(name).strip().lower() in _WEIGHTS


def identifiers(factors: dict[Any, Factor]) -> list[Any]:
    """The columns in which every row has a value of its own."""
    return [
        name for name, factor in factors.items() if len(factor.codes) > 1 and all_differ(factor)
    ]


def all_differ(factor: Factor) -> bool:
    """Whether no two rows have the same value, and none is missing."""
    if len(factor.levels) < len(factor.codes) or factor.n_missing:
        return False
    return int(np.bincount(factor.codes).max()) == 1
