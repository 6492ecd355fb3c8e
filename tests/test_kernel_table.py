"""The table of kernels: what mialeak.h lists is what C compiles, Cython sees and Python gets."""

from __future__ import annotations

import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from mialeak._kernels import coarsening, draws, enumeration, moments, scores, ufuncs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def header():
    """src_c/make_table.py."""
    place = ROOT / "src_c" / "make_table.py"
    spec = importlib.util.spec_from_file_location("make_table", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cython_sees_the_header_as_it_is(header):
    assert header.PXD.read_text() == header.written(), "run python src_c/make_table.py"


def test_nothing_of_the_header_is_overlooked(header):
    text = header.without_comments(header.HEADER.read_text())
    rows = re.findall(r"\bX\((?!name|result)", text)
    assert len(rows) == len(header.functions(text)) + len(header.kernels(text)) > 25
    assert len(header.enums(text)) == len(re.findall(r"^ +MIAL_\w+ = ", text, re.MULTILINE)) > 20


def test_every_elementwise_kernel_is_a_ufunc_with_a_loop_for_each_exact_type(header):
    """There is no limit to their number."""
    listed = header.functions(header.without_comments(header.HEADER.read_text()))
    assert ufuncs.elementwise_names() == tuple(listed)
    for name, letters in listed.items():
        function = ufuncs.ufunc(name, "For a test.")
        assert (function.nin, function.nout) == (len(letters), 1)
        types = itertools.product(*({"w": "lLd", "r": "d"}[letter] for letter in letters))
        assert function.types == ["".join(loop) + "->d" for loop in types]
        assert ufuncs.ufunc(name, "Another docstring.") is function


def test_an_unknown_elementwise_kernel_is_refused():
    with pytest.raises(KeyError, match="binom_cdf"):
        ufuncs.ufunc("binom_cdf", "")


def test_a_ufunc_without_a_public_name_works_too():
    """Poisson probabilities have a wrapper of their own; as a ufunc they are the same."""
    k, mean, out = np.arange(9.0), np.linspace(0.5, 4, 9), np.empty(9)
    assert enumeration.poisson_pmf(k, mean, out) == 0
    assert np.array_equal(ufuncs.ufunc("poisson_pmf", "")(k.astype(int), mean), out)


def test_no_size_is_written_down_twice():
    """Cython and the fuzzers take them from mialeak.h."""
    sizes = (moments.LANES, moments.TILTED, moments.SCRATCH, scores.TILE, enumeration.MOST_CELLS)
    assert all(isinstance(size, int) for size in (*sizes, coarsening.BLOCK, draws.MOST_WORDS))
    for path in (ROOT / "mialeak" / "_kernels").glob("*.pyx"):
        text = path.read_text()
        assert not re.search(r"^\s*DEF ", text, re.MULTILINE), path.name
        assert not re.search(r"^[A-Z_, ]+ = .*\d\d", text.replace("FEW = 2048", "")), path.name
