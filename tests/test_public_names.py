"""What holds for every public name: documented as it is, with an example, and tested as told."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib

import numpy as np
import pytest
from house import ROOT, claims_of
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
ROWS = tomllib.loads((ROOT / "docs" / "names.toml").read_text(encoding="utf-8"))
#: A row "room.*" is that of each function of a room that has no row.
TOLD = {name: cells for name, cells in ROWS.items() if not name.endswith("*")} | {
    f"{room}.{name}": ROWS[f"{room}.*"]
    | {"benchmark": ROWS[f"{room}.*"]["benchmark"].format(name=name)}
    for room, name in NAMES
    if f"{room}.*" in ROWS and f"{room}.{name}" not in ROWS
}
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


# --- one word for one quantity --------------------------------------------------------------------

#: Words that have meant a leakage, or one minus it, or the weight of the game.
OTHER_WORDS = {"advantage", "balance", "insecurity", "membership_advantage", "risk", "security"}
#: What takes an epsilon of differential privacy.
PRIVATE = {
    "auditing.AuditPower",
    "auditing.audit_power",
    "auditing.one_run_p_value",
    "guarantees.dp_leakage_bound",
    "mechanisms.Geometric",
    "tradeoff.ComposedTradeOff.enclosure",
    "tradeoff.PiecewiseTradeOff.from_epsilon",
    "tradeoff.TradeOff.delta",
}
GAMMA = (
    "Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and "
    "``lambda`` the weight of a true positive."
)


def description(item, parameter: str) -> str:
    """What a docstring says of a parameter, on one line."""
    text = sections(item.__doc__).get("Parameters", "")
    for head, body in re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)*)", text, re.MULTILINE):
        if parameter in documented(head):
            return " ".join(body.split())
    return ""


def signatures():
    """Dotted name and parameters of every public function, class and method."""
    for room, name in NAMES:
        item = item_of(room, name)
        if isinstance(item, np.ufunc) or (inspect.isclass(item) and issubclass(item, Exception)):
            continue
        yield f"{room}.{name}", item, inspect.signature(item).parameters
        if inspect.isclass(item):
            for method in vars(item):
                bound = getattr(item, method, None)
                public = not method.startswith("_")
                if public and (inspect.isfunction(bound) or inspect.ismethod(bound)):
                    yield f"{room}.{name}.{method}", bound, inspect.signature(bound).parameters


def test_a_leakage_is_called_leakage_in_every_signature():
    """Not advantage, epsilon or target: that is the person or row in question."""
    found = [
        f"{where}({name})"
        for where, _, given in signatures()
        for name, parameter in given.items()
        if name in OTHER_WORDS
        or (name == "epsilon" and where not in PRIVATE)
        or (name == "target" and "float" in str(parameter.annotation))
    ]
    assert not found
    assert {where for where, _, given in signatures() if "epsilon" in given} == PRIVATE


def test_gamma_is_described_in_one_sentence():
    """Or as that of another function, which a line for several parameters may say."""
    described = {
        where: description(item, "gamma")
        for where, item, given in signatures()
        if "gamma" in given and where not in RETURNED
    }
    other = {name: text for name, text in described.items() if not text.startswith(GAMMA)}
    assert all(text.startswith("As for :func:") for text in other.values()), other
    assert len(described) - len(other) >= 10


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
