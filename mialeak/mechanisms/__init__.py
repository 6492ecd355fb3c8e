"""Leakage of given procedures on discrete data, and merging of atoms until little leaks."""

from __future__ import annotations

from mialeak.mechanisms._cells import CellMechanism, Geometric, RandomRound, Round, Suppress
from mialeak.mechanisms._coarsen import Coarsening, coarsen
from mialeak.mechanisms._discretize import Discretization, discretize
from mialeak.mechanisms._enumerate import count_vectors
from mialeak.mechanisms._leakage import compare_mechanisms, mechanism_leakage
from mialeak.mechanisms._result import MechanismLeakage
from mialeak.mechanisms._sampled import sampled_mechanism_leakage
from mialeak.mechanisms._statistics import Histogram, Maximum, Mean, Mode

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
    "compare_mechanisms",
    "count_vectors",
    "discretize",
    "mechanism_leakage",
    "sampled_mechanism_leakage",
]
