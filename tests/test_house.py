"""The rules of the house that a machine can hold.  They read the source tree around this file."""

from __future__ import annotations

import ast
import graphlib
import importlib
import os
import re
import subprocess
import sys
import tokenize

import pytest
from house import (
    FOLDERS,
    HEIGHT,
    PACKAGE,
    ROOT,
    UPWARD,
    arrows,
    file_graph,
    imported_names,
    imported_rooms,
    imported_strings,
    kernel_files,
    module_of,
    modules,
    private_imports,
    programs,
    room_of,
    tree_of,
    without_c_comments,
)
from stub import STUB, stub

import mialeak

LONGEST_FILE = 500  # lines
LONGEST_FUNCTION = 60  # lines, docstring and signature not counted


LIBM = r"(exp2?|expm1|log|log2|log10|log1p|pow|cbrt|a?(sin|cos|tan)h?|atan2|erfc?|[lt]gamma)[fl]?"
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


def test_no_file_is_long():
    lines = {str(path): len(path.read_text().splitlines()) for path in programs(*FOLDERS)}
    assert not {name: count for name, count in lines.items() if count > LONGEST_FILE}


def test_no_function_is_long():
    long = {}
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                first = node.body[ast.get_docstring(node) is not None :]
                lines = node.end_lineno - first[0].lineno + 1 if first else 0
                if lines > LONGEST_FUNCTION:
                    long[f"{path}:{node.name}"] = lines
    assert not long


def test_an_elementwise_family_takes_eight_files_by_hand():
    """All others read its line of the header, or its cases."""
    assert kernel_files("hypergeom") == [
        "mialeak/reference/hypergeometric.py",
        "mialeak/special.py",
        "src_c/families.h",
        "src_c/hypergeometric.h",
        "src_c/mialeak.h",
        "tests/bits.py",
        "tests/hypergeometric.py",
        "tests/truth.py",
    ]


def test_one_more_function_of_a_family_takes_six():
    assert kernel_files("hypergeom_logpmf") == [
        "mialeak/reference/hypergeometric.py",
        "mialeak/special.py",
        "src_c/hypergeometric.h",
        "src_c/mialeak.h",
        "tests/bits.py",
        "tests/hypergeometric.py",
    ]


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


#: Words that name no quantity: an identifier of a clean room has none of them as a part.
BANNED = (
    "found|own|rest|left|told|some|many|few|ways|room|slip|price|pull|returns|witness|witnesses|"
    "bent|gone|blame"
)
#: Rooms whose identifiers are free of `BANNED`; the list grows.
CLEAN = [
    "_arrays",
    "_blocks",
    "_cells",
    "_checks",
    "_columns",
    "_fields",
    "_files",
    "_labels",
    "_numerics",
    "_results",
    "_warnings",
    "auditing",
    "cli",
    "covariance",
    "discrete",
    "estimators",
    "exact",
    "games",
    "guarantees",
    "laws",
    "means",
    "mechanisms",
    "plotting",
    "populations",
    "reference",
    "releases",
    "scores",
    "special",
    "tables",
    "tradeoff",
    "training",
]


