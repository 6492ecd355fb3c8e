"""Curves of linked columns by tables of every h-th count, against all counts and other routes."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak import exact_mean_tradeoff
from mialeak.exact import _chains, _transitions
from mialeak.exact._chains import ChainMoments
from mialeak.exact._moments import RatioMoments
from mialeak.exact._transitions import make_links
from mialeak.laws import Bernoulli, Chain, Genotype


def chain_of(rng, columns, ploidy):
    zero = rng.uniform(0.02, 0.4, columns - 1)
    one = np.clip(zero + rng.uniform(-0.1, 0.6, columns - 1), 0.01, 0.99)
    law = Chain(rng.uniform(0.1, 0.6), zero, one, ploidy)
    return law, law.draw(1, rng=rng)[0]


def moments_of(law, z, n, smooth):
    moments = ChainMoments([(law, z)], RatioMoments([], None), n)
    if not smooth:
        moments._smooth = False
        moments._tables(moments._most_theta)
    return moments


def strides_of(moments):
    return [grid.stride for grid in moments.links[0].grids[0]]


@pytest.mark.parametrize(("seed", "ploidy", "n"), [(0, 1, 300), (1, 2, 400), (2, 1, 700)])
def test_moments_are_those_of_all_counts(seed, ploidy, n):
    """Cumulants and waves, below the reach of the tables and above it; means and tilted laws."""
    law, z = chain_of(np.random.default_rng(seed), 14, ploidy)
    some, every = (moments_of(law, z, n, smooth) for smooth in (True, False))
    assert max(strides_of(some)) >= 3
    assert set(strides_of(every)) == {1}
    assert every.reach == np.inf
    assert some.aliased < 1e-13
    for theta in (-2.0, 0.0, 0.5, 1.0, 3.0):
        np.testing.assert_allclose(some.local(theta), every.local(theta), rtol=1e-12, atol=1e-13)
        reaches = [reach for reach in some.links[0].reaches if np.isfinite(reach)]
        assert reaches == sorted(reaches)
        step = 0.37 / some.spread
        for start in (0.0, *reaches):  # the blocks of each fineness, and those between
            waves = [m.wave(theta, max(start - 20 * step, 0.0), step, 40) for m in (some, every)]
            np.testing.assert_allclose(*waves, atol=1e-13)


@pytest.mark.parametrize(("ploidy", "n", "columns"), [(1, 600, 60), (2, 500, 200)])
def test_without_correlation_the_curve_is_that_of_independent_columns(ploidy, n, columns):
    """By an independent route, far into the tails."""
    rng = np.random.default_rng(columns)
    p = rng.uniform(0.05, 0.95, columns)
    z = rng.binomial(ploidy, p).astype(float)
    linked = exact_mean_tradeoff(z, Chain(p[0], p[1:], p[1:], ploidy), n)
    apart = exact_mean_tradeoff(z, Bernoulli(p) if ploidy == 1 else Genotype(p), n)
    assert np.median(strides_of(linked._moments)) >= 6
    assert linked.advantage == pytest.approx(apart.advantage, abs=1e-12)
    fpr = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9])
    np.testing.assert_allclose(linked.power(fpr), apart.power(fpr), rtol=1e-12)
    np.testing.assert_allclose(linked.delta([0.0, 0.5]), apart.delta([0.0, 0.5]), rtol=1e-10)


def test_no_wave_beyond_is_larger_than_the_damping_states():
    """All frequencies from the first recurrence on, by all counts; equal columns recur together."""
    law, z = Chain(0.4, [0.2] * 4, [0.7] * 4), np.zeros(5)
    some, every = (moments_of(law, z, 400, smooth) for smooth in (True, False))
    (links,) = some.links
    step = 0.4 / some.spread
    start = links.period
    count = int(40.0 * start / step)
    size = np.abs(every.wave(0.5, start, step, count))
    bound = np.array([links.damping(start + k * step) for k in range(count)])
    assert (np.log(size) <= 0.05 - bound).all()
    assert size.max() > 1e-5
    assert (np.diff(bound) > 0.0).all()
    least = float(bound[count // 2])
    assert some.damped_from(least) <= max(1.26 * (start + count // 2 * step), some.reach)
    assert links.damping(some.damped_from(least)) >= least
    assert every.damped_from(least) == np.inf  # no count is known to be smooth


def test_strides_that_are_too_long_are_noticed(monkeypatch):
    law, z = chain_of(np.random.default_rng(4), 25, 1)
    truth = exact_mean_tradeoff(z, law, 200, method="inversion").advantage
    monkeypatch.setattr(_transitions, "_SMOOTH", 1.5)
    curve = exact_mean_tradeoff(z, law, 200, method="inversion")
    assert set(strides_of(curve._moments)) == {1}
    assert curve.advantage == pytest.approx(truth, abs=1e-13)
    monkeypatch.setattr(_chains, "_ALIASED", np.inf)
    wrong = exact_mean_tradeoff(z, law, 200, method="inversion")
    assert max(strides_of(wrong._moments)) > 1
    assert wrong._moments.aliased > 1e-12


def test_sure_transitions_and_rare_counts_have_all_counts():
    zero, one = [0.2, 0.0, 0.3, 0.3, 0.3, 0.3], [0.7, 0.6, 0.8, 1.0, 0.4, 0.7]
    law = Chain(0.4, zero, one)
    links = make_links(law, np.ones(7), 2000, 1.0)
    strides = [grid.stride for grid in links.grids[0]]
    assert [h > 1 for h in strides] == [True, False, False, False, False, True, True]
    rare = Chain.from_correlation(np.full(5, 0.01), 0.2)
    links = make_links(rare, np.zeros(5), 2000, 1.0)
    assert {grid.stride for grid in links.grids[0]} == {1}


def test_tables_beyond_the_memory_are_refused(monkeypatch):
    law, z = chain_of(np.random.default_rng(5), 14, 1)
    moments = moments_of(law, z, 400, True)
    needed = moments.links[0].entries
    beyond = 1.1 * max(reach for reach in moments.links[0].reaches if np.isfinite(reach))
    monkeypatch.setattr(_transitions, "_MOST_ENTRIES", needed)
    moments.wave(0.5, 0.0, 1.0, 3)
    with pytest.raises(ValueError, match=r'(?s)transfer matrices have more than.*method="sample"'):
        moments.wave(0.5, beyond, 1.0, 3)
    with pytest.raises(ValueError, match="more than"):
        make_links(law, z, 400, 1.0, smooth=False)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_curves_have_the_same_bits_for_any_number_of_workers(ploidy):
    law, z = chain_of(np.random.default_rng(6), 60, ploidy)
    one, two = (exact_mean_tradeoff(z, law, 300, workers=workers) for workers in (1, 2))
    assert max(strides_of(one._moments)) > 3
    assert one.advantage == two.advantage
    assert one.power(1e-6) == two.power(1e-6)
