"""The picture of a report: its panels on one figure.  Importing this takes matplotlib."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context, rcParams
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from mialeak._report.report import Panel

__all__ = ["Picture", "ReportFigure", "figure_of", "pictures_of"]

#: Inches of a panel: small, so that its words can be read in half of a page and on a phone.
_WIDTH, _HEIGHT = 4.8, 4.1

#: Those of every SVG file, for matplotlib.
_SVG_DOTS = 72

#: Dots an inch where a notebook shows a figure.
_DOTS = 100


class ReportFigure(Figure):
    """A figure that no window shows and a notebook does, whether pyplot was imported or not."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=_DOTS)
        return stream.getvalue()


@dataclass(frozen=True)
class Picture:
    """A panel as SVG, and what it shows in words."""

    svg: bytes
    alt: str

    @property
    def source(self) -> str:
        """The figure as an address that holds it."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode("ascii")


def figure_of(panels: Sequence[Panel]) -> ReportFigure:
    """The panels beside each other."""
    size = (len(panels) * _WIDTH, _HEIGHT)
    figure = ReportFigure(figsize=size, layout="constrained")
    for panel, ax in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
        panel.draw(ax)
    return figure


def pictures_of(panels: Sequence[Panel]) -> list[Picture]:
    """The panels one by one, so that a page can set them below each other."""
    if not panels:
        return []
    figure = figure_of(panels)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    settings: Any = {"figure.autolayout": False, "figure.constrained_layout.use": False}
    with rc_context({"svg.hashsalt": "mialeak", **settings}):
        figure.set_layout_engine(None)  # nothing moves as the others are hidden
        figure.set_dpi(_SVG_DOTS)
        size = _SVG_DOTS * figure.get_size_inches()
        sizes: Any = RendererSVG(*size, io.StringIO())  # type: ignore[no-untyped-call,call-arg]
        return [_picture(figure, place, panel.alt, sizes) for place, panel in enumerate(panels)]


def _picture(figure: Figure, number: int, alt: str, sizes: Any) -> Picture:
    """One panel.  Cut out here: ``bbox_inches="tight"`` would draw it twice."""
    for place, ax in enumerate(figure.axes):
        ax.set_visible(place == number)
    box = figure.get_tightbbox(sizes).padded(rcParams["savefig.pad_inches"])
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None}, bbox_inches=box)
    return Picture(stream.getvalue(), alt)
