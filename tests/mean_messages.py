"""The error or the warning of a released mean, for tests of wrong moments."""

from __future__ import annotations

import warnings

from mialeak import mean_tradeoff

__all__ = ["message_of"]


def message_of(target, mean, cov, n):
    """The text of the error, or of all warnings; "" without one."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            mean_tradeoff(target, mean, cov, n)
        except ValueError as error:
            return str(error)
    return " ".join(str(each.message) for each in met)