def defined_names(tree):
    """Variables, attributes, arguments, functions, classes and imported aliases of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def banned_names(tree):
    """The defined names with a banned word, in snake case or camel case."""
    parts = {name: re.findall("[A-Z]?[a-z]+|[A-Z]+", name) for name in defined_names(tree)}
    return sorted(
        name for name, words in parts.items() if any(re.fullmatch(BANNED, w.lower()) for w in words)
    )


@pytest.mark.parametrize("room", CLEAN)
def test_identifiers_of_clean_rooms_are_terms_of_the_field(room):
    paths = [path for path in modules() if room_of(path) == room]
    assert paths, "no such room"
    names = {str(path): banned_names(tree_of(path)) for path in paths}
    assert not {name: banned for name, banned in names.items() if banned}


@pytest.mark.parametrize(
    "code",
    [
        "rest = 1",
        "self._left = 1",
        "def find_returns(): ...",
        "class Blame: ...",
        "class _Witnesses: ...",
        "_FEW_COLUMNS = 3",
        "def f(left_out): ...",
        "lambda own: 1",
        "for price, x in y: ...",
        "import a as some",
    ],
)
def test_banned_identifiers_are_reported(code):
    assert banned_names(ast.parse(code))


#: A document states, a function returns, an attack distinguishes: none of them tells or says.  The
#: sentence of every report, "an attacker can tell with 60 % accuracy", is an exception.
IDIOM = r"\b(?<!can )(told|tells?|telling|says?|said)\b"


def texts(path):
    """Comments and texts of a program, docstrings and messages among them."""
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    kinds = {tokenize.COMMENT, tokenize.STRING}
    return [(token.start[0], token.string) for token in tokens if token.type in kinds]


@pytest.mark.parametrize("room", CLEAN)
def test_sentences_of_clean_rooms_state(room):
    """Names of tests and of modules apart, no sentence tells or says."""
    idioms = [
        f"{path.name}:{line}: {match[0]}"
        for path in modules()
        if room_of(path) == room
        for line, text in texts(path)
        for match in re.finditer(IDIOM, text)
    ]
    assert not idioms


def test_other_identifiers_are_not_reported():
    code = "leftmost = growth = arrest(left=1, side='left')\nx = y.left + found"
    assert not banned_names(ast.parse(code))


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


def test_no_room_imports_a_private_file_of_another():
    """What two rooms need stands on a floor below both."""
    assert not private_imports()


def test_files_import_each_other_in_no_circle():
    """Inside a room too."""
    graphlib.TopologicalSorter(file_graph()).prepare()


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
        "import mialeak.tables._leakage\n"
        "from mialeak import __version__, special\n"
        "def f():\n"
        "    from mialeak._arrays import as_float\n"
        "    importlib.import_module('mialeak.plotting')\n"
        "    __import__('mialeak')\n"
    )
    rooms = {"tables", "_version", "special", "_arrays", "plotting", "mialeak"}
    assert imported_rooms(imported_names(tree)) == rooms


@pytest.mark.parametrize("code", ["f'mialeak.{room}'", "name", "'.plotting', 'mialeak'"])
def test_a_module_whose_name_cannot_be_read_is_seen(code):
    assert imported_strings(ast.parse(f"import_module({code})")) == {""}


def test_modules_imported_by_a_string_can_be_read():
    """But by the package itself, whose names are those of the hall."""
    paths = [path for path in modules() if path != PACKAGE / "__init__.py"]
    strings = {module_of(path): imported_strings(tree_of(path)) for path in paths}
    assert not [name for name, found in strings.items() if "" in found]
    assert all(strings[name] >= exceptions for name, exceptions in UPWARD.items())


def test_importing_the_package_loads_numpy_only():
    code = (
        "import sys, numpy; before = set(sys.modules); import mialeak; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before}, mialeak.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *loaded, place = done.stdout.split()
    assert set(loaded) - sys.stdlib_module_names == {"mialeak"}
    assert place == mialeak.__file__  # conftest.py: the one that is tested here, in a checkout too


def test_importing_every_room_leaves_the_slow_parts_of_scipy_alone():
    """Each takes longer to import than a small table to answer: what needs one imports it."""
    rooms = ", ".join(f"mialeak.{room}" for room in sorted(mialeak._ROOMS))
    slow = ("integrate", "interpolate", "optimize", "signal", "spatial", "stats")
    code = f"import sys, {rooms}; print(*{{f'scipy.{{x}}' for x in {slow}}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_sources_without_kernels_say_what_to_do(tmp_path):
    for name in ["__init__.py", "_version.py", "special.py", "_kernels/__init__.py"]:
        copy = tmp_path / "mialeak" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((PACKAGE / name).read_text())
    code = "import mialeak; mialeak.special.binom_mad"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    last = run.stderr.decode().splitlines()[-1]
    assert last.startswith(f"ImportError: there are no compiled kernels in {tmp_path}")
    assert "start Python in another folder" in last


def test_every_public_name_is_there():
    assert len(set(mialeak.__all__)) == len(mialeak.__all__)
    assert all(hasattr(mialeak, name) for name in mialeak.__all__)
    for room in mialeak._ROOMS:
        module = importlib.import_module(f"mialeak.{room}")
        assert all(hasattr(module, name) for name in module.__all__)


def test_the_hall_is_small():
    """A capability arrives as an argument or as a kind before it arrives as a name."""
    assert len(mialeak._HOME) <= 36


def test_every_room_without_an_underscore_is_public():
    """``cli`` is the shell, ``reference`` the slow twin of the kernels for tests and benchmarks."""
    rooms = {room for room in HEIGHT if not room.startswith("_")}
    assert set(mialeak._ROOMS) == rooms - {"cli"}


def test_the_stub_lists_the_hall():
    """Type checkers see every public name; ``python tests/stub.py`` writes the file."""
    assert STUB.read_text(encoding="utf-8") == stub()


def test_unknown_names_are_refused_as_python_does():
    with pytest.raises(AttributeError, match="module 'mialeak' has no attribute 'max_leak'"):
        mialeak.max_leak  # noqa: B018


def test_every_module_lists_its_names():
    for path in modules():
        if path.name in {"__main__.py", "_version.py"} or path.parent.name == "_build":
            continue
        name = module_of(path)
        if len(tree_of(path).body) > 1:  # more than a docstring
            module = importlib.import_module(name)
            missing = [name for name in module.__all__ if not hasattr(module, name)]
            assert not missing, name


def test_the_version_is_in_one_place_and_agrees_with_the_changelog():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in {"Unreleased", mialeak.__version__}
    assert ("dev" in mialeak.__version__) == (headings[0] == "Unreleased")
    for name in ["pyproject.toml", "setup.py", "CITATION.cff"]:
        assert mialeak.__version__ not in (ROOT / name).read_text(), name
