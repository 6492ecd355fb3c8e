"""The exact curve: kinds of columns, samples of the rows, what the object offers, messages."""

from __future__ import annotations

import itertools
import json
import math
import time
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from mialeak import SubsampledTradeOff, exact_mean_tradeoff, mean_tradeoff
from mialeak.exact import RatioArrays, _moments
from mialeak.exact._packing import KeptOutcomes
from mialeak.exact._recurrences import _log_coincidence
from mialeak.laws import Bernoulli, Genotype, Lattice, Normal, Presence
from mialeak.means import GaussianMeanTradeOff

GRID = np.array([1e-10, 1e-3, 0.1, 0.5, 0.9, 0.999])


def assert_equal(curve, other, rtol=1e-11):
    np.testing.assert_allclose(curve.power(GRID), other.power(GRID), rtol=rtol)
    np.testing.assert_allclose(curve.fnr(GRID), other.fnr(GRID), rtol=100 * rtol)
    assert curve.advantage == pytest.approx(other.advantage, rel=rtol)
    assert curve.auc == pytest.approx(other.auc, rel=rtol)
    for direction in ("in", "out"):
        np.testing.assert_allclose(
            curve.delta([0.3, 1.0], direction=direction),
            other.delta([0.3, 1.0], direction=direction),
            rtol=rtol,
        )


# --- kinds of columns --------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "n", "size"), [(50, 30, 0.7), (2000, 1000, 1.2), (60, 10, 2.5)])
def test_normal_columns_have_the_gaussian_curve(d, n, size):
    curve = exact_mean_tradeoff(np.full(d, size), Normal(np.zeros(d), np.ones(d)), n)
    assert_equal(curve, GaussianMeanTradeOff(d * size**2 / n, n=n, columns=d), 1e-10)


def test_presence_is_a_bit_of_its_own_probability():
    p = np.linspace(0.05, 0.4, 40)
    target = np.arange(40) % 2.0
    assert_equal(
        exact_mean_tradeoff(target, Presence(p), 50),
        exact_mean_tradeoff(target, Bernoulli(p * (2 - p)), 50),
    )


@pytest.mark.parametrize("d", [2, 40])
def test_a_lattice_of_two_values_is_a_bit(d):
    p = np.linspace(0.2, 0.6, d)
    target = np.arange(d) % 2.0
    lattice = Lattice([0.0, 1.0], np.stack([1 - p, p], axis=1))
    assert_equal(
        exact_mean_tradeoff(target, lattice, 50),
        exact_mean_tradeoff(target, Bernoulli(p), 50),
        1e-9,
    )


@pytest.mark.parametrize("d", [2, 40])
def test_a_lattice_of_three_values_is_a_genotype(d):
    p = np.linspace(0.2, 0.6, d)
    target = np.arange(d) % 3.0
    lattice = Lattice([0.0, 1.0, 2.0], np.stack([(1 - p) ** 2, 2 * p * (1 - p), p * p], axis=1))
    assert_equal(
        exact_mean_tradeoff(target, lattice, 30), exact_mean_tradeoff(target, Genotype(p), 30), 1e-9
    )


def test_genotypes_rounded_to_many_decimals_are_not_rounded():
    p, target = np.linspace(0.1, 0.6, 30), np.arange(30) % 3.0
    rounded = exact_mean_tradeoff(target, Genotype(p, decimals=6), 100)
    assert_equal(rounded, exact_mean_tradeoff(target, Genotype(p), 100), 1e-9)


def test_more_decimals_than_integers_hold_are_refused():
    with pytest.raises(ValueError, match="decimals must be fewer for n = 1000: such means are not"):
        exact_mean_tradeoff([1.0], Genotype([0.3], decimals=15), 1000)


def test_rounding_a_genotype_loses_power():
    p, target = np.linspace(0.1, 0.6, 30), np.arange(30) % 3.0
    plain = exact_mean_tradeoff(target, Genotype(p), 100).advantage
    coarse = exact_mean_tradeoff(target, Genotype(p, decimals=1), 100).advantage
    assert 0.3 * plain < coarse < 0.99 * plain


