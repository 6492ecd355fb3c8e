"""The base of reports: one document, which is text, a page, or what a notebook shows.

A report writes its :class:`~mialeak._report.document.Document` and lists its panels; all other
forms follow from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from mialeak._report.document import ASSUMED, Document, Notes, Pairs, Section, Table, as_text
from mialeak._report.text import at_most
from mialeak._results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "Report", "bound_panel", "display", "drawing", "entitle"]


class Panel(NamedTuple):
    """A part of a picture: what it shows in words, and a function that draws it."""

    alt: str
    draw: Callable[[Axes], None]


def display(name: str) -> Any:
    """The class of :mod:`mialeak.plotting` that draws a result of a room below it.

    Trade-off curves and audits stand below the pictures of them, which know their classes; so
    this looks the class up when something is drawn.
    """
    return getattr(import_module("mialeak.plotting"), name)


def entitle(ax: Axes, finding: str) -> None:
    """Write what a panel shows above it."""
    ax.set_title(finding, fontsize="medium", wrap=True)


def bound_panel(bars: dict[str, float | None]) -> Panel:
    """Epsilons side by side: what is proved, what could be, what is claimed."""
    shown = {name: value for name, value in bars.items() if value is not None}

    def draw(ax: Axes) -> None:
        names = list(shown)
        patches = ax.barh(names[::-1], [shown[name] for name in names[::-1]], color="#0072B2")
        ax.bar_label(patches, [at_most(shown[name]) for name in names[::-1]], padding=3)
        ax.margins(x=0.15)
        ax.set_xlim(left=0.0)
        ax.set_xlabel("Epsilon")

    listed = ", ".join(f"{name} {at_most(value)}" for name, value in shown.items())
    return Panel(f"Epsilon: {listed}.", draw)


def drawing() -> ModuleType:
    """The module of figures; ImportError, with the cure, if matplotlib is not installed."""
    try:
        return import_module("mialeak._report.figure")
    except ImportError as error:
        raise ImportError('a picture takes matplotlib: pip install "mialeak[plot]"') from error


class Report(Result, ABC):
    """A result that people read.

    ``print`` shows it as text, a notebook as a short page; :meth:`plot` draws it, :meth:`to_html`
    writes one page that needs no network, :meth:`to_frame` returns its main table.
    """

    #: Head of the page.
    _title: str

    @abstractmethod
    def document(self) -> Document:
        """The content of the report, without a layout."""

    @abstractmethod
    def panels(self) -> Sequence[Panel]:
        """What :meth:`plot` draws."""

    @abstractmethod
    def _table(self) -> dict[str, Any]:
        """The columns of :meth:`to_frame`."""

    def text(self, **options: Any) -> str:
        """The report as text, as ``print(report)`` shows it.

        Parameters
        ----------
        **options
            Those of `document`.
        """
        return as_text(self.document(**options))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return fragment(self.document())

    def plot(self, **options: Any) -> Figure:
        """The picture of the report.

        Parameters
        ----------
        **options
            Those of `panels`.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it, ``savefig`` writes it; it does not use pyplot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        figure: Figure = drawing().figure_of(self.panels(**options))
        return figure

    def to_html(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the report with its picture as one page that needs no network.

        Parameters
        ----------
        path : str or path
            A file; one that exists is replaced.
        **options
            Those of `document`.

        Raises
        ------
        ImportError
            If Jinja2 or matplotlib is not installed.
        """
        from mialeak._files.states import write_whole
        from mialeak._report.page import WORLDS, render_page

        document = self.document(**options)
        page = render_page(
            document,
            title=self._title,
            pictures=drawing().pictures_of(self.panels()),
            compared=document.compared or WORLDS,
        )
        write_whole(path, lambda file: file.write(page.encode()))

    def to_frame(self) -> Any:
        """The main table of the report.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("a frame takes pandas: pip install pandas") from error
        return pandas.DataFrame(self._table())


def fragment(document: Document) -> str:
    """The answer and its cautions as HTML, with the sections folded below."""
    cautions = "".join(f"<p><strong>Caution:</strong> {escape(c)}</p>" for c in document.cautions)
    answer = f"<p><strong>{escape(document.answer)}</strong></p>"
    if document.assumed:
        answer += f"<p>{ASSUMED}</p>{_part(Notes(document.assumed))}"
    sections = "".join(_folded(section) for section in document.sections)
    return f"<div>{cautions}{answer}{sections}</div>"


def _folded(section: Section) -> str:
    parts = "".join(map(_part, section.parts))
    return f"<details><summary>{escape(section.title)}</summary>{parts}</details>"


def _part(part: Pairs | Table | Notes) -> str:
    if isinstance(part, Notes):
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part.lines)}</ul>"
    if isinstance(part, Pairs):
        rows, head = [_row("td", pair) for pair in part.rows], ""
    else:
        rows, head = [_row("td", row) for row in part.rows], _row("th", part.header)
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
