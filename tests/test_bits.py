"""The promise: the same bits on every instruction set, compiler and number of threads."""

from __future__ import annotations

import bits
import numpy as np
import pytest
from fresh import bits_by_isa, in_fresh_python

from mialeak._kernels import table

#: Every name that MIALEAK_ISA understands on some machine.
NAMES = ("scalar", "sse2", "avx2", "avx512", "neon")
FAMILIES = sorted(set(bits.PROMISED) - {"digest", "rooms_digest"})


@pytest.fixture(scope="module")
def hashes():
    """All hashes on each instruction set of this machine, with all that NumPy has: one process."""
    calls = ["bits.digest(2)", "bits.rooms_digest()", *(f"bits.{name}()" for name in FAMILIES)]
    found = {}
    for isa in table.isa_available():
        code = "import bits; from mialeak._kernels.table import isa; "
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NPY_DISABLE_CPU_FEATURES", "")
            run = in_fresh_python(f"{code}print(isa(), {', '.join(calls)})", isa)
        assert run.stdout.split()[:1] == [isa], run.stderr
        names = ["digest", "rooms_digest", *FAMILIES]
        found[isa] = dict(zip(names, run.stdout.split()[1:], strict=True))
    return found


def test_the_points_lie_in_the_domain():
    c, n, p = bits.inputs(bits.SEED, 16_384)
    assert np.all((n >= 1) & (n <= 2.0**53) & (n == np.floor(n)))
    assert np.all((p > 0) & (p < 1))
    assert np.all((c >= 0) & (c <= n))
    assert abs(bits.law(bits.ATOMS).sum() - 1) < 1e-12


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_have_the_promised_bits(workers):
    assert bits.digest(workers) == bits.PROMISED["digest"]


@pytest.mark.parametrize("isa", NAMES)
def test_every_instruction_set_gives_the_promised_bits(isa, hashes):
    """Those this machine lacks say so, and name those it has."""
    if isa in table.isa_available():
        assert hashes[isa]["digest"] == bits.PROMISED["digest"]
    else:
        run = in_fresh_python("import bits", isa)
        assert run.returncode == 1
        last = run.stderr.strip().splitlines()[-1]
        assert last.startswith("ImportError: ")
        assert f"MIALEAK_ISA={isa}" in last
        for choice in table.isa_available():
            assert choice in last


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_of_functions_has_its_bits_on_every_instruction_set(name, hashes):
    assert {each[name] for each in hashes.values()} == {bits.PROMISED[name]}
    assert getattr(bits, name)() == bits.PROMISED[name]


def test_what_other_rooms_promise_has_its_bits_whatever_numpy_runs_on(monkeypatch, hashes):
    """NumPy's part of the work is done with and without its wider instructions."""
    promised = bits.PROMISED["rooms_digest"]
    assert {each["rooms_digest"] for each in hashes.values()} == {promised}
    code = "import bits; from mialeak._kernels.table import isa; print(isa(), bits.rooms_digest())"
    left_out = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 AVX512F AVX512_SKX"
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", left_out)
    found = bits_by_isa(code)
    assert found == dict.fromkeys(found, promised)


@pytest.mark.parametrize("isa", ["avx1024", "AVX2", " ", "sse2,avx2"])
def test_an_unknown_instruction_set_is_an_import_error_that_names_the_choices(isa):
    run = in_fresh_python("from mialeak import special", isa)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert isa in last
    for choice in table.isa_available():
        assert choice in last


@pytest.mark.parametrize("isa", [None, ""])
def test_without_a_choice_the_best_is_taken(isa):
    run = in_fresh_python("from mialeak._kernels import table; print(table.isa())", isa)
    assert run.stdout.strip() == table.isa_available()[0], run.stderr


def test_the_portable_build_is_always_there():
    available = table.isa_available()
    assert "scalar" in available
    assert set(available) <= set(NAMES)
    assert len(set(available)) == len(available)
