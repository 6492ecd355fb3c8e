"""The house as its source tree shows it: files, rooms, who imports whom.

    python tests/house.py

prints its figures: names in the hall, files, lines, and imports that the rules forbid.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Set
from functools import cache
from pathlib import Path

import mialeak

__all__ = [
    "FOLDERS",
    "HEIGHT",
    "PACKAGE",
    "ROOT",
    "UPWARD",
    "arrows",
    "claims_of",
    "file_graph",
    "imported_names",
    "imported_rooms",
    "imported_strings",
    "kernel_files",
    "module_of",
    "modules",
    "private_imports",
    "programs",
    "room_of",
    "tree_of",
    "without_c_comments",
]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mialeak"

FOLDERS = ["mialeak", "src_c", "tests", "benchmarks", ".ci"]
PROGRAMS = {".py", ".pyx", ".pxd", ".pxi", ".c", ".h", ""}
#: Rooms from the top of the house to its cellar.  A room may import its own row and those below.
ROWS = [
    {"__main__"},
    {"cli"},
    {"releases", "certificates"},
    {"training", "estimators"},
    {"scores", "games", "means", "tables", "exact", "mechanisms", "laws", "plotting"},
    {"covariance", "discrete", "auditing", "guarantees"},
    {"populations", "special", "tradeoff", "_config"},
    {"_checks"},
    {"_numerics", "_report"},
    {"_files"},
    {"_blocks", "_cells", "_labels", "_results"},
    {"_arrays", "_columns", "_fields", "_version", "_warnings", "datasets"},
    {"_kernels"},
]
HEIGHT = {room: -row for row, rooms in enumerate(ROWS) for room in rooms}
IN_PACKAGE = re.compile(r"mialeak(\.|$)")
#: The one import that runs upward: a result looks its picture up when it is drawn.
UPWARD = {"mialeak._report.report": {"mialeak.plotting"}}


def programs(*folders: str) -> list[Path]:
    """The programs below the named folders but the rules' own, which spell the forbidden out."""
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in PROGRAMS and path.name != "test_house.py"
    )


def modules() -> list[Path]:
    return [path for path in programs("mialeak") if path.suffix == ".py"]


@cache
def tree_of(path: Path) -> ast.Module:
    """A module as a tree, which nobody changes."""
    return ast.parse(path.read_text())


def without_c_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class TypesOnly(ast.NodeTransformer):
    """Removes what is imported under ``if TYPE_CHECKING:``."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


@cache
def names_imported_by(path: Path) -> frozenset[str]:
    """What the module of this path imports."""
    return frozenset(imported_names(tree_of(path)))


def imported_names(tree: ast.AST) -> set[str]:
    """What a module imports, at its top or inside a function, by its full name."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names | {name for name in imported_strings(tree) if name}


def imported_strings(tree: ast.AST) -> set[str]:
    """What ``import_module`` and ``__import__`` are called with; "" for all but a full name."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", None))
        if called in {"import_module", "__import__"}:
            name = node.args[0].value if [*map(type, node.args)] == [ast.Constant] else ""
            found.add("" if name.startswith(".") else name)
    return found


def imported_rooms(names: Set[str]) -> set[str]:
    """The rooms of imported names; of the package itself its own name, which has no row."""
    rooms = {re.sub(r"^mialeak\.(\w+).*", r"\1", name) for name in names if IN_PACKAGE.match(name)}
    return {"_version" if room == "__version__" else room for room in rooms}


def arrows() -> dict[str, set[str]]:
    """Room -> the other rooms it imports.  The package itself, which imports all, is no room."""
    found: dict[str, set[str]] = {}
    for path in modules():
        if path == PACKAGE / "__init__.py":
            continue
        room = room_of(path)
        names = names_imported_by(path) - UPWARD.get(module_of(path), set())
        found.setdefault(room, set()).update(imported_rooms(names) - {room})
    return found


def private_imports() -> list[str]:
    """Imports of a file of another room whose name starts with an underscore."""
    return [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in modules()
        for name in sorted(names_imported_by(path))
        if re.match(r"mialeak\.[a-z]\w*\._", name) and name.split(".")[1] != room_of(path)
    ]


def file_graph() -> dict[str, set[str]]:
    """Module to the modules that it imports; what type checkers alone see draws no arrow."""
    files = {module_of(path): path for path in modules() if path != PACKAGE / "__init__.py"}
    graph = {}
    for name, path in files.items():
        named = names_imported_by(path)
        if "TYPE_CHECKING" in (text := path.read_text()):
            named = imported_names(TypesOnly().visit(ast.parse(text)))
        named -= UPWARD.get(name, set())
        others = {each if each in files else each.rpartition(".")[0] for each in named}
        graph[name] = others & set(files) - {name}
    return graph


def kernel_files(family: str) -> list[str]:
    """The files that name a family of elementwise kernels and were written by hand.

    Looked through is what a kernel is made of and held by: C, Cython, `special`, the twins, the
    tables of tests and the tests that run over all of them, fuzzers, benchmarks, and the tables of
    the documentation.  Not what calls its functions, and no prose.
    """
    generated = {ROOT / "mialeak" / "_kernels" / "table.pxd"}
    tests = {f"test_{name}.py" for name in ("bits", "kernel_table", "reference", "truth")}
    looked = [
        path
        for path in [*programs("src_c", "tests", ".ci"), ROOT / "benchmarks" / "cases.py"]
        if path.parent.name != "tests"
        or not path.name.startswith("test_")
        or path.name in tests
        or path.name.startswith("test_special")
    ]
    looked += [PACKAGE / "special.py", *programs("mialeak/_kernels", "mialeak/reference")]
    looked += [ROOT / "setup.py", ROOT / "docs" / "names.toml", ROOT / "docs" / "exactness.md"]
    return [
        path.relative_to(ROOT).as_posix()
        for path in sorted(set(looked) - generated - {Path(__file__)})
        if family in path.read_text(encoding="utf-8")
    ]


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


def _circles() -> int:
    """1 if files import each other in a circle."""
    try:
        graphlib.TopologicalSorter(file_graph()).prepare()
    except graphlib.CycleError:
        return 1
    return 0


def _figures() -> dict[str, int]:
    lines = {path: len(path.read_text().splitlines()) for path in modules()}
    return {
        "names in the hall": len(mialeak._HOME),
        "rooms": len(mialeak._ROOMS),
        "Python files": len(lines),
        "lines of Python": sum(lines.values()),
        "lines of cli/": sum(count for path, count in lines.items() if room_of(path) == "cli"),
        "longest file": max(lines.values()),
        "files below 40 lines": sum(
            count < 40 and path.name != "__init__.py" for path, count in lines.items()
        ),
        "imports of another room's private file": len(private_imports()),
        "circles": _circles(),
        "files that make the hypergeom_* kernels": len(kernel_files("hypergeom")),
    }


if __name__ == "__main__":
    for title, value in _figures().items():
        print(f"{value:8,}  {title}")
