"""What holds for every public name: documented as it is, with an example, and tested as told."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib

import numpy as np
import pytest
from claims import ROOT, claims_of
from truth import CASES

import mialeak

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)

#: Room to its names, as docs/names.toml calls it.
ROOMS = {
    room: sorted(importlib.import_module(f"mialeak.{room}").__all__)
    for room in [*mialeak._ROOMS, "training.torch"]
}
ROOMS["configuration"] = ["show_config"]
NAMES = [(room, name) for room, names in ROOMS.items() for name in names]


def item_of(room: str, name: str):
    """What the name stands for."""
    if room == "configuration":
        return getattr(mialeak, name)
    return getattr(importlib.import_module(f"mialeak.{room}"), name)


def sections(doc: str) -> dict[str, str]:
    """Title to text of the sections of a numpydoc docstring; the summary under ""."""
    parts = SECTION.split(inspect.cleandoc(doc))
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented(text: str) -> list[str]:
    """The names that a section describes."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: *:.*)?$", text, re.MULTILINE)
    return [name.strip(" *") for head in heads for name in head.split(",")]


def parameters(item) -> list[str]:
    """The names that a call may give."""
    if isinstance(item, np.ufunc) or (inspect.isclass(item) and issubclass(item, Exception)):
        return []
    return [name for name in inspect.signature(item).parameters if not name.startswith("_")]


#: What functions return: described and exampled, tested with the functions that return it.
RETURNED = {
    f"{room}.{name}"
    for room, name in NAMES
    if inspect.isclass(item_of(room, name))
    and "Parameters" not in sections(item_of(room, name).__doc__)
}
TOLD = tomllib.loads((ROOT / "docs" / "names.toml").read_text(encoding="utf-8"))
WORDS_OF_TESTS = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("tests/test_*.py"))
)
CELLS = [(name, key) for name, cells in TOLD.items() for key in cells]


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_parameter_is_documented_in_its_order(room, name):
    """What a function returns may document its fields as attributes."""
    item = item_of(room, name)
    found = sections(item.__doc__)
    assert found[""].strip()
    if inspect.isabstract(item):
        return
    told = documented(found.get("Parameters", ""))
    wanted = parameters(item)
    if f"{room}.{name}" in RETURNED:
        bases = [sections(base.__doc__ or "").get("Attributes", "") for base in item.__mro__[::-1]]
        told = [attribute for text in bases for attribute in documented(text)]
    assert told[: len(wanted)] == wanted


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_public_name_has_an_example(room, name):
    assert ">>>" in item_of(room, name).__doc__


# --- docs/names.toml ------------------------------------------------------------------------------


def words_of_benchmarks() -> list[str]:
    """Every text in the programs of the benchmarks, formatted ones up to their first value."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("benchmarks/*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    words = [node.value for node in nodes if isinstance(node.value, str)]
    return words + [f"`{case.name}`" for case in CASES]  # a row each, with the name of the case


def test_every_public_name_is_told_of_and_no_other():
    assert set(TOLD) - RETURNED == {f"{room}.{name}" for room, name in NAMES} - RETURNED
    assert all(list(cells) == ["truth", "refuses", "benchmark"] for cells in TOLD.values())


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_public_name_stands_in_a_test(room, name):
    """By its own name, or as what a function returns, which some test reads."""
    assert f"{room}.{name}" in RETURNED or re.search(rf"\b{name}\b", WORDS_OF_TESTS)


@pytest.mark.parametrize(("name", "key"), CELLS)
def test_a_cell_names_what_is_there_or_says_why_nothing_is(name, key):
    cell = TOLD[name][key]
    for part in [cell] if isinstance(cell, str) else cell:
        file, _, test = part.partition("::")
        if test:
            assert key != "benchmark"
            assert test in claims_of(file), part
        elif part.startswith("`"):
            assert key == "benchmark"
            assert any(text.startswith(part) for text in words_of_benchmarks()), part
        else:
            assert key != "truth"
            assert part.startswith("none"), part
