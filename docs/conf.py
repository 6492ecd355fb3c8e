"""How the documentation is built: ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpydoc.docscrape import NumpyDocString

import mialeak
import mialeak.torch

mpl.use("agg")

project = "mialeak"
author = "The mialeak developers"
project_copyright = author
release = version = mialeak.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    # A script that makes stored results or is imported by others begins with another word.
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 30,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "mialeak"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 4,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def interface() -> str:
    """The page that lists every public name, room by room, in the package's own words."""
    lines = ["API", "===", "", "Every name can be imported from ``mialeak`` itself, but for the"]
    lines += ["functions ``audit.audit`` and ``security.security``, named like their rooms, and"]
    lines += ["for those of ``mialeak.torch``, which has to be imported by name.", ""]
    for room, names in {**mialeak._ROOMS, "torch": mialeak.torch.__all__}.items():
        module = importlib.import_module(f"mialeak.{room}")
        public = [*names, room] if hasattr(module, room) else names
        title = "configuration" if room == "_config" else room
        lines += [title, "-" * len(title), "", module.__doc__.splitlines()[0], ""]
        lines += [f".. currentmodule:: mialeak{'' if room == '_config' else f'.{room}'}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [*(f"   {name}" for name in sorted(public, key=str.lower)), ""]
    return "\n".join(lines)


def ufunc_signature(
    app: Any, what: str, name: str, item: Any, options: Any, signature: str, returns: str
) -> tuple[str | None, str | None] | None:
    """The named inputs of a ufunc, where NumPy's own signature has x1, x2, ..."""
    if not isinstance(item, np.ufunc):
        return None
    if what != "function":  # the table of names: without a signature, and numpydoc not asked
        return None, None
    names = [parameter.name for parameter in NumpyDocString(item.__doc__)["Parameters"]]
    return f"({', '.join(names[: item.nin])}, /, out=None, *, where=True, **kwargs)", ""


def setup(app: Any) -> None:
    """Write the interface page; ask for signatures before numpydoc does."""
    page, text = Path(__file__).parent / "api.rst", interface()
    if not page.exists() or page.read_text() != text:
        page.write_text(text)
    app.connect("autodoc-process-signature", ufunc_signature, priority=100)
