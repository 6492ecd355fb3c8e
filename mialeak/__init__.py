"""How much does a release leak about who was in the data?

mialeak answers for a table of counts, a released mean and a model's gradient steps: exactly and
fast, with a number that says what it is (exact, bound, asymptotic or estimate).

Two worlds are compared throughout.  *Out*: ``n`` fresh rows.  *In*: the target and ``n - 1`` fresh
rows.  Both have ``n`` rows (substitution), and ``n`` counts the target.

The functions that answer most questions stand here.  Everything else is reached through its room,
as ``mialeak.special.binom_mad`` is.  Importing the package costs little more than importing NumPy:
a room loads when one of its names is first used.
"""

import importlib

from mialeak._version import __version__

#: The hall: every name at the top level, by the room that defines it.  ``__init__.pyi`` is written
#: from this table (``python tests/stub.py``), and a test holds the two together.
_HALL = {
    "tables": ("estimate_max_leakage", "table_leakage"),
    "discrete": (
        "atom_leakage",
        "discrete_tradeoff",
        "max_leakage",
        "max_leakage_bounds",
        "min_samples",
    ),
    "mechanisms": ("coarsen", "mechanism_leakage"),
    "means": (
        "gaussian_mean_tradeoff",
        "leakage_score",
        "mean_leakage",
        "mean_tradeoff",
        "noise_for_leakage",
        "samples_for_leakage",
    ),
    "exact": ("exact_mean_tradeoff",),
    "estimators": ("influence_of",),
    "training": ("CovarianceAttack", "select_canaries"),
    "covariance": ("StreamingCovariance",),
    "auditing": ("audit", "audit_power", "one_run_audit"),
    "tradeoff": (
        "EmpiricalTradeOff",
        "GaussianTradeOff",
        "PiecewiseTradeOff",
        "SubsampledTradeOff",
        "TradeOff",
        "compose",
    ),
    "populations": ("Register",),
    "releases": ("Release",),
    "guarantees": (
        "dp_leakage_bound",
        "epsilon_for_leakage",
        "max_accuracy",
        "noise_multiplier_for_leakage",
    ),
    "_config": ("show_config",),
}
#: Rooms of which no name stands in the hall.
_OTHER_ROOMS = ("certificates", "datasets", "games", "laws", "plotting", "scores", "special")
_HOME = {name: room for room, names in _HALL.items() for name in names}
_ROOMS = (*(room for room in _HALL if not room.startswith("_")), *_OTHER_ROOMS)

__all__ = ["__version__", *_HOME, *_ROOMS]


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
