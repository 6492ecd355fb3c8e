"""Warnings, which name the line of the caller that called the package.

A warning is shown once for each line that caused it, so that it must not name a line of the package
itself.  Which frame is the first one outside depends on the way to the warning; it is looked for
when there is one.
"""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]


def warn(message: str) -> None:
    """Warn the caller of the package.

    Parameters
    ----------
    message : str
        What was seen, what it may mean, and what to do; a full stop ends it if it has none.

    Warns
    -----
    UserWarning
        With the file and the line of the first frame outside the package.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message.removesuffix(".") + ".", UserWarning, stacklevel=level)


def _is_inside(name: object) -> bool:
    """Whether a module of this name is a part of the package."""
    return isinstance(name, str) and name.partition(".")[0] == __package__
