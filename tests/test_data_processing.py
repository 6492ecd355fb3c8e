"""Data processing: a further step, or a further move of rows, never leaks more."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mechanism_truth import PTABLE

from mialeak import Register, max_leakage, mechanism_leakage, mechanisms

STEPS = {
    "round": mechanisms.Round(3),
    "random": mechanisms.RandomRound(5),
    "suppress": mechanisms.Suppress(4),
    "key": mechanisms.CellKey(PTABLE),
    "synthetic": mechanisms.Synthetic(40),
    "geometric": mechanisms.Geometric(0.8),
    "gaussian": mechanisms.DiscreteGaussian(1.5),
}
NOT_AFTER = {
    ("suppress", "geometric"),
    ("suppress", "gaussian"),
    *product(("geometric", "gaussian"), ("key", "synthetic")),
}


PAIRS = sorted(set(product(STEPS, repeat=2)) - NOT_AFTER)


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4).map(lambda x: np.array(x) / sum(x)),
    st.integers(2, 60),
    st.floats(0.2, 4.0),
)
def test_a_further_step_never_leaks_more(pair, law, n, gamma):
    first, both = STEPS[pair[0]], mechanisms.Pipeline(*(STEPS[name] for name in pair))
    for rows in ("poisson", "register"):
        if rows == "poisson":
            leak = [mechanism_leakage(x, law, n, gamma=gamma, rows=rows) for x in (first, both)]
            raw = mechanism_leakage(mechanisms.Histogram(), law, n, gamma=gamma, rows=rows)
        else:
            register = Register(np.ceil(40 * law).astype(int), rate=0.3)
            leak = [mechanism_leakage(x, register, gamma=gamma) for x in (first, both)]
            raw = mechanism_leakage(mechanisms.Histogram(), register, gamma=gamma)
        assert float(leak[1]) <= float(leak[0]) + 1e-13
        assert float(leak[0]) <= float(raw) + 1e-13


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=3, deadline=None)
@given(st.floats(0.05, 0.95), st.integers(1, 4), st.floats(0.2, 4.0))
def test_a_further_step_never_leaks_more_where_all_cells_are_seen(pair, share, n, gamma):
    """Two cells and a fixed number of rows, or of people drawn without replacement: exact."""
    first, both = STEPS[pair[0]], mechanisms.Pipeline(*(STEPS[name] for name in pair))
    people = Register([1 + round(6 * share), 7 - round(6 * share)])
    for population in ([share, 1.0 - share], people):
        leak = [
            mechanism_leakage(x, population, n, gamma=gamma)
            for x in (mechanisms.Histogram(), first, both)
        ]
        assert [each.kind for each in leak] == ["exact"] * 3
        raw, one, two = map(float, leak)
        assert two <= one + 1e-13
        assert one <= raw + 1e-13


MATRICES = st.lists(st.floats(0.01, 1.0), min_size=18, max_size=18).map(
    lambda x: [m / m.sum(axis=1, keepdims=True) for m in np.array(x).reshape(2, 3, 3)]
)


@pytest.mark.parametrize("rows", ["fixed", "poisson", "register", "bernoulli"])
@settings(max_examples=15, deadline=None)
@given(MATRICES, st.integers(1, 5), st.floats(0.2, 4.0))
def test_rows_that_move_again_never_leak_more(rows, matrices, n, gamma):
    once, again = matrices
    ways = mechanisms.Histogram(), mechanisms.Pram(once), mechanisms.Pram(once @ again)
    arguments = {
        "fixed": ([0.5, 0.3, 0.2], n),
        "poisson": ([0.5, 0.3, 0.2], n, "poisson"),
        "register": (Register([3, 2, 1]), n),
        "bernoulli": (Register([3, 2, 1], rate=n / 6), None),
    }[rows]
    names = dict(zip(("p", "n", "rows"), arguments, strict=False))
    raw, one, two = (mechanism_leakage(way, gamma=gamma, **names) for way in ways)
    assert one.kind == two.kind == "exact"
    assert float(two) <= float(one) + 1e-13
    assert float(one) <= float(raw) + 1e-13


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 1.0), st.integers(1, 4), st.floats(0.2, 4.0))
def test_swapped_rows_leak_between_the_counts_that_stay_and_all(rate, n, gamma):
    law, by = np.array([0.4, 0.1, 0.3, 0.2]), [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    leak = float(mechanism_leakage(mechanisms.Swap(rate, by), law, n, gamma=gamma))
    kept, value = law.reshape(2, 2).sum(axis=1), law.reshape(2, 2).sum(axis=0)
    assert leak <= max_leakage(law, n, gamma=gamma) + 1e-13
    assert leak >= max(max_leakage(m, n, gamma=gamma) for m in (kept, value)) - 1e-13


@pytest.mark.parametrize("pair", sorted(NOT_AFTER))
def test_steps_that_give_no_counts_are_refused(pair):
    with pytest.raises(ValueError, match=r"protections must (add noise|take counts) before"):
        mechanisms.Pipeline(*(STEPS[name] for name in pair))
