"""The picture of a report: its panels on one figure.  Importing this takes matplotlib."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from mialeak._report.report import Panel

__all__ = ["Picture", "ReportFigure", "figure_of", "pictures_of"]

#: Inches of a panel: small, so that its words can be read in half of a page and on a phone.
_WIDTH, _HEIGHT = 4.8, 4.1

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
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # nothing moves as the others are hidden
    pictures = []
    for panel, ax in zip(panels, figure.axes, strict=True):
        for other in figure.axes:
            other.set_visible(other is ax)
        stream = io.BytesIO()
        with rc_context({"svg.hashsalt": "mialeak"}):
            figure.savefig(stream, format="svg", metadata={"Date": None}, bbox_inches="tight")
        pictures.append(Picture(stream.getvalue(), panel.alt))
    return pictures
