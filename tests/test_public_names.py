"""What holds for every public name: documented as it is, with an example."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import mialeak

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
NAMES = sorted(set(mialeak._HOME) - {"show_config"})


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
    if isinstance(item, np.ufunc):
        return []
    return [name for name in inspect.signature(item).parameters if not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented_in_its_order(name):
    """What a function returns may document its fields as attributes."""
    item = getattr(mialeak, name)
    found = sections(item.__doc__)
    assert found[""].strip()
    if inspect.isabstract(item):
        return
    told = documented(found.get("Parameters", "")) or documented(found.get("Attributes", ""))
    wanted = parameters(item)
    assert told[: len(wanted)] == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(mialeak, name).__doc__
