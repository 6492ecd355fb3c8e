"""Axes: new ones, and what these displays have drawn on those that are given again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from mialeak._arrays import as_choice, invalid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "CURVE",
    "REFERENCE",
    "THIN",
    "Scale",
    "add_legend",
    "check_scale",
    "drawn",
    "figure_of",
    "new_axes",
    "style",
]

Scale = Literal["log", "linear"]

#: What the lines of these displays are marked with (matplotlib's gid).
CURVE, REFERENCE = "mialeak-curve", "mialeak-reference"

#: Colours distinct for the colour-blind (Okabe and Ito, without those too light for a line), each
#: with a dash of its own for those who see no colour.
_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#000000", "linestyle": ":"},
    {"color": "#CC79A7", "linestyle": (0, (8, 2, 1, 2, 1, 2))},
    {"color": "#56B4E9", "linestyle": (0, (12, 3))},
)

#: What a curve is compared with.
THIN: dict[str, Any] = {"color": "0.45", "linewidth": 0.8}


def check_scale(scale: str) -> None:
    """Raise unless `scale` is a :data:`Scale`."""
    as_choice(scale, "scale", get_args(Scale))


def new_axes() -> Axes:
    """Axes of a new pyplot figure: what whoever gives no axes wants to see."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('a picture takes matplotlib: pip install "mialeak[plot]"') from error
    return plt.subplots(layout="constrained")[1]


def figure_of(ax: Axes) -> Figure:
    """The figure that holds the axes."""
    figure: Any = ax.figure  # may be a part of one
    if figure is None:
        invalid("ax", "belong to a figure")
    return figure.figure  # type: ignore[no-any-return]


def drawn(ax: Axes, mark: str) -> list[Any]:
    """The artists on the axes with this mark."""
    return [artist for artist in ax.get_children() if artist.get_gid() == mark]


def style(ax: Axes) -> dict[str, Any]:
    """Colour and dash of the next curve on these axes."""
    return dict(_STYLES[len(drawn(ax, CURVE)) % len(_STYLES)])


def add_legend(ax: Axes, place: Literal["best", "lower right"]) -> None:
    """A legend; a long name in it does not squeeze the axes."""
    ax.legend(loc=place).set_in_layout(False)
