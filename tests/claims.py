"""What the tests claim: their names, for pages that tell which test holds what."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "claims_of"]

ROOT = Path(__file__).parents[1]


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
