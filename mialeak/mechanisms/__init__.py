"""Leakage of given procedures on discrete data, and merging of atoms until little leaks."""

from __future__ import annotations

from mialeak.mechanisms._builtin import (
    CellMechanism,
    Geometric,
    Histogram,
    Maximum,
    Mean,
    Mode,
    RandomRound,
    Round,
    Suppress,
)
from mialeak.mechanisms._coarsen import Coarsening, coarsen
from mialeak.mechanisms._discretize import Discretization, discretize
from mialeak.mechanisms._enumerate import count_vectors
from mialeak.mechanisms._leakage import MechanismLeakage, mechanism_leakage

__all__ = [
    "CellMechanism",
    "Coarsening",
    "Discretization",
    "Geometric",
    "Histogram",
    "Maximum",
    "Mean",
    "MechanismLeakage",
    "Mode",
    "RandomRound",
    "Round",
    "Suppress",
    "coarsen",
    "count_vectors",
    "discretize",
    "mechanism_leakage",
]
