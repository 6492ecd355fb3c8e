"""Memory that is not there, and interrupts in the middle of work."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
from fresh import in_fresh_python, seconds_to_stop

from mialeak import StreamingCovariance
from mialeak.discrete import max_leakage

CAPPED = """
import resource, sys, numpy as np
from mialeak.discrete import max_leakage

max_leakage(np.full(300_000, 1 / 300_000), 1000)  # with all that is imported once
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
p = {p}
cap = pages * resource.getpagesize() + {mapped} + 40_000_000
resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
try:
    np.ones(10**7)
except MemoryError:
    print(max_leakage(p, 1000))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and sizes as on Linux")
@pytest.mark.parametrize("kind", ["view", "map"])
def test_a_hundred_million_atoms_take_no_more_than_a_few_blocks(kind, tmp_path):
    """40 MB are left, and a copy would take 800: a view of one number, and a file of holes."""
    if kind == "view":
        code = CAPPED.format(p="np.broadcast_to(1e-8, 10**8)", mapped=0)
        expected = (1 - 1e-8) ** 1000
    else:
        path, half = tmp_path / "p", np.array([0.5, 0.5])
        with path.open("wb") as file:
            file.write(half.tobytes())
            file.truncate(8 * 10**8)
        code = CAPPED.format(p=f"np.memmap({str(path)!r}, np.float64, 'r')", mapped=8 * 10**8)
        expected = max_leakage(half, 1000)
    run = in_fresh_python(code, None)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == pytest.approx(expected, rel=1e-12)


# --- interrupts --------------------------------------------------------------------------------


def until_interrupted(rows):
    yield rows[:30]
    yield rows[30:]
    raise KeyboardInterrupt


@pytest.mark.parametrize("structure", ["full", "diagonal", "low-rank"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interrupted_fit_leaves_what_was_learnt_before(structure, method):
    rng = np.random.default_rng(0)
    before, rows = rng.normal(size=(20, 200)), rng.normal(size=(50, 200))
    found = StreamingCovariance(structure=structure, shrinkage=0.5).fit(before)
    expected = copy.deepcopy(found).mahalanobis(rows)
    with pytest.raises(KeyboardInterrupt):
        getattr(found, method)(until_interrupted(rows))
    assert np.array_equal(found.mahalanobis(rows), expected)
    assert found.n_samples_seen_ == 20


def test_an_interrupted_save_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "learnt"
    x = np.random.default_rng(0).normal(size=(30, 3))
    StreamingCovariance().fit(x).save(path)
    before = path.read_bytes()

    def interrupted(file, **arrays):
        file.write(b"PK\x03\x04 and no more")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        StreamingCovariance().fit(2 * x).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


ROWS = "import numpy as np, mialeak\nrng = np.random.default_rng(0)\n"
LONG = {
    "release": (
        ROWS + "from itertools import combinations\n"
        "release = mialeak.Release({c: rng.integers(0, 6, 200_000) for c in 'abcdefgh'})\n"
        "for each in combinations('abcdefgh', 3):\n    release.add_table(list(each))",
        "release.leakage(attacks=50)",
    ),
    "plan_recoding": (
        ROWS + "from mialeak.tables import plan_recoding\n"
        "adult = mialeak.datasets.load_adult().columns\n"
        "adult = {k: np.tile(np.asarray(v), 12) for k, v in adult.items()}",
        "plan_recoding(adult, list(adult), 0.001)",
    ),
    "shadow_audit": (
        ROWS + "from mialeak.auditing import shadow_audit\n"
        "members = rng.random((256, 60_000)) < 0.5\nscores = rng.normal(size=members.shape)",
        "shadow_audit(scores, members, method='both')",
    ),
    "compose": (
        ROWS + "from mialeak.tradeoff import LaplaceTradeOff\n"
        "curves = [LaplaceTradeOff(0.01 + 1e-4 * k) for k in range(3000)]",
        "mialeak.compose(*curves).epsilon(1e-5)",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_a_long_function_within_a_second(name):
    assert seconds_to_stop(*LONG[name], after=0.5) < 1