def test_laws_side_by_side_are_one_law():
    """Bits and normal columns together, against the Monte Carlo mean of the likelihood ratio."""
    rng = np.random.default_rng(2)
    p, z, v = rng.uniform(0.2, 0.8, 25), np.ones(25), np.full(5, 1.5)
    n, rounds = 40, 400_000
    curve = exact_mean_tradeoff(np.append(z, v), [Bernoulli(p), Normal(np.zeros(5), np.ones(5))], n)
    y = rng.standard_normal((rounds, 5)) / np.sqrt(n)
    with np.errstate(divide="ignore"):
        scores = np.log(rng.binomial(n, p, (rounds, 25)) / (n * p)).sum(axis=1)
    scores += (0.5 * np.log(n / (n - 1)) + v**2 / 2 - n * (y - v) ** 2 / (2 * (n - 1))).sum(axis=1)
    fpr = np.array([0.01, 0.1, 0.5, 0.9])
    seen = np.array([(scores > t).mean() for t in curve.threshold(fpr)])
    assert np.abs((seen - fpr) / np.sqrt(fpr * (1 - fpr) / rounds)).max() < 4.0


def test_columns_that_do_not_vary_say_nothing():
    p, z = np.array([0.3, 1.0, 0.6, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    with_them = exact_mean_tradeoff(z, Bernoulli(p), 20)
    without = exact_mean_tradeoff(z[[0, 2]], Bernoulli(p[[0, 2]]), 20)
    assert_equal(with_them, without)


def test_if_nothing_varies_nothing_leaks():
    curve = exact_mean_tradeoff([1.0, 0.0], Bernoulli([1.0, 0.0]), 5)
    assert curve.advantage == 0.0
    assert curve.power(0.3) == pytest.approx(0.3)
    assert curve.auc == 0.5


@pytest.mark.parametrize("copies", [1, 7, 1000])
def test_equal_columns_are_computed_once_and_counted(copies):
    p, z = np.tile([0.3, 0.62], copies * 30), np.tile([1.0, 0.0], copies * 30)
    curve = exact_mean_tradeoff(z, Bernoulli(p), 10_000)
    assert sum(family.copies.size for family in curve._moments.families) == 2
    nearly = p * (1.0 + 1e-15 * np.arange(p.size))
    other = exact_mean_tradeoff(z, Bernoulli(nearly), 10_000)
    assert curve.advantage == pytest.approx(other.advantage, rel=1e-10)
    limit = mean_tradeoff(z, p, p * (1 - p), 10_000)
    assert curve.advantage == pytest.approx(limit.advantage, abs=3e-3)


def test_the_cost_does_not_grow_with_n():
    p, z = np.linspace(0.25, 0.75, 500), np.ones(500)
    sizes = []
    for n in (10_000, 10**6, 10**10):
        curve = exact_mean_tradeoff(z, Bernoulli(p), n)
        assert 0.0 < curve.advantage < 1.0
        sizes.append(curve._moments._packs[0].weight.size)
    assert max(sizes) < 1.5 * min(sizes)


def with_and_without(monkeypatch, function):
    """The results of a function where outcomes are kept, and where they are not."""
    for most in (_moments._MOST_KEPT, 0):
        monkeypatch.setattr(_moments, "_MOST_KEPT", most)
        yield function()


@pytest.mark.parametrize("workers", [1, 2])
def test_outcomes_that_are_not_kept_give_the_same_bits(monkeypatch, workers):
    """Columns of three families, over several blocks of tiles."""
    monkeypatch.setattr(_moments, "_TILES", 100)
    p = np.linspace(0.02, 0.9, 2000)
    laws = [Bernoulli(p), Genotype(p[:50]), Presence(np.linspace(0.3, 0.7, 20))]
    z = np.concatenate([np.arange(2000) % 3 == 0, np.ones(50), np.arange(20) % 2])

    def answers():
        curve = exact_mean_tradeoff(z.astype(float), laws, 6000, workers=workers)
        kept = isinstance(curve._moments._packs[0], KeptOutcomes)
        point = curve.power([1e-9, 0.2]), curve.epsilon(1e-3), curve.enclosure(0.1)
        return kept, repr(point)

    (kept, first), (kept_again, second) = with_and_without(monkeypatch, answers)
    assert kept
    assert not kept_again
    assert first == second


def test_outcomes_that_are_not_kept_take_no_memory(monkeypatch):
    p = np.linspace(0.02, 0.9, 120_000)

    def peak():
        tracemalloc.start()
        exact_mean_tradeoff(np.zeros(p.size), Bernoulli(p), 6000, workers=1).power(0.1)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    kept, anew = with_and_without(monkeypatch, peak)
    assert anew < 0.6 * kept


@pytest.mark.parametrize("n", [10, 100])
def test_many_columns_of_few_rows_are_no_work_and_leak_at_most_one(n):
    """Few outcomes each, but far too many together for atoms: nobody tries to count them."""
    p = np.linspace(0.25, 0.75, 5000)
    start = time.process_time()
    curve = exact_mean_tradeoff((p <= 0.5).astype(float), Bernoulli(p), n)
    assert 0.999 < curve.advantage <= 1.0
    assert curve.method == "inversion"
    assert time.process_time() - start < 5.0


def test_large_n_is_the_limit():
    p, z = np.linspace(0.25, 0.75, 500), (np.arange(500) % 2).astype(float)
    n = 10**9
    limit = mean_tradeoff(z, p, p * (1 - p), n)
    assert exact_mean_tradeoff(z, Bernoulli(p), n).advantage == pytest.approx(
        limit.advantage, rel=1e-7
    )


# --- samples of the rows -----------------------------------------------------------------------


def test_a_sample_of_the_rows_is_that_many_rows_thinned():
    p, z = np.linspace(0.3, 0.7, 200), np.ones(200)
    curve = exact_mean_tradeoff(z, Bernoulli(p), 500, sampling_rate=0.2)
    thinned = SubsampledTradeOff(exact_mean_tradeoff(z, Bernoulli(p), 100), 0.2)
    assert_equal(curve, thinned)
    np.testing.assert_allclose(curve.epsilon([0.01, 0.1]), thinned.epsilon([0.01, 0.1]), rtol=1e-9)
    np.testing.assert_allclose(curve.fpr([0.05, 0.5]), thinned.fpr([0.05, 0.5]), rtol=1e-9)
    assert curve.advantage < 0.2


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_threshold_cdf_and_density_describe_the_ratio(rate):
    p, z = np.linspace(0.3, 0.7, 200), np.ones(200)
    curve = exact_mean_tradeoff(z, Bernoulli(p), 200, sampling_rate=rate)
    fpr = np.array([0.9, 0.4, 0.01])
    x = curve.threshold(fpr)
    np.testing.assert_allclose(curve.sf(x, "out"), fpr, rtol=1e-12)
    np.testing.assert_allclose(curve.sf(x, "in"), curve.power(fpr), rtol=1e-12)
    np.testing.assert_allclose(curve.cdf(x, "in"), curve.fnr(fpr), rtol=1e-11)
    np.testing.assert_allclose(curve.density(x, "in") / curve.density(x), np.exp(x), rtol=1e-12)
    step = 1e-6
    slope = (np.asarray(curve.cdf(x + step)) - np.asarray(curve.cdf(x - step))) / (2 * step)
    np.testing.assert_allclose(curve.density(x), slope, rtol=1e-7)
    assert curve.density(np.log(1 - 0.25) - 0.01) == 0.0 or rate == 1.0


@pytest.mark.parametrize("method", ["atoms", "halves"])
def test_no_release_of_a_sample_is_rarer_in_than_by_the_rows_left_out(method):
    """Its likelihood ratio is at least 1 - rate, also where the sample rules the target out."""
    curve = exact_mean_tradeoff(
        [1.0, 0.0], Bernoulli([0.2, 0.7]), 12, sampling_rate=0.5, method=method
    )
    least = np.log(0.5)
    for world in ("out", "in"):
        assert curve.cdf([-np.inf, -50.0, least - 1e-9], world).tolist() == [0.0] * 3
        assert curve.sf([-np.inf, -50.0, least - 1e-9], world).tolist() == [1.0] * 3
    ruled_out = 1 - (1 - 0.8**6) * (1 - 0.7**6)
    assert curve.cdf(least) == pytest.approx(ruled_out, rel=1e-13)
    assert curve.cdf(least, "in") == pytest.approx(0.5 * ruled_out, rel=1e-13)


def test_where_nothing_varies_the_enclosure_is_the_diagonal():
    bounds = exact_mean_tradeoff([1.0], Bernoulli([1.0]), 8).enclosure([0.0, 0.3, 1.0])
    assert bounds.lower.tolist() == bounds.upper.tolist() == [0.0, 0.3, 1.0]


def test_the_law_can_be_had_as_arrays():
    p, z = np.linspace(0.3, 0.7, 200), np.ones(200)
    arrays = exact_mean_tradeoff(z, Bernoulli(p), 200).to_arrays(501)
    assert isinstance(arrays, RatioArrays)
    assert all(array.shape == (501,) for array in arrays)
    assert np.all(np.diff(arrays.log_ratio) > 0)
    assert arrays.cdf_out[0] < 1e-15 < 1 - 1e-15 <= arrays.cdf_in[-1]
    gap = np.max(arrays.cdf_out - arrays.cdf_in)
    assert gap == pytest.approx(exact_mean_tradeoff(z, Bernoulli(p), 200).advantage, abs=1e-4)


def test_atoms_are_listed_and_have_no_density():
    curve = exact_mean_tradeoff([1.0], Bernoulli([0.4]), 5)
    arrays = curve.to_arrays()
    assert arrays.log_ratio.size == 5  # and the impossible release
    np.testing.assert_allclose(arrays.cdf_out, stats.binom.cdf(np.arange(1, 6), 5, 0.4), rtol=1e-13)
    assert curve.impossible == pytest.approx(0.6**5)
    with pytest.raises(TypeError, match="density is not available for this curve: the law of"):
        curve.density(0.0)


def test_ends_of_the_curve():
    for d in (1, 60):
        curve = exact_mean_tradeoff(np.ones(d), Bernoulli(np.full(d, 0.02)), 30)
        assert curve.power(0.0) == 0.0
        assert curve.power(1.0) == 1.0
        assert curve.fnr(1.0) == 0.0
        assert curve.fpr(0.0) == 0.0
        assert curve.fpr(1.0) == pytest.approx(1.0 - curve.impossible)
        assert curve.delta(np.inf, direction="in") == 0.0
        assert curve.delta(800.0, direction="out") == pytest.approx(curve.impossible)
        assert curve.epsilon(0.5 * curve.impossible, direction="out") == np.inf
        assert curve.power(1.0 - 0.5 * curve.impossible) == 1.0


def test_the_result_says_what_it_is():
    curve = exact_mean_tradeoff(np.ones(30), Bernoulli(np.full(30, 0.4)), 50)
    assert repr(curve).startswith("ExactTradeOff(advantage=")
    content = curve.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert content["type"] == "ExactTradeOff"
    assert curve.kind == "exact"
    assert isinstance(curve.subsample(0.5), SubsampledTradeOff)
    assert curve.compose(curve).advantage > curve.advantage


# --- messages ----------------------------------------------------------------------------------

LAW = Bernoulli([0.3, 0.6])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0], LAW, 5), ValueError, "target must have 2 entries, one for each column of"),
        (([1.0, 0.5], LAW, 5), ValueError, r"target must be 0 or 1; got target\[1\] = 0.5"),
        (([1.0, np.nan], LAW, 5), ValueError, r"target must be finite; got target\[1\] = nan"),
        (([1.0, 1.0], Bernoulli([0.3, 0.0]), 5), ValueError, "target must be possible"),
        (([1.0, 1.0], Genotype([0.3, 0.0]), 5), ValueError, "target must be possible"),
        (([3.0], Genotype([0.3]), 5), ValueError, "target must be 0, 1 or 2"),
        (([3.0], Lattice([1, 2], [0.5, 0.5]), 5), ValueError, "target must be one of the values"),
        (([1.0, 1.0], LAW, 1), ValueError, "n must be between 2 and"),
        (([1.0, 1.0], LAW, 5.0), TypeError, "n must be an integer"),
        (([1.0, 1.0], LAW, 2**52), ValueError, r"n must be at most 2\*\*50 here"),
        (([1.0, 1.0], [0.3, 0.6], 5), TypeError, "marginals must hold laws only"),
    ],
)
def test_bad_arguments_are_refused_in_one_voice(arguments, error, message):
    with pytest.raises(error, match=message):
        exact_mean_tradeoff(*arguments)


