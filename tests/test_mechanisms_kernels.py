"""The kernels of enumeration and coarsening: truth, twins, the same bits everywhere."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from fresh import bits_by_isa

from mialeak._kernels import coarsening, enumeration
from mialeak.reference import mechanisms as twins

EPS = 2.0**-52
#: Means on both sides of 2**31, where probabilities were NaN once, and the largest.
LARGE = [2.0**31 - 0.5, 2.0**31 + 0.3, 1e10, 2.0**40, 1e15 + 1 / 8, 2.0**53 - 1]


def pmf(k, mean):
    k, mean = np.broadcast_arrays(np.asarray(k, float), np.asarray(mean, float))
    out = np.empty(k.size)
    bad = enumeration.poisson_pmf(k.ravel().copy(), mean.ravel().copy(), out)
    return bad, out


@pytest.mark.parametrize("mean", [1e-300, 1e-9, 0.3, 1.0, 15.5, 16.0, 300.0, 1e6 + 1 / 3, *LARGE])
def test_poisson_probabilities_are_right_to_the_last_bits(mean):
    """On both sides of the Stirling table's end (16) and of the deviance's powers of two."""
    around = mean + np.sqrt(mean) * np.linspace(-5, 5, 41)
    near = np.array([0.66, 0.7, 0.75, 0.8, 1.25, 1.3, 1.34, 1.41, 1.5]) * mean
    k = np.unique(np.rint(np.clip(np.r_[0:40, around, near], 0, 2**53)))
    bad, found = pmf(k, mean)
    assert bad == 0
    with mpmath.workdps(60):
        m = mpmath.mpf(float(mean))
        exact = [mpmath.exp(x * mpmath.log(m) - m - mpmath.loggamma(x + 1)) for x in map(int, k)]
        for value, true in zip(found, exact, strict=True):
            if true > 1e-290:
                assert abs(value - true) <= 6 * EPS * true
            else:
                assert value <= 1.001e-290


@pytest.mark.parametrize("mean", [2.0**-1074, 2.0**-1060, 0.99 * 2.0**-960, 2.0**-960])
def test_poisson_probabilities_of_the_least_means_underflow_and_are_not_nan(mean):
    """On both sides of POISSON_UNDERFLOW; found by fuzzing."""
    bad, found = pmf([0.0, 1.0, 2.0, 1e5, 2.0**31 - 1], mean)
    assert bad == 0
    assert found[1] == pytest.approx(mean, rel=6 * EPS)
    assert found[[0, 2, 3, 4]].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_poisson_probabilities_outside_the_domain_are_nan():
    bad, found = pmf(
        [-1.0, 0.5, 3.0, 3.0, 2.0**54, np.nan, 0.0, 2.0], [1, 1, -1, np.inf, 1, 1, 0, 0]
    )
    assert bad == 5
    assert np.isnan(found[:6]).all()
    assert found[6:].tolist() == [1.0, 0.0]
    assert enumeration.poisson_pmf(np.empty(0), np.empty(0), np.empty(0)) == 0


def table_of(p, n):
    grid = np.arange(n + 1.0)
    return np.stack([pmf(grid, n * x)[1] for x in p])


@pytest.mark.parametrize("cells", [2, 3, 8, 9, 16, 17])
def test_sums_agree_with_their_twins_for_any_number_of_cells(cells):
    """Seven, eight and nine cells fill one group of lanes, or begin another."""
    rng = np.random.default_rng(cells)
    p = rng.dirichlet(np.ones(cells))
    n = {2: 40, 3: 20, 8: 5, 9: 4}.get(cells, 2)
    counts = twins.count_vectors(n, cells)
    weight = twins.weights(counts, p) * pmf([n], [n])[1][0]
    labels = rng.integers(0, 5, len(counts))
    kernel = rng.dirichlet(np.ones(3), len(counts)) * rng.integers(0, 2, (len(counts), 3))
    for moments in (cells, cells - 1):
        offset = np.zeros(enumeration.padded_cells(moments))
        offset[:moments] = 1.3 * n * p[:moments]
        sums = np.zeros((5, 2, offset.size))
        start = counts[0].copy()
        enumeration.enumerate_labels(moments, start, table_of(p, n), offset, labels, sums)
        expected = twins.enumerate_labels(counts[:, :moments], weight, offset[:moments], labels, 5)
        np.testing.assert_allclose(sums.sum(axis=1)[:, :moments], expected, atol=1e-14)
        assert not sums[:, :, moments:].any()
        sums = np.zeros((3, 2, offset.size))
        enumeration.enumerate_kernel(moments, start, table_of(p, n), offset, kernel, sums)
        expected = twins.enumerate_kernel(counts[:, :moments], weight, offset[:moments], kernel)
        np.testing.assert_allclose(sums.sum(axis=1)[:, :moments], expected, atol=1e-14)


@pytest.mark.parametrize(("n", "cells"), [(9, 2), (7, 3), (4, 5)])
def test_any_block_of_count_vectors_goes_on_where_the_last_ended(n, cells):
    counts = twins.count_vectors(n, cells)
    for size in (1, 2, 7, 1000):
        for first in range(0, len(counts), size):
            part = counts[first : first + size]
            out = np.empty_like(part)
            enumeration.count_vectors(part[0].copy(), out)
            assert out.tolist() == part.tolist()


def test_sums_are_compensated():
    """A million vectors of 1e-16 each beside one of 1: plain addition would lose them all."""
    n = 1_000_000
    factors = np.full((2, n + 1), 1e-8)
    factors[:, 0] = [1e8, 1.0]  # the vector (0, n) weighs 1, all others but the last 1e-16
    sums = np.zeros((1, 2, 8))
    labels = np.zeros(n, np.int64)
    offset = np.zeros(8)
    offset[1] = n + 1.0  # x = -1 - j: grows as slowly as it can
    enumeration.enumerate_labels(2, np.array([0, n]), factors, offset, labels, sums)
    j = np.arange(1, n)
    expected = -1.0 - 1e-16 * float((1.0 + j).sum())
    assert sums[0, :, 1].sum() == pytest.approx(expected, rel=4e-16)


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("width", [1, 2, 3, 17])
def test_geometric_noise_is_a_matrix(alpha, width):
    values = np.random.default_rng(0).normal(size=(4, width))
    found = values.copy()
    enumeration.geometric_blur(alpha, np.empty(width), found)
    expected = twins.geometric_blur(alpha, values) if width > 1 else values
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), values.sum(axis=1), atol=1e-14)


@pytest.mark.parametrize("atoms", [1, 2, 7, 8, 9, 40])
def test_a_layer_of_cuts_is_the_least_of_all(atoms):
    rng = np.random.default_rng(atoms)
    cost = rng.integers(0, 5, (atoms + 1, atoms + 1)) * 1.0  # with ties
    before = np.full(atoms + 1, np.inf)
    before[0] = 0.0
    for groups in range(1, atoms + 1):
        after, cut = np.empty(atoms + 1), np.empty(atoms + 1, np.int32)
        coarsening.cut_layer(groups, cost, before, after, cut)
        expected, first = twins.cut_layer(groups, cost, before)
        assert np.array_equal(after[groups:], expected[groups:])
        assert np.isinf(after[:groups]).all()
        assert np.array_equal(cut[groups:], first[groups:])
        before = after


@pytest.mark.parametrize("atoms", [1, 255, 256, 257, 700])
@pytest.mark.parametrize("n", [4, 50, 10**5])
def test_a_path_of_cuts_is_the_least_of_all(atoms, n):
    """Around the block of 256 cuts, and where the bound that passes blocks over does not hold."""
    rng = np.random.default_rng(atoms)
    edges = np.append(0.0, np.cumsum(rng.dirichlet(np.full(atoms, 0.3))))
    edges = np.minimum(edges / edges[-1], 1.0)
    for share in (0.1, 0.5, 0.9):
        reward = share * 0.4 / np.sqrt(n * max(atoms, 2))
        cost, cut = np.empty(atoms + 1), np.empty(atoms + 1, np.int32)
        room = np.empty(atoms // coarsening.BLOCK + 2)
        coarsening.cut_path(edges, float(n), reward, cost, room, cut)
        expected, _ = twins.cut_path(edges, n, reward)
        np.testing.assert_allclose(cost, expected, atol=1e-12)


HASH = "776bd798984dc3e656119f6df0a2643cea1e93891905621a84c409379bb67680"

CODE = """
import hashlib, numpy as np
from mialeak._kernels import coarsening, enumeration
from mialeak._kernels.table import isa
raw = np.random.PCG64(7).random_raw(3 * 4000).reshape(3, 4000)
unit = (raw >> np.uint64(11)) * 2.0**-53
digest = hashlib.sha256()
def add(x): digest.update((np.nan_to_num(x) + 0.0).tobytes())
k, mean = np.floor(unit[0] * 500), np.ldexp(unit[1], (raw[2] % np.uint64(13)).astype(np.intc))
out = np.empty(4000); enumeration.poisson_pmf(k, mean, out); add(out)
for cells, n in ((2, 400), (5, 12), (9, 5), (11, 4)):
    factors = unit[0, : cells * (n + 1)].reshape(cells, n + 1).copy()
    start = np.zeros(cells, np.int64); start[-1] = n
    labels = (raw[1, :300] % np.uint64(7)).astype(np.int64)
    offset = np.zeros(enumeration.padded_cells(cells)); offset[:cells] = unit[2, :cells] * n
    sums = np.zeros((7, 2, offset.size))
    enumeration.enumerate_labels(cells, start, factors, offset, labels, sums); add(sums)
    width = enumeration.padded_cells(cells - 1)
    kernel, sums = unit[1, :1200].reshape(300, 4).copy(), np.zeros((4, 2, width))
    enumeration.enumerate_kernel(cells - 1, start, factors, offset[:width], kernel, sums)
    add(sums)
values = unit[0, :900].reshape(30, 30).copy()
enumeration.geometric_blur(0.3, np.empty(30), values); add(values)
before = np.append(0.0, unit[1, :59]); after, cut = np.empty(60), np.empty(60, np.int32)
coarsening.cut_layer(1, unit[2, :3600].reshape(60, 60).copy(), before, after, cut)
add(after[1:]); add(cut * 1.0)
edges = np.append(0.0, np.add.accumulate(unit[0, :600])); edges /= edges[-1]
cost, cut, room = np.empty(601), np.empty(601, np.int32), np.empty(5)
coarsening.cut_path(edges, 1000.0, 1e-4, cost, room, cut); add(cost); add(cut * 1.0)
print(isa(), digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    """And those that were promised once."""
    found = bits_by_isa(CODE)
    assert found == dict.fromkeys(found, HASH)
