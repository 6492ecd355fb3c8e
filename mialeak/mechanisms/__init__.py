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
from mialeak.mechanisms._calibrate import calibrate
from mialeak.mechanisms._cell_keys import CellKey, optimal_ptable
from mialeak.mechanisms._coarsen import Coarsening, coarsen
from mialeak.mechanisms._discretize import Discretization, discretize
from mialeak.mechanisms._enumerate import count_vectors
from mialeak.mechanisms._leakage import MechanismLeakage, mechanism_leakage
from mialeak.mechanisms._named import protection
from mialeak.mechanisms._noise import DiscreteGaussian, Synthetic
from mialeak.mechanisms._pipeline import InformationLost, Pipeline, information_lost
from mialeak.mechanisms._post_randomisation import Pram
from mialeak.mechanisms._swapping import Swap

__all__ = [
    "CellKey",
    "CellMechanism",
    "Coarsening",
    "DiscreteGaussian",
    "Discretization",
    "Geometric",
    "Histogram",
    "InformationLost",
    "Maximum",
    "Mean",
    "MechanismLeakage",
    "Mode",
    "Pipeline",
    "Pram",
    "RandomRound",
    "Round",
    "Suppress",
    "Swap",
    "Synthetic",
    "calibrate",
    "coarsen",
    "count_vectors",
    "discretize",
    "information_lost",
    "mechanism_leakage",
    "optimal_ptable",
    "protection",
]
