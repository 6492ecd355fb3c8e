"""The report as a page: one HTML file that needs no network, for the screen and for paper.

A page is set from the same document as the text of the shell (:mod:`mialeak._report.document`),
with its pictures, what was compared, and all it takes to make it again: the command, the versions,
and the SHA-256 of the input and of the settings.  The same input and versions give the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak._report.document import ASSUMED, Document, Notes, Pairs, Table

if TYPE_CHECKING:
    from mialeak._report.figure import Picture

__all__ = ["WORLDS", "Origin", "fingerprint", "render_page"]

#: What every number compares.
WORLDS = (
    "Out: all rows are drawn afresh from the population. In: one of them is the person asked "
    "about. Both worlds have the same number of rows.",
    "Leakage is the best attacker's advantage: the share of members recognised less the share of "
    "others taken for members. 0 is a coin, 1 is certainty.",
    "The attacker knows the population, the person and the release, not the other rows.",
)

_CHUNK = 2**20


@dataclass(frozen=True)
class Origin:
    """What a report was made from.

    Parameters
    ----------
    command : str
        The line that makes it again.
    inputs : mapping of str to str
        SHA-256 of each file, by its name.
    settings : mapping of str to object
        Every option, ready for JSON.
    """

    command: str
    inputs: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def settings_hash(self) -> str:
        """SHA-256 of the settings as sorted JSON."""
        text = json.dumps(dict(self.settings), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(path: str | Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def render_page(
    document: Document | None,
    origin: Origin | None = None,
    *,
    title: str,
    verdict: str = "",
    within: bool = True,
    pictures: Sequence[Picture] = (),
    source: str = "",
    compared: Sequence[str] = WORLDS,
    template: str = "page.html",
    **more: Any,
) -> str:
    """The page as HTML.

    Parameters
    ----------
    document : Document or None
        None for a page that has no answer yet.
    origin : Origin, optional
        What the report was made from, if the shell made it.
    title : str
        What was asked, for the head of the page.
    verdict : str
        What a gate said, if there was one.
    within : bool
        Whether the verdict is good.
    pictures : sequence of Picture
    source : str
        Whom to thank for the data.
    compared : sequence of str
        What the numbers compare, a sentence or two each.
    template : str
        A file beside this one: the page itself, or one that extends it.
    **more
        What such a template takes.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError('a page takes Jinja2: pip install "mialeak[report]"') from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.tests |= {
        "pairs": lambda part: isinstance(part, Pairs),
        "table": lambda part: isinstance(part, Table),
        "notes": lambda part: isinstance(part, Notes),
    }
    return environment.get_template(template).render(
        document=document,
        origin=origin,
        title=title,
        verdict=verdict,
        within=within,
        pictures=pictures,
        source=source,
        compared=compared,
        assumed=ASSUMED,
        versions=_versions(),
        **more,
    )


def _versions() -> dict[str, str]:
    from mialeak._version import __version__

    others = {name: importlib.metadata.version(name) for name in ("numpy", "scipy")}
    return {"mialeak": __version__, "python": platform.python_version(), **others}
