"""How the documentation is built: ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.docscrape import NumpyDocString
from sphinx.addnodes import pending_xref

import mialeak

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
    # Pictures of two panels are read at this width; custom.css shows two of them beside each other.
    "thumbnail_size": (720, 420),
    "min_reported_time": 30,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "mialeak"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_math_renderer = "mathml"
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without others below them have no list to show.
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")} | {"names": []}

NAMES = Path(__file__).parent / "names.toml"
NAMES_HEAD = """\
Tests of each name
==================

Every public name: the number of documented parameters and of lines of examples that run; the tests
that compare it with an independently computed truth; the tests with bad input; and its row in the
table of benchmarks, if it has one.  A test is named by its claim and its file.
"""
#: The cells of a class that only functions return: its tests are those of the functions.
RETURNED = {"truth": "with the functions that return it", "refuses": "", "benchmark": ""}


def rooms() -> Iterator[tuple[str, Any, list[str]]]:
    """Title, module and names of every room."""
    for room in [*sorted(mialeak._ROOMS), "training.torch"]:
        module = importlib.import_module(f"mialeak.{room}")
        yield room, module, sorted(module.__all__, key=str.lower)
    yield "configuration", importlib.import_module("mialeak._config"), ["show_config"]


def interface() -> str:
    """The page that lists every public name: the hall, then room by room."""
    lines = [
        "API",
        "===",
        "",
        "At the top level of ``mialeak`` stand the functions that answer most",
    ]
    lines += ["questions:", ""]
    lines += ["   " + ", ".join(f":obj:`~{where}`" for where in hall()), ""]
    lines += [
        "Everything else is reached through its room, as ``mialeak.special.binom_mad`` is.",
        "",
    ]
    for title, module, names in rooms():
        lines += [title, "-" * len(title), "", module.__doc__.splitlines()[0], ""]
        lines += [f".. currentmodule:: {home(module)}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [*(f"   {name}" for name in names), ""]
    return "\n".join(lines)


def hall() -> list[str]:
    """The full names of what stands at the top level."""
    homes = {
        name: home(importlib.import_module(f"mialeak.{room}"))
        for name, room in mialeak._HOME.items()
    }
    return [f"{homes[name]}.{name}" for name in sorted(homes, key=str.lower)]


def home(module: Any) -> str:
    """The module that the documentation names; that of the configuration is the package."""
    return "mialeak" if module.__name__ == "mialeak._config" else module.__name__


def names_page() -> str:
    """The page of every public name and its tests."""
    tests, table = tomllib.loads(NAMES.read_text(encoding="utf-8")), []
    for title, module, names in rooms():
        table += [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1"]
        table += ["   :widths: 20 12 30 24 14", "   :class: names", ""]
        table += row("name", "documented, exampled", "compared with", "bad input", "benchmark")
        for name in names:
            cells = tests.get(f"{title}.{name}", tests.get(f"{title}.*", RETURNED))
            link = f":obj:`~{home(module)}.{name}`"
            parts = [cells["truth"], cells["refuses"], cells["benchmark"].format(name=name)]
            table += row(link, documented(getattr(module, name)), *map(claims, parts))
        table.append("")
    return "\n".join([NAMES_HEAD, *table])


def row(*cells: str) -> list[str]:
    """The lines of a row of a list-table."""
    return ["   * - " + cells[0], *("     - " + cell for cell in cells[1:])]


def documented(item: Any) -> str:
    """How many parameters are described, and how many lines of examples run."""
    text = inspect.getdoc(item) or ""
    sections = NumpyDocString(text)
    told = len(sections["Parameters"] or sections["Attributes"])
    run = len(doctest.DocTestParser().get_examples(text))
    return f"{told} parameter{'s' * (told != 1)}, {run} lines"


def claims(cell: str | list[str]) -> str:
    """A cell of docs/names.toml in words: what the tests claim, and where they are."""
    if isinstance(cell, list):
        return "; ".join(map(claims, cell))
    file, _, test = cell.partition(".py::test_")
    if not test:
        return cell.replace("`", "``").replace("````", "``")
    return f"{test.split('::test_')[-1].replace('_', ' ')} (*{file}*)"


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


def close_examples(app: Any, page: str, source: list[str]) -> None:
    """Leave out the empty line that ends the last example of a block for doctest."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def link_names(app: Any, doctree: nodes.document) -> None:
    """Make a public name that is written as code a link to its documentation."""
    homes = {name: f"{home(module)}.{name}" for _, module, names in rooms() for name in names}
    for node in list(doctree.findall(nodes.literal)):
        target = homes.get(node.astext().removesuffix("()"))
        if target and not isinstance(node.parent, nodes.reference | nodes.title | pending_xref):
            link = pending_xref(
                refdomain="py", reftype="obj", reftarget=target, refdoc=app.env.docname
            )
            node.replace_self(link)
            link += node


def visit_math(writer: Any, node: nodes.Element) -> None:
    """A formula as MathML, which needs neither a script nor the network."""
    block = isinstance(node, nodes.math_block)
    code = node.astext()
    if r"\\" in code and r"\begin" not in code:
        code = rf"\begin{{aligned}}{code}\end{{aligned}}"
    writer.body.append(tex2mathml(code, as_block=block))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Write the pages of names; ask for signatures before numpydoc does."""
    for name, text in {"api.rst": interface(), "names.rst": names_page()}.items():
        page = Path(__file__).parent / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("source-read", close_examples)
    app.connect("doctree-read", link_names)
    app.connect("autodoc-process-signature", ufunc_signature, priority=100)
