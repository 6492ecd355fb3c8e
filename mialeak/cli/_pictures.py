"""Pictures of the subcommands: a figure without a screen, written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["add_option", "panels", "save"]

#: Inches of a panel, and dots an inch.
_PANEL = (5.6, 4.8)
_DOTS = 150


def add_option(add: Any) -> None:
    """Describe ``--plot``."""
    add("--plot", metavar="FILE", help="draw a picture: .png, .svg, .pdf")


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """A figure with `count` axes beside each other.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('a picture takes matplotlib: pip install "mialeak[plot]"') from error
    figure = Figure(figsize=(count * _PANEL[0], _PANEL[1]), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def save(figure: Figure, path: str) -> None:
    """Write the figure; its suffix says how."""
    figure.savefig(path, dpi=_DOTS)
