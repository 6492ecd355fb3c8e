"""What the documentation says of the tests: those that its pages name are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("docs/guide/*.md")])
NODE = re.compile(r"\btests/(test_\w+\.py)(?:::(\w+(?:::\w+)?))?")


@cache
def claims_of(file: str) -> set[str]:
    """The tests in a file of this folder, as pytest names them there."""
    found = set()
    for node in ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef)
            }
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return {name for name in found if name.split("::")[-1].startswith("test_")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_is_there(page):
    for file, test in NODE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / "tests" / file).exists(), file
        assert not test or test in claims_of(file), test


def test_every_erratum_has_a_counter_example_that_runs():
    """A code block that is run as a doctest, or a test."""
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    entries = re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]
    for entry in entries:
        title, *body = entry.splitlines()
        rows = [line for line in body if re.match(r"\| AG?[BP]", line)]
        if any(body) and not rows:
            assert ">>>" in entry or NODE.search(entry), title
        for row in rows:
            assert NODE.search(row), row
