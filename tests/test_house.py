"""The rules of the house that a machine can hold.  They read the source tree around this file."""

from __future__ import annotations

import ast
import graphlib
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mialeak

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mialeak"
LONGEST_FILE = 450  # lines
LONGEST_FUNCTION = 60  # lines, docstring and signature not counted

#: Rooms from the top of the house to its cellar.  A room may import its own row and those below.
ROWS = [
    {"__main__"},
    {"cli", "torch"},
    {"whitebox", "estimators", "exact", "games", "report"},
    {"scores", "mean", "tables", "mechanisms", "marginals", "plotting"},
    {"covariance", "discrete", "audit", "security"},
    {"special", "tradeoff", "_inversion", "_noncentral", "_config"},
    {"_blocks", "_document", "_results", "_io", "_optimizers"},
    {"_arrays", "_columns", "_text", "_version", "datasets"},
    {"_kernels"},
]
HEIGHT = {room: -row for row, rooms in enumerate(ROWS) for room in rooms}

LIBM = r"(exp2?|expm1|log|log2|log10|log1p|pow|cbrt|a?(sin|cos|tan)h?|atan2|erfc?|[lt]gamma)[fl]?"
FOLDERS = ["mialeak", "src_c", "tests", "benchmarks", ".ci"]
PROGRAMS = {".py", ".pyx", ".pxd", ".pxi", ".c", ".h", ""}
#: What is forbidden, where, and why.
FORBIDDEN = {
    r"ffast-math|march=native": ("", "the same bits everywhere"),
    r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError": ("", "finish it, or leave it out"),
    r"except:|except (Base)?Exception\b": ("", "name the errors that are expected"),
    r"\bpickle\b.*\bload|allow_pickle\s*=\s*True": ("mialeak", "opening a file runs no code"),
    r"\bPython\.h\b": ("src_c", "the kernels do not know Python"),
    r"\b([mc]|re)alloc\s*\(|\bfree\s*\(": ("src_c", "the caller allocates"),
    rf"\b{LIBM}\s*\(": ("src_c", "libm differs between machines"),
}


def programs(*folders: str) -> list[Path]:
    """The programs below the named folders, without this file, which spells the forbidden out."""
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in PROGRAMS and path != Path(__file__)
    )


def modules() -> list[Path]:
    return [path for path in programs("mialeak") if path.suffix == ".py"]


