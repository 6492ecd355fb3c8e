"""``--html``: the answer of a subcommand as a page."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mialeak._document import Document

__all__ = ["add_option", "write"]

#: What is not a setting of the answer: where from, where to, and how it is shown.
_NOT_SETTINGS = {"argv", "run", "html", "plot", "json"}


def add_option(add: Any) -> None:
    """Describe ``--html``."""
    add("--html", metavar="FILE", help="write a report as a page that needs no network")


def write(
    options: argparse.Namespace,
    document: Document,
    figure: Figure,
    *,
    title: str,
    alt: str,
    inputs: list[str | Path],
    verdict: str = "",
    within: bool = True,
    source: str = "",
) -> None:
    """Write the page to the file that ``--html`` names."""
    from mialeak import report

    settings = {name: value for name, value in vars(options).items() if name not in _NOT_SETTINGS}
    origin = report.Origin(
        command=shlex.join(["mialeak", *options.argv]),
        inputs={Path(path).name: report.fingerprint(path) for path in inputs},
        settings=settings,
    )
    page = report.render_page(
        document,
        origin,
        title=title,
        verdict=verdict,
        within=within,
        pictures=[report.picture_of(figure, alt)],
        source=source,
    )
    Path(options.html).write_text(page, encoding="utf-8")