def test_bad_options_are_refused_in_one_voice():
    with pytest.raises(ValueError, match="sampling_rate must draw an integer number of rows"):
        exact_mean_tradeoff([1.0, 0.0], LAW, 10, sampling_rate=0.25)
    with pytest.raises(
        ValueError, match='method must be "auto", "atoms", "halves", "inversion" or'
    ):
        exact_mean_tradeoff([1.0, 0.0], LAW, 10, method="fft")
    many = Bernoulli(np.linspace(0.2, 0.8, 100))
    with pytest.raises(ValueError, match='method="atoms" is not available for this law: it has'):
        exact_mean_tradeoff(np.ones(100), many, 10, method="atoms")
    curve = exact_mean_tradeoff(np.ones(100), many, 10)
    with pytest.raises(ValueError, match='world must be "out" or "in"'):
        curve.cdf(0.0, "both")
    with pytest.raises(ValueError, match="reach must be between 10 and 1e6"):
        curve.enclosure(0.1, reach=1.0)
    with pytest.raises(ValueError, match="points must be between 2"):
        curve.to_arrays(1)


def test_few_columns_of_very_many_rows_need_no_return():
    target, p = [1.0, 0.0, 1.0], np.array([0.2, 0.5, 0.8])
    curve = exact_mean_tradeoff(target, Bernoulli(p), 10**6)
    limit = mean_tradeoff(target, p, p * (1.0 - p), 10**6)
    assert curve.error < 1e-6
    assert abs(curve.advantage - limit.advantage) < 1e-5
    assert type(curve.to_dict()["advantage"]) is float


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_coincidences_of_equal_columns_are_bounded(copies):
    """By the sum over the multisets of outcomes, all enumerated."""
    for n, p in ((3, 0.2), (6, 0.5)):
        curve = exact_mean_tradeoff(np.ones(copies), Bernoulli(np.full(copies, p)), n)
        table = curve._moments.all_outcomes()
        column = int(np.argmax(table.copies))
        weight = table.weight[table.first[0] : table.first[1], column]
        weight = weight[weight > 0.0]
        square = 0.0
        for outcome in itertools.combinations_with_replacement(range(weight.size), copies):
            counts = np.bincount(outcome)
            orders = math.factorial(copies) / math.prod(map(math.factorial, counts.tolist()))
            square += float(orders * np.prod(weight[list(outcome)])) ** 2
        assert np.log(square) <= _log_coincidence(table).sum() + 1e-12


def test_many_equal_columns_have_a_small_error():
    """50 allele-like columns that all look alike; the advantage is that of a million rounds."""
    p = np.full(50, 0.1)
    curve = exact_mean_tradeoff(np.ones(50), Bernoulli(p), 100)
    assert curve.advantage == pytest.approx(0.72450, abs=1e-4)
    assert curve.error < 1e-4
    means = np.random.default_rng(11).binomial(100, p, (200_000, 50)) / 100
    with np.errstate(divide="ignore"):
        rises = np.maximum(-np.expm1(np.log(means / p).sum(axis=1)), 0.0)
    error = rises.std() / np.sqrt(rises.size)
    assert curve.advantage == pytest.approx(rises.mean(), abs=4 * error)