def without_c_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(tree: ast.AST) -> set[str]:
    """The rooms a module imports, at its top or inside a function."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    rooms = {name.split(".")[1] for name in names if name.startswith("mialeak.")}
    return {"_version" if room == "__version__" else room for room in rooms}


def arrows() -> dict[str, set[str]]:
    """Room -> the other rooms it imports.  The package itself, which imports all, is no room."""
    found: dict[str, set[str]] = {}
    for path in modules():
        if path == PACKAGE / "__init__.py":
            continue
        room = room_of(path)
        found.setdefault(room, set()).update(imported_rooms(ast.parse(path.read_text())) - {room})
    return found


def test_no_file_is_long():
    lines = {path.name: len(path.read_text().splitlines()) for path in programs(*FOLDERS)}
    assert not {name: count for name, count in lines.items() if count > LONGEST_FILE}


def test_no_function_is_long():
    long = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                first = node.body[ast.get_docstring(node) is not None :]
                lines = node.end_lineno - first[0].lineno + 1 if first else 0
                if lines > LONGEST_FUNCTION:
                    long[f"{path.name}:{node.name}"] = lines
    assert not long


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_nothing_forbidden_is_written(pattern):
    folder, why = FORBIDDEN[pattern]
    found = []
    for path in programs(*([folder] if folder else FOLDERS)):
        text = path.read_text()
        if path.suffix in {".c", ".h"}:
            text = without_c_comments(text)
        elif folder == "src_c":
            continue
        found += [f"{path.name}: {match[0]}" for match in re.finditer(pattern, text)]
    assert not found, why


@pytest.mark.parametrize(
    "text",
    [
        "-ffast-math",
        "# TODO: later",
        "except:",
        "except Exception as error:",
        "pickle.load(file)",
        "np.load(path, allow_pickle=True)",
        "#include <Python.h>",
        "p = malloc (8);",
        "y = lgamma(x);",
        "y = expf(x);",
    ],
)
def test_the_forbidden_would_be_found(text):
    assert any(re.search(pattern, text) for pattern in FORBIDDEN)


def test_our_own_functions_are_not_taken_for_libm():
    allowed = "y = mial_log(x) + sqrt(x); /* log(x) */ // exp(x)"
    assert not any(re.search(p, without_c_comments(allowed)) for p in FORBIDDEN)


def test_every_room_has_a_row():
    rooms = {room_of(path) for path in modules()} - {"__init__", "reference"}
    assert rooms <= set(HEIGHT), "a new room: give it a row in ROWS"


def test_imports_run_downward():
    upward = [
        f"{room} imports {other}"
        for room, others in arrows().items()
        if room != "reference"
        for other in others
        if HEIGHT.get(other, 1) > HEIGHT[room]  # unknown: a name of the package itself
    ]
    assert not upward


def test_rooms_import_each_other_in_no_circle():
    graphlib.TopologicalSorter(arrows()).prepare()


def test_the_reference_stands_apart():
    found = arrows()
    assert not found.get("reference")
    assert not [room for room, others in found.items() if "reference" in others]


def test_kernels_import_no_other_room():
    for path in programs("mialeak/_kernels"):
        for line in re.findall(r"^\s*(?:from|c?import)\s+(mialeak\S*)", path.read_text(), re.M):
            assert line.startswith("mialeak._kernels"), path.name


def test_the_arrows_are_found():
    tree = ast.parse(
        "import mialeak.tables._cells\n"
        "from mialeak import __version__, special\n"
        "def f():\n"
        "    from mialeak._arrays import as_float\n"
    )
    assert imported_rooms(tree) == {"tables", "_version", "special", "_arrays"}


def test_importing_the_package_loads_numpy_only():
    code = (
        "import sys, numpy; before = set(sys.modules); import mialeak; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before}, mialeak.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *loaded, place = done.stdout.split()
    assert set(loaded) - sys.stdlib_module_names == {"mialeak"}
    assert place == mialeak.__file__  # conftest.py: the one that is tested here, in a checkout too


def test_sources_without_kernels_say_what_to_do(tmp_path):
    for name in ["__init__.py", "_version.py", "special.py", "_kernels/__init__.py"]:
        copy = tmp_path / "mialeak" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((PACKAGE / name).read_text())
    code = "import mialeak; mialeak.binom_mad"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    last = run.stderr.decode().splitlines()[-1]
    assert last.startswith(f"ImportError: there are no compiled kernels in {tmp_path}")
    assert "start Python in another folder" in last


def test_every_public_name_is_there():
    assert len(set(mialeak.__all__)) == len(mialeak.__all__)
    assert all(hasattr(mialeak, name) for name in mialeak.__all__)


def test_type_checkers_see_every_public_name():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen == set(mialeak._HOME)


def test_unknown_names_are_refused_as_python_does():
    with pytest.raises(AttributeError, match="module 'mialeak' has no attribute 'max_leak'"):
        mialeak.max_leak  # noqa: B018


def test_every_module_lists_its_names():
    for path in modules():
        if path.name in {"__main__.py", "_version.py"} or path.parent.name == "_build":
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if len(ast.parse(path.read_text()).body) > 1:  # more than a docstring
            module = importlib.import_module(name)
            missing = [name for name in module.__all__ if not hasattr(module, name)]
            assert not missing, name


def test_the_version_is_in_one_place_and_agrees_with_the_changelog():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in {"Unreleased", mialeak.__version__}
    assert ("dev" in mialeak.__version__) == (headings[0] == "Unreleased")
    for name in ["pyproject.toml", "setup.py", "CITATION.cff"]:
        assert mialeak.__version__ not in (ROOT / name).read_text(), name
