"""How much does a release leak about who was in the data?

mialeak answers for a table of counts, a released mean and a model's gradient steps: exactly and
fast, with a number that says what it is (exact, bound, asymptotic or estimate).

Two worlds are compared throughout.  *Out*: ``n`` fresh rows.  *In*: the target and ``n - 1`` fresh
rows.  Both have ``n`` rows (substitution), and ``n`` counts the target.

Importing the package costs little more than importing NumPy: rooms load when a name of theirs is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mialeak._version import __version__

if TYPE_CHECKING:
    from mialeak._config import show_config as show_config
    from mialeak.discrete import (
        atom_leakage as atom_leakage,
        max_leakage as max_leakage,
        min_samples as min_samples,
    )
    from mialeak.special import (
        binom_excess as binom_excess,
        binom_logpmf as binom_logpmf,
        binom_mad as binom_mad,
        binom_shortfall as binom_shortfall,
    )
    from mialeak.tables import (
        estimate_max_leakage as estimate_max_leakage,
        table_leakage as table_leakage,
    )

#: Where each public name lives.
_ROOMS = {
    "special": ("binom_mad", "binom_excess", "binom_shortfall", "binom_logpmf"),
    "discrete": ("max_leakage", "atom_leakage", "min_samples"),
    "tables": ("table_leakage", "estimate_max_leakage"),
    "datasets": (),
    "_config": ("show_config",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *_HOME, *(room for room in _ROOMS if not room.startswith("_"))]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
